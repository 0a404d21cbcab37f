"""A policy with jobs for tests: each round, the best of several pairings in random order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.rules import Rules
from evenmatch.errors import ConfigError
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket, attribute_of
from evenmatch.policies.base import Decision, Grouping, Job, JobResult, Matcher, Memory
from evenmatch.policies.shared.round_clock import RoundClock

NOISE = 100.0
"""Spread of what is added to each rating before the sort, in points."""


class Shuffles(msgspec.Struct, frozen=True, kw_only=True):
    """Pair neighbours of a noisy order, `parts` times, and play the pairing of the smallest gaps.

    Args:
        every: Seconds between rounds.
        parts: Pairings that are tried.
    """

    jobs = True

    every: float = 4.0
    parts: int = 3

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for duels."""
        if not queue.format.is_duel:
            raise ConfigError("duels only")
        return ShufflesMatcher(self, queue, seed, memory or {})


class Pairing(msgspec.Struct, frozen=True):
    """A job: the tickets of a round, copied."""

    number: int
    parts: int
    seeds: tuple[int, ...]
    ids: tuple[str, ...]
    ratings: NDArray[np.float64]
    may_play: NDArray[np.bool_]

    def solve(self, part: int) -> list[tuple[int, int]]:
        """Return one pairing as places in `ids`."""
        rng = np.random.default_rng([*self.seeds, part])
        order = np.argsort(self.ratings + rng.normal(0.0, NOISE, len(self.ids)), kind="stable")
        pairs = []
        free = [int(place) for place in order]
        while free:
            first = free.pop(0)
            for other in free:
                if self.may_play[first, other]:
                    free.remove(other)
                    pairs.append((first, other))
                    break
        return pairs

    def combine(self, results: Sequence[Any]) -> JobResult:
        """Return the pairing with most matches, and of these the smallest gaps."""

        def worth(pairs: list[tuple[int, int]]) -> tuple[int, float]:
            gaps = [abs(self.ratings[one] - self.ratings[other]) for one, other in pairs]
            return (-len(pairs), float(sum(gaps)))

        best = min(results, key=worth)
        matches = tuple((self.ids[one], self.ids[other]) for one, other in best)
        return JobResult(self.number, matches)


class ShufflesMatcher:
    """The waiting tickets by age, the clock of rounds, and the number of the job that runs."""

    def __init__(self, chosen: Shuffles, queue: Queue, seed: int, memory: Memory) -> None:
        self.policy, self.queue, self.seed = chosen, queue, seed
        self.rules = Rules(queue)
        self.clock = RoundClock(chosen.every, memory)
        self.pool: dict[str, Ticket] = {}
        self.asked = 0
        self.running: int | None = None

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in."""
        assert isinstance(entry, Ticket)
        self.pool[entry.id] = entry
        self.pool = {t.id: t for t in sorted(self.pool.values(), key=lambda t: t.age_key)}
        self.clock.start(now)

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket."""
        del now
        del self.pool[entry_id]

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Ask for a pairing when a round is due and none is on its way."""
        if not fired or not self.clock.is_due(now, fired):
            return Decision(wake_at=max(self.clock.round_at, now))
        self.clock.move_on(now)
        job = self.pairing(now) if self.running is None else None
        if not self.pool:
            self.clock.stop()
        return Decision(wake_at=self.clock.round_at, job=job)

    def pairing(self, now: float) -> Job | None:
        """Return a job for the tickets of now; None if no two of them may play."""
        tickets = tuple(self.pool.values())
        may_play = np.zeros((len(tickets), len(tickets)), dtype=np.bool_)
        for one, first in enumerate(tickets):
            for other in range(one):
                ready_at = self.rules.pair_ready_at(tickets[other], first)
                may_play[one, other] = may_play[other, one] = ready_at <= now
        if not may_play.any():
            return None
        self.asked += 1
        self.running = self.asked
        return Pairing(
            self.asked,
            self.policy.parts,
            (self.seed, tickets[0].sequence, tickets[-1].sequence),
            tuple(ticket.id for ticket in tickets),
            np.array([rating_of(ticket) for ticket in tickets]),
            may_play,
        )

    def settle(self, result: JobResult, now: float) -> Decision:
        """Play what is left of the pairing."""
        if result.number != self.running:
            return self.decide(now)
        self.running = None
        for ids in result.matches:
            for ticket_id in ids:
                del self.pool[ticket_id]
        wake_at = max(self.clock.round_at, now)
        return Decision(tuple(Grouping(ids) for ids in result.matches), wake_at)

    def memory(self) -> Memory:
        """Return when the next round is; a job that runs is forgotten."""
        return self.clock.memory()


def rating_of(ticket: Ticket) -> float:
    """Return the player's rating, 0 for one without."""
    value = attribute_of(ticket, ticket.players[0], "rating")
    return value if isinstance(value, float) else 0.0
