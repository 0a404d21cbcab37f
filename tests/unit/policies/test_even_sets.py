"""The search for the most even set: its table of divisions, and its limits."""

from itertools import product

import pytest

from evenmatch.model.queue import Criterion, Format, Queue, Scale
from evenmatch.policies.shared.balance import Balance, BalanceEntry
from evenmatch.policies.shared.even_sets import ROWS_MAX, TeamPool, divisions


def balance(n: int) -> Balance:
    criterion = Criterion("imbalance", "rating", measure="sum", scale=Scale("none"))
    return Balance(Queue(format=Format((n, n)), criteria=(criterion,)), "patient")


def entry(number: int, value: float, size: int = 1) -> BalanceEntry:
    return BalanceEntry(value, float(number), number, size, str(number))


@pytest.mark.parametrize(
    ("players", "own", "sizes"),
    [
        (1, 1, (1, 1, 1)),
        (2, 1, (1,) * 5),
        (2, 2, (2, 1, 1, 1)),
        (3, 1, (2, 2, 1, 1, 1)),
        (3, 2, (3, 2, 2, 1)),
        (3, 3, (2, 2, 2)),
    ],
)
def test_table_has_every_division_once(players: int, own: int, sizes: tuple[int, ...]) -> None:
    expected = []
    for signs in product((-1, 0, 1), repeat=len(sizes)):
        mine = own + sum(size for size, sign in zip(sizes, signs, strict=True) if sign == 1)
        theirs = sum(size for size, sign in zip(sizes, signs, strict=True) if sign == -1)
        if mine == theirs == players:
            expected.append(list(signs))
    found = divisions(players, own, sizes)
    assert found is not None
    assert sorted(found.tolist()) == sorted(expected)


@pytest.mark.parametrize(
    ("players", "most"), [(2, 24), (3, 15), (4, 12), (5, 12), (6, 12), (7, 14)]
)
def test_as_many_solo_players_are_tried_as_the_pages_say(players: int, most: int) -> None:
    pool = TeamPool(balance(players))
    for number in range(30):
        pool.add(entry(number, 2.0**number))
    candidates, signs = pool._tried(entry(30, 0.5))
    assert [each.sequence for each in candidates] == list(range(most))
    assert len(signs) <= ROWS_MAX


def test_with_all_of_two_types_two_teams_are_always_tried_whole() -> None:
    for players in range(1, 8):
        assert divisions(players, 1, (1,) * (2 * players)) is not None


def test_those_who_are_alike_do_not_crowd_out_others() -> None:
    pool = TeamPool(balance(2))
    for number in range(40):
        pool.add(entry(number, 1.0))
    pool.add(entry(40, 0.25))
    pool.add(entry(41, 0.5))
    found = pool.best(entry(42, 1.25), 0.0)
    # 1.25 + .25 = 1 + .5
    assert found is not None
    assert sorted(each.sequence for each in found.others) == [0, 40, 41]


def test_too_few_to_fill_two_teams_do_not_play() -> None:
    pool = TeamPool(balance(2))
    pool.add(entry(1, 1.0))
    pool.add(entry(2, 1.0))
    assert pool.best(entry(3, 1.0), 10.0) is None
    pool.add(entry(4, 1.0, size=2))
    found = pool.best(entry(3, 1.0), 10.0)
    assert found is not None
    assert sorted(each.sequence for each in found.others) == [1, 4]
