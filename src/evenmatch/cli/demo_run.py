"""The demo as a client sees it: tickets in, matches out, and what became of each ticket."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec

from evenmatch.cli.demo_world import QUEUE, Guest, ticket_of
from evenmatch.client import AsyncClient, ServerRefused
from evenmatch.errors import Forgotten, MatchmakingError, UnknownTicket
from evenmatch.wire import BATCH_MAX, FeedMatch, ItemCreated

TICK = 0.005
"""Real seconds between two creates at least; all who came meanwhile are created at once."""
TELL = 0.1
"""Real seconds between two looks at least."""
SAMPLE = 4
"""Tickets of each page of the feed that are looked at at once, before the server forgets them."""
FORGOTTEN, UNKNOWN = Forgotten.code, UnknownTicket.code
CHECKERS = 32
"""Tickets that are checked at the same time."""


class Spread(msgspec.Struct, frozen=True):
    """A mean and two percentiles; null where there is nothing."""

    mean: float | None
    p50: float | None
    p95: float | None


class Figures(msgspec.Struct, frozen=True):
    """What a run came to; waits in trace seconds, gaps in rating points."""

    tickets: int
    matched: int
    waiting: int
    merged: int
    lost: int
    duplicated: int
    wait: Spread
    rating_gap: Spread
    url: str


class Ledger:
    """What the client knows by itself: the tickets acknowledged to it, the matches it read.

    Args:
        url: The address of the status page.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.merged = 0
        self.born: dict[str, float] = {}
        self.ratings: dict[str, float] = {}
        self.matches: dict[str, FeedMatch] = {}
        self.match_count: Counter[str] = Counter()
        self.waits: list[float] = []
        self.gaps: list[float] = []

    def acknowledge(self, guest: Guest, created: ItemCreated) -> None:
        """Note the answer to a create: a new ticket, or one that waits already."""
        if created.status == 200:
            self.merged += 1
            return
        self.born[created.id] = created.enqueued_at
        if guest.player.rating is not None:
            self.ratings[created.id] = guest.player.rating.mean

    def take(self, match: FeedMatch) -> None:
        """Note a match of the feed, which shows each at least once."""
        if match.match not in self.matches:
            self.matches[match.match] = match
            self.match_count.update(match.tickets)

    def measure(self) -> None:
        """Compute waits and gaps of all matches whose tickets were acknowledged."""
        matches = [m for m in self.matches.values() if all(t in self.born for t in m.tickets)]
        self.waits = [m.at - self.born[t] for m in matches for t in m.tickets]
        self.gaps = [
            abs(self.ratings[a] - self.ratings[b]) for a, b in (m.tickets for m in matches)
        ]

    @property
    def matched(self) -> int:
        """Return how many acknowledged tickets the feed has shown."""
        return sum(ticket in self.match_count for ticket in self.born)

    def figures(self, waiting: int, lost: int) -> Figures:
        """Return what the run came to."""
        self.measure()
        return Figures(
            tickets=len(self.born),
            matched=self.matched,
            waiting=waiting,
            merged=self.merged,
            lost=lost,
            duplicated=sum(count > 1 for count in self.match_count.values()),
            wait=spread(self.waits),
            rating_gap=spread(self.gaps),
            url=self.url,
        )


