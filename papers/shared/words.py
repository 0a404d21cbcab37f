"""Rows and estimates in words, for people to read."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from evenmatch.lab.report.figures import figure_text
from papers.shared.findings import Row, Table, Verdict

HEADS = ("row", "setting", "printed", "corrected", "exact", "simulated")
STATEMENT_HEADS = ("row", "statement", "printed", "corrected", "exact", "simulated", "verdict",
                   "why")  # fmt: skip
TEXTS = frozenset({"setting", "statement", "verdict", "why"})
"""Columns of words beside the first column of each table; all others are numbers."""
VERDICTS: dict[Verdict, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "holds if": ("holds under a condition", "hold under a condition"),
    "differs": ("differs", "differ"),
    "wrong in print": ("is wrong in print", "are wrong in print"),
    "unresolved": ("is unresolved", "are unresolved"),
    "undefined in the source": ("is undefined in the source", "are undefined in the source"),
}
"""Words for one statement with a verdict, and for several."""
MANY_STEPS = re.compile(r"((?:[^,+\s]+\+){2})(?:[^,+\s]+\+){5,}")
"""The start of a list in a SPEC, and everything up to its last member."""
SAME = 1e-9
"""Relative difference below which two computed figures count as equal."""
DIGITS_MAX = 17
OWN_WORDS = "what"
"""The parameter that already says in words what a row is about."""


def figure(value: float | None, half_width: float | None = None, digits: int = 3) -> str:
    """Return an estimate for people to read.

    >>> figure(1.34049, 0.0042)
    '1.340 ± 0.004'
    """
    if value is None:
        return "-"
    if not half_width:
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} ± {half_width:.{digits}f}"


def is_text(place: int, heads: Sequence[str]) -> bool:
    """Return whether a column holds words, which are left-aligned and may be wrapped."""
    return place == 0 or heads[place] in TEXTS


def of_row(row: Row) -> str:
    """Return the simulated figure, for people to read."""
    return figure(row.simulated, row.half_width)


def line_of(row: Row) -> tuple[str, ...]:
    """Return a row for people to read, one text for each of `HEADS`."""
    simulated = figure(row.simulated, row.half_width, _digits(row.simulated or 0.0))
    return (row.id, setting_of(row), *_known(row), simulated)


def _known(row: Row) -> tuple[str, str, str]:
    """Return the printed, corrected and exact figures.

    If printed and exact figures differ, they have enough digits to show that.
    """
    printed, corrected, exact = (
        figure_text(each) for each in (row.printed, row.corrected, row.exact)
    )
    if row.printed is None or row.exact is None or exact != printed:
        return printed, corrected, exact
    if not math.isclose(row.exact, row.printed, rel_tol=SAME, abs_tol=SAME):
        for digits in range(5, DIGITS_MAX):
            printed, exact = f"{row.printed:.{digits}g}", f"{row.exact:.{digits}g}"
            if printed != exact:
                break
    return printed, corrected, exact


def setting_of(row: Row) -> str:
    """Return the setting of a figure in a line."""
    return setting_in_words(row.params)


def at_setting(row: Row) -> str:
    """Return a setting without the words for the meaning of the figure."""
    rest = {key: value for key, value in row.params.items() if key != OWN_WORDS}
    return setting_in_words(rest) or setting_of(row)


def _digits(value: float) -> int:
    """Return the number of significant digits behind the decimal point."""
    if abs(value) >= 100.0:
        return 1
    return 7 if 0.0 < abs(value) < 1e-3 else 4


def setting_in_words(params: Mapping[str, object]) -> str:
    """Return parameters in a line.

    >>> setting_in_words(
    ...     {"policy": "closest_random:every=120", "what": "mean wait of equal players"}
    ... )
    'policy closest_random:every=120, mean wait of equal players'
    """
    return ", ".join(
        _value(value) if key == OWN_WORDS else f"{key} {_value(value)}"
        for key, value in params.items()
    )


def _value(value: object) -> str:
    """Return a parameter; a long list is shortened in the middle."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return MANY_STEPS.sub(r"\1...+", text)


def told_of(verdicts: Iterable[Verdict | None]) -> str:
    """Return how many statements have which verdict, in a sentence.

    >>> told_of(["wrong in print", "holds", None])
    '1 statement holds, 1 is wrong in print.'
    """
    counts = Counter(each for each in verdicts if each is not None)
    parts: list[str] = []
    for verdict in (each for each in VERDICTS if counts[each]):
        count, (one, many) = counts[verdict], VERDICTS[verdict]
        noun = "" if parts else " statement" if count == 1 else " statements"
        parts.append(f"{count:,}{noun} {one if count == 1 else many}")
    return f"{', '.join(parts) or 'Nothing of it is printed'}."


def table_of_rows(title: str, text: str, rows: Sequence[Row]) -> Table:
    """Return rows as a table, one below the other."""
    return Table(title, text, HEADS, tuple(map(line_of, rows)))
