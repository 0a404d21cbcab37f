"""Strict TOML: what is built from good files, and the sentence that each bad one gets."""

import tracemalloc
from pathlib import Path

import pytest

from evenmatch.config.files import (
    load_scenario,
    load_server,
    parse_scenario,
    parse_server,
    read_document,
)
from evenmatch.config.server import ServerLimits, ServerSettings
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Sample, Scale
from evenmatch.model.scenario import Arrivals, Choice, Exponential, Normal, Uniform

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "scenarios"


def queue(text: str = "") -> Queue:
    """Return the one queue of a file with this inside its [[queue]]."""
    return parse_scenario(f"[[queue]]\n{text}").queues[0]


def arrivals(text: str, queue_text: str = "") -> Arrivals:
    """Return the arrivals of a file with one queue and this text."""
    built = parse_scenario(f"[[queue]]\n{queue_text}\n{text}").arrivals
    assert built is not None
    return built


def rule(text: str, queue_text: str = "") -> str:
    """Return a queue's text with one rule on rating."""
    return f'{queue_text}\nrules = [{{kind = "spread", attribute = "rating", {text}}}]'


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_scenario(text)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


class TestQueue:
    def test_without_any_key_is_a_duel_that_only_waits(self) -> None:
        assert queue() == Queue()

    @pytest.mark.parametrize(
        ("text", "players"),
        [
            ("", (1, 1)),
            ("teams = 3", (1, 1, 1)),
            ("teams = 3\nplayers = 1", (1, 1, 1)),
            ("players = 1", (1, 1)),
            ("players = 2", (2, 2)),
            ("teams = 2\nplayers = 5", (5, 5)),
            ("players = [1, 4]", (1, 4)),
            ("teams = 2\nplayers = [1, 4]", (1, 4)),
            ("teams = 1\nplayers = 4", (4,)),
        ],
    )
    def test_teams_and_players_make_the_format(self, text: str, players: tuple[int, ...]) -> None:
        assert queue(text).format == Format(players)

    def test_sides_and_party_sizes_are_kept_in_order(self) -> None:
        form = queue('teams = 2\nplayers = 3\nsides = ["A", "B"]\nparty_sizes = [1, 3]').format
        assert form == Format((3, 3), ("A", "B"), (1, 3))

    def test_carries_criteria_rules_and_settings(self) -> None:
        built = queue(
            """
            name = "ranked.eu"
            wait_max = 120
            wait_price = 0.5
            on_deadline = "keep"
            policy = "greedy"
            group = "west"
            exclusive_match = true
            match_max = 3600
            attributes = ["map"]
            teams = 2
            players = 2
            [[queue.criteria]]
            kind = "imbalance"
            attribute = "rating"
            weight = 2
            measure = "sum"
            step = 10
            scale = {kind = "log", knee = 50, max = 400, cap = 3000}
            [[queue.rules]]
            kind = "spread"
            attribute = "rating"
            limit = 100
            unit = "relative"
            accept = "either"
            expand = {steps = [[60, 250.0], [200, 350.0]], max = 500}
            [[queue.rules]]
            kind = "same"
            attribute = "mode"
            """
        )
        expand = Expansion(steps=((60.0, 250.0), (200.0, 350.0)), max=500.0)
        assert built == Queue(
            name="ranked.eu",
            format=Format((2, 2)),
            criteria=(
                Criterion(
                    kind="imbalance",
                    attribute="rating",
                    weight=2.0,
                    measure="sum",
                    step=10.0,
                    scale=Scale(kind="log", knee=50.0, max=400.0, cap=3000.0),
                ),
            ),
            rules=(
                Rule(
                    kind="spread",
                    attribute="rating",
                    limit=100.0,
                    unit="relative",
                    expand=expand,
                    accept="either",
                ),
                Rule(kind="same", attribute="mode"),
            ),
            wait_max=120.0,
            wait_price=0.5,
            on_deadline="keep",
            group="west",
            exclusive_match=True,
            match_max=3600.0,
            attributes=("map",),
        )

    def test_percentiles_are_taken_among_the_last_values_or_in_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "ladder.csv").write_text("player,mu\na,30\nb,10\nc,\nd,20\n")
        text = """
            criteria = [{kind = "spread", attribute = "mu", scale = {kind = "percentile"}}]
            [[queue.rules]]
            kind = "spread"
            attribute = "mu"
            limit = 0.05
            unit = "percentile"
            file = "ladder.csv"
            column = "mu"
            """
        (built,) = parse_scenario(f"[[queue]]\n{text}", tmp_path).queues
        (served,), _, _ = parse_server(f"[[queue]]\n{text}", tmp_path)
        assert built.criteria[0].scale == Scale("percentile", sample=Sample(last=1000))
        assert built.rules[0].sample == Sample(quantiles=(10.0, 20.0, 30.0))
        assert served == built

    def test_percentiles_may_be_taken_in_a_file_that_is_shipped(self) -> None:
        built = queue(
            rule(
                'limit = 0.05, unit = "percentile", column = "ts_mu", '
                'file = "evenmatch:halo2_1v1_queue_trace.csv.gz"'
            )
        )
        table = built.rules[0].sample.quantiles
        assert len(table) == 1001
        assert list(table) == sorted(table)

    @pytest.mark.parametrize(
        ("cell", "sentence"),
        [
            ("high", "must be a number"),
            ("inf", "must be a finite number"),
            ("1e16", "between -1e+15"),
        ],
    )
    def test_table_of_percentiles_holds_numbers(
        self, tmp_path: Path, cell: str, sentence: str
    ) -> None:
        (tmp_path / "a.csv").write_text(f"mu\n1\n{cell}\n")
        text = rule('limit = 0.05, unit = "percentile", file = "a.csv", column = "mu"')
        with pytest.raises(
            ConfigError, match=r"rules\[0\].file cannot be used: .*line 3, column mu"
        ):
            parse_scenario(f"[[queue]]\n{text}", tmp_path)

    def test_numbers_of_built_values_are_floats(self) -> None:
        built = queue(rule("limit = 100, expand = {rate = 2}", "wait_max = 60"))
        assert isinstance(built.wait_max, float)
        assert isinstance(built.rules[0].limit, float)

    def test_curve_may_end_after_wait_max_but_not_begin_a_line_there(self) -> None:
        text = rule("limit = 1, expand = {curve = [[10, 1], [90, 5]]}", "wait_max = 60")
        assert queue(text).rules[0].expand == Expansion(curve=((10.0, 1.0), (90.0, 5.0)))

    def test_steps_after_wait_max_are_fine_where_tickets_are_kept(self) -> None:
        late = rule(
            "limit = 1, expand = {steps = [[90, 5]]}", 'wait_max = 60\non_deadline = "keep"'
        )
        assert queue(late).rules[0].expand == Expansion(steps=((90.0, 5.0),))


