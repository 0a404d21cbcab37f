"""Players report their own matches with their tokens, and read their own ratings."""

from pathlib import Path

import pytest

from evenmatch.model.queue import Queue
from tests.callers import Site, add_key, duel, token, with_site

ANN, BOB, CLEO = token("ann"), token("bob"), token("cleo")
QUEUES = (
    Queue(name="duel", rating="glicko2", exclusive_match=True),
    Queue(name="other", group="other", rating="elo"),
)


async def met(site: Site) -> str:
    """Let ann and bob meet; return the path of their match."""
    await site.call("POST", "/v1/tickets", duel("ann"), key=ANN)
    made = await site.call("POST", "/v1/tickets", duel("bob"), key=BOB)
    ticket = await site.call("GET", f"/v1/tickets/{made.body['id']}", key=BOB)
    return f"/v1/matches/{ticket.body['match']}"


def ann_beats_bob(*, swapped: bool = False) -> dict[str, object]:
    winner, loser = ("bob", "ann") if swapped else ("ann", "bob")
    return {"teams": [[winner], [loser]], "ranks": [1, 2]}


def test_two_players_agree_and_are_rated(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        path = await met(site)

        first = await site.call("POST", f"{path}/outcome", ann_beats_bob(), key=ANN)
        assert (first.status, first.body["outcome"]["state"]) == (200, "reported")
        again = await site.call("POST", "/v1/tickets", duel("ann"), key=ANN)
        assert again.status == 409
        second = await site.call("POST", f"{path}/outcome", ann_beats_bob(), key=BOB)
        assert (second.status, second.body["outcome"]["state"]) == (200, "counted")
        again = await site.call("POST", "/v1/tickets", duel("ann"), key=ANN)
        assert again.status == 201

        own = await site.call("GET", "/v1/players/ann/rating", key=ANN)
        assert own.body["mean"] > 1600.0
        assert (await site.call("GET", "/v1/players/bob/rating", key=ANN)).status == 404

    with_site(tmp_path, scene, queues=QUEUES)


@pytest.mark.parametrize("body", [ann_beats_bob(), {"ranks": [1, 2], "player": "ann"}])
def test_nobody_reports_a_match_that_he_was_not_in(tmp_path: Path, body: dict[str, object]) -> None:
    async def scene(site: Site) -> None:
        path = await met(site)
        before = site.parts.runtime.engine.tables.sequence

        assert (await site.call("POST", f"{path}/outcome", body, key=CLEO)).status == 404
        assert (await site.call("POST", f"{path}/outcome", body)).status == 401
        assert (await site.call("POST", f"{path}/outcome", body, key="forged")).status == 401
        assert site.parts.runtime.engine.tables.sequence == before

    with_site(tmp_path, scene, queues=QUEUES)


def test_service_has_the_last_word_until_an_outcome_counts(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        service = add_key(tmp_path, "backend", "matches")
        site.gate.look()
        path = await met(site)
        await site.call("POST", f"{path}/outcome", ann_beats_bob(swapped=True), key=BOB)

        told = await site.call("POST", f"{path}/outcome", ann_beats_bob(), key=service)
        assert told.body["outcome"]["state"] == "counted"
        late = await site.call("POST", f"{path}/outcome", ann_beats_bob(swapped=True), key=ANN)
        assert (late.status, late.body["error"]) == (409, "outcome_differs")

    with_site(tmp_path, scene, queues=QUEUES)


def test_key_reads_ratings_of_its_own_queues_only(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        service = add_key(tmp_path, "reader", "read", queues=("other",))
        site.gate.look()

        own = await site.call("GET", "/v1/players/ann/rating?queue=other", key=service)
        assert (own.status, own.body["error"]) == (404, "unknown_player")
        first = await site.call("GET", "/v1/players/ann/rating", key=service)
        assert (first.status, first.body) == (own.status, own.body)
        for foreign in (QUEUES[0].name, "absent"):
            path = f"/v1/players/ann/rating?queue={foreign}"
            refused = await site.call("GET", path, key=service)
            words = f"this key is for the queues other, not for {foreign!r}"
            assert (refused.status, refused.body["message"]) == (403, words)

    with_site(tmp_path, scene, queues=QUEUES)
