"""Rule Designs done again: exact figures as in the reference, and verdicts that follow."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from papers.reproduction import parts_of, reproduce
from papers.shared.estimates import Estimate
from papers.shared.findings import Effort, Row
from papers.xu import k_players, latency, orders, packing, points, sides, true_2v2, unstable, zones
from papers.xu.rows import agreement, tell
from papers.xu.side_proofs import law_of_chain, side_proofs
from papers.xu.sides import side_plots, side_words
from papers.xu.source import scenarios
from papers.xu.trial import (
    BATCHES,
    Trial,
    estimate_mean,
    estimate_var,
    observe,
    shares_of_states,
    sums_of,
)
from papers.xu.two_v_two import chain_of, figure5, least_share
from papers.xu.worlds import parties_toml, players_toml
from papers.xu.zones import zone_plots, zone_words
from tests.extent import IS_LONG, more

PAPERS = Path(__file__).parents[3] / "scenarios" / "papers"
QUICK = Effort(quick=True, seed=0)


def briefly(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Do the work in this process, with few tickets."""
    short = []
    for work, task in items:
        cut = {"count": min(task.count, 3_000)} if hasattr(task, "count") else {}
        cut |= {"duration": 2_000.0} if hasattr(task, "duration") else {}
        short.append((work, msgspec.structs.replace(task, **cut)))
    return [function(item) for item in short]


def rows_of(*ids: str) -> list[Row]:
    wanted = [f"xu.{each}" for each in ids]
    return list(reproduce("xu", QUICK, wanted, briefly).findings.rows)


@pytest.fixture(scope="module")
def two_v_two() -> list[Row]:
    return rows_of("3", "4", "5", "6", "7", "8", "9", "10", "11", "lemma2", "figure3", "text3")


def verdicts(rows: Sequence[Row], name: str) -> set[str | None]:
    return {row.verdict for row in rows if row.id == f"xu.{name}" and row.printed is not None}


# Verdicts


def test_variances_are_wrong_in_print_and_means_hold(two_v_two: list[Row]) -> None:
    for number in ("7", "9", "10", "11"):
        assert verdicts(two_v_two, number) == {"wrong in print"}, number
    for number in ("3", "4", "5", "6", "8", "figure3"):
        assert verdicts(two_v_two, number) == {"holds"}, number


def test_lemma_2_holds_for_players_and_not_for_parties(two_v_two: list[Row]) -> None:
    per_party = [
        row
        for row in two_v_two
        if row.id == "xu.lemma2" and str(row.params["what"]).startswith("mean wait of a party")
    ]
    assert {row.verdict for row in per_party} == {"holds if"}
    first = per_party[0]
    # (6 + 9 + 4) / (4 * 8) at one individual player and one pair per second.
    assert (first.printed, first.corrected) == (0.5, 19 / 32)
    assert first.exact == pytest.approx(19 / 32, rel=1e-12)


@pytest.mark.parametrize(
    ("rates", "order", "exact"),
    [
        ((1.0, 1.0), "fifo", Fraction(5, 8)),
        ((1.0, 1.0), "lifo", Fraction(59, 80)),
        ((1.0, 1.0), "two_queues", Fraction(59, 36)),
        ((0.2, 0.4), "lifo", Fraction(12401, 1404)),
        ((0.5, 0.25), "packing", Fraction(53, 12)),
        ((3.0, 1.0), "lifo", Fraction(30077, 163200)),
    ],
)
def test_exact_variance_is_that_of_an_independent_chain(
    rates: tuple[float, float], order: Any, exact: Fraction
) -> None:
    assert chain_of(*rates, order).players.var == exact


def test_every_number_has_its_verdict() -> None:
    rows = rows_of("figure7", "growth", "1", "2", "figure2", "lemma1")
    assert {row.verdict for row in rows if row.printed is not None} == {"holds"}
    proofs = side_proofs({"a": 0.3, "b": 0.3, "flexible": 0.4}).rows
    assert {row.verdict for row in proofs} == {"holds"}
    assert {row.id for row in proofs} >= {f"xu.{number}" for number in (12, 18, *range(26, 35))}


def test_crowded_junior_zone_is_called_wrong_and_the_system_conditional() -> None:
    said = {(str(row.params["what"]), row.verdict) for row in zone_words().rows}
    crowded = [verdict for what, verdict in said if what.startswith("'crowded junior zone")]
    assert crowded == ["wrong in print"]
    whole = [verdict for what, verdict in said if what.startswith("'benefits the whole system'")]
    assert whole == ["holds if"]