SPREAD = '{kind = "spread", attribute = "r"}'

# What is inside [[queue]] -> a fragment of the sentence.
BAD_QUEUES = [
    ("wait_mx = 5", "wait_mx is not a known key; did you mean wait_max? allowed: name, teams"),
    ('name = "duel"\nwait_max = "long"', 'queue "duel", wait_max must be seconds, or a text such'),
    ("wait_max = true", 'queue[0].wait_max must be seconds, or a text such as "1m30s", got'),
    ("max_wait = 5", "max_wait is not a known key; did you mean wait_max? allowed: name, teams"),
    ("wait_max = nan", "queue[0].wait_max must be a finite number, got nan"),
    ("wait_price = inf", "queue[0].wait_price must be a finite number, got inf"),
    ("wait_max = 0", "queue[0].wait_max must be between 1e-6 and 1e9 s, got 0"),
    ("wait_price = -1", "wait_price must be between 0 and 1e12 per player-second, got -1"),
    ("wait_price = 1e308", "wait_price must be between 0 and 1e12 per player-second, got 1e+308"),
    ("wait_max = 1e-310", "wait_max must be between 1e-6 and 1e9 s, got 1e-310"),
    ("exclusive_match = 1", "exclusive_match must be true or false, got 1"),
    ("match_max = 0", "match_max must be between 1e-6 and 1e9 s"),
    ('on_deadline = "bot"', 'one of bots, expire, keep (did you mean bots?), got "bot"'),
    ('on_deadline = "bots"', 'on_deadline = "bots" needs wait_max'),
    ('name = "a+b"', 'name must be 1 to 64 letters, digits, `_`, `-` or `.`, got "a+b"'),
    ('name = ""', "name must be 1 to 64 letters"),
    ('group = "a b"', "queue[0].group must be 1 to 64 letters"),
    ('policy = ""', "policy must be a SPEC of 1 to 500 characters"),
    ('policy = "gredy"', 'queue "main", policy = "gredy": no policy is called'),
    ("players = 0", "players must be between 1 and 1,000, got 0"),
    ("teams = 0", "teams must be between 1 and 1,000, got 0"),
    ("teams = 1", "give a match of 1 player; a match has at least 2"),
    ("teams = 2.5", "teams must be a whole number between 1 and 1,000, got 2.5"),
    ("teams = 100\nplayers = 100", "give a match of 10,000 players; at most 1,000 can play"),
    ("players = []", "players must name the seats of at least one team"),
    ("players = [1, 0]", "players[1] must be between 1 and 1,000, got 0"),
    ("teams = 3\nplayers = [1, 4]", "players has 2 entries and teams = 3; make them equal"),
    ('players = "five"', 'between 1 and 1,000 or a list of whole numbers, got "five"'),
    ('sides = ["A"]', "sides must name each of the 2 teams, got 1 names"),
    ('sides = ["A", "A"]', 'sides[1] repeats "A"'),
    ("teams = 2\nplayers = 2\nparty_sizes = [1, 3]", "party_sizes[1] must be between 1 and 2"),
    ("teams = 2\nplayers = 3\nparty_sizes = [2]", "[2] cannot fill a team of 3 players exactly"),
    ("party_sizes = []", "party_sizes must admit at least one size"),
    ("party_sizes = [1, 1]", "party_sizes[1] repeats 1"),
    ("roles = {tank = 1}", "roles divide the players of a team, and these teams have 1 player"),
    (
        "players = 3\nroles = {tank = 1, dps = 1}",
        "roles add up to 2 players and a team has 3",
    ),
    ("players = [1, 4]\nroles = {tank = 1}", "need teams of one size, got players = [1, 4]"),
    ("players = 2\nroles = {tank = 2.5}", "roles.tank must be a whole number, got 2.5"),
    (
        "players = 2\nroles = {tank = 2, dps = 0}",
        "roles.dps must be between 1 and 2 players",
    ),
    ("players = 2\nroles = {}", "roles must name at least one role; leave it out"),
    ('players = 2\nroles = {"a+b" = 2}', 'roles must have names without + and |, got "a+b"'),
    ('name = "q"\nrules_file = "r.json"', 'rules_file = "r.json" cannot be used: cannot be read'),
    (
        'name = "q"\nrules_file = "r.json"\nteams = 2',
        'queue "q", teams contradicts rules_file, which already says this: leave it out',
    ),
    ("players_min = 2", "players_min must be between 0 and 1, got 2"),
    ("players_min = [1]", "players_min must give a number for each of the 2 teams, got 1 numbers"),
    ("players_min = []", "players_min must give a number for each team; leave it out"),
    ("players_min = [1, 0]", "players_min must keep at least 2 players, and two teams where"),
    (
        "players = 3\nplayers_min = [1, 4]",
        "players_min[1] must be between 0 and the team's 3",
    ),
    ("teams = 3\nplayers_min = [1, 0, 1]", "players_min[2] is higher than that of a team like it"),
    (
        "players = 3\nplayers_min = 3\nparty_sizes = [2]",
        "[2] cannot fill a team of 3 players exactly",
    ),
    ('attributes = ["map", "map"]', 'attributes[1] repeats "map"'),
    ('attributes = [""]', 'attributes[0] must be a name of 1 to 100 characters, got ""'),
    (f"attributes = {[str(i) for i in range(65)]}", "attributes must have at most 64 entries, got"),
    ('sides = ["", "B"]', 'sides[0] must be a name of 1 to 64 characters, got ""'),
    ('criteria = [{kind = "spread", attribute = ""}]', "attribute must be a name of 1 to 100"),
    (f"criteria = [{', '.join([SPREAD] * 17)}]", "criteria must have at most 16 entries, got 17"),
    ("criteria = [5]", "queue[0].criteria[0] must be a table, got 5"),
    (
        f'policy = "{"x" * 10_001}"',
        "policy must be a text of at most 10,000 characters, got 10,001",
    ),
    (f"party_sizes = {[1] * 10_001}", "party_sizes must have at most 10,000 entries, got 10,001"),
    ('attributes = "map"', 'attributes must be a list of texts, got "map"'),
    ("criteria = 5", "criteria must be a list of tables"),
    ("criteria = [{}]", "queue[0].criteria[0].kind is missing"),
    ('criteria = [{kind = "spread"}]', "criteria[0].attribute is missing"),
    ('criteria = [{kind = "fullness"}]', 'kind = "fullness" counts free seats, and here all are'),
    (
        'criteria = [{kind = "role_rank"}]',
        'kind = "role_rank" compares roles, and this queue has none',
    ),
    ('criteria = [{kind = "spred"}]', "(did you mean spread?)"),
    (
        'criteria = [{kind = "spread", attribute = "r", weight = -1}]',
        "weight must be between 0 and",
    ),
    ('criteria = [{kind = "spread", attribute = "r", weight = 1e308}]', "between 0 and 1e12, got"),
    (
        (
            'criteria = [{kind = "spread", attribute = "r", '
            'scale = {kind = "log", max = 1, knee = 5e-324}}]'
        ),
        "scale.knee must be between 1e-9 and 1e15, got 5e-324",
    ),
    ('criteria = [{kind = "spread", attribute = "r", weight = nan}]', "weight must be a finite"),
    ('criteria = [{kind = "spread", attribute = "r", step = 1}]', "step goes only with kind"),
    ('criteria = [{kind = "spread", attribute = "r", measure = "sum"}]', "measure goes only with"),
    (
        'teams = 1\nplayers = 2\ncriteria = [{kind = "imbalance", attribute = "r"}]',
        'kind = "imbalance" compares teams, and this queue has one',
    ),
    (
        'criteria = [{kind = "spread", attribute = "r", scale = {kind = "percentile", min = 1}}]',
        'scale.min does not go with kind = "percentile", which takes file, column, last',
    ),
    (
        'criteria = [{kind = "spread", attribute = "r", scale = {last = 5}}]',
        'scale.last does not go with kind = "linear", which takes min, max',
    ),
    (
        'criteria = [{kind = "spread", attribute = "r", scale = {min = 3, max = 3}}]',
        "scale.max must be at least 1e-9 above min = 3, got 3.0",
    ),
    (
        'criteria = [{kind = "spread", attribute = "r", scale = {kind = "capped"}}]',
        "scale.max is missing; it is the gap that costs 1",
    ),
    (
        'criteria = [{kind = "spread", attribute = "r", scale = {kind = "none", max = 3}}]',
        'scale.max does not go with kind = "none", which takes no further key',
    ),
    (
        'criteria = [{kind = "spread", attribute = "r", scale = {knid = "log", knee = 3}}]',
        "scale.knid is not a known key; did you mean kind? allowed: kind, min, max",
    ),
    (
        rule("limit = 1, expand = {steps = 5}"),
        "expand.steps must be a list of pairs [wait in seconds, limit], got 5",
    ),
    ('name = "duel"\n' + rule("limit = 1, expand = {}"), 'queue "duel", rules[0].expand must have'),
    ('rules = [{kind = "same", attribute = "m", limit = 1}]', 'limit does not go with kind = "sa'),
    ('rules = [{kind = "spread", attribute = "r"}]', "rules[0].limit is missing"),
    (rule("limit = -1"), "queue[0].rules[0].limit must be between 0 and 1e15, got -1"),
    (rule('limit = 5, unit = "percentile"'), "limit must be between 0 and 1 if unit is perc"),
    (rule("limit = 1, last = 5"), 'last goes only with unit = "percentile"'),
    (
        rule('limit = 0.1, unit = "percentile", column = "a"'),
        "rules[0].column goes only with file, whose column it names",
    ),
    (
        rule('limit = 0.1, unit = "percentile", file = "a.csv"'),
        "rules[0].column is missing; it names the column of the file",
    ),
    (
        rule('limit = 0.1, unit = "percentile", file = "a.csv", column = "a", last = 3'),
        "rules[0].last does not go with file: percentiles are taken in one of the two",
    ),
    (
        rule('limit = 0.1, unit = "percentile", file = "no such.csv", column = "a"'),
        "rules[0].file cannot be used: no such.csv: cannot be read: No such file or directory",
    ),
    (
        rule('limit = 0.1, unit = "percentile", file = "evenmatch:none.csv", column = "a"'),
        "rules[0].file cannot be used: evenmatch:none.csv: no such file comes with evenmatch",
    ),
    (
        'rules = [{kind = "same", attribute = "m", last = 9}]',
        'last does not go with kind = "same"',
    ),
    (rule('limit = 1, accept = "one"'), 'accept must be one of both, either, got "one"'),
    (rule("limit = 1, expand = {}"), "must have exactly one of rate > 0, steps and curve"),
    (
        rule("limit = 1, expand = {rate = 1, steps = [[1, 2]]}"),
        "expand must have exactly one of rate, steps and curve, got rate and steps",
    ),
    (
        rule("limit = 1, expand = {rate = 0}"),
        "expand must have exactly one of rate > 0, steps and curve, got none",
    ),
    (rule("limit = 9, expand = {rate = 1, max = 5}"), "max must be at least the limit 9, got 5.0"),
    (rule("limit = 1, expand = {steps = []}"), "steps must have at least one entry, got 0"),
    (
        rule("limit = 1, expand = {steps = [[1, 2, 3]]}"),
        "steps[0] must be a pair [wait in seconds, limit]",
    ),
    (
        rule("limit = 1, expand = {steps = [[60, 5], [60, 9]]}"),
        "steps[1] has wait 60 s; waits must increase, and the one before is 60 s",
    ),
    (
        rule("limit = 1, expand = {steps = [[60, 9], [90, 5]]}"),
        "steps[1] has limit 5; limits must increase, and the one before is 9",
    ),
    (rule("limit = 9, expand = {steps = [[60, 5]]}"), "steps[0] has limit 5; limits must increase"),
    (
        rule("limit = 1, expand = {steps = [[60, 9]], max = 5}"),
        "steps[0] has limit 9, above max = 5",
    ),
    (
        rule("limit = 1, expand = {steps = [[30, 5], [60, 9]]}", "wait_max = 60"),
        "steps[1] at 60 s can never be reached: wait_max is 60 s",
    ),
    (rule("limit = 1, expand = {curve = [[-3, 5]]}"), "has wait -3.0 s; waits must be between 0"),
    (rule("limit = 1, expand = {steps = [[1e304, 5]]}"), "steps[0] has wait 1e+304 s; waits must"),
    (rule("limit = 1, expand = {steps = [[5, 1e304]]}"), "steps[0] has limit 1e+304; limits must"),
    (rule("limit = 1, expand = {rate = 1, max = 1e308}"), "expand.max must be between 0 and 1e15"),
    (
        rule("limit = 1, expand = {curve = [[30, 5], [60, 3]]}"),
        "curve[1] has limit 3; a limit may not fall, it was 5",
    ),
    (
        rule("limit = 1, expand = {curve = [[60, 5], [90, 9]]}", "wait_max = 60"),
        "curve[1] at 90 s can never be reached",
    ),
]


