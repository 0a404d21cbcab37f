"""What each type of rule says of a match, party by party, and the readings that were chosen."""

from typing import Any

import pytest

from evenmatch.rules.flexmatch.checker.judgement import (
    ages_of,
    at_age,
    is_legal,
    legal_instants,
    objections_to,
)
from evenmatch.rules.flexmatch.checker.match import (
    CandidateMatch,
    CandidatePlayer,
    CandidateTicket,
    Readings,
)
from evenmatch.rules.flexmatch.rule_set import DistanceRule, LatencyRule
from tests.flexmatch_kit import match, player, rule_set_of, ticket, who_objects

INF = float("inf")
SKILLS = "flatten(teams[*].players.attributes[skill])"
MODES = "flatten(teams[*].players.attributes[mode])"
MAPS = "flatten(teams[*].players.attributes[maps])"
SMALL = [
    {"name": "red", "minPlayers": 0, "maxPlayers": 5},
    {"name": "blue", "minPlayers": 0, "maxPlayers": 5},
]


def rule(kind: str, name: str = "R", **keys: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **keys}


def holds(
    checked: dict[str, Any],
    candidate: CandidateMatch,
    readings: Readings | None = None,
    now: float = 0.0,
) -> bool:
    """Return whether the last rule of a rule set holds; all else must."""
    reasons = who_objects(rule_set_of(checked, teams=SMALL), candidate, now, readings)
    assert reasons in ([], ["R"]), reasons
    return not reasons


def red(*tickets: CandidateTicket) -> CandidateMatch:
    return match(red=tickets)


def skills(*numbers: float) -> list[CandidateTicket]:
    return [ticket(skill=each) for each in numbers]


def party(*numbers: float) -> CandidateTicket:
    return ticket(*(player(skill=each) for each in numbers))


# Comparison


@pytest.mark.parametrize(
    ("operation", "legal"),
    [("<", {4}), ("<=", {4, 5}), ("=", {5}), ("!=", {4, 6}), (">", {6}), (">=", {5, 6})],
)
def test_comparison_with_a_reference_holds_for_every_value(operation: str, legal: set[int]) -> None:
    checked = rule("comparison", measurements=[SKILLS], operation=operation, referenceValue=5)
    for value in (4, 5, 6):
        assert holds(checked, red(*skills(value, value))) is (value in legal)
        # One value that does not compare so is enough.
        if value not in legal:
            good = next(iter(legal))
            assert not holds(checked, match(red=skills(value), blue=skills(good)))


def test_comparison_with_a_word() -> None:
    checked = rule("comparison", measurements=[MODES], operation="=", referenceValue="duel")
    assert holds(checked, red(ticket(mode="duel"), ticket()))
    assert not holds(checked, red(ticket(mode="duel"), ticket(mode="war")))


def test_comparison_without_a_reference_compares_all_players() -> None:
    same = rule("comparison", measurements=[SKILLS], operation="=")
    assert holds(same, match(red=skills(3), blue=skills(3)))
    assert not holds(same, match(red=skills(3), blue=skills(4)))
    different = rule("comparison", measurements=[SKILLS], operation="!=")
    assert holds(different, match(red=skills(3, 5), blue=skills(4)))
    assert not holds(different, match(red=skills(3, 5), blue=skills(3)))


def test_comparison_without_a_reference_merges_no_party() -> None:
    # Averages would be 5 and 5, and the two of a party always alike.
    assert not holds(rule("comparison", measurements=[SKILLS], operation="="),
                     red(party(4, 6), ticket(skill=5)))  # fmt: skip
    assert holds(rule("comparison", measurements=[SKILLS], operation="!="), red(party(4, 6)))


def test_single_values_of_all_measurements_are_compared_with_each_other() -> None:
    sums = [f"sum(teams[{name}].players.attributes[skill])" for name in ("red", "blue")]
    same = rule("comparison", measurements=sums, operation="=")
    assert holds(same, match(red=skills(1, 2), blue=skills(3)))
    assert not holds(same, match(red=skills(1, 2), blue=skills(4)))


def test_lists_by_team_are_compared_each_within_itself() -> None:
    same = rule("comparison", measurements=["teams[*].players.attributes[skill]"], operation="=")
    assert holds(same, match(red=skills(1, 1), blue=skills(2, 2)))
    assert not holds(same, match(red=skills(1, 1), blue=skills(2, 3)))


# Distance


@pytest.mark.parametrize(("value", "legal"), [(4.9, False), (5, True), (15, True), (15.1, False)])
def test_distance_at_its_limit_is_allowed(value: float, legal: bool) -> None:
    checked = rule("distance", measurements=[SKILLS], referenceValue=10, maxDistance=5)
    assert holds(checked, red(*skills(10, value))) is legal


