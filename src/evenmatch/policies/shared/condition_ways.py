"""The ways in which a match can meet the conditions of a queue.

Where conditions are joined by `or`, a search that keeps all parts in mind at once can rule out next
to nothing. So each part is a way of its own: its tests all have to hold, they say who may play with
whom, and how many players a match has.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import NamedTuple

from evenmatch.criteria.condition.ages import Conditions
from evenmatch.criteria.condition.partial_match import Outlook, PartialMatch
from evenmatch.criteria.condition.value_bounds import ANYTHING
from evenmatch.criteria.condition.verdicts import Statement
from evenmatch.model.queue import Format

WAYS_MAX = 8
"""Ways in one piece of the age; with more of them all are one."""
SIZES_MAX = 2_000
"""Sizes of teams that are tried one by one."""


class Way(NamedTuple):
    """One way to meet all conditions.

    Args:
        piece: The piece of the match's age.
        statements: What has to hold; other ways have other statements.
        least: Fewest players of each team.
        most: Most players of each.
        fewest: Fewest players of all teams together.
        fullest: Most of all together.
    """

    piece: int
    statements: tuple[Statement, ...]
    least: tuple[int, ...]
    most: tuple[int, ...]
    fewest: int
    fullest: int


def ways_of(conditions: Conditions, form: Format, outlook: Outlook) -> tuple[tuple[Way, ...], ...]:
    """Return the ways of each piece of the age, the one with the fullest matches first.

    Args:
        conditions: Those of a queue.
        form: Its teams.
        outlook: Asked which sizes of teams can pass.
    """
    found: list[tuple[Way, ...]] = []
    for piece, statements in enumerate(conditions.statements):
        sizes = conditions.sizes_in(piece) or (form.least_players, form.players)
        ways = [
            Way(piece, way, *narrowed)
            for way in _joined(statements)
            if (narrowed := _sizes(way, *sizes, outlook)) is not None
        ]
        ways.sort(key=lambda way: -sum(way.most))
        found.append(tuple(ways))
    return tuple(found)


def _joined(statements: Sequence[Statement]) -> list[tuple[Statement, ...]]:
    """Return lists of statements of which one holds whole just if all these do."""
    ways: list[tuple[Statement, ...]] = [()]
    for statement in statements:
        own = _parts(statement)
        if len(ways) * len(own) > WAYS_MAX:
            own = [(statement,)]
        ways = [(*way, *part) for way in ways for part in own]
    return [tuple(dict.fromkeys(way)) for way in ways]


def _parts(statement: Statement) -> list[tuple[Statement, ...]]:
    if statement.join == "or":
        return [way for part in statement.parts for way in _parts(part)]
    if statement.join == "and":
        return _joined(statement.parts)
    return [(statement,)]


def _sizes(
    statements: Sequence[Statement], least: Sequence[int], most: Sequence[int], outlook: Outlook
) -> tuple[tuple[int, ...], tuple[int, ...], int, int] | None:
    """Return the fewest and most players of each team, and those of all together.

    They are those with which statements may hold at all; None if there are none.
    """
    ranges = [range(low, high + 1) for low, high in zip(least, most, strict=True)]
    if prod(map(len, ranges)) > SIZES_MAX:
        return tuple(least), tuple(most), max(1, sum(least)), sum(most)
    able = [each for each in product(*ranges) if _can_be(statements, each, outlook)]
    if not able:
        return None
    teams = [*zip(*able, strict=True)]
    players = [*map(sum, able)]
    return tuple(map(min, teams)), tuple(map(max, teams)), min(players), max(players)


def _can_be(statements: Sequence[Statement], sizes: Sequence[int], outlook: Outlook) -> bool:
    facts = outlook.facts
    partial = PartialMatch(sizes, sizes, facts.count, facts.map_count)
    partial.look_ahead(sum(sizes), (ANYTHING,) * facts.count)
    return sum(sizes) > 0 and outlook.can_pass(statements, partial)
