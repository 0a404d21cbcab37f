"""What an operator changes while the server runs: the configuration, pauses, policies.

Each change is one `Configure` input, so the journal knows of it like of any other. Changes come
one after another; each is tried out on a copy first, so that one that cannot work changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

import msgspec

from evenmatch.config.files import (
    check_hooks,
    check_targets,
    files_in,
    load_document,
    server_of,
)
from evenmatch.config.gamelift import gamelift_of
from evenmatch.engine.configuration import ConfigurationEffect
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.state.state import Tables
from evenmatch.errors import ConfigError, JournalError, MatchmakingError, StaleVersion
from evenmatch.model.events import Expired, LeftQueue
from evenmatch.model.inputs import Configure
from evenmatch.model.queue import Queue
from evenmatch.server.http.responses import unknown_queue
from evenmatch.server.operations.versions import (
    GAMELIFT,
    RELOAD,
    StoredConfiguration,
    changeable,
    digest,
    edited,
)
from evenmatch.server.runtime.kernel_compilation import try_out
from evenmatch.server.runtime.logs import log_from_here
from evenmatch.server.runtime.process_setup import prepare_structs
from evenmatch.server.runtime.recovery import ShardPlan, check_waiting
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.views.switchback import next_turn, with_current_policies
from evenmatch.wire.operate import ConfigChanged, ConfigState, QueuePaused, QueuePolicy, QueueShadow

SERVER_DIFFERS = (
    "server differs from [server] in the CONFIG file ({keys}), which alone counts and only from a "
    "start on: leave [server] out, or edit the file and restart"
)
LOOK_EVERY = 1.0
"""Longest sleep of those who wait for a turn, seconds; a configuration may change meanwhile."""


class OperatorControls:
    """The controls of one server.

    Args:
        runtime: The shard at work.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._log = log_from_here()
        self._lock = asyncio.Lock()
        self._given = runtime.plan.queues

    async def present(self) -> ConfigState:
        """Return the configuration that is in force."""
        tables = await self._tables()
        stored = self._runtime.versions.in_force(tables)
        source = "file" if stored is None else stored.by
        return ConfigState(tables.version, source, tables.paused, self._document(tables))

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
            NotSupported: Nodes of an older version could not read it; nothing was changed.
            StaleVersion: Another version is in force.
        """
        async with self._lock:
            tables = await self._tables()
            if if_version is not None and if_version != tables.version:
                raise StaleVersion(
                    f"version {tables.version} of the configuration is in force, not {if_version}: "
                    f"look at it with GET /v1/config and decide again",
                    version=tables.version,
                )
            await asyncio.to_thread(self._check_sent, document)
            document = self._with_configurations(document, tables)
            found = await asyncio.to_thread(self._parse, document)
            configuration = self._configure(tables, found.queues, found.seed)
            done = await self._bring(
                configuration, tables, changeable(document), by=by, dry_run=dry_run,
                is_news=self._changes_gamelift(document, tables),
            )  # fmt: skip
            return msgspec.structs.replace(done, at_restart=found.at_restart)

    def document(self) -> dict[str, Any] | None:
        """Return the keys in force now, None where they are not known; not to be changed."""
        return self._document(self._runtime.engine.tables)

    async def edit(
        self, change: Callable[[dict[str, Any]], dict[str, Any]], *, by: str
    ) -> ConfigChanged:
        """Bring changed rule sets and configurations into force.

        Args:
            change: Takes the keys under `gamelift` and returns what they shall be; it may refuse.
            by: What brings them, for people.

        Raises:
            ConfigError: They cannot come into force, or the server was started without a CONFIG
                file; nothing was changed.
        """
        async with self._lock:
            tables = await self._tables()
            document = self._document(tables)
            if document is None:
                raise ConfigError(
                    "the server was started without a CONFIG file, so it has no configuration "
                    "to show"
                )
            document = {**document, GAMELIFT: change(document.get(GAMELIFT, {}))}
            found = await asyncio.to_thread(self._parse, document)
            configuration = self._configure(tables, found.queues, found.seed)
            return await self._bring(configuration, tables, document, by=by, is_news=True)

    async def pause(self, queue: str, paused: bool) -> QueuePaused:
        """Stop a queue from taking tickets and making matches, or let it go on."""
        async with self._lock:
            tables = await self._tables()
            _queue_of(tables, queue)
            if (queue in tables.paused) != paused:
                names = {*tables.paused, queue} if paused else {*tables.paused} - {queue}
                pause = tuple(name for name in tables.queues if name in names)
                queues = tuple(tables.queues.values())
                configuration = msgspec.structs.replace(self._again(tables, queues), pause=pause)
                await self._runtime.ask(configuration)
                self._log.warning("queue_paused" if paused else "queue_resumed", queue=queue)
            return QueuePaused(queue, paused)

    async def set_policy(self, queue: str, policy: str, *, by: str) -> QueuePolicy:
        """Let another policy decide in a queue; its tickets wait on.

        Raises:
            UnknownQueue: There is no such queue.
            ConfigError: The policy cannot work on it, or a GameLift configuration makes the queue;
                nothing was changed.
        """
        return QueuePolicy(queue, policy, await self._set(queue, "policy", policy, by=by))

    async def set_shadow(self, queue: str, policy: str | None, *, by: str) -> QueueShadow:
        """Let a shadow policy play beside the live one, or end that.

        Raises:
            UnknownQueue: There is no such queue.
            ConfigError: The policy cannot work on it, or a GameLift configuration makes the queue;
                nothing was changed.
        """
        return QueueShadow(queue, policy, await self._set(queue, "shadow", policy, by=by))

    async def _set(self, queue: str, key: str, value: str | None, *, by: str) -> int:
        """Change one key of a queue; return the version that is in force then."""
        async with self._lock:
            tables = await self._tables()
            if key == "policy" and _queue_of(tables, queue).switchback is not None:
                raise ConfigError(
                    f"queue {queue} has a switchback of several policies: change it with "
                    f"PUT /v1/config"
                )
            _queue_of(tables, queue)
            check_foreign((value,), self._trusted())
            document = self._document(tables)
            if document is not None and queue not in _names_in(document):
                raise ConfigError(
                    f"queue {queue} is made of a GameLift configuration, whose rule set alone says "
                    f"how it plays: for a policy or a shadow of your choice, write a [[queue]] "
                    f"with this rule set as its rules_file, and send it with PUT /v1/config"
                )
            if document is None:
                queues, seed = _changed(tables, queue, key, value), tables.seed
            else:
                document = _with_key(document, queue, key, value)
                found = await asyncio.to_thread(self._parse, document)
                queues, seed = found.queues, found.seed
            configuration = self._configure(tables, queues, seed)
            return (await self._bring(configuration, tables, document, by=by)).version

    async def take_turns(self) -> None:
        """Bring into force the policies whose turn it is."""
        async with self._lock:
            tables = await self._tables()
            queues = with_current_policies(tables.queues.values(), self._runtime.now())
            configuration = self._again(tables, queues)
            if _changes(configuration, tables):
                await self._runtime.ask(configuration)
                self._log.info("policies_took_turns", policies={q.name: q.policy for q in queues})

    async def watch_turns(self) -> None:
        """Let policies take turns, for ever."""
        while True:
            runtime = self._runtime
            queues = tuple(runtime.engine.tables.queues.values())
            now = runtime.now()
            if runtime.failure is None and with_current_policies(queues, now) != queues:
                try:
                    await self.take_turns()
                except MatchmakingError as error:
                    self._log.error("turn_failed", error=str(error))
                    await asyncio.sleep(LOOK_EVERY)
            else:
                delay = runtime.clock.delay(next_turn(queues, now))
                await asyncio.sleep(min(delay, LOOK_EVERY))

    async def reload(self) -> None:
        """Read the CONFIG file again and bring it into force; if it cannot, say so and go on."""
        async with self._lock:
            try:
                await self._reload()
            except MatchmakingError as error:
                file, consequence = str(self._runtime.plan.file), "nothing was changed"
                self._log.error(
                    "reload_refused", file=file, error=str(error), consequence=consequence
                )

    async def _reload(self) -> None:
        runtime, plan = self._runtime, self._runtime.plan
        if plan.file is None:
            raise ConfigError("the server was started without a CONFIG file")
        document = await asyncio.to_thread(load_document, plan.file)
        self._check_targets(document)
        tables = await self._tables()
        whole = self._with_configurations(document, tables)
        found = await asyncio.to_thread(self._parse, {"server": {}, **whole})
        plan = msgspec.structs.replace(
            plan, queues=found.queues, seed=found.seed, document=changeable(document)
        )
        check_waiting(tables, plan)
        configuration = self._configure(tables, found.queues, found.seed)
        expired = overdue = 0
        is_news = _changes(configuration, tables) or self._changes_gamelift(whole, tables)
        if is_news or tables.configured_by:
            overdue = (await self._try_out(configuration, tables)).overdue
            if whole is document:
                await runtime.versions.set_aside(configuration.version)
            else:
                kept, base = changeable(whole), digest(plan.document)
                stored = StoredConfiguration(
                    configuration.version, runtime.wall(), RELOAD, base, kept
                )
                await runtime.versions.write(stored)
            expired, _ = _counts(await self._hand_in(configuration))
        runtime.plan = plan
        later = list(found.at_restart)
        self._log.info(
            "configuration_reloaded",
            file=str(plan.file),
            version=runtime.engine.tables.version,
            expired=expired,
            overdue=overdue,
            at_restart=later,
        )

    async def _bring(
        self,
        configuration: Configure,
        tables: Tables,
        document: dict[str, Any] | None,
        *,
        by: str,
        dry_run: bool = False,
        is_news: bool = False,
    ) -> ConfigChanged:
        names = tuple(queue.name for queue in configuration.queues)
        foreseen = await self._try_out(configuration, tables)
        same = ConfigChanged(tables.version, dry_run, names, *msgspec.structs.astuple(foreseen))
        if dry_run:
            return same
        versions, plan = self._runtime.versions, await self._with_file(document)
        base = digest(plan.document)
        if not _changes(configuration, tables) and not is_news:
            stored = versions.in_force(tables)
            if stored is not None and document is not None and document == plan.document:
                stored = msgspec.structs.replace(stored, base=base, config=document)
                await versions.write(stored)
            self._runtime.plan = plan
            return same
        if document is not None:
            stored = StoredConfiguration(
                configuration.version, self._runtime.wall(), by, base, document
            )
            await versions.write(stored)
        try:
            expired, left = _counts(
                await self._hand_in(msgspec.structs.replace(configuration, by=by))
            )
        except JournalError:
            # The journal may have it all the same: the version must stay readable.
            raise
        except MatchmakingError:
            await versions.set_aside(configuration.version)
            raise
        self._runtime.plan = msgspec.structs.replace(
            plan, queues=configuration.queues, seed=configuration.seed
        )
        ended = {"expired": expired, "overdue": foreseen.overdue}
        self._log.warning("configuration_changed", version=configuration.version, by=by, **ended)
        return ConfigChanged(configuration.version, False, names, expired, left, foreseen.overdue)

    async def _with_file(self, document: dict[str, Any] | None) -> ShardPlan:
        """Return the plan; if a change is the edited CONFIG file, with the file as it is now.

        It was edited before the change and came with it, so it is not edited since.
        """
        plan = self._runtime.plan
        in_file = await asyncio.to_thread(self._in_file)
        if document is None or in_file is None:
            return plan
        if document != ({GAMELIFT: document[GAMELIFT]} if GAMELIFT in document else {}) | in_file:
            return plan
        return msgspec.structs.replace(plan, document=in_file)

    async def _try_out(self, configuration: Configure, tables: Tables) -> ConfigurationEffect:
        """Return what a change would do.

        Raises:
            ConfigError: It cannot come into force.
            NotSupported: Nodes of an older version could not read it.
        """
        self._runtime.check_format(configuration)
        self._runtime.engine.ladders.check(configuration.queues)
        return await asyncio.to_thread(try_out, configuration, tables)

    async def _hand_in(self, configuration: Configure) -> Record:
        now = self._runtime.now()
        record: Record = await self._runtime.ask(msgspec.structs.replace(configuration, now=now))
        return record

    async def _tables(self) -> Tables:
        """Return what of the present state a change must know, as far as it is durable."""
        tables: Tables = await self._runtime.look(_extract)
        return tables

    def _document(self, tables: Tables) -> dict[str, Any] | None:
        stored = self._runtime.versions.in_force(tables)
        return self._runtime.plan.document if stored is None else stored.config

    def _in_file(self) -> dict[str, Any] | None:
        """Return what of the CONFIG file may change, as it stands there now; None if it is bad."""
        file = self._runtime.plan.file
        try:
            return None if file is None else changeable(load_document(file))
        except ConfigError:
            return None

    def _with_configurations(
        self, document: Mapping[str, Any], tables: Tables
    ) -> Mapping[str, Any]:
        """Return keys with the present rule sets and configurations, unless they bring their own.

        Who brings a CONFIG file into force does not mean to drop what came by other calls.
        """
        present = (self._document(tables) or {}).get(GAMELIFT)
        if GAMELIFT in document or not present:
            return document
        return {**document, GAMELIFT: present}

    def _changes_gamelift(self, document: Mapping[str, Any], tables: Tables) -> bool:
        """Return whether keys change rule sets or configurations, of which queues need not tell."""
        present = self._document(tables) or {}
        return gamelift_of(document) != gamelift_of(present)

    def _trusted(self) -> list[str]:
        """Return the SPECs of the CONFIG file, or of the queues that Python gave."""
        document = self._runtime.plan.document
        if document is None:
            return list(specs_of_queues(self._given))
        return [spec for spec in specs_in(document) if isinstance(spec, str)]

    def _parse(self, document: Mapping[str, Any]) -> _ParsedConfiguration:
        """Return what a document says; its `[server]`, if it has one, is that of the file."""
        plan = self._runtime.plan
        queues, settings, seed = server_of(document, plan.folder)
        try:
            check_hooks(queues, plan.settings)
        except ConfigError as error:
            raise ConfigError(f"{error}, and restart the server") from None
        later = edited(plan.settings, settings) if "server" in document else ()
        # A policy that no queue had before brings types of its own, for several threads.
        prepare_structs()
        return _ParsedConfiguration(plan.changed_queues(queues), seed, later)

    def _check_sent(self, document: Mapping[str, Any]) -> None:
        """Refuse what may come from a file alone: other settings, code, other files.

        The settings are compared as they stand in the file: to understand them means to read the
        files that they name.
        """
        file = self._runtime.plan.file
        if "server" in document:
            known = None if file is None else load_document(file).get("server")
            if document["server"] != known:
                raise ConfigError(SERVER_DIFFERS.format(keys=_differing(document["server"], known)))
        check_foreign(specs_in(document), self._trusted())
        check_files(changeable(document))
        self._check_targets(document)

    def _check_targets(self, document: Mapping[str, Any]) -> None:
        try:
            check_targets(document, self._runtime.plan.settings)
        except ConfigError as error:
            raise ConfigError(f"{error}, and restart the server") from None

    def _again(self, tables: Tables, queues: tuple[Queue, ...]) -> Configure:
        """Return the same configuration under its number, but for what its shell changes."""
        now, by = self._runtime.now(), tables.configured_by
        return Configure(now, queues, tables.seed, tables.version, tables.paused, by)

    def _configure(self, tables: Tables, queues: tuple[Queue, ...], seed: int) -> Configure:
        names = {queue.name for queue in queues}
        paused = tuple(name for name in tables.paused if name in names)
        now = self._runtime.now()
        return Configure(now, with_current_policies(queues, now), seed, tables.version + 1, paused)


class _ParsedConfiguration(NamedTuple):
    """What a document says: queues, seed, and which settings only a restart brings into force."""

    queues: tuple[Queue, ...]
    seed: int
    at_restart: tuple[str, ...]


def _differing(sent: object, known: object) -> str:
    """Return the keys in which two tables differ, in words."""
    if not (isinstance(sent, dict) and isinstance(known, dict)):
        return "which has none" if isinstance(sent, dict) else "not a table"
    keys = sorted(key for key in {*sent, *known} if sent.get(key) != known.get(key))
    return ", ".join(keys[:20])


def _extract(engine: Engine) -> Tables:
    tables = engine.tables
    return Tables(
        now=tables.now,
        seed=tables.seed,
        version=tables.version,
        configured_by=tables.configured_by,
        queues=dict(tables.queues),
        paused=tables.paused,
        waiting=dict(tables.waiting),
    )


def _changes(configuration: Configure, tables: Tables) -> bool:
    return (
        configuration.queues != tuple(tables.queues.values()) or configuration.seed != tables.seed
    )


def _counts(record: Record) -> tuple[int, int]:
    """Return how many tickets expired by a change, and how many left a queue."""
    kinds = [type(event) for event in record.events]
    return kinds.count(Expired), kinds.count(LeftQueue)


def _queue_of(tables: Tables, name: str) -> Queue:
    queue = tables.queues.get(name)
    if queue is None:
        raise unknown_queue(name, tables.queues)
    return queue


def _changed(tables: Tables, name: str, key: str, value: object) -> tuple[Queue, ...]:
    return tuple(
        msgspec.structs.replace(queue, **{key: value}) if queue.name == name else queue
        for queue in tables.queues.values()
    )


def _names_in(document: dict[str, Any]) -> set[str]:
    """Return the names of the queues that are tables of their own."""
    return {queue.get("name", "main") for queue in document["queue"]}


def _with_key(document: dict[str, Any], name: str, key: str, value: object) -> dict[str, Any]:
    """Return a configuration's keys with one key of one queue changed; None takes it out."""
    queues = []
    for queue in document["queue"]:
        if queue.get("name", "main") == name:
            queue = {each: queue[each] for each in queue if each != key}
            queue.update({} if value is None else {key: value})
        queues.append(queue)
    return {**document, "queue": queues}


