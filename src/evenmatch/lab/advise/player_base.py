"""The players of a game: who is online, how they are split, and what they need for a match."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import msgspec

from evenmatch.errors import ConfigError

ANY = "any"
"""The name of players who take every side or every role."""
SLACK = 1e-6
"""How far shares may be from a sum of 1."""
SHARE_MIN = 1e-9
"""The least share above 0: one player of all people alive."""
SEATS_MAX = 1_000
OPTIONS_MAX = 1_000
CELLS_MAX = 10_000
SPLITS_MAX = 8
LEVELS_MAX = 1_000
ZONES_MAX = 10
ROLES_MAX = 8
HOURS = 24
SECONDS_MAX = 1e9
SECONDS_MIN = 1e-6
"""The least patience, and the least time of a match and the break after it."""
SHOWN = 64
"""Most characters of a wrong name that an error repeats."""


class Split(msgspec.Struct, frozen=True):
    """Something that keeps players apart: regions, modes or bands of skill.

    Args:
        name: Its name.
        shares: The share of players by option; they sum to 1. Splits are independent of each
            other, so that the pool of a mode in a region has the product of both shares.
    """

    name: str
    shares: dict[str, float]

    @classmethod
    def even(cls, name: str, count: int) -> Split:
        """Return a split into equal options, named 1, 2, 3, ...

        >>> Split.even("modes", 2).shares
        {'1': 0.5, '2': 0.5}
        """
        if not 1 <= count <= OPTIONS_MAX:
            raise ConfigError(
                f"split {name}: the number of options must be 1 to {OPTIONS_MAX:,}, got {count}"
            )
        return cls(name, {str(place + 1): 1.0 / count for place in range(count)})


def name_of(split: str, option: str) -> str:
    """Return the name of an option for people; a number needs the name of its split.

    >>> name_of("region", "eu"), name_of("mode", "3")
    ('eu', 'mode 3')
    """
    return f"{split} {option}" if option.isdigit() else option


class PlayerBase(msgspec.Struct, frozen=True, kw_only=True):
    """A game's players and matches, with everything that waits depend on.

    Args:
        teams: Players of each team: `(5, 5)` is five against five.
        match_length: Seconds that a match lasts.
        idle: Mean seconds from the end of a match until the player queues again.
        splits: What keeps players apart; each combination of options is a separate pool.
        parties: Shares of players who come in parties of 1, 2, 3, ...
        roles: How many players of a team each role takes; together they fill every team.
        role_shares: Shares of players by the roles that they accept: `tank`, `tank+healer`, `any`.
        sides: Shares of players who insist on a side: two names, and `any` for the others.
        patience: Mean seconds after which a player gives up, exponentially distributed; by default
            nobody does.
        levels: Shares of players by level, lowest first, between which zones may be cut.
        zones: How many zones to cut the levels into, 2 or more.
        hours: Players online by hour of the day from midnight; only their proportions count.

    Raises:
        ConfigError: A number is out of range, or the arguments contradict each other.
    """

    teams: tuple[int, ...] = (5, 5)
    match_length: float = 1800.0
    idle: float = 120.0
    splits: tuple[Split, ...] = ()
    parties: tuple[float, ...] = (1.0,)
    roles: dict[str, int] = {}
    role_shares: dict[str, float] = {}
    sides: dict[str, float] = {}
    patience: float | None = None
    levels: tuple[float, ...] = ()
    zones: int = 2
    hours: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        _check_names(self)
        _check_match(self)
        _check_splits(self.splits)
        _check_parties(self)
        _check_roles(self)
        _check_sides(self)
        _check_levels(self)
        _check_hours(self.hours)

    @property
    def seats(self) -> int:
        """Return the players of a match."""
        return sum(self.teams)

    @property
    def is_plain(self) -> bool:
        """Return whether any waiting players can play together: no parties, roles or sides."""
        return not (self.has_parties or self.roles or self.sides)

    @property
    def has_parties(self) -> bool:
        """Return whether some players come with friends."""
        return any(share > 0.0 for share in self.parties[1:])

    @property
    def cycle(self) -> float:
        """Return the seconds of a match and the break after it."""
        return self.match_length + self.idle


def check_shares(what: str, shares: Iterable[float]) -> None:
    """Refuse shares that are negative or do not sum to 1.

    Raises:
        ConfigError: They cannot be shares; the message names the wrong one, or the sum.
    """
    found = list(shares)
    for share in found:
        if not (math.isfinite(share) and 0.0 <= share <= 1.0 + SLACK):
            raise ConfigError(f"{what}: a share must be between 0 and 1, got {share:g}")
        if 0.0 < share < SHARE_MIN:
            raise ConfigError(
                f"{what}: a share must be 0 or at least {SHARE_MIN:g}, got {share:g}; "
                "leave such players out"
            )
    total = math.fsum(found)
    if abs(total - 1.0) > SLACK:
        raise ConfigError(f"{what}: shares must sum to 1, these sum to {total:.7g}")


def _seconds(what: str, value: float, *, least: float) -> None:
    if not (math.isfinite(value) and least <= value <= SECONDS_MAX):
        raise ConfigError(
            f"{what} must be >= {least:g} s and at most {SECONDS_MAX:g} s, got {value:g}"
        )


def _check_names(base: PlayerBase) -> None:
    """Refuse names that do not fit into a line of a scenario or of an answer."""
    options = (name for split in base.splits for name in (split.name, *split.shares))
    for name in (*options, *base.roles, *base.role_shares, *base.sides):
        if not name.isprintable():
            raise ConfigError(f"a name must be one line of printable text, got {name[:SHOWN]!r}")


def _check_match(base: PlayerBase) -> None:
    if not base.teams or any(size < 1 for size in base.teams):
        raise ConfigError("match: every team needs at least one player, as in 5v5")
    if not 2 <= base.seats <= SEATS_MAX:
        raise ConfigError(f"match: a match has 2 to {SEATS_MAX:,} players, got {base.seats:,}")
    _seconds("match length", base.match_length, least=0.0)
    _seconds("idle", base.idle, least=0.0)
    if base.cycle == 0.0:
        raise ConfigError("match length and idle are both 0 s; say how long a match lasts")
    if base.cycle < SECONDS_MIN:
        raise ConfigError(
            f"match length and idle must be at least {SECONDS_MIN:g} s together, got {base.cycle:g}"
        )
    if base.patience is not None:
        _seconds("patience", base.patience, least=SECONDS_MIN)


def _check_splits(splits: tuple[Split, ...]) -> None:
    if len(splits) > SPLITS_MAX:
        raise ConfigError(f"at most {SPLITS_MAX} splits can be given, got {len(splits)}")
    cells = 1
    names: set[str] = set()
    for split in splits:
        if not split.name or split.name in names:
            raise ConfigError(f"split {split.name!r}: every split needs a name of its own")
        names.add(split.name)
        if not 1 <= len(split.shares) <= OPTIONS_MAX:
            raise ConfigError(
                f"split {split.name}: the number of options must be 1 to {OPTIONS_MAX:,}, "
                f"got {len(split.shares):,}"
            )
        check_shares(f"split {split.name}", split.shares.values())
        for option, share in split.shares.items():
            if share == 0.0:
                raise ConfigError(
                    f"split {split.name}: nobody is in {option}, its share is 0; leave it out"
                )
        cells *= len(split.shares)
    if cells > CELLS_MAX:
        counts = " x ".join(f"{len(split.shares)} {split.name}" for split in splits)
        raise ConfigError(
            f"{counts} make {cells:,} pools, and at most {CELLS_MAX:,} are computed; "
            "leave the smallest split out, or group its options"
        )


def _check_parties(base: PlayerBase) -> None:
    check_shares("parties", base.parties)
    largest = max(place + 1 for place, share in enumerate(base.parties) if share > 0.0)
    if largest > max(base.teams):
        raise ConfigError(
            f"parties: a party of {largest} does not fit into a team of {max(base.teams)}"
        )


def role_set(name: str, roles: Mapping[str, int]) -> tuple[str, ...]:
    """Return the roles that `tank`, `tank+healer` or `any` stand for.

    Raises:
        ConfigError: A role is unknown or named twice.
    """
    if name == ANY:
        return tuple(roles)
    found = tuple(name.split("+"))
    for role in found:
        if role not in roles:
            known = ", ".join(roles)
            raise ConfigError(f"role share {name}: {role!r} is no role; roles are {known}, or any")
    if len(set(found)) < len(found):
        raise ConfigError(f"role share {name}: a role is named twice")
    return found


def _check_roles(base: PlayerBase) -> None:
    if bool(base.roles) != bool(base.role_shares):
        missing = "role shares" if base.roles else "roles"
        raise ConfigError(f"roles and role shares go together, and {missing} are missing")
    if not base.roles:
        return
    if len(base.roles) > ROLES_MAX:
        raise ConfigError(f"at most {ROLES_MAX} roles can be given, got {len(base.roles)}")
    for role, count in base.roles.items():
        if not role or role == ANY or "+" in role:
            raise ConfigError(f"role {role!r}: a role needs a name without +, other than {ANY}")
        if count < 1:
            raise ConfigError(f"role {role}: a team needs at least 1, got {count}")
    taken = sum(base.roles.values())
    if any(size != taken for size in base.teams):
        raise ConfigError(
            f"roles take {taken} players of a team, and teams have "
            f"{' and '.join(map(str, sorted(set(base.teams))))}"
        )
    check_shares("role shares", base.role_shares.values())
    seen: dict[frozenset[str], str] = {}
    for name in base.role_shares:
        other = seen.setdefault(frozenset(role_set(name, base.roles)), name)
        if other != name:
            raise ConfigError(f"role shares: {other} and {name} mean the same roles")


def _check_sides(base: PlayerBase) -> None:
    if not base.sides:
        return
    named = [name for name in base.sides if name != ANY]
    if len(named) != 2:
        raise ConfigError(
            f"sides: name two sides, and {ANY} for players who take either, got {len(named)}"
        )
    if len(base.teams) != 2:
        raise ConfigError(f"sides need two teams, and a match has {len(base.teams)}")
    check_shares("sides", base.sides.values())


def _check_levels(base: PlayerBase) -> None:
    if not base.levels:
        return
    if not 2 <= len(base.levels) <= LEVELS_MAX:
        raise ConfigError(f"levels must be 2 to {LEVELS_MAX:,} shares, got {len(base.levels):,}")
    check_shares("levels", base.levels)
    filled = sum(share > 0.0 for share in base.levels)
    if filled < 2:
        raise ConfigError(f"levels: two of them at least need players, got {base.levels}")
    if not 2 <= base.zones <= min(ZONES_MAX, filled):
        raise ConfigError(
            f"zones must be 2 to {min(ZONES_MAX, filled)} (levels that have players, at most "
            f"{ZONES_MAX}), got {base.zones}"
        )


def _check_hours(hours: tuple[float, ...]) -> None:
    if not hours:
        return
    if len(hours) != HOURS:
        raise ConfigError(f"hours must be {HOURS} numbers, one for each hour, got {len(hours)}")
    if any(not (math.isfinite(each) and each >= 0.0) for each in hours):
        raise ConfigError("hours must be numbers >= 0: how many players are online in each")
    if math.fsum(hours) <= 0.0:
        raise ConfigError("hours must not all be 0")
