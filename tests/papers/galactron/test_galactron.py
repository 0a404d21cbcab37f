"""The Galactron blog done again: what is computed is right, and what is drawn is ours."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from papers.galactron import descents, meetings, scoring, sizes, streams
from papers.galactron.pools import (
    encounters,
    means_of,
    named_factors,
    ping_to_enemies,
    pool_of,
    quality_of,
    started,
)
from papers.galactron.world_batch import world_batch
from papers.reproduction import parts_of, reproduce
from papers.shared.estimates import Estimate, difference, is_above, mean_of
from papers.shared.findings import Effort, Row
from tests.extent import extent

QUICK = Effort(quick=True, seed=0)


def here(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Do the work in this process."""
    return [function(item) for item in items]


@pytest.fixture(scope="module")
def rules() -> list[Row]:
    ids = [f"galactron.{name}" for name in ("factors", "scale", "cap", "root")]
    return list(reproduce("galactron", QUICK, ids, here).findings.rows)


def row_about(rows: Sequence[Row], what: str) -> Row:
    return next(row for row in rows if row.params["what"] == what)


def test_printed_percentages_of_premades_hold(rules: list[Row]) -> None:
    premades = [row for row in rules if row.params["what"].startswith("premades: ")]
    assert [(row.printed, row.verdict) for row in premades] == [
        (100.0, "holds"),
        (60.0, "holds"),
        (0.0, "holds"),
    ]


def test_mean_over_pairs_is_never_zero_with_three_pros_and_three_beginners(
    rules: list[Row],
) -> None:
    row = row_about(rules, "equal players: the worst there is, three pros and three beginners")
    # Three pairs of pros and three of beginners are of equals: 6 of 15.
    assert (row.corrected, row.verdict) == (100.0 * 6 / 15, "wrong in print")
    assert row.exact == pytest.approx(40.0)


def test_square_root_does_not_prefer_what_the_blog_says_it_prefers(rules: list[Row]) -> None:
    row = row_about(rules, "gain by the sqrt from 50 and 90 % to 55 and 80 %")
    before = ((0.5**0.5 + 0.9**0.5) / 2) ** 2
    after = ((0.55**0.5 + 0.8**0.5) / 2) ** 2
    assert row.exact == pytest.approx(100.0 * (after - before))
    assert row.exact is not None
    assert row.exact < 0.0
    assert row.verdict == "wrong in print"


def test_power_that_prefers_is_where_both_are_worth_the_same() -> None:
    power = scoring.power_that_prefers(scoring.EXAMPLE)
    assert power < 0.0
    assert 0.5**power + 0.9**power == pytest.approx(0.55**power + 0.8**power)
    # A loss that is worth nothing is preferred by everybody: the search ends at its upper end.
    assert scoring.power_that_prefers(((0.5, 0.9), (0.6, 0.9))) == pytest.approx(1.0)


def test_pool_is_the_batch_of_the_world_and_its_pings_are_the_solvers() -> None:
    pool, batch = pool_of(30, 3), world_batch(30, 3, 3)
    seated = started(batch, "random", 1)
    assert quality_of(pool.batch, seated) == quality_of(batch, seated)
    pings = np.clip(ping_to_enemies(pool.batch, seated), 25.0, None)
    factor = means_of(named_factors(pool.batch), seated)["ping"]
    # Both are means over the nine pairs, but one of logarithms, which is never below by Jensen.
    assert np.log(400.0 / pings).mean() / np.log(16.0) * 100.0 <= factor + 1e-6


def test_who_was_met_is_remembered_for_the_next_round() -> None:
    pool = pool_of(30, 3)
    seated = started(pool.batch, "random", 1)
    variation = named_factors(pool.meeting_again(seated).batch)["variation"]
    party = pool.arrays["party"]
    apart = len(encounters(seated, party)) / (15 * len(seated))
    # All who are not of one party are met again in the same relation, which is worth nothing.
    assert quality_of(variation.alone, seated) == pytest.approx(100.0 * (1.0 - apart))


def test_some_of_a_pool_are_judged_as_they_were_among_all() -> None:
    pool = pool_of(60, 2)
    seated = started(pool.batch, "skill", 1)[:2]
    chosen = np.unique(seated)
    among_some = np.searchsorted(chosen, seated).astype(np.int32)
    some = pool.some(chosen)
    assert quality_of(some.batch, among_some) == pytest.approx(quality_of(pool.batch, seated))


