"""Drawn arrivals: their times, classes, attributes and patience.

Statistical checks use fixed seeds and allow four standard errors.
"""

import math
from itertools import pairwise, takewhile
from pathlib import Path

import msgspec
import numpy as np
import pytest

from evenmatch.errors import ArrivalsError
from evenmatch.model.scenario import (
    ArrivalClass,
    Arrivals,
    Choice,
    Distribution,
    Empirical,
    Exponential,
    Normal,
    Uniform,
)
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.simulation.arrivals.arrivals import arrivals_of, recorded_arrivals
from evenmatch.simulation.arrivals.stream import Arrival

UNIFORM = Uniform()


def made(arrivals: Arrivals, seed: int = 1) -> list[Arrival]:
    return list(arrivals_of(arrivals, np.random.SeedSequence(seed)))


def times(arrivals: Arrivals, seed: int = 1) -> list[float]:
    return [each.at for each in made(arrivals, seed)]


def drawn(distribution: Distribution, count: int = 10_000) -> list[float]:
    """Return the values that players get from one distribution."""
    world = Arrivals(process="regular", interval=1.0, count=count, attributes={"c0": distribution})
    return [each.ticket.players[0].attributes["c0"] for each in made(world)]  # type: ignore[misc]


def assert_mean(values: list[float], mean: float, deviation: float) -> None:
    """Assert that the mean is within four standard errors."""
    error = deviation / math.sqrt(len(values))
    assert abs(sum(values) / len(values) - mean) < 4 * error


def gaps(at: list[float]) -> list[float]:
    return [b - a for a, b in pairwise([0.0, *at])]


class TestPoisson:
    def test_gaps_are_exponential_with_the_mean_1_over_rate(self) -> None:
        between = gaps(times(Arrivals(rate=4.0, count=20_000)))
        assert_mean(between, 0.25, 0.25)
        # The variance of a squared Exp(1) around its mean 2 is 24 - 4 = 20.
        assert_mean([(4.0 * gap) ** 2 for gap in between], 2.0, math.sqrt(20.0))

    def test_number_within_a_duration_is_poisson(self) -> None:
        counts = [float(len(times(Arrivals(rate=2.0, duration=50.0), s))) for s in range(200)]
        assert_mean(counts, 100.0, 10.0)

    def test_count_and_duration_end_it_whichever_comes_first(self) -> None:
        assert len(times(Arrivals(rate=10.0, count=5, duration=1e6))) == 5
        assert times(Arrivals(rate=10.0, count=10**6, duration=3.0))[-1] <= 3.0

    def test_another_rate_stretches_the_same_pattern(self) -> None:
        slow, fast = times(Arrivals(rate=1.0, count=99)), times(Arrivals(rate=8.0, count=99))
        assert slow == pytest.approx([8.0 * at for at in fast])

    def test_more_arrivals_begin_with_the_same_ones(self) -> None:
        few, many = Arrivals(rate=1.0, count=10), Arrivals(rate=1.0, count=10_000)
        assert made(many)[:10] == made(few)

    def test_times_ascend_across_chunks(self) -> None:
        assert min(gaps(times(Arrivals(rate=1.0, count=20_000)))) > 0.0


class TestRegular:
    def test_first_comes_after_one_interval(self) -> None:
        assert times(Arrivals(process="regular", interval=0.5, count=3)) == [0.5, 1.0, 1.5]

    def test_instants_do_not_drift(self) -> None:
        at = times(Arrivals(process="regular", interval=0.1, count=10_000))
        assert at[-1] == 0.1 * 10_000

    def test_one_exactly_at_the_end_still_comes(self) -> None:
        assert len(times(Arrivals(process="regular", interval=1.0, duration=10.0))) == 10


