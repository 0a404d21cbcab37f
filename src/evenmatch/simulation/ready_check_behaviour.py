"""How players answer ready-checks in a simulation: they accept, decline, or say nothing.

What a player does depends on the seed, on their ticket's number among the arrivals and on how
often they were asked, and on nothing else: another policy, or another way to repair, meets the
same people.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from evenmatch.model.events import Event, Proposed, Repaired
from evenmatch.model.inputs import Accept, Decline
from evenmatch.model.scenario import Answers

Answer = Accept | Decline
ACCEPT, DECLINE, SILENT = "accept", "decline", "silent"


class PlayerAnswer(NamedTuple):
    """What a player answers to a ready-check, and after how many seconds."""

    says: str
    after: float


def answers_of(
    answers: Answers, seeds: np.random.SeedSequence, asking: tuple[int, int], players: int
) -> list[PlayerAnswer]:
    """Return how each player of a ticket answers a ready-check.

    Args:
        answers: How players answer.
        seeds: The run's seed; answers have a stream of their own.
        asking: The ticket's number among the arrivals, from 0, and how often it was asked, from 1,
            with this time.
        players: How many players it has.
    """
    key = (*seeds.spawn_key, *b"answers", *asking)
    stream = np.random.default_rng(np.random.SeedSequence(seeds.entropy, spawn_key=key))
    drawn: list[list[float]] = stream.random((players, 2)).tolist()
    return [
        PlayerAnswer(_says(answers, lot), after * 2.0 * answers.seconds) for lot, after in drawn
    ]


def _says(answers: Answers, lot: float) -> str:
    if lot < answers.silent:
        return SILENT
    return DECLINE if lot < answers.silent + answers.decline else ACCEPT


class AnswerStream:
    """The answers that are still to come.

    Args:
        answers: How players answer.
        seeds: The run's seed; answers have a stream of their own.
        players_of: The players of a ticket, by its id.
        row_of: A ticket's number among the arrivals, by its id.
    """

    def __init__(
        self,
        answers: Answers,
        seeds: np.random.SeedSequence,
        players_of: Callable[[str], tuple[str, ...]],
        row_of: Callable[[str], int],
    ) -> None:
        self._given = answers
        self._seeds = seeds
        self._players_of = players_of
        self._row_of = row_of
        self._asked: dict[str, int] = {}
        self._due: list[tuple[float, int, Answer]] = []
        self._count = 0

    @property
    def at(self) -> float:
        """Return the instant of the next answer; inf if there is none."""
        return self._due[0][0] if self._due else math.inf

    def take(self) -> Answer:
        """Return the next answer."""
        return heapq.heappop(self._due)[2]

    def hear(self, event: Event, now: float) -> None:
        """Draw the answers of the players whom an event asks."""
        if isinstance(event, Proposed):
            self._ask(event.match.id, event.match.tickets, now)
        elif isinstance(event, Repaired):
            self._ask(event.match.id, event.joined, now)

    def _ask(self, match_id: str, tickets: Iterable[str], now: float) -> None:
        for ticket_id in tickets:
            asked = self._asked[ticket_id] = self._asked.get(ticket_id, 0) + 1
            players = self._players_of(ticket_id)
            answers = answers_of(
                self._given, self._seeds, (self._row_of(ticket_id), asked), len(players)
            )
            for player, answer in zip(players, answers, strict=True):
                if answer.says == SILENT:
                    continue
                at = now + answer.after
                kind = Decline if answer.says == DECLINE else Accept
                self._count += 1
                given = kind(at, match_id, ticket_id, (player,))
                heapq.heappush(self._due, (at, self._count, given))
