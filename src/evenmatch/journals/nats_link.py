"""The connection of the NATS journal: opens it and its streams, sends requests, maps errors.

Two streams hold a journal. `NAME-log` has one subject for each shard, on which every message is
published with the sequence of the one before it, so that of several writers one gets through.
`NAME-state` keeps one message for each subject: snapshots, segments, and parts of what is too large
for one message.
"""

from __future__ import annotations

import asyncio
import re
from base64 import b64decode
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qs, quote, unquote

import msgspec

from evenmatch.errors import ConfigError, JournalUnavailable, MatchmakingError, NotSupported
from evenmatch.journals.base import NO_JOURNAL_THERE, AnswerLost

if TYPE_CHECKING:
    from nats.aio.client import Client

INSTALL = "a journal in NATS needs one more package: pip install 'evenmatch[nats]'"
EXPECTED = "Nats-Expected-Last-Subject-Sequence"
MESSAGE_ID = "Nats-Msg-Id"
WRONG_SEQUENCE = frozenset({10071, 10164})
"""Codes of the answer that another message is the last one of the subject."""
NO_MESSAGE = 10037
NO_STREAM = 10059
IN_USE = 10058
FETCHED = 64
"""Messages asked for at a time."""
HEADROOM = 16_384
"""Bytes of a message that are left for headers."""
MESSAGE_LEAST = 2 * HEADROOM
"""Least size of the largest message that a server and its streams must take, bytes."""
REPLICAS = (1, 3, 5)

_T = TypeVar("_T")


class NatsAddress(msgspec.Struct, frozen=True):
    """The parts of an address.

    Args:
        servers: One URL for each server.
        shown: The servers without user and password.
        replicas: On how many servers each message is kept.
    """

    servers: tuple[str, ...]
    shown: str
    replicas: int


def parse_address(address: str) -> NatsAddress:
    """Return the parts of `nats://[USER:PASSWORD@]HOST:PORT[,HOST:PORT...][?replicas=3]`.

    Without `replicas` there are three where three servers or more are named, and otherwise one.

    Raises:
        ConfigError: It cannot be read.

    >>> parse_address("nats://one:4222,two:4222,three:4222").replicas
    3
    >>> parse_address("nats://u:p@one:4222,two:4222").servers
    ('nats://u:p@one:4222', 'nats://u:p@two:4222')
    """
    rest, _, query = address.removeprefix("nats://").partition("?")
    user, at, hosts = rest.rstrip("/").rpartition("@")
    names = hosts.split(",")
    asked = parse_qs(query, keep_blank_values=True)
    wrong = [each for each in asked if each != "replicas"]
    replicas = asked.get("replicas", ["3" if len(names) >= 3 else "1"])[-1]
    if not all(names) or wrong or replicas not in map(str, REPLICAS):
        # Of what else is there only the names: a value may be a password.
        shown = "&".join(wrong) or query
        raise ConfigError(
            "a journal in NATS is nats://HOST:PORT[,HOST:PORT...] and, behind a question mark, "
            f"replicas=1, 3 or 5, got 'nats://{hosts}{'?' if query else ''}{shown}'"
        )
    return NatsAddress(tuple(f"nats://{user}{at}{each}" for each in names), hosts, int(replicas))


class NatsMessage(msgspec.Struct, frozen=True, gc=False):
    """A stored message: its sequence in the stream, and its body."""

    seq: int
    data: bytes


class _Connection(NamedTuple):
    """A client of the driver's, what is done as soon as its connection ends, and failed tries.

    The driver tries its servers in turn until the time is over; `failures` are what it says of it.
    """

    client: Client
    gone: asyncio.Future[None]
    failures: list[Exception]


