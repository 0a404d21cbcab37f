"""`evenmatch solve`: what people see, what programs read, and what is refused."""

import json
from pathlib import Path

import pytest

from evenmatch.cli.main import main
from tests.unit.lab.batches import batch_of, singles

EVENING = str(Path(__file__).parents[3] / "scenarios" / "evening.json")
EFFORT = ("--effort", "2000")


def solve(*arguments: str) -> int:
    return main(["solve", *arguments])


def test_people_see_quality_and_the_worst_matches(capsys: pytest.CaptureFixture[str]) -> None:
    assert solve(EVENING, *EFFORT) == 0
    out = capsys.readouterr().out
    assert out.startswith("42 players in 35 parties, teams of 3 against 3\n7 matches, quality ")
    assert "the 3 worst matches" in out
    assert "0 players left over" in out


def test_programs_read_one_object(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    assert solve(EVENING, *EFFORT, "--json", "--explain", "--out", str(out)) == 0
    told = json.loads(capsys.readouterr().out)
    written = json.loads(out.read_text())["matches"]
    assert [match["teams"] for match in written] == [match["teams"] for match in told["matches"]]
    assert written[0]["ids"] == told["matches"][0]["ids"]
    assert sum(each["share"] for each in told["explain"].values()) == pytest.approx(1.0)


def test_explanation_is_two_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert solve(EVENING, "--effort", "200", "--explain") == 0
    out = capsys.readouterr().out
    assert "what each factor does" in out
    assert "what the means change when a factor is left out" in out


def test_proved_optimum_is_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "duels.json"
    path.write_text(json.dumps(batch_of(singles([1.0, 5.0, 2.0, 9.0]), players=1)))
    assert solve(str(path), "--bound") == 0
    assert "PROVEN" in capsys.readouterr().out


def test_matches_without_a_scale_have_no_quality(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "raw.json"
    raw = {"kind": "spread", "attribute": "skill", "scale": {"kind": "none"}}
    path.write_text(json.dumps(batch_of(singles([1.0, 5.0, 2.0, 9.0]), raw, players=1)))
    assert solve(str(path), "--bound") == 0
    out = capsys.readouterr().out
    assert "2 matches, no quality: no criterion has a scale\nno bound on the quality" in out


def test_empty_batch_is_no_mistake(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "nobody.json"
    path.write_text(json.dumps(batch_of([])))
    assert solve(str(path)) == 0
    assert "0 players are fewer than the 4 of a match" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere.json"], "nowhere.json does not exist"),
        ([EVENING, "--out", "no/such/folder.json"], "its folder does not exist"),
        ([EVENING, "--out", EVENING], "is already the batch"),
        ([EVENING, "--effort", "0"], "effort must be a whole number from 1"),
        ([EVENING, "--effort", "5", "--budget-ms", "5"], "not both"),
        ([EVENING, "--parts", "65"], "parts must be a whole number from 1 to 64, got 65"),
        ([EVENING, "--seed", "-1"], "seed must be a whole number from 0"),
        ([EVENING, "--bound", "--bound-seconds", "0"], "bound_seconds must be"),
        ([EVENING, "--policy", "greedy"], "the policy of a batch is anneal or descent"),
        ([EVENING, "--objective", "best"], "the objective must be one of"),
        ([EVENING, "--budget-ms", "soon"], "--budget-ms must be a whole number, got soon"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_two(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert solve(*arguments) == 2
    seen = capsys.readouterr()
    assert sentence in seen.err
    assert (seen.out, seen.err.count("\n")) == ("", 1)
