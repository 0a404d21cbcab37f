"""Which configuration is in force: that of the CONFIG file, or one that an operator set since.

The journal numbers configurations, and it alone says which number is in force. A configuration
that came over HTTP lies beside the journal under its number, `config/7.json`, written before the
journal hears of it; a number without a file is a configuration of the CONFIG file. So a crash at
any point leaves the two in agreement, and a restart goes on with what was in force. Where the game
has no data directory and its journal is on a server, the files are documents beside that journal.

The journal refuses the records of a server that has lost its shard, and nobody refuses documents
for it. So who writes one looks at what is there, asks the journal whether the shard is still
theirs, and replaces nothing but what they saw. What a paused server still writes where there was
nothing counts neither: the journal knows by what each configuration was set.

Where somebody edited the CONFIG file after a change over HTTP, nobody can know which of the two is
meant: such a start is refused until `--config-from` says it.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec

from evenmatch.config.files import check_hooks, load_document, server_of
from evenmatch.engine.state.state import Tables
from evenmatch.errors import ConfigError, JournalCorrupt, JournalUnavailable
from evenmatch.journals.store import MISSING
from evenmatch.journals.store_thread import StoreThread
from evenmatch.model.shards import FIRST, shards_of
from evenmatch.server.runtime.logs import log
from evenmatch.server.runtime.recovery import ShardPlan

FOLDER = "config"
KEPT = 100
"""Versions kept; older ones are deleted."""
TRIES = 3
"""How often somebody looks anew whose document another one changed meanwhile."""
RELOAD = "reload"
"""What brought a configuration that is the CONFIG file with keys that came over HTTP."""
UNDONE = "undone"
"""What stands there for a document that counts no more."""
GAMELIFT = "gamelift"
"""The key of rule sets and configurations, which clients of GameLift write."""
KEYS = ("seed", "queue", GAMELIFT)
"""What of a CONFIG file may change while a server runs."""


class StoredConfiguration(msgspec.Struct, frozen=True):
    """A configuration that was set over HTTP.

    Args:
        version: Its number in the journal.
        at: When it was accepted, Unix seconds.
        by: What brought it: the method and the path of the request.
        base: The digest of the CONFIG file's keys at that time.
        config: Its keys, as in a CONFIG file.
        sum: Digest of all this; empty in files of earlier versions. A wrong digit would be another
            configuration that nobody asked for.
    """

    version: int
    at: float
    by: str
    base: str
    config: dict[str, Any]
    sum: str = ""

    def with_digest(self) -> StoredConfiguration:
        """Return it with its digest."""
        return msgspec.structs.replace(self, sum=self._sum())

    def is_intact(self) -> bool:
        """Return whether it is as it was written."""
        return self.sum in ("", self._sum())

    def _sum(self) -> str:
        return digest(msgspec.to_builtins(msgspec.structs.replace(self, sum="")))


class Versions:
    """The configurations beside a journal; without a folder and a store they are kept in memory.

    With a store, what was not read or written before waits for it: `chosen` reads what is in force
    in a thread.

    Args:
        folder: The data directory.
        store: What is kept beside a journal on a server, instead of in a directory.
        shard: Whose they are, where several shards of a game share the place.
    """

    def __init__(
        self, folder: Path | None, store: StoreThread | None = None, shard: str = FIRST
    ) -> None:
        self._under = FOLDER if shard == FIRST else f"{FOLDER}-{crc32(shard.encode()):08x}"
        self._folder = None if folder is None else folder / self._under
        self._store = store
        self._known: dict[int, StoredConfiguration] = {}
        # Numbers without a document: only who answers writes them, so they stay without one.
        self._missing: set[int] = set()
        self.confirm: Callable[[], Awaitable[None]] = _nobody_else
        """Raises `StaleOwner` if the shard is another server's by now."""

    def path(self, version: int) -> Path | None:
        """Return the file of a version, None where versions are kept in memory."""
        return None if self._folder is None else self._folder / f"{version}.json"

    def read(self, version: int) -> StoredConfiguration | None:
        """Return a version that came over HTTP, None if it came from the CONFIG file.

        Raises:
            ConfigError: Its file is damaged.
            JournalUnavailable: The store does not answer.
        """
        if version in self._known or version in self._missing:
            return self._known.get(version)
        place = self.path(version) or f"{self._name_of(version)} beside the journal"
        try:
            body = self._body(version)
            if body is None:
                self._missing.add(version)
                return None
            stored = msgspec.json.decode(body, type=StoredConfiguration)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, JournalCorrupt) as error:
            raise _unreadable(place, str(error)) from None
        if stored.version != version or not stored.is_intact():
            raise _unreadable(place, "it was changed after it was written")
        self._known[version] = stored
        return stored

    def _body(self, version: int) -> bytes | None:
        """Return what is stored of a version."""
        if self._store is not None:
            document = self._store.get(self._name_of(version))
            return None if document is None else document.body
        path = self.path(version)
        return path.read_bytes() if path is not None and path.is_file() else None

    def in_force(self, tables: Tables) -> StoredConfiguration | None:
        """Return the version in force, None if it came from the CONFIG file.

        A document that was set by something else than the journal says was never in force.

        Raises:
            ConfigError: Its file is damaged.
            JournalUnavailable: The store does not answer.
        """
        stored, by = self.read(tables.version), tables.configured_by
        # The journal names nothing where CONFIG was read again.
        is_meant = stored is not None and (stored.by == by or (stored.by == RELOAD and not by))
        return stored if is_meant else None

    async def write(self, stored: StoredConfiguration) -> None:
        """Keep a version durably, and delete those that are too old.

        Raises:
            StaleOwner: The shard is another server's by now; nothing was changed.
            JournalUnavailable: The disk or the store does not take it.
        """
        body = msgspec.json.format(msgspec.json.encode(stored.with_digest()), indent=2)
        path = self.path(stored.version)
        if self._store is not None:
            await self._replace(self._store, stored.version, lambda _: body)
            await asyncio.to_thread(self._delete_old_documents, self._store)
        else:
            await self.confirm()
            if path is not None:
                await asyncio.to_thread(self._write_file, path, body)
        self._known[stored.version] = stored
        self._missing.discard(stored.version)
        self._known.pop(stored.version - KEPT, None)

    async def set_aside(self, version: int) -> None:
        """Keep a version, but stop using it.

        Raises:
            StaleOwner: The shard is another server's by now; nothing was changed.
            JournalUnavailable: The store does not answer.
        """
        path = self.path(version)
        self._known.pop(version, None)
        if self._store is not None and version not in self._missing:
            await self._replace(self._store, version, _undone)
            self._missing.add(version)
        if path is not None:
            await self.confirm()
            with suppress(FileNotFoundError):
                path.replace(path.with_suffix(".undone.json"))

    async def _replace(
        self, store: StoreThread, version: int, change: Callable[[bytes | None], bytes | None]
    ) -> None:
        """Change a document, unless somebody else owns the shard when it has been read."""
        name = self._name_of(version)
        for _ in range(TRIES):
            document = await asyncio.to_thread(store.get, name)
            await self.confirm()
            body = change(None if document is None else document.body)
            expected = MISSING if document is None else document.revision
            if body is None:
                return
            if await asyncio.to_thread(store.put, name, body, expected) is not None:
                return
        raise JournalUnavailable(f"{name} was changed by others again and again: try again")

    def _write_file(self, path: Path, body: bytes) -> None:
        try:
            _write_durably(path, body)
            self._delete_old(path.parent)
        except OSError as error:
            raise JournalUnavailable(f"{path} cannot be written: {error.strerror}") from None

    def _name_of(self, version: int) -> str:
        return f"{self._under}/{version}.json"

    def _delete_old_documents(self, store: StoreThread) -> None:
        for number in _numbers(store.names(f"{self._under}/"))[:-KEPT]:
            store.delete(self._name_of(number))

    def _delete_old(self, folder: Path) -> None:
        for number in _numbers(each.name for each in folder.glob("*.json"))[:-KEPT]:
            (folder / f"{number}.json").unlink(missing_ok=True)


