"""The matcher of `greedy`: the instant from which each ticket completes a match with older ones."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import islice

from evenmatch.criteria.columns.sets import SetTable
from evenmatch.criteria.divisions import MASKED_MAX
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.seat_completion import SeatCompletion, seats_of
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, NoJobs
from evenmatch.policies.shared.group_search import (
    Effort,
    Group,
    GroupCandidates,
    GroupSearch,
    InstantLimit,
    Search,
    age,
)
from evenmatch.policies.shared.soonest_group import CONSIDERED_MAX, SoonestGroup
from evenmatch.policies.shared.timers import DueTimer, Timers
from evenmatch.policies.shared.waiting_table import CELLS_A_STEP, WaitingTable
from evenmatch.policies.shared.work_slices import WorkSlices

SEATINGS_MAX = 64
"""Groups judged in one search for a set that rules allow."""
JUDGED, JUDGED_BY_TEAM = 15, 3
"""Evaluations for each player of a group that is judged; for each two where its teams decide."""
STEP_SHARE = 4
"""One step that cannot be interrupted may take this part of a call's evaluations."""
LEAVERS_SHARE = 4
"""A search that gave up is made again when so large a part of whom it looked at have left."""

Key = tuple[float, int]
"""A ticket's age: when it was enqueued, and its sequence."""


