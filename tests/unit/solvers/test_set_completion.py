"""Completing a set outward from its first item."""

from collections.abc import Mapping, Sequence

from evenmatch.solvers.set_completion import (
    Accepts,
    CompletionBudget,
    CompletionProblem,
    Kind,
    MayFill,
    Pair,
    complete,
)


def problem(
    sizes: Sequence[int],
    target: int,
    fits: Pair | None = None,
    accepts: Accepts | None = None,
) -> CompletionProblem:
    return CompletionProblem([(size, 0) for size in sizes], target, adds_up(target), fits, accepts)


def adds_up(target: int) -> MayFill:
    """Return the exact answer where only the sum of sizes counts."""

    def may_fill(chosen: Mapping[Kind, int], left: Mapping[Kind, int]) -> bool:
        sums = {sum(size * count for (size, _), count in chosen.items())}
        for (size, _), count in left.items():
            sums = {have + size * n for have in sums for n in range(count + 1)}
        return target in sums

    return may_fill


def found(given: CompletionProblem, seatings: int = 1000) -> list[int] | None:
    return complete(given, CompletionBudget(seatings))


def test_early_items_are_preferred() -> None:
    assert found(problem([1, 1, 1, 1], 3)) == [0, 1, 2]


def test_item_that_is_too_large_for_the_rest_is_passed_over() -> None:
    assert found(problem([1, 2, 3, 1], 3)) == [0, 1]
    assert found(problem([2, 2, 1], 3)) == [0, 2]


def test_choice_that_would_lead_nowhere_is_never_made() -> None:
    # 2 then 2 leaves one seat that nobody fills; 2 then 3 fits.
    assert found(problem([2, 2, 3], 5)) == [0, 2]


def test_items_that_do_not_fit_each_other_are_never_in_one_set() -> None:
    def fits(one: int, two: int) -> bool:
        return {one, two} != {1, 2}

    assert found(problem([1, 1, 1, 1], 3, fits)) == [0, 1, 3]


def test_choice_that_fits_nobody_later_is_undone() -> None:
    def fits(one: int, two: int) -> bool:
        return 1 not in (one, two) or 0 in (one, two)

    assert found(problem([1, 1, 1, 1], 3, fits)) == [0, 2, 3]
    assert found(problem([1, 1, 1], 3, fits)) is None


def test_set_that_is_not_accepted_is_passed_over() -> None:
    assert found(problem([1, 1, 1], 2, accepts=lambda found: found == [0, 2])) == [0, 2]


def test_party_too_large_for_the_seats_left_is_passed_over_when_going_back() -> None:
    given = problem([1, 1, 2, 1, 1], 3, lambda a, b: True, lambda found: found == [0, 3, 4])

    assert found(given) == [0, 3, 4]


def test_first_item_alone_may_fill_the_target() -> None:
    assert found(problem([2, 1], 2)) == [0]
    assert found(problem([2, 1], 2, accepts=lambda found: False)) is None


def test_nothing_is_found_where_seats_stay_empty() -> None:
    assert found(problem([1, 1], 3)) is None
    assert found(problem([3], 2)) is None


def test_search_gives_up_after_its_seatings_and_says_so() -> None:
    def refuses(found: list[int]) -> bool:
        seen.append(list(found))
        return False

    seen: list[list[int]] = []
    budget = CompletionBudget(seatings=50)

    assert complete(problem([1] * 30, 3, accepts=refuses), budget) is None
    assert len(seen) == 50
    assert budget.gave_up


def test_search_gives_up_after_its_steps_and_says_so() -> None:
    looked_at = []

    def fits(one: int, two: int) -> bool:
        looked_at.append((one, two))
        return one // 20 != two // 20

    budget = CompletionBudget(seatings=9, steps=500)

    assert complete(problem([1] * 100, 9, fits), budget) is None
    assert budget.gave_up
    assert len(looked_at) <= 500 + 9 * 100


def test_search_that_looked_at_everything_did_not_give_up() -> None:
    budget = CompletionBudget(seatings=50)

    assert complete(problem([1] * 6, 3, accepts=lambda found: False), budget) is None
    assert not budget.gave_up


def test_kinds_that_are_hopeless_are_asked_about_once() -> None:
    asked = []

    def may_fill(chosen: Mapping[Kind, int], left: Mapping[Kind, int]) -> bool:
        asked.append(chosen)
        return chosen.get((1, 1), 0) <= 1

    kinds = [(1, 1)] * 1000 + [(1, 2)] * 2

    assert complete(CompletionProblem(kinds, 3, may_fill), CompletionBudget()) == [0, 1000, 1001]
    assert len(asked) == 4


def test_thousand_items_do_not_recurse() -> None:
    given = problem([1] * 1002, 1000, accepts=lambda found: found[-1] == 1001)

    assert complete(given, CompletionBudget(seatings=9, steps=10**6)) == [*range(999), 1001]
