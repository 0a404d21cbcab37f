"""Tables of pairs say what the reference says."""

from __future__ import annotations

import numpy as np
import pytest

from evenmatch.solvers.teams.batch import (
    APART,
    NOT_ENEMIES,
    NOT_MATES,
    REACHED,
    REACHES,
    Batch,
)
from evenmatch.solvers.teams.pairs import tabulate
from evenmatch.solvers.teams.reference import pair_costs, reaches
from tests.unit.solvers.batch.worlds import plain_batch, rich_batch

WORLDS = [
    plain_batch((3, 3), 40, 1),
    plain_batch((5, 5), 40, 2),
    plain_batch((1, 1, 1, 1), 30, 3),
    rich_batch((2, 2), 40, 4),
    rich_batch((2, 3, 4), 40, 5),
]


@pytest.mark.parametrize("batch", WORLDS)
def test_sum_over_pairs_of_a_full_match_is_what_the_reference_says(batch: Batch) -> None:
    facts = batch.facts
    batch = batch._replace(
        facts=facts._replace(ping_weights=np.append(facts.ping_weights[:3], 0.0))
    )
    pairs = tabulate(batch.facts, batch.seats)
    rng = np.random.default_rng(7)
    for _ in range(30):
        who = rng.choice(batch.players, batch.k, replace=False)
        team = np.repeat(np.arange(len(batch.seats)), batch.seats)
        is_mate = team[:, None] == team
        table = np.where(is_mate, pairs.mates[np.ix_(who, who)], pairs.enemies[np.ix_(who, who)])
        found = float(np.triu(table.astype(np.float64), 1).sum())
        teams = [who[team == t].tolist() for t in range(len(batch.seats))]
        assert found == pytest.approx(pair_costs(batch, teams), abs=1e-6)


@pytest.mark.parametrize("batch", WORLDS)
def test_flags_say_who_reaches_whom_and_lie_in_the_costs_too(batch: Batch) -> None:
    pairs = tabulate(batch.facts, batch.seats)
    bits = pairs.costs.view(np.int32)
    for i in range(batch.players):
        for j in range(batch.players):
            if i == j:
                continue
            flags = int(pairs.flags[i, j])
            assert bool(flags & REACHES) == reaches(batch.facts, i, j)
            assert bool(flags & REACHED) == reaches(batch.facts, j, i)
            assert bool(bits[i, j, 0] & 1) == bool(flags & (APART | NOT_ENEMIES))
            assert bool(bits[i, j, 0] & 2) == bool(flags & REACHES)
            assert bool(bits[i, j, 0] & 4) == bool(flags & REACHED)
            assert bool(bits[i, j, 1] & 1) == bool(flags & (APART | NOT_MATES))
