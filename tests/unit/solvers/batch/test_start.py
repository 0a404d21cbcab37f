"""Starts are legal and waste no party that could play."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evenmatch.solvers.teams.batch import Batch, empty_batch, empty_facts
from evenmatch.solvers.teams.start import ORDERS, start_matches, with_smallest
from tests.unit.solvers.batch.worlds import plain_batch

SCENARIO = Path(__file__).parents[4] / "scenarios" / "hero_5v5.toml"
POLICIES = ("rolling", "rounds", "rounds:solver=descent", "threshold")
SEARCHES = f"""
import sys

sys.modules["scipy"] = sys.modules["highspy"] = None  # whoever imports them fails

import msgspec
from evenmatch.config.files import load_scenario
from evenmatch.lab.simulate import simulate

scenario = load_scenario({str(SCENARIO)!r})
arrivals = msgspec.structs.replace(scenario.arrivals, duration=15.0)
scenario = msgspec.structs.replace(scenario, arrivals=arrivals)
for policy in {POLICIES!r}:
    print(policy, simulate(scenario, policy=policy).summary["matches"])
"""


def batch_of(sizes: list[int], seats: list[int], seats_min: list[int] | None = None) -> Batch:
    first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    facts = empty_facts(int(first[-1]))
    return empty_batch(np.array(seats), first, facts)._replace(
        seats_min=np.array(seats_min or seats)
    )


@pytest.mark.parametrize(
    ("sizes", "seats", "matches"),
    [
        ([3, 2, 2, 2, 1, 1, 1], [3, 3], 2),
        ([3, 2, 2, 2, 2], [3, 3], 0),
        ([3, 3, 2, 2, 2], [3, 3], 1),
        ([2, 2, 2], [3, 3], 0),
        ([1] * 7, [1] * 4, 1),
        ([1] * 10 + [4] * 2, [1, 4], 3),
        ([2, 2, 3, 3, 4, 1, 5], [5, 5], 2),
        ([2, 2, 2, 1, 1, 1], [2, 2, 2], 1),
        # The largest parties first give 5 + 3 and then leave 4 + 3 alone.
        ([5, 4, 4, 3, 3, 3, 2], [8, 8], 1),
        # The largest parties first take 6 + 3 and are left with 5, 5, 2, 2, 2, 2: one team of nine.
        ([6, 3, 5, 5, 2, 2, 2, 2], [9, 9], 1),
        ([], [3, 3], 0),
        ([2], [1, 1], 0),
    ],
)
def test_as_many_matches_are_made_as_parties_allow(
    sizes: list[int], seats: list[int], matches: int
) -> None:
    batch = batch_of(sizes, seats)
    for order in ORDERS:
        seated = start_matches(batch, order, np.random.default_rng(1))
        assert seated.shape == (matches, batch.k)
        check_legal(batch, seated)


def test_free_seats_are_spread_over_as_few_matches_as_seat_everybody() -> None:
    batch = batch_of([3] * 20 + [1] * 10, [25, 25], [12, 12])

    seated = start_matches(batch, "skill", np.random.default_rng(1))

    assert seated.shape == (2, 50)
    assert (seated >= 0).sum() == 70
    check_legal(batch, seated)


@pytest.mark.parametrize(
    ("sizes", "seats", "seats_min", "players"),
    [
        ([1] * 7, [2, 2], [1, 1], [4, 2]),
        ([1] * 10, [3, 3], [2, 1], [5, 3]),
        ([1, 1, 3, 1, 3, 1, 1], [3, 4], [2, 3], [6, 5]),
        ([2, 2, 2, 2], [2, 2], [1, 1], [4, 4]),
        ([1] * 4, [4], [0], [4]),
    ],
)
def test_whoever_is_in_no_match_forms_the_smallest(
    sizes: list[int], seats: list[int], seats_min: list[int], players: list[int]
) -> None:
    batch = batch_of(sizes, seats, seats_min)
    first = start_matches(batch, "skill", np.random.default_rng(1))[:1]

    seated = with_smallest(batch, first)

    assert (seated[:1] == first).all()
    assert (seated >= 0).sum(axis=1).tolist() == players
    check_legal(batch, seated)


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_is_legal_on_random_batches(order: str) -> None:
    for seed in range(5):
        batch = plain_batch((4, 4), 100 + seed, seed)
        seated = start_matches(batch, order, np.random.default_rng(seed))
        assert len(seated) == batch.matches_most
        check_legal(batch, seated)


def test_searches_of_a_game_with_roles_do_without_scipy_and_highspy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SEARCHES], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    made = dict(line.split() for line in done.stdout.splitlines())
    assert tuple(made) == POLICIES
    assert min(map(int, made.values())) > 0


def check_legal(batch: Batch, seated: np.ndarray) -> None:
    players = seated[seated >= 0]
    assert len(set(players.tolist())) == len(players)
    starts = np.concatenate(([0], np.cumsum(batch.seats)))
    for row in seated:
        for team, low in enumerate(batch.seats_min):
            own = row[starts[team] : starts[team + 1]]
            own = own[own >= 0]
            assert len(own) >= low
            for player in own:
                party = int(np.searchsorted(batch.first, player, side="right")) - 1
                members = range(int(batch.first[party]), int(batch.first[party + 1]))
                assert set(members) <= set(own.tolist())
