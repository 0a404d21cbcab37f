"""The story of one match, ticket or player: each record that touched it, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from evenmatch.engine.records import Record
from evenmatch.errors import ConfigError
from evenmatch.journals.base import Entry
from evenmatch.lab.replay.redecide import kind_of
from evenmatch.lab.replay.source import SAY_EVERY, Say, Source
from evenmatch.lab.replay.words import Cast, told
from evenmatch.model.events import Accepted, Event, Matched, Proposed, Repaired, Voided
from evenmatch.model.inputs import Enqueue


class TimelineEntry(msgspec.Struct, frozen=True):
    """One record of a story.

    Args:
        record: Its number.
        at: Engine time, seconds.
        wall: When it was written, Unix seconds.
        input: The kind of its input.
        words: What it did, a sentence each.
        events: The events that concern the story, as the journal has them.
    """

    record: int
    at: float
    wall: float
    input: str
    words: tuple[str, ...]
    events: tuple[Any, ...]


def match_story(source: Source, name: str, say: Say) -> list[TimelineEntry]:
    """Return the story of a match or proposal, from the creation of its tickets on.

    Raises:
        ConfigError: No record that is kept knows it.
        JournalError: The journal is damaged.
    """
    tickets: dict[str, None] = {}
    end = 0
    for entry in _read(source, say, part=0):
        for event in entry.record.events:
            if _names_match(event, name):
                tickets |= dict.fromkeys(_tickets_in(event, name))
                end = entry.record.sequence
    if not end:
        raise ConfigError(_unknown(source, "match", name))

    def concerns(event: Event) -> bool:
        created = isinstance(event, Accepted) and event.ticket in tickets
        return created or _names_match(event, name)

    lines, cast = [], _cast(source, tickets)
    for entry in _read(source, say, part=1, last=end):
        _introduce(cast, entry.record, tickets)
        lines += _line(entry, cast, [e for e in entry.record.events if concerns(e)])
    return lines


def ticket_story(source: Source, name: str, say: Say) -> list[TimelineEntry]:
    """Return the story of a ticket, and of its match once it has one.

    Raises:
        ConfigError: No record that is kept knows it.
        JournalError: The journal is damaged.
    """
    lines = _followed(source, {name: None}, None, say)
    if not lines:
        raise ConfigError(_unknown(source, "ticket", name))
    return lines


def player_story(source: Source, player: str, say: Say) -> list[TimelineEntry]:
    """Return the story of all tickets of a player, and of their matches.

    Raises:
        ConfigError: No record that is kept knows anybody of this id.
        JournalError: The journal is damaged.
    """
    waiting = [row.ticket for row in source.tables.waiting.values()]
    tickets = {each.id: None for each in waiting if any(p.id == player for p in each.players)}
    lines = _followed(source, tickets, player, say)
    if not lines:
        raise ConfigError(_unknown(source, "player", player))
    return lines


def _followed(
    source: Source, tickets: dict[str, None], player: str | None, say: Say
) -> list[TimelineEntry]:
    """Return the lines of some tickets and their matches; a player's new ones join `tickets`."""
    cast, lines = _cast(source, tickets), []
    matches: dict[str, None] = {}

    def concerns(event: Event) -> bool:
        if not tickets.keys().isdisjoint(_tickets_in(event, None)):
            if isinstance(event, Matched | Proposed | Repaired):
                matches[event.match.id] = None
            elif isinstance(event, Voided):
                matches.pop(event.match, None)
            return True
        return any(_names_match(event, match) for match in matches)

    for entry in _read(source, say, part=None):
        if player is not None:
            tickets |= dict.fromkeys(_entered_by(player, entry.record))
        _introduce(cast, entry.record, tickets)
        lines += _line(entry, cast, [e for e in entry.record.events if concerns(e)])
    return lines


def _entered_by(player: str, record: Record) -> list[str]:
    """Return the tickets with which a player begins to wait in a record."""
    given = record.input
    if not isinstance(given, Enqueue):
        return []
    return [
        event.ticket
        for event in record.events
        if isinstance(event, Accepted)
        and any(each.id == player for each in given.tickets[event.item].players)
    ]


def _read(
    source: Source, say: Say, *, part: int | None, last: int | None = None
) -> Iterator[Entry]:
    """Yield all records; `part` says which of two passes this is, None that there is but one."""
    total = source.last - source.first + 1
    for count, entry in enumerate(source.entries(source.first, last), 1):
        if count % SAY_EVERY == 0:
            say(count + (part or 0) * total, total * (1 if part is None else 2))
        yield entry


def _line(entry: Entry, cast: Cast, events: list[Event]) -> list[TimelineEntry]:
    """Return the line of a record, if any of its events concerns the story."""
    record = entry.record
    if not events:
        return []
    words = tuple([sentence for event in events for sentence in told(event, record.input, cast)])
    raw = tuple([msgspec.to_builtins(event) for event in events])
    return [
        TimelineEntry(record.sequence, record.input.now, entry.wall, kind_of(record), words, raw)
    ]


def _cast(source: Source, wanted: Collection[str]) -> Cast:
    """Return those of the wanted tickets that waited already when the kept records begin."""
    cast = Cast()
    for ticket in (row.ticket for row in source.tables.waiting.values() if row.ticket.id in wanted):
        cast.enter(ticket.id, [player.id for player in ticket.players], ticket.enqueued_at)
    return cast


def _introduce(cast: Cast, record: Record, wanted: Collection[str]) -> None:
    if isinstance(record.input, Enqueue):
        for event in record.events:
            if isinstance(event, Accepted) and event.ticket in wanted:
                players = [player.id for player in record.input.tickets[event.item].players]
                cast.enter(event.ticket, players, record.input.now)


def _names_match(event: Event, name: str) -> bool:
    """Return whether an event is of a match, or of one that fills it."""
    found = getattr(event, "match", None) or getattr(event, "open", None)
    if isinstance(found, str):
        return found == name
    return found is not None and name in (found.id, getattr(found, "extends", None))


def _tickets_in(event: Event, match: str | None) -> tuple[str, ...]:
    """Return the tickets that an event is about; of a match that it makes, or only of `match`."""
    if isinstance(event, Matched | Proposed | Repaired):
        return event.match.tickets if match is None or event.match.id == match else ()
    several: tuple[Any, ...] = getattr(event, "tickets", ())
    one: str | None = getattr(event, "ticket", None)
    ids = tuple([each if isinstance(each, str) else str(each.id) for each in several])
    return ids if one is None else (*ids, one)


def _unknown(source: Source, what: str, name: str) -> str:
    kept = f"records {source.first:,} to {source.last:,} of shard {source.shard}"
    gone = "; older ones are deleted" if source.first > 1 else ""
    if what == "player":
        return f"no player {name[:64]!r} in {kept}{gone}: give the id that their tickets name"
    shape = f"{source.shard}-m12" if what == "match" else f"{source.shard}-7"
    return f"no {what} {name[:64]!r} in {kept}{gone}: give its id, such as {shape}"
