"""Gives players who are asked to accept the time back for which the event loop was away.

What they sent meanwhile lies in the sockets, and is read after their time was up. Nearly everybody
answers long before, so a short stall is only noted, and a proposal gets what it is owed when its
time is up. A record for each open proposal at each stall would take the loop the longer, the more
of them there are, and so become the next stall.

A long absence is made up for at once, for all: clients show until when they may answer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping

from evenmatch.engine.engine import Engine
from evenmatch.engine.state.rows import Proposal
from evenmatch.model.inputs import Prolong
from evenmatch.server.runtime.clock import Clock

AT_ONCE = 2.0
"""Seconds from which on an absence is made up for at once."""


class Stalls:
    """What the loop of one shard owes to its proposals; engine time."""

    def __init__(self) -> None:
        # When the loop was last seen before a stall, and all that was owed since the first.
        self._instants: list[float] = []
        self._totals: list[float] = []
        # By proposal: how much of the total it need not get any more.
        self._given: dict[str, float] = {}

    def inputs(
        self, engine: Engine, clock: Clock, absence: tuple[float, float], latest: float
    ) -> Iterator[Prolong]:
        """Note an absence of the loop, and yield the inputs that give time back now.

        Args:
            engine: Each input is to be handed in before the next is asked for.
            clock: Of engine time.
            absence: How long it was, and how much of that is owed, seconds; see `Lag.notice`.
            latest: The instant of the input that comes next.
        """
        away, excused = absence
        seconds, now = excused * clock.speed, min(clock.now(), latest)
        # No deadline of the time since has fired.
        left_at = max(min(clock.before(away), latest), engine.now)
        if away >= AT_ONCE:
            yield from _prolong_all(engine, left_at, now, seconds)
        elif away:
            self._note(left_at, seconds, engine.tables.proposals)
        yield from self._make_up(engine, now)

    def forget(self) -> None:
        """Owe nothing any more: whoever recovers a shard gives time back in its own way."""
        self._instants.clear()
        self._totals.clear()
        self._given.clear()

    def _make_up(self, engine: Engine, now: float) -> Iterator[Prolong]:
        """Give what is owed to the proposals that would run out of time.

        Complexity:
            O(1) while nothing is owed or no answer is due, else O(n) in open proposals.
        """
        if not self._instants or (due := engine.next_answer) > now:
            return
        proposals = engine.tables.proposals
        self._given = {key: it for key, it in self._given.items() if key in proposals}
        named: dict[float, list[str]] = {}
        for match in engine.answers_due(now):
            proposal = proposals[match]
            asked_at = bisect_left(self._instants, proposal.proposed_at)
            before = self._totals[asked_at - 1] if asked_at else 0.0
            seconds = self._total - max(before, self._given.get(match, 0.0))
            self._given[match] = self._total
            if seconds > 0.0:
                named.setdefault(seconds, []).extend(proposal.until)
        for seconds, tickets in named.items():
            yield Prolong(max(engine.now, due), seconds, tuple(tickets))

    @property
    def _total(self) -> float:
        return self._totals[-1] if self._totals else 0.0

    def _note(self, at: float, seconds: float, proposals: Mapping[str, Proposal]) -> None:
        first_asked = next(iter(proposals.values())).proposed_at
        # The last stall before all that are open has the total that they do not get.
        if (count := bisect_left(self._instants, first_asked) - 1) > 0:
            del self._instants[:count], self._totals[:count]
        self._instants.append(at)
        self._totals.append(self._total + seconds)


def _prolong_all(engine: Engine, left_at: float, now: float, seconds: float) -> Iterator[Prolong]:
    yield Prolong(left_at, seconds)
    # The journal must not end in the past: whoever took over would let it pass again.
    proposal = next(iter(engine.tables.proposals.values()), None)
    if proposal is not None and left_at < now:
        yield Prolong(now, 0.0, tuple(proposal.until))
