"""Clients under whose load a server is killed, and what they hold against it afterwards.

A round is one server: some clients create and cancel, one follows the feed, until the server is
gone. It is killed from outside at a random moment, or kills itself at a chosen point of its work;
see `inside/sitecustomize.py`. The next server is asked about everything the last one said.
"""

import asyncio
import contextlib
import os
import random
import signal
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import msgspec

from evenmatch.client.client import AsyncClient, Retry, ServerRefused, ServerUnreachable
from evenmatch.model.ticket import Player, Rating
from evenmatch.wire.matches import FeedMatch
from evenmatch.wire.tickets import CreateTicket
from tests.integration.serving import Server

INSIDE = Path(__file__).parent / "inside"
POINTS = ("outside", "before_begin", "before_commit", "after_commit", "snapshot")
SNAPSHOT_EVERY = 200
CREATORS = 8
ROUND_SECONDS = 240.0
"""A server that has not reached its point by then never will."""


ONCE = Retry(tries=1)
"""A killed server does not come back at the same address."""


class Witness(msgspec.Struct):
    """What the clients asked for and were told."""

    created: dict[str, str] = msgspec.field(default_factory=dict)
    asked: set[str] = msgspec.field(default_factory=set)
    cancelled: set[str] = msgspec.field(default_factory=set)
    matches: dict[str, FeedMatch] = msgspec.field(default_factory=dict)
    losses: list[str] = msgspec.field(default_factory=list)
    reached: list[str] = msgspec.field(default_factory=list)
    players: int = 0
    after: int = 0

    def lost(self, sentence: str) -> None:
        self.losses.append(sentence)


def rounds(directory: Path, points: Collection[str], seed: int, mutant: str = "") -> Witness:
    """Kill one server at each point in turn; return what its clients saw and what was lost."""
    witness, chance = Witness(), random.Random(seed)
    fresh: list[str] = []
    for point in points:
        known = set(witness.created)
        with started(directory, environment(point, chance, mutant)) as server:
            asyncio.run(one_round(server, witness, chance, point, fresh))
            assert server.process.wait(5.0) == -signal.SIGKILL
        witness.reached.append(point)
        fresh = [ticket for ticket in witness.created if ticket not in known]
    with started(directory, {}) as server:
        asyncio.run(check_all(server, witness))
    return witness


def environment(point: str, chance: random.Random, mutant: str) -> dict[str, str]:
    """Return the variables that make a server kill itself at a point, sooner or later."""
    times = chance.randint(1, 3) if point == "snapshot" else chance.randint(5, 60)
    return {
        "PYTHONPATH": os.pathsep.join(filter(None, (str(INSIDE), os.environ.get("PYTHONPATH")))),
        "EVENMATCH_KILL_POINT": f"{point}:{times}",
        "EVENMATCH_MUTANT": mutant,
        "EVENMATCH_SNAPSHOT_EVERY": str(SNAPSHOT_EVERY),
    }


@contextlib.contextmanager
def started(directory: Path, env: Mapping[str, str]) -> Iterator[Server]:
    server = Server(directory, env=env)
    try:
        yield server
    finally:
        server.kill()


async def one_round(
    server: Server, witness: Witness, chance: random.Random, point: str, fresh: Collection[str]
) -> None:
    """Ask about the last round, then load the server until it is gone."""
    async with AsyncClient(server.url, retry=ONCE) as client:
        # A kill from inside may come while a ticket is asked for again.
        with contextlib.suppress(ServerUnreachable):
            await check(client, witness, fresh)
        tasks = [asyncio.create_task(create(client, witness, chance)) for _ in range(CREATORS)]
        tasks.append(asyncio.create_task(follow(client, witness)))
        try:
            if point == "outside":
                await asyncio.sleep(chance.uniform(0.2, 0.8))
                server.process.kill()
            async with asyncio.timeout(ROUND_SECONDS):
                await asyncio.gather(*tasks)
        except TimeoutError:
            raise AssertionError(f"the server never got to {point}") from None


async def create(client: AsyncClient, witness: Witness, chance: random.Random) -> None:
    with contextlib.suppress(ServerUnreachable):
        while True:
            witness.players += 1
            player = f"p{witness.players}"
            ticket = await client.create(new_ticket(player, chance.gauss(1500.0, 2000.0)))
            if ticket.id in witness.created:
                witness.lost(f"{ticket.id} of {witness.created[ticket.id]} went to {player} too")
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
            witness.lost(f"cancelling {ticket}: {refused}")


async def follow(client: AsyncClient, witness: Witness) -> None:
    try:
        while True:
            page = await client.page("duel", witness.after, wait=1.0)
            witness.matches.update({match.match: match for match in page.matches})
            witness.after = page.next
    except ServerUnreachable:
        return
    except ServerRefused as refused:
        witness.lost(f"the feed after {witness.after}: {refused}")


async def check_all(server: Server, witness: Witness) -> None:
    async with AsyncClient(server.url, retry=ONCE) as client:
        await check(client, witness, list(witness.created))


async def check(client: AsyncClient, witness: Witness, tickets: Collection[str]) -> None:
    """Note as lost whatever these tickets or the matches of the feed are not any more."""
    matches = await whole_feed(client)
    by_ticket = check_matches(witness, matches)
    for ticket in tickets:
        player = witness.created[ticket]
        try:
            state = (await client.get(ticket)).state
        except ServerRefused as refused:
            witness.lost(f"{ticket} of {player}: {refused}")
            continue
        if (state == "matched") != (ticket in by_ticket):
            witness.lost(f"{ticket} of {player} is {state}, against the feed")
        if (state == "cancelled") < (ticket in witness.cancelled):
            witness.lost(f"{ticket} of {player} was cancelled, and is {state}")
        # A cancel that nobody answered may have happened, or not.
        if state == "cancelled" and ticket not in witness.asked:
            witness.lost(f"{ticket} of {player} is cancelled, and nobody asked for it")
        if state == "waiting":
            # Who waits gets his own ticket when he asks again: it is still his.
            again = (await client.create(new_ticket(player, 0.0))).id
            if again != ticket:
                witness.lost(f"{ticket} of {player} waits, and he was given {again}")


async def whole_feed(client: AsyncClient) -> dict[str, FeedMatch]:
    matches: dict[str, FeedMatch] = {}
    after = 0
    while (page := await client.page("duel", after)).matches:
        matches.update({match.match: match for match in page.matches})
        after = page.next
    return matches


def check_matches(witness: Witness, matches: Mapping[str, FeedMatch]) -> Counter[str]:
    """Compare the feed with what was shown and with who created the tickets."""
    for match_id, match in witness.matches.items():
        if matches.get(match_id) != match:
            witness.lost(f"match {match_id} was shown and is gone or has changed")
    owners = set(witness.created.values())
    tickets: Counter[str] = Counter()
    players: Counter[str] = Counter()
    for match in matches.values():
        seated = [player for team in match.players for player in team]
        places = [ticket for team in match.teams for ticket in team]
        tickets.update(places)
        players.update(seated)
        for ticket, player in zip(places, seated, strict=True):
            owner = witness.created.get(ticket)
            # A create that nobody answered may have happened, or not.
            if owner != player and (owner is not None or player in owners):
                witness.lost(f"{ticket} of {owner} was matched as {player}'s")
    for name, count in (tickets + players).items():
        if count > 1:
            witness.lost(f"{name} was matched {count} times")
    return tickets


def new_ticket(player: str, rating: float) -> CreateTicket:
    return CreateTicket((Player(player, Rating(rating)),), ("duel",))
