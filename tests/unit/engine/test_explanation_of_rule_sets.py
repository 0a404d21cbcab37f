"""Why a ticket waits in a queue that plays by a rule set."""

import json

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.explain.explanations import Explainer, explain
from evenmatch.explain.snapshot import snapshot_of
from evenmatch.model.inputs import Advance, Configure, Enqueue
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.registry import parse_policy
from evenmatch.rules.flexmatch.compile import compile_rule_set
from evenmatch.rules.flexmatch.reader import load_rule_set
from tests.flexmatch_kit import published


def hunters(count: int) -> Engine:
    """Return an engine in which nobody wants to be the monster."""
    compiled = compile_rule_set(load_rule_set(published("02")))
    engine = Engine(lambda queue: parse_policy(queue.policy))
    engine.step(Configure(0.0, (compiled.queue(Queue(policy="by_rules", wait_max=120.0)),)))
    players = [Player(f"p{n}", attributes={"wantsToBeMonster": 0.0}) for n in range(count)]
    engine.step(Enqueue(1.0, tuple(NewTicket((each,), id=each.id) for each in players)))
    engine.step(Advance(1.0))
    return engine


def world(*players: tuple[float, float, float, float], now: float) -> Engine:
    """Return an engine at an instant, with players by when they came and what they want."""
    compiled = compile_rule_set(load_rule_set(published("02")))
    engine = Engine(lambda queue: parse_policy(queue.policy))
    engine.step(Configure(0.0, (compiled.queue(Queue(policy="by_rules", on_deadline="keep")),)))
    names = ("wantsToBeMonster", "skill", "desiredSkillOfMonster")
    for number, (at, *values) in enumerate(players):
        _pass(engine, at)
        player = Player(f"p{number}", None, dict(zip(names, values, strict=True)))
        engine.step(Enqueue(at, (NewTicket((player,), id=player.id),)))
    _pass(engine, now)
    return engine


def _pass(engine: Engine, until: float) -> None:
    while engine.next_wakeup < until:
        engine.step(Advance(engine.next_wakeup))


FAIR = {
    "name": "fair",
    "ruleLanguageVersion": "1.0",
    "playerAttributes": [{"name": "skill", "type": "number", "default": 10}],
    "teams": [{"name": name, "minPlayers": 1, "maxPlayers": 1} for name in "ab"],
    "rules": [
        {
            "name": "Fair",
            "type": "distance",
            "measurements": ["avg(teams[a].players.attributes[skill])"],
            "referenceValue": "avg(teams[b].players.attributes[skill])",
            "maxDistance": 10,
        }
    ],
    "expansions": [
        {
            "target": "rules[Fair].maxDistance",
            "steps": [{"waitTimeSeconds": 30, "value": 50}, {"waitTimeSeconds": 50, "value": 90}],
        }
    ],
}
"""Duels whose players differ by more, the longer the newest of them waits."""


def duels(given: Queue, *players: tuple[float, float], now: float) -> Engine:
    """Return an engine at an instant, with players by when they came and their skill."""
    compiled = compile_rule_set(load_rule_set(json.dumps(FAIR).encode()))
    engine = Engine(lambda queue: parse_policy(queue.policy))
    engine.step(Configure(0.0, (compiled.queue(given),)))
    for number, (at, skill) in enumerate(players):
        _pass(engine, at)
        player = Player(f"p{number}", None, {"skill": skill})
        engine.step(Enqueue(at, (NewTicket((player,), id=player.id),)))
    _pass(engine, now)
    return engine


HUNTER, MONSTER = (0.0, 0.0, 10.0, 10.0), (1.0, 1.0, 20.0, 5.0)


def test_it_says_that_nobody_may_be_in_a_team() -> None:
    part = explain(hunters(6), "p0", 1.0).queues[0]
    assert part.reason.code == "never"
    assert part.changes == (
        "1 more player who may be in team monster",
        "without rule MonsterSelection there would be a match",
    )
    assert part.summary == (
        "This ticket has waited 0 s in main with 5 other tickets: no match of those who wait "
        "becomes legal. Team monster needs 1, and none of those who wait may be in it. Without "
        "rule MonsterSelection there would be a match of those who wait."
    )


def test_it_names_the_first_legal_match_and_who_says_no_until_then() -> None:
    engine = world(*[HUNTER] * 4, MONSTER, now=2.0)
    part = explain(engine, "p0", 2.0).queues[0]
    assert (part.reason.code, part.reason.until) == ("not_yet", 31.0)
    assert part.later is not None
    assert part.later.at == 31.0
    assert sorted(map(len, part.later.teams)) == [1, 4]
    assert part.summary == (
        "This ticket has waited 2 s in main with 4 other tickets: no match of those who wait is "
        "legal yet. The first one, with 4 other tickets, is legal in 29 s; until then team sizes "
        "say no."
    )


def test_each_rule_of_the_set_has_its_name_and_blocks_no_ticket_by_itself() -> None:
    engine = world(*[HUNTER] * 4, MONSTER, now=2.0)
    rules = {each.attribute: each for each in explain(engine, "p0", 2.0).queues[0].rules}
    assert [*rules] == [
        "team sizes",
        "player attributes",
        "MonsterSelection",
        "PlayerSelection",
        "MonsterSkill",
    ]
    assert {(each.rule, each.is_pairwise, each.blocks) for each in rules.values()} == {
        ("condition", False, 0)
    }
    # Four players are enough after 30 s, three after 60 s.
    assert (rules["team sizes"].next_at, rules["team sizes"].next_limit) == (30.0, None)
    assert rules["MonsterSkill"].next_at is None


