"""Each type of rule and each field of it, played on pools whose matches are known by hand."""

from typing import Any

import pytest

from evenmatch.criteria.condition.partial_match import Outlook
from evenmatch.rules.playfab.checker import Json, PlainTicket
from tests.playfab_play import engine_admits, played

Attributes = dict[str, Any]
ATTRIBUTE = {"Path": "value", "Source": "User"}


def queue(*rules: Json, players: tuple[int, int] = (2, 2), teams: tuple[int, int] = (0, 0)) -> Json:
    """Return a queue; with `teams`, of two teams whose sizes lie between them."""
    found: Json = {"Name": "main", "MinMatchSize": players[0], "MaxMatchSize": players[1]}
    if teams[1]:
        least, most = teams
        found["Teams"] = [
            {"Name": name, "MinTeamSize": least, "MaxTeamSize": most} for name in ("red", "blue")
        ]
    found["Rules"] = [{"Name": f"rule{n}"} | rule for n, rule in enumerate(rules)]
    return found


def rule(kind: str, **keys: Any) -> Json:
    """Return a rule, with an attribute where its type reads one."""
    is_bare = kind.startswith(("Region", "TeamSize", "TeamTicket"))
    return {"Type": kind} | ({} if is_bare else {"Attribute": ATTRIBUTE}) | keys


def custom(every: int, **overrides: Any) -> Json:
    return {"Type": "Custom", "SecondsBetweenExpansions": every} | overrides


def linear(every: int, delta: float, limit: float | None = None) -> Json:
    given = {"Type": "Linear", "SecondsBetweenExpansions": every, "Delta": delta}
    return given if limit is None else given | {"Limit": limit}


def ticket(name: str, *values: Any, at: float = 0.0, key: str = "value") -> PlainTicket:
    """Return a ticket of a player for each value; None is a player without one."""
    players = tuple([{} if value is None else {key: value} for value in values])
    return PlainTicket(name, at, players)


def made(text: Json, *pool: PlainTicket) -> list[tuple[float, str]]:
    """Return the matches that are made: when, and of whom; teams are apart by `|`."""
    return [
        (at, "|".join(sorted("".join(sorted(t.id for t in team)) for team in teams)))
        for at, teams in played(text, pool)
    ]


# StringEqualityRule


def test_strings_of_all_players_are_the_same() -> None:
    text = queue(rule("StringEqualityRule"))
    assert made(text, ticket("a", "x"), ticket("b", "y"), ticket("c", "x", at=3)) == [(3.0, "ac")]


def test_string_rule_that_ceases_to_be_active_holds_for_nobody_from_then_on() -> None:
    expansion = custom(5, EnabledOverrides=[True, True, False])
    text = queue(rule("StringEqualityRule", Expansion=expansion))
    assert made(text, ticket("a", "x"), ticket("b", "y", at=2)) == [(12.0, "ab")]


def test_string_rule_that_is_null_at_first_is_active_later() -> None:
    text = queue(rule("StringEqualityRule", Expansion=custom(5, EnabledOverrides=[None, True])))
    assert made(text, ticket("a", "x"), ticket("b", "y", at=4.5)) == [(4.5, "ab")]
    # From second 5 on it holds for the ticket that came first, whoever comes.
    assert made(text, ticket("a", "x"), ticket("b", "y", at=5)) == []
    assert made(text, ticket("a", "x"), ticket("b", "x", at=5)) == [(5.0, "ab")]


# DifferenceRule


def test_difference_at_its_limit_is_allowed_and_above_it_is_not() -> None:
    text = queue(rule("DifferenceRule", Difference=0.3))
    assert made(text, ticket("a", 0.1), ticket("b", 0.4)) == [(0.0, "ab")]
    assert made(text, ticket("a", 0.1), ticket("b", 0.4001)) == []


