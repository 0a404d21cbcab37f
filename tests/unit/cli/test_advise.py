import json
import os
from pathlib import Path

import pytest

from evenmatch.cli.advise import duration, hours_of, split_of, teams_of
from evenmatch.cli.advise_view import players, seconds
from evenmatch.cli.main import main
from evenmatch.config.files import load_scenario
from evenmatch.errors import ConfigError

REGIONS = "region=eu:0.6,us:0.3,asia:0.1"
ROLES = ["--roles", "tank=1,dps=1", "--role-share", "tank:0.3,dps:0.3,any:0.4"]


def run(*tokens: str) -> int:
    return main(["advise", *tokens])


def figures(capsys: pytest.CaptureFixture[str], *tokens: str) -> dict:
    assert run(*tokens, "--json") == 0
    out = capsys.readouterr()
    assert not out.err
    return json.loads(out.out)


def text(capsys: pytest.CaptureFixture[str], *tokens: str) -> str:
    assert run(*tokens) == 0
    return capsys.readouterr().out


def refusal(capsys: pytest.CaptureFixture[str], *tokens: str) -> str:
    assert run(*tokens) == 2
    out = capsys.readouterr()
    assert not out.out
    assert out.err.count("\n") == 1
    return out.err


@pytest.mark.parametrize(
    ("splits", "players"),
    [((), 133), (("region=3",), 399), (("region=3", "mode=2", "band=5"), 3_987)],
)
def test_json_has_the_numbers_of_theory(
    capsys: pytest.CaptureFixture[str], splits: tuple[str, ...], players: int
) -> None:
    tokens = [word for split in splits for word in ("--split", split)]
    found = figures(capsys, "--match", "5v5", "--match-length", "30m", "--idle", "2m",
                    "--target-wait", "60", "--percentile", "0.5", *tokens)  # fmt: skip
    assert round(found["players_online"]) == players
    assert round(found["pooled"]["players_online"]) == players
    assert found["stable"] is True
    assert found["match"]["length"] == 1_800.0


