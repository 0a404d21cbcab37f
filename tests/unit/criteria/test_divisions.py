"""The ways to divide tickets into teams, counted and compared with brute force."""

from collections.abc import Sequence
from itertools import combinations, product
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.criteria.divisions import (
    DIVISIONS_MAX,
    Room,
    division_tables,
    divisions,
    even_layout,
    two_teams,
    unevenness,
)
from evenmatch.criteria.team_packing import Division, Kind, counts_of, fillable
from tests.extent import extent

FREE = (None,) * 20


def full(*seats: int, named: bool = False) -> Room:
    """Return teams that must be filled."""
    return Room(seats, seats, named)


def count(sizes: list[int], seats: tuple[int, ...], *, named: bool = False, spare: int = 0) -> int:
    return len(list(divisions(sizes, Room(seats, seats, named), FREE, spare=spare)))


def brute_force(
    sizes: list[int], seats: tuple[int, ...], wanted: list[int | None], named: bool
) -> set[Division]:
    """Try every team for every party; teams of one size in the order of their first party."""
    found = set()
    for choice in product(range(len(seats)), repeat=len(sizes)):
        teams = tuple(
            tuple(p for p, t in enumerate(choice) if t == team) for team in range(len(seats))
        )
        filled = [sum(sizes[p] for p in team) for team in teams]
        if any(full > room for full, room in zip(filled, seats, strict=True)):
            continue
        if any(side not in (None, at) for side, at in zip(wanted, choice, strict=True)):
            continue
        found.add(teams if named else canonical(teams, seats))
    return found


def canonical(teams: Division, seats: tuple[int, ...]) -> Division:
    """Sort the teams of equal size by their first party; empty teams come last."""
    result = list(teams)
    for size in set(seats):
        places = [at for at, room in enumerate(seats) if room == size]
        alike = sorted((teams[at] for at in places), key=lambda team: team or (99,))
        for at, team in zip(places, alike, strict=True):
            result[at] = team
    return tuple(result)


def test_ten_solos_make_126_divisions_of_five_against_five() -> None:
    assert count([1] * 10, (5, 5)) == 126


def test_named_sides_double_the_divisions() -> None:
    assert count([1] * 10, (5, 5), named=True) == 252


def test_six_solos_make_15_divisions_into_three_teams_of_two() -> None:
    assert count([1] * 6, (2, 2, 2)) == 15


def test_one_against_four_has_a_division_for_each_player() -> None:
    assert count([1] * 5, (1, 4)) == 5


def test_party_is_never_split() -> None:
    found = list(divisions([1, 1, 2], full(2, 2), FREE))

    assert found == [((0, 1), (2,))]


def test_parties_that_fit_no_team_together_have_no_division() -> None:
    assert count([3, 3, 2, 2], (5, 5)) == 2
    assert count([3, 3, 3, 1], (5, 5)) == 0


def test_first_division_seats_parties_in_order() -> None:
    assert next(divisions([1] * 4, full(2, 2), FREE)) == ((0, 1), (2, 3))


def test_party_sits_on_the_side_that_it_wants() -> None:
    found = list(divisions([1, 1, 1, 1], full(2, 2, named=True), [1, None, None, 0]))

    assert found == [((1, 3), (0, 2)), ((2, 3), (0, 1))]


def test_two_who_want_one_seat_have_no_division() -> None:
    assert list(divisions([1, 1], full(1, 1, named=True), [0, 0])) == []


def test_spare_seats_stay_free() -> None:
    found = list(divisions([1, 1, 1], full(2, 2), FREE, spare=1))

    assert found == [((0, 1), (2,)), ((0, 2), (1,)), ((0,), (1, 2))]


@pytest.mark.parametrize(("sizes", "spare"), [([1, 1, 1], 0), ([1] * 5, 0), ([1] * 4, 1), ([], 0)])
def test_parties_that_do_not_fill_the_seats_have_no_division(sizes: list[int], spare: int) -> None:
    assert count(sizes, (2, 2), spare=spare) == 0


