"""From a server's journal to files: its arrivals, which `simulate --arrivals` plays, and matches.

Only what is still kept can be exported; the server may run meanwhile.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from evenmatch.criteria.base import Form
from evenmatch.criteria.expansion import round_up
from evenmatch.criteria.registry import form_of
from evenmatch.engine.state.snapshot import decode_snapshot
from evenmatch.engine.state.stored_ratings import accepted_ticket
from evenmatch.errors import ConfigError
from evenmatch.journals.base import Entry
from evenmatch.journals.reading import (
    first_of,
    journal_of,
    kept_entries,
    newest_snapshot,
    read_only,
    shards_of,
)
from evenmatch.lab.export.anonymise import Disguise, Rounding
from evenmatch.model.events import Accepted, Cancelled, Matched, Voided
from evenmatch.model.inputs import Configure, Enqueue
from evenmatch.model.match import Match
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.scenario import ARRIVALS_MAX
from evenmatch.model.shards import FIRST
from evenmatch.model.ticket import NewTicket, Value, attribute_of
from evenmatch.simulation.arrivals.tables import number_of

KEYS_MOST = 100
"""Most keys of a map that become columns; larger maps, such as players met, are left out."""
COLUMNS_MOST = 900
RESERVED = ("ticket", "at", "size", "player", "queues", "side", "roles", "leaves_at")
RATING = ("rating", "rating_deviation")
IN_WORDS = re.compile(r"[|+%]|\A[=@-]|\A\s|\s\Z")
"""What a cell cannot hold inside a word: separators, blanks at its ends, the start of a formula."""
IN_NAMES = re.compile(r"\.|\A[=@+-]|\A\s|\s\Z")
"""What the name of a column cannot hold; a point is for the keys of maps."""
LISTS = (Form.SETS, Form.NAMES, Form.SHARED)
"""What compares sets takes a text for a set of one."""
Row = dict[str, Any]


class ExportedTicket(msgspec.Struct):
    """A ticket that was accepted, and when it left by itself, if it did.

    A server takes the id of a ticket that it has forgotten again; here each ticket has its own.
    """

    id: str
    at: float
    ticket: NewTicket
    leaves_at: float | None = None


class Trace(msgspec.Struct):
    """The content of a journal: tickets in the order of acceptance, matches, and the queues.

    Args:
        arrived: The tickets by id.
        matches: Those that were not called off, by id.
        queues: The last ones.
        shards: Which ones were read.
        birth: Unix time at which the clock of the instants began; infinite if nothing is kept.
        renamed: Ids that several tickets had, and the ones that the newest of these has here.
        numbers: Ids that several tickets had, and the number of the newest of these.
    """

    arrived: dict[str, ExportedTicket] = {}
    matches: dict[str, Match] = {}
    queues: tuple[Queue, ...] = ()
    shards: tuple[str, ...] = ()
    birth: float = math.inf
    renamed: dict[str, str] = {}
    numbers: dict[str, int] = {}


class Columns(msgspec.Struct):
    """The columns of an arrivals file.

    Args:
        cells: Those of each column, by its name; all have the same number.
        renamed: Attributes whose names no column can have, and the columns that hold them.
        left_out: Maps with too many keys.
    """

    cells: dict[str, list[Any]]
    renamed: dict[str, str]
    left_out: list[str]


def read_trace(data: Path, shard: str | None, say: Callable[[int, int], None]) -> Trace:
    """Return what the journal of a data directory still holds.

    Args:
        data: The directory; its server may run.
        shard: Which shard; None takes all, on the clock of the one that began first.
        say: Called with the number of records read, and of all.

    Raises:
        ConfigError: There is no such shard, or more tickets than a trace may have.
        JournalError: The journal cannot be read, or is damaged.
    """
    with read_only(journal_of(data)) as connection:
        connection.execute("BEGIN")
        known = shards_of(connection)
        if shard not in known and (shard is not None or not known):
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise ConfigError(f"the journal has no shard {shard or FIRST}; {has}")
        ends = {name: known[name] for name in sorted(known) if shard in (None, name)}
        kept = {name: first_of(connection, name) or last + 1 for name, last in ends.items()}
        total = sum(last - kept[name] + 1 for name, last in ends.items())
        traces: list[Trace] = []
        done = 0
        for name, last in ends.items():
            trace, before = Trace(shards=(name,)), sum(len(each.arrived) for each in traces)
            if (state := newest_snapshot(connection, name)) is not None:
                trace.queues = tuple(decode_snapshot(state).tables.queues.values())
            for entry in kept_entries(connection, name, last):
                _take(trace, entry, traces)
                _check_size(before + len(trace.arrived))
                done += 1
                say(done, total)
            traces.append(trace)
    return traces[0] if len(traces) == 1 else _joined_traces(traces)


def _check_size(tickets: int) -> None:
    if tickets > ARRIVALS_MAX:
        raise ConfigError(
            f"the journal holds more than {ARRIVALS_MAX:,} tickets, which is the most that "
            "a trace may have; keep fewer days (keep_days)"
        )


def _joined_traces(traces: Sequence[Trace]) -> Trace:
    """Return the traces of several shards as one, in the order of the instants.

    Each shard counts from its own birth, so all are moved to the clock of the oldest.
    """
    first = min(each.birth for each in traces)
    arrived: list[ExportedTicket] = []
    matches: list[Match] = []
    for each in traces:
        # What never had a record has nothing to move.
        later = round_up(each.birth - first) if each.arrived or each.matches else 0.0
        for one in each.arrived.values():
            one.at += later
            one.leaves_at = None if one.leaves_at is None else one.leaves_at + later
            arrived.append(one)
        for match in each.matches.values():
            matches.append(msgspec.structs.replace(match, at=match.at + later))
    arrived.sort(key=lambda one: one.at)
    matches.sort(key=lambda match: match.at)
    queues = {queue.name: queue for each in traces for queue in each.queues}
    return Trace(
        {one.id: one for one in arrived},
        {match.id: match for match in matches},
        tuple(queues.values()),
        shards=tuple(name for each in traces for name in each.shards),
        birth=first,
    )


def _take(trace: Trace, entry: Entry, others: Sequence[Trace] = ()) -> None:
    """Add a record to a trace; its tickets get ids that no ticket of the others has either."""
    input_, events = entry.record.input, entry.record.events
    if trace.birth == math.inf:
        trace.birth = entry.wall - input_.now
    if isinstance(input_, Configure):
        trace.queues = input_.queues
    for event in events:
        if isinstance(event, Accepted) and isinstance(input_, Enqueue):
            new = accepted_ticket(input_.tickets[event.item], event)
            name = _own_id(event.ticket, trace, others)
            trace.arrived[name] = ExportedTicket(name, input_.now, new)
        elif isinstance(event, Cancelled):
            ticket = trace.arrived.get(trace.renamed.get(event.ticket, event.ticket))
            if ticket is not None:
                ticket.leaves_at = input_.now
        elif isinstance(event, Matched):
            trace.matches[event.match.id] = _with_names(event.match, trace.renamed)
        elif isinstance(event, Voided):
            for match_id in (event.match, *event.fills):
                trace.matches.pop(match_id, None)


def _own_id(ticket_id: str, trace: Trace, others: Sequence[Trace]) -> str:
    """Return the id if no ticket has it yet, else note and return the id with the next number."""
    name, number = ticket_id, trace.numbers.get(ticket_id, 1)
    while any(name in each.arrived for each in (trace, *others)):
        number += 1
        name = f"{ticket_id}~{number}"
    if name != ticket_id:
        trace.renamed[ticket_id], trace.numbers[ticket_id] = name, number
    return name


def _with_names(match: Match, renamed: Mapping[str, str]) -> Match:
    """Return a match whose tickets have the ids that they have in the trace."""
    if renamed.keys().isdisjoint(match.tickets):
        return match

    def names(ids: Iterable[str]) -> tuple[str, ...]:
        return tuple([renamed.get(each, each) for each in ids])

    return msgspec.structs.replace(
        match,
        tickets=names(match.tickets),
        teams=tuple(map(names, match.teams)),
        off_side=None if match.off_side is None else names(match.off_side),
    )


def anonymised(trace: Trace) -> Trace:
    """Return a trace without names or exact numbers; see `export.anonymise`."""
    people = {p.id for arrived in trace.arrived.values() for p in arrived.ticket.players}
    disguise = Disguise(trace.queues, people)
    rounding = Rounding([each.ticket for each in trace.arrived.values()])
    hidden = [
        ExportedTicket(
            disguise.hide(each.id),
            each.at,
            disguise.ticket(rounding.ticket(each.ticket)),
            each.leaves_at,
        )
        for each in trace.arrived.values()
    ]
    return Trace(
        {each.id: each for each in hidden},
        {match.id: match for match in map(disguise.match, trace.matches.values())},
        trace.queues,
        trace.shards,
        trace.birth,
    )


def columns_of(trace: Trace) -> Columns:
    """Return the columns of an arrivals file: reserved ones, then one for each attribute.

    Raises:
        ConfigError: There are more attributes than a file may have columns.
    """
    compared: list[Criterion | Rule] = []
    for queue in trace.queues:
        compared += [*queue.criteria, *queue.rules]
    lists = {each.attribute for each in compared if form_of(each) in LISTS}
    tickets = [arrived.ticket for arrived in trace.arrived.values()]
    renamed = _renamed(dict.fromkeys(name for ticket in tickets for name in _attributes(ticket)))
    rows = [_row(arrived, lists, renamed) for arrived in trace.arrived.values()]
    large = _large_maps(rows)
    names = dict.fromkeys(
        name
        for row in rows
        for name in row
        if "." not in name or name.partition(".")[0] not in large
    )
    columns = [*RESERVED, *(name for name in RATING if name in names)]
    columns += [name for name in names if name not in columns]
    if len(columns) > COLUMNS_MOST:
        raise ConfigError(
            f"the tickets have {len(columns):,} attributes, a file may have {COLUMNS_MOST}"
        )
    empty: dict[str, Any] = {"leaves_at": None}
    cells = {name: [row.get(name, empty.get(name, "")) for row in rows] for name in columns}
    return Columns(cells, renamed, large)


def _attributes(ticket: NewTicket) -> Iterable[str]:
    """Return the names of a ticket's attributes, each once."""
    own = (name for player in ticket.players for name in player.attributes)
    return dict.fromkeys([*ticket.attributes, *own])


