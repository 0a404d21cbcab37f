"""What a planner reaches that sees who comes in the next minutes: how far a policy is from that.

No policy knows the future, so how much better its matches could have been at the same mean wait has
no simple answer. This planner is given the arrivals of the next T seconds as if they were here. It
divides all of them into matches by the annealing of `solve`, judged by the queue's own criteria and
by how far apart its players come; the weight of that is the knob that sets the mean wait. A match
starts when its last player comes. The matches that start within the first half of the window are
made, all others are planned again with what comes next.

What it is: a plan that keeps all rules and was found, so that with T seconds of foresight at least
so much is possible. What it is not: a proof that no more is possible. A policy without foresight
can hardly come near to it, and where it stays below, the difference is a bound on what is known to
be missing, not on what could be had by a better policy.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from evenmatch.criteria.objective import Objective, weights_of
from evenmatch.model.queue import Criterion, Queue, Scale
from evenmatch.model.ticket import Player, Ticket
from evenmatch.simulation.seeds import generator
from evenmatch.simulation.world.arrivals import world_arrivals
from papers.studies.streams import StreamFigures
from tests.bench.team_streams import Stream, scenario_of, window_of

CAME = "came"
APART_MOST = 600.0
"""Seconds between arrivals that are as bad as any."""
EFFORT = 1_500
"""Evaluations a player and window."""
TICKETS_MOST = 100_000


def plan_of(stream: Stream, weight: float, foresight: float) -> StreamFigures:
    """Return what the planner makes of a stream.

    Args:
        stream: The arrivals.
        weight: Of the time between players' arrivals, as a multiple of all criteria together.
        foresight: T, seconds.
    """
    scenario = scenario_of(stream)
    tickets, queue = tickets_of(stream), scenario.queues[0]
    assert scenario.arrivals is not None
    assert scenario.arrivals.duration is not None
    planner = Planner(queue, weight, stream.seed)
    matches = planner.plan(tickets, foresight, scenario.arrivals.duration)
    window = window_of(stream.rate)
    begin, end = window.warmup, scenario.arrivals.duration - window.cooldown
    waits: list[float] = []
    qualities: list[float] = []
    seated = set()
    for group, quality in matches:
        start = max(ticket.enqueued_at for ticket in group)
        for ticket in group:
            seated.add(ticket.id)
            if begin <= ticket.enqueued_at < end:
                waits += [start - ticket.enqueued_at] * ticket.size
                qualities += [100.0 * quality] * ticket.size
    lost = [t for t in tickets if t.id not in seated and begin <= t.enqueued_at < end]
    for ticket in lost:
        waits += [scenario.arrivals.duration - ticket.enqueued_at] * ticket.size
    return StreamFigures(
        mean=float(np.mean(qualities)),
        p10=float(np.quantile(qualities, 0.1)),
        wait=float(np.mean(waits)),
        p95=float(np.quantile(waits, 0.95)),
        longest=max(waits),
        players=len(waits),
        censored=sum(ticket.size for ticket in lost),
    )


def tickets_of(stream: Stream) -> list[Ticket]:
    """Return the tickets of a stream, those that a simulation of it meets."""
    scenario = scenario_of(stream)
    assert scenario.arrivals is not None
    queues = (scenario.queues[0].name,)
    found = []
    arrivals = world_arrivals(scenario.arrivals, np.random.SeedSequence(stream.seed))
    for number, arrival in enumerate(arrivals):
        assert number < TICKETS_MOST
        players = tuple(_player(player, arrival.at) for player in arrival.ticket.players)
        found.append(
            Ticket(str(number), number, arrival.at, players, queues, arrival.ticket.attributes)
        )
    return found


def _player(player: Player, at: float) -> Player:
    return replace(player, attributes={**player.attributes, CAME: at})


class Planner:
    """Divides the tickets of windows into matches.

    Args:
        queue: Whose matches they are.
        weight: Of the time between players' arrivals, as a multiple of all criteria together.
        seed: Of all chance.
    """

    def __init__(self, queue: Queue, weight: float, seed: int) -> None:
        apart = Criterion(
            "mean_gap",
            CAME,
            weight * sum(weights_of(queue)),
            Scale("capped", max=APART_MOST),
        )
        weighed = [
            replace(each, weight=own)
            for each, own in zip(queue.criteria, weights_of(queue), strict=True)
        ]
        self._planned = replace(queue, criteria=(*weighed, apart))
        self._objective = Objective(queue)
        self._k = queue.format.k
        self._rng = generator(np.random.SeedSequence(seed), "planner")

    def plan(
        self, tickets: list[Ticket], foresight: float, end: float
    ) -> list[tuple[list[Ticket], float]]:
        """Return matches with their qualities."""
        made: list[tuple[list[Ticket], float]] = []
        waiting: list[Ticket] = []
        coming, at = 0, 0.0
        while at < end:
            sees, commits = at + foresight, at + foresight / 2.0
            while coming < len(tickets) and tickets[coming].enqueued_at < sees:
                waiting.append(tickets[coming])
                coming += 1
            gone = set()
            for group, quality in self._matches(waiting, at):
                start = max(ticket.enqueued_at for ticket in group)
                if start < commits or sees >= end:
                    made.append((group, quality))
                    gone.update(ticket.id for ticket in group)
            waiting = [ticket for ticket in waiting if ticket.id not in gone]
            at = commits
        return made

    def _matches(self, tickets: list[Ticket], now: float) -> list[tuple[list[Ticket], float]]:
        """Return the matches of one window that keep all rules when they start."""
        from evenmatch.policies.shared.ticket_batch import BatchRoster
        from evenmatch.solvers.teams.solve import anneal

        players = sum(ticket.size for ticket in tickets)
        if players < self._k:
            return []
        roster = BatchRoster(self._planned)
        for ticket in tickets:
            roster.enter(ticket)
        batch = roster.batch(tickets, now)
        plan = anneal(batch, effort=EFFORT * players, seed=int(self._rng.integers(2**31)))
        party = np.searchsorted(batch.first, np.arange(batch.players), side="right") - 1
        found = []
        for seated, legal in zip(plan.seating, plan.legal, strict=True):
            if not legal:
                continue
            group = [tickets[each] for each in sorted(set(party[seated[seated >= 0]].tolist()))]
            group.sort(key=lambda ticket: ticket.age_key)
            start = group[-1].enqueued_at
            seating = self._objective.seat(group, now=start)
            if seating is not None and seating.ready_at <= start and seating.quality is not None:
                found.append((group, seating.quality))
        return found
