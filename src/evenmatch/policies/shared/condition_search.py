"""The search for a match that passes the conditions of a queue, at one age of it.

Tickets are tried one after the other, each in every team that has room for it and then in none, the
fullest matches first. A half-built match is left where more players cannot mend it
(`criteria.condition.partial_match`), so that a search of a small pool misses nothing. One that
has found a match goes on for a while to find a fuller one.

A search is a generator: it yields whenever the effort for this turn is used up.
"""

from __future__ import annotations

import math
from collections.abc import Container, Generator, Sequence
from typing import NamedTuple

from evenmatch.criteria.columns.pairs import is_told, says_nothing
from evenmatch.criteria.condition.ages import Conditions
from evenmatch.criteria.condition.facts import TicketFacts
from evenmatch.criteria.condition.partial_match import Outlook, PartialMatch
from evenmatch.criteria.condition.value_bounds import ANYTHING, Span
from evenmatch.criteria.rules import Rules, side_of
from evenmatch.errors import ConfigError
from evenmatch.model.condition import FoldOf, Measured, TeamProperty, Test
from evenmatch.model.queue import Format
from evenmatch.model.ticket import Ticket
from evenmatch.policies.shared.condition_ways import ways_of
from evenmatch.policies.shared.group_search import Effort

BETTER_MAX = 400
"""Half-built matches that are looked at for a fuller match than the one that is there."""
PAIRS_A_LOOK = 8
"""Pairs of tickets that count as much as a half-built match where rules are asked about them."""
WHOLE_MAX = 10
"""Tickets up to which a search looks at everything, however long that takes."""

TicketsByTeam = tuple[tuple[Ticket, ...], ...]
"""The tickets of a match by team."""
TeamSearch = Generator[None, None, TicketsByTeam | None]


class Question(NamedTuple):
    """What a search looks for.

    Args:
        way: The number of the way in which it would meet the conditions.
        tickets: The first is in the match; others may be, as they are preferred.
        mates: Of each, as bits by place, with whom it may be in a match.
        one_of: The ids of those of whom one at least is in it; None: anybody.
        at: When it is asked; it matters where the age of each ticket of a match counts, or where
            the queue has rules of its own.
    """

    way: int
    tickets: Sequence[Ticket]
    mates: Sequence[int]
    one_of: Container[str] | None = None
    at: float = 0.0


class ConditionSearch:
    """Searches in one queue.

    Args:
        conditions: Those of the queue.
        form: Its teams.
        rules: All its rules, of which those that only widen are asked too; None: these are not.
    """

    def __init__(self, conditions: Conditions, form: Format, rules: Rules | None) -> None:
        known = rules.widening_limits if rules is not None else ()
        self._rules = rules if known else None
        self.has_pairs = rules is not None and not all(
            is_told(each, rules) or says_nothing(each, rules) for each in known
        )
        """Whether rules beside the conditions say of pairs what no columns tell."""
        self._conditions = conditions
        self._outlook = Outlook(conditions.verdicts)
        self._sides = form.strict_sides
        pieces = ways_of(conditions, form, self._outlook)
        self.ways = tuple([way for piece in pieces for way in piece])
        """By number."""
        numbers = iter(range(len(self.ways)))
        self.numbers = [[next(numbers) for _ in piece] for piece in pieces]
        """By piece of the age, the ways to meet the conditions."""
        named = _teams_named(conditions)
        self._alike = [_alike_teams(named, (way.least, way.most)) for way in self.ways]

    @property
    def facts(self) -> TicketFacts:
        """What is read of tickets."""
        return self._outlook.facts

    def find(self, question: Question, effort: Effort) -> TeamSearch:
        """Return the teams of a match; None if there is none, or none was there in time.

        Args:
            question: What is looked for.
            effort: What may be spent; it says whether everything was looked at.
        """
        walk = _SearchSteps(self, question)
        is_small = len(question.tickets) <= WHOLE_MAX
        while True:
            if effort.evaluations_left <= 0:
                yield
                continue
            if effort.total <= 0 and not is_small:
                effort.gave_up = True
                return walk.best
            before = walk.looked_at
            is_over = walk.step()
            effort.spend(walk.looked_at - before)
            if is_over:
                return walk.best

    # What a walk asks.

    def begin(self, way: int) -> PartialMatch:
        """Return a match without anybody."""
        one, facts = self.ways[way], self.facts
        return PartialMatch(one.least, one.most, facts.count, facts.map_count)

    def can_pass(self, way: int, partial: PartialMatch) -> bool:
        """Return whether a half-built match may still become legal."""
        return self._outlook.can_pass(self.ways[way].statements, partial)

    def is_legal(self, way: int, partial: PartialMatch, at: float) -> bool:
        """Return whether a match is legal as it is."""
        if self._rules is not None and self._rules.widened_at(partial.teams) > at:
            return False
        if self._conditions.clock == "each":
            return self._conditions.holds_at(at, partial.teams)
        return self._conditions.holds_in(self.ways[way].piece, partial.teams)

    def may_meet(self, one: Ticket, two: Ticket, at: float) -> bool:
        """Return whether rules beside the conditions let two be in one match by now."""
        return self._rules is None or self._rules.pair_ready_at(one, two) <= at

    def insists(self, ticket: Ticket) -> bool:
        """Return whether a ticket may be in one team only."""
        return bool(self._sides) and side_of(ticket) != ""

    def options(
        self, way: int, ticket: Ticket, partial: PartialMatch, *, by_name: bool
    ) -> list[int]:
        """Return the teams that a ticket may join, the one with most need of players first.

        Of empty teams of which conditions say the same, the first one stands for all, unless teams
        are told apart `by_name`.
        """
        teams, most = [], partial.most
        alike, begun = self._alike[way], set[int]()
        side = side_of(ticket) if by_name else ""
        for team, size in enumerate(partial.sizes):
            if size + ticket.size > most[team] or (side and self._sides[team] != side):
                continue
            if not size and not by_name:
                if alike[team] in begun:
                    continue
                begun.add(alike[team])
            teams.append(team)
        least, sizes = partial.least, partial.sizes
        teams.sort(key=lambda team: (sizes[team] >= least[team], sizes[team] - most[team], team))
        return teams


