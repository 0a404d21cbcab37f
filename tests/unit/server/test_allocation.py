"""Allocation: a match is handed to a hook until it has a server, or is called off."""

import asyncio
import hashlib
import hmac
import ssl
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import jsonschema
import msgspec
import pytest

from evenmatch.config.files import load_server
from evenmatch.config.server import Allocation, ServerSettings
from evenmatch.engine.state.rows import Roster
from evenmatch.errors import ConfigError, Overloaded
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Assign, Void
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.server.allocation import allocations, hooks
from evenmatch.server.allocation.hooks import Hook, NoServer, signature
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.services import Services, assemble
from evenmatch.wire.http1 import HttpResponse
from tests.unit.server.test_app import call, pair, play
from tests.waiting import GIVE_UP

DUEL = Queue(name="duel", policy="greedy", allocation="fleet", exclusive_match=True)
AGAIN = Queue(name="again", policy="greedy", allocation="again")
PLACE = {"assignment": {"connection": "10.0.0.1:7777"}}
KUBERNETES = "/apis/allocation.agones.dev/v1/namespaces/games/gameserverallocations"

GAME_SERVER_ALLOCATION: dict[str, Any] = {
    "type": "object",
    "required": ["apiVersion", "kind", "spec"],
    "additionalProperties": False,
    "properties": {
        "apiVersion": {"const": "allocation.agones.dev/v1"},
        "kind": {"const": "GameServerAllocation"},
        "metadata": {"type": "object", "properties": {"namespace": {"type": "string"}}},
        "spec": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "selectors": {"type": "array", "items": {"$ref": "#/$defs/selector"}},
                "scheduling": {"enum": ["Packed", "Distributed"]},
                "metadata": {"$ref": "#/$defs/marks"},
            },
        },
    },
    "$defs": {
        "selector": {
            "type": "object",
            "properties": {
                "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}}
            },
        },
        "marks": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        },
    },
}
"""What Agones 1.4x takes, as its documentation of the resource has it."""

ALLOCATION_REQUEST: dict[str, Any] = {
    "type": "object",
    "required": ["namespace"],
    "additionalProperties": False,
    "properties": {
        "namespace": {"type": "string"},
        "gameServerSelectors": {"type": "array", "items": {"$ref": "#/$defs/selector"}},
        "metadata": {"$ref": "#/$defs/marks"},
    },
    "$defs": GAME_SERVER_ALLOCATION["$defs"],
}

Answer = Callable[[dict[str, str], bytes], bytes | None]
"""From headers and body to the bytes of an answer; None hangs."""


def http(body: object, status: int = 200, *more: str) -> bytes:
    raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
    head = [f"HTTP/1.1 {status} X", f"content-length: {len(raw)}", *more, "", ""]
    return "\r\n".join(head).encode() + raw


