"""The policies that broke their contract, in the log: each once, and where in its code."""

from __future__ import annotations

from evenmatch.engine.engine import Engine
from evenmatch.errors import PolicyError
from evenmatch.server.runtime.logs import log


class FaultLog:
    """Remembers what was told already."""

    def __init__(self) -> None:
        self._known: list[PolicyError] = []

    def forget(self) -> None:
        """Tell of everything anew: the matchers are new."""
        self._known = []

    def tell(self, engine: Engine) -> None:
        """Log what has come since the last time."""
        known, self._known = self._known, engine.faults
        for fault in self._known:
            if fault not in known:
                what = "its queue makes no match"
                log.error(
                    "policy_fault", fault=str(fault), consequence=what, exc_info=fault.__cause__
                )
