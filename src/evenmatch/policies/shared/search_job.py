"""The job of team policies: one search for the best matches of some who wait.

What it finds goes into the plan's data, by sequence: `matches` (groups of tickets) and `qualities`.
When they start is up to the policy. Where that is asked for, `prospects` says in the same order as
`asked` what the parties can hope for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta

from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import JobResult
from evenmatch.policies.shared.condition_round import SHARE, ConditionRounds, teams_in
from evenmatch.policies.shared.condition_sketch import sketching
from evenmatch.policies.shared.prospects import prospects_of
from evenmatch.solvers.teams.batch import Batch, Plan

Effort = Annotated[int, Meta(ge=1, le=100_000, extra={"unit": "evaluations a player"})]
EFFORT_MOST = 200_000_000
"""Most evaluations of one part."""
EACH_USUAL = 200
"""Evaluations a player that a search of a large pool makes, unless it shall make fewer."""

DIGITS = 4
"""Of a prospect: a journal keeps them all."""

Find = Callable[[Batch, int, int], Plan]
"""Returns the matches of a batch that so many evaluations find, from a seed."""


class SearchEffort(msgspec.Struct, frozen=True):
    """How the searches of a queue are done.

    Args:
        parts: Independent searches of each batch; the best counts.
        each: Evaluations a player in each part.
        find: Does one part.
        has_prospects: Whether a search also says what each party may hope for, see `prospects`.
        few: Where more players are searched, each of them gets less, down to `EACH_USUAL`.
    """

    parts: int
    each: int
    find: Find
    has_prospects: bool = False
    few: int | None = None

    def evaluations(self, players: int) -> int:
        """Return what a search of so many players evaluates.

        >>> effort = SearchEffort(1, 600, lambda *_: None, few=100)
        >>> [effort.evaluations(players) for players in (50, 100, 200, 300, 400)]
        [30000, 60000, 60000, 60000, 80000]
        """
        most = self.each * players
        if self.few is not None and players > self.few:
            most = max(self.each * self.few, min(self.each, EACH_USUAL) * players)
        return min(most, EFFORT_MOST)


def effort_of(
    queue: Queue, *, parts: int, each: int, solver: str = "anneal", objective: str = "mean"
) -> SearchEffort:
    """Return how a queue is searched; its kernels are loaded now, so that no search waits for them.

    Args:
        queue: The queue.
        parts: Independent searches.
        each: Evaluations a player in each.
        solver: `anneal`, or `descent`; duels are matched exactly, whatever it says.
        objective: What `anneal` sums over matches, see `solvers.teams.solve.power_of`.
    """
    if queue.format.players == (1, 1):
        from evenmatch.solvers.duels.plan import plan_duels

        return SearchEffort(1, each, lambda batch, *_: plan_duels(batch).plan)
    if solver == "descent":
        from evenmatch.solvers.teams.descent import descent

        return SearchEffort(
            parts, each, lambda batch, most, seed: descent(batch, effort=most, seed=seed)
        )
    from evenmatch.solvers.teams.solve import anneal

    def find(batch: Batch, most: int, seed: int) -> Plan:
        return anneal(batch, effort=most, seed=seed, objective=objective)

    return SearchEffort(parts, each, find)


class LegalAt(NamedTuple):
    """Matches have to be legal by conditions, at an instant."""

    rounds: ConditionRounds
    at: float


def legal_at(rounds: ConditionRounds | None, now: float) -> LegalAt | None:
    """Return what a search at an instant has to keep to; None without conditions."""
    return None if rounds is None else LegalAt(rounds, now)


class SearchJob:
    """One search.

    Args:
        number: Of the job.
        make: Makes the batch of those who take part, with what seating each of them is worth; it
            refers to nothing that changes.
        tickets: Who takes part, party by party.
        effort: How.
        seed: Parts take its children.
        with_half: Whether to say what every other party would make of itself, which tells what a
            larger pool is good for: `half` in the plan's data, the mean quality of its matches.
        conditions: What matches have to be legal by at an instant; then the plan's data has their
            `teams` too, since to find a legal division again would cost more than the search.
    """

    def __init__(
        self,
        number: int,
        make: Callable[[], Batch],
        tickets: Sequence[Ticket],
        effort: SearchEffort,
        *,
        seed: int,
        with_half: Callable[[], Batch] | None = None,
        conditions: LegalAt | None = None,
    ) -> None:
        self.number = number
        self.parts = effort.parts + (with_half is not None)
        self._conditions = conditions
        makes = [(make, tickets)] + ([(with_half, tickets[::2])] if with_half is not None else [])
        if conditions is not None:
            sketch, now = conditions.rounds.sketch, conditions.at
            makes = [(sketching(sketch, each, whose, now), whose) for each, whose in makes]
        self._makes = [makes[0]] * effort.parts + makes[1:]
        self._tickets = tickets
        self._effort = effort
        self._seed = seed

    def solve(self, part: int) -> tuple[Batch, Plan, Sequence[float]]:
        """Return what one search finds, and the first one the prospects of each party."""
        make, tickets = self._makes[part]
        batch = make()
        prospects: Sequence[float] = ()
        if part == 0 and self._effort.has_prospects:
            prospects = prospects_of(batch).tolist()
        child = int(np.random.SeedSequence((self._seed, part)).generate_state(1)[0])
        most = self._effort.evaluations(batch.players)
        if self._conditions is None:
            return batch, self._effort.find(batch, most, child), prospects
        rounds, now = self._conditions
        find = partial(self._effort.find, batch, most, child)
        tries = most // SHARE
        return batch, rounds.plan(batch, tickets, now, find, seed=child, tries=tries), prospects

    def combine(self, results: Sequence[Any]) -> JobResult:
        """Return the plan of the most quality and worth, the first of equals."""
        batch, plan, _ = max(results[: self._effort.parts], key=_value)
        party = np.searchsorted(batch.first, np.arange(batch.players), side="right") - 1
        matches, qualities, teams = [], [], []
        for seated, quality, legal in zip(plan.seating, plan.quality, plan.legal, strict=True):
            if legal:
                parties = sorted(set(party[seated[seated >= 0]].tolist()))
                matches.append([self._tickets[each].sequence for each in parties])
                qualities.append(float(quality))
                if self._conditions is not None:
                    teams.append(teams_in(batch, seated.tolist(), self._tickets))
        data: dict[str, Any] = {"matches": matches, "qualities": qualities}
        if self._conditions is not None:
            data["teams"] = teams
        if self._effort.has_prospects:
            data["asked"] = [ticket.sequence for ticket in self._tickets]
            data["prospects"] = [round(each, DIGITS) for each in results[0][2]]
        for _, half, _ in results[self._effort.parts :]:
            found = half.quality[half.legal]
            data["half"] = float(found.mean()) if len(found) else None
        return JobResult(self.number, (), data)


def seed_of(*parts: object) -> int:
    """Return the seed of a job."""
    text = "/".join(map(str, parts))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


Teams = list[list[int]]
"""The sequences of tickets by team."""


def found_in(data: Mapping[str, Any]) -> list[tuple[list[int], float, Teams | None]]:
    """Return the matches of a plan's data, as sequences of tickets.

    Returns:
        Of each its tickets, its quality, and its teams where the search has divided it for good.
    """
    matches, qualities = data.get("matches", ()), data.get("qualities", ())
    divided = data.get("teams") or [None] * len(matches)
    found = zip(matches, qualities, divided, strict=True)
    return [
        (list(match), quality, None if teams is None else [list(team) for team in teams])
        for match, quality, teams in found
    ]


def prospects_in(data: Mapping[str, Any]) -> list[tuple[int, float]]:
    """Return the prospects of a plan's data, by sequence."""
    return list(zip(data.get("asked", ()), data.get("prospects", ()), strict=True))


def _value(result: tuple[Batch, Plan, Sequence[float]]) -> float:
    batch, plan, _ = result
    return math.fsum(
        quality + math.fsum(batch.worth[seated[seated >= 0]])
        for quality, seated, legal in zip(plan.quality, plan.seating, plan.legal, strict=True)
        if legal
    )
