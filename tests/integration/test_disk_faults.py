"""Disks that are full, that fail, and that tear a write: what was acknowledged stays.

The faults come from a library that is loaded before the C library (`inside/bad_disk.c`), so it
takes a C compiler and Linux, and no rights. One test fills a real file system, which takes root.
Each table has a control: a server that answers before it writes must lose what it acknowledged.
"""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.integration.serving import Server
from tests.waiting import wait_until

INSIDE = Path(__file__).parent / "inside"
WHY_NOT = "NOT TESTED: a disk that fails. It takes Linux and a C compiler (gcc or cc): install one"
FAULTS = ("ENOSPC", "EIO", "EIO sync")
BEFORE, DURING, AFTER = 12, 8, 6
"""Creates before, while and after the disk fails."""

pytestmark = pytest.mark.xdist_group("disk")


@pytest.fixture(scope="session")
def bad_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the library."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip(WHY_NOT)
    built = tmp_path_factory.mktemp("bad_disk") / "bad_disk.so"
    source = INSIDE / "bad_disk.c"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(built), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return built


class Disk:
    """A server's data directory on a disk that fails as it is told."""

    def __init__(self, directory: Path, library: Path, mutant: str = "") -> None:
        self.directory = directory
        self._fault = directory / "fault"
        self._fault.parent.mkdir(parents=True, exist_ok=True)
        self._env = {
            "LD_PRELOAD": str(library),
            "EVENMATCH_DISK": str(directory / "data"),
            "EVENMATCH_DISK_FAULT": str(self._fault),
            "EVENMATCH_MUTANT": mutant,
            "PYTHONPATH": os.pathsep.join(
                filter(None, (str(INSIDE), os.environ.get("PYTHONPATH")))
            ),
        }

    def serve(self) -> Server:
        return Server(self.directory, env=self._env)

    def fail(self, how: str) -> None:
        self._fault.write_text(how)

    def mend(self) -> None:
        self._fault.unlink(missing_ok=True)


def created(server: Server, first: int, count: int) -> tuple[dict[str, str], list[int]]:
    """Return the tickets that were acknowledged, by player, and all statuses."""
    made, statuses = {}, []
    for number in range(first, first + count):
        reply = server.create(f"p{number}", rating=1000.0 * number)
        statuses.append(reply.status)
        if reply.status in (200, 201):
            made[f"p{number}"] = reply.body["id"]
        else:
            assert reply.status in (429, 503), reply
            assert "retry-after" in reply.headers
    return made, statuses


def lost(server: Server, made: dict[str, str]) -> list[str]:
    """Return whose acknowledged tickets the server does not have, or has for somebody else."""
    found = []
    for player, ticket in made.items():
        reply = server.call("GET", f"/v1/tickets?player={player}")
        if reply.status != 200 or [each["id"] for each in reply.body] != [ticket]:
            found.append(f"{player}: {ticket}, {reply}")
    return found


def is_ready(server: Server) -> bool:
    return server.call("GET", "/readyz").status == 200


@pytest.fixture
def disk(tmp_path: Path, bad_disk: Path) -> Disk:
    return Disk(tmp_path / "server", bad_disk)


@pytest.mark.parametrize("how", FAULTS)
def test_server_outlives_a_disk_that_fails_and_loses_nothing(disk: Disk, how: str) -> None:
    server = disk.serve()
    try:
        made, _ = created(server, 0, BEFORE)
        disk.fail(how)
        under_fault, statuses = created(server, 100, DURING)
        assert 503 in statuses, f"{how} was not noticed: {statuses}"
        disk.mend()
        wait_until(lambda: is_ready(server), "a server that writes again")
        after, _ = created(server, 200, AFTER)
        made |= under_fault | after
        assert len(after) == AFTER
        assert lost(server, made) == []
        server.kill()
        server = disk.serve()
        assert lost(server, made) == []
    finally:
        server.kill()


def test_torn_write_is_no_record(disk: Disk) -> None:
    made: dict[str, str] = {}
    for turn in range(3):
        server = disk.serve()
        acknowledged, _ = created(server, 100 * turn, BEFORE)
        made |= acknowledged
        disk.fail("TORN")
        with pytest.raises((OSError, ValueError)):
            created(server, 100 * turn + BEFORE, DURING)
        server.kill()
        disk.mend()
    server = disk.serve()
    try:
        assert lost(server, made) == []
        assert len(made) == 3 * BEFORE
    finally:
        server.kill()


def test_disk_that_fails_finds_out_a_server_that_answers_before_it_writes(
    tmp_path: Path, bad_disk: Path
) -> None:
    disk = Disk(tmp_path / "server", bad_disk, mutant="acknowledge_first")
    server = disk.serve()
    try:
        made, _ = created(server, 0, BEFORE)
        disk.fail("ENOSPC")
        made |= created(server, 100, DURING)[0]
        disk.mend()
        wait_until(lambda: is_ready(server), "a server that writes again")
        assert lost(server, made)
    finally:
        server.kill()


def test_full_file_system_is_survived(tmp_path: Path) -> None:
    """A real one, of four megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("NOT TESTED: a full file system. Only root may mount one")
    try:
        server = Server(place / "server")
        try:
            made, _ = created(server, 0, BEFORE)
            with (place / "filler").open("wb", buffering=0) as filler, suppress(OSError):
                while True:
                    filler.write(bytes(4096))
            found: list[int] = []
            for turn in range(60):
                some, statuses = created(server, 1_000 + 50 * turn, 50)
                made |= some
                found += statuses
                if 503 in statuses:
                    break
            assert 503 in found
            (place / "filler").unlink()
            wait_until(lambda: is_ready(server), "a server that writes again")
            assert lost(server, made) == []
        finally:
            server.kill()
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
