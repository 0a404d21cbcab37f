"""A compiled run of parties in an order makes the engine's matches, ticket by ticket."""

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from evenmatch.config.files import parse_scenario
from evenmatch.errors import NotSupported
from evenmatch.lab.simulate import Run, simulate
from evenmatch.model.queue import Criterion, Format, Handicap, Queue
from evenmatch.model.scenario import ArrivalClass, Arrivals, Choice, Distribution, Scenario, Uniform
from evenmatch.policies.first_come import FirstCome
from evenmatch.policies.greedy import Greedy
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.compiled.compilable import why_engine
from evenmatch.simulation.compiled.parties import Ints, serve
from tests.extent import thinned

ORDERS = ["oldest", "lifo", "packing", "largest", "smallest", "head_of_line", "max_weight"]
ORDERS += ["reserve,theta=4"]
SHAPES = ["any", "mirrored", "unmixed"]


def world(k: int, spec: str, *, sides: str = "", drawn: str = "", count: int = 300) -> Scenario:
    """Return a scenario of k against k with parties of 1 to k players."""
    # Of every size half as many as of the next smaller one.
    own = ["attributes = {side = 'A'}", "", ""] if sides else [""]
    classes = [
        f"\n[[arrivals.classes]]\nrate = {0.5 / 2**size}\nsize = {size}\n{own[size % len(own)]}"
        for size in range(1, k + 1)
    ]
    return parse_scenario(f"""
        seed = {k}
        warmup = 20.0
        [[queue]]
        teams = 2
        players = {k}
        {sides}
        wait_price = 0.5
        policy = "first_come:{spec}"
        [arrivals]
        process = "poisson"
        count = {count}
        {"".join(classes)}
        [attributes]
        skill = {{distribution = "uniform"}}
        {drawn}
    """)


def both_ways(given: Scenario, monkeypatch: pytest.MonkeyPatch) -> tuple[Run, Run]:
    """Return a compiled run and the engine's."""
    policies = [parse_policy(queue.policy) for queue in given.queues]
    assert why_engine(given, given.queues, policies) == ""
    compiled = simulate(given, by=["size", "skill_decile"])
    monkeypatch.setattr("evenmatch.lab.simulate.why_engine", lambda *_: "as a test")
    return compiled, simulate(given, by=["size", "skill_decile"])


def expect_equal(compiled: Run, engine: Run) -> None:
    assert compiled.tickets == engine.tickets
    assert [{**m, "cost": 0} for m in compiled.matches] == [
        {**m, "cost": 0} for m in engine.matches
    ]
    costs = [match["cost"] for match in engine.matches]
    assert [match["cost"] for match in compiled.matches] == pytest.approx(costs, rel=1e-9)
    assert [m.players for m in compiled.history.matches] == [
        m.players for m in engine.history.matches
    ]
    assert compiled.history.end == engine.history.end
    assert compiled.summary.keys() == engine.summary.keys()
    for key, expected in engine.summary.items():
        exact = not key.startswith("cost")
        assert compiled.summary[key] == (expected if exact else pytest.approx(expected, rel=1e-9))
    assert len(engine.matches) >= 10


