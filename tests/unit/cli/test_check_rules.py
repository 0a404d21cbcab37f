"""`check` of a FlexMatch rule set, and of matches by it."""

import json
from pathlib import Path
from typing import Any

import pytest

from evenmatch.cli.main import main
from tests.flexmatch_kit import text_of
from tests.shared import shipped

ALIENS = shipped("flexmatch") / "01_aliens_vs_cowboys.json"


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main(["check", *map(str, words)])
    out = capsys.readouterr()
    return code, out.out, out.err


def ticket(number: int, skill: float = 10, at: float = 0) -> dict[str, Any]:
    player = {"id": f"p{number}", "attributes": {"skill": skill}}
    return {"id": f"t{number}", "players": [player], "enqueued_at": at}


def line(match: str, at: float, first: int, skill: float = 10) -> str:
    cowboys = [ticket(first + number) for number in range(4)]
    aliens = [ticket(first + 4 + number, skill) for number in range(4)]
    return json.dumps({"match": match, "at": at, "teams": {"cowboys": cowboys, "aliens": aliens}})


def matches(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "matches.jsonl"
    path.write_text("\n".join(lines) + "\n\n")
    return path


def test_sound_rule_set_is_said_to_be_valid_with_its_warnings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = run(capsys, ALIENS)
    assert (code, err) == (0, "")
    first, _, *warnings = out.splitlines()
    assert first == (
        f"{ALIENS} is a valid FlexMatch rule set: 8 to 16 players, 2 teams, 2 rules, 1 expansion."
    )
    assert len(warnings) == 3
    assert warnings[0].startswith("warning: line 13, $.rules[0] has a comment")


def test_rule_set_without_warnings_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "rules.json"
    path.write_text(text_of(teams=[{"name": "red", "minPlayers": 2, "maxPlayers": 2}]))
    assert run(capsys, path) == (
        0,
        f"{path} is a valid FlexMatch rule set: 2 players, 1 team, 0 rules, 0 expansions.\n",
        "",
    )


def test_errors_of_a_rule_set_are_said_with_their_lines(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "rules.json"
    path.write_text('{"ruleLanguageVersion": "1.0",\n"teams": [{}' + ", {}" * 10 + "]}")
    code, out, err = run(capsys, path)
    assert (code, out) == (2, "")
    lines = err.splitlines()
    assert lines[0] == f"evenmatch: {path}:2: $.teams[0].name is missing; give it a string"
    assert lines[-1] == f"evenmatch: {path}: and 13 more"


def test_legal_matches_are_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = matches(tmp_path, line("m1", 0, 0), line("m2", 5, 10, skill=110))
    code, out, err = run(capsys, ALIENS, "--matches", path)
    assert (code, out, err) == (0, f"{path}: 2 matches are legal by {ALIENS}.\n", "")
    code, out, _ = run(capsys, ALIENS, "--matches", matches(tmp_path, line("m1", 0, 0)))
    assert out == f"{path}: 1 match is legal by {ALIENS}.\n"


def test_illegal_matches_are_named_with_the_rule_that_says_no(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    early = line("m1", 4.9, 0, skill=110)
    path = matches(tmp_path, early, line("m2", 0, 4), '{"match": 5}')
    code, out, err = run(capsys, ALIENS, "--matches", path)
    assert (code, out) == (1, "")
    first, *others, broken, last = err.splitlines()
    wanted = "FairTeamSkill: 10 is 50 from 60, at most 10 is allowed"
    assert first == f"{path}: line 1: match m1: {wanted}"
    assert others == [
        f"{path}: line 2: match m2: the ticket t{number} was in line 1 already"
        for number in range(4, 8)
    ]
    assert broken.startswith(f"{path}: line 3: not a match to check: ")
    assert '; a line is {"match": ..., "at": ..., "teams": {TEAM: [{"id": ...,' in broken
    assert last == f"{path} breaks {ALIENS} 6 times."


def test_single_problem_is_said_in_the_singular(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = matches(tmp_path, line("m1", 0, 0, skill=110))
    assert run(capsys, ALIENS, "--matches", path)[2].endswith(f"breaks {ALIENS} once.\n")


def test_many_problems_are_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = matches(tmp_path, *["{}"] * 30)
    lines = run(capsys, ALIENS, "--matches", path)[2].splitlines()
    assert len(lines) == 21
    assert lines[-1] == f"{path} breaks {ALIENS} 30 times."


def test_missing_files_and_other_options_are_bad_input(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    missing = tmp_path / "none.json"
    assert run(capsys, missing) == (
        2, "", f"evenmatch: {missing} cannot be read: No such file or directory\n",
    )  # fmt: skip
    assert "cannot be read" in run(capsys, ALIENS, "--matches", missing)[2]
    code, _, err = run(capsys, ALIENS, "--against", tmp_path)
    assert code == 2
    assert "--against takes a server's configuration" in err


def playfab_line(name: str, first: str, second: str, queue: str = "") -> str:
    tickets = [
        {
            "id": f"{name}{place}",
            "enqueued_at": 0,
            "players": [{"id": f"{name}{place}", "attributes": {"Version": version}}],
        }
        for place, version in enumerate((first, second))
    ]
    return json.dumps({"match": name, "at": 1.0, "queue": queue, "teams": {"all": tickets}})


def test_matches_of_a_playfab_queue_are_judged(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rules = shipped("playfab") / "01_quick_duel.json"
    path = matches(tmp_path, playfab_line("a", "1", "1"))
    assert run(capsys, rules, "--matches", path)[0] == 0
    path = matches(tmp_path, playfab_line("a", "1", "1"), playfab_line("b", "1", "2"))
    code, _, err = run(capsys, rules, "--matches", path)
    assert code == 1
    assert "line 2: match b: SameVersion does not hold for b0, who waits 1 s" in err


def test_attribute_of_a_playfab_match_goes_by_its_name_or_its_path(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    attributes = [
        ("DifferenceRule", {"Path": "$.duel.level", "Source": "PlayerEntity"}),
        ("StringEqualityRule", {"Path": "$.duel.level", "Source": "User"}),
        ("DifferenceRule", {"Path": "rank", "Source": "User"}),
    ]
    queue = {"Name": "duel", "MinMatchSize": 2, "MaxMatchSize": 2, "Rules": []}
    queue["Rules"] = [
        {"Type": kind, "Name": f"r{n}", "Attribute": attribute, "Difference": 1}
        for n, (kind, attribute) in enumerate(attributes)
    ]
    rules = tmp_path / "queue.json"
    rules.write_text(json.dumps(queue))

    def line(name: str, *levels: str) -> str:
        players = [{"level": 1, "duel_level": word, "rank": 5} for word in levels]
        tickets = [
            {"id": f"{name}{n}", "enqueued_at": 0, "players": [{"id": f"{n}", "attributes": each}]}
            for n, each in enumerate(players)
        ]
        return json.dumps({"match": name, "at": 1.0, "teams": {"all": tickets}})

    path = matches(tmp_path, line("a", "hard", "hard"), line("b", "hard", "easy"))
    code, _, err = run(capsys, rules, "--matches", path)
    assert code == 1
    assert "match a" not in err
    assert "match b: r1 does not hold for b0" in err


CLOSE = {"Type": "DifferenceRule", "Name": "close", "Attribute": {"Path": "x"}, "Difference": 5}


def levels(*tickets: tuple[str, dict[str, object]]) -> str:
    """Return a match of a queue without teams: each ticket's id, and its players' `x` by id."""
    given = [
        {
            "id": ticket,
            "enqueued_at": 0,
            "players": [{"id": who, "attributes": {"x": x}} for who, x in players.items()],
        }
        for ticket, players in tickets
    ]
    return json.dumps({"match": "m", "at": 12.0, "teams": {"all": given}})


@pytest.mark.parametrize(
    ("keys", "is_far_legal"),
    [
        ({"MinMatchSize": "2", "MaxMatchSize": "2"}, False),
        ({"Rules": [CLOSE | {"Type": "Difference"}]}, False),
        ({"Rules": [], "DifferenceRules": CLOSE}, False),
        (
            {
                "Rules": [
                    CLOSE
                    | {"Expansion": {"Delta": "9", "Limit": "50", "SecondsBetweenExpansions": "5"}}
                ]
            },
            True,
        ),
        (
            {
                "Rules": [
                    CLOSE
                    | {
                        "Expansion": {
                            "DifferenceOverrides": "5;null;5",
                            "SecondsBetweenExpansions": 10,
                        }
                    }
                ]
            },
            True,
        ),
    ],
)
def test_matches_of_a_playfab_queue_in_any_form_are_judged(
    keys: dict[str, Any], is_far_legal: bool, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rules = tmp_path / "queue.json"
    queue = {"Name": "duel", "MinMatchSize": 2, "MaxMatchSize": 2, "Rules": [CLOSE]} | keys
    rules.write_text(json.dumps(queue))
    near = matches(tmp_path, levels(("1", {"a": 1}), ("2", {"b": 2})))
    assert run(capsys, rules, "--matches", near)[0] == 0
    far = matches(tmp_path, levels(("1", {"a": 1}), ("2", {"b": 20})))
    assert run(capsys, rules, "--matches", far)[0] == (0 if is_far_legal else 1)


@pytest.mark.parametrize(
    ("tickets", "fault"),
    [
        ([("1", {"a": 1, "b": 1}), ("2", {"c": 1})], "1 has 2 players, a ticket has 1 at most"),
        ([("1", {}), ("2", {"a": 1}), ("3", {"b": 1})], "1 has no players"),
        ([("1", {"a": 1}), ("1", {"b": 1})], "the ticket 1 is in it twice"),
        ([("1", {"a": 1}), ("2", {"a": 1})], "the player a is in it twice"),
        ([("1", {"a": "1"}), ("2", {"b": 1})], "close: an attribute is not of the type"),
    ],
)
def test_match_that_no_playfab_queue_makes_is_none(
    tickets: list[tuple[str, dict[str, object]]],
    fault: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    rules = tmp_path / "queue.json"
    sizes = {"MinMatchSize": 2, "MaxMatchSize": 3, "MaxTicketSize": 1}
    rules.write_text(json.dumps({"Name": "duel", "Rules": [CLOSE]} | sizes))
    code, _, err = run(capsys, rules, "--matches", matches(tmp_path, levels(*tickets)))
    assert code == 1
    assert fault in err


def test_match_names_its_playfab_queue_where_there_are_several(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rules = shipped("playfab") / "07_two_queues.json"
    path = matches(tmp_path, playfab_line("a", "1", "1"), playfab_line("b", "1", "1", "co-op"))
    code, _, err = run(capsys, rules, "--matches", path)
    assert code == 1
    assert "queue must be one of co-op, anything" in err
    assert "match b" not in err


@pytest.mark.parametrize(
    ("least", "most", "players"), [(1, 1, "1 player"), (0, 2, "1 to 2 players")]
)
def test_fewest_players_of_a_match_are_one(
    least: int, most: int, players: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "rules.json"
    path.write_text(text_of(teams=[{"name": "red", "minPlayers": least, "maxPlayers": most}]))
    _, out, _ = run(capsys, path)
    assert f"rule set: {players}, 1 team," in out


@pytest.mark.parametrize(
    ("declared", "given"), [("side", "side"), ("side", "side_value"), ("a.b", "a~1b")]
)
def test_attribute_of_a_flexmatch_match_goes_by_its_name_in_either_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, declared: str, given: str
) -> None:
    near = {"name": "near", "type": "batchDistance", "batchAttribute": declared, "maxDistance": 5}
    attributes = [{"name": declared, "type": "number"}]
    path = tmp_path / "rules.json"
    teams = [{"name": "red", "minPlayers": 2, "maxPlayers": 2}]
    sections = {"playerAttributes": attributes, "teams": teams, "rules": [near]}
    path.write_text(json.dumps({"ruleLanguageVersion": "1.0"} | sections))
    for other, code in ((4, 0), (9, 1)):
        tickets = [
            {"id": f"t{n}", "players": [{"id": f"p{n}", "attributes": {given: value}}]}
            for n, value in enumerate((1, other))
        ]
        text = json.dumps({"match": "m", "at": 1.0, "teams": {"red": tickets}})
        result = run(capsys, path, "--matches", matches(tmp_path, text))
        assert result[0] == code, result
