"""Times in recordings: numbers of a unit, or dates and times of ISO 8601."""

from __future__ import annotations

from datetime import UTC, datetime

from evenmatch.model.scenario import TimeUnit
from evenmatch.simulation.arrivals.tables import number_of

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
