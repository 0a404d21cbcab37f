"""Paths and odd cycles in the tree of a matching: augmenting, shrinking, half-matched cycles."""

from __future__ import annotations

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.forest import (
    AFTER,
    AROUND,
    BASE,
    DELTA,
    EVEN,
    FIRST,
    GROUP,
    HEAD,
    HERE,
    INSIDE,
    IS_HALF,
    LABEL,
    LARGEST,
    LAST,
    MARK,
    MATE,
    NEXT,
    NONE,
    ODD,
    OUTSIDE,
    OWN_GROUP,
    PREVIOUS,
    SCAN_COUNT,
    SIZE,
    SPARE,
    SPARE_COUNT,
    THERE,
    TO_SCAN,
    TOP,
    WALK,
    WIDTH,
    WIDTH_STAMP,
    Ints,
    set_label,
    top_of,
    width,
)


@kernel("void(int64[:,::1], int64[::1], int64, int64, int64)")
def rebase(s: Ints, stack: Ints, count: int, b: int, v: int) -> None:
    """Make vertex v the base of node b: swap matched and unmatched edges inside, at all depths.

    The children of a blossom other than the one with the base pair up in the order of the cycle.
    `stack` holds pairs (blossom, vertex) that are still to do.
    """
    size = 0
    if b >= count:
        stack[0], stack[1], size = b, v, 2
    while size > 0:
        size -= 2
        b, v = stack[size], stack[size + 1]
        child = v
        while s[AROUND, child] != b:
            child = s[AROUND, child]
        s[HEAD, b] = child
        s[BASE, b] = v
        if child >= count:
            stack[size], stack[size + 1], size = child, v, size + 2
        at = s[NEXT, child]
        while at != child:
            then = s[NEXT, at]
            x, y = s[HERE, at], s[THERE, at]
            if s[MATE, x] != y or s[MATE, y] != x:
                s[MATE, x], s[MATE, y] = y, x
                if at >= count:
                    stack[size], stack[size + 1], size = at, x, size + 2
                if then >= count:
                    stack[size], stack[size + 1], size = then, y, size + 2
            at = s[NEXT, then]


@kernel("void(int64[:,::1], int64[::1], int64, int64, int64)")
def augment(s: Ints, stack: Ints, count: int, v: int, partner: int) -> None:
    """Match EVEN vertex v with a vertex outside the tree (or none), and flip up to the root."""
    while True:
        b = top_of(s, v)
        before = s[MATE, s[BASE, b]]
        rebase(s, stack, count, b, v)
        s[MATE, v] = partner
        if partner != NONE:
            s[MATE, partner] = v
        if before == NONE:
            break
        odd = top_of(s, before)
        partner, v = s[INSIDE, odd], s[OUTSIDE, odd]
        rebase(s, stack, count, odd, partner)


@kernel("int64(int64[:,::1], int64)")
def _parent(s: Ints, b: int) -> int:
    """Return the EVEN node above an EVEN node, -1 for the root."""
    before = s[MATE, s[BASE, b]]
    if before == NONE:
        return NONE
    above: int = top_of(s, s[OUTSIDE, top_of(s, before)])
    return above


@kernel("int64(int64[:,::1], int64[::1], int64, int64)")
def meeting_point(s: Ints, r: Ints, one: int, two: int) -> int:
    """Return the lowest EVEN node that is above both of two EVEN nodes."""
    r[WALK] += 1
    walk = r[WALK]
    while True:
        if one != NONE:
            if s[MARK, one] == walk:
                return one
            s[MARK, one] = walk
            one = _parent(s, one)
        one, two = two, one
        if one == NONE:
            one, two = two, one


@kernel("void(int64[:,::1], int64, int64, int64, int64)")
def _link(s: Ints, one: int, two: int, here: int, there: int) -> None:
    """Make child `two` follow child `one` in a cycle, by the edge (here, there)."""
    s[NEXT, one] = two
    s[PREVIOUS, two] = one
    s[HERE, one] = here
    s[THERE, one] = there


