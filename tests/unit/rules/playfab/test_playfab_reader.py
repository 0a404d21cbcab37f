"""PlayFab queues in every form, and what is said of those that are wrong or odd."""

from typing import Any

import msgspec
import pytest

from evenmatch.errors import ConfigError
from evenmatch.rules.languages import load_rules
from evenmatch.rules.playfab.queue import DifferenceRule, ages_of, only_loosens, steps_of, value_at
from evenmatch.rules.playfab.reader import is_playfab_text, load_queues, read_queues
from tests.shared import ROOT

SAMPLES = sorted((ROOT / "tests" / "data" / "playfab").glob("*.json"))
Json = dict[str, Any]
ATTRIBUTE = {"Path": "skill", "Source": "User"}


def queue(**keys: Any) -> Json:
    return {"Name": "q", "MinMatchSize": 2, "MaxMatchSize": 4} | keys


def difference(**keys: Any) -> Json:
    rule = {"Type": "DifferenceRule", "Name": "r", "Attribute": ATTRIBUTE, "Difference": 5}
    return rule | keys


def found(raw: object) -> list[str]:
    """Return the findings of JSON, or of a text, in words."""
    text = raw if isinstance(raw, str | bytes) else msgspec.json.encode(raw)
    return [f"{each.level}: {each.path} {each.message}" for each in read_queues(text)[1]]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_sample_is_read_and_known_by_its_content(path: Any) -> None:
    text = path.read_bytes()
    queues, findings = read_queues(text)
    assert queues
    assert [each for each in findings if each.level == "error"] == []
    assert is_playfab_text(text)


def test_rule_set_of_another_language_is_not_taken_for_a_queue() -> None:
    for path in (ROOT / "tests" / "data" / "flexmatch").glob("*.json"):
        assert not is_playfab_text(path.read_bytes())
    assert not is_playfab_text("[]")
    assert not is_playfab_text("{")


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda one: one,
        lambda one: [one],
        lambda one: {"MatchmakingQueue": one},
        lambda one: {"MatchmakingQueueConfig": one},
        lambda one: {"MatchMakingQueues": [one]},
        lambda one: {"code": 200, "data": {"MatchmakingQueue": one}},
        lambda one: [{"MatchmakingQueue": one}],
    ],
    ids=["bare", "list", "queue", "config", "listed", "answer", "list-of-wrapped"],
)
def test_queue_is_found_wherever_it_stands(wrapped: Any) -> None:
    (read,) = load_queues(msgspec.json.encode(wrapped(queue(Rules=[difference()]))))
    assert (read.name, read.players_min, read.players_max) == ("q", 2, 4)
    assert [rule.name for rule in read.rules] == ["r"]


def test_piece_of_a_page_without_braces_is_read_with_a_warning() -> None:
    text = '"MatchmakingQueue": ' + msgspec.json.encode(queue()).decode()
    assert [each.name for each in load_queues(text)] == ["q"]
    assert found(text) == ["warning: $ has no braces around it; put the whole text into { and }"]


def test_both_forms_give_the_same_rules() -> None:
    by_type = queue(
        Rules=[
            difference(
                Expansion={"Type": "Linear", "Delta": 5, "Limit": 20, "SecondsBetweenExpansions": 5}
            ),
            {
                "Type": "MatchTotalRule", "Name": "t", "Attribute": ATTRIBUTE, "Min": 1, "Max": 2,
                "Expansion": {
                    "Type": "Custom", "MinOverrides": [1, None], "SecondsBetweenExpansions": 3
                },
            },
        ]
    )  # fmt: skip
    rule = difference(LinearExpansion={"Delta": 5, "Limit": 20, "SecondsBetweenExpansions": 5})
    del rule["Type"]
    total = {
        "Name": "t",
        "Attribute": ATTRIBUTE,
        "Min": 1,
        "Max": 2,
        "Expansion": {
            "MinOverrides": [{"Value": 1}, {"Value": None}],
            "SecondsBetweenExpansions": 3,
        },
    }
    by_list = queue(DifferenceRules=[rule], MatchTotalRules=[total])
    (one,), (other,) = (
        load_queues(msgspec.json.encode(by_type)),
        load_queues(msgspec.json.encode(by_list)),
    )
    assert [msgspec.structs.replace(r, path="") for r in one.rules] == [
        msgspec.structs.replace(r, path="") for r in other.rules
    ]
    assert steps_of(one.rules[0]) == (((0.0, 5.0), (5.0, 10.0), (10.0, 15.0), (15.0, 20.0)),)
    assert steps_of(one.rules[1]) == (((0.0, 1.0), (3.0, None)), ((0.0, 2.0),))


