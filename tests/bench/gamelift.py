"""GameLift's protocol: StartMatchmaking calls that are durable when they are answered.

Raw connections send what AWS's clients send, so that the client costs little; 16 of them wait for
an answer each. The queue is a rule set of two teams of one player and one rule. The server's
processor time is told too: at 1,000 divided by it a core would be busy with nothing else.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from evenmatch.server.gamelift import cbor
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
    "rules": [
        {
            "name": "near",
            "type": "distance",
            "measurements": ["teams[*].players.attributes[skill]"],
            "referenceValue": 25,
            "maxDistance": 25,
        }
    ],
}
HEAD = (
    "POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/x-amz-json-1.1\r\n"
    "x-amz-target: GameLift.StartMatchmaking\r\ncontent-length: {}\r\n\r\n"
)
CBOR_HEAD = (
    "POST /service/GameLift/operation/StartMatchmaking HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    "content-type: application/cbor\r\nsmithy-protocol: rpc-v2-cbor\r\ncontent-length: {}\r\n\r\n"
)


class Way(NamedTuple):
    """One way to send the calls.

    Args:
        name: In words.
        head: Of a request; `{}` is the length of its body.
        encode: Makes the body.
        is_followed: Whether somebody hears of all events meanwhile.
    """

    name: str
    head: str
    encode: Callable[[dict[str, Any]], bytes]
    is_followed: bool = False


def _json(given: dict[str, Any]) -> bytes:
    return json.dumps(given).encode()


WAYS = (
    Way("StartMatchmaking, durable", HEAD, _json),
    Way("the same in CBOR", CBOR_HEAD, cbor.encode),
    Way("the same, events followed", HEAD, _json, is_followed=True),
)


def run(setting: Setting) -> Iterator[Row]:
    """Yield the figures."""
    config = setting.data / "config.toml"
    config.write_text(CONFIG)
    command = [sys.executable, "-m", "evenmatch.cli.main", "serve", str(config), "--port", "0"]
    calls = QUICK_CALLS if setting.quick else CALLS
    for place, way in enumerate(WAYS):
        rates, costs = [], []
        data = ["--data", str(setting.data / f"journal{place}")]
        with started([*command, *data], setting.data) as server:
            _prepare(server.port)
            for repetition in range(3):
                numbers = range(repetition * calls, (repetition + 1) * calls)
                began, used = time.perf_counter(), _processor(server.pid)
                asyncio.run(_start(server.port, way, numbers))
                rates.append(calls / (time.perf_counter() - began))
                costs.append((_processor(server.pid) - used) / calls * 1e3)
        yield Row(way.name, tuple(rates), "calls/s", aim=AIM)
        yield Row(f"{way.name}: processor time", tuple(costs), "ms/call")


def _processor(pid: int) -> float:
    """Return the seconds of processor time that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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


async def _start(port: int, way: Way, numbers: range) -> None:
    following = None
    if way.is_followed:
        reader, following = await asyncio.open_connection("127.0.0.1", port)
        following.write(b"GET /v1/gamelift/events HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        await reader.readuntil(b"retry:")
        hearing = asyncio.create_task(_hear(reader))
    await asyncio.gather(
        *(_caller(port, way, numbers[first::CONNECTIONS]) for first in range(CONNECTIONS))
    )
    if following is not None:
        hearing.cancel()
        following.close()


async def _hear(reader: asyncio.StreamReader) -> None:
    while await reader.read(1 << 16):
        pass


async def _caller(port: int, way: Way, numbers: range) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number in numbers:
        player = {"PlayerId": f"p{number}", "PlayerAttributes": {"skill": {"N": number % 50}}}
        body = way.encode({"ConfigurationName": "duel", "Players": [player]})
        writer.write(way.head.format(len(body)).encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if not head.startswith(b"http/1.1 200"):
            raise RuntimeError(f"StartMatchmaking was refused: {head[:60]!r}")
        length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))
    writer.close()
    await writer.wait_closed()
