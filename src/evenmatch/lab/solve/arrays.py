"""Batches as arrays: the `.npz` files of rounds, judged by six factors."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.base import Form, NumberGap
from evenmatch.criteria.objective import weights_of
from evenmatch.criteria.registry import kind_with
from evenmatch.criteria.roles import assign_roles
from evenmatch.criteria.rules import Rules
from evenmatch.criteria.venue import Venues
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.shared.condition_round import ConditionRounds
from evenmatch.solvers.matching.pairs import LOG
from evenmatch.solvers.teams.batch import PAIR_GAP, SUM_GAP, Batch, empty_batch, empty_facts

WEIGHTS = {
    "team": 0.24,
    "player": 0.22,
    "premade": 0.12,
    "ping": 0.26,
    "variation": 0.04,
    "host": 0.12,
}
"""The weights of the six factors for `BATCH.npz` files."""
SKILL_CAP = 18_000.0
TEAM_KNEE, TEAM_WORST, TEAM_STEP = 500.0, 9_000.0, 16.0
PLAYER_KNEE, PLAYER_WORST = 2_000.0, 18_000.0
PING_BEST, PING_WORST = 25.0, 400.0
HOST_QUALITY = (0.0, 0.6, 1.0)
PLAYERS_MAX = 20_000
TEAM_MAX = 100
MET_MAX = 2 * TEAM_MAX
NUMBER_MAX = 1e15
ASYMMETRY = 1e-3
"""Relative difference between a pair's two pings that counts as rounding."""
BYTES_MAX = 4_000_000_000
"""Most bytes of the arrays of a file, unpacked."""
UNREADABLE = (
    ValueError, OSError, BadZipFile, AttributeError, TypeError, EOFError, MemoryError,
    NotImplementedError, RuntimeError, KeyError, zlib.error, struct.error,
)  # fmt: skip
"""Errors that numpy raises for files that are not archives of arrays."""

Arrays = Mapping[str, NDArray[Any]]
ARRAYS = (
    "team_size", "party", "skill", "previous_match", "previous_team", "ping", "connect",
)  # fmt: skip

ALIASES = {
    f"{kind_with(Form.NUMBERS, NumberGap.TEAMS)} of skill": "team",
    f"{kind_with(Form.NUMBERS, NumberGap.PAIRS)} of skill": "player",
    kind_with(Form.PARTIES): "premade",
    f"{kind_with(Form.PLACES)} to enemies": "ping",
    kind_with(Form.NAMES): "variation",
    kind_with(Form.NETWORK): "host",
}
"""The blog's names of the six factors."""


class ConditionedBatch(NamedTuple):
    """The conditions of a rule set that matches of a batch must fulfil.

    Args:
        rounds: Finds and judges matches.
        tickets: In the order of the parties.
        at: The instant at which they are judged.
    """

    rounds: ConditionRounds
    tickets: tuple[Ticket, ...]
    at: float


class FileBatch(NamedTuple):
    """A batch from a file.

    Args:
        batch: The problem to solve.
        columns: Names of the rows of `batch.facts.values`.
        names: The report's names of factors that differ from their own.
        role_weight: The share of `role_rank` in the weights.
        people: The identities of the players; None if a file has only numbers.
        conditions: Conditions on matches beyond the batch's own rules; None: there are none.
    """

    batch: Batch
    columns: tuple[str, ...]
    names: Mapping[str, str] = {}
    role_weight: float = 0.0
    people: PlayerIdentities | None = None
    conditions: ConditionedBatch | None = None


def read_arrays(path: Path) -> Batch:
    """Return the batch of a `.npz` file: two teams of `team_size`, judged by the six factors.

    Raises:
        ConfigError: The file is no such archive, or its arrays cannot be used.
    """
    try:
        with ZipFile(path) as archive:
            size = sum(each.file_size for each in archive.infolist())
        if size <= BYTES_MAX:
            with np.load(path, allow_pickle=False) as data:
                arrays = {name: data[name] for name in ARRAYS if name in data}
    except UNREADABLE as error:
        raise ConfigError(f"{path} is no archive of arrays: {error}") from None
    if size > BYTES_MAX:
        raise ConfigError(f"{path}: arrays may take {BYTES_MAX:,} bytes, these take {size:,}")
    try:
        return batch_of(arrays)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def batch_of(data: Arrays) -> Batch:
    """Return a batch of the six factors.

    Args:
        data: `team_size`, `party` (n,), `skill` (n,), `previous_match` (n,), `previous_team` (n,),
            `ping` (n, n) in milliseconds, `connect` (n, n).

    Raises:
        ConfigError: Arrays are missing or inconsistent, or numbers are out of range.

    Source:
        Galactron (Awesomenauts), "Scoring the quality of a match".
    """
    _check_shapes(data)
    batch = six_factors(data)
    facts = batch.facts._replace(
        ping=checked_pings("`ping`", data["ping"]),
        connect=np.ascontiguousarray(data["connect"] != 0, dtype=np.uint8),
    )
    return batch._replace(facts=facts)


