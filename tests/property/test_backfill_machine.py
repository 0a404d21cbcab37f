"""Running matches under random inputs, against a plain model of who may play where.

The model knows no costs: it says who plays in which match, who has left it and which version its
roster has, which newcomers are asked and who of them has accepted, and holds every fill to that.
By default 60 runs of 12 rules, always the same.

    EVENMATCH_MACHINE=long .venv/bin/python -m pytest tests/property/test_backfill_machine.py
"""

import os
import random

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record, decode, encode
from evenmatch.engine.state.snapshot import (
    decode_snapshot,
    encode_snapshot,
    restore,
    state_hash,
    take,
)
from evenmatch.errors import Refusal, StaleRoster
from evenmatch.model.events import (
    WITHDRAWN,
    Accepted,
    Closed,
    Confirmed,
    Dissolved,
    Finished,
    Matched,
    Opened,
    Proposed,
    Voided,
)
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
    Void,
)
from evenmatch.model.queue import Format, Queue, Rule
from evenmatch.model.queue import ReadyCheck as ReadyCheck
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.policies.base import Policy
from evenmatch.policies.registry import parse_policy

IS_LONG = os.environ.get("EVENMATCH_MACHINE") == "long"
RUNS, RULES = (5_000, 30) if IS_LONG else (60, 12)
GAP = 150.0

NEAR = (Rule("spread", "rating", GAP),)
ASKED = ReadyCheck(5.0, cooldowns=(3.0,), repair=0.0, again=4.0)
QUEUES = (
    Queue("main", Format((1, 1)), backfill="manual", allocation="fleet"),
    Queue("main", Format((2, 2)), (), NEAR, backfill="manual", exclusive_match=True),
    Queue("main", Format((2, 2), players_min=(1, 1)), backfill="automatic", match_max=20.0),
    Queue("main", Format((2, 2)), (), NEAR, 12.0, backfill="manual", accept=ReadyCheck()),
    Queue("main", Format((2, 2)), (), NEAR, 12.0, backfill="automatic", accept=ASKED),
    Queue("main", Format((1, 1)), backfill="manual", allocation="fleet", accept=ASKED),
    Queue("main", Format((2, 2)), backfill="manual", accept=ReadyCheck(newcomers=False)),
    Queue("main", Format((3, 1), sides=("many", "one")), (), NEAR, backfill="manual"),
)
LATER = st.sampled_from((0.0, 0.0, 0.25, 1.0, 4.0, 13.0))
FEW = st.integers(0, 40)


def chosen(queue: Queue) -> Policy:
    return parse_policy(queue.policy)


class Game:
    """What the model knows of a running match."""

    def __init__(self, players: tuple[tuple[str, ...], ...]) -> None:
        self.teams = [set(team) for team in players]
        self.left: set[str] = set()
        self.version = 0
        self.is_open = False
        self.fills: list[str] = []
        # The proposal that has its free seats.
        self.asked = ""


