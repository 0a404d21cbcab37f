"""What PlayFab queues become, and whether rules of our own kinds say the same as theirs."""

import tomllib
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from evenmatch.config.files import parse_scenario
from evenmatch.criteria.rules import Rules
from evenmatch.errors import ConfigError
from evenmatch.lab.imports.playfab import import_queues
from evenmatch.lab.imports.report import ImportOptions, ImportResult
from evenmatch.lab.imports.toml_text import arrivals_text
from evenmatch.lab.simulate import simulate
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Choice
from evenmatch.model.ticket import Ticket
from evenmatch.rules.languages import load_rules
from tests.playfab_play import drawn_pool, drawn_queue, ticket_of
from tests.shared import ROOT

SAMPLES = sorted((ROOT / "tests" / "data" / "playfab").glob("*.json"))
ATTRIBUTE = {"Path": "skill", "Source": "User"}
Json = dict[str, Any]


def imported(raw: object, **options: Any) -> ImportResult:
    text = raw if isinstance(raw, bytes) else msgspec.json.encode(raw)
    return import_queues(text, ImportOptions(**options))


def duel(*rules: Json, **keys: Any) -> Json:
    named = [{"Name": f"r{n}"} | rule for n, rule in enumerate(rules)]
    return {"Name": "duel", "MinMatchSize": 2, "MaxMatchSize": 2, "Rules": named} | keys


def taken(found: ImportResult) -> dict[str, str]:
    return {each.path: each.taken for each in found.lines}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_configuration_of_a_sample_can_be_simulated(path: Path, tmp_path: Path) -> None:
    found = imported(path.read_bytes(), wait_max=120.0)
    for name, text in found.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    scenario = parse_scenario(found.toml, tmp_path)
    assert tuple(queue.name for queue in scenario.queues) == found.queues
    assert all(queue.wait_max == 120.0 for queue in scenario.queues)
    assert simulate(scenario).summary["matches"] > 5


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_key_of_a_sample_has_a_line_in_the_report(path: Path) -> None:
    found = imported(path.read_bytes())
    text = path.read_text(encoding="utf-8").splitlines()
    reported = [each for each in found.lines if each.line]
    for each in reported:
        key = each.path.rpartition(".")[2].partition("[")[0]
        assert key in text[each.line - 1] or "[" in each.path
        assert each.becomes or each.note
    keys = Counter(each.path for each in reported)
    assert set(keys.values()) == {1}
    named = {each.path.rpartition(".")[2] for each in reported}
    assert {"MinMatchSize", "MaxMatchSize", "Name"} <= named


def test_queue_of_one_against_one_becomes_rules_of_our_own() -> None:
    found = imported((ROOT / "tests" / "data" / "playfab" / "02_ranked_duel.json").read_bytes())
    queue = tomllib.loads(found.toml)["queue"][0]
    assert found.files == {}
    assert queue["rules"] == [
        {
            "kind": "spread",
            "attribute": "skill",
            "limit": 100,
            "expand": {"steps": [[5, 150], [10, 200], [15, 250], [20, 300], [60, 1e15]]},
        },
        {"kind": "overlap", "attribute": "maps", "expand": {"steps": [[30, 1]]}},
    ]
    assert [each["weight"] for each in queue["criteria"]] == [3, 1]


def test_own_kinds_are_taken_where_they_are_asked_for_and_say_in_what_they_differ() -> None:
    raw = duel(
        {"Type": "MatchTotalRule", "Attribute": ATTRIBUTE, "Min": 1, "Max": 1},
        {"Type": "DifferenceRule", "Attribute": ATTRIBUTE, "Difference": 5},
        {
            "Type": "StringEqualityRule",
            "Attribute": {"Path": "mode", "Source": "User"},
            "AttributeNotSpecifiedBehavior": "MatchAny",
        },
        MaxMatchSize=4,
    )
    assert "rules_file" in tomllib.loads(imported(raw).toml)["queue"][0]
    found = imported(raw, target="kinds")
    queue = tomllib.loads(found.toml)["queue"][0]
    assert [rule["kind"] for rule in queue["rules"]] == ["spread", "same"]
    assert taken(found)["$.Rules[0]"] == "not at all"
    assert taken(found)["$.Rules[1]"] == "approximately"
    assert taken(found)["$.Rules[2].AttributeNotSpecifiedBehavior"] == "approximately"
    notes = {each.path: each.note for each in found.lines}
    assert "use roles" in notes["$.Rules[0]"]
    assert "each player of a party counts by themselves" in notes["$.Rules[1]"]
    assert parse_scenario(found.toml).queues[0].format.players == (4,)


