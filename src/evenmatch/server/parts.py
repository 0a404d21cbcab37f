"""The parts of one server, put together once."""

from __future__ import annotations

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.journals.base import Journal
from evenmatch.server.allocation.allocations import Allocations
from evenmatch.server.allocation.hooks import Hook
from evenmatch.server.controls import Controls
from evenmatch.server.dashboard.figures import Figures
from evenmatch.server.dashboard.live import Live
from evenmatch.server.drain import Drain
from evenmatch.server.explanations import Explanations
from evenmatch.server.feed import MatchFeed
from evenmatch.server.figures import EngineFigures
from evenmatch.server.followers import Followers, TicketFeed
from evenmatch.server.forecasting import WaitEstimates
from evenmatch.server.listener import Listener
from evenmatch.server.metrics import Metrics
from evenmatch.server.presence import Presence
from evenmatch.server.recovery import SNAPSHOT_EVERY, Plan
from evenmatch.server.runtime import Runtime
from evenmatch.server.statistics import Statistics
from evenmatch.server.ticket_log import TicketLog


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
    allocations: Allocations


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
    return [TicketLog(settings.log_lines_max)] if settings.log_tickets else []


def assemble(plan: Plan, journal: Journal, *, snapshot_every: int = SNAPSHOT_EVERY) -> Parts:
    """Return the parts of a server that runs this plan; `runtime.start()` comes next."""
    metrics = Metrics()
    followers = Followers(plan.settings.limits.followers_max)
    tickets, matches = TicketFeed(followers), MatchFeed()
    statistics = Statistics(metrics.waited)
    shown = Figures(plan.settings.clock_speed)
    waits, presence = WaitEstimates(), Presence(tickets)
    allocations = Allocations([Hook(each) for each in plan.settings.allocation])
    heard: list[Listener] = [tickets, statistics, waits, presence, shown, allocations]
    watch = _Watch(metrics.watch(followers, statistics))
    runtime = Runtime(
        plan,
        journal,
        listeners=(watch, matches, *heard, *_further(plan)),
        commits=metrics,
        solved=metrics.solved,
        snapshot_every=snapshot_every,
    )
    presence.begin(runtime)
    allocations.begin(runtime)
    return Parts(
        runtime,
        metrics,
        followers,
        tickets,
        matches,
        statistics,
        Live(runtime, shown),
        Explanations(runtime),
        waits,
        presence,
        Controls(runtime),
        Drain(runtime),
        allocations,
    )
