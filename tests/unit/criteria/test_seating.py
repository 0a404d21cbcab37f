"""Seating in every kind of format: roles, free seats, uneven teams, many teams."""

import math
from itertools import permutations, product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.criteria.objective import Objective
from evenmatch.criteria.roles import assign_roles, ranks_of
from evenmatch.model.queue import Criterion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import Player, Rating, Ticket
from evenmatch.testing import ticket
from tests.extent import extent

IMBALANCE = Criterion("imbalance", "rating", scale=Scale("capped", max=1000.0))
TEAM = (("tank", 1), ("dps", 3), ("healer", 1))
NAMES = tuple(name for name, _ in TEAM)


def player(name: str, rating: float = 1500.0, *roles: str) -> Player:
    return Player(name, Rating(rating), roles=roles)


def solos(*ratings: float) -> list[Ticket]:
    return [
        ticket(f"t{n}", player(f"p{n}", rating), at=n, sequence=n)
        for n, rating in enumerate(ratings, 1)
    ]


def sizes_of(objective: Objective, tickets: list[Ticket], bots: int = 0) -> list[int] | None:
    seating = objective.seat(tickets, bots)
    return None if seating is None else [sum(t.size for t in team) for team in seating.teams]


def drawn_parties(rng: Random, sizes: list[int]) -> list[Ticket]:
    """Return parties whose players accept one to three roles, or any."""
    found = []
    for number, size in enumerate(sizes, 1):
        people = [
            player(f"p{number}{n}", rng.uniform(1000, 2000), *rng.sample(NAMES, rng.randrange(4)))
            for n in range(size)
        ]
        found.append(ticket(f"t{number}", *people, at=number, sequence=number))
    return found


def brute_force(tickets: list[Ticket], form: Format) -> float:
    """Return the least difference of team means over all legal divisions; inf without any."""
    best = math.inf
    for choice in product(range(len(form.players)), repeat=len(tickets)):
        teams = [
            [t for t, own in zip(tickets, choice, strict=True) if own == at]
            for at in range(len(form.players))
        ]
        counts = [sum(t.size for t in team) for team in teams]
        limits = zip(form.least_players, counts, form.players, strict=True)
        if not all(low <= count <= top for low, count, top in limits):
            continue
        if form.roles and not all(may_play(team) for team in teams):
            continue
        means = [
            sum(p.rating.mean for t in team for p in t.players) / count  # type: ignore[union-attr]
            for team, count in zip(teams, counts, strict=True)
            if count
        ]
        best = min(best, max(means) - min(means))
    return best


def may_play(team: list[Ticket]) -> bool:
    """Try every way to give the roles of the team to its players."""
    ranks = [ranks_of(p, TEAM) for t in team for p in t.players]
    seats = [role for role, (_, count) in enumerate(TEAM) for _ in range(count)]
    return any(
        all(rank[role] < math.inf for rank, role in zip(ranks, order, strict=True))
        for order in set(permutations(seats, len(ranks)))
    )


@pytest.mark.parametrize("seed", range(25))
def test_five_against_five_with_roles_and_parties_is_seated_best(seed: int) -> None:
    rng = Random(seed)
    sizes = rng.choice([[2, 2, 2, 2, 2], [3, 2, 3, 2], [2, 1, 2, 1, 1, 1, 2], [4, 1, 3, 1, 1]])
    tickets = drawn_parties(rng, sizes)
    queue = Queue(format=Format((5, 5), roles=TEAM), criteria=(IMBALANCE,))

    seating = Objective(queue).seat(tickets)

    best = brute_force(tickets, queue.format)
    if seating is None:
        assert best == math.inf
        return
    assert seating.criteria_cost == pytest.approx(10 * min(best, 1000.0) / 1000.0, abs=1e-9)
    assert seating.roles == tuple(assign_roles(team, TEAM) for team in seating.teams)
    assert seating.roles is not None
    for team, names in zip(seating.teams, seating.roles, strict=True):
        people = [p for t in team for p in t.players]
        assert sorted(names) == sorted(name for name, count in TEAM for _ in range(count))
        assert all(not p.roles or role in p.roles for p, role in zip(people, names, strict=True))


def test_roles_restrict_a_division_that_nothing_compares() -> None:
    healers = [ticket(f"h{n}", player(f"h{n}", 1500, "healer"), sequence=n) for n in (1, 2)]
    others = [ticket(f"d{n}", player(f"d{n}", 1500, "dps"), sequence=n) for n in (3, 4)]
    objective = Objective(Queue(format=Format((2, 2), roles=(("healer", 1), ("dps", 1)))))

    seating = objective.seat([*healers, *others])

    assert seating is not None
    assert seating.roles == (("healer", "dps"), ("healer", "dps"))
    assert objective.seat([*healers, *healers]) is None
    assert objective.seat([*healers, others[0]], bots=1) is not None
    assert objective.seat([*others, ticket("x", player("x", 1500, "dps"))], bots=1) is None


def test_many_teams_find_their_roles_where_few_divisions_have_them() -> None:
    # 12 of 369,600 divisions would do here, up to the order of the players in a role.
    form = Format((3,) * 4, roles=(("tank", 1), ("dps", 1), ("healer", 1)))
    names = ["tank"] * 4 + ["dps"] * 4 + ["healer"] * 4
    tickets = [
        ticket(f"t{n}", player(f"p{n}", 1000 + 37 * n % 400, name), at=n, sequence=n)
        for n, name in enumerate(names)
    ]

    for criteria in ((), (IMBALANCE,)):
        seating = Objective(Queue(format=form, criteria=criteria)).seat(tickets)
        assert seating is not None
        assert seating.roles == (("tank", "dps", "healer"),) * 4


