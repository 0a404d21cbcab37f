import math

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.theory.graph import compatibility_graph
from evenmatch.theory.graph_laws import graph_laws
from tests.unit.theory.matching_chain import seed_of, simulate


def bands(count):
    """Return bands of skill that meet their neighbours."""
    rates = {f"b{i}": 0.1 for i in range(count)}
    return rates, [(f"b{i}", f"b{j}") for i in range(count) for j in (i, i + 1) if j < count]


SIDES = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "c")]
PAW = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")]
ZONES = [("a", "a"), ("b", "b"), ("a", "c"), ("b", "c"), ("c", "c")]
WORLDS = [
    ({"a": 0.4, "b": 0.3, "c": 0.3}, SIDES),
    ({"a": 0.3, "b": 0.3, "c": 0.3, "d": 0.1}, PAW),
    ({"a": 0.5, "b": 0.3, "c": 0.2}, ZONES),
    bands(8),
]


@pytest.mark.parametrize(("rates", "edges"), WORLDS)
def test_moments_are_those_of_the_recursion(rates, edges) -> None:
    laws = graph_laws(rates=rates, edges=edges)
    found = compatibility_graph(rates=rates, edges=edges)
    assert laws.everybody.mean == pytest.approx(found.mean, rel=1e-11)
    assert laws.everybody.var == pytest.approx(found.var, rel=1e-11)
    assert laws.everybody.p_no_wait == pytest.approx(0.5, abs=1e-12)
    for name in rates:
        assert laws.classes[name].mean == pytest.approx(found.means[name], rel=1e-11)
        assert laws.classes[name].var == pytest.approx(found.vars[name], rel=1e-11)
        assert laws.classes[name].p_no_wait == pytest.approx(found.p_no_wait[name], rel=1e-11)


def test_those_who_wait_for_a_side_wait_an_exponential_time() -> None:
    laws = graph_laws(rates={"a": 0.4, "b": 0.3, "c": 0.3}, edges=SIDES)
    times = np.array([0.1, 1.0, 7.0, 40.0])
    for name, spare in (("a", 0.2), ("b", 0.4), ("c", 1.0)):
        law = laws.classes[name]
        exact = (1 - law.p_no_wait) * np.exp(-spare * times)
        assert law.survival(times) == pytest.approx(exact, rel=1e-11)
        quantile = math.log((1 - law.p_no_wait) / 0.05) / spare
        assert law.quantile(0.95) == pytest.approx(quantile, rel=1e-10)


@pytest.mark.parametrize(("rates", "edges"), WORLDS)
def test_cdf_equals_a_simulation(rates, edges) -> None:
    laws = graph_laws(rates=rates, edges=edges)
    drawn = simulate(rates, edges, 120_000, seed_of("laws of graphs"))
    for name, law in [("", laws.everybody), *laws.classes.items()]:
        for p in (0.7, 0.9, 0.98):
            at = law.quantile(p)
            batches = [(part <= at).mean() for part in np.array_split(drawn[name].waits, 30)]
            error = np.std(batches, ddof=1) / 30**0.5
            assert abs(np.mean(batches) - max(p, law.p_no_wait)) < 4.5 * error


def test_density_is_the_slope_of_the_cdf() -> None:
    law = graph_laws(rates={"a": 0.5, "b": 0.3, "c": 0.2}, edges=ZONES).everybody
    for at in (0.5, 2.0, 6.0):
        slope = (law.cdf(at + 1e-5) - law.cdf(at - 1e-5)) / 2e-5
        assert law.density(at) == pytest.approx(slope, rel=1e-7)


def test_median_of_all_is_no_wait() -> None:
    figures = graph_laws(rates={"a": 0.5, "b": 0.3, "c": 0.2}, edges=ZONES).figures()
    assert figures["p50"] == 0.0
    assert 0 < figures["classes"]["b"]["p50"] < figures["classes"]["b"]["p90"]


def test_class_that_never_comes_has_the_law_of_a_single_player() -> None:
    laws = graph_laws(rates={"a": 1, "b": 0, "lost": 0}, edges=[("a", "a"), ("a", "b"), ("b", "b")])
    assert set(laws.classes) == {"a", "b"}
    assert laws.classes["b"].quantile(0.9) == pytest.approx(laws.classes["a"].quantile(0.9))
    assert laws.everybody.mean == pytest.approx(0.5)


def test_unstable_and_large_graphs_say_why_not() -> None:
    with pytest.raises(ConfigError, match=r"waits have no law: a exceed b by 1/s"):
        graph_laws(rates={"a": 2, "b": 1}, edges=[("a", "b")])
    rates, edges = bands(16)
    with pytest.raises(ConfigError, match=r"laws are for at most 1,000 sets .* has 2,584"):
        graph_laws(rates=rates, edges=edges)
