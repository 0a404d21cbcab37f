"""ARNs: the long names under which AWS's clients know configurations, rule sets and sessions.

Region and account mean nothing here. They are the same in all that we write, and whatever stands
in their place in what we read is taken.
"""

from __future__ import annotations

import re

REGION = "us-east-1"
ACCOUNT = "000000000000"
CONFIGURATION = "matchmakingconfiguration"
RULE_SET = "matchmakingruleset"
SESSION = f"arn:aws:gamelift:{REGION}::gamesession/evenmatch/"
_RESOURCE = re.compile(
    rf"arn:[^\s:]*:[^\s:]*:[^\s:]*:[^\s:]*:({CONFIGURATION}|{RULE_SET})/([a-zA-Z0-9.-]+)"
)


def arn_of(kind: str, name: str) -> str:
    """Return the ARN of a configuration or a rule set.

    >>> arn_of(RULE_SET, "duel")
    'arn:aws:gamelift:us-east-1:000000000000:matchmakingruleset/duel'
    """
    return f"arn:aws:gamelift:{REGION}:{ACCOUNT}:{kind}/{name}"


def name_in(text: str) -> str:
    """Return the name in an ARN, or a name as it is.

    >>> name_in("arn:aws:gamelift:eu-west-1:1234:matchmakingruleset/duel"), name_in("duel")
    ('duel', 'duel')
    """
    return text.rpartition("/")[2]


def resource_in(arn: str) -> tuple[str, str] | None:
    """Return the kind and the name of the resource of an ARN; None if it is no such ARN."""
    found = _RESOURCE.fullmatch(arn)
    return None if found is None else (found[1], found[2])


def session_of(match: str) -> str:
    """Return the ARN of the game session of a match."""
    return SESSION + match


def location_in(session: str) -> str | None:
    """Return the place of a game session that another server made; None if its ARN says none.

    >>> location_in("arn:aws:gamelift:us-west-2::gamesession/fleet-1/mine"), location_in("mine")
    ('us-west-2', None)
    """
    parts = session.split(":")
    return parts[3] or None if len(parts) > 4 and not session.startswith(SESSION) else None


def match_in(session: str) -> str:
    """Return the id of the match in the ARN of a game session."""
    return session.rpartition("/")[2]
