"""The kinds that compare numbers: `spread`, `mean_gap` and `imbalance` of an attribute.

Each has two forms. The **reference** works on one match, as lists of numbers by team, and defines
the kind. The **table** works on many matches of one layout at once, as an array, and is what
solvers use; a property test compares the two.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from typing import Any, ClassVar, Literal

import numpy as np

from evenmatch.criteria.base import (
    Comparison,
    Fault,
    Form,
    Gap,
    Keys,
    Limit,
    NumberGap,
    RolesByTeam,
    Seats,
)
from evenmatch.criteria.scales import STEP_SLACK, Floats, scale_gap, scale_gaps, scale_value
from evenmatch.criteria.team_packing import Orders
from evenmatch.criteria.values import (
    number,
    numbers,
    places,
    quoted_value,
    scaled_column,
    scaled_numbers,
)
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Sample, Unit
from evenmatch.model.ticket import Ticket, Value

Teams = Sequence[Sequence[float]]
"""The values of one match's players, by team."""
BENT = ("capped", "log")
"""Scales by which the mean cost of some gaps differs from the cost of their mean."""
DUEL = Gap("gap")
"""Between two players, all kinds of numbers are the same."""
SUM_SLACK = 1e-12
"""Relative difference that the order of a sum may make."""


class Numeric(Comparison):
    """Differences of numbers; each kind defines its own, on plain numbers by team."""

    criterion_keys = Keys(("attribute", "weight", "scale", "measure", "step"))
    rule_keys = Keys(
        (
            *("attribute", "limit", "unit", "expand", "measure", "accept"),
            *("file", "column", "last"),
        )
    )
    limit = Limit("the largest gap that is accepted at once", 1e15)
    form = Form.NUMBERS
    is_measure = True
    gaps_by_measure: ClassVar[Mapping[str, Gap]]
    """The name of the gap of values, by `measure`."""

    def __init__(self, definition: Criterion | Rule, queue: Queue) -> None:
        super().__init__(definition, queue)
        # Of single players it matters only who they are, not in which team each is.
        self.is_by_team = self.number_gap is NumberGap.TEAMS and max(queue.format.players) > 1
        self.raw = (DUEL if queue.format.is_duel else self.gaps_by_measure[definition.measure],)

    @staticmethod
    @abstractmethod
    def gap_of(teams: Teams, measure: str = "mean", step: float = 0.0) -> float:
        """Return the raw gap of one match, of plain numbers.

        Args:
            teams: Values by team.
            measure: For teams: their means or sums.
            step: For sums: differences are rounded down to multiples of it; 0 = exact.
        """

    @staticmethod
    @abstractmethod
    def gaps_of(
        values: Floats, layout: Sequence[int], measure: str = "mean", step: float = 0.0
    ) -> Floats:
        """Return `gap_of` of many matches of one layout.

        Args:
            values: Shape (matches, k), team by team.
            layout: Players per team.
            measure: As for `gap_of`.
            step: As for `gap_of`.

        Returns:
            Shape (matches,).
        """

    @classmethod
    def reference(cls, criterion: Criterion, teams: Teams) -> float:
        """Return q_d of one match from scaled values: the definition of the criterion.

        Args:
            criterion: What to compare.
            teams: Values by team, already through `scale_value`.

        Returns:
            A cost in [0, 1], 0 = best; any number >= 0 if the scale is `none`.
        """
        return scale_gap(criterion.scale, cls.gap_of(teams, criterion.measure, criterion.step))

    @classmethod
    def table(cls, criterion: Criterion, values: Floats, layout: Sequence[int]) -> Floats:
        """Return q_d of many matches of one layout.

        Args:
            criterion: What to compare.
            values: Shape (matches, k), already through `scale_values`; the players of the first
                team first, then those of the second, and so on.
            layout: Players per team; they sum to k.

        Returns:
            Shape (matches,).

        Complexity:
            O(matches * k), O(matches * k log k) for `mean_gap`, O(matches * k^2) on a bent scale.
        """
        gaps = cls.gaps_of(values, layout, criterion.measure, criterion.step)
        return scale_gaps(criterion.scale, gaps)

    @classmethod
    def step_of(cls, criterion: Criterion) -> float:
        """Return the step to whose multiples differences of sums are rounded down; 0 = exact."""
        del criterion
        return 0.0

    @classmethod
    def part_of_widest(cls, form: Format) -> float:
        """Return a lower bound on the gap, as a share of the players' largest difference."""
        del form
        return 0.0

    plain_values = frozenset({float, int})

    @staticmethod
    def problem(value: Value | None) -> str | None:
        """Return what is wrong with a value that must be a number."""
        if type(value) in Numeric.plain_values:
            return None
        return "is missing" if value is None else f"must be a number, got {quoted_value(value)}"

    def cost(self, teams: Seats) -> float:
        """Return the scaled gap of scaled values."""
        criterion, name = self._criterion, self.queue.name
        by_team = [[v for t in team for v in scaled_numbers(criterion, name, t)] for team in teams]
        return self.reference(criterion, by_team)

    def cost_table(
        self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]
    ) -> Floats:
        """Return `cost` of many divisions."""
        column = scaled_column(self._criterion, self.queue.name, tickets)
        return self.table(self._criterion, column[orders], layout)

    def cost_of_duel(self, one: Ticket, two: Ticket, at: float = math.inf) -> float:
        """Return `cost` of two solo tickets: between two, every gap is the plain difference."""
        del at
        criterion = self.definition
        assert isinstance(criterion, Criterion)
        scale, attribute = criterion.scale, criterion.attribute
        if scale.kind == "percentile" or criterion.step:
            return self.cost(((one,), (two,)))
        first = scale_value(scale, number(one, attribute))
        second = scale_value(scale, number(two, attribute))
        return scale_gap(scale, abs(first - second))

    def gap(self, teams: Seats) -> float:
        """Return the gap of the compared values; teams without people are left out."""
        by_team = [[v for t in team for v in self.values(t)] for team in teams if team]
        return self.gap_of(by_team, self.definition.measure)

    def raw_gaps(self, teams: Seats, roles: RolesByTeam = None) -> tuple[float, ...]:
        """Return the gap of the attribute's values, in the unit of the rule or scale."""
        del roles
        name, measure = self.definition.attribute, self.definition.measure
        by_team = [[v for t in team for v in numbers(t, name)] for team in teams if team]
        return (self.gap_of(by_team, measure),)

    def raw_table(self, values: Floats, layout: Sequence[int]) -> Floats:
        """Return `raw_gaps` of many matches; `values` holds their players' values team by team."""
        return self.gaps_of(values, layout, self.definition.measure)

    def gap_table(self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]) -> Floats:
        """Return `gap` of many divisions."""
        if not self.is_by_team:
            return super().gap_table(tickets, orders, layout)
        values = np.array([value for ticket in tickets for value in self.values(ticket)])
        gaps = self.gaps_of(values[orders], layout, self.definition.measure)
        # Sums of the table and of the reference may round differently: be lenient here, the
        # caller asks the reference about the rows that it likes.
        return gaps - SUM_SLACK * max(1.0, float(np.abs(values).sum()))

    def pair_gap(self, one: Ticket, two: Ticket) -> float:
        """Return the pair's spread; two players of many say nothing about means and teams."""
        if self.number_gap is NumberGap.WIDEST or self.queue.format.is_duel:
            return self.gap(((one,), (two,)))
        return 0.0

    def values(self, ticket: Ticket) -> list[float]:
        """Return the value of each player that a rule compares."""
        rule = self.definition
        if isinstance(rule, Rule) and rule.unit == "percentile":
            return places(ticket, self.queue.name, rule.attribute, rule.sample)
        return numbers(ticket, rule.attribute)

    @classmethod
    def fault_of_criterion_table(cls, table: Mapping[str, Any]) -> Fault:
        """Refuse a measure if no teams are compared, and steps unless their sums are."""
        fault = cls.fault_of_rule_table(table, None)
        compares_sums = cls.number_gap is NumberGap.TEAMS and table.get("measure") == "sum"
        if fault is None and "step" in table and not compares_sums:
            return "step", 'goes only with kind = "imbalance" and measure = "sum"'
        return fault

    @classmethod
    def fault_of_rule_table(cls, table: Mapping[str, Any], wait_end: float | None) -> Fault:
        """Refuse a measure if no teams are compared."""
        del wait_end
        if "measure" in table and cls.number_gap is not NumberGap.TEAMS:
            return "measure", 'goes only with kind = "imbalance"'
        return None

    @classmethod
    def limit_name(cls, attribute: str, kind: str) -> str:
        """Return the name of a rule of the kind when it keeps a ticket waiting."""
        del kind
        return f"a limit on {attribute}"

    @property
    def _criterion(self) -> Criterion:
        assert isinstance(self.definition, Criterion)
        return self.definition


