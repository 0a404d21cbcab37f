"""Clients: players who queue, accept, cancel and ask; the game's backend; and who only looks.

Each asks some node, tries another one when nothing or an error comes back, and notes every answer.
Nobody gives up what has to be done once: a create is repeated with its idempotency key.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from evenmatch.model.shards import shard_of
from tests.fault.simulated.history import Seen
from tests.fault.simulated.loop import NodeLoop, World
from tests.fault.simulated.network import CLIENTS, Network
from tests.fault.simulated.node import SOCKETS, Node, Request

PATIENCE = 6.0
"""Seconds until a client gives an answer up that should come at once."""
TRIES = 40
SILENCE = 18.0
"""Seconds without a word after which a stream is taken up elsewhere."""
LONG_POLL = 15.0
NEWEST = 6
"""Tickets that onlookers like best."""
UNANSWERED = "nobody-"
FOLLOWED, AT_A_NODE = 8, (2.0, 16.0)
"""Tickets that one WebSocket follows, and for how many seconds it does at one node."""
WATCHES = 20
"""How often a friend asks all nodes about a ticket."""
OFTEN, CALM = (0.1, 0.9), (2.0, 5.0)
"""Seconds between two looks of an onlooker."""
ODD = ((1e300, 80.0), (-1e300, 80.0), (1500.0, -1.0), (1500.0, 1e300))
"""Mean and deviation of ratings that nobody may have."""
STEP = 60.0
"""Ratings are multiples of it."""
AGAIN = (0.2, 2.5)
"""Seconds before the next try."""
OVER = frozenset({"cancelled", "expired"})
HAVE_MATCH = frozenset({"matched", "assigned"})


class Habits(msgspec.Struct, frozen=True):
    """What players do, as shares of them."""

    cancel: float = 0.12
    decline: float = 0.08
    ignore: float = 0.06
    double_tap: float = 0.08
    other_body: float = 0.05
    odd: float = 0.08
    mate_alone: float = 0.25
    by_halves: float = 0.3
    come_again: float = 0.4
    look_back: float = 0.5
    follow: float = 0.3
    meddle: float = 0.1


class Caller:
    """Asks nodes, and notes what they say.

    Args:
        network: To the nodes.
        nodes: Whom to ask.
        name: For its stream of chance.
    """

    def __init__(self, network: Network, nodes: Sequence[Node], loop: NodeLoop, name: str) -> None:
        self.network = network
        self.world: World = network.world
        self.nodes = nodes
        self.loop = loop
        self.seen: list[Seen] = []
        self.problems: list[str] = []
        self.chance = network.world.chance(f"caller {name}")
        self.node = self.chance.choice(nodes)
        self.count = 0
        self.queue = ""
        """Which one it is about, where it is about one."""
        self.part: int | None = None
        """Which part of it, where it is divided."""
        self.tenant = self.token = ""
        """Whose game it is about, and what says so."""

    async def once(
        self, kind: str, about: str, request: Request, given: Any = None, patience: float = PATIENCE
    ) -> Seen | None:
        """Ask one node; None if nothing came back in time."""
        node, network, sent = self.node, self.network, self.world.now
        request = msgspec.structs.replace(request, token=self.token)
        future: asyncio.Future[Seen] = self.loop.create_future()

        def told(status: int, headers: dict[str, str], body: bytes) -> None:
            got = self.world.now
            value = msgspec.json.decode(body) if status and body else body.decode()
            facts = (kind, sent, got, node.name, status, about, given, value, headers)
            seen = Seen(*facts, self.tenant)
            if status:
                self.seen.append(seen)
            if not future.done():
                future.set_result(seen)

        def reply(status: int, headers: dict[str, str], body: bytes) -> None:
            text = f"{request.number} {status} ".encode() + body
            node.carry_back(text, partial(told, status, headers, body))

        network.send(CLIENTS, node.name, request.text(), lambda: node.take(request, reply))
        try:
            seen = await self.loop.within(patience, future)
        except TimeoutError:
            leave = f"{request.number} left".encode()
            network.send(CLIENTS, node.name, leave, partial(node.leave, request.number))
            self._turn_elsewhere()
            return None
        if seen.status in (0, 503):
            self._turn_elsewhere()
        return seen

    async def surely(
        self, kind: str, about: str, method: str, path: str, **rest: Any
    ) -> Seen | None:
        """Ask until somebody says something definite; None if nobody ever does."""
        body, key = rest.get("body", b""), rest.get("key", "")
        for _ in range(TRIES):
            request = Request(self._number(), method, path, body, key)
            seen = await self.once(kind, about, request, rest.get("given"))
            if seen is not None and seen.status not in (0, 429, 503):
                return seen
            await asyncio.sleep(self.chance.uniform(*AGAIN))
        return None

    def _number(self) -> int:
        self.count += 1
        return Caller.next_number(self.world)

    @staticmethod
    def next_number(world: World) -> int:
        """Return a number that no other request has."""
        world.requests += 1
        return world.requests

    def _turn_elsewhere(self) -> None:
        self.node = self.chance.choice(self.nodes)


class Player(Caller):
    """A party that queues, once.

    Args:
        party: Names of its players.
        queue: Where.
        habits: What such parties do.
    """

    party: tuple[str, ...]
    habits = Habits()
    known: list[str]
    times = 0
    is_watched = False

    async def play(self) -> None:
        """Queue, and stay until it is over; whoever found no match may come again."""
        if self._does(self.habits.odd):
            await self._be_odd()
        state = await self._play_once()
        if state in OVER and self._does(self.habits.come_again):
            await asyncio.sleep(self.chance.uniform(*AGAIN))
            self.times += 1
            await self._play_once()

    async def _play_once(self) -> str:
        """Queue, and stay until it is over; return how it ended, as far as it is known."""
        ticket = await self._queue_up()
        if ticket is None:
            return ""
        self.known.append(ticket)
        tasks = []
        if self._does(self.habits.follow):
            follower = Follower(self.network, self.nodes, self.loop, f"follower of {ticket}")
            follower.ticket, follower.seen, follower.token = ticket, self.seen, self.token
            tasks.append(self.loop.begin(follower.follow()))
        if self.is_watched:
            friend = Onlooker(self.network, self.nodes, self.loop, f"friend of {ticket}")
            friend.seen, friend.token = self.seen, self.token
            tasks.append(self.loop.begin(friend.watch(ticket)))
        if self._does(self.habits.cancel):
            tasks.append(self.loop.begin(self._cancel(ticket)))
        state = await self._follow(ticket)
        await asyncio.gather(*tasks)
        if self._does(self.habits.look_back):
            await self.surely("get", ticket, "GET", f"/v1/tickets/{ticket}")
        return state

    async def _be_odd(self) -> None:
        """Send what no ticket may have."""
        mean, deviation = self.chance.choice(ODD)
        players = [{"id": f"odd {self.party[0]}", "rating": {"mean": mean, "deviation": deviation}}]
        body = msgspec.json.encode({"players": players, "queues": [self.queue]})
        await self.surely("odd", self.queue, "POST", "/v1/tickets", body=body)

    async def _come_alone(self, mate: str) -> None:
        """Queue as one of a party, beside it."""
        player = {"id": mate, "rating": {"mean": 1500.0, "deviation": 80.0}}
        body = msgspec.json.encode({"players": [player], "queues": [self.queue]})
        asked = {"method": "POST", "path": "/v1/tickets", "given": ([mate], self.queue)}
        await self.surely("create", f"k-{mate}-alone", **asked, body=body, key=f"k-{mate}-alone")

    def _does(self, share: float) -> bool:
        return self.chance.random() < share

    async def _queue_up(self) -> str | None:
        # Many are rated alike: only then can somebody be passed over by an equal.
        mean = STEP * round(self.chance.gauss(1500.0, 120.0) / STEP)
        body, key = self._body(mean), f"k-{self.party[0]}-{self.times}"
        given = (list(self.party), self.queue)
        asked = {"method": "POST", "path": "/v1/tickets", "given": given}
        taps = [self.surely("create", key, **asked, body=body, key=key)]
        if self._does(self.habits.double_tap):
            taps.append(self.surely("create", f"{key}-2", **asked, body=body, key=f"{key}-2"))
        answers = await asyncio.gather(*taps)
        if len(self.party) > 1 and not self.times and self._does(self.habits.mate_alone):
            await self._come_alone(self.party[-1])
        if self._does(self.habits.other_body):
            other = self._body(mean + 1.0)
            again = {**asked, "given": mean + 1.0}
            await self.surely("create again", key, **again, body=other, key=key)
        if self._does(self.habits.other_body):
            await self.surely("create", key, **asked, body=body, key=key)
        for seen in answers:
            if seen is not None and seen.status in (200, 201):
                return str(seen.body["id"])
        return None

    def _body(self, mean: float) -> bytes:
        rating = {"mean": mean, "deviation": 80.0}
        players = [{"id": name, "rating": rating} for name in self.party]
        return msgspec.json.encode({"players": players, "queues": [self.queue]})

    async def _cancel(self, ticket: str) -> None:
        await asyncio.sleep(self.chance.uniform(0.0, 8.0))
        await self.surely("cancel", ticket, "DELETE", f"/v1/tickets/{ticket}")

    async def _follow(self, ticket: str) -> str:
        """Ask for each change of state until there is none to come; return the last one."""
        path, answered, tries = f"/v1/tickets/{ticket}", "", 0
        state, match = "waiting", ""
        while tries < TRIES:
            query = f"?wait={LONG_POLL:g}&state={state}&match={match}"
            request = Request(self._number(), "GET", path + query)
            seen = await self.once("get", ticket, request, patience=LONG_POLL + PATIENCE)
            if seen is None or seen.status != 200:
                tries += 1
                await asyncio.sleep(self.chance.uniform(*AGAIN))
                continue
            state, match = seen.body["state"], seen.body["match"] or ""
            if state == "proposed" and match != answered:
                answered = match
                await self._answer(ticket, match)
            if state in OVER or state == "assigned":
                break
        return state

    async def _answer(self, ticket: str, match: str) -> None:
        draw, body = self.chance.random(), msgspec.json.encode({"ticket": ticket})
        if draw < self.habits.ignore:
            return
        if self._does(self.habits.meddle):
            nobody = msgspec.json.encode({"ticket": f"{ticket}0000"})
            await self.surely("meddle", match, "POST", f"/v1/matches/{match}/accept", body=nobody)
        kind = "decline" if draw < self.habits.ignore + self.habits.decline else "accept"
        path = f"/v1/matches/{match}/{kind}"
        if kind == "accept" and len(self.party) > 1 and self._does(self.habits.by_halves):
            some = msgspec.json.encode({"ticket": ticket, "players": self.party[:1]})
            await self.surely(kind, match, "POST", path, body=some, given=ticket)
            if self._does(0.5):
                return
        await self.surely(kind, match, "POST", path, body=body, given=ticket)


class Trio(Caller):
    """Three players whom nobody else's rating reaches, one after the other.

    Args:
        ratings: In the order in which they come.
        leaves: Who goes again as soon as all are there; None: nobody.
        known: Tickets that there are.
    """

    ratings: tuple[float, ...]
    leaves: int | None
    known: list[str]

    async def play(self) -> None:
        """Queue, each by themselves."""
        tickets = [await self._create(place) for place in range(len(self.ratings))]
        if self.leaves is not None and (ticket := tickets[self.leaves]) is not None:
            await self.surely("cancel", ticket, "DELETE", f"/v1/tickets/{ticket}")

    async def _create(self, place: int) -> str | None:
        mean = self.ratings[place]
        name = f"t{mean:.0f}"
        players = [{"id": name, "rating": {"mean": mean, "deviation": 80.0}}]
        body = msgspec.json.encode({"players": players, "queues": [self.queue]})
        asked = {"method": "POST", "path": "/v1/tickets", "given": ([name], self.queue)}
        seen = await self.surely("create", f"k-{name}", **asked, body=body, key=f"k-{name}")
        if seen is None or seen.status != 201:
            return None
        self.known.append(seen.body["id"])
        return str(seen.body["id"])


class Backend(Caller):
    """The game's backend: it reads the feed of a queue and gives every match a server."""

    matches: dict[str, int]
    host: Callable[[str], None] | None = None

    async def work(self) -> None:
        """Read and assign for ever."""
        after = 0
        while True:
            part = "" if self.part is None else f"part={self.part}&"
            path = f"/v1/queues/{self.queue}/matches?{part}after={after}&wait=10"
            request = Request(self._number(), "GET", path)
            seen = await self.once("feed", self.queue, request, after, 10.0 + PATIENCE)
            if seen is None or seen.status != 200:
                await asyncio.sleep(self.chance.uniform(*AGAIN))
                continue
            after = seen.body["next"]
            for match in seen.body["matches"]:
                is_new = match["match"] not in self.matches
                self.matches[match["match"]] = match["seq"]
                if match.get("extends") is None:
                    self.loop.begin(self._assign(match["match"]))
                    if is_new and self.host is not None:
                        self.host(match["match"])

    async def _assign(self, match: str) -> None:
        place = {"server": f"for {match}"}
        path, body = f"/v1/matches/{match}/assignment", msgspec.json.encode(place)
        await self.surely("assign", match, "PUT", path, body=body, given=place)


