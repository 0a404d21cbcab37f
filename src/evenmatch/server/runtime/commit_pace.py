"""When the next commit begins: records gather for a moment, so that commits are fewer and larger.

What a commit costs hardly depends on how many records it has. So one that follows another at once
waits a little for those to come; after a pause, the first record is committed at once.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

COMMIT_EVERY = 0.005
"""Seconds between the beginnings of two commits, at least."""


class CommitPace:
    """The commits of one shard.

    Args:
        stopwatch: Seconds, only differences count.
    """

    def __init__(self, stopwatch: Callable[[], float]) -> None:
        self.seconds = 0.0
        """What the last commit took."""
        self._stopwatch = stopwatch
        self._began: float | None = None
        # By the event loop's clock, which is that of its timers.
        self._last_at = -math.inf

    @property
    def age(self) -> float:
        """Return for how many seconds the present commit has run; 0 if there is none."""
        began = self._began
        return 0.0 if began is None else self._stopwatch() - began

    async def gather(self) -> None:
        """Return when the next commit may begin; not before every request that is ready now."""
        since = asyncio.get_running_loop().time() - self._last_at
        await asyncio.sleep(max(0.0, COMMIT_EVERY - since))

    @contextmanager
    def commit(self) -> Iterator[None]:
        """Take note of a commit from its beginning to its end."""
        self._began = began = self._stopwatch()
        self._last_at = asyncio.get_running_loop().time()
        try:
            yield
        finally:
            self._began, self.seconds = None, self._stopwatch() - began
