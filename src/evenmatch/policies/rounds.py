"""`rounds`: everybody who waits is matched at once, at moments known beforehand."""

from __future__ import annotations

import heapq
import math
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from evenmatch.criteria.expansion import round_up
from evenmatch.criteria.objective import Objective
from evenmatch.errors import ConfigError
from evenmatch.model.fields import RoundTime, Seconds
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import PARTS_MAX, Decision, Grouping, Job, JobResult, Matcher, Memory
from evenmatch.policies.hooks import Promise
from evenmatch.policies.shared.arrival_rate import ArrivalRate
from evenmatch.policies.shared.condition_round import rounds_of
from evenmatch.policies.shared.parameters import check_parameters
from evenmatch.policies.shared.round_clock import RoundClock, is_due
from evenmatch.policies.shared.search_job import (
    SearchJob,
    effort_of,
    found_in,
    legal_at,
    seed_of,
)
from evenmatch.policies.shared.search_matcher import STARTS_MAX, TICK, WRITTEN

RoundEffort = Annotated[int, Meta(ge=1, le=10_000_000, extra={"unit": "evaluations a player"})]
EVERY = 120.0
"""Seconds between rounds where nothing else is said, as in the source."""
WAITING_WORTH = 0.01
"""Quality that a match gains by seating a player who sat out a round, for each round."""
URGENT = 1.0
"""The same once they have sat out as many rounds as they may, or have waited for `SOON`."""
SOON = 0.25
"""Share of `wait_max` after which a player is seated before others in a round."""
AGAIN = 0.1
"""Share of `wait_max` after which a round is tried again for players whom the last did not seat."""


