"""`rounds`: everybody who waits is matched at once, at moments known beforehand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, Literal

import msgspec
import numpy as np

from evenmatch.cost.expansion import round_up
from evenmatch.cost.objective import Objective
from evenmatch.cost.valid_values import SECONDS, Bounds
from evenmatch.errors import ConfigError
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import PARTS_MAX, Decision, Grouping, Job, JobResult, Matcher, Memory
from evenmatch.policies.parts.arrival_rate import ArrivalRate
from evenmatch.policies.parts.batch_checks import check_batch
from evenmatch.policies.parts.clock import RoundClock
from evenmatch.policies.parts.rated import check_number
from evenmatch.solvers.batch.batch import Batch, Plan

EVERY = 120.0
"""Seconds between rounds where nothing else is said, as in the source."""
PLAYERS = Bounds(2, 1_000_000, "between 2 and 1,000,000")
PARTS = Bounds(1, PARTS_MAX, f"between 1 and {PARTS_MAX}")
EFFORTS = Bounds(1, 10_000_000, "between 1 and 10,000,000 evaluations a player")
SKIPS = Bounds(1, 1_000_000, "between 1 and 1,000,000 rounds")
EFFORT_MOST = 200_000_000
"""Most evaluations of one part."""
WAITING_WORTH = 0.01
"""Quality that a match gains by seating a player who sat out a round, for each round."""
URGENT = 1.0
"""The same once he has sat out as many rounds as he may."""


class Promise(msgspec.Struct, frozen=True):
    """When a ticket's next round begins, engine time.

    Args:
        latest: It begins then at the latest.
        expected: The best guess; equal to `latest` where moments are fixed.
    """

    latest: float
    expected: float


class Rounds(msgspec.Struct, frozen=True, kw_only=True):
    """Match everybody who waits at once, at fixed moments or when enough have come.

    With `every` rounds begin so many seconds after the first entry, and again and again: everybody
    can be told to the second when. With `players` a round begins when so many players wait, and
    with `wait_max` that many seconds after the first of them came, whichever is first. Who finds no
    seat has better chances in the next round, and after `skips` rounds goes before all others.

    When to use:
        Where players shall see an exact countdown, or matches are to start together. With few
        players the choice that a round has is worth more than its wait; where players come all the
        time `rolling` makes the worst matches better for the same mean wait.

    Args:
        every: Seconds between rounds; 120 if nothing else is given.
        players: Players who make a round begin.
        wait_max: Seconds from the first entry after which a round begins anyhow.
        parts: Independent searches; the best of their results counts.
        effort: Evaluations a player in each part.
        solver: `anneal`, or the source's own `descent`.
        skips: Rounds that nobody sits out more often than that, if any match can be had.

    Source:
        Ronimo, matchmaking in Awesomenauts ("Galactron"): everybody at once, every two minutes, or
        with 100 players, or after the longest wait allowed.

    Complexity:
        A job of `parts` searches, each of `effort` evaluations a player.
    """

    in_rounds = True
    fills = False
    jobs = True

    every: float | None = None
    players: int | None = None
    wait_max: float | None = None
    parts: int = 2
    effort: int = 1_000
    solver: Literal["anneal", "descent"] = "anneal"
    skips: int = 3

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue whose tickets batches can hold."""
        check_batch("rounds", queue)
        if self.every is not None and (self.players is not None or self.wait_max is not None):
            raise ConfigError("rounds: give every, or players and wait_max, not both")
        if self.wait_max is None and self.players is not None:
            raise ConfigError(
                "rounds: players needs wait_max, the longest that anybody waits for a round, "
                "e.g. rounds:players=100,wait_max=300"
            )
        for name, bounds in (("every", SECONDS), ("wait_max", SECONDS), ("players", PLAYERS)):
            value = getattr(self, name)
            if value is not None:
                check_number(f"rounds: {name}", value, bounds)
        check_number("rounds: parts", self.parts, PARTS)
        check_number("rounds: effort", self.effort, EFFORTS)
        check_number("rounds: skips", self.skips, SKIPS)
        return RoundsMatcher(queue, self, seed, memory or {})


