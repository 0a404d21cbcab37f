"""Columns of those who wait say what their tickets say, whoever comes, goes or is changed."""

import math
import random

import numpy as np
import pytest
from msgspec.structs import replace

from evenmatch.criteria.columns.least_cost import LeastCost
from evenmatch.criteria.columns.pairs import PairTable
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.rules import Rules
from evenmatch.engine.matching import waiting_columns
from evenmatch.engine.matching.pool import ASKED_FIRST, Pool
from evenmatch.engine.matching.waiting_columns import (
    FEW,
    LOOK_AT_MOST,
    TicketColumns,
    WaitingColumns,
)
from evenmatch.engine.ready_check.replacements import StayingTickets
from evenmatch.model.queue import Criterion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import Player, Ticket
from evenmatch.policies.registry import parse_policy

NEAR = Criterion("spread", "rating", scale=Scale("linear", 0.0, 1_000.0))
GAP = Rule("spread", "level", 50.0)
PING = Rule("latency", "latency", 80.0, pairs="region")
QUEUE = Queue("main", Format((2, 2), roles=(("tank", 1), ("healer", 1))), (NEAR,), (GAP, PING))


def made() -> tuple[WaitingColumns, PairTable, LeastCost]:
    objective = Objective(QUEUE)
    pairs, least = PairTable(objective.rules), LeastCost(objective)
    return WaitingColumns(objective, pairs, least), pairs, least


def new(chance: random.Random, number: int) -> Ticket:
    places = chance.sample(["eu", "us", "asia", "oce"], chance.randint(1, 4))
    told = {
        "rating": float(chance.randrange(1_000)),
        "level": float(chance.randrange(100)),
        "latency": {place: float(chance.randrange(200)) for place in places},
    }
    roles = chance.choice([(), ("tank",), ("healer",)])
    players = (Player(f"p{number}", attributes=told, roles=roles),)
    return Ticket(f"t{number}", number, float(number), players, ("main",))


def check(found: TicketColumns, tickets: list[Ticket], pairs: PairTable, least: LeastCost) -> None:
    assert list(found.tickets) == tickets
    assert np.array_equal(found.pairs.T, [pairs.row(each) for each in tickets])
    assert np.array_equal(found.extents.T, [least.row(each) for each in tickets])
    wanted = [[t.players[0].attributes[name] for name in ("rating", "level")] for t in tickets]
    assert np.array_equal(found.values.T, wanted)
    bits = {(): 3, ("tank",): 1, ("healer",): 2}
    assert found.roles.tolist() == [bits[each.players[0].roles] for each in tickets]
    assert found.sizes.tolist() == [1] * len(tickets)
    known = [t.players[0].attributes["latency"] for t in tickets]
    numbers = [sorted(column[np.isfinite(column)].tolist()) for column in found.regions.T]
    assert numbers == [sorted(each.values()) for each in known]


def test_are_right_after_any_life() -> None:
    chance = random.Random(1)
    columns, pairs, least = made()
    waiting: dict[str, Ticket] = {}
    for number in range(1_500):
        ticket = new(chance, number)
        waiting[ticket.id] = ticket
        columns.add(ticket, waiting)
        if chance.random() < 0.8 and len(waiting) > 20:
            del waiting[chance.choice(list(waiting))]
        if chance.random() < 0.05:
            name = chance.choice(list(waiting))
            waiting[name] = replace(new(chance, number), id=name)
        if number % 50 == 0:
            check(columns.oldest(waiting), list(waiting.values()), pairs, least)
    assert len(columns._held) <= 2 * len(waiting) + FEW + 50


def test_hold_the_longest_waiting_only() -> None:
    chance = random.Random(2)
    columns, pairs, least = made()
    tickets = [new(chance, number) for number in range(LOOK_AT_MOST + 20)]
    found = columns.oldest({each.id: each for each in tickets})
    check(found, tickets[:LOOK_AT_MOST], pairs, least)
    check(columns.of(tickets[-3:]), tickets[-3:], pairs, least)


