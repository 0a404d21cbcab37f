"""Snapshots for the dashboard: one a second for each queue that a page is showing.

A snapshot is encoded once for all pages that show the same. While no page is open, nothing runs but
the fold.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

from evenmatch.errors import UnknownMatch
from evenmatch.server.dashboard.figures import Figures
from evenmatch.server.dashboard.messages import (
    LastHour,
    LoopShown,
    MatchShown,
    Queues,
    QueueShown,
    Tick,
    gap_messages,
    match_message,
)
from evenmatch.server.http.responses import encode, unknown_queue
from evenmatch.server.runtime.logs import log
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.views.followers import Event, Follower
from evenmatch.server.views.stalled_queues import StalledQueues
from evenmatch.server.views.timings import BUDGET

EVERY = 1.0
"""Seconds between two snapshots."""
ROWS = 3
"""Closed ticks that a snapshot repeats, so that a page that misses one has it from the next."""


class PageView(NamedTuple):
    """What a page shows: a queue, and those that it may choose from; none of them means all."""

    queue: str
    own: frozenset[str] = frozenset()


class _Viewers:
    """The pages that show the same, and what they were told last."""

    def __init__(self) -> None:
        self.followers: list[Follower] = []
        self.queues = b""
        self.matches: tuple[str, ...] = ()


class LiveSnapshots:
    """The snapshots of a server, and who gets them.

    Args:
        runtime: Whose clock is shown.
        figures: What is shown.
        standstills: Tells which queues stand still.
    """

    def __init__(self, runtime: Runtime, figures: Figures, standstills: StalledQueues) -> None:
        self._runtime = runtime
        self._figures = figures
        self._standstills = standstills
        self._audiences: dict[PageView, _Viewers] = {}
        self._ticker: asyncio.Task[None] | None = None
        self._number = 0

    def view_of(self, name: str | None, own: frozenset[str] = frozenset()) -> PageView:
        """Return what a page shows that asks for a queue; without a name, the first it may see.

        Args:
            name: As asked for.
            own: The queues that the caller's key is for; none of them means all.

        Raises:
            UnknownQueue: There is none.
        """
        known = [each for each in self._figures.queues if not own or each in own]
        if name is None and known:
            return PageView(known[0], own)
        if name is None or name not in known:
            raise unknown_queue(name or "", known)
        return PageView(name, own)

    def join(self, view: PageView, follower: Follower) -> None:
        """Let a page hear of a queue from now on."""
        self._audiences.setdefault(view, _Viewers()).followers.append(follower)
        if self._ticker is None:
            self._ticker = asyncio.create_task(self._tell())

    def part(self, view: PageView, follower: Follower) -> None:
        """Let a page hear no more."""
        audience = self._audiences.get(view)
        if audience is not None and follower in audience.followers:
            audience.followers.remove(follower)
            if not audience.followers:
                del self._audiences[view]

    async def first(self, view: PageView) -> AsyncIterator[Event]:
        """Yield all that a new page needs: the hour that was, and the present."""
        queue = view.queue
        yield self._queues(view)
        figures = self._figures.queues[queue]
        self._figures.advance(queue, self._runtime.now())
        history = figures.history
        after = figures.waiting.overdue_after
        yield self._event(
            "hour", LastHour(self._figures.step, after, history.fine(), history.coarse())
        )
        yield self._event("matches", self._recent(queue))
        yield self._event("tick", self._tick(queue))

    def match(self, name: str) -> MatchShown:
        """Return how one of the last matches came about.

        Raises:
            UnknownMatch: It is not kept any more, or never was made.
        """
        made = self._figures.made.get(name)
        figures = None if made is None else self._figures.queues.get(made.match.queue)
        if made is None or figures is None:
            raise UnknownMatch(
                f"the server knows how a match came about only for the latest matches, and "
                f"{name[:64]} is not one of them; GET /v1/matches/{{match}} knows older ones"
            )
        return match_message(made, figures)

    async def _tell(self) -> None:
        """Tell all pages, as long as there is one."""
        try:
            while self._audiences:
                await asyncio.sleep(EVERY)
                for view, audience in list(self._audiences.items()):
                    for event in self._news(view, audience):
                        for follower in audience.followers:
                            follower.offer(event)
        except Exception as error:  # noqa: BLE001
            # The pages come back by themselves; the server has better to do than to fall with them.
            log.error("dashboard_failed", error=repr(error), exc_info=error)
            for audience in self._audiences.values():
                for follower in audience.followers:
                    follower.cut()
        finally:
            self._ticker = None

    def _news(self, view: PageView, audience: _Viewers) -> list[Event]:
        """Return what a second brought to a queue."""
        queue = view.queue
        figures = self._figures.queues.get(queue)
        if figures is None:
            # It is gone from the configuration; the page comes back and shows another.
            for follower in audience.followers:
                follower.cut()
            return []
        found = []
        queues = self._queues(view)
        if queues.body != audience.queues:
            audience.queues = queues.body
            found.append(queues)
        self._figures.advance(queue, self._runtime.now())
        matches = tuple(made.match.id for made in figures.recent)
        if matches != audience.matches:
            audience.matches = matches
            found.append(self._event("matches", self._recent(queue)))
        found.append(self._event("tick", self._tick(queue)))
        return found

    def _queues(self, view: PageView) -> Event:
        figures, runtime = self._figures, self._runtime
        shown = tuple(
            QueueShown(
                name,
                each.queue.format.players,
                each.queue.policy,
                each.queue.wait_max,
                each.queue.accept is not None,
                name in figures.paused,
                figures.fault(name),
            )
            for name, each in figures.queues.items()
            if not view.own or name in view.own
        )
        speed = runtime.plan.settings.clock_speed
        value = Queues(view.queue, figures.version, speed, runtime.unready, shown)
        return self._event("queues", value)

    def _recent(self, queue: str) -> list[MatchShown]:
        figures = self._figures.queues[queue]
        return [match_message(made, figures) for made in reversed(figures.recent)]

    def _tick(self, queue: str) -> Tick:
        figures, now = self._figures.queues[queue], self._runtime.now()
        oldest = figures.waiting.oldest()
        return Tick(
            now,
            self._runtime.wall(),
            figures.history.fine(ROWS),
            len(figures.waiting),
            None if oldest is None else oldest.id,
            figures.waiting.heat(),
            tuple(figures.qualities),
            gap_messages(figures.mean_gaps()),
            figures.totals,
            figures.history.sum("asked"),
            figures.history.sum("unready"),
            self._loop(queue),
            self._standstills.of(queue),
        )

    def _loop(self, queue: str) -> LoopShown:
        runtime = self._runtime
        if runtime.failure is not None:
            return LoopShown(runtime.lag.longest, BUDGET, 0, 0, 0.0, is_slow=False)
        recent = runtime.timings.recent(queue, runtime.engine)
        return LoopShown(
            round(runtime.lag.longest, 3),
            BUDGET,
            recent.decisions,
            recent.over,
            round(recent.longest, 3),
            is_slow=recent.is_slow,
        )

    def _event(self, name: str, value: object) -> Event:
        self._number += 1
        return Event(self._number, name, encode(value))
