"""Every view of the records counts what a naive recount counts, whatever happens to tickets.

Lives pass ready-checks, repairs, backfill, matches that are called off, deadlines, several queues,
and restarts from the journal (`lives.py`).
"""

from __future__ import annotations

from collections import Counter

import pytest

from evenmatch.engine.engine import Engine
from evenmatch.engine.ledger import Ledger
from evenmatch.engine.lifecycle import TicketLifecycle
from evenmatch.engine.records import Record
from evenmatch.journals.base import Entry
from evenmatch.lab.export.export import Trace, _take
from evenmatch.model.events import (
    WITHDRAWN,
    Accepted,
    Cancelled,
    Dissolved,
    Expired,
    LeftQueue,
    Matched,
    Penalised,
    Proposed,
    Repaired,
    Voided,
)
from evenmatch.model.inputs import Enqueue
from evenmatch.model.match import Match
from evenmatch.server.dashboard.figures import Figures
from evenmatch.server.views.by_player import PlayerTickets
from evenmatch.server.views.followers import Followers, TicketFeed
from evenmatch.server.views.forecasting import WaitEstimates
from evenmatch.server.views.heartbeats import Presence
from evenmatch.server.views.statistics import Statistics, wait_stats
from tests.extent import extent, more
from tests.property.lives import SETS, Life

pytestmark = more

RUNS, ACTS = extent(24, 300), 150


class Live:
    """A live ticket as the recount knows it."""

    def __init__(self, queues: tuple[str, ...], at: float, players: tuple[str, ...]) -> None:
        self.queues, self.at, self.players = list(queues), at, players
        self.proposal = ""


class Recount:
    """Everything that happened, kept plainly and counted anew whenever somebody asks."""

    def __init__(self, first: str) -> None:
        self.first = first
        self.live: dict[str, Live] = {}
        self.matches: dict[str, Match] = {}
        self.waits: dict[str, list[tuple[float, int]]] = {}
        self.counts: Counter[tuple[str, str]] = Counter()
        self.proposals: dict[str, str] = {}
        self.left_proposal = ""

    def hear(self, record: Record) -> None:
        for event in record.events:
            self._hear(record, event)

    def _hear(self, record: Record, event: object) -> None:
        now = record.input.now
        if isinstance(event, Accepted):
            assert isinstance(record.input, Enqueue)
            new = record.input.tickets[event.item]
            queues = new.queues or (self.first,)
            players = tuple(player.id for player in new.players)
            self.live[event.ticket] = Live(queues, now, players)
            self.counts.update((name, "arrivals") for name in queues)
        elif isinstance(event, Matched):
            self._match(event.match)
        elif isinstance(event, Voided):
            for match in (event.match, *event.fills):
                del self.matches[match], self.waits[match]
            for each in event.tickets:
                players = tuple(player.id for player in each.players)
                self.live[each.id] = Live(each.queues, each.enqueued_at, players)
        elif isinstance(event, Cancelled):
            self.left_proposal = self.proposals.get(event.match or "", "")
            gone = self.live.pop(event.ticket)
            self.counts.update((name, "cancelled") for name in gone.queues)
        elif isinstance(event, Expired):
            gone = self.live.pop(event.ticket)
            self.counts.update((name, "expired") for name in gone.queues)
        elif isinstance(event, LeftQueue):
            self.live[event.ticket].queues.remove(event.queue)
        elif isinstance(event, Penalised):
            self.counts[self.left_proposal, "unready"] += 1
        elif isinstance(event, Proposed | Repaired):
            self._ask(event)
        elif isinstance(event, Dissolved):
            how = "withdrawn" if event.reason == WITHDRAWN else "failed"
            self.counts[self.proposals.pop(event.match), how] += 1
            for each in event.tickets:
                self.live[each].proposal = ""

    def _ask(self, event: Proposed | Repaired) -> None:
        match = event.match
        asked = match.tickets if isinstance(event, Proposed) else event.joined
        self.proposals[match.id] = match.queue
        self.counts[match.queue, type(event).__name__.lower()] += 1
        for each in asked:
            self.live[each].proposal = match.id
            self.counts[match.queue, "asked"] += len(self.live[each].players)

    def _match(self, match: Match) -> None:
        if match.id in self.proposals:
            self.counts[self.proposals.pop(match.id), "confirmed"] += 1
        gone = [self.live.pop(each) for each in match.tickets]
        self.matches[match.id] = match
        self.waits[match.id] = [(match.at - each.at, len(each.players)) for each in gone]

    def of(self, queue: str) -> list[Match]:
        """Return the matches of a queue that were played."""
        return [match for match in self.matches.values() if match.queue == queue]

    def waited(self, queue: str) -> list[float]:
        """Return the wait of each player of them."""
        matches = [match.id for match in self.of(queue)]
        return [wait for each in matches for wait, size in self.waits[each] for _ in range(size)]

    def waiting(self, queue: str) -> set[str]:
        """Return the tickets that wait in a queue, and that no proposal has."""
        return {key for key, at in self.live.items() if queue in at.queues and not at.proposal}


