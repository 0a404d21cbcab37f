"""Why a ticket waits in a queue that plays by a rule set."""

from evenmatch.engine.engine import Engine
from evenmatch.explain.explanations import explain
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


def test_it_says_that_the_rule_set_allows_no_match_and_when_that_changes() -> None:
    part = explain(hunters(6), "p0", 1.0).queues[0]
    assert part.reason.code == "rules"
    assert part.reason.until == 31.0  # a team may be smaller from 30 s on
    assert part.summary == (
        "This ticket has waited 0 s in main with 5 other tickets: the rule set allows no match of "
        "those who wait now; what it allows changes for this ticket in 30 s."
    )


def test_alone_is_alone() -> None:
    assert explain(hunters(1), "p0", 1.0).queues[0].reason.code == "alone"
