"""Which methods came to the very same figures: one method under two names, or no choice to make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from papers.shared.row import Row
from papers.shared.words import at_setting

METHODS = ("policy", "order", "method", "objective", "start", "algorithm")
"""Parameters that name methods; two of them can come to the very same figures."""
SPLIT = "population"
"""A parameter in one value of which methods of different statements may come to the same."""
SAME_MIN = 3
"""Figures that must be the same before methods of different statements are called so."""


def identical(figures: Sequence[Row]) -> str:
    """Return which methods came to the very same simulated figures, as a sentence.

    >>> rows = [Row(id="a", params={"policy": p}, simulated=2.0, half_width=0.1) for p in "xy"]
    >>> identical(rows)
    'x and y gave identical results.'
    """
    told = []
    for name in METHODS:
        found = _by_method(figures, name)
        groups: list[list[str]] = []
        for method, own in found.items():
            for group in groups:
                if _agree(found[group[0]], own):
                    group.append(method)
                    break
            else:
                groups.append([method])
        told += [group for group in groups if len(group) > 1]
    return " ".join(f"{_and(group)} gave identical results." for group in told)


def identical_elsewhere(figures: Sequence[Row], by_id: Mapping[str, Sequence[Row]]) -> str:
    """Return which methods of other statements came to the very same figures, as a sentence.

    Those that are the same in one population alone are told with it.
    """
    own = {id(row) for row in figures}
    others = [row for rows in by_id.values() for row in rows if id(row) not in own]
    told = []
    for name in METHODS:
        mine, beside = _by_method(figures, name), _by_method(others, name)
        places = list(dict.fromkeys(row.params.get(SPLIT) for row in figures))
        for method, found in mine.items():
            for other, known in beside.items():
                if other == method:
                    continue
                where = [
                    place
                    for place in places
                    if _agree_in_all(_at_place(found, place), _at_place(known, place))
                ]
                if where:
                    rest = "" if len(where) == len(places) else f" at {SPLIT} {_and(where)}"
                    told.append(f"{method} and {other} gave identical results{rest}.")
    return " ".join(dict.fromkeys(told))


def _by_method(rows: Sequence[Row], name: str) -> dict[str, dict[str, float]]:
    """Return the simulated figures of each method, by their settings."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        # Counts and examples, which know no chance, may well be the same.
        if name in row.params and row.simulated is not None and row.half_width is not None:
            rest = {key: value for key, value in row.params.items() if key != name}
            rest.pop("scenario", None)
            found.setdefault(str(row.params[name]), {})[str(rest)] = row.simulated
    return found


def _at_place(found: Mapping[str, float], place: object) -> dict[str, float]:
    """Return the figures of one population; of all where none is named."""
    words = "" if place is None else f"{SPLIT!r}: {place!r}"
    return {key: value for key, value in found.items() if words in key}


def no_difference(figures: Sequence[Row]) -> str:
    """Return where two methods that are told apart made the very same thing."""
    same = [
        row for row in figures if row.runs and row.aim == 0.0 == row.simulated == row.half_width
    ]
    if not same:
        return ""
    return f"The two gave identical results at {'; '.join(map(at_setting, same))}."


def _agree(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Return whether two methods have settings in common and the same figure in all of them."""
    common = one.keys() & other.keys()
    return bool(common) and all(one[key] == other[key] for key in common)


def _agree_in_all(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Return whether all settings of one method are those of the other, with the same figures."""
    least = max(SAME_MIN, min(len(one), len(other)))
    return len(one.keys() & other.keys()) >= least and _agree(one, other)


def _and(parts: Sequence[object]) -> str:
    *first, last = (str(part) for part in parts)
    return f"{', '.join(first)} and {last}" if first else last
