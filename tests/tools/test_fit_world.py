"""The fit of the world: it finds what made the data, and what ships is what it makes."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from evenmatch.simulation.world.model import WorldModel, harmonics, players_in_day, shipped_model
from tests import made_world
from tests.shared import beside
from tools.fit_world.__main__ import main
from tools.fit_world.fit import Measured, fit, fit_day, fit_delay, read, share_errors
from tools.fit_world.report import lines, quantile_error

SHIPPED = Path(__file__).parents[2] / "src" / "evenmatch" / "data" / "world.json"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return made_world.write(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def measured(files: list[str]) -> Measured:
    return read(*files)


@pytest.fixture(scope="module")
def found(measured: Measured) -> WorldModel:
    return fit(measured)


def test_world_that_made_the_files_is_found_again(measured: Measured, found: WorldModel) -> None:
    known = shipped_model()
    assert measured.left_out == made_world.MISPLACED
    # Chance moves the share of an hour: 1,300 matches, and less where few play.
    errors = share_errors(found, msgspec.structs.replace(measured, hours=known.players_by_hour()))
    assert np.abs(errors).mean() < 0.005
    assert np.abs(errors).max() < 0.02
    assert quantile_error(found, measured) < 0.05
    assert found.delay.per_km == pytest.approx(known.delay.per_km, rel=0.05)
    assert found.delay.scatter == pytest.approx(known.delay.scatter, rel=0.1)
    assert found.delay.far == pytest.approx(known.delay.far, rel=0.1)
    for one, other in zip(found.regions, known.regions, strict=True):
        assert (one.name, one.sources, one.server) == (other.name, other.sources, other.server)
        # Fourteen towns, some with many more people than others, and the city of the servers.
        apart = np.abs(np.subtract(one.centre, other.centre)) / other.spread
        assert apart.max() < 1.0
        assert np.divide(one.spread, other.spread) == pytest.approx(np.ones(2), abs=0.4)


@pytest.mark.long
def test_fit_is_written_and_told_and_drawn_in_five_plots_that_need_no_network(
    files: list[str], found: WorldModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "world.json"
    report = tmp_path / "world.html"
    assert main([*files, "--out", str(out), "--report", str(report)]) == 0
    written = msgspec.json.decode(out.read_bytes(), type=WorldModel)
    assert written == found
    told = capsys.readouterr().out
    assert "europe_west" in told
    assert "Springfield, Alexandria" in told
    page = report.read_text()
    assert page.count("<svg") == 5
    assert "http://" not in page
    assert "https://" not in page


def test_file_that_is_missing_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nothing.csv", "cities.csv", "pings.csv"]) == 2
    assert capsys.readouterr().err.startswith("fit_world: cities.csv: cannot be read")


def test_day_of_known_harmonics_is_found_again() -> None:
    # 4 standard errors of a weight are about 4 sqrt(2 / matches) = 0.006.
    known = (8.0, 0.5, -0.3, 0.1, 0.2)
    counts = np.random.default_rng(1).poisson(players_in_day(known)).astype(float)
    found = fit_day(counts)
    assert len(found) >= len(known)
    assert found[: len(known)] == pytest.approx(np.asarray(known), abs=0.03)


def test_day_without_a_wave_needs_no_harmonics() -> None:
    assert fit_day(np.full(24, 7.0)) == pytest.approx([np.log(7.0)])


def test_region_with_one_match_gets_a_day_that_is_finite() -> None:
    counts = np.zeros(24)
    counts[20] = 1.0
    players = np.exp(harmonics(len(fit_day(counts)) // 2) @ fit_day(counts))
    assert np.isfinite(players).all()
    assert players.sum() == pytest.approx(1.0)


def test_delay_that_made_the_data_is_found_again() -> None:
    rng = np.random.default_rng(1)
    km = rng.uniform(10.0, 18_000.0, 40_000)
    floor = 4.0 + 0.013 * km
    rtt = floor + 0.9 * np.minimum(floor, 80.0) * rng.exponential(size=len(km))
    found = fit_delay(km, rtt)
    # The straightest path is a 5 % quantile, which lies 5 % of a mean detour above the lowest.
    assert found.per_km == pytest.approx(0.013, rel=0.05)
    assert found.base == pytest.approx(4.0, rel=0.15)
    assert found.scatter == pytest.approx(0.9, rel=0.1)
    assert found.far == pytest.approx(80.0, rel=0.1)


def test_shipped_world_has_a_share_for_every_region_and_hour() -> None:
    model = shipped_model()
    players = model.players_by_hour()
    assert players.shape == (24, 11)
    assert (players > 0.0).all()
    # Harmonics of a logarithm keep the mean of the day that they were fitted to: 1 for all regions.
    assert players.sum(axis=1).mean() == pytest.approx(1.0, abs=1e-4)
    assert len(set(model.names)) == 11


MEASURED = [beside(f"data/{n}.csv.gz") for n in ("dota2_region_hour", "cities", "city_ping")]
if all(MEASURED):
    # Measured files, which can't ship, beside the repository only: those the world was fitted to.
    def test_what_ships_is_what_the_fit_makes(tmp_path: Path) -> None:
        out = tmp_path / "world.json"
        assert main([*map(str, MEASURED), "--out", str(out)]) == 0
        assert out.read_text() == SHIPPED.read_text()

    @pytest.mark.long
    def test_fit_is_as_good_as_its_notice_lets_expect() -> None:
        measured = read(*map(str, MEASURED))
        errors = share_errors(fit(measured), measured)
        assert np.abs(errors).mean() < 0.005
        assert np.abs(errors).max() < 0.034
        assert quantile_error(fit(measured), measured) < 0.12
        assert len(measured.left_out) == 8
        assert any("Portland" in line for line in lines(fit(measured), measured))
