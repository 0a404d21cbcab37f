"""The matcher of policies that play the most even match as soon as it is even enough.

Each newcomer is asked whom it would play with; the policy says how even is even enough.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

from evenmatch.model.match import OpenMatch
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, Memory, NoJobs
from evenmatch.policies.shared.balance import TEAM_MAX, Balance, BalanceEntry
from evenmatch.policies.shared.even_sets import EvenSetIndex, KindPool, pool_of


class ImbalanceLimit(Protocol):
    """How large an imbalance is accepted now, as `Balance.imbalance` gives it."""

    value: float

    def arrived(self, entry: BalanceEntry) -> None:
        """Learn from an arrival."""
        ...

    def memory(self) -> Any:
        """Return what was learnt."""
        ...


class FixedLimit:
    """A limit that never changes."""

    def __init__(self, value: float) -> None:
        self.value = value

    def arrived(self, entry: BalanceEntry) -> None:
        """Learn nothing."""

    def memory(self) -> None:
        """Return nothing."""


class ImbalanceMatcher(NoJobs):
    """Asks each newcomer in turn, and everybody again when the limit has grown.

    Between decisions nobody in the pool could play without a newcomer.

    Args:
        balance: What teams are balanced by.
        limit: How even is even enough.
        memory: What an earlier matcher knew, except about the limit.
    """

    def __init__(self, balance: Balance, limit: ImbalanceLimit, memory: Memory) -> None:
        self._balance = balance
        self._limit = limit
        is_large = balance.players > TEAM_MAX
        self._pool: EvenSetIndex = KindPool(balance.players) if is_large else pool_of(balance)
        self._asked: dict[str, BalanceEntry] = {}
        self._new: dict[str, BalanceEntry] = {}
        self._newest: int = memory.get("newest", 0)
        asked_with = memory.get("asked_with", 0.0)
        self._asked_with: float = math.inf if asked_with is None else asked_with
        # While tickets come back after a restart: those who had not been asked before it.
        self._unasked: frozenset[int] | None = None
        if "newest" in memory:
            self._unasked = frozenset(memory["unasked"])

    @property
    def evaluations(self) -> int:
        """Return how many tickets and divisions were looked at so far."""
        return self._pool.evaluations

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in; it is asked at the next decision, unless it was before a restart."""
        del now
        if isinstance(entry, OpenMatch):
            return
        seen = self._balance.entry(entry)
        is_arrival = entry.sequence > self._newest
        if is_arrival:
            self._newest = entry.sequence
            self._limit.arrived(seen)
        if is_arrival or self._unasked is None or entry.sequence in self._unasked:
            self._new[entry.id] = seen
        else:
            self._settle_down(seen)

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket."""
        del now
        if self._new.pop(entry_id, None) is None and entry_id in self._asked:
            self._pool.remove(self._asked.pop(entry_id))

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Ask newcomers, longest waiting first."""
        del now, fired
        self._unasked = None
        limit = self._limit.value
        if limit > self._asked_with:
            for entry in self._asked.values():
                self._pool.remove(entry)
            self._new.update(self._asked)
            self._asked.clear()
        self._asked_with = limit
        if not self._new:
            return Decision()
        newcomers = sorted(self._new.values(), key=lambda each: each.age_key)
        self._new.clear()
        return Decision(tuple(self._ask(newcomers, limit)))

    def memory(self) -> Memory:
        """Return what the limit has learnt, and who has been asked with which limit."""
        is_finite = self._asked_with < math.inf
        return {
            "newest": self._newest,
            "asked_with": self._asked_with if is_finite else None,
            "unasked": [entry.sequence for entry in self._new.values()],
            "limit": self._limit.memory(),
        }

    def _ask(self, newcomers: list[BalanceEntry], limit: float) -> list[Grouping]:
        matches = []
        for entry in newcomers:
            found = self._pool.best(entry, limit)
            if found is None:
                self._settle_down(entry)
                continue
            for other in found.others:
                self._pool.remove(self._asked.pop(other.id))
            together = sorted([entry, *found.others], key=lambda each: each.age_key)
            matches.append(Grouping(tuple([each.id for each in together])))
        return matches

    def _settle_down(self, entry: BalanceEntry) -> None:
        self._asked[entry.id] = entry
        self._pool.add(entry)
