"""From `[[queue]]` tables to queues.

This module checks what only the file can show: missing keys, and keys that contradict each other.
At the end, `criteria.validation.queue` checks whether the queue can work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from evenmatch.config.constraints import ReadTable, build_criterion, build_rule
from evenmatch.config.tables import QueueTable, ReadingsTable
from evenmatch.criteria.validation.queue import queue_place
from evenmatch.model.checks import Place
from evenmatch.model.queue import Format, Queue
from evenmatch.policies.default_choice import default_policy

if TYPE_CHECKING:
    from evenmatch.rules.flexmatch.checker.match import Readings
    from evenmatch.rules.flexmatch.compile import CompiledRuleSet

    ReadRules = Callable[[str, Readings, Place], CompiledRuleSet]
    """Maps a file's name, readings and the place of its key to the compiled rule set in it."""
REPLACED = (
    "teams", "players", "players_min", "sides", "side_choice", "party_sizes",
)  # fmt: skip
"""Keys whose values a rule set provides."""


class FileReaders(NamedTuple):
    """The functions that read files named by queues."""

    table: ReadTable
    rules: ReadRules


def build_queues(
    tables: tuple[QueueTable, ...], root: Place, read: FileReaders
) -> tuple[Queue, ...]:
    """Return the queues of a file.

    Args:
        tables: The `[[queue]]` tables.
        root: The place of the file.
        read: Reads the files that the queues name.

    Raises:
        ConfigError: A queue contradicts itself, or there are none.
    """
    at = root.at("queue")
    if not tables:
        at.refuse("is missing; a file needs at least one [[queue]]")
    names = [table.name for table in tables]
    for index, name in enumerate(names):
        if name in names[:index]:
            at.at(index).at("name").refuse(f'"{name}" is taken; names must be different')
    return tuple(_build_queue(table, queue_place(table.name), read) for table in tables)


def _build_queue(table: QueueTable, at: Place, read: FileReaders) -> Queue:
    wait_end = None if table.on_deadline == "keep" else table.wait_max
    policy, switchback = table.policy, table.switchback
    if switchback is not None:
        if policy is not None:
            at.at("policy").refuse("contradicts switchback, which names the policies: leave it out")
        policy = switchback.policies[0]
    given = {key: getattr(table, key) for key in Queue.__struct_fields__}
    given |= {
        "format": build_format(table, at),
        "criteria": tuple(
            build_criterion(each, at.at("criteria").at(i), read.table)
            for i, each in enumerate(table.criteria)
        ),
        "rules": tuple(
            build_rule(each, at.at("rules").at(i), read.table, wait_end)
            for i, each in enumerate(table.rules)
        ),
        "policy": policy or "greedy",
    }
    queue = Queue(**given)
    if table.rules_file is None and table.rules_readings is not None:
        at.at("rules_readings").refuse("says how to read a rules_file, but the queue has none")
    if table.rules_file is not None:
        queue = _ruled(queue, table, at, read.rules)
    if policy is None:
        return msgspec.structs.replace(queue, policy=default_policy(queue))
    return queue


def _ruled(queue: Queue, table: QueueTable, at: Place, read: ReadRules) -> Queue:
    """Return a queue with the format, rules and criteria of its rule set."""
    empty = QueueTable()
    for key in REPLACED:
        if getattr(table, key) != getattr(empty, key):
            at.at(key).refuse("contradicts rules_file, which already says this: leave it out")
    if table.roles:
        at.at("roles").refuse(
            "does not go with rules_file, which says who is in a team: let a rule count who plays "
            "what, or write teams and rules here and leave rules_file out"
        )
    # Imported here, since most files name no rule set.
    from evenmatch.rules.flexmatch.checker.match import Readings
    from evenmatch.rules.flexmatch.compile import RULES_MAX, join_conditions

    assert table.rules_file is not None
    if len(queue.rules) >= RULES_MAX:
        allowed = f"at most {RULES_MAX - 1} entries beside a rules_file"
        at.at("rules").refuse(f"must have {allowed}, got {len(queue.rules)}")
    given = table.rules_readings or ReadingsTable()
    readings = Readings(**msgspec.structs.asdict(given))
    ruled = read(table.rules_file, readings, at.at("rules_file")).queue(queue)
    rules = (*join_conditions(ruled.rules, RULES_MAX - len(queue.rules)), *queue.rules)
    return msgspec.structs.replace(ruled, rules=rules, criteria=queue.criteria or ruled.criteria)


def build_format(table: QueueTable, at: Place) -> Format:
    """Return the format of matches.

    `teams` alone means one player per team; a number of `players` alone means two teams of that
    size, and a list of them gives the teams; without both, a match is one against one.
    """
    if table.party_sizes == ():
        at.at("party_sizes").refuse("must admit at least one size; leave it out to admit all")
    players = _players(table, at)
    least = _players_min(table, players, at.at("players_min"))
    if table.roles == {}:
        at.at("roles").refuse("must name at least one role; leave it out for a game without roles")
    roles = tuple((table.roles or {}).items())
    return Format(players, table.sides, table.party_sizes or (), least, roles, table.side_choice)


def _players_min(table: QueueTable, players: tuple[int, ...], at: Place) -> tuple[int, ...]:
    """Return the fewest players by team; none if only full matches start."""
    given = table.players_min
    if isinstance(given, int):
        if not 0 <= given <= min(players):
            at.refuse_value(f"between 0 and {min(players):,}", given)
        given = (given,) * len(players)
    elif given == ():
        at.refuse("must give a number for each team; leave it out to start full matches only")
    return () if given is None or given == players else given


def _players(table: QueueTable, at: Place) -> tuple[int, ...]:
    """Return the seats by team."""
    if isinstance(table.players, tuple):
        if table.teams is not None and table.teams != len(table.players):
            given = f"{len(table.players)} entries and teams = {table.teams}"
            at.at("players").refuse(f"has {given}; make them equal")
        return table.players
    teams = 2 if table.teams is None else table.teams
    players = 1 if table.players is None else table.players
    return (players,) * teams
