"""Which of the sets of parties that fill the teams is served now: the step of every order.

Sets with the same number of parties of each kind differ only in age. So an order chooses among the
legal numbers by kind, the **sets**: first by its preference, then party by party by age.
"""

from __future__ import annotations

from typing import NamedTuple

from evenmatch.solvers.kernel import kernel, record
from evenmatch.solvers.service_orders.lines import (
    COUNT,
    KIND,
    NONE,
    OLDER,
    OLDEST,
    YOUNGER,
    YOUNGEST,
    Ints,
    Lines,
    is_older,
)

BY_AGE, BY_YOUTH, OLDEST_FIRST, BY_WEIGHT = range(4)
"""How to choose: the longest waiting first; the shortest waiting first; only with the longest
waiting of all; or, before the rank, by the largest sum over parties of the players who wait in
their line. All but the second then go by age."""
LEFT, AT, USED = range(3)
"""Rows of `work`: sets still possible; by kind, the next party and the number taken."""


@record("int64[:,::1], int64[::1], int64[::1], int64[::1], int64[:,::1]")
class PartySets(NamedTuple):
    """The sets of parties that fill a match, or a team.

    Args:
        needs: Shape (sets, kinds): parties of each kind; together they fill the teams.
        ranks: Shape (sets,): from 0 to the number of sets - 1; of the feasible sets, only those of
            the highest rank are considered.
        solos: Shape (sets,): solos that must wait before the set may be taken, 0 for most.
        sizes: Shape (kinds,): players of a party.
        work: Shape (3, any): workspace; at least as many columns as sets and as kinds.
    """

    needs: Ints
    ranks: Ints
    solos: Ints
    sizes: Ints
    work: Ints


@kernel("boolean(int64[:,::1], int64)", inline=True, allocates=False)
def _ever_plays(needs: Ints, kind: int) -> bool:
    """Return whether a kind is in any set; others wait for ever, and delay nobody."""
    most = 0
    for each in range(needs.shape[0]):
        most = max(most, needs[each, kind])
    return most > 0


@kernel("int64(Lines, int64[:,::1])", inline=True, allocates=False)
def _kind_of_oldest(lines: Lines, needs: Ints) -> int:
    """Return the kind of the longest waiting party that can ever play; NONE if there is none."""
    ends = lines.ends
    found = NONE
    for kind in range(ends.shape[1]):
        slot = ends[OLDEST, kind]
        if slot != NONE and (found == NONE or is_older(lines, slot, ends[OLDEST, found])):
            found = kind if _ever_plays(needs, kind) else found
    return found


@kernel("int64(Lines, PartySets, int64)", allocates=False)
def _preferred(lines: Lines, sets: PartySets, how: int) -> int:
    """Write the feasible sets that the order prefers into `work`; return their number."""
    ends = lines.ends
    needs, ranks, solos, sizes, work = sets
    kinds = needs.shape[1]
    head = _kind_of_oldest(lines, needs) if how == OLDEST_FIRST else NONE
    if how == OLDEST_FIRST and head == NONE:
        return 0
    lonely = 0
    for kind in range(kinds):
        if sizes[kind] == 1:
            lonely += ends[COUNT, kind]
    found, best = 0, 0
    for each in range(needs.shape[0]):
        if solos[each] > lonely or (how == OLDEST_FIRST and needs[each, head] == 0):
            continue
        rank, is_feasible = ranks[each], True
        for kind in range(kinds):
            if needs[each, kind] > ends[COUNT, kind]:
                is_feasible = False
                break
            if how == BY_WEIGHT:
                players = ends[COUNT, kind] * sizes[kind]
                rank += needs[each, kind] * players * needs.shape[0]
        if not is_feasible or (found and rank < best):
            continue
        if rank > best or not found:
            found, best = 0, rank
        work[LEFT, found] = each
        found += 1
    return found


@kernel("int64(Lines, PartySets, int64, int64[::1])", allocates=False)
def choose(lines: Lines, sets: PartySets, how: int, out: Ints) -> int:
    """Choose the parties of the next match, without removing them from their lines.

    In the order of age, each party is tested: does any remaining set have one more of its kind? If
    not, no younger party of the kind can be in the match either, so each kind drops out once.

    Args:
        lines: The waiting parties.
        sets: The sets that fill the teams; work[0, 0] is set to the chosen one.
        how: See `BY_AGE` and the others.
        out: Filled with slots, in the order in which they were tested.

    Returns:
        The number of parties, 0 if no set can be filled.

    Complexity:
        O(sets x kinds), plus O(sets) for each party of the match and each kind.
    """
    ends, links = lines.ends, lines.links
    needs, _, _, sizes, work = sets
    found = _preferred(lines, sets, how)
    if found == 0:
        return 0
    is_young = how == BY_YOUTH
    end, following = (YOUNGEST, OLDER) if is_young else (OLDEST, YOUNGER)
    missing, kinds = 0, needs.shape[1]
    for kind in range(kinds):
        work[AT, kind], work[USED, kind] = ends[end, kind], 0
        missing += needs[work[LEFT, 0], kind] * sizes[kind]
    taken = 0
    while missing > 0:
        kind = NONE
        for each in range(kinds):
            slot = work[AT, each]
            if slot != NONE and (kind == NONE or is_older(lines, slot, work[AT, kind]) != is_young):
                kind = each
        left = 0
        for each in range(found):
            if needs[work[LEFT, each], kind] > work[USED, kind]:
                work[LEFT, left] = work[LEFT, each]
                left += 1
        slot = work[AT, kind]
        if left == 0:
            work[AT, kind] = NONE
            continue
        found = left
        out[taken] = slot
        taken += 1
        missing -= sizes[links[KIND, slot]]
        work[USED, kind] += 1
        work[AT, kind] = links[following, slot]
    return taken
