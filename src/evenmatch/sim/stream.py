"""Arrivals in order of time: what a simulation feeds to the engine."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from evenmatch.model.ticket import NewTicket


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """One ticket that comes.

    Args:
        at: Seconds from the start of the run.
        ticket: What it asks for.
        leaves_at: When it cancels if it still waits, seconds from the start; None means never.
    """

    at: float
    ticket: NewTicket
    leaves_at: float | None = None


class ArrivalStream(Iterator[Arrival]):
    """Arrivals with ascending `at`, made or read while they are taken; it can be used once.

    Args:
        arrivals: The arrivals, with times from the start of the run.
        offset: What to add to these times to get those of the file; 0 for drawn arrivals.
    """

    def __init__(self, arrivals: Iterator[Arrival], offset: float = 0.0) -> None:
        self.offset = offset
        self._arrivals = arrivals

    def __iter__(self) -> ArrivalStream:
        return self

    def __next__(self) -> Arrival:
        return next(self._arrivals)
