"""What an operator changes while the server runs: the configuration, pauses, policies.

Each change is one `Configure` input, so the journal knows of it like of any other. Changes come
one after another; each is tried out on a copy first, so that one that cannot work changes nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from evenmatch.config import load_document, server_of
from evenmatch.engine.configuration import foresee
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.tables import Tables
from evenmatch.errors import ConfigError, JournalError, MatchmakingError, UnknownQueue
from evenmatch.model.events import Expired, LeftQueue
from evenmatch.model.inputs import Configure
from evenmatch.model.queue import Queue
from evenmatch.server.logs import log
from evenmatch.server.recovery import check_waiting, pools_of
from evenmatch.server.runtime import Runtime
from evenmatch.server.versions import Stored, changeable, digest
from evenmatch.wire import InvalidRequest
from evenmatch.wire_operate import ConfigChanged, ConfigState, QueuePaused, QueuePolicy


class Controls:
    """The controls of one server.

    Args:
        runtime: The shard at work.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lock = asyncio.Lock()

    async def present(self) -> ConfigState:
        """Return the configuration in force."""
        tables = await self._tables()
        stored = self._runtime.versions.read(tables.version)
        source = "file" if stored is None else stored.by
        return ConfigState(tables.version, source, tables.paused, self._document(tables.version))

    async def change(
        self,
        document: Mapping[str, Any],
        *,
        by: str,
        dry_run: bool = False,
        if_version: int | None = None,
    ) -> ConfigChanged:
        """Bring a configuration into force as a whole, or say what that would do.

        Args:
            document: The keys of a CONFIG file.
            by: What brings it, for people.
            dry_run: Change nothing.
            if_version: Refuse unless this version is in force.

        Raises:
            ConfigError: It cannot come into force; nothing was changed.
            InvalidRequest: Another version is in force.
        """
        async with self._lock:
            tables = await self._tables()
            if if_version is not None and if_version != tables.version:
                raise InvalidRequest(
                    f"version {tables.version} of the configuration is in force, not {if_version}: "
                    f"look at it with GET /v1/config and decide again",
                    where="/if_version",
                )
            queues, seed = await asyncio.to_thread(self._parse, document)
            given = self._configure(tables, queues, seed)
            return await self._bring(given, tables, changeable(document), by=by, dry_run=dry_run)

    async def pause(self, queue: str, paused: bool) -> QueuePaused:
        """Let a queue take no tickets and make no matches, or let it go on."""
        async with self._lock:
            tables = await self._tables()
            _queue_of(tables, queue)
            if (queue in tables.paused) != paused:
                names = {*tables.paused, queue} if paused else {*tables.paused} - {queue}
                pause = tuple(name for name in tables.queues if name in names)
                queues = tuple(tables.queues.values())
                given = Configure(self._runtime.now(), queues, tables.seed, tables.version, pause)
                await self._runtime.ask(given)
                log.warning("queue_paused" if paused else "queue_resumed", queue=queue)
            return QueuePaused(queue, paused)

    async def set_policy(self, queue: str, policy: str, *, by: str) -> QueuePolicy:
        """Let another policy decide in a queue; its tickets wait on.

        Raises:
            UnknownQueue: There is no such queue.
            ConfigError: The policy cannot work on it; nothing was changed.
        """
        async with self._lock:
            tables = await self._tables()
            _queue_of(tables, queue)
            document = self._document(tables.version)
            if document is None:
                queues, seed = _with_policy(tables, queue, policy), tables.seed
            else:
                document = _with_key(document, queue, "policy", policy)
                queues, seed = await asyncio.to_thread(self._parse, document)
            given = self._configure(tables, queues, seed)
            done = await self._bring(given, tables, document, by=by)
            return QueuePolicy(queue, policy, done.version)

    async def reload(self) -> None:
        """Read the CONFIG file again and bring it into force; if it cannot, say so and go on."""
        async with self._lock:
            try:
                await self._reload()
            except MatchmakingError as error:
                log.error("reload_refused", error=str(error), consequence="nothing was changed")

    async def _reload(self) -> None:
        runtime, plan = self._runtime, self._runtime.plan
        if plan.file is None:
            raise ConfigError("the server was started without a CONFIG file")
        document = await asyncio.to_thread(load_document, plan.file)
        queues, seed = await asyncio.to_thread(self._parse, document)
        tables = await self._tables()
        plan = msgspec.structs.replace(
            plan, queues=queues, seed=seed, document=changeable(document)
        )
        check_waiting(tables, plan)
        given = self._configure(tables, queues, seed)
        expired = 0
        if _changes(given, tables):
            await asyncio.to_thread(foresee, given, tables, pools_of(seed))
            runtime.versions.set_aside(given.version)
            expired, _ = _counts(await self._hand_in(given))
        else:
            runtime.versions.set_aside(tables.version)
        runtime.plan = plan
        log.info("configuration_reloaded", file=str(plan.file), expired=expired)

    async def _bring(
        self,
        given: Configure,
        tables: Tables,
        document: dict[str, Any] | None,
        *,
        by: str,
        dry_run: bool = False,
    ) -> ConfigChanged:
        names = tuple(queue.name for queue in given.queues)
        foreseen = await asyncio.to_thread(foresee, given, tables, pools_of(given.seed))
        if dry_run or not _changes(given, tables):
            return ConfigChanged(tables.version, dry_run, names, foreseen.expire, foreseen.leave)
        versions, plan = self._runtime.versions, self._runtime.plan
        if document is not None:
            base = digest(plan.document)
            stored = Stored(given.version, time.time(), by, base, document)
            await asyncio.to_thread(versions.write, stored)
        try:
            expired, left = _counts(await self._hand_in(given))
        except JournalError:
            # The journal may have it all the same: the version must stay readable.
            raise
        except MatchmakingError:
            versions.set_aside(given.version)
            raise
        self._runtime.plan = msgspec.structs.replace(plan, queues=given.queues, seed=given.seed)
        log.warning("configuration_changed", version=given.version, by=by, expired=expired)
        return ConfigChanged(given.version, False, names, expired, left)

    async def _hand_in(self, given: Configure) -> Record:
        now = self._runtime.now()
        record: Record = await self._runtime.ask(msgspec.structs.replace(given, now=now))
        return record

    async def _tables(self) -> Tables:
        """Return what of the present state a change must know, as far as it is durable."""
        tables: Tables = await self._runtime.look(_extract)
        return tables

    def _document(self, version: int) -> dict[str, Any] | None:
        stored = self._runtime.versions.read(version)
        return self._runtime.plan.document if stored is None else stored.config

    def _parse(self, document: Mapping[str, Any]) -> tuple[tuple[Queue, ...], int]:
        plan = self._runtime.plan
        queues, settings, seed = server_of(document, plan.folder)
        if "server" in document and settings != plan.settings:
            raise ConfigError(
                "server differs from what the server was started with, and only a restart changes "
                "it: leave [server] out, or restart"
            )
        return queues, seed

    def _configure(self, tables: Tables, queues: tuple[Queue, ...], seed: int) -> Configure:
        names = {queue.name for queue in queues}
        paused = tuple(name for name in tables.paused if name in names)
        return Configure(self._runtime.now(), queues, seed, tables.version + 1, paused)


