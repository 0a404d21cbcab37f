"""The fitted world: where regions lie, when their players come, and how long packets take.

A region's players by hour of the day h (UTC) are exp(sum of harmonics of h); delay is
the straightest path, base + per_km x great-circle km, with an exponential detour on top, plus the
home's last mile.
"""

from __future__ import annotations

from functools import cache

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FILE = "world.json"
HOURS = 24
EARTH_KM = 6371.0
Spot = tuple[float, float]
"""Degrees north and degrees east."""


class Region(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Players who live near one another, and the servers for them.

    Args:
        name: What the attribute `region` says.
        sources: Names of the measured regions that it stands for.
        server: Where its servers are.
        centre: Where its players are on average.
        spread: Standard deviation of where they are, degrees north and degrees east.
        day: Harmonics of the logarithm of its players per hour: the constant, then cosine and
            sine of one turn a day, of two, and so on.
    """

    name: str
    sources: tuple[str, ...]
    server: Spot
    centre: Spot
    spread: Spot
    day: tuple[float, ...]


class Delay(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Round trips between two places, without the last mile.

    Args:
        base: Milliseconds at no distance, on the straightest path.
        per_km: Milliseconds for each kilometre of great circle, on the straightest path.
        scatter: Mean of the exponential detour, as a multiple of the straightest path.
        far: Milliseconds of a straightest path beyond which detours grow no more.
    """

    base: float
    per_km: float
    scatter: float
    far: float

    def floor(self, km: Floats) -> Floats:
        """Return the milliseconds along the straightest path."""
        return self.base + self.per_km * km

    def detour(self, floor: Floats) -> Floats:
        """Return the mean milliseconds above a straightest path."""
        return np.asarray(self.scatter * np.minimum(floor, self.far))


class WorldModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All regions and the delay between them."""

    regions: tuple[Region, ...]
    delay: Delay

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the regions."""
        return tuple(region.name for region in self.regions)

    def players_by_hour(self) -> Floats:
        """Return the players of each region in each hour of the day, UTC, in any unit (24 x R)."""
        return np.stack([players_in_day(region.day) for region in self.regions], axis=1)


@cache
def shipped_model() -> WorldModel:
    """Return the world that comes with evenmatch."""
    from importlib.resources import files

    data = files("evenmatch.data").joinpath(FILE).read_bytes()
    return msgspec.json.decode(data, type=WorldModel)


def harmonics(count: int) -> Floats:
    """Return the values of the harmonics in the middle of each hour, 24 x (1 + 2 count)."""
    angle = 2.0 * np.pi * (np.arange(HOURS) + 0.5) / HOURS
    columns = [np.ones(HOURS)]
    for turns in range(1, count + 1):
        columns += [np.cos(turns * angle), np.sin(turns * angle)]
    return np.stack(columns, axis=1)


def players_in_day(day: tuple[float, ...]) -> Floats:
    """Return the players in each hour of a region whose harmonics are given.

    >>> players_in_day((0.0,))[:2].tolist()
    [1.0, 1.0]
    """
    return np.asarray(np.exp(harmonics(len(day) // 2) @ np.asarray(day)))


def directions(spots: Floats) -> Floats:
    """Return points on a sphere of radius 1 for degrees north and east (N x 2 to N x 3)."""
    north, east = np.radians(spots[:, 0]), np.radians(spots[:, 1])
    flat = np.cos(north)
    return np.stack([flat * np.cos(east), flat * np.sin(east), np.sin(north)], axis=1)


def kilometres(one: Floats, other: Floats) -> Floats:
    """Return the great-circle distances of two lists of directions (N x 3, M x 3 to N x M).

    >>> poles = directions(np.array([[90.0, 0.0], [-90.0, 0.0]]))
    >>> kilometres(poles, poles).round().tolist()
    [[0.0, 20015.0], [20015.0, 0.0]]
    """
    return np.asarray(EARTH_KM * np.arccos(np.clip(one @ other.T, -1.0, 1.0)))
