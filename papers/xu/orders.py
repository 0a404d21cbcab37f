"""The remark of section III-C: larger teams, for which the order of service matters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import msgspec

from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.theory.stability import team_stability
from papers.shared.estimates import Estimate, mean_of_ratios
from papers.shared.findings import Effort, Findings, Part, Row
from papers.shared.words import table_of_rows
from papers.xu.counts_chain import CountsChain, counts_chain, team_rule
from papers.xu.rows import agreement, tell
from papers.xu.trial import ALL, Trial, TrialFigures, observe
from papers.xu.worlds import parties_toml

RATES: dict[str, tuple[float, ...]] = {
    "k3-1": (0.5, 0.15, 1 / 15),
    "k3-2": (0.4, 0.25, 1 / 30),
    "k3-3": (0.3, 0.25, 1 / 15),
    "k5-1": (0.4, 0.1, 0.05, 0.025, 0.03),
    "k5-2": (0.2, 0.12, 0.08, 0.03, 0.04),
    "k5-3": (0.15, 0.1, 0.1, 0.05, 0.03),
}
"""Parties per second of 1, 2, ... players, one player per second in all; k of them is a team."""
ASAP = ("oldest", "largest", "smallest", "packing", "max_weight", "head_of_line")
TRIED: dict[str, tuple[str, ...]] = {
    "k3-1": (*ASAP, "lifo", "mirrored"),
    "k3-2": ("oldest", "largest", "smallest", "packing", "reserve-5"),
    "k3-3": ("largest", "reserve-9"),
    "k5-1": (*ASAP, "mirrored"),
    "k5-2": ASAP,
    "k5-3": ASAP,
}
LENGTH = 1_000_000
LIMITS = {"k3-1": 60, "k3-2": 80, "k3-3": 160}
"""Waiting parties of a size at which the exact chain turns some away: hardly ever."""
THETAS = tuple(range(3, 16))
NEAR = "k3-3"
"""Rates near the boundary of stability, where it matters who is held back."""
SIZES = ("all", "1", "2", "3")
NAMES = {"all": "all", "1": "solos", "2": "pairs", "3": "trios"}


class Point(msgspec.Struct, frozen=True):
    """An order of service for larger teams.

    Args:
        rates: One of `RATES`.
        order: One of `ASAP`, `mirrored`, or `reserve` with its theta.
    """

    rates: str
    order: str

    @property
    def k(self) -> int:
        """Return the players of a team."""
        return len(RATES[self.rates])

    @property
    def scenario(self) -> str:
        """Return the name of its file."""
        return f"xu-orders-{self.rates}-{self.order.replace('_', '-')}.toml"

    @property
    def policy(self) -> str:
        """Return the SPEC."""
        order, _, theta = self.order.partition("-")
        if theta:
            return f"first_come:order={order},theta={theta}"
        shape = ",shape=mirrored" if order == "mirrored" else ""
        return f"first_come:order={'oldest' if shape else order}{shape}"

    def text(self, seed: int) -> str:
        """Return the scenario; all orders meet the same parties."""
        rates = RATES[self.rates]
        own = seed + list(RATES).index(self.rates)
        return parties_toml(self.k, rates, policy=self.policy, count=LENGTH, seed=own)

    def exact(self) -> CountsChain | None:
        """Return the exact waits, if the order depends on counts and teams are of three."""
        order, _, theta = self.order.partition("-")
        if self.k != 3 or order not in ("largest", "smallest", "reserve"):
            return None
        return exact_waits(self.rates, order, int(theta or 0))


@cache
def exact_waits(rates: str, order: str, theta: int) -> CountsChain:
    """Return the exact waits of teams of three.

    Args:
        rates: One of `RATES`.
        order: `largest`, `smallest` or `reserve`.
        theta: Solos that must wait before a team of them is made; 0 for the other orders.
    """
    rule = team_rule(3, "smallest" if order == "smallest" else "largest", reserve=theta)
    by_size = dict(enumerate(RATES[rates], start=1))
    return counts_chain(by_size, rule, limit=LIMITS[rates])


def points() -> list[Point]:
    """Return the orders that are tried, by their rates."""
    return [Point(rates, order) for rates, tried in TRIED.items() for order in tried]


def texts(seed: int) -> dict[str, str]:
    """Return the scenarios by their names."""
    return {each.scenario: each.text(seed) for each in points()}


def orders(effort: Effort) -> Part:
    """Return the part of larger teams."""
    own = points()
    count = 40_000 if effort.quick else LENGTH
    tasks = [Trial(name=each.scenario, text=each.text(effort.seed), count=count) for each in own]
    ids = tuple(f"xu.{name}" for name in ("orders", "optimal", "reserve"))
    return Part(ids, observe, tasks, partial(_finish, effort, own))


def _finish(effort: Effort, own: Sequence[Point], results: Sequence[TrialFigures]) -> Findings:
    seen = dict(zip(own, results, strict=True))
    rows = [row for point, found in seen.items() for row in _rows(point, found)]
    rows += [*_stability(), *_optimal(seen), *_reserve(seen)]
    text = (
        "Teams of three and of five; parties of one player, two, and so on per second; one player "
        "per second in all. All orders of the same rates meet the same parties. No rule has a mean "
        f"wait below (2k - 1) / 2. {agreement(rows, effort)}"
    )
    table = table_of_rows("Larger teams: orders of service", text, rows)
    return Findings(tuple(rows), (table,), (_plot(seen),), texts(effort.seed))


def _shown(rates: str) -> str:
    return "+".join(f"{rate:.4g}" for rate in RATES[rates])


def _setting(point: Point) -> dict[str, Any]:
    return {
        "k": point.k,
        "rates": _shown(point.rates),
        "order": point.order,
        "scenario": point.scenario,
    }


def _rows(point: Point, found: TrialFigures) -> list[Row]:
    exact = point.exact()
    setting = _setting(point)
    rows = [
        tell("orders", "mean wait", **setting,
             exact=None if exact is None else exact.mean, found=found.mean()),
        tell("orders", "variance of the wait", **setting, found=found.var()),
    ]  # fmt: skip
    for size in range(1, point.k + 1):
        rows.append(
            tell("orders", f"mean wait, parties of {size}", **setting,
                 exact=None if exact is None else exact.means[size], found=found.mean(str(size)))
        )  # fmt: skip
    return rows


def percent_above(one: TrialFigures, other: TrialFigures) -> Estimate:
    """Return by how many percent the mean wait of one is above another's, on the same parties."""
    ratio = mean_of_ratios([(one.sums[ALL][1], other.sums[ALL][1])])
    return Estimate(100.0 * (ratio.value - 1.0), 100.0 * ratio.half_width)


