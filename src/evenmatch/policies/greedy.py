"""`greedy`: play as soon as the waiting tickets fill a legal match, longest waiting first."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice

import msgspec

from evenmatch.cost.objective import Objective
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, Matcher, Memory, NoJobs
from evenmatch.policies.timers import Timers
from evenmatch.solvers.fill import complete

IMPROVEMENTS_MAX = 32
"""Groups tried for one ticket, each legal sooner than the one before."""


class Greedy(msgspec.Struct, frozen=True, kw_only=True):
    """Match the first tickets that fill a legal match, as soon as they do.

    The newcomer plays with the longest waiting tickets that complete a match with it. Where rules
    widen with the wait, the policy acts again at the instant at which they allow a match.

    Source:
        Schlup, Automatic Game Matching, algorithm A_G.

    Complexity:
        O(k) per arrival where no rule, side or party stands in the way; else up to O(n) older
        tickets are looked at, at most `solvers.fill.STEPS_MAX`.
    """

    fills = False

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for any format."""
        del seed, memory
        return GreedyMatcher(queue)


class GreedyMatcher(NoJobs):
    """The waiting tickets in order of age, and from when on each completes a match."""

    def __init__(self, queue: Queue) -> None:
        self._objective = Objective(queue)
        self._k = queue.format.k
        self._is_plain = self._objective.rules.are_none and queue.format.solo_only
        self._pool: dict[int, Ticket] = {}
        self._sequences: dict[str, int] = {}
        self._players = 0
        self._timers = Timers()
        self._youngest = 0

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in and set its timer."""
        del now
        if isinstance(entry, OpenMatch):
            return
        self._pool[entry.sequence] = entry
        self._sequences[entry.id] = entry.sequence
        self._players += entry.size
        is_return = entry.sequence < self._youngest
        self._youngest = max(self._youngest, entry.sequence)
        if is_return:
            self._pool = dict(sorted(self._pool.items(), key=lambda item: item[1].age_key))
            for ticket in self._pool.values():
                if ticket.age_key >= entry.age_key:
                    self._set_timer(ticket)
        else:
            self._set_timer(entry)

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket."""
        del now
        sequence = self._sequences.get(entry_id)
        if sequence is not None:
            self._remove(sequence)

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Match what falls due, longest waiting first."""
        groups: list[Grouping] = []
        while due := self._timers.pop_due(now, fired):
            for sequence in due:
                # An earlier match of this instant may have taken the partners away.
                if sequence in self._pool and self._timers.is_due(sequence, now, fired):
                    group = self._group(self._pool[sequence], now, fired)
                    groups.append(Grouping(tuple(ticket.id for ticket in group)))
                    for ticket in group:
                        self._remove(ticket.sequence)
        return Decision(tuple(groups), self._timers.next())

    def _group(self, youngest: Ticket, now: float, fired: bool) -> list[Ticket]:
        """Return the longest waiting tickets that a ticket completes a match with now."""

        def is_due(at: float) -> bool:
            return at < now or (at == now and (fired or at == youngest.enqueued_at))

        found = None
        if not self._is_plain:
            older = self._older(youngest)
            found = self._search(youngest, older, is_due, now)
        if found is None:
            found = [self._pool[s] for s in self._timers.needs(youngest.sequence)] + [youngest]
        return found

    def _set_timer(self, ticket: Ticket) -> None:
        """Find older tickets that this one completes a match with soonest."""
        at, group = math.inf, None
        if self._is_plain:
            first = list(islice(self._older(ticket), self._k - 1))
            if len(first) == self._k - 1:
                at, group = ticket.enqueued_at, first
        elif self._players >= self._k:
            at, group = self._first_legal(ticket, self._soonest(ticket))
        needs = tuple(t.sequence for t in group or () if t is not ticket)
        self._timers.put(ticket.sequence, at, needs, ticket.enqueued_at)

    def _first_legal(
        self, ticket: Ticket, older: list[Ticket]
    ) -> tuple[float, list[Ticket] | None]:
        """Return the group that the ticket completes soonest, and from when on it is legal."""
        at, group = math.inf, None
        for _ in range(IMPROVEMENTS_MAX):
            # At -inf no division is legal yet, so that the one legal first is preferred.
            found = self._search(ticket, older, partial(operator.gt, at), -math.inf)
            if found is None:
                break
            seating = self._objective.seat(found, now=-math.inf)
            assert seating is not None
            at, group = seating.ready_at, found
            if at <= ticket.enqueued_at:
                break
        return at, group

    def _soonest(self, ticket: Ticket) -> list[Ticket]:
        """Return the older tickets that may ever play with this one, soonest first."""
        older = list(self._older(ticket))
        if self._objective.rules.are_none:
            return older
        ready_at = self._objective.rules.pair_ready_at
        found = [(ready_at(other, ticket), place) for place, other in enumerate(older)]
        return [older[place] for at, place in sorted(found) if at < math.inf]

    def _older(self, ticket: Ticket) -> Iterator[Ticket]:
        """Yield the tickets that wait longer than this one, oldest first."""
        for other in self._pool.values():
            if other.age_key >= ticket.age_key:
                return
            yield other

    def _search(
        self,
        anchor: Ticket,
        others: Iterable[Ticket],
        is_due: Callable[[float], bool],
        now: float,
    ) -> list[Ticket] | None:
        """Return the first set, in the order of `others`, that makes a legal match in time."""
        tickets = [anchor, *others]
        ready_at = self._objective.rules.pair_ready_at

        def accepts(chosen: list[int]) -> bool:
            group = sorted((tickets[i] for i in chosen), key=lambda t: t.age_key)
            seating = self._objective.seat(group, now=now)
            return seating is not None and is_due(seating.ready_at)

        found = complete(
            [ticket.size for ticket in tickets],
            self._k,
            lambda a, b: is_due(ready_at(tickets[a], tickets[b])),
            accepts,
        )
        if found is None:
            return None
        return sorted((tickets[i] for i in found), key=lambda t: t.age_key)

    def _remove(self, sequence: int) -> None:
        ticket = self._pool.pop(sequence)
        del self._sequences[ticket.id]
        self._players -= ticket.size
        for other in self._timers.drop(sequence):
            if other in self._pool:
                self._set_timer(self._pool[other])
