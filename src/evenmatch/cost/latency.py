"""Latency: how far apart in milliseconds the players of a match are.

What a player knows is an attribute of the ticket (`latency` unless the queue names another): a map
from places to milliseconds. A place is a region where games are hosted, or another player whose
ping was measured. The ping of two players is the measured one, the larger where both measured.
Where neither did, it is the way over the best common place: the minimum of a_r + b_r. Two without a
common place cannot be joined.

Where games run on dedicated servers (`pairs = "region"`), no ping between players matters: all play
in one region, and what counts is everybody's latency to that one. It is the one that costs least
among those in which everybody may ever play: where rules on latencies to regions never widen as far
as a player's latency to a region, it counts as if the player did not know it. So neither region nor
cost depends on the instant, and a match that rules allow somewhere is not refused because another
region would be better for most.

Source:
    Galactron, the ping with enemies: teammates are left out on purpose. Milliseconds count
    logarithmically, from `best`, which costs 0, to `worst`, which costs 1.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, repeat

import numpy as np

from evenmatch.cost.comparison import Assigned, Comparison, Gap, Seats
from evenmatch.cost.expansion import widest
from evenmatch.cost.relation import (
    are_surely,
    is_by_team,
    max_over_pairs,
    mean_over_pairs,
    pairs_of,
    pairs_within,
    related,
)
from evenmatch.cost.scale import Floats
from evenmatch.cost.teams import Orders
from evenmatch.cost.values import shown
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import Player, Ticket, Value, attribute_of

Known = Mapping[str, float]
"""Places and milliseconds."""


def known_of(ticket: Ticket, player: Player, attribute: str) -> Known:
    """Return the latencies that a player knows."""
    value = attribute_of(ticket, player, attribute)
    if not isinstance(value, dict):
        raise TypeError(f"ticket {ticket.id}: {attribute} must be a map, got {value!r:.80}")
    return value


def worst_of(ticket: Ticket, attribute: str) -> Known:
    """Return the worst latency of a ticket's players to each place that all of them know."""
    known = [known_of(ticket, player, attribute) for player in ticket.players]
    if len(known) == 1:
        return known[0]
    first, *others = known
    return {
        place: max(ms, *[each[place] for each in others])
        for place, ms in first.items()
        if all(place in each for each in others)
    }


def latency_problem(value: Value | None) -> str | None:
    """Return what is wrong with an attribute that should be a map of latencies, or None."""
    if value is None:
        return "is missing"
    if not isinstance(value, dict) or not value:
        given = "an empty map" if value == {} else shown(value)
        return f'must be a map of milliseconds such as {{"eu": 30}}, got {given}'
    for place, ms in value.items():
        if not 0.0 <= ms < math.inf:  # NaN neither
            return f"must be finite and >= 0 ms, got {ms} for {place:.64}"
    return None


def ping(one: Player, two: Player, first: Known, second: Known) -> float:
    """Return the ping of two players in milliseconds; inf if nothing joins them.

    Args:
        one: A player.
        two: Another one.
        first: What the first knows.
        second: What the second knows.

    >>> ping(Player("a"), Player("b"), {"eu": 20.0, "us": 90.0}, {"eu": 35.0})
    55.0
    >>> ping(Player("a"), Player("b"), {"eu": 20.0, "b": 41.0}, {"eu": 35.0, "a": 43.0})
    43.0
    """
    if two.id in first or one.id in second:
        return max(first.get(two.id, 0.0), second.get(one.id, 0.0))
    ways = [ms + second[place] for place, ms in first.items() if place in second]
    return min(ways, default=math.inf)


@lru_cache(maxsize=65_536)
def cost_of_ms(ms: float, best: float, worst: float) -> float:
    """Return what a latency costs: 0 up to `best`, 1 from `worst` on, logarithmic in between.

    >>> cost_of_ms(20.0, 25.0, 400.0), cost_of_ms(100.0, 25.0, 400.0), cost_of_ms(500, 25.0, 400.0)
    (0.0, 0.5, 1.0)
    """
    if ms >= worst:
        return 1.0
    return 1.0 - math.log(worst / max(ms, best)) / math.log(worst / best)


def costs_of_ms(ms: Floats, best: float, worst: float) -> Floats:
    """Return `cost_of_ms` of every element; any shape."""
    within = np.clip(ms, best, worst)
    return 1.0 - np.log(worst / within) / math.log(worst / best)


