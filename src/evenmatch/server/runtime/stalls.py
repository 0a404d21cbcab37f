"""Gives players who are asked to accept the time back for which the event loop was away.

What they sent meanwhile lies in the sockets, and is read after their time was up. Nearly everybody
answers long before, so a short stall is only noted, and whoever has not answered gets what they are
owed when their time is up. A record for each open proposal at each stall would take the loop the
longer, the more of them there are, and so become the next stall. For the same reason nobody gets
time more than twice: giving it to many whose time is up at once may itself be a stall.

A long absence is made up for at once, for all: clients show until when they may answer.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import islice

from evenmatch.engine.engine import Engine
from evenmatch.engine.state.rows import Proposal
from evenmatch.model.inputs import Prolong
from evenmatch.server.runtime.absence import whole_time
from evenmatch.server.runtime.clock import Clock

AT_ONCE = 2.0
"""Seconds from which on an absence is made up for at once."""
TIMES_MOST = 2
"""How often somebody gets time for one proposal."""
AHEAD = 0.05
"""Seconds for which those are looked at whose time will be up: a loop that is behind reads many
inputs before it lets a deadline fire, and need not look at the same people before each."""
SLACK = 1e-3
"""Seconds by which a deadline that was rounded up may be later."""


class Stalls:
    """What the loop of one shard owes to players who are asked to accept; engine time."""

    def __init__(self) -> None:
        # When the loop was last seen before a stall, and all that was owed since the first.
        self._instants: list[float] = []
        self._totals: list[float] = []
        # By proposal and ticket: the total that it had its share of, and how often it got some.
        self._given: dict[tuple[str, str], tuple[float, int]] = {}
        # Whose time is up by then has had what is owed for the stalls so far.
        self._settled_until = -math.inf

    @property
    def are_owed(self) -> bool:
        """Return whether anybody may be owed something."""
        return bool(self._instants)

    def forget(self) -> None:
        """Owe nothing any more: whoever recovers a shard gives time back in its own way."""
        self._instants.clear()
        self._totals.clear()
        self._given.clear()

    def inputs(
        self, engine: Engine, clock: Clock, absence: tuple[float, float], latest: float
    ) -> Iterator[Prolong]:
        """Note an absence of the loop, and yield the inputs that give time back now.

        Args:
            engine: Each input is to be handed in before the next is asked for.
            clock: Of engine time.
            absence: How long it was, and how much of that is owed, seconds; see `Lag.notice`.
            latest: The instant of the input that comes next.

        Complexity:
            O(1), but for the first time within `AHEAD` at which answers are due.
        """
        proposals = engine.tables.proposals
        if not proposals:
            self.forget()
            return
        away, excused = absence
        seconds, now = excused * clock.speed, min(clock.now(), latest)
        # No deadline of the time since has fired.
        left_at = max(min(clock.before(away), latest), engine.now)
        if away >= AT_ONCE:
            yield from _prolong_all(engine, left_at, now, seconds)
        elif away:
            self._instants.append(left_at)
            self._totals.append(self._total + seconds)
            self._settled_until = -math.inf
        self._tidy(proposals)
        if self._instants and engine.next_answer <= now and now > self._settled_until:
            self._settled_until = now + AHEAD * clock.speed
            yield from self._make_up(engine, self._settled_until)

    def _make_up(self, engine: Engine, until: float) -> Iterator[Prolong]:
        """Give what is owed to those who have not answered and whose time is up by an instant.

        The inputs come at the instant of the last one: nothing fires before them.
        """
        waiting, proposals = engine.tables.waiting, engine.tables.proposals
        self._given = {key: it for key, it in self._given.items() if key[0] in proposals}
        named: dict[float, list[str]] = {}
        for ticket_id in engine.answers_due(until):
            match_id = waiting[ticket_id].match
            assert match_id is not None
            proposal = proposals[match_id]
            asked_since = proposal.until[ticket_id] - whole_time(proposal) - SLACK
            asked_at = max(proposal.proposed_at, asked_since)
            had, times = self._given.get((match_id, ticket_id), (self._total_before(asked_at), 0))
            seconds = self._total - had
            if seconds > 0.0 and times < TIMES_MOST:
                self._given[match_id, ticket_id] = self._total, times + 1
                named.setdefault(seconds, []).append(ticket_id)
        for seconds, tickets in named.items():
            yield Prolong(engine.now, seconds, tuple(tickets))

    @property
    def _total(self) -> float:
        return self._totals[-1] if self._totals else 0.0

    def _total_before(self, asked_at: float) -> float:
        """Return what was owed for stalls before somebody was asked."""
        count = bisect_left(self._instants, asked_at)
        return self._totals[count - 1] if count else 0.0

    def _tidy(self, proposals: Mapping[str, Proposal]) -> None:
        """Drop the stalls before all that are open, but the last of them, which has their total."""
        first = next(iter(proposals.values()), None)
        if first is None or (self._instants and self._instants[-1] < first.proposed_at):
            self.forget()
        elif (count := bisect_left(self._instants, first.proposed_at) - 1) > 0:
            del self._instants[:count], self._totals[:count]


def _prolong_all(engine: Engine, left_at: float, now: float, seconds: float) -> Iterator[Prolong]:
    yield Prolong(left_at, seconds)
    # The journal must not end in the past: whoever took over would let it pass again. Some stand
    # for all, and several, because a proposal may end meanwhile.
    some = islice(engine.tables.proposals.values(), 8)
    tickets = tuple(ticket_id for proposal in some for ticket_id in proposal.until)
    if tickets and left_at < now:
        yield Prolong(now, 0.0, tickets)