@pytest.mark.parametrize(("value", "legal"), [(5.1, False), (5, True), (15, True), (10, False)])
def test_least_distance_at_its_limit_is_allowed(value: float, legal: bool) -> None:
    checked = rule("distance", measurements=[SKILLS], referenceValue=10, minDistance=5)
    assert holds(checked, red(*skills(0, value))) is legal


def test_distances_are_exact() -> None:
    # In floats 0.1 + 0.2 is more than 0.3, and a third is no number.
    checked = rule("distance", measurements=[f"sum({SKILLS})"], referenceValue=0.3, maxDistance=0)
    assert holds(checked, red(*skills(0.1, 0.2)))
    means = rule("distance", measurements=[f"avg({SKILLS})"], maxDistance=10,
                 referenceValue="avg(teams[red].players.attributes[skill])")  # fmt: skip
    assert holds(means, match(red=skills(1 / 3, 0, 0), blue=skills(1 / 3, 0, 0)))
    thirds = match(red=skills(1, 0, 0), blue=skills(21, 20, 20))
    assert holds(means, thirds)
    assert not holds(means, match(red=skills(1, 0, 0), blue=skills(21.001, 20, 20)))


@pytest.mark.parametrize(("merge", "value"), [("min", 2), ("max", 7), ("avg", 4), (None, 4)])
def test_party_is_merged_as_its_rule_says(merge: str | None, value: float) -> None:
    keys = {} if merge is None else {"partyAggregation": merge}
    checked = rule("distance", measurements=[SKILLS], referenceValue=value, maxDistance=0, **keys)
    assert holds(checked, red(party(2, 3, 7)))


def test_reference_merges_parties_too() -> None:
    checked = rule("comparison", measurements=[f"max({SKILLS})"], operation="=",
                   referenceValue=f"min({SKILLS})")  # fmt: skip
    assert holds(checked, red(party(2, 4), ticket(skill=3)))


def test_party_weighs_by_its_players_unless_read_otherwise() -> None:
    checked = rule("distance", measurements=[f"avg({SKILLS})"], referenceValue=4, maxDistance=0)
    candidate = red(party(3, 3, 3), ticket(skill=7))
    assert holds(checked, candidate)
    by_ticket = Readings(party_weight="ticket")
    assert not holds(checked, candidate, by_ticket)
    assert holds(checked | {"referenceValue": 5}, candidate, by_ticket)


@pytest.mark.parametrize("reading", [None, Readings(party_weight="ticket")])
def test_players_are_counted_one_by_one(reading: Readings | None) -> None:
    checked = rule("comparison", measurements=["count(teams[red].players)"], operation="=",
                   referenceValue=3)  # fmt: skip
    assert holds(checked, red(party(1, 2), ticket()), reading)


# Functions


@pytest.mark.parametrize(
    ("function", "value"),
    [("min", 1), ("max", 9), ("avg", 4), ("median", 2), ("sum", 12), ("count", 3)],
)
def test_function_of_numbers(function: str, value: float) -> None:
    checked = rule("comparison", measurements=[f"{function}({SKILLS})"], operation="=",
                   referenceValue=value)  # fmt: skip
    assert holds(checked, match(red=skills(9), blue=skills(1, 2)))
    assert not holds(checked | {"operation": "!="}, match(red=skills(9), blue=skills(1, 2)))


def test_median_of_an_even_number_lies_in_the_middle() -> None:
    checked = rule("comparison", measurements=[f"median({SKILLS})"], operation="=",
                   referenceValue=2.5)  # fmt: skip
    assert holds(checked, red(*skills(9, 1, 2, 3)))


def test_standard_deviation_divides_by_the_number_unless_read_otherwise() -> None:
    checked = rule("comparison", measurements=[f"stddev({SKILLS})"], operation="=",
                   referenceValue=2)  # fmt: skip
    eight = match(red=skills(2, 4, 4, 4), blue=skills(5, 5, 7, 9))
    assert holds(checked, eight)
    sample = Readings(stddev="sample")
    assert not holds(checked, eight, sample)
    assert holds(checked | {"referenceValue": 1}, red(*skills(1, 2, 3)), sample)
    single = rule_set_of(checked | {"referenceValue": 0}, teams=SMALL)
    assert is_legal(single, red(*skills(7)), 0)
    assert not is_legal(single, red(*skills(7)), 0, sample)