class Views:
    """All that hears of a life, and the recount."""

    def __init__(self, seed: int) -> None:
        queues = SETS[seed % len(SETS)]
        self.names = [queue.name for queue in queues]
        self.recount = Recount(self.names[0])
        self.statistics, self.figures = Statistics(), Figures(1.0)
        self.estimates, self.players = WaitEstimates(), PlayerTickets()
        self.ledger, self.trace = Ledger((), queues), Trace()
        self.presence = Presence(TicketFeed(Followers(1)))
        views = (self.statistics, self.figures, self.estimates, self.players, self.presence)
        self.lifecycle = TicketLifecycle(views)
        # The first record configures the engine that listeners begin with.
        self.is_begun = False
        self.life = Life(seed, self.hear, self.reset)
        self.reset(self.life.engine)

    def reset(self, engine: Engine) -> None:
        self.lifecycle.reset(engine)
        self.is_begun = True

    def hear(self, record: Record) -> None:
        self.recount.hear(record)
        self.ledger.hear(record)
        _take(self.trace, Entry(record, 0.0))
        if self.is_begun:
            self.lifecycle.hear(record)

    def agree(self) -> None:
        tables, recount = self.life.engine.tables, self.recount
        assert self.statistics.totals == tables.counters
        assert self.statistics.players == sum(len(each.players) for each in recount.live.values())
        assert self.trace.matches == recount.matches
        assert set(self.trace.arrived) >= set(recount.live)
        assert self.figures.made.keys() == recount.matches.keys()
        watched = self.estimates._forecast._waiters
        assert {key: set(at) for key, at in watched.items()} == {
            key: set(at.queues) for key, at in recount.live.items()
        }
        queues = tables.queues
        assert self.presence._watched.keys() == {
            key
            for key, at in recount.live.items()
            if any(queues[q].silent_after for q in at.queues)
        }
        for ticket, live in recount.live.items():
            row = tables.waiting[ticket]
            assert (list(row.queues), row.match or "") == (live.queues, live.proposal)
            for player in live.players:
                assert ticket in self.players.of(player)
        for name in self.names:
            self._agree_on(name)

    def _agree_on(self, name: str) -> None:
        recount, now = self.recount, self.life.now
        waits, played, waiting = recount.waited(name), recount.of(name), recount.waiting(name)
        counts = {what: at for (queue, what), at in recount.counts.items() if queue == name}

        stats = self.statistics.of(name, now, ())
        assert stats.waiting == len(waiting)
        assert (stats.matches, stats.matched) == (len(played), len(waits))
        assert stats.arrivals == counts.get("arrivals", 0)
        assert stats.wait == wait_stats(waits)
        asked, unready, ended, given_up = self.statistics.checks()[name]
        assert (asked, unready) == (counts.get("asked", 0), counts.get("unready", 0))
        failed = counts.get("failed", 0)
        done = counts.get("confirmed", 0) + counts.get("withdrawn", 0)
        assert (ended, given_up) == (done + failed, failed)

        figures = self.figures.queues[name]
        assert {ticket.id for ticket in figures.waiting.tickets()} == waiting
        totals = {"matches": len(played), "players": len(waits)}
        kinds = ("arrivals", "expired", "cancelled", "proposed", "repaired", "failed", "asked")
        totals |= {kind: counts.get(kind, 0) for kind in (*kinds, "unready")}
        assert figures.totals == totals

        sums = self.ledger.of(name)
        assert sums.waiting == sum(name in each.queues for each in recount.live.values())
        assert (sums.matches, sums.players) == (len(played), len(waits))
        assert sums.expired == counts.get("expired", 0)
        assert sorted(sums.waits) == sorted(waits)
        assert sums.wait == pytest.approx(sum(waits))
        entered = sum(each.at for each in recount.live.values() if name in each.queues)
        assert sums.entered == pytest.approx(entered)
        assert sums.bots == sum(match.bots for match in played)


@pytest.mark.parametrize("seed", range(RUNS))
def test_views_agree_with_a_recount(seed: int) -> None:
    views = Views(seed)
    for _ in range(ACTS):
        views.life.act(restarts=True)
        views.agree()
    assert views.recount.counts
