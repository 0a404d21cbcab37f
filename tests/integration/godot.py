"""Runs examples/godot/matchmaking.gd without Godot: as Python, with what it uses of Godot.

The script is so close to Python that it becomes Python when a few forms are exchanged. What is not
known here is an error of Python, so that no line is tested by half.
"""

import asyncio
import json
import os
import random
import re
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.integration.serving import Server

SCRIPT = (Path(__file__).parents[2] / "examples/godot/matchmaking.gd").read_text(encoding="utf-8")
MEMBERS = set(re.findall(r"^(?:@export )?(?:var|func|const|signal) (\w+)", SCRIPT, re.M))
SIGNALS = re.findall(r"^signal (\w+)", SCRIPT, re.M)
TEXT_OR_WORD = re.compile(r'"[^"\n]*"|#[^\n]*|(?<![\w.])[A-Za-z_]\w*')
WORDS = {"null": "None", "true": "True", "false": "False"}
FORMS = [
    (r"^(class_name|extends|signal) .*$", ""),
    (r"^@export ", ""),
    (r"^func (\w+)\((?=\))", r"async def \1(self"),
    (r"^func (\w+)\(", r"async def \1(self, "),
    (r" -> \w+:", ":"),
    (r"\b(var|const) (?=\w)", ""),
    (r":= ", "= "),
    (r"(\w+) is Dictionary", r"isinstance(\1, dict)"),
    (r" % names", " % tuple(names)"),
    (r"\.has\(", ".__contains__("),
    (r"\.to_upper\(", ".upper("),
    (r"\.to_lower\(", ".lower("),
    (r"\.strip_edges\(", ".strip("),
    (r"\.begins_with\(", ".startswith("),
]
"""Forms of GDScript and those of Python, in the order in which they are exchanged."""


def python_of(script: str) -> str:
    """Return the script as a class in Python; its functions are coroutines."""
    lines = ["from __future__ import annotations", "class Matchmaking:"]
    for line in script.splitlines():
        is_inside = line.startswith("\t")

        def exchanged(match: re.Match[str], is_inside: bool = is_inside) -> str:
            word = match[0]
            if word.startswith("#"):
                return ""
            return f"self.{word}" if is_inside and word in MEMBERS else WORDS.get(word, word)

        text = TEXT_OR_WORD.sub(exchanged, line)
        for old, new in FORMS:
            text = re.sub(old, new, text)
        lines.append("\t" + text)
    return "\n".join(lines)


class Signal:
    """A signal: keeps what was emitted, and calls who is connected to it."""

    def __init__(self) -> None:
        self.emitted: list[tuple[Any, ...]] = []
        self.connected: Callable[..., Coroutine[Any, Any, None]] | None = None
        self._called: list[asyncio.Task[None]] = []

    def emit(self, *values: Any) -> None:
        self.emitted.append(values)
        if self.connected is not None:
            self._called.append(asyncio.create_task(self.connected(*values)))


class Connection:
    """The way to a server, on which one request or one answer may be lost.

    Args:
        server: Where requests go.
        lose: The method and the beginning of the path of the first that is lost, and whether the
            server sees it.
    """

    def __init__(self, server: Server, lose: tuple[str, str, bool] | None = None) -> None:
        self._server = server
        self.lose = lose

    def ask(self, url: str, headers: list[str], method: str, body: str) -> list[Any]:
        """Return what Godot's `request_completed` tells."""
        path = url.removeprefix(self._server.url)
        lose = self.lose
        is_lost = lose is not None and lose[0] == method and path.startswith(lose[1])
        if is_lost:
            self.lose = None
        if not is_lost or (lose is not None and lose[2]):
            sent = dict(each.split(": ", 1) for each in headers)
            reply = self._server.call(method, path, raw=body.encode() or None, headers=sent)
            if not is_lost:
                told = [f"{name}: {value}" for name, value in reply.headers.items()]
                return [0, reply.status, told, _bytes(json.dumps(reply.body))]
        return [2, 0, [], _bytes("")]


class _Request:
    """Godot's HTTPRequest."""

    def __init__(self, connection: Connection) -> None:
        self.timeout = 0.0
        self._connection = connection
        self._sent: tuple[Any, ...] = ()

    def request(self, *sent: Any) -> int:
        self._sent = sent
        return 0

    @property
    def request_completed(self) -> Coroutine[Any, Any, list[Any]]:
        return asyncio.to_thread(self._connection.ask, *self._sent)

    def queue_free(self) -> None:
        pass


def _bytes(text: str = "") -> SimpleNamespace:
    return SimpleNamespace(get_string_from_utf8=lambda: text)


def _random_bytes(size: int) -> SimpleNamespace:
    return SimpleNamespace(hex_encode=os.urandom(size).hex)


def _parsed(text: str) -> Any:
    return json.loads(text) if text else None


def script_on(server: Server, files: dict[str, str], connection: Connection) -> Any:
    """Return the script's node on a device.

    Args:
        server: Its server.
        files: The device's files, by path.
        connection: The device's way to the server.
    """

    def opened(name: str, _mode: int) -> Any:
        return SimpleNamespace(store_string=lambda text: files.update({name: text}))

    def timer(_seconds: float) -> Any:
        # Time is not what is tested: the others get their turn, and that is all.
        return SimpleNamespace(timeout=asyncio.sleep(0))

    scope: dict[str, Any] = {
        "Crypto": SimpleNamespace(new=lambda: SimpleNamespace(generate_random_bytes=_random_bytes)),
        "FileAccess": SimpleNamespace(
            WRITE=2,
            file_exists=files.__contains__,
            get_file_as_string=files.__getitem__,
            open=opened,
        ),
        "HTTPClient": SimpleNamespace(
            **{f"METHOD_{name}": name for name in ("GET", "POST", "PUT", "DELETE")}
        ),
        "HTTPRequest": SimpleNamespace(new=lambda: _Request(connection)),
        "JSON": SimpleNamespace(stringify=json.dumps, parse_string=_parsed),
        "OK": 0,
        "PackedByteArray": _bytes,
        "PackedStringArray": list,
        "add_child": lambda _node: None,
        "get_tree": lambda: SimpleNamespace(create_timer=timer),
        "minf": min,
        "randf": random.random,
    }
    exec(compile(python_of(SCRIPT), "matchmaking.gd", "exec"), scope)
    node = scope["Matchmaking"]()
    node.server = server.url
    for name in SIGNALS:
        setattr(node, name, Signal())
    return node
