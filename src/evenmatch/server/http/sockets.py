"""`WS /v1/stream`: many tickets over one connection, for a backend or a lobby.

    client: {"follow": ["s0-1", "s0-2"], "after": 0}     {"unfollow": ["s0-1"]}
    server: {"event": "matched", "sequence": 7, "ticket": {...}}
            {"event": "problem", "ticket": "s0-9", "problem": {...}}

Events are those of a ticket's own stream: its present state first, unless `after` says that the
client has seen it, then each change; a ticket that has ended for good is followed no longer.

The sequence is one for all tickets, and one record can change several of them. So whoever comes
back follows with `after` = the highest that they have seen, less one, and drops what comes twice.
A client that does not read is cut, one that does not answer pings too, and each when keys change:
1013 asks it to come back. 1008 is for one whose token or key is valid no more, and tells it not to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from evenmatch.engine.engine import Engine
from evenmatch.engine.state.rows import TicketView
from evenmatch.errors import MatchmakingError, Refusal
from evenmatch.server.auth.ownership import check_ticket
from evenmatch.server.auth.principal import Principal, principal_of
from evenmatch.server.http.responses import (
    InvalidRequest,
    Message,
    Receive,
    Scope,
    Send,
    encode,
    problem_of,
)
from evenmatch.server.runtime.services import Services
from evenmatch.server.views.followers import FINAL, SEND_SECONDS, Event, Follower, event_of
from evenmatch.wire.live import FollowTickets, StreamProblem
from evenmatch.wire.tickets import decode

FOLLOWED_MAX = 1_000
"""Tickets that one connection may follow."""
TICKETS_OF_A_REQUEST = 100
"""Tickets that a message may begin to follow for the price of one request."""
INBOX_MAX = 2 * FOLLOWED_MAX
"""Events that may wait for one connection: one record can change all its tickets."""
CUT = 1013
"""Close code: try again later; the client was too slow, keys have changed, or the server stops."""
NOT_VALID = 1008
"""Close code: do not come back with this token or key; it has expired or was revoked."""
PROBLEM = "problem"
COMMAND = 'an object such as {"follow": ["s0-1"], "after": 0} or {"unfollow": ["s0-1"]}'


class StreamRoute:
    """The route."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one client until it leaves or is cut."""
        principal, take = principal_of(scope), scope.get("take", _nothing)
        counts = scope.get("counts", _yes)
        del scope
        followers = self._services.followers
        follower = followers.admit(INBOX_MAX)
        writer, followed = (
            _Writer(follower, send, counts),
            _FollowedTickets(self._services, follower, principal),
        )
        budget = _Budget(follower, take)
        try:
            if (await receive())["type"] != "websocket.connect":
                return
            await send({"type": "websocket.accept"})
            follower.wake = writer.wake
            if follower.is_cut:
                writer.wake()
            # When the client is cut, the server closes, and the end of it is received too.
            while (message := await receive())["type"] != "websocket.disconnect":
                await budget.spend()
                await followed.take(message, budget)
        finally:
            follower.wake = None
            writer.stop()
            followed.clear()
            followers.dismiss(follower)


class _Writer:
    """Sends what is in a client's inbox; there is a task only while there is something to send."""

    __slots__ = ("_counts", "_follower", "_send", "_task")

    def __init__(self, follower: Follower, send: Send, counts: Callable[[], bool]) -> None:
        self._follower = follower
        self._send = send
        self._counts = counts
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Send what there is to send, if that is not being done already."""
        if self._task is None:
            self._task = asyncio.create_task(self._write())

    def stop(self) -> None:
        """Send nothing any more."""
        if self._task is not None:
            self._task.cancel()

    async def _write(self) -> None:
        try:
            await self._empty()
        except (OSError, RuntimeError):
            # The connection is lost, or uvicorn closes it by itself; that is received as well.
            self._follower.wake = None

    async def _empty(self) -> None:
        follower, send, clock = self._follower, self._send, asyncio.get_running_loop().time
        began = clock()
        try:
            async with asyncio.timeout_at(began + SEND_SECONDS) as limit:
                while (event := follower.take()) is not None:
                    # Each event has its time, up to a second: to set a timer for each of a
                    # thousand that go out at once would cost as much as to send them.
                    if (now := clock()) - began >= 1.0:
                        began = now
                        limit.reschedule(now + SEND_SECONDS)
                    await send({"type": "websocket.send", "text": _text(event)})
        except TimeoutError:
            follower.cut()
        self._task = None
        if follower.is_cut:
            # Nobody is left to wake it.
            follower.wake = None
            code = CUT if self._counts() else NOT_VALID
            await send({"type": "websocket.close", "code": code})


class _Budget:
    """What one client may ask for: each message is a request, and more for each 100 tickets.

    A client that asks more often is read more slowly, and loses nothing.
    """

    __slots__ = ("_follower", "_take")

    def __init__(self, follower: Follower, take: Callable[[], float]) -> None:
        self._follower = follower
        self._take = take

    async def spend(self, requests: int = 1) -> None:
        """Wait until the client's bucket has held so many requests, or the client is cut."""
        for _ in range(requests):
            while (wait := self._take()) and not self._follower.is_cut:
                await asyncio.sleep(wait)


