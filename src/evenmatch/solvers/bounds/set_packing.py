"""How good a batch's matches can be at most: set packing over matches, by column generation.

Give each party a price, not negative. Whatever M disjoint matches are chosen, their qualities sum
to no more than all prices and, for each match, its *worth*: quality less its parties' prices. Each
match has one first root (`match_search`), and different matches different ones, so

    sum of qualities <= sum of prices + the M highest of (most that a match of this root is worth).

That holds for any prices, found by whatever means and rounded in any way; only the worths need to
be exact or too high. A linear programme over the matches known so far proposes the prices, and
matches that it lacks are looked for under these prices: first by climbs (`match_climb`), which
promise nothing and are quick, and when they find no more by the exact search, which under good
prices is quick too. Proposed prices jump about, so matches are looked for between them and the best
ones so far.

Qualities are means over exactly as many matches as the plan has that are legal. The bound is for
the mean; it says nothing about the mean of square roots or a percentile.

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
"""A match of known parties counts as new if its teams are better by more than this."""


class Columns:
    """Matches as sets of parties, without repetition, in the order in which they were found.

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
        """Add the legal matches of a plan, judged by `reference`; return their numbers."""
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
        """Add matches found under prices; return the numbers of those that were new."""
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
    """Return the players by team of a match given by parties and their teams."""
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
"""A plan this close to its bound is the best: the integer programme's tolerance."""

Progress = Callable[[float, float], None]


class Proof(NamedTuple):
    """How far a plan may be from the best.

    Args:
        bound: No matches of as many have a higher mean quality.
        quality: Mean quality of the plan's legal matches.
        gap: bound - quality.
        plan: The best plan seen: the one given, or a better one.
        is_optimal: Whether that plan is proven to be the best.
        columns: Matches that the linear programme chose from.
        rounds: Searches made.
        spent: Numbers looked at: the effort used.
        is_exact: Whether the searches knew the whole cost; otherwise roles, or sets that a whole
            match must share, are counted less strictly, and the bound is weaker for it.
    """

    bound: float
    quality: float
    gap: float
    plan: Plan
    is_optimal: bool
    columns: int
    rounds: int
    spent: float
    is_exact: bool


def prove(
    batch: Batch,
    plan: Plan,
    *,
    effort: float,
    optimum: bool = False,
    progress: Progress | None = None,
    keep_going: Callable[[], bool] = always,
    improve: Callable[[Plan], Plan] | None = None,
) -> Proof:
    """Return an upper bound of the mean quality of as many matches as a plan has.

    Args:
        batch: The parties.
        plan: Matches for them; those that are not legal don't count.
        effort: Numbers that searches may look at in all; some 30 million a second. The bound is
            valid however little it is, and the same for the same effort.
        optimum: Whether to look for the best plan itself where the gap is small enough.
        progress: Called after each round with the bound so far and the share of the effort used.
        keep_going: Asked now and then; False ends the work, for a budget of time. Where there is
            `improve`, it ends the work on the bound, and after that the work on the optimum.
        improve: Called once if the bound leaves room for a better plan: may return one.

    Raises:
        NotSupported: highspy is missing, a weight is negative, or free seats can be divided in too
            many ways.

    Complexity:
        The search is exponential in the parties of a match: exact for six players up to some
        hundred parties, for ten only where parties or rules leave few matches. Where it is cut
        short, what it has not seen is bounded, never ignored.
    """
    search = Generation(batch, plan)
    if search.matches == 0:
        return Proof(0.0, 0.0, 0.0, plan, False, 0, 0, 0.0, search.is_exact)
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
        closed = close(search, effort - search.spent, keep_going)
        bound = min(bound, closed.bound)
        better = plan_of(batch, closed.matches)
        if better.legal.all() and better.quality.sum() > quality * search.matches:
            best = better
        is_optimal = bound - float(best.quality[best.legal].mean()) <= PROVEN
    assert bound >= quality - ROUNDING, "a bound below a plan: our own fault"
    return Proof(
        bound, quality, bound - quality, best, is_optimal, len(search.columns.quality),
        search.rounds, search.spent, search.is_exact,
    )  # fmt: skip


# From a good bound to the optimum: all matches that a better plan could hold, then a choice.

TOLERANCE = 1e-6
"""What an integer solution may be off, in the sum of qualities."""
KEEP_MOST = 4096
"""Matches kept of one root; if there are more, the choice is not among all."""
COLUMNS_MOST = 100_000
"""Matches among which a choice is tried."""
NODES = 2000
"""Nodes of the search for the best choice."""


class ProvedPlan(NamedTuple):
    """The outcome of an attempt to find the best plan.

    Args:
        bound: Upper bound of the mean quality.
        matches: The best matches found, players by team.
    """

    bound: float
    matches: list[list[list[int]]]


def close(generation: Generation, effort: float, keep_going: Callable[[], bool]) -> ProvedPlan:
    """Return the best plan among the matches that could be in a better one than those known.

    A match of a better plan must be worth the best plan so far, less all prices, less the highest
    worths that its other matches can have. Where all such matches are found, the choice among them
    is the optimum.

    Args:
        generation: A column generation that has come to good prices.
        effort: Numbers that may be looked at.
        keep_going: Asked now and then; False ends the work.
    """
    columns, dual, matches = generation.columns, generation.dual, generation.matches
    known = _choice(generation, np.arange(len(columns.quality)), keep_going)
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
        # With the columns of the best plan there is always a choice.
        sure = np.concatenate([generation.best, known.columns])
        useful = np.union1d(np.flatnonzero(worths > limit), sure)
        best = _choice(generation, useful, keep_going)
        total = max(lowest, best.bound + TOLERANCE)
        bound = min(bound, total / matches + ROUNDING)
        if len(best.columns) and math.fsum(columns.quality[best.columns]) > lowest:
            chosen = best.columns
    return ProvedPlan(bound, [columns.teams(column) for column in chosen.tolist()])


