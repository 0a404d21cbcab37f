"""The optimum of Schlup's paper on small instances, game for game and cost for cost."""

import json
from pathlib import Path
from typing import Any

import pytest

from evenmatch.lab.optimum.optimum import optimum, optimum_figures
from evenmatch.model.queue import Criterion, Format, Queue
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.simulation.arrivals.stream import Arrival

PATH = Path(__file__).parent / "instances" / "schlup_optimum.json"
INSTANCES: list[dict[str, Any]] = json.loads(PATH.read_text())
DUELS = [each for each in INSTANCES if each["k"] == 2]
LARGER = [each for each in INSTANCES if each["k"] > 2]


def name_of(given: dict[str, Any]) -> str:
    return str(given["name"])


def queue_of(given: dict[str, Any]) -> Queue:
    return Queue(
        format=Format(players=(1,) * given["k"]),
        criteria=tuple(Criterion(kind="spread", attribute=f"c{d}") for d in range(given["D"])),
        wait_max=5.0,
        on_deadline="bots",
    )


def arrivals_of(given: dict[str, Any]) -> list[Arrival]:
    rows = zip(given["arrivals"], given["criteria"], strict=True)
    return [
        Arrival(
            at,
            NewTicket(
                players=(Player(id=str(i), attributes={f"c{d}": v for d, v in enumerate(row)}),)
            ),
        )
        for i, (at, row) in enumerate(rows)
    ]


def test_instances_are_of_both_kinds() -> None:
    assert len(DUELS) >= 2
    assert len(LARGER) >= 1


@pytest.mark.parametrize(("name", "bots_at_once"), [("OPT", False), ("OPT_immediate", True)])
@pytest.mark.parametrize("given", DUELS, ids=name_of)
def test_optimum_equals_the_reference(given: dict[str, Any], name: str, bots_at_once: bool) -> None:
    found = optimum([queue_of(given)], arrivals_of(given), bots_at_once=bots_at_once)

    expected = given["expected"][name]
    assert found.cost == pytest.approx(expected["cost"], abs=1e-9)
    assert found.is_optimal
    games = [(*game["players"], game["t2"]) for game in expected["games"]]
    assert list(found.pairs) == [game for game in games if len(game) == 3]
    assert list(found.alone) == sorted(game[0] for game in games if len(game) == 2)


@pytest.mark.parametrize("given", LARGER, ids=name_of)
def test_bound_is_below_every_policy_of_the_reference(given: dict[str, Any]) -> None:
    costs = [each["cost"] for each in given["expected"].values()]
    figures = optimum_figures([queue_of(given)], arrivals_of(given), min(costs))
    assert 0.3 * min(costs) < figures["bound_cost"] <= min(costs)