def spread(teams: Teams) -> float:
    """Return max - min over all players of the match.

    Source:
        Schlup, Automatic Game Matching, section 3.1: q_d, the dispersion of a criterion in a game.
    """
    values = list(chain.from_iterable(teams))
    return max(values) - min(values)


class Spread(Numeric):
    """The largest difference of two players."""

    number_gap = NumberGap.WIDEST
    gaps_by_measure: ClassVar[Mapping[str, Gap]] = dict.fromkeys(("mean", "sum"), Gap("widest gap"))
    compared = "the largest difference in {} between its players"

    @staticmethod
    def gap_of(teams: Teams, measure: str = "mean", step: float = 0.0) -> float:
        """Return the spread."""
        del measure, step
        return spread(teams)

    @staticmethod
    def gaps_of(
        values: Floats, layout: Sequence[int], measure: str = "mean", step: float = 0.0
    ) -> Floats:
        """Return the spread of many matches."""
        del layout, measure, step
        gaps: Floats = np.ptp(values, axis=1)
        return gaps

    @classmethod
    def part_of_widest(cls, form: Format) -> float:
        """Return 1."""
        del form
        return 1.0


def difference_rule(
    attribute: str,
    limit: float,
    unit: Unit = "difference",
    expand: Expansion | None = None,
    *,
    accept: Literal["both", "either"] = "both",
    sample: Sample | None = None,
) -> Rule:
    """Return the rule that no two players of a match differ by more than a limit."""
    among = Sample() if sample is None else sample
    return Rule("spread", attribute, limit, unit, expand, accept=accept, sample=among)


