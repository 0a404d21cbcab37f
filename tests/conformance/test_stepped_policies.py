"""The policy kit on queues that have both a criterion and rules, for policies with steps."""

from itertools import product

import msgspec
import pytest

from evenmatch.model.queue import Criterion, Format, Queue, Scale
from evenmatch.testing import check_policy, rule
from tests.extent import extent, more, thinned

pytestmark = more

RATING = Criterion("spread", "rating", scale=Scale(min=1000.0, max=1400.0))
RAW = Criterion("spread", "rating", weight=0.01, scale=Scale("none"))
EITHER = msgspec.structs.replace(rule(limit=50, rate=5.0), accept="either")
DUELS = (
    Queue("either", criteria=(RATING,), rules=(EITHER,)),
    Queue("widening", criteria=(RATING,), rules=(rule(limit=100, rate=25.0),), wait_max=24.0),
    Queue(
        "kept",
        criteria=(RATING,),
        rules=(rule(limit=50, rate=5.0),),
        on_deadline="keep",
        wait_max=8.0,
    ),
    Queue("sides", Format(sides=("cat", "mouse")), (RATING,), (rule(limit=100, rate=30.0),)),
    Queue("relative", criteria=(RAW,), rules=(rule(limit=0.0625, rate=0.015625, unit="relative"),)),
)
TRIOS = (
    Queue("one", Format((1, 1, 1)), (RATING,), (EITHER,), wait_max=24.0),
    Queue("trio", Format((1, 1, 1)), (RATING,), (rule(limit=100, rate=25.0),), wait_max=24.0),
    Queue(
        "keep",
        Format((1, 1, 1)),
        (RATING,),
        (rule(limit=50, rate=5.0),),
        wait_max=8.0,
        on_deadline="keep",
    ),
    Queue(
        "share", Format((1, 1, 1)), (RAW,), (rule(limit=0.0625, rate=0.015625, unit="relative"),)
    ),
    Queue("alone", Format((1, 1, 1)), rules=(rule(limit=100, rate=25.0),)),
)


@pytest.mark.parametrize(
    ("spec", "queue"), thinned(product(["delay_greedy", "gap_value", "group_price"], DUELS), 2)
)
def test_policy_keeps_every_promise_where_rules_widen(spec: str, queue: Queue) -> None:
    check_policy(spec, queue=queue, seeds=range(extent(2, 12)))


@pytest.mark.parametrize("queue", TRIOS, ids=lambda queue: queue.name)
def test_groups_keep_every_promise_where_rules_widen(queue: Queue) -> None:
    check_policy("group_price", queue=queue, seeds=range(extent(2, 12)))