class TestRamp:
    def test_up_to_twice_the_mean_follows_the_square_root(self) -> None:
        count, a = 1000, 3.0
        unit = times(Arrivals(rate=1.0, count=count))
        at = times(Arrivals(process="ramp", rate=0.0, to=2 * a, count=count))
        end = count / a
        before = [math.sqrt(point * end / a) for point in unit if point <= count]
        assert at[: len(before)] == pytest.approx(before)

    @pytest.mark.parametrize(("rate", "to"), [(0.0, 20.0), (5.0, 15.0), (16.0, 4.0), (10.0, 10.0)])
    def test_first_half_has_its_share(self, rate: float, to: float) -> None:
        at = times(Arrivals(process="ramp", rate=rate, to=to, duration=1000.0))
        expected = (rate + (to - rate) / 4) * 500.0
        assert abs(sum(t < 500.0 for t in at) - expected) < 4 * math.sqrt(expected)
        total = (rate + to) / 2 * 1000.0
        assert abs(len(at) - total) < 4 * math.sqrt(total)

    def test_may_fall_to_nothing(self) -> None:
        at = times(Arrivals(process="ramp", rate=10.0, to=0.0, duration=100.0))
        assert abs(len(at) - 500) < 4 * math.sqrt(500)
        assert at[-1] <= 100.0

    def test_keeps_its_last_rate_until_the_count_is_reached(self) -> None:
        found = {
            len(times(Arrivals(process="ramp", rate=9.0, to=1.0, count=50), s)) for s in range(9)
        }
        assert found == {50}

    def test_by_index_is_linear_in_the_number_of_the_arrival(self) -> None:
        count = 20_000
        ramp = Arrivals(process="ramp", rate=1.0, to=3.0, by="index", count=count)
        scaled = [g * (1 + 2 * (i + 0.5) / count) for i, g in enumerate(gaps(times(ramp)))]
        assert len(scaled) == count
        assert_mean(scaled[: count // 2], 1.0, 1.0)
        assert_mean(scaled[count // 2 :], 1.0, 1.0)


class TestHourly:
    def test_hours_alone_are_rates(self) -> None:
        hours = (0.0,) * 12 + (0.5,) * 11 + (0.0,)
        at = times(Arrivals(process="hourly", hours=hours, duration=86_400.0))
        assert all(12 * 3600.0 <= t <= 23 * 3600.0 for t in at)
        assert abs(len(at) - 19_800) < 4 * math.sqrt(19_800)

    def test_hours_beside_a_rate_are_weights_around_it(self) -> None:
        hours = (1.0,) * 12 + (3.0,) * 12
        at = times(Arrivals(process="hourly", rate=0.1, hours=hours, duration=2 * 86_400.0))
        assert abs(len(at) - 17_280) < 4 * math.sqrt(17_280)
        second_halves = sum(t % 86_400.0 >= 43_200.0 for t in at)
        error = math.sqrt(len(at) * 0.75 * 0.25)
        assert abs(second_halves - 0.75 * len(at)) < 4 * error


class TestClasses:
    def test_shares_are_kept(self) -> None:
        classes = (ArrivalClass(share=0.2), ArrivalClass(share=0.8, size=2))
        sizes = [
            len(each.ticket.players)
            for each in made(Arrivals(rate=1.0, count=9000, classes=classes))
        ]
        assert_mean([float(size == 1) for size in sizes], 0.2, math.sqrt(0.2 * 0.8))

    def test_rates_add_up_and_each_class_is_poisson(self) -> None:
        classes = (
            ArrivalClass(rate=0.5, attributes={"side": "A"}),
            ArrivalClass(rate=1.5, attributes={"side": "B"}),
        )
        all_of_them = made(Arrivals(count=20_000, classes=classes))
        at_a = [each.at for each in all_of_them if each.ticket.attributes["side"] == "A"]
        assert_mean(gaps([each.at for each in all_of_them]), 0.5, 0.5)
        assert_mean(gaps(at_a), 2.0, 2.0)

    def test_say_size_queues_and_facts(self) -> None:
        only = ArrivalClass(share=1.0, size=2, queues=("a", "b"), attributes={"mode": "ranked"})
        ticket = made(Arrivals(rate=1.0, count=1, classes=(only,)))[0].ticket
        assert ticket == NewTicket(
            players=(Player("0.0"), Player("0.1")),
            queues=("a", "b"),
            attributes={"mode": "ranked"},
            id="0",
        )

    def test_facts_of_a_class_replace_drawn_attributes(self) -> None:
        only = ArrivalClass(share=1.0, attributes={"c0": 7.0})
        world = Arrivals(
            rate=1.0, count=1, classes=(only,), attributes={"c0": UNIFORM, "c1": UNIFORM}
        )
        ticket = made(world)[0].ticket
        assert ticket.attributes == {"c0": 7.0}
        assert list(ticket.players[0].attributes) == ["c1"]


class TestTickets:
    def test_single_players_bear_the_number_of_their_ticket(self) -> None:
        tickets = [each.ticket for each in made(Arrivals(rate=1.0, count=3))]
        assert [ticket.id for ticket in tickets] == ["0", "1", "2"]
        assert [ticket.players[0].id for ticket in tickets] == ["0", "1", "2"]

    def test_hold_plain_python_values(self) -> None:
        world = Arrivals(
            rate=1.0,
            count=5,
            attributes={"c0": UNIFORM, "m": Choice(values=("a", 1.0))},
            patience=Exponential(mean=5.0),
        )
        for each in made(world):
            assert type(each.at) is float
            assert type(each.leaves_at) is float
            assert type(each.ticket.players[0].attributes["c0"]) is float
            assert type(each.ticket.players[0].attributes["m"]) in (str, float)

    def test_each_player_of_a_party_has_an_own_draw(self) -> None:
        party = ArrivalClass(share=1.0, size=2)
        world = Arrivals(rate=1.0, count=1, classes=(party,), attributes={"rating": UNIFORM})
        one, two = made(world)[0].ticket.players
        assert one.attributes["rating"] != two.attributes["rating"]

    def test_party_has_one_side_and_none_if_flexible(self) -> None:
        sides = Choice(values=("A", ""))
        party = ArrivalClass(share=1.0, size=2)
        world = Arrivals(rate=1.0, count=99, classes=(party,), attributes={"side": sides})
        found = [each.ticket.attributes for each in made(world)]
        assert {"side": "A"} in found
        assert {} in found
        assert all(not p.attributes for each in made(world) for p in each.ticket.players)


class TestDistributions:
    def test_uniform_lies_between_0_and_1_unless_told(self) -> None:
        values = drawn(UNIFORM)
        assert 0.0 <= min(values) < max(values) <= 1.0
        assert_mean(values, 0.5, math.sqrt(1 / 12))
        assert_mean(drawn(Uniform(min=10, max=30)), 20.0, 20 / math.sqrt(12))

    def test_normal_has_its_mean_and_deviation(self) -> None:
        values = drawn(Normal(mean=1500.0, deviation=350.0))
        assert_mean(values, 1500.0, 350.0)
        # The variance of the square of a standard normal is 2.
        assert_mean([((v - 1500.0) / 350.0) ** 2 for v in values], 1.0, math.sqrt(2.0))

    def test_bounded_normal_is_redrawn_not_clipped(self) -> None:
        values = drawn(Normal(mean=0.0, deviation=1.0, min=0.0, max=3.0))
        assert 0.0 < min(values) <= max(values) < 3.0
        assert_mean(values, 0.79116, 0.589)

    def test_exponential_has_its_mean(self) -> None:
        assert_mean(drawn(Exponential(mean=30.0)), 30.0, 30.0)

    def test_choice_follows_its_probabilities_or_is_even(self) -> None:
        odd = drawn(Choice(values=(0.0, 1.0), probs=(0.9, 0.1)))
        assert_mean(odd, 0.1, 0.3)
        assert_mean(drawn(Choice(values=(0.0, 1.0))), 0.5, 0.5)

    def test_empirical_draws_cells_of_a_shipped_column(self) -> None:
        trace = "evenmatch:halo2_1v1_queue_trace.csv.gz"
        values = drawn(Empirical(file=trace, column="session_start"))
        assert set(values) == {0.0, 1.0}
        assert_mean(values, 3538 / 9690, 0.5)

    def test_empirical_without_such_a_column_says_what_there_is(self) -> None:
        trace = "evenmatch:halo2_1v1_queue_trace.csv.gz"
        with pytest.raises(ArrivalsError, match=r"no column ts_mean; did you mean .*columns are"):
            drawn(Empirical(file=trace, column="ts_mean"))

    @pytest.mark.parametrize(
        ("text", "fragment"),
        [
            ("x\n1\nnan\n", "line 3, column x: must be a finite number"),
            ("y,x\n1,\n", "has no value in column x"),
        ],
    )
    def test_empirical_refuses_bad_columns(self, tmp_path: Path, text: str, fragment: str) -> None:
        (tmp_path / "a.csv").write_text(text)
        source = Empirical(file="a.csv", column="x")
        world = Arrivals(rate=1.0, count=1, attributes={"x": source})
        with pytest.raises(ArrivalsError, match=fragment):
            next(arrivals_of(world, np.random.SeedSequence(1), tmp_path))


class TestPatience:
    def test_without_it_nobody_leaves(self) -> None:
        assert {each.leaves_at for each in made(Arrivals(rate=1.0, count=5))} == {None}

    def test_counts_from_the_arrival(self) -> None:
        fixed = Choice(values=(30.0,))
        assert all(
            each.leaves_at == each.at + 30.0
            for each in made(Arrivals(rate=1.0, count=5, patience=fixed))
        )

    def test_is_drawn_for_each_ticket(self) -> None:
        random = Exponential(mean=8.0)
        left = [
            each.leaves_at - each.at
            for each in made(Arrivals(rate=1.0, count=9000, patience=random))
            if each.leaves_at is not None
        ]
        assert_mean(left, 8.0, 8.0)

    def test_that_is_no_number_of_seconds_is_refused(self) -> None:
        trace = Empirical(file="", column="x")
        with pytest.raises(ArrivalsError):
            made(Arrivals(rate=1.0, count=5, patience=trace))
        words = Choice(values=("long",))
        with pytest.raises(ArrivalsError, match="patience must be a number of seconds"):
            made(Arrivals(rate=1.0, count=5, patience=words))


WORLD = Arrivals(
    rate=2.0,
    count=300,
    classes=(ArrivalClass(share=0.5), ArrivalClass(share=0.5, size=2)),
    attributes={"c0": UNIFORM, "c1": UNIFORM},
    patience=Exponential(mean=9.0),
)


class TestStreams:
    def test_same_seed_gives_the_same_arrivals(self) -> None:
        assert made(WORLD, 5) == made(WORLD, 5)

    def test_other_seed_gives_others(self) -> None:
        assert times(WORLD, 5) != times(WORLD, 6)

    def test_seed_sequence_is_left_as_it_was(self) -> None:
        seeds = np.random.SeedSequence(3)
        assert list(arrivals_of(WORLD, seeds)) == list(arrivals_of(WORLD, seeds))
        assert seeds.n_children_spawned == 0

    def test_children_of_a_seed_are_different(self) -> None:
        one, two = np.random.SeedSequence(3).spawn(2)
        assert list(arrivals_of(WORLD, one)) != list(arrivals_of(WORLD, two))

    def test_another_distribution_of_an_attribute_changes_nothing_else(self) -> None:
        normal = Normal(mean=0.0, deviation=1.0, min=-1.0)
        other = msgspec.structs.replace(WORLD, attributes={"c0": normal, "c1": UNIFORM})
        for ours, theirs in zip(made(WORLD), made(other), strict=True):
            assert (ours.at, ours.leaves_at) == (theirs.at, theirs.leaves_at)
            for one, two in zip(ours.ticket.players, theirs.ticket.players, strict=True):
                assert one.attributes["c1"] == two.attributes["c1"]
                assert one.attributes["c0"] != two.attributes["c0"]

    def test_another_attribute_changes_nothing_else(self) -> None:
        more = msgspec.structs.replace(WORLD, attributes={**WORLD.attributes, "a0": UNIFORM})
        for ours, theirs in zip(made(WORLD), made(more), strict=True):
            kept = {k: v for k, v in theirs.ticket.players[0].attributes.items() if k != "a0"}
            assert kept == ours.ticket.players[0].attributes

    def test_patience_and_rate_leave_the_tickets_alone(self) -> None:
        other = msgspec.structs.replace(WORLD, rate=7.0, patience=None)
        assert [each.ticket for each in made(WORLD)] == [each.ticket for each in made(other)]

    def test_is_made_while_it_is_taken(self) -> None:
        endless = arrivals_of(Arrivals(rate=1.0, count=50_000_000), np.random.SeedSequence(1))
        assert endless.offset == 0.0
        assert len(list(takewhile(lambda each: each.at < 100.0, endless))) > 50


def test_attributes_with_a_dot_are_drawn_as_keys_of_one_map() -> None:
    two = {
        "latency.eu": Uniform(10.0, 20.0),
        "latency.us.west": Uniform(90.0, 95.0),
        "c0": UNIFORM,
    }
    tickets = [each.ticket for each in made(Arrivals(rate=1.0, count=50, attributes=two))]
    for ticket in tickets:
        facts = ticket.players[0].attributes
        known = facts["latency"]
        assert isinstance(known, dict)
        assert sorted(facts) == ["c0", "latency"]
        assert list(known) == ["eu", "us.west"]
        assert 10.0 <= known["eu"] <= 20.0
        assert 90.0 <= known["us.west"] <= 95.0
    # A key is drawn from its own stream: others leave it as it is.
    alone = made(Arrivals(rate=1.0, count=50, attributes={"latency.eu": two["latency.eu"]}))
    first = alone[0].ticket.players[0].attributes["latency"]
    assert isinstance(first, dict)
    assert first["eu"] == tickets[0].players[0].attributes["latency"]["eu"]  # type: ignore[index,call-overload]


def test_key_of_a_map_must_be_drawn_as_a_number() -> None:
    words = {"latency.eu": Choice(values=("fast",))}
    with pytest.raises(ArrivalsError, match=r"latency\.eu must be drawn as a number, got 'fast'"):
        made(Arrivals(rate=1.0, count=5, attributes=words))


def test_recording_keeps_columns_attributes_and_patience_of_the_scenario() -> None:
    own = Arrivals(
        rate=3.0, count=9, columns={"at": "t"}, attributes={"c0": UNIFORM}, patience=UNIFORM
    )
    assert recorded_arrivals("x.csv", own) == Arrivals(
        process="file",
        file="x.csv",
        columns={"at": "t"},
        attributes={"c0": UNIFORM},
        patience=UNIFORM,
    )
    assert recorded_arrivals("x.csv") == Arrivals(process="file", file="x.csv")
