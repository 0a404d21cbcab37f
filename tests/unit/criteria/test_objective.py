"""Cost and quality of a match, and the best division of its tickets."""

import math
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.criteria.divisions import Room, divisions
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.registry import numeric_kind
from evenmatch.criteria.scales import scale_value
from evenmatch.criteria.values import numbers
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import Player, Rating, Ticket, Value
from tests.extent import extent

SCALE = Scale("linear", 0.0, 2000.0)
SPREAD = Criterion("spread", "rating", scale=SCALE)
RAW = Criterion("spread", "ping", 2.0, Scale("none"))


def solo(number: int, rating: float = 1500.0, at: float = 0.0, **attributes: Value) -> Ticket:
    player = Player(f"p{number}", Rating(rating), attributes)
    return Ticket(f"t{number}", number, at, (player,), ("main",))


def party(number: int, *ratings: float, at: float = 0.0) -> Ticket:
    players = tuple(Player(f"p{number}.{i}", Rating(r)) for i, r in enumerate(ratings))
    return Ticket(f"t{number}", number, at, players, ("main",))


def ids(teams: tuple[tuple[Ticket, ...], ...]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(ticket.id for ticket in team) for team in teams)


def test_weight_is_players_over_criteria_unless_given() -> None:
    fitted = Criterion("spread", "rating", 3.0)
    queue = Queue(format=Format((5, 5)), criteria=(SPREAD, fitted))

    assert Objective(queue).weights == [5.0, 3.0]


def test_price_of_waiting_is_one_over_wait_max_unless_given() -> None:
    assert Queue(wait_max=50.0).price == 0.02
    assert Queue().price == 1.0
    assert Queue(wait_max=50.0, wait_price=0.5).price == 0.5


def test_cost_of_a_duel_is_weighted_spread_plus_the_waits() -> None:
    objective = Objective(Queue(criteria=(SPREAD,), wait_max=40.0))
    seating = objective.seat([solo(1, 1000.0, 0.0), solo(2, 1500.0, 10.0)])

    assert seating is not None
    assert seating.criteria_cost == 2 * 0.25
    assert seating.quality == 0.75
    # Waits of 20 s and 10 s at 1/40 a second.
    assert objective.cost(seating, 0, 20.0) == 0.5 + 30.0 / 40.0


def test_waits_count_for_each_player_of_a_party() -> None:
    objective = Objective(Queue(format=Format((2, 2)), wait_price=1.0))
    seating = objective.seat([party(1, 0.0, 0.0, at=0.0), party(2, 0.0, 0.0, at=4.0)])

    assert seating is not None
    assert objective.cost(seating, 0, 10.0) == 2 * 10.0 + 2 * 6.0


def test_bots_make_every_criterion_one_and_wait_for_wait_max() -> None:
    queue = Queue(format=Format((2, 2)), criteria=(SPREAD,), wait_max=30.0)
    objective = Objective(queue)
    seating = objective.seat([solo(1, at=0.0), solo(2, at=20.0)], bots=2)

    assert seating is not None
    assert seating.quality == 0.0
    assert seating.criteria_cost == 4.0
    # The players waited 30 s and 10 s, each bot counts 30 s, at 1/30 a second.
    assert objective.cost(seating, 2, 30.0) == pytest.approx(4.0 + (30 + 10 + 2 * 30) / 30)


def test_bots_of_a_queue_without_deadline_wait_for_nothing() -> None:
    objective = Objective(Queue(wait_price=1.0))
    seating = objective.seat([solo(1)], bots=1)

    assert seating is not None
    assert objective.cost(seating, 1, 5.0) == 5.0


def test_criteria_without_scale_cost_and_are_left_out_of_quality() -> None:
    objective = Objective(Queue(criteria=(SPREAD, RAW)))
    seating = objective.seat([solo(1, 1000.0, ping=20.0), solo(2, 1500.0, ping=50.0)])

    assert seating is not None
    assert seating.criteria_cost == 1.0 * 0.25 + 2.0 * 30.0
    assert seating.quality == 0.75


@pytest.mark.parametrize("bots", [0, 1])
def test_quality_is_null_with_only_unscaled_criteria(bots: int) -> None:
    tickets = [solo(1, ping=20.0), solo(2, ping=50.0)][: 2 - bots]
    seating = Objective(Queue(criteria=(RAW,))).seat(tickets, bots)

    assert seating is not None
    assert seating.quality is None


