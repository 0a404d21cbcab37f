"""Parties from all over the world: where they live, how far they are, how good they are."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate, islice
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.roles import find_seats, mask_of
from evenmatch.model.ticket import Player
from evenmatch.model.world import RoleMix, World
from evenmatch.simulation.seeds import generator
from evenmatch.simulation.world.measured_files import (
    misplaced,
    players_by_hour,
    read_cities,
    read_hours,
    read_pings,
    select_cities,
)
from evenmatch.simulation.world.model import (
    HOURS,
    Floats,
    WorldModel,
    directions,
    kilometres,
    shipped_model,
)

Whole = NDArray[np.int64]
CONNECT = ("open", "moderate", "strict")
NORTH_MAX = 85.0


class PartyColumns(msgspec.Struct, frozen=True):
    """Players as columns, those of a party beside one another.

    Args:
        sizes: Players of each party (T).
        region: Place of each player's region among the names (N).
        rating: Points (N).
        connect: Place of each player's word in `CONNECT` (N).
        latency: Milliseconds to the servers of each region (N x R).
        roles: Place of each player's list of roles in the world's mix (N); None without roles.
    """

    sizes: Whole
    region: Whole
    rating: Floats
    connect: Whole
    latency: Floats
    roles: Whole | None = None


class Geography:
    """A world made ready to draw from.

    Args:
        world: What the scenario says of it.
        model: The fitted regions and delays.
        base_dir: The folder from which relative file names count.

    Raises:
        ArrivalsError: A measured file cannot be read.
    """

    def __init__(
        self, world: World, model: WorldModel | None = None, base_dir: Path | None = None
    ) -> None:
        model = shipped_model() if model is None else model
        self.names = model.names
        self._model, self._base_dir = model, base_dir
        players = self._players(world)
        self.day = tuple((players.sum(axis=1) / players.sum() * HOURS).tolist())
        """Weights of the hours around the mean rate."""
        self.shares = players / players.sum(axis=1, keepdims=True)
        """Share of each region in the players of an hour (24 x R)."""
        self.centres = np.asarray([region.centre for region in model.regions])
        self.spreads = np.asarray([region.spread for region in model.regions])
        self._servers = directions(np.asarray([region.server for region in model.regions]))
        self._measure_pings(world)

    def round_trips(self, spots: Floats, scatter: Floats) -> Floats:
        """Return milliseconds to the servers of each region, without the last mile (N x R).

        Args:
            spots: Degrees north and east of each player (N x 2).
            scatter: An exponential of mean 1 for each player and region (N x R).
        """
        where = directions(spots)
        floor = self._model.delay.floor(kilometres(where, self._servers))
        fitted = floor + self._model.delay.detour(floor) * scatter
        if self._rtt is None:
            return np.asarray(fitted)
        measured = self._rtt[np.argmax(where @ self._cities.T, axis=1)]
        return np.where(np.isnan(measured), fitted, measured)

    def _players(self, world: World) -> Floats:
        if not world.hours_file:
            return self._model.players_by_hour()
        known = {region.name: region.sources for region in self._model.regions}
        return players_by_hour(
            read_hours(world.hours_file, self._base_dir), known, world.hours_file
        )

    def _measure_pings(self, world: World) -> None:
        """Find the pings from each city to the city nearest to each region's servers."""
        self._rtt: Floats | None = None
        self._cities = np.empty((0, 3))
        if not world.pings_file or not world.cities_file:
            return
        cities = read_cities(world.cities_file, self._base_dir)
        rtt = read_pings(world.pings_file, cities, self._base_dir)
        cities, rtt = select_cities(cities, rtt, ~misplaced(cities, rtt))
        # Nobody pings themselves: within a city only the fitted delay is left.
        self._rtt = rtt[:, cities.nearest(self._servers)]
        self._cities = directions(cities.spots)


