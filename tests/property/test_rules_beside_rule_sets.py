"""Rules of a queue's own beside those of its rule set hold too, from the same instants on."""

from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec
import pytest

from evenmatch.config.files import parse_scenario
from evenmatch.criteria.kinds.numeric import difference_rule
from evenmatch.criteria.objective import Objective
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Expansion, Rule
from evenmatch.policies.registry import parse_policy
from evenmatch.rules.flexmatch.checker.match import CandidateTicket
from tests.extent import extent
from tests.flexmatch_draws import drawn_pool, drawn_rule_set
from tests.flexmatch_play import (
    admitted,
    faults_of_play,
    instants_beside,
    played,
    queue_of,
    with_rules,
)
from tests.shared import ROOT

LIFTED = Expansion(steps=((7.0, 1.0),))
BESIDE: dict[str, tuple[Rule, ...]] = {
    "numbers": (difference_rule("rank", 2.0, expand=Expansion(steps=((4.0, 3.0), (11.0, 6.0)))),),
    "kept": (Rule("same", "mode"),),
    "foes": (Rule("avoid", "foes", expand=LIFTED),),
    "places": (
        Rule("latency", "latency", 40.0, pairs="region", expand=Expansion(steps=((9.0, 80.0),))),
    ),
    "teams": (Rule("imbalance", "rank", 1.5, expand=Expansion(steps=((8.0, 9.0),))),),
    "several": (difference_rule("rank", 4.0), Rule("same", "mode", expand=LIFTED)),
}


def told(rng: Random, pool: Sequence[CandidateTicket]) -> list[CandidateTicket]:
    """Return tickets with what the queue's own rules compare."""
    names = [player.id for ticket in pool for player in ticket.players]
    found = []
    for ticket in pool:
        players = []
        for player in ticket.players:
            own: dict[str, Any] = dict(player.attributes)
            own["rank"] = float(rng.randrange(7))
            own["mode"] = rng.choice("ab")
            own["foes"] = tuple(
                [name for name in names if name != player.id and rng.random() < 0.2]
            )
            players.append(
                msgspec.structs.replace(
                    player,
                    attributes=own,
                    latencies={each: rng.choice([20, 60, 90]) for each in ("eu", "us")},
                )
            )
        found.append(msgspec.structs.replace(ticket, players=tuple(players)))
    return found


def drawn(seed: int) -> tuple[str, Any, list[CandidateTicket]]:
    """Return a rule set by the age of the newest ticket, and who comes."""
    rng = Random(seed)
    text, rule_set = drawn_rule_set(rng, only_widens=seed % 2 == 0)
    algorithm = msgspec.structs.replace(rule_set.algorithm, age="newest")
    rule_set = msgspec.structs.replace(rule_set, algorithm=algorithm)
    pool = admitted(rule_set, told(rng, drawn_pool(rng, 6)))
    ways = len(rule_set.scope.all_teams()) + 1
    while ways ** len(pool) > 1_100:
        pool.pop()
    return text, rule_set, pool


@pytest.mark.parametrize("name", BESIDE)
def test_matches_are_allowed_by_both_at_the_first_instant(name: str) -> None:
    made, changed = 0, 0
    for seed in range(extent(30, 300)):
        text, rule_set, pool = drawn(seed)
        beside = BESIDE[name] if len(rule_set.scope.all_teams()) > 1 or name != "teams" else ()
        matches = played(rule_set, pool, beside=beside)
        faults = faults_of_play(rule_set, pool, matches, instants_beside(rule_set, beside))
        assert faults == [], f"seed {seed} by {text}"
        made += len(matches)
        changed += matches != played(rule_set, pool)
    assert made > 3
    assert changed > 0


@pytest.mark.parametrize("policy", ["greedy", "rounds:every=50", "rolling", "threshold"])
def test_other_policies_keep_to_both(policy: str) -> None:
    made = 0
    for seed in range(extent(8, 60)):
        name = [*BESIDE][seed % len(BESIDE)]
        text, rule_set, pool = drawn(seed)
        beside = BESIDE[name] if len(rule_set.scope.all_teams()) > 1 or name != "teams" else ()
        matches = played(rule_set, pool, policy, beside)
        instants = instants_beside(rule_set, beside)
        for at, match in matches:
            assert any(start <= at < end for start, end in instants(match)), f"{seed} by {text}"
        made += len(matches)
    assert made > 0


