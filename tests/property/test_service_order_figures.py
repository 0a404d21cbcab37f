"""Mean waits and variances of service orders: exact ones, and those that others have simulated.

A run's standard error is that of the means of 50 stretches; 3 of them are allowed, 4 for figures
of one class. Figures that were simulated before have the error of a run of 1.5 million parties
themselves, and that of their rounding.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from evenmatch.model.queue import Format, Queue
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.compiled.parties import serve
from evenmatch.solvers.kernel import HAS_NUMBA
from tests.extent import extent, more

pytestmark = [
    more,
    pytest.mark.skipif(not HAS_NUMBA, reason="a million parties want compiled kernels"),
]

Floats = NDArray[np.float64]

PARTIES, PRINTED_OF = extent(200_000, 600_000), 1_500_000
SEED = 5
WARM_UP = 0.05
STRETCHES = 50

LIGHT, HEAVY, EDGE = (0.5, 0.15, 1 / 15), (0.4, 0.25, 1 / 30), (0.3, 0.25, 1 / 15)
FIVE = (0.4, 0.1, 0.05, 0.025, 0.03)
FIVE_MORE = (0.2, 0.12, 0.08, 0.03, 0.04)
FIVE_EDGE = (0.15, 0.1, 0.1, 0.05, 0.03)


@dataclass(frozen=True)
class Measured:
    mean: float
    error: float
    var: float
    var_error: float
    by_class: list[float]
    class_errors: list[float]


def run(queue: Queue, spec: str, rates: tuple[float, ...], **other: tuple[int, ...]) -> Measured:
    """Run parties of class 1, 2, ... players, or of these `sizes` and `sides`."""
    rng = np.random.default_rng(SEED)
    sizes = np.array(other.get("sizes", range(1, len(rates) + 1)))
    times = np.cumsum(rng.exponential(1.0 / sum(rates), PARTIES))
    kinds = rng.choice(len(rates), PARTIES, p=np.array(rates) / sum(rates))
    sides = np.array(other["sides"])[kinds] if "sides" in other else None
    served = serve(queue, parse_policy(f"first_come:{spec}"), times, sizes[kinds], sides)
    counted = served.match_of >= 0
    counted[: int(WARM_UP * PARTIES)] = False
    return measure(served.waits(times)[counted], sizes[kinds][counted], kinds[counted])


def measure(waits: Floats, sizes: NDArray[np.int64], kinds: NDArray[np.int64]) -> Measured:
    """Return figures per player."""
    mean = float(np.average(waits, weights=sizes))
    squares = (waits - mean) ** 2
    parts = np.array_split(np.arange(len(waits)), STRETCHES)

    def error(values: Floats) -> float:
        found = [np.average(values[part], weights=sizes[part]) for part in parts]
        return deviation(found)

    by_class = [waits[kinds == kind] for kind in range(kinds.max() + 1)]
    return Measured(
        mean,
        error(waits),
        float(np.average(squares, weights=sizes)),
        error(squares),
        [float(own.mean()) for own in by_class],
        [deviation([part.mean() for part in np.array_split(own, STRETCHES)]) for own in by_class],
    )


def deviation(means: Sequence[float]) -> float:
    """Return the standard error of the mean of such means."""
    return float(np.std(means, ddof=1)) / math.sqrt(STRETCHES)


def expect_classes(found: Measured, exact: Sequence[Fraction]) -> None:
    for mean, error, expected in zip(found.by_class, found.class_errors, exact, strict=True):
        assert mean == pytest.approx(float(expected), abs=4 * error)


def scaled(rates: tuple[float, ...]) -> tuple[float, ...]:
    """Return rates of sizes 1, 2, ... with one player a second in all."""
    players = sum(size * rate for size, rate in enumerate(rates, 1))
    return tuple(rate / players for rate in rates)


def against(rates: tuple[float, ...]) -> Queue:
    return Queue(format=Format((len(rates), len(rates))))


@pytest.mark.parametrize(
    ("rates", "spec", "exact"),
    [
        (LIGHT, "order=largest", 2.6168250902),
        (LIGHT, "order=smallest", 2.6320378198),
        (HEAVY, "order=largest", 3.9764796986),
        (HEAVY, "order=smallest", 4.0254737118),
        (HEAVY, "order=reserve,theta=5", 3.958735),
        (EDGE, "order=largest", 9.780324),
        (EDGE, "order=reserve,theta=9", 7.658435),
    ],
)
def test_mean_is_that_of_the_exact_chain(rates: tuple[float, ...], spec: str, exact: float) -> None:
    found = run(against(rates), spec, scaled(rates))
    assert found.mean == pytest.approx(exact, abs=3 * found.error)
    assert found.error < 0.03 * exact * math.sqrt(600_000 / PARTIES)


PRINTED = [
    (LIGHT, "order=oldest", 2.629),
    (LIGHT, "order=head_of_line", 2.668),
    (LIGHT, "shape=mirrored", 5.060),
    (HEAVY, "order=oldest", 4.03),
    (FIVE, "order=oldest", 4.578),
    (FIVE, "order=largest", 4.569),
    (FIVE, "order=smallest", 4.587),
    (FIVE, "order=max_weight", 4.586),
    (FIVE, "shape=mirrored", 11.56),
    (FIVE_MORE, "order=oldest", 5.34),
    (FIVE_MORE, "order=largest", 5.24),
    (FIVE_MORE, "order=smallest", 5.41),
    (FIVE_MORE, "order=max_weight", 5.38),
    (FIVE_MORE, "order=head_of_line", 5.65),
    (FIVE_EDGE, "order=oldest", 9.06),
    (FIVE_EDGE, "order=largest", 8.75),
    (FIVE_EDGE, "order=smallest", 9.39),
    (FIVE_EDGE, "order=max_weight", 9.24),
    (FIVE_EDGE, "order=head_of_line", 10.2),
]


@pytest.mark.parametrize(("rates", "spec", "printed"), PRINTED)
def test_mean_is_the_one_that_was_simulated_before(
    rates: tuple[float, ...], spec: str, printed: float
) -> None:
    found = run(against(rates), spec, scaled(rates))
    rounding = 0.5 * 10.0 ** -len(str(printed).partition(".")[2])
    error = found.error * math.sqrt(1.0 + PARTIES / PRINTED_OF)
    assert found.mean == pytest.approx(printed, abs=3 * error + rounding)
    assert found.error < 0.03 * printed


def solo_pair(one: Fraction, two: Fraction) -> tuple[Fraction, Fraction]:
    """Return the exact mean waits of solos and pairs, whatever the order."""
    both = one + two
    solo = (3 * one**2 + 3 * one * two + two**2) / (2 * one * both**2)
    return solo, (3 * one + 2 * two) / (4 * both**2)


TWO_AGAINST_TWO = [
    (Fraction(1), Fraction(1), Fraction(5, 8), Fraction(59, 80)),
    (Fraction(1, 5), Fraction(2, 5), Fraction(31, 4), Fraction(12401, 1404)),
    (Fraction(1, 2), Fraction(1, 4), Fraction(53, 12), Fraction(565, 108)),
    (Fraction(4, 5), Fraction(1, 10), Fraction(88, 27), Fraction(107021, 29889)),
    (Fraction(3), Fraction(1), Fraction(379, 2400), Fraction(30077, 163200)),
]


@pytest.mark.parametrize(("one", "two", "fifo", "lifo"), TWO_AGAINST_TWO)
def test_two_against_two_have_the_exact_means_and_variances(
    one: Fraction, two: Fraction, fifo: Fraction, lifo: Fraction
) -> None:
    queue, rates = Queue(format=Format((2, 2))), (float(one), float(two))
    solo, pair = solo_pair(one, two)
    for order, var in (("oldest", fifo), ("packing", fifo), ("lifo", lifo)):
        found = run(queue, f"order={order}", rates)
        assert found.mean == pytest.approx(1.5 / float(one + 2 * two), abs=3 * found.error)
        assert found.var == pytest.approx(float(var), abs=3 * found.var_error), order
        expect_classes(found, (solo, pair))


@pytest.mark.parametrize(
    ("one", "two", "var"),
    [(1.0, 1.0, Fraction(59, 36)), (0.2, 0.4, Fraction(95, 4)), (0.5, 0.25, Fraction(47, 4))],
)
def test_two_queues_of_their_own_have_the_exact_variance(
    one: float, two: float, var: Fraction
) -> None:
    rng = np.random.default_rng(7)
    waits, sizes = [], []
    for size, rate in ((1, one), (2, two)):
        count = int(PARTIES * rate / (one + two))
        queue = Queue(format=Format((2, 2), party_sizes=(size,)))
        times = np.cumsum(rng.exponential(1.0 / rate, count))
        players = np.full(count, size)
        waited = serve(queue, parse_policy("first_come"), times, players).waits(times)
        waits.append(waited[~np.isnan(waited)])
        sizes.append(players[~np.isnan(waited)])
    solos, pairs = (measure(w, s, 0 * s) for w, s in zip(waits, sizes, strict=True))
    expect_classes(solos, [Fraction(3, 2) / Fraction(one)])
    expect_classes(pairs, [Fraction(1, 2) / Fraction(two)])
    # Players of both together: the mean of both, and what lies between their means.
    share = one / (one + 2.0 * two)
    mean = share * solos.mean + (1.0 - share) * pairs.mean
    between = share * (1.0 - share) * (solos.mean - pairs.mean) ** 2
    assert mean == pytest.approx(2.5 / (one + 2.0 * two), rel=0.01)
    assert share * solos.var + (1.0 - share) * pairs.var + between == pytest.approx(
        float(var), rel=0.02
    )


@pytest.mark.parametrize(
    ("a", "b", "flexible", "means"),
    [
        (0.3, 0.3, 0.4, (Fraction(175, 116), Fraction(175, 116), Fraction(10, 29))),
        (0.4, 0.3, 0.3, (Fraction(100, 27), Fraction(175, 162), Fraction(20, 81))),
    ],
)
def test_duels_on_sides_have_the_exact_means(
    a: float, b: float, flexible: float, means: tuple[Fraction, Fraction, Fraction]
) -> None:
    queue = Queue(format=Format((1, 1), ("A", "B")))
    found = run(queue, "order=oldest", (a, b, flexible), sizes=(1, 1, 1), sides=(1, 2, 0))
    whole = float(sum(Fraction(str(r)) * m for r, m in zip((a, b, flexible), means, strict=True)))
    assert found.mean == pytest.approx(whole, abs=3 * found.error)
    expect_classes(found, means)
