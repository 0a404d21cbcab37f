"""The demo's worlds, and the figures that its client comes to."""

import asyncio
import socket
from pathlib import Path

import msgspec
import pytest

from evenmatch.cli import demo_server
from evenmatch.cli.demo import WORLDS
from evenmatch.cli.demo_ledger import Ledger, RegionFigures, Spread, spread
from evenmatch.cli.demo_players import ACCEPT, DECLINE, SHARES, SILENT, Crowd, Party, _Ear, answers
from evenmatch.cli.demo_world import SETTINGS, Guest, ticket_of
from evenmatch.config import load_scenario, parse_server
from evenmatch.model.rating import Rating
from evenmatch.model.ticket import Player
from evenmatch.wire import ItemCreated, TicketState
from evenmatch.wire_live import StreamEvent
from evenmatch.wire_matches import FeedMatch

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def player(name: str, region: str, rating: float) -> Player:
    return Player(id=name, attributes={"region": region, "rating": rating})


def ledger_of(parties: dict[str, tuple[float, tuple[Player, ...]]]) -> Ledger:
    ledger = Ledger("")
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
    ("speed", "seconds", "repair"), [(1.0, 15.0, 10.0), (17_000.0, 51_000.0, 51_000.0)]
)
def test_players_have_three_real_seconds_to_answer_and_at_least_those_of_a_game(
    speed: float, seconds: float, repair: float
) -> None:
    (queue,), _, _ = parse_server(SETTINGS["duel"].server_config(speed))
    assert queue.accept is not None
    assert (queue.accept.seconds, queue.accept.repair) == (seconds, repair)


def test_parties_answer_by_the_shares_and_the_same_every_time() -> None:
    minds = answers(10_000)
    assert minds == answers(10_000)
    for mind, share in SHARES.items():
        # Five standard errors.
        assert minds.count(mind) / 10_000 == pytest.approx(
            share, abs=5 * (share * (1 - share) / 10_000) ** 0.5
        )


def crowd_that_heard(*told: TicketState, mind: str) -> Crowd:
    """Return a crowd of one ticket, t1, that has accepted m1 if it does such a thing."""

    class Server:
        async def accept(self, match: str, ticket: str) -> None:
            assert (match, ticket) == ("m1", "t1")

        decline = accept

    async def hear() -> Crowd:
        crowd = Crowd(Server())  # type: ignore[arg-type]
        ear = _Ear(None)  # type: ignore[arg-type]
        crowd._parties["t1"] = Party(("ada",), mind)
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
    assert not crowd.is_asked(["ada"])


def test_player_who_is_asked_does_not_queue_again_until_that_is_over() -> None:
    assert crowd_that_heard(PROPOSED, mind=ACCEPT).is_asked(["ada"])
    waits = TicketState("t1", "waiting", 4.0)
    crowd = crowd_that_heard(PROPOSED, waits, mind=ACCEPT)
    assert not crowd.is_asked(["ada"])
    assert crowd.failed == {"m1"}
    # What it accepted before is over: it may be silent now.
    assert crowd.left_as_meant("t1", "silent")


def test_acceptance_of_one_match_is_none_of_the_next() -> None:
    elsewhere = TicketState("t1", "proposed", 5.0, match="m2")
    ended = TicketState("t1", "cancelled", 9.0, "silent", "m2")
    crowd = crowd_that_heard(PROPOSED, elsewhere, ended, mind=SILENT)
    crowd._accepted["t1"] = "m1"
    assert crowd.left_as_meant("t1", "silent")
    crowd._accepted["t1"] = "m2"
    assert not crowd.left_as_meant("t1", "silent")


def test_teams_of_the_demo_are_judged_as_in_the_scenario() -> None:
    (queue,), _, _ = parse_server(SETTINGS["3v3"].server_config(1.0))
    (known,) = load_scenario(SCENARIOS / "world_3v3.toml").queues
    own = {"wait_max": known.wait_max, "wait_price": known.wait_price, "accept": known.accept}
    assert msgspec.structs.replace(queue, **own) == known


def test_all_players_of_the_duel_come_unless_a_speed_is_asked_for() -> None:
    guests, pace = SETTINGS["duel"].guests(10.0, None)
    assert len(guests) == 9_690
    assert pace == guests[-1].at / 10.0
    some, asked = SETTINGS["duel"].guests(10.0, 100.0)
    assert asked == 100.0
    assert some == guests[: len(some)]
    assert 0 < len(some) < 200


def test_players_of_3v3_come_sixty_times_as_fast_as_they_would() -> None:
    guests, pace = SETTINGS["3v3"].guests(6.0, None)
    assert pace == 60.0
    assert sum(len(guest.players) for guest in guests) == pytest.approx(1200, abs=160)
    assert {len(guest.players) for guest in guests} == {1, 2, 3}
    assert ticket_of(guests[0], "q").queues == ("q",)


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
        "url", "checks",
    }  # fmt: skip


def test_server_that_does_not_listen_is_not_ready() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert not demo_server._is_ready(f"http://127.0.0.1:{taken.getsockname()[1]}")


def test_match_of_a_ticket_that_nobody_acknowledged_has_no_figures() -> None:
    ledger = ledger_of({"t1": (0.0, (player("a", "japan", 1.0),))})
    ledger.take(match_of((("t1",), ("t9",)), at=3.0, quality=0.5))
    assert ledger.figures(waiting=0, lost=0).wait == Spread(None, None, None)
