"""What nodes count of themselves while nobody answers for a shard, and what alerts make of it."""

import asyncio
from typing import Any

import pytest

from evenmatch.errors import InvalidTicket, JournalUnavailable
from evenmatch.server.cluster.seat import Seat
from evenmatch.server.http.responses import send_body
from evenmatch.server.http.whole_requests import WholeRequest
from tests.unit.server.promql import Scrape, fires, scrape
from tests.unit.server.test_alerts import EXPRESSIONS
from tests.unit.server.test_cluster_nodes import IDENTITY, asked, node
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
