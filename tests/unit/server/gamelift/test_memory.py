"""What is remembered of tickets, and for how long."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from evenmatch.engine.records import Record
from evenmatch.engine.state.rows import LiveTicket
from evenmatch.model.events import WITHDRAWN, Dissolved
from evenmatch.model.inputs import Advance
from evenmatch.model.ticket import Player, Ticket
from evenmatch.server.gamelift import memory as memory_module
from evenmatch.server.gamelift.memory import GameLiftMemory
from evenmatch.server.gamelift.shapes import PlayerShape


def row(ticket: str) -> LiveTicket:
    players = (Player(f"player of {ticket}", attributes={"skill": 1.0}),)
    return LiveTicket(Ticket(ticket, 1, 0.0, players, ("q",)), ("q",), 1)


def begun(known: set[str], *live: LiveTicket) -> GameLiftMemory:
    memory = GameLiftMemory()
    tables = SimpleNamespace(knows=lambda ticket: ticket in known)
    memory.began(cast(Any, SimpleNamespace(tables=tables)), live)
    return memory


RECORD = Record(1, Advance(0.0), ())


def test_players_of_own_tickets_are_remembered_and_no_others() -> None:
    memory = begun({"aws:a", "aws:b"}, row("aws:a"), row("s0-1"))
    memory.entered(RECORD, row("aws:b"))
    memory.entered(RECORD, row("s0-2"))
    assert len(memory) == 2
    assert memory.players_of("aws:b") == row("aws:b").ticket.players
    assert memory.players_of("s0-1") is None


def test_tickets_that_the_engine_has_forgotten_are_forgotten() -> None:
    known = {f"aws:{at}" for at in range(10)}
    memory = begun(known)
    for at in range(10):
        memory.entered(RECORD, row(f"aws:{at}"))
    memory.released(RECORD, row("aws:3"))
    assert memory.was_returned("aws:3")
    known.clear()
    for at in range(100, 110):
        known.add(f"aws:{at}")
        memory.entered(RECORD, row(f"aws:{at}"))
    assert memory.players_of("aws:3") is None
    assert not memory.was_returned("aws:3")
    assert len(memory) == 10


def test_other_ticket_that_waits_again_is_not_noted() -> None:
    memory = begun(set())
    memory.released(RECORD, row("s0-1"))
    assert not memory.was_returned("s0-1")


def test_newcomer_whose_match_asks_for_nobody_any_more_is_not_returned_by_others() -> None:
    memory = begun({"aws:a"}, row("aws:a"))
    over = Dissolved("s0-m2", WITHDRAWN, ("aws:a",))
    memory.released(Record(1, Advance(0.0), (over,)), row("aws:a"))
    assert not memory.was_returned("aws:a")
    memory.released(Record(2, Advance(0.0), ()), row("aws:a"))
    assert memory.was_returned("aws:a")


def test_roster_of_an_id_that_is_used_again_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_module, "ROSTER_PLAYERS_MOST", 4)
    memory, pair = GameLiftMemory(), (PlayerShape(player_id="a"), PlayerShape(player_id="b"))
    for _ in range(10):
        memory.keep_roster("again", pair)
    memory.keep_roster("other", pair)
    assert (memory.roster_of("again"), memory.roster_of("other")) == (pair, pair)
    memory.keep_roster("again", pair)
    memory.keep_roster("third", pair)
    assert (memory.roster_of("again"), memory.roster_of("other")) == (pair, ())
