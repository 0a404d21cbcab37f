"""A player handles what is his; what is not looks as if it were not there."""

from pathlib import Path
from typing import Any

import pytest

from evenmatch.model.queue import Queue, ReadyCheck
from evenmatch.server.auth.ownership import speaks_for
from evenmatch.server.auth.principal import Forbidden, Principal
from tests.callers import Site, add_key, duel, token, with_site

ANN, BOB = token("ann"), token("bob")
TICKET_ROUTES = [
    ("GET", ""), ("GET", "?wait=5"), ("DELETE", ""), ("PATCH", ""), ("GET", "/events"),
    ("GET", "/explain"), ("POST", "/heartbeat"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "end"), TICKET_ROUTES)
@pytest.mark.parametrize("state", ["waiting", "cancelled"])
def test_foreign_ticket_looks_like_none(tmp_path: Path, method: str, end: str, state: str) -> None:
    async def scene(site: Site) -> None:
        made = await site.call("POST", "/v1/tickets", duel("ann"), key=ANN)
        ticket = made.body["id"]
        if state == "cancelled":
            await site.call("DELETE", f"/v1/tickets/{ticket}", key=ANN)
        body = {} if method == "PATCH" else None
        before = site.parts.runtime.engine.tables.sequence
        foreign = await site.call(method, f"/v1/tickets/{ticket}{end}", body, key=BOB)
        unknown = await site.call(method, f"/v1/tickets/s0-77{end}", body, key=BOB)
        assert foreign.status == 404
        if unknown.status != 501:
            assert foreign.body["message"].replace(ticket, "s0-77") == unknown.body["message"]
            lengths = {"content-length": foreign.headers["content-length"]}
            assert foreign.headers == {**unknown.headers, **lengths}
            assert foreign.status == unknown.status
        assert site.parts.runtime.engine.tables.sequence == before
        own = await site.call("GET", f"/v1/tickets/{ticket}", key=ANN)
        assert (own.status, own.body["state"]) == (200, state)

    with_site(tmp_path, scene)


def test_party_mate_sees_the_ticket_of_the_party(tmp_path: Path) -> None:
    queues = (Queue(name="duel", policy="greedy"), Queue(name="pairs", policy="greedy"))

    async def scene(site: Site) -> None:
        service = add_key(tmp_path)
        site.gate.look()
        made = await site.call("POST", "/v1/tickets", duel("ann"), key=service)
        path = f"/v1/tickets/{made.body['id']}"
        assert (await site.call("GET", path, key=ANN)).status == 200
        assert (await site.call("GET", path, key=token("cleo"))).status == 404

    with_site(tmp_path, scene, queues=queues)


def test_player_sees_his_match_and_no_other(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        await site.call("POST", "/v1/tickets", duel("ann"), key=ANN)
        made = await site.call("POST", "/v1/tickets", duel("bob"), key=BOB)
        match = (await site.call("GET", f"/v1/tickets/{made.body['id']}", key=BOB)).body["match"]
        path = f"/v1/matches/{match}"
        assert (await site.call("GET", path, key=ANN)).status == 200
        foreign = await site.call("GET", path, key=token("cleo"))
        assert (foreign.status, foreign.body["error"]) == (404, "unknown_match")

    with_site(tmp_path, scene)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/queues/duel/matches", None),
        ("GET", "/v1/queues/duel/stats", None),
        ("POST", "/v1/matches/s0-m1/finish", None),
        ("PUT", "/v1/config", {}),
        ("GET", "/v1/audit", None),
        ("GET", "/metrics", None),
    ],
)
def test_player_may_not_do_what_servers_do(
    tmp_path: Path, method: str, path: str, body: Any
) -> None:
    async def scene(site: Site) -> None:
        refused = await site.call(method, path, body, key=ANN)
        assert (refused.status, refused.body["error"]) == (403, "forbidden")
        assert "not for players" in refused.body["message"]
        assert (await site.call(method, path, body)).status == 401

    with_site(tmp_path, scene)


