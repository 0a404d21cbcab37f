"""Estimates: honest while people still wait, and modest where little is known."""

import math
import random
from collections.abc import Callable
from itertools import islice

import msgspec
import numpy as np
import pytest

from evenmatch.config.files import load_scenario, parse_scenario
from evenmatch.forecast.life_table import ENOUGH
from evenmatch.forecast.quantiles import (
    ESTIMATE_MAX,
    Curve,
    Quantiles,
    earliest_of,
    newcomer,
    remaining_wait,
)
from evenmatch.forecast.waits import CELLS_MOST, MATCHES_MIN, Cell, Deciles, WaitForecast
from evenmatch.lab.study.calibration import (
    NOMINAL,
    Calibration,
    ForecastHistory,
    ToldEstimate,
    calibrate,
    calibration_of,
)
from evenmatch.model.queue import Queue, Rule
from evenmatch.model.scenario import Answers, OutcomeModel, Scenario
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.simulation.arrivals.arrivals import arrivals_of
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.history import EXPIRED

QUEUE = Queue(name="duel")


def ticket(*names: str, region: str = "", rating: float | None = None) -> NewTicket:
    rated = None if rating is None else Rating(rating)
    players = tuple(Player(name, rated) for name in names or ("p",))
    return NewTicket(players, attributes={"region": region} if region else {})


class Traffic:
    """A forecast, and tickets that come and go in the order of time."""

    def __init__(self, *queues: Queue) -> None:
        self.forecast = WaitForecast()
        self.forecast.configure(queues or (QUEUE,))
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0

    def comes(
        self,
        at: float,
        wait: float,
        new: NewTicket | None = None,
        *,
        queues: tuple[str, ...] = ("duel",),
        leaves: bool = False,
    ) -> str:
        self._number += 1
        name, given, forecast = f"t{self._number}", new or ticket(), self.forecast
        self._at(at, lambda: forecast.enter(name, given, queues, at, at))
        if wait < math.inf:
            end, matched_in = at + wait, None if leaves else queues[0]
            self._at(end, lambda: forecast.leave(name, end, matched_in))
        return name

    def until(self, now: float) -> None:
        due = sorted(self._due, key=lambda each: each[:2])
        for at, _, happen in due:
            if at <= now:
                happen()
        self._due = [each for each in due if each[0] > now]

    def _at(self, at: float, happen: Callable[[], None]) -> None:
        self._due.append((at, len(self._due), happen))


def test_nothing_is_said_before_enough_was_seen() -> None:
    traffic = Traffic()
    for number in range(MATCHES_MIN):
        traffic.comes(float(number), 5.0)
    last = traffic.comes(30.0, math.inf)
    traffic.until(MATCHES_MIN + 3.0)
    assert traffic.forecast.estimate("t20", MATCHES_MIN + 3.0) is None
    traffic.until(40.0)
    found = traffic.forecast.estimate(last, 40.0)
    assert found is not None
    assert 0.0 <= found.low <= found.p50 <= found.high < ESTIMATE_MAX
    assert traffic.forecast.estimate("nobody", 40.0) is None


def test_quantiles_are_those_of_a_known_law() -> None:
    # Exponential waits of mean 30 s: the rest of a wait has that law at any age.
    rng, traffic = random.Random(3), Traffic()
    for number in range(3_000):
        traffic.comes(number * 0.5, rng.expovariate(1 / 30))
    names = [traffic.comes(1_500.0 - age, math.inf) for age in (0.5, 20.0, 80.0)]
    traffic.until(1_500.0)
    for name in names:
        found = traffic.forecast.estimate(name, 1_500.0)
        assert found is not None
        # 3,000 matches give quantiles to about 2 % (p50) and 6 % (low); 15 % where bins are thin.
        assert found.p50 == pytest.approx(30 * math.log(2), rel=0.15)
        assert found.high == pytest.approx(30 * math.log(10), rel=0.15)
        assert found.low == pytest.approx(-30 * math.log(0.9), rel=0.3)


