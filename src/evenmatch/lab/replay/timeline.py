"""The story of one match, ticket or player: each record that concerns it, in words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import msgspec

from evenmatch.engine.records import Record
from evenmatch.errors import ConfigError
from evenmatch.journals.base import Entry
from evenmatch.lab.replay.redecide import kind_of
from evenmatch.lab.replay.source import SAY_EVERY, Say, Source
from evenmatch.model.events import (
    Accepted,
    Assigned,
    Cancelled,
    Closed,
    Configured,
    Confirmed,
    Counted,
    Disputed,
    Dissolved,
    Event,
    Existing,
    Expired,
    Finished,
    JobAsked,
    JobSettled,
    LeftQueue,
    Matched,
    Opened,
    Penalised,
    PeriodBegan,
    PeriodEnded,
    Prolonged,
    Proposed,
    Rated,
    Refused,
    Registered,
    Repaired,
    Reported,
    SeatsFreed,
    Skipped,
    Updated,
    Voided,
)
from evenmatch.model.inputs import Advance, Assign, Cancel, Decline, Enqueue, Input, Skip
from evenmatch.model.match import Match


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
    """Return the lines of some tickets and their matches; a player's new tickets are added."""
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
    input_ = record.input
    if not isinstance(input_, Enqueue):
        return []
    return [
        event.ticket
        for event in record.events
        if isinstance(event, Accepted)
        and any(each.id == player for each in input_.tickets[event.item].players)
    ]


def _read(
    source: Source, say: Say, *, part: int | None, last: int | None = None
) -> Iterator[Entry]:
    """Yield all records; `part` says which of two passes this is, None that there is only one."""
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
    words = tuple(
        [sentence for event in events for sentence in event_sentences(event, record.input, cast)]
    )
    raw = tuple([msgspec.to_builtins(event) for event in events])
    return [
        TimelineEntry(record.sequence, record.input.now, entry.wall, kind_of(record), words, raw)
    ]


def _cast(source: Source, wanted: Collection[str]) -> Cast:
    """Return those of the wanted tickets that were waiting when the kept records begin."""
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
    """Return whether an event concerns a match, or one that fills it."""
    found = getattr(event, "match", None) or getattr(event, "open", None)
    if isinstance(found, str):
        return found == name
    return found is not None and name in (found.id, getattr(found, "extends", None))


def _tickets_in(event: Event, match: str | None) -> tuple[str, ...]:
    """Return the tickets of an event; those of a match that it makes, or only of `match`."""
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


# Events in words, for people who ask what happened to a match or a ticket.

NAMES_MOST = 12
"""Most names in one sentence; the rest is counted."""


class Cast:
    """The subjects of a story: the players of its tickets, and since when they wait."""

    def __init__(self) -> None:
        self._players: dict[str, tuple[str, ...]] = {}
        self._since: dict[str, float] = {}

    def enter(self, ticket: str, players: Iterable[str], since: float) -> None:
        """Add a ticket."""
        self._players[ticket], self._since[ticket] = tuple(players), since

    def name(self, ticket: str) -> str:
        """Return a ticket's id, and its players where they are known."""
        players = self._players.get(ticket)
        return f"{ticket} ({name_list(players)})" if players else ticket

    def waits(self, tickets: Iterable[str], now: float) -> str:
        """Return how long tickets have waited, where that is known."""
        known = [(each, now - self._since[each]) for each in tickets if each in self._since]
        if not known:
            return ""
        if len(known) == 1:
            return f"{known[0][0]} had waited {seconds(known[0][1])}"
        return "waits: " + name_list(f"{each} {seconds(wait)}" for each, wait in known)


def event_sentences(event: Event, input_: Input, cast: Cast) -> Iterator[str]:
    """Yield the meaning of an event, in sentences without a full stop."""
    if (plain := PLAIN.get(type(event))) is not None:
        yield plain.format(event)
        return
    tell = TOLD.get(type(event))
    if tell is None:
        yield type(event).__name__.lower()
    else:
        yield from filter(None, tell(_Teller(input_, cast), event))


def seconds(span: float) -> str:
    """Return a span of time for people.

    >>> seconds(0.25), seconds(75.0), seconds(7200.0)
    ('0.25 s', '75.0 s', '7,200 s')
    """
    if span < 10:
        return f"{span:.2f} s"
    return f"{span:.1f} s" if span < 1000 else f"{span:,.0f} s"