def test_numbers_of_a_ticket_are_made_once() -> None:
    chance = random.Random(3)
    columns, _, _ = made()
    rows = []
    fill = columns._fill
    columns._fill = lambda row, ticket: (rows.append(ticket.id), fill(row, ticket))[1]  # type: ignore[method-assign]
    waiting = {f"t{n}": new(chance, n) for n in range(30)}
    columns.oldest(waiting)
    del waiting["t3"]
    columns.oldest(waiting)
    waiting["t31"] = new(chance, 31)
    columns.add(waiting["t31"], waiting)
    assert rows == [f"t{n}" for n in range(30)] + ["t31"]


def test_forget_those_who_left_though_nobody_looks_again() -> None:
    chance = random.Random(4)
    columns, pairs, least = made()
    waiting = {f"t{n}": new(chance, n) for n in range(5)}
    columns.oldest(waiting)
    for number in range(5, 1_000):
        ticket = new(chance, number)
        del waiting[next(iter(waiting))]
        waiting[ticket.id] = ticket
        columns.add(ticket, waiting)
        assert len(columns._held) <= 2 * len(waiting) + FEW
    check(columns.oldest(waiting), list(waiting.values()), pairs, least)


def test_kinds_that_are_numbered_anew_leave_no_old_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_columns, "KINDS_MOST", 1)
    chance = random.Random(3)
    columns, _, _ = made()
    waiting: dict[str, Ticket] = {}
    seats, renewed = columns.seats, 0
    for number in range(600):
        ticket = new(chance, number)
        waiting[ticket.id] = ticket
        if number % 3:
            columns.add(ticket, waiting)
        if len(waiting) > 20:
            del waiting[chance.choice(list(waiting))]
        found = columns.oldest(waiting)
        assert found.kinds.tolist() == [columns.seats.kind_of(each) for each in waiting.values()]
        renewed += columns.seats is not seats
        seats = columns.seats
    assert renewed > 2


def test_those_who_stay_are_asked_anew_when_kinds_are_numbered_anew() -> None:
    pool = Pool(QUEUE, parse_policy("greedy"), seed=1)
    chance = random.Random(4)
    stayers = StayingTickets(pool, [new(chance, 1)])
    assert stayers.hold_for(pool)
    pool.columns.seats = pool.columns._new_seats()
    assert not stayers.hold_for(pool)
    assert not stayers.hold_for(Pool(QUEUE, parse_policy("greedy"), seed=1))


def test_oldest_partner_is_the_same_as_by_the_rules_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue("main", Format((1, 1)), rules=(GAP, Rule("same", "rating")), commit_jitter=5.0)
    pool, chance, asked = Pool(queue, parse_policy("greedy"), seed=1), random.Random(4), 0
    ready_at = Rules.pair_ready_at

    def count(rules: Rules, one: Ticket, two: Ticket) -> float:
        nonlocal asked
        asked += 1
        return ready_at(rules, one, two)

    monkeypatch.setattr(Rules, "pair_ready_at", count)
    monkeypatch.setattr(waiting_columns, "NEW_ROWS_MOST", 40)
    most = 0
    for number in range(400):
        newcomer = new(chance, number)
        pool.enter(newcomer, number)
        for key in [key for key in pool.delayed_until if pool.delayed_until[key] <= number]:
            pool.let_in(key, number)
        if number % 3 == 2:
            pool.leave(chance.choice(list(pool.tickets)), number)
        if number % 7 == 0:
            old = pool.tickets[chance.choice(list(pool.tickets))]
            pool.change(replace(old, players=new(chance, old.sequence).players), number)
        if newcomer.id not in pool.tickets:
            continue
        newcomer, asked = pool.tickets[newcomer.id], 0
        found = pool.oldest_partner(newcomer, number)
        most = max(most, asked)
        ages = [
            other.age_key
            for other in pool.tickets.values()
            if other is not newcomer
            and other.id not in pool.delayed_until
            and ready_at(pool.objective.rules, other, newcomer) <= number
        ]
        assert found == min(ages, default=(math.inf, 0))
    assert len(pool.tickets) > 4 * ASKED_FIRST
    assert most <= ASKED_FIRST + 40
