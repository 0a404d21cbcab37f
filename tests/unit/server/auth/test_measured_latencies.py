"""What servers measured goes before what clients claim."""

from pathlib import Path
from typing import Any

from evenmatch.model.queue import Queue, ReadyCheck
from evenmatch.model.ticket import Player
from evenmatch.server.auth import accounts as measured_module
from evenmatch.server.auth.accounts import MeasuredLatencies
from tests.callers import QUEUES, Site, add_key, token, with_site


def entry(player: str, **latency: float) -> dict[str, Any]:
    return {"id": player, "attributes": {"latency": latency}}


def latencies(site: Site, ticket: str) -> Any:
    return site.parts.runtime.engine.tables.waiting[ticket].ticket.players[0].attributes["latency"]


def test_measured_latency_wins_over_a_claimed_one(tmp_path: Path) -> None:
    service = add_key(tmp_path)

    async def scene(site: Site) -> None:
        ann = token("ann", attributes={"latency": {"asia": 200.0}})
        body = {"queues": ["ranked"], "players": [entry("ann", eu=1.0, us=90.0)]}
        made = await site.call("POST", "/v1/tickets", body, key=ann)
        path = f"/v1/tickets/{made.body['id']}"
        assert latencies(site, made.body["id"]) == {"eu": 1.0, "us": 90.0, "asia": 200.0}
        change = {"players": [entry("ann", eu=45.0)]}
        assert (await site.call("PATCH", path, change, key=service)).status == 200
        lie = {"players": [entry("ann", eu=2.0, us=80.0, asia=3.0)]}
        assert (await site.call("PATCH", path, lie, key=ann)).status == 200
        assert latencies(site, made.body["id"]) == {"eu": 45.0, "us": 80.0, "asia": 200.0}
        await site.call("DELETE", path, key=ann)
        again = await site.call("POST", "/v1/tickets", body, key=ann)
        assert latencies(site, again.body["id"])["eu"] == 45.0, "and in his next ticket"

    with_site(tmp_path, scene)


def test_player_changes_himself_and_nothing_that_matters(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        ann = token("ann", party=["bob"])
        body = {"queues": ["ranked"], "players": [{"id": "ann"}]}
        path = f"/v1/tickets/{(await site.call('POST', '/v1/tickets', body, key=ann)).body['id']}"
        refused: list[tuple[dict[str, Any], str]] = [
            ({"players": [{"id": "bob"}]}, "/players/0/id"),
            ({"players": [{"id": "ann", "rating": {"mean": 9.0}}]}, "/players/0/rating"),
            ({"players": [{"id": "ann", "attributes": {"household": "x"}}]},
             "/players/0/attributes/household"),
            ({"attributes": {"mode": "fun"}}, "/attributes/mode"),
        ]  # fmt: skip
        before = site.parts.runtime.engine.tables.sequence
        for change, where in refused:
            reply = await site.call("PATCH", path, change, key=ann)
            assert (reply.status, reply.body["where"]) == (403, where)
        assert site.parts.runtime.engine.tables.sequence == before

    with_site(tmp_path, scene)


def test_players_answer_a_ready_check_each_for_himself(tmp_path: Path) -> None:
    queue = Queue(name="duel", policy="greedy", accept=ReadyCheck(15.0))

    async def scene(site: Site) -> None:
        made = {}
        for player in ("ann", "bob"):
            body = {"players": [{"id": player}]}
            made[player] = await site.call("POST", "/v1/tickets", body, key=token(player))
        tickets = {player: reply.body["id"] for player, reply in made.items()}
        ticket = await site.call("GET", f"/v1/tickets/{tickets['ann']}", key=token("ann"))
        path = f"/v1/matches/{ticket.body['match']}"
        assert (await site.call("GET", path, key=token("ann"))).status == 200
        assert (await site.call("GET", path, key=token("eve"))).status == 404
        for player, ticket_of, status in (
            ("eve", "ann", 404), ("ann", "bob", 404), ("ann", "ann", 200), ("bob", "bob", 200),
        ):  # fmt: skip
            answer = {"ticket": tickets[ticket_of]}
            reply = await site.call("POST", f"{path}/accept", answer, key=token(player))
            assert reply.status == status, (player, ticket_of, reply.body)
        assert reply.body["state"] == "matched"

    with_site(tmp_path, scene, queues=(queue, *QUEUES[1:]))


def test_measurements_are_bounded_and_grow_old() -> None:
    clock = [0.0]
    measured = MeasuredLatencies(most=3, clock=lambda: clock[0])
    for number in range(10):
        measured.note((Player(f"p{number}", attributes={"latency": {"eu": 1.0}}),))
    assert len(measured) == 3
    clock[0] = 1.0
    measured.note((Player("p9", attributes={"latency": {"us": 2.0}, "mode": "m"}),))
    assert measured.of("p9") == {"latency": {"eu": 1.0, "us": 2.0}}
    clock[0] += measured_module.KEPT_SECONDS
    assert measured.of("p9") == {}
    measured.note((Player("p9", attributes={"mode": "m"}),))
    assert len(measured) == 3
    many = {f"r{number}": 1.0 for number in range(50)}
    more = {f"s{number}": 1.0 for number in range(50)}
    for entries in (many, more):
        measured.note((Player("p9", attributes={"latency": entries}),))
    kept = measured.of("p9")["latency"]
    assert len(kept) == measured_module.ENTRIES_MAX
    assert more.keys() <= kept.keys(), "the newest count"
    for number in range(20):
        measured.note((Player("p9", attributes={f"map{number}": {"eu": 1.0}}),))
    assert len(measured.of("p9")) == measured_module.MAPS_MAX
    measured.note((Player("odd", attributes={"latency": {"eu": 1e300, "us": float("nan")}}),))
    assert measured.of("odd") == {}


def test_measurement_that_the_engine_refuses_is_forgotten(tmp_path: Path) -> None:
    service = add_key(tmp_path)

    async def scene(site: Site) -> None:
        body = {"queues": ["ranked"], "players": [entry("ann", eu=20.0)]}
        made = await site.call("POST", "/v1/tickets", body, key=token("ann"))
        change = {"players": [entry("ann", eu=40.0, us=1e300)]}
        path = f"/v1/tickets/{made.body['id']}"
        assert (await site.call("PATCH", path, change, key=service)).status == 400
        assert site.accounts.measured.of("ann") == {}

    with_site(tmp_path, scene)
