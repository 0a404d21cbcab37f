"""What FlexMatch rule sets and matchmaking configurations become."""

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evenmatch.config.files import parse_scenario
from evenmatch.errors import ConfigError
from evenmatch.lab.imports.flexmatch import import_rule_set
from evenmatch.lab.imports.report import ImportOptions
from evenmatch.lab.rule_set_scenario import scenario_of_rules
from evenmatch.lab.simulate import simulate
from evenmatch.rules.flexmatch.reader import load_rule_set
from tests.flexmatch_kit import text_of
from tests.shared import ROOT

SETS = sorted((ROOT / "tests" / "data" / "flexmatch").glob("*.json"))
NONE = ImportOptions()
RULES: dict[str, Any] = {
    "name": "two teams!",
    "ruleLanguageVersion": "1.0",
    "playerAttributes": [
        {"name": "skill", "type": "number", "default": 10},
        {"name": "maps", "type": "string_number_map", "default": {"hill": 1}},
    ],
    "algorithm": {
        "strategy": "exhaustiveSearch",
        "batchingPreference": "sorted",
        "sortByAttributes": ["skill"],
        "expansionAgeSelection": "oldest",
        "backfillPriority": "low",
    },
    "teams": [{"name": "red", "minPlayers": 1, "maxPlayers": 2, "quantity": 2}],
    "rules": [
        {
            "name": "Near", "type": "batchDistance", "batchAttribute": "skill", "maxDistance": 5,
            "description": "close",
        },
        {"name": "Sort", "type": "distanceSort", "sortDirection": "ascending",
         "sortAttribute": "skill"},
        {"name": "ByMap", "type": "absoluteSort", "sortDirection": "descending",
         "sortAttribute": "maps", "mapKey": "maxValue"},
    ],
    "expansions": [
        {"target": "rules[Near].maxDistance", "steps": [{"waitTimeSeconds": 10, "value": 50}]},
        {"target": "algorithm.strategy", "steps": [{"waitTimeSeconds": 5, "value": "balanced"}]},
    ],
}  # fmt: skip


def encoded(raw: object) -> bytes:
    return msgspec.json.encode(raw)


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_published_rule_set_plays_by_its_clean_copy(path: Path, tmp_path: Path) -> None:
    found = import_rule_set(path.read_bytes(), NONE, name=path.stem)
    ((name, text),) = found.files.items()
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert load_rule_set(text) == load_rule_set(path.read_bytes()) or "description" in str(
        path.read_bytes()
    )
    scenario = parse_scenario(found.toml, tmp_path)
    assert scenario.queues[0].policy == "by_rules"
    assert scenario.arrivals is not None
    assert all(each.line for each in found.lines if each.path.startswith("$"))


def test_configuration_of_a_published_rule_set_is_played(tmp_path: Path) -> None:
    found = import_rule_set(SETS[0].read_bytes(), ImportOptions(wait_max=90.0))
    for name, text in found.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert simulate(parse_scenario(found.toml, tmp_path)).summary["matches"] > 5


def test_each_line_says_how_it_was_taken() -> None:
    found = import_rule_set(encoded(RULES), NONE)
    taken = {each.path: (each.taken, each.becomes) for each in found.lines}
    assert found.queues == ("two-teams",)
    assert taken["$.name"] == ("approximately", 'name = "two-teams"')
    assert taken["$.playerAttributes[0]"][0] == "exactly"
    assert taken["$.playerAttributes[1]"][0] == "exactly"
    assert taken["$.algorithm.strategy"][0] == "not at all"
    assert taken["$.algorithm.expansionAgeSelection"][0] == "exactly"
    assert taken["$.teams[0]"] == ("exactly", "red_1, red_2: 1 to 2 players")
    assert taken["$.rules[0]"] == ("exactly", "condition Near")
    assert taken["$.rules[1]"] == ("approximately", "criterion on skill")
    assert taken["$.rules[2]"] == (
        "approximately",
        "criterion on maps, by the maxValue of who has waited longest",
    )
    assert taken["$.expansions[0]"] == ("exactly", "50 from 10 s")
    assert taken["$.expansions[1]"][0] == "not at all"
    notes = {each.path: each.note for each in found.lines}
    assert "--wait-max" in notes["RequestTimeoutSeconds"]
    assert "--accept" in notes["AcceptanceTimeoutSeconds"]


