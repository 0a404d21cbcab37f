"""Outcomes: which count, when ratings change, and what a journal rebuilds of it."""

from typing import Any

import msgspec
import pytest

from evenmatch.engine.engine import Engine
from evenmatch.engine.outcomes import reports as module
from evenmatch.engine.records import decode, encode
from evenmatch.engine.state import stored_ratings as stored
from evenmatch.engine.state.snapshot import (
    decode_snapshot,
    encode_snapshot,
    restore,
    state_hash,
    take,
)
from evenmatch.errors import (
    ConfigError,
    NotInMatch,
    NotMade,
    OutcomeDiffers,
    OutcomeDisputed,
    Overloaded,
    TooLate,
    UnknownMatch,
)
from evenmatch.model.events import Counted, Disputed, Event, Finished, PeriodEnded, Rated, Refused
from evenmatch.model.inputs import Advance, Cancel, Configure, Enqueue, Finish, Input, Outcome, Void
from evenmatch.model.match import AgedRating
from evenmatch.model.queue import Queue, ReadyCheck
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.policies.registry import parse_policy
from evenmatch.ratings.periods import rate_period
from evenmatch.testing import new_ticket, queue, rule

DAY = 86_400.0


def rated(name: str = "duel", *shape: int, rating: str = "glicko2", **more: Any) -> Queue:
    later = {key: more.pop(key) for key in ("rating_period", "ladder", "accept") if key in more}
    return msgspec.structs.replace(queue(name, *shape, **more), rating=rating, **later)


class World:
    """An engine, its journal as bytes, and short words for what people do."""

    def __init__(self, *queues: Queue) -> None:
        self.engine = Engine(lambda each: parse_policy(each.policy), rate=rate_period)
        self.journal: list[bytes] = []
        self.hand_in(Configure(0.0, queues or (rated(),)))

    def hand_in(self, given: Input) -> tuple[Event, ...]:
        """Hand an input in, after everything that was due before."""
        while self.engine.next_wakeup < given.now:
            self._step(Advance(self.engine.next_wakeup))
        return self._step(given)

    def until(self, at: float) -> list[Event]:
        """Let everything happen that is due by an instant."""
        found: list[Event] = []
        while self.engine.next_wakeup <= at:
            found += self._step(Advance(self.engine.next_wakeup))
        return found

    def _step(self, given: Input) -> tuple[Event, ...]:
        record = self.engine.step(given)
        self.engine.tables._check()
        if record.sequence:
            self.journal.append(encode(record))
        return record.events

    def enter(self, at: float, *names: str, queue_name: str = "duel") -> str:
        """Let players ask for a match, each with a ticket; return the newest match."""
        tickets = tuple(new_ticket(name, Player(name), queues=(queue_name,)) for name in names)
        for event in self.hand_in(Enqueue(at, tickets)):
            assert not isinstance(event, Refused), event
        return next(reversed(self.engine.tables.matches), "")

    def told(self, at: float, match: str, *ranks: float, **more: Any) -> tuple[Event, ...]:
        return self.hand_in(Outcome(at, match, ranks, **more))

    def duel(self, at: float, winner: str, loser: str) -> None:
        match = self.enter(at, winner, loser)
        self.told(at, match, 1, 2, teams=((winner,), (loser,)))

    def rating(self, player: str, ladder: str = "default") -> Rating:
        return self.engine.tables.ratings[ladder][player].rating

    def state(self, match: str) -> str | None:
        told = self.engine.tables.matches[match].outcome
        return None if told is None else told.state

    def check_recovery(self) -> None:
        """Assert that journal and snapshot rebuild the tables, asking nobody (I19)."""
        again = Engine(lambda _: pytest.fail("asked for a policy"))
        for body in self.journal:
            again.apply(decode(body))
        again.tables.now = self.engine.tables.now
        assert state_hash(again) == state_hash(self.engine)
        other = Engine(lambda _: pytest.fail("asked for a policy"))
        restore(other, decode_snapshot(encode_snapshot(take(self.engine))))
        assert state_hash(other) == state_hash(self.engine)
        for name, ladder in self.engine.tables.ratings.items():
            assert list(again.tables.ratings[name]) == list(ladder)


