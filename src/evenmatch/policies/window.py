"""`window`: two players meet as soon as their gap is within the limit of both."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from evenmatch.cost.expansion import inverse
from evenmatch.cost.rules import Rules, numbers, relative
from evenmatch.errors import ConfigError, NotSupported
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Expansion, Queue, Rule
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, Matcher, Memory, NoJobs
from evenmatch.policies.timers import Timers
from evenmatch.solvers.index import SortedIndex


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """Match two players as soon as their gap is within the limit of both.

    A ticket accepts a gap up to `limit`, which widens with its wait by `rate` points a second or
    in `steps`, up to `limit_max`. Both must accept. Whenever several pairs may play, the longest
    waiting ticket chooses first. The policy acts on arrivals and at the exact instants at which a
    limit reaches a gap, and never looks over the whole pool.

    Args:
        attribute: The number that is compared.
        limit: Largest gap accepted at once; None takes the queue's first rule on `attribute`.
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
            ConfigError: Both the parameters and the queue give a limit, or neither does.
        """
        given = next((r for r in queue.rules if r.attribute == self.attribute), None)
        if self.limit is None:
            self._check_no_shorthand()
            if given is None:
                raise ConfigError(
                    f"policy window needs a limit on {self.attribute}: write "
                    f"window:limit=150 or give queue {queue.name} a rule on {self.attribute}"
                )
            return ()
        if given is not None:
            raise ConfigError(
                f"queue {queue.name} has a rule on {self.attribute} and policy window a limit; "
                f"give only one of the two"
            )
        return (self._rule(),)

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue of duels."""
        del seed, memory
        if self.accept != "both":
            raise NotSupported(f"window: accept must be both in this version, got {self.accept}")
        if self.pick not in ("oldest", "nearest"):
            raise ConfigError(f"window: pick must be oldest or nearest, got {self.pick}")
        if not queue.format.is_duel:
            raise ConfigError(
                f"policy window pairs two players: queue {queue.name} needs teams = 2 and "
                f"players = 1; use greedy for larger formats"
            )
        queue = msgspec.structs.replace(queue, rules=queue.rules + self.rules(queue))
        rule = next(r for r in queue.rules if r.attribute == self.attribute)
        return WindowMatcher(queue, rule, nearest=self.pick == "nearest")

    def _check_no_shorthand(self) -> None:
        if self.rate or self.steps or self.limit_max is not None:
            raise ConfigError("window: rate, steps and limit_max need limit, e.g. limit=150")

    def _rule(self) -> Rule:
        assert self.limit is not None
        if self.unit not in ("difference", "relative"):
            raise ConfigError(f"window: unit must be difference or relative, got {self.unit}")
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
    """Refuse limits that fall with the wait or are no numbers."""
    for name, value in (("limit", limit), ("rate", rate), ("limit_max", limit_max or 0.0)):
        if not (math.isfinite(value) and value >= 0.0):
            raise ConfigError(f"window: {name} must be a number >= 0, got {value}")
    if limit_max is not None and limit_max < limit:
        raise ConfigError(f"window: limit_max must be >= limit {limit}, got {limit_max}")
    before = (0.0, limit)
    for step in steps:
        if not (step[0] > before[0] and step[1] >= before[1] and math.isfinite(step[1])):
            raise ConfigError(
                f"window: steps must grow in wait and limit, got {step[0]:g}-{step[1]:g} "
                f"after {before[0]:g}-{before[1]:g}"
            )
        before = step


class _Waiting(msgspec.Struct, gc=False, eq=False):
    """A ticket in the index."""

    ticket: Ticket
    value: float


