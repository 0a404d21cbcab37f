"""The table of regions says of whole columns what the rules say of one match after the other."""

import math
import random

import numpy as np
import pytest

from evenmatch.criteria.columns.regions import COLUMNS_MOST, RegionTable
from evenmatch.criteria.rules import Rules
from evenmatch.model.queue import Expansion, Format, Queue, Rule
from evenmatch.model.ticket import Player, Ticket

FORM = Format((3, 3), party_sizes=(1, 2))
WIDER = Rule("latency", "latency", 60.0, expand=Expansion(rate=4.0, max=150.0), pairs="region")
STRICT = Rule("latency", "latency", 80.0, pairs="region")
EITHER = Rule("latency", "latency", 60.0, pairs="region", accept="either")


def party(chance: random.Random, name: str, places: str, least: int, worst: int) -> Ticket:
    players = tuple(
        Player(
            f"{name}{at}",
            attributes={
                "latency": {
                    place: float(chance.randrange(10, worst))
                    for place in chance.sample(places, chance.randint(least, len(places)))
                }
            },
        )
        for at in range(chance.randint(1, 2))
    )
    return Ticket(name, 1, chance.random() * 20.0, players, ("main",))


def ready_at(table: RegionTable, seated: list[Ticket], others: list[Ticket]) -> np.ndarray:
    rows = [table.row(ticket) for ticket in seated]
    youngest = max(ticket.enqueued_at for ticket in seated)
    entered = np.array([each.enqueued_at for each in others])
    return table.ready_at(rows, youngest, entered, columns_of(table, others))


def columns_of(table: RegionTable, tickets: list[Ticket]) -> np.ndarray:
    rows = [table.row(ticket) for ticket in tickets]
    return np.array([row + [math.inf] * (table.columns - len(row)) for row in rows]).T


@pytest.mark.parametrize("rule", [WIDER, STRICT, EITHER])
@pytest.mark.parametrize("seed", range(20))
def test_says_no_later_than_the_rules_and_no_earlier_than_its_best_region(
    rule: Rule, seed: int
) -> None:
    chance = random.Random(seed)
    rules = Rules(Queue("main", FORM, (), (rule,)))
    table = RegionTable(rules)
    seated = [party(chance, f"s{n}", "abcd", 4, 90) for n in range(2)]
    others = [party(chance, f"w{n}", "abcde", 1, 200) for n in range(30)]
    early = ready_at(table, seated, others)

    assert len(set(early.tolist())) > 1 or rule is not WIDER
    for ticket, at in zip(others, early.tolist(), strict=True):
        true = rules.ready_at((tuple(seated), (ticket,)))
        assert at <= true
        assert at >= max(rules.pair_ready_at(each, ticket) for each in seated) or rule is EITHER
        if at == math.inf:
            assert true == math.inf


def test_says_nothing_of_other_rules_and_where_places_are_too_many() -> None:
    alone = Ticket("a", 1, 0.0, (Player("a", attributes={"latency": {"eu": 500.0}}),), ("main",))
    apart = RegionTable(Rules(Queue("main", FORM, (), (Rule("latency", "latency", 80.0),))))
    assert not apart.says_something
    assert ready_at(apart, [alone], [alone]) == [-math.inf]

    table = RegionTable(Rules(Queue("main", FORM, (), (STRICT,))))
    assert ready_at(table, [alone], [alone]) == [math.inf]
    many = {f"p{n}": 10.0 for n in range(COLUMNS_MOST)}
    table.row(Ticket("b", 2, 0.0, (Player("b", attributes={"latency": many}),), ("main",)))
    assert not table.says_something
    assert ready_at(table, [alone], [alone]) == [-math.inf]
