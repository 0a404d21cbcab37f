"""The engine in virtual time: the same one that serves, driven by arrivals in place of a clock.

At one instant outcomes of matches go first, then announcements, for policies that look ahead, then
answers to ready-checks, then tickets that leave, then arrivals in their order, then plans of jobs,
then deadlines and timers (the engine keeps inputs before deadlines). A job is solved at once, and
its plan handed in `solve_time` later: with 0, at the very instant at which it was asked for, before
the deadlines of that instant.
Leaves go before arrivals so that a recorded player who cancels and asks again at the same second
is taken, as they were when it was recorded. For the same reason a player of a live match who queues
again ends it: a game server would have reported its end.

A run with `until` ends there: every wake-up up to that instant happens. Without it, a run ends
when every ticket has ended, or when nothing is left that could end one; see
`evenmatch.simulation.termination`.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from evenmatch.criteria.expansion import round_up
from evenmatch.engine.admission.admission import admission_context, judge
from evenmatch.engine.admission.shard_limits import ShardLimits
from evenmatch.engine.engine import Engine
from evenmatch.engine.matching.jobs import RunningJob
from evenmatch.engine.matching.scheduler import Resolve
from evenmatch.engine.state.stored_ratings import with_ratings
from evenmatch.errors import ArrivalsError, NotInMatch, ProposalOver, TooLate
from evenmatch.model.events import (
    Accepted,
    Cancelled,
    Event,
    Existing,
    Expired,
    Matched,
    Proposed,
    Refused,
    Repaired,
)
from evenmatch.model.inputs import Advance, Cancel, Configure, Enqueue, Finish, Input, Settle
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import ARRIVALS_MAX, Answers
from evenmatch.model.ticket import NewTicket, Ticket
from evenmatch.ratings.periods import rate_period
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.history import CANCELLED, EXPIRED, WAITING, GapMeter, History
from evenmatch.simulation.outcomes import OutcomeSimulator
from evenmatch.simulation.ready_check_behaviour import AnswerStream
from evenmatch.simulation.termination import Termination

AnswerSeed = tuple[Answers, np.random.SeedSequence]
NO_ANSWERS: AnswerSeed = (Answers(), np.random.SeedSequence(0))
"""Everybody accepts at once."""
FAULTS_EVERY = 1024
"""Steps between two looks at faults of policies, which end a run."""
LIMITS = ShardLimits(
    waiting_max=ARRIVALS_MAX,
    players_max=1000,
    queues_max=1000,
    attributes_max=1000,
    values_max=10_000,
    text_max=10_000,
)
"""A simulation takes what a file gives; the limits of a server protect it from strangers."""


class Simulator:
    """One run: an engine, what is about to happen, and the history so far. It is used once.

    Args:
        queues: At least one.
        resolve: Makes a queue's policy.
        history: Where to note what happens.
        seed: Root of the policies' chance.
        until: Seconds after which the run ends; what is due at that very instant still happens.
        solve_time: Seconds from a job's start until its plan is there.
        answers: How players answer ready-checks, and the seed of their chance.
        played: How matches end; None means that nobody hears of it.
        is_checked: Whether to assert the engine's invariants after each step (slow).
    """

    def __init__(
        self,
        queues: tuple[Queue, ...],
        resolve: Resolve,
        history: History,
        *,
        seed: int = 0,
        until: float | None = None,
        solve_time: float = 0.0,
        answers: AnswerSeed = NO_ANSWERS,
        played: OutcomeSimulator | None = None,
        is_checked: bool = False,
    ) -> None:
        self.engine = Engine(resolve, limits=LIMITS, rate=rate_period)
        self._tables = self.engine.tables  # the same ones to the end of the run
        self.history = history
        self._until = until
        self._is_checked = is_checked
        self._measured = GapMeter(queues)
        self._leaves: list[tuple[float, int]] = []
        self._solve_time = solve_time
        self._played = played
        # Plans on their way, in the order in which they come.
        self._plans: deque[Settle] = deque()
        # Rows of the arrivals by ticket, where players are asked.
        self._row_of: dict[str, int] = {}
        self._answers = AnswerStream(*answers, self._players_of, self._row_of.__getitem__)
        self._is_asked = any(queue.accept is not None for queue in queues)
        self._row = 0
        self._turned_away = 0
        self._steps = 0
        self._now = 0.0
        self._step(Configure(0.0, queues, seed))

    def run(self, arrivals: Iterable[Arrival]) -> History:
        """Simulate the arrivals to the end.

        Args:
            arrivals: By ascending time.

        Returns:
            The history given to the constructor.

        Raises:
            ArrivalsError: A row cannot be taken; the sentence names it.
            PolicyError: A policy broke its contract.
        """
        horizons = {name: pool.horizon for name, pool in self.engine.pools.items()}
        coming = AnnouncedArrivals(arrivals, horizons, next(iter(horizons)))
        until = math.inf if self._until is None else self._until
        engine, tables = self.engine, self._tables
        rest = Termination(engine) if self._until is None else None
        while True:
            # Most runs have no leaves, announcements or answers, and do not ask for them.
            leave_at = self._next_leave() if self._leaves else math.inf
            arrival_at = coming.at
            announced_at = coming.announced_at(self._now) if coming.are_announced else math.inf
            answer_at = self._answers.at if self._is_asked else math.inf
            played_at = math.inf if self._played is None else self._played.next_at
            given_at = min(played_at, leave_at, arrival_at, announced_at, answer_at)
            if given_at == math.inf and not tables.waiting:
                break
            plan_at = self._plans[0].now if self._plans else math.inf
            is_plan = plan_at < given_at
            given_at = min(given_at, plan_at)
            wake_at = engine.next_wakeup
            if min(wake_at, given_at) > until:
                break
            if wake_at < given_at:
                if given_at == math.inf and self._is_over(rest):
                    break
                self._advance(wake_at, rest if given_at == math.inf else None)
            elif given_at == math.inf:
                break
            elif is_plan:
                self._settle(rest)
            elif played_at == given_at:
                assert self._played is not None
                self._step(self._played.take())
            elif announced_at == given_at:
                self._now = announced_at
                self.engine.announce(*coming.announce(announced_at), announced_at)
            elif answer_at == given_at:
                self._answer()
            elif leave_at <= arrival_at:
                self._leave(leave_at)
            else:
                self._arrive(coming.take())
        self._raise_fault()
        self._count_checks()
        self.history.finish(self._now if self._until is None else self._until)
        return self.history

    def check(self, arrival: Arrival) -> None:
        """Check before the run that the queues would admit an arrival.

        Raises:
            ArrivalsError: They would not; the sentence names the row.
        """
        engine = self.engine
        objectives = {name: pool.objective for name, pool in engine.pools.items()}
        known = engine.ladders.known_of
        context = admission_context(engine.shard, engine.tables, objectives, LIMITS, known)
        event = judge(Enqueue(arrival.at, (arrival.ticket,)), 0, context)
        if isinstance(event, Refused):
            raise self._error(arrival, event.message, _subject(event))

    def figures(self) -> dict[str, Any]:
        """Return what a run adds to its summary: how its outcomes were rated, if there are any."""
        if self._played is None:
            return {}
        return {"outcomes": self._played.figures(self.engine.tables)}

    def _is_over(self, termination: Termination | None) -> bool:
        """Return whether no wake can end a ticket; `until` alone ends a run while tickets wait."""
        return not self.engine.tables.waiting if termination is None else termination.is_over()

    def _next_leave(self) -> float:
        """Return when the next waiting ticket leaves by itself; inf if none does."""
        leaves, states = self._leaves, self.history.states
        while leaves and states[leaves[0][1]] != WAITING:
            heapq.heappop(leaves)
        return leaves[0][0] if leaves else math.inf

    def _leave(self, at: float) -> None:
        _, place = heapq.heappop(self._leaves)
        self._step(Cancel(at, self.history.ids[place], "left"))

    def _advance(self, at: float, termination: Termination | None) -> None:
        if termination is None:
            self._step(Advance(at))
        else:
            termination.before(at)
            termination.after(at, self._step(Advance(at)))
        for running in self.engine.take_jobs():
            self._solve(running)

    def _solve(self, running: RunningJob) -> None:
        """Compute a job's plan now, which is known later."""
        try:
            plan = running.solve()
        except (Exception, SystemExit) as error:  # noqa: BLE001
            self.engine.fail_job(running, error)
            self._raise_fault()
        else:
            at = self._now + round_up(self._solve_time)
            self._plans.append(running.settle(plan, at))

    def _settle(self, termination: Termination | None) -> None:
        events = self._step(self._plans.popleft())
        if termination is not None:
            termination.settled(events)

    def _answer(self) -> None:
        """Hand an answer in; one whose proposal is over by now is nobody's."""
        try:
            self._step(self._answers.take())
        except (NotInMatch, ProposalOver, TooLate):
            return

    def _players_of(self, ticket_id: str) -> tuple[str, ...]:
        return tuple([p.id for p in self.engine.tables.waiting[ticket_id].ticket.players])

    def _count_checks(self) -> None:
        """Note how the ready-checks went, where a queue has one."""
        tables = self.engine.tables
        if not any(queue.accept for queue in tables.queues.values()):
            return
        counters = tables.counters
        failed = counters.checks_failed
        self.history.checks = {
            "proposed": counters.proposed,
            "failed": failed,
            "repaired": counters.repaired,
            "repaired_share": counters.repaired / failed if failed else None,
            "dissolved": counters.dissolved,
            "turned_away": self._turned_away,
        }

    def _arrive(self, arrival: Arrival) -> None:
        ticket, at = arrival.ticket, arrival.at
        if not at >= self._now:
            raise self._error(
                arrival, f"times must ascend from 0, got {at:g} s after {self._now:g} s"
            )
        if ticket.id is not None and ticket.id in self.history.index:
            raise self._error(arrival, "its ticket id was used before; ids must differ")
        if self._tables.busy:
            self._end_matches_of(ticket, at)
        event = self._step(Enqueue(at, (ticket,)))[0]
        if type(event) is Accepted:
            place = len(self.history.ids) - 1
            leaves_at = arrival.leaves_at
            if leaves_at is not None:
                if not leaves_at >= at:
                    raise self._error(arrival, "it leaves before it arrives")
                heapq.heappush(self._leaves, (leaves_at, place))
                self.history.leaves_at[place] = leaves_at
        elif isinstance(event, Refused) and event.code == "cooldown":
            self._turned_away += len(ticket.players)
        elif isinstance(event, Refused) and event.code != "already_waiting":
            raise self._error(arrival, event.message, _subject(event))
        else:
            assert isinstance(event, Existing | Refused)
            self.history.merged += at >= self.history.warmup
        self._row += 1

    def _end_matches_of(self, ticket: NewTicket, at: float) -> None:
        """End the live matches of players who queue again.

        A server takes them once the game server has reported the end of their match, so whoever
        was recorded to queue has none any more.
        """
        tables = self.engine.tables
        queue = tables.queues.get(ticket.queues[0] if ticket.queues else next(iter(tables.queues)))
        busy = {} if queue is None else tables.busy.get(queue.group, {})
        for match in dict.fromkeys([busy[p.id] for p in ticket.players if p.id in busy]):
            self._step(Finish(at, match))

    def _error(self, arrival: Arrival, why: str, about: str = "") -> ArrivalsError:
        if arrival.where is not None:
            return arrival.where.error(why, about)
        name = "" if arrival.ticket.id is None else f", ticket {arrival.ticket.id[:64]}"
        return ArrivalsError(f"arrival number {self._row} (from 0){name}: {why}")

    def _step(self, input_: Input) -> tuple[Event, ...]:
        """Hand an input to the engine and note what came of it."""
        record = self.engine.step(input_)
        history = self.history
        for event in record.events:
            if type(event) is Accepted:
                assert type(input_) is Enqueue
                new = input_.tickets[event.item]
                if event.ratings:
                    new = with_ratings(new, event.ratings)
                history.accept(event.ticket, new, input_.now)
                if self._is_asked:
                    self._row_of[event.ticket] = self._row
                row = self._tables.waiting.get(event.ticket)
                self._measured.enter(
                    _as_it_entered(event, new, input_.now) if row is None else row.ticket
                )
                if self._played is not None:
                    self._played.note(new)
            elif type(event) is Matched:
                history.match(event.match, self._measured.gaps_of(event.match))
                if self._played is not None:
                    self._played.play(event.match)
            elif type(event) is Expired:
                history.leave(event.ticket, EXPIRED, input_.now, event.reason)
                self._measured.leave(event.ticket)
            elif type(event) is Cancelled:
                history.leave(event.ticket, CANCELLED, input_.now, event.reason)
                self._measured.leave(event.ticket)
            elif type(event) is Proposed or type(event) is Repaired:
                self._answers.hear(event, input_.now)
        self._now = input_.now
        self._steps += 1
        if self._is_checked:
            self.engine.tables._check()
        if self._steps % FAULTS_EVERY == 0:
            self._raise_fault()
        return record.events

    def _raise_fault(self) -> None:
        for fault in self.engine.faults:
            raise fault


