"""`weighted`: an opponent is drawn by weight, for likeness, for waiting and for novelty."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from evenmatch.criteria.expansion import inverse
from evenmatch.criteria.rules import Rules
from evenmatch.criteria.values import number
from evenmatch.model.fields import Gap, RoundTime
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Expansion, Queue, Rule
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, Matcher, Memory, NoJobs
from evenmatch.policies.shared.chance import Chance
from evenmatch.policies.shared.pair_matcher import PairMatcher, TreeTicket
from evenmatch.policies.shared.parameters import check_parameters
from evenmatch.policies.shared.rated_duels import RATING, any_rating, check_duel
from evenmatch.policies.shared.round_clock import RoundClock

WAIT_COUNTED_MAX = 3600.0
"""Seconds of an opponent's wait that count, so that no weight grows without end."""

FloatArray = npt.NDArray[np.float64]


class Weighted(msgspec.Struct, frozen=True, kw_only=True):
    """Draw a random opponent, weighted by similar rating, by long wait and by novelty.

    The weight is exp(-(gap / sigma)^2 / 2) * (1 + wait * s) * (1 + n) / (1 + recency). Here s is
    how long the opponent has waited, in seconds up to an hour, and n is how many matches, at most
    `recency`, the drawing player has played with others since the two met. Without `every`, a
    newcomer draws at once among the waiting tickets; with a `floor`, a draw also happens at the
    exact instant at which the wait of an older ticket lifts a weight to the floor. With `every`,
    all tickets wait for the next round, counted from the first ticket, in which the longest waiting
    draw first.

    Without `every` and without `floor`, two players who are alone are matched at once, however
    different they are. The thread's author objects to exactly that, so set one of the two. With a
    floor, two players may never be matched, and only the queue's `wait_max` ends their wait.

    When to use:
        For casual play, one against one, if variety matters as much as a close match. Set `every`
        or `floor`: without them two players who are alone are matched at once, however far apart
        they are. With a `floor`, give the queue a `wait_max`.

    Args:
        sigma: Difference of ratings, in points, at which the weight has fallen to 0.61.
        wait: How much the weight grows per second of the opponent's wait; 0 ignores waits.
        recency: Number of matches with others after which an opponent counts as new; 0 ignores past
            matches.
        floor: The smallest weight with which an opponent can be drawn.
        every: Seconds between rounds; by default a ticket draws when it arrives.

    Source:
        "Matching players in an online 1vs1 game", the answer that proposes a weight system, and
        the author's objection to it.

    Complexity:
        On arrival O(m) for the m tickets whose weight may reach `floor`. In a round O(n) in numpy
        per ticket, plus another draw for each drawn opponent that a rule forbids.
    """

    held_back = "weighted draws among opponents at its own pace"
    evaluations_max = (8, 8, 4, 1)

    sigma: Gap = 200.0
    wait: Annotated[float, Meta(ge=0.0, le=1e6, extra={"unit": "per second"})] = 0.02
    recency: Annotated[int, Meta(ge=0, le=100)] = 5
    floor: Annotated[float, Meta(ge=0.0, le=1e9)] = 0.0
    every: RoundTime | None = None

    def rules(self, queue: Queue) -> tuple[Rule, ...]:
        """Return no limit: weights do not forbid."""
        return any_rating(queue)

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue of duels."""
        check_duel("weighted", queue)
        check_parameters(self)
        known = memory or {}
        weights = _Weights(self, Opponents(self.recency, known))
        chance = Chance(seed, queue.name)
        if self.every is None:
            return WeightedMatcher(queue, weights, chance)
        return WeightedRounds(queue, weights, chance, known)


class _Weights:
    """The weight of an opponent, and the instant from which it reaches the floor.

    Logarithms keep weights apart that are too small for a float.
    """

    def __init__(self, policy: Weighted, opponents: Opponents) -> None:
        self.chosen = policy
        self.opponents = opponents
        top = 1.0 + policy.wait * WAIT_COUNTED_MAX
        self._when = inverse(1.0, Expansion(rate=policy.wait, max=top))

    def reaches_after(self, gap: float, novelty: float = 1.0) -> float:
        """Return the opponent's wait after which the weight is the floor; inf if never."""
        floor = self.chosen.floor
        if floor == 0.0:
            return 0.0
        still = novelty * math.exp(-0.5 * (gap / self.chosen.sigma) ** 2)
        return self._when(floor / still) if still > 0.0 else math.inf

    def wait_logs(self, waits: FloatArray) -> FloatArray:
        """Return the logarithms of the factor for waits, in seconds, shape (n,)."""
        return np.log1p(self.chosen.wait * np.minimum(waits, WAIT_COUNTED_MAX))

    def logs(
        self, chooser: str, places: Mapping[str, int], gaps: FloatArray, wait_logs: FloatArray
    ) -> FloatArray:
        """Return the logarithms of opponents' weights.

        Args:
            chooser: The player who draws.
            places: Player -> their place in the arrays.
            gaps: Differences of rating, shape (n,).
            wait_logs: As `wait_logs` gives them.
        """
        scaled = gaps / self.chosen.sigma
        logs: FloatArray = wait_logs - 0.5 * scaled * scaled
        for other, novelty in self.opponents.faded(chooser).items():
            if other in places:
                logs[places[other]] += math.log(novelty)
        return logs


