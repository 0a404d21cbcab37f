"""The parts of one server, put together once."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.journals.base import Journal
from evenmatch.server.allocation.allocations import Allocations
from evenmatch.server.allocation.hooks import Hook
from evenmatch.server.auth.key_quota import KeyQuota
from evenmatch.server.by_player import PlayerTickets
from evenmatch.server.controls import Controls
from evenmatch.server.dashboard.figures import Figures
from evenmatch.server.dashboard.live import Live
from evenmatch.server.drain import Drain
from evenmatch.server.explanations import Explanations
from evenmatch.server.feed import MatchFeed
from evenmatch.server.figures import EngineFigures
from evenmatch.server.followers import Followers, TicketFeed
from evenmatch.server.forecasting import WaitEstimates
from evenmatch.server.lag import Lag
from evenmatch.server.listener import Listener
from evenmatch.server.metrics import Metrics
from evenmatch.server.on_call import OnCall
from evenmatch.server.presence import Presence
from evenmatch.server.recovery import SNAPSHOT_EVERY, Plan
from evenmatch.server.returning import Returning
from evenmatch.server.runtime import Runtime
from evenmatch.server.secret_files import read_secret
from evenmatch.server.shadows import Shadows
from evenmatch.server.standstill import Standstills
from evenmatch.server.statistics import Statistics
from evenmatch.server.switchback import Switchbacks
from evenmatch.server.ticket_log import TicketLog
from evenmatch.server.timings import Timings
from evenmatch.server.tracing import asks_for_traces


class Parts(msgspec.Struct, frozen=True):
    """What the routes work with."""

    runtime: Runtime
    metrics: Metrics
    followers: Followers
    tickets: TicketFeed
    matches: MatchFeed
    statistics: Statistics
    live: Live
    explanations: Explanations
    waits: WaitEstimates
    presence: Presence
    controls: Controls
    drain: Drain
    shadows: Shadows
    switchbacks: Switchbacks
    allocations: Allocations
    keys: KeyQuota
    players: PlayerTickets


class _Watch:
    """Shows the present engine to the metrics."""

    def __init__(self, figures: EngineFigures) -> None:
        self._figures = figures

    def reset(self, engine: Engine) -> None:
        self._figures.engine = engine

    def hear(self, record: Record) -> None:
        del record


def _further(plan: Plan) -> list[Listener]:
    """Return the listeners that the settings ask for."""
    settings = plan.settings
    found: list[Listener] = []
    if settings.log_tickets:
        name = settings.log_secret_file
        secret = None if name is None else read_secret(Path(name))
        found.append(TicketLog(settings.log_lines_max, secret=secret))
    if asks_for_traces(settings.traces, os.environ):
        # Imported here, so that a server without traces needs nothing for them.
        from evenmatch.server.traces import TicketTraces, exporting_to

        found.append(TicketTraces(exporting_to(settings.traces)))
    return found


def assemble(plan: Plan, journal: Journal, *, snapshot_every: int = SNAPSHOT_EVERY) -> Parts:
    """Return the parts of a server that runs this plan; `runtime.start()` comes next."""
    metrics = Metrics()
    followers = Followers(plan.settings.limits.followers_max)
    tickets, matches = TicketFeed(followers), MatchFeed()
    statistics = Statistics(metrics.waited)
    shown = Figures(plan.settings.clock_speed)
    waits, presence, returning = WaitEstimates(), Presence(tickets), Returning(tickets)
    shadows, switchbacks = Shadows(), Switchbacks()
    allocations = Allocations([Hook(each) for each in plan.settings.allocation])
    heard: list[Listener] = [tickets, statistics, waits, presence, shown, allocations]
    keys, players = KeyQuota(), PlayerTickets()
    heard += [returning, shadows, switchbacks, keys, players]
    watch = _Watch(metrics.watch(followers, statistics))
    runtime = Runtime(
        plan,
        journal,
        listeners=(watch, matches, *heard, *_further(plan)),
        commits=metrics,
        solved=metrics.solved,
        lag=Lag(metrics.lagged),
        timings=Timings(metrics.handled, metrics.decided),
        snapshot_every=snapshot_every,
    )
    standstills = Standstills(runtime, statistics)
    metrics.registry.register(OnCall(runtime, standstills))
    presence.begin(runtime)
    returning.begin(runtime)
    drain = Drain(runtime)
    metrics.show("evenmatch_draining", "1 while no new tickets are taken", lambda: drain.is_on)
    allocations.begin(runtime)
    return Parts(
        runtime,
        metrics,
        followers,
        tickets,
        matches,
        statistics,
        Live(runtime, shown, standstills),
        Explanations(runtime),
        waits,
        presence,
        Controls(runtime),
        drain,
        shadows,
        switchbacks,
        allocations,
        keys,
        players,
    )
