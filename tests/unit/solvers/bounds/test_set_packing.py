"""Bounds of batches against every way to play them, and against planted errors."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import cache
from itertools import combinations, permutations

import numpy as np
import pytest

from evenmatch.errors import NotSupported
from evenmatch.solvers.bounds import set_packing
from evenmatch.solvers.bounds.match_climb import Climbs, climb
from evenmatch.solvers.bounds.match_pricing import (
    PricedMatches,
    PricingSearch,
    price_matches,
    pricing_of,
)
from evenmatch.solvers.bounds.packing import SetPacking
from evenmatch.solvers.bounds.set_packing import Proof, plan_of, prove, seated_teams
from evenmatch.solvers.matching.pairs import CAPPED, LOG, RAW
from evenmatch.solvers.teams import reference
from evenmatch.solvers.teams.batch import (
    APART,
    MEAN_GAP,
    NOT_ENEMIES,
    NOT_MATES,
    PAIR_GAP,
    SPREAD,
    SUM_GAP,
    Batch,
    Plan,
    empty_batch,
    empty_facts,
)
from tests.extent import extent, more
from tests.unit.solvers.batch.worlds import strange_batch

pytestmark = more

pytest.importorskip("highspy")

EFFORT = 1e8
Match = tuple[frozenset[int], list[list[int]], float]


def random_batch(seed: int, sizes: list[int], seats: list[int]) -> Batch:
    """Return parties of given sizes, with every kind of fact and term drawn at random."""
    rng = np.random.default_rng(seed)
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    n = int(first[-1])
    ping = rng.uniform(10.0, 500.0, (n, n)).astype(np.float32)
    party = np.repeat(np.arange(len(sizes)), sizes)
    strangers = [(i, j) for i, j in combinations(range(n), 2) if party[i] != party[j]]
    rng.shuffle(strangers)
    met = [(i, j, rng.uniform(), rng.integers(2)) for i, j in strangers[: n // 2]]
    shape = [(LOG, 8.0, 1.0), (CAPPED, 5.0, 0.0), (RAW, 0.0, 0.0)]
    facts = empty_facts(n)._replace(
        values=rng.uniform(0.0, 10.0, (2, n)).round(2),
        gaps=np.array([[PAIR_GAP, 0.2, 0, LOG, 8.0, 1.0, 0.0]]),
        ping=(ping + ping.T) / 2,
        latency=np.where(rng.random((n, 3)) < 0.1, np.inf, rng.uniform(10, 400, (n, 3))),
        ping_weights=rng.uniform(0.0, 0.15, 4),
        ping_max=np.where(rng.random((2, n)) < 0.2, 400.0, np.inf),
        met=np.array(met).reshape(-1, 4),
        met_weight=0.1,
        words=rng.integers(0, 3, (1, n)),
        words_weight=np.array([0.05]),
        tongues=rng.integers(1, 8, (1, n)).astype(np.uint64),
        tongues_weight=np.array([0.05]),
        avoid=np.array(
            [(*strangers[-q], flag) for q, flag in enumerate((APART, NOT_MATES, NOT_ENEMIES), 1)]
        ),
        connect=(rng.random((n, n)) < 0.8).astype(np.uint8),
    )
    kinds = rng.permutation([SPREAD, SUM_GAP, MEAN_GAP, PAIR_GAP])
    terms = [
        [kind, 0.1, rng.integers(2), *shape[rng.integers(2)], rng.choice([0.0, 0.5])]
        for kind in kinds[:3]
    ]
    return empty_batch(np.array(seats, dtype=np.int64), first, facts)._replace(
        terms=np.array(terms),
        parity=0.1,
        hosts=np.array([0.1, 0.04, 0.0]),
        rules=np.array([[SPREAD, 0, 0.0], [SUM_GAP, 1, 1.0]]),
        tolerances=np.array([rng.uniform(7.0, 10.0, n), rng.uniform(6.0, 12.0, n)]),
    )


def possible_matches(batch: Batch) -> list[Match]:
    """Return the legal matches as sets of parties, each in its best teams."""
    best: dict[frozenset[int], tuple[float, list[list[int]]]] = {}
    for teams in _teamings(batch, frozenset(range(len(batch.first) - 1)), 0, []):
        players = [_players(batch, team) for team in teams]
        if reference.is_legal(batch, players):
            key = frozenset(p for team in teams for p in team)
            quality = 1.0 - reference.cost_of(batch, players)
            if key not in best or quality > best[key][0]:
                best[key] = (quality, players)
    return [(key, players, quality) for key, (quality, players) in best.items()]


def _players(batch: Batch, parties: tuple[int, ...]) -> list[int]:
    return [i for p in parties for i in range(int(batch.first[p]), int(batch.first[p + 1]))]


def _teamings(
    batch: Batch, free: frozenset[int], team: int, so_far: list[tuple[int, ...]]
) -> Iterator[list[tuple[int, ...]]]:
    if team == len(batch.seats):
        yield so_far
        return
    sizes = np.diff(batch.first)
    for count in range(1, int(batch.seats[team]) + 1):
        for parties in combinations(sorted(free), count):
            seats = int(sizes[list(parties)].sum())
            if batch.seats_min[team] <= seats <= batch.seats[team]:
                yield from _teamings(batch, free - set(parties), team + 1, [*so_far, parties])


def best_choice(matches: list[Match], count: int) -> tuple[float, list[list[list[int]]]]:
    """Return the best sum of qualities of disjoint matches by trying all, -inf if there is none."""
    found = (-math.inf, list[list[list[int]]]())

    def grow(at: int, used: frozenset[int], total: float, chosen: list[list[list[int]]]) -> None:
        nonlocal found
        if len(chosen) == count:
            found = max(found, (total, chosen), key=lambda pair: pair[0])
            return
        for m in range(at, len(matches)):
            parties, teams, quality = matches[m]
            if not parties & used:
                grow(m + 1, used | parties, total + quality, [*chosen, teams])

    grow(0, frozenset(), 0.0, [])
    return found


def any_choice(batch: Batch, matches: list[Match], count: int, seed: int) -> Plan | None:
    """Return some disjoint matches, the first that fit in a shuffled list."""
    for again in range(20):
        used: set[int] = set()
        chosen = []
        for m in np.random.default_rng([seed, again]).permutation(len(matches)).tolist():
            parties, teams, _ = matches[m]
            if len(chosen) < count and not parties & used:
                used |= parties
                chosen.append(teams)
        if len(chosen) == count:
            return plan_of(batch, chosen)
    return None


PARTIES = {
    "2v2 alone": ([1] * 9, [2, 2]),
    "2v2 parties": ([2, 1, 2, 1, 1, 2, 1, 2], [2, 2]),
    "3v3 parties": ([1, 2, 1, 3, 1, 1, 2, 1], [3, 3]),
    "1v3": ([1, 2, 1, 1, 3, 1, 1], [1, 3]),
    "three teams": ([1, 2, 1, 1, 2, 1, 1, 2, 1], [2, 2, 2]),
    "free for all": ([1] * 8, [1, 1, 1, 1]),
}


@cache
def solved(name: str, seed: int) -> tuple[Batch, Plan, float] | None:
    """Return a batch with a plan and the best mean quality of as many matches, by brute force."""
    return judged(random_batch(seed, *PARTIES[name]), seed)


def judged(batch: Batch, seed: int) -> tuple[Batch, Plan, float] | None:
    matches = possible_matches(batch)
    plan = any_choice(batch, matches, batch.matches_most, seed) or any_choice(
        batch, matches, 1, seed
    )
    if plan is None:
        return None
    return batch, plan, best_choice(matches, len(plan.seating))[0] / len(plan.seating)


@pytest.mark.parametrize("name", PARTIES)
def test_optimum_is_found_and_proven(name: str) -> None:
    """Two of these seeds at least give a batch that can be played."""
    batches = [found for seed in range(4) if (found := solved(name, seed))]
    assert len(batches) >= 2
    for batch, plan, best in batches:
        proof = prove(batch, plan, effort=EFFORT, optimum=True)
        assert proof.is_optimal
        assert proof.plan.legal.all()
        assert proof.plan.quality.mean() == pytest.approx(best, abs=1e-6)
        assert best <= proof.bound <= best + 2e-6


@pytest.mark.parametrize("effort", [1.0, 300.0, 3000.0, EFFORT])
def test_bound_is_never_below_the_optimum(effort: float) -> None:
    for name in PARTIES:
        for seed in range(extent(1, 3)):
            found = solved(name, seed)
            if found:
                batch, plan, best = found
                assert prove(batch, plan, effort=effort).bound >= best


def test_bound_of_roles_and_shared_tongues_is_above_the_optimum() -> None:
    """What the search does not know exactly only weakens the bound."""
    rng = np.random.default_rng(3)
    checked = 0
    for seed in range(20, 24):
        plain = random_batch(seed, *PARTIES["2v2 alone"])
        facts = plain.facts
        roles = rng.uniform(0.0, 0.1, (9, 2)).astype(np.float32)
        roles[rng.random((9, 2)) < 0.2] = np.inf
        shared = facts._replace(
            tongues_weight=np.array([np.inf]), tongues=facts.tongues | np.uint64(1)
        )
        batch = plain._replace(facts=shared, role_seats=np.array([1, 1]), role_cost=roles)
        found = judged(batch, seed)
        if found:
            batch, plan, best = found
            proof = prove(batch, plan, effort=EFFORT, optimum=True)
            assert not proof.is_exact
            assert proof.bound >= best
            checked += 1
    assert checked >= 2


@pytest.mark.parametrize("sides", [False, True])
@pytest.mark.parametrize("seats", [(2, 2), (1, 3)])
def test_bound_forgives_what_it_does_not_know(seats: tuple[int, int], sides: bool) -> None:
    """Rules, terms and sides that compare more than numbers make it weaker, never wrong."""
    checked = 0
    for seed in range(extent(4, 8)):
        found = judged(strange_batch(seats, 9, seed, sides=sides), seed)
        if found:
            batch, plan, best = found
            proof = prove(batch, plan, effort=EFFORT)
            assert proof.bound >= best - 1e-9
            assert not proof.is_exact
            checked += 1
    assert checked > extent(1, 2)


def test_free_seats_are_bounded_in_every_division() -> None:
    batch = random_batch(1, [2, 1, 2, 1, 1], [2, 2])
    found = judged(batch._replace(seats_min=np.array([1, 1]), fullness=0.2), 1)
    assert found
    batch, plan, best = found
    proof = prove(batch, plan, effort=EFFORT, optimum=True)
    assert best <= proof.bound <= best + 2e-6


def test_worth_of_a_match_is_its_quality_less_its_prices() -> None:
    """To 1e-12, for all matches that a search finds, and the best of each root is its top."""
    for name in PARTIES:
        batch = random_batch(1, *PARTIES[name])
        prices = np.random.default_rng(1).uniform(0.0, 0.3, len(batch.first) - 1)
        priced = price_matches(pricing_of(batch), prices, PricingSearch(-9.0, 5000, 1e9))
        expected = {
            key: quality - sum(prices[p] for p in key)
            for key, _, quality in possible_matches(batch)
        }
        rows = {
            frozenset(row[row >= 0].tolist()): worth
            for row, worth in zip(priced.parties, priced.worth.tolist(), strict=True)
        }
        assert priced.is_complete
        assert rows.keys() == expected.keys()
        for key, worth in rows.items():
            assert worth == pytest.approx(expected[key], abs=1e-12)


def test_search_cut_short_still_bounds_what_it_has_not_seen() -> None:
    batch = random_batch(4, [1] * 12, [3, 3])
    prices = np.full(12, 0.1)
    pricing = pricing_of(batch)
    full = price_matches(pricing, prices, PricingSearch(-1.0, 5000, 1e9))
    for effort in (1.0, 100.0, 1000.0):
        part = price_matches(pricing, prices, PricingSearch(-1.0, 5000, effort))
        assert part.spent < full.spent
        assert (part.tops >= full.tops - 1e-12).all()
        assert not part.is_complete


def test_climbs_find_matches_that_are_worth_what_they_say() -> None:
    """Legal ones with parties whole; and none of those they began from is better."""
    for name, seed in ((name, seed) for name in PARTIES for seed in range(4)):
        found = solved(name, seed)
        if not found:
            continue
        batch, plan, _ = found
        prices = np.random.default_rng(2).uniform(0.0, 0.3, len(batch.first) - 1)
        columns = set_packing.Columns(batch, batch.k)
        columns.add_plan(plan)
        climbs = Climbs(columns.parties, columns.label, -9.0, 500, np.ones(1, dtype=np.int64))
        climbed = climb(pricing_of(batch), prices, climbs)
        expected = {
            key: quality - sum(prices[p] for p in key)
            for key, _, quality in possible_matches(batch)
        }
        for row, label, worth in zip(
            climbed.parties, climbed.label, climbed.worth.tolist(), strict=True
        ):
            key = frozenset(row[row >= 0].tolist())
            teams = set_packing.teams_of(batch, row, label)
            quality = 1.0 - reference.cost_of(batch, teams)
            assert worth <= expected[key] + 1e-12
            assert worth == pytest.approx(quality - sum(prices[p] for p in key), abs=1e-12)
        begun = columns.quality - set_packing.price_sums(columns.parties, prices)
        assert max(climbed.worth) >= max(begun) - 1e-12
        assert climbed.tops.max() == max(climbed.worth)


def test_search_from_one_party_does_not_outlast_its_share() -> None:
    pricing = pricing_of(random_batch(4, [1] * 32, [4, 4]))
    began = time.process_time()
    ends = iter([True])
    search = PricingSearch(-9.0, 4, 4e7, lambda: next(ends, False))
    part = price_matches(pricing, np.full(32, 0.01), search)
    assert part.spent > 1e6
    assert time.process_time() - began < 1.0


def test_choice_among_very_many_matches_ends_in_time() -> None:
    rng, players = np.random.default_rng(1), 60
    sure = np.arange(players).reshape(-1, 6)
    drawn = np.sort(rng.permuted(np.tile(np.arange(players), (20_000, 1)), axis=1)[:, :6], axis=1)
    packing = SetPacking(players, len(sure))
    worths = np.append(np.full(len(sure), 0.5), rng.uniform(0.9, 1.0, len(drawn)))
    packing.add(worths, np.vstack([sure, drawn]))
    began = time.process_time()
    ends = began + 0.2
    chosen = packing.choose(2_000, lambda: time.process_time() < ends, 0.2)
    assert time.process_time() - began < 2.5
    assert chosen.bound >= 9.5
    assert len(chosen.columns) in (0, 10)


def test_climbs_end_when_the_time_is_over() -> None:
    found = solved("2v2 alone", 0)
    assert found is not None
    batch, plan, _ = found
    prices = np.full(len(batch.first) - 1, 0.1)
    columns = set_packing.Columns(batch, batch.k)
    columns.add_plan(plan)
    assert len(columns.quality) > 1
    pricing = pricing_of(batch)

    def climbed(*going: bool) -> PricedMatches:
        left = iter(going)
        chance = np.ones(1, dtype=np.int64)
        begun = (columns.parties, columns.label, -9.0, 50, chance)
        return climb(pricing, prices, Climbs(*begun, lambda: next(left, False)))

    full = climbed(*[True] * len(columns.quality))
    always = Climbs(columns.parties, columns.label, -9.0, 50, np.ones(1, dtype=np.int64))
    assert full.worth.tolist() == climb(pricing, prices, always).worth.tolist()
    assert 0.0 < climbed(True).spent < full.spent
    assert climbed().spent == 0.0
    assert not len(climbed().worth)


def test_planted_error_in_tops_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that overlooks a little must make the proof fail, not the plan look optimal."""

    def careless(*args: object, **options: object) -> object:
        priced = price_matches(*args, **options)  # type: ignore[arg-type]
        return priced._replace(tops=priced.tops - 0.02)

    found = solved("3v3 parties", 0)
    assert found
    batch, plan, _ = found
    optimal = prove(batch, plan, effort=EFFORT, optimum=True).plan
    monkeypatch.setattr(set_packing, "price_matches", careless)
    with pytest.raises(AssertionError, match="below a plan"):
        prove(batch, optimal, effort=EFFORT)


