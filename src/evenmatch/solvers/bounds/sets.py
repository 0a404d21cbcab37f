"""How good a batch's matches can be at most: set packing over matches, by column generation.

Give each party a price, not negative. Whatever M disjoint matches are chosen, their qualities sum
to no more than all prices and, for each match, its *worth*: quality less its parties' prices. Each
match has one first root (`match_search`), and different matches different ones, so

    sum of qualities <= sum of prices + the M highest of (most that a match of this root is worth).

That holds for any prices, found by whatever means and rounded in any way; only the worths need to
be exact or too high. A linear programme over the matches known so far proposes the prices, and the
search under these prices finds the matches that it lacks. Proposed prices jump about, so a search
is made between them and the best ones so far.

Qualities are means over exactly as many matches as the plan has that are legal. The bound is for
the mean; it says nothing about the mean of square roots or a percentile.

Source:
    Set packing by column generation: Desaulniers, Desrosiers and Solomon (eds.), Column Generation
    (2005), ch. 1. Smoothing: Wentges, Weighted Dantzig-Wolfe decomposition (1997).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from evenmatch.solvers.bounds.closing import close
from evenmatch.solvers.bounds.columns import plan_of
from evenmatch.solvers.bounds.generation import ROUNDING, Generation
from evenmatch.solvers.bounds.match_pricing import always
from evenmatch.solvers.teams.batch import Batch, Plan

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
) -> Proof:
    """Return an upper bound of the mean quality of as many matches as a plan has.

    Args:
        batch: The parties.
        plan: Matches for them; those that are not legal don't count.
        effort: Numbers that searches may look at in all; some 30 million a second. The bound is
            valid however little it is, and the same for the same effort.
        optimum: Whether to look for the best plan itself where the gap is small enough.
        progress: Called after each round with the bound so far and the share of the effort used.
        keep_going: Asked now and then; False ends the work, for a budget of time.

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
    quality, best, is_optimal = search.quality, plan, False
    bound = search.bound
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
