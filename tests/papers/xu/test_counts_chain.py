import pytest

from evenmatch.errors import ConfigError
from evenmatch.theory.two_v_two import two_v_two
from papers.xu.counts_chain import counts_chain, team_rule
from tests.draws import chance, rates

LIGHT, HEAVY, EDGE = (0.5, 0.15, 1 / 15), (0.4, 0.25, 1 / 30), (0.3, 0.25, 1 / 15)
THREE = [  # rates by size, preferred, reserve, mean wait of a player, digits printed
    (LIGHT, "largest", 0, 2.6168250902, 10),
    (LIGHT, "smallest", 0, 2.6320378198, 10),
    (HEAVY, "largest", 0, 3.97648, 5),
    (HEAVY, "smallest", 0, 4.02547, 5),
    (HEAVY, "largest", 5, 3.958735, 6),
    (EDGE, "largest", 0, 9.780324, 6),
    (EDGE, "largest", 9, 7.658435, 6),
]


@pytest.mark.parametrize(("given", "prefer", "reserve", "mean", "digits"), THREE)
def test_three_against_three_equals_the_reference(given, prefer, reserve, mean, digits) -> None:
    found = counts_chain(
        dict(zip((1, 2, 3), given, strict=True)),
        team_rule(3, prefer, reserve=reserve),
        limit=150,
    )
    assert round(found.mean, digits) == mean
    assert found.lost < 1e-12


def test_two_against_two_equals_the_closed_formula() -> None:
    solo, party = rates(chance("counts"), 2)
    found = counts_chain({1: solo, 2: party}, team_rule(2, "largest"), limit=10)
    expected = two_v_two(solo_rate=solo, party_rate=party)
    assert found.mean == pytest.approx(expected.mean, rel=1e-10)
    assert found.means[1] == pytest.approx(expected.mean_solo, rel=1e-10)
    assert found.means[2] == pytest.approx(expected.mean_party, rel=1e-10)
    assert found.lost == 0.0


@pytest.mark.parametrize("prefer", ["largest", "smallest"])
@pytest.mark.parametrize("given", [LIGHT, HEAVY, EDGE])
def test_no_rule_is_below_the_bound_by_arrivals(given, prefer) -> None:
    rates_by_size = dict(zip((1, 2, 3), given, strict=True))
    players = sum(size * rate for size, rate in rates_by_size.items())
    for reserve in (0, 7):
        found = counts_chain(rates_by_size, team_rule(3, prefer, reserve=reserve), limit=150)
        assert found.mean > 2.5 / players
    # Two against two attains it: whoever is left over, fewer than four wait.
    pairs = counts_chain({1: given[0], 2: given[1]}, team_rule(2, prefer), limit=10)
    assert pairs.mean == pytest.approx(1.5 / (given[0] + 2 * given[1]), rel=1e-12)


def test_a_low_limit_says_what_it_loses() -> None:
    given = dict(zip((1, 2, 3), EDGE, strict=True))
    low, high = (counts_chain(given, team_rule(3, "largest"), limit=x) for x in (20, 150))
    assert 0.001 < low.lost < 0.1
    assert low.mean < high.mean


def test_an_unstable_rule_loses_its_surplus_at_any_limit() -> None:
    found = counts_chain({1: 0.2, 2: 0.5, 3: 0.0}, team_rule(3, "largest"), limit=200)
    # Three duos of five find a solo each; the others' 0.6 of 1.2 players are turned away.
    assert found.lost == pytest.approx(0.5, abs=1e-6)
    assert found.means[3] is None


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: team_rule(9, "largest"), "k must be from 2 to 8, got 9"),
        (lambda: team_rule(3, "largest", reserve=-1), "reserve must be from 0 to 1,000 solos"),
        (lambda: counts_chain({1: -1.0}, team_rule(2, "largest"), limit=9), "a rate >= 0"),
        (lambda: counts_chain({1: 0.0}, team_rule(2, "largest"), limit=9), "one rate must be > 0"),
        (lambda: counts_chain({1: 1.0}, team_rule(2, "largest"), limit=0), "limit must be at"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence) -> None:
    with pytest.raises(ConfigError, match=sentence):
        call()
