import math
from itertools import product

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Queue
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.compiled.run import play
from evenmatch.theory.floor import GRIDS, cost_of_brackets, cost_on_grid, floor, least_cost
from tests.extent import only, thinned

RATE, WEIGHT, WAIT_MAX = 3.0, 2.0, 5.0
HOLD = 1.0 / (RATE * WAIT_MAX)
OPT = 0.3049  # per match at rate 3, reference


def by_policy_iteration(cells: int) -> float:
    """Return the least cost per arrival, by dictionaries and linear equations."""
    states = range(1 << cells)

    def choices(state: int, cell: int) -> list[tuple[float, int]]:
        """Return (cost, pool) of all ways to match pairs after an arrival."""
        if state >> cell & 1:
            start = (WEIGHT / (3 * cells), state ^ 1 << cell)
        else:
            start = (0.0, state | 1 << cell)
        found, stack = {}, [start]
        while stack:
            cost, pool = stack.pop()
            if pool in found and found[pool] <= cost:
                continue
            found[pool] = cost
            ones = [c for c in range(cells) if pool >> c & 1]
            for i, one in enumerate(ones):
                for two in ones[i + 1 :]:
                    rest = pool ^ 1 << one ^ 1 << two
                    stack.append((cost + WEIGHT * (two - one) / cells, rest))
        return [(cost, pool) for pool, cost in found.items()]

    options = {(s, c): choices(s, c) for s in states for c in range(cells)}
    values = np.zeros(1 << cells)
    for _ in range(50):
        plan = {
            key: min(ways, key=lambda way: way[0] + values[way[1]]) for key, ways in options.items()
        }
        matrix, right = np.eye(1 << cells), np.zeros(1 << cells)
        for (state, _), (cost, pool) in plan.items():
            matrix[state, pool] -= 1 / cells
            right[state] += cost / cells
        right += [HOLD * state.bit_count() for state in states]
        # The value of state 0 is 0; its column holds the mean cost.
        matrix[:, 0] = 1.0
        solved = np.linalg.solve(matrix, right)
        mean, solved[0] = solved[0], 0.0
        if np.allclose(solved, values, atol=1e-12):
            return float(mean)
        values = solved
    raise AssertionError


@pytest.mark.parametrize("cells", [1, 2, 4, 5])
def test_value_iteration_equals_policy_iteration(cells: int) -> None:
    found = cost_on_grid(cells, weight=WEIGHT, hold=HOLD)
    assert found == pytest.approx(by_policy_iteration(cells), rel=2e-5)


@pytest.mark.parametrize(("grids", "near"), only([((12, 14), 0.03), (GRIDS, 0.01)], 0))
def test_what_is_known_to_be_possible_is_near_the_reference(
    grids: tuple[int, ...], near: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenmatch.theory.floor.GRIDS", grids)
    found = floor(rate=RATE, weight=WEIGHT, wait_max=WAIT_MAX)
    known = found["cost_per_match"] + found["error_per_match"]
    assert known == pytest.approx(1.290 * OPT, rel=near)
    assert found["cost_per_player"] == found["cost_per_match"] / 2
    assert found["cost_per_match"] == pytest.approx(math.sqrt(WEIGHT * HOLD))


POLICIES = ("greedy", "price", "gap_value", "delay_greedy", "multi_queue:brackets=4")


@pytest.mark.parametrize(
    ("weight", "rate"),
    thinned(product([0.2, 2.0, 10.0], [0.02, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]), 3),
)
def test_no_policy_costs_less_than_the_floor(rate: float, weight: float) -> None:
    criterion = Criterion("spread", "c0", weight)
    queue = Queue("pairs", criteria=(criterion,), wait_price=1.0 / WAIT_MAX)
    least = least_cost(rate=rate, weight=weight, wait_max=WAIT_MAX)
    hold = 1.0 / (rate * WAIT_MAX)
    assert least <= 2 * cost_on_grid(6, weight=weight, hold=hold)
    assert least <= cost_of_brackets(weight=weight, hold=hold)
    rng = np.random.default_rng(int(10 * rate))
    times, places = np.cumsum(rng.exponential(1 / rate, 20_000)), rng.random((1, 20_000))
    for spec in POLICIES:
        costs = play(queue, parse_policy(spec), times, places).costs
        assert costs.mean() > least - 4.0 * costs.std() / math.sqrt(len(costs)), spec


@pytest.mark.parametrize(("rate", "known"), [(10.0, 0.2102), (30.0, 0.1206), (100.0, 0.0660)])
def test_floor_is_a_few_percent_below_what_price_reaches(rate: float, known: float) -> None:
    least = least_cost(rate=rate, weight=WEIGHT, wait_max=WAIT_MAX)
    assert 0.94 * known < least < known


@pytest.mark.parametrize("share", [0.01, 0.1, 0.24, 0.26, 1.0, 30.0])
def test_each_arrival_pays_its_share_of_the_floor(share: float) -> None:
    # Step 3 of the proof, at every pool and every probability.
    hold = share * WEIGHT
    least = least_cost(rate=1.0 / hold, weight=WEIGHT, wait_max=1.0)
    players, chance = np.meshgrid(np.arange(1, 200), np.linspace(0, 1, 1001))
    paid = hold * players + WEIGHT * chance**2 / (4 * players)
    assert (paid >= chance * least - 1e-12).all()
    assert np.isclose(paid, chance * least, rtol=0.03)[1:].any(), "it is not given away"


def test_places_nearest_to_a_newcomer_are_no_nearer_than_the_proof_says() -> None:
    # Step 2: the mean distance of the nearest newcomers, for pools of any shape.
    rng = np.random.default_rng(1)
    newcomers = (np.arange(20_000) + 0.5) / 20_000
    for count in (1, 2, 3, 7):
        even = (np.arange(count) + 0.5) / count
        for pool in (even, rng.random(count), np.sort(rng.random(count)) ** 2):
            gaps = np.sort(np.abs(newcomers[:, None] - pool).min(axis=1))
            for chance in (0.1, 0.5, 1.0):
                taken = gaps[: int(chance * len(gaps))].sum() / len(gaps)
                assert taken >= chance**2 / (4 * count) - 1e-4


def test_finer_grids_pay_less_up_to_the_lattice() -> None:
    costs = [cost_on_grid(cells, weight=WEIGHT, hold=1 / 5) for cells in (3, 6, 12)]
    assert costs == sorted(costs, reverse=True)


def test_free_waiting_and_dear_waiting_are_the_ends() -> None:
    # Dear waiting: the first two play, a third apart; the first waits for one arrival.
    dear = cost_on_grid(12, weight=WEIGHT, hold=10.0)
    assert 2 * dear == pytest.approx(WEIGHT / 3 + 10.0, rel=1e-4)


@pytest.mark.parametrize("name", ["rate", "weight", "wait_max"])
def test_numbers_out_of_range_are_refused(name: str) -> None:
    setting = {"rate": 3.0, "weight": 2.0, "wait_max": 5.0} | {name: -1.0}
    with pytest.raises(ConfigError, match=f"{name} must be > 0 and finite, got -1"):
        floor(**setting)