def test_rules_file_is_the_queue_as_it_is_without_comments() -> None:
    text = b'{"Name": "q", /* two */ "MinMatchSize": 2, "MaxMatchSize": 9, "Name": "r"}'
    found = imported(text)
    assert found.queues == ("r",)
    raw = found.files["r.rules.json"]
    assert msgspec.json.decode(raw) == {"Name": "r", "MinMatchSize": 2, "MaxMatchSize": 9}
    assert [each.level for each in found.findings] == ["warning", "warning"]


def test_schedule_that_shrinks_is_kept_and_reported() -> None:
    found = imported((ROOT / "tests" / "data" / "playfab" / "08_late_rule.json").read_bytes())
    (line,) = [each for each in found.lines if each.path.endswith("Expansion")]
    assert line.taken == "exactly"
    assert line.becomes == "not active from 0 s, 10 from 5 s, 30 from 10 s"
    assert line.note.startswith("it shrinks at some age, and is kept so")


def test_what_has_no_counterpart_says_what_to_do() -> None:
    raw = duel(
        ServerAllocationEnabled=True,
        BuildId="b",
        StatisticsVisibilityToPlayers={},
        Colour="red",
        RegionSelectionRule={"Name": "r9", "Path": "L", "MaxLatency": 50},
    )
    found = imported(raw)
    lost = {each.path: each.note for each in found.lines if each.taken == "not at all"}
    assert sorted(lost) == [
        "$.BuildId",
        "$.Colour",
        "$.ServerAllocationEnabled",
        "$.StatisticsVisibilityToPlayers",
        "GiveUpAfterSeconds",
    ]
    assert "[server.allocation.NAME]" in lost["$.ServerAllocationEnabled"]
    assert "--wait-max" in lost["GiveUpAfterSeconds"]


def test_total_says_what_a_player_without_its_number_counts() -> None:
    behaviour = {"AttributeNotSpecifiedBehavior": "MatchAny"}
    rule = {"Type": "MatchTotalRule", "Attribute": ATTRIBUTE, "Min": 1, "Max": 5} | behaviour
    found = imported(duel(rule))
    (line,) = [each for each in found.lines if each.path.endswith("Behavior")]
    assert line.taken == "approximately"
    assert line.becomes == "a player without it adds nothing to the total"
    assert line.note == "PlayFab does not say what it counts in a total"
    assert taken(imported(duel(rule), target="kinds"))[line.path] == "not at all"


@pytest.mark.parametrize("limit", [999_999_999_999, 1234567890123, 1e15 - 1])
def test_large_limit_is_the_same_number(limit: float) -> None:
    found = imported(duel({"Type": "DifferenceRule", "Attribute": ATTRIBUTE, "Difference": limit}))
    assert tomllib.loads(found.toml)["queue"][0]["rules"][0]["limit"] == limit


def test_step_at_the_last_instant_of_tickets_is_no_step_of_our_kinds() -> None:
    expansion = {
        "Type": "Custom",
        "SecondsBetweenExpansions": 60,
        "DifferenceOverrides": [10, 1000],
    }
    rule = {"Type": "DifferenceRule", "Attribute": ATTRIBUTE, "Difference": 10}
    text = duel(rule | {"Expansion": expansion})
    assert "rules_file" in tomllib.loads(imported(text, wait_max=60.0).toml)["queue"][0]
    found = imported(text, wait_max=60.0, target="kinds")
    (own,) = tomllib.loads(found.toml)["queue"][0]["rules"]
    assert "expand" not in own
    assert taken(found)["$.Rules[0]"] == taken(found)["$.Rules[0].Expansion"] == "approximately"
    notes = {each.path: each.note for each in found.lines}
    assert notes["$.Rules[0]"] == "the step at 60 s, where tickets end, is left out"
    # Whoever ends before is not affected.
    assert imported(text, wait_max=59.0).files == {}


@pytest.mark.parametrize(
    ("kind", "limit", "most", "is_exact"),
    [
        ("DifferenceRule", 1, 1, True),
        ("DifferenceRule", 0.1, 1, False),
        ("TeamDifferenceRule", 1, 2, True),
        ("TeamDifferenceRule", 0.5, 2, False),
        ("TeamDifferenceRule", 1, 3, False),
    ],
)
def test_kinds_are_exact_where_no_rounding_can_decide(
    kind: str, limit: float, most: int, *, is_exact: bool
) -> None:
    teams = [{"Name": name, "MinTeamSize": most, "MaxTeamSize": most} for name in "ab"]
    rule = {"Type": kind, "Attribute": ATTRIBUTE, "Difference": limit}
    sizes = {"MinMatchSize": 2 * most, "MaxMatchSize": 2 * most, "MaxTicketSize": 1}
    found = imported(duel(rule, Teams=teams, **sizes), target="kinds")
    line = taken(found)["$.Rules[0].Difference"]
    assert line == taken(found)["$.Rules[0]"] == ("exactly" if is_exact else "approximately")


