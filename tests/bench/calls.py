"""How many Python functions a ticket passes: `python -m tests.bench calls [--list]`.

A profiler counts calls in all threads: for the POST of the second player of a duel, from the ASGI
server's call of the application to the end of the answer, commit to SQLite included; and for
arrivals in the simulator. All is warm: many pairs went the same way before.
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

import evenmatch
from evenmatch.config.files import load_scenario
from evenmatch.config.server import ServerSettings
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.policies.registry import parse_policy
from evenmatch.server.runtime.games import Games, game
from evenmatch.server.runtime.recovery import SNAPSHOT_EVERY, ShardPlan
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.history import History
from evenmatch.simulation.simulator import Simulator
from tests.bench.report import Row, Setting
from tests.bench.workload import QUEUE, body, duel_toml

GAP = 2.0**-6
"""Seconds between two arrivals: no sweep of old rows falls into those that are counted."""
WARM_PAIRS = 300
"""Pairs before the one that is counted."""
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
    yield from _rows("a served ticket", served(setting.data), "<= 250", "<= 40")
    for title, meets, aims in WAYS:
        yield from _rows(title, simulated(setting.data, meets=meets), *aims)


def served(directory: Path) -> Calls:
    """Count the calls of a POST whose player meets one who waits."""
    calls = Calls()
    config = directory / "duel.toml"
    config.write_text(duel_toml())
    queues = load_scenario(config).queues
    plan = ShardPlan(queues, settings=ServerSettings(), data=directory / "served")

    async def scene() -> None:
        games = Games([game(plan)], snapshot_every=SNAPSHOT_EVERY)
        await games.start()
        for pair in range(WARM_PAIRS):
            for side in "ab":
                assert await _post(games.gate, f"{side}{pair}") == 201
        assert await _post(games.gate, "ada") == 201
        assert await _post(games.gate, "bob", calls) == 201
        assert games.services[0].runtime.engine.tables.counters.matches == WARM_PAIRS + 1
        await games.stop()

    with calls.watching():
        asyncio.run(scene())
    return calls


async def _post(app: Any, player: str, calls: Calls | None = None) -> int:
    """Create a ticket as the ASGI server does it, and return the status."""
    content, sent = body(player, 1500.0), []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    size = str(len(content)).encode()
    headers = [(b"host", b"127.0.0.1"), (b"content-length", size)]
    scope = {
        "type": "http", "method": "POST", "path": "/v1/tickets", "raw_path": b"/v1/tickets",
        "query_string": b"", "root_path": "", "headers": headers, "client": ("127.0.0.1", 1),
    }  # fmt: skip
    if calls is not None:
        calls.begin()
    await app(scope, receive, send)
    if calls is not None:
        calls.end()
    status: int = sent[0]["status"]
    return status


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
        for title, calls in [("a served ticket", served(Path(name))), *ways]:
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
