"""`first_come` against brute force, whoever comes, leaves and comes back; and after restarts."""

import random

import msgspec
import pytest

from evenmatch.model.queue import Format, Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision
from evenmatch.policies.first_come import FirstCome
from evenmatch.testing import player, ticket
from tests.extent import extent, more, thinned
from tests.property.naive_orders import NaivePool

pytestmark = more

AB = ("A", "B")
FORMATS = {
    "2v2": Format((2, 2)),
    "3v3": Format((3, 3)),
    "4v4": Format((4, 4)),
    "5v5 of few sizes": Format((5, 5), party_sizes=(1, 2, 5)),
    "duels on sides": Format((1, 1), AB),
    "2v2 on sides": Format((2, 2), AB),
    "3v3 on sides": Format((3, 3), AB),
    "three teams": Format((2, 2, 2)),
    "four players": Format((1, 1, 1, 1)),
    "one against three": Format((1, 3)),
}
ORDERS = ["oldest", "lifo", "packing", "largest", "smallest", "head_of_line", "max_weight"]
ORDERS += ["reserve"]
SEEDS = extent(1, 4)
SHAPES = ["any", "mirrored", "unmixed"]
CASES = [
    (name, order, shape)
    for name in FORMATS
    for order in ORDERS
    for shape in SHAPES
    if name != "one against three" or (order != "packing" and shape != "mirrored")
]


def drawn_ticket(rng: random.Random, form: Format, number: int, at: float) -> Ticket:
    sizes = [size for size in range(1, max(form.players) + 1) if form.admits(size)]
    size = rng.choice([1, *sizes])
    people = [player(f"p{number}.{i}") for i in range(size)]
    side = rng.choice(["", *form.sides])
    facts = {"side": side} if side else {}
    return ticket(f"t{number}", *people, at=at, sequence=number, **facts)  # type: ignore[arg-type]


def groups(decision: Decision) -> list[set[str]]:
    return [set(grouping.tickets) for grouping in decision.matches]


@pytest.mark.parametrize(("name", "order", "shape"), thinned(CASES, 5))
def test_order_serves_whom_brute_force_serves(name: str, order: str, shape: str) -> None:
    form = FORMATS[name]
    made = 0
    for seed in range(SEEDS):
        rng = random.Random(f"{name} {order} {shape} {seed}")
        theta = rng.randrange(2, 7) if order == "reserve" else None
        policy = FirstCome(order=order, shape=shape, theta=theta)  # type: ignore[arg-type]
        queue = Queue(format=form)
        matcher, naive = policy.matcher(queue, seed=0), NaivePool(form, order, shape, theta or 0)
        waiting: dict[str, Ticket] = {}
        left: list[Ticket] = []
        at = 0.0
        for number in range(1, 40):
            at += rng.choice([0.0, 0.5, 1.0])
            fate = rng.random()
            if (fate < 0.15 and waiting) or len(waiting) > 10:
                gone = rng.choice(sorted(waiting))
                left.append(waiting.pop(gone))
                matcher.leave(gone, at)
                expected = naive.leave(gone)
            else:
                is_back = fate < 0.25 and left
                each = left.pop() if is_back else drawn_ticket(rng, form, number, at)
                waiting[each.id] = each
                matcher.enter(each, at)
                expected = naive.enter(each)

            found = groups(matcher.decide(at, fired=rng.random() < 0.3))

            assert found == expected, f"seed {seed}, ticket {number}"
            made += len(found)
            for gone in set().union(*found):
                del waiting[gone]
            if rng.random() < 0.1:
                memory = msgspec.json.decode(msgspec.json.encode(matcher.memory()))
                matcher = policy.matcher(queue, seed=0, memory=memory)
                for each in sorted(waiting.values(), key=lambda t: t.age_key):
                    matcher.enter(each, at)
    assert made >= SEEDS


def test_parties_that_enter_together_are_taken_one_by_one() -> None:
    rng = random.Random(5)
    form = Format((3, 3))
    for order in ORDERS[:-1]:
        policy = FirstCome(order=order)  # type: ignore[arg-type]
        one_by_one, at_once = (policy.matcher(Queue(format=form), seed=0) for _ in range(2))
        expected = []
        for number in range(1, 60):
            each = drawn_ticket(rng, form, number, 1.0)
            at_once.enter(each, 1.0)
            one_by_one.enter(each, 1.0)
            expected += groups(one_by_one.decide(1.0))

        assert groups(at_once.decide(1.0)) == expected