def test_difference_holds_for_any_two_tickets_of_a_match() -> None:
    text = queue(rule("DifferenceRule", Difference=5), players=(3, 3))
    pool = ticket("a", 0), ticket("b", 4), ticket("c", 8), ticket("d", 5, at=1)
    assert made(text, *pool) == [(1.0, "abd")]


@pytest.mark.parametrize(
    ("merge", "expected"), [("Average", []), ("Min", [(0.0, "ab")]), ("Max", []), (None, [])]
)
def test_party_counts_as_its_merged_value(merge: str | None, expected: list[Any]) -> None:
    own = {} if merge is None else {"MergeFunction": merge}
    text = queue(rule("DifferenceRule", Difference=1, **own), players=(3, 3))
    assert made(text, ticket("a", 0, 6), ticket("b", 1)) == expected


def test_linear_expansion_widens_at_each_interval_as_far_as_its_limit() -> None:
    text = queue(rule("DifferenceRule", Difference=1, Expansion=linear(5, 0.5, 1.8)))
    assert made(text, ticket("a", 0), ticket("b", 1.5)) == [(5.0, "ab")]
    assert made(text, ticket("a", 0), ticket("b", 1.8, at=2)) == [(12.0, "ab")]
    assert made(text, ticket("a", 0), ticket("b", 1.9)) == []


def test_difference_that_is_beyond_its_limit_at_once_stays_as_it_is() -> None:
    text = queue(rule("DifferenceRule", Difference=3, Expansion=linear(5, 1, 2)))
    assert made(text, ticket("a", 0), ticket("b", 3, at=20)) == [(20.0, "ab")]


def test_custom_expansion_starts_at_second_0_and_keeps_its_last_value() -> None:
    text = queue(
        rule("DifferenceRule", Difference=100, Expansion=custom(5, DifferenceOverrides=[1, 3]))
    )
    assert made(text, ticket("a", 0), ticket("b", 3)) == [(5.0, "ab")]
    assert made(text, ticket("a", 0), ticket("b", 3.5), ticket("c", 3.5, at=60)) == [(60.0, "bc")]


def test_interval_of_null_allows_everything_while_it_lasts() -> None:
    overrides = [1, None, 2]
    text = queue(
        rule("DifferenceRule", Difference=1, Expansion=custom(5, DifferenceOverrides=overrides))
    )
    assert made(text, ticket("a", 0), ticket("b", 9)) == [(5.0, "ab")]
    # Their intervals of null overlap from 9 to 10 s.
    assert made(text, ticket("a", 0), ticket("b", 9, at=4)) == [(9.0, "ab")]
    assert made(text, ticket("a", 0), ticket("b", 9, at=5)) == []
    assert made(text, ticket("a", 0), ticket("b", 2, at=5)) == [(10.0, "ab")]


def test_each_ticket_goes_by_its_own_wait() -> None:
    text = queue(rule("DifferenceRule", Difference=1, Expansion=linear(10, 4, 5)))
    assert made(text, ticket("a", 0), ticket("b", 5, at=9)) == [(19.0, "ab")]


# SetIntersectionRule


def test_all_players_share_so_many_strings() -> None:
    text = queue(rule("SetIntersectionRule", MinIntersectionSize=2), players=(3, 3))
    pool = ticket("a", ("x", "y", "z")), ticket("b", ("x", "y")), ticket("c", ("y", "z"))
    assert made(text, *pool) == []
    assert made(text, *pool, ticket("d", ("y", "x", "w"), at=1)) == [(1.0, "abd")]


def test_linear_expansion_of_an_intersection_lowers_it() -> None:
    own = rule("SetIntersectionRule", MinIntersectionSize=2, Expansion=linear(4, 1))
    pool = ticket("a", ("x", "y")), ticket("b", ("y", "z"))
    assert made(queue(own), *pool) == [(4.0, "ab")]
    assert made(queue(own), ticket("a", ("x",)), ticket("b", ("y",))) == [(8.0, "ab")]
    bounded = own | {"Expansion": linear(4, 1, 1)}
    assert made(queue(bounded), ticket("a", ("x",)), ticket("b", ("y",))) == []


