"""The demo's worlds, and the figures that its client comes to."""

import asyncio
import io
import socket
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from evenmatch.cli.demo import WORLDS
from evenmatch.config.files import load_scenario, parse_server
from evenmatch.demo import server as demo_server
from evenmatch.demo.ledger import (
    NONE,
    DemoFigures,
    FigureSpread,
    RegionFigures,
    TicketLedger,
    spread,
)
from evenmatch.demo.players import ConnectedPlayers, Party, _MatchListener
from evenmatch.demo.run import note_of
from evenmatch.demo.view import print_summary
from evenmatch.demo.world import SETTINGS, Guest, busiest, ticket_of
from evenmatch.errors import ConfigError, MatchmakingError
from evenmatch.model.scenario import Answers
from evenmatch.model.ticket import Player, Rating
from evenmatch.simulation.ready_check_behaviour import ACCEPT, DECLINE, SILENT, PlayerAnswer
from evenmatch.wire.live import StreamEvent
from evenmatch.wire.matches import FeedMatch
from evenmatch.wire.tickets import ItemCreated, TicketState

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def player(name: str, region: str, rating: float) -> Player:
    return Player(id=name, attributes={"region": region, "rating": rating})


def ledger_of(parties: dict[str, tuple[float, tuple[Player, ...]]]) -> TicketLedger:
    ledger = TicketLedger("")
    for ticket, (at, players) in parties.items():
        created = ItemCreated(201, ticket, "waiting", ("q",), at)
        ledger.acknowledge(Guest(at, players), created)
    return ledger


def match_of(teams: tuple[tuple[str, ...], ...], at: float, quality: float | None) -> FeedMatch:
    tickets = tuple(ticket for team in teams for ticket in team)
    return FeedMatch("m", "q", at, tickets, teams, 0, 1.0, quality, teams)


def test_every_world_has_its_setting() -> None:
    assert tuple(SETTINGS) == WORLDS


@pytest.mark.parametrize("world", WORLDS)
def test_server_of_a_world_has_its_queue_and_clock(world: str) -> None:
    (queue,), settings, _ = parse_server(SETTINGS[world].server_config(2.5))
    assert queue.name == SETTINGS[world].queue
    assert settings.clock_speed == 2.5
    # A ticket that the server has forgotten was matched: there is no other way to end.
    assert queue.wait_max is None


@pytest.mark.parametrize(
    ("speed", "seconds", "repair"), [(1.0, 15.0, 10.0), (25.0, 15.0, 12.5), (1_000.0, 500.0, 500.0)]
)
def test_players_have_half_a_real_second_to_answer_and_at_least_those_of_a_game(
    speed: float, seconds: float, repair: float
) -> None:
    (queue,), _, _ = parse_server(SETTINGS["duel"].server_config(speed))
    assert queue.accept is not None
    assert (queue.accept.seconds, queue.accept.repair) == (seconds, repair)


MINDS = {
    ACCEPT: Answers(),
    DECLINE: Answers(decline=1.0),
    SILENT: Answers(silent=1.0),
}


def crowd_that_heard(
    *told: TicketState, mind: str, party: tuple[str, ...] = ("ada",)
) -> ConnectedPlayers:
    """Return a crowd of one ticket, t1, that has accepted m1 if it does such a thing."""

    class Server:
        async def accept(self, match: str, ticket: str, *players: str) -> None:
            assert (match, ticket) == ("m1", "t1")
            assert set(players) <= set(party)

        decline = accept

    async def hear() -> ConnectedPlayers:
        crowd = ConnectedPlayers(Server(), MINDS[mind], speed=1.0)  # type: ignore[arg-type]
        ear = _MatchListener(None)  # type: ignore[arg-type]
        crowd._parties["t1"] = Party(party, 0)
        for state in told:
            crowd._hear(StreamEvent(state.state, 1, state), ear)
            await asyncio.gather(*crowd._speaking)
        crowd.check()
        return crowd

    return asyncio.run(hear())


