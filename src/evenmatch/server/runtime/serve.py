"""From a configuration to a process that listens: sockets, signals, the order of shutting down.

One data directory belongs to one server: `DataLock` is a lock that the system releases however the
process ends.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import signal
import socket
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from errno import EADDRNOTAVAIL
from importlib.util import find_spec
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Any

import msgspec
import uvicorn

from evenmatch.errors import ConfigError, JournalUnavailable
from evenmatch.journals.opening import without_password
from evenmatch.server.auth.authenticate import check_distinct_games
from evenmatch.server.cluster.identity import LEASE_SECONDS as NODE_LEASE_SECONDS
from evenmatch.server.cluster.identity import NodeIdentity, node_identity
from evenmatch.server.cluster.node import Node
from evenmatch.server.cluster.plans import cluster_plan
from evenmatch.server.cluster.tenants import Tenants
from evenmatch.server.http.connections import Acceptor, connections_most
from evenmatch.server.http.cors import with_cors
from evenmatch.server.http.timeouts import DirectGate, FrameTaker, http_protocol, websocket_protocol
from evenmatch.server.runtime.certificate import Certificate
from evenmatch.server.runtime.games import Game, Games
from evenmatch.server.runtime.health import health_at
from evenmatch.server.runtime.held_signals import release_signals
from evenmatch.server.runtime.kernel_compilation import (
    KernelCompilation,
    compile_first,
    must_compile,
)
from evenmatch.server.runtime.logs import log, relay_libraries
from evenmatch.server.runtime.process_setup import (
    calm_collector,
    keep_files_private,
    load_late_modules,
    prepare_structs,
    raise_file_limit,
    return_large_buffers,
    share_interpreter,
)
from evenmatch.server.runtime.snapshots import SNAPSHOT_EVERY
from evenmatch.wire.http1 import authority_of

try:
    import fcntl
except ImportError:  # Windows: SQLite's own checks stay.
    fcntl = None  # type: ignore[assignment]


BACKLOG = 2_048
GRACE_SECONDS = 5
KEEP_ALIVE_SECONDS = 75
PING_SECONDS = 20.0
"""A client of a WebSocket answers a ping each so often, or is cut."""
MESSAGE_BYTES_MAX = 200_000
"""Bytes of one message of a client: a thousand ids of tickets, as long as GameLift's may be."""
UNHEARD_SECONDS = 30
"""A connection is given up when the other side has confirmed nothing for so long."""
SNAPSHOT_EVERY_NAME = "EVENMATCH_SNAPSHOT_EVERY"


EVERYWHERE = frozenset({"0.0.0.0", "::"})
"""Hosts that stand for all addresses of a machine."""


class ClusterOptions(msgspec.Struct, frozen=True):
    """The options of a node of a cluster.

    Args:
        node: Its name.
        key: The file with the secret that all nodes share.
        address: HOST:PORT at which the others reach it; "" for where it listens.
        lease_seconds: Length of the lease of a shard.
    """

    node: str
    key: Path
    address: str = ""
    lease_seconds: float = NODE_LEASE_SECONDS

    def identity(self, host: str, port: int) -> NodeIdentity:
        """Return the identity of the node that listens there.

        Raises:
            ConfigError: Name, address or secret cannot be used.
        """
        if not self.address and host in EVERYWHERE:
            raise ConfigError(
                f"{host} is where this node listens, and no address at which others reach it: "
                "add --node-address HOST:PORT"
            )
        return node_identity(self.node, self.address or authority_of(host, port), self.key)


