"""`evenmatch.advise`: the numbers of queueing theory, both ways round, and simulations of them."""

import json
import math
from itertools import pairwise, product

import numpy as np
import pytest

from evenmatch import PlayerBase, Split, advise
from evenmatch.errors import ConfigError
from evenmatch.lab.advise import advice, pool_scenario
from evenmatch.lab.advise.advice import scenario_of
from evenmatch.lab.advise.flexible_simulation import SharedPools
from evenmatch.lab.advise.flexible_theory import mean_of_least
from evenmatch.lab.advise.market import Market
from evenmatch.lab.advise.pool_simulation import simulated_pool
from evenmatch.lab.advise.pool_theory import known_of, per_100
from evenmatch.lab.advise.pools import PatientPool, solve_increasing
from evenmatch.lab.advise.splits import even_cut
from evenmatch.theory.k_player import k_player
from evenmatch.theory.two_v_two import two_v_two
from evenmatch.theory.zones import zones
from tests.extent import thinned

UNEVEN = Split("region", {"eu": 0.6, "us": 0.3, "asia": 0.1})
REGIONS, MODES, BANDS = Split.even("region", 3), Split.even("mode", 2), Split.even("band", 5)
ROLES = {"tank": 1, "healer": 1, "dps": 3}
SIDES = {"A": 0.3, "B": 0.3, "any": 0.4}


def in_a_row(function, items):
    """Make runs one after the other, without processes."""
    return list(map(function, items))


# The numbers of the reference


@pytest.mark.parametrize(
    ("splits", "players"),
    [
        ((), 133),
        ((REGIONS,), 399),
        ((REGIONS, MODES), 797),
        ((REGIONS, MODES, BANDS), 3_987),
    ],
)
def test_five_against_five_in_a_minute(splits: tuple[Split, ...], players: int) -> None:
    found = advise(PlayerBase(splits=splits), target_wait=60.0)
    assert round(found.players_online) == players
    assert round(found.pooled_players) == players
    assert found.worst.rate == pytest.approx(0.066876, abs=5e-7)


def test_uneven_regions_need_far_more_than_the_pooled_median_says() -> None:
    found = advise(PlayerBase(splits=(UNEVEN,)), target_wait=60.0)
    assert round(found.pooled_rate, 4) == 0.1466
    assert round(found.pooled_players) == 295
    assert round(found.rate, 4) == 0.6688
    assert found.worst.name == "asia"
    assert found.worst.figures.wait == pytest.approx(60.0)
    assert [round(cell.needs) for cell in found.cells] == [228, 442, 1_298]
    assert found.worst_wait_if_pooled == pytest.approx(4.0125337 / 0.01465746, rel=1e-5)


def test_patience_thins_out_a_thin_pool() -> None:
    # Reference: k=10, rate 1/20, patience 120 s: a match for .244825 of them.
    market = Market(PlayerBase(patience=120.0), PatientPool(10, 120.0))
    assert market.pool.waits(0.05).matched == pytest.approx(0.244825, abs=1e-6)
    assert market.pool.waits(1.0 / 6.0).in_queue * (1.0 / 6.0) == pytest.approx(4.67987, abs=1e-5)
    found = advise(PlayerBase(patience=120.0), players_online=50.0)
    assert found.pooled.matched < 0.5
    assert found.pooled.wait is None


# Both ways round


@pytest.mark.parametrize(
    ("splits", "percentile", "patience"),
    thinned(product([(), (UNEVEN,), (UNEVEN, MODES)], [0.5, 0.8], [None, 90.0]), 5),
)
def test_both_questions_are_each_others_inverse(
    splits: tuple[Split, ...], percentile: float, patience: float | None
) -> None:
    base = PlayerBase(teams=(3, 3), splits=splits, patience=patience)
    needed = advise(base, target_wait=45.0, percentile=percentile)
    back = advise(base, players_online=needed.players_online, percentile=percentile)
    assert back.worst.figures.wait == pytest.approx(45.0, rel=1e-9)
    assert back.rate == pytest.approx(needed.rate, rel=1e-9)
    pooled = advise(base, players_online=needed.pooled_players, percentile=percentile)
    assert pooled.pooled.wait == pytest.approx(45.0, rel=1e-8)


def test_more_players_wait_less() -> None:
    base = PlayerBase(splits=(UNEVEN,))
    waits = [advise(base, players_online=online).pooled.mean for online in (50, 100, 1_000)]
    assert all(more > less for more, less in pairwise(waits))