@pytest.mark.parametrize("bots", [0, 1])
def test_quality_is_one_without_criteria(bots: int) -> None:
    seating = Objective(Queue()).seat([solo(1), solo(2)][: 2 - bots], bots)

    assert seating is not None
    assert seating.quality == 1.0
    assert seating.criteria_cost == 0.0


def test_criteria_without_weight_leave_quality_at_one() -> None:
    free = Criterion("spread", "rating", 0.0, SCALE)
    seating = Objective(Queue(criteria=(free,))).seat([solo(1, 0.0), solo(2, 2000.0)])

    assert seating is not None
    assert seating.quality == 1.0


@pytest.mark.parametrize(("tickets", "bots"), [(1, 0), (3, 0), (2, 1), (1, 2)])
def test_tickets_that_do_not_fill_a_duel_have_no_seating(tickets: int, bots: int) -> None:
    assert Objective(Queue()).seat([solo(n) for n in range(1, tickets + 1)], bots) is None


def test_tickets_that_do_not_fill_teams_have_no_seating() -> None:
    objective = Objective(Queue(format=Format((2, 2))))

    assert objective.seat([party(1, 0.0, 0.0), solo(2)]) is None


def test_bot_takes_the_last_seats_of_a_free_for_all() -> None:
    seating = Objective(Queue(format=Format((1, 1, 1)))).seat([solo(1), solo(2)], bots=1)

    assert seating is not None
    assert ids(seating.teams) == (("t1",), ("t2",), ())


def test_side_is_kept_and_the_flexible_ticket_takes_the_other() -> None:
    objective = Objective(Queue(format=Format((1, 1), ("white", "black"))))
    seating = objective.seat([solo(1), solo(2, side="white")])

    assert seating is not None
    assert ids(seating.teams) == (("t2",), ("t1",))
    assert objective.seat([solo(1, side="white"), solo(2, side="white")]) is None


def test_division_that_is_legal_now_goes_before_a_better_one_that_is_not() -> None:
    rule = Rule("imbalance", "ping", 0.0, expand=Expansion(rate=1.0))
    criterion = Criterion("imbalance", "rating", scale=SCALE)
    objective = Objective(Queue(format=Format((2, 2)), criteria=(criterion,), rules=(rule,)))
    tickets = [
        solo(1, 1000.0, ping=0.0),
        solo(2, 1000.0, ping=100.0),
        solo(3, 1400.0, ping=100.0),
        solo(4, 1400.0, ping=0.0),
    ]

    early = objective.seat(tickets, now=0.0)
    late = objective.seat(tickets, now=200.0)

    assert early is not None
    assert late is not None
    assert (ids(early.teams), early.ready_at) == ((("t1", "t3"), ("t2", "t4")), 0.0)
    assert late.criteria_cost == 0.0


@pytest.mark.parametrize(
    ("criteria", "rules", "ticket", "problem"),
    [
        ((RAW,), (), solo(1), "attribute ping is missing"),
        ((RAW,), (), solo(1, ping="slow"), "attribute ping must be a number, got"),
        ((), (Rule("same", "mode"),), solo(1), "attribute mode is missing"),
        ((), (Rule("spread", "ping"),), solo(1), "attribute ping is missing"),
    ],
)
def test_missing_names_the_attribute_that_a_ticket_lacks(
    criteria: tuple[Criterion, ...], rules: tuple[Rule, ...], ticket: Ticket, problem: str
) -> None:
    sentence = Objective(Queue(criteria=criteria, rules=rules)).missing(ticket)

    assert sentence is not None
    assert sentence.startswith(problem)


@pytest.mark.parametrize(
    ("criteria", "rules", "ticket"),
    [
        ((SPREAD,), (), solo(1)),
        ((), (Rule("same", "mode"),), solo(1, mode="ctf")),
        ((), (Rule("same", "size"),), solo(1, size=3.0)),
    ],
)
def test_nothing_is_missing_from_a_ticket_that_has_all(
    criteria: tuple[Criterion, ...], rules: tuple[Rule, ...], ticket: Ticket
) -> None:
    assert Objective(Queue(criteria=criteria, rules=rules)).missing(ticket) is None