def test_sample_of_two_has_a_deviation() -> None:
    checked = rule("comparison", measurements=[f"stddev({SKILLS})"], operation="<",
                   referenceValue=1.415)  # fmt: skip
    sample = Readings(stddev="sample")
    assert holds(checked, red(*skills(2, 4)), sample)
    assert not holds(checked | {"referenceValue": 1.414}, red(*skills(2, 4)), sample)


def test_irrational_deviation_is_compared_to_many_digits() -> None:
    checked = rule("distance", measurements=[f"stddev({SKILLS})"],
                   referenceValue=0.816496580927726, maxDistance=1e-15)  # fmt: skip
    assert holds(checked, red(*skills(1, 2, 3)))


def test_function_of_a_list_by_team_gives_a_number_for_each_team() -> None:
    checked = rule("distance", measurements=["max(teams[*].players.attributes[skill])"],
                   referenceValue=10, maxDistance=1)  # fmt: skip
    assert holds(checked, match(red=skills(0, 10), blue=skills(5, 9)))
    assert not holds(checked, match(red=skills(0, 10), blue=skills(5, 8)))


def test_count_of_lists_in_lists_by_team_counts_the_innermost() -> None:
    counts = "count(teams[*].players.attributes[maps])"
    checked = rule("distance", measurements=[counts], referenceValue=2, maxDistance=1)
    assert holds(checked, match(red=[maps("a"), maps("a", "b", "c")], blue=[maps("a", "b")]))
    assert not holds(checked, match(red=[maps("a")], blue=[maps("a", "b"), maps()]))
    most = rule("comparison", measurements=[f"max({counts})"], operation="=", referenceValue=2)
    assert holds(most, match(red=[maps("a"), maps("a", "b")], blue=[maps("b", "c")]))
    assert not holds(most, match(red=[maps("a"), maps("a", "b")], blue=[maps("b")]))


def test_flatten_of_one_list_changes_nothing() -> None:
    checked = rule("comparison", operation="=", referenceValue=3,
                   measurements=["sum(flatten(teams[red].players.attributes[skill]))"])  # fmt: skip
    assert holds(checked, match(red=skills(1, 2), blue=skills(9)))


def test_short_form_is_all_players_in_one_list() -> None:
    checked = rule("comparison", measurements=["sum(players.attributes[skill])"], operation="=",
                   referenceValue=6)  # fmt: skip
    assert holds(checked, match(red=skills(1, 2), blue=skills(3)))


# What is undefined


@pytest.mark.parametrize("function", ["min", "max", "avg", "median", "stddev"])
def test_value_of_an_empty_team_is_undefined_and_no_match_is_legal(function: str) -> None:
    measured = f"{function}(teams[blue].players.attributes[skill])"
    checked = rule("comparison", measurements=[measured], operation=">", referenceValue=-1)
    assert holds(checked, match(red=skills(1), blue=skills(1, 2)))
    rule_set = rule_set_of(checked, teams=SMALL)
    (objection,) = objections_to(rule_set, red(*skills(1)), 0)
    assert objection.reason == f"the {function} of nothing is undefined"
    negated = rule_set_of(checked, rule("compound", "C", statement="not(R)"), teams=SMALL)
    assert who_objects(negated, red(*skills(1))) == ["C"]


def test_sum_and_count_of_an_empty_team_are_nothing() -> None:
    for measured in ("sum(teams[blue].players.attributes[skill])", "count(teams[blue].players)"):
        assert holds(
            rule("comparison", measurements=[measured], operation="=", referenceValue=0),
            red(*skills(1)),
        )


def truth(statement: str) -> bool:
    """Judge a statement of T and V (true), F and G (false), and U (undefined)."""
    blue = "avg(teams[blue].players.attributes[skill])"
    checked = [
        rule("comparison", name, measurements=[measured], operation="=", referenceValue=value)
        for name, measured, value in [
            ("T", SKILLS, 1), ("V", SKILLS, 1), ("F", SKILLS, 2), ("G", SKILLS, 2), ("U", blue, 1),
        ]
    ]  # fmt: skip
    compound = rule("compound", "C", statement=statement)
    reasons = who_objects(rule_set_of(*checked, compound, teams=SMALL), red(*skills(1)))
    # Rules that the statement does not name are enforced by themselves.
    return "C" not in reasons


