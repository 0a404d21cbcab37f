"""An upper bound on the quality of a batch's matches: set packing by column generation.

Give each party a non-negative price. For any M disjoint matches, the sum of their qualities is at
most the sum of all prices plus, for each match, its *worth*: its quality less its parties' prices.
Each match has one first root (`match_search`), and disjoint matches have different ones, so

    sum of qualities <= sum of prices + the M highest of (most that a match of this root is worth).

That holds for any prices, however they are found and rounded; only the worths must be exact or too
high. A linear programme over the matches known so far proposes prices, and matches that it lacks
are searched for under these prices: first by climbs (`match_climb`), which are quick but guarantee
nothing, and once they find no more, by the exact search, which is quick too under good prices.
Proposed prices fluctuate, so the search uses prices between them and the best ones so far.

Qualities are means over exactly as many matches as the plan has legal ones. The bound holds for the
mean; it says nothing about the mean of square roots or a percentile.

Source:
    Set packing by column generation: Desaulniers, Desrosiers and Solomon (eds.), Column Generation
    (2005), ch. 1. Smoothing: Wentges, Weighted Dantzig-Wolfe decomposition (1997).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from evenmatch.errors import NotSupported
from evenmatch.solvers.bounds.match_climb import Climbs, climb
from evenmatch.solvers.bounds.match_pricing import (
    PricedMatches,
    Pricing,
    PricingSearch,
    always,
    price_matches,
    pricing_of,
)
from evenmatch.solvers.bounds.packing import PackingSolution, Prices, SetPacking
from evenmatch.solvers.teams import reference
from evenmatch.solvers.teams.batch import WEIGHT, Batch, Floats, Ints, Plan

GAIN = 1e-9
"""A match of known parties counts as new if its division is better by more than this."""


class Columns:
    """Matches as sets of parties, without duplicates, in the order in which they were found.

    Args:
        batch: The batch.
        width: The most parties of a match.
    """

    def __init__(self, batch: Batch, width: int) -> None:
        self._batch, self._width = batch, width
        self._known: dict[bytes, int] = {}
        self.parties: Ints = np.zeros((0, width), dtype=np.int64)
        self.label: Ints = np.zeros((0, width), dtype=np.int64)
        self.quality: Floats = np.zeros(0)

    def add_plan(self, plan: Plan) -> Ints:
        """Add the legal matches of a plan, judged by `reference`; return their column numbers."""
        place = np.searchsorted(self._batch.first, np.arange(self._batch.players), side="right") - 1
        rows = []
        for seated, legal in zip(plan.seating, plan.legal, strict=True):
            if legal:
                teams = seated_teams(self._batch, seated)
                team_of = {int(place[p]): t for t, team in enumerate(teams) for p in team}
                rows.append((sorted(team_of.items()), 1.0 - reference.cost_of(self._batch, teams)))
        parties = np.full((len(rows), self._width), -1, dtype=np.int64)
        label = parties.copy()
        for r, (row, _) in enumerate(rows):
            parties[r, : len(row)] = [party for party, _ in row]
            label[r, : len(row)] = [team for _, team in row]
        self._add(parties, label, np.array([quality for _, quality in rows]))
        return np.array([self._known[row.tobytes()] for row in parties], dtype=np.int64)

    def add_priced(self, priced: PricedMatches, prices: Floats) -> Ints:
        """Add matches found under prices; return the column numbers of the new ones."""
        quality = priced.worth + price_sums(priced.parties, prices)
        return self._add(priced.parties, priced.label, quality)

    def _add(self, parties: Ints, label: Ints, quality: Floats) -> Ints:
        new: list[int] = []
        first = len(self.quality)
        for r, (row, own) in enumerate(zip(parties, quality.tolist(), strict=True)):
            number = self._known.get(row.tobytes(), -1)
            before = -np.inf
            if number >= 0:
                before = quality[new[number - first]] if number >= first else self.quality[number]
            if own > before + GAIN:
                self._known[row.tobytes()] = first + len(new)
                new.append(r)
        self.parties = np.concatenate([self.parties, parties[new]])
        self.label = np.concatenate([self.label, label[new]])
        self.quality = np.concatenate([self.quality, quality[new]])
        return np.arange(first, len(self.quality))

    def teams(self, column: int) -> list[list[int]]:
        """Return the players of a match by team."""
        return teams_of(self._batch, self.parties[column], self.label[column])


def price_sums(parties: Ints, prices: Floats) -> Floats:
    """Return the sum of the prices of each match's parties."""
    filled = np.append(prices, 0.0)
    return filled[parties].sum(axis=1)


