from fractions import Fraction

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.theory.chain import reachable, stationary, until_exit
from evenmatch.theory.rates import rational
from tests.draws import chance


def random_chain(rng: np.random.Generator, count: int) -> dict[int, dict[int, Fraction]]:
    """Return a sparse chain in which every state can be reached: a ring with shortcuts."""
    chain = {i: {(i + 1) % count: Fraction(int(rng.integers(1, 50)), 7)} for i in range(count)}
    for i, j in rng.integers(0, count, (2 * count, 2)).tolist():
        if i != j:
            chain[i][j] = Fraction(int(rng.integers(1, 50)), 11)
    return chain


def in_floats(chain: dict[int, dict[int, Fraction]]) -> dict[int, dict[int, float]]:
    return {i: {j: float(rate) for j, rate in row.items()} for i, row in chain.items()}


def generator(chain: dict[int, dict[int, float]]) -> np.ndarray:
    matrix = np.zeros((len(chain),) * 2)
    for i, row in chain.items():
        for j, rate in row.items():
            matrix[i, j] = rate
    return matrix - np.diag(matrix.sum(axis=1))


def test_stationary_law_balances_every_state_exactly() -> None:
    chain = random_chain(chance("balance"), 25)
    share = stationary(chain)
    assert sum(share.values()) == 1
    for state in chain:
        flow_in = sum(share[i] * row.get(state, 0) for i, row in chain.items())
        assert flow_in == share[state] * sum(chain[state].values())


def test_floats_and_a_matrix_give_the_same_stationary_law() -> None:
    chain = random_chain(chance("floats"), 40)
    exact = stationary(chain)
    found = stationary(in_floats(chain))
    matrix = np.vstack([generator(in_floats(chain)).T, np.ones(40)])
    solved = np.linalg.lstsq(matrix, np.append(np.zeros(40), 1.0), rcond=None)[0]
    for state in chain:
        assert found[state] == pytest.approx(float(exact[state]), rel=1e-13)
        assert solved[state] == pytest.approx(float(exact[state]), rel=1e-9)


def test_rates_far_apart_keep_all_digits() -> None:
    tiny = 1e-30
    share = stationary({"on": {"off": tiny}, "off": {"on": 3.0, "lost": tiny}, "lost": {"on": 1.0}})
    assert share["off"] == pytest.approx(tiny / 3, rel=1e-14)
    assert share["lost"] == pytest.approx(tiny * tiny / 3, rel=1e-14)


def test_states_that_are_left_for_good_have_no_share() -> None:
    chain = {"start": {"a": 1.0}, "a": {"b": 2.0}, "b": {"a": 1.0}}
    assert stationary(chain) == pytest.approx({"start": 0.0, "a": 1 / 3, "b": 2 / 3})
    assert stationary({"start": {"end": 1.0}, "end": {}}) == {"start": 0.0, "end": 1.0}


def test_two_closed_classes_are_refused() -> None:
    with pytest.raises(ConfigError, match="one of 2 sets of states for ever"):
        stationary({"start": {"a": 1.0, "b": 1.0}, "a": {}, "b": {}})


def test_time_until_exit_equals_a_matrix() -> None:
    rng = chance("exit")
    chain = random_chain(rng, 30)
    exits = {0: Fraction(1, 3), 17: Fraction(2, 5)}
    means = until_exit(chain, exits, dict.fromkeys(chain, Fraction(1)))
    matrix = generator(in_floats(chain))
    for state, rate in exits.items():
        matrix[state, state] -= float(rate)
    solved = np.linalg.solve(-matrix, np.ones(30))
    assert [float(means[i]) for i in range(30)] == pytest.approx(solved.tolist(), rel=1e-9)
    floats = until_exit(in_floats(chain), {0: 1 / 3, 17: 0.4}, dict.fromkeys(chain, 1.0))
    assert floats == pytest.approx({i: float(mean) for i, mean in means.items()}, rel=1e-13)


def test_a_chain_that_is_never_left_is_refused() -> None:
    with pytest.raises(ConfigError, match="never left"):
        until_exit({"a": {"b": 1.0}, "b": {"a": 1.0}}, {}, {"a": 1.0, "b": 1.0})


def test_reachable_states_are_found_and_limited() -> None:
    found = reachable(0, lambda n: {(n + 1) % 5: 1.0, n: 9.0, 77: 0.0})
    assert found == {n: {(n + 1) % 5: 1.0} for n in range(5)}
    with pytest.raises(ConfigError, match="more than 100 states and may have no end"):
        reachable(0, lambda n: {n + 1: 1.0}, states_max=100)


def test_a_float_is_the_decimal_that_it_is_written_as() -> None:
    assert rational(0.1) == Fraction(1, 10)
    assert rational(3) == 3
    assert rational(Fraction(1, 3)) == Fraction(1, 3)
