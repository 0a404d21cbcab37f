"""How many Python functions a ticket passes: `python -m tests.bench calls [--list]`.

A profiler counts calls in all threads: for the POST of the second player of a duel, from its bytes
to those of the answer, parsing and the commit to SQLite included; for the same until all views have
heard of it, which nobody waits for; and for arrivals in the simulator. All is warm: many pairs went
the same way before.
A comprehension counts as a call, and so does each step of a generator or a coroutine.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import uvicorn
from uvicorn.server import ServerState

import evenmatch
from evenmatch.config.files import load_scenario
from evenmatch.config.server import ServerSettings
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.policies.registry import parse_policy
from evenmatch.server.http.timeouts import http_protocol
from evenmatch.server.runtime.games import Games, game
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.snapshots import SNAPSHOT_EVERY
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.history import History
from evenmatch.simulation.simulator import Simulator
from tests.bench.report import Row, Setting
from tests.bench.workload import QUEUE, body, duel_toml

GAP = 2.0**-6
"""Seconds between two arrivals: no sweep of old rows falls into those that are counted."""
WARM_PAIRS = 300
"""Pairs before the one that is counted."""
SERVED = (
    ("a served ticket", False, ("<= 250", "<= 40")),
    ("a served ticket, until all views know", True, ("", "")),
)
WAYS = (
    ("an arrival in the simulator that waits", False, ("<= 45", "<= 18")),
    ("an arrival in the simulator that is matched", True, ("", "")),
)
OURS = str(Path(evenmatch.__file__).parent)


class Calls:
    """Counts calls by function, in all threads that begin later, while it is told to."""

    def __init__(self) -> None:
        self.found: Counter[CodeType] = Counter()
        self._is_on = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Stand by in this thread and in those that are started meanwhile."""
        threading.setprofile(self._hear)
        sys.setprofile(self._hear)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def begin(self) -> None:
        """Count from here on."""
        self._is_on = True

    def end(self) -> None:
        """Count no more."""
        self._is_on = False

    @property
    def own(self) -> Counter[CodeType]:
        """Return those of the product."""
        return Counter({code: n for code, n in self.found.items() if _is_ours(code)})

    @property
    def files(self) -> set[str]:
        """Return the files of the product in which a function was called."""
        return {code.co_filename for code in self.own}

    def _hear(self, frame: FrameType, event: str, argument: object) -> None:
        del argument
        # The bench's own functions stand in for the network and for the file of arrivals.
        if self._is_on and event == "call" and frame.f_code.co_filename != __file__:
            self.found[frame.f_code] += 1


def run(setting: Setting) -> Iterator[Row]:
    """Count the calls of both ways."""
    for title, to_rest, aims in SERVED:
        yield from _rows(title, served(setting.data, to_rest=to_rest), *aims)
    for title, meets, aims in WAYS:
        yield from _rows(title, simulated(setting.data, meets=meets), *aims)


def served(directory: Path, *, to_rest: bool) -> Calls:
    """Count the calls of a POST whose player meets one who waits.

    Args:
        directory: For the journal.
        to_rest: Count on after the answer, until the views have heard of the match.
    """
    calls = Calls()
    config = directory / "duel.toml"
    config.write_text(duel_toml())
    queues = load_scenario(config).queues
    name = "to-rest" if to_rest else "served"
    plan = ShardPlan(queues, settings=ServerSettings(), data=directory / name)

    async def scene() -> None:
        games = Games([game(plan)], snapshot_every=SNAPSHOT_EVERY)
        await games.start()
        caller = _Caller(games)
        for pair in range(WARM_PAIRS):
            for side in "ab":
                assert await caller.post(f"{side}{pair}") == 201
        assert await caller.post("ada") == 201
        await _come_to_rest(games)
        calls.begin()
        assert await caller.post("bob", None if to_rest else calls) == 201
        await _come_to_rest(games)
        calls.end()
        assert games.services[0].runtime.engine.tables.counters.matches == WARM_PAIRS + 1
        await games.stop()

    with calls.watching():
        asyncio.run(scene())
    return calls


