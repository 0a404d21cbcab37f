"""Completing a set outward from its first item."""

from evenmatch.solvers.fill import complete


def anything(found: list[int]) -> bool:
    return True


def any_two(one: int, two: int) -> bool:
    return True


def test_early_items_are_preferred() -> None:
    assert complete([1, 1, 1, 1], 3, any_two, anything) == [0, 1, 2]


def test_item_that_is_too_large_for_the_rest_is_passed_over() -> None:
    assert complete([1, 2, 3, 1], 3, any_two, anything) == [0, 1]
    assert complete([2, 2, 1], 3, any_two, anything) == [0, 2]


def test_choice_that_leads_nowhere_is_undone() -> None:
    # 2 then 2 leaves one seat that nobody fills; 2 then 3 fits.
    assert complete([2, 2, 3], 5, any_two, anything) == [0, 2]


def test_items_that_do_not_fit_each_other_are_never_in_one_set() -> None:
    def fits(one: int, two: int) -> bool:
        return {one, two} != {1, 2}

    assert complete([1, 1, 1, 1], 3, fits, anything) == [0, 1, 3]


def test_set_that_is_not_accepted_is_passed_over() -> None:
    assert complete([1, 1, 1], 2, any_two, lambda found: found == [0, 2]) == [0, 2]


def test_first_item_alone_may_fill_the_target() -> None:
    assert complete([2, 1], 2, any_two, anything) == [0]


def test_nothing_is_found_where_seats_stay_empty() -> None:
    assert complete([1, 1], 3, any_two, anything) is None
    assert complete([3], 2, any_two, anything) is None


def test_search_gives_up_after_its_steps() -> None:
    def refuses(found: list[int]) -> bool:
        seen.append(list(found))
        return False

    seen: list[list[int]] = []

    assert complete([1] * 30, 3, any_two, refuses, steps_max=50) is None
    assert len(seen) <= 50
    assert complete([1] * 30, 3, any_two, refuses, steps_max=0) is None
