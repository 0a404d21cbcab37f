"""Events as EventBridge delivers them: an envelope, tickets, and the players in them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from evenmatch.engine.state.rows import LiveTicket
from evenmatch.server.gamelift import arns
from evenmatch.server.gamelift.memory import PREFIX
from evenmatch.server.gamelift.ticket_view import player_session

Detail = dict[str, Any]
Envelope = dict[str, Any]


class Marks(NamedTuple):
    """What an event says about players besides their ids.

    Args:
        teams: The name of each player's team, where they are in a match.
        answers: Whether they accepted; of who has not answered nothing is said.
        session: The match that has a place to be played, for their sessions; "" of others.
    """

    teams: Mapping[str, str] = {}
    answers: Mapping[str, bool] = {}
    session: str = ""


def tickets_of(
    rows: Collection[LiveTicket], marks: Marks, since: Callable[[float], float]
) -> list[Detail]:
    """Return tickets with their players in the form of events."""
    return [
        {
            "ticketId": row.ticket.id.removeprefix(PREFIX),
            "startTime": iso(since(row.ticket.enqueued_at)),
            "players": [_player(each.id, marks) for each in row.ticket.players],
        }
        for row in rows
    ]


def _player(name: str, marks: Marks) -> Detail:
    told: Detail = {"playerId": name}
    if name in marks.teams:
        told["team"] = marks.teams[name]
    if name in marks.answers:
        told["accepted"] = marks.answers[name]
    if marks.session:
        told["playerSessionId"] = player_session(marks.session, name)
    return told


def envelope_of(configuration: str, detail: Detail, at: float) -> Envelope:
    """Return an event in EventBridge's envelope."""
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "GameLift Matchmaking Event",
        "source": "aws.gamelift",
        "account": arns.ACCOUNT,
        "time": iso(at),
        "region": arns.REGION,
        "resources": [arns.arn_of(arns.CONFIGURATION, configuration)],
        "detail": detail,
    }


def iso(at: float) -> str:
    """Return Unix time in the form of events.

    >>> iso(1502226936.421)
    '2017-08-08T21:15:36.421Z'
    """
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
