"""Bots that play a hero shooter, five against five, on a server with hero.toml.

    python bots.py http://127.0.0.1:8080 --bots 200 --minutes 5

They come alone and with friends, list roles, measure pings to three regions, answer ready-checks
(or decline, or are silent), play for a while, report who won, and queue again. Following a ticket
by a stream tells the server that its player is there, so that no heartbeats are needed. When the
server is away they try again. Ctrl-C ends them: who waits cancels, and a summary is printed.
"""

import argparse
import asyncio
import random
import signal
import statistics
import sys
import time
from collections import Counter
from contextlib import suppress

from evenmatch import Player, Rating
from evenmatch.client.client import AsyncClient, ServerRefused, ServerUnreachable
from evenmatch.errors import ConfigError
from evenmatch.wire.matches import ReportOutcome
from evenmatch.wire.tickets import CreateTicket

SEATS = {"tank": 1, "damage": 2, "support": 2}
ROLES = {
    ("damage",): 26, ("support",): 16, ("tank",): 9, ("damage", "support"): 13,
    ("support", "damage"): 10, ("damage", "tank"): 8, ("tank", "damage"): 6,
    ("support", "tank"): 4, (): 8,
}  # fmt: skip
"""What players list, preferred first, by weight; whoever lists nothing takes any role."""
PARTY_SIZES = {1: 71, 2: 18, 3: 7, 4: 2, 5: 2}
REGIONS = {"europe": 55, "america": 35, "asia": 10}
PINGS = {
    "europe": {"europe": 20, "america": 95, "asia": 180},
    "america": {"europe": 95, "america": 25, "asia": 150},
    "asia": {"europe": 180, "america": 150, "asia": 30},
}
"""Milliseconds from a home region to the servers of each, before the last mile."""
AWAY_SECONDS = 1.0
TELL_SECONDS = 5.0


def drawn(rng, weights):
    """Return one of the keys by its weight."""
    return rng.choices(list(weights), list(weights.values()))[0]


def fit(lists, seats):
    """Return whether everybody finds a role that they take, each role in so many seats."""
    if not lists:
        return True
    for role in lists[0] or seats:
        if seats[role] and fit(lists[1:], {**seats, role: seats[role] - 1}):
            return True
    return False


def party(rng, first, most):
    """Return friends of one region and of like skill, whose roles go together in a team."""
    size = min(drawn(rng, PARTY_SIZES), most)
    home, skill, lists = drawn(rng, REGIONS), rng.gauss(1500, 300), []
    while len(lists) < size:
        wish = drawn(rng, ROLES)
        if fit([*lists, wish], SEATS):
            lists.append(wish)
    players = []
    for number, roles in enumerate(lists, start=first):
        mile = rng.lognormvariate(2.5, 0.5)
        pings = {region: round(ms + mile, 1) for region, ms in PINGS[home].items()}
        rating = Rating(rng.gauss(skill, 100))
        players.append(Player(f"bot{number}", rating, {"latency": pings}, roles))
    return tuple(players)


