"""The matches from which a bound's linear programme chooses, each with what it is worth."""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.bounds.match_pricing import Priced
from evenmatch.solvers.teams import reference
from evenmatch.solvers.teams.batch import Batch, Floats, Ints, Plan

GAIN = 1e-9
"""A match of known parties counts as new if its teams are better by more than this."""


class Columns:
    """Matches as sets of parties, without repetition, in the order in which they were found.

    Args:
        batch: The batch.
        width: The most parties of a match.
    """

    def __init__(self, batch: Batch, width: int) -> None:
        self._batch, self._width = batch, width
        self._known: dict[bytes, float] = {}
        self.parties: Ints = np.zeros((0, width), dtype=np.int64)
        self.label: Ints = np.zeros((0, width), dtype=np.int64)
        self.quality: Floats = np.zeros(0)

    def add_plan(self, plan: Plan) -> None:
        """Add the legal matches of a plan, judged by `reference`."""
        place = np.searchsorted(self._batch.first, np.arange(self._batch.players), side="right") - 1
        rows = []
        for seated, legal in zip(plan.seated, plan.legal, strict=True):
            if legal:
                teams = seated_teams(self._batch, seated)
                team_of = {int(place[p]): t for t, team in enumerate(teams) for p in team}
                rows.append((sorted(team_of.items()), 1.0 - reference.cost_of(self._batch, teams)))
        parties = np.full((len(rows), self._width), -1, dtype=np.int64)
        label = parties.copy()
        for r, (row, _) in enumerate(rows):
            parties[r, : len(row)] = [party for party, _ in row]
            label[r, : len(row)] = [team for _, team in row]
        self._add(parties, label, np.array([quality for _, quality in rows]))

    def add_priced(self, priced: Priced, prices: Floats) -> Ints:
        """Add matches found under prices; return the numbers of those that were new."""
        quality = priced.worth + price_sums(priced.parties, prices)
        return self._add(priced.parties, priced.label, quality)

    def _add(self, parties: Ints, label: Ints, quality: Floats) -> Ints:
        new = []
        for r, (row, own) in enumerate(zip(parties, quality.tolist(), strict=True)):
            key = row.tobytes()
            if own > self._known.get(key, -np.inf) + GAIN:
                self._known[key] = own
                new.append(r)
        first = len(self.quality)
        self.parties = np.concatenate([self.parties, parties[new]])
        self.label = np.concatenate([self.label, label[new]])
        self.quality = np.concatenate([self.quality, quality[new]])
        return np.arange(first, len(self.quality))

    def teams(self, column: int) -> list[list[int]]:
        """Return the players of a match by team."""
        return teams_of(self._batch, self.parties[column], self.label[column])


def price_sums(parties: Ints, prices: Floats) -> Floats:
    """Return the sum of the prices of each match's parties."""
    filled = np.append(prices, 0.0)
    return filled[parties].sum(axis=1)


def seated_teams(batch: Batch, seated: Ints) -> list[list[int]]:
    """Return the players by team of one row of `Plan.seated`."""
    ends = np.cumsum(batch.seats)[:-1]
    return [[int(p) for p in team if p >= 0] for team in np.split(seated, ends)]


def teams_of(batch: Batch, parties: Ints, label: Ints) -> list[list[int]]:
    """Return the players by team of a match given by parties and their teams."""
    teams: list[list[int]] = [[] for _ in batch.seats]
    for party, team in zip(parties.tolist(), label.tolist(), strict=True):
        if party >= 0:
            teams[team] += range(int(batch.first[party]), int(batch.first[party + 1]))
    return teams


def plan_of(batch: Batch, matches: list[list[list[int]]]) -> Plan:
    """Return matches as a plan, judged by `reference`."""
    seated = np.full((len(matches), batch.k), -1, dtype=np.int32)
    starts = np.concatenate([[0], np.cumsum(batch.seats)[:-1]]).tolist()
    for m, teams in enumerate(matches):
        for start, team in zip(starts, teams, strict=True):
            seated[m, start : start + len(team)] = team
    return Plan(
        seated=seated,
        quality=np.array([1.0 - reference.cost_of(batch, teams) for teams in matches]),
        legal=np.array([reference.is_legal(batch, teams) for teams in matches], dtype=np.bool_),
        evaluations=0,
    )
