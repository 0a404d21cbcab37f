"""Maximum weight matching in a general graph, with the duals that prove it.

A primal-dual method that grows one tree at a time. A tree starts at an unmatched vertex. It ends
when it reaches another unmatched vertex, or when the dual of one of its EVEN vertices reaches 0:
that vertex may stay unmatched, in place of the tree's root. Odd cycles of tight edges become
blossoms.

If edges join near neighbours (players close in time and skill), trees stay small, and the total
time is nearly proportional to the number of edges.

Source:
    Edmonds (1965); Cook and Rohe, Computing Minimum-Weight Perfect Matchings (1999), for trees
    grown one at a time; Kolmogorov, Blossom V (2009), for the start.
"""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.cycles import (
    augment,
    break_cycle,
    halve_cycle,
    link_cycle,
    meeting_point,
    rebase,
    set_group,
    shrink,
)
from evenmatch.solvers.matching.forest import (
    AROUND,
    BASE,
    DELTA,
    DUAL,
    EMPTY,
    EVEN,
    FIRST,
    FREE,
    HEAD,
    HERE,
    INSIDE,
    IS_FRACTIONAL,
    IS_HALF,
    LABEL,
    LARGEST,
    LAST,
    MATE,
    MEET,
    NEXT,
    NONE,
    ODD,
    OPEN,
    OUTSIDE,
    OWN_GROUP,
    PREVIOUS,
    REACH,
    SCAN_COUNT,
    SPARE,
    SPARE_COUNT,
    THERE,
    TO_SCAN,
    TOP,
    WIDTH,
    Forest,
    Ints,
    dual,
    finish_tree,
    pop,
    push,
    scan,
    scan_all,
    set_label,
    top_of,
    width,
)