# Policies that are code of the operator's own, and why they do not come over HTTP.
#
# A SPEC with a dot imports a module and calls what it finds there: `subprocess.Popen:args=reboot`
# would do as it says. Whoever writes the CONFIG file may run programs on this machine anyway;
# whoever holds a key with the right to operate may not. So over HTTP only such policies can be
# named as the CONFIG file, or whoever started the server from Python, has named already.


def check_foreign(specs: Iterable[object], known: Iterable[str]) -> None:
    """Refuse the SPEC of a policy from outside evenmatch that is not known.

    Args:
        specs: What came over HTTP, SPECs or anything else.
        known: SPECs that may be trusted.

    Raises:
        ConfigError: There is one; nothing was imported.
    """
    trusted = {_name(spec) for spec in known}
    for spec in specs:
        if isinstance(spec, str) and "." in _name(spec) and _name(spec) not in trusted:
            raise ConfigError(
                f"policy {_name(spec)[:64]} is not one of evenmatch's own, and the server takes no "
                f"code over HTTP: name it in the CONFIG file first, as a policy, a shadow or a "
                f"switchback of any queue"
            )


def check_files(document: Mapping[str, Any]) -> None:
    """Refuse the name of a file outside the folder of CONFIG.

    Args:
        document: The keys of a configuration that came over HTTP.

    Raises:
        ConfigError: There is one, or a key is not allowed; nothing was read.
    """
    for key, name in files_in(document):
        if not _is_inside(name):
            raise ConfigError(
                f"{key} = {name[:64]!r} is outside the folder of CONFIG: over HTTP only files "
                f"below it can be named"
            )


def _is_inside(file: str) -> bool:
    path = PurePath(file)
    return not path.is_absolute() and ".." not in path.parts and "\0" not in file


def specs_in(document: Mapping[str, Any]) -> Iterator[object]:
    """Yield whatever stands in the places of SPECs, right or wrong."""
    queues = document.get("queue")
    for queue in queues if isinstance(queues, list) else ():
        if isinstance(queue, dict):
            yield from (queue.get("policy"), queue.get("shadow"))
            switchback = queue.get("switchback")
            arms = switchback.get("policies") if isinstance(switchback, dict) else None
            yield from arms if isinstance(arms, list) else ()


def specs_of_queues(queues: Iterable[Queue]) -> Iterator[str]:
    """Yield the SPECs that queues name."""
    for queue in queues:
        yield queue.policy
        if queue.shadow is not None:
            yield queue.shadow
        if queue.switchback is not None:
            yield from queue.switchback.policies


def _name(spec: str) -> str:
    return spec.partition(":")[0].strip()
