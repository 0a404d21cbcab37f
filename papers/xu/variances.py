"""Figure 5: the variance of the wait over the share of individual players; (11), section III-C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from evenmatch.lab.plots import Line, Plot
from evenmatch.theory.k_player import k_player
from evenmatch.theory.two_v_two_formulas import Order, mean_of_players, two_queues_minimum, variance
from evenmatch.theory.two_v_two_printed import PRINTED
from papers.shared.measure import Estimate
from papers.shared.row import Findings, Row
from papers.shared.words import table_of_rows
from papers.xu.central import chain_of
from papers.xu.tell import fractions, said, tell

SHARES = tuple(Fraction(number, 50) for number in range(4, 46))
"""Shares of individual players that are drawn: the curves grow without bound at the ends."""
FINE = tuple(Fraction(number, 200) for number in range(1, 200))
NAMES: dict[Order, str] = {"fifo": "FIFO", "lifo": "LIFO", "two_queues": "two queues"}
FEW = Fraction(1, 100)
FLAT = 1e-6

Measured = tuple[float, float, Order, Estimate]
"""Individual players and pairs per second, an order, and the variance."""


def at_share(order: Order, share: Fraction) -> Fraction:
    """Return the variance at one player per second, of whom a share comes alone."""
    return variance(share, (1 - share) / 2, order)


def printed_at_share(order: Order, share: float) -> float:
    """Return the printed variance at one player per second, of whom a share comes alone."""
    return PRINTED[order](share, (1.0 - share) / 2.0)


def figure5(measured: Sequence[Measured]) -> Findings:
    """Return figure 5 and what is said about it.

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
    """Return where a curve over (0, 1) with one valley is least, by golden section.

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
    # The place of a minimum is known to half the digits of its depth.
    assert abs(at - share) < FLAT
    return [
        tell("11", "share of solos at which two queues vary least", printed=said,
             corrected=share, exact=at, verdict="wrong in print"),
        tell("11", "the variance there", printed=least, corrected=mended, exact=of_chain(at)),
    ]  # fmt: skip


def _said() -> list[Row]:
    """Return what section III says about the curves."""
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
            Line(
                name,
                tuple(share for share, _, _ in shown),
                tuple(scale * found.value for _, scale, found in shown),
                tuple(scale * found.half_width for _, scale, found in shown),
            ),
            Line(f"{name}, formula", xs, tuple(float(at_share(order, x)) for x in SHARES),
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
        Line(f"{name}, printed", xs, tuple(printed_at_share(order, x) for x in xs), is_theory=True)
        for order, name in NAMES.items()
    ]
    lines += [
        Line(f"{name}, formula", xs, tuple(float(at_share(order, x)) for x in SHARES),
             is_theory=True)
        for order, name in NAMES.items()
    ]  # fmt: skip
    text = (
        "The paper's own curves, dashed, and the mended ones, dotted. The paper's least variance "
        "of two queues is at .489; it is at 5 - 2 √5 = .528, and twice as large."
    )
    return Plot("figure5-printed", "Figure 5 as printed", text, "share of solos", "variance, s²",
                tuple(lines))  # fmt: skip
