"""The router of a game whose shards are shared out: it finds the shard that a request is about.

That follows from a ticket's or a match's id, else from the queues that are named. What is about
several shards is asked of each, and `joined_answers` joins what they say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qs, parse_qsl, unquote, urlencode

import msgspec
from starlette.requests import Request

from evenmatch.errors import InvalidTicket, MatchmakingError, NotSupported
from evenmatch.model.group_split import NAMED, GroupSplit, read_split
from evenmatch.model.shards import FIRST, ShardPart, shard_of
from evenmatch.server.cluster import joined_answers
from evenmatch.server.cluster.ask_shards import Serve, ask_each_shard, whole_answer
from evenmatch.server.cluster.configurations import Configurations
from evenmatch.server.cluster.joined_answers import WholeAnswer
from evenmatch.server.cluster.node_metrics import NodeMetrics
from evenmatch.server.cluster.queue_names import QueueNames
from evenmatch.server.cluster.seat import Seat
from evenmatch.server.cluster.sharded_sockets import ManySockets
from evenmatch.server.gamelift.codec import codec_of
from evenmatch.server.gamelift.routes import CHANGES as GAMELIFT_CHANGES
from evenmatch.server.gamelift.service_errors import ServiceError, service_error_of
from evenmatch.server.http.responses import (
    InvalidRequest,
    Receive,
    Scope,
    Send,
    problem_of,
    read_body,
    replay_body,
    send_body,
)
from evenmatch.server.http.ticket_routes import record_of
from evenmatch.wire.tickets import BAD

CREATE, METRICS = ("POST", "/v1/tickets"), ("GET", "/metrics")
STREAM, CONFIG = "/v1/stream", "/v1/config"
GAMELIFT = ("/service/GameLift/", "/v1/gamelift/")
"""What its paths begin with, beside `POST /`."""
CHANGES = frozenset({"PUT", "POST"})
BY_ID = frozenset({"tickets", "matches", "allocations"})
JOINED: dict[tuple[str, str], Callable[[Sequence[tuple[str, WholeAnswer]]], WholeAnswer]] = {
    ("GET", "/v1/tickets"): joined_answers.lists,
    ("GET", "/v1/queues"): joined_answers.queues,
    ("GET", "/v1/allocations"): joined_answers.lists,
    ("GET", "/v1/drain"): joined_answers.drains,
    ("POST", "/v1/drain"): joined_answers.drains,
    ("DELETE", "/v1/drain"): joined_answers.drains,
}
"""Requests that each shard answers, and how one answer is made of theirs."""
IS_ARRAY = re.compile(rb"[ \t\r\n]*\[").match
ANY_SHARD = frozenset(
    {
        ("GET", "/v1/stream"),
        ("GET", "/v1/players/{player}/rating"),
        ("GET", "/v1/dashboard/events"),
        ("POST", "/v1/guests"),
        ("GET", "/v1/audit"),
        ("GET", "/"),
        ("GET", "/dashboard/{file}"),
        ("GET", "/docs"),
        ("GET", "/docs/{file}"),
        ("GET", "/openapi.json"),
        ("GET", "/healthz"),
        ("GET", "/readyz"),
    }
)
"""Requests that one shard answers: that of the queue in `?queue=`, else that of the first queue
that the caller's key is for.