def test_step_that_no_ticket_lives_to_see_is_reported() -> None:
    found = import_rule_set(encoded(RULES), ImportOptions(wait_max=8.0))
    (line,) = [each for each in found.lines if each.path == "$.expansions[0]"]
    assert line.note == "what changes from 10 s on never counts: tickets end after 8 s"


@pytest.mark.parametrize(("arrival", "matches"), [("0", 1), ("0.1", 0)])
def test_step_at_the_end_of_tickets_counts_where_they_come_at_a_tick(
    arrival: str, matches: int, tmp_path: Path
) -> None:
    found = import_rule_set(encoded(RULES), ImportOptions(wait_max=10.0))
    (line,) = [each for each in found.lines if each.path == "$.expansions[0]"]
    assert line.note.startswith("tickets end at 10 s: a server still matches by what changes then")
    ((file, text),) = found.files.items()
    (tmp_path / file).write_text(text, encoding="utf-8")
    rows = f"at,skill\n{arrival},0\n{arrival},50\n"
    (tmp_path / "a.csv").write_text(rows, encoding="utf-8")
    arrivals = '[arrivals]\nfile = "a.csv"\n'
    scenario = parse_scenario(found.toml.partition("# The players")[0] + arrivals, tmp_path)
    assert simulate(scenario).summary["matches"] == matches


def test_options_say_what_a_rule_set_does_not() -> None:
    found = import_rule_set(encoded(RULES), ImportOptions(wait_max=60.0, accept=15.0))
    queue = tomllib.loads(found.toml)["queue"][0]
    assert (queue["wait_max"], queue["accept"]) == (60, {"seconds": 15})
    assert {each.path: each.taken for each in found.lines}["RequestTimeoutSeconds"] == "exactly"


@pytest.mark.parametrize("wrapped", ["Configurations", "Configuration", ""])
def test_configuration_of_aws_says_what_a_rule_set_does_not(wrapped: str) -> None:
    own = {
        "Name": "ranked",
        "RuleSetName": "two-teams",
        "RequestTimeoutSeconds": 120,
        "AcceptanceRequired": True,
        "AcceptanceTimeoutSeconds": 30,
        "BackfillMode": "AUTOMATIC",
        "FlexMatchMode": "WITH_QUEUE",
        "NotificationTarget": "arn:aws:sns:eu:1:topic",
        "Odd": 1,
    }
    raw = {wrapped: [own] if wrapped.endswith("s") else own} if wrapped else own
    found = import_rule_set(encoded(RULES), NONE, encoded(raw))
    queue = tomllib.loads(found.toml)["queue"][0]
    assert found.queues == ("ranked",)
    assert queue["wait_max"] == 120
    assert queue["accept"] == {"seconds": 30}
    assert queue["backfill"] == "automatic"
    ends = {each.path.rpartition(".")[2]: each for each in found.lines}
    assert ends["RequestTimeoutSeconds"].taken == "exactly"
    assert ends["NotificationTarget"].taken == "not at all"
    assert all(ends[key].note for key in ("FlexMatchMode", "NotificationTarget", "Odd"))


def test_configuration_that_is_none_is_refused() -> None:
    for text in (b"[]", b"{", b'{"Name": "x"}', b'{"RequestTimeoutSeconds": "soon"}'):
        with pytest.raises(ConfigError):
            import_rule_set(encoded(RULES), NONE, text)


@pytest.mark.parametrize("key", ["RuleSets", "RuleSet", ""])
def test_answer_of_aws_about_a_rule_set_is_taken(key: str) -> None:
    own = {"RuleSetName": "x", "RuleSetBody": encoded(RULES).decode()}
    raw = {key: [own] if key == "RuleSets" else own} if key else own
    found = import_rule_set(encoded(raw), NONE, beside="answer.json")
    assert found == import_rule_set(encoded(RULES), NONE)


def test_answer_about_several_rule_sets_is_refused() -> None:
    own = {"RuleSetBody": encoded(RULES).decode()}
    with pytest.raises(ConfigError, match="must hold one rule set, got 2"):
        import_rule_set(encoded({"RuleSets": [own, own]}), NONE)


