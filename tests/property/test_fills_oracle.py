"""Fills by columns, bounds and best-first against the plain search: one match after the other.

The plain search asks the rules about each pair and the criteria about each match, looks at all
open matches in turn, and knows no budget. Both engines get the same inputs; their records and
their next wake-ups are the same, as long as nothing reaches the budget.
"""

import math
import random
from collections.abc import Callable
from contextlib import suppress

import pytest

from evenmatch.criteria.objective import weights_of
from evenmatch.criteria.registry import comparison_of
from evenmatch.engine.backfill import search as fills
from evenmatch.engine.backfill.candidates import Join, Opening, SearchResult, find_newcomers
from evenmatch.engine.backfill.open_match_table import OpenMatchTable
from evenmatch.engine.backfill.search import BackfillSearch
from evenmatch.engine.engine import Engine
from evenmatch.engine.matching.pool import Pool
from evenmatch.errors import Refusal
from evenmatch.model.events import Matched
from evenmatch.model.inputs import Advance, Cancel, Configure, Enqueue, Finish, Input, Open
from evenmatch.model.match import Priority
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import NewTicket, Player, Rating, Ticket
from evenmatch.policies.registry import parse_policy
from tests.extent import extent, more

pytestmark = more

RUNS = extent(2, 12)
INPUTS = 60

NEAR = Criterion("spread", "rating", scale=Scale("linear", 1000.0, 2000.0))
EVEN = Criterion("imbalance", "rating", scale=Scale("capped", max=500.0))
RAW = Criterion("spread", "rating", scale=Scale("none"), weight=0.001)
WIDENS = Rule("spread", "rating", 100.0, expand=Expansion(rate=40.0))
STEPS = Rule("spread", "rating", 100.0, expand=Expansion(steps=((2.0, 300.0), (5.0, 500.0))))
HALF = Rule("spread", "rating", 0.1, "relative", Expansion(rate=0.05))
MODE = Rule("same", "mode", expand=Expansion(steps=((3.0, 1.0),)))
APART = Rule("avoid", "blocked")
BALANCE = Rule("imbalance", "rating", 100.0, expand=Expansion(rate=50.0))
HOME = Rule("latency", "latency", 80.0, pairs="region", expand=Expansion(rate=10.0))
CLOSED = Rule("latency", "latency", 70.0, pairs="region", expand=Expansion(rate=4.0, max=90.0))
PING = Criterion("latency", "latency", pairs="region")
ROLES = (("tank", 1), ("dps", 1))
CALM = "periodic:rounds_of=2"
ALONE = Format((2, 2), party_sizes=(1,))
QUEUES = (
    Queue("main", Format((2, 2)), (NEAR,), (WIDENS,), wait_price=0.01),
    Queue("main", ALONE, (NEAR, EVEN), (STEPS,), 9.0, policy=CALM),
    Queue("main", Format((1, 1)), (NEAR,), (WIDENS,), commit_jitter=3.0),
    Queue("main", Format((1, 1)), (RAW,), (HALF,), wait_price=0.02),
    Queue("main", Format((2, 2)), (EVEN,), (WIDENS, MODE, APART)),
    Queue("main", Format((3, 1)), (NEAR, EVEN), (BALANCE,), wait_price=0.02),
    Queue("main", Format((2, 2), roles=ROLES), (NEAR,), (STEPS, APART)),
    Queue("main", Format((2, 2), ("red", "blue")), (NEAR, RAW), (WIDENS,), wait_price=0.05),
    Queue("main", Format((2, 2)), (PING, NEAR), (HOME, WIDENS)),
    Queue("main", Format((2, 2)), (PING,), (CLOSED,)),
    Queue("main", Format((2, 2)), (NEAR,), (CLOSED,)),
    Queue("main", Format((2, 2), players_min=(1, 1)), (NEAR,), (MODE,), 6.0),
)


class Plain(BackfillSearch):
    """The search as simply as it can be said."""

    def _fill(self, pool: Pool, priority: Priority) -> None:
        table, now = self._tables.get(pool.name), self._scheduler.now
        if pool.fault is not None or table is None:
            return
        for match_id in sorted(table.of(priority)[0], key=self.turn_in(table)):
            opening = self._still_open(pool, match_id)
            if opening is None:
                continue
            if table.is_due[table._rows[match_id]]:
                table.end_look(match_id)
                some, soonest = list(pool.tickets.values()), now + fills.LOOK_AGAIN
            else:
                arrived = [i for i in self._arrived.get(pool.name, ()) if i in pool.tickets]
                some, soonest = [pool.tickets[i] for i in arrived if not pool.is_kept(i)], now
            search = self.plain(pool, opening, some)
            if search.joins:
                self._join(pool, match_id, search.joins[-1])
            elif search.again_at < math.inf:
                table.look_soon(match_id, max(search.again_at, soonest))

    def turn_in(self, table: OpenMatchTable) -> Callable[[str], float]:
        """Return what matches are sorted by: since when each that is due was owed a look."""
        rows = table._rows
        return lambda name: table.owed_since[rows[name]] if table.is_due[rows[name]] else math.inf

    def _best_rival(
        self, pool: Pool, tickets: list[Ticket], worth: float
    ) -> tuple[str, Join] | None:
        best: tuple[str, Join] | None = None
        for match_id in self._tables[pool.name].of("normal")[0]:
            opening = self._still_open(pool, match_id)
            for join in self.plain(pool, opening, tickets).joins if opening is not None else ():
                net = join.net(pool.queue.price)
                if net <= worth and (best is None or net < best[1].net(pool.queue.price)):
                    best = match_id, join
        return best

    def plain(self, pool: Pool, opening: Opening, some: list[Ticket]) -> SearchResult:
        some = [ticket for ticket in some if self.worth(pool, opening, ticket)]
        return find_newcomers(pool, opening, some, self._scheduler.now)

    def worth(self, pool: Pool, opening: Opening, ticket: Ticket) -> bool:
        """Return whether spreads alone do not take the match below its floor already."""
        seated = tuple(each for team in opening.teams for each in team)
        total = lost = 0.0
        for criterion, weight in zip(pool.queue.criteria, weights_of(pool.queue), strict=True):
            if criterion.scale.kind != "none":
                total += weight
                if criterion.kind == "spread":
                    lost += weight * comparison_of(criterion, pool.queue).cost(((*seated, ticket),))
        return total == 0.0 or 1.0 - lost / total >= opening.quality_floor