class TestServiceReports:
    def test_outcome_updates_ratings_by_the_system_of_the_queue(self) -> None:
        world = World(rated(rating="glicko2:tau=0.3"))
        match = world.enter(0.0, "a", "b")

        counted, rated_event = world.told(1.0, match, 2, 1)

        assert isinstance(counted, Counted)
        assert isinstance(rated_event, Rated)
        known = {"a": AgedRating(), "b": AgedRating()}
        expected = rate_period("glicko2:tau=0.3", known, (counted.result,))
        assert rated_event.ratings == expected
        assert world.rating("b").mean > 1500.0 > world.rating("a").mean
        world.check_recovery()

    def test_same_outcome_again_changes_nothing_and_another_is_refused(self) -> None:
        world = World()
        match = world.enter(0.0, "a", "b")
        world.told(1.0, match, 1, 2)
        before = state_hash(world.engine)

        assert world.told(2.0, match, 10, 20) == ()
        with pytest.raises(OutcomeDiffers, match="already has another outcome") as refused:
            world.told(2.0, match, 2, 1)
        assert refused.value.match == match
        world.engine.tables.now = 1.0
        assert state_hash(world.engine) == before

    def test_outcome_lets_the_players_of_a_live_match_queue_again(self) -> None:
        world = World(rated(exclusive_match=True))
        match = world.enter(0.0, "a", "b")

        *_, finished = world.told(1.0, match, 1, 1)

        assert finished == Finished(match, "outcome")
        assert world.enter(2.0, "a", "b") != match
        world.check_recovery()

    def test_outcome_may_follow_the_end_of_the_match(self) -> None:
        world = World(rated(exclusive_match=True))
        match = world.enter(0.0, "a", "b")
        world.hand_in(Finish(1.0, match))

        kinds = [type(event) for event in world.told(2.0, match, 1, 2)]

        assert kinds == [Counted, Rated]

    def test_match_with_bots_counts_and_changes_no_rating(self) -> None:
        world = World(rated(wait_max=5.0, on_deadline="bots"))
        world.enter(0.0, "a")
        world.until(5.0)

        (counted,) = world.told(6.0, "s0-m1", 1, 2)

        assert isinstance(counted, Counted)
        assert world.engine.tables.counters.rated == 0

    def test_queue_without_a_rating_system_counts_outcomes_too(self) -> None:
        world = World(queue("duel", exclusive_match=True))
        match = world.enter(0.0, "a", "b")

        assert [type(event) for event in world.told(1.0, match, 1, 2)] == [Counted, Finished]
        assert world.engine.tables.ratings == {}

    def test_unknown_and_proposed_matches_have_no_outcome(self) -> None:
        world = World(rated(accept=ReadyCheck()))
        world.enter(0.0, "a", "b")

        with pytest.raises(NotMade):
            world.told(1.0, "s0-m1", 1, 2)
        with pytest.raises(UnknownMatch):
            world.told(1.0, "s0-m9", 1, 2)

    def test_void_match_has_no_outcome_and_changes_no_rating(self) -> None:
        world = World(msgspec.structs.replace(rated(), backfill="manual"))
        match = world.enter(0.0, "a", "b")
        world.hand_in(Void(1.0, match, "no server"))
        before = dict(world.engine.tables.ratings["default"])

        with pytest.raises(TooLate, match="called off"):
            world.told(2.0, match, 1, 2)
        with pytest.raises(TooLate, match="called off"):
            world.told(2.0, match, 1, 2, player="a")
        assert world.state(match) is None
        assert world.engine.tables.ratings["default"] == before

    def test_reports_on_a_match_are_not_judged_once_it_is_void(self) -> None:
        world = World(msgspec.structs.replace(rated("duel", 2, 2), backfill="manual"))
        match = world.enter(0.0, "a", "b", "c", "d")
        teams = world.engine.tables.matches[match].match.players
        world.told(1.0, match, 1, 2, player=teams[0][0])
        world.told(2.0, match, 1, 2, player=teams[1][0])
        world.hand_in(Void(3.0, match, "no server"))

        assert not [e for e in world.until(700.0) if isinstance(e, Counted | Disputed)]
        world.engine.resume(world.engine.tables.now)
        assert not [e for e in world.until(1500.0) if isinstance(e, Counted | Disputed)]


