"""Policies on streams, at the same mean wait."""

import math
from pathlib import Path

import msgspec
import pytest

from evenmatch.config.files import load_scenario
from evenmatch.errors import ConfigError
from evenmatch.model.scenario import Scenario
from papers.studies.streams import (
    Comparison,
    Window,
    compare,
    lines,
    main,
    seeds_of,
    stream_figures,
)

BUSY = Path(__file__).parents[3] / "scenarios" / "world_3v3_busy.toml"
SHORT = Window(warmup=60.0, cooldown=90.0)


def stream(duration: float = 400.0) -> Scenario:
    scenario = load_scenario(BUSY)
    assert scenario.arrivals is not None
    arrivals = msgspec.structs.replace(scenario.arrivals, duration=duration)
    return msgspec.structs.replace(scenario, arrivals=arrivals)


@pytest.mark.long
def test_policy_is_about_as_good_as_itself() -> None:
    found = compare(stream(), "rounds:every=30,effort=30", "rounds:effort=30", 7, SHORT)
    # One stream of 800 players: the standard error of a mean quality is about .3 points.
    assert abs(found.mean) < 1.5
    assert math.isclose(found.p95, 1.0, abs_tol=0.2)


def test_policy_that_searches_less_loses_by_it() -> None:
    found = compare(stream(), "rounds:every=30,effort=1", "rounds:effort=100", 7, SHORT)
    assert found.mean < -1.5


def test_waits_of_those_without_a_match_count() -> None:
    found = stream_figures(stream(), "rounds:every=350,effort=1", 7, Window(60.0, 45.0))
    assert found.censored > 0
    assert found.longest > 200.0


def test_stream_that_is_all_warmup_is_refused() -> None:
    with pytest.raises(ConfigError, match="give --duration"):
        stream_figures(stream(100.0), "rounds", 1, SHORT)


@pytest.mark.parametrize("text", ["", "a", "3:", "5:5", "1:5000", "-1:3"])
def test_seeds_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="seeds"):
        seeds_of(text)


def test_seeds_end_before_their_end() -> None:
    assert list(seeds_of("201:204")) == [201, 202, 203]
    assert list(seeds_of("9")) == [9]


def test_lines_say_means_and_their_intervals() -> None:
    two = [Comparison(1.0, 2.0, 1.2, 50.0), Comparison(3.0, 2.0, 1.2, 50.0)]
    # Student's t of one degree of freedom is 12.71, the standard error of 1 and 3 is 1.
    assert lines(two)[0].split()[-3:] == ["2.00", "+-", "12.71"]


def test_command_refuses_what_it_cannot_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(BUSY), "--seeds", "x"]) == 2
    assert "seeds are FIRST:END" in capsys.readouterr().err
