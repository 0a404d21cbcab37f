"""What the demo's client saw of each ticket, and what that adds up to at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from evenmatch.demo.players import SAID, ConnectedPlayers
from evenmatch.demo.world import Guest
from evenmatch.model.ticket import Player
from evenmatch.simulation.ready_check_behaviour import ACCEPT, DECLINE, SILENT
from evenmatch.wire.matches import FeedMatch
from evenmatch.wire.tickets import ItemCreated


class FigureSpread(msgspec.Struct, frozen=True):
    """A mean and two percentiles; null where there is nothing."""

    mean: float | None
    p50: float | None
    p95: float | None


class RegionFigures(msgspec.Struct, frozen=True):
    """The matched players of a region; waits in trace seconds."""

    players: int
    wait: FigureSpread
    quality: FigureSpread


class Checks(msgspec.Struct, frozen=True):
    """What became of the ready-checks.

    Args:
        proposed: Matches that were proposed.
        failed: Those that somebody declined or did not answer.
        repaired: Those of the failed that were played, with others in the free seats.
        declined: Tickets that declined.
        silent: Tickets that did not answer.
        late: Tickets whose answer came too late.
        cooling: Arrivals that were sent away because their player had failed several checks.
        wait: From the ticket until its first proposal, trace seconds.
    """

    proposed: int = 0
    failed: int = 0
    repaired: int = 0
    declined: int = 0
    silent: int = 0
    late: int = 0
    cooling: int = 0
    wait: FigureSpread = FigureSpread(None, None, None)


class DemoFigures(msgspec.Struct, frozen=True):
    """What a run came to; waits in trace seconds, gaps in rating points.

    Players, quality and regions are given where players have a region.

    Args:
        tickets: Tickets that the server acknowledged.
        matched: Those of them that played.
        waiting: Those that waited at the end.
        merged: Arrivals whose player was still waiting.
        lost: Tickets that are gone without a match and without a cause.
        duplicated: Tickets in two matches.
        wait: From the ticket to the match, by the server's clock: what players felt.
        rating_gap: Between the means of the teams.
        url: Address of the dashboard.
        checks: What became of the ready-checks.
        speed: Trace seconds per real second.
        round_trip: Trace seconds that an answer took to the server and back, in the mean.
        players: Of all tickets.
        quality: Of the matches.
        regions: The same by region.
        simulated: The wait in a simulation of the same players.
        note: Why waits are longer than players would have felt, if they are.
    """

    tickets: int
    matched: int
    waiting: int
    merged: int
    lost: int
    duplicated: int
    wait: FigureSpread
    rating_gap: FigureSpread
    url: str
    checks: Checks
    speed: float = 1.0
    round_trip: float | None = None
    players: int | UnsetType = UNSET
    quality: FigureSpread | UnsetType = UNSET
    regions: dict[str, RegionFigures] | UnsetType = UNSET
    simulated: FigureSpread | UnsetType = UNSET
    note: str | UnsetType = UNSET


NONE = Checks()


class TicketLedger:
    """What the client knows by itself: the tickets acknowledged to it, the matches it read.

    Args:
        url: The address of the status page.
        ended: Why tickets ended without a match; whoever hears of it adds to it.
    """

    def __init__(self, url: str, ended: Mapping[str, str] | None = None) -> None:
        self.url = url
        self.ended = {} if ended is None else ended
        self.merged = 0
        self.cooling = 0
        self.born: dict[str, float] = {}
        self.parties: dict[str, tuple[Player, ...]] = {}
        self.matches: dict[str, FeedMatch] = {}
        self.match_count: Counter[str] = Counter()
        self.waits: list[float] = []
        self.gaps: list[float] = []
        self.qualities: list[float] = []

    def acknowledge(self, guest: Guest, created: ItemCreated) -> bool:
        """Note the answer to a create; return whether it is a new ticket, not one that waits."""
        if created.status == 200:
            self.merged += 1
            return False
        self.born[created.id] = created.enqueued_at
        self.parties[created.id] = guest.players
        return True

    def take(self, match: FeedMatch) -> None:
        """Note a match of the feed, which shows each at least once."""
        if match.match not in self.matches:
            self.matches[match.match] = match
            self.match_count.update(match.tickets)

    def measure(self) -> None:
        """Compute waits, gaps and qualities of all matches whose tickets were acknowledged."""
        matches = self._known()
        self.waits = [m.at - self.born[t] for m in matches for t in m.tickets
                      for _ in self.parties[t]]  # fmt: skip
        self.gaps = [self._gap(match) for match in matches]
        self.qualities = [match.quality for match in matches if match.quality is not None]

    @property
    def waiting(self) -> int:
        """Return how many acknowledged tickets have neither played nor ended, as far as heard."""
        return sum(t not in self.match_count and t not in self.ended for t in self.born)

    @property
    def matched(self) -> int:
        """Return how many acknowledged tickets the feed has shown."""
        return sum(ticket in self.match_count for ticket in self.born)

    def checks(self, crowd: ConnectedPlayers) -> Checks:
        """Return what became of the ready-checks."""
        return Checks(
            proposed=len(crowd.proposed),
            failed=len(crowd.failed),
            repaired=len(crowd.failed.intersection(self.matches)),
            declined=crowd.count(DECLINE, SAID[DECLINE]),
            silent=crowd.count(SILENT, SAID[SILENT]),
            late=crowd.count(ACCEPT, SAID[SILENT]) + crowd.count(DECLINE, SAID[SILENT]),
            cooling=self.cooling,
            wait=spread(list(crowd.asked_after.values())),
        )

    def figures(self, waiting: int, lost: int, checks: Checks = NONE) -> DemoFigures:
        """Return what the run came to."""
        self.measure()
        figures = DemoFigures(
            tickets=len(self.born),
            matched=self.matched,
            waiting=waiting,
            merged=self.merged,
            lost=lost,
            duplicated=sum(count > 1 for count in self.match_count.values()),
            wait=spread(self.waits),
            rating_gap=spread(self.gaps),
            url=self.url,
            checks=checks,
        )
        if not (regions := self.regions()):
            return figures
        return msgspec.structs.replace(
            figures,
            players=sum(map(len, self.parties.values())),
            quality=spread(self.qualities),
            regions=regions,
        )

    def regions(self) -> dict[str, RegionFigures]:
        """Return the figures of each region that a matched player is of, by name."""
        found: dict[str, list[tuple[float, float]]] = {}
        for match in self._known():
            for ticket in match.tickets:
                wait = match.at - self.born[ticket]
                for player in self.parties[ticket]:
                    region = player.attributes.get("region")
                    if isinstance(region, str) and match.quality is not None:
                        found.setdefault(region, []).append((wait, match.quality))
        return {
            region: RegionFigures(
                len(rows), spread([wait for wait, _ in rows]), spread([each for _, each in rows])
            )
            for region, rows in sorted(found.items())
        }

    def _known(self) -> list[FeedMatch]:
        """Return the matches all of whose tickets were acknowledged."""
        return [m for m in self.matches.values() if all(t in self.born for t in m.tickets)]

    def _gap(self, match: FeedMatch) -> float:
        """Return how far the teams' mean ratings are apart."""
        ratings = [
            [_rating(player) for ticket in team for player in self.parties[ticket]]
            for team in match.teams
        ]
        means = [sum(team) / len(team) for team in ratings]
        return max(means) - min(means)


def _rating(player: Player) -> float:
    if player.rating is not None:
        return player.rating.mean
    rating = player.attributes.get("rating", 0.0)
    return rating if isinstance(rating, float) else 0.0


def spread(values: Sequence[float]) -> FigureSpread:
    """Return mean and percentiles (nearest rank)."""
    if not values:
        return FigureSpread(None, None, None)
    ordered = sorted(values)
    ranks = (-(-len(ordered) * percent // 100) for percent in (50, 95))
    p50, p95 = (ordered[max(rank, 1) - 1] for rank in ranks)
    return FigureSpread(sum(ordered) / len(ordered), p50, p95)
