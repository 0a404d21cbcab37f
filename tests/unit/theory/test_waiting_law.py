import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm

from evenmatch.errors import ConfigError
from evenmatch.theory.k_player import ErlangMixture
from evenmatch.theory.waiting_law import PHASES_MAX, PhaseTypeLaw
from tests.draws import chance


def random_law(rng: np.random.Generator, phases: int) -> PhaseTypeLaw:
    moves = rng.random((phases, phases)) * (rng.random((phases, phases)) < 0.5)
    start = rng.dirichlet(np.ones(phases)) * rng.uniform(0.3, 1.0)
    return PhaseTypeLaw(start, moves, rng.random(phases) * 0.3)


def erlang(k: int, rate: float) -> PhaseTypeLaw:
    """Return the wait for m more arrivals, m uniform on 0 .. k-1, as a chain."""
    exits = np.zeros(k - 1)
    exits[-1] = rate
    return PhaseTypeLaw(np.full(k - 1, 1 / k), rate * np.eye(k - 1, k=1), exits)


def test_survival_and_density_equal_the_matrix_exponential() -> None:
    law = random_law(chance("exponential"), 6)
    generator = law.moves - np.diag(np.diag(law.moves))
    generator -= np.diag(generator.sum(axis=1) + law.exits)
    times = np.array([[0.0, 0.3, 1.0], [7.5, 40.0, 300.0]])
    for place in np.ndindex(times.shape):
        phases = law.start @ expm(generator * times[place])
        assert law.survival(times)[place] == pytest.approx(phases.sum(), rel=1e-9)
        assert law.density(times)[place] == pytest.approx(phases @ law.exits, rel=1e-9)
    assert law.cdf(0.0) == pytest.approx(law.p_no_wait)


def test_moments_equal_the_integrals_of_the_survival() -> None:
    law = random_law(chance("moments"), 4)
    mean = quad(law.survival, 0, math.inf, epsabs=1e-11, limit=200)[0]
    square = quad(lambda t: 2 * t * law.survival(t), 0, math.inf, epsabs=1e-9, limit=200)[0]
    assert law.mean == pytest.approx(mean, rel=1e-7)
    assert law.var == pytest.approx(square - mean**2, rel=1e-6)


@pytest.mark.parametrize("k", [2, 4, 30])
def test_a_chain_and_gamma_functions_agree_far_into_the_tail(k: int) -> None:
    chain, gamma = erlang(k, 0.25), ErlangMixture(k, 0.25)
    times = np.array([0.0, 1.0, 20.0, 200.0, 1500.0])
    assert chain.survival(times) == pytest.approx(gamma.survival(times), rel=1e-10)
    assert chain.density(times[1:]) == pytest.approx(gamma.density(times[1:]), rel=1e-10)
    assert chain.mean == pytest.approx(gamma.mean, rel=1e-12)
    assert chain.var == pytest.approx(gamma.var, rel=1e-12)
    for p in (0.0, 0.5, 0.9, 0.99, 1 - 1e-9):
        assert chain.quantile(p) == pytest.approx(gamma.quantile(p), rel=1e-10)


@pytest.mark.parametrize("p", [0.01, 0.5, 0.95, 0.999999])
def test_quantile_inverts_the_cdf(p: float) -> None:
    law = random_law(chance("quantile"), 5)
    if p <= law.p_no_wait:
        assert law.quantile(p) == 0.0
    else:
        assert law.survival(law.quantile(p)) == pytest.approx(1 - p, rel=1e-10)


def test_quantiles_of_a_rare_long_wait_are_found() -> None:
    # One of a hundred waits a million times as long as the others.
    law = PhaseTypeLaw(np.array([0.99, 0.01]), np.zeros((2, 2)), np.array([1.0, 1e-6]))
    assert law.quantile(0.5) == pytest.approx(-math.log(0.49 / 0.99), rel=1e-5)
    assert law.quantile(0.999) == pytest.approx(math.log(10) * 1e6, rel=1e-9)
    assert law.survival(math.inf) == 0.0


def test_quantiles_at_the_ends() -> None:
    law = ErlangMixture(4, 1.0)
    assert law.quantile(0.25) == 0.0
    assert law.quantile(0.2500001) > 0.0
    assert law.quantile(1.0) == math.inf
    assert ErlangMixture(1, 1.0).quantile(1.0) == 0.0
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(ConfigError, match=r"must be in \[0, 1\]"):
            law.quantile(wrong)


def test_mixture_averages_the_laws() -> None:
    rng = chance("mixture")
    one, two = random_law(rng, 3), random_law(rng, 5)
    both = PhaseTypeLaw.mixture([one, two], [0.25, 0.75])
    assert both.mean == pytest.approx(0.25 * one.mean + 0.75 * two.mean, rel=1e-12)
    assert both.p_no_wait == pytest.approx(0.25 * one.p_no_wait + 0.75 * two.p_no_wait)
    assert both.survival(3.0) == pytest.approx(
        0.25 * one.survival(3.0) + 0.75 * two.survival(3.0), rel=1e-12
    )


def test_too_many_phases_are_refused() -> None:
    count = PHASES_MAX + 1
    with pytest.raises(ConfigError, match="at most 1,000 phases, this one 1,001"):
        PhaseTypeLaw(np.zeros(count), np.zeros((1, 1)), np.zeros(count))
