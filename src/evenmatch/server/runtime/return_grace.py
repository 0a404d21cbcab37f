"""Gives players who waited before a restart more time to accept a match.

A client that has lost its server tries again after a pause, which grows each time, so it may hear
late of what its player is asked in between. Therefore, for `RETURN_SECONDS` after the server is
back, a ticket from before the restart that is asked to accept, and that fewer clients follow than
it has players, gets the rest of these seconds and then its whole time to answer. Who follows a
ticket is kept in memory only and is no input; the `Prolong` that comes of it is journalled. Tickets
that were asked before the restart get their time from `absence.time_back`, at the instant at which
the server went away.
"""

from __future__ import annotations

import asyncio
import math

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.state.rows import Proposal
from evenmatch.model.events import Proposed, Repaired
from evenmatch.model.inputs import Prolong
from evenmatch.server.runtime.absence import more_time
from evenmatch.server.runtime.answer_futures import ignore
from evenmatch.server.runtime.clock import RETURN_SECONDS
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.views.followers import TicketFeed


class ReturnGrace:
    """Gives more time to accept to players whose clients may not have reconnected yet.

    Args:
        tickets: Knows who follows which ticket now.
    """

    def __init__(self, tickets: TicketFeed) -> None:
        self._tickets = tickets
        self._runtime: Runtime | None = None
        self._engine: Engine | None = None
        self._since = self._until = -math.inf
        # Tickets that were asked by records that are durable now, until the next turn of the loop.
        self._asked: list[str] = []

    def begin(self, runtime: Runtime) -> None:
        """Start handing in through this runtime."""
        self._runtime = runtime

    def reset(self, engine: Engine) -> None:
        """Start over: the server is back."""
        assert self._runtime is not None
        self._engine = engine
        self._asked.clear()
        self._since = self._runtime.now()
        self._until = self._since + RETURN_SECONDS * self._runtime.clock.speed

    def hear(self, record: Record) -> None:
        """Note which players are asked to accept."""
        if record.input.now >= self._until:
            return
        asked = [
            ticket_id
            for event in record.events
            if type(event) is Proposed or type(event) is Repaired
            for ticket_id in event.until
            if self._is_away(ticket_id, event.match.id)
        ]
        if asked and not self._asked:
            # A listener hands nothing in: others have yet to hear of this record.
            asyncio.get_running_loop().call_soon(self._give_time)
        self._asked += asked

    def _is_away(self, ticket_id: str, match_id: str) -> bool:
        """Return whether a ticket is older than the server's return, and some are not back yet."""
        assert self._engine is not None
        # Memory may be ahead of what is durable: a ticket that has ended since needs no time, and
        # one that is asked for another match since has it with that one.
        row = self._engine.tables.waiting.get(ticket_id)
        if row is None or row.match != match_id or row.ticket.enqueued_at >= self._since:
            return False
        return self._tickets.count(ticket_id) < row.ticket.size

    def _give_time(self) -> None:
        assert self._runtime is not None
        asked, self._asked = dict.fromkeys(self._asked), []
        now = self._runtime.now()
        more: dict[float, list[str]] = {}
        for ticket_id in asked if now < self._until else ():
            proposal = self._proposal_of(ticket_id)
            if proposal is not None:
                seconds = more_time(proposal, ticket_id, now, self._until - now)
                more.setdefault(seconds, []).append(ticket_id)
        for seconds, tickets in more.items():
            if seconds > 0.0:
                self._runtime.handle(Prolong(now, seconds, tuple(tickets)), ignore)

    def _proposal_of(self, ticket_id: str) -> Proposal | None:
        """Return what a ticket is asked at this moment."""
        assert self._engine is not None
        tables = self._engine.tables
        row = tables.waiting.get(ticket_id)
        return None if row is None or row.match is None else tables.proposals.get(row.match)
