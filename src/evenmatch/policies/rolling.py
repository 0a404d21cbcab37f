"""`rolling`: a division of all who wait, searched for all the time; its ripe matches start."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from evenmatch.criteria.expansion import round_up
from evenmatch.criteria.objective import weights_of
from evenmatch.model.fields import Seconds
from evenmatch.model.queue import SEATS_MAX, Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Matcher, Memory
from evenmatch.policies.shared.pace import SHORTFALL, Pace
from evenmatch.policies.shared.parameters import check_parameters
from evenmatch.policies.shared.prospects import Prospects
from evenmatch.policies.shared.search_job import Effort, effort_of, prospects_in
from evenmatch.policies.shared.search_matcher import STARTS_MAX, SearchingMatcher
from evenmatch.policies.shared.start_rule import TentativeMatch

PLAYERS_MAX = 400
"""Players whom a search holds: its time grows with their square, what it finds hardly any more."""
SEARCHES = 0.1
"""Between two searches of a large pool, as a part of the target; one of few follows sooner."""
FEW = 133
"""Players of a search that all get the whole effort, so that large pools leave a server's
processors time for everything else."""
PATIENCE = 2.0
"""Targets after which players for whom searches find no match no longer set the pace."""
POWER = 3
"""A search makes the sum of cubes of qualities large. Of a division its best matches start now, and
the others are divided anew, so one excellent match is worth more than two that are a little better.
Powers of 6 and 10 make the mean no better and the worst tenth worse (3v3, 200 players a minute)."""
BEFORE_DEADLINE = 0.9
"""The part of the queue's `wait_max` after which a ticket takes the best match there is."""


