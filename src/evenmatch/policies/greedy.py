"""`greedy`: play as soon as the waiting tickets fill a legal match, longest waiting first."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from evenmatch.cost.divisions import DIVISIONS_MAX
from evenmatch.cost.filling import Labels
from evenmatch.cost.objective import Objective, Seating
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, Matcher, Memory, NoJobs
from evenmatch.policies.parts.timers import Timers
from evenmatch.solvers.fill import STEPS_MAX, Budget, Kind, Problem, complete

if TYPE_CHECKING:
    from evenmatch.policies.steps import Steps

IMPROVEMENTS_MAX = 32
"""Groups tried for one ticket, each legal sooner than the one before."""
SEATINGS_MAX = 64
"""Groups seated in one search for a set that rules allow."""
SEATINGS_MIN = 8
"""Groups seated in one search, however many divisions each has."""
DIVISIONS_A_SEARCH = 8_192
"""Divisions priced in one search where rules compare teams: 65 groups of five against five."""


class Greedy(msgspec.Struct, frozen=True, kw_only=True):
    """Match the first tickets that fill a legal match, as soon as they do.

    The newcomer plays with the longest waiting tickets that complete a match with it. Where rules
    widen with the wait, the policy acts again at the instant at which they allow a match. It makes
    full matches only; where smaller ones may start, the engine starts them at deadlines.

    When to use:
        Where only waiting matters, with parties, sides, roles and rules of any kind, and as the
        yardstick for every other policy. One against one, `price` makes far closer matches.

    Source:
        Schlup, Automatic Game Matching, algorithm A_G.

    Complexity:
        O(k) per arrival where no rule, side, role or party stands in the way, and O(k) for each
        kind of ticket (its size, side and roles) where no rule does. Sides and parties alone are
        searched exactly, and so are roles of single players. Where rules compare more than two
        players, or parties have roles, a search looks at no more than `solvers.fill.STEPS_MAX`
        pairs and `SEATINGS_MAX` groups, and is made again when one of the tickets that it looked
        at leaves. Such a search may miss the group that is legal first: then the policy wakes up
        later than it could, never earlier, and what it makes is legal all the same.
    """

    fills = False

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        """Return a matcher for any format."""
        del seed, memory
        return GreedyMatcher(queue)

    def steps(self, queue: Queue) -> Steps:
        """Return the compiled steps, which a compiled run takes; single players without rules."""
        # Loaded here, since the matcher needs no kernels.
        from evenmatch.policies.steps import Steps
        from evenmatch.solvers.steps import greedy, kinds
        from evenmatch.solvers.steps.waiting import free_slot

        del queue
        return Steps(kinds.GREEDY, greedy.arrive, greedy.arrive, greedy.decide, free_slot)

    def numbers(self, queue: Queue) -> dict[int, float]:
        """Return the parameters of the steps by place: none."""
        del queue
        return {}


class GreedyMatcher(NoJobs):
    """The waiting tickets in order of age, and from when on each completes a match."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._objective = Objective(queue)
        self._k = queue.format.k
        self._is_plain = self._objective.rules.are_none and queue.format.solo_only
        self._seatings = _seatings_max(queue, self._objective.rules.depend_on_teams)
        self._pool: dict[int, Ticket] = {}
        self._kinds: dict[int, Kind] = {}
        # The tickets of each kind, by age; kept where tickets of a kind may stand for each other.
        self._lines: dict[Kind, dict[int, Ticket]] = {}
        self._has_lines = not (self._is_plain or queue.rules)
        self._labels = Labels(queue)
        # Whether kinds do not say it all, so that a full set has to be seated before it will do.
        self._is_seated = bool(queue.rules or queue.format.roles)
        self._sequences: dict[str, int] = {}
        self._players = 0
        self._timers = Timers()
        # The group that each timer stands for, where there is one.
        self._groups: dict[int, tuple[int, ...]] = {}
        # Tickets whose timers no longer follow from the pool; set again before each decision.
        self._stale: set[int] = set()
        self._youngest = 0

    def enter(self, entry: Ticket | OpenMatch, now: float) -> None:
        """Take a ticket in and set its timer."""
        del now
        if isinstance(entry, OpenMatch):
            return
        self._pool[entry.sequence] = entry
        self._kinds[entry.sequence] = self._labels.kind_of(entry)
        self._sequences[entry.id] = entry.sequence
        self._players += entry.size
        is_return = entry.sequence < self._youngest
        self._youngest = max(self._youngest, entry.sequence)
        if self._has_lines:
            self._line_up(entry, is_return)
        if is_return:
            self._pool = dict(sorted(self._pool.items(), key=lambda item: item[1].age_key))
            self._timers.put(entry.sequence, math.inf, (), entry.enqueued_at)
            for ticket in self._pool.values():
                if ticket.age_key >= entry.age_key:
                    self._stale.add(ticket.sequence)
        else:
            self._set_timer(entry)

    def leave(self, entry_id: str, now: float) -> None:
        """Forget a ticket."""
        del now
        sequence = self._sequences.get(entry_id)
        if sequence is not None:
            self._remove(sequence)

    def decide(self, now: float, fired: bool = False) -> Decision:
        """Match what falls due, longest waiting first."""
        groups: list[Grouping] = []
        self._refresh()
        while due := self._timers.pop_due(now, fired):
            for sequence in due:
                # An earlier match of this instant may have taken the partners away.
                if sequence in self._pool and self._timers.is_due(sequence, now, fired):
                    group = self._group(self._pool[sequence], now, fired)
                    groups.append(Grouping(tuple(ticket.id for ticket in group)))
                    for ticket in group:
                        self._remove(ticket.sequence)
                    self._refresh()
        return Decision(tuple(groups), self._timers.next())

    def accepts(self, seating: Seating) -> bool:
        """Return whether a policy takes a legal division; only asked where sets are seated."""
        del seating
        return True

    def close(self, sides: frozenset[str]) -> None:
        """Let no ticket insist on these sides from now on, and on all others."""
        self._labels.closed = sides
        self._lines.clear()
        for sequence, ticket in self._pool.items():
            self._kinds[sequence] = self._labels.kind_of(ticket)
            if self._has_lines:
                self._line_up(ticket, False)
        self._stale.update(self._pool)

    def _group(self, youngest: Ticket, now: float, fired: bool) -> list[Ticket]:
        """Return the longest waiting tickets that a ticket completes a match with now."""

        def is_due(at: float) -> bool:
            return at < now or (at == now and (fired or at == youngest.enqueued_at))

        found = None
        if self._queue.rules:
            found = self._search(youngest, self._soonest(youngest), is_due, now, self._budget())
        if found is None:
            found = [self._pool[s] for s in self._groups[youngest.sequence]]
        return found

    def _set_timer(self, ticket: Ticket) -> None:
        """Find older tickets that this one completes a match with soonest."""
        at, group = math.inf, None
        needs: Sequence[Ticket] | None = None
        if self._is_plain:
            group = [*islice(self._older(ticket), self._k - 1), ticket]
            at, group = (ticket.enqueued_at, group) if len(group) == self._k else (at, None)
        elif self._players >= self._k:
            older, budget = self._soonest(ticket), self._budget()
            at, group = self._first_legal(ticket, older, budget)
            # What a search that gave up would find may hang on anyone whom it looked at.
            needs = older if budget.gave_up else None
        if group is None:
            self._groups.pop(ticket.sequence, None)
        else:
            self._groups[ticket.sequence] = tuple(t.sequence for t in group)
        needs = group or () if needs is None else needs
        needed = tuple(t.sequence for t in needs if t is not ticket)
        self._timers.put(ticket.sequence, at, needed, ticket.enqueued_at)

    def _first_legal(
        self, ticket: Ticket, older: list[Ticket], budget: Budget
    ) -> tuple[float, list[Ticket] | None]:
        """Return the group that the ticket completes soonest, and from when on it is legal."""
        at, group = math.inf, None
        for _ in range(IMPROVEMENTS_MAX):
            # At -inf no division is legal yet, so that the one legal first is preferred.
            found = self._search(ticket, older, partial(operator.gt, at), -math.inf, budget)
            if found is None:
                return at, group
            at, group = ticket.enqueued_at, found
            if self._queue.rules:
                seating = self._objective.seat(found, now=-math.inf)
                assert seating is not None
                at = seating.ready_at
            if at <= ticket.enqueued_at:
                return at, group
        budget.gave_up = True
        return at, group

    def _soonest(self, ticket: Ticket) -> list[Ticket]:
        """Return the older tickets that may ever play with this one, soonest first."""
        if self._has_lines:
            return self._first_of_each_kind(ticket)
        older = list(self._older(ticket))
        ready_at = self._objective.rules.pair_ready_at
        found = [(ready_at(other, ticket), place) for place, other in enumerate(older)]
        return [older[place] for at, place in sorted(found) if at < math.inf]

    def _first_of_each_kind(self, ticket: Ticket) -> list[Ticket]:
        """Return the older tickets that a match may need, by age: of a kind no more than fit in.

        Without rules tickets of one kind fill a match alike, so the first match in the order of
        age takes the oldest of each.
        """
        key, found = ticket.age_key, []
        for (size, _), line in self._lines.items():
            for other in islice(line.values(), self._k // size):
                if other.age_key >= key:
                    break
                found.append(other)
        found.sort(key=lambda t: t.age_key)
        return found

    def _line_up(self, entry: Ticket, is_return: bool) -> None:
        """Put a ticket into the line of its kind."""
        kind = self._kinds[entry.sequence]
        line = self._lines.setdefault(kind, {})
        line[entry.sequence] = entry
        if is_return:
            by_age = sorted(line.values(), key=lambda t: t.age_key)
            self._lines[kind] = {t.sequence: t for t in by_age}

    def _budget(self) -> Budget:
        return Budget(self._seatings, STEPS_MAX + len(self._pool))

    def _older(self, ticket: Ticket) -> Iterator[Ticket]:
        """Yield the tickets that wait longer than this one, oldest first."""
        for other in self._pool.values():
            if other.age_key >= ticket.age_key:
                return
            yield other

    def _search(
        self,
        anchor: Ticket,
        others: Sequence[Ticket],
        is_due: Callable[[float], bool],
        now: float,
        budget: Budget,
    ) -> list[Ticket] | None:
        """Return the first set, in the order of `others`, that makes a legal match in time."""
        tickets = [anchor, *others]
        ready_at = self._objective.rules.pair_ready_at

        def fits(a: int, b: int) -> bool:
            return is_due(ready_at(tickets[a], tickets[b]))

        def accepts(chosen: list[int]) -> bool:
            group = sorted((tickets[i] for i in chosen), key=lambda t: t.age_key)
            seating = self._objective.seat(group, now=now)
            return seating is not None and is_due(seating.ready_at) and self.accepts(seating)

        def may_fill(chosen: Mapping[Kind, int], left: Mapping[Kind, int]) -> bool:
            answer = self._labels.may_fill(chosen, left)
            budget.gave_up |= answer is None
            return answer is True

        kinds = [self._kinds[ticket.sequence] for ticket in tickets]
        problem = Problem(kinds, self._k, may_fill)
        if self._is_seated:
            problem = Problem(kinds, self._k, may_fill, fits, accepts)
        found = complete(problem, budget)
        if found is None:
            return None
        return sorted((tickets[i] for i in found), key=lambda t: t.age_key)

    def _refresh(self) -> None:
        """Set the timers again that those who left or returned have made stale."""
        while self._stale:
            stale, self._stale = sorted(self._stale), set()
            for sequence in stale:
                if sequence in self._pool:
                    self._set_timer(self._pool[sequence])

    def _remove(self, sequence: int) -> None:
        ticket = self._pool.pop(sequence)
        del self._sequences[ticket.id]
        kind = self._kinds.pop(sequence)
        if self._has_lines:
            line = self._lines[kind]
            del line[sequence]
            if not line:
                del self._lines[kind]
        if not self._kinds:
            self._labels.forget()
        self._groups.pop(sequence, None)
        self._players -= ticket.size
        self._stale.update(self._timers.drop(sequence))


def _seatings_max(queue: Queue, by_team: bool) -> int:
    """Return how many groups one search may seat: fewer where each has many divisions."""
    if not by_team:
        return SEATINGS_MAX
    ways, room = 1, queue.format.k
    for seats in queue.format.players:
        ways = min(DIVISIONS_MAX, ways * math.comb(room, seats))
        room -= seats
    if not queue.format.sides:
        ways = -(-ways // math.factorial(min(8, len(queue.format.players))))
    return min(SEATINGS_MAX, max(SEATINGS_MIN, DIVISIONS_A_SEARCH // ways))
