"""The fit of the world model: shares of regions by hour, and delays between cities."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from evenmatch.errors import ArrivalsError
from evenmatch.simulation.world.measured_files import (
    Cities,
    misplaced,
    players_by_hour,
    read_cities,
    read_hours,
    read_pings,
    select_cities,
)
from evenmatch.simulation.world.model import (
    Delay,
    Floats,
    Region,
    WorldModel,
    directions,
    harmonics,
    kilometres,
)

AMERICA_SPLIT = -100.0
"""Degrees east; North America's cities west of it belong to us_west."""


class Found(msgspec.Struct, frozen=True):
    """The sources of a region.

    Args:
        sources: The measured regions.
        server: The city nearest to its servers.
        countries: The countries of its players.
        west: For North America: whether it is the western part, else the eastern.
    """

    sources: tuple[str, ...]
    server: str
    countries: tuple[str, ...]
    west: bool | None = None


NORTH_AMERICA = (
    "United States", "Canada", "Mexico", "Costa Rica", "Honduras", "Panama", "Puerto Rico",
)  # fmt: skip
REGIONS: dict[str, Found] = {
    "europe_west": Found(
        ("EUROPE",),
        "Luxembourg",
        ("Algeria", "Belgium", "France", "Germany", "Ireland", "Italy", "Luxembourg", "Morocco",
         "Netherlands", "Portugal", "Spain", "Switzerland", "Tunisia", "United Kingdom"),
    ),
    "europe_east": Found(
        ("AUSTRIA",),
        "Vienna",
        ("Albania", "Austria", "Bulgaria", "Czech Republic", "Greece", "Hungary", "Moldova",
         "Poland", "Romania", "Slovakia", "Slovenia", "Turkey"),
    ),
    "europe_north": Found(
        ("STOCKHOLM",),
        "Stockholm",
        ("Denmark", "Finland", "Latvia", "Lithuania", "Norway", "Russia", "Sweden", "Ukraine"),
    ),
    "us_east": Found(("US_EAST",), "Richmond", NORTH_AMERICA, west=False),
    "us_west": Found(("US_WEST",), "Vancouver", NORTH_AMERICA, west=True),
    "south_america": Found(
        ("BRAZIL", "CHILE"),
        "Sao Paulo",
        ("Brazil", "Chile", "Ecuador", "Peru", "Suriname", "Uruguay", "Venezuela"),
    ),
    "middle_east": Found(
        ("DUBAI",), "Dubai", ("Georgia", "Israel", "Saudi Arabia", "United Arab Emirates")
    ),
    "southeast_asia": Found(
        ("SINGAPORE",),
        "Singapore",
        ("Cambodia", "Indonesia", "Malaysia", "Philippines", "Singapore", "Taiwan", "Vietnam"),
    ),
    "china": Found(
        ("PW_TELECOM_SHANGHAI", "PW_TELECOM_ZHEJIANG", "PW_TELECOM_GUANGDONG", "PW_UNICOM"),
        "Hangzhou",
        ("China",),
    ),
    "japan": Found(("JAPAN",), "Tokyo", ("Japan",)),
    "oceania": Found(("AUSTRALIA",), "Sydney", ("Australia", "New Zealand")),
}  # fmt: skip


def is_of(found: Found, cities: Cities, at: int) -> bool:
    """Return whether the city at an index belongs to a region."""
    if cities.countries[at] not in found.countries:
        return False
    return found.west is None or found.west == (cities.spots[at, 1] < AMERICA_SPLIT)


FLOOR_SHARE = 0.05
"""Share of the measured pings that are below the straightest path."""
HARMONICS_MAX = 3
STEPS = 50
DIGITS = 6
RATIOS = np.geomspace(1.0, 10_000.0, 2001)
"""Candidates for base / per_km, kilometres."""
FARS = np.geomspace(10.0, 300.0, 500).tolist()
"""Candidates for the path length beyond which detours no longer grow, milliseconds."""


class Measured(msgspec.Struct, frozen=True):
    """The data of the three files.

    Args:
        hours: Matches by UTC hour and region (24 x R).
        cities: The cities whose location is consistent with their pings.
        rtt: Milliseconds between them (C x C), NaN where nothing was measured.
        left_out: Names of the other cities.
    """

    hours: Floats
    cities: Cities
    rtt: Floats
    left_out: tuple[str, ...]


def read(hours: str, cities: str, pings: str) -> Measured:
    """Return the data of the three files.

    Raises:
        ArrivalsError: A file cannot be read, or lacks required data.
    """
    places = read_cities(cities)
    rtt = read_pings(pings, places)
    is_wrong = misplaced(places, rtt)
    left_out = tuple(places.names[at] for at in np.flatnonzero(is_wrong))
    known = {name: found.sources for name, found in REGIONS.items()}
    by_hour = players_by_hour(read_hours(hours), known, hours)
    return Measured(by_hour, *select_cities(places, rtt, ~is_wrong), left_out)


