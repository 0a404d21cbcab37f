"""`window`: two players meet as soon as their gap is within the limit of both."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from evenmatch.cost.expansion import inverse
from evenmatch.cost.rules import Rules, number, relative
from evenmatch.cost.valid import LIMITS, RATES, SECONDS
from evenmatch.errors import ConfigError, NotSupported
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Expansion, Queue, Rule
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, Matcher, Memory, NoJobs
from evenmatch.policies.timers import Timers
from evenmatch.solvers.age_tree import NONE, AgeTree

THREAD_LIMIT = 150.0
THREAD_RATE = 2.0
THREAD_LIMIT_MAX = 500.0
"""The thread's numbers, in Glicko points and points a second."""


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """Match two players as soon as their gap is within the limit of both.

    A ticket accepts a gap up to `limit`, which widens with its wait by `rate` points a second or
    in `steps`, up to `limit_max`. Both must accept. Whenever several pairs may play, the longest
    waiting ticket chooses first. The policy acts on arrivals and at the exact instants at which a
    limit reaches a gap, and never looks over the whole pool.

    Args:
        attribute: The number that is compared.
        limit: Largest gap accepted at once; None takes the queue's first rule on `attribute`,
            and without one the thread's own numbers: 150, widening by 2 a second up to 500.
        rate: Growth of the limit per second.
        steps: Pairs (wait in seconds, limit from then on).
        limit_max: The limit never exceeds it; None means no cap.
        unit: `difference` (points) or `relative` (a fraction of one's own value).
        accept: `both` sides must accept.
        pick: Whom the longest waiting ticket takes among those it may play: the `oldest` or the
            `nearest`. They differ only where several tickets arrive or fall due at one instant.

    Source:
        "Matching players in an online 1vs1 game", the thread's widening rating difference limit.

    Complexity:
        O(log n) per arrival where one rule decides; the neighbours that other rules or sides
        forbid are walked past.
    """

    fills = False

    attribute: str = "rating"
    limit: float | None = None
    rate: float = 0.0
    steps: tuple[tuple[float, float], ...] = ()
    limit_max: float | None = None
    unit: str = "difference"
    accept: str = "both"
    pick: str = "oldest"

    def rules(self, queue: Queue) -> tuple[Rule, ...]:
        """Return the one `spread` rule that the parameters are short for.

        Raises:
            ConfigError: Both the parameters and the queue give a limit, a limit's growth is
                given without the limit, or a parameter cannot work.
            NotSupported: A parameter's value comes with a later version.
        """
        self._check_words()
        given = self._given(queue)
        if self.limit is None:
            self._check_no_shorthand()
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
        del seed, memory
        if not queue.format.is_duel:
            raise ConfigError(
                f"policy window pairs two players: queue {queue.name} needs teams = 2 and "
                f"players = 1; use greedy for larger formats"
            )
        queue = msgspec.structs.replace(queue, rules=queue.rules + self.rules(queue))
        rule = self._given(queue)
        assert rule is not None
        return WindowMatcher(queue, rule, nearest=self.pick == "nearest")

    def _given(self, queue: Queue) -> Rule | None:
        """Return the queue's first rule that a limit of ours would stand for."""
        for rule in queue.rules:
            if rule.kind == "spread" and rule.attribute == self.attribute:
                return rule
        return None

    def _check_words(self) -> None:
        if self.accept == "either":
            raise NotSupported("window: accept = either comes with a later version; use both")
        if self.accept != "both":
            raise ConfigError(f"window: accept must be both, got {self.accept}")
        if self.unit == "percentile":
            raise NotSupported(
                "window: unit = percentile comes with a later version; use difference or relative"
            )
        if self.unit not in ("difference", "relative"):
            raise ConfigError(f"window: unit must be difference or relative, got {self.unit}")
        if self.pick not in ("oldest", "nearest"):
            raise ConfigError(f"window: pick must be oldest or nearest, got {self.pick}")
        if not 1 <= len(self.attribute) <= 100:
            raise ConfigError("window: attribute must be a name of 1 to 100 characters")

    def _check_comparable(self, queue: Queue) -> None:
        """Refuse an attribute whose only rules do not limit a difference of numbers."""
        kinds = [rule.kind for rule in queue.rules if rule.attribute == self.attribute]
        if kinds:
            raise ConfigError(
                f"policy window needs a spread rule on {self.attribute}, and queue {queue.name} "
                f"has only {' and '.join(dict.fromkeys(kinds))}; give limit, or another attribute"
            )

    def _check_no_shorthand(self) -> None:
        if self.rate or self.steps or self.limit_max is not None:
            raise ConfigError("window: rate, steps and limit_max need limit, e.g. limit=150")

    def _thread_rule(self) -> Rule:
        widening = Expansion(rate=THREAD_RATE, max=THREAD_LIMIT_MAX)
        return Rule("spread", self.attribute, THREAD_LIMIT, expand=widening)

    def _rule(self) -> Rule:
        assert self.limit is not None
        if self.rate and self.steps:
            raise ConfigError("window: give rate or steps, not both")
        _check_growth(self.limit, self.rate, self.steps, self.limit_max)
        expand = None
        if self.rate or self.steps:
            expand = Expansion(rate=self.rate, steps=self.steps, max=self.limit_max)
        return Rule("spread", self.attribute, self.limit, self.unit, expand)  # type: ignore[arg-type]