def test_missing_names_the_sides_that_there_are() -> None:
    objective = Objective(Queue(format=Format((1, 1), ("white", "black"))))

    assert objective.missing(solo(1)) is None
    assert objective.missing(solo(1, side="black")) is None
    assert (
        objective.missing(solo(1, side="red"))
        == "side must be one of white, black, or absent, got red"
    )


@pytest.mark.parametrize(
    ("first", "second", "problem"),
    [
        (3.0, None, "side must be one of white, black, or absent, got 3.0"),
        (("white",), None, "side must be one of white, black, or absent, got ('white',)"),
        ("white", "red", "side must be one of white, black, or absent, got red"),
        (None, 0.0, "side must be one of white, black, or absent, got 0.0"),
        ("white", "black", "side must be the same for a whole party, got white and black"),
        ("white", "white", None),
        (None, "black", None),
        ("", "black", None),
    ],
)
def test_every_player_of_a_party_has_its_one_side(
    first: Value | None, second: Value | None, problem: str | None
) -> None:
    objective = Objective(Queue(format=Format((2, 2), ("white", "black"))))
    players = tuple(
        Player(f"p{number}", attributes={} if side is None else {"side": side})
        for number, side in enumerate((first, second))
    )

    assert objective.missing(Ticket("t", 1, 0.0, players, ())) == problem


def test_side_is_any_attribute_where_teams_have_no_names() -> None:
    assert Objective(Queue()).missing(solo(1, side=3.0)) is None


@settings(deadline=None, max_examples=extent(20, 40))
@given(st.lists(st.integers(0, 2000).map(float), min_size=6, max_size=6), st.booleans())
def test_best_split_of_imbalance_equals_brute_force(ratings: list[float], is_uneven: bool) -> None:
    criterion = Criterion("imbalance", "rating", 1.0, SCALE)
    layout = (2, 4) if is_uneven else (3, 3)
    objective = Objective(Queue(format=Format(layout), criteria=(criterion,)))

    seating = objective.seat([solo(n, r) for n, r in enumerate(ratings, 1)])

    scaled = [scale_value(SCALE, rating) for rating in ratings]
    best = min(
        numeric_kind(criterion).reference(criterion, [order[: layout[0]], order[layout[0] :]])
        for order in permutations(scaled)
    )
    assert seating is not None
    assert seating.criteria_cost == pytest.approx(best, abs=1e-12)


CRITERIA = st.builds(
    Criterion,
    kind=st.sampled_from(("spread", "mean_gap", "imbalance")),
    attribute=st.just("rating"),
    weight=st.none() | st.floats(0.0, 10.0),
    scale=st.sampled_from((SCALE, Scale("capped", max=300.0), Scale("none"))),
    measure=st.sampled_from(("mean", "sum")),
    step=st.sampled_from((0.0, 0.25)),
)


@given(st.lists(CRITERIA, max_size=3), st.integers(0, 3000), st.integers(0, 3000))
def test_duels_short_way_equals_the_definition(
    criteria: list[Criterion], one: int, two: int
) -> None:
    queue = Queue(criteria=tuple(criteria))
    first, second = solo(1, float(one), 3.0), solo(2, float(two), 5.0)
    costs = [
        numeric_kind(c).reference(
            c, [[scale_value(c.scale, float(one))], [scale_value(c.scale, float(two))]]
        )
        for c in criteria
    ]
    weights = [2 / len(criteria) if c.weight is None else c.weight for c in criteria]
    scaled = [
        (w, q) for w, q, c in zip(weights, costs, criteria, strict=True) if c.scale.kind != "none"
    ]

    seating = Objective(queue).seat([first, second])

    assert seating is not None
    total = math.fsum(w * q for w, q in zip(weights, costs, strict=True))
    assert math.isclose(seating.criteria_cost, total, rel_tol=1e-12, abs_tol=1e-12)
    weight = math.fsum(w for w, _ in scaled)
    if weight > 1e-100:
        expected = 1.0 - math.fsum(w * q for w, q in scaled) / weight
        assert seating.quality is not None
        assert math.isclose(seating.quality, expected, abs_tol=1e-12)
    assert seating.ready_at == 5.0


def test_named_sides_and_interchangeable_teams_cost_the_same() -> None:
    named = Objective(Queue(format=Format((1, 1), ("a", "b")), criteria=(SPREAD,)))
    plain = Objective(Queue(criteria=(SPREAD,)))
    tickets = [solo(1, 1200.0), solo(2, 1300.0)]

    assert named.seat(tickets) == plain.seat(tickets)


