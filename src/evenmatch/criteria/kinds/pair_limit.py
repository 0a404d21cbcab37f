"""How often the same two players are put into one match: the rule `pair_limit`.

The memory is an attribute of the ticket (`meetings` unless the queue names another): a map from
player id to how many matches the two have had within the last `within` seconds. The engine fills it
in when it accepts the ticket, and updates it during the wait whenever a match becomes too old to
count. If the two memories differ, the larger count is used, so nobody evades the rule by
forgetting.

The gap between two players is the number of matches including this one, so the limit means what it
says: with `limit = 2` a third match is refused.

Source:
    Wu, Dynamic Matching with Teams, footnotes on sniping and on fixed matches: players who can meet
    a chosen opponent again and again can trade wins with them, or hunt them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from evenmatch.criteria.base import Flags, Form, Keys, Limit
from evenmatch.criteria.kinds.worst_pair import WorstPair
from evenmatch.criteria.relation import Seat
from evenmatch.criteria.scales import Floats
from evenmatch.criteria.sentences import number, seconds, widening
from evenmatch.model.queue import Rule
from evenmatch.model.ticket import Player, Ticket, Value, attribute_of

MET = {
    "enemies": "as enemies",
    "teammates": "in one team",
    "all": "in one match",
}


def met_before(ticket: Ticket, player: Player, other: str, attribute: str) -> float:
    """Return how many matches a player remembers with another one."""
    value = attribute_of(ticket, player, attribute)
    return value.get(other, 0.0) if isinstance(value, dict) else 0.0


class PairLimit(WorstPair):
    """How many matches two players have had, this one included; 0 if it is their first."""

    rule_keys = Keys(("attribute", "limit", "within", "pairs", "expand", "accept"))
    attribute = "meetings"
    limit = Limit(
        "how many matches two players may have within a day, or within `within` seconds", 20.0, True
    )
    memory = "meetings"
    form = Form.NAMES

    @staticmethod
    def problem(value: Value | None) -> str | None:
        """Return what is wrong with a memory; a missing one is fine."""
        if value is None:
            return None
        if not isinstance(value, dict):
            return "must be a map from player id to a number of matches"
        if any(count < 0.0 for count in value.values()):
            return f"must count matches from 0, got {min(value.values()):g}"
        return None

    def between(self, first: Seat, second: Seat) -> float:
        """Return how many matches the two have had including this one; 0 if they never met."""
        (_, ticket, one), (_, other, two) = first, second
        name = self.definition.attribute
        count = max(
            met_before(ticket, one, two.id, name),
            met_before(other, two, one.id, name),
        )
        return count + 1.0 if count else 0.0

    def names(self, ticket: Ticket, player: Player) -> Collection[str] | None:
        """Return the players that a player remembers, with the number of matches."""
        value = attribute_of(ticket, player, self.definition.attribute)
        return value if isinstance(value, dict) else None

    def named_gaps(self, said: Floats, known: Flags) -> Floats:
        """Return how many matches each pair has had including this one."""
        del known
        # A player who does not name the other remembers no match with them.
        count = np.where(np.isinf(said), 0.0, said).max(axis=0)
        return np.where(count > 0.0, count + 1.0, 0.0)

    @classmethod
    def sentence(cls, rule: Rule) -> str:
        """Return what a rule demands, how it widens, and who must accept."""
        how = MET[rule.pairs or cls.pairs_default]
        text = f"Two players meet {how} at most {number(rule.limit)} times within"
        return widening(rule, f"{text} {seconds(rule.within)}, by {rule.attribute}")

    @classmethod
    def limit_name(cls, attribute: str, kind: str) -> str:
        """Return the name of a rule of the kind when it keeps a ticket waiting."""
        del attribute, kind
        return "a limit on matches of the same two players"

    def gap_max(self, tickets: Sequence[Ticket]) -> float:
        """Return one more than the largest number of matches of any two."""
        name = self.definition.attribute
        known = [attribute_of(t, p, name) for t in tickets for p in t.players]
        counts = [max(value.values(), default=0.0) for value in known if isinstance(value, dict)]
        return 1.0 + max(counts, default=0.0)