class Follower(Caller):
    """A client that follows one ticket by server-sent events, and comes back for what it missed."""

    ticket: str

    async def follow(self) -> None:
        """Follow until there is nothing to come."""
        after, tries, state = 0, 0, ""
        while tries < TRIES and state not in OVER | {"assigned"}:
            events = await self._once(after)
            tries += 1
            if events:
                after, state = events[-1][1], events[-1][2]["state"]
            else:
                self._turn_elsewhere()
            await asyncio.sleep(self.chance.uniform(*AGAIN))

    async def _once(self, after: int) -> list[tuple[float, int, Any]]:
        """Follow at one node until the stream ends or falls silent; return its events."""
        node, network, sent = self.node, self.network, self.world.now
        events: list[tuple[float, int, Any]] = []
        is_open, heard_at, frames = True, sent, 0
        pipe = network.pipe(node.name, CLIENTS)

        def heard(frame: bytes) -> None:
            nonlocal heard_at, frames
            heard_at, frames = self.world.now, frames + 1
            fields = dict(line.split(b": ", 1) for line in frame.splitlines() if b": " in line)
            if b"id" in fields and is_open:
                state = msgspec.json.decode(fields[b"data"])
                events.append((self.world.now, int(fields[b"id"]), state))

        ended: asyncio.Future[None] = self.loop.create_future()

        def end() -> None:
            nonlocal is_open
            is_open = False
            if not ended.done():
                ended.set_result(None)

        path = f"/v1/tickets/{self.ticket}/events"
        request = Request(self._number(), "GET", path, after=after, token=self.token)
        network.carry(
            CLIENTS,
            node.name,
            request.text(),
            lambda: node.take(
                request,
                lambda status, _, body: pipe(b"%d end" % status, end),
                lambda frame: pipe(frame, partial(heard, frame)),
            ),
        )
        while is_open and (left := heard_at + SILENCE - self.world.now) > 0.0:
            await asyncio.wait([ended], timeout=left + 1e-3)
        is_open = False
        leave = f"{request.number} left".encode()
        network.send(CLIENTS, node.name, leave, partial(node.leave, request.number))
        # The first part only opens the stream: what follows it may be lost by a cut.
        if frames > 1 or events:
            seen = Seen(
                "stream", sent, self.world.now, node.name, 200, self.ticket, after, events, {}
            )
            self.seen.append(seen)
        return events


