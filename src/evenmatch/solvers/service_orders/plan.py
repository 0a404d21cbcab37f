"""Turn the name of a service order into the arrays that its kernels take."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice, product
from typing import Literal, NamedTuple

import numpy as np

from evenmatch.solvers.service_orders.choose import (
    BY_AGE,
    BY_WEIGHT,
    BY_YOUTH,
    OLDEST_FIRST,
    PartySets,
)
from evenmatch.solvers.service_orders.lines import Lines, make_lines
from evenmatch.solvers.service_orders.packs import HOW, NUMBERS, ServicePlan

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


def make_plan(layout: Layout, order: Order, theta: int = 0) -> ServicePlan | None:
    """Return the plan of an order for `packs.serve`; None if there are too many sets.

    Args:
        layout: Seats, sizes, sides and shape.
        order: Which of the feasible sets is served.
        theta: For `reserve`: the solos that must wait before a team may be all solos.

    Complexity:
        At most a second, with thousands of sets.
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
        return ServicePlan(teams, packs, made, numbers)
    table = match_sets(layout)
    if table is None:
        return None
    sets = _sets(table, layout.kinds)
    if order in ("largest", "reserve", "smallest", "max_weight"):
        sets.ranks[:] = _ranks(table, layout, is_largest=order != "smallest")
    if order == "reserve":
        sets.solos[:] = [theta * (lonely > 0) for lonely in table.values()]
    return ServicePlan(sets, _sets({}, [(1, 0)]), np.zeros(0, dtype=np.int64), numbers)


def make_pools(plan: ServicePlan, slots: int) -> tuple[Lines, Lines]:
    """Return empty lines of parties and of packs for a plan."""
    is_packing = plan.made.shape[0] > 0
    packs = make_lines(slots if is_packing else 1, plan.packs.needs.shape[1])
    return make_lines(slots, plan.parties.needs.shape[1]), packs


def _sets(table: Collection[Numbers], kinds: Collection[Kind]) -> PartySets:
    """Return sets as arrays, without any preference."""
    needs = np.array(list(table), dtype=np.int64).reshape(len(table), len(kinds))
    sizes = np.array([size for size, _ in kinds], dtype=np.int64)
    work = np.zeros((3, max(len(table), len(kinds), 1)), dtype=np.int64)
    none = np.zeros(len(table), dtype=np.int64)
    return PartySets(needs, none, none.copy(), sizes, work)


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


# All numbers of parties, by kind, that fill the teams of a match: the choices of service orders.
#
# A kind is (size, label): label 0 is flexible, label t insists on team t (from 1). A set says how
# many parties of each kind play, such as `(2, 1)`, and a **filling** is a set for one team.

Shape = Literal["any", "mirrored", "unmixed"]
"""Any teams; teams of the same party sizes; or teams that each have parties of one size only."""
Kind = tuple[int, int]
Numbers = tuple[int, ...]
"""Parties of each kind, or of each size."""
Table = Mapping[Numbers, int]
"""Sets, each with the fewest teams of solos alone into which it can be divided."""

SETS_MAX = 20_000
"""Most sets; each arrival may examine all of them."""
STEPS_MAX = 1_000_000
"""Most fillings, and sums of them, examined to find the sets."""


