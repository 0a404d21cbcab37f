from fractions import Fraction

import pytest

from evenmatch.errors import ConfigError
from evenmatch.theory.graph import compatibility_graph
from evenmatch.theory.zones import figure_12, figure_13, stationary_law, zones
from tests.unit.theory.matching_chain import chain, seed_of, simulate

EDGES = [
    ("junior", "junior"),
    ("expert", "expert"),
    ("flexible", "junior"),
    ("flexible", "expert"),
    ("flexible", "flexible"),
]

CHECKED = [  # junior, expert, flexible; the same of the reference, and of all players
    ((0.3, 0.3, 0.4), ("10/11", "10/11", "35/88", "31/44")),
    ((0.5, 0.3, 0.2), ("43/53", "65/53", "35/106", "89/106")),
]


@pytest.mark.parametrize(("rates", "means"), CHECKED)
def test_zones_equal_the_checked_fractions(rates, means) -> None:
    exact = zones(junior=rates[0], expert=rates[1], flexible=rates[2]).exact
    keys = ("mean_junior", "mean_expert", "mean_flexible", "mean")
    assert tuple(exact[key] for key in keys) == means


def test_zones_with_hardly_any_flexible_equal_the_reference() -> None:
    assert zones(junior=0.6, expert=0.3, flexible=0.1).exact["mean"] == "437/478"
    found = zones(junior=0.8, expert=0.2, flexible=0.001)
    assert round(found.mean_expert, 5) == 2.49376
    assert round(found.mean_flexible, 5) == 0.25040


GRID = [(a, b, c) for a in (0, 1, 2, 5) for b in (0, 1, 3) for c in (0, 1, 7) if a + b + c]


@pytest.mark.parametrize(("a", "b", "c"), GRID)
def test_zones_are_the_graph_exactly(a, b, c) -> None:
    found = zones(junior=a, expert=b, flexible=c)
    rates = {"junior": a, "expert": b, "flexible": c}
    graph = compatibility_graph(rates=rates, edges=EDGES)
    assert found.exact["mean"] == graph.exact["mean"]
    for name in rates:
        assert found.exact.get(f"mean_{name}") == graph.exact["means"].get(name)


def test_mean_is_the_one_fraction_it_collapses_to() -> None:
    for a, b, c in GRID:
        if a * b * c:
            below = 2 * a * a * b + a * a * c + 2 * a * b * b + 5 * a * b * c + 2 * a * c * c
            below += b * b * c + 2 * b * c * c + c**3
            above = 4 * a * a * b + a * a * c + 4 * a * b * b + 9 * a * b * c + 2 * a * c * c
            above += b * b * c + 2 * b * c * c + c**3
            mean = Fraction(above, 2 * (a + b + c) * below)
            assert zones(junior=a, expert=b, flexible=c).exact["mean"] == str(mean)


def test_first_flexible_expert_saves_most_where_the_junior_zone_is_crowded() -> None:
    for junior in (0.1, 0.5, 0.8):
        found = zones(junior=junior, expert=1 - junior, flexible=0)
        assert found.improvement == pytest.approx((1 - junior) / 2, abs=1e-12)


def test_equal_zones_give_the_papers_short_form() -> None:
    found = zones(junior=0.3, expert=0.3, flexible=0.4)
    assert Fraction(found.exact["improvement"]) == Fraction(7, 16)  # (b + c) / (4b + c)


def test_flexible_players_help_all_together_and_not_those_who_stay_experts() -> None:
    shares = [Fraction(0), Fraction(1, 10), Fraction(3, 10), Fraction(1, 2)]
    found = [zones(junior=0.5, expert=(1 - p) / 2, flexible=p / 2) for p in shares]
    assert [round(each.mean_expert, 3) for each in found] == [1.000, 1.051, 1.164, 1.294]
    assert [round(each.mean, 3) for each in found] == [1.000, 0.962, 0.882, 0.794]


def test_class_that_nobody_could_meet_never_plays() -> None:
    found = zones(junior=0, expert=2, flexible=0)
    assert found.mean_junior is None
    assert "mean_junior" not in found.exact
    assert (found.mean, found.mean_expert, found.p0) == (0.25, 0.25, 0.5)
    assert zones(junior=2, expert=0, flexible=0).improvement is None


def test_stationary_law_is_that_of_the_chain() -> None:
    rates = {"junior": 0.5, "expert": 0.3, "flexible": 0.2}
    law = stationary_law(**rates)
    assert sum(law.values()) == 1
    cut, means, chances = chain(rates, EDGES, 3)
    assert cut == 0  # two wait at most, so nothing was cut
    junior = law["junior"] + law["junior_expert"] + law["expert_junior"]
    assert float(junior) == pytest.approx(0.5 * means["junior"], abs=1e-12)
    assert 1 - float(law["nobody"]) == pytest.approx(chances["flexible"], abs=1e-12)


def test_zones_equal_a_simulation() -> None:
    rng = seed_of("zones")
    for _ in range(3):
        shares = rng.dirichlet([2, 2, 1])
        rates = dict(zip(("junior", "expert", "flexible"), shares.tolist(), strict=True))
        found = zones(**rates)
        drawn = simulate(rates, EDGES, 100_000, rng)
        print(rates, found.mean, drawn[""])
        for name in ("", *rates):
            exact = getattr(found, f"mean_{name}" if name else "mean")
            assert abs(drawn[name].mean - exact) < (4 if name else 3) * drawn[name].error


def test_figures_have_the_papers_corners() -> None:
    ratio = {(junior, flexible): q for junior, flexible, q in figure_12(20)}
    assert ratio[0.8, 0.0] == pytest.approx(0.1)
    assert ratio[0.3, 0.4] == pytest.approx(7 / 16)
    mean = {(junior, expert): wait for junior, expert, wait in figure_13(20)}
    assert mean[0.3, 0.3] == pytest.approx(31 / 44)
    assert mean[0.0, 0.0] == mean[1.0, 0.0] == 0.5
    for (junior, expert), wait in mean.items():
        flexible = 1 - Fraction(str(junior)) - Fraction(str(expert))
        found = zones(junior=junior, expert=expert, flexible=flexible)
        assert found.mean == pytest.approx(wait, abs=1e-12)


@pytest.mark.parametrize(("a", "b", "c"), [(-1, 1, 1), (0, 0, 0)])
def test_bad_rates_are_refused(a, b, c) -> None:
    with pytest.raises(ConfigError, match="must"):
        zones(junior=a, expert=b, flexible=c)