async def _nobody_else() -> None:
    """Do nothing: a lock keeps everybody else out."""


def _undone(body: bytes | None) -> bytes | None:
    """Return a document as it is kept when it counts no more; None if there is nothing to change.

    What cannot be read cannot count, and stays for people to look at.
    """
    if body is None:
        return None
    try:
        stored = msgspec.json.decode(body, type=StoredConfiguration)
    except msgspec.MsgspecError:
        return None
    gone = msgspec.structs.replace(stored, by=UNDONE).with_digest()
    return msgspec.json.format(msgspec.json.encode(gone), indent=2)


def _numbers(names: Iterable[str]) -> list[int]:
    """Return the numbers of the versions among names of files, in order."""
    stems = (name.rpartition("/")[2].removesuffix(".json") for name in names)
    return sorted(int(stem) for stem in stems if stem.isdigit())


async def plan_in_force(plan: ShardPlan, versions: Versions, tables: Tables) -> ShardPlan:
    """Return the plan with the configuration that is to be in force after a restart.

    Args:
        plan: With the queues of the CONFIG file.
        versions: The configurations beside the journal.
        tables: The state in which the journal ended.

    Raises:
        ConfigError: The CONFIG file was edited after a change over HTTP, or the file of that
            change is missing, and nobody said what counts.
    """
    version = tables.version
    if plan.config_from == "file":
        return await _from_file(plan, versions, tables)
    stored = await asyncio.to_thread(versions.in_force, tables)
    if stored is None:
        return _from_journal(plan, versions, tables) if tables.configured_by else plan
    where = versions.path(version) or f"version {version}"
    if stored.config == plan.document:
        return plan
    base = digest(plan.document)
    if stored.base != base:
        if plan.config_from != "data":
            raise ConfigError(
                f"the configuration was changed by {stored.by} ({where}), and {plan.file} was "
                f"edited since: say which one counts with --config-from data or --config-from file"
            )
        # The choice is made once: the next start knows the file as it is now.
        await versions.write(msgspec.structs.replace(stored, base=base))
    try:
        queues, _, seed = await asyncio.to_thread(server_of, stored.config, plan.folder)
    except ConfigError as error:
        raise ConfigError(
            f"{where}, which {stored.by} brought into force, cannot be used by this version "
            f"({error}): go back to the version that took it, or start with --config-from file, "
            f"which undoes the change"
        ) from None
    log.warning(
        "configuration_of_the_data_is_used",
        version=version,
        set_by=stored.by,
        file=str(where),
        instead_of=str(plan.file),
        choose="--config-from file undoes the change",
    )
    return msgspec.structs.replace(
        plan, queues=plan.own_queues(queues), seed=seed, set_by=stored.by
    )


