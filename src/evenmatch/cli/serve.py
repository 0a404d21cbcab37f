"""`evenmatch serve`: a matchmaking server."""

from __future__ import annotations

import errno
import sqlite3
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from cyclopts import Parameter

from evenmatch.cli.options import Whole
from evenmatch.errors import ConfigError, JournalError, JournalUnavailable, NotSupported
from evenmatch.journals.opening import check_address, is_shared
from evenmatch.server.runtime.held_signals import signals_held

if TYPE_CHECKING:
    from evenmatch.server.runtime.games import Game
    from evenmatch.server.runtime.recovery import ConfigFrom
    from evenmatch.server.runtime.serve import ClusterOptions, ListenOptions


LEASE_SECONDS, LEASE_RANGE = 5.0, (1.0, 600.0)
"""Seconds that the lease of a node lasts, and between which they may be."""


class ClusterArguments(NamedTuple):
    """What makes a server a node of a cluster.

    Args:
        node: The name of this node in a cluster: several servers share one --journal; one of them
            answers, the others hand requests on to it, and any of them can take over.
        cluster_key: A file with a secret that all nodes share, such as the output of openssl rand
            -hex 32.
        node_address: HOST:PORT at which the other nodes reach this one, if that is not where it
            listens.
        lease_seconds: Seconds after which another node takes over from a node that has died.
    """

    node: str = ""
    cluster_key: Path | None = None
    node_address: str = ""
    lease_seconds: float = LEASE_SECONDS

    def check(self, journal: str, *, with_tls: bool) -> None:
        """Refuse what makes no node.

        Raises:
            ConfigError: One is missing, or the journal is of one machine.
            NotSupported: Nodes hand requests on without TLS.
        """
        if not self.node and self.cluster_key is None:
            for option, is_given in (
                ("--node-address", bool(self.node_address)),
                ("--lease-seconds", self.lease_seconds != LEASE_SECONDS),
            ):
                if is_given:
                    raise ConfigError(f"{option} goes only with --node NAME and --cluster-key FILE")
            return
        if not self.node or self.cluster_key is None:
            raise ConfigError("--node NAME and --cluster-key FILE go together: give both, or none")
        if not is_shared(journal):
            raise ConfigError(
                "a node needs a journal that all nodes reach: --journal postgresql://... or "
                "nats://..."
            )
        if with_tls:
            raise NotSupported(
                "a node of a cluster cannot use TLS itself: leave --tls-cert out, keep the nodes "
                "in a private network, and put a proxy with TLS in front of them"
            )
        least, most = LEASE_RANGE
        if not least <= self.lease_seconds <= most:
            raise ConfigError(
                f"--lease-seconds must be from {least:g} to {most:g}, got {self.lease_seconds:g}"
            )

    def options(self) -> ClusterOptions | None:
        """Return what the node is told; None without one.

        Raises:
            ConfigError: A name, an address or the secret cannot be used.
        """
        from evenmatch.server.cluster.identity import node_identity
        from evenmatch.server.runtime.serve import ClusterOptions

        if self.cluster_key is None:
            return None
        node_identity(self.node, self.node_address or "127.0.0.1:1", self.cluster_key)
        return ClusterOptions(self.node, self.cluster_key, self.node_address, self.lease_seconds)


ALONE = ClusterArguments()


