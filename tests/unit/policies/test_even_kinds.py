"""Even teams out of equal pairs, against the search over all divisions and against brute force."""

import random
from collections import Counter
from itertools import combinations

import pytest

from evenmatch.model.queue import Criterion, Format, Queue, Scale
from evenmatch.policies.shared.balance import Balance, BalanceEntry
from evenmatch.policies.shared.even_sets import KindPool, TeamPool


def crowd(rng: random.Random, count: int, kinds: int, sizes: tuple[int, ...]) -> list[BalanceEntry]:
    return [
        BalanceEntry(float(rng.randrange(kinds)), float(at), at, rng.choice(sizes), str(at))
        for at in range(count)
    ]


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("seed", range(5))
def test_of_two_skills_it_finds_what_a_search_finds(n: int, seed: int) -> None:
    criterion = Criterion("imbalance", "rating", measure="sum", scale=Scale("none"))
    queue = Queue(format=Format((n, n)), criteria=(criterion,))
    few, all_ = KindPool(n), TeamPool(Balance(queue, "patient"))
    played = 0
    for entry in crowd(random.Random(seed), 60 * n, 2, (1,)):
        found, expected = few.best(entry, 0.0), all_.best(entry, 0.0)
        if expected is None or found is None:
            assert found is expected
            few.add(entry)
            all_.add(entry)
            continue
        played += 1
        assert sorted(found.others) == sorted(expected.others)
        for other in found.others:
            few.remove(other)
            all_.remove(other)
    assert played > 20


def longest(entry: BalanceEntry, pool: list[BalanceEntry], n: int) -> list[BalanceEntry] | None:
    """Return the longest waiting who come in pairs with a newcomer and fill two teams."""
    found = []
    for count in range(1, 2 * n):
        for others in combinations(pool, count):
            together = [entry, *others]
            kinds = Counter((each.value, each.size) for each in together)
            if sum(each.size for each in together) == 2 * n and not any(
                number % 2 for number in kinds.values()
            ):
                found.append(sorted(others, key=lambda each: each.age_key))
    waiting = [each.id for each in pool]
    return max(
        found, key=lambda those: [name in {t.id for t in those} for name in waiting], default=None
    )


@pytest.mark.parametrize("seed", range(8))
def test_parties_and_several_skills_play_as_by_brute_force(seed: int) -> None:
    n, pool, waiting, played = 4, KindPool(4), [], 0
    for entry in crowd(random.Random(seed), 60, 3, (1, 2, 3)):
        expected = longest(entry, waiting[:10], n) if len(waiting) <= 10 else None
        found = pool.best(entry, 0.0)
        if len(waiting) <= 10:
            assert (None if found is None else found.others) == expected
        if found is None:
            pool.add(entry)
            waiting.append(entry)
            continue
        played += 1
        for other in found.others:
            pool.remove(other)
            waiting.remove(other)
    assert played
