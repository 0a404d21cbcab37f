"""Hosts of running matches: they ask for players when some have left, and end the match."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from tests.fault.simulated.clients import Caller
from tests.fault.simulated.history import Seen

PLAYED = (0.5, 10.0)
"""Seconds until somebody leaves."""
LEASE, HEARD_EVERY, ASKS = 20.0, 5.0, (4.0, 30.0)
"""The lease of an opening, how often it is renewed, and for how long a match asks; seconds."""
FILLS = 3
PRIORITIES = ("low", "normal", "high")


class Host(Caller):
    """The server of one match.

    Args:
        match: Its id.
        rejoin: Lets players who have left queue again.
    """

    match: str
    rejoin: Callable[[str], None]

    async def play(self) -> None:
        """Let players leave and others come, a few times; then end the match, or forget it."""
        for _ in range(FILLS):
            await asyncio.sleep(self.chance.uniform(*PLAYED))
            seen = await self._ask("GET", "open")
            if seen is None or seen.status != 200 or not await self._fill(seen.body):
                break
        if self.chance.random() < 0.5:
            await self.surely("finish", self.match, "POST", f"/v1/matches/{self.match}/finish")

    async def _fill(self, known: Any) -> bool:
        """Ask for players for a while; return whether the match goes on."""
        seated = [player for team in known["players"] for player in team]
        if len(seated) < 2:
            return False
        leaver = self.chance.choice(seated)
        asked = {
            "roster_version": known["roster_version"],
            "left": [leaver],
            "lease": LEASE,
            "priority": self.chance.choice(PRIORITIES),
        }
        until, is_first = self.world.now + self.chance.uniform(*ASKS), True
        while self.world.now < until:
            seen = await self._ask("POST", "open", asked)
            if seen is None or seen.status != 200:
                return seen is not None and seen.body["error"] == "stale_roster"
            if is_first:
                self.rejoin(leaver)
            is_first = False
            await asyncio.sleep(HEARD_EVERY * self.chance.uniform(0.5, 1.5))
        if self.chance.random() < 0.7:
            await self._ask("POST", "close")
        return True

    async def _ask(self, method: str, what: str, asked: Any = None) -> Seen | None:
        body = b"" if asked is None else msgspec.json.encode(asked)
        path = f"/v1/matches/{self.match}/{what}"
        return await self.surely("roster", self.match, method, path, body=body, given=asked)
