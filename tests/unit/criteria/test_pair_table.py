"""Pairs told by columns: never later than the rules say, and the same where columns tell all."""

import math
import random

import numpy as np
import pytest
from msgspec.structs import replace

from evenmatch.criteria.columns.pairs import PairTable
from evenmatch.criteria.rules import Rules
from evenmatch.model.queue import Expansion, Format, Queue, Rule, Sample
from evenmatch.model.ticket import Ticket
from evenmatch.testing import ticket

RATED = Expansion(rate=7.0, max=900.0)
STEPS = Expansion(steps=((5.0, 200.0), (9.0, 400.0)))
CURVE = Expansion(curve=((0.0, 50.0), (10.0, 300.0)))
QUANTILES = tuple(float(value) for value in range(900, 2_101, 50))
EXACT = (
    (),
    (Rule("spread", "rating", 100.0),),
    (Rule("spread", "rating", 100.0, expand=RATED), Rule("imbalance", "rating", 9.0)),
    (Rule("spread", "rating", 100.0, expand=STEPS), Rule("spread", "form", 3.0, expand=CURVE)),
    (Rule("spread", "rating", 100.0, expand=RATED, accept="either"),),
    (Rule("same", "mode"),),
    (Rule("same", "mode", expand=Expansion(steps=((8.0, 1.0),))),),
)
EARLY = (
    (Rule("spread", "rating", 0.1, "percentile", sample=Sample(QUANTILES)),),
    (Rule("spread", "rating", 0.1, "relative", Expansion(rate=0.01)),),
    (Rule("same", "mode"), Rule("avoid", "blocked")),
    (Rule("same", "taste"),),
)


def crowd(rng: random.Random, largest: int) -> list[Ticket]:
    """Return parties of which some differ within themselves."""
    made = []
    for number in range(14):
        ratings = [rng.choice((1_000.0, 1_100.0, rng.gauss(1_500, 300))) for _ in range(largest)]
        size = rng.randint(1, largest)
        facts = {"form": float(rng.randrange(6)), "mode": rng.choice(("a", "b", 3.0))}
        blocked = (f"p{rng.randrange(14)}",)
        given = {**facts, "blocked": blocked, "taste": (rng.choice("xy"),)}
        made.append(
            ticket(f"p{number}", *ratings[:size], at=rng.randrange(12), sequence=number, **given)
        )
        # Who differs within himself differs from everybody.
        some = [
            replace(player, attributes={"mode": rng.choice("ab")}) for player in made[-1].players
        ]
        made.append(replace(made[-1], id=f"x{number}", players=tuple(some)))
    return made


def compared(queue: Queue, tickets: list[Ticket]) -> tuple[list[float], list[float]]:
    rules = Rules(queue)
    table = PairTable(rules)
    rows = np.array([table.row(each) for each in tickets]).T
    found = table.ready_at(rows[:, :, None], rows[:, None, :])
    true = [[rules.pair_ready_at(one, two) for two in tickets] for one in tickets]
    assert table.is_exact == (queue.rules in EXACT)
    return found.ravel().tolist(), [at for row in true for at in row]


@pytest.mark.parametrize("players", [(1, 1), (2, 2), (1, 3)])
@pytest.mark.parametrize("rules", EXACT, ids=str)
def test_columns_say_what_the_rules_say(rules: tuple[Rule, ...], players: tuple[int, ...]) -> None:
    for seed in range(4):
        tickets = crowd(random.Random(seed), max(players))
        found, true = compared(Queue("main", Format(players), (), rules), tickets)
        assert found == true


@pytest.mark.parametrize("players", [(1, 1), (2, 2)])
@pytest.mark.parametrize("rules", EARLY, ids=str)
def test_columns_are_never_late(rules: tuple[Rule, ...], players: tuple[int, ...]) -> None:
    for seed in range(4):
        tickets = crowd(random.Random(seed), max(players))
        found, true = compared(Queue("main", Format(players), (), rules), tickets)
        assert all(early <= late for early, late in zip(found, true, strict=True))


def test_an_empty_seat_holds_nobody_up() -> None:
    rules = Rules(Queue("main", Format((2, 2)), (), EXACT[3] + EARLY[3]))
    table = PairTable(rules)
    rng = random.Random(1)
    one, two = crowd(rng, 2)[:2]
    with_pad = np.array([table.row(one), table.nobody]).T
    alone = np.array([table.row(one)]).T
    other = np.array(table.row(two))[:, None]
    both = table.ready_at(with_pad, other)
    assert both.max() == table.ready_at(alone, other)[0] > -math.inf
