"""The view that tells of tickets: what it says where a server is hard to bring to it."""

import json
from typing import Any

from evenmatch.config.gamelift import ConfigurationTable, queue_of_configuration
from evenmatch.engine.engine import Engine
from evenmatch.engine.lifecycle import TicketLifecycle
from evenmatch.model.checks import Place
from evenmatch.model.inputs import (
    Accept,
    Advance,
    Close,
    Configure,
    Decline,
    Enqueue,
    Finish,
    Input,
    Open,
    Register,
)
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.registry import parse_policy
from evenmatch.rules.flexmatch.reader import load_rule_set
from evenmatch.server.gamelift.events import EventSources, GameLiftEvents

RULES = load_rule_set(
    json.dumps(
        {
            "ruleLanguageVersion": "1.0",
            "teams": [
                {"name": "red", "minPlayers": 1, "maxPlayers": 1},
                {"name": "blue", "minPlayers": 1, "maxPlayers": 1},
            ],
        }
    )
)
TARGET = "arn:aws:sns:eu-west-1:1:events"


class World:
    """An engine, and what the target of its one configuration hears."""

    def __init__(self, wait: float | None = None, *, is_told: bool = True, **more: Any) -> None:
        target = TARGET if is_told else ""
        table = ConfigurationTable(
            rule_set="r", request_timeout=600, notification_target=target, **more
        )
        queue = queue_of_configuration("game", table, RULES, Place())
        self.heard: list[dict[str, Any]] = []
        self.view = GameLiftEvents(lambda _, told: self.heard.append(told["detail"]), lambda: 0.0)
        self.view.begin(
            EventSources(
                lambda name: (name, table), lambda at: at, lambda _: RULES, lambda *_: wait
            )
        )
        self.engine = Engine(lambda each: parse_policy(each.policy))
        self._lifecycle = TicketLifecycle([self.view])
        self._lifecycle.reset(self.engine)
        self.hand(Configure(0.0, (queue,)))

    def hand(self, given: Input) -> None:
        while self.engine.next_wakeup < given.now:
            self.hand(Advance(self.engine.next_wakeup))
        record = self.engine.step(given)
        if record.sequence:
            self._lifecycle.hear(record)

    def start(self, now: float, *names: str) -> None:
        for name in names:
            self.hand(Enqueue(now, (NewTicket((Player(name),), ("game",), id=f"aws:{name}"),)))

    def again(self) -> None:
        """Let the view begin anew, as after a restart."""
        self._lifecycle.reset(self.engine)

    @property
    def kinds(self) -> list[str]:
        return [each["type"] for each in self.heard]


def test_expected_wait_is_told_in_milliseconds() -> None:
    for wait, told in ((2.5, 2_500), (0.0, 0), (-1.0, 0), (None, "NOT_AVAILABLE")):
        world = World(wait)
        world.start(1.0, "a")
        assert world.heard[0]["estimatedWaitMillis"] == told


def test_tickets_of_other_protocols_are_not_told_of() -> None:
    world = World()
    world.hand(Enqueue(1.0, (NewTicket((Player("a"),), ("game",)),)))
    world.hand(Enqueue(1.0, (NewTicket((Player("b"),), ("game",)),)))
    assert world.heard == []


def test_nothing_is_made_where_nobody_listens() -> None:
    world = World(is_told=False)
    world.start(1.0, "a", "b")
    assert world.heard == []
    assert not world.view.log.is_wanted


def test_silence_and_rejection_have_different_words() -> None:
    asked = {"acceptance_required": True, "acceptance_timeout": 10}
    for is_rejected, how in ((True, "Rejected"), (False, "TimedOut")):
        world = World(**asked)
        world.start(1.0, "a", "b")
        world.hand(Accept(2.0, "s0-m1", "aws:a"))
        if is_rejected:
            world.hand(Decline(3.0, "s0-m1", "aws:b"))
        world.hand(Advance(min(20.0, world.engine.next_wakeup)))
        while world.engine.next_wakeup <= 20.0:
            world.hand(Advance(world.engine.next_wakeup))
        completed = world.heard[world.kinds.index("AcceptMatchCompleted")]
        assert completed["acceptance"] == how
        assert world.kinds.count("MatchmakingSearching") == 3
        (gone,) = [each for each in world.heard if each["type"] == "MatchmakingCancelled"]
        assert [each["ticketId"] for each in gone["tickets"]] == ["b"]
        said = [each for each in world.heard if each["type"] == "AcceptMatch"]
        assert len(said) == 1 + is_rejected


