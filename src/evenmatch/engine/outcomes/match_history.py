"""Lineups: who has played in a match from first to last, and who of them has left it.

Who left has played as well: he is rated with his team, as somebody who quit. How the match ended is
for those to say who did not leave.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec.structs import replace

from evenmatch.engine.state.rows import KeptMatch
from evenmatch.engine.state.state import Tables
from evenmatch.model.match import Match
from evenmatch.model.outcome import Result


class Lineup(NamedTuple):
    """The players of a match.

    Args:
        match: The match with all who have played in it, team by team: those who joined it come
            after those with whom it began.
        left: Those of them who have left it.
    """

    match: Match
    left: tuple[str, ...] = ()

    @property
    def staying(self) -> tuple[tuple[str, ...], ...]:
        """Return those who have not left, by team."""
        teams = self.match.players
        return tuple([tuple([p for p in team if p not in self.left]) for team in teams])

    def heard(self, reports: Mapping[str, Result]) -> dict[str, Result]:
        """Return what those who have not left say, as if each had said it now."""
        return {
            player: self.retold(reports[player])
            for team in self.staying
            for player in team
            if player in reports
        }

    def retold(self, report: Result) -> Result:
        """Return what a player has said, with those who have joined since and left since."""
        quitters = tuple(sorted({*report.quitters, *self.left}))
        return replace(report, teams=self.match.players, quitters=quitters)


def lineup_of(tables: Tables, kept: KeptMatch) -> Lineup:
    """Return who has played in a match, whether it is live or over."""
    told, match = kept.outcome, kept.match
    known = tables.rosters.get(match.id, kept)
    if told is not None and told.result is not None:
        teams = told.result.teams
    else:
        joined = [tables.matches[fill].match.players for fill in known.fills]
        teams = tuple([sum(team, ()) for team in zip(match.players, *joined, strict=True)])
    return Lineup(replace(match, players=teams), known.left)
