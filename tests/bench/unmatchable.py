"""Pools of players of whom no two may meet: a restart, and a create of 200, under each policy.

Every rating is as far from the others as the rule allows nobody to be, so all wait on. The pool is
filled without asking the policy, and its matcher gets no memory, so that it knows nothing of those
who wait. Time is that of the thread, so other programs do not count.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import thread_time
from typing import NamedTuple

from evenmatch.engine.admission.shard_limits import ShardLimits
from evenmatch.engine.engine import Engine
from evenmatch.engine.state.snapshot import decode_snapshot, encode_snapshot, restore, take
from evenmatch.model.inputs import Advance, Configure, Enqueue
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Criterion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import NewTicket, Player, Rating, Ticket
from evenmatch.policies.base import NOTHING, Decision, Matcher, Memory, NoJobs
from evenmatch.policies.registry import parse_policy

SIZES, SIZES_QUICK = (10_000, 100_000), (2_000,)
BULK = 200
APART = Rule("spread", "rating", 1e-7)
NEAR = Criterion("spread", "rating", scale=Scale("linear", 0.0, 1e7))
SUM = Criterion("imbalance", "rating", measure="sum", scale=Scale("none"), weight=1.0)
DUEL, TRIO, SQUADS = Format((1, 1)), Format((1, 1, 1)), Format((3, 3))
SIDES = Format((1, 1), sides=("A", "B"), side_choice="prefer")
KEEN = 0.1
"""A price of waiting at which players still wait for each other here."""


def _ruled(spec: str, form: Format = DUEL, **more: object) -> Queue:
    return Queue("main", form, (NEAR,), (APART,), policy=spec, **more)  # type: ignore[arg-type]


QUEUES: dict[str, Queue] = {
    "adaptive_brackets": _ruled("adaptive_brackets"),
    "adaptive_sides": _ruled("adaptive_sides", SIDES),
    "closest_random": _ruled("closest_random"),
    "delay_greedy": _ruled("delay_greedy", wait_price=KEEN),
    "difference_wait": Queue(
        "main", DUEL, (NEAR,), policy="difference_wait:factor=1e9,power=0.5", wait_price=KEEN
    ),
    "first_come": Queue("main", Format((3, 3), party_sizes=(2, 3)), policy="first_come"),
    "gap_value": _ruled("gap_value", wait_price=KEEN),
    "greedy": _ruled("greedy"),
    "group_price": _ruled("group_price", TRIO, wait_price=KEEN),
    "imbalance_threshold": Queue(
        "main", DUEL, (SUM,), policy="imbalance_threshold:delta=1e-9", wait_price=KEEN
    ),
    "lookahead": _ruled("lookahead", wait_price=KEEN),
    "multi_queue": Queue("main", Format((1,) * 5), (NEAR,), policy="multi_queue:brackets=10000"),
    "patient": Queue("main", DUEL, (SUM,), policy="patient", wait_price=KEEN),
    "periodic": _ruled("periodic"),
    "price": _ruled("price", wait_price=KEEN),
    "rolling": _ruled("rolling", SQUADS),
    "rounds": _ruled("rounds", SQUADS),
    "threshold": _ruled("threshold", SQUADS),
    "virtual_rating": _ruled("virtual_rating"),
    "weighted": _ruled("weighted"),
    "window": _ruled("window"),
}
"""A queue of each policy in which nobody can meet anybody."""


class Found(NamedTuple):
    """Seconds of a restart until the first decision, and of a create of 200 after it."""

    policy: str
    count: int
    resume: float
    first: float
    bulk: float


class Idle(NoJobs):
    """A policy, and a matcher, that makes no match and notes nothing."""

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        del queue, seed, memory
        return self

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take no note."""

    def leave(self, entry_id: str, now: float) -> None:
        """Take no note."""

    def decide(self, now: float, fired: bool = False) -> Decision:
        del now, fired
        return NOTHING

    def memory(self) -> Memory:
        return {}


def engine() -> Engine:
    return Engine(lambda queue: parse_policy(queue.policy), limits=ShardLimits(waiting_max=10**6))


def crowd(first: int, count: int, *, party: int = 1, side: bool = False) -> tuple[NewTicket, ...]:
    """Return tickets whose ratings no others have."""
    facts = {"side": "A"} if side else {}
    tickets = []
    for n in range(first, first + count):
        # In no order: a multiple of a number that has no divisor in common with 10^7.
        rating = Rating(float(n * 7_654_321 % 10**7))
        players = [Player(f"p{n}.{m}", rating, facts) for m in range(party)]  # type: ignore[arg-type]
        tickets.append(NewTicket(tuple(players)))
    return tuple(tickets)


def filled(queue: Queue, count: int) -> bytes:
    """Return the snapshot of a pool that was filled while nobody decided."""
    made = Engine(lambda _: Idle(), limits=ShardLimits(waiting_max=10**6))
    made.step(Configure(0.0, (queue,)))
    party = 2 if queue.format.party_sizes else 1
    for first in range(0, count, 1_000):
        new = crowd(first, min(1_000, count - first), party=party, side=bool(queue.format.sides))
        made.step(Enqueue(1.0 + first / 1_000, new))
    return encode_snapshot(take(made))


def measure(policy: str, count: int) -> Found:
    """Restart a server with so many waiting tickets, and let 200 more enter."""
    queue = QUEUES[policy]
    state = filled(queue, count)
    again = engine()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        restore(again, decode_snapshot(state))
        began = thread_time()
        now = again.tables.now + 10.0
        again.resume(now, {})
        resumed = thread_time()
        again.step(Advance(again.next_wakeup))
        decided = thread_time()
        party = 2 if queue.format.party_sizes else 1
        new = crowd(count, BULK, party=party, side=bool(queue.format.sides))
        while again.next_wakeup <= now:
            again.step(Advance(again.next_wakeup))
        entering = thread_time()
        again.step(Enqueue(now, new))
        entered = thread_time()
    finally:
        gc.enable()
        gc.unfreeze()
    assert not again.faults, again.faults
    return Found(policy, count, resumed - began, decided - resumed, entered - entering)


def table(found: list[Found]) -> str:
    """Return what was found, a line each."""
    lines = ["policy                 waiting   resume s   first s   200 more ms"]
    lines += [
        f"{f.policy:20} {f.count:9,} {f.resume:10.2f} {f.first:9.2f} {1000 * f.bulk:13.1f}"
        for f in found
    ]
    return "\n".join(lines)


def run(sizes: tuple[int, ...], policies: list[str], say: Callable[[str], None]) -> list[Found]:
    """Measure policies one after the other."""
    found = []
    for count in sizes:
        for policy in policies:
            try:
                found.append(measure(policy, count))
            except AssertionError as error:
                say(f"{policy}: {str(error)[:120]}")
                continue
            say(table(found[-1:]).splitlines()[1])
    return found


if __name__ == "__main__":
    import sys

    run(
        tuple([int(text) for text in sys.argv[1:2]]) or SIZES,
        sys.argv[2:] or sorted(QUEUES),
        lambda line: print(line, flush=True),
    )
