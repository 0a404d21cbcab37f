"""What a file of matches can show about itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from evenmatch.errors import ConfigError
from evenmatch.lab.check_matches import MatchCheck
from evenmatch.model.queue import Format, Queue

LINE: dict[str, Any] = {
    "match": "s0-m1",
    "queue": "main",
    "at": 3.0,
    "tickets": ["0", "1"],
    "teams": [["0"], ["1"]],
    "bots": 0,
    "cost": 1.5,
    "quality": 0.5,
}


def problems(tmp_path: Path, *lines: dict[str, Any] | str, queue: Queue | None = None) -> list[str]:
    path = tmp_path / "matches.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n")
    return list(MatchCheck((queue or Queue(),)).problems(path))


def test_good_lines_have_no_problems(tmp_path: Path) -> None:
    second = LINE | {"match": "s0-m2", "tickets": ["2", "3"], "teams": [["2"], ["3"]]}
    assert problems(tmp_path, LINE, "", second | {"quality": None}) == []


def test_runs_of_one_file_are_told_apart(tmp_path: Path) -> None:
    lines = [LINE | {"policy": policy, "run": run} for policy in ("a", "b") for run in (0, 1)]
    assert problems(tmp_path, *lines) == []


def test_match_of_a_queue_that_may_start_early_has_between_two_numbers(tmp_path: Path) -> None:
    brawl = Queue(format=Format((1,) * 3, players_min=(1, 1, 0)))
    three = LINE | {"tickets": ["0", "1", "2"], "teams": [["0"], ["1"], ["2"]]}
    two = LINE | {"teams": [["0"], ["1"], []]}
    one = LINE | {"tickets": ["0"], "teams": [["0"], [], []]}

    assert problems(tmp_path, three, queue=brawl) == []
    assert problems(tmp_path, two, queue=brawl) == []
    (problem,) = problems(tmp_path, one, queue=brawl)
    assert "has 2 to 3 players, got 1 tickets and 0 bots" in problem


def test_roles_of_a_line_are_counted_by_team(tmp_path: Path) -> None:
    duo = Queue(format=Format((2, 2), roles=(("tank", 1), ("dps", 1))))
    line = LINE | {"tickets": ["0", "1"], "teams": [["0"], ["1"]]}
    wrong = [["tank", "tank"], ["dps", "bard"]]

    assert problems(tmp_path, line | {"roles": [["tank", "dps"], ["dps", "tank"]]}, queue=duo) == []
    found = problems(tmp_path, line | {"roles": wrong}, queue=duo)
    assert [each.partition("has ")[2] for each in found] == [
        "1 of role tank, got 2",
        "no role bard, got 1",
    ]
    assert "for each of the 2 teams" in problems(tmp_path, line, queue=duo)[0]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"queue": "x"}, "no queue is called x; allowed: main"),
        ({"cost": 1e999}, "not a match as simulate writes it"),
        ({"quality": 1.5}, "quality must be in [0, 1], got 1.5"),
        ({"quality": -0.1}, "quality must be in [0, 1], got -0.1"),
        ({"bots": 1}, "allows no bots here, got 1"),
        ({"bots": -1}, "allows no bots here, got -1"),
        ({"teams": [["0"], ["2"]]}, "exactly once"),
        ({"teams": [["0"], ["0"]]}, "exactly once"),
        ({"teams": [["0", "1"], []]}, "a team has 1 seats, got 2 tickets"),
        ({"teams": [["0", "1"]]}, "has 2 teams, got 1"),
        ({"tickets": ["0"], "teams": [["0"], []]}, "has 2 players, got 1 tickets and 0 bots"),
        ({"tickets": [], "teams": [[], []]}, "a match must have a ticket"),
        ({"tickets": "0"}, "not a match as simulate writes it"),
    ],
)
def test_broken_line_is_named(tmp_path: Path, change: dict[str, Any], expected: str) -> None:
    found = problems(tmp_path, LINE | change)
    assert any(expected in problem for problem in found), found
    assert all(problem.startswith("line 1: ") for problem in found)


def test_ticket_in_two_matches_is_found(tmp_path: Path) -> None:
    second = LINE | {"match": "s0-m2", "tickets": ["1", "2"], "teams": [["1"], ["2"]]}
    assert problems(tmp_path, LINE, second) == ["line 2: ticket 1 was in line 1 already"]
    assert "line 2: match s0-m1 was in line 1 already" in problems(tmp_path, LINE, LINE)


def test_parties_are_checked_as_far_as_their_sizes_allow(tmp_path: Path) -> None:
    queue = Queue(format=Format(players=(2, 2)))
    assert problems(tmp_path, LINE, queue=queue) == []
    four = LINE | {"tickets": ["0", "1", "2", "3"], "teams": [["0", "1"], ["2", "3"]]}
    assert problems(tmp_path, four, queue=queue) == []
    pairs = Queue(format=Format(players=(2, 2), party_sizes=(2,)))
    assert len(problems(tmp_path, four, queue=pairs)) == 3


def test_bots_fill_seats_where_a_queue_has_them(tmp_path: Path) -> None:
    queue = Queue(wait_max=5.0, on_deadline="bots")
    line = LINE | {"tickets": ["0"], "teams": [["0"], []], "bots": 1}
    assert problems(tmp_path, line, queue=queue) == []


def test_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        list(MatchCheck((Queue(),)).problems(tmp_path / "none"))
