"""Decide who plays whom in a game, and show what that costs before it ships.

Public names are loaded when they are first used, so that `import evenmatch` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenmatch.client import AsyncClient as AsyncClient
    from evenmatch.client import Client as Client
    from evenmatch.client import Retry as Retry
    from evenmatch.client import ServerRefused as ServerRefused
    from evenmatch.client import ServerUnreachable as ServerUnreachable
    from evenmatch.client import TicketStream as TicketStream
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
    from evenmatch.model.explanation import Explanation as Explanation
    from evenmatch.model.explanation import LongestWaiting as LongestWaiting
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
    from evenmatch.wire import CreateTicket as CreateTicket
    from evenmatch.wire import Estimate as Estimate
    from evenmatch.wire import ItemCreated as ItemCreated
    from evenmatch.wire import ItemProblem as ItemProblem
    from evenmatch.wire import PlayerRating as PlayerRating
    from evenmatch.wire import Problem as Problem
    from evenmatch.wire import QueueState as QueueState
    from evenmatch.wire import QueueStats as QueueStats
    from evenmatch.wire import TicketCreated as TicketCreated
    from evenmatch.wire import TicketListed as TicketListed
    from evenmatch.wire import TicketState as TicketState
    from evenmatch.wire_live import StreamEvent as StreamEvent
    from evenmatch.wire_live import StreamProblem as StreamProblem
    from evenmatch.wire_live import UpdateTicket as UpdateTicket
    from evenmatch.wire_matches import FeedMatch as FeedMatch
    from evenmatch.wire_matches import FeedPage as FeedPage
    from evenmatch.wire_matches import MatchState as MatchState
    from evenmatch.wire_matches import OutcomeState as OutcomeState
    from evenmatch.wire_matches import ReportOutcome as ReportOutcome

__version__ = "0.1.0"

# Public name -> the module that defines it. `__all__` below repeats the keys, sorted, as a
# literal, because type checkers and editors read only a literal; a test keeps the two equal.
_PUBLIC: dict[str, str] = {
    "AsyncClient": "evenmatch.client",
    "Client": "evenmatch.client",
    "CreateTicket": "evenmatch.wire",
    "Decision": "evenmatch.policies.base",
    "Engine": "evenmatch.engine.engine",
    "Estimate": "evenmatch.wire",
    "Explanation": "evenmatch.model.explanation",
    "FeedMatch": "evenmatch.wire_matches",
    "FeedPage": "evenmatch.wire_matches",
    "Grouping": "evenmatch.policies.base",
    "ItemCreated": "evenmatch.wire",
    "ItemProblem": "evenmatch.wire",
    "LongestWaiting": "evenmatch.model.explanation",
    "Match": "evenmatch.model.match",
    "MatchState": "evenmatch.wire_matches",
    "MatchmakingError": "evenmatch.errors",
    "OutcomeState": "evenmatch.wire_matches",
    "Player": "evenmatch.model.ticket",
    "PlayerBase": "evenmatch.lab.advise.base",
    "PlayerRating": "evenmatch.wire",
    "Policy": "evenmatch.policies.base",
    "Problem": "evenmatch.wire",
    "Queue": "evenmatch.model.queue",
    "QueueState": "evenmatch.wire",
    "QueueStats": "evenmatch.wire",
    "Rating": "evenmatch.model.rating",
    "ReportOutcome": "evenmatch.wire_matches",
    "Retry": "evenmatch.client",
    "Run": "evenmatch.lab.simulate",
    "ServerRefused": "evenmatch.client",
    "ServerUnreachable": "evenmatch.client",
    "Shard": "evenmatch.engine.shard",
    "Solution": "evenmatch.lab.solution",
    "Split": "evenmatch.lab.advise.base",
    "StreamEvent": "evenmatch.wire_live",
    "StreamProblem": "evenmatch.wire_live",
    "Ticket": "evenmatch.model.ticket",
    "TicketCreated": "evenmatch.wire",
    "TicketListed": "evenmatch.wire",
    "TicketState": "evenmatch.wire",
    "TicketStream": "evenmatch.client",
    "UpdateTicket": "evenmatch.wire_live",
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
    "CreateTicket",
    "Decision",
    "Engine",
    "Estimate",
    "Explanation",
    "FeedMatch",
    "FeedPage",
    "Grouping",
    "ItemCreated",
    "ItemProblem",
    "LongestWaiting",
    "Match",
    "MatchState",
    "MatchmakingError",
    "OutcomeState",
    "Player",
    "PlayerBase",
    "PlayerRating",
    "Policy",
    "Problem",
    "Queue",
    "QueueState",
    "QueueStats",
    "Rating",
    "ReportOutcome",
    "Retry",
    "Run",
    "ServerRefused",
    "ServerUnreachable",
    "Shard",
    "Solution",
    "Split",
    "StreamEvent",
    "StreamProblem",
    "Ticket",
    "TicketCreated",
    "TicketListed",
    "TicketState",
    "TicketStream",
    "UpdateTicket",
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
