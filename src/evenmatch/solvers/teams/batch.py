"""A batch: parties to be divided into matches of teams, as flat arrays, and a plan for them.

Players are numbered 0..n-1, those of a party consecutively. Everything by which a match is judged
is in one of three places:

- `Facts`: the data on players and on pairs, before weights (latencies, values whose gaps are
  averaged over pairs, earlier meetings, words that should be equal). `pairs.tabulate` turns them
  into `Pairs`, the cost of each pair as mates and as enemies;
- `Batch.terms`: comparisons of teams, and of the range of a match (imbalance, spread);
- the few numbers of `Batch` that concern parties, hosts, free seats and roles.

Costs include their weights, and weights sum to 1, so a match's **quality is 1 - its cost**. A match
is legal if it breaks none of the hard rules, which are flags of pairs and limits in
`Batch.tolerances`. `reference` defines all this in plain, slow Python, and the kernels are tested
against it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenmatch.solvers.kernel import record

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Places = NDArray[np.int32]
Flags = NDArray[np.uint8]

SPREAD, SUM_GAP, MEAN_GAP, PAIR_GAP = 0.0, 1.0, 2.0, 3.0
"""Kinds of comparison of the numbers in a column: max - min, gap of teams' sums, gap of teams'
means, mean over pairs."""
FREE_SEATS, PARTY_GAP, RANK_GAP = 4.0, 5.0, 6.0
"""Kinds of rules without a column: free seats as a share of those that may stay free; the
difference of the teams' parties, x in `Batch.parity`; mean rank of the roles over the last rank."""
REGION_GAP, PING_GAP, HOSTS_LACK = 7.0, 8.0, 9.0
"""The largest latency to the region of a match (column: a row of `Facts.venues`); the largest ping
(column: 3 * attribute + which pairs); by how many the hosts fall short of two (column: 0 =
`connect` or `network`, then `more_connect`). As terms, the first two are mean costs from `KNEE` to
`TOP` milliseconds, and the last costs 0, .4 and 1."""
WORDS_GAP, TONGUES_GAP, LISTED_GAP, HOME_GAP = 10.0, 11.0, 12.0, 13.0
"""Kinds of rules: 1 unless all words of a row are equal; 1 unless all sets of a row share an
element; the largest gap of a pair in a list of `Facts.listed`; the most players of one household
(column: 3 * row of `homes` + which pairs)."""
ENEMIES, MATES, ALL = 0, 1, 2
"""Which pairs of players are compared."""
KIND, WEIGHT, COLUMN, SHAPE, TOP, KNEE, STEP = range(7)
"""Columns of `Batch.terms` and `Facts.gaps`; shapes are those of `matching.pairs`."""

APART, NOT_MATES, NOT_ENEMIES, REACHES, REACHED = 1, 2, 4, 8, 16
"""Bits of `Pairs.flags[i, j]`: the pair may not be in one match, in one team, or in two teams; i
reaches j; j reaches i."""

OPEN, MODERATE, STRICT = 0, 1, 2
"""Codes of `Facts.network`: open connects with all, moderate with moderate."""