def test_search_stops_after_its_limit() -> None:
    assert comb(20, 10) // 2 > DIVISIONS_MAX

    assert count([1] * 20, (10, 10)) == DIVISIONS_MAX


@st.composite
def seatings(draw: st.DrawFn) -> tuple[list[int], tuple[int, ...], list[int | None], bool]:
    """Draw parties, seats and wishes; wishes only where teams have names."""
    seats = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=6))
    named = draw(st.booleans())
    wish = st.none() | st.integers(0, len(seats) - 1) if named else st.none()
    wanted = draw(st.lists(wish, min_size=len(sizes), max_size=len(sizes)))
    return sizes, seats, wanted, named


@settings(deadline=None, max_examples=extent(20, 60))
@given(seatings())
def test_divisions_are_exactly_those_of_brute_force(
    drawn: tuple[list[int], tuple[int, ...], list[int | None], bool],
) -> None:
    sizes, seats, wanted, named = drawn
    spare = sum(seats) - sum(sizes)

    found = list(divisions(sizes, Room(seats, seats, named), wanted, spare=spare))

    kept = found if named else [canonical(division, seats) for division in found]
    assert len(set(kept)) == len(kept)
    assert set(kept) == (brute_force(sizes, seats, wanted, named) if spare >= 0 else set())


@pytest.mark.parametrize(
    ("sizes", "seats"),
    [
        ([3] * 21 + [1], (32, 32)),
        ([2] * 25, (25, 25)),
        ([3] * 13 + [1], (20, 20)),
        ([2] * 500, (499, 501)),
        ([3, 3, 2] * 50, (5,) * 80),
        ([2] * 75 + [4] * 5 + [3] * 10, (5,) * 40),
    ],
)
def test_impossible_division_of_a_large_match_is_seen_at_once(
    sizes: list[int], seats: tuple[int, ...]
) -> None:
    # Depth first over parties, each of these takes longer than anyone waits.
    assert sum(sizes) == sum(seats)

    assert list(divisions(sizes, full(*seats), [None] * len(sizes))) == []


@pytest.mark.parametrize(
    ("sizes", "seats"),
    [
        ([1] * 1000, (500, 500)),
        ([2] * 500, (500, 500)),
        ([2, 3] * 200, (500, 500)),
        ([3] * 20 + [1] * 4, (32, 32)),
        ([3, 2] * 20, (5,) * 20),
        ([2, 2, 3, 3] * 10, (5,) * 20),
    ],
)
def test_first_division_of_a_large_match_needs_no_search(
    sizes: list[int], seats: tuple[int, ...]
) -> None:
    found = next(divisions(sizes, full(*seats), [None] * len(sizes)))

    assert [sum(sizes[party] for party in team) for team in found] == list(seats)
    assert sorted(party for team in found for party in team) == list(range(len(sizes)))


@st.composite
def fillings(draw: st.DrawFn) -> tuple[list[Kind], list[Kind], tuple[int, ...]]:
    """Draw chosen parties, parties left, and seats."""
    seats = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    kind = st.tuples(st.integers(1, 4), st.integers(-1, len(seats) - 1))
    chosen = draw(st.lists(kind, min_size=1, max_size=3))
    return chosen, draw(st.lists(kind, max_size=5)), seats


@settings(deadline=None, max_examples=extent(75, 300))
@given(fillings())
def test_fillable_says_what_brute_force_says(
    drawn: tuple[list[Kind], list[Kind], tuple[int, ...]],
) -> None:
    chosen, left, seats = drawn

    wholes = [[*chosen, *more] for n in range(6) for more in combinations(left, n)]
    expected = any(
        brute_force([k for k, _ in whole], seats, [t if t >= 0 else None for _, t in whole], True)
        for whole in wholes
        if sum(size for size, _ in whole) == sum(seats)
    )

    assert fillable(counts_of(chosen), counts_of(left), seats) is expected