def test_custom_expansion_of_an_intersection_counts_from_second_0() -> None:
    expansion = custom(4, MinIntersectionSizeOverrides=[2, 1])
    own = rule("SetIntersectionRule", MinIntersectionSize=0, Expansion=expansion)
    assert made(queue(own), ticket("a", ("x", "y")), ticket("b", ("y", "z"))) == [(4.0, "ab")]


# MatchTotalRule


def test_total_of_all_players_lies_between_two_bounds() -> None:
    text = queue(rule("MatchTotalRule", Min=1, Max=1), players=(3, 3))
    pool = (
        ticket("a", 0),
        ticket("b", 0),
        ticket("c", 0),
        ticket("d", 1, at=2),
        ticket("e", 1, at=3),
    )
    assert made(text, *pool) == [(2.0, "abd")]
    assert made(text, ticket("a", 1, 1), ticket("b", 0)) == []


def test_player_without_the_number_adds_nothing_to_a_total() -> None:
    text = queue(rule("MatchTotalRule", Min=1, Max=1), players=(2, 2))
    assert made(text, ticket("a", None), ticket("b", None), ticket("c", 1, at=1)) == [(1.0, "ac")]


def test_number_of_players_shrinks_by_a_total_of_ones() -> None:
    expansion = custom(10, MinOverrides=[4, 3, 2])
    text = queue(rule("MatchTotalRule", Min=2, Max=4, Expansion=expansion), players=(2, 4))
    pool = [ticket(name, 1, at=at) for name, at in (("a", 0.0), ("b", 1.0), ("c", 2.0))]
    assert made(text, *pool) == [(12.0, "abc")]
    assert made(text, *pool[:2]) == [(21.0, "ab")]
    assert made(text, *pool, ticket("d", 1, at=3)) == [(3.0, "abcd")]


def test_list_of_a_total_that_is_missing_keeps_the_base_value() -> None:
    expansion = custom(5, MaxOverrides=[1, 3])
    text = queue(rule("MatchTotalRule", Min=1, Max=9, Expansion=expansion))
    assert made(text, ticket("a", 0), ticket("b", 0)) == []
    assert made(text, ticket("a", 1), ticket("b", 2)) == [(5.0, "ab")]
    assert made(text, ticket("a", 2), ticket("b", 2)) == []


def test_null_in_either_list_of_a_total_makes_the_rule_inactive() -> None:
    expansion = custom(5, MinOverrides=[5, None, 5], MaxOverrides=[6, 6, 6])
    text = queue(rule("MatchTotalRule", Min=5, Max=6, Expansion=expansion))
    assert made(text, ticket("a", 0), ticket("b", 0)) == [(5.0, "ab")]


# RegionSelectionRule


def near(name: str, at: float = 0.0, **ms: float) -> PlainTicket:
    return PlainTicket(name, at, ({"latency": ms},))


def test_one_region_is_near_enough_for_all_players() -> None:
    text = queue(rule("RegionSelectionRule", Path="Latencies", MaxLatency=50))
    assert made(text, near("a", eu=50.0, us=90.0), near("b", eu=20.0)) == [(0.0, "ab")]
    assert made(text, near("a", eu=51.0, us=40.0), near("b", eu=20.0, us=60.0)) == []


def test_slowest_player_of_a_party_decides_on_a_region() -> None:
    text = queue(rule("RegionSelectionRule", Path="L", MaxLatency=50), players=(3, 3))
    party = PlainTicket("a", 0.0, ({"latency": {"eu": 10.0}}, {"latency": {"eu": 60.0}}))
    assert made(text, party, near("b", eu=20.0)) == []


def test_latencies_expand_both_ways() -> None:
    own = rule("RegionSelectionRule", Path="L", MaxLatency=50)
    pool = near("a", eu=50.0), near("b", eu=75.0)
    assert made(queue(own | {"Expansion": linear(5, 10, 80)}), *pool) == [(15.0, "ab")]
    expansion = custom(5, MaxLatencyOverrides=[10, 80])
    assert made(queue(own | {"Expansion": expansion}), *pool) == [(5.0, "ab")]


