"""Plays a journal's inputs with another policy, and compares the results.

The other policy plays in a shadow world, as beside a live server; see `engine/shadow.py` for the
limits of that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import numpy as np

from evenmatch.engine.ledger import Ledger, Sums
from evenmatch.engine.records import Record
from evenmatch.engine.shadow import ShadowDropped, ShadowEngine, extract
from evenmatch.errors import ConfigError
from evenmatch.lab.replay.source import SAY_EVERY, Say, Source, resolve
from evenmatch.model.inputs import Configure
from evenmatch.model.queue import Queue
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.metrics import wait_figures

Figures = dict[str, Any]


class CounterfactualResult(msgspec.Struct):
    """The figures of both worlds, by queue.

    Args:
        policy: The other policy.
        records: Number of records read.
        seconds: Engine time from the start of the replay, 0 or a snapshot's instant, to the last
            record.
        merged: Tickets of players who still waited in the other world.
        journal: What happened, by queue.
        other: What would have happened.
    """

    policy: str
    records: int
    seconds: float
    merged: int
    journal: dict[str, Figures]
    other: dict[str, Figures]


def with_other_policy(
    source: Source, spec: str, say: Say, *, queue: str | None = None
) -> CounterfactualResult:
    """Play a journal's inputs under another policy.

    Args:
        source: The journal.
        spec: The policy.
        say: Called with the progress.
        queue: The queue that gets it, if the shard has it; None gives it to every queue.

    Raises:
        ConfigError: There is no such policy, or it cannot work on a queue.
        JournalError: The journal is damaged.
    """
    parse_policy(spec)
    tables = source.tables
    under = partial(_under, spec, queue)
    tables.queues = {name: under(each) for name, each in tables.queues.items()}
    journal = Ledger(tables.waiting.values(), tables.queues.values())
    names, since, now, count = dict.fromkeys(tables.queues), tables.now, tables.now, 0
    try:
        world = ShadowEngine(extract(tables), resolve, lambda record: other.hear(record))
        # Some of those who waited in a proposal have no place in that world.
        other = Ledger(world.engine.tables.waiting.values(), tables.queues.values())
        for entry in source.entries(source.begin):
            record = entry.record
            journal.hear(record)
            world.hear(_with_queues(record, under))
            if isinstance(record.input, Configure):
                names |= dict.fromkeys(each.name for each in record.input.queues)
            now, count = record.input.now, count + 1
            if count % SAY_EVERY == 0:
                say(count, source.last - source.begin + 1)
    except ShadowDropped as why:
        raise ConfigError(f"policy {spec} cannot play these inputs: {why}") from why
    mine, theirs = ({name: _figures(each.of(name)) for name in names} for each in (journal, other))
    return CounterfactualResult(spec, count, now - since, world.merged, mine, theirs)


def _figures(sums: Sums) -> Figures:
    waits = wait_figures(np.array(sums.waits, dtype=np.float64))
    return {
        "matches": sums.matches,
        "players": sums.players,
        "bots": sums.bots,
        "wait": {name: waits[name] for name in ("mean", "p50", "p90")},
        "quality": sums.quality / sums.rated if sums.rated else None,
        "expired": sums.expired,
        "waiting": sums.waiting,
    }


def _with_queues(record: Record, under: Callable[[Queue], Queue]) -> Record:
    """Return a record whose queues, if it has any, get the other policy."""
    input_ = record.input
    if not isinstance(input_, Configure):
        return record
    queues = tuple(map(under, input_.queues))
    return msgspec.structs.replace(record, input=msgspec.structs.replace(input_, queues=queues))


def _under(spec: str, only: str | None, queue: Queue) -> Queue:
    chosen = spec if only in (None, queue.name) else None
    return msgspec.structs.replace(queue, shadow=chosen)
