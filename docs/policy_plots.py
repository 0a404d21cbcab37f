"""The plots of the policy reference: every policy on the same players, drawn by one function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from evenmatch.config.files import parse_scenario
from evenmatch.lab.optimum.optimum import optimum
from evenmatch.lab.report.plots import COLORS, SOFT, Floats, draw_svg
from evenmatch.lab.simulate import simulate
from evenmatch.model.condition import Condition, DistanceTest, FoldOf, Phases, TeamProperty
from evenmatch.model.queue import Queue, Rule
from evenmatch.model.ticket import NewTicket, attribute_of
from evenmatch.simulation.arrivals.arrivals import arrivals_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WORLD = """
seed = 7
[[queue]]
name = "duel"
wait_max = 300.0
on_deadline = "bots"
[[queue.criteria]]
kind = "spread"
attribute = "rating"
weight = 8.0
scale = {min = 0.0, max = 3000.0}
[arrivals]
process = "poisson"
rate = 0.5
count = 800
[attributes]
rating = {distribution = "normal", mean = 1500.0, deviation = 300.0}
"""
"""A player in two seconds, with ratings; 100 points between two cost as much as 80 s of waiting."""
SIDED = {"adaptive_sides": 'name = "duel"\nsides = ["A", "B"]\nside_choice = "prefer"\n'}
"""How the queue begins for policies that need sides; in this world nobody asks for one."""
RULED = "by_rules"
"""The policy that plays by a rule set: here ratings may differ by 50, by 200 after 20 s."""
OPTIMUM = "optimum"


def _ruled(queue: Queue) -> Queue:
    """Return the queue with the condition of a rule set."""
    ratings = TeamProperty(teams=(0, 1), is_grouped=False, what="attribute", attribute="rating")
    near, far = [
        DistanceTest(
            measured=(FoldOf("max", ratings),), reference=FoldOf("min", ratings), most=most
        )
        for most in (50.0, 200.0)
    ]
    condition = Condition("near ratings", Phases((0.0, 20.0), (near, far)))
    return msgspec.structs.replace(queue, rules=(Rule("condition", condition=condition),))


class Points(NamedTuple):
    """The matches of one policy: the wait of both players in seconds, and their rating gap."""

    waits: Floats
    gaps: Floats

    @property
    def mean(self) -> tuple[float, float]:
        """Return the mean wait of a player and the mean gap."""
        return float(self.waits.mean()), float(self.gaps.mean())


def points_of(specs: Mapping[str, str]) -> dict[str, Points]:
    """Return the matches of each policy on the players of `WORLD`, and those of the optimum.

    Args:
        specs: SPEC by name.

    Complexity:
        A run of 800 tickets for each.
    """
    world = parse_scenario(WORLD)
    found = {}
    for name, spec in specs.items():
        own = (
            parse_scenario(WORLD.replace('name = "duel"\n', SIDED[name]))
            if name in SIDED
            else world
        )
        if name == RULED:
            own = msgspec.structs.replace(own, queues=(_ruled(own.queues[0]),))
        history = simulate(own, policy=spec, by="rating").history
        pairs = [[history.index[t] for t in match.tickets] for match in history.matches]
        at = [match.at for match in history.matches]
        ratings = _ratings(history.tickets)
        found[name] = _points(pairs, at, history.enqueued_at, ratings)
    assert world.arrivals is not None
    arrivals = list(arrivals_of(world.arrivals, np.random.SeedSequence(world.seed)))
    best = optimum(world.queues, arrivals)
    times = [each.at for each in arrivals]
    ratings = _ratings([each.ticket for each in arrivals])
    pairs = [[one, two] for one, two, _ in best.pairs]
    found[OPTIMUM] = _points(pairs, [at for *_, at in best.pairs], times, ratings)
    return found


def _ratings(tickets: Sequence[NewTicket]) -> list[float]:
    found = [attribute_of(ticket, ticket.players[0], "rating") for ticket in tickets]
    return [value for value in found if isinstance(value, float)]


def _points(
    pairs: list[list[int]], at: list[float], times: list[float], ratings: list[float]
) -> Points:
    duels = [(pair, when) for pair, when in zip(pairs, at, strict=True) if len(pair) == 2]
    waits = [sum(when - times[place] for place in pair) / 2 for pair, when in duels]
    gaps = [abs(ratings[one] - ratings[two]) for (one, two), _ in duels]
    return Points(np.array(waits), np.array(gaps))


def plot_policy(name: str, points: Mapping[str, Points]) -> str:
    """Draw a policy's matches, and its means among those of all others and the optimum.

    Args:
        name: The policy.
        points: Of all policies, by `points_of`.

    Returns:
        An SVG element.
    """

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        own = points[name]
        left.scatter(own.waits, own.gaps, s=7, color=COLORS[0], alpha=0.5, lw=0)
        left.set(xlabel="mean wait of the two, s", ylabel="rating difference", title="each match")
        left.set_xlim(left=-1.0, right=max(60.0, 1.05 * float(own.waits.max())))
        left.set_ylim(bottom=-5.0, top=max(250.0, 1.05 * float(own.gaps.max())))
        _draw_means(right, name, points)

    return draw_svg(name.replace("_", "-"), draw)


def _draw_means(axes: Axes, name: str, points: Mapping[str, Points]) -> None:
    for other, found in points.items():
        wait, gap = found.mean
        if other == OPTIMUM:
            axes.plot([wait], [gap], "*", color=COLORS[1], ms=12, label="the best possible")
        elif other != name:
            axes.plot([wait], [gap], "o", color="#b6bec9", ms=4)
            axes.annotate(
                other, (wait, gap), (3, 3), textcoords="offset points", fontsize=5.5, color=SOFT
            )
    wait, gap = points[name].mean
    axes.plot([wait], [gap], "o", color=COLORS[0], ms=9, label=name)
    axes.set(xlabel="mean wait, s", ylabel="mean rating difference", title="all policies")
    # The means lie decades apart.
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.set_xticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
    axes.set_yticks([20, 50, 100, 200, 400], ["20", "50", "100", "200", "400"])
    axes.legend(loc="lower left", labelcolor=SOFT, fontsize=8)