def test_long_waiters_count_while_they_still_wait() -> None:
    # Half are matched after 5 s; the others were not matched in ten minutes, and are still there.
    traffic = Traffic()
    for number in range(400):
        traffic.comes(float(number), 5.0 if number % 2 else math.inf)
    name = traffic.comes(399.5, math.inf)
    traffic.until(1_000.0)
    waited = traffic.forecast.estimate(name, 1_000.0)
    fresh = traffic.comes(1_000.0, math.inf)
    traffic.until(1_000.0)
    found = traffic.forecast.estimate(fresh, 1_000.0)
    assert found is not None
    assert waited is not None
    # The ended waits alone say that nine of ten wait 5 s.
    assert found.high > 600.0
    assert waited.p50 > 600.0


def test_those_who_leave_are_not_taken_for_matched() -> None:
    rng, patient, honest = random.Random(4), Traffic(), Traffic()
    for number in range(2_000):
        wait, patience = rng.expovariate(1 / 60), rng.expovariate(1 / 30)
        patient.comes(number * 0.5, wait)
        honest.comes(number * 0.5, min(wait, patience), leaves=patience < wait)
    found = []
    for traffic in (patient, honest):
        name = traffic.comes(1_000.0, math.inf)
        traffic.until(1_000.0)
        found.append(traffic.forecast.estimate(name, 1_000.0))
    assert found[0] is not None
    assert found[1] is not None
    # A third is matched before it leaves, 667 matches: 4 % and some more for the bins.
    assert found[1].p50 == pytest.approx(found[0].p50, rel=0.2)


def test_pause_of_a_queue_is_not_learnt_from() -> None:
    rng, found = random.Random(8), []
    for pause in (0.0, 3_000.0):
        traffic = Traffic()
        for number in range(1_000):
            traffic.comes(number * 0.5, rng.expovariate(1 / 20))
        for number in range(40):
            traffic.comes(499.0, pause + 10.0 + number)
        traffic.until(499.0)
        traffic.forecast.pause(["duel"], 499.0)
        traffic.forecast.pause([], 499.0 + pause)
        now = 560.0 + pause
        traffic.until(now)
        name = traffic.comes(now, math.inf)
        traffic.until(now)
        estimate = traffic.forecast.estimate(name, now)
        assert estimate is not None
        found.append(estimate.p50)
        forecast = traffic.forecast.of("duel")
        assert forecast is not None
        forecast._table._check()
    # 40 tickets that stood still for 50 minutes would make everybody's estimate many times longer;
    # two draws of 1,000 exponential waits differ by 4 %, and those who aged are matched later.
    assert found[1] == pytest.approx(found[0], rel=0.25)


def test_ticket_that_changes_during_a_pause_is_not_learnt_from_either() -> None:
    highs = []
    for changes in (False, True):
        traffic = Traffic()
        for number in range(100):
            traffic.comes(20.0 * number, 10.0)
        waiting = [traffic.comes(2_000.0, math.inf) for _ in range(30)]
        traffic.until(2_000.0)
        forecast = traffic.forecast
        forecast.pause(["duel"], 2_001.0)
        for name in waiting if changes else ():
            forecast.leave(name, 2_002.0)
            forecast.enter(name, ticket(), ("duel",), 2_000.0, 2_002.0)
        forecast.pause([], 5_601.0)
        queue = forecast.of("duel")
        assert queue is not None
        queue._table._check()
        estimate = queue.newcomer(5_602.0)
        assert estimate is not None
        highs.append(estimate.high)
        assert forecast.estimate(waiting[0], 5_602.0) is not None
    assert highs[1] == pytest.approx(highs[0])
    assert highs[1] < 20.0


def test_deadline_ends_an_estimate() -> None:
    traffic = Traffic(Queue(name="duel", wait_max=60.0))
    for number in range(200):
        is_late = number % 2 == 0
        traffic.comes(float(number), 60.0 if is_late else 50.0, leaves=is_late)
    name = traffic.comes(180.0, math.inf)
    traffic.until(200.0)
    found = traffic.forecast.estimate(name, 200.0)
    assert found is not None
    assert found.high == 40.0
    keeps = Traffic(Queue(name="duel", wait_max=60.0, on_deadline="keep"))
    for number in range(200):
        keeps.comes(float(number), 500.0)
    name = keeps.comes(800.0, math.inf)
    keeps.until(800.0)
    kept = keeps.forecast.estimate(name, 800.0)
    assert kept is not None
    assert kept.high > 400.0


