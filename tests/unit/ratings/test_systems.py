"""The systems against the papers' worked examples, plain loops and other people's libraries."""

import math

import glicko2 as glicko2_library
import numpy as np
import pytest
from openskill.models import BradleyTerryFull

from evenmatch.errors import ConfigError
from evenmatch.ratings.base import Ratings, newcomers
from evenmatch.ratings.elo import Elo
from evenmatch.ratings.glicko import Glicko
from evenmatch.ratings.glicko2 import (
    Glicko2,
    _solve_by_brackets,
    solve_volatility,
    volatility_after,
)
from evenmatch.ratings.outcomes import MatchTable, PeriodOutcomes, duels, team_matches
from evenmatch.ratings.weng_lin import WengLin

# Glickman's example in both papers: the player meets three opponents in one period.
EXAMPLE = Ratings(
    np.array([1500.0, 1400.0, 1550.0, 1700.0]),
    np.array([200.0, 30.0, 100.0, 300.0]),
    np.full(4, 0.06),
)
EXAMPLE_MATCHES = duels([0, 0, 0], [1, 2, 3], [1.0, 0.0, 0.0])


def random_period(
    seed: int, players: int = 30, matches: int = 200
) -> tuple[Ratings, PeriodOutcomes]:
    rng = np.random.default_rng(seed)
    ratings = Ratings(
        rng.normal(1500, 300, players),
        rng.uniform(30, 350, players),
        rng.uniform(0.03, 0.1, players),
    )
    first = rng.integers(0, players - 1, matches)  # the last player never plays first
    second = (first + rng.integers(1, players - 1, matches)) % (players - 1)
    return ratings, duels(first, second, rng.choice([0.0, 0.5, 1.0], matches))


def opponents_of(player: int, outcomes: PeriodOutcomes) -> list[tuple[int, float]]:
    return [
        (int(outcomes.player[rival]), float(score))
        for seat, rival, score in zip(
            outcomes.meeting_team, outcomes.meeting_rival, outcomes.score, strict=True
        )
        if outcomes.player[seat] == player
    ]


def test_glicko_gives_glickmans_worked_example() -> None:
    after = Glicko().update(EXAMPLE, EXAMPLE_MATCHES)
    assert after.mean[0] == pytest.approx(1464.1, abs=0.05)
    assert after.deviation[0] == pytest.approx(151.4, abs=0.05)


def test_glicko_match_by_match_gives_other_numbers_than_the_period() -> None:
    ratings = EXAMPLE
    for rival, score in ((1, 1.0), (2, 0.0), (3, 0.0)):
        ratings = Glicko(growth=0).update(ratings, duels([0], [rival], [score]))
    assert ratings.mean[0] == pytest.approx(1464.22, abs=0.005)
    assert ratings.deviation[0] == pytest.approx(151.25, abs=0.005)


