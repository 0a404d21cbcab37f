"""Percentiles in a table and among the last values, and what a queue keeps of them."""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.criteria.objective import Objective
from evenmatch.criteria.percentile import (
    QUANTILES_MAX,
    RecentValues,
    percentile,
    percentiles,
    placed_among,
    quantiles_of,
    remember,
    samples_of,
)
from evenmatch.criteria.rules import Rules
from evenmatch.criteria.values import scaled_column, scaled_numbers
from evenmatch.errors import ConfigError
from evenmatch.model.events import Placed
from evenmatch.model.queue import Criterion, Expansion, Queue, Rule, Sample, Scale
from evenmatch.testing import new_ticket, ticket

VALUES = st.integers(0, 20).map(float)
TABLES = st.lists(VALUES, min_size=1, max_size=12).map(sorted).map(tuple)
LADDER = Sample(quantiles=tuple(float(rating) for rating in range(1001)))


@pytest.mark.parametrize(
    ("table", "value", "expected"),
    [
        ((1000.0, 1500.0, 2000.0), 1500.0, 0.5),
        ((1000.0, 1500.0, 2000.0), 1125.0, 0.125),
        ((1000.0, 1500.0, 2000.0), 999.0, 0.0),
        ((1000.0, 1500.0, 2000.0), 2001.0, 1.0),
        # Three of five quantiles are 7: who has 7 stands in their middle.
        ((1.0, 7.0, 7.0, 7.0, 9.0), 7.0, 0.5),
        ((7.0, 7.0, 7.0, 8.0, 9.0), 7.0, 0.25),
        ((7.0,), 6.0, 0.0),
        ((7.0,), 7.0, 0.5),
        ((7.0,), 8.0, 1.0),
    ],
)
def test_percentile_is_the_part_of_the_table_below(
    table: tuple[float, ...], value: float, expected: float
) -> None:
    assert percentile(table, value) == expected


@given(TABLES, st.lists(st.floats(-5.0, 25.0) | VALUES, min_size=1, max_size=8))
def test_table_form_equals_the_reference(table: tuple[float, ...], values: list[float]) -> None:
    found = percentiles(table, np.array(values))
    assert found.tolist() == [percentile(table, value) for value in values]
    assert all(0.0 <= each <= 1.0 for each in found)


@given(TABLES, st.floats(-5.0, 25.0), st.floats(-5.0, 25.0))
def test_percentile_never_falls_as_the_value_grows(
    table: tuple[float, ...], one: float, two: float
) -> None:
    low, high = sorted((one, two))
    assert percentile(table, low) <= percentile(table, high)


def test_large_table_is_kept_as_quantiles() -> None:
    values = np.random.default_rng(3).normal(1500.0, 300.0, 20_000)
    kept = quantiles_of(values.tolist())
    assert len(kept) == QUANTILES_MAX
    for value in (1000.0, 1500.0, 2100.0):
        # One quantile is 0.001 of the players.
        assert percentile(kept, value) == pytest.approx((values < value).mean(), abs=0.002)


def test_place_among_the_last_values_counts_oneself_and_equals_by_half() -> None:
    recent = RecentValues()
    assert recent.place(1500.0) == 0.5
    for value in (10.0, 20.0, 20.0, 30.0):
        recent.add(value, 4)
    assert recent.place(5.0) == 0.1
    assert recent.place(20.0) == 0.5
    recent.add(40.0, 4)
    assert recent.arrived == [20.0, 20.0, 30.0, 40.0]
    assert recent.ordered == [20.0, 20.0, 30.0, 40.0]


@given(st.lists(VALUES, max_size=40), st.integers(1, 6))
def test_last_values_stay_sorted_and_few(values: list[float], last: int) -> None:
    recent = RecentValues()
    for value in values:
        recent.add(value, last)
    assert recent.arrived == values[-last:]
    assert recent.ordered == sorted(recent.arrived)


def ranked(last: int = 3, name: str = "duel") -> Queue:
    sample = Sample(last=last)
    return Queue(name, rules=(Rule("spread", "rating", 0.25, "percentile", sample=sample),))


def test_queue_keeps_the_last_values_that_its_rules_and_criteria_ask_for() -> None:
    both = Queue(
        "duel",
        rules=(*ranked().rules, Rule("spread", "wins", 0.1, "percentile", sample=LADDER)),
        criteria=(
            Criterion("spread", "rating", scale=Scale("percentile", sample=Sample(last=3))),
            Criterion("spread", "level", scale=Scale("percentile", sample=Sample(last=7))),
        ),
    )
    assert samples_of(both) == {"duel/rating": 3, "duel/level": 7}
    with pytest.raises(
        ConfigError, match="rating are taken among the last 3 and the last 4 values"
    ):
        samples_of(Queue("duel", rules=ranked(3).rules + ranked(4).rules))


def test_what_a_queue_asks_for_no_more_is_forgotten() -> None:
    recent: dict[str, RecentValues] = {}
    given_ticket = new_ticket("a", 1500)
    places = placed_among(given_ticket, samples_of(ranked()), recent)
    remember(given_ticket, ("duel",), places, recent)
    remember(given_ticket, ("other",), {}, recent)
    assert places == {"duel/rating": Placed(3, (0.5,))}
    assert recent == {"duel/rating": RecentValues([1500.0], [1500.0])}
    remember(given_ticket, ("duel", "other"), {}, recent)
    assert recent == {}


def test_rule_compares_places_and_its_bounds_are_inclusive() -> None:
    expand = Expansion(steps=((10.0, 0.1),))
    asked = Rules(
        Queue(rules=(Rule("spread", "rating", 0.05, "percentile", expand, sample=LADDER),))
    )
    top = ticket("top", 900, sequence=1)
    for rating, at in ((850, 0.0), (950, 0.0), (849, 10.0), (951, 10.0), (800, 10.0), (1000, 10.0)):
        assert asked.pair_ready_at(top, ticket("b", rating, sequence=2)) == at


def test_ticket_that_was_not_placed_cannot_be_compared() -> None:
    asked = Rules(ranked())
    with pytest.raises(TypeError, match="ticket a: rating has no place among the last values"):
        asked.pair_ready_at(ticket("a", 1), ticket("b", 2, sequence=2))


@pytest.mark.parametrize("sample", [LADDER, Sample(last=5)], ids=["table", "last"])
def test_scale_takes_places_in_both_forms(sample: Sample) -> None:
    criterion = Criterion("spread", "rating", weight=2.0, scale=Scale("percentile", sample=sample))
    asked = Objective(Queue("main", criteria=(criterion,)))
    tickets = [ticket(f"t{n}", 900.0 - 250 * n, sequence=n) for n in (1, 2, 3)]
    if not sample.quantiles:
        tickets = [
            msgspec.structs.replace(each, percentiles={"main/rating": (0.65 - 0.25 * n,)})
            for n, each in enumerate(tickets)
        ]
    assert scaled_column(criterion, "main", tickets).tolist() == pytest.approx([0.65, 0.4, 0.15])
    assert scaled_numbers(criterion, "main", tickets[1]) == pytest.approx([0.4])
    seating = asked.seat(tickets[:2])
    assert seating is not None
    assert seating.criteria_cost == pytest.approx(0.5)
    assert seating.quality == pytest.approx(0.75)
