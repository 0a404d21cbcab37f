"""Players of the world who wait at one moment, as arrays: inputs for solvers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.errors import ConfigError
from evenmatch.lab.solve.arrays import six_factors
from evenmatch.model.queue import Format
from evenmatch.model.world import World, default_party_shares
from evenmatch.simulation.seeds import generator
from evenmatch.simulation.world.parties import Geography, PartyColumns, WorldDraws
from evenmatch.solvers.teams.batch import Batch

PLAYERS_MAX = 1_000_000
EVENING = 19.0
"""20:00 Central European Time, UTC."""
RETURNED = 0.7
"""Share of the players who come from a match."""
NEARNESS = (1e4, 0.3, 600.0)
"""How that match was made: points for a region, for a point of skill, and at random."""


def world_arrays(
    players: int, team_size: int, seed: int, world: World | None = None
) -> dict[str, NDArray[Any]]:
    """Return players who wait at one moment.

    Args:
        players: Number of players, N.
        team_size: Players per team.
        seed: Of all randomness.
        world: The world of the players; by default the fitted world at 20:00 Central European
            Time, with the usual parties for such teams. Only its hour, not its rate, matters here.

    Returns:
        The arrays of a batch file, with `latency` (N, regions) in milliseconds and `network` (N,)
        (0 open, 1 moderate, 2 strict) in place of `ping` and `connect`: `team_size`, `party`,
        `skill`, `region`, `previous_match` and `previous_team` (-1 = none), all (N,).

    Raises:
        ConfigError: There are too few or too many players, or parties cannot make up the number.

    Complexity:
        O(N regions); 10,000 players take about 20 ms.
    """
    if not 1 <= players <= PLAYERS_MAX:
        raise ConfigError(f"players must be between 1 and {PLAYERS_MAX:,}, got {players}")
    if world is None:
        form = Format((team_size, team_size))
        world = World(1.0, hour=EVENING, party_shares=default_party_shares(form))
    seeds = np.random.SeedSequence(seed)
    geography = Geography(world)
    crowd = WorldDraws(world, geography, seeds).crowd(np.full(players, world.hour))
    chosen = _exactly(players, crowd.sizes)
    crowd = _some(crowd, chosen)
    skill = np.floor(crowd.rating).astype(np.int64)
    match, side = _previous(crowd.region, skill, team_size, generator(seeds, "previous"))
    return {
        "team_size": np.asarray(team_size),
        "party": np.repeat(np.arange(len(crowd.sizes)), crowd.sizes),
        "skill": skill,
        "region": crowd.region,
        "latency": crowd.latency,
        "network": crowd.connect,
        "previous_match": match,
        "previous_team": side,
    }


def world_batch(players: int, team_size: int, seed: int, world: World | None = None) -> Batch:
    """Return the same as a batch, see `batch_of_world`."""
    return batch_of_world(world_arrays(players, team_size, seed, world))


def batch_of_world(data: Mapping[str, NDArray[Any]]) -> Batch:
    """Return players of `world_arrays` as a batch, judged by the six factors of the Galactron blog.

    The ping of a pair is the least sum of both latencies over the regions; their networks determine
    who reaches whom.
    """
    batch = six_factors(data)
    facts = batch.facts._replace(
        latency=np.ascontiguousarray(data["latency"], dtype=np.float32), network=data["network"]
    )
    return batch._replace(facts=facts)


def _exactly(players: int, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of the first parties that make up a number of players."""
    chosen, left = [], players
    for place, size in enumerate(sizes.tolist()):
        if size <= left:
            chosen.append(place)
            left -= size
        if not left:
            return np.asarray(chosen)
    raise ConfigError(f"parties of the given sizes do not make up {players} players")


def _some(crowd: PartyColumns, parties: NDArray[np.int64]) -> PartyColumns:
    """Return some of the parties."""
    keep = np.zeros(len(crowd.sizes), dtype=bool)
    keep[parties] = True
    of_players = np.repeat(keep, crowd.sizes)
    columns = {
        name: column[keep if name == "sizes" else of_players]
        for name, column in msgspec.structs.asdict(crowd).items()
        if column is not None
    }
    return PartyColumns(**columns)


def _previous(
    region: NDArray[np.int64], skill: NDArray[np.int64], team_size: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each player's previous match and team: most of them met players near them."""
    match, side = np.full(len(region), -1), np.full(len(region), -1)
    came = np.flatnonzero(rng.random(len(region)) < RETURNED)
    for_region, for_skill, by_chance = NEARNESS
    near = for_region * region[came] + for_skill * skill[came]
    order = came[np.argsort(near + by_chance * rng.normal(size=len(came)), kind="stable")]
    k = 2 * team_size
    count = len(order) // k
    groups = rng.permuted(order[: count * k].reshape(count, k), axis=1)
    match[groups] = np.arange(count)[:, None]
    side[groups] = np.repeat([0, 1], team_size)
    return match, side