def _as_it_entered(event: Accepted, new: NewTicket, now: float) -> Ticket:
    """Return a ticket that is matched already, without whom its players met."""
    return Ticket(event.ticket, event.sequence, now, new.players, new.queues, new.attributes)


_SUBJECT = re.compile(
    r"\b(?:attribute (.+?) (?:is missing|must be)|(side) must be|(role)(?: .* is not|s do not))"
)


def _subject(refused: Refused) -> str:
    """Return the attribute or reserved column that a refusal is about; "" if it is about none."""
    match refused.where.split("/")[1:]:
        case ["attributes", name] | ["players", _, "attributes", name]:
            return name
        case ["players", _, "rating", field]:
            return "rating" if field == "mean" else f"rating_{field}"
        case ["players", _, "id"]:
            return "player"
        case ["players", _, "roles"]:
            return "roles"
        case ["queues"]:
            return "queues"
        case _:
            # What a queue misses is said in words only.
            found = _SUBJECT.search(refused.message)
            if found is None:
                return ""
            return "roles" if found[3] else found[1] or found[2]


# Arrivals that are known before they come, for the policies that ask for it.
#
# A policy with a `horizon` is told of each arrival so many seconds ahead. A simulation knows what
# it will draw or read, so it reads ahead as far as the longest horizon and no further.