def test_rule_set_with_errors_lists_them() -> None:
    with pytest.raises(ConfigError, match="ruleLanguageVersion"):
        import_rule_set(b'{"teams": []}', NONE)


RESERVED = ["latency", "side", "roles", "size", "at", "queues", "ticket", "leaves_at", "a.b", "a~b"]


@pytest.mark.parametrize("name", [*RESERVED, "side_value", "skill"])
def test_attribute_of_any_name_is_simulated(name: str, tmp_path: Path) -> None:
    rules = [
        {"name": "Near", "type": "batchDistance", "batchAttribute": name, "maxDistance": 5},
        {"name": "Far", "type": "latency", "maxLatency": 100},
    ]
    attributes = [{"name": name, "type": "number"}]
    raw = RULES | {"playerAttributes": attributes, "rules": rules, "algorithm": {}}
    found = import_rule_set(encoded(raw | {"expansions": []}), ImportOptions(wait_max=60.0))
    for file, text in found.files.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    assert simulate(parse_scenario(found.toml, tmp_path)).summary["matches"] > 5
    (line,) = [each for each in found.lines if each.path == "$.playerAttributes[0]"]
    assert ("in tickets" in line.becomes) == (name not in ("skill", "a~b"))


def of_configuration(options: ImportOptions = NONE, **keys: Any) -> tuple[dict[str, Any], Any]:
    """Return the queue of a configuration, and how well each key was taken, and as what."""
    found = import_rule_set(encoded(RULES), options, encoded({"Name": "ranked"} | keys))
    taken = {each.path.rpartition(".")[2]: (each.taken, each.becomes) for each in found.lines}
    return tomllib.loads(found.toml)["queue"][0], taken


def test_report_on_a_configuration_is_about_what_is_written() -> None:
    keys = {
        "RequestTimeoutSeconds": 120,
        "AcceptanceRequired": False,
        "AcceptanceTimeoutSeconds": 30,
    }
    queue, taken = of_configuration(**keys)
    assert (queue["wait_max"], queue.get("accept")) == (120, None)
    assert taken["RequestTimeoutSeconds"] == ("exactly", "wait_max = 120")
    assert taken["AcceptanceRequired"] == ("exactly", "no ready-check")
    assert taken["AcceptanceTimeoutSeconds"] == ("exactly", "nothing, as nobody is asked")
    queue, taken = of_configuration(ImportOptions(wait_max=60.0, accept=20.0), **keys)
    assert (queue["wait_max"], queue["accept"]) == (60, {"seconds": 20})
    assert taken["RequestTimeoutSeconds"] == ("not at all", "wait_max = 60")
    assert taken["AcceptanceRequired"] == ("not at all", "accept = {seconds = 20}")
    assert taken["AcceptanceTimeoutSeconds"] == ("not at all", "accept = {seconds = 20}")
    same = ImportOptions(wait_max=120.0, accept=30.0)
    _, taken = of_configuration(same, **keys | {"AcceptanceRequired": True})
    assert {each for each, _ in taken.values()} >= {"exactly"}
    assert taken["AcceptanceTimeoutSeconds"] == ("exactly", "accept = {seconds = 30}")


def test_option_says_what_a_configuration_leaves_out() -> None:
    options = ImportOptions(wait_max=60.0, accept=20.0)
    keys = {"RequestTimeoutSeconds": None, "AcceptanceRequired": True}
    queue, taken = of_configuration(options, **keys)
    assert (queue["wait_max"], queue["accept"]) == (60, {"seconds": 20})
    assert taken["RequestTimeoutSeconds"] == ("not at all", "wait_max = 60")
    assert taken["AcceptanceRequired"] == ("exactly", "accept = {seconds = 20}")
    assert taken["AcceptanceTimeoutSeconds"] == ("exactly", "accept.seconds = 20")