class Facts(NamedTuple):
    """The data on n players and on pairs of them.

    Args:
        values: Shape (columns, n): numbers as criteria compare them, caps and scales applied.
        gaps: Shape (g, 7), as `Batch.terms`: gaps averaged over all pairs of a match.
        ping: Shape (n, n): measured milliseconds, symmetric; or (0, 0).
        latency: Shape (n, regions): milliseconds to each region, inf = unknown; or (n, 0). Without
            `ping`, the ping of a pair is the least sum over the regions. The region of a match is
            one that all its players know: the one of least cost, or, if no cost is weighed, of
            least sum. Ties go to the least sum, then the least maximum, then the first. See
            `venues`.
        ping_scale: (best, worst) milliseconds: a pair costs ln(p / best) / ln(worst / best),
            clipped to [0, 1].
        ping_weights: (enemies, mates, all pairs, joint region): weight of the mean cost over the
            pairs of each kind; the last one over players, to the region that is best for the match.
        ping_max: Shape (2, n): the largest ping to an enemy, and to a mate, that each player
            accepts now; inf = any.
        region_max: Shape (n,): the largest latency to the region of a match that each player
            accepts now, inf = any. Two players without a region within both limits never meet.
        met: Shape (m, 4): one player, another, freshness in [0, 1] of their last meeting, and
            whether they were mates (1) or enemies (0); each pair once, none within a party.
        met_weight: Weight of the mean over all pairs; a meeting in the other relation counts half.
        words: Shape (w, n): codes of values that should be equal.
        words_weight: Shape (w,): weight of the share of pairs that differ; inf = must be equal.
        tongues: Shape (t, n): sets of at most 64 elements, as bits.
        tongues_weight: Shape (t,): weight of the share of pairs without a common element; inf =
            all players of the match must share one.
        avoid: Shape (a, 3): one player, another, flags (`APART`, `NOT_MATES`, `NOT_ENEMIES`).
        connect: Shape (n, n): whether i reaches j; or (0, 0).
        network: Shape (n,): codes of networks, if `connect` is empty; or (0,): all reach all.
        words_mind: Shape (w, n): whether a player now refuses other words of a row; or (0, 0).
        tongues_mind: Shape (t, n): the same for sets without a common element.
        more_latency: Shape (a, n, regions): `latency` by further attributes.
        more_ping: Shape (a, n, n): `ping` by further attributes; or (0, 0, 0).
        venues: Shape (v, 4): attribute; `best` and `worst` of the cost by which a region is chosen,
            where a `worst` of 0 means milliseconds; the largest latency that any wait allows, where
            a region beyond it counts as unknown to the player. Empty: by the first attribute, by
            `ping_scale` if `ping_weights` has a joint region, and at any distance.
        listed: Shape (l, 5): one player, another, number of a list, gap, which pairs count.
        homes: Shape (h, n, keys): codes of the keys that players share, by row; -1 = none.
        more_connect: Shape (c, n, n): `connect` by further attributes.
    """

    values: Floats
    gaps: Floats
    ping: Singles
    latency: Floats
    ping_scale: Floats
    ping_weights: Floats
    ping_max: Floats
    region_max: Floats
    met: Floats
    met_weight: float
    words: Ints
    words_weight: Floats
    tongues: NDArray[np.uint64]
    tongues_weight: Floats
    avoid: Ints
    connect: Flags
    network: Ints
    words_mind: Flags
    tongues_mind: Flags
    more_latency: Floats
    more_ping: Singles
    venues: Floats
    listed: Floats
    homes: Ints
    more_connect: Flags


class Pairs(NamedTuple):
    """The cost of each pair of players to a full match, weighted and divided by the pair count.

    Both costs of a pair are adjacent, so that a search touches one cache line for them. Flags are
    also in their last bits, which changes a cost by less than a millionth of it.

    Args:
        costs: Shape (n, n, 2), symmetric: the cost as enemies, then as mates. The last bits: of
            the first, may not be enemies (1), i reaches j (2), j reaches i (4); of the second, may
            not be mates (1).
        flags: Shape (n, n): bits, see above, and `REACHED`; symmetric except for the last two.
    """

    costs: Singles
    flags: Flags

    @property
    def enemies(self) -> Singles:
        """Return a view of shape (n, n): the cost of each pair in different teams."""
        return self.costs[:, :, 0]

    @property
    def mates(self) -> Singles:
        """Return a view of shape (n, n): the cost of each pair in one team."""
        return self.costs[:, :, 1]