def test_last_matches_hold_mates_and_enemies_and_forget_older_ones() -> None:
    last = np.full((12, 12), -1, dtype=np.int8)
    meetings._remember(last, np.array([[0, 1, 2, 3, 4, 5]]))
    assert (last[0, 1], last[0, 3], last[0, 6]) == (1, 0, -1)
    meetings._remember(last, np.array([[0, 6, 7, 8, 9, 10]]))
    assert (last[0, 1], last[1, 0], last[1, 2], last[0, 6]) == (-1, -1, 1, 1)


@pytest.mark.parametrize("count", [1, 2, 4, 5])
def test_expected_best_is_the_mean_over_all_choices(count: int) -> None:
    values = np.array([3.0, 1.0, 4.0, 1.5, 9.0])
    every = [max(choice) for choice in itertools.combinations(values.tolist(), count)]
    assert descents.best_of(values, count) == pytest.approx(np.mean(every))


def test_verdict_of_a_difference_needs_it_to_be_beyond_chance() -> None:
    assert is_above(Estimate(1.0, 0.5)) == "holds"
    assert is_above(Estimate(1.0, 1.5)) == "unresolved"
    assert is_above(Estimate(-1.0, 1.5)) == "unresolved"
    assert is_above(Estimate(-2.0, 1.5)) == "differs"


def test_difference_is_of_the_same_pools_and_leaves_out_those_that_say_nothing() -> None:
    results: list[dict[str, float | None]] = [
        {"a": 2.0, "b": 1.0},
        {"a": 12.0, "b": 11.0},
        {"a": None, "b": 5.0},
    ]
    assert difference(results, "a", "b") == Estimate(1.0, 0.0, 2)
    assert mean_of(results, "a").value == 7.0


def test_quick_streams_meet_the_same_players_under_every_policy() -> None:
    (part,) = parts_of("galactron", QUICK, ("galactron.streams",))
    tomls = {(task.rate, task.number): set() for task in part.tasks}
    for task in part.tasks:
        tomls[task.rate, task.number].add(task.toml().replace(task.policy, ""))
    assert all(len(each) == 1 for each in tomls.values())
    assert {rate for rate, _ in tomls} == {20, 200}


def test_rounds_begin_at_fixed_moments() -> None:
    begun = streams._instants(streams.Stream(20, 0, 0, "rounds:every=120,parts=1", 1500.0))
    assert len(begun) > 5
    rounds = [(at - begun[0]) / 120.0 for at in begun]
    assert rounds == pytest.approx([float(round(each)) for each in rounds], abs=1e-6)


@pytest.mark.long
def test_rounds_begin_at_the_moments_that_were_told() -> None:
    # Matches of a round start one after the other, a millionth of a second apart.
    found = streams.moments(0)
    assert found["off the countdown"] == pytest.approx(0.0, abs=1e-4)


def test_retries_become_fewer_with_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descents, "TIMED", 0.02)
    sizes = (24, 54, 102)[: extent(2, 3)]
    found = [descents.measure_speed(descents.TimedPool(players, 1)) for players in sizes]
    # Counted, not timed: what a retry costs grows faster than the pool.
    costs = [each["evaluations of a descent"] or 0.0 for each in found]
    assert all(more > 2.0 * fewer for fewer, more in itertools.pairwise(costs))
    assert all(each[descents.DESCENTS] for each in found)
    rows = descents._told_of_speed((found * 2)[:4]).rows
    assert {row.params.get("players") for row in rows} == {*descents.SIZES, None}


def test_larger_rounds_with_fewer_pools_are_compared_with_the_same_seeds() -> None:
    part = sizes.sizes(Effort(quick=False, seed=0))
    example = sizes.play_round(sizes.Round(30, 0))

    # Half a point for each doubling, beside what is each seed's own: the difference has no chance.
    found = [
        {**example, "quality": 70.0 + 3.0 * task.seed + 0.5 * np.log2(task.players)}
        for task in part.tasks
    ]
    rows = part.finish(found).rows
    gains = [
        (row.params["players"], row.simulated, row.half_width)
        for row in rows
        if row.params["what"].startswith("better than")
    ]

    pools = {n: [t.seed for t in part.tasks if t.players == n] for n in (600, 1200)}
    assert pools[1200] == pools[600][: len(pools[1200])]
    assert len(pools[1200]) < len(pools[600])
    known = {n: (gain, width) for n, gain, width in gains}
    assert known[1200] == pytest.approx((0.5, 0.0), abs=1e-6)