class StandIn:
    """A server that answers as a test says, and remembers what it was asked."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, dict[str, str], bytes]] = []
        self.at_once = self.most_at_once = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            headers = dict(line.split(": ", 1) for line in lines)
            body = await reader.readexactly(int(headers["content-length"]))
            self.asked.append((first, headers, body))
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            told = answer(headers, body)
            if told is None:
                await asyncio.sleep(3_600.0)
            else:
                await asyncio.sleep(0.01)
                writer.write(told)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.at_once -= 1
            writer.close()


@asynccontextmanager
async def world(stand_in: StandIn, journal: MemoryJournal | None = None, **hook: Any) -> Any:
    """Run a server whose queue hands its matches to a stand-in."""
    server = await asyncio.start_server(stand_in.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    path = hook.pop("path", "/find")
    # A busy machine must not make an answer late: what is asked again counts twice.
    given = {"kind": "webhook", "timeout": 30.0, "retries": 2, **hook}
    fleet = Allocation(url=f"http://127.0.0.1:{port}{path}", **given)
    hooks = {"fleet": fleet, "again": msgspec.structs.replace(fleet, failed="requeue")}
    plan = ShardPlan((DUEL, AGAIN), settings=ServerSettings(allocation=hooks))
    parts = assemble(plan, journal or MemoryJournal())
    await parts.runtime.start()
    try:
        yield parts
    finally:
        parts.allocations.close()
        await parts.runtime.stop()
        server.close()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocations, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(allocations, "LONGEST_PAUSE", 0.02)


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(GIVE_UP):
        while not await is_so():
            await asyncio.sleep(0.01)


async def state_of(parts: Services, ticket: int) -> dict[str, Any]:
    found: dict[str, Any] = (await call(parts, "GET", f"/v1/tickets/s0-{ticket}"))[1]
    return found


async def until_state(parts: Services, wanted: str, ticket: int = 1) -> dict[str, Any]:
    async def is_so() -> bool:
        return bool((await state_of(parts, ticket))["state"] == wanted)

    await until(is_so)
    return await state_of(parts, ticket)


async def until_asked(stand_in: StandIn, count: int) -> None:
    async def is_so() -> bool:
        return len(stand_in.asked) >= count

    await until(is_so)


async def dead(parts: Services) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await call(parts, "GET", "/v1/allocations"))[1]
    return found


class TestWebhook:
    def test_is_told_of_each_match_signed_and_answers_with_its_place(self, tmp_path: Path) -> None:
        secret = tmp_path / "secret"
        secret.write_bytes(b"a key that nobody guesses\n")
        stand_in = StandIn(lambda *_: http(PLACE))

        async def scene() -> None:
            async with world(stand_in, secret_file=str(secret)) as parts:
                await pair(parts, "duel", "a", "b")
                ticket = await until_state(parts, "assigned")
                assert ticket["assignment"] == PLACE["assignment"]
                assert await dead(parts) == []

        play(scene)
        ((first, headers, body),) = stand_in.asked
        assert first == "POST /find HTTP/1.1"
        assert headers["idempotency-key"] == "s0-m1"
        at = headers["evenmatch-signature"].split(",")[0][2:]
        key = b"a key that nobody guesses"
        signed = hmac.new(key, f"{at}.".encode() + body, hashlib.sha256).hexdigest()
        assert (
            headers["evenmatch-signature"] == f"t={at},v1={signed}" == signature(key, body, int(at))
        )
        told = msgspec.json.decode(body)
        assert told["match"]["players"] == [["a"], ["b"]]
        assert [ticket["players"][0]["id"] for ticket in told["tickets"]] == ["a", "b"]

    @pytest.mark.parametrize("body", [b"", b"{}\n", b'{"assignment": null}'])
    def test_may_say_the_place_later(self, body: bytes) -> None:
        async def scene() -> None:
            async with world(StandIn(lambda *_: http(body, 202))) as parts:
                await pair(parts, "duel", "a", "b")

                async def is_told() -> bool:
                    return [each["state"] for each in await dead(parts)] == ["told"]

                await until(is_told)
                await call(parts, "PUT", "/v1/matches/s0-m1/assignment", b'{"connection":"x"}')
                await until_state(parts, "assigned")
                assert await dead(parts) == []

        play(scene)

    def test_is_asked_again_until_it_answers(self) -> None:
        stand_in = StandIn(lambda *_: http(b"", 503), lambda *_: None, lambda *_: http(PLACE))

        async def scene() -> None:
            async with world(stand_in, timeout=0.3) as parts:
                await pair(parts, "duel", "a", "b")
                await until_state(parts, "assigned")

        play(scene)
        assert [headers["idempotency-key"] for _, headers, _ in stand_in.asked] == ["s0-m1"] * 3

    @pytest.mark.parametrize(
        "lie",
        [
            b"",
            b"SSH-2.0\r\n\r\n",
            b"HTTP/1.1 huh X\r\n\r\n",
            b"HTTP/1.1 200 X\r\ncontent-length: -4\r\n\r\n",
            b"HTTP/1.1 200 X\r\ncontent-length: 10000000\r\n\r\n" + b"x" * 100_000,
            b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\nfffffff\r\n" + b"x" * 100_000,
            b"HTTP/1.1 200 X\r\n\r\n" + b"x" * 10_000_000,
            b"HTTP/1.1 200 X\r\nx: " + b"y" * 100_000,
            http(b"<html>"),
            http(b"\xff\xfe"),
            http(b"[" * 60_000),
            http([1, 2]),
            http({"assignment": {"port": 7777}}),
            http({"connection": "10.0.0.1:7777"}),
            http({"assignment": {}}),
            http({"assignment": {"connection": "x" * 20_000}}),
            http(b"", 302, "location: http://127.0.0.1:1/"),
            http(b"", 404),
            None,
        ],
        ids=lambda lie: "hangs" if lie is None else lie[:24].decode("latin-1"),
    )
    def test_that_lies_or_hangs_is_survived_and_the_match_is_called_off(
        self, lie: bytes | None
    ) -> None:
        async def scene() -> None:
            stand_in = StandIn(lambda *_: lie)
            async with world(stand_in, retries=0, timeout=0.15) as parts:
                await pair(parts, "duel", "a", "b")
                await until_state(parts, "waiting")
                _, match = await call(parts, "GET", "/v1/matches/s0-m1")
                (failed,) = await dead(parts)
                assert match["void"] == failed["reason"]
                assert (failed["state"], failed["attempts"]) == ("void", 1)
                assert (await call(parts, "GET", "/readyz"))[0] == 200
                place = "/v1/matches/s0-m1/assignment"
                status, late = await call(parts, "PUT", place, b'{"connection":"late"}')
                assert (status, late["error"]) == (409, "too_late")

        play(scene)

    def test_is_not_asked_for_more_matches_at_once_than_it_takes(self) -> None:
        stand_in = StandIn(lambda *_: http(PLACE))

        async def scene() -> None:
            async with world(stand_in, concurrency=3) as parts:
                await pair(parts, "duel", *(f"p{number}" for number in range(40)))
                for ticket in range(1, 41):
                    await until_state(parts, "assigned", ticket)

        play(scene)
        assert len(stand_in.asked) == 20
        assert 1 < stand_in.most_at_once <= 3

    def test_is_asked_after_a_restart_for_what_has_no_server(self) -> None:
        async def scene() -> None:
            journal = MemoryJournal()
            async with world(StandIn(lambda *_: None), journal) as parts:
                await pair(parts, "duel", "a", "b")
            async with world(StandIn(lambda *_: http(PLACE)), journal.reopen()) as parts:
                await until_state(parts, "assigned")

        play(scene)


class TestBusyJournal:
    @pytest.mark.parametrize("refused", [Assign, Void])
    def test_makes_a_match_wait_and_leaves_it_to_nobody(
        self, monkeypatch: pytest.MonkeyPatch, refused: type
    ) -> None:
        stand_in = StandIn(lambda *_: http(PLACE) if refused is Assign else http(b"", 400))
        turned_away: list[object] = []

        async def scene() -> None:
            async with world(stand_in, retries=0) as parts:
                ask = parts.runtime.ask

                async def busy(input_: Any, **more: Any) -> Any:
                    if type(input_) is refused and len(turned_away) < 3:
                        turned_away.append(input_)
                        raise Overloaded("the journal is behind; try again later")
                    return await ask(input_, **more)

                monkeypatch.setattr(parts.runtime, "ask", busy)
                await pair(parts, "again", "a", "b")
                await until_state(parts, "assigned" if refused is Assign else "waiting")
                states = [each["state"] for each in await dead(parts)]
                assert states == ([] if refused is Assign else ["void"])

        play(scene)
        assert len(turned_away) == 3
        # A fleet gives another server whenever it is asked; a hook without one may have one by now.
        assert len(stand_in.asked) == (1 if refused is Assign else 4)

    def test_is_asked_ever_more_seldom(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(allocations, "FIRST_PAUSE", 1_000.0)
        monkeypatch.setattr(allocations, "LONGEST_PAUSE", 4_000.0)
        runtime = Mock(look=AsyncMock(side_effect=Overloaded("the journal is behind")))

        async def scene() -> None:
            found = allocations.Allocations([])
            found.begin(runtime)
            found._chance = Mock(uniform=lambda *_: 1.0)
            order, pauses = allocations._Order("m1", "duel", "fleet"), []
            for _ in range(4):
                await found._try(order)
                assert order.timer is not None
                pauses.append(order.timer.when() - asyncio.get_running_loop().time())
                order.timer.cancel()
            assert pauses == pytest.approx([1_000.0, 2_000.0, 4_000.0, 4_000.0], abs=400.0)

        play(scene)


class TestDead:
    def test_can_be_asked_again_by_an_operator(self) -> None:
        stand_in = StandIn(lambda *_: http(b"", 500), lambda *_: http(PLACE))

        async def scene() -> None:
            async with world(stand_in, retries=0, failed="keep") as parts:
                await pair(parts, "duel", "a", "b")

                async def is_dead() -> bool:
                    _, found = await call(parts, "GET", "/v1/allocations", query="state=dead")
                    return [each["match"] for each in found] == ["s0-m1"]

                await until(is_dead)
                assert (await state_of(parts, 1))["state"] == "matched"
                retry = "/v1/allocations/s0-m1/retry"
                status, orders = await call(parts, "POST", retry)
                assert (status, orders[0]["match"]) == (200, "s0-m1")
                await until_state(parts, "assigned")
                assert (await call(parts, "POST", retry))[0] == 404

        play(scene)

    def test_that_was_called_off_stays_called_off(self) -> None:
        async def scene() -> None:
            async with world(StandIn(lambda *_: http(b"", 400)), retries=5) as parts:
                await pair(parts, "duel", "a", "b")
                await until_state(parts, "waiting")
                status, _ = await call(parts, "POST", "/v1/allocations/s0-m1/retry")
                assert status == 409
                assert (await call(parts, "GET", "/v1/allocations", query="state=lost"))[0] == 400

        play(scene)

    def test_is_not_pushed_out_by_those_that_were_called_off(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(allocations, "DEAD_MOST", 1)
        stand_in = StandIn(lambda *_: http(b"", 400))

        async def scene() -> None:
            async with world(stand_in, failed="keep") as parts:
                await pair(parts, "duel", "a", "b")

                async def have_failed() -> bool:
                    return [each["state"] for each in await dead(parts)] == ["dead", "void"]

                for number, queue in enumerate(("again", "again", "again"), 2):
                    await pair(parts, queue, f"{number}x", f"{number}y")
                    await until_asked(stand_in, number)
                await until(have_failed)
                status, _ = await call(parts, "POST", "/v1/allocations/s0-m1/retry")
                assert status == 200

        play(scene)

    @pytest.mark.parametrize("end", ["PUT assignment", "POST finish"])
    def test_is_forgotten_when_its_match_needs_no_server_any_more(self, end: str) -> None:
        async def scene() -> None:
            async with world(StandIn(lambda *_: http(b"", 400)), failed="keep") as parts:
                await pair(parts, "duel", "a", "b")

                async def is_dead() -> bool:
                    return [each["state"] for each in await dead(parts)] == ["dead"]

                await until(is_dead)
                method, what = end.split()
                body = b'{"connection":"x"}' if what == "assignment" else b"{}"
                assert (await call(parts, method, f"/v1/matches/s0-m1/{what}", body))[0] == 200
                assert await dead(parts) == []
                assert (await call(parts, "POST", "/v1/allocations/s0-m1/retry"))[0] == 404

        play(scene)


class TestAgones:
    def server(self, **more: object) -> dict[str, object]:
        ports = [{"name": "default", "port": 7045}]
        return {"gameServerName": "green-x1", "address": "34.1.2.3", "ports": ports, **more}

    @pytest.mark.parametrize("path", [KUBERNETES, "/gameserverallocation"])
    def test_is_asked_in_its_own_words(self, path: str) -> None:
        is_kubernetes = path == KUBERNETES

        def answer(headers: dict[str, str], body: bytes) -> bytes:
            schema = GAME_SERVER_ALLOCATION if is_kubernetes else ALLOCATION_REQUEST
            jsonschema.validate(msgspec.json.decode(body), schema)
            if is_kubernetes:
                return http({"status": self.server(state="Allocated")}, 201)
            return http(self.server())

        stand_in = StandIn(answer)
        labels = {"agones.dev/fleet": "duels", "mode": "{queue}"}

        async def scene() -> None:
            hook = {"kind": "agones", "namespace": "games", "selectors": (labels,)}
            async with world(stand_in, path=path, **hook) as parts:
                await pair(parts, "duel", "a", "b")
                ticket = await until_state(parts, "assigned")
                place = {"connection": "34.1.2.3:7045", "server": "green-x1"}
                assert ticket["assignment"] == place

        play(scene)
        asked = msgspec.json.decode(stand_in.asked[0][2])
        spec = asked["spec"]["selectors"] if is_kubernetes else asked["gameServerSelectors"]
        assert spec == [{"matchLabels": {"agones.dev/fleet": "duels", "mode": "duel"}}]

    def test_that_has_no_server_now_is_asked_again(self) -> None:
        stand_in = StandIn(
            lambda *_: http({"status": {"state": "UnAllocated"}}, 201),
            lambda *_: http({"status": {"state": "Contention"}}, 201),
            lambda *_: http({"status": self.server(state="Allocated")}, 201),
        )

        async def scene() -> None:
            async with world(stand_in, kind="agones", path=KUBERNETES) as parts:
                await pair(parts, "duel", "a", "b")
                await until_state(parts, "assigned")

        play(scene)
        assert len(stand_in.asked) == 3

    @pytest.mark.parametrize("port", [-5, 0, 65_536, 10**11])
    def test_that_names_no_port_is_asked_again(self, port: int) -> None:
        ports = [{"name": "default", "port": port}]
        stand_in = StandIn(
            lambda *_: http({"status": self.server(state="Allocated", ports=ports)}, 201),
            lambda *_: http({"status": self.server(state="Allocated")}, 201),
        )

        async def scene() -> None:
            async with world(stand_in, kind="agones", path=KUBERNETES) as parts:
                await pair(parts, "duel", "a", "b")
                ticket = await until_state(parts, "assigned")
                assert ticket["assignment"]["connection"] == "34.1.2.3:7045"

        play(scene)
        assert len(stand_in.asked) == 2

    def test_that_stays_full_lets_the_tickets_wait_with_their_age(self) -> None:
        async def scene() -> None:
            full = StandIn(lambda *_: http({"status": {"state": "UnAllocated"}}, 201))
            async with world(full, kind="agones", path=KUBERNETES, retries=1) as parts:
                await pair(parts, "duel", "a", "b")
                ticket = await until_state(parts, "waiting")
                assert ticket["wait"] > 0.0
                (failed,) = await dead(parts)
                assert failed["reason"] == "the fleet answered UnAllocated"

        play(scene)


class TestConfiguration:
    def test_names_a_hook_that_there_is(self, tmp_path: Path) -> None:
        file = tmp_path / "server.toml"
        file.write_text('[[queue]]\nname = "duel"\nallocation = "fleet"\n')
        with pytest.raises(ConfigError, match=r"add \[server.allocation.fleet\]"):
            load_server(file)
        more = '[server.allocation.fleet]\nkind = "webhook"\nurl = "https://x.example/find"\n'
        file.write_text(file.read_text() + more)
        _, settings, _ = load_server(file)
        assert settings.allocation == {"fleet": Allocation("webhook", "https://x.example/find")}

    @pytest.mark.parametrize(
        "line",
        [
            'kind = "smoke"',
            'url = "ftp://x"',
            'url = "http://user:pass@x/"',
            "timeout = 0",
            "retries = -1",
            "concurrency = 0",
            'failed = "panic"',
        ],
    )
    def test_that_cannot_work_is_refused(self, tmp_path: Path, line: str) -> None:
        keys = {"kind": 'kind = "webhook"', "url": 'url = "http://x"'}
        keys[line.split(" ")[0]] = line
        file = tmp_path / "server.toml"
        file.write_text("[[queue]]\n[server.allocation.fleet]\n" + "\n".join(keys.values()))
        with pytest.raises(ConfigError, match=r"allocation\.fleet"):
            load_server(file)

    def test_without_the_file_of_its_secret_is_refused(self) -> None:
        hook = Allocation("webhook", "http://x", secret_file="/nowhere/secret")
        with pytest.raises(ConfigError, match="secret_file: /nowhere/secret cannot be read"):
            assemble(
                ShardPlan((DUEL,), settings=ServerSettings(allocation={"fleet": hook})),
                MemoryJournal(),
            )


def test_order_dropped_before_it_began_leaves_its_place_to_others() -> None:
    hook = Hook("fleet", Allocation("webhook", "http://127.0.0.1:1/", concurrency=2))

    async def scene() -> None:
        found = allocations.Allocations([hook])
        for number in range(5):
            found._order(f"m{number}", "duel", "fleet")
            found._drop(f"m{number}")
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert found._busy == {"fleet": 0}
        found._order("m9", "duel", "fleet")
        (state,) = found.states()
        assert state.state == "asked"
        found.close()

    play(scene)


def test_certificates_are_read_once_for_a_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[ssl.SSLContext] = []
    make = ssl.create_default_context

    def counting() -> ssl.SSLContext:
        made.append(make())
        return made[-1]

    monkeypatch.setattr(ssl, "create_default_context", counting)
    seen: list[Any] = []

    async def connect(*_: Any, **how: Any) -> Any:
        seen.append(how["ssl"])
        raise OSError("nobody is there")

    monkeypatch.setattr(asyncio, "open_connection", connect)
    hook = Hook("fleet", Allocation("webhook", "https://x.example/"))
    Hook("near", Allocation("webhook", "http://x.example/"))
    match = Match("m", "duel", 0.0, ("t",), (("t",),), (("ann",),))
    roster = Roster("duel", (1,), ((),), allocation="fleet")

    async def scene() -> None:
        for _ in range(3):
            with pytest.raises(NoServer):
                await hook.ask(match, roster)

    play(scene)
    assert seen == made * 3
    assert len(made) == 1


def test_answer_counts_however_slowly_the_connection_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lingering:
        """Answers at once, and takes longer to hang up than an attempt may take."""

        ended = False

        @classmethod
        async def open(cls, *place: object) -> "Lingering":
            return cls()

        def send(self, *request: object) -> None:
            pass

        async def response(self, most: float) -> HttpResponse:
            return HttpResponse(200, {}, b"{}")

        async def closed(self) -> None:
            loop = asyncio.get_running_loop()
            end = loop.time() + 0.03

            async def is_late() -> bool:
                return loop.time() > end

            await until(is_late)
            Lingering.ended = True

    monkeypatch.setattr(hooks, "Connection", Lingering)

    async def scene() -> None:
        reply = await hooks.post("https://fleet.example.com/find", b"{}", {}, 0.01)
        assert (reply.status, Lingering.ended) == (200, True)

    play(scene)
