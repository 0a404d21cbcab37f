"""The game backend's feed: every match of a queue at least once, in the order of the journal.

A backend keeps one number, `next`. It asks for what came after it, and asks again, from wherever it
was after a crash of either side. A page never splits the matches of one record, so that the number
always stands between two records.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import groupby
from operator import itemgetter

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.model.events import Assigned, Matched, Voided
from evenmatch.model.match import Match
from evenmatch.server.http.responses import FeedForgotten, InvalidRequest, encode, unknown_queue
from evenmatch.server.views.followers import Event, Follower
from evenmatch.wire.matches import FeedMatch, FeedPage, feed_match

PAGE_MAX = 500
"""Matches of a page, unless one record made more."""
TRIM_EVERY = 1_000


class _Shelf(msgspec.Struct):
    """The durable matches of one queue in order, and their followers."""

    made: list[int] = msgspec.field(default_factory=list)
    ids: list[str] = msgspec.field(default_factory=list)
    followers: list[Follower] = msgspec.field(default_factory=list)

    def add(self, sequence: int, match_id: str) -> None:
        self.made.append(sequence)
        self.ids.append(match_id)

    def trim(self, forgotten_to: int) -> None:
        """Drop what the tables no longer hold."""
        count = bisect_right(self.made, forgotten_to)
        if count >= TRIM_EVERY:
            del self.made[:count], self.ids[:count]

    def page_end(self, start: int, most: int) -> int:
        """Return where a page must end to split no record."""
        end = min(start + most, len(self.made))
        return bisect_right(self.made, self.made[end - 1]) if end > start else end


class MatchFeed:
    """An index of durable matches by queue; the matches themselves stay in the engine's tables.

    `durable` is the number of the last durable record.
    """

    def __init__(self) -> None:
        self._shelves: dict[str, _Shelf] = {}
        self.durable = 0
        self._engine: Engine | None = None

    def reset(self, engine: Engine) -> None:
        """Start over with what the tables hold."""
        followers = {name: shelf.followers for name, shelf in self._shelves.items()}
        self._shelves = {name: _Shelf(followers=each) for name, each in followers.items()}
        self._engine = engine
        self.durable = engine.tables.sequence
        # What a record calls off comes before what it makes.
        rows = [
            kept_match for kept_match in engine.tables.matches.values() if not kept_match.registered
        ]
        matches = [
            (kept_match.voided, kept_match.match)
            for kept_match in rows
            if kept_match.void is not None
        ]
        matches += [(kept_match.made, kept_match.match) for kept_match in rows]
        for sequence, match in sorted(matches, key=itemgetter(0)):
            self._shelf(match.queue).add(sequence, match.id)

    def hear(self, record: Record) -> None:
        """Take the matches of a durable record in, and pass them on."""
        self.durable = record.sequence
        assert self._engine is not None
        if TOLD.isdisjoint(map(type, record.events)):
            return
        told = _lines(self._engine, record)
        if len(told) == 1:
            self._add(told[0].queue, told, record.sequence)
            return
        told.sort(key=_queue_of)
        for queue, matches in groupby(told, key=_queue_of):
            self._add(queue, list(matches), record.sequence)

    def page(
        self, engine: Engine, queue: str, after: int | None = None, most: int = PAGE_MAX
    ) -> FeedPage:
        """Return the matches after a record; without one, from the oldest that is kept.

        Raises:
            UnknownQueue: There is no such queue.
            FeedForgotten: Matches after `after` are no longer kept.
            InvalidRequest: `after` is a record of the future.
        """
        self.check_queue(engine, queue)
        tables = engine.tables
        forgotten = tables.forgotten.get(queue, 0)
        if after is None:
            after = min(forgotten, self.durable)
        if after < forgotten:
            raise FeedForgotten(forgotten)
        if after > self.durable:
            raise InvalidRequest(
                f"after={after} lies in the future, the last record is {self.durable}; "
                f"was the server started without its journal?",
                where="/after",
            )
        shelf = self._shelf(queue)
        start = bisect_right(shelf.made, after)
        end = shelf.page_end(start, most)
        lines = zip(shelf.made[start:end], shelf.ids[start:end], strict=True)
        found = [(seq, tables.matches.get(match_id)) for seq, match_id in lines]
        matches = [
            feed_match(k.match, k.assignment, seq, k.void) for seq, k in found if k is not None
        ]
        following = shelf.made[end - 1] if end < len(shelf.made) else self.durable
        return FeedPage(tuple(matches), following)

    def seen(self, number: int) -> int:
        """Return the last record that a client has seen, by what it says; 0 if there is none such.

        One that is not here yet comes from another journal, or from what a copy of this one lacks.
        """
        return number if number <= self.durable else 0

    def last(self, queue: str) -> int:
        """Return the last durable record that made a match of a queue; 0 if none is known."""
        made = self._shelf(queue).made
        return made[-1] if made else 0

    def check_queue(self, engine: Engine, queue: str) -> None:
        """Refuse the name of a queue that has never existed."""
        queues = engine.tables.queues
        if queue not in queues and queue not in self._shelves:
            raise unknown_queue(queue, queues)

    def join(self, queue: str, follower: Follower) -> None:
        """Start telling a follower about a queue's matches."""
        self._shelf(queue).followers.append(follower)

    def part(self, queue: str, follower: Follower) -> None:
        """Stop telling a follower about a queue's matches."""
        followers = self._shelf(queue).followers
        if follower in followers:
            followers.remove(follower)

    def follows(self, queue: str, follower: Follower) -> bool:
        """Return whether a follower is told about a queue's matches."""
        return follower in self._shelf(queue).followers

    def recent(self, engine: Engine, queue: str, count: int) -> list[Match]:
        """Return the last matches of a queue, newest first."""
        ids = reversed(self._shelf(queue).ids[-count:])
        kept = (engine.tables.matches.get(match_id) for match_id in ids)
        return [each.match for each in kept if each is not None]

    def _shelf(self, queue: str) -> _Shelf:
        shelf = self._shelves.get(queue)
        if shelf is None:
            shelf = self._shelves[queue] = _Shelf()
        return shelf

    def _add(self, queue: str, lines: list[FeedMatch], sequence: int) -> None:
        shelf = self._shelf(queue)
        for line in lines:
            shelf.add(sequence, line.match)
        assert self._engine is not None
        if forgotten_to := self._engine.tables.forgotten.get(queue):
            shelf.trim(forgotten_to)
        if shelf.followers:
            event = event_of(lines)
            for follower in shelf.followers:
                follower.offer(event)


