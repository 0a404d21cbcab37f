"""The bound on the best in hindsight of a run by a rule set, against all plans of a small pool."""

import json
import math
from collections.abc import Sequence
from functools import cache
from random import Random

import pytest

from evenmatch.criteria.objective import Objective
from evenmatch.lab.simulate import simulate
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Scenario
from evenmatch.rules.flexmatch.checker.judgement import legal_instants
from evenmatch.rules.flexmatch.checker.match import CandidateTicket
from evenmatch.rules.flexmatch.reader import read_rule_set
from evenmatch.rules.flexmatch.rule_set import RuleSet
from tests.extent import extent
from tests.flexmatch_draws import drawn_pool, drawn_table
from tests.flexmatch_play import (
    admitted,
    divisions,
    first_from,
    queue_of,
    ticket_of,
    with_defaults,
)

END = 90.0
EACH = extent(15, 150)
WAYS_MAX = 3_000


def drawn_full_rule_set(rng: Random) -> RuleSet:
    """Return a drawn rule set all of whose matches have the same size."""
    while True:
        table = drawn_table(rng)
        for team in table["teams"]:
            team["minPlayers"] = team["maxPlayers"]
        table["expansions"] = [
            each for each in table["expansions"] if not each["target"].startswith("teams[")
        ]
        rule_set, _ = read_rule_set(json.dumps(table))
        if rule_set is not None:
            return rule_set


def least_cost(rule_set: RuleSet, queue: Queue, pool: Sequence[CandidateTicket]) -> float:
    """Return what the cheapest plan of a pool costs, each match at its first legal instant."""
    objective = Objective(queue)
    # A run begins at the whole second before the first arrival.
    end = math.floor(pool[0].enqueued_at) + END
    tickets = {
        each.id: with_defaults(ticket_of(each, number), queue)
        for number, each in enumerate(pool, 1)
    }
    costs = dict[frozenset[str], float]()
    for match in divisions(rule_set, pool):
        ids = frozenset(each.id for each in match.tickets())
        newest = max(each.enqueued_at for each in match.tickets())
        at = first_from(legal_instants(rule_set, match), newest)
        if at <= end:
            teams = [[tickets[each.id] for each in team] for team in match.teams.values()]
            cost = objective.cost(objective.judge(teams), 0, at)
            costs[ids] = min(cost, costs.get(ids, cost))

    @cache
    def least(waiting: frozenset[str]) -> float:
        if not waiting:
            return 0.0
        first = min(waiting)
        alone = queue.price * tickets[first].size * (end - tickets[first].enqueued_at)
        plans = [alone + least(waiting - {first})]
        plans += [c + least(waiting - ids) for ids, c in costs.items() if first in ids <= waiting]
        return min(plans)

    return least(frozenset(tickets))


@pytest.mark.parametrize("first", range(0, 4 * EACH, EACH))
def test_no_plan_costs_less_than_the_bound_and_no_run_less_than_the_best_plan(first: int) -> None:
    judged = matched = 0
    for seed in range(first, first + EACH):
        rng = Random(seed)
        rule_set = drawn_full_rule_set(rng)
        queue = queue_of(rule_set)
        pool = admitted(rule_set, drawn_pool(rng, 7))
        while (len(rule_set.scope.all_teams()) + 1) ** len(pool) > WAYS_MAX:
            pool.pop()
        if not pool:
            continue
        arrivals = [ticket_of(each, number) for number, each in enumerate(pool, 1)]
        scenario = Scenario(queues=(queue,), until=END)
        run = simulate(scenario, arrivals=arrivals, optimum=True).summary
        best = least_cost(rule_set, queue, pool)
        assert run["bound_cost"] <= best * (1 + 1e-9) + 1e-9, f"seed {seed}"
        assert best <= (run["cost"] + run["cost_waiting"]) * (1 + 1e-9) + 1e-9, f"seed {seed}"
        judged += 1
        matched += run["matches"] > 0
    assert judged > EACH / 2
    assert matched > 0
