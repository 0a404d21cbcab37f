"""`adaptive_brackets`: the brackets at work on a queue."""

import math

import pytest

from evenmatch.errors import ConfigError
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue, Rule
from evenmatch.model.ticket import Ticket
from evenmatch.policies.adaptive_brackets import AdaptiveBrackets
from evenmatch.policies.base import NOTHING, Decision, Matcher
from evenmatch.policies.hooks import rules_of
from evenmatch.testing import queue, rule, ticket


def enter(at_work: Matcher, *tickets: Ticket) -> Decision:
    """Let tickets enter one after the other; return the decision after the last one."""
    decision = NOTHING
    for each in tickets:
        at_work.enter(each, each.enqueued_at)
        decision = at_work.decide(each.enqueued_at)
    return decision


def groups(decision: Decision) -> list[tuple[str, ...]]:
    return [grouping.tickets for grouping in decision.matches]


def halved(in_queue: Queue | None = None, at: float = 1.0) -> Matcher:
    """Return a matcher whose bracket 500-1000 is halved at 60 s after `at`."""
    at_work = AdaptiveBrackets().matcher(in_queue or queue(), seed=1)
    for number in range(1, 13):
        enter(at_work, ticket(f"p{number}", 700, at=at, sequence=number))
    return at_work


def test_who_may_meet_meets_at_once_and_the_longest_waiting_first() -> None:
    at_work = AdaptiveBrackets().matcher(queue(), seed=1)
    assert enter(at_work, ticket("a", 100, sequence=1), ticket("b", 601, sequence=2)) == NOTHING
    decision = enter(at_work, ticket("c", 400, at=1, sequence=3))
    assert groups(decision) == [("a", "c")]


def test_neighbours_meet_up_to_the_narrower_width() -> None:
    for other, meets in ((601.0, False), (600.0, True), (599.0, True)):
        at_work = AdaptiveBrackets().matcher(queue(), seed=1)
        decision = enter(at_work, ticket("a", 100, sequence=1), ticket("b", other, sequence=2))
        assert bool(decision.matches) == meets


def test_six_matches_halve_the_bracket_and_two_quiet_frames_undo_it() -> None:
    at_work = halved(at=0.0)
    decision = enter(
        at_work, ticket("499", 499, at=70, sequence=20), ticket("990", 990, at=71, sequence=21)
    )

    assert decision == Decision(wake_at=120.0)
    assert at_work.decide(120.0, fired=True) == Decision(wake_at=180.0)
    assert at_work.decide(180.0) == Decision(wake_at=180.0)
    assert groups(at_work.decide(180.0, fired=True)) == [("499", "990")]


def test_bracket_holds_until_the_frame_has_ended() -> None:
    at_work = halved(at=0.0)
    decision = enter(
        at_work, ticket("499", 499, at=60, sequence=20), ticket("990", 990, at=60, sequence=21)
    )
    # At 60 s itself others may still enter, so the frame is not over.
    assert groups(decision) == [("499", "990")]


def test_frames_without_anybody_waiting_are_counted_when_somebody_enters() -> None:
    at_work = halved(at=0.0)
    assert at_work.decide(0.0) == NOTHING

    decision = enter(
        at_work, ticket("499", 499, at=181, sequence=20), ticket("990", 990, at=181, sequence=21)
    )

    assert groups(decision) == [("499", "990")]


@pytest.mark.parametrize("asked_at", [(), (1e5,), (1e5, 1e5 + 1e-3, 6e7 - 30)])
def test_frame_that_ends_now_still_counts_after_a_long_silence(asked_at: tuple[float, ...]) -> None:
    at_work = AdaptiveBrackets().matcher(queue(), seed=1)
    enter(at_work, ticket("a", 0, sequence=1), ticket("b", 0, sequence=2))
    for now in asked_at:
        at_work.decide(now)
    # The frame that ends at 60 million seconds is the one of these matches.
    for number in range(10, 22):
        enter(at_work, ticket(f"p{number}", 700, at=6e7, sequence=number))
    decision = enter(at_work, ticket("waits", 2700, at=6e7, sequence=30))

    assert decision == Decision(wake_at=6e7)
    assert at_work.decide(6e7, fired=True) == Decision(wake_at=6e7 + 60)


def test_nobody_is_woken_while_nothing_can_change() -> None:
    at_work = AdaptiveBrackets().matcher(queue(), seed=1)
    assert enter(at_work, ticket("a", 100, sequence=1)) == NOTHING


def test_ticket_that_leaves_is_not_matched() -> None:
    at_work = halved(at=0.0)
    enter(at_work, ticket("a", 499, at=70, sequence=20), ticket("b", 990, at=71, sequence=21))
    at_work.leave("a", 80.0)
    at_work.leave("nobody", 80.0)

    assert at_work.decide(180.0, fired=True) == NOTHING


def test_rule_of_the_queue_holds_beside_the_brackets() -> None:
    in_queue = queue(rules=(rule("ping", 10, rate=1),))
    at_work = AdaptiveBrackets().matcher(in_queue, seed=1)
    decision = enter(
        at_work, ticket("a", 100, sequence=1, ping=0), ticket("b", 120, at=1, sequence=2, ping=30)
    )

    assert decision == Decision(wake_at=21.0)
    assert groups(at_work.decide(21.0, fired=True)) == [("a", "b")]


def test_restart_keeps_frames_and_brackets() -> None:
    before = halved(at=0.0)
    first = ticket("499", 499, at=70, sequence=20)
    enter(before, first)
    after = AdaptiveBrackets().matcher(queue(), seed=1, memory=before.memory())
    after.enter(first, 75.0)

    second = ticket("990", 990, at=80, sequence=21)
    assert enter(before, second) == enter(after, second) == Decision(wake_at=120.0)


def test_width_stands_for_a_rule_that_always_holds() -> None:
    assert rules_of(AdaptiveBrackets(), queue()) == (Rule("spread", "rating", 500.0),)


def test_open_matches_are_left_to_the_engine() -> None:
    at_work = AdaptiveBrackets().matcher(queue(), seed=1)
    at_work.enter(OpenMatch("m1", "main", 1, 0.0, (("x",), ()), (0, 1)), 0.0)
    assert at_work.decide(0.0) == NOTHING


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        (
            AdaptiveBrackets(width=0),
            "adaptive_brackets: width must be between 1e-9 and 1e15, got 0",
        ),
        (
            AdaptiveBrackets(frame=math.inf),
            "adaptive_brackets: frame must be between 0.05 and 1e9 s, got inf",
        ),
        (
            AdaptiveBrackets(split_at=0),
            "adaptive_brackets: split_at must be between 1 and 1,000,000, got 0",
        ),
        (
            AdaptiveBrackets(merge_below=7),
            "adaptive_brackets: merge_below must be from 1 to split_at (6), got 7",
        ),
    ],
)
def test_parameters_that_cannot_work_are_refused(chosen: AdaptiveBrackets, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        chosen.matcher(queue(), seed=1)
    assert str(caught.value) == sentence


def test_larger_formats_are_refused() -> None:
    with pytest.raises(ConfigError, match="policy adaptive_brackets pairs two players"):
        AdaptiveBrackets().matcher(queue("squads", 2, 2), seed=1)