class _FollowedTickets:
    """What one client follows."""

    __slots__ = ("_followed", "_follower", "_principal", "_services")

    def __init__(self, services: Services, follower: Follower, principal: Principal) -> None:
        self._services = services
        self._follower = follower
        self._principal = principal
        # In the order in which they were asked for: strings in a set have another in each process.
        self._followed: dict[str, None] = {}

    async def take(self, message: Message, budget: _Budget) -> None:
        """Do what a client's message says, or tell it what is wrong."""
        try:
            command = _decode(message)
            for ticket_id in command.unfollow:
                self.part(ticket_id)
            new = [each for each in command.follow if not self._hears_of(each)]
            if len(new) + len(self._followed) > FOLLOWED_MAX:
                self._forget_ended()
            if len(new) + len(self._followed) > FOLLOWED_MAX:
                raise InvalidRequest(
                    f"a connection can follow at most {FOLLOWED_MAX} tickets; unfollow some, or "
                    f"open another connection",
                    where="/follow",
                )
            if new:
                await budget.spend(len(new) // TICKETS_OF_A_REQUEST)
                await self._join(dict.fromkeys(new), command.after)
        except MatchmakingError as error:
            self._tell_problem(error)

    def part(self, ticket_id: str) -> None:
        """Follow a ticket no longer."""
        if ticket_id in self._followed:
            del self._followed[ticket_id]
            self._services.tickets.part(ticket_id, self._follower)

    def clear(self) -> None:
        """Follow nothing any more."""
        for ticket_id in list(self._followed):
            self.part(ticket_id)

    def _hears_of(self, ticket_id: str) -> bool:
        """Return whether the client is told of a ticket: of one that has ended it is no longer."""
        return self._services.tickets.follows(ticket_id, self._follower)

    def _forget_ended(self) -> None:
        """Follow no longer what has ended for good, or is kept no longer."""
        tables = self._services.runtime.engine.tables
        for ticket_id in list(self._followed):
            is_kept = ticket_id in tables.waiting or ticket_id in tables.ended
            if not (is_kept and self._hears_of(ticket_id)):
                self.part(ticket_id)

    async def _join(self, ticket_ids: dict[str, None], after: int) -> None:
        services, now = self._services, self._services.runtime.now()
        seen = services.matches.seen(after)

        def query(engine: Engine) -> list[TicketView | tuple[str, Refusal]]:
            return [self._view(engine, ticket_id) for ticket_id in ticket_ids]

        def joined(found: list[TicketView | tuple[str, Refusal]]) -> None:
            for each in found:
                if isinstance(each, tuple):
                    self._tell_problem(each[1], each[0])
                    continue
                if each.changed > seen:
                    estimate = services.waits.estimate(services.runtime.engine, each.id, now)
                    self._follower.offer(event_of(each, now, estimate))
                if each.state not in FINAL:
                    self._followed[each.id] = None
                    services.tickets.join(each, self._follower)

        await services.runtime.look(query, then=joined)

    def _view(self, engine: Engine, ticket_id: str) -> TicketView | tuple[str, Refusal]:
        try:
            check_ticket(self._principal, engine, ticket_id)
            return engine.view(ticket_id)
        except Refusal as refusal:
            return ticket_id, refusal

    def _tell_problem(self, error: MatchmakingError, ticket_id: str | None = None) -> None:
        _, problem = problem_of(error)
        self._follower.offer(Event(0, PROBLEM, encode(StreamProblem(PROBLEM, ticket_id, problem))))


def _nothing() -> float:
    """Take nothing, where callers have no bucket."""
    return 0.0


def _yes() -> bool:
    """Let everybody come back, where callers have no credential."""
    return True


def denying(send: Send) -> Send:
    """Return what sends an HTTP response to a client that asked for a WebSocket."""

    async def deny(message: Message) -> None:
        await send({**message, "type": f"websocket.{message['type']}"})

    return deny


def _text(event: Event) -> str:
    if event.name == PROBLEM:
        return event.body.decode()
    return f'{{"event":"{event.name}","sequence":{event.sequence},"ticket":{event.body.decode()}}}'


def _decode(message: Message) -> FollowTickets:
    text = message.get("text")
    if text is None:
        raise InvalidRequest(f"a message must be text: {COMMAND}")
    command = decode(text.encode(), FollowTickets, COMMAND)
    if command.after < 0:
        raise InvalidRequest(
            f"after must be a whole number >= 0, got {command.after}", where="/after"
        )
    return command
