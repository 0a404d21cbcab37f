"""Controls: protections that are taken away, so that the simulation must find a violation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from evenmatch.engine.shard import Shard
from evenmatch.server.runtime import runtime
from evenmatch.server.runtime.lease_keeping import LeaseKeeper
from evenmatch.server.views.followers import Follower
from tests.fault.simulated.store import Weakness

Change = Callable[[Any], Any]


class Planted(msgspec.Struct, frozen=True):
    """A part of the server, and what stands in its place.

    Args:
        owner: A class or a module.
        name: Of its attribute.
        change: Makes the new one of the old one.
    """

    owner: Any
    name: str
    change: Change


def _answers_at_once(before: Callable[..., Any]) -> Callable[..., Any]:
    def handle(self: Any, *given: Any) -> Any:
        effects = before(self, *given)
        # The gate stands open for a moment, so that all goes out that waits for the journal.
        durable, self._durable = self._durable, self._decided
        effects += self._released()
        self._durable = durable
        return effects

    return handle


def _never_over(before: object) -> property:
    return property(lambda self: False)


def _adds_up(before: Callable[..., Any]) -> Callable[..., Any]:
    def time_back(tables: Any, now: float, grace: float) -> list[Any]:
        given = before(tables, now, grace)
        return [msgspec.structs.replace(each, now=tables.now) for each in given]

    return time_back


def _skips_some(before: Callable[..., Any]) -> Callable[..., Any]:
    def offer(self: Any, event: Any) -> None:
        if event.sequence % 3:
            before(self, event)

    return offer


PLANTED: dict[str, Planted] = {
    "gate": Planted(Shard, "handle", _answers_at_once),
    "fence on reads": Planted(LeaseKeeper, "is_over", _never_over),
    "some events of a stream": Planted(Follower, "offer", _skips_some),
    "one absence, one grace": Planted(runtime, "time_back", _adds_up),
}
"""What the server, or its journal, does without: by the name of what is missing."""


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Take a protection away for a while; an empty name takes none."""
    if not name:
        yield
        return
    place = PLANTED[name]
    before = vars(place.owner)[place.name]
    setattr(place.owner, place.name, place.change(before))
    try:
        yield
    finally:
        setattr(place.owner, place.name, before)


class Control(msgspec.Struct, frozen=True):
    """A run that must fail within some seeds.

    Args:
        weakness: Of the store.
        mutant: Of the server.
    """

    weakness: Weakness = Weakness()
    mutant: str = ""


CONTROLS: dict[str, Control] = {
    "fence on appends": Control(Weakness(is_unfenced=True)),
    "leases on a clock that never falls": Control(Weakness(by_wall=True)),
    **{name: Control(mutant=name) for name in PLANTED},
}
"""By what is missing."""
