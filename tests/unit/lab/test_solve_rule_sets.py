"""Batches that play by a FlexMatch rule set: legal matches, a bound, and what is refused."""

import json
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from evenmatch.errors import ConfigError, NotSupported
from evenmatch.lab.rule_set_scenario import scenario_of_rules
from evenmatch.lab.simulate import simulate
from evenmatch.lab.solve.solution import Solution
from evenmatch.lab.solve.solve import solve
from evenmatch.rules.flexmatch.checker.judgement import objections_to
from evenmatch.rules.flexmatch.checker.match import (
    CandidateMatch,
    CandidatePlayer,
    CandidateTicket,
)
from evenmatch.rules.flexmatch.reader import load_rule_set
from tests.flexmatch_kit import published
from tests.shared import shipped

pytest.importorskip("highspy")
Table = dict[str, Any]


def rules_of(name: str) -> Path:
    (path,) = shipped("flexmatch").glob(f"{name}*.json")
    return path


def ticket(number: int, **attributes: float) -> Table:
    return {"id": f"t{number}", "players": [{"id": f"p{number}", "attributes": attributes}]}


def monsters(count: int, seed: int = 3) -> list[Table]:
    rng = Random(seed)
    return [
        ticket(
            number,
            skill=rng.randint(1, 50),
            desiredSkillOfMonster=rng.randint(1, 25),
            wantsToBeMonster=int(rng.random() < 0.2),
        )
        for number in range(count)
    ]


def aliens(count: int, deviation: float = 20.0) -> list[Table]:
    rng = Random(4)
    return [ticket(number, skill=rng.gauss(50, deviation)) for number in range(count)]


def objections(found: Solution, tickets: list[Table], name: str, waited: float) -> list[str]:
    """Return what the checker has against matches of single players."""
    rule_set = load_rule_set(published(name))
    by_player = {each["players"][0]["id"]: each for each in tickets}
    said = []
    for match in found.matches:
        teams = {}
        for team, ids in zip(rule_set.scope.all_teams(), match["ids"], strict=True):
            players = [
                CandidatePlayer(id=each, attributes=by_player[each]["players"][0]["attributes"])
                for each in ids
            ]
            teams[team] = tuple([CandidateTicket(id=p.id, players=(p,)) for p in players])
        said += map(str, objections_to(rule_set, CandidateMatch(teams=teams), waited))
    return said


def test_matches_of_players_against_a_monster_are_legal_and_bounded() -> None:
    tickets = monsters(40)
    found = solve(
        {"tickets": tickets}, rules=rules_of("02"), effort=5_000, bound=True, bound_seconds=2
    )
    assert len(found.matches) >= 3
    assert objections(found, tickets, "02", 0.0) == []
    assert found.bound is not None
    assert found.quality is not None
    assert found.bound >= found.quality - 1e-6


def test_who_has_waited_plays_by_the_expansions() -> None:
    tickets = aliens(12, deviation=60.0)
    strict = solve({"tickets": tickets}, rules=rules_of("01"), effort=3_000)
    late = solve({"tickets": tickets}, rules=rules_of("01"), effort=3_000, waited=20.0)
    assert len(late.matches) >= max(1, len(strict.matches))
    assert objections(late, tickets, "01", 20.0) == []
    assert objections(strict, tickets, "01", 0.0) == []


def test_equal_teams_are_good_and_proved() -> None:
    tickets = aliens(32)
    found = solve(
        {"tickets": tickets}, rules=rules_of("01"), effort=20_000, bound=True, bound_seconds=2
    )
    assert objections(found, tickets, "01", 0.0) == []
    assert found.gap is not None
    assert found.gap < 2.0