def conditions_of(rules: Rules) -> Conditions:
    """Return the conditions of a queue, with the ages at which its other rules widen, too.

    Raises:
        ConfigError: There are none, or other rules widen so that no age of a match tells when.
    """
    if rules.conditions is None:
        raise ConfigError("plays by the rules of a rules_file: give the queue one")
    return Conditions(rules.conditions.conditions, widening_waits(rules))


def players_of(rules: Rules) -> tuple[int, int]:
    """Return the fewest and the most players of the matches that a rule set allows at any age."""
    form = rules.queue.format
    ways = ConditionSearch(conditions_of(rules), form, rules).ways
    fewest = min([way.fewest for way in ways], default=form.k_min)
    return fewest, max([way.fullest for way in ways], default=form.k)


def widening_waits(rules: Rules) -> list[float]:
    """Return the ages at which rules beside the conditions of a queue widen.

    Raises:
        ConfigError: They widen so that no age of a match tells when.
    """
    assert rules.conditions is not None
    clock = rules.conditions.clock
    waits: list[float] = []
    for each in rules.widening_limits:
        expand, name = each.rule.expand, f"the rule {each.rule.kind} beside a rules_file"
        if expand is None:
            continue
        if not expand.steps:
            raise ConfigError(f"{name} must widen in steps: write expand = {{steps = [...]}}")
        if clock != "each" and each.rule.unit == "relative":
            raise ConfigError(f"{name} cannot widen with unit = relative; write points")
        accept = "both" if clock == "newest" else "either"
        if clock != "each" and each.rule.accept != accept:
            raise ConfigError(
                f'{name} must have accept = "{accept}" to widen, since the rules_file goes by the '
                f"{clock} ticket of a match"
            )
        waits += [each.when(wider) for _, wider in expand.steps]
    return [each for each in waits if each < math.inf]


class _Candidate(NamedTuple):
    """A ticket and what may become of it.

    Args:
        place: Of the ticket in order.
        options: The teams that are left to try, -1 is none of them.
        joined: The team that it is in now, if it is in one.
        allowed: As bits by place, who may still join before it is decided.
    """

    place: int
    options: list[int]
    joined: list[int]
    allowed: int


