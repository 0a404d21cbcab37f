"""What happened in a simulation: flat lists with one place per ticket, and the matches."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from evenmatch.criteria.gaps import Gaps
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Ticket

WAITING, MATCHED, CANCELLED, EXPIRED = range(4)
"""Codes in `History.states`."""
STATES = ("waiting", "matched", "cancelled", "expired")
"""Names of the codes; `waiting` at the end of a run means unfinished."""


NO_GAPS: Mapping[str, float] = MappingProxyType({})


class History:
    """All tickets of a run in order of acceptance, and all matches in order of making.

    Tickets have no objects of their own here: a million of them are a handful of lists. Times are
    seconds from the start of the run; `ticket_rows` and `match_rows` add `offset`.

    Args:
        default_queue: Where a ticket waits that names no queue.
        warmup: Tickets enqueued before this many seconds are simulated, not counted.
        offset: What to add to times to get those of the arrivals' file.
        keeps_tickets: Whether to remember attributes too, which `--by` and `--optimum` ask for.
    """

    def __init__(
        self,
        default_queue: str,
        *,
        warmup: float = 0.0,
        offset: float = 0.0,
        keeps_tickets: bool = False,
    ) -> None:
        self._default = (default_queue,)
        self.warmup = warmup
        self.offset = offset
        self.keeps_tickets = keeps_tickets
        self.ids: list[str] = []
        self.index: dict[str, int] = {}
        self.enqueued_at: list[float] = []
        self.sizes: list[int] = []
        self.queues: list[tuple[str, ...]] = []
        self.states = bytearray()
        self.ended_at: list[float] = []
        self.match_of: list[int] = []
        self.reasons: dict[int, str] = {}
        self.tickets: list[NewTicket] = []
        self.leaves_at: dict[int, float] = {}
        self.matches: list[Match] = []
        # By name a number for each match, NaN where it has none: see `criteria.gaps`.
        self.gaps: dict[str, array[float]] = {}
        self.merged = 0
        self.checks: dict[str, int | float | None] | None = None
        self.end = 0.0

    @property
    def first_counted(self) -> int:
        """Return the index of the first ticket after the warm-up; all later ones count."""
        return bisect_left(self.enqueued_at, self.warmup)

    def accept(self, ticket_id: str, ticket: NewTicket, at: float) -> int:
        """Note a ticket that waits now, and return its index."""
        at_index = len(self.ids)
        self.index[ticket_id] = at_index
        self.ids.append(ticket_id)
        self.enqueued_at.append(at)
        self.sizes.append(len(ticket.players))
        self.queues.append(ticket.queues or self._default)
        self.states.append(WAITING)
        self.ended_at.append(at)
        self.match_of.append(-1)
        if self.keeps_tickets:
            self.tickets.append(ticket)
        return at_index

    def match(self, match: Match, gaps: Mapping[str, float] = NO_GAPS) -> None:
        """Note a match, the end of its tickets.

        Args:
            match: As it was made.
            gaps: What is known of it in the units of attributes.
        """
        for name, value in gaps.items():
            known = self.gaps.setdefault(name, array("d"))
            known.extend([math.nan] * (len(self.matches) - len(known)))
            known.append(value)
        number = len(self.matches)
        self.matches.append(match)
        at, index, states = match.at, self.index, self.states
        for ticket_id in match.tickets:
            place = index[ticket_id]
            states[place] = MATCHED
            self.ended_at[place] = at
            self.match_of[place] = number

    def leave(self, ticket_id: str, state: int, at: float, reason: str) -> None:
        """Note the end of a ticket that was not matched."""
        place = self.index[ticket_id]
        self.states[place] = state
        self.ended_at[place] = at
        self.reasons[place] = reason

    def finish(self, end: float) -> None:
        """End the run; the waits of unfinished tickets are censored here."""
        self.end = end
        for place, state in enumerate(self.states):
            if state == WAITING:
                self.ended_at[place] = end

    def ticket_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of the tickets' JSONL file.

        An unfinished ticket has the state `waiting`, no `ended_at`, and as `wait` the time it had
        waited when the run ended.
        """
        for place, ticket_id in enumerate(self.ids):
            at, ended, state = self.enqueued_at[place], self.ended_at[place], self.states[place]
            number = self.match_of[place]
            yield {
                "ticket": ticket_id,
                "state": STATES[state],
                "enqueued_at": at + self.offset,
                "ended_at": None if state == WAITING else ended + self.offset,
                "wait": ended - at,
                "match": None if number < 0 else self.matches[number].id,
                "reason": self.reasons.get(place),
            }

    def match_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of the matches' JSONL file."""
        for match in self.matches:
            yield match_row(match, self.offset)


def match_row(match: Match, offset: float = 0.0) -> dict[str, Any]:
    """Return the line of a match in a JSONL file; `offset` is added to its instant."""
    row = {
        "match": match.id,
        "queue": match.queue,
        "at": match.at + offset,
        "tickets": list(match.tickets),
        "teams": [list(team) for team in match.teams],
        "bots": match.bots,
        "cost": match.cost,
        "quality": match.quality,
    }
    if match.handicap is not None:
        row["handicap"] = list(match.handicap)
    if match.roles is not None:
        row["roles"] = [list(team) for team in match.roles]
    if match.region is not None and match.latency_delta is not None:
        row["region"] = match.region
        row["latency_delta"] = [list(team) for team in match.latency_delta]
    if match.hosts is not None:
        row["hosts"] = list(match.hosts)
    if match.off_side is not None:
        row["off_side"] = list(match.off_side)
    return row


# The gaps of simulated matches, taken when a match is made: later nobody knows its tickets.


class GapMeter:
    """Keeps waiting tickets until the gaps of their match are measured.

    Args:
        queues: As simulated.
    """

    def __init__(self, queues: tuple[Queue, ...]) -> None:
        self._gaps = {queue.name: Gaps(queue) for queue in queues}
        self._is_idle = not any(gaps.names for gaps in self._gaps.values())
        self._waiting: dict[str, Ticket] = {}

    def enter(self, ticket: Ticket) -> None:
        """Note a ticket that waits now."""
        if not self._is_idle:
            self._waiting[ticket.id] = ticket

    def leave(self, ticket: str) -> None:
        """Forget a ticket that has ended without a match."""
        self._waiting.pop(ticket, None)

    def gaps_of(self, match: Match) -> Mapping[str, float]:
        """Return a match's gaps by name, and forget its tickets; none of a match with bots."""
        if self._is_idle:
            return NO_GAPS
        known = {name: self._waiting.pop(name) for name in match.tickets}
        if match.bots:
            return NO_GAPS
        gaps = self._gaps[match.queue]
        teams = [[known[name] for name in team] for team in match.teams]
        return dict(zip(gaps.names, gaps.of(teams, match.roles, region=match.region), strict=True))
