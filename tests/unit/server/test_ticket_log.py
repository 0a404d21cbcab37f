"""The log's lines about tickets: each event once, by id, with players, within a limit."""

import io
import json
from typing import Any, cast

import pytest

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.state.rows import EndedTicket
from evenmatch.engine.state.state import Tables
from evenmatch.model.events import (
    Accepted,
    Assigned,
    Cancelled,
    Confirmed,
    Dissolved,
    Event,
    Expired,
    LeftQueue,
    Matched,
    Proposed,
    Repaired,
    Updated,
)
from evenmatch.model.inputs import Advance, Assign, Cancel, Configure, Enqueue, Input
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.server.runtime.recovery import resolve
from evenmatch.server.views.ticket_log import TicketLog, hashed

MATCH = Match("s0-m1", "duel", 2.0, ("s0-1", "s0-2"), (("s0-1",), ("s0-2",)), (("a",), ("b",)))


class Log:
    """A log in memory, whose clock stands still unless it is set."""

    def __init__(self, lines_max: int = 1_000, secret: bytes | None = None) -> None:
        self.file, self.now = io.BytesIO(), 0.0
        self.log = TicketLog(lines_max, file=self.file, clock=lambda: self.now, secret=secret)

    def hear(self, given: Input, *events: Event) -> list[dict[str, Any]]:
        """Return the lines that a record makes."""
        self.log.hear(Record(7, given, events))
        self.log.flush()
        text = self.file.getvalue()
        self.file.truncate(0)
        self.file.seek(0)
        return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Accepted(0, "s0-1", 1), [("s0-1", "created", None)]),
        (Proposed(MATCH, {}), [("s0-1", "proposed", "s0-m1"), ("s0-2", "proposed", "s0-m1")]),
        (Confirmed("s0-m1", "s0-1", ("a",)), [("s0-1", "accepted", "s0-m1")]),
        (
            Repaired(MATCH, ("s0-2",), {}),
            [("s0-1", "repaired", "s0-m1"), ("s0-2", "proposed", "s0-m1")],
        ),
        (Dissolved("s0-m1", "declined", ("s0-1",)), [("s0-1", "waiting", "s0-m1")]),
        (Matched(MATCH), [("s0-1", "matched", "s0-m1"), ("s0-2", "matched", "s0-m1")]),
        (Cancelled("s0-1", "player", "s0-m1"), [("s0-1", "cancelled", "s0-m1")]),
        (Expired("s0-1", "deadline"), [("s0-1", "expired", None)]),
        (LeftQueue("s0-1", "duel"), [("s0-1", "left_queue", None)]),
        (Updated("s0-1"), [("s0-1", "updated", None)]),
    ],
)
def test_each_event_is_a_line_for_each_of_its_tickets(
    event: Event, said: list[tuple[str, str, str | None]]
) -> None:
    lines = Log().hear(Advance(2.5), event)
    assert [(line["ticket"], line["state"], line.get("match")) for line in lines] == said
    assert all((line["event"], line["at"], line["record"]) == ("ticket", 2.5, 7) for line in lines)


def test_life_of_a_ticket_is_found_by_its_id_and_by_its_players() -> None:
    log, engine = Log(), Engine(resolve)
    engine.step(Configure(0.0, (Queue(name="duel", policy="greedy"),)))
    log.log.reset(engine)
    new = (
        NewTicket((Player("ada", Rating(1500.0), {"clan": "secret"}),)),
        NewTicket((Player("bob"),)),
    )
    for given in (Enqueue(1.0, new), Assign(2.0, "s0-m1", {"connection": "10.0.0.1"})):
        log.log.hear(engine.step(given))
    log.log.flush()
    text = log.file.getvalue().decode()
    mine = [json.loads(line) for line in text.splitlines() if '"s0-1"' in line]
    assert [line["state"] for line in mine] == ["created", "matched", "assigned"]
    assert [line.get("match") for line in mine] == [None, "s0-m1", "s0-m1"]
    assert {*mine[0]["players"], *mine[-1]["players"]} == {"ada"}
    for word in ("clan", "secret", "10.0.0.1"):
        assert word not in text


def test_lines_beyond_the_limit_are_left_out_and_counted() -> None:
    log = Log(lines_max=3)
    cancelled = tuple(Cancelled(f"s0-{n}", "player") for n in range(5))
    assert len(log.hear(Cancel(1.0, "s0-0"), *cancelled)) == 3
    log.now = 1.0
    said = log.hear(Cancel(1.0, "s0-9"), Cancelled("s0-9", "player"))
    assert [(line["event"], line.get("count")) for line in said] == [
        ("ticket_lines", 2),
        ("ticket", None),
    ]


def test_assignment_of_a_match_that_is_no_longer_kept_is_no_line() -> None:
    assert Log().hear(Assign(1.0, "s0-m1", {}), Assigned("s0-m1")) == []


class Kept:
    """An engine that knows one ticket."""

    def __init__(self) -> None:
        self.tables = Tables()
        ended = EndedTicket("matched", 1, ("duel",), 0.0, 2.0, 7, None, "s0-m1", ("ada", "bob"))
        self.tables.ended["s0-1"] = ended


@pytest.mark.parametrize(
    ("secret", "players"),
    [
        (None, ["ada", "bob"]),
        (b"a secret of this server", [hashed(name, b"a secret of this server")
                                      for name in ("ada", "bob")]),
    ],
)  # fmt: skip
def test_lines_name_the_players_as_the_settings_say(
    secret: bytes | None, players: list[str]
) -> None:
    log = Log(secret=secret)
    log.log.reset(cast("Engine", Kept()))
    lines = log.hear(Advance(2.0), Matched(MATCH))
    assert lines[0]["players"] == players
    assert "players" not in lines[1], "what is not known is left out"


def test_hashed_players_differ_by_secret() -> None:
    assert hashed("ada", b"one") != hashed("ada", b"two") != "ada"
