"""Arrivals that are known before they come, for the policies that ask for it.

A policy with a `horizon` is told of each arrival so many seconds ahead. A simulation knows what it
will draw or read, so it reads ahead as far as the longest horizon and no further.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping

from evenmatch.model.ticket import Ticket
from evenmatch.simulation.arrivals.stream import Arrival

AHEAD_MAX = 100_000
"""Arrivals read ahead; those beyond are announced later than their horizon says."""


class Foresight:
    """The arrivals in order, and beside them their announcements.

    Args:
        arrivals: By ascending time.
        horizons: Seconds ahead by queue; a queue with 0 is told nothing.
        first_queue: The queue of tickets that name none.
    """

    def __init__(
        self, arrivals: Iterable[Arrival], horizons: Mapping[str, float], first_queue: str
    ) -> None:
        self._unread = iter(arrivals)
        self._first_queue = (first_queue,)
        self._horizons = {name: ahead for name, ahead in horizons.items() if ahead > 0.0}
        # Read and not yet taken; the first of them is number `_taken` of all.
        self._read: deque[Arrival] = deque()
        self._taken = 0
        # How many of all arrivals each queue was told of, or needs not be.
        self._told = dict.fromkeys(self._horizons, 0)

    @property
    def at(self) -> float:
        """Return when the next ticket arrives; inf if none does."""
        return self._read[0].at if self._read or self._read_on() else math.inf

    def take(self) -> Arrival:
        """Return the next arrival."""
        arrival = self._read.popleft()
        self._taken += 1
        return arrival

    def announced_at(self, now: float) -> float:
        """Return when the next announcement is made, not before `now`; inf if none is."""
        at = math.inf
        for name, ahead in self._horizons.items():
            arrival = self._next_for(name)
            if arrival is not None:
                at = min(at, max(now, arrival.at - ahead))
        return at

    def announce(self, now: float) -> tuple[Ticket, str]:
        """Return a ticket to be announced now, as it will wait, and the queue to be told."""
        for name, ahead in self._horizons.items():
            arrival = self._next_for(name)
            if arrival is not None and arrival.at - ahead <= now:
                self._told[name] += 1
                new = arrival.ticket
                queues = new.queues or self._first_queue
                ticket = Ticket(new.id or "", 0, arrival.at, new.players, queues, new.attributes)
                return ticket, name
        raise LookupError(f"nothing is to be announced at {now}")

    def _next_for(self, name: str) -> Arrival | None:
        """Return the next arrival that a queue is to be told of; None if none is known."""
        told = self._told
        told[name] = max(told[name], self._taken)
        while True:
            place = told[name] - self._taken
            if place >= AHEAD_MAX or (place == len(self._read) and not self._read_on()):
                return None
            arrival = self._read[place]
            # Without an id of its own nobody would know the ticket again.
            if name in (arrival.ticket.queues or self._first_queue) and arrival.ticket.id:
                return arrival
            told[name] += 1

    def _read_on(self) -> bool:
        """Read one more arrival; return whether there is one."""
        arrival = next(self._unread, None)
        if arrival is not None:
            self._read.append(arrival)
        return arrival is not None