def seated_teams(batch: Batch, seated: Ints) -> list[list[int]]:
    """Return the players by team of one row of `Plan.seating`."""
    ends = np.cumsum(batch.seats)[:-1]
    return [[int(p) for p in team if p >= 0] for team in np.split(seated, ends)]


def teams_of(batch: Batch, parties: Ints, label: Ints) -> list[list[int]]:
    """Return the players by team of a match, given by its parties and their teams."""
    teams: list[list[int]] = [[] for _ in batch.seats]
    for party, team in zip(parties.tolist(), label.tolist(), strict=True):
        if party >= 0:
            teams[team] += range(int(batch.first[party]), int(batch.first[party + 1]))
    return teams


def plan_of(batch: Batch, matches: list[list[list[int]]]) -> Plan:
    """Return matches as a plan, judged by `reference`."""
    seated = np.full((len(matches), batch.k), -1, dtype=np.int32)
    starts = np.concatenate([[0], np.cumsum(batch.seats)[:-1]]).tolist()
    for m, teams in enumerate(matches):
        for start, team in zip(starts, teams, strict=True):
            seated[m, start : start + len(team)] = team
    return Plan(
        seating=seated,
        quality=np.array([1.0 - reference.cost_of(batch, teams) for teams in matches]),
        legal=np.array([reference.is_legal(batch, teams) for teams in matches], dtype=np.bool_),
        evaluations=0,
    )


PROVEN = 2e-6
"""A plan this close to its bound is optimal, up to the tolerance of the integer programme."""

Progress = Callable[[float, float], None]


class Proof(NamedTuple):
    """An upper bound on how much a plan could be improved.

    Args:
        bound: No plan with as many matches has a higher mean quality.
        quality: Mean quality of the plan's legal matches.
        plan: The best plan seen: the given one, or a better one.
        is_optimal: Whether that plan is proven to be the best.
        columns: Matches that the linear programme chose from.
        rounds: Number of rounds of column generation.
        is_exact: Whether the searches used the whole cost; otherwise roles, or sets that a whole
            match must share, are bounded less strictly, and the bound is weaker.
    """

    bound: float
    quality: float
    plan: Plan
    is_optimal: bool
    columns: int
    rounds: int
    is_exact: bool


def prove(
    batch: Batch,
    plan: Plan,
    *,
    effort: float,
    optimum: bool = False,
    progress: Progress | None = None,
    keep_going: Callable[[], bool] = always,
    left: Callable[[], float] = lambda: math.inf,
    improve: Callable[[Plan], Plan] | None = None,
) -> Proof:
    """Return an upper bound on the mean quality of as many matches as a plan has.

    Args:
        batch: The parties.
        plan: Matches for them; those that are not legal do not count.
        effort: Numbers that searches may examine in all; some 30 million a second. The bound is
            valid however small this is, and the same for the same effort.
        optimum: Whether to search for the best plan itself once the gap is small enough.
        progress: Called after each round with the bound so far and the share of the effort used.
        keep_going: Called now and then; False ends the work, for a budget of time. With `improve`,
            it first ends the work on the bound, and the next time the work on the optimum.
        left: Returns the seconds left for the choice of matches, in parts of which `keep_going` is
            not called.
        improve: Called once if the bound leaves room for a better plan; may return one.

    Raises:
        NotSupported: highspy is missing, a weight is negative, or free seats can be divided in too
            many ways.

    Complexity:
        The search is exponential in the parties of a match: exact for six players up to some
        hundred parties, for ten only if parties or rules leave few matches. If it is cut short,
        the part not searched is bounded, never ignored.
    """
    search = Generation(batch, plan)
    if search.matches == 0:
        return Proof(0.0, 0.0, plan, False, 0, 0, search.is_exact)
    while keep_going() and search.spent < effort and not search.is_done:
        search.advance(effort, keep_going)
        if progress is not None:
            progress(search.bound, min(1.0, search.spent / effort))
    best, is_optimal, bound = plan, False, search.bound
    if improve is not None and bound - search.quality > PROVEN:
        found = improve(plan)
        best = found if search.adopt(found) else plan
    quality = search.quality
    if optimum and keep_going():
        closed = close(search, effort - search.spent, keep_going, left)
        bound = min(bound, closed.bound)
        better = plan_of(batch, closed.matches)
        if better.legal.all() and better.quality.sum() > quality * search.matches:
            best = better
        is_optimal = bound - float(best.quality[best.legal].mean()) <= PROVEN
    assert bound >= quality - ROUNDING, "a bound below a plan: our own fault"
    columns = len(search.columns.quality)
    return Proof(bound, quality, best, is_optimal, columns, search.rounds, search.is_exact)


