"""Rows of two against two: formulas (3) to (10), Lemma 2, figures 3 and 4."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, cast

from evenmatch.theory.chain import stationary
from evenmatch.theory.tagged_chain import TaggedChain, tagged_chain
from evenmatch.theory.two_v_two import rule_of
from evenmatch.theory.two_v_two_formulas import (
    Order,
    mean_of_players,
    mean_party,
    mean_solo,
    variance,
)
from evenmatch.theory.two_v_two_printed import PRINTED
from papers.shared.measure import Estimate
from papers.shared.row import Row
from papers.xu.points import Point
from papers.xu.printed import wait_per_party
from papers.xu.tell import fractions, tell
from papers.xu.trial import Observed

STATES = {"0": "0,0", "1": "1,0", "2a": "2,0", "2b": "0,1", "3a": "3,0", "3b": "1,1"}
"""States of figure 4: how many individual players and pairs wait."""
POOLS = {"0": ("0",), "1": ("1",), "2": ("2a", "2b"), "3": ("3a", "3b")}
"""States of figure 3, which counts players: those of figure 4 that they join."""
NUMBERS = {"fifo": "9", "packing": "9", "lifo": "10", "two_queues": "7"}
"""Of the formulas of the variance."""
NEARLY_NONE = 0.001
"""Individual players per second beside one pair, where hardly any come alone."""


def rows_of(point: Point, found: Observed) -> list[Row]:
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
    """Return the exact waits, of which no formula knows.

    Args:
        solo: Individual players per second.
        party: Pairs per second.
        order: Of service.
    """
    rates = dict(zip(("solo", "party"), fractions(solo, party), strict=True))
    found = tagged_chain({"solo": 1, "party": 2}, rates, rule_of(order), exact=True)
    return cast(TaggedChain[Fraction], found)


def _of_variance(point: Point, found: Observed, exact: TaggedChain[Fraction]) -> Row:
    solo, party = fractions(point.solo, point.party)
    return tell(
        NUMBERS[point.order], "variance of the wait", **point.params, scenario=point.scenario,
        printed=PRINTED[point.order](point.solo, point.party),
        corrected=variance(solo, party, point.order), exact=exact.players.var, found=found.var(),
    )  # fmt: skip


def _of_lemma2(point: Point, found: Observed, exact: TaggedChain[Fraction]) -> list[Row]:
    solo, party = fractions(point.solo, point.party)
    setting: dict[str, Any] = {**point.params, "scenario": point.scenario}
    lemma = mean_of_players(solo, party, "fifo")
    return [
        tell("3", "mean wait", **setting, printed=lemma, exact=exact.players.mean,
             found=found.mean()),
        # The lemma says "waiting time"; of whom, only its proof by Little's law for players says.
        tell("lemma2", "mean wait of a party, each counted once", **setting, printed=lemma,
             corrected=wait_per_party(solo, party), exact=exact.parties.mean,
             found=found.per_party({"1": 1, "2": 2}), verdict="holds if"),
    ]  # fmt: skip


def _of_pools(point: Point, found: Observed) -> list[Row]:
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


def _of_two_queues(point: Point, found: Observed, exact: TaggedChain[Fraction]) -> list[Row]:
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
    """Return what becomes of Lemma 2 without individual players, and with hardly any."""
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


def differences(seen: Sequence[tuple[Point, Observed]]) -> list[Row]:
    """Return by how much the orders differ on the same arrivals: nothing, says Lemma 2."""
    by_order: dict[str, dict[str, Observed]] = {}
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
