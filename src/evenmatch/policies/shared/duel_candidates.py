"""Candidates of a duel: the older tickets that a ticket may play soonest, and those it may now.

Two indexes answer that. Where one limit on one difference decides, and the younger of two always
accepts last, the nearest older neighbour is the soonest partner, and a tree of ages knows it
(`ByGap`). In all other cases a sweep over one axis for each limit looks for it (`ByAxes`), and the
rules themselves say of each pair that it meets when it may play.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import msgspec

from evenmatch.criteria.rules import RuleLimit, Rules, relative
from evenmatch.criteria.values import number
from evenmatch.model.queue import Rule
from evenmatch.model.ticket import Ticket
from evenmatch.solvers.index.age_tree import NONE, AgeTree
from evenmatch.solvers.index.sweep import IndexedItem, SweepIndex

SHARE_SLACK = 1e-14
"""How much less than computed a relative gap may be, by rounding."""


class IndexedTicket(msgspec.Struct, gc=False, eq=False):
    """A ticket in an index, and its values: that of the policy's own rule first."""

    ticket: Ticket
    values: tuple[float, ...]
    node: int = NONE


class SoonestOpponent(msgspec.Struct, frozen=True, gc=False):
    """The older ticket that a ticket may play soonest.

    Args:
        at: The first instant; inf if it may play none.
        other: That ticket.
        at_once: Whether they may play since the younger arrived, and did not wait for a limit to
            widen at that very instant: inputs come before what falls due.
    """

    at: float = math.inf
    other: IndexedTicket | None = None
    at_once: bool = False


NOBODY = SoonestOpponent()

Partner = tuple[float, IndexedTicket]
"""A gap of the policy's own rule, and who is that far away."""


class Candidates(Protocol):
    """An index of the waiting tickets."""

    evaluations: int
    """Pairs compared so far."""
    wait_for: Callable[[float], float] | None
    """From a gap to the wait after which the younger accepts it, if nothing else decides."""

    def insert(self, ticket: Ticket) -> IndexedTicket:
        """Take a ticket in, and return it with what is compared of it."""
        ...

    def remove(self, waiting: IndexedTicket) -> None:
        """Forget a ticket."""
        ...

    def soonest(self, waiting: IndexedTicket) -> SoonestOpponent:
        """Return the older ticket that this one may play soonest."""
        ...

    def partners(self, waiting: IndexedTicket, now: float, fired: bool) -> list[Partner]:
        """Return all older tickets that this one may play now."""
        ...


def candidates_for(rules: Rules, rule: Rule) -> Candidates:
    """Return the index that a queue of duels needs.

    Args:
        rules: All rules of the queue.
        rule: The one whose gap says who is nearest.
    """
    own = next(limit for limit in rules.limits if limit.rule is rule)
    is_plain = rule.unit != "relative" and rule.accept == "both"
    if is_plain and len(rules.queue.rules) == 1 and not rules.sides:
        return ByGap(own)
    others = [limit for limit in rules.limits if limit is not own]
    return ByAxes(rules, (own, *others))


class ByGap:
    """Tickets by value and age; one limit that both must accept decides.

    Complexity:
        O(log n) to take in and forget, O(1) for the soonest.
    """

    def __init__(self, limit: RuleLimit) -> None:
        self._limit = limit
        self._when = limit.when
        self.wait_for: Callable[[float], float] | None = limit.when
        # Most limits compare an attribute as it is, which is read by a shorter way.
        self._plain = limit.rule.attribute if limit.rule.unit == "difference" else None
        self._tree: AgeTree[IndexedTicket] = AgeTree()
        self.evaluations = 0

    def insert(self, ticket: Ticket) -> IndexedTicket:
        """Take a ticket in, and return it with the value of the rule's attribute."""
        plain = self._plain
        value = self._limit.value(ticket) if plain is None else number(ticket, plain)
        waiting = IndexedTicket(ticket, (value,))
        waiting.node = self._tree.insert(value, ticket.sequence, waiting)
        return waiting

    def remove(self, waiting: IndexedTicket) -> None:
        """Forget a ticket."""
        self._tree.remove(waiting.node)

    def soonest(self, waiting: IndexedTicket) -> SoonestOpponent:
        """Return the nearest older ticket: no gap needs less wait than the smallest."""
        self.evaluations += 2
        other = self._tree.nearest(waiting.node)
        if other is None:
            return NOBODY
        wait = self._when(abs(waiting.values[0] - other.values[0]))
        return SoonestOpponent(waiting.ticket.enqueued_at + wait, other, wait == 0.0)

    def partners(self, waiting: IndexedTicket, now: float, fired: bool) -> list[Partner]:
        """Return all older tickets that this one may play now, nearest first."""
        born = waiting.ticket.enqueued_at
        found = []
        for gap, other in self._tree.older(waiting.node):
            self.evaluations += 1
            at = born + self._when(gap)
            if at > now:
                break
            if at < now or fired or at == born:
                found.append((gap, other))
        return found