@pytest.mark.parametrize(
    ("statement", "legal"),
    [
        ("and(T,V)", True), ("and(T,F)", False), ("and(F,G)", False), ("or(T,F)", True),
        ("or(F,G)", False), ("not(F)", True), ("not(T)", False), ("xor(T,F)", True),
        ("xor(T,V)", False), ("xor(F,G)", False), ("xor(F,T,G)", True), ("xor(T,F,V)", False),
        ("or(T,U)", True), ("and(T,U)", False), ("not(U)", False), ("not(and(F,U))", True),
        ("not(or(F,U))", False), ("xor(T,U)", False), ("xor(F,U)", False),
        ("not(xor(T,V,U))", True), ("or(and(T,F),not(F))", True), ("T", True), ("F", False),
    ],
)  # fmt: skip
def test_statement(statement: str, legal: bool) -> None:
    assert truth(statement) is legal


def test_rule_that_a_compound_names_is_not_enforced_alone() -> None:
    checked = [
        rule("comparison", "A", measurements=[SKILLS], operation="=", referenceValue=1),
        rule("comparison", "B", measurements=[SKILLS], operation="=", referenceValue=2),
        rule("compound", "C", statement="or(A,B)"),
        rule("compound", "D", statement="not(C)"),
    ]
    alone = rule_set_of(checked[0], teams=SMALL)
    assert who_objects(alone, red(*skills(2))) == ["A"]
    assert who_objects(rule_set_of(*checked[:3], teams=SMALL), red(*skills(2))) == []
    assert who_objects(rule_set_of(*checked[:3], teams=SMALL), red(*skills(3))) == ["C"]
    # D names C, so that C counts no more than A and B.
    assert who_objects(rule_set_of(*checked, teams=SMALL), red(*skills(3))) == []
    (objection,) = objections_to(rule_set_of(*checked, teams=SMALL), red(*skills(2)), 0)
    assert str(objection) == "D: the statement is false: C is true"


def test_every_compound_must_hold() -> None:
    checked = [
        rule("comparison", "A", measurements=[SKILLS], operation=">", referenceValue=1),
        rule("comparison", "B", measurements=[SKILLS], operation="<", referenceValue=5),
        rule("compound", "C", statement="or(A,B)"),
        rule("compound", "D", statement="not(B)"),
    ]
    rule_set = rule_set_of(*checked)
    assert who_objects(rule_set, match(red=skills(6), blue=skills(6))) == []
    assert who_objects(rule_set, match(red=skills(3), blue=skills(3))) == ["D"]


# Collection


def maps(*names: str) -> CandidateTicket:
    return ticket(maps=names)


def pair(one: tuple[str, ...], other: tuple[str, ...]) -> CandidateTicket:
    return ticket(player(maps=one), player(maps=other))


def test_intersection_counts_what_all_share() -> None:
    checked = rule("collection", measurements=[MAPS], operation="intersection", minCount=2)
    assert holds(checked, match(red=[maps("a", "b", "c")], blue=[maps("c", "a")]))
    assert not holds(checked, match(red=[maps("a", "b", "c")], blue=[maps("c", "d")]))
    at_most = checked | {"minCount": None, "maxCount": 0}
    assert holds(at_most, match(red=[maps("a")], blue=[maps("b")]))
    assert not holds(at_most, match(red=[maps("a")], blue=[maps("a", "b")]))


def test_intersection_by_team_holds_for_each_team() -> None:
    by_team = "teams[*].players.attributes[maps]"
    checked = rule("collection", measurements=[by_team], operation="intersection", minCount=1)
    assert holds(checked, match(red=[maps("a"), maps("a")], blue=[maps("b"), maps("b")]))
    assert not holds(checked, match(red=[maps("a"), maps("a")], blue=[maps("b"), maps("c")]))


def test_party_unites_its_collections_unless_the_rule_says_otherwise() -> None:
    checked = rule("collection", measurements=[MAPS], operation="intersection", minCount=1)
    candidate = red(pair(("a",), ("b",)), maps("b"))
    assert holds(checked, candidate)
    assert not holds(checked | {"partyAggregation": "intersection"}, candidate)
    assert holds(
        checked | {"partyAggregation": "intersection"}, red(pair(("a", "b"), ("b",)), maps("b"))
    )


def test_intersection_of_one_list_counts_its_values() -> None:
    shared = f"set_intersection({MAPS})"
    checked = rule("collection", measurements=[shared], operation="intersection", minCount=2)
    assert holds(checked, red(maps("a", "b"), maps("b", "a", "c")))
    assert not holds(checked, red(maps("a", "b"), maps("b", "c")))


def test_contains_counts_players_with_the_value() -> None:
    checked = rule("collection", measurements=[MAPS], operation="contains", referenceValue="a",
                   minCount=1, maxCount=2)  # fmt: skip
    assert holds(checked, match(red=[maps("a", "b")], blue=[maps("b", "a")]))
    assert not holds(checked, match(red=[maps("b")], blue=[maps("c")]))
    assert not holds(checked, match(red=[maps("a"), maps("a")], blue=[maps("a")]))


