"""Pricing of whole batches: the best matches of all roots under prices of the parties."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from evenmatch.solvers.bounds.match_lists import least_sums
from evenmatch.solvers.bounds.match_search import LeastSums, PricedParties, may_open, search_root
from evenmatch.solvers.bounds.party_costs import PartyCosts, party_costs, team_sizes
from evenmatch.solvers.bounds.whole_match_costs import WholeMatchCosts, whole_match_costs_of
from evenmatch.solvers.teams.batch import Batch, Floats, Ints

LEVELS = 3
"""Depths at which least sums are computed anew, plus one."""
SHARES = 3.0
"""A root may use this many times its equal share of the effort."""


class Pricing(NamedTuple):
    """The tables for pricing the matches of a batch.

    Args:
        whole: Costs of a whole match that are not sums over pairs.
        tables: Costs of pairs, for each division of seats over the teams.
        by_mates: For each division: least sums of all parties, shape (LEVELS, parties, seats + 1).
        by_enemies: The same for enemies.
        sizes: Players of each party.
        members: Shape (parties, largest): players of each party, -1 where there are fewer.
    """

    whole: WholeMatchCosts
    tables: list[PartyCosts]
    by_mates: list[Floats]
    by_enemies: list[Floats]
    sizes: Ints
    members: Ints


class PricedMatches(NamedTuple):
    """Matches found under prices, and an upper bound on the worth of all others.

    Args:
        parties: Shape (matches, most): the parties of each, -1 where there are fewer.
        label: Shape (matches, most): the team of each party.
        form: Shape (matches,): index of the division of seats.
        worth: Shape (matches,): 1 - cost - prices.
        tops: Shape (parties,): upper bound on the worth of a match with this first root.
        spent: Numbers examined.
        is_complete: Whether all matches above the limit were found.
    """

    parties: Ints
    label: Ints
    form: Ints
    worth: Floats
    tops: Floats
    spent: float
    is_complete: bool


def pricing_of(batch: Batch) -> Pricing:
    """Return the tables of a batch."""
    sizes = np.diff(batch.first).astype(np.int64)
    members = batch.first[:-1, None] + np.arange(sizes.max(initial=1))
    members = np.where(np.arange(members.shape[1]) < sizes[:, None], members, -1)
    tables = [party_costs(batch, teams) for teams in team_sizes(batch)]
    sums: tuple[list[Floats], list[Floats]] = ([], [])
    everyone = np.arange(len(sizes))
    for form in tables:
        for out, costs in zip(sums, (form.mates, form.enemies), strict=True):
            out.append(np.zeros((LEVELS, len(sizes), int(form.teams.sum()) + 1)))
            least_sums(costs, sizes, everyone, len(sizes), out[-1].shape[2] - 1, out[-1][0])
    return Pricing(whole_match_costs_of(batch), tables, *sums, sizes, np.ascontiguousarray(members))


def always() -> bool:
    """Return True: the `keep_going` of work without a budget of time."""
    return True


class PricingSearch(NamedTuple):
    """The limits of a search for matches.

    Args:
        limit: Matches worth no more than this are not searched for.
        keep: Matches kept for each root and division of seats.
        effort: Numbers that may be examined in all. A root may use several times its share of the
            rest, so that effort saved on easy roots goes to the others.
        keep_going: Called before each root; roots that are no longer searched have an infinite top.
    """

    limit: float
    keep: int
    effort: float
    keep_going: Callable[[], bool] = always


def price_matches(pricing: Pricing, prices: Floats, search: PricingSearch) -> PricedMatches:
    """Return the best matches under prices.

    Args:
        pricing: The batch.
        prices: Price of each party.
        search: The limits of the search.

    Complexity:
        See `search_root`.
    """
    parties = len(prices)
    tops = np.full(parties, -np.inf)
    out: list[tuple[Ints, Floats, int]] = []
    spent, is_complete = 0.0, True
    for f, form in enumerate(pricing.tables):
        own = form.own + prices
        width = int(form.teams.sum())
        order = roots_of(own)
        tables = PricedParties(
            form.mates, form.enemies, own, pricing.sizes, pricing.members, form.teams
        )
        sums = LeastSums(pricing.by_mates[f], pricing.by_enemies[f])
        found = np.zeros((search.keep, 2 * width), dtype=np.int64)
        worths, kept = np.zeros(search.keep), np.zeros(1, dtype=np.int64)
        for at, root in enumerate(order.tolist()):
            if not search.keep_going():
                tops[order[at:]], is_complete = np.inf, False
                break
            left = max(search.effort - spent, 0.0)
            share = 1.0 + SHARES * left / ((len(order) - at) * (len(pricing.tables) - f))
            for team in range(len(form.teams)):
                if not may_open(form.teams, form.teams, team, int(pricing.sizes[root])):
                    continue
                top, looked = search_root(
                    pricing.whole, tables, sums, order, at, team, 1.0 - form.fixed,
                    search.limit, share, found, worths, kept,
                )  # fmt: skip
                tops[root] = max(tops[root], top)
                spent += looked
                is_complete &= looked <= share and int(kept[0]) < search.keep
                if kept[0]:
                    out.append((found[: kept[0]].copy(), worths[: kept[0]].copy(), f))
    return join_results(pricing, out, tops, spent, is_complete=is_complete)


def roots_of(own: Floats) -> Ints:
    """Return the order of roots: the most expensive first, since these soon have few matches."""
    return np.argsort(-own, kind="stable").astype(np.int64)


def join_results(
    pricing: Pricing,
    out: list[tuple[Ints, Floats, int]],
    tops: Floats,
    spent: float,
    *,
    is_complete: bool,
) -> PricedMatches:
    """Return the matches that the searches of all roots kept, concatenated."""
    width = max(int(form.teams.sum()) for form in pricing.tables)
    parties = [np.zeros((0, width), dtype=np.int64)]
    label = [np.zeros((0, width), dtype=np.int64)]
    for found, _, _ in out:
        half = found.shape[1] // 2
        for target, part in ((parties, found[:, :half]), (label, found[:, half:])):
            target.append(np.pad(part, ((0, 0), (0, width - half)), constant_values=-1))
    form = np.concatenate([[], *(np.full(len(w), f) for _, w, f in out)]).astype(np.int64)
    worth = np.concatenate([np.zeros(0), *(w for _, w, _ in out)])
    return PricedMatches(
        np.concatenate(parties), np.concatenate(label), form, worth, tops, spent, is_complete
    )
