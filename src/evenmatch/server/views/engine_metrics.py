"""The engine's own counts as Prometheus metrics, read when somebody looks."""

from __future__ import annotations

from collections.abc import Iterator, Sized

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from evenmatch.engine.engine import Engine
from evenmatch.engine.state.counters import Counters
from evenmatch.server.views.statistics import Statistics

INVARIANTS = ("I1_player_in_one_ticket", "I2_ticket_in_one_state", "I3_tickets_accounted_for")


class EngineFigures(Collector):
    """What is counted anyway, as far as it is durable: a fold of records, not a walk.

    Args:
        followers: Those who follow tickets and matches now.
        statistics: The figures of durable records.
    """

    def __init__(self, followers: Sized, statistics: Statistics) -> None:
        self.engine: Engine | None = None
        self._followers = followers
        self._statistics = statistics
        self._violations = dict.fromkeys(INVARIANTS, 0)

    def describe(self) -> list[Metric]:
        """Return nothing: the names are known only when there is an engine."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the present figures."""
        yield _gauge("evenmatch_followers", "Clients that follow", len(self._followers))
        engine, statistics = self.engine, self._statistics
        if engine is None:
            return
        totals = statistics.totals
        yield _ticket_figures(totals)
        waiting = GaugeMetricFamily("evenmatch_waiting", "Waiting tickets", labels=["queue"])
        for name, count in statistics.waiting_by_queue().items():
            waiting.add_metric([name], count)
        yield waiting
        paused = GaugeMetricFamily("evenmatch_paused", "1 if it is paused", labels=["queue"])
        for name in engine.tables.queues:
            paused.add_metric([name], float(name in engine.tables.paused))
        yield paused
        yield _counter("evenmatch_matches", "Matches made", totals.matches)
        yield _counter("evenmatch_bots", "Seats filled by computer players", totals.bots)
        yield _counter("evenmatch_jobs", "Jobs that policies asked for", totals.jobs)
        yield _counter(
            "evenmatch_job_matches_dropped",
            "Matches of jobs' plans that could not be played any more",
            totals.dropped,
        )
        yield _counter("evenmatch_proposals", "Matches proposed to their players", totals.proposed)
        yield _counter(
            "evenmatch_checks_failed", "Ready-checks that lost a player", totals.checks_failed
        )
        yield _counter(
            "evenmatch_checks_repaired", "Failed ready-checks that were played", totals.repaired
        )
        yield _counter(
            "evenmatch_checks_dissolved", "Ready-checks that came to nothing", totals.dissolved
        )
        yield from _checks(statistics)
        yield _counter("evenmatch_fills", "Matches that filled running ones", totals.filled)
        yield _counter("evenmatch_matches_void", "Matches called off again", totals.voided)
        yield _counter("evenmatch_outcomes", "Outcomes of matches that counted", totals.outcomes)
        yield _counter(
            "evenmatch_outcomes_disputed",
            "Matches on whose outcome the players did not agree in time",
            totals.disputed,
        )
        yield _counter("evenmatch_ratings", "New ratings of players stored", totals.rated)
        yield _gauge("evenmatch_policy_faults", "Queues that stopped: a bug", len(engine.faults))
        yield _gauge(
            "evenmatch_journal_sequence", "Number of the last durable record", statistics.sequence
        )
        yield self._invariants(engine)

    def _invariants(self, engine: Engine) -> Metric:
        """Return counts that must be 0: each is a promise that can be checked by comparing totals.

        What was heard and what is held agree only while memory is not ahead of the journal; until
        then, the last comparison stands.
        """
        tables, counters, statistics = engine.tables, engine.tables.counters, self._statistics
        ended = counters.matched + counters.cancelled + counters.expired
        self._violations["I3_tickets_accounted_for"] = abs(
            counters.accepted - len(tables.waiting) - ended
        )
        if statistics.sequence == tables.sequence:
            players = sum(len(group) for group in tables.players.values())
            self._violations["I1_player_in_one_ticket"] = abs(players - statistics.players)
            heard = statistics.waiting_by_queue()
            held = {name: len(pool.tickets) for name, pool in engine.pools.items()}
            self._violations["I2_ticket_in_one_state"] = sum(
                abs(heard.get(name, 0) - held.get(name, 0)) for name in heard | held
            )
        family = GaugeMetricFamily(
            "evenmatch_invariant_violations", "Must stay 0", labels=["invariant"]
        )
        for name, count in self._violations.items():
            family.add_metric([name], count)
        return family


def _ticket_figures(totals: Counters) -> Metric:
    states = CounterMetricFamily("evenmatch_tickets", "Tickets by state", labels=["state"])
    states.add_metric(["accepted"], totals.accepted)
    states.add_metric(["matched"], totals.matched)
    states.add_metric(["cancelled"], totals.cancelled)
    states.add_metric(["expired"], totals.expired)
    return states


def _checks(statistics: Statistics) -> Iterator[Metric]:
    """Yield how ready-checks go for the players of each queue, and what comes of proposals."""
    families = [
        CounterMetricFamily(f"evenmatch_{name}", text, labels=["queue"])
        for name, text in (
            ("players_asked", "Players who were asked to accept a match"),
            ("players_unready", "Players asked who declined, withdrew or did not answer"),
            ("proposals_ended", "Proposals that were played, or given up"),
            ("proposals_given_up", "Proposals that came to nothing, after repair"),
        )
    ]
    for queue, counts in statistics.checks().items():
        for family, count in zip(families, counts, strict=True):
            family.add_metric([queue], count)
    yield from families


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(name, text, value=value)
