"""A real server whose loop stands still for longer than players may be silent: nobody pays."""

import http.client
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from evenmatch.cli.main import main
from tests.integration.serving import Server, running, ticket
from tests.unit.server.promql import scrape
from tests.waiting import wait_until

ANSWER_SECONDS = 3.0
AWAY = ANSWER_SECONDS + 1.5
"""Longer than anybody may take to answer."""
CONFIG = f"""
[[queue]]
name = "duel"
teams = 2
players = 1
policy = "tests.integration.blocking.walls"
accept = {{seconds = {ANSWER_SECONDS}, repair = 1.0, cooldowns = []}}

[[queue]]
name = "watched"
teams = 2
players = 1
policy = "periodic:rounds_of=1000"
silent_after = {ANSWER_SECONDS}
group = "watched"

[[queue]]
name = "wall"
teams = 2
players = 1
policy = "tests.integration.blocking.walls"
group = "wall"
"""


class Caller:
    """A client with a connection of its own, which sends now and reads later."""

    def __init__(self, server: Server, *, is_known: bool) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30.0)
        if is_known:
            self.send("GET", "/healthz")
            assert self.answer()[0] == 200

    def send(self, method: str, path: str, body: Any = None) -> None:
        self._connection.request(method, path, None if body is None else json.dumps(body))

    def close(self) -> None:
        self._connection.close()

    def answer(self) -> tuple[int, Any]:
        with self._connection.getresponse() as response:
            return response.status, json.loads(response.read() or b"null")


@contextmanager
def stopped(server: Server) -> Iterator[None]:
    """Stop the process as a debugger or a busy hypervisor does, for `AWAY` seconds."""
    server.process.send_signal(signal.SIGSTOP)
    wait_until(
        lambda: Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")")[1][1] == "T"
    )
    began = time.monotonic()
    yield
    time.sleep(max(0.0, began + AWAY - time.monotonic()))
    server.process.send_signal(signal.SIGCONT)


@contextmanager
def blocked(server: Server) -> Iterator[None]:
    """Let a policy hold up the loop, for `AWAY` seconds."""
    body = ticket(f"wall-{AWAY}", queue="wall")
    wall = threading.Thread(target=server.call, args=("POST", "/v1/tickets", body))
    # The loop is away when it has answered nobody for a while.
    with closing(Caller(server, is_known=True)) as probe:
        wall.start()
        while True:
            probe.send("GET", "/healthz")
            assert probe._connection.sock is not None
            probe._connection.sock.settimeout(0.3)
            try:
                probe.answer()
            except TimeoutError:
                break
    yield
    wall.join()


def enter(server: Server, *names: str, queue: str = "duel") -> list[str]:
    made = [server.call("POST", "/v1/tickets", ticket(name, queue=queue)) for name in names]
    assert [each.status for each in made] == [201] * len(names)
    return [each.body["id"] for each in made]


def state(server: Server, name: str) -> tuple[str, str | None]:
    body = server.call("GET", f"/v1/tickets/{name}").body
    return body["state"], body.get("reason")


@pytest.mark.parametrize("away", [stopped, blocked])
def test_players_do_not_pay_for_a_loop_that_was_away(
    tmp_path: Path, away: Callable[[Server], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with running(tmp_path, CONFIG) as server, ExitStack() as stack:
        known, beating, third, new = (
            stack.enter_context(closing(Caller(server, is_known=is_known)))
            for is_known in (True, True, True, False)
        )
        (watched,) = enter(server, "watched", queue="watched")
        one, other, innocent, silent = enter(server, "one", "other", "innocent", "silent")
        first, second = (server.call("GET", f"/v1/tickets/{each}").body["match"]
                         for each in (one, innocent))  # fmt: skip
        with away(server):
            known.send("POST", f"/v1/matches/{first}/accept", {"ticket": one})
            new.send("POST", f"/v1/matches/{first}/accept", {"ticket": other})
            third.send("POST", f"/v1/matches/{second}/accept", {"ticket": innocent})
            beating.send("POST", f"/v1/tickets/{watched}/heartbeat")
        assert [each.answer()[0] for each in (known, new, third)] == [200, 200, 200]
        assert beating.answer()[1]["state"] == "waiting"
        assert state(server, one) == state(server, other) == ("matched", None)

        # Who truly said nothing has what was left of their time, and then pays as ever.
        wait_until(lambda: state(server, silent) == ("cancelled", "silent"))
        wait_until(lambda: state(server, innocent)[0] == "waiting")
        wait_until(lambda: state(server, watched) == ("cancelled", "silent"))
        figures = scrape(server.call("GET", "/metrics").body.encode())
        (excused,) = figures["evenmatch_loop_away_seconds_total"].values()
        assert excused > ANSWER_SECONDS
        server.stop()
    # What the shell decided is in the journal: the same inputs give the same again.
    assert main(["replay", str(tmp_path / "data"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["same"] is True