@kernel("void(int64[:,::1], int64, int64, int64)")
def link_cycle(s: Ints, x: int, y: int, top: int) -> None:
    """Link the nodes of the cycle that edge (x, y) closes, from `top` by x and y back to it."""
    node = top_of(s, x)
    _link(s, node, top_of(s, y), x, y)
    while node != top:
        before = s[MATE, s[BASE, node]]
        odd = top_of(s, before)
        above = top_of(s, s[OUTSIDE, odd])
        _link(s, odd, node, before, s[BASE, node])
        _link(s, above, odd, s[OUTSIDE, odd], s[INSIDE, odd])
        node = above
    node = top_of(s, y)
    while node != top:
        before = s[MATE, s[BASE, node]]
        odd = top_of(s, before)
        above = top_of(s, s[OUTSIDE, odd])
        _link(s, node, odd, s[BASE, node], before)
        _link(s, odd, above, s[INSIDE, odd], s[OUTSIDE, odd])
        node = above


@kernel("void(int64[:,::1], int64, int64)")
def set_group(s: Ints, b: int, group: int) -> None:
    """Write the group of all vertices of a node."""
    v = s[FIRST, b]
    while True:
        s[GROUP, v] = group
        if v == s[LAST, b]:
            break
        v = s[AFTER, v]


@kernel("int64(int64[:,::1], int64[::1], int64)")
def shrink(s: Ints, r: Ints, top: int) -> int:
    """Make a linked cycle a blossom; list the vertices that were ODD in TO_SCAN."""
    r[SPARE_COUNT] -= 1
    b: int = s[SPARE, r[SPARE_COUNT]]
    r[SCAN_COUNT] = 0
    largest, size, child = top, 0, top
    while True:
        # Duals are written while the old label stands; those of EVEN vertices continue unchanged.
        was_odd = s[LABEL, child] == ODD
        if was_odd:
            set_label(s, r, child, ODD)
        else:
            s[WIDTH, child] = width(s, r, child)
        s[AROUND, child] = b
        size += s[SIZE, child]
        if s[SIZE, child] > s[SIZE, largest]:
            largest = child
        s[AFTER, s[LAST, child]] = s[FIRST, s[NEXT, child]]
        v = s[FIRST, child]
        while was_odd:
            s[TO_SCAN, r[SCAN_COUNT]] = v
            r[SCAN_COUNT] += 1
            if v == s[LAST, child]:
                break
            v = s[AFTER, v]
        child = s[NEXT, child]
        if child == top:
            break
    s[FIRST, b], s[LAST, b] = s[FIRST, top], s[LAST, s[PREVIOUS, top]]
    s[HEAD, b], s[BASE, b], s[AROUND, b] = top, s[BASE, top], NONE
    s[WIDTH, b], s[WIDTH_STAMP, b], s[LABEL, b], s[MARK, b] = 0, r[DELTA], EVEN, 0
    s[SIZE, b], s[LARGEST, b], s[OWN_GROUP, b] = size, largest, s[OWN_GROUP, largest]
    s[TOP, s[OWN_GROUP, b]] = b
    child = top
    while True:
        if child != largest:
            set_group(s, child, s[OWN_GROUP, b])
        child = s[NEXT, child]
        if child == top:
            break
    return b


@kernel("void(int64[:,::1], int64)")
def halve_cycle(s: Ints, top: int) -> None:
    """Mark all edges of a linked cycle of vertices as half matched."""
    at = top
    while True:
        s[IS_HALF, at] = 1
        at = s[NEXT, at]
        if at == top:
            break


@kernel("void(int64[:,::1], int64)")
def break_cycle(s: Ints, v: int) -> None:
    """Match the vertices of a half-matched cycle in pairs, leaving v unmatched."""
    s[IS_HALF, v], s[MATE, v] = 0, NONE
    at = s[NEXT, v]
    while at != v:
        then = s[NEXT, at]
        s[IS_HALF, at], s[IS_HALF, then] = 0, 0
        s[MATE, at], s[MATE, then] = then, at
        at = s[NEXT, then]