@pytest.mark.parametrize(("text", "fragment"), BAD_QUEUES, ids=lambda text: text[:60])
def test_bad_queue_is_refused_with_a_sentence(text: str, fragment: str) -> None:
    assert fragment in refusal(f"[[queue]]\n{text}")


ONE_CLASS = "[arrivals]\ncount = 5\n[[arrivals.classes]]\nrate = 1\n"

# The whole file, in which Q stands for an empty [[queue]] -> a fragment of the sentence.
BAD_FILES = [
    ("", "queue is missing; a file needs at least one [[queue]]"),
    ("[queue]", "queue must be a list of tables (double brackets: [[...]]), got a table"),
    ("Q[[queue]]", 'queue[1].name "main" is taken'),
    ("[[queue]]\nname = 5", "name must be 1 to 64 letters, digits, `_`, `-` or `.`, got 5"),
    ("seed = [", "must be valid TOML"),
    ('[[queue]]\nname = "a\\nb"', r'got "a\nb"'),
    ("sed = 1\nQ", "sed is not a known key; did you mean seed?"),
    ("seed = 1.5\nQ", "seed must be a whole number >= 0, got 1.5"),
    ("seed = -1\nQ", "seed must be >= 0, got -1"),
    (f"seed = {10**30}\nQ", "seed must be a number of at most"),
    ("until = 0\nQ", "until must be between 1e-6 and 1e9 s, got 0"),
    ("warmup = -1\nQ", "warmup must be between 0 and 1e9 s"),
    ("solve_time = -1\nQ", "solve_time must be between 0 and 1e9 s"),
    ("a = " + "[" * 5000 + "]" * 5000, "must not nest tables and lists this deeply"),
    ("[[queue]]\n" * 101, "queue must have at most 100 entries, got 101"),
    ("Q[arrivals]\ncount = 5", "arrivals.rate is missing; give the tickets per second"),
    ("Q[arrivals]\nrate = 1", "give count, duration or until, so that arrivals end"),
    (
        "Q[arrivals]\nrate = 0\ncount = 5",
        "arrivals.rate must be between 1e-9 and 1e9 tickets per second",
    ),
    ("Q[arrivals]\nrate = 1\ncount = 0", "arrivals.count must be between 1 and 50,000,000, got 0"),
    ("Q[arrivals]\nrate = 1\nduration = -5", "arrivals.duration must be between 1e-6"),
    ("Q[arrivals]\nrate = 1e6\nduration = 1e6", "gives about 1,000,000,000,000 tickets; at most"),
    ('Q[arrivals]\nprocess = "possion"\nrate = 1', "(did you mean poisson?)"),
    ("Q[arrivals]\nrate = 1\ninterval = 1", 'interval does not go with process = "poisson"'),
    ('Q[arrivals]\nprocess = "regular"\ncount = 5', "arrivals.interval is missing"),
    ('Q[arrivals]\nprocess = "ramp"\nrate = 1\ncount = 5', "arrivals.to is missing"),
    ('Q[arrivals]\nprocess = "ramp"\nrate = 0\nto = 0\ncount = 5', "nobody would arrive"),
    ('Q[arrivals]\nprocess = "ramp"\nrate = 1\nto = 0\ncount = 5', "arrivals.duration is missing"),
    (
        'Q[arrivals]\nprocess = "ramp"\nrate = 1\nto = 2\nby = "index"\nduration = 5',
        'arrivals.count is missing; by = "index" needs the number of tickets',
    ),
    ('Q[arrivals]\nprocess = "ramp"\nrate = 1\nto = 2\nby = "x"', "by must be one of time, index"),
    ('Q[arrivals]\nprocess = "hourly"\nhours = [1]\ncount = 1', "hours must have 24 numbers"),
    (
        f'Q[arrivals]\nprocess = "hourly"\nhours = {[0] * 24}\ncount = 1',
        "arrivals.hours must not all be 0",
    ),
    (
        f'Q[arrivals]\nprocess = "hourly"\nhours = {[1] * 23 + [-1]}\ncount = 1',
        "arrivals.hours[23] must be between 0 and 1e9 tickets per second, got -1",
    ),
    ('Q[arrivals]\nprocess = "file"', 'file is missing; process = "file" needs'),
    ('Q[arrivals]\nfile = ""', "arrivals.file must be the name of a file"),
    ('Q[arrivals]\nfile = "a.csv"\ncolumns = {at = ""}', "columns must be names, ours = theirs"),
    (
        'Q[arrivals]\nfile = "a.csv"\n[[arrivals.classes]]\nrate = 1',
        "classes do not go with a file",
    ),
    (
        "Q[arrivals]\ncount = 5\n[[arrivals.classes]]",
        "classes[0] must have either a rate or a share",
    ),
    (
        "Q[arrivals]\ncount = 5\n[[arrivals.classes]]\nrate = 1\n[[arrivals.classes]]\nshare = 1",
        "classes must either all have a rate or all have a share",
    ),
    (
        "Q[arrivals]\nrate = 1\ncount = 5\n[[arrivals.classes]]\nshare = 0.9",
        "classes have shares that sum to 0.9; they must sum to 1",
    ),
    (
        "Q[arrivals]\nrate = 1\ncount = 5\n[[arrivals.classes]]\nrate = 1",
        "classes have rates of their own, so leave arrivals.rate out",
    ),
    (
        'Q[arrivals]\nprocess = "regular"\ninterval = 1\ncount = 5\n[[arrivals.classes]]\nrate = 1',
        "classes must have shares, not rates",
    ),
    (
        'Q[arrivals]\ncount = 5\n[[arrivals.classes]]\nrate = 1\nqueues = ["mian"]',
        'queues[0] = "mian" is not a queue; did you mean main? queues are main',
    ),
    (
        f"Q{ONE_CLASS}drift = 5",
        "classes[0].drift must be a list of pairs [instant in seconds, rate or share], got 5",
    ),
    (
        f"Q{ONE_CLASS}attributes = 5",
        "classes[0].attributes must be a table of numbers, texts or lists of texts, got 5",
    ),
    (
        'Q[arrivals]\nfile = "a.csv"\ncolumns = 5',
        "arrivals.columns must be a table of names, ours = theirs, got 5",
    ),
    (
        "Q[arrivals]\nhours = 5",
        "arrivals.hours must be a list of numbers between 0 and 1e9 tickets per second, got 5",
    ),
    (
        "Q[arrivals]\ncount = 5\n[[arrivals.classes]]\nrate = 1\nsize = 2",
        'classes[0].size must be a size that queue "main" admits: 1, got 2',
    ),
    (
        f'[[queue]]\nsides = ["A", "B"]\n{ONE_CLASS}attributes = {{side = "C"}}',
        "attributes.side must be one of A, B, or empty",
    ),
    (
        f'Q[[queue]]\nname = "x"\ngroup = "g"\n{ONE_CLASS}queues = ["main", "x"]',
        "queues are of different groups (main of default, x of g); only queues of one group share",
    ),
    ('Q[attributes.c0]\ndistribution = "uniform"', "attributes are drawn only for arrivals"),
    ('A[attributes.at]\ndistribution = "uniform"', "attributes.at cannot be drawn; reserved"),
    ('A[attributes.".eu"]\ndistribution = "uniform"', "must have a name before the dot"),
    ('A[attributes.c0]\ndistribution = "gauss"', "c0.distribution must be one of uniform, normal"),
    (
        "A[attributes.c0]\nmean = 5",
        "attributes.c0.distribution is missing; it is one of uniform, normal, exponential, ",
    ),
    (
        'A[attributes.c0]\ndistributon = "normal"\nmean = 5',
        "attributes.c0.distributon is not a known key; did you mean distribution?",
    ),
    (
        'A[attributes.c0]\ndistribution = "uniform"\nmean = 5',
        'mean does not go with distribution = "uniform", which takes min',
    ),
    (
        'A[attributes.c0]\ndistribution = "uniform"\nmin = 2',
        "c0.max must be at least 1e-9 above min = 2, got 1.0",
    ),
    (
        'A[attributes.c0]\ndistribution = "normal"\nmean = 5',
        'deviation is missing; distribution = "normal" needs mean',
    ),
    (
        'A[attributes.c0]\ndistribution = "normal"\nmean = 5\ndeviation = 0',
        "attributes.c0.deviation must be between 1e-9 and 1e15",
    ),
    (
        'A[attributes.c0]\ndistribution = "normal"\nmean = 0\ndeviation = 1\nmin = 9',
        "leaves less than 1 % of the normal distribution",
    ),
    (
        'A[attributes.c0]\ndistribution = "choice"\nvalues = []',
        "values must have 1 to 1,000 entries",
    ),
    (
        'A[attributes.c0]\ndistribution = "choice"\nvalues = ["a", "b"]\nprobs = [0.5, 0.6]',
        "attributes.c0.probs must sum to 1, got 1.1",
    ),
    (
        'A[attributes.c0]\ndistribution = "choice"\nvalues = ["a", "b"]\nprobs = [1]',
        "probs must have one entry for each of 2 values",
    ),
    (
        'A[attributes.c0]\ndistribution = "choice"\nvalues = ["a", "b"]\nprobs = [1.0, -0.5]',
        "attributes.c0.probs[1] must be between 0 and 1, got -0.5",
    ),
    ('A[attributes.c0]\ndistribution = "empirical"\nfile = "a.csv"', "c0.column is missing"),
    ("attributes = 5\nQ", "attributes must be a table of tables, got 5"),
    (
        "A" + "".join(f'[attributes.c{i}]\ndistribution = "uniform"\n' for i in range(65)),
        "attributes must have at most 64 entries, got 65",
    ),
    ('A[attributes.""]\ndistribution = "uniform"', "attributes must be named with 1 to 100"),
    (
        f'A[attributes.c0]\ndistribution = "choice"\nvalues = {[1] * 1001}',
        "attributes.c0.values must have 1 to 1,000 entries, got 1,001",
    ),
    ("A" + "[[arrivals.classes]]\nshare = 0.01\n" * 101, "classes must have at most 100 entries"),
    (
        f'[[queue]]\n{ONE_CLASS}queues = ["main", "main"]',
        'arrivals.classes[0].queues[1] repeats "main"',
    ),
    (f"[[queue]]\n{ONE_CLASS}attributes = {{at = 5}}", 'attributes cannot hold "at"; reserved are'),
    (
        f"[[queue]]\n{ONE_CLASS}attributes = {{roles = ['tank']}}",
        "; roles come from a recording with a column roles",
    ),
    (
        'Q[arrivals]\nprocess = "regular"\ninterval = 0\ncount = 5',
        "arrivals.interval must be between 1e-6 and 1e9 s, got 0",
    ),
    (
        'Q[arrivals]\nprocess = "regular"\ninterval = 1e-6\nduration = 1000',
        "arrivals.duration gives about 1,000,000,000 tickets",
    ),
    (
        'Q[arrivals]\nprocess = "ramp"\nrate = 0\nto = 1e9\nduration = 1',
        "arrivals.duration gives about 500,000,000 tickets",
    ),
    (
        f'Q[arrivals]\nprocess = "hourly"\nhours = {[1e9] * 24}\nduration = 1',
        "arrivals.duration gives about 1,000,000,000 tickets",
    ),
    (
        f'Q[arrivals]\nprocess = "hourly"\nrate = -1\nhours = {[1] * 24}\ncount = 1',
        "arrivals.rate must be between 0 and 1e9 tickets per second",
    ),
    (
        'Apatience = {distribution = "uniform", min = -1}',
        "arrivals.patience.min must be between 0 and 1e9 s, got -1.0",
    ),
    ("Apatience = -1", "arrivals.patience must be between 0 and 1e9 s, got -1"),
    (
        'Apatience = {distribution = "exponential", mean = 0}',
        "arrivals.patience.mean must be between 1e-9 and 1e15",
    ),
    (
        'Apatience = {distribution = "normal", mean = 9, deviation = 3}',
        "arrivals.patience.min must be >= 0 s",
    ),
    (
        'Apatience = {distribution = "choice", values = ["long"]}',
        "arrivals.patience.values[0] must be a number of seconds",
    ),
]


