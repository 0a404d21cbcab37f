"""The state of a weighted matching under way: duals, blossoms, and the queue of events.

One tree is grown at a time, from one unmatched vertex. While it grows, the duals of its vertices
change together by one number DELTA, so nothing is written until a vertex changes its label: the
dual is `u - (DELTA - stamp)` for EVEN vertices and `u + (DELTA - stamp)` for ODD ones. Future
events (an edge becomes tight, an ODD blossom may be opened, an EVEN dual reaches 0) wait in a heap,
keyed by the DELTA at which they occur. The key of an outdated event is still a lower bound, so
every event is checked again when its turn comes.

All numbers are integers: the table `s` has a row for each field below and a column for each node
(vertices first, then blossoms), so a kernel takes one array instead of twenty. Weights are even,
which keeps all duals integral: nothing is ever rounded.

Source:
    Edmonds, Maximum Matching and a Polyhedron with 0,1-Vertices (1965); Galil, Efficient
    Algorithms for Finding Maximum Matching in Graphs (1986), for the events.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenmatch.solvers.kernel import kernel, record

Ints = NDArray[np.int64]
Flags = NDArray[np.int8]

FREE, EVEN, ODD = 0, 1, 2
NONE = -1

# Rows of the state table. For vertices: the partner; the dual; DELTA when it was written; the next
# vertex in the list of a blossom's vertices; its group. For groups: the outermost node. When nodes
# merge, the largest keeps its group and only the vertices of the others change theirs.
MATE, DUAL, STAMP, AFTER, GROUP, TOP = range(6)
# For vertices and blossoms: the label of an outermost one; the blossom around it; the vertex that
# is matched to the outside; the list of its vertices; a mark for walks up the tree; the number of
# vertices; its own group.
LABEL, AROUND, BASE, FIRST, LAST, MARK, SIZE, OWN_GROUP = range(6, 14)
# The next and the last child in the cycle of the enclosing blossom, and the edge to the next child:
# its end here and its end there. The edge by which an ODD node was reached: inner and outer end.
NEXT, PREVIOUS, HERE, THERE, INSIDE, OUTSIDE = range(14, 20)
# For blossoms: the child with the base; the dual, and DELTA when it was written; the largest child.
HEAD, WIDTH, WIDTH_STAMP, LARGEST = range(20, 24)
# Lists of vertices: those reached by the tree; those to scan; whether reached; free blossoms.
# Whether a vertex is in an odd cycle of half-matched edges.
SEEN, TO_SCAN, IS_SEEN, SPARE, IS_HALF = range(24, 29)
ROWS = 29

# Registers.
DELTA, HEAP_SIZE, SEEN_COUNT, SPARE_COUNT, WALK, SCAN_COUNT, IS_FRACTIONAL = range(7)
REGISTERS = 7

# Kinds of events, in the two low bits of an event's code; the rest is an edge, vertex or blossom.
REACH, MEET, EMPTY, OPEN = range(4)


@record(
    "int64[:,::1], int64[::1], int64[:,::1], int64[::1], int64[::1], int64[:,::1], int8[::1], "
    "int64[::1]"
)
class Forest(NamedTuple):
    """A matching in progress, and its graph.

    Args:
        nodes: Shape (ROWS, vertices and blossoms): the state table.
        registers: Shape (REGISTERS,).
        heap: Shape (2, room): keys and events.
        starts: Slots of vertex v are starts[v]:starts[v + 1].
        slots: Edge of each slot.
        edges: Shape (3, m): two ends and an even weight.
        queued: Shape (m,): which events of an edge are in the heap, as bits.
        stack: Workspace of `rebase`.
    """

    nodes: Ints
    registers: Ints
    heap: Ints
    starts: Ints
    slots: Ints
    edges: Ints
    queued: Flags
    stack: Ints


def forest_of(duals: Ints, mates: Ints, edges: Ints, starts: Ints, slots: Ints) -> Forest:
    """Return a forest without trees yet.

    Args:
        duals: Feasible duals, >= 0, shape (vertices,).
        mates: Partner of each vertex along a tight edge, -1 for none; shape (vertices,).
        edges: As in `Forest`.
        starts: The same.
        slots: The same.
    """
    nodes, registers = _new_state(len(duals), duals, mates)
    edge_count, count = edges.shape[1], nodes.shape[1]
    return Forest(
        nodes,
        registers,
        np.zeros((2, 2 * edge_count + 2 * count + 1), dtype=np.int64),
        starts,
        slots,
        edges,
        np.zeros(edge_count, dtype=np.int8),
        np.zeros(4 * count, dtype=np.int64),
    )


def _new_state(count: int, duals: Ints, mates: Ints) -> tuple[Ints, Ints]:
    """Return the state table and the registers before the first tree."""
    nodes = count + count // 2 + 1
    s: Ints = np.full((ROWS, nodes), NONE, dtype=np.int64)
    for row in (LABEL, MARK, WIDTH, WIDTH_STAMP, STAMP, IS_SEEN, IS_HALF):
        s[row] = 0
    s[DUAL, :count], s[MATE, :count], s[SIZE, :count] = duals, mates, 1
    for row in (GROUP, TOP, BASE, FIRST, LAST, OWN_GROUP):
        s[row, :count] = np.arange(count)
    r: Ints = np.zeros(REGISTERS, dtype=np.int64)
    spare = nodes - count
    s[SPARE, :spare] = np.arange(nodes - 1, count - 1, -1)
    r[SPARE_COUNT] = spare
    return s, r


@kernel("void(int64[:,::1], int64[::1], int64, int64)")
def push(heap: Ints, r: Ints, key: int, event: int) -> None:
    """Put an event into the heap: O(log n)."""
    at = r[HEAP_SIZE]
    r[HEAP_SIZE] = at + 1
    while at > 0:
        above = (at - 1) >> 1
        if heap[0, above] <= key:
            break
        heap[0, at] = heap[0, above]
        heap[1, at] = heap[1, above]
        at = above
    heap[0, at] = key
    heap[1, at] = event


@kernel("int64(int64[:,::1], int64[::1])")
def pop(heap: Ints, r: Ints) -> int:
    """Remove the event with the smallest key, set DELTA to that key, and return the event."""
    event: int = heap[1, 0]
    r[DELTA] = heap[0, 0]
    size = r[HEAP_SIZE] - 1
    r[HEAP_SIZE] = size
    key, last, at = heap[0, size], heap[1, size], 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and heap[0, below + 1] < heap[0, below]:
            below += 1
        if heap[0, below] >= key:
            break
        heap[0, at] = heap[0, below]
        heap[1, at] = heap[1, below]
        at = below
    heap[0, at] = key
    heap[1, at] = last
    return event


@kernel("int64(int64[:,::1], int64)")
def top_of(s: Ints, v: int) -> int:
    """Return the outermost node that contains a vertex."""
    top: int = s[TOP, s[GROUP, v]]
    return top


@kernel("int64(int64[:,::1], int64[::1], int64)")
def dual(s: Ints, r: Ints, v: int) -> int:
    """Return the present dual of a vertex."""
    label = s[LABEL, top_of(s, v)]
    value: int = s[DUAL, v]
    if label == EVEN:
        value -= r[DELTA] - s[STAMP, v]
    elif label == ODD:
        value += r[DELTA] - s[STAMP, v]
    return value


@kernel("int64(int64[:,::1], int64[::1], int64)")
def width(s: Ints, r: Ints, b: int) -> int:
    """Return the present dual of an outermost blossom."""
    value: int = s[WIDTH, b]
    if s[LABEL, b] == EVEN:
        value += 2 * (r[DELTA] - s[WIDTH_STAMP, b])
    elif s[LABEL, b] == ODD:
        value -= 2 * (r[DELTA] - s[WIDTH_STAMP, b])
    return value


@kernel("void(int64[:,::1], int64[::1], int64, int64)")
def set_label(s: Ints, r: Ints, b: int, label: int) -> None:
    """Write the duals of an outermost node into the table, then give it a label."""
    v = s[FIRST, b]
    while True:
        s[DUAL, v] = dual(s, r, v)
        s[STAMP, v] = r[DELTA]
        if s[IS_SEEN, v] == 0:
            s[IS_SEEN, v] = 1
            s[SEEN, r[SEEN_COUNT]] = v
            r[SEEN_COUNT] += 1
        if v == s[LAST, b]:
            break
        v = s[AFTER, v]
    s[WIDTH, b] = width(s, r, b)
    s[WIDTH_STAMP, b] = r[DELTA]
    s[LABEL, b] = label


@kernel("void(Forest, int64)", allocates=False)
def scan(forest: Forest, v: int) -> None:
    """Push the events of an EVEN vertex; for a FREE one, those of its EVEN neighbours."""
    s, r, heap, edges, queued = (
        forest.nodes, forest.registers, forest.heap, forest.edges, forest.queued,
    )  # fmt: skip
    top, mine, delta = top_of(s, v), dual(s, r, v), r[DELTA]
    is_even = s[LABEL, top] == EVEN
    if is_even:
        push(heap, r, delta + mine, 4 * v + EMPTY)
    for slot in range(forest.starts[v], forest.starts[v + 1]):
        e = forest.slots[slot]
        other = edges[0, e] + edges[1, e] - v
        other_top = top_of(s, other)
        label = s[LABEL, other_top]
        if other_top == top or label == ODD or not (is_even or label == EVEN):
            continue
        slack = mine + dual(s, r, other) - edges[2, e]
        if is_even and label == EVEN:
            if queued[e] & 2 == 0:
                queued[e] |= 2
                push(heap, r, delta + slack // 2, 4 * e + MEET)
        elif queued[e] & 1 == 0:
            queued[e] |= 1
            push(heap, r, delta + slack, 4 * e + REACH)


@kernel("void(Forest, int64)", allocates=False)
def scan_all(forest: Forest, b: int) -> None:
    """Scan every vertex of a node."""
    s = forest.nodes
    v = s[FIRST, b]
    while True:
        scan(forest, v)
        if v == s[LAST, b]:
            break
        v = s[AFTER, v]


@kernel("void(Forest)", allocates=False)
def finish_tree(forest: Forest) -> None:
    """Write all duals of the tree into the table, remove its labels and empty the heap."""
    s, r = forest.nodes, forest.registers
    for i in range(r[SEEN_COUNT]):
        v = s[SEEN, i]
        s[DUAL, v] = dual(s, r, v)
        s[IS_SEEN, v] = 0
    for i in range(r[SEEN_COUNT]):
        b = top_of(s, s[SEEN, i])
        if s[LABEL, b] != FREE:
            s[WIDTH, b] = width(s, r, b)
            s[LABEL, b] = FREE
    for i in range(r[HEAP_SIZE]):
        event = forest.heap[1, i]
        if event & 3 <= MEET:
            forest.queued[event >> 2] = 0
    r[SEEN_COUNT] = 0
    r[HEAP_SIZE] = 0
    r[DELTA] = 0
