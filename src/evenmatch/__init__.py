"""Decide who plays whom in a game, and show what that costs before it ships.

Public names are loaded when they are first used, so that `import evenmatch` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenmatch.client import AsyncClient as AsyncClient
    from evenmatch.client import Client as Client
    from evenmatch.engine.engine import Engine as Engine
    from evenmatch.engine.shard import Shard as Shard
    from evenmatch.errors import MatchmakingError as MatchmakingError
    from evenmatch.lab.advise.advice import advise as advise
    from evenmatch.lab.advise.base import PlayerBase as PlayerBase
    from evenmatch.lab.advise.base import Split as Split
    from evenmatch.lab.simulate import Run as Run
    from evenmatch.lab.simulate import simulate as simulate
    from evenmatch.lab.solution import Solution as Solution
    from evenmatch.lab.solve import solve as solve
    from evenmatch.model.match import Match as Match
    from evenmatch.model.queue import Queue as Queue
    from evenmatch.model.rating import Rating as Rating
    from evenmatch.model.ticket import Player as Player
    from evenmatch.model.ticket import Ticket as Ticket
    from evenmatch.policies.base import Decision as Decision
    from evenmatch.policies.base import Grouping as Grouping
    from evenmatch.policies.base import Policy as Policy
    from evenmatch.policies.base import policy as policy
    from evenmatch.ratings.rate import rate as rate
    from evenmatch.solvers.split import split_teams as split_teams

__version__ = "0.1.0"

# Public name -> the module that defines it. `__all__` below repeats the keys, sorted, as a
# literal, because type checkers and editors read only a literal; a test keeps the two equal.
_PUBLIC: dict[str, str] = {
    "AsyncClient": "evenmatch.client",
    "Client": "evenmatch.client",
    "Decision": "evenmatch.policies.base",
    "Engine": "evenmatch.engine.engine",
    "Grouping": "evenmatch.policies.base",
    "Match": "evenmatch.model.match",
    "MatchmakingError": "evenmatch.errors",
    "Player": "evenmatch.model.ticket",
    "PlayerBase": "evenmatch.lab.advise.base",
    "Policy": "evenmatch.policies.base",
    "Queue": "evenmatch.model.queue",
    "Rating": "evenmatch.model.rating",
    "Run": "evenmatch.lab.simulate",
    "Shard": "evenmatch.engine.shard",
    "Solution": "evenmatch.lab.solution",
    "Split": "evenmatch.lab.advise.base",
    "Ticket": "evenmatch.model.ticket",
    "advise": "evenmatch.lab.advise.advice",
    "policy": "evenmatch.policies.base",
    "rate": "evenmatch.ratings.rate",
    "simulate": "evenmatch.lab.simulate",
    "solve": "evenmatch.lab.solve",
    "split_teams": "evenmatch.solvers.split",
}

__all__ = [
    "AsyncClient",
    "Client",
    "Decision",
    "Engine",
    "Grouping",
    "Match",
    "MatchmakingError",
    "Player",
    "PlayerBase",
    "Policy",
    "Queue",
    "Rating",
    "Run",
    "Shard",
    "Solution",
    "Split",
    "Ticket",
    "advise",
    "policy",
    "rate",
    "simulate",
    "solve",
    "split_teams",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module on first use."""
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module 'evenmatch' has no attribute {name!r}")
    value: object = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, loaded or not, with the module's own."""
    return sorted({*globals(), *__all__})
