"""A repair happens at the first instant at which some match is legal and good enough.

Everybody who waits, and every pair of them where two seats are free, is tried by brute force: from
when on the rules allow the match with those who stay, and what it is worth. The policy meanwhile
collects more players than there are, so that time alone decides. Instants are compared exactly.
"""

import math
import random
from itertools import combinations

import pytest
from msgspec.structs import replace

from evenmatch.criteria.objective import Objective
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.model.events import Proposed, Repaired
from evenmatch.model.inputs import Accept as Yes
from evenmatch.model.inputs import Advance, Configure, Enqueue, Input
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, ReadyCheck, Rule, Scale
from evenmatch.model.ticket import NewTicket, Player, Rating, Ticket
from evenmatch.policies.registry import parse_policy
from tests.extent import extent, more

pytestmark = more

RUNS = extent(20, 60)
NEAR = Criterion("spread", "rating", scale=Scale("linear", 1000.0, 2000.0))
CHECK = ReadyCheck(seconds=6.5, repair=12.0, loss_max=0.3)
FAILED_AT = 7.5
ANY = replace(CHECK, loss_max=1.0)
RULES = {
    "by a rate": (Rule("spread", "rating", 40.0, expand=Expansion(rate=23.0, max=420.0)),),
    "in steps": (
        Rule("spread", "rating", 40.0, expand=Expansion(steps=((3.1, 200.0), (9, 400.0)))),
    ),
    "along a curve": (
        Rule("spread", "rating", 40.0, expand=Expansion(curve=((0.0, 50.0), (9.0, 450.0)))),
    ),
    "of either": (Rule("spread", "rating", 40.0, expand=Expansion(rate=23.0), accept="either"),),
    "by percentages": (Rule("spread", "rating", 0.03, "relative", Expansion(rate=0.02)),),
    "of words": (
        Rule("same", "mode", expand=Expansion(steps=((4.5, 1.0),))),
        Rule("spread", "rating", 200.0, expand=Expansion(rate=30.0)),
    ),
}
BY_MATCH = ("of either", "by percentages")
FORMATS = (Format((1, 1)), Format((2, 2), party_sizes=(1,)), Format((1, 1, 1)))


class Run:
    """A proposal of which some say nothing, and those who wait to take their seats."""

    def __init__(self, seed: int, rules: tuple[Rule, ...], gone: int) -> None:
        self.chance = random.Random(seed)
        form = FORMATS[seed % 3] if gone == 1 else FORMATS[1]
        check = CHECK if gone == 1 else ANY
        self.queue = Queue("main", form, (NEAR,), rules, accept=check)
        self.engine = Engine(lambda each: parse_policy(each.policy))
        self.known: dict[str, Ticket] = {}
        self.repaired: tuple[float, Repaired] | None = None
        self.step(Configure(0.0, (self.queue,)))
        (proposed,) = self.step(
            Enqueue(1.0, tuple(self.new(f"m{at}", 1_500.0) for at in range(form.k)))
        )[-1:]
        assert isinstance(proposed, Proposed)
        calm = replace(self.queue, policy="periodic:rounds_of=500")
        self.step(Configure(1.5, (calm,), version=2))
        first, then = (self.chance.randint(gone, 7) for _ in range(2))
        for number in range(first):
            self.enter(2.0 + 0.5 * number, f"a{number}")
        for ticket in proposed.match.tickets[gone:]:
            self.step(Yes(6.0, proposed.match.id, ticket))
        for number in range(then):
            self.enter(9.0 + number + self.chance.random(), f"b{number}")
        self.step(Advance(40.0))
        self.stay = proposed.match.tickets[gone:]

    def enter(self, now: float, name: str) -> None:
        self.step(Enqueue(now, (self.new(name, float(self.chance.randrange(1_000, 2_000))),)))

    def new(self, name: str, rating: float) -> NewTicket:
        mode = "a" if name.startswith("m") else self.chance.choice("ab")
        return NewTicket((Player(name, Rating(rating), {"mode": mode}),), ("main",))

    def step(self, given: Input) -> tuple[object, ...]:
        while (at := self.engine.next_wakeup) < given.now:
            self.note(self.engine.step(Advance(at)))
        return self.note(self.engine.step(given))

    def note(self, record: Record) -> tuple[object, ...]:
        for event in record.events:
            if isinstance(event, Repaired) and self.repaired is None:
                self.repaired = record.input.now, event
        for row in self.engine.tables.waiting.values():
            self.known[row.ticket.id] = row.ticket
        return record.events


def first_instant(run: Run, gone: int) -> tuple[float, float]:
    """Return when the first match with those who stay is legal and good enough, and its cost."""
    objective, known = Objective(run.queue), run.known
    stay = [known[name] for name in run.stay]
    others = [t for t in known.values() if t.players[0].id[0] != "m"]
    assert run.queue.accept is not None
    best = math.inf, math.inf
    for joined in combinations(others, gone):
        seating = objective.judge(((*stay, *joined),))
        if seating.quality is not None and seating.quality >= 1.0 - run.queue.accept.loss_max:
            at = max(FAILED_AT, seating.ready_at)
            best = min(best, (at, seating.criteria_cost))
    return best


# For several seats the search takes who fits next, and looks at no other choice: where pairs do not
# tell whether all of them may play, it may come later than it could.
CASES = [(name, gone) for name in RULES for gone in (1, 2) if gone == 1 or name not in BY_MATCH]


@pytest.mark.parametrize(("name", "gone"), CASES)
def test_repair_happens_at_the_first_instant_that_allows_it(name: str, gone: int) -> None:
    later = 0
    for seed in range(RUNS):
        run = Run(seed, RULES[name], gone)
        at, cost = first_instant(run, gone)
        if at > FAILED_AT + CHECK.repair:
            assert run.repaired is None
            continue
        later += at > FAILED_AT
        assert run.repaired is not None
        assert run.repaired[0] == at
        if gone == 1:
            # Its cost counts the waits too.
            assert run.repaired[1].match.cost >= cost
    assert later > RUNS / 40, "time alone never allowed a repair"
