"""Sections II-C and III: two against two, in one queue and in two; (3) to (11), figures 3 to 5."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, cast

from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.theory.chain import stationary
from evenmatch.theory.k_player import k_player
from evenmatch.theory.tagged_chain import TaggedChain, tagged_chain
from evenmatch.theory.two_v_two import (
    PRINTED,
    Order,
    mean_of_players,
    mean_party,
    mean_solo,
    rule_of,
    two_queues_minimum,
    variance,
)
from papers.shared.estimates import Estimate
from papers.shared.findings import Effort, Findings, Part, Row
from papers.shared.words import table_of_rows
from papers.xu.points import LENGTH, Point, points, texts
from papers.xu.printed import wait_per_party
from papers.xu.rows import agreement, fractions, said, tell
from papers.xu.trial import Trial, TrialFigures, observe

STATES = {"0": "0,0", "1": "1,0", "2a": "2,0", "2b": "0,1", "3a": "3,0", "3b": "1,1"}
"""States of figure 4: how many individual players and pairs wait."""


POOLS = {"0": ("0",), "1": ("1",), "2": ("2a", "2b"), "3": ("3a", "3b")}
"""States of figure 3, which counts players, by the states of figure 4 that they join."""


NUMBERS = {"fifo": "9", "packing": "9", "lifo": "10", "two_queues": "7"}
"""Numbers of the formulas for the variance."""


NEARLY_NONE = 0.001
"""Individual players per second beside one pair, as an example of hardly any."""


def rows_of(point: Point, found: TrialFigures) -> list[Row]:
    """Return the rows of one setting."""
    exact = chain_of(point.solo, point.party, point.order)
    if point.order == "two_queues":
        return [*_of_two_queues(point, found, exact), _of_variance(point, found, exact)]
    setting: dict[str, Any] = {**point.params, "scenario": point.scenario}
    solo, party = fractions(point.solo, point.party)
    rows = [
        tell("8", "mean wait", **setting, printed=mean_of_players(solo, party, point.order),
             exact=exact.players.mean, found=found.mean()),
        tell("8", "mean wait of solos, not printed", **setting,
             exact=exact.classes["solo"].mean, found=found.mean("1")),
        tell("8", "mean wait of pairs, not printed", **setting,
             exact=exact.classes["party"].mean, found=found.mean("2")),
        _of_variance(point, found, exact),
    ]  # fmt: skip
    if point.order != "fifo":
        return rows
    return [*rows, *_of_lemma2(point, found, exact), *_of_pools(point, found)]


def chain_of(solo: float, party: float, order: Order) -> TaggedChain[Fraction]:
    """Return the exact waits, including those without a formula.

    Args:
        solo: Individual players per second.
        party: Pairs per second.
        order: Of service.
    """
    rates = dict(zip(("solo", "party"), fractions(solo, party), strict=True))
    found = tagged_chain({"solo": 1, "party": 2}, rates, rule_of(order), exact=True)
    return cast("TaggedChain[Fraction]", found)


def _of_variance(point: Point, found: TrialFigures, exact: TaggedChain[Fraction]) -> Row:
    solo, party = fractions(point.solo, point.party)
    return tell(
        NUMBERS[point.order], "variance of the wait", **point.params, scenario=point.scenario,
        printed=PRINTED[point.order](point.solo, point.party),
        corrected=variance(solo, party, point.order), exact=exact.players.var, found=found.var(),
    )  # fmt: skip


def _of_lemma2(point: Point, found: TrialFigures, exact: TaggedChain[Fraction]) -> list[Row]:
    solo, party = fractions(point.solo, point.party)
    setting: dict[str, Any] = {**point.params, "scenario": point.scenario}
    lemma = mean_of_players(solo, party, "fifo")
    return [
        tell("3", "mean wait", **setting, printed=lemma, exact=exact.players.mean,
             found=found.mean()),
        # The lemma says "waiting time"; only its proof by Little's law shows that it is per player.
        tell("lemma2", "mean wait of a party, each counted once", **setting, printed=lemma,
             corrected=wait_per_party(solo, party), exact=exact.parties.mean,
             found=found.per_party({"1": 1, "2": 2}), verdict="holds if"),
    ]  # fmt: skip


def _of_pools(point: Point, found: TrialFigures) -> list[Row]:
    """Return the stationary laws of figures 3 and 4."""
    solo, party = fractions(point.solo, point.party)
    law = stationary(chain_of_figure4(solo, party))
    setting: dict[str, Any] = {**point.params, "scenario": point.scenario}
    rows = [
        tell("figure3", f"share of time with {name} players waiting", **setting,
             printed=Fraction(1, 4), exact=sum(law[state] for state in states),
             found=found.share(*(STATES[state] for state in states)))
        for name, states in POOLS.items()
    ]  # fmt: skip
    if point.name != "1":
        return rows
    rows += [
        tell("figure4", f"share of time in state {state}", **setting, printed=law[state],
             exact=law[state], found=found.share(code))
        for state, code in STATES.items()
    ]  # fmt: skip
    return rows


def chain_of_figure4(solo: Fraction, party: Fraction) -> dict[str, dict[str, Fraction]]:
    """Return the chain of figure 4: rates between its states."""
    return {
        "0": {"1": solo, "2b": party},
        "1": {"2a": solo, "3b": party},
        "2a": {"3a": solo, "0": party},
        "2b": {"3b": solo, "0": party},
        "3a": {"0": solo, "1": party},
        "3b": {"0": solo, "1": party},
    }


def _of_two_queues(point: Point, found: TrialFigures, exact: TaggedChain[Fraction]) -> list[Row]:
    solo, party = fractions(point.solo, point.party)
    setting: dict[str, Any] = {**point.params, "scenario": point.scenario}
    return [
        tell("4", "mean wait of solos", **setting, printed=mean_solo(solo, party, "two_queues"),
             exact=exact.classes["solo"].mean, found=found.mean("solo")),
        tell("5", "mean wait of pairs", **setting, printed=mean_party(solo, party, "two_queues"),
             exact=exact.classes["party"].mean, found=found.mean("party")),
        tell("6", "mean wait", **setting, printed=mean_of_players(solo, party, "two_queues"),
             exact=exact.players.mean, found=found.mean()),
    ]  # fmt: skip


def limits() -> list[Row]:
    """Return the limit of Lemma 2 without individual players, and with hardly any."""
    none, few = chain_of(0.0, 1.0, "fifo"), chain_of(NEARLY_NONE, 1.0, "fifo")
    solos = few.classes["solo"].mean
    (rate,) = fractions(NEARLY_NONE)
    total = rate + 2
    setting: dict[str, Any] = {"solo_rate": NEARLY_NONE, "party_rate": 1.0}
    return [
        tell("lemma2", "mean wait without solos, whom the lemma asks for", solo_rate=0.0,
             party_rate=1.0, printed=0.75, corrected=0.5, exact=none.players.mean,
             verdict="holds if"),
        tell("lemma2", "mean wait with hardly any solos", **setting,
             printed=Fraction(3, 2) / total, exact=few.players.mean),
        tell("lemma2", "share of all waiting that these few solos do", **setting,
             exact=rate * solos / (total * few.players.mean)),
        tell("lemma2", "mean wait of these few", **setting, exact=solos),
    ]  # fmt: skip


def differences(seen: Sequence[tuple[Point, TrialFigures]]) -> list[Row]:
    """Return by how much the orders differ on the same arrivals; Lemma 2 says they do not."""
    by_order: dict[str, dict[str, TrialFigures]] = {}
    for point, found in seen:
        by_order.setdefault(point.order, {})[point.name] = found
    rows = []
    for order in ("lifo", "packing"):
        gaps = [
            abs(found.mean().value - by_order["fifo"][name].mean().value)
            for name, found in by_order[order].items()
        ]
        rows.append(
            tell("lemma2", "largest difference of mean waits from FIFO on the same arrivals",
                 order=order, settings=len(gaps), printed=0.0, exact=0.0,
                 found=Estimate(max(gaps), 0.0))
        )  # fmt: skip
    gaps = [
        abs(found.var().value - by_order["fifo"][name].var().value)
        for name, found in by_order["packing"].items()
    ]
    rows.append(
        tell("text3", "packing is FIFO: largest difference of the variances, same arrivals",
             settings=len(gaps), printed=0.0, exact=0.0, found=Estimate(max(gaps), 0.0))
    )  # fmt: skip
    return rows


IDS = ("3", "4", "5", "6", "7", "8", "9", "10", "11", "lemma2", "figure3", "figure4", "figure5",
       "text3")  # fmt: skip


def _finish(effort: Effort, own: Sequence[Point], results: Sequence[TrialFigures]) -> Findings:
    seen = list(zip(own, results, strict=True))
    rows = [row for point, found in seen for row in rows_of(point, found)]
    rows += [*limits(), *differences(seen)]
    text = (
        "Individual players and pairs per second; figures are of a random player unless they say "
        f"otherwise, in seconds. {agreement(rows, effort)}"
    )
    tables = [table_of_rows("Two against two: (3) to (10), Lemma 2, figures 3 and 4", text, rows)]
    curves = figure5([(each.solo, each.party, each.order, found.var()) for each, found in seen])
    return Findings(
        (*rows, *curves.rows), (*tables, *curves.tables), curves.plots, texts(effort.seed)
    )


SHARES = tuple(Fraction(number, 50) for number in range(4, 46))
"""Shares of individual players that are drawn: the curves diverge at the ends."""
FINE = tuple(Fraction(number, 200) for number in range(1, 200))
NAMES: dict[Order, str] = {"fifo": "FIFO", "lifo": "LIFO", "two_queues": "two queues"}
FEW = Fraction(1, 100)
FLAT = 1e-6

Measured = tuple[float, float, Order, Estimate]
"""Individual players and pairs per second, an order, and the variance."""


def at_share(order: Order, share: Fraction) -> Fraction:
    """Return the variance at one player per second, for a share of individual players."""
    return variance(share, (1 - share) / 2, order)


def printed_at_share(order: Order, share: float) -> float:
    """Return the printed variance at one player per second, for a share of individual players."""
    return PRINTED[order](share, (1.0 - share) / 2.0)


def figure5(measured: Sequence[Measured]) -> Findings:
    """Return figure 5 and the statements about it.

    Args:
        measured: Simulated variances.
    """
    rows = [*_points(), *_least(), *_said()]
    text = (
        "One player per second; the share is that of players who come alone. The variance is that "
        "of a random player's wait, in seconds squared."
    )
    table = table_of_rows("Figure 5, (11) and section III", text, rows)
    return Findings(tuple(rows), (table,), (_plot(measured), _plot_of_print()))


def _points() -> list[Row]:
    """Return some points of the curves, the exact ones by the chain."""
    return [
        tell("figure5", "variance of the wait", order=order, share=float(share),
             printed=printed_at_share(order, float(share)), corrected=at_share(order, share),
             exact=chain_of(float(share), float((1 - share) / 2), order).players.var)
        for share in (Fraction(1, 5), Fraction(1, 2), Fraction(4, 5))
        for order in NAMES
    ]  # fmt: skip


def least_share(curve: Callable[[float], float]) -> float:
    """Return the minimum of a curve over (0, 1) with one valley, by golden section search.

    >>> round(least_share(lambda x: (x - 0.3) ** 2), 6)
    0.3
    """
    low, high, ratio = 0.0, 1.0, (5.0**0.5 - 1.0) / 2.0
    for _ in range(60):
        one, other = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, other) if curve(one) < curve(other) else (one, high)
    return (low + high) / 2.0


def _least() -> list[Row]:
    def of_chain(share: float) -> float:
        # Solos of a queue of their own are players of a four-player match, pairs of a duel.
        solos = k_player(k=4, rate=share)
        pairs = k_player(k=2, rate=(1.0 - share) / 2.0)
        mean = share * solos.mean + (1.0 - share) * pairs.mean
        second = share * (solos.var + solos.mean**2) + (1.0 - share) * (pairs.var + pairs.mean**2)
        return second - mean**2

    (said, least), (share, mended) = two_queues_minimum(printed=True), two_queues_minimum()
    at = least_share(of_chain)
    # The place of a minimum is known to half the digits of its value.
    assert abs(at - share) < FLAT
    return [
        tell("11", "share of solos at which two queues vary least", printed=said,
             corrected=share, exact=at, verdict="wrong in print"),
        tell("11", "the variance there", printed=least, corrected=mended, exact=of_chain(at)),
    ]  # fmt: skip


def _said() -> list[Row]:
    """Return the statements of section III about the curves."""
    curves = {order: [at_share(order, x) for x in FINE] for order in NAMES}
    fifo, lifo, two = curves["fifo"], curves["lifo"], curves["two_queues"]
    above = [100 * (b / a - 1) for a, b in zip(fifo, lifo, strict=True)]
    most = max(range(len(FINE)), key=above.__getitem__)
    solo, party = fractions(0.5, 0.25)
    one_queue = Fraction(mean_of_players(solo, party, "fifo"))
    longer = 100 * (Fraction(mean_of_players(solo, party, "two_queues")) / one_queue - 1)
    times = min(b / a for a, b in zip(fifo, two, strict=True))
    return [
        tell("text3", "two queues: percent more mean wait than one", printed=67.0, exact=longer,
             verdict=said(abs(longer - 67) <= Fraction(1, 2))),
        tell("text3", "shares out of 199 at which LIFO varies less than FIFO", printed=0.0,
             exact=sum(b < a for a, b in zip(fifo, lifo, strict=True))),
        tell("text3", "shares out of 199 at which two queues vary less than LIFO", printed=0.0,
             exact=sum(b < a for a, b in zip(lifo, two, strict=True))),
        tell("text3", "two queues: least variance, times that of FIFO",
             exact=times, verdict=said(times > 1.0)),
        tell("text3", "'do not differ much': LIFO's variance above FIFO's, percent, at the most",
             share=float(FINE[most]), exact=above[most], verdict="holds if"),
        tell("text3", "FIFO's variance with hardly any solos, one player per second",
             share=float(FEW), exact=at_share("fifo", FEW)),
    ]  # fmt: skip


def _plot(measured: Sequence[Measured]) -> Plot:
    xs = tuple(map(float, SHARES))
    lines = []
    for order, name in NAMES.items():
        points = sorted(
            (solo / (solo + 2 * party), (solo + 2 * party) ** 2, found)
            for solo, party, own, found in measured
            if own == order
        )
        shown = [each for each in points if xs[0] <= each[0] <= xs[-1]]
        lines += [
            PlotLine(
                name,
                tuple(share for share, _, _ in shown),
                tuple(scale * found.value for _, scale, found in shown),
                tuple(scale * found.half_width for _, scale, found in shown),
            ),
            PlotLine(f"{name}, formula", xs, tuple(float(at_share(order, x)) for x in SHARES),
                 is_theory=True),
        ]  # fmt: skip
    text = (
        "Mended (7), (9) and (10) beside what was simulated, at one player per second. Packing "
        "is FIFO. All grow without bound where hardly anybody comes alone: a solo is stuck then."
    )
    return Plot("figure5", "Figure 5: variance of the wait", text, "share of solos",
                "variance, s²", tuple(lines))  # fmt: skip


def _plot_of_print() -> Plot:
    xs = tuple(map(float, SHARES))
    lines = [
        PlotLine(
            f"{name}, printed", xs, tuple(printed_at_share(order, x) for x in xs), is_theory=True
        )
        for order, name in NAMES.items()
    ]
    lines += [
        PlotLine(f"{name}, formula", xs, tuple(float(at_share(order, x)) for x in SHARES),
             is_theory=True)
        for order, name in NAMES.items()
    ]  # fmt: skip
    text = (
        "The paper's own curves, dashed, and the mended ones, dotted. The paper's least variance "
        "of two queues is at .489; it is at 5 - 2 √5 = .528, and twice as large."
    )
    return Plot("figure5-printed", "Figure 5 as printed", text, "share of solos", "variance, s²",
                tuple(lines))  # fmt: skip


def two_against_two(effort: Effort) -> Part:
    """Return the part of two against two."""
    own = points(effort.seed)
    tasks = [
        Trial(
            name=each.scenario,
            text=each.text(effort.seed),
            count=60_000 if effort.quick else LENGTH,
            by="queues" if each.order == "two_queues" else "size",
            wants_states=each.order == "fifo",
        )
        for each in own
    ]
    ids = tuple(f"xu.{name}" for name in IDS)
    return Part(ids, observe, tasks, partial(_finish, effort, own))
