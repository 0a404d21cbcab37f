"""Sweep and prune over several axes: the older items within a box around an item.

Each item has a value on each axis, and an age. Along the first axis the items are cut into strips;
within its strip, each stands in a line sorted by the second axis (or by the first, if it is the
only one). A search begins in the strip of its item and goes outwards from strip to strip, and in
each strip outwards along the line, until it has left the box on both axes; the other axes are
compared item by item. If only a few items are older, it visits just those.

Boxes grow with the wait. A caller that searches for the item reached soonest begins with an
infinite box, and shrinks it as it finds better ones.

Source:
    "Matching players in an online 1vs1 game", the thread's sweep-and-prune.

Differs from the paper:
    The thread walks one axis, for all tickets at once and again at every tick. A walk along one of
    two axes meets about sqrt(n) items in a box that holds a few; strips reduce that to a handful.
    And a search is for one ticket only, when its timer must be set.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Generic, TypeVar

Item = TypeVar("Item")

STRIP_MAX = 96
"""Most items in a strip; a larger one is halved."""
STRIP_MIN = 8
"""A strip with fewer items is joined to its neighbour."""
FEW = 16
"""If at most this many items are older, they are visited one by one."""


class IndexedItem(Generic[Item]):
    """An item with its position."""

    __slots__ = ("age", "item", "strip", "values")

    def __init__(
        self, values: tuple[float, ...], age: int, item: Item, strip: _Strip[Item]
    ) -> None:
        self.values = values
        self.age = age
        self.item = item
        self.strip = strip


class _Strip(Generic[Item]):
    """Items next to each other on the first axis, sorted by the axis of the line."""

    __slots__ = ("entries", "values")

    def __init__(self) -> None:
        self.values: list[float] = []
        self.entries: list[IndexedItem[Item]] = []


class SweepIndex(Generic[Item]):
    """Items with a value on each of several axes, and an age; smaller is older.

    Args:
        axes: Number of axes, at least 1.
    """

    def __init__(self, axes: int) -> None:
        self._axes = axes
        self._line_axis = min(1, axes - 1)
        self._strips: list[_Strip[Item]] = [_Strip()]
        # On the first axis, the items of strip i lie between edges i and i + 1, both inclusive.
        self._edges: list[float] = [float("-inf")]
        self._ages: list[int] = []
        self._by_age: list[IndexedItem[Item]] = []

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._by_age)

    @property
    def oldest(self) -> Item:
        """Return the oldest item; there must be one."""
        return self._by_age[0].item

    def insert(self, values: tuple[float, ...], age: int, item: Item) -> IndexedItem[Item]:
        """Insert an item.

        Args:
            values: One for each axis.
            age: Distinct from all others.
            item: The item to give back.

        Complexity:
            O(log n), moves of memory, and occasionally halving a strip.
        """
        number = bisect_right(self._edges, values[0]) - 1
        strip = self._strips[number]
        entry = IndexedItem(values, age, item, strip)
        value = values[self._line_axis]
        at = bisect_right(strip.values, value)
        strip.values.insert(at, value)
        strip.entries.insert(at, entry)
        at = bisect_left(self._ages, age)
        self._ages.insert(at, age)
        self._by_age.insert(at, entry)
        if len(strip.entries) > STRIP_MAX:
            self._halve(number)
        return entry

    def remove(self, entry: IndexedItem[Item]) -> None:
        """Remove an item.

        Complexity:
            O(log n), moves of memory, and occasionally joining a strip to its neighbour.
        """
        strip = entry.strip
        at = strip.entries.index(entry, bisect_left(strip.values, entry.values[self._line_axis]))
        del strip.values[at], strip.entries[at]
        at = bisect_left(self._ages, entry.age)
        del self._ages[at], self._by_age[at]
        if len(strip.entries) < STRIP_MIN and len(self._strips) > 1:
            self._join(strip)

    def visit_older(
        self, entry: IndexedItem[Item], far: list[float], visit: Callable[[Item], object]
    ) -> None:
        """Call `visit` with every older item within the box, once each.

        Args:
            entry: The item in the middle of the box.
            far: For each axis, the least difference that is outside of the box. `visit` may
                shrink the box during the search.
            visit: Receives the items; the nearer ones tend to come first.

        Complexity:
            A binary search in each strip that the box reaches, and a step for each item there
            that lies within the box on the axis of the line.
        """
        older = bisect_left(self._ages, entry.age)
        if older <= FEW:
            self._meet(self._by_age[:older], entry, far, visit)
            return
        value, edges, strips = entry.values[0], self._edges, self._strips
        middle = bisect_right(edges, value) - 1
        self._sweep(strips[middle], entry, far, visit)
        for number in range(middle + 1, len(strips)):
            if edges[number] - value >= far[0]:
                break
            self._sweep(strips[number], entry, far, visit)
        for number in range(middle - 1, -1, -1):
            if value - edges[number + 1] >= far[0]:
                break
            self._sweep(strips[number], entry, far, visit)

    def _sweep(
        self,
        strip: _Strip[Item],
        entry: IndexedItem[Item],
        far: list[float],
        visit: Callable[[Item], object],
    ) -> None:
        """Visit the older items of one strip within the box, from the middle outwards."""
        axis, age = self._line_axis, entry.age
        value, across = entry.values[axis], entry.values[0]
        values, entries, beyond = strip.values, strip.entries, self._axes > 2
        start = bisect_left(values, value)
        for line in (range(start, len(entries)), range(start - 1, -1, -1)):
            for at in line:
                if abs(values[at] - value) >= far[axis]:
                    break
                other = entries[at]
                if other.age < age and abs(other.values[0] - across) < far[0]:
                    if beyond:
                        self._meet((other,), entry, far, visit)
                    else:
                        visit(other.item)

    def _meet(
        self,
        others: Iterable[IndexedItem[Item]],
        entry: IndexedItem[Item],
        far: list[float],
        visit: Callable[[Item], object],
    ) -> None:
        """Visit those of some older items that are within the box."""
        for other in others:
            for mine, their, most in zip(entry.values, other.values, far, strict=True):
                if abs(their - mine) >= most:
                    break
            else:
                visit(other.item)

    def _halve(self, number: int) -> None:
        """Cut a strip in two along the first axis."""
        strip, upper = self._strips[number], _Strip[Item]()
        by_first = sorted(strip.entries, key=lambda entry: entry.values[0])
        half = len(by_first) // 2
        self._edges.insert(number + 1, by_first[half].values[0])
        self._strips.insert(number + 1, upper)
        self._fill(strip, by_first[:half])
        self._fill(upper, by_first[half:])

    def _join(self, strip: _Strip[Item]) -> None:
        """Move the items of a strip to its neighbour, and remove the strip."""
        number = self._strips.index(strip)
        del self._strips[number], self._edges[max(1, number)]
        number = max(0, number - 1)
        neighbour = self._strips[number]
        self._fill(neighbour, neighbour.entries + strip.entries)
        if len(neighbour.entries) > STRIP_MAX:
            self._halve(number)

    def _fill(self, strip: _Strip[Item], entries: list[IndexedItem[Item]]) -> None:
        axis = self._line_axis
        strip.entries = sorted(entries, key=lambda entry: entry.values[axis])
        strip.values = [entry.values[axis] for entry in strip.entries]
        for entry in strip.entries:
            entry.strip = strip

    def _check(self) -> None:
        """Assert that strips and lines are sorted and hold the same items at the right places."""
        assert self._ages == sorted(set(self._ages)) == [entry.age for entry in self._by_age]
        assert self._edges[0] == float("-inf")
        assert self._edges == sorted(self._edges)
        assert len(self._edges) == len(self._strips)
        seen: list[IndexedItem[Item]] = []
        for low, high, strip in zip(
            self._edges, [*self._edges[1:], float("inf")], self._strips, strict=True
        ):
            assert strip.values == [entry.values[self._line_axis] for entry in strip.entries]
            assert strip.values == sorted(strip.values)
            assert len(strip.entries) <= STRIP_MAX
            for entry in strip.entries:
                assert entry.strip is strip
                assert low <= entry.values[0] <= high
            seen += strip.entries
        assert sorted(seen, key=attrgetter("age")) == self._by_age
