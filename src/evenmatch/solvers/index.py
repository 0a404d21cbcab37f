"""An ordered index of numbers with what they belong to: insert, remove, walk outward."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")


class SortedIndex(Generic[Item]):
    """Items ordered by a number; equal numbers keep the order of insertion.

    Two parallel lists: the search runs over plain floats in C, and moving the tail of a list is
    so fast that a tree does not pay below several hundred thousand items.
    """

    __slots__ = ("items", "values")

    def __init__(self) -> None:
        self.values: list[float] = []
        self.items: list[Item] = []

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.values)

    def insert(self, value: float, item: Item) -> None:
        """Put an item in, after those of equal value.

        Complexity:
            O(log n) comparisons and one move of memory.
        """
        at = bisect_right(self.values, value)
        self.values.insert(at, value)
        self.items.insert(at, item)

    def position(self, value: float, item: Item) -> int:
        """Return where an item stands.

        Raises:
            LookupError: It is not in the index.
        """
        at = bisect_left(self.values, value)
        while at < len(self.items) and self.values[at] == value:
            if self.items[at] is item:
                return at
            at += 1
        raise LookupError(f"no such item at {value}")

    def remove(self, value: float, item: Item) -> None:
        """Take an item out."""
        at = self.position(value, item)
        del self.values[at]
        del self.items[at]

    def outward(self, value: float, item: Item) -> Iterator[tuple[float, Item]]:
        """Yield (gap, other) from the item outward on both sides, nearest first.

        Ties go to the lower value. The index must not change meanwhile.
        """
        values, items = self.values, self.items
        right = self.position(value, item)
        left = right - 1
        right += 1
        end = len(values)
        while left >= 0 and right < end:
            below, above = value - values[left], values[right] - value
            if below <= above:
                yield below, items[left]
                left -= 1
            else:
                yield above, items[right]
                right += 1
        while left >= 0:
            yield value - values[left], items[left]
            left -= 1
        while right < end:
            yield values[right] - value, items[right]
            right += 1

    def _check(self) -> None:
        """Assert the invariants: ascending values, one item a value."""
        assert len(self.values) == len(self.items)
        assert all(a <= b for a, b in zip(self.values, self.values[1:], strict=False))
