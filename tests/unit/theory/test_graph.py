import itertools
import math
import time

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.theory import graph, independent_sets
from evenmatch.theory.flexibility import flexibility
from evenmatch.theory.graph import compatibility_graph
from evenmatch.theory.graph_laws import graph_laws
from tests.extent import extent, more
from tests.unit.theory.matching_chain import chain, seed_of, simulate

TRIANGLE = [("a", "b"), ("b", "c"), ("a", "c")]
PAW = [*TRIANGLE, ("c", "d")]
CYCLE = [(str(i), str((i + 1) % 5)) for i in range(5)]
BELL = [0.02, 0.05, 0.10, 0.16, 0.17, 0.17, 0.16, 0.10, 0.05, 0.02]


def bands(rates, width):
    """Return a graph of skill bands that meet up to `width` bands away."""
    n = len(rates)
    return {
        "rates": {f"b{i}": rate for i, rate in enumerate(rates)},
        "edges": [(f"b{i}", f"b{j}") for i in range(n) for j in range(i, min(n, i + width + 1))],
    }


def regions(width_flexible=1):
    """Return three regions of six bands, and a flexible class per band that plays in all."""
    rates = {f"{region}{band}": 0.75 / 18 for region in "xyz" for band in range(6)}
    rates |= {f"f{band}": 0.25 / 6 for band in range(6)}

    def meet(one, other):
        near = abs(int(one[1]) - int(other[1])) <= (width_flexible if "f" in one + other else 1)
        return near and (one[0] == other[0] or "f" in one[0] + other[0])

    pairs = itertools.combinations_with_replacement(rates, 2)
    return {"rates": rates, "edges": [pair for pair in pairs if meet(*pair)]}


@pytest.mark.parametrize(
    ("rates", "edges", "mean"),
    [
        ({"a": 1, "b": 1, "c": 1}, TRIANGLE, "1/2"),
        ({"a": 0.45, "b": 0.35, "c": 0.2}, TRIANGLE, "499/126"),
        (dict.fromkeys("01234", 0.2), CYCLE, "15/4"),
        ({"a": 0.3, "b": 0.3, "c": 0.3, "d": 0.1}, PAW, "95/36"),
    ],
)
def test_small_graphs_equal_the_checked_fractions(rates, edges, mean) -> None:
    assert compatibility_graph(rates=rates, edges=edges).exact["mean"] == mean


def test_skill_bands_equal_the_checked_numbers() -> None:
    assert compatibility_graph(**bands([0.1] * 10, 1)).exact["mean"] == "201939/101042"
    assert round(compatibility_graph(**bands([0.1] * 10, 3)).mean, 6) == 0.994697
    narrow, wide = (compatibility_graph(**bands(BELL, width)) for width in (1, 2))
    assert round(narrow.mean, 6) == 1.820082
    assert (round(narrow.means["b0"], 2), round(narrow.means["b4"], 2)) == (9.58, 1.08)
    assert round(wide.mean, 6) == 1.079112
    assert round(wide.means["b9"], 2) == 4.38


LOOPED = [
    ({"x": 0.3, "y": 0.5}, [("x", "x"), ("y", "y"), ("x", "y")]),
    ({"x": 0.3, "y": 0.5, "z": 1.7}, [("x", "x"), ("y", "y"), ("z", "z"), ("x", "z")]),
    (
        {"v": 0.4, "w": 0.1, "x": 0.3, "y": 0.5, "z": 1.7},
        [*((each, each) for each in "vwxyz"), ("v", "w"), ("w", "x"), ("x", "y"), ("v", "z")],
    ),
]


@pytest.mark.parametrize(("rates", "edges"), LOOPED)
def test_finite_chains_give_the_same_ten_digits(rates, edges) -> None:
    cut, means, chances = chain(rates, edges, len(rates) + 1)
    assert cut == 0
    found = compatibility_graph(rates=rates, edges=edges)
    for name in rates:
        assert found.means[name] == pytest.approx(means[name], rel=1e-10)
        assert found.p_no_wait[name] == pytest.approx(chances[name], rel=1e-10)


@more
def test_infinite_chains_that_are_cut_far_out_give_the_same() -> None:
    cases = [
        ({"a": 1.0, "b": 1.2, "c": 1.1}, TRIANGLE, 100),
        (
            {"a": 1.0, "b": 1.2, "c": 3.0, "d": 0.2},
            [*PAW, ("a", "a"), ("b", "b"), ("c", "c")],
            18,
        ),
        ({"x": 0.2, "y": 1.0, "z": 0.3}, [("x", "y"), ("y", "y"), ("z", "y"), ("z", "z")], 40),
    ]
    for rates, edges, longest in cases[:: extent(2, 1)]:
        cut, means, chances = chain(rates, edges, longest)
        found = compatibility_graph(rates=rates, edges=edges)
        for name in rates:
            assert found.means[name] == pytest.approx(means[name], rel=1e-10)
            assert found.p_no_wait[name] == pytest.approx(chances[name], rel=1e-10)
        assert cut < 1e-12


