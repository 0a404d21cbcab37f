"""Beyond the paper: two against two with sides and with zones, compared with duels of packages.

The paper lets a duel of packages represent two against two. Here pairs and individual players play
the game itself; a package of the duel is a pair, or two individual players with the same wish.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import msgspec

from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.theory.sides import sides
from evenmatch.theory.zones import zones
from papers.shared.estimates import Estimate
from papers.shared.findings import Effort, Findings, Part, Row, Verdict
from papers.shared.words import table_of_rows
from papers.xu.rows import tell
from papers.xu.trial import Trial, TrialFigures, observe
from papers.xu.worlds import sides_2v2_toml, zones_2v2_toml

Kind = Literal["sides", "zones"]
RATES: dict[Kind, tuple[tuple[float, float, float], ...]] = {
    "sides": ((0.3, 0.3, 0.4), (0.1, 0.4, 0.5)),
    "zones": ((0.3, 0.3, 0.4), (0.5, 0.3, 0.2)),
}
"""Packages per second of the two kinds and choice-free: one package, two players per second."""
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
"""Shares of the players who come alone."""
LENGTH = 200_000
CLASSES: dict[Kind, tuple[tuple[str, str], ...]] = {
    "sides": (("A", "mean_a"), ("B", "mean_b"), ("", "mean_flexible")),
    "zones": (
        ("junior", "mean_junior"),
        ("expert", "mean_expert"),
        ("expert+junior", "mean_flexible"),
    ),
}
"""The name of a class in a trial, and the approximation of its mean wait."""
WORDS = {"A": "side A", "B": "side B", "": "the choice-free", "junior": "juniors",
         "expert": "experts", "expert+junior": "the choice-free"}  # fmt: skip


class Point(msgspec.Struct, frozen=True):
    """Two against two with sides or zones.

    Args:
        kind: Which.
        number: Index of its rates in `RATES`, from 0.
        solo_share: Share of the players who come alone.
    """

    kind: Kind
    number: int
    solo_share: float

    @property
    def rates(self) -> tuple[float, float, float]:
        """Return the packages per second."""
        return RATES[self.kind][self.number]

    @property
    def scenario(self) -> str:
        """Return the name of its file."""
        return f"xu-2v2-{self.kind}-{self.number + 1}-solo-{100 * self.solo_share:g}.toml"

    def text(self, seed: int) -> str:
        """Return the scenario."""
        make = sides_2v2_toml if self.kind == "sides" else zones_2v2_toml
        own = seed + round(100 * self.solo_share)
        return make(*self.rates, self.solo_share, policy="first_come", count=LENGTH, seed=own)

    def approximation(self) -> dict[str, float]:
        """Return the mean waits of the duel of packages: those of all, and by class."""
        one, other, flexible = self.rates
        duel = (
            sides(a=one, b=other, flexible=flexible)
            if self.kind == "sides"
            else zones(junior=one, expert=other, flexible=flexible)
        )
        by_class = {name: getattr(duel, key) for name, key in CLASSES[self.kind]}
        return {"all": duel.mean or 0.0, **by_class}


def points() -> list[Point]:
    """Return the settings."""
    return [
        Point(kind, number, share)
        for kind, rates in RATES.items()
        for number in range(len(rates))
        for share in SHARES
    ]


def texts(seed: int) -> dict[str, str]:
    """Return the scenarios by their names."""
    return {each.scenario: each.text(seed) for each in points()}


def true_2v2(effort: Effort) -> Part:
    """Return the part of two against two with sides and zones."""
    own = points()
    tasks = [
        Trial(
            name=each.scenario,
            text=each.text(effort.seed),
            count=_count(each.kind, effort),
            by="side" if each.kind == "sides" else "queues",
        )
        for each in own
    ]
    ids = ("xu.sides2v2", "xu.zones2v2")
    return Part(ids, observe, tasks, partial(_finish, effort, own))


def _count(kind: Kind, effort: Effort) -> int:
    if not effort.quick:
        return LENGTH
    # Two zones are two queues, which the engine simulates ticket by ticket.
    return 30_000 if kind == "sides" else 5_000


def _finish(effort: Effort, own: Sequence[Point], results: Sequence[TrialFigures]) -> Findings:
    seen = dict(zip(own, results, strict=True))
    rows = [row for point, found in seen.items() for row in _rows(point, found)]
    text = (
        "Packages per second for the one, the other and either; as printed stands the paper's duel "
        "of packages, exact where all come in pairs. It is not nearly so where few come alone, as "
        "the paper hopes: the odd one out waits long, as in one queue without sides, and the first "
        "tenth of the players adds some 30 to 50 % to the mean wait. With zones that stays; with "
        "sides it falls, since choice-free ones who come alone fill up either side one by one, and "
        "where nearly all do the duel promises too much wait."
    )
    table = table_of_rows("Two against two with sides and zones, beyond the duel", text, rows)
    plots = tuple(_plot(kind, seen) for kind in RATES)
    return Findings(tuple(rows), (table,), plots, texts(effort.seed))


def _rows(point: Point, found: TrialFigures) -> list[Row]:
    duel = point.approximation()
    row_id = f"{point.kind}2v2"
    setting: dict[str, Any] = {
        "rates": "+".join(f"{rate:g}" for rate in point.rates),
        "solo_share": point.solo_share,
        "scenario": point.scenario,
    }
    exact = dict(duel) if point.solo_share == 0.0 else {}
    verdict: Verdict = "holds" if point.solo_share == 0.0 else "holds if"
    mean = found.mean()
    rows = [
        tell(row_id, "mean wait", **setting, printed=duel["all"], exact=exact.get("all"),
             found=mean, verdict=verdict),
        tell(row_id, "error of the duel, percent", **setting, found=error_of(duel["all"], mean)),
    ]  # fmt: skip
    for name, _ in CLASSES[point.kind]:
        rows.append(
            tell(row_id, f"mean wait of {WORDS[name]}", **setting, printed=duel[name],
                 exact=exact.get(name), found=found.mean(name), verdict=verdict)
        )  # fmt: skip
    return rows


def error_of(approximation: float, found: Estimate) -> Estimate:
    """Return by how many percent an approximation is below the simulated figure."""
    share = approximation / found.value
    return Estimate(100.0 * (share - 1.0), 100.0 * share * found.half_width / found.value)


def _plot(kind: Kind, seen: dict[Point, TrialFigures]) -> Plot:
    lines = []
    for number, rates in enumerate(RATES[kind]):
        own = sorted(
            (point.solo_share, found.mean())
            for point, found in seen.items()
            if (point.kind, point.number) == (kind, number)
        )
        xs = tuple(share for share, _ in own)
        name = " + ".join(f"{rate:g}" for rate in rates)
        duel = Point(kind, number, 0.0).approximation()["all"]
        lines += [
            PlotLine(name, xs, tuple(mean.value for _, mean in own),
                 tuple(mean.half_width for _, mean in own)),
            PlotLine(f"{name}, formula", (xs[0], xs[-1]), (duel, duel), is_theory=True),
        ]  # fmt: skip
    ends = "the sides" if kind == "sides" else "the zones"
    text = (
        "Marks are two against two, simulated; dotted is the paper's duel of packages, which knows "
        f"nothing of who comes alone. Packages per second for {ends} and choice-free."
    )
    title = f"Two against two with {kind}: what the duel leaves out"
    return Plot(f"{kind}2v2", title, text, "share of players who come alone", "mean wait, s",
                tuple(lines))  # fmt: skip