class TestPlayerReports:
    def test_outcome_counts_as_soon_as_all_players_agree(self) -> None:
        world = World(rated(exclusive_match=True))
        match = world.enter(0.0, "a", "b")

        world.told(1.0, match, 1, 2, player="a")
        assert world.state(match) == "reported"
        kinds = [type(event) for event in world.told(9.0, match, 1, 2, player="b")]

        assert kinds[1:] == [Counted, Rated, Finished]
        assert world.state(match) == "counted"
        world.check_recovery()

    def test_match_is_live_for_its_players_until_the_reports_are_judged(self) -> None:
        world = World(rated(exclusive_match=True))
        match = world.enter(0.0, "a", "b")
        world.told(1.0, match, 2, 1, player="a")

        (refused,) = world.hand_in(Enqueue(2.0, (new_ticket("a", Player("a")),)))
        assert isinstance(refused, Refused)
        assert (refused.code, refused.match) == ("already_waiting", match)
        world.until(601.0)
        assert world.state(match) == "disputed"
        assert world.engine.tables.busy["default"] == {}

    def test_two_of_different_teams_are_enough_after_ten_minutes(self) -> None:
        world = World(rated("duel", 2, 2))
        match = world.enter(0.0, "a", "b", "c", "d")
        teams = world.engine.tables.matches[match].match.players
        world.told(1.0, match, 1, 2, player=teams[0][0])
        world.told(2.0, match, 1, 2, player=teams[1][1])

        assert world.until(600.9) == []
        kinds = [type(event) for event in world.until(601.0)]

        assert kinds == [Counted, Rated]
        world.check_recovery()

    def test_one_team_alone_cannot_decide(self) -> None:
        world = World(rated("duel", 2, 2))
        match = world.enter(0.0, "a", "b", "c", "d")
        for player in world.engine.tables.matches[match].match.players[0]:
            world.told(1.0, match, 1, 2, player=player)

        assert world.until(601.0) == [Disputed(match)]
        assert world.engine.tables.counters.rated == 0

    def test_players_who_differ_are_disputed_until_the_service_decides(self) -> None:
        world = World()
        match = world.enter(0.0, "a", "b")
        world.told(1.0, match, 1, 2, player="a")
        world.told(1.0, match, 2, 1, player="b")

        assert world.until(601.0) == [Disputed(match)]
        assert world.engine.tables.ratings["default"].keys() == {"a", "b"}
        assert world.engine.tables.counters.rated == 0
        assert world.told(700.0, match, 1, 2, player="a") == ()
        world.check_recovery()
        assert [type(event) for event in world.told(800.0, match, 1, 2)] == [Counted, Rated]
        with pytest.raises(OutcomeDiffers):
            world.told(900.0, match, 2, 1, player="b")
        world.check_recovery()

    def test_service_overrides_reports_that_wait(self) -> None:
        world = World()
        match = world.enter(0.0, "a", "b")
        world.told(1.0, match, 1, 2, player="a")

        world.told(2.0, match, 2, 1)

        assert world.state(match) == "counted"
        assert world.until(700.0) == []

    def test_player_says_it_once_and_only_of_his_own_match(self) -> None:
        world = World(rated("duel", 3, 1))
        match = world.enter(0.0, "a", "b", "c", "d")
        world.told(1.0, match, 1, 2, player="a")

        assert world.told(2.0, match, 1, 2, player="a") == ()
        with pytest.raises(OutcomeDiffers, match="has already reported another outcome"):
            world.told(2.0, match, 2, 1, player="a")
        with pytest.raises(NotInMatch):
            world.told(2.0, match, 1, 2, player="z")
        world.until(601.0)
        with pytest.raises(OutcomeDisputed):
            world.told(602.0, match, 1, 2, player="b")

    def test_reports_are_judged_after_a_restart(self) -> None:
        world = World()
        match = world.enter(0.0, "a", "b")
        world.told(1.0, match, 1, 2, player="a")
        engine = Engine(lambda each: parse_policy(each.policy), rate=rate_period)
        for body in world.journal:
            engine.apply(decode(body))
        engine.resume(2.0)

        engine.step(Advance(2.0))

        assert engine.next_wakeup == 601.0
        assert engine.step(Advance(601.0)).events == (Disputed(match),)


