"""GameLift's protocol: StartMatchmaking calls that are durable when they are answered.

Raw connections send what AWS's clients send, so that the client costs little; 16 of them wait for
an answer each. The queue is a rule set of two teams of one player.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

from tests.bench.report import Row, Setting
from tests.bench.server import started

CALLS, QUICK_CALLS = 3_000, 500
CONNECTIONS = 16
AIM = "300"
CONFIG = '[[queue]]\nname = "other"\nplayers = 1\n'
RULES = {
    "ruleLanguageVersion": "1.0",
    "playerAttributes": [{"name": "skill", "type": "number", "default": 10}],
    "teams": [{"name": name, "minPlayers": 1, "maxPlayers": 1} for name in ("red", "blue")],
}
HEAD = (
    "POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/x-amz-json-1.1\r\n"
    "x-amz-target: GameLift.StartMatchmaking\r\ncontent-length: {}\r\n\r\n"
)


def run(setting: Setting) -> Iterator[Row]:
    """Yield the figures."""
    config = setting.data / "config.toml"
    config.write_text(CONFIG)
    command = [sys.executable, "-m", "evenmatch.cli.main", "serve", str(config), "--port", "0"]
    command += ["--data", str(setting.data / "journal")]
    calls = QUICK_CALLS if setting.quick else CALLS
    with started(command, setting.data) as server:
        _prepare(server.port)
        rates = []
        for repetition in range(3):
            began = time.perf_counter()
            asyncio.run(_start(server.port, range(repetition * calls, (repetition + 1) * calls)))
            rates.append(calls / (time.perf_counter() - began))
    yield Row("StartMatchmaking, durable", tuple(rates), "calls/s", aim=AIM)


def _prepare(port: int) -> None:
    _call(port, "CreateMatchmakingRuleSet", {"Name": "duel", "RuleSetBody": json.dumps(RULES)})
    given = {"Name": "duel", "RuleSetName": "duel", "RequestTimeoutSeconds": 600}
    more = {"AcceptanceRequired": False, "FlexMatchMode": "STANDALONE"}
    _call(port, "CreateMatchmakingConfiguration", {**given, **more})


def _call(port: int, operation: str, body: dict[str, Any]) -> None:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/",
        json.dumps(body).encode(),
        {"x-amz-target": f"GameLift.{operation}"},
    )
    with urllib.request.urlopen(request, timeout=30.0) as answer:
        answer.read()


async def _start(port: int, numbers: range) -> None:
    await asyncio.gather(
        *(_caller(port, numbers[first::CONNECTIONS]) for first in range(CONNECTIONS))
    )


async def _caller(port: int, numbers: range) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number in numbers:
        player = {"PlayerId": f"p{number}", "PlayerAttributes": {"skill": {"N": number % 50}}}
        body = json.dumps({"ConfigurationName": "duel", "Players": [player]}).encode()
        writer.write(HEAD.format(len(body)).encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if not head.startswith(b"http/1.1 200"):
            raise RuntimeError(f"StartMatchmaking was refused: {head[:60]!r}")
        length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))
    writer.close()
    await writer.wait_closed()
