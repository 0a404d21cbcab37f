"""The kinds that compare words and sets of words: `same`, `overlap` and `avoid`.

As rules, they have a gap of 0 (fulfilled) or 1, so steps such as [[60, 1]] lift them. As criteria,
`same` and `overlap` cost the share of pairs that differ or have nothing in common.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import combinations
from typing import TypeVar

import numpy as np

from evenmatch.criteria.base import Comparison, Flags, Form, Gap, Keys, RolesByTeam, Seats
from evenmatch.criteria.kinds.worst_pair import WorstPair
from evenmatch.criteria.relation import Seat
from evenmatch.criteria.scales import Floats
from evenmatch.criteria.sentences import rule_sentence
from evenmatch.criteria.values import elements
from evenmatch.model.queue import Rule
from evenmatch.model.ticket import Player, Ticket, Value, attribute_of

Each = TypeVar("Each")
MET = {
    "enemies": "meets as an enemy",
    "teammates": "has as a teammate",
    "all": "meets",
}


class Same(Comparison):
    """Whether all players have the same value."""

    criterion_keys = Keys(("attribute", "weight"))
    rule_keys = Keys(("attribute", "expand", "accept"))
    form = Form.WORD
    is_kept = True
    gap_most = 1.0
    compared = "the share of its pairs that differ in {}"
    raw = (Gap("pairs who differ", "%"),)

    @staticmethod
    def problem(value: Value | None) -> str | None:
        """Return what is wrong with a value: it must exist, and may be anything."""
        return "is missing" if value is None else None

    def cost(self, teams: Seats) -> float:
        """Return the share of pairs of players whose values differ."""
        return _share(self._values(teams), lambda one, two: one != two)

    def gap(self, teams: Seats) -> float:
        """Return 0 if all values are equal, else 1."""
        values = self._values(teams)
        return 0.0 if all(value == values[0] for value in values) else 1.0

    def raw_gaps(self, teams: Seats, roles: RolesByTeam = None) -> tuple[float, ...]:
        """Return the share of pairs that differ, which is also the cost as a criterion."""
        del roles
        return (self.cost(teams),)

    def pair_gap(self, one: Ticket, two: Ticket) -> float:
        """Return `gap` of the two: if they differ, they differ in every match."""
        return self.gap(((one,), (two,)))

    @classmethod
    def sentence(cls, rule: Rule) -> str:
        """Return what a rule demands, and the instant from which it is lifted."""
        return rule_sentence(rule, f"All players of a match have the same {rule.attribute}")

    @classmethod
    def limit_name(cls, attribute: str, kind: str) -> str:
        """Return the name of a rule of the kind when it keeps a ticket waiting."""
        del kind
        return f"the rule that {attribute} be the same"

    @classmethod
    def warning_without_deadline(cls, rule: Rule) -> str:
        """Return a warning that some may wait for ever."""
        del rule
        return "no deadline: a ticket whose value nobody shares waits for ever"

    def _values(self, teams: Seats) -> list[Value | None]:
        name = self.definition.attribute
        return [attribute_of(t, p, name) for team in teams for t in team for p in t.players]


class Overlap(Same):
    """Whether all players have an element in common."""

    form = Form.SETS
    compared = "the share of its pairs without a common element of {}"
    raw = (Gap("pairs with nothing in common", "%"),)

    def cost(self, teams: Seats) -> float:
        """Return the share of pairs of players without a common element."""
        return _share([set(elements(value)) for value in self._values(teams)], set.isdisjoint)

    def gap(self, teams: Seats) -> float:
        """Return 0 if there is an element that everybody has, else 1."""
        values = [elements(value) for value in self._values(teams)]
        return 0.0 if set(values[0]).intersection(*values[1:]) else 1.0

    @classmethod
    def sentence(cls, rule: Rule) -> str:
        """Return what a rule demands, and the instant from which it is lifted."""
        return rule_sentence(
            rule, f"All players of a match have an element of {rule.attribute} in common"
        )

    @classmethod
    def limit_name(cls, attribute: str, kind: str) -> str:
        """Return the name of a rule of the kind when it keeps a ticket waiting."""
        del kind
        return f"the rule that {attribute} have something in common"

    @classmethod
    def warning_without_deadline(cls, rule: Rule) -> str:
        """Return a warning that some may wait for ever."""
        return never_lifted(rule)


class Avoid(WorstPair):
    """Whether any player meets a player whom one of the two lists."""

    rule_keys = Keys(("attribute", "pairs", "expand", "accept"))
    attribute = "avoid"
    form = Form.NAMES
    is_kept = True
    is_list_of_players = True
    gap_most = 1.0

    @staticmethod
    def problem(value: Value | None) -> str | None:
        """Return what is wrong with a list; a missing one is fine."""
        if isinstance(value, dict):
            return "must be a set of player ids, got a map"
        return None

    def between(self, first: Seat, second: Seat) -> float:
        """Return 1 if one lists the other, else 0."""
        (_, ticket, one), (_, other, two) = first, second
        name = self.definition.attribute
        return float(
            two.id in elements(attribute_of(ticket, one, name))
            or one.id in elements(attribute_of(other, two, name))
        )

    def names(self, ticket: Ticket, player: Player) -> Collection[str]:
        """Return the players that a player lists."""
        return elements(attribute_of(ticket, player, self.definition.attribute))

    def named_gaps(self, said: Floats, known: Flags) -> Floats:
        """Return 1 for each pair."""
        del known
        return np.ones(said.shape[1])

    @classmethod
    def sentence(cls, rule: Rule) -> str:
        """Return what a rule demands, and the instant from which it is lifted."""
        how = MET.get(rule.pairs or cls.pairs_default, "")
        return rule_sentence(rule, f"Nobody {how} a player whom either lists in {rule.attribute}")

    @classmethod
    def limit_name(cls, attribute: str, kind: str) -> str:
        """Return the name of a rule of the kind when it keeps a ticket waiting."""
        del kind
        return f"the list of players to avoid ({attribute})"

    @classmethod
    def warning_without_deadline(cls, rule: Rule) -> str:
        """Return a warning that some may wait for ever."""
        return never_lifted(rule)


def never_lifted(rule: Rule) -> str:
    """Return a warning that a rule without a lift may keep some waiting for ever."""
    return f"no deadline, and the rule {rule.kind} is never lifted: some may wait for ever"


def _share(values: Sequence[Each], is_apart: Callable[[Each, Each], bool]) -> float:
    """Return the share of pairs that differ; 0 without any pair."""
    found = [is_apart(one, two) for one, two in combinations(values, 2)]
    return sum(found) / len(found) if found else 0.0