class Run:
    """One run of the demo against a server that is up.

    Args:
        client: Talks to the server.
        guests: Who comes, in order.
        speed: Trace seconds per real second.
        tell: Called often, for those who watch.
    """

    def __init__(
        self,
        client: AsyncClient,
        guests: Sequence[Guest],
        *,
        speed: float,
        tell: Callable[[Ledger], None],
    ) -> None:
        self.ledger = Ledger(client.url)
        self._client = client
        self._guests = guests
        self._speed = speed
        self._tell = tell
        self._after = 0
        self._denied: set[str] = set()

    async def play(self, settle_until: float) -> Figures:
        """Let the guests come, let the queue settle, and check every ticket.

        Args:
            settle_until: When checking begins, by `time.monotonic`.
        """
        following = asyncio.create_task(self._follow())
        try:
            await self._feed()
            while (left := settle_until - time.monotonic()) > 0 and not following.done():
                self._tell(self.ledger)
                await asyncio.sleep(min(left, TELL))
        finally:
            following.cancel()
            ended = await asyncio.gather(following, return_exceptions=True)
        if isinstance(ended[0], Exception):
            raise ended[0]
        return await self._check()

    async def _feed(self) -> None:
        """Create each guest's ticket when its time has come; those of one tick in one array."""
        began, sent = time.monotonic(), 0
        while sent < len(self._guests):
            due = self._due(sent, (time.monotonic() - began) * self._speed)
            if due:
                await self._create(due)
                sent += len(due)
            self._tell(self.ledger)
            if sent < len(self._guests):
                next_at = began + self._guests[sent].at / self._speed
                await asyncio.sleep(min(max(next_at - time.monotonic(), TICK), TELL))

    def _due(self, sent: int, now: float) -> Sequence[Guest]:
        """Return the next guests whose time has come; one who comes twice comes in two arrays."""
        players: set[str] = set()
        for guest in self._guests[sent : sent + BATCH_MAX]:
            if guest.at > now or guest.player.id in players:
                break
            players.add(guest.player.id)
        return self._guests[sent : sent + len(players)]

    async def _create(self, guests: Sequence[Guest]) -> None:
        items = await self._client.create_many([ticket_of(guest) for guest in guests])
        for guest, item in zip(guests, items, strict=True):
            if isinstance(item, ItemCreated):
                self.ledger.acknowledge(guest, item)
            elif item.error == "already_waiting":
                self.ledger.merged += 1
            else:
                raise MatchmakingError(f"the server refused a ticket: {item.message}")

    async def _follow(self) -> None:
        """Read the feed for ever, as a game's backend does."""
        while True:
            for ticket in await self._read_page(wait=1.0):
                await self._look_at_matched(ticket)
            await asyncio.sleep(2 * TICK)

    async def _look_at_matched(self, ticket: str) -> None:
        """Ask for a ticket that the feed has just shown; it may be forgotten, never unknown."""
        state = await self._state(ticket)
        if state not in ("matched", FORGOTTEN):
            self._denied.add(ticket)

    async def _read_page(self, wait: float = 0.0) -> list[str]:
        """Read a page of the feed; return a ticket of each of its first few matches."""
        page = await self._client.page(QUEUE, self._after, wait=wait)
        for match in page.matches:
            self.ledger.take(match)
        self._after = page.next
        return [match.tickets[0] for match in page.matches[:SAMPLE]]

    async def _check(self) -> Figures:
        """Ask for every acknowledged ticket, then read the feed to its end, and compare."""
        states: dict[str, str] = {}
        left = iter(list(self.ledger.born))
        await asyncio.gather(*(self._check_some(left, states) for _ in range(CHECKERS)))
        while await self._read_page():
            pass
        lost = {ticket for ticket, state in states.items() if self._is_lost(ticket, state)}
        waiting = sum(state == "waiting" for state in states.values())
        return self.ledger.figures(waiting, len(lost | self._denied))

    async def _check_some(self, left: Iterator[str], states: dict[str, str]) -> None:
        for ticket in left:
            states[ticket] = await self._state(ticket)

    async def _state(self, ticket: str) -> str:
        """Return the state of a ticket, or the code with which the server refuses to tell it."""
        try:
            return (await self._client.get(ticket)).state
        except ServerRefused as refused:
            return refused.code

    def _is_lost(self, ticket: str, state: str) -> bool:
        """Return whether an acknowledged ticket is gone without a match.

        The queue has no deadline and nobody cancels, so a ticket that the server forgot was
        matched, and the feed must have shown it. A server that never heard of a ticket which it
        acknowledged has lost it, whatever the feed showed.
        """
        if state == UNKNOWN:
            return True
        return state != "waiting" and ticket not in self.ledger.match_count


def spread(values: Sequence[float]) -> Spread:
    """Return mean and percentiles (nearest rank)."""
    if not values:
        return Spread(None, None, None)
    ordered = sorted(values)
    ranks = (-(-len(ordered) * percent // 100) for percent in (50, 95))
    p50, p95 = (ordered[max(rank, 1) - 1] for rank in ranks)
    return Spread(sum(ordered) / len(ordered), p50, p95)