def test_smaller_match_has_even_teams() -> None:
    objective = Objective(Queue(format=Format((5, 5), players_min=(3, 3))))

    assert sizes_of(objective, solos(*[1500] * 10)) == [5, 5]
    assert sizes_of(objective, solos(*[1500] * 8)) == [4, 4]
    assert sizes_of(objective, solos(*[1500] * 7)) == [4, 3]
    assert sizes_of(objective, solos(*[1500] * 5)) is None
    assert sizes_of(objective, solos(*[1500] * 11)) is None


def test_parties_make_teams_as_even_as_they_can() -> None:
    objective = Objective(Queue(format=Format((5, 5), players_min=(2, 2))))
    four = ticket("a", *[player(f"a{n}") for n in range(4)], sequence=1)
    two = ticket("b", *[player(f"b{n}") for n in range(2)], sequence=2)

    assert sizes_of(objective, [four, two]) == [4, 2]
    assert sizes_of(objective, [four]) is None
    assert sizes_of(objective, [four], bots=2) == [4, 0]


def test_free_for_all_of_two_to_eight() -> None:
    least = (1, 1, 0, 0, 0, 0, 0, 0)
    objective = Objective(Queue(format=Format((1,) * 8, players_min=least), criteria=(IMBALANCE,)))

    assert sizes_of(objective, solos(1500)) is None
    assert sizes_of(objective, solos(1500, 1600, 1700)) == [1, 1, 1, 0, 0, 0, 0, 0]
    three, eight = (objective.seat(solos(*range(1500, 1500 + n))) for n in (3, 8))
    assert three is not None
    assert three.criteria_cost == pytest.approx(8 * 2 / 1000)
    assert eight is not None
    assert eight.criteria_cost == pytest.approx(8 * 7 / 1000)


@st.composite
def formats(draw: st.DrawFn) -> tuple[Format, list[Ticket]]:
    """Draw a format with free seats, and parties that may fit it."""
    count = draw(st.integers(2, 3))
    seats = sorted(draw(st.lists(st.integers(1, 3), min_size=count, max_size=count)))
    least = tuple(draw(st.integers(1 if at < 2 else 0, top)) for at, top in enumerate(seats))
    rng = Random(draw(st.integers(0, 1000)))
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=6))
    named = tuple("abc"[:count])
    return Format(tuple(seats), named, players_min=least), drawn_parties(rng, sizes)


@settings(deadline=None, max_examples=extent(37, 150))
@given(formats())
def test_best_division_over_all_layouts_is_found(drawn: tuple[Format, list[Ticket]]) -> None:
    form, tickets = drawn

    seating = Objective(Queue(format=form, criteria=(IMBALANCE,))).seat(tickets)

    best = brute_force(tickets, form)
    assert (seating is None) == (best == math.inf)
    if seating is not None:
        assert seating.criteria_cost == pytest.approx(form.k * min(best, 1000.0) / 1000.0)


def test_one_against_four_puts_the_strong_player_alone_where_sums_count() -> None:
    criterion = Criterion("imbalance", "rating", scale=Scale("none"), measure="sum")
    objective = Objective(Queue(format=Format((1, 4)), criteria=(criterion,)))

    seating = objective.seat(solos(1000, 1000, 4100, 1000, 1000))

    assert seating is not None
    assert [t.id for t in seating.teams[0]] == ["t3"]


def test_free_for_all_of_sixteen_named_seats_tries_no_permutation() -> None:
    sides = tuple(f"s{n}" for n in range(16))
    form = Format((1,) * 16, sides)
    objective = Objective(
        Queue(format=form, criteria=(IMBALANCE,), rules=(Rule("imbalance", "rating", 900.0),))
    )
    first = ticket("t0", player("p0", 1000), sequence=0, side="s15")

    seating = objective.seat([first, *solos(*range(1010, 1160, 10))])

    assert seating is not None
    assert seating.teams[15] == (first,)
    assert seating.criteria_cost == pytest.approx(16 * 0.15)
    assert not objective.rules.depend_on_teams


@pytest.mark.parametrize(
    ("teams", "seats", "worst"), [(2, 10, 2.0), (16, 2, 150.0), (4, 4, 60.0), (2, 50, 0.5)]
)
def test_descent_of_large_formats_comes_close(teams: int, seats: int, worst: float) -> None:
    # Ratings are uniform on [1000, 2000], seed 7: an even division of the first is off by 100s.
    rng = Random(7)
    ratings = [rng.uniform(1000, 2000) for _ in range(teams * seats)]
    raw = Criterion("imbalance", "rating", weight=1.0, scale=Scale("none"))

    seating = Objective(Queue(format=Format((seats,) * teams), criteria=(raw,))).seat(
        solos(*ratings)
    )

    assert seating is not None
    assert seating.criteria_cost <= worst


def test_descent_keeps_sides_parties_and_rules() -> None:
    rng = Random(3)
    form = Format((10, 10), ("red", "blue"))
    limit = Rule("imbalance", "rating", 20.0)
    tickets = [
        ticket(
            f"t{n:02d}",
            *[player(f"p{n}{m}", rng.uniform(1000, 2000)) for m in range(size)],
            sequence=n,
            **({"side": "red"} if n < 3 else {}),
        )
        for n, size in enumerate([1] * 16 + [2, 2])
    ]

    seating = Objective(Queue(format=form, criteria=(IMBALANCE,), rules=(limit,))).seat(
        tickets, now=100.0
    )

    assert seating is not None
    assert seating.ready_at <= 100.0
    assert [sum(t.size for t in team) for team in seating.teams] == [10, 10]
    assert {"t00", "t01", "t02"} <= {t.id for t in seating.teams[0]}
