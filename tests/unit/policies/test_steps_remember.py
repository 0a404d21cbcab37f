"""What compiled steps learnt from arrivals outlives a restart: later decisions are the same."""

import msgspec
import numpy as np
import pytest

from evenmatch.model.queue import Criterion, Format, Queue, Scale
from evenmatch.model.ticket import Player, Rating, Ticket
from evenmatch.policies.base import Matcher
from evenmatch.policies.registry import parse_policy

NEAR = Criterion("spread", "rating", scale=Scale("linear", 0.0, 1e3))
ARRIVALS, BEFORE = 240, 120


def queue_for(policy: str, seats: int) -> Queue:
    return Queue("main", Format((1,) * seats), (NEAR,), wait_price=0.01, policy=policy)


def tickets(seed: int) -> list[Ticket]:
    """Return tickets whose ratings lie in two crowds, so that a sample says something."""
    rng = np.random.default_rng(seed)
    at, found = 0.0, []
    for number in range(1, ARRIVALS + 1):
        at += float(rng.exponential(2.0))
        rating = Rating(float(rng.normal(rng.choice([400.0, 900.0]), 60.0)))
        player = Player(f"p{number}", rating)
        found.append(Ticket(f"t{number}", number, at, (player,), ("main",)))
    return found


def play(matcher: Matcher, coming: list[Ticket], wake_at: float) -> list[tuple[object, ...]]:
    """Let tickets come, each at its instant, and return all that the matcher decides."""
    decided: list[tuple[object, ...]] = []
    for ticket in coming:
        while wake_at <= ticket.enqueued_at:
            decision = matcher.decide(at := wake_at, fired=True)
            decided.append((at, *[group.tickets for group in decision.matches]))
            wake_at = decision.wake_at
            assert wake_at > at
        matcher.enter(ticket, ticket.enqueued_at)
        decision = matcher.decide(ticket.enqueued_at)
        decided.append((ticket.id, *[group.tickets for group in decision.matches]))
        wake_at = decision.wake_at
        decided.append((wake_at,))
    return decided


@pytest.mark.parametrize(("policy", "seats"), [("price", 2), ("gap_value", 2), ("group_price", 3)])
def test_samples_of_arrivals_are_remembered(policy: str, seats: int) -> None:
    queue, coming = queue_for(policy, seats), tickets(seed=5)
    matcher = parse_policy(policy).matcher(queue, seed=1)
    before = play(matcher, coming[:BEFORE], np.inf)
    gone = {
        each for row in before for group in row[1:] if isinstance(group, tuple) for each in group
    }
    memory = msgspec.json.decode(msgspec.json.encode(matcher.memory()))
    again = parse_policy(policy).matcher(queue, seed=1, memory=memory)
    now = coming[BEFORE - 1].enqueued_at
    for ticket in coming[:BEFORE]:
        if ticket.id not in gone:
            again.enter(ticket, now)
    wake_at = matcher.decide(now).wake_at
    assert again.decide(now).wake_at == wake_at
    expected = play(matcher, coming[BEFORE:], wake_at)
    assert play(again, coming[BEFORE:], wake_at) == expected
    assert sum(len(row) > 1 for row in expected) > 20


@pytest.mark.parametrize("came", [60, 200])
def test_fewer_samples_of_an_earlier_version_are_taken_over(came: int) -> None:
    """They are a ring of 128, in which the newest end before the oldest."""
    queue, coming = queue_for("price", 2), tickets(seed=6)[:came]
    matcher = parse_policy("price").matcher(queue, seed=1)
    play(matcher, coming, np.inf)
    memory = msgspec.json.decode(msgspec.json.encode(matcher.memory()))
    ring = [[0.0] * 128 for _ in memory["samples"]]
    for number in range(came):
        for row, samples in zip(ring, memory["samples"], strict=True):
            row[number % 128] = samples[number]
    memory["samples"] = ring
    again = parse_policy("price").matcher(queue, seed=1, memory=memory)
    kept = np.array(again.memory()["samples"])[:, : min(came, 128)]
    last = [ticket.enqueued_at for ticket in coming[-128:]]
    assert kept[0].tolist() == last
    assert len(set(kept[1].tolist())) > 50
