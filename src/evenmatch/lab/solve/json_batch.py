"""Batches of tickets as JSON: a queue's format, criteria and rules, and the waiting tickets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.config.files import queue_of
from evenmatch.criteria.base import Form
from evenmatch.criteria.registry import NUMERIC, form_of, kind_with, number_gap_of, pairs_within
from evenmatch.engine.admission.admission import admit
from evenmatch.engine.admission.shard_limits import ShardLimits
from evenmatch.engine.engine import Engine
from evenmatch.errors import ConfigError, Refusal
from evenmatch.lab.solve.arrays import (
    ALIASES,
    PLAYERS_MAX,
    ConditionedBatch,
    FileBatch,
    PlayerIdentities,
    check_square,
    checked_pings,
    read_arrays,
    weight_of,
)
from evenmatch.model.events import Refused
from evenmatch.model.inputs import Configure, Enqueue
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import LATENCY, NewTicket, Player, Ticket
from evenmatch.policies.base import policy
from evenmatch.policies.shared.condition_round import rounds_of
from evenmatch.policies.shared.ticket_batch import BatchRoster
from evenmatch.solvers.teams.batch import Batch

KEYS = ("format", "rules_file", "criteria", "rules", "tickets", "waited", "pairs")
FORMAT_KEYS = ("teams", "players", "players_min", "sides", "side_choice", "roles", "party_sizes")
PAIR_KEYS = ("ping", "connect")
MEASURED: dict[Form, Any] = {Form.PLACES: {"measured": 0.0}, Form.NETWORK: "open"}
"""Placeholders of attributes that the tables under `pairs` replace."""
QUEUE = "batch"
BYTES_MAX = 300_000_000
WAITED_MAX = 1e6


class RuledBatch(NamedTuple):
    """Settings of a batch that its file does not have.

    Args:
        rules: A file with a FlexMatch rule set or a PlayFab queue; None: there is none.
        waited: Seconds that all tickets have waited; None: 0.
    """

    rules: Path | None = None
    waited: float | None = None

    def told(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """Return the object of a batch with these settings added.

        Raises:
            ConfigError: It has such a setting itself, with another value.
        """
        named = None if self.rules is None else str(self.rules.absolute())
        found = dict(raw)
        for keys, option, value in (
            (("rules_file", "format"), "--rules", named),
            (("waited",), "--waited", self.waited),
        ):
            if value is None:
                continue
            for key in keys:
                if key in raw:
                    raise ConfigError(
                        f"{option} contradicts the batch, which has {key}: leave one out"
                    )
            found[keys[0]] = value
        return found


AS_FILED = RuledBatch()


def read_tickets(path: Path, ruled: RuledBatch = AS_FILED) -> FileBatch:
    """Return the batch of a JSON file, see `batch_of_tickets`.

    Raises:
        ConfigError: The file is no such object, or a ticket cannot play.
    """
    try:
        return batch_of_tickets(ruled.told(_read(path)), path.parent)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def batch_of_tickets(raw: Mapping[str, Any], folder: Path = Path()) -> FileBatch:
    """Return the batch of tickets and how they are judged.

    Args:
        raw: An object with `format` (the keys of a queue for the size of matches), `criteria` and
            `rules` (lists of tables as in a scenario), `tickets` (`id`, `players` with `id` and
            `attributes`, `attributes`), and `pairs`: `ping` in milliseconds and `connect`, with a
            row and a column for each player in the order of the tickets. Instead of `format` there
            may be `rules_file`, a FlexMatch rule set or a PlayFab queue; `rules` then hold beside
            it. Rules widen by `waited`, the seconds that all tickets have waited.
        folder: The folder to which file names in scales are relative.

    Raises:
        ConfigError: It is no such object, or a ticket cannot play.
    """
    _known("the batch", raw, KEYS)
    if "tickets" not in raw:
        raise ConfigError("must have a key tickets, the list of who waits")
    form = raw.get("format", {})
    _known("format", form, FORMAT_KEYS)
    table = {"criteria": raw.get("criteria", []), "rules": raw.get("rules", []), **form}
    if "rules_file" in raw:
        if form:
            raise ConfigError(
                "format contradicts rules_file, which already says this: leave it out"
            )
        table["rules_file"] = raw["rules_file"]
    queue = queue_of({"name": QUEUE, "policy": "greedy", **table}, folder)
    tables = _tables(raw.get("pairs", {}))
    _check_rules(queue, tables)
    new = _new_tickets(raw.get("tickets", []), queue, tables)
    tables = _checked(tables, sum(len(ticket.players) for ticket in new))
    tickets = _admitted(queue, new)
    roster = BatchRoster(queue)
    for ticket in tickets:
        roster.enter(ticket)
    at = _waited(raw)
    batch = roster.batch(tickets, at)
    rounds = rounds_of(queue)
    if rounds is not None:
        batch = rounds.sketch.sketched(batch, tickets, at)
    columns = tuple(c.attribute for c in queue.criteria if c.kind in NUMERIC)
    return FileBatch(
        _with_tables(batch, tables),
        columns,
        _names(queue),
        weight_of(queue, kind_with(Form.ROLES)),
        PlayerIdentities(queue, tickets, tables, at),
        None if rounds is None else ConditionedBatch(rounds, tuple(tickets), at),
    )


def _waited(raw: Mapping[str, Any]) -> float:
    waited = raw.get("waited", 0.0)
    is_number = isinstance(waited, int | float) and not isinstance(waited, bool)
    if not is_number or not 0.0 <= waited <= WAITED_MAX:
        raise ConfigError(
            f"waited must be a number of seconds from 0 to {WAITED_MAX:,.0f}, got {waited!r:.80}"
        )
    return float(waited)


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > BYTES_MAX:
            raise ConfigError(f"must be a file of at most {BYTES_MAX:,} bytes")
        data = path.read_bytes()
        raw = json.loads(data, parse_constant=_no_number)
    except (OSError, UnicodeDecodeError, RecursionError, MemoryError) as error:
        raise ConfigError(f"cannot be read: {error}") from None
    except json.JSONDecodeError as error:
        raise ConfigError(f"must be valid JSON: {error}") from None
    if b"\\ud" in data.lower():
        _refuse_halves(raw)
    if not isinstance(raw, dict):
        raise ConfigError("must be an object with format, criteria and tickets")
    return raw


def _refuse_halves(raw: object) -> None:
    """Refuse texts with half of a character in UTF-16, which nothing can print."""
    try:
        json.dumps(raw, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise ConfigError(
            f"must be valid JSON: {half} is half of a character; write the character itself"
        ) from None


def _no_number(text: str) -> float:
    raise ConfigError(f"must hold finite numbers, got {text}")


def _known(what: str, raw: object, allowed: Sequence[str]) -> None:
    if not isinstance(raw, dict):
        raise ConfigError(f"{what} must be an object")
    for key in raw:
        if key not in allowed:
            raise ConfigError(f"{what} has no key {key[:64]!r}; allowed: {', '.join(allowed)}")


def _names(queue: Queue) -> dict[str, str]:
    """Return the report's names of factors that a batch knows only by numbers."""
    names = {}
    for each in queue.criteria:
        if (gap := number_gap_of(each)) is not None:
            # A batch has only the gap; the first kind with that gap gives the name.
            first = kind_with(Form.NUMBERS, gap)
            names[f"{first} of {each.attribute}"] = f"{each.kind} of {each.attribute}"
    for kind in (kind_with(Form.WORD), kind_with(Form.SETS)):
        weighed = [c.attribute for c in queue.criteria if c.kind == kind]
        count = len(weighed) + sum(rule.kind == kind for rule in queue.rules)
        for place, attribute in enumerate(weighed, 1):
            names[f"{kind} {place}" if count > 1 else kind] = f"{kind} {attribute}"
    return names


