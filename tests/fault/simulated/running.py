"""A naive recount of running matches: who plays, who has left, and whom each asks for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from evenmatch.model import events
from evenmatch.model.match import Match

OVER = "over"
WITHDRAWN = "fill_withdrawn"

Roster = tuple[bool, int, tuple[tuple[str, ...], ...], tuple[str, ...], tuple[str, ...], str]
"""Whether it asks for players, version, players by team, who has left, its fills, who is asked."""


class Running:
    """One running match.

    Args:
        match: As it was made.
        sequence: Of its record.
    """

    def __init__(self, match: Match, sequence: int) -> None:
        self.teams = [set(team) for team in match.players]
        self.left: set[str] = set()
        self.fills: list[str] = []
        self.is_open = False
        self.asked = ""
        self.since: list[int] = []
        self.states: list[Roster | str] = []
        self.note(sequence)

    def note(self, sequence: int, *, is_over: bool = False) -> None:
        """Keep what it is after a record."""
        teams = tuple([tuple(sorted(team)) for team in self.teams])
        left, fills = tuple(sorted(self.left)), tuple(self.fills)
        known: Roster = (self.is_open, len(fills), teams, left, fills, self.asked)
        if self.since and self.since[-1] == sequence:
            self.since.pop()
            self.states.pop()
        self.since.append(sequence)
        self.states.append(OVER if is_over else known)

    @property
    def is_over(self) -> bool:
        """Return whether nobody plays it any more."""
        return self.states[-1] == OVER

    def within(self, first: int, last: int) -> list[Roster | str]:
        """Return what it was after any of the records from `first` to `last`."""
        start = bisect_right(self.since, first) - 1
        return self.states[max(start, 0) : bisect_right(self.since, last)]


class RunningMatches:
    """All matches that were made, and who of their players plays on.

    Args:
        wrong: Takes an invariant and a sentence.
    """

    def __init__(self, wrong: Callable[[str, str], None]) -> None:
        self.matches: dict[str, Running] = {}
        self._wrong = wrong
        self._playing: dict[str, str] = {}
        self._asked: dict[str, str] = {}

    def playing(self, players: Sequence[str]) -> str:
        """Return the match of a queue with exclusive matches in which one of these plays, or ""."""
        return next((self._playing[each] for each in players if each in self._playing), "")

    def ask(self, sequence: int, match: Match) -> None:
        """Take note that newcomers are asked."""
        base = self._base(sequence, match)
        if base.asked:
            self._wrong("I2", f"{match.id} is to fill the seats that {base.asked} has")
        base.asked = self._asked[match.id] = match.id
        self._check_seats(match, base)
        base.note(sequence)

    def dissolve(self, sequence: int, match: Match) -> None:
        """Take note that newcomers are asked no more."""
        if match.extends is not None and self._asked.pop(match.id, ""):
            self.matches[match.extends].asked = ""
            self.matches[match.extends].note(sequence)

    def make(self, sequence: int, match: Match, *, is_exclusive: bool) -> None:
        """Take note of a match, or of newcomers of one."""
        newcomers = [player for team in match.players for player in team]
        if other := self.playing(newcomers):
            self._wrong("I2", f"a player of {match.id} plays in {other}")
        if is_exclusive:
            self._playing |= dict.fromkeys(newcomers, match.extends or match.id)
        if match.extends is None:
            self.matches[match.id] = Running(match, sequence)
            return
        base = self._base(sequence, match)
        if base.asked not in ("", match.id):
            self._wrong("I2", f"{match.id} took the seats that {base.asked} has")
        self._check_seats(match, base)
        for team, joined in zip(base.teams, match.players, strict=True):
            team |= set(joined)
        base.fills.append(match.id)
        base.is_open, base.asked = False, ""
        self._asked.pop(match.id, None)
        base.note(sequence)

    def take(self, sequence: int, event: Any) -> None:
        """Take note of what else becomes of a running match."""
        if isinstance(event, events.Opened):
            running = self.matches[event.open.id]
            if running.asked and event.left:
                self._wrong("I2", f"{event.open.id} is opened while {running.asked} is asked")
            running.left |= set(event.left)
            running.is_open = any(event.open.free)
            self._let_go(event.left, event.open.id)
            for team in running.teams:
                team -= set(event.left)
        else:
            running = self.matches.get(event.match)  # type: ignore[assignment]
            if running is None:
                return  # That of a fill, which is no match of its own.
            if running.asked:
                self._wrong("I2", f"{event.match} asks for nobody, and {running.asked} is asked")
            running.is_open = False
        is_over = isinstance(event, events.Finished | events.Voided)
        if is_over:
            self._let_go([player for team in running.teams for player in team], event.match)
        running.note(sequence, is_over=is_over)

    def _base(self, sequence: int, match: Match) -> Running:
        base = self.matches[match.extends or ""]
        if not base.is_open or base.is_over:
            self._wrong("I2", f"{match.extends} asks for nobody, and {match.id} fills it")
        return base

    def _check_seats(self, match: Match, base: Running) -> None:
        newcomers = {player for team in match.players for player in team}
        if newcomers & base.left:
            self._wrong("I5", f"who has left {match.extends} comes back by {match.id}")

    def _let_go(self, players: Sequence[str], match: str) -> None:
        for player in players:
            if self._playing.get(player) == match:
                del self._playing[player]
