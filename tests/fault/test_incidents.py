"""What once went wrong in public matchmakers: each with a test that would have seen it.

`docs/incidents.md` is the table. Most incidents had tests before; what is here was missing.
"""

import re
from pathlib import Path

import msgspec
import pytest

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record, decode, encode
from evenmatch.engine.shard import Answer, Shard
from evenmatch.errors import InvalidTicket, MatchmakingError
from evenmatch.model.events import Cancelled, Expired, Matched, Penalised, Proposed, Refused
from evenmatch.model.inputs import Accept, Advance, Configure, Decline, Enqueue, Input
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.server.runtime.clock import PAUSE_MAX, resumed_at
from evenmatch.server.runtime.recovery import resolve
from evenmatch.wire.tickets import InvalidRequest, decode_create

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "incidents.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
CHECK = {"seconds": 10.0, "repair": 0.0, "again": 30.0}


class Game:
    """An engine in virtual time, and all that came of it."""

    def __init__(self, **queue: object) -> None:
        made = msgspec.convert({"name": "duel", "policy": "window", **queue}, Queue)
        self.engine = Engine(resolve, shard="s0")
        self.records: list[Record] = []
        self.do(Configure(0.0, (made,), 1))

    def do(self, given: Input) -> Record:
        while self.engine.next_wakeup < given.now:
            self._step(Advance(self.engine.next_wakeup))
        return self._step(given)

    def until(self, now: float) -> None:
        while self.engine.next_wakeup <= now:
            self._step(Advance(self.engine.next_wakeup))

    def _step(self, given: Input) -> Record:
        record = self.engine.step(given)
        if record.sequence:
            self.records.append(record)
        self.engine.tables._check()
        return record

    def come(self, now: float, name: str, mean: float = 1500.0) -> str:
        new = NewTicket((Player(name, Rating(mean, 80.0)),), ("duel",))
        self.do(Enqueue(now, (new,)))
        return f"s0-{self.engine.tables.counters.accepted}"

    def of(self, kind: type) -> list[tuple[float, object]]:
        return [
            (record.input.now, event)
            for record in self.records
            for event in record.events
            if isinstance(event, kind)
        ]

    def matches(self) -> dict[str, float]:
        """Return when each ticket was matched."""
        return {
            ticket: now
            for now, event in self.of(Matched)
            for ticket in event.match.tickets  # type: ignore[attr-defined]
        }

    def restarted(self) -> None:
        """Begin anew with what the journal has."""
        engine = Engine(resolve, shard="s0")
        for record in self.records:
            engine.apply(decode(encode(record)))
        engine.resume(engine.tables.now)
        self.engine = engine


def test_two_confirmations_that_come_last_make_one_match() -> None:
    game = Game(accept=CHECK)
    one, two = game.come(1.0, "ann"), game.come(1.0, "bob")
    (match,) = game.engine.tables.proposals
    game.do(Accept(2.0, match, one))
    game.do(Accept(2.0, match, two))
    game.do(Accept(2.0, match, one))
    game.do(Accept(2.0, match, two))
    assert len(game.of(Matched)) == 1
    assert set(game.engine.tables.matches) == {match}


def test_ready_checks_of_one_set_do_not_go_round_and_round() -> None:
    game = Game(accept=CHECK, wait_max=120.0)
    game.come(1.0, "ann"), game.come(1.0, "bob"), game.come(1.0, "cyd")
    game.until(200.0)
    # Nobody ever answers: whoever was asked once is out, and no check is repeated.
    assert len(game.of(Proposed)) == 1
    assert sorted(event.reason for _, event in game.of(Cancelled)) == ["silent", "silent"]  # type: ignore[attr-defined]
    assert [event.reason for _, event in game.of(Expired)] == ["deadline"]  # type: ignore[attr-defined]
    assert not game.engine.tables.waiting


def test_who_waits_again_after_a_failed_check_is_matched_with_the_next_one() -> None:
    game = Game(accept=CHECK)
    one, two = game.come(1.0, "ann"), game.come(1.0, "bob")
    (match,) = game.engine.tables.proposals
    game.do(Accept(2.0, match, one))
    game.do(Decline(3.0, match, two))
    assert game.engine.view(one).state == "waiting"
    three = game.come(20.0, "cyd")
    (again,) = game.engine.tables.proposals
    assert set(game.engine.tables.proposals[again].tickets) == {one, three}
    assert game.engine.view(one).enqueued_at == 1.0


def test_innocent_is_not_penalised_because_the_other_declined_first() -> None:
    game = Game(accept={**CHECK, "cooldowns": [60.0]})
    one, two = game.come(1.0, "ann"), game.come(1.0, "bob")
    (match,) = game.engine.tables.proposals
    game.do(Decline(2.0, match, two))
    with pytest.raises(MatchmakingError):
        game.do(Decline(2.5, match, one))
    assert [event.player for _, event in game.of(Penalised)] == ["bob"]  # type: ignore[attr-defined]