def test_players_online_are_searching_playing_or_pausing() -> None:
    found = advise(PlayerBase(match_length=600.0, idle=60.0), players_online=500.0)
    waiting = found.rate * found.pooled.mean
    assert waiting == pytest.approx(4.5)
    assert waiting + found.rate * 660.0 == pytest.approx(500.0)


def test_too_few_for_their_pools_is_an_answer() -> None:
    found = advise(PlayerBase(splits=(REGIONS, MODES, BANDS)), players_online=130.0)
    assert found.rate is None
    assert found.worst.figures.wait is None
    assert json.loads(json.dumps(found.figures(), allow_nan=False))["rate"] is None


def test_the_median_of_duels_asks_for_nobody() -> None:
    found = advise(PlayerBase(teams=(1, 1)), target_wait=1.0)
    assert found.players_online == 0.0
    assert advise(PlayerBase(teams=(1, 1)), players_online=10.0).pooled.wait == 0.0


# Splits, cuts, hours, flexible players


def test_dropping_the_third_mode_saves_a_mode() -> None:
    base = PlayerBase(splits=(UNEVEN, Split.even("mode", 3)))
    region, mode = advise(base, target_wait=60.0).splits
    assert region.name == "region"
    assert round(mode.without.saves_players) == 2_595
    assert [(option, round(need.saves_players)) for option, need in mode.dropped] == [("3", 1_298)]
    assert [option for option, _ in region.dropped] == ["asia", "us", "eu"]


def test_without_a_target_a_split_is_counted_at_the_wait_of_the_worst_pool() -> None:
    base = PlayerBase(splits=(UNEVEN,))
    needed = advise(base, target_wait=60.0)
    found = advise(base, players_online=needed.players_online)
    assert found.splits[0].without.saves_players == pytest.approx(
        needed.splits[0].without.saves_players
    )


def test_equal_zones_wait_least() -> None:
    assert even_cut((0.1, 0.2, 0.3, 0.4), 2) == (3,)
    assert even_cut((0.25, 0.25, 0.25, 0.25), 4) == (1, 2, 3)
    assert even_cut((0.5, 0.0, 0.0, 0.5), 2) in [(1,), (2,), (3,)]
    base = PlayerBase(levels=(0.1, 0.2, 0.3, 0.4), zones=3)
    two, three = advise(base, target_wait=60.0).cuts
    assert two.first_levels == (4,)
    assert two.shares == pytest.approx((0.6, 0.4))
    smallest = advise(PlayerBase(splits=(Split("zone", {"a": 0.6, "b": 0.4}),)), target_wait=60.0)
    assert two.players_online == pytest.approx(smallest.players_online)
    assert three.zones == 3


def test_hours_below_the_need_can_play_in_a_shorter_time() -> None:
    hours = (1.0,) * 12 + (3.0,) * 12
    found = advise(PlayerBase(hours=hours), players_online=133.0, target_wait=60.0)
    day = found.day
    assert [each.meets for each in day.hours] == [False] * 12 + [True] * 12
    assert day.hours[0].play_minutes == pytest.approx(60.0 * 66.5 / 132.90108)
    assert day.shared_minutes == pytest.approx(12.0 * day.hours[0].play_minutes)
    assert day.needed_mean == pytest.approx(2.0 * 132.90108)
    enough = advise(PlayerBase(hours=hours), players_online=day.needed_mean, target_wait=60.0)
    assert all(each.meets for each in enough.day.hours)


def test_hours_without_a_target_are_waits_alone() -> None:
    found = advise(PlayerBase(hours=(2.0,) * 24), players_online=300.0)
    assert {each.meets for each in found.day.hours} == {None}
    assert found.day.hours[0].wait == pytest.approx(found.pooled.wait)


def test_one_flexible_player_of_duels_waits_as_the_zones_say() -> None:
    law = k_player(k=2, rate=1.0).law
    least = mean_of_least(law, np.array([0.3, 0.7]))
    assert least == pytest.approx(zones(junior=0.3, expert=0.7, flexible=0.0).mean_flexible)


def test_who_stays_in_a_zone_loses_by_the_flexible() -> None:
    base = PlayerBase(teams=(1, 1), splits=(Split("zone", {"junior": 0.5, "expert": 0.5}),))
    found = advise(base, players_online=1_000.0)
    (each,) = found.flexible
    rate = found.rate
    known = zones(junior=0.5 * rate, expert=0.45 * rate, flexible=0.05 * rate)
    (other,) = set(each.others) - {each.who}
    now, then = each.others[each.who]
    assert then == pytest.approx(known.mean_expert)
    assert then > now == pytest.approx(each.wait)
    assert each.others[other][1] == pytest.approx(known.mean_junior)
    assert each.others[other][1] < each.others[other][0]
    assert each.wait_if_flexible < each.wait