class TestTicketsGetStoredRatings:
    def test_player_without_a_rating_gets_the_stored_one(self) -> None:
        world = World()
        world.duel(0.0, "a", "b")

        world.enter(2.0, "a")

        (row,) = world.engine.tables.waiting.values()
        assert row.ticket.players[0].rating == world.rating("a")
        world.check_recovery()

    def test_newcomer_gets_the_rating_of_the_system_even_where_a_rule_asks_for_one(self) -> None:
        world = World(rated(rules=(rule(limit=100),)))

        match = world.enter(0.0, "a", "b")

        assert match == "s0-m1"
        assert world.rating("a") == Rating(1500.0, 350.0, 0.06)

    def test_rating_of_the_caller_stays_and_is_stored_only_where_none_is(self) -> None:
        world = World()
        given = Rating(1800.0, 60.0)
        world.hand_in(
            Enqueue(0.0, (NewTicket((Player("a", given),)), new_ticket("b", Player("b"))))
        )
        assert world.rating("a") == given

        world.told(1.0, "s0-m1", 1, 2)
        world.hand_in(Enqueue(2.0, (NewTicket((Player("a", given),)),)))

        (row,) = world.engine.tables.waiting.values()
        assert row.ticket.players[0].rating == given
        world.enter(3.0, "c")
        assert 1800.0 < world.rating("a").mean < 1820.0

    def test_rating_that_no_system_could_go_on_from_is_not_stored(self) -> None:
        world = World()
        wild = NewTicket((Player("a", Rating(1e12, 60.0)),))
        world.hand_in(Enqueue(0.0, (wild, new_ticket("b", Player("b")))))

        world.told(1.0, "s0-m1", 1, 2)

        assert 1500.0 < world.rating("a").mean < 2000.0

    def test_attribute_of_that_name_counts_as_a_rating(self) -> None:
        world = World(rated(rules=(rule(limit=100),)))
        own = new_ticket("a", Player("a", attributes={"rating": 900.0}))
        world.hand_in(Enqueue(0.0, (own,)))

        (row,) = world.engine.tables.waiting.values()
        assert row.ticket.players[0].rating is None

    def test_queues_of_one_ladder_share_and_others_do_not(self) -> None:
        world = World(rated("duel"), queue("calm"), rated("blitz", rating="elo", ladder="blitz"))
        world.duel(0.0, "a", "b")

        for name, expected in (("calm", world.rating("a")), ("blitz", Rating(1500.0))):
            world.enter(1.0, "a", queue_name=name)
            (row,) = world.engine.tables.waiting.values()
            assert row.ticket.players[0].rating == expected
            world.hand_in(Cancel(1.0, row.ticket.id))

    def test_longest_inactive_are_forgotten_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(stored, "RATED_MOST", 4)
        monkeypatch.setattr(stored, "SURPLUS", 2)
        world = World()
        for at, names in enumerate(("ab", "cd", "ab", "ef")):
            world.duel(float(at), *names)

        assert list(world.engine.tables.ratings["default"]) == ["a", "b", "e", "f"]
        world.check_recovery()


