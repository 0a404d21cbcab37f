"""The players of the demo: they hear of their matches, and accept, decline or stay silent."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from evenmatch.client.client import AsyncClient, ServerRefused, TicketStream
from evenmatch.model.scenario import Answers
from evenmatch.simulation.ready_check_behaviour import (
    ACCEPT,
    DECLINE,
    SILENT,
    PlayerAnswer,
    answers_of,
)
from evenmatch.wire.live import StreamEvent, StreamProblem
from evenmatch.wire.tickets import TicketState

SEEDS = np.random.SeedSequence(1)
"""Of the answers; those of a simulation with seed 1, which has the same players."""
FOLLOWED_MAX = 900
"""Tickets of one stream; a server allows 1,000."""
UNFOLLOWED_AT_ONCE = 100
ENDS = ("matched", "cancelled", "expired")
SAID = {DECLINE: "declined", SILENT: "silent"}
"""The reason with which a server ends the ticket of a party that answers so."""


class Party(msgspec.Struct, frozen=True, gc=False):
    """Who plays together, and the number of their ticket among those accepted."""

    players: tuple[str, ...]
    place: int


class ConnectedPlayers:
    """All parties that wait, and what they have heard.

    `proposed` and `failed` are matches that were proposed, and proposals that lost somebody;
    `ended` says of tickets that ended without a match why, `asked_after` of those that were asked
    how long they had waited, in seconds of the world; `trips` are the real seconds that each
    answer took to the server and back.

    Args:
        client: Talks to the server.
        answers: How players answer.
        speed: Seconds of the world per real second.
    """

    def __init__(self, client: AsyncClient, answers: Answers, speed: float) -> None:
        self.proposed: set[str] = set()
        self.failed: set[str] = set()
        self.ended: dict[str, str] = {}
        self.asked_after: dict[str, float] = {}
        self.trips: list[float] = []
        self._client = client
        self._given = answers
        self._speed = speed
        self._parties: dict[str, Party] = {}
        self._times_asked: Counter[str] = Counter()
        self._asked: dict[str, str] = {}
        self._mind: dict[str, str] = {}
        self._accepted: set[tuple[str, str, str]] = set()
        self._ears: list[_MatchListener] = []
        self._speaking: set[asyncio.Task[None]] = set()
        self._error: BaseException | None = None

    @property
    def backlog(self) -> int:
        """Return how many answers are under way."""
        return len(self._speaking)

    async def join(self, parties: Mapping[str, Party]) -> None:
        """Follow tickets, and answer for their players."""
        self._parties.update(parties)
        tickets = list(parties)
        ear = next((each for each in self._ears if each.has_room(len(tickets))), None)
        if ear is None:
            ear = _MatchListener(self._client.stream())
            self._ears.append(ear)
            ear.task = asyncio.create_task(self._listen(ear))
            ear.task.add_done_callback(self._note)
        await ear.follow(tickets)

    def check(self) -> None:
        """Raise what went wrong while nobody looked."""
        if self._error is not None:
            raise self._error

    async def close(self) -> None:
        """Hear no more."""
        tasks = [*self._speaking, *(each.task for each in self._ears if each.task is not None)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def left_as_meant(self, ticket: str, reason: str | None) -> bool:
        """Return whether a ticket that ended without a match has itself to blame.

        So it has if one of its players declined, or had not accepted its last proposal in time.
        """
        if reason == SAID[DECLINE]:
            return self._mind.get(ticket) == DECLINE
        match = self._asked.get(ticket)
        return reason == SAID[SILENT] and not (
            match is not None
            and all((ticket, match, each) in self._accepted for each in self._players(ticket))
        )

    def count(self, mind: str, reason: str) -> int:
        """Return how many tickets of parties of one mind ended without a match for a reason."""
        return sum(why == reason and self._mind.get(t) == mind for t, why in self.ended.items())

    def _players(self, ticket: str) -> tuple[str, ...]:
        return self._parties[ticket].players

    async def _listen(self, ear: _MatchListener) -> None:
        async for event in ear.stream:
            self._hear(event, ear)

    def _hear(self, event: StreamEvent | StreamProblem, ear: _MatchListener) -> None:
        if isinstance(event, StreamProblem):
            # Whatever it is, checking the ticket at the end will tell.
            return
        ticket, state = event.ticket, event.ticket.state
        if state == "proposed" and ticket.match is not None:
            self._hear_proposal(ticket, ticket.match)
        elif state == "waiting" and ticket.id in self._asked:
            self.failed.add(self._asked.pop(ticket.id))
        elif state in ("cancelled", "expired"):
            self.ended[ticket.id] = ticket.reason or ""
            if ticket.match is not None:
                self.failed.add(ticket.match)
        if state in ENDS:
            ear.over.append(ticket.id)

    def _hear_proposal(self, ticket: TicketState, match: str) -> None:
        self.proposed.add(match)
        self.asked_after.setdefault(ticket.id, ticket.wait)
        if self._asked.get(ticket.id) == match:
            return
        self._asked[ticket.id] = match
        self._times_asked[ticket.id] += 1
        party = self._parties[ticket.id]
        asking = (party.place, self._times_asked[ticket.id])
        answers = answers_of(self._given, SEEDS, asking, len(party.players))
        said = {answer.says for answer in answers}
        self._mind[ticket.id] = next(each for each in (DECLINE, SILENT, ACCEPT) if each in said)
        for player, answer in zip(party.players, answers, strict=True):
            if answer.says != SILENT:
                task = asyncio.create_task(self._answer(ticket.id, match, player, answer))
                self._speaking.add(task)
                task.add_done_callback(self._spoken)

    async def _answer(self, ticket: str, match: str, player: str, answer: PlayerAnswer) -> None:
        if answer.after:
            await asyncio.sleep(answer.after / self._speed)
        began = time.monotonic()
        try:
            if answer.says == DECLINE:
                await self._client.decline(match, ticket, player)
            else:
                await self._client.accept(match, ticket, player)
                self._accepted.add((ticket, match, player))
            self.trips.append(time.monotonic() - began)
        except ServerRefused as refused:
            # The others were faster: the proposal has failed meanwhile.
            if refused.is_passing:
                raise

    def _spoken(self, task: asyncio.Task[None]) -> None:
        self._speaking.discard(task)
        self._note(task)

    def _note(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._error = self._error or error


class _MatchListener:
    """One stream, the tickets that it follows, and those that are over."""

    def __init__(self, stream: TicketStream) -> None:
        self.stream = stream
        self.task: asyncio.Task[None] | None = None
        self.over: list[str] = []
        self._followed = 0

    def has_room(self, count: int) -> bool:
        return self._followed - len(self.over) + count <= FOLLOWED_MAX

    async def follow(self, tickets: Sequence[str]) -> None:
        if len(self.over) >= UNFOLLOWED_AT_ONCE:
            over, self.over = self.over, []
            self._followed -= len(over)
            await self.stream.unfollow(*over)
        self._followed += len(tickets)
        await self.stream.follow(*tickets)
