"""Outcomes of matches that were filled: who joined, who left, and who is asked how it ended."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import decode
from evenmatch.engine.state.snapshot import decode_snapshot, encode_snapshot, restore, take
from evenmatch.errors import InvalidOutcome, NotInMatch, OutcomeDiffers
from evenmatch.model.events import Counted, Disputed, Finished, Rated, Reported
from evenmatch.model.inputs import Advance, Finish, Open, Outcome
from evenmatch.model.queue import Queue
from evenmatch.policies.registry import parse_policy
from evenmatch.ratings.periods import rate_period
from tests.unit.engine.test_outcomes import World, rated

FILLED = replace(rated("duel", 2, 2, rating="elo", exclusive_match=True), backfill="manual")
MATCH = "s0-m1"


def filled(queue: Queue = FILLED) -> World:
    """Let `a` leave a match of `a, b` against `c, d`, and `e` take his seat."""
    world = World(queue)
    world.enter(0.0, "a", "b", "c", "d")
    assert world.engine.tables.matches[MATCH].match.players == (("a", "b"), ("c", "d"))
    world.hand_in(Open(1.0, MATCH, 0, ("a",)))
    world.enter(2.0, "e")
    world.until(10.0)
    assert world.engine.tables.rosters[MATCH].players == (("b", "e"), ("c", "d"))
    return world


def finished() -> World:
    """Let such a match end without an outcome."""
    world = filled()
    world.hand_in(Finish(11.0, MATCH))
    assert not world.engine.tables.rosters
    return world


def means(world: World, *players: str) -> list[float]:
    return [round(world.rating(player).mean) for player in players]


def from_journal(world: World) -> Engine:
    """Return the engine that the journal rebuilds."""
    again = Engine(lambda each: parse_policy(each.policy), rate=rate_period)
    for body in world.journal:
        again.apply(decode(body))
    again.resume(world.engine.tables.now)
    return again


def from_snapshot(world: World) -> Engine:
    """Return the engine that goes on from a snapshot."""
    again = Engine(lambda each: parse_policy(each.policy), rate=rate_period)
    memories = restore(again, decode_snapshot(encode_snapshot(take(world.engine))))
    again.resume(world.engine.tables.now, memories)
    return again


class TestAfterTheEnd:
    def test_who_joined_is_rated_as_he_would_be_without_the_finish(self) -> None:
        before, after = filled(), finished()
        for world in (before, after):
            world.told(12.0, MATCH, 1, 2)
        assert means(before, "b", "e", "c", "d") == [1516, 1516, 1484, 1484]
        assert before.engine.tables.ratings == after.engine.tables.ratings
        after.check_recovery()

    def test_who_joined_may_report(self) -> None:
        world = finished()
        (reported,) = world.told(12.0, MATCH, 1, 2, player="e")
        assert isinstance(reported, Reported)

    @pytest.mark.parametrize("rebuilt", [from_journal, from_snapshot])
    def test_who_joined_is_known_after_a_restart(self, rebuilt: Callable[[World], Engine]) -> None:
        world = finished()
        world.engine = rebuilt(world)
        world.engine.step(Advance(world.engine.next_wakeup))
        counted, *_ = world.told(12.0, MATCH, 1, 2)
        assert isinstance(counted, Counted)
        assert counted.result.teams == (("a", "b", "e"), ("c", "d"))
        assert means(world, "e") == [1516]

    def test_who_joined_is_known_when_the_roster_is_forgotten_before(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world = filled()
        monkeypatch.setattr("evenmatch.engine.state.reducers.ROSTERS_MOST", 0)
        world.enter(60.0, "z")
        assert not world.engine.tables.rosters
        world.hand_in(Finish(61.0, MATCH))
        assert not any(kept.live for kept in world.engine.tables.matches.values())
        world.told(62.0, MATCH, 1, 2)
        assert means(world, "e") == [1516]
        world.check_recovery()


class TestTeamsAsTheyPlayNow:
    @pytest.mark.parametrize("made", [filled, finished])
    def test_count_as_ranks_alone_do_with_a_quitter(self, made: Callable[[], World]) -> None:
        world = made()
        counted, *_ = world.told(12.0, MATCH, 1, 2, teams=(("b", "e"), ("c", "d")))
        assert isinstance(counted, Counted)
        assert counted.result.quitters == ("a",)
        assert means(world, "a", "b", "e") == [1484, 1516, 1516]
        everybody = (("d", "c"), ("e", "a", "b"))
        for again in (
            {"ranks": (1, 2)},
            {"ranks": (1, 2), "quitters": ("a",)},
            {"ranks": (1, 2), "teams": (("e", "b"), ("d", "c"))},
            {"ranks": (2, 1), "teams": everybody, "quitters": ("a",)},
        ):
            assert world.hand_in(Outcome(13.0, MATCH, **again)) == ()  # type: ignore[arg-type]
        with pytest.raises(OutcomeDiffers):
            world.told(13.0, MATCH, 2, 1, teams=everybody)
        world.check_recovery()

    def test_let_the_service_clear_who_has_left_by_naming_him(self) -> None:
        world = filled()
        world.told(12.0, MATCH, 1, 2, teams=(("a", "b", "e"), ("c", "d")))
        assert means(world, "a", "b", "e") == [1516, 1516, 1516]

    @pytest.mark.parametrize(
        "teams",
        [(("b",), ("c", "d")), (("a", "b"), ("c", "d")), (("e", "b"), ("a", "c", "d"))],
    )
    def test_hold_everybody_who_plays_in_his_own_team(
        self, teams: tuple[tuple[str, ...], ...]
    ) -> None:
        world = filled()
        with pytest.raises(InvalidOutcome, match="in their own team, but for those who have left"):
            world.told(12.0, MATCH, 1, 2, teams=teams)


class TestPlayersOfAFilledMatch:
    def test_agree_without_who_has_left(self) -> None:
        world = filled()
        for player in "bec":
            world.told(12.0, MATCH, 1, 2, player=player)
        kinds = [type(e) for e in world.told(13.0, MATCH, 1, 2, player="d")]
        assert kinds == [Reported, Counted, Rated, Finished]
        assert means(world, "a", "b", "e", "c") == [1484, 1516, 1516, 1484]
        assert world.engine.tables.busy["default"] == {}
        world.check_recovery()

    def test_agree_though_some_spoke_before_somebody_left_and_another_joined(self) -> None:
        world = World(FILLED)
        world.enter(0.0, "a", "b", "c", "d")
        for player in "ac":
            world.told(1.0, MATCH, 1, 2, player=player)
        world.hand_in(Open(2.0, MATCH, 0, ("b",)))
        world.enter(3.0, "e")
        world.told(4.0, MATCH, 1, 2, player="a")
        world.told(4.0, MATCH, 1, 2, player="d", teams=(("a", "e"), ("c", "d")))
        kinds = [type(e) for e in world.told(5.0, MATCH, 1, 2, player="e", quitters=("b",))]
        assert Counted in kinds
        assert means(world, "a", "b", "e") == [1516, 1484, 1516]

    def test_agree_at_once_when_the_last_who_is_silent_leaves(self) -> None:
        world = World(FILLED)
        world.enter(0.0, "a", "b", "c", "d")
        for player in "acd":
            world.told(1.0, MATCH, 1, 2, player=player)
        events = world.hand_in(Open(2.0, MATCH, 0, ("b",), (0, 0)))
        assert [type(e) for e in events[1:]] == [Counted, Rated, Finished]
        world.check_recovery()

    def test_are_not_gainsaid_by_who_has_left(self) -> None:
        world = World(FILLED)
        world.enter(0.0, "a", "b", "c", "d")
        world.told(1.0, MATCH, 2, 1, player="a")
        world.hand_in(Open(2.0, MATCH, 0, ("a", "b"), (0, 0)))
        assert world.told(2.0, MATCH, 2, 1, player="a") == ()
        with pytest.raises(NotInMatch, match="'b' has left match"):
            world.told(3.0, MATCH, 2, 1, player="b")
        for player in "cd":
            world.told(3.0, MATCH, 2, 1, player=player)
        assert world.state(MATCH) == "counted"
        assert means(world, "a", "b", "c", "d") == [1484, 1484, 1516, 1516]

    def test_cannot_clear_who_has_left(self) -> None:
        world = filled()
        for player in "becd":
            world.told(12.0, MATCH, 1, 2, player=player, teams=(("a", "b", "e"), ("c", "d")))
        assert means(world, "a", "b") == [1484, 1516]

    def test_of_two_teams_are_still_needed_after_ten_minutes(self) -> None:
        world = filled()
        for player in "be":
            world.told(12.0, MATCH, 1, 2, player=player)
        assert Disputed(MATCH) in world.until(612.0)
        world = filled()
        for player in "ed":
            world.told(12.0, MATCH, 1, 2, player=player)
        world.until(612.0)
        assert world.state(MATCH) == "counted"
