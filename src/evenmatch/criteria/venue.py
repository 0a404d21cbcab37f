"""Where a match is played: the region for all players, and who could host it.

A queue that compares latencies gives its matches a region; one that compares host options gives
them hosts. Both are chosen once the teams are known, and are passed to the game with the match.
"""

from __future__ import annotations

import math
from itertools import islice

import msgspec

from evenmatch.criteria.base import Form, Seats
from evenmatch.criteria.host_reach import hosts_of
from evenmatch.criteria.kinds.latency import (
    RegionLimits,
    are_measured,
    cheapest,
    common_regions,
    known_latencies,
    open_regions,
    ping,
    region_criterion,
    regions_known,
)
from evenmatch.criteria.registry import form_of, pairs_of
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import Player, Ticket


class Venue(msgspec.Struct, frozen=True, gc=False):
    """Where one match is played.

    Args:
        region: The region for all; None if there is none.
        delta: By team and player: milliseconds by which the region is worse than the player's best.
        hosts: Ids of the players who reach everyone, best first; None if that is unknown.
    """

    region: str | None = None
    delta: tuple[tuple[float, ...], ...] | None = None
    hosts: tuple[str, ...] | None = None


class Venues:
    """The venues of one queue's matches."""

    def __init__(self, queue: Queue) -> None:
        definitions: tuple[Criterion | Rule, ...] = (*queue.criteria, *queue.rules)
        self._weigh = region_criterion(queue)
        pings = [c for c in definitions if form_of(c) is Form.PLACES]
        joint = [c.attribute for c in pings if pairs_of(c) == "region"]
        self._latency = next(iter((*joint, *[c.attribute for c in pings])), None)
        self._is_joint = bool(joint)
        self._limits = RegionLimits(queue, self._latency or "")
        self._connect = next((c.attribute for c in definitions if form_of(c) is Form.NETWORK), None)
        self.are_none = self._latency is None and self._connect is None

    def of(self, teams: Seats, at: float) -> Venue:
        """Return the venue of a match made at an instant from which on rules allow it.

        Args:
            teams: Tickets by team, without bots.
            at: The instant.

        Complexity:
            O(k * regions), and O(k^2) if players host.
        """
        region, delta = self._region(teams, at)
        return Venue(region, delta, self._hosts(teams))

    def pinned(self, ticket: Ticket, region: str) -> Ticket | None:
        """Return a ticket that knows only this region, since its match runs there already.

        Returns:
            The ticket itself if no criterion or rule chooses a region for all; None if one of its
            players has no latency to that region.
        """
        name = self._latency
        if not self._is_joint or name is None:
            return ticket
        players = []
        for player in ticket.players:
            known = known_latencies(ticket, player, name)
            if region not in known:
                return None
            only = {**player.attributes, name: {region: known[region]}}
            players.append(msgspec.structs.replace(player, attributes=only))
        shared = {key: value for key, value in ticket.attributes.items() if key != name}
        return msgspec.structs.replace(ticket, players=tuple(players), attributes=shared)

    def delta_at(self, teams: Seats, region: str) -> tuple[tuple[float, ...], ...] | None:
        """Return by team and player how much worse a region is than their best; None if unknown.

        Args:
            teams: Tickets by team, with their own latencies.
            region: Where the match runs.
        """
        name = self._latency
        if name is None:
            return None
        known = [regions_known((team,), name) for team in teams]
        if any(region not in each for team in known for each in team):
            return None
        return tuple(
            [tuple([each[region] - min(each.values()) for each in team]) for team in known]
        )

    def _region(
        self, teams: Seats, at: float
    ) -> tuple[str | None, tuple[tuple[float, ...], ...] | None]:
        """Return the region for all players, and what it adds to each one's best latency.

        Without a criterion or rule on regions, and with all pings measured, the places that all
        players know are players of other matches.
        """
        if self._latency is None:
            return None, None
        if not self._is_joint and are_measured(teams, self._latency):
            return None, None
        known = regions_known(teams, self._latency)
        regions = open_regions(common_regions(known), self._limits, teams, at)
        region = cheapest(regions, self._weigh)
        if region is None:
            return None, None
        above = iter([ms - min(own.values()) for ms, own in zip(region.ms, known, strict=True)])
        sizes = [sum(ticket.size for ticket in team) for team in teams]
        return region.name, tuple([tuple(islice(above, size)) for size in sizes])

    def _hosts(self, teams: Seats) -> tuple[str, ...] | None:
        """Return the ids of the hosts: least mean ping to the others first, then by id."""
        if self._connect is None:
            return None
        found = hosts_of(teams, self._connect)
        ranked = [(self._mean_ping(host, teams), host[1].id) for host in found]
        return tuple([name for _, name in sorted(ranked)])

    def _mean_ping(self, host: tuple[Ticket, Player], teams: Seats) -> float:
        """Return the mean ping from a host to the others; 0 if no latencies are known."""
        ticket, player = host
        name = self._latency
        if name is None:
            return 0.0
        own = known_latencies(ticket, player, name)
        pings = [
            ping(player, other, own, known_latencies(t, other, name))
            for team in teams
            for t in team
            for other in t.players
            if other is not player
        ]
        return math.fsum(pings) / len(pings) if pings else 0.0