def test_glicko2_gives_glickmans_worked_example() -> None:
    after = Glicko2(tau=0.5).update(EXAMPLE, EXAMPLE_MATCHES)
    # The paper rounds on the way to 1464.06; unrounded it is 1464.0507.
    assert after.mean[0] == pytest.approx(1464.06, abs=0.01)
    assert after.mean[0] == pytest.approx(1464.0507, abs=1e-4)
    assert after.deviation[0] == pytest.approx(151.52, abs=0.005)
    assert after.volatility[0] == pytest.approx(0.05999, abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_elo_is_the_sum_of_surprises(seed: int) -> None:
    ratings, outcomes = random_period(seed)
    after = Elo(k_factor=20.0).update(ratings, outcomes)
    for player in range(ratings.mean.size):
        change = 0.0
        for rival, score in opponents_of(player, outcomes):
            gap = ratings.mean[rival] - ratings.mean[player]
            change += 20.0 * (score - 1.0 / (1.0 + 10.0 ** (gap / 400.0)))
        assert after.mean[player] - ratings.mean[player] == pytest.approx(change, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_glicko_is_the_papers_formula_player_by_player(seed: int) -> None:
    ratings, outcomes = random_period(seed)
    after = Glicko().update(ratings, outcomes)
    q = math.log(10) / 400
    for player in range(ratings.mean.size):
        played = opponents_of(player, outcomes)
        if not played:
            continue
        total = inverse = 0.0
        for rival, score in played:
            g = 1 / math.sqrt(1 + 3 * q**2 * ratings.deviation[rival] ** 2 / math.pi**2)
            gap = ratings.mean[player] - ratings.mean[rival]
            expected = 1 / (1 + 10 ** (-g * gap / 400))
            total += g * (score - expected)
            inverse += q**2 * g**2 * expected * (1 - expected)
        precision = 1 / ratings.deviation[player] ** 2 + inverse
        assert after.deviation[player] == pytest.approx(precision**-0.5, rel=1e-10)
        mean = ratings.mean[player] + q / precision * total
        assert after.mean[player] == pytest.approx(mean, rel=1e-10)


def corrected_f(self: glicko2_library.Player, x: float, delta: float, v: float, a: float) -> float:
    """The library's equation of the volatility, which squares the rating, not the deviation."""
    e, phi = math.exp(x), self._Player__rd
    pull = e * (delta**2 - phi**2 - v - e) / (2 * (phi**2 + v + e) ** 2)
    return pull - (x - a) / self._tau**2


@pytest.mark.parametrize("seed", range(3))
def test_glicko2_agrees_with_the_library_glicko2_once_corrected(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glicko2_library.Player, "_f", corrected_f)
    ratings, outcomes = random_period(seed)
    after = Glicko2().update(ratings, outcomes)
    for player in range(ratings.mean.size):
        played = opponents_of(player, outcomes)
        if not played:
            continue
        other = glicko2_library.Player(*(float(column[player]) for column in ratings))
        rivals = [rival for rival, _ in played]
        other.update_player(
            ratings.mean[rivals].tolist(),
            ratings.deviation[rivals].tolist(),
            [score for _, score in played],
        )
        # The library has the paper's rounded 173.7178.
        assert after.mean[player] == pytest.approx(other.rating, abs=1e-3)
        assert after.deviation[player] == pytest.approx(min(other.rd, 350.0), abs=1e-3)
        assert after.volatility[player] == pytest.approx(other.vol, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_glicko2_is_the_papers_formula_player_by_player(seed: int) -> None:
    ratings, outcomes = random_period(seed)
    after = Glicko2(tau=0.6).update(ratings, outcomes)
    for player in range(ratings.mean.size):
        played = opponents_of(player, outcomes)
        if not played:
            continue
        phi, sigma = ratings.deviation[player] / 173.7178, ratings.volatility[player]
        total = inverse = 0.0
        for rival, score in played:
            g = 1 / math.sqrt(1 + 3 * (ratings.deviation[rival] / 173.7178) ** 2 / math.pi**2)
            gap = (ratings.mean[player] - ratings.mean[rival]) / 173.7178
            expected = 1 / (1 + math.exp(-g * gap))
            total += g * (score - expected)
            inverse += g**2 * expected * (1 - expected)
        v, delta = 1 / inverse, total / inverse

        def f(x: float) -> float:
            e, a = math.exp(x), math.log(sigma**2)  # noqa: B023
            pull = e * (delta**2 - phi**2 - v - e) / (2 * (phi**2 + v + e) ** 2)  # noqa: B023
            return pull - (x - a) / 0.6**2

        low, high = -30.0, 10.0
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if f(middle) > 0 else (low, middle)
        sigma_new = math.exp(low / 2)
        phi_new = 1 / math.sqrt(1 / (phi**2 + sigma_new**2) + inverse)
        mean = ratings.mean[player] + 173.7178 * phi_new**2 * total
        assert after.volatility[player] == pytest.approx(sigma_new, rel=1e-6)
        assert after.deviation[player] == pytest.approx(173.7178 * phi_new, rel=1e-6)
        assert after.mean[player] == pytest.approx(mean, rel=1e-6)


@pytest.mark.parametrize("tau", [0.2, 0.5, 1.2, 5.0])
def test_volatility_is_a_root_of_glickmans_equation(tau: float) -> None:
    rng = np.random.default_rng(4)
    sigma, spread = rng.uniform(0.01, 0.3, 500), rng.uniform(0.05, 8.0, 500)
    delta = rng.normal(0.0, 3.0, 500)
    x = 2.0 * np.log(solve_volatility(sigma, spread, delta, tau=tau))

    def f(x: np.ndarray) -> np.ndarray:
        e = np.exp(x)
        pull = e * (delta**2 - spread - e) / (2.0 * (spread + e) ** 2)
        return pull - (x - 2.0 * np.log(sigma)) / tau**2

    assert np.all(f(x - 2e-6) * f(x + 2e-6) <= 0.0)


@pytest.mark.parametrize("tau", [0.2, 0.5, 1.2])
def test_one_step_of_newton_is_taken_only_where_it_ends_at_the_root(tau: float) -> None:
    rng = np.random.default_rng(7)
    sigma, spread = np.exp(rng.uniform(-7.0, 1.0, 4_000)), np.exp(rng.uniform(-3.0, 8.0, 4_000))
    delta = rng.normal(0.0, 2.0, 4_000) * np.sqrt(spread)
    found = solve_volatility(sigma, spread, delta, tau=tau)
    illinois = _solve_by_brackets(sigma, spread, delta, tau=tau)
    by_steps = found != illinois
    assert 1_000 < np.count_nonzero(by_steps) < 4_000

    def f(x: np.ndarray) -> np.ndarray:
        e = np.exp(x)
        pull = e * (delta**2 - spread - e) / (2.0 * (spread + e) ** 2)
        return pull - (x - 2.0 * np.log(sigma)) / tau**2

    # The root is within 1e-9 of the one, and within `CONVERGED` of the other.
    x = 2.0 * np.log(found)
    assert np.all((f(x - 1e-9) * f(x + 1e-9) <= 0.0)[by_steps])
    assert np.abs(x - 2.0 * np.log(illinois)).max() <= 2e-6
    for s, variance, d, together, is_step in zip(
        sigma.tolist(), spread.tolist(), delta.tolist(), found, by_steps, strict=True
    ):
        alone = volatility_after(s, variance, d, tau)
        assert alone == pytest.approx(together, rel=1e-12 if is_step else 1e-6)


def test_bracket_of_the_volatility_widens_where_one_step_is_too_short() -> None:
    # A large volatility and hardly any spread: the root is far below a.
    found = solve_volatility(np.full(2, 3.0), np.full(2, 1e-6), np.zeros(2), tau=0.1)
    assert np.all((found > 0.0) & (found < 3.0))
    wide = solve_volatility(np.array([1e8]), np.array([1e-9]), np.array([0.0]), tau=9.0)
    x, a = 2 * np.log(wide[0]), 2 * np.log(1e8)
    assert -0.5 - (x - a) / 81.0 == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("system", [Elo(), Glicko(), Glicko2(), WengLin()])
def test_elo_alone_forgets_nothing(system: Elo) -> None:
    rested = system.rest(EXAMPLE._replace(deviation=np.full(4, 2.0)), 3.0)
    assert rested.mean.tolist() == EXAMPLE.mean.tolist()
    assert np.all(rested.deviation > 2.0) == (not isinstance(system, Elo))


@pytest.mark.parametrize("system", [Glicko(), WengLin(tau=0.0)])
def test_a_player_of_known_strength_does_not_move(system: Glicko) -> None:
    start = newcomers(system, 2)._replace(deviation=np.array([0.0, 5.0]))
    after = system.update(start, duels([0], [1], [0.0]))
    assert after.mean[0] == start.mean[0]
    assert after.mean[1] > start.mean[1]


def test_a_period_without_matches_grows_deviations_only() -> None:
    nothing = duels(np.empty(0, int), np.empty(0, int), [])
    glicko = Glicko(growth=50.0).update(EXAMPLE, nothing)
    assert glicko.mean.tolist() == EXAMPLE.mean.tolist()
    assert glicko.deviation.tolist() == np.hypot(EXAMPLE.deviation, 50.0).tolist()
    second = Glicko2().update(EXAMPLE, nothing)
    expected = np.hypot(EXAMPLE.deviation, 0.06 * 400 / math.log(10))
    assert second.deviation == pytest.approx(expected)
    assert second.volatility.tolist() == EXAMPLE.volatility.tolist()
    assert Elo().update(EXAMPLE, nothing).mean.tolist() == EXAMPLE.mean.tolist()
    assert np.all(WengLin().update(EXAMPLE, nothing).mean == EXAMPLE.mean)


@pytest.mark.parametrize("system", [Glicko(), Glicko2(), WengLin()])
def test_rest_of_many_periods_is_many_rests_of_one(system: Glicko | Glicko2 | WengLin) -> None:
    start = newcomers(system, 3)._replace(deviation=np.array([1.0, 2.0, 3.0]))
    step_by_step = start
    for _ in range(7):
        step_by_step = system.rest(step_by_step)
    assert system.rest(start, 7.0).deviation == pytest.approx(step_by_step.deviation)
    assert system.rest(start, 1e12).deviation == pytest.approx(
        [system.rest(newcomers(system, 1)).deviation[0]] * 3
    )


def test_glicko_reaches_a_newcomers_deviation_after_a_hundred_idle_periods() -> None:
    veteran = Ratings(np.array([1500.0]), np.array([50.0]), np.array([np.nan]))
    assert Glicko().rest(veteran, 99.0).deviation[0] < 350.0
    assert Glicko().rest(veteran, 100.1).deviation[0] == 350.0


def test_glicko_keeps_the_smallest_deviation_asked_for() -> None:
    after = Glicko(deviation_min=160.0).update(EXAMPLE, EXAMPLE_MATCHES)
    assert after.deviation[0] == 160.0


OPENSKILL_CASES = [
    ([[0], [1]], [1, 2]),
    ([[0], [1]], [1, 1]),
    ([[0, 1], [2, 3]], [2, 1]),
    ([[0, 1, 2], [3]], [1, 2]),
    ([[0], [1], [2], [3]], [1, 2, 3, 4]),
    ([[0], [1], [2], [3]], [2, 1, 2, 4]),
    ([[0, 4], [1, 5, 6], [2], [3]], [3, 1, 1, 2]),
]


@pytest.mark.parametrize("tau", [0.0, 25 / 300])
@pytest.mark.parametrize(("teams", "ranks"), OPENSKILL_CASES)
def test_weng_lin_agrees_with_openskill(
    teams: list[list[int]], ranks: list[int], tau: float
) -> None:
    rng = np.random.default_rng(11)
    mean, deviation = rng.normal(25, 6, 7), rng.uniform(0.5, 25 / 3, 7)
    model = BradleyTerryFull(tau=tau)
    seats = [model.rating(mu=mean[i], sigma=deviation[i]) for i in range(7)]
    other = model.rate([[seats[i] for i in team] for team in teams], ranks=ranks)
    flat = [i for team in teams for i in team]
    outcomes = team_matches(MatchTable(flat, [len(team) for team in teams], [len(teams)], ranks))
    after = WengLin(tau=tau).update(Ratings(mean, deviation, np.full(7, np.nan)), outcomes)
    expected = [player for team in other for player in team]
    assert after.mean[flat] == pytest.approx([x.mu for x in expected], abs=1e-6)
    assert after.deviation[flat] == pytest.approx([x.sigma for x in expected], abs=1e-6)


def test_weng_lin_learns_more_from_two_equal_matches_than_from_one() -> None:
    start = newcomers(WengLin(tau=0.0), 2)
    once = WengLin(tau=0.0).update(start, duels([0], [1], [1.0]))
    twice = WengLin(tau=0.0).update(start, duels([0, 0], [1, 1], [1.0, 1.0]))
    assert once.mean[0] < twice.mean[0] < 2 * once.mean[0] - start.mean[0]
    assert twice.deviation[0] < once.deviation[0]


def test_weng_lin_stays_finite_with_many_matches_in_one_period() -> None:
    start = newcomers(WengLin(), 2)
    after = WengLin().update(start, duels([0] * 1000, [1] * 1000, [1.0] * 1000))
    assert 25.0 < after.mean[0] < 150.0
    assert 0.0 < after.deviation[0] < 2.0


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        (Elo(), 1 / (1 + 10 ** (-300 / 400))),
        (
            Glicko(),
            1
            / (
                1
                + 10
                ** (-300 / 400 / math.sqrt(1 + 3 * 35000 * (math.log(10) / 400 / math.pi) ** 2))
            ),
        ),
    ],
)
def test_win_probability(system: Elo | Glicko, expected: float) -> None:
    mine = Ratings(np.array([1700.0]), np.array([150.0]), np.array([0.06]))
    theirs = Ratings(np.array([1400.0]), np.array([math.sqrt(12500)]), np.array([0.06]))
    assert system.win_probability(mine, theirs)[0] == pytest.approx(expected)
    if isinstance(system, Glicko):
        assert Glicko2().win_probability(mine, theirs)[0] == pytest.approx(expected)
    other_side = system.win_probability(theirs, mine)[0]
    assert other_side == pytest.approx(1.0 - expected)


def test_win_probability_of_weng_lin_is_the_chance_that_its_update_uses() -> None:
    mine = Ratings(np.array([30.0]), np.array([3.0]), np.array([np.nan]))
    theirs = Ratings(np.array([22.0]), np.array([4.0]), np.array([np.nan]))
    c = math.sqrt(9 + 16 + 2 * (25 / 6) ** 2)
    chance = WengLin().win_probability(mine, theirs)[0]
    assert chance == pytest.approx(1 / (1 + math.exp(-8 / c)))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Elo(k_factor=0.0), "elo:k_factor must be a finite number > 0, got 0.0"),
        (lambda: Glicko(growth=-1.0), "glicko:growth must be a finite number >= 0, got -1.0"),
        (lambda: Glicko(deviation_min=400.0), "glicko:deviation_min must not exceed"),
        (lambda: Glicko2(tau=math.nan), "glicko2:tau must be a finite number > 0, got nan"),
        (lambda: WengLin(kappa=1.0), "weng_lin:kappa must be < 1, got 1.0"),
        (lambda: WengLin(beta=math.inf), "weng_lin:beta must be a finite number > 0, got inf"),
    ],
)
def test_a_parameter_out_of_range_is_refused(make: object, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        make()  # type: ignore[operator]
