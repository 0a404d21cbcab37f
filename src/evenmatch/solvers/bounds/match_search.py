"""The search for matches from one root, see `match_lists` for its bounds."""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.batch.batch import Flags, Floats, Ints
from evenmatch.solvers.bounds.match_lists import least_sums, sort_list, strike
from evenmatch.solvers.bounds.match_rest import REST, rest_cost
from evenmatch.solvers.kernel import kernel

_MATRIX = "float64[:,::1]"
_VECTOR = "float64[::1]"
_INTS = "int64[::1]"


@kernel(f"int64({_INTS}, {_INTS}, int64, int64)", inline=True)
def may_open(free: Ints, seats: Ints, t: int, size: int) -> int:
    """Return whether a party may go to a team: of equal empty teams only to the first."""
    if size > free[t]:
        return 0
    if free[t] == seats[t]:
        for other in range(t):
            if seats[other] == seats[t] and free[other] == seats[other]:
                return 0
    return 1


@kernel(
    f"float64({REST}, {_INTS}, int64[:,::1], {_INTS}, {_INTS}, int64, int64)",
)
def _rest(
    values: Floats,
    terms: Floats,
    rules: Floats,
    reach: Floats,
    links: Flags,
    regions: Floats,
    numbers: Floats,
    sizes: Ints,
    members: Ints,
    parties: Ints,
    label: Ints,
    count: int,
    teams: int,
) -> float:
    """Return the rest of the cost of a match given by parties and their teams."""
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
    return rest_cost(
        values, terms, rules, reach, links, regions, numbers, players, team, own, label[:count],
        teams,
    )  # fmt: skip


