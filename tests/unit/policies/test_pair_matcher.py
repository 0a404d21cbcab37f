"""Exact timers find exactly what looking at all pairs all the time finds."""

import math
import random
from collections.abc import Callable

import pytest

from evenmatch.criteria.expansion import TICKS
from evenmatch.criteria.rules import Rules
from evenmatch.criteria.values import number
from evenmatch.model.queue import Format, Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.adaptive_brackets import AdaptiveBrackets, BracketTree
from evenmatch.policies.base import Policy
from evenmatch.policies.hooks import rules_of
from evenmatch.policies.virtual_rating import VirtualRating
from evenmatch.policies.weighted import Weighted
from evenmatch.testing import queue, rule, ticket

ReadyAt = Callable[[Ticket, Ticket], float]
"""From when on two tickets may play, the older first."""


def gap_of(one: Ticket, two: Ticket) -> float:
    return abs(number(one, "rating") - number(two, "rating"))


def ceil(seconds: float) -> float:
    return math.ceil(seconds * TICKS) / TICKS


def virtual(chosen: VirtualRating, rules: Rules) -> ReadyAt:
    def ready_at(older: Ticket, younger: Ticket) -> float:
        high, low = sorted((older, younger), key=lambda t: number(t, "rating"), reverse=True)
        sinks = ceil(max(0.0, gap_of(high, low) - chosen.limit) / chosen.rate)
        return max(high.enqueued_at + sinks, rules.pair_ready_at(older, younger))

    return ready_at


def weighted(chosen: Weighted, rules: Rules) -> ReadyAt:
    """Every weight below the floor needs a wait of the older ticket; nobody has met before."""

    def ready_at(older: Ticket, younger: Ticket) -> float:
        still = math.exp(-((gap_of(older, younger) / chosen.sigma) ** 2) / 2)
        wait = max(0.0, (chosen.floor / still - 1) / chosen.wait)
        at = older.enqueued_at + ceil(wait) if wait <= 3600 else math.inf
        return max(at, rules.pair_ready_at(older, younger))

    return ready_at


def bracketed(chosen: AdaptiveBrackets, rules: Rules) -> ReadyAt:
    """Brackets that nothing ever halves: all have the width."""
    brackets = BracketTree(chosen.width, 1_000_000, 0, {})

    def ready_at(older: Ticket, younger: Ticket) -> float:
        one, two = (brackets.of(number(each, "rating")) for each in (older, younger))
        if gap_of(older, younger) > brackets.reach(one, two):
            return math.inf
        return rules.pair_ready_at(older, younger)

    return ready_at


PING = rule("ping", 5, rate=0.5)
QUEUES = [
    queue(),
    queue(rules=(PING,)),
    queue(rules=(rule(limit=10, rate=0.25),)),
    Queue(format=Format((1, 1), ("white", "black"))),
]
CHOSEN: list[tuple[Policy, Callable[..., ReadyAt]]] = [
    (VirtualRating(rate=0.7, limit=3), virtual),
    (Weighted(sigma=8, floor=1.5, wait=0.3, recency=0), weighted),
    (AdaptiveBrackets(width=12, split_at=1_000_000, merge_below=1), bracketed),
]


@pytest.mark.parametrize("in_queue", QUEUES, ids=["alone", "ping", "limit", "sides"])
@pytest.mark.parametrize(("chosen", "oracle"), CHOSEN, ids=["virtual", "weighted", "brackets"])
def test_no_pair_is_made_early_late_or_never(
    chosen: Policy, oracle: Callable[..., ReadyAt], in_queue: Queue
) -> None:
    rng = random.Random(7)
    full = Queue(format=in_queue.format, rules=in_queue.rules + rules_of(chosen, in_queue))
    ready_at = oracle(chosen, Rules(full))
    at_work = chosen.matcher(in_queue, seed=1)
    pool: dict[str, Ticket] = {}
    made = 0

    def first() -> float:
        by_age = sorted(pool.values(), key=lambda t: t.age_key)
        instants = [
            ready_at(older, younger)
            for place, younger in enumerate(by_age)
            for older in by_age[:place]
        ]
        return min(instants, default=math.inf)

    def decide(now: float, fired: bool) -> float:
        nonlocal made
        decision = at_work.decide(now, fired)
        for group in decision.matches:
            older, younger = sorted((pool.pop(i) for i in group.tickets), key=lambda t: t.age_key)
            assert ready_at(older, younger) <= now
            made += 1
        # Whoever may still play, may play at wake_at and not before.
        assert decision.wake_at == first()
        return decision.wake_at

    now, wake_at = 0.0, math.inf
    for sequence in range(1, 250):
        until = now + rng.choice((0.0, 0.5, 2.0, 6.0))
        while wake_at < until:
            now = wake_at
            wake_at = decide(now, True)
            assert wake_at > now
        now = until
        if pool and rng.random() < 0.25:
            gone = pool.pop(rng.choice(list(pool)))
            at_work.leave(gone.id, now)
            if rng.random() < 0.5:
                pool[gone.id] = gone
                at_work.enter(gone, now)
        else:
            side = rng.choice(({"side": "white"}, {"side": "black"}, {}))
            ping, rating = float(rng.randrange(40)), float(rng.randrange(1, 100))
            name = f"t{sequence}"
            pool[name] = ticket(name, rating, at=now, sequence=sequence, ping=ping, **side)
            at_work.enter(pool[name], now)
        wake_at = decide(now, False)
    assert made > 20
