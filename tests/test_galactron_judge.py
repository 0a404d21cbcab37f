"""The second judge of Galactron matches: by hand, by what the blog says, and by a third one."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import galactron
from tests.shared import beside

THIRD = beside("batch/galactron.py")


def batch(**more: Any) -> dict[str, Any]:
    """Return six players who are alike, alone, strangers, near each other and able to host."""
    base = {
        "team_size": 3, "party": np.arange(6), "skill": np.full(6, 5_000),
        "previous_match": np.full(6, -1), "previous_team": np.zeros(6),
        "ping": np.full((6, 6), 20.0), "connect": np.ones((6, 6), dtype=bool),
    }  # fmt: skip
    return {**base, **more}


def scores(**more: Any) -> dict[str, float]:
    return galactron.factors(batch(**more), [0, 1, 2], [3, 4, 5])


def test_perfect_match_has_every_score_at_its_best() -> None:
    assert set(scores().values()) == {1.0}
    assert galactron.quality(batch(), [0, 1, 2], [3, 4, 5]) == pytest.approx(1.0)


def test_three_pros_against_three_beginners() -> None:
    # "Getting a 0 % skill score requires 3 pro players and 3 beginners"; six of fifteen pairs are
    # alike then, so that the players' score is 40 %.
    found = scores(skill=np.array([18_000] * 3 + [0] * 3))
    assert (found["team"], found["player"]) == (0.0, pytest.approx(0.4))
    # 20,000 counts as 18,000.
    assert scores(skill=np.array([20_000] * 3 + [18_000] * 3))["team"] == 1.0


@pytest.mark.parametrize(
    ("party", "score"),
    [([0, 0, 0, 1, 1, 1], 1.0), ([0, 0, 0, 1, 1, 2], 0.6), ([0, 0, 0, 1, 2, 3], 0.0),
     ([0, 0, 1, 2, 2, 3], 1.0), ([0, 0, 1, 2, 3, 4], 0.6)],
)  # fmt: skip
def test_premades_are_100_60_and_0_percent(party: list[int], score: float) -> None:
    assert scores(party=np.array(party))["premade"] == pytest.approx(score)


@pytest.mark.parametrize(("ms", "score"), [(25.0, 1.0), (100.0, 0.5), (400.0, 0.0), (900.0, 0.0)])
def test_ping_is_logarithmic_from_25_to_400(ms: float, score: float) -> None:
    assert scores(ping=np.full((6, 6), ms))["ping"] == pytest.approx(score)


def test_those_of_the_last_match_cost_less_if_they_change_sides() -> None:
    met = np.array([0, 0, -1, -1, -1, -1])
    assert scores(previous_match=met)["variation"] == pytest.approx(14.0 / 15.0)
    changed = np.array([0, 1, 0, 0, 0, 0])
    found = scores(previous_match=met, previous_team=changed)["variation"]
    assert found == pytest.approx(14.5 / 15.0)


@pytest.mark.parametrize(("hosts", "score"), [(0, 0.0), (1, 0.6), (2, 1.0), (6, 1.0)])
def test_second_host_is_for_when_one_leaves(hosts: int, score: float) -> None:
    connect = np.zeros((6, 6), dtype=bool)
    connect[:hosts] = True
    assert scores(connect=connect)["host"] == score


@pytest.mark.parametrize(
    ("matches", "sentence"),
    [
        ([], "0 matches"),
        ([([0, 1], [2, 3])], "full teams"),
        ([([0, 1, 2], [2, 3, 4])], "plays twice"),
        ([([0, 1, 2], [3, 4, 7])], "does not exist"),
        ([([0, 1, 2], [3, 4, 6])], "is divided"),
    ],
)
def test_solution_that_is_none_is_refused(matches: Any, sentence: str) -> None:
    seven = galactron.drawn(7, 3, 1)
    seven["party"] = np.array([0, 1, 2, 3, 3, 3, 4])
    with pytest.raises(ValueError, match=sentence):
        galactron.check(seven, matches)
    assert galactron.check(seven, [([0, 1, 2], [3, 4, 5])]) > 0.0


def test_batches_have_all_that_scores_look_at() -> None:
    seen = [galactron.drawn(120, size, seed=1) for size in (3, 5)]
    for found in seen:
        size = int(found["team_size"])
        assert set(np.bincount(found["party"])) == set(range(1, size + 1))
        pings = found["ping"][np.triu_indices(120, 1)]
        assert pings.min() < 25.0 < 400.0 < pings.max()
        assert found["skill"].max() > 18_000 > 6_000 > found["skill"].min()
        assert 0.1 < found["connect"].mean() < 0.95
        assert np.array_equal(found["connect"], found["connect"].T)
    drawn = galactron.drawn(30, 3, 1), galactron.drawn(30, 3, 1)
    assert all(np.array_equal(drawn[0][name], drawn[1][name]) for name in drawn[0])


if THIRD is not None:
    # Beside the repository only: somebody else's definition of the same factors.
    ASK = """
import json, runpy, sys
import numpy as np
third = runpy.run_path(sys.argv[1])
batch = dict(np.load(sys.argv[2]))
matches = json.load(sys.stdin)
print(json.dumps([third["factors"](batch, *match) for match in matches]))
"""

    @pytest.mark.parametrize(
        ("players", "team_size", "seed"), [(24, 1, 1), (60, 2, 2), (90, 3, 3), (120, 5, 4)]
    )
    @pytest.mark.parametrize("is_drawn_there", [False, True])
    def test_third_judge_says_the_same(
        players: int, team_size: int, seed: int, is_drawn_there: bool, tmp_path: Path
    ) -> None:
        instance = tmp_path / "batch.npz"
        if is_drawn_there:
            size = [str(players), str(team_size), str(seed)]
            subprocess.run([sys.executable, THIRD, "generate", *size, instance], check=True)
        else:
            galactron.written(instance, galactron.drawn(players, team_size, seed))
        found = dict(np.load(instance))
        rng = np.random.default_rng(seed)
        drawn = [rng.permutation(players)[: 2 * team_size].tolist() for _ in range(60)]
        # Neighbours are of one party: parities and meetings of friends.
        drawn += [list(range(at, at + 2 * team_size)) for at in range(players - 2 * team_size)]
        matches = [(each[:team_size], each[team_size:]) for each in drawn]
        asked = subprocess.run(
            [sys.executable, "-c", ASK, THIRD, instance],
            input=json.dumps(matches), capture_output=True, text=True, check=True,
        )  # fmt: skip
        for match, expected in zip(matches, json.loads(asked.stdout), strict=True):
            assert galactron.factors(found, *match) == pytest.approx(expected, abs=1e-9)