PROPOSED = TicketState("t1", "proposed", 3.0, match="m1")


@pytest.mark.parametrize(
    ("mind", "reason", "is_right"),
    [
        (DECLINE, "declined", True),
        (SILENT, "silent", True),
        (ACCEPT, "silent", False),
        (ACCEPT, "declined", False),
        (SILENT, "declined", False),
        (DECLINE, "player", False),
    ],
)
def test_ticket_that_ended_by_a_check_is_lost_unless_its_party_wanted_that(
    mind: str, reason: str, is_right: bool
) -> None:
    ended = TicketState("t1", "cancelled", 4.0, reason, "m1")
    crowd = crowd_that_heard(PROPOSED, ended, mind=mind)
    assert crowd.left_as_meant("t1", reason) is is_right
    assert (crowd.proposed, crowd.failed) == ({"m1"}, {"m1"})
    assert crowd.asked_after == {"t1": 3.0}


def test_match_that_loses_another_party_is_no_longer_answered_for() -> None:
    waits = TicketState("t1", "waiting", 4.0)
    crowd = crowd_that_heard(PROPOSED, waits, mind=ACCEPT)
    assert crowd.failed == {"m1"}
    # What it accepted before is over: it may be silent now.
    assert crowd.left_as_meant("t1", "silent")


def test_acceptance_of_one_match_is_none_of_the_next() -> None:
    elsewhere = TicketState("t1", "proposed", 5.0, match="m2")
    ended = TicketState("t1", "cancelled", 9.0, "silent", "m2")
    crowd = crowd_that_heard(PROPOSED, elsewhere, ended, mind=SILENT)
    crowd._accepted.add(("t1", "m1", "ada"))
    assert crowd.left_as_meant("t1", "silent")
    crowd._accepted.add(("t1", "m2", "ada"))
    assert not crowd.left_as_meant("t1", "silent")


def test_every_player_of_a_party_answers_and_all_must_have_accepted() -> None:
    party = ("ada", "bob", "cyd")
    crowd = crowd_that_heard(PROPOSED, mind=ACCEPT, party=party)
    assert crowd._accepted == {("t1", "m1", each) for each in party}
    assert not crowd.left_as_meant("t1", "silent")
    crowd._accepted.discard(("t1", "m1", "bob"))
    assert crowd.left_as_meant("t1", "silent")


