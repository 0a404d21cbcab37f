"""The examples of the thread "Matching players in an online 1vs1 game", through the engine."""

import math
import random
from typing import Literal

import pytest

from evenmatch.engine.engine import Engine
from evenmatch.model.inputs import Advance, Cancel, Configure, Enqueue
from evenmatch.model.queue import Queue, Sample
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, queue, rule

Met = tuple[float, set[str]]
"""When a match was made, and between whom."""

STEPS = ((60.0, 250.0), (120.0, 350.0), (180.0, 450.0), (240.0, 550.0))
FRACTIONS = tuple((10.0 * count, (5 + 5 * count) / 100) for count in range(1, 31))


def spec(steps: tuple[tuple[float, float], ...]) -> str:
    return "+".join(f"{wait:g}-{limit:g}" for wait, limit in steps)


def play(given: Queue, arrivals: list[tuple[float, str, float]], until: float) -> list[Met]:
    """Let players of these ratings arrive; return who met when, by `until`."""
    engine = Engine(lambda each: parse_policy(each.policy))
    engine.step(Configure(0.0, (given,)))
    for at, name, rating in arrivals:
        while engine.next_wakeup < at:
            engine.step(Advance(engine.next_wakeup))
        engine.step(Enqueue(at, (new_ticket(name, rating),)))
    while engine.next_wakeup <= until:
        engine.step(Advance(engine.next_wakeup))
    assert not engine.faults
    matches = [kept.match for kept in engine.tables.matches.values()]
    return [(match.at, {name for team in match.players for name in team}) for match in matches]


WIDENING: list[tuple[float, str, float]] = [
    (0.0, "2300", 2300),
    (0.0, "2000", 2000),
    (60.0, "2050", 2050),
    (60.0, "1900", 1900),
]


@pytest.mark.parametrize(("accept", "at"), [("both", 240.0), ("either", 180.0)])
@pytest.mark.parametrize("pick", ["oldest", "nearest"])
@pytest.mark.parametrize("where", ["policy", "rule"])
def test_limit_that_widens_in_steps(
    where: str, pick: str, accept: Literal["both", "either"], at: float
) -> None:
    if where == "policy":
        words = f"limit=150,limit_max=500,accept={accept},steps={spec(STEPS)}"
        given = queue(policy=f"window:{words},pick={pick}")
    else:
        own = rule(limit=150, steps=STEPS, limit_max=500, accept=accept)
        given = queue(policy=f"window:pick={pick}", rules=(own,))
    met = play(given, WIDENING, 1000.0)
    # At 60 s the limit of 2300 reaches 250 as well, but arrivals come before what falls due.
    assert met == [(60.0, {"2000", "2050"}), (at, {"2300", "1900"})]


def test_limit_that_widens_looked_at_by_a_clock() -> None:
    given = queue(policy=f"window:limit=150,limit_max=500,every=50,steps={spec(STEPS)}")
    assert play(given, WIDENING, 1000.0) == [(100.0, {"2000", "2050"}), (250.0, {"2300", "1900"})]


@pytest.mark.parametrize(
    "given",
    [
        queue(policy=f"window:limit=0.05,unit=relative,steps={spec(FRACTIONS)}"),
        queue(policy="window", rules=(rule(limit=0.05, unit="relative", steps=FRACTIONS),)),
        queue(policy="greedy", rules=(rule(limit=0.05, unit="relative", steps=FRACTIONS),)),
    ],
    ids=["policy", "rule", "greedy"],
)
def test_limit_that_is_a_share_of_ones_own_rating(given: Queue) -> None:
    arrivals: list[tuple[float, str, float]] = [(0.0, "800", 800), (300.0, "2000", 2000)]
    assert play(given, arrivals, 409.999) == []
    assert play(given, arrivals, 1000.0) == [(410.0, {"800", "2000"})]


LADDER = Sample(quantiles=tuple(float(rating) for rating in range(1001)))


@pytest.mark.parametrize("policy", ["window", "greedy"])
@pytest.mark.parametrize(
    ("rating", "meets"), [(849, False), (850, True), (901, True), (950, True), (951, False)]
)
def test_top_ten_percent_meets_the_top_five_to_fifteen(
    policy: str, rating: float, meets: bool
) -> None:
    own = rule(limit=0.05, unit="percentile", sample=LADDER)
    arrivals: list[tuple[float, str, float]] = [(0.0, "top", 900), (1.0, "other", rating)]
    met = play(queue(policy=policy, rules=(own,)), arrivals, 1000.0)
    assert met == ([(1.0, {"top", "other"})] if meets else [])


def test_top_ten_percent_of_the_last_arrivals_meets_the_top_five_to_fifteen() -> None:
    given = queue(policy="window:limit=0.05,unit=percentile,last=100")
    # A hundred players, one point apart in no particular order, who leave again at once.
    crowd = [(float(n), f"p{n}", 1000.0 + n * 37 % 100) for n in range(100)]
    for other, meets in ((1084.5, False), (1085.5, True), (1094.5, True), (1095.5, False)):
        engine = Engine(lambda each: parse_policy(each.policy))
        engine.step(Configure(0.0, (given,)))
        for at, name, rating in crowd:
            (event, *_) = engine.step(Enqueue(at, (new_ticket(name, rating),))).events
            if engine.tables.waiting:
                engine.step(Cancel(at, event.ticket, "left"))  # type: ignore[union-attr]
        engine.step(Enqueue(200.0, (new_ticket("top", 1089.5),)))
        engine.step(Enqueue(201.0, (new_ticket("other", other),)))
        assert not engine.faults
        assert bool(engine.tables.matches) == meets