def test_any_prices_give_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices may be wrong in any way: only the bound's distance depends on them."""
    solve = set_packing.SetPacking.solve

    def disturbed(self: set_packing.SetPacking) -> object:
        prices = solve(self)
        noise = np.random.default_rng(len(prices.share)).uniform(0.0, 0.05, len(prices.parties))
        return prices._replace(parties=prices.parties + noise)

    found = solved("3v3 parties", 1) or solved("3v3 parties", 2)
    assert found
    batch, plan, best = found
    exact = prove(batch, plan, effort=EFFORT).bound
    monkeypatch.setattr(set_packing.SetPacking, "solve", disturbed)
    assert prove(batch, plan, effort=3e5).bound >= best
    assert exact >= best


def test_equal_effort_gives_equal_proofs() -> None:
    found = solved("3v3 parties", 0)
    assert found
    batch, plan, _ = found
    first, second = (prove(batch, plan, effort=2e4) for _ in range(2))
    assert first[:3] == second[:3]
    assert first[5:] == second[5:]


def test_work_ends_when_the_caller_says_so() -> None:
    batch, plan, best = _first_solved()
    calls = iter([True] * 4 + [False] * 99)
    shares: list[float] = []
    proof = prove(
        batch,
        plan,
        effort=EFFORT,
        progress=lambda bound, share: shares.append(share),
        keep_going=lambda: next(calls),
    )
    assert proof.rounds == len(shares) == 1
    assert proof.bound >= best


