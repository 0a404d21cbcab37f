"""When a tentative match starts: what is asked of a policy that searches again and again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Memory


class TentativeMatch(msgspec.Struct):
    """A match that may start.

    Args:
        tickets: Sequences.
        quality: As the search has it.
        players: How many.
        newest: When the last of them came.
        oldest: When the first did.
        mean: The mean of when they came.
        scatter: The mean square of the differences from it.
        hope: How much better than usual its players may expect their match to be; rules that do
            not ask for that leave it at 0.
        start_at: When it starts; None if it never does as things stand.
        after: Rules allow it from then on; None if they do already.
        teams: Sequences by team where conditions have a say in that; else the engine divides it.
    """

    tickets: list[int]
    quality: float
    players: int
    newest: float
    oldest: float
    mean: float
    scatter: float
    hope: float = 0.0
    start_at: float | None = None
    after: float | None = None
    teams: list[list[int]] | None = None

    @property
    def merit(self) -> float:
        """Return its quality, as others would see it who may hope for what is usual."""
        return self.quality - self.hope


class StartRule(Protocol):
    """When a tentative match starts."""

    @property
    def next_at(self) -> float:
        """Return the next instant at which the rule itself changes."""
        ...

    @property
    def every(self) -> float:
        """Return the seconds between two searches of a large pool, and while rules widen."""
        ...

    def restored(self, tickets: Mapping[int, Ticket]) -> None:
        """Hear who waits after a restart: a memory may know others, and not all of them."""
        ...

    def entered(self, ticket: Ticket, now: float) -> None:
        """Hear of a ticket that waits, for the first time or again."""
        ...

    def left(self, ticket: Ticket, now: float) -> None:
        """Hear of a ticket that has left without a match of this matcher."""
        ...

    def played(self, match: TentativeMatch, tickets: Sequence[Ticket], now: float) -> None:
        """Hear of a match that starts."""
        ...

    def confirmed(self, seconds: float) -> None:
        """Hear how long the players of a match had to be asked before it was made."""
        ...

    def advance(self, now: float, fired: bool) -> None:
        """Let time pass."""
        ...

    def found(
        self, matches: Sequence[TentativeMatch], alone: Sequence[Ticket], data: Memory, now: float
    ) -> None:
        """Hear of a search: all matches, who took part and is in none, and what else it says.

        What a rule thinks of each match is noted in it.
        """
        ...

    def worth(self, ticket: Ticket, now: float) -> float:
        """Return what seating a player of a ticket is worth, in what searches sum up."""
        ...

    def start_at(self, match: TentativeMatch, tickets: Sequence[Ticket]) -> float:
        """Return the instant from which a match is good enough; maybe before its players came."""
        ...

    def value(self, match: TentativeMatch, now: float) -> float:
        """Return which of the matches that are due starts first: the one of the most."""
        ...

    def memory(self) -> Memory:
        """Return what was learnt."""
        ...


def tentative_of(tickets: Sequence[Ticket], quality: float) -> TentativeMatch:
    """Return a match of these tickets, whose start is not set yet."""
    players = sum(ticket.size for ticket in tickets)
    newest = max(ticket.enqueued_at for ticket in tickets)
    # Relative to the newest, so that the hour of the day changes no digit.
    since = [(newest - ticket.enqueued_at, ticket.size) for ticket in tickets]
    mean = math.fsum(wait * size for wait, size in since) / players
    scatter = math.fsum((wait - mean) ** 2 * size for wait, size in since) / players
    oldest = min(ticket.enqueued_at for ticket in tickets)
    found = sorted(ticket.sequence for ticket in tickets)
    return TentativeMatch(found, quality, players, newest, oldest, mean, scatter)


def start_of(match: TentativeMatch) -> float:
    """Return when a match starts; inf if it never does."""
    return math.inf if match.start_at is None else match.start_at
