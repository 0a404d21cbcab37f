"""The appendix on sides, (26) to (34), Fact 3 with (12), and the slope (18)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from evenmatch.theory.chain import stationary
from evenmatch.theory.graph import compatibility_graph
from evenmatch.theory.sides import improvement_slope, sides
from papers.shared.findings import Findings, Row
from papers.shared.words import table_of_rows
from papers.xu.printed import series_of_a
from papers.xu.rows import fractions, tell

State = int | str
EDGES = (("a", "b"), ("a", "flexible"), ("b", "flexible"), ("flexible", "flexible"))
LONGEST = 150
"""Most waiting players of a side for which the chain is solved; more hardly ever wait."""
HALF = Fraction(1, 2)
WANTED = ((0.5, 0.3), (0.4, 0.25), (0.2, 0.6))
"""Players per second for the sides, for which the needed choice-free players are computed."""
SLOPES = (0.1, 0.3, 0.45)
STEP = Fraction(1, 10**7)


def law_of_chain(*, a: float, b: float, flexible: float) -> dict[State, float]:
    """Return the stationary law of figure 8, solved without any formula.

    Args:
        a: Players per second who insist on side A.
        b: Players per second who insist on side B.
        flexible: Players per second who take either.
    """
    chain: dict[State, dict[State, float]] = {
        0: {1: a, -1: b, "flexible": flexible},
        "flexible": {0: a + b + flexible},
    }
    for waiting in range(1, LONGEST + 1):
        chain[waiting] = {waiting - 1: b + flexible}
        chain[-waiting] = {1 - waiting: a + flexible}
        if waiting < LONGEST:
            chain[waiting][waiting + 1] = a
            chain[-waiting][-waiting - 1] = b
    return stationary(chain)


def side_proofs(rates: Mapping[str, Any]) -> Findings:
    """Return the rows of the proofs.

    Args:
        rates: Players per second: a, b, flexible.
    """
    rows = [*_transforms(rates), *_threshold(), *_slope()]
    text = (
        "The z-transforms at z = 1/2, their sums against the chain that is solved without them; "
        "the least rate of choice-free players, found by trying; the slope of the improvement "
        "factor, by difference."
    )
    title = "Sides: the proofs, Fact 3 (12), and (18)"
    return Findings(tuple(rows), (table_of_rows(title, text, rows),))


def _transforms(rates: Mapping[str, Any]) -> list[Row]:
    a, b, c = fractions(rates["a"], rates["b"], rates["flexible"])
    total = a + b + c
    law = law_of_chain(**rates)
    waiting = range(1, LONGEST + 1)
    p0 = Fraction(sides(**rates).exact["p0"])
    of_a, of_b = series_of_a(HALF, a, b, c, p0), series_of_a(HALF, b, a, c, p0)
    exact_a = sum(law[i] * 0.5**i for i in waiting)
    exact_b = sum(law[-i] * 0.5**i for i in waiting)
    # At z = 1, the transform and its slope: how often somebody waits, and how many.
    often = [sum(law[sign * i] for i in waiting) for sign in (1, -1)]
    many = [sum(law[sign * i] * i for i in waiting) for sign in (1, -1)]
    waits = _means(rates)
    by_a = (many[0] + often[0] + law[0]) / float(b + c)
    by_b = (many[1] + often[1] + law[0]) / float(a + c)
    by_free = law[0] / float(total)
    all_of = (a * Fraction(by_a) + b * Fraction(by_b) + c * Fraction(by_free)) / total
    return [
        tell("26", "transform of A's states at 1/2", **rates, printed=of_a, exact=exact_a),
        tell("27", "transform of B's states at 1/2", **rates, printed=of_b, exact=exact_b),
        tell("28", "left side at 1/2, less the right", **rates, printed=0.0,
             exact=a * HALF * of_a + a * p0 * HALF - (b + c) * of_a),
        tell("29", "left side at 1/2, less the right", **rates, printed=0.0,
             exact=b * HALF * of_b + b * p0 * HALF - (a + c) * of_b),
        tell("30", "transform of the law at 1/2", **rates,
             printed=of_a + of_b + p0 * c / total * HALF + p0,
             exact=exact_a + exact_b + law["flexible"] / 2.0 + law[0]),
        tell("31", "mean wait of side A", **rates, printed=by_a, exact=waits["a"]),
        tell("32", "mean wait of side B", **rates, printed=by_b, exact=waits["b"]),
        tell("33", "mean wait of the choice-free", **rates, printed=by_free,
             exact=waits["flexible"]),
        tell("34", "mean wait", **rates, printed=all_of, exact=waits["all"]),
    ]  # fmt: skip


def _means(rates: Mapping[str, Any]) -> dict[str, float]:
    """Return the exact mean waits by class, and of all, by the compatibility graph."""
    found = compatibility_graph(rates=rates, edges=EDGES)
    assert found.means is not None
    assert found.mean is not None
    return {name: mean or 0.0 for name, mean in found.means.items()} | {"all": found.mean}


def _threshold() -> list[Row]:
    rows = []
    for a, b in WANTED:
        least = _least_flexible(a, b)
        rows.append(
            tell("12", "least rate of choice-free players, which must be exceeded", a=a, b=b,
                 printed=abs(a - b), exact=least)
        )  # fmt: skip
        for word, flexible in (("below", 0.9), ("at", 1.0), ("above", 1.1)):
            own: dict[str, Any] = {"a": a, "b": b, "flexible": round(flexible * abs(a - b), 6)}
            found = compatibility_graph(rates=own, edges=EDGES)
            rows.append(
                tell("fact3", f"{word} it: 1 if positive recurrent, {found.kind or 'recurrent'}",
                     **own, printed=float(word == "above"), exact=float(found.stable))
            )  # fmt: skip
    return rows


def _least_flexible(a: float, b: float) -> float:
    """Return the rate at which duels with sides become stable, by bisection."""
    low, high = 0.0, a + b
    while high - low > 1e-12:
        middle = (low + high) / 2.0
        rates: dict[str, Any] = {"a": a, "b": b, "flexible": middle}
        if compatibility_graph(rates=rates, edges=EDGES, exact=False).stable:
            high = middle
        else:
            low = middle
    return (low + high) / 2.0


def _slope() -> list[Row]:
    rows = []
    for share in SLOPES:
        (b,) = fractions(share)
        steep = (_factor(b + STEP) - _factor(b - STEP)) / (2 * STEP)
        # A difference over 2e-7 of players is off by the third derivative times 1e-14 / 6.
        rows.append(
            tell("18", "slope of the improvement factor, one player per second", b=share,
                 printed=improvement_slope(share), exact=steep)
        )  # fmt: skip
    return rows


def _factor(b: Fraction) -> Fraction:
    """Return the improvement factor of side B at one player per second, by the graph.

    It does not depend on how many of the others are choice-free.
    """
    flexible = (1 - b) * Fraction(3, 4)
    rates: dict[str, Any] = {"a": 1 - b - flexible, "b": b, "flexible": flexible}
    found = compatibility_graph(rates=rates, edges=EDGES, exact=True)
    means = found.exact["means"]
    return Fraction(means["flexible"]) / Fraction(means["b"])
