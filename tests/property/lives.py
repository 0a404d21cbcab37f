"""Random lives of tickets and matches: whatever an engine may hear, with its records one by one."""

from __future__ import annotations

import random
from collections.abc import Callable

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record, decode, encode
from evenmatch.errors import Refusal
from evenmatch.model.inputs import (
    Accept,
    Advance,
    Assign,
    Cancel,
    Close,
    Configure,
    Decline,
    Enqueue,
    Finish,
    Input,
    Open,
    Outcome,
    Prolong,
    Update,
    Void,
)
from evenmatch.model.queue import Criterion, Format, Queue, ReadyCheck, Rule, Scale
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.policies.registry import parse_policy
from evenmatch.ratings.periods import rate_period

CHECK = ReadyCheck(seconds=8.0, loss_max=0.3, cooldowns=(5.0,), repair=6.0, again=6.0)
GAP = (Criterion("spread", "rating", scale=Scale("linear", min=0.0, max=3000.0)),)
NEAR = (Rule("spread", "rating", 600.0),)
PAIRS = Format((2, 2), players_min=(1, 1))
SETS: tuple[tuple[Queue, ...], ...] = (
    (
        Queue("main", Format((1, 1)), GAP, wait_max=20.0, allocation="fleet", accept=CHECK),
        Queue("pairs", Format((2, 2)), GAP, NEAR, 9.0, backfill="manual", accept=CHECK),
    ),
    (
        Queue("main", PAIRS, GAP, NEAR, 15.0, on_deadline="bots", backfill="manual"),
        Queue("pairs", Format((2, 2)), GAP, NEAR, 30.0, allocation="fleet", accept=CHECK),
    ),
    (
        Queue("main", Format((1, 1)), GAP, NEAR, 12.0, exclusive_match=True, match_max=40.0),
        Queue(
            "pairs",
            PAIRS,
            GAP,
            wait_max=8.0,
            backfill="automatic",
            allocation="fleet",
            silent_after=30.0,
        ),
    ),
    (
        Queue(
            "main", Format((2, 2)), GAP, NEAR, accept=CHECK, backfill="manual", allocation="fleet"
        ),
    ),
    (
        Queue("main", Format((1, 1)), GAP, accept=CHECK, backfill="manual", match_max=40.0),
        Queue("pairs", Format((2, 2)), GAP, accept=CHECK, backfill="automatic"),
    ),
)
LATER = (0.0, 0.0, 0.25, 0.5, 1.0, 3.0, 9.0)


class Life:
    """An engine that hears of random inputs.

    Args:
        seed: Of everything that happens.
        hear: Told of each record when its events are folded.
        restarted: Told of the new engine after a restart.
        queues: The configuration; None draws one.
    """

    def __init__(
        self,
        seed: int,
        hear: Callable[[Record], None],
        restarted: Callable[[Engine], None] = lambda _: None,
        queues: tuple[Queue, ...] | None = None,
    ) -> None:
        self.rng = random.Random(seed)
        self.queues = SETS[seed % len(SETS)] if queues is None else queues
        self.hear, self.restarted = hear, restarted
        self.now = 0.0
        self.journal: list[bytes] = []
        self.engine = self._new()
        self.step(Configure(0.0, self.queues, seed=seed))

    def act(self, restarts: bool = False) -> None:
        """Let something happen; what the engine refuses changes nothing."""
        self.now += self.rng.choice(LATER)
        if restarts and self.rng.random() < 0.03:
            self.restart()
        self.step(self._draw())

    def step(self, given: Input) -> None:
        """Hand an input in, after everything that was due before."""
        while (at := self.engine.next_wakeup) < given.now:
            self._hand(Advance(at))
        self._hand(given)

    def restart(self) -> None:
        """Begin anew with an engine that has read the journal."""
        again = self._new()
        for body in self.journal:
            again.apply(decode(body))
        again.tables.now = self.engine.tables.now
        again.resume(self.now, {})
        self.engine = again
        self.restarted(again)

    def _new(self) -> Engine:
        return Engine(lambda each: parse_policy(each.policy), rate=rate_period)

    def _hand(self, given: Input) -> None:
        try:
            record = self.engine.step(given)
        except Refusal:
            return
        self.engine.tables._check()
        if record.sequence:
            self.journal.append(encode(record))
        self.hear(record)

    def _draw(self) -> Input:
        rng, now, tables = self.rng, self.now, self.engine.tables
        kind = rng.random()
        proposals, live = list(tables.proposals.values()), list(tables.waiting.values())
        if proposals and kind < 0.45:
            proposal = rng.choice(proposals)
            ticket = rng.choice(proposal.tickets)
            if kind < 0.40:
                return Accept(now, proposal.match.id, ticket)
            return Decline(now, proposal.match.id, ticket)
        if live and kind < 0.55:
            ticket = rng.choice(live).ticket
            if kind < 0.50:
                return Cancel(now, ticket.id)
            changed = tuple(Player(each.id, self._rating()) for each in ticket.players)
            return Update(now, ticket.id, players=changed)
        if tables.matches and kind < 0.75:
            return self._of_match(rng.choice(list(tables.matches)[-6:]))
        if kind < 0.77:
            return rng.choice((Prolong(now, 2.0), Advance(now)))
        if kind < 0.79:
            pause = tuple(each.name for each in self.queues if rng.random() < 0.2)
            return Configure(now, self.queues, seed=1, version=2, pause=pause)
        return Enqueue(now, tuple(self._ticket() for _ in range(rng.randint(1, 3))))

    def _of_match(self, match_id: str) -> Input:
        rng, now, tables = self.rng, self.now, self.engine.tables
        roster, match = tables.rosters.get(match_id), tables.matches[match_id].match
        players = [player for team in match.players for player in team]
        version = 0 if roster is None else roster.version
        drawn: tuple[Input, ...] = (
            Assign(now, match_id, {"connection": match_id}),
            Void(now, match_id, "no server"),
            Void(now, match.extends or match_id, "no server"),
            Open(now, match_id, version, tuple(rng.sample(players, 1)), lease=5.0),
            Open(now, match_id, version, tuple(rng.sample(players, 1))),
            Close(now, match_id),
            Finish(now, match_id),
            Outcome(now, match_id, ranks=(1.0, 2.0)),
            Outcome(now, match_id, ranks=rng.choice(((1.0, 2.0), (2.0, 1.0))), player=players[0]),
            Outcome(now, match_id, ranks=(1.0, 2.0), player=players[-1]),
        )
        return rng.choice(drawn)

    def _ticket(self) -> NewTicket:
        rng = self.rng
        ids = rng.sample(range(24), rng.choice((1, 1, 1, 2)))
        players = tuple(Player(f"p{each}", self._rating()) for each in ids)
        names = [each.name for each in self.queues if rng.random() < 0.7]
        if len(players) > 1:
            names = [each.name for each in self.queues if each.format.players[0] > 1]
        return NewTicket(players, tuple(names) or (self.queues[-1].name,))

    def _rating(self) -> Rating:
        return Rating(float(self.rng.randint(10, 20) * 100))