def test_a_flexible_player_of_larger_matches_waits_less_than_in_any_pool() -> None:
    found = advise(PlayerBase(splits=(UNEVEN,)), target_wait=60.0)
    assert [each.who for each in found.flexible] == ["asia", "us", "eu"]
    assert all(each.wait_if_flexible < found.cells[0].figures.mean for each in found.flexible)
    assert all(each.source == "exact" and not each.others for each in found.flexible)


# Parties, roles, sides


def test_two_against_two_with_parties_is_exact() -> None:
    found = advise(PlayerBase(teams=(2, 2), parties=(0.5, 0.5)), players_online=200.0)
    exact = two_v_two(solo_rate=0.5 * found.rate, party_rate=0.25 * found.rate)
    assert found.pooled.mean == pytest.approx(exact.mean)
    assert found.pooled.p90 == pytest.approx(exact.p90)
    assert [each.figures.mean for each in found.classes] == pytest.approx(
        [exact.mean_solo, exact.mean_party]
    )
    assert found.known.is_exact


def test_parties_of_one_size_are_players() -> None:
    parties = advise(PlayerBase(teams=(4, 4), parties=(0.0, 1.0)), target_wait=60.0)
    duels = k_player(k=4, rate=parties.rate / 2.0)
    assert duels.p50 == pytest.approx(60.0)
    assert advise(PlayerBase(teams=(3, 3), parties=(0.0, 1.0)), target_wait=60.0).rate is None


def test_sides_of_duels_are_exact_and_say_who_waits() -> None:
    found = advise(PlayerBase(teams=(1, 1), sides=SIDES), target_wait=60.0, percentile=0.9)
    assert found.pooled.mean * found.rate == pytest.approx(121.0 / 116.0)
    by_name = {each.name: each.figures.mean * found.rate for each in found.classes}
    assert by_name["side A"] == pytest.approx(175.0 / 116.0)
    assert by_name["either side"] == pytest.approx(10.0 / 29.0)
    flexible = found.flexible[0]
    assert flexible.others["side B"][1] > flexible.others["side B"][0]


@pytest.mark.parametrize(
    ("base", "text", "growth"),
    [
        (PlayerBase(teams=(1, 1), sides={"A": 0.6, "B": 0.3, "any": 0.1}),
         "players who insist on A must drop by more than 20 per 100 players", 0.2),
        (PlayerBase(teams=(3, 3), parties=(0.3, 0.7)),
         "duos exceed solos by 5 per 100 players", 0.1),
        (PlayerBase(roles=ROLES, role_shares={"tank": 0.1, "dps": 0.7, "any": 0.2}),
         "players who queue only for dps must drop by more than 25 per 100 players", 0.25),
    ],
    ids=["sides", "parties", "roles"],
)  # fmt: skip
def test_an_unstable_queue_is_an_answer(base: PlayerBase, text: str, growth: float | None) -> None:
    found = advise(base, players_online=1_920.0)
    figures = found.figures()
    assert figures["stable"] is False
    assert text in figures["margins"][0]["text"]
    assert figures["margins"][0]["margin"] < 0.0
    assert figures["pooled"]["waits"]["mean"] is None
    # 1,920 online search once a second where nobody waits.
    assert figures["growth"] > 0.0
    if growth is not None:
        assert figures["growth"] == pytest.approx(growth)


def test_where_theory_ends_a_bound_and_an_estimate_are_called_so() -> None:
    base = PlayerBase(
        roles=ROLES, role_shares={"tank": 0.1, "healer": 0.15, "dps": 0.55, "any": 0.2}
    )
    found = advise(base, target_wait=60.0)
    figures = found.figures()
    assert figures["stable"] is True
    assert [round(each["margin"], 2) for each in figures["margins"]][:3] == [0.05, 0.05, 0.1]
    assert {each["source"] for each in figures["theory"]} == {"bound", "estimate"}
    assert found.pooled.mean * found.rate == pytest.approx(4.5)


def test_conditions_of_several_kinds_may_not_suffice() -> None:
    base = PlayerBase(parties=(0.7, 0.3), sides=SIDES)
    found = advise(base, target_wait=60.0)
    assert found.known.stable is None
    assert {each.about for each in found.known.margins} == {"parties", "sides"}


def test_shares_are_said_per_hundred_players() -> None:
    assert per_100("a are 0.05/s too many, 1e-3/s") == (
        "a are 5 per 100 players too many, 0.1 per 100 players"
    )