class Batch(NamedTuple):
    """Parties to be divided into matches.

    Args:
        seats: Shape (teams,): players per team.
        seats_min: Shape (teams,): fewest players per team.
        first: Shape (parties + 1,): the first player of each party; the last entry is n.
        facts: The data on players and pairs.
        terms: Shape (d, 7): comparisons of teams and ranges, see `KIND` and the names after it;
            a column is a row of `facts.values`.
        parity: Weight of the party structure: .6 x + .4 x^2, x = L1 distance of the teams' sorted
            party sizes / 2 / (seats - 1).
        hosts: Shape (3,): weighted cost of a match with no, one, two or more players who reach all.
        fullness: Weight of free seats / (most - fewest).
        role_seats: Shape (roles,): seats of each role in each team; or (0,).
        role_cost: Shape (n, roles): weighted cost of a player in a role, already divided by the
            players of a full match; inf = the player does not take it.
        rules: Shape (q, 3): (kind, column, accept): a match whose gap of this kind (no scale)
            exceeds what its players accept is not legal; accept 0 = all must, 1 = one must.
        tolerances: Shape (q, n): the largest gap of each rule that each player accepts now.
        worth: Shape (n,): quality (1 = a perfect match) gained by seating this player (more for a
            longer wait); zeros if all are equal.
        rank_share: The cost by `role_cost` of a match whose players all get their last choice.
        sides: Shape (n,): the team that each player insists on, -1 = any; or (0,): teams have no
            names, and those with equal seats are interchangeable.
    """

    seats: Ints
    seats_min: Ints
    first: Ints
    facts: Facts
    terms: Floats
    parity: float
    hosts: Floats
    fullness: float
    role_seats: Ints
    role_cost: Singles
    rules: Floats
    tolerances: Floats
    worth: Floats
    rank_share: float
    sides: Ints

    @property
    def players(self) -> int:
        """Return the number of players."""
        return int(self.first[-1])

    @property
    def k(self) -> int:
        """Return the number of seats of a full match."""
        return int(self.seats.sum())

    @property
    def matches_most(self) -> int:
        """Return how many full matches the players could make, ignoring parties."""
        return self.players // self.k


class Plan(NamedTuple):
    """Matches found for a batch.

    Args:
        seating: Shape (matches, k): players team by team; -1 = a free seat.
        quality: Shape (matches,): 1 - cost.
        legal: Shape (matches,): whether the match breaks no hard rule.
        evaluations: Matches evaluated by the search, a measure of effort.
    """

    seating: Places
    quality: Floats
    legal: NDArray[np.bool_]
    evaluations: int


def empty_facts(players: int) -> Facts:
    """Return facts without any data on players, to be filled in with `_replace`."""
    nothing = np.zeros((0, players))
    return Facts(
        values=nothing,
        gaps=np.zeros((0, 7)),
        ping=np.zeros((0, 0), dtype=np.float32),
        latency=np.zeros((players, 0)),
        ping_scale=np.array([25.0, 400.0]),
        ping_weights=np.zeros(4),
        ping_max=np.full((2, players), np.inf),
        region_max=np.full(players, np.inf),
        met=np.zeros((0, 4)),
        met_weight=0.0,
        words=np.zeros((0, players), dtype=np.int64),
        words_weight=np.zeros(0),
        tongues=np.zeros((0, players), dtype=np.uint64),
        tongues_weight=np.zeros(0),
        avoid=np.zeros((0, 3), dtype=np.int64),
        connect=np.zeros((0, 0), dtype=np.uint8),
        network=np.zeros(0, dtype=np.int64),
        words_mind=np.zeros((0, 0), dtype=np.uint8),
        tongues_mind=np.zeros((0, 0), dtype=np.uint8),
        more_latency=np.zeros((0, players, 0)),
        more_ping=np.zeros((0, 0, 0), dtype=np.float32),
        venues=np.zeros((0, 4)),
        listed=np.zeros((0, 5)),
        homes=np.zeros((0, players, 0), dtype=np.int64),
        more_connect=np.zeros((0, players, players), dtype=np.uint8),
    )


def empty_batch(seats: Ints, first: Ints, facts: Facts) -> Batch:
    """Return a batch without terms or rules, to be filled in with `_replace`."""
    players = int(first[-1])
    return Batch(
        seats=seats,
        seats_min=seats.copy(),
        first=first,
        facts=facts,
        terms=np.zeros((0, 7)),
        parity=0.0,
        hosts=np.zeros(3),
        fullness=0.0,
        role_seats=np.zeros(0, dtype=np.int64),
        role_cost=np.zeros((players, 0), dtype=np.float32),
        rules=np.zeros((0, 3)),
        tolerances=np.zeros((0, players)),
        worth=np.zeros(players),
        rank_share=0.0,
        sides=np.zeros(0, dtype=np.int64),
    )


# The facts that rules and criteria beyond numbers compare, as kernels read them.