def test_median_is_the_time_left_where_fewer_than_half_are_matched_in_time() -> None:
    traffic = Traffic(Queue(name="duel", wait_max=60.0))
    for number in range(200):
        is_late = number % 4 > 0
        traffic.comes(float(number), 60.0 if is_late else 50.0, leaves=is_late)
    name = traffic.comes(200.0, math.inf)
    traffic.until(210.0)
    found = traffic.forecast.estimate(name, 210.0)
    assert found is not None
    assert found.low < found.p50 == found.high == 50.0


def test_cell_with_few_matches_borrows_and_one_with_many_decides_itself() -> None:
    rng, traffic = random.Random(5), Traffic()
    for number in range(2_000):
        traffic.comes(number * 0.5, rng.expovariate(1 / 10), ticket(region="eu"))
        if number < 400:
            traffic.comes(number * 2.5, rng.expovariate(1 / 100), ticket(region="oce"))
    for number in range(3):
        traffic.comes(900.0 + number, 1.0, ticket(region="sa"))
    names = {
        region: traffic.comes(1_000.0, math.inf, ticket(region=region))
        for region in ("eu", "oce", "sa", "new")
    }
    traffic.until(1_000.0)
    p50 = {}
    for region, name in names.items():
        found = traffic.forecast.estimate(name, 1_000.0)
        assert found is not None
        p50[region] = found.p50
    assert p50["eu"] == pytest.approx(10 * math.log(2), rel=0.2)
    assert p50["oce"] == pytest.approx(100 * math.log(2), rel=0.25)
    # Three matches of 1 s weigh little against the rates of all, which 20 would equal.
    assert 0.6 * p50["new"] < p50["sa"] < p50["new"]
    assert ENOUGH == 20.0


def test_ticket_in_two_queues_waits_for_the_first_of_them() -> None:
    rng = random.Random(6)
    other = Queue(name="ranked")
    traffic = Traffic(QUEUE, other)
    for number in range(1_500):
        traffic.comes(number * 0.5, rng.expovariate(1 / 30))
        traffic.comes(number * 0.5, rng.expovariate(1 / 30), queues=("ranked",))
    name = traffic.comes(750.0, math.inf, queues=("duel", "ranked"))
    traffic.until(750.0)
    found = traffic.forecast.estimate(name, 750.0)
    alone = traffic.forecast.estimate(name, 750.0, ["ranked"])
    assert found is not None
    assert alone is not None
    assert found.p50 == pytest.approx(15 * math.log(2), rel=0.15)
    assert alone.p50 == pytest.approx(30 * math.log(2), rel=0.15)
    traffic.forecast.leave_queue(name, "ranked", 751.0)
    rest = traffic.forecast.estimate(name, 751.0)
    assert rest is not None
    assert rest.p50 == pytest.approx(30 * math.log(2), rel=0.15)


def test_last_deadline_ends_the_estimate_even_where_little_is_known_of_its_queue() -> None:
    traffic = Traffic(Queue(name="duel", wait_max=60.0), Queue(name="young", wait_max=600.0))
    for number in range(200):
        traffic.comes(float(number), 60.0, leaves=number % 4 > 0)
    name = traffic.comes(180.0, math.inf, queues=("duel", "young"))
    traffic.until(200.0)
    found = traffic.forecast.estimate(name, 200.0)
    assert found is not None
    # Most of what is seen ends at 60 s without a match, so the estimate runs beyond the first
    # deadline; it ends 580 s from now at the latest.
    assert 40.0 < found.high <= 580.0