class TestRatingPeriods:
    def test_outcomes_of_a_period_are_rated_together_at_its_end(self) -> None:
        world = World(rated(rating_period=DAY))
        for at, (winner, loser) in enumerate(("ab", "ac", "cb")):
            world.duel(100.0 + at, winner, loser)
        assert world.engine.tables.counters.rated == 0
        assert world.engine.next_wakeup == DAY
        world.check_recovery()
        results = tuple(world.engine.tables.periods["default"].results.values())

        ended, event = world.until(DAY)

        assert isinstance(ended, PeriodEnded)
        assert isinstance(event, Rated)
        expected = rate_period("glicko2", {name: AgedRating() for name in "abc"}, results)
        assert event.ratings == expected
        assert world.engine.tables.closing == {}
        world.check_recovery()

    def test_large_period_is_rated_in_slices_that_give_the_same(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = [f"p{number}" for number in range(12)]
        whole, parts = World(rated(rating_period=60.0)), World(rated(rating_period=60.0))
        for world in (whole, parts):
            for period in range(3):
                for at, name in enumerate(names[1:]):
                    world.duel(60.0 * period + 5.0 + at, names[at // 2], name)
                if world is parts:
                    monkeypatch.setattr(module, "SLICE_SEATS", 5)
                events = [e for e in world.until(60.0 * period + 65.0) if isinstance(e, Rated)]
                monkeypatch.undo()
                assert (len(events) == 1) == (world is whole)
                world.check_recovery()

        for name in names:
            assert parts.rating(name).mean == pytest.approx(whole.rating(name).mean, abs=1e-9)
            assert parts.rating(name).deviation == pytest.approx(whole.rating(name).deviation)
        assert parts.engine.tables.closing == {}

    def test_run_goes_on_in_the_middle_of_the_slices(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "SLICE_SEATS", 2)
        world = World(rated(rating_period=60.0))
        for at, pair in enumerate(("ab", "cd", "ef")):
            world.duel(float(at), *pair)
        world.until(60.0)
        world.check_recovery()
        engine = Engine(lambda each: parse_policy(each.policy), rate=rate_period)
        for body in world.journal:
            engine.apply(decode(body))
        engine.resume(engine.tables.now)

        world.until(61.0)
        while engine.next_wakeup <= 61.0:
            engine.step(Advance(engine.next_wakeup))

        assert engine.tables.ratings == world.engine.tables.ratings
        assert len(engine.tables.ratings["default"]) == 6

    def test_deviation_grows_with_the_periods_without_a_match_and_touches_nobody(self) -> None:
        world = World(rated(rating="glicko", rating_period=DAY))
        world.duel(0.0, "a", "b")
        world.until(DAY)
        after = world.rating("a")
        rows = dict(world.engine.tables.ratings["default"])

        def seen(at: float) -> float:
            found = world.engine.ladders.rating_of("default", "a", at)
            assert found is not None
            return found.deviation

        assert seen(DAY) == pytest.approx((after.deviation**2 + 34.64**2) ** 0.5)
        assert seen(4.5 * DAY) == pytest.approx((after.deviation**2 + 4 * 34.64**2) ** 0.5)
        assert seen(4000 * DAY) == 350.0
        world.enter(30.5 * DAY, "a")
        assert world.engine.tables.ratings["default"] == rows
        assert world.engine.next_wakeup == float("inf")
        (row,) = world.engine.tables.waiting.values()
        assert row.ticket.players[0].rating == Rating(after.mean, seen(30.5 * DAY))
        world.check_recovery()

    def test_full_period_ends_early_and_more_is_refused_until_it_is_rated(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "OUTCOMES_MOST", 2)
        monkeypatch.setattr(module, "SLICE_SEATS", 1)
        world = World(rated(rating_period=DAY))
        for at, pair in enumerate(("ab", "cd", "ef", "gh")):
            world.enter(at / 64, *pair)
        ids = list(world.engine.tables.matches)
        for match in ids[:2]:
            world.told(0.0625, match, 1, 2)
        assert [type(event) for event in world.until(0.0625)] == [PeriodEnded, Rated]
        for match in ids[2:]:
            world.told(0.0625, match, 1, 2)
        late = world.enter(0.0625, "i", "j")

        with pytest.raises(Overloaded, match="too many outcomes wait to be rated"):
            world.told(0.0625, late, 1, 2)
        world.until(2.0)
        world.told(2.0, late, 1, 2)
        assert world.engine.tables.counters.rated == 8
        world.check_recovery()

    def test_period_ends_by_the_system_it_began_with_even_if_the_queue_changes(self) -> None:
        world = World(rated(rating="elo", rating_period=DAY))
        world.duel(0.0, "a", "b")
        world.hand_in(Configure(1.0, (queue("duel"),), version=2))

        world.until(DAY)

        assert (world.rating("a").mean, world.rating("b").mean) == (1516.0, 1484.0)
        world.check_recovery()


class TestConfiguration:
    @pytest.mark.parametrize(
        ("queues", "sentence"),
        [
            ((rated(rating="trueskill"),), "queue duel: rating trueskill: no rating system"),
            ((rated(rating="elo:k=1"),), "elo has no parameter 'k'"),
            ((rated("solo", 3),), "rating glicko2: a match has 2 to 200 teams"),
            ((rated("duel"), rated("blitz", rating="elo")), "share the ratings of ladder default"),
            ((rated("duel"), rated("blitz", rating_period=60.0)), "same rating and rating_period"),
        ],
    )
    def test_queues_that_cannot_be_rated_are_refused(
        self, queues: tuple[Queue, ...], sentence: str
    ) -> None:
        with pytest.raises(ConfigError, match=sentence):
            World(*queues)

    def test_engine_without_a_rating_function_says_so(self) -> None:
        with pytest.raises(ConfigError, match="was given no rating function"):
            Engine(lambda each: parse_policy(each.policy)).step(Configure(0.0, (rated(),)))


def test_favourite_who_loses_a_wide_match_loses_as_against_an_equal() -> None:
    ladder = rated(rating="elo", policy="virtual_rating:limit=150,rate=100")
    world = World(ladder)
    top, low = Player("top", Rating(2655.0)), Player("low", Rating(2044.0))
    world.hand_in(Enqueue(0.0, (NewTicket((top,)), NewTicket((low,)))))
    world.until(10.0)

    match = world.engine.tables.matches["s0-m1"].match
    world.told(11.0, "s0-m1", 1, 2, teams=(("low",), ("top",)))

    assert match.wide
    assert world.rating("top").mean == 2639.0
    assert world.rating("low").mean == 2060.0
