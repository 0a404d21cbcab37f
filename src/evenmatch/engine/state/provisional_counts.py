"""What was counted of matches that may be called off yet, so that it can be taken back.

A match may be void as long as its roster is kept and it has no place to be played; see `rosters`.
Folds of records count it when it is made, and would count its players twice if it is void and they
are matched again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Generic, TypeVar

from evenmatch.engine.state.rosters import keeps_roster
from evenmatch.model.events import Assigned, Event, Finished, Voided
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue

Counted = TypeVar("Counted")
Kept = TypeVar("Kept")

KEPT_MOST = 10_000
"""Matches that are kept; beyond that the oldest counts for good."""


class Recall(Generic[Counted]):
    """The last matches of queues whose matches may be called off, and what was counted of each."""

    def __init__(self, queues: Iterable[Queue] = ()) -> None:
        self._names: set[str] = set()
        self._kept: dict[str, list[Counted]] = {}
        self.configure(queues)

    def configure(self, queues: Iterable[Queue]) -> None:
        """Hear of queues. Matches made earlier may be void yet, so no queue is forgotten."""
        self._names.update(queue.name for queue in queues if keeps_roster(queue))

    def keep(self, match: Match, counted: Counted) -> list[Counted]:
        """Keep what was counted of a match if it may be void; return what counts for good now."""
        if match.queue not in self._names:
            return [counted]
        # A match that fills another is called off with it, if that can be yet.
        if match.extends is not None and match.extends not in self._kept:
            return [counted]
        self._kept.setdefault(match.extends or match.id, []).append(counted)
        if len(self._kept) > KEPT_MOST:
            return self._kept.pop(next(iter(self._kept)))
        return []

    def settle(self, event: Event) -> list[Counted]:
        """Return what counts for good after an event."""
        if isinstance(event, Assigned | Finished):
            return self._kept.pop(event.match, [])
        return []

    def take_back(self, event: Voided) -> list[Counted]:
        """Return what was counted of a match that is void now, and of those that filled it."""
        return self._kept.pop(event.match, [])


def remove_last(kept: deque[Kept], value: Kept) -> bool:
    """Remove a value where it came last; return whether it was still kept."""
    for place in range(len(kept) - 1, -1, -1):
        if kept[place] == value:
            del kept[place]
            return True
    return False
