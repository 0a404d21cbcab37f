"""The sets that service orders choose from."""

import pytest

from evenmatch.solvers.service_orders.plan import (
    SETS_MAX,
    Layout,
    Shape,
    make_plan,
    match_sets,
    packing_sets,
)


def sizes(k: int) -> tuple[int, ...]:
    return tuple(range(1, k + 1))


def test_three_against_three_play_with_any_two_of_three_teams() -> None:
    found = match_sets(Layout((3, 3), sizes(3), False))
    assert found is not None
    # By set: how many teams of solos it cannot do without.
    assert dict(found) == {
        (0, 0, 2): 0,
        (1, 1, 1): 0,
        (3, 0, 1): 1,
        (2, 2, 0): 0,
        (4, 1, 0): 1,
        (6, 0, 0): 2,
    }


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("mirrored", {(0, 0, 0, 2), (2, 0, 2, 0), (0, 4, 0, 0), (4, 2, 0, 0), (8, 0, 0, 0)}),
        (
            "unmixed",
            {(0, 0, 0, 2), (0, 2, 0, 1), (4, 0, 0, 1), (0, 4, 0, 0), (4, 2, 0, 0), (8, 0, 0, 0)},
        ),
    ],
)
def test_shapes_leave_out_sets(shape: Shape, expected: set[tuple[int, ...]]) -> None:
    assert set(match_sets(Layout((4, 4), sizes(4), False, shape)) or ()) == expected


def test_five_against_five_have_few_sets() -> None:
    assert len(match_sets(Layout((5, 5), sizes(5), False)) or ()) == 25
    assert len(match_sets(Layout((5, 5), sizes(5), True)) or ()) == 1_132


def test_party_that_insists_on_a_team_plays_in_that_one() -> None:
    found = match_sets(Layout((1, 1), (1,), True))
    # Flexible, first team, second team.
    assert set(found or ()) == {(2, 0, 0), (1, 1, 0), (1, 0, 1), (0, 1, 1)}


def test_uneven_teams_are_filled() -> None:
    assert set(match_sets(Layout((1, 3), sizes(3), False)) or ()) == {
        (1, 0, 1),
        (2, 1, 0),
        (4, 0, 0),
    }


def test_packs_remember_the_side_that_somebody_insists_on() -> None:
    found = packing_sets(Layout((2, 2), (1, 2), True))
    assert found is not None
    assert found.kinds == 3
    # Solos, then pairs: flexible, first team, second team.
    assert found.teams[(2, 0, 0, 0, 0, 0)] == 0
    assert found.teams[(1, 1, 0, 0, 0, 0)] == 1
    assert found.teams[(0, 0, 0, 0, 0, 1)] == 2
    assert (1, 1, 0) in found.matches
    assert (0, 2, 0) not in found.matches


def test_packs_of_mirrored_teams_meet_their_like() -> None:
    found = packing_sets(Layout((2, 2), (1, 2), False, "mirrored"))
    assert found is not None
    assert set(found.matches) == {(2, 0), (0, 2)}


def test_more_sets_than_anybody_looks_at_are_not_made() -> None:
    assert SETS_MAX == 20_000
    for many in (Layout((30, 30), sizes(30), False), Layout((12, 12), sizes(12), True)):
        assert match_sets(many) is None
        assert make_plan(many, "oldest") is None


def test_ranks_go_by_the_largest_or_the_smallest_parties() -> None:
    layout = Layout((3, 3), sizes(3), False)
    ranked = {}
    for order in ("largest", "smallest"):
        plan = make_plan(layout, order)  # type: ignore[arg-type]
        assert plan is not None
        needs, ranks = plan[0][:2]
        ranked[order] = [tuple(row) for _, row in sorted(zip(ranks, needs.tolist(), strict=True))]
    assert ranked["largest"][-1] == (0, 0, 2)
    assert ranked["smallest"][-1] == (6, 0, 0)
