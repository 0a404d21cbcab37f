"""Figures of a match in the units that a queue compares: rating points, milliseconds, shares.

Quality and cost say how good a match is under the weights and scales of a queue; gaps say the same
in the units that players know. Each criterion has one or two gaps, which its kind defines
(`Comparison.raw_gaps`); so have rules on numbers and latencies. A queue with roles or parties
reports these gaps too, with or without a criterion for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from evenmatch.criteria.base import Comparison, Gap, RolesByTeam, Seats
from evenmatch.criteria.kinds.numeric import DUEL, Numeric
from evenmatch.criteria.registry import KINDS, comparison_of, kind_of
from evenmatch.model.queue import Criterion, Queue, Rule

NO_GAP = Gap("")
KNOWN = {DUEL.words: DUEL}
KNOWN |= {
    gap.words: gap
    for kind in KINDS.values()
    if issubclass(kind, Numeric)
    for gap in kind.gaps_by_measure.values()
}
KNOWN |= {gap.words: gap for kind in KINDS.values() for gap in kind.raw}
"""All gaps by their names."""


class Gaps:
    """The gaps of one queue's matches.

    Args:
        queue: Has the criteria, rules and the format.

    Attributes:
        names: `rating: team gap`, `latency: mean ping`, `players off their role`, each once.
    """

    def __init__(self, queue: Queue) -> None:
        self._asked: list[tuple[Comparison, tuple[int, ...]]] = []
        names: list[str] = []
        for definition in _given(queue):
            compared = comparison_of(definition, queue)
            own = [name_of(definition.attribute, gap) for gap in compared.raw]
            new = tuple([at for at, name in enumerate(own) if name not in names])
            if new:
                self._asked.append((compared, new))
                names += [own[at] for at in new]
        self.names = tuple(names)

    def of(
        self, teams: Seats, roles: RolesByTeam = None, *, region: str | None = None
    ) -> tuple[float, ...]:
        """Return a number for each name; NaN if it is unknown.

        Args:
            teams: Tickets by team, of a match without bots.
            roles: The roles that the players were given; None computes the best assignment.
            region: Where the match is played; None: in the best region that rules ever allow.

        Complexity:
            O(k^2) if pairs count.
        """
        found: list[float] = []
        for compared, places in self._asked:
            numbers = compared.raw_gaps_in(teams, roles, region)
            found += [numbers[at] for at in places]
        return tuple([number if math.isfinite(number) else math.nan for number in found])


def name_of(attribute: str, gap: Gap) -> str:
    """Return the name of a gap in figures.

    >>> name_of("rating", Gap("team gap")), name_of("", Gap("free seats"))
    ('rating: team gap', 'free seats')
    """
    return f"{attribute}: {gap.words}" if attribute and gap.is_of_attribute else gap.words


def gap_of_name(name: str) -> Gap:
    """Return the gap of a name of `Gaps.names`, whatever its attribute."""
    return KNOWN.get(name.rpartition(": ")[2], NO_GAP)


def _given(queue: Queue) -> Iterator[Criterion | Rule]:
    """Yield what matches report on: criteria, rules on numbers, then roles and parties."""
    yield from queue.criteria
    yield from [rule for rule in queue.rules if kind_of(rule).is_measure]
    for kind in reversed(KINDS):
        if KINDS[kind].is_told_of(queue.format):
            yield Criterion(kind)
