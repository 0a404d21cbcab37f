"""One against one, a newcomer plays the one who may play and has waited longest, ticket by ticket.

The yardstick is a list and a loop. It knows nothing of queues, sides or matchers: only classes and
who may meet whom. The engine gets the same tickets as sides, as zones, as queues that share
tickets, and as any graph of classes at all: a queue for each edge, whose sides are the two classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from evenmatch.engine.engine import Engine
from evenmatch.model.events import Matched
from evenmatch.model.inputs import Advance, Cancel, Configure, Enqueue, Input
from evenmatch.model.queue import Queue, Rule
from evenmatch.model.ticket import NewTicket
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, queue
from tests.extent import extent, more

pytestmark = more

SEEDS = range(extent(2, 5))
ARRIVALS = 300
Edges = frozenset[tuple[str, str]]
Pairs = set[frozenset[str]]


@dataclass(frozen=True)
class World:
    """Classes, who may meet whom, and how that is said to the engine."""

    classes: tuple[str, ...]
    may_meet: Callable[[str, str], bool]
    queues: tuple[Queue, ...]
    request: Callable[[str, str], NewTicket]


def sides(policy: str) -> World:
    return World(
        ("A", "B", ""),
        lambda one, two: one != two or one == "",
        (queue("map", sides=("A", "B"), policy=policy),),
        lambda name, kind: new_ticket(name, 1500, queues=("map",), side=kind),
    )


def zones(policy: str, names: str = "je") -> World:
    """Return zones; a class is named after the zones in which it waits."""
    kinds = tuple(
        "".join(zone for place, zone in enumerate(names) if number >> place & 1)
        for number in range(1, 1 << len(names))
    )
    return World(
        kinds,
        lambda one, two: bool(set(one) & set(two)),
        tuple(queue(name, policy=policy) for name in names),
        lambda name, kind: new_ticket(name, 1500, queues=tuple(kind)),
    )


def sides_in_zones(policy: str) -> World:
    """Return three classes of sides in each of the three classes of zones."""
    kinds = [(side, zone) for side in ("A", "B", "") for zone in ("j", "e", "je")]

    def may_meet(one: str, two: str) -> bool:
        (side, zone), (other, elsewhere) = one.split(":"), two.split(":")
        return bool(set(zone) & set(elsewhere)) and (side == "" or side != other)

    def request(name: str, kind: str) -> NewTicket:
        side, zone = kind.split(":")
        return new_ticket(name, 1500, queues=tuple(zone), side=side)

    queues = tuple(queue(name, sides=("A", "B"), policy=policy) for name in "je")
    return World(tuple(f"{side}:{zone}" for side, zone in kinds), may_meet, queues, request)


def graph(edges: Edges, policy: str = "greedy") -> World:
    """Return a graph of classes: a queue for each edge, with the two classes as its sides."""
    kinds = sorted({kind for edge in edges for kind in edge})
    queues = tuple(
        queue(f"{one}-{two}", sides=() if one == two else (one, two), policy=policy)
        for one, two in sorted(edges)
    )
    return World(
        tuple(kinds),
        lambda one, two: (one, two) in edges or (two, one) in edges,
        queues,
        lambda name, kind: new_ticket(
            name,
            1500,
            queues=tuple(each.name for each in queues if kind in each.name.split("-")),
            side=kind,
        ),
    )


def overlap(words: dict[str, tuple[str, ...]]) -> World:
    """Return classes that have words, and play with whoever has a word in common."""
    return World(
        tuple(words),
        lambda one, two: bool(set(words[one]) & set(words[two])),
        (queue("main", rules=(Rule("overlap", "words"),)),),
        lambda name, kind: new_ticket(name, 1500, words=words[kind]),
    )


RING = frozenset({("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("a", "e")})
PAW = frozenset({("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")})
LOOPED = frozenset({("a", "a"), ("a", "b"), ("b", "c"), ("c", "d"), ("d", "d")})
ANYBODY = "window:attribute=rating,limit=1000,pick=oldest"

WORLDS = {
    "sides": sides("greedy"),
    "zones": zones("greedy"),
    "zones of an index": zones(ANYBODY),
    "sides of an index": sides(ANYBODY),
    "sides of first_come": sides("first_come"),
    "zones of first_come": zones("first_come"),
    "sides in zones of first_come": sides_in_zones("first_come"),
    "three zones": zones("greedy", "jen"),
    "three zones of an index": zones(ANYBODY, "jen"),
    "sides in zones": sides_in_zones("greedy"),
    "ring": graph(RING),
    "paw": graph(PAW),
    "loops": graph(LOOPED),
    "words": overlap({"x": ("1",), "y": ("1", "2"), "z": ("2", "3"), "w": ("3", "1")}),
}


class FirstCome:
    """The yardstick."""

    def __init__(self, may_meet: Callable[[str, str], bool]) -> None:
        self.may_meet = may_meet
        self.waiting: list[tuple[str, str]] = []
        self.pairs: Pairs = set()

    def arrive(self, name: str, kind: str) -> None:
        for place, (other, other_kind) in enumerate(self.waiting):
            if self.may_meet(other_kind, kind):
                del self.waiting[place]
                self.pairs.add(frozenset((other, name)))
                return
        self.waiting.append((name, kind))

    def leave(self, name: str) -> None:
        self.waiting = [each for each in self.waiting if each[0] != name]


def engine_of(world: World) -> Engine:
    made = Engine(lambda each: parse_policy(each.policy))
    made.step(Configure(0.0, world.queues))
    return made


def step(at_work: Engine, given: Input) -> Pairs:
    """Let time pass and hand an input in; return who was paired, by the players' names."""
    events = []
    while at_work.next_wakeup < given.now:
        events += at_work.step(Advance(at_work.next_wakeup)).events
    events += at_work.step(given).events
    at_work.tables._check()
    assert at_work.faults == []
    matches = [event.match for event in events if isinstance(event, Matched)]
    return {frozenset(name for team in match.players for name in team) for match in matches}