def test_option_stands_in_for_a_key_that_is_not_there() -> None:
    raw = encoded({"Name": "ranked", "AcceptanceRequired": True, "AcceptanceTimeoutSeconds": 20})
    found = import_rule_set(encoded(RULES), ImportOptions(wait_max=60.0), raw)
    (queue,) = tomllib.loads(found.toml)["queue"]
    assert (queue["wait_max"], queue["accept"]) == (60, {"seconds": 20})
    with pytest.raises(ConfigError, match=r"RequestTimeoutSeconds .*missing.* --wait-max SECONDS"):
        import_rule_set(encoded(RULES), NONE, raw)
    for other in (b"[]", encoded(RULES)):
        with pytest.raises(ConfigError, match=r"own.json: must be an object with Name or Request"):
            import_rule_set(encoded(RULES), ImportOptions(wait_max=60.0), other, source="own.json")


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"RequestTimeoutSeconds": None}, "RequestTimeoutSeconds (line 1) is missing"),
        ({"AcceptanceRequired": True}, "give it a number, or give --accept SECONDS"),
        ({"RequestTimeoutSeconds": 0}, "must be a whole number from 1 to 43200, got 0"),
        ({"RequestTimeoutSeconds": 1e12}, "must be a whole number from 1 to 43200"),
        ({"AcceptanceRequired": True}, "AcceptanceTimeoutSeconds (line 1) is missing"),
        ({"AcceptanceRequired": True, "AcceptanceTimeoutSeconds": -5}, "from 1 to 600, got -5"),
        ({"AcceptanceRequired": True, "AcceptanceTimeoutSeconds": 601}, "from 1 to 600, got 601"),
        ({"AcceptanceRequired": "true"}, 'must be true or false, got "true"'),
        ({"Name": 5}, "must be a string"),
    ],
)
def test_configuration_that_aws_would_not_have_is_refused(
    keys: dict[str, Any], sentence: str
) -> None:
    raw = encoded({"Name": "ranked", "RequestTimeoutSeconds": 60} | keys)
    with pytest.raises(ConfigError) as error:
        import_rule_set(encoded(RULES), NONE, raw, source="own.json")
    assert str(error.value).startswith("own.json: $.")
    assert sentence in str(error.value)


def test_of_more_sort_rules_than_a_queue_has_criteria_the_first_count(tmp_path: Path) -> None:
    names = [f"x{number}" for number in range(17)]
    sorts = [
        {"name": name, "type": "distanceSort", "sortDirection": "ascending", "sortAttribute": name}
        for name in names
    ]
    text = text_of(
        playerAttributes=[{"name": name, "type": "number"} for name in names], rules=sorts
    )
    found = import_rule_set(text.encode(), ImportOptions(wait_max=60.0), name="main")
    (tmp_path / "main.rules.json").write_text(found.files["main.rules.json"])
    (queue,) = parse_scenario(found.toml, tmp_path).queues
    assert [each.attribute for each in queue.criteria] == names[:16]
    (lost,) = [each.path for each in found.lines if each.taken == "not at all" and each.line]
    assert lost == "$.rules[16]"


NUMBER = {"name": "x", "type": "number"}
NEAR = {"name": "near", "type": "batchDistance", "batchAttribute": "x", "maxDistance": 5}


@pytest.mark.parametrize(
    ("attribute", "rule"),
    [
        (NUMBER, NEAR | {"maxDistance": 1e15}),
        (NUMBER, NEAR | {"maxDistance": 1e300}),
        (NUMBER | {"default": 1e15}, NEAR),
        (
            NUMBER,
            {
                "name": "same",
                "type": "comparison",
                "operation": "!=",
                "measurements": ["flatten(teams[*].players.attributes[x])"],
                "referenceValue": 1e16,
            },
        ),
        (NUMBER, {"name": "near", "type": "latency", "maxLatency": 1e300}),
    ],
)
def test_numbers_are_drawn_that_a_ticket_may_have(
    attribute: dict[str, Any], rule: dict[str, Any], tmp_path: Path
) -> None:
    text = text_of(playerAttributes=[attribute], rules=[rule])
    path = tmp_path / "main.rules.json"
    path.write_text(text)
    found = import_rule_set(text.encode(), ImportOptions(wait_max=60.0), beside=str(path))
    for scenario in (parse_scenario(found.toml, tmp_path), scenario_of_rules(path).scenario):
        assert simulate(scenario).summary["tickets"] > 0