def _renamed(names: Collection[str]) -> dict[str, str]:
    """Return the columns of the attributes that cannot have one of their own name.

    >>> _renamed(["elo", "a_b", "a.b", "size", "=x"])
    {'a.b': 'a_b_', 'size': 'size_', '=x': '_x'}
    """
    free = [name for name in names if name == "side" or name not in RESERVED]
    kept = {name for name in free if not IN_NAMES.search(name)}
    taken = {*RESERVED, *RATING, *kept}
    renamed = {}
    for name in names:
        if name in kept:
            continue
        column = IN_NAMES.sub("_", name)
        while column in taken:
            column += "_"
        renamed[name] = column
        taken.add(column)
    return renamed


def _row(arrived: ExportedTicket, lists: Collection[str], renamed: Mapping[str, str]) -> Row:
    """Return the cells of a ticket by column; texts in `lists` become sets."""
    ticket = arrived.ticket
    row: Row = {
        "ticket": _word(arrived.id),
        "at": arrived.at,
        "size": len(ticket.players),
        "player": "|".join(_word(player.id) for player in ticket.players),
        "queues": "+".join(ticket.queues),
        "leaves_at": arrived.leaves_at,
    }
    if any(player.roles for player in ticket.players):
        row["roles"] = "|".join("+".join(player.roles) for player in ticket.players)
    if any(player.rating is not None for player in ticket.players):
        ratings = [player.rating for player in ticket.players]
        row["rating"] = "|".join("" if each is None else repr(each.mean) for each in ratings)
        deviations = ["" if each is None else repr(each.deviation) for each in ratings]
        row["rating_deviation"] = "|".join(deviations)
    for name in _attributes(ticket):
        values = [attribute_of(ticket, player, name) for player in ticket.players]
        if name in lists:
            values = [(value,) if isinstance(value, str) else value for value in values]
        row |= _cells(renamed.get(name, name), values)
    return row