@record(
    "float64[:,:,::1], float32[:,:,::1], int64[::1], float64[:,:,::1], int64[::1], "
    "int64[:,::1], float64[::1], int64[:,:,::1], uint8[:,:,::1], int64[::1], int64[:,::1]"
)
class MatchFacts(NamedTuple):
    """Facts that evaluations look up match by match.

    Args:
        latencies: Shape (attributes, n, regions): milliseconds, inf = unknown.
        pings: `Facts.more_ping`.
        venue_of: Shape (venues,): the attribute of each.
        region_costs: Shape (venues, n, regions): the cost, or milliseconds, by which a match's
            region is chosen; inf = unknown, or always too far.
        listed_first: Shape (n + 1,): where each player's entries begin.
        listed: Shape (3, l): the other player, the list, which pairs count.
        listed_gaps: Shape (l,).
        homes: `Facts.homes`, and likewise `more_connect`.
        sides: `Batch.sides`.
        steps: Shape (states, roles): the state of a team after a player took a role, -1 = full.
    """

    latencies: Floats
    pings: Singles
    venue_of: Ints
    region_costs: Floats
    listed_first: Ints
    listed: Ints
    listed_gaps: Floats
    homes: Ints
    more_connect: Flags
    sides: Ints
    steps: Ints


def others_of(batch: Batch) -> MatchFacts:
    """Return the facts that kernels need beside `Measures`."""
    facts = batch.facts
    latencies = _latencies(facts)
    venues = venues_of(facts)
    costs = [venue_costs(latencies[int(of)], *scale) for of, *scale in venues]
    return MatchFacts(
        latencies,
        np.ascontiguousarray(facts.more_ping, dtype=np.float32),
        np.array([venue[0] for venue in venues], dtype=np.int64),
        np.ascontiguousarray(costs, dtype=np.float64).reshape(len(venues), *latencies.shape[1:]),
        *_by_player(facts),
        np.ascontiguousarray(facts.homes, dtype=np.int64),
        np.ascontiguousarray(facts.more_connect, dtype=np.uint8),
        np.ascontiguousarray(batch.sides, dtype=np.int64),
        _steps(batch.role_seats),
    )


def venues_of(facts: Facts) -> list[tuple[float, float, float, float]]:
    """Return attribute, best, worst and largest latency by which regions are chosen."""
    if len(facts.venues):
        return [(row[0], row[1], row[2], row[3]) for row in facts.venues.tolist()]
    best, worst = (float(ms) for ms in facts.ping_scale)
    return [(0.0, *((best, worst) if facts.ping_weights[3] else (0.0, 0.0)), math.inf)]


def venue_costs(ms: Floats, best: float, worst: float, furthest: float) -> Floats:
    """Return the cost, or milliseconds, by which a region is chosen; any shape."""
    costs: Floats = ms
    if worst != 0.0:
        costs = np.clip(np.log(np.clip(ms, best, worst) / best) / math.log(worst / best), 0.0, 1.0)
    return np.where(np.isfinite(ms) & (ms <= furthest), costs, np.inf)


def _latencies(facts: Facts) -> Floats:
    """Return the latencies by all attributes, concatenated."""
    own = facts.latency
    found = np.full(
        (
            1 + len(facts.more_latency),
            len(own),
            max(own.shape[1], facts.more_latency.shape[2]),
        ),
        np.inf,
    )
    found[0, :, : own.shape[1]] = own
    found[1:, :, : facts.more_latency.shape[2]] = facts.more_latency
    return found


def _by_player(facts: Facts) -> tuple[Ints, Ints, Floats]:
    """Return the entries of lists at both of their ends, in the order of the players."""
    rows = facts.listed
    ends = np.concatenate((rows[:, 0], rows[:, 1])).astype(np.int64)
    others = np.concatenate((rows[:, 1], rows[:, 0]))
    order = np.argsort(ends, kind="stable")
    first: Ints = np.zeros(len(facts.latency) + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=len(first) - 1), out=first[1:])
    table = np.vstack((others, np.tile(rows[:, 2], 2), np.tile(rows[:, 4], 2)))[:, order]
    return first, np.ascontiguousarray(table, dtype=np.int64), np.tile(rows[:, 3], 2)[order]


def _steps(role_seats: Ints) -> Ints:
    """Return the state that each role leads to from each state of a team, by seats taken."""
    sizes = [int(seats) + 1 for seats in role_seats]
    states = math.prod(sizes)
    steps = np.full((states, len(sizes)), -1, dtype=np.int64)
    stride = 1
    for role, size in enumerate(sizes):
        taken = np.arange(states) // stride % size
        steps[:, role] = np.where(taken < size - 1, np.arange(states) + stride, -1)
        stride *= size
    return steps
