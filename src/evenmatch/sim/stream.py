"""Arrivals in order of time: what a simulation feeds to the engine."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from evenmatch.errors import ArrivalsError
from evenmatch.model.ticket import NewTicket


class Row(msgspec.Struct, frozen=True, gc=False):
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

        >>> print(Row("a.csv", 3, columns={"at": "t", "skill": "mu"}).error("is odd", "skill"))
        a.csv, line 3, column mu: is odd
        """
        where = f"{self.file}, {self.unit} {self.line}"
        if about in self.columns:
            where += f", column {self.columns[about]}"
        elif about and sentence.endswith("is missing"):
            known = ", ".join(list(self.columns.values())[:50])
            sentence += (
                f"; the file has no column {about}: if another one holds it, add "
                f'{about} = "ITS NAME" to [arrivals.columns]; columns are {known}'
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
    where: Row | None = None


class ArrivalStream(Iterator[Arrival]):
    """Arrivals with ascending `at`, made or read while they are taken; it can be used once.

    Args:
        arrivals: The arrivals, with times from the start of the run.
        offset: What to add to these times to get those of the file; 0 for drawn arrivals.
    """

    def __init__(self, arrivals: Iterator[Arrival], offset: float = 0.0) -> None:
        self.offset = offset
        self._arrivals = arrivals

    def __iter__(self) -> ArrivalStream:
        return self

    def __next__(self) -> Arrival:
        return next(self._arrivals)
