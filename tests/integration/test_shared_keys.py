"""Servers without a data directory: keys, configurations and the audit log are with the journal."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evenmatch.cli.cluster import signed_by
from evenmatch.cli.main import main
from evenmatch.journals.opening import open_store
from tests.integration.serving import CONFIG, Reply, Server, ticket
from tests.integration.test_copies import address as address
from tests.journal_servers import (
    WHY_NO_NATS,
    WHY_NO_POSTGRES,
    NatsServer,
    PostgresServer,
    nats_program,
    postgres_folder,
    started,
)
from tests.waiting import GIVE_UP, wait_until

pytestmark = pytest.mark.xdist_group("postgres")
GUESTS = CONFIG.replace("[server.limits]", "[server]\nguests = true\n\n[server.limits]")
WIDER = '[[queue]]\nname = "duel"\npolicy = "window:limit=300"\n'


@contextmanager
def serving(directory: Path, address: str, *options: str, config: str = CONFIG) -> Iterator[Server]:
    options = ("--journal", address, *options)
    server = Server(directory, config, durable=False, options=options)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()


def add(capsys: pytest.CaptureFixture[str], address: str, name: str, rights: str) -> Any:
    capsys.readouterr()
    options = ["--journal", address, "--rights", rights, "--json"]
    assert main(["keys", "add", name, *options]) == 0
    return json.loads(capsys.readouterr().out)


def ask(server: Server, method: str, path: str, key: Any, body: Any = None) -> Reply:
    return server.call(method, path, body, headers={"authorization": f"Bearer {key['key']}"})


def test_next_server_knows_keys_configuration_and_audit_log_of_the_one_before(
    tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    key = add(capsys, address, "backend", "tickets,matches,read,operate")
    with serving(tmp_path / "one", address) as one:
        assert one.call("GET", "/v1/config").status == 401
        assert ask(one, "PUT", "/v1/config", key, {"toml": 1}).status == 400
        sent = one.call(
            "PUT",
            "/v1/config",
            raw=WIDER.encode(),
            headers={"authorization": f"Bearer {key['key']}", "content-type": "application/toml"},
        )
        assert sent.status == 200
        own = ask(one, "POST", "/v1/tickets", key, ticket("ada")).body["id"]
        assert ask(one, "POST", "/v1/queues/duel/pause", key).status == 200
        shown = ask(one, "GET", "/v1/config", key).body
        assert (shown["version"], shown["source"]) == (2, "PUT /v1/config by backend")
        before = ask(one, "GET", "/v1/audit", key).body["entries"]
        assert one.stop() == 0
    assert not (tmp_path / "one" / "data").exists()
    with serving(tmp_path / "two", address) as two:
        assert ask(two, "GET", f"/v1/tickets/{own}", key).body["state"] == "waiting"
        assert ask(two, "GET", "/v1/config", key).body == shown
        assert shown["config"]["queue"] == [{"name": "duel", "policy": "window:limit=300"}]
        after = ask(two, "GET", "/v1/audit", key).body["entries"]
        assert after[: len(before)] == before
        actions = [each["action"] for each in after]
        assert "POST /v1/queues/{queue}/pause" in actions
        numbers = [each["seq"] for each in after]
        assert numbers == sorted(set(numbers))
        assert two.stop() == 0


def test_servers_see_new_and_revoked_keys_within_seconds(
    tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first = add(capsys, address, "first", "read")
    with serving(tmp_path, address) as server:
        second = add(capsys, address, "second", "read")
        wait_until(lambda: ask(server, "GET", "/v1/queues", second).status == 200)
        assert main(["keys", "revoke", first["id"], "--journal", address]) == 0
        wait_until(lambda: ask(server, "GET", "/v1/queues", first).status == 401)
        capsys.readouterr()
        assert main(["keys", "list", "--journal", address, "--json"]) == 0
        listed = json.loads(capsys.readouterr().out)["keys"]
        assert [each["state"] for each in listed] == ["revoked", "live"]
        assert not any("sha256" in each for each in listed)


def test_keys_that_are_gone_open_no_server(
    tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    key = add(capsys, address, "backend", "read")

    async def forget() -> None:
        store = open_store(address)
        await store.delete("keys.json")
        await store.close()

    with serving(tmp_path, address) as server:
        assert ask(server, "GET", "/v1/queues", key).status == 200
        asyncio.run(forget())
        wait_until(lambda: "keys.json is gone" in server.log.read_text())
        assert server.call("GET", "/v1/queues").status == 401
        assert ask(server, "GET", "/v1/queues", key).status == 200
        assert server.stop() == 0
    # Nor does a restart.
    command = [sys.executable, "-m", "evenmatch.cli.main", "serve", str(tmp_path / "config.toml")]
    ended = subprocess.run(
        [*command, "--port", "0", "--journal", address],
        capture_output=True,
        text=True,
        timeout=GIVE_UP,
    )
    assert ended.returncode == 2
    assert "written with keys, and there are none now" in ended.stderr


def test_guests_of_one_server_are_guests_of_the_next(tmp_path: Path, address: str) -> None:
    with serving(tmp_path / "one", address, config=GUESTS) as one:
        guest = one.call("POST", "/v1/guests").body
        assert one.stop() == 0
    headers = {"authorization": f"Bearer {guest['token']}"}
    with serving(tmp_path / "two", address, config=GUESTS) as two:
        again = two.call("POST", "/v1/guests", headers=headers)
        assert (again.status, again.body["player"]) == (201, guest["player"])
        assert two.stop() == 0


def test_two_who_add_keys_at_once_both_have_theirs(
    address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from evenmatch.cli.key_places import JournalKeys

    write, raced = JournalKeys.write, []

    def slowly(self: JournalKeys, keys: Any) -> None:
        if not raced:
            raced.append(add(capsys_of(self), address, "rival", "read"))
        write(self, keys)

    def capsys_of(_: JournalKeys) -> pytest.CaptureFixture[str]:
        monkeypatch.setattr(JournalKeys, "write", write)
        return capsys

    monkeypatch.setattr(JournalKeys, "write", slowly)
    add(capsys, address, "backend", "read")
    capsys.readouterr()
    assert main(["keys", "list", "--journal", address, "--json"]) == 0
    names = {each["name"] for each in json.loads(capsys.readouterr().out)["keys"]}
    assert names == {"rival", "backend"}


def test_keys_of_a_data_directory_are_brought_to_a_journal_once(
    tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["keys", "add", "backend", "--data", str(tmp_path), "--json"]) == 0
    key = json.loads(capsys.readouterr().out)
    move = ["keys", "copy", "--data", str(tmp_path), "--journal", address]
    assert main(move) == 0
    assert main(move) == 2
    assert "already holds 1 keys" in capsys.readouterr().err
    with serving(tmp_path / "server", address) as server:
        assert ask(server, "GET", "/v1/queues", key).status == 200


def test_a_journal_in_a_file_has_a_folder_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = f"sqlite:{tmp_path}/night.db"
    key = add(capsys, place, "backend", "read,operate")
    assert (tmp_path / "night.db-beside" / "keys.json").exists()
    with serving(tmp_path, place) as server:
        assert server.call("GET", "/v1/queues").status == 401
        assert ask(server, "POST", "/v1/queues/duel/pause", key).status == 200
        assert server.stop() == 0
    assert (tmp_path / "night.db-beside" / "audit.jsonl").exists()


def test_nodes_without_directories_take_over_with_keys_and_the_text_as_sent(
    tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    key = add(capsys, address, "backend", "tickets,matches,read,operate")
    secret = tmp_path / "cluster.key"
    secret.write_text("0123456789abcdef0123456789abcdef")
    options = ["--cluster-key", str(secret), "--lease-seconds", "1.5", "--node"]
    with (
        serving(tmp_path / "a", address, *options, "a") as one,
        serving(tmp_path / "b", address, *options, "b") as two,
    ):
        # Whichever node answers takes it; a node that nobody answers through says 503.
        wait_until(lambda: ask(two, "GET", "/v1/config", key).status == 200)
        headers = {"authorization": f"Bearer {key['key']}", "content-type": "application/toml"}
        sent = two.call("PUT", "/v1/config", raw=WIDER.encode(), headers=headers)
        assert sent.status == 200
        shown = ask(one, "GET", "/v1/config", key).body
        signed = {"headers": signed_by(secret)}
        told = {each: each.call("GET", "/v1/cluster", **signed).body for each in (one, two)}
        roles = {each["role"]: server for server, each in told.items()}
        assert roles.keys() == {"answering", "standing_by"}
        later = add(capsys, address, "later", "read")
        roles["answering"].kill()
        other = roles["standing_by"]
        wait_until(lambda: ask(other, "GET", "/v1/config", key).status == 200)
        assert ask(other, "GET", "/v1/config", key).body == shown
        assert shown["config"]["queue"] == [{"name": "duel", "policy": "window:limit=300"}]
        assert ask(other, "GET", "/v1/queues", later).status == 200
        actions = [each["action"] for each in ask(other, "GET", "/v1/audit", key).body["entries"]]
        assert "PUT /v1/config" in actions


@pytest.fixture(params=["postgresql", "nats"])
def own_server(request: pytest.FixtureRequest) -> Iterator[PostgresServer | NatsServer]:
    """Give a server of journals that the test may kill."""
    if request.param == "nats":
        if nats_program() is None:
            pytest.skip(WHY_NO_NATS)
        with started(NatsServer) as nats:
            yield nats
        return
    if postgres_folder() is None:
        pytest.skip(WHY_NO_POSTGRES)
    with started(PostgresServer) as postgres:
        yield postgres


@pytest.mark.slow
def test_known_keys_are_known_while_the_journal_is_away(
    tmp_path: Path,
    own_server: PostgresServer | NatsServer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    address = own_server.url
    key = add(capsys, address, "backend", "tickets,read,operate")
    with serving(tmp_path, address) as server:
        assert ask(server, "POST", "/v1/tickets", key, ticket("ada")).status == 201
        own_server.kill()
        assert ask(server, "POST", "/v1/queues/duel/pause", key).status == 503
        # Neither locked out nor let in.
        assert ask(server, "POST", "/v1/tickets", key, ticket("bob")).status == 503
        assert server.call("POST", "/v1/tickets", ticket("bob")).status == 401
        own_server.start()
        later = add(capsys, address, "later", "read")
        wait_until(lambda: ask(server, "GET", "/v1/queues", later).status == 200)
        wait_until(lambda: ask(server, "POST", "/v1/tickets", key, ticket("cy")).status == 201)
        entries = ask(server, "GET", "/v1/audit", key).body["entries"]
        assert ("POST /v1/queues/{queue}/pause", 503) in {
            (each["action"], each.get("status")) for each in entries
        }
        assert server.stop() == 0