def _check_rules(queue: Queue, tables: Mapping[str, NDArray[Any]]) -> None:
    """Refuse rules that would need data that tables do not have."""
    weighed = {pairs_within(c, queue.format) for c in queue.criteria if form_of(c) is Form.PLACES}
    definitions: tuple[Criterion | Rule, ...] = (*queue.criteria, *queue.rules)
    for each in definitions:
        if form_of(each) is Form.OTHER:
            raise ConfigError(
                f"a batch knows no {each.kind}: its matches have to be compared one by one"
            )
    for rule in queue.rules:
        if form_of(rule) is Form.NETWORK and "connect" in tables:
            raise ConfigError(
                f"a rule {rule.kind} needs `connect` of the players, not pairs.connect"
            )
        if form_of(rule) is Form.PLACES and "ping" in tables:
            pairs = pairs_within(rule, queue.format)
            if pairs == "region" or pairs not in weighed:
                raise ConfigError(
                    f"a rule {rule.kind} over {pairs} needs `{LATENCY}` of the players, or a "
                    f"criterion {rule.kind} over the same pairs"
                )


def _tables(raw: object) -> dict[str, NDArray[Any]]:
    _known("pairs", raw, PAIR_KEYS)
    assert isinstance(raw, dict)
    tables = {}
    for name, rows in raw.items():
        try:
            table = np.array(rows)
        except (TypeError, ValueError, OverflowError):
            table = np.array(None)
        if table.dtype.kind not in "iufb" or table.ndim != 2:
            if rows != []:
                raise ConfigError(f"pairs.{name} must be a list of rows of numbers, equally long")
            table = np.zeros((0, 0))
        tables[name] = table
    return tables


def _checked(tables: Mapping[str, NDArray[Any]], players: int) -> dict[str, NDArray[Any]]:
    """Return the tables with harmless values on the diagonal."""
    found = dict(tables)
    for name, table in tables.items():
        check_square(f"pairs.{name}", table, players)
    if "ping" in found:
        found["ping"] = checked_pings("pairs.ping", found["ping"])
    if "connect" in found:
        if not np.isin(found["connect"], (0, 1)).all():
            raise ConfigError("pairs.connect must hold true or false")
        found["connect"] = np.ascontiguousarray(found["connect"], dtype=np.uint8)
    return found


