"""The engine's memory: tickets, matches, keys and counters, folded from events and nothing else.

    waiting --> matched --> assigned
       |------> cancelled
       `------> expired

Each ticket is in exactly one state and ends exactly once. `fold` is the only function that changes
the tables; the live engine and recovery call the same one, so a journal always rebuilds the state
it came from. Nothing here decides.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, takewhile
from typing import TypeVar

import msgspec

from evenmatch.cost.percentile import Recent, parts_of, remember
from evenmatch.engine.counters import Counters
from evenmatch.engine.meetings import Meetings, forget_unasked, note_meetings, with_meetings
from evenmatch.engine.records import Record
from evenmatch.errors import Forgotten
from evenmatch.model.events import (
    Accepted,
    Assigned,
    Cancelled,
    Configured,
    Event,
    Existing,
    Expired,
    Finished,
    JobAsked,
    JobSettled,
    LeftQueue,
    Matched,
    Refused,
)
from evenmatch.model.inputs import Assign, Configure, Enqueue, Input
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket

KEEP_ENDED = 600.0
"""Seconds for which ended tickets and idempotency keys are kept."""
KEEP_MATCHES = 86_400.0
"""Seconds for which matches are kept."""
KEEP_MATCHES_MOST = 100_000
"""Matches kept at the most."""
KEEP_ENDED_MOST = 500_000
"""Ended tickets kept at the most; beyond, the oldest are forgotten sooner."""
KEYS_MOST = 500_000
"""Idempotency keys kept at the most; beyond, new ones are refused."""
FORGET_EVERY = 10.0
"""Seconds between two looks at what is too old."""

Row = TypeVar("Row")


class Waiting(msgspec.Struct, frozen=True, gc=False):
    """A live ticket, the queues it still waits in, and the record of its last change."""

    ticket: Ticket
    queues: tuple[str, ...]
    changed: int


class Ended(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What is kept of a ticket that waits no longer."""

    state: str
    sequence: int
    queues: tuple[str, ...]
    enqueued_at: float
    ended_at: float
    changed: int
    reason: str | None = None
    match: str | None = None
    players: tuple[str, ...] = ()


