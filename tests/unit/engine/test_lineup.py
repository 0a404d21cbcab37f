"""Outcomes of matches that were filled: who joined, who left, and who is asked how it ended."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import decode
from evenmatch.engine.snapshot import decode_snapshot, encode_snapshot, restore, take
from evenmatch.model.events import Counted, Reported
from evenmatch.model.inputs import Advance, Finish, Open
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
        monkeypatch.setattr("evenmatch.engine.forgetting.ROSTERS_MOST", 0)
        world.enter(60.0, "z")
        assert not world.engine.tables.rosters
        world.hand_in(Finish(61.0, MATCH))
        assert not any(kept.live for kept in world.engine.tables.matches.values())
        world.told(62.0, MATCH, 1, 2)
        assert means(world, "e") == [1516]
        world.check_recovery()
