"""Good matches under prices, found by local search: many in little time, without a guarantee.

A known match is shaken: one or two parties of a team make room for others drawn at random. Then
one place after the other gets the party that makes the match worth most, until no place can be
improved. Each match on the way that is worth more than a limit is kept. A thousand climbs take
about as long as an exact search for one root (`match_search`), so climbs find the prices, and the
exact search completes the proof.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from evenmatch.solvers.bounds.match_pricing import (
    PricedMatches,
    Pricing,
    always,
    join_results,
    roots_of,
)
from evenmatch.solvers.bounds.match_search import PricedParties, cost_beyond_pairs_of
from evenmatch.solvers.bounds.whole_match_costs import WholeMatchCosts
from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.teams.batch import Floats, Ints

_VECTOR = "float64[::1]"
_INTS = "int64[::1]"
MODULUS = 2**31 - 1
GAIN = 1e-9
"""Least improvement for which a climb continues."""
DRAWS = 24
"""Parties drawn to fill the seats of a team after a shake."""
TRIES = 3
"""Parties evaluated in full for one place, in the order that the tables suggest."""
SCANNED = 0.25
"""Cost of a number that climbs examine, relative to one of an exact search."""
ROOM = 4096
"""Rows for the finds of climbs under the same prices."""


class Climbs(NamedTuple):
    """The parameters of climbs.

    Args:
        parties: Shape (matches, most): matches to begin from, -1 where there are fewer parties.
        label: Their teams.
        limit: Matches worth no more than this are not kept.
        shakes: Climbs from each match.
        chance: Shape (1,): state of the random generator, in 1..2^31 - 2.
        keep_going: Called before the climbs from each match; False ends them.
    """

    parties: Ints
    label: Ints
    limit: float
    shakes: int
    chance: Ints
    keep_going: Callable[[], bool] = always


def climb(pricing: Pricing, prices: Floats, climbs: Climbs) -> PricedMatches:
    """Return good matches under prices; `tops` hold only for the matches found.

    Args:
        pricing: The batch.
        prices: Price of each party.
        climbs: The starts and limits.

    Complexity:
        See `climb_matches`.
    """
    tops = np.full(len(prices), -np.inf)
    out: list[tuple[Ints, Floats, int]] = []
    spent = 0.0
    seats = np.append(pricing.sizes, 0)[climbs.parties]
    for f, form in enumerate(pricing.tables):
        width, own = int(form.teams.sum()), form.own + prices
        filled = [(seats * (climbs.label == team)).sum(axis=1) for team in range(len(form.teams))]
        starts = np.flatnonzero((form.teams == np.array(filled).T).all(axis=1))
        tables = PricedParties(
            form.mates, form.enemies, own, pricing.sizes, pricing.members, form.teams
        )
        found = np.full((ROOM, 2 * width), -1, dtype=np.int64)
        worths = np.full(ROOM, -np.inf)
        parties = np.ascontiguousarray(climbs.parties[starts, :width])
        label = np.ascontiguousarray(climbs.label[starts, :width])
        for at in range(len(starts)):
            if not climbs.keep_going():
                break
            spent += climb_matches(
                pricing.whole, tables, parties[at : at + 1], label[at : at + 1], climbs.shakes,
                1.0 - form.fixed, climbs.limit, climbs.chance, found, worths,
            )  # fmt: skip
        kept = np.flatnonzero(worths > -np.inf)
        found, worths = found[kept], worths[kept]
        # The last rank belongs to no root; it pads matches of fewer parties.
        rank = np.append(np.argsort(roots_of(own)), len(own))
        roots = roots_of(own)[rank[found[:, :width]].min(axis=1)]
        np.maximum.at(tops, roots, worths)
        out.append((found, worths, f))
    return join_results(pricing, out, tops, spent, is_complete=False)


@kernel(f"int64({_INTS}, int64)")
def _below(chance: Ints, count: int) -> int:
    """Return a random number below a count (Park and Miller, 1988)."""
    chance[0] = chance[0] * 48271 % MODULUS
    return int(chance[0] % count)


@kernel(f"int64(PricedParties, {_INTS}, {_INTS}, int64, {_INTS})")
def _shake(tables: PricedParties, parties: Ints, label: Ints, count: int, chance: Ints) -> int:
    """Let one or two parties of a team make room for others; return the number of parties.

    0 if the parties drawn do not fill the team.
    """
    sizes = tables.sizes
    out = _below(chance, count)
    team, free = label[out], sizes[parties[out]]
    parties[out], label[out] = parties[count - 1], label[count - 1]
    count -= 1
    if count > 0 and _below(chance, 2) == 0:
        out = _below(chance, count)
        if label[out] == team:
            free += sizes[parties[out]]
            parties[out], label[out] = parties[count - 1], label[count - 1]
            count -= 1
    for _ in range(DRAWS):
        other = _below(chance, len(sizes))
        is_new = sizes[other] <= free
        for a in range(count):
            is_new = is_new and parties[a] != other
        if is_new:
            parties[count], label[count] = other, team
            count += 1
            free -= sizes[other]
            if free == 0:
                return count
    return 0


@kernel(f"float64(PricedParties, {_INTS}, {_INTS}, int64, int64, float64, {_VECTOR})")
def _scores(
    tables: PricedParties,
    parties: Ints,
    label: Ints,
    count: int,
    at: int,
    base: float,
    scores: Floats,
) -> float:
    """Fill in the tables' worth of a match with each party in a place; return its present worth."""
    mates, enemies, own, sizes = tables.mates, tables.enemies, tables.own, tables.sizes
    worth = base
    scores[:] = -own
    for a in range(count):
        if a == at:
            continue
        i = parties[a]
        worth -= own[i]
        row = mates[i] if label[a] == label[at] else enemies[i]
        for j in range(len(scores)):
            scores[j] -= row[j]
        for b in range(a):
            if b != at:
                other = parties[b]
                worth -= mates[i, other] if label[a] == label[b] else enemies[i, other]
    size, here = sizes[parties[at]], worth + scores[parties[at]]
    for j in range(len(scores)):
        scores[j] = worth + scores[j] if sizes[j] == size else -np.inf
    for a in range(count):
        scores[parties[a]] = -np.inf
    return float(here)