def read_anew(plan: ShardPlan) -> ShardPlan:
    """Return the plan with the queues of the CONFIG file as it reads now.

    Another node may have brought it into force since this one was started, at SIGHUP. A file that
    cannot be used changes nothing.
    """
    if plan.file is None or plan.document is None:
        return plan
    try:
        document = load_document(plan.file)
        queues, _, seed = server_of({"server": {}, **document}, plan.folder)
        check_hooks(queues, plan.settings)
        own = plan.changed_queues(queues)
        if not plan.layout and len(shards_of(queues)) > 1:
            raise ConfigError("it has several shards by its groups now: start each node again")
    except ConfigError as error:
        log.error(
            "config_not_read_anew",
            file=str(plan.file),
            error=str(error),
            consequence="its queues as this process has read them first",
        )
        return plan
    return msgspec.structs.replace(plan, queues=own, seed=seed, document=changeable(document))


def _from_journal(plan: ShardPlan, versions: Versions, tables: Tables) -> ShardPlan:
    """Return the plan with the journal's own queues: the file of a change over HTTP is missing.

    That is so in a copy of the journal alone. The keys as they were written are lost with it, so
    they cannot be shown; the queues are not.
    """
    if plan.config_from != "data":
        raise ConfigError(
            f"the configuration was changed by {tables.configured_by}, and "
            f"{versions.path(tables.version) or 'what it was'} is missing: restore that file, take "
            f"the journal's queues with --config-from data, or {plan.file} with --config-from file"
        )
    return msgspec.structs.replace(
        plan,
        queues=tuple(tables.queues.values()),
        seed=tables.seed,
        document=None,
        set_by=tables.configured_by,
    )


async def _from_file(plan: ShardPlan, versions: Versions, tables: Tables) -> ShardPlan:
    """Return the plan as it is, and say so if that undoes a change over HTTP."""
    try:
        stored = await asyncio.to_thread(versions.in_force, tables)
    except ConfigError:
        stored = None
    if stored is not None and stored.config != plan.document:
        log.warning("configuration_is_undone", version=tables.version, set_by=stored.by)
    await versions.set_aside(tables.version)
    return plan


def _unreadable(path: Path | str, why: str) -> ConfigError:
    return ConfigError(
        f"{path} cannot be read ({why}), and it holds the configuration in force: restore it, or "
        f"start with --config-from file"
    )


def changeable(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a CONFIG file that may change while a server runs."""
    return {key: document[key] for key in KEYS if key in document}


def edited(before: msgspec.Struct, after: msgspec.Struct, at: str = "server") -> tuple[str, ...]:
    """Return the keys in which settings differ, as `server.limits.pool_max`."""
    found: list[str] = []
    for field in msgspec.structs.fields(before):
        old, new = getattr(before, field.name), getattr(after, field.name)
        key = f"{at}.{field.name}"
        if isinstance(old, msgspec.Struct) and isinstance(new, msgspec.Struct):
            found += edited(old, new, key)
        elif old != new:
            found.append(key)
    return tuple(found)


def digest(document: Mapping[str, Any] | None) -> str:
    """Return a digest of a configuration's keys; comments and order of keys do not matter."""
    return hashlib.sha256(msgspec.json.encode(document, order="sorted")).hexdigest()[:32]


def _write_durably(path: Path, body: bytes) -> None:
    """Write a file so that after a crash it is there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    with new.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make a new name in a folder durable, where the system lets folders be opened."""
    with suppress(OSError, AttributeError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
