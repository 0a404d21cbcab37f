"""Whom players met last: noted where a queue asks, bounded, and handed to new tickets."""

from dataclasses import dataclass

import msgspec
import pytest

from evenmatch.criteria.kinds.rematch import redraw_rule
from evenmatch.engine.engine import Engine
from evenmatch.engine.state import encounters as module
from evenmatch.engine.state.encounters import (
    Meetings,
    forget_unasked,
    note_meetings,
    with_meetings,
)
from evenmatch.engine.state.state import Tables
from evenmatch.errors import InvalidTicket
from evenmatch.model.events import Refused
from evenmatch.model.inputs import Accept, Advance, Configure, Enqueue, Open
from evenmatch.model.match import Match
from evenmatch.model.queue import Criterion, Handicap, Queue, ReadyCheck
from evenmatch.model.ticket import NewTicket, Ticket
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, player, queue

PLAIN = queue("plain")
ASKING = queue("asking", criteria=(Criterion("rematch", "recent", matches=3),))


def played(*teams: str) -> Match:
    """Return a match between teams of players with names of one letter."""
    return Match("m", "asking", 0.0, (), (), tuple(tuple(team) for team in teams))


def noted(*matches: Match, queues: tuple[Queue, ...] = (ASKING,)) -> Meetings:
    met: Meetings = {}
    for match in matches:
        note_meetings(met, match, "default", queues)
    return met


def test_each_match_makes_the_older_ones_one_older() -> None:
    met = noted(played("a", "b"), played("a", "c"))["default"]

    assert met == {"a": {"c": 1.0, "b": 2.0}, "b": {"a": 1.0}, "c": {"a": 1.0}}


def test_meeting_again_is_a_new_meeting_and_mates_are_negative() -> None:
    met = noted(played("ab", "c"), played("a", "b"), played("ac", "d"))["default"]

    assert met["a"] == {"c": -1.0, "d": 1.0, "b": 2.0}
    assert met["b"] == {"a": 1.0, "c": 2.0}


def test_newcomers_meet_those_who_play_already_in_the_match_that_these_are_in() -> None:
    met = noted(played("a", "e"), played("a", "f"), played("ab", "c"))
    playing = tuple(
        tuple(Ticket(name, 0, 0.0, (player(name),), (), {}) for name in team) for team in ("a", "c")
    )
    note_meetings(met, played("x", ""), "default", (ASKING,), playing)
    known = met["default"]

    assert known["x"] == {"a": -1.0, "c": 1.0}
    assert known["a"] == {"x": -1.0, "b": -1.0, "c": 1.0, "f": 2.0, "e": 3.0}
    assert known["c"] == {"x": 1.0, "a": 1.0, "b": 1.0}
    assert known["b"] == {"a": -1.0, "c": 1.0}


def test_newcomer_of_a_running_match_carries_whom_they_met_there() -> None:
    again = queue("again", rules=(redraw_rule(3, every=10.0),))
    made = world(msgspec.structs.replace(again, backfill="manual"))
    made.enter("a", 0.0)
    made.enter("b", 0.0)
    made.engine.step(Open(1.0, "s0-m1", 0, ("b",)))
    made.enter("x", 2.0)
    made.enter("x", 3.0)
    (row,) = made.engine.tables.waiting.values()

    assert row.ticket.players[0].attributes == {"recent": {"a": 1.0}}


def test_matches_further_back_than_any_queue_of_the_group_asks_are_forgotten() -> None:
    matches = [played("a", other) for other in "bcdef"]
    deep = queue("deep", rules=(redraw_rule(1, every=1.0, matches=4),))
    elsewhere = msgspec.structs.replace(deep, group="other")

    assert list(noted(*matches)["default"]["a"]) == ["f", "e", "d"]
    assert list(noted(*matches, queues=(ASKING, deep))["default"]["a"]) == ["f", "e", "d", "c"]
    assert list(noted(*matches, queues=(ASKING, elsewhere))["default"]["a"]) == ["f", "e", "d"]


def test_what_one_player_remembers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OTHERS_MOST", 3)

    assert noted(played("ab", "cdef"))["default"]["a"] == {"b": -1.0, "c": 1.0, "d": 1.0}
    assert noted(played("a", "b"), played("a", "cd"), played("a", "ef"))["default"]["a"] == {
        "e": 1.0,
        "f": 1.0,
        "c": 2.0,
    }


def test_longest_inactive_players_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PLAYERS_MOST", 4)
    monkeypatch.setattr(module, "SURPLUS", 2)

    met = noted(played("a", "b"), played("c", "d"), played("b", "a"), played("e", "f"))

    assert list(met["default"]) == ["b", "a", "e", "f"]


def test_older_tables_are_not_changed_by_later_matches() -> None:
    met = noted(played("a", "b"))
    before = msgspec.json.encode(met)
    tables = Tables(met=met)
    copied = tables.shallow_copy()
    note_meetings(tables.met, played("a", "c"), "default", (ASKING,))

    assert msgspec.json.encode(copied.met) == before


def test_groups_in_which_no_queue_asks_are_forgotten() -> None:
    met: Meetings = {"default": {"a": {}}, "other": {"b": {}}}

    forget_unasked(met, (PLAIN, msgspec.structs.replace(ASKING, group="other")))

    assert list(met) == ["other"]


