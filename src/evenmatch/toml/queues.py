"""From `[[queue]]` tables to queues that can work."""

from __future__ import annotations

import re
from typing import cast, get_args

from evenmatch.model.queue import Format, OnDeadline, Queue
from evenmatch.toml.constraints import build_criterion, build_rule
from evenmatch.toml.decode import Place
from evenmatch.toml.shapes import QueueShape

QUEUES_MAX = 100
CRITERIA_MAX = 16
RULES_MAX = 16
ATTRIBUTES_MAX = 64
SEATS_MAX = 1000
NAME_PATTERN = re.compile(r"[A-Za-z0-9_.-]{1,64}")
NAME_ALLOWED = "1 to 64 letters, digits, `_`, `-` or `.`"


def build_queues(shapes: tuple[QueueShape, ...], root: Place) -> tuple[Queue, ...]:
    """Return the queues of a file.

    Args:
        shapes: The `[[queue]]` tables.
        root: The place of the file.

    Raises:
        ConfigError: A queue cannot work as written, or there are none or too many.
    """
    at = root.at("queue")
    if not shapes:
        at.refuse("is missing; a file needs at least one [[queue]]")
    if len(shapes) > QUEUES_MAX:
        at.refuse(f"must be given at most {QUEUES_MAX} times, got {len(shapes)}")
    names: set[str] = set()
    for index, shape in enumerate(shapes):
        check_name(shape.name, at.at(index).at("name"))
        if shape.name in names:
            at.at(index).at("name").refuse(f'"{shape.name}" is taken; names must be different')
        names.add(shape.name)
    return tuple(_build_queue(shape, queue_place(root, shape.name)) for shape in shapes)


def queue_place(root: Place, name: str) -> Place:
    """Return the place of a queue: `queue "duel"`."""
    return Place(f'{root.at("queue").text} "{name}"')


def check_name(name: str, place: Place) -> str:
    """Return the name of a queue or group if it can be written in URLs and CSV cells."""
    if not NAME_PATTERN.fullmatch(name):
        place.refuse_value(NAME_ALLOWED, name)
    return name


def _build_queue(shape: QueueShape, at: Place) -> Queue:
    wait_max = None if shape.wait_max is None else at.at("wait_max").positive(shape.wait_max, "s")
    form = build_format(shape, at)
    _limit(len(shape.criteria), CRITERIA_MAX, at.at("criteria"))
    _limit(len(shape.rules), RULES_MAX, at.at("rules"))
    return Queue(
        name=shape.name,
        format=form,
        criteria=tuple(
            build_criterion(each, form, at.at("criteria").at(i))
            for i, each in enumerate(shape.criteria)
        ),
        rules=tuple(
            build_rule(each, form, _wait_end(shape), at.at("rules").at(i))
            for i, each in enumerate(shape.rules)
        ),
        wait_max=wait_max,
        wait_price=(
            None
            if shape.wait_price is None
            else at.at("wait_price").not_negative(shape.wait_price, "per player-second")
        ),
        on_deadline=_on_deadline(shape, at),
        policy=_policy(shape.policy, at.at("policy")),
        group=check_name(shape.group, at.at("group")),
        exclusive_match=shape.exclusive_match,
        match_max=at.at("match_max").positive(shape.match_max, "s"),
        attributes=_attributes(shape.attributes, at.at("attributes")),
    )


def _wait_end(shape: QueueShape) -> float | None:
    """Return the wait at which every ticket has left; None if tickets may wait for ever."""
    return None if shape.on_deadline == "keep" else shape.wait_max


def _limit(given: int, most: int, at: Place) -> None:
    if given > most:
        at.refuse(f"must be given at most {most} times, got {given}")


def _on_deadline(shape: QueueShape, at: Place) -> OnDeadline:
    chosen = at.at("on_deadline").one_of(shape.on_deadline, get_args(OnDeadline))
    if chosen == "bots" and shape.wait_max is None:
        at.at("on_deadline").refuse('= "bots" needs wait_max, the instant at which bots come in')
    return cast(OnDeadline, chosen)


