"""Arrivals in order of time: what a simulation feeds to the engine."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from evenmatch.errors import ArrivalsError
from evenmatch.model.ticket import NewTicket

BARE = re.compile(r"[A-Za-z0-9_-]+")
"""A name that needs no quotes in TOML, nor in a shell."""
MISSING = re.compile(r"is missing( \(.*\))?\Z")
"""How a sentence on a missing value ends; a rule set may call it otherwise."""


def column_hint(name: str, column: str = "ITS NAME") -> str:
    """Return what to write so that a column of another name holds something.

    >>> column_hint("rating", "mmr")
    'add rating = "mmr" to [arrivals.columns], or give --columns rating="mmr"'
    """
    key = name if BARE.fullmatch(name) else msgspec.json.encode(name).decode()
    return f'add {key} = "{column}" to [arrivals.columns], or give --columns {key}="{column}"'


class RowPlace(msgspec.Struct, frozen=True, gc=False):
    """Where in a file an arrival stands.

    Args:
        file: Its name for messages.
        line: Number of the line or row.
        unit: What the number counts: `line` or `row`.
        columns: Our names to those of the file's columns; one dict for all rows of a file.
    """

    file: str
    line: int
    unit: str = "line"
    columns: dict[str, str] = msgspec.field(default_factory=dict)

    def error(self, sentence: str, about: str = "") -> ArrivalsError:
        """Return an error that says where.

        Args:
            sentence: What is wrong.
            about: The attribute or reserved column it is about, if it is about one.

        >>> print(RowPlace("a.csv", 3, columns={"at": "t", "skill": "mu"}).error("is odd", "skill"))
        a.csv, line 3, column mu: is odd
        """
        where = f"{self.file}, {self.unit} {self.line}"
        if about in self.columns:
            where += f", column {self.columns[about]}"
        elif about and MISSING.search(sentence):
            known = ", ".join(list(self.columns.values())[:50])
            sentence += (
                f"; the file has no column {about}: if another one holds it, {column_hint(about)}; "
                f"columns are {known}"
            )
        return ArrivalsError(f"{where}: {sentence}")


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """One ticket that comes.

    Args:
        at: Seconds from the start of the run.
        ticket: What it asks for.
        leaves_at: When it cancels if it still waits, seconds from the start; None means never.
        where: The row of a file it was read from, for messages; None if it was drawn.
    """

    at: float
    ticket: NewTicket
    leaves_at: float | None = None
    where: RowPlace | None = None


class BadRows(msgspec.Struct, frozen=True):
    """The rows of a file that cannot be taken.

    Args:
        sentences: What is wrong with the first of them, each with file, line and column.
        lines: The lines of the first of them.
        count: How many there are.
        rows: How many rows the file has.
        unit: What the numbers of `lines` count: `line` or `row`.
    """

    sentences: tuple[str, ...]
    lines: tuple[int, ...]
    count: int
    rows: int
    unit: str = "line"

    def refusal(self) -> str:
        """Return the sentence that refuses the file.

        >>> BadRows(("a.csv, line 3: must be odd",), (3,), 1, 9).refusal()
        'a.csv, line 3: must be odd; the other rows are good: --skip-bad goes on without it'
        """
        first = self.sentences[0]
        if self.count == self.rows:
            return first if self.count == 1 else f"{first}; none of the {self.rows:,} rows is good"
        if self.count == 1:
            return f"{first}; the other rows are good: --skip-bad goes on without it"
        return f"{first}; {self._counted()}: --skip-bad goes on without them"

    def warning(self) -> str:
        """Return in words what was left out."""
        more = self.count - len(self.sentences)
        tail = [f"and {more:,} more"] if more else []
        said = "; ".join([*self.sentences, *tail])
        return f"left out {self.count:,} of {self.rows:,} rows: {said}"

    def _counted(self) -> str:
        more = ", ..." if self.count > len(self.lines) else ""
        lines = ", ".join(map(str, self.lines)) + more
        return f"{self.count:,} of {self.rows:,} rows are bad ({self.unit}s {lines})"


class ArrivalStream(Iterator[Arrival]):
    """Arrivals with ascending `at`, made or read while they are taken; it can be used once.

    Args:
        arrivals: The arrivals, with times from the start of the run.
        offset: What to add to these times to get those of the file; 0 for drawn arrivals.
        bad: The rows of the file that were left out; None if there are none.
    """

    def __init__(
        self, arrivals: Iterator[Arrival], offset: float = 0.0, bad: BadRows | None = None
    ) -> None:
        self.offset = offset
        self.bad = bad
        self._arrivals = arrivals

    def __iter__(self) -> ArrivalStream:
        return self

    def __next__(self) -> Arrival:
        return next(self._arrivals)
