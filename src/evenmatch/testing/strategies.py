"""Hypothesis strategies for players, tickets, rules and queues; this module needs `hypothesis`.

    @given(queues(), st.lists(new_tickets()))
    def test_engine_survives(queue, tickets): ...

Values lie on coarse grids, so that equal ratings, equal gaps and equal instants are common.
"""

from __future__ import annotations

from hypothesis import strategies as st

from evenmatch.model.queue import Format, Queue, Rule
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.testing.builders import rule

_IDS = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_", min_size=1, max_size=8)
_SECONDS = st.integers(1, 240).map(lambda quarters: quarters / 4)


def instants(until: float = 64.0) -> st.SearchStrategy[float]:
    """Return instants from 0 to `until` seconds, in quarters of a second."""
    return st.integers(0, int(until * 4)).map(lambda quarters: quarters / 4)


def ratings(low: float = 1000.0, high: float = 2000.0) -> st.SearchStrategy[Rating]:
    """Return ratings whose means are 25 points apart."""
    steps = int((high - low) / 25)
    return st.integers(0, steps).map(lambda step: Rating(low + 25.0 * step))


def players() -> st.SearchStrategy[Player]:
    """Return players with an id and a rating."""
    return st.builds(Player, _IDS, ratings())


def new_tickets(*, size_max: int = 1, queues: tuple[str, ...] = ()) -> st.SearchStrategy[NewTicket]:
    """Return parties of 1 to `size_max` different players.

    Args:
        size_max: Largest party.
        queues: Names of queues, of which each ticket enters some; none means the first queue.
    """
    parties = st.lists(
        players(), min_size=1, max_size=size_max, unique_by=lambda player: player.id
    ).map(tuple)
    chosen = st.just(())
    if queues:
        names = st.lists(st.sampled_from(queues), min_size=1, unique=True)
        return st.builds(NewTicket, parties, names.map(tuple))
    return st.builds(NewTicket, parties, chosen)


def rules(attribute: str = "rating") -> st.SearchStrategy[Rule]:
    """Return `spread` rules that stay, widen by a rate, or widen in steps."""
    limits = st.integers(0, 8).map(lambda step: 25.0 * step)
    rates = st.sampled_from((0.0, 0.5, 1.0, 3.0, 25.0))
    by_rate = st.builds(lambda limit, rate: rule(attribute, limit, rate=rate), limits, rates)
    by_steps = st.builds(
        lambda limit, wait, more: rule(attribute, limit, steps=((wait, limit + more),)),
        limits,
        _SECONDS,
        st.sampled_from((25.0, 50.0, 400.0)),
    )
    return by_rate | by_steps


def formats() -> st.SearchStrategy[Format]:
    """Return one against one, three by themselves, and two against two, alone or in parties."""
    return st.sampled_from(
        (Format(), Format((1, 1, 1)), Format((2, 2)), Format((2, 2), party_sizes=(1,)))
    )


def queues(name: str = "main", *, policy: str = "greedy") -> st.SearchStrategy[Queue]:
    """Return queues with at most one rule, with or without a deadline."""

    def made(shape: Format, some: tuple[Rule, ...], wait_max: float | None, ending: str) -> Queue:
        waits = [step[0] for each in some if each.expand for step in each.expand.steps]
        if wait_max is None:
            ending = "expire"
        elif waits and max(waits) >= wait_max:
            ending = "keep"  # or the last step could never be reached
        return Queue(name, shape, (), some, wait_max, on_deadline=ending, policy=policy)  # type: ignore[arg-type]

    return st.builds(
        made,
        formats(),
        st.lists(rules(), max_size=1).map(tuple),
        st.none() | _SECONDS,
        st.sampled_from(("bots", "expire", "keep")),
    )