def _cells(name: str, values: list[Value | None]) -> Row:
    """Return the cells of an attribute: one column, or one for each key of a map."""
    if any(isinstance(value, dict) for value in values):
        maps = [value if isinstance(value, dict) else {} for value in values]
        keys = dict.fromkeys(key for each in maps for key in each)
        return {
            f"{name}.{_word(key)}": _joined([_text(each.get(key)) for each in maps]) for key in keys
        }
    if name == "side":
        return {name: next((value for value in values if isinstance(value, str)), "")}
    return {name: _joined([_text(value) for value in values])}


def _joined(texts: list[str]) -> str:
    """Return the cell of a party: one value if all share it, else one for each player."""
    return texts[0] if len(set(texts)) == 1 else "|".join(texts)


def _text(value: Value | None) -> str:
    """Return a value so that it is read as what it is: no text and no set becomes a number.

    `urllib.parse.unquote` returns the text of a cell, but for the empty one.

    >>> _text("ann"), _text(1.5), _text("1.50"), _text("nan"), _text("50%")
    ('ann', '1.5', '%31.50', '%6Ean', '50%25')
    >>> _text(("ann", "bob")), _text(("7",)), _text(("1e", "5"))
    ('ann+bob', '7+7', '1e+5+5')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        word = _word(value)
        return f"{_escaped(word[0])}{word[1:]}" if _is_number(word) else word
    if isinstance(value, tuple):
        words = [_word(each) for each in value]
        cell = "+".join(words)
        # A member that is named twice counts once.
        return f"{cell}+{words[-1]}" if _is_number(cell) else cell
    return repr(value)


def _is_number(cell: str) -> bool:
    """Return whether a cell would be read as a number, or refused as infinite or none."""
    try:
        return number_of(cell) is not None
    except ValueError:
        return True


def _word(text: str) -> str:
    """Return a text as a part of a cell: different ones stay different.

    >>> _word("x|y"), _word(" a b"), _word("-x"), _word("100%"), _word("")
    ('x%7Cy', '%20a b', '%2Dx', '100%25', '%')
    """
    return IN_WORDS.sub(lambda found: _escaped(found[0]), text) or "%"


def _escaped(character: str) -> str:
    """Return a character as URLs write one that they cannot hold.

    >>> _escaped("7"), _escaped(" ")
    ('%37', '%20')
    """
    return "".join(f"%{byte:02X}" for byte in character.encode())


def _large_maps(rows: list[Row]) -> list[str]:
    """Return the maps with many keys: of players, not of regions."""
    keys: dict[str, set[str]] = {}
    for row in rows:
        for name in row:
            if "." in name:
                keys.setdefault(name.partition(".")[0], set()).add(name)
    return [name for name, found in keys.items() if len(found) > KEYS_MOST]