class Rounds(msgspec.Struct, frozen=True, kw_only=True):
    """Match all waiting players together in rounds, at fixed times or when enough have arrived.

    With `every`, a round begins every so many seconds, counted from the first ticket, so that you
    can tell players to the second when. With `players`, a round begins when so many players wait,
    and with `wait_max` when somebody has waited that long, whichever comes first. Players who get
    no seat in a round have better chances in the next, and after `skips` rounds they are seated
    before all others.

    With `wait_max`, players wait longer than that only if nobody can play with them, because too
    few wait or rules forbid it. Players who have waited for a quarter of `wait_max` are seated
    before the others, so that the next round, for those who are left, can come later. For players
    who have waited longer than `wait_max`, a round begins as soon as enough players wait, or a
    tenth of `wait_max` after the last round if that one had enough.

    When to use:
        If players should see an exact countdown, or matches should start together. For the same
        mean wait, the matches of `rolling` are as good or a little better, and the worst of them
        are better; if many players arrive, its longest waits are longer.

    Args:
        every: Seconds between rounds; 120 if you give none of `every`, `players` and `wait_max`.
        players: A round begins when this many players wait.
        wait_max: A round begins when a ticket has waited for this many seconds.
        parts: Number of independent searches, of which the best result is used.
        effort: Evaluations per player in each search.
        solver: The search: `anneal`, or `descent`, which is the source's own.
        skips: The most rounds that a player sits out in a row, if any match is possible.

    Source:
        Ronimo, matchmaking in Awesomenauts ("Galactron"): all players at once, every two minutes,
        or with 100 players, or after the longest allowed wait.

    Complexity:
        One background job per round, of `parts` searches with `effort` evaluations per player each.
    """

    in_rounds = True
    jobs = True
    knows_conditions = True
    # A round is about everybody: who takes part is listed when it begins.
    evaluations_max = (STARTS_MAX, 1)

    every: RoundTime | None = None
    players: Annotated[int, Meta(ge=2, le=1_000_000)] | None = None
    wait_max: Seconds | None = None
    parts: Annotated[int, Meta(ge=1, le=PARTS_MAX)] = 2
    effort: RoundEffort = 1_000
    solver: Literal["anneal", "descent"] = "anneal"
    skips: Annotated[int, Meta(ge=1, le=1_000_000, extra={"unit": "rounds"})] = 3

    @property
    def rounds_every(self) -> float | None:
        """Return the seconds between rounds; None where they wait for enough players."""
        if self.players is not None or self.wait_max is not None:
            return None
        return self.every or EVERY

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue."""
        if self.every is not None and (self.players is not None or self.wait_max is not None):
            raise ConfigError("rounds: give every, or players and wait_max, not both")
        if self.wait_max is None and self.players is not None:
            raise ConfigError(
                "rounds: players needs wait_max, the longest that anybody waits for a round, "
                "e.g. rounds:players=100,wait_max=300"
            )
        check_parameters(self)
        return RoundsMatcher(queue, self, seed, memory or {})


class RoundsMatcher:
    """The waiting tickets, when the next round begins, and who has sat out how many."""

    def __init__(self, queue: Queue, policy: Rounds, seed: int, memory: Memory) -> None:
        from evenmatch.policies.shared.ticket_batch import BatchRoster

        self._chosen = policy
        self._queue = queue
        each, parts = policy.effort, policy.parts
        self.evaluations = 0
        self._effort = effort_of(queue, parts=parts, each=each, solver=policy.solver)
        self._objective = Objective(queue)
        self._rounds = rounds_of(queue)
        self._seed = seed
        self._roster = BatchRoster(queue)
        every = policy.rounds_every
        self._clock = None if every is None else RoundClock(every, memory)
        self._began_at: float | None = memory.get("began_at")
        # Enqueued at, sequence: of the waiting, and of some who have left.
        self._ages: list[tuple[float, int]] = []
        # Whether those whom the last round left were too few for a match.
        self._is_short: bool = memory.get("is_short", False)
        self._number: int = memory.get("number", 0)
        self._is_running = False
        # There is one job at an instant: whoever is left of a round waits for the next one.
        self._free_at = -math.inf
        # A job that was lost with its process is asked for again.
        self._is_lost: bool = memory.get("is_running", False)
        self._sat_out: dict[int, int] = dict(memory.get("sat_out", ()))
        self._newest: int = memory.get("newest", 0)
        # Who takes part in the running round, and whether others have come since it began.
        self._asked: dict[int, None] = dict.fromkeys(memory.get("asked", ()))
        self._has_news: bool = memory.get("has_news", False)
        self._returning = bool(memory)
        self._rate = ArrivalRate(1.0, memory.get("arrivals", ()))
        # The matches of the last round that have not started yet, by sequence; and their teams,
        # where conditions have a say in these.
        self._planned: list[list[int]] = [list(each) for each in memory.get("planned", ())]
        self._divided: dict[int, list[list[int]]] = {
            min(seq for team in teams for seq in team): [list(team) for team in teams]
            for teams in memory.get("divided", ())
        }
        # They start from then on.
        self._go_on_at: float = memory.get("go_on_at") or -math.inf

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in."""
        if isinstance(entry, OpenMatch):
            return
        self._roster.enter(entry)
        heapq.heappush(self._ages, (entry.enqueued_at, entry.sequence))
        self._roster.write_some(WRITTEN)
        self.evaluations += 1
        # Who waited here before a restart is no news.
        self._has_news |= not (self._returning and entry.sequence <= self._newest)
        if entry.sequence > self._newest:
            self._newest = entry.sequence
            self._rate.note(now)
        if self._clock is not None:
            self._clock.start(now)

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket."""
        del now
        sequence = self._roster.number.get(entry_id)
        self._forget(entry_id)
        self._planned = [each for each in self._planned if sequence not in each]
        self._rest()

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Start what the last round planned, and ask for a job when another begins."""
        self._end_return(now)
        groups = self._start(now, fired)
        at = self._round_at(now)
        if not fired or at > now:
            return Decision(groups, self._wake_at(now, fired))
        self._is_lost = False
        if not self._is_running:
            # Who came since the running round began takes no part in it, and does not sit it out.
            self._asked = dict.fromkeys(self._roster.tickets)
            self._has_news = False
        if self._clock is not None:
            self._clock.move_on(now)
        self._began_at = now
        self._rest()
        job = None
        if not self._is_running and self._roster.players >= self._queue.format.k_min:
            self._is_running = True
            self._number += 1
            self._free_at = now + TICK
            job = self._job(now)
        return Decision(groups, self._wake_at(now, fired), job)

    def settle(self, result: JobResult, now: float) -> Decision:
        """Take the matches of a round; they start in this decision and those right after it."""
        if result.number != self._number or not self._is_running:
            return Decision(wake_at=self._wake_at(now, False))
        self._is_running = False
        tickets = self._roster.tickets
        found = [
            each for each in found_in(result.data) if all(number in tickets for number in each[0])
        ]
        self._planned = [match for match, _, _ in found]
        self._divided = {min(match): teams for match, _, teams in found if teams is not None}
        seated = {sequence for match in self._planned for sequence in match}
        for sequence in tickets:
            if sequence in self._asked and sequence not in seated:
                self._sat_out[sequence] = self._sat_out.get(sequence, 0) + 1
        left = sum(tickets[each].size for each in self._asked if each in tickets)
        left -= sum(tickets[each].size for each in seated)
        self._is_short = left < self._queue.format.k_min
        return self.decide(now)

    def memory(self) -> Memory:
        """Return where the rounds are, and who has sat out how many."""
        beat: Memory = {"began_at": self._began_at} if self._clock is None else self._clock.memory()
        return {
            **beat,
            "number": self._number,
            "is_running": self._is_running or self._is_lost,
            "sat_out": [[sequence, count] for sequence, count in self._sat_out.items()],
            "newest": self._newest,
            "asked": list(self._asked),
            "has_news": self._has_news,
            "is_short": self._is_short,
            "arrivals": self._rate.memory(),
            "planned": [list(each) for each in self._planned],
            "divided": [
                self._divided[min(each)] for each in self._planned if min(each) in self._divided
            ],
            "go_on_at": self._go_on_at if self._go_on_at > -math.inf else None,
        }

    def promise(self, ticket_id: str, now: float) -> Promise | None:
        """Return when a waiting ticket's next round begins; None if it does not wait here.

        Where moments are fixed this is exact; else the players still missing are expected at the
        rate of the last arrivals.
        """
        if ticket_id not in self._roster.number:
            return None
        latest = max(self._round_at(now), now)
        wanted = self._chosen.players
        if self._clock is not None or wanted is None:
            return Promise(latest, latest)
        per_ticket = self._roster.players / len(self._roster)
        missing = max(0.0, (wanted - self._roster.players) / per_ticket)
        return Promise(latest, min(latest, now + missing / self._rate.rate(now)))

    def _end_return(self, now: float) -> None:
        """Make a memory fit those who came back: it may be older than they are, or newer."""
        if not self._returning:
            return
        self._returning = False
        here = self._roster.tickets
        self._sat_out = {each: count for each, count in self._sat_out.items() if each in here}
        self._has_news |= any(each not in self._asked for each in here)
        self._go_on_at = min(self._go_on_at, now + TICK)
        if self._began_at is not None:
            self._began_at = min(self._began_at, now)

    def _start(self, now: float, fired: bool) -> tuple[Grouping, ...]:
        """Start matches of the last round; the rules have the last word."""
        groups: list[Grouping] = []
        if not is_due(self._go_on_at, now, fired):
            return ()
        for _ in range(STARTS_MAX):
            if not self._planned:
                return tuple(groups)
            planned = self._planned.pop(0)
            tickets = [t for each in planned if (t := self._roster.tickets.get(each)) is not None]
            if len(tickets) < len(planned):
                # After a restart somebody may be gone.
                continue
            tickets.sort(key=lambda ticket: ticket.age_key)
            self.evaluations += 1
            group = self._group(tickets, now)
            if group is not None:
                groups.append(group)
                for ticket in tickets:
                    self._forget(ticket.id)
        self._rest()
        self._go_on_at = now + TICK if fired else now
        return tuple(groups)

    def _group(self, tickets: list[Ticket], now: float) -> Grouping | None:
        """Return a planned match of tickets by age; None if the rules do not allow it now."""
        ids = tuple([ticket.id for ticket in tickets])
        divided = self._divided.pop(min(ticket.sequence for ticket in tickets), None)
        if divided is None:
            seating = self._objective.seat(tickets, now=now)
            return Grouping(ids) if seating is not None and seating.ready_at <= now else None
        by_number = {ticket.sequence: ticket for ticket in tickets}
        teams = tuple([tuple([by_number[each] for each in team]) for team in divided])
        if self._objective.rules.ready_at(teams, now) > now:
            return None
        return Grouping(ids, teams=tuple([tuple([t.id for t in team]) for team in teams]))

    def _wake_at(self, now: float, fired: bool) -> float:
        at = min(self._go_on_at, self._round_at(now)) if self._planned else self._round_at(now)
        return at if at > now else now + TICK if fired else now

    def _round_at(self, now: float) -> float:
        """Return when the next round begins as things stand."""
        return max(self._wanted_at(now), self._free_at)

    def _wanted_at(self, now: float) -> float:
        """Return when those who wait are to have a round."""
        if self._is_lost and self._roster.players:
            return now
        if self._clock is not None:
            return self._clock.round_at
        oldest = self._oldest()
        if oldest is None or self._is_running or self._planned:
            return math.inf
        waiting, wanted = self._roster.players, self._chosen.players
        if wanted is not None and self._has_news and waiting >= wanted:
            return now
        assert self._chosen.wait_max is not None
        due = oldest + round_up(self._chosen.wait_max)
        if self._began_at is None or due > self._began_at:
            return due
        # A round was there for them, and did not seat them.
        if waiting < self._queue.format.k_min:
            return math.inf
        if self._is_short and self._has_news:
            return now
        return self._began_at + round_up(AGAIN * self._chosen.wait_max)

    def _oldest(self) -> float | None:
        """Return when the longest waiting ticket was enqueued; None if nobody waits."""
        ages, tickets = self._ages, self._roster.tickets
        while ages and ages[0][1] not in tickets:
            heapq.heappop(ages)
        return ages[0][0] if ages else None

    def _rest(self) -> None:
        """Let the clock stand while nobody waits."""
        if not self._roster.tickets:
            self._began_at = None
            if self._clock is not None:
                self._clock.stop()

    def _forget(self, ticket_id: str) -> None:
        sequence = self._roster.leave(ticket_id)
        if sequence is not None:
            self._sat_out.pop(sequence, None)

    def _job(self, now: float) -> Job:
        tickets = self._roster.by_age()
        count = len(tickets)
        self.evaluations += count
        longest = self._chosen.wait_max
        soon = math.inf if longest is None else SOON * longest
        worths = []
        for place, ticket in enumerate(tickets):
            sat_out = self._sat_out.get(ticket.sequence, 0)
            worth = WAITING_WORTH * (sat_out + (count - place) / count)
            worth += URGENT if sat_out >= self._chosen.skips else 0.0
            waited = now - ticket.enqueued_at
            # The longer the more, so that of several it is the oldest who is seated.
            worths.append(worth + (URGENT * (waited / soon) if waited >= soon else 0.0))
        make = self._roster.later(tickets, now, worths)
        seed = seed_of(self._seed, self._queue.name, self._number)
        legal = legal_at(self._rounds, now)
        return SearchJob(self._number, make, tickets, self._effort, seed=seed, conditions=legal)
