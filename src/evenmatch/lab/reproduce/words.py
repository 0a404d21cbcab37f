"""Rows and estimates as people read them."""

from __future__ import annotations

from collections.abc import Sequence

from evenmatch.lab.figures import shown
from evenmatch.lab.reproduce.row import Row, Table

HEADS = ("row", "setting", "printed", "corrected", "exact", "simulated", "verdict")
TEXTS = frozenset({"setting", "verdict"})
"""Columns of words beside the first of each table; all others are of numbers."""
VALUE_MAX = 80
"""Characters of a parameter, of which the longest are SPECs with many steps."""


def figure(value: float | None, half_width: float | None = None, digits: int = 3) -> str:
    """Return an estimate as people read it.

    >>> figure(1.34049, 0.0042)
    '1.340 ± 0.004'
    """
    if value is None:
        return "-"
    if not half_width:
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} ± {half_width:.{digits}f}"


def is_text(place: int, heads: Sequence[str]) -> bool:
    """Return whether a column is of words, which stand at the left and may be wrapped."""
    return place == 0 or heads[place] in TEXTS


def of_row(row: Row) -> str:
    """Return what was simulated, as people read it."""
    return figure(row.simulated, row.half_width)


def line_of(row: Row) -> tuple[str, ...]:
    """Return a row as people read it, one text for each of `HEADS`."""
    known = (shown(each) for each in (row.printed, row.corrected, row.exact))
    setting = ", ".join(f"{key} {_value(value)}" for key, value in row.params.items())
    digits = 1 if row.simulated is not None and abs(row.simulated) >= 100.0 else 4
    simulated = figure(row.simulated, row.half_width, digits)
    return (row.id, setting, *known, simulated, row.verdict or "")


def _value(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= VALUE_MAX else f"{text[: VALUE_MAX - 3]}..."


def table_of_rows(title: str, text: str, rows: Sequence[Row]) -> Table:
    """Return rows one below the other."""
    return Table(title, text, HEADS, tuple(map(line_of, rows)))
