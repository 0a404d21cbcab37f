"""The protocol of views that hear of each record once it is durable."""

from __future__ import annotations

from typing import Protocol

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record


class Listener(Protocol):
    """Hears of each record once it is durable, and never earlier."""

    def reset(self, engine: Engine) -> None:
        """Start over: everything in the engine's tables is durable."""
        ...

    def hear(self, record: Record) -> None:
        """Take note of the next durable record."""
        ...
