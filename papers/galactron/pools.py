"""Players of the world who wait at one moment, their matches, and figures of these.

All parts that solve a round draw their players from our own model of the world, three against
three at 20:00 Central European Time: the hour that the blog mentions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.lab.solve.arrays import ALIASES, WEIGHTS
from evenmatch.lab.solve.factors import BatchFactor, factors_of
from evenmatch.lab.solve.search import SolveBudget, parse_method, parse_objective, search
from evenmatch.lab.solve.solution import POINTS, cost_of
from evenmatch.model.queue import Format
from evenmatch.model.world import World, default_party_shares
from evenmatch.simulation.world.parties import Geography
from evenmatch.solvers.teams.batch import Batch, Floats, Ints, Places, Plan
from evenmatch.solvers.teams.start import start_matches
from papers.galactron.world_batch import EVENING, batch_of_world, world_arrays

TEAM_SIZE = 3
K = 2 * TEAM_SIZE
FACTORS = tuple(WEIGHTS)
"""The six factors, by the names in reports."""
EVENING_WORLD = World(
    1.0, hour=EVENING, party_shares=default_party_shares(Format((TEAM_SIZE, TEAM_SIZE)))
)
"""The players from whom all pools are drawn: the same as `world_arrays` draws by itself."""
NOISE = 0.3
"""Standard deviations of skill by which a semi-random start is off the sorted one."""
DISTANT = ("south_america", "oceania")
"""The regions that the blog calls too small."""
EUROPE = "europe"


class Pool(NamedTuple):
    """Waiting players.

    Args:
        batch: The players, and how their matches are judged.
        arrays: The arrays they were drawn as, see `world_arrays`.
        regions: Names, by the numbers in `arrays["region"]`.
    """

    batch: Batch
    arrays: Mapping[str, NDArray[np.int64]]
    regions: tuple[str, ...]

    def is_of(self, *beginnings: str) -> NDArray[np.bool_]:
        """Return for each player whether the name of their region begins so."""
        own = np.array([name.startswith(beginnings) for name in self.regions])
        return np.asarray(own[self.arrays["region"]])

    def mixed(self) -> NDArray[np.bool_]:
        """Return for each player whether their party is of several regions."""
        first, region = self.batch.first[:-1], self.arrays["region"]
        apart = np.minimum.reduceat(region, first) != np.maximum.reduceat(region, first)
        return np.repeat(apart, np.diff(self.batch.first))

    def some(self, chosen: NDArray[np.int64]) -> Pool:
        """Return the pool of some players, whole parties, given by their ascending numbers."""
        own = {
            name: column[chosen] if column.shape else column for name, column in self.arrays.items()
        }
        return judged_pool(own)

    def meeting_again(self, seated: Places) -> Pool:
        """Return the same players after these matches, for their next round."""
        match, side = self.arrays["previous_match"].copy(), self.arrays["previous_team"].copy()
        match[seated] = np.arange(len(seated))[:, None] + match.max(initial=-1) + 1
        side[seated] = np.repeat([0, 1], TEAM_SIZE)
        return judged_pool({**self.arrays, "previous_match": match, "previous_team": side})


def pool_of(players: int, seed: int, party_shares: tuple[float, ...] = ()) -> Pool:
    """Return players of the fitted world, in the usual parties unless others are given."""
    world = EVENING_WORLD
    if party_shares:
        world = msgspec.structs.replace(world, party_shares=party_shares)
    return judged_pool(world_arrays(players, TEAM_SIZE, seed, world))


def judged_pool(arrays: Mapping[str, NDArray[np.int64]]) -> Pool:
    """Return players, judged by the six factors."""
    return Pool(batch_of_world(arrays), arrays, tuple(Geography(EVENING_WORLD).names))


def solved(
    batch: Batch, effort: int, seed: int, *, method: str = "anneal", objective: str = "mean"
) -> Plan:
    """Return the matches that a search finds within an effort.

    Args:
        batch: The players.
        effort: Evaluations of matches.
        seed: Of all randomness.
        method: SPEC of the search.
        objective: The objective that it raises.
    """
    return search(
        batch,
        parse_method(method),
        parse_objective(objective),
        SolveBudget(evaluations=effort),
        seed,
    )


def started(batch: Batch, order: str, seed: int) -> Places:
    """Return the matches that a search starts from, before divisions are optimised."""
    return start_matches(batch, order, np.random.default_rng(seed))


def quality_of(batch: Batch, seated: Places) -> float:
    """Return the mean quality of matches, points."""
    return POINTS * float(1.0 - cost_of(batch, seated).mean())


def named_factors(batch: Batch) -> dict[str, BatchFactor]:
    """Return the factors by the names that reports use."""
    return {ALIASES.get(each.name, each.name): each for each in factors_of(batch, ("skill",))}


def means_of(factors: Mapping[str, BatchFactor], seated: Places) -> dict[str, float]:
    """Return the mean of each factor over matches, points."""
    return {name: quality_of(factor.alone, seated) for name, factor in factors.items()}


def ping_to_enemies(batch: Batch, seated: Places) -> Floats:
    """Return each seated player's mean ping to enemies, milliseconds, in the seats' shape."""
    latency = batch.facts.latency[seated]
    home, away = latency[:, :TEAM_SIZE], latency[:, TEAM_SIZE:]
    pings = (home[:, :, None] + away[:, None]).min(axis=3)
    return np.concatenate((pings.mean(axis=2), pings.mean(axis=1)), axis=1)


def mean_at(values: Floats, seated: Places, chosen: NDArray[np.bool_]) -> float | None:
    """Return the mean of a seat's value over the seats of chosen players; None without any."""
    own = values[chosen[seated]]
    return float(own.mean()) if own.size else None


def encounters(seated: Places, party: Ints) -> set[tuple[int, int]]:
    """Return the pairs of players of different parties who are in one match."""
    return {
        (min(i, j), max(i, j))
        for row in seated.tolist()
        for place, i in enumerate(row)
        for j in row[place + 1 :]
        if party[i] != party[j]
    }


def tenth(values: Sequence[float] | Floats) -> float:
    """Return the tenth percentile."""
    return float(np.percentile(values, 10.0))


def shaken(batch: Batch, rng: np.random.Generator) -> Places:
    """Return other first matches: parties sorted by skill plus noise."""
    skill = batch.facts.values[0]
    noise = rng.normal(0.0, NOISE * float(skill.std()), len(batch.first) - 1)
    disturbed = batch.facts.values.copy()
    disturbed[0] += np.repeat(noise, np.diff(batch.first))
    facts = batch.facts._replace(values=disturbed)
    return start_matches(batch._replace(facts=facts), "skill", rng)