def test_a_batch_names_its_rule_set_itself(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text(published("01"))
    path = tmp_path / "batch.json"
    path.write_text(json.dumps({"rules_file": "rules.json", "waited": 20, "tickets": aliens(16)}))
    assert len(solve(path, effort=2_000).matches) >= 1
    with pytest.raises(ConfigError, match="--rules contradicts the batch"):
        solve(path, rules=rules_of("02"))


def test_criteria_of_the_batch_take_the_place_of_those_of_the_rule_set() -> None:
    spread = [{"kind": "spread", "attribute": "skill", "scale": {"max": 100}}]
    found = solve({"criteria": spread, "tickets": aliens(16)}, rules=rules_of("01"), effort=2_000)
    assert list(found.matches[0]["factors"]) == ["spread of skill"]


def test_format_beside_a_rule_set_of_the_batch_is_refused() -> None:
    batch = {"format": {"teams": 2}, "rules_file": str(rules_of("01")), "tickets": aliens(16)}
    with pytest.raises(ConfigError, match="format contradicts rules_file"):
        solve(batch)


def test_rules_of_the_batch_hold_beside_the_rule_set_of_the_call() -> None:
    tickets = aliens(16)
    alike = [{"kind": "spread", "attribute": "skill", "limit": 0.0}]
    assert solve({"tickets": tickets}, rules=rules_of("01"), effort=2_000).matches
    both = {"rules": alike, "tickets": tickets}
    assert not solve(both, rules=rules_of("01"), effort=2_000).matches


def test_rules_of_the_batch_widen_by_how_long_everybody_has_waited() -> None:
    rule = {"kind": "spread", "attribute": "skill", "limit": 1, "expand": {"rate": 1, "max": 9}}
    tickets = [ticket(1, skill=0.0), ticket(2, skill=5.0)]
    batch = {"format": {"teams": 2, "players": 1}, "rules": [rule], "tickets": tickets}
    assert not solve(batch, effort=100).matches
    assert solve(batch, effort=100, waited=4.0).matches


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (
            {"format": {"teams": 2}},
            "--rules contradicts the batch, which has format: leave one out",
        ),
        (
            {
                "rules": [
                    {"kind": "spread", "attribute": "skill", "limit": 1, "expand": {"rate": 1}}
                ]
            },
            "must widen in steps",
        ),
        ({"waited": -1}, "waited must be a number of seconds from 0"),
        ({"waited": "long"}, "waited must be a number of seconds from 0"),
        ({"tickets": [{"players": [{"id": "p", "attributes": {"skill": "x"}}]}]}, "skill"),
    ],
    ids=["format", "rules", "negative", "words", "attribute"],
)
def test_what_contradicts_a_rule_set_is_refused(more: Table, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        solve({"tickets": aliens(16), **more}, rules=rules_of("01"), effort=100)


@pytest.mark.parametrize("name", ["oldest_age", "map_votes", "tournament_xor"])
def test_best_in_hindsight_is_bounded_by_a_queue_that_allows_more(name: str) -> None:
    scenario = scenario_of_rules(shipped("flexmatch_games") / f"{name}.json").scenario
    run = simulate(scenario, optimum=True).summary
    cost = run["cost"] + run["cost_waiting"]
    assert 0.0 < run["bound_cost"] < cost
    assert run["best_known_cost"] == cost
    assert run["gap"] == pytest.approx(cost / run["bound_cost"] - 1.0)
    (queue,) = scenario.queues
    free = msgspec.structs.replace(queue, rules=(), policy="greedy")
    free_scenario = msgspec.structs.replace(scenario, queues=(free,))
    freely = simulate(free_scenario, optimum=True).summary
    # Where all rules are conditions, the bound knows of none of them: it holds without them too.
    least = freely.get("optimum_cost", freely.get("best_known_cost"))
    assert least is not None
    assert run["bound_cost"] <= least * (1.0 + 1e-9)


def test_best_in_hindsight_of_matches_of_many_sizes_is_refused_with_a_sentence() -> None:
    scenario = scenario_of_rules(rules_of("01")).scenario
    with pytest.raises(NotSupported, match="a bound is known for full matches"):
        simulate(scenario, optimum=True)


def test_what_a_map_says_counts_in_quality_and_the_bound_holds() -> None:
    rng = Random(8)
    tickets = [
        {
            "id": f"t{number}",
            "players": [
                {
                    "id": f"p{number}",
                    "attributes": {
                        "experience": 50.0,
                        "gameMode": ["coop"],
                        "acceptableMaps": ["hill"],
                        "mapPreference": {"hill": rng.choice([0.0, 100.0]), "lake": 50.0},
                    },
                }
            ],
        }
        for number in range(12)
    ]
    found = solve({"tickets": tickets}, rules=rules_of("04"), effort=3_000, bound=2.0)
    assert len(found.plan.seating) == 2
    # Nobody differs but in what they give to maps, of which 100 costs half of two thirds.
    assert found.bound is not None
    assert 1 / 3 < found.plan.quality.mean() < 2 / 3 < found.bound / 100.0