def _choice(generation: Generation, among: Ints, keep_going: Callable[[], bool]) -> PackingSolution:
    """Return the best choice of matches among some columns, as numbers of columns."""
    columns = generation.columns
    packing = SetPacking(len(generation.pricing.sizes), generation.matches)
    packing.add(columns.quality[among], columns.parties[among])
    chosen = packing.choose(NODES, keep_going)
    return PackingSolution(chosen.bound, among[chosen.columns])


# Column generation: prices by a linear programme, matches by a search, a bound in each round.

ROUNDING = 1e-9
"""Added to each bound for the last digits of sums."""
CLOSE = 5e-5
"""Prices are good enough when no others could lower the bound by more than this."""
KEEP = 4
"""Matches that a round keeps of each root."""
BELOW = 0.001
"""How much less than a match's price the matches may be worth that climbs keep."""
SLACK, SLACK_FALLS = 0.0005, 0.3
"""How much more than a match's price the matches must be worth that an exact search looks for: the
bound is higher by as much, and found in far less time; and how that falls when there are none."""
EXACT_SHARE = 0.5
"""Share of the effort that is left which one exact search may use."""
SMOOTH = 0.5
"""Share of the best prices in those of climbs."""
SHAKES = 32
"""Climbs from each match that the linear programme uses."""
VAIN = 4
"""Climbs under so many prices that find nothing: then the exact search has its turn."""
CLIMBS_SHARE = 0.5
"""Share of the effort that is left which the climbs of one round may use."""


class Dual(NamedTuple):
    """Prices and what they prove.

    Args:
        prices: Price of each party.
        match: What a match must be worth to be of use.
        tops: What a match of each first root is worth at most.
        total: No matches of that number have a higher sum of qualities.
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
        # Without prices a match is worth no more than one that costs only what all cost.
        # Searches look for matches of several parties: those of one are known beforehand.
        self._alone = qualities_alone(batch)
        highest = 1.0 - min(form.fixed for form in self.pricing.tables)
        self.total = self.matches * max(highest, float(self._alone.max(initial=-np.inf)))
        sizes = self.pricing.sizes.astype(np.float64)
        # Prices are not negative; where gaps have no scale, qualities may be.
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
        """Return the lowest bound so far of the mean quality of a match."""
        return self.total / self.matches + ROUNDING

    def adopt(self, plan: Plan) -> bool:
        """Take a plan of as many legal matches for the best one; return whether it is better."""
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
        """Make one round: prices settled by climbs, exact search, bound, new matches.

        Args:
            effort_most: Numbers that searches may look at in all.
            keep_going: Asked within the round; a round that is broken off is of little use.
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
        """Bring prices near to the best by climbs, until these find nothing that helps."""
        vain = 0
        while vain < VAIN and self.spent < effort and keep_going():
            proposed = self._packing.solve()
            smooth = SMOOTH if self._center.total < np.inf and not vain else 0.0
            prices, match = self._between(proposed, self._center, smooth)
            used = np.flatnonzero(proposed.share > 0.0)
            parties, label = self.columns.parties[used], self.columns.label[used]
            limit = match - BELOW
            climbs = Climbs(parties, label, limit, SHAKES, self._chance)
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
        """Return prices of parties and of a match between proposed ones and a center."""
        if smooth == 0.0:
            return proposed.parties, proposed.match
        prices = smooth * center.prices + (1.0 - smooth) * proposed.parties
        return prices, smooth * center.match + (1.0 - smooth) * proposed.match

    def _learn(self, priced: PricedMatches, prices: Floats, proposed: Prices) -> bool:
        """Add the matches that are new; return whether any is worth more than is proposed."""
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
    """Return the best match of one party alone, and what it is worth; -inf if none is legal."""
    players = list(range(int(batch.first[party]), int(batch.first[party + 1])))
    best: tuple[float, list[list[int]]] = -np.inf, []
    for team in range(len(batch.seats)):
        teams = [players if at == team else [] for at in range(len(batch.seats))]
        if reference.is_legal(batch, teams):
            quality = 1.0 - reference.cost_of(batch, teams)
            best = max(best, (quality, teams), key=lambda each: each[0])
    return best


def qualities_alone(batch: Batch) -> Floats:
    """Return what a match of each party alone is worth; -inf if it is none.

    Complexity:
        O(1) where a match needs players of two teams, or more than the largest party has.
    """
    sizes = np.diff(batch.first)
    found = np.full(len(sizes), -np.inf)
    if np.count_nonzero(batch.seats_min) < 2:
        least = int(batch.seats_min.sum())
        for party in np.flatnonzero(sizes >= least).tolist():
            found[party] = _teams_alone(batch, party)[0]
    return found


def plans_alone(batch: Batch, alone: Floats) -> Plan:
    """Return the matches of one party alone, as a plan in which parties may be twice."""
    parties = np.flatnonzero(np.isfinite(alone)).tolist()
    return plan_of(batch, [_teams_alone(batch, party)[1] for party in parties])


def _check(batch: Batch, pricing: Pricing) -> None:
    """Refuse what would make the bounds of the search wrong."""
    tables = pricing.tables
    lows = [float(np.min(t, initial=0.0)) for f in tables for t in (f.mates, f.enemies, f.own)]
    weights = [*batch.terms[:, WEIGHT].tolist(), batch.parity, *batch.hosts.tolist()]
    lowest = min([*lows, *weights, batch.fullness, float(batch.facts.ping_weights[3])])
    if not lowest >= 0.0:
        raise NotSupported(f"a bound needs weights of at least 0, got {lowest}; leave it out")
