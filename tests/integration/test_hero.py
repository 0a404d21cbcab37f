"""The bots of examples/hero on a real server: everybody ends somewhere, nobody in two matches."""

import asyncio
import random
import re
import runpy
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from evenmatch.client.client import Client, ServerRefused
from evenmatch.wire.tickets import Problem
from tests.integration.serving import Server
from tests.waiting import GIVE_UP, turns, wait_until

HERO = Path(__file__).parents[2] / "examples" / "hero"
CONFIG = (HERO / "hero.toml").read_text(encoding="utf-8")
IMPATIENT = CONFIG.replace("silent_after = 30", "silent_after = 5")
SEATS = Counter(tank=1, damage=2, support=2)


def ready(server: Server) -> Server:
    """Return the server once its solvers are compiled."""
    wait_until(lambda: server.call("GET", "/readyz").status == 200)
    return server


def bots(url: str, *arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, str(HERO / "bots.py"), url, "--bots", "60", "--spread", "1"]
    command += ["--match-seconds", "2", "--decline", "0.05", "--silent", "0.02", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: "subprocess.Popen[str]") -> Counter[str]:
    """Return the numbers of the first line of the summary of bots that end well."""
    shown, errors = process.communicate(timeout=GIVE_UP)
    assert (process.returncode, errors) == (0, "")
    assert "0 players were in two matches at once, 0 tickets ended for another reason" in shown
    line = next(line for line in shown.splitlines() if " tickets of " in line)
    return Counter({word: int(count) for count, word in re.findall(r"(\d+) ([a-z]+)", line)})


def assert_matches_are_whole(url: str) -> int:
    """Assert that every match of the feed has its roles and no ticket of another; count them."""
    with Client(url) as client:
        matches = client.page("hero", 0).matches
    tickets = Counter(ticket for match in matches for ticket in match.tickets)
    assert set(tickets.values()) <= {1}
    for match in matches:
        assert len({player for team in match.players for player in team}) == 10
        assert match.roles is not None
        assert [Counter(roles) for roles in match.roles] == [SEATS, SEATS]
    return len(matches)


def wait_until_empty(url: str) -> None:
    """Return when nobody waits: a ticket whose bot ended while it was created is dropped."""
    with Client(url) as client:
        wait_until(lambda: not client.queues()[0].waiting)


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal to send")
def test_few_bots_play_two_matches_and_end_by_ctrl_c(tmp_path: Path) -> None:
    server = ready(Server(tmp_path, CONFIG))
    playing = bots(server.url, "--minutes", "30", "--silent", "0", "--decline", "0")
    try:
        with Client(server.url) as client:
            wait_until(lambda: len(client.page("hero", 0).matches) >= 2, "the second match")
        playing.send_signal(signal.SIGINT)
        assert ended(playing)["matched"] >= 4
        wait_until_empty(server.url)
        assert assert_matches_are_whole(server.url) >= 2
    finally:
        playing.kill()
        playing.wait()
        server.stop()


@pytest.mark.long
def test_bots_play_heroes_and_all_of_them_end_somewhere(tmp_path: Path) -> None:
    server = ready(Server(tmp_path, IMPATIENT))
    try:
        counts = ended(bots(server.url, "--minutes", "0.33"))
        parts = ("matched", "declined", "silent", "expired", "cancelled")
        assert counts["tickets"] == sum(counts[part] for part in parts)
        assert counts["matched"] > 10
        assert counts["declined"] + counts["silent"] > 0
        wait_until_empty(server.url)
        assert assert_matches_are_whole(server.url) >= 2
    finally:
        server.stop()


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="no such signal to send")
def test_bots_survive_a_killed_server_and_end_by_ctrl_c(tmp_path: Path) -> None:
    server = ready(Server(tmp_path, IMPATIENT))
    playing = bots(server.url, "--minutes", "5")
    try:
        with Client(server.url) as client:
            wait_until(lambda: len(client.page("hero", 0).matches) >= 2)
        server.kill()
        server = Server(tmp_path, IMPATIENT, port=server.port)
        with Client(server.url) as client:
            before = len(client.page("hero", 0).matches)
            wait_until(lambda: len(client.page("hero", 0).matches) >= before + 2, "a match since")
        playing.send_signal(signal.SIGINT)
        ended(playing)
        wait_until_empty(server.url)
        assert_matches_are_whole(server.url)
    finally:
        playing.kill()
        playing.wait()
        server.stop()


def test_bots_come_again_to_a_server_that_cannot_answer_yet() -> None:
    module = runpy.run_path(str(HERO / "bots.py"))
    tally, answers = module["Tally"](), [503, 502, 409]

    async def ask() -> None:
        raise ServerRefused(answers.pop(0), Problem("unavailable", "not yet"))

    async def scene() -> None:
        friends = module["Friends"](None, (), None, None, tally)
        with pytest.raises(ServerRefused) as refused:
            await friends.patiently(ask)
        assert refused.value.status == 409

    # In the module's own names: its pause between two tries is a second.
    module["Friends"].patiently.__globals__["AWAY_SECONDS"] = 0.0
    asyncio.run(scene())
    assert tally.counts["away"] == 2


def test_bots_that_end_amid_a_create_take_its_ticket_back() -> None:
    module = runpy.run_path(str(HERO / "bots.py"))

    cancelled: list[str] = []

    class Slow:
        async def create(self, new: object) -> SimpleNamespace:
            await turns(40)
            return SimpleNamespace(id="s0-1")

        async def cancel(self, ticket: str) -> None:
            cancelled.append(ticket)

    async def scene() -> None:
        tally = module["Tally"]()
        options = SimpleNamespace(spread=0.0, queue="hero")
        friends = module["Friends"](Slow(), (), random.Random(1), options, tally)
        life = asyncio.create_task(friends.live())
        await turns(20)
        life.cancel()
        await asyncio.gather(life, return_exceptions=True)
        await friends.leave()
        assert cancelled == ["s0-1"]
        assert (tally.counts["tickets"], tally.counts["left"]) == (1, 1)

    asyncio.run(scene())


def test_bots_for_another_queue_end_with_a_sentence(tmp_path: Path) -> None:
    server = ready(Server(tmp_path, CONFIG))
    try:
        process = bots(server.url, "--queue", "heroes", "--minutes", "1")
        _, errors = process.communicate(timeout=GIVE_UP)
        assert process.returncode == 1
        said = "takes no such tickets: no queue is called 'heroes'; allowed: hero"
        assert errors.strip() == f"bots.py: {server.url} {said} (unknown_queue)"
    finally:
        server.stop()