class ListenOptions(msgspec.Struct, frozen=True):
    """Where a server listens and where it keeps its journal; without `data`, in memory.

    With `wait`, it takes over from the server that holds the data directory, as soon as that ends.
    The journal may be elsewhere, at an address, instead of in `data`.
    With a certificate and its private key, both files in PEM, it speaks TLS. At the health port a
    thread of its own says whether the process lives, without TLS.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    data: Path | None = None
    wait: bool = False
    tls_cert: Path | None = None
    tls_key: Path | None = None
    health_port: int | None = None
    journal: str = ""
    cluster: ClusterOptions | None = None

    @property
    def keeps(self) -> str:
        """Return where the journal is kept, for people; "" if nowhere."""
        return without_password(self.journal) if self.journal else str(self.data or "")


def serve(games: Sequence[Game], place: ListenOptions, announce: Callable[[str], None]) -> None:
    """Run a server until it is told to stop.

    Args:
        games: What to run.
        place: Where.
        announce: Called with the server's address when it listens.

    Raises:
        MatchmakingError: The address, the journal or the configuration cannot be used.
    """
    check_distinct_games([each.accounts for each in games])
    check_host(place.host, is_keyed=any(each.accounts.is_keyed for each in games))
    check_certificate(place)
    relay_libraries()
    keep_files_private()
    raise_file_limit()
    return_large_buffers()
    plans = [each.plan for each in games]
    # All is loaded here, so that nothing of it is left for the moment of taking over.
    is_cold = must_compile(plans)
    if is_cold and place.wait:
        # The server that runs on the directory goes on meanwhile.
        compiling = KernelCompilation(plans)
        log.info("compiling", detail=str(compiling))
        compiling.run()
        is_cold = False
    with (
        DataLock(place.data, wait=place.wait),
        listen(place.host, place.port) as listening,
        _listen_for_health(place) as health,
        asyncio.Runner(loop_factory=_loop_factory()) as runner,
        ExitStack() as at_end,
    ):
        for each in games:
            at_end.callback(each.accounts.close)
        runner.run(_serve(games, place, (listening, health), announce, is_cold=is_cold))


def check_host(host: str, *, is_keyed: bool) -> None:
    """Refuse an address that others can reach while there are no keys.

    Raises:
        ConfigError: The host is not a loopback address.
    """
    if not is_keyed and not is_own(host):
        raise ConfigError(
            f"--host must be a loopback address such as 127.0.0.1 while no keys are configured, "
            f"got {host}: anyone who reaches the server could play and operate it; make a key "
            f"with: evenmatch keys add NAME --data DIR, and start with --data DIR (or --journal "
            f"ADDRESS for both)"
        )


def is_own(host: str) -> bool:
    """Return whether only this machine reaches an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def warn_of_clear_keys(place: ListenOptions) -> None:
    """Warn if keys and tokens travel unencrypted over the network."""
    if place.tls_cert is None and not is_own(place.host):
        log.warning(
            "keys_in_the_clear",
            host=place.host,
            consequence="without TLS, anybody who sees the traffic can read its keys and tokens",
            remedy="give --tls-cert and --tls-key, or listen on 127.0.0.1 behind a proxy with TLS",
        )


def check_certificate(place: ListenOptions) -> None:
    """Refuse a certificate that is unusable.

    Raises:
        ConfigError: The certificate or its key is missing, unreadable, or they do not fit.
    """
    if (place.tls_cert is None) != (place.tls_key is None):
        raise ConfigError("--tls-cert and --tls-key go together: give both, or none")
    certificate_of(place)


