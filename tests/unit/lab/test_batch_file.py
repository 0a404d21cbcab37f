"""Batches of files are judged as the independent checker judges them."""

from pathlib import Path

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.lab.solve.arrays import read_arrays
from evenmatch.lab.solve.json_batch import read_batch
from evenmatch.solvers.teams.reference import cost_of
from tests import galactron
from tests.unit.lab.batches import arrays

Matches = list[list[list[int]]]


def packed(first: list[int], n: int, rng: np.random.Generator) -> Matches:
    """Return teams of whole parties, the largest first: matches that are legal, and no better."""
    open_teams: list[list[int]] = []
    full = []
    sizes = np.diff(first)
    for party in np.lexsort((rng.random(len(sizes)), -sizes)).tolist():
        members = list(range(first[party], first[party + 1]))
        team = next((t for t in open_teams if len(t) + len(members) <= n), None)
        if team is None:
            open_teams.append(team := [])
        team += members
        if len(team) == n:
            open_teams.remove(team)
            full.append(team)
    return [[full[2 * i], full[2 * i + 1]] for i in range(len(full) // 2)]


@pytest.mark.parametrize(("players", "team_size"), [(48, 2), (90, 3), (150, 5)])
def test_quality_of_a_batch_is_that_of_the_checker(
    tmp_path: Path, players: int, team_size: int
) -> None:
    drawn = galactron.drawn(players, team_size, seed=4)
    batch = read_arrays(galactron.written(tmp_path / "instance.npz", drawn))
    matches = packed(batch.first.tolist(), team_size, np.random.default_rng(1))
    quality = 100 * float(np.mean([1 - cost_of(batch, teams) for teams in matches]))

    found = 100 * float(np.mean([galactron.quality(drawn, *teams) for teams in matches]))
    assert quality == pytest.approx(found, abs=1e-6)
    if len(matches) == players // (2 * team_size):
        assert galactron.check(drawn, matches) == pytest.approx(found)


def changed(**arrays_of: object) -> dict[str, object]:
    return {**arrays(12, 2, seed=1), **arrays_of}


def written(path: Path, data: dict[str, object]) -> Path:
    np.savez(path, **data)  # type: ignore[arg-type]
    return path


PINGS = arrays(12, 2, seed=1)["ping"]


def with_ping(i: int, j: int, value: float) -> np.ndarray:
    table = PINGS.copy()
    table[i, j] = value
    return table


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (
            changed(ping=with_ping(1, 2, np.nan)),
            r"`ping`\[1, 2\] must be milliseconds >= 0, got nan",
        ),
        (changed(ping=with_ping(3, 0, -1.0)), r"`ping`\[3, 0\] must be milliseconds >= 0"),
        (changed(ping=with_ping(3, 0, 900.0)), "`ping` must be symmetric"),
        (changed(ping=PINGS[:5]), "`ping` must be 12 x 12"),
        (changed(party=np.array([0, 1] * 6)), "must stand next to each other"),
        (changed(party=np.zeros(12, dtype=int)), "a party of 12 does not fit into a team of 2"),
        (changed(party=np.array(["a"] * 12)), "`party` must hold numbers"),
        (changed(party=np.zeros((3, 4))), "`party` must list at most"),
        (changed(skill=np.full(12, np.inf)), "`skill` must hold finite numbers"),
        (changed(skill=np.full(12, 1e300)), "`skill` must hold numbers up to"),
        (changed(skill=np.zeros(3)), "`skill` must have one number for each of 12 players"),
        (changed(team_size=np.array([2, 2])), "`team_size` must be a whole number"),
        (changed(team_size=np.array(2.5)), "`team_size` must be a whole number"),
        (changed(connect=np.array([object()])), "no archive of arrays"),
        ({"party": np.zeros(2)}, "the array `team_size` is missing"),
    ],
)
def test_arrays_that_cannot_be_solved_are_one_sentence(
    tmp_path: Path, data: dict[str, object], sentence: str
) -> None:
    path = written(tmp_path / "batch.npz", data)
    with pytest.raises(ConfigError, match=sentence) as raised:
        read_batch(path)
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("cut", [0, 1, 100, -200])
def test_file_cut_short_is_no_archive(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path / "batch.npz", changed())
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ConfigError, match="no archive of arrays"):
        read_batch(path)


def test_single_array_under_the_name_of_an_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "batch.npz"
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(ConfigError, match="no archive of arrays"):
        read_batch(path)


def test_archive_that_unpacks_to_more_than_memory_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenmatch.lab.solve.arrays.BYTES_MAX", 1_000)
    path = written(tmp_path / "batch.npz", changed())
    with pytest.raises(ConfigError, match="arrays may take 1,000 bytes"):
        read_batch(path)


def test_ping_to_oneself_may_be_anything(tmp_path: Path) -> None:
    table = PINGS.copy()
    np.fill_diagonal(table, np.nan)
    batch = read_batch(written(tmp_path / "batch.npz", changed(ping=table))).batch
    assert np.isfinite(batch.facts.ping).all()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("a.npz", "does not exist"), ("a.csv", "a batch is a file .npz or .json")],
)
def test_path_that_is_no_batch_is_named(tmp_path: Path, name: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        read_batch(tmp_path / name)


def test_folder_is_no_batch(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    with pytest.raises(ConfigError, match="is no file"):
        read_batch(tmp_path / "a.json")


def test_nobody_is_a_batch_too(tmp_path: Path) -> None:
    empty = {name: np.asarray(a)[:0] for name, a in changed().items() if name != "team_size"}
    square = np.zeros((0, 0))
    data = {**empty, "team_size": np.int32(3), "ping": square, "connect": square}
    assert read_batch(written(tmp_path / "batch.npz", data)).batch.players == 0
