"""The last hour of one queue in two grains: single ticks for minutes, ten of them for the hour."""

from __future__ import annotations

import math
from array import array
from collections import deque

COUNTS = (
    "arrivals",
    "matches",
    "players",
    "expired",
    "cancelled",
    "proposed",
    "repaired",
    "failed",
    "asked",
    "unready",
)
"""What happened in a tick: `players` were matched, `failed` proposals dissolved, and of the players
`asked` to accept `unready` ones declined, withdrew or said nothing."""
SUMMED = ("asked", "unready")
"""Counts of which pages are told the sum alone: an hour of them would be a tenth of all they get.
"""
WINDOW = 300
"""Ticks of such a sum."""
GAUGES = ("waiting", "p50", "p90", "p99", "longest", "overdue")
"""What was so at the end of a tick; waits in engine seconds."""
COLUMNS = (*COUNTS, *GAUGES)
FINE_MOST = 330
"""Rows of one tick: five minutes and a little."""
COARSE_MOST = 363
"""Rows of ten ticks: an hour and a little."""
COARSE = 10
DECIMALS = 3

Table = dict[str, list[float | int | None]]


class ChartHistory:
    """What charts show; memory is bounded whatever happens."""

    def __init__(self) -> None:
        self._fine: deque[array[float]] = deque(maxlen=FINE_MOST)
        self._coarse: deque[array[float]] = deque(maxlen=COARSE_MOST)

    def push(self, tick: int, row: list[float]) -> None:
        """Add the row of a tick, later than all before; `row` has the numbers of `COLUMNS`."""
        self._fine.append(array("d", (tick, *row)))
        slot = tick - tick % COARSE
        if self._coarse and self._coarse[-1][0] == slot:
            last, counts = self._coarse[-1], len(COUNTS)
            for at, value in enumerate(row, start=1):
                last[at] = last[at] + value if at <= counts else value
        else:
            self._coarse.append(array("d", (slot, *row)))

    def take_back(self, tick: int, name: str, by: int) -> None:
        """Subtract from a count of a closed tick, in both grains, as far as they are kept."""
        at = 1 + COLUMNS.index(name)
        for rows, start in ((self._fine, tick), (self._coarse, tick - tick % COARSE)):
            for row in reversed(rows):
                if row[0] <= start:
                    if row[0] == start:
                        row[at] -= by
                    break

    def sum(self, name: str) -> int:
        """Return how often something happened in the last `WINDOW` ticks that are closed."""
        if not self._fine:
            return 0
        at, since = 1 + COLUMNS.index(name), self._fine[-1][0] - WINDOW
        return int(sum([row[at] for row in self._fine if row[0] > since]))

    def fine(self, most: int = FINE_MOST) -> Table:
        """Return the last rows of one tick by column, with the column `tick`."""
        return _by_column(self._fine, most)

    def coarse(self) -> Table:
        """Return the rows of ten ticks by column."""
        return _by_column(self._coarse, COARSE_MOST)


def _by_column(rows: deque[array[float]], most: int) -> Table:
    chosen = list(rows)[-most:]
    columns = zip(*chosen, strict=True) if chosen else [()] * (1 + len(COLUMNS))
    names = ("tick", *COLUMNS)
    return {
        name: [_short(v) for v in values]
        for name, values in zip(names, columns, strict=True)
        if name not in SUMMED
    }


def _short(value: float) -> float | int | None:
    """Return a number in few characters; None where there is none."""
    if math.isnan(value):
        return None
    return int(value) if value.is_integer() else round(value, DECIMALS)
