"""Whom each player met last: kept in the tables, and handed to tickets when they are accepted.

Both are folded from events, so that a journal rebuilds them; a ticket carries its memory as an
attribute from its acceptance on, so that matchers, objective and rules look at nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice

import msgspec

from evenmatch.model.match import Match
from evenmatch.model.queue import RECENT, Queue
from evenmatch.model.ticket import NewTicket, Player

Meetings = dict[str, dict[str, dict[str, float]]]
"""By group and player, longest inactive first: the others, and how many matches ago they met.

The innermost dicts are the values of tickets' attributes and are never changed.
"""

OTHERS_MOST = 100
"""Others that one player remembers at the most; those of older matches are forgotten first."""
PLAYERS_MOST = 100_000
"""Players of a shard whose meetings are kept; beyond, the longest inactive are forgotten."""
SURPLUS = 1_000
"""Players forgotten at a time: one by one, finding the next would be slow."""


def note_meetings(met: Meetings, match: Match, group: str, queues: Iterable[Queue]) -> None:
    """Note who met whom in a match of a queue that asks for it.

    Args:
        met: What is known so far; it is changed.
        match: The match.
        group: The group of its queue.
        queues: All queues; the group remembers as far back as any of its queues asks.

    Complexity:
        O(k * (k + OTHERS_MOST)).
    """
    depth = max(queue.remembers for queue in queues if queue.group == group)
    known = met.setdefault(group, {})
    for place, team in enumerate(match.players):
        for player in team:
            own = {
                other: -1.0 if there == place else 1.0
                for there, others in enumerate(match.players)
                for other in others
                if other != player
            }
            older = known.pop(player, {}).items()
            own.update(
                (other, ago + math.copysign(1.0, ago))
                for other, ago in older
                if other not in own and abs(ago) < depth
            )
            known[player] = dict(islice(own.items(), OTHERS_MOST))
    if sum(map(len, met.values())) > PLAYERS_MOST:
        largest = max(met.values(), key=len)
        for player in list(islice(largest, SURPLUS)):
            del largest[player]


def with_meetings(new: NewTicket, queues: Sequence[Queue], met: Meetings) -> tuple[Player, ...]:
    """Return the players of a new ticket with what is known of their meetings.

    What the caller says of a player, or of the whole party, is left as it is.
    """
    known = met.get(queues[0].group)
    if not known or RECENT in new.attributes or not any(queue.remembers for queue in queues):
        return new.players
    return tuple([_with(player, known) for player in new.players])


def _with(player: Player, known: dict[str, dict[str, float]]) -> Player:
    own = known.get(player.id)
    if own is None or RECENT in player.attributes:
        return player
    return msgspec.structs.replace(player, attributes={**player.attributes, RECENT: own})


def forget_unasked(met: Meetings, queues: Iterable[Queue]) -> None:
    """Forget the meetings of groups in which no queue asks for them any more."""
    asked = {queue.group for queue in queues if queue.remembers}
    for group in [group for group in met if group not in asked]:
        del met[group]