def test_key_without_the_right_is_told_which_it_needs(tmp_path: Path) -> None:
    reader = add_key(tmp_path, "board", "read")

    async def scene(site: Site) -> None:
        refused = await site.call("POST", "/v1/tickets", duel("ann"), key=reader)
        assert refused.status == 403
        assert refused.body["message"] == (
            "this needs a key with the right tickets; 'board' lacks it"
        )
        assert (await site.call("GET", "/v1/queues/duel/stats", key=reader)).status == 200
        refused = await site.call("DELETE", "/v1/tickets/s0-1", key=reader)
        assert "operate or tickets" in refused.body["message"]

    with_site(tmp_path, scene)


def test_cancel_by_an_operator_is_not_told_as_the_players(tmp_path: Path) -> None:
    operator = add_key(tmp_path, "night shift", "operate")
    backend = add_key(tmp_path, "backend")
    cases = (
        (operator, "operator", "an operator cancelled it"),
        (backend, "player", "its player cancelled it"),
        (ANN, "player", "its player cancelled it"),
    )

    async def scene(site: Site) -> None:
        for key, reason, sentence in cases:
            made = await site.call("POST", "/v1/tickets", duel("ann"), key=ANN)
            path = f"/v1/tickets/{made.body['id']}"
            assert (await site.call("DELETE", path, key=key)).status == 200
            assert (await site.call("GET", path, key=ANN)).body["reason"] == reason
            told = await site.call("GET", path + "/explain", key=ANN)
            assert sentence in told.body["summary"]

    with_site(tmp_path, scene)


def test_key_of_one_queue_sees_no_other(tmp_path: Path) -> None:
    duels = add_key(tmp_path, "duels", queues=("duel",))
    ranks = add_key(tmp_path, "ranks", queues=("ranked",))

    async def scene(site: Site) -> None:
        made = await site.call("POST", "/v1/tickets", duel("ann"), key=duels)
        path = f"/v1/tickets/{made.body['id']}"
        assert (await site.call("GET", path, key=duels)).status == 200
        assert (await site.call("GET", path, key=ranks)).status == 404
        refused = await site.call("POST", "/v1/tickets", duel("eve"), key=ranks)
        assert refused.status == 403
        assert "for the queues ranked, not for 'duel'" in refused.body["message"]
        unnamed = {"players": [{"id": "eve"}]}
        assert (await site.call("POST", "/v1/tickets", unnamed, key=ranks)).status == 403
        many = [duel("x"), {"queues": ["ranked"], "players": [{"id": "y"}]}]
        items = (await site.call("POST", "/v1/tickets", many, key=ranks)).body
        assert [item["status"] for item in items] == [403, 201]
        assert (await site.call("GET", "/v1/queues/duel/matches", key=ranks)).status == 403
        listed = (await site.call("GET", "/v1/queues", key=ranks)).body
        assert [queue["name"] for queue in listed] == ["ranked"]
        assert (await site.call("GET", "/v1/queues/ranked/matches", key=ranks)).status == 200
        assert (await site.call("GET", "/v1/audit", key=ranks)).status == 403
        await site.call("POST", "/v1/tickets", duel("bob"), key=duels)
        match = (await site.call("GET", path, key=duels)).body["match"]
        assert (await site.call("GET", f"/v1/matches/{match}", key=duels)).status == 200
        assert (await site.call("GET", f"/v1/matches/{match}", key=ranks)).status == 404

    with_site(tmp_path, scene)


