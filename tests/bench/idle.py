"""What a server of one queue costs while nobody plays: resident memory, and CPU over 30 seconds.

Measured with the compiled kernels and as it is where numba is not installed: for duels by a policy
that needs no kernels, by one that needs some, and for teams, which need most. A few players come
first, so that everything that is loaded when it is first needed is there.
"""

from __future__ import annotations

import sys
import time
import urllib.request
from collections.abc import Iterator

from tests.bench.processes import cpu_seconds, resident_of
from tests.bench.report import Row, Setting
from tests.bench.server import started

SECONDS, QUICK_SECONDS = 30.0, 5.0
SETTLE_SECONDS = 2.0
READY_SECONDS = 180.0
"""How long kernels may take to compile where they never did before."""
PLAYERS = 12
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
}
WITHOUT = "import sys; sys.modules['numba'] = None; "
START = "import sys; from evenmatch.cli.main import main; sys.exit(main(sys.argv[1:]))"


def run(setting: Setting) -> Iterator[Row]:
    """Measure each queue with and without kernels, each in a server of its own."""
    seconds = QUICK_SECONDS if setting.quick else SECONDS
    for queue, text in QUEUES.items():
        for kernels, before in (("with kernels", ""), ("without", WITHOUT)):
            folder = setting.data / f"{queue}-{kernels}".replace(" ", "-")
            folder.mkdir(parents=True, exist_ok=True)
            config = folder / "idle.toml"
            config.write_text(text, encoding="utf-8")
            command = [sys.executable, "-c", before + START, "serve", str(config), "--port", "0"]
            command += ["--data", str(folder / "data")]
            with started(command, folder) as server:
                _warm(server.port)
                time.sleep(SETTLE_SECONDS)
                cpu, began = cpu_seconds(server.pid), time.perf_counter()
                time.sleep(seconds)
                used = (cpu_seconds(server.pid) - cpu) / (time.perf_counter() - began)
                memory = resident_of(server.pid) / 2**20
            yield Row(f"{queue}, {kernels}: resident", (memory,), "MB", "<= 150")
            note = f"over {seconds:g} s"
            yield Row(f"{queue}, {kernels}: idle", (100.0 * used,), "% core", "<= 1", note)


def _warm(port: int) -> None:
    """Wait until the queue makes matches, and let some players come and be matched."""
    url, give_up = f"http://127.0.0.1:{port}", time.perf_counter() + READY_SECONDS
    while time.perf_counter() < give_up:
        try:
            urllib.request.urlopen(f"{url}/readyz", timeout=5.0).close()
            break
        except OSError:
            time.sleep(0.1)
    for number in range(PLAYERS):
        body = b'{"players": [{"id": "p%d", "rating": {"mean": 1500}}]}' % number
        urllib.request.urlopen(f"{url}/v1/tickets", data=body, timeout=30.0).close()
    for path in ("/", "/v1/queues", "/metrics", "/openapi.json"):
        urllib.request.urlopen(url + path, timeout=30.0).close()