TOLD = frozenset({Matched, Voided})
"""Events of which the feed tells."""


def _queue_of(line: FeedMatch) -> str:
    return line.queue


def _lines(engine: Engine, record: Record) -> list[FeedMatch]:
    """Return what a record says of matches: those made, and those called off."""
    found: list[FeedMatch] = []
    places: dict[str, dict[str, str] | None] = {}
    for event in record.events:
        if isinstance(event, Assigned):
            places[event.match] = event.assignment
    for event in record.events:
        if isinstance(event, Matched):
            place = places.get(event.match.id)
            found.append(feed_match(event.match, place, record.sequence))
        elif isinstance(event, Voided):
            for match_id in (event.match, *event.fills):
                kept_match = engine.tables.matches.get(match_id)
                if kept_match is not None:
                    found.append(feed_match(kept_match.match, None, record.sequence, event.reason))
    return found


def event_of(matches: list[FeedMatch]) -> Event:
    """Return the event for the matches of one record."""
    sequence = matches[-1].seq
    return Event(sequence, "matches", encode(FeedPage(tuple(matches), sequence)))


def events_of(page: FeedPage) -> list[Event]:
    """Return the events for a page, one for each record."""
    return [event_of(list(group)) for _, group in groupby(page.matches, key=lambda m: m.seq)]