class Layout(NamedTuple):
    """The parties that fit into a match.

    Args:
        seats: Seats of each team.
        sizes: Sizes of the parties that may arrive, ascending.
        named: Whether parties may insist on a team.
        shape: Which teams are legal.
    """

    seats: tuple[int, ...]
    sizes: tuple[int, ...]
    named: bool
    shape: Shape = "any"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Return all kinds; the labels of a size stand together."""
        labels = range(len(self.seats) + 1) if self.named else range(1)
        return tuple((size, label) for size in self.sizes for label in labels)


class TeamPacking(NamedTuple):
    """How packed teams fill matches, in two steps.

    Args:
        teams: Sets that fill one team, each with the kind of pack that it makes.
        matches: Sets of packs that fill a match, by kind of pack.
        kinds: Number of kinds of packs.
    """

    teams: Mapping[Numbers, int]
    matches: Table
    kinds: int


class _TooManyError(Exception):
    """There are more sets than a decision can examine."""


@lru_cache(maxsize=64)
def match_sets(layout: Layout) -> Table | None:
    """Return the sets that fill a match; None if there are too many of them.

    >>> sorted(match_sets(Layout((2, 2), (1, 2), False)))
    [(0, 2), (2, 1), (4, 0)]
    """
    try:
        if layout.shape != "mirrored":
            return _sums([_fillings(layout, team) for team in range(len(layout.seats))])
        found: dict[Numbers, int] = {}
        for parts in _partitions(layout, layout.seats[0]):
            teams = [_named(layout, team, parts) for team in range(len(layout.seats))]
            _merge(found, _sums(teams))
        return found
    except _TooManyError:
        return None


@lru_cache(maxsize=64)
def packing_sets(layout: Layout) -> TeamPacking | None:
    """Return how packed teams of the same number of seats fill a match; None if too many ways.

    >>> packing_sets(Layout((3, 3), (1, 2, 3), False)).teams
    {(0, 0, 1): 0, (1, 1, 0): 0, (3, 0, 0): 0}
    """
    teams: dict[Numbers, int] = {}
    matches: dict[Numbers, int] = {}
    labels = len(layout.seats) + 1 if layout.named else 1
    alike = [*islice(_partitions(layout, layout.seats[0]), SETS_MAX + 1)]
    groups = [[parts] for parts in alike] if layout.shape == "mirrored" else [alike]
    kinds = labels * len(groups)
    try:
        for place, group in enumerate(groups):
            packs = []
            for team in range(len(layout.seats)):
                for parts in group:
                    for numbers in _named(layout, team, parts):
                        label = _label_of(layout, numbers)
                        teams[numbers] = place * labels + label
                own = {0, team + 1} if layout.named else {0}
                packs.append({_one(kinds, place * labels + each): 0 for each in sorted(own)})
                if len(teams) > SETS_MAX:
                    return None
            _merge(matches, _sums(packs))
    except _TooManyError:
        return None
    return TeamPacking(teams, matches, kinds)


def _fillings(layout: Layout, team: int) -> Table:
    """Return the fillings of one team by all partitions."""
    found: dict[Numbers, int] = {}
    for parts in _partitions(layout, layout.seats[team]):
        _merge(found, _named(layout, team, parts))
    return found


def _partitions(layout: Layout, seats: int) -> Iterator[Numbers]:
    """Yield the ways to fill a team: parties of each size."""
    sizes = layout.sizes
    if layout.shape == "unmixed":
        for size in reversed(sizes):
            if seats % size == 0:
                yield tuple(seats // size if each == size else 0 for each in sizes)
        return

    def walk(place: int, left: int) -> Iterator[Numbers]:
        if place < 0:
            if left == 0:
                yield ()
            return
        for count in range(left // sizes[place], -1, -1):
            for smaller in walk(place - 1, left - count * sizes[place]):
                yield (*smaller, count)

    yield from walk(len(sizes) - 1, seats)


def _named(layout: Layout, team: int, parts: Numbers) -> Table:
    """Return the fillings of a team by parties of these sizes, whether they insist on it or not."""
    of_solos = layout.seats[team] > 1 and _is_of_solos(layout, parts)
    if not layout.named:
        return {parts: int(of_solos)}
    found = {}
    for insisting in product(*(range(count + 1) for count in parts)):
        numbers: list[int] = []
        for count, own in zip(parts, insisting, strict=True):
            by_label = [0] * (len(layout.seats) + 1)
            by_label[0], by_label[team + 1] = count - own, own
            numbers += by_label
        found[tuple(numbers)] = int(of_solos)
        if len(found) > SETS_MAX:
            raise _TooManyError
    return found


def _is_of_solos(layout: Layout, parts: Numbers) -> bool:
    return all(size == 1 or not count for size, count in zip(layout.sizes, parts, strict=True))


def _label_of(layout: Layout, numbers: Numbers) -> int:
    """Return the team that a party of a filling insists on, 0 if none does."""
    return max(label for (_, label), count in zip(layout.kinds, numbers, strict=True) if count)


def _one(length: int, place: int) -> Numbers:
    return tuple(int(each == place) for each in range(length))


def _sums(teams: Iterable[Table]) -> dict[Numbers, int]:
    """Return all sums of one filling for each team, with the fewest teams of solos."""
    sums: dict[Numbers, int] = {}
    steps = 0
    for number, team in enumerate(teams):
        if number == 0:
            sums = dict(team)
            continue
        wider: dict[Numbers, int] = {}
        steps += len(sums) * len(team)
        if steps > STEPS_MAX:
            raise _TooManyError
        for (one, lonely), (other, more) in product(sums.items(), team.items()):
            total = tuple([a + b for a, b in zip(one, other, strict=True)])
            wider[total] = min(wider.get(total, lonely + more), lonely + more)
        if len(wider) > SETS_MAX:
            raise _TooManyError
        sums = wider
    return sums


def _merge(found: dict[Numbers, int], more: Table) -> None:
    for numbers, lonely in more.items():
        found[numbers] = min(found.get(numbers, lonely), lonely)
    if len(found) > SETS_MAX:
        raise _TooManyError
