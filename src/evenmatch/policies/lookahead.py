"""`lookahead`: plan the pairs of those who wait and of those who are announced."""

from __future__ import annotations

import heapq
import math
from collections import deque

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.errors import ConfigError
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, Matcher, Memory, NoJobs
from evenmatch.policies.price import Price
from evenmatch.policies.shared.arrival_rate import ArrivalRate
from evenmatch.policies.shared.pair_planning import Entrant, Planning
from evenmatch.policies.shared.step_matcher import check_wait_price

WORTH = 0.62
"""What a player is worth at the end of the horizon, in units of f L."""
SAMPLES = 100
"""Last arrivals that stand for those to come."""
ANNOUNCED_MAX = 100_000
"""Announcements remembered; a ticket announced beyond comes as a surprise."""
FOREVER = 1e300
"""An instant after all others that, unlike infinity, JSON can hold."""


class Lookahead(msgspec.Struct, frozen=True, kw_only=True):
    """Pair waiting players with each other and with announced players, at the least cost.

    The policy plans the cheapest matching of all waiting and announced tickets. It plans again
    whenever there is news: a ticket is announced, arrives unannounced or fails to arrive, a planned
    partner leaves, or a deadline comes that no plan has considered. A ticket that stays unpaired
    costs what a player is worth, plus its wait until the horizon; or, if its deadline comes sooner,
    a match with a bot at that time. Planned pairs play once both are there and the rules allow it;
    the rest of the plan stays as it is until there is news.

    A player is worth half of T, the cost at which the next arrival saves as much as waiting for it
    costs: rate * mean((T - cost)+) = 1.24^2 * wait_price over the last 100 arrivals. For one
    uniform criterion half of T is .62 f L with L = 1 / sqrt(f a wait_max), where f is the sum of
    the weights and a the measured rate.

    Without announcements, as on a server today, and with horizon 0, this is `price`. With an
    infinite horizon nothing has to be estimated, and the plan is the optimum in hindsight. A ticket
    that would expire counts as one that meets a bot, unless the horizon is infinite. In that case
    an unpaired ticket costs only its wait until the last arrival, and without a deadline the
    cheapest plan may let hardly anybody play: give such a queue a `wait_max`.

    When to use:
        For one against one if arrivals are known some seconds ahead: from matches that end, lobbies
        that fill, or recorded days. In a simulation it shows what such knowledge is worth. Without
        announcements it is `price`.

    Args:
        horizon: How many seconds ahead arrivals are announced; a simulation announces its own. With
            `inf` all are announced at the start.

    Source:
        Ours; the objective is eq. (1) of Schlup, Automatic Game Matching, and the plan with an
        infinite horizon is OPT of its section 5.1.

    Complexity:
        One matching per announcement, which takes 0.2 ms for 43 tickets and 0.05 ms for 3; see
        `solvers.matching.dense`.
    """

    held_back = "lookahead has planned a better match with an announced player"
    evaluations_max = (256, 2, 1, 1)
    """Who is announced counts as waiting; a plan as if each ticket were compared in each round."""

    horizon: float = 0.0

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue of duels."""
        if not self.horizon >= 0.0:
            raise ConfigError(f"lookahead: horizon must be seconds >= 0, got {self.horizon}")
        if not queue.format.is_duel:
            raise ConfigError(
                f"policy lookahead pairs two players: queue {queue.name} needs teams = 2 and "
                f"players = 1; use greedy for larger formats"
            )
        check_wait_price(queue, "lookahead")
        planning = Planning(queue, "lookahead", queue.ends_after)
        if self.horizon == 0.0:
            return Price().matcher(queue, seed=seed, memory=memory)
        known = memory or {}
        found = LookaheadMatcher(queue, self.horizon, planning, known)
        if not known.get("is_told", False):
            found.leave_to(Price().matcher(queue, seed=seed, memory=known.get("unannounced")))
        return found


class LookaheadMatcher(NoJobs):
    """The waiting and the announced tickets, and who is to play with whom."""

    def __init__(self, queue: Queue, horizon: float, planning: Planning, memory: Memory) -> None:
        self._queue = queue
        self._horizon = horizon
        self._planning = planning
        self._rate = ArrivalRate(queue.price, memory.get("rate", ()))
        # Both by ascending arrival.
        self._waiting: dict[str, Entrant] = {}
        self._coming: dict[str, Entrant] = {}
        for given in memory.get("coming", ()):
            ticket = msgspec.convert(given, Ticket)
            self._coming[ticket.id] = planning.entrant(ticket)
        # Each planned ticket's partner, both ways.
        self._plan: dict[str, str] = {}
        for one, two in memory.get("plan", ()):
            self._plan[one], self._plan[two] = two, one
        # (when they may play at first, place, id, id) of planned pairs; None after a restart.
        self._due: list[tuple[float, int, str, str]] | None = None
        # Whether something has changed that the plan does not know.
        self._has_news: bool = memory.get("has_news", False)
        # When the plan is made again without news: a rule widens.
        self._retry_at: float = memory.get("retry_at", FOREVER)
        # The rows of the last arrivals without their times, and what each ticket of ours is worth
        # at a rate of 1.
        rows = (tuple(row) for row in memory.get("last", ()))
        self._last: deque[tuple[float, ...]] = deque(rows, maxlen=SAMPLES)
        self._worth: dict[str, float] = dict(memory.get("worth", {}))
        self._newest: int = memory.get("newest", 0)
        # Tickets known before a restart are no news; the first decision ends the restart.
        self._known_to: int = self._newest
        # Until when the plan has looked at deadlines.
        self._planned_to: float = memory.get("planned_to", -FOREVER)
        # Who decides until somebody is announced.
        self._unannounced: Matcher | None = None
        self._planned = 0

    @property
    def evaluations(self) -> int:
        """Return what was evaluated so far."""
        return self._planned + int(getattr(self._unannounced, "evaluations", 0))

    def leave_to(self, matcher: Matcher) -> None:
        """Let another matcher decide until somebody is announced."""
        self._unannounced = matcher

    def announce(self, ticket: Ticket, now: float) -> None:
        """Take note of a ticket that is said to come at its `enqueued_at`."""
        if not ticket.enqueued_at >= now or ticket.id in self._waiting:
            return
        if len(self._coming) >= ANNOUNCED_MAX:
            return
        if self._unannounced is not None:
            self._unannounced = None
            for entrant in self._waiting.values():
                self._know_worth(entrant, now)
        if self._coming.pop(ticket.id, None) is not None:
            self._part(ticket.id)
        last = next(reversed(self._coming.values()), None)
        self._coming[ticket.id] = self._entrant(ticket, now)
        self._has_news = True
        if last is not None and ticket.enqueued_at < last.ticket.enqueued_at:
            self._coming = _by_age(self._coming)

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in; one that was announced keeps its place in the plan."""
        if isinstance(entry, OpenMatch):
            return
        if self._unannounced is not None:
            self._unannounced.enter(entry, now)
        is_new = entry.sequence > self._newest
        if is_new:
            self._newest = entry.sequence
            self._rate.note(entry.enqueued_at)
        entrant = self._coming.pop(entry.id, None)
        if entrant is not None and _is_as_announced(entry, entrant.ticket):
            entrant.ticket = entry
        else:
            if entrant is not None:
                self._part(entry.id)
            entrant = self._entrant(entry, now)
            self._has_news |= entry.sequence > self._known_to
        if is_new:
            self._last.append(entrant.row[2:])
        last = next(reversed(self._waiting.values()), None)
        self._waiting[entry.id] = entrant
        if last is not None and entry.age_key < last.ticket.age_key:
            self._waiting = _by_age(self._waiting)

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket; its partner needs another one."""
        if self._unannounced is not None:
            self._unannounced.leave(entry_id, now)
        if self._waiting.pop(entry_id, None) is not None:
            self._part(entry_id)

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Mend the plan if there is news, and let the pairs play that are due."""
        self._known_to = 0
        if self._unannounced is not None:
            decision = self._unannounced.decide(now, fired)
            for ticket_id in (each for match in decision.matches for each in match.tickets):
                del self._waiting[ticket_id]
            return decision
        if self._due is None:
            self._resume_plan()
        self._miss(now, fired)
        self._look_at_deadlines(now, fired)
        is_retry = self._retry_at < now or (self._retry_at == now and fired)
        if self._has_news or is_retry:
            self._make_plan(now)
        matches = self._play(now, fired)
        if fired and self._queue.on_deadline == "bots":
            matches += self._play_with_bots(now)
        return Decision(matches, self._wake_at())

    def memory(self) -> Memory:
        """Return the plan, who is announced, and the last arrivals."""
        return {
            "rate": self._rate.memory(),
            "coming": [msgspec.to_builtins(each.ticket) for each in self._coming.values()],
            "plan": [[one, two] for one, two in self._plan.items() if one < two],
            "has_news": self._has_news,
            "retry_at": self._retry_at,
            "last": [list(row) for row in self._last],
            "worth": self._worth,
            "newest": self._newest,
            "planned_to": self._planned_to,
            "is_told": self._unannounced is None,
            "unannounced": self._unannounced and self._unannounced.memory(),
        }

    def _entrant(self, ticket: Ticket, now: float) -> Entrant:
        entrant = self._planning.entrant(ticket)
        # After a restart the worth is known already.
        if self._unannounced is None and (ticket.id not in self._worth or self._known_to == 0):
            self._know_worth(entrant, now)
        return entrant

    def _know_worth(self, entrant: Entrant, now: float) -> None:
        """Note what a ticket is worth, from the last arrivals."""
        rate = self._rate.rate(now)
        gain = (2.0 * WORTH) ** 2 * self._queue.price / rate
        most = math.inf
        if self._last:
            most = break_even(self._planning.costs(entrant, self._last), gain)
        if math.isinf(most):
            # Nothing is known of those it may play with: as if values were uniform.
            most = math.sqrt(gain * max(gain, self._planning.weight))
        self._worth[entrant.ticket.id] = most / 2.0 * math.sqrt(rate)

    def _part(self, entry_id: str) -> None:
        """Forget a ticket's worth and plan; that its partner is free is news."""
        self._worth.pop(entry_id, None)
        partner = self._plan.pop(entry_id, None)
        if partner is not None:
            del self._plan[partner]
            self._has_news = True

    def _miss(self, now: float, fired: bool) -> None:
        """Forget those who were announced and have not come."""
        while self._coming:
            first = next(iter(self._coming.values())).ticket
            if first.enqueued_at > now or (first.enqueued_at == now and not fired):
                return
            del self._coming[first.id]
            self._part(first.id)

    def _look_at_deadlines(self, now: float, fired: bool) -> None:
        """Find tickets whose deadline has come since the plan looked ahead."""
        for entrant in self._waiting.values():
            until = entrant.row[1]
            if until > now or (until == now and not fired):
                return
            if until > self._planned_to:
                self._has_news = True

    def _make_plan(self, now: float) -> None:
        """Compute the cheapest matching of all who wait or are announced."""
        entrants = [*self._waiting.values(), *self._coming.values()]
        horizon = self._horizon
        self._plan, self._due, self._has_news = {}, [], False
        self._planned_to = min(now + horizon, FOREVER)
        self._retry_at = FOREVER
        if len(entrants) < 2:
            return
        self._planned += len(entrants) ** 3
        alone = self._alone(entrants, horizon, now)
        pairs, ready_at = self._planning.best_pairs(entrants, alone, now)
        for one, two in pairs:
            self._add_pair(one, two)
        if math.isfinite(horizon):
            self._retry_at = min(ready_at, FOREVER)

    def _alone(self, entrants: list[Entrant], horizon: float, now: float) -> NDArray[np.float64]:
        """Return what it costs to leave each of them unpaired."""
        price = self._queue.price
        starts, untils = self._planning.times(entrants, now)
        bot = self._planning.weight + price * (self._queue.wait_max or 0.0)
        if math.isinf(horizon):
            alone = price * (starts.max() - starts)
            if self._queue.on_deadline == "expire":
                bot = 0.0
        else:
            # Spread over fewer who come, players are worth more.
            scale = 1.0 / math.sqrt(self._rate.rate(now))
            worth = np.array([self._worth[entrant.ticket.id] for entrant in entrants]) * scale
            alone = worth + price * np.maximum(horizon - starts, 0.0)
        is_over = (untils <= horizon) & np.isfinite(untils)
        left = np.maximum(untils - starts, 0.0, where=is_over, out=np.zeros(len(entrants)))
        return np.where(is_over, bot + price * left, alone)

    def _add_pair(self, one: Entrant, two: Entrant) -> None:
        assert self._due is not None
        first, second = one.ticket.id, two.ticket.id
        self._plan[first], self._plan[second] = second, first
        at = self._planning.ready_at(one, two)
        heapq.heappush(self._due, (at, len(self._plan), first, second))

    def _resume_plan(self) -> None:
        """Find the planned tickets after a restart."""
        plan, self._plan, self._due = self._plan, {}, []
        known = self._waiting | self._coming
        for one, two in plan.items():
            if one in known and two in known:
                if one < two:
                    self._add_pair(known[one], known[two])
            elif one in known:
                self._has_news = True

    def _play(self, now: float, fired: bool) -> tuple[Grouping, ...]:
        """Return the planned pairs that are due, longest waiting first."""
        assert self._due is not None
        pairs, later = [], []
        while self._due and self._due[0][0] <= now:
            planned = heapq.heappop(self._due)
            at, _, first, second = planned
            if self._plan.get(first) != second:
                continue
            one, two = self._waiting.get(first), self._waiting.get(second)
            if one is None or two is None:
                later.append(planned)
                continue
            newest = max(one.ticket.enqueued_at, two.ticket.enqueued_at)
            if at == now and not fired and at != newest:
                later.append(planned)
                continue
            del self._waiting[first], self._waiting[second]
            del self._plan[first], self._plan[second]
            del self._worth[first], self._worth[second]
            pairs.append(sorted((one.ticket, two.ticket), key=lambda ticket: ticket.age_key))
        for planned in later:
            heapq.heappush(self._due, planned)
        pairs.sort(key=lambda pair: (pair[0].age_key, pair[1].age_key))
        return tuple(Grouping((one.id, two.id)) for one, two in pairs)

    def _play_with_bots(self, now: float) -> tuple[Grouping, ...]:
        """Return a match with a bot for each ticket that is left at its deadline."""
        overdue = []
        for ticket_id, entrant in self._waiting.items():
            if entrant.row[1] > now:
                break
            overdue.append(ticket_id)
        for ticket_id in overdue:
            self.leave(ticket_id, now)
        return tuple(Grouping((ticket_id,), bots=1) for ticket_id in overdue)

    def _wake_at(self) -> float:
        """Return when the next planned pair is due, or an announced ticket should have come."""
        assert self._due is not None
        while self._due and self._plan.get(self._due[0][2]) != self._due[0][3]:
            heapq.heappop(self._due)
        first = next(iter(self._coming.values()), None)
        coming_at = math.inf if first is None else first.ticket.enqueued_at
        due_at = self._due[0][0] if self._due else math.inf
        retry_at = self._retry_at if self._retry_at < FOREVER else math.inf
        return min(coming_at, due_at, retry_at)


