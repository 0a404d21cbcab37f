"""A recording gives the same history by a compiled run as by the engine, also of who waits."""

import msgspec
import numpy as np
import pytest

from evenmatch.errors import ArrivalsError
from evenmatch.lab import simulate as lab
from evenmatch.model.queue import Criterion, Queue, Scale
from evenmatch.model.scenario import Scenario
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.simulation.arrivals.stream import Arrival
from tests.extent import extent

SEEDS = extent(6, 60)
SPECS = (
    "price", "gap_value", "delay_greedy", "greedy", "group_price", "difference_wait",
    "periodic:rounds_of=6,sort=rating",
)  # fmt: skip
SKILL = Criterion("spread", "rating", weight=2.0, scale=Scale(min=0.0, max=3000.0))
LEVEL = Criterion("spread", "level", weight=1.0, scale=Scale("none"))


def recording(rng: np.random.Generator, count: int) -> list[Arrival]:
    """Return arrivals of players who come again and again, on coarse instants."""
    at = np.round(np.cumsum(rng.exponential(0.3, count)) * 4.0) / 4.0
    names = rng.integers(0, max(count // 4, 2), count)
    return [
        Arrival(
            1_000.0 + float(now),
            NewTicket(
                (Player(f"p{name}", Rating(float(rng.normal(1500.0, 300.0))), {"level": 7.0}),),
                ("duel",) if rng.random() < 0.5 else (),
                {"note": "x"},
                id=f"t{number}",
            ),
        )
        for number, (now, name) in enumerate(zip(at, names, strict=True))
    ]


def both(
    world: Scenario, arrivals: list[Arrival], monkeypatch: pytest.MonkeyPatch
) -> tuple[lab.Run, lab.Run]:
    """Return what the engine makes of a recording, and a compiled run."""
    played = []
    real = lab._simulator
    monkeypatch.setattr(lab, "_simulator", lambda *given: played.append(1) or real(*given))
    monkeypatch.setattr(lab, "is_worth_loading", lambda tickets: False)
    engine = lab.simulate(world, arrivals=arrivals, optimum=len(world.queues[0].criteria) == 1)
    assert played
    played.clear()
    monkeypatch.setattr(lab, "is_worth_loading", lambda tickets: True)
    compiled = lab.simulate(world, arrivals=arrivals, optimum=len(world.queues[0].criteria) == 1)
    assert not played
    return engine, compiled


@pytest.mark.parametrize("spec", SPECS)
def test_recording_gives_the_same_history(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    merged = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        queue = Queue(
            name="duel",
            policy=spec,
            criteria=(SKILL,) if seed % 2 or spec == "gap_value" else (SKILL, LEVEL),
            wait_max=4.0 if seed % 3 else None,
            wait_price=0.2,
            on_deadline=str(rng.choice(["expire", "bots", "keep"])) if seed % 3 else "expire",
        )
        world = Scenario((queue,), warmup=10.0 if seed % 2 else 0.0)
        engine, compiled = both(world, recording(rng, 150), monkeypatch)
        assert compiled.tickets == engine.tickets
        assert compiled.matches == [
            {**match, "cost": pytest.approx(match["cost"], rel=1e-9)} | quality(match)
            for match in engine.matches
        ]
        for key, value in engine.summary.items():
            assert flat(compiled.summary[key]) == pytest.approx(flat(value), rel=1e-9), key
        merged += engine.summary["merged"]
    assert merged > SEEDS


def test_run_ends_when_the_last_one_comes_who_waits_already(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = recording(np.random.default_rng(1), 1)[0]
    again = NewTicket(first.ticket.players, ("duel",), id="again")
    arrivals = [first, Arrival(first.at + 7.5, again)]
    queue = Queue(name="duel", criteria=(SKILL,), policy="price", wait_price=0.2)
    engine, compiled = both(Scenario((queue,)), arrivals, monkeypatch)
    assert [ticket["wait"] for ticket in engine.tickets] == [7.5]
    assert compiled.tickets == engine.tickets
    assert compiled.summary == engine.summary


def quality(match: dict[str, object]) -> dict[str, object]:
    known = match.get("quality")
    return {} if known is None else {"quality": pytest.approx(known, rel=1e-9)}


def flat(value: object, name: str = "") -> dict[str, object]:
    """Return figures by the way to them."""
    if not isinstance(value, dict):
        return {name: value}
    return {k: v for key, each in value.items() for k, v in flat(each, f"{name}/{key}").items()}


def test_what_the_engine_refuses_is_refused_by_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "is_worth_loading", lambda tickets: True)
    world = Scenario((Queue(name="duel", criteria=(SKILL,), policy="price"),))
    good = recording(np.random.default_rng(1), 20)
    ticket = good[7].ticket
    (player,) = ticket.players
    for wrong, says in (
        (msgspec.structs.replace(ticket, players=(Player("x"),)), "rating is missing"),
        (msgspec.structs.replace(ticket, id="t0"), "used before"),
        (msgspec.structs.replace(ticket, queues=("squad",)), "no queue is called"),
        (msgspec.structs.replace(ticket, attributes={"x": float("nan")}), "finite"),
        (msgspec.structs.replace(ticket, players=(player, Player("y"))), "parties of 1"),
    ):
        bad = [*good[:7], msgspec.structs.replace(good[7], ticket=wrong), *good[8:]]
        with pytest.raises(ArrivalsError, match=says):
            lab.simulate(world, arrivals=bad)


def test_who_leaves_is_left_to_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "is_worth_loading", lambda tickets: True)
    world = Scenario((Queue(name="duel", criteria=(SKILL,), policy="price"),))
    good = recording(np.random.default_rng(1), 30)
    leaving = [msgspec.structs.replace(each, leaves_at=each.at + 0.5) for each in good]
    assert lab.simulate(world, arrivals=leaving).summary["cancelled"] > 0
