import math
from fractions import Fraction

import numpy as np
import pytest

import evenmatch
from evenmatch import policy
from evenmatch.config.files import Scenario, parse_scenario
from evenmatch.errors import ConfigError
from evenmatch.theory.k_player import k_player
from evenmatch.theory.rates import rational
from evenmatch.theory.tagged_chain import tagged_chain
from evenmatch.theory.two_v_two import (
    ORDERS,
    PRINTED,
    mean_of_players,
    mean_party,
    mean_solo,
    rule_of,
    two_queues_minimum,
    two_v_two,
    variance,
    variance_curves,
)
from tests.draws import chance, rates
from tests.extent import extent, more

TABLE = [  # solo rate, party rate, order, E solo, E party, E player, Var printed, Var
    (1, 1, "fifo", "7/8", "5/16", "1/2", 0.39583, "5/8"),
    (1, 1, "lifo", "7/8", "5/16", "1/2", 0.51875, "59/80"),
    (1, 1, "two_queues", "3/2", "1/2", "5/6", 0.72222, "59/36"),
    (0.2, 0.4, "fifo", "65/18", "35/36", "3/2", 5.37346, "31/4"),
    (0.2, 0.4, "lifo", "65/18", "35/36", "3/2", 6.48694, "12401/1404"),
    (0.2, 0.4, "two_queues", "15/2", "5/4", "5/2", 11.25, "95/4"),
    (0.5, 0.25, "fifo", "19/9", "8/9", "3/2", 2.61420, "53/12"),
    (0.5, 0.25, "lifo", "19/9", "8/9", "3/2", 3.62654, "565/108"),
    (0.5, 0.25, "two_queues", "3", "2", "5/2", 5.25, "47/4"),
    (0.8, 0.1, "fifo", "1085/648", "65/81", "3/2", 1.69014, "88/27"),
    (0.8, 0.1, "lifo", "1085/648", "65/81", "3/2", 2.40168, "107021/29889"),
    (3, 1, "fifo", "37/96", "11/64", "3/10", 0.08995, "379/2400"),
    (3, 1, "lifo", "37/96", "11/64", "3/10", 0.12687, "30077/163200"),
]


@pytest.mark.parametrize(("solo", "party", "order", "e1", "e2", "e", "printed", "var"), TABLE)
def test_figures_equal_the_reference(solo, party, order, e1, e2, e, printed, var) -> None:
    found = two_v_two(solo_rate=solo, party_rate=party, order=order, printed=True)
    exact = found.exact
    assert (exact["mean_solo"], exact["mean_party"], exact["mean"]) == (e1, e2, e)
    assert exact["var"] == var
    assert found.var == pytest.approx(float(Fraction(var)), rel=1e-15)
    assert found.var_printed == pytest.approx(printed, abs=6e-6)


def test_quantiles_equal_the_reference() -> None:
    found = two_v_two(solo_rate=0.5, party_rate=0.25)
    assert [round(x, 7) for x in (found.p50, found.p90, found.p95)] == [
        0.6089477,
        4.3337326,
        5.8076834,
    ]


@pytest.mark.parametrize("order", ORDERS)
def test_closed_forms_equal_the_exact_chain_at_random_points(order) -> None:
    rng = chance(f"two_v_two {order}")
    for _ in range(3):
        solo, party = map(rational, rates(rng, 2))
        chain = tagged_chain(
            {"solo": 1, "party": 2}, {"solo": solo, "party": party}, rule_of(order), exact=True
        )
        assert chain.players.mean == mean_of_players(solo, party, order)
        assert chain.players.var == variance(solo, party, order)
        assert chain.classes["solo"].mean == mean_solo(solo, party, order)
        assert chain.classes["party"].mean == mean_party(solo, party, order)
        floats = tagged_chain(
            {"solo": 1, "party": 2}, {"solo": float(solo), "party": float(party)}, rule_of(order)
        )
        law = floats.law()
        assert law.mean == pytest.approx(float(mean_of_players(solo, party, order)), rel=1e-10)
        assert law.var == pytest.approx(float(variance(solo, party, order)), rel=1e-10)


def test_per_party_the_mean_depends_on_who_comes() -> None:
    solo, party = map(rational, rates(chance("per party"), 2))
    found = two_v_two(solo_rate=float(solo), party_rate=float(party))
    expected = (6 * solo**2 + 9 * solo * party + 4 * party**2) / (4 * (solo + party) ** 3)
    assert found.exact["mean_per_party"] == str(expected)


