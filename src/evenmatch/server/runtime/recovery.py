"""Recovery rebuilds a shard from its journal; snapshots keep that quick, see `snapshots.py`.

`recover` takes the lease, restores the newest snapshot, folds the records after it, and notes in
the journal who writes from now on.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

import evenmatch
from evenmatch.config.server import ServerSettings
from evenmatch.engine.admission.shard_limits import ShardLimits
from evenmatch.engine.configuration import ConfigurationEffect, foresee
from evenmatch.engine.engine import Engine
from evenmatch.engine.matching.pool import Pool
from evenmatch.engine.matching.scheduler import Watch
from evenmatch.engine.records import FORMAT
from evenmatch.engine.state.snapshot import decode_snapshot, restore
from evenmatch.engine.state.state import Tables
from evenmatch.errors import ConfigError, JournalCorrupt
from evenmatch.journals.backup import had_keys
from evenmatch.journals.base import Entry, Journal, Segment, StoredSnapshot, format_of
from evenmatch.journals.opening import folder_beside, is_shared, without_password
from evenmatch.model.inputs import Configure
from evenmatch.model.queue import Queue
from evenmatch.model.shards import ShardPart, is_shard_name, shards_of
from evenmatch.policies.base import Memory
from evenmatch.policies.registry import check_kernels, parse_policy
from evenmatch.ratings.periods import rate_period
from evenmatch.server.runtime.lease_keeping import LEASE_SECONDS
from evenmatch.server.runtime.logs import log
from evenmatch.server.runtime.time_notes import resumes_at
from evenmatch.server.views.switchback import with_current_policies

ConfigFrom = Literal["auto", "file", "data"]

APPLIED_AT_ONCE = 200
"""Events folded before others may run; a record may hold hundreds, those of a whole array."""


class ShardPlan(msgspec.Struct, frozen=True):
    """What a shard runs.

    Args:
        queues: The configuration.
        seed: Root of the policies' chance.
        settings: The server's.
        shard: Prefix of all ids.
        owner: Who writes; one name for all starts on one data directory, which a file lock
            keeps to one process at a time.
        drop_queues: Let tickets expire whose queue is no longer among `queues`; otherwise such a
            start is refused.
        file: The CONFIG file.
        document: The keys of the CONFIG file that may change while the server runs; None where
            the queues come from Python.
        data: The data directory, where later configurations are kept.
        config_from: Which configuration counts where that of the data directory is another one
            than the file's: `file`, `data`, or `auto`, which refuses where both were changed.
        has_keys: Whether callers need keys or tokens.
        may_be_open: Start without keys also where the journal was written with some.
        journal: Address of the journal, where it is not a file in the data directory.
        waits: Wait at the start for as long as another server holds the shard.
        lease_seconds: Length of the lease on the shard.
        layout: All shards of the game, where nodes share them out; `queues` are those of this one.
        keeps_format: Go on in the format in which the journal is written, since nodes of an older
            version may read it, until somebody raises it.
        set_by: What brought the configuration over HTTP, if it is in force already under the
            journal's number; empty for that of the file.
    """

    queues: tuple[Queue, ...]
    seed: int = 0
    settings: ServerSettings = ServerSettings()
    shard: str = "s0"
    owner: str = "local"
    drop_queues: bool = False
    file: Path | None = None
    document: dict[str, Any] | None = None
    data: Path | None = None
    config_from: ConfigFrom = "auto"
    set_by: str = ""
    has_keys: bool = False
    may_be_open: bool = False
    journal: str = ""
    waits: bool = False
    lease_seconds: float = LEASE_SECONDS
    layout: tuple[ShardPart, ...] = ()
    keeps_format: bool = False

    @property
    def folder(self) -> Path | None:
        """Return the folder from which file names in the configuration count."""
        return None if self.file is None else self.file.parent

    @property
    def time_folder(self) -> Path | None:
        """Return where the time is noted beside the journal; None if the journal itself has it.

        A note on the disk of the last owner of a journal that others reach would be missed there.
        """
        return None if self.journal else self.data

    @property
    def journal_folder(self) -> Path | None:
        """Return the folder of the journal's file; None if it is in memory or on a server."""
        if not self.journal:
            return self.data
        return None if is_shared(self.journal) else folder_beside(self.journal).parent

    def own_queues(self, queues: tuple[Queue, ...]) -> tuple[Queue, ...]:
        """Return those queues of a configuration that belong to this shard.

        Raises:
            ConfigError: The configuration has other shards than the nodes were started with.
        """
        if not self.layout:
            return queues
        found = {each.name: (each.groups, each.split) for each in shards_of(queues)}
        known = {each.name: (each.groups, each.split) for each in self.layout}
        if found != known:
            raise ConfigError(
                f"the groups and splits of this configuration make the shards {', '.join(found)}, "
                f"but the nodes run {', '.join(known)}, or divide them differently: change CONFIG "
                f"on all nodes, and restart each"
            )
        groups, _ = known[self.shard]
        return tuple(queue for queue in queues if queue.group in groups)

    def changed_queues(self, queues: tuple[Queue, ...]) -> tuple[Queue, ...]:
        """Return those queues of a changed configuration that belong to this shard.

        Raises:
            ConfigError: It has other shards than the nodes were started with, or a queue for which
                they know no shard.
        """
        own = self.own_queues(queues)
        known = {name for part in self.layout for name in part.queues if part.name == self.shard}
        for queue in own if self.layout else ():
            if queue.name not in known:
                raise ConfigError(
                    f"queue {queue.name} is new, and the nodes know only the shards of queues that "
                    f"they were started with: add it to CONFIG on all nodes, and restart each"
                )
        return own