def _check_growth(
    limit: float, rate: float, steps: tuple[tuple[float, float], ...], limit_max: float | None
) -> None:
    """Refuse limits that fall with the wait or are out of range."""
    for name, value in (("limit", limit), ("limit_max", limit_max or 0.0)):
        if not LIMITS.hold(value):
            raise ConfigError(f"window: {name} must be {LIMITS.text}, got {value}")
    if rate != 0.0 and not RATES.hold(rate):
        raise ConfigError(f"window: rate must be 0 or {RATES.text}, got {rate}")
    if limit_max is not None and limit_max < limit:
        raise ConfigError(f"window: limit_max must be >= limit {limit}, got {limit_max}")
    before = (0.0, limit)
    for step in steps:
        if not (SECONDS.hold(step[0]) and LIMITS.hold(step[1])):
            raise ConfigError(
                f"window: steps must have waits {SECONDS.text} and limits {LIMITS.text}, "
                f"got {step[0]:g}-{step[1]:g}"
            )
        if not (step[0] > before[0] and step[1] >= before[1]):
            raise ConfigError(
                f"window: steps must grow in wait and limit, got {step[0]:g}-{step[1]:g} "
                f"after {before[0]:g}-{before[1]:g}"
            )
        before = step


class _Waiting(msgspec.Struct, gc=False, eq=False):
    """A ticket in the tree."""

    ticket: Ticket
    value: float
    node: int = NONE


Partner = tuple[float, _Waiting]
"""A gap and who is that far away."""


