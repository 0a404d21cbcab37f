"""Finds stalled queues: players for several matches wait and may play together, none is made.

How long the pool has been so large without a match is known of every queue. Only where that is much
longer than its players usually wait is it asked whether they could play: some of the longest
waiting are compared with the others by the rules that compare numbers and words, and the roles and
sides of those whom they may meet are counted. Other rules are not asked. So a pool whose players
may not meet, or lack a role, is no alarm; one that only `avoid` keeps apart could be.
"""

from __future__ import annotations

from itertools import islice

import msgspec
import numpy as np

from evenmatch.engine.engine import Engine
from evenmatch.engine.matching.pool import Pool
from evenmatch.model.ticket import Ticket
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.views.statistics import SEVERAL, Statistics

SECONDS_LEAST = 20.0
"""No queue stands still for less, engine seconds."""
TIMES_USUAL = 2.5
"""How many times the usual wait may pass; rounds make half their players wait half a round."""
USUAL_UNKNOWN = 60.0
"""The usual wait of a queue that has made no match and names no target; less where `wait_max` is
less than five times as long, so that somebody is told before the first tickets expire."""
LOOK_AT_MOST = 1_000
"""Waiting tickets that are looked at, the longest waiting."""
ANCHORS = 8
"""Tickets with whom the others are compared."""
FRESH = 5.0
"""Engine seconds for which an answer holds."""


class StalledQueue(msgspec.Struct, frozen=True, gc=False):
    """A queue that is stalled.

    Args:
        seconds: Since the last match, or since so many wait; engine seconds.
        limit: From how many seconds on it is an alarm.
        matches: Full matches that those who wait and may play together would fill at the most.
    """

    seconds: float
    limit: float
    matches: int


class StalledQueues:
    """Tells which queues are stalled.

    Args:
        runtime: The shard.
        statistics: Knows how long no match was made.
    """

    def __init__(self, runtime: Runtime, statistics: Statistics) -> None:
        self._runtime = runtime
        self._statistics = statistics
        self._looked: dict[str, tuple[float, int]] = {}

    def of(self, name: str) -> StalledQueue | None:
        """Return for how long a queue has been stalled; None if it is not."""
        runtime = self._runtime
        if runtime.failure is not None:
            return None
        engine, now = runtime.engine, runtime.now()
        pool = engine.pools.get(name)
        # A queue that is paused or stopped has alarms of its own.
        if pool is None or pool.fault is not None or name in engine.tables.paused:
            return None
        seconds, limit = self._statistics.still(name, now), self.limit(name, engine)
        if seconds < limit:
            return None
        looked_at, matches = self._looked.get(name, (-FRESH, 0))
        if not 0.0 <= now - looked_at < FRESH:
            matches = possible_matches(pool, now)
            self._looked[name] = (now, matches)
        return StalledQueue(seconds, limit, matches) if matches >= SEVERAL else None

    def limit(self, name: str, engine: Engine) -> float:
        """Return after how many engine seconds without a match a full pool counts as stalled."""
        queue, usual = engine.tables.queues[name], target_of(engine.pools[name])
        if usual is None:
            usual = self._statistics.usual_wait(name)
        if usual is None:
            usual = USUAL_UNKNOWN
            if queue.wait_max is not None:
                usual = min(usual, queue.wait_max / 5)
        return max(SECONDS_LEAST, TIMES_USUAL * usual)


def target_of(pool: Pool) -> float | None:
    """Return the mean wait that a queue or its policy aims at; None where neither has an aim."""
    if not hasattr(pool.policy, "target_wait"):
        return pool.queue.target_wait
    own: float | None = pool.policy.target_wait
    return pool.queue.target if own is None else own


def possible_matches(pool: Pool, now: float) -> int:
    """Return how many full matches the tickets of a pool would fill at the most.

    Complexity:
        O(`LOOK_AT_MOST` (`ANCHORS` + players of a ticket)).
    """
    tickets = list(islice(pool.tickets.values(), LOOK_AT_MOST))
    if not tickets:
        return 0
    rows = np.array([pool.pairs.row(ticket) for ticket in tickets]).T
    # The longest waiting may be those whom nobody fits: some of all ages are asked.
    anchors = {len(tickets) * number // ANCHORS for number in range(ANCHORS)}
    most = 0
    for at in anchors:
        ready = pool.pairs.ready_at(rows[:, at, None], rows) <= now
        ready[at] = True
        able = [tickets[each] for each in np.flatnonzero(ready)]
        most = max(most, _matches_of(pool, able))
    return most


def _matches_of(pool: Pool, tickets: list[Ticket]) -> int:
    """Return how many matches these tickets would fill by their numbers, roles and sides."""
    form = pool.queue.format
    found = sum(ticket.size for ticket in tickets) // form.k
    teams = len(form.players)
    for role, seats in form.roles:
        able = sum(
            not player.roles or role in player.roles
            for ticket in tickets
            for player in ticket.players
        )
        found = min(found, able // (seats * teams))
    for side, seats in zip(form.strict_sides, form.players, strict=False):
        able = sum(
            ticket.size for ticket in tickets if ticket.attributes.get("side") in (None, "", side)
        )
        found = min(found, able // seats)
    return found
