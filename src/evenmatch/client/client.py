"""The client of a server: `AsyncClient`, and `Client` for programs without an event loop."""

from __future__ import annotations

import asyncio
import os
import ssl
import threading
from collections.abc import AsyncIterable, AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from inspect import CORO_CREATED, getcoroutinestate
from typing import Any, TypeVar

from evenmatch.client.async_client import AsyncClient as AsyncClient
from evenmatch.client.exchange import Retry as Retry
from evenmatch.client.exchange import ServerRefused as ServerRefused
from evenmatch.client.exchange import ServerUnreachable as ServerUnreachable
from evenmatch.client.streams import TicketStream as TicketStream
from evenmatch.errors import ConfigError
from evenmatch.wire.live import (
    Explanation,
    LongestWaiting,
    StreamEvent,
    StreamProblem,
    UpdateTicket,
)
from evenmatch.wire.matches import FeedMatch, FeedPage, MatchState, ReportOutcome
from evenmatch.wire.tickets import (
    CreateTicket,
    ItemCreated,
    ItemProblem,
    PlayerRating,
    QueueState,
    QueueStats,
    TicketCreated,
    TicketListed,
    TicketState,
)

ItemT = TypeVar("ItemT")


class Client:
    """`AsyncClient` for programs without an event loop: `with Client(url) as client`.

    It works in one thread at a time, of the process that made it.

    Args:
        url: The server's address.
        token: A service key or a player's token.
        timeout: Seconds to wait for an answer; for a long poll as many more as its `wait`.
        retry: How often to try a request; `Retry(tries=1)` repeats nothing.
        tls: The TLS settings for https; by default it trusts the certificates that the system
            trusts.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 30.0,
        retry: Retry | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._client = AsyncClient(url, token=token, timeout=timeout, retry=retry, tls=tls)
        self._runner = asyncio.Runner()
        self._process = os.getpid()
        self._is_free = threading.Lock()
        self._is_closed = False

    def __enter__(self) -> Client:
        """Return the client."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close all connections; another process than its own leaves them alone."""
        if self._process == os.getpid():
            self._run(self._client.__aexit__())
            self._is_closed = True
            self._runner.close()

    # Tickets

    def create(self, ticket: CreateTicket, *, key: str | None = None) -> TicketCreated:
        """Create a ticket; with a `key` of your own, repeated calls create it only once."""
        return self._run(self._client.create(ticket, key=key))

    def create_many(
        self, tickets: Sequence[CreateTicket], *, key: str | None = None
    ) -> list[ItemCreated | ItemProblem]:
        """Create up to 1,000 tickets."""
        return self._run(self._client.create_many(tickets, key=key))

    def get(
        self, ticket: str, *, wait: float = 0.0, state: str | None = None, match: str | None = None
    ) -> TicketState:
        """Return a ticket; with `wait`, at its next change of state or match."""
        return self._run(self._client.get(ticket, wait=wait, state=state, match=match))

    def tickets(self, player: str) -> list[TicketListed]:
        """Return a player's tickets; see `AsyncClient.tickets`."""
        return self._run(self._client.tickets(player))

    def cancel(self, ticket: str) -> str:
        """Cancel a waiting ticket, and return its state."""
        return self._run(self._client.cancel(ticket))

    def update(self, ticket: str, new: UpdateTicket) -> TicketState:
        """Give a waiting ticket new attributes, ratings or roles; it keeps its place."""
        return self._run(self._client.update(ticket, new))

    def heartbeat(self, ticket: str) -> TicketState:
        """Say that the ticket's players are still there."""
        return self._run(self._client.heartbeat(ticket))

    def explain(self, ticket: str) -> Explanation:
        """Return why a ticket still waits, or how it ended."""
        return self._run(self._client.explain(ticket))

    def events(self, ticket: str) -> Iterator[TicketState]:
        """Yield a ticket's present state, then each change until it ends."""
        return self._iterate(self._client.events(ticket))

    def stream(self, *tickets: str) -> Iterator[StreamEvent | StreamProblem]:
        """Yield the changes of many tickets, without end."""
        return self._iterate(self._client.stream(*tickets))

    # Ready-checks

    def accept(self, match: str, ticket: str, *players: str) -> TicketState:
        """Accept a proposed match for a ticket, or for some of its players."""
        return self._run(self._client.accept(match, ticket, *players))

    def decline(self, match: str, ticket: str, *players: str) -> TicketState:
        """Decline a proposed match for a ticket."""
        return self._run(self._client.decline(match, ticket, *players))

    # Matches

    def match(self, match: str) -> MatchState:
        """Return a match, made or proposed."""
        return self._run(self._client.match(match))

    def assign(self, match: str, assignment: Mapping[str, str]) -> MatchState:
        """Say where a match is played; its players are told."""
        return self._run(self._client.assign(match, assignment))

    def finish(self, match: str) -> MatchState:
        """End a live match, so that its players may queue again."""
        return self._run(self._client.finish(match))

    def report(self, match: str, outcome: ReportOutcome) -> MatchState:
        """Report how a match ended."""
        return self._run(self._client.report(match, outcome))

    def page(self, queue: str, after: int | None = None, *, wait: float = 0.0) -> FeedPage:
        """Return the matches that came after a record."""
        return self._run(self._client.page(queue, after, wait=wait))

    def matches(self, queue: str, after: int | None = None) -> Iterator[FeedMatch]:
        """Yield every match of a queue, without end."""
        return self._iterate(self._client.matches(queue, after))

    # Queues and the server

    def rating(self, player: str, queue: str | None = None) -> PlayerRating:
        """Return a player's rating."""
        return self._run(self._client.rating(player, queue))

    def queues(self) -> list[QueueState]:
        """Return all queues."""
        return self._run(self._client.queues())

    def stats(self, queue: str) -> QueueStats:
        """Return the figures of a queue."""
        return self._run(self._client.stats(queue))

    def longest_waiting(self, queue: str, most: int = 20) -> LongestWaiting:
        """Return the longest waiting tickets of a queue, each with a sentence that says why."""
        return self._run(self._client.longest_waiting(queue, most))

    def healthz(self) -> bool:
        """Return whether the server is alive."""
        return self._run(self._client.healthz())

    def _run(self, work: Coroutine[Any, Any, ItemT]) -> ItemT:
        if self._process != os.getpid():
            work.close()
            raise ConfigError(
                "a Client works in the process that made it: its connections would mix up the "
                "answers of several; make one in each process"
            )
        if not self._is_free.acquire(blocking=False):
            work.close()
            raise ConfigError(
                "a Client does one thing at a time, and another thread is using this one; make "
                "one in each thread, or use AsyncClient"
            )
        try:
            return self._runner.run(work)
        except RuntimeError as error:
            # One that never began: it would be warned of as well.
            if getcoroutinestate(work) != CORO_CREATED:
                raise
            work.close()
            raise ConfigError(
                "a Client works until it is closed, and only where no event loop runs; in a "
                "notebook, or in a coroutine, use AsyncClient"
            ) from error
        finally:
            self._is_free.release()

    def _iterate(self, items: AsyncIterable[ItemT]) -> Iterator[ItemT]:
        iterator: AsyncIterator[ItemT] = aiter(items)

        async def following() -> ItemT:
            return await anext(iterator)

        async def close() -> None:
            if (closing := getattr(iterator, "aclose", None)) is not None:
                await closing()

        try:
            while True:
                try:
                    yield self._run(following())
                except StopAsyncIteration:
                    return
        finally:
            # A closed client has ended it already; that of another process is not ours to end.
            if not self._is_closed and self._process == os.getpid():
                self._run(close())
