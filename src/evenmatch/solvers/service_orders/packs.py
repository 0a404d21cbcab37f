"""Serve one match: directly from the waiting parties, or from packed teams.

Packing binds parties into a team as soon as some of them fill one, and teams play in the order in
which they were packed. A pack waits in lines of its own, in the slot of its first member.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenmatch.solvers.kernel import kernel, record
from evenmatch.solvers.service_orders.choose import BY_AGE, LEFT, PartySets, choose
from evenmatch.solvers.service_orders.lines import (
    KIND,
    MATE,
    NONE,
    OLDEST,
    PACK,
    SEQUENCE,
    YOUNGER,
    Ints,
    Lines,
    add_party,
    take,
)

PACKED, HOW = range(2)
NUMBERS = 2


@record("PartySets, PartySets, int64[::1], int64[::1]")
class ServicePlan(NamedTuple):
    """The sets that fill a match, and the preference among them.

    Args:
        parties: Without packing, sets that fill a match, and the rest is empty; with it, one team.
        packs: Sets of packs that fill a match.
        made: The kind of the pack that each set of parties makes.
        numbers: `PACKED`, the packs so far, and `HOW`, one of the ways in `choose`, which must be
            `BY_AGE` with packing.
    """

    parties: PartySets
    packs: PartySets
    made: Ints
    numbers: Ints


@kernel("void(Lines, Lines, ServicePlan, int64[::1], int64)", allocates=False)
def _tie(parties: Lines, packs: Lines, plan: ServicePlan, out: Ints, count: int) -> None:
    """Bind the parties in `out` into a pack of the kind that work[0, 0] gives."""
    links, packed = parties.links, packs.links
    team_sets, _, kinds, numbers = plan
    for place in range(count):
        links[PACK, out[place]] = out[0]
        links[MATE, out[place]] = out[place + 1] if place + 1 < count else NONE
    numbers[PACKED] += 1
    packed[SEQUENCE, out[0]] = numbers[PACKED]
    add_party(packs, out[0], kinds[team_sets.work[LEFT, 0]])


@kernel("void(Lines, Lines, ServicePlan, int64[::1])", allocates=False)
def _pack(parties: Lines, packs: Lines, plan: ServicePlan, out: Ints) -> None:
    """Bind parties into teams as long as some of them fill one."""
    count = choose(parties, plan.parties, BY_AGE, out)
    while count > 0:
        for place in range(count):
            take(parties, out[place])
        _tie(parties, packs, plan, out, count)
        count = choose(parties, plan.parties, BY_AGE, out)


@kernel("int64(Lines, Lines, ServicePlan, int64[::1])", allocates=False)
def serve(parties: Lines, packs: Lines, plan: ServicePlan, out: Ints) -> int:
    """Take the parties of the next match out of their lines; return their number.

    Args:
        parties: The waiting parties.
        packs: Packed teams; empty without packing.
        plan: The sets that fill a match.
        out: Filled with slots; as long as a match has players.

    Complexity:
        That of `choose`.
    """
    links = parties.links
    if plan.made.shape[0] == 0:
        count: int = choose(parties, plan.parties, plan.numbers[HOW], out)
        for place in range(count):
            take(parties, out[place])
        return count
    _pack(parties, packs, plan, out)
    teams = choose(packs, plan.packs, BY_AGE, out)
    for place in range(teams):
        take(packs, out[place])
    # The first members of the teams are listed; the other members follow them.
    count = teams
    for place in range(teams):
        slot = links[MATE, out[place]]
        while slot != NONE:
            out[count] = slot
            count += 1
            slot = links[MATE, slot]
    for place in range(count):
        links[PACK, out[place]] = NONE
    return count


@kernel("void(Lines, Lines, int64)", allocates=False)
def leave(parties: Lines, packs: Lines, slot: int) -> None:
    """Remove a party that was not served; the others of its pack are unbound."""
    links = parties.links
    first = links[PACK, slot]
    if first == NONE:
        take(parties, slot)
        return
    take(packs, first)
    member = first
    while member != NONE:
        links[PACK, member] = NONE
        if member != slot:
            add_party(parties, member, links[KIND, member])
        member = links[MATE, member]


def bind(parties: Lines, packs: Lines, plan: ServicePlan, slots: Sequence[int]) -> None:
    """Bind parties that stand in no line into a pack, after all other packs.

    Args:
        parties: The parties; their kinds are written already.
        packs: Packed teams.
        plan: A plan with packing.
        slots: Parties that fill a team.
    """
    needs, *_, work = plan.parties
    numbers = np.bincount(parties.links[KIND, slots], minlength=needs.shape[1])
    work[LEFT, 0] = np.flatnonzero((needs == numbers).all(axis=1))[0]
    _tie(parties, packs, plan, np.array(slots, dtype=np.int64), len(slots))


def members_of(parties: Lines, packs: Lines) -> list[list[int]]:
    """Return the slots of each pack's members, in the order of packing."""
    (_, links, _), (_, packed, ends) = parties, packs
    firsts = []
    for slot in ends[OLDEST].tolist():
        while slot != NONE:
            firsts.append(slot)
            slot = int(packed[YOUNGER, slot])
    found = []
    for slot in sorted(firsts, key=lambda first: int(packed[SEQUENCE, first])):
        members = [slot]
        while (slot := int(links[MATE, slot])) != NONE:
            members.append(slot)
        found.append(members)
    return found