def test_own_word_of_the_caller_is_left_as_it_is() -> None:
    met = noted(played("a", "b"))
    own = NewTicket((player("a", recent=("z",)), player("b")))
    shared = new_ticket("a", recent=("z",))

    assert with_meetings(shared, [ASKING], met) == shared.players
    known = with_meetings(own, [ASKING], met)
    assert [each.attributes for each in known] == [{"recent": ("z",)}, {"recent": {"a": 1.0}}]


def test_ticket_for_queues_that_do_not_ask_carries_nothing() -> None:
    met = noted(played("a", "b"))

    assert with_meetings(new_ticket("a"), [PLAIN], met) == (player("a"),)
    assert with_meetings(new_ticket("c"), [ASKING], met) == (player("c"),)


@dataclass
class World:
    """An engine with queues, and people who come to play."""

    engine: Engine

    def enter(self, name: str, at: float, queue_name: str = "again") -> None:
        """Let a player ask for a match."""
        while self.engine.next_wakeup < at:
            self.engine.step(Advance(self.engine.next_wakeup))
        self.engine.step(Enqueue(at, (new_ticket(name, 1500, queues=(queue_name,)),)))

    def until(self, at: float) -> list[tuple[float, str]]:
        """Return when and between whom the matches were, by `at`."""
        while self.engine.next_wakeup <= at:
            self.engine.step(Advance(self.engine.next_wakeup))
        assert not self.engine.faults
        matches = [kept.match for kept in self.engine.tables.matches.values()]
        return [(m.at, "".join(sorted(p for team in m.players for p in team))) for m in matches]


def world(*queues: Queue) -> World:
    engine = Engine(lambda each: parse_policy(each.policy))
    engine.step(Configure(0.0, queues))
    return World(engine)


@pytest.mark.parametrize("policy", ["greedy", "window:limit=100", "window:limit=100,pick=nearest"])
def test_same_two_meet_again_only_after_the_redraws(policy: str) -> None:
    rules = (redraw_rule(3, every=10.0),)
    made = world(queue("again", policy=policy, rules=rules))
    for at, name in ((0.0, "a"), (0.0, "b"), (100.0, "a"), (104.0, "b")):
        made.enter(name, at)

    assert made.until(133.999) == [(0.0, "ab")]
    assert made.until(200.0) == [(0.0, "ab"), (134.0, "ab")]


@pytest.mark.parametrize("policy", ["greedy", "window:limit=100"])
def test_others_are_taken_at_once_and_make_the_two_new_to_each_other(policy: str) -> None:
    made = world(queue("again", policy=policy, rules=(redraw_rule(3, every=10.0),)))
    coming = [(0.0, "a"), (0.0, "b"), (1.0, "a"), (2.0, "b"), (3.0, "c"), (4.0, "d"), (5.0, "a")]
    for at, name in coming:
        made.enter(name, at)

    # Both have played somebody else since, so a and b are new to each other at 6 s.
    made.enter("b", 6.0)
    assert made.until(6.0) == [(0.0, "ab"), (3.0, "ac"), (4.0, "bd"), (6.0, "ab")]


def test_matches_of_queues_that_do_not_ask_are_not_noted() -> None:
    made = world(queue("again", rules=(redraw_rule(1, every=10.0),)), queue("plain"))
    for name in "ab":
        made.enter(name, 0.0, "plain")
    assert made.engine.tables.met == {}
    for name in "ab":
        made.enter(name, 1.0)

    assert made.until(1.0) == [(0.0, "ab"), (1.0, "ab")]
    assert made.engine.tables.met == {"default": {"a": {"b": 1.0}, "b": {"a": 1.0}}}


def test_match_is_made_though_its_queue_has_moved_to_another_group_during_the_check() -> None:
    asking = queue("again", rules=(redraw_rule(3, every=10.0),))
    first = msgspec.structs.replace(asking, accept=ReadyCheck(seconds=15.0))
    made = world(first, queue("other"))
    made.enter("a", 0.0)
    made.enter("b", 0.0)
    made.engine.step(Configure(1.0, (queue("other"),)))
    moved = msgspec.structs.replace(first, group="elsewhere")
    made.engine.step(Configure(2.0, (moved, queue("other"))))
    for ticket_id in ("s0-1", "s0-2"):
        made.engine.step(Accept(3.0, "s0-m1", ticket_id))

    assert made.until(4.0) == [(3.0, "ab")]


def test_ticket_carries_what_was_known_when_it_was_accepted() -> None:
    made = world(queue("again", rules=(redraw_rule(1, every=10.0),)))
    for at, name in ((0.0, "a"), (0.0, "b"), (1.0, "a")):
        made.enter(name, at)
    (row,) = made.engine.tables.waiting.values()

    assert isinstance(row.ticket, Ticket)
    assert row.ticket.players[0].attributes == {"recent": {"b": 1.0}}


def test_memory_that_makes_no_sense_is_refused() -> None:
    made = world(queue("again", rules=(redraw_rule(1, every=10.0),)))
    ticket = NewTicket((player("a", 1500, recent={"b": 0.0}),))
    (event,) = made.engine.step(Enqueue(0.0, (ticket,), strict=True)).events

    assert isinstance(event, Refused)
    assert event.code == InvalidTicket("").code
    assert "recent must count matches from 1" in event.message


def test_match_states_its_handicap() -> None:
    made = world(msgspec.structs.replace(queue("again"), handicap=Handicap(0.01, max=5.0)))
    made.engine.step(Enqueue(0.0, (new_ticket("a", 1500), new_ticket("b", 1800))))
    (kept,) = made.engine.tables.matches.values()

    assert kept.match.players == (("a",), ("b",))
    assert kept.match.handicap == (3.0, 0.0)
