"""Plays matches: who wins follows from true skills, which no rating system sees.

The strength of a team is the mean of its players' true skills. Each team performs once a match,
at its strength plus chance, and the best performance wins. The chance is Gumbel's, of the scale
that makes one team beat another with the probability 1 / (1 + 10 ** (-gap / scale)): two teams are
Bradley and Terry's model, as Elo and Glicko assume it, more of them Plackett and Luce's.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evenmatch.criteria.expansion import round_up
from evenmatch.engine.state.state import Tables
from evenmatch.errors import ConfigError
from evenmatch.model.inputs import Outcome
from evenmatch.model.match import Match, places_of
from evenmatch.model.scenario import OutcomeModel
from evenmatch.model.ticket import NewTicket, attribute_of


class OutcomeSimulator:
    """Simulates outcomes: those to come, and the true skills of the players.

    Args:
        model: How they are drawn.
        rng: Their own stream of chance.
    """

    def __init__(self, model: OutcomeModel, rng: np.random.Generator) -> None:
        self._model = model
        self._rng = rng
        self._coming: list[tuple[float, int, Outcome]] = []
        self._count = 0
        self.skills: dict[str, float] = {}

    @property
    def next_at(self) -> float:
        """Return when the next match ends; inf if no match is running."""
        return self._coming[0][0] if self._coming else math.inf

    def take(self) -> Outcome:
        """Return the next outcome."""
        return heapq.heappop(self._coming)[2]

    def note(self, ticket: NewTicket) -> None:
        """Note the true skills of a ticket's players.

        Raises:
            ConfigError: A player has none.
        """
        for player in ticket.players:
            skill = attribute_of(ticket, player, self._model.skill)
            if not isinstance(skill, float | int):
                raise ConfigError(
                    f"outcomes are drawn by the attribute {self._model.skill!r}, a number that "
                    f"every player needs; player {player.id[:64]!r} has none"
                )
            self.skills[player.id] = float(skill)

    def play(self, match: Match) -> None:
        """Draw how a match ends, and when; a match with bots ends without an outcome."""
        if match.bots or not all(match.players) or len(match.players) < 2:
            return
        strengths = [math.fsum(map(self.skills.__getitem__, t)) / len(t) for t in match.players]
        ranks = draw_ranks(strengths, self._model, self._rng)
        at = match.at + round_up(self._model.lasts)
        outcome = Outcome(at, match.id, tuple(map(float, ranks)))
        heapq.heappush(self._coming, (at, self._count, outcome))
        self._count += 1

    def figures(self, tables: Tables) -> dict[str, Any]:
        """Return how many outcomes counted, and how well stored ratings order players by skill.

        `order` is Spearman's rank correlation over the players of each ladder; null of fewer than
        two.
        """
        order = {}
        for ladder, rows in tables.ratings.items():
            known = [player for player in rows if player in self.skills]
            means = np.array([rows[player].rating.mean for player in known])
            order[ladder] = rank_correlation(means, np.array([self.skills[p] for p in known]))
        return {"counted": tables.counters.outcomes, "order": order}


def draw_ranks(
    strengths: Sequence[float], model: OutcomeModel, rng: np.random.Generator
) -> tuple[int, ...]:
    """Return the rank of each team, drawn by their strengths.

    Args:
        strengths: Mean true skill by team, in the points of the model's scale.
        model: Scale, and share of draws.
        rng: Draws one number, and one for each team, whatever comes of it.

    Source:
        Bradley and Terry, Rank analysis of incomplete block designs (1952), equation (1);
        Plackett, The analysis of permutations (1975); Gumbel's chance: Yellott (1977), theorem 4.
    """
    is_drawn = rng.random() < model.draws
    chance = rng.gumbel(size=len(strengths)) * (model.scale / math.log(10.0))
    if is_drawn:
        return (1,) * len(strengths)
    return places_of((-(np.asarray(strengths) + chance)).tolist())


def rank_correlation(one: npt.NDArray[np.float64], two: npt.NDArray[np.float64]) -> float | None:
    """Return Spearman's rank correlation, with the mean rank for equal values; None if undefined.

    >>> rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([10.0, 30.0, 20.0]))
    0.5
    """
    if len(one) < 2:
        return None
    ranks = [_mean_ranks(each) for each in (one, two)]
    spread = float(np.std(ranks[0]) * np.std(ranks[1]))
    if spread == 0.0:
        return None
    return float(np.mean((ranks[0] - ranks[0].mean()) * (ranks[1] - ranks[1].mean())) / spread)


def _mean_ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means: npt.NDArray[np.float64] = (last - (counts - 1) / 2.0)[place]
    return means
