"""What a queue of two teams is balanced by: one criterion, as a number for each ticket."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenmatch.criteria.base import NumberGap
from evenmatch.criteria.objective import weights_of
from evenmatch.criteria.registry import KINDS, NUMERIC, number_gap_of, numeric_kind
from evenmatch.criteria.scales import STEP_SLACK, Floats, scale_gap, scale_gaps
from evenmatch.criteria.values import scaled_numbers
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Queue
from evenmatch.model.ticket import Ticket

TEAM_MAX = 7
"""Most players of a team: of seven against seven all divisions of all sets of 15 are looked at."""


class BalanceEntry(NamedTuple):
    """A waiting ticket as a search sees it; sorts by value, then by age.

    Args:
        value: The sum of its players' values, as the criterion compares them.
        at: When it was enqueued.
        sequence: Its number.
        size: How many players it has.
        id: The ticket's.
    """

    value: float
    at: float
    sequence: int
    size: int
    id: str

    @property
    def age_key(self) -> tuple[float, int]:
        """Return what sorts by age, longest waiting first."""
        return self.at, self.sequence


class Balance:
    """The criterion that two teams are balanced by: the first `imbalance` of the queue.

    Between two players every numeric criterion is their gap, so a duel without an `imbalance`
    is balanced by the first criterion that compares numbers. Other criteria do not count.

    Args:
        queue: As configured.
        policy: The policy's name for messages.
        team_max: Most players of a team.

    Raises:
        ConfigError: The queue has another format, rules, sides or roles, or no such criterion.
    """

    def __init__(self, queue: Queue, policy: str, *, team_max: int = TEAM_MAX) -> None:
        _check_format(queue, policy, team_max)
        self.players = queue.format.players[0]
        self._queue = queue.name
        place = _place(queue, policy)
        self._criterion = queue.criteria[place]
        self.weight = weights_of(queue)[place]
        given = self._criterion
        is_sum = _compares_teams(given) and given.measure == "sum"
        self._share = 1.0 if is_sum else 1.0 / self.players
        self._step = numeric_kind(given).step_of(given)

    @property
    def attribute(self) -> str:
        """Return what teams are compared by."""
        return self._criterion.attribute

    @property
    def step(self) -> float:
        """Return the multiples that differences are rounded down to; 0 = exact."""
        return self._step

    def entry(self, ticket: Ticket) -> BalanceEntry:
        """Return a ticket with its value."""
        value = math.fsum(scaled_numbers(self._criterion, self._queue, ticket))
        return BalanceEntry(value, ticket.enqueued_at, ticket.sequence, ticket.size, ticket.id)

    def imbalance(self, gap: float) -> float:
        """Return what the criterion makes of a difference of sums, before its weight."""
        gap *= self._share
        if self._step > 0.0:
            gap = math.floor(gap / self._step + STEP_SLACK) * self._step
        return scale_gap(self._criterion.scale, gap)

    def imbalances(self, gaps: Floats) -> Floats:
        """Return `imbalance` of every element; any shape."""
        gaps = gaps * self._share
        if self._step > 0.0:
            gaps = np.floor(gaps / self._step + STEP_SLACK) * self._step
        return scale_gaps(self._criterion.scale, gaps)


def _check_format(queue: Queue, policy: str, team_max: int) -> None:
    form = queue.format
    players = form.players
    if len(players) != 2 or players[0] != players[1] or form.is_variable:
        shape = " against ".join(map(str, players)) + (" at most" if form.is_variable else "")
        raise ConfigError(
            f"policy {policy} is for two full teams of one size; queue {queue.name} has {shape}: "
            f"choose greedy, or rolling for teams"
        )
    if players[0] > team_max:
        raise ConfigError(
            f"policy {policy} is for teams of at most {team_max} players; queue {queue.name} has "
            f"{players[0]}: choose rolling"
        )
    which = "rules" if queue.rules else "sides" if form.sides else "roles" if form.roles else ""
    if which:
        better = "price or window" if form.is_duel and not form.roles else "rolling or greedy"
        raise ConfigError(
            f"policy {policy} supports no rules, sides or roles; queue {queue.name} has "
            f"{which}: choose {better}"
        )


def _compares_teams(criterion: Criterion) -> bool:
    return number_gap_of(criterion) is NumberGap.TEAMS


def _place(queue: Queue, policy: str) -> int:
    """Return which criterion counts."""

    def compares_two(criterion: Criterion) -> bool:
        return queue.format.is_duel and criterion.kind in NUMERIC

    for counts in (_compares_teams, compares_two):
        for place, criterion in enumerate(queue.criteria):
            if counts(criterion):
                return place
    of_teams = [kind for kind in NUMERIC if KINDS[kind].number_gap is NumberGap.TEAMS]
    of_two = [kind for kind in NUMERIC if KINDS[kind].number_gap is NumberGap.WIDEST]
    kinds = " or ".join([*of_teams[:1], *(of_two[:1] if queue.format.is_duel else ())])
    raise ConfigError(
        f"policy {policy} balances teams by a criterion of kind {kinds}; queue {queue.name} has "
        f"none: add one, or choose greedy"
    )
