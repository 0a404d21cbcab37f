"""What a match costs at the least with one more: never more than what it costs in the end."""

import random

import numpy as np
import pytest

from evenmatch.criteria.columns.least_cost import LeastCost
from evenmatch.criteria.objective import Objective
from evenmatch.model.queue import Criterion, Format, Queue, Sample, Scale
from evenmatch.testing import ticket

QUANTILES = tuple(float(value) for value in range(900, 2_101, 50))
NEAR = Criterion("spread", "rating", scale=Scale("linear", 1000.0, 2000.0))
EVEN = Criterion("imbalance", "rating", scale=Scale("capped", max=500.0))
RAW = Criterion("spread", "rating", scale=Scale("none"), weight=0.3)
PLACED = Criterion("spread", "rating", scale=Scale("percentile", sample=Sample(QUANTILES)))
BENT = Criterion("spread", "rating", scale=Scale("log", knee=50.0, max=900.0), weight=2.0)


@pytest.mark.parametrize(
    "criteria", [(NEAR,), (NEAR, EVEN), (EVEN,), (RAW, EVEN), (PLACED, BENT), (RAW,), ()], ids=str
)
def test_more_players_never_make_a_match_cheaper_than_its_bound(
    criteria: tuple[Criterion, ...],
) -> None:
    objective = Objective(Queue("main", Format((4, 4)), criteria))
    least, rng = LeastCost(objective), random.Random(3)
    for number in range(200):
        seated, one, more = (
            [
                ticket(
                    f"{name}{at}", *(rng.uniform(900.0, 2_100.0) for _ in range(rng.choice((1, 2))))
                )
                for at in range(count)
            ]
            for name, count in (("s", rng.randint(1, 3)), ("x", 1), ("y", number % 3))
        )
        rows = np.array([least.row(each) for each in seated]).T
        cost, quality = least.of(least.joined(rows)[:, None], np.array([least.row(one[0])]).T)
        seating = objective.judge(((*seated, *more), tuple(one)))
        assert cost[0] <= seating.criteria_cost
        assert seating.quality is None or seating.quality <= quality[0]
        if not more and criteria == (NEAR,):
            assert cost[0] == pytest.approx(seating.criteria_cost, abs=1e-6)
