"""Table 3 of "Automatic Game Matching", its floor and section 5.3: all rows of one quick run."""

from collections.abc import Sequence

import pytest

from papers.reproduction import Reproduction, reproduce
from papers.schlup import table3
from papers.schlup.statements import SAYINGS
from papers.shared.findings import Findings, Row
from papers.statements.judging import statements_of
from papers.statements.saying import Statement
from tests.papers_kit import PARTS, QUICK, ROW_KEYS, assert_near, here

# The rows take half a minute, once: all tests of this module share a process.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("table3")]

# Against the reference: cost / OPT of 200 sequences, by setting c1, c3, c10, r0-2, r0-6, r0-20

REFERENCE = {
    "A_G": (1.521, 2.407, 4.243, 1.562, 2.507, 4.495),
    "A_PM": (1.521, 1.969, 2.236, 1.562, 2.038, 2.360),
    "A_MQ": (1.459, 1.423, 1.471, 1.407, 1.475, 1.530),
    "A_DW, waits from the arrival": (1.405, 1.441, 1.464, 1.357, 1.431, 1.460),
    "A_DW, waits from the pairing": (1.469, 1.515, 1.508, 1.422, 1.490, 1.508),
}
AVERAGES = {  # MoR, RoM
    "A_G": (2.789, 2.230),
    "A_PM": (1.948, 1.788),
    "A_MQ": (1.461, 1.447),
    "A_DW, waits from the arrival": (1.426, 1.409),
    "A_DW, waits from the pairing": (1.485, 1.471),
}
BY_INDEX = {"A_G": 1.83, "A_PM": 1.59, "A_MQ": 1.37, "A_DW, waits from the arrival": 1.31}
OPTIMUM = {"c1": 0.5846, "c3": 0.3049, "c10": 0.1620, "r0-2": 0.5878, "r0-6": 0.2956}
OPTIMUM |= {"r0-20": 0.1528}


