"""Followers: clients that hear of changes as they become durable.

    journal --durable record--> TicketFeed --event--> one bounded inbox per client --> its socket

An event is encoded once, however many follow. Nobody waits for a slow client: when its inbox is
full it is cut, and it comes back with `Last-Event-ID` to get what it missed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator

import msgspec
from msgspec import UNSET

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.state.rows import TicketView
from evenmatch.model.events import (
    Assigned,
    Cancelled,
    Confirmed,
    Dissolved,
    Expired,
    LeftQueue,
    Matched,
    Prolonged,
    Proposed,
    Repaired,
    Updated,
    Voided,
)
from evenmatch.model.inputs import Assign, Configure
from evenmatch.model.queue import ReadyCheck
from evenmatch.server.http.responses import encode, too_many_followers
from evenmatch.wire.tickets import Estimate, TicketState

INBOX_MAX = 256
"""Events that may wait for one client."""
SEND_SECONDS = 30.0
"""A client that takes nothing for this long is cut."""

TICKET_STATES = ("waiting", "proposed", "matched", "assigned", "cancelled", "expired")
FINAL = frozenset({"cancelled", "expired"})
"""States that a ticket never leaves."""


class Event(msgspec.Struct, frozen=True, gc=False):
    """A change: its sequence, its name, its body as JSON; of a ticket, the match it is in."""

    sequence: int
    name: str
    body: bytes
    is_final: bool = False
    match: str | None = None

    def frame(self) -> bytes:
        """Return the event as a frame of server-sent events."""
        return b"event: %b\nid: %d\ndata: %b\n\n" % (self.name.encode(), self.sequence, self.body)


class Follower:
    """One client's inbox.

    Most inboxes are empty most of the time, and there are thousands: an empty one holds nothing.

    Args:
        most: Events that may wait in it.
        wake: Called when there is something to send, or nothing any more; None where somebody
            waits for `next`.
    """

    __slots__ = ("_inbox", "_most", "_waiter", "is_cut", "wake")

    def __init__(self, most: int = INBOX_MAX, wake: Callable[[], None] | None = None) -> None:
        self._most = most
        self._inbox: deque[Event] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self.is_cut = False
        self.wake = wake

    def offer(self, event: Event) -> None:
        """Put an event into the inbox, or cut a client that reads too slowly."""
        if self.is_cut:
            return
        if self._inbox is None:
            self._inbox = deque()
        if len(self._inbox) >= self._most:
            self.cut()
        else:
            self._inbox.append(event)
            self._rouse()

    def cut(self) -> None:
        """End the stream; what waits in the inbox is dropped."""
        if not self.is_cut:
            self.is_cut = True
            self._inbox = None
            self._rouse()

    def take(self) -> Event | None:
        """Return the next event, None if there is none now."""
        if self._inbox is None:
            return None
        event = self._inbox.popleft()
        if not self._inbox:
            self._inbox = None
        return event

    async def next(self, timeout: float) -> Event | None:
        """Return the next event; None if none came in time or the stream was cut."""
        if self._inbox is None and not self.is_cut:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout(timeout):
                    await self._waiter
            except TimeoutError:
                return None
            finally:
                self._waiter = None
        return self.take()

    def _rouse(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        if self.wake is not None:
            self.wake()


class Followers:
    """All followers of the server, counted, so that there is a limit and all can be ended."""

    def __init__(self, most: int) -> None:
        self._most = most
        # In the order in which they came, so that they are told in it.
        self._all: dict[Follower, None] = {}
        self._is_closed = False

    def __len__(self) -> int:
        """Return how many follow now."""
        return len(self._all)

    def admit(self, inbox_max: int = INBOX_MAX) -> Follower:
        """Return a new follower.

        Args:
            inbox_max: Events that may wait for it.

        Raises:
            Overloaded: There are as many as the server takes.
        """
        if len(self._all) >= self._most:
            raise too_many_followers(self._most)
        follower = Follower(inbox_max)
        if self._is_closed:
            follower.cut()
        self._all[follower] = None
        return follower

    def dismiss(self, follower: Follower) -> None:
        """Forget a follower that has left."""
        self._all.pop(follower, None)

    def cut_all(self) -> None:
        """End all streams and long polls."""
        for follower in list(self._all):
            follower.cut()

    def close(self) -> None:
        """End all streams and long polls, and refuse new ones at once."""
        self._is_closed = True
        self.cut_all()


NOT_URGED: dict[str, object] = {"answer_by": None, "long_wait": False}
"""A ticket whose players have all accepted."""
NOT_ASKED: dict[str, object] = {**NOT_URGED, "accepted": ()}
"""What is left of having been asked when the proposal is over."""


class _Topic(msgspec.Struct):
    """A ticket that has followers: its durable state, and who they are."""

    view: TicketView
    followers: list[Follower]


class TicketFeed:
    """Tells the followers of tickets about each durable change of state.

    `left` is told when the last follower of a ticket goes.
    """

    def __init__(self, followers: Followers) -> None:
        self.left: Callable[[str], None] | None = None
        self._followers = followers
        self._topics: dict[str, _Topic] = {}
        self._engine: Engine | None = None
        # The ready-checks by queue, and by proposal: one goes on as it began.
        self._configured: dict[str, ReadyCheck | None] = {}
        self._checks: dict[str, ReadyCheck | None] = {}

    def reset(self, engine: Engine) -> None:
        """Start over; followers come back and get the present state."""
        self._engine = engine
        tables = engine.tables
        self._configured = {name: queue.accept for name, queue in tables.queues.items()}
        self._checks = {name: proposal.queue.accept for name, proposal in tables.proposals.items()}
        self._topics.clear()
        self._followers.cut_all()

    def hear(self, record: Record) -> None:
        """Pass the changes of a durable record on."""
        self._note_checks(record)
        if not self._topics:
            return
        # One event for each ticket: a second one of the same record would have the same number,
        # and who had seen the first would never be sent it.
        changed: dict[str, _Topic] = {}
        for event in record.events:
            for ticket_id, changes in self._changes(record, event):
                topic = self._topics.get(ticket_id)
                if topic is not None:
                    topic.view = msgspec.structs.replace(
                        topic.view, changed=record.sequence, **changes
                    )
                    changed[ticket_id] = topic
        for ticket_id, topic in changed.items():
            told = event_of(topic.view, record.input.now)
            for follower in topic.followers:
                follower.offer(told)
            if told.is_final:
                del self._topics[ticket_id]

    def join(self, view: TicketView, follower: Follower) -> None:
        """Start telling a follower about a ticket; `view` is its durable state now."""
        topic = self._topics.setdefault(view.id, _Topic(view, []))
        topic.followers.append(follower)

    def is_followed(self, ticket_id: str) -> bool:
        """Return whether somebody follows a ticket now."""
        return ticket_id in self._topics

    def follows(self, ticket_id: str, follower: Follower) -> bool:
        """Return whether a follower is told about a ticket."""
        topic = self._topics.get(ticket_id)
        return topic is not None and follower in topic.followers

    def count(self, ticket_id: str) -> int:
        """Return how many follow a ticket now."""
        topic = self._topics.get(ticket_id)
        return 0 if topic is None else len(topic.followers)

    def part(self, ticket_id: str, follower: Follower) -> None:
        """Stop telling a follower about a ticket."""
        topic = self._topics.get(ticket_id)
        if topic is not None and follower in topic.followers:
            topic.followers.remove(follower)
            if not topic.followers:
                del self._topics[ticket_id]
                if self.left is not None:
                    self.left(ticket_id)

    def _changes(self, record: Record, event: object) -> Iterator[tuple[str, dict[str, object]]]:
        """Yield the tickets whose state an event changes, with the fields that change."""
        now = record.input.now
        if isinstance(event, Matched):
            made = {"state": "matched", "ended_at": now, "match": event.match.id}
            for ticket_id in event.match.tickets:
                yield ticket_id, {**made, **NOT_ASKED}
        elif isinstance(event, Cancelled | Expired):
            state = "cancelled" if isinstance(event, Cancelled) else "expired"
            match = event.match if isinstance(event, Cancelled) else None
            ended = {"state": state, "ended_at": now, "reason": event.reason, "match": match}
            yield event.ticket, {**ended, **NOT_ASKED}
        elif isinstance(event, LeftQueue | Updated):
            # No new state, but a new number: a resume would be sent it, so a live stream is too.
            yield event.ticket, {}
        elif isinstance(event, Proposed | Repaired):
            for ticket_id, by in event.until.items():
                asked = {"state": "proposed", "match": event.match.id, "answer_by": by}
                yield ticket_id, {**asked, "long_wait": self._had_waited_long(ticket_id, event)}
        elif isinstance(event, Prolonged):
            for ticket_id, by in event.until.items():
                yield ticket_id, self._prolonged(ticket_id, by)
        elif isinstance(event, Confirmed):
            yield event.ticket, self._accepted(event)
        elif isinstance(event, Dissolved):
            for ticket_id in event.tickets:
                yield ticket_id, {"state": "waiting", "match": None, **NOT_ASKED}
        elif isinstance(event, Voided):
            again: dict[str, object] = {
                "state": "waiting",
                "match": None,
                "assignment": None,
                "ended_at": None,
                "reason": None,
            }
            for ticket in event.tickets:
                yield ticket.id, {**again, "size": ticket.size}
        elif isinstance(event, Assigned):
            assert self._engine is not None
            place = event.assignment
            if place is None and isinstance(record.input, Assign):
                place = record.input.assignment
            kept_match = self._engine.tables.matches.get(event.match)
            for ticket_id in kept_match.match.tickets if kept_match is not None else ():
                yield ticket_id, {"state": "assigned", "assignment": place}

    def _note_checks(self, record: Record) -> None:
        """Note under which ready-check each proposal began; memory may be ahead of this record."""
        input_ = record.input
        if type(input_) is Configure:
            self._configured = {queue.name: queue.accept for queue in input_.queues}
        if not self._checks and not any(self._configured.values()):
            return
        for event in record.events:
            if isinstance(event, Proposed):
                self._checks[event.match.id] = self._configured.get(event.match.queue)
            elif isinstance(event, Matched) and self._checks:
                self._checks.pop(event.match.id, None)
            elif isinstance(event, Dissolved):
                self._checks.pop(event.match, None)

    def _had_waited_long(self, ticket_id: str, event: Proposed | Repaired) -> bool:
        """Return whether somebody who is asked now may have walked away meanwhile."""
        topic, accept = self._topics.get(ticket_id), self._checks.get(event.match.id)
        if topic is None or accept is None:
            return False
        by, since = event.until[ticket_id], topic.view.enqueued_at
        return accept.had_waited_long(since, by, event.match.at)

    def _accepted(self, event: Confirmed) -> dict[str, object]:
        """Return what changes for a ticket some of whose players accept."""
        topic = self._topics.get(event.ticket)
        if topic is None:
            return {}
        accepted = topic.view.accepted + event.players
        have_all = len(accepted) == topic.view.size
        return {"accepted": accepted, **(NOT_URGED if have_all else {})}

    def _prolonged(self, ticket_id: str, by: float) -> dict[str, object]:
        """Return what changes for a ticket whose proposal has until later.

        Where all have accepted, nothing but the number does, as in a resume.
        """
        topic = self._topics.get(ticket_id)
        return {} if topic is None or topic.view.answer_by is None else {"answer_by": by}


def ticket_state(view: TicketView, now: float, estimate: Estimate | None = None) -> TicketState:
    """Return a ticket as it goes over HTTP; `now` is engine time."""
    until = now if view.ended_at is None else view.ended_at
    wait = max(0.0, until - view.enqueued_at)
    left = UNSET if view.answer_by is None else max(0.0, view.answer_by - now)
    return TicketState(
        view.id,
        view.state,
        wait,
        view.reason,
        view.match,
        view.assignment,
        estimate,
        left,
        view.long_wait or UNSET,
        view.accepted if view.state == "proposed" else UNSET,
    )


def event_of(view: TicketView, now: float = 0.0, estimate: Estimate | None = None) -> Event:
    """Return the event for a ticket's state; `now` matters while it waits."""
    body = encode(ticket_state(view, now, estimate))
    return Event(view.changed, view.state, body, view.state in FINAL, view.match)
