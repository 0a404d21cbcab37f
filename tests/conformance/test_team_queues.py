"""The policy kit for team policies, on queues whose rules and criteria look at whole matches."""

import pytest

from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Scale
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import check_policy
from evenmatch.testing.play import Case
from tests.extent import IS_LONG, extent, more
from tests.small_kit import check_small

pytestmark = more

SPECS = ["rolling:effort=50", "rounds:every=8,effort=20", "threshold:effort=50"]
LEVEL = Criterion("mean_gap", "rating", scale=Scale(min=500.0, max=1500.0))
FAR = Expansion(rate=10.0)
QUEUES = [
    Queue(
        "places",
        Format((2, 2)),
        (
            LEVEL,
            Criterion("latency", "latency", pairs="region"),
            Criterion("latency", "second", pairs="region", best=5.0),
            Criterion("latency", "latency", pairs="teammates", worst=100.0),
        ),
        (
            Rule("latency", "latency", 80.0, expand=FAR, pairs="region"),
            Rule("latency", "second", 90.0, expand=FAR, pairs="enemies", accept="either"),
        ),
    ),
    Queue(
        "cast",
        Format((3, 3), roles=(("tank", 1), ("dps", 2))),
        (LEVEL, Criterion("latency", "latency", pairs="region")),
        (
            Rule("role_rank", limit=0.25, expand=Expansion(rate=0.125, max=1.0)),
            Rule("latency", "latency", 90.0, expand=FAR, pairs="region"),
        ),
        wait_max=48.0,
    ),
    Queue(
        "homes",
        Format((2, 2)),
        (LEVEL, Criterion("rematch", "recent"), Criterion("rematch", "recent", matches=4)),
        (
            Rule("household_limit", "household", 2.0, pairs="enemies"),
            Rule("party_parity", limit=0.0, expand=Expansion(rate=0.1)),
            Rule("host_options", "connect", 1.0, expand=Expansion(rate=0.25, max=2.0)),
            Rule("avoid", "avoid", expand=Expansion(steps=((8.0, 1.0),)), accept="either"),
        ),
    ),
    Queue(
        "hunted",
        Format((1, 3), ("beast", "hunters")),
        (Criterion("spread", "rating", scale=Scale("none")), Criterion("same", "mode")),
        (Rule("same", "mode", expand=Expansion(steps=((12.0, 1.0),))),),
    ),
    Queue(
        "everybody",
        Format((1,) * 5),
        (LEVEL, Criterion("host_options", "connect"), Criterion("host_options", "lan")),
        (Rule("overlap", "words", expand=Expansion(steps=((9.0, 1.0),))),),
    ),
]


CAST, HOMES, HUNTED = QUEUES[1:4]


@pytest.mark.parametrize(("spec", "queue"), [(SPECS[1], CAST)])
def test_team_policy_keeps_all_promises_on_one_queue(spec: str, queue: Queue) -> None:
    check_policy(spec, queue=queue, seeds=range(1))


@pytest.mark.parametrize(("spec", "queue"), [(SPECS[0], HUNTED), (SPECS[2], HOMES)])
def test_team_policy_keeps_the_promises_without_crowds(spec: str, queue: Queue) -> None:
    check_small(Case(parse_policy(spec), spec, queue, 0))


@pytest.mark.long
@pytest.mark.parametrize(
    ("spec", "queue"),
    # In `make test-long` each queue with one policy.
    [
        pytest.param(spec, queue, id=f"{queue.name}-{spec}")
        for row, queue in enumerate(QUEUES)
        for column, spec in enumerate(SPECS)
        if IS_LONG or row % len(SPECS) == column
    ],
)
def test_team_policy_keeps_all_promises_whatever_the_rules(spec: str, queue: Queue) -> None:
    check_policy(spec, queue=queue, seeds=range(extent(1, 3)))
