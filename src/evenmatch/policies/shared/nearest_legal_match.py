"""Finds the nearest match that the conditions of a queue allow a ticket, and what forbids others.

What is asked for is said of those who wait: the first match with the ticket that conditions allow,
now or as ages pass; without one, which single condition keeps every match from being legal; and
how many players are missing, in all and in each team. All searches together are bounded, so that
an explanation takes no longer in a large pool.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from evenmatch.criteria.condition.ages import Conditions, first_after
from evenmatch.criteria.condition.implications import Between, Implications, Word
from evenmatch.criteria.rules import Rules
from evenmatch.model.condition import Condition, SizeTest, at_age
from evenmatch.model.queue import Format
from evenmatch.model.ticket import Ticket
from evenmatch.policies.shared.condition_columns import CandidateQuery, ConditionColumns
from evenmatch.policies.shared.condition_search import (
    ConditionSearch,
    Question,
    TicketsByTeam,
    widening_waits,
)
from evenmatch.policies.shared.group_search import Effort

CONSIDERED_MAX = 48
"""Tickets that one search chooses from."""
TICKETS_MAX = 400
"""Tickets that are looked at: the longest waiting, and the ticket itself."""
INSTANTS_MAX = 24
"""Instants to come at which ages change that are looked at one after the other."""
LOOKS = 600
"""Half-built matches that one search looks at."""
LOOKS_MAX = 6_000
"""The same of all searches together."""
OWN = "of the queue beside its rules_file"
"""How the other rules of the queue are named among conditions that forbid a match."""


class NearestLegalMatch(NamedTuple):
    """A match with the ticket, the instant from which it is legal, and who says no until then."""

    at: float
    teams: TicketsByTeam
    objections: tuple[str, ...]


class Shortage(NamedTuple):
    """A team for which too few wait: its number, players at least, and players who may join it."""

    team: int
    least: int
    waiting: int


class ConditionProspects:
    """One ticket among those who wait.

    Args:
        rules: All rules of the queue, its conditions among them.
        own: The ticket.
        others: All others who wait.
        now: The instant.
    """

    def __init__(
        self,
        rules: Rules,
        own: Ticket,
        others: Sequence[Ticket],
        now: float,
    ) -> None:
        assert rules.conditions is not None
        self._stated = rules.conditions.conditions
        self._form = rules.queue.format
        self._rules = rules
        self._waits = widening_waits(rules)
        self._own = own
        by_age = sorted(others, key=lambda ticket: ticket.age_key)[: TICKETS_MAX - 1]
        self._tickets = sorted([own, *by_age], key=lambda ticket: ticket.age_key)
        self._now = now
        self._left = LOOKS_MAX
        self._gave_up = False
        self._pool = self._pool_by(self._stated, rules)

    def _pool_by(self, stated: Sequence[Condition], rules: Rules | None) -> _Pool:
        conditions = Conditions(stated, self._waits)
        return _Pool(conditions, self._form, rules, self._tickets)

    @property
    def is_certain(self) -> bool:
        """Return whether searches have looked at everything."""
        return not self._gave_up and len(self._tickets) <= CONSIDERED_MAX

    def first(self) -> NearestLegalMatch | None:
        """Return the match with the ticket that is legal first; None if none is found."""
        changes = self._changes
        found = self._first_of([self._now, *changes[:INSTANTS_MAX]])
        late = changes[INSTANTS_MAX:]
        return self._first_of_many(late) if found is None and late else found

    def _first_of_many(self, instants: Sequence[float]) -> NearestLegalMatch | None:
        """Return a match that is legal at one of many instants, the first one if rules only loosen.

        What is legal at the last of them is looked for earlier, in halves; where nothing is, a
        match between them may have been missed.
        """
        found = self._first_of(instants[-1:])
        self._gave_up |= found is None
        low, high = 0, len(instants) - 1
        while found is not None and low < high:
            middle = (low + high) // 2
            earlier = self._first_of([instants[middle]])
            if earlier is None:
                low = middle + 1
            else:
                found, high = earlier, middle
        return found

    def at_once(self) -> NearestLegalMatch | None:
        """Return a match with the ticket that is legal now; None if none is found."""
        return self._first_of([self._now])

    def _first_of(self, instants: Sequence[float]) -> NearestLegalMatch | None:
        conditions = self._pool.conditions
        for at in instants:
            teams = self._match(self._pool, at)
            if teams is not None:
                # What allows it may have come before, while the search looked elsewhere.
                ready_at = self._rules.ready_at(teams, self._now)
                found = conditions.objections(teams, self._now) if ready_at > self._now else []
                return NearestLegalMatch(ready_at, teams, tuple([each.name for each in found]))
        return None

    def blockers(self) -> list[str]:
        """Return the conditions without any one of which there would be a match, now or later."""
        found = []
        last = self._changes[-1:] or [self._now]
        for condition in self._stated:
            if isinstance(at_age(condition.test, 0.0), SizeTest):
                continue
            others = tuple([each for each in self._stated if each is not condition])
            if self._has_match(self._pool_by(others, self._rules), last):
                found.append(condition.name)
        if self._rules.widening_limits and self._has_match(self._pool_by(self._stated, None), last):
            found.append(OWN)
        return found

    def _has_match(self, pool: _Pool, last: Sequence[float]) -> bool:
        """Return whether there is a match with the ticket now, or at last."""
        return any(self._match(pool, at) is not None for at in dict.fromkeys((self._now, *last)))

    def players_missing(self) -> int:
        """Return how many players are missing for the smallest match at any age."""
        fewest = min([way.fewest for way in self._pool.search.ways], default=self._form.k_min)
        return max(0, fewest - sum([ticket.size for ticket in self._tickets]))

    def shortages(self) -> list[Shortage]:
        """Return the teams that those who may be in them cannot fill, at any age."""
        conditions = self._pool.conditions
        implications = Implications(conditions.verdicts, len(self._form.players))
        facts = conditions.verdicts.facts
        found: dict[int, Shortage] = {}
        for piece, ways in enumerate(self._pool.search.numbers):
            tests = [
                each
                for statement in conditions.statements[piece]
                for each in implications.by_statement(statement)
                if isinstance(each, Between | Word)
            ]
            # An expansion may lower what a team needs: the least of all ages counts.
            for team in range(len(self._form.players)):
                own = [each for each in tests if team in each.teams]
                least = min([self._pool.search.ways[way].least[team] for way in ways], default=0)
                waiting = 0
                for ticket in self._tickets:
                    values = facts.of(ticket, is_exact=False)
                    waiting += ticket.size * all(each.suits(values[each.fact]) for each in own)
                known = found.get(team)
                if known is None or least - waiting < known.least - known.waiting:
                    found[team] = Shortage(team, least, waiting)
        return [each for each in found.values() if each.waiting < each.least]

    @cached_property
    def _changes(self) -> list[float]:
        """Return the instants to come at which the age of somebody changes what is allowed."""
        starts = {
            at
            for ticket in self._tickets
            for at in self._pool.conditions.starts_of(ticket.enqueued_at)
            if at > self._now
        }
        return sorted(starts)

    def _match(self, pool: _Pool, at: float) -> TicketsByTeam | None:
        """Return a match with the ticket that is legal at an instant."""
        for question in pool.questions(self._own, self._tickets, at):
            if self._left <= 0:
                self._gave_up = True
                return None
            effort = Effort(min(LOOKS, self._left), min(LOOKS, self._left), 1)
            search = pool.search.find(question, effort)
            teams: TicketsByTeam | None = None
            try:
                while True:
                    next(search)
                    effort.evaluations_left = min(
                        LOOKS, max(1, self._left - effort.evaluations_spent)
                    )
                    if effort.evaluations_spent >= LOOKS_MAX:
                        effort.gave_up = True
                        break
            except StopIteration as done:
                teams = done.value
            self._left -= effort.evaluations_spent
            self._gave_up |= effort.gave_up and teams is None
            if teams is not None and pool.ready_at(teams, at) <= at:
                return teams
        return None


class _Pool:
    """The tickets under some conditions, ready to be searched."""

    def __init__(
        self, conditions: Conditions, form: Format, rules: Rules | None, tickets: Sequence[Ticket]
    ) -> None:
        self.conditions = conditions
        self._rules = rules
        self.search = ConditionSearch(conditions, form, rules)
        count = len(form.players)
        self.columns = ConditionColumns(conditions, self.search.ways, count, rules)
        for ticket in tickets:
            self.columns.enter(ticket)

    def ready_at(self, teams: TicketsByTeam, at: float) -> float:
        """Return the instant from which a match is legal, at an instant or later."""
        known = -math.inf if self._rules is None else self._rules.widened_at(teams)
        return max(known, first_after(self.conditions.intervals(teams), max(at, known)))

    def questions(self, own: Ticket, tickets: Sequence[Ticket], at: float) -> list[Question]:
        """Return what to search for: by whose age the match goes, and in which way it is legal."""
        by_piece: dict[int, list[Ticket]] = {}
        is_newest = self.conditions.clock == "newest"
        for ticket in tickets:
            is_beyond = (
                (ticket.age_key >= own.age_key) if is_newest else (ticket.age_key <= own.age_key)
            )
            piece = self.conditions.piece_of(ticket.enqueued_at, at)
            if is_beyond and piece is not None:
                by_piece.setdefault(piece, []).append(ticket)
        found = []
        for piece, clocks in by_piece.items():
            names = frozenset([ticket.id for ticket in clocks])
            # Nobody's age may be beyond the one that counts.
            end = (
                max(clocks, key=lambda ticket: ticket.age_key)
                if is_newest
                else min(clocks, key=lambda ticket: ticket.age_key)
            )
            beyond = self.columns.younger(end) if is_newest else self.columns.older(end)
            among = ~beyond & ~self.columns.flags(frozenset([own.id]))
            for way in self.search.numbers[piece]:
                if not self.columns.fits(own, way):
                    continue
                first = None if own.id in names else self.columns.flags(names)
                asked = CandidateQuery(way, among, first, CONSIDERED_MAX, False, at)
                circle = self.columns.chosen(own, asked)
                if sum([t.size for t in circle.tickets]) >= self.search.ways[way].fewest:
                    one_of = None if own.id in names else names
                    found.append(Question(way, circle.tickets, circle.mates, one_of, at))
        return found
