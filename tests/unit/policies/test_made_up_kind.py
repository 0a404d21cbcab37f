"""A kind that nothing but its module knows: all that deal with kinds ask it."""

from __future__ import annotations

import random

import pytest

from evenmatch.config import constraints
from evenmatch.config.files import parse_scenario
from evenmatch.criteria.base import Comparison, Keys, Limit, Seats
from evenmatch.criteria.columns.pairs import PairTable
from evenmatch.criteria.columns.sets import SetTable
from evenmatch.criteria.registry import CRITERION_KINDS, KINDS, RULE_KINDS
from evenmatch.criteria.rules import Rules
from evenmatch.criteria.validation import queue as validation
from evenmatch.criteria.validation.queue import check_queue
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.errors import ConfigError
from evenmatch.explain.explanations import explain
from evenmatch.lab.solve.json_batch import batch_of_tickets
from evenmatch.model.events import Matched
from evenmatch.model.inputs import Advance, Configure, Enqueue
from evenmatch.model.match import Match
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule
from evenmatch.model.ticket import NewTicket, Player, Ticket
from evenmatch.policies.registry import parse_policy

WEEK = 168.0


class LongestIdle(Comparison):
    """The hours for which the longest idle player of a match has not played."""

    criterion_keys = Keys(("attribute", "weight"))
    rule_keys = Keys(("attribute", "limit", "expand", "accept"))
    attribute = "idle"
    limit = Limit("how many hours the longest idle player may have been away", 1e4)

    def cost(self, teams: Seats) -> float:
        return min(1.0, self.gap(teams) / WEEK)

    def gap(self, teams: Seats) -> float:
        return max(hours(t) for team in teams for t in team)

    def pair_gap(self, one: Ticket, two: Ticket) -> float:
        return self.gap(((one,), (two,)))


def hours(ticket: Ticket) -> float:
    value = ticket.players[0].attributes["idle"]
    assert isinstance(value, float)
    return value


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "longest_idle", LongestIdle)
    for module in (constraints, validation):
        monkeypatch.setattr(module, "CRITERION_KINDS", (*CRITERION_KINDS, "longest_idle"))
        monkeypatch.setattr(module, "RULE_KINDS", (*RULE_KINDS, "longest_idle"))


def queue_of(policy: str, players: int, **rule: object) -> Queue:
    made = Rule("longest_idle", "idle", 50.0, **rule)  # type: ignore[arg-type]
    criteria = (Criterion("longest_idle", "idle"),)
    return Queue(format=Format((players, players)), criteria=criteria, rules=(made,), policy=policy)


def entered(queue: Queue, drawn: list[float]) -> tuple[Engine, Record]:
    """Return an engine that tickets of so many hours each enter at 0 s, and what came of that."""
    engine = Engine(lambda queue: parse_policy(queue.policy))
    engine.step(Configure(0.0, (queue,)))
    tickets = [
        NewTicket((Player(f"p{n}", attributes={"idle": each}),), id=f"t{n}")
        for n, each in enumerate(drawn)
    ]
    return engine, engine.step(Enqueue(0.0, tuple(tickets)))


def matches_until(engine: Engine, records: list[Record], end: float) -> list[Match]:
    while engine.next_wakeup <= end:
        records.append(engine.step(Advance(engine.next_wakeup)))
        for job in engine.take_jobs():
            records.append(engine.step(job.settle(job.solve(), engine.tables.now)))
    events = [event for record in records for event in record.events]
    return [event.match for event in events if isinstance(event, Matched)]


@pytest.mark.parametrize(("policy", "players"), [("greedy", 1), ("greedy", 2), ("rolling", 2)])
def test_policies_keep_its_rule(policy: str, players: int) -> None:
    rng = random.Random(1)
    drawn = [float(rng.randrange(100)) for _ in range(24)]
    queue = queue_of(policy, players, expand=Expansion(rate=5.0))

    engine, record = entered(queue, drawn)
    found = matches_until(engine, [record], 60.0)

    assert len(found) == 12 // players
    for match in found:
        longest = max(drawn[int(ticket[1:])] for team in match.teams for ticket in team)
        assert longest <= 50.0 + 5.0 * match.at + 1e-5
        assert match.quality == pytest.approx(1.0 - longest / WEEK)


def test_explanation_tells_of_its_rule() -> None:
    engine, _ = entered(queue_of("greedy", 1), [10.0, 90.0])

    told = explain(engine, "t0", 1.0).summary

    assert "rule longest_idle" in told


@pytest.mark.parametrize("players", [1, 2])
def test_columns_know_that_they_do_not_tell_all(players: int) -> None:
    rules = Rules(queue_of("greedy", players))
    assert not PairTable(rules).is_exact
    assert not SetTable(rules).is_whole


def test_queue_that_goes_beyond_its_limit_is_refused() -> None:
    check_queue(queue_of("greedy", 1))
    made = Rule("longest_idle", "idle", 2e4)
    with pytest.raises(ConfigError, match='between 0 and 10000 with kind = "longest_idle"'):
        check_queue(Queue(rules=(made,)))


def test_file_may_hold_it() -> None:
    text = 'rules = [{kind = "longest_idle", limit = 50, expand = {rate = 2}}]'
    (queue,) = parse_scenario(f"[[queue]]\n{text}").queues
    assert queue.rules == (Rule("longest_idle", "idle", 50.0, expand=Expansion(rate=2.0)),)
    with pytest.raises(ConfigError, match="limit is missing; it is how many hours the longest"):
        parse_scenario('[[queue]]\nrules = [{kind = "longest_idle"}]')


def test_policy_of_numbers_and_files_of_batches_refuse_it() -> None:
    with pytest.raises(ConfigError, match="does not support longest_idle"):
        parse_policy("price").matcher(queue_of("price", 1), seed=1)
    with pytest.raises(ConfigError, match="a batch knows no longest_idle"):
        batch_of_tickets({"criteria": [{"kind": "longest_idle"}], "tickets": []})
