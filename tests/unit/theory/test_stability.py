import math
import re

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.theory.k_player import k_player
from evenmatch.theory.stability import partitions, team_stability
from evenmatch.theory.two_v_two import two_v_two

INSIDE = [  # rates at k = 5 whose pools stayed flat in the reference
    (0.4, 0.1, 0.05, 0.025, 0.03),
    (0.2, 0.12, 0.08, 0.03, 0.04),
    (0.15, 0.1, 0.1, 0.05, 0.03),
]


@pytest.mark.parametrize("rates", INSIDE)
def test_points_inside_the_cone_of_fives_are_stable(rates) -> None:
    found = team_stability(k=5, rates=rates)
    assert (found.stable, found.kind, found.growth, found.starved) == (True, None, None, {})
    assert found.mean_floor == pytest.approx(4.5, rel=0.01)


@pytest.mark.parametrize(
    ("k", "rates", "floor"),
    [
        (4, (0, 0.4), 3.75),  # (4 - 1) / 0.8: a match is any four duos
        (5, (0, 0, 0, 0, 1), 0.5),
        (2, (0, 1), 0.5),
        (6, (0, 0, 0.2, 0, 0, 0.1), 9 / 2.4),  # threes and sixes: the pool is 0, 3, 6 or 9
        (3, (0.5, 0.2), 5 / 1.8),
    ],
)
def test_floor_is_what_parties_of_one_size_wait(k, rates, floor) -> None:
    assert team_stability(k=k, rates=rates).mean_floor == pytest.approx(floor, rel=1e-12)
    coming = [size for size, rate in enumerate(rates, 1) if rate]
    if len(coming) == 1:
        alone = k_player(k=2 * k // coming[0], rate=max(rates))
        assert floor == pytest.approx(alone.mean, rel=1e-12)


def test_floor_with_duos_is_attained_by_two_against_two() -> None:
    for solos, duos in ((0, 1), (0.3, 0.7), (1, 0)):
        floor = team_stability(k=2, rates=(solos, duos)).mean_floor
        waits = two_v_two(solo_rate=solos, party_rate=duos, order="fifo").mean
        assert waits >= floor * (1 - 1e-12)
        if not (solos and duos):
            assert waits == pytest.approx(floor, rel=1e-12)


def test_margins_are_said_in_words_worst_first() -> None:
    found = team_stability(k=5, rates=INSIDE[2])
    assert [each.text for each in found.margins] == [
        "solos + twice the duos exceed quads + twice the trios by 0.1/s",
        "trios + twice the solos exceed duos + twice the quads by 0.2/s",
    ]
    assert found.margins[0].figures() == {
        "coefficients": [1, 2, -2, -1, 0],
        "margin": 0.1,
        "text": "solos + twice the duos exceed quads + twice the trios by 0.1/s",
    }


def test_duos_beyond_solos_pile_up_in_trios() -> None:
    found = team_stability(k=3, rates=(0.4, 0.45, 0.1))
    assert (found.stable, found.kind, found.growth) == (False, "transient", 0.1)
    assert found.starved == {"duos": 0.05}
    assert found.margins[0].text == "duos exceed solos by 0.05/s"
    assert found.figures()["margins"][0]["margin"] == -0.05


def test_boundary_is_null_recurrent() -> None:
    found = team_stability(k=3, rates=(0.3, 0.3))
    assert (found.stable, found.kind, found.growth) == (False, "null recurrent", 0.0)
    assert (found.starved, found.margins[0].text) == (
        {"duos": 0.0},
        "duos are not fewer than solos",
    )
    # In floats, 0.1 + 0.2 > 0.3: the digits decide.
    assert team_stability(k=4, rates=(0.3, 0.1, 0.1 + 0.2)).kind == "transient"


def test_a_sum_never_reads_as_a_number_of_parties() -> None:
    # "duos are not fewer than 2 solos" would be false: there are some.
    for k in range(3, 8):
        for margin in team_stability(k=k, rates=(1.0,) * k).margins:
            assert not re.search(r"(^| )\d+ (?!times the )[a-z]", margin.text)
    found = team_stability(k=5, rates=(0.1, 0.2, 0, 0))
    assert [each.text for each in found.margins] == ["duos are not fewer than twice the solos"]


def test_two_against_two_is_always_stable() -> None:
    for rates in ((1,), (0, 1), (1, 1)):
        found = team_stability(k=2, rates=rates)
        assert (found.stable, found.margins) == (True, ())


def test_sizes_that_do_not_come_are_not_asked_for() -> None:
    assert team_stability(k=3, rates=(0, 0, 1)).stable
    assert not team_stability(k=3, rates=(0, 1)).stable
    lonely = team_stability(k=5, rates=(0, 0.2))
    assert (lonely.growth, lonely.margins[0].text) == (
        0.4,
        "duos cannot fill a team of 5, and 0.2/s come",
    )
    pairs = team_stability(k=5, rates=(0, 0.3, 0.2))
    assert [each.text for each in pairs.margins] == [
        "duos exceed trios by 0.1/s, and would have to be exactly as many for ever"
    ]
    equal = team_stability(k=5, rates=(0, 0.2, 0.2))
    assert (equal.kind, equal.starved) == ("null recurrent", {"duos": 0.0, "trios": 0.0})


def test_unmixed_teams_starve_sizes_that_do_not_divide_k() -> None:
    found = team_stability(k=4, rates=(0.5, 0.3, 0.2, 0.1), shape="unmixed")
    assert (found.kind, found.growth, found.starved) == ("transient", 0.6, {"trios": 0.2})
    assert found.margins[0].text == "trios cannot fill a team of 4 alone, and 0.2/s come"
    assert team_stability(k=4, rates=(0.5, 0.3, 0, 0.1), shape="unmixed").stable


def test_mirrored_teams_keep_the_conditions_and_say_what_they_cost() -> None:
    for rates in [*INSIDE, (0.1, 0.5)]:
        any_, mirrored = (team_stability(k=5, rates=rates, shape=x) for x in ("any", "mirrored"))
        assert mirrored.margins == any_.margins
        assert "times as long" in mirrored.note


def pool_after(rates, k, matches, seed):
    """Return the players left per second when matches start at once, largest parties first."""
    rng = np.random.default_rng(seed)
    teams = sorted(partitions(k, range(1, k + 1)), key=lambda team: team[::-1], reverse=True)
    pairs = [tuple(map(sum, zip(x, y, strict=True))) for x in teams for y in teams]
    pool = [0] * k
    share = np.array(rates) / sum(rates)
    for size in rng.choice(k, size=matches, p=share):
        pool[size] += 1
        for pair in pairs:
            if pair[size] and all(x <= y for x, y in zip(pair, pool, strict=True)):
                pool = [y - x for x, y in zip(pair, pool, strict=True)]
                break
    seconds = matches / sum(rates)
    return sum((i + 1) * count for i, count in enumerate(pool)) / seconds


@pytest.mark.parametrize("rates", [(0.4, 0.45, 0.1), (0.2, 0.5, 0.0)])
def test_growth_outside_is_what_a_simulation_shows(rates) -> None:
    found = team_stability(k=3, rates=rates)
    parties = 20_000
    # The pool is a walk of steps of one or two players.
    error = 2 * math.sqrt(parties) / (parties / sum(rates))
    assert abs(pool_after(rates, 3, parties, seed=1) - found.growth) < 3 * error


def test_pool_inside_stays_small() -> None:
    assert pool_after((0.5, 0.15, 0.0667), 3, 20_000, seed=1) < 0.002


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"k": 13, "rates": (1,)}, "k must be a whole number from 1 to 12, got 13"),
        ({"k": 3, "rates": (1, 1, 1, 1)}, "rates must be from 1 to k = 3 numbers, by party size"),
        ({"k": 3, "rates": ()}, "rates must be from 1 to k = 3 numbers"),
        ({"k": 3, "rates": (1, -1)}, "rate of duos must be 0 or from"),
        ({"k": 3, "rates": (0, 0)}, "must not all be 0"),
        ({"k": 3, "rates": (1,), "shape": "odd"}, "shape must be one of any, mirrored, unmixed"),
    ],
)
def test_bad_settings_are_one_sentence(settings, sentence) -> None:
    with pytest.raises(ConfigError, match=sentence):
        team_stability(**settings)