def _by_age(entrants: dict[str, Entrant]) -> dict[str, Entrant]:
    """Return the same, longest waiting first."""
    by_age = sorted(entrants.values(), key=lambda entrant: entrant.ticket.age_key)
    return {entrant.ticket.id: entrant for entrant in by_age}


def _is_as_announced(ticket: Ticket, announced: Ticket) -> bool:
    """Return whether a ticket has come when and as it was said to."""
    return (
        ticket.enqueued_at == announced.enqueued_at
        and ticket.players == announced.players
        and ticket.attributes == announced.attributes
    )


# What it is worth to a waiting player that others will come: the price of pairing it now.


def break_even(costs: NDArray[np.float64], gain: float) -> float:
    """Return the cost T at which taking a partner and waiting for the next are equally good.

    An arrival Y saves (T - cost(x, Y))+ against T; T is where the mean of that is `gain`. The
    costs of the last arrivals stand for those to come, so T is large where players are rare.

    Args:
        costs: Of pairing the player with each of the last arrivals; inf where forbidden.
        gain: The mean saving that pays for the wait, > 0.

    Returns:
        T; inf if no pair is possible.

    Complexity:
        O(m log m) for m costs.

    >>> break_even(np.array([0.0, 0.5, 4.0]), 0.5)
    1.0
    """
    found = np.sort(costs[np.isfinite(costs)])
    if not len(found):
        return float("inf")
    tops = (gain * len(costs) + np.cumsum(found)) / np.arange(1, len(found) + 1)
    # With the k cheapest below T, T is right if the next is not below it.
    is_right = tops[:-1] <= found[1:]
    return float(tops[int(np.argmax(is_right))] if is_right.any() else tops[-1])