def test_no_order_changes_the_means_and_lifo_varies_more() -> None:
    solo, party = rates(chance("orders"), 2)
    fifo, lifo, packing, apart = (
        two_v_two(solo_rate=solo, party_rate=party, order=order)
        for order in ("fifo", "lifo", "packing", "two_queues")
    )
    assert packing == fifo
    for figure in ("mean", "mean_solo", "mean_party", "p_no_wait"):
        assert fifo.exact[figure] == lifo.exact[figure]
    r = rational(party) / rational(solo)
    more = r * (r + 2) * (2 * r * r + 4 * r + 3)
    more /= 2 * (1 + r) ** 3 * (1 + 2 * r) * (1 + 2 * r + 2 * r * r) * rational(solo) ** 2
    assert Fraction(lifo.exact["var"]) - Fraction(fifo.exact["var"]) == more
    assert apart.var > lifo.var


def test_what_the_paper_prints_is_off_by_what_the_reference_says() -> None:
    (r,) = rates(chance("printed"))
    wrong = {
        "fifo": -(3 * r**3 + 9 * r**2 + 7 * r + 3) / (2 * (1 + r) ** 4 * (1 + 2 * r)),
        "lifo": -(r + 2) * (3 * r**2 + 3 * r + 1) / (2 * (1 + r) ** 4 * (1 + 2 * r)),
        "two_queues": -(2 + 9 * r) / (4 * r * (1 + 2 * r)),
    }
    for order, expected in wrong.items():
        difference = PRINTED[order](1.0, r) - variance(1.0, r, order)
        assert difference == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("printed", "share", "least"),
    [(False, 5 - 2 * math.sqrt(5), 2.75 + 4 * math.sqrt(5)), (True, 0.489, 5.245)],
)
def test_two_queues_vary_least_where_equation_11_says(printed, share, least) -> None:
    found, value = two_queues_minimum(printed=printed)
    assert found == pytest.approx(share, abs=6e-4 if printed else 1e-12)
    assert value == pytest.approx(least, abs=6e-4 if printed else 1e-12)
    around = [found - 0.01, found, found + 0.01]
    curve = variance_curves(around, printed=printed)["two_queues"]
    assert curve[1] == pytest.approx(value)
    assert curve[1] < min(curve[0], curve[2])


def test_curves_of_figure_5_keep_their_order() -> None:
    shares = np.linspace(0.05, 0.95, 19).tolist()
    for printed in (False, True):
        curves = variance_curves(shares, printed=printed)
        for fifo, lifo, apart in zip(*curves.values(), strict=True):
            assert fifo < lifo < apart
    with pytest.raises(ConfigError, match=r"a share of solos must be in \(0, 1\), got 1"):
        variance_curves([0.5, 1.0])


def test_without_parties_it_is_a_match_of_four() -> None:
    four = k_player(k=4, rate=0.7)
    for order in ORDERS:
        found = two_v_two(solo_rate=0.7, party_rate=0.0, order=order)
        for figure in ("mean", "var", "p50", "p90", "p95", "p99", "p_no_wait"):
            assert getattr(found, figure) == pytest.approx(getattr(four, figure), rel=1e-10)
        assert found.mean_solo == found.mean
        assert found.law_party is None
    assert two_v_two(solo_rate=0.7, party_rate=0.0).mean_party == pytest.approx(3 / 2.8)
    assert two_v_two(solo_rate=0.7, party_rate=0.0, order="two_queues").mean_party is None
    assert two_v_two(solo_rate=1.0, party_rate=0.0, printed=True).var_printed == 1.25


def test_without_solos_it_is_a_match_of_two_and_a_note_says_that_the_limit_is_another() -> None:
    two = k_player(k=2, rate=0.7)
    for order in ORDERS:
        found = two_v_two(solo_rate=0.0, party_rate=0.7, order=order, printed=True)
        assert found.mean == pytest.approx(1 / 1.4)
        assert found.var == pytest.approx(two.var)
        assert found.p95 == pytest.approx(two.p95)
        assert (found.mean_solo, found.law_solo, found.var_printed) == (None, None, None)
        assert found.note is not None
        assert "the mean tends to" in found.note
    nearly = two_v_two(solo_rate=1e-6, party_rate=0.7)
    assert nearly.mean == pytest.approx(1.5 / 1.4, rel=1e-5)
    assert f"tends to {1.5 / 1.4:.6g} s" in (two_v_two(solo_rate=0, party_rate=0.7).note or "")


def test_few_solos_are_noted_and_their_variance_grows() -> None:
    some, few, fewer = (two_v_two(solo_rate=x, party_rate=0.5) for x in (0.5, 0.001, 0.0001))
    assert some.note is None
    assert few.note is not None
    assert "few players come alone" in few.note
    assert fewer.var / few.var == pytest.approx(10, rel=0.01)
    assert fewer.mean_solo == pytest.approx(1 / (2 * 0.0001), rel=0.01)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("solo", "party"), [(1e-9, 10.0), (1e-12, 1e12), (1e12, 1e-12)])
