"""Newcomers: how sure a rating is decides neither whether nor how long they wait.

Of 2,000 players, one in two seconds, 15 % are newcomers with the mean of all and a deviation of
350; the others are known to within 60 points of true skills around 1500 +- 300. Waits and meetings
come from one fixed seed each; the bounds leave a factor of two around what was seen.
"""

import numpy as np
import pytest

from evenmatch import simulate
from evenmatch.config.files import parse_scenario
from evenmatch.lab.simulate import Run
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.simulation.arrivals.stream import Arrival

HEAD = '[[queue]]\nwait_max = 120\non_deadline = "keep"\nwait_price = 0.002\n'
MEANS = HEAD + (
    'policy = "price"\n[[queue.criteria]]\nkind = "spread"\nattribute = "rating"\nweight = 1\n'
    "scale = {min = 0, max = 3000}\n"
)
PREFERS = MEANS + (
    '[[queue.criteria]]\nkind = "spread"\nattribute = "rating_deviation"\nweight = 0.05\n'
    "scale = {min = 0, max = 350}\n"
)
FIRST_AMONG_THEMSELVES = HEAD + (
    'policy = "window:limit=100,rate=5"\n[[queue.rules]]\nkind = "spread"\n'
    'attribute = "rating_deviation"\nlimit = 150\nexpand = {steps = [[20, 1000]]}\n'
)


def crowd(seed: int) -> list[Arrival]:
    rng, at = np.random.default_rng(seed), 0.0
    arrivals = []
    for number in range(2000):
        at += float(rng.exponential(2.0))
        skill = float(rng.normal(1500.0, 300.0))
        is_new = bool(rng.random() < 0.15)
        known = Rating(skill + float(rng.normal(0.0, 60.0)), 60.0)
        rating = Rating(1500.0, 350.0) if is_new else known
        kind = "new" if is_new else "known"
        player = Player(f"p{number}", rating, {"kind": kind})
        arrivals.append(Arrival(at, NewTicket((player,))))
    return arrivals


def played(scenario: str) -> Run:
    return simulate(parse_scenario(scenario), arrivals=crowd(4), by="kind")


def p90(run: Run, kind: str) -> float:
    wait: float = run.summary["by"]["kind"][kind]["wait"]["p90"]
    return wait


def mixed(run: Run) -> int:
    """Return how many matches a newcomer played against somebody who is known."""
    kinds = {t.players[0].id: t.players[0].attributes["kind"] for t in run.history.tickets}
    teams = [[kinds[p] for team in match.players for p in team] for match in run.history.matches]
    return sum(len(set(each)) > 1 for each in teams)


@pytest.mark.parametrize("scenario", [MEANS, PREFERS, FIRST_AMONG_THEMSELVES])
def test_newcomers_wait_no_longer_than_others(scenario: str) -> None:
    run = played(scenario)

    assert p90(run, "new") < 2.0 * p90(run, "known")
    assert run.summary["unfinished"] <= 4


@pytest.mark.parametrize("scenario", [PREFERS, FIRST_AMONG_THEMSELVES])
def test_newcomers_meet_each_other_where_the_deviation_is_compared(scenario: str) -> None:
    assert mixed(played(scenario)) < mixed(played(MEANS)) / 5
