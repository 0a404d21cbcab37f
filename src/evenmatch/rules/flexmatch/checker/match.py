"""A candidate match for the checker, and the choices for unclear parts of the language.

Numbers become the exact fractions of their decimal notation, so that a distance of 10 is never
slightly more than 10: averages of thirds are compared exactly, and 0.1 + 0.2 is 0.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Literal

import msgspec

from evenmatch.rules.flexmatch.expressions import AttributeType
from evenmatch.rules.flexmatch.rule_set import AttributeValue, RuleSet


class CandidatePlayer(msgspec.Struct, frozen=True, kw_only=True):
    """A player of a ticket.

    Args:
        id: Unique in the match.
        attributes: Those that the ticket gives; defaults are not filled in.
        latencies: Milliseconds by location; None if the ticket gives none.
    """

    id: str
    attributes: Mapping[str, AttributeValue] = {}
    latencies: Mapping[str, float] | None = None


class CandidateTicket(msgspec.Struct, frozen=True, kw_only=True):
    """A ticket: the players of a party, all in one team."""

    id: str
    players: tuple[CandidatePlayer, ...]
    enqueued_at: float = 0.0


class CandidateMatch(msgspec.Struct, frozen=True, kw_only=True):
    """The tickets of each team, by the names of the teams; a missing team has no players."""

    teams: Mapping[str, tuple[CandidateTicket, ...]]

    def tickets(self) -> Iterator[CandidateTicket]:
        """Yield all tickets, team by team."""
        for tickets in self.teams.values():
            yield from tickets


class Readings(msgspec.Struct, frozen=True, kw_only=True):
    """How to interpret what AWS's text leaves open.

    Args:
        party_weight: Whether the merged value of a party is in a list once for each of its
            `players`, so that averages weigh parties by their size, or once for the `ticket`.
        contains: Whether `contains` counts the `players` of a party one by one, each with their
            own collection, or the merged collection of the `ticket` once.
        stddev: Whether the standard deviation is that of the `population` (of one number it is 0)
            or of a `sample` (of one number it is undefined).
    """

    party_weight: Literal["players", "ticket"] = "players"
    contains: Literal["players", "ticket"] = "players"
    stddev: Literal["population", "sample"] = "population"


def exact(number: float) -> Fraction:
    """Return the fraction that the shortest decimal notation of a number denotes.

    >>> exact(0.1) + exact(0.2) == exact(0.3)
    True
    """
    return Fraction(repr(float(number)))


def fault_of_match(rule_set: RuleSet, match: CandidateMatch) -> str | None:
    """Return why something is never a match of a rule set: unknown or duplicate names, gaps."""
    names = rule_set.scope.all_teams()
    for name in match.teams:
        if name not in names:
            return f"there is no team {name!r}; the teams are {', '.join(names)}"
    tickets = [each.id for each in match.tickets()]
    players = [player.id for each in match.tickets() for player in each.players]
    for kind, ids in (("ticket", tickets), ("player", players)):
        double = next((each for each in ids if ids.count(each) > 1), None)
        if double is not None:
            return f"the {kind} {double} is in it twice"
    if not players:
        return "nobody is in it"
    for each in match.tickets():
        if not each.players:
            return f"the ticket {each.id} has no players"
        if not math.isfinite(each.enqueued_at):
            return f"the ticket {each.id} has no time of arrival: {each.enqueued_at}"
        for player in each.players:
            fault = _fault_of_player(rule_set, player)
            if fault is not None:
                return f"the player {player.id} {fault}"
    return None


def _fault_of_player(rule_set: RuleSet, player: CandidatePlayer) -> str | None:
    for attribute in rule_set.attributes:
        value = player.attributes.get(attribute.name, attribute.default)
        if value is None:
            return f"has no {attribute.name}, which has no default"
        if not _fits(value, attribute.type):
            return f"has a {attribute.name} that is no {attribute.type}: {value!r}"
    for place, ms in (player.latencies or {}).items():
        if not _fits(ms, "number"):
            return f"has a latency to {place} that is no number: {ms!r}"
    return None


def _fits(value: object, kind: AttributeType) -> bool:
    if kind == "number":
        return (
            isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        )
    if kind == "string":
        return isinstance(value, str)
    if kind == "string_list":
        return isinstance(value, tuple | list) and all(isinstance(each, str) for each in value)
    return isinstance(value, dict) and all(_fits(each, "number") for each in value.values())