class WorldDraws:
    """Draws parties, each fact from its own stream of chance.

    Args:
        world: What is drawn.
        geography: The same, made ready.
        seeds: The seed of all streams; it is not changed.
    """

    def __init__(self, world: World, geography: Geography, seeds: np.random.SeedSequence) -> None:
        self._world, self._geography = world, geography
        self._chance = {name: generator(seeds, f"world {name}") for name in STREAMS}
        parts = [share / size for size, share in enumerate(world.party_shares, start=1)]
        self._party_bounds = np.cumsum(parts) / sum(parts)
        shares = (world.connect.open, world.connect.moderate, world.connect.strict)
        self._connect_bounds = np.cumsum(shares) / sum(shares)
        bounds = np.cumsum(geography.shares, axis=1)
        # Rounding must leave no gap above the last region.
        bounds[:, -1] = 1.0
        self._region_bounds = bounds
        self._roles = None if world.roles is None else RoleDraws(world.roles)

    def crowd(self, hours: Floats) -> PartyColumns:
        """Return one party for each instant of arrival, an hour of the day.

        Args:
            hours: UTC hours of the day, fractions included (T).

        Complexity:
            O(N R) for N players and R regions; no matter how the hours are cut into calls, the
            players are the same.
        """
        sizes = 1 + _places(self._chance["sizes"].random(len(hours)), self._party_bounds)
        party = np.repeat(np.arange(len(sizes)), sizes)
        region = self._regions(hours, sizes, party)
        spots = self._geography.centres[region]
        normal = self._chance["places"].normal(size=(len(party), 2))
        spots = spots + self._geography.spreads[region] * normal
        spots[:, 0] = np.clip(spots[:, 0], -NORTH_MAX, NORTH_MAX)
        detour = self._chance["scatter"].exponential(size=(len(party), len(self._geography.names)))
        latency = self._geography.round_trips(spots, detour) + self._last_miles(len(party))[:, None]
        nat = _places(self._chance["connect"].random(len(party)), self._connect_bounds)
        rating = self._ratings(sizes, party)
        return PartyColumns(sizes, region, rating, nat, latency, self._role_lists(sizes))

    def _regions(self, hours: Floats, sizes: Whole, party: Whole) -> Whole:
        """Return each player's region: the party's, unless a member is of another."""
        bounds = self._region_bounds[hours.astype(np.int64) % HOURS]
        home = (bounds <= self._chance["homes"].random(len(hours))[:, None]).sum(axis=1)
        moves = self._chance["moves"].random((len(party), 2))
        other = (bounds[party] <= moves[:, 1][:, None]).sum(axis=1)
        stays = (sizes[party] == 1) | (moves[:, 0] < self._world.home_share)
        return np.asarray(np.where(stays, home[party], other))

    def _role_lists(self, sizes: Whole) -> Whole | None:
        if self._roles is None:
            return None
        lots = iter(self._chance["roles"].random(int(sizes.sum())).tolist())
        agree = self._roles.agree
        return np.array([place for size in sizes.tolist() for place in agree(islice(lots, size))])

    def _last_miles(self, count: int) -> Floats:
        mile = self._world.last_mile
        return mile.median * np.exp(mile.spread * self._chance["last miles"].normal(size=count))

    def _ratings(self, sizes: Whole, party: Whole) -> Floats:
        """Return points: a party's own, and around them those of friends."""
        skill, chance = self._world.skill, self._chance
        lots = chance["beginners"].random((len(sizes), 2))
        # A party's own points vary less, so that its members are as spread as who comes alone.
        shared = math.sqrt(max(0.0, skill.spread**2 - skill.friends**2))
        spreads = np.where(sizes == 1, skill.spread, shared)
        grown = skill.median * np.exp(spreads * chance["skill"].normal(size=len(sizes)))
        points = np.where(lots[:, 0] < skill.beginners, lots[:, 1] * skill.beginner_max, grown)
        around = np.exp(skill.friends * chance["friends"].normal(size=len(party)))
        own = points[party] * np.where(sizes[party] == 1, 1.0, around)
        return np.asarray(np.clip(own, 0.0, skill.max))


class RoleDraws:
    """Draws the lists of roles of a party whose members agree to play in one team.

    The first member lists what they like. Every other draws again while their list does not go
    together with those of the members before; this is the same as one draw among the lists that do.

    Args:
        mix: The lists and their shares.
    """

    def __init__(self, mix: RoleMix) -> None:
        self._masks = [mask_of(Player("", roles=names), mix.seats) for names in mix.lists]
        self._shares = mix.shares
        self._seats = tuple([count for _, count in mix.seats])
        self._bounds: dict[tuple[int, ...], tuple[list[int], list[float]]] = {}

    def agree(self, lots: Iterable[float]) -> list[int]:
        """Return the index of each member's list in the mix.

        Args:
            lots: A number in [0, 1) for each member.

        Complexity:
            O(members log lists), once the sets of lists of the members before were met.
        """
        chosen: list[int] = []
        before: tuple[int, ...] = ()
        for lot in lots:
            places, bounds = self._open_to(before)
            place = places[min(bisect_right(bounds, lot * bounds[-1]), len(places) - 1)]
            chosen.append(place)
            before = tuple(sorted((*before, self._masks[place])))
        return chosen

    def _open_to(self, before: tuple[int, ...]) -> tuple[list[int], list[float]]:
        """Return which lists go together with those of some members, and sums of their shares."""
        known = self._bounds.get(before)
        if known is None:
            places = [
                place
                for place, (mask, share) in enumerate(zip(self._masks, self._shares, strict=True))
                if share > 0.0 and self._go_together((*before, mask))
            ]
            bounds = list(accumulate([self._shares[place] for place in places]))
            known = self._bounds[before] = (places, bounds)
        return known

    def _go_together(self, masks: tuple[int, ...]) -> bool:
        return find_seats(tuple(sorted(Counter(masks).items())), self._seats)


STREAMS = (
    "sizes", "homes", "moves", "places", "scatter", "last miles", "connect", "beginners", "skill",
    "friends", "roles",
)  # fmt: skip


def _places(lots: Floats, bounds: Floats) -> Whole:
    """Return which interval each lot in [0, 1) falls into."""
    found = np.searchsorted(bounds, lots, side="right")
    return np.asarray(np.minimum(found, len(bounds) - 1), dtype=np.int64)
