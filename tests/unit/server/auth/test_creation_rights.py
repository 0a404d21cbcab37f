"""What a player's client may say of its player, and what only signed claims may."""

from pathlib import Path
from typing import Any

import pytest

from evenmatch.model.queue import Format, Queue
from tests.callers import Site, add_key, duel, token, with_site

PAIRS = Queue(name="pairs", policy="greedy", format=Format((2, 2)),
              attributes=("latency", "household", "mode"))  # fmt: skip


def ranked(*players: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"queues": ["ranked"], "players": list(players), **more}


def waiting(site: Site, ticket: str) -> Any:
    return site.parts.runtime.engine.tables.waiting[ticket].ticket


@pytest.mark.parametrize(
    ("body", "where", "words"),
    [
        (duel("bob"), "/players", "must name that player"),
        (duel("ann", "bob"), "/players/1/id", "not in the party that the token names"),
        (ranked({"id": "ann", "rating": {"mean": 3000}}), "/players/0/rating",
         "may not send ratings"),
        (ranked({"id": "ann", "attributes": {"household": "x"}}), "/players/0/attributes/household",
         "may not set the attribute 'household'"),
        (ranked({"id": "ann"}, attributes={"rating": 9.0}), "/attributes/rating",
         "may not set the attribute 'rating'"),
        ([duel("ann")], "", "one ticket at a time"),
    ],
)  # fmt: skip
def test_player_may_not_claim(tmp_path: Path, body: Any, where: str, words: str) -> None:
    async def scene(site: Site) -> None:
        before = site.parts.runtime.engine.tables.sequence
        reply = await site.call("POST", "/v1/tickets", body, key=token("ann"))
        assert (reply.status, reply.body["error"], reply.body["where"]) == (
            403, "forbidden", where)  # fmt: skip
        assert words in reply.body["message"]
        assert site.parts.runtime.engine.tables.sequence == before

    with_site(tmp_path, scene)


def test_signed_claims_complete_the_ticket(tmp_path: Path) -> None:
    signed = token(
        "ann",
        rating={"mean": 1710.0, "deviation": 60.0},
        household="h7",
        party=["bob", {"id": "cleo", "rating": {"mean": 1200.0}, "household": "h9"}],
        attributes={"latency": {"eu": 31.0}, "mode": "ranked", "unknown_here": 1.0},
    )
    claimed = {"latency": {"eu": 1.0, "us": 120.0}}

    async def scene(site: Site) -> None:
        players = [{"id": name, "attributes": claimed} for name in ("ann", "cleo")]
        body = {"queues": ["pairs"], "players": players}
        made = await site.call("POST", "/v1/tickets", body, key=signed)
        assert made.status == 201
        ann, cleo = waiting(site, made.body["id"]).players
        assert (ann.rating.mean, ann.rating.deviation) == (1710.0, 60.0)
        assert ann.attributes == {
            "latency": {"eu": 31.0, "us": 120.0}, "mode": "ranked", "household": "h7"}  # fmt: skip
        assert cleo.rating.mean == 1200.0
        assert cleo.attributes == {**claimed, "household": "h9"}

    with_site(tmp_path, scene, queues=(PAIRS,))


def test_facts_that_the_queue_does_not_ask_for_are_left_out(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        signed = token("ann", household="h7", attributes={"mode": "m"})
        made = await site.call("POST", "/v1/tickets", duel("ann"), key=signed)
        assert made.status == 201
        assert waiting(site, made.body["id"]).players[0].attributes == {}

    with_site(tmp_path, scene)


def test_settings_widen_what_clients_may_set(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        body = ranked({"id": "ann", "attributes": {"mode": "fun"}})
        assert (await site.call("POST", "/v1/tickets", body, key=token("ann"))).status == 201

    with_site(tmp_path, scene, player_attributes=("mode",))


def test_services_are_believed(tmp_path: Path) -> None:
    service = add_key(tmp_path)

    async def scene(site: Site) -> None:
        body = ranked({"id": "ann", "rating": {"mean": 3000}, "attributes": {"household": "h"}})
        assert (await site.call("POST", "/v1/tickets", body, key=service)).status == 201

    with_site(tmp_path, scene)


def test_idempotency_keys_of_two_players_never_meet(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        key = {"idempotency-key": "k1"}
        first = await site.call("POST", "/v1/tickets", duel("ann"), key=token("ann"), headers=key)
        second = await site.call("POST", "/v1/tickets", duel("bob"), key=token("bob"), headers=key)
        assert (first.status, second.status) == (201, 201)
        again = await site.call("POST", "/v1/tickets", duel("ann"), key=token("ann"), headers=key)
        assert again.body["id"] == first.body["id"]

    with_site(tmp_path, scene)


def test_player_who_uses_up_keys_locks_nobody_out(tmp_path: Path) -> None:
    backend = add_key(tmp_path)

    async def scene(site: Site) -> None:
        quota = site.parts.keys
        quota._of_one, quota._of_all = 3, 5
        seen = []
        for number in range(5):
            key = {"idempotency-key": f"k{number}"}
            reply = await site.call(
                "POST", "/v1/tickets", duel("ann"), key=token("ann"), headers=key
            )
            seen.append((reply.status, reply.body.get("error")))
        assert seen == [(201, None), *[(200, None)] * 2, *[(429, "too_many_requests")] * 2]
        told = int(reply.headers["retry-after"])
        assert 590 <= told <= 601
        # A repeat is no new key, and what is left for players is as much as it says.
        again = {"idempotency-key": "k0"}
        repeat = await site.call(
            "POST", "/v1/tickets", duel("ann"), key=token("ann"), headers=again
        )
        assert repeat.status in (200, 201)
        for number, status in enumerate((201, 201, 429)):
            key = {"idempotency-key": f"b{number}"}
            reply = await site.call(
                "POST", "/v1/tickets", duel("bob"), key=token("bob"), headers=key
            )
            assert reply.status == status
        key = {"idempotency-key": "service"}
        created = await site.call("POST", "/v1/tickets", duel("cleo"), key=backend, headers=key)
        assert created.status == 201
        # After a restart the keys that are remembered count as before.
        quota.reset(site.parts.runtime.engine)
        key = {"idempotency-key": "k9"}
        reply = await site.call("POST", "/v1/tickets", duel("ann"), key=token("ann"), headers=key)
        assert reply.status == 429

    with_site(tmp_path, scene)


def test_replayed_create_makes_no_second_ticket(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        ann = token("ann")
        replies = [await site.call("POST", "/v1/tickets", duel("ann"), key=ann) for _ in range(3)]
        assert [reply.status for reply in replies] == [201, 200, 200]
        assert len({reply.body["id"] for reply in replies}) == 1
        assert len(site.parts.runtime.engine.tables.waiting) == 1

    with_site(tmp_path, scene)
