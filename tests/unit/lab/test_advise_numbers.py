"""Numbers of `evenmatch.advise` where splits, sides, parties and patience come together."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad

from evenmatch import PlayerBase, Split, advise
from evenmatch.lab.advise import pool_scenario
from evenmatch.lab.advise.flexible_theory import PooledWait, least_with_patience
from evenmatch.lab.advise.pool_theory import known_of
from evenmatch.lab.advise.pools import PatientPool
from evenmatch.theory import k_player as theory
from evenmatch.theory.k_player import k_player, patient_waits
from evenmatch.theory.sides import sides_law
from evenmatch.theory.two_v_two import two_v_two
from tests.extent import thinned

TWO = Split("region", {"eu": 0.6, "us": 0.4})
SIDES = {"A": 0.4, "B": 0.4, "any": 0.2}
SHARES = [
    (a / 20, b / 20, (20 - a - b) / 20)
    for a, b in itertools.product(range(1, 11), repeat=2)
    if abs(a - b) < 20 - a - b
]


# Atoms


@pytest.mark.parametrize(("a", "b", "free"), thinned(SHARES, 4))
def test_the_median_of_sides_is_their_atom(a: float, b: float, free: float) -> None:
    # Half of all duellists find an opponent waiting, whatever the sides are.
    sides = {"A": a, "B": b, "any": free}
    found = advise(PlayerBase(teams=(1, 1), sides=sides), target_wait=60.0)
    assert found.players_online == 0.0
    assert found.pooled_players == 0.0
    more = advise(PlayerBase(teams=(1, 1), sides=sides), target_wait=60.0, percentile=0.51)
    assert more.worst.figures.wait == pytest.approx(60.0)


# Flexible players of several kinds


def test_a_flexible_player_takes_his_side_to_every_region() -> None:
    base = PlayerBase(teams=(1, 1), sides=SIDES, splits=(TWO,))
    found = advise(base, players_online=100.0)
    law = sides_law(a=0.4, b=0.4, flexible=0.2)
    least = 0.4 * _least(law.a, found.rate) + 0.4 * _least(law.b, found.rate)
    least += 0.2 * _least(law.flexible, found.rate)
    each = found.flexible[0]
    assert (each.who, each.becomes, each.source) == ("us", "any region", "exact")
    assert each.wait_if_flexible == pytest.approx(least, rel=1e-6)
    assert least == pytest.approx(26.97, abs=5e-3)
    # As if his side were drawn anew in each region, it would be far less.
    assert _least(law.everybody, found.rate) < 0.9 * least


def test_a_flexible_player_takes_his_friends_to_every_region() -> None:
    base = PlayerBase(teams=(2, 2), parties=(0.2, 0.8), splits=(TWO,))
    found = advise(base, players_online=100.0)
    laws = two_v_two(solo_rate=0.2, party_rate=0.4)
    least = 0.2 * _least(laws.law_solo, found.rate) + 0.8 * _least(laws.law_party, found.rate)
    assert found.flexible[0].wait_if_flexible == pytest.approx(least, rel=1e-6)
    assert least == pytest.approx(18.47, abs=5e-3)


def _least(law, rate: float) -> float:
    """Return the mean of the lesser of two independent waits, in pools of 6 and 4 tenths."""

    def both_wait(seconds: float) -> float:
        return float(law.survival(0.6 * rate * seconds) * law.survival(0.4 * rate * seconds))

    first = 1.0 / rate
    return sum(
        quad(both_wait, low, high, epsrel=1e-9)[0]
        for low, high in [(0.0, first), (first, 9.0 * first), (9.0 * first, 400.0 * first)]
    )


def test_a_flexible_player_with_patience_is_the_earlier_of_two_chains() -> None:
    rates, runs = (0.05, 0.03), 4_000
    found = least_with_patience(PatientPool(4, 60.0), np.array(rates))
    rng = np.random.default_rng(17)
    waits = np.array(
        [min(_patient_wait(rng, 4, rate, 60.0) for rate in rates) for _ in range(runs)]
    )
    matched = waits < rng.exponential(60.0, runs)
    # Three standard errors of these runs, which are 8e-3 of the share and .4 s of the wait.
    error = np.sqrt(found.matched * (1.0 - found.matched) / runs)
    assert matched.mean() == pytest.approx(found.matched, abs=3.0 * error)
    seen = waits[matched]
    assert seen.mean() == pytest.approx(found.mean, abs=3.0 * seen.std() / np.sqrt(len(seen)))


def _patient_wait(rng: np.random.Generator, k: int, rate: float, patience: float) -> float:
    """Draw the wait of one who never leaves in a pool whose other players do."""
    # Shares of time with n waiting, from the flows: pi_n = pi_{k-1} + (n + 1) a pi_{n+1}.
    shares = [1.0]
    for n in range(k - 1, 0, -1):
        shares.append(1.0 + n / (patience * rate) * shares[-1])
    shares = np.array(shares[::-1])
    others, seconds = int(rng.choice(k, p=shares / shares.sum())), 0.0
    while others < k - 1:
        total = rate + others / patience
        seconds += rng.exponential(1.0 / total)
        others += 1 if rng.random() * total < rate else -1
    return seconds


def test_in_one_pool_the_flexible_player_is_like_all_others() -> None:
    for k, rate in ((2, 0.1), (4, 0.02), (10, 0.5), (10, 30.0)):
        pool = PatientPool(k, 60.0)
        waits = pool.waits(rate)
        expected = PooledWait(waits.mean, waits.matched)
        assert least_with_patience(pool, np.array([rate])) == pytest.approx(expected, rel=1e-8)


def test_with_patience_the_flexible_are_matched_more_often() -> None:
    base = PlayerBase(teams=(2, 2), patience=60.0, splits=(TWO,))
    found = advise(base, players_online=30.0)
    assert [each.who for each in found.flexible] == ["us", "eu"]
    for each in found.flexible:
        assert each.matched < each.matched_if_flexible < 1.0
        assert each.wait_if_flexible < each.wait
        assert not each.others


# Patience


@pytest.mark.parametrize(
    "base",
    [
        PlayerBase(patience=60.0, roles={"dps": 3, "tank": 2}, role_shares={"dps": 1.0}),
        PlayerBase(teams=(1, 1), patience=60.0, sides={"A": 1.0, "B": 0.0}),
        PlayerBase(teams=(3, 3), patience=60.0, parties=(0.0, 1.0)),
    ],
    ids=["roles", "sides", "parties"],
)
def test_patience_places_nobody_who_cannot_be_placed(base: PlayerBase) -> None:
    found = advise(base, players_online=500.0)
    assert found.known.pool is None
    assert found.known.stable is False
    assert found.known.growth == 1.0
    assert found.pooled.matched is None
    assert not found.flexible


def test_no_more_are_matched_than_can_be_placed() -> None:
    base = PlayerBase(teams=(1, 1), patience=60.0, sides={"A": 0.7, "B": 0.1, "any": 0.2})
    found = advise(base, players_online=5_000.0)
    assert found.pooled.matched == pytest.approx(0.6)
    assert found.pooled.p90 is None
    assert found.flexible == ()
    # Who is not matched waits until his patience ends, 60 s on average.
    round_length = 120.0 + 0.4 * 60.0 + 0.6 * 1800.0
    assert found.rate == pytest.approx(5_000.0 / round_length)
    assert advise(base, target_wait=60.0, percentile=0.6).rate is None


def test_parties_of_one_size_with_patience_are_players_with_patience() -> None:
    base = PlayerBase(teams=(2, 2), patience=60.0, parties=(0.0, 1.0))
    found = advise(base, players_online=100.0)
    exact = k_player(k=2, rate=found.rate / 2.0, patience_rate=1 / 60.0)
    assert found.known.is_exact
    assert found.pooled.matched == pytest.approx(exact.p_match)
    assert found.pooled.mean == pytest.approx(exact.mean)


def test_sides_with_patience_claim_nothing_exact_of_the_flexible() -> None:
    base = PlayerBase(teams=(1, 1), patience=60.0, sides={"A": 0.45, "B": 0.45, "any": 0.1})
    found = advise(base, players_online=500.0)
    assert found.flexible == ()
    # Those who give up leave a shorter queue, so that the bound of patient players is none.
    assert {each.source for each in found.known.statements} == {"estimate"}
    assert found.pooled.mean < 0.5 / found.rate


@pytest.mark.parametrize(
    ("base", "players"),
    [
        (PlayerBase(patience=60.0, splits=(Split.even("modes", 3),)), 5.0),
        (PlayerBase(patience=60.0, splits=(Split.even("modes", 100),)), 1.0),
        (PlayerBase(patience=60.0, splits=(Split("a", {"x": 1.0 - 1e-9, "y": 1e-9}),)), 10.0),
        (PlayerBase(patience=60.0, hours=(1.0,) * 23 + (1e-12,)), 10.0),
        (PlayerBase(patience=1e-6), 10.0),
        (PlayerBase(patience=1e9), 1e9),
    ],
)
def test_pools_as_thin_as_can_be_are_answered(base: PlayerBase, players: float) -> None:
    found = advise(base, players_online=players)
    rounds = base.idle + sum(
        cell.share * (1.0 - cell.figures.matched) * base.patience
        + cell.share * cell.figures.matched * base.match_length
        for cell in found.cells
    )
    assert found.rate * rounds == pytest.approx(players, rel=1e-6)


def test_a_wait_as_short_as_can_be_is_answered() -> None:
    base = PlayerBase(patience=60.0)
    assert advise(base, target_wait=1e-15).rate is None
    sides = PlayerBase(teams=(1, 1), sides=SIDES)
    each = advise(sides, target_wait=1e-15, percentile=0.9).flexible[0]
    assert 0.0 < each.wait_if_flexible < each.wait < 1e-15


@pytest.mark.parametrize(("k", "rate"), [(2, 0.3), (3, 1e-3), (10, 0.05), (60, 0.5), (60, 50.0)])
def test_the_mean_is_summed_up_without_the_law(k: int, rate: float) -> None:
    found = patient_waits(k=k, rate=rate, patience_rate=1 / 60.0)
    assert found.mean == pytest.approx(found.law.mean, rel=1e-11)
    assert found.in_queue == pytest.approx(60.0 * (1.0 - found.matched), rel=1e-9)


def test_a_simulation_with_patience_takes_the_place_of_the_estimate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for limit in ("TICKETS_MIN", "TICKETS_MAX"):
        monkeypatch.setattr(pool_scenario, limit, 1_000)
    base = PlayerBase(teams=(1, 1), patience=60.0, sides={"A": 0.6, "B": 0.3, "any": 0.1})
    guessed = advise(base, players_online=500.0)
    found = advise(base, players_online=500.0, seed=16)
    seen = found.simulated.figures
    assert found.pooled.matched == seen["matched"].value != guessed.pooled.matched
    assert found.cells[0].figures == found.pooled
    assert found.pooled.mean == seen["mean"].value
    assert found.known.pool.of_quantiles == "simulated"
    # Of 100 players 60 insist on A and 40 can play them; 8 runs of 1,000 tickets.
    assert found.pooled.matched < 0.8 + 0.03
    uneven = PlayerBase(teams=(1, 1), patience=60.0, sides=SIDES, splits=(TWO,))
    both = advise(uneven, players_online=500.0, seed=16)
    assert both.known.pool.of_quantiles == "estimate"
    assert both.worst.figures.mean == both.simulated.figures["mean"].value


# Work, counted in calls


def test_hours_and_cells_with_patience_take_few_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    chains, laws = [], []
    of, climb = theory._Patient.of, theory._climb
    monkeypatch.setattr(theory._Patient, "of", lambda *given: chains.append(given) or of(*given))
    monkeypatch.setattr(theory, "_climb", lambda *given: laws.append(given) or climb(*given))
    splits = (Split("region", {"eu": 0.6, "us": 0.3, "asia": 0.1}), Split.even("mode", 4))
    base = PlayerBase(patience=60.0, splits=splits, hours=tuple(range(1, 25)))
    advise(base, players_online=3_000.0)
    # 770 chains and 10 laws now; a law costs as much as hundreds of chains.
    assert 0 < len(laws) < 20
    assert 0 < len(chains) < 1_200


def test_a_pool_that_is_asked_twice_is_solved_once() -> None:
    pool = PatientPool(4, 60.0)
    assert pool.waits(0.1) is pool.waits(0.1)


def test_known_of_sides_with_patience_is_an_estimate() -> None:
    known = known_of(PlayerBase(teams=(1, 1), patience=60.0, sides=SIDES))
    assert not known.is_exact
    assert known.stable is True