@kernel(f"int64(int64[:,::1], {_VECTOR}, int64, {_INTS}, {_INTS}, int64, float64)")
def _record(
    found: Ints, worths: Floats, count: int, parties: Ints, label: Ints, length: int, worth: float
) -> int:
    """Keep a match if it is among the best or there is room; return how many are kept.

    A row is the parties, -1 where there are fewer, then their teams; the same parties in better
    teams replace themselves.
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
        at = np.argmin(worths[:count])
        if worth <= worths[at]:
            return count
    found[at], worths[at] = row, worth
    return count


_TABLES = f"{_MATRIX}, {_MATRIX}, {_VECTOR}, {_INTS}, int64[:,::1], {_INTS}"
_LISTS = f"int64[:,::1], {_MATRIX}, float64[:,:,::1], {_INTS}, {_VECTOR}, int64[:,::1], {_INTS}"
_SUMS = "float64[:,:,::1], float64[:,:,::1]"


@kernel(f"int64({_TABLES}, {_LISTS}, {_SUMS}, int64, int64, int64, float64)")
def _branch(
    mates: Floats,
    enemies: Floats,
    own: Floats,
    sizes: Ints,
    members: Ints,
    teams: Ints,
    listed: Ints,
    most: Floats,
    scores: Floats,
    counts: Ints,
    values: Floats,
    free: Ints,
    levels: Ints,
    by_mates: Floats,
    by_enemies: Floats,
    depth: int,
    at: int,
    team: int,
    limit: float,
) -> int:
    """Fill the list of the branch that places a party in a team; return the numbers looked at.

    Row d of the lists belongs to the node with d parties. `levels` says which of the least sums
    were made for a list that contains the node's.
    """
    below = depth + 1
    i, kept, seats = listed[depth, at], 0, 0
    for t in range(len(teams)):
        free[below, t] = free[depth, t] - (sizes[i] if t == team else 0)
        seats += free[below, t]
    values[below] = values[depth] + scores[depth, team, at]
    levels[below] = levels[depth]
    counts[below] = 0
    if seats == 0:
        return 1
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
    looked = counts[depth] - at
    if seats == 1:
        # Only one party is missing: each on the list ends the match.
        for b in range(kept):
            most[below, b] = np.inf
        counts[below] = kept
        return looked
    rounds = 1
    if seats > 2 and below < by_mates.shape[0]:
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


@kernel(
    f"UniTuple(float64, 2)({REST}, {_TABLES}, {_INTS}, int64, int64, float64, float64, float64,"
    f" {_SUMS}, int64[:,::1], {_VECTOR}, {_INTS})"
)
def search_root(
    values_: Floats,
    terms: Floats,
    rules: Floats,
    reach: Floats,
    links: Flags,
    regions: Floats,
    numbers: Floats,
    mates: Floats,
    enemies: Floats,
    own: Floats,
    sizes: Ints,
    members: Ints,
    teams: Ints,
    order: Ints,
    root: int,
    root_team: int,
    base: float,
    limit: float,
    effort: float,
    by_mates: Floats,
    by_enemies: Floats,
    found: Ints,
    worths: Floats,
    kept: Ints,
) -> tuple[float, float]:
    """Find the best matches of one root.

    Args:
        values_: This and the next six: the fields of `Rest`.
        terms: See there.
        rules: See there.
        reach: See there.
        links: See there.
        regions: See there.
        numbers: See there.
        mates: As in `PartyCosts`.
        enemies: As in `PartyCosts`.
        own: What seating a party takes from a match: its own cost and its price.
        sizes: Players of each party.
        members: Shape (parties, largest): the players of each party.
        teams: Players of each team.
        order: All parties in the order of roots.
        root: Place of this root in it.
        root_team: The team that the root is in.
        base: What a match without any cost or price is worth.
        limit: Only matches worth more than this are looked for.
        effort: Numbers that may be looked at.
        by_mates: Shape (levels, parties, seats + 1): row 0 holds the least sums of all parties.
        by_enemies: The same for enemies.
        found: Shape (room, 2 * most parties): filled with the best matches, see `_record`.
        worths: Shape (room,): filled with their worths.
        kept: Shape (1,): filled with how many there are.

    Returns:
        What any match of this root is worth at most, and the numbers looked at.

    Complexity:
        Exponential in the parties of a match at worst; the bounds keep it practical for six to
        eight players.
    """
    count, depth_most = len(order) - root, found.shape[1] // 2
    listed = np.zeros((depth_most + 1, count), dtype=np.int64)
    most = np.full((depth_most + 1, count), np.inf)
    scores = np.zeros((depth_most + 1, len(teams), count))
    counts = np.zeros(depth_most + 1, dtype=np.int64)
    values = np.full(depth_most + 1, base)
    free = np.zeros((depth_most + 1, len(teams)), dtype=np.int64)
    levels = np.zeros(depth_most + 1, dtype=np.int64)
    parties = np.zeros(depth_most, dtype=np.int64)
    label = np.zeros(depth_most, dtype=np.int64)
    at = np.zeros(depth_most + 1, dtype=np.int64)
    team = np.zeros(depth_most + 1, dtype=np.int64)
    listed[0], counts[0], free[0] = order[root:], count, teams
    for a in range(count):
        scores[0, :, a] = -own[order[root + a]]
    depth, spent, top, kept[0], team[0] = 0, 0.0, limit, 0, root_team
    while depth >= 0:
        p, t = at[depth], team[depth]
        if p >= counts[depth] or not most[depth, p] > limit:
            depth -= 1
            continue
        if spent > effort:
            for d in range(depth + 1):
                if at[d] < counts[d]:
                    top = max(top, most[d, at[d]])
            break
        at[depth], team[depth] = (p, t + 1) if t + 1 < len(teams) else (p + 1, 0)
        if depth == 0:
            at[0] = count
        i = listed[depth, p]
        if not (scores[depth, t, p] > -np.inf and may_open(free[depth], teams, t, sizes[i])):
            continue
        parties[depth], label[depth] = i, t
        spent += _branch(
            mates, enemies, own, sizes, members, teams, listed, most, scores, counts, values,
            free, levels, by_mates, by_enemies, depth, p, t, limit,
        )  # fmt: skip
        depth += 1
        at[depth] = team[depth] = 0
        if free[depth].sum() == 0:
            depth -= 1
            if values[depth + 1] > limit:
                worth = values[depth + 1] - _rest(
                    values_, terms, rules, reach, links, regions, numbers, sizes, members,
                    parties, label, depth + 1, len(teams),
                )  # fmt: skip
                if worth > limit:
                    top = max(top, worth)
                    kept[0] = _record(found, worths, kept[0], parties, label, depth + 1, worth)
                    if kept[0] == len(worths):
                        limit = max(limit, worths.min())
    return top, spent
