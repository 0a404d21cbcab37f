"""What a server of one queue costs while nobody plays: resident memory, and CPU over 30 seconds.

Measured with the compiled kernels and as it is where numba is not installed: for duels by a policy
that needs no kernels, by one that needs some, and for teams, which need most. A few players come
first, so that everything that is loaded when it is first needed is there. How long a start takes
until the server is ready counts from the second one: by then the kernels are compiled.
"""

from __future__ import annotations

import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.processes import cpu_seconds, resident_of
from tests.bench.report import Row, Setting
from tests.bench.server import started
from tests.bench.team_players import Change, party_bodies, server_toml

SECONDS, QUICK_SECONDS = 30.0, 5.0
SETTLE_SECONDS = 2.0
READY_SECONDS = 180.0
"""How long kernels may take to compile where they never did before."""
PLAYERS = 12
HERO = "teams of 5 with roles, parties and pings"
QUEUES = {
    "duels by greedy, as examples/godot": """
[[queue]]
name = "duel"
teams = 2
players = 1
policy = "greedy"
accept = {seconds = 15}
""",
    "duels": """
[[queue]]
name = "duel"
teams = 2
players = 1
accept = {seconds = 15}
[[queue.criteria]]
kind = "spread"
attribute = "rating"
scale = {kind = "linear", min = 0, max = 3000}
""",
    "teams of 3": """
[[queue]]
name = "threes"
teams = 2
players = 3
[[queue.criteria]]
kind = "imbalance"
attribute = "rating"
scale = {kind = "linear", min = 0, max = 9000}
""",
    HERO: server_toml(Change()),
}
MEMORY_AIMS = {HERO: 220, "teams of 3": 220}
"""MB, where more than 150 are allowed: for teams most of the solvers are in use."""
WITHOUT = "import sys; sys.modules['numba'] = None; "
START = "import sys; from evenmatch.cli.main import main; sys.exit(main(sys.argv[1:]))"


def run(setting: Setting) -> Iterator[Row]:
    """Measure each queue with and without kernels, each in a server of its own."""
    seconds = QUICK_SECONDS if setting.quick else SECONDS
    for queue, text in QUEUES.items():
        for kernels, before in (("with kernels", ""), ("without", WITHOUT)):
            folder = setting.data / f"{queue}-{kernels}".replace(" ", "-").replace(",", "")
            folder.mkdir(parents=True, exist_ok=True)
            config = folder / "idle.toml"
            config.write_text(text, encoding="utf-8")
            command = [sys.executable, "-c", before + START, "serve", str(config), "--port", "0"]
            try:
                _start(command, folder, "first")
                ready, memory, used = _measure(command, folder, _bodies(queue), seconds)
            except (RuntimeError, TimeoutError) as error:
                note = str(error).splitlines()[0][:300]
                yield Row(f"{queue}, {kernels}: does not start", (1.0,), "", "", note)
                continue
            aim = f"<= {MEMORY_AIMS.get(queue, 150)}"
            yield Row(f"{queue}, {kernels}: resident", (memory,), "MB", aim)
            note = f"over {seconds:g} s"
            yield Row(f"{queue}, {kernels}: idle", (100.0 * used,), "% core", "<= 1", note)
            yield Row(f"{queue}, {kernels}: from start to ready", (ready,), "s", "<= 2")


def _start(command: list[str], folder: Path, name: str) -> None:
    """Start a server once, so that its kernels are compiled."""
    with started([*command, "--data", str(folder / name)], folder, seconds=READY_SECONDS) as server:
        _until_ready(server.port)


def _measure(
    command: list[str], folder: Path, bodies: Sequence[bytes], seconds: float
) -> tuple[float, float, float]:
    """Return the seconds from start to ready, memory in MB, and the share of a core while idle."""
    began = time.perf_counter()
    data = ["--data", str(folder / "data")]
    with started([*command, *data], folder, seconds=READY_SECONDS) as server:
        _until_ready(server.port)
        ready = time.perf_counter() - began
        _warm(server.port, bodies)
        time.sleep(SETTLE_SECONDS)
        cpu, began = cpu_seconds(server.pid), time.perf_counter()
        time.sleep(seconds)
        used = (cpu_seconds(server.pid) - cpu) / (time.perf_counter() - began)
        return ready, resident_of(server.pid) / 2**20, used


def _bodies(queue: str) -> list[bytes]:
    """Return creates of a few players."""
    if queue == HERO:
        return [body for body, _ in party_bodies(1.0, PLAYERS, 1)]
    return [
        b'{"players": [{"id": "p%d", "rating": {"mean": 1500}}]}' % number
        for number in range(PLAYERS)
    ]


def _until_ready(port: int) -> None:
    """Wait until the queue makes matches.

    Raises:
        TimeoutError: It does not for a long time.
    """
    give_up = time.perf_counter() + READY_SECONDS
    while time.perf_counter() < give_up:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5.0).close()
            return
        except OSError:
            time.sleep(0.02)
    raise TimeoutError(f"the server is not ready after {READY_SECONDS:g} s")


def _warm(port: int, bodies: Sequence[bytes]) -> None:
    """Let some players come and be matched, and look at all pages."""
    url = f"http://127.0.0.1:{port}"
    for body in bodies:
        urllib.request.urlopen(f"{url}/v1/tickets", data=body, timeout=30.0).close()
    for path in ("/", "/v1/queues", "/metrics", "/openapi.json"):
        urllib.request.urlopen(url + path, timeout=30.0).close()