class Rebuilt(msgspec.Struct):
    """An engine rebuilt from a journal and not yet resumed, which may read on.

    Whoever reads on may be cancelled between two records, so the last one changes with the engine.

    Args:
        engine: Nobody else's.
        memories: What the matchers knew at the snapshot.
        snapshot_at: The record after which the snapshot was taken; 0 if there was none.
        last: The last record in it, as the journal had it; None where the journal keeps only the
            snapshot.
        events: How many were folded since.
        begun_at: The record to which the journal was read when it was begun with the snapshot.
    """

    engine: Engine
    memories: Mapping[str, Memory]
    snapshot_at: int
    last: Entry | None = None
    events: int = 0
    begun_at: int = 0

    @property
    def can_be_checked(self) -> bool:
        """Return whether another past can be told from this one, in a journal that goes on."""
        return self.last is not None or self.engine.tables.sequence == 0


class OtherPast(JournalCorrupt):
    """The journal no longer holds what was read from it: a copy was restored meanwhile."""


class RecoveredEngine(msgspec.Struct, frozen=True):
    """An engine with all that its journal holds, and what writing on needs.

    Args:
        engine: Resumed.
        epoch: Of the lease.
        last_wall: Wall time of the last record, Unix seconds.
        snapshot_at: The record after which the snapshot was taken that recovery began with, 0 if
            there was none.
        events: How many came after it.
        format: In which it is written on.
    """

    engine: Engine
    epoch: int
    last_wall: float
    snapshot_at: int = 0
    events: int = 0
    format: int = FORMAT