class Tally:
    """What all bots have met together; the server's clock gives the waits."""

    def __init__(self):
        self.counts, self.matches, self.waits = Counter(), {}, []
        self.playing, self.twice, self.failed = {}, 0, 0

    def begin(self, players, match):
        """Note that players begin a match; nobody may be in two."""
        self.matches[match.match] = match
        for player in players:
            self.twice += self.playing.get(player.id) is not None
            self.playing[player.id] = match.match

    def end(self, players):
        """Note that players are free again."""
        for player in players:
            self.playing[player.id] = None

    def line(self, seconds):
        """Return where things stand, in a line."""
        playing = sum(match is not None for match in self.playing.values())
        wait = statistics.fmean(self.waits) if self.waits else 0.0
        away, self.counts["away"] = self.counts["away"], 0
        self.failed += away
        if away:
            return f"{seconds:4.0f} s: the server does not answer ({away} requests failed)"
        return (
            f"{seconds:4.0f} s: {self.counts['waiting']} parties wait, {playing} bots play, "
            f"{len(self.matches)} matches, {wait:.1f} s waited on average"
        )

    def summary(self):
        """Return what it came to."""
        counts, waits = self.counts, sorted(self.waits)
        tickets = f"{counts['tickets']:,} tickets of {counts['players']:,} players"
        ended = f"{counts['matched']:,} matched, {counts['declined']:,} declined, "
        ended += f"{counts['silent']:,} silent, {counts['expired']:,} expired, "
        ended += f"{counts['left']:,} cancelled when the bots ended"
        lines = [f"{tickets}: {ended}"]
        if not self.matches:
            return "\n".join([*lines, "no match was played"])
        quality = statistics.fmean(match.quality for match in self.matches.values())
        half, most = (waits[int(share * (len(waits) - 1))] for share in (0.5, 0.95))
        lines.append(f"{len(self.matches):,} matches, quality {quality:.3f}")
        lines.append(
            f"wait {statistics.fmean(waits):.1f} s on average, half at most {half:.1f} s, "
            f"95 of 100 at most {most:.1f} s"
        )
        lines.append(
            f"{counts['off']:,} of {counts['seated']:,} players with a first role got another"
        )
        lines.append(
            f"{self.twice} players were in two matches at once, "
            f"{counts['other']} tickets ended for another reason"
        )
        return "\n".join(lines)


class Friends:
    """A party that queues, answers, plays and queues again."""

    def __init__(self, client, players, rng, options, tally):
        self.client, self.players, self.rng = client, players, rng
        self.options, self.tally = options, tally
        self.ticket, self.match = None, None
        self.asked = None

    async def live(self):
        """Play for ever; a server that is away for a while is asked again."""
        await asyncio.sleep(self.rng.uniform(0, self.options.spread))
        while True:
            await self.patiently(self.queue_up)
            self.tally.counts["waiting"] += 1
            last = await self.follow()
            self.ticket = None
            self.tally.counts["waiting"] -= 1
            if last.state == "matched":
                self.tally.waits += [last.wait] * len(self.players)
                self.tally.counts["matched"] += 1
                await self.play(last.match)
            else:
                known = last.reason if last.reason in ("declined", "silent") else last.state
                self.tally.counts[known if known != "cancelled" else "other"] += 1
            await asyncio.sleep(self.rng.uniform(1, 5))

    async def queue_up(self):
        """Create a ticket, once those who failed ready-checks may come again."""
        while True:
            try:
                await self.create()
            except ServerRefused as refused:
                # Friends still play, or somebody has to pause.
                if refused.code not in ("cooldown", "already_waiting"):
                    raise
                await asyncio.sleep(refused.seconds or 1.0)
            else:
                return

    async def create(self):
        """Create a ticket; if this is cancelled, `leave` waits for the answer."""
        new = CreateTicket(self.players, (self.options.queue,))
        self.asked = asyncio.create_task(self.client.create(new))
        self.note_ticket(await asyncio.shield(self.asked))

    def note_ticket(self, created):
        """Remember the ticket, and count it."""
        self.ticket, self.asked = created.id, None
        self.tally.counts.update(tickets=1, players=len(self.players))

    async def follow(self):
        """Answer for the party whenever it is asked, and return the state that ends the wait."""
        answering, asked = [], None
        try:
            async for now in self.client.events(self.ticket):
                if now.state == "proposed" and now.match != asked:
                    asked = now.match
                    answering += [
                        asyncio.create_task(self.answer(asked, player)) for player in self.players
                    ]
                elif now.state == "waiting":
                    asked = None
                elif now.state not in ("waiting", "proposed"):
                    return now
        finally:
            for task in answering:
                task.cancel()
            await asyncio.gather(*answering, return_exceptions=True)
        raise RuntimeError("the stream ended before the ticket did")

    async def answer(self, match, player):
        """Say yes or no after some seconds, or nothing at all."""
        lot = self.rng.random()
        await asyncio.sleep(self.rng.uniform(0.5, 4.0))
        if lot < self.options.silent:
            return
        no = lot < self.options.silent + self.options.decline
        say = self.client.decline if no else self.client.accept
        with suppress(ServerRefused):  # The check is over, since somebody else has declined.
            await self.patiently(lambda: say(match, self.ticket, player.id))

    async def play(self, match_id):
        """Play for a while; the party of the first ticket says who won."""
        match = await self.patiently(lambda: self.client.match(match_id))
        self.tally.begin(self.players, match)
        is_first = match.players[0][0] == self.players[0].id
        self.match = match_id if is_first else None
        self.note_roles(match)
        await asyncio.sleep(self.options.match_seconds * self.rng.uniform(0.8, 1.2))
        if is_first:
            ranks = (1.0, 2.0) if self.rng.random() < 0.5 else (2.0, 1.0)
            await self.patiently(lambda: self.client.report(match_id, ReportOutcome(ranks)))
            await self.patiently(lambda: self.client.finish(match_id))
        self.match = None
        self.tally.end(self.players)

    def note_roles(self, match):
        """Count who of the party got their first role."""
        first = {player.id: player.roles[:1] for player in self.players}
        for names, roles in zip(match.players, match.roles or (), strict=False):
            for name, role in zip(names, roles, strict=True):
                if first.get(name):
                    self.tally.counts.update(seated=1, off=role not in first[name])

    async def patiently(self, ask):
        """Return the answer of a server that may be away for a while."""
        while True:
            try:
                return await ask()
            except (ServerUnreachable, ServerRefused) as error:
                if isinstance(error, ServerRefused) and not error.is_passing:
                    raise
                self.tally.counts["away"] += 1
                await asyncio.sleep(AWAY_SECONDS)

    async def leave(self):
        """Take back a ticket that waits, and end a match that is played."""
        if self.match is not None:
            with suppress(ServerRefused, ServerUnreachable):
                await self.client.finish(self.match)
        if self.asked is not None:
            with suppress(ServerRefused, ServerUnreachable):
                self.note_ticket(await self.asked)
        if self.ticket is not None:
            self.tally.counts["left"] += 1
            with suppress(ServerRefused, ServerUnreachable):  # Matched now, or nobody there.
                await self.client.cancel(self.ticket)


