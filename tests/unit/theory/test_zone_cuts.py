import itertools

import pytest

from evenmatch.errors import ConfigError
from evenmatch.theory.zone_cuts import zone_cuts
from evenmatch.theory.zones import zones

LEVELS = (1, 3, 6, 9, 12, 14, 13, 11, 9, 7, 5, 4, 3, 2, 1)
TAIL = (8, 4, 2, 1, 1, 1, 1, 1, 1)


def test_two_zones_without_flexible_players_are_cut_as_evenly_as_levels_allow() -> None:
    found = zone_cuts(shares=LEVELS, rate=2.0)
    below = list(itertools.accumulate(LEVELS))
    first = min(range(1, 15), key=lambda place: abs(below[place - 1] - 50)) + 1
    assert found.first_levels == (first,)
    small = min(found.shares)
    assert found.worst == pytest.approx(0.5 / (2.0 * small))
    assert found.mean == pytest.approx(0.5)  # whatever the cut


@pytest.mark.parametrize("flexible", [0.0, 0.2, 0.7])
def test_two_zones_are_those_of_the_paper(flexible) -> None:
    found = zone_cuts(shares=LEVELS, rate=2.0, flexible=flexible)
    low, high = found.shares
    exact = zones(junior=2 * low, expert=2 * high * (1 - flexible), flexible=2 * high * flexible)
    assert found.waits == pytest.approx((exact.mean_junior, exact.mean_expert))
    assert found.mean == pytest.approx(exact.mean)
    if flexible:
        assert found.waits_flexible[1] == pytest.approx(exact.mean_flexible)
    else:
        assert found.waits_flexible == (None, None)


def test_no_other_cut_into_two_has_a_shorter_longest_wait() -> None:
    found = zone_cuts(shares=LEVELS, rate=1.0, flexible=0.3)
    for place in range(1, 15):
        low, high = sum(LEVELS[:place]) / 100, sum(LEVELS[place:]) / 100
        other = zones(junior=low, expert=0.7 * high, flexible=0.3 * high)
        assert max(other.mean_junior, other.mean_expert) >= found.worst * (1 - 1e-9)


def test_flexible_players_move_the_best_cut_down() -> None:
    plain, helped = (zone_cuts(shares=LEVELS, rate=1.0, flexible=x) for x in (0.0, 0.4))
    assert plain.first_levels == (7,)
    assert helped.first_levels == (6,)  # the upper zone gives players away, and must be larger
    assert helped.mean < plain.mean


def test_target_buys_closer_opponents_with_longer_waits() -> None:
    fast = zone_cuts(shares=TAIL, rate=1.0)
    close = zone_cuts(shares=TAIL, rate=1.0, wait_max=3.0)
    assert fast.worst < close.worst <= 3.0
    assert close.gap < fast.gap
    nothing_keeps_it = zone_cuts(shares=TAIL, rate=1.0, wait_max=0.1)
    assert nothing_keeps_it == fast


def test_gap_is_the_mean_difference_of_two_players_of_a_zone() -> None:
    found = zone_cuts(shares=(4, 3, 2, 1), rate=1.0, zones=2)
    assert found.first_levels == (2,)
    upper = [3 / 6, 2 / 6, 1 / 6]
    expected = sum(x * y * abs(i - j) for i, x in enumerate(upper) for j, y in enumerate(upper))
    assert found.gap == pytest.approx(0.6 * expected)


def test_levels_without_players_make_no_zone() -> None:
    found = zone_cuts(shares=(0, 1, 0, 1), rate=1.0)
    assert found.shares == (0.5, 0.5)
    with pytest.raises(ConfigError, match="zones must be from 2 to the 2 levels with players"):
        zone_cuts(shares=(0, 1, 0, 1), rate=1.0, zones=3)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"shares": (1,)}, "shares must be of 2 to 200 levels, got 1"),
        ({"shares": (1, -1)}, "shares must be finite and >= 0"),
        ({"shares": (0, 0)}, "shares must be finite and >= 0, and not all 0"),
        ({"rate": 0}, "rate must be > 0 and finite, got 0"),
        ({"wait_max": -1}, "wait_max must be > 0 and finite, got -1"),
        ({"flexible": 1.5}, r"flexible must be a share in \[0, 1\], got 1.5"),
        ({"shares": (1,) * 100, "zones": 5}, "ways to cut, and at most 5,000 are tried"),
        ({"shares": (1,) * 16, "zones": 13}, r"455 ways .* would take minutes: take fewer zones"),
        ({"shares": (1,) * 45, "zones": 45}, r"1 ways .* would take minutes: take fewer zones"),
    ],
)
def test_bad_settings_are_one_sentence(settings, sentence) -> None:
    with pytest.raises(ConfigError, match=sentence):
        zone_cuts(**{"shares": LEVELS, "rate": 1.0, **settings})
