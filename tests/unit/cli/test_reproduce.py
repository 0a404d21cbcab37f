import json
from pathlib import Path

import msgspec
import pytest

from evenmatch.cli.main import BAD_INPUT, main
from papers.reproduction import source_of
from papers.shared.findings import Effort, Findings, Part


def test_json_is_one_object_with_the_promised_keys(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--only", "gamedev.chance", "--quick", "--json", "--seed", "3"]
    assert main(["reproduce", "gamedev", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["paper", "seed", "quick", "rows"]
    assert (found["paper"], found["seed"], found["quick"]) == ("gamedev", 3, True)
    (row,) = found["rows"]
    assert row["verdict"] == "wrong in print"
    assert [figure["printed"] for figure in row["figures"]] == [0.03, 500.0]
    assert row["simulated"] is None
    assert row["command"] == "evenmatch reproduce gamedev --only gamedev.chance --quick --seed 3"


def test_people_get_tables_and_are_told_of_the_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    options = ["--only", "gamedev.points", "--quick", "--out", str(out)]
    assert main(["reproduce", "gamedev", *options]) == 0
    printed = capsys.readouterr().out
    assert "gamedev.points  holds" in printed
    assert "The thread's examples" in printed
    assert "wrong in print" not in printed
    names = {"report.html", "rows.csv", "rows.json", "figures.csv"}
    last = f"all rows: {out / 'report.html'}, with rows.csv, rows.json and figures.csv beside it"
    assert printed.splitlines()[-1] == last, "these rows have neither figures nor scenarios"
    assert {path.name for path in out.iterdir()} == names


def test_people_are_told_of_scenarios_where_there_are_some(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    options = ["--only", "gamedev.f", "--quick", "--out", str(tmp_path)]
    assert main(["reproduce", "gamedev", *options]) == 0
    assert capsys.readouterr().out.endswith("figures.csv beside it, and scenarios/\n")
    assert (tmp_path / "scenarios").is_dir()
    assert not (tmp_path / "figures").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["nobody"], "paper must be one of schlup, gamedev, galactron, wu, xu, got nobody"),
        (["schlup", "--only", "schlup.99"], "--only must be one of schlup."),
        (["schlup", "--seed", "-1"], "--seed must be from 0 to"),
        (["schlup", "--seed", "1.5"], "--seed must be a whole number, got 1.5"),
        (["schlup", "--out", "/dev/null"], "--out: /dev/null is a file; name a folder"),
        (["schlup", "--out", "/nowhere/at/all"], "the folder above it does not exist"),
        ([], "reproduce needs PAPER (see evenmatch reproduce --help)"),
    ],
)
def test_bad_input_is_one_sentence(
    options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", *options]) == BAD_INPUT
    told = capsys.readouterr()
    assert told.out == ""
    assert sentence in told.err
    assert told.err.count("\n") == 1


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    main(["reproduce", "--help"])
    assert "evenmatch reproduce schlup --quick --out schlup" in capsys.readouterr().out


def test_rows_left_out_are_not_in_the_tables_either(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "galactron", "--only", "galactron.root"]) == 0
    out = capsys.readouterr().out
    assert "galactron.root" in out
    assert "galactron.factors" not in out


def test_part_that_fails_is_named_and_loses_no_other(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> None:
        raise ZeroDivisionError("planted")

    broken = Part(("gamedev.broken",), fails, ["a task"], lambda _: Findings())
    unfinished = Part(("gamedev.unfinished",), str, ["a task"], fails)
    real = source_of("gamedev")

    def parts(effort: Effort) -> list[Part]:
        return [broken, *real.parts(effort), unfinished]

    source = msgspec.structs.replace(real, parts=parts)
    monkeypatch.setattr("papers.reproduction.source_of", lambda _: source)
    monkeypatch.setattr("evenmatch.lab.study.study.os.cpu_count", lambda: 1)
    options = ["--only", "gamedev.points", "--only", "gamedev.broken"]
    options += ["--only", "gamedev.unfinished", "--quick", "--json", "--out", str(tmp_path)]
    assert main(["reproduce", "gamedev", *options]) == 1
    screen = capsys.readouterr()
    found = json.loads(screen.out)
    assert {row["id"] for row in found["rows"]} == {"gamedev.points"}
    assert found["failures"] == [
        {"ids": [f"gamedev.{name}"], "error": "ZeroDivisionError: planted"}
        for name in ("broken", "unfinished")
    ]
    sentence = "gamedev.broken failed: ZeroDivisionError: planted"
    assert f"evenmatch: {sentence}\n" in screen.err
    assert sentence in (tmp_path / "report.html").read_text(encoding="utf-8")
