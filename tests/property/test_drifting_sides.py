"""Players' taste drifts until too many want one side: who insists, who gives way, and when.

The shipped scenario, five times as fast: 8,000 players, crowded from about 2,400 s to 5,600 s.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from evenmatch.config.files import load_scenario
from evenmatch.lab.simulate import Run, simulate
from evenmatch.model.scenario import Scenario

FILE = Path(__file__).parents[2] / "scenarios" / "papers" / "xu-drifting-sides.toml"
FASTER = 5.0
BALANCED_UNTIL = 8_000.0 / FASTER
ADAPTIVE = f"adaptive_sides:span={500 / FASTER:g}"


def drifting() -> Scenario:
    scenario = load_scenario(FILE)
    assert scenario.arrivals is not None
    assert scenario.arrivals.duration is not None
    classes = tuple(
        msgspec.structs.replace(each, drift=tuple((at / FASTER, part) for at, part in each.drift))
        for each in scenario.arrivals.classes
    )
    arrivals = msgspec.structs.replace(
        scenario.arrivals, classes=classes, duration=scenario.arrivals.duration / FASTER
    )
    return msgspec.structs.replace(scenario, arrivals=arrivals)


def insisting() -> Scenario:
    scenario = drifting()
    (queue,) = scenario.queues
    form = msgspec.structs.replace(queue.format, side_choice="insist")
    return msgspec.structs.replace(scenario, queues=(msgspec.structs.replace(queue, format=form),))


def pairs(run: Run) -> list[tuple[tuple[str, ...], ...]]:
    return [match.teams for match in run.history.matches]


def test_never_closing_makes_the_matches_of_tickets_that_insist() -> None:
    wished = simulate(drifting(), policy="adaptive_sides:reserve=-1")
    for policy in ("greedy", "first_come"):
        assert pairs(simulate(insisting(), policy=policy)) == pairs(wished)
    assert wished.summary["off_side"] == 0
    # The pool of side A grows by 0.2 players a second for 2,400 s and more.
    assert wished.summary["wait"]["max"] > 500.0


def test_greedy_never_waits_for_a_side_and_places_a_seventh_of_the_players_elsewhere() -> None:
    run = simulate(drifting(), policy="greedy")
    # Every second newcomer plays at once: a mean of half a second at one player a second.
    assert abs(run.summary["wait"]["mean"] - 0.5) < 0.05
    assert 0.1 < run.summary["off_side"] / run.summary["players"] < 0.17


def test_adaptive_sides_keeps_waits_short_and_all_wishes_while_it_can() -> None:
    run = simulate(drifting(), policy=ADAPTIVE, by="side")
    assert run.summary["wait"]["mean"] < 2.0
    assert run.summary["wait"]["max"] < 60.0
    at = np.array([match.at for match in run.history.matches])
    off = np.array([match.off_side is not None for match in run.history.matches])
    assert not off[at < BALANCED_UNTIL].any()
    assert off[(at > 3000.0) & (at < 5000.0)].mean() > 0.2
    by_side = run.summary["by"]["side"]
    assert by_side["A"]["off_side"] == run.summary["off_side"] > 0
    assert by_side["B"]["off_side"] == by_side["flexible"]["off_side"] == 0


def test_summary_says_nothing_of_sides_where_tickets_insist() -> None:
    assert "off_side" not in simulate(insisting(), policy="greedy").summary