def six_factors(data: Arrays) -> Batch:
    """Return a batch of the six factors without pings and networks.

    Args:
        data: As for `batch_of`, without `ping` and `connect`, and of the right shapes.

    Raises:
        ConfigError: A party is larger than a team, or its players are not consecutive.
    """
    n, party = int(data["team_size"]), np.asarray(data["party"])
    ends = np.flatnonzero(np.diff(party, append=party[-1:] + 1)) + 1
    first = np.concatenate(([0], ends)).astype(np.int64)
    if len(np.unique(party)) != len(first) - 1:
        raise ConfigError("players of one party must stand next to each other in `party`")
    met = np.unique(data["previous_match"][data["previous_match"] >= 0], return_counts=True)[1]
    if met.max(initial=0) > MET_MAX:
        raise ConfigError(
            f"`previous_match` must name matches of at most {MET_MAX} players, got {met.max()}"
        )
    largest = int(np.diff(first).max(initial=0))
    if largest > n:
        raise ConfigError(f"a party of {largest} does not fit into a team of {n}")
    facts = empty_facts(len(party))._replace(
        values=np.minimum(data["skill"].astype(np.float64), SKILL_CAP)[None, :],
        gaps=np.array([[PAIR_GAP, WEIGHTS["player"], 0.0, LOG, PLAYER_WORST, PLAYER_KNEE, 0.0]]),
        ping_scale=np.array([PING_BEST, PING_WORST]),
        ping_weights=np.array([WEIGHTS["ping"], 0.0, 0.0, 0.0]),
        met=_meetings(party, data["previous_match"], data["previous_team"]),
        met_weight=WEIGHTS["variation"],
    )
    # The blog compares means; sums over equal teams are the means times n, and so is the scale.
    term = [SUM_GAP, WEIGHTS["team"], 0.0, LOG, n * TEAM_WORST, n * TEAM_KNEE, TEAM_STEP]
    return empty_batch(np.array([n, n], dtype=np.int64), first, facts)._replace(
        terms=np.array([term]),
        parity=WEIGHTS["premade"],
        hosts=WEIGHTS["host"] * (1.0 - np.array(HOST_QUALITY)),
    )


def _check_shapes(data: Arrays) -> None:
    """Refuse arrays that are missing, of the wrong shape, or hold numbers out of range."""
    wanted = ("party", "skill", "previous_match", "previous_team")
    for name in ("team_size", *wanted, "ping", "connect"):
        if name not in data:
            raise ConfigError(f"the array `{name}` is missing")
        if data[name].dtype.kind not in "iufb":
            raise ConfigError(f"`{name}` must hold numbers, got {data[name].dtype}")
    size = data["team_size"]
    if size.shape != () or not 1 <= float(size) <= TEAM_MAX or float(size) != int(size):
        raise ConfigError(f"`team_size` must be a whole number from 1 to {TEAM_MAX}")
    count = len(data["party"]) if data["party"].ndim == 1 else -1
    if not 0 <= count <= PLAYERS_MAX:
        raise ConfigError(f"`party` must list at most {PLAYERS_MAX:,} players in one row")
    for name in wanted:
        if data[name].shape != (count,):
            raise ConfigError(f"`{name}` must have one number for each of {count} players")
        if not np.isfinite(data[name]).all():
            raise ConfigError(f"`{name}` must hold finite numbers")
        if np.abs(data[name].astype(np.float64)).max(initial=0.0) > NUMBER_MAX:
            raise ConfigError(f"`{name}` must hold numbers up to {NUMBER_MAX:g}")
    for name in ("ping", "connect"):
        check_square(f"`{name}`", data[name], count)


def check_square(name: str, table: NDArray[Any], count: int) -> None:
    """Refuse a table that does not have a row and a column for each player."""
    if table.shape != (count, count):
        raise ConfigError(f"{name} must be {count} x {count}, got {table.shape}")