def test_party_with_one_who_declines_has_declined(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [PlayerAnswer(SILENT, 0.0), PlayerAnswer(DECLINE, 0.0), PlayerAnswer(ACCEPT, 0.0)]
    monkeypatch.setattr("evenmatch.demo.players.answers_of", lambda *_: said)
    ended = TicketState("t1", "cancelled", 4.0, "declined", "m1")
    crowd = crowd_that_heard(PROPOSED, ended, mind=ACCEPT, party=("ada", "bob", "cyd"))
    assert crowd.left_as_meant("t1", "declined")
    assert crowd.count(DECLINE, "declined") == 1
    assert crowd.count(SILENT, "declined") == 0


def test_teams_of_the_demo_are_judged_as_in_the_scenario() -> None:
    (queue,), _, _ = parse_server(SETTINGS["3v3"].server_config(1.0))
    (known,) = load_scenario(SCENARIOS / "world_3v3.toml").queues
    own = {
        "wait_max": known.wait_max,
        "wait_price": known.wait_price,
        "target_wait": known.target_wait,
        "accept": known.accept,
    }
    assert msgspec.structs.replace(queue, **own) == known


def test_heroes_of_the_demo_are_those_of_the_scenario() -> None:
    (queue,), _, _ = parse_server(SETTINGS["5v5"].server_config(1.0))
    known = load_scenario(SCENARIOS / "hero_5v5.toml")
    (hero,) = known.queues
    own = {"wait_max": hero.wait_max, "wait_price": hero.wait_price, "accept": hero.accept}
    assert msgspec.structs.replace(queue, **own) == hero
    assert known.arrivals is not None
    assert SETTINGS["5v5"].arrivals.world == known.arrivals.world
    assert SETTINGS["5v5"].answers == known.answers


def test_busiest_five_hours_of_the_duel_come_at_the_default_speed() -> None:
    plan = SETTINGS["duel"].plan(None, None, None)
    assert (len(plan.guests), plan.speed, plan.seconds) == (2_532, 100.0, 180.0)
    assert plan.guests[0].at == 0.0
    assert plan.guests[-1].at < 5 * 3600.0


def test_speed_follows_from_hours_and_seconds() -> None:
    duel = SETTINGS["duel"]
    plan = duel.plan(20.0, None, 1.0)
    assert (len(plan.guests), plan.speed, plan.seconds) == (604, 3600.0 / 15.0, 15.0)
    every = duel.plan(20.0, None, float("inf"))
    assert len(every.guests) == 9_690
    assert every.speed == every.guests[-1].at / 15.0
    slow = duel.plan(20.0, 10.0, None)
    assert (slow.speed, slow.seconds) == (10.0, 15.0)
    assert slow.guests == duel.plan(None, None, None).guests[: len(slow.guests)]
    assert 0 < len(slow.guests) < 60


def test_busiest_part_begins_and_ends_where_most_come() -> None:
    at = [0.0, 1.0, 10.0, 11.0, 12.0, 20.0, 30.0]
    guests = [Guest(each, ()) for each in at]
    assert busiest(guests, 3.0) == ([Guest(each, ()) for each in (0.0, 1.0, 2.0)], 3.0)
    # The end does not belong to it; of equals the first counts.
    assert [guest.at for guest in busiest(guests, 2.0)[0]] == [0.0, 1.0]
    assert busiest(guests, 30.0) == (guests, 30.0)


@pytest.mark.parametrize(
    ("world", "seconds", "speed", "hours", "advice"),
    [
        ("duel", 3.0, None, float("inf"), "--seconds more, or --hours less"),
        ("duel", None, 30_000.0, None, "--speed less"),
        ("3v3", 3.0, 22_000.0, None, "--speed less"),
    ],
)
def test_a_clock_by_which_matches_are_forgotten_unread_is_refused(
    world: str, seconds: float | None, speed: float | None, hours: float | None, advice: str
) -> None:
    told = "times as fast as yours, and the server, which keeps"
    with pytest.raises(ConfigError, match=f"{told}.*the most is 21,600: make {advice}$"):
        SETTINGS[world].plan(seconds, speed, hours)


def test_worlds_without_end_have_no_busiest_hours() -> None:
    with pytest.raises(ConfigError, match="--hours goes with --world duel"):
        SETTINGS["3v3"].plan(None, None, 5.0)


def test_players_of_3v3_come_thirty_times_as_fast_as_they_would() -> None:
    plan = SETTINGS["3v3"].plan(8.0, None, None)
    assert (plan.speed, plan.seconds) == (30.0, 6.0)
    assert sum(len(guest.players) for guest in plan.guests) == pytest.approx(600, abs=110)
    assert {len(guest.players) for guest in plan.guests} == {1, 2, 3}
    assert ticket_of(plan.guests[0], "q").queues == ("q",)


def test_delay_is_named_where_it_matters() -> None:
    assert note_of(100.0, 2.0) is msgspec.UNSET
    assert note_of(100.0, None) is msgspec.UNSET
    note = note_of(1_200.0, 11.34)
    assert isinstance(note, str)
    assert note.startswith("at 1,200 times real time a message to the server and back takes 11.3 s")
    assert "players have 600 s to answer" in note


def test_figures_count_players_and_split_them_by_region() -> None:
    ledger = ledger_of({
        "t1": (0.0, (player("a", "oceania", 10.0), player("b", "japan", 30.0))),
        "t2": (4.0, (player("c", "oceania", 50.0),)),
        "t3": (5.0, (player("d", "oceania", 50.0),)),
        "t4": (6.0, (player("e", "japan", 1.0),)),
    })  # fmt: skip
    ledger.take(match_of((("t1",), ("t2", "t3")), at=10.0, quality=0.5))
    figures = ledger.figures(waiting=1, lost=0)
    assert (figures.tickets, figures.players, figures.matched) == (4, 5, 3)
    assert ledger.waits == [10.0, 10.0, 6.0, 5.0]
    assert figures.rating_gap == spread([30.0])
    assert figures.quality == spread([0.5])
    assert figures.regions == {
        "japan": RegionFigures(1, spread([10.0]), spread([0.5])),
        "oceania": RegionFigures(3, spread([10.0, 6.0, 5.0]), spread([0.5] * 3)),
    }


def test_figures_of_players_without_regions_are_those_of_a_duel() -> None:
    ledger = ledger_of({
        "t1": (0.0, (Player(id="a", rating=Rating(10.0)),)),
        "t2": (1.0, (Player(id="b", rating=Rating(14.0)),)),
    })  # fmt: skip
    ledger.take(match_of((("t1",), ("t2",)), at=3.0, quality=None))
    figures = ledger.figures(waiting=0, lost=0)
    assert figures.rating_gap == spread([4.0])
    assert set(msgspec.to_builtins(figures)) == {
        "tickets", "matched", "waiting", "merged", "lost", "duplicated", "wait", "rating_gap",
        "url", "checks", "speed", "round_trip",
    }  # fmt: skip


def test_server_that_does_not_listen_is_not_ready() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert demo_server._why_not_ready(f"http://127.0.0.1:{taken.getsockname()[1]}") == ""


class _Running:
    """A process that never ends."""

    def poll(self) -> None:
        return None


def test_people_hear_what_the_server_is_busy_with(monkeypatch: pytest.MonkeyPatch) -> None:
    coming = ["", "compiling, 1 of 9", "compiling, 1 of 9", "compiling, 8 of 9", None]
    clock = iter(range(0, 1_000, 100))
    monkeypatch.setattr(demo_server, "_why_not_ready", lambda _: coming.pop(0))
    monkeypatch.setattr(demo_server.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(demo_server, "ASK_EVERY", 0.0)
    said: list[str] = []
    demo_server._wait_until_ready(_Running(), "http://here", said.append)  # type: ignore[arg-type]
    assert said == ["compiling, 1 of 9", "compiling, 1 of 9", "compiling, 8 of 9"]


def test_server_that_says_nothing_new_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1_000, 100))
    monkeypatch.setattr(demo_server, "_why_not_ready", lambda _: "compiling, 1 of 9")
    monkeypatch.setattr(demo_server.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(demo_server, "ASK_EVERY", 0.0)
    with pytest.raises(MatchmakingError, match="did not become ready: compiling, 1 of 9"):
        demo_server._wait_until_ready(_Running(), "http://here", print)  # type: ignore[arg-type]


def test_match_of_a_ticket_that_nobody_acknowledged_has_no_figures() -> None:
    ledger = ledger_of({"t1": (0.0, (player("a", "japan", 1.0),))})
    ledger.take(match_of((("t1",), ("t9",)), at=3.0, quality=0.5))
    assert ledger.figures(waiting=0, lost=0).wait == FigureSpread(None, None, None)


def test_summary_says_that_teams_are_not_simulated() -> None:
    told = {}
    for quality in (msgspec.UNSET, spread([0.9])):
        figures = DemoFigures(
            4, 4, 0, 0, 0, 0, spread([10.0]), spread([5.0]), "here", NONE, quality=quality
        )
        console = Console(width=120, record=True, quiet=False, file=io.StringIO())
        print_summary(console, figures)
        told[quality is msgspec.UNSET] = console.export_text()
    assert "not run for teams" in told[False]
    assert "simulated" not in told[True]
