"""`AsyncClient`: the routes that games and their backends use, typed, on asyncio's own streams."""

from __future__ import annotations

import asyncio
import secrets
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import TypeVar
from urllib.parse import quote, urlencode

import msgspec

from evenmatch.client.exchange import (
    ASKED_MOST,
    Chance,
    Exchange,
    Request,
    Retry,
    ServerRefused,
    ServerUnreachable,
)
from evenmatch.client.streams import OVER, TicketStream, events
from evenmatch.wire.live import Explanation, LongestWaiting, UpdateTicket
from evenmatch.wire.matches import AnswerCheck, FeedMatch, FeedPage, MatchState, ReportOutcome
from evenmatch.wire.tickets import (
    CreateTicket,
    ItemCreated,
    ItemProblem,
    PlayerRating,
    QueueState,
    QueueStats,
    TicketCancelled,
    TicketCreated,
    TicketListed,
    TicketState,
)

POLL_SECONDS = 25.0

ShapeT = TypeVar("ShapeT")


class AsyncClient:
    """Talks to one server: `async with AsyncClient("http://127.0.0.1:8080") as client`.

    The client repeats a request, if that is safe, after a lost connection, while the server is
    overloaded or cannot write, and while a proxy does not reach it. To make creates safe to repeat,
    it sends them with an idempotency key.

    Args:
        url: The server's address.
        token: A service key or a player's token.
        connections_max: Most requests under way at the same time, and most long polls beside them;
            streams do not count.
        timeout: Seconds to wait for an answer, and before it for others to be done if there are too
            many; a long poll may take as many more as its `wait`, and waits for others as long as
            it takes.
        retry: How often to try a request; `Retry(tries=1)` repeats nothing.
        tls: The TLS settings for https; by default it trusts the certificates that the system
            trusts.
        chance: Draws a number in [0, 1) for each pause between tries; for tests.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        connections_max: int = 64,
        timeout: float = 30.0,
        retry: Retry | None = None,
        tls: ssl.SSLContext | None = None,
        chance: Chance | None = None,
    ) -> None:
        self._exchange = Exchange(
            url,
            token=token,
            connections_max=connections_max,
            timeout=timeout,
            retry=retry,
            tls=tls,
            chance=chance,
        )
        self.url = self._exchange.url
        self.timeout = timeout

    async def __aenter__(self) -> AsyncClient:
        """Return the client."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close all connections."""
        await self._exchange.close()

    # Tickets

    async def create(self, ticket: CreateTicket, *, key: str | None = None) -> TicketCreated:
        """Create a ticket; with a `key` of your own, repeated calls create it only once.

        Raises:
            ServerRefused: `already_waiting`, `invalid_ticket`, `overloaded`...
        """
        return await self._create(msgspec.json.encode(ticket), key, TicketCreated)

    async def create_many(
        self, tickets: Sequence[CreateTicket], *, key: str | None = None
    ) -> list[ItemCreated | ItemProblem]:
        """Create up to 1,000 tickets; the answers are in the order of the tickets."""
        raw = await self._create(msgspec.json.encode(tickets), key, list[msgspec.Raw])
        return [_item(each) for each in raw]

    async def get(
        self, ticket: str, *, wait: float = 0.0, state: str | None = None, match: str | None = None
    ) -> TicketState:
        """Return a ticket; with `wait`, at its next change of state, or after that many seconds.

        With `state` or `match` it returns at once if the ticket is no longer in that state or
        match; the match "" means none.
        """
        query = f"?wait={_seconds(wait)}" if wait else ""
        for name, known in (("state", state), ("match", match)):
            if wait and known is not None:
                query += f"&{name}={_id(known)}"
        request = Request("GET", f"/v1/tickets/{_id(ticket)}{query}", wait=wait)
        return await self._exchange.ask(request, TicketState)

    async def tickets(self, player: str) -> list[TicketListed]:
        """Return a player's tickets, newest first: waiting ones, and those that ended recently."""
        path = f"/v1/tickets?{urlencode({'player': player})}"
        return await self._ask("GET", path, list[TicketListed])

    async def cancel(self, ticket: str) -> str:
        """Cancel a waiting ticket, and return its state.

        Raises:
            ServerRefused: `too_late`: the ticket was matched before; `match` is the match.
        """
        path = f"/v1/tickets/{_id(ticket)}"
        return (await self._ask("DELETE", path, TicketCancelled)).state

    async def update(self, ticket: str, new: UpdateTicket) -> TicketState:
        """Give a waiting ticket new attributes, ratings or roles; it keeps its place.

        Raises:
            ServerRefused: `too_late`: the ticket no longer waits.
        """
        return await self._ask("PATCH", f"/v1/tickets/{_id(ticket)}", TicketState, new)

    async def heartbeat(self, ticket: str) -> TicketState:
        """Say that the ticket's players are still there, in a queue with `silent_after`."""
        return await self._ask("POST", f"/v1/tickets/{_id(ticket)}/heartbeat", TicketState)

    async def explain(self, ticket: str) -> Explanation:
        """Return why a ticket still waits, or how it ended."""
        return await self._ask("GET", f"/v1/tickets/{_id(ticket)}/explain", Explanation)

    async def events(self, ticket: str) -> AsyncGenerator[TicketState, None]:
        """Yield a ticket's present state, then each new one until it ends; go on over restarts."""
        path = f"/v1/tickets/{_id(ticket)}/events"
        async with aclosing(events(self._exchange, path)) as following:
            async for data in following:
                now = msgspec.json.decode(data, type=TicketState)
                yield now
                if now.state in OVER:
                    return

    def stream(self, *tickets: str) -> TicketStream:
        """Return the stream of many tickets: `async for event in client.stream(a, b)`."""
        return TicketStream(self._exchange, tickets)

    # Ready-checks

    async def accept(self, match: str, ticket: str, *players: str) -> TicketState:
        """Accept a proposed match for a ticket or for these players of it; repeats are harmless.

        Raises:
            ServerRefused: The ready-check is over, or the ticket was never in it.
        """
        body = AnswerCheck(ticket, players)
        return await self._ask("POST", f"/v1/matches/{_id(match)}/accept", TicketState, body)

    async def decline(self, match: str, ticket: str, *players: str) -> TicketState:
        """Decline a proposed match for a ticket; the other tickets keep their places."""
        body = AnswerCheck(ticket, players)
        return await self._ask("POST", f"/v1/matches/{_id(match)}/decline", TicketState, body)

    # Matches

    async def match(self, match: str) -> MatchState:
        """Return a match, made or proposed."""
        return await self._ask("GET", f"/v1/matches/{_id(match)}", MatchState)

    async def assign(self, match: str, assignment: Mapping[str, str]) -> MatchState:
        """Say where a match is played; its players are told."""
        path = f"/v1/matches/{_id(match)}/assignment"
        return await self._ask("PUT", path, MatchState, dict(assignment))

    async def finish(self, match: str) -> MatchState:
        """End a live match, so that its players may queue again."""
        return await self._ask("POST", f"/v1/matches/{_id(match)}/finish", MatchState)

    async def report(self, match: str, outcome: ReportOutcome) -> MatchState:
        """Report how a match ended; repeating the same report changes nothing."""
        return await self._ask("POST", f"/v1/matches/{_id(match)}/outcome", MatchState, outcome)

    async def page(self, queue: str, after: int | None = None, *, wait: float = 0.0) -> FeedPage:
        """Return the matches after a record; without one, from the oldest that is kept.

        Raises:
            ServerRefused: `forgotten`: older matches have been deleted; go on from `next`.
        """
        known = "" if after is None else f"&after={after}"
        path = f"/v1/queues/{_id(queue)}/matches?wait={_seconds(wait)}{known}"
        return await self._exchange.ask(Request("GET", path, wait=wait), FeedPage)

    async def matches(self, queue: str, after: int | None = None) -> AsyncIterator[FeedMatch]:
        """Yield every match of a queue, for ever; to go on, pass the last `seq` that you handled.

        It goes on after restarts, also behind a proxy, and if the server is overloaded or cannot
        write for a while.
        """
        exchange = self._exchange
        while True:
            try:
                page = await self.page(queue, after, wait=POLL_SECONDS)
            except ServerUnreachable:
                await asyncio.sleep(exchange.retry.pause(exchange.retry.tries, 0, exchange.chance))
                continue
            except ServerRefused as refusal:
                if not refusal.is_passing:
                    raise
                await asyncio.sleep(min(refusal.retry_after, ASKED_MOST))
                continue
            for match in page.matches:
                yield match
            after = page.next

    # Queues and the server

    async def rating(self, player: str, queue: str | None = None) -> PlayerRating:
        """Return a player's rating in the ladder of a queue, by default of the first queue."""
        query = "" if queue is None else f"?queue={_id(queue)}"
        return await self._ask("GET", f"/v1/players/{_id(player)}/rating{query}", PlayerRating)

    async def queues(self) -> list[QueueState]:
        """Return all queues."""
        return await self._ask("GET", "/v1/queues", list[QueueState])

    async def stats(self, queue: str) -> QueueStats:
        """Return the figures of a queue, with estimates of how long new tickets will wait."""
        return await self._ask("GET", f"/v1/queues/{_id(queue)}/stats", QueueStats)

    async def longest_waiting(self, queue: str, most: int = 20) -> LongestWaiting:
        """Return the longest waiting tickets of a queue, each with a sentence that says why."""
        path = f"/v1/queues/{_id(queue)}/waiting?most={most}"
        return await self._ask("GET", path, LongestWaiting)

    async def healthz(self) -> bool:
        """Return whether the server is alive; this is not repeated."""
        try:
            return (await self._exchange.once(Request("GET", "/healthz"))).status == 200
        except ServerUnreachable:
            return False

    async def _ask(
        self, method: str, path: str, shape: type[ShapeT], body: object = None
    ) -> ShapeT:
        raw = b"" if body is None else msgspec.json.encode(body)
        return await self._exchange.ask(Request(method, path, raw), shape)

    async def _create(self, body: bytes, key: str | None, shape: type[ShapeT]) -> ShapeT:
        # Without a key, a create whose answer was lost could not be asked for again safely.
        key = secrets.token_hex(16) if key is None else key
        return await self._exchange.ask(Request("POST", "/v1/tickets", body, key), shape)


class _Status(msgspec.Struct, frozen=True, gc=False):
    status: int


def _item(raw: msgspec.Raw) -> ItemCreated | ItemProblem:
    if msgspec.json.decode(raw, type=_Status).status < 400:
        return msgspec.json.decode(raw, type=ItemCreated)
    return msgspec.json.decode(raw, type=ItemProblem)


def _seconds(wait: float) -> str:
    """Return seconds as a query has them: a plus sign of an exponent would be a blank there."""
    return quote(str(wait))


def _id(name: str) -> str:
    return quote(name, safe="")