def test_contains_counts_each_player_of_a_party_unless_read_otherwise() -> None:
    checked = rule("collection", measurements=[MAPS], operation="contains", referenceValue="a",
                   maxCount=1)  # fmt: skip
    two = red(pair(("a",), ("a", "b")))
    assert not holds(checked, two)
    assert holds(checked, two, Readings(contains="ticket"))
    one_of_two = red(pair(("a",), ("b",)), maps("a"))
    assert not holds(checked, one_of_two)
    strict = checked | {"partyAggregation": "intersection"}
    assert not holds(strict, one_of_two)
    assert holds(strict, one_of_two, Readings(contains="ticket"))


def test_contains_counts_words_of_one_list() -> None:
    checked = rule("collection", measurements=[MODES], operation="contains", referenceValue="war",
                   maxCount=1)  # fmt: skip
    assert holds(checked, red(ticket(mode="war"), ticket()))
    assert not holds(checked, red(ticket(mode="war"), ticket(mode="war")))


def test_contains_by_team_holds_for_each_team() -> None:
    by_team = "teams[*].players.attributes[maps]"
    checked = rule("collection", measurements=[by_team], operation="contains", referenceValue="a",
                   minCount=1)  # fmt: skip
    assert holds(checked, match(red=[maps("a"), maps("b")], blue=[maps("a")]))
    assert not holds(checked, match(red=[maps("a"), maps("a")], blue=[maps("b")]))


@pytest.mark.parametrize("reference", [["a", "b"], MAPS.replace("maps", "mode")])
def test_reference_intersection_holds_for_each_collection(reference: Any) -> None:
    checked = rule("collection", measurements=[MAPS], operation="reference_intersection_count",
                   referenceValue=reference, minCount=1)  # fmt: skip
    assert holds(checked, red(ticket(maps=("a", "x"), mode="b"), ticket(maps=("b",), mode="a")))
    assert not holds(checked, red(ticket(maps=("a",), mode="b"), ticket(maps=("x",), mode="a")))


def test_single_word_is_a_reference_collection() -> None:
    checked = rule("collection", measurements=[MAPS], operation="reference_intersection_count",
                   referenceValue="a", maxCount=0)  # fmt: skip
    assert holds(checked, red(maps("b")))
    assert not holds(checked, red(maps("b"), maps("b", "a")))


def test_common_value_of_nobody_is_undefined() -> None:
    blue = "teams[blue].players.attributes[maps]"
    checked = rule("collection", measurements=[blue], operation="intersection", minCount=0)
    assert not holds(checked, red(maps("a")))


# Batch distance


def test_batch_distance_is_the_spread_of_all_tickets() -> None:
    checked = rule("batchDistance", batchAttribute="skill", maxDistance="5")
    assert holds(checked, match(red=skills(1, 4), blue=skills(6)))
    assert not holds(checked, match(red=skills(1, 4), blue=skills(6.1)))
    assert holds(checked, red(party(0, 10), *skills(5, 10)))
    widest = checked | {"partyAggregation": "max"}
    assert holds(widest, red(party(0, 10), *skills(5, 10)))
    assert not holds(checked | {"partyAggregation": "min"}, red(party(0, 10), *skills(5, 10)))


def test_batch_distance_of_a_string_wants_one_value_of_all_players() -> None:
    checked = rule("batchDistance", batchAttribute="mode")
    assert holds(checked, red(ticket(mode="war"), ticket(mode="war")))
    assert not holds(checked, red(ticket(player(mode="war"), player(mode="duel"))))


# Latency


def near(**ms: float) -> CandidateTicket:
    return ticket(latencies=ms)


def test_one_location_within_the_limit_suits_all() -> None:
    checked = rule("latency", maxLatency=50)
    assert holds(checked, red(near(eu=50, us=200), near(eu=10, us=20)))
    assert not holds(checked, red(near(eu=50.01, us=200), near(eu=10, us=20)))
    assert not holds(checked, red(near(eu=10, us=60), near(eu=60, us=10)))
    assert not holds(checked, red(near(eu=10), near(us=10)))


def test_player_without_latencies_is_in_no_match() -> None:
    for empty in (None, {}):
        candidate = red(near(eu=1), ticket(latencies=empty))
        assert not holds(rule("latency", maxLatency=50), candidate)


