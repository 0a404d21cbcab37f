"""What a service key that is for some queues may do and see over GameLift's protocol."""

import json
from pathlib import Path
from typing import Any

from tests.callers import Site, add_key, duel, with_site

RULES = json.dumps(
    {
        "name": "duel",
        "ruleLanguageVersion": "1.0",
        "teams": [
            {"name": "red", "minPlayers": 2, "maxPlayers": 2},
            {"name": "blue", "minPlayers": 2, "maxPlayers": 2},
        ],
    }
)
CONFIG = f"""
[[queue]]
name = "duel"
policy = "greedy"

[gamelift.rule_sets.rules]
body = '''{RULES}'''

[gamelift.configurations.game]
rule_set = "rules"
request_timeout = 60
"""


def players(*names: str) -> list[dict[str, Any]]:
    return [{"PlayerId": name} for name in names]


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
