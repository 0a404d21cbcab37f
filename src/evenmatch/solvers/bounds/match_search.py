"""The search for matches from one root, see `match_lists` for its bounds."""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.bounds.match_lists import least_sums, sort_list, strike
from evenmatch.solvers.bounds.match_rest import REST, RestTuple, rest_cost
from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.teams.batch import Floats, Ints

_MATRIX = "float64[:,::1]"
_VECTOR = "float64[::1]"
_INTS = "int64[::1]"
_TABLES = f"Tuple(({_MATRIX}, {_MATRIX}, {_VECTOR}, {_INTS}, int64[:,::1], {_INTS}))"
_SUMS = "UniTuple(float64[:,:,::1], 2)"
_LISTS = (
    f"Tuple((int64[:,::1], {_MATRIX}, float64[:,:,::1], {_INTS}, {_VECTOR}, int64[:,::1], {_INTS}))"
)

Tables = tuple[Floats, Floats, Floats, Ints, Ints, Ints]
"""Costs of mates and of enemies as in `PartyCosts`; what seating a party takes from a match, its
own cost and its price; how many players it has; which, shape (parties, largest); players of each
team."""
Sums = tuple[Floats, Floats]
"""Least sums with mates and with enemies, shape (levels, parties, seats + 1), see `least_sums`; row
0 is made for all parties, row d for the present list of depth d."""
Lists = tuple[Ints, Floats, Floats, Ints, Floats, Ints, Ints]
"""Row d belongs to the node with d parties: the parties that may come next, what a match with each
of them is worth at most, what each adds by team, how many there are; the worth of the match so far,
its free seats by team, and the row of the least sums that was made for a list with all of these."""


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


@kernel(f"float64({REST}, {_TABLES}, {_INTS}, {_INTS}, int64)")
def _rest(rest: RestTuple, tables: Tables, parties: Ints, label: Ints, count: int) -> float:
    """Return the rest of the cost of a match given by parties and their teams."""
    _, _, _, sizes, members, teams = tables
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
    return rest_cost(rest, players, team, own, label[:count], len(teams))


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
        at = int(np.argmin(worths[:count]))
        if worth <= worths[at]:
            return count
    found[at], worths[at] = row, worth
    return count


@kernel(f"int64({_TABLES}, {_LISTS}, int64, int64, int64)")
def _list_rest(tables: Tables, lists: Lists, depth: int, at: int, team: int) -> int:
    """Fill the list below with what comes after a party once that is placed; return its length."""
    mates, enemies, _, sizes, _, teams = tables
    listed, _, scores, counts, _, free, _ = lists
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


@kernel(f"int64({_TABLES}, {_LISTS}, {_SUMS}, int64, int64, int64, float64)")
def _branch(
    tables: Tables, lists: Lists, sums: Sums, depth: int, at: int, team: int, limit: float
) -> int:
    """Fill the list of the branch that places a party in a team; return the numbers looked at."""
    mates, enemies, _, sizes, _, teams = tables
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
        # Only one party is missing: each on the list ends the match.
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


@kernel(f"{_LISTS}({_TABLES}, {_INTS}, int64, float64)")
def _start(tables: Tables, order: Ints, depth_most: int, base: float) -> Lists:
    """Return the lists of a search: in row 0 the root, and all that may come after it."""
    _, _, own, _, _, teams = tables
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
    return listed, most, scores, counts, values, free, levels


@kernel(f"float64({_LISTS}, {_INTS}, int64)")
def _unseen(lists: Lists, at: Ints, depth: int) -> float:
    """Return what a match in the branches not yet made is worth at most."""
    top = -np.inf
    for d in range(depth + 1):
        if at[d] < lists[3][d]:
            top = max(top, lists[1][d, at[d]])
    return top


@kernel(
    f"UniTuple(float64, 2)({REST}, {_TABLES}, {_SUMS}, {_INTS}, int64, int64, float64, float64,"
    f" float64, int64[:,::1], {_VECTOR}, {_INTS})"
)
def search_root(
    rest: RestTuple,
    tables: Tables,
    sums: Sums,
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
    """Find the best matches of one root; return what any is worth at most, and the effort used.

    Args:
        rest: The fields of `Rest`.
        tables: See `Tables`.
        sums: See `Sums`; row 0 is filled.
        order: All parties in the order of roots.
        root: Place of this root in it.
        root_team: The team that the root is in.
        base: What a match without any cost or price is worth.
        limit: Only matches worth more than this are looked for.
        effort: Numbers that may be looked at.
        found: Shape (room, 2 * most parties): filled with the best matches, see `_record`.
        worths: Shape (room,): filled with their worths.
        kept: Shape (1,): filled with how many there are.

    Complexity:
        Exponential in the parties of a match at worst.
    """
    depth_most, teams = found.shape[1] // 2, len(tables[5])
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
        is_open = may_open(free[depth], tables[5], t, tables[3][i])
        if not (is_open and scores[depth, t, p] > -np.inf):
            continue
        parties[depth], label[depth] = i, t
        spent += _branch(tables, lists, sums, depth, p, t, limit)
        if free[depth + 1].sum() > 0:
            depth += 1
            at[depth] = team[depth] = 0
        elif values[depth + 1] > limit:
            worth = values[depth + 1] - _rest(rest, tables, parties, label, depth + 1)
            if worth > limit:
                top = max(top, worth)
                kept[0] = _record(found, worths, kept[0], parties, label, depth + 1, worth)
                if kept[0] == len(worths):
                    limit = max(limit, worths.min())
    return top, spent
