"""`check`: what a configuration means, what may surprise, and whether matches keep to it."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evenmatch.cli.main import main
from evenmatch.cli.setting_warnings import setting_warnings
from evenmatch.config.files import load_server
from evenmatch.model.inputs import Configure, Enqueue
from evenmatch.model.queue import Queue, Rule
from evenmatch.testing import new_ticket
from tests.unit.lab.journals import Played

QUEUE = """
[[queue]]
name = "duel"
"""
RULE = """
[[queue.rules]]
kind = "spread"
attribute = "rating"
limit = 150.0
"""


def check(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str) -> str:
    path = tmp_path / "config.toml"
    path.write_text(text)
    code = main(["check", str(path)])
    out = capsys.readouterr()
    assert (code, out.err) == (0, "")
    assert out.out.startswith(f"{path} is valid.\n")
    return out.out


def test_queue_is_told_in_sentences(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = QUEUE + 'wait_max = 60.0\npolicy = "window"\n' + RULE
    told = check(capsys, tmp_path, text + "expand = {rate = 2.0, max = 200.0}")
    assert "Queue duel: one player against one." in told
    assert "The policy window decides." in told
    assert "At first the largest difference in rating between its players may be 150" in told
    assert "widens by 2 for each second of waiting, up to 200" in told
    assert "Each player brings a rating; other tickets are refused." in told
    assert "A ticket waits at most 60 s, then expires without a match." in told
    assert "No criterion is set" in told
    assert "warning" not in told


SCALED = (
    QUEUE
    + """wait_max = 60.0
