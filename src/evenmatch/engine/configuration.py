"""A new configuration: whether it can come into force, and what it leaves as it is."""

from __future__ import annotations

from evenmatch.cost.valid import check_queue
from evenmatch.engine.admission import fits
from evenmatch.engine.pool import Pool
from evenmatch.engine.tables import Tables
from evenmatch.errors import ConfigError
from evenmatch.model.inputs import Configure
from evenmatch.policies.base import Memory


def check_configuration(given: Configure, tables: Tables) -> None:
    """Check that queues may come into force; their policies are checked by making them.

    Raises:
        ConfigError: A queue that cannot be played, no queue, two of one name, a pause of no
            queue, or another group for a queue with waiting tickets.
    """
    for queue in given.queues:
        check_queue(queue)
    names = [queue.name for queue in given.queues]
    if not names or len(set(names)) != len(names):
        raise ConfigError("queues must have different names, and there must be at least one")
    for name in given.pause:
        if name not in names:
            raise ConfigError(f"pause names queue {name!r}; there is {', '.join(names)}")
    used = {name for row in tables.waiting.values() for name in row.queues}
    for queue in given.queues:
        old = tables.queues.get(queue.name)
        if old is not None and old.group != queue.group and queue.name in used:
            raise ConfigError(
                f"queue {queue.name} has waiting tickets: its group must stay {old.group}"
            )


def carried_over(
    given: Configure, tables: Tables, pools: dict[str, Pool]
) -> tuple[dict[str, Pool], dict[str, Memory]]:
    """Return the pools that a new configuration leaves as they are, matchers included.

    A queue that is paused while its job runs gets a new matcher, which knows of no job and asks
    again when the pause is over; the second part is what its old one knew.
    """
    if given.seed != tables.seed:
        return {}, {}
    same, known = {}, {}
    for queue in given.queues:
        pool = pools.get(queue.name)
        if pool is None or tables.queues.get(queue.name) != queue or pool.fault is not None:
            continue
        if queue.name in given.pause and pool.slot.running is not None:
            known[queue.name] = pool.memory()
        else:
            same[queue.name] = pool
    return same, known


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
