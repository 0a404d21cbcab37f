"""`evenmatch import`: what it prints, writes and refuses."""

import json
from pathlib import Path

import msgspec
import pytest

from evenmatch.cli.main import main
from evenmatch.errors import ConfigError
from tests.shared import ROOT

PLAYFAB = ROOT / "tests" / "data" / "playfab"
FLEXMATCH = ROOT / "tests" / "data" / "flexmatch" / "01_aliens_vs_cowboys.json"


def run(capsys: pytest.CaptureFixture[str], *tokens: str | Path) -> tuple[int, str, str]:
    code = main(["import", *map(str, tokens)])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_report_and_configuration_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "playfab", PLAYFAB / "02_ranked_duel.json")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split() == ["line", "path", "taken", "becomes", "note"]
    assert "14 exactly, 2 approximately, 1 not at all." in out
    assert out.count("[[queue.rules]]") == 2


@pytest.mark.parametrize(
    ("format_", "file"),
    [("playfab", PLAYFAB / "04_threes_by_lists.json"), ("flexmatch", FLEXMATCH)],
)
def test_written_configuration_is_right_and_plays(
    format_: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "folder" / "game.toml"
    code, told, _ = run(capsys, format_, file, "--out", out, "--wait-max", "60")
    assert code == 0
    written = [Path(line[6:]) for line in told.splitlines() if line.startswith("wrote ")]
    assert written[0] == out
    assert all(path.is_file() for path in written)
    assert main(["check", str(out)]) == 0
    assert "is valid" in capsys.readouterr().out
    assert main(["simulate", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["matches"] > 5


@pytest.mark.parametrize(
    ("format_", "file"),
    [("playfab", PLAYFAB / "08_late_rule.json"), ("flexmatch", FLEXMATCH)],
)
def test_printed_configuration_names_the_file_itself(
    format_: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = run(capsys, format_, file, "--json")
    found = json.loads(out)
    assert found["files"] == {}
    path = tmp_path / "game.toml"
    path.write_text(found["toml"], encoding="utf-8")
    assert main(["check", str(path)]) == 0


def test_json_is_one_object_with_lines_and_findings(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "playfab", PLAYFAB / "07_two_queues.json", "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    found = json.loads(out)
    assert set(found) == {"format", "queue", "queues", "toml", "files", "lines", "findings"}
    assert (found["format"], found["queue"]) == ("playfab", None)
    assert found["queues"] == ["co-op", "anything"]
    assert set(found["lines"][0]) == {"path", "line", "taken", "becomes", "note"}
    assert {each["taken"] for each in found["lines"]} <= {"exactly", "approximately", "not at all"}


def test_folder_gets_a_configuration_of_the_name_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, _ = run(capsys, "playfab", PLAYFAB / "07_two_queues.json", "--out", tmp_path)
    assert code == 0
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["07_two_queues.toml", "co-op.rules.json"]


def test_nothing_that_is_there_is_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "game.toml"
    out.write_text("mine", encoding="utf-8")
    code, told, err = run(capsys, "playfab", PLAYFAB / "05_one_host.json", "--out", out)
    assert (code, told) == (2, "")
    assert "already exists" in err
    assert out.read_text(encoding="utf-8") == "mine"


def test_import_that_does_not_reach_its_end_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, _: str) -> None:
        path.touch()
        raise ConfigError(f"{path} cannot be written: No space left on device")

    out = tmp_path / "game.toml"
    with monkeypatch.context() as patched:
        patched.setattr("evenmatch.cli.import_rules.write_text", fail)
        code, _, err = run(capsys, "flexmatch", FLEXMATCH, "--out", out)
    assert (code, f"{out} cannot be written" in err) == (2, True)
    assert list(tmp_path.iterdir()) == []
    assert run(capsys, "flexmatch", FLEXMATCH, "--out", out)[0] == 0


RULE = {"Type": "DifferenceRule", "Name": "r", "Attribute": {"Path": "s"}, "Difference": 5}


def queue(*rules: object) -> str:
    raw = {"Name": "q", "MinMatchSize": 2, "MaxMatchSize": 4, "Rules": rules}
    return msgspec.json.encode(raw).decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[" * 1_000 + "]" * 1_000, "nests more than 50 deep"),
        (queue(*[RULE] * 10_000), "at most 20, got 10,000"),
        (queue(RULE).replace("5", "NaN"), "must be a finite number, got NaN"),
        (queue(RULE).replace("5", '"far"'), "must be a number"),
        (queue(RULE | {"Type": "Distance"}), "must be one of StringEqualityRule"),
        (queue(RULE, RULE), "is the name of $.Rules[0], too"),
        ("{}", "is missing"),
        ("", "must have 1 to 1,000,000 characters"),
    ],
    ids=["nested", "many-rules", "nan", "type", "unknown", "twice", "empty-object", "empty"],
)
def test_bad_input_is_one_sentence_and_ends_with_2(
    text: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "queue.json"
    file.write_text(text, encoding="utf-8")
    code, out, err = run(capsys, "playfab", file, "--json")
    assert (code, out) == (2, "")
    assert err.startswith(f"evenmatch: {file}: ")
    assert expected in err
    assert err.count("\n") == 1
    assert main(["check", str(file)]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([], "name a format and a file"),
        (["playfab"], "name a format and a file"),
        (["playfab", "none.json"], "none.json: cannot be read"),
        (["unity", "x.json"], "unity"),
        (["playfab", str(PLAYFAB / "05_one_host.json"), "--wait-max", "0"], "--wait-max must be"),
        (["playfab", str(PLAYFAB / "05_one_host.json"), "--configuration", "x"], "goes with flexm"),
        (["flexmatch", str(PLAYFAB / "05_one_host.json")], "is from playfab: evenmatch import"),
        (["playfab", str(FLEXMATCH)], "is from flexmatch: evenmatch import flexmatch"),
    ],
    ids=["nothing", "no-file", "no-such-file", "format", "wait", "configuration", "swap", "swap2"],
)
def test_bad_request_is_a_sentence(
    tokens: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *tokens)
    assert (code, out) == (2, "")
    assert expected in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("text", ["{", "[]", '{"Name": "x", "RequestTimeoutSeconds": 0}', None])
def test_error_of_a_configuration_names_its_file(
    text: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "own.json"
    if text is not None:
        own.write_text(text, encoding="utf-8")
    code, out, err = run(capsys, "flexmatch", str(FLEXMATCH), "--configuration", str(own))
    assert (code, out) == (2, "")
    assert err.startswith(f"evenmatch: {own}: ")
    assert err.count("\n") == 1


def test_check_takes_queues_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(PLAYFAB / "07_two_queues.json")]) == 0
    told = capsys.readouterr().out
    assert "has the PlayFab queue co-op: 2 to 4 players, 1 rule." in told
    assert main(["check", str(FLEXMATCH), "--matches", "x"]) == 2
    capsys.readouterr()
    assert main(["check", str(PLAYFAB / "05_one_host.json"), "--matches", "x"]) == 2
    assert "x cannot be read" in capsys.readouterr().err


def test_simulate_takes_a_queue_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    rules = PLAYFAB / "03_shrinking_battle.json"
    assert main(["simulate", "--rules", str(rules), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["matches"] > 5
