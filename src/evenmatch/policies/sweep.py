"""`sweep`: a walk along the axis of ratings; whoever leaves it takes the best partner there."""

from __future__ import annotations

from bisect import bisect_left, insort

import msgspec

from evenmatch.criteria.kinds.numeric import difference_rule
from evenmatch.criteria.rules import Rules
from evenmatch.model.fields import Limit, RoundTime
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Expansion, Queue, Rule
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, Matcher, Memory, NoJobs
from evenmatch.policies.shared.parameters import check_parameters
from evenmatch.policies.shared.rated_duels import RATING, RatingKey, check_duel, rating_key
from evenmatch.policies.shared.round_clock import RoundClock

NEAREST_MAX = 32
"""Tickets on the axis that one ticket is tried with when it leaves, the nearest."""


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """Every `every` seconds, sweep over the ratings and pair tickets where their ranges end.

    A ticket accepts ratings up to `limit` points away, plus `rate` points for each second of its
    wait, but at most `limit_max`. A round moves up the axis of ratings: a ticket is active from the
    lower end of its range to the upper end. At the upper end it takes the nearest active ticket
    whose range also covers its own rating. So players with low ratings choose first, and players
    who have waited long, with wide ranges, choose late.

    When to use:
        To see what the rule of the thread does. `window` with `every` makes the same kind of
        matches, but serves those who wait longest first.

    Args:
        every: Seconds between rounds, counted from the first ticket.
        limit: Largest difference of ratings that is accepted at once, in points.
        rate: Points by which the limit grows per second.
        limit_max: The limit never exceeds this, in points.

    Source:
        "Matching players in an online 1vs1 game", the answer on sweep-and-prune; its numbers are
        those of the widening limit in the thread.

    Complexity:
        A round sorts the waiting tickets and compares each with at most `NEAREST_MAX` others.
    """

    in_rounds = True
    evaluations_max = (0, NEAREST_MAX + 1)

    every: RoundTime = 1.0
    limit: Limit = 150.0
    rate: Limit = 2.0
    limit_max: Limit = 500.0

    def rules(self, queue: Queue) -> tuple[Rule, ...]:
        """Return the rule that the limit is short for."""
        del queue
        check_parameters(self)
        most = max(self.limit, self.limit_max)
        expand = Expansion(rate=self.rate, max=most) if self.rate else None
        return (difference_rule(RATING, self.limit, expand=expand),)

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue of duels."""
        del seed
        check_duel("sweep", queue)
        full = msgspec.structs.replace(queue, rules=queue.rules + self.rules(queue))
        return SweepMatcher(full, self, RoundClock(self.every, memory or {}))


class SweepMatcher(NoJobs):
    """The waiting tickets, and the clock."""

    def __init__(self, queue: Queue, policy: Sweep, clock: RoundClock) -> None:
        self._rules = Rules(queue)
        self._chosen = policy
        self._clock = clock
        self._tickets: dict[str, Ticket] = {}
        self.evaluations = 0

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in, and start the clock if it stands."""
        if not isinstance(entry, OpenMatch):
            self._tickets[entry.id] = entry
            self._clock.start(now)

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket."""
        del now
        self._tickets.pop(entry_id, None)
        if not self._tickets:
            self._clock.stop()

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Hold a round if one is due."""
        if not self._clock.is_due(now, fired):
            return Decision(wake_at=self._clock.round_at)
        groups = self._sweep(now)
        for group in groups:
            for ticket_id in group.tickets:
                del self._tickets[ticket_id]
        if self._tickets:
            self._clock.move_on(now)
        else:
            self._clock.stop()
        return Decision(tuple(groups), self._clock.round_at)

    def memory(self) -> Memory:
        """Return the beat."""
        return self._clock.memory()

    def _sweep(self, now: float) -> list[Grouping]:
        """Return the pairs of one walk along the axis."""
        by_key = {rating_key(ticket): ticket for ticket in self._tickets.values()}
        reach = {key: self._reach(ticket, now) for key, ticket in by_key.items()}
        starts = sorted(by_key, key=lambda key: (key[0] - reach[key], key))
        ends = sorted(by_key, key=lambda key: (key[0] + reach[key], key))
        on_axis: list[RatingKey] = []
        groups, gone, begun = [], set(), 0
        for key in ends:
            self.evaluations += 1
            end = key[0] + reach[key]
            while begun < len(starts) and starts[begun][0] - reach[starts[begun]] <= end:
                if starts[begun] not in gone:
                    insort(on_axis, starts[begun])
                begun += 1
            if key in gone:
                continue
            del on_axis[bisect_left(on_axis, key)]
            partner = self._best(key, on_axis, by_key, now)
            if partner is not None:
                gone.add(partner)
                del on_axis[bisect_left(on_axis, partner)]
                together = sorted((by_key[key], by_key[partner]), key=lambda each: each.age_key)
                groups.append(Grouping(tuple([each.id for each in together])))
        return groups

    def _reach(self, ticket: Ticket, now: float) -> float:
        """Return how far from its own rating a ticket accepts others."""
        policy = self._chosen
        widened = policy.limit + policy.rate * (now - ticket.enqueued_at)
        return min(widened, max(policy.limit, policy.limit_max))

    def _best(
        self, key: RatingKey, on_axis: list[RatingKey], by_key: dict[RatingKey, Ticket], now: float
    ) -> RatingKey | None:
        """Return the nearest on the axis whom the rules allow, of equally near ones the lower."""
        above = bisect_left(on_axis, key)
        below = above - 1
        for _ in range(NEAREST_MAX):
            if below < 0 and above >= len(on_axis):
                return None
            is_below = below >= 0 and (
                above >= len(on_axis) or key[0] - on_axis[below][0] <= on_axis[above][0] - key[0]
            )
            other = on_axis[below if is_below else above]
            self.evaluations += 1
            if self._rules.pair_ready_at(by_key[key], by_key[other]) <= now:
                return other
            below, above = (below - 1, above) if is_below else (below, above + 1)
        return None