async def recover(
    journal: Journal,
    plan: ShardPlan,
    watch: Watch | None = None,
    *,
    wall: Callable[[], float] = time.time,
    granted: Callable[[int], None] = lambda _: None,
    rebuilt: Rebuilt | None = None,
) -> RecoveredEngine:
    """Take the shard over and rebuild its engine: the newest snapshot, then the records after it.

    Args:
        journal: Where the records are.
        plan: What to run.
        watch: Put around each matcher.
        wall: Unix time.
        granted: Called with the epoch when the lease is granted, before anything is read: reading
            may take longer than a lease.
        rebuilt: What was read of it while another owner wrote.

    Raises:
        StaleOwner: Another owner holds the shard.
        JournalError: The journal cannot be read, or is damaged.
    """
    epoch = await journal.lease(plan.shard, plan.owner, plan.lease_seconds)
    granted(epoch)
    if rebuilt is not None and not rebuilt.can_be_checked:
        # It ends with a snapshot whose record is gone, so nothing tells whether it still counts.
        rebuilt = None
    try:
        found = await rebuild(journal, plan, watch, rebuilt)
    except JournalCorrupt:
        if rebuilt is None:
            raise
        # Whoever read too slowly misses records that two snapshots cover.
        found = await rebuild(journal, plan, watch)
    engine, snapshot_at = found.engine, found.snapshot_at
    await _check_keys(journal, plan)
    last_seq, last_wall = await journal.last(plan.shard)
    # Not later: deadlines that passed meanwhile are met at their own instants.
    await asyncio.to_thread(engine.resume, engine.tables.now, found.memories)
    number = await _next_format(journal, plan)
    await journal.begin(plan.shard, segment_of(plan, last_seq + 1, wall(), number))
    if last_seq:
        tables, read = engine.tables, last_seq - snapshot_at
        proposed = sum(len(each.tickets) for each in tables.proposals.values())
        waiting = len(tables.waiting) - proposed
        found_there = {"waiting": waiting, "proposed": proposed}
        log.info("recovered", shard=plan.shard, record=last_seq, read=read, **found_there)
    return RecoveredEngine(engine, epoch, last_wall, snapshot_at, found.events, number)


async def _next_format(journal: Journal, plan: ShardPlan) -> int:
    """Return the format in which a journal is written on.

    Where nodes share it, that is the one that it has; a shard that nobody has written yet begins as
    the others of its game, and the first of all in the newest.
    """
    if not plan.keeps_format:
        return FORMAT
    if own := await journal.segments(plan.shard):
        return format_of(own)
    others = [await journal.segments(part.name) for part in plan.layout]
    return min((format_of(each) for each in others if each), default=FORMAT)


async def rebuild(
    journal: Journal,
    plan: ShardPlan,
    watch: Watch | None = None,
    rebuilt: Rebuilt | None = None,
) -> Rebuilt:
    """Return an engine with all that a journal holds, which nobody may change that way.

    Args:
        journal: Where the records are.
        plan: What to run.
        watch: Put around each matcher.
        rebuilt: What was read before; it reads on.

    Raises:
        JournalError: The journal cannot be read, or is damaged.
    """
    if rebuilt is not None:
        try:
            return await _read_on(journal, plan.shard, rebuilt)
        except OtherPast:
            log.warning("journal_has_another_past", shard=plan.shard, consequence="read anew")
    found = await _read_on(journal, plan.shard, await _from_snapshot(journal, plan, watch))
    found.begun_at = found.engine.tables.sequence
    return found


async def _read_on(journal: Journal, shard: str, rebuilt: Rebuilt) -> Rebuilt:
    """Fold what the journal has beyond what was read of it.

    Raises:
        OtherPast: The last record that was read is another one now; nothing was folded.
    """
    engine, last = rebuilt.engine, rebuilt.last
    is_known, count = last is None, 0
    async for entry in journal.read(shard, engine.tables.sequence + is_known):
        if not is_known:
            _check_past(entry, last)
            is_known = True
            continue
        engine.apply(entry.record)
        rebuilt.last, rebuilt.events = entry, rebuilt.events + len(entry.record.events)
        count += len(entry.record.events)
        if count >= APPLIED_AT_ONCE:
            count = 0
            await asyncio.sleep(0)
    if not is_known:
        _check_past(None, last)
    return rebuilt


def _check_past(present: Entry | None, entry: Entry | None) -> None:
    """Refuse a record that is not the one that was read under its number."""
    if present != entry:
        raise OtherPast("the journal has other records now than were read of it")


async def _from_snapshot(journal: Journal, plan: ShardPlan, watch: Watch | None) -> Rebuilt:
    """Return an engine with what the newest snapshot holds."""
    limits = engine_limits(plan.settings)
    engine = Engine(resolve, shard=plan.shard, limits=limits, rate=rate_period, watch=watch)
    stored = await journal.latest_snapshot(plan.shard)
    # The new engine is nobody else's yet: threads may fill it while the loop serves others.
    memories = await asyncio.to_thread(_restore, engine, stored)
    sequence = engine.tables.sequence
    return Rebuilt(engine, memories, sequence, await _entry_at(journal, plan.shard, sequence))


