"""What keys with few rights, or for some queues, may do and see over GameLift's protocol."""

from pathlib import Path

from tests.callers import Site, add_key, duel, with_site
from tests.unit.server.gamelift.configured import CONFIG, RULES, players


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


def test_limited_key_sees_its_own_configurations_and_their_rule_sets_only(tmp_path: Path) -> None:
    full, limited = add_key(tmp_path), add_key(tmp_path, "game", "tickets", queues=("game",))
    hidden = f"""
[gamelift.rule_sets.hidden]
body = '''{RULES}'''

[gamelift.configurations.hidden]
rule_set = "hidden"
request_timeout = 60
"""

    async def scene(site: Site) -> None:
        for key, names in ((full, ["game", "hidden"]), (limited, ["game"])):
            found = await site.gamelift("DescribeMatchmakingConfigurations", key)
            assert [each["Name"] for each in found.body["Configurations"]] == names
            found = await site.gamelift("DescribeMatchmakingRuleSets", key)
            assert len(found.body["RuleSets"]) == len(names)
        arn = "arn:aws:gamelift:::matchmakingconfiguration/"
        told = set()
        for name in ("hidden", "absent"):
            seen = await site.gamelift("ListTagsForResource", limited, ResourceARN=arn + name)
            start = {"ConfigurationName": name, "Players": players("ann")}
            begun = await site.gamelift("StartMatchmaking", limited, **start)
            told.add(f"{seen.body} {begun.body}".replace(name, "NAME"))
        assert len(told) == 1

    with_site(tmp_path, scene, config=CONFIG + hidden)


def test_limited_key_cannot_tell_tickets_of_others_from_none(tmp_path: Path) -> None:
    full, limited = add_key(tmp_path), add_key(tmp_path, "duel", "tickets", queues=("duel",))

    async def scene(site: Site) -> None:
        start = {"TicketId": "theirs", "ConfigurationName": "game", "Players": players("ann")}
        assert (await site.gamelift("StartMatchmaking", full, **start)).status == 200
        fill = {"TicketId": "filling", "Players": [{**players("bob")[0], "Team": "red"}]}
        assert (
            await site.gamelift("StartMatchBackfill", full, ConfigurationName="game", **fill)
        ).status == 200
        for ticket in ("theirs", "filling", "absent"):
            stopped = await site.gamelift("StopMatchmaking", limited, TicketId=ticket)
            answer = {"TicketId": ticket, "PlayerIds": ["ann"], "AcceptanceType": "ACCEPT"}
            accepted = await site.gamelift("AcceptMatch", limited, **answer)
            for reply in (stopped, accepted):
                assert reply.body["message"] == f"there is no matchmaking ticket {ticket!r}"
        assert "aws:theirs" in site.parts.runtime.engine.tables.waiting

    with_site(tmp_path, scene, config=CONFIG)


def test_key_of_a_game_server_fills_its_match_and_starts_no_tickets(tmp_path: Path) -> None:
    key = add_key(tmp_path, "session", "matches")

    async def scene(site: Site) -> None:
        fill = {"ConfigurationName": "game", "Players": [{**players("bob")[0], "Team": "red"}]}
        assert (await site.gamelift("StartMatchBackfill", key, **fill)).status == 200
        start = {"ConfigurationName": "game", "Players": players("ann")}
        refused = await site.gamelift("StartMatchmaking", key, **start)
        assert (refused.status, refused.body["__type"]) == (403, "UnauthorizedException")

    with_site(tmp_path, scene, config=CONFIG)