def draw_index(logs: FloatArray, uniform: float) -> int:
    """Return the place that a uniform number falls on, by weights given as logarithms.

    >>> draw_index(np.log(np.array([1.0, 3.0])), 0.3)
    1
    """
    sums = np.cumsum(np.exp(logs - logs.max()))
    place = int(np.searchsorted(sums, uniform * sums[-1], side="right"))
    # A sum times a number next to 1 may round up to the sum.
    return place if place < logs.size else int(np.flatnonzero(logs > -math.inf)[-1])


class WeightedMatcher(PairMatcher):
    """Draws on arrival, and when a weight or a rule lets an older ticket in."""

    def __init__(self, queue: Queue, weights: _Weights, chance: Chance) -> None:
        super().__init__(queue)
        self._weights = weights
        self._chance = chance
        self._players: dict[str, None] = {}

    def entered(self, waiting: TreeTicket, now: float) -> None:
        """Note who waits: they must not be forgotten."""
        del now
        self._players[_player(waiting.ticket)] = None

    def removed(self, waiting: TreeTicket) -> None:
        """Forget who waits."""
        self._players.pop(_player(waiting.ticket), None)

    def matched(self, one: TreeTicket, two: TreeTicket) -> None:
        """Remember who met."""
        self._weights.opponents.meet(_player(one.ticket), _player(two.ticket), self._players)

    def bound(self, waiting: TreeTicket, gap: float) -> float:
        """Return when the weight of who waits longest reaches the floor: none does earlier."""
        del waiting
        return self.oldest_at() + self._weights.reaches_after(gap)

    def ready_at(self, waiting: TreeTicket, gap: float, other: TreeTicket) -> float:
        """Return the instant from which a ticket may draw an older one."""
        novelty = self._weights.opponents.novelty(_player(waiting.ticket), _player(other.ticket))
        at = other.ticket.enqueued_at + self._weights.reaches_after(gap, novelty)
        if at == math.inf:
            return at
        return max(at, self.rules.pair_ready_at(other.ticket, waiting.ticket))

    def pick(self, waiting: TreeTicket, due: list[TreeTicket], now: float) -> TreeTicket:
        """Return the opponent that a ticket draws."""
        due.sort(key=lambda other: other.ticket.age_key)
        gaps = np.array([abs(waiting.rating - other.rating) for other in due])
        waits = now - np.array([other.ticket.enqueued_at for other in due])
        places = {_player(other.ticket): place for place, other in enumerate(due)}
        wait_logs = self._weights.wait_logs(waits)
        logs = self._weights.logs(_player(waiting.ticket), places, gaps, wait_logs)
        return due[draw_index(logs, self._chance.uniform(waiting.ticket.sequence))]

    def memory(self) -> Memory:
        """Return whom players met last."""
        return self._weights.opponents.memory()


