"""The search for matches from one root; see `match_lists` for its bounds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenmatch.solvers.bounds.match_lists import least_sums, sort_list, strike
from evenmatch.solvers.bounds.whole_match_costs import WholeMatchCosts, cost_beyond_pairs
from evenmatch.solvers.kernel import kernel, record
from evenmatch.solvers.teams.batch import Floats, Ints

WHOLE = 40.0
"""Numbers that judging a whole match counts as: it takes as long as examining so many."""
_VECTOR = "float64[::1]"
_INTS = "int64[::1]"


@record("float64[:,::1], float64[:,::1], float64[::1], int64[::1], int64[:,::1], int64[::1]")
class PricedParties(NamedTuple):
    """The costs and prices of parties in a match.

    Args:
        mates: Costs of mates, as in `PartyCosts`.
        enemies: Costs of enemies.
        own: Shape (parties,): own cost plus price of each party.
        sizes: Shape (parties,): players of each party.
        members: Shape (parties, largest): the players of each party.
        teams: Shape (teams,): players of each team.
    """

    mates: Floats
    enemies: Floats
    own: Floats
    sizes: Ints
    members: Ints
    teams: Ints


@record("float64[:,:,::1], float64[:,:,::1]")
class LeastSums(NamedTuple):
    """Least sums with mates and with enemies, see `least_sums`.

    Args:
        mates: Shape (levels, parties, seats + 1); row 0 is computed over all parties, row d over
            the present list of depth d.
        enemies: The same.
    """

    mates: Floats
    enemies: Floats


@record(
    "int64[:,::1], float64[:,::1], float64[:,:,::1], int64[::1], float64[::1], int64[:,::1], "
    "int64[::1]"
)
class MatchLists(NamedTuple):
    """The parties that may come next, by depth: row d belongs to the node with d parties.

    Args:
        listed: The parties that may come next.
        most: Upper bound on the worth of a match with each of them.
        scores: Change of the worth by each, by team.
        counts: Number of parties on the list.
        values: Worth of the match so far.
        free: Its free seats by team.
        levels: The row of the least sums computed over a list that contains all of these.
    """

    listed: Ints
    most: Floats
    scores: Floats
    counts: Ints
    values: Floats
    free: Ints
    levels: Ints


@kernel(f"int64({_INTS}, {_INTS}, int64, int64)", inline=True)
def may_open(free: Ints, seats: Ints, t: int, size: int) -> int:
    """Return whether a party may join a team: of equal empty teams, only the first."""
    if size > free[t]:
        return 0
    if free[t] == seats[t]:
        for other in range(t):
            if seats[other] == seats[t] and free[other] == seats[other]:
                return 0
    return 1


@kernel(f"float64(WholeMatchCosts, PricedParties, {_INTS}, {_INTS}, int64)")
def cost_beyond_pairs_of(
    whole: WholeMatchCosts, tables: PricedParties, parties: Ints, label: Ints, count: int
) -> float:
    """Return the cost of a match beyond its pairs, from its parties and their teams."""
    sizes, members, teams = tables.sizes, tables.members, tables.teams
    total = 0
    for a in range(count):
        total += sizes[parties[a]]
    players = np.zeros(total, dtype=np.int64)
    team = np.zeros(total, dtype=np.int64)
    own = np.zeros(count, dtype=np.int64)
    at = 0
    for a in range(count):
        own[a] = sizes[parties[a]]
        for m in range(own[a]):
            players[at], team[at] = members[parties[a], m], label[a]
            at += 1
    return cost_beyond_pairs(whole, players, team, own, label[:count], len(teams))


@kernel(f"int64(int64[:,::1], {_VECTOR}, int64, {_INTS}, {_INTS}, int64, float64)")
def record_match(
    found: Ints, worths: Floats, count: int, parties: Ints, label: Ints, length: int, worth: float
) -> int:
    """Store a match if it is among the best or there is room; return how many are stored.

    A row holds the parties, -1 where there are fewer, then their teams; the same parties in better
    teams replace the older row.
    """
    width = found.shape[1] // 2
    row = np.full(2 * width, -1, dtype=np.int64)
    order = np.argsort(parties[:length], kind="mergesort")
    for a in range(length):
        row[a], row[width + a] = parties[order[a]], label[order[a]]
    at = -1
    for c in range(count - 1, max(-1, count - 65), -1):
        same = True
        for a in range(width):
            if found[c, a] != row[a]:
                same = False
                break
        if same:
            if worth > worths[c]:
                found[c], worths[c] = row, worth
            return count
    if count < found.shape[0]:
        at = count
        count += 1
    else:
        at = int(np.argmin(worths[:count]))
        if worth <= worths[at]:
            return count
    found[at], worths[at] = row, worth
    return count


@kernel("int64(PricedParties, MatchLists, int64, int64, int64)")
def _list_rest(tables: PricedParties, lists: MatchLists, depth: int, at: int, team: int) -> int:
    """Fill the list below with the parties after the one just placed; return its length."""
    mates, enemies, sizes, teams = tables.mates, tables.enemies, tables.sizes, tables.teams
    listed, scores, counts, free = lists.listed, lists.scores, lists.counts, lists.free
    below, i, kept = depth + 1, listed[depth, at], 0
    for b in range(at + 1, counts[depth]):
        j = listed[depth, b]
        fits = False
        for t in range(len(teams)):
            score = -np.inf
            if sizes[j] <= free[below, t]:
                score = scores[depth, t, b]
                score -= mates[i, j] if t == team else enemies[i, j]
                fits = fits or score > -np.inf
            scores[below, t, kept] = score
        if fits:
            listed[below, kept] = j
            kept += 1
    return kept


@kernel("int64(PricedParties, MatchLists, LeastSums, int64, int64, int64, float64)")
def _branch(
    tables: PricedParties,
    lists: MatchLists,
    sums: LeastSums,
    depth: int,
    at: int,
    team: int,
    limit: float,
) -> int:
    """Fill the list of the branch that places a party in a team; return the numbers examined."""
    mates, enemies, sizes, teams = tables.mates, tables.enemies, tables.sizes, tables.teams
    listed, most, scores, counts, values, free, levels = lists
    by_mates, by_enemies = sums
    below, seats = depth + 1, 0
    for t in range(len(teams)):
        free[below, t] = free[depth, t] - (sizes[listed[depth, at]] if t == team else 0)
        seats += free[below, t]
    values[below] = values[depth] + scores[depth, team, at]
    levels[below] = levels[depth]
    counts[below] = 0
    if seats == 0:
        return 1
    kept = _list_rest(tables, lists, depth, at, team)
    looked = counts[depth] - at
    rounds = 1
    if seats == 1:
        # Only one party is missing: each one on the list completes the match.
        rounds = 0
        for b in range(kept):
            most[below, b] = -np.inf
            for t in range(len(teams)):
                most[below, b] = max(most[below, b], values[below] + scores[below, t, b])
    elif seats > 2 and below < by_mates.shape[0]:
        rounds = 4 if below == 1 else 2
    for r in range(rounds):
        if r:
            looked += kept * kept
            levels[below] = below
            room = by_mates.shape[2] - 1
            least_sums(mates, sizes, listed[below], kept, room, by_mates[below])
            least_sums(enemies, sizes, listed[below], kept, room, by_enemies[below])
        kept = strike(
            values[below], listed[below], scores[below], kept, free[below], sizes,
            by_mates[levels[below]], by_enemies[levels[below]], limit, most[below],
        )  # fmt: skip
    sort_list(listed[below], scores[below], most[below], kept)
    counts[below] = kept
    return looked


@kernel(f"MatchLists(PricedParties, {_INTS}, int64, float64)")
def _start(tables: PricedParties, order: Ints, depth_most: int, base: float) -> MatchLists:
    """Return the lists of a search: in row 0 the root, and all that may follow it."""
    own, teams = tables.own, tables.teams
    count = len(order)
    listed = np.zeros((depth_most + 1, count), dtype=np.int64)
    most = np.full((depth_most + 1, count), np.inf)
    scores = np.zeros((depth_most + 1, len(teams), count))
    counts = np.zeros(depth_most + 1, dtype=np.int64)
    values = np.full(depth_most + 1, base)
    free = np.zeros((depth_most + 1, len(teams)), dtype=np.int64)
    levels = np.zeros(depth_most + 1, dtype=np.int64)
    listed[0], counts[0], free[0] = order, count, teams
    for a in range(count):
        scores[0, :, a] = -own[order[a]]
    return MatchLists(listed, most, scores, counts, values, free, levels)


@kernel(f"float64(MatchLists, {_INTS}, int64)")
def _unseen(lists: MatchLists, at: Ints, depth: int) -> float:
    """Return an upper bound on the worth of a match in the branches not yet made."""
    top = -np.inf
    for d in range(depth + 1):
        if at[d] < lists.counts[d]:
            top = max(top, lists.most[d, at[d]])
    return top


@kernel(
    f"UniTuple(float64, 2)(WholeMatchCosts, PricedParties, LeastSums, {_INTS}, int64, int64,"
    f" float64, float64, float64, int64[:,::1], {_VECTOR}, {_INTS})"
)
def search_root(
    whole: WholeMatchCosts,
    tables: PricedParties,
    sums: LeastSums,
    order: Ints,
    root: int,
    root_team: int,
    base: float,
    limit: float,
    effort: float,
    found: Ints,
    worths: Floats,
    kept: Ints,
) -> tuple[float, float]:
    """Find the best matches of one root; return a bound on the worth of any, and the effort used.

    Args:
        whole: See `WholeMatchCosts`.
        tables: See `PricedParties`.
        sums: See `LeastSums`; row 0 is filled.
        order: All parties in the order of roots.
        root: Index of this root in that order.
        root_team: The team of the root.
        base: Worth of a match without any cost or price.
        limit: Only matches worth more than this are searched for.
        effort: Numbers that may be examined.
        found: Shape (room, 2 * most parties): filled with the best matches, see `record_match`.
        worths: Shape (room,): filled with their worths.
        kept: Shape (1,): set to their number.

    Complexity:
        Exponential in the parties of a match in the worst case.
    """
    depth_most, teams = found.shape[1] // 2, len(tables.teams)
    lists = _start(tables, order[root:], depth_most, base)
    listed, most, scores, counts, values, free, _ = lists
    at, team = np.zeros(depth_most + 1, dtype=np.int64), np.zeros(depth_most + 1, dtype=np.int64)
    parties, label = np.zeros(depth_most, dtype=np.int64), np.zeros(depth_most, dtype=np.int64)
    depth, spent, top, kept[0], team[0] = 0, 0.0, limit, 0, root_team
    while depth >= 0:
        p, t = at[depth], team[depth]
        if p >= counts[depth] or not most[depth, p] > limit:
            depth -= 1
            continue
        if spent > effort:
            return max(top, _unseen(lists, at, depth)), spent
        at[depth], team[depth] = (p, t + 1) if t + 1 < teams else (p + 1, 0)
        at[0] = counts[0]
        i = listed[depth, p]
        is_open = may_open(free[depth], tables.teams, t, tables.sizes[i])
        if not (is_open and scores[depth, t, p] > -np.inf):
            continue
        parties[depth], label[depth] = i, t
        spent += _branch(tables, lists, sums, depth, p, t, limit)
        if free[depth + 1].sum() > 0:
            depth += 1
            at[depth] = team[depth] = 0
        elif values[depth + 1] > limit:
            spent += WHOLE
            worth = values[depth + 1] - cost_beyond_pairs_of(
                whole, tables, parties, label, depth + 1
            )
            if worth > limit:
                top = max(top, worth)
                kept[0] = record_match(found, worths, kept[0], parties, label, depth + 1, worth)
                if kept[0] == len(worths):
                    limit = max(limit, worths.min())
    return top, spent
