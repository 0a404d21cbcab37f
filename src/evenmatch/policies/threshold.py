"""`threshold`: a match starts as soon as it is good enough; what is enough falls with the wait."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence

import msgspec

from evenmatch.cost.expansion import round_up
from evenmatch.cost.objective import Objective
from evenmatch.cost.valid_values import SECONDS, Bounds
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket, attribute_of
from evenmatch.policies.base import Decision, Grouping, Matcher, Memory, NoJobs
from evenmatch.policies.parts.batch_checks import check_batch
from evenmatch.policies.parts.rated import check_number

QUALITIES = Bounds(0.0, 1.0, "between 0 and 1")
FALLS = Bounds(0.0, 1.0, "between 0 and 1 a second")
FACTORS = Bounds(1.0, 100.0, "between 1 and 100")
EFFORTS = Bounds(1, 1_000_000, "between 1 and 1,000,000 evaluations")
SKIPS = Bounds(1, 1_000_000_000, "between 1 and 1e9")
LAST = 200
"""Values among which a ticket's place by `by` is found."""
TOP = 0.9
"""From this place on the best players are at the top."""
AT_ONCE = 1.0
"""Seconds before its newest ticket came from which on an urgent match could have started."""
BEAT = 4.0
"""Seconds between looks at a pool whose rules widen."""


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """Start a match as soon as its quality is enough for its players.

    A newcomer asks for `quality`, and for `relax` less with every second of his wait; a match must
    be as good as its players ask on average. Each ticket keeps the best match that it knows: a
    newcomer looks for one with everybody who waits, and whoever loses a partner looks again. When
    a match will be good enough is known to the instant. After `wait_max` seconds, or after `skips`
    matches with somebody who came later, a ticket takes the best match that it knows at once.

    When to use:
        Where few parameters shall say what is good enough, and every kind of player waits as long
        as that takes: short waits where many play, long ones where few do. `rolling` needs no
        numbers to be found, and weighs who else could use a player.

    Args:
        quality: What a newcomer asks for, from 0 to 1.
        relax: By how much that falls in a second.
        by: A number such as `rating`: the tenth of the players with the highest values asks for
            as much as all others and falls more slowly by `patience`, so that they wait for equals.
        patience: How many times more slowly.
        wait_max: Seconds after which a ticket is served first, with the best that can be had.
        skips: Matches with somebody who came later after which it is, too.
        effort: Evaluations of each search.

    Source:
        Ronimo, matchmaking in Awesomenauts ("Galactron"), on Heroes of the Storm.

    Complexity:
        O(n^2) pairs of n players for each decision after a change, and `effort` evaluations for
        each ticket that looks for a match.
    """

    held_back = "threshold waits until a match is good enough for how long its players wait"
    serves_overdue = True
    fills = False

    quality: float = 0.85
    relax: float = 0.001
    by: str = ""
    patience: float = 3.0
    wait_max: float = 300.0
    skips: int = 1_000
    effort: int = 300

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue whose tickets batches can hold."""
        check_batch("threshold", queue)
        for name, bounds in (
            ("quality", QUALITIES),
            ("relax", FALLS),
            ("patience", FACTORS),
            ("wait_max", SECONDS),
            ("skips", SKIPS),
            ("effort", EFFORTS),
        ):
            check_number(f"threshold: {name}", getattr(self, name), bounds)
        return ThresholdMatcher(queue, self, seed, memory or {})


class ThresholdMatcher(NoJobs):
    """The waiting tickets, and the best match that each of them knows."""

    def __init__(self, queue: Queue, chosen: Threshold, seed: int, memory: Memory) -> None:
        # Its kernels are loaded now, so that no decision waits for them.
        import evenmatch.policies.parts.tentative  # noqa: F401
        from evenmatch.policies.parts.batching import Roster

        self._seed = f"{seed}/{queue.name}"
        self._chosen = chosen
        self._k_min = queue.format.k_min
        self._objective = Objective(queue)
        self._roster = Roster(queue)
        self._wait_max = min(chosen.wait_max, queue.wait_max or math.inf)
        # Of each ticket: the partners of its best match, with it, the quality, and a rule's word.
        self._best: dict[int, tuple[list[int], float, float | None]] = {
            sequence: (list(partners), quality, after)
            for sequence, partners, quality, after in memory.get("best", ())
        }
        # Of each ticket: those whose best match it is in, or was.
        self._wanted_by: dict[int, dict[int, None]] = {}
        for sequence, (partners, _, _) in self._best.items():
            self._note(sequence, partners)
        self._looking: dict[int, None] = dict.fromkeys(memory.get("looking", ()))
        self._known = dict.fromkeys(memory.get("known", ()))
        self._values: deque[float] = deque(memory.get("values", ()))
        self._ordered = sorted(self._values)
        self._falls: dict[int, float] = dict(memory.get("falls", ()))
        self._skipped: dict[int, int] = dict(memory.get("skipped", ()))
        self._searched_at: float | None = memory.get("searched_at")
        self._changed_at: float = memory.get("changed_at", 0.0)
        self._widens = any(rule.expand is not None for rule in queue.rules)

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in; the next decision looks for a match with it."""
        del now
        if isinstance(entry, OpenMatch):
            return
        self._roster.enter(entry)
        if entry.sequence in self._known:
            # It waited here before a restart, and the memory says with what prospects.
            del self._known[entry.sequence]
            return
        self._looking[entry.sequence] = None
        self._falls[entry.sequence] = self._fall_of(entry)

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket; those who counted on it look again."""
        del now
        sequence = self._roster.leave(entry_id)
        if sequence is not None:
            self._forget(sequence)

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Look for matches where something changed, and start those that are good enough."""
        for sequence in list(self._known):
            self._forget(sequence)
        self._known.clear()
        if self._looking:
            self._changed_at = now
            self._look(now)
        elif _is_due(self._look_at(), now, fired):
            self._looking = dict.fromkeys(sorted(self._roster.tickets))
            self._look(now)
        groups: list[Grouping] = []
        while (group := self._start(now, fired)) is not None:
            groups.append(group)
            self._look(now)
        return Decision(tuple(groups), min(self._look_at(), self._next_start()[0]))

    def starts(self) -> dict[str, float]:
        """Return when the first match is good enough that each ticket is in.

        After a restart a match may name who has ended since: the next decision forgets it.
        """
        found: dict[str, float] = {}
        tickets = self._roster.tickets
        for sequence, (partners, _, _) in self._best.items():
            if sequence not in tickets or any(each not in tickets for each in partners):
                continue
            at = self._ready_at(sequence)
            for each in partners:
                name = tickets[each].id
                found[name] = min(at, found.get(name, math.inf))
        return found

    def memory(self) -> Memory:
        """Return the matches that tickets know, and who still looks for one."""
        return {
            "best": [[s, list(p), q, after] for s, (p, q, after) in self._best.items()],
            "looking": list(self._looking),
            "known": [*sorted(self._roster.tickets), *self._known],
            "values": list(self._values),
            "falls": [[sequence, fall] for sequence, fall in self._falls.items()],
            "skipped": [[sequence, count] for sequence, count in self._skipped.items()],
            "searched_at": self._searched_at,
            "changed_at": self._changed_at,
        }

    def _fall_of(self, ticket: Ticket) -> float:
        """Return by how much a ticket's requirement falls in a second."""
        if not self._chosen.by:
            return self._chosen.relax
        found = [attribute_of(ticket, player, self._chosen.by) for player in ticket.players]
        numbers = [float(value) for value in found if isinstance(value, float | int)]
        if not numbers:
            return self._chosen.relax
        own = math.fsum(numbers) / len(numbers)
        below = bisect_left(self._ordered, own)
        is_top = bool(self._values) and below >= TOP * len(self._values)
        if len(self._values) == LAST:
            del self._ordered[bisect_left(self._ordered, self._values.popleft())]
        self._values.append(own)
        insort(self._ordered, own)
        return self._chosen.relax / (self._chosen.patience if is_top else 1.0)

    def _forget(self, sequence: int) -> None:
        self._best.pop(sequence, None)
        self._looking.pop(sequence, None)
        self._falls.pop(sequence, None)
        self._skipped.pop(sequence, None)
        for other in self._wanted_by.pop(sequence, ()):
            known = self._best.get(other)
            if known is not None and sequence in known[0]:
                del self._best[other]
                self._looking[other] = None

    def _note(self, sequence: int, partners: Sequence[int]) -> None:
        """Note whose best match falls apart when one of its partners leaves."""
        for each in partners:
            self._wanted_by.setdefault(each, {})[sequence] = None

    def _look_at(self) -> float:
        """Return the next instant of a look without any change.

        Rules widen, and who has no match in sight looks again at the end of his patience.
        """
        if self._searched_at is None or self._roster.players < self._k_min:
            return math.inf
        at = math.inf
        if self._widens:
            beat = max(BEAT, (self._searched_at - self._changed_at) / 4.0)
            at = self._searched_at + round_up(beat)
        for sequence, ticket in self._roster.tickets.items():
            bound = ticket.enqueued_at + self._wait_max
            if self._searched_at < bound < at and sequence not in self._best:
                at = bound
        return at

    def _look(self, now: float) -> None:
        """Find the best match of each ticket that has none, among all who wait."""
        from evenmatch.policies.parts.tentative import Division, Search, members, seed_of

        looking = sorted(self._looking)
        self._looking.clear()
        if not looking:
            return
        self._searched_at = now
        if self._roster.players < self._k_min:
            return
        worths = dict.fromkeys(self._roster.tickets, 0.0)
        everybody = [ticket.sequence for ticket in self._roster.by_age()]
        search = Search(self._roster, Division([], everybody), worths, now, 1.0)
        for sequence in looking:
            search.begin_with(sequence)
            if not search.count:
                continue
            seed = seed_of(self._seed, sequence, len(everybody))
            search.trade([], self._chosen.effort, seed, pinned=sequence)
            quality = search.qualities()[0]
            if quality > -math.inf:
                partners = members(search.division().matches[0])
                for each in partners:
                    known = self._best.get(each)
                    if known is None or known[1] < quality:
                        self._best[each] = (partners, quality, None)
                        self._note(each, partners)

    def _ready_at(self, sequence: int) -> float:
        """Return from when on a ticket's best match may start; maybe before its players came."""
        partners, quality, after = self._best[sequence]
        tickets = [self._roster.tickets[each] for each in partners]
        newest = max(ticket.enqueued_at for ticket in tickets)
        own = self._roster.tickets[sequence]
        players = sum(ticket.size for ticket in tickets)
        falls = [self._falls[t.sequence] * t.size / players for t in tickets]
        fallen = math.fsum(
            fall * (newest - t.enqueued_at) for fall, t in zip(falls, tickets, strict=True)
        )
        missing = self._chosen.quality - quality - fallen
        total = math.fsum(falls)
        at = own.enqueued_at + self._wait_max
        if self._skipped.get(sequence, 0) >= self._chosen.skips or (missing <= 0.0 == total):
            at = min(at, newest - AT_ONCE)
        elif total > 0.0:
            at = min(at, newest + round_up(missing / total))
        return at if after is None else max(at, after)

    def _next_start(self) -> tuple[float, int]:
        """Return the first instant at which a match may start, and whose best match it is."""
        found = [(self._ready_at(s), self._roster.tickets[s].age_key, s) for s in self._best]
        at, _, sequence = min(found, default=(math.inf, (0.0, 0), 0))
        return at, sequence

    def _start(self, now: float, fired: bool) -> Grouping | None:
        """Start the match that has been good enough for longest; the rules have the last word."""
        while True:
            at, sequence = self._next_start()
            if not _is_due(at, now, fired):
                return None
            partners, quality, _ = self._best[sequence]
            tickets = sorted(
                (self._roster.tickets[each] for each in partners), key=lambda t: t.age_key
            )
            seating = self._objective.seat(tickets, now=now)
            if seating is not None and seating.ready_at <= now:
                break
            if seating is None or seating.ready_at == math.inf:
                # It looks again when somebody comes, or at the end of its patience.
                del self._best[sequence]
            else:
                self._best[sequence] = (partners, quality, seating.ready_at)
        for ticket in tickets:
            self._roster.leave(ticket.id)
        for ticket in tickets:
            self._forget(ticket.sequence)
        for ticket in tickets:
            # Those who counted on each other do not look again: they play.
            self._looking.pop(ticket.sequence, None)
        youngest = tickets[-1].age_key
        for other in self._roster.tickets.values():
            if other.age_key < youngest:
                self._skipped[other.sequence] = self._skipped.get(other.sequence, 0) + 1
        return Grouping(tuple([ticket.id for ticket in tickets]))


def _is_due(at: float, now: float, fired: bool) -> bool:
    return at < now or (at == now and fired)