def _new_tickets(
    raw: object, queue: Queue, tables: Mapping[str, NDArray[Any]]
) -> tuple[NewTicket, ...]:
    if not isinstance(raw, list):
        raise ConfigError("tickets must be a list")
    stand_in = {
        criterion.attribute: MEASURED[form_of(criterion)]
        for criterion in queue.criteria
        if (form_of(criterion) is Form.PLACES and criterion.pairs != "region" and "ping" in tables)
        or (form_of(criterion) is Form.NETWORK and "connect" in tables)
    }
    made = []
    for place, each in enumerate(raw):
        try:
            ticket = msgspec.convert(each, NewTicket)
        except msgspec.ValidationError as error:
            raise ConfigError(f"tickets[{place}]: {error}") from None
        if ticket.queues:
            raise ConfigError(f"tickets[{place}]: a batch has no queues; leave the key out")
        ticket_id = str(place) if ticket.id is None else ticket.id
        players = tuple(_with(player, stand_in) for player in ticket.players)
        made.append(msgspec.structs.replace(ticket, id=ticket_id, players=players))
    if sum(len(ticket.players) for ticket in made) > PLAYERS_MAX:
        raise ConfigError(f"tickets must have at most {PLAYERS_MAX:,} players in all")
    _check_once(made)
    return tuple(made)


def _check_once(tickets: Sequence[NewTicket]) -> None:
    """Refuse ids that occur twice."""
    seen: dict[tuple[str, str | None], int] = {}
    for place, ticket in enumerate(tickets):
        ids = [("ticket", ticket.id), *(("player", player.id) for player in ticket.players)]
        for what, name in ids:
            first = seen.setdefault((what, name), place)
            if first != place or ids.count((what, name)) > 1:
                raise ConfigError(
                    f"tickets[{place}]: the {what} id {str(name)[:64]!r} stands in "
                    f"tickets[{first}] already; ids must differ"
                )


def _with(player: Player, stand_in: Mapping[str, Any]) -> Player:
    return msgspec.structs.replace(player, attributes={**stand_in, **player.attributes})


@policy
def _waits(pool: Sequence[Ticket], now: float) -> tuple[()]:
    """Match nobody: the engine is used only to check who may enter."""
    del pool, now
    return ()


def _admitted(queue: Queue, new: tuple[NewTicket, ...]) -> list[Ticket]:
    """Return the tickets as an engine accepts them.

    Raises:
        ConfigError: One is refused.
    """
    limits = ShardLimits(waiting_max=PLAYERS_MAX)
    engine = Engine(lambda _: _waits, limits=limits)
    engine.step(Configure(0.0, (queue,)))
    objectives = {name: pool.objective for name, pool in engine.pools.items()}
    if any(each.samples for each in objectives.values()):
        # Percentiles are places among earlier tickets.
        record = engine.step(Enqueue(0.0, new))
        for event in record.events:
            if isinstance(event, Refused):
                raise _refused(event.item, event.message)
        return [row.ticket for row in engine.tables.waiting.values()]
    found = []
    for place, ticket in enumerate(new):
        try:
            admit(ticket, engine.tables, objectives, limits)
        except Refusal as refusal:
            raise _refused(place, refusal.message) from None
        name = ticket.id or str(place)
        found.append(Ticket(name, place + 1, 0.0, ticket.players, (queue.name,), ticket.attributes))
    return found


def _refused(place: int, message: str) -> ConfigError:
    said = message.replace(f"queue {QUEUE}: ", "").replace(f"queue {QUEUE}", "it")
    return ConfigError(f"tickets[{place}]: {said}")


def _with_tables(batch: Batch, tables: Mapping[str, NDArray[Any]]) -> Batch:
    """Return the batch with measured pings and connections in place of what tickets say."""
    facts = batch.facts
    if "ping" in tables:
        facts = facts._replace(ping=tables["ping"])
    if "connect" in tables:
        facts = facts._replace(connect=tables["connect"])
    return batch._replace(facts=facts)


# Files of batches: the arrays of a round (`.npz`), or tickets and how they are judged.


def read_batch(path: Path, ruled: RuledBatch = AS_FILED) -> FileBatch:
    """Return the batch in a file.

    Args:
        path: The file.
        ruled: Settings that the file does not have.

    Raises:
        ConfigError: The file cannot be read, or its batch cannot be solved.
    """
    if path.suffix not in (".npz", ".json"):
        raise ConfigError(f"{path}: a batch is a file .npz or .json")
    if not path.is_file():
        raise ConfigError(f"{path} {'is no file' if path.exists() else 'does not exist'}")
    if path.suffix == ".json":
        return read_tickets(path, ruled)
    if ruled != AS_FILED:
        raise ConfigError(
            f"{path}: a rule set is for a .json of tickets; the arrays of a .npz name no attributes"
        )
    return FileBatch(read_arrays(path), ("skill",), ALIASES)