def test_ticket_without_latencies_may_not_queue() -> None:
    text = queue(rule("RegionSelectionRule", Path="L", MaxLatency=50))
    assert not engine_admits(text, ticket("a", None))
    assert engine_admits(text, near("a", eu=10.0))


# Team rules


def test_averages_of_teams_are_close() -> None:
    text = queue(rule("TeamDifferenceRule", Difference=1), players=(4, 4), teams=(2, 2))
    pool = [ticket("abcd"[n], value) for n, value in enumerate((0, 4, 4, 8))]
    found = made(text, *pool)
    assert [at for at, _ in found] == [0.0]
    assert {frozenset(each) for each in found[0][1].split("|")} == {
        frozenset("ad"), frozenset("bc"),
    }  # fmt: skip
    assert made(text, *[ticket("abcd"[n], value) for n, value in enumerate((0, 0, 0, 9))]) == []


def test_team_difference_expands_and_fills_in_its_default() -> None:
    own = rule("TeamDifferenceRule", Difference=1, DefaultAttributeValue=5)
    text = queue(own | {"Expansion": linear(5, 2, 9)}, teams=(1, 1))
    assert made(text, ticket("a", None), ticket("b", 5)) == [(0.0, "a|b")]
    assert made(text, ticket("a", None), ticket("b", 8)) == [(5.0, "a|b")]
    text = queue(own | {"Expansion": custom(5, DifferenceOverrides=[0, 4])}, teams=(1, 1))
    assert made(text, ticket("a", None), ticket("b", 9)) == [(5.0, "a|b")]


def test_sizes_of_teams_differ_by_so_much_at_most() -> None:
    own = rule("TeamSizeBalanceRule", Difference=0)
    text = queue(own, players=(3, 4), teams=(1, 2))
    pool = ticket("a", 1, 1), ticket("b", 1)
    assert made(text, *pool) == []
    assert [at for at, _ in made(text, *pool, ticket("c", 1, at=2))] == [2.0]
    text = queue(own | {"Expansion": linear(5, 1, 1)}, players=(3, 4), teams=(1, 2))
    assert [at for at, _ in made(text, *pool)] == [5.0]
    text = queue(
        own | {"Expansion": custom(5, DifferenceOverrides=[0, None])}, players=(3, 4), teams=(1, 2)
    )
    assert [at for at, _ in made(text, *pool)] == [5.0]


def test_large_party_meets_a_large_party() -> None:
    text = queue(rule("TeamTicketSizeSimilarityRule"), players=(6, 6), teams=(3, 3))
    solos = [ticket(name, 1) for name in "abc"]
    assert made(text, ticket("x", 1, 1, 1), *solos) == []
    pool = ticket("x", 1, 1, 1), ticket("y", 1, 1), ticket("a", 1)
    assert made(text, *pool) == [(0.0, "ay|x")]
    assert len(made(text, *solos, *[ticket(name, 1) for name in "def"])) == 1


def test_half_of_the_largest_team_is_large() -> None:
    text = queue(rule("TeamTicketSizeSimilarityRule"), players=(8, 8), teams=(4, 4))
    pair, fours = ticket("p", 1, 1), ticket("x", 1, 1, 1, 1)
    solos = [ticket(name, 1) for name in "abcdef"]
    assert len(made(text, fours, pair, *solos[:2])) == 1
    assert made(text, fours, *solos[:4]) == []


def test_similarity_becomes_optional() -> None:
    own = rule("TeamTicketSizeSimilarityRule", SecondsUntilOptional=20)
    text = queue(own, players=(6, 6), teams=(3, 3))
    solos = [ticket(name, 1) for name in "abc"]
    assert made(text, ticket("x", 1, 1, 1), *solos) == [(20.0, "abc|x")]


# What all rules have