def test_those_who_stay_experts_wait_longer_with_every_one_who_leaves() -> None:
    rows = [row for row in zone_words().rows if "those who stay experts" in row.params["what"]]
    exact = [row.exact for row in rows]
    assert [round(each or 0.0, 3) for each in exact] == [1.0, 1.051, 1.164, 1.294]
    all_of = [row.exact for row in zone_words().rows if row.params["what"] == "mean wait of all"]
    assert [round(each or 0.0, 3) for each in all_of] == [1.0, 0.962, 0.882, 0.794]


def test_fall_of_figure_10_is_there_and_tiny() -> None:
    rows = {str(row.params["what"]): row for row in side_words().rows}
    least = rows["'first help': share of A at which the mean wait is least"]
    assert least.exact == pytest.approx(0.1473, abs=5e-4)
    fell = rows["by how much it fell from no A at all, percent"]
    assert fell.exact == pytest.approx(100 * (1 - 1.831241 / (11 / 6)), abs=1e-3)


def test_two_queues_vary_least_at_the_mended_share() -> None:
    row = next(row for row in figure5([]).rows if row.id == "xu.11")
    assert row.printed == pytest.approx(0.489, abs=5e-4)
    assert row.corrected == pytest.approx(5 - 2 * math.sqrt(5))
    assert row.exact == pytest.approx(0.527864, abs=1e-6)


def test_least_share_is_where_the_curve_is_least() -> None:
    assert least_share(lambda x: -math.sin(math.pi * x)) == pytest.approx(0.5, abs=1e-6)


def test_figures_have_lines_for_everything_that_is_told() -> None:
    for plot in (*figure5([]).plots, *side_plots([]).plots, *zone_plots([]).plots):
        assert all(len(line.xs) == len(line.ys) for line in plot.lines)
        assert all(np.isfinite(line.ys).all() for line in plot.lines)


def test_verdict_needs_the_exact_figure_to_ten_digits() -> None:
    assert tell("3", "x", printed=1.0, exact=1.0 + 1e-11).verdict == "holds"
    assert tell("3", "x", printed=1.0, exact=1.0 + 1e-8).verdict == "differs"
    assert tell("7", "x", printed=1.0, corrected=2.0, exact=2.0).verdict == "wrong in print"


def test_agreement_counts_three_standard_errors() -> None:
    near = tell("3", "x", exact=1.0, found=Estimate(1.14, 0.1))
    far = tell("3", "x", exact=1.0, found=Estimate(1.16, 0.1))
    assert agreement([near, far], QUICK).startswith("Of 2 simulated figures, 1 are within")


# Estimates


def test_states_of_a_k_player_match_are_equally_likely() -> None:
    text = players_toml(4, 1.0, policy="first_come", count=1, seed=3)
    found = observe(Trial(name="", text=text, count=20_000, wants_states=True))
    shares = [found.share(str(count)) for count in range(4)]
    # Four standard errors of each, about 0.004.
    assert [each.value for each in shares] == pytest.approx([0.25] * 4, abs=0.016)
    assert all(0.001 < each.half_width < 0.02 for each in shares)


def test_waits_of_classes_are_near_the_exact_ones() -> None:
    text = parties_toml(2, (1.0, 1.0), policy="first_come", count=1, seed=3)
    found = observe(Trial(name="", text=text, count=40_000))
    exact = {"1": 7 / 8, "2": 5 / 16, "all": 1 / 2}
    for name, mean in exact.items():
        estimate = found.mean(name)
        # Four standard errors are about two half-widths.
        assert abs(estimate.value - mean) < 2.0 * estimate.half_width, name
    assert abs(found.var().value - 5 / 8) < 2.0 * found.var().half_width


def test_sums_leave_out_the_first_and_the_last_batch() -> None:
    waits = np.concatenate([np.full(10, 100.0), np.ones(10 * (BATCHES - 2)), np.full(10, 100.0)])
    sums = sums_of(np.ones(len(waits)), waits)
    assert estimate_mean(sums) == Estimate(1.0, 0.0, BATCHES - 2)
    assert estimate_var(sums).value == 0.0


