"""How many players of one household are in a match: the rule `household_limit`.

The attribute (`household` unless the queue names another) names what players share: a home, a
device, a payment card, or a squad (`party`) whose members queue alone for a match of everyone
against everyone. A set means several such keys; a player without the attribute shares nothing.

`pairs` says where a household's players are counted: `all` in the whole match, `teammates` in one
team, and `enemies` in the whole match, but only if they are in different teams; with `enemies`,
`limit = 1` means that a household may play together and never against itself.

Source:
    Wu, Dynamic Matching with Teams, footnotes on teaming and boosting: a lobby that is full of one
    person's friends or accounts is no contest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise

import numpy as np

from evenmatch.criteria.base import Comparison, Form, Keys, Limit, Seats
from evenmatch.criteria.relation import are_surely, is_by_team, pairs_within
from evenmatch.criteria.scales import Floats
from evenmatch.criteria.sentences import number, widening
from evenmatch.criteria.team_packing import Orders
from evenmatch.criteria.values import elements
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import NewTicket, Player, Ticket, Value, attribute_of


class HouseholdLimit(Comparison):
    """The most players of one household that count together."""

    rule_keys = Keys(("attribute", "limit", "pairs", "expand", "accept"))
    attribute = "household"
    limit = Limit("how many players of one household a match may have", 100.0, True)
    pairs_allowed = ("enemies", "teammates", "all")
    form = Form.SHARED

    def __init__(self, definition: Criterion | Rule, queue: Queue) -> None:
        super().__init__(definition, queue)
        self.pairs = pairs_within(definition.pairs or self.pairs_default, queue.format)
        self.is_by_team = is_by_team(self.pairs)

    @staticmethod
    def problem(value: Value | None) -> str | None:
        """Return what is wrong with a household; a missing one is fine."""
        return "must be a name or a set of names, got a map" if isinstance(value, dict) else None

    def gap(self, teams: Seats) -> float:
        """Return the most players of one household, counted as `pairs` says."""
        counts = [self._households(team) for team in teams]
        if self.pairs == "teammates":
            return float(max((max(own.values(), default=0) for own in counts), default=0))
        total = sum(counts, Counter[str]())
        if self.pairs == "enemies":
            own = [count for key, count in total.items() if all(c[key] < count for c in counts)]
            return float(max(own, default=0))
        return float(max(total.values(), default=0))

    def gap_table(self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]) -> Floats:
        """Return `gap` of many divisions."""
        if not self.is_by_team:
            return super().gap_table(tickets, orders, layout)
        people = [self._keys(t, p) for t in tickets for p in t.players]
        largest: Floats = np.zeros(len(orders))
        for key in self._households(tickets):
            shares = np.array([key in own for own in people], dtype=np.float64)[orders]
            starts = np.cumsum([0, *layout])
            by_team = np.array([shares[:, a:b].sum(axis=1) for a, b in pairwise(starts.tolist())])
            most = by_team.max(axis=0)
            if self.pairs == "enemies":
                total = by_team.sum(axis=0)
                most = np.where(most < total, total, 0.0)
            np.maximum(largest, most, out=largest)
        return largest

    def pair_gap(self, one: Ticket, two: Ticket) -> float:
        """Return `gap` of the two if it does not depend on the rest of the match, else 0."""
        if self.pairs == "all":
            return self.gap(((one, two),))
        if are_surely(self.pairs, self.queue.format, one, two):
            return self.gap(((one,), (two,)))
        return 0.0

    def gap_max(self, tickets: Sequence[Ticket]) -> float:
        """Return the players of the largest household."""
        return float(max(self._households(tickets).values(), default=0))

    def gap_alone(self, ticket: Ticket | NewTicket) -> float:
        """Return the gap that a party causes in every match that it is in."""
        if self.pairs == "enemies" or len(ticket.players) == 1:
            return 0.0
        return float(max(self._households((ticket,)).values(), default=0))

    def hopeless(self, ticket: Ticket | NewTicket, when: Callable[[float], float]) -> str | None:
        """Return that a party exceeds the limit by itself, if it does."""
        gap = self.gap_alone(ticket)
        if gap > 1.0 and when(gap) == math.inf:
            rule = self.definition
            assert isinstance(rule, Rule)
            return (
                f"{gap:g} players of the party share {rule.attribute}, a match takes {rule.limit:g}"
            )
        return None

    @classmethod
    def sentence(cls, rule: Rule) -> str:
        """Return what a rule demands, how it widens, and who must accept."""
        limit, pairs = number(rule.limit), rule.pairs or cls.pairs_default
        if pairs == "enemies":
            text = (
                f"Players who share a {rule.attribute} are in one team, or at most {limit} of them "
                "play in one match"
            )
        else:
            where = "in one team" if pairs == "teammates" else "in one match"
            text = f"No more than {limit} of the players who share a {rule.attribute} play {where}"
        return widening(rule, text)

    @classmethod
    def limit_name(cls, attribute: str, kind: str) -> str:
        """Return the name of a rule of the kind when it keeps a ticket waiting."""
        del kind
        return f"a limit on players who share a {attribute}"

    def _households(self, tickets: Iterable[Ticket | NewTicket]) -> Counter[str]:
        """Return how many of the players share each key."""
        return Counter(key for t in tickets for p in t.players for key in self._keys(t, p))

    def _keys(self, ticket: Ticket | NewTicket, player: Player) -> Collection[str]:
        return elements(attribute_of(ticket, player, self.definition.attribute))
