"""Whether players who queue for some roles only can always be put into whole teams.

A team has slots by role; a player queues for a set of roles. Players who queue only for roles of a
set S can use no other slots, so their share of all players must be smaller than S's share of the
slots, for every proper set S (Hall's condition; with two roles it is the condition of sides). The
condition is necessary, since players are conserved. That it suffices, if the oldest who fit play
first, was seen in simulations; it is not proved.

Source:
    P. Hall, On representatives of subsets (1935).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from evenmatch.errors import ConfigError
from evenmatch.theory.rates import exact_rates, rate_text

ROLES_MAX = 10
SETS_MAX = 1_000
SLOTS_MAX = 100


@dataclass(frozen=True)
class RoleMargin:
    """One condition of stability.

    Attributes:
        roles: A set of roles, not all of them.
        margin: Players per second whom its slots could take at most from the present stream, less
            those who queue for these roles only; stable if all are > 0.
        text: In words, with how many more or fewer of them may arrive if the others stay the same.
            Since they also add to the total, that is margin / (1 - the set's share of the slots),
            or less if a larger set has less room.
    """

    roles: tuple[str, ...]
    margin: Fraction
    text: str

    def figures(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {"set": list(self.roles), "margin": float(self.margin), "text": self.text}


@dataclass(frozen=True)
class RoleStability:
    """Whether waits stay finite if players queue for roles.

    Attributes:
        stable: Whether all margins are positive.
        kind: `transient` if one is negative, `null recurrent` if the worst is 0.
        growth: Least number of players per second who cannot be placed: by how much the most
            crowded set would have to shrink; 0 on the boundary, None if stable.
        starved: The players who queue only for these roles are the ones who pile up.
        margins: Every condition, worst first.
    """

    stable: bool
    kind: str | None
    growth: float | None
    starved: tuple[str, ...]
    margins: tuple[RoleMargin, ...]

    def figures(self) -> dict[str, Any]:
        """Return the figures by name."""
        margins = [each.figures() for each in self.margins]
        return {**vars(self), "starved": list(self.starved), "margins": margins}


def role_stability(
    *,
    slots: Mapping[str, int],
    players: Sequence[Mapping[str, Any]] | None = None,
    role_sets: Sequence[Sequence[str]] | None = None,
    rates: Sequence[float] | None = None,
) -> RoleStability:
    """Return whether players who queue for roles can always be put into whole teams.

    A file for the command line holds these keys, as

        {"slots": {"tank": 1, "healer": 1, "dps": 3},
         "players": [{"roles": ["dps"], "rate": 0.5}, {"roles": ["tank", "healer"], "rate": 0.6}]}

    Args:
        slots: Slots of a team by role; at most `ROLES_MAX` roles.
        players: The arriving players: the roles that they queue for, and players per second.
        role_sets: The same as a list of roles, beside `rates`, in place of `players`.
        rates: Players per second of each of `role_sets`.

    Raises:
        ConfigError: Something cannot be used, or neither form is given.

    Complexity:
        O(sets of roles x sets of players).

    >>> players = [{"roles": ["dps"], "rate": 0.65}, {"roles": ["dps", "tank"], "rate": 0.35}]
    >>> role_stability(slots={"tank": 2, "dps": 3}, players=players).margins[0].text
    'players who queue only for dps must drop by more than 0.125/s, with the others unchanged: \
now 0.65/s, and 3 of 5 slots take 0.6/s'
    """
    _check_slots(slots)
    coming = _coming(list(slots), players, role_sets, rates)
    margins = sorted(_margins(slots, coming), key=lambda each: (each.margin, len(each.roles)))
    worst = margins[0].margin if margins else Fraction(1)
    if worst > 0:
        return RoleStability(True, None, None, (), tuple(margins))
    if worst == 0:
        starved = {role for each in margins if not each.margin for role in each.roles}
        named = tuple(role for role in slots if role in starved)
        return RoleStability(False, "null recurrent", 0.0, named, tuple(margins))
    growth, roles = _growth(slots, coming)
    return RoleStability(False, "transient", float(growth), roles, tuple(margins))


def _margins(slots: Mapping[str, int], coming: dict[frozenset[str], Fraction]) -> list[RoleMargin]:
    every, total = sum(slots.values()), sum(coming.values(), Fraction(0))
    own, share = {}, {}
    for roles in _proper_sets(list(slots)):
        own[roles] = sum(
            (rate for asked, rate in coming.items() if asked <= set(roles)), Fraction(0)
        )
        share[roles] = Fraction(sum(slots[role] for role in roles), every)
    # Each additional player also brings additional slots of the set.
    rooms = {frozenset(x): (share[x] * total - own[x]) / (1 - share[x]) for x in own}
    return [
        RoleMargin(
            roles,
            share[roles] * total - own[roles],
            f"players who queue only for {' or '.join(roles)} {_verdict(frozenset(roles), rooms)}: "
            f"now {rate_text(own[roles])}/s, and {_taken(share[roles] * every, every)} "
            f"{rate_text(share[roles] * total)}/s",
        )
        for roles in own
    ]


def _verdict(roles: frozenset[str], rooms: dict[frozenset[str], Fraction]) -> str:
    """Return how many more or fewer of them may arrive if all others stay the same.

    They count in each larger set as well, which may have less room than their own.
    """
    if rooms[roles] < 0:
        return f"must drop by more than {rate_text(-rooms[roles])}/s, with the others unchanged"
    if rooms[roles] == 0:
        return "must be fewer"
    room = min(each for larger, each in rooms.items() if roles <= larger)
    if room <= 0:
        return "are not too many by themselves"
    return f"may rise by up to {rate_text(room)}/s, with the others unchanged"


def _taken(part: Fraction, every: int) -> str:
    return f"{part} of {every} slots {'takes' if part == 1 else 'take'}"


def _growth(
    slots: Mapping[str, int], coming: dict[frozenset[str], Fraction]
) -> tuple[Fraction, tuple[str, ...]]:
    """Return the players per second who cannot be placed, and the roles they queue for.

    The scarcest set of roles bounds the teams per second, and by the max-flow min-cut theorem that
    many can be filled.
    """
    every, total = sum(slots.values()), sum(coming.values(), Fraction(0))
    teams, crowded = min(
        (
            sum((rate for asked, rate in coming.items() if asked & set(scarce)), Fraction(0))
            / sum(slots[role] for role in scarce),
            tuple(role for role in slots if role not in scarce),
        )
        for scarce in _proper_sets(list(slots))
    )
    return total - every * teams, crowded


def _proper_sets(roles: list[str]) -> Iterable[tuple[str, ...]]:
    return (each for size in range(1, len(roles)) for each in combinations(roles, size))


def _check_slots(slots: Any) -> None:
    if not isinstance(slots, Mapping) or not 1 <= len(slots) <= ROLES_MAX:
        raise ConfigError(f"slots must give the slots of a team for 1 to {ROLES_MAX} roles by name")
    for role, count in slots.items():
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= SLOTS_MAX:
            raise ConfigError(
                f"slots of {str(role)[:64]} must be a whole number from 1 to {SLOTS_MAX}, "
                f"got {str(count)[:64]}"
            )


def _coming(
    roles: list[str], players: Any, role_sets: Any, rates: Any
) -> dict[frozenset[str], Fraction]:
    """Return the players per second by the set of roles that they queue for."""
    if (players is None) == (role_sets is None) or (role_sets is None) != (rates is None):
        raise ConfigError(
            'players must be given, as [{"roles": ["tank"], "rate": 0.2}, ...], or role_sets '
            "together with rates"
        )
    if players is not None:
        role_sets, rates = _of_players(players)
    if not _is_list(role_sets) or not _is_list(rates) or len(role_sets) != len(rates):
        raise ConfigError("role_sets and rates must be lists of the same length")
    if not 1 <= len(role_sets) <= SETS_MAX:
        raise ConfigError(
            f"there must be from 1 to {SETS_MAX:,} sets of roles, got {len(role_sets)}"
        )
    names = [_name_of(each, roles) for each in role_sets]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise ConfigError(f"players who queue for {' or '.join(sorted(twice))} are given twice")
    asked = {
        f"rate of {' or '.join(sorted(name))}": rate
        for name, rate in zip(names, rates, strict=True)
    }
    return dict(zip(names, exact_rates(asked), strict=True))


def _of_players(players: Any) -> tuple[list[Any], list[Any]]:
    if not _is_list(players):
        raise ConfigError('players must be a list, as [{"roles": ["tank"], "rate": 0.2}, ...]')
    for each in players:
        if not isinstance(each, Mapping) or set(each) != {"roles", "rate"}:
            raise ConfigError(f"each of players must have roles and rate, got {str(each)[:64]}")
    return [each["roles"] for each in players], [each["rate"] for each in players]


def _name_of(asked: Any, roles: list[str]) -> frozenset[str]:
    known = _is_list(asked) and all(isinstance(role, str) and role in roles for role in asked)
    if not known or not asked or len(set(asked)) != len(asked):
        raise ConfigError(
            f"roles must be a list of one or more of {', '.join(roles)}, each once, "
            f"got {str(asked)[:64]}"
        )
    return frozenset(asked)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
