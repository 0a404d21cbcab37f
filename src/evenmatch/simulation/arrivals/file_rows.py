"""Rows of CSV and Parquet files as tickets; `recording` reads whole files.

Columns `ticket`, `at`, `size`, `player`, `queues`, `side`, `roles`, `leaves_at`, `rating` and
`rating_deviation` are reserved, every other one is an attribute. In a cell, `a|b` is one value
for each player of the party and `a+b` a set; a column `latency.eu` is one key of a map. A cell that
looks like a number is one, unless a queue compares the attribute as text, or as ids.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import NoReturn

import msgspec

from evenmatch.criteria.base import Form
from evenmatch.criteria.condition.ages import attribute_tests
from evenmatch.criteria.registry import form_of
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.scenario import TimeUnit
from evenmatch.model.ticket import NewTicket, Player, Rating, Value
from evenmatch.simulation.arrivals.population import Population
from evenmatch.simulation.arrivals.stream import RowPlace, column_hint
from evenmatch.simulation.arrivals.tables import ArrivalTable, number_of, value_of, words_of

RESERVED = (
    "ticket",
    "at",
    "size",
    "player",
    "queues",
    "side",
    "roles",
    "leaves_at",
    "rating",
    "rating_deviation",
)
SIZE_MAX = 1000
ID_MAX = 200
WHOLE = re.compile(r"\d+\.0", re.ASCII)


class ColumnPlan(msgspec.Struct, frozen=True):
    """Which column holds what.

    Args:
        reserved: Reserved name to the position of its column.
        attributes: Attribute names and positions.
        maps: Attribute name, key and position of each column of a map.
    """

    reserved: dict[str, int]
    attributes: tuple[tuple[str, int], ...]
    maps: tuple[tuple[str, str, int], ...]

    @property
    def names(self) -> frozenset[str]:
        """Return the names that the file gives, which are not drawn."""
        maps = (name for name, _, _ in self.maps)
        return frozenset(chain(self.reserved, (name for name, _ in self.attributes), maps))


def plan_columns(table: ArrivalTable, columns: dict[str, str]) -> ColumnPlan:
    """Return which column holds what.

    Args:
        table: The file.
        columns: Our names to those of the file. A column of the file that is named here goes by
            our name alone; one that bears a name of ours which is mapped elsewhere is left out.

    Raises:
        ArrivalsError: A column is missing, or two of them say the same.
    """
    positions = {ours: table.index(theirs) for ours, theirs in columns.items()}
    taken = set(columns.values())
    for index, name in enumerate(table.header):
        if name not in taken and name not in positions:
            positions[name] = index
    if "at" not in positions:
        if "at" in taken:
            ours = next(name for name, theirs in columns.items() if theirs == "at")
            raise table.error(
                f"column at is read as {ours}, so another one must hold the times: name it with at"
            )
        raise table.error(f"{table.lacks('at')}; if another one holds it, {column_hint('at')}")
    if "rating_deviation" in positions and "rating" not in positions:
        raise table.error("has a column rating_deviation, so it must have a column rating")
    reserved = {name: positions.pop(name) for name in RESERVED if name in positions}
    attributes = [(name, index) for name, index in positions.items() if "." not in name]
    maps = [(*_map_key(table, name), index) for name, index in positions.items() if "." in name]
    for name, _, index in maps:
        if name in positions or name in RESERVED:
            raise table.error(f"is a key of {name}, which is another column", None, index)
    return ColumnPlan(reserved, tuple(attributes), tuple(maps))


def _columns(table: ArrivalTable, plan: ColumnPlan) -> dict[str, str]:
    """Return the file's name of each column by ours; a map has those of all its keys."""
    columns = {name: table.header[at] for name, at in (*plan.reserved.items(), *plan.attributes)}
    for name, _, at in plan.maps:
        theirs = table.header[at]
        columns[name] = f"{columns[name]} or {theirs}" if name in columns else theirs
    return columns


def _map_key(table: ArrivalTable, name: str) -> tuple[str, str]:
    attribute, _, key = name.partition(".")
    if not attribute or not key:
        raise table.error(f"must have a name and a key around the dot of column {name}")
    return attribute, key


CellReader = Callable[[str], Value]
"""Turns a cell, or one player's part of it, into an attribute."""


def _ids_of(text: str) -> Value:
    """Return a word that names something, such as the id of a player, or a set of them.

    Data frames write whole numbers with a point if some rows have none.

    >>> _ids_of("007"), _ids_of("7.0"), _ids_of("b+a")
    ('007', '7', ('a', 'b'))
    """
    return text[:-2] if WHOLE.fullmatch(text) else words_of(text)


