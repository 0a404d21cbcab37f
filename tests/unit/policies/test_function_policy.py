"""`@policy`: a plain function decides, after each change or on a clock."""

import math
from collections.abc import Iterable, Sequence

import pytest

from evenmatch.errors import ConfigError, PolicyError
from evenmatch.model.match import OpenMatch
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import NOTHING, Decision, JobResult, Policy, policy
from evenmatch.policies.hooks import rules_of
from evenmatch.testing import queue, ticket

Pool = Sequence[Ticket]


@policy()
def pairs(pool: Pool, now: float) -> Iterable[Sequence[Ticket]]:
    return zip(pool[::2], pool[1::2], strict=False)


@policy(every=2.0)
def rounds(pool: Pool, now: float) -> Iterable[Sequence[Ticket]]:
    return zip(pool[::2], pool[1::2], strict=False)


@policy()
def groups_of(pool: Pool, now: float, size: int = 2) -> Iterable[Sequence[str]]:
    ids = [each.id for each in pool]
    return [ids[at : at + size] for at in range(0, len(ids) - size + 1, size)]


def groups(decision: Decision) -> list[tuple[str, ...]]:
    return [grouping.tickets for grouping in decision.matches]


def test_decorated_function_is_a_policy() -> None:
    assert isinstance(pairs, Policy)
    assert rules_of(pairs, queue()) == ()


def test_function_is_called_whenever_the_pool_has_changed() -> None:
    at_work = pairs.matcher(queue(), seed=1)

    at_work.enter(ticket("a", sequence=1), 0.0)
    assert at_work.decide(0.0) == NOTHING
    at_work.enter(ticket("b", at=1, sequence=2), 1.0)
    assert groups(at_work.decide(1.0)) == [("a", "b")]
    assert at_work.decide(1.0) == NOTHING


def test_function_is_not_called_without_a_change() -> None:
    calls: list[float] = []

    @policy()
    def counts(pool: Pool, now: float) -> list[list[Ticket]]:
        calls.append(now)
        return []

    at_work = counts.matcher(queue(), seed=1)
    at_work.enter(ticket("a", sequence=1), 0.0)
    for now in (0.0, 1.0, 2.0):
        at_work.decide(now)
    at_work.leave("a", 3.0)
    at_work.leave("nobody", 3.0)
    at_work.decide(3.0)
    at_work.decide(4.0)

    assert calls == [0.0, 3.0]


def test_function_sees_the_longest_waiting_first_even_after_a_return() -> None:
    seen: list[str] = []

    @policy()
    def looks(pool: Pool, now: float) -> list[list[Ticket]]:
        seen[:] = [each.id for each in pool]
        return []

    at_work = looks.matcher(queue(), seed=1)
    at_work.enter(ticket("b", at=2, sequence=2), 2.0)
    at_work.enter(ticket("c", at=3, sequence=3), 3.0)
    at_work.enter(ticket("a", at=1, sequence=1), 4.0)
    at_work.decide(4.0)

    assert seen == ["a", "b", "c"]


def test_parameters_are_given_to_the_function() -> None:
    at_work = groups_of(size=3).matcher(queue("main", 1, 1, 1), seed=1)
    for number, name in enumerate("abcd", 1):
        at_work.enter(ticket(name, sequence=number), 0.0)

    assert groups(at_work.decide(0.0)) == [("a", "b", "c")]
    assert groups_of(size=3)(size=2).parameters == {"size": 2}


def test_clock_starts_at_the_first_entry() -> None:
    at_work = rounds.matcher(queue(), seed=1)
    at_work.enter(ticket("a", at=5, sequence=1), 5.0)

    assert at_work.decide(5.0) == Decision(wake_at=7.0)
    at_work.enter(ticket("b", at=6, sequence=2), 6.0)
    assert at_work.decide(6.0) == Decision(wake_at=7.0)
    assert at_work.decide(7.0) == Decision(wake_at=7.0)
    decision = at_work.decide(7.0, fired=True)
    assert groups(decision) == [("a", "b")]
    assert decision.wake_at == math.inf