async def _come_to_rest(games: Games) -> None:
    """Let the views hear of all that was answered."""
    while len(games.services[0].backlog):
        await asyncio.sleep(0)


class _Socket(asyncio.Transport):
    """Stands in for a connection: what is written ends the wait for an answer."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.answer: asyncio.Future[bytes] | None = None
        self.calls: Calls | None = None

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert self.answer is not None
        if self.calls is not None:
            self.calls.end()
        self.answer.set_result(bytes(data))


class _Caller:
    """One connection to a server, without a network.

    Args:
        games: The server.
    """

    def __init__(self, games: Games) -> None:
        protocol: Any = http_protocol(lambda: games.gate)
        config = uvicorn.Config(games.gate, lifespan="off", log_config=None, server_header=False)
        config.load()
        self._socket = _Socket()
        self._protocol = protocol(config, ServerState(), {})
        self._protocol.connection_made(self._socket)

    async def post(self, player: str, calls: Calls | None = None) -> int:
        """Create a ticket, and return the status; with its answer, `calls` ends."""
        content = body(player, 1500.0)
        head = (
            f"POST /v1/tickets HTTP/1.1\r\nhost: 127.0.0.1\r\n"
            f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
        )
        answer = self._socket.answer = asyncio.get_running_loop().create_future()
        self._socket.calls = calls
        self._protocol.data_received(head.encode() + content)
        return int((await answer).split(b" ", 2)[1])


def simulated(directory: Path, *, meets: bool) -> Calls:
    """Count the calls of an arrival in the simulator that meets one who waits, or nobody."""
    calls = Calls()
    config = directory / "duel.toml"
    config.write_text(duel_toml())
    queues = load_scenario(config).queues
    simulator = Simulator(
        queues, lambda queue: parse_policy(queue.policy), History(queues[0].name), until=1e9
    )
    last = 2 * WARM_PAIRS + meets

    def arrivals() -> Iterator[Arrival]:
        for number in range(2 * WARM_PAIRS + 2 + meets):
            player = Player(f"p{number}", Rating(1500.0, 80.0))
            if number == last:
                calls.begin()
            elif number > last:
                calls.end()
            yield Arrival(number * GAP, NewTicket((player,), (QUEUE,)))

    with calls.watching():
        history = simulator.run(arrivals())
    assert len(list(history.match_rows())) == WARM_PAIRS + 1
    return calls


def main(argv: Sequence[str]) -> int:
    """Print the functions that are called, the most frequent first."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench calls", description=__doc__)
    parser.add_argument("--list", action="store_true", help="name the functions", required=True)
    parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="evenmatch-bench-") as name:
        ways = [(title, simulated(Path(name), meets=meets)) for title, meets, _ in WAYS]
        ways[:0] = [(title, served(Path(name), to_rest=rest)) for title, rest, _ in SERVED]
        for title, calls in ways:
            own = calls.own
            print(f"{title}: {own.total()} calls in {len(calls.files)} files")
            for code, count in sorted(own.items(), key=_place_of):
                path, line, _ = _place_of((code, count))
                print(f"{count:5} {path}:{line} {code.co_qualname}")
    return 0


def _place_of(item: tuple[CodeType, int]) -> tuple[str, int, int]:
    code, count = item
    return str(Path(code.co_filename).relative_to(OURS)), code.co_firstlineno, count


def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(OURS)


def _rows(title: str, calls: Calls, aim: str, aim_files: str) -> Iterator[Row]:
    own = calls.own
    yield Row(f"{title}: calls", (float(own.total()),), "calls", aim)
    yield Row(f"{title}: files they are in", (float(len(calls.files)),), "files", aim_files)
    others = calls.found.total() - own.total()
    yield Row(f"{title}: calls of other packages", (float(others),), "calls")
