"""From the name of a service order to the arrays that its kernels take."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Literal

import numpy as np

from evenmatch.solvers.service_orders.choose import BY_AGE, BY_WEIGHT, BY_YOUTH, OLDEST_FIRST, Sets
from evenmatch.solvers.service_orders.lines import Lines, make_lines
from evenmatch.solvers.service_orders.packs import HOW, NUMBERS, Plan
from evenmatch.solvers.service_orders.sets import (
    Kind,
    Layout,
    Numbers,
    Table,
    match_sets,
    packing_sets,
)

Order = Literal[
    "oldest",
    "lifo",
    "packing",
    "largest",
    "smallest",
    "head_of_line",
    "max_weight",
    "reserve",
]
HOW_OF = {"lifo": BY_YOUTH, "head_of_line": OLDEST_FIRST, "max_weight": BY_WEIGHT}
"""How the orders choose that do not go by age alone."""


def make_plan(layout: Layout, order: Order, theta: int = 0) -> Plan | None:
    """Return the plan of an order, as `packs.serve` takes it; None if there are too many sets.

    Args:
        layout: Seats, sizes, sides and shape.
        order: Which of the feasible sets is served.
        theta: For `reserve`: the solos that must wait before some make a team alone.

    Complexity:
        A second at the most, where there are thousands of sets.
    """
    numbers = np.zeros(NUMBERS, dtype=np.int64)
    numbers[HOW] = HOW_OF.get(order, BY_AGE)
    if order == "packing":
        packing = packing_sets(layout)
        if packing is None:
            return None
        teams = _sets(packing.teams, layout.kinds)
        packs = _sets(packing.matches, [(1, 0)] * packing.kinds)
        made = np.array(list(packing.teams.values()), dtype=np.int64)
        return teams, packs, made, numbers
    table = match_sets(layout)
    if table is None:
        return None
    sets = _sets(table, layout.kinds)
    if order in ("largest", "reserve", "smallest", "max_weight"):
        sets[1][:] = _ranks(table, layout, is_largest=order != "smallest")
    if order == "reserve":
        sets[2][:] = [theta * (lonely > 0) for lonely in table.values()]
    return sets, _sets({}, [(1, 0)]), np.zeros(0, dtype=np.int64), numbers


def make_pools(plan: Plan, slots: int) -> tuple[Lines, Lines]:
    """Return empty lines of parties and of packs for a plan."""
    is_packing = plan[2].shape[0] > 0
    packs = make_lines(slots if is_packing else 1, plan[1][0].shape[1])
    return make_lines(slots, plan[0][0].shape[1]), packs


def _sets(table: Collection[Numbers], kinds: Collection[Kind]) -> Sets:
    """Return sets as arrays, without any preference."""
    needs = np.array(list(table), dtype=np.int64).reshape(len(table), len(kinds))
    sizes = np.array([size for size, _ in kinds], dtype=np.int64)
    work = np.zeros((3, max(len(table), len(kinds), 1)), dtype=np.int64)
    none = np.zeros(len(table), dtype=np.int64)
    return needs, none, none.copy(), sizes, work


def _ranks(table: Table, layout: Layout, *, is_largest: bool) -> list[int]:
    """Return a rank for each set: more of the largest parties first, or of the smallest."""
    sizes = layout.sizes[::-1] if is_largest else layout.sizes

    def by_size(numbers: Numbers) -> Numbers:
        counts = dict.fromkeys(sizes, 0)
        for (size, _), count in zip(layout.kinds, numbers, strict=True):
            counts[size] += count
        return tuple(counts.values())

    place = _places(by_size, table)
    return [place[by_size(numbers)] for numbers in table]


def _places(key: Callable[[Numbers], Numbers], table: Table) -> dict[Numbers, int]:
    return {each: rank for rank, each in enumerate(sorted({key(numbers) for numbers in table}))}
