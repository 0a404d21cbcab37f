"""Decide who plays whom in a game, and show what that costs before it ships.

Public names are loaded when they are first used, so that `import evenmatch` stays quick.

Data flows one way. `model` holds the values. `criteria` says how good a match is and from which
instant it is allowed. `solvers` compute on arrays. `policies` decide who plays. `engine` runs the
policies and turns inputs into records. `simulation` drives the engine in virtual time, and `lab`
studies what comes out. `journals` store the records, and `server` serves the same engine over
HTTP. `cli` has the commands. The map of all folders is in `docs/design.md`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenmatch.client.client import AsyncClient as AsyncClient
    from evenmatch.client.client import Client as Client
    from evenmatch.client.client import Retry as Retry
    from evenmatch.client.client import ServerRefused as ServerRefused
    from evenmatch.client.client import ServerUnreachable as ServerUnreachable
    from evenmatch.client.client import TicketStream as TicketStream
    from evenmatch.engine.engine import Engine as Engine
    from evenmatch.engine.shard import Shard as Shard
    from evenmatch.errors import MatchmakingError as MatchmakingError
    from evenmatch.lab.advise.advice import advise as advise
    from evenmatch.lab.advise.player_base import PlayerBase as PlayerBase
    from evenmatch.lab.advise.player_base import Split as Split
    from evenmatch.lab.simulate import Run as Run
    from evenmatch.lab.simulate import simulate as simulate
    from evenmatch.lab.solve.solution import Solution as Solution
    from evenmatch.lab.solve.solve import solve as solve
    from evenmatch.model.explanation import Explanation as Explanation
    from evenmatch.model.explanation import LongestWaiting as LongestWaiting
    from evenmatch.model.match import Match as Match
    from evenmatch.model.queue import Queue as Queue
    from evenmatch.model.ticket import Player as Player
    from evenmatch.model.ticket import Rating as Rating
    from evenmatch.model.ticket import Ticket as Ticket
    from evenmatch.policies.base import Decision as Decision
    from evenmatch.policies.base import Grouping as Grouping
    from evenmatch.policies.base import Policy as Policy
    from evenmatch.policies.base import policy as policy
    from evenmatch.ratings.rate import rate as rate
    from evenmatch.solvers.equal_teams import split_teams as split_teams
    from evenmatch.wire.live import StreamEvent as StreamEvent
    from evenmatch.wire.live import StreamProblem as StreamProblem
    from evenmatch.wire.live import UpdateTicket as UpdateTicket
    from evenmatch.wire.matches import FeedMatch as FeedMatch
    from evenmatch.wire.matches import FeedPage as FeedPage
    from evenmatch.wire.matches import MatchState as MatchState
    from evenmatch.wire.matches import OutcomeState as OutcomeState
    from evenmatch.wire.matches import ReportOutcome as ReportOutcome
    from evenmatch.wire.tickets import CreateTicket as CreateTicket
    from evenmatch.wire.tickets import Estimate as Estimate
    from evenmatch.wire.tickets import ItemCreated as ItemCreated
    from evenmatch.wire.tickets import ItemProblem as ItemProblem
    from evenmatch.wire.tickets import PlayerRating as PlayerRating
    from evenmatch.wire.tickets import Problem as Problem
    from evenmatch.wire.tickets import QueueState as QueueState
    from evenmatch.wire.tickets import QueueStats as QueueStats
    from evenmatch.wire.tickets import TicketCreated as TicketCreated
    from evenmatch.wire.tickets import TicketListed as TicketListed
    from evenmatch.wire.tickets import TicketState as TicketState

__version__ = "0.1.0"

# Public name -> the module that defines it. `__all__` below repeats the keys, sorted, as a
# literal, because type checkers and editors read only a literal; a test keeps the two equal.
_PUBLIC: dict[str, str] = {
    "AsyncClient": "evenmatch.client.client",
    "Client": "evenmatch.client.client",
    "CreateTicket": "evenmatch.wire.tickets",
    "Decision": "evenmatch.policies.base",
    "Engine": "evenmatch.engine.engine",
    "Estimate": "evenmatch.wire.tickets",
    "Explanation": "evenmatch.model.explanation",
    "FeedMatch": "evenmatch.wire.matches",
    "FeedPage": "evenmatch.wire.matches",
    "Grouping": "evenmatch.policies.base",
    "ItemCreated": "evenmatch.wire.tickets",
    "ItemProblem": "evenmatch.wire.tickets",
    "LongestWaiting": "evenmatch.model.explanation",
    "Match": "evenmatch.model.match",
    "MatchState": "evenmatch.wire.matches",
    "MatchmakingError": "evenmatch.errors",
    "OutcomeState": "evenmatch.wire.matches",
    "Player": "evenmatch.model.ticket",
    "PlayerBase": "evenmatch.lab.advise.player_base",
    "PlayerRating": "evenmatch.wire.tickets",
    "Policy": "evenmatch.policies.base",
    "Problem": "evenmatch.wire.tickets",
    "Queue": "evenmatch.model.queue",
    "QueueState": "evenmatch.wire.tickets",
    "QueueStats": "evenmatch.wire.tickets",
    "Rating": "evenmatch.model.ticket",
    "ReportOutcome": "evenmatch.wire.matches",
    "Retry": "evenmatch.client.client",
    "Run": "evenmatch.lab.simulate",
    "ServerRefused": "evenmatch.client.client",
    "ServerUnreachable": "evenmatch.client.client",
    "Shard": "evenmatch.engine.shard",
    "Solution": "evenmatch.lab.solve.solution",
    "Split": "evenmatch.lab.advise.player_base",
    "StreamEvent": "evenmatch.wire.live",
    "StreamProblem": "evenmatch.wire.live",
    "Ticket": "evenmatch.model.ticket",
    "TicketCreated": "evenmatch.wire.tickets",
    "TicketListed": "evenmatch.wire.tickets",
    "TicketState": "evenmatch.wire.tickets",
    "TicketStream": "evenmatch.client.client",
    "UpdateTicket": "evenmatch.wire.live",
    "advise": "evenmatch.lab.advise.advice",
    "policy": "evenmatch.policies.base",
    "rate": "evenmatch.ratings.rate",
    "simulate": "evenmatch.lab.simulate",
    "solve": "evenmatch.lab.solve.solve",
    "split_teams": "evenmatch.solvers.equal_teams",
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