@pytest.mark.parametrize("statement", ["not(R)", "or(R,T)"])
def test_no_statement_can_do_without_the_latencies_of_a_player(statement: str) -> None:
    checked = [
        rule("latency", maxLatency=50),
        rule("comparison", "T", measurements=[SKILLS], operation="=", referenceValue=10),
        rule("compound", "C", statement=statement),
    ]
    rule_set = rule_set_of(*checked, teams=SMALL)
    assert who_objects(rule_set, red(near(eu=99))) == []
    assert "R" in who_objects(rule_set, red(near(eu=99), ticket()))


def test_latencies_of_a_party_are_merged_where_all_report_them() -> None:
    both = ticket(player(latencies={"eu": 20, "us": 5}), player(latencies={"eu": 80}))
    assert holds(rule("latency", maxLatency=50), red(both))
    assert not holds(rule("latency", maxLatency=49), red(both))
    assert holds(rule("latency", maxLatency=20, partyAggregation="min"), red(both))
    assert not holds(rule("latency", maxLatency=79, partyAggregation="max"), red(both))


def test_latencies_are_near_the_reference() -> None:
    least = rule("latency", maxDistance=30, distanceReference="min")
    assert holds(least, red(near(eu=10), near(eu=40)))
    assert not holds(least, red(near(eu=10), near(eu=41)))
    mean = rule("latency", maxDistance=15, distanceReference="avg")
    assert holds(mean, red(near(eu=10), near(eu=40)))
    assert not holds(mean, red(near(eu=10), near(eu=10), near(eu=40)))


@pytest.mark.parametrize(
    ("keys", "candidate", "reason"),
    [
        ({"maxLatency": 50}, red(near(eu=60)), "no location suits all tickets within 50 ms"),
        ({"maxDistance": 5, "distanceReference": "min"}, red(near(eu=1), near(us=1)),
         "no location suits all tickets"),
        ({"maxDistance": 5, "distanceReference": "min"}, red(near(eu=1), near(eu=9)),
         "in no location all tickets differ from the min by at most 5 ms"),
    ],
)  # fmt: skip
def test_reason_against_latencies(
    keys: dict[str, Any], candidate: CandidateMatch, reason: str
) -> None:
    rule_set = rule_set_of(rule("latency", **keys), teams=SMALL)
    (objection,) = objections_to(rule_set, candidate, 0)
    assert objection.reason == reason


@pytest.mark.parametrize(("number", "end"), [(10, "9"), (11, "9, ...")])
def test_reason_lists_ten_values_at_most(number: int, end: str) -> None:
    rule_set = rule_set_of(
        rule("comparison", measurements=[SKILLS], operation="="),
        teams=[{"name": "red", "minPlayers": 1, "maxPlayers": 20}],
    )
    (objection,) = objections_to(rule_set, red(*skills(*range(number))), 0)
    assert objection.reason == f"0, 1, 2, 3, 4, 5, 6, 7, 8, {end} are not all equal"


def test_limit_and_distance_hold_in_one_location() -> None:
    checked = rule("latency", maxLatency=50, maxDistance=10, distanceReference="min")
    apart = red(near(eu=10, us=60), near(eu=50, us=60))
    assert not holds(checked, apart)
    assert holds(checked, red(near(eu=10, us=45), near(eu=50, us=45)))


def test_latency_mean_weighs_parties_by_players_unless_read_otherwise() -> None:
    trio = ticket(*(player(latencies={"eu": 0}) for _ in range(3)))
    checked = rule("latency", maxDistance=20, distanceReference="avg")
    candidate = red(trio, near(eu=40))
    assert not holds(checked, candidate)
    assert holds(checked, candidate, Readings(party_weight="ticket"))


# Sorts, sizes, faults


def test_sort_rules_forbid_nothing() -> None:
    sort = rule("distanceSort", sortAttribute="skill", sortDirection="ascending")
    assert holds(sort, red(*skills(1, 1000)))


def test_teams_have_their_sizes() -> None:
    rule_set = rule_set_of()
    assert is_legal(rule_set, match(red=skills(1), blue=skills(1)), 0)
    sizes = match(red=[party(*range(6))])
    assert [str(each) for each in objections_to(rule_set, sizes, 0)] == [
        "teams[red]: has 6 players, and must have 1 to 5 players",
        "teams[blue]: has 0 players, and must have 1 to 5 players",
    ]