class WindowMatcher(NoJobs):
    """The waiting tickets by value and age, and one timer each."""

    def __init__(self, queue: Queue, rule: Rule, *, nearest: bool = False) -> None:
        self._rules = Rules(queue)
        self._rule = rule
        self._when = inverse(rule.limit, rule.expand)
        # Where the gap alone decides, a ticket's soonest partner is its nearest older neighbour.
        self._gap_decides = (
            len(queue.rules) == 1 and not queue.format.sides and rule.unit == "difference"
        )
        self._nearest = nearest
        self._tree: AgeTree[_Waiting] = AgeTree()
        self._by_id: dict[str, _Waiting] = {}
        self._by_sequence: dict[int, _Waiting] = {}
        self._timers = Timers()
        self._youngest = 0

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in and set its timer."""
        del now
        if isinstance(entry, OpenMatch):
            return
        sequence = entry.sequence
        waiting = _Waiting(entry, number(entry, self._rule.attribute))
        waiting.node = self._tree.insert(waiting.value, entry.sequence, waiting)
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
        """Match what falls due, longest waiting first."""
        timers = self._timers
        if (wake_at := timers.next()) > now:
            return Decision((), wake_at)
        due = timers.pop_due(now, fired)
        pairs = (
            self._nearest_pairs(due, now, fired)
            if self._nearest
            else (self._oldest_pairs(due, now, fired))
        )
        groupings = tuple([Grouping((a.ticket.id, b.ticket.id)) for a, b in pairs])
        return Decision(groupings, timers.next())

    def _oldest_pairs(
        self, due: list[int], now: float, fired: bool
    ) -> list[tuple[_Waiting, _Waiting]]:
        """Let everybody take the longest waiting partner, longest waiting first.

        Since all rank each other by age, it comes to the same to let each due ticket, by age,
        take the longest waiting of the older ones: both ways no two tickets would rather have
        each other than what they got, and by age there is only one such matching.
        """
        pairs = []
        for sequence in due:
            waiting = self._by_sequence[sequence]
            partners = self._partners(waiting, now, fired)
            if partners:
                oldest = min(partners, key=lambda partner: partner[1].ticket.age_key)[1]
                self._remove(oldest, waiting)
                pairs.append((oldest, waiting))
        return sorted(pairs, key=lambda pair: pair[0].ticket.age_key)

    def _nearest_pairs(
        self, due: list[int], now: float, fired: bool
    ) -> list[tuple[_Waiting, _Waiting]]:
        """Let everybody take the nearest partner, longest waiting first."""
        found: dict[int, tuple[_Waiting, list[Partner]]] = {}
        for sequence in due:
            waiting = self._by_sequence[sequence]
            for gap, other in self._partners(waiting, now, fired):
                for one, two in ((waiting, other), (other, waiting)):
                    found.setdefault(one.ticket.sequence, (one, []))[1].append((gap, two))
        pairs = []
        taken: set[int] = set()
        for chooser, partners in sorted(found.values(), key=lambda f: f[0].ticket.age_key):
            free = [p for p in partners if p[1].ticket.sequence not in taken]
            if chooser.ticket.sequence not in taken and free:
                other = min(free, key=lambda p: (p[0], p[1].ticket.age_key))[1]
                taken.update((chooser.ticket.sequence, other.ticket.sequence))
                pairs.append((chooser, other))
        for pair in pairs:
            self._remove(*pair)
        return pairs

    def _partners(self, waiting: _Waiting, now: float, fired: bool) -> list[Partner]:
        """Return the older tickets that a ticket may play now."""
        born = waiting.ticket.enqueued_at
        found = []
        for gap, other, at, earliest in self._older(waiting):
            if earliest > now:
                break
            if at < now or (at == now and (fired or at == born)):
                found.append((gap, other))
        return found

    def _set_timer(self, waiting: _Waiting) -> None:
        """Find the older ticket that this one may play soonest."""
        ticket = waiting.ticket
        best = math.inf
        needs: tuple[int, ...] = ()
        if self._gap_decides:
            partner = self._nearest_older(waiting)
            if partner is not None:
                gap, other = partner
                best = ticket.enqueued_at + self._when(gap)
                needs = (other.ticket.sequence,)
        else:
            for _, other, at, earliest in self._older(waiting):
                if earliest >= best:
                    break
                if at < best:
                    best, needs = at, (other.ticket.sequence,)
        self._timers.put(ticket.sequence, best, needs, ticket.enqueued_at)

    def _nearest_older(self, waiting: _Waiting) -> Partner | None:
        tree, value = self._tree, waiting.value
        low, high = tree.nearest_older(waiting.node)
        below = tree.item(low) if low != NONE else None
        above = tree.item(high) if high != NONE else None
        if above is not None and (below is None or above.value - value < value - below.value):
            return above.value - value, above
        return (value - below.value, below) if below is not None else None

    def _older(self, waiting: _Waiting) -> Iterator[tuple[float, _Waiting, float, float]]:
        """Yield (gap, older ticket, instant of the pair, bound), nearest first.

        The bound is the instant at which this ticket itself accepts the gap: no pair that comes
        later in the walk may play before it.
        """
        ticket = waiting.ticket
        is_relative = self._rule.unit == "relative"
        for gap, other in self._tree.older(waiting.node):
            own_gap = relative(gap, (waiting.value,)) if is_relative else gap
            earliest = ticket.enqueued_at + self._when(own_gap)
            if earliest == math.inf:
                return
            at = earliest
            if not self._gap_decides:
                at = self._rules.pair_ready_at(other.ticket, ticket)
            yield gap, other, at, earliest

    def _remove(self, *gone: _Waiting) -> None:
        """Forget tickets, and set the timers anew that they had helped to set."""
        stale: list[int] = []
        for waiting in gone:
            sequence = waiting.ticket.sequence
            self._tree.remove(waiting.node)
            del self._by_id[waiting.ticket.id]
            del self._by_sequence[sequence]
            stale += self._timers.drop(sequence)
        for sequence in stale:
            other = self._by_sequence.get(sequence)
            if other is not None:
                self._set_timer(other)

    def _reset_younger(self, waiting: _Waiting) -> None:
        """Set the timers of all younger tickets again: an older one has returned."""
        for other in self._by_sequence.values():
            if other.ticket.age_key > waiting.ticket.age_key:
                self._set_timer(other)
