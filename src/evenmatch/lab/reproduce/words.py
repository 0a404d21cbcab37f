"""Rows and estimates as people read them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from evenmatch.lab.figures import shown
from evenmatch.lab.reproduce.row import Row, Table, Verdict

HEADS = ("row", "setting", "printed", "corrected", "exact", "simulated", "verdict")
TEXTS = frozenset({"setting", "verdict"})
"""Columns of words beside the first of each table; all others are of numbers."""
VERDICTS: dict[Verdict, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "holds with conditions": ("holds with conditions", "hold with conditions"),
    "wrong in print": ("is wrong in print", "are wrong in print"),
    "not reproducible": ("is not reproducible", "are not reproducible"),
}
"""What is told of one statement, and of many."""
MANY_STEPS = re.compile(r"((?:[^,+\s]+\+){2})(?:[^,+\s]+\+){5,}")
"""The start of a list in a SPEC, and all between it and the last member."""
NOT_JUDGED = "not judged"
"""The verdict of a printed figure that nothing here can be held against, such as a speed."""
DIGITS_MAX = 17
OWN_WORDS = "what"
"""The parameter that says by itself what a row is about."""


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
    simulated = figure(row.simulated, row.half_width, _digits(row.simulated or 0.0))
    judged = row.verdict or ("" if row.printed is None else NOT_JUDGED)
    return (row.id, _setting(row.params), *_known(row), simulated, judged)


def _known(row: Row) -> tuple[str, str, str]:
    """Return printed, corrected and exact figures with digits that bear out the verdict.

    An exact figure that a coarser printed one stands for is rounded like it; where the print is
    wrong by little, as many digits are shown as it takes to see that.
    """
    printed, corrected, exact = (shown(each) for each in (row.printed, row.corrected, row.exact))
    if row.printed is None or row.exact is None:
        return printed, corrected, exact
    if row.verdict == "holds" and exact != printed:
        rounded = shown(float(f"{row.exact:.3g}"))
        return printed, corrected, printed if rounded == printed else exact
    if row.verdict in ("wrong in print", "not reproducible") and (
        exact == printed and row.exact != row.printed
    ):
        for digits in range(5, DIGITS_MAX):
            printed, exact = f"{row.printed:.{digits}g}", f"{row.exact:.{digits}g}"
            if printed != exact:
                break
    return printed, corrected, exact


def _digits(value: float) -> int:
    """Return how many digits behind the point tell something."""
    if abs(value) >= 100.0:
        return 1
    return 7 if 0.0 < abs(value) < 1e-3 else 4


def _setting(params: Mapping[str, object]) -> str:
    """Return parameters in a line.

    >>> _setting({"policy": "closest_random:every=120", "what": "mean wait of equal players"})
    'policy closest_random:every=120, mean wait of equal players'
    """
    return ", ".join(
        _value(value) if key == OWN_WORDS else f"{key} {_value(value)}"
        for key, value in params.items()
    )


def _value(value: object) -> str:
    """Return a parameter; a long list keeps both its ends, and what comes after it."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return MANY_STEPS.sub(r"\1...+", text)


def told_of(rows: Sequence[Row]) -> str:
    """Return how many statements have which verdict, as a sentence.

    >>> told_of([Row(id="a", verdict="wrong in print"), Row(id="b", verdict="holds")])
    '1 statement holds, 1 is wrong in print.'
    """
    counts = Counter(row.verdict for row in rows if row.verdict is not None)
    parts: list[str] = []
    for verdict in (each for each in VERDICTS if counts[each]):
        count, (one, many) = counts[verdict], VERDICTS[verdict]
        noun = "" if parts else " statement" if count == 1 else " statements"
        parts.append(f"{count:,}{noun} {one if count == 1 else many}")
    return f"{', '.join(parts) or 'Nothing of it is printed'}."


def table_of_rows(title: str, text: str, rows: Sequence[Row]) -> Table:
    """Return rows one below the other."""
    return Table(title, text, HEADS, tuple(map(line_of, rows)))
