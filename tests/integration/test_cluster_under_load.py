"""Load on three nodes and three NATS servers, while owners die, sleep and are upgraded.

Players create tickets through any node, repeat what may be repeated, and follow their tickets. At
the end the journal is read: every ticket that was acknowledged is in it once, and played once.
"""

import asyncio
import os
import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evenmatch.journals.opening import open_journal
from evenmatch.model.events import Accepted, Matched
from evenmatch.model.inputs import Enqueue
from tests.integration.serving import Server
from tests.integration.test_cluster import LEASE, Cluster
from tests.journal_servers import WHY_NO_NATS, NatsCluster, nats_program
from tests.waiting import GIVE_UP, wait_until

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("postgres")]
PLAYERS_AT_ONCE = 6
REST = 0.02


class Crowd:
    """Threads that create tickets and follow them, through whichever node answers the phone."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._ended = threading.Event()
        self.made: dict[str, str] = {}
        """Ticket by player, of all creates that were acknowledged."""
        self.states: dict[str, str] = {}
        self.faults: list[str] = []
        self.retries: Counter[str] = Counter()
        self._threads = [
            threading.Thread(target=self._play, args=(number,)) for number in range(PLAYERS_AT_ONCE)
        ]

    def __enter__(self) -> "Crowd":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _play(self, number: int) -> None:
        rng, count = random.Random(number), 0
        while not self._ended.is_set():
            player = f"p{number}-{count}"
            count += 1
            ticket = {"queues": ["duel"], "players": [{"id": player, "rating": {"mean": 1500}}]}
            key = {"idempotency-key": player}
            reply = self._persist(rng, "POST", "/v1/tickets", ticket, key)
            if reply.status not in (200, 201):
                self.faults.append(f"create of {player}: {reply}")
                continue
            self.made[player] = reply.body["id"]
            path = f"/v1/tickets/{reply.body['id']}?wait=1"
            seen = self._persist(rng, "GET", path)
            if seen.status != 200:
                self.faults.append(f"{path}: {seen}")
            elif seen.body["state"] not in ("waiting", "matched"):
                self.faults.append(f"{path}: {seen.body}")
            elif self.states.get(player) == "matched" != seen.body["state"]:
                self.faults.append(f"{path} went back to {seen.body['state']}")
            else:
                self.states[player] = seen.body["state"]
            time.sleep(REST)

    def _persist(
        self, rng: random.Random, method: str, path: str, body: Any = None, headers: Any = ()
    ) -> Any:
        """Ask nodes until one answers: a 503, and a node that is gone, may be tried again."""
        until = time.monotonic() + GIVE_UP
        while time.monotonic() < until:
            node = rng.choice(list(self._cluster.nodes.values()))
            try:
                reply = node.call(method, path, body, headers=dict(headers))
            except (OSError, ValueError) as error:
                self.retries[type(error).__name__] += 1
                time.sleep(REST)
                continue
            if reply.status != 503:
                return reply
            self.retries["503"] += 1
            time.sleep(REST)
        raise AssertionError(f"{method} {path} was never answered")


async def journalled(address: str) -> tuple[Counter[str], Counter[str]]:
    """Return how often each player's ticket was accepted, and each ticket matched."""
    accepted: Counter[str] = Counter()
    matched: Counter[str] = Counter()
    journal = open_journal(address)
    async for entry in journal.read("s0", 1):
        for event in entry.record.events:
            if isinstance(event, Accepted):
                given = entry.record.input
                assert isinstance(given, Enqueue)
                accepted[given.tickets[event.item].players[0].id] += 1
            elif isinstance(event, Matched):
                matched.update(event.match.tickets)
    await journal.close()
    return accepted, matched


def test_nothing_is_lost_or_doubled_while_everything_dies_in_turn(tmp_path: Path) -> None:
    if nats_program() is None:
        pytest.skip(WHY_NO_NATS)
    servers = NatsCluster("evenmatch-log")
    cluster = Cluster(tmp_path, servers.url)
    try:
        servers.start()
        for name in "abc":
            cluster.start(name)
        cluster.owner()
        with Crowd(cluster) as crowd:
            enough(crowd, 20)
            # The owner dies, and comes back.
            died = cluster.owner()
            cluster.nodes[died].kill()
            del cluster.nodes[died]
            enough(crowd, 20)
            cluster.start(died)
            # The next one sleeps beyond its lease.
            asleep = cluster.nodes[cluster.owner()]
            os.kill(asleep.process.pid, signal.SIGSTOP)
            time.sleep(2.0 * LEASE)
            os.kill(asleep.process.pid, signal.SIGCONT)
            enough(crowd, 20)
            # The leader of the journal dies, and comes back.
            servers.kill()
            enough(crowd, 20)
            servers.start()
            # All nodes are replaced, one by one.
            for name in "abc":
                stopping = cluster.nodes.pop(name)
                assert stopping.stop() == 0
                cluster.start(name)
                enough(crowd, 10)
        accepted, matched = asyncio.run(journalled(servers.url))
    finally:
        for node in cluster.nodes.values():
            _end(node)
        servers.close()
    assert crowd.faults == []
    assert set(crowd.made) <= set(accepted)
    assert {player for player, count in accepted.items() if count > 1} == set()
    assert {ticket for ticket, count in matched.items() if count > 1} == set()
    seen = {crowd.made[player] for player, state in crowd.states.items() if state == "matched"}
    assert seen <= set(matched)
    assert crowd.retries["503"] > 0


def enough(crowd: Crowd, count: int) -> None:
    """Wait until so many more creates are acknowledged."""
    before = len(crowd.made)
    wait_until(lambda: len(crowd.made) >= before + count or crowd.faults, f"{count} more creates")


def _end(node: Server) -> None:
    if node.process.poll() is None:
        os.kill(node.process.pid, signal.SIGCONT)
        node.kill()
