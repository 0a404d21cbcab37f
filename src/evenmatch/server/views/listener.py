"""The protocol of views that hear of each record once it is durable."""

from __future__ import annotations

from typing import Protocol

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record


class Listener(Protocol):
    """Somebody who hears of records when they are durable, and of nothing earlier."""

    def reset(self, engine: Engine) -> None:
        """Begin anew: everything in the engine's tables is durable."""
        ...

    def hear(self, record: Record) -> None:
        """Take note of the next durable record."""
        ...
