"""`periodic`: collect players, then cut them into matches along one criterion."""

from __future__ import annotations

import math
from collections import deque
from itertools import combinations, islice
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np
from msgspec import Meta

from evenmatch.criteria.columns.pairs import PairTable
from evenmatch.criteria.objective import Objective, weights_of
from evenmatch.criteria.registry import NUMERIC
from evenmatch.criteria.scales import Floats
from evenmatch.criteria.values import scaled_numbers
from evenmatch.errors import ConfigError
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Criterion, Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, Matcher, Memory, NoJobs
from evenmatch.policies.shared.parameters import check_parameters

if TYPE_CHECKING:
    from evenmatch.policies.shared.step_matcher import Steps

ROUNDS_OF_MAX = 10_000

RATE_OF = 50
"""Arrivals from which the rate is estimated."""


class Periodic(msgspec.Struct, frozen=True, kw_only=True):
    """Collect players for `rounds_of` matches, sort them, and match neighbours.

    A round comes when the pool has rounds_of * k players, or when the longest waiting ticket
    reaches its deadline. Of m players, the first m - m mod k in order of arrival are sorted by the
    scaled criterion and cut into matches of neighbours; the others keep their places and deadlines.
    A match that a rule forbids is not made; its tickets wait for the next round.

    With `adaptive`, each arrival sets the size of the round anew, from the rate a of the last 50
    arrivals and the price of waiting: n = sqrt(2 a W (k - 1) / (k wait_price)) - 1 players, rounded
    to whichever whole number of matches costs less, where W is the sum of the weights.

    When to use:
        If matches should start together, in rounds. Otherwise choose `price` or `multi_queue`,
        because here many players wait for the end of a round.

    Args:
        rounds_of: Matches per round, x in the paper; with 1 this is `greedy`.
        sort: The attribute to sort by; you must give it if the queue has several criteria.
        adaptive: Whether to measure the best `rounds_of` and use it instead of the given one.

    Source:
        Schlup, Automatic Game Matching, algorithm A_PM and eq. (6).

    Complexity:
        O(m log m) per round of m players.
    """

    held_back = "periodic collects more players before it cuts them into matches"
    evaluations_max = (8, 4)

    rounds_of: Annotated[int, Meta(ge=1, le=ROUNDS_OF_MAX)] = 4
    sort: str | None = None
    adaptive: bool = False

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue of solo tickets."""
        del seed
        self._check(queue)
        rounds_of = None if self.adaptive else self.rounds_of
        return PeriodicMatcher(queue, rounds_of, self._criterion(queue), memory or {})

    def steps(self, queue: Queue) -> Steps:
        """Return the compiled steps, which a compiled run takes; single players without rules."""
        # Loaded here, since the matcher needs no kernels.
        from evenmatch.policies.shared.step_matcher import Steps
        from evenmatch.solvers.steps import periodic, policy_numbers
        from evenmatch.solvers.steps.waiting import free_slot

        del queue
        arrive, decide = periodic.arrive, periodic.decide
        return Steps(policy_numbers.PERIODIC, arrive, arrive, decide, free_slot, samples=RATE_OF)

    def numbers(self, queue: Queue) -> dict[int, float]:
        """Return the parameters of the steps by place.

        Raises:
            ConfigError: The policy cannot work on this queue.
        """
        from evenmatch.solvers.steps import periodic

        self._check(queue)
        criterion = self._criterion(queue)
        return {
            periodic.FULL: float(self.rounds_of * queue.format.k),
            periodic.SORT: -1.0 if criterion is None else float(queue.criteria.index(criterion)),
            periodic.IS_ADAPTIVE: float(self.adaptive),
            periodic.FLUSHED_AT: -1.0,
            periodic.SEATS: float(queue.format.k),
        }

    def _check(self, queue: Queue) -> None:
        check_parameters(self)
        if not queue.format.solo_only:
            raise ConfigError(
                f"policy periodic matches single players only: give queue {queue.name} "
                "party_sizes = [1]"
            )
        if queue.format.roles:
            raise ConfigError(
                f"policy periodic does not support roles; queue {queue.name} has some: choose "
                "greedy"
            )
        if self.adaptive and queue.price == 0.0:
            raise ConfigError(
                f"periodic: adaptive weighs cost against waiting, and in queue {queue.name} "
                f"waiting costs nothing: set wait_price above 0 or give rounds_of"
            )

    def _criterion(self, queue: Queue) -> Criterion | None:
        """Return the criterion to sort by; None if there is none."""
        known: dict[str, Criterion] = {}
        for each in queue.criteria:
            if each.kind in NUMERIC:
                known.setdefault(each.attribute, each)
        if self.sort is not None:
            if self.sort not in known:
                raise ConfigError(
                    f"periodic: sort must be the attribute of a criterion of queue "
                    f"{queue.name} ({', '.join(known) or 'it has none'}), got {self.sort}"
                )
            return known[self.sort]
        if len(known) > 1:
            raise ConfigError(
                f"periodic sorts by one criterion and queue {queue.name} has {len(known)}: "
                f"choose one, e.g. periodic:sort={next(iter(known))}"
            )
        return next(iter(known.values()), None)


class PeriodicMatcher(NoJobs):
    """The waiting tickets in order of arrival, and when the pool was last flushed."""

    def __init__(
        self, queue: Queue, rounds_of: int | None, criterion: Criterion | None, memory: Memory
    ) -> None:
        self._objective = Objective(queue)
        self._pairs = PairTable(self._objective.rules)
        # What is sorted by and what the rules say of pairs, by ticket: a flush reads columns.
        self._rows: dict[str, tuple[float, ...]] = {}
        self._queue = queue.name
        self._k = queue.format.k
        self._price = queue.price
        self._weight = math.fsum(weights_of(queue))
        self._is_adaptive = rounds_of is None
        self._full: int = memory.get("full") or (rounds_of or 1) * self._k
        self._arrivals: deque[float] = deque(memory.get("arrivals", ()), RATE_OF)
        self._wait_max = math.inf if queue.wait_max is None else queue.wait_max
        self._criterion = criterion
        self._pool: dict[str, Ticket] = {}
        self.evaluations = 0
        self._newest = 0
        self._flushed_at: float = memory.get("flushed_at", -1.0)
        # Who has waited since before the last flush: all others of the pool have come since. A
        # restart lets everybody enter before the first decision, also who came back in between.
        self._stayed: set[str] = set()
        self._remembered = frozenset(memory.get("stayed", ()))
        self._known_to: int = memory.get("known_to", 0)

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in."""
        if isinstance(entry, OpenMatch):
            return
        if now < max(self._flushed_at, self._arrivals[-1] if self._arrivals else now):
            self._forget()
        last = next(reversed(self._pool.values()), None)
        self._pool[entry.id] = entry
        by = self._criterion
        value = 0.0 if by is None else scaled_numbers(by, self._queue, entry)[0]
        self._rows[entry.id] = (value, *self._pairs.row(entry))
        if entry.sequence > max(self._newest, self._known_to):
            self._arrive(entry.enqueued_at)
        if entry.id in self._remembered:
            self._stayed.add(entry.id)
        self._newest = max(self._newest, entry.sequence)
        self.evaluations += 1
        if last is not None and entry.age_key < last.age_key:
            self.evaluations += len(self._pool)
            self._pool = {t.id: t for t in sorted(self._pool.values(), key=lambda t: t.age_key)}

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket."""
        del now
        if self._pool.pop(entry_id, None) is not None:
            del self._rows[entry_id]
            self._stayed.discard(entry_id)

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Flush when somebody's coming fills the pool or the longest waiting ticket is overdue."""
        self._remembered = frozenset()
        is_full = len(self._pool) >= self._full and len(self._pool) > len(self._stayed)
        deadline = self._deadline()
        if is_full or deadline < now or (deadline == now and fired):
            matches = self._flush(now)
            self._stayed = set(self._pool)
            return Decision(matches, self._deadline())
        return Decision(wake_at=deadline)

    def memory(self) -> Memory:
        """Return when the pool was flushed and who stayed, and what sets its size."""
        stayed = [ticket_id for ticket_id in self._pool if ticket_id in self._stayed]
        known: dict[str, object] = {"flushed_at": self._flushed_at, "stayed": stayed}
        if self._is_adaptive:
            newest = max(self._newest, self._known_to)
            known |= {"full": self._full, "arrivals": list(self._arrivals), "known_to": newest}
        return known

    def _forget(self) -> None:
        """Begin anew: the memory is newer than the pool, so its instants are still to come."""
        self._flushed_at, self._known_to = -1.0, 0
        self._stayed, self._remembered = set(), frozenset()
        self._arrivals.clear()

    def _arrive(self, at: float) -> None:
        """Set the size of a flush by the rate, if it is to be measured."""
        if not self._is_adaptive:
            return
        # Loaded here, since a given size needs no kernels.
        from evenmatch.solvers.steps.periodic import best_rounds
        from evenmatch.solvers.steps.waiting import measured_rate

        span = at - self._arrivals[0] if self._arrivals else 0.0
        rate = measured_rate(len(self._arrivals), span, self._price)
        self._full = self._k * int(best_rounds(rate, self._k, self._weight, self._price))
        self._arrivals.append(at)

    def _deadline(self) -> float:
        """Return the first deadline after the last flush; inf if there is none."""
        for ticket in self._pool.values():
            self.evaluations += 1
            deadline = ticket.enqueued_at + self._wait_max
            if deadline > self._flushed_at:
                return deadline
        return math.inf

    def _flush(self, now: float) -> tuple[Grouping, ...]:
        self._flushed_at = now
        count = len(self._pool) - len(self._pool) % self._k
        tickets = list(islice(self._pool.values(), count))
        self.evaluations += 2 * count
        if not count:
            return ()
        rows = np.array([self._rows[ticket.id] for ticket in tickets])
        order = np.argsort(rows[:, 0], kind="stable")
        groups = []
        # Columns tell of most groups that a rule keeps apart that it does; they are never late.
        for start in np.flatnonzero(self._early(rows[order, 1:]) <= now).tolist():
            places = order[start * self._k : (start + 1) * self._k].tolist()
            group = sorted([tickets[place] for place in places], key=lambda t: t.age_key)
            seating = self._objective.seat(group, now=now)
            if seating is not None and seating.ready_at <= now:
                groups.append(Grouping(tuple(ticket.id for ticket in group)))
                for ticket in group:
                    del self._pool[ticket.id], self._rows[ticket.id]
        return tuple(groups)

    def _early(self, rows: Floats) -> Floats:
        """Return of each group of neighbours the instant from which its pairs may play, or earlier.

        Args:
            rows: Those of the rules, neighbours beside each other; shape (groups * k, columns).
        """
        seats = rows.reshape(-1, self._k, rows.shape[1]).transpose(2, 0, 1)
        early: Floats = np.full(seats.shape[1], -math.inf)
        for one, two in combinations(range(self._k), 2):
            np.maximum(early, self._pairs.ready_at(seats[:, :, one], seats[:, :, two]), out=early)
        return early
