"""Checks whether a new configuration can come into force, and what it leaves as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec

from evenmatch.criteria.validation.queue import check_queue
from evenmatch.engine.admission.admission import fits
from evenmatch.engine.matching.pool import Pool
from evenmatch.engine.state.encounters import memory_conflict
from evenmatch.engine.state.state import Tables
from evenmatch.errors import ConfigError
from evenmatch.model.inputs import Configure
from evenmatch.model.queue import Queue
from evenmatch.policies.base import Memory


class ConfigurationEffect(msgspec.Struct, frozen=True, gc=False):
    """What a new configuration would do to the waiting tickets.

    Args:
        expire: Tickets that would end with the reason `queue_changed`.
        leave: Tickets that would leave a queue and wait on in another.
        overdue: Tickets that have waited longer than `wait_max` of every queue that they would
            stay in, or of one that fills up with bots, so that their deadline comes at once.
    """

    expire: int
    leave: int
    overdue: int


def check_configuration(configuration: Configure, tables: Tables) -> None:
    """Check that queues may come into force; their policies are checked by making them.

    Raises:
        ConfigError: A queue that cannot be played, no queue, two of one name, a pause of no
            queue, or another group for a queue with waiting tickets.
    """
    for queue in configuration.queues:
        check_queue(queue)
    names = [queue.name for queue in configuration.queues]
    if not names or len(set(names)) != len(names):
        raise ConfigError("queues must have different names, and there must be at least one")
    if conflict := memory_conflict(configuration.queues):
        raise ConfigError(conflict)
    for name in configuration.pause:
        if name not in names:
            raise ConfigError(f"pause names queue {name!r}; allowed: {', '.join(names)}")
    used = {name for row in tables.waiting.values() for name in row.queues}
    for queue in configuration.queues:
        old = tables.queues.get(queue.name)
        if old is not None and old.group != queue.group and queue.name in used:
            raise ConfigError(
                f"queue {queue.name} has waiting tickets, so its group must stay {old.group}: "
                f"drain first, or bring the queue in under another name, which lets them expire"
            )


def carried_over(
    configuration: Configure, tables: Tables, pools: dict[str, Pool]
) -> tuple[dict[str, Pool], dict[str, Memory]]:
    """Return the pools that a new configuration leaves as they are, matchers included.

    A queue that is paused while its job runs gets a new matcher, which knows of no job and asks
    again when the pause is over; the second part is what its old one knew.
    """
    if configuration.seed != tables.seed:
        return {}, {}
    same, known = {}, {}
    for queue in configuration.queues:
        pool = pools.get(queue.name)
        before = tables.queues.get(queue.name)
        if pool is None or before is None or pool.fault is not None:
            continue
        if not before.plays_like(queue):
            continue
        if queue.name in configuration.pause and pool.slot.running is not None:
            known[queue.name] = pool.memory()
        else:
            same[queue.name] = pool
    return same, known


def changed_since(before: dict[str, Queue], seed: int, tables: Tables) -> set[str]:
    """Return the queues of which nothing that a matcher learnt holds under a new configuration."""
    now, is_same = tables.queues, seed == tables.seed
    return {
        name
        for name, queue in before.items()
        if not (is_same and name in now and queue.plays_like(now[name]))
    }


def misfits(tables: Tables, pools: dict[str, Pool]) -> list[tuple[str, str]]:
    """Return the waiting tickets that new queues do not take, each with the queue's name.

    Those in a proposal are left alone: it ends under the settings that it began with.
    """
    return [
        (row.ticket.id, name)
        for row in tables.waiting.values()
        if row.match is None
        for name in row.queues
        if name not in pools or not fits(row.ticket, pools[name].objective)
    ]


def foresee(
    configuration: Configure, tables: Tables, make: Callable[[Queue], Pool]
) -> ConfigurationEffect:
    """Return what `step(given)` would do to the waiting tickets; nothing is changed.

    Args:
        configuration: The configuration.
        tables: The present state; only queues, seed and waiting tickets matter.
        make: Makes the pool of a queue.

    Raises:
        ConfigError: It cannot come into force: a queue cannot be played, or its policy cannot
            work on it, for whatever reason.

    Complexity:
        O(waiting tickets), and the policies are made once.
    """
    check_configuration(configuration, tables)
    pools = {queue.name: _tried(queue, make) for queue in configuration.queues}
    left = misfits(tables, pools)
    lost = Counter(ticket_id for ticket_id, _ in left)
    expire = sum(count == len(tables.waiting[at].queues) for at, count in lost.items())
    return ConfigurationEffect(
        expire, len(lost) - expire, _overdue(configuration, tables, set(left))
    )


def _overdue(configuration: Configure, tables: Tables, left: set[tuple[str, str]]) -> int:
    """Count the tickets that a deadline ends at once: in a match with bots, or as the last one."""
    bots = {queue.name for queue in configuration.queues if queue.on_deadline == "bots"}
    ends_after = {queue.name: queue.ends_after for queue in configuration.queues}
    count = 0
    for row in tables.waiting.values():
        stays = [name for name in row.queues if (row.ticket.id, name) not in left]
        if row.match is None and stays:
            waited = configuration.now - row.ticket.enqueued_at
            is_over = [waited >= ends_after[name] for name in stays]
            has_bots = any(over and name in bots for over, name in zip(is_over, stays, strict=True))
            count += has_bots or all(is_over)
    return count


def _tried(queue: Queue, make: Callable[[Queue], Pool]) -> Pool:
    """Return a queue's pool; a policy may be anybody's code and raise anything."""
    try:
        return make(queue)
    except (Exception, SystemExit) as error:
        raise ConfigError(f"queue {queue.name}, policy {queue.policy}: {error}") from error
