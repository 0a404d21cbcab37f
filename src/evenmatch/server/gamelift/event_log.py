"""The last events of a server, for clients that follow them and reconnect.

An event is numbered by the record that it comes from, and its place among the events of that one,
so that whoever has heard one may ask for those after it. Events are kept in memory, from the moment
at which somebody follows for the first time; who asks for more than is kept is told so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from evenmatch.server.http.responses import encode
from evenmatch.server.views.followers import Event, Follower

KEPT_MOST = 10_000
"""Events that are kept, for those who come back."""
BYTES_MOST = 32_000_000
"""Bytes of them together; beyond, the oldest go."""
PLACES = 2**20
"""Numbers for the events of one record."""


class StoredEvent(NamedTuple):
    """An event of a configuration."""

    queue: str
    event: Event


class Filter(NamedTuple):
    """Which events a follower wants; empty means all.

    Args:
        queues: Those that its key is for.
        queue: The one that it asks for.
    """

    queues: frozenset[str] = frozenset()
    queue: str = ""

    def takes(self, queue: str) -> bool:
        """Return whether events of a queue are among them."""
        return (not self.queues or queue in self.queues) and self.queue in ("", queue)


class EventLog:
    """The latest events, newest last."""

    def __init__(self) -> None:
        self._kept: deque[StoredEvent] = deque()
        self._bytes = 0
        self._followers: dict[Follower, Filter] = {}
        # Of all events up to this one nothing is kept.
        self._forgotten = 0
        self._record, self._place = 0, 0
        self.is_wanted = False

    def begin(self, record: int) -> None:
        """Start over after a record: of what came before, nothing is known."""
        self._kept.clear()
        self._bytes = 0
        self._record, self._place = record, PLACES - 1
        self._forgotten = self._number

    def turn(self, record: int) -> None:
        """Number the following events by a record."""
        self._record, self._place = record, 0

    def put(self, queue: str, envelope: Mapping[str, Any]) -> None:
        """Keep an event, and tell the followers."""
        self._place = min(self._place + 1, PLACES - 1)
        event = Event(self._number, str(envelope["detail"]["type"]), encode(envelope))
        self._kept.append(StoredEvent(queue, event))
        self._bytes += len(event.body)
        while len(self._kept) > KEPT_MOST or (self._bytes > BYTES_MOST and len(self._kept) > 1):
            oldest = self._kept.popleft().event
            self._bytes -= len(oldest.body)
            self._forgotten = oldest.sequence
        for follower, wanted in list(self._followers.items()):
            if wanted.takes(queue):
                follower.offer(event)

    def join(self, follower: Follower, wanted: Filter, after: int | None) -> list[Event]:
        """Start telling a follower about events, and return those that it missed.

        Args:
            follower: It.
            wanted: What it hears of.
            after: The last event that it has heard; None if it begins now.

        Returns:
            What is kept of the events since then, after an event `missed` if some are not.
        """
        if not self.is_wanted:
            # Nobody followed until now, so nothing was kept.
            self.is_wanted, self._forgotten = True, self._number
        self._followers[follower] = wanted
        if after is None:
            return []
        events = [
            kept.event
            for kept in self._kept
            if kept.event.sequence > after and wanted.takes(kept.queue)
        ]
        if after < self._forgotten or after > self._number:
            told = {"after": str(after), "kept_after": str(self._forgotten)}
            events.insert(0, Event(self._forgotten, "missed", encode(told)))
        return events

    def part(self, follower: Follower) -> None:
        """Stop telling a follower about events."""
        self._followers.pop(follower, None)

    @property
    def _number(self) -> int:
        return self._record * PLACES + self._place