def certificate_of(place: ListenOptions) -> Certificate | None:
    """Return what a server that speaks TLS shows to its clients.

    Raises:
        ConfigError: The certificate or its key is missing, unreadable, or they do not fit.
    """
    if place.tls_cert is None or place.tls_key is None:
        return None
    return Certificate(place.tls_cert, place.tls_key)


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """Return a socket that listens.

    Raises:
        ConfigError: The port is taken or may not be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Who reads the socket's protocol must see that delays of small packets can be switched off.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # A client whose machine went away must not look like one that follows its ticket.
            listening.setsockopt(
                socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNHEARD_SECONDS * 1_000
            )
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        # The same machine has other ports, but not the address of another one.
        wrong = "--host" if getattr(error, "errno", None) == EADDRNOTAVAIL else option
        raise ConfigError(
            f"cannot listen on {host} port {port}: {reason}; choose another {wrong}"
        ) from None
    return listening


def _listen_for_health(place: ListenOptions) -> AbstractContextManager[socket.socket | None]:
    if place.health_port is None:
        return nullcontext()
    return listen(place.host, place.health_port, "--health-port")


def snapshot_every(environment: Mapping[str, str]) -> int:
    """Return the records between two snapshots; tests set fewer than there usually are.

    Raises:
        ConfigError: It is not a whole number >= 1.
    """
    text = environment.get(SNAPSHOT_EVERY_NAME, str(SNAPSHOT_EVERY))
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise ConfigError(f"{SNAPSHOT_EVERY_NAME} must be a whole number >= 1, got {text[:64]!r}")
    return int(text)


async def _serve(
    games: Sequence[Game],
    place: ListenOptions,
    sockets: tuple[socket.socket, socket.socket | None],
    announce: Callable[[str], None],
    *,
    is_cold: bool,
) -> None:
    listening, health = sockets
    plans = [each.plan for each in games]
    begun: list[Games | Node] = []
    with health_at(health, lambda: begun[0].late if begun else 0.0):
        if is_cold and not await compile_first(plans, listening, lambda app: _config(app, place)):
            return
        begun.append(_served(games, place, listening))
        is_keyed = any(each.accounts.is_keyed for each in games)
        await _run(begun[0], place, listening, announce, is_keyed=is_keyed)


def _served(games: Sequence[Game], place: ListenOptions, listening: socket.socket) -> Games | Node:
    """Return the games; in a cluster, the node that runs those whose leases it holds."""
    every = snapshot_every(os.environ)
    if place.cluster is None:
        return Games(games, snapshot_every=every)
    identity = place.cluster.identity(place.host, listening.getsockname()[1])
    plans = [
        cluster_plan(each, identity.owner, place.cluster.lease_seconds, snapshot_every=every)
        for each in games
    ]
    return Node(identity, plans, Tenants({each.name: each.accounts for each in games}))


async def _run(
    running: Games | Node,
    place: ListenOptions,
    listening: socket.socket,
    announce: Callable[[str], None],
    *,
    is_keyed: bool,
) -> None:
    prepare_structs()
    # It may have changed while this server waited for another one; nothing has begun yet.
    certificate = certificate_of(place)
    await running.start()
    load_late_modules()
    calm_collector()
    share_interpreter()
    app = with_cors(running.app, running.origins)
    config = _config(app, place, lambda: running.direct_gate, running.frames)
    server = _Server(config, running, certificate)
    host, port = listening.getsockname()[:2]
    scheme = "http" if place.tls_cert is None else "https"
    address = f"{scheme}://{authority_of(host, port)}"
    warn_of_clear_keys(place)
    # Whoever is told that the server is there may stop it at once.
    server.take_signals()
    _log_start(place, address, is_keyed=is_keyed)
    announce(address)
    watches = [
        asyncio.create_task(_stop_when_over(server)),
        asyncio.create_task(running.watch()),
    ]
    if certificate is not None and isinstance(running, Games):
        running.watch_certificate(lambda: certificate.seconds_left)
        watches.append(asyncio.create_task(certificate.watch()))
    try:
        await server.serve(sockets=[listening])
    finally:
        for watch in watches:
            watch.cancel()
        await running.stop()
        log.info("stopped", address=address)
    running.check_given_up()


def _config(
    app: Callable[..., Any],
    place: ListenOptions,
    gate: DirectGate | None = None,
    frames: FrameTaker | None = None,
) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=http_protocol(gate, frames),
        ws=websocket_protocol(),
        ws_max_size=MESSAGE_BYTES_MAX,
        # Compression would keep a window of kilobytes for each follower.
        ws_per_message_deflate=False,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ssl_certfile=place.tls_cert,
        ssl_keyfile=place.tls_key,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


class _Server(uvicorn.Server):
    """Ends streams and long polls first, so that shutting down does not wait for clients."""

    def __init__(
        self, config: uvicorn.Config, games: Games | Node, certificate: Certificate | None
    ) -> None:
        super().__init__(config)
        self.games = games
        self._certificate = certificate
        self._tasks: set[asyncio.Task[None]] = set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take signals as requests to stop.

        Uvicorn's own way raises them again at the end, which would kill the process before the
        snapshot is taken and the journal closed.
        """
        self.take_signals()
        yield

    def take_signals(self) -> None:
        """Let signals stop the server, drain it, or have it read its files again."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError):  # Windows
                loop.add_signal_handler(number, self.handle_exit, number, None)
        with suppress(NotImplementedError, AttributeError):
            loop.add_signal_handler(signal.SIGHUP, self._begin, self.games.reload)
            loop.add_signal_handler(signal.SIGUSR1, self.games.drain)
        release_signals()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; a second SIGINT cuts what is still open."""
        if not self.should_exit:
            log.info("stopping", reason=signal.Signals(sig).name)
        super().handle_exit(sig, frame)

    def _begin(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Begin what a signal asks for, beside all else."""
        task = asyncio.create_task(work())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Take connections, all that wait at a time, from the given sockets."""
        await super().startup(sockets=[])
        config, state = self.config, self.server_state

        def protocol() -> asyncio.Protocol:
            made: asyncio.Protocol = config.http_protocol_class(  # type: ignore[call-arg]
                config=config, server_state=state, app_state={}
            )
            return made

        for listening in sockets or ():
            acceptor = Acceptor(
                listening,
                protocol,
                lambda: None if self._certificate is None else self._certificate.context,
                state.connections,
                most=connections_most(),
                turned_away=lambda: self.games.turned_away("too_many_connections"),
            )
            acceptor.begin()
            self.servers.append(acceptor)  # type: ignore[arg-type]

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, end what stays open, let the rest finish."""
        await self.games.leave()
        self.games.close()
        await super().shutdown(sockets)


async def _stop_when_over(server: _Server) -> None:
    """Let the server end when a game was given up or all have drained."""
    await server.games.over()
    server.should_exit = True


def _log_start(place: ListenOptions, address: str, *, is_keyed: bool) -> None:
    log.info(
        "listening",
        address=address,
        access="with keys and tokens"
        if is_keyed
        else "this machine only, because no keys are configured",
        journal=place.keeps or "in memory: all is lost when the server ends",
    )


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if find_spec("uvloop") is None:
        return None
    import uvloop

    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


LOCK_NAME = "server.lock"
LOOK_EVERY = 0.005
"""Seconds between two looks whether the other server has ended."""


class DataLock:
    """A lock on a data directory; without a directory it does nothing.

    Args:
        directory: The data directory.
        wait: Wait until the server that has the lock ends.
    """

    def __init__(self, directory: Path | None, *, wait: bool = False) -> None:
        self._directory = directory
        self._wait = wait
        self._file: IO[str] | None = None

    def __enter__(self) -> DataLock:
        """Take the lock.

        Raises:
            JournalUnavailable: Another server has it, or the directory cannot be used.
        """
        if self._directory is None or fcntl is None:
            return self
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._file = (self._directory / LOCK_NAME).open("w")
        except OSError as error:
            advice = ""
            if isinstance(error, PermissionError):
                advice = "; let the user who runs the server write there, and own the files in it"
            raise JournalUnavailable(
                f"the data directory {self._directory} cannot be used ({error.filename}: "
                f"{error.strerror}){advice}"
            ) from error
        if not self._take(self._file):
            self._file.close()
            raise JournalUnavailable(
                f"another server runs on {self._directory}: stop it, or name another --data"
            ) from None
        return self

    def _take(self, file: IO[str]) -> bool:
        """Return whether the lock could be taken."""
        is_told = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if not self._wait:
                    return False
            else:
                return True
            if not is_told:
                is_told = True
                log.info("waiting_for_the_other_server", data=str(self._directory))
            time.sleep(LOOK_EVERY)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release the lock."""
        if self._file is not None:
            self._file.close()