def draw(world: World, seed: int) -> list[tuple[str, str]]:
    """Return names and classes of arrivals in order; classes have random, unequal rates."""
    rng = np.random.default_rng(seed)
    rates = rng.dirichlet(np.full(len(world.classes), 2.0))
    drawn = rng.choice(len(world.classes), ARRIVALS, p=rates).tolist()
    return [(f"p{number}", world.classes[kind]) for number, kind in enumerate(drawn)]


def in_bulks(arrivals: Sequence[tuple[str, str]], seed: int) -> list[list[tuple[str, str]]]:
    """Cut arrivals into bulks of 1 to 9."""
    rng, rest, bulks = np.random.default_rng(seed), list(arrivals), []
    while rest:
        size = int(rng.integers(1, 10))
        bulks.append(rest[:size])
        rest = rest[size:]
    return bulks


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_newcomer_plays_who_waited_longest_of_those_who_may(world: World, seed: int) -> None:
    at_work, first_come = engine_of(world), FirstCome(world.may_meet)
    for now, (name, kind) in enumerate(draw(world, seed)):
        before = set(first_come.pairs)
        first_come.arrive(name, kind)
        found = step(at_work, Enqueue(float(now), (world.request(name, kind),)))
        assert found == first_come.pairs - before
    assert len(first_come.pairs) > 30, "the world is too sparse to show anything"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_bulk_is_matched_as_if_its_tickets_came_one_after_the_other(
    world: World, seed: int
) -> None:
    at_work, first_come = engine_of(world), FirstCome(world.may_meet)
    for now, bulk in enumerate(in_bulks(draw(world, seed), seed)):
        before = set(first_come.pairs)
        for name, kind in bulk:
            first_come.arrive(name, kind)
        tickets = tuple(world.request(name, kind) for name, kind in bulk)
        assert step(at_work, Enqueue(float(now), tickets)) == first_come.pairs - before


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_newcomers_of_one_instant_and_tickets_that_leave_change_nothing(
    world: World, seed: int
) -> None:
    rng = np.random.default_rng(seed + 100)
    at_work, first_come = engine_of(world), FirstCome(world.may_meet)
    for number, (name, kind) in enumerate(draw(world, seed)):
        now = float(number // 4)
        if first_come.waiting and rng.random() < 0.2:
            leaving = first_come.waiting[int(rng.integers(len(first_come.waiting)))][0]
            first_come.leave(leaving)
            assert step(at_work, Cancel(now, f"s0-{int(leaving[1:]) + 1}")) == set()
        before = set(first_come.pairs)
        first_come.arrive(name, kind)
        found = step(at_work, Enqueue(now, (world.request(name, kind),)))
        assert found == first_come.pairs - before
