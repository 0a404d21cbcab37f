"""`window`: two players meet as soon as their gap is within the limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from evenmatch.criteria.base import NumberGap
from evenmatch.criteria.kinds.numeric import difference_rule
from evenmatch.criteria.registry import number_gap_of
from evenmatch.criteria.rules import Rules
from evenmatch.errors import ConfigError
from evenmatch.model.checks import is_in, range_of
from evenmatch.model.fields import AttributeName, Limit, RoundTime, Seconds
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Expansion, Growth, Queue, Rule, Sample, SampleSize, Unit
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, Matcher, Memory, NoJobs
from evenmatch.policies.shared.duel_candidates import IndexedTicket, Partner, candidates_for
from evenmatch.policies.shared.nearest_pairs import Chooser, nearest_pairs
from evenmatch.policies.shared.parameters import check_parameters
from evenmatch.policies.shared.round_clock import RoundClock
from evenmatch.policies.shared.timers import Timers

THREAD_LIMIT = 150.0
THREAD_RATE = 2.0
THREAD_LIMIT_MAX = 500.0
"""The thread's numbers, in Glicko points and points a second."""
CROWD = 4
"""Where a ticket may play with more than so many on average, pairs are no longer listed."""


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """Match two players as soon as their gap is within the limit of both, or of either.

    A ticket accepts a gap up to `limit`, which widens with its wait by `rate` points per second or
    in `steps`, up to `limit_max`. Both tickets must accept, unless `accept=either`. If several
    pairs may play, the longest waiting ticket chooses first. The policy acts on arrivals and at the
    exact instants at which a limit reaches a gap, and never scans the whole pool; with `every` it
    acts in rounds instead. All rules of the queue hold too.

    When to use:
        For the usual ladder, one against one by rating: each player accepts a difference that
        widens with the wait. The policy acts at the exact instant at which the limits allow a
        match, with any number of rules.

    Args:
        attribute: The attribute that is compared, a number.
        limit: Largest gap that is accepted at once; by default that of the queue's first rule on
            `attribute`, or without such a rule the numbers of the thread: 150, widening by 2 per
            second up to 500.
        rate: How much the limit grows per second.
        steps: Pairs of a wait in seconds and the limit from then on.
        limit_max: The limit never exceeds this; by default there is no cap.
        unit: What the limit is measured in: `difference` (points), `relative` (a fraction of the
            player's own value) or `percentile` (a fraction of all players: 0.05 is 5 % of them).
        last: With `unit=percentile`: over how many of the last accepted tickets percentiles are
            taken; 1,000 by default. To take them from a file, use a rule of the queue.
        accept: Whether `both` tickets must accept a gap, or `either` one is enough, as in the
            thread's first code.
        pick: Whom the longest waiting ticket takes of those it may play: the `oldest`, or the
            `nearest` by `attribute`. They differ only if several pairs are free at the same
            instant.
        every: Seconds between rounds, counted from the first ticket; pairs are then made only in
            rounds. By default the policy decides at each event.

    Source:
        "Matching players in an online 1vs1 game", the thread's widening rating difference limit.

    Complexity:
        O(log n) per arrival if one rule decides for both tickets. Otherwise a sweep over one axis
        for each rule, of the tickets that are as near as the soonest partner on the first two axes.
        With `accept=either` it goes as far as the limit of the longest waiting ticket reaches. A
        round with `pick=nearest` examines all pairs that are free; if one difference alone decides,
        and most tickets have somebody near, that takes O(n log n).
    """

    evaluations_max = (8, 8, 4, 1)

    attribute: AttributeName = "rating"
    limit: Limit | None = None
    rate: Growth = 0.0
    steps: Annotated[
        tuple[tuple[float, float], ...], Meta(description="pairs such as 60-250+120-350")
    ] = ()
    limit_max: Limit | None = None
    unit: Unit = "difference"
    last: SampleSize | None = None
    accept: Literal["both", "either"] = "both"
    pick: Literal["oldest", "nearest"] = "oldest"
    every: RoundTime | None = None

    def rules(self, queue: Queue) -> tuple[Rule, ...]:
        """Return the one `spread` rule that the parameters are short for.

        Raises:
            ConfigError: Both the parameters and the queue give a limit, a limit's growth is
                given without the limit, or a parameter cannot work.
        """
        self._check_words()
        given = self._given(queue)
        if self.limit is None:
            self._check_no_shorthand(given)
            if given is None:
                self._check_comparable(queue)
            return () if given is not None else (self._thread_rule(),)
        if given is not None:
            raise ConfigError(
                f"queue {queue.name} has a spread rule on {self.attribute} and policy window a "
                f"limit; "
                f"give only one of the two"
            )
        return (self._rule(),)

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue of duels."""
        del seed
        if not queue.format.is_duel:
            raise ConfigError(
                f"policy window pairs two players: queue {queue.name} needs teams = 2 and "
                f"players = 1; use greedy for larger formats"
            )
        queue = msgspec.structs.replace(queue, rules=queue.rules + self.rules(queue))
        rule = self._given(queue)
        assert rule is not None
        nearest = self.pick == "nearest"
        return WindowMatcher(queue, rule, nearest=nearest, every=self.every, memory=memory)

    def _given(self, queue: Queue) -> Rule | None:
        """Return the queue's first rule that a limit of ours would stand for."""
        for rule in queue.rules:
            if number_gap_of(rule) is NumberGap.WIDEST and rule.attribute == self.attribute:
                return rule
        return None

    def _check_words(self) -> None:
        check_parameters(self)
        if self.last is not None and self.unit != "percentile":
            raise ConfigError("window: last goes only with unit=percentile")
        if self.unit == "percentile" and self.limit is not None and self.limit > 1.0:
            raise ConfigError(
                "window: limit must be between 0 and 1 if unit is percentile, such as 0.05 for "
                f"5 %, got {self.limit}"
            )

    def _check_comparable(self, queue: Queue) -> None:
        """Refuse an attribute whose only rules do not limit a difference of numbers."""
        kinds = [rule.kind for rule in queue.rules if rule.attribute == self.attribute]
        if kinds:
            raise ConfigError(
                f"policy window needs a spread rule on {self.attribute}, and queue {queue.name} "
                f"has only {' and '.join(dict.fromkeys(kinds))}; give limit, or another attribute"
            )

    def _check_no_shorthand(self, given: Rule | None) -> None:
        if self.rate or self.steps or self.limit_max is not None:
            raise ConfigError("window: rate, steps and limit_max need limit, e.g. limit=150")
        if self.unit != "difference" and (given is None or given.unit != self.unit):
            raise ConfigError("window: unit needs limit, e.g. limit=0.1,unit=relative")
        if given is not None and self.accept == "either" != given.accept:
            raise ConfigError(
                f'window: accept needs limit; or write accept = "either" into the queue\'s rule '
                f"on {self.attribute}"
            )

    def _thread_rule(self) -> Rule:
        widening = Expansion(rate=THREAD_RATE, max=THREAD_LIMIT_MAX)
        return difference_rule(self.attribute, THREAD_LIMIT, expand=widening, accept=self.accept)

    def _rule(self) -> Rule:
        assert self.limit is not None
        if self.rate and self.steps:
            raise ConfigError("window: give rate or steps, not both")
        _check_growth(self.limit, self.steps, self.limit_max)
        expand = None
        if self.rate or self.steps:
            expand = Expansion(rate=self.rate, steps=self.steps, max=self.limit_max)
        return difference_rule(
            self.attribute,
            self.limit,
            self.unit,
            expand,
            accept=self.accept,
            sample=None if self.last is None else Sample(last=self.last),
        )