def test_ticket_of_a_removed_queue_is_not_watched_in_a_later_one_of_that_name() -> None:
    traffic, other = Traffic(QUEUE, Queue(name="ranked")), Queue(name="ranked")
    for number in range(50):
        traffic.comes(0.0, 5.0, ticket(region=f"r{number}"))
    old = traffic.comes(1.0, math.inf, ticket(region="last"), queues=("duel", "ranked"))
    traffic.until(10.0)
    forecast = traffic.forecast
    forecast.configure((other,))
    forecast.configure((QUEUE, other))
    for number in range(MATCHES_MIN):
        traffic.comes(11.0 + number, 3.0)
    traffic.until(60.0)
    assert forecast.of("duel") is not None
    assert forecast.estimate(old, 60.0) is None
    forecast.pause(("duel",), 60.0)
    forecast.pause((), 61.0)
    forecast.leave(old, 62.0, "duel")
    duel = forecast.of("duel")
    assert duel is not None
    assert duel.seen == MATCHES_MIN
    duel._table._check()


def test_newcomers_matched_at_once_wait_nothing() -> None:
    curve = Curve([place * 0.1 for place in range(66)], 0.1, at_once=0.6)
    found = newcomer(curve)
    assert (found.low, found.p50) == (0.0, 0.0)
    assert found.high > 0.0
    # Who asks still waits, so the others are out of the count.
    assert remaining_wait(curve, 0.0).p50 > 0.0
    both = earliest_of([curve, curve])
    assert both.at_once == pytest.approx(0.84)
    assert remaining_wait(both, 0.0).p50 < remaining_wait(curve, 0.0).p50


def test_cells_have_a_limit() -> None:
    traffic = Traffic()
    for number in range(CELLS_MOST + 200):
        traffic.comes(number * 0.01, 5.0, ticket(region=f"r{number}"))
    traffic.until(20.0)
    forecast = traffic.forecast.of("duel")
    assert forecast is not None
    assert len(forecast.cells(20.0, 10_000)) <= CELLS_MOST
    name = traffic.comes(20.0, math.inf, ticket(region="one more"))
    traffic.until(20.0)
    assert traffic.forecast.estimate(name, 20.0) is not None


def test_same_events_give_the_same_estimates() -> None:
    def run() -> list[object]:
        rng, traffic = random.Random(7), Traffic()
        for number in range(500):
            rated = ticket(rating=rng.gauss(1500, 300))
            traffic.comes(number * 1.0, rng.expovariate(1 / 20), rated)
        name = traffic.comes(500.0, math.inf, ticket(rating=1500.0))
        traffic.until(500.0)
        forecast = traffic.forecast.of("duel")
        assert forecast is not None
        return [traffic.forecast.estimate(name, 500.0), *forecast.cells(500.0, 20)]

    assert run() == run()


def test_deciles_are_those_of_the_last_ratings() -> None:
    deciles = Deciles()
    assert deciles.place(3.0) == -1
    for number in range(1_000):
        deciles.note(float(number))
    assert [deciles.place(value) for value in (-5.0, 50.0, 555.0, 5_000.0)] == [0, 0, 5, 9]
    assert Cell(1, "eu", 3)[:2] == (1, "eu")


# Waits that the engine makes of Poisson arrivals. 0.8 is promised; a share of n tickets in runs
# that depend on each other is known to about 0.02 here, and the edges of bins cost a little.
def test_intervals_hold_in_a_scenario_of_known_law() -> None:
    scenario = parse_scenario("""
        seed = 11
        [[queue]]
        name = "duel"
        policy = "window:limit=60,rate=2,limit_max=400"
        [arrivals]
        process = "poisson"
        rate = 0.3
        count = 2500
        [attributes.rating]
        distribution = "normal"
        mean = 1500.0
        deviation = 350.0
    """)
    at_arrival, later, _ = calibrate(scenario)
    assert at_arrival.told > 1_500
    assert at_arrival.inside == pytest.approx(NOMINAL, abs=0.04)
    assert at_arrival.median == pytest.approx(0.5, abs=0.06)
    assert later.inside == pytest.approx(NOMINAL, abs=0.06)
    assert at_arrival.half_width < 0.05