def _first_solved() -> tuple[Batch, Plan, float]:
    return next(found for seed in range(9) if (found := solved("3v3 parties", seed)))


def test_plan_without_legal_matches_proves_nothing() -> None:
    batch, plan, _ = _first_solved()
    nothing = plan._replace(legal=np.zeros(len(plan.legal), dtype=np.bool_))
    assert prove(batch, nothing, effort=EFFORT) == Proof(0.0, 0.0, nothing, False, 0, 0, True)


def test_negative_weight_is_refused() -> None:
    batch, plan, _ = _first_solved()
    with pytest.raises(NotSupported, match="weights of at least 0"):
        prove(batch._replace(parity=-0.1), plan, effort=EFFORT)


def test_too_many_divisions_of_free_seats_are_refused() -> None:
    batch, _, _ = _first_solved()
    batch = batch._replace(seats=np.full(4, 4), seats_min=np.ones(4, dtype=np.int64))
    with pytest.raises(NotSupported, match="256 ways"):
        pricing_of(batch)
    assert seated_teams(batch, np.arange(16))[3] == [12, 13, 14, 15]


def test_parties_are_never_split() -> None:
    batch, plan, _ = _first_solved()
    proof = prove(batch, plan, effort=EFFORT, optimum=True)
    party = np.repeat(np.arange(len(batch.first) - 1), np.diff(batch.first))
    for seated in proof.plan.seating:
        teams = [{int(party[p]) for p in team} for team in seated_teams(batch, seated)]
        assert all(not one & two for one, two in permutations(teams, 2))
        assert sum(np.diff(batch.first)[list(set().union(*teams))]) == 6