def test_rule_is_optional_from_its_second_on_and_not_before() -> None:
    text = queue(rule("DifferenceRule", Difference=1, SecondsUntilOptional=30))
    assert made(text, ticket("a", 0), ticket("b", 500, at=7)) == [(37.0, "ab")]


def test_rule_that_is_optional_at_once_forbids_nothing() -> None:
    text = queue(rule("StringEqualityRule", SecondsUntilOptional=0))
    assert made(text, ticket("a", "x"), ticket("b", "y")) == [(0.0, "ab")]


def test_expansion_beyond_the_second_at_which_a_rule_is_optional_does_not_count() -> None:
    overrides = [1, 1, 1, None, 1]
    expansion = custom(10, DifferenceOverrides=overrides)
    text = queue(rule("DifferenceRule", Difference=1, SecondsUntilOptional=20, Expansion=expansion))
    assert made(text, ticket("a", 0), ticket("b", 500)) == [(20.0, "ab")]


@pytest.mark.parametrize("kind", ["StringEqualityRule", "DifferenceRule", "SetIntersectionRule"])
def test_who_matches_any_goes_with_everybody(kind: str) -> None:
    values = {
        "StringEqualityRule": ("x", "y"),
        "DifferenceRule": (0, 9),
        "SetIntersectionRule": (("x",), ("y",)),
    }[kind]
    sizes = {"DifferenceRule": "Difference", "SetIntersectionRule": "MinIntersectionSize"}
    keys = {sizes[kind]: 1} if kind in sizes else {}
    text = queue(rule(kind, AttributeNotSpecifiedBehavior="MatchAny", **keys), players=(3, 3))
    one, other = values
    assert made(text, ticket("a", one), ticket("b", None), ticket("c", other)) == []
    assert made(text, ticket("a", one), ticket("b", None), ticket("c", one)) == [(0.0, "abc")]
    nobody = [ticket(name, None) for name in "abc"]
    assert made(text, *nobody) == [(0.0, "abc")]


def test_party_of_which_some_match_any_counts_by_the_others() -> None:
    keys = {"Difference": 1, "AttributeNotSpecifiedBehavior": "MatchAny"}
    text = queue(rule("DifferenceRule", **keys), players=(3, 3))
    assert made(text, ticket("a", 4, None), ticket("b", 5)) == [(0.0, "ab")]
    assert made(text, ticket("a", 4, None), ticket("b", 6)) == []


def test_team_in_which_nobody_has_the_number_meets_any_team() -> None:
    keys = {"Difference": 1, "AttributeNotSpecifiedBehavior": "MatchAny"}
    text = queue(rule("TeamDifferenceRule", **keys), teams=(1, 1))
    assert made(text, ticket("a", 10), ticket("b", None)) == [(0.0, "a|b")]
    assert made(text, ticket("a", None), ticket("b", None)) == [(0.0, "a|b")]
    assert made(text, ticket("a", 10), ticket("b", 12)) == []
    text = queue(rule("TeamDifferenceRule", **keys), players=(4, 4), teams=(2, 2))
    assert made(text, ticket("a", 4, None), ticket("b", 5, 5)) == [(0.0, "a|b")]
    assert made(text, ticket("a", 4, None), ticket("b", 6, 6)) == []


def test_teams_with_the_number_are_close_whoever_lacks_it() -> None:
    keys = {"Difference": 1, "AttributeNotSpecifiedBehavior": "MatchAny"}
    text = queue(rule("TeamDifferenceRule", **keys), players=(3, 3), teams=(1, 1))
    text["Teams"].append({"Name": "green", "MinTeamSize": 1, "MaxTeamSize": 1})
    assert made(text, ticket("a", 1), ticket("b", None), ticket("c", 2)) == [(0.0, "a|b|c")]
    assert made(text, ticket("a", 1), ticket("b", None), ticket("c", 3)) == []


