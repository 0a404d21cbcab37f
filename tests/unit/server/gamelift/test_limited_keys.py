"""What a service key that is for some queues may do and see over GameLift's protocol."""

from pathlib import Path

from tests.callers import Site, add_key, duel, with_site
from tests.unit.server.gamelift.configured import CONFIG, players


def test_limited_key_cancels_no_ticket_of_another_queue_by_starting_anew(tmp_path: Path) -> None:
    full, limited = add_key(tmp_path), add_key(tmp_path, "game", "tickets", queues=("game",))

    async def scene(site: Site) -> None:
        first = {"TicketId": "first", "ConfigurationName": "game", "Players": players("bob")}
        await site.gamelift("StartMatchmaking", limited, **first)
        other = (await site.call("POST", "/v1/tickets", duel("ada"), key=full)).body["id"]
        again = {"ConfigurationName": "game", "Players": players("bob", "ada")}
        refused = await site.gamelift("StartMatchmaking", limited, **again)
        assert refused.status == 400
        assert "a player of this ticket waits or plays already, elsewhere" in str(refused.body)
        assert other not in str(refused.body)
        assert set(site.parts.runtime.engine.tables.waiting) == {"aws:first", other}
        taken = await site.gamelift("StartMatchmaking", full, **again)
        assert taken.status == 200
        assert set(site.parts.runtime.engine.tables.waiting) & {"aws:first", other} == set()

    with_site(tmp_path, scene, config=CONFIG)