def test_expansion_by_decimals_is_not_exact_either() -> None:
    linear = {"Type": "Linear", "Delta": 0.1, "Limit": 2, "SecondsBetweenExpansions": 5}
    rule = {"Type": "DifferenceRule", "Attribute": ATTRIBUTE, "Difference": 1}
    found = imported(duel(rule | {"Expansion": linear}), target="kinds")
    assert taken(found)["$.Rules[0].Expansion"] == "approximately"


def test_attribute_of_a_player_entity_is_taken_approximately() -> None:
    attribute = {"Path": "$.ratings.duel", "Source": "PlayerEntity"}
    found = imported(duel({"Type": "DifferenceRule", "Attribute": attribute, "Difference": 5}))
    (line,) = [each for each in found.lines if each.path.endswith("Attribute")]
    assert (line.taken, line.becomes) == ("approximately", "the attribute duel of each player")


@pytest.mark.parametrize(
    ("rule", "is_there"),
    [
        ({"Weight": 2}, True),
        ({"Weight": 0}, False),
        ({}, False),
        ({"Weight": 2, "AttributeNotSpecifiedBehavior": "MatchAny"}, False),
        ({"Weight": 2, "DefaultAttributeValue": 7}, True),
        ({"Weight": 2, "Difference": 0}, False),
    ],
)
def test_weight_becomes_a_criterion_where_all_players_can_be_compared(
    rule: Json, *, is_there: bool
) -> None:
    raw = duel({"Type": "DifferenceRule", "Attribute": ATTRIBUTE, "Difference": 5} | rule)
    queue = load_rules(msgspec.json.encode(raw)).queue(Queue("main"))
    assert [each.weight for each in queue.criteria] == ([2.0] if is_there else [])
    lines = {each.path: each.taken for each in imported(raw).lines}
    if rule.get("Weight"):
        assert lines["$.Rules[0].Weight"] == ("approximately" if is_there else "not at all")


def skills(weights: range, **keys: Any) -> Json:
    """Return a duel of single players with a rule on a number of its own for each weight."""
    rules = [
        {"Type": "DifferenceRule", "Attribute": {"Path": f"x{n}"}, "Difference": 5, "Weight": n}
        for n in weights
    ]
    return duel(*rules, MaxTicketSize=1, **keys)


def test_of_more_weights_than_a_queue_has_criteria_the_largest_count(tmp_path: Path) -> None:
    raw = skills(range(1, 21))
    queue = load_rules(msgspec.json.encode(raw)).queue(Queue("main"))
    assert [each.weight for each in queue.criteria] == list(range(5, 21))
    found = imported(raw, wait_max=60.0)
    for name, text in found.files.items():
        (tmp_path / name).write_text(text)
    (played,) = parse_scenario(found.toml, tmp_path).queues
    assert (played.criteria, played.rules) == (queue.criteria, queue.rules)
    notes = {each.path: each.note for each in found.lines if each.taken == "not at all"}
    assert notes["$.Rules[3].Weight"].startswith("a queue has at most 16 criteria")
    assert "$.Rules[4].Weight" not in notes


def test_more_rules_than_a_queue_has_of_our_own_are_kept_in_a_file() -> None:
    raw = skills(range(17))
    for rule in raw["Rules"]:
        del rule["Weight"]
    assert 'rules_file = "duel.rules.json"' in imported(raw).toml
    with pytest.raises(ConfigError, match=r"becomes 17 rules of our own.* --target rules_file"):
        imported(raw, target="kinds")
    del raw["Rules"][0]
    assert "rules_file" not in imported(raw).toml


def test_latency_without_a_real_limit_may_have_a_weight() -> None:
    rule = {"Type": "RegionSelectionRule", "Path": "L", "MaxLatency": 2**31 - 1, "Weight": 1}
    raw = duel(rule)
    (criterion,) = load_rules(msgspec.json.encode(raw)).queue(Queue("main")).criteria
    assert criterion.worst == 1e6
    for target in ("kinds", "rules_file"):
        found = imported(raw, target=target)
        assert taken(found)["$.Rules[0].Weight"] == "approximately"
    assert parse_scenario(imported(raw, target="kinds").toml).queues[0].criteria == (criterion,)


@pytest.mark.parametrize("target", ["kinds", "rules_file"])
@pytest.mark.parametrize(
    "rule",
    [
        {"Type": "DifferenceRule", "Attribute": ATTRIBUTE, "Difference": 1e15},
        {
            "Type": "DifferenceRule",
            "Attribute": ATTRIBUTE,
            "Difference": 5,
            "Expansion": {"DifferenceOverrides": [1e300], "SecondsBetweenExpansions": 5},
        },
        {
            "Type": "DifferenceRule",
            "Attribute": ATTRIBUTE,
            "Difference": 5,
            "DefaultAttributeValue": 1e15,
        },
        {"Type": "RegionSelectionRule", "Path": "L", "MaxLatency": 1e15},
    ],
)
def test_numbers_are_drawn_that_a_ticket_may_have(rule: Json, target: str, tmp_path: Path) -> None:
    found = imported(duel(rule), target=target, wait_max=60.0)
    for name, text in found.files.items():
        (tmp_path / name).write_text(text)
    assert simulate(parse_scenario(found.toml, tmp_path)).summary["tickets"] == 200


