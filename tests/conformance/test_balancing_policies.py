"""The policy kit on queues of two teams, for the policies that balance teams."""

from itertools import product

import pytest

from evenmatch.model.queue import Criterion, Format, Queue, Scale
from evenmatch.testing import check_policy
from tests.extent import extent, more, thinned

pytestmark = more

RAW = Scale("none")
SUM = Criterion("imbalance", "rating", weight=0.02, measure="sum", scale=RAW)
STEPPED = Criterion("imbalance", "rating", weight=0.02, measure="sum", scale=RAW, step=50.0)
MEAN = Criterion("imbalance", "rating", scale=Scale("capped", max=400.0))
QUEUES = (
    Queue("solos", Format((2, 2), party_sizes=(1,)), (SUM,)),
    Queue("parties", Format((2, 2)), (SUM,)),
    Queue("trios", Format((3, 3)), (Criterion("spread", "blitz"), MEAN), wait_max=12.0),
    Queue("bots", Format((2, 2)), (STEPPED,), wait_max=6.0, on_deadline="bots"),
    Queue("kept", Format((1, 1)), (STEPPED,), wait_max=6.0, on_deadline="keep"),
)
SPECS = ("patient", "imbalance_threshold", "imbalance_threshold:delta=0.1")


@pytest.mark.parametrize(("spec", "queue"), thinned(product(SPECS, QUEUES), 2))
def test_policy_keeps_every_promise_with_teams(spec: str, queue: Queue) -> None:
    check_policy(spec, queue=queue, seeds=range(extent(2, 12)))