def mean_gap(teams: Teams) -> float:
    """Return the mean absolute difference over all pairs of players; 0 for one player."""
    values = list(chain.from_iterable(teams))
    pairs = list(combinations(values, 2))
    return math.fsum(abs(a - b) for a, b in pairs) / len(pairs) if pairs else 0.0


class MeanGap(Numeric):
    """The mean difference over all pairs.

    The cost is the mean of the costs of all pairs' gaps, so a single outlier is judged pair by
    pair.
    """

    number_gap = NumberGap.PAIRS
    gaps_by_measure: ClassVar[Mapping[str, Gap]] = dict.fromkeys(("mean", "sum"), Gap("player gap"))
    compared = "the mean difference in {} over all pairs of its players"

    @staticmethod
    def gap_of(teams: Teams, measure: str = "mean", step: float = 0.0) -> float:
        """Return the mean gap."""
        del measure, step
        return mean_gap(teams)

    @staticmethod
    def gaps_of(
        values: Floats, layout: Sequence[int], measure: str = "mean", step: float = 0.0
    ) -> Floats:
        """Return the mean gap of many matches."""
        del layout, measure, step
        k = values.shape[1]
        if k < 2:
            return np.zeros(values.shape[0])
        # In sorted order, the i-th value is added i times and subtracted k-1-i times.
        signs = 2.0 * np.arange(k) - (k - 1)
        means: Floats = np.sort(values, axis=1) @ signs / (k * (k - 1) / 2)
        # Equal values may leave a rounding error below 0.
        return np.maximum(means, 0.0)

    @classmethod
    def reference(cls, criterion: Criterion, teams: Teams) -> float:
        """Return the mean cost of the gaps of all pairs."""
        pairs = list(combinations(chain.from_iterable(teams), 2))
        costs = [scale_gap(criterion.scale, abs(a - b)) for a, b in pairs]
        return math.fsum(costs) / len(costs) if costs else 0.0

    @classmethod
    def table(cls, criterion: Criterion, values: Floats, layout: Sequence[int]) -> Floats:
        """Return q_d of many matches."""
        scale = criterion.scale
        if scale.kind not in BENT:
            return super().table(criterion, values, layout)
        pairs = list(combinations(range(values.shape[1]), 2))
        totals: Floats = np.zeros(values.shape[0])
        for one, two in pairs:
            totals += scale_gaps(scale, np.abs(values[:, one] - values[:, two]))
        return totals / max(1, len(pairs))

    @classmethod
    def part_of_widest(cls, form: Format) -> float:
        """Return 2 / k.

        The gaps of each other player to the lowest and to the highest add up to the spread.
        """
        return 2.0 / form.k