# From a good bound to the optimum: find all matches that a better plan could contain, then choose.

TOLERANCE = 1e-6
"""Error of an integer solution, in the sum of qualities."""
KEEP_MOST = 4096
"""Matches kept of one root; if there are more, the choice is not among all of them."""
COLUMNS_MOST = 100_000
"""Most matches among which a choice is tried."""
NODES = 2000
"""Most nodes of the search for the best choice."""


class ProvedPlan(NamedTuple):
    """The outcome of an attempt to find the best plan.

    Args:
        bound: Upper bound on the mean quality.
        matches: The best matches found, players by team.
    """

    bound: float
    matches: list[list[list[int]]]


def close(
    generation: Generation,
    effort: float,
    keep_going: Callable[[], bool],
    left: Callable[[], float] = lambda: math.inf,
) -> ProvedPlan:
    """Return the best plan, after finding all matches that a better plan could contain.

    A match of a better plan must be worth at least the best plan so far, less all prices, less the
    highest worths that its other matches can have. If all such matches are found, the best choice
    among them is the optimum.

    Args:
        generation: A column generation that has reached good prices.
        effort: Numbers that may be examined.
        keep_going: Called now and then; False ends the work.
        left: Returns the seconds left, see `prove`.
    """
    columns, dual, matches = generation.columns, generation.dual, generation.matches
    known = _choice(generation, np.arange(len(columns.quality)), keep_going, left())
    given = math.fsum(columns.quality[generation.best])
    lowest = max(given, math.fsum(columns.quality[known.columns]))
    others = np.sort(dual.tops)[::-1][: matches - 1]
    limit = lowest - math.fsum(dual.prices) - math.fsum(others) - TOLERANCE
    search = PricingSearch(limit, KEEP_MOST, effort, keep_going)
    priced = price_matches(generation.pricing, dual.prices, search)
    generation.spent += priced.spent
    bound, chosen = generation.bound, known.columns
    if priced.is_complete and len(priced.worth) <= COLUMNS_MOST:
        columns.add_priced(priced, dual.prices)
        worths = columns.quality - price_sums(columns.parties, dual.prices)
        # The columns of the best plan are among them, so a solution always exists.
        sure = np.concatenate([generation.best, known.columns])
        useful = np.union1d(np.flatnonzero(worths > limit), sure)
        best = _choice(generation, useful, keep_going, left())
        total = max(lowest, best.bound + TOLERANCE)
        bound = min(bound, total / matches + ROUNDING)
        if len(best.columns) and math.fsum(columns.quality[best.columns]) > lowest:
            chosen = best.columns
    return ProvedPlan(bound, [columns.teams(column) for column in chosen.tolist()])


def _choice(
    generation: Generation, among: Ints, keep_going: Callable[[], bool], seconds: float
) -> PackingSolution:
    """Return the column numbers of the best choice of matches among some columns."""
    columns = generation.columns
    packing = SetPacking(len(generation.pricing.sizes), generation.matches)
    packing.add(columns.quality[among], columns.parties[among])
    chosen = packing.choose(NODES, keep_going, seconds)
    return PackingSolution(chosen.bound, among[chosen.columns])


# Column generation: each round finds prices by a linear programme, new matches, and a bound.

ROUNDING = 1e-9
"""Added to each bound for rounding errors of sums."""
CLOSE = 5e-5
"""Prices are good enough once no others could lower the bound by more than this."""
KEEP = 4
"""Matches that a round keeps of each root."""
BELOW = 0.001
"""How far below a match's price the worth of a match that climbs keep may be."""
SLACK, SLACK_FALLS = 0.0005, 0.3
"""How far above a match's price the worth of a match must be to be searched for exactly: the bound
is higher by as much and found in far less time. Second, the factor applied when there are none."""
EXACT_SHARE = 0.5
"""Share of the remaining effort that one exact search may use."""
SMOOTH = 0.5
"""Weight of the best prices so far in the prices that climbs use."""
SHAKES = 32
"""Climbs from each match that the linear programme uses."""
VAIN = 4
"""Rounds of climbs without a find after which the exact search runs."""
CLIMBS_SHARE = 0.5
"""Share of the remaining effort that the climbs of one round may use."""