def test_empty_team_meets_any_team_as_nobody_in_it_has_the_number() -> None:
    keys = {"Difference": 1, "AttributeNotSpecifiedBehavior": "MatchAny"}
    text = queue(rule("TeamDifferenceRule", **keys), teams=(0, 2))
    assert len(made(text, ticket("a", 1), ticket("b", 9))) == 1  # in one team
    text["Teams"] = [team | {"MaxTeamSize": 1} for team in text["Teams"]]
    assert made(text, ticket("a", 1), ticket("b", 9)) == []
    text["Teams"].append({"Name": "green", "MinTeamSize": 0, "MaxTeamSize": 1})
    assert len(made(text, ticket("a", 1), ticket("b", 2))) == 1


def test_who_may_match_any_costs_a_search_little_while_all_have_the_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[bool] = []
    can_pass = Outlook.can_pass

    def counted(*given: Any) -> bool:
        asked.append(True)
        return can_pass(*given)

    monkeypatch.setattr(Outlook, "can_pass", counted)
    text = queue(rule("TeamDifferenceRule", Difference=20), players=(12, 12), teams=(3, 3))
    text["Teams"] += [{"Name": n, "MinTeamSize": 3, "MaxTeamSize": 3} for n in ("green", "gold")]
    pool = [ticket(f"t{n}", 37 * n % 101 * 10.0, at=n) for n in range(40)]
    plain, steps = len(made(text, *pool)), len(asked)
    text["Rules"][0]["AttributeNotSpecifiedBehavior"] = "MatchAny"
    assert len(made(text, *pool)) == plain
    # The plain rule also says which candidates are too far apart before any is tried.
    assert len(asked) < 6 * steps


def test_default_stands_in_for_what_is_missing() -> None:
    keys = {"AttributeNotSpecifiedBehavior": "UseDefault", "DefaultAttributeValue": 7}
    text = queue(rule("DifferenceRule", Difference=1, **keys))
    assert made(text, ticket("a", None), ticket("b", 8)) == [(0.0, "ab")]
    assert made(text, ticket("a", None), ticket("b", 9)) == []


def test_ticket_without_an_attribute_that_has_no_default_may_not_queue() -> None:
    assert not engine_admits(queue(rule("StringEqualityRule")), ticket("a", None))
    assert not engine_admits(queue(rule("StringEqualityRule")), ticket("a", 5))


def test_two_defaults_of_one_attribute_count_each_in_its_rule() -> None:
    one = rule("DifferenceRule", Difference=1, DefaultAttributeValue=0)
    other = rule("TeamDifferenceRule", Difference=1, DefaultAttributeValue=10)
    text = queue(one, other, teams=(1, 1))
    assert made(text, ticket("a", None), ticket("b", 1)) == []
    text["Rules"][1]["Difference"] = 9
    assert made(text, ticket("a", None), ticket("b", 1)) == [(0.0, "a|b")]


def test_lone_ticket_that_fills_a_match_needs_another() -> None:
    text = queue(players=(2, 4))
    assert made(text, ticket("a", 1, 1)) == []
    assert made(text, ticket("a", 1, 1), ticket("b", 1, at=3)) == [(3.0, "ab")]


def test_ticket_as_large_as_the_largest_match_may_not_queue() -> None:
    text = queue(players=(2, 3))
    assert not engine_admits(text, ticket("a", 1, 1, 1))
    assert engine_admits(text, ticket("a", 1, 1))


def test_ticket_may_be_no_larger_than_the_queue_says() -> None:
    text = queue(players=(2, 8)) | {"MaxTicketSize": 2}
    assert engine_admits(text, ticket("a", 1, 1))
    assert not engine_admits(text, ticket("a", 1, 1, 1))


def test_match_size_holds_over_all_teams() -> None:
    text = queue(players=(5, 5), teams=(2, 3))
    assert made(text, *[ticket(name, 1) for name in "abcd"]) == []
    found = made(text, *[ticket(name, 1) for name in "abcdef"])
    assert [len(teams) for _, teams in found] == [len("abc|de")]
