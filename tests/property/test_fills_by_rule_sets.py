"""Matches made elsewhere are filled by drawn FlexMatch rule sets: legally, and soon.

The checker judges each filled match, and tries whether one newcomer alone would have made a legal
one long before; it shares no code with the engine.
"""

from collections.abc import Sequence
from random import Random

import pytest
from msgspec.structs import replace

from evenmatch.engine.backfill.search import LOOK_AGAIN
from evenmatch.engine.engine import Engine
from evenmatch.errors import InvalidOpening
from evenmatch.model.events import Matched
from evenmatch.model.inputs import Advance, Configure, Enqueue, Register
from evenmatch.model.match import Match
from evenmatch.model.ticket import NewTicket
from evenmatch.policies.registry import parse_policy
from evenmatch.rules.flexmatch.checker.judgement import is_legal, legal_instants
from evenmatch.rules.flexmatch.checker.match import CandidateMatch, CandidateTicket
from evenmatch.rules.flexmatch.rule_set import RuleSet
from tests.extent import extent
from tests.flexmatch_draws import drawn_pool, drawn_rule_set
from tests.flexmatch_play import admitted, first_from, queue_of, ticket_of

SETS = 400
EACH = 40
START = 1.0
LEASE = 200.0

Teams = list[list[CandidateTicket]]


def drawn_roster(rng: Random, rule_set: RuleSet, pool: Sequence[CandidateTicket]) -> Teams:
    """Return some players of a pool, each a ticket, in teams with a free seat at least."""
    seats = queue_of(rule_set).format.players
    teams: Teams = [[] for _ in seats]
    for each in pool:
        alone = replace(each, players=each.players[:1], enqueued_at=START)
        at = rng.randrange(len(seats))
        if len(teams[at]) < seats[at] and sum(map(len, teams)) < sum(seats) - 1:
            teams[at].append(alone)
    return teams


def filled(
    rule_set: RuleSet, roster: Teams, pool: Sequence[CandidateTicket]
) -> tuple[Match | None, set[str]]:
    """Return the match that brings newcomers to a roster, or None, and who waits in the end."""
    engine = Engine(lambda each: parse_policy(each.policy))
    queue = replace(queue_of(rule_set), backfill="manual")
    engine.step(Configure(0.0, (queue,)))
    teams = tuple(tuple(p for each in team for p in ticket_of(each, 0).players) for team in roster)
    made: list[Match] = []

    def hand(given: Register | Enqueue) -> None:
        while engine.next_wakeup < given.now:
            note(engine.step(Advance(engine.next_wakeup)).events)
        note(engine.step(given).events)
        engine.tables._check()

    def note(events: Sequence[object]) -> None:
        made.extend(e.match for e in events if isinstance(e, Matched) and e.match.extends)

    hand(Register(START, "main", teams, priority="high", lease=LEASE, ticket="f"))
    for each in pool:
        new = ticket_of(each, 0)
        hand(Enqueue(each.enqueued_at, (NewTicket(new.players, ("main",), id=each.id),)))
    while engine.next_wakeup <= START + LEASE:
        note(engine.step(Advance(engine.next_wakeup)).events)
        engine.tables._check()
    assert not engine.faults
    assert len(made) <= 1
    state = engine.tables.backfills["f"].state
    assert state == ("matched" if made else "expired")
    return made[0] if made else None, set(engine.tables.waiting)


def whole(
    rule_set: RuleSet, roster: Teams, newcomers: Sequence[Sequence[CandidateTicket]]
) -> CandidateMatch:
    names = rule_set.scope.all_teams()
    teams = zip(names, roster, newcomers, strict=True)
    return CandidateMatch(teams={name: (*old, *new) for name, old, new in teams})


def fault_of(seed: int) -> tuple[str | None, bool]:
    """Return what is wrong with how a drawn roster is filled, and whether it was."""
    rng = Random(seed)
    text, rule_set = drawn_rule_set(rng, only_widens=True)
    roster = drawn_roster(rng, rule_set, admitted(rule_set, drawn_pool(rng, 4)))
    given = [replace(each, id=f"n{each.id}") for each in admitted(rule_set, drawn_pool(rng, 3))]
    pool = [
        replace(
            each,
            players=tuple(replace(p, id=f"n{p.id}") for p in each.players),
            enqueued_at=each.enqueued_at + START,
        )
        for each in given
    ]
    if not any(roster):
        return None, False
    try:
        match, waiting = filled(rule_set, roster, pool)
    except InvalidOpening:
        return None, False
    by_id = {each.id: each for each in pool}
    at = START + LEASE if match is None else match.at
    if match is not None:
        newcomers = [[by_id[each] for each in team] for team in match.teams]
        if not is_legal(rule_set, whole(rule_set, roster, newcomers), match.at):
            return f"seed {seed}: illegal at {match.at:g} by {text}", True
    # Who plays in a match of their own meanwhile was not overlooked.
    if len(pool) == 1 and (match is not None or waiting):
        for place in range(len(roster)):
            alone = [pool if place == team else [] for team in range(len(roster))]
            candidate = whole(rule_set, roster, alone)
            first = first_from(legal_instants(rule_set, candidate), pool[0].enqueued_at)
            if first + LOOK_AGAIN + 0.1 < at:
                return f"seed {seed}: legal from {first:g}, filled at {at:g} by {text}", False
    return None, match is not None


@pytest.mark.parametrize("first", range(0, SETS, EACH))
def test_filled_matches_are_legal_and_made_soon(first: int) -> None:
    found = [fault_of(seed) for seed in range(first, first + extent(EACH, 4 * EACH))]
    assert [fault for fault, _ in found if fault is not None] == []
    assert sum(was_filled for _, was_filled in found) > 2
