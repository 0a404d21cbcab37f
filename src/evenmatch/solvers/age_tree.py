"""A tree ordered by value and heap-ordered by age: everybody's nearest older neighbours at hand.

A Cartesian tree: in-order it is sorted by value, and every parent is older than its children. So
the nearest older item to the left of a node is the lowest ancestor in whose right subtree it lies,
and likewise on the right; the parent is one of the two. The newest item is always a leaf, and
removing one merges two spines, so that with values in no particular order all takes O(log n).

Nodes are numbers into parallel lists: no object cycles, and one garbage-collected object in all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")
Age = tuple[float, int]
"""Smaller is older."""

NONE = -1
_SPREAD = 2654435761
"""Knuth's multiplicative hash: sends equal values left and right in turn."""


class AgeTree(Generic[Item]):
    """Items with a value and an age."""

    def __init__(self) -> None:
        self._value: list[float] = []
        self._age: list[Age] = []
        self._left: list[int] = []
        self._right: list[int] = []
        self._parent: list[int] = []
        self._items: list[Item | None] = []
        self._free: list[int] = []
        self._root = NONE
        self._newest: Age = (-math.inf, 0)

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._items) - len(self._free)

    def item(self, node: int) -> Item:
        """Return what a node holds."""
        found = self._items[node]
        assert found is not None
        return found

    def insert(self, value: float, age: Age, item: Item) -> int:
        """Put an item in and return its node, a number that stays valid until it is removed.

        Complexity:
            O(depth): O(log n) for values that come in no particular order.
        """
        node = self._new_node(value, age, item)
        values, ages, left, right = self._value, self._age, self._left, self._right
        parent, at, turn = NONE, self._root, age[1] * _SPREAD
        is_newest, goes_left = age > self._newest, False
        while at != NONE and (is_newest or ages[at] < age):
            parent = at
            other = values[at]
            if value == other:
                turn >>= 1
                goes_left = turn & 1 == 1
            else:
                goes_left = value < other
            at = left[at] if goes_left else right[at]
        if is_newest:
            self._newest = age
        self._hang(node, parent, goes_left)
        if at != NONE:
            # An older item has come back: the younger ones below it are split around it.
            self._split(at, node)
        return node

    def remove(self, node: int) -> None:
        """Take an item out.

        Complexity:
            O(length of the two spines below it), O(log n) at most where the tree is balanced.
        """
        merged = self._merge(self._left[node], self._right[node])
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
            O(depth).
        """
        left, parents = self._left, self._parent
        below = above = NONE
        while (parent := parents[node]) != NONE and (below == NONE or above == NONE):
            if left[parent] == node:
                above = parent if above == NONE else above
            else:
                below = parent if below == NONE else below
            node = parent
        return below, above

    def older(self, node: int) -> Iterator[tuple[float, Item]]:
        """Yield (gap, item) of all older items, nearest first, ties to the lower value.

        Complexity:
            O(1) amortised per item after O(depth); the tree must not change meanwhile.
        """
        value = self._value[node]
        below, above = self._older_side(node, True), self._older_side(node, False)
        low, high = next(below, NONE), next(above, NONE)
        while low != NONE or high != NONE:
            takes_low = high == NONE or (
                low != NONE and value - self._value[low] <= self._value[high] - value
            )
            nearest = low if takes_low else high
            yield abs(value - self._value[nearest]), self.item(nearest)
            if takes_low:
                low = next(below, NONE)
            else:
                high = next(above, NONE)

    def _older_side(self, node: int, is_left: bool) -> Iterator[int]:
        """Yield older nodes on one side, nearest first; younger subtrees are never entered."""
        age = self._age[node]
        near, far = (self._right, self._left) if is_left else (self._left, self._right)
        while (parent := self._parent[node]) != NONE:
            if near[parent] == node:
                yield parent
                stack = []
                at = far[parent]
                while True:
                    while at != NONE and self._age[at] < age:
                        stack.append(at)
                        at = near[at]
                    if not stack:
                        break
                    at = stack.pop()
                    yield at
                    at = far[at]
            node = parent

    def _new_node(self, value: float, age: Age, item: Item) -> int:
        if self._free:
            node = self._free.pop()
            self._value[node], self._age[node], self._items[node] = value, age, item
            self._left[node] = self._right[node] = NONE
            return node
        self._value.append(value)
        self._age.append(age)
        self._items.append(item)
        self._left.append(NONE)
        self._right.append(NONE)
        self._parent.append(NONE)
        return len(self._items) - 1

    def _hang(self, node: int, parent: int, goes_left: bool) -> None:
        self._parent[node] = parent
        if parent == NONE:
            self._root = node
        elif goes_left:
            self._left[parent] = node
        else:
            self._right[parent] = node

    def _split(self, at: int, node: int) -> None:
        """Hang the subtree of `at` below `node`, smaller values left, the others right."""
        value = self._value[node]
        tails = [node, node]
        while at != NONE:
            is_right = self._value[at] >= value
            tail = tails[is_right]
            # The first node of each side hangs from `node`; later ones from the inner spine.
            self._hang(at, tail, is_right != (tail == node))
            tails[is_right] = at
            at = self._left[at] if is_right else self._right[at]
        if tails[0] != node:
            self._right[tails[0]] = NONE
        if tails[1] != node:
            self._left[tails[1]] = NONE

    def _merge(self, low: int, high: int) -> int:
        """Return the root of two subtrees joined, all of `low` left of all of `high`."""
        ages, left, right, parents = self._age, self._left, self._right, self._parent
        root = tail = NONE
        is_left = False
        while low != NONE and high != NONE:
            if ages[low] < ages[high]:
                top, low, next_is_left = low, right[low], False
            else:
                top, high, next_is_left = high, left[high], True
            if tail == NONE:
                root = top
            else:
                (left if is_left else right)[tail] = top
                parents[top] = tail
            tail, is_left = top, next_is_left
        rest = low if low != NONE else high
        if tail == NONE:
            return rest
        (left if is_left else right)[tail] = rest
        if rest != NONE:
            parents[rest] = tail
        return root

    def _check(self) -> None:
        """Assert the order of values, of ages, and the links."""
        seen, last = 0, -float("inf")
        stack: list[int] = []
        at = self._root
        assert at == NONE or self._parent[at] == NONE
        while stack or at != NONE:
            while at != NONE:
                stack.append(at)
                at = self._left[at]
            node = stack.pop()
            assert self._value[node] >= last
            last = self._value[node]
            seen += 1
            for child in (self._left[node], self._right[node]):
                if child != NONE:
                    assert self._parent[child] == node
                    assert self._age[node] < self._age[child]
            at = self._right[node]
        assert seen == len(self)