def _stability() -> list[Row]:
    """Return how far the rates are from those at which some size of party would wait for ever."""
    rows = []
    for name, rates in RATES.items():
        margin = team_stability(k=len(rates), rates=rates).margins[0]
        rows.append(
            tell("orders", f"least margin of stability, of {margin.text.partition(' by ')[0]}",
                 k=len(rates), rates=_shown(name), exact=margin.margin)
        )  # fmt: skip
    return rows


def _optimal(seen: dict[Point, TrialFigures]) -> list[Row]:
    """Return the distance of packing from the best that is known, and from the bound."""
    rows = [
        tell("optimal", "least mean wait of any rule, two against two", k=2, printed=1.5,
             exact=1.5),
    ]  # fmt: skip
    for rates in RATES:
        packed = seen.get(Point(rates, "packing"))
        if packed is None:
            continue
        setting = _setting(Point(rates, "packing"))
        best = Point(rates, "largest")
        rows += [
            tell("optimal", "'packing is a good choice': percent above the largest first",
                 **setting, found=percent_above(packed, seen[best]),
                 verdict="holds if"),
            tell("optimal", "least mean wait of any rule, (2k - 1) / 2", k=best.k,
                 rates=setting["rates"], exact=(2 * best.k - 1) / 2),
        ]  # fmt: skip
    return rows


def _reserve(seen: dict[Point, TrialFigures]) -> list[Row]:
    """Return the gain of holding solos back for pairs, which is no longer "as soon as"."""
    rows = []
    for rates, theta in (("k3-2", 5), ("k3-3", 9)):
        kept, soon = exact_waits(rates, "reserve", theta), exact_waits(rates, "largest", 0)
        point = Point(rates, f"reserve-{theta}")
        found = percent_above(seen[Point(rates, "largest")], seen[point])
        rows += [
            tell("reserve", "starting as soon as they can: percent more wait", **_setting(point),
                 exact=100.0 * (soon.mean / kept.mean - 1.0), found=found,
                 verdict="holds if"),
            tell("reserve", "times as long as before that solos wait", **_setting(point),
                 exact=(kept.means[1] or 0.0) / (soon.means[1] or 1.0)),
        ]  # fmt: skip
    return rows


def _plot(seen: dict[Point, TrialFigures]) -> Plot:
    xs = tuple(map(float, THETAS))
    curves = [exact_waits(NEAR, "reserve", theta) for theta in THETAS]
    found = seen[Point(NEAR, "reserve-9")]
    lines = []
    for name in SIZES:
        ys = [each.mean if name == "all" else each.means[int(name)] or 0.0 for each in curves]
        mark = found.mean(name)
        lines += [
            PlotLine(NAMES[name], (9.0,), (mark.value,), (mark.half_width,)),
            PlotLine(f"{NAMES[name]}, formula", xs, tuple(ys), is_theory=True),
        ]
    text = (
        "Three against three near the border of stability, .3 solos, .25 pairs and .067 trios per "
        "second: a team of solos is made only while theta of them wait. Lines are exact, marks "
        "are simulated. Pairs and the mean gain; solos pay."
    )
    return Plot("reserve", "Keeping solos back for pairs", text, "theta", "mean wait, s",
                tuple(lines))  # fmt: skip
