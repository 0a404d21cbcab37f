"""Where AWS's text leaves two readings, the one that a queue chooses is the one it plays by."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random

import msgspec
import pytest

from evenmatch.config.files import parse_scenario
from evenmatch.criteria.condition.ages import Conditions
from evenmatch.errors import ConfigError
from evenmatch.model.ticket import Ticket, Value
from evenmatch.rules.flexmatch.checker.judgement import legal_instants
from evenmatch.rules.flexmatch.checker.match import CandidateMatch, CandidateTicket, Readings
from evenmatch.rules.flexmatch.compile import compile_rule_set
from tests.flexmatch_draws import drawn_pool, drawn_rule_set
from tests.flexmatch_kit import published
from tests.flexmatch_play import admitted, ticket_of

READINGS = [
    Readings(party_weight=weight, contains=contains, stddev=stddev)
    for weight, contains, stddev in product(
        ("players", "ticket"), ("players", "ticket"), ("population", "sample")
    )
]
MATCHES = 25
"""Divisions of a pool that are judged."""


def matches_of(
    rng: Random, names: tuple[str, ...], pool: list[CandidateTicket]
) -> Iterator[CandidateMatch]:
    for _ in range(MATCHES):
        teams: dict[str, tuple[CandidateTicket, ...]] = dict.fromkeys(names, ())
        for ticket in rng.sample(pool, rng.randint(1, len(pool))):
            teams[rng.choice(names)] += (ticket,)
        yield CandidateMatch(teams=teams)


@pytest.mark.parametrize("number", range(len(READINGS)))
def test_conditions_say_what_the_checker_says_in_each_reading(number: int) -> None:
    readings, told = READINGS[number], 0
    for seed in range(40):
        rng = Random(seed)
        _, rule_set = drawn_rule_set(rng)
        pool = admitted(rule_set, drawn_pool(rng, 5))
        if not pool:
            continue
        compiled = compile_rule_set(rule_set, readings)
        conditions = Conditions([r.condition for r in compiled.rules if r.condition is not None])
        names = tuple(rule_set.scope.all_teams())
        tickets = {each.id: ticket_of(each, at) for at, each in enumerate(pool, 1)}
        defaults = dict(compiled.defaults)
        for match in matches_of(rng, names, pool):
            teams = [[_with(tickets[t.id], defaults) for t in match.teams[name]] for name in names]
            expected = legal_instants(rule_set, match, readings)
            assert [tuple(each) for each in conditions.intervals(teams)] == list(expected), seed
            told += bool(expected)
    assert told > 20


def _with(ticket: Ticket, defaults: dict[str, Value]) -> Ticket:
    return msgspec.structs.replace(ticket, attributes=defaults)


def test_a_queue_names_its_readings(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text(published("01"))
    text = '[[queue]]\nrules_file = "rules.json"\n'
    usual = parse_scenario(text, tmp_path).queues[0]
    other = parse_scenario(f'{text}rules_readings = {{party_weight = "ticket"}}', tmp_path)
    assert usual.rules != other.queues[0].rules


def test_a_sample_has_a_fold_of_its_own() -> None:
    rng = Random(3)
    for _ in range(200):
        text, rule_set = drawn_rule_set(rng)
        if "stddev" in text:
            break
    compiled = repr(compile_rule_set(rule_set, Readings(stddev="sample")).rules)
    assert "stddev_sample" in compiled


def test_readings_without_a_rule_set_are_refused() -> None:
    with pytest.raises(ConfigError, match="says how to read a rules_file, but the queue has none"):
        parse_scenario('[[queue]]\nrules_readings = {stddev = "sample"}')
