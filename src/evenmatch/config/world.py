"""From `[arrivals.world]` to a world of regions, hours and parties."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, cast, get_args

import msgspec

from evenmatch.config.decode import Place, suggestion
from evenmatch.config.distributions import locate_file
from evenmatch.config.shapes import ConnectShape, LastMileShape, SkillShape, WorldShape
from evenmatch.criteria.validation.values import Bounds
from evenmatch.model.queue import Queue
from evenmatch.model.world import (
    Connect,
    Follows,
    LastMile,
    RoleMix,
    Skill,
    World,
    default_party_shares,
)

PLAYER_RATES = Bounds(1e-9, 1e9, unit="players per second")
SHARES = Bounds(0.0, 1.0)
SPREADS = Bounds(0.0, 3.0)
MILLISECONDS = Bounds(0.0, 10_000.0, unit="ms")
POINTS = Bounds(1.0, 1e9)
SHARES_SLACK = 1e-6
REGIONS_MAX = 100
ROLE_LISTS_MAX = 100
ANY_ROLE = "any"
"""What stands for the players who list no role and take any."""
ZONES: dict[str, float] = {
    "UTC": 0.0, "GMT": 0.0, "BRT": -3.0, "EST": -5.0, "CST": -6.0, "MST": -7.0, "PST": -8.0,
    "WET": 0.0, "CET": 1.0, "EET": 2.0, "MSK": 3.0, "GST": 4.0, "SGT": 8.0, "JST": 9.0,
    "AEST": 10.0, "NZST": 12.0,
}  # fmt: skip
"""Hours ahead of UTC, all without daylight saving, so that a scenario needs no date."""
CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::([0-5]\d))?")
OFFSET_MAX = 14.0


def build_world(
    shape: WorldShape, queues: tuple[Queue, ...], base: Path | None, at: Place
) -> World:
    """Return who comes from where.

    Args:
        shape: The table.
        queues: The queues of the same file; all parties enter the first.
        base: The folder from which relative file names count.
        at: Where the table stands.

    Raises:
        ConfigError: The world cannot be made as written.
    """
    at.at("follows").one_of(shape.follows, get_args(Follows))
    if (shape.pings_file is None) != (shape.cities_file is None):
        key = "cities_file" if shape.cities_file is None else "pings_file"
        at.at(key).refuse("is missing; pings between cities need both files")
    if shape.latencies is not None:
        at.at("latencies").between(shape.latencies, 1, REGIONS_MAX)
    files = {
        key: locate_file(name, base, at.at(key))
        for key in ("hours_file", "cities_file", "pings_file")
        if (name := getattr(shape, key)) is not None
    }
    party_shares = _party_shares(shape.party_shares, queues[0], at.at("party_shares"))
    return World(
        player_rate=at.at("player_rate").within(shape.player_rate, PLAYER_RATES),
        hour=hour_of(shape.start, shape.zone, at),
        follows=cast("Follows", shape.follows),
        party_shares=party_shares,
        home_share=_share(shape.home_share, 0.9, at.at("home_share")),
        connect=_connect(shape.connect, at.at("connect")),
        last_mile=_last_mile(shape.last_mile, at.at("last_mile")),
        skill=_skill(shape.skill, at.at("skill")),
        roles=(
            None
            if shape.roles is None
            else _roles(shape.roles, queues[0], party_shares, at.at("roles"))
        ),
        latencies=shape.latencies,
        **files,
    )


def hour_of(start: str, zone: str, at: Place) -> float:
    """Return the UTC hour of a time of day in a zone.

    >>> hour_of("20:00", "CET", Place()), hour_of("6:30", "+10:00", Place())
    (19.0, 20.5)
    """
    clock = CLOCK.fullmatch(start)
    if clock is None:
        at.at("start").refuse_value('a time of day such as "20:00"', start)
    ahead = ZONES.get(zone)
    if ahead is None:
        offset = OFFSET.fullmatch(zone)
        if offset is None or (ahead := _hours_ahead(offset)) is None:
            at.at("zone").refuse_value(f'one of {", ".join(ZONES)}, or an offset "+10:00"', zone)
    return (int(clock[1]) + int(clock[2]) / 60.0 - ahead) % 24.0


def _hours_ahead(offset: re.Match[str]) -> float | None:
    hours = int(offset[2]) + int(offset[3] or 0) / 60.0
    return None if hours > OFFSET_MAX else math.copysign(hours, -1.0 if offset[1] == "-" else 1.0)


def _party_shares(given: tuple[float, ...] | None, queue: Queue, at: Place) -> tuple[float, ...]:
    if given is None:
        shares = default_party_shares(queue.format)
        if not shares:
            at.refuse(f'is missing; queue "{queue.name}" admits none of the usual party sizes')
        return shares
    for index, share in enumerate(given):
        at.at(index).within(share, SHARES)
        if share > 0.0 and not queue.format.admits(index + 1):
            at.at(index).refuse(
                f'must be 0: queue "{queue.name}" does not admit a party of {index + 1}'
            )
    _check_sum(given, at)
    return given


def _connect(shape: ConnectShape, at: Place) -> Connect:
    given = _given(shape)
    if not given:
        return Connect()
    shares = [
        _share(given.get(key, 0.0), 0.0, at.at(key)) for key in ("open", "moderate", "strict")
    ]
    _check_sum(shares, at)
    return Connect(*shares)


def _last_mile(shape: LastMileShape, at: Place) -> LastMile:
    built = LastMile(**_given(shape))
    at.at("median").within(built.median, MILLISECONDS)
    at.at("spread").within(built.spread, SPREADS)
    return built


def _skill(shape: SkillShape, at: Place) -> Skill:
    built = Skill(**_given(shape))
    for key in ("median", "beginner_max", "max"):
        at.at(key).within(getattr(built, key), POINTS)
    for key in ("spread", "friends"):
        at.at(key).within(getattr(built, key), SPREADS)
    at.at("beginners").within(built.beginners, SHARES)
    return built


def _roles(
    given: dict[str, float], queue: Queue, party_shares: tuple[float, ...], at: Place
) -> RoleMix:
    """Return which roles players list, if those of every party can go together."""
    seats = dict(queue.format.roles)
    if not seats:
        at.refuse(f'do not go with queue "{queue.name}", which has no roles')
    if ANY_ROLE in seats:
        at.refuse(f'cannot be drawn for a queue with a role "{ANY_ROLE}", which here means no list')
    if not 1 <= len(given) <= ROLE_LISTS_MAX:
        at.refuse(f"must have 1 to {ROLE_LISTS_MAX} entries, got {len(given)}")
    lists = [_role_list(key, seats, at) for key in given]
    for key, share in given.items():
        at.at(key).within(share, SHARES)
    _check_sum(list(given.values()), at)
    listed = [
        names or tuple(seats) for names, share in zip(lists, given.values(), strict=True) if share
    ]
    room = sum(seats[name] for name in {name for names in listed for name in names})
    for size, share in enumerate(party_shares, start=1):
        if share and size > room:
            at.refuse(
                f"leave no roles for a party of {size}: nobody lists roles but those of {room} "
                f"players of a team; add {ANY_ROLE} = 0.05, or set the party's share to 0"
            )
    return RoleMix(tuple(lists), tuple(given.values()), queue.format.roles)


def _role_list(key: str, seats: dict[str, int], at: Place) -> tuple[str, ...]:
    """Return the roles of a key such as `tank+damage`, preferred first."""
    if key == ANY_ROLE:
        return ()
    names = tuple(key.split("+"))
    for name in names:
        if name not in seats:
            allowed = ", ".join((*seats, ANY_ROLE))
            at.at(key).refuse(
                f'must name roles of the queue joined by +, or "{ANY_ROLE}"; '
                f"allowed: {allowed}{suggestion(name, seats)}"
            )
    if len(set(names)) < len(names):
        at.at(key).refuse("names a role twice")
    return names


def _given(shape: msgspec.Struct) -> dict[str, Any]:
    return {key: each for key, each in msgspec.structs.asdict(shape).items() if each is not None}


def _share(value: float | None, default: float, at: Place) -> float:
    return default if value is None else at.within(value, SHARES)


def _check_sum(shares: tuple[float, ...] | list[float], at: Place) -> None:
    if abs((total := math.fsum(shares)) - 1.0) > SHARES_SLACK:
        at.refuse(f"must sum to 1, got {total:g}")