def _policy(spec: str, at: Place) -> str:
    if not spec.strip() or len(spec) > 500:
        at.refuse_value('a SPEC of 1 to 500 characters such as "greedy"', spec)
    return spec


def _attributes(names: tuple[str, ...], at: Place) -> tuple[str, ...]:
    _limit_entries(len(names), ATTRIBUTES_MAX, at)
    for index, name in enumerate(names):
        if not name or len(name) > 100:
            at.at(index).refuse_value("a name of 1 to 100 characters", name)
        if name in names[:index]:
            at.at(index).refuse(f'repeats "{name}"; names must be different')
    return names


def _limit_entries(given: int, most: int, at: Place) -> None:
    if given > most:
        at.refuse(f"must have at most {most:,} entries, got {given:,}")


def build_format(shape: QueueShape, at: Place) -> Format:
    """Return who fits into a match.

    `teams` alone means one player a team; a list of `players` alone gives the teams; without
    both a match is one against one.
    """
    players = _players(shape, at)
    if sum(players) < 2:
        at.at("players").refuse("and teams give a match of 1 player; a match has at least 2")
    if sum(players) > SEATS_MAX:
        at.at("players").refuse(
            f"and teams give a match of {sum(players):,} players; at most {SEATS_MAX:,} can play"
        )
    form = Format(players, _sides(shape.sides, len(players), at.at("sides")))
    if shape.party_sizes is None:
        return form
    sizes = _party_sizes(shape.party_sizes, players, at.at("party_sizes"))
    return Format(form.players, form.sides, sizes)


def _players(shape: QueueShape, at: Place) -> tuple[int, ...]:
    """Return the seats by team."""
    if shape.teams is not None:
        at.at("teams").between(shape.teams, 1, SEATS_MAX)
    if isinstance(shape.players, tuple):
        return _uneven(shape.players, shape.teams, at)
    if shape.players is None:
        return (1, 1) if shape.teams is None else (1,) * shape.teams
    at.at("players").between(shape.players, 1, SEATS_MAX)
    if shape.teams is None:
        if shape.players > 1:
            at.at("teams").refuse(
                f"is missing: players = {shape.players} are seats per team, so say how many teams"
            )
        return (1, 1)
    return (shape.players,) * shape.teams


def _uneven(players: tuple[int, ...], teams: int | None, at: Place) -> tuple[int, ...]:
    if not players:
        at.at("players").refuse("must name the seats of at least one team, got an empty list")
    _limit_entries(len(players), SEATS_MAX, at.at("players"))
    for index, each in enumerate(players):
        at.at("players").at(index).between(each, 1, SEATS_MAX)
    if teams is not None and teams != len(players):
        at.at("players").refuse(f"has {len(players)} entries and teams = {teams}; make them equal")
    return players


def _sides(sides: tuple[str, ...], teams: int, at: Place) -> tuple[str, ...]:
    if sides and len(sides) != teams:
        at.refuse(f"must name each of the {teams} teams, got {len(sides)} names")
    for index, side in enumerate(sides):
        if not side or len(side) > 64:
            at.at(index).refuse_value("a name of 1 to 64 characters", side)
        if side in sides[:index]:
            at.at(index).refuse(f'repeats "{side}"; sides must have different names')
    return sides


def _party_sizes(sizes: tuple[int, ...], players: tuple[int, ...], at: Place) -> tuple[int, ...]:
    largest = max(players)
    if not sizes:
        at.refuse("must admit at least one size; leave it out to admit all that fit")
    for index, size in enumerate(sizes):
        if not 1 <= size <= largest:
            at.at(index).refuse_value(f"between 1 and {largest}, the largest team", size)
        if size in sizes[:index]:
            at.at(index).refuse(f"repeats {size}; sizes must be different")
    for team in sorted(set(players)):
        if not _can_fill(team, sizes):
            at.refuse(f"{list(sizes)} cannot fill a team of {team} players exactly")
    return sizes


def _can_fill(seats: int, sizes: tuple[int, ...]) -> bool:
    reachable = [True] + [False] * seats
    for filled in range(1, seats + 1):
        reachable[filled] = any(size <= filled and reachable[filled - size] for size in sizes)
    return reachable[seats]
