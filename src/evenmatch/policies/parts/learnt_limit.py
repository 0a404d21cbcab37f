"""How even is even enough: the limit that would have been cheapest so far.

Each arrival also enters five **trials**: pools in which nobody plays for real, each with a limit of
its own, a factor of sqrt(2) apart. A trial counts what limits alone decide, whatever the rate: how
many players wait, and how uneven the matches are. An arrival costs

    wait_price * waiting / rate + weight * imbalance

on average, so that the best trial follows at once when the rate changes. Where the best one has no
neighbour, a new one is begun there with the last arrivals. Of trials that cost the same the largest
limit is taken, since among limits that decide alike a trial cannot know how far the next step is.

Formulas for the best limit hold for values of an even density only, where it is
.8 sqrt(wait_price / (weight / 2 * rate * density)) in a duel; those in the tails wait long, and
that is what a limit has to weigh.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from evenmatch.policies.parts.arrival_rate import ArrivalRate
from evenmatch.policies.parts.balance import Balance, Entry
from evenmatch.policies.parts.even_sets import pool_of

TRIALS = 5
STEP = math.sqrt(2.0)
FRESHNESS = 1.0 / 512.0
"""Weight of the newest arrival in what a trial costs."""
RECENT = 128
"""Arrivals with which a new trial begins."""
RENEW_EVERY = 16
"""Arrivals for which a limit holds; the first play without any."""
HELD_MAX = 256
"""Tickets that wait in a trial; of more the longest waiting are dropped."""
ALIKE = 1.005
"""Trials whose costs differ by no more than this factor cost the same."""
NEGLIGIBLE = 1e-3
"""Refusals, of the last arrivals, that count as none."""
SMALLEST, LARGEST = 2.0**-500, 2.0**500


class Trial:
    """A pool of those who would wait if the limit were this one.

    Args:
        balance: What teams are balanced by.
        limit: The largest imbalance that is accepted.
        wait_max: Seconds after which a ticket is gone.
        memory: What `memory()` said before a restart.
    """

    def __init__(self, balance: Balance, limit: float, wait_max: float, memory: Any = None) -> None:
        known: Mapping[str, Any] = memory or {}
        self.limit = limit
        self.widest = 0.0
        self._wait_max = wait_max
        self._seats = 2 * balance.players
        self._pool = pool_of(balance)
        self._held: dict[int, Entry] = {}
        self._players = 0
        sums: tuple[float, ...] = known.get("sums", (0.0,) * 4)
        self._arrived, self._waiting, self._uneven, self._refused = sums
        for each in known.get("held", ()):
            self._hold(_entry(each))

    def arrive(self, entry: Entry) -> None:
        """Let a ticket in, play if the limit allows, and count."""
        for oldest in self._overdue(entry.at):
            self._let_go(oldest)
        is_enough = self._players + entry.size >= self._seats
        found = self._pool.best(entry, self.limit)
        imbalance = 0.0 if found is None else found.imbalance
        if found is None:
            self._hold(entry)
        else:
            for other in found.others:
                self._let_go(other)
        self.widest = max(self.widest, imbalance)
        keep = 1.0 - FRESHNESS
        self._arrived = keep * self._arrived + 1.0
        self._waiting = keep * self._waiting + self._players
        self._uneven = keep * self._uneven + imbalance
        self._refused = keep * self._refused + (is_enough and found is None)

    @property
    def accepts_all(self) -> bool:
        """Return whether a larger limit would have changed nothing for long."""
        return self._refused < NEGLIGIBLE

    def cost(self, waiting: float, imbalance: float) -> float:
        """Return what an arrival costs.

        Args:
            waiting: Cost of a player who waits until the next arrival.
            imbalance: Cost of an imbalance of 1.
        """
        return (waiting * self._waiting + imbalance * self._uneven) / self._arrived

    def memory(self) -> dict[str, object]:
        """Return who waits, and the counts."""
        held = [_noted(each) for each in self._held.values()]
        sums = [self._arrived, self._waiting, self._uneven, self._refused]
        return {"limit": self.limit, "sums": sums, "held": held}

    def _overdue(self, now: float) -> list[Entry]:
        found = []
        for place, each in enumerate(self._held.values()):
            if now - each.at < self._wait_max and len(self._held) - place < HELD_MAX:
                break
            found.append(each)
        return found

    def _hold(self, entry: Entry) -> None:
        self._held[entry.sequence] = entry
        self._players += entry.size
        self._pool.add(entry)

    def _let_go(self, entry: Entry) -> None:
        del self._held[entry.sequence]
        self._players -= entry.size
        self._pool.remove(entry)


class LearntLimit:
    """The limit of the cheapest trial; the first players play as soon as they can.

    Args:
        balance: What teams are balanced by.
        price: Cost of a player-second of waiting, > 0.
        wait_max: Seconds after which a ticket is gone; None means never.
        memory: What `memory()` said before a restart.

    Complexity:
        `TRIALS` searches for each arrival.
    """

    def __init__(
        self, balance: Balance, price: float, wait_max: float | None, memory: Any = None
    ) -> None:
        known: Mapping[str, Any] = memory or {}
        self._balance = balance
        self._price = price
        self._wait_max = math.inf if wait_max is None else wait_max
        self._rate = ArrivalRate(price, known.get("arrivals", ()))
        recent = [_entry(each) for each in known.get("recent", ())]
        self._recent: deque[Entry] = deque(recent, maxlen=RECENT)
        self._arrived: int = known.get("arrived", 0)
        self._trials = [
            Trial(balance, each["limit"], self._wait_max, each) for each in known.get("trials", ())
        ]
        value = known.get("value")
        self.value: float = math.inf if value is None else value

    def arrived(self, entry: Entry) -> None:
        """Let an arrival into all trials, and now and then choose the best."""
        self._rate.note(entry.at)
        self._recent.append(entry)
        for trial in self._trials:
            trial.arrive(entry)
        self._arrived += 1
        if self._arrived % RENEW_EVERY == 0:
            if not self._trials:
                self._begin()
            if self._trials:
                self._choose(entry.at)

    def memory(self) -> dict[str, object]:
        """Return what was learnt."""
        return {
            "arrivals": self._rate.memory(),
            "recent": [_noted(each) for each in self._recent],
            "arrived": self._arrived,
            "trials": [each.memory() for each in self._trials],
            "value": self.value if self.value < math.inf else None,
        }

    def _begin(self) -> None:
        """Begin with limits up to the widest match that the last arrivals make."""
        widest = self._trial(math.inf).widest
        if SMALLEST < widest < LARGEST:
            self._trials = [self._trial(widest / STEP**n) for n in range(TRIALS - 1, -1, -1)]

    def _choose(self, now: float) -> None:
        """Take the cheapest trial's limit, and begin a trial beside it where there is none."""
        waiting = self._price / self._rate.rate(now)
        trials = self._trials
        costs = [trial.cost(waiting, self._balance.weight) for trial in trials]
        least = min(costs) * ALIKE
        best = max(place for place, cost in enumerate(costs) if cost <= least)
        while best > 0 and trials[best].accepts_all and costs[best - 1] <= least:
            best -= 1
        self.value = limit = trials[best].limit
        if best == TRIALS - 1 and not trials[best].accepts_all and limit < LARGEST:
            self._trials = [*trials[1:], self._trial(limit * STEP)]
        elif best == 0 and limit > SMALLEST:
            self._trials = [self._trial(limit / STEP), *trials[:-1]]

    def _trial(self, limit: float) -> Trial:
        trial = Trial(self._balance, limit, self._wait_max)
        for entry in self._recent:
            trial.arrive(entry)
        return trial


def _noted(entry: Entry) -> list[float]:
    """Return what a trial needs to know of a ticket, as plain data."""
    return [entry.value, entry.at, entry.sequence, entry.size]


def _entry(noted: Sequence[float]) -> Entry:
    value, at, sequence, size = noted
    return Entry(value, at, int(sequence), int(size), "")