@pytest.mark.parametrize(
    ("order", "shape", "k"),
    thinned([(o, s, k) for o in ORDERS for s in SHAPES for k in range(1, 6)], 4),
)
def test_order_serves_the_same_parties_with_and_without_the_engine(
    order: str, shape: str, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect_equal(*both_ways(world(k, f"order={order},shape={shape}"), monkeypatch))


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("order", ORDERS)
def test_sides_are_kept_with_and_without_the_engine(
    order: str, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = 'side = {distribution = "choice", values = ["A", "B", ""], probs = [0.3, 0.3, 0.4]}'
    given = world(k, f"order={order}", sides='sides = ["A", "B"]', drawn=drawn)
    expect_equal(*both_ways(given, monkeypatch))


@pytest.mark.parametrize("spec", ["order=oldest", "order=packing", "order=lifo,shape=mirrored"])
def test_three_teams_are_filled_with_and_without_the_engine(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = parse_scenario(f"""
        [[queue]]
        teams = 3
        players = 2
        policy = "first_come:{spec}"
        [arrivals]
        process = "regular"
        interval = 0.25
        count = 200
        [[arrivals.classes]]
        share = 0.75
        size = 1
        [[arrivals.classes]]
        share = 0.25
        size = 2
        [attributes]
        skill = {{distribution = "uniform"}}
    """)
    expect_equal(*both_ways(given, monkeypatch))


def test_classes_drift_with_and_without_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    given = parse_scenario("""
        [[queue]]
        teams = 2
        players = 2
        policy = "first_come"
        [arrivals]
        process = "poisson"
        count = 400
        [[arrivals.classes]]
        rate = 1.0
        drift = [[200.0, 0.0]]
        size = 1
        [[arrivals.classes]]
        rate = 0.0
        drift = [[200.0, 1.0]]
        size = 2
        [attributes]
        skill = {distribution = "uniform"}
    """)
    expect_equal(*both_ways(given, monkeypatch))


@pytest.mark.parametrize("order", ["oldest", "lifo", "packing"])
def test_queues_apart_are_filled_with_and_without_the_engine(
    order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = parse_scenario(f"""
        [[queue]]
        name = "solos"
        teams = 2
        players = 2
        party_sizes = [1]
        policy = "first_come:order={order}"
        [[queue]]
        name = "pairs"
        teams = 2
        players = 2
        wait_price = 3.0
        policy = "first_come:order={order}"
        [arrivals]
        process = "poisson"
        count = 300
        [[arrivals.classes]]
        rate = 2.0
        [[arrivals.classes]]
        rate = 1.0
        size = 2
        queues = ["pairs"]
        [[arrivals.classes]]
        rate = 0.5
        queues = ["pairs"]
        [attributes]
        skill = {{distribution = "uniform"}}
    """)
    compiled, engine = both_ways(given, monkeypatch)
    expect_equal(compiled, engine)
    assert {match["queue"] for match in compiled.matches} == {"solos", "pairs"}


def test_parties_in_two_queues_are_left_to_the_engine() -> None:
    queues = (replace(TRIOS, name="one"), replace(TRIOS, name="two"))
    both = of_class(queues=("one", "two"))
    sided = (queues[0], replace(SIDED, name="two"))
    policies = [FirstCome(), FirstCome()]
    assert why_engine(Scenario(queues, SOLOS), queues, policies) == ""
    assert "several queues" in why_engine(Scenario(queues, both), queues, policies)
    assert "several queues" in why_engine(Scenario(sided, SOLOS), sided, policies)
    assert "several queues" in why_engine(Scenario(queues, SOLOS), queues, [Greedy(), Greedy()])


TRIOS = Queue(format=Format((3, 3)), policy="first_come")
SIDED = Queue(format=Format((3, 3), ("A", "B")), policy="first_come")
SOLOS = Arrivals(rate=1.0, count=20_000)


def of_class(**given: Any) -> Arrivals:
    return replace(SOLOS, rate=None, classes=(ArrivalClass(rate=1.0, **given),))


def drawing(side: Distribution) -> Arrivals:
    return replace(SOLOS, attributes={"side": side})


@pytest.mark.parametrize(
    ("queue", "arrivals", "reason"),
    [
        (TRIOS, SOLOS, ""),
        (TRIOS, of_class(size=3, queues=("main",), attributes={"side": "left"}), ""),
        (SIDED, of_class(attributes={"side": "A"}), ""),
        (SIDED, drawing(Choice(values=("A", ""))), ""),
        (replace(TRIOS, wait_max=9.0), SOLOS, "deadlines"),
        (replace(TRIOS, criteria=(Criterion("spread", "skill"),)), SOLOS, "criteria"),
        (replace(TRIOS, format=Format((3, 3), players_min=(2, 2))), SOLOS, "fewer players"),
        (replace(TRIOS, handicap=Handicap(1.0)), SOLOS, "handicaps"),
        (replace(TRIOS, format=Format((3, 3), party_sizes=(3,))), SOLOS, "which parties"),
        (replace(SIDED, format=replace(SIDED.format, side_choice="prefer")), SOLOS, "wishes"),
        (TRIOS, of_class(size=4), "which parties"),
        (TRIOS, of_class(queues=("other",)), "which parties"),
        (SIDED, of_class(attributes={"side": "C"}), "which sides"),
        (SIDED, drawing(Choice(values=("A", "C"))), "which sides"),
        (SIDED, drawing(Uniform()), "which sides"),
        (TRIOS, replace(SOLOS, patience=Uniform()), "patience"),
    ],
)
def test_what_else_happens_is_left_to_the_engine(
    queue: Queue, arrivals: Arrivals, reason: str
) -> None:
    found = why_engine(Scenario((queue,), arrivals), (queue,), [FirstCome()])
    assert (reason in found) if reason else found == ""


@pytest.mark.parametrize("sides", [None, np.zeros(4, dtype=np.int64)])
def test_arrays_in_matches_out(sides: Ints | None) -> None:
    times, sizes = np.array([0.0, 1.0, 2.5, 4.0]), np.array([2, 3, 1, 1])
    served = serve(TRIOS, FirstCome(), times, sizes, sides)

    assert served.match_of.tolist() == [0, 0, 0, -1]
    assert served.at.tolist() == [2.5]
    assert served.waits(times).tolist()[:3] == [2.5, 1.5, 0.0]
    assert np.isnan(served.waits(times)[3])


def test_arrays_with_a_deadline_are_refused() -> None:
    with pytest.raises(NotSupported, match="deadlines"):
        serve(replace(TRIOS, wait_max=1.0), FirstCome(), np.zeros(1), np.ones(1, dtype=np.int64))
    with pytest.raises(NotSupported, match="serves in no order"):
        serve(TRIOS, Greedy(), np.zeros(1), np.ones(1, dtype=np.int64))


def test_nobody_comes() -> None:
    served = serve(TRIOS, FirstCome(), np.zeros(0), np.zeros(0, dtype=np.int64))
    assert len(served.match_of) == len(served.at) == 0