def imbalance(teams: Teams, measure: str = "mean", step: float = 0.0) -> float:
    """Return the largest difference between two teams, of their means or sums.

    Args:
        teams: Values by team; teams without players are left out.
        measure: `mean` or `sum`.
        step: Differences of sums are rounded down to multiples of it; 0 = exact.
    """
    teams = [team for team in teams if team]
    sums = [math.fsum(team) for team in teams]
    if measure == "mean":
        means = [total / len(team) for total, team in zip(sums, teams, strict=True)]
        return max(means) - min(means)
    gap = max(sums) - min(sums)
    return math.floor(gap / step + STEP_SLACK) * step if step > 0.0 else gap


class Imbalance(Numeric):
    """The largest difference of two teams, of their means or sums."""

    number_gap = NumberGap.TEAMS
    gaps_by_measure: ClassVar[Mapping[str, Gap]] = {
        "mean": Gap("team gap"),
        "sum": Gap("team gap of sums"),
    }
    compared = "the difference in {} between its teams"

    @staticmethod
    def gap_of(teams: Teams, measure: str = "mean", step: float = 0.0) -> float:
        """Return the imbalance."""
        return imbalance(teams, measure, step)

    @staticmethod
    def gaps_of(
        values: Floats, layout: Sequence[int], measure: str = "mean", step: float = 0.0
    ) -> Floats:
        """Return the imbalance of many matches."""
        layout = [count for count in layout if count]
        starts = np.concatenate(([0], np.cumsum(layout)[:-1])).astype(np.intp)
        totals: Floats = np.add.reduceat(values, starts, axis=1)
        if measure == "mean":
            totals = totals / np.asarray(layout, dtype=np.float64)
        gaps: Floats = np.ptp(totals, axis=1)
        if measure == "sum" and step > 0.0:
            gaps = np.floor(gaps / step + STEP_SLACK) * step
        return gaps

    @classmethod
    def step_of(cls, criterion: Criterion) -> float:
        """Return the step, if sums are compared."""
        return criterion.step if criterion.measure == "sum" else 0.0

    @classmethod
    def part_of_widest(cls, form: Format) -> float:
        """Return 1 if each team is one player."""
        return 1.0 if max(form.players) == 1 else 0.0

    @classmethod
    def fault_in(cls, form: Format) -> Fault:
        """Refuse a queue of one team."""
        if len(form.players) < 2:
            return "kind", '= "imbalance" compares teams, and this queue has one'
        return None
