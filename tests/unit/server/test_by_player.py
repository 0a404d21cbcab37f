"""The tickets of a player: who may ask for whose, and what is forgotten."""

from pathlib import Path
from typing import Any

from evenmatch.engine.lifecycle import TicketLifecycle
from evenmatch.model.inputs import Void
from evenmatch.model.queue import Queue
from evenmatch.server.views.by_player import TICKETS_MOST, PlayerTickets
from tests.callers import Site, add_key, duel, token, with_site

HOSTED = Queue(name="duel", policy="greedy", allocation="fleet")
"""Its matches can be called off."""


def ids(reply: Any) -> list[str]:
    assert reply.status == 200, reply
    return [each["id"] for each in reply.body]


def test_tickets_of_a_player_come_newest_first(tmp_path: Path) -> None:
    key = add_key(tmp_path)

    async def scene(site: Site) -> None:
        await site.call("POST", "/v1/tickets", duel("ann"), key=key)
        await site.call("DELETE", "/v1/tickets/s0-1", key=key)
        await site.call("POST", "/v1/tickets", duel("ann"), key=key)
        await site.call("POST", "/v1/tickets", duel("bob"), key=key)
        await site.call("POST", "/v1/tickets", duel("ann"), key=key)
        found = await site.call("GET", "/v1/tickets?player=ann", key=key)
        assert ids(found) == ["s0-4", "s0-2", "s0-1"]
        assert [each["state"] for each in found.body] == ["waiting", "matched", "cancelled"]
        assert found.body[1]["match"] == "s0-m1"
        assert found.body[2]["reason"] == "player"
        assert found.body[0]["queues"] == ["duel"]
        assert ids(await site.call("GET", "/v1/tickets?player=nobody", key=key)) == []

    with_site(tmp_path, scene)


def test_it_says_what_is_missing_or_too_much(tmp_path: Path) -> None:
    key = add_key(tmp_path)

    async def scene(site: Site) -> None:
        for query in ("", "?player=", "?name=ann"):
            assert (await site.call("GET", f"/v1/tickets{query}", key=key)).status == 400
        assert (await site.call("GET", "/v1/tickets?player=ann")).status == 401

    with_site(tmp_path, scene)


def test_player_sees_their_own_tickets_only(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        await site.call("POST", "/v1/tickets", duel("ann"), key=token("ann"))
        assert ids(await site.call("GET", "/v1/tickets", key=token("ann"))) == ["s0-1"]
        assert ids(await site.call("GET", "/v1/tickets?player=ann", key=token("ann"))) == ["s0-1"]
        assert (await site.call("GET", "/v1/tickets?player=ann", key=token("bob"))).status == 403

    with_site(tmp_path, scene)


def test_key_of_one_queue_sees_tickets_of_this_queue_only(tmp_path: Path) -> None:
    ranked = add_key(tmp_path, "ranked", queues=("ranked",))
    duels = add_key(tmp_path, "duels", queues=("duel",))

    async def scene(site: Site) -> None:
        await site.call("POST", "/v1/tickets", duel("ann"), key=duels)
        assert ids(await site.call("GET", "/v1/tickets?player=ann", key=duels)) == ["s0-1"]
        assert ids(await site.call("GET", "/v1/tickets?player=ann", key=ranked)) == []

    with_site(tmp_path, scene)


def test_forgotten_tickets_leave_the_index(tmp_path: Path) -> None:
    key = add_key(tmp_path)

    async def scene(site: Site) -> None:
        for at in range(40):
            await site.call("POST", "/v1/tickets", duel(f"p{at}"), key=key)
        site.parts.backlog.catch_up()
        players, tables = site.parts.players, site.parts.runtime.engine.tables
        assert len(players) == 40
        tables.ended.clear()  # As after ten minutes.
        assert players.of("p3") == []
        for at in range(20):
            await site.call("POST", "/v1/tickets", duel(f"q{at}"), key=key)
        site.parts.backlog.catch_up()
        assert len(players) == 20

    with_site(tmp_path, scene)


def test_one_player_is_not_remembered_without_end(tmp_path: Path) -> None:
    key = add_key(tmp_path)

    async def scene(site: Site) -> None:
        for _ in range(TICKETS_MOST + 5):
            created = await site.call("POST", "/v1/tickets", duel("ann"), key=key)
            await site.call("DELETE", f"/v1/tickets/{created.body['id']}", key=key)
        found = ids(await site.call("GET", "/v1/tickets?player=ann", key=key))
        assert len(found) == TICKETS_MOST
        assert found[0] == f"s0-{TICKETS_MOST + 5}"

    with_site(tmp_path, scene)


def test_index_is_the_same_after_a_restart(tmp_path: Path) -> None:
    key = add_key(tmp_path)

    async def scene(site: Site) -> None:
        for name in ("ann", "bob", "ann", "cleo"):
            await site.call("POST", "/v1/tickets", duel(name), key=key)
        site.parts.backlog.catch_up()
        anew = PlayerTickets()
        TicketLifecycle([anew]).reset(site.parts.runtime.engine)
        for name in ("ann", "bob", "cleo"):
            assert anew.of(name) == site.parts.players.of(name) != []

    with_site(tmp_path, scene)


def test_returned_ticket_is_listed_where_it_was_before(tmp_path: Path) -> None:
    key = add_key(tmp_path)

    async def scene(site: Site) -> None:
        runtime = site.parts.runtime
        for player in ("ann", "bob", "ann"):
            await site.call("POST", "/v1/tickets", duel(player), key=key)
        await site.call("DELETE", "/v1/tickets/s0-3", key=key)
        await runtime.ask(Void(runtime.now(), "s0-m1", "no server"))
        found = await site.call("GET", "/v1/tickets?player=ann", key=key)
        assert [(each["id"], each["state"]) for each in found.body] == [
            ("s0-3", "cancelled"),
            ("s0-1", "waiting"),
        ]

    with_site(tmp_path, scene, queues=(HOSTED,))


def test_waiting_ticket_is_listed_after_a_restart_however_many_ended_since(
    tmp_path: Path,
) -> None:
    key = add_key(tmp_path)

    async def scene(site: Site) -> None:
        runtime = site.parts.runtime
        for player in ("ann", "bob"):
            await site.call("POST", "/v1/tickets", duel(player), key=key)
        for _ in range(TICKETS_MOST):
            created = await site.call("POST", "/v1/tickets", duel("ann"), key=key)
            await site.call("DELETE", f"/v1/tickets/{created.body['id']}", key=key)
        await runtime.ask(Void(runtime.now(), "s0-m1", "no server"))
        site.parts.backlog.catch_up()
        anew = PlayerTickets()
        TicketLifecycle([anew]).reset(runtime.engine)
        assert anew.of("ann") == site.parts.players.of("ann")
        assert anew.of("ann")[-1] == "s0-1"

    with_site(tmp_path, scene, queues=(HOSTED,))