class BackfillMachine(RuleBasedStateMachine):
    """Hands inputs to an engine, and what comes of them to the model."""

    @initialize(queue=st.sampled_from(QUEUES), seed=st.integers(0, 2**16))
    def configure(self, queue: Queue, seed: int) -> None:
        self.now = 0.0
        self.queue = queue
        self.journal: list[bytes] = []
        self.games: dict[str, Game] = {}
        self.ratings: dict[str, float] = {}
        # Who is asked to join a match, by proposal, and who of them has accepted.
        self.asked: dict[str, tuple[str, set[str]]] = {}
        self.accepted: dict[str, set[str]] = {}
        # Until when newcomers who failed a ready-check together are not asked again.
        self.failed: dict[frozenset[str], float] = {}
        self.engine = Engine(chosen)
        self.hand_in(Configure(0.0, (queue,)))
        self.rush(seed, 40)

    def hand_in(self, given: Input) -> None:
        while (at := self.engine.next_wakeup) < given.now or (
            isinstance(given, Advance) and at == given.now
        ):
            self.take(self.engine.step(Advance(at)))
        try:
            self.take(self.engine.step(given))
        except Refusal:
            # What is allowed is the business of the unit tests; here only what follows.
            return

    def take(self, record: Record) -> None:
        if record.sequence:
            self.journal.append(encode(record))
        for event in record.events:
            if isinstance(event, Accepted):
                assert isinstance(record.input, Enqueue)
                (player,) = record.input.tickets[event.item].players
                assert player.rating is not None
                self.ratings[player.id] = player.rating.mean
            elif isinstance(event, Proposed | Confirmed | Dissolved):
                self.ask(event, record.input.now)
            elif isinstance(event, Matched):
                self.made(event)
            elif isinstance(event, Opened):
                game = self.games[event.open.id]
                assert not (event.left and game.asked), "seats changed under those who are asked"
                game.left |= set(event.left)
                for team in game.teams:
                    team -= set(event.left)
                game.is_open = any(event.open.free)
            elif isinstance(event, Closed):
                assert self.games[event.match].is_open
                assert not self.games[event.match].asked, "a match asks and is closed"
                self.games[event.match].is_open = False
            elif isinstance(event, Finished | Voided):
                over = self.games.pop(event.match, None)
                assert over is None or not over.asked, "a match asks and is over"

    def ask(self, event: Proposed | Confirmed | Dissolved, now: float) -> None:
        if isinstance(event, Confirmed):
            if event.match in self.asked:
                assert set(event.players) <= self.asked[event.match][1], "others were asked"
                self.accepted[event.match] |= set(event.players)
        elif isinstance(event, Dissolved):
            if event.match in self.asked:
                base, newcomers = self.asked.pop(event.match)
                self.games[base].asked = ""
                if event.reason != WITHDRAWN:
                    assert self.queue.accept is not None
                    self.failed[frozenset(newcomers)] = now + self.queue.accept.again
        elif event.match.extends is not None:
            game = self.games[event.match.extends]
            assert self.queue.accept is not None
            assert self.queue.accept.newcomers
            assert game.is_open, "newcomers of a match are asked that asks for nobody"
            assert not game.asked, "two fills for the same seats"
            newcomers = {player for team in event.match.players for player in team}
            assert self.failed.get(frozenset(newcomers), 0.0) <= now, "asked again at once"
            game.asked = event.match.id
            self.asked[event.match.id] = event.match.extends, newcomers
            self.accepted[event.match.id] = set()

    def made(self, event: Matched) -> None:
        match = event.match
        if match.extends is None:
            self.games[match.id] = Game(match.players)
            return
        game = self.games[match.extends]
        assert game.is_open, "a match was filled that asked for nobody"
        newcomers = {player for team in match.players for player in team}
        assert newcomers
        if self.queue.accept is not None and self.queue.accept.newcomers:
            assert self.asked.pop(match.id) == (match.extends, newcomers), "not asked"
            assert self.accepted.pop(match.id) == newcomers, "somebody has not accepted"
            game.asked = ""
        assert not newcomers & game.left, "somebody came back who had left"
        seats = zip(game.teams, match.players, self.queue.format.players, strict=True)
        for team, joined, most in seats:
            assert len(team) + len(joined) <= most
            team |= set(joined)
        if self.queue.rules:
            ratings = [self.ratings[player] for team in game.teams for player in team]
            assert max(ratings) - min(ratings) <= GAP
        game.version += 1
        game.is_open = False
        game.fills.append(match.id)

    def some_game(self, place: int) -> tuple[str, Game] | None:
        games = list(self.games.items())
        return games[place % len(games)] if games else None

    @rule(later=LATER, places=st.lists(FEW, min_size=1, max_size=5), step=st.integers(0, 5))
    def enqueue(self, later: float, places: list[int], step: int) -> None:
        self.now += later
        tickets = []
        for at, place in enumerate(places):
            rating = 1_000.0 + 50.0 * ((step + at) % 5)
            player = f"p{place}"
            new = NewTicket((Player(player, Rating(rating)),))
            if player not in self.engine.tables.players.get("default", {}):
                playing = any(player in team for game in self.games.values() for team in game.teams)
                if playing:
                    continue
                tickets.append(new)
        if tickets:
            self.hand_in(Enqueue(self.now, tuple(tickets)))

    @rule(later=LATER, place=FEW)
    def cancel(self, later: float, place: int) -> None:
        waiting = list(self.engine.tables.waiting)
        if waiting:
            self.now += later
            self.hand_in(Cancel(self.now, waiting[place % len(waiting)]))

    @rule(later=LATER, place=FEW, says_yes=st.booleans())
    def answer(self, later: float, place: int, says_yes: bool) -> None:
        self.now += later
        for at, row in enumerate(list(self.engine.tables.waiting.values())):
            if row.match is not None:
                kind = Accept if says_yes or (place + at) % 3 else Decline
                self.hand_in(kind(self.now, row.match, row.ticket.id))

    @rule(
        later=LATER,
        place=FEW,
        leaves=st.integers(0, 3),
        priority=st.sampled_from(("low", "normal", "high")),
        lease=st.sampled_from((2.0, 30.0)),
    )
    def open(self, later: float, place: int, leaves: int, priority: str, lease: float) -> None:
        self.now += later
        self.hand_in(Advance(self.now))
        found = self.some_game(place)
        if found is not None:
            match_id, game = found
            players = sorted(player for team in game.teams for player in team)
            left = tuple(players[:leaves])
            self.hand_in(Open(self.now, match_id, game.version, left, (), priority, lease))  # type: ignore[arg-type]

    @rule(later=LATER, place=FEW)
    def open_stale(self, later: float, place: int) -> None:
        self.now += later
        self.hand_in(Advance(self.now))
        found = self.some_game(place)
        if found is not None and found[1].version:
            with pytest.raises(StaleRoster) as refused:
                self.engine.step(Open(self.now, found[0], found[1].version - 1))
            assert refused.value.roster_version == found[1].version

    @rule(later=LATER, place=FEW, kind=st.sampled_from(("close", "finish", "assign", "void")))
    def act(self, later: float, place: int, kind: str) -> None:
        self.now += later
        found = self.some_game(place)
        if found is not None:
            given: dict[str, Input] = {
                "close": Close(self.now, found[0]),
                "finish": Finish(self.now, found[0]),
                "assign": Assign(self.now, found[0], {"connection": found[0]}),
                "void": Void(self.now, found[0], "no server"),
            }
            self.hand_in(given[kind])

    @rule(later=LATER)
    def advance(self, later: float) -> None:
        self.now += later
        self.hand_in(Advance(self.now))

    @rule(seed=st.integers(0, 2**16), count=st.integers(20, 60))
    def rush(self, seed: int, count: int) -> None:
        """Let much happen in a row, so that matches begin, lose players and get others."""
        rng = random.Random(seed)
        for _ in range(count):
            later, place = rng.choice((0.0, 0.25, 1.0, 3.0)), rng.randrange(40)
            what = rng.randrange(10)
            if what < 4:
                places = [rng.randrange(40) for _ in range(rng.randrange(1, 5))]
                self.enqueue(later, places, rng.randrange(6))
            elif what < 7:
                priority, lease = rng.choice(("low", "normal", "high")), rng.choice((2.0, 30.0))
                self.open(later, place, rng.randrange(3), priority, lease)
            elif what == 7:
                self.answer(later, place, rng.random() < 0.8)
            elif what == 8:
                self.act(later, place, rng.choice(("close", "finish", "assign", "void")))
            else:
                self.cancel(later, place)
            self.agrees()

    @rule(from_journal=st.booleans())
    def restart(self, from_journal: bool) -> None:
        again = Engine(chosen)
        memories = {}
        if from_journal:
            for body in self.journal:
                again.apply(decode(body))
        else:
            memories = dict(restore(again, decode_snapshot(encode_snapshot(take(self.engine)))))
        again.tables.now = self.engine.tables.now
        assert state_hash(again) == state_hash(self.engine)
        again.resume(self.now, memories)
        self.engine = again
        self.hand_in(Advance(self.now))

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "engine"):
            return
        tables = self.engine.tables
        tables._check()
        assert not self.engine.faults
        asked = [key for key, each in tables.proposals.items() if each.match.extends is not None]
        assert set(asked) == set(self.asked), "a proposal outlived its match"
        for match_id, roster in tables.rosters.items():
            game = self.games[match_id]
            assert [set(team) for team in roster.players] == game.teams
            assert set(roster.left) == game.left
            assert (roster.version, list(roster.fills)) == (game.version, game.fills)
            assert (roster.open is not None) == game.is_open
            assert roster.proposed == game.asked
            place = tables.matches[match_id].assignment
            for fill in roster.fills:
                assert tables.matches[fill].assignment == place, "newcomers got another server"


TestBackfill = BackfillMachine.TestCase
TestBackfill.settings = settings(
    max_examples=RUNS,
    stateful_step_count=RULES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
    derandomize=not IS_LONG,
)
