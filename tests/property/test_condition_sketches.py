"""What solvers are told of conditions is never stricter than these, so bounds over it hold."""

from itertools import combinations, pairwise
from random import Random

import numpy as np
import pytest

from evenmatch.errors import NotSupported
from evenmatch.model.ticket import Ticket
from evenmatch.policies.shared.condition_round import ConditionRounds
from evenmatch.policies.shared.ticket_batch import BatchRoster
from evenmatch.rules.flexmatch.checker.judgement import is_legal
from evenmatch.rules.flexmatch.checker.match import CandidateMatch
from evenmatch.solvers.teams import reference
from evenmatch.solvers.teams.batch import Plan
from tests.extent import extent
from tests.flexmatch_draws import drawn_pool, drawn_rule_set
from tests.flexmatch_play import admitted, divisions, queue_of, ticket_of, with_defaults

EACH = extent(15, 150)
NOW = 40.0


class World:
    """A drawn rule set, a pool by age, and its batch with the sketch of the conditions."""

    def __init__(self, seed: int, most: int) -> None:
        rng = Random(seed)
        self.text, self.rule_set = drawn_rule_set(rng)
        self.now = NOW + rng.choice([-20.0, 0.0, 60.0])
        drawn = [each for each in drawn_pool(rng, most) if each.enqueued_at <= self.now]
        self.pool = admitted(self.rule_set, drawn)
        self.queue = queue_of(self.rule_set)
        self.tickets: list[Ticket] = [
            with_defaults(ticket_of(each, number), self.queue)
            for number, each in enumerate(self.pool, 1)
        ]
        self.rounds = ConditionRounds(self.queue)
        roster = BatchRoster(self.queue)
        for ticket in self.tickets:
            roster.enter(ticket)
        if self.tickets:
            bare = roster.batch(self.tickets, self.now)
            self.batch = self.rounds.sketch.sketched(bare, self.tickets, self.now)
        firsts = np.cumsum([0, *[ticket.size for ticket in self.tickets]]).tolist()
        self.rows = {
            ticket.id: range(low, low + ticket.size)
            for ticket, low in zip(self.tickets, firsts, strict=False)
        }

    def players(self, match: CandidateMatch) -> list[list[int]]:
        names = self.rule_set.scope.all_teams()
        return [[p for t in match.teams[name] for p in self.rows[t.id]] for name in names]


@pytest.mark.parametrize("first", range(0, 6 * EACH, EACH))
def test_every_legal_match_is_legal_in_the_sketch(first: int) -> None:
    legal = told_apart = 0
    for seed in range(first, first + EACH):
        world = World(seed, 5)
        for match in divisions(world.rule_set, world.pool):
            own = is_legal(world.rule_set, match, world.now)
            sketched = reference.is_legal(world.batch, world.players(match))
            assert sketched or not own, f"seed {seed}: {match} by {world.text}"
            legal += own
            told_apart += not sketched
    assert legal > 0
    assert told_apart > 0


def test_plans_are_legal_and_none_is_left() -> None:
    made = 0
    for seed in range(2 * EACH):
        world = World(seed, 6)
        if not world.tickets:
            continue
        empty = _nothing(world)
        nothing = world.rounds.plan(
            world.batch, world.tickets, world.now, lambda empty=empty: empty, seed=1, tries=50
        )
        gone = {player for row in nothing.seating.tolist() for player in row if player >= 0}
        for row in nothing.seating.tolist():
            starts = np.cumsum([0, *world.batch.seats]).tolist()
            teams = [
                [player for player in row[low:high] if player >= 0]
                for low, high in pairwise(starts)
            ]
            assert reference.is_legal(world.batch, teams)
            made += 1
        for match in divisions(world.rule_set, world.pool):
            players = {player for team in world.players(match) for player in team}
            if is_legal(world.rule_set, match, world.now):
                assert players & gone, f"seed {seed}: {match} is left by {world.text}"
    assert made > 3


def _nothing(world: World) -> Plan:
    nobody = np.zeros((0, world.batch.k), dtype=np.int32)
    return Plan(nobody, np.zeros(0), np.zeros(0, dtype=np.bool_), 0)


def test_a_bound_is_never_below_the_best_legal_plan() -> None:
    pytest.importorskip("highspy")
    from evenmatch.solvers.bounds.set_packing import plan_of, prove

    proved = 0
    for seed in range(3 * EACH):
        world = World(seed, 5)
        legal = [
            world.players(match)
            for match in divisions(world.rule_set, world.pool)
            if is_legal(world.rule_set, match, world.now)
        ]
        if not legal or len(legal) > 60:
            continue
        proved += 1
        for count in (1, 2):
            best, plan = -1.0, None
            for chosen in combinations(legal, count):
                seated = [p for teams in chosen for team in teams for p in team]
                if len(set(seated)) == len(seated):
                    found = plan_of(world.batch, list(chosen))
                    if found.quality.mean() > best:
                        best, plan = float(found.quality.mean()), found
            if plan is not None:
                worst = plan._replace(legal=np.ones(count, dtype=np.bool_))
                try:
                    proof = prove(world.batch, worst, effort=1e5)
                except NotSupported:
                    continue  # matches of one player alone
                assert proof.bound >= best - 1e-9, f"seed {seed} by {world.text}"
        if proved >= EACH:
            break
    assert proved > 3