def ping_table(tickets: Sequence[Ticket], attribute: str) -> Floats:
    """Return the ping of each pair of players, party by party; shape (k, k), 0 with oneself.

    Complexity:
        O(k^2 * places).
    """
    people = [(p, known_of(t, p, attribute)) for t in tickets for p in t.players]
    pings = np.zeros((len(people), len(people)))
    for (row, (one, first)), (column, (two, second)) in combinations(enumerate(people), 2):
        pings[row, column] = pings[column, row] = ping(one, two, first, second)
    return pings


def joint_region(
    known: Sequence[Known], weigh: Comparison | None, *, furthest: float = math.inf
) -> str | None:
    """Return the region for all players at once, or None where they have none in common.

    Args:
        known: The latencies of each player, regions only.
        weigh: The criterion whose mean cost decides; None: the mean of milliseconds. Of equal
            regions the one with less latency in all, then for the worst off, then the first by
            name is taken.
        furthest: The largest latency with which anybody ever plays in a region, see `furthest_of`.

    Complexity:
        O(k * regions).
    """
    common = set(known[0]).intersection(*known[1:])
    best, is_bounded = None, furthest < math.inf
    for region in sorted(common):
        ms = [each[region] for each in known]
        if is_bounded and max(ms) > furthest:
            continue
        total = math.fsum(weigh.costs_of(ms) if isinstance(weigh, Latency) else ms)
        if best is None or total <= best[0]:
            found = (total, math.fsum(ms), max(ms), region)
            best = found if best is None else min(best, found)
    return None if best is None else best[3]


def regions_of(known: Known, people: Collection[str]) -> Known:
    """Return what a player knows without the pings to players of the match."""
    return {place: ms for place, ms in known.items() if place not in people}


class _LastAsked:
    """The division that was asked about last: a rule and a criterion ask one after the other."""

    def __init__(self, attribute: str, furthest: float) -> None:
        self._attribute, self._furthest = attribute, furthest
        self._last: tuple[Seats, list[float]] = ((), [])

    def of(self, teams: Seats, weigh: Comparison | None) -> list[float]:
        """Return each player's latency to the joint region; inf where there is none."""
        asked, found = self._last
        if asked is teams and type(teams) is tuple and all(type(t) is tuple for t in teams):
            return found
        known = regions_known(teams, self._attribute)
        region = joint_region(known, weigh, furthest=self._furthest)
        found = [math.inf if region is None else each[region] for each in known]
        self._last = teams, found
        return found


@lru_cache(maxsize=256)
def _last_asked(attribute: str, furthest: float, bounds: tuple[float, float] | None) -> _LastAsked:
    """Return what comparisons share that choose the same region."""
    del bounds
    return _LastAsked(attribute, furthest)


