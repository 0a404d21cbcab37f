"""Rematches: how recently the players of a match met before, as a cost and as a rule.

The memory is an attribute of the ticket (`recent` unless the queue names another):

- a map from player id to how many matches ago the two met, 1 = in the last one; negative numbers
  mean that they were in one team;
- or a set of player ids: the opponents of the last match.

Two players met n matches ago if both remember it, and n is the larger of their two counts, so that
matches with others make an opponent new again. If only one of them has a memory at all, it decides.

A meeting has the freshness (matches + 1 - n) / matches: 1 in the last match, and 0 after `matches`
matches with others.

Source:
    GameDev.net, "1v1 queuing" (2010): "recent-ness" that dissipates after a few matches with other
    players; redraws for those who met in the last X matches. With `matches = 1` the criterion is
    the "opponent variation" of the Galactron problem (`variation` = 1 - cost).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from evenmatch.criteria.base import Comparison, Fault, Flags, Form, Gap, Keys, RolesByTeam, Seats
from evenmatch.criteria.scales import Floats
from evenmatch.criteria.sentences import lifted_at, seconds
from evenmatch.criteria.team_packing import Orders
from evenmatch.model.queue import RECENT, Criterion, Expansion, Queue, Rule
from evenmatch.model.ticket import NewTicket, Player, Ticket, Value, attribute_of

CHANGED = 0.5
"""Factor on a meeting if opponents are now in one team, or the other way round."""

REDRAWS_MAX = 100
EVERY_MIN = 1e-6
"""Seconds between two draws at least."""
EVERY = 10.0
"""Seconds between two draws if neither a file nor a deadline gives them."""

MatchesAgo = Mapping[str, float] | None
"""The players met, with how many matches ago; None if nothing is known."""


def known_of(ticket: Ticket | NewTicket, player: Player, attribute: str = RECENT) -> MatchesAgo:
    """Return the players that a player met, whatever form the attribute has.

    Arrivals files turn a set of one id into a word, or into a number if it looks like one.

    >>> a = Player("a", attributes={"recent": ("b", "c")})
    >>> known_of(NewTicket((a,)), a)
    {'b': 1.0, 'c': 1.0}
    """
    value = attribute_of(ticket, player, attribute)
    if value is None or isinstance(value, dict):
        return value
    if isinstance(value, tuple):
        return dict.fromkeys(value, 1.0)
    return {value if isinstance(value, str) else f"{value:.17g}": 1.0}


def memory_problem(value: Value | None) -> str | None:
    """Return what is wrong with an attribute that should say whom a player met, or None."""
    if isinstance(value, dict) and not all(abs(ago) >= 1.0 for ago in value.values()):
        return (
            "must count matches from 1 = the last one (-1 = in one team), "
            f"got {min(value.values(), key=abs):g}"
        )
    return None


def matches_since_meeting(one: Player, two: Player, first: MatchesAgo, second: MatchesAgo) -> float:
    """Return how many matches ago two players met; inf if never, negative if in one team.

    Args:
        one: A player.
        two: Another player.
        first: The players that the first remembers.
        second: The players that the second remembers.

    >>> seen, other = {"b": 1.0}, {"c": 1.0, "a": 2.0}
    >>> matches_since_meeting(Player("a"), Player("b"), seen, other)
    2.0
    """
    ago = math.inf if first is None else first.get(two.id, math.inf)
    if second is None or (ago == math.inf and first is not None):
        return ago
    other_ago = second.get(one.id, math.inf)
    if first is None:
        return other_ago
    # Of equally old memories of different relations, that of opponents counts.
    return max(ago, other_ago, key=lambda each: (abs(each), each))


def freshness(ago: float, matches: int) -> float:
    """Return how fresh a meeting is, from 1 in the last match to 0 beyond the last `matches`.

    >>> [freshness(ago, 4) for ago in (1, 2, -4, 5)]
    [1.0, 0.75, 0.25, 0.0]
    """
    return max(0.0, (matches + 1 - abs(ago)) / matches)


def rematch(teams: Sequence[Sequence[Ticket]], attribute: str, matches: int) -> float:
    """Return the mean freshness over all pairs of players: the definition of the criterion.

    A pair whose relation has changed counts half; a pair of one party counts nothing.

    Args:
        teams: Tickets by team.
        attribute: Name of the attribute with the memory.
        matches: How many of a player's last matches count.

    Returns:
        A cost in [0, 1].

    Complexity:
        O(k^2).
    """
    seats = [
        (place, ticket, player, known_of(ticket, player, attribute))
        for place, team in enumerate(teams)
        for ticket in team
        for player in ticket.players
    ]
    costs = []
    for (place, ticket, one, first), (other_place, other, two, second) in combinations(seats, 2):
        cost = 0.0
        if ticket is not other and (first is not None or second is not None):
            ago = matches_since_meeting(one, two, first, second)
            cost = freshness(ago, matches)
            if (ago < 0.0) != (place == other_place):
                cost *= CHANGED
        costs.append(cost)
    return math.fsum(costs) / len(costs) if costs else 0.0


def rematch_table(
    tickets: Sequence[Ticket],
    orders: Orders,
    layout: Sequence[int],
    attribute: str,
    matches: int,
) -> Floats:
    """Return `rematch` of many divisions of the same tickets.

    Args:
        tickets: In the order in which `orders` numbers their players.
        orders: Shape (divisions, k): players in the order of the teams.
        layout: Players per team; sums to k.
        attribute: Name of the attribute with the memory.
        matches: How many of a player's last matches count.

    Returns:
        Shape (divisions,).

    Complexity:
        O(divisions * k^2), O(k^2) if nobody met.
    """
    fresh, were_mates = _pairs(tickets, attribute, matches)
    totals: Floats = np.zeros(len(orders))
    k = len(fresh)
    if k < 2 or not fresh.any():
        return totals
    teams = np.repeat(np.arange(len(layout)), layout)
    for one, two in combinations(range(k), 2):
        pair = orders[:, one], orders[:, two]
        same = were_mates[pair] == (teams[one] == teams[two])
        totals += fresh[pair] * np.where(same, 1.0, CHANGED)
    return totals / (k * (k - 1) / 2)


def _pairs(
    tickets: Sequence[Ticket], attribute: str, matches: int
) -> tuple[Floats, np.ndarray[tuple[int, int], np.dtype[np.bool_]]]:
    """Return the freshness of each pair of players, and whether they were in one team then."""
    seats = [(t, p, known_of(t, p, attribute)) for t in tickets for p in t.players]
    fresh = np.zeros((len(seats), len(seats)))
    were_mates = np.zeros((len(seats), len(seats)), dtype=np.bool_)
    for (row, first), (column, second) in combinations(enumerate(seats), 2):
        if first[0] is not second[0]:
            ago = matches_since_meeting(first[1], second[1], first[2], second[2])
            fresh[row, column] = fresh[column, row] = freshness(ago, matches)
            were_mates[row, column] = were_mates[column, row] = ago < 0.0
    return fresh, were_mates


def duel_gap(first: Ticket, second: Ticket, attribute: str, matches: int) -> float:
    """Return `rule_gap` of two solo tickets, by a shorter way."""
    one, two = first.players[0], second.players[0]
    ago = matches_since_meeting(
        one, two, known_of(first, one, attribute), known_of(second, two, attribute)
    )
    return freshness(ago, matches) if 0.0 < ago <= matches else 0.0


def rule_gap(tickets: Sequence[Ticket], attribute: str, matches: int) -> float:
    """Return the freshest meeting of two opponents among the tickets, in whatever teams now.

    It does not depend on the division into teams, so the value for two tickets is a lower bound
    for each match that has both. Players of one party do not count.

    Complexity:
        O(k^2), O(k) if nobody remembers anything.
    """
    seats = [(t, p, known_of(t, p, attribute)) for t in tickets for p in t.players]
    gap = 0.0
    if all(known is None for _, _, known in seats):
        return gap
    for (ticket, one, first), (other, two, second) in combinations(seats, 2):
        if ticket is not other:
            ago = matches_since_meeting(one, two, first, second)
            if ago > 0.0:
                gap = max(gap, freshness(ago, matches))
    return gap


class Rematch(Comparison):
    """How recently players met: the mean over pairs, and for rules the freshest meeting."""

    criterion_keys = Keys(("attribute", "weight", "matches"), "attribute, weight and matches")
    rule_keys = Keys(
        ("attribute", "redraws", "every", "matches"), "attribute, redraws, every and matches"
    )
    own_keys = ("matches", "redraws", "every")
    attribute = RECENT
    memory = "matches"
    form = Form.NAMES
    is_kept = True
    gap_most = 1.0
    compared = "the share of its pairs that met not long ago, by {}"
    raw = (Gap("pairs who met lately", "%", is_of_attribute=False),)

    def __init__(self, definition: Criterion | Rule, queue: Queue) -> None:
        super().__init__(definition, queue)
        # The rule does not ask who is in whose team now.
        self.is_by_team = isinstance(definition, Criterion) and max(queue.format.players) > 1

    @staticmethod
    def problem(value: Value | None) -> str | None:
        """Return what is wrong with a memory; a missing one is fine."""
        return memory_problem(value)

    def cost(self, teams: Seats) -> float:
        """Return the mean freshness over all pairs."""
        return rematch(teams, self.definition.attribute, self.definition.matches)

    def cost_table(
        self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]
    ) -> Floats:
        """Return `cost` of many divisions."""
        return rematch_table(
            tickets, orders, layout, self.definition.attribute, self.definition.matches
        )

    def gap(self, teams: Seats) -> float:
        """Return the freshest meeting of two opponents."""
        tickets = [ticket for team in teams for ticket in team]
        return rule_gap(tickets, self.definition.attribute, self.definition.matches)

    def raw_gaps(self, teams: Seats, roles: RolesByTeam = None) -> tuple[float, ...]:
        """Return the share of the pairs who met in the last `matches` matches, as enemies or not.

        Pairs of one party count as not having met.
        """
        del roles
        tickets = [ticket for team in teams for ticket in team]
        fresh, _ = _pairs(tickets, self.definition.attribute, self.definition.matches)
        pairs = len(fresh) * (len(fresh) - 1)
        return (np.count_nonzero(fresh) / pairs if pairs else 0.0,)

    def pair_gap(self, one: Ticket, two: Ticket) -> float:
        """Return `gap` of the two, which holds in every match with both."""
        if len(one.players) == len(two.players) == 1:
            return duel_gap(one, two, self.definition.attribute, self.definition.matches)
        return rule_gap((one, two), self.definition.attribute, self.definition.matches)

    def names(self, ticket: Ticket, player: Player) -> MatchesAgo:
        """Return the players that a player met, with how many matches ago."""
        return known_of(ticket, player, self.definition.attribute)

    def named_gaps(self, said: Floats, known: Flags) -> Floats:
        """Return how fresh the meeting of two opponents is."""
        ago = met_table(said, known)
        return np.where(ago > 0.0, freshness_table(ago, self.definition.matches), 0.0)

    def named_costs(self, said: Floats, known: Flags) -> tuple[Floats, Flags]:
        """Return how fresh each meeting is, and which were in one team."""
        ago = met_table(said, known)
        return freshness_table(ago, self.definition.matches), ago < 0.0

    @classmethod
    def fault_of_rule_table(cls, table: Mapping[str, Any], wait_end: float | None) -> Fault:
        """Refuse redraws that are missing, too many, or longer than the wait."""
        redraws, every = table.get("redraws"), table.get("every")
        if redraws is None:
            return "redraws", "is missing; it is how often a rematch is refused before it plays"
        if not 1 <= redraws <= REDRAWS_MAX:
            return "redraws", f"must be between 1 and {REDRAWS_MAX}, got {redraws}"
        if every is None:
            if wait_end is not None and wait_end / (redraws + 1) < EVERY_MIN:
                return "redraws", (
                    f"= {redraws} would divide wait_max = {wait_end:g} s into draws less than "
                    f"1e-6 s apart; raise wait_max"
                )
            return None
        if not EVERY_MIN <= every <= 1e7:
            return "every", f"must be between 1e-6 and 1e7 s, got {every}"
        if wait_end is not None and redraws * every >= wait_end:
            return "every", (
                f"= {every:g} s and redraws = {redraws} take {redraws * every:g} s, and wait_max "
                f"is {wait_end:g} s; leave every out to divide the wait evenly"
            )
        return None

    @classmethod
    def expansion_of(cls, table: Mapping[str, Any], wait_end: float | None) -> Expansion:
        """Return the expansion that allows a rematch after all redraws.

        Without `every`, the draws divide the wait up to the deadline evenly, so that a rematch is
        allowed before the ticket ends.
        """
        redraws, every = table["redraws"], table.get("every")
        if every is None:
            every = EVERY if wait_end is None else wait_end / (redraws + 1)
        return after_redraws(redraws, every)

    @classmethod
    def sentence(cls, rule: Rule) -> str:
        """Return what a rule demands, and the instant from which it is lifted."""
        count = "match" if rule.matches == 1 else f"{rule.matches} matches"
        text = f"Players who met as opponents in their last {count} may not meet again"
        wait = lifted_at(rule)
        if wait == math.inf:
            return f"{text}."
        return f"{text} before both have waited {seconds(wait)}."

    @classmethod
    def limit_name(cls, attribute: str, kind: str) -> str:
        """Return the name of a rule of the kind when it keeps a ticket waiting."""
        del attribute, kind
        return "the rule against early rematches"


def after_redraws(redraws: int, every: float) -> Expansion:
    """Return the expansion that lifts a rule after `redraws` draws, one every `every` seconds."""
    return Expansion(steps=((redraws * every, 1.0),))


def redraw_rule(redraws: int, *, every: float, matches: int = 1) -> Rule:
    """Return the rule that draws again several times before it lets opponents meet again.

    A ticket is drawn anew every `every` seconds of its wait. Each time, opponents of its last
    `matches` matches are refused; after `redraws` refusals they are accepted. So a rematch is
    allowed from `redraws * every` seconds of both tickets' waits on. This is exact, never shrinks
    with the wait, and leaves nobody without a match if the same two people are all there is.

    Args:
        redraws: Number of redraws, >= 1.
        every: Seconds between two draws; the policy's own clock if it has one.
        matches: How many of a player's last matches count.

    Source:
        GameDev.net, "1v1 queuing" (2010): "force a redraw (or a few) if you match up players who
        played against each other in the last X matches".
    """
    return Rule("rematch", RECENT, expand=after_redraws(redraws, every), matches=matches)


def met_table(said: Floats, known: Flags) -> Floats:
    """Return `met` of many pairs of players of whom at least one names the other.

    Args:
        said: Shape (2, pairs): matches ago by each memory; inf if it does not name the other.
        known: Shape (2, pairs): whether each remembers anything.
    """
    ago, other_ago = said
    size, other_size = np.abs(ago), np.abs(other_ago)
    is_other = (other_size > size) | ((other_size == size) & (other_ago > ago))
    last = np.where(is_other, other_ago, ago)
    last = np.where(known[0], last, other_ago)
    last = np.where(known[1], last, ago)
    return np.where(known[0] & (ago == np.inf), np.inf, last)


def freshness_table(ago: Floats, matches: int) -> Floats:
    """Return `freshness` of every element."""
    return np.maximum(0.0, (matches + 1 - np.abs(ago)) / matches)
