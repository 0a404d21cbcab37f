"""Three files as `fit_world` reads them, drawn from the world that ships: hours, cities, pings.

The files that the shipped world was fitted to are other people's measurements, whose terms do not
say that they may be passed on. These have the same columns, and are made up: cities lie and are
peopled by chance where the model has its players, a round trip is the model's path and a detour,
and the matches of an hour are a draw from the model's day. So a fit has to find the model again.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from evenmatch.simulation.world.model import directions, kilometres, shipped_model
from tools.fit_world.fit import AMERICA_SPLIT, REGIONS

MATCHES = 32_000
TOWNS = 14
"""Of a region, beside the city that has its servers."""
MISPLACED = ("Springfield", "Alexandria")
"""Two cities that are listed elsewhere than they are, as files mix up places of one name."""
FILES = ("hours", "cities", "pings")


def write(folder: Path) -> list[str]:
    """Write the three files and return their paths, in the order in which `fit_world` takes them.

    >>> import tempfile
    >>> [Path(path).name for path in write(Path(tempfile.mkdtemp()))]
    ['hours.csv.gz', 'cities.csv.gz', 'pings.csv.gz']
    """
    tables = dict(zip(FILES, _tables(), strict=True))
    paths = []
    for name, (head, rows) in tables.items():
        path = folder / f"{name}.csv.gz"
        with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([head, *rows])
        paths.append(str(path))
    return paths


Rows = tuple[Sequence[str], Iterable[Sequence[object]]]


@cache
def _tables() -> tuple[Rows, Rows, Rows]:
    rng = np.random.default_rng(20181110)
    names, countries, spots = _places(rng)
    people = np.round(np.exp(rng.normal(13.0, 0.5, len(names)))).astype(int)
    listed = spots.copy()
    for at, name in enumerate(MISPLACED):
        names.append(name)
        countries.append("Japan" if at else "Chile")
        # It is at home in Europe, and listed on the other side of the world.
        spots = np.vstack([spots, [[48.0 + at, 2.0]]])
        listed = np.vstack([listed, [[35.0, 138.0] if at else [-33.0, -70.0]]])
        people = np.append(people, 1)
    cities = [
        (name, country, round(lat, 3), round(lon, 3), crowd)
        for name, country, (lat, lon), crowd in zip(
            names, countries, listed.tolist(), people.tolist(), strict=True
        )
    ]
    return (
        (("region", "hour_utc", "matches"), _hours(rng)),
        (("city", "country", "lat", "lon", "population"), cities),
        (("from_city", "to_city", "rtt_avg_ms"), _pings(rng, names, spots)),
    )


def _places(rng: np.random.Generator) -> tuple[list[str], list[str], np.ndarray]:
    names, countries, spots = [], [], []
    for region in shipped_model().regions:
        found = REGIONS[region.name]
        names.append(found.server)
        countries.append(found.countries[0])
        spots.append(region.server)
        while len(names) % (TOWNS + 1):
            spot = np.clip(rng.normal(region.centre, region.spread), -179.0, 179.0)
            if found.west is not None and found.west != bool(spot[1] < AMERICA_SPLIT):
                continue
            names.append(f"Town {len(names)}")
            countries.append(found.countries[len(names) % len(found.countries)])
            spots.append((float(np.clip(spot[0], -85.0, 85.0)), float(spot[1])))
    return names, countries, np.array(spots)


def _pings(
    rng: np.random.Generator, names: Sequence[str], spots: np.ndarray
) -> list[tuple[str, str, float]]:
    delay, where = shipped_model().delay, directions(spots)
    floor = delay.floor(kilometres(where, where))
    trips = floor + delay.detour(floor) * rng.exponential(size=floor.shape)
    return [
        (one, other, round(float(trips[i, j]), 1))
        for i, one in enumerate(names)
        for j, other in enumerate(names)
        if i != j
    ]


def _hours(rng: np.random.Generator) -> list[tuple[str, int, int]]:
    model = shipped_model()
    players = model.players_by_hour()
    counts = rng.poisson(MATCHES * players / players.sum())
    rows = []
    for at, region in enumerate(model.regions):
        parts = np.full(len(region.sources), 1.0 / len(region.sources))
        for hour in range(24):
            split = rng.multinomial(counts[hour, at], parts)
            rows += [
                (source, hour, int(count))
                for source, count in zip(region.sources, split, strict=True)
                if count
            ]
    return rows
