"""A real server that is changed while it runs: signals, `check --against`, restarts."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evenmatch.cli.main import main
from tests.integration.serving import CONFIG, Server, running, ticket
from tests.waiting import GIVE_UP, wait_until

WIDER = CONFIG.replace("limit=100", "limit=300")
SOLO = CONFIG.replace("players = 2", "players = 2\nparty_sizes = [1]")


def logged(server: Server, event: str) -> list[dict[str, Any]]:
    lines = server.log.read_text().splitlines()
    return [each for each in map(json.loads, lines) if each["event"] == event]


def test_hangup_reads_the_file_again_and_check_foretells_what_it_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(tmp_path) as server:
        server.create("ada")
        server.call("POST", "/v1/tickets", ticket("bob", "cid", queue="squad"))
        config, new = tmp_path / "config.toml", tmp_path / "new.toml"
        new.write_text(SOLO)
        # The server runs and writes: looking at its journal does not disturb it.
        assert main(["check", str(new), "--against", str(tmp_path / "data")]) == 0
        told = capsys.readouterr().out
        assert f"2 tickets wait in {tmp_path / 'data'}: 1 would expire" in told
        assert "0 would be past wait_max" in told
        new.write_text(CONFIG.replace("players = 2", "players = 2\nwait_max = 0.001"))
        assert main(["check", str(new), "--against", str(tmp_path / "data")]) == 0
        assert "1 would be past wait_max and end at once" in capsys.readouterr().out
        new.write_text(SOLO)
        config.write_text(SOLO.replace("greedy", "gready"))
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: bool(logged(server, "reload_refused")))
        config.write_text(SOLO)
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: bool(logged(server, "configuration_reloaded")))
        assert logged(server, "configuration_reloaded")[0]["expired"] == 1
        assert server.call("GET", "/v1/tickets/s0-2").body["reason"] == "queue_changed"
        assert server.call("GET", "/v1/tickets/s0-1").body["state"] == "waiting"
        assert server.call("GET", "/v1/config").body["version"] == 2


def test_check_foretells_a_start_that_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, new = tmp_path / "data", tmp_path / "new.toml"

    def told() -> str:
        assert main(["check", str(new), "--against", str(data)]) == 0
        return capsys.readouterr().out

    with running(tmp_path) as server:
        server.create("ada")
        new.write_text(CONFIG.replace('"duel"', '"chess"'))
        assert "1 would expire with the reason queue_changed" in told()
        assert (
            "A start with this configuration, and SIGHUP, would be refused: the configuration "
            "lacks queues in which tickets wait: duel (1 waiting); add them again, or let the "
            "tickets expire with --drop-queues."
        ) in told()
        assert "--config-from" not in told()
        assert server.call("PUT", "/v1/config", raw=WIDER.encode()).status == 200
        new.write_text(WIDER)
        assert "would be refused" not in told()
        assert "--config-from" not in told()
        new.write_text(SOLO)
        assert "would be refused" not in told()
        assert "is another one, and came by PUT /v1/config: a start goes on with it" in told()
        server.kill()
    (tmp_path / "config.toml").write_text(SOLO)
    assert main(["serve", str(tmp_path / "config.toml"), "--data", str(data), "--port", "0"]) == 2
    assert "--config-from file" in capsys.readouterr().err


def test_change_over_http_is_used_again_by_the_next_process(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        answer = server.call("PUT", "/v1/config", raw=WIDER.encode())
        assert (answer.status, answer.body["version"]) == (200, 2)
        server.kill()
    with running(tmp_path) as server:
        queues = server.call("GET", "/v1/queues").body
        assert queues[0]["policy"] == "window:limit=300"
        (line,) = logged(server, "configuration_of_the_data_is_used")
        assert (line["set_by"], line["version"]) == ("PUT /v1/config", 2)
        assert "--config-from" in line["choose"]


@contextmanager
def standing_by(server: Server, directory: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """Start a second server that waits until the first one stops."""
    command = [sys.executable, "-m", "evenmatch.cli.main", "serve", str(directory / "config.toml")]
    command += ["--data", str(directory / "data"), "--port", str(port), "--wait"]
    with server.log.open("a", encoding="utf-8") as errors:
        second = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert second.stdout is not None
    try:
        wait_until(lambda: bool(logged(server, "waiting_for_the_other_server")))
        yield second
    finally:
        second.kill()
        second.wait(15.0)
        second.stdout.close()


def test_draining_server_takes_no_tickets_and_hands_over_to_the_one_that_waits(
    tmp_path: Path,
) -> None:
    with running(tmp_path) as server:
        server.create("ada")
        with standing_by(server, tmp_path, server.port) as second:
            server.process.send_signal(signal.SIGUSR1)
            wait_until(lambda: server.call("GET", "/readyz").body["status"] == "draining")
            refused = server.create("bob")
            assert (refused.status, refused.body["error"]) == (503, "draining")
            assert refused.headers["retry-after"] == "1"
            # Who waits goes on: cancels, feeds and matches are as ever.
            assert server.call("GET", "/v1/tickets/s0-1").body["state"] == "waiting"
            assert server.call("POST", "/v1/drain?limit=0").body["draining"] is True
            assert server._reap() == 0
            assert second.stdout is not None
            assert second.stdout.readline(), "the second server listens"
            assert server.create("bob").body["id"] == "s0-2"
            assert server.call("GET", "/v1/tickets/s0-1").body["state"] == "matched"


def test_signals_that_come_before_a_server_listens_wait_for_it(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        server.create("ada")
        with standing_by(server, tmp_path, server.port) as second:
            (tmp_path / "config.toml").write_text(WIDER)
            second.send_signal(signal.SIGHUP)
            second.send_signal(signal.SIGUSR1)
            assert server.stop() == 0
            assert second.stdout is not None
            assert second.stdout.readline(), "the second server listens"
            wait_until(lambda: bool(logged(server, "configuration_reloaded")))
            wait_until(lambda: server.call("GET", "/readyz").body["status"] == "draining")
            assert "limit=300" in server.call("GET", "/v1/queues").body[0]["policy"]


def test_start_that_fails_says_why_whatever_signals_came_before(tmp_path: Path) -> None:
    with running(tmp_path) as server, socket.create_server(("127.0.0.1", 0)) as taken:
        with standing_by(server, tmp_path, taken.getsockname()[1]) as second:
            second.send_signal(signal.SIGHUP)
            second.send_signal(signal.SIGUSR1)
            assert server.stop() == 0
            assert second.wait(GIVE_UP) == 2
        assert "choose another --port" in server.log.read_text()


def test_log_says_why_and_when_a_server_stopped(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        assert server.stop() == 0
        (stopping,), (stopped,) = logged(server, "stopping"), logged(server, "stopped")
    assert stopping["reason"] == "SIGTERM"
    assert stopped["address"] == server.url
