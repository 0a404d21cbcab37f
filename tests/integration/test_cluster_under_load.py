"""Load on three nodes and three NATS servers, while owners die, sleep and are upgraded.

Players of three groups create tickets through any node, repeat what may be repeated, and follow
their tickets; others follow the feeds of matches, and go on at another node where a stream ends.
One player waits from before the first fault to after the last, and then hears of a match.
At the end the journal is read: every ticket that was acknowledged is in it once, and played once,
and each feed told of each match once, in order.
"""

import asyncio
import http.client
import json
import math
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from evenmatch.engine.records import FORMAT
from evenmatch.journals.opening import open_journal
from evenmatch.model.events import Accepted, Matched
from evenmatch.model.inputs import Enqueue
from tests.integration.serving import Server
from tests.integration.test_cluster import LEASE, Cluster, answered
from tests.integration.test_rolling_upgrade import finish, start_older
from tests.journal_servers import WHY_NO_NATS, NatsCluster, nats_program
from tests.waiting import GIVE_UP, wait_until

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("postgres")]
SHARDS = {"duel": "s0", "casual": "s0.casual", "arena": "s0.arena"}
"""The shard of each queue; the queue of the busiest one comes first."""
SHARES = (6, 3, 2)
CONFIG = "".join(
    f'[[queue]]\nname = "{name}"\ngroup = "{group}"\npolicy = "window:limit=100"\n'
    for name, group in zip(SHARDS, ("default", "casual", "arena"), strict=True)
)
PLAYERS_AT_ONCE = 6
REST = 0.02
QUIET_SECONDS = 5.0
"""A stream that says nothing for so long is opened anew: its node may be asleep."""
FOLLOWED_SHARE = 0.5
"""Share of the players who follow their ticket by a stream; the others look once."""
PATIENT, PARTNER = "patient", "partner"
"""Who waits through all faults, as no other player is near, until the partner comes at the end."""
THEIR_RATING = 5_000.0