def test_steps_of_tenths_are_those_of_their_decimals() -> None:
    expansion = {"Type": "Linear", "Delta": 0.1, "Limit": 0.5, "SecondsBetweenExpansions": 5}
    text = queue(Rules=[difference(Difference=0.2, Expansion=expansion)])
    ((rule,),) = [each.rules for each in load_queues(msgspec.json.encode(text))]
    (steps,) = steps_of(rule)
    assert [value for _, value in steps] == [0.2, 0.3, 0.4, 0.5]
    assert value_at(steps, 9.999) == 0.3


def test_expansion_ends_where_its_rule_is_optional() -> None:
    expansion = {"Type": "Linear", "Delta": 1, "SecondsBetweenExpansions": 5}
    text = queue(Rules=[difference(Expansion=expansion, SecondsUntilOptional=12)])
    ((rule,),) = [each.rules for each in load_queues(msgspec.json.encode(text))]
    assert ages_of(rule) == (0.0, 5.0, 10.0, 12.0)
    assert only_loosens(rule)
    assert not rule.is_cut


def test_expansion_without_a_limit_goes_on_for_an_hour_of_its_intervals() -> None:
    expansion = {"Type": "Linear", "Delta": 1, "SecondsBetweenExpansions": 5}
    text = queue(Rules=[difference(Expansion=expansion)])
    ((rule,),) = [each.rules for each in load_queues(msgspec.json.encode(text))]
    assert rule.is_cut
    assert max(ages_of(rule)) == 3_600.0
    assert any("give it a Limit" in each for each in found(text))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (queue(MinMatchSize=1), "$.MinMatchSize must be a whole number from 2 to 100, got 1"),
        (queue(MaxMatchSize=101), "$.MaxMatchSize must be a whole number from 2 to 100, got 101"),
        (queue(MinMatchSize=5), "$.MaxMatchSize must be at least MinMatchSize = 5, got 4"),
        (queue(Name="_x"), "$.Name must be 1 to 64 letters, digits, _ and -"),
        (queue(Name=""), "$.Name must be a string of at least 1 character"),
        (queue(Rules={}), "$.Rules must be a list of objects, got {}"),
        (queue(Rules=[5]), "$.Rules[0] must be an object, got 5"),
        (queue(Rules=[difference(Type="Diference")]), "did you mean DifferenceRule?"),
        (
            queue(Rules=[difference(), difference()]),
            "$.Rules[1].Name is the name of $.Rules[0], too",
        ),
        (queue(Rules=[difference(Difference="far")]), 'must be a number, got "far"'),
        (queue(Rules=[difference(Difference=-1)]), "must be a number from 0 to 1e15, got -1"),
        (queue(Rules=[difference(Weight=-1)]), "$.Rules[0].Weight must be a number from 0"),
        (
            queue(Rules=[difference(Attribute=None)]),
            "$.Rules[0].Attribute must be an object such as",
        ),
        (
            queue(Rules=[difference(Attribute={"Path": 5})]),
            "Attribute.Path must be a string, got 5",
        ),
        (queue(Rules=[difference(MergeFunction="Mean")]), "must be one of Average, Min, Max"),
        (queue(Rules=[difference(Expansion=[])]), "$.Rules[0].Expansion must be an object, got []"),
        (
            queue(Rules=[difference(Expansion={"Type": "Linear", "Delta": 1})]),
            "SecondsBetweenExpansions is missing",
        ),
        (
            queue(Rules=[difference(Expansion={"SecondsBetweenExpansions": 5, "Type": "Custom"})]),
            "lists nothing; give it DifferenceOverrides",
        ),
        (
            queue(
                Rules=[
                    difference(
                        LinearExpansion={"Delta": 1, "SecondsBetweenExpansions": 5},
                        CustomExpansion={"DifferenceOverrides": [1], "SecondsBetweenExpansions": 5},
                    )
                ]
            ),
            "is a second expansion beside $.Rules[0].LinearExpansion",
        ),
        (
            queue(
                Rules=[
                    difference(
                        Expansion={"DifferenceOverrides": ["x"], "SecondsBetweenExpansions": 5}
                    )
                ]
            ),
            'DifferenceOverrides[0] must be a number of at least 0 or null, got "x"',
        ),
        (
            queue(
                Rules=[
                    difference(
                        Expansion={"Type": "Linear", "Delta": -1, "SecondsBetweenExpansions": 5}
                    )
                ]
            ),
            "Expansion.Delta must be above 0, since Difference widens as it grows, got -1",
        ),
        (
            queue(Rules=[{"Type": "TeamSizeBalanceRule", "Name": "r", "Difference": 1}]),
            "$.Rules[0] is a TeamSizeBalanceRule, and the queue has no Teams",
        ),
        (
            queue(
                Rules=[
                    {
                        "Type": "MatchTotalRule",
                        "Name": "r",
                        "Attribute": ATTRIBUTE,
                        "Min": 3,
                        "Max": 2,
                    }
                ]
            ),
            "$.Rules[0].Max must be at least Min = 3, got 2; swap the two",
        ),
        (
            queue(
                Rules=[
                    {
                        "Type": "MatchTotalRule",
                        "Name": "r",
                        "Attribute": ATTRIBUTE,
                        "Min": 1,
                        "Max": 2,
                        "Expansion": {"Type": "Linear", "Delta": 1, "SecondsBetweenExpansions": 5},
                    }
                ]
            ),
            "Expansion is linear, which PlayFab has not for this type of rule",
        ),
        (
            queue(Teams=[{"Name": "a", "MinTeamSize": 1, "MaxTeamSize": 4}]),
            "must have two teams or more",
        ),
        (
            queue(Teams=[{"Name": n, "MinTeamSize": 1, "MaxTeamSize": 2} for n in ("a", "A")]),
            "$.Teams[1].Name is taken: 'A'",
        ),
        (
            queue(Teams=[{"Name": n, "MinTeamSize": 3, "MaxTeamSize": 3} for n in "ab"]),
            "need 6 players in sum of MinTeamSize, above MaxMatchSize = 4",
        ),
        (
            queue(
                MinMatchSize=4,
                Teams=[{"Name": n, "MinTeamSize": 1, "MaxTeamSize": 1} for n in "ab"],
            ),
            "have 2 players in sum of MaxTeamSize, below MinMatchSize = 4",
        ),
        (queue(ServerAllocationEnabled="yes"), 'must be true or false, got "yes"'),
        ([], "$ has no queue"),
        (5, "$ must be a queue, an object with Name"),
        ([queue(), queue()], "$[1].Name is the name of $[0], too"),
    ],
)
def test_wrong_queue_is_an_error_with_its_path(raw: object, expected: str) -> None:
    errors = [each for each in found(raw) if each.startswith("error")]
    assert len(errors) == 1, errors
    assert expected in errors[0]
    assert read_queues(msgspec.json.encode(raw))[0] == ()


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (queue(Rules=[difference(Type="Difference")]), "is taken as DifferenceRule"),
        (queue(Rules=[difference(Attribute="skill")]), "is a text; write"),
        (queue(Rules=[difference(Difference="5")]), "is a number in quotes"),
        (queue(Rules=[difference(Wait=5)]), "Wait is not a key of such a rule and is ignored"),
        (queue(Ruls=[]), "is not a key of a queue and is ignored"),
        (queue(Rules=[difference(Name="a b")]), "has to be 1 to 255 letters"),
        (
            queue(Rules=[difference(AttributeNotSpecifiedBehavior="UseDefault")]),
            "DefaultAttributeValue is missing, and UseDefault needs it",
        ),
        (
            queue(
                Rules=[
                    difference(
                        Expansion={
                            "DifferenceOverrides": "5; null; 7",
                            "SecondsBetweenExpansions": 5,
                        }
                    )
                ]
            ),
            "is a text of values between semicolons",
        ),
        (
            queue(
                Rules=[
                    {
                        "Type": "SetIntersectionRule",
                        "Name": "r",
                        "Attribute": ATTRIBUTE,
                        "MinIntersectionSize": 2,
                        "Expansion": {"Type": "Linear", "Delta": 1, "SecondsBetweenExpansions": 5},
                    }
                ]
            ),
            "PlayFab's reference speaks of adding it",
        ),
        (
            queue(
                MaxMatchSize=40,
                Teams=[{"Name": n, "MinTeamSize": 1, "MaxTeamSize": 20} for n in "ab"],
            ),
            "is above 32, the most that PlayFab takes with Teams",
        ),
        (queue(ServerAllocationEnabled=True), "PlayFab then needs a RegionSelectionRule"),
        (
            queue(
                Rules=[
                    difference(
                        Expansion={
                            "Type": "Linear",
                            "Delta": 1,
                            "Limit": 5,
                            "SecondsBetweenExpansions": 5,
                        }
                    )
                ]
            ),
            "never applies: Difference = 5 is beyond its end already",
        ),
    ],
)
def test_odd_queue_is_taken_with_a_warning(raw: object, expected: str) -> None:
    findings = found(raw)
    assert [each for each in findings if each.startswith("error")] == []
    assert any(expected in each for each in findings), findings
    assert read_queues(msgspec.json.encode(raw))[0]


