"""Serve one match: straight from the waiting parties, or from packed teams.

Packing binds parties into a team as soon as some fill one, and teams play in the order in which
they were packed. A pack waits in lines of its own, in the slot of its first member.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.service_orders.choose import BY_AGE, LEFT, SETS, Sets, choose
from evenmatch.solvers.service_orders.lines import (
    KIND,
    LINES,
    MATE,
    NONE,
    OLDEST,
    PACK,
    SEQUENCE,
    YOUNGER,
    Ints,
    Lines,
    put,
    take,
)

Plan: TypeAlias = tuple[Sets, Sets, Ints, Ints]
"""(party sets, pack sets, kinds of packs, numbers)

Without packing the party sets fill a match, and the rest is empty. With it they fill one team,
the pack sets a match; the kind of the pack that each party set makes; and `PACKED`, the packs so
far, and `HOW`, one of `choose`, which must be `BY_AGE`."""
PLAN = f"Tuple(({SETS}, {SETS}, int64[::1], int64[::1]))"
PACKED, HOW = range(2)
NUMBERS = 2


@kernel(f"void({LINES}, {LINES}, {PLAN}, int64[::1], int64)", allocates=False)
def _tie(parties: Lines, packs: Lines, plan: Plan, out: Ints, count: int) -> None:
    """Bind the parties in `out` into a pack of the kind that work[0, 0] says."""
    links, packed = parties[1], packs[1]
    team_sets, _, kinds, numbers = plan
    for place in range(count):
        links[PACK, out[place]] = out[0]
        links[MATE, out[place]] = out[place + 1] if place + 1 < count else NONE
    numbers[PACKED] += 1
    packed[SEQUENCE, out[0]] = numbers[PACKED]
    put(packs, out[0], kinds[team_sets[4][LEFT, 0]])


@kernel(f"void({LINES}, {LINES}, {PLAN}, int64[::1])", allocates=False)
def _pack(parties: Lines, packs: Lines, plan: Plan, out: Ints) -> None:
    """Bind parties into teams while some fill one."""
    count = choose(parties, plan[0], BY_AGE, out)
    while count > 0:
        for place in range(count):
            take(parties, out[place])
        _tie(parties, packs, plan, out, count)
        count = choose(parties, plan[0], BY_AGE, out)


@kernel(f"int64({LINES}, {LINES}, {PLAN}, int64[::1])", allocates=False)
def serve(parties: Lines, packs: Lines, plan: Plan, out: Ints) -> int:
    """Take the parties of the next match out of their lines; return how many there are.

    Args:
        parties: Who waits.
        packs: Packed teams; empty without packing.
        plan: What fills a match, and what is preferred.
        out: Filled with slots; as long as a match has players.

    Complexity:
        That of `choose`.
    """
    links = parties[1]
    if plan[2].shape[0] == 0:
        count: int = choose(parties, plan[0], plan[3][HOW], out)
        for place in range(count):
            take(parties, out[place])
        return count
    _pack(parties, packs, plan, out)
    teams = choose(packs, plan[1], BY_AGE, out)
    for place in range(teams):
        take(packs, out[place])
    # The first members of the teams are listed; their mates follow them.
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


@kernel(f"void({LINES}, {LINES}, int64)", allocates=False)
def leave(parties: Lines, packs: Lines, slot: int) -> None:
    """Let a party go that was not served; the others of its pack are free again."""
    links = parties[1]
    first = links[PACK, slot]
    if first == NONE:
        take(parties, slot)
        return
    take(packs, first)
    member = first
    while member != NONE:
        links[PACK, member] = NONE
        if member != slot:
            put(parties, member, links[KIND, member])
        member = links[MATE, member]


def bind(parties: Lines, packs: Lines, plan: Plan, slots: Sequence[int]) -> None:
    """Bind parties that stand in no line into a pack, as the last of all packs.

    Args:
        parties: Their kinds are written down.
        packs: Packed teams.
        plan: One with packing.
        slots: Parties that fill a team.
    """
    needs, *_, work = plan[0]
    numbers = np.bincount(parties[1][KIND, slots], minlength=needs.shape[1])
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
