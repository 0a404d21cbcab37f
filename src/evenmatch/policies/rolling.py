"""`rolling`: a division of the whole pool, improved all the time; its ripe matches start."""

from __future__ import annotations

import math

import msgspec

from evenmatch.cost.expansion import round_up
from evenmatch.cost.objective import Objective, weights_of
from evenmatch.cost.valid_values import SECONDS, Bounds
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, Matcher, Memory, NoJobs
from evenmatch.policies.parts.batch_checks import check_batch
from evenmatch.policies.parts.rated import check_number

EFFORTS = Bounds(1, 1_000_000, "between 1 and 1,000,000 evaluations")
SPREADS = Bounds(0.1, 100.0, "between 0.1 and 100")
SKIPS = Bounds(1, 1_000_000_000, "between 1 and 1e9")
DOUBT = 0.6
"""What counts a loss in a tentative match that would not start yet, against one that would."""
URGENT = 1.0
"""Quality for which a search seats a player whose patience must not be tried any longer."""
AT_ONCE = 1.0
"""Seconds before now from which on an urgent match could have started."""
BEAT = 4.0
"""Seconds between looks at a pool whose rules widen."""
OFFERS_MAX = 16
"""Newcomers of one instant of whom is asked what they add: each is held against all matches, and of
a thousand who come in one request, or back after a restart, the first say enough."""