def test_one_attribute_may_be_of_another_type_in_another_queue(tmp_path: Path) -> None:
    number = {"Type": "DifferenceRule", "Attribute": ATTRIBUTE, "Difference": 10}
    word = {"Type": "StringEqualityRule", "Attribute": ATTRIBUTE}
    words = {"Type": "SetIntersectionRule", "Attribute": ATTRIBUTE, "MinIntersectionSize": 1}
    rules = {"ranked": number, "casual": word, "either": words}
    queues = [duel(rule, Name=name) for name, rule in rules.items()]
    for order in (queues, queues[::-1], queues[1:]):
        found = imported(order, wait_max=60.0)
        for name, text in found.files.items():
            (tmp_path / name).write_text(text)
        run = simulate(parse_scenario(found.toml, tmp_path))
        assert {match["queue"] for match in run.matches} == {queue["Name"] for queue in order}


def test_default_that_no_ticket_could_have_is_refused() -> None:
    rule = {"Type": "DifferenceRule", "Attribute": ATTRIBUTE, "Difference": 5}
    with pytest.raises(ConfigError, match=r"DefaultAttributeValue .* from -1e15 to 1e15"):
        imported(duel(rule | {"DefaultAttributeValue": 1e16}))


def test_errors_are_listed() -> None:
    with pytest.raises(ConfigError, match=r"\$\.MaxMatchSize .line 1. is missing"):
        imported({"Name": "q", "MinMatchSize": 2})


def solo_queue(rng: Random) -> Json:
    """Return a drawn queue of single players, in which everybody has all attributes."""
    while True:
        text = drawn_queue(rng)
        for rules in [v for v in text.values() if isinstance(v, list)]:
            for rule in rules:
                rule.pop("AttributeNotSpecifiedBehavior", None)
                rule.pop("DefaultAttributeValue", None)
        text["MaxTicketSize"] = 1
        if any(key.endswith(("Rules", "Rule")) and text[key] for key in text):
            return text


def test_own_kinds_allow_what_the_queue_allows_and_from_the_same_instant_on() -> None:
    compared, kinds = 0, Counter[str]()
    for seed in range(700):
        rng = Random(seed)
        text = solo_queue(rng)
        found = imported(text)
        if found.files:
            continue
        own = parse_scenario(found.toml).queues[0]
        theirs = load_rules(msgspec.json.encode(text)).queue(Queue("main", policy="by_rules"))
        kinds.update(rule.kind for rule in own.rules)
        for teams in drawn_teams(rng, theirs):
            compared += 1
            ready = Rules(own).ready_at(teams)
            assert ready == Rules(theirs).ready_at(teams), (seed, text, found.toml, teams)
    assert compared > 800
    assert set(kinds) == {"spread", "same", "overlap", "latency", "imbalance"}


def drawn_teams(rng: Random, queue: Queue) -> list[tuple[tuple[Ticket, ...], ...]]:
    """Return some full matches of single players, who have all attributes."""
    known = ("latency", "skill", "mode", "maps", "host")
    found = []
    for _ in range(8):
        singles: list[Ticket] = []
        while len(singles) < queue.format.k:
            for each in drawn_pool(rng, 8):
                if all(key in each.players[0] for key in known):
                    alone = each._replace(players=each.players[:1])
                    singles.append(ticket_of(alone, len(singles) + 1, queue))
        found.append(
            tuple([tuple([singles.pop() for _ in range(n)]) for n in queue.format.players])
        )
    return found


@pytest.mark.parametrize(("decks", "count"), [(2, 4), (3, 6), (60, 50)])
def test_values_of_a_queue_are_combined_in_all_ways_while_classes_are_few(
    decks: int, count: int
) -> None:
    deck = Choice(tuple([f"deck {number}" for number in range(decks)]))
    own = {"duel": {"side": Choice(("x", "y")), "deck": deck}}
    document = tomllib.loads(arrivals_text(2, ("duel", "arena"), {}, own=own))
    classes = [each for each in document["arrivals"]["classes"] if each["queues"] == ["duel"]]
    assert [each["share"] for each in classes] == pytest.approx([0.5 / count] * count)
    pairs = {(each["attributes"]["side"], each["attributes"]["deck"]) for each in classes}
    assert len(pairs) == len(classes) == count