[[queue.criteria]]
kind = "spread"
attribute = "rating"
"""
)
RATED = """
[arrivals]
rate = 1.0
count = 500
[attributes.rating]
distribution = "normal"
mean = 1500.0
deviation = 300.0
"""


@pytest.mark.parametrize(
    ("scale", "ends"), [("", "from 0 to 1,"), ("scale = {max = 1000}", "from 0 to 1000,")]
)
def test_scale_that_clips_most_values_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, scale: str, ends: str
) -> None:
    told = check(capsys, tmp_path, SCALED + scale + RATED)
    assert f"warning: queue duel: the scale of spread goes {ends} and of the first 100" in told
    assert "values of rating" in told
    assert "write scale = {min = 0, max = 3000}" in told
    assert "lie outside" not in check(capsys, tmp_path, SCALED + scale)


@pytest.mark.parametrize(
    "scale",
    [
        "scale = {min = 0, max = 3000}",
        "scale = {min = 1400, max = 2000}",
        'scale = {kind = "capped", max = 9}',
    ],
)
def test_scale_that_fits_or_has_no_ends_needs_no_warning(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, scale: str
) -> None:
    assert "lie outside" not in check(capsys, tmp_path, SCALED + scale + RATED)


def test_scale_is_judged_by_those_who_come_to_its_queue(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rows = ",ranked\n".join(f"{at},{at % 2}" for at in range(20))
    (tmp_path / "log.csv").write_text(f"at,rating,queues\n{rows},duel\n")
    ranked = SCALED.replace('"duel"', '"ranked"') + "scale = {min = 5, max = 9}\n"
    recorded = '[arrivals]\nprocess = "file"\nfile = "log.csv"\n'
    told = check(capsys, tmp_path, SCALED + ranked + recorded)
    assert told.count("lie outside") == 1
    assert "queue ranked: the scale of spread goes from 5 to 9" in told
    assert "write scale = {min = 0, max = 1}" in told


def test_target_of_waits_is_told_and_a_policy_that_ignores_it_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    teams = QUEUE + 'players = 5\ntarget_wait = "1m30s"\n'
    near = '[[queue.criteria]]\nkind = "spread"\nattribute = "rating"\n'
    scale = 'scale = {kind = "linear", min = 0.0, max = 3000.0}\n'
    told = check(capsys, tmp_path, teams + near + scale)
    assert "Players wait 90 s on average if enough of them play" in told
    assert "warning: queue duel: target_wait" not in told
    assert "a player-second of waiting costs" not in told
    told = check(capsys, tmp_path, teams + 'policy = "greedy"\n' + near + scale)
    assert "target_wait: the policy greedy does not keep it; rolling does" in told


def test_target_of_the_policy_is_told_rather_than_the_queues(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    own = QUEUE + 'players = 5\npolicy = "rolling:target_wait=40"\n'
    told = check(capsys, tmp_path, own)
    assert "Players wait 40 s on average if enough of them play" in told
    assert "has no effect" not in told
    told = check(capsys, tmp_path, own + "wait_price = 0.1\n")
    assert "Players wait 40 s on average if enough of them play" in told
    told = check(capsys, tmp_path, own + "target_wait = 90\n")
    assert "Players wait 40 s on average if enough of them play" in told
    assert (
        "target_wait = 90 has no effect: the policy rolling:target_wait=40 has a target_wait of "
        "its own; leave out one of the two" in told
    )


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ('"soon"', 'must be seconds, or a text such as "15s", "2m" or "1h30m", got "soon"'),
        ("-3", "target_wait must be between"),
        ("15\nwait_price = 0.1", "target_wait contradicts wait_price"),
        ("60\nwait_max = 60", "target_wait must be below wait_max = 60 s"),
    ],
)
def test_target_that_cannot_be_is_refused_in_a_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, given: str, sentence: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"{QUEUE}players = 5\ntarget_wait = {given}\n")
    assert main(["check", str(path)]) == 2
    assert sentence in capsys.readouterr().err


def test_games_of_one_server_are_checked_one_after_the_other(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    games = tmp_path / "games.toml"
    games.write_text("".join(f'[[tenant]]\nname = "{n}"\nconfig = "{n}.toml"\n' for n in "ab"))
    (tmp_path / "a.toml").write_text(QUEUE)
    (tmp_path / "b.toml").write_text(QUEUE + RULE)
    assert main(["check", str(games)]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{games} names 2 games.\n\n[a]\n{tmp_path / 'a.toml'} is valid.")
    assert "\n[b]\n" in told
    assert "may be at most 150" in told.partition("\n[b]\n")[2]

    assert main(["check", str(games), "--matches", str(games)]) == 2
    assert "name the file of that game" in capsys.readouterr().err
    (tmp_path / "b.toml").write_text(QUEUE + "teams = 0\n")
    assert main(["check", str(games)]) == 2
    assert f"{tmp_path / 'b.toml'}: " in capsys.readouterr().err


def test_teams_parties_and_sides_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = QUEUE + (
        'teams = 2\nplayers = 3\nwait_max = 9.0\non_deadline = "bots"\nsides = ["red", "blue"]\n'
        '[[queue.criteria]]\nkind = "imbalance"\nattribute = "skill"\nweight = 2.5\n'
    )
    told = check(capsys, tmp_path, text)
    assert "2 teams of 3 players, named red, blue; parties of 1 to 3 queue together" in told
    assert "the difference in skill between its teams (weight 2.5)" in told
    assert "then plays with bots in the empty seats" in told


def test_steps_and_equal_values_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    steps = "expand = {steps = [[60, 250.0], [120, 350.0]]}\n"
    same = '[[queue.rules]]\nkind = "same"\nattribute = "region"\n'
    told = check(capsys, tmp_path, QUEUE + RULE + steps + same)
    assert "widens to 250 from 60 s, 350 from 120 s" in told
    assert "All players of a match have the same region." in told
    assert "warning: queue duel: no deadline: a ticket whose value nobody shares" in told


def test_queue_that_rates_its_players_does_not_ask_them_for_a_rating(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rule = '[[queue.rules]]\nkind = "spread"\nattribute = "rating"\nlimit = 100\n'
    asked = "Each player brings a rating; other tickets are refused."
    assert asked in check(capsys, tmp_path, QUEUE + rule)
    told = check(capsys, tmp_path, QUEUE + 'rating = "glicko2"\n' + rule)
    assert asked not in told
    assert "by glicko2; a player who comes without a rating gets the stored one" in told


@pytest.mark.parametrize("attribute", ["rating", "rating_deviation"])
def test_nobody_has_to_bring_what_a_ladder_keeps(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, attribute: str
) -> None:
    rule = f'[[queue.rules]]\nkind = "spread"\nattribute = "{attribute}"\nlimit = 100\n'
    ranked = '[[queue]]\nname = "ranked"\nrating = "glicko2"\n'

    asked = "Each player brings a rating; other tickets are refused."
    assert asked in check(capsys, tmp_path, QUEUE + rule)
    assert "tickets are refused" not in check(capsys, tmp_path, ranked + rule)
    told = check(capsys, tmp_path, QUEUE + rule + ranked)

    assert "tickets are refused" not in told
    assert (
        "A player who comes without a rating gets the stored one of ladder default, by glicko2, "
        "or a newcomer's: mean 1500, deviation 350.\n"
    ) in told.partition("Queue ranked")[0]


def test_exclusive_match_is_told_to_hold_in_its_group(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = check(capsys, tmp_path, QUEUE + "exclusive_match = true\nmatch_max = 900.0\n")
    assert "may not queue again in this group until it is finished, or 900 s have passed." in told


@pytest.mark.parametrize(
    ("accept", "told"),
    [
        (
            "accept = {seconds = 15, repair = 0}",
            "; ready-checks may take it beyond that, each by up to 15 s.",
        ),
        (
            "accept = {seconds = 15, long_wait = 60, long_seconds = 25}",
            (
                "; ready-checks may take it beyond that, each by up to 25 s, or longer while "
                "players are replaced."
            ),
        ),
        ("", "."),
        ('on_deadline = "keep"\naccept = {seconds = 15}', "."),
    ],
)
def test_what_a_ready_check_adds_to_the_longest_wait_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, accept: str, told: str
) -> None:
    shown = check(capsys, tmp_path, f"{QUEUE}wait_max = 90.0\n{accept}\n")
    end = "and is then kept waiting" if "keep" in accept else "then expires without a match"
    assert f"A ticket waits at most 90 s, {end}{told}\n" in shown


@pytest.mark.parametrize("on_deadline", ["expire", "keep"])
def test_ready_check_within_the_longest_wait_needs_no_warning(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, on_deadline: str
) -> None:
    seconds = 29 if on_deadline == "expire" else 300
    text = f'wait_max = 30.0\non_deadline = "{on_deadline}"\naccept = {{seconds = {seconds}}}\n'
    assert "is no less than wait_max" not in check(capsys, tmp_path, QUEUE + text)


def test_number_of_hosts_that_a_match_needs_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rule = '[[queue.rules]]\nkind = "host_options"\nlimit = {}\n'
    for limit, sentence in (
        (0, "A match needs two players who can reach everyone, by connect."),
        (1, "A match needs at least one player who can reach everyone, by connect."),
    ):
        assert sentence in check(capsys, tmp_path, QUEUE + rule.format(limit))


def test_percentiles_and_who_must_accept_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    share = (
        '[[queue.rules]]\nkind = "spread"\nattribute = "rating"\nlimit = 0.05\n'
        'unit = "percentile"\naccept = "either"\n'
    )
    told = check(capsys, tmp_path, QUEUE + share)
    assert "may be at most 0.05 of all players, by percentile." in told
    told = check(capsys, tmp_path, QUEUE + share + "expand = {rate = 0.01}\n")
    assert "It is enough that one ticket of the match accepts." in told


ROLLING = QUEUE + 'players = 5\npolicy = "rolling"\n'
JOBS = QUEUE + 'policy = "tests.shuffles.Shuffles:every=4"\n'


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (QUEUE, "no deadline: while there are too few tickets for a match"),
        (QUEUE + RULE, "does not widen: some may wait for ever"),
        (
            QUEUE + RULE + "expand = {rate = 1.0, max = 200.0}",
            "stops widening: some may wait for ever",
        ),
        (QUEUE + 'wait_max = 5.0\non_deadline = "keep"' + RULE, "waits for ever"),
        (
            QUEUE + "wait_max = 5.0" + RULE + "expand = {rate = 1.0}",
            "the limit on rating still widens when tickets end after 5 s",
        ),
        (
            QUEUE + '[[queue.criteria]]\nkind = "spread"\nattribute = "rating"',
            "a player-second of waiting costs 1 because neither",
        ),
        (
            QUEUE + "exclusive_match = true",
            "in a simulation a match ends when one of its players comes again",
        ),
        (QUEUE + '[[queue]]\nname = "b"\ngroup = "other"', "groups default, other share no"),
        (
            ROLLING + "target_wait = 10\naccept = {seconds = 10}",
            (
                "queue duel: target_wait is 10 s and counts the ready-check too, which alone may "
                "take accept.seconds = 10: no policy keeps it if players take their time; write "
                'target_wait = "20s", or a shorter ready-check'
            ),
        ),
        (
            QUEUE + "wait_max = 30.0\naccept = {seconds = 30}",
            (
                "accept.seconds = 30 is no less than wait_max = 30: if one player lets a "
                "ready-check run out, the others are past wait_max by then, and expire, unless "
                "somebody replaces that player within 10 s; write"
            ),
        ),
        (
            SCALED + "weight = 0.0\nscale = {min = 0, max = 3000}",
            (
                "the criterion spread on rating has weight 0: no match is better or worse for it; "
                "leave it out, or give it a weight above 0"
            ),
        ),
        (
            QUEUE + 'players = 5\npolicy = "rolling:target_wait=4"\naccept = {seconds = 10}',
            (
                "target_wait is 4 s and counts the ready-check too, which alone may take "
                "accept.seconds = 10: no policy keeps it if players take their time; write "
                "target_wait=20 in its policy, or a shorter ready-check"
            ),
        ),
        (
            ROLLING + "target_wait = 2\ncommit_jitter = 4",
            'holds players back for 2 s on average: no policy keeps it; write target_wait = "8s"',
        ),
        (
            QUEUE + "silent_after = 5",
            (
                "silent_after = 5: clients send a heartbeat every 10 s, and players who are there "
                "would be dropped; write silent_after = 30, or let your clients send one every "
                "1.67 s"
            ),
        ),
        (QUEUE + "silent_after = 15", "and one that is late or lost drops a player who is there"),
        (QUEUE + "wait_max = 240000.0", "wait_max = 240000 is 66.7 hours: times are in seconds"),
        (QUEUE + "accept = {seconds = 12000}", "accept.seconds = 12000 is 3.33 hours: times are"),
        (
            QUEUE + '[[queue.rules]]\nkind = "latency"\nattribute = "latency"\nlimit = 0.12',
            "limit = 0.12 of latency: latencies are in milliseconds",
        ),
        (
            QUEUE + '[[queue.rules]]\nkind = "spread"\nattribute = "ratng"\nlimit = 150.0',
            "tickets without ratng are refused; did you mean rating?",
        ),
        (
            QUEUE + 'players = 3\npolicy = "rounds"\nwait_max = 60.0',
            (
                "rounds come every 120 s and tickets end after 60 s: a player who just missed "
                "a round is not matched; set every to 15 or less, or a longer wait_max"
            ),
        ),
        ("solve_time = 1.0\n" + QUEUE, "solve_time has no effect"),
        (
            QUEUE + '[server]\nlog_secret_file = "log.secret"',
            "log_secret_file does nothing while the log has no lines about tickets; write",
        ),
        (
            "solve_time = 5.0\n" + JOBS + "wait_max = 5.0",
            "queue duel: a plan takes solve_time = 5 s and a ticket waits 5 s at the most, so none",
        ),
        (
            "solve_time = 5.0\n" + JOBS + "wait_max = 60.0",
            "queue duel: rounds come every 4 s and a plan takes solve_time = 5 s: rounds that fall",
        ),
        (
            "solve_time = 2.0\n" + JOBS + "wait_max = 5.0",
            (
                "a player who just missed a round waits 4 s for the next one and 2 s for its plan, "
                "and tickets"
            ),
        ),
    ],
)
def test_surprises_are_warned_of(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, warning: str
) -> None:
    assert warning in check(capsys, tmp_path, text)


def test_times_that_players_can_keep_to_surprise_nobody(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = ROLLING + "target_wait = 15\naccept = {seconds = 10}\nsilent_after = 30\n"
    told = check(capsys, tmp_path, text + "wait_max = 300\ncommit_jitter = 2")
    assert "warning" not in told


@pytest.mark.parametrize(
    "text",
    [
        JOBS + "wait_max = 60.0",
        "solve_time = 2.0\n" + JOBS + "wait_max = 60.0",
        "solve_time = 2.0\n" + JOBS + 'wait_max = 1.0\non_deadline = "keep"',
    ],
)
def test_jobs_that_keep_to_rounds_and_deadlines_surprise_nobody(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    told = check(capsys, tmp_path, text)
    assert "solve_time" not in told
    assert "plan" not in told


def test_keep_without_a_deadline_is_what_the_pages_write(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "no effect" not in check(capsys, tmp_path, QUEUE + 'on_deadline = "keep"')


SIDES = QUEUE + 'sides = ["A", "B"]\n'
COMING = "[arrivals]\ncount = 50\n"


def coming(**rates: str) -> str:
    return COMING + "".join(
        f'[[arrivals.classes]]\n{rate}\nattributes = {{side = "{side.strip("_")}"}}\n'
        for side, rate in rates.items()
    )


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (
            SIDES + coming(A="rate = 0.6", B="rate = 0.3", _="rate = 0.1"),
            (
                "players who insist on A outnumber all who can play against them by 0.2/s: the "
                "queue grows"
            ),
        ),
        (
            SIDES + coming(A="rate = 0.5", B="rate = 0.5"),
            (
                "insist on A and those who insist on B are exactly as many as all who can play "
                "against them"
            ),
        ),
        (
            SIDES + "wait_max = 60.0\n" + coming(A="rate = 0.6", B="rate = 0.3", _="rate = 0.1"),
            (
                "players who insist on A outnumber all who can play against them by 0.2/s: many of "
                "them leave"
            ),
        ),
        (
            SIDES + coming(A="rate = 0.3\ndrift = [[60.0, 0.6]]", B="rate = 0.3", _="rate = 0.1"),
            "players who insist on A outnumber all who can play against them by 0.2/s",
        ),
        (
            SIDES + COMING + 'rate = 2.0\n[attributes.side]\ndistribution = "choice"\n'
            'values = ["A", "B", ""]\nprobs = [0.6, 0.3, 0.1]\n',
            "players who insist on A outnumber all who can play against them by 0.4/s",
        ),
    ],
    ids=["crowded", "boundary", "deadline", "drift", "drawn"],
)
def test_sides_that_can_never_be_placed_are_warned_of(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, warning: str
) -> None:
    assert warning in check(capsys, tmp_path, text)


def test_sides_that_enough_others_play_surprise_nobody(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    few = coming(A="rate = 0.45", B="rate = 0.3", _="rate = 0.25")
    assert "insist" not in check(capsys, tmp_path, SIDES + few)


def test_wishes_are_given_up_at_once_except_by_adaptive_sides(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    many = coming(A="rate = 0.6", B="rate = 0.3", _="rate = 0.1")
    wishes = SIDES + 'side_choice = "prefer"\n'
    told = check(capsys, tmp_path, wishes + 'policy = "greedy"\n' + many)
    assert 'side_choice = "prefer": the policy greedy lets nobody wait for a wished side' in told
    told = check(capsys, tmp_path, wishes + 'policy = "adaptive_sides"\n' + many)
    assert "wish" not in told.partition("warning")[2]
    assert "insist" not in told


SKILL = (
    '[[queue.criteria]]\nkind = "imbalance"\nattribute = "skill"\nmeasure = "sum"\n{step}'
    "[arrivals]\nrate = 1.0\ncount = 20\n[attributes.skill]\n{skill}\n"
)
ANY_SKILL = 'distribution = "uniform"\nmin = 0.0\nmax = 1.0'


@pytest.mark.parametrize("policy", ["patient", "imbalance_threshold:delta=0"])
def test_even_teams_of_a_continuous_skill_are_warned_of(
    policy: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    queue = QUEUE + f'policy = "{policy}"\n'
    warning = f"skill is uniform, so no two teams are ever exactly even, and {policy} starts no"
    text = queue + SKILL.format(step="", skill=ANY_SKILL)
    assert warning in check(capsys, tmp_path, text)
    assert main(["simulate", str(tmp_path / "config.toml"), "--json"]) == 0
    out = capsys.readouterr()
    assert f"warning: queue duel: {warning}" in out.err
    assert json.loads(out.out)["matches"] == 0
    for step, skill in (
        ("step = 0.1\n", ANY_SKILL),
        ("", 'distribution = "choice"\nvalues = [0, 1]'),
    ):
        assert "exactly even" not in check(
            capsys, tmp_path, queue + SKILL.format(step=step, skill=skill)
        )
    learnt = QUEUE + 'policy = "imbalance_threshold"\n' + SKILL.format(step="", skill=ANY_SKILL)
    assert "exactly even" not in check(capsys, tmp_path, learnt)


REMATCH = '[[queue.rules]]\nkind = "rematch"\nredraws = 2\n'


def test_rematches_and_handicaps_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = QUEUE + "handicap = {factor = 0.01, max = 4.0, step = 1.0}\nwait_max = 60.0\n"
    text += REMATCH + "every = 15.0\nmatches = 3\n"
    told = check(capsys, tmp_path, text + '[[queue.criteria]]\nkind = "rematch"\n')
    assert (
        "Players who met as opponents in their last 3 matches may not meet again before both have "
        "waited 30 s." in told
    )
    assert "the share of its pairs that met not long ago, by recent (weight 2)" in told
    assert (
        "A weaker team gets 0.01 for each 1 by which its mean rating is below that of the "
        "strongest, at most 4, in multiples of 1." in told
    )
    assert "warning" not in told


def test_kinds_that_compare_no_numbers_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = QUEUE + (
        "players = 3\n"
        'criteria = [{kind = "latency"}, {kind = "party_parity"}, {kind = "host_options"}, '
        '{kind = "overlap", attribute = "words"}]\n'
        'rules = [{kind = "latency", pairs = "region", limit = 90}, {kind = "party_parity", '
        'limit = 0.5, expand = {steps = [[30, 1]]}}, {kind = "avoid", pairs = "teammates"}, '
        '{kind = "same", attribute = "pool", expand = {steps = [[60, 1]]}, accept = "either"}, '
        '{kind = "overlap", attribute = "words"}, {kind = "pair_limit", limit = 3}, '
        '{kind = "household_limit", limit = 1, pairs = "enemies"}, {kind = "household_limit", '
        'limit = 2, attribute = "party", expand = {steps = [[60, 3]]}}]\n'
    )
    told = check(capsys, tmp_path, text)
    for sentence in (
        "the mean latency between enemies (weight 1.5)",
        "the difference in party sizes between its teams (weight 1.5)",
        "the number of missing hosts (of two who can reach everyone, by connect) (weight 1.5)",
        "the share of its pairs without a common element of words (weight 1.5)",
        "The largest latency in ms to the region that is best for all may be at most 90.",
        (
            "At first the difference in party sizes between its teams may be 0.5; after waiting it "
            "widens to 1 from 30 s."
        ),
        "Nobody has as a teammate a player whom either lists in avoid.",
        "All players of a match have the same pool, until one ticket has waited 60 s.",
        "All players of a match have an element of words in common.",
        "Two players meet in one match at most 3 times within 86400 s, by meetings.",
        ("Players who share a household are in one team, or at most 1 of them play in one match."),
        (
            "No more than 2 of the players who share a party play in one match; after waiting it "
            "widens to 3 from 60 s."
        ),
        "warning: queue duel: no deadline, and the limit on latency does not widen",
        "warning: queue duel: no deadline, and the rule avoid is never lifted",
    ):
        assert sentence in told
    assert "limit on party_parity" not in told
    assert "value nobody shares" not in told


def test_rematch_that_is_allowed_in_the_end_needs_no_warning(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "warning" not in check(capsys, tmp_path, QUEUE + REMATCH)


def test_widening_without_end_needs_no_warning(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = check(capsys, tmp_path, QUEUE + RULE + "expand = {rate = 1.0}")
    assert "warning" not in told


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (QUEUE + "wait_maximum = 5", "wait_maximum"),
        (QUEUE + 'policy = "nope"', "no policy is called"),
        (QUEUE + "teams = 3\nplayers = 1\npolicy = 'window'", "window"),
        (
            QUEUE + RULE + "[arrivals]\nrate = 1.0\ncount = 5",
            "ticket 0: queue duel: attribute rating is missing",
        ),
        (QUEUE + "[server]\nkeep_days = 0", "keep_days"),
    ],
)
def test_what_cannot_work_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, sentence: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    assert main(["check", str(path)]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert sentence in out.err
    assert out.err.count("\n") == 1


def test_matches_are_checked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, matches = tmp_path / "config.toml", tmp_path / "m.jsonl"
    path.write_text(QUEUE + "[arrivals]\nrate = 1.0\ncount = 60")
    assert main(["simulate", str(path), "--json", "--matches", str(matches)]) == 0
    capsys.readouterr()
    assert main(["check", str(path), "--matches", str(matches)]) == 0
    assert "30 matches keep to" in capsys.readouterr().out
    matches.write_text(matches.read_text() * 2)
    assert main(["check", str(path), "--matches", str(matches)]) == 1
    err = capsys.readouterr().err
    assert "line 31: match s0-m1 was in line 1 already" in err
    assert err.count("\n") == 21
    assert "90 times" in err


def test_one_match_and_one_problem_are_told_in_the_singular(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, matches = tmp_path / "config.toml", tmp_path / "m.jsonl"
    path.write_text(QUEUE + "[arrivals]\nrate = 1.0\ncount = 2")
    assert main(["simulate", str(path), "--json", "--matches", str(matches)]) == 0
    capsys.readouterr()
    assert main(["check", str(path), "--matches", str(matches)]) == 0
    assert f"1 match keeps to {path}" in capsys.readouterr().out
    matches.write_text("{}\n")
    assert main(["check", str(path), "--matches", str(matches)]) == 1
    assert capsys.readouterr().err.endswith(f"{matches} breaks {path} once.\n")


def test_directory_without_a_journal_is_bad_input(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(QUEUE)
    assert main(["check", str(path), "--against", str(tmp_path)]) == 2
    assert "there is no journal at" in capsys.readouterr().err


def test_damaged_journal_is_a_failure(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(QUEUE)
    (tmp_path / "journal.db").write_bytes(b"no journal" * 1_000)
    assert main(["check", str(path), "--against", str(tmp_path)]) == 1
    assert "is not a journal" in capsys.readouterr().err


def test_minimum_and_roles_are_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = QUEUE + "players = 3\nplayers_min = 2\nroles = {tank = 1, dps = 2}\nwait_max = 60.0\n"
    told = check(capsys, tmp_path, text)
    assert (
        "A match may start with 4 of its 6 players, 2 players in each team; at the latest when "
        "one of them has waited 60 s."
    ) in told
    assert "A team is 1 tank, 2 dps; players say which of these they accept, or take any." in told
    told = check(capsys, tmp_path, text + 'on_deadline = "bots"\n')
    assert "has waited 60 s, with bots up to that number." in told
    uneven = QUEUE + "players = [4, 1]\nplayers_min = [2, 1]\n"
    assert "A match may start with 3 of its 5 players, 2 and 1 players by team." in check(
        capsys, tmp_path, uneven
    )
    one = check(capsys, tmp_path, QUEUE + "teams = 1\nplayers = 4\nplayers_min = 2\n")
    assert "1 team of 4 players; parties of 1 to 4 queue together and stay together." in one
    assert "A match may start with 2 of its 4 players." in one


def test_a_minimum_of_single_players_is_told_without_their_teams(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    brawl = QUEUE + "teams = 4\nplayers = 1\nplayers_min = [1, 1, 0, 0]\n"
    assert "A match may start with 2 of its 4 players." in check(capsys, tmp_path, brawl)


def test_simulation_of_a_switchback_plays_its_first_policy_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = check(capsys, tmp_path, QUEUE + 'switchback = {policies = ["greedy", "first_come"]}')
    assert "The policies greedy and first_come take turns, 1800 s at a time." in told
    assert "warning: queue duel: switchback: its policies take turns in a server" in told


@pytest.mark.parametrize(
    ("scale", "end"), [("", "\n"), ('scale = {kind = "none"}', ", or without end by a scale of")]
)
def test_what_a_criterion_may_cost_is_told_as_its_scale_has_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, scale: str, end: str
) -> None:
    criterion = '[[queue.criteria]]\nkind = "spread"\nattribute = "rating"\n'
    told = check(capsys, tmp_path, QUEUE + criterion + scale)
    assert f"a criterion costs its weight at the most{end}" in told


HOOK = '[server.allocation.fleet]\nkind = "webhook"\nurl = "http://127.0.0.1:1/find"\n'


def test_what_a_server_does_besides_matching_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    beside = 'shadow = "first_come"\nallocation = "fleet"\nbackfill = "%s"\naccept = {%s}\n'
    told = check(capsys, tmp_path, QUEUE + beside % ("manual", "newcomers = false") + HOOK)

    assert "A server runs first_come beside it as a shadow, whose matches are only counted." in told
    assert "The hook fleet finds a server for each match." in told
    assert "A running match asks for players whenever the game's backend opens it." in told
    assert "Newcomers to a running match are not asked to accept it." in told
    told = check(
        capsys,
        tmp_path,
        QUEUE + beside % ("automatic", "long_wait = 60, long_seconds = 30") + HOOK,
    )
    assert (
        "A running match asks for players by itself if it starts with free seats, and whenever "
        "the game's backend opens it." in told
    )
    assert "Newcomers to a running match are asked to accept it." in told
    assert "A player who has waited 60 s has 30 s." in told
    plain = check(capsys, tmp_path, QUEUE)
    assert not any(each in plain for each in ("shadow", "hook", "running match"))


def test_hook_that_no_queue_uses_is_warned_of(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    unused = "warning: server: no queue uses [server.allocation.fleet]; write allocation"
    assert unused in check(capsys, tmp_path, QUEUE + HOOK)
    assert unused not in check(capsys, tmp_path, QUEUE + 'allocation = "fleet"\n' + HOOK)


GUESTS = "[server]\nguests = true\n"
SAME = '[[queue.rules]]\nkind = "same"\nattribute = "lang"\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (QUEUE + SAME + GUESTS, "the attribute lang; name lang in player_attributes, or let"),
        (QUEUE + RULE + GUESTS, "a rating; let the server keep ratings (rating = "),
        (
            QUEUE + SAME + RULE + GUESTS,
            "the attribute lang and a rating; name lang in player_attributes, and let the server",
        ),
    ],
)
def test_what_guests_cannot_send_is_warned_of(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, sentence: str
) -> None:
    begin = "warning: queue duel: guests cannot queue, because their clients may not send "
    assert begin + sentence in check(capsys, tmp_path, text)


def test_guests_come_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    of_two = QUEUE + "players = 2\nparty_sizes = [%s]\n" + GUESTS
    alone = "warning: queue duel: guests cannot queue, because they come alone; allow parties of 1"
    assert alone in check(capsys, tmp_path, of_two % "2")
    assert alone not in check(capsys, tmp_path, of_two % "1, 2")


@pytest.mark.parametrize(
    "policies", ['"greedy", "window:limit=100"', '"window:limit=100", "greedy"']
)
def test_what_only_one_policy_of_a_switchback_asks_for_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, policies: str
) -> None:
    queue = f'[[queue]]\nname = "duel"\nswitchback = {{policies = [{policies}]}}\n'
    told = check(capsys, tmp_path, queue + GUESTS)
    limit = "The largest difference in rating between its players may be at most 100."
    assert f"{limit} This holds only in the turns of window:limit=100.\n" in told
    assert "refused, or end when a policy that needs what they lack has its turn.\n" in told
    assert "guests cannot queue, because their clients may not send a rating" in told

    told = check(capsys, tmp_path, queue.replace("greedy", "window:limit=100,every=5"))
    assert limit + "\n" in told


def test_rules_of_a_policy_keep_guests_out_of_a_starting_server_too(tmp_path: Path) -> None:
    path = tmp_path / "duel.toml"
    path.write_text('[[queue]]\npolicy = "window:limit=100"\n' + GUESTS)
    queues, settings, _ = load_server(path)
    (told,) = setting_warnings(settings, queues)
    assert told.startswith("queue main: guests cannot queue")


@pytest.mark.parametrize(
    "text",
    [
        QUEUE + SAME,
        QUEUE + SAME + GUESTS + 'player_attributes = ["lang"]',
        QUEUE + 'rating = "glicko2"\n' + RULE + GUESTS,
        QUEUE + SAME.replace("lang", "code") + GUESTS,
    ],
)
def test_what_guests_can_send_surprises_nobody(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    assert "guests cannot queue" not in check(capsys, tmp_path, text)


def refused(capsys: pytest.CaptureFixture[str], path: Path, text: str, command: str) -> str:
    """Return what a command says of a file that it refuses, without the file's name."""
    path.write_text(text)
    code = main([command, str(path), *(["--port", "0"] if command == "serve" else [])])
    told = capsys.readouterr()
    assert (code, told.out) == (2, "")
    begin = f"evenmatch: {path}: "
    lines = [line for line in told.err.splitlines() if line.startswith("evenmatch: ")]
    assert len(lines) == 1
    assert lines[0].startswith(begin)
    return lines[0].removeprefix(begin)


