"""The demo as a client sees it: tickets in, matches out, and what became of each ticket."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from evenmatch.client.client import AsyncClient, ServerRefused
from evenmatch.demo.ledger import DemoFigures, FigureSpread, TicketLedger
from evenmatch.demo.players import ConnectedPlayers, Party
from evenmatch.demo.world import ANSWER_SECONDS, ArrivalPlan, Guest, Setting, arrivals_at, ticket_of
from evenmatch.errors import AlreadyWaiting, Cooldown, Forgotten, MatchmakingError, UnknownTicket
from evenmatch.wire.tickets import ItemCreated

TICK = 0.005
"""Real seconds between two creates at least; all who came meanwhile are created at once."""
CREATE_MAX = 200
"""Tickets of one create: those who come late come in several, between which others are served."""
TELL = 0.1
"""Real seconds between two looks at least."""
SAMPLE = 4
"""Tickets of each page of the feed that are looked at at once, before the server forgets them."""
BACKLOG_MAX = 500
"""Answers to ready-checks under way; with more, those who come next have to wait."""
FORGOTTEN, UNKNOWN = Forgotten.code, UnknownTicket.code
LIVE = ("waiting", "proposed")
CHECKERS = 32
"""Tickets that are checked at the same time."""
ROUND_TRIP_MAX = 2.0
"""Trace seconds up to which a message to the server and back does not matter to a wait."""


class DemoRun:
    """One run of the demo against a server that is up.

    Args:
        client: Talks to the server.
        guests: Who comes, in order.
        setting: The world that they come from.
        speed: Trace seconds per real second.
        tell: Called often, for those who watch.
    """

    def __init__(
        self,
        client: AsyncClient,
        guests: Sequence[Guest],
        setting: Setting,
        *,
        speed: float,
        tell: Callable[[TicketLedger], None],
    ) -> None:
        self._client = client
        self._crowd = ConnectedPlayers(client, setting.answers, speed)
        self.ledger = TicketLedger(client.url, self._crowd.ended)
        self._guests = guests
        self._speed = speed
        self._queue = setting.queue
        self._tell = tell
        self._is_stopped = False
        self._after: int | None = None
        self._denied: set[str] = set()

    @property
    def is_stopped(self) -> bool:
        """Return whether it was told to end early."""
        return self._is_stopped

    def stop(self) -> None:
        """Let nobody else come, and check those who did."""
        self._is_stopped = True

    async def play(self, settle_until: float) -> DemoFigures:
        """Let the guests come, let the queue settle, and check every ticket.

        Args:
            settle_until: When checking begins, by `time.monotonic`.
        """
        try:
            await self._play(settle_until)
            # Players asked in the meantime may still answer.
            figures = await self._check()
            self._crowd.check()
            return figures
        finally:
            await self._crowd.close()

    async def _play(self, settle_until: float) -> None:
        following = asyncio.create_task(self._follow())
        try:
            await self._feed()
            while (left := settle_until - time.monotonic()) > 0 and not (
                following.done() or self._is_stopped
            ):
                self._tell(self.ledger)
                self._crowd.check()
                await asyncio.sleep(min(left, TELL))
        finally:
            following.cancel()
            ended = await asyncio.gather(following, return_exceptions=True)
        if isinstance(ended[0], Exception):
            raise ended[0]

    async def _feed(self) -> None:
        """Create each guest's ticket when its time has come; those of one tick in one array."""
        began, sent = time.monotonic(), 0
        while sent < len(self._guests) and not self._is_stopped:
            now, first = (time.monotonic() - began) * self._speed, sent
            if self._crowd.backlog <= BACKLOG_MAX:
                while sent < len(self._guests) and self._guests[sent].at <= now:
                    sent += 1
                    if sent - first == CREATE_MAX:
                        break
            if sent > first:
                await self._create(self._guests[first:sent])
            self._tell(self.ledger)
            self._crowd.check()
            next_at = began + self._guests[sent].at / self._speed if sent < len(self._guests) else 0
            await asyncio.sleep(min(max(next_at - time.monotonic(), TICK), TELL))

    async def _create(self, guests: Sequence[Guest]) -> None:
        tickets = [ticket_of(guest, self._queue) for guest in guests]
        items = await self._client.create_many(tickets)
        new: dict[str, Party] = {}
        for guest, item in zip(guests, items, strict=True):
            if isinstance(item, ItemCreated):
                place = len(self.ledger.born)
                if self.ledger.acknowledge(guest, item):
                    new[item.id] = Party(tuple(player.id for player in guest.players), place)
            elif item.error == AlreadyWaiting.code:
                self.ledger.merged += 1
            elif item.error == Cooldown.code:
                self.ledger.cooling += 1
            else:
                raise MatchmakingError(f"the server refused a ticket: {item.message}")
        if new:
            await self._crowd.join(new)

    async def _follow(self) -> None:
        """Read the feed for ever, as a game's backend does."""
        while True:
            for ticket in await self._read_page(wait=1.0):
                await self._look_at_matched(ticket)
            await asyncio.sleep(2 * TICK)

    async def _look_at_matched(self, ticket: str) -> None:
        """Ask for a ticket that the feed has just shown; it may be forgotten, never unknown."""
        state, _ = await self._state(ticket)
        if state not in ("matched", FORGOTTEN):
            self._denied.add(ticket)

    async def _read_page(self, wait: float = 0.0) -> list[str]:
        """Read a page of the feed; return a ticket of each of its first few matches."""
        page = await self._client.page(self._queue, self._after, wait=wait)
        for match in page.matches:
            self.ledger.take(match)
        self._after = page.next
        return [match.tickets[0] for match in page.matches[:SAMPLE]]

    async def _check(self) -> DemoFigures:
        """Ask for every acknowledged ticket, then read the feed to its end, and compare."""
        found: dict[str, tuple[str, str | None]] = {}
        left = iter(list(self.ledger.born))
        await asyncio.gather(*(self._check_some(left, found) for _ in range(CHECKERS)))
        while await self._read_page():
            pass
        lost = {ticket for ticket, (state, reason) in found.items()
                if self._is_lost(ticket, state, reason)}  # fmt: skip
        # A ticket may have ended since it was asked for.
        ended = self._crowd.ended
        waiting = sum(
            state in LIVE and not (ticket in self.ledger.match_count or ticket in ended)
            for ticket, (state, _) in found.items()
        )
        figures = self.ledger.figures(
            waiting, len(lost | self._denied), self.ledger.checks(self._crowd)
        )
        trips = self._crowd.trips
        trip = self._speed * sum(trips) / len(trips) if trips else None
        return msgspec.structs.replace(
            figures, speed=self._speed, round_trip=trip, note=note_of(self._speed, trip)
        )

    async def _check_some(
        self, left: Iterator[str], found: dict[str, tuple[str, str | None]]
    ) -> None:
        for ticket in left:
            found[ticket] = await self._state(ticket)

    async def _state(self, ticket: str) -> tuple[str, str | None]:
        """Return the state and reason of a ticket, or the code with which it is refused."""
        try:
            state = await self._client.get(ticket)
        except ServerRefused as refused:
            return refused.code, self._crowd.ended.get(ticket)
        if state.reason is not None:
            self._crowd.ended.setdefault(ticket, state.reason)
        return state.state, state.reason

    def _is_lost(self, ticket: str, state: str, reason: str | None) -> bool:
        """Return whether an acknowledged ticket is gone without a match and without a cause.

        The queue has no deadline and nobody cancels, so a ticket that has ended was matched, and
        the feed must have shown it, or its party declined or did not answer in time. A server that
        never heard of a ticket which it acknowledged has lost it, whatever the feed showed.
        """
        if state == UNKNOWN:
            return True
        if state in LIVE or ticket in self.ledger.match_count:
            return False
        return not self._crowd.left_as_meant(ticket, reason)


def note_of(speed: float, round_trip: float | None) -> str | UnsetType:
    """Return why waits are longer than players would have felt, if they are.

    Args:
        speed: Trace seconds per real second.
        round_trip: Trace seconds that an answer took to the server and back.
    """
    if round_trip is None or round_trip <= ROUND_TRIP_MAX:
        return UNSET
    return (
        f"at {speed:,.0f} times real time a message to the server and back takes {round_trip:,.1f} "
        f"s of the trace, and players have {max(speed * ANSWER_SECONDS, 15.0):,.0f} s to answer a "
        f"ready-check, so the waits are longer than players would have felt; a lower --speed "
        f"brings them down"
    )


def simulated_wait(setting: Setting, plan: ArrivalPlan) -> FigureSpread:
    """Return the wait in a simulation of the same players and queue; they answer alike."""
    from evenmatch.lab.simulate import simulate

    wait = simulate(setting.scenario(plan.speed), arrivals=arrivals_at(plan.guests)).summary["wait"]
    return FigureSpread(wait["mean"], wait["p50"], wait["p95"])