Nothing is looked up here, but a test holds each operation to be in a table of this module: so
whoever adds one says which shards know its answer.
"""


class _Rating(msgspec.Struct, frozen=True):
    mean: float


class _Player(msgspec.Struct, frozen=True):
    id: str
    rating: _Rating | None = None
    attributes: dict[str, Any] = {}


class _CreatePlace(msgspec.Struct, frozen=True):
    """Those facts of a create by which its shard is found."""

    queues: tuple[str, ...] = ()
    players: tuple[_Player, ...] = ()
    attributes: dict[str, Any] = {}

    def part(self, split: GroupSplit) -> int:
        """Return the part of a group that is split."""
        if not self.players:
            return 0
        first = self.players[0]
        value = first.attributes.get(split.attribute, self.attributes.get(split.attribute))
        if value is None and split.attribute == NAMED and first.rating is not None:
            value = first.rating.mean
        return split.part_of(first.id, value)


class _Place(NamedTuple):
    """Where a new ticket goes.

    Args:
        seat: Of its shard.
        unknown: The first of its queues that no shard has; empty if there is none.
        refusal: What is wrong with it if its queues belong to several shards.
    """

    seat: Seat
    unknown: str = ""
    refusal: InvalidTicket | None = None


class GameRouter:
    """The router of one game.

    Args:
        seats: Of its shards; that of the first queue first.
        parts: What each of them has, in the same order.
        serve: Answers a request for one of them.
        body_bytes_max: Bytes of a body.
        metrics: Of the node, about this game.
        own: Returns the queues that the key of a request is for; empty means all.
    """

    def __init__(
        self,
        seats: Sequence[Seat],
        parts: Sequence[ShardPart],
        serve: Serve,
        body_bytes_max: int,
        metrics: NodeMetrics,
        own: Callable[[Scope], frozenset[str]],
    ) -> None:
        self.metrics = metrics
        self._own = own
        self._body_bytes_max = body_bytes_max
        self._seats = tuple(seats)
        self._first = self._seats[0]
        self._by_shard = {seat.claim.shard: seat for seat in seats}
        # One for each part, where a group is split.
        self._by_queue: dict[str, tuple[Seat, ...]] = {}
        self._splits: dict[str, GroupSplit | None] = {}
        for seat, part in zip(seats, parts, strict=True):
            for name in part.queues:
                self._by_queue[name] = (*self._by_queue.get(name, ()), seat)
                self._splits[name] = read_split(part.split[0])
        self._serve = serve
        self._default = next(iter(self._by_queue))
        firsts = {name: each[0] for name, each in self._by_queue.items()}
        self._names = QueueNames(self._by_queue)
        self._configurations = Configurations(self._seats, firsts, serve)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of a client; an answer of the node's own is counted.

        Raises:
            MatchmakingError: Nobody answers, or the request cannot go to any shard.
        """
        began = self.metrics.stopwatch()
        try:
            await self._route(scope, receive, send, began)
        except MatchmakingError as error:
            self.metrics.answered(problem_of(error)[0], began)
            raise

    async def _route(self, scope: Scope, receive: Receive, send: Send, began: float) -> None:
        path, method = scope["path"], scope.get("method", "")
        if (joined := await self._joined(scope, receive)) is not None:
            self.metrics.answered(joined.status, began)
            await _tell(send, joined)
        elif len(self._seats) == 1:
            await self._serve(self._first, scope, receive, send)
        elif scope["type"] == "websocket":
            if path == STREAM:
                await ManySockets(self._by_shard, self._serve)(scope, receive, send)
            else:
                await self._serve(self._first, scope, receive, send)
        elif (method, path) == CREATE:
            await self._create(scope, receive, send)
        elif is_gamelift(method, path):
            await self._gamelift(scope, receive, send)
        else:
            told = self._names.naming(send, self._names.unknown_in(path))
            await self._serve(self._seat_of(path, scope), scope, receive, told)

    async def _joined(self, scope: Scope, receive: Receive) -> WholeAnswer | None:
        """Return the answer to what is asked of several shards; None if only one is to answer."""
        path, method = scope["path"], scope.get("method", "")
        if (method, path) == METRICS:
            # The node adds its own, even where there is only one shard.
            found = await ask_each_shard(self._serve, self._seats, scope, b"")
            named = [(seat.claim.shard, each) for seat, each in found]
            return joined_answers.metrics(named, self.metrics.text())
        if len(self._seats) == 1:
            return None
        if (join := JOINED.get((method, path))) is not None:
            body = await read_body(scope, receive, self._body_bytes_max)
            found = await ask_each_shard(self._serve, self._seats, scope, body)
            return join([(seat.claim.shard, each) for seat, each in found])
        if path == CONFIG and method in ("GET", "PUT"):
            return await self._configurations.answer(scope, receive)
        if method in CHANGES and len(each := self._parts_of(path)) > 1:
            body = await read_body(scope, receive, self._body_bytes_max)
            found = await ask_each_shard(self._serve, each, scope, body)
            return joined_answers.first([answer for _, answer in found])
        return None

    async def _gamelift(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one of GameLift's calls: all its queues are in the default group.

        A new queue would be one for which the nodes know no shard, so nothing is changed this way.
        """
        codec, name = codec_of(scope["path"]), ""
        # A call that names no operation is refused by the shard.
        with suppress(ServiceError):
            name = codec.operation_of(Request(scope))
        if scope["method"] != "POST" or name not in GAMELIFT_CHANGES:
            await self._serve(self._by_shard[FIRST], scope, receive, send)
            return
        error = NotSupported(
            f"{name} is for games of one shard: this game has several, so change [gamelift] in "
            "CONFIG on all nodes, and restart each"
        )
        await codec.refusal(service_error_of(error))(scope, receive, send)

    def seat_of_id(self, path: str) -> Seat | None:
        """Return the shard of the ticket or match that a path names; None if it names none."""
        parts = path.split("/")
        if len(parts) > 3 and parts[1] == "v1" and parts[2] in BY_ID:
            # An id that GameLift's clients chose names no shard.
            return self._by_shard.get(shard_of(parts[3]), self._by_shard[FIRST])
        return None

    def _seat_of(self, path: str, scope: Scope) -> Seat:
        """Return the shard of a request that is about one; any knows what is wrong with it."""
        parts = path.split("/")
        if parts[:3] == ["", "v1", "dashboard"] and parts[3:4] == ["matches"]:
            path = "/".join(["", "v1", *parts[3:]])
        if (seat := self.seat_of_id(path)) is not None:
            return seat
        if len(parts) > 3 and parts[1:3] == ["v1", "queues"]:
            return self._part(self._by_queue.get(unquote(parts[3]), (self._first,)), scope)
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if "queue" in query:
            return self._part(self._by_queue.get(query["queue"][0], (self._first,)), scope)
        own = self._own(scope)
        known = (seats[0] for name, seats in self._by_queue.items() if name in own)
        return next(known, self._first)

    def _part(self, seats: tuple[Seat, ...], scope: Scope) -> Seat:
        """Return the part of a queue that `?part=` names, and take that out of the request."""
        if len(seats) == 1:
            return seats[0]
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        number = record_of(dict(query).get("part", "0"), "part")
        if number >= len(seats):
            raise InvalidRequest(
                f"part must be from 0 to {len(seats) - 1}, got {number}", where="/part"
            )
        left = [each for each in query if each[0] != "part"]
        scope["query_string"] = urlencode(left).encode()
        return seats[number]

    def _parts_of(self, path: str) -> tuple[Seat, ...]:
        """Return all parts of the queue that a request would change."""
        parts = path.split("/")
        if len(parts) < 4 or parts[1:3] != ["v1", "queues"]:
            return ()
        return self._by_queue.get(unquote(parts[3]), ())

    # Creates

    async def _create(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(scope, receive, self._body_bytes_max)
        if IS_ARRAY(body):
            await self._create_many(scope, (body, receive), send)
            return
        place = self._place_of(body)
        if place.refusal is not None:
            answer = await whole_answer(partial(self._serve, place.seat), scope, body)
            await _tell(send, joined_answers.of_several_groups(answer, place.refusal))
            return
        told = self._names.naming(send, place.unknown)
        await self._serve(place.seat, scope, replay_body(body, receive), told)

    def seat_of_create(self, body: bytes) -> Seat | None:
        """Return the shard of a request to create tickets; None if it has to go the longer way.

        That is an array, which may belong to several, or a ticket of a queue that no shard has, or
        of queues of several.
        """
        if len(self._seats) == 1:
            return self._first
        if IS_ARRAY(body):
            return None
        place = self._place_of(body)
        return None if place.unknown or place.refusal is not None else place.seat

    def _place_of(self, body: bytes | msgspec.Raw) -> _Place:
        """Return the shard of a new ticket, which judges who asks.

        Of a ticket with which something is wrong it is the first shard, which knows what; of one
        whose queues belong to several, that of the first of them.
        """
        try:
            named = msgspec.json.decode(body, type=_CreatePlace)
        except BAD:
            return _Place(self._first)
        unknown = next((name for name in named.queues if name not in self._by_queue), "")
        known = [name for name in named.queues if name in self._by_queue] or [self._default]
        places = dict.fromkeys(self._by_queue[name] for name in known)
        if len(places) > 1:
            one = known[0]
            other = next(name for name in known if self._by_queue[name] != self._by_queue[one])
            refusal = InvalidTicket(
                f"the queues of one ticket must be in one group: {one!r} and {other!r} are not",
                where="/queues",
            )
            return _Place(self._by_queue[one][0], refusal=refusal)
        seats, split = next(iter(places)), self._splits[known[0]]
        return _Place(seats[0] if split is None else seats[named.part(split)], unknown)

    async def _create_many(self, scope: Scope, came: tuple[bytes, Receive], send: Send) -> None:
        """Let each shard make its tickets of an array; each is answered as if it had come alone."""
        body, receive = came
        try:
            items = msgspec.json.decode(body, type=list[msgspec.Raw])
        except BAD:
            items = []
        places: dict[Seat, list[int]] = {}
        refused: dict[int, InvalidTicket] = {}
        unknown: dict[int, str] = {}
        for at, item in enumerate(items):
            seat, unknown[at], refusal = self._place_of(item)
            places.setdefault(seat, []).append(at)
            if refusal is not None:
                refused[at] = refusal
        if len(places) <= 1 and not refused and not any(unknown.values()):
            seat = next(iter(places), self._first)
            await self._serve(seat, scope, replay_body(body, receive), send)
            return
        bodies = {
            seat: b"[" + b",".join(bytes(items[at]) for at in each) + b"]"
            for seat, each in places.items()
        }
        found = await ask_each_shard(self._serve, tuple(places), scope, bodies)
        joined = joined_answers.creates(
            [(places[seat], each) for seat, each in found], refused, len(items)
        )
        await _tell(send, joined._replace(body=self._names.renamed(joined.body, unknown)))


def is_gamelift(method: str, path: str) -> bool:
    """Return whether a request is one of Amazon GameLift's clients."""
    return (method, path) == ("POST", "/") or path.startswith(GAMELIFT)


async def _tell(send: Send, answer: WholeAnswer) -> None:
    await send_body(send, answer.status, answer.body, list(answer.headers))