def test_rules_that_change_at_very_many_ages_are_refused() -> None:
    rules = [
        difference(
            Name=f"r{every}",
            Expansion={"Type": "Linear", "Delta": 1, "SecondsBetweenExpansions": every},
        )
        for every in (5, 7, 11)
    ]
    assert not [each for each in found(queue(Rules=rules[:1])) if each.startswith("error")]
    errors = [each for each in found(queue(Rules=rules)) if each.startswith("error")]
    assert len(errors) == 1
    assert "changes at 1,938 ages, at most 1,000 are allowed" in errors[0]


def test_rules_that_compare_very_many_pairs_of_teams_are_refused() -> None:
    teams = [{"Name": f"t{n}", "MinTeamSize": 1, "MaxTeamSize": 1} for n in range(100)]
    sizes = {"MinMatchSize": 100, "MaxMatchSize": 100, "Teams": teams}
    linear = {"Type": "Linear", "Delta": 1, "Limit": 9, "SecondsBetweenExpansions": 5}
    keys = {"Type": "TeamDifferenceRule", "AttributeNotSpecifiedBehavior": "MatchAny"}
    rules = [difference(**keys), difference(**keys, Name="s", Expansion=linear)]
    assert not any(each.startswith("error") for each in found(queue(**sizes, Rules=rules[:1])))
    errors = [each for each in found(queue(**sizes, Rules=rules)) if each.startswith("error")]
    assert len(errors) == 1
    assert "compares 29,700 pairs of teams" in errors[0]
    assert "at most 20,000 are allowed" in errors[0]
    rules[1] |= {"AttributeNotSpecifiedBehavior": "UseDefault", "DefaultAttributeValue": 1}
    rules[1]["Attribute"] = {"Path": "rank", "Source": "User"}
    assert not any(each.startswith("error") for each in found(queue(**sizes, Rules=rules)))