@pytest.mark.parametrize(("text", "fragment"), BAD_FILES, ids=lambda text: text[:60])
def test_bad_file_is_refused_with_a_sentence(text: str, fragment: str) -> None:
    arrivals_text = "[[queue]]\n[arrivals]\nrate = 1\ncount = 5\n"
    text = text.replace("Q[", "[[queue]]\n[").replace("\nQ", "\n[[queue]]")
    if text.startswith("A"):
        text = arrivals_text + text[1:]
    assert fragment in refusal(text)


def test_rule_set_in_the_place_of_a_configuration_is_called_one(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text(' {"name": "duel"}')
    with pytest.raises(
        ConfigError, match=r"rules.json: must be TOML, .* evenmatch import flexmatch"
    ):
        load_server(path)


class TestArrivals:
    def test_are_none_where_the_file_has_none(self) -> None:
        assert parse_scenario("[[queue]]").arrivals is None

    def test_are_poisson_unless_they_say_otherwise(self) -> None:
        assert arrivals("[arrivals]\nrate = 3\ncount = 7") == Arrivals(rate=3.0, count=7)

    def test_end_with_the_run_unless_they_say_when(self) -> None:
        built = parse_scenario("until = 60\n[[queue]]\n[arrivals]\nrate = 3").arrivals
        assert built == Arrivals(rate=3.0, duration=60.0)

    def test_with_a_file_or_only_columns_are_a_recording(self) -> None:
        assert arrivals('[arrivals]\nfile = "a.csv"').process == "file"
        assert arrivals('[arrivals]\ncolumns = {at = "t"}') == Arrivals(
            process="file", columns={"at": "t"}
        )

    def test_sum_the_rates_of_their_classes(self) -> None:
        text = "[arrivals]\ncount = 5\n" + "[[arrivals.classes]]\nrate = 0.5\n" * 3
        assert arrivals(text).total_rate == 1.5

    def test_keep_facts_of_classes_as_floats_words_and_sorted_sets(self) -> None:
        text = (
            "[arrivals]\ncount = 5\n[[arrivals.classes]]\nrate = 1\n"
            'attributes = {level = 3, side = "A", modes = ["b", "a", "b"]}'
        )
        facts = arrivals(text).classes[0].attributes
        assert facts == {"level": 3.0, "side": "A", "modes": ("a", "b")}
        assert isinstance(facts["level"], float)

    def test_take_distributions_from_the_attributes(self) -> None:
        text = (
            "[arrivals]\nrate = 1\ncount = 5\n"
            '[attributes.c0]\ndistribution = "uniform"\n'
            '[attributes.rating]\ndistribution = "normal"\nmean = 1500\ndeviation = 350\nmin = 0\n'
            '[attributes.mode]\ndistribution = "choice"\nvalues = ["a", 2]\nprobs = [0.25, 0.75]\n'
        )
        assert arrivals(text).attributes == {
            "c0": Uniform(),
            "rating": Normal(mean=1500.0, deviation=350.0, min=0.0),
            "mode": Choice(values=("a", 2.0), probs=(0.25, 0.75)),
        }

    def test_have_a_patience_drawn_or_fixed(self) -> None:
        drawn = (
            '[arrivals]\nrate = 1\ncount = 5\npatience = {distribution = "exponential", mean = 9}'
        )
        assert arrivals(drawn).patience == Exponential(mean=9.0)
        fixed = "[arrivals]\nrate = 1\ncount = 5\npatience = 30"
        assert arrivals(fixed).patience == Choice(values=(30.0,))

    def test_find_files_beside_the_scenario_unless_they_are_shipped(self) -> None:
        beside = parse_scenario('[[queue]]\n[arrivals]\nfile = "a.csv"', "some/folder").arrivals
        assert beside is not None
        assert beside.file == str(Path("some/folder/a.csv"))
        shipped = parse_scenario('[[queue]]\n[arrivals]\nfile = "evenmatch:a.csv"', "x").arrivals
        assert shipped is not None
        assert shipped.file == "evenmatch:a.csv"


class TestServer:
    def test_has_defaults_for_everything(self) -> None:
        assert parse_server("[[queue]]") == ((Queue(),), ServerSettings(), 1)

    def test_reads_its_settings_and_limits(self) -> None:
        text = (
            'seed = 4\n[[queue]]\n[server]\nclock_speed = 60\nkeep_days = 7\norigins = ["*"]\n'
            "[server.limits]\npool_max = 500\nfollowers_max = 5"
        )
        _, settings, seed = parse_server(text)
        assert seed == 4
        assert settings == ServerSettings(
            clock_speed=60.0,
            keep_days=7.0,
            origins=("*",),
            limits=ServerLimits(pool_max=500, followers_max=5),
        )

    def test_ignores_arrivals_and_a_simulation_ignores_the_server(self) -> None:
        text = "[[queue]]\n[arrivals]\nrate = -1\n[server]\nclock_speed = 1"
        assert parse_server(text)[1] == ServerSettings()
        assert parse_scenario("[[queue]]\n[server]\nclock_speed = -1").arrivals is None

    @pytest.mark.parametrize(
        ("text", "fragment"),
        [
            (
                "clock_speed = 0",
                "server.clock_speed must be between 1e-6 and 1e6, got 0",
            ),
            ("keep_days = 1e9", "server.keep_days must be between 1e-6 and 3,650 days"),
            ('origins = ["example.com"]', "server.origins[0] must be an origin such as"),
            ("ports = 80", "server.ports is not a known key; allowed: clock_speed"),
            ('keys = ["x"]', "server.keys is not a known key; did you mean keys_file?"),
            ("limits = {pool_max = 0}", "server.limits.pool_max must be between 1 and"),
            (
                "limits = {pool = 5}",
                "server.limits.pool is not a known key; did you mean pool_max?",
            ),
        ],
    )
    def test_refuses_bad_settings(self, text: str, fragment: str) -> None:
        with pytest.raises(ConfigError) as caught:
            parse_server(f"[[queue]]\n[server]\n{text}")
        assert fragment in str(caught.value)


class TestFiles:
    def test_errors_name_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text("[[queue]]\nteams = 0")
        for load in (load_scenario, load_server):
            with pytest.raises(ConfigError, match=r"mine\.toml: queue\[0\]\.teams must be"):
                load(path)

    @pytest.mark.parametrize(
        ("data", "fragment"),
        [
            (None, "cannot be read: No such file"),
            (b"\xff\xfe", "must be UTF-8 text, and byte 0 is not"),
            (b"#" * 1_000_001, "must be a file of at most 1,000,000 bytes"),
        ],
        ids=["missing", "not UTF-8", "too long"],
    )
    def test_unreadable_file_is_refused(
        self, tmp_path: Path, data: bytes | None, fragment: str
    ) -> None:
        path = tmp_path / "bad.toml"
        if data is not None:
            path.write_bytes(data)
        with pytest.raises(ConfigError) as caught:
            load_scenario(path)
        assert fragment in str(caught.value)

    def test_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="cannot be read"):
            load_server(tmp_path)

    @pytest.mark.parametrize("key", ["rules_file", "file"])
    def test_device_that_a_queue_names_is_refused(self, tmp_path: Path, key: str) -> None:
        scale = '[[queue.criteria]]\nkind = "spread"\nattribute = "rating"\nscale = {%s}'
        named = f'{key} = "/dev/null"'
        table = scale % f'kind = "percentile", column = "x", {named}' if key == "file" else named
        path = tmp_path / "mine.toml"
        path.write_text(f"[[queue]]\n{table}\n")
        with pytest.raises(ConfigError, match="not a regular file"):
            load_server(path)

    def test_byte_order_mark_is_no_problem(self, tmp_path: Path) -> None:
        path = tmp_path / "bom.toml"
        path.write_bytes(b"\xef\xbb\xbf[[queue]]\n")
        assert load_scenario(path).queues == (Queue(),)


