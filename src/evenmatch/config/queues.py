"""From `[[queue]]` tables to queues.

Here is asked what only the file can tell: keys that are missing, or that contradict each other.
Whether a queue can work is the question of `criteria.validation.queue`, which is asked at the end.
"""

from __future__ import annotations

from typing import cast, get_args

import msgspec
from msgspec.structs import asdict

from evenmatch.config.constraints import ReadTable, build_criterion, build_rule
from evenmatch.config.decode import Place, seconds_of
from evenmatch.config.shapes import HandicapShape, QueueShape, SwitchbackShape
from evenmatch.model.queue import (
    Backfill,
    Format,
    Handicap,
    OnDeadline,
    Queue,
    ReadyCheck,
    SideChoice,
    Switchback,
)
from evenmatch.policies.default_choice import default_policy

QUEUES_MAX = 100
SEATS_MAX = 1000
NAME_LENGTH_MAX = 64


def build_queues(
    shapes: tuple[QueueShape, ...], root: Place, read_table: ReadTable
) -> tuple[Queue, ...]:
    """Return the queues of a file.

    Args:
        shapes: The `[[queue]]` tables.
        root: The place of the file.
        read_table: Reads the tables of percentiles.

    Raises:
        ConfigError: A queue contradicts itself, or there are none or too many.
    """
    at = root.at("queue")
    if not shapes:
        at.refuse("is missing; a file needs at least one [[queue]]")
    if len(shapes) > QUEUES_MAX:
        at.refuse(f"must be given at most {QUEUES_MAX} times, got {len(shapes)}")
    names: set[str] = set()
    for index, shape in enumerate(shapes):
        here = at.at(index).at("name")
        if len(shape.name) > NAME_LENGTH_MAX:
            here.refuse_value(f"at most {NAME_LENGTH_MAX} characters long", shape.name)
        if shape.name in names:
            here.refuse(f'"{shape.name}" is taken; names must be different')
        names.add(shape.name)
    return tuple(_build_queue(shape, queue_place(root, shape.name), read_table) for shape in shapes)


def queue_place(root: Place, name: str) -> Place:
    """Return the place of a queue: `queue "duel"`."""
    name = name if name.isprintable() else repr(name)[1:-1]
    return Place(f'{root.at("queue").text} "{name}"')


def _build_queue(shape: QueueShape, at: Place, read_table: ReadTable) -> Queue:
    on_deadline = at.at("on_deadline").one_of(shape.on_deadline, get_args(OnDeadline))
    if shape.backfill is not None:
        at.at("backfill").one_of(shape.backfill, get_args(Backfill))
    wait_max = _read(shape.wait_max, at.at("wait_max"))
    wait_end = None if on_deadline == "keep" else wait_max
    switchback = None if shape.switchback is None else _switchback(shape.switchback)
    if switchback is not None and shape.policy is not None:
        at.at("policy").refuse("contradicts switchback, which names the policies: leave it out")
    queue = Queue(
        name=shape.name,
        format=build_format(shape, at),
        criteria=tuple(
            build_criterion(each, at.at("criteria").at(i), read_table)
            for i, each in enumerate(shape.criteria)
        ),
        rules=tuple(
            build_rule(each, at.at("rules").at(i), read_table, wait_end)
            for i, each in enumerate(shape.rules)
        ),
        wait_max=wait_max,
        wait_price=shape.wait_price,
        target_wait=_target_wait(shape, at),
        on_deadline=cast("OnDeadline", on_deadline),
        policy="greedy" if shape.policy is None else shape.policy,
        group=shape.group,
        exclusive_match=shape.exclusive_match,
        match_max=shape.match_max,
        attributes=shape.attributes,
        handicap=None if shape.handicap is None else _handicap(shape.handicap),
        backfill=cast("Backfill | None", shape.backfill),
        allocation=shape.allocation,
        silent_after=_read(shape.silent_after, at.at("silent_after")),
        accept=None if shape.accept is None else ReadyCheck(**asdict(shape.accept)),
        shadow=shape.shadow,
        switchback=switchback,
        rating=shape.rating,
        rating_period=shape.rating_period,
        ladder=shape.ladder,
        commit_jitter=shape.commit_jitter,
    )
    if switchback is not None and switchback.policies:
        return msgspec.structs.replace(queue, policy=switchback.policies[0])
    if shape.policy is None:
        return msgspec.structs.replace(queue, policy=default_policy(queue))
    return queue


def _read(given: float | str | None, at: Place) -> float | None:
    """Return the seconds that a text says; what a number may be, the queue says itself."""
    return seconds_of(given, at) if isinstance(given, str) else given


def _target_wait(shape: QueueShape, at: Place) -> float | None:
    if shape.target_wait is not None and shape.wait_price is not None:
        at.at("target_wait").refuse(
            "contradicts wait_price: a target sets the price of waiting by itself; leave one out"
        )
    given = shape.target_wait
    return None if given is None else seconds_of(given, at.at("target_wait"))


def _handicap(shape: HandicapShape) -> Handicap:
    return Handicap(shape.factor, shape.max, shape.step, shape.attribute)


def _switchback(shape: SwitchbackShape) -> Switchback:
    return Switchback(shape.policies, shape.block, shape.seed, shape.trim)


def build_format(shape: QueueShape, at: Place) -> Format:
    """Return who fits into a match.

    `teams` alone means one player a team; a number of `players` alone means two teams of so many,
    and a list of them gives the teams; without both a match is one against one.
    """
    if shape.party_sizes == ():
        at.at("party_sizes").refuse("must admit at least one size; leave it out to admit all")
    players = _players(shape, at)
    least = _players_min(shape, players, at.at("players_min"))
    if shape.roles == {}:
        at.at("roles").refuse("must name at least one role; leave it out for a game without roles")
    roles = tuple((shape.roles or {}).items())
    choice = at.at("side_choice").one_of(shape.side_choice, get_args(SideChoice))
    return Format(
        players,
        shape.sides,
        shape.party_sizes or (),
        least,
        roles,
        cast("SideChoice", choice),
    )


def _players_min(shape: QueueShape, players: tuple[int, ...], at: Place) -> tuple[int, ...]:
    """Return the fewest players by team; none where only full matches start."""
    given = shape.players_min
    if isinstance(given, int):
        at.between(given, 0, min(players))
        given = (given,) * len(players)
    elif given == ():
        at.refuse("must give a number for each team; leave it out to start full matches only")
    return () if given is None or given == players else given


def _players(shape: QueueShape, at: Place) -> tuple[int, ...]:
    """Return the seats by team."""
    if shape.teams is not None:
        at.at("teams").between(shape.teams, 1, SEATS_MAX)
    if isinstance(shape.players, tuple):
        if shape.teams is not None and shape.teams != len(shape.players):
            given = f"{len(shape.players)} entries and teams = {shape.teams}"
            at.at("players").refuse(f"has {given}; make them equal")
        return shape.players
    teams = 2 if shape.teams is None else shape.teams
    players = 1 if shape.players is None else shape.players
    at.at("players").between(players, 1, SEATS_MAX)
    return (players,) * teams