@pytest.mark.parametrize("is_many", [False, True])
@pytest.mark.parametrize("is_playing", [False, True])
def test_key_of_one_queue_is_not_told_of_tickets_of_another(
    tmp_path: Path, is_many: bool, is_playing: bool
) -> None:
    ranks = add_key(tmp_path, "ranks", queues=("ranked",))
    everything = add_key(tmp_path, "everything")
    queues = (
        Queue(name="duel", policy="greedy", exclusive_match=True),
        Queue(name="ranked", policy="greedy", exclusive_match=True),
    )

    async def scene(site: Site) -> None:
        made = await site.call("POST", "/v1/tickets", duel("ann"), key=everything)
        if is_playing:
            await site.call("POST", "/v1/tickets", duel("bob"), key=everything)
        body = {"queues": ["ranked"], "players": [{"id": "ann"}]}
        reply = await site.call("POST", "/v1/tickets", [body] if is_many else body, key=ranks)
        (answer,) = reply.body if is_many else (reply.body,)
        status = answer["status"] if is_many else reply.status
        assert (status, answer["error"]) == (409, "already_waiting")
        assert made.body["id"] not in str(answer)
        assert "s0-m1" not in str(answer)
        known = await site.call("POST", "/v1/tickets", duel("ann"), key=everything)
        assert known.status == (409 if is_playing else 200)

    with_site(tmp_path, scene, queues=queues)


def test_ticket_that_is_made_while_the_request_comes_in_is_foreign(tmp_path: Path) -> None:
    settings = {"player_attributes": ("mode",)}
    ranked = {"queues": ["ranked"], "players": [{"id": "ann"}], "attributes": {"mode": "fast"}}

    async def scene(site: Site) -> None:
        async def ann_comes() -> None:
            made = await site.call("POST", "/v1/tickets", ranked, key=ANN)
            assert made.body["id"] == "s0-1"

        change = {"attributes": {"mode": "slow"}}
        path = "/v1/tickets/s0-1"
        refused = await site.call("PATCH", path, change, key=BOB, meanwhile=ann_comes)
        assert (refused.status, refused.body["error"]) == (404, "unknown_ticket")
        await ann_comes()
        ticket = site.parts.runtime.engine.tables.waiting["s0-1"].ticket
        assert ticket.attributes == {"mode": "fast"}

    with_site(tmp_path, scene, **settings)


@pytest.mark.parametrize(
    ("method", "end", "body"),
    [
        ("PUT", "assignment", {"connection": "192.0.2.66:1"}),
        ("POST", "outcome", {"ranks": [1, 2]}),
        ("POST", "open", {"roster_version": 0, "left": ["ann"], "lease": 30}),
    ],
)
def test_match_that_is_made_while_the_request_comes_in_is_foreign(
    tmp_path: Path, method: str, end: str, body: Any
) -> None:
    ranks = add_key(tmp_path, "ranks", queues=("ranked",))

    async def scene(site: Site) -> None:
        async def two_meet() -> None:
            await site.call("POST", "/v1/tickets", duel("ann"), key=ANN)
            await site.call("POST", "/v1/tickets", duel("bob"), key=BOB)

        path = f"/v1/matches/s0-m1/{end}"
        refused = await site.call(method, path, body, key=ranks, meanwhile=two_meet)
        assert (refused.status, refused.body["error"]) == (404, "unknown_match")
        await two_meet()
        kept = site.parts.runtime.engine.match("s0-m1")
        assert (kept.assignment, kept.outcome) == (None, None)

    with_site(tmp_path, scene)


def test_key_of_one_queue_does_not_see_how_a_forgotten_match_came_about(tmp_path: Path) -> None:
    ranks = add_key(tmp_path, "ranks", queues=("ranked",))

    async def scene(site: Site) -> None:
        await site.call("POST", "/v1/tickets", duel("ann"), key=ANN)
        await site.call("POST", "/v1/tickets", duel("bob"), key=BOB)
        path = "/v1/dashboard/matches/s0-m1"
        assert (await site.call("GET", path, key=ranks)).status == 404
        del site.parts.runtime.engine.tables.matches["s0-m1"]
        assert (await site.call("GET", path, key=ranks)).status == 410

    with_site(tmp_path, scene)