async def main(options):
    """Let the bots play until time is up or Ctrl-C, and print what it came to."""
    rng, tally, began = random.Random(options.seed), Tally(), time.monotonic()
    stop, groups, count = asyncio.Event(), [], 0
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with AsyncClient(options.url) as client:
        while count < options.bots:
            players = party(rng, count, options.bots - count)
            count += len(players)
            own = random.Random(rng.random())
            groups.append(Friends(client, players, own, options, tally))
        lives = [asyncio.create_task(each.live()) for each in groups]
        stopping = asyncio.create_task(stop.wait())
        while (left := options.minutes * 60 - (time.monotonic() - began)) > 0:
            done = [each for each in lives if each.done()]
            if stop.is_set() or done:
                break
            await asyncio.wait([stopping], timeout=min(left, TELL_SECONDS))
            print(tally.line(time.monotonic() - began), flush=True)
        for each in (stopping, *lives):
            each.cancel()
        ended = await asyncio.gather(*lives, return_exceptions=True)
        await asyncio.gather(*(each.leave() for each in groups))
    faults = [each for each in ended if isinstance(each, Exception)]
    if faults and isinstance(faults[0], ServerRefused):
        sys.exit(f"bots.py: {options.url} takes no such tickets: {faults[0]}")
    print(tally.summary(), flush=True)
    if faults:
        raise faults[0]
    if not tally.counts["tickets"] and tally.failed:
        sys.exit(f"bots.py: no server answered at {options.url}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", nargs="?", default="http://127.0.0.1:8080")
    parser.add_argument("--queue", default="hero", help="the queue's name (hero)")
    parser.add_argument("--bots", type=int, default=200, help="how many players (200)")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long (5)")
    parser.add_argument("--match-seconds", type=float, default=60.0, help="of a match (60)")
    parser.add_argument("--spread", type=float, default=20.0, help="seconds until all came (20)")
    parser.add_argument("--decline", type=float, default=0.02, help="share who say no (0.02)")
    parser.add_argument("--silent", type=float, default=0.01, help="share who say nothing (0.01)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.bots < 1 or given.minutes <= 0.0:
        parser.error("--bots must be at least 1, and --minutes more than 0")
    try:
        asyncio.run(main(given))
    except ConfigError as error:
        parser.error(str(error))
