"""The matcher of duel policies: exact timers, and a method that says *when* a pair may play.

Of each pair one is the younger, and it keeps the timer: the first instant at which it may play
one of the older tickets (see `timers.py`). A policy says which older ticket that is, and which
other tickets the answer rests on; everything else is the same for all.
"""

from __future__ import annotations

import math

import msgspec

from evenmatch.criteria.rules import Rules
from evenmatch.criteria.values import number
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, NoJobs
from evenmatch.policies.shared.rated_duels import RATING, rating_limits
from evenmatch.policies.shared.timers import Timers
from evenmatch.solvers.index.age_tree import NONE, AgeTree


class TreeTicket(msgspec.Struct, gc=False, eq=False):
    """A ticket in the tree."""

    ticket: Ticket
    rating: float
    node: int = NONE


class SoonestPairing(msgspec.Struct, gc=False):
    """When a ticket may first play an older one, and the tickets that this answer rests on."""

    at: float = math.inf
    needs: tuple[int, ...] = ()


class PairMatcher(NoJobs):
    """The waiting tickets by rating and age, and one timer each.

    A policy's matcher gives `bound` and `ready_at`, and may do more in `pick`, `entered`,
    `removed`, `matched`, `before` and `wakes`.
    """

    def __init__(self, queue: Queue) -> None:
        self.rules = Rules(queue)
        self._limits = rating_limits(queue)
        self.tree: AgeTree[TreeTicket] = AgeTree()
        self.waiting: dict[int, TreeTicket] = {}
        self._by_id: dict[str, TreeTicket] = {}
        self._timers = Timers()
        self._youngest = 0
        self.evaluations = 0

    def bound(self, waiting: TreeTicket, gap: float) -> float:
        """Return an instant before which a ticket plays nobody `gap` away or farther."""
        raise NotImplementedError

    def ready_at(self, waiting: TreeTicket, gap: float, other: TreeTicket) -> float:
        """Return the instant from which a ticket may play an older one, rules included."""
        raise NotImplementedError

    def pick(self, waiting: TreeTicket, due: list[TreeTicket], now: float) -> TreeTicket:
        """Return whom a ticket plays of the older ones it may play now: who waits longest."""
        del waiting, now
        return min(due, key=lambda other: other.ticket.age_key)

    def entered(self, waiting: TreeTicket, now: float) -> None:
        """Note a ticket that enters, before its timer is set."""

    def removed(self, waiting: TreeTicket) -> None:
        """Note a ticket that is gone, matched or not."""

    def matched(self, one: TreeTicket, two: TreeTicket) -> None:
        """Note a match."""

    def before(self, now: float, fired: bool) -> None:
        """Do what is due before the timers are looked at."""

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in and set its timer."""
        if isinstance(entry, OpenMatch):
            return
        waiting = TreeTicket(entry, number(entry, RATING))
        self.entered(waiting, now)
        waiting.node = self.tree.insert(waiting.rating, entry.sequence, waiting)
        self._by_id[entry.id] = self.waiting[entry.sequence] = waiting
        self._set_timer(waiting)
        if entry.sequence > self._youngest:
            self._youngest = entry.sequence
        else:
            self._return(entry)

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket."""
        del now
        waiting = self._by_id.get(entry_id)
        if waiting is not None:
            self._remove(waiting)

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Match what falls due, longest waiting first."""
        self.before(now, fired)
        groups = []
        while self._timers.next() <= now and (due := self._timers.pop_due(now, fired)):
            for sequence in due:
                # An earlier match of this instant may have taken the partner away.
                waiting = self.waiting.get(sequence)
                if waiting is None or not self._timers.is_due(sequence, now, fired):
                    continue
                other = self.pick(waiting, self.due(waiting, now, fired), now)
                self._remove(waiting, other)
                self.matched(other, waiting)
                groups.append(Grouping((other.ticket.id, waiting.ticket.id)))
        return Decision(tuple(groups), min(self._timers.next(), self.wakes(now)))

    def wakes(self, now: float) -> float:
        """Return the next instant of the policy's own, besides the timers."""
        del now
        return math.inf

    def oldest_at(self) -> float:
        """Return when the longest waiting ticket was enqueued; inf if nobody waits."""
        first = next(iter(self.waiting.values()), None)
        return math.inf if first is None else first.ticket.enqueued_at

    def soonest(self, waiting: TreeTicket) -> SoonestPairing:
        """Return when a ticket may first play one of the older ones."""
        pairing = SoonestPairing()
        self.evaluations += 1
        for gap, other in self.tree.older(waiting.node):
            self.evaluations += 1
            if self._bound(waiting, gap) >= pairing.at:
                break
            at = self.ready_at(waiting, gap, other)
            if at < pairing.at:
                pairing = SoonestPairing(at, (other.ticket.sequence,))
        return pairing

    def due(self, waiting: TreeTicket, now: float, fired: bool) -> list[TreeTicket]:
        """Return the older tickets that a ticket may play now, nearest first."""
        born = waiting.ticket.enqueued_at
        found = []
        self.evaluations += 1
        for gap, other in self.tree.older(waiting.node):
            self.evaluations += 1
            if self._bound(waiting, gap) > now:
                break
            if is_due(self.ready_at(waiting, gap, other), born, now, fired):
                found.append(other)
        return found

    def nearest_older(self, waiting: TreeTicket) -> list[TreeTicket]:
        """Return the nearest older tickets on both sides, below first."""
        return [self.tree.item(at) for at in self.tree.nearest_older(waiting.node) if at != NONE]

    def set_all_timers(self) -> None:
        """Set every timer anew: the policy allows other pairs from now on."""
        for waiting in self.waiting.values():
            self._set_timer(waiting)

    def _bound(self, waiting: TreeTicket, gap: float) -> float:
        """Return `bound`, or later where the younger has not waited enough for a rule."""
        born = waiting.ticket.enqueued_at
        return max(self.bound(waiting, gap), born, *[born + when(gap) for when in self._limits])

    def _set_timer(self, waiting: TreeTicket) -> None:
        ticket, pairing = waiting.ticket, self.soonest(waiting)
        self._timers.put(ticket.sequence, pairing.at, pairing.needs, ticket.enqueued_at)

    def _remove(self, *gone: TreeTicket) -> None:
        """Forget tickets, and set the timers anew that they had helped to set."""
        stale: dict[int, None] = {}
        for waiting in gone:
            sequence = waiting.ticket.sequence
            self.tree.remove(waiting.node)
            del self._by_id[waiting.ticket.id], self.waiting[sequence]
            stale.update(dict.fromkeys(self._timers.drop(sequence)))
            self.removed(waiting)
        for sequence in stale:
            other = self.waiting.get(sequence)
            if other is not None:
                self._set_timer(other)

    def _return(self, back: Ticket) -> None:
        """Put a ticket that came back in its place by age; younger timers may be shorter now."""
        by_age = sorted(self.waiting.values(), key=lambda each: each.ticket.age_key)
        self.waiting = {each.ticket.sequence: each for each in by_age}
        for each in by_age:
            if each.ticket.age_key > back.age_key:
                self._set_timer(each)


def is_due(at: float, born: float, now: float, fired: bool) -> bool:
    """Return whether a pair may play now; nobody waits for the instant of their own arrival."""
    return at < now or (at == now and (fired or at == born))