class Latency(Comparison):
    """Pings between players, or latencies to the one region where the match is played."""

    raw = (Gap("mean ping", "ms"), Gap("worst ping", "ms"))

    def __init__(self, given: Criterion | Rule, queue: Queue) -> None:
        super().__init__(given, queue)
        self.pairs = pairs_within(given, queue.format)
        self.is_by_team = is_by_team(self.pairs)
        self._weigh = self if isinstance(given, Criterion) else region_criterion(queue)
        self.furthest = furthest_of(queue, given.attribute)
        self._asked = _last_asked(
            given.attribute, self.furthest, self._weigh and self._weigh.bounds
        )

    @staticmethod
    def problem(value: Value | None) -> str | None:
        """Return what is wrong with a player's latencies."""
        return latency_problem(value)

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the latency that costs nothing, and that from which on nothing is worse."""
        criterion = self.given
        assert isinstance(criterion, Criterion)
        return criterion.best, criterion.worst

    def cost_of(self, ms: float) -> float:
        """Return what a latency costs on the criterion's scale."""
        criterion = self.given
        assert isinstance(criterion, Criterion)
        return cost_of_ms(ms, criterion.best, criterion.worst)

    def costs_of(self, ms: Sequence[float]) -> Iterator[float]:
        """Return `cost_of` of many latencies."""
        criterion = self.given
        assert isinstance(criterion, Criterion)
        return map(cost_of_ms, ms, repeat(criterion.best), repeat(criterion.worst))

    def weight_of(self, ms: float) -> float:
        """Return what a latency counts where the joint region is chosen; inf if it never may be."""
        if ms > self.furthest:
            return math.inf
        return ms if self._weigh is None else self._weigh.cost_of(ms)

    def cost(self, teams: Seats) -> float:
        """Return the mean cost over the pairs, or over the players for a joint region."""
        ms = self._ms(teams)
        return math.fsum(self.costs_of(ms)) / len(ms) if ms else 0.0

    def cost_table(
        self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]
    ) -> Floats:
        """Return `cost` of many divisions."""
        if not self.is_by_team:
            return super().cost_table(tickets, orders, layout)
        criterion = self.given
        assert isinstance(criterion, Criterion)
        pings = ping_table(tickets, criterion.attribute)
        costs = costs_of_ms(pings, criterion.best, criterion.worst)
        return mean_over_pairs(costs, orders, layout, self.pairs)

    def gap(self, teams: Seats) -> float:
        """Return the largest ping of the pairs, or the largest latency to the joint region."""
        return max(self._ms(teams), default=0.0)

    def raw_gaps(self, teams: Seats, roles: Assigned = None) -> tuple[float, ...]:
        """Return the mean and the largest ping, of the pairs that count or to the joint region."""
        del roles
        ms = self._ms(teams)
        return (math.fsum(ms) / len(ms), max(ms)) if ms else (math.nan, math.nan)

    def gap_table(self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]) -> Floats:
        """Return `gap` of many divisions."""
        if not self.is_by_team:
            return super().gap_table(tickets, orders, layout)
        return max_over_pairs(ping_table(tickets, self.given.attribute), orders, layout, self.pairs)

    def pair_gap(self, one: Ticket, two: Ticket) -> float:
        """Return the largest ping of two parties that surely count.

        Another player may move the joint region, but never to one that suits the two better than
        their own best. That is also what a duel would need which no region ever suits.
        """
        form, name = self.queue.format, self.given.attribute
        if form.is_duel:
            gap = self.gap(((one,), (two,)))
            if gap < math.inf or self.furthest == math.inf or self.pairs != "region":
                return gap
        if self.pairs == "region":
            first, second = worst_of(one, name), worst_of(two, name)
            ways = [max(ms, second[place]) for place, ms in first.items() if place in second]
            return min(ways, default=math.inf)
        if not are_surely(self.pairs, form, one, two):
            return 0.0
        pair = [(p, known_of(t, p, name)) for t in (one, two) for p in t.players]
        some, others = pair[: one.size], pair[one.size :]
        return max(ping(p, q, known, other) for p, known in some for q, other in others)

    def gap_max(self, tickets: Sequence[Ticket]) -> float:
        """Return a ping that no two of the tickets exceed, if any joins them."""
        name = self.given.attribute
        return 2.0 * max(
            max(known_of(t, p, name).values(), default=0.0) for t in tickets for p in t.players
        )

    def _ms(self, teams: Seats) -> list[float]:
        return self._to_region(teams) if self.pairs == "region" else self._between(teams)

    def _between(self, teams: Seats) -> list[float]:
        name = self.given.attribute
        return [
            ping(one, two, known_of(t, one, name), known_of(u, two, name))
            for (_, t, one), (_, u, two) in related(teams, self.pairs)
        ]

    def _to_region(self, teams: Seats) -> list[float]:
        """Return each player's latency to the joint region; inf where there is none."""
        return self._asked.of(teams, self._weigh)


def regions_known(teams: Seats, attribute: str) -> list[Known]:
    """Return the latencies of all players to regions, team by team."""
    people = {p.id for team in teams for t in team for p in t.players}
    return [
        regions_of(known_of(t, p, attribute), people)
        for team in teams
        for t in team
        for p in t.players
    ]


def are_measured(teams: Seats, attribute: str) -> bool:
    """Return whether every two players of a match have a measured ping."""
    return all(
        two.id in known_of(t, one, attribute) or one.id in known_of(u, two, attribute)
        for (_, t, one), (_, u, two) in related(teams, "all")
    )


def furthest_of(queue: Queue, attribute: str) -> float:
    """Return the largest latency with which the rules of a queue ever let anybody play in a region.

    A rule that one player may accept for all bounds it too: nobody accepts what no wait allows.
    """
    limits = [
        widest(rule.limit, rule.expand)
        for rule in queue.rules
        if rule.kind == "latency" and rule.attribute == attribute and pairs_of(rule) == "region"
    ]
    return min(limits, default=math.inf)


def region_criterion(queue: Queue) -> Latency | None:
    """Return the criterion of a queue that chooses the region of its matches; None if none does."""
    for criterion in queue.criteria:
        if criterion.kind == "latency" and pairs_of(criterion) == "region":
            return Latency(criterion, queue)
    return None
