"""The theory of a pool of a game's players, and its limits."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from evenmatch.lab.advise.player_base import ANY, SLACK, PlayerBase, role_set
from evenmatch.lab.advise.pools import PatientPool, PoolModel, ScalingPool, Source, WaitLaw

GROUPS = ("parties", "roles", "sides")


@dataclass(frozen=True)
class StabilityCondition:
    """One condition of stability.

    Args:
        about: `parties`, `roles` or `sides`.
        text: The condition in words.
        margin: Its slack at one player per second, in the units of `role_stability` (players) or
            `team_stability` (parties); a queue is stable if all are > 0.
        players: The same as the share of all players who would have to change class for a slack
            of 0, so that conditions of all kinds can be compared.
    """

    about: str
    text: str
    margin: float
    players: float


class Stability(NamedTuple):
    """Conditions of one kind, and the share of players who cannot be placed; None = unknown."""

    margins: tuple[StabilityCondition, ...]
    growth: float | None


@dataclass(frozen=True)
class PoolStatement:
    """The status of one figure.

    Args:
        figure: Its subject, such as `waits` or `players online`.
        source: How it is known.
        text: The reason, in a sentence.
    """

    figure: str
    source: Source
    text: str


@dataclass(frozen=True)
class PoolEvidence:
    """A model of a pool, and how certain it is.

    Args:
        pool: Its waits; None if they grow for ever.
        stable: Whether waits stay finite; None if theory cannot tell.
        margins: The conditions for that, the tightest first.
        statements: What is exact, what is a bound, what is an estimate.
        classes: Mean wait and law of each class of players at one player per second in all, with
            its share; empty if they are not known separately.
        growth: Share of all arriving players who can never be placed; None if stable.
    """

    pool: PoolModel | None
    stable: bool | None
    margins: tuple[StabilityCondition, ...] = ()
    statements: tuple[PoolStatement, ...] = ()
    classes: tuple[KnownClass, ...] = ()
    growth: float | None = None

    @property
    def is_exact(self) -> bool:
        """Return whether waits are known to the last digit."""
        return self.pool is not None and self.pool.of_quantiles == "exact"


@dataclass(frozen=True)
class KnownClass:
    """Players of one kind.

    Args:
        name: `solo`, `party of 2`, `side A`, `either side`.
        share: Share of all players.
        law: Their waits at a rate of one player of any kind per second.
        mean: Their mean wait at that rate.
    """

    name: str
    share: float
    law: WaitLaw
    mean: float


def known_of(base: PlayerBase) -> PoolEvidence:
    """Return the theory of one pool of such players."""
    if base.is_plain:
        return _plain(base)
    groups = [
        name
        for name, is_there in zip(GROUPS, (base.has_parties, base.roles, base.sides), strict=True)
        if is_there
    ]
    if groups == ["parties"]:
        if (evidence := _one_size(base)) is not None:
            return evidence
        if base.patience is None and base.teams == (2, 2):
            return _two_v_two(base)
    if base.patience is None and groups == ["sides"] and base.teams == (1, 1):
        return _duel_sides(base)
    return _stability_only(base, groups)


def pool_as_if(base: PlayerBase) -> PoolModel:
    """Return the pool as if all players were solos and could play together."""
    return _any_of(base, base.seats)


def _plain(base: PlayerBase) -> PoolEvidence:
    if base.patience is not None:
        text = (
            "any waiting players can play together, and each gives up after an "
            f"exponential time: a chain of {base.seats} states"
        )
    else:
        text = (
            f"any waiting players can play together, so a pool holds 0 to {base.seats - 1} of "
            "them, each number equally often"
        )
    statements = (PoolStatement("waits", "exact", text), _closed_loop())
    return PoolEvidence(_any_of(base, base.seats), True, statements=statements)


def _closed_loop() -> PoolStatement:
    return PoolStatement(
        "players online",
        "estimate",
        "players online = searches per second x (match + idle + time in queue), by Little's law, "
        "assuming independent searches; good if few of those online are waiting",
    )


def _one_size(base: PlayerBase) -> PoolEvidence | None:
    """Return the theory for parties of one size; None if sizes differ."""
    sizes = [place + 1 for place, share in enumerate(base.parties) if share > 0.0]
    if len(sizes) > 1:
        return None
    (size,) = sizes
    if any(team % size for team in base.teams):
        team = next(team for team in base.teams if team % size)
        text = f"parties of {size} alone never fill a team of {team}"
        return PoolEvidence(
            None, False, (StabilityCondition("parties", text, -1.0, -1.0),), growth=1.0
        )
    count = base.seats // size
    text = f"all come in parties of {size}: a match is any {count} of them"
    if base.patience is not None:
        text += ", and each party gives up after an exponential time"
    statements = (PoolStatement("waits", "exact", text), _closed_loop())
    return PoolEvidence(_any_of(base, count, size), True, statements=statements)


def _any_of(base: PlayerBase, count: int, size: int = 1) -> PatientPool | ScalingPool:
    """Return the pool whose matches are any `count` parties of one size."""
    if base.patience is not None:
        return PatientPool(count, base.patience, size)
    from evenmatch.theory.k_player import k_player

    found = k_player(k=count, rate=1.0 / size)
    return ScalingPool(found.law, found.mean)


def _two_v_two(base: PlayerBase) -> PoolEvidence:
    from evenmatch.theory.two_v_two import two_v_two

    solo, party = base.parties[0], base.parties[1]
    found = two_v_two(solo_rate=solo, party_rate=party / 2.0, order="fifo")
    text = "two against two with solos and duos, longest waiting first: an exact finite chain"
    assert found.law_solo is not None
    assert found.law_party is not None
    classes = (
        KnownClass("solo", solo, found.law_solo, found.law_solo.mean),
        KnownClass("party of 2", party, found.law_party, found.law_party.mean),
    )
    statements = (PoolStatement("waits", "exact", text), _closed_loop())
    return PoolEvidence(ScalingPool(found.law, found.mean), True, (), statements, classes)


def _duel_sides(base: PlayerBase) -> PoolEvidence:
    from evenmatch.theory.sides import sides, sides_law

    a, b = (name for name in base.sides if name != ANY)
    rates = {
        "a": base.sides[a],
        "b": base.sides[b],
        "flexible": base.sides.get(ANY, 0.0),
    }
    margins = _side_margins(base).margins
    found = sides(**rates)
    if not found.stable:
        return PoolEvidence(None, False, margins, growth=found.growth)
    law = sides_law(**rates)
    classes = tuple(
        KnownClass(name, share, each, each.mean)
        for name, share, each in (
            (f"side {a}", rates["a"], law.a),
            (f"side {b}", rates["b"], law.b),
            ("either side", rates["flexible"], law.flexible),
        )
    )
    text = "duels with sides, longest waiting first: an exact chain, each class 0 or exponential"
    statements = (PoolStatement("waits", "exact", text), _closed_loop())
    pool = ScalingPool(law.everybody, law.everybody.mean)
    return PoolEvidence(pool, True, margins, statements, classes)


def _stability_only(base: PlayerBase, groups: list[str]) -> PoolEvidence:
    """Return margins, the bound on the mean, and waits as if all could play together."""
    readers = {"parties": _party_margins, "roles": _role_margins, "sides": _side_margins}
    found = [readers[name](base) for name in groups]
    margins = tuple(sorted((m for each in found for m in each.margins), key=lambda m: m.players))
    growth = max((each.growth or 0.0 for each in found), default=0.0)
    is_short = bool(margins) and margins[0].margin <= 0.0
    if is_short and (base.patience is None or growth >= 1.0 - SLACK):
        return PoolEvidence(None, False, margins, growth=growth)
    # The conditions on parties, roles and sides are each necessary; jointly they may not suffice.
    is_decided = len(groups) == 1 and found[0].growth is not None
    what = " and ".join(groups)
    if base.patience is not None:
        text = (
            "theory ends here: they are those of a pool where any players can play, of whom no "
            f"more are matched than can be placed; {what} make waits longer; simulate"
        )
        patient = PatientPool(
            base.seats,
            base.patience,
            matched_max=1.0 - growth,
            of_quantiles="estimate",
        )
        estimate = PoolStatement("waits", "estimate", text)
        return PoolEvidence(patient, True, margins, (estimate, _closed_loop()))
    return _bounded(base, what, margins, is_decided=is_decided)


def _bounded(
    base: PlayerBase, what: str, margins: tuple[StabilityCondition, ...], *, is_decided: bool
) -> PoolEvidence:
    """Return the bound on the mean without patience, and the law of a pool that attains it."""
    sizes = [place + 1 for place, share in enumerate(base.parties) if share > 0.0]
    unit = math.gcd(base.seats, *sizes)
    # The mean of this law is the bound of `least_pool`, and so a mean and its quantiles agree.
    plain = _any_of(base, base.seats // unit, unit)
    assert isinstance(plain, ScalingPool), "nobody gives up"
    bound = plain.mean
    statements = (
        PoolStatement(
            "mean wait",
            "bound",
            f"with {what} no rule makes the mean less than {bound:g} / (players per second of the "
            "pool), what it is where any who come can play",
        ),
        PoolStatement(
            "percentiles of the wait",
            "estimate",
            f"theory ends here: they are those of a pool where any who come can play, and {what} "
            "make them longer; simulate",
        ),
        _closed_loop(),
    )
    pool = replace(plain, of_quantiles="estimate")
    return PoolEvidence(pool, True if is_decided else None, margins, statements)


def _party_margins(base: PlayerBase) -> Stability:
    """Return conditions on the sizes of parties, which are known for equal teams of up to 12."""
    from evenmatch.theory.rates import rational
    from evenmatch.theory.stability import K_MAX, team_stability

    size = base.teams[0]
    if len(set(base.teams)) > 1 or size > K_MAX:
        return Stability((), None)
    # Parties per second at one player per second, so that margins are parties per player.
    # Exact, since at a third of a share floats would decide whether a boundary is met.
    rates = [rational(share) / (place + 1) for place, share in enumerate(base.parties)]
    while not rates[-1]:
        rates.pop()
    found = team_stability(k=size, rates=tuple(rates))
    margins = []
    for each in found.margins:
        # A player who changes to another party size changes the margin by the difference of both.
        by_player = [0.0, *(x / (place + 1) for place, x in enumerate(each.coefficients))]
        margin, reach = float(each.margin), max(by_player) - min(by_player)
        margins.append(StabilityCondition("parties", per_100(each.text), margin, margin / reach))
    return Stability(tuple(sorted(margins, key=lambda each: each.players)), found.growth or 0.0)


def _role_margins(base: PlayerBase) -> Stability:
    sets = [list(role_set(name, base.roles)) for name in base.role_shares]
    return _slots("roles", base.roles, sets, list(base.role_shares.values()))


def _side_margins(base: PlayerBase) -> Stability:
    named = [name for name in base.sides if name != ANY]
    slots = dict(zip(named, base.teams, strict=True))
    sets = [named if name == ANY else [name] for name in base.sides]
    return _slots("sides", slots, sets, list(base.sides.values()))


def _slots(
    about: str, slots: dict[str, int], sets: list[list[str]], shares: list[float]
) -> Stability:
    from evenmatch.theory.role_stability import role_stability

    found = role_stability(slots=slots, role_sets=sets, rates=shares)
    margins = []
    for each in found.margins:
        text = per_100(each.text)
        if about == "sides":
            text = text.replace("players who queue only for", "players who insist on")
        margins.append(StabilityCondition(about, text, float(each.margin), float(each.margin)))
    return Stability(tuple(margins), found.growth or 0.0)


def per_100(text: str) -> str:
    """Return a sentence about rates, at one player per second in all, as one about shares.

    >>> per_100("duos exceed solos by 0.05/s")
    'duos exceed solos by 5 per 100 players'
    """
    return re.sub(
        r"([0-9.]+(?:e-?[0-9]+)?)/s",
        lambda found: f"{100.0 * float(found[1]):.4g} per 100 players",
        text,
    )
