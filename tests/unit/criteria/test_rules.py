"""Rules say from when on tickets may play together; nothing else says yes or no."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.criteria.expansion import inverse
from evenmatch.criteria.rules import Rules, relative, side_of
from evenmatch.criteria.values import number, numbers
from evenmatch.model.queue import Expansion, Format, Queue, Rule
from evenmatch.model.ticket import Player, Rating, Ticket, Value

STEPS = Expansion(steps=tuple((60.0 * n, 150.0 + 100.0 * n) for n in range(1, 5)), max=500.0)


def solo(number: int, rating: float, at: float = 0.0, **attributes: Value) -> Ticket:
    player = Player(f"p{number}", Rating(rating), attributes)
    return Ticket(f"t{number}", number, at, (player,), ("main",))


def party(number: int, *ratings: float, at: float = 0.0) -> Ticket:
    players = tuple(Player(f"p{number}.{i}", Rating(r)) for i, r in enumerate(ratings))
    return Ticket(f"t{number}", number, at, players, ("main",))


def rules(
    *given_rules: Rule, players: tuple[int, ...] = (1, 1), sides: tuple[str, ...] = ()
) -> Rules:
    return Rules(Queue(format=Format(players, sides), rules=given_rules))


def test_without_rules_two_tickets_may_play_from_the_younger_ones_arrival() -> None:
    asked = rules()

    assert asked.are_none
    assert asked.pair_ready_at(solo(1, 0.0, 3.0), solo(2, 9999.0, 7.0)) == 7.0


def test_pair_within_the_limit_may_play_at_once() -> None:
    asked = rules(Rule("spread", "rating", 150.0))

    assert asked.pair_ready_at(solo(1, 1500.0), solo(2, 1650.0, 5.0)) == 5.0


def test_pair_beyond_a_fixed_limit_may_never_play() -> None:
    asked = rules(Rule("spread", "rating", 150.0))

    assert asked.pair_ready_at(solo(1, 1500.0), solo(2, 1651.0, 5.0)) == math.inf


def test_both_must_accept_so_the_younger_ticket_decides() -> None:
    asked = rules(Rule("spread", "rating", 150.0, expand=STEPS))

    # A gap of 400 needs the third step, 180 s of the ticket that came at 60 s.
    assert asked.pair_ready_at(solo(1, 2300.0), solo(4, 1900.0, 60.0)) == 240.0
    assert asked.pair_ready_at(solo(2, 2000.0), solo(3, 2050.0, 60.0)) == 60.0


def test_where_one_side_is_enough_the_one_that_accepts_sooner_decides() -> None:
    asked = rules(Rule("spread", "rating", 150.0, expand=STEPS, accept="either"))

    # 2300 has waited for 60 s when 1900 comes, and accepts 400 at 180 s.
    assert asked.pair_ready_at(solo(1, 2300.0), solo(4, 1900.0, 60.0)) == 180.0
    assert asked.pair_ready_at(solo(1, 2300.0), solo(4, 1900.0, 500.0)) == 500.0


def test_widening_that_ends_as_a_partner_arrives_is_told_from_no_widening() -> None:
    asked = rules(Rule("spread", "rating", 150.0, expand=STEPS, accept="either"))
    newcomer = solo(3, 2050.0, 60.0)

    assert asked.pair_ready_at(solo(1, 2300.0), newcomer) == 60.0
    assert asked.duel_widens_at(solo(1, 2300.0), newcomer) == 60.0
    assert asked.pair_ready_at(solo(2, 2000.0), newcomer) == 60.0
    assert asked.duel_widens_at(solo(2, 2000.0), newcomer) == -math.inf


def test_in_a_larger_match_anyone_may_accept_for_all() -> None:
    growing = Rule("spread", "rating", 100.0, expand=Expansion(rate=1.0, max=300.0))
    asked = rules(
        Rule("spread", "rating", 100.0, expand=growing.expand, accept="either"), players=(2, 1)
    )
    old, one, two = solo(1, 1000.0), solo(2, 1000.0, 90.0), solo(3, 1200.0, 90.0)

    assert asked.ready_at(((old, one), (two,))) == 100.0
    # So a pair of it must not be held to what the two alone accept.
    assert asked.pair_ready_at(one, two) == 90.0
    assert asked.pair_ready_at(one, solo(4, 1301.0, 90.0)) == math.inf


def test_relative_tolerance_is_of_ones_own_value_for_each_side() -> None:
    # 5 % of one's own rating and 5 points more every 10 s: 800 needs 150 %, after 290 s; 2000
    # needs 60 %, after 110 s of its own. The bounds are inclusive.
    steps = tuple((10.0 * n, (5 + 5 * n) / 100) for n in range(1, 60))
    rule = Rule("spread", "rating", 0.05, "relative", Expansion(steps=steps))

    assert rules(rule).pair_ready_at(solo(1, 800.0), solo(2, 2000.0, 300.0)) == 410.0


def test_relative_gap_to_a_value_of_zero_is_infinite_unless_there_is_none() -> None:
    assert relative(5.0, [0.0]) == math.inf
    assert relative(0.0, [0.0]) == 0.0


def test_relative_gap_of_a_party_is_to_its_mean() -> None:
    assert relative(300.0, [1000.0, 2000.0]) == 0.2


def test_relative_gap_to_a_value_of_zero_never_comes_within_a_growing_limit() -> None:
    rule = Rule("spread", "rating", 0.05, "relative", Expansion(rate=0.01))

    assert rules(rule).pair_ready_at(solo(1, 0.0), solo(2, 1000.0)) == math.inf


def test_same_rule_wants_equal_values_and_never_widens() -> None:
    asked = rules(Rule("same", "mode"))

    assert asked.pair_ready_at(solo(1, 0.0, mode="ctf"), solo(2, 0.0, 4.0, mode="ctf")) == 4.0
    assert asked.pair_ready_at(solo(1, 0.0, mode="ctf"), solo(2, 0.0, mode="koth")) == math.inf


def test_all_rules_must_hold() -> None:
    asked = rules(
        Rule("spread", "rating", 100.0, expand=Expansion(rate=1.0)),
        Rule("spread", "ping", 10.0, expand=Expansion(rate=2.0)),
    )

    at = asked.pair_ready_at(solo(1, 0.0, ping=0.0), solo(2, 105.0, ping=70.0))

    assert at == 30.0


def test_two_who_insist_on_one_side_never_meet_in_a_duel() -> None:
    asked = rules(sides=("white", "black"))
    white, other, flexible = solo(1, 0.0, side="white"), solo(2, 0.0, side="white"), solo(3, 0.0)

    assert not asked.are_none
    assert asked.pair_ready_at(white, other) == math.inf
    assert asked.pair_ready_at(white, flexible) == 0.0
    assert asked.pair_ready_at(flexible, solo(4, 0.0, 2.0)) == 2.0


def test_pair_in_a_larger_format_is_only_held_to_rules_that_grow_with_the_match() -> None:
    asked = rules(
        Rule("spread", "rating", 100.0),
        Rule("imbalance", "rating", 0.0),
        Rule("mean_gap", "rating", 0.0),
        players=(2, 2),
    )

    assert asked.depend_on_teams
    assert asked.pair_ready_at(solo(1, 1500.0), solo(2, 1600.0)) == 0.0
    assert asked.pair_ready_at(solo(1, 1500.0), solo(2, 1601.0)) == math.inf


def test_party_with_itself_is_held_to_the_rules() -> None:
    asked = rules(Rule("spread", "rating", 100.0), players=(2, 2))

    assert asked.ready_at(((party(1, 1500.0, 1700.0),), (party(2, 1600.0, 1600.0),))) == math.inf


def test_imbalance_rule_compares_teams() -> None:
    asked = rules(Rule("imbalance", "rating", 50.0, expand=Expansion(rate=1.0)), players=(2, 2))
    a, b, c, d = (solo(n, r) for n, r in enumerate((1000.0, 1100.0, 1000.0, 1300.0), 1))

    assert asked.ready_at(((a, d), (b, c))) == 50.0
    assert asked.ready_at(((a, b), (c, d))) == 50.0
    assert asked.ready_at(((a, c), (b, d))) == 150.0


def test_team_of_bots_is_not_compared() -> None:
    asked = rules(Rule("imbalance", "rating", 0.0), players=(2, 2))

    assert asked.ready_at(((solo(1, 1000.0), solo(2, 2000.0)), ())) == 0.0


def test_mean_gap_and_sums_are_rules_too() -> None:
    mean = rules(Rule("mean_gap", "rating", 100.0), players=(2, 1))
    total = rules(Rule("imbalance", "rating", 100.0, measure="sum"), players=(2, 1))
    teams = ((solo(1, 100.0), solo(2, 200.0)), (solo(3, 250.0),))

    assert mean.ready_at(teams) == 0.0
    assert total.ready_at(teams) == 0.0
    assert rules(Rule("mean_gap", "rating", 99.0), players=(2, 1)).ready_at(teams) == math.inf


@pytest.mark.parametrize("value", ["high", None])
def test_numbers_refuse_what_is_no_number(value: str | None) -> None:
    attributes: dict[str, Value] = {} if value is None else {"skill": value}
    ticket = Ticket("t1", 1, 0.0, (Player("p1", None, attributes),), ("main",))

    with pytest.raises(TypeError, match=r"ticket t1: skill must be a number, got"):
        numbers(ticket, "skill")
    with pytest.raises(TypeError, match=r"ticket t1: skill must be a number, got"):
        number(ticket, "skill")


def test_number_is_the_players_then_the_partys_then_the_ratings() -> None:
    player = Player("p1", Rating(1500.0, 80.0), {"rating": 1.0})
    plain = Player("p2", Rating(1500.0, 80.0))

    assert number(Ticket("t", 1, 0.0, (player,), (), {"rating": 2.0}), "rating") == 1.0
    assert number(Ticket("t", 1, 0.0, (plain,), (), {"rating": 2.0}), "rating") == 2.0
    assert number(Ticket("t", 1, 0.0, (plain,), ()), "rating") == 1500.0
    assert number(Ticket("t", 1, 0.0, (plain,), ()), "rating_deviation") == 80.0


def test_side_is_a_word_or_flexible() -> None:
    assert side_of(solo(1, 0.0, side="white")) == "white"
    assert side_of(solo(1, 0.0, side=3.0)) == ""
    assert side_of(solo(1, 0.0)) == ""


def test_side_of_a_party_is_that_of_the_first_player_who_insists() -> None:
    players = (Player("a"), Player("b", attributes={"side": "white"}))

    assert side_of(Ticket("t", 1, 0.0, players, ())) == "white"


RATINGS = st.integers(0, 3000).map(float)
INSTANTS = st.integers(0, 1000).map(float)
RULES = st.builds(
    Rule,
    kind=st.sampled_from(("spread", "mean_gap", "imbalance")),
    attribute=st.just("rating"),
    limit=st.integers(0, 300).map(float),
    unit=st.sampled_from(("difference", "relative")),
    expand=st.none() | st.builds(Expansion, rate=st.sampled_from((0.5, 1.0, 3.0))),
    measure=st.sampled_from(("mean", "sum")),
    accept=st.sampled_from(("both", "either")),
)


@given(st.lists(RULES, max_size=3), RATINGS, RATINGS, INSTANTS, INSTANTS)
def test_duels_short_way_equals_the_definition(
    drawn: list[Rule], one: float, two: float, at_one: float, at_two: float
) -> None:
    first, second = solo(1, one, at_one), solo(2, two, at_two)
    gap = abs(one - two)
    expected = max(at_one, at_two)
    for rule in drawn:
        when = inverse(rule.limit, rule.expand)
        accepted_at = [
            at + when(gap if rule.unit == "difference" else relative(gap, [own]))
            for own, at in ((one, at_one), (two, at_two))
        ]
        of_rule = max(accepted_at) if rule.accept == "both" else min(accepted_at)
        expected = max(expected, of_rule)

    asked = rules(*drawn)

    assert asked.pair_ready_at(first, second) == expected
    assert asked.ready_at(((first,), (second,))) == expected
    assert max(asked.duel_widens_at(first, second), at_one, at_two) == expected
