"""`simulate`, `compare` and `check` on a recording: what is drawn, and what several runs are."""

import json
from pathlib import Path

import pytest

from evenmatch.cli.main import main

QUEUE = """
[[queue]]
wait_max = 60.0
policy = "greedy"
[[queue.criteria]]
kind = "spread"
attribute = "rating"
scale = {kind = "linear", min = 0.0, max = 3000.0}
"""
DRAWN = """
[arrivals]
process = "poisson"
rate = 2.0
count = 50
[attributes.rating]
distribution = "uniform"
min = 1000.0
max = 2000.0
"""
POLICIES = ("--policy", "greedy", "--policy", "window:limit=50,rate=5")
ALIKE = "warning: all 2 runs are the same: nothing that is drawn changes them"
pytestmark = pytest.mark.several_processes


def given(folder: Path, columns: str = "at,player,rating", more: str = "") -> list[str]:
    rows = [f"{at},p{at},{1000 + 37 * at % 500}" for at in range(200)]
    (folder / "log.csv").write_text("\n".join([columns, *rows]) + "\n")
    (folder / "q.toml").write_text(QUEUE + more)
    return [str(folder / "q.toml"), "--arrivals", str(folder / "log.csv")]


def test_runs_that_are_the_same_are_no_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = given(tmp_path)
    assert main(["compare", *files, *POLICIES]) == 0
    once = capsys.readouterr()
    page = tmp_path / "page.html"
    assert main(["compare", *files, *POLICIES, "--runs", "2", "--report", str(page)]) == 0
    twice = capsys.readouterr()
    assert (once.err, twice.out) == ("", once.out)
    assert twice.err.startswith(ALIKE)
    assert "10 equal shares of the run" in page.read_text()
    assert main(["simulate", *files, "--runs", "2", "--json"]) == 0
    said = capsys.readouterr()
    assert said.err.startswith(ALIKE)
    assert json.loads(said.out)["ci95"]["wait"]["mean"] == 0.0


def test_sweep_of_a_recording_says_that_its_runs_are_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = given(tmp_path)
    assert main(["simulate", *files, "--runs", "2", "--sweep", "wait_max=30..60:2"]) == 0
    assert capsys.readouterr().err.count(ALIKE) == 1


def test_what_a_policy_draws_is_all_that_differs_between_runs_of_a_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["simulate", *given(tmp_path), "--policy", "closest_random", "--runs", "2"]
    assert main(command) == 0
    said = capsys.readouterr()
    assert "all 2 runs have the same arrivals: ± covers only what else is drawn" in said.err
    assert "±" in said.out


def test_runs_whose_ratings_are_drawn_are_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *given(tmp_path, "at,player,leaves_at", DRAWN), "--runs", "2"]) == 0
    assert "runs" not in capsys.readouterr().err


def test_a_column_is_not_read_for_being_part_of_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *given(tmp_path, "at,player,rat", DRAWN)]) == 0
    assert "no queue reads its column rat;" in capsys.readouterr().err


@pytest.mark.parametrize("extra", [[], ["--runs", "2"], ["--sweep", "wait_max=30..60:2"]])
def test_a_column_by_another_name_is_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], extra: list[str]
) -> None:
    files = given(tmp_path, "at,player,mmr", DRAWN)
    assert main(["simulate", *files, *extra]) == 0
    (warning,) = capsys.readouterr().err.splitlines()
    assert warning == (
        f"warning: {files[2]} has no column rating, so values are drawn from [attributes.rating], "
        'and no queue reads its column mmr; if it holds rating, add rating = "mmr" to '
        '[arrivals.columns], or give --columns rating="mmr"'
    )


def test_column_that_is_named_twice_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = given(tmp_path, "at,player,mmr")
    assert main(["simulate", *files, "--columns", "rating=mmr,mean=at"]) == 2
    said = "evenmatch: --columns names mean twice: mmr and at\n"
    assert capsys.readouterr().err == said


def test_check_warns_of_a_column_by_another_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given(tmp_path, "at,mmr,elo", DRAWN)
    path = tmp_path / "file.toml"
    recorded = DRAWN.replace('"poisson"\nrate = 2.0', '"file"\nfile = "log.csv"')
    path.write_text(QUEUE + recorded)
    assert main(["check", str(path)]) == 0
    said = capsys.readouterr().out
    assert "no queue reads its columns mmr, elo; if one of them holds rating" in said


@pytest.mark.parametrize(
    ("columns", "more", "extra"),
    [
        ("at,player,mmr", DRAWN, ["--columns", "rating=mmr"]),
        ("at,player,region", DRAWN, ["--by", "region"]),
        ("at,player,age", DRAWN, ["--by", "age_decile"]),
        ("at,player,leaves_at", DRAWN, []),
        ("at,mmr,rating", "", []),
    ],
)
def test_draws_that_were_asked_for_are_no_surprise(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    columns: str,
    more: str,
    extra: list[str],
) -> None:
    assert main(["simulate", *given(tmp_path, columns, more), *extra]) == 0
    assert capsys.readouterr().err == ""


UNCOUNTED = (
    "warning: no ticket is counted, because nobody comes after warmup = 200 s; write a smaller"
)


@pytest.mark.parametrize("command", ["simulate", "compare", "sweep"])
def test_recording_shorter_than_the_warm_up_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    files = given(tmp_path)
    more = {"compare": POLICIES, "sweep": ("--sweep", "wait_max=30..60:2")}.get(command, ())
    name = command.replace("sweep", "simulate")
    for warmup, is_told in ((199, False), (200, True)):
        (tmp_path / "q.toml").write_text(f"warmup = {warmup}\n" + QUEUE)
        assert main([name, *files, *more]) == 0
        assert capsys.readouterr().err.startswith(UNCOUNTED) == is_told


@pytest.mark.parametrize("arrivals", ['[arrivals]\nfile = "log.csv"\n', DRAWN])
def test_check_says_that_all_come_during_the_warm_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arrivals: str
) -> None:
    config = given(tmp_path)[0]
    for warmup in (5, 200):
        (tmp_path / "q.toml").write_text(f"warmup = {warmup}\n" + QUEUE + arrivals)
        assert main(["check", config]) == 0
        assert (UNCOUNTED in capsys.readouterr().out) == (warmup == 200)


def test_warm_up_that_outlasts_the_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = given(tmp_path)[0]
    (tmp_path / "q.toml").write_text("until = 60\nwarmup = 60\n" + QUEUE)
    assert main(["check", config]) == 2
    told = "warmup must be below until = 60 s, at which the run ends, got 60"
    assert told in capsys.readouterr().err
