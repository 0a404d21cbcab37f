"""From a configuration to a process that listens: sockets, signals, the order of shutting down."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import uvicorn

from evenmatch.errors import ConfigError, JournalUnavailable, MatchmakingError
from evenmatch.journals.base import Journal
from evenmatch.journals.memory import MemoryJournal
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.server.app import App, with_cors
from evenmatch.server.datadir import DataLock
from evenmatch.server.logs import log
from evenmatch.server.parts import Parts, assemble
from evenmatch.server.recovery import SNAPSHOT_EVERY, Plan, pools_of

BACKLOG = 2_048
GRACE_SECONDS = 5
KEEP_ALIVE_SECONDS = 75
PING_SECONDS = 20.0
"""A client of a WebSocket answers a ping each so often, or is cut."""
MESSAGE_BYTES_MAX = 65_536
"""Bytes of one message of a client: a thousand ids of tickets."""
UNHEARD_SECONDS = 30
"""A connection is given up when the other side has confirmed nothing for so long."""
COLLECT_AFTER = (50_000, 20, 50)
SWITCH_INTERVAL = 0.0005
"""Seconds for which a thread may keep the interpreter while another one waits for it."""
SNAPSHOT_EVERY_NAME = "EVENMATCH_SNAPSHOT_EVERY"


class Place(msgspec.Struct, frozen=True):
    """Where a server listens and where it keeps its journal; without `data`, in memory.

    With `wait`, it takes over from the server that holds the data directory, as soon as that ends.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    data: Path | None = None
    wait: bool = False


def serve(plan: Plan, place: Place, announce: Callable[[str], None]) -> None:
    """Run a server until it is told to stop.

    Args:
        plan: What to run.
        place: Where.
        announce: Called with the server's address when it listens.

    Raises:
        MatchmakingError: The address, the journal or the configuration cannot be used.
    """
    check_host(place.host)
    raise_file_limit()
    if place.wait:
        warm_up(plan)
    with (
        DataLock(place.data, wait=place.wait),
        listen(place) as listening,
        asyncio.Runner(loop_factory=_loop_factory()) as runner,
    ):
        runner.run(_serve(plan, place, listening, announce))


def warm_up(plan: Plan) -> None:
    """Load what the queues need, so that nothing of it is left for the moment of taking over."""
    make = pools_of(plan.seed)
    for queue in plan.queues:
        with suppress(MatchmakingError):
            make(queue)


def check_host(host: str) -> None:
    """Refuse an address that others can reach: there are no accounts yet.

    Raises:
        ConfigError: The host is not a loopback address.
    """
    if host == "localhost":
        return
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise ConfigError(
            f"--host must be a loopback address such as 127.0.0.1, got {host}: this version has no "
            f"accounts, so anyone who reaches the server could play; put a proxy in front of it"
        )


def listen(place: Place) -> socket.socket:
    """Return a socket that listens.

    Raises:
        ConfigError: The port is taken or may not be used.
    """
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((place.host, place.port))
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # A client whose machine went away must not look like one that follows its ticket.
            listening.setsockopt(
                socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNHEARD_SECONDS * 1_000
            )
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"cannot listen on {place.host} port {place.port}: {reason}; choose another --port"
        ) from None
    return listening


def raise_file_limit() -> None:
    """Let the process have as many connections as the system allows it."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def snapshot_every(environment: Mapping[str, str]) -> int:
    """Return the records between two snapshots; tests set fewer than there usually are.

    Raises:
        ConfigError: It is not a whole number >= 1.
    """
    text = environment.get(SNAPSHOT_EVERY_NAME, str(SNAPSHOT_EVERY))
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise ConfigError(f"{SNAPSHOT_EVERY_NAME} must be a whole number >= 1, got {text[:64]!r}")
    return int(text)


def calm_collector() -> None:
    """Keep the garbage collector from walking over all tickets again and again.

    Tickets form no cycles, so there is little for it to find; a full walk over 100,000 of them
    would stop the server for 0.4 s.
    """
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


def share_interpreter() -> None:
    """Let the event loop have its turn soon where jobs run Python code in other threads.

    With the usual 5 ms, a loop beside two busy threads of Python was seen to wait up to 160 ms,
    with 0.5 ms 14 ms.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)


async def _serve(
    plan: Plan, place: Place, listening: socket.socket, announce: Callable[[str], None]
) -> None:
    every = snapshot_every(os.environ)
    parts = assemble(plan, _open_journal(place), snapshot_every=every)
    await parts.runtime.start()
    calm_collector()
    share_interpreter()
    server = _Server(_config(parts), parts)
    host, port = listening.getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    _log_start(place, address)
    announce(address)
    watch = asyncio.create_task(_stop_when_over(server))
    try:
        await server.serve(sockets=[listening])
    finally:
        watch.cancel()
        parts.presence.close()
        await parts.runtime.stop()
    if parts.runtime.given_up.is_set():
        raise JournalUnavailable(parts.runtime.failure or "the journal belongs to another server")


def _config(parts: Parts) -> uvicorn.Config:
    return uvicorn.Config(
        with_cors(App(parts), parts.runtime.plan.settings.origins),
        http="httptools" if find_spec("httptools") else "h11",
        # Compression would keep a window of kilobytes for each follower.
        ws="websockets-sansio",
        ws_max_size=MESSAGE_BYTES_MAX,
        ws_per_message_deflate=False,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


class _Server(uvicorn.Server):
    """Ends streams and long polls first, so that shutting down waits for nobody."""

    def __init__(self, config: uvicorn.Config, parts: Parts) -> None:
        super().__init__(config)
        self.parts = parts
        self._tasks: set[asyncio.Task[None]] = set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take signals as requests to stop.

        Uvicorn's own way raises them again at the end, which would kill the process before the
        snapshot is taken and the journal closed.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError):  # Windows
                loop.add_signal_handler(number, self.handle_exit, number, None)
        with suppress(NotImplementedError, AttributeError):
            loop.add_signal_handler(signal.SIGHUP, self._begin, self.parts.controls.reload)
            limit = self.parts.runtime.plan.settings.drain_max
            loop.add_signal_handler(signal.SIGUSR1, self.parts.drain.begin, limit)
        yield

    def _begin(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Begin what a signal asks for, beside all else."""
        task = asyncio.create_task(work())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, end what stays open, let the rest finish."""
        self.parts.followers.close()
        await super().shutdown(sockets)


async def _stop_when_over(server: _Server) -> None:
    """Let the server end when its shard was given up or its drain is over."""
    ends = (server.parts.runtime.given_up, server.parts.drain.over)
    tasks = [asyncio.create_task(end.wait()) for end in ends]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
    server.should_exit = True


def _open_journal(place: Place) -> Journal:
    return MemoryJournal() if place.data is None else SqliteJournal.open(place.data)


def _log_start(place: Place, address: str) -> None:
    log.info(
        "listening",
        address=address,
        access="this machine only, because no keys are configured",
        journal=str(place.data) if place.data else "in memory: all is lost when the server ends",
    )


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if find_spec("uvloop") is None:
        return None
    import uvloop

    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