class WindowMatcher(NoJobs):
    """The index of one queue's waiting tickets, and their timers."""

    def __init__(self, queue: Queue, rule: Rule, *, nearest: bool = False) -> None:
        self._rules = Rules(queue)
        self._rule = rule
        self._when = inverse(rule.limit, rule.expand)
        self._is_only_rule = len(queue.rules) == 1 and not queue.format.sides
        self._nearest = nearest
        self._index: SortedIndex[_Waiting] = SortedIndex()
        self._by_id: dict[str, _Waiting] = {}
        self._by_sequence: dict[int, _Waiting] = {}
        self._timers = Timers()
        self._youngest = 0

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in and set its timer."""
        del now
        if isinstance(entry, OpenMatch):
            return
        waiting = _Waiting(entry, numbers(entry, self._rule.attribute)[0])
        self._index.insert(waiting.value, waiting)
        self._by_id[entry.id] = waiting
        self._by_sequence[entry.sequence] = waiting
        self._set_timer(waiting)
        if entry.sequence < self._youngest:
            self._reset_younger(waiting)
        self._youngest = max(self._youngest, entry.sequence)

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket."""
        del now
        waiting = self._by_id.get(entry_id)
        if waiting is not None:
            self._remove(waiting)

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Match what falls due, longest waiting first."""
        due = [self._by_sequence[s] for s in self._timers.pop_due(now, fired)]
        if not due:
            return Decision(wake_at=self._timers.next())
        pairs = self._choose(self._partners(due, now, fired))
        for first, second in pairs:
            self._remove(first)
            self._remove(second)
        groupings = tuple(Grouping((a.ticket.id, b.ticket.id)) for a, b in pairs)
        return Decision(groupings, self._timers.next())

    def _set_timer(self, waiting: _Waiting) -> None:
        """Find the older ticket that this one may play soonest."""
        best = math.inf
        partner: tuple[int, ...] = ()
        for other, at, earliest in self._older(waiting):
            if earliest >= best:
                break
            if at < best:
                best, partner = at, (other.ticket.sequence,)
        self._timers.put(waiting.ticket.sequence, best, partner, waiting.ticket.enqueued_at)

    def _older(self, waiting: _Waiting) -> Iterator[tuple[_Waiting, float, float]]:
        """Yield older tickets, nearest first, with the instant of the pair and a bound on it.

        The bound is when this ticket itself accepts the gap; it never falls along the walk.
        """
        ticket, age_key = waiting.ticket, waiting.ticket.age_key
        relative_unit = self._rule.unit == "relative"
        for gap, other in self._index.outward(waiting.value, waiting):
            own_gap = relative(gap, (waiting.value,)) if relative_unit else gap
            earliest = ticket.enqueued_at + self._when(own_gap)
            if earliest == math.inf:
                return
            if other.ticket.age_key > age_key:
                continue
            if self._is_only_rule and not relative_unit:
                yield other, earliest, earliest
            else:
                yield other, self._rules.pair_ready_at(other.ticket, ticket), earliest

    def _partners(
        self, due: list[_Waiting], now: float, fired: bool
    ) -> dict[int, list[tuple[float, _Waiting]]]:
        """Return, by sequence, the partners that each ticket may play now, with their gaps."""
        partners: dict[int, list[tuple[float, _Waiting]]] = {}
        for waiting in due:
            born = waiting.ticket.enqueued_at
            for other, at, earliest in self._older(waiting):
                if earliest > now:
                    break
                if at < now or (at == now and (fired or at == born)):
                    gap = abs(other.value - waiting.value)
                    partners.setdefault(waiting.ticket.sequence, []).append((gap, other))
                    partners.setdefault(other.ticket.sequence, []).append((gap, waiting))
        return partners

    def _choose(
        self, partners: dict[int, list[tuple[float, _Waiting]]]
    ) -> list[tuple[_Waiting, _Waiting]]:
        """Let the tickets choose, longest waiting first."""
        pairs = []
        taken: set[int] = set()
        for chooser in sorted(
            (self._by_sequence[s] for s in partners), key=lambda w: w.ticket.age_key
        ):
            sequence = chooser.ticket.sequence
            if sequence in taken:
                continue
            free = [p for p in partners[sequence] if p[1].ticket.sequence not in taken]
            if free:
                other = min(free, key=self._preference)[1]
                taken.update((sequence, other.ticket.sequence))
                pairs.append((chooser, other))
        return pairs

    def _preference(self, partner: tuple[float, _Waiting]) -> tuple[float, tuple[float, int]]:
        gap, other = partner
        return (gap if self._nearest else 0.0, other.ticket.age_key)

    def _remove(self, waiting: _Waiting) -> None:
        sequence = waiting.ticket.sequence
        self._index.remove(waiting.value, waiting)
        del self._by_id[waiting.ticket.id]
        del self._by_sequence[sequence]
        for other in self._timers.drop(sequence):
            self._set_timer(self._by_sequence[other])

    def _reset_younger(self, waiting: _Waiting) -> None:
        """Set the timers of all younger tickets again: an older one has returned."""
        for other in self._by_sequence.values():
            if other.ticket.age_key > waiting.ticket.age_key:
                self._set_timer(other)