def name_list(names: Iterable[str]) -> str:
    """Return names with commas, the first dozen of them."""
    all_ = list(names)
    more = f" and {len(all_) - NAMES_MOST} more" if len(all_) > NAMES_MOST else ""
    return ", ".join(all_[:NAMES_MOST]) + more


def teams_of(match: Match) -> str:
    """Return the players of a match by team.

    >>> teams_of(Match("m", "duel", 0.0, ("1", "2"), (("1",), ("2",)), (("ada",), ("bob",))))
    'ada against bob'
    """
    return " against ".join(name_list(team) or "nobody else" for team in match.players)


def worth(match: Match) -> str:
    """Return quality and cost of a match, and its bots."""
    quality = "" if match.quality is None else f"quality {match.quality:.3f}, "
    bots = f", {plural(match.bots, 'bot')}" if match.bots else ""
    return f"{quality}cost {match.cost:.3f}{bots}"


def plural(number: int, what: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {what}{'' if number == 1 else 'es' if what.endswith('ch') else 's'}"


class _Teller:
    """The words of events that depend on their input, or on who is in the story."""

    def __init__(self, input_: Input, cast: Cast) -> None:
        self.given = input_
        self.cast = cast

    def accepted(self, event: Accepted) -> Iterator[str]:
        assert isinstance(self.given, Enqueue)
        new = self.given.tickets[event.item]
        ratings = [each.rating.mean for each in new.players if each.rating is not None]
        rated = f", rated {name_list(f'{rating:,.0f}' for rating in ratings)}" if ratings else ""
        queues = f" in {' and '.join(new.queues)}" if new.queues else ""
        players = name_list(player.id for player in new.players)
        yield f"ticket {event.ticket} of {players}{rated} begins to wait{queues}"

    def matched(self, event: Matched) -> Iterator[str]:
        match = event.match
        what = f"match {match.id} in {match.queue}"
        if match.extends is not None:
            what = f"match {match.id} fills {match.extends}"
        where = f"; played in {match.region}" if match.region is not None else ""
        yield f"{what}: {teams_of(match)}; {worth(match)}{where}"
        yield self._waits(match.tickets)

    def proposed(self, event: Proposed) -> Iterator[str]:
        match, now = event.match, self.given.now
        by = max(event.until.values(), default=now) - now
        what = f"match {match.id} in {match.queue}"
        if match.extends is not None:
            what = f"match {match.id}, which is to fill {match.extends},"
        yield (
            f"{what} is proposed: {teams_of(match)}; {worth(match)}; "
            f"they have {seconds(by)} to accept"
        )
        yield self._waits(match.tickets)

    def seats_freed(self, event: SeatsFreed) -> Iterator[str]:
        input_, open_ = self.given, event.open
        seated = [self.cast.name(each) for team in open_.seated for each in team]
        stays = f"{name_list(seated) or 'nobody'} {'stay' if len(seated) > 1 else 'stays'}"
        until = open_.expires_at
        span = "" if until is None else f" for {seconds(until - input_.now)}"
        yield (
            f"{self._cause()}{plural(sum(open_.free), 'seat')} of {open_.id} to be filled, "
            f"others are sought{span}; {stays}"
        )

    def repaired(self, event: Repaired) -> Iterator[str]:
        joined, match = name_list(map(self.cast.name, event.joined)), event.match
        yield f"match {match.id} is repaired, {joined} joined: {teams_of(match)}; {worth(match)}"
        yield self._waits(event.joined)

    def dissolved(self, event: Dissolved) -> Iterator[str]:
        yield (
            f"{self._cause()}the proposal {event.match} came to nothing ({event.reason})"
            f"{self._again(event.tickets)}"
        )

    def cancelled(self, event: Cancelled) -> Iterator[str]:
        left = f" and left the proposal {event.match}" if event.match is not None else ""
        yield f"ticket {event.ticket} ended cancelled ({event.reason}){left}"
        yield self._waits((event.ticket,))

    def expired(self, event: Expired) -> Iterator[str]:
        yield f"ticket {event.ticket} ended without a match ({event.reason})"
        yield self._waits((event.ticket,))

    def assigned(self, event: Assigned) -> Iterator[str]:
        place = event.assignment
        if place is None and isinstance(self.given, Assign):
            place = self.given.assignment
        text = name_list(f"{name} {value}" for name, value in (place or {}).items())
        yield f"match {event.match} has a place to be played: {text or 'known to its players'}"

    def opened(self, event: Opened) -> Iterator[str]:
        left = f"; {name_list(event.left)} left" if event.left else ""
        free = sum(event.open.free)
        seats = f"asks for players for {plural(free, 'seat')}" if free else "has no free seat"
        yield f"match {event.open.id} {seats}{left}"

    def registered(self, event: Registered) -> Iterator[str]:
        players = name_list(player for team in event.match.players for player in team)
        yield f"match {event.match.id} of session {event.session} was made elsewhere: {players}"

    def voided(self, event: Voided) -> Iterator[str]:
        again = self._again(ticket.id for ticket in event.tickets)
        yield f"match {event.match} was called off ({event.reason}){again}"

    def counted(self, event: Counted) -> Iterator[str]:
        places = name_list(map(str, event.result.ranks))
        yield f"the outcome of match {event.match} counts; the places of its teams: {places}"

    def rated(self, event: Rated) -> Iterator[str]:
        means = (f"{player} {rating.mean:,.1f}" for player, rating in event.ratings.items())
        yield f"new ratings in ladder {event.ladder}: {name_list(means)}"

    def skipped(self, event: Skipped) -> Iterator[str]:
        del event
        if isinstance(self.given, Skip) and self.given.until <= self.given.now:
            yield "the server noted the time: nothing else was recorded for a while"
        else:
            yield "the server had missed rounds: queues decide once for all of them"

    def confirmed(self, event: Confirmed) -> Iterator[str]:
        yield f"{name_list(event.players)} of ticket {event.ticket} accepted"

    def _waits(self, tickets: Iterable[str]) -> str:
        return self.cast.waits(tickets, self.given.now)

    def _again(self, tickets: Iterable[str]) -> str:
        names = name_list(map(self.cast.name, tickets))
        return f"; waiting again with the age they had: {names}" if names else ""

    def _cause(self) -> str:
        """Return who or what made a proposal lose its seats."""
        input_ = self.given
        if isinstance(input_, Decline):
            return f"{self.cast.name(input_.ticket)} declined: "
        if isinstance(input_, Cancel):
            return f"{self.cast.name(input_.ticket)} was cancelled: "
        return "time ran out: " if isinstance(input_, Advance) else ""


PLAIN: dict[type, str] = {
    Existing: "its players asked again and were told of ticket {0.ticket}",
    Refused: "a request was refused: {0.message}",
    Updated: "facts of ticket {0.ticket} were refreshed",
    LeftQueue: "ticket {0.ticket} waits no longer in {0.queue}, only elsewhere",
    Prolonged: "the server had been away: there is more time to accept {0.match}",
    Closed: "match {0.match} asks for players no longer ({0.reason})",
    Finished: "match {0.match} is over ({0.reason})",
    Reported: "{0.player} reported how match {0.match} ended",
    Disputed: "the players of match {0.match} did not agree on its outcome",
    Configured: "the queues of the input came into force",
    Penalised: "{0.player} failed a ready-check, failure {0.count} within a day",
    PeriodBegan: "a rating period of ladder {0.ladder} began",
    PeriodEnded: "a rating period of ladder {0.ladder} ended",
    JobAsked: "queue {0.queue} begins to compute plan {0.number}",
    JobSettled: "plan {0.number} of queue {0.queue} has come",
}
TOLD: dict[type, Callable[[_Teller, Any], Iterator[str]]] = {
    Accepted: _Teller.accepted,
    Matched: _Teller.matched,
    Proposed: _Teller.proposed,
    Confirmed: _Teller.confirmed,
    SeatsFreed: _Teller.seats_freed,
    Repaired: _Teller.repaired,
    Dissolved: _Teller.dissolved,
    Cancelled: _Teller.cancelled,
    Expired: _Teller.expired,
    Assigned: _Teller.assigned,
    Opened: _Teller.opened,
    Registered: _Teller.registered,
    Voided: _Teller.voided,
    Counted: _Teller.counted,
    Rated: _Teller.rated,
    Skipped: _Teller.skipped,
}
