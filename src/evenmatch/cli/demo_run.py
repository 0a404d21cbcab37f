"""The demo as a client sees it: tickets in, matches out, and what became of each ticket."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence

from evenmatch.cli.demo_ledger import Figures, Ledger
from evenmatch.cli.demo_world import Guest, ticket_of
from evenmatch.client import AsyncClient, ServerRefused
from evenmatch.errors import Forgotten, MatchmakingError, UnknownTicket
from evenmatch.wire import ItemCreated

TICK = 0.005
"""Real seconds between two creates at least; all who came meanwhile are created at once."""
CREATE_MAX = 200
"""Tickets of one create: those who come late come in several, between which others are served."""
TELL = 0.1
"""Real seconds between two looks at least."""
SAMPLE = 4
"""Tickets of each page of the feed that are looked at at once, before the server forgets them."""
FORGOTTEN, UNKNOWN = Forgotten.code, UnknownTicket.code
CHECKERS = 32
"""Tickets that are checked at the same time."""


class Run:
    """One run of the demo against a server that is up.

    Args:
        client: Talks to the server.
        guests: Who comes, in order.
        speed: Trace seconds per real second.
        queue: The queue that they enter.
        tell: Called often, for those who watch.
    """

    def __init__(
        self,
        client: AsyncClient,
        guests: Sequence[Guest],
        *,
        speed: float,
        queue: str = "",
        tell: Callable[[Ledger], None],
    ) -> None:
        self.ledger = Ledger(client.url)
        self._client = client
        self._guests = guests
        self._speed = speed
        self._queue = queue
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
        count = 0
        for guest in self._guests[sent : sent + CREATE_MAX]:
            if guest.at > now or any(player.id in players for player in guest.players):
                break
            players.update(player.id for player in guest.players)
            count += 1
        return self._guests[sent : sent + count]

    async def _create(self, guests: Sequence[Guest]) -> None:
        items = await self._client.create_many([ticket_of(guest, self._queue) for guest in guests])
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
        page = await self._client.page(self._queue, self._after, wait=wait)
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