@pytest.fixture(scope="module")
def table3_rows() -> list[Row]:
    """Return the quick rows, of half as many sequences."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table3, "seeds", lambda effort, **_: range(effort.seed, effort.seed + 8))
        return list(
            reproduce(
                "schlup", QUICK, ["schlup.table3", "schlup.floor", "schlup.section5.3"], here
            ).findings.rows
        )


def one(rows: Sequence[Row], **params: str) -> Row:
    """Return the row with these parameters; one of a part of the cost only if it is asked for."""
    wanted = {"id": "schlup.table3", **params}
    (found,) = [
        row
        for row in rows
        if all({"id": row.id, **row.params}.get(key) == value for key, value in wanted.items())
        and ("figure" in params or row.params.get("figure") not in PARTS)
    ]
    return found


@pytest.mark.parametrize("setting", OPTIMUM)
def test_optimum_of_each_setting(table3_rows: list[Row], setting: str) -> None:
    assert_near(one(table3_rows, algorithm="OPT", setting=setting), OPTIMUM[setting])


@pytest.mark.parametrize("algorithm", REFERENCE)
def test_table3_by_setting(table3_rows: list[Row], algorithm: str) -> None:
    for setting, expected in zip(OPTIMUM, REFERENCE[algorithm], strict=True):
        assert_near(one(table3_rows, algorithm=algorithm, setting=setting), expected)


@pytest.mark.parametrize("algorithm", AVERAGES)
def test_table3_averages(table3_rows: list[Row], algorithm: str) -> None:
    for average, expected in zip(("MoR", "RoM"), AVERAGES[algorithm], strict=True):
        params = {"algorithm": algorithm, "ramp": "time", "parameters": "per setting"}
        assert_near(one(table3_rows, average=average, **params), expected)


@pytest.mark.parametrize("algorithm", BY_INDEX)
def test_table3_with_the_ramp_by_index(table3_rows: list[Row], algorithm: str) -> None:
    params = {"algorithm": algorithm, "ramp": "index", "parameters": "per setting"}
    assert_near(one(table3_rows, average="RoM", **params), BY_INDEX[algorithm])


def test_default_policy_needs_no_tuning_to_come_near_the_floor(table3_rows: list[Row]) -> None:
    row = one(table3_rows, algorithm="price", ramp="time", average="MoR")
    assert row.simulated is not None
    assert row.half_width is not None
    assert row.simulated - row.half_width <= 1.35


@pytest.mark.parametrize("setting", ["c1", "c3", "c10"])
def test_no_algorithm_of_the_table_is_below_the_floor(table3_rows: list[Row], setting: str) -> None:
    floor = one(table3_rows, id="schlup.floor", setting=setting, figure="times OPT").simulated
    assert floor is not None
    ratios = [
        (row.simulated or 0.0) + 2.0 * (row.half_width or 0.0)
        for row in table3_rows
        if row.params.get("setting") == setting
        and row.params.get("algorithm") not in (None, "OPT")
        and "figure" not in row.params
    ]
    assert len(ratios) == len(table3.ALGORITHMS)
    assert floor <= min(ratios) <= 1.35 * floor


@pytest.mark.parametrize("algorithm", [each.name for each in table3.ALGORITHMS])
def test_table3_splits_each_cost_into_criteria_and_time(
    table3_rows: list[Row], algorithm: str
) -> None:
    for setting in OPTIMUM:
        whole, criteria, time = (
            one(table3_rows, algorithm=algorithm, setting=setting, **part)
            for part in ({}, {"figure": "criteria cost"}, {"figure": "time cost"})
        )
        assert criteria.simulated == pytest.approx(whole.simulated - time.simulated)
        assert time.params["policy"] == criteria.params["policy"] == whole.params["policy"]
        assert min(criteria.simulated, time.simulated) > 0.1


def test_criteria_cost_of_greedy_is_a_third_of_its_weight(table3_rows: list[Row]) -> None:
    # Two players' mean distance on [0, 1] is a third, its weight is 2.
    found = one(table3_rows, algorithm="A_G", setting="c10", figure="criteria cost")
    best = one(table3_rows, algorithm="OPT", setting="c10", figure="cost per match")
    assert found.simulated * best.simulated == pytest.approx(2.0 / 3.0, rel=0.03)


def section53(rows: Sequence[Row], words: str) -> Statement:
    """Return the statement of section 5.3 that has these words."""
    own = [row for row in rows if row.id == "schlup.section5.3"]
    (found,) = [each for each in statements_of(SAYINGS, own) if words in each.statement]
    return found


def test_greedy_gets_better_at_smaller_rates(table3_rows: list[Row]) -> None:
    found = section53(table3_rows, "better and better")
    assert found.verdict == "holds"
    # 4.243 / 2.407 and 2.407 / 1.521 of the reference.
    expected = (1.763, 1.583)
    for row, factor in zip(found.figures, expected, strict=True):
        assert row.simulated == pytest.approx(factor, abs=2.0 * row.half_width)


def test_periodic_matching_does_not_keep_its_proportion(table3_rows: list[Row]) -> None:
    found = section53(table3_rows, "proportion")
    assert found.verdict == "holds if"
    assert found.why.startswith("Of A_MQ and A_DW alone.")
    assert found.params["algorithm"] == "A_PM"
    # 1.521 / 1.459 at rate 1 over 2.236 / 1.471 at rate 10.
    assert found.simulated == pytest.approx(0.686, abs=2.0 * found.half_width)


def test_raising_rates_are_like_constant_ones_by_time_alone(table3_rows: list[Row]) -> None:
    found = section53(table3_rows, "like constant ones")
    assert found.verdict == "holds if"
    assert "in proportion to time. With a ramp" in found.why
    for row in found.figures:
        if row.params["ramp"] == "time":
            assert row.simulated == pytest.approx(1.0, abs=0.1)
    assert found.params["ramp"] == "index"


def test_matches_of_a_raising_rate_cost_less_in_the_end(table3_rows: list[Row]) -> None:
    found = section53(table3_rows, "cheap at the end")
    for row in found.figures:
        assert row.simulated > 1.0 - row.half_width
        if row.params["algorithm"] != "A_G":
            assert row.verdict == "holds"


def test_printed_averages_lie_between_the_readings(table3_rows: list[Row]) -> None:
    own = [row for row in table3_rows if row.id == "schlup.table3"]
    verdicts = {row.verdict for row in own if row.params.get("algorithm") == "A_G"}
    assert verdicts <= {None, "holds", "holds if"}
    assert "differs" not in verdicts


def test_every_row_has_the_promised_keys_and_its_command(table3_rows: list[Row]) -> None:
    done = Reproduction("schlup", QUICK, Findings(tuple(table3_rows)))
    for row in done.as_json()["rows"]:
        assert list(row) == [*ROW_KEYS, "figures"]
        only = f"evenmatch reproduce schlup --only {row['id']} --quick --seed 0"
        assert row["command"] == only


def test_table3_is_a_row_for_each_algorithm_that_names_its_reading(table3_rows: list[Row]) -> None:
    own = [row for row in table3_rows if row.id == "schlup.table3"]
    found = {each.statement: each for each in statements_of(SAYINGS, own)}
    printed = [each for each in found.values() if each.printed is not None]
    assert len(printed) == 4
    for each in printed:
        assert each.verdict in ("holds if", "differs")
        assert "All readings lie between" in each.why
        assert "ramp by" in each.why
        # What is shown is the reading that comes nearest to the print.
        gaps = [abs(r.simulated - r.printed) for r in each.figures if r.printed is not None]
        assert abs(each.simulated - each.printed) == min(gaps)
    undefined = [e for e in found.values() if e.verdict == "undefined in the source"]
    assert ["We take the mean" in each.why for each in undefined] == [True]