AHEAD_MAX = 100_000
"""Arrivals read ahead; those beyond are announced later than their horizon says."""


class AnnouncedArrivals:
    """The arrivals in order, with their announcements.

    Args:
        arrivals: By ascending time.
        horizons: Seconds ahead by queue; a queue with 0 is told nothing.
        first_queue: The queue of tickets that name none.
    """

    def __init__(
        self, arrivals: Iterable[Arrival], horizons: Mapping[str, float], first_queue: str
    ) -> None:
        self._unread = iter(arrivals)
        self._first_queue = (first_queue,)
        self._horizons = {name: ahead for name, ahead in horizons.items() if ahead > 0.0}
        # Whether any queue is told of arrivals.
        self.are_announced = bool(self._horizons)
        # Read and not yet taken; the first of them is number `_taken` of all.
        self._read: deque[Arrival] = deque()
        self._taken = 0
        # How many of all arrivals each queue was told of, or needs not be.
        self._told = dict.fromkeys(self._horizons, 0)

    @property
    def at(self) -> float:
        """Return when the next ticket arrives; inf if there is none."""
        read = self._read
        if read or self._read_on():
            return read[0].at
        return math.inf

    def take(self) -> Arrival:
        """Return the next arrival."""
        arrival = self._read.popleft()
        self._taken += 1
        return arrival

    def announced_at(self, now: float) -> float:
        """Return when the next announcement is made, not before `now`; inf if none is."""
        at = math.inf
        for name, ahead in self._horizons.items():
            arrival = self._next_for(name)
            if arrival is not None:
                at = min(at, max(now, arrival.at - ahead))
        return at

    def announce(self, now: float) -> tuple[Ticket, str]:
        """Return the next ticket to announce, as it will wait, and the queue to tell."""
        for name, ahead in self._horizons.items():
            arrival = self._next_for(name)
            if arrival is not None and arrival.at - ahead <= now:
                self._told[name] += 1
                new = arrival.ticket
                queues = new.queues or self._first_queue
                ticket = Ticket(new.id or "", 0, arrival.at, new.players, queues, new.attributes)
                return ticket, name
        raise LookupError(f"nothing is to be announced at {now}")

    def _next_for(self, name: str) -> Arrival | None:
        """Return the next arrival that a queue is to be told of; None if none is known."""
        told = self._told
        told[name] = max(told[name], self._taken)
        while True:
            place = told[name] - self._taken
            if place >= AHEAD_MAX or (place == len(self._read) and not self._read_on()):
                return None
            arrival = self._read[place]
            # Without an id of its own nobody would know the ticket again.
            if name in (arrival.ticket.queues or self._first_queue) and arrival.ticket.id:
                return arrival
            told[name] += 1

    def _read_on(self) -> bool:
        """Read one more arrival; return whether there is one."""
        arrival = next(self._unread, None)
        if arrival is not None:
            self._read.append(arrival)
        return arrival is not None