class Dual(NamedTuple):
    """Prices and the bound that they prove.

    Args:
        prices: Price of each party.
        match: Price of a match: the worth that a match must have to be of use.
        tops: Upper bound on the worth of a match by its first root.
        total: Upper bound on the sum of qualities of that number of matches.
    """

    prices: Floats
    match: float
    tops: Floats
    total: float


class Generation:
    """The state of a column generation.

    Args:
        batch: The parties.
        plan: Legal matches to start from; their number is the number of matches.
    """

    def __init__(self, batch: Batch, plan: Plan) -> None:
        self.pricing = pricing_of(batch)
        if not self.pricing.tables:
            raise NotSupported("a bound needs matches of two players at least; leave it out")
        _check(batch, self.pricing)
        self.columns = Columns(batch, max(int(form.teams.sum()) for form in self.pricing.tables))
        self.best = self.columns.add_plan(plan)
        self.matches = len(self.columns.quality)
        self.quality = math.fsum(self.columns.quality) / max(self.matches, 1)
        self.is_exact = all(form.exact for form in self.pricing.tables)
        self.rounds, self.spent, self.is_done = 0, 0.0, self.matches == 0
        # Without prices, the worth of a match is at most that of one with the fixed costs only.
        # Searches find matches of several parties; those of one party are known beforehand.
        self._alone = qualities_alone(batch)
        highest = 1.0 - min(form.fixed for form in self.pricing.tables)
        self.total = self.matches * max(highest, float(self._alone.max(initial=-np.inf)))
        sizes = self.pricing.sizes.astype(np.float64)
        # Prices are non-negative; qualities may be negative if gaps have no scale.
        first = sizes * max(self.quality, 0.0) / batch.k
        self.dual = Dual(first, 0.0, np.full(len(sizes), np.inf), np.inf)
        self._slack = SLACK
        self._center, self._chance = self.dual, np.ones(1, dtype=np.int64)
        if self.matches:
            self.columns.add_plan(plans_alone(batch, self._alone))
            self._packing = SetPacking(len(sizes), self.matches)
            self._packing.add(self.columns.quality, self.columns.parties)

    @property
    def bound(self) -> float:
        """Return the lowest bound so far on the mean quality of a match."""
        return self.total / self.matches + ROUNDING

    def adopt(self, plan: Plan) -> bool:
        """Make a plan of as many legal matches the best one if it is; return whether it is."""
        if int(plan.legal.sum()) != self.matches:
            return False
        known = len(self.columns.quality)
        best = self.columns.add_plan(plan)
        self._packing.add(self.columns.quality[known:], self.columns.parties[known:])
        quality = math.fsum(self.columns.quality[best]) / self.matches
        is_better = quality > self.quality
        if is_better:
            self.best, self.quality = best, quality
        return is_better

    def advance(self, effort_most: float, keep_going: Callable[[], bool] = always) -> None:
        """Make one round: prices improved by climbs, exact search, bound, new matches.

        Args:
            effort_most: Numbers that searches may examine in all.
            keep_going: Called within the round; a round that is cut short is of little use.
        """
        self._settle(self.spent + CLIMBS_SHARE * (effort_most - self.spent), keep_going)
        proposed, prices = self._packing.solve(), self._center.prices
        limit = self._center.match + self._slack
        effort = max(1.0, EXACT_SHARE * (effort_most - self.spent))
        priced = price_matches(self.pricing, prices, PricingSearch(limit, KEEP, effort, keep_going))
        self.rounds += 1
        self.spent += priced.spent
        self._center = self._offer(prices, priced)
        self._slack *= 1.0 if self._learn(priced, prices, proposed) else SLACK_FALLS
        self.is_done = self.dual.total - proposed.value < CLOSE * self.matches

    def _settle(self, effort: float, keep_going: Callable[[], bool]) -> None:
        """Bring prices close to the best by climbs, until climbs find nothing useful."""
        vain = 0
        while vain < VAIN and self.spent < effort and keep_going():
            proposed = self._packing.solve()
            smooth = SMOOTH if self._center.total < np.inf and not vain else 0.0
            prices, match = self._between(proposed, self._center, smooth)
            used = np.flatnonzero(proposed.share > 0.0)
            parties, label = self.columns.parties[used], self.columns.label[used]
            limit = match - BELOW
            climbs = Climbs(parties, label, limit, SHAKES, self._chance, keep_going)
            priced = climb(self.pricing, prices, climbs)
            self.spent += priced.spent
            tops = np.sort(np.maximum(priced.tops, limit))[::-1][: self.matches]
            total = math.fsum(prices) + math.fsum(tops)
            if total < self._center.total:
                match = (total - math.fsum(prices)) / self.matches
                self._center = Dual(prices, match, priced.tops, total)
            gained = self._learn(priced, prices, proposed)
            is_close = self._center.total - proposed.value < CLOSE * self.matches
            vain = 0 if gained and not is_close else vain + 1

    def _between(self, proposed: Prices, center: Dual, smooth: float) -> tuple[Floats, float]:
        """Return prices of parties and of a match between proposed ones and a centre."""
        if smooth == 0.0:
            return proposed.parties, proposed.match
        prices = smooth * center.prices + (1.0 - smooth) * proposed.parties
        return prices, smooth * center.match + (1.0 - smooth) * proposed.match

    def _learn(self, priced: PricedMatches, prices: Floats, proposed: Prices) -> bool:
        """Add the new matches; return whether any is worth more than the proposed price."""
        new = self.columns.add_priced(priced, prices)
        self._packing.add(self.columns.quality[new], self.columns.parties[new])
        worths = self.columns.quality[new] - price_sums(self.columns.parties[new], proposed.parties)
        return bool((worths > proposed.match + GAIN).any())

    def _offer(self, prices: Floats, priced: PricedMatches) -> Dual:
        """Keep the prices if they give the lowest bound so far; return what they prove."""
        tops = np.maximum(priced.tops, self._alone - prices)
        highest = np.sort(tops)[::-1][: self.matches]
        paid = math.fsum(prices)
        total = paid + math.fsum(highest)
        offered = Dual(prices, (total - paid) / self.matches, tops, total)
        if total < self.dual.total:
            self.dual = offered
            self.total = min(self.total, total)
        return offered


