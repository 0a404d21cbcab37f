"""A tree ordered by value and heap-ordered by age: nearest older neighbours without a search.

A Cartesian tree: in-order it is sorted by value, and every parent is older than its children. So
the items between an item and its nearest older neighbour on one side are exactly its subtree on
that side, and a walk over older items never enters a younger subtree.

A sorted list of the values beside the tree finds the place of a new item, which is always a leaf;
each node keeps its nearest older neighbours. So no operation walks down from the root, and values
inserted in ascending order, which make the tree a chain, cost no more than others.

Nodes are indices into parallel lists: no object cycles, and little work for the garbage collector.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")
Age = int
"""Smaller is older; ages are distinct."""

NONE = -1


class AgeTree(Generic[Item]):
    """Items with a value and an age."""

    def __init__(self) -> None:
        self._value: list[float] = []
        self._age: list[Age] = []
        self._left: list[int] = []
        self._right: list[int] = []
        self._parent: list[int] = []
        self._low: list[int] = []
        self._high: list[int] = []
        self._items: list[Item | None] = []
        self._free: list[int] = []
        self._root = NONE
        self._newest: Age | None = None
        # All nodes in the order of the tree, and their values for the search.
        self._nodes: list[int] = []
        self._values: list[float] = []

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._nodes)

    def item(self, node: int) -> Item:
        """Return the item of a node."""
        found = self._items[node]
        assert found is not None
        return found

    def insert(self, value: float, age: Age, item: Item) -> int:
        """Insert an item and return its node, an index that stays valid until it is removed.

        Complexity:
            O(log n) and a move of memory for the newest item; O(n) for an item that is older than
            others, which is rare.
        """
        node = self._free.pop() if self._free else self._new_node()
        self._value[node], self._age[node], self._items[node] = value, age, item
        self._left[node] = self._right[node] = NONE
        nodes, values = self._nodes, self._values
        at = bisect_right(values, value)
        low = nodes[at - 1] if at else NONE
        high = nodes[at] if at < len(nodes) else NONE
        values.insert(at, value)
        nodes.insert(at, node)
        if self._newest is not None and age < self._newest:
            self._build()
            return node
        self._newest = age
        self._low[node], self._high[node] = low, high
        # Of two neighbours, one is above the other; the lower one has a free place between them.
        if low != NONE and self._right[low] == NONE:
            self._right[low], parent = node, low
        elif high != NONE:
            self._left[high], parent = node, high
        else:
            self._root, parent = node, NONE
        self._parent[node] = parent
        return node

    def remove(self, node: int) -> None:
        """Remove an item.

        Complexity:
            O(log n), a move of memory, and the length of the two spines below the node: O(1) on
            average if values arrive in random order.
        """
        at = self._nodes.index(node, bisect_left(self._values, self._value[node]))
        del self._nodes[at], self._values[at]
        merged = self._merge(node)
        parent = self._parent[node]
        if merged != NONE:
            self._parent[merged] = parent
        if parent == NONE:
            self._root = merged
        elif self._left[parent] == node:
            self._left[parent] = merged
        else:
            self._right[parent] = merged
        self._items[node] = None
        self._free.append(node)

    def nearest_older(self, node: int) -> tuple[int, int]:
        """Return the nearest older nodes on the left and on the right, -1 where there is none.

        Complexity:
            O(1).
        """
        return self._low[node], self._high[node]

    def nearest(self, node: int) -> Item | None:
        """Return the nearest older item, ties to the lower value; None if there is none.

        Complexity:
            O(1).
        """
        low, high = self._low[node], self._high[node]
        if low == NONE:
            return None if high == NONE else self._items[high]
        values = self._value
        if high == NONE or values[high] - values[node] >= values[node] - values[low]:
            return self._items[low]
        return self._items[high]

    def older(self, node: int) -> Iterator[tuple[float, Item]]:
        """Yield (gap, item) of all older items, nearest first, ties to the lower value.

        Complexity:
            O(1) amortised per item; the tree must not change during the iteration.
        """
        values, items, value = self._value, self._items, self._value[node]
        low, high = self._low[node], self._high[node]
        below, above = self._older_side(node, low, True), self._older_side(node, high, False)
        while low != NONE or high != NONE:
            takes_low = high == NONE or (
                low != NONE and value - values[low] <= values[high] - value
            )
            nearest = low if takes_low else high
            item = items[nearest]
            assert item is not None
            yield abs(value - values[nearest]), item
            if takes_low:
                low = next(below, NONE)
            else:
                high = next(above, NONE)

    def _older_side(self, asks: int, nearest: int, is_low: bool) -> Iterator[int]:
        """Yield older nodes on one side beyond the nearest one, in order of their distance.

        Younger subtrees are never entered.
        """
        ages, age = self._age, self._age[asks]
        beyond = self._low if is_low else self._high
        near, far = (self._right, self._left) if is_low else (self._left, self._right)
        node = nearest
        while node != NONE:
            stack: list[int] = []
            at = far[node]
            while True:
                while at != NONE and ages[at] < age:
                    stack.append(at)
                    at = near[at]
                if not stack:
                    break
                at = stack.pop()
                yield at
                at = far[at]
            node = beyond[node]
            if node != NONE:
                yield node

    def _new_node(self) -> int:
        self._value.append(0.0)
        self._age.append(0)
        self._items.append(None)
        for links in (self._left, self._right, self._parent, self._low, self._high):
            links.append(NONE)
        return len(self._items) - 1

    def _merge(self, gone: int) -> int:
        """Return the root of the two subtrees of a node, joined without it.

        The right spine of the left subtree and the left spine of the right one are merged by age.
        Their nodes had `gone` as a neighbour; it is replaced by the nearest older one of the other
        spine, or by the neighbour of `gone`.
        """
        ages, left, right, parents = self._age, self._left, self._right, self._parent
        lows, highs = self._low, self._high
        low, high = left[gone], right[gone]
        below, above = lows[gone], highs[gone]
        root = tail = NONE
        side = right  # the side of `tail` on which the next node goes
        while low != NONE and high != NONE:
            if ages[low] < ages[high]:
                top, hangs, highs[low], below, low = low, right, above, low, right[low]
            else:
                top, hangs, lows[high], above, high = high, left, below, high, left[high]
            if tail == NONE:
                root = top
            else:
                side[tail] = top
                parents[top] = tail
            tail, side = top, hangs
        # The rest of one spine is linked already.
        rest = high if low == NONE else low
        if tail == NONE:
            root = rest
        else:
            side[tail] = rest
            if rest != NONE:
                parents[rest] = tail
        while low != NONE:
            highs[low] = above
            low = right[low]
        while high != NONE:
            lows[high] = below
            high = left[high]
        return root

    def _build(self) -> None:
        """Rebuild all links: an item has returned that is older than others."""
        low, high, left, right, parent = (
            self._low,
            self._high,
            self._left,
            self._right,
            self._parent,
        )
        spine: list[int] = []
        for node in self._nodes:
            below = NONE
            while spine and self._age[spine[-1]] > self._age[node]:
                below = spine.pop()
                high[below] = node
            low[node] = parent[node] = spine[-1] if spine else NONE
            left[node], right[node], high[node] = below, NONE, NONE
            if below != NONE:
                parent[below] = node
            if spine:
                right[spine[-1]] = node
            spine.append(node)
        self._root = spine[0]

    def _check(self) -> None:
        """Assert the order of values, of ages, and all links."""
        assert self._values == [self._value[node] for node in self._nodes]
        assert self._values == sorted(self._values)
        older: list[int] = []
        for node in self._nodes:
            while older and self._age[older[-1]] > self._age[node]:
                older.pop()
            assert self._low[node] == (older[-1] if older else NONE)
            older.append(node)
        older.clear()
        for node in reversed(self._nodes):
            while older and self._age[older[-1]] > self._age[node]:
                older.pop()
            assert self._high[node] == (older[-1] if older else NONE)
            older.append(node)
        for node in self._nodes:
            for child in (self._left[node], self._right[node]):
                assert child == NONE or self._parent[child] == node
            around = [n for n in (self._low[node], self._high[node]) if n != NONE]
            above = max(around, key=self._age.__getitem__, default=NONE)
            assert self._parent[node] == above
        assert self._root == min(self._nodes, key=self._age.__getitem__, default=NONE)
