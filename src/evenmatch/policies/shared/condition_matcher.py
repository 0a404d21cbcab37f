"""The matcher of `by_rules`: for which tickets it searches a match, and when.

A match is legal or not by the age of one of its tickets, so that nothing can change for it but at
an arrival, and when that ticket reaches an age at which some condition changes. By the clock of the
newest ticket, every match is looked for when its newest ticket comes or reaches such an age; by
that of the oldest, when its last ticket comes or its oldest reaches one; where the age of each
ticket counts, when any of them comes or reaches one. So no pool is ever searched without a reason,
and none of these instants is missed.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, bisect_right, insort
from collections import deque
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from evenmatch.criteria.condition.ages import Conditions
from evenmatch.criteria.rules import Rules
from evenmatch.errors import ConfigError
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, Memory, NoJobs
from evenmatch.policies.shared.condition_columns import CandidateQuery, ConditionColumns, Flags
from evenmatch.policies.shared.condition_search import (
    ConditionSearch,
    Divided,
    Question,
    conditions_of,
)
from evenmatch.policies.shared.group_search import Effort, Search
from evenmatch.policies.shared.work_slices import WorkSlices

CONSIDERED_MAX = 64
"""Tickets that one search chooses from, beyond those that fill a large match."""
LARGE = 40
"""Players of a large match; a search for one takes longer in proportion."""
STEPS_A_PLAYER = 8
"""Half-built matches that a search for a large match may look at for each of its players."""
MANY = 8
"""Newcomers from which on matches are looked for around who waits longest, not around each."""
SEARCH_CALLS = 2
"""Calls that one search may take in a large pool."""
LEAVERS_SHARE = 4
"""A search that gave up is made again when so large a part of the pool has left."""
by_age = attrgetter("age_key")
Key = tuple[float, int]


class Task(NamedTuple):
    """A search that is to be made.

    Args:
        needed: The ticket that is in the match.
        is_newest: Whether all others are older; otherwise all are younger.
        one_of: Tickets of whom one at least is in it; None: anybody.
        until: Nobody younger than this is in it.
        nth: In the how-manieth way of its age, from 0 on.
        number: Tells it from all others.
    """

    needed: Ticket
    is_newest: bool
    one_of: frozenset[str] | None
    until: Key
    nth: int
    number: int


class ConditionMatcher(NoJobs):
    """The waiting tickets in order of age, and at which instants something changes for them.

    Args:
        queue: It has conditions, and perhaps rules that only widen, in steps.
        evaluations_max: Half-built matches that one call looks at.

    Raises:
        ConfigError: The queue has no conditions, or roles, or rules whose instants no age tells.
    """

    def __init__(self, queue: Queue, evaluations_max: int) -> None:
        rules = Rules(queue)
        if queue.format.roles:
            raise ConfigError(
                "conditions know no roles: let rules count who plays what in each team, or leave "
                "the rules_file out"
            )
        self._conditions: Conditions = conditions_of(rules)
        self._is_by_newest = self._conditions.clock == "newest"
        self._is_by_each = self._conditions.clock == "each"
        self._search = ConditionSearch(self._conditions, queue.format, rules)
        self._rules = rules
        self._columns = ConditionColumns(
            self._conditions, self._search.ways, len(queue.format.players), rules
        )
        self._way_count = max(map(len, self._search.numbers))
        k = queue.format.k
        self._is_large = k > LARGE
        self._considered = CONSIDERED_MAX + (k if self._is_large else 0)
        steps = max(evaluations_max * SEARCH_CALLS, STEPS_A_PLAYER * k if self._is_large else 0)
        self._turns = WorkSlices(evaluations_max, steps, 1)
        self._pool: dict[str, Ticket] = {}
        self._order: list[Ticket] = []
        # When something changes for a ticket, and whether it has come just then.
        self._changes: list[tuple[float, int, str, bool]] = []
        self._due: dict[str, bool] = {}
        self._tasks: deque[Task] = deque()
        self._count = 0
        self._teams: Divided | None = None
        # Those whose search gave up, and how many have left since.
        self._doubts: dict[str, None] = {}
        # The question of the search that goes on.
        self._asking: dict[int, Question] = {}
        self._leavers = 0

    @property
    def evaluations(self) -> int:
        """Return what was looked at so far."""
        return self._turns.evaluations

    @property
    def is_busy(self) -> bool:
        """Return whether searches are left that the last call did not get to."""
        return bool(self._tasks or self._due)

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in, and note when something will change for it."""
        if isinstance(entry, OpenMatch):
            return
        is_back = bool(self._order) and entry.age_key < self._order[-1].age_key
        insort(self._order, entry, key=by_age)
        self._pool[entry.id] = entry
        self._columns.enter(entry)
        starts = self._conditions.starts_of(entry.enqueued_at)
        begun = max(sum(1 for start in starts if start <= now), 1) - 1
        for number, start in enumerate(starts[begun:]):
            heapq.heappush(self._changes, (start, entry.sequence, entry.id, number == 0))
        if is_back and self._is_by_newest:
            # Whoever is younger may now be the newest of a match with it.
            place = bisect_left(self._order, entry.age_key, key=by_age)
            for other in self._order[place + 1 :]:
                heapq.heappush(self._changes, (now, other.sequence, other.id, True))
        self._turns.news()

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket."""
        del now
        ticket = self._pool.get(entry_id)
        if ticket is not None:
            self._remove(ticket)
            self._turns.restart()
            self._asking.clear()
            self._turns.news()

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Make the matches that are legal now, as far as this turn's evaluations go."""
        resume_at = self._turns.begin(now, fired, len(self._pool))
        if resume_at is not None:
            return Decision(wake_at=resume_at)
        groups: list[Grouping] = []
        is_done = False
        while self._gather(now, fired):
            is_done = self._work(now, groups)
            if not is_done:
                break
        is_done = not self._tasks and not self._due
        next_at = self._next_change()
        resume_at = self._turns.end(is_done, -math.inf if not is_done else next_at)
        return Decision(tuple(groups), next_at if is_done else resume_at)

    def memory(self) -> Memory:
        """Return how far a search has come that is not over; a restored matcher begins it anew."""
        return {"looked_at": f"{self._turns.evaluations}" if self._tasks else ""}

    # What is to be done

    def _next_change(self) -> float:
        while self._changes and self._changes[0][2] not in self._pool:
            heapq.heappop(self._changes)
        return self._changes[0][0] if self._changes else math.inf

    def _gather(self, now: float, fired: bool) -> bool:
        """Note for whom something changed, and plan searches; return whether there are any."""
        until = math.nextafter(now, math.inf) if fired else now
        while self._next_change() < until:
            _, _, name, has_come = heapq.heappop(self._changes)
            self._due[name] = has_come or self._due.get(name, False)
        if self._doubts and self._leavers * LEAVERS_SHARE >= len(self._pool):
            for name in self._doubts:
                self._due.setdefault(name, True)
            self._doubts.clear()
            self._leavers = 0
        if not self._tasks and self._due:
            self._plan()
        return bool(self._tasks)

    def _plan(self) -> None:
        """Plan the searches for all for whom something changed."""
        due = sorted([self._pool[name] for name in self._due if name in self._pool], key=by_age)
        newcomers = frozenset([each.id for each in due if self._due[each.id]])
        self._due.clear()
        if not due:
            return
        if self._is_by_each:
            for ticket in due:
                self._add(ticket, False, None, (math.inf, 0))
            return
        if self._is_by_newest and len(due) <= MANY:
            for ticket in due:
                self._add(ticket, True, None, ticket.age_key)
            return
        if self._is_by_newest:
            names = frozenset([each.id for each in due])
            for ticket in self._up_to(due[-1]):
                self._add(ticket, False, names, due[-1].age_key)
            return
        last = (math.inf, 0)
        for ticket in self._up_to(due[-1]):
            if ticket.id in newcomers or ticket in due:
                self._add(ticket, False, None, last)
            elif newcomers:
                self._add(ticket, False, newcomers, last)

    def _up_to(self, ticket: Ticket) -> list[Ticket]:
        place = bisect_left(self._order, ticket.age_key, key=by_age)
        return self._order[: place + 1]

    def _add(
        self, needed: Ticket, is_newest: bool, one_of: frozenset[str] | None, until: Key
    ) -> None:
        for nth in range(self._way_count):
            self._count += 1
            self._tasks.append(Task(needed, is_newest, one_of, until, nth, self._count))

    # Searches

    def _work(self, now: float, groups: list[Grouping]) -> bool:
        """Make searches in turn; return whether all are made."""
        while self._tasks:
            task = self._tasks[0]
            if self._turns.evaluations_left <= 0:
                return False
            question = self._asking.get(task.number) or self._question(task, now)
            self._asking.clear()
            self._turns.spend(1)
            if question is None:
                self._tasks.popleft()
                continue
            self._asking[task.number] = question
            is_over, _ = self._turns.run(task.number, partial(self._run, question))
            if not is_over:
                return False
            self._tasks.popleft()
            teams, self._teams = self._teams, None
            if teams is not None and self._rules.ready_at(teams, now) <= now:
                self._make(teams, groups)
            elif self._turns.gave_up:
                self._doubts[task.needed.id] = None
        return True

    def _run(self, question: Question, effort: Effort) -> Search:
        """Search, and keep the teams that come of it."""
        self._teams = yield from self._search.find(question, effort)
        return None

    def _make(self, teams: Divided, groups: list[Grouping]) -> None:
        names = tuple([tuple([ticket.id for ticket in team]) for team in teams])
        together = [ticket for team in teams for ticket in team]
        ids = tuple([ticket.id for ticket in sorted(together, key=by_age)])
        groups.append(Grouping(ids, teams=names))
        for ticket in together:
            self._remove(ticket)

    def _question(self, task: Task, now: float) -> Question | None:
        """Return what a task looks for now; None if there is nothing to find."""
        needed, columns = task.needed, self._columns
        if self._pool.get(needed.id) is not needed:
            return None
        if self._is_by_newest and not task.is_newest:
            return self._around(task, now)
        way = self._way(self._conditions.piece_of(needed.enqueued_at, now), task)
        if way is None:
            return None
        among = columns.older(needed) if task.is_newest else columns.younger(needed)
        if self._is_by_each:
            among |= columns.older(needed)
        first = None if task.one_of is None else columns.flags(task.one_of)
        return self._asked(task, Question(way, (), (), task.one_of, now), among, first)

    def _around(self, task: Task, now: float) -> Question | None:
        """Return the question of a match around an old ticket whose newest one is among some."""
        place = bisect_left(self._order, task.needed.age_key, key=by_age)
        end = bisect_right(self._order, task.until, key=by_age)
        wanted, piece_of = task.one_of or frozenset(), self._conditions.piece_of
        order = self._order
        newest = next(
            (order[at] for at in range(end - 1, place - 1, -1) if order[at].id in wanted), None
        )
        if newest is None:
            return None
        piece = piece_of(newest.enqueued_at, now)
        way = self._way(piece, task)
        if way is None:
            return None
        if task.needed.id in wanted and piece_of(task.needed.enqueued_at, now) == piece:
            # All in between are of this age too, and the ticket itself is one of those wanted.
            flags = self._columns.younger(task.needed) & ~self._columns.younger(newest)
            return self._asked(task, Question(way, (), (), None, now), flags, None)
        among = [each for each in order[place:end] if each.id in wanted]
        # The newest of the match is of this age, so nobody younger than that is in it.
        of_age: list[Ticket] = []
        for each in reversed(among):
            is_same = of_age and each.enqueued_at == of_age[-1].enqueued_at
            if not is_same and piece_of(each.enqueued_at, now) != piece:
                break
            of_age.append(each)
        one_of = frozenset([each.id for each in of_age])
        flags = self._columns.younger(task.needed) & ~self._columns.younger(newest)
        first = None if task.needed.id in one_of else self._columns.flags(one_of)
        return self._asked(task, Question(way, (), (), one_of, now), flags, first)

    def _way(self, piece: int | None, task: Task) -> int | None:
        """Return the way in which a task looks for a match; None if its ticket is in none."""
        ways = [] if piece is None else self._search.numbers[piece]
        if task.nth >= len(ways) or not self._columns.fits(task.needed, ways[task.nth]):
            return None
        return ways[task.nth]

    def _asked(
        self, task: Task, question: Question, among: Flags, first: Flags | None
    ) -> Question | None:
        """Return a question with those who may join; None if these are too few."""
        asked = CandidateQuery(
            question.way, among, first, self._considered, self._is_large, question.at
        )
        circle = self._columns.chosen(task.needed, asked)
        fewest = self._search.ways[question.way].fewest
        if sum([each.size for each in circle.tickets]) < fewest:
            return None
        return question._replace(tickets=circle.tickets, mates=circle.mates)

    def _remove(self, ticket: Ticket) -> None:
        del self._pool[ticket.id]
        self._columns.leave(ticket)
        place = bisect_left(self._order, ticket.age_key, key=by_age)
        del self._order[place]
        self._doubts.pop(ticket.id, None)
        self._due.pop(ticket.id, None)
        self._leavers += 1
