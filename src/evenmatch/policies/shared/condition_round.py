"""Matches of many tickets at once that pass the conditions of a queue, as good as time allows.

Searches around one ticket after the other (`condition_matcher`) make matches that are legal, each
divided as criteria like best, and a solver searches the sketch of the conditions
(`condition_sketch`), which it knows as columns; what it finds is held against the conditions
themselves, and whom that leaves over is searched for one by one. The way with more matches counts,
so that none is left unmade. Then tickets of matches that conditions alone have made change places,
with each other and with others, as long as that makes matches better and keeps them legal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from evenmatch.criteria.condition.ages import Conditions
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.rules import side_of
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.shared.condition_columns import CandidateQuery, ConditionColumns, Flags
from evenmatch.policies.shared.condition_matcher import (
    CONSIDERED_MAX,
    LARGE,
    STEPS_A_PLAYER,
    ConditionMatcher,
)
from evenmatch.policies.shared.condition_search import (
    WHOLE_MAX,
    ConditionSearch,
    Question,
    TicketsByTeam,
)
from evenmatch.policies.shared.condition_sketch import ConditionSketch
from evenmatch.policies.shared.group_search import Effort
from evenmatch.solvers.teams.batch import Batch, Places, Plan

CALL = 2_000
"""Half-built matches that one call of a search for those left over looks at."""
LOOKS_A_TICKET = 60
"""Half-built matches at most that are looked at for each ticket left over."""
LOOKS_LEAST = 20_000
SHARE = 25
"""Evaluations of a solver that count as much as one of a match by the conditions."""
TRIES_A_TICKET = 40
"""Changes at most that are tried for each ticket of matches that conditions alone have made."""
SCARCE_FROM = 32
"""Tickets from which on those with few partners are searched for first: fewer are looked at all."""
SCARCE = 0.25
"""Share of the tickets that are searched for first, since they have fewest to play with."""
DRAWN = 6
"""Matches of which the worst is changed."""
GAIN = 1e-12


class ConditionRounds:
    """Finds matches in one queue.

    Args:
        queue: Its rules are conditions, and perhaps others.

    Raises:
        ConfigError: It has roles, or rules that `ConditionMatcher` refuses.
    """

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        stated = [rule.condition for rule in queue.rules if rule.condition is not None]
        self.sketch = ConditionSketch(stated, queue.format)
        self._objective = Objective(queue)
        ConditionMatcher(queue, CALL)  # refuses what it cannot do
        self._conditions = Conditions(stated)
        self._search = ConditionSearch(self._conditions, queue.format, self._objective.rules)

    @property
    def last_wait(self) -> float:
        """Return the age at which what is legal changes for the last time, s."""
        return self._conditions.waits[-1]

    def plan(
        self, batch: Batch, tickets: Sequence[Ticket], now: float, find: Callable[[], Plan], *,
        seed: int, tries: int,
    ) -> Plan:  # fmt: skip
        """Return matches that are legal now, as rows of a batch.

        Args:
            batch: The tickets, with the sketch of the conditions.
            tickets: Party by party.
            now: The instant.
            find: Searches the batch.
            seed: Of all chance.
            tries: Changes that are tried at the most.
        """
        party = np.searchsorted(batch.first, np.arange(batch.players), side="right") - 1
        alone = [self.evened(teams, now) for teams in self._made(tickets, now)]
        kept, spent = list[TicketsByTeam](), 0
        # Of so few all was looked at: there is no match.
        is_over = not alone and len(tickets) <= WHOLE_MAX
        if not is_over and self._is_searched(batch):
            found = find()
            spent = found.evaluations
            for seated, is_legal in zip(found.seating, found.legal, strict=True):
                teams = _teams_of(batch, seated, party.tolist(), tickets)
                if is_legal and self.is_legal(teams, now):
                    kept.append(teams)
        made = alone
        if kept:
            gone = _sequences(kept)
            left = [ticket for ticket in tickets if ticket.sequence not in gone]
            others = [self.evened(teams, now) for teams in self._made(left, now)]
            if len(kept) + len(others) >= len(alone):
                made = others
            else:
                kept = []
        if made:
            gone = _sequences([*kept, *made])
            bench = [ticket for ticket in tickets if ticket.sequence not in gone]
            rng = np.random.default_rng(seed)
            _Exchange(self, kept, made, bench, now).run(tries, rng)
        return self._rows(batch, tickets, [*kept, *made], spent)

    def _is_searched(self, batch: Batch) -> bool:
        """Return whether a solver's search of a batch is worth its time.

        Where matches need a location, each evaluation looks at all of them, and that takes longer
        than to search by conditions.
        """
        if batch.players < int(batch.seats_min.sum()):
            return False
        return self.sketch.is_quick

    def evened(self, teams: TicketsByTeam, now: float) -> TicketsByTeam:
        """Return a match in the division that criteria like best of those that are legal."""
        if not self._objective.weights:
            return teams
        tickets = sorted([t for team in teams for t in team], key=lambda ticket: ticket.age_key)
        found = self._objective.cheapest(tickets, lambda each: self.is_legal(each, now))
        return teams if found is None else found

    def is_legal(self, teams: TicketsByTeam, now: float) -> bool:
        """Return whether a match may be made now, its sizes included."""
        form = self._queue.format
        sizes = [sum([ticket.size for ticket in team]) for team in teams]
        limits = zip(form.least_players, sizes, form.players, strict=True)
        if not all(low <= size <= high for low, size, high in limits):
            return False
        for name, team in zip(form.strict_sides, teams, strict=False):
            if any(side_of(ticket) not in ("", name) for ticket in team):
                return False
        return self._objective.rules.ready_at(teams, now) <= now

    def quality(self, teams: TicketsByTeam) -> float:
        """Return what a match is worth by the criteria."""
        objective = self._objective
        factors = objective.factors(teams)
        total = math.fsum(objective.weights)
        if not total:
            return 1.0
        costs = zip(factors, objective.weights, strict=True)
        return 1.0 - math.fsum(cost * weight for cost, weight in costs) / total

    def judged(self, batch: Batch, tickets: Sequence[Ticket], plan: Plan) -> Plan:
        """Return a plan of a batch of these tickets with what its matches are worth by criteria."""
        party = np.searchsorted(batch.first, np.arange(batch.players), side="right") - 1
        quality = [
            self.quality(_teams_of(batch, seated, party.tolist(), tickets))
            for seated in plan.seating
        ]
        return plan._replace(quality=np.array(quality, dtype=np.float64))

    def _made(self, tickets: Sequence[Ticket], now: float) -> list[TicketsByTeam]:
        """Return matches: around who has fewest to play with first, then around all others."""
        if len(tickets) <= SCARCE_FROM:
            return self._by_age(tickets, now)
        made = self._by_scarcity(tickets, now)
        gone = _sequences(made)
        left = [ticket for ticket in tickets if ticket.sequence not in gone]
        return [*made, *self._by_age(left, now)]

    def _by_scarcity(self, tickets: Sequence[Ticket], now: float) -> list[TicketsByTeam]:
        """Return the matches that short searches find around tickets with few partners first.

        A match is of the piece of the ticket that its clock goes by, and all others are beyond
        that: so each is looked for around tickets of its piece, the longest waiting pieces first.
        """
        conditions, search = self._conditions, self._search
        columns = ConditionColumns(
            conditions, search.ways, len(self._queue.format.players), self._objective.rules
        )
        by_piece: dict[int, list[Ticket]] = {}
        for ticket in tickets:
            columns.enter(ticket)
            piece = conditions.piece_of(ticket.enqueued_at, now)
            if piece is not None:
                by_piece.setdefault(piece, []).append(ticket)
        is_newest = conditions.clock == "newest"
        gone, found = set[int](), list[TicketsByTeam]()
        for piece in sorted(by_piece, reverse=True):
            names = [
                each.id
                for other, group in by_piece.items()
                if (other >= piece if is_newest else other <= piece)
                for each in group
            ]
            flags = columns.flags(frozenset(names))
            for way in search.numbers[piece]:
                here = [each for each in by_piece[piece] if each.sequence not in gone]
                counts = {each.sequence: columns.count_mates(each, way) for each in here}
                here.sort(key=lambda each: (counts[each.sequence], each.age_key))
                scarce = here[: math.ceil(SCARCE * len(here))]
                for anchor in scarce:
                    if anchor.sequence in gone:
                        continue
                    teams = self._around(anchor, columns, flags, way, now)
                    if teams is not None:
                        found.append(teams)
                        for ticket in [each for team in teams for each in team]:
                            gone.add(ticket.sequence)
                            columns.leave(ticket)
        return found

    def _around(
        self, anchor: Ticket, columns: ConditionColumns, flags: Flags, way: int, now: float
    ) -> TicketsByTeam | None:
        """Return the legal match that a short search finds around a ticket by one way."""
        if not columns.fits(anchor, way):
            return None
        k = self._queue.format.k
        most = CONSIDERED_MAX + (k if k > LARGE else 0)
        among = flags & ~columns.flags(frozenset([anchor.id]))
        circle = columns.chosen(anchor, CandidateQuery(way, among, None, most, k > LARGE, now))
        if sum([ticket.size for ticket in circle.tickets]) < self._search.ways[way].fewest:
            return None
        question = Question(way, circle.tickets, circle.mates, None, now)
        teams = _first(self._search, question, STEPS_A_PLAYER * max(k, LARGE))
        return teams if teams is not None and self.is_legal(teams, now) else None

    def _by_age(self, tickets: Sequence[Ticket], now: float) -> list[TicketsByTeam]:
        """Return the matches that searches around one ticket after the other find."""
        if sum(ticket.size for ticket in tickets) < max(1, self._queue.format.k_min):
            return []
        matcher = ConditionMatcher(self._queue, CALL)
        by_id = {ticket.id: ticket for ticket in tickets}
        for ticket in sorted(tickets, key=lambda each: each.age_key):
            matcher.enter(ticket, now)
        most = max(LOOKS_LEAST, LOOKS_A_TICKET * len(tickets))
        found: list[TicketsByTeam] = []
        at = now
        while matcher.evaluations < most:
            decision = matcher.decide(at, True)
            for group in decision.matches:
                teams = group.teams or ()
                found.append(tuple([tuple([by_id[i] for i in team]) for team in teams]))
            if not matcher.is_busy:
                break
            at = max(at, math.nextafter(decision.wake_at, math.inf))
        return [teams for teams in found if self.is_legal(teams, now)]

    def _rows(
        self, batch: Batch, tickets: Sequence[Ticket], matches: Sequence[TicketsByTeam], spent: int
    ) -> Plan:
        first = {ticket.sequence: int(at) for ticket, at in zip(tickets, batch.first, strict=False)}
        starts = np.concatenate(([0], np.cumsum(batch.seats)))[:-1].tolist()
        seated: Places = np.full((len(matches), batch.k), -1, dtype=np.int32)
        for row, teams in enumerate(matches):
            for start, team in zip(starts, teams, strict=True):
                at = start
                for ticket in team:
                    own = first[ticket.sequence]
                    seated[row, at : at + ticket.size] = range(own, own + ticket.size)
                    at += ticket.size
        quality = np.array([self.quality(teams) for teams in matches], dtype=np.float64)
        return Plan(seated, quality, np.ones(len(matches), dtype=np.bool_), spent)


def _first(search: ConditionSearch, question: Question, looks: int) -> TicketsByTeam | None:
    """Return the match that a short search finds."""
    effort = Effort(looks, looks, 1)
    running = search.find(question, effort)
    try:
        while True:
            next(running)
            if effort.evaluations_spent >= looks:
                return None
    except StopIteration as done:
        teams: TicketsByTeam | None = done.value
        return teams


def _sequences(matches: Sequence[TicketsByTeam]) -> set[int]:
    return {ticket.sequence for teams in matches for team in teams for ticket in team}


def rounds_of(queue: Queue) -> ConditionRounds | None:
    """Return what finds matches by the conditions of a queue; None if it has none.

    Raises:
        ConfigError: It has roles, or rules that `ConditionMatcher` refuses.
    """
    is_ruled = any(rule.condition is not None for rule in queue.rules)
    return ConditionRounds(queue) if is_ruled else None


def _teams_of(
    batch: Batch, seated: Sequence[int], party: Sequence[int], tickets: Sequence[Ticket]
) -> TicketsByTeam:
    """Return the tickets by team of a row of a plan."""
    starts = np.concatenate(([0], np.cumsum(batch.seats))).tolist()
    found = []
    for low, high in pairwise(starts):
        own = dict.fromkeys([party[int(player)] for player in seated[low:high] if player >= 0])
        found.append(tuple([tickets[each] for each in own]))
    return tuple(found)


def teams_in(batch: Batch, seated: Sequence[int], tickets: Sequence[Ticket]) -> list[list[int]]:
    """Return the sequences of the tickets of each team of a row of a plan."""
    party = np.searchsorted(batch.first, np.arange(batch.players), side="right") - 1
    teams = _teams_of(batch, seated, party.tolist(), tickets)
    return [[ticket.sequence for ticket in team] for team in teams]


class _Exchange:
    """Tickets change places where that makes matches better.

    Args:
        rounds: Judges matches.
        kept: Matches of the solver: their tickets may change places with those of the others.
        made: Matches that conditions alone have made; both lists are changed.
        bench: Tickets without a match.
        now: The instant.
    """

    def __init__(
        self,
        rounds: ConditionRounds,
        kept: list[TicketsByTeam],
        made: list[TicketsByTeam],
        bench: list[Ticket],
        now: float,
    ) -> None:
        self._rounds = rounds
        self._now = now
        self._kept, self._made = kept, made
        self._bench = bench
        self._matches = [*made, *kept]
        self._quality = [rounds.quality(teams) for teams in self._matches]

    def run(self, tries: int, rng: np.random.Generator) -> None:
        """Try so many changes, and keep what is better."""
        own = sum(len(team) for teams in self._made for team in teams)
        for _ in range(min(tries, TRIES_A_TICKET * own)):
            # Of some drawn by chance the worst: good ones have little to gain.
            drawn = rng.integers(len(self._made), size=DRAWN).tolist()
            one = min(drawn, key=self._quality.__getitem__)
            if self._quality[one] >= 1.0 - GAIN:
                continue
            draw = rng.random()
            if draw < 0.4 or (len(self._matches) == 1 and not self._bench):
                self._within(one, rng)
            elif self._bench and draw < 0.6:
                self._with_bench(one, rng)
            elif len(self._matches) > 1:
                others = [each for each in rng.integers(len(self._matches), size=2) if each != one]
                if others:
                    self._between(one, int(min(others, key=self._quality.__getitem__)), rng)
        self._made[:] = self._matches[: len(self._made)]
        self._kept[:] = self._matches[len(self._made) :]

    def _within(self, one: int, rng: np.random.Generator) -> None:
        teams = self._matches[one]
        first, second = _place(teams, rng), _place(teams, rng)
        if first[0] == second[0]:
            return
        changed = _put(_put(teams, first, _at(teams, second)), second, _at(teams, first))
        self._keep([(one, changed)])

    def _with_bench(self, one: int, rng: np.random.Generator) -> None:
        teams = self._matches[one]
        place, at = _place(teams, rng), int(rng.integers(len(self._bench)))
        leaver, comer = _at(teams, place), self._bench[at]
        if leaver.size == comer.size and self._keep([(one, _put(teams, place, comer))]):
            self._bench[at] = leaver

    def _between(self, one: int, two: int, rng: np.random.Generator) -> None:
        mine, theirs = self._matches[one], self._matches[two]
        first, second = _place(mine, rng), _place(theirs, rng)
        leaver, comer = _at(mine, first), _at(theirs, second)
        if leaver.size == comer.size:
            self._keep([(one, _put(mine, first, comer)), (two, _put(theirs, second, leaver))])

    def _keep(self, changed: Sequence[tuple[int, TicketsByTeam]]) -> bool:
        """Put changed matches in place if they are better in sum and legal."""
        qualities = [self._rounds.quality(teams) for _, teams in changed]
        before = math.fsum(self._quality[number] for number, _ in changed)
        if math.fsum(qualities) <= before + GAIN:
            return False
        if not all(self._rounds.is_legal(teams, self._now) for _, teams in changed):
            return False
        for (number, teams), quality in zip(changed, qualities, strict=True):
            self._matches[number], self._quality[number] = teams, quality
        return True


Place = tuple[int, int]
"""A team, and a ticket in it."""


def _place(teams: TicketsByTeam, rng: np.random.Generator) -> Place:
    """Return the place of a ticket drawn by chance."""
    at = int(rng.integers(sum(map(len, teams))))
    for number, team in enumerate(teams):
        if at < len(team):
            return number, at
        at -= len(team)
    raise IndexError(at)


def _at(teams: TicketsByTeam, place: Place) -> Ticket:
    return teams[place[0]][place[1]]


def _put(teams: TicketsByTeam, place: Place, ticket: Ticket) -> TicketsByTeam:
    """Return teams with a ticket in a place."""
    number, at = place
    team = (*teams[number][:at], ticket, *teams[number][at + 1 :])
    return (*teams[:number], team, *teams[number + 1 :])