@kernel("void(int64[:,::1], int64[::1], int64[:,::1], int64, int64, boolean, int64)")
def _join_path(s: Ints, r: Ints, heap: Ints, entry: int, head: int, forward: bool, b: int) -> None:
    """Label the children on the even path from the entry of an opened blossom to its base."""
    inside, outside, at, label = s[INSIDE, b], s[OUTSIDE, b], entry, ODD
    while True:
        set_label(s, r, at, label)
        if label == ODD:
            s[INSIDE, at], s[OUTSIDE, at] = inside, outside
            if s[FIRST, at] != s[LAST, at]:
                push(heap, r, r[DELTA] + width(s, r, at) // 2, 4 * at + OPEN)
        if at == head:
            break
        if forward:
            outside, inside, at = s[HERE, at], s[THERE, at], s[NEXT, at]
        else:
            at = s[PREVIOUS, at]
            outside, inside = s[THERE, at], s[HERE, at]
        label = EVEN if label == ODD else ODD


@kernel("void(Forest, int64)", allocates=False)
def _open(forest: Forest, b: int) -> None:
    """Replace an ODD blossom with dual 0 by its children: some stay in the tree, others leave."""
    s, r = forest.nodes, forest.registers
    set_label(s, r, b, FREE)
    entry = s[INSIDE, b]
    while s[AROUND, entry] != b:
        entry = s[AROUND, entry]
    head = s[HEAD, b]
    child, place, distance = head, 0, 0
    while True:
        if child == entry:
            distance = place
        s[AROUND, child], s[LABEL, child] = NONE, FREE
        s[TOP, s[OWN_GROUP, child]] = child
        if child != s[LARGEST, b]:
            set_group(s, child, s[OWN_GROUP, child])
        place += 1
        child = s[NEXT, child]
        if child == head:
            break
    _join_path(s, r, forest.heap, entry, head, distance % 2 == 1, b)
    child = head
    while True:
        if s[LABEL, child] != ODD:
            scan_all(forest, child)
        child = s[NEXT, child]
        if child == head:
            break
    s[SPARE, r[SPARE_COUNT]] = b
    r[SPARE_COUNT] += 1


@kernel("boolean(Forest, int64, int64, int64)", allocates=False)
def _reach(forest: Forest, count: int, x: int, y: int) -> bool:
    """Add FREE vertex y to the tree over a tight edge; return whether that ends the tree."""
    s, r, stack = forest.nodes, forest.registers, forest.stack
    b = top_of(s, y)
    if r[IS_FRACTIONAL] == 1 and s[IS_HALF, y] == 1:
        break_cycle(s, y)
    mate = s[MATE, s[BASE, b]]
    if mate == NONE:
        rebase(s, stack, count, b, y)
        augment(s, stack, count, x, y)
        return True
    set_label(s, r, b, ODD)
    s[INSIDE, b], s[OUTSIDE, b] = y, x
    if b >= count:
        push(forest.heap, r, r[DELTA] + s[WIDTH, b] // 2, 4 * b + OPEN)
    set_label(s, r, top_of(s, mate), EVEN)
    scan_all(forest, top_of(s, mate))
    return False


@kernel("boolean(Forest, int64, int64)", allocates=False)
def _take_edge(forest: Forest, count: int, e: int) -> bool:
    """Handle an edge that may be tight; return whether that ends the tree."""
    s, r, edges, queued = forest.nodes, forest.registers, forest.edges, forest.queued
    x, y = edges[0, e], edges[1, e]
    if s[LABEL, top_of(s, x)] != EVEN:
        x, y = y, x
    one, two = top_of(s, x), top_of(s, y)
    if one == two or s[LABEL, one] != EVEN or s[LABEL, two] == ODD:
        return False
    slack = dual(s, r, x) + dual(s, r, y) - edges[2, e]
    meets = s[LABEL, two] == EVEN
    if slack > 0:
        # The event was outdated: an end has left the tree and come back since.
        bit = 2 if meets else 1
        if queued[e] & bit == 0:
            queued[e] |= bit
            later = slack // 2 if meets else slack
            push(forest.heap, r, r[DELTA] + later, 4 * e + (MEET if meets else REACH))
        return False
    if not meets:
        return _reach(forest, count, x, y)
    top = meeting_point(s, r, one, two)
    link_cycle(s, x, y, top)
    if r[IS_FRACTIONAL] == 1:
        halve_cycle(s, top)
        augment(s, forest.stack, count, top, NONE)
        return True
    shrink(s, r, top)
    for i in range(r[SCAN_COUNT]):
        scan(forest, s[TO_SCAN, i])
    return False


@kernel("void(Forest, int64, int64)", allocates=False)
def grow(forest: Forest, count: int, is_fractional: int) -> None:
    """Match every vertex or bring its dual to 0.

    Args:
        forest: Changed in place.
        count: Number of vertices.
        is_fractional: 1 solves the relaxation in which odd cycles may be half matched: there are
            no blossoms, trees are small, and one vertex of each such cycle is left unmatched. Its
            solution is a good start for the true problem, 0.
    """
    s, r = forest.nodes, forest.registers
    r[IS_FRACTIONAL] = is_fractional
    for root in range(count):
        if s[MATE, s[BASE, top_of(s, root)]] != NONE or s[BASE, top_of(s, root)] != root:
            continue
        if s[DUAL, root] == 0 or (is_fractional == 1 and s[IS_HALF, root] == 1):
            continue
        set_label(s, r, top_of(s, root), EVEN)
        scan_all(forest, top_of(s, root))
        is_over = False
        while not is_over:
            event = pop(forest.heap, r)
            kind, name = event & 3, event >> 2
            if kind == EMPTY:
                augment(s, forest.stack, count, name, NONE)
                is_over = True
            elif kind == OPEN:
                # The blossom may have been merged into another one since.
                if s[LABEL, name] == ODD and s[AROUND, name] == NONE and width(s, r, name) == 0:
                    _open(forest, name)
            else:
                forest.queued[name] &= ~np.int8(1 + kind)
                is_over = _take_edge(forest, count, name)
        finish_tree(forest)
