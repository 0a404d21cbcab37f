import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.theory.floor import cost_on_grid, floor

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


def test_floor_is_near_the_reference() -> None:
    found = floor(rate=RATE, weight=WEIGHT, wait_max=WAIT_MAX)
    assert found["cost_per_match"] == pytest.approx(1.290 * OPT, rel=0.01)
    assert found["cost_per_player"] == found["cost_per_match"] / 2
    assert 0.0 < found["error_per_match"] < 0.01


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