def test_each_answer_is_told_once_also_after_a_repair() -> None:
    for is_repaired in (False, True):
        world = World(acceptance_required=True, acceptance_timeout=10)
        world.start(1.0, "a", "b")
        world.hand(Accept(2.0, "s0-m1", "aws:a"))
        last = "b"
        if is_repaired:
            world.hand(Decline(3.0, "s0-m1", "aws:b"))
            world.start(4.0, "c")
            last = "c"
        before = len(world.heard)
        world.hand(Accept(5.0, "s0-m1", f"aws:{last}"))
        assert world.kinds[before:] == [
            "AcceptMatch",
            "AcceptMatchCompleted",
            "MatchmakingSucceeded",
        ]


def test_view_that_begins_anew_knows_who_is_asked_and_who_asks() -> None:
    world = World(acceptance_required=True, acceptance_timeout=100)
    world.start(1.0, "a", "b")
    world.hand(Accept(2.0, "s0-m1", "aws:a"))
    world.hand(Register(3.0, "game", ((Player("r"),), ()), "elsewhere", ticket="aws:f"))
    before = len(world.heard)
    world.again()
    assert len(world.heard) == before
    world.hand(Accept(4.0, "s0-m1", "aws:b"))
    answers = {p["playerId"]: p.get("accepted") for p in
               world.heard[before]["gameSessionInfo"]["players"]}  # fmt: skip
    assert answers == {"a": True, "b": True}
    match = world.engine.tables.backfills["aws:f"].match
    world.hand(Close(5.0, match))
    assert world.kinds[-1] == "MatchmakingCancelled"
    assert world.heard[-1]["tickets"][0]["ticketId"] == "f"
    assert world.heard[-1]["tickets"][0]["players"] == [{"playerId": "r"}]


def test_match_that_ends_while_it_asks_fails_its_request() -> None:
    world = World()
    world.start(1.0, "a", "b")
    world.hand(Open(2.0, "s0-m1", 0, ("b",), ticket="aws:f", lease=60.0))
    world.hand(Finish(3.0, "s0-m1"))
    assert world.kinds[-1] == "MatchmakingFailed"
    assert world.heard[-1]["reason"] == "MATCH_OVER"
    assert world.engine.tables.backfills["aws:f"].reason == "match_over"


class TestNewcomers:
    """Players who are asked whether they join a match that runs."""

    def world(self) -> World:
        world = World(acceptance_required=True, acceptance_timeout=10)
        world.hand(Register(1.0, "game", ((Player("r"),), ()), "elsewhere", ticket="aws:f"))
        world.start(2.0, "a")
        return world

    def tickets(self, told: dict[str, Any]) -> list[str]:
        return [each["ticketId"] for each in told["tickets"]]

    def test_are_told_of_as_the_players_of_any_match(self) -> None:
        world = self.world()
        world.hand(Accept(3.0, "s0-m1", "aws:a"))
        asked = world.heard[2:]
        assert [each["type"] for each in asked] == [
            "PotentialMatchCreated",
            "AcceptMatch",
            "AcceptMatchCompleted",
            "MatchmakingSucceeded",
        ]
        assert [self.tickets(each) for each in asked] == [["f", "a"]] * 4
        assert asked[0]["acceptanceRequired"] is True
        assert asked[0]["acceptanceTimeout"] == 10
        players = {p["playerId"]: p for p in asked[1]["gameSessionInfo"]["players"]}
        assert players["a"] == {"playerId": "a", "team": "blue", "accepted": True}
        assert players["r"] == {"playerId": "r", "team": "red"}
        assert asked[2]["acceptance"] == "Accepted"

    def test_who_decline_let_the_request_search_on(self) -> None:
        world = self.world()
        world.hand(Decline(3.0, "s0-m1", "aws:a"))
        assert world.kinds[3:] == [
            "AcceptMatch",
            "MatchmakingCancelled",
            "AcceptMatchCompleted",
            "MatchmakingSearching",
        ]
        assert world.heard[-2]["acceptance"] == "Rejected"
        assert self.tickets(world.heard[-1]) == ["f"]

    def test_search_on_when_the_request_is_stopped(self) -> None:
        world = self.world()
        world.hand(Close(3.0, world.engine.tables.backfills["aws:f"].match))
        assert world.kinds[3:] == [
            "AcceptMatchCompleted",
            "MatchmakingSearching",
            "MatchmakingCancelled",
        ]
        assert self.tickets(world.heard[4]) == ["a"]
        assert self.tickets(world.heard[5]) == ["f"]
