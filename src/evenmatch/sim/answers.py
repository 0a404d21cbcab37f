"""How players answer ready-checks in a simulation: they accept, decline, or say nothing.

What a player does depends on the seed, on his ticket's number among the arrivals and on how often
he was asked, and on nothing else: another policy, or another way to repair, meets the same people.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable

import numpy as np

from evenmatch.model.events import Event, Proposed, Repaired
from evenmatch.model.inputs import Accept, Decline
from evenmatch.model.scenario import Answers

Answer = Accept | Decline


class AnswerStream:
    """The answers that are on their way.

    Args:
        given: How players answer.
        seeds: The run's seed; answers have a stream of their own.
        players_of: The players of a ticket, by its id.
        place_of: A ticket's number among the arrivals, by its id.
    """

    def __init__(
        self,
        given: Answers,
        seeds: np.random.SeedSequence,
        players_of: Callable[[str], tuple[str, ...]],
        place_of: Callable[[str], int],
    ) -> None:
        self._given = given
        self._seeds = seeds
        self._players_of = players_of
        self._place_of = place_of
        self._asked: dict[str, int] = {}
        self._due: list[tuple[float, int, Answer]] = []
        self._count = 0

    @property
    def at(self) -> float:
        """Return the instant of the next answer; inf if none is on its way."""
        return self._due[0][0] if self._due else math.inf

    def take(self) -> Answer:
        """Return the next answer."""
        return heapq.heappop(self._due)[2]

    def hear(self, event: Event, now: float) -> None:
        """Let the players who are asked by an event think of their answers."""
        if isinstance(event, Proposed):
            self._ask(event.match.id, event.match.tickets, now)
        elif isinstance(event, Repaired):
            self._ask(event.match.id, event.joined, now)

    def _ask(self, match_id: str, tickets: Iterable[str], now: float) -> None:
        for ticket_id in tickets:
            asked = self._asked[ticket_id] = self._asked.get(ticket_id, 0) + 1
            players = self._players_of(ticket_id)
            for player, (will, after) in zip(
                players, self._drawn(ticket_id, asked, len(players)), strict=True
            ):
                if will < self._given.silent:
                    continue
                at = now + after * 2.0 * self._given.seconds
                kind = Decline if will < self._given.silent + self._given.decline else Accept
                self._count += 1
                answer = kind(at, match_id, ticket_id, (player,))
                heapq.heappush(self._due, (at, self._count, answer))

    def _drawn(self, ticket_id: str, asked: int, players: int) -> list[list[float]]:
        """Return two uniform numbers for each player of a ticket."""
        key = (*self._seeds.spawn_key, *b"answers", self._place_of(ticket_id), asked)
        stream = np.random.default_rng(np.random.SeedSequence(self._seeds.entropy, spawn_key=key))
        drawn: list[list[float]] = stream.random((players, 2)).tolist()
        return drawn
