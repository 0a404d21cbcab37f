"""The dashboard's snapshots: one a second of each queue that somebody looks at.

A snapshot is encoded once, however many pages are open. While none is, nothing runs but the fold.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from evenmatch.errors import UnknownMatch
from evenmatch.server.dashboard.figures import Figures
from evenmatch.server.dashboard.shown import (
    Hour,
    MatchShown,
    Queues,
    QueueShown,
    Tick,
    match_shown,
)
from evenmatch.server.followers import Event, Follower
from evenmatch.server.logs import log
from evenmatch.server.responses import encode
from evenmatch.server.runtime import Runtime
from evenmatch.server.unknown_queues import unknown_queue

EVERY = 1.0
"""Seconds between two snapshots."""
ROWS = 3
"""Closed ticks that a snapshot repeats, so that a page that misses one has it from the next."""


class _Audience:
    """The pages that show one queue, and what they were told last."""

    def __init__(self) -> None:
        self.followers: list[Follower] = []
        self.queues = b""
        self.matches: tuple[str, ...] = ()


class Live:
    """The snapshots of a server, and who gets them.

    Args:
        runtime: Whose clock is shown.
        figures: What is shown.
    """

    def __init__(self, runtime: Runtime, figures: Figures) -> None:
        self._runtime = runtime
        self._figures = figures
        self._audiences: dict[str, _Audience] = {}
        self._ticker: asyncio.Task[None] | None = None
        self._number = 0

    def chosen(self, name: str | None) -> str:
        """Return the queue of this name; without a name, the first one.

        Raises:
            UnknownQueue: There is none.
        """
        known = self._figures.queues
        if name is None and known:
            return next(iter(known))
        if name is None or name not in known:
            raise unknown_queue(name or "", known)
        return name

    def join(self, queue: str, follower: Follower) -> None:
        """Let a page hear of a queue from now on."""
        self._audiences.setdefault(queue, _Audience()).followers.append(follower)
        if self._ticker is None:
            self._ticker = asyncio.create_task(self._tell())

    def part(self, queue: str, follower: Follower) -> None:
        """Let a page hear no more."""
        audience = self._audiences.get(queue)
        if audience is not None and follower in audience.followers:
            audience.followers.remove(follower)
            if not audience.followers:
                del self._audiences[queue]

    async def first(self, queue: str) -> AsyncIterator[Event]:
        """Yield all that a new page needs: the hour that was, and the present."""
        yield self._queues(queue)
        figures = self._figures.queues[queue]
        self._figures.advance(queue, self._runtime.now())
        history = figures.history
        after = figures.crowd.overdue_after
        yield self._event("hour", Hour(self._figures.step, after, history.fine(), history.coarse()))
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
                f"how match {name[:64]} came about is not kept, only that of the last matches; "
                f"a match that is older, but exists, is at /v1/matches"
            )
        return match_shown(made, figures)

    async def _tell(self) -> None:
        """Tell all pages, as long as there is one."""
        try:
            while self._audiences:
                await asyncio.sleep(EVERY)
                for queue, audience in list(self._audiences.items()):
                    for event in self._news(queue, audience):
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

    def _news(self, queue: str, audience: _Audience) -> list[Event]:
        """Return what a second brought to a queue."""
        figures = self._figures.queues.get(queue)
        if figures is None:
            # It is gone from the configuration; the page comes back and shows another.
            for follower in audience.followers:
                follower.cut()
            return []
        found = []
        queues = self._queues(queue)
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

    def _queues(self, queue: str) -> Event:
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
        )
        speed = runtime.plan.settings.clock_speed
        value = Queues(queue, figures.version, speed, runtime.unready, shown)
        return self._event("queues", value)

    def _recent(self, queue: str) -> list[MatchShown]:
        figures = self._figures.queues[queue]
        return [match_shown(made, figures) for made in reversed(figures.recent)]

    def _tick(self, queue: str) -> Tick:
        figures, now = self._figures.queues[queue], self._runtime.now()
        oldest = figures.crowd.oldest()
        return Tick(
            now,
            self._runtime.wall(),
            figures.history.fine(ROWS),
            len(figures.crowd),
            None if oldest is None else oldest.id,
            figures.crowd.heat(),
            tuple(figures.qualities),
            figures.totals,
        )

    def _event(self, name: str, value: object) -> Event:
        self._number += 1
        return Event(self._number, name, encode(value))
