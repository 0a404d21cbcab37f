"""The published rule sets play: as printed, with every expansion at its second."""

import msgspec
import pytest

from evenmatch.criteria.validation.queue import check_queue
from evenmatch.lab.rule_set_scenario import scenario_of_rules
from evenmatch.lab.simulate import simulate
from evenmatch.model.queue import Queue
from evenmatch.rules.flexmatch.checker.judgement import is_legal
from evenmatch.rules.flexmatch.checker.match import CandidateTicket
from evenmatch.rules.flexmatch.compile import compile_rule_set
from evenmatch.rules.flexmatch.reader import load_rule_set
from tests.flexmatch_kit import player, published
from tests.flexmatch_play import played
from tests.shared import shipped

SMALL = ["01", "02", "04", "05", "06", "11"]
EVERY = [*SMALL, "03", "07", "08", "09", "10", "radiant"]


@pytest.mark.parametrize("name", EVERY)
def test_each_becomes_a_queue(name: str) -> None:
    rule_set = load_rule_set(published(name))
    compiled = compile_rule_set(rule_set)
    assert compiled.format.k == sum(each.players_max * each.quantity for each in rule_set.teams)
    waits = {step.wait for each in rule_set.expansions for step in each.steps}
    found = {
        wait
        for rule in compiled.rules
        if rule.condition is not None and hasattr(rule.condition.test, "waits")
        for wait in rule.condition.test.waits
    }
    assert found - {0.0} <= waits


@pytest.mark.parametrize("name", SMALL)
def test_small_ones_play_with_drawn_players(name: str) -> None:
    (path,) = shipped("flexmatch").glob(f"{name}*.json")
    scenario = scenario_of_rules(path).scenario
    assert scenario.arrivals is not None
    arrivals = msgspec.structs.replace(scenario.arrivals, count=60)
    run = simulate(msgspec.structs.replace(scenario, arrivals=arrivals))
    assert run.summary["matches"] >= 3


def solo(name: str, at: float, **attributes: object) -> CandidateTicket:
    return CandidateTicket(id=name, players=(player(name, **attributes),), enqueued_at=at)


def test_teams_fifty_apart_meet_at_five_seconds_while_others_keep_coming() -> None:
    rule_set = load_rule_set(published("01"))
    near = [solo(f"a{n}", 0.0, skill=0) for n in range(4)]
    far = [solo(f"b{n}", 0.0, skill=100) for n in range(4)]
    # Whoever comes later fits nobody: he lends his youth to no match that he is not in.
    strangers = [solo(f"s{n}", 1.5 * n, skill=10_000 * (n + 1)) for n in range(1, 5)]
    matches = played(rule_set, sorted([*near, *far, *strangers], key=lambda e: e.enqueued_at))
    at, match = matches[0]
    assert is_legal(rule_set, match, at)
    assert (at, sum(1 for _ in match.tickets())) == (0.0, 8)  # mixed teams are equal at once


def test_two_tickets_fifty_apart_meet_when_the_limit_widens_and_not_before() -> None:
    rule_set = load_rule_set(
        """{"ruleLanguageVersion": "1.0",
        "playerAttributes": [{"name": "skill", "type": "number"}],
        "teams": [{"name": "red", "minPlayers": 1, "maxPlayers": 1},
                  {"name": "blue", "minPlayers": 1, "maxPlayers": 1}],
        "rules": [{"name": "Near", "type": "distance",
                   "measurements": ["max(flatten(teams[*].players.attributes[skill]))"],
                   "referenceValue": "min(flatten(teams[*].players.attributes[skill]))",
                   "maxDistance": 10}],
        "expansions": [{"target": "rules[Near].maxDistance",
                        "steps": [{"waitTimeSeconds": 10, "value": 50}]}]}"""
    )
    pair = [solo("a", 0.0, skill=0), solo("b", 0.0, skill=50)]
    others = [solo(f"s{n}", 1.5 * n, skill=1_000 * (n + 1)) for n in range(1, 9)]
    (first, *_) = played(rule_set, sorted([*pair, *others], key=lambda each: each.enqueued_at))
    assert first[0] == 10.0
    assert {each.id for each in first[1].tickets()} == {"a", "b"}
    older = [solo("old", 0.0, skill=9_000), solo("a", 8.0, skill=0), solo("b", 8.0, skill=50)]
    assert played(rule_set, older)[0][0] == 18.0  # an older stranger does not lend his age


def test_three_play_against_a_monster_when_the_team_may_be_so_small() -> None:
    rule_set = load_rule_set(published("02"))
    hunters = [
        solo(f"h{n}", 0.0, wantsToBeMonster=0, skill=10, desiredSkillOfMonster=5) for n in range(3)
    ]
    monster = solo("m", 0.0, wantsToBeMonster=1, skill=10, desiredSkillOfMonster=5)
    ((at, match),) = played(rule_set, [*hunters, monster])
    assert at == 60.0
    assert [each.id for each in match.teams["monster"]] == ["m"]


def test_one_ticket_that_fits_nobody_costs_no_match() -> None:
    rule_set = load_rule_set(published("01"))
    fitting = [solo(f"t{n}", float(n), skill=10) for n in range(32)]
    alone = played(rule_set, fitting)
    odd = [solo("odd", 0.0, skill=1_000_000), *fitting]
    assert len(played(rule_set, odd)) == len(alone) == 4


@pytest.mark.parametrize("name", EVERY)
def test_a_queue_survives_its_journal(name: str) -> None:
    queue = compile_rule_set(load_rule_set(published(name))).queue(Queue())
    check_queue(queue)
    assert msgspec.json.decode(msgspec.json.encode(queue), type=Queue) == queue