def fit(measured: Measured) -> WorldModel:
    """Return the world that describes the files best.

    Args:
        measured: The files.

    Raises:
        ArrivalsError: A region has no match or no city.

    Source:
        Days: Poisson regression on harmonics, their number by Schwarz's criterion (Annals of
        Statistics 6, 1978). Delays: see `fit_delay`.
    """
    total = float(measured.hours.sum()) / len(measured.hours)
    regions = []
    for at, (name, found) in enumerate(REGIONS.items()):
        counts = measured.hours[:, at]
        if counts.sum() == 0.0:
            raise ArrivalsError(f"region {name} has no match in any hour; the fit needs some")
        day = fit_day(counts)
        regions.append(_region(name, found, measured.cities, [day[0] - np.log(total), *day[1:]]))
    km, rtt = pairs_of(measured)
    return WorldModel(tuple(regions), fit_delay(km, rtt))


def fit_day(counts: Floats) -> Floats:
    """Return the harmonics of the logarithm of the expected matches per hour.

    Args:
        counts: Matches in each hour of the day (24), not all 0.
    """
    fits = []
    for count in range(HARMONICS_MAX + 1):
        design = harmonics(count)
        weights = _poisson(design, counts)
        mean = np.exp(design @ weights)
        score = 2.0 * float((mean - counts * np.log(mean)).sum())
        fits.append((score + len(weights) * np.log(len(counts)), count, weights))
    return min(fits, key=lambda each: each[:2])[2]


def _poisson(design: Floats, counts: Floats) -> Floats:
    """Return the weights of a Poisson regression with logarithmic link, by Newton's steps."""
    weights = np.zeros(design.shape[1])
    weights[0] = np.log(counts.mean())
    for _ in range(STEPS):
        mean = np.exp(design @ weights)
        step = np.linalg.solve(design.T @ (design * mean[:, None]), design.T @ (counts - mean))
        # Small regions have hours without a match; a full step from far away would overflow.
        weights = weights + step / max(1.0, float(np.abs(step).max()))
    return weights


def fit_delay(km: Floats, rtt: Floats) -> Delay:
    """Return the straightest path, and the distribution of real ones above it.

    The straightest path is the line below which `FLOOR_SHARE` of the measured round trips lie:
    the quantile regression of the logarithm of the round trip, so that near pairs count as much as
    far ones. Detours above it are exponential; their mean grows with the path up to a certain
    length, and both are estimated by maximum likelihood: long cables are straighter than short
    ones.

    Args:
        km: Distances.
        rtt: Milliseconds measured over them, > 0.
    """
    best = (np.inf, 0.0, 0.0)
    for ratio in RATIOS:
        excess = np.log(rtt / (ratio + km))
        level = float(np.quantile(excess, FLOOR_SHARE))
        gap = excess - level
        loss = float(np.mean(np.maximum(FLOOR_SHARE * gap, (FLOOR_SHARE - 1.0) * gap)))
        best = min(best, (loss, float(ratio), float(np.exp(level))))
    _, ratio, per_km = best
    floor = per_km * (ratio + km)
    detour = np.maximum(rtt - floor, 0.0)
    fits = []
    for far in FARS:
        length = np.minimum(floor, far)
        scatter = float(np.mean(detour / length))
        fits.append((float(np.mean(np.log(scatter * length))), far, scatter))
    _, far, scatter = min(fits)
    return Delay(_short(per_km * ratio), _short(per_km), _short(scatter), _short(far))


def pairs_of(measured: Measured) -> tuple[Floats, Floats]:
    """Return distance and round trip of each measured pair of different cities."""
    where = directions(measured.cities.spots)
    km = kilometres(where, where)
    known = (measured.rtt > 0.0) & ~np.eye(len(where), dtype=bool)
    return km[known], measured.rtt[known]


def _region(name: str, found: Found, cities: Cities, day: Sequence[float]) -> Region:
    """Return a region: its players live where its cities are, in proportion to their people."""
    chosen = [at for at in range(len(cities.names)) if is_of(found, cities, at)]
    if not chosen or found.server not in cities.names:
        raise ArrivalsError(f"region {name} needs the city {found.server} and some of its own")
    spots, people = cities.spots[chosen], cities.people[chosen]
    centre = np.average(spots, axis=0, weights=people)
    spread = np.sqrt(np.average((spots - centre) ** 2, axis=0, weights=people))
    server = cities.spots[cities.names.index(found.server)]
    return Region(
        name=name,
        sources=found.sources,
        server=(_short(server[0]), _short(server[1])),
        centre=(_short(centre[0]), _short(centre[1])),
        spread=(_short(spread[0]), _short(spread[1])),
        day=tuple(map(_short, day)),
    )


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def share_errors(model: WorldModel, measured: Measured) -> Floats:
    """Return fitted less measured share of each region in each hour (24 x R)."""
    fitted = model.players_by_hour()
    return np.asarray(_shares(fitted) - _shares(measured.hours))


def _shares(players: Floats) -> Floats:
    return np.asarray(players / players.sum(axis=1, keepdims=True))


def encoded(model: WorldModel) -> bytes:
    """Return the model as the text of a file."""
    return msgspec.json.format(msgspec.json.encode(model), indent=1) + b"\n"
