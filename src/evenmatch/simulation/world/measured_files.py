"""Measured files of the world: matches by region and hour, cities, pings between cities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.errors import ArrivalsError
from evenmatch.simulation.arrivals.tables import ArrivalTable, number_of, open_table
from evenmatch.simulation.world.model import HOURS, Floats, directions, kilometres

CITIES_MAX = 5_000
COUNT_MAX = 1e12
FIBRE_MS_PER_KM = 0.01
"""Round trip of light in glass: nothing is faster over land and sea."""
TOO_FAST_MAX = 0.1
"""Share of a city's pings that may be faster; above it, the city lies elsewhere than is said."""
RTT_MAX = 60_000.0


class Cities(msgspec.Struct, frozen=True):
    """Cities in the order of their file.

    Args:
        names: Their names.
        countries: Their countries.
        spots: Degrees north and east (C x 2).
        people: Their populations.
    """

    names: tuple[str, ...]
    countries: tuple[str, ...]
    spots: Floats
    people: Floats

    def nearest(self, where: Floats) -> NDArray[np.intp]:
        """Return the index of the nearest city to each direction (N x 3)."""
        return np.asarray(np.argmax(where @ directions(self.spots).T, axis=1))


def read_hours(file: str, base_dir: Path | None = None) -> dict[str, Floats]:
    """Return the matches of each region by UTC hour.

    Args:
        file: Columns `region`, `hour_utc` and `matches`; an hour that is not there has none.
        base_dir: The folder from which a relative name counts.

    Raises:
        ArrivalsError: The file cannot be read, or a cell is out of range.
    """
    table = open_table(file, base_dir)
    region = table.index("region")
    hour, matches = table.index("hour_utc"), table.index("matches")
    found: dict[str, Floats] = {}
    for line, cells in table.rows:
        at = _number(table, line, hour, cells, (0.0, HOURS - 1.0))
        if at != int(at):
            raise table.error(f"must be a whole hour, got {cells[hour]}", line, hour)
        counts = found.setdefault(cells[region], np.zeros(HOURS))
        counts[int(at)] += _number(table, line, matches, cells, (0.0, COUNT_MAX))
    if not any(counts.sum() > 0.0 for counts in found.values()):
        raise table.error("has no match in it")
    return found


def players_by_hour(
    measured: Mapping[str, Floats], regions: Mapping[str, tuple[str, ...]], file: str
) -> Floats:
    """Return measured matches of our regions by hour (24 x R).

    Args:
        measured: What `read_hours` found.
        regions: Our regions, and the measured ones that each stands for; a file may name ours.
        file: Its name for messages.

    Raises:
        ArrivalsError: The file names a region that is not known.
    """
    ours = {name: at for at, name in enumerate(regions)}
    ours |= {source: ours[name] for name, sources in regions.items() for source in sources}
    table = np.zeros((HOURS, len(regions)))
    for name, counts in measured.items():
        if name not in ours:
            raise ArrivalsError(
                f"{file}: region {name} is not known; regions are {', '.join(ours)}"
            )
        table[:, ours[name]] += counts
    empty = np.flatnonzero(table.sum(axis=1) == 0.0)
    if len(empty):
        raise ArrivalsError(f"{file}: hour_utc {empty[0]} has no match in any region")
    return table


def read_cities(file: str, base_dir: Path | None = None) -> Cities:
    """Return the cities of a file.

    Args:
        file: Columns `city`, `lat`, `lon`, and if there are any `country` and `population`.
        base_dir: The folder from which a relative name counts.

    Raises:
        ArrivalsError: The file cannot be read, or a cell is out of range.
    """
    table = open_table(file, base_dir)
    city, lat, lon = (table.index(name) for name in ("city", "lat", "lon"))
    country = table.index("country") if "country" in table.header else city
    people = table.index("population") if "population" in table.header else None
    names: dict[str, str] = {}
    rows: list[tuple[float, float, float]] = []
    for line, cells in table.rows:
        if cells[city] in names:
            raise table.error(f"{cells[city]} is there twice", line, city)
        if len(names) == CITIES_MAX:
            raise table.error(f"must have at most {CITIES_MAX:,} cities", line)
        names[cells[city]] = cells[country]
        north = _number(table, line, lat, cells, (-90.0, 90.0))
        east = _number(table, line, lon, cells, (-180.0, 180.0))
        crowd = 1.0 if people is None else _number(table, line, people, cells, (0.0, COUNT_MAX))
        rows.append((north, east, crowd))
    if not rows:
        raise table.error("has no city in it")
    cells_ = np.asarray(rows)
    return Cities(tuple(names), tuple(names.values()), cells_[:, :2], cells_[:, 2])


def read_pings(file: str, cities: Cities, base_dir: Path | None = None) -> Floats:
    """Return the mean round trips between cities, NaN where there is none (C x C, from x to).

    Args:
        file: Columns `from_city`, `to_city` and `rtt_avg_ms`.
        cities: The cities; pairs of others are left out.
        base_dir: The folder from which a relative name counts.

    Raises:
        ArrivalsError: The file cannot be read, or a cell is out of range.
    """
    table = open_table(file, base_dir)
    places = {name: at for at, name in enumerate(cities.names)}
    rtt = np.full((len(places), len(places)), np.nan)
    for one, other, milliseconds in _pairs(table):
        if one in places and other in places:
            rtt[places[one], places[other]] = milliseconds
    if np.isnan(rtt).all():
        raise table.error("has no ping between the cities")
    return np.where(np.isnan(rtt), rtt.T, rtt)


def misplaced(cities: Cities, rtt: Floats) -> NDArray[np.bool_]:
    """Return the cities whose position in the file is wrong: their pings are faster than light.

    Files mix up places of one name; the pings between them do not.

    Args:
        cities: The cities.
        rtt: Round trips between them, NaN where there is none.
    """
    where = directions(cities.spots)
    is_known = ~np.isnan(rtt)
    too_fast = is_known & (np.nan_to_num(rtt) + 1.0 < FIBRE_MS_PER_KM * kilometres(where, where))
    return np.asarray(too_fast.sum(axis=1) > TOO_FAST_MAX * is_known.sum(axis=1))


def select_cities(cities: Cities, rtt: Floats, keep: NDArray[np.bool_]) -> tuple[Cities, Floats]:
    """Return some of the cities, and the round trips between them."""
    places = np.flatnonzero(keep)
    cities_kept = Cities(
        tuple(cities.names[at] for at in places),
        tuple(cities.countries[at] for at in places),
        cities.spots[places],
        cities.people[places],
    )
    return cities_kept, rtt[np.ix_(places, places)]


def _pairs(table: ArrivalTable) -> Iterator[tuple[str, str, float]]:
    one, other, rtt = (table.index(name) for name in ("from_city", "to_city", "rtt_avg_ms"))
    for line, cells in table.rows:
        yield cells[one], cells[other], _number(table, line, rtt, cells, (0.0, RTT_MAX))


def _number(
    table: ArrivalTable, line: int, index: int, cells: list[str], bounds: tuple[float, float]
) -> float:
    low, high = bounds
    try:
        value = number_of(cells[index])
    except ValueError as error:
        raise table.error(str(error), line, index) from None
    if value is None or not low <= value <= high:
        allowed = f"must be a number between {low:g} and {high:g}"
        raise table.error(f"{allowed}, got {cells[index]:.40}", line, index)
    return value