def random_graph(rng):
    """Return a stable graph of three to six classes."""
    while True:
        names = "uvwxyz"[: rng.integers(3, 7)]
        pairs = list(itertools.combinations_with_replacement(names, 2))
        edges = [pair for pair in pairs if rng.random() < 0.5]
        rates = dict(zip(names, rng.uniform(0.1, 1, len(names)).tolist(), strict=True))
        found = compatibility_graph(rates=rates, edges=edges)
        # Nearly unstable graphs would need far longer runs.
        if found.stable and all(each.margin > 0.3 for each in found.margins):
            return rates, edges, found


def test_random_graphs_equal_a_simulation() -> None:
    rng = seed_of("random graphs")
    for _ in range(3):
        rates, edges, found = random_graph(rng)
        drawn = simulate(rates, edges, 120_000, rng)
        print(rates, edges, found.mean, drawn[""])
        assert abs(drawn[""].mean - found.mean) < 3 * drawn[""].error
        for name, chance in found.p_no_wait.items():
            assert abs(drawn[name].mean - found.means[name]) < 4.5 * drawn[name].error
            # Waits in a row depend on each other; a hundredth is some eight errors of free draws.
            assert abs(drawn[name].at_once - chance) < 0.02


def test_variance_of_sides_is_that_of_a_zero_or_exponential_wait() -> None:
    edges = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "c")]
    found = compatibility_graph(rates={"a": 0.4, "b": 0.3, "c": 0.3}, edges=edges)
    for name, spare in (("a", 0.2), ("b", 0.4), ("c", 1.0)):
        mean = found.means[name]
        assert found.vars[name] == pytest.approx(2 * mean / spare - mean**2, rel=1e-13)


def test_variance_of_one_pool_is_that_of_two_players() -> None:
    found = compatibility_graph(rates={"x": 2}, edges=[("x", "x")])
    assert (found.exact["mean"], found.exact["var"]) == ("1/4", "3/16")


def test_variances_equal_a_simulation() -> None:
    world = bands([0.1, 0.2, 0.3, 0.2, 0.2], 1)
    found = compatibility_graph(**world)
    drawn = simulate(world["rates"], world["edges"], 150_000, seed_of("variances"))
    for name, var in [("", found.var), *found.vars.items()]:
        batches = [part.var() for part in np.array_split(drawn[name].waits, 30)]
        error = np.std(batches, ddof=1) / 30**0.5
        assert abs(np.mean(batches) - var) < 4 * error


def test_floats_and_fractions_agree() -> None:
    for world in (bands(BELL, 1), {"rates": {"a": 9, "b": 7, "c": 4}, "edges": TRIANGLE}):
        exactly = compatibility_graph(**world, exact=True)
        roughly = compatibility_graph(**world, exact=False)
        assert (bool(exactly.exact), roughly.exact) == (True, {})
        assert roughly.mean == pytest.approx(exactly.mean, rel=1e-13)
        for name, mean in exactly.means.items():
            assert roughly.means[name] == pytest.approx(mean, rel=1e-13)
            assert roughly.p_no_wait[name] == pytest.approx(exactly.p_no_wait[name], rel=1e-13)
            assert roughly.vars[name] == pytest.approx(exactly.vars[name], rel=1e-12)


def test_half_of_all_players_never_wait() -> None:
    world = regions()
    found = compatibility_graph(**world)
    at_once = sum(world["rates"][name] * p for name, p in found.p_no_wait.items())
    assert at_once == pytest.approx(0.5, abs=1e-13)


def test_24_classes_take_less_than_ten_seconds() -> None:
    start = time.thread_time()
    found = compatibility_graph(**regions(width_flexible=0))
    assert time.thread_time() - start < 10
    assert len(found.means) == 24
    assert found.independent_sets > 15_687  # more than the graph of the reference


def test_flexible_players_wait_less_than_others_of_their_band() -> None:
    means = compatibility_graph(**regions()).means
    for band in range(6):
        assert means[f"f{band}"] < 0.7 * means[f"x{band}"]
        assert means[f"x{band}"] == pytest.approx(means[f"z{band}"])