class GreedyMatcher(NoJobs):
    """The waiting tickets in order of age, and the instant from which each completes a match.

    Args:
        queue: With all its rules.
        evaluations_max: Of one call.
        closes: Whether sides may be closed and opened while tickets wait.
    """

    def __init__(self, queue: Queue, evaluations_max: int, *, closes: bool = False) -> None:
        self._queue = queue
        self._objective = Objective(queue)
        form, rules = queue.format, self._objective.rules
        self._k = form.k
        self._closed = frozenset(form.sides).difference(form.strict_sides)
        self._seats = seats_of(queue, self._closed)
        self._alike = TicketKinds(queue) if closes else None
        self._has_rules = bool(queue.rules)
        # Whether seats may be told wrongly, so that a group needs a division before it will do.
        self._is_divided = bool(form.roles) and not (
            len(form.players) == 2 and form.k <= MASKED_MAX
        )
        self._is_judged = self._has_rules or self._is_divided
        most = evaluations_max - evaluations_max // STEP_SHARE
        # So a search that has a call to itself ends with it.
        self._turns = WorkSlices(most, most - most // 4, SEATINGS_MAX)
        judging = (JUDGED_BY_TEAM * form.k if rules.depend_on_teams else JUDGED) * form.k
        judging, joint = min(judging, evaluations_max // STEP_SHARE), SetTable(rules)
        self._search = search = GroupSearch(rules, joint, self.judge, judging)
        self._table = WaitingTable(joint)
        cells = evaluations_max // (2 * STEP_SHARE) * CELLS_A_STEP
        self._soonest = SoonestGroup(search, self._table, self._seats, cells_max=cells)
        self._pool: dict[int, Ticket] = {}
        self._kinds: dict[int, int] = {}
        # Without rules: the tickets of each kind, or all where those of a kind are not alike.
        self._lines: dict[int, list[Key]] = {}
        self._has_lines = True
        self._sequences: dict[str, int] = {}
        self._players = 0
        self._timers = Timers()
        # Who is due, kept from turn to turn so that each goes on where it was.
        self._due: list[DueTimer] = []
        self._owners: dict[int, None] = {}
        # By ticket the group of its timer, () if none; a timer without it, or whose group is no
        # longer whole, may be too early, never too late. One who comes back changed keeps the
        # sequence, so groups hold the tickets themselves.
        self._groups: dict[int, tuple[Ticket, ...]] = {}
        # Groups that are first in order, not only soonest: by ticket the limit they were found by,
        # None if any limit finds them.
        self._first: dict[int, tuple[InstantLimit | None, int]] = {}
        # Tickets that came back: their own timers stand for groups with younger ones, too.
        self._returned: dict[int, None] = {}
        self._returns = self._leavers = 0
        # Tickets that complete no match now, whose timer is to be found when there is time for it.
        self._unsought: dict[int, None] = {}
        # When searches that gave up are made again, as a number of leavers.
        self._doubts: list[tuple[int, int]] = []
        self._doubtful: dict[int, int] = {}
        self._youngest: Key = (-math.inf, -1)

    @property
    def evaluations(self) -> int:
        """Return what was evaluated so far."""
        return self._turns.evaluations

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in; its timer is found when the matcher decides."""
        del now
        if isinstance(entry, OpenMatch):
            return
        sequence = entry.sequence
        self._pool[sequence] = entry
        self._sequences[entry.id] = sequence
        self._players += entry.size
        self._put_in_line(entry)
        if entry.age_key < self._youngest:
            self._returned[sequence] = None
            self._returns += 1
            self._turns.restart()
        self._youngest = max(self._youngest, entry.age_key)
        self._timers.put(sequence, entry.enqueued_at, (), entry.enqueued_at)
        self._turns.news()

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket."""
        del now
        sequence = self._sequences.get(entry_id)
        if sequence is not None:
            self._remove(sequence)

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Match what falls due, longest waiting first, as far as this turn's evaluations go."""
        resume_at = self._turns.begin(now, fired, len(self._pool))
        if resume_at is not None:
            return Decision(wake_at=resume_at)
        groups: list[Grouping] = []
        until = math.nextafter(now, math.inf) if fired else now
        is_done = self._work(now, fired, groups)
        # A search that had given up may find what is legal already.
        while is_done and (self._has_doubts() or self._timers.next() < until):
            is_done = self._work(now, fired, groups)
        next_at = self._timers.next()
        is_due = bool(self._due) or next_at < until
        resume_at = self._turns.end(is_done, -math.inf if is_due else next_at)
        return Decision(tuple(groups), next_at if is_done else resume_at)

    def accepts(self, tickets: Sequence[Ticket], now: float) -> bool:
        """Return whether a policy takes a legal group."""
        return True

    def judge(self, tickets: Sequence[Ticket], now: float) -> float:
        """Return the instant from which a group that fills all seats is legal; inf if never."""
        rules = self._objective.rules
        if rules.depend_on_teams or self._is_divided:
            at = self._objective.legal_at(tickets)
        else:
            alone = max(self._queue.format.players) == 1
            at = rules.ready_at([(each,) for each in tickets] if alone else (tickets,))
        return at if at < math.inf and self.accepts(tickets, now) else math.inf

    def close(self, sides: frozenset[str]) -> None:
        """Let no ticket insist on these sides from now on, and on all others."""
        self._closed = sides
        self._seats = seats_of(self._queue, sides)
        self._soonest.use(self._seats)
        self._lines.clear()
        self._groups.clear()
        self._first.clear()
        assert self._alike is not None
        self._kinds = self._alike.kinds(self._seats)
        if self._has_rules:
            self._table.set_kinds(self._kinds)
        else:
            for sequence, ticket in self._pool.items():
                kind = self._kinds[sequence] if self._has_lines else 0
                self._lines.setdefault(kind, []).append(ticket.age_key)
            for line in self._lines.values():
                line.sort()
        self._timers.put_all_at_birth(self._pool.values())
        self._turns.spend(len(self._pool))
        self._turns.restart()

    def _play(self, now: float, fired: bool, groups: list[Grouping]) -> bool:
        """Make the matches that are due; return whether none is left for the next turn."""
        while True:
            if not self._take_due(now, fired):
                return False
            if not self._due:
                return True
            if not self._play_first(self._due, now, fired, groups):
                return False

    def _take_due(self, now: float, fired: bool) -> bool:
        """Note all who are due before anybody plays; return whether this turn sufficed."""
        while due := self._timers.pop_due(now, fired, max(self._turns.evaluations_left, 0)):
            self._turns.spend(len(due))
            for owner in due:
                if owner not in self._owners:
                    self._owners[owner] = None
                    heapq.heappush(self._due, DueTimer(owner, owner))
        return self._turns.evaluations_left > 0

    def _play_first(
        self, due: list[DueTimer], now: float, fired: bool, groups: list[Grouping]
    ) -> bool:
        """Deal with the first who is due; return whether this turn sufficed."""
        first, owner = due[0], due[0].owner
        if owner not in self._pool:
            del self._owners[heapq.heappop(due).owner]
            return True
        if not self._is_settled(owner) and not self._look(owner, now, fired):
            return False
        if not self._timers.is_due(owner, now, fired):
            # Somebody has come at an instant that had been fired: it is due when it fires again.
            self._timers.put_back(owner)
            del self._owners[heapq.heappop(due).owner]
            return True
        ticket = self._pool[owner]
        if owner in self._returned and not first.group:
            # Its turn comes with that of the youngest, as if it had never left.
            key = ("youngest", owner)
            is_over, found = self._turns.run(key, lambda e: self._with_youngest(ticket, now, e))
            if is_over:
                group = self._stored(owner) if found is None else found.tickets
                heapq.heapreplace(due, DueTimer(group[-1].sequence, owner, tuple(group)))
            return is_over
        group = [each for each in first.group if self._waits(each)]
        if not group or len(group) < len(first.group):
            is_over, group = self._first_group(ticket, now, fired)
            if not is_over:
                return False
        del self._owners[heapq.heappop(due).owner]
        groups.append(Grouping(tuple([each.id for each in group])))
        for each in group:
            self._remove(each.sequence)
        if owner in self._pool:
            self._owners[owner] = None
            heapq.heappush(due, DueTimer(owner, owner))
        return True

    def _first_group(self, ticket: Ticket, now: float, fired: bool) -> tuple[bool, list[Ticket]]:
        """Return the first group in order that a ticket completes with older ones now."""
        limit = InstantLimit(now, fired or now == ticket.enqueued_at)
        stored = self._stored(ticket.sequence)
        if ticket.sequence in self._returned:
            return True, stored
        found_by, returns = self._first.get(ticket.sequence, (None, -1))
        if returns == self._returns and found_by in (None, limit):
            return True, stored
        key = ("first", ticket.sequence)
        is_over, group = self._turns.run(key, lambda e: self._by(ticket, limit, e))
        return is_over, stored if group is None else group.tickets

    def _by(self, ticket: Ticket, limit: InstantLimit, effort: Effort) -> Search:
        """Return the first group of a ticket and older ones."""
        if self._has_rules:
            place = self._table.place(ticket)
            return (yield from self._soonest.by(ticket, place, limit, effort))
        return (yield from self._by_age(ticket, self._candidates(ticket, False, effort), effort))

    def _with_youngest(self, ticket: Ticket, now: float, effort: Effort) -> Search:
        """Return the first group of one who came back, of those with the oldest youngest."""
        if self._has_rules:
            return (yield from self._soonest.with_youngest(ticket, now, effort))
        others = self._candidates(ticket, True, effort)
        kinds = [self._kinds[other.sequence] for other in others]
        count = self._seats.filled_at(self._seats.start(self._kinds[ticket.sequence]), kinds)
        if not count:
            return None
        youngest = max([ticket, others[count - 1]], key=age)
        older = self._candidates(youngest, False, effort)
        return (yield from self._by_age(youngest, older, effort))

    def _find(self, ticket: Ticket, effort: Effort) -> Search:
        """Return the group that a ticket completes soonest."""
        effort.spend(1)
        if self._players < self._k:
            return None
        is_back = ticket.sequence in self._returned
        if not self._has_rules:
            others = self._candidates(ticket, is_back, effort)
            group = yield from self._by_age(ticket, others, effort)
            self._first[ticket.sequence] = None, self._returns
            return group
        return (yield from self._soonest.soonest(ticket, self._end(ticket), effort))

    def _end(self, ticket: Ticket) -> int:
        """Return the place of the table before which those stand whom a ticket's timer is about."""
        is_back = ticket.sequence in self._returned
        return len(self._table) if is_back else self._table.place(ticket)

    def _look(self, sequence: int, now: float, fired: bool) -> bool:
        """Find the group that a ticket completes now; return whether this turn sufficed.

        Where all have to meet at one place, who completes none now waits for the dear search for
        the soonest one. Elsewhere that search is this one, too.
        """
        if not self._soonest.has_places:
            return self._settle(sequence)
        ticket = self._pool[sequence]
        limit = InstantLimit(now, fired or now == ticket.enqueued_at)
        key = ("look", sequence)
        is_over, group = self._turns.run(key, lambda effort: self._find_now(ticket, limit, effort))
        if not is_over:
            return False
        if group is None:
            self._groups.pop(sequence, None)
            self._timers.put(sequence, math.inf, (), ticket.enqueued_at)
            self._unsought[sequence] = None
        else:
            self._set_timer(ticket, group)
            self._first[sequence] = limit, self._returns
        return True

    def _find_now(self, ticket: Ticket, limit: InstantLimit, effort: Effort) -> Search:
        """Return the first group in order that a ticket completes with older ones by a limit."""
        effort.spend(1)
        if self._players < self._k:
            return None
        effort.total //= 2
        rest, end = effort.total // 2, self._end(ticket)
        effort.total -= rest
        group = yield from self._soonest.by(ticket, end, limit, effort)
        effort.total += rest
        if group is None and effort.gave_up:
            # Over all places at once it mixes people who cannot meet.
            group = yield from self._soonest.placed(ticket, end, limit, effort)
        return group

    def _seek(self) -> bool:
        """Find the timers of those who complete no match now; return whether this turn sufficed."""
        while self._unsought:
            if not self._turns.begin_search():
                return False
            sequence = next(iter(self._unsought))
            if not self._settle(sequence):
                return False
        return True

    def _settle(self, sequence: int) -> bool:
        """Find a ticket's timer anew; return whether this turn sufficed."""
        ticket, turns = self._pool[sequence], self._turns
        self._first.pop(sequence, None)
        is_over, group = turns.run(("find", sequence), lambda effort: self._find(ticket, effort))
        if not is_over:
            return False
        self._unsought.pop(sequence, None)
        at, born = self._set_timer(ticket, group)
        if group is not None and group.is_first:
            self._first[sequence] = None, self._returns
        if turns.gave_up and at > born:
            looked_at = min(len(self._pool), CONSIDERED_MAX)
            again = self._leavers + max(1, looked_at // LEAVERS_SHARE)
            self._doubtful[sequence] = again
            heapq.heappush(self._doubts, (again, sequence))
        return True

    def _set_timer(self, ticket: Ticket, group: Group | None) -> tuple[float, float]:
        """Set a ticket's timer; return its instant, and when all of the group had come."""
        at, born = math.inf, ticket.enqueued_at
        members: tuple[Ticket, ...] = ()
        if group is not None:
            at, born = group.ready_at, max(born, group.tickets[-1].enqueued_at)
            members = tuple(group.tickets)
        self._groups[ticket.sequence] = members
        self._timers.put(ticket.sequence, at, (), born)
        return at, born

    def _find_first_timer(self) -> bool:
        """Find timers anew until the first one is right; return whether this turn sufficed."""
        while (first := self._timers.first()) is not None:
            if self._is_settled(first[1]):
                return True
            if not self._turns.begin_search() or not self._settle(first[1]):
                return False
        return True

    def _work(self, now: float, fired: bool, groups: list[Grouping]) -> bool:
        """Do what there is to do; return whether this turn sufficed."""
        if not (self._doubt() and self._play(now, fired, groups)):
            return False
        return self._seek() and self._find_first_timer()

    def _has_doubts(self) -> bool:
        return bool(self._doubts) and self._doubts[0][0] <= self._leavers

    def _doubt(self) -> bool:
        """Let those search again who gave up; return whether this turn sufficed."""
        while self._has_doubts():
            if self._turns.evaluations_left <= 0:
                return False
            again, sequence = heapq.heappop(self._doubts)
            self._turns.spend(1)
            if self._doubtful.get(sequence) == again:
                del self._doubtful[sequence]
                self._groups.pop(sequence, None)
                self._unsought[sequence] = None
        return True

    def _is_settled(self, sequence: int) -> bool:
        group = self._groups.get(sequence)
        return group is not None and all(self._waits(each) for each in group)

    def _waits(self, ticket: Ticket) -> bool:
        return self._pool.get(ticket.sequence) is ticket

    def _stored(self, sequence: int) -> list[Ticket]:
        return list(self._groups[sequence])

    def _candidates(self, ticket: Ticket, is_back: bool, effort: Effort) -> list[Ticket]:
        """Return the others whom a match without rules may need, by age: the oldest of a kind."""
        found: list[Key] = []
        for kind, line in self._lines.items():
            most = self._k // self._seats.sizes[kind] if self._has_lines else len(line)
            for key in islice(line, most + is_back):
                if key > ticket.age_key and not is_back:
                    break
                if key != ticket.age_key:
                    found.append(key)
        effort.spend(len(self._lines) // 8 + len(found) // 2)
        return [self._pool[sequence] for _, sequence in sorted(found)]

    def _by_age(self, ticket: Ticket, others: list[Ticket], effort: Effort) -> Search:
        """Return the first group, without rules."""
        tickets = [ticket, *others]
        kinds = [self._kinds[each.sequence] for each in tickets]
        if self._is_judged:
            scene = GroupCandidates(tickets, kinds, [], None, InstantLimit(math.inf, True))
            return (yield from self._search.choose(scene, self._seats, effort, math.inf))
        seats = self._seats
        before, completed = seats.steps, seats.complete(seats.start(kinds[0]), kinds[1:])
        effort.spend(seats.steps - before)
        if completed is None:
            return None
        group = sorted([ticket, *[others[place] for place in completed.chosen]], key=age)
        return Group(group[-1].enqueued_at, group)

    def _put_in_line(self, ticket: Ticket) -> None:
        before = self._table.steps
        kind = self._kinds[ticket.sequence] = self._seats.kind_of(ticket)
        if self._alike is not None:
            self._alike.add(ticket)
        if self._has_rules:
            self._table.add(ticket, kind)
        else:
            line = self._lines.setdefault(kind if self._has_lines else 0, [])
            insort(line, ticket.age_key)
        self._turns.spend(1 + ticket.size + self._table.steps - before)

    def _remove(self, sequence: int) -> None:
        before = self._table.steps
        ticket, kind = self._pool.pop(sequence), self._kinds.pop(sequence)
        del self._sequences[ticket.id]
        if self._alike is not None:
            self._alike.remove(sequence)
        if self._has_rules:
            self._table.remove(ticket)
        else:
            kind = kind if self._has_lines else 0
            line = self._lines[kind]
            del line[bisect_left(line, ticket.age_key)]
            if not line:
                del self._lines[kind]
        if not self._pool:
            self._seats.forget()
            self._soonest.use(self._seats)
        for known in (
            self._groups,
            self._first,
            self._returned,
            self._doubtful,
            self._unsought,
        ):
            known.pop(sequence, None)
        self._timers.drop(sequence)
        self._players -= ticket.size
        self._leavers += 1
        self._turns.restart()
        self._turns.spend(1 + self._table.steps - before)


class TicketKinds:
    """Which of the waiting tickets are of one kind, whatever sides are closed.

    So where a side closes or opens, one of each kind says which kind all like it are of now.

    Args:
        queue: Where they wait.
    """

    def __init__(self, queue: Queue) -> None:
        self._seats = seats_of(queue, frozenset())
        self._kinds: dict[int, int] = {}
        self._one: dict[int, Ticket] = {}

    def add(self, ticket: Ticket) -> None:
        """Take a ticket in."""
        kind = self._kinds[ticket.sequence] = self._seats.kind_of(ticket)
        if kind not in self._one:
            self._one[kind] = ticket

    def remove(self, sequence: int) -> None:
        """Forget a ticket."""
        del self._kinds[sequence]
        if not self._kinds:
            self._seats.forget()
            self._one.clear()

    def kinds(self, seats: SeatCompletion) -> dict[int, int]:
        """Return the kinds that other seats give all tickets, by sequence."""
        now = {kind: seats.kind_of(ticket) for kind, ticket in self._one.items()}
        return {sequence: now[kind] for sequence, kind in self._kinds.items()}