def test_step_that_no_number_could_take_is_an_error() -> None:
    expansion = {"Type": "Linear", "Delta": 1e307, "SecondsBetweenExpansions": 5}
    (error,) = found(queue(Rules=[difference(Expansion=expansion)]))
    assert error.startswith("error: $.Rules[0].Expansion.Delta must be a number from -1e15 to 1e15")


def test_empty_expansions_of_the_api_are_none() -> None:
    raw = queue(Rules=[difference(LinearExpansion={}, CustomExpansion={})])
    assert found(raw) == []


def test_too_many_rules_are_one_error() -> None:
    rules = [difference(Name=f"r{number}") for number in range(10_000)]
    errors = found(queue(Rules=rules[:20]))
    assert errors == []
    assert found(queue(Rules=rules[:21]))[0].startswith("error: $.Rules[20] is one rule too many")
    text = msgspec.json.encode(queue(Rules=[{"Type": "DifferenceRule", "Name": "r"}] * 10_000))
    assert len(found(text)) == 1
    assert "at most 20, got 10,000" in found(text)[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"Name": "q", "MinMatchSize": ' + "[" * 1_000 + "]" * 1_000 + "}", "nests more than 50"),
        ('{"Name": "q", "MinMatchSize": NaN}', "must be a finite number, got NaN"),
        ('{"Name": "q", "MinMatchSize": 1e999}', "must be a finite number"),
        ("", "must have 1 to 1,000,000 characters"),
        ('{"Name": "q"', "must have a comma or }"),
        (b"\xff\xfe", "is no UTF-8 text"),
    ],
)
def test_text_that_is_no_json_is_one_error(text: str | bytes, expected: str) -> None:
    assert len(found(text)) == 1
    assert expected in found(text)[0]
    with pytest.raises(ConfigError, match=r"line 1"):
        load_queues(text)


