"""What nodes count of themselves while nobody answers for a shard, and what alerts make of it."""

import asyncio
from typing import Any

import pytest

from evenmatch.config.server import ServerSettings
from evenmatch.errors import InvalidTicket, JournalUnavailable
from evenmatch.server.cluster.greetings import digest_of
from evenmatch.server.cluster.node import Node
from evenmatch.server.cluster.seat import Seat
from evenmatch.server.http.responses import send_body
from evenmatch.server.http.whole_requests import WholeRequest
from tests.unit.server.promql import Scrape, fires, scrape
from tests.unit.server.test_alerts import EXPRESSIONS
from tests.unit.server.test_cluster_nodes import IDENTITY, asked, node, status_of, with_node
from tests.waiting import until

PAGE = b"# HELP evenmatch_ready R.\n# TYPE evenmatch_ready gauge\nevenmatch_ready 1.0\n"
REFUSED = frozenset({("node", "a"), ("route", "node"), ("status", "503")})


class Shard:
    """A game of one shard, whose owner may be gone.

    Args:
        monkeypatch: Puts it below a node.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.error: Exception | None = None
        self.running = node()
        for router in self.running._routers.values():
            monkeypatch.setattr(router, "_serve", self._serve)

    async def _serve(self, seat: Seat, scope: Any, receive: Any, send: Any) -> None:
        if self.error is not None:
            raise self.error
        await send_body(send, 200, PAGE)

    async def scrape(self) -> Scrape:
        answer = await asked(self.running, "/metrics")
        assert answer.status == 200
        return scrape(answer.body)


@pytest.mark.parametrize(
    ("error", "alert"),
    [
        (JournalUnavailable("no node answers"), "EvenmatchOverloaded"),
        (ZeroDivisionError(), "EvenmatchServerErrors"),
    ],
)
def test_requests_that_a_node_fails_itself_are_seen_by_alerts(
    error: Exception, alert: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        shard = Shard(monkeypatch)
        before = await shard.scrape()
        shard.error = error
        for _ in range(51):
            assert (await asked(shard.running, "/v1/tickets/s0-1")).status in (500, 503)
        shard.error = None
        after = await shard.scrape()
        assert fires(EXPRESSIONS[alert], before, before) == {}
        assert fires(EXPRESSIONS[alert], before, after)

    asyncio.run(main())


def test_nodes_that_are_alive_or_unlike_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        shard = Shard(monkeypatch)
        greetings, own = shard.running._greetings, frozenset({("node", "a")})
        now = [0.0]
        monkeypatch.setattr(greetings.members, "_clock", lambda: now[0])
        alone = await shard.scrape()
        assert alone["evenmatch_nodes"] == {own: 1.0}
        greetings._hear(status_of("b", configured=greetings.configured), 0)
        both = await shard.scrape()
        assert (both["evenmatch_nodes"], both["evenmatch_nodes_unlike"]) == ({own: 2.0}, {own: 0.0})
        greetings._hear(status_of("b", configured=digest_of([])), 0)
        unlike = await shard.scrape()
        assert unlike["evenmatch_nodes_unlike"] == {own: 1.0}
        now[0] = 10.0
        gone = await shard.scrape()
        assert (gone["evenmatch_nodes"], gone["evenmatch_nodes_unlike"]) == ({own: 1.0}, {own: 0.0})

    asyncio.run(main())


def test_shards_that_a_node_gets_or_cannot_follow_are_counted() -> None:
    async def scene(running: Node) -> None:
        first, second = running._seats.values()
        await until(lambda: first.present is not None and second.present is not None, "leases")
        second.unfollowed += 3
        found = scrape(running._routers["game-0"].metrics.text().encode())
        own = frozenset({("node", "a")})
        assert found["evenmatch_shards_taken_total"] == {own: 2.0}
        assert found["evenmatch_shards_unfollowed_total"] == {own: 3.0}

    with_node(scene, ServerSettings(), ServerSettings())


def test_requests_that_come_past_asgi_or_from_other_nodes_are_counted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evenmatch.server.cluster.node.HOLD_SECONDS", 0.01)

    async def main() -> None:
        shard = Shard(monkeypatch)
        shard.error = JournalUnavailable("no node answers")
        running, statuses = shard.running, list[int]()

        def reply(status: int, *_: Any) -> None:
            statuses.append(status)

        scope = {
            "type": "http", "method": "POST", "path": "/v1/tickets", "raw_path": b"/v1/tickets",
            "query_string": b"", "headers": [], "client": ("127.0.0.1", 1),
        }  # fmt: skip
        running._front.let_in(scope)
        whole = WholeRequest(scope, b"{}", reply, lambda: False, 0.0)
        running._front.take(whole)
        await until(lambda: statuses == [503], "the answer")
        running._front._done(whole, None)
        signed = IDENTITY.sign("10.9.8.7", "/s0")
        answer = await asked(running, "/v1/tickets/s0-1", signed=signed)
        assert [*statuses, answer.status] == [503, 503, 503]
        running._front.refuse(whole, InvalidTicket("it is the client's"))
        shard.error = None
        assert (await shard.scrape())["evenmatch_request_seconds_count"][REFUSED] == 3.0

    asyncio.run(main())


def test_metrics_are_there_when_no_node_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        shard = Shard(monkeypatch)
        shard.error = JournalUnavailable("no node answers")
        found = await shard.scrape()
        assert found == {"evenmatch_ready": {frozenset(): 0.0}}
        assert fires(EXPRESSIONS["EvenmatchNotReady"], found, found)
        assert not fires(EXPRESSIONS["EvenmatchGone"], found, found)

    asyncio.run(main())