class KeptMatch(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A match with the record that made it, and what became of it.

    While it is `live`, its players may not queue again, at most until `ends_at`.
    """

    made: int
    match: Match
    live: bool = False
    ends_at: float = 0.0
    assignment: dict[str, str] | None = None
    assigned: int = 0


class TicketView(
    msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="event", tag="view"
):
    """A ticket as its owner sees it; `changed` is the record of its last change.

    The tag tells it from `Refused` in the answers that idempotency keys keep.
    """

    id: str
    state: str
    queues: tuple[str, ...]
    enqueued_at: float
    changed: int
    ended_at: float | None = None
    reason: str | None = None
    match: str | None = None
    assignment: dict[str, str] | None = None


class Key(msgspec.Struct, frozen=True, gc=False):
    """An idempotency key: the digest of its request, and the answer that it got."""

    digest: str
    at: float
    results: tuple[TicketView | Refused, ...]


class Tables(msgspec.Struct):
    """Everything the engine remembers; rows are frozen, so a shallow copy is a snapshot.

    Args:
        now: Instant of the last record, seconds.
        sequence: Number of the last record.
        seed: Root of the policies' chance.
        version: Number of the configuration.
        queues: The configuration, in order.
        paused: Queues that take and match nobody.
        waiting: Live tickets by id, in order of acceptance.
        ended: Ended tickets by id, in order of their end.
        matches: Kept matches by id, in order of making.
        keys: Idempotency keys, in order of use.
        players: Live ticket by player, by group.
        busy: Live exclusive match by player, by group.
        counters: Totals.
        forgotten: Highest record whose matches are no longer kept, by queue.
        forget_at: Instant from which old rows are looked for again.
        recent: The last values of accepted tickets, where percentiles are taken among them.
        met: Whom players met last, by group; only where a queue asks for it.
    """

    now: float = 0.0
    sequence: int = 0
    seed: int = 0
    version: int = 0
    queues: dict[str, Queue] = {}
    paused: tuple[str, ...] = ()
    waiting: dict[str, Waiting] = {}
    ended: dict[str, Ended] = {}
    matches: dict[str, KeptMatch] = {}
    keys: dict[str, Key] = {}
    players: dict[str, dict[str, str]] = {}
    busy: dict[str, dict[str, str]] = {}
    counters: Counters = msgspec.field(default_factory=Counters)
    forgotten: dict[str, int] = {}
    forget_at: float = 0.0
    recent: dict[str, Recent] = {}
    met: Meetings = {}

    def view(self, ticket_id: str, now: float | None = None) -> TicketView:
        """Return a ticket as its owner sees it.

        Raises:
            Forgotten: It ended more than `KEEP_ENDED` seconds ago.
        """
        row = self.waiting.get(ticket_id)
        if row is not None:
            ticket = row.ticket
            return TicketView(ticket_id, "waiting", row.queues, ticket.enqueued_at, row.changed)
        end = self.ended.get(ticket_id)
        if end is None or (now is not None and end.ended_at + KEEP_ENDED < now):
            raise Forgotten(f"ticket {ticket_id} ended more than {KEEP_ENDED:g} s ago")
        state, changed, assignment = end.state, end.changed, None
        kept = self.matches.get(end.match) if end.match else None
        if kept is not None and kept.assignment is not None:
            state, changed, assignment = "assigned", kept.assigned, kept.assignment
        return TicketView(
            ticket_id,
            state,
            end.queues,
            end.enqueued_at,
            changed,
            end.ended_at,
            end.reason,
            end.match,
            assignment,
        )

    def knows(self, ticket_id: str) -> bool:
        """Return whether a ticket waits or is kept under this id."""
        return ticket_id in self.waiting or ticket_id in self.ended

    def apply(self, record: Record) -> None:
        """Fold a whole record, as recovery does."""
        for event in record.events:
            self.fold(record.input, event)
        self.seal(record)

    def fold(self, given: Input, event: Event) -> None:
        """Fold one event of the record that is being made or applied."""
        if isinstance(event, Accepted):
            assert isinstance(given, Enqueue)
            self._accept(given, event)
        elif isinstance(event, Matched):
            self._match(given.now, event.match)
        else:
            self._fold_rare(given, event)

    def _fold_rare(self, given: Input, event: Event) -> None:
        if isinstance(event, Cancelled):
            self._end(given.now, event.ticket, "cancelled", event.reason)
            self.counters.cancelled += 1
        elif isinstance(event, Expired):
            self._end(given.now, event.ticket, "expired", event.reason)
            self.counters.expired += 1
        elif isinstance(event, LeftQueue):
            row = self.waiting[event.ticket]
            queues = tuple(name for name in row.queues if name != event.queue)
            self.waiting[event.ticket] = Waiting(row.ticket, queues, self.sequence + 1)
        elif isinstance(event, Assigned):
            assert isinstance(given, Assign)
            self.matches[event.match] = msgspec.structs.replace(
                self.matches[event.match], assignment=given.assignment, assigned=self.sequence + 1
            )
        elif isinstance(event, Finished):
            self._finish(event.match)
        elif isinstance(event, JobAsked):
            self.counters.jobs = event.number
        elif isinstance(event, JobSettled):
            self.counters.dropped += event.dropped
        elif isinstance(event, Configured):
            assert isinstance(given, Configure)
            self.queues = {queue.name: queue for queue in given.queues}
            self.seed, self.version, self.paused = given.seed, given.version, given.pause
            for key in [key for key in self.recent if parts_of(key)[0] not in self.queues]:
                del self.recent[key]
            forget_unasked(self.met, given.queues)

    def seal(self, record: Record) -> None:
        """End a record: note its number, instant and key, and forget what is too old."""
        self.sequence = record.sequence
        self.now = record.input.now
        given = record.input
        if isinstance(given, Enqueue) and given.key is not None:
            self.keys[given.key] = Key(given.digest, given.now, self.results(record))
        self._forget()

    def results(self, record: Record) -> tuple[TicketView | Refused, ...]:
        """Return what became of each ticket of an `Enqueue`, right after its record."""
        found: list[TicketView | Refused] = []
        for event in record.events:
            if isinstance(event, Accepted | Existing):
                found.append(self.view(event.ticket))
            elif isinstance(event, Refused):
                found.append(event)
        return tuple(found)

    def counts_add_up(self) -> bool:
        """Return whether every accepted ticket is in exactly one count (I3)."""
        counters = self.counters
        ended = counters.matched + counters.cancelled + counters.expired
        return counters.accepted == len(self.waiting) + ended

    def shallow_copy(self) -> Tables:
        """Return a consistent snapshot that later folds do not touch."""
        copied = msgspec.structs.replace(self, counters=msgspec.structs.replace(self.counters))
        for name in ("queues", "waiting", "ended", "matches", "keys", "forgotten"):
            setattr(copied, name, dict(getattr(self, name)))
        copied.players = {group: dict(players) for group, players in self.players.items()}
        copied.met = {group: dict(players) for group, players in self.met.items()}
        copied.busy = {group: dict(players) for group, players in self.busy.items()}
        copied.recent = {key: recent.copy() for key, recent in self.recent.items()}
        return copied

    def _accept(self, given: Enqueue, event: Accepted) -> None:
        new = given.tickets[event.item]
        queues = new.queues or (next(iter(self.queues)),)
        players = new.players
        if self.met:
            players = with_meetings(new, [self.queues[name] for name in queues], self.met)
        ticket = Ticket(event.ticket, event.sequence, given.now, players, queues, new.attributes)
        if event.percentiles or self.recent:
            places = {key: placed.places for key, placed in event.percentiles.items()}
            ticket = msgspec.structs.replace(ticket, percentiles=places)
            remember(new, queues, event.percentiles, self.recent)
        self.waiting[event.ticket] = Waiting(ticket, queues, self.sequence + 1)
        group = self.players.setdefault(self.queues[queues[0]].group, {})
        for player in new.players:
            group[player.id] = event.ticket
        self.counters.accepted += 1

    def _match(self, now: float, match: Match) -> None:
        for ticket_id in match.tickets:
            self._end(now, ticket_id, "matched", None, match.id)
        queue = self.queues[match.queue]
        self.matches[match.id] = KeptMatch(
            self.sequence + 1, match, queue.exclusive_match, now + queue.match_max
        )
        if queue.exclusive_match:
            busy = self.busy.setdefault(queue.group, {})
            for team in match.players:
                for player in team:
                    busy[player] = match.id
        if queue.remembers:
            note_meetings(self.met, match, queue.group, self.queues.values())
        counters = self.counters
        counters.matched += len(match.tickets)
        counters.matches += 1
        counters.bots += match.bots

    def _end(
        self, now: float, ticket_id: str, state: str, reason: str | None, match: str | None = None
    ) -> None:
        ticket = self.waiting.pop(ticket_id).ticket
        # The ticket's queues may be gone from the configuration by now, its group is not.
        for players in self.players.values():
            for player in ticket.players:
                if players.get(player.id) == ticket_id:
                    del players[player.id]
        self.ended[ticket_id] = Ended(
            state,
            ticket.sequence,
            ticket.queues,
            ticket.enqueued_at,
            now,
            self.sequence + 1,
            reason,
            match,
            tuple(player.id for player in ticket.players),
        )

    def _finish(self, match_id: str) -> None:
        kept = self.matches[match_id]
        if not kept.live:
            return
        self.matches[match_id] = msgspec.structs.replace(kept, live=False)
        for busy in self.busy.values():
            for team in kept.match.players:
                for player in team:
                    if busy.get(player) == match_id:
                        del busy[player]

    def _forget(self) -> None:
        """Drop ended tickets, keys and matches that are kept long enough.

        In batches: walking past the deleted front of a dict at every record would be quadratic.
        """
        is_over = (
            len(self.ended) >= 2 * KEEP_ENDED_MOST or len(self.matches) >= 2 * KEEP_MATCHES_MOST
        )
        if self.now < self.forget_at and not is_over:
            return
        self.forget_at = self.now + FORGET_EVERY
        before = self.now - KEEP_ENDED
        for ticket_id in _first(self.ended, lambda end: end.ended_at < before, KEEP_ENDED_MOST):
            del self.ended[ticket_id]
        for key in _first(self.keys, lambda key: key.at < before, KEYS_MOST):
            del self.keys[key]
        before = self.now - KEEP_MATCHES
        for match_id in _first(
            self.matches, lambda kept: kept.match.at < before and not kept.live, KEEP_MATCHES_MOST
        ):
            self._finish(match_id)
            kept = self.matches.pop(match_id)
            self.forgotten[kept.match.queue] = kept.made

    def _check(self) -> None:
        """Assert what must hold between records: I1, I2, I3 and the index of players."""
        assert self.counts_add_up(), "I3: a ticket was lost"
        assert not self.waiting.keys() & self.ended.keys(), "I2: a ticket in two states"
        seen: dict[tuple[str, str], str] = {}
        for ticket_id, row in self.waiting.items():
            assert row.queues, f"I2: ticket {ticket_id} waits in no queue"
            group = self.queues[row.queues[0]].group
            for player in row.ticket.players:
                assert (group, player.id) not in seen, f"I1: player {player.id} waits twice"
                seen[group, player.id] = ticket_id
        index = {(g, p): t for g, players in self.players.items() for p, t in players.items()}
        assert index == seen, "I1: the index of players differs from the tickets"


def _first(rows: dict[str, Row], is_old: Callable[[Row], bool], most: int) -> list[str]:
    """Return the ids of the rows at the front that are old, or more than are kept."""
    old = [row_id for row_id, _ in takewhile(lambda item: is_old(item[1]), rows.items())]
    surplus = len(rows) - most
    return old if len(old) >= surplus else list(islice(rows, surplus))