class Rolling(msgspec.Struct, frozen=True, kw_only=True):
    """Search continuously for the best division of all waiting players; start good enough matches.

    Searches are background jobs on threads, one at a time; when a ticket arrives or leaves, the
    next one begins. A match starts when it is sufficiently better than what its players can hope
    for, given how long they have waited. The policy learns this hope from what searches find for
    similar players: players with many close partners wait for an even better match, while those
    with few accept a match that would hardly get better later; see `shared.prospects`. How much
    better is sufficient follows from the queue's `target_wait`, the mean wait that it wants: the
    requirement falls while too few players get a match, and rises while more do; see `shared.pace`.
    So an ordinary match starts at once after a quiet spell, and a perfect match always does.
    Searches look for excellent matches rather than for many good ones, because only the best
    matches of a division start, and all other players are divided again.

    When to use:
        For teams with any parties, roles and rules, when players arrive all the time; it is the
        default for such queues. Choose `rounds` if you want to tell players when their wait will
        end, and `greedy` if you want matches as soon as the rules allow, whatever their quality.

    Args:
        target_wait: The mean wait that you want, in seconds; by default the queue's. If a queue has
            a `wait_price` instead, the policy learns the wait at which another second gains as much
            as it costs.
        effort: Evaluations per player in a search of up to 133 players; in a search of more, each
            player gets fewer, down to a third.
        spread: How many standard deviations of quality a wait of `target_wait` makes up for if ten
            players arrive in that time; it grows with the square root of their number. With a
            smaller value, players who are hard to match get more time; with a larger one, all wait
            equally long.
        wait_max: Seconds after which a ticket takes the best match available at once; so does a
            ticket that has waited for nine tenths of the queue's own `wait_max`.

    Source:
        Ronimo, matchmaking in Awesomenauts ("Galactron"), the remarks on Heroes of the Storm;
        Little (1961) for the pace.

    Complexity:
        On the caller's thread: O(log n) for an arrival, O(matches) to time their starts, and a copy
        of at most 400 players' columns for a search. On the search's own thread: O(players^2) pairs
        and `effort` evaluations per player.
    """

    held_back = "rolling waits on purpose: a newcomer may make the matches of all who wait better"
    serves_overdue = True
    jobs = True
    knows_conditions = True
    evaluations_max = 2 * SEATS_MAX + STARTS_MAX

    target_wait: Seconds | None = None
    effort: Effort = 600
    spread: Annotated[float, Meta(ge=0.1, le=100.0)] = 0.5
    wait_max: Seconds = 600.0

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue of any format.

        Raises:
            ConfigError: A parameter is out of range.
        """
        check_parameters(self)
        target = queue.target if self.target_wait is None else self.target_wait
        wait_max = min(self.wait_max, BEFORE_DEADLINE * (queue.wait_max or math.inf))
        known = memory or {}
        price = queue.price * queue.format.k / (math.fsum(weights_of(queue)) or 1.0)
        pace = Pace(
            target=target,
            price=price,
            wait_max=wait_max,
            spread=self.spread,
            k=queue.format.k,
            memory=known.get("rule"),
        )
        return SearchingMatcher(
            queue,
            _ByPace(pace, known.get("rule", {})),
            replace(
                effort_of(queue, parts=1, each=self.effort, objective=f"power:{POWER}"),
                has_prospects=True,
                few=FEW,
            ),
            players_max=max(PLAYERS_MAX, 2 * queue.format.k),
            wait_max=round_up(wait_max) if wait_max < math.inf else wait_max,
            seed=seed,
            memory=known,
            halves=target is None,
        )


class _ByPace:
    """Matches start when their merit reaches the floor of a pace."""

    def __init__(self, pace: Pace, memory: Memory) -> None:
        self.pace = pace
        # Players by ticket who wait too long for no match to count as lagging behind.
        self._stuck: dict[int, int] = dict(memory.get("stuck", ()))
        self._prospects = Prospects(memory.get("prospects", {}))

    @property
    def next_at(self) -> float:
        return self.pace.next_at

    @property
    def every(self) -> float:
        return SEARCHES * self.pace.target

    def restored(self, tickets: Mapping[int, Ticket]) -> None:
        self._stuck = {each: size for each, size in self._stuck.items() if each in tickets}
        self._prospects.restored(tickets)
        players = sum(ticket.size for ticket in tickets.values())
        self.pace.restored(players - sum(self._stuck.values()))

    def entered(self, ticket: Ticket, now: float) -> None:
        self._prospects.entered(ticket)
        self.pace.came(ticket.size, ticket.enqueued_at, now)

    def left(self, ticket: Ticket, now: float) -> None:
        self._prospects.left(ticket.sequence)
        self.pace.count_departures(ticket.size - self._stuck.pop(ticket.sequence, 0), now)

    def played(self, match: TentativeMatch, tickets: Sequence[Ticket], now: float) -> None:
        for ticket in tickets:
            self._prospects.left(ticket.sequence)
        self.pace.learn_from_match(match.merit, match.players, now - match.newest + match.mean, now)

    def confirmed(self, seconds: float) -> None:
        self.pace.confirmed(seconds)

    def advance(self, now: float, fired: bool) -> None:
        self.pace.advance(now, fired)

    def found(
        self,
        matches: Sequence[TentativeMatch],
        alone: Sequence[Ticket],
        data: Mapping[str, Any],
        now: float,
    ) -> None:
        for ticket in alone:
            has_waited = now - ticket.enqueued_at > PATIENCE * self.pace.target
            if has_waited and ticket.sequence not in self._stuck:
                self._stuck[ticket.sequence] = ticket.size
                self.pace.count_departures(ticket.size, now)
        for match in matches:
            for sequence in match.tickets:
                if (players := self._stuck.pop(sequence, 0)) > 0:
                    self.pace.count_departures(-players, now)
        self._prospects.note(prospects_in(data))
        self._prospects.learn([(match.tickets, match.quality) for match in matches])
        for match in matches:
            match.hope = self._prospects.hope_of(match.tickets)
        self.pace.expect([match.merit for match in matches])
        qualities = [match.quality for match in matches]
        half = data.get("half")
        if half is not None and qualities:
            self.pace.learn(max(0.0, math.fsum(qualities) / len(qualities) - half))

    def worth(self, ticket: Ticket, now: float) -> float:
        quality = self.pace.relief(now - ticket.enqueued_at)
        quality -= self._prospects.hope(ticket.sequence)
        # By what the power of a usual quality changes with it.
        return POWER * (self.pace.quality or 1.0) ** (POWER - 1) * quality

    def start_at(self, match: TentativeMatch, tickets: Sequence[Ticket]) -> float:
        if match.quality >= 1.0 - SHORTFALL:
            return -math.inf
        missing = self.pace.needed_mean_square(match.merit) - match.scatter
        wait = math.copysign(math.sqrt(abs(missing)), missing) if missing > -math.inf else missing
        return match.newest + round_up(wait - match.mean) if wait > -math.inf else -math.inf

    def value(self, match: TentativeMatch, now: float) -> float:
        wait = now - match.newest + match.mean
        return match.merit + self.pace.relief(math.sqrt(wait * wait + match.scatter))

    def memory(self) -> Memory:
        stuck = [[sequence, players] for sequence, players in self._stuck.items()]
        return {**self.pace.memory(), "stuck": stuck, "prospects": self._prospects.memory()}