class _SearchSteps:
    """One search, step by step."""

    def __init__(self, search: ConditionSearch, question: Question) -> None:
        self._search = search
        self._way = question.way
        self._at = question.at
        self._order = question.tickets
        self._mates = question.mates
        self._partial = search.begin(question.way)
        self._ranges = _ranges_of(self._order, search.facts)
        facts = search.facts
        self._told = [facts.of(each, is_exact=False) for each in self._order]
        maps = range(facts.map_count)
        self._maps = [
            [facts.places(each, number, is_exact=False) for number in maps] for each in self._order
        ]
        self._by_size: dict[int, int] = {}
        self._wanted_bits = 0
        for place, ticket in enumerate(self._order):
            self._by_size[ticket.size] = self._by_size.get(ticket.size, 0) | 1 << place
            if question.one_of is None or ticket.id in question.one_of:
                self._wanted_bits |= 1 << place
        self._full = sum(self._partial.most)
        self._by_name = any(map(search.insists, self._order))
        self._levels: list[_Candidate] = []
        self._players = self._best_size = 0
        self._wanted = 0
        self._better_until = -1
        # Of each place, of whom it was asked whether the two may meet, and who may.
        self._met: dict[int, tuple[int, int]] = {}
        self.best: TicketsByTeam | None = None
        self.looked_at = 0
        self._open(0, (1 << len(self._order)) - 1)

    def step(self) -> bool:
        """Try the next thing; return whether there is none."""
        self.looked_at += 1
        if self.best is not None and self.looked_at >= self._better_until:
            return True
        if not self._levels:
            return True
        level = self._levels[-1]
        if level.joined:
            self._leave(level)
        if not level.options:
            self._levels.pop()
            return not self._levels
        team = level.options.pop(0)
        later = level.allowed >> (level.place + 1) << (level.place + 1)
        if team >= 0:
            later &= self._mates[level.place]
            if self._search.has_pairs:
                later = self._allowed(level.place, later)
            self._join(level, team)
        if not self._may_go_on(level.place + 1, later):
            return False
        if team >= 0 and self._is_match():
            self.best = tuple(map(tuple, self._partial.teams))
            self._best_size = self._players
            if self._players >= self._full:
                return True
            if self._better_until < 0:
                self._better_until = self.looked_at + BETTER_MAX
        if later:
            self._open((later & -later).bit_length() - 1, later)
        return False

    def _open(self, place: int, allowed: int) -> None:
        ticket = self._order[place]
        options = self._search.options(self._way, ticket, self._partial, by_name=self._by_name)
        if place:
            options.append(-1)
        self._levels.append(_Candidate(place, options, [], allowed))

    def _join(self, level: _Candidate, team: int) -> None:
        ticket = self._order[level.place]
        level.joined.append(team)
        self._partial.join(team, ticket, self._told[level.place], self._maps[level.place])
        self._players += ticket.size
        self._wanted += self._wanted_bits >> level.place & 1

    def _leave(self, level: _Candidate) -> None:
        ticket, team = self._order[level.place], level.joined.pop()
        self._partial.leave(team, self._told[level.place])
        self._players -= ticket.size
        self._wanted -= self._wanted_bits >> level.place & 1

    def _allowed(self, place: int, later: int) -> int:
        """Return those of some places who may meet the ticket of another one."""
        asked, able = self._met.get(place, (0, 0))
        ask = later & ~asked
        self.looked_at += ask.bit_count() // PAIRS_A_LOOK
        asked |= ask
        own, others = self._order[place], ask
        while others:
            bit = others & -others
            others ^= bit
            if self._search.may_meet(own, self._order[bit.bit_length() - 1], self._at):
                able |= bit
        self._met[place] = asked, able
        return later & able

    def _may_go_on(self, place: int, later: int) -> bool:
        """Return whether some who may join yet can complete a better match."""
        rest = sum([size * (bits & later).bit_count() for size, bits in self._by_size.items()])
        if min(self._players + rest, self._full) <= self._best_size:
            return False
        if not self._wanted and not self._wanted_bits & later:
            return False
        if not self._partial.look_ahead(rest, self._ranges[place]):
            return False
        return self._search.can_pass(self._way, self._partial)

    def _is_match(self) -> bool:
        if not self._wanted or self._players <= self._best_size:
            return False
        bounds = zip(self._partial.least, self._partial.sizes, strict=True)
        if any(size < least for least, size in bounds):
            return False
        return self._search.is_legal(self._way, self._partial, self._at)


def _ranges_of(order: Sequence[Ticket], facts: TicketFacts) -> list[Sequence[Span]]:
    """Return of each place the range of each number from there on."""
    ranges: list[Sequence[Span]] = [(ANYTHING,) * facts.count]
    spans: list[Span | None] = [None] * facts.count
    for ticket in reversed(order):
        for number, told in enumerate(facts.of(ticket, is_exact=False)):
            if told and isinstance(told[0], int | float):
                low, high = min(told), max(told)
                span = spans[number] or Span(low, high)
                spans[number] = Span(min(span.low, low), max(span.high, high))
        ranges.append(tuple([span or ANYTHING for span in spans]))
    ranges.reverse()
    return ranges


# Teams that conditions treat alike


def _alike_teams(
    named: Sequence[frozenset[int]], sizes: tuple[tuple[int, ...], tuple[int, ...]]
) -> list[int]:
    """Return of each team the first one that may change places with it in any match."""
    alike: list[int] = []
    for team in range(len(sizes[0])):
        key = (sizes[0][team], sizes[1][team], [team in each for each in named])
        found = team
        for other in range(team):
            theirs = (sizes[0][other], sizes[1][other], [other in each for each in named])
            if key == theirs:
                found = alike[other]
                break
        alike.append(found)
    return alike


def _teams_named(conditions: Conditions) -> list[frozenset[int]]:
    """Return the sets of teams that conditions name, each once, however many ages there are."""
    found: dict[frozenset[int], None] = {}
    for leaf in conditions.verdicts.leaves:
        measured: list[Measured] = [*getattr(leaf, "measured", ())]
        measured += [each for name in ("reference", "of") if (each := _measured(leaf, name))]
        for each in measured:
            inner = each
            while isinstance(inner, FoldOf):
                inner = inner.of
            if isinstance(inner, TeamProperty):
                found[frozenset(inner.teams)] = None
    return [*found]


def _measured(leaf: Test, name: str) -> Measured | None:
    value = getattr(leaf, name, None)
    return value if isinstance(value, Measured) else None
