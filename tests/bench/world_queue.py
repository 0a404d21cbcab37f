"""A server with `scenarios/world_5v5.toml` as its players come: how long their creates take.

Parties come at random instants, however slow the server is; what counts is from when a create was
due until its answer is here. The first third of each load fills the pool and is left out.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import replace

from evenmatch.config.files import load_scenario
from evenmatch.model.ticket import Player
from evenmatch.simulation.world.arrivals import world_arrivals
from tests.bench.processes import ROOT
from tests.bench.report import Row, Setting, percentile
from tests.bench.server import started
from tests.bench.team_players import Change, server_toml

SCENE = ROOT / "scenarios" / "world_5v5.toml"
QUEUE = "fives"
LOADS = {67.0: "<= 30", 200.0: "<= 100"}
"""Players a second, and the milliseconds that 99 of 100 creates may take."""
SECONDS, SECONDS_QUICK = 90.0, 15.0
CONNECTIONS = 128
FILLING = 1.0 / 3.0
READY_SECONDS = 120.0
LENGTH = re.compile(rb"content-length: (\d+)")


def run(setting: Setting) -> Iterator[Row]:
    """Let players come to a fresh server at each of the rates."""
    script = str(Path(sys.executable).with_name("evenmatch"))
    config = setting.data / "world.toml"
    config.write_text(server_toml(Change(), SCENE))
    seconds = SECONDS_QUICK if setting.quick else SECONDS
    for rate, aim in LOADS.items():
        data = str(setting.data / f"journal-{rate:g}")
        command = [script, "serve", str(config), "--port", "0", "--data", data]
        bodies = list(_bodies(rate, seconds))
        with started(command, setting.data, seconds=READY_SECONDS) as server:
            took, statuses = asyncio.run(_Crowd(server.port).play(bodies, seconds))
        label = f"world_5v5, {rate:g} players/s: create"
        note = ", ".join(f"{count:,} x {status}" for status, count in sorted(statuses.items()))
        late = sorted(took)
        yield Row(f"{label}, p50", (1e3 * percentile(late, 0.5),), "ms", "", note)
        yield Row(f"{label}, p99", (1e3 * percentile(late, 0.99),), "ms", aim)
        yield Row(f"{label}, longest", (1e3 * late[-1],), "ms")


def _bodies(player_rate: float, seconds: float) -> Iterator[bytes]:
    """Yield the creates of so many players as come in so many seconds."""
    arrivals = load_scenario(SCENE).arrivals
    assert arrivals is not None
    assert arrivals.world is not None
    world = replace(arrivals.world, player_rate=player_rate)
    arrivals = replace(arrivals, world=world, duration=seconds)
    for arrival in world_arrivals(arrivals, np.random.SeedSequence(1)):
        players = [_player(each) for each in arrival.ticket.players]
        yield msgspec.json.encode({"queues": [QUEUE], "players": players})


def _player(player: Player) -> dict[str, object]:
    facts = dict(player.attributes)
    return {"id": player.id, "rating": {"mean": facts.pop("rating")}, "attributes": facts}


class _Crowd:
    """Everybody who comes, over a few connections."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]]
        self._took: list[tuple[float, float]] = []
        self._statuses: Counter[int] = Counter()

    async def play(self, bodies: list[bytes], seconds: float) -> tuple[list[float], dict[int, int]]:
        """Return how long creates took after the pool was filled, and how all were answered."""
        self._free = asyncio.Queue()
        for _ in range(CONNECTIONS):
            self._free.put_nowait(await asyncio.open_connection("127.0.0.1", self._port))
        rng = random.Random(1)
        due = began = time.perf_counter()
        coming = []
        for body in bodies:
            due += rng.expovariate(len(bodies) / seconds)
            if (early := due - time.perf_counter()) > 0.0:
                await asyncio.sleep(early)
            coming.append(asyncio.create_task(self._create(body, due)))
        await asyncio.gather(*coming)
        filled = began + FILLING * seconds
        return [late for at, late in self._took if at >= filled], dict(self._statuses)

    async def _create(self, body: bytes, due: float) -> None:
        reader, writer = await self._free.get()
        head = "POST /v1/tickets HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: "
        writer.write(f"{head}{len(body)}\r\n\r\n".encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = LENGTH.search(answer)
        assert length is not None
        await reader.readexactly(int(length[1]))
        self._took.append((due, time.perf_counter() - due))
        self._statuses[int(answer.split(b" ", 2)[1])] += 1
        self._free.put_nowait((reader, writer))
