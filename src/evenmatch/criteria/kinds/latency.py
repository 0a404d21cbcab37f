"""Latency: the distance in milliseconds between the players of a match.

The data are an attribute of the ticket (`latency` unless the queue names another): a map from
places to milliseconds. A place is a region where games are hosted, or another player whose ping was
measured. The ping of two players is the measured one, the larger if both measured it. If neither
did, it is the way through the best common place: the minimum of a_r + b_r. Two players without a
common place cannot be joined.

If games run on dedicated servers (`pairs = "region"`), pings between players do not matter: all
play in one region, and each player's latency to that region counts. Rules allow a match as soon as
they allow it in some region, and it is played in the cheapest of the regions that they allow at
that instant. So a match may cost less later, and never more: its cost after a long wait, when every
region is allowed that ever will be, is a lower bound.

Source:
    Galactron, the ping with enemies: teammates are left out on purpose. Milliseconds count
    logarithmically, from `best`, which costs 0, to `worst`, which costs 1.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, repeat
from typing import NamedTuple

import numpy as np

from evenmatch.criteria.base import Comparison, Form, Gap, Keys, Limit, RolesByTeam, Seats
from evenmatch.criteria.expansion import inverse, widest
from evenmatch.criteria.relation import (
    are_surely,
    is_by_team,
    max_over_pairs,
    mean_over_pairs,
    pairs_within,
    related_pairs,
)
from evenmatch.criteria.scales import Floats
from evenmatch.criteria.sentences import at_first
from evenmatch.criteria.team_packing import Orders
from evenmatch.criteria.values import quoted_value
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import LATENCY, Player, Ticket, Value, attribute_of

Latencies = Mapping[str, float]
"""Places and milliseconds."""
MS_MAX = 1e6
PAIRS = {
    "enemies": "between enemies",
    "teammates": "between teammates",
    "all": "between any two of its players",
    "region": "to the region that is best for all",
}


def known_latencies(ticket: Ticket, player: Player, attribute: str) -> Latencies:
    """Return the latencies that a player has."""
    value = attribute_of(ticket, player, attribute)
    if not isinstance(value, dict):
        raise TypeError(f"ticket {ticket.id}: {attribute} must be a map, got {value!r:.80}")
    return value


def worst_of(ticket: Ticket, attribute: str) -> Latencies:
    """Return the worst latency of a ticket's players to each place that all of them know."""
    known = [known_latencies(ticket, player, attribute) for player in ticket.players]
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
        given = "an empty map" if value == {} else quoted_value(value)
        return f'must be a map of milliseconds such as {{"eu": 30}}, got {given}'
    for place, ms in value.items():
        if not 0.0 <= ms < math.inf:  # nor NaN
            return f"must be finite and >= 0 ms, got {ms} for {place:.64}"
    return None


def ping(one: Player, two: Player, first: Latencies, second: Latencies) -> float:
    """Return the ping of two players in milliseconds; inf if nothing joins them.

    Args:
        one: A player.
        two: Another player.
        first: The latencies of the first.
        second: The latencies of the second.

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
    """Return the cost of a latency: 0 up to `best`, 1 from `worst` on, logarithmic in between.

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
    people = [(p, known_latencies(t, p, attribute)) for t in tickets for p in t.players]
    pings = np.zeros((len(people), len(people)))
    for (row, (one, first)), (column, (two, second)) in combinations(enumerate(people), 2):
        pings[row, column] = pings[column, row] = ping(one, two, first, second)
    return pings


class RegionLimits:
    """The instant from which the rules of a queue let a match be played in a region.

    Args:
        queue: Has the rules.
        attribute: The attribute with the latencies.

    Attributes:
        furthest: The largest latency with which rules ever let a player play in a region. A rule
            that one player may accept for all limits it too: nobody accepts what no wait allows.
    """

    def __init__(self, queue: Queue, attribute: str) -> None:
        rules = [
            rule
            for rule in queue.rules
            if rule.kind == "latency" and rule.attribute == attribute and rule.pairs == "region"
        ]
        self._waits = [(inverse(rule.limit, rule.expand), rule.accept == "both") for rule in rules]
        widths = [widest(rule.limit, rule.expand) for rule in rules]
        self.furthest = min(widths, default=math.inf)

    def opens_at(self, most: float, youngest: float, oldest: float) -> float:
        """Return the instant from which a match may be played in a region; inf if never.

        Args:
            most: The largest latency of its players.
            youngest: When the last of its tickets entered.
            oldest: When the first of its tickets entered.
        """
        at = youngest
        for when, must_all in self._waits:
            at = max(at, (youngest if must_all else oldest) + when(most))
        return at


class CommonRegion(NamedTuple):
    """A region that all players of a match know.

    Args:
        name: Its name.
        ms: The latency of each player, team by team.
        most: The largest of them.
    """

    name: str
    ms: list[float]
    most: float


def common_regions(known: Sequence[Latencies]) -> list[CommonRegion]:
    """Return the regions that all players know, by name.

    Args:
        known: The latencies of each player, regions only.

    Complexity:
        O(k * regions).
    """
    found = []
    for name in sorted(set(known[0]).intersection(*known[1:])):
        ms = [each[name] for each in known]
        found.append(CommonRegion(name, ms, max(ms)))
    return found