def test_states_name_who_came_first() -> None:
    begun = np.array([0.0, 1.0, 3.0, 4.0, 6.0])
    ended = np.array([2.0, 5.0, 5.5, 6.0, 6.0])
    classes = np.array([0, 2, 0, 1, 1])
    edges = np.linspace(0.0, 0.5, BATCHES - 1)
    shares = shares_of_states(begun, ended, classes, edges)
    assert "1,0,1 first 0" in shares
    assert "1,0,1 first 2" in shares


def test_chain_of_sides_is_the_closed_form() -> None:
    law = law_of_chain(a=0.3, b=0.4, flexible=0.3)
    assert law[3] / law[2] == pytest.approx(0.3 / 0.7)
    assert law[-3] / law[-2] == pytest.approx(0.4 / 0.6)
    assert sum(law.values()) == pytest.approx(1.0)


def test_packages_are_complete_with_the_second_solo() -> None:
    times, sizes = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([1, 2, 1, 1, 2])
    assert packing.packages(times, sizes).tolist() == [2.0, 3.0, 5.0]


def test_mean_distance_is_that_of_all_walks() -> None:
    # Of 16 walks of four steps six end at 0, eight at a distance of 2, two at 4.
    assert unstable.mean_distance(4) == pytest.approx((8 * 2 + 2 * 4) / 16)


def test_latency_leaves_what_the_matchmaker_sees_as_it_is() -> None:
    text = latency.text_of(10.0, 0)
    task = latency.Task(rate=10.0, jitter=500.0, order="fifo", text=text, count=40_000, seed=0)
    found = latency.run_late(task)
    mean, var, felt, _ = latency.exact_of(task)
    seen, late = estimate_mean(found.seen), estimate_mean(found.felt)
    assert abs(seen.value - mean) < 2.0 * seen.half_width
    assert abs(late.value - felt) < 2.0 * late.half_width
    assert abs(estimate_var(found.seen).value - var) < 2.0 * estimate_var(found.seen).half_width
    assert found.overtaken > 0.3
    assert found.moved > found.overtaken


def test_orders_by_counts_have_the_reference_means() -> None:
    largest = orders.Point("k3-1", "largest").exact()
    smallest = orders.Point("k3-1", "smallest").exact()
    reserve = orders.Point("k3-3", "reserve-9").exact()
    assert largest is not None
    assert smallest is not None
    assert reserve is not None
    assert largest.mean == pytest.approx(2.6168250902, abs=1e-9)
    assert smallest.mean == pytest.approx(2.6320378198, abs=1e-9)
    assert reserve.mean == pytest.approx(7.658435, abs=1e-6)
    assert orders.Point("k3-1", "packing").exact() is None


def test_duel_is_exact_where_all_come_in_pairs() -> None:
    point = true_2v2.Point("zones", 0, 0.0)
    assert point.approximation()["all"] == pytest.approx(31 / 44)
    found = true_2v2.error_of(0.5, Estimate(1.0, 0.1))
    assert found.value == -50.0
    assert found.half_width == pytest.approx(5.0)


# Settings


def test_three_points_of_each_family_are_drawn_from_the_seed() -> None:
    for module in (k_players, points, sides, zones):
        drawn = [each for each in module.points(0) if each.is_drawn and "lifo" not in each.name]
        names = {each.name for each in drawn}
        assert len(names) == 3, module
        assert module.points(0) == module.points(0)
        assert module.points(0) != module.points(1)


def test_drawn_sides_settle_down() -> None:
    for seed in range(50):
        for each in sides.points(seed):
            rates = each.rates
            assert rates["flexible"] > abs(rates["a"] - rates["b"])


def test_files_of_scenarios_are_those_that_the_rows_use() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in PAPERS.glob("xu-*.toml")}
    assert written == scenarios(0)


@more
def test_every_simulated_row_names_its_scenario() -> None:
    longer = ("reserve", "figure6", "sides2v2", "drift") if IS_LONG else ("sides2v2",)
    rows = rows_of(*longer, "figure11")
    known = scenarios(0)
    simulated = [row for row in rows if row.simulated is not None]
    assert len(simulated) > (50 if IS_LONG else 10)
    assert {row.scenario for row in simulated} <= set(known)


def test_ids_are_those_of_the_equations_and_figures() -> None:
    ids = {each for part in parts_of("xu", QUICK) for each in part.ids}
    assert ids >= {f"xu.{number}" for number in range(1, 44)}
    assert ids >= {f"xu.figure{number}" for number in range(2, 14)}
