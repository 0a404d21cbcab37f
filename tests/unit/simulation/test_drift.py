"""Classes that become more or fewer over a run: where they turn, how many come, and who."""

import math
from collections import Counter

import numpy as np
import pytest

from evenmatch.config.files import parse_scenario
from evenmatch.errors import ConfigError
from evenmatch.model.scenario import ArrivalClass, Arrivals
from evenmatch.simulation.arrivals.arrivals import arrivals_of
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.arrivals.times import RateLines, inverse_of_lines

SEED = 20


def made(arrivals: Arrivals) -> list[Arrival]:
    return list(arrivals_of(arrivals, np.random.SeedSequence(SEED)))


def wished(kind: ArrivalClass, side: str) -> ArrivalClass:
    return ArrivalClass(kind.rate, kind.share, kind.drift, attributes={"side": side})


RISING = ArrivalClass(share=0.2, drift=((1000.0, 0.6), (3000.0, 0.2)))
FALLING = ArrivalClass(share=0.8, drift=((1000.0, 0.4), (3000.0, 0.8)))


def test_amount_moves_along_straight_lines_and_stays_at_the_last() -> None:
    amounts = [RISING.amount(at) for at in (0.0, 500.0, 1000.0, 2000.0, 3000.0, 9000.0)]
    assert amounts == pytest.approx([0.2, 0.4, 0.6, 0.4, 0.2, 0.2])


def test_lines_of_all_classes_agree_with_each_class() -> None:
    lines = RateLines([RISING, FALLING])
    times = np.linspace(0.0, 4000.0, 41)
    expected = [[each.amount(at) for at in times.tolist()] for each in (RISING, FALLING)]
    assert lines.amounts(times) == pytest.approx(np.array(expected))
    assert lines.totals() == pytest.approx([1.0, 1.0, 1.0])


def test_inverse_is_where_the_integral_of_the_rates_reaches_a_number() -> None:
    classes = (
        ArrivalClass(rate=2.0, drift=((10.0, 0.0), (20.0, 0.0), (30.0, 4.0))),
        ArrivalClass(rate=1.0, drift=((5.0, 0.0),)),
    )
    inverse = inverse_of_lines(classes)
    fine = np.linspace(0.0, 60.0, 600_001)
    rates = RateLines(classes).amounts(fine).sum(axis=0)
    steps = (rates[:-1] + rates[1:]) / 2.0 * np.diff(fine)
    reached = np.concatenate([[0.0], np.cumsum(steps)])
    points = np.array([0.1, 1.0, 7.5, 12.0, 12.6, 13.0, 30.0, 100.0])
    # Nobody comes from 10 to 20 s, so the comparison is by numbers, not by instants.
    assert np.interp(inverse(points), fine, reached) == pytest.approx(points, abs=1e-6)
    assert inverse(np.array([12.6]))[0] > 20.0


def test_nobody_comes_once_all_rates_have_fallen_to_nothing() -> None:
    falling = ArrivalClass(rate=2.0, drift=((1000.0, 0.0),))
    at = [each.at for each in made(Arrivals(classes=(falling,), count=5_000))]
    assert max(at) <= 1000.0
    assert abs(len(at) - 1000) < 4 * math.sqrt(1000)


def test_classes_come_in_their_shares_of_the_moment() -> None:
    kinds = (wished(RISING, "A"), wished(FALLING, "B"))
    came = made(Arrivals(rate=10.0, duration=3000.0, classes=kinds))
    for start in range(0, 3000, 500):
        some = [a for a in came if start <= a.at < start + 500]
        expected = (RISING.amount(start) + RISING.amount(start + 500)) / 2.0
        share = sum(a.ticket.attributes["side"] == "A" for a in some) / len(some)
        # 4 standard errors of a share; 5,000 tickets each.
        assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / len(some))


def test_rates_that_drift_make_as_many_as_they_say() -> None:
    kind = ArrivalClass(rate=1.0, drift=((1000.0, 3.0), (2000.0, 1.0)))
    other = ArrivalClass(rate=1.0)
    came = made(Arrivals(duration=3000.0, classes=(wished(kind, "A"), wished(other, "B"))))
    counts = Counter(each.ticket.attributes["side"] for each in came)
    # 2,000 on average over each of two slopes and 1,000 after them; Poisson, 4 standard errors.
    assert abs(counts["A"] - 5_000) < 4 * math.sqrt(5_000)
    assert abs(counts["B"] - 3_000) < 4 * math.sqrt(3_000)


def test_drift_to_where_one_is_already_changes_nothing() -> None:
    plain = (ArrivalClass(share=0.3), ArrivalClass(share=0.7, size=2))
    still = tuple(
        ArrivalClass(share=each.share, drift=((50.0, each.share or 0.0),), size=each.size)
        for each in plain
    )
    several = Arrivals(rate=5.0, count=10_000, classes=plain)
    assert made(several) == made(Arrivals(rate=5.0, count=10_000, classes=still))


CLASS = "[[arrivals.classes]]\n"
HEAD = "[[queue]]\n[arrivals]\n"


def test_file_says_drift_as_pairs() -> None:
    text = f"{HEAD}count = 5\n{CLASS}rate = 0\ndrift = [[10, 2], [20, 0.5]]"
    built = parse_scenario(text).arrivals
    assert built is not None
    assert built.classes == (ArrivalClass(rate=0.0, drift=((10.0, 2.0), (20.0, 0.5))),)


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        (
            f"rate = 1\ncount = 5\n{CLASS}share = 0.5\ndrift = [[9, 0.4]]\n{CLASS}share = 0.5",
            "have shares that sum to 0.9 at 9 s; they must sum to 1",
        ),
        (
            f"count = 5\n{CLASS}rate = 1\ndrift = [[9, 2], [9, 3]]",
            "drift[1] must be at an instant later than 9 s",
        ),
        (f"count = 5\n{CLASS}rate = 1\ndrift = [[0, 2]]", "drift[0] must be at an instant later"),
        (f"count = 5\n{CLASS}rate = 1\ndrift = [[1, -2]]", "drift[0][1] must be between 0 and"),
        (f"count = 5\n{CLASS}rate = 1\ndrift = [[1]]", "drift"),
        (f"count = 5\n{CLASS}rate = 0", "rate must be between 1e-9"),
        (f"count = 5\n{CLASS}rate = 0\ndrift = [[1, 0]]", "are all 0, so nobody would arrive"),
        (
            f"count = 5\n{CLASS}rate = 1\ndrift = [[1, 0]]\n{CLASS}rate = 0\ndrift = [[2, 0]]",
            "arrivals.duration is missing; rates that all fall to 0 end arrivals at an instant",
        ),
        (
            f'process = "hourly"\nhours = {[1] * 24}\ncount = 5\n{CLASS}rate = 1\ndrift = [[1, 2]]',
            "must have shares, not rates, to drift",
        ),
        (
            f"rate = 1\ncount = 5\n{CLASS}share = 1\ndrift = [[1, 1.5]]",
            "drift[0][1] must be between 0 and 1",
        ),
        (
            f"duration = 1e8\n{CLASS}rate = 0\ndrift = [[1e8, 2]]",
            "gives about 100,000,000 tickets",
        ),
        (
            f"count = 5\n{CLASS}rate = 1\ndrift = {[[i, 1] for i in range(1, 1002)]}",
            "must have at most 1,000 entries, got 1,001",
        ),
    ],
)
def test_drift_that_cannot_be_is_refused_with_a_sentence(text: str, fragment: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_scenario(HEAD + text)
    assert fragment in str(caught.value)