def _extract(engine: Engine) -> Tables:
    tables = engine.tables
    return Tables(
        now=tables.now,
        seed=tables.seed,
        version=tables.version,
        queues=dict(tables.queues),
        paused=tables.paused,
        waiting=dict(tables.waiting),
    )


def _changes(given: Configure, tables: Tables) -> bool:
    return given.queues != tuple(tables.queues.values()) or given.seed != tables.seed


def _counts(record: Record) -> tuple[int, int]:
    """Return how many tickets expired by a change, and how many left a queue."""
    kinds = [type(event) for event in record.events]
    return kinds.count(Expired), kinds.count(LeftQueue)


def _queue_of(tables: Tables, name: str) -> Queue:
    queue = tables.queues.get(name)
    if queue is None:
        raise UnknownQueue(f"there is no queue {name[:64]!r}; there is {', '.join(tables.queues)}")
    return queue


def _with_policy(tables: Tables, name: str, policy: str) -> tuple[Queue, ...]:
    return tuple(
        msgspec.structs.replace(queue, policy=policy) if queue.name == name else queue
        for queue in tables.queues.values()
    )


def _with_key(document: dict[str, Any], name: str, key: str, value: object) -> dict[str, Any]:
    """Return a configuration's keys with one key of one queue changed."""
    queues = [
        {**queue, key: value} if queue.get("name", "main") == name else queue
        for queue in document["queue"]
    ]
    return {**document, "queue": queues}