def _check_growth(
    limit: float, steps: tuple[tuple[float, float], ...], limit_max: float | None
) -> None:
    """Refuse limits that fall with the wait, and steps that are out of range."""
    if limit_max is not None and limit_max < limit:
        raise ConfigError(f"window: limit_max must be >= limit {limit}, got {limit_max}")
    before = (0.0, limit)
    for step in steps:
        if not (is_in(step[0], Seconds) and is_in(step[1], Limit)):
            raise ConfigError(
                f"window: steps must have waits {range_of(Seconds)} and limits {range_of(Limit)}, "
                f"got {step[0]:g}-{step[1]:g}"
            )
        if not (step[0] > before[0] and step[1] >= before[1]):
            raise ConfigError(
                f"window: steps must grow in wait and limit, got {step[0]:g}-{step[1]:g} "
                f"after {before[0]:g}-{before[1]:g}"
            )
        before = step


class WindowMatcher(NoJobs):
    """The waiting tickets, one timer each, and the rounds where a clock decides."""

    def __init__(
        self,
        queue: Queue,
        rule: Rule,
        *,
        nearest: bool = False,
        every: float | None = None,
        memory: Memory | None = None,
    ) -> None:
        self._candidates = candidates_for(Rules(queue), rule)
        self._nearest = nearest
        self._clock = None if every is None else RoundClock(every, memory or {})
        self._by_id: dict[str, IndexedTicket] = {}
        self._by_sequence: dict[int, IndexedTicket] = {}
        self._timers = Timers()
        self._youngest = 0

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in and set its timer."""
        if isinstance(entry, OpenMatch):
            return
        if self._clock is not None:
            self._clock.start(now)
        sequence = entry.sequence
        waiting = self._candidates.insert(entry)
        self._by_id[entry.id] = waiting
        self._by_sequence[sequence] = waiting
        self._set_timer(waiting)
        if sequence > self._youngest:
            self._youngest = sequence
        else:
            self._reset_younger(waiting)

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket."""
        del now
        waiting = self._by_id.get(entry_id)
        if waiting is not None:
            self._remove(waiting)

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Match what falls due, longest waiting first; with a clock, at its next round."""
        timers, clock = self._timers, self._clock
        if clock is not None:
            if not clock.is_due(now, fired):
                return Decision((), clock.round_at)
            clock.move_on(now)
        elif (wake_at := timers.next()) > now:
            return Decision((), wake_at)
        due = timers.pop_due(now, fired)
        pairs = (
            self._nearest_pairs(due, now, fired)
            if self._nearest
            else self._oldest_pairs(due, now, fired)
        )
        groupings = tuple([Grouping((a.ticket.id, b.ticket.id)) for a, b in pairs])
        return Decision(groupings, timers.next() if clock is None else clock.round_at)

    @property
    def evaluations(self) -> int:
        """Return how many pairs were compared so far."""
        return self._candidates.evaluations

    def memory(self) -> Memory:
        """Return where the rounds begin and which one is next, if a clock decides."""
        return {} if self._clock is None else self._clock.memory()

    def _oldest_pairs(
        self, due: list[int], now: float, fired: bool
    ) -> list[tuple[IndexedTicket, IndexedTicket]]:
        """Let everybody take the longest waiting partner, longest waiting first.

        Since all rank each other by age, it comes to the same to let each due ticket, by age,
        take the longest waiting of the older ones: both ways no two tickets would rather have
        each other than what they got, and by age there is only one such matching.
        """
        pairs = []
        for sequence in due:
            waiting = self._by_sequence[sequence]
            partners = self._candidates.partners(waiting, now, fired)
            if partners:
                oldest = partners[0][1]
                if len(partners) > 1:
                    oldest = min([other for _, other in partners], key=_age)
                self._remove(oldest, waiting)
                pairs.append((oldest, waiting))
        if len(pairs) > 1:
            pairs.sort(key=lambda pair: _age(pair[0]))
        return pairs

    def _nearest_pairs(
        self, due: list[int], now: float, fired: bool
    ) -> list[tuple[IndexedTicket, IndexedTicket]]:
        """Let everybody take the nearest partner, longest waiting first."""
        alone = self._candidates.wait_for
        listed = self._listed(due, now, fired, math.inf if alone is None else CROWD)
        if listed is None:
            assert alone is not None
            pairs = self._crowd_pairs(due, now, fired, alone)
        else:
            pairs = _picked(listed)
        self._remove(*[waiting for pair in pairs for waiting in pair])
        return pairs

    def _listed(
        self, due: list[int], now: float, fired: bool, most: float
    ) -> dict[int, tuple[IndexedTicket, list[Partner]]] | None:
        """Return the partners of each ticket that has any; None if they are a crowd."""
        found: dict[int, tuple[IndexedTicket, list[Partner]]] = {}
        left = most * len(self._by_id)
        for sequence in due:
            waiting = self._by_sequence[sequence]
            partners = self._candidates.partners(waiting, now, fired)
            left -= len(partners)
            if left < 0:
                return None
            for gap, other in partners:
                for one, two in ((waiting, other), (other, waiting)):
                    found.setdefault(one.ticket.sequence, (one, []))[1].append((gap, two))
        return found

    def _crowd_pairs(
        self, due: list[int], now: float, fired: bool, wait_for: Callable[[float], float]
    ) -> list[tuple[IndexedTicket, IndexedTicket]]:
        """Let everybody take the nearest partner without a list of all pairs."""
        by_age = sorted(self._by_id.values(), key=lambda waiting: waiting.ticket.age_key)
        asked = set(due)
        choosers = [
            Chooser(each.values[0], each.ticket.enqueued_at, each.ticket.sequence in asked)
            for each in by_age
        ]

        def is_due(at: float, born: float) -> bool:
            return at < now or (at == now and (fired or at == born))

        pairs, seen = nearest_pairs(choosers, wait_for, is_due)
        self._candidates.evaluations += seen
        return [(by_age[one], by_age[two]) for one, two in pairs]

    def _set_timer(self, waiting: IndexedTicket) -> None:
        """Set a ticket's timer to when it may play the first of the older ones."""
        ticket, soonest = waiting.ticket, self._candidates.soonest(waiting)
        needs = () if soonest.other is None else (soonest.other.ticket.sequence,)
        # Only what need not be waited for is due in the very instant of an arrival.
        born = ticket.enqueued_at if soonest.at_once else -math.inf
        self._timers.put(ticket.sequence, soonest.at, needs, born)

    def _remove(self, *gone: IndexedTicket) -> None:
        """Forget tickets, and set the timers anew that they had helped to set."""
        stale: list[int] = []
        for waiting in gone:
            sequence = waiting.ticket.sequence
            self._candidates.remove(waiting)
            del self._by_id[waiting.ticket.id]
            del self._by_sequence[sequence]
            stale += self._timers.drop(sequence)
        for sequence in stale:
            other = self._by_sequence.get(sequence)
            if other is not None:
                self._set_timer(other)
        if self._clock is not None and not self._by_id:
            self._clock.stop()

    def _reset_younger(self, waiting: IndexedTicket) -> None:
        """Set the timers of all younger tickets again: an older one has returned."""
        for other in self._by_sequence.values():
            if other.ticket.age_key > waiting.ticket.age_key:
                self._set_timer(other)


def _age(waiting: IndexedTicket) -> tuple[float, int]:
    return waiting.ticket.age_key


def _picked(
    found: dict[int, tuple[IndexedTicket, list[Partner]]],
) -> list[tuple[IndexedTicket, IndexedTicket]]:
    """Return who takes whom of listed partners: the nearest free one, longest waiting first."""
    pairs = []
    taken: set[int] = set()
    for chooser, partners in sorted(found.values(), key=lambda f: f[0].ticket.age_key):
        free = [p for p in partners if p[1].ticket.sequence not in taken]
        if chooser.ticket.sequence not in taken and free:
            other = min(free, key=lambda p: (p[0], p[1].ticket.age_key))[1]
            taken.update((chooser.ticket.sequence, other.ticket.sequence))
            pairs.append((chooser, other))
    return pairs