class Rolling(msgspec.Struct, frozen=True, kw_only=True):
    """Keep a tentative division of all who wait, improve it as they come and go, start the ripe.

    Each arrival and leave is followed by a short search around it (`solvers.batch.trades`). A match
    starts when the expected gain of waiting has fallen below its cost, which is the queue's
    `wait_price`: a match of usual quality after the usual wait W, a better one sooner, a worse one
    later. W, and what is usual, are learnt from the arrivals; see `parts.pace`. Until a match
    starts its players may still be traded for better ones.

    When to use:
        Team matches with parties, judged by skill, ping and premades, with players who
        come all the time. It is the default for such queues. At 20 players a minute and equal mean
        waits its worst tenth is better than that of `rounds`, and its longest waits are longer; at
        200 a minute its mean is lower than theirs (`lab.stream_study` measures both). `rounds` can
        tell everybody when the wait will end.

    Args:
        effort: Evaluations of each search, a few microseconds each at most.
        spread: Standard deviations of quality that a wait of W makes up for: less gives those who
            are hard to match more time, more lets everybody wait for as long.
        wait_max: Who has waited so long gets the best that can be had, at once, s.
        skips: And so does who saw so many matches start with somebody who had come later.

    Source:
        Ronimo, matchmaking in Awesomenauts ("Galactron"), the remarks on Heroes of the Storm.

    Complexity:
        A decision after a change: O(n^2) pairs of n players, 20 ns each, and `effort` evaluations.
    """

    held_back = "rolling waits on purpose: a newcomer may make the matches of all who wait better"
    serves_overdue = True
    fills = False

    effort: int = 5_000
    spread: float = 1.0
    wait_max: float = 600.0
    skips: int = 1_000

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue whose tickets batches can hold."""
        check_batch("rolling", queue)
        check_number("rolling: effort", self.effort, EFFORTS)
        check_number("rolling: spread", self.spread, SPREADS)
        check_number("rolling: wait_max", self.wait_max, SECONDS)
        check_number("rolling: skips", self.skips, SKIPS)
        return RollingMatcher(queue, self, seed, memory or {})


class RollingMatcher(NoJobs):
    """The waiting tickets, their tentative matches, and from when on each may start.

    It searches after a change (`_fresh`, `_is_stale`) and at instants of its own: when somebody has
    waited for `wait_max`, and while rules widen. Between searches only time passes, so each match
    has its instant to start.
    """

    def __init__(self, queue: Queue, chosen: Rolling, seed: int, memory: Memory) -> None:
        # Loaded here: a policy can be chosen and explained without compiling kernels.
        from evenmatch.policies.parts.batching import Roster
        from evenmatch.policies.parts.pace import Pace
        from evenmatch.policies.parts.tentative import Division

        self._seed = f"{seed}/{queue.name}"
        self._chosen = chosen
        self._k, self._k_min = queue.format.k, queue.format.k_min
        self._objective = Objective(queue)
        self._roster = Roster(queue)
        self._wait_max = min(chosen.wait_max, queue.wait_max or math.inf)
        price = queue.price * self._k / (math.fsum(weights_of(queue)) or 1.0)
        self._pace = Pace(price, chosen.spread, self._wait_max, memory.get("pace"))
        matches = [[list(team) for team in match] for match in memory.get("matches", ())]
        self._division = Division(matches, list(memory.get("bench", ())))
        self._starts: list[list[float]] = [
            [math.inf if at is None else at, quality] for at, quality in memory.get("starts", ())
        ]
        # In the order of entering; a dict, so that leaving costs the same among many.
        self._fresh: dict[int, None] = dict.fromkeys(memory.get("fresh", ()))
        self._is_stale: bool = memory.get("is_stale", False)
        self._searched_at: float | None = memory.get("searched_at")
        self._changed_at: float = memory.get("changed_at", 0.0)
        self._skipped: dict[int, int] = dict(memory.get("skipped", ()))
        self._returning = dict.fromkeys((*self._division.sequences(), *self._fresh))
        self._widens = any(rule.expand is not None for rule in queue.rules)

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in; the next decision looks around it."""
        del now
        if isinstance(entry, OpenMatch):
            return
        self._roster.enter(entry)
        if entry.sequence in self._returning:
            # It waited here before a restart, and the memory says where.
            del self._returning[entry.sequence]
        else:
            self._fresh[entry.sequence] = None

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket; its tentative match falls apart."""
        del now
        sequence = self._roster.leave(entry_id)
        if sequence is not None:
            self._forget(sequence)

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Search after a change, and start the matches that are ripe."""
        for sequence in self._returning:
            self._forget(sequence)
        self._returning.clear()
        if self._fresh or self._is_stale:
            self._changed_at = now
            self._search(now)
        elif _is_due(self._look_at(), now, fired):
            self._search(now)
        groups: list[Grouping] = []
        while started := self._start(now, fired):
            groups += started
            if not self._has_new_urgent():
                break
            self._search(now)
        return Decision(tuple(groups), min(self._look_at(), self._start_at()))

    def starts(self) -> dict[str, float]:
        """Return when each tentative match is to start, by the tickets in it.

        After a restart a match may name who has ended since: it falls apart in the next decision.
        """
        from evenmatch.policies.parts.tentative import members

        found = {}
        for match, (at, _) in zip(self._division.matches, self._starts, strict=True):
            tickets = [self._roster.tickets.get(sequence) for sequence in members(match)]
            if at < math.inf and None not in tickets:
                found.update({ticket.id: at for ticket in tickets if ticket is not None})
        return found

    def memory(self) -> Memory:
        """Return the division, what was learnt, and how often each ticket was passed over."""
        return {
            "matches": [[list(team) for team in match] for match in self._division.matches],
            "bench": list(self._division.bench),
            "starts": [[None if at == math.inf else at, quality] for at, quality in self._starts],
            "fresh": list(self._fresh),
            "is_stale": self._is_stale,
            "searched_at": self._searched_at,
            "changed_at": self._changed_at,
            "skipped": [[sequence, count] for sequence, count in self._skipped.items()],
            "pace": self._pace.memory(),
        }

    def _forget(self, sequence: int) -> None:
        self._skipped.pop(sequence, None)
        if sequence in self._fresh:
            del self._fresh[sequence]
            return
        at = self._division.leave(sequence)
        if at is not None:
            del self._starts[at]
        self._is_stale = True

    def _look_at(self) -> float:
        """Return the next instant of a search without any change."""
        at = math.inf
        if self._searched_at is None:
            return at
        for ticket in self._roster.tickets.values():
            bound = ticket.enqueued_at + self._wait_max
            if self._searched_at < bound < at:
                at = bound
        if self._widens and self._roster.players >= self._k_min:
            # The longer nothing has changed, the less a look finds.
            beat = max(BEAT, (self._searched_at - self._changed_at) / 4.0)
            at = min(at, self._searched_at + round_up(beat))
        return at

    def _start_at(self) -> float:
        return min((at for at, _ in self._starts), default=math.inf)

    def _is_urgent(self, ticket: Ticket, now: float) -> bool:
        has_waited = now >= ticket.enqueued_at + self._wait_max
        return has_waited or self._skipped.get(ticket.sequence, 0) >= self._chosen.skips

    def _has_new_urgent(self) -> bool:
        return self._chosen.skips in self._skipped.values()

    def _search(self, now: float) -> None:
        """Improve the division, and set from when on each of its matches may start."""
        from evenmatch.policies.parts.tentative import Search, members, seed_of

        pace, tickets = self._pace, self._roster.tickets
        worths, urgent = {}, []
        # By age: after a restart tickets may enter in another order.
        for ticket in self._roster.by_age():
            sequence = ticket.sequence
            worths[sequence] = (pace.relief(now - ticket.enqueued_at) - pace.high) / self._k
            if self._is_urgent(ticket, now):
                worths[sequence] += URGENT
                urgent.append(sequence)
        self._division.bench += self._fresh
        search = Search(self._roster, self._division, worths, now, DOUBT)
        # Where seats may stay free, newcomers take them at once: first see what they are worth.
        if not search.has_room:
            search.fill()
        for place, sequence in enumerate(self._fresh):
            is_asked = place < OFFERS_MAX
            offered = search.offers(sequence, pace.deviation / 2.0) if is_asked else (0.0, 0)
            pace.arrived(now, *offered)
        if search.has_room:
            search.fill()
        newest = max(tickets, default=0)
        seed = seed_of(self._seed, newest, len(tickets))
        search.trade([*self._fresh, *urgent], self._chosen.effort, seed)
        self._division = search.division()
        matches, qualities = self._division.matches, search.qualities()
        pace.expect([quality for quality in qualities if quality > -math.inf])
        self._starts = []
        for match, quality in zip(matches, qualities, strict=True):
            found = [tickets[sequence] for sequence in members(match)]
            at = math.inf
            if quality > -math.inf:
                is_urgent = any(self._is_urgent(ticket, now) for ticket in found)
                at = now - AT_ONCE if is_urgent else pace.ready_at(found, quality)
            self._starts.append([at, max(quality, 0.0)])
        self._fresh.clear()
        self._is_stale = False
        self._searched_at = now
        for sequence, count in self._skipped.items():
            if count == self._chosen.skips:
                self._skipped[sequence] += 1

    def _start(self, now: float, fired: bool) -> list[Grouping]:
        """Start the matches that are ripe; the rules have the last word."""
        from evenmatch.policies.parts.tentative import members

        groups = []
        for match, start in list(zip(self._division.matches, self._starts, strict=True)):
            if not _is_due(start[0], now, fired):
                continue
            tickets = [self._roster.tickets[sequence] for sequence in members(match)]
            tickets.sort(key=lambda ticket: ticket.age_key)
            seating = self._objective.seat(tickets, now=now)
            if seating is None or seating.ready_at > now:
                start[0] = math.inf if seating is None else seating.ready_at
                continue
            groups.append(Grouping(tuple([ticket.id for ticket in tickets])))
            self._pace.played(start[1], now)
            at = self._division.matches.index(match)
            del self._division.matches[at], self._starts[at]
            for ticket in tickets:
                self._roster.leave(ticket.id)
                self._skipped.pop(ticket.sequence, None)
            youngest = tickets[-1].age_key
            for other in self._roster.tickets.values():
                if other.age_key < youngest:
                    self._skipped[other.sequence] = self._skipped.get(other.sequence, 0) + 1
        return groups


def _is_due(at: float, now: float, fired: bool) -> bool:
    return at < now or (at == now and fired)
