"""Callers that want a lot at the same time: kept connections over asyncio, and what they saw."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from time import perf_counter
from typing import Any, NamedTuple

HOST = "127.0.0.1"


class Seen(NamedTuple):
    """An answer, and how long it took."""

    status: int
    headers: dict[str, str]
    body: bytes
    seconds: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Caller:
    """One kept connection; a request at a time."""

    def __init__(self, port: int, key: str = "") -> None:
        self._port = port
        self._key = key
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(
        self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str
    ) -> Seen:
        """Ask, and wait for the answer; a keyword `if_match` is the header `if-match`."""
        data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", f"host: {HOST}", f"content-length: {len(data)}"]
        if self._key:
            lines.append(f"authorization: Bearer {self._key}")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        began = perf_counter()
        if self._streams is None:
            self._streams = await asyncio.open_connection(HOST, self._port)
        reader, writer = self._streams
        writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + data)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        told = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:] if line)}
        answer = await reader.readexactly(int(told.get("content-length", "0")))
        return Seen(int(head[0].split()[1]), told, answer, perf_counter() - began)

    async def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            with suppress(OSError):
                await self._streams[1].wait_closed()
            self._streams = None


@asynccontextmanager
async def callers(port: int, count: int, key: str = "") -> AsyncIterator[list[Caller]]:
    """Have so many connections."""
    made = [Caller(port, key) for _ in range(count)]
    try:
        yield made
    finally:
        await asyncio.gather(*(each.close() for each in made), return_exceptions=True)


async def at_rate(
    crowd: list[Caller],
    rate: float,
    seconds: float,
    call: Callable[[Caller, int], Awaitable[Seen]],
) -> list[Seen]:
    """Begin calls at a rate, whether the ones before have been answered or not.

    The time of an answer counts from when the call was due, so that waiting for a free connection
    is not left out.
    """
    free: asyncio.Queue[Caller] = asyncio.Queue()
    for each in crowd:
        free.put_nowait(each)
    seen: list[Seen] = []

    async def one(number: int) -> None:
        due = perf_counter()
        caller = await free.get()
        try:
            answer = await call(caller, number)
            seen.append(answer._replace(seconds=perf_counter() - due))
        finally:
            free.put_nowait(caller)

    began, tasks = perf_counter(), []
    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, began + number / rate - perf_counter()))
        tasks.append(asyncio.create_task(one(number)))
    await asyncio.gather(*tasks)
    return seen


def share(values: list[float], part: float) -> float:
    """Return the value below which this part of the others lies; 0 if there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0


def by_status(seen: list[Seen]) -> dict[int, int]:
    """Return how many answers had which status."""
    return dict(sorted(Counter(each.status for each in seen).items()))