def test_rates_far_apart_have_figures(solo, party, order) -> None:
    found = two_v_two(solo_rate=solo, party_rate=party, order=order)
    assert found.law.mean == pytest.approx(found.mean, rel=1e-10)
    assert found.law.var == pytest.approx(found.var, rel=1e-9)
    assert found.law.cdf(found.p95) == pytest.approx(0.95, rel=1e-9)
    assert found.p50 < found.p90 < found.p95 < found.p99


def test_figures_are_those_promised() -> None:
    promised = {"mean", "var", "mean_solo", "mean_party", "p50", "p90", "p95", "exact"}
    found = two_v_two(solo_rate=1.0, party_rate=1.0).figures()
    assert promised <= found.keys()
    assert "var_printed" not in found
    none = two_v_two(solo_rate=0.0, party_rate=1.0, printed=True).figures()
    assert none["var_printed"] is None
    assert "var_printed" in two_v_two(solo_rate=1.0, party_rate=1.0, printed=True).figures()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"solo_rate": -1.0, "party_rate": 1.0},
            "solo_rate must be 0 or from 1e-12 to 1e+12 per second",
        ),
        ({"solo_rate": 1.0, "party_rate": math.nan}, "party_rate must be 0 or from 1e-12"),
        ({"solo_rate": 0.0, "party_rate": 0.0}, "solo_rate, party_rate must not all be 0"),
        ({"solo_rate": 1.0, "party_rate": 1.0, "order": "best"}, "order must be one of fifo, lifo"),
    ],
)
def test_bad_input_is_one_sentence(settings, sentence) -> None:
    with pytest.raises(ConfigError) as raised:
        two_v_two(**settings)
    assert sentence in str(raised.value)


def scenario(solo: float, party: float, count: int) -> Scenario:
    return parse_scenario(
        '[[queue]]\nteams = 2\nplayers = 2\non_deadline = "keep"\n'
        f"[arrivals]\ncount = {count}\n"
        f"[[arrivals.classes]]\nrate = {solo}\nsize = 1\n"
        f"[[arrivals.classes]]\nrate = {party}\nsize = 2\n"
    )


@policy
def two_queues(pool, now):
    """Play by the same rule as the exact chain."""
    names = tuple("solo" if len(ticket.players) == 1 else "party" for ticket in pool)
    chosen = rule_of("two_queues")(names)
    return [[pool[index] for index in chosen]] if chosen else []


def waits_of(run: evenmatch.Run) -> tuple[np.ndarray, np.ndarray]:
    """Return waits and sizes of the tickets that were matched, in their order of arrival."""
    sizes: dict[str, int] = {}
    for match in run.matches:
        for team in match["teams"]:
            sizes.update(dict.fromkeys(team, 2 // len(team)))
    matched = [each for each in run.tickets if each["ticket"] in sizes]
    waits = np.array([each["wait"] for each in matched])
    return waits, np.array([sizes[each["ticket"]] for each in matched])


BLOCKS = 25
"""Blocks of a run, long beside the waits, so that their means are all but independent. A right
figure is outside 3 standard errors of 25 blocks once in 160 times, so the default seed is fixed;
EVENMATCH_SEED tries others."""


@more
@pytest.mark.parametrize(
    ("order", "played"),
    [
        ("fifo", "greedy"),
        ("lifo", "first_come:order=lifo"),
        ("packing", "first_come:order=packing"),
        ("two_queues", two_queues),
    ],
    ids=["greedy", "lifo", "packing", "two_queues"],
)
def test_simulated_waits_are_inside_three_standard_errors(order, played) -> None:
    rng = chance(f"simulated two_v_two {order}", default=5)
    for _ in range(extent(1, 3)):
        solo = round(float(rng.uniform(0.2, 0.8)), 2)
        party = (1 - solo) / 2
        expected = two_v_two(solo_rate=solo, party_rate=party, order=order)
        run = evenmatch.simulate(
            scenario(solo, party, 12_000), policy=played, seed=int(rng.integers(1 << 30))
        )
        waits, sizes = waits_of(run)
        alone = sizes == 1
        figures = {
            "mean": (np.repeat(waits, sizes), expected.mean),
            "mean square": (np.repeat(waits**2, sizes), expected.var + expected.mean**2),
            "mean_solo": (waits[alone], expected.mean_solo),
            "mean_party": (waits[~alone], expected.mean_party),
        }
        for figure, (values, wanted) in figures.items():
            blocks = [block.mean() for block in np.array_split(values, BLOCKS)]
            error = np.std(blocks, ddof=1) / math.sqrt(BLOCKS)
            assert abs(np.mean(blocks) - wanted) < 3 * error, (solo, figure, blocks, wanted)
