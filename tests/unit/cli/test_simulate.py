"""`simulate` and `compare` as they are called: output, files, exit codes, sentences."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evenmatch.cli.main import main
from tests.extent import only
from tests.waiting import wait_until

SCENARIO = """
seed = 4
[[queue]]
name = "duel"
wait_max = 20.0
policy = "greedy"
[[queue.criteria]]
kind = "spread"
attribute = "rating"
scale = {kind = "linear", min = 0.0, max = 3000.0}
[arrivals]
process = "poisson"
rate = 2.0
count = 100
[attributes.rating]
distribution = "normal"
mean = 1500.0
deviation = 350.0
"""
WINDOW = "window:limit=50,rate=5"
PAIRS = str(Path(__file__).parents[3] / "scenarios" / "schlup.toml")


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "duel.toml"
    path.write_text(SCENARIO)
    return str(path)


def call(capsys: pytest.CaptureFixture[str], *tokens: str) -> tuple[int, str, str]:
    code = main(list(tokens))
    out = capsys.readouterr()
    return code, out.out, out.err


def summary_of(capsys: pytest.CaptureFixture[str], *tokens: str) -> dict[str, Any]:
    code, out, err = call(capsys, *tokens, "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    found: dict[str, Any] = json.loads(out)
    return found


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_json_is_one_object_and_nothing_else(
    capsys: pytest.CaptureFixture[str], scenario: str
) -> None:
    summary = summary_of(capsys, "simulate", scenario)
    assert summary["tickets"] == 100
    assert "by" not in summary


def test_without_a_ready_check_cancelled_tickets_are_one_number(
    capsys: pytest.CaptureFixture[str], scenario: str
) -> None:
    assert "cancelled_by" not in summary_of(capsys, "simulate", scenario)


def test_without_json_people_read_a_table(
    capsys: pytest.CaptureFixture[str], scenario: str
) -> None:
    code, out, err = call(capsys, "simulate", scenario, "--by", "rating_decile")
    assert (code, err) == (0, "")
    assert "wait, mean" in out
    assert "by rating_decile" in out


def test_cancelled_tickets_are_split_by_reason_where_players_are_asked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, rows = tmp_path / "asked.toml", tmp_path / "tickets.jsonl"
    asked = SCENARIO.replace('"greedy"', '"greedy"\naccept = {seconds = 5.0, repair = 0.0}')
    asked = asked.replace(
        "count = 100", 'count = 100\npatience = {distribution = "exponential", mean = 10.0}'
    )
    path.write_text(asked + "[answers]\ndecline = 0.2\nsilent = 0.1\nseconds = 1.0\n")
    summary = summary_of(capsys, "simulate", str(path), "--tickets", str(rows))
    ended = [row["reason"] for row in lines(rows) if row["state"] == "cancelled"]
    by = {reason: ended.count(reason) for reason in ("left", "declined", "silent")}
    assert summary["cancelled_by"] == by
    assert summary["cancelled"] == sum(by.values())
    assert min(by.values()) > 0
    _, told, _ = call(capsys, "simulate", str(path))
    for words, count in zip(("left by", "declined a", "silent when"), by.values(), strict=True):
        line = next(line for line in told.splitlines() if f"of these {words}" in line)
        assert line.split()[-1] == str(count)


def test_files_hold_every_match_and_ticket(
    capsys: pytest.CaptureFixture[str], scenario: str, tmp_path: Path
) -> None:
    matches, tickets = tmp_path / "m.jsonl", tmp_path / "t.jsonl"
    summary = summary_of(
        capsys, "simulate", scenario, "--matches", str(matches), "--tickets", str(tickets)
    )
    found, rows = lines(matches), lines(tickets)
    assert (len(found), len(rows)) == (summary["matches"], summary["tickets"])
    assert list(found[0]) == [
        *("match", "queue", "at", "tickets", "teams", "bots", "cost", "quality")
    ]
    assert list(rows[0]) == [
        *("ticket", "state", "enqueued_at", "ended_at", "wait", "match", "reason")
    ]
    by_match = {match["match"]: match for match in found}
    for row in rows:
        if row["state"] == "matched":
            assert row["ticket"] in by_match[row["match"]]["tickets"]
            assert row["wait"] == row["ended_at"] - row["enqueued_at"]


def test_arrivals_from_a_file_replace_those_of_the_scenario(
    capsys: pytest.CaptureFixture[str], scenario: str, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("at,player,rating\n100,a,1500\n101.5,b,1600\n")
    tickets = tmp_path / "t.jsonl"
    summary = summary_of(
        capsys, "simulate", scenario, "--arrivals", str(trace), "--tickets", str(tickets)
    )
    assert (summary["tickets"], summary["wait"]["max"]) == (2, 1.5)
    assert [row["enqueued_at"] for row in lines(tickets)] == [100.0, 101.5]


def test_policy_and_seed_replace_those_of_the_scenario(
    capsys: pytest.CaptureFixture[str], scenario: str
) -> None:
    greedy = summary_of(capsys, "simulate", scenario)
    assert summary_of(capsys, "simulate", scenario, "--seed", "4") == greedy
    assert summary_of(capsys, "simulate", scenario, "--seed", "5") != greedy
    window = summary_of(capsys, "simulate", scenario, "--policy", WINDOW)
    assert window["quality"]["mean"] > greedy["quality"]["mean"]


@pytest.mark.several_processes
def test_runs_give_means_and_half_widths(
    capsys: pytest.CaptureFixture[str], scenario: str, tmp_path: Path
) -> None:
    matches = tmp_path / "m.jsonl"
    summary = summary_of(
        capsys, "simulate", scenario, "--runs", "2", "--by", "size", "--matches", str(matches)
    )
    assert summary["tickets"] == 100.0
    assert summary["ci95"]["tickets"] == 0.0
    assert summary["ci95"]["wait"]["mean"] > 0.0
    assert summary["ci95"]["by"]["size"]["1"]["players"] == 0.0
    assert {row["run"] for row in lines(matches)} == {0, 1}
    code, out, _ = call(capsys, "simulate", scenario, "--runs", "1")
    assert code == 0
    assert "1 run" in out


def test_compare_gives_a_summary_of_each_policy(
    capsys: pytest.CaptureFixture[str], scenario: str, tmp_path: Path
) -> None:
    matches = tmp_path / "m.jsonl"
    specs = ("--policy", "greedy", "--policy", WINDOW)
    found = summary_of(capsys, "compare", scenario, *specs, "--matches", str(matches))
    assert list(found) == ["runs", "floor"]
    assert found["floor"] is None, "its ratings are not uniform"
    assert [run["policy"] for run in found["runs"]] == ["greedy", WINDOW]
    assert found["runs"][0] == {"policy": "greedy"} | summary_of(capsys, "simulate", scenario)
    assert {row["policy"] for row in lines(matches)} == {"greedy", WINDOW}


def test_compare_marks_the_better_figures(
    capsys: pytest.CaptureFixture[str], scenario: str
) -> None:
    code, out, _ = call(capsys, "compare", scenario, "--policy", "greedy", "--policy", WINDOW)
    assert code == 0
    (quality,) = [line for line in out.splitlines() if line.startswith("quality, mean")]
    assert quality.rstrip().endswith("*")
    (tickets,) = [line for line in out.splitlines() if line.startswith("tickets")]
    assert "*" not in tickets


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        (["simulate"], "name a scenario: evenmatch simulate SCENARIO.toml"),
        (["simulate", "--sweep", "wait_max=1..9"], "name a scenario: evenmatch simulate SCEN"),
        (["compare", "--policy", "greedy"], "name a scenario: evenmatch compare SCENARIO.toml"),
        (["simulate", "none.toml"], "none.toml: cannot be read"),
        (["simulate", "{}", "--policy", "gredy"], "did you mean greedy?"),
        (["simulate", "{}", "--policy", "greedy:x=1"], "policy greedy has no parameter 'x'"),
        (["simulate", "{}", "--runs", "0"], "--runs must be from 1 to 100,000, got 0"),
        (["simulate", "{}", "--seed", "-1"], "seed must be >= 0, got -1"),
        (["simulate", "{}", "--by", "colour"], "no ticket has an attribute colour"),
        (["simulate", "{}", "--rules", "r.json"], "r.json: cannot be read"),
        (["simulate", "--rules", "r.json", "--sweep", "wait_max=1..9"], "--sweep does not go with"),
        (["simulate", "{}", "--arrivals", "none.csv"], "none.csv"),
        (["simulate", "{}", "--matches", "/none/m.jsonl"], "its folder does not exist"),
        (["simulate", "{}", "--tickets", "/"], "is a folder; name a file"),
        (["simulate", "{}", "--frobnicate"], "frobnicate"),
        (["compare", "{}"], "name the policies"),
        (["compare", "{}", "--policy", "greedy", "--rules", "r.json"], "later version"),
        (
            ["compare", "{}", *("--policy", "greedy") * 2, "--policy", "window"],
            "--policy greedy is given twice, and both would give the same figures; name each",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], scenario: str, tokens: list[str], sentence: str
) -> None:
    code, out, err = call(capsys, *(token.format(scenario) for token in tokens))
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


ALIENS = str(Path(__file__).parents[2] / "data" / "flexmatch" / "01_aliens_vs_cowboys.json")
DRAWN = """
[[queue]]
[arrivals]
rate = 2.0
count = 60
[attributes.skill]
distribution = "uniform"
min = 0.0
max = 100.0
"""


def test_rule_set_alone_says_what_it_drew_and_how_long_players_wait(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = call(capsys, "simulate", "--rules", ALIENS)
    assert code == 0
    assert "criterion from distance rule FairTeamSkill: skill" in out
    assert "skill is drawn normally around 60 with deviation 20, from 0 on" in out
    assert "480 tickets of one player come at 1 a second" in out
    assert "skill: team gap" in out
    summary = summary_of(capsys, "simulate", "--rules", ALIENS)
    assert summary["matches"] >= 50
    assert summary["quality"]["mean"] > 0.9


def test_rule_set_takes_the_place_of_the_rules_of_a_scenario(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "game.toml"
    path.write_text(DRAWN)
    summary = summary_of(capsys, "simulate", str(path), "--rules", ALIENS)
    path.write_text(DRAWN.replace("[[queue]]", f'[[queue]]\nrules_file = "{ALIENS}"'))
    same = summary_of(capsys, "simulate", str(path))
    assert summary["matches"] == same["matches"] >= 5
    assert summary["wait"] == same["wait"]


def test_policies_that_know_no_conditions_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "game.toml"
    path.write_text(f'[[queue]]\nrules_file = "{ALIENS}"\npolicy = "patient"')
    code, _, err = call(capsys, "check", str(path))
    assert code == 2
    assert "does not support the conditions of a rules_file; by_rules, greedy, rounds," in err
    code, _, err = call(capsys, "simulate", "--rules", ALIENS, "--policy", "price")
    assert code == 2
    assert "by_rules" in err


def test_check_says_what_was_taken_from_a_rule_set(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "game.toml"
    path.write_text(f'[[queue]]\nrules_file = "{ALIENS}"')
    code, out, _ = call(capsys, "check", str(path))
    assert code == 0
    assert "2 teams of 8 players, named cowboys, aliens" in out
    assert "EqualTeamSizes must hold." in out
    assert "it changes at 5 s, 15 s." in out
    assert "by_rules" in out


@pytest.mark.parametrize("command", ["simulate", "compare", "check"])
def test_help_has_an_example(capsys: pytest.CaptureFixture[str], command: str) -> None:
    code, out, _ = call(capsys, command, "--help")
    assert code == 0
    assert f"evenmatch {command} scenarios/" in " ".join(out.split())


@pytest.mark.parametrize("extra", [[], ["--runs", "2"]])
def test_report_is_a_page_of_its_own(
    capsys: pytest.CaptureFixture[str], scenario: str, tmp_path: Path, extra: list[str]
) -> None:
    page = tmp_path / "report.html"
    specs = ("--policy", "greedy", "--policy", WINDOW)
    summary_of(capsys, "compare", scenario, *specs, "--report", str(page), *extra)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert WINDOW in text
    assert ("half-widths" in text) == bool(extra)


@pytest.mark.parametrize("option", ["--matches", "--report"])
def test_file_that_cannot_be_written_is_named(
    capsys: pytest.CaptureFixture[str], scenario: str, option: str
) -> None:
    code, out, err = call(capsys, "simulate", scenario, option, "/dev/full")
    assert (code, out) == (2, "")
    assert err == "evenmatch: /dev/full cannot be written: No space left on device\n"


@pytest.mark.parametrize("name", ["duel.pdf", "other.toml", "report"])
@pytest.mark.parametrize("command", [["simulate"], ["compare", "--policy", "greedy"]])
def test_report_is_written_to_no_file_of_another_kind(
    capsys: pytest.CaptureFixture[str],
    scenario: str,
    tmp_path: Path,
    command: list[str],
    name: str,
) -> None:
    path = tmp_path / name
    path.write_text("as it was")
    code, out, err = call(capsys, command[0], scenario, *command[1:], "--report", str(path))
    assert (code, out) == (2, "")
    assert err == (
        f"evenmatch: --report: {path} must end in .html or .htm, since a report is a page\n"
    )
    assert path.read_text() == "as it was"


def test_report_without_its_packages_is_refused_at_once(
    capsys: pytest.CaptureFixture[str], scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    code, _, err = call(capsys, "simulate", scenario, "--report", "report.html")
    assert code == 2
    assert "pip install 'evenmatch[report]'" in err


def test_output_is_the_same_bytes_in_another_process(scenario: str, tmp_path: Path) -> None:
    outputs = []
    for seed in ("1", "2"):
        path = tmp_path / f"m{seed}.jsonl"
        command = [sys.executable, "-m", "evenmatch.cli.main", "simulate", scenario, "--json"]
        done = subprocess.run(
            [*command, "--by", "rating_decile", "--matches", str(path)],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        assert done.stderr == b""
        outputs.append((done.stdout, path.read_bytes()))
    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0][0])["tickets"] == 100


@pytest.mark.parametrize(
    "options",
    [
        ["--matches", "duel.toml"],
        ["--report", "./page.html", "--tickets", "page.html"],
        ["--tickets", "link.toml"],
        ["--arrivals", "in.csv", "--tickets", "in.csv"],
        ["--matches", "sub/../in.csv"],
        ["--matches", "new", "--tickets", "sub/../new"],
        ["--matches", "new.html", "--report", "new.html"],
        ["--matches", "old", "--tickets", "old"],
    ],
)
@pytest.mark.parametrize("command", [["simulate"], ["compare", "--policy", "greedy"]])
def test_output_never_overwrites_an_input_or_another_output(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    options: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    head, _, rest = SCENARIO.partition("[arrivals]")
    rates = rest.partition("[attributes")[0]
    text = SCENARIO.replace(rates, '\nprocess = "file"\nfile = "in.csv"\n')
    assert head in text
    for name, content in (("duel.toml", text), ("in.csv", "at,rating\n0,1\n1,2\n"), ("old", "")):
        (tmp_path / name).write_text(content)
    (tmp_path / "link.toml").symlink_to("duel.toml")
    (tmp_path / "sub").mkdir()
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir() if each.is_file()}
    code, out, err = call(capsys, command[0], "duel.toml", *command[1:], *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "is already" in err
    assert "; name another file" in err
    assert before == {each.name: each.read_bytes() for each in tmp_path.iterdir() if each.is_file()}


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        (["serve", "x.toml", "--port", "80.5"], "--port must be a whole number, got 80.5"),
        (["simulate", "x.toml", "--runs", "1.5"], "--runs must be a whole number, got 1.5"),
        (["compare", "x.toml", "--seed", "1.7"], "--seed must be a whole number, got 1.7"),
        (["serve", "x.toml", "--data", ""], "--data must name a directory, got an empty name"),
        (["serve"], "name a configuration: evenmatch serve CONFIG.toml (see --help)"),
        (["check"], "name a configuration: evenmatch check CONFIG.toml (see --help)"),
        (["check", "a", "b"], "unexpected 'b'; leave it out (see --help)"),
    ],
)
def test_wrong_option_is_told_in_our_words(
    capsys: pytest.CaptureFixture[str], tokens: list[str], sentence: str
) -> None:
    assert call(capsys, *tokens) == (2, "", f"evenmatch: {sentence}\n")


def test_help_of_all_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "--help")
    assert code == 0
    assert "evenmatch simulate scenarios/duel.toml" in out


def test_compare_shows_groups_side_by_side(
    capsys: pytest.CaptureFixture[str], scenario: str, tmp_path: Path
) -> None:
    report = tmp_path / "duel.html"
    policies = ["--policy", "greedy", "--policy", WINDOW]
    tokens = ["compare", scenario, *policies, "--by", "size", "--report", str(report)]
    code, out, _ = call(capsys, *tokens)
    assert code == 0
    table = out[out.index("by size") :]
    assert "wait, greedy" in table
    assert f"wait, {WINDOW}" in table
    assert table.splitlines()[2].split()[:3] == ["1", "100", "100"]
    assert f"<th>wait, {WINDOW}</th>" in report.read_text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_full_output_is_one_sentence(scenario: str, more: list[str]) -> None:
    command = [sys.executable, "-m", "evenmatch.cli.main", "simulate", scenario, *more]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "evenmatch: the output cannot be written: No space left on device\n"


@pytest.mark.skipif(sys.platform == "win32", reason="no process groups")
@pytest.mark.several_processes
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc")
@pytest.mark.parametrize("children", only([1, 3], 0))
def test_interrupted_runs_print_no_traceback(scenario: str, children: int) -> None:
    command = [sys.executable, "-m", "evenmatch.cli.main", "simulate", scenario, "--runs", "5000"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    # While it starts its processes, and when some of them are at work.
    started = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_until(lambda: len(started.read_text().split()) >= children, "a process of the run")
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=240.0)
    assert (process.returncode, errors) == (130, "")


def test_compare_tells_the_floor_where_theory_knows_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"cost_per_match": 0.25, "cost_per_player": 0.125, "error_per_match": 0.0}
    monkeypatch.setattr("evenmatch.cli.compare.floor_of", lambda _: known)
    given = ["compare", PAIRS, "--policy", "greedy"]
    assert main([*given, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["floor"] == known
    assert main(given) == 0
    sentence = "no policy without foreknowledge costs less than 0.25 per match"
    assert sentence in capsys.readouterr().out


def test_recorded_arrivals_have_no_floor(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arrivals = tmp_path / "a.csv"
    arrivals.write_text("at,c0\n0,0.1\n1,0.2\n")
    given = ["compare", PAIRS, "--arrivals", str(arrivals)]
    assert main([*given, "--policy", "greedy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["floor"] is None


STUDIO = """joined;account;mmr
2026-11-22T20:00:03.500+01:00;bob;1740
2026-11-22T19:00:00Z;ada;1700
yesterday;cleo;1500
"""
RATED = """
[[queue]]
wait_max = 60.0
[[queue.rules]]
kind = "spread"
attribute = "rating"
limit = 100.0
"""


def studio(folder: Path, *more: str) -> list[str]:
    (folder / "q.toml").write_text(RATED)
    (folder / "log.csv").write_text(STUDIO)
    return ["simulate", str(folder / "q.toml"), "--arrivals", str(folder / "log.csv"), *more]


def test_log_of_a_studio_is_played_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = studio(tmp_path, "--columns", "at=joined,mean=mmr,player=account", "--json")
    assert main(given) == 2
    assert "the other rows are good: --skip-bad goes on without it" in capsys.readouterr().err
    assert main([*given, "--skip-bad"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert (found["matches"], found["tickets"], found["skipped"]) == (1, 2, 1)
    assert found["wait"]["max"] == 3.5
    assert said.err.startswith("warning: left out 1 of 3 rows: ")


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ([], "--columns at="),
        (["--columns", "at"], 'such as at=joined,rating=mmr, got "at"'),
        (["--columns", "at=joint"], "did you mean joined?"),
    ],
)
def test_columns_that_do_not_fit_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], sentence: str
) -> None:
    assert main(studio(tmp_path, *more)) == 2
    assert sentence in capsys.readouterr().err


def test_options_of_a_recording_need_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [each for each in studio(tmp_path, "--skip-bad") if "--arrivals" not in each]
    given.remove(str(tmp_path / "log.csv"))
    assert main(given) == 2
    assert (
        "--skip-bad goes only with a recording: give --arrivals FILE too" in capsys.readouterr().err
    )
