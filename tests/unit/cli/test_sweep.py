"""`--sweep` as it is called: tables, JSON, pages, and what is refused."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.test_simulate import SCENARIO, call

SWEEP = "wait_price=0.001..0.1:3"
PRICE = ("--policy", "price")


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "duel.toml"
    path.write_text(SCENARIO)
    return str(path)


def sweep_of(capsys: pytest.CaptureFixture[str], *tokens: str) -> dict[str, Any]:
    code, out, err = call(capsys, *tokens, "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    found: dict[str, Any] = json.loads(out)
    return found


def test_each_value_gives_the_figures_of_a_file_with_it(
    capsys: pytest.CaptureFixture[str], scenario: str, tmp_path: Path
) -> None:
    found = sweep_of(capsys, "simulate", scenario, *PRICE, "--sweep", SWEEP)
    assert found["sweep"] == "wait_price"
    assert [each.pop("value") for each in found["runs"]] == [0.001, 0.01, 0.1]
    for own, value in zip(found["runs"], ("0.001", "0.01", "0.1"), strict=True):
        path = tmp_path / "other.toml"
        path.write_text(SCENARIO.replace("wait_max = ", f"wait_price = {value}\nwait_max = "))
        code, out, _ = call(capsys, "simulate", str(path), *PRICE, "--json")
        assert (code, json.loads(out)) == (0, own)


@pytest.mark.several_processes
def test_policies_are_swept_beside_each_other_over_runs(
    capsys: pytest.CaptureFixture[str], scenario: str
) -> None:
    tokens = ("--policy", "delay_greedy", "--policy", "delay_greedy:factor=3", "--runs", "2")
    sweep = ("--sweep", "policy:factor=1..2:2")
    found = sweep_of(capsys, "compare", scenario, *tokens, *sweep)
    rows = [(each["policy"], each["value"]) for each in found["runs"]]
    assert rows == [
        *(("delay_greedy", 1.0), ("delay_greedy", 2.0)),
        *(("delay_greedy:factor=3", 1.0), ("delay_greedy:factor=3", 2.0)),
    ]
    assert found["runs"][0]["ci95"]["wait"]["mean"] is not None
    # The swept parameter replaces the one that was given.
    assert found["runs"][1]["cost"] == found["runs"][3]["cost"]


def test_a_table_has_a_column_for_each_value_and_a_curve_for_each_figure(
    capsys: pytest.CaptureFixture[str], scenario: str
) -> None:
    code, out, err = call(capsys, "simulate", scenario, *PRICE, "--sweep", SWEEP)
    assert (code, err) == (0, "")
    title, head, *rows = out.splitlines()
    assert title == f"{scenario}, wait_price"
    assert head.split() == ["0.001", "0.01", "0.1"]
    names = [row.split("  ")[0] for row in rows]
    assert names == [
        *("wait, mean", "wait, 95 % below", "quality, mean", "quality, 90 % above"),
        *("rating: gap", "tickets without a match"),
    ]
    # The dearer the wait, the shorter it is, and the wider the gap.
    assert [rows[0][-3], rows[0][-1]] == ["█", "▁"]
    assert [rows[4][-3], rows[4][-1]] == ["▁", "█"]


def test_a_parameter_of_the_scenarios_own_policy_is_swept_in_one_table(
    capsys: pytest.CaptureFixture[str], scenario: str, tmp_path: Path
) -> None:
    sweep = ("--sweep", "policy:factor=1..2:2")
    _, given, _ = call(capsys, "simulate", scenario, "--policy", "delay_greedy", *sweep)
    own = tmp_path / "own.toml"
    own.write_text(SCENARIO.replace('"greedy"', '"delay_greedy:factor=1.5"'))
    code, out, err = call(capsys, "simulate", str(own), *sweep)
    assert (code, err) == (0, "")
    _, head, *rows = out.splitlines()
    assert head.split() == ["1", "2"]
    assert rows == given.splitlines()[2:]


def test_a_page_has_the_curves_and_all_values(
    capsys: pytest.CaptureFixture[str], scenario: str, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    tokens = ("--policy", "greedy", "--policy", "price", "--sweep", SWEEP, "--report", str(page))
    code, _, err = call(capsys, "compare", scenario, *tokens)
    assert (code, err) == (0, "")
    html = page.read_text()
    assert html.count("<svg") == 1
    assert "What waiting buys: wait_price from 0.001 to 0.1" in html
    assert "wait_price = 0.01, price" in html
    assert "http" not in html.replace("http://www.w3.org", "")


@pytest.mark.parametrize(
    ("tokens", "why"),
    [
        (("--sweep", "wait_max"), "--sweep must be KEY=A..B"),
        (("--sweep", "wait_max=-5..5"), "wait_max must be"),
        (("--sweep", "rules[0].limit=1..2"), "no queue of the scenario has such a key"),
        (("--sweep", SWEEP, "--matches", "m.jsonl"), "leave out --sweep"),
        (("--sweep", "policy:nothing=1..2"), "has no parameter 'nothing'"),
    ],
)
def test_what_cannot_be_swept_is_refused(
    capsys: pytest.CaptureFixture[str], scenario: str, tokens: tuple[str, ...], why: str
) -> None:
    code, out, err = call(capsys, "simulate", scenario, *tokens)
    assert (code, out) == (2, "")
    assert why in err


TEAMS = """
[[queue]]
name = "pairs"
teams = 2
players = 2
target_wait = 10.0
policy = "rolling"
[[queue.criteria]]
kind = "imbalance"
attribute = "rating"
scale = {kind = "linear", min = 0.0, max = 3000.0}
"""
ARRIVALS = """
[arrivals]
process = "poisson"
rate = 1.0
count = 40
[attributes.rating]
distribution = "normal"
mean = 1500.0
deviation = 350.0
"""
OUT_OF_REACH = "warning: a mean wait of 1 s is out of reach with these arrivals"
LONGER = "What longer waits would buy: mean wait wanted, s"


@pytest.fixture
def teams(tmp_path: Path) -> str:
    pytest.importorskip("numba")
    path = tmp_path / "pairs.toml"
    path.write_text(TEAMS + ARRIVALS)
    return str(path)


def test_target_wait_alone_means_half_once_and_twice(
    capsys: pytest.CaptureFixture[str], teams: str
) -> None:
    found = sweep_of(capsys, "simulate", teams, "--sweep", "target_wait")
    assert [each["value"] for each in found["runs"]] == [5.0, 10.0, 20.0]
    code, out, _ = call(capsys, "simulate", teams, "--json")
    del found["runs"][1]["value"]
    assert (code, json.loads(out)) == (0, found["runs"][1])


def test_a_small_run_says_what_longer_waits_would_buy_and_a_large_one_how_to_ask(
    capsys: pytest.CaptureFixture[str], teams: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = call(capsys, "simulate", teams)
    assert code == 0
    table = out.partition(f"\n{LONGER}\n")[2].splitlines()
    assert table[0].split() == ["5", "10", "20"]
    assert any(row.startswith("rating: team gap ") for row in table)
    monkeypatch.setattr("evenmatch.cli.sweep.SMALL", 39)
    code, out, _ = call(capsys, "simulate", teams)
    assert code == 0
    assert LONGER not in out
    assert "plays half the target, the target and twice the target (10 s)." in out


def test_check_plays_the_first_arrivals_or_says_how_to_ask(
    capsys: pytest.CaptureFixture[str], teams: str, tmp_path: Path
) -> None:
    code, out, _ = call(capsys, "check", teams)
    assert code == 0
    assert f"{LONGER}, by the first 40 arrivals\n" in out
    server = tmp_path / "server.toml"
    server.write_text(TEAMS)
    code, out, _ = call(capsys, "check", str(server))
    assert code == 0
    assert LONGER not in out
    assert "evenmatch simulate FILE --arrivals RECORD.csv --sweep target_wait" in out


def test_check_says_from_when_on_it_counts_the_first_arrivals(
    capsys: pytest.CaptureFixture[str], teams: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Path(teams).read_text()
    Path(teams).write_text(f"warmup = 20\n{plain}")
    _, out, _ = call(capsys, "check", teams)
    told = re.search(rf"{LONGER}, by the first (\d+) arrivals after 20 s of warm-up\n", out)
    assert told is not None
    assert 0 < int(told[1]) < 40
    monkeypatch.setattr("evenmatch.cli.sweep.TICKETS_MAX", 5)
    monkeypatch.setattr("evenmatch.lab.study.sweep.TICKETS_MAX", 5)
    monkeypatch.setattr("evenmatch.lab.study.study.os.cpu_count", lambda: 1)
    _, out, _ = call(capsys, "check", teams)
    assert LONGER not in out
    assert "The first 5 arrivals all come within warmup = 20 s; to see" in out


@pytest.mark.parametrize("command", ["check", "simulate"])
def test_both_say_that_a_mean_wait_is_out_of_reach(
    capsys: pytest.CaptureFixture[str], teams: str, command: str
) -> None:
    _, out, _ = call(capsys, command, teams)
    assert "out of reach" not in out
    # Four come in four seconds, so that they have waited for a second and a half before a match.
    hasty = Path(teams).read_text().replace("target_wait = 10.0", "target_wait = 1.0")
    Path(teams).write_text(hasty)
    code, out, _ = call(capsys, command, teams)
    assert code == 0
    assert f"{OUT_OF_REACH}: these players wait 1." in out


@pytest.mark.parametrize("command", ["check", "simulate"])
def test_target_is_out_of_reach_where_nobody_is_matched(
    capsys: pytest.CaptureFixture[str], teams: str, command: str
) -> None:
    alone = Path(teams).read_text().replace("target_wait = 10.0", "target_wait = 1.0")
    alone = alone.replace("rate = 1.0", "rate = 0.01")
    Path(teams).write_text(alone.replace("target_wait", "wait_max = 5.0\ntarget_wait"))
    code, out, _ = call(capsys, command, teams)
    assert code == 0
    found = re.search(f"{OUT_OF_REACH}: nobody is matched, and (\\d+) of 40 tickets expire;", out)
    assert found is not None
    assert int(found[1]) >= 39


def test_targets_of_several_queues_and_runs_are_out_of_reach_if_all_wait_longer(
    capsys: pytest.CaptureFixture[str], teams: str
) -> None:
    hasty = Path(teams).read_text().replace("target_wait = 10.0", "target_wait = 1.0")
    Path(teams).write_text(hasty)
    _, out, _ = call(capsys, "simulate", teams, "--runs", "2")
    assert OUT_OF_REACH in out
    queue = hasty.partition("[arrivals]")[0]
    second = queue.replace('name = "pairs"', 'name = "more"')
    for wait, is_told in (("1.0", True), ("9.0", False)):
        slow = second.replace("target_wait = 1.0", f"target_wait = {wait}")
        Path(teams).write_text(slow + hasty)
        _, out, _ = call(capsys, "simulate", teams)
        assert ("out of reach" in out) == is_told


def test_nothing_is_said_of_waits_where_no_policy_keeps_one(
    capsys: pytest.CaptureFixture[str], scenario: str
) -> None:
    for command in ("simulate", "check"):
        code, out, _ = call(capsys, command, scenario)
        assert code == 0
        assert "longer" not in out
    code, _, err = call(capsys, "simulate", scenario, "--sweep", "target_wait")
    assert code == 2
    assert "no queue has a policy that keeps a mean wait" in err