async def _entry_at(journal: Journal, shard: str, sequence: int) -> Entry | None:
    """Return a record, None if the journal does not show it."""
    with suppress(JournalCorrupt):
        return await anext(aiter(journal.read(shard, sequence)), None) if sequence else None
    return None


async def check_alone(journal: Journal, plan: ShardPlan) -> None:
    """Refuse a server that is no node where a cluster has written several shards.

    It would serve all queues in one shard: the tickets of the others would be unknown and their
    players could wait twice, and the cluster could not recover the one shard afterwards. A shard
    that never had any, since the cluster went no further, keeps nobody from going back.

    Raises:
        ConfigError: Another shard has had tickets.
        JournalError: The journal cannot be read, or is damaged.
    """
    # Only nodes keep the format, and they share the shards out.
    if plan.keeps_format:
        return
    others = []
    for shard in await journal.shards():
        # What else somebody keeps in the journal, under names of their own, is no game's.
        if shard != plan.shard and is_shard_name(shard):
            found = await rebuild(journal, msgspec.structs.replace(plan, shard=shard))
            if found.engine.tables.waiting or found.engine.tables.matches:
                others.append(shard)
    if others:
        at = f"in {plan.data}"
        advice = (
            f"bring it to a journal on a server with `evenmatch backup {plan.data} ADDRESS`, and "
            f"start nodes on that, one at the least"
        )
        if plan.journal:
            at = f"at {without_password(plan.journal)}"
            advice = (
                "start it with --node NAME and --cluster-key FILE, as the others were, even if it "
                "is the only node"
            )
        raise ConfigError(
            f"the journal {at} has tickets or matches in other shards ({', '.join(others)}): nodes "
            f"of a cluster wrote it, and a server without --node serves only {plan.shard}: {advice}"
        )


def check_waiting(tables: Tables, plan: ShardPlan) -> None:
    """Refuse a plan without a queue in which tickets wait, unless it says that they may expire.

    A queue that is not in force any more is not missed: it was taken out while the server ran, and
    whoever still belongs to it is in a proposal that ends under the settings it began with.

    Raises:
        ConfigError: There is such a queue.
    """
    gone = tables.queues.keys() - {queue.name for queue in plan.queues}
    lost = Counter(name for row in tables.waiting.values() for name in row.queues if name in gone)
    if not lost or plan.drop_queues:
        return
    shards = {name: part.name for part in reversed(plan.layout) for name in part.queues}
    moved = [
        f"{name} ({lost[name]} waiting), now in {shards[name]}" for name in lost if name in shards
    ]
    if moved:
        raise ConfigError(
            f"tickets wait in shard {plan.shard} in queues that the configuration has in other "
            f"shards: {', '.join(moved)}; a queue changes its shard only while nobody waits in it: "
            f"start with the groups as they were (without --node, if a server without it took "
            f"these tickets) and drain first, or let them expire with --drop-queues"
        )
    text = ", ".join(f"{name} ({count} waiting)" for name, count in lost.items())
    raise ConfigError(
        f"the configuration lacks queues in which tickets wait: {text}; add them again, or let "
        f"the tickets expire with --drop-queues"
    )


def expired_by_change(tables: Tables, after: int) -> int:
    """Return how many tickets expired after a record because their queue was changed."""
    rows = tables.ended.values()
    return sum(row.changed > after and row.reason == "queue_changed" for row in rows)


def configuration(engine: Engine, plan: ShardPlan, now: float) -> Configure | None:
    """Return the input that brings the plan's queues into force, None if they are."""
    tables = engine.tables
    is_known = tuple(tables.queues.values()) == plan.queues and tables.seed == plan.seed
    if is_known and tables.configured_by == plan.set_by:
        return None
    names = {queue.name for queue in plan.queues}
    paused = tuple(name for name in tables.paused if name in names)
    # What came over HTTP keeps its number: under that it is found again.
    version = tables.version + (not plan.set_by)
    return Configure(now, plan.queues, plan.seed, version, paused, plan.set_by)