def test_players_within_the_limit_meet_at_once_and_the_longest_waiting_first() -> None:
    given = queue(policy="window:limit=150,rate=2,limit_max=500")
    arrivals = [(0.0, "1500", 1500), (1.0, "1800", 1800), (2.0, "1650", 1650)]
    assert play(given, arrivals, 3.0) == [(2.0, {"1500", "1650"})]


def test_gap_beyond_the_clamp_never_meets() -> None:
    given = queue(policy="window:limit=150,rate=2,limit_max=500")
    arrivals: list[tuple[float, str, float]] = [(0.0, "1500", 1500), (0.0, "2001", 2001)]
    assert play(given, arrivals, 1e6) == []


def pair_up(names: str, at: float, rating: float) -> list[tuple[float, str, float]]:
    """Return the arrivals of players who are equal and meet at once, two by two."""
    return [(at, name, rating) for name in names]


def test_six_matches_in_a_frame_split_a_bracket_for_two_frames() -> None:
    given = queue(policy="adaptive_brackets")
    busy = pair_up("abcdefghijkl", 10.0, 700)
    alone = [(80.0, "499", 499.0), (81.0, "990", 990.0)]

    # The first frame begins with the first entry, at 10 s, so it ends at 70 s.
    met = play(given, busy + alone, 1e4)
    assert [at for at, _ in met] == [10.0] * 6 + [190.0]
    assert met[-1] == (190.0, {"499", "990"})

    # One match fewer leaves the bracket whole, and the two meet at once.
    assert play(given, busy[2:] + alone, 1e4)[-1] == (81.0, {"499", "990"})


def test_split_bracket_holds_while_matches_go_on() -> None:
    given = queue(policy="adaptive_brackets")
    busy = pair_up("abcdefghijkl", 0.0, 700)
    # Three matches in each minute are not fewer than three.
    goes_on = [
        (60.0 * minute + 30.0, f"{minute}{name}", 700.0)
        for minute in range(1, 10)
        for name in "abcdef"
    ]
    alone = [(575.0, "499", 499.0), (576.0, "990", 990.0)]

    # The last busy frame ends at 600 s; two quiet ones later the halves merge.
    assert play(given, busy + goes_on + alone, 1e4)[-1] == (720.0, {"499", "990"})
    # Two matches a minute are too few.
    fewer = [each for each in goes_on if each[1][-1] in "abcd"]
    assert play(given, busy + fewer + alone, 1e4)[-1] == (576.0, {"499", "990"})


@pytest.mark.parametrize("policy", ["closest_random:every=120", "weighted:every=120"])
def test_two_equals_wait_a_minute_on_average_for_rounds_of_two(policy: str) -> None:
    rng = random.Random(12)
    rounds = 400
    arrivals = [(0.0, "a", 1500.0), (0.0, "b", 1500.0)]
    for number in range(1, rounds + 1):
        for name in "ab":
            at = 120.0 * number + rng.randrange(120 * 8) / 8
            arrivals.append((at, f"{name}{number}", 1500.0))
    came = {name: at for at, name, _ in arrivals}

    met = play(queue(policy=policy), sorted(arrivals), 1e9)

    assert all(at % 120.0 == 0.0 for at, _ in met)
    waits = [at - came[name] for at, names in met for name in names if at > 120.0]
    assert len(waits) == 2 * rounds
    # A uniform wait of 0 to 120 s has a deviation of 34.6 s; four standard errors.
    tolerance = 4 * 120 / math.sqrt(12 * 2 * rounds)
    assert math.fsum(waits) / len(waits) == pytest.approx(60.0, abs=tolerance)


@pytest.mark.parametrize(
    ("policy", "met"),
    [
        # What the author objects to: with one candidate there is no choice.
        ("weighted", [(5.0, {"0", "1000"})]),
        ("weighted:every=60", [(60.0, {"0", "1000"})]),
        ("weighted:floor=0.01", []),
        ("weighted:every=60,floor=0.01", []),
    ],
)
def test_two_who_are_alone_and_far_apart(policy: str, met: list[Met]) -> None:
    arrivals = [(0.0, "0", 0.0), (5.0, "1000", 1000.0)]
    assert play(queue(policy=policy), arrivals, 1e5) == met


def test_lonely_player_at_the_top_meets_the_best_below() -> None:
    arrivals = [(0.0, "2655", 2655.0), (30.0, "2044", 2044.0), (40.0, "1400", 1400.0)]
    # 611 points less the limit of 150, at 2 points a second.
    assert play(queue(policy="virtual_rating"), arrivals, 1e5) == [(230.5, {"2655", "2044"})]
