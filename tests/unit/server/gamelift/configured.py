"""A CONFIG file with a queue, a rule set of two against two, and a configuration of it."""

import json
from typing import Any

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