Find = Callable[[Batch, int, int], Plan]
"""Returns the matches of a batch that so many evaluations find, from a seed."""


class RoundSearch(msgspec.Struct, frozen=True):
    """How every round of a queue is searched.

    Args:
        parts: Independent searches.
        effort: Evaluations a player in each.
        find: Does one of them.
    """

    parts: int
    effort: int
    find: Find


def search_of(chosen: Rounds, queue: Queue) -> RoundSearch:
    """Return a queue's search, whose kernels are loaded now, so that no round waits for them."""
    parts, effort = chosen.parts, chosen.effort
    if queue.format.players == (1, 1):
        from evenmatch.solvers.duels.plan import plan_duels

        return RoundSearch(1, effort, lambda batch, *_: plan_duels(batch).plan)
    if chosen.solver == "descent":
        from evenmatch.solvers.batch.descent import descent

        return RoundSearch(
            parts, effort, lambda batch, most, seed: descent(batch, effort=most, seed=seed)
        )
    from evenmatch.solvers.batch.solve import anneal

    return RoundSearch(
        parts, effort, lambda batch, most, seed: anneal(batch, effort=most, seed=seed)
    )


class RoundJob:
    """One round: a batch, and searches that begin from different chance.

    Args:
        number: Of the job.
        batch: The waiting players; nothing else refers to its arrays.
        tickets: Party by party.
        allows: Says whether tickets may play together.
        search: How it is searched.
        seed: Parts take its children.
    """

    def __init__(
        self,
        number: int,
        batch: Batch,
        tickets: Sequence[Ticket],
        allows: Callable[[Sequence[Ticket]], bool],
        search: RoundSearch,
        *,
        seed: int,
    ) -> None:
        self.number = number
        self.parts = search.parts
        self._batch = batch
        self._tickets = tickets
        self._allows = allows
        self._find = search.find
        self._effort = min(search.effort * batch.players, EFFORT_MOST)
        self._seed = seed

    def solve(self, part: int) -> Plan:
        """Return the matches that one search finds."""
        child = np.random.SeedSequence((self._seed, part)).generate_state(1)
        return self._find(self._batch, self._effort, int(child[0]))

    def combine(self, results: Sequence[Any]) -> JobResult:
        """Return the plan of the most quality and worth, the first of equals."""
        best = max(results, key=self._value)
        party = np.searchsorted(self._batch.first, np.arange(self._batch.players), side="right") - 1
        matches = []
        for seated, legal in zip(best.seated, best.legal, strict=True):
            if legal:
                parties = sorted(set(party[seated[seated >= 0]].tolist()))
                group = [self._tickets[each] for each in parties]
                # Some rules look at more of a match than a batch does.
                if self._allows(group):
                    matches.append(tuple([ticket.id for ticket in group]))
        return JobResult(self.number, tuple(matches))

    def _value(self, plan: Plan) -> float:
        found = [
            quality + math.fsum(self._batch.worth[seated[seated >= 0]])
            for quality, seated, legal in zip(plan.quality, plan.seated, plan.legal, strict=True)
            if legal
        ]
        return math.fsum(found)


