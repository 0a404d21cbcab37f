"""The sweep against a plain list, with every invariant after every step."""

import math
import random

import pytest

from evenmatch.solvers.index.sweep import STRIP_MAX, IndexedItem, SweepIndex
from tests.extent import extent

Point = tuple[float, ...]


class Model:
    """The sweep next to a list that is searched from end to end."""

    def __init__(self, axes: int) -> None:
        self.sweep: SweepIndex[str] = SweepIndex(axes)
        self.entries: dict[str, IndexedItem[str]] = {}

    def insert(self, name: str, values: Point, age: int) -> None:
        self.entries[name] = self.sweep.insert(values, age, name)

    def remove(self, name: str) -> None:
        self.sweep.remove(self.entries.pop(name))

    def box(self, name: str, far: Point) -> set[str]:
        """Return the older items within a box."""
        mine = self.entries[name]
        return {
            each.item
            for each in self.entries.values()
            if each.age < mine.age and is_within(mine.values, each.values, far)
        }

    def visited(self, name: str, far: Point) -> list[str]:
        """Return whom the search meets in a box of fixed size."""
        met: list[str] = []
        self.sweep.visit_older(self.entries[name], list(far), met.append)
        return met

    def nearest(self, name: str) -> float:
        """Return the distance that a search finds that draws its box in."""
        mine = self.entries[name]
        far = [math.inf] * len(mine.values)
        found = math.inf

        def visit(other: str) -> None:
            nonlocal found
            found = min(found, distance(mine.values, self.entries[other].values))
            far[:] = [found] * len(far)

        self.sweep.visit_older(mine, far, visit)
        return found


def is_within(one: Point, two: Point, far: Point) -> bool:
    return all(abs(a - b) < most for a, b, most in zip(one, two, far, strict=True))


def distance(one: Point, two: Point) -> float:
    return max(abs(a - b) for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("distinct", [3, 1000], ids=["ties", "spread"])
def test_search_meets_exactly_the_older_items_of_the_box_once(axes: int, distinct: int) -> None:
    rng = random.Random(axes)
    model = Model(axes)
    for age in range(extent(450, 900)):
        if model.entries and rng.random() < 0.35:
            model.remove(rng.choice(list(model.entries)))
        values = tuple(float(rng.randrange(distinct)) for _ in range(axes))
        model.insert(f"i{age}", values, age)
        if age % 20 == 0:
            model.sweep._check()
        name = rng.choice(list(model.entries))
        far = tuple(rng.choice((0.0, 1.0, distinct / 5, math.inf)) for _ in range(axes))
        met = model.visited(name, far)
        assert set(met) == model.box(name, far)
        assert len(set(met)) == len(met)
    assert len(model.sweep) == len(model.entries) > 2 * STRIP_MAX


def test_box_that_is_drawn_in_ends_at_the_nearest_older_item() -> None:
    rng = random.Random(5)
    model = Model(2)
    for age in range(400):
        model.insert(f"i{age}", (rng.random(), rng.random()), age)
    for name, mine in model.entries.items():
        older = [each for each in model.entries.values() if each.age < mine.age]
        expected = min((distance(mine.values, each.values) for each in older), default=math.inf)
        assert model.nearest(name) == expected


def test_items_may_return_in_any_order_of_age_and_all_leave() -> None:
    rng = random.Random(6)
    model = Model(2)
    ages = list(range(300))
    rng.shuffle(ages)
    for age in ages:
        model.insert(f"i{age}", (rng.random(), 0.5), age)
    model.sweep._check()
    assert model.sweep.oldest == "i0"
    for name in sorted(model.entries):
        model.remove(name)
        model.sweep._check()
    assert len(model.sweep) == 0


def test_search_in_a_large_pool_meets_few() -> None:
    rng = random.Random(7)
    model = Model(2)
    for age in range(2000):
        model.insert(f"i{age}", (rng.random(), rng.random()), age)

    met = model.visited("i1999", (0.02, 0.02))

    assert len(met) < 20
