"""Learns how even a match must be to start: the limit that would have been cheapest so far.

Each arrival also enters five **trials**: pools in which nobody plays for real, each with a limit of
its own, a factor of sqrt(2) apart. A trial counts what limits alone decide, whatever the rate: how
many players wait, and how uneven the matches are. An arrival costs

    wait_price * waiting / rate + weight * imbalance

on average, so that the best trial follows at once when the rate changes. Where the best one has no
neighbour, a new one takes over who waits in it, and part of its past. Of trials that cost the same
the largest limit is taken, since among limits that decide alike none knows how far the next step
is; but where nothing is refused, the smallest.

Formulas for the best limit hold for values of an even density only, where it is
.8 sqrt(wait_price / (weight / 2 * rate * density)) in a duel; those in the tails wait long, and
that is what a limit has to weigh.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from evenmatch.policies.shared.arrival_rate import ArrivalRate
from evenmatch.policies.shared.balance import Balance, BalanceEntry
from evenmatch.policies.shared.even_sets import pool_of

TRIALS = 5
STEP = math.sqrt(2.0)
FRESHNESS = 1.0 / 512.0
"""Weight of the newest arrival in what a trial costs."""
PAST = 32.0
"""Arrivals that a new trial takes over from its neighbour, at most."""
RENEW_EVERY = 16
"""Arrivals for which a limit holds; the first play without any."""
HELD_MAX = 1024
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
        self.widest: float = known.get("widest", 0.0)
        self._wait_max = wait_max
        self._seats = 2 * balance.players
        self._pool = pool_of(balance)
        self._held: dict[int, BalanceEntry] = {}
        self._players = 0
        sums: tuple[float, ...] = known.get("sums", (0.0,) * 4)
        self._arrived, self._waiting, self._uneven, self._refused = sums
        # Who would not play with a smaller limit may with this one.
        settle = self._enter if limit > _limit(known.get("limit")) else self._hold
        for value, at, sequence, size in known.get("held", ()):
            settle(BalanceEntry(value, at, int(sequence), int(size), ""))

    def arrive(self, entry: BalanceEntry) -> None:
        """Let a ticket in, play if the limit allows, and count."""
        for oldest in self._overdue(entry.at):
            self._let_go(oldest)
        is_enough = self._players + entry.size >= self._seats
        imbalance = self._enter(entry)
        is_refused = is_enough and imbalance is None
        imbalance = imbalance or 0.0
        self.widest = max(self.widest, imbalance)
        keep = 1.0 - FRESHNESS
        self._arrived = keep * self._arrived + 1.0
        self._waiting = keep * self._waiting + self._players
        self._uneven = keep * self._uneven + imbalance
        self._refused = keep * self._refused + is_refused

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

    def memory(self) -> dict[str, Any]:
        """Return who waits, and the counts."""
        held = [[each.value, each.at, each.sequence, each.size] for each in self._held.values()]
        sums = [self._arrived, self._waiting, self._uneven, self._refused]
        limit = _noted(self.limit)
        return {"limit": limit, "sums": sums, "held": held, "widest": self.widest}

    def past(self) -> dict[str, Any]:
        """Return what a new trial takes over: the memory, but fainter."""
        known = self.memory()
        part = min(1.0, PAST / self._arrived)
        return {**known, "sums": [part * each for each in known["sums"]]}

    def _enter(self, entry: BalanceEntry) -> float | None:
        """Let a ticket in; return the imbalance of its match, None if it waits."""
        found = self._pool.best(entry, self.limit)
        if found is None:
            self._hold(entry)
            return None
        for other in found.others:
            self._let_go(other)
        return found.imbalance

    def _overdue(self, now: float) -> list[BalanceEntry]:
        found = []
        for place, each in enumerate(self._held.values()):
            if now - each.at < self._wait_max and len(self._held) - place < HELD_MAX:
                break
            found.append(each)
        return found

    def _hold(self, entry: BalanceEntry) -> None:
        self._held[entry.sequence] = entry
        self._players += entry.size
        self._pool.add(entry)

    def _let_go(self, entry: BalanceEntry) -> None:
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
        self._arrived: int = known.get("arrived", 0)
        # At first there is but one trial, which accepts everything.
        noted: list[dict[str, Any]] = known.get("trials", [{"limit": None}])
        self._trials = [self._trial(_limit(each["limit"]), each) for each in noted]
        self.value: float = _limit(known.get("value"))

    def arrived(self, entry: BalanceEntry) -> None:
        """Let an arrival into all trials, and now and then choose the best."""
        self._rate.note(entry.at)
        for trial in self._trials:
            trial.arrive(entry)
        self._arrived += 1
        if self._arrived % RENEW_EVERY == 0:
            if len(self._trials) == 1:
                self._begin(self._trials[0])
            else:
                self._choose(entry.at)

    def memory(self) -> dict[str, object]:
        """Return what was learnt."""
        return {
            "arrivals": self._rate.memory(),
            "arrived": self._arrived,
            "trials": [trial.memory() for trial in self._trials],
            "value": _noted(self.value),
        }

    def _begin(self, first: Trial) -> None:
        """Begin with limits up to the widest match so far."""
        top = first.widest
        if SMALLEST < top < LARGEST:
            limits = [top / STEP**n for n in range(TRIALS - 1, -1, -1)]
            self._trials = [self._trial(limit, first.past()) for limit in limits]

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
            self._trials = [*trials[1:], self._trial(limit * STEP, trials[best].past())]
        elif best == 0 and limit > SMALLEST:
            self._trials = [self._trial(limit / STEP, trials[best].past()), *trials[:-1]]

    def _trial(self, limit: float, known: Mapping[str, Any]) -> Trial:
        return Trial(self._balance, limit, self._wait_max, known)


def _noted(limit: float) -> float | None:
    """Return a limit as plain data."""
    return limit if limit < math.inf else None


def _limit(noted: float | None) -> float:
    return math.inf if noted is None else noted