def test_parts_that_never_meet_wait_as_if_alone() -> None:
    zones = 25
    rates = {f"z{i}": i + 1.0 for i in range(zones)}
    found = compatibility_graph(rates=rates, edges=[(name, name) for name in rates])
    for name, rate in rates.items():
        assert found.means[name] == pytest.approx(0.5 / rate)
    assert found.independent_sets == 2 * zones
    assert found.margins == ()


def test_class_of_rate_zero_gets_the_wait_of_a_single_player() -> None:
    rates = {"a": 1.0, "b": 1.2, "c": 0.9, "d": 0.0}
    alone = compatibility_graph(rates=rates, edges=PAW)
    some = compatibility_graph(rates={**rates, "d": 1e-9}, edges=PAW)
    assert alone.stable
    assert alone.means["d"] == pytest.approx(some.means["d"], rel=1e-7)
    without = compatibility_graph(rates={x: rates[x] for x in "abc"}, edges=TRIANGLE)
    assert alone.mean == pytest.approx(without.mean, rel=1e-13)


def test_class_that_only_meets_itself_and_never_comes_would_never_play() -> None:
    found = compatibility_graph(rates={"a": 1, "b": 0}, edges=[("a", "a"), ("b", "b")])
    assert (found.mean, found.means["a"], found.means["b"]) == (0.5, 0.5, None)
    assert found.p_no_wait["b"] is None


def test_two_sides_without_flexible_players_are_unstable() -> None:
    pairs = [(x, y) for x in "ab" for y in "cd"]
    equal = compatibility_graph(rates={"a": 1, "b": 2, "c": 2, "d": 1}, edges=pairs)
    assert (equal.stable, equal.kind, equal.growth) == (False, "null recurrent", 0.0)
    assert equal.starved == ("a", "b", "c", "d")
    more = compatibility_graph(rates={"a": 1, "b": 2.5, "c": 2, "d": 1}, edges=pairs)
    assert (more.kind, more.growth, more.starved) == ("transient", 0.5, ("a", "b"))
    assert (more.mean, more.means, more.p_no_wait, more.exact) == (None, None, None, {})
    assert more.margins[0].text == ("a and b exceed c and d by 0.5/s, and may meet nobody else")


def test_growth_of_an_unstable_graph_is_what_a_simulation_shows() -> None:
    rates = {"a": 0.3, "b": 0.3, "c": 0.3, "d": 0.5}
    found = compatibility_graph(rates=rates, edges=PAW)
    assert (found.growth, found.starved) == (0.2, ("d",))
    drawn = simulate(rates, PAW, 70_000, seed_of("growth of a graph"))
    assert abs(drawn[""].waiting - 0.2 * 50_000) < 4 * math.sqrt(70_000)


def test_isolated_class_is_said_to_meet_nobody() -> None:
    found = compatibility_graph(rates={"a": 1, "lonely": 0.25}, edges=[("a", "a")])
    assert (found.kind, found.growth, found.starved) == ("transient", 0.25, ("lonely",))
    assert found.margins[0].text == "lonely may meet nobody, and 0.25/s come"


def test_margins_are_the_tightest_conditions_and_no_sums_of_others() -> None:
    found = compatibility_graph(rates={"a": 0.3, "b": 0.3, "c": 0.3, "d": 0.1}, edges=PAW)
    sets = {each.classes: float(each.margin) for each in found.margins}
    assert sets == pytest.approx(
        {("d",): 0.2, ("a", "d"): 0.2, ("b", "d"): 0.2, ("a",): 0.3, ("b",): 0.3, ("c",): 0.4}
    )
    assert found.margins[0].text == "d may grow by 0.2/s before they outnumber c"
    apart = {"rates": {"a": 2, "b": 1, "x": 2, "y": 1}, "edges": [("a", "b"), ("x", "y")]}
    both = compatibility_graph(**apart)
    assert [each.classes for each in both.margins[:2]] == [("a",), ("x",)]
    assert (both.growth, both.starved) == (2.0, ("a", "x"))


def test_boundary_is_decided_by_the_digits_and_not_by_floats() -> None:
    # In floats, 0.1 + 0.2 > 0.3.
    edges = [("a", "c"), ("b", "c")]
    found = compatibility_graph(rates={"a": 0.1, "b": 0.2, "c": 0.3}, edges=edges)
    assert (found.kind, found.growth) == ("null recurrent", 0.0)


