"""Parties from regions of the world: who they are, as a scenario describes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from evenmatch.model.checks import Fault
from evenmatch.model.fields import SHARES_SLACK, FileName, Share
from evenmatch.model.queue import Format

Spread = Annotated[float, Meta(ge=0.0, le=3.0)]
Points = Annotated[float, Meta(ge=1.0, le=1e9)]
Follows = Literal["both", "shares", "neither"]

PARTY_MIX: dict[int, tuple[float, ...]] = {
    1: (1.0,),
    2: (0.70, 0.30),
    3: (0.60, 0.25, 0.15),
    4: (0.58, 0.24, 0.10, 0.08),
    5: (0.55, 0.22, 0.12, 0.04, 0.07),
}
"""Share of the players by the size of their party, for teams of 1 to 5; assumed, not measured."""


class LastMile(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a home's own line adds to the round trip: lognormal, one draw a player.

    Args:
        median: The median in milliseconds.
        spread: Standard deviation of the logarithm. With the defaults 95 % of all homes add 5 to 40
            ms; both numbers are assumed, not measured.
    """

    median: Annotated[float, Meta(ge=0.0, le=10_000.0, extra={"unit": "ms"})] = 14.0
    spread: Spread = 0.53


class Skill(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How good players are: a lognormal crowd, beginners below it, and friends alike.

    Args:
        median: The median in points, of players who are not beginners.
        spread: Standard deviation of the logarithm of these players' points. With the default 0.3 %
            of all players are above 18,000, as in the Galactron blog.
        beginners: Share of parties of beginners, whose points are uniform below `beginner_max`.
        beginner_max: The most points that a beginner has.
        friends: Standard deviation of the logarithm of members' points around that of their party.
        max: The most points that anybody has.
    """

    median: Points = 8000.0
    spread: Spread = 0.301
    beginners: Share = 0.15
    beginner_max: Points = 6000.0
    friends: Spread = 0.2
    max: Points = 30_000.0


class Connect(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Which players can reach each other without a server, by their home's network address.

    Args:
        open: Share of players whom everybody can reach.
        moderate: Share of players who reach each other and the open ones.
        strict: Share of players who reach only the open ones.
    """

    open: Share = 0.35
    moderate: Share = 0.50
    strict: Share = 0.15

    def fault(self) -> Fault:
        """Return shares that do not sum to 1."""
        return fault_of_sum((self.open, self.moderate, self.strict))


class RoleMix(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Which roles players list.

    Args:
        lists: Roles in order of preference; an empty list takes any.
        shares: Share of the players of each list, before those of a party have agreed; they sum
            to 1.
        seats: The roles of a team in the queue that all enter, and how many players each takes.
    """

    lists: tuple[tuple[str, ...], ...]
    shares: tuple[float, ...]
    seats: tuple[tuple[str, int], ...]


class World(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Parties from all over the world, as their day goes round it.

    Args:
        player_rate: Players who arrive per second; the mean over a day if the rate follows the
            hours.
        hour: Hour of the day at time 0, UTC, from 0 to below 24.
        follows: What changes over the day: `both` the rate and each region's share of it, only the
            `shares`, or `neither`, as if it stayed the hour of the start.
        party_shares: Share of the players in parties of 1, of 2 and so on; they sum to 1.
        home_share: Share of a party's members who are of its home region for sure; the others
            are of any region, in proportion to its share.
        connect: Which players can reach each other.
        last_mile: What the players' home connections add to a round trip.
        skill: How good the players are, unless `[attributes.rating]` says how to draw it.
        roles: Which roles they list; None means none.
        latencies: To how many regions each player has measured the latency, the nearest ones; by
            default to all.
        hours_file: A file of measured matches by region and UTC hour, to use instead of the fitted
            shares.
        cities_file: A file of the places of cities, for `pings_file`.
        pings_file: A file of measured round trips between cities, to use instead of the fitted
            delays.
    """

    player_rate: Annotated[float, Meta(ge=1e-9, le=1e9, extra={"unit": "players per second"})]
    hour: float = 0.0
    follows: Follows = "both"
    party_shares: tuple[Share, ...] = (1.0,)
    home_share: Share = 0.9
    connect: Connect = Connect()
    last_mile: LastMile = LastMile()
    skill: Skill = Skill()
    roles: RoleMix | None = None
    latencies: Annotated[int, Meta(ge=1, le=100)] | None = None
    hours_file: FileName | None = None
    cities_file: FileName | None = None
    pings_file: FileName | None = None

    @property
    def ticket_rate(self) -> float:
        """Return the tickets per second, or their mean over a day."""
        return self.player_rate * sum(
            share / size for size, share in enumerate(self.party_shares, start=1)
        )


def default_party_shares(form: Format) -> tuple[float, ...]:
    """Return the share of players by party size that goes with a format.

    Sizes that the format does not admit are left out, and the rest keep their proportions.
    """
    mix = PARTY_MIX[min(max(form.players), max(PARTY_MIX))]
    kept = [share if form.admits(size) else 0.0 for size, share in enumerate(mix, start=1)]
    total = math.fsum(kept)
    return tuple(share / total for share in kept) if total else ()


def fault_of_sum(shares: Sequence[float]) -> Fault:
    """Return shares that do not sum to 1."""
    if abs((total := math.fsum(shares)) - 1.0) > SHARES_SLACK:
        return "", f"must sum to 1, got {total:g}"
    return None