class Crowd:
    """Threads that create tickets, and follow them and the feeds, through any node."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._ended = threading.Event()
        self.made: dict[str, str] = {}
        """Ticket by player, of all creates that were acknowledged."""
        self.states: dict[str, str] = {}
        self.feeds: dict[str, list[str]] = {name: [] for name in SHARDS}
        """The matches that the feed of a queue has told of, in order."""
        self.resumed: Counter[str] = Counter()
        """How often a stream was opened anew, by the path without ids."""
        self.faults: list[str] = []
        self.retries: Counter[str] = Counter()
        self._threads = [
            *(threading.Thread(target=self._play, args=(n,)) for n in range(PLAYERS_AT_ONCE)),
            *(threading.Thread(target=self._follow_feed, args=(name,)) for name in SHARDS),
            threading.Thread(target=self._wait_patiently),
        ]

    def __enter__(self) -> "Crowd":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    # Players

    def _play(self, number: int) -> None:
        rng, count = random.Random(number), 0
        while not self._ended.is_set():
            player = f"p{number}-{count}"
            count += 1
            (queue,) = rng.choices(list(SHARDS), SHARES)
            if self.create(rng, player, queue) and rng.random() < FOLLOWED_SHARE:
                self._follow_ticket(rng, player)
            elif player in self.made:
                self._look(rng, player)
            time.sleep(REST)

    def create(self, rng: random.Random, player: str, queue: str, mean: float = 1500.0) -> bool:
        """Create a ticket by any node, and return whether it was acknowledged."""
        ticket = {"queues": [queue], "players": [{"id": player, "rating": {"mean": mean}}]}
        key = {"idempotency-key": player}
        reply = self.persist(rng, "POST", "/v1/tickets", ticket, key)
        if reply.status not in (200, 201):
            self.faults.append(f"create of {player}: {reply}")
            return False
        self.made[player] = reply.body["id"]
        return True

    def _wait_patiently(self) -> None:
        """Follow a ticket through all faults, over as many streams as it takes."""
        rng = random.Random(PATIENT)
        if self.create(rng, PATIENT, "duel", THEIR_RATING):
            self._follow_ticket(rng, PATIENT, seconds=math.inf)

    def end_the_patience(self) -> None:
        """Let the patient player meet somebody, and wait until the stream tells of it."""
        self.create(random.Random(PARTNER), PARTNER, "duel", THEIR_RATING)
        wait_until(
            lambda: self.faults or self.states.get(PATIENT) == "matched",
            "the match of the player who waited",
        )

    def _look(self, rng: random.Random, player: str) -> None:
        path = f"/v1/tickets/{self.made[player]}?wait=1"
        seen = self.persist(rng, "GET", path)
        if seen.status != 200:
            self.faults.append(f"{path}: {seen}")
        else:
            self._saw(player, seen.body["state"])

    def _follow_ticket(self, rng: random.Random, player: str, seconds: float = 2.0) -> None:
        """Follow a ticket for a while, over as many streams as it takes."""
        until, last = time.monotonic() + seconds, 0
        while time.monotonic() < until and self.states.get(player) != "matched":
            if self._ended.is_set():
                return
            for sequence, told in self._stream(
                f"/v1/tickets/{self.made[player]}/events", rng, last
            ):
                if sequence <= last:
                    self.faults.append(f"{player} heard of {sequence} after {last}")
                last = sequence
                self._saw(player, told["state"])
                if time.monotonic() >= until:
                    break

    def _saw(self, player: str, state: str) -> None:
        before = self.states.get(player)
        if state not in ("waiting", "matched") or (before == "matched" != state):
            self.faults.append(f"{player} is {state} after {before}")
        self.states[player] = state

    # Feeds

    def _follow_feed(self, queue: str) -> None:
        """Follow the matches of a queue to the end of the test."""
        rng, last = random.Random(queue), 0
        while not self._ended.is_set():
            for sequence, told in self._stream(f"/v1/queues/{queue}/matches", rng, last):
                if sequence <= last:
                    self.faults.append(f"the feed of {queue} told of {sequence} after {last}")
                last = sequence
                self.feeds[queue] += [each["match"] for each in told["matches"]]
                if self._ended.is_set():
                    return

    def _stream(self, path: str, rng: random.Random, last: int) -> Iterator[tuple[int, Any]]:
        """Yield what a stream of any node says after an event, until it ends or falls silent."""
        node = rng.choice(list(self._cluster.nodes.values()))
        headers = {"accept": "text/event-stream"}
        if last:
            headers["last-event-id"] = str(last)
            self.resumed[path.rpartition("/")[2]] += 1
        with closing(http.client.HTTPConnection("127.0.0.1", node.port, QUIET_SECONDS)) as asked:
            try:
                asked.request("GET", path, headers=headers)
                reply = asked.getresponse()
                if reply.status == 204:
                    return
                if reply.status != 200:
                    self._note_refusal(f"GET {path}", reply.status, reply.read())
                    return
                yield from events_in(reply)
            except (OSError, ValueError, http.client.HTTPException) as error:
                self.retries[type(error).__name__] += 1
                time.sleep(REST)

    # All

    def persist(
        self, rng: random.Random, method: str, path: str, body: Any = None, headers: Any = ()
    ) -> Any:
        """Ask nodes until one answers: a 503, and a node that is gone, may be tried again."""
        until = time.monotonic() + GIVE_UP
        while time.monotonic() < until:
            node = rng.choice(list(self._cluster.nodes.values()))
            try:
                reply = node.call(method, path, body, headers=dict(headers))
            except (OSError, ValueError, http.client.HTTPException) as error:
                self.retries[type(error).__name__] += 1
                time.sleep(REST)
                continue
            if reply.status != 503:
                return reply
            self.retries["503"] += 1
            time.sleep(REST)
        raise AssertionError(f"{method} {path} was never answered")

    def _note_refusal(self, what: str, status: int, body: bytes) -> None:
        """Count a refusal that may be retried; any other is a fault."""
        if status != 503:
            self.faults.append(f"{what}: {status} {body[:200]!r}")
        self.retries["503"] += 1
        time.sleep(REST)


def events_in(stream: Any) -> Iterator[tuple[int, Any]]:
    """Yield the events of a stream: the number of each, and what it says."""
    sequence = 0
    for line in stream:
        name, _, text = line.decode().strip().partition(": ")
        if name == "id":
            sequence = int(text)
        elif name == "data":
            yield sequence, json.loads(text)


class Sleeper:
    """The owner of the busiest shard, asleep beyond its lease with two requests in its socket.

    Args:
        crowd: Plays on meanwhile.
        cluster: The nodes.
    """

    def __init__(self, crowd: Crowd, cluster: Cluster) -> None:
        self._crowd, self._cluster = crowd, cluster
        crowd.create(random.Random("asleep"), "far", "duel", mean=9_000.0)
        self._node = cluster.nodes[owner_of(cluster, SHARDS["duel"])]
        self._told: dict[str, Any] = {}

    def sleep_beyond_its_lease(self) -> None:
        """Let it sleep while another node takes over, and judge what it says when it wakes."""
        crowd, far = self._crowd, f"/v1/tickets/{self._crowd.made['far']}"
        os.kill(self._node.process.pid, signal.SIGSTOP)
        late = {"queues": ["duel"], "players": [{"id": "late", "rating": {"mean": 8_000.0}}]}
        asking = [
            threading.Thread(target=self._ask, args=("look", "GET", far)),
            threading.Thread(target=self._ask, args=("create", "POST", "/v1/tickets", late)),
        ]
        for each in asking:
            each.start()
        time.sleep(2.0 * LEASE)
        other = next(each for each in self._cluster.nodes.values() if each is not self._node)
        gone, _ = answered(other, "DELETE", far)
        assert gone.body["state"] == "cancelled", gone
        os.kill(self._node.process.pid, signal.SIGCONT)
        for each in asking:
            each.join()
        # It remembers that the ticket waits; who is told anything is told what holds now.
        look, create = self._told["look"], self._told["create"]
        assert look.status == 503 or look.body["state"] == "cancelled", look
        assert create.status in (201, 503), create
        if create.status == 201:
            crowd.made["late"] = create.body["id"]

    def _ask(self, name: str, method: str, path: str, body: Any = None) -> None:
        self._told[name] = self._node.call(method, path, body)


def owner_of(cluster: Cluster, shard: str) -> str:
    """Return the node that answers for a shard, once all know it."""
    owners: set[str] = set()

    def is_known() -> bool:
        told = [cluster.status(name)["shards"] for name in cluster.nodes]
        mine = [each for shards in told for each in shards if each["shard"] == shard]
        owners.clear()
        owners.update(each["owner"] for each in mine)
        answering = sum(each["role"] == "answering" for each in mine)
        return len(owners) == 1 and answering == 1

    wait_until(is_known, f"the owner of {shard}")
    return owners.pop()


async def journalled(
    address: str,
) -> tuple[Counter[str], Counter[str], dict[str, list[str]]]:
    """Return how often each player was accepted and each ticket matched, and matches by queue."""
    accepted: Counter[str] = Counter()
    matched: Counter[str] = Counter()
    matches: dict[str, list[str]] = {name: [] for name in SHARDS}
    journal = open_journal(address)
    for queue, shard in SHARDS.items():
        async for entry in journal.read(shard, 1):
            for event in entry.record.events:
                if isinstance(event, Accepted):
                    given = entry.record.input
                    assert isinstance(given, Enqueue)
                    accepted[given.tickets[event.item].players[0].id] += 1
                elif isinstance(event, Matched):
                    matched.update(event.match.tickets)
                    matches[queue].append(event.match.id)
    await journal.close()
    return accepted, matched, matches


def test_nothing_is_lost_or_doubled_while_everything_dies_in_turn(tmp_path: Path) -> None:
    if nats_program() is None:
        pytest.skip(WHY_NO_NATS)
    servers = NatsCluster("evenmatch-log")
    cluster = Cluster(tmp_path, servers.url, CONFIG)
    busiest = SHARDS["duel"]
    try:
        servers.start()
        for name in "abc":
            start_older(cluster, name)
        for shard in SHARDS.values():
            owner_of(cluster, shard)
        with Crowd(cluster) as crowd:
            enough(crowd, 20)
            # The owner of the busiest shard dies, and comes back.
            died = owner_of(cluster, busiest)
            cluster.nodes.pop(died).kill()
            enough(crowd, 20)
            start_older(cluster, died)
            # The next one sleeps beyond its lease.
            Sleeper(crowd, cluster).sleep_beyond_its_lease()
            enough(crowd, 20)
            # The leader of the journal dies, and comes back.
            servers.kill()
            enough(crowd, 20)
            servers.start()
            # All nodes are upgraded, one by one, and the upgrade is finished.
            for name in "abc":
                stopping = cluster.nodes.pop(name)
                assert stopping.stop() == 0
                cluster.start(name)
                enough(crowd, 10)
            wait_until(lambda: finish(cluster, "a")[0] == 0, "the end of the upgrade")
            enough(crowd, 20)
            crowd.end_the_patience()
            told = [each for name in "abc" for each in cluster.status(name)["shards"]]
            formats = {each["format"] for each in told if each["role"] == "answering"}
        accepted, matched, matches = asyncio.run(journalled(servers.url))
    finally:
        for node in cluster.nodes.values():
            _end(node)
        servers.close()
    assert crowd.faults == []
    assert formats == {FORMAT}
    assert set(crowd.made) <= set(accepted)
    assert {player for player, count in accepted.items() if count > 1} == set()
    assert {ticket for ticket, count in matched.items() if count > 1} == set()
    seen = {crowd.made[player] for player, state in crowd.states.items() if state == "matched"}
    assert seen <= set(matched)
    assert crowd.retries["503"] > 0
    # Each stream went on where it had ended, without a gap and without telling anything twice.
    for queue, told_of in crowd.feeds.items():
        assert len(told_of) > 5
        assert told_of == matches[queue][: len(told_of)]
    assert crowd.resumed["matches"] >= len(SHARDS)
    assert crowd.resumed["events"] > 0


def enough(crowd: Crowd, count: int) -> None:
    """Wait until so many more creates are acknowledged, and each feed has told of more matches."""
    before, fed = len(crowd.made), {name: len(each) for name, each in crowd.feeds.items()}
    wait_until(
        lambda: (
            crowd.faults
            or (
                len(crowd.made) >= before + count
                and all(len(each) > fed[name] for name, each in crowd.feeds.items())
            )
        ),
        f"{count} more creates, and matches in all feeds",
    )


def _end(node: Server) -> None:
    if node.process.poll() is None:
        os.kill(node.process.pid, signal.SIGCONT)
        node.kill()
