"""kill -9 under load: what was acknowledged stays, and nobody is matched twice.

Five kills by default; `EVENMATCH_KILLS=50` makes it fifty.
"""

import asyncio
import contextlib
import os
import random
from collections import Counter
from pathlib import Path

import msgspec

from evenmatch.client import AsyncClient, ServerRefused, ServerUnreachable
from evenmatch.model.rating import Rating
from evenmatch.model.ticket import Player
from evenmatch.wire import CreateTicket, FeedMatch
from tests.integration.serving import Server

KILLS = int(os.environ.get("EVENMATCH_KILLS", "5"))
CREATORS = 8
SEED = 7


class Witness(msgspec.Struct):
    """What the clients were told."""

    created: dict[str, str] = msgspec.field(default_factory=dict)
    asked: set[str] = msgspec.field(default_factory=set)
    cancelled: set[str] = msgspec.field(default_factory=set)
    matches: dict[str, FeedMatch] = msgspec.field(default_factory=dict)
    players: int = 0
    after: int = 0


def test_kill_loses_nothing_and_matches_nobody_twice(tmp_path: Path) -> None:
    witness, chance = Witness(), random.Random(SEED)
    for _ in range(KILLS):
        server = Server(tmp_path)
        try:
            asyncio.run(load(server, witness, chance))
        finally:
            server.kill()
    server = Server(tmp_path)
    try:
        asyncio.run(check(server, witness))
    finally:
        server.kill()
    assert len(witness.created) > 20 * KILLS
    assert witness.matches
    assert witness.cancelled
    assert "Traceback" not in server.log.read_text()


async def load(server: Server, witness: Witness, chance: random.Random) -> None:
    """Create and cancel until the server is killed at a random moment."""
    async with AsyncClient(server.url) as client:
        tasks = [asyncio.create_task(create(client, witness, chance)) for _ in range(CREATORS)]
        tasks.append(asyncio.create_task(follow(client, witness)))
        await asyncio.sleep(chance.uniform(0.2, 0.8))
        server.process.kill()
        await asyncio.gather(*tasks)


async def create(client: AsyncClient, witness: Witness, chance: random.Random) -> None:
    with contextlib.suppress(ServerUnreachable):
        while True:
            witness.players += 1
            player = f"p{witness.players}"
            rating = Rating(chance.gauss(1500.0, 2000.0))
            ticket = await client.create(CreateTicket((Player(player, rating),), ("duel",)))
            assert ticket.id not in witness.created, "an id was given twice"
            witness.created[ticket.id] = player
            if chance.random() < 0.1:
                await cancel(client, ticket.id, witness)


async def cancel(client: AsyncClient, ticket: str, witness: Witness) -> None:
    witness.asked.add(ticket)
    try:
        assert await client.cancel(ticket) == "cancelled"
        witness.cancelled.add(ticket)
    except ServerRefused as refused:
        if refused.code != "too_late":
            raise


async def follow(client: AsyncClient, witness: Witness) -> None:
    with contextlib.suppress(ServerUnreachable):
        while True:
            page = await client.page("duel", witness.after, wait=1.0)
            witness.matches.update({match.match: match for match in page.matches})
            witness.after = page.next


async def check(server: Server, witness: Witness) -> None:
    async with AsyncClient(server.url) as client:
        matches: dict[str, FeedMatch] = {}
        after = 0
        while (page := await client.page("duel", after)).matches:
            matches.update({match.match: match for match in page.matches})
            after = page.next
        for match_id, match in witness.matches.items():
            assert matches[match_id] == match, "a match that was shown has changed"
        counts = Counter(ticket for match in matches.values() for ticket in match.tickets)
        assert not [ticket for ticket, count in counts.items() if count > 1]
        players = Counter(p for match in matches.values() for team in match.players for p in team)
        assert not [player for player, count in players.items() if count > 1]
        for ticket in witness.created:
            state = (await client.get(ticket)).state
            assert (state == "matched") == (ticket in counts), (ticket, state)
            assert state == "cancelled" or ticket not in witness.cancelled, (ticket, state)
            # A cancel that nobody answered may have happened, or not.
            assert state != "cancelled" or ticket in witness.asked, (ticket, state)