@signals_held()
def serve(
    config: Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: Whole = 8080,
    data: str | None = None,
    journal: str = "",
    cluster: Annotated[ClusterArguments, Parameter(name="*")] = ALONE,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    health_port: Whole | None = None,
    drop_queues: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    wait: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    config_from: Literal["auto", "file", "data"] = "auto",
    without_keys: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> None:
    """Start a server that takes tickets and makes matches, over HTTP.

    Without --data or --journal everything is in memory and lost when the server stops. The page at
    / shows the queues, /docs the HTTP interface. Without keys or tokens the server only listens on
    this machine; `evenmatch keys add` makes one. A CONFIG with [[tenant]] tables serves several
    games.

    For example:

        evenmatch serve scenarios/duel.toml --port 8080 --data ./data

    Args:
        config: A TOML file with queues and [server] settings.
        host: The address to listen on; without keys or tokens, a loopback address.
        port: The port to listen on; 0 chooses a free one.
        data: The directory of the journal; the server creates it if it is missing.
        journal: The journal's address, if it is not in --data: postgresql://..., nats://... or
            sqlite:PATH. Without --data, keys, changed configurations and the audit log are there
            too.
        cluster: Several servers on one journal.
        tls_cert: The certificate (PEM) for HTTPS; needs --tls-key.
        tls_key: The certificate's private key (PEM).
        health_port: Also answer GET /healthz on this port, at once however busy the server is.
        drop_queues: Start even if tickets wait in queues that CONFIG lacks, and let them expire.
        wait: If another server runs on --data or --journal, wait until it stops, then take over.
        config_from: What counts after a change over HTTP: CONFIG (file) or the change (data). auto
            means data, but refuses to start if CONFIG was edited since; a node only logs that.
        without_keys: Start even if the journal was written with service keys and there are none
            now; anybody who can reach the server may then use it.
    """
    _check_ports(port, health_port)
    if config is None:
        raise ConfigError("name a configuration: evenmatch serve CONFIG.toml (see --help)")
    folder = _folder(data)
    if journal:
        check_address(journal)
    elif wait and folder is None:
        raise ConfigError(
            "--wait waits for the server that runs on a data directory or journal: name it with "
            "--data or --journal, or leave --wait out"
        )
    cluster.check(journal, with_tls=tls_cert is not None)
    # Imported here so that --help needs no server.
    needs_server()
    from evenmatch.server.runtime import serve as server_process
    from evenmatch.solvers.kernel import defer

    place = server_process.ListenOptions(
        host, port, folder, wait, tls_cert, tls_key, health_port, journal, cluster.options()
    )
    options = _Options(drop_queues, config_from, without_keys, journal, wait, cluster)
    # What has to be compiled is compiled by other processes, while this one says so.
    with defer(load_kept=True):
        _run(_games(config, folder, options), place)


def _check_ports(port: int, health_port: int | None) -> None:
    if not 0 <= port <= 65_535:
        raise ConfigError(f"--port must be from 0 to 65535, got {port}")
    if health_port is not None and not 1 <= health_port <= 65_535:
        raise ConfigError(f"--health-port must be from 1 to 65535, got {health_port}")


class _Options(NamedTuple):
    """What a start may be told."""

    drop_queues: bool
    config_from: ConfigFrom
    without_keys: bool
    journal: str
    wait: bool
    cluster: ClusterArguments


def _games(config: Path, folder: Path | None, options: _Options) -> list[Game]:
    """Return the game that a file describes, or those that it names."""
    from evenmatch.cli.setting_warnings import setting_warnings
    from evenmatch.cli.warnings import timing_warnings
    from evenmatch.config.files import load_document, load_server, load_tenants, naming
    from evenmatch.policies.registry import check_kernels, policies_of
    from evenmatch.server.operations.versions import changeable
    from evenmatch.server.runtime.games import game
    from evenmatch.server.runtime.logs import log
    from evenmatch.server.runtime.recovery import ShardPlan

    found = []
    named = [(each.name, Path(each.config)) for each in load_tenants(config)]
    for name, path in named or [("", config)]:
        queues, settings, seed = load_server(path)
        for queue in queues:
            for spec in policies_of(queue):
                check_kernels(spec, queue.name)
            for warning in timing_warnings(queue):
                log.warning("configuration", file=str(path), queue=queue.name, warning=warning)
        for warning in setting_warnings(settings, queues):
            log.warning("configuration", file=str(path), warning=warning)
        plan = ShardPlan(
            queues,
            seed,
            settings,
            drop_queues=options.drop_queues,
            file=path,
            document=changeable(load_document(path)),
            data=None if folder is None else folder / name,
            config_from=options.config_from,
            may_be_open=options.without_keys,
            journal=options.journal,
            waits=options.wait,
        )
        with naming(path):
            found.append(game(plan, name))
    return found


def _run(games: list[Game], place: ListenOptions) -> None:
    """Run the server; a journal that cannot be used at the start is bad input.

    A full or failing disk is a failure instead: whoever watches the process starts it again.
    """
    from evenmatch.server.runtime import serve as server_process

    listens = _StartNotice(is_kept=bool(place.keeps))
    try:
        server_process.serve(games, place, listens)
    except JournalError as error:
        if listens.done or _is_of_the_disk(error):
            raise
        if is_shared(place.journal) and isinstance(error, JournalUnavailable):
            raise
        # Nobody was served yet: what is wrong is what --data names.
        raise ConfigError(str(error)) from error


OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)
"""A disk that has failed is often mounted again to be read only."""


def _is_of_the_disk(error: JournalError) -> bool:
    """Return whether the disk was full or failed, so that the same start may do later.

    Where there is no space for the shared memory file, SQLite speaks of an I/O error.
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, sqlite3.Error | OSError):
        cause = cause.__cause__
    if isinstance(cause, OSError):
        return cause.errno in OF_THE_DISK
    code: int = getattr(cause, "sqlite_errorcode", 0)
    return code & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def needs_server() -> None:
    """Check that what a server needs is installed.

    Raises:
        NotSupported: It is not; the sentence says how to get it.
    """
    if find_spec("uvicorn") is None or find_spec("starlette") is None:
        raise NotSupported("a server needs more packages: pip install 'evenmatch[server]'")


def _folder(data: str | None) -> Path | None:
    if data is None:
        return None
    if not data:
        raise ConfigError("--data must name a directory, got an empty name")
    folder = Path(data)
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"--data must name a directory, and {folder} is a file")
    return folder


class _StartNotice:
    """Says that the server listens, and remembers that it did."""

    def __init__(self, *, is_kept: bool) -> None:
        self.done = False
        self._is_kept = is_kept

    def __call__(self, address: str) -> None:
        self.done = True
        print(f"evenmatch listens on {address}", flush=True)
        if sys.stderr.isatty() and not self._is_kept:
            print("Nothing is kept: start with --data DIR to keep it", file=sys.stderr)
