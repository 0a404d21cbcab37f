"""Servers whose journal is elsewhere: restarts, and a second server that waits its turn."""

import asyncio
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest

from tests.integration.serving import CONFIG, Server
from tests.journal_servers import WHY_NO_NATS, NatsServer, PostgresServer, nats_program
from tests.waiting import GIVE_UP

pytestmark = pytest.mark.xdist_group("postgres")


@pytest.fixture(params=["postgresql", "nats", "sqlite"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Give the address of a journal that no other test has."""
    if request.param == "sqlite":
        yield f"sqlite:{tmp_path}/elsewhere.db"
    elif request.param == "nats":
        if nats_program() is None:
            pytest.skip(WHY_NO_NATS)
        server = NatsServer()
        try:
            server.start()
            yield server.url
        finally:
            server.close()
    else:
        postgres: PostgresServer = request.getfixturevalue("postgres_server")
        name = f"serve_{os.urandom(8).hex()}"
        asyncio.run(make_database(postgres.url, name))
        yield postgres.url.rpartition("/")[0] + f"/{name}"


async def make_database(url: str, name: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()


@contextmanager
def started(directory: Path, address: str, *options: str, durable: bool = True) -> Iterator[Server]:
    server = Server(directory, durable=durable, options=["--journal", address, *options])
    try:
        yield server
    finally:
        server.kill()


@pytest.mark.slow
def test_a_killed_server_finds_all_in_its_database(tmp_path: Path, address: str) -> None:
    with started(tmp_path, address) as server:
        tickets = [server.create(f"p{n}", 1000.0 * n).body["id"] for n in range(4)]
        server.kill()
    assert not (tmp_path / "data" / "journal.db").exists()
    with started(tmp_path, address) as server:
        for ticket in tickets:
            assert server.call("GET", f"/v1/tickets/{ticket}").body["state"] == "waiting"
        assert server.create("p0", 0.0).body["id"] == tickets[0]


@pytest.mark.slow
def test_a_second_server_goes_on_where_the_first_one_stops(tmp_path: Path, address: str) -> None:
    (tmp_path / "two").mkdir()
    path = tmp_path / "two" / "config.toml"
    path.write_text(CONFIG, encoding="utf-8")
    command = [sys.executable, "-m", "evenmatch.cli.main", "serve", str(path), "--port", "0"]
    with started(tmp_path / "one", address) as one:
        ticket = one.create("ada").body["id"]
        two = subprocess.Popen(
            [*command, "--journal", address, "--wait"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert two.stderr is not None
            assert any("waiting_for_lease" in line for line in two.stderr)
            assert one.call("GET", f"/v1/tickets/{ticket}").status == 200
            assert one.stop() == 0
            assert any("recovered" in line for line in two.stderr)
            assert two.stdout is not None
            url = two.stdout.readline().split()[-1]
            with urllib.request.urlopen(f"{url}/v1/tickets/{ticket}", timeout=GIVE_UP) as reply:
                assert b'"waiting"' in reply.read()
            two.terminate()
            two.communicate(timeout=GIVE_UP)
            assert two.returncode == 0
        finally:
            two.kill()
            two.wait()


def test_no_server_at_the_address_is_a_failure_that_shows_no_password(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(CONFIG, encoding="utf-8")
    command = [sys.executable, "-m", "evenmatch.cli.main", "serve", str(path), "--port", "0"]
    ended = subprocess.run(
        [*command, "--journal", "postgresql://ada:secret@127.0.0.1:1/games"],
        capture_output=True,
        text=True,
        timeout=GIVE_UP,
    )
    assert ended.returncode == 1
    assert "127.0.0.1:1/games" in ended.stderr
    assert "secret" not in ended.stderr
