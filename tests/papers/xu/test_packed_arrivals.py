import math

import numpy as np
import pytest
from scipy.integrate import quad

from evenmatch.errors import ConfigError
from evenmatch.theory.waiting_law import PhaseTypeLaw
from papers.xu.packed_arrivals import PackedArrivals
from tests.draws import chance, rates


def as_chain(solo: float, party: float) -> PhaseTypeLaw:
    """Return the law as a chain: nobody, or one solo, is unpaired."""
    both, players = solo + party, solo + 2 * party
    return PhaseTypeLaw(
        np.array([both / players, party / players]),
        np.array([[0.0, solo], [0.0, 0.0]]),
        np.array([party, both]),
    )


def test_density_and_moments_equal_the_chain_at_random_points() -> None:
    rng = chance("packages")
    for _ in range(4):
        solo, party = rates(rng, 2)
        packages, chain = PackedArrivals(solo, party), as_chain(solo, party)
        times = np.array([0.1, 1.0, 3.0]) * packages.mean
        assert packages.density(times) == pytest.approx(chain.density(times), rel=1e-10)
        assert packages.survival(times) == pytest.approx(chain.survival(times), rel=1e-10)
        assert packages.mean == pytest.approx(chain.mean, rel=1e-12)
        assert packages.var == pytest.approx(chain.var, rel=1e-10)
        assert packages.quantile(0.9) == pytest.approx(chain.quantile(0.9), rel=1e-10)
        whole = quad(packages.density, 0, math.inf, epsabs=1e-12)[0]
        assert whole == pytest.approx(1.0, rel=1e-8)


@pytest.mark.parametrize("solo", [0.2, 0.5, 0.8])
def test_figure_6_equals_packages_that_are_drawn(solo: float) -> None:
    rng = chance("packed", default=5)
    party = (1 - solo) / 2
    packages = PackedArrivals(solo, party)
    solos = np.cumsum(rng.exponential(1 / solo, 100_000))
    parties = np.cumsum(rng.exponential(1 / party, 100_000))
    # Every second solo completes a package.
    last = min(solos[-1], parties[-1])
    times = np.sort(np.concatenate([solos[1::2], parties]))
    gaps = np.diff(times[times <= last])
    bins = np.linspace(0.0, 8.0, 9)
    drawn = np.histogram(gaps, bins)[0] / len(gaps)
    expected = np.diff(packages.cdf(bins))
    # Neighbouring gaps are hardly correlated, so 4 binomial errors are more than 4 of theirs.
    assert np.abs(drawn - expected).max() < 4 * math.sqrt(0.25 / len(gaps))
    assert gaps.mean() == pytest.approx(packages.mean, rel=0.02)


def test_only_parties_are_poisson_and_solos_alone_are_least_like_it() -> None:
    parties = PackedArrivals(0.0, 0.5)
    times = np.linspace(0.0, 10.0, 11)
    assert parties.density(times) == pytest.approx(parties.poisson_density(times))
    spread = [PackedArrivals(x, (1 - x) / 2) for x in (0.0, 0.2, 0.5, 0.8, 1.0)]
    ratios = [each.var / each.mean**2 for each in spread]
    assert ratios == sorted(ratios, reverse=True)
    assert (ratios[0], ratios[-1]) == (1.0, 0.5)


@pytest.mark.parametrize(
    ("solo", "party", "sentence"),
    [
        (-1.0, 1.0, "solo_rate must be >= 0 per second"),
        (1.0, math.inf, "party_rate must be >= 0 per second"),
        (0.0, 0.0, "solo_rate or party_rate must be > 0"),
    ],
)
def test_bad_rates_are_refused(solo: float, party: float, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        PackedArrivals(solo, party)