class NatsLink:
    """A connection that is opened on demand, and dropped after each error.

    Args:
        address: Where the servers are.
        name: Of the journal; its streams are made if they are missing.
        timeout: Longest wait for a connection or an answer, seconds.
        is_read_only: Make no streams; they must be there.
        notes_kept: Make a third stream, for notes, of which so many are kept of each subject.
    """

    def __init__(
        self,
        address: NatsAddress,
        name: str,
        timeout: float,
        *,
        is_read_only: bool = False,
        notes_kept: int | None = None,
    ) -> None:
        if find_spec("nats") is None:
            raise NotSupported(INSTALL)
        if re.fullmatch("[A-Za-z0-9_-]{1,40}", name) is None:
            raise ConfigError(
                "the name of a journal has 1 to 40 letters, digits, hyphens and underscores, got "
                f"{name!r}: give it another one"
            )
        self.log = f"{name}-log"
        self.state = f"{name}-state"
        self.notes = f"{name}-notes"
        # Each with the messages that are kept of a subject; -1 is all.
        self._streams = [(self.log, -1), (self.state, 1)]
        if notes_kept is not None:
            self._streams.append((self.notes, notes_kept))
        self._address = address
        self._timeout = timeout
        self._is_read_only = is_read_only
        self._message_most = 0
        self._opening = asyncio.Lock()
        self._connection: _Connection | None = None
        self._is_closed = False

    def log_subject(self, shard: str) -> str:
        """Return the subject of a shard's log."""
        return f"{self.log}.{_token(shard)}"

    def state_subject(self, shard: str, *parts: str) -> str:
        """Return the subject of something that is kept beside a shard's log."""
        return ".".join((self.state, _token(shard), *parts))

    async def largest(self) -> int:
        """Return how many bytes a message may have."""
        await self._open()
        return self._message_most - HEADROOM

    async def publish(
        self, subject: str, data: bytes, expected: int | None = None, message_id: str = ""
    ) -> int | None:
        """Store a message; return its sequence once it is stored on most of the replicas.

        Args:
            subject: Where.
            data: At most `largest` bytes.
            expected: The sequence of the last message of the subject, 0 if there is none.
            message_id: One that was stored under it within two minutes is not stored again.

        Returns:
            None if another message is the last one: then this one was not stored.

        Raises:
            AnswerLost: Whether it was stored is not known.
            JournalUnavailable: There is no connection; nothing was stored.
        """
        if self._is_read_only:
            raise JournalUnavailable(self._says("it was opened to be read only"))
        headers = {} if expected is None else {EXPECTED: str(expected)}
        if message_id:
            headers[MESSAGE_ID] = message_id
        answer = await self._request(subject, data, headers or None)
        error = answer.get("error")
        if error is None:
            stored: int = answer["seq"]
            return stored
        if error.get("err_code") in WRONG_SEQUENCE:
            return None
        raise AnswerLost(self._says(f"{error.get('description')} ({error.get('err_code')})"))

    async def last_message(self, stream: str, subject: str) -> NatsMessage | None:
        """Return the last message of a subject, as the stream's leader knows it."""
        return await self._stored(stream, {"last_by_subj": subject})

    async def next_message(self, stream: str, subject: str, start: int) -> NatsMessage | None:
        """Return the first message of a subject from a sequence on."""
        return await self._stored(stream, {"seq": max(1, start), "next_by_subj": subject})

    async def messages(
        self, stream: str, subject: str, start: int
    ) -> AsyncGenerator[NatsMessage, None]:
        """Yield the messages of a subject from a sequence on, in order, as one replica has them."""
        from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

        connection = await self._open()
        client = connection.client
        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=max(1, start),
            ack_policy=AckPolicy.NONE,
            inactive_threshold=60.0,
            mem_storage=True,
            num_replicas=1,
        )
        context = client.jetstream(timeout=self._timeout)
        subscribed = context.pull_subscribe(subject, stream=stream, config=config)
        consumer = await self._guarded(connection, subscribed, self._timeout)
        try:
            info = await self._guarded(connection, consumer.consumer_info(), self._timeout)
            left = info.num_pending or 0
            while left > 0:
                wanted = min(left, FETCHED)
                fetched = consumer.fetch(wanted, timeout=self._timeout)
                for message in await self._guarded(connection, fetched, 2 * self._timeout):
                    left -= 1
                    yield NatsMessage(message.metadata.sequence.stream, message.data)
        finally:
            if not client.is_closed:
                await self._guarded(connection, consumer.unsubscribe(), self._timeout)
                # The driver has put the consumer's name there.
                ended = self._end_consumer(client, stream, config.name)
                await self._guarded(connection, ended, self._timeout)

    async def purge(self, stream: str, subject: str, before: int | None = None) -> None:
        """Delete the messages of a subject, or those before a sequence."""
        asked: dict[str, object] = {"filter": subject}
        if before is not None:
            asked["seq"] = before
        await self._api(f"STREAM.PURGE.{stream}", asked)

    async def end_of(self, stream: str) -> int:
        """Return the sequence of the last message that a stream ever had."""
        answer = await self._api(f"STREAM.INFO.{stream}", {})
        end: int = answer["state"]["last_seq"]
        return end

    async def ends_of(self, stream: str) -> tuple[int, int]:
        """Return the sequences of the first and the last message that a stream has."""
        state = (await self._api(f"STREAM.INFO.{stream}", {}))["state"]
        return state["first_seq"], state["last_seq"]

    async def shards(self) -> list[str]:
        """Return the names of all shards that have a log."""
        found = await self.subjects(self.log, f"{self.log}.>")
        return sorted(unquote(each.removeprefix(f"{self.log}.")) for each in found)

    async def subjects(self, stream: str, pattern: str) -> list[str]:
        """Return the subjects of which a stream has messages, out of those of a pattern."""
        answer = await self._api(f"STREAM.INFO.{stream}", {"subjects_filter": pattern})
        found: dict[str, int] = answer["state"].get("subjects") or {}
        return list(found)

    async def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._is_closed = True
        if self._connection is not None:
            await self._drop(self._connection)

    async def _stored(self, stream: str, asked: Mapping[str, object]) -> NatsMessage | None:
        answer = await self._api(f"STREAM.MSG.GET.{stream}", asked, NO_MESSAGE)
        if "error" in answer:
            return None
        message = answer["message"]
        return NatsMessage(message["seq"], b64decode(message.get("data", "")))

    async def _api(self, name: str, asked: Mapping[str, object], *forgiven: int) -> dict[str, Any]:
        """Ask JetStream; errors are ours but those that are forgiven."""
        answer = await self._request(f"$JS.API.{name}", msgspec.json.encode(asked))
        error = answer.get("error")
        if error is not None and error.get("err_code") not in forgiven:
            raise JournalUnavailable(self._says(f"{error.get('description')}"))
        return answer

    async def _request(
        self, subject: str, data: bytes, headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        connection = await self._open()
        request = connection.client.request(subject, data, timeout=self._timeout, headers=headers)
        message = await self._guarded(connection, request, self._timeout)
        try:
            return msgspec.json.decode(message.data, type=dict[str, Any])
        except msgspec.DecodeError as error:
            # Bytes that are no answer of JetStream's: what else comes from there is none either.
            await self._drop(connection)
            raise AnswerLost(self._says(_detail(error, self._timeout))) from error

    async def _guarded(self, connection: _Connection, work: Awaitable[_T], timeout: float) -> _T:
        """Return what the work gives, unless its connection ends or the time is over."""
        task, gone = asyncio.ensure_future(work), connection.gone
        try:
            async with asyncio.timeout(timeout):
                await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise ConnectionResetError("the connection was cut")
            return task.result()
        # A connection that ends under the driver makes it fail in any way.
        except Exception as error:
            await self._drop(connection)
            raise AnswerLost(self._says(_detail(error, timeout))) from error
        finally:
            # Its own error, if it has one by now, is not the one to report.
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _open(self) -> _Connection:
        async with self._opening:
            if self._is_closed:
                raise JournalUnavailable("the journal was closed: open it again")
            if self._connection is not None and self._connection.client.is_connected:
                return self._connection
            self._connection = connection = _new_connection()
            try:
                async with asyncio.timeout(self._timeout):
                    await self._connect(connection)
                return connection
            except MatchmakingError:
                await self._drop(connection)
                raise
            except Exception as error:
                await self._drop(connection)
                cause = connection.failures[-1] if connection.failures else error
                raise JournalUnavailable(self._says(_detail(cause, self._timeout))) from error
            except BaseException:
                await self._drop(connection)
                raise

    async def _connect(self, connection: _Connection) -> None:
        client, gone, failures = connection

        async def note_end() -> None:
            if not gone.done():
                gone.set_result(None)

        async def note_failure(error: Exception) -> None:
            # Later on, whoever waits for an answer hears of it.
            if not client.is_connected:
                failures[:] = [error]

        await client.connect(
            list(self._address.servers),
            name="evenmatch",
            allow_reconnect=False,
            # For each server, in whole seconds: one that is silent keeps nobody from the next.
            connect_timeout=max(1, int(self._timeout / len(self._address.servers))),
            error_cb=note_failure,
            disconnected_cb=note_end,
            closed_cb=note_end,
        )
        failures.clear()
        await self._make_streams(client)

    async def _make_streams(self, client: Client) -> None:
        """Make the streams if they are missing; what an operator has changed stays.

        Raises:
            JournalUnavailable: A limit of theirs, or of the server, does not suit a journal.
        """
        most_bytes = [client.max_payload]
        for stream, most in self._streams:
            asked = await self._ask(client, f"STREAM.INFO.{stream}", {})
            if asked.get("error", {}).get("err_code") != NO_STREAM:
                self._check(asked)
                present = asked["config"]
                if (size := present.get("max_msg_size", -1)) > 0:
                    most_bytes.append(size)
                if stream != self.notes and not self._is_read_only:
                    self._check_limits(stream, present)
                continue
            if self._is_read_only:
                raise ConfigError(
                    f"NATS at {self._address.shown} has no stream {stream}, so there is no journal "
                    f"to read: {NO_JOURNAL_THERE}"
                )
            config = {
                "name": stream,
                "subjects": [f"{stream}.>"],
                "retention": "limits",
                "storage": "file",
                "num_replicas": self._address.replicas,
                "max_msgs_per_subject": most,
                "max_consumers": -1,
                "max_msgs": -1,
                "max_bytes": -1,
                "max_age": 0,
                "discard": "old",
            }
            made = await self._ask(client, f"STREAM.CREATE.{stream}", config)
            # Somebody else may have made it since we looked.
            if made.get("error", {}).get("err_code") != IN_USE:
                self._check(made)
        self._message_most = min(most_bytes)
        if self._message_most < MESSAGE_LEAST and not self._is_read_only:
            raise JournalUnavailable(
                f"NATS at {self._address.shown} takes messages of {self._message_most:,} bytes at "
                f"most, and a journal needs {MESSAGE_LEAST:,}: set max_payload of the server, or "
                "max_msg_size of the stream, to that or more"
            )

    def _check_limits(self, stream: str, config: Mapping[str, Any]) -> None:
        """Refuse a stream that deletes messages by itself.

        Raises:
            JournalUnavailable: It does.
        """
        always = ["max_age"] + (["max_msgs_per_subject"] if stream == self.log else [])
        if config.get("discard", "old") == "old":
            always += ["max_bytes", "max_msgs"]
        wrong = [f"{name} = {config[name]}" for name in always if config.get(name, -1) > 0]
        if config.get("retention", "limits") != "limits":
            wrong.append(f"retention = {config['retention']}")
        if wrong:
            raise JournalUnavailable(
                f"stream {stream} of NATS at {self._address.shown} deletes by itself what was "
                f"acknowledged ({', '.join(wrong)}): take these limits away; a limit of its size "
                "needs discard = new"
            )

    async def _end_consumer(self, client: Client, stream: str, name: str | None) -> None:
        """Tell the server to forget a consumer, which it else keeps until it rests for long.

        It takes no more than so many for a stream, 1,000 by default. Nobody waits for its answer:
        an account that may not delete consumers gets none.
        """
        await client.publish(f"$JS.API.CONSUMER.DELETE.{stream}.{name}")

    async def _ask(self, client: Client, name: str, asked: Mapping[str, object]) -> dict[str, Any]:
        message = await client.request(
            f"$JS.API.{name}", msgspec.json.encode(asked), timeout=self._timeout
        )
        answer: dict[str, Any] = msgspec.json.decode(message.data)
        return answer

    def _check(self, answer: dict[str, Any]) -> None:
        if error := answer.get("error"):
            raise JournalUnavailable(self._says(f"{error.get('description')}"))

    async def _drop(self, connection: _Connection) -> None:
        """Close a connection that failed; one that was opened since then goes on."""
        if self._connection is connection:
            self._connection = None
        if not connection.client.is_closed:
            # Whatever it says: nobody hears of this connection any more.
            with suppress(Exception):
                async with asyncio.timeout(1.0):
                    await connection.client.close()

    def _says(self, detail: str) -> str:
        return f"NATS at {self._address.shown} cannot be used ({detail})"


def _new_connection() -> _Connection:
    from nats.aio.client import Client

    return _Connection(Client(), asyncio.get_running_loop().create_future(), [])


def _token(shard: str) -> str:
    """Return a shard's name as a part of a subject, where dots, stars and spaces mean something."""
    return quote(shard, safe="").replace(".", "%2E")


def _detail(error: BaseException, timeout: float) -> str:
    text = str(error) or f"no answer for {timeout:g} s"
    return f"{type(error).__name__}: {text}"