def test_two_paths_that_end_alike_have_different_names() -> None:
    rules = [
        difference(Attribute={"Path": path, "Source": "PlayerEntity"}, Name=f"r{n}")
        for n, path in enumerate(("$.duel.skill", "$.squad.skill", "$['a b'].size", "latency"))
    ]
    (read,) = load_queues(msgspec.json.encode(queue(Rules=rules)))
    names = [getattr(rule, "attribute").name for rule in read.rules]  # noqa: B009
    assert names == ["skill", "squad_skill", "a b_size", "latency_value"]


def test_long_paths_that_end_alike_have_different_names() -> None:
    rules = [
        difference(Attribute={"Path": f"$.{start}{'x' * 100}", "Source": "User"}, Name=start)
        for start in ("a", "b", "c")
    ]
    (read,) = load_queues(msgspec.json.encode(queue(Rules=rules)))
    names = [getattr(rule, "attribute").name for rule in read.rules]  # noqa: B009
    assert names == ["x" * 100, "x" * 98 + "_2", "x" * 96 + "_2_2"]


def test_one_path_of_two_sources_is_two_attributes() -> None:
    stored = {"Path": "level", "Source": "PlayerEntity"}
    chosen = {"Type": "StringEqualityRule", "Attribute": {"Path": "level"}, "Name": "b"}
    again = difference(Attribute=stored, Name="c")
    rules = [difference(Attribute=stored, Name="a"), chosen, again]
    (read,) = load_queues(msgspec.json.encode(queue(Rules=rules)))
    names = [getattr(rule, "attribute").name for rule in read.rules]  # noqa: B009
    assert names == ["level", "level_value", "level"]


def test_source_of_null_is_none() -> None:
    attribute = {"Path": "$.skill", "Source": None}
    text = msgspec.json.encode(queue(Rules=[difference(Attribute=attribute)]))
    (rule,) = load_queues(text)[0].rules
    assert isinstance(rule, DifferenceRule)
    assert (rule.attribute.name, rule.attribute.source) == ("skill", "User")


def test_attribute_of_two_types_is_an_error() -> None:
    word = {"Type": "StringEqualityRule", "Attribute": ATTRIBUTE, "Name": "w"}
    total = {"Type": "MatchTotalRule", "Attribute": ATTRIBUTE, "Name": "t", "Min": 1, "Max": 2}
    assert found(queue(Rules=[difference(), total])) == []
    (wrong,) = found(queue(Rules=[difference(), word]))
    said = "$.Rules[1].Attribute is a number in $.Rules[0] and a string here"
    assert wrong == f"error: {said}, so no ticket can have it; read two attributes"


def test_file_of_several_queues_says_how_to_take_them_apart() -> None:
    text = msgspec.json.encode([queue(), queue(Name="other")])
    with pytest.raises(ConfigError, match=r"holds 2 queues .q, other.*evenmatch import playfab"):
        load_rules(text)
