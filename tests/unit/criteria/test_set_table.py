"""`SetTable.not_before` beside trying all sets of tickets."""

import math
from itertools import combinations
from random import Random

import numpy as np
import pytest

from evenmatch.criteria.columns.sets import SetTable
from evenmatch.criteria.objective import Objective
from evenmatch.model.queue import Expansion, Format, Queue, Rule
from evenmatch.model.ticket import Player, Rating, Ticket

WIDENING = (
    None,
    Expansion(rate=3.0, max=200.0),
    Expansion(steps=((1.0, 30.0), (4.0, 90.0), (8.0, 400.0))),
    Expansion(curve=((0.0, 10.0), (2.0, 40.0), (5.0, 300.0))),
)


def party(rng: Random, number: int, size: int) -> Ticket:
    players = [
        Player(f"p{number}.{at}", Rating(float(rng.randrange(200))), {"level": rng.randrange(9)})
        for at in range(size)
    ]
    return Ticket(f"t{number}", number, number * 0.25, tuple(players), ("main",))


def looked_up(table: SetTable, anchor: Ticket, others: list[Ticket], needed: int) -> float:
    rows = [table.row(ticket)[0] for ticket in (anchor, *others)]
    numbers = np.array(rows).T
    sizes = np.array([ticket.size for ticket in others])
    return table.not_before(numbers[:, 0], numbers[:, 1:], sizes, needed)


def soonest(queue: Queue, anchor: Ticket, others: list[Ticket]) -> float:
    """Return when the first set that has the anchor and fills a match is legal, of all sets."""
    rules, k = Objective(queue).rules, queue.format.k
    found = math.inf
    for count in range(1, k):
        for chosen in combinations(others, count):
            if anchor.size + sum(ticket.size for ticket in chosen) == k:
                found = min(found, rules.ready_at([[*chosen, anchor]]))
    return found


@pytest.mark.parametrize("seed", range(60))
def test_no_match_is_legal_before_it(seed: int) -> None:
    rng = Random(seed)
    sizes = (1,) if seed % 2 else (1, 1, 2)
    rules = [Rule("spread", "rating", 10.0, expand=rng.choice(WIDENING))]
    if seed % 3 == 0:
        rules.append(Rule("spread", "level", 2.0, expand=rng.choice(WIDENING)))
    queue = Queue("main", Format((2, 2)), (), tuple(rules))
    others = [party(rng, number, rng.choice(sizes)) for number in range(rng.randrange(2, 10))]
    anchor = party(rng, len(others), rng.choice(sizes))
    told = looked_up(SetTable(Objective(queue).rules), anchor, others, 4 - anchor.size)
    truth = soonest(queue, anchor, others)
    assert told <= truth
    if len(rules) == 1 and sizes == (1,):
        assert told == truth


def test_too_few_players_are_never_enough() -> None:
    rng = Random(1)
    queue = Queue("main", Format((2, 2)), (), (Rule("spread", "rating", 1e9),))
    others = [party(rng, number, 1) for number in range(2)]
    assert looked_up(SetTable(Objective(queue).rules), party(rng, 2, 1), others, 3) == math.inf
    assert looked_up(SetTable(Objective(queue).rules), party(rng, 2, 2), others, 2) == 0.5