def test_nobody_is_told_that_his_ticket_is_gone_while_the_engine_comes_back(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        site.parts.runtime.failure = "the journal is being read"
        for path in ("/v1/tickets/s0-1", "/v1/matches/s0-m1"):
            answer = await site.call("GET", path, key=ANN)
            assert (answer.status, answer.body["error"]) == (503, "unavailable")
        site.parts.runtime.failure = None
        assert (await site.call("GET", "/v1/tickets/s0-1", key=ANN)).status == 404

    with_site(tmp_path, scene)


def test_player_answers_for_himself_only(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        made = await site.call("POST", "/v1/tickets", duel("ann"), key=ANN)
        engine, ticket = site.parts.runtime.engine, made.body["id"]
        ann = Principal("player", "ann", frozenset({"own"}))
        assert speaks_for(ann, engine, ticket, ()) == ("ann",)
        with pytest.raises(Forbidden):
            speaks_for(ann, engine, ticket, ("ann", "bob"))
        service = Principal("service", "backend", frozenset({"tickets"}))
        assert speaks_for(service, engine, ticket, ()) == ()

    with_site(tmp_path, scene)


@pytest.mark.parametrize("fate", ["repaired", "made", "failed"])
def test_player_who_left_a_match_may_decline_it_again(tmp_path: Path, fate: str) -> None:
    repair = 0.0 if fate == "failed" else 10.0
    queues = (Queue(name="duel", policy="greedy", accept=ReadyCheck(seconds=15.0, repair=repair)),)
    cleo, path = token("cleo"), "/v1/matches/s0-m1/decline"

    async def scene(site: Site) -> None:
        await site.call("POST", "/v1/tickets", duel("ann"), key=ANN)
        await site.call("POST", "/v1/tickets", duel("bob"), key=BOB)
        said = {"ticket": "s0-2", "players": ["bob"]}
        told = await site.call("POST", path, said, key=BOB)
        assert (told.status, told.body["reason"]) == (200, "declined")
        await site.call("POST", "/v1/tickets", duel("cleo"), key=cleo)
        if fate == "made":
            for ticket, key in (("s0-1", ANN), ("s0-3", cleo)):
                accepted = "/v1/matches/s0-m1/accept"
                await site.call("POST", accepted, {"ticket": ticket}, key=key)
        tables = site.parts.runtime.engine.tables
        assert [name for name, rows in (
            ("repaired", tables.proposals), ("made", tables.matches), ("failed", tables.failed),
        ) if "s0-m1" in rows] == [fate]  # fmt: skip
        again = await site.call("POST", path, said, key=BOB)
        assert (again.status, again.body) == (200, told.body)
        late = await site.call("POST", path.replace("decline", "accept"), said, key=BOB)
        assert (late.status, late.body["error"]) == (410, "proposal_over")
        stranger = token("eve")
        await site.call("POST", "/v1/tickets", duel("eve"), key=stranger)
        foreign = await site.call("POST", path, {"ticket": "s0-4"}, key=stranger)
        expected = (410, "proposal_over") if fate == "failed" else (404, "unknown_match")
        assert (foreign.status, foreign.body["error"]) == expected
        stolen = await site.call("POST", path, said, key=stranger)
        assert (stolen.status, stolen.body["error"]) == (404, "unknown_ticket")

    with_site(tmp_path, scene, queues=queues)


def test_owner_of_an_expired_ticket_survives_a_restart(tmp_path: Path) -> None:
    queues = (Queue(name="duel", policy="greedy", wait_max=0.05),)

    async def scene(site: Site) -> None:
        runtime = site.parts.runtime
        made = await site.call("POST", "/v1/tickets", duel("ann"), key=ANN)
        path = f"/v1/tickets/{made.body['id']}"
        ended = await site.call("GET", f"{path}?wait=10&state=waiting", key=ANN)
        assert ended.body["state"] == "expired"
        await runtime._rebuild()
        assert (await site.call("GET", path, key=ANN)).body["state"] == "expired"
        assert (await site.call("GET", path, key=BOB)).status == 404

    with_site(tmp_path, scene, queues=queues)
