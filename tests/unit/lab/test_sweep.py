"""Sweeps: what is asked for, what a value changes in a file, and the curves."""

from typing import Any

import pytest

from evenmatch.config.files import read_document, scenario_of
from evenmatch.errors import ConfigError
from evenmatch.lab.study.sweep import (
    ParameterSweep,
    SweepPoint,
    document_at,
    parse_sweep,
    spark,
    with_parameter,
)

TEXT = """
[[queue]]
name = "one"
wait_price = 0.5
policy = "window"
[[queue.rules]]
kind = "spread"
attribute = "rating"
limit = 100.0
[[queue]]
name = "two"
accept = {seconds = 15.0}
"""


def at(key: str, value: float) -> Any:
    return scenario_of(
        document_at(read_document(TEXT), ParameterSweep(key, (value,)), value)
    ).queues


def test_a_wide_range_is_divided_by_ratios_and_any_other_by_steps() -> None:
    assert parse_sweep("wait_price=1e-4..1e-2:3") == ParameterSweep(
        "wait_price", (1e-4, 1e-3, 1e-2)
    )
    assert parse_sweep("target_wait=5..60:4").values == (5.0, 11.4, 26.2, 60.0)
    assert parse_sweep("wait_max=10s..30s:3").values == (10.0, 20.0, 30.0)
    assert parse_sweep("criteria[0].weight=0..5").values == (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
    assert parse_sweep(" policy:factor = 1 .. 2 : 2 ") == ParameterSweep(
        "policy:factor", (1.0, 2.0)
    )


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a=1000..1005:6", (1000.0, 1001.0, 1002.0, 1003.0, 1004.0, 1005.0)),
        ("a=1994..1999:3", (1994.0, 1996.5, 1999.0)),
        ("a=9990..9999:4", (9990.0, 9993.0, 9996.0, 9999.0)),
        ("a=-1999..-1994:6", (-1999.0, -1998.0, -1997.0, -1996.0, -1995.0, -1994.0)),
    ],
)
def test_a_narrow_range_has_all_its_values_and_none_beyond(
    text: str, values: tuple[float, ...]
) -> None:
    assert parse_sweep(text).values == values


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("wait_price", "must be KEY=A..B"),
        ("wait_price=1", "must be KEY=A..B"),
        ("wait_price=a..b", "'a' is no number"),
        ("wait_price=nan..1", "'nan' is no number"),
        ("wait_price=2..1", "from a smaller value to a larger one"),
        ("wait_price=1..2:1", "2 to 100 values, got 1"),
        ("wait_price=1..2:101", "2 to 100 values, got 101"),
    ],
)
def test_what_is_no_sweep_is_refused(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        parse_sweep(text)


def test_a_value_is_set_in_every_queue_that_can_have_it() -> None:
    assert [queue.wait_price for queue in at("wait_price", 0.25)] == [0.25, 0.25]
    assert [queue.rules[0].limit for queue in at("rules[0].limit", 70.0) if queue.rules] == [70.0]
    one, two = at("accept.seconds", 9.0)
    assert (one.accept, two.accept.seconds) == (None, 9.0)
    assert read_document(TEXT)["queue"][0]["wait_price"] == 0.5  # type: ignore[index]


@pytest.mark.parametrize("key", ["rules[1].limit", "rules.limit", "name.deep", "rules[0]limit"])
def test_a_key_that_no_queue_has_is_refused(key: str) -> None:
    with pytest.raises(ConfigError, match="no queue of the scenario has such a key"):
        at(key, 1.0)


def test_a_key_that_takes_no_such_value_is_refused_as_in_a_file() -> None:
    with pytest.raises(ConfigError, match="wait_pric is not a known key"):
        at("wait_pric", 1.0)
    with pytest.raises(ConfigError, match=r"queue\[0\].name must be 1 to 64"):
        at("name", 1.0)
    with pytest.raises(ConfigError, match="wait_max"):
        at("wait_max", -1.0)


def test_a_parameter_of_the_policy_is_replaced_or_added() -> None:
    assert with_parameter("greedy", "theta", 0.5) == "greedy:theta=0.5"
    assert with_parameter("periodic:rounds_of=2,sort=cost", "rounds_of", 4.0) == (
        "periodic:sort=cost,rounds_of=4"
    )
    queues = scenario_of(
        document_at(
            read_document("[[queue]]\npolicy='window:limit=3'"),
            ParameterSweep("policy:limit", ()),
            7.5,
        )
    ).queues
    assert queues[0].policy == "window:limit=7.5"
    with pytest.raises(ConfigError, match="name the policy in the queue or by --policy"):
        document_at(read_document("[[queue]]"), ParameterSweep("policy:limit", ()), 1.0)


def test_a_curve_in_text_goes_from_the_least_to_the_greatest() -> None:
    assert spark([3.0, 1.0, 2.0]) == "█▁▅"
    assert spark([2.0, 2.0]) == "▁▁"
    assert spark([None, None]) == ""


def test_a_drawing_has_what_differs_and_a_line_for_each_policy() -> None:
    pytest.importorskip("matplotlib")
    from evenmatch.lab.report.sweep_report import curves_of, plot_sweep

    def point(policy: str, value: float, wait: float) -> SweepPoint:
        gaps = {
            "rating: team gap": {"mean": 100.0 / wait, "p95": 1.0},
            "players off their role": {"mean": 0.0, "p95": 0.0},
        }
        quality = {"mean": 0.5, "p10": None} if value == 1.0 else {"mean": 0.7, "p10": None}
        return SweepPoint(policy, value, {"wait": {"mean": wait}, "quality": quality, "gaps": gaps})

    points = [point(policy, value, 3.0 + value) for policy in ("a", "b") for value in (1.0, 2.0)]
    assert [words for _, words, _ in curves_of(points)] == [
        "quality (more is better)",
        "rating: team gap (less is better)",
    ]
    svg = plot_sweep("wait_price", points)
    assert svg.startswith("<svg")
    # Two curves of two policies, each with a path of its own colour.
    assert svg.count("#0072b2") >= 2
    assert svg.count("#d55e00") >= 2
    empty = [SweepPoint("a", 1.0, {"wait": {"mean": None}, "quality": {"mean": None}, "gaps": {}})]
    assert plot_sweep("wait_price", empty).startswith("<svg")


def test_a_name_with_dollars_is_drawn_as_it_is() -> None:
    pytest.importorskip("matplotlib")
    from evenmatch.lab.report.sweep_report import plot_sweep

    def point(value: float) -> SweepPoint:
        gaps = {"$a_$: gap": {"mean": value, "p95": value}}
        return SweepPoint("a", value, {"wait": {"mean": value}, "gaps": gaps})

    assert "<!-- $a_$: gap" in plot_sweep("wait_price", [point(1.0), point(2.0)])
