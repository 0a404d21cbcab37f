"""Builds and connects the parts of one server: runtime, views, operations, allocation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import msgspec

from evenmatch.engine.lifecycle import LifecycleView, TicketLifecycle
from evenmatch.errors import NotSupported
from evenmatch.journals.base import Journal
from evenmatch.server.allocation.allocations import Allocations
from evenmatch.server.allocation.hooks import Hook
from evenmatch.server.auth.rate_limits import KeyQuota
from evenmatch.server.dashboard.figures import Figures
from evenmatch.server.dashboard.live import LiveSnapshots
from evenmatch.server.gamelift.delivery import Targets
from evenmatch.server.gamelift.events import GameLiftEvents
from evenmatch.server.gamelift.memory import GameLiftMemory
from evenmatch.server.operations.drain import Drain
from evenmatch.server.operations.operator import OperatorControls
from evenmatch.server.operations.versions import Versions
from evenmatch.server.runtime.clock import Clocks
from evenmatch.server.runtime.lag import Lag
from evenmatch.server.runtime.logs import log
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.return_grace import ReturnGrace
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.runtime.secret_files import read_secret
from evenmatch.server.runtime.snapshots import SNAPSHOT_EVERY
from evenmatch.server.views.alert_metrics import AlertMetrics
from evenmatch.server.views.backlog import Backlog
from evenmatch.server.views.by_player import PlayerTickets
from evenmatch.server.views.explanations import Explanations
from evenmatch.server.views.feed import MatchFeed
from evenmatch.server.views.followers import Followers, TicketFeed
from evenmatch.server.views.forecasting import WaitEstimates
from evenmatch.server.views.heartbeats import Presence
from evenmatch.server.views.listener import Listener
from evenmatch.server.views.metrics import Metrics
from evenmatch.server.views.shadow import Shadows
from evenmatch.server.views.stalled_queues import StalledQueues
from evenmatch.server.views.statistics import Statistics
from evenmatch.server.views.switchback import Switchbacks
from evenmatch.server.views.ticket_log import TicketLog
from evenmatch.server.views.timings import Timings


class Services(msgspec.Struct, frozen=True):
    """The objects that routes work with."""

    runtime: Runtime
    metrics: Metrics
    followers: Followers
    tickets: TicketFeed
    matches: MatchFeed
    statistics: Statistics
    live: LiveSnapshots
    explanations: Explanations
    waits: WaitEstimates
    presence: Presence
    operator: OperatorControls
    drain: Drain
    shadows: Shadows
    switchbacks: Switchbacks
    allocations: Allocations
    keys: KeyQuota
    players: PlayerTickets
    backlog: Backlog
    gamelift: GameLiftMemory
    gamelift_events: GameLiftEvents


def _log(plan: ShardPlan) -> list[Listener]:
    """Return what logs tickets, where the settings ask for it."""
    settings = plan.settings
    if not settings.log_tickets:
        return []
    name = settings.log_secret_file
    secret = None if name is None else read_secret(Path(name))
    return [TicketLog(settings.log_lines_max, secret=secret)]


def _traces(plan: ShardPlan) -> list[LifecycleView]:
    """Return what traces tickets, where the settings or the environment ask for it."""
    if not asks_for_traces(plan.settings.traces, os.environ):
        return []
    # Imported here, so that a server without traces needs nothing for them.
    from evenmatch.server.views.traces import TicketTraces, exporting_to

    return [TicketTraces(exporting_to(plan.settings.traces))]


def assemble(
    plan: ShardPlan,
    journal: Journal,
    *,
    snapshot_every: int = SNAPSHOT_EVERY,
    clocks: Clocks | None = None,
    versions: Versions | None = None,
) -> Services:
    """Return the services of a server that runs this plan; the caller then starts the runtime."""
    clocks = clocks or Clocks()
    metrics = Metrics()
    followers = Followers(plan.settings.limits.followers_max)
    tickets, matches = TicketFeed(followers), MatchFeed()
    statistics = Statistics(metrics.waited)
    shown = Figures(plan.settings.clock_speed)
    waits, presence, return_grace = WaitEstimates(), Presence(tickets), ReturnGrace(tickets)
    shadows, switchbacks = Shadows(), Switchbacks()
    allocations = Allocations([Hook(*each) for each in plan.settings.allocation.items()])
    keys, players, gamelift = KeyQuota(), PlayerTickets(), GameLiftMemory()
    targets = Targets(plan.settings.notifications)
    events = GameLiftEvents(targets.send, clocks.wall)
    views: list[LifecycleView] = [statistics, waits, presence, shown, switchbacks, players]
    views += [gamelift, events, metrics.watch(followers, statistics)]
    views += _traces(plan)
    backlog = Backlog(TicketLifecycle(views), clock=clocks.stopwatch)
    heard: list[Listener] = [tickets, backlog, allocations, return_grace, shadows, keys]
    runtime = Runtime(
        plan,
        journal,
        listeners=(matches, *heard, *_log(plan)),
        commits=metrics,
        solved=metrics.solved,
        clocks=clocks,
        lag=Lag(metrics.lagged, monotonic=clocks.monotonic),
        timings=Timings(metrics.inputs.observe, metrics.decisions.observe, clock=clocks.stopwatch),
        snapshot_every=snapshot_every,
        versions=versions,
    )
    standstills = StalledQueues(runtime, statistics)
    metrics.registry.register(AlertMetrics(runtime, standstills, allocations, targets))
    backlog.begin(runtime.give_up_shard)
    presence.begin(runtime)
    return_grace.begin(runtime)
    drain = Drain(runtime)
    metrics.show("evenmatch_draining", "1 while no new tickets are taken", lambda: drain.is_on)
    allocations.begin(runtime)
    return Services(
        runtime,
        metrics,
        followers,
        tickets,
        matches,
        statistics,
        LiveSnapshots(runtime, shown, standstills),
        Explanations(runtime),
        waits,
        presence,
        OperatorControls(runtime),
        drain,
        shadows,
        switchbacks,
        allocations,
        keys,
        players,
        backlog,
        gamelift,
        events,
    )


# Whether traces are asked for; what sends them is loaded only then.

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""The standard's own names for the address of a collector."""
INSTALL = "traces need more packages: pip install 'evenmatch[traces]'"


def asks_for_traces(address: str | None, environment: Mapping[str, str]) -> bool:
    """Return whether traces are to be sent.

    Args:
        address: The collector that the configuration names.
        environment: May name one in the standard's way; what is missing is then only told, since
            a platform may set the variable for all its programs.

    Raises:
        NotSupported: The configuration names a collector, and the packages are missing.
    """
    if address is None and not any(environment.get(name) for name in ENDPOINTS):
        return False
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    try:
        is_there = find_spec("opentelemetry.sdk") is not None
    except ModuleNotFoundError:
        is_there = False
    if not is_there and address is not None:
        raise NotSupported(f"[server] traces: {INSTALL}")
    if not is_there:
        log.warning("no_traces", reason=INSTALL)
    return is_there
