"""From `[arrivals.world]` to a world of regions, hours and parties."""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec

from evenmatch.config.tables import ConnectTable, WorldTable
from evenmatch.model.checks import Place, suggestion
from evenmatch.model.queue import Queue
from evenmatch.model.world import (
    Connect,
    RoleMix,
    World,
    default_party_shares,
    fault_of_sum,
)

ROLE_LISTS_MAX = 100
ANY_ROLE = "any"
"""The key for players who list no role and take any."""
ZONES: dict[str, float] = {
    "UTC": 0.0, "GMT": 0.0, "BRT": -3.0, "EST": -5.0, "CST": -6.0, "MST": -7.0, "PST": -8.0,
    "WET": 0.0, "CET": 1.0, "EET": 2.0, "MSK": 3.0, "GST": 4.0, "SGT": 8.0, "JST": 9.0,
    "AEST": 10.0, "NZST": 12.0,
}  # fmt: skip
"""Hours ahead of UTC, all without daylight saving, so that a scenario needs no date."""
CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::([0-5]\d))?")
OFFSET_MAX = 14.0


def build_world(table: WorldTable, queues: tuple[Queue, ...], at: Place) -> World:
    """Return the world of a scenario.

    Args:
        table: The table.
        queues: The queues of the same file; all parties enter the first.
        at: Where the table stands.

    Raises:
        ConfigError: The world is impossible as written.
    """
    if (table.pings_file is None) != (table.cities_file is None):
        key = "cities_file" if table.cities_file is None else "pings_file"
        at.at(key).refuse("is missing; pings between cities need both files")
    given: dict[str, Any] = {key: getattr(table, key) for key in World.__struct_fields__}
    shares = _party_shares(table.party_shares, queues[0], at.at("party_shares"))
    given |= {
        "hour": hour_of(table.start, table.zone, at),
        "party_shares": shares,
        "connect": _connect(table.connect, at.at("connect")),
    }
    if table.roles is not None:
        given["roles"] = _roles(table.roles, queues[0], shares, at.at("roles"))
    return World(**given)


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
        if share > 0.0 and not queue.format.admits(index + 1):
            at.at(index).refuse(
                f'must be 0: queue "{queue.name}" does not admit a party of {index + 1}'
            )
    at.refuse_fault(fault_of_sum(given))
    return given


def _connect(table: ConnectTable, at: Place) -> Connect:
    given = msgspec.structs.asdict(table)
    if all(share is None for share in given.values()):
        return Connect()
    built = Connect(**{key: share or 0.0 for key, share in given.items()})
    at.refuse_fault(built.fault())
    return built


def _roles(
    given: dict[str, float], queue: Queue, party_shares: tuple[float, ...], at: Place
) -> RoleMix:
    """Return the lists of roles of players, checked to be compatible within every party."""
    seats = dict(queue.format.roles)
    if not seats:
        at.refuse(f'do not go with queue "{queue.name}", which has no roles')
    if ANY_ROLE in seats:
        at.refuse(f'cannot be drawn for a queue with a role "{ANY_ROLE}", which here means no list')
    if not 1 <= len(given) <= ROLE_LISTS_MAX:
        at.refuse(f"must have 1 to {ROLE_LISTS_MAX} entries, got {len(given)}")
    lists = [_role_list(key, seats, at) for key in given]
    at.refuse_fault(fault_of_sum(list(given.values())))
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