def cheapest(regions: Iterable[CommonRegion], weigh: Comparison | None) -> CommonRegion | None:
    """Return the best region for all players, or None if there is none.

    Args:
        regions: Those that are allowed for all of them, by name.
        weigh: The criterion whose mean cost decides; None: the mean of milliseconds. Of equal
            regions, the one with the least total latency is taken, then the least largest latency,
            then the first by name.

    Complexity:
        O(k * regions).
    """
    best: tuple[float, float, float] | None = None
    chosen = None
    for region in regions:
        total = math.fsum(weigh.costs_of(region.ms) if isinstance(weigh, Latency) else region.ms)
        if best is None or total <= best[0]:
            key = (total, math.fsum(region.ms), region.most)
            if best is None or key < best:
                best, chosen = key, region
    return chosen


def open_regions(
    regions: Sequence[CommonRegion], limits: RegionLimits, teams: Seats, at: float
) -> list[CommonRegion]:
    """Return the regions in which rules let a match be played at an instant.

    If they allow none yet, all that they ever will, for a lower bound on the cost.
    """
    born = [ticket.enqueued_at for team in teams for ticket in team]
    youngest, oldest = max(born), min(born)
    ever = [(limits.opens_at(each.most, youngest, oldest), each) for each in regions]
    return [each for opens, each in ever if opens <= at and opens < math.inf] or [
        each for opens, each in ever if opens < math.inf
    ]


def regions_of(known: Latencies, people: Collection[str]) -> Latencies:
    """Return a player's latencies without the pings to players of the match."""
    return {place: ms for place, ms in known.items() if place not in people}


class _LastDivision:
    """A cache of the last division, since a rule and a criterion use it one after the other."""

    def __init__(self, attribute: str) -> None:
        self._attribute = attribute
        self._last: tuple[Seats, list[CommonRegion]] = ((), [])

    def of(self, teams: Seats) -> list[CommonRegion]:
        """Return the regions that all players of a match know."""
        asked, found = self._last
        if asked is teams and type(teams) is tuple and all(type(t) is tuple for t in teams):
            return found
        found = common_regions(regions_known(teams, self._attribute))
        self._last = teams, found
        return found


@lru_cache(maxsize=256)
def _last_asked(attribute: str) -> _LastDivision:
    """Return the cache that comparisons of the same regions share."""
    return _LastDivision(attribute)