def test_where_an_increasing_function_reaches_a_value() -> None:
    assert solve_increasing(lambda x: x**5, 32.0, 0.0, 10.0) == pytest.approx(2.0, rel=1e-12)
    assert solve_increasing(lambda x: math.floor(x), 3.0, 0.0, 10.0) == pytest.approx(3.0)
    assert solve_increasing(lambda x: x, 1.0, 2.0, 3.0) == 2.0


# Simulation


def test_a_simulated_pool_at_the_advised_rate_has_the_advised_median() -> None:
    # The players online of the smallest region search at the advised rate, for the target.
    found = advise(PlayerBase(teams=(2, 2), splits=(UNEVEN,)), target_wait=60.0)
    seen = simulated_pool(scenario_of(found, seed=11), 0.5, in_a_row)
    _agrees(seen.figures["wait"], 60.0)
    _agrees(seen.figures["mean"], found.worst.figures.mean)


@pytest.mark.long
def test_a_simulated_pool_with_patience_is_as_thin_as_advised() -> None:
    found = advise(PlayerBase(teams=(2, 2), patience=60.0), players_online=40.0)
    seen = simulated_pool(scenario_of(found, seed=12), 0.5, in_a_row)
    _agrees(seen.figures["matched"], found.pooled.matched)
    _agrees(seen.figures["mean"], found.pooled.mean)


def test_simulated_sides_wait_as_theory_says() -> None:
    found = advise(PlayerBase(teams=(1, 1), sides=SIDES), players_online=100.0)
    seen = simulated_pool(scenario_of(found, seed=13), 0.9, in_a_row)
    for each in found.classes:
        _agrees(seen.classes[each.name], each.figures.mean)


def test_a_simulation_takes_the_place_of_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("TICKETS_MIN", "TICKETS_MAX"):
        monkeypatch.setattr(pool_scenario, limit, 1_000)
    base = PlayerBase(
        teams=(2, 2), roles={"lead": 1, "aid": 1}, role_shares={"lead": 0.3, "aid": 0.3, "any": 0.4}
    )
    guessed = advise(base, target_wait=60.0)
    found = advice.simulate(guessed, 14, in_a_row)
    assert {each.source for each in found.known.statements} >= {"bound", "simulated"}
    assert found.players_online > guessed.players_online
    assert 0.0 < found.players_half_width < 0.5 * found.players_online
    assert {each.name for each in found.classes} == {"lead", "aid", "any role"}
    (flexible,) = found.flexible
    assert flexible.becomes == "any role"
    assert flexible.wait_if_flexible < flexible.wait
    assert flexible.others.keys() == {"lead", "aid", "any role"}
    # The needed rate is the simulated wait's, scaled.
    seen = found.simulated
    assert found.rate == pytest.approx(seen.rate * seen.law.quantile(0.5) / seen.rate / 60.0)


def test_simulated_pools_that_share_players_are_the_zones_of_theory() -> None:
    shared = SharedPools(
        PlayerBase(teams=(1, 1)), Split("zone", {"junior": 0.6, "expert": 0.4}), 1.0, 15
    )
    assert shared.shifting == "expert"
    seen = simulated_pool(shared, 0.5, in_a_row)
    exact = zones(junior=0.6, expert=0.36, flexible=0.04)
    _agrees(seen.classes["junior"], exact.mean_junior)
    _agrees(seen.classes["expert"], exact.mean_expert)
    assert seen.classes["any zone"].value < seen.classes["expert"].value


def _agrees(interval, value: float) -> None:
    # half_width is 2.36 standard errors of eight runs; three standard errors are allowed, and the
    # simulation must be good enough to tell a fifth.
    assert interval.value == pytest.approx(value, abs=interval.half_width * 3.0 / 2.3646)
    assert interval.half_width < 0.2 * value