@pytest.mark.parametrize(
    ("rule", "age", "sentence"),
    [
        (difference_rule("rank", 1.0, expand=Expansion(rate=1.0)), "newest", "widen in steps"),
        (difference_rule("rank", 0.1, "relative", LIFTED), "newest", "unit = relative"),
        (Rule("avoid", "foes", expand=LIFTED), "oldest", 'accept = "either"'),
        (Rule("avoid", "foes", expand=LIFTED, accept="either"), "newest", 'accept = "both"'),
    ],
    ids=["rate", "relative", "oldest", "newest"],
)
def test_rule_whose_instants_no_age_tells_is_refused(rule: Rule, age: str, sentence: str) -> None:
    _, rule_set = drawn_rule_set(Random(4))
    algorithm = msgspec.structs.replace(rule_set.algorithm, age=age)
    rule_set = msgspec.structs.replace(rule_set, algorithm=algorithm)
    queue = with_rules(queue_of(rule_set), (rule,))
    for policy in ("by_rules", "greedy", "rounds", "rolling", "threshold"):
        with pytest.raises(ConfigError, match=sentence):
            parse_policy(policy).matcher(queue, seed=1)


@pytest.mark.parametrize(("rule", "age"), [
    (Rule("avoid", "foes", expand=LIFTED, accept="either"), "oldest"),
    (difference_rule("rank", 0.1, "relative"), "oldest"),
    (difference_rule("rank", 0.1), "oldest"),
])  # fmt: skip
def test_rules_by_the_clock_of_the_oldest_or_without_one_are_kept(rule: Rule, age: str) -> None:
    made = 0
    for seed in range(20):
        _, rule_set, pool = drawn(seed)
        algorithm = msgspec.structs.replace(rule_set.algorithm, age=age)
        rule_set = msgspec.structs.replace(rule_set, algorithm=algorithm)
        matches = played(rule_set, pool, beside=(rule,))
        assert faults_of_play(rule_set, pool, matches, instants_beside(rule_set, (rule,))) == []
        made += len(matches)
    assert made > 0


def test_file_may_have_both(tmp_path: Any) -> None:
    rules = ROOT / "tests" / "data" / "flexmatch" / "01_aliens_vs_cowboys.json"
    own = '[[queue.rules]]\nkind = "avoid"\n[[queue.criteria]]\nkind = "party_parity"\n'
    text = f'[[queue]]\nname = "q"\nrules_file = "{rules}"\n{own}'
    (queue,) = parse_scenario(text, tmp_path).queues
    assert [each.kind for each in queue.rules][-2:] == ["condition", "avoid"]
    assert [each.kind for each in queue.criteria] == ["party_parity"]
    assert Objective(queue).rules.conditions is not None
    with pytest.raises(ConfigError, match="let a rule count who plays what"):
        parse_scenario(f"{text.split('[[queue.rules')[0]}roles = {{tank = 8}}\n", tmp_path)


def test_conditions_give_way_where_there_are_too_many_rules(tmp_path: Any) -> None:
    rules = ROOT / "tests" / "data" / "flexmatch" / "01_aliens_vs_cowboys.json"
    own = "".join([f'[[queue.rules]]\nkind = "same"\nattribute = "a{n}"\n' for n in range(15)])
    (queue,) = parse_scenario(f'[[queue]]\nrules_file = "{rules}"\n{own}', tmp_path).queues
    assert len(queue.rules) == 16
    condition = queue.rules[0].condition
    assert condition is not None
    assert condition.name.endswith("FairTeamSkill, EqualTeamSizes")
    more = '[[queue.rules]]\nkind = "avoid"\n'
    too_many = 'queue "main", rules must have at most 15 entries beside a rules_file, got 16'
    with pytest.raises(ConfigError, match=too_many):
        parse_scenario(f'[[queue]]\nrules_file = "{rules}"\n{own}{more}', tmp_path)