class Latency(Comparison):
    """Pings between players, or latencies to the one region where the match is played."""

    criterion_keys = Keys(("attribute", "weight", "pairs", "best", "worst"))
    rule_keys = Keys(("attribute", "limit", "pairs", "expand", "accept"))
    attribute = LATENCY
    limit = Limit("the largest ping in milliseconds that is accepted at once", MS_MAX)
    pairs_allowed = ("enemies", "teammates", "all", "region")
    pairs_default = "enemies"
    form = Form.PLACES
    is_measure = True
    unit = "ms"
    raw = (Gap("mean ping", "ms"), Gap("worst ping", "ms"))

    def __init__(self, definition: Criterion | Rule, queue: Queue) -> None:
        super().__init__(definition, queue)
        self.pairs = pairs_within(definition.pairs or self.pairs_default, queue.format)
        self.is_by_team = is_by_team(self.pairs)
        self._weigh = self if isinstance(definition, Criterion) else region_criterion(queue)
        self._limits = RegionLimits(queue, definition.attribute)
        self.furthest = self._limits.furthest
        self._asked = _last_asked(definition.attribute)

    @staticmethod
    def problem(value: Value | None) -> str | None:
        """Return what is wrong with a player's latencies."""
        return latency_problem(value)

    def costs_of(self, ms: Sequence[float]) -> Iterator[float]:
        """Return the costs of many latencies on the criterion's scale."""
        criterion = self.definition
        assert isinstance(criterion, Criterion)
        return map(cost_of_ms, ms, repeat(criterion.best), repeat(criterion.worst))

    def cost(self, teams: Seats) -> float:
        """Return the mean cost over the pairs, or over the players for a joint region.

        The region is the best that rules ever allow: `cost_at` never costs less.
        """
        return self.cost_at(teams, math.inf)

    def cost_at(self, teams: Seats, at: float) -> float:
        """Return the mean cost of a match that is made at an instant."""
        return self._mean_cost(self._ms(teams, at))

    def cost_in(self, teams: Seats, region: str | None) -> float:
        """Return the mean cost of a match that is played in a region."""
        return self._mean_cost(self._ms_in(teams, region))

    def cost_table(
        self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]
    ) -> Floats:
        """Return `cost` of many divisions."""
        if not self.is_by_team:
            return super().cost_table(tickets, orders, layout)
        criterion = self.definition
        assert isinstance(criterion, Criterion)
        pings = ping_table(tickets, criterion.attribute)
        costs = costs_of_ms(pings, criterion.best, criterion.worst)
        return mean_over_pairs(costs, orders, layout, self.pairs)

    def gap(self, teams: Seats) -> float:
        """Return the largest ping of the pairs, or the largest latency to a region.

        The region is the one with the least such latency: it is allowed before all others.
        """
        if self.pairs == "region":
            return min([each.most for each in self._asked.of(teams)], default=math.inf)
        return max(self._between(teams), default=0.0)

    def raw_gaps(self, teams: Seats, roles: RolesByTeam = None) -> tuple[float, ...]:
        """Return the mean and the largest ping, of the pairs that count or to the joint region."""
        return self.raw_gaps_in(teams, roles, None)

    def raw_gaps_in(
        self, teams: Seats, roles: RolesByTeam, region: str | None
    ) -> tuple[float, ...]:
        """Return `raw_gaps` of a match that is played in a region."""
        del roles
        ms = self._ms_in(teams, region)
        return (math.fsum(ms) / len(ms), max(ms)) if ms else (math.nan, math.nan)

    def gap_table(self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]) -> Floats:
        """Return `gap` of many divisions."""
        if not self.is_by_team:
            return super().gap_table(tickets, orders, layout)
        return max_over_pairs(
            ping_table(tickets, self.definition.attribute), orders, layout, self.pairs
        )

    def pair_gap(self, one: Ticket, two: Ticket) -> float:
        """Return the largest ping of two parties that certainly count.

        Another player may change the joint region, but never to one that is better for the two than
        their own best.
        """
        form, name = self.queue.format, self.definition.attribute
        if form.is_duel:
            return self.gap(((one,), (two,)))
        if self.pairs == "region":
            first, second = worst_of(one, name), worst_of(two, name)
            ways = [max(ms, second[place]) for place, ms in first.items() if place in second]
            return min(ways, default=math.inf)
        if not are_surely(self.pairs, form, one, two):
            return 0.0
        pair = [(p, known_latencies(t, p, name)) for t in (one, two) for p in t.players]
        some, others = pair[: one.size], pair[one.size :]
        return max(ping(p, q, known, other) for p, known in some for q, other in others)

    def gap_max(self, tickets: Sequence[Ticket]) -> float:
        """Return a ping that no two of the tickets exceed, if any place joins them."""
        name = self.definition.attribute
        return 2.0 * max(
            max(known_latencies(t, p, name).values(), default=0.0)
            for t in tickets
            for p in t.players
        )

    @classmethod
    def criterion_words(cls, criterion: Criterion) -> str:
        """Return the quantity that a criterion compares."""
        return f"the mean {criterion.attribute} {PAIRS[criterion.pairs or cls.pairs_default]}"

    @classmethod
    def sentence(cls, rule: Rule) -> str:
        """Return what a rule demands, how it widens, and who must accept."""
        where = PAIRS[rule.pairs or cls.pairs_default]
        return at_first(rule, f"the largest {rule.attribute} in ms {where}")

    @classmethod
    def limit_name(cls, attribute: str, kind: str) -> str:
        """Return the name of a rule of the kind when it keeps a ticket waiting."""
        del attribute, kind
        return "a limit on latency"

    def _mean_cost(self, ms: Sequence[float]) -> float:
        return math.fsum(self.costs_of(ms)) / len(ms) if ms else 0.0

    def _ms_in(self, teams: Seats, region: str | None) -> list[float]:
        if self.pairs == "region" and region is not None:
            for each in self._asked.of(teams):
                if each.name == region:
                    return each.ms
        return self._ms(teams, math.inf)

    def _ms(self, teams: Seats, at: float) -> list[float]:
        return self._to_region(teams, at) if self.pairs == "region" else self._between(teams)

    def _between(self, teams: Seats) -> list[float]:
        name = self.definition.attribute
        return [
            ping(one, two, known_latencies(t, one, name), known_latencies(u, two, name))
            for (_, t, one), (_, u, two) in related_pairs(teams, self.pairs)
        ]

    def _to_region(self, teams: Seats, at: float) -> list[float]:
        """Return each player's latency to the joint region; inf if there is none."""
        regions = open_regions(self._asked.of(teams), self._limits, teams, at)
        found = cheapest(regions, self._weigh)
        if found is None:
            return [math.inf] * sum([len(ticket.players) for team in teams for ticket in team])
        return found.ms


def regions_known(teams: Seats, attribute: str) -> list[Latencies]:
    """Return the latencies of all players to regions, team by team."""
    people = {p.id for team in teams for t in team for p in t.players}
    return [
        regions_of(known_latencies(t, p, attribute), people)
        for team in teams
        for t in team
        for p in t.players
    ]


def are_measured(teams: Seats, attribute: str) -> bool:
    """Return whether every two players of a match have a measured ping."""
    return all(
        two.id in known_latencies(t, one, attribute) or one.id in known_latencies(u, two, attribute)
        for (_, t, one), (_, u, two) in related_pairs(teams, "all")
    )


def region_criterion(queue: Queue) -> Latency | None:
    """Return the criterion of a queue that chooses the region of its matches; None if none does."""
    for criterion in queue.criteria:
        if criterion.kind == "latency" and criterion.pairs == "region":
            return Latency(criterion, queue)
    return None