@kernel(f"void(int64[:,::1], {_VECTOR}, {_INTS}, {_INTS}, int64, float64)")
def _keep(
    found: Ints, worths: Floats, parties: Ints, label: Ints, count: int, worth: float
) -> None:
    """Store a match in the row given by its parties, unless that row has a better one."""
    width = found.shape[1] // 2
    key = 0
    for a in range(count):
        each = parties[a] + 1
        key += each * each * (each * 31 + 7919)
    row = key % found.shape[0]
    if worth <= worths[row]:
        return
    worths[row], found[row] = worth, -1
    for a in range(count):
        # Sorted by party, as rows of `Columns` are.
        at = 0
        for b in range(count):
            at += 1 if parties[b] < parties[a] else 0
        found[row, at], found[row, width + at] = parties[a], label[a]


@kernel(
    f"float64(WholeMatchCosts, PricedParties, {_INTS}, {_INTS}, int64, float64, float64, {_VECTOR},"
    f" int64[:,::1], {_VECTOR})"
)
def _climb(
    whole: WholeMatchCosts,
    tables: PricedParties,
    parties: Ints,
    label: Ints,
    count: int,
    base: float,
    limit: float,
    scores: Floats,
    found: Ints,
    worths: Floats,
) -> float:
    """Fill places better until no place improves; return how many numbers were examined."""
    worth, unchanged, at, looked = -np.inf, 0, 0, 0.0
    while unchanged < count:
        here = _scores(tables, parties, label, count, at, base, scores)
        if worth == -np.inf and here > -np.inf:
            worth = here - cost_beyond_pairs_of(whole, tables, parties, label, count)
        before, best = parties[at], parties[at]
        for _ in range(TRIES):
            other = int(np.argmax(scores))
            if not scores[other] > max(worth + GAIN, -np.inf):
                break
            parties[at] = other
            value = scores[other] - cost_beyond_pairs_of(whole, tables, parties, label, count)
            scores[other] = -np.inf
            if value > limit:
                _keep(found, worths, parties, label, count, value)
            if value > worth:
                worth, best = value, other
        parties[at] = best
        unchanged = 1 if best != before else unchanged + 1
        at = (at + 1) % count
        looked += SCANNED * len(scores)
    return looked


@kernel(
    "float64(WholeMatchCosts, PricedParties, int64[:,::1], int64[:,::1], int64, float64, float64,"
    f" {_INTS}, int64[:,::1], {_VECTOR})"
)
def climb_matches(
    whole: WholeMatchCosts,
    tables: PricedParties,
    starts: Ints,
    labels: Ints,
    shakes: int,
    base: float,
    limit: float,
    chance: Ints,
    found: Ints,
    worths: Floats,
) -> float:
    """Find matches that are worth more than a limit; return how many numbers were examined.

    Args:
        whole: See `WholeMatchCosts`.
        tables: See `PricedParties`.
        starts: Shape (matches, most parties): matches to begin from, -1 where there are fewer.
        labels: Their teams.
        shakes: Climbs from each match, the first from the match itself.
        base: Worth of a match without any cost or price.
        limit: Only matches worth more than this are kept.
        chance: Shape (1,): state of the random generator, in 1..2^31 - 2.
        found: Shape (room, 2 * most parties): filled with matches, one for each hash of their
            parties: the parties, -1 where there are fewer, then their teams.
        worths: Shape (room,), -inf: filled with their worths.

    Complexity:
        O(parties * k) for each place that is examined; a climb examines some tens of them.
    """
    width = starts.shape[1]
    parties, label = np.zeros(width, dtype=np.int64), np.zeros(width, dtype=np.int64)
    scores = np.zeros(len(tables.own))
    looked = 0.0
    for start in range(starts.shape[0]):
        for shake in range(shakes):
            count = 0
            while count < width and starts[start, count] >= 0:
                parties[count], label[count] = starts[start, count], labels[start, count]
                count += 1
            if shake > 0:
                count = _shake(tables, parties, label, count, chance)
            if count > 0:
                looked += _climb(
                    whole, tables, parties, label, count, base, limit, scores, found, worths
                )
    return looked