class Lobby(Caller):
    """A client that follows several tickets over one WebSocket, at one node after the other.

    Args:
        known: Tickets that there are.
        shards: Their shards, by name.
    """

    known: list[str]
    shards: Sequence[str]
    last: dict[str, int]
    over: set[str]

    async def work(self) -> None:
        """Follow for ever, and come back for what was missed."""
        while True:
            known = dict.fromkeys([*self.known[-NEWEST:], *self.last])
            tickets = [each for each in known if each not in self.over][:FOLLOWED]
            if tickets:
                self._turn_elsewhere()
                await self._once(tickets)
            await asyncio.sleep(self.chance.uniform(*AGAIN))

    async def _once(self, tickets: list[str]) -> None:
        """Follow at one node for a while, or until it ends; note what it told of each ticket."""
        node, network, sent = self.node, self.network, self.world.now
        up, down = network.pipe(CLIENTS, node.name), network.pipe(node.name, CLIENTS)
        told: dict[str, list[tuple[float, int, Any]]] = {ticket: [] for ticket in tickets}
        joined, is_open = set[str](), True
        ended: asyncio.Future[None] = self.loop.create_future()

        def heard(text: str) -> None:
            message = msgspec.json.decode(text)
            if not is_open:
                return
            if message["event"] == "problem":
                # Without a ticket it says that some could not be followed: nobody answered.
                joined.add(shard_of(message["ticket"] or UNANSWERED))
                return
            ticket, seq = message["ticket"]["id"], message["sequence"]
            # Whoever comes back hears the present state again, and drops it.
            if told[ticket] or seq != self.last.get(ticket):
                told[ticket].append((self.world.now, seq, message["ticket"]))

        def end() -> None:
            if not ended.done():
                ended.set_result(None)

        def said(message: Mapping[str, Any]) -> None:
            kind, text = message["type"], message.get("text")
            if kind == "websocket.send" and text is not None:
                down(text.encode(), partial(heard, text))
            elif kind != "websocket.accept":
                down(kind.encode(), end)

        request = Request(self._number(), "GET", SOCKETS, token=self.token)
        up(request.text(), partial(node.take_socket, request, said))
        asked = [{"follow": [each], "after": self.last.get(each, 0)} for each in tickets]
        # Nobody has these: that they are refused says that all before them are followed.
        asked += [{"follow": [f"{shard}-0"]} for shard in self.shards]
        for each in asked:
            text = msgspec.json.encode(each).decode()
            up(text.encode(), partial(node.hear, request.number, text))
        await asyncio.wait([ended], timeout=self.chance.uniform(*AT_A_NODE))
        is_open = False
        up(b"left", partial(node.hear, request.number, None))
        for ticket, events in told.items():
            last = self.last.get(ticket, 0)
            # Where nobody answered for some, it cannot be said which of them are followed.
            is_joined = shard_of(ticket) in joined and shard_of(UNANSWERED) not in joined
            if events or is_joined:
                given = Seen(
                    "stream", sent, self.world.now, node.name, 200, ticket, last, events, {}
                )
                self.seen.append(given)
            if events:
                self.last[ticket] = events[-1][1]
                if events[-1][2]["state"] in OVER | {"assigned"}:
                    self.over.add(ticket)


class Onlooker(Caller):
    """Somebody who asks any node about any ticket, and believes none twice."""

    known: list[str]
    until: float

    async def watch(self, ticket: str) -> None:
        """Ask all nodes about one ticket, again and again."""
        for _ in range(WATCHES):
            for node in self.nodes:
                self.node = node
                request = Request(self._number(), "GET", f"/v1/tickets/{ticket}")
                await self.once("get", ticket, request, patience=0.5)
            await asyncio.sleep(0.3)

    async def look(self) -> None:
        """Ask for ever, and less often when there is less to see."""
        while True:
            is_calm = self.world.now > self.until
            await asyncio.sleep(self.chance.uniform(*(CALM if is_calm else OFTEN)))
            if not self.known:
                continue
            newest = self.known[-NEWEST:] if self.chance.random() < 0.7 else self.known
            ticket = self.chance.choice(newest)
            self.node = self.chance.choice(self.nodes)
            request = Request(self._number(), "GET", f"/v1/tickets/{ticket}")
            await self.once("get", ticket, request, patience=2.0)