READY_CHECKED = """
[[queue]]
wait_max = 60.0
accept = {seconds = 10.0}

[[queue.rules]]
kind = "spread"
attribute = "rating"
limit = 300.0

[answers]
silent = 0.2
seconds = 5.0

[attributes.rating]
distribution = "normal"
mean = 1500.0
deviation = 300.0

[arrivals]
rate = 0.5
count = 300
"""


def test_calibration_asks_players_whether_they_are_ready() -> None:
    scenario = parse_scenario(READY_CHECKED)
    everybody = msgspec.structs.replace(scenario, answers=Answers())
    slow, quick = (calibrate(each)[0] for each in (scenario, everybody))
    # Whoever is asked answers after five seconds in the mean, and one in five never does.
    assert slow.width > 5.0 + quick.width


def test_calibration_rates_players_by_outcomes() -> None:
    queue = Queue(
        name="duel", policy="window", rating="elo", wait_max=15.0,
        rules=(Rule("spread", "rating", limit=1.0),),
    )  # fmt: skip
    skilled = [Player(f"p{n}", attributes={"skill": 500.0 * n}) for n in range(4)]
    coming = [Arrival(10.0 * n, NewTicket((skilled[n % 4],), id=str(n))) for n in range(100)]
    known, unknown = (
        calibrate(Scenario((queue,), outcomes=outcomes), arrivals=coming)[0]
        for outcomes in (OutcomeModel("skill", lasts=1.0), None)
    )
    # Of equal players every second one waits for the next; few unequal ones are ever matched.
    assert known.told < unknown.told


@pytest.mark.filterwarnings("error")
def test_error_of_a_share_is_that_of_as_many_blocks_as_there_are() -> None:
    def calibrated(waits: list[float]) -> Calibration:
        history = ForecastHistory([QUEUE], (0.0,))
        for place, wait in enumerate(waits):
            history.accept(f"t{place}", ticket(f"p{place}"), 0.0)
            history.leave(f"t{place}", EXPIRED, wait, "deadline")
        history.told = [
            ToldEstimate(0.0, place, 0.0, Quantiles(5.0, 2.0, 9.0)) for place in range(len(waits))
        ]
        return calibration_of(history, 0.0)

    # The shares of three blocks are 1, 1 and 0; Student's t of two degrees of freedom is 4.303.
    assert calibrated([3.0, 4.0, 20.0]).half_width == pytest.approx(4.303 / 3.0, abs=0.001)
    assert math.isnan(calibrated([3.0]).half_width)


def test_intervals_hold_on_recorded_arrivals() -> None:
    # People came and went by the hour, and whole seconds were recorded: 0.72 to 0.76 were seen.
    scenario = load_scenario("scenarios/halo.toml")
    assert scenario.arrivals is not None
    coming = islice(arrivals_of(scenario.arrivals, np.random.SeedSequence(0)), 4_000)
    at_arrival, later, _ = calibrate(scenario, arrivals=coming)
    assert at_arrival.told > 1_000
    assert at_arrival.inside == pytest.approx(NOMINAL, abs=0.1)
    assert later.inside == pytest.approx(NOMINAL, abs=0.1)
    assert at_arrival.median == pytest.approx(0.5, abs=0.06)


def test_who_waits_through_a_night_is_not_all_that_is_known_in_the_morning() -> None:
    forecast, now = WaitForecast(), 0.0
    forecast.configure([QUEUE])
    rng = random.Random(1)
    for number in range(300):
        now += 10.0
        forecast.enter(f"t{number}", ticket(), ("duel",), now, now)
        now += rng.uniform(1.0, 20.0)
        forecast.leave(f"t{number}", now, "duel")
    forecast.enter("night", ticket(), ("duel",), now, now)
    morning = now + 15.0 * 3600.0
    for at in np.arange(now, morning, 60.0):
        forecast.estimate("night", float(at))
    forecast.leave("night", morning, "duel")
    forecast.enter("early", ticket(), ("duel",), morning, morning)
    found = forecast.estimate("early", morning)
    assert found is not None
    assert 5.0 < found.p50 < 30.0
    assert found.high < 120.0
