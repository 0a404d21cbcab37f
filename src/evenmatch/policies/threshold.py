"""`threshold`: a match starts as soon as it is good enough for how long its players have waited."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from evenmatch.criteria.expansion import round_up
from evenmatch.model.fields import Seconds, Share
from evenmatch.model.queue import SEATS_MAX, Queue
from evenmatch.model.ticket import Ticket, attribute_of
from evenmatch.policies.base import Matcher, Memory
from evenmatch.policies.shared.parameters import check_parameters
from evenmatch.policies.shared.search_job import Effort, effort_of
from evenmatch.policies.shared.search_matcher import STARTS_MAX, SearchingMatcher
from evenmatch.policies.shared.start_rule import TentativeMatch

PLAYERS_MAX = 400
"""Players whom a search holds."""
EVERY = 1.0
"""Seconds between two searches of a large pool; one of few follows sooner."""
LAST = 200
"""Values among which a ticket's place by `by` is found."""
TOP = 0.9
"""From this place on the best players are at the top."""


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """Start a match as soon as its quality is good enough for its players.

    A newcomer asks for `quality`, and for `relax` less with every second of waiting; a match must
    be as good as its players ask on average. Searches find the best division of all waiting
    players, as in `rolling`; the policy computes the exact instant at which a match of the division
    will be good enough. After `wait_max` seconds a ticket takes the best match that it is in, at
    once.

    When to use:
        If you want to say with a few numbers what is good enough, and let players wait as long as
        that takes: briefly where many play, long where few do. `rolling` needs no such numbers, and
        aims for a mean wait.

    Args:
        quality: What a newcomer asks for, from 0 to 1.
        relax: By how much the demand falls per second.
        by: An attribute such as `rating`: the demand of the tenth of the players with the highest
            values falls more slowly, by the factor `patience`, so that they wait for equals.
        patience: How many times more slowly the demand of these players falls.
        wait_max: Seconds after which a ticket takes the best match available.
        effort: Evaluations per player in each search.

    Source:
        Ronimo, matchmaking in Awesomenauts ("Galactron"), on Heroes of the Storm.

    Complexity:
        That of `rolling`.
    """

    held_back = "threshold waits until a match is good enough for how long its players wait"
    serves_overdue = True
    jobs = True
    knows_conditions = True
    evaluations_max = 2 * SEATS_MAX + STARTS_MAX

    quality: Share = 0.85
    relax: Annotated[float, Meta(ge=0.0, le=1.0, extra={"unit": "a second"})] = 0.001
    by: str = ""
    patience: Annotated[float, Meta(ge=1.0, le=100.0)] = 3.0
    wait_max: Seconds = 300.0
    effort: Effort = 200

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for a queue of any format."""
        check_parameters(self)
        known = memory or {}
        return SearchingMatcher(
            queue,
            _ByRequirement(self, known.get("rule", {})),
            effort_of(queue, parts=1, each=self.effort),
            players_max=max(PLAYERS_MAX, 2 * queue.format.k),
            wait_max=round_up(min(self.wait_max, queue.wait_max or math.inf)),
            seed=seed,
            memory=known,
        )


class _ByRequirement:
    """Matches start when they are as good as their players ask on average."""

    def __init__(self, policy: Threshold, memory: Memory) -> None:
        self._chosen = policy
        self._values: deque[float] = deque(memory.get("values", ()))
        self._ordered = sorted(self._values)
        self._falls: dict[int, float] = dict(memory.get("falls", ()))
        self._noted: int = memory.get("noted", 0)

    @property
    def next_at(self) -> float:
        return math.inf

    @property
    def every(self) -> float:
        return EVERY

    def restored(self, tickets: Mapping[int, Ticket]) -> None:
        self._falls = {each: fall for each, fall in self._falls.items() if each in tickets}
        for ticket in tickets.values():
            self.entered(ticket, 0.0)

    def entered(self, ticket: Ticket, now: float) -> None:
        del now
        if ticket.sequence not in self._falls:
            self._falls[ticket.sequence] = self._fall_of(ticket)

    def left(self, ticket: Ticket, now: float) -> None:
        del now
        self._falls.pop(ticket.sequence, None)

    def confirmed(self, seconds: float) -> None:
        del seconds

    def played(self, match: TentativeMatch, tickets: Sequence[Ticket], now: float) -> None:
        for ticket in tickets:
            self.left(ticket, now)

    def advance(self, now: float, fired: bool) -> None:
        """Nothing changes but the waits."""

    def found(
        self, matches: Sequence[TentativeMatch], alone: Sequence[Ticket], data: Memory, now: float
    ) -> None:
        """Nothing is learnt from a search."""

    def worth(self, ticket: Ticket, now: float) -> float:
        return self._falls[ticket.sequence] * (now - ticket.enqueued_at)

    def start_at(self, match: TentativeMatch, tickets: Sequence[Ticket]) -> float:
        falls = [self._falls[t.sequence] * t.size / match.players for t in tickets]
        waits = [match.newest - t.enqueued_at for t in tickets]
        fallen = math.fsum(fall * wait for fall, wait in zip(falls, waits, strict=True))
        missing, total = self._chosen.quality - match.quality - fallen, math.fsum(falls)
        if total == 0.0:
            return -math.inf if missing <= 0.0 else math.inf
        return match.newest + round_up(missing / total)

    def value(self, match: TentativeMatch, now: float) -> float:
        """The match that has been good enough for longest comes first."""
        return now - (match.start_at or 0.0)

    def memory(self) -> Memory:
        return {
            "values": list(self._values),
            "noted": self._noted,
            "falls": [[sequence, fall] for sequence, fall in self._falls.items()],
        }

    def _fall_of(self, ticket: Ticket) -> float:
        """Return by how much a ticket's requirement falls in a second."""
        if not self._chosen.by:
            return self._chosen.relax
        found = [attribute_of(ticket, player, self._chosen.by) for player in ticket.players]
        numbers = [float(value) for value in found if isinstance(value, float | int)]
        if not numbers:
            return self._chosen.relax
        own = math.fsum(numbers) / len(numbers)
        below = bisect_left(self._ordered, own)
        is_top = bool(self._values) and below >= TOP * len(self._values)
        if ticket.sequence > self._noted:
            self._note(ticket, own)
        return self._chosen.relax / (self._chosen.patience if is_top else 1.0)

    def _note(self, ticket: Ticket, own: float) -> None:
        """Count a value among the last; those of who only comes back are there already."""
        self._noted = ticket.sequence
        if len(self._values) == LAST:
            del self._ordered[bisect_left(self._ordered, self._values.popleft())]
        self._values.append(own)
        insort(self._ordered, own)