class RoundsMatcher:
    """The waiting tickets, when the next round begins, and who has sat out how many."""

    def __init__(self, queue: Queue, chosen: Rounds, seed: int, memory: Memory) -> None:
        from evenmatch.policies.parts.batching import Roster

        self._chosen = chosen
        self._queue = queue
        self._search = search_of(chosen, queue)
        self._seed = seed
        self._roster = Roster(queue)
        is_fixed = chosen.players is None and chosen.wait_max is None
        self._clock = RoundClock(chosen.every or EVERY, memory) if is_fixed else None
        self._began_at: float | None = memory.get("began_at")
        self._number: int = memory.get("number", 0)
        self._is_running = False
        # A job that was lost with its process is asked for again.
        self._is_lost: bool = memory.get("is_running", False)
        self._sat_out: dict[int, int] = dict(memory.get("sat_out", ()))
        self._newest: int = memory.get("newest", 0)
        self._asked_to: int = memory.get("asked_to", 0)
        self._rate = ArrivalRate(1.0, memory.get("arrivals", ()))

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in."""
        if isinstance(entry, OpenMatch):
            return
        self._roster.enter(entry)
        if entry.sequence > self._newest:
            self._newest = entry.sequence
            self._rate.note(now)
        if self._clock is not None:
            self._clock.start(now)
        elif self._began_at is None:
            self._began_at = now

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket."""
        del now
        self._forget(entry_id)
        self._rest()

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Ask for a job when a round begins; rounds that fall into a running job are skipped."""
        at = self._round_at(now)
        if not fired or at > now:
            return Decision(wake_at=max(at, now))
        self._is_lost = False
        if not self._is_running:
            # Who came since the running round began takes no part in it, and does not sit it out.
            self._asked_to = self._newest
        if self._clock is not None:
            self._clock.move_on(now)
        self._began_at = now
        self._rest()
        job = None
        if not self._is_running and self._roster.players >= self._queue.format.k_min:
            self._is_running = True
            self._number += 1
            job = self._job(now)
        return Decision(wake_at=self._round_at(now), job=job)

    def settle(self, result: JobResult, now: float) -> Decision:
        """Start the matches of a round."""
        if result.number == self._number and self._is_running:
            self._is_running = False
            for tickets in result.matches:
                for ticket_id in tickets:
                    self._forget(ticket_id)
            for sequence in self._roster.tickets:
                if sequence <= self._asked_to:
                    self._sat_out[sequence] = self._sat_out.get(sequence, 0) + 1
            self._rest()
            groups = tuple([Grouping(tickets) for tickets in result.matches])
            return Decision(groups, max(self._round_at(now), now))
        return Decision(wake_at=max(self._round_at(now), now))

    def memory(self) -> Memory:
        """Return where the rounds are, and who has sat out how many."""
        beat: Memory = {"began_at": self._began_at} if self._clock is None else self._clock.memory()
        return {
            **beat,
            "number": self._number,
            "is_running": self._is_running or self._is_lost,
            "sat_out": [[sequence, count] for sequence, count in self._sat_out.items()],
            "newest": self._newest,
            "asked_to": self._asked_to,
            "arrivals": self._rate.memory(),
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

    def _round_at(self, now: float) -> float:
        """Return when the next round begins as things stand."""
        if self._is_lost and self._roster.players:
            return now
        if self._clock is not None:
            return self._clock.round_at
        if self._began_at is None or self._is_running:
            return math.inf
        wanted = self._chosen.players
        has_news = self._newest > self._asked_to
        if wanted is not None and has_news and self._roster.players >= wanted:
            return now
        assert self._chosen.wait_max is not None
        return self._began_at + round_up(self._chosen.wait_max)

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
        from evenmatch.policies.parts.batching import with_worth

        tickets = self._roster.by_age()
        count = len(tickets)
        worths = []
        for place, ticket in enumerate(tickets):
            sat_out = self._sat_out.get(ticket.sequence, 0)
            worth = WAITING_WORTH * (sat_out + (count - place) / count)
            worths.append(worth + (URGENT if sat_out >= self._chosen.skips else 0.0))
        batch = with_worth(self._roster.batch(tickets, now), worths)
        root = blake2b(f"{self._seed}/{self._queue.name}/{self._number}".encode(), digest_size=8)
        seed = int.from_bytes(root.digest(), "big")
        objective = Objective(self._queue)

        def allows(group: Sequence[Ticket]) -> bool:
            seating = objective.seat(group, now=now)
            return seating is not None and seating.ready_at <= now

        return RoundJob(self._number, batch, tickets, allows, self._search, seed=seed)
