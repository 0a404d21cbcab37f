"""Matches of two against two with players alone and parties of two, in four service orders.

Solos arrive at the rate lambda1 and parties at lambda2, players at lambda_tot = lambda1 +
2 lambda2. Under every order that starts as soon as four players can play, the number of waiting
players is the number of arrived ones modulo 4, so no order has a smaller mean; only one choice is
left, which two of three solos join a party. `fifo` takes those who came first, `lifo` the last;
`packing` makes a party of any two solos at once, which is the same as `fifo` here. `two_queues`
lets solos play solos and parties play parties.

All figures are those of a random *player*, who brings the party's wait as often as it has players.

Source:
    Xu, Yu, Wu, Rule Designs for Optimal Online Game Matchmaking, section III.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from evenmatch.errors import ConfigError
from evenmatch.theory.rates import exact_rates
from evenmatch.theory.tagged_chain import Pool, Rule, TaggedChain, tagged_chain
from evenmatch.theory.two_v_two_formulas import (
    ORDERS,
    PRINTED,
    Order,
    mean_of_players,
    mean_party,
    mean_solo,
    variance,
)
from evenmatch.theory.waiting_law import PhaseTypeLaw

SOLO_SHARE_NOTED = 0.1
"""Below this share of solos among the players a note says who waits."""


def rule_of(order: Order) -> Rule:
    """Return the order as a rule for `tagged_chain`, over the classes `solo` and `party`."""
    return {"fifo": _first, "lifo": _last, "packing": _packed, "two_queues": _apart}[order]


def _apart(pool: Pool) -> Sequence[int]:
    solos, parties = _places(pool)
    return parties if len(parties) == 2 else solos if len(solos) == 4 else ()


def _first(pool: Pool) -> Sequence[int]:
    solos, parties = _places(pool)
    if len(parties) == 1 and len(solos) >= 2:
        return *parties, *solos[:2]
    return _apart(pool)


def _last(pool: Pool) -> Sequence[int]:
    solos, parties = _places(pool)
    if len(parties) == 1 and len(solos) >= 2:
        return *parties, *solos[-2:]
    return _apart(pool)


def _packed(pool: Pool) -> Sequence[int]:
    """Let the two packages that were complete first play; two solos in a row are one."""
    solos, parties = _places(pool)
    pairs = [(each,) for each in parties]
    packages = [*pairs, *zip(solos[::2], solos[1::2], strict=False)]
    packages.sort(key=max)
    return [each for package in packages[:2] for each in package] if len(packages) >= 2 else ()


def _places(pool: Pool) -> tuple[list[int], list[int]]:
    return (
        [index for index, name in enumerate(pool) if name == "solo"],
        [index for index, name in enumerate(pool) if name == "party"],
    )


@dataclass(frozen=True)
class TwoVTwo:
    """The wait under one service order; see `two_v_two`. None is infinite or undefined.

    Attributes:
        mean, var: Of a random player, s and s^2.
        mean_solo, mean_party: Of the classes, s; of a rate of 0, of the first that would come.
        p50, p90, p95, p99: Quantiles of a random player's wait, s.
        p_no_wait: Probability that a random player's arrival starts the match.
        var_solo, var_party: Variances of the classes, s^2.
        mean_per_party: Mean wait of a random arrival, solo or party, s.
        var_printed: The paper's own variance; None unless asked for.
        note: What to know about these rates, or None.
        law, law_solo, law_party: The whole laws; None of a class of rate 0.
        exact: Figures as fractions.
        is_printed: Whether `var_printed` was asked for.
    """

    mean: float
    var: float
    mean_solo: float | None
    mean_party: float | None
    p50: float
    p90: float
    p95: float
    p99: float
    p_no_wait: float
    var_solo: float | None
    var_party: float | None
    mean_per_party: float
    var_printed: float | None
    note: str | None
    law: PhaseTypeLaw = field(repr=False, compare=False)
    law_solo: PhaseTypeLaw | None = field(repr=False, compare=False)
    law_party: PhaseTypeLaw | None = field(repr=False, compare=False)
    exact: dict[str, str] = field(default_factory=dict)
    is_printed: bool = False

    def figures(self) -> dict[str, Any]:
        """Return the figures under the keys of `evenmatch theory two_v_two`."""
        names = "mean var mean_solo mean_party p50 p90 p95 p99 p_no_wait var_solo var_party"
        shown = {name: getattr(self, name) for name in (*names.split(), "mean_per_party")}
        if self.is_printed:
            shown["var_printed"] = self.var_printed
        if self.note is not None:
            shown["note"] = self.note
        return {**shown, "exact": self.exact}


def two_v_two(
    *, solo_rate: float, party_rate: float, order: Order = "fifo", printed: bool = False
) -> TwoVTwo:
    """Return how long players wait for a match of two against two.

    Means and variance are closed formulas; quantiles and the variances of the classes come from
    the exact chain of `tagged_chain`.

    Args:
        solo_rate: Solos per second, >= 0.
        party_rate: Parties of two per second, >= 0; one of the rates > 0.
        order: `fifo`, `lifo`, `packing` (the same as `fifo`) or `two_queues`.
        printed: Add the paper's own variance, which is wrong, as `var_printed`.

    Raises:
        ConfigError: A rate or the order is out of range.

    Source:
        Xu, Yu, Wu, section III.

    >>> found = two_v_two(solo_rate=0.5, party_rate=0.25)
    >>> found.exact["mean"], found.exact["var"], round(found.p50, 7)
    ('3/2', '53/12', 0.6089477)
    """
    if order not in ORDERS:
        raise ConfigError(f"order must be one of {', '.join(ORDERS)}, got {order!r}")
    lambda1, lambda2 = exact_rates({"solo_rate": solo_rate, "party_rate": party_rate})
    chain = tagged_chain(
        {"solo": 1, "party": 2}, {"solo": lambda1, "party": lambda2}, rule_of(order), exact=True
    )
    is_mixed = lambda1 > 0 and lambda2 > 0
    exact = {
        "mean": mean_of_players(lambda1, lambda2, order),
        "var": variance(lambda1, lambda2, order) if is_mixed else chain.players.var,
        "mean_solo": mean_solo(lambda1, lambda2, order),
        "mean_party": mean_party(lambda1, lambda2, order),
        "mean_per_party": chain.parties.mean,
        "p_no_wait": chain.players.p_no_wait,
        "var_solo": chain.classes["solo"].var if lambda1 else None,
        "var_party": chain.classes["party"].var if lambda2 else None,
    }
    law = chain.law()
    return TwoVTwo(
        **{name: None if value is None else float(value) for name, value in exact.items()},  # type: ignore[arg-type]
        p50=law.quantile(0.5),
        p90=law.quantile(0.9),
        p95=law.quantile(0.95),
        p99=law.quantile(0.99),
        var_printed=_printed(solo_rate, party_rate, order) if printed else None,
        is_printed=printed,
        note=_note(lambda1, lambda2, order, chain),
        law=law,
        law_solo=chain.law("solo") if lambda1 else None,
        law_party=chain.law("party") if lambda2 else None,
        exact={name: str(value) for name, value in exact.items() if value is not None},
    )


def _printed(solo_rate: float, party_rate: float, order: Order) -> float | None:
    """Return the paper's variance, which divides by rates that may be 0."""
    if not solo_rate or (order == "two_queues" and not party_rate):
        return None
    return PRINTED[order](solo_rate, party_rate)


def _note(
    lambda1: Fraction, lambda2: Fraction, order: Order, chain: TaggedChain[Any]
) -> str | None:
    """Return what the figures at these rates do not say by themselves."""
    total = lambda1 + 2 * lambda2
    if order == "two_queues" and not (lambda1 and lambda2):
        return (
            f"at a rate of 0 there is one queue; with a few of both kinds the mean tends to "
            f"{float(5 / (2 * total)):.6g} s, as those few wait longer and longer"
        )
    if not lambda1:
        return (
            "without solos a party waits for one other party; with a few solos the mean tends to "
            f"{float(3 / (2 * total)):.6g} s, since the odd one out waits longer the fewer they are"
        )
    if lambda2 and float(lambda1 / total) < SOLO_SHARE_NOTED:
        wait = float(chain.classes["solo"].mean)
        return (
            f"few players come alone: they wait {wait:.6g} s on average, and the variance of all "
            "grows like 1 / solo_rate"
        )
    return None