# Bad input


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"teams": (1,)}, "a match has 2 to 1,000 players, got 1"),
        ({"teams": (0, 2)}, "every team needs at least one player"),
        ({"match_length": -1.0}, "match length must be >= 0 s"),
        ({"idle": math.nan}, "idle must be >= 0 s"),
        ({"match_length": 0.0, "idle": 0.0}, "are both 0 s; say how long a match lasts"),
        ({"patience": 1e-15}, "patience must be >= 1e-06 s"),
        ({"teams": (2, 2), "parties": (1e-15, 1.0)}, "a share must be 0 or at least 1e-09"),
        ({"match_length": 1e-9, "idle": 0.0}, "must be at least 1e-06 s together"),
        ({"splits": (Split("a", {"x": 0.5, "y": 0.4}),)}, "must sum to 1, these sum to 0.9"),
        ({"splits": (Split("a", {"x": 1.0, "y": 0.0}),)}, "nobody is in y, its share is 0"),
        ({"splits": (MODES, MODES)}, "every split needs a name of its own"),
        ({"splits": (Split.even("a", 101), Split.even("b", 100))},
         "101 a x 100 b make 10,100 pools, and at most 10,000 are computed"),
        ({"parties": (0.5, 0.6)}, "parties: shares must sum to 1, these sum to 1.1"),
        ({"parties": (1.5, -0.5)}, "a share must be between 0 and 1, got 1.5"),
        ({"teams": (1, 1), "parties": (0.5, 0.5)}, "a party of 2 does not fit into a team of 1"),
        ({"roles": ROLES}, "roles and role shares go together, and role shares are missing"),
        ({"roles": {"tank": 1}, "role_shares": {"any": 1.0}}, "roles take 1 players of a team"),
        ({"roles": ROLES, "role_shares": {"mage": 1.0}}, "'mage' is no role; roles are tank, heal"),
        ({"roles": ROLES, "role_shares": {"tank+dps": 0.5, "dps+tank": 0.5}}, "the same roles"),
        ({"sides": {"A": 1.0}}, "name two sides, and any for players who take either, got 1"),
        ({"teams": (1, 1, 1), "sides": SIDES}, "sides need two teams, and a match has 3"),
        ({"levels": (0.5, 0.5), "zones": 3}, "zones must be 2 to 2"),
        ({"levels": (0.0, 1.0)}, "levels: two of them at least need players, got (0.0, 1.0)"),
        ({"hours": (1.0,) * 23}, "hours must be 24 numbers, one for each hour, got 23"),
        ({"hours": (0.0,) * 24}, "hours must not all be 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_sentence(given, sentence: str) -> None:
    with pytest.raises(ConfigError) as raised:
        PlayerBase(**given)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({}, "give players online, to learn how long they wait, or a target wait"),
        ({"players_online": 5.0, "target_wait": 5.0}, "not both; both together are for hours"),
        ({"players_online": -1.0}, "players online must be above 0"),
        ({"target_wait": math.inf}, "target wait must be above 0 s"),
        ({"target_wait": 60.0, "percentile": 1.0}, "percentile must be above 0 and below 1"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(asked, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        advise(PlayerBase(), **asked)


def test_every_figure_is_plain_json() -> None:
    base = PlayerBase(
        splits=(UNEVEN, MODES), levels=(0.5, 0.3, 0.2), zones=3, hours=tuple(range(1, 25))
    )
    figures = advise(base, target_wait=60.0).figures()
    names = (
        "match percentile target_wait players_online players_online_half_width rate stable pooled "
        "worst cells classes margins splits flexible cuts hours theory kind growth growth_share "
        "simulated"
    )
    assert set(figures) == set(names.split())
    assert json.loads(json.dumps(figures, allow_nan=False))["cells"][0]["cell"] == "eu / mode 1"


def test_known_classes_make_up_all_players() -> None:
    for base in (
        PlayerBase(teams=(1, 1), sides=SIDES),
        PlayerBase(teams=(2, 2), parties=(0.2, 0.8)),
    ):
        known = known_of(base)
        assert math.fsum(each.share for each in known.classes) == pytest.approx(1.0)
        mean = math.fsum(each.share * each.mean for each in known.classes)
        assert mean == pytest.approx(known.pool.waits(1.0).mean)


def test_boundary_of_parties_is_decided_by_the_digits_and_not_by_floats() -> None:
    # In floats, 0.3 / 3 < 0.1: as many trios come as solos, without whom no trio plays.
    found = advise(PlayerBase(teams=(4, 4), parties=(0.1, 0.0, 0.3, 0.6)), players_online=1000.0)
    assert (found.kind, found.known.stable, found.rate) == ("null recurrent", False, None)


def test_mean_and_quantiles_of_even_parties_are_of_one_law() -> None:
    split = Split("region", {"a": 0.999, "b": 0.001})
    base = PlayerBase(teams=(4, 4), parties=(0.0, 0.5, 0.0, 0.5), splits=(split,))
    found = advise(base, players_online=10_000.0)
    by_pairs = k_player(k=4, rate=0.5)
    assert found.known.pool.waits(1.0).mean == by_pairs.mean == 3.0
    assert found.known.pool.waits(1.0).quantile(0.9) == pytest.approx(by_pairs.p90)
    # Who waits in one more pool never waits longer.
    assert all(each.wait_if_flexible < each.wait for each in found.flexible)
