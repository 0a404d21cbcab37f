"""Rules of PlayFab for which one of our kinds means the same, or nearly the same.

Our kinds compare players, work with every policy, and only widen. So a rule means the same only if
tickets are single players, all have its attribute, and its expansion only loosens it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from evenmatch.criteria.base import Form, NumberGap
from evenmatch.criteria.registry import kind_with
from evenmatch.lab.imports.report import TakenLine
from evenmatch.rules.playfab.compile import attribute_in, large_from, sizes_of
from evenmatch.rules.playfab.queue import (
    DifferenceRule,
    MatchTotalRule,
    PlayFabQueue,
    PlayFabRule,
    RegionSelectionRule,
    SetIntersectionRule,
    StringEqualityRule,
    TeamDifferenceRule,
    TeamSizeBalanceRule,
    ages_of,
    only_loosens,
    values_at,
)

WIDEST = kind_with(Form.NUMBERS, NumberGap.WIDEST)
TEAMS = kind_with(Form.NUMBERS, NumberGap.TEAMS)
WORD, SETS = kind_with(Form.WORD), kind_with(Form.SETS)
PLACES, PARTIES = kind_with(Form.PLACES), kind_with(Form.PARTIES)
LIFTED = 1e15
"""A limit of numbers that forbids nothing."""
LIFTED_MS = 1e6
STEPS_MAX = 100
"""Most steps of one of our rules."""
Table = dict[str, object]


class KindRule(NamedTuple):
    """A rule as one of our kinds.

    Args:
        taken: How closely it means the same.
        table: The keys of `[[queue.rules]]`; None if nothing is left to require.
        note: What differs, and what to do.
    """

    taken: TakenLine
    table: Table | None = None
    note: str = ""


def is_solo(queue: PlayFabQueue) -> bool:
    """Return whether every ticket is one player."""
    return queue.ticket_max == 1


def format_taken(queue: PlayFabQueue) -> tuple[TakenLine, str]:
    """Return how closely our formats describe the sizes of matches, and what differs."""
    least, most = sizes_of(queue)
    if queue.players_min > sum(least) or queue.players_max < sum(most):
        return "approximately", "only the sizes of teams hold, not MinMatchSize and MaxMatchSize"
    if queue.teams and not all(least):
        return "approximately", "every team has a player at least, since our formats want it so"
    is_alone = sum(size > 0 for size in least) < 2 and queue.ticket_max >= queue.players_min
    if is_alone and not is_solo(queue):
        return "approximately", "a party that fills a match is one by itself"
    return "exactly", ""


def format_table(queue: PlayFabQueue) -> Table:
    """Return the keys of a queue that say who fits into a match."""
    least, most = sizes_of(queue)
    largest = min(queue.ticket_max, max(most))
    table: Table = {}
    if not queue.teams and is_solo(queue) and least == most:
        return {"teams": most[0], "players": 1}
    table["players"] = list(most)
    if least != most:
        table["players_min"] = [max(1, size) for size in least]
    if queue.teams:
        table["sides"] = [team.name for team in queue.teams]
    if largest < max(most):
        table["party_sizes"] = list(range(1, largest + 1))
    return table


def kind_rule(queue: PlayFabQueue, rule: PlayFabRule, wait_max: float | None = None) -> KindRule:
    """Return what a rule becomes as a rule of a kind of ours.

    Args:
        queue: Its queue.
        rule: The rule.
        wait_max: Seconds after which a ticket ends, so that nothing later counts.
    """
    if isinstance(rule, MatchTotalRule):
        note = "no kind adds a number up over a match; use roles, or --target rules_file"
        return KindRule("not at all", None, note)
    if isinstance(rule, TeamSizeBalanceRule):
        return _of_balance(queue, rule)
    if type(rule).__name__ == "TeamTicketSizeSimilarityRule":
        if is_solo(queue) and large_from(queue) > 1:
            return KindRule("exactly", None, "nothing to demand: all tickets are single players")
        note = f"{PARTIES} compares all party sizes of the teams, not only large ones"
        return KindRule("approximately", {"kind": PARTIES, "limit": 0.5}, note)
    values = values_at(rule, 0.0)
    if all(values_at(rule, age) is None for age in ages_of(rule)):
        return KindRule("exactly", None, "nothing to demand: it is not active at any age")
    if not only_loosens(rule) or values is None:
        note = "rules of our own only widen, and this one begins later or shrinks"
        return KindRule("not at all", None, f"{note}; use --target rules_file")
    table, notes = _table(queue, rule, values)
    if table is not None:
        table, cut = _until(table, math.inf if wait_max is None else wait_max)
        notes += cut
    attribute = attribute_in(rule)
    if attribute is not None and attribute.missing != "needed" and table is not None:
        notes.append("a ticket without the attribute is refused")
    return KindRule("approximately" if notes else "exactly", table, "; ".join(notes))


def _until(table: Table, wait_max: float) -> tuple[Table, list[str]]:
    """Return a rule without steps that no ticket reaches, and what is lost.

    At the instant at which a ticket ends, a step would still count; our rules have no such step.

    >>> _until({"limit": 1.0, "expand": {"steps": [[5.0, 2.0], [90.0, 3.0]]}}, 60.0)
    ({'limit': 1.0, 'expand': {'steps': [[5.0, 2.0]]}}, [])
    """
    expand = table.get("expand")
    if not isinstance(expand, dict):
        return table, []
    steps = [step for step in expand["steps"] if step[0] < wait_max]
    kept: Table = {key: value for key, value in table.items() if key != "expand"}
    if steps:
        kept["expand"] = {"steps": steps[:STEPS_MAX]}
    lost = [f"only the first {STEPS_MAX} steps are kept"] if len(steps) > STEPS_MAX else []
    if any(step[0] == wait_max for step in expand["steps"]):
        lost.append(f"the step at {wait_max:g} s, where tickets end, is left out")
    return kept, lost


def _of_balance(queue: PlayFabQueue, rule: TeamSizeBalanceRule) -> KindRule:
    least, most = sizes_of(queue)
    values = [values_at(rule, age) for age in ages_of(rule)]
    apart = max(most) - min(least)
    if all(each is None or each[0] >= apart for each in values):
        return KindRule("exactly", None, "nothing to demand: the sizes of the teams say it already")
    note = "no kind compares the sizes of teams; use --target rules_file"
    return KindRule("not at all", None, note)


def _table(
    queue: PlayFabQueue, rule: PlayFabRule, values: tuple[float, ...]
) -> tuple[Table | None, list[str]]:
    """Return the keys of a rule, and in what it differs."""
    notes: list[str] = []
    attribute = attribute_in(rule)
    name = "" if attribute is None else attribute.name
    if isinstance(rule, RegionSelectionRule):
        table: Table = {"kind": PLACES, "pairs": "region", "limit": min(values[0], LIFTED_MS)}
        if _lifted(rule) is not None:
            notes.append("players without any region in common never meet")
        return table | _steps(rule, LIFTED_MS), notes
    if isinstance(rule, StringEqualityRule):
        return {"kind": WORD, "attribute": name} | _lift(rule), notes
    if isinstance(rule, SetIntersectionRule):
        if not values[0]:
            return None, notes
        if values[0] > 1:
            notes.append(f"one element in common is enough, not {values[0]:g}")
        return {"kind": SETS, "attribute": name} | _lift(rule), notes
    if isinstance(rule, TeamDifferenceRule):
        table = {"kind": TEAMS, "attribute": name, "measure": "mean"}
        table["limit"] = min(values[0], LIFTED)
        return table | _steps(rule, LIFTED), _rounded(queue, rule)
    assert isinstance(rule, DifferenceRule)
    notes += _rounded(queue, rule)
    if not is_solo(queue):
        notes.append("each player of a party counts by themselves, not the party's merged value")
    table = {"kind": WIDEST, "attribute": name, "limit": min(values[0], LIFTED)}
    return table | _steps(rule, LIFTED), notes


def _rounded(queue: PlayFabQueue, rule: DifferenceRule | TeamDifferenceRule) -> list[str]:
    """Return where rounding may decide about a difference at the limit, in whole numbers."""
    if isinstance(rule, TeamDifferenceRule):
        sizes = {n for few, many in zip(*sizes_of(queue), strict=True) for n in (few, many)}
        if max(sizes) > 2 and (len(sizes) > 1 or max(sizes).bit_count() > 1):
            return ["averages are rounded, which may decide at the limit"]
    limits = [value for age in ages_of(rule) for value in values_at(rule, age) or ()]
    if all(float(limit).is_integer() for limit in limits):
        return []
    return ["decimals are rounded, which may decide at the limit"]


def _lifted(rule: PlayFabRule) -> float | None:
    """Return the age from which on a rule requires nothing; None if there is none."""
    return next((age for age in ages_of(rule) if values_at(rule, age) is None), None)


def _lift(rule: PlayFabRule) -> Table:
    """Return when a rule that is kept or broken is lifted: also when it demands no element."""
    ages = [age for age in ages_of(rule) if not any(values_at(rule, age) or (0.0,))]
    return {"expand": {"steps": [[ages[0], 1.0]]}} if ages else {}


def _steps(rule: PlayFabRule, lifted: float) -> Table:
    """Return the steps of a limit."""
    steps: list[list[float]] = []
    before = (values_at(rule, 0.0) or (lifted,))[0]
    for age in ages_of(rule)[1:]:
        value = min((values_at(rule, age) or (lifted,))[0], lifted)
        if value > before:
            steps.append([age, value])
            before = value
    return {"expand": {"steps": steps}} if steps else {}