def engine_limits(settings: ServerSettings) -> ShardLimits:
    """Return the engine's share of the server's limits."""
    limits = settings.limits
    return ShardLimits(
        waiting_max=limits.pool_max,
        players_max=limits.players_per_ticket_max,
        attributes_max=limits.attributes_max,
        text_max=limits.id_length_max,
    )


async def _check_keys(journal: Journal, plan: ShardPlan) -> None:
    """Refuse to go on without keys where the journal was written with some.

    Keys are in no backup. A server that is restored without them would let in whoever reaches it,
    and behind a proxy on the same machine that is everybody.

    Raises:
        ConfigError: The keys are missing.
    """
    if plan.has_keys or plan.may_be_open:
        return
    segments = await journal.segments(plan.shard)
    if (segments and segments[-1].keyed) or (plan.data is not None and had_keys(plan.data)):
        where = "the data directory" if plan.data is None else plan.data
        option = f"--data {where}"
        if plan.data is None and plan.journal:
            where, option = "a data directory", f"--journal {without_password(plan.journal)}"
        raise ConfigError(
            f"this journal was written with keys, and there are none now: copy keys.json (and "
            f"guests.secret) of the old server to {where}, or make a new one with: evenmatch keys "
            f"add NAME {option}; to let everybody in who reaches the server, start with "
            f"--without-keys"
        )


def _restore(engine: Engine, stored: StoredSnapshot | None) -> Mapping[str, Memory]:
    """Put a stored snapshot into a new engine, and return the memories in it."""
    if stored is None:
        return {}
    memories = restore(engine, decode_snapshot(stored.state))
    if engine.tables.sequence != stored.sequence:
        raise JournalCorrupt(
            f"the snapshot after record {stored.sequence} holds the state after record "
            f"{engine.tables.sequence}: restore a copy of the journal"
        )
    return memories


def resolve(queue: Queue) -> evenmatch.Policy:
    """Return a queue's policy.

    Raises:
        NotSupported: It would stop the server, since kernels are not compiled here.
    """
    check_kernels(queue.policy, queue.name)
    return parse_policy(queue.policy)


def pools_of(seed: int) -> Callable[[Queue], Pool]:
    """Return what makes a queue's pool, and the policies beside its own, to try them out."""

    def make(queue: Queue) -> Pool:
        others = () if queue.switchback is None else queue.switchback.policies
        for policy in (*others, queue.shadow):
            if policy is not None:
                tried = msgspec.structs.replace(queue, policy=policy)
                Pool(tried, resolve(tried), seed=seed)
        return Pool(queue, resolve(queue), seed=seed)

    return make


class Foreseen(msgspec.Struct, frozen=True):
    """What a plan would do to `waiting` tickets; why a start refuses it; who set other queues."""

    effect: ConfigurationEffect
    waiting: int
    refused: str
    set_by: str


async def foresee_against(journal: Journal, plan: ShardPlan) -> Foreseen:
    """Return what a plan would do to the tickets that wait in a journal.

    The journal is only read, so its server may run meanwhile.

    Raises:
        ConfigError: The plan cannot come into force.
        JournalError: The journal cannot be read, or is damaged.
    """
    engine = (await rebuild(journal, plan)).engine
    tables = engine.tables
    engine.ladders.check(plan.queues)
    _, last_wall = await journal.last(plan.shard)
    now = resumes_at(plan.time_folder, tables, last_wall, time.time())
    change = Configure(now, plan.queues, plan.seed, tables.version + 1)
    effect = foresee(change, tables, pools_of(plan.seed))
    refused = set_by = ""
    try:
        check_waiting(tables, plan)
    except ConfigError as error:
        refused = str(error)
    # Policies that take turns may have done so since the last record.
    present = with_current_policies(tables.queues.values(), now)
    if with_current_policies(plan.queues, now) != present:
        set_by = tables.configured_by
    return Foreseen(effect, len(tables.waiting), refused, set_by)


def segment_of(
    plan: ShardPlan, first_seq: int, wall: float, number: int, *, raised: bool = False
) -> Segment:
    """Return what says that this version writes a journal from a record on, in a format."""
    policies = {queue.name: queue.policy for queue in plan.queues}
    return Segment(first_seq, number, evenmatch.__version__, policies, wall, plan.has_keys, raised)