def test_the_answer_comes_first_and_names_the_worst_pool(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = text(capsys, "--target-wait", "1m", "--split", REGIONS, "--split", "mode=3")
    first, second = lines.splitlines()[:2]
    assert first == (
        "You need about 3,893 players online for half of the players of each of the 9 pools to be "
        "matched within 60 s."
    )
    assert "885 are enough for half of all players together" in second
    assert "in asia / mode 1 wait longer than 4.6 min" in second
    assert "dropping mode 3 saves 1,298: 2,595 would do" in lines
    assert "a player of asia who takes any region plays after 6.8 s on average, not 67 s" in lines


def test_a_split_says_how_many_options_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    lines = text(capsys, "--target-wait", "1m", "--split", "region=eu:1", "--split", "mode=2")
    assert "region (1 option): " in lines
    assert "mode (2 options): " in lines


def test_players_online_are_answered_by_their_waits(capsys: pytest.CaptureFixture[str]) -> None:
    lines = text(capsys, "--players-online", "133", "--match", "5v5")
    assert lines.startswith("With 133 players online half of them are matched within 60 s.")


def test_hours_are_bars_with_a_verdict(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    hours = tmp_path / "hours.csv"
    hours.write_text("\n".join(["10"] * 12 + ["30"] * 12))
    lines = text(capsys, "--players-online", "133", "--target-wait", "60", "--hours", str(hours))
    assert "00:00 ########" in lines
    assert "misses; meets it if they come within 30 min" in lines
    assert "12 of 24 hours miss the target" in lines
    found = figures(capsys, "--players-online", "133", "--target-wait", "60", "--hours",
                    ",".join(["10"] * 12 + ["30"] * 12))  # fmt: skip
    assert found["hours"]["meet"] == list(range(12, 24))


def test_levels_are_cut_where_zones_are_most_equal(capsys: pytest.CaptureFixture[str]) -> None:
    lines = text(capsys, "--target-wait", "60", "--levels", "0.1,0.2,0.3,0.4", "--zones", "2")
    assert "2 zones: levels 1-3 (60 %), 4 (40 %); takes 330 players online" in lines


def test_an_unstable_game_is_answered_with_exit_code_0(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tokens = ["--match", "1v1", "--sides", "A:0.6,B:0.3,any:0.1", "--players-online", "192"]
    lines = text(capsys, *tokens)
    assert lines.startswith("No number of players is enough: the queue grows without limit")
    assert "players who insist on A must drop by more than 20 per 100 players" in lines
    found = figures(capsys, *tokens)
    assert found["stable"] is False
    assert found["pooled"]["waits"]["mean"] is None
    assert found["growth"] == pytest.approx(0.2 * 192 / 1_920)


def test_where_theory_ends_the_text_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    lines = text(capsys, "--match", "2v2", "--target-wait", "60", *ROLES)
    assert lines.startswith("Counted as if everybody could play with everybody, you need about 34")
    assert "theory ends here: the same command with --simulate measures the waits" in lines
    assert "no rule makes the mean less than 1.5 / (players per second of the pool)" in lines


def test_the_scenario_of_the_smallest_pool_can_be_simulated(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from evenmatch import simulate

    out = tmp_path / "pool.toml"
    lines = text(capsys, "--match", "2v2", "--target-wait", "60", *ROLES, "--scenario", str(out))
    assert f"scenario: {out}" in lines
    scenario = load_scenario(out)
    assert scenario.queues[0].format.roles == (("tank", 1), ("dps", 1))
    assert (tmp_path / "pool.csv").read_text().startswith("at,size,roles,takes,side\n")
    assert simulate(out, by="takes").summary["by"]["takes"].keys() == {"any", "dps", "tank"}


def test_a_scenario_keeps_parties_sides_and_patience(tmp_path: Path) -> None:
    out = tmp_path / "pool.toml"
    tokens = ["--match", "3v3", "--parties", "0.5,0.5", "--sides", 'north "x":0.4,B:0.3,any:0.3']
    assert run(*tokens, "--patience", "2m", "--target-wait", "60", "--scenario", str(out)) == 0
    scenario = load_scenario(out)
    assert scenario.queues[0].format.sides == ('north "x"', "B")
    assert len(scenario.arrivals.classes) == 6
    assert scenario.arrivals.patience.mean == 120.0


@pytest.mark.parametrize("name", ["advice.svg", "advice.png"])
def test_a_plot_is_written(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    lines = text(capsys, "--target-wait", "60", "--split", REGIONS, "--plot", str(out))
    assert f"plot: {out}" in lines
    start = b"<svg xmlns" if name.endswith("svg") else b"\x89PNG"
    assert out.read_bytes().startswith(start)


def test_name_with_dollars_is_drawn_as_it_is(tmp_path: Path) -> None:
    out = tmp_path / "advice.svg"
    assert run("--target-wait", "60", "--split", "$a_$=2", "--plot", str(out)) == 0
    assert "split by $a_$" in out.read_text()


def test_plot_of_any_number_of_players_says_what_to_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tokens = ("--match", "1v1", "--target-wait", "5", "--plot", str(tmp_path / "advice.svg"))
    sentence = "nothing to draw, since any number of players will do; ask for a higher --percentile"
    assert sentence in refusal(capsys, *tokens)


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        ([], "give players online, to learn how long they wait, or a target wait"),
        (["--target-wait", "60", "--players-online", "9"], "not both"),
        (["--target-wait", "soon"], "--target-wait must be seconds, or a time such as 90s"),
        (["--target-wait", "1..5"], "--target-wait must be seconds"),
        (["--target-wait", "60", "--percentile", "50"], "percentile must be above 0 and below 1"),
        (["--target-wait", "60", "--match", "five"], "--match must be written like 5v5"),
        (["--target-wait", "60", "--split", "mode"], "--split must be written like modes=2"),
        (["--target-wait", "60", "--split", "mode=x"], "--split mode must be a number of equal"),
        (["--target-wait", "60", "--split", "r=a:0.5,b:0.4"], "these sum to 0.9"),
        (["--target-wait", "60", "--split", "r=a:0.5,a:0.5"], "--split r names a twice"),
        (["--target-wait", "60", "--parties", "1,x"], "--parties must be a number, got 'x'"),
        (["--target-wait", "60", "--roles", "tank"], "--roles must be written like tank=1,dps=3"),
        (["--target-wait", "60", "--zones", "3"], "--zones says how to cut levels"),
        (["--target-wait", "60", "--hours", "1,2"], "hours must be 24 numbers"),
        (["--target-wait", "60", "--hours", "nothing.csv"], "cannot be read"),
        (["--target-wait", "60", "--hours", os.devnull], "must be a file of 24 numbers"),
        (["--target-wait", "60", "--plot", "advice.jpg"], "must end in .svg or .png"),
        (["--target-wait", "60", "--seed", "-1"], "--seed must be from 0"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], tokens: list[str], sentence: str
) -> None:
    assert sentence in refusal(capsys, *tokens)


def test_texts_are_read_as_people_write_them() -> None:
    assert [duration("--idle", each) for each in ("90", "90s", "1.5m", "30 min", "2h")] == [
        90.0, 90.0, 90.0, 1_800.0, 7_200.0,
    ]  # fmt: skip
    assert teams_of("20x3") == (3,) * 20
    assert teams_of("1v1v1") == (1, 1, 1)
    assert split_of("modes=2").shares == {"1": 0.5, "2": 0.5}
    assert hours_of(",".join(map(str, range(24)))) == tuple(map(float, range(24)))
    with pytest.raises(ConfigError, match="5v5"):
        teams_of("1v")


def test_numbers_are_rounded_for_people() -> None:
    assert [players(each) for each in (132.9, 3_987.03, 0.5)] == ["133", "3,987", "0.5"]
    assert [seconds(each) for each in (0.0, 9.94, 59.999, 119.6, 640.0, 9_000.0)] == [
        "0 s", "9.9 s", "60 s", "2.0 min", "11 min", "2.5 h",
    ]  # fmt: skip
