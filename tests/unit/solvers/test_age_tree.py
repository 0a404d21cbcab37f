"""The tree of values and ages against a plain list, with every invariant after every step."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.solvers.index.age_tree import NONE, Age, AgeTree
from tests.extent import extent


class Model:
    """The tree next to a list that is searched from end to end."""

    def __init__(self) -> None:
        self.tree: AgeTree[str] = AgeTree()
        self.rows: dict[str, tuple[float, Age, int]] = {}

    def insert(self, name: str, value: float, age: Age) -> None:
        self.rows[name] = (value, age, self.tree.insert(value, age, name))

    def remove(self, name: str) -> None:
        self.tree.remove(self.rows.pop(name)[2])

    def gaps(self, name: str) -> list[float]:
        """Return the gaps to all older items, smallest first."""
        value, age, _ = self.rows[name]
        return sorted(abs(value - other) for other, born, _ in self.rows.values() if born < age)

    def check(self) -> None:
        self.tree._check()
        assert len(self.tree) == len(self.rows)
        for name, (value, age, node) in self.rows.items():
            assert self.tree.item(node) == name
            walked = list(self.tree.older(node))
            assert [gap for gap, _ in walked] == self.gaps(name)
            assert len({item for _, item in walked}) == len(walked)
            for gap, item in walked:
                other, born, _ = self.rows[item]
                assert born < age
                assert gap == abs(value - other)
            self.check_neighbours(name, walked[:1])

    def check_neighbours(self, name: str, nearest: list[tuple[float, str]]) -> None:
        """Compare the nearest neighbours on each side with all older items."""
        value, age, node = self.rows[name]
        below, above = self.tree.nearest_older(node)
        found = [self.rows[self.tree.item(at)] for at in (below, above) if at != NONE]
        if below != NONE:
            assert self.rows[self.tree.item(below)][0] <= value
        if above != NONE:
            assert self.rows[self.tree.item(above)][0] >= value
        assert all(born < age for _, born, _ in found)
        closest = min((abs(other - value) for other, _, _ in found), default=None)
        assert closest == (nearest[0][0] if nearest else None)


def fresh(age: int) -> Age:
    return age


def test_empty_tree_has_no_items() -> None:
    tree: AgeTree[str] = AgeTree()

    tree._check()

    assert len(tree) == 0


def test_oldest_item_has_no_older_neighbours() -> None:
    model = Model()
    model.insert("a", 5.0, fresh(1))

    assert model.tree.nearest_older(model.rows["a"][2]) == (NONE, NONE)
    assert list(model.tree.older(model.rows["a"][2])) == []


def test_older_items_come_nearest_first_and_ties_at_the_lower_value() -> None:
    model = Model()
    for age, value in enumerate((10.0, 30.0, 19.0, 28.0, 20.0), 1):
        model.insert(f"{value:g}", value, fresh(age))

    walked = list(model.tree.older(model.rows["20"][2]))

    assert walked == [(1.0, "19"), (8.0, "28"), (10.0, "10"), (10.0, "30")]


def test_younger_items_are_never_seen() -> None:
    model = Model()
    model.insert("old", 0.0, fresh(1))
    model.insert("asks", 10.0, fresh(2))
    model.insert("young", 11.0, fresh(3))

    assert list(model.tree.older(model.rows["asks"][2])) == [(10.0, "old")]


@pytest.mark.parametrize(
    "value",
    [lambda n: float(n), lambda n: -float(n), lambda n: float(n if n % 2 else -n), lambda n: 7.0],
    ids=["ascending", "descending", "zigzag", "equal"],
)
def test_values_in_any_order_are_all_found_and_leave_again(
    value: Callable[[int], float],
) -> None:
    model = Model()
    count = 512
    for age in range(1, count + 1):
        model.insert(str(age), value(age), fresh(age))

    model.tree._check()
    last = model.rows[str(count)][2]
    assert len(list(model.tree.older(last))) == count - 1
    for age in range(1, count + 1, 2):
        model.remove(str(age))
    model.tree._check()


def test_numbers_of_removed_nodes_are_used_again() -> None:
    model = Model()
    model.insert("a", 1.0, fresh(1))
    node = model.rows["a"][2]
    model.remove("a")

    model.insert("b", 2.0, fresh(2))

    assert model.rows["b"][2] == node
    model.check()


def test_item_of_a_removed_node_is_a_fault() -> None:
    model = Model()
    model.insert("a", 1.0, fresh(1))
    node = model.rows["a"][2]
    model.remove("a")

    with pytest.raises(AssertionError):
        model.tree.item(node)


@pytest.mark.parametrize("returns_at", [0, 1, 7, 15, 30])
def test_item_that_comes_back_with_an_older_age_takes_its_place(returns_at: int) -> None:
    model = Model()
    values = [float(at * 37 % 31) for at in range(31)]
    for age, value in enumerate(values):
        model.insert(str(age), value, fresh(age))
    model.remove(str(returns_at))
    model.check()

    model.insert(str(returns_at), values[returns_at], fresh(returns_at))

    model.check()


VALUES: tuple[Callable[[random.Random], float], ...] = (
    lambda rng: rng.random(),
    lambda rng: float(rng.randrange(4)),
    lambda rng: 1.0,
    lambda rng: -0.0 if rng.random() < 0.5 else 0.0,
)


@pytest.mark.parametrize("draw", VALUES, ids=["different", "few", "equal", "zeros"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_stress_of_inserts_removes_and_returns(
    draw: Callable[[random.Random], float], seed: int
) -> None:
    rng = random.Random(seed)
    model, gone = Model(), []
    for age in range(100):
        action = rng.random()
        if action < 0.35 and model.rows:
            name = rng.choice(list(model.rows))
            gone.append((name, *model.rows[name][:2]))
            model.remove(name)
        elif action < 0.5 and gone:
            model.insert(*gone.pop(rng.randrange(len(gone))))
        else:
            model.insert(str(age), draw(rng), fresh(age))
        model.check()


@st.composite
def operations(draw: st.DrawFn) -> list[tuple[str, int, float]]:
    """Draw inserts of any age, and removals by place."""
    operation = st.tuples(
        st.sampled_from(("insert", "insert", "remove")),
        st.integers(0, 10_000),
        st.integers(0, 8).map(float),
    )
    return draw(st.lists(operation, max_size=25))


@settings(deadline=None, max_examples=extent(20, 60))
@given(operations())
def test_any_order_of_ages_and_values_keeps_every_promise(
    drawn: list[tuple[str, int, float]],
) -> None:
    model = Model()
    for kind, age, value in drawn:
        if kind == "insert" and str(age) not in model.rows:
            model.insert(str(age), value, fresh(age))
        elif kind == "remove" and model.rows:
            names = list(model.rows)
            model.remove(names[age % len(names)])
        model.check()