def checked_pings(name: str, table: NDArray[Any]) -> NDArray[np.float32]:
    """Return pings in the form of the solvers, with 0 from players to themselves.

    Raises:
        ConfigError: One is negative, not finite, or not the same in both directions.
    """
    with np.errstate(over="ignore"):
        pings = np.array(table, dtype=np.float32, order="C")
    np.fill_diagonal(pings, val=0.0)
    bad = ~((pings >= 0.0) & (pings <= NUMBER_MAX))
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise ConfigError(f"{name}[{i}, {j}] must be milliseconds >= 0, got {table[i, j]}")
    apart = np.abs(pings - pings.T) > ASYMMETRY * np.maximum(pings, 1.0)
    if apart.any():
        i, j = np.argwhere(apart)[0]
        raise ConfigError(
            f"{name} must be symmetric: [{i}, {j}] is {table[i, j]} and [{j}, {i}] is "
            f"{table[j, i]}; give the larger one for both"
        )
    return pings


def _meetings(
    party: NDArray[Any], previous_match: NDArray[Any], previous_team: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the meetings of the last match, see `Facts.met`."""
    rows = []
    order = np.argsort(previous_match, kind="stable")
    order = order[previous_match[order] >= 0]
    for group in np.split(order, np.flatnonzero(np.diff(previous_match[order])) + 1):
        for place, one in enumerate(group.tolist()):
            for two in group[place + 1 :].tolist():
                if party[one] != party[two]:
                    rows.append((one, two, 1.0, float(previous_team[one] == previous_team[two])))
    return np.array(rows, dtype=np.float64).reshape(-1, 4)


# The identities of the players of a batch of tickets: their roles, free seats, and match reports.

Tables = Mapping[str, NDArray[Any]]


def weight_of(queue: Queue, kind: str) -> float:
    """Return the share of a kind of criterion in the sum of all weights."""
    weights = weights_of(queue)
    own = [w for c, w in zip(queue.criteria, weights, strict=True) if c.kind == kind]
    total = math.fsum(weights)
    return math.fsum(own) / total if total else 0.0


class PlayerIdentities:
    """The identities of the players of a batch.

    Args:
        queue: Has the format, criteria and rules.
        tickets: In the order in which the batch numbers their players.
        tables: Measured pings and connections, if the batch has them.
        at: The instant at which matches are made.
    """

    def __init__(
        self, queue: Queue, tickets: Sequence[Ticket], tables: Tables, at: float = 0.0
    ) -> None:
        self._at = at
        self._form = queue.format
        self._rules = Rules(queue) if queue.rules else None
        self._venues = Venues(queue)
        self._ticket = [ticket for ticket in tickets for _ in ticket.players]
        self._ids = [player.id for ticket in tickets for player in ticket.players]
        self._tables = tables

    def objection(self, teams: Sequence[Sequence[int]]) -> str:
        """Return the rule that a match breaks, or ""."""
        if self._rules is None:
            return ""
        seated, at = [self._tickets(team) for team in teams], self._at
        if self._rules.ready_at(seated, at) <= at:
            return ""
        return self._rules.objection(seated, at)

    def tell(self, teams: Sequence[Sequence[int]]) -> dict[str, Any]:
        """Return the ids of a match's players by team, with its roles, region and hosts if any.

        Args:
            teams: Player numbers by team, those of a party consecutive.
        """
        seated = [self._tickets(team) for team in teams]
        told: dict[str, Any] = {"ids": [[self._ids[p] for p in team] for team in teams]}
        if self._form.roles:
            told["roles"] = [list(assign_roles(team, self._form.roles) or ()) for team in seated]
        # Where tables were given, the tickets' own attributes only stand in for them.
        if "ping" not in self._tables and "connect" not in self._tables:
            venue = self._venues.of(tuple(map(tuple, seated)), self._at)
            told |= {} if venue.region is None else {"region": venue.region}
            told |= {} if venue.hosts is None else {"hosts": list(venue.hosts)}
        if "connect" in self._tables:
            told["hosts"] = self._hosts([p for team in teams for p in team])
        return told

    def _tickets(self, team: Sequence[int]) -> list[Ticket]:
        return list({self._ticket[p].id: self._ticket[p] for p in team}.values())

    def _hosts(self, players: Sequence[int]) -> list[str]:
        """Return the ids of the players who reach all others: least mean ping first, then by id."""
        connect, ping = self._tables["connect"], self._tables.get("ping")
        found = []
        for one in players:
            others = [p for p in players if p != one]
            if all(connect[one, p] for p in others):
                mean = 0.0 if ping is None else math.fsum(ping[one, p] for p in others)
                found.append((mean, self._ids[one]))
        return [name for _, name in sorted(found)]
