"""Section 5.3 of "Automatic Game Matching": smaller rates, and rates that rise.

The paper makes four statements without figures: that A_G comes closer to the optimum at smaller
rates, that the others keep their proportion, that raising rates give similar results, and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from papers.shared.estimates import Estimate, is_above, ratio_of_ratios, told
from papers.shared.findings import Row, judged
from papers.shared.sequences import SequenceFigures, optima
from papers.shared.worlds import Rates, World

ID = "schlup.section5.3"
RATES = (10.0, 3.0, 1.0)
"""Descending, as in the section."""
SIMILAR = 0.1
"""Largest relative difference of costs that we call similar; the paper gives no number."""
SMALLER = "A_G at a smaller rate"
PROPORTION = "proportion"
RAISING = "raising over constant"
HALVES = "first half over second half"

Runs = Mapping[str, Sequence[SequenceFigures]]
"""The measured sequences of each world, by its name."""
Best = Callable[[str, str], str]
"""Returns the cheapest policy of an algorithm in a world, both by name."""


def other_rates(by_world: Runs, best: Best, algorithms: Sequence[str]) -> list[Row]:
    """Return the rows of the section.

    Args:
        by_world: Runs at constant rates and at both ramps.
        best: Returns the policy that represents an algorithm.
        algorithms: Those of the paper: A_G first, then A_PM, A_MQ and the readings of A_DW.
    """
    rows = [*_smaller(by_world, best, algorithms[0])]
    _, periodic, queues, *pairs = algorithms
    for name in (periodic, *pairs):
        rows += _proportions(by_world, best, name, queues)
    ramps: tuple[Rates, ...] = ("time", "index")
    for ramp in ramps:
        for name in algorithms:
            rows += _raising(by_world, best, name, ramp)
    return rows


def _smaller(by_world: Runs, best: Best, name: str) -> Iterator[Row]:
    """Yield how much further above the optimum A_G is at each rate than at the next smaller one."""
    for rate, next_rate in pairwise(RATES):
        pairs = []
        for each in (rate, next_rate):
            world = World(rate=each).name
            runs = by_world[world]
            pairs.append(([m.costs[best(name, world)] for m in runs], optima(runs)))
        found = ratio_of_ratios(*pairs)
        what = f"{SMALLER}: times the optimum at {rate:g}, over that at {next_rate:g}"
        yield told(ID, what, found, is_above(found, 1.0), aim=1.0, algorithm=name)


def _proportions(by_world: Runs, best: Best, name: str, other: str) -> Iterator[Row]:
    """Yield the change of the proportion of two algorithms' costs at smaller rates."""

    def costs(rate: float) -> tuple[list[float], list[float]]:
        world = World(rate=rate).name
        runs = by_world[world]
        one, two = best(name, world), best(other, world)
        return [m.costs[one] for m in runs], [m.costs[two] for m in runs]

    for rate in RATES[1:]:
        found = ratio_of_ratios(costs(rate), costs(RATES[0]))
        what = f"{PROPORTION} to {other} at {rate:g}, over that at {RATES[0]:g}"
        yield _similar(found, what, algorithm=name, rate=rate)


def _raising(by_world: Runs, best: Best, name: str, ramp: Rates) -> Iterator[Row]:
    """Yield the cost of a match with a rising rate relative to a constant one."""
    for rate in RATES:
        raising, constant = World(rate=rate, rates=ramp).name, World(rate=rate).name
        pairs = []
        for world in (raising, constant):
            policy, runs = best(name, world), by_world[world]
            pairs.append(([m.costs[policy] for m in runs], [m.matches[policy] for m in runs]))
        setting = {"algorithm": name, "rate": rate, "ramp": ramp}
        yield _similar(ratio_of_ratios(*pairs), f"{RAISING} rate, cost of a match", **setting)
        policy, runs = best(name, raising), by_world[raising]
        early = [m.early[policy] for m in runs]
        late = [m.costs[policy] - m.early[policy] for m in runs]
        # Halves of an odd number of matches differ by one.
        sizes = [m.matches[policy] for m in runs]
        found = ratio_of_ratios(
            (early, [float(size // 2) for size in sizes]),
            (late, [float(size - size // 2) for size in sizes]),
        )
        what = f"{HALVES} of the matches, cost of a match"
        yield told(ID, what, found, is_above(found, 1.0), aim=1.0, **setting)


def _similar(found: Estimate, what: str, **setting: object) -> Row:
    """Return a row of a proportion that the paper calls similar, or more or less the same."""
    near = judged(1.0, truth=found.value, half_width=found.half_width, slack=SIMILAR)
    return Row(
        id=ID,
        params={**setting, "what": what},
        printed=1.0,
        simulated=found.value,
        half_width=found.half_width,
        verdict="holds if" if near == "holds" else near,
        runs=found.runs,
    )