class TestShippedScenarios:
    def test_duel_can_be_simulated_and_served(self) -> None:
        scenario = load_scenario(SCENARIOS / "duel.toml")
        queues, _, _ = load_server(SCENARIOS / "duel.toml")
        assert scenario.queues == queues
        assert queues[0].policy == "window"
        assert queues[0].rules[0].expand == Expansion(rate=2.0, max=500.0)
        assert scenario.arrivals is not None
        assert (scenario.arrivals.rate, scenario.arrivals.duration) == (2.0, 1200.0)

    def test_halo_prices_a_point_of_rating_at_30(self) -> None:
        scenario = load_scenario(SCENARIOS / "halo.toml")
        only = scenario.queues[0]
        assert (only.wait_max, only.price) == (None, 1.0)
        assert only.criteria[0].weight == 30.0
        assert only.criteria[0].scale == Scale(kind="none")
        assert scenario.arrivals is not None
        assert scenario.arrivals.file == "evenmatch:halo2_1v1_queue_trace.csv.gz"

    @pytest.mark.parametrize(
        ("name", "team_size", "player_rate"),
        [
            ("world_3v3", 3, 20 / 60),
            ("world_3v3_busy", 3, 200 / 60),
            ("world_5v5", 5, 100 / 60),
            ("oceania_evening", 3, 20 / 60),
        ],
    )
    def test_worlds_judge_by_six_factors_at_eight_in_the_evening(
        self, name: str, team_size: int, player_rate: float
    ) -> None:
        scenario = load_scenario(SCENARIOS / f"{name}.toml")
        (only,) = scenario.queues
        assert only.format.players == (team_size, team_size)
        weights = {each.kind: each.weight for each in only.criteria}
        assert weights == {
            "imbalance": 0.24,
            "mean_gap": 0.22,
            "party_parity": 0.12,
            "latency": 0.26,
            "rematch": 0.04,
            "host_options": 0.12,
        }
        assert scenario.arrivals is not None
        assert scenario.arrivals.world is not None
        assert scenario.arrivals.world.hour == 19.0
        assert scenario.arrivals.world.player_rate == pytest.approx(player_rate, abs=1e-4)