def _teams_alone(batch: Batch, party: int) -> tuple[float, list[list[int]]]:
    """Return the worth of a party's best match alone, and its teams; -inf if none is legal."""
    players = list(range(int(batch.first[party]), int(batch.first[party + 1])))
    best: tuple[float, list[list[int]]] = -np.inf, []
    for team in range(len(batch.seats)):
        teams = [players if at == team else [] for at in range(len(batch.seats))]
        if reference.is_legal(batch, teams):
            quality = 1.0 - reference.cost_of(batch, teams)
            best = max(best, (quality, teams), key=lambda each: each[0])
    return best


def qualities_alone(batch: Batch) -> Floats:
    """Return the worth of a match of each party alone; -inf if there is none.

    Complexity:
        O(1) if a match needs players of two teams, or more than the largest party has.
    """
    sizes = np.diff(batch.first)
    found = np.full(len(sizes), -np.inf)
    if np.count_nonzero(batch.seats_min) < 2:
        least = int(batch.seats_min.sum())
        for party in np.flatnonzero(sizes >= least).tolist():
            found[party] = _teams_alone(batch, party)[0]
    return found


def plans_alone(batch: Batch, alone: Floats) -> Plan:
    """Return the matches of one party alone, as a plan in which a party may occur twice."""
    parties = np.flatnonzero(np.isfinite(alone)).tolist()
    return plan_of(batch, [_teams_alone(batch, party)[1] for party in parties])


def _check(batch: Batch, pricing: Pricing) -> None:
    """Raise an error if the bounds of the search would be wrong."""
    tables = pricing.tables
    lows = [float(np.min(t, initial=0.0)) for f in tables for t in (f.mates, f.enemies, f.own)]
    weights = [*batch.terms[:, WEIGHT].tolist(), batch.parity, *batch.hosts.tolist()]
    lowest = min([*lows, *weights, batch.fullness, float(batch.facts.ping_weights[3])])
    if not lowest >= 0.0:
        raise NotSupported(f"a bound needs weights of at least 0, got {lowest}; leave it out")
