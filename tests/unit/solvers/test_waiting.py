"""Waiting players as arrays: slots, the order of age, and the instants that rules give."""

import math
import random

import numpy as np
import pytest

from evenmatch.criteria.rules import Rules
from evenmatch.model.queue import Expansion, Format, Queue, Rule
from evenmatch.model.ticket import Player, Ticket
from evenmatch.policies.price import STEPS
from evenmatch.policies.shared.step_columns import StepColumns
from evenmatch.policies.shared.step_matcher import make_pool
from evenmatch.solvers.matching.pairs import FIRST_VALUE, SIDE, pair_cost
from evenmatch.solvers.steps.waiting import (
    FREE_TOP,
    NONE,
    OLDER,
    OLDEST,
    SEQUENCE,
    SIZE,
    YOUNGER,
    YOUNGEST,
    WaitingRoster,
    arrival_rate,
    free_slot,
    grow,
    make_waiting,
    note_arrival,
    ready_at,
    take_slot,
)

RULES = (
    Rule("spread", "rating", 100.0),
    Rule("spread", "rating", 50.0, expand=Expansion(rate=3.7, max=400.0)),
    Rule("spread", "rating", 0.05, unit="relative", expand=Expansion(rate=0.01)),
    Rule("spread", "rating", 0.02, unit="relative"),
    Rule("spread", "rating", 60.0, expand=Expansion(steps=((5.0, 120.0), (9.3, 300.0)), max=200.0)),
    Rule("spread", "rating", 60.0, expand=Expansion(curve=((2.0, 100.0), (30.0, 500.0)))),
    Rule("spread", "rating", 10.0, expand=Expansion(curve=((0.0, 20.0), (7.0, 90.0)), max=80.0)),
    Rule("spread", "rating", 25.0, expand=Expansion(rate=1e-300)),
    Rule("same", "mode"),
)


def empty(slots: int) -> WaitingRoster:
    nothing = (np.zeros((1, 5)), np.zeros(0), np.zeros((0, 8)), np.zeros((2, 0)))
    return make_waiting(slots, nothing, 8)


def order(waiting: WaitingRoster) -> list[int]:
    """Return the sequences of all who wait, oldest first, and check the links both ways."""
    links, counts = waiting.links, waiting.counts
    found, slot, before = [], int(counts[OLDEST]), NONE
    while slot != NONE:
        assert links[OLDER, slot] == before
        found.append(int(links[SEQUENCE, slot]))
        before, slot = slot, int(links[YOUNGER, slot])
    assert counts[YOUNGEST] == before
    assert counts[SIZE] == len(found)
    assert counts[FREE_TOP] == links.shape[1] - len(found)
    return found


def test_slots_stay_in_order_of_age_through_entries_leaves_returns_and_growth() -> None:
    rng = random.Random(3)
    waiting, slots, ages = empty(4), dict[int, int](), dict[int, tuple[float, int]]()
    gone: list[tuple[float, int]] = []
    for step in range(1, 2_000):
        if rng.random() < 0.45 and slots:
            sequence = rng.choice(list(slots))
            free_slot(waiting, slots.pop(sequence))
            gone.append(ages.pop(sequence))
        else:
            comes_back = gone and rng.random() < 0.2
            at, sequence = gone.pop() if comes_back else (float(step // 4), step)
            if waiting.counts[FREE_TOP] == 0:
                waiting = grow(waiting, 2 * waiting.points.shape[1])
            slots[sequence] = int(take_slot(waiting, sequence, at))
            ages[sequence] = (at, sequence)
        assert order(waiting) == [sequence for _, sequence in sorted(ages.values())]
    assert waiting.points.shape[1] >= 32


@pytest.mark.parametrize("rules", [(rule,) for rule in RULES] + [RULES[:3], RULES])
def test_instants_of_rules_are_those_of_the_engine_bit_for_bit(rules: tuple[Rule, ...]) -> None:
    rng = random.Random(5)
    queue = Queue(format=Format(sides=("A", "B")), rules=rules)
    columns, reference = StepColumns(queue, "price"), Rules(queue)
    waiting = make_pool(queue, columns, STEPS, {})
    tickets, slots = [], []
    for sequence in range(1, 33):
        at = sequence * rng.choice([0.25, 0.3])
        facts = {"mode": rng.choice("xy"), "side": rng.choice(["", "A", "B"])}
        rating = rng.choice([0.0, 1000.0 + rng.randrange(600), rng.uniform(-300, 2500)])
        player = Player(str(sequence), attributes={"rating": rating})
        ticket = Ticket(str(sequence), sequence, at, (player,), ("main",), facts)
        slot = int(take_slot(waiting, sequence, at))
        waiting.points[SIDE, slot] = columns.side(ticket)
        waiting.points[FIRST_VALUE:, slot] = columns.row(ticket)
        tickets.append(ticket)
        slots.append(slot)
    legal = 0
    points, terms, gates = waiting.points, waiting.terms, waiting.gates
    for one, i in zip(tickets, slots, strict=True):
        for two, j in zip(tickets, slots, strict=True):
            if one is two:
                continue
            expected = reference.pair_ready_at(one, two)
            found = ready_at(waiting, i, j)
            if pair_cost(points, terms, gates, 0.0, i, j) == math.inf:
                found = math.inf
            assert found == expected
            legal += expected < math.inf
    assert legal > 20 or len(rules) > 3


def test_rate_is_that_of_the_last_arrivals() -> None:
    waiting = empty(64)
    waiting.numbers[0] = 0.2  # the prior is half a second
    assert arrival_rate(waiting, 7.0, 0) == 2.0
    waiting = make_waiting(
        64, (np.zeros((1, 5)), np.zeros(0), np.zeros((0, 8)), np.zeros((2, 0))), 64
    )
    waiting.numbers[0] = 0.2
    for number in range(60):
        slot = int(take_slot(waiting, number + 1, number * 0.1))
        note_arrival(waiting, slot, number * 0.1)
        free_slot(waiting, slot)
    # 50 intervals of a tenth of a second, and what is left of a prior of half a second.
    assert arrival_rate(waiting, 6.0, 0) == pytest.approx(51 / (5.0 + 0.5 / 51))


def test_rate_of_those_who_come_together_is_that_of_enough_instants() -> None:
    waiting = make_waiting(
        128, (np.zeros((1, 5)), np.zeros(0), np.zeros((0, 8)), np.zeros((2, 0))), 128
    )
    waiting.numbers[0] = 0.2
    for number in range(150):
        instant = float(number // 5)
        slot = int(take_slot(waiting, number + 1, instant))
        note_arrival(waiting, slot, instant)
        free_slot(waiting, slot)
    # Fifty came at ten instants, a hundred at twenty; of more than 128 nothing is known.
    for least, known, span in ((0, 50, 10.0), (10, 50, 10.0), (20, 96, 20.0), (99, 128, 26.0)):
        rate = (known + 1) / (span + 0.5 / (known + 1))
        assert arrival_rate(waiting, 30.0, least) == pytest.approx(rate)