def test_what_is_no_match_is_said() -> None:
    rule_set = rule_set_of(teams=SMALL)
    one = ticket(player("ann"))
    for candidate, reason in [
        (match(green=[one]), "there is no team 'green'; the teams are red, blue"),
        (match(red=[one], blue=[one]), f"the ticket {one.id} is in it twice"),
        (match(red=[one, ticket(player("ann"))]), "the player ann is in it twice"),
        (match(red=[]), "nobody is in it"),
        (match(red=[one, CandidateTicket(id="none", players=())]),
         "the ticket none has no players"),
        (match(red=[ticket(player("bob", skill="high"))]),
         "the player bob has a skill that is no number: 'high'"),
        (match(red=[ticket(player("bob", maps="ice"))]),
         "the player bob has a maps that is no string_list: 'ice'"),
        (match(red=[ticket(player("bob", skill=True))]),
         "the player bob has a skill that is no number: True"),
        (match(red=[ticket(player("bob", skill=INF))]),
         "the player bob has a skill that is no number: inf"),
        (match(red=[ticket(player("bob", maps=("ice", 1)))]),
         "the player bob has a maps that is no string_list: ('ice', 1)"),
        (match(red=[ticket(player("bob", wishes={"sea": 1, "ice": "much"}))]),
         "the player bob has a wishes that is no string_number_map: {'sea': 1, 'ice': 'much'}"),
        (match(red=[ticket(player("bob", latencies={"eu": float("nan")}))]),
         "the player bob has a latency to eu that is no number: nan"),
        (match(red=[CandidateTicket(id="never", players=one.players, enqueued_at=INF)]),
         "the ticket never has no time of arrival: inf"),
    ]:  # fmt: skip
        assert [str(each) for each in objections_to(rule_set, candidate, 0)] == [reason]
        assert legal_instants(rule_set, candidate) == ()


def test_who_lacks_an_attribute_without_default_is_never_matched() -> None:
    rule_set = rule_set_of(playerAttributes=[{"name": "unused", "type": "number"}])
    both = match(red=[ticket(player("bob", unused=1))], blue=[ticket(player("ann"))])
    assert who_objects(rule_set, both) == ["the player ann has no unused, which has no default"]


def test_undeclared_attributes_do_no_harm() -> None:
    extra = CandidatePlayer(id="ann", attributes={"hat": "red"})
    assert is_legal(rule_set_of(teams=SMALL), red(ticket(extra)), 0)


# Ages

WIDER = {
    "target": "rules[R].maxDistance",
    "steps": [{"waitTimeSeconds": 10, "value": 50}, {"waitTimeSeconds": 20, "value": 100}],
}
SPREAD = rule("distance", measurements=[f"max({SKILLS})"], referenceValue=f"min({SKILLS})",
              maxDistance=5)  # fmt: skip


def ages(gap: float, old: float, new: float, **algorithm: str) -> tuple[tuple[float, float], ...]:
    rule_set = rule_set_of(SPREAD, expansions=[WIDER], algorithm=algorithm)
    candidate = match(red=[ticket(skill=0, at=old)], blue=[ticket(skill=gap, at=new)])
    return legal_instants(rule_set, candidate)


def test_clock_is_that_of_the_newest_ticket_of_the_match() -> None:
    assert ages(5, 100, 107) == ((107, INF),)
    assert ages(50, 100, 107) == ((117, INF),)
    assert ages(100, 100, 107) == ((127, INF),)
    assert ages(101, 100, 107) == ()
    candidate = match(red=skills(0), blue=[ticket(skill=50, at=7)])
    assert not is_legal(rule_set_of(SPREAD, expansions=[WIDER]), candidate, 16.5)
    assert is_legal(rule_set_of(SPREAD, expansions=[WIDER]), candidate, 17)


def test_clock_is_that_of_the_oldest_ticket_where_the_algorithm_says_so() -> None:
    assert ages(50, 100, 107, expansionAgeSelection="oldest") == ((110, INF),)
    assert ages(50, 100, 115, expansionAgeSelection="oldest") == ((115, INF),)
    assert ages(100, 100, 115, expansionAgeSelection="oldest") == ((120, INF),)
    oldest = {"expansionAgeSelection": "oldest"}
    rule_set = rule_set_of(SPREAD, expansions=[WIDER], algorithm=oldest)
    candidate = match(red=skills(0), blue=[ticket(skill=50, at=7)])
    assert not is_legal(rule_set, candidate, 9.5)
    assert is_legal(rule_set, candidate, 10)


def test_last_ticket_that_comes_when_a_step_begins_meets_that_step() -> None:
    narrower = WIDER | {"steps": [{"waitTimeSeconds": 10, "value": 2}]}
    oldest = {"expansionAgeSelection": "oldest"}
    rule_set = rule_set_of(SPREAD, expansions=[narrower], algorithm=oldest)
    for late, instants in [(9.5, ((9.5, 10.0),)), (10, ()), (11, ())]:
        candidate = match(red=skills(0), blue=[ticket(skill=4, at=late)])
        assert legal_instants(rule_set, candidate) == instants