BY_FORM: dict[Form, CellReader] = {
    Form.WORD: _ids_of,
    Form.SETS: words_of,
    Form.NAMES: _ids_of,
    Form.NETWORK: _ids_of,
    Form.SHARED: _ids_of,
}
BY_KIND: dict[str, CellReader] = {"string": str, "string_list": words_of}


def text_readers(queues: Sequence[Queue]) -> dict[str, CellReader]:
    """Return how to read the attributes that queues compare as text, and none as a number."""
    readers: dict[str, CellReader] = {}
    numbers: set[str] = set()
    for queue in queues:
        compared: list[Criterion | Rule] = [*queue.criteria, *queue.rules]
        for each in compared:
            form = form_of(each)
            if form in BY_FORM:
                readers[each.attribute] = BY_FORM[form]
            elif form is Form.NUMBERS:
                numbers.add(each.attribute)
        conditions = [rule.condition for rule in queue.rules if rule.condition is not None]
        for test in attribute_tests(conditions):
            if test.kind in BY_KIND:
                readers[test.attribute] = BY_KIND[test.kind]
            else:
                numbers.add(test.attribute)
    return {name: reader for name, reader in readers.items() if name not in numbers}


class RowReader:
    """Turns rows into tickets; it remembers which ids must not come again.

    Args:
        table: The file.
        plan: Which column holds what.
        queues: If not empty, names, party sizes and sides are checked against them; they say which
            attributes are text.
        timestamps: Reads the times.
    """

    def __init__(
        self,
        table: ArrivalTable,
        plan: ColumnPlan,
        queues: tuple[Queue, ...],
        timestamps: Timestamps,
    ) -> None:
        self.table, self.plan = table, plan
        self._timestamps = timestamps
        self._columns = _columns(table, plan)
        self._queues = {queue.name: queue for queue in queues}
        self._first_queue = queues[:1]
        self._readers = text_readers(queues)
        self._ids: set[str] = set()

    def row(self, line: int) -> RowPlace:
        """Return where a row stands, for those who refuse it later."""
        return RowPlace(self.table.file, line, self.table.unit, self._columns)

    def instant(self, name: str, line: int, cells: list[str]) -> float:
        """Return the seconds in a reserved column."""
        index = self.plan.reserved[name]
        try:
            return self._timestamps.seconds(cells[index])
        except ValueError as error:
            self._refuse(str(error), line, index)

    def times(self, line: int, cells: list[str]) -> tuple[float, float | None]:
        """Return `at` and `leaves_at` of a row, in seconds of the file's own time."""
        at = self.instant("at", line, cells)
        index = self.plan.reserved.get("leaves_at")
        if index is None or not cells[index]:
            return at, None
        leaves_at = self.instant("leaves_at", line, cells)
        if leaves_at < at:
            self._refuse(f"must not be before at = {at}, got {leaves_at}", line, index)
        return at, leaves_at

    def ticket(self, line: int, cells: list[str], number: str, population: Population) -> NewTicket:
        """Return the ticket of a row; what the file does not hold is drawn."""
        ticket_id = self._ticket_id(line, cells, number)
        ids = self._player_ids(line, cells, ticket_id)
        size = len(ids)
        ratings = self._ratings(line, cells, size)
        roles = self._roles(line, cells, size)
        shared, own = self._attributes(line, cells, size)
        players = []
        for i, player_id in enumerate(ids):
            facts = population.attributes()
            facts.update(own[i])
            players.append(Player(player_id, ratings[i], facts, roles[i]))
        shared = {**population.party_attributes(), **shared, **self._side(cells)}
        queues = self._queue_names(line, cells)
        if self._queues:
            self._check_queues(line, queues, size, shared.get("side", ""))
        return NewTicket(players=tuple(players), queues=queues, attributes=shared, id=ticket_id)

    def _ticket_id(self, line: int, cells: list[str], number: str) -> str:
        index = self.plan.reserved.get("ticket")
        if index is None:
            return number
        ticket_id = self._id(line, index, cells[index])
        if ticket_id in self._ids:
            self._refuse(f'must be different in every row, got "{ticket_id}" again', line, index)
        self._ids.add(ticket_id)
        return ticket_id

    def _player_ids(self, line: int, cells: list[str], ticket_id: str) -> Sequence[str]:
        size, at_size = self._size(line, cells)
        index = self.plan.reserved.get("player")
        if index is None:
            size = size or 1
            return [ticket_id] if size == 1 else [f"{ticket_id}.{i}" for i in range(size)]
        ids = [self._id(line, index, part.strip()) for part in cells[index].split("|")]
        if len(ids) > SIZE_MAX:
            self._refuse(f"must name at most {SIZE_MAX:,} players, got {len(ids):,}", line, index)
        if size is not None and size != len(ids):
            self._refuse(f"must be {len(ids)}, the number of players, got {size}", line, at_size)
        if len(set(ids)) != len(ids):
            self._refuse(f"must name different players, got {cells[index]}", line, index)
        return ids

    def _size(self, line: int, cells: list[str]) -> tuple[int | None, int]:
        """Return the size, or None if the row leaves it open, and the column that says it."""
        index = self.plan.reserved.get("size", -1)
        if index < 0 or not cells[index]:
            return None, index
        value = self._number(line, index, cells[index], "a whole number of players")
        if value != math.floor(value) or not 1 <= value <= SIZE_MAX:
            allowed = f"must be a whole number between 1 and {SIZE_MAX:,}"
            self._refuse(f"{allowed}, got {cells[index]}", line, index)
        return int(value), index

    def _id(self, line: int, index: int, text: str) -> str:
        if not 1 <= len(text) <= ID_MAX:
            got = f"{len(text)} characters" if text else "an empty one"
            self._refuse(f"must hold ids of 1 to {ID_MAX} characters, got {got}", line, index)
        return text

    def _ratings(self, line: int, cells: list[str], size: int) -> list[Rating | None]:
        index = self.plan.reserved.get("rating")
        if index is None:
            return [None] * size
        means = self._parts(line, index, cells[index], size)
        at_deviation = self.plan.reserved.get("rating_deviation")
        if at_deviation is None:
            return [self._rating(line, index, mean) for mean in means]
        deviations = self._parts(line, at_deviation, cells[at_deviation], size)
        ratings = []
        for mean, deviation in zip(means, deviations, strict=True):
            rating = self._rating(line, index, mean)
            if rating is not None and deviation:
                value = self._number(line, at_deviation, deviation, "a number >= 0")
                if value < 0.0:
                    self._refuse(f"must be a number >= 0, got {deviation}", line, at_deviation)
                rating = Rating(rating.mean, value)
            ratings.append(rating)
        return ratings

    def _rating(self, line: int, index: int, text: str) -> Rating | None:
        return Rating(self._number(line, index, text, "a number")) if text else None

    def _roles(self, line: int, cells: list[str], size: int) -> list[tuple[str, ...]]:
        index = self.plan.reserved.get("roles")
        if index is None:
            return [()] * size
        parts = self._parts(line, index, cells[index], size)
        return [self._words(line, index, part) for part in parts]

    def _queue_names(self, line: int, cells: list[str]) -> tuple[str, ...]:
        index = self.plan.reserved.get("queues")
        return () if index is None else self._words(line, index, cells[index])

    def _words(self, line: int, index: int, text: str) -> tuple[str, ...]:
        """Return different words joined by `+`, in their order; none for an empty text."""
        if not text:
            return ()
        words = tuple(word.strip() for word in text.split("+"))
        if "" in words or len(set(words)) != len(words):
            self._refuse(f'must be different names joined by "+", got {text}', line, index)
        return words

    def _side(self, cells: list[str]) -> dict[str, Value]:
        index = self.plan.reserved.get("side")
        return {} if index is None or not cells[index] else {"side": cells[index]}

    def _attributes(
        self, line: int, cells: list[str], size: int
    ) -> tuple[dict[str, Value], list[dict[str, Value]]]:
        """Return the attributes of the party and those of each player."""
        shared: dict[str, Value] = {}
        own: list[dict[str, Value]] = [{} for _ in range(size)]
        for name, index in self.plan.attributes:
            for facts, part in self._targets(line, index, cells[index], shared, own):
                facts[name] = self._value(line, index, part, self._readers.get(name, value_of))
        for name, key, index in self.plan.maps:
            for facts, part in self._targets(line, index, cells[index], shared, own):
                entries = facts.setdefault(name, {})
                assert isinstance(entries, dict)
                entries[key] = self._number(line, index, part, "a number")
        return shared, own

    def _targets(
        self,
        line: int,
        index: int,
        cell: str,
        shared: dict[str, Value],
        own: list[dict[str, Value]],
    ) -> list[tuple[dict[str, Value], str]]:
        """Return whose attribute a cell is: of the party, or of each player with a value."""
        if "|" not in cell:
            return [(shared, cell)] if cell else []
        parts = self._parts(line, index, cell, len(own))
        return [(facts, part) for facts, part in zip(own, parts, strict=True) if part]

    def _parts(self, line: int, index: int, cell: str, size: int) -> list[str]:
        """Return a cell's text for each player of the party."""
        if "|" not in cell:
            return [cell] * size
        parts = [part.strip() for part in cell.split("|")]
        if len(parts) != size:
            allowed = f"must have one value for the party or {size}, one for each player"
            self._refuse(f"{allowed}, got {len(parts)}", line, index)
        return parts

    def _value(self, line: int, index: int, text: str, reader: CellReader) -> Value:
        try:
            return reader(text)
        except ValueError as error:
            self._refuse(str(error), line, index)

    def _number(self, line: int, index: int, text: str, allowed: str) -> float:
        try:
            value = number_of(text)
        except ValueError as error:
            self._refuse(str(error), line, index)
        if value is None:
            self._refuse(f'must be {allowed}, got "{text[:40]}"', line, index)
        return value

    def _check_queues(self, line: int, names: tuple[str, ...], size: int, side: Value) -> None:
        for name in names:
            if name not in self._queues:
                known = ", ".join(self._queues)
                index = self.plan.reserved["queues"]
                self._refuse(f'must name queues among {known}, got "{name}"', line, index)
        for queue in [self._queues[name] for name in names] or self._first_queue:
            form = queue.format
            if not form.admits(size):
                self._refuse(
                    f'queue "{queue.name}" does not admit a party of {size}',
                    line,
                    self._index_of("size", "player"),
                )
            if side != "" and form.sides and side not in form.sides:
                sides = ", ".join(form.sides)
                self._refuse(
                    f'side must be one of {sides}, or empty, in queue "{queue.name}", got "{side}"',
                    line,
                    self._index_of("side"),
                )

    def _index_of(self, *names: str) -> int | None:
        """Return the position of the first of these reserved columns that the file has."""
        reserved = self.plan.reserved
        return next((reserved[name] for name in names if name in reserved), None)

    def _refuse(self, sentence: str, line: int, index: int | None) -> NoReturn:
        raise self.table.error(sentence, line, index)