TEAM_RULES = st.builds(
    Rule,
    kind=st.sampled_from(("imbalance", "imbalance", "spread", "mean_gap")),
    attribute=st.just("rating"),
    limit=st.integers(0, 800).map(float),
    unit=st.sampled_from(("difference", "relative")),
    expand=st.none() | st.builds(Expansion, rate=st.sampled_from((1.0, 10.0))),
    measure=st.sampled_from(("mean", "sum")),
)


@settings(deadline=None, max_examples=extent(25, 100))
@given(
    layout=st.sampled_from(((2, 2), (1, 3), (2, 1, 1), (3, 3))),
    sizes=st.lists(st.integers(1, 2), min_size=3, max_size=6),
    ratings=st.lists(st.integers(0, 2000).map(float), min_size=12, max_size=12),
    criteria=st.lists(CRITERIA, max_size=2),
    team_rules=st.lists(TEAM_RULES, max_size=2),
    now=st.sampled_from((6.0, 50.0, 1e6)),
    is_named=st.booleans(),
)
def test_division_is_legal_soonest_then_cheapest_of_all(
    layout: tuple[int, ...],
    sizes: list[int],
    ratings: list[float],
    criteria: list[Criterion],
    team_rules: list[Rule],
    now: float,
    is_named: bool,
) -> None:
    sides = tuple(f"side{number}" for number in range(len(layout))) if is_named else ()
    queue = Queue(format=Format(layout, sides), criteria=tuple(criteria), rules=tuple(team_rules))
    tickets = [
        party(number, *(ratings[2 * number - 2 : 2 * number - 2 + size]), at=float(number))
        for number, size in enumerate(sizes, 1)
    ]
    objective = Objective(queue)

    seating = objective.seat(tickets, now=now)

    every = divisions(sizes, Room(layout, layout, is_named), [None] * len(sizes))
    teams = [tuple(tuple(tickets[i] for i in team) for team in each) for each in every]
    assert (seating is None) == (not teams)
    if seating is not None:
        found = [
            (max(objective.rules.ready_at(each), now), criteria_cost(objective, each))
            for each in teams
        ]
        ready_at, cost = min(found)
        assert max(seating.ready_at, now) == ready_at
        assert seating.criteria_cost == pytest.approx(cost, abs=1e-8)
        assert sorted(t.id for team in seating.teams for t in team) == [t.id for t in tickets]


def criteria_cost(objective: Objective, teams: tuple[tuple[Ticket, ...], ...]) -> float:
    """Return the weighted criteria of a division, as they are defined."""
    total = 0.0
    for criterion, weight in zip(objective.queue.criteria, objective.weights, strict=True):
        values = [
            [scale_value(criterion.scale, v) for t in team for v in numbers(t, "rating")]
            for team in teams
        ]
        total += weight * numeric_kind(criterion).reference(criterion, values)
    return total


def test_division_with_equal_sums_of_decimals_is_found() -> None:
    rule = Rule("imbalance", "rating", 0.0)
    objective = Objective(Queue(format=Format((3, 3)), rules=(rule,)))
    tickets = [solo(n, r) for n, r in enumerate((0.1, 0.3, 0.3, 0.2, 0.2, 0.1), 1)]

    seating = objective.seat(tickets, now=0.0)

    assert seating is not None
    assert seating.ready_at == 0.0


def test_bots_take_the_first_division_that_there_is() -> None:
    criterion = Criterion("imbalance", "rating", scale=SCALE)
    objective = Objective(Queue(format=Format((2, 2)), criteria=(criterion,)))

    seating = objective.seat([solo(1, 0.0), party(2, 2000.0, 2000.0)], bots=1)

    assert seating is not None
    assert ids(seating.teams) == (("t1",), ("t2",))


def test_criterion_that_no_division_changes_has_no_say_in_it() -> None:
    even = Criterion("imbalance", "rating", 1.0, SCALE)
    objective = Objective(Queue(format=Format((2, 2)), criteria=(SPREAD, even)))

    seating = objective.seat([solo(n, 500.0 * n) for n in range(1, 5)])

    assert seating is not None
    assert ids(seating.teams) == (("t1", "t4"), ("t2", "t3"))
    # The spread costs k / D = 2 times 0.75, and the teams are even.
    assert seating.criteria_cost == 1.5