def test_it_names_the_rule_without_which_there_would_be_a_match() -> None:
    demanding = (0.0, 0.0, 10.0, 30.0)
    engine = world(*[demanding] * 5, MONSTER, now=2.0)
    part = explain(engine, "p0", 2.0).queues[0]
    assert part.reason.code == "never"
    assert part.changes == ("without rule MonsterSkill there would be a match",)


def test_it_says_how_many_are_missing() -> None:
    engine = world(HUNTER, HUNTER, now=2.0)
    part = explain(engine, "p0", 2.0).queues[0]
    assert part.reason.code == "seats"
    assert part.changes[0] == "2 more players"
    assert "The smallest match needs 2 more players." in part.summary


def test_alone_is_alone() -> None:
    part = explain(hunters(1), "p0", 1.0).queues[0]
    assert part.reason.code == "alone"
    assert part.changes == ("3 more players",)


def test_at_a_glance_it_says_when_the_rule_set_changes_its_mind() -> None:
    engine = world(*[HUNTER] * 4, MONSTER, now=2.0)
    lines = list(Explainer().longest(snapshot_of(engine, "main", 2.0), 9))
    assert [line.ticket for line in lines] == ["p0", "p1", "p2", "p3", "p4"]
    assert lines[0].code == "rules"
    assert lines[0].summary.endswith("what it allows changes for this ticket in 28 s.")


def test_it_says_that_the_deadline_is_before_the_first_legal_match() -> None:
    compiled = compile_rule_set(load_rule_set(published("02")))
    engine = Engine(lambda queue: parse_policy(queue.policy))
    engine.step(Configure(0.0, (compiled.queue(Queue(policy="by_rules", wait_max=20.0)),)))
    names = ("wantsToBeMonster", "skill", "desiredSkillOfMonster")
    players = [
        Player(f"p{number}", None, dict(zip(names, values[1:], strict=True)))
        for number, values in enumerate([*[HUNTER] * 4, MONSTER])
    ]
    engine.step(Enqueue(0.0, tuple(NewTicket((each,), id=each.id) for each in players)))
    part = explain(engine, "p0", 0.0).queues[0]
    assert part.reason.code == "not_yet"
    assert "Its longest wait is over before that." in part.summary


def test_the_first_match_has_nobody_who_leaves_before_it_if_there_is_one() -> None:
    queue = Queue(policy="by_rules", wait_max=60.0)
    engine = duels(queue, (0.0, 100.0), (40.0, 140.0), now=42.0)
    part = explain(engine, "p1", 42.0).queues[0]
    assert (part.reason.text, part.reason.until) == (
        "Fair allows the first match in 28 s, but p0 expires in 18 s, before that",
        None,
    )
    assert part.summary.endswith("until then Fair says no, but p0 expires in 18 s, before that.")
    engine = duels(queue, (0.0, 100.0), (40.0, 140.0), (41.0, 190.0), now=42.0)
    part = explain(engine, "p1", 42.0).queues[0]
    assert part.later is not None
    assert (part.later.tickets, part.later.at) == (("p1", "p2"), 71.0)
    assert part.summary.endswith("is legal in 29 s; until then Fair says no.")
    # The short word says who leaves, too, if that is the ticket itself.
    assert explain(engine, "p0", 42.0).queues[0].reason.text == (
        "Fair allows the first match in 28 s, but this ticket expires in 18 s, before that"
    )


def test_a_match_that_the_policy_may_make_comes_before_one_with_a_ticket_kept_aside() -> None:
    queue = Queue(policy="by_rules", wait_max=60.0)
    engine = duels(queue, (0.0, 100.0), (0.0, 100.0), (0.0, 105.0), now=0.0)
    seen = msgspec.structs.replace(snapshot_of(engine, "main", 0.0), held={"p1": 30.0})
    part = Explainer().part(seen, "p0")
    assert part.now is not None
    assert (part.now.tickets, part.reason.code) == (("p0", "p2"), "policy")
    assert Explainer().part(seen, "p1").reason.code == "held"


def test_duels_that_a_rule_set_never_allows_are_told_as_such() -> None:
    engine = duels(Queue(policy="by_rules", wait_max=60.0), (0.0, 100.0), (0.0, 900.0), now=1.0)
    assert explain(engine, "p0", 1.0).queues[0].reason.code == "never"
    (line, _) = Explainer().longest(snapshot_of(engine, "main", 1.0), 2)
    assert line.code == "rules"
    # Nor is a duel legal now that the rule set allows later.
    engine = duels(Queue(policy="by_rules", wait_max=60.0), (0.0, 100.0), (0.0, 140.0), now=1.0)
    (line, _) = Explainer().longest(snapshot_of(engine, "main", 1.0), 2)
    assert line.summary.endswith(
        "the rule set allows no match of those who wait now; what it allows changes for this "
        "ticket in 29 s."
    )