def test_players_min_is_a_number_for_all_teams_or_one_for_each() -> None:
    (one,) = parse_scenario("[[queue]]\nplayers = 3\nplayers_min = 2").queues
    (each,) = parse_scenario("[[queue]]\nteams = 3\nplayers_min = [1, 1, 0]").queues
    (full,) = parse_scenario("[[queue]]\nplayers = 3\nplayers_min = 3").queues

    assert (one.format.least_players, one.format.k_min, one.format.k) == ((2, 2), 4, 6)
    assert (each.format.least_players, each.format.k_min) == ((1, 1, 0), 2)
    assert (full.format.players_min, full.format.is_variable) == ((), False)


def test_parties_need_to_fill_a_team_only_to_its_minimum() -> None:
    (queue,) = parse_scenario("[[queue]]\nplayers = 3\nplayers_min = 2\nparty_sizes = [2]").queues

    assert queue.format.party_sizes == (2,)


def test_roles_keep_the_order_of_the_file() -> None:
    text = "[[queue]]\nplayers = 5\nroles = {tank = 1, healer = 1, dps = 3}"
    (queue,) = parse_scenario(text).queues

    assert queue.format.roles == (("tank", 1), ("healer", 1), ("dps", 3))
    assert queue.policy == "greedy"


HOSTILE_KEYS = (
    "a." * 20_000 + "a = 1",
    "[" + "a." * 20_000 + "a]",
    "x = {" + "a . " * 20_000 + "a = 1}",
    '"a" . ' * 20_000 + "a = 1",
    "'a'.b." * 20_000 + "a = 1",
)


@pytest.mark.parametrize("text", HOSTILE_KEYS, ids=range(len(HOSTILE_KEYS)))
def test_key_of_very_many_parts_is_refused_before_it_takes_memory(text: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ConfigError, match="key of more than 16 parts"):
            read_document(text)
        assert tracemalloc.get_traced_memory()[1] < 10 * len(text)
    finally:
        tracemalloc.stop()


def test_dots_that_are_in_no_key_are_nobodys_concern() -> None:
    numbers = ", ".join(["0.5"] * 100)
    words = "1.5 and " * 50
    found = read_document(f'a.b.c.d = 1\nx = [{numbers}]\ny = "{words}"')
    assert len(found["x"]) == 100  # type: ignore[arg-type]