@st.composite
def rooms(draw: st.DrawFn) -> tuple[list[int], Room, list[int | None], int]:
    """Draw parties, teams that need not be full, wishes, and bots."""
    count = draw(st.integers(1, 3))
    room = [draw(st.integers(1, 3)) for _ in range(count)]
    least = [draw(st.integers(0, seats)) for seats in room]
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=5))
    named = draw(st.booleans())
    wish = st.none() | st.integers(0, count - 1) if named else st.none()
    wanted = draw(st.lists(wish, min_size=len(sizes), max_size=len(sizes)))
    return sizes, Room(tuple(room), tuple(least), named), wanted, draw(st.integers(0, 2))


def may_start(division: Division, sizes: list[int], room: Room, bots: int) -> bool:
    """Say whether bots can bring every team to its minimum without a seat too few."""
    filled = [sum(sizes[party] for party in team) for team in division]
    missing = sum(max(0, low - count) for low, count in zip(room.least, filled, strict=True))
    free = sum(room.seats) - sum(filled)
    return missing <= bots <= free


def alike(division: Division, room: Room) -> tuple[object, ...]:
    """Return the division without the order of interchangeable teams."""
    if room.named:
        return division
    kinds = zip(room.seats, room.least, division, strict=True)
    return tuple(sorted(kinds, key=lambda each: (each[0], each[1], each[2] or (99,))))


@settings(deadline=None, max_examples=extent(50, 200))
@given(rooms())
def test_divisions_of_matches_that_need_not_be_full_are_those_of_brute_force(
    drawn: tuple[list[int], Room, list[int | None], int],
) -> None:
    sizes, room, wanted, bots = drawn

    found = list(divisions(sizes, room, wanted, spare=bots))

    every = brute_force(sizes, room.seats, wanted, named=True)
    expected = {alike(d, room) for d in every if may_start(d, sizes, room, bots)}
    assert {alike(division, room) for division in found} == expected
    assert len(found) == len(expected)


@settings(deadline=None, max_examples=extent(50, 200))
@given(rooms())
def test_two_teams_are_divided_at_once_as_one_after_the_other(
    drawn: tuple[list[int], Room, list[int | None], int],
) -> None:
    sizes, (seats, least, named), wanted, _ = drawn
    room = Room((*seats, 3)[:2], (*least, 1)[:2], named)
    wishes = tuple(None if team is None else min(team, 1) for team in wanted)

    at_once = two_teams(tuple(sizes), room, wishes)

    walked = division_tables(sizes, divisions(sizes, room, wishes), room.seats)
    assert [table.layout for table in at_once] == [table.layout for table in walked]
    for one, other in zip(at_once, walked, strict=True):
        assert one.orders.tolist() == other.orders.tolist()


def test_even_layouts_come_first() -> None:
    tables = two_teams((1,) * 4, Room((3, 3), (1, 1)), (None,) * 4)

    assert [table.layout for table in tables] == [(2, 2), (3, 1), (1, 3)]


def test_fewer_teams_of_one_size_are_as_even_and_come_first() -> None:
    assert unevenness((2, 2, 0), (2, 2, 2)) < unevenness((2, 1, 1), (2, 2, 2))


@pytest.mark.parametrize("players", range(2, 13))
def test_even_layout_is_the_most_even_of_all(players: int) -> None:
    room = Room((2, 4, 3, 3), (1, 1, 0, 0))
    possible = [
        layout
        for layout in product(*[range(low, top + 1) for low, top in zip(*room[1::-1], strict=True)])
        if sum(layout) == players
    ]

    best = min(unevenness(layout, room.seats)[0] for layout in possible)

    found = even_layout(players, room)
    assert found in possible
    assert unevenness(found, room.seats)[0] <= best + 0.26  # one player of a team of four


def test_walk_that_finds_no_team_in_time_gives_up() -> None:
    sizes = [1] * 30

    def nobody_with_the_last(team: Sequence[int]) -> bool:
        return 29 not in team

    assert list(divisions(sizes, full(15, 15), [None] * 30, may_share=nobody_with_the_last)) == []