@pytest.mark.parametrize("command", ["check", "serve", "simulate"])
@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ('rating = "eelo"', "queue duel: rating eelo: no rating system is called 'eelo'"),
        (
            'rating = "elo"\n[[queue]]\nname = "blitz"\nrating = "glicko"',
            "queues duel and blitz share the ratings of ladder default",
        ),
        ('players = 5\npolicy = "window:limit=3"', "policy window pairs two players: queue duel"),
    ],
)
def test_what_only_the_engine_finds_wrong_is_said_with_the_files_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str, lines: str, sentence: str
) -> None:
    told = refused(capsys, tmp_path / "duel.toml", QUEUE + lines, command)
    assert told.startswith(sentence)


@pytest.mark.parametrize("command", ["check", "serve"])
@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (
            '[server.tokens]\nalgorithm = "HS256"\nkey_files = ["short.key"]\naudience = "us"',
            "server.tokens.key_files: {folder}/short.key must hold at least 32 bytes of secret",
        ),
        (
            (
                '[server.allocation.fleet]\nkind = "webhook"\nurl = "http://fleet/find"\n'
                'secret_file = "none.key"'
            ),
            "server.allocation.fleet.secret_file: {folder}/none.key cannot be read",
        ),
        ('[server]\nkeys_file = "none.json"', "{folder}/none.json cannot be read"),
        (
            '[server.notifications.events]\nurl = "http://a/b"\nsecret_file = "none.key"',
            "server.notifications.events.secret_file: {folder}/none.key cannot be read",
        ),
        (
            '[server]\nlog_tickets = true\nlog_secret_file = "none.key"',
            "{folder}/none.key cannot be read",
        ),
    ],
)
def test_check_reads_files_of_keys_as_serve_does(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str, lines: str, sentence: str
) -> None:
    (tmp_path / "short.key").write_text("short\n")
    told = refused(capsys, tmp_path / "duel.toml", QUEUE + lines, command)
    assert told.startswith(sentence.format(folder=tmp_path))


