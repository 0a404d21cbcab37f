"""From a journal to a shard that goes on where it ended."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

import evenmatch
from evenmatch.engine import admission
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import FORMAT
from evenmatch.engine.snapshot import decode_snapshot, restore
from evenmatch.errors import JournalCorrupt
from evenmatch.journals.base import Journal, Segment
from evenmatch.model.inputs import Configure
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import ServerSettings
from evenmatch.policies.base import Memory
from evenmatch.policies.registry import parse_policy

LEASE_SECONDS = 30.0


class Plan(msgspec.Struct, frozen=True):
    """What a shard is to run.

    Args:
        queues: The configuration.
        seed: Root of the policies' chance.
        settings: The server's.
        shard: Prefix of all ids.
        owner: Who writes; one name for all starts on one data directory, which a file lock
            keeps to one process at a time.
    """

    queues: tuple[Queue, ...]
    seed: int = 0
    settings: ServerSettings = ServerSettings()
    shard: str = "s0"
    owner: str = "local"


class Recovered(msgspec.Struct, frozen=True):
    """An engine with all that its journal holds, and what is needed to write on."""

    engine: Engine
    epoch: int
    last_wall: float


async def recover(
    journal: Journal, plan: Plan, *, wall: Callable[[], float] = time.time
) -> Recovered:
    """Take the shard over and rebuild its engine: the newest snapshot, then the records after it.

    Raises:
        StaleOwner: Another owner holds the shard.
        JournalError: The journal cannot be read, or is damaged.
    """
    epoch = await journal.lease(plan.shard, plan.owner, LEASE_SECONDS)
    engine = Engine(_resolve, shard=plan.shard, limits=engine_limits(plan.settings))
    memories: dict[str, Memory] = {}
    stored = await journal.latest_snapshot(plan.shard)
    if stored is not None:
        memories = dict(restore(engine, decode_snapshot(stored.state)))
        if engine.tables.sequence != stored.sequence:
            raise JournalCorrupt(
                f"the snapshot after record {stored.sequence} holds the state after record "
                f"{engine.tables.sequence}: restore a copy of the journal"
            )
    async for entry in journal.read(plan.shard, engine.tables.sequence + 1):
        engine.apply(entry.record)
    last_seq, last_wall = await journal.last(plan.shard)
    # Not later: deadlines that passed meanwhile are met at their own instants.
    engine.resume(engine.tables.now, memories)
    await journal.begin(plan.shard, _segment(plan, last_seq + 1, wall()))
    return Recovered(engine, epoch, last_wall)


def configuration(engine: Engine, plan: Plan, now: float) -> Configure | None:
    """Return the input that brings the plan's queues into force, None if they are."""
    tables = engine.tables
    if tuple(tables.queues.values()) == plan.queues and tables.seed == plan.seed:
        return None
    return Configure(now, plan.queues, plan.seed, tables.version + 1)


def engine_limits(settings: ServerSettings) -> admission.Limits:
    """Return the engine's share of the server's limits."""
    limits = settings.limits
    return admission.Limits(
        waiting_max=limits.pool_max,
        players_max=limits.players_per_ticket_max,
        attributes_max=limits.attributes_max,
        text_max=limits.id_length_max,
    )


def _resolve(queue: Queue) -> evenmatch.Policy:
    return parse_policy(queue.policy)


def _segment(plan: Plan, first_seq: int, wall: float) -> Segment:
    policies = {queue.name: queue.policy for queue in plan.queues}
    return Segment(first_seq, FORMAT, evenmatch.__version__, policies, wall)
