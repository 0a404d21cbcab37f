"""Requirements on a format; see `criteria.validation.queue`."""

from __future__ import annotations

import math

from evenmatch.model.checks import Fault, show
from evenmatch.model.queue import SEATS_MAX, Format

ROLES_MAX = 12
NAME_LENGTH_MAX = 64
ROLE_WAYS_MAX = 4096
"""Most combinations of taken role seats of a team, all of which an assignment may visit."""


def fault_of_format(form: Format, *, are_sizes_stated: bool = False) -> Fault:
    """Return a fault of seats, sides, party sizes or roles with which no match can exist.

    Args:
        form: The format.
        are_sizes_stated: Whether a condition states how many players a match has: then a team may
            be empty, and a match may have one player.
    """
    if are_sizes_stated:
        return _fault_of_most(form) or _fault_of_sides(form) or fault_of_names("sides", form.sides)
    return (
        _fault_of_players(form)
        or _fault_of_minimum(form)
        or _fault_of_sides(form)
        or _fault_of_party_sizes(form)
        or _fault_of_roles(form)
        or fault_of_names("sides", form.sides)
        or fault_of_names("roles", tuple(name for name, _ in form.roles))
    )


def _fault_of_players(form: Format) -> Fault:
    if sum(form.players) == 1:
        return "players", "and teams give a match of 1 player; a match has at least 2"
    return _fault_of_most(form)


def _fault_of_most(form: Format) -> Fault:
    players = form.players
    if not players:
        return "players", "must name the seats of at least one team, got an empty list"
    if sum(players) > SEATS_MAX:
        total = f"{sum(players):,} players; at most {SEATS_MAX:,} can play"
        return "players", f"and teams give a match of {total}"
    return None


def _fault_of_minimum(form: Format) -> Fault:
    """Return why matches cannot be as small as `players_min` says."""
    least = form.players_min
    if not least:
        return None
    if len(least) != len(form.players):
        teams = f"each of the {len(form.players)} teams"
        return "players_min", f"must give a number for {teams}, got {len(least)} numbers"
    before: dict[int, int] = {}
    for index, (count, seats) in enumerate(zip(least, form.players, strict=True)):
        key = f"players_min[{index}]"
        if not 0 <= count <= seats:
            return key, f"must be between 0 and the team's {seats} seats, got {show(count)}"
        if not form.sides and count > before.get(seats, count):
            return key, "is higher than that of a team like it; put the highest numbers first"
        before[seats] = count
    if sum(least) < 2 or (len(least) > 1 and sum(1 for count in least if count) < 2):
        return "players_min", (
            "must keep at least 2 players, and two teams where there are more than one, "
            f"got {list(least)}"
        )
    return None


def _fault_of_sides(form: Format) -> Fault:
    if form.sides and len(form.sides) != len(form.players):
        teams = f"each of the {len(form.players)} teams"
        return "sides", f"must name {teams}, got {len(form.sides)} names"
    if form.side_choice == "prefer" and not form.sides:
        return "side_choice", "says what a wish for a side is; name the sides, or leave it out"
    return None


def _fault_of_party_sizes(form: Format) -> Fault:
    sizes = form.party_sizes
    largest = max(form.players)
    for index, size in enumerate(sizes):
        if not 1 <= size <= largest:
            allowed = f"between 1 and {largest}, the largest team"
            return f"party_sizes[{index}]", f"must be {allowed}, got {show(size)}"
        if size in sizes[:index]:
            return f"party_sizes[{index}]", f"repeats {size}; sizes must be different"
    for least, team in sorted(set(zip(form.least_players, form.players, strict=True))):
        if sizes and not _can_fill(least, team, sizes):
            how = "exactly" if least == team else f"with at least {least}"
            return "party_sizes", f"{list(sizes)} cannot fill a team of {team} players {how}"
    return None


def _can_fill(least: int, seats: int, sizes: tuple[int, ...]) -> bool:
    reachable = [True] + [False] * seats
    for filled in range(1, seats + 1):
        reachable[filled] = any(size <= filled and reachable[filled - size] for size in sizes)
    return any(reachable[least:])


def _fault_of_roles(form: Format) -> Fault:
    """Return why the players of a team cannot be given these roles."""
    if not form.roles:
        return None
    seats = form.players[0]
    if len(set(form.players)) > 1:
        return "roles", f"need teams of one size, got players = {list(form.players)}"
    if seats == 1:
        return "roles", "divide the players of a team, and these teams have 1 player"
    if len(form.roles) > ROLES_MAX:
        return "roles", f"must be at most {ROLES_MAX}, got {len(form.roles)}"
    for name, count in form.roles:
        if not 1 <= count <= SEATS_MAX:
            return f"roles.{name}", f"must be between 1 and {seats} players, got {show(count)}"
        if "+" in name or "|" in name:
            return "roles", f"must have names without + and |, got {show(name)}"
    total = sum(count for _, count in form.roles)
    if total != seats:
        return "roles", f"add up to {total} players and a team has {seats}; make them equal"
    ways = math.prod(count + 1 for _, count in form.roles)
    if ways > ROLE_WAYS_MAX:
        return "roles", (
            f"can be taken in {ways:,} ways, the product of each number and 1; "
            f"at most {ROLE_WAYS_MAX:,} are looked at: join some roles"
        )
    return None


def fault_of_names(key: str, names: tuple[str, ...]) -> Fault:
    """Return the fault of a name that is empty, too long, or repeated."""
    for index, name in enumerate(names):
        if not 1 <= len(name) <= NAME_LENGTH_MAX:
            return f"{key}[{index}]", f"must be a name of 1 to 64 characters, got {show(name)}"
        if name in names[:index]:
            return f"{key}[{index}]", f'repeats "{name}"; names must be different'
    return None