class WeightedRounds(NoJobs):
    """Rounds in which the longest waiting draw first among all who wait."""

    def __init__(self, queue: Queue, weights: _Weights, chance: Chance, memory: Memory) -> None:
        every = weights.chosen.every
        assert every is not None
        self._rules = Rules(queue)
        self._weights = weights
        self._chance = chance
        self._clock = RoundClock(every, memory)
        # Minus the rounds in which a wait may still lift a weight to the floor. A run in which
        # nobody is left to come ends at a round that changed nothing but clocks; this says that
        # one did, and being below zero it is not taken for a clock.
        self._countdown: int = memory.get("countdown", 0)
        self._tickets: dict[str, Ticket] = {}
        self.evaluations = 0

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in, and start the clock if it stands."""
        if isinstance(entry, OpenMatch):
            return
        self._tickets[entry.id] = entry
        self._clock.start(now)

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket."""
        del now
        self._tickets.pop(entry_id, None)
        if not self._tickets:
            self._clock.stop()

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Hold a round if one is due."""
        if not self._clock.is_due(now, fired):
            return Decision(wake_at=self._clock.round_at)
        pairs = self._round(now)
        waiting = {_player(ticket) for ticket in self._tickets.values()}
        for one, two in pairs:
            del self._tickets[one.id], self._tickets[two.id]
            self._weights.opponents.meet(_player(one), _player(two), waiting)
        self._countdown = -self._rounds_left(now)
        if self._tickets:
            self._clock.move_on(now)
        else:
            self._clock.stop()
        groups = tuple([Grouping((one.id, two.id)) for one, two in pairs])
        return Decision(groups, self._clock.round_at)

    def memory(self) -> Memory:
        """Return the beat, whom players met last, and for how many rounds weights still grow."""
        beat, opponents = self._clock.memory(), self._weights.opponents.memory()
        return {**beat, **opponents, "countdown": self._countdown}

    def _rounds_left(self, now: float) -> int:
        policy = self._weights.chosen
        if not self._tickets or not policy.floor or not policy.wait:
            return 0
        youngest = max(ticket.enqueued_at for ticket in self._tickets.values())
        return max(0, math.ceil((youngest + WAIT_COUNTED_MAX - now) / self._clock.every))

    def _round(self, now: float) -> list[tuple[Ticket, Ticket]]:
        pool = sorted(self._tickets.values(), key=lambda ticket: ticket.age_key)
        ratings = np.array([number(ticket, RATING) for ticket in pool])
        waits = now - np.array([ticket.enqueued_at for ticket in pool])
        wait_logs = self._weights.wait_logs(waits)
        places = {_player(ticket): place for place, ticket in enumerate(pool)}
        is_taken = np.zeros(len(pool), np.bool_)
        pairs = []
        for at, chooser in enumerate(pool):
            if is_taken[at]:
                continue
            self.evaluations += len(pool)
            gaps = np.abs(ratings - ratings[at])
            logs = self._weights.logs(_player(chooser), places, gaps, wait_logs)
            logs[is_taken] = logs[at] = -math.inf
            other = self._draw(pool, at, logs, now)
            if other is not None:
                is_taken[[at, other]] = True
                pairs.append((chooser, pool[other]))
        return pairs

    def _draw(self, pool: list[Ticket], at: int, logs: FloatArray, now: float) -> int | None:
        """Return whom a ticket draws; a draw that a rule forbids is repeated without them."""
        chooser, floor = pool[at], self._weights.chosen.floor
        if floor > 0.0:
            logs[logs < math.log(floor)] = -math.inf
        draws = 0
        while logs.max() > -math.inf:
            self.evaluations += len(pool)
            other = draw_index(logs, self._chance.uniform(chooser.sequence, draws))
            if self._rules.pair_ready_at(chooser, pool[other]) <= now:
                return other
            logs[other] = -math.inf
            draws += 1
        return None


def _player(ticket: Ticket) -> str:
    return ticket.players[0].id


# Whom players met last: a bounded memory of recent opponents.

PLAYERS_MAX = 10_000
"""Players remembered; those who played last stay."""
FORGOTTEN = PLAYERS_MAX // 10
"""Players forgotten at a time, once there are too many."""


class Opponents:
    """The last opponents of each player, the latest last.

    Args:
        depth: Opponents remembered of each player, >= 0.
        memory: What `memory()` said before a restart.
    """

    def __init__(self, depth: int, memory: Mapping[str, Any]) -> None:
        self._depth = depth
        self._met: dict[str, list[str]] = {
            player: list(met) for player, met in memory.get("opponents", ())
        }

    def faded(self, own: str) -> dict[str, float]:
        """Return each opponent whom a player remembers, with a factor (1 + n) / (1 + depth).

        n is the number of matches with others that the player has had since; for all whom they
        do not remember the factor is 1.
        """
        met = self._met.get(own, ())
        # In a row of A, B, A only the later A counts, and a dict keeps the later value.
        return {other: (len(met) - at) / (1 + self._depth) for at, other in enumerate(met)}

    def novelty(self, own: str, other: str) -> float:
        """Return the factor of one opponent."""
        return self.faded(own).get(other, 1.0) if own in self._met else 1.0

    def meet(self, one: str, two: str, waiting: Collection[str]) -> None:
        """Remember a match.

        Args:
            one: A player.
            two: The other.
            waiting: Players who wait now; they are not forgotten, for their timers rest on it.
        """
        if self._depth == 0:
            return
        for own, other in ((one, two), (two, one)):
            met = [*self._met.pop(own, ()), other]
            self._met[own] = met[-self._depth :]
        if len(self._met) > PLAYERS_MAX:
            gone = [player for player in self._met if player not in waiting][:FORGOTTEN]
            for player in gone:
                del self._met[player]

    def memory(self) -> dict[str, list[list[Any]]]:
        """Return plain data, those who played longest ago first."""
        return {"opponents": [[player, met] for player, met in self._met.items()]}