class ByAxes:
    """Tickets on one axis for each limit; `Rules` says when each pair may play.

    Complexity:
        See `SweepIndex`. Tickets that no axis keeps apart, but sides or equal values do, are asked
        about one by one.
    """

    def __init__(self, rules: Rules, limits: tuple[RuleLimit, ...]) -> None:
        self._rules = rules
        self._limits = limits
        self._sweep: SweepIndex[IndexedTicket] = SweepIndex(len(limits))
        self._entries: dict[int, IndexedItem[IndexedTicket]] = {}
        self.evaluations = 0
        self.wait_for: Callable[[float], float] | None = None
        # Where both must accept, the younger one's own wait bounds when they may play;
        # where no limit is relative either, it is that instant.
        self._own_wait = all(limit.rule.accept == "both" for limit in limits)
        self._youngest_decides = all(
            each.accept == "both" and each.unit != "relative" for each in rules.queue.rules
        )

    def insert(self, ticket: Ticket) -> IndexedTicket:
        """Take a ticket in, and return it with its value on each axis."""
        values = tuple([limit.value(ticket) for limit in self._limits])
        sequence, waiting = ticket.sequence, IndexedTicket(ticket, values)
        self._entries[sequence] = self._sweep.insert(values, sequence, waiting)
        return waiting

    def remove(self, waiting: IndexedTicket) -> None:
        """Forget a ticket."""
        self._sweep.remove(self._entries.pop(waiting.ticket.sequence))

    def soonest(self, waiting: IndexedTicket) -> SoonestOpponent:
        """Return the older ticket that this one may play soonest."""
        ticket = waiting.ticket
        ready_at = self._rules.pair_ready_at
        best, until = NOBODY, math.inf

        def visit(other: IndexedTicket) -> float:
            nonlocal best, until
            at = ready_at(other.ticket, ticket)
            at_once = self._is_at_once(other, waiting, at)
            # Of two at the same instant, the one that need not be waited for is sooner.
            is_late = at == ticket.enqueued_at and not at_once
            key = math.nextafter(at, math.inf) if is_late else at
            if key < until:
                best, until = SoonestOpponent(at, other, at_once), key
            return until

        self._search(waiting, visit, until)
        return best

    def partners(self, waiting: IndexedTicket, now: float, fired: bool) -> list[Partner]:
        """Return all older tickets that this one may play now."""
        ticket, value = waiting.ticket, waiting.values[0]
        ready_at = self._rules.pair_ready_at
        found: dict[int, Partner] = {}
        beyond = math.nextafter(now, math.inf)

        def visit(other: IndexedTicket) -> float:
            at = ready_at(other.ticket, ticket)
            if at < now or (at == now and (fired or self._is_at_once(other, waiting, at))):
                found[other.ticket.sequence] = (abs(value - other.values[0]), other)
            return beyond

        self._search(waiting, visit, beyond)
        return list(found.values())

    def _is_at_once(self, other: IndexedTicket, waiting: IndexedTicket, at: float) -> bool:
        """Return whether a pair may play since the younger arrived, without another event."""
        if at != waiting.ticket.enqueued_at:
            return False
        return self._youngest_decides or (
            self._rules.duel_widens_at(other.ticket, waiting.ticket) < at
        )

    def _search(
        self, waiting: IndexedTicket, visit: Callable[[IndexedTicket], float], until: float
    ) -> None:
        """Let `visit` meet all who may play before `until`, later before what it returned last."""
        values = waiting.values
        oldest, own_wait = self._sweep.oldest.ticket.enqueued_at, self._own_wait
        bounds = [_bound(waiting, limit, values[at]) for at, limit in enumerate(self._limits)]
        far = [math.inf] * len(values)
        axes = tuple(enumerate(bounds))

        def meet(other: IndexedTicket) -> None:
            nonlocal until
            self.evaluations += 1
            theirs, waits_since = other.values, other.ticket.enqueued_at
            latest, widest = -math.inf, 0
            for axis, bound in axes:
                at = bound(abs(values[axis] - theirs[axis]), waits_since)
                if at > latest:
                    latest, widest = at, axis
            if latest < until:
                until = visit(other)
            if latest >= until:
                gap = abs(values[widest] - theirs[widest])
                if own_wait or bounds[widest](gap, oldest) >= until:
                    # Nobody so far away on this axis may play sooner: the box ends here.
                    far[widest] = gap

        self._sweep.visit_older(self._entries[waiting.ticket.sequence], far, meet)


def _bound(waiting: IndexedTicket, limit: RuleLimit, own: float) -> Callable[[float, float], float]:
    """Return the function from a gap to the first instant for anyone as far away or farther.

    Its second argument is since when the other one waits, at the earliest.

    Args:
        waiting: The ticket.
        limit: One axis.
        own: The ticket's value there.
    """
    rule, when = limit.rule, limit.when
    born = waiting.ticket.enqueued_at
    if rule.accept == "both":
        if rule.unit == "relative":
            return lambda gap, _: born + when(relative(gap, (own,)))
        return lambda gap, _: born + when(gap)
    if rule.unit == "relative":
        # Nobody as far away has a larger value to take the share of.
        return lambda gap, since: max(born, since + when(_least_share(gap, own)))
    return lambda gap, since: max(born, since + when(gap))


def _least_share(gap: float, own: float) -> float:
    """Return the least relative gap to a value that is so far from one's own."""
    return gap / (abs(own) + gap) * (1.0 - SHARE_SLACK) if gap > 0.0 else 0.0
