"""Rounds of many tickets by the conditions of a rule set."""

from statistics import fmean

import numpy as np

from evenmatch.lab.simulate import simulate
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Scenario
from evenmatch.model.ticket import Player, Ticket
from evenmatch.policies.registry import parse_policy
from evenmatch.policies.shared.condition_round import ConditionRounds, teams_in
from evenmatch.rules.flexmatch.compile import compile_rule_set
from evenmatch.rules.flexmatch.reader import load_rule_set
from evenmatch.solvers.teams.batch import Plan
from tests.bench.rule_sets import FIVE, built, gap_of, queue_of, round_batch, tickets_of
from tests.flexmatch_kit import published

NOW = 2.0


def test_a_round_makes_as_many_matches_as_greedy_builds_and_fairer_ones() -> None:
    queue, tickets = queue_of(FIVE), tickets_of(400, 3)
    rounds = ConditionRounds(queue)
    batch = round_batch(queue, rounds, tickets)
    nobody = Plan(np.zeros((0, batch.k), dtype=np.int32), np.zeros(0), np.zeros(0, dtype=bool), 0)
    plan = rounds.plan(batch, tickets, NOW, lambda: nobody, seed=1, tries=0)
    by_number = {ticket.sequence: ticket for ticket in tickets}
    made = [
        tuple([tuple([by_number[each] for each in team]) for team in teams])
        for teams in (teams_in(batch, row, tickets) for row in plan.seating.tolist())
    ]
    assert all(rounds.is_legal(teams, NOW) for teams in made)
    greedy = max((built(rounds, tickets, seed) for seed in range(5)), key=len)
    assert len(made) >= len(greedy)
    assert fmean(map(gap_of, made)) < fmean(map(gap_of, greedy)) / 2.0


def aliens(policy: str) -> Queue:
    compiled = compile_rule_set(load_rule_set(published("01")))
    return compiled.queue(Queue(policy=policy, on_deadline="keep"))


def solo(number: int, skill: float, at: float) -> Ticket:
    return Ticket(f"t{number}", number, at, (Player(f"p{number}", None, {"skill": skill}),), ())


def test_one_ticket_that_fits_nobody_lowers_the_number_of_matches_by_none() -> None:
    usual = [solo(number, 40.0 + number % 7, float(number)) for number in range(1, 41)]
    stranger = solo(99, 1e6, 0.5)
    for policy in ("by_rules", "greedy"):
        counts = []
        for tickets in (usual, [stranger, *usual]):
            moved = [Ticket(t.id, t.sequence, t.enqueued_at, t.players, ("main",)) for t in tickets]
            run = simulate(Scenario(queues=(aliens(policy),)), arrivals=moved)
            counts.append(run.summary["matches"])
        assert counts[0] == counts[1] >= 4


def test_greedy_starts_every_legal_size() -> None:
    tickets = [
        Ticket(f"t{number}", number, 0.0, (Player(f"p{number}", None, {"skill": 10.0}),), ("main",))
        for number in range(1, 15)
    ]
    run = simulate(Scenario(queues=(aliens("greedy"),)), arrivals=tickets)
    assert sorted(len(row["tickets"]) for row in run.matches) == [14]


def test_policies_say_that_they_know_conditions() -> None:
    known = ("by_rules", "greedy", "rounds:every=5", "rolling", "threshold")
    assert all(parse_policy(each).knows_conditions for each in known)  # type: ignore[attr-defined]
