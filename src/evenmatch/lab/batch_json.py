"""Batches of tickets as JSON: a queue's format, criteria and rules, and who waits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.config import queue_of
from evenmatch.engine.admission import Limits
from evenmatch.engine.engine import Engine
from evenmatch.errors import ConfigError
from evenmatch.lab.batch_file import PLAYERS_MAX, Given, check_pings, check_square
from evenmatch.model.events import Refused
from evenmatch.model.inputs import Configure, Enqueue
from evenmatch.model.queue import NUMERIC, Queue
from evenmatch.model.ticket import NewTicket, Player, Ticket
from evenmatch.policies.base import policy
from evenmatch.policies.parts.batch_checks import check_batch
from evenmatch.policies.parts.batching import Roster
from evenmatch.solvers.batch.batch import Batch

KEYS = ("format", "criteria", "rules", "tickets", "pairs")
FORMAT_KEYS = ("teams", "players", "players_min", "sides", "roles", "party_sizes")
PAIR_KEYS = ("ping", "connect")
MEASURED = {"latency": {"measured": 0.0}, "host_options": "open"}
"""What stands for an attribute that the tables under `pairs` take the place of."""
BYTES_MAX = 500_000_000


def read_tickets(path: Path) -> Given:
    """Return the batch of a JSON file.

    Args:
        path: An object with `format` (the keys of a queue that say who fits into a match),
            `criteria` and `rules` (lists of tables as in a scenario), `tickets` (`id`, `players`
            with `id` and `attributes`, `attributes`), and `pairs`: `ping` in milliseconds and
            `connect`, a row and a column for each player in the order of the tickets.

    Raises:
        ConfigError: The file is no such object, or a ticket cannot play.
    """
    try:
        return _given(_read(path), path.parent)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > BYTES_MAX:
            raise ConfigError(f"must be a file of at most {BYTES_MAX:,} bytes")
        raw = json.loads(path.read_bytes())
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"cannot be read: {error}") from None
    except json.JSONDecodeError as error:
        raise ConfigError(f"must be valid JSON: {error}") from None
    if not isinstance(raw, dict):
        raise ConfigError("must be an object with format, criteria and tickets")
    _known("the batch", raw, KEYS)
    return raw


def _known(what: str, raw: object, allowed: Sequence[str]) -> None:
    if not isinstance(raw, dict):
        raise ConfigError(f"{what} must be an object")
    for key in raw:
        if key not in allowed:
            raise ConfigError(f"{what} has no key {key[:64]!r}; allowed: {', '.join(allowed)}")


def _given(raw: Mapping[str, Any], folder: Path) -> Given:
    form = raw.get("format", {})
    _known("format", form, FORMAT_KEYS)
    table = {"criteria": raw.get("criteria", []), "rules": raw.get("rules", []), **form}
    queue = queue_of({"policy": "greedy", **table}, folder)
    check_batch("solve", queue)
    tables = _tables(raw.get("pairs", {}))
    tickets = _admitted(queue, _new_tickets(raw.get("tickets", []), queue, tables))
    roster = Roster(queue)
    for ticket in tickets:
        roster.enter(ticket)
    batch = _with_tables(roster.batch(tickets, 0.0), tables)
    columns = tuple(c.attribute for c in queue.criteria if c.kind in NUMERIC)
    return Given(batch, columns)


def _tables(raw: object) -> dict[str, NDArray[Any]]:
    _known("pairs", raw, PAIR_KEYS)
    assert isinstance(raw, dict)
    tables = {}
    for name, rows in raw.items():
        try:
            tables[name] = np.array(rows, dtype=np.float64)
        except (TypeError, ValueError):
            raise ConfigError(f"pairs.{name} must be a list of rows of numbers") from None
    return tables


def _new_tickets(
    raw: object, queue: Queue, tables: Mapping[str, NDArray[Any]]
) -> tuple[NewTicket, ...]:
    if not isinstance(raw, list):
        raise ConfigError("tickets must be a list")
    stand_in = {
        criterion.attribute: MEASURED[criterion.kind]
        for criterion in queue.criteria
        if (criterion.kind == "latency" and "ping" in tables)
        or (criterion.kind == "host_options" and "connect" in tables)
    }
    made = []
    for place, each in enumerate(raw):
        try:
            ticket = msgspec.convert(each, NewTicket)
        except msgspec.ValidationError as error:
            raise ConfigError(f"tickets[{place}]: {error}") from None
        ticket_id = str(place) if ticket.id is None else ticket.id
        players = tuple(_with(player, stand_in) for player in ticket.players)
        made.append(msgspec.structs.replace(ticket, id=ticket_id, players=players, queues=()))
    if sum(len(ticket.players) for ticket in made) > PLAYERS_MAX:
        raise ConfigError(f"tickets must have at most {PLAYERS_MAX:,} players in all")
    return tuple(made)


def _with(player: Player, stand_in: Mapping[str, Any]) -> Player:
    return msgspec.structs.replace(player, attributes={**stand_in, **player.attributes})


@policy
def _waits(pool: Sequence[Ticket], now: float) -> tuple[()]:
    """Match nobody: the engine is here to judge who may enter."""
    del pool, now
    return ()


def _admitted(queue: Queue, new: tuple[NewTicket, ...]) -> list[Ticket]:
    """Return the tickets as an engine takes them in.

    Raises:
        ConfigError: One is refused.
    """
    engine = Engine(lambda _: _waits, limits=Limits(waiting_max=PLAYERS_MAX))
    engine.step(Configure(0.0, (queue,)))
    if not new:
        return []
    record = engine.step(Enqueue(0.0, new))
    for event in record.events:
        if isinstance(event, Refused):
            raise ConfigError(f"tickets[{event.item}]: {event.message}")
    if len(engine.tables.waiting) < len(new):
        raise ConfigError("a player stands in two tickets, or two tickets have one id")
    return [row.ticket for row in engine.tables.waiting.values()]


def _with_tables(batch: Batch, tables: Mapping[str, NDArray[Any]]) -> Batch:
    """Return the batch with measured pings and connections in place of what tickets say."""
    facts = batch.facts
    for name, table in tables.items():
        check_square(f"pairs.{name}", table, batch.players)
    if "ping" in tables:
        check_pings("pairs.ping", tables["ping"])
        facts = facts._replace(ping=np.ascontiguousarray(tables["ping"], dtype=np.float32))
    if "connect" in tables:
        connect = np.ascontiguousarray(tables["connect"] != 0.0, dtype=np.uint8)
        facts = facts._replace(connect=connect)
    return batch._replace(facts=facts)
