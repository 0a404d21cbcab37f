"""Ladders: which queues share ratings, and how players without a rating are rated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from evenmatch.engine.matching.scheduler import Scheduler
from evenmatch.engine.state.stored_ratings import aged_rating
from evenmatch.errors import ConfigError
from evenmatch.model.match import AgedRating, Result
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Rating

Rate = Callable[[str, Mapping[str, AgedRating], Sequence[Result]], dict[str, Rating]]
"""From a rating system's SPEC, what is stored of all players, and the results of one period to the
new ratings; without results to what resting makes of them. `ratings.periods.rate_period`."""


class Ladders:
    """The ladders that are rated at present.

    Args:
        scheduler: Where the engine works.
        rate: Computes ratings; None where no queue has them.
    """

    def __init__(self, scheduler: Scheduler, rate: Rate | None) -> None:
        self._scheduler = scheduler
        self._rate = rate
        self._queues: dict[str, Queue] | None = None
        self._by_name: dict[str, Queue] = {}
        self._newcomers: dict[str, Rating] = {}

    def check(self, queues: Sequence[Queue]) -> None:
        """Check that queues may come into force.

        Raises:
            ConfigError: A rating system is not known, or the queues of a ladder disagree.
        """
        ladders: dict[str, Queue] = {}
        for queue in queues:
            if queue.rating is None:
                continue
            if self._rate is None:
                raise ConfigError(
                    f"queue {queue.name} has rating {queue.rating}, but this engine was given no "
                    f"rating function"
                )
            _check_format(self._rate, queue, queue.rating)
            other = ladders.setdefault(queue.rated_in, queue)
            if (other.rating, other.rating_period) != (queue.rating, queue.rating_period):
                raise ConfigError(
                    f"queues {other.name} and {queue.name} share the ratings of ladder "
                    f"{queue.rated_in}: give them the same rating and rating_period, or another "
                    f"ladder"
                )

    @property
    def are_rated(self) -> bool:
        """Return whether any ladder is rated now."""
        return bool(self._rated())

    def known_of(self, new: NewTicket) -> dict[str, Rating]:
        """Return the stored ratings of those players of a ticket who bring none.

        They are those of the first of its queues whose ladder is rated; a player who is not known
        gets a newcomer's. What the caller says of a player or of the party is left as it is.
        """
        ladders = self._rated()
        if not ladders or "rating" in new.attributes:
            return {}
        tables = self._scheduler.tables
        names = new.queues or tuple(tables.queues)[:1]
        rated = [tables.queues[name].rated_in for name in names if name in tables.queues]
        ladder = next((name for name in rated if name in ladders), None)
        if ladder is None:
            return {}
        return {
            player.id: self._present(ladder, player.id, self._scheduler.now)
            for player in new.players
            if player.rating is None and "rating" not in player.attributes
        }

    def rating_of(self, ladder: str, player: str, now: float) -> Rating | None:
        """Return the stored rating of a player, as uncertain as it is now, or None."""
        known = ladder in self._rated()
        if not known or player not in self._scheduler.tables.ratings.get(ladder, {}):
            return None
        return self._present(ladder, player, now)

    def _rated(self) -> dict[str, Queue]:
        """Return the ladders that are rated now, each with one of its queues."""
        queues = self._scheduler.tables.queues
        if self._queues is not queues:
            rated = [queue for queue in queues.values() if queue.rating is not None]
            self._queues, self._newcomers = queues, {}
            self._by_name = {} if self._rate is None else {each.rated_in: each for each in rated}
        return self._by_name

    def _present(self, ladder: str, player: str, now: float) -> Rating:
        """Return a player's rating as it is after resting until now; a newcomer's if unknown."""
        queue = self._rated()[ladder]
        assert self._rate is not None
        assert queue.rating is not None
        rating = aged_rating(
            self._scheduler.tables.ratings.get(ladder, {}).get(player), now, queue.rating_period
        )
        if rating.rating is None:
            if ladder not in self._newcomers:
                self._newcomers[ladder] = self._rate(queue.rating, {"": rating}, ())[""]
            return self._newcomers[ladder]
        if rating.periods == 0:
            return rating.rating
        return self._rate(queue.rating, {player: rating}, ())[player]


def _check_format(rate: Rate, queue: Queue, system: str) -> None:
    """Try the rating system on a match of the queue."""
    numbers = iter(range(queue.format.k))
    teams = tuple(tuple(str(next(numbers)) for _ in range(n)) for n in queue.format.players)
    ratings = {player: AgedRating() for team in teams for player in team}
    try:
        rate(system, ratings, (Result(teams, tuple(range(1, len(teams) + 1))),))
    except ConfigError as error:
        raise ConfigError(f"queue {queue.name}: rating {system}: {error}") from None
