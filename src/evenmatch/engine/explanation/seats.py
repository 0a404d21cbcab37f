"""What sizes, sides and roles have to say: who can never be in one match, and who is missing."""

from __future__ import annotations

import numpy as np

from evenmatch.cost.filling import Labels
from evenmatch.cost.teams import Kind
from evenmatch.engine.explanation.crowd import Crowd, Mask
from evenmatch.engine.explanation.sight import Sight
from evenmatch.model.explanation import Seats
from evenmatch.model.ticket import Player, Ticket


def seats_of(crowd: Crowd, sight: Sight) -> Seats:
    """Return whether one ticket and its candidates can fill a match, and what is missing if not."""
    misfits = int(np.count_nonzero(sight.others & ~sight.fits))
    own = crowd.kind(sight.row)
    allowed = crowd.counts(sight.allowed)
    fills = _fills(crowd, own, allowed)
    without_rules = fills or _fills(crowd, own, crowd.counts(sight.others & sight.fits))
    if fills:
        return Seats(misfits=misfits, fills=True, fills_without_rules=True)
    players = sum([size * count for (size, _), count in allowed.items()])
    return Seats(
        misfits=misfits,
        fills=False,
        fills_without_rules=without_rules,
        players_missing=max(0, crowd.queue.format.k - own[0] - players),
        roles_missing=_roles_missing(crowd, sight.row, sight.allowed),
        sizes_missing=_sizes_missing(crowd, own, allowed),
    )


def _fills(crowd: Crowd, own: Kind, left: dict[Kind, int]) -> bool:
    size, k = own[0], crowd.queue.format.k
    if sum([each[0] * count for each, count in left.items()]) + size < k:
        return False
    return crowd.may_fill({own: 1}, left)


def _sizes_missing(crowd: Crowd, own: Kind, left: dict[Kind, int]) -> tuple[int, ...]:
    """Return the sizes of parties each of which alone would complete a match."""
    form = crowd.queue.format
    found = []
    for size in range(1, max(form.players) + 1):
        if form.admits(size):
            kind = _flexible(crowd.labels, size)
            if _fills(crowd, own, {**left, kind: left.get(kind, 0) + 1}):
                found.append(size)
    return tuple(found)


def _flexible(labels: Labels, size: int) -> Kind:
    """Return the kind of a party that plays anything on any side."""
    return labels.kind_of(Ticket("", 0, 0.0, (Player(""),) * size, ()))


def _roles_missing(crowd: Crowd, row: int, allowed: Mask) -> dict[str, int]:
    """Return how many players of each role are missing among those who may play now."""
    form = crowd.queue.format
    if not form.roles:
        return {}
    members = [crowd.tickets[row], *(crowd.tickets[at] for at in allowed.nonzero()[0].tolist())]
    players = [player for ticket in members for player in ticket.players]
    missing = {}
    for role, count in form.roles:
        have = sum([not player.roles or role in player.roles for player in players])
        need = count * len(form.players)
        if have < need:
            missing[role] = need - have
    return missing
