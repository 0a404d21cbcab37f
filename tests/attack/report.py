"""The table of what was tried and what became of it."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """One figure of an attack."""

    attack: str
    what: str
    seen: object
    wanted: str
    is_good: bool


def table(rows: list[Row]) -> str:
    """Return rows as text, one a line."""
    cells = [("attack", "what", "seen", "wanted", "")]
    cells += [
        (r.attack, r.what, str(r.seen), r.wanted, "ok" if r.is_good else "FAILED") for r in rows
    ]
    widths = [max(len(row[at]) for row in cells) for at in range(5)]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in cells]
    return "\n".join(line.rstrip() for line in lines)
