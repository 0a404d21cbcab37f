"""The examples of the thread "Matching players in an online 1vs1 game", through the engine."""

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
