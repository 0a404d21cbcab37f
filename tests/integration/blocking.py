"""A policy that holds up the event loop: as long as a new player's name says, once."""

import time
from collections.abc import Iterable

import evenmatch
from evenmatch.model.ticket import Ticket

_seen: set[str] = set()


@evenmatch.policy()
def walls(pool: Iterable[Ticket], _now: float) -> list[list[Ticket]]:
    """Match pairs by age; a player called `wall-3` costs three seconds of the loop and waits."""
    players = []
    for ticket in pool:
        name = ticket.players[0].id
        if not name.startswith("wall-"):
            players.append(ticket)
        elif name not in _seen:
            _seen.add(name)
            time.sleep(float(name.split("-")[1]))
    return [players[at : at + 2] for at in range(0, len(players) - 1, 2)]