def test_rounds_go_on_while_somebody_waits() -> None:
    at_work = rounds.matcher(queue(), seed=1)
    at_work.enter(ticket("a", at=5, sequence=1), 5.0)

    assert at_work.decide(7.0, fired=True) == Decision(wake_at=9.0)
    assert at_work.decide(9.0, fired=True) == Decision(wake_at=11.0)


def test_clock_keeps_its_beat_through_an_empty_pool() -> None:
    at_work = rounds.matcher(queue(), seed=1)
    at_work.enter(ticket("a", at=5, sequence=1), 5.0)
    at_work.leave("a", 5.5)
    assert at_work.decide(5.5) == NOTHING

    at_work.enter(ticket("b", at=8, sequence=2), 8.0)

    assert at_work.decide(8.0) == Decision(wake_at=9.0)


def test_every_that_is_no_multiple_of_anything_still_moves_on() -> None:
    @policy(every=0.1)
    def waits(pool: Pool, now: float) -> list[list[Ticket]]:
        return []

    at_work = waits.matcher(queue(), seed=1)
    at_work.enter(ticket("a", at=0.3, sequence=1), 0.3)
    now = at_work.decide(0.3).wake_at
    for _ in range(200):
        after = at_work.decide(now, fired=True).wake_at
        assert now < after <= now + 0.2
        now = after


def test_restored_matcher_keeps_the_beat() -> None:
    before = rounds.matcher(queue(), seed=1)
    waiting = ticket("a", at=5, sequence=1)
    before.enter(waiting, 5.0)
    before.decide(7.0, fired=True)

    after = rounds.matcher(queue(), seed=1, memory=before.memory())
    after.enter(waiting, 8.5)

    assert after.decide(8.5) == before.decide(8.5) == Decision(wake_at=9.0)


def test_restored_matcher_does_not_call_the_function_for_what_it_has_seen() -> None:
    before = pairs.matcher(queue(), seed=1)
    waiting = ticket("a", sequence=1)
    before.enter(waiting, 0.0)
    before.decide(0.0)

    after = pairs.matcher(queue(), seed=1, memory=before.memory())
    after.enter(waiting, 3.0)

    assert after.decide(3.0) == NOTHING
    after.enter(ticket("b", at=4, sequence=2), 4.0)
    assert groups(after.decide(4.0)) == [("a", "b")]


def test_leaving_others_behind_keeps_the_round() -> None:
    at_work = rounds.matcher(queue(), seed=1)
    for number, name in enumerate("abc", 1):
        at_work.enter(ticket(name, at=5, sequence=number), 5.0)

    at_work.leave("a", 6.0)

    assert at_work.decide(6.0) == Decision(wake_at=7.0)
    assert groups(at_work.decide(7.0, fired=True)) == [("b", "c")]


def test_open_matches_are_left_to_the_engine() -> None:
    at_work = pairs.matcher(queue(), seed=1)

    at_work.enter(OpenMatch("m1", "main", 1, 0.0, (("x",), ()), (0, 1)), 0.0)

    assert at_work.decide(0.0) == NOTHING


def test_there_are_no_jobs_to_settle() -> None:
    at_work = pairs.matcher(queue(), seed=1)

    assert at_work.settle(JobResult(1, ()), 0.0) == NOTHING


@pytest.mark.parametrize("every", [0.0, -1.0, math.nan, math.inf])
def test_clock_without_a_beat_is_refused(every: float) -> None:
    with pytest.raises(ConfigError, match=r"every must be between 0\.05 and 1e9 s, got"):
        policy(every=every)


def test_function_that_returns_no_groups_is_named() -> None:
    @policy()
    def forgetful(pool: Pool, now: float) -> None:
        del pool, now

    at_work = forgetful.matcher(queue(), seed=1)
    at_work.enter(ticket("a", sequence=1), 0.0)
    with pytest.raises(PolicyError, match="policy forgetful must return groups of tickets, got No"):
        at_work.decide(0.0)
