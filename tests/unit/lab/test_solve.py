"""`evenmatch.solve`: matches, proofs, reasons."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenmatch
from evenmatch.errors import ConfigError
from evenmatch.lab.solve import search, solution
from evenmatch.solvers.bounds import set_packing
from evenmatch.solvers.kernel import kernel
from tests import galactron
from tests.unit.lab.batches import SKILL, SPREAD, arrays, batch_of, exported, singles

HOUSEHOLDS = {"kind": "household_limit", "attribute": "home", "limit": 1}
TEN = [100.0, 900.0, 250.0, 2400.0, 1300.0, 1310.0, 2000.0, 260.0, 120.0, 2900.0]
HANDFUL = [(2, 8), (2, 33), (3, 30), (3, 47), (4, 50), (5, 31)]
THIRTY = [(n, size) for n in (1, 2, 3, 4, 5) for size in (2 * n, 2 * n + 1, 37, 64, 150, 301)]
INSTANCES = THIRTY if "EVENMATCH_INSTANCES" in os.environ else HANDFUL


@pytest.mark.parametrize(("team_size", "players"), INSTANCES)
def test_checker_accepts_every_plan_and_agrees_on_its_quality(
    tmp_path: Path, team_size: int, players: int
) -> None:
    batch = galactron.drawn(players, team_size, players + team_size)
    instance = galactron.written(tmp_path / "instance.npz", batch)
    for settings in ({"effort": 1}, {"budget_ms": 30}, {"policy": "descent", "effort": 3_000}):
        found = evenmatch.solve(instance, **settings)  # type: ignore[arg-type]
        matches = [match["teams"] for match in found.matches]
        assert galactron.check(batch, matches) == pytest.approx(found.quality, abs=1e-6)


def test_duels_are_paired_at_the_best_and_that_is_proved() -> None:
    found = evenmatch.solve(batch_of(singles(TEN), SPREAD, players=1), bound=True)

    order = np.sort(TEN)
    best = 100.0 * (1.0 - float(np.mean(order[1::2] - order[::2])) / 3000.0)
    assert found.quality == pytest.approx(best)
    assert (found.gap, found.proof.is_optimal) == (pytest.approx(0.0, abs=1e-9), True)


def test_duels_are_searched_if_a_matching_would_outlast_the_budget() -> None:
    rng = np.random.default_rng(3)
    tickets = singles(rng.uniform(0.0, 3000.0, 300).tolist())
    for ticket in tickets:
        latency = dict(zip(("eu", "us", "as"), rng.uniform(10.0, 200.0, 3).tolist(), strict=True))
        ticket["players"][0]["attributes"]["latency"] = latency
    raw = batch_of(tickets, SPREAD, {"kind": "latency"}, players=1)
    short = evenmatch.solve(raw, budget_ms=20)
    full = evenmatch.solve(raw, budget_ms=1_000, bound=True)
    by_numbers = evenmatch.solve(batch_of(tickets, SPREAD, players=1), budget_ms=0, bound=True)

    assert full.proof.is_optimal
    assert by_numbers.proof.is_optimal
    assert len(short.matches) == len(full.matches) == len(by_numbers.matches) == 150
    assert (short.quality or 0.0) < (full.quality or 0.0) - 1e-4


def test_search_of_duels_has_the_bound_too() -> None:
    raw = batch_of(singles(TEN), SPREAD, players=1)
    found = evenmatch.solve(raw, policy="descent", effort=2_000, bound=True)
    assert found.bound is not None
    assert found.bound >= (found.quality or 0.0) - 1e-3


def test_proof_of_a_small_batch_ends_with_the_best() -> None:
    found = evenmatch.solve(exported(arrays(18, 3, seed=4)), effort=1, bound=True)
    assert found.proof.is_optimal
    assert found.gap == pytest.approx(0.0, abs=1e-3)
    searched = evenmatch.solve(exported(arrays(18, 3, seed=4)), effort=100_000)
    assert (searched.quality or 0.0) <= (found.quality or 0.0) + 1e-3


def test_bound_holds_for_what_a_long_search_finds() -> None:
    raw = exported(arrays(24, 3, seed=5))
    bound = evenmatch.solve(raw, effort=1, bound=True, bound_seconds=1).bound
    assert bound is not None
    assert (evenmatch.solve(raw, effort=100_000).quality or 0.0) <= bound + 1e-3


def test_the_time_of_a_proof_begins_when_its_kernels_are_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def doubled(number: int) -> int:
        return 2 * number

    late: list[Any] = []
    were_loaded: list[bool] = []
    found, proved = solution.search, set_packing.prove

    def searched(*args: Any, **keywords: Any) -> Any:
        plan = found(*args, **keywords)
        # As those of a module that is imported for the proof only.
        late.append(kernel("int64(int64)")(doubled))
        return plan

    def watched(*args: Any, **keywords: Any) -> Any:
        were_loaded.append(late[0]._compiled is not None)
        return proved(*args, **keywords)

    monkeypatch.setattr(solution, "search", searched)
    monkeypatch.setattr(set_packing, "prove", watched)
    evenmatch.solve(exported(arrays(12, 3, seed=5)), effort=1, bound=True, bound_seconds=1)
    assert were_loaded == [True]


def test_a_bound_whose_tables_outlast_its_time_is_left_out() -> None:
    skills = np.random.default_rng(7).normal(1500.0, 300.0, 3_000).tolist()
    raw = batch_of(singles(skills), SPREAD, players=2)
    found = evenmatch.solve(raw, effort=1, bound=True, bound_seconds=1)
    assert len(found.matches) > 700
    assert (found.bound, found.gap, found.proof.is_optimal) == (None, None, False)
    assert "tables of a bound for 3,000 players" in found.proof.reason
    assert "give it 2 s at least" in found.proof.reason


def test_proof_keeps_only_legal_matches() -> None:
    homes = 8 * "abc" + 24 * "a"
    tickets = singles([3000.0 - 50.0 * at - 7.0 * (at % 5) for at in range(len(homes))])
    for ticket, home in zip(tickets, homes, strict=True):
        ticket["players"][0]["attributes"]["home"] = home
    raw = batch_of(tickets, SPREAD, rules=[HOUSEHOLDS]) | {"format": {"teams": 3, "players": 1}}
    searched = evenmatch.solve(raw, effort=1)
    found = evenmatch.solve(raw, effort=1, bound=True, bound_seconds=2)

    for match in found.matches:
        assert sorted(homes[team[0]] for team in match["teams"]) == ["a", "b", "c"]
    assert len(found.matches) == len(searched.matches)
    assert (searched.quality or 0.0) < (found.quality or 0.0) < (found.bound or 0.0) + 1e-3
    assert "household_limit" in found.reason


@pytest.mark.parametrize("size", [0, 1, 3])
def test_too_few_players_are_an_empty_result_with_the_reason(size: int) -> None:
    found = evenmatch.solve(batch_of(singles(TEN[:size])), bound=True, explain=True)
    assert (found.matches, found.quality, found.bound, found.gap) == ([], None, None, None)
    assert found.bench == list(range(size))
    assert "fewer than the 4 of a match" in found.reason
    json.dumps(found.summary, allow_nan=False)


@pytest.mark.parametrize("size", [0, 1])
def test_nobody_to_play_a_duel_is_an_empty_result(size: int) -> None:
    found = evenmatch.solve(batch_of(singles(TEN[:size]), players=1), bound=True)
    assert (found.matches, found.bench) == ([], list(range(size)))
    assert found.reason


def test_parties_that_make_fewer_matches_than_players_could_are_told() -> None:
    trios = [
        {"players": [{"id": f"{t}{p}", "attributes": {"skill": 1.0}} for p in range(3)]}
        for t in range(4)
    ]
    found = evenmatch.solve(batch_of(trios, players=4), effort=50)
    assert found.matches == []
    assert found.reason.startswith("no match is possible with these parties")


def speakers(*langs: str, **form: int) -> dict[str, Any]:
    """Return a batch of two teams of one or two players who must speak one language."""
    tickets = singles([1000.0 + 10.0 * at for at in range(len(langs))])
    for ticket, lang in zip(tickets, langs, strict=True):
        ticket["players"][0]["attributes"]["lang"] = lang
    raw = batch_of(tickets, rules=[{"kind": "same", "attribute": "lang"}])
    return raw | {"format": {"teams": 2, "players": 2, "players_min": 1, **form}}


@pytest.mark.parametrize("policy", ["anneal", "descent"])
@pytest.mark.parametrize(
    ("langs", "bench"),
    [
        (["en", "de", "en", "fr"], [1, 3]),
        (["en", "de", "en"], [1]),
        (["en", "de", "en", "de", "fr", "en", "de", "en", "de"], [4]),
    ],
)
def test_matches_that_need_not_be_full_leave_out_only_who_fits_none(
    policy: str, langs: list[str], bench: list[int]
) -> None:
    found = evenmatch.solve(speakers(*langs), policy=policy, effort=20_000)
    for match in found.matches:
        assert len({langs[p] for team in match["teams"] for p in team}) == 1
    assert found.bench == bench
    assert bool(found.reason) is (len(bench) > 1)


@pytest.mark.parametrize("budget", [{"effort": 200_000}, {"budget_ms": 30}])
def test_smaller_matches_are_searched_for_within_the_budget(budget: dict[str, int]) -> None:
    langs = [str(at % 7) for at in range(200)]
    found = evenmatch.solve(speakers(*langs), **budget)
    for match in found.matches:
        assert len({langs[p] for team in match["teams"] for p in team}) == 1
    assert "effort" not in budget or len(found.bench) < 20


def test_no_match_has_a_reason_though_the_players_are_too_few_for_a_full_one() -> None:
    found = evenmatch.solve(speakers("en", "de", "fr"), effort=1_000)
    assert found.matches == []
    assert "rule same of lang never allows it" in found.reason


def test_explanation_sums_to_one_and_can_be_repeated() -> None:
    raw = exported(arrays(36, 3, seed=2))
    one, two = (evenmatch.solve(raw, effort=5_000, explain=True) for _ in range(2))
    assert one.summary["explain"] == two.summary["explain"]
    explained = one.summary["explain"]
    assert len(explained) == 6
    assert sum(each["share"] for each in explained.values()) == pytest.approx(1.0)
    assert sum(each["weight"] for each in explained.values()) == pytest.approx(1.0)
    for each in explained.values():
        assert each["without"].keys() == explained.keys()


def test_factor_that_is_left_out_falls() -> None:
    explained = evenmatch.solve(exported(arrays(36, 3, seed=2)), effort=20_000, explain=True)
    changes = explained.summary["explain"]["party_parity"]["without"]
    assert changes["party_parity"] < -5.0


def test_large_matches_are_searched_with_less_heat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = galactron.drawn(320, 16, 4)
    instance = galactron.written(tmp_path / "instance.npz", batch)
    descended = evenmatch.solve(instance, policy="descent", effort=200_000).quality or 0.0
    cool = [evenmatch.solve(instance, effort=200_000, seed=seed).quality for seed in (1, 2)]
    monkeypatch.setattr(search, "habits_of_large", lambda habits, _: habits)
    hot = [evenmatch.solve(instance, effort=200_000, seed=seed).quality for seed in (1, 2)]

    assert np.mean(cool) > np.mean(hot) + 0.3  # type: ignore[arg-type]
    assert min(cool) > descended + 1.0  # type: ignore[type-var]


def test_single_factor_has_nothing_to_be_left_out() -> None:
    explained = evenmatch.solve(batch_of(singles(TEN)), effort=100, explain=True).explanation
    assert explained is not None
    assert explained["imbalance of skill"]["without"] == {}


RAW = {"kind": "spread", "attribute": "skill", "scale": {"kind": "none"}}


@pytest.mark.parametrize("policy", ["anneal", "descent"])
def test_criterion_without_a_scale_is_optimised_but_no_part_of_quality(policy: str) -> None:
    tickets = singles([1500.0, 1900.0, 1600.0, 1800.0])
    for ticket, ping in zip(tickets, [10.0, 10.0, 20.0, 30.0], strict=True):
        ticket["players"][0]["attributes"]["lag"] = ping
    lag = {"kind": "spread", "attribute": "lag", "scale": {"min": 0.0, "max": 100.0}, "weight": 3.0}
    raw = batch_of(tickets, RAW, lag, players=1)
    found = evenmatch.solve(raw, policy=policy, effort=1_000, bound=True, bound_seconds=60)

    pairs = [sorted(p for team in match["teams"] for p in team) for match in found.matches]
    assert sorted(pairs) == [[0, 2], [1, 3]]
    assert sorted(match["quality"] for match in found.matches) == pytest.approx([80.0, 90.0])
    assert (found.quality, found.summary["median"]) == (pytest.approx(85.0), pytest.approx(85.0))
    assert {name for match in found.matches for name in match["factors"]} == {"spread of lag"}
    assert (found.bound, found.gap, found.proof.is_optimal) == (None, None, True)
    assert "scale none" in found.summary["bound_reason"]


def test_quality_is_null_if_no_criterion_has_a_scale() -> None:
    found = evenmatch.solve(batch_of(singles(TEN), RAW), effort=1_000, explain=True)
    told = found.summary
    assert (told["quality"], told["median"], told["p10"], told["bound_reason"]) == (*[None] * 3, "")
    assert [match["quality"] for match in found.matches] == [None, None]
    json.dumps(told, allow_nan=False)


def test_summary_has_the_promised_names() -> None:
    told = evenmatch.solve(batch_of(singles(TEN), SKILL), effort=100).summary
    promised = {"matches", "quality", "bound", "gap", "bench", "evaluations", "elapsed"}
    assert promised <= told.keys()
    assert {"teams", "quality", "factors", "ids"} <= told["matches"][0].keys()
    seated = [p for match in told["matches"] for team in match["teams"] for p in team]
    assert sorted(seated + told["bench"]) == list(range(10))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"parts": 0}, "parts must be a whole number from 1 to 64, got 0"),
        ({"effort": 0}, "effort must be"),
        ({"budget_ms": -1}, "budget_ms must be"),
        ({"budget_ms": 1, "effort": 1}, "not both"),
        ({"bound": True, "bound_seconds": 0}, "bound_seconds must be"),
    ],
)
def test_setting_out_of_range_is_one_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        evenmatch.solve(batch_of(singles(TEN)), **settings)


def test_batch_of_another_type_is_one_sentence() -> None:
    with pytest.raises(ConfigError, match="a batch is a file or a mapping, got int"):
        evenmatch.solve(3)  # type: ignore[arg-type]