def test_two_who_fit_are_matched_though_nobody_comes_any_more() -> None:
    rule = {"kind": "spread", "attribute": "rating", "limit": 50.0}
    game = Game(rules=[{**rule, "expand": {"rate": 10.0, "max": 500.0}}])
    one, two = game.come(1.0, "ann", 1500.0), game.come(2.0, "bob", 1700.0)
    game.until(1_000.0)
    # (200 - 50) / 10 after the younger one came: by a timer, not by an arrival.
    assert game.matches() == {one: 17.0, two: 17.0}


def test_second_longest_waiter_is_served_second() -> None:
    rule = {"kind": "spread", "attribute": "rating", "limit": 100.0}
    game = Game(rules=[rule])
    waiting = [game.come(1.0 + n, f"old {n}", 1000.0 + 150.0 * n) for n in range(6)]
    served = []
    for turn in range(6):
        # Whoever comes fits two neighbours: the older of them is served each time.
        game.come(100.0 + turn, f"new {turn}", 1000.0 + 150.0 * turn + 75.0)
        served += [
            ticket for ticket in game.matches() if ticket in waiting and ticket not in served
        ]
    assert served == waiting


@pytest.mark.parametrize("mean", [-2000.0, 6000.0])
def test_players_at_the_tails_are_matched_or_told_why(mean: float) -> None:
    rule = {"kind": "spread", "attribute": "rating", "limit": 100.0}
    game = Game(rules=[{**rule, "expand": {"rate": 5.0, "max": 400.0}}], wait_max=90.0)
    tail = game.come(1.0, "tail", mean)
    for number in range(200):
        game.come(1.0 + number / 2, f"p{number}", 1400.0 + number % 5 * 50.0)
    game.until(200.0)
    assert game.engine.view(tail).state == "expired"
    assert game.engine.view(tail).reason == "deadline"
    again, near = game.come(210.0, "tail", mean), game.come(211.0, "near", mean + 300.0)
    game.until(400.0)
    assert game.engine.view(again).match == game.engine.view(near).match is not None


def test_ids_of_matches_are_new_after_each_restart() -> None:
    game = Game(accept={**CHECK, "again": 0.0})
    for turn in range(6):
        now = 10.0 * turn + 1.0
        game.come(now, f"a{turn}"), game.come(now, f"b{turn}")
        for match, proposal in list(game.engine.tables.proposals.items()):
            for ticket in proposal.tickets[: 1 if turn % 2 else 2]:
                game.do((Decline if turn % 2 else Accept)(now + 1.0, match, ticket))
        game.restarted()
    seen = [event.match.id for _, event in game.of(Proposed)]  # type: ignore[attr-defined]
    assert len(seen) >= 6
    assert len(set(seen)) == len(seen)
    assert game.of(Matched)


def test_double_tap_is_one_ticket_and_nobody_plays_themselves() -> None:
    shard = Shard(Game().engine)
    found: list[object] = []
    new = NewTicket((Player("ann", Rating(1500.0, 80.0)),), ("duel",))
    for key in ("tap one", "tap two"):
        effects = shard.handle(Enqueue(1.0, (new,), key, "body"), "ann")
        effects += shard.acknowledge(shard.engine.tables.sequence)
        found += [each.value[0].id for each in effects if isinstance(each, Answer)]
    assert found == ["s0-1", "s0-1"]
    assert list(shard.engine.tables.waiting) == ["s0-1"]
    assert not shard.engine.tables.matches


@pytest.mark.parametrize("step", [-3600.0, 3600.0])
def test_step_of_the_wall_clock_makes_nobody_an_hour_older(step: float) -> None:
    assert resumed_at(100.0, 1_000.0, 1_000.0 + step) <= 100.0 + PAUSE_MAX
    assert resumed_at(100.0, 1_000.0, 1_000.0 + step) >= 100.0


@pytest.mark.parametrize("number", ["1e308", "-1e308", "1e400", "NaN", "Infinity", "-Infinity"])
def test_rating_that_is_no_number_of_use_is_refused(number: str) -> None:
    body = '{"players":[{"id":"ann","rating":{"mean":%s,"deviation":80}}],"queues":["duel"]}'
    game = Game()
    try:
        made = decode_create((body % number).encode(), batch_max=1)
    except (InvalidRequest, InvalidTicket):
        return
    players = made.players  # type: ignore[union-attr]
    record = game.do(Enqueue(1.0, (NewTicket(players, ("duel",)),)))
    (event,) = record.events
    assert isinstance(event, Refused)
    assert event.code == "invalid_ticket"


def test_negative_zero_is_zero() -> None:
    costs = []
    for zero in (-0.0, 0.0):
        game = Game()
        game.come(1.0, "ann", zero), game.come(2.0, "bob", 0.0)
        (kept,) = game.engine.tables.matches.values()
        costs.append(msgspec.json.encode((kept.match.cost, kept.match.quality)))
    assert costs[0] == costs[1]


def test_each_incident_has_tests_that_exist() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 25
    for row in rows:
        named = NAMED.findall(row)
        assert named, f"no test stands in: {row}"
        for file, test in named:
            source = (ROOT / file).read_text()
            assert re.search(rf"def {test}\(", source), f"{file} has no {test}"