def test_ticket_that_has_not_come_yet_is_in_no_match() -> None:
    candidate = match(red=skills(1), blue=[ticket(at=5)])
    (objection,) = objections_to(rule_set_of(), candidate, 4.5)
    assert "has not come yet at 4.5 s" in objection.reason
    assert is_legal(rule_set_of(), candidate, 5)


def test_expansion_that_narrows_ends_what_was_legal() -> None:
    narrower = WIDER | {"steps": [{"waitTimeSeconds": 10, "value": 2},
                                  {"waitTimeSeconds": 30, "value": 9}]}  # fmt: skip
    rule_set = rule_set_of(SPREAD, expansions=[narrower])
    candidate = match(red=skills(0), blue=skills(4))
    assert legal_instants(rule_set, candidate) == ((0, 10), (30, INF))
    assert [is_legal(rule_set, candidate, now) for now in (0, 9.99, 10, 29.99, 30)] == [
        True, True, False, False, True,
    ]  # fmt: skip


def test_wider_rule_within_not_ends_what_was_legal() -> None:
    far = rule("compound", "C", statement="not(R)")
    rule_set = rule_set_of(SPREAD, far, expansions=[WIDER])
    assert legal_instants(rule_set, match(red=skills(0), blue=skills(40))) == ((0, 10),)


def test_later_one_of_two_expansions_of_one_target_decides_once_begun() -> None:
    second = {"target": "rules[R].maxDistance", "steps": [{"waitTimeSeconds": 15, "value": 60}]}
    rule_set = rule_set_of(SPREAD, expansions=[WIDER, second])
    limits = []
    for age in ages_of(rule_set):
        (current,) = at_age(rule_set, age).rules
        assert isinstance(current, DistanceRule)
        limits.append((age, current.distance_max))
    assert limits == [(0, 5), (10, 50), (15, 60), (20, 60)]


def test_references_latencies_and_sizes_expand() -> None:
    rule_set = rule_set_of(
        SPREAD,
        rule("latency", "L", maxLatency=50),
        expansions=[
            {"target": "rules[L].maxLatency", "steps": [{"waitTimeSeconds": 3, "value": 70}]},
            {"target": "rules[R].referenceValue",
             "steps": [{"waitTimeSeconds": 4, "value": f"avg({SKILLS})"}]},
            {"target": "teams[red].maxPlayers", "steps": [{"waitTimeSeconds": 5, "value": 7}]},
        ],
    )  # fmt: skip
    assert ages_of(rule_set) == [0, 3, 4, 5]
    later = at_age(rule_set, 5)
    assert later.teams[0].players_max == 7
    assert isinstance(later.rules[1], LatencyRule)
    assert later.rules[1].latency_ms_max == 70
    near_enough = match(red=[ticket(skill=0, latencies={"eu": 1})],
                        blue=[ticket(skill=10, latencies={"eu": 1})])  # fmt: skip
    assert legal_instants(rule_set, near_enough) == ((4, INF),)


def test_expansion_of_a_quantity_widens_all_its_teams() -> None:
    rule_set = rule_set_of(
        teams=[{"name": "trio", "minPlayers": 3, "maxPlayers": 3, "quantity": 2}],
        expansions=[{"target": "teams[trio].minPlayers",
                     "steps": [{"waitTimeSeconds": 7, "value": 1}]}],
    )  # fmt: skip
    small = match(trio_1=skills(1), trio_2=skills(1, 2))
    assert legal_instants(rule_set, small) == ((7, INF),)


def test_algorithm_expansions_change_no_match() -> None:
    rule_set = rule_set_of(
        expansions=[{"target": "algorithm.backfillPriority",
                     "steps": [{"waitTimeSeconds": 7, "value": "high"}]}]
    )  # fmt: skip
    assert legal_instants(rule_set, match(red=skills(1), blue=skills(1))) == ((0, INF),)


def test_instants_are_exact_on_clocks_with_parts_of_seconds() -> None:
    assert ages(50, 0.0, 0.1) == ((10.1, INF),)
    rule_set = rule_set_of(SPREAD, expansions=[WIDER])
    candidate = match(red=[ticket(skill=0, at=0.1)], blue=[ticket(skill=50, at=0.2)])
    ((start, _),) = legal_instants(rule_set, candidate)
    assert start == 10.2
    assert is_legal(rule_set, candidate, start)
    assert not is_legal(rule_set, candidate, 10.199999)