def test_queues_that_are_split_in_two_ways_are_not_called_valid(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = refused(
        capsys,
        tmp_path / "duel.toml",
        QUEUE + 'split = "hash:4"\n[[queue]]\nname = "blitz"\n',
        "check",
    )
    assert told.startswith("queues duel and blitz belong together, by their group or their ladder")


def test_cooldowns_that_fall_are_warned_of(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = QUEUE + "wait_max = 60.0\naccept = {cooldowns = %s}\n"
    falling = check(capsys, tmp_path, text % "[60, 30]")
    assert "warning: queue duel: cooldowns fall (60 s, 30 s): who fails more" in falling
    assert "cooldowns fall" not in check(capsys, tmp_path, text % "[30, 60, 60]")


SEATS = """
[[queue]]
name = "hero"
teams = 2
players = 5
wait_max = "4m"
policy = "greedy"
roles = {tank = 1, support = 2, damage = 2}
[arrivals]
duration = 20
[arrivals.world]
player_rate = 1
roles = %s
"""


def test_players_who_are_too_many_for_their_roles_are_warned_of(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # 70 of 100 players fill 3 of 5 seats, so the other 30 are two fifths of those who play.
    mix = '{damage = 0.5, "tank+damage" = 0.2, support = 0.2, any = 0.1}'

    shown = check(capsys, tmp_path, SEATS % mix)

    assert (
        "warning: queue hero: 70 of 100 players take only tank or damage, 3 of 5 seats of a team: "
        "at most about 75 of 100 players can play; change arrivals.world.roles" in shown
    )
    assert "A ticket waits at most 240 s" in shown


def test_roles_that_everybody_can_play_surprise_nobody(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    mix = '{damage = 0.4, "tank+damage" = 0.2, support = 0.2, any = 0.2}'

    assert "of 100 players" not in check(capsys, tmp_path, SEATS % mix)


def test_all_mistakes_are_told_a_line_each_and_many_are_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        QUEUE + "playrs = 5\nwait_max = 0\n" + "".join(f"k{n} = 1\n" for n in range(21))
    )
    assert main(["check", str(path)]) == 2
    out = capsys.readouterr()
    lines = out.err.splitlines()
    assert (out.out, len(lines)) == ("", 21)
    assert lines[0].startswith(f'evenmatch: {path}: queue "duel", playrs is not a known key; did')
    assert lines[-1] == f"evenmatch: {path}: and 3 more"


def test_games_that_are_wrong_keep_none_of_the_others_from_being_checked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    games = tmp_path / "games.toml"
    games.write_text("".join(f'[[tenant]]\nname = "{n}"\nconfig = "{n}.toml"\n' for n in "ab"))
    (tmp_path / "a.toml").write_text(QUEUE + "x = 1\ny = 2\n")
    (tmp_path / "b.toml").write_text(QUEUE)
    assert main(["check", str(games)]) == 2
    out = capsys.readouterr()
    assert len(out.err.splitlines()) == 2
    assert f"{tmp_path / 'b.toml'} is valid." in out.out


@pytest.mark.parametrize(
    ("least", "most", "told"),
    [
        (5, 6, "A match may start with 5 of its 6 players, 1 player in each team."),
        (4, 4, "A match has 4 players, at least 1 player in each team."),
    ],
)
def test_players_of_a_match_are_those_that_a_playfab_queue_allows(
    least: int, most: int, told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    teams = [{"Name": name, "MinTeamSize": 1, "MaxTeamSize": 4} for name in ("a", "b")]
    queue = {"Name": "q", "MinMatchSize": least, "MaxMatchSize": most, "Teams": teams}
    (tmp_path / "rules.json").write_text(json.dumps(queue))
    assert told in check(capsys, tmp_path, QUEUE + 'rules_file = "rules.json"\n')


def test_rules_of_a_file_are_told_with_whose_age_counts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    level = {
        "Type": "DifferenceRule",
        "Name": "Level",
        "Difference": 10,
        "Attribute": {"Path": "level", "Source": "User"},
        "Expansion": {"DifferenceOverrides": [10, 5, 20], "SecondsBetweenExpansions": 10},
    }
    teams = [{"Name": name, "MinTeamSize": 1, "MaxTeamSize": 2} for name in ("a", "b")]
    queue = {"Name": "q", "MinMatchSize": 2, "MaxMatchSize": 4, "Teams": teams, "Rules": [level]}
    (tmp_path / "rules.json").write_text(json.dumps(queue))
    told = check(capsys, tmp_path, QUEUE + 'rules_file = "rules.json"\nwait_max = 60.0\n')
    assert "A match may start with 2 of its 4 players, 1 player in each team.\n" in told
    assert "Team sizes must hold.\n" in told
    assert (
        "Level must hold as it stands at the age of each ticket of the match; "
        "it changes at 10 s, 20 s."
    ) in told


def waiting_in(shard: str, group: str, names: str) -> Played:
    """Return a shard with one queue, named like its group, in which these players wait."""
    queue = Queue(group, group=group, policy="greedy", rules=(Rule("same", "rating"),))
    world = Played(shard=shard).hand_in(Configure(0.0, (queue,)))
    for place, name in enumerate(names):
        ticket = new_ticket(name, 1500.0 + place, queues=(group,))
        world.hand_in(Enqueue(1.0 + place, (ticket,)))
    return world


def grouped(*groups: str) -> str:
    return "".join(
        f'[[queue]]\nname = "{each}"\ngroup = "{each}"\nteams = 2\nplayers = 1\n'
        f'policy = "greedy"\nrules = [{{kind = "same", attribute = "rating"}}]\n'
        for each in groups
    )


def test_tickets_of_all_shards_are_foreseen(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    data, path = tmp_path / "data", tmp_path / "config.toml"
    waiting_in("s0", "default", "a").write(data)
    waiting_in("s0.casual", "casual", "bc").write(data)
    waiting_in("s0.squad", "squad", "def").write(data)
    path.write_text(grouped("default", "casual", "new").replace('name = "casual"', 'name = "c2"'))
    assert main(["check", str(path), "--against", str(data)]) == 0
    told = capsys.readouterr().out.splitlines()[-4:]
    starts = (
        f"1 ticket waits in shard s0 of {data}: 0 would expire",
        f"2 tickets wait in shard s0.casual of {data}: 2 would expire",
        f"0 tickets wait in shard s0.new of {data}: 0 would expire",
        f"3 tickets wait in shard s0.squad of {data}, which this configuration no longer makes:",
    )
    for line, start in zip(told, starts, strict=True):
        assert line.startswith(start)


@pytest.mark.parametrize(
    ("shards", "parts", "new"),
    [
        (("s0",), 2, "s0~1"),
        (("s0", "s0~1"), 4, "s0~2, s0~3"),
        (("s0", "s0~1"), 2, ""),
        (("s0.casual",), 2, ""),
    ],
)
def test_parts_that_a_journal_does_not_have_yet_need_a_drain(
    shards: tuple[str, ...],
    parts: int,
    new: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    data, path = tmp_path / "data", tmp_path / "config.toml"
    for shard in shards:
        waiting_in(shard, "default", "a").write(data)
    path.write_text(grouped("default") + f'split = "hash:{parts}"\n')
    assert main(["check", str(path), "--against", str(data)]) == 0
    told = capsys.readouterr().out
    assert (f"(new: {new}): drain the nodes first" in told) == bool(new)
    assert ("drain the nodes first" in told) == bool(new)


def test_one_server_has_all_groups_in_one_shard(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    data, path = tmp_path / "data", tmp_path / "config.toml"
    waiting_in("s0", "casual", "ab").write(data)
    path.write_text(grouped("default", "casual"))
    assert main(["check", str(path), "--against", str(data)]) == 0
    told = capsys.readouterr().out.splitlines()[-1]
    assert told.startswith(f"2 tickets wait in {data}: 0 would expire")


def test_matches_and_a_journal_are_two_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, matches = tmp_path / "duel.toml", tmp_path / "matches.jsonl"
    path.write_text('[[queue]]\nname = "duel"\npolicy = "greedy"\n')
    matches.touch()
    words = ["check", str(path), "--matches", str(matches), "--against", str(tmp_path)]
    assert main(words) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "give only one of --matches and --against" in told.err


RULES = {
    "name": "duel",
    "ruleLanguageVersion": "1.0",
    "teams": [{"name": name, "minPlayers": 1, "maxPlayers": 1} for name in ("red", "blue")],
}


@contextmanager
def piped(text: str) -> Iterator[str]:
    """Yield the name of a pipe that gives a text, as `<(...)` in a shell does."""
    reads, writes = os.pipe()
    os.write(writes, text.encode())
    os.close(writes)
    try:
        yield f"/dev/fd/{reads}"
    finally:
        os.close(reads)


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="has no /dev/fd")
def test_configuration_may_come_through_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with piped(QUEUE + RULE) as name:
        assert main(["check", name]) == 0
        assert capsys.readouterr().out.startswith(f"{name} is valid.\n")
    with piped(QUEUE + "[arrivals]\nrate = 1.0\ncount = 20\n") as name:
        assert main(["simulate", name]) == 0
        assert capsys.readouterr().out.startswith(f"{name}\ntickets")
    with piped(json.dumps(RULES)) as name:
        assert main(["simulate", "--rules", name]) == 0
        assert capsys.readouterr().out.startswith(f"{name}\n")