# Times in recordings: numbers of a unit, or dates and times of ISO 8601.

PER_SECOND: dict[TimeUnit, float] = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
FROM: tuple[tuple[float, TimeUnit], ...] = ((1e17, "ns"), (1e14, "us"), (1e11, "ms"))
"""A number from here on counts these units since 1970: as seconds it would be after 5100, and
as the next larger unit too."""
AT_MAX = 1e12
"""Beyond this many seconds, parts of a microsecond would be lost."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ALLOWED = "must be a time: a number of seconds, or a date and time such as 2026-11-22T20:15:00Z"
WORDS = {
    "s": "a number of seconds",
    "ms": "a number of milliseconds since 1970",
    "us": "a number of microseconds since 1970",
    "ns": "a number of nanoseconds since 1970",
    "zoned": "a date and time with a zone",
    "local": "a date and time without a zone",
}


class Timestamps:
    """Reads the times of one file, which are all of the style of its first.

    Args:
        unit: What numbers count; None chooses by the size of the first.
    """

    def __init__(self, unit: TimeUnit | None = None) -> None:
        self._unit = unit
        self._style: str | None = None

    def seconds(self, text: str) -> float:
        """Return a time in seconds: since 1970 in UTC, or since whenever the file's numbers count.

        A date and time without a zone counts as UTC.

        Raises:
            ValueError: It is no time, is too far away, or is of another style than the first.

        >>> Timestamps().seconds("1970-01-01 01:00:05.25+01:00")
        5.25
        >>> Timestamps().seconds("1700000000500")
        1700000000.5
        """
        number = number_of(text)
        if number is not None:
            unit = self._unit or _unit_of(number)
            style, seconds = str(unit), number / PER_SECOND[unit]
        else:
            style, seconds = _date(text)
        if self._style is None:
            self._style = style
        elif style != self._style:
            first = WORDS[self._style]
            raise ValueError(f'must be {first}, as the first time of the file is, got "{text}"')
        if abs(seconds) > AT_MAX:
            raise ValueError(f"must be at most {AT_MAX:g} seconds, got {text}")
        return seconds


def _unit_of(number: float) -> TimeUnit:
    return next((unit for least, unit in FROM if abs(number) >= least), "s")


def _date(text: str) -> tuple[str, float]:
    """Return the style and the seconds since 1970 of a date and time."""
    try:
        # Data bases write the zone of UTC as a word.
        found = datetime.fromisoformat(
            text.removesuffix("UTC").rstrip() + "Z" * text.endswith("UTC")
        )
    except ValueError:
        raise ValueError(f'{ALLOWED}, got "{text[:40]}"') from None
    style = "local" if found.tzinfo is None else "zoned"
    zoned = found.replace(tzinfo=UTC) if found.tzinfo is None else found
    return style, (zoned - EPOCH).total_seconds()
