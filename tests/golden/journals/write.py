"""Let real servers work, end them, and keep their journals: python -m tests.golden.journals.write.

Run it when the format of records or snapshots changes, before the change, and commit what it
writes under a new name: a stored journal is never written again.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from evenmatch.engine.records import FORMAT
from tests.golden.journals.stored import pack
from tests.integration.serving import Server
from tests.load.__main__ import _drive
from tests.load.nodes import Nodes
from tests.waiting import wait_until

HERO = Path(__file__).parents[3] / "examples" / "hero"


def main() -> None:
    """Write both journals of this version."""
    with tempfile.TemporaryDirectory(prefix="evenmatch-golden-") as folder:
        pack(f"duels_and_squads-format{FORMAT}", play_duels_and_squads(Path(folder)))
    with tempfile.TemporaryDirectory(prefix="evenmatch-golden-") as folder:
        pack(f"heroes-format{FORMAT}", play_heroes(Path(folder)))


def play_duels_and_squads(folder: Path) -> Path:
    """Play everything that the load test plays, a few tickets a second; return the data."""
    options = argparse.Namespace(rate=12.0, minutes=0.5, seed=1, json=None, keep="contract")
    options.trace = None
    options.journal = "sqlite"
    nodes = Nodes(folder, 1, "sqlite", options.keep, None)
    nodes.start()
    os.environ.setdefault("COLUMNS", "80")
    asyncio.run(_drive(nodes, options))
    nodes.stop()  # which takes a snapshot
    return nodes.nodes[0].folder / "data"


def play_heroes(folder: Path) -> Path:
    """Let bots play five against five, with roles, parties, pings and ready-checks."""
    server = Server(folder, (HERO / "hero.toml").read_text(encoding="utf-8"))
    wait_until(lambda: server.call("GET", "/readyz").status == 200)
    command = [sys.executable, str(HERO / "bots.py"), server.url, "--bots", "80", "--minutes", "5"]
    command += ["--spread", "1", "--match-seconds", "2", "--decline", "0.1", "--silent", "0.05"]
    bots = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def made() -> int:
        return len(server.call("GET", "/v1/queues/hero/matches?after=0").body["matches"])

    wait_until(lambda: made() > 12)
    server.call("PUT", "/v1/queues/hero/policy", {"policy": "greedy"})
    wait_until(lambda: made() > 16)
    server.kill()
    bots.kill()
    bots.wait()
    return folder / "data"


if __name__ == "__main__":
    main()