def test_figures_are_plain_values() -> None:
    figures = compatibility_graph(rates={"a": 1, "b": 2, "c": 2}, edges=TRIANGLE).figures()
    assert set(figures) >= {"stable", "mean", "means", "p_no_wait", "margins", "exact"}
    assert figures["margins"][0] == {
        "set": ["b"],
        "margin": 1.0,
        "text": "b may grow by 1/s before they outnumber a and c",
    }


@pytest.mark.parametrize(
    ("world", "sentence"),
    [
        ({"rates": {"a": -1}, "edges": []}, "rate of a must be 0 or from"),
        ({"rates": {"a": 0}, "edges": []}, "rate of a must not all be 0"),
        ({"rates": {}, "edges": []}, "rates must give the rates of 1 to 60 classes by name"),
        ({"rates": [1, 2], "edges": []}, "rates must give the rates of 1 to 60 classes"),
        ({"rates": {"": 1}, "edges": []}, "a class must have a name of 1 to 100 characters"),
        ({"rates": {"a": "1"}, "edges": []}, "rate of a must be a number per second, got '1'"),
        (
            {"rates": dict.fromkeys(map(str, range(61)), 1.0), "edges": []},
            "rates must give the rates of 1 to 60 classes",
        ),
        ({"rates": {"a": 1}, "edges": {"a": "a"}}, "edges must be a list of pairs of classes"),
        ({"rates": {"a": 1}, "edges": ["aa"]}, "an edge must be a pair of classes, got aa"),
        ({"rates": {"a": 1}, "edges": [["a"]]}, "an edge must be a pair of classes"),
        (
            {"rates": {"a": 1}, "edges": [["a", "b"]]},
            r"an edge must join classes that have rates \(a\), got 'b'",
        ),
    ],
)
def test_bad_graphs_are_one_sentence(world, sentence) -> None:
    with pytest.raises(ConfigError, match=sentence) as raised:
        compatibility_graph(**world)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("formula", [compatibility_graph, graph_laws, flexibility])
@pytest.mark.parametrize("edges", [5, "ab", {"a": "b"}, [3], ["ab"], [["a", "b", "a"]]])
def test_edges_that_are_no_pairs_are_refused_alike(formula, edges) -> None:
    with pytest.raises(ConfigError, match=r"an edge must be a pair|edges must be a list of pairs"):
        formula(rates={"a": 1, "b": 2}, edges=edges)


def test_edges_may_be_given_in_both_orders() -> None:
    world = bands([0.1, 0.2, 0.3], 1)
    twice = [*world["edges"], *((y, x) for x, y in world["edges"])]
    assert compatibility_graph(rates=world["rates"], edges=twice) == compatibility_graph(**world)


def test_too_many_independent_sets_say_what_to_do(monkeypatch) -> None:
    monkeypatch.setattr(independent_sets, "SETS_MAX", 100)
    with pytest.raises(ConfigError, match=r"more than 100 sets .* merge classes, or simulate it"):
        compatibility_graph(**bands([0.1] * 10, 1))
    monkeypatch.setattr(graph, "EXACT_SETS_MAX", 10)
    with pytest.raises(ConfigError, match="at most 10 independent sets, and the graph has 55"):
        compatibility_graph(**bands([0.1] * 8, 1), exact=True)


def test_thirty_classes_that_hardly_meet_are_refused_quickly() -> None:
    world = bands([0.1] * 40, 1)
    start = time.thread_time()
    with pytest.raises(ConfigError, match="simulate it"):
        compatibility_graph(**world)
    assert time.thread_time() - start < 10


def test_components_are_found_whatever_the_order() -> None:
    neighbours = [0b0100, 0b1000, 0b0001, 0b0010]
    assert independent_sets.split([1, 1, 1, 1], neighbours) == [[0, 2], [1, 3]]
    assert np.array_equal(
        np.concatenate(list(independent_sets.levels(independent_sets.Component((1, 1), (2, 1))))),
        [0, 1, 2],
    )


@pytest.mark.parametrize(
    ("hub", "leaf"),
    [(0.9000000001, 0.1), (0.9000000000000001, 0.1), (100000000000.0002, 1e11)],
)
def test_floats_keep_their_digits_next_to_the_boundary(hub: float, leaf: float) -> None:
    leaves = {f"leaf {i}": leaf if leaf < 1.0 or not i else 1e-5 for i in range(9)}
    edges = [("hub", "hub"), *((name, "hub") for name in leaves)]
    known, found = (
        compatibility_graph(rates={"hub": hub, **leaves}, edges=edges, exact=exact)
        for exact in (True, False)
    )
    assert found.means == pytest.approx(known.means, rel=1e-11)
    assert found.vars == pytest.approx(known.vars, rel=1e-11)