class Twins:
    """Two engines under the same inputs."""

    def __init__(self, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.chance = random.Random(seed)
        self.queue = QUEUES[seed % len(QUEUES)]
        self.now = 0.0
        self.filled = 0
        self.fast = Engine(lambda each: parse_policy(each.policy))
        with monkeypatch.context() as patched:
            patched.setattr("evenmatch.engine.backfill.requests.BackfillSearch", Plain)
            self.plain = Engine(lambda each: parse_policy(each.policy))
        filled = Queue(**{**_fields(self.queue), "backfill": "manual"})
        self.step(Configure(0.0, (filled,), seed=seed))

    def play(self) -> None:
        for _ in range(INPUTS):
            self.now += self.chance.choice((0.0, 0.0, 0.25, 0.6, 1.7))
            for given in self.drawn():
                self.step(given)
        self.step(Advance(self.now + 30.0))

    def drawn(self) -> list[Input]:
        chance, tables = self.chance, self.fast.tables
        kind = chance.random()
        matches = list(tables.rosters)
        if kind < 0.45 and matches:
            some = chance.sample(matches, min(len(matches), chance.choice((1, 1, 3))))
            return [self.opened(name) for name in some]
        if kind < 0.5 and matches:
            return [Finish(self.now, chance.choice(matches))]
        if kind < 0.55 and tables.waiting:
            return [Cancel(self.now, chance.choice(list(tables.waiting)))]
        return [Enqueue(self.now, tuple(self.new() for _ in range(chance.choice((1, 1, 2, 5)))))]

    def opened(self, match_id: str) -> Input:
        roster = self.fast.tables.rosters[match_id]
        players = [player for team in roster.players for player in team]
        left = tuple(self.chance.sample(players, min(len(players) - 1, self.chance.choice((1, 2)))))
        priority = self.chance.choice(("low", "normal", "normal", "high"))
        floor = self.chance.choice((0.0, 0.0, 0.6, 0.85))
        return Open(self.now, match_id, roster.version, left, (), priority, 9.0, floor)

    def new(self) -> NewTicket:
        chance, form = self.chance, self.queue.format
        is_alone = max(form.players) == 1 or form.roles or form.party_sizes
        size = 1 if is_alone else chance.choice((1, 1, 2))
        side = {"side": chance.choice(("red", "blue", ""))} if form.sides else {}
        party = []
        for _ in range(size):
            facts = {
                "mode": chance.choice("aab"),
                "blocked": (f"p{chance.randrange(60)}",),
                "latency": {home: chance.uniform(20.0, 120.0) for home in chance.sample(HOMES, 2)},
            }
            roles = tuple(chance.sample(("tank", "dps"), 1)) if form.roles else ()
            rating = Rating(float(chance.randrange(1_000, 2_000, 20)))
            party.append(Player(f"p{chance.randrange(10_000)}", rating, facts, roles))
        return NewTicket(tuple(party), ("main",), side)

    def step(self, given: Input) -> None:
        while self.fast.next_wakeup < given.now:
            self.both(Advance(self.fast.next_wakeup))
        with suppress(Refusal):
            self.both(given)

    def both(self, given: Input) -> None:
        found = []
        for engine in (self.plain, self.fast):
            try:
                found.append(engine.step(given))
            except Refusal as refused:
                found.append(type(refused))
        assert found[0] == found[1]
        assert self.plain.next_wakeup == self.fast.next_wakeup
        assert not self.fast.faults
        if not isinstance(found[1], type):
            made = [event.match for event in found[1].events if isinstance(event, Matched)]
            self.filled += sum(match.extends is not None for match in made)


HOMES = ("eu", "us", "asia")


def _fields(queue: Queue) -> dict[str, object]:
    return {name: getattr(queue, name) for name in queue.__struct_fields__}


@pytest.mark.parametrize("kind", range(len(QUEUES)))
def test_fills_are_those_of_the_plain_search(kind: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenmatch.engine.backfill.search.BUDGET", 10**9)
    monkeypatch.setattr("evenmatch.engine.backfill.search.LOOKS_MOST", 10**9)
    filled = 0
    for run in range(RUNS):
        twins = Twins(run * len(QUEUES) + kind, monkeypatch)
        twins.play()
        filled += twins.filled
    assert filled > RUNS
