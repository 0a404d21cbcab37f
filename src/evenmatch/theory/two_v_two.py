"""Matches of two against two with single players and parties of two, in four service orders.

Solos arrive at the rate lambda1 and parties at lambda2, players at lambda_tot = lambda1 +
2 lambda2. Under every order that starts as soon as four players can play, the number of waiting
players is the number of arrivals modulo 4, so no order has a smaller mean. Only one choice is left:
which two of three solos join a party. `fifo` takes those who came first, `lifo` the last;
`packing` makes a party of any two solos at once, which is the same as `fifo` here. `two_queues`
lets solos play solos and parties play parties.

All figures are those of a random *player*, so a party's wait counts once for each of its players.
The closed formulas stand below, corrected; they hold for fractions and floats alike.

Source:
    Xu, Yu, Wu, Rule Designs for Optimal Online Game Matchmaking, section III.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, get_args

from evenmatch.errors import ConfigError
from evenmatch.theory.chain import Number
from evenmatch.theory.rates import exact_rates
from evenmatch.theory.tagged_chain import Pool, Rule, TaggedChain, tagged_chain
from evenmatch.theory.waiting_law import PhaseTypeLaw

SOLO_SHARE_NOTED = 0.1
"""Below this share of solos among the players, a note says who waits."""


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
    """Let the two packages play that were complete first; two successive solos make one."""
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
        mean_solo, mean_party: Of the classes, s; at rate 0, of the first one to arrive.
        p50, p90, p95, p99: Quantiles of a random player's wait, s.
        p_no_wait: Probability that a random player's arrival starts the match.
        var_solo, var_party: Variances of the classes, s^2.
        mean_per_party: Mean wait of a random arrival, solo or party, s.
        var_printed: The paper's own variance; None unless requested.
        note: A remark on these rates, or None.
        law, law_solo, law_party: The full laws; None for a class of rate 0.
        exact: Figures as fractions.
        is_printed: Whether `var_printed` was requested.
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
    """Return a remark that the figures at these rates need, or None."""
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


Order = Literal["fifo", "lifo", "packing", "two_queues"]
ORDERS: tuple[Order, ...] = get_args(Order)


def mean_of_players(lambda1: Number, lambda2: Number, order: Order) -> Number:
    """Return the mean wait of a random player.

    Source:
        Xu, Yu, Wu, Lemma 2 (the text also calls it Lemma 3), eq. (3), (6) and (8).

    Differs from the paper:
        Nothing for lambda1 > 0. At lambda1 = 0 a party waits for one other: 1 / lambda_tot.
    """
    if order == "two_queues":
        queues = (3 if lambda1 else 0) + (2 if lambda2 else 0)
        return queues / (2 * (lambda1 + 2 * lambda2))
    return (3 if lambda1 else 2) / (2 * (lambda1 + 2 * lambda2))


def mean_solo(lambda1: Number, lambda2: Number, order: Order) -> Number | None:
    """Return the mean wait of a solo; None if it is infinite.

    Source:
        Xu, Yu, Wu, eq. (4); for one queue it is not in the paper, and the same for every order.
    """
    if not lambda1:
        return None
    if order == "two_queues":
        return 3 / (2 * lambda1)
    both = lambda1 + lambda2
    return (3 * lambda1**2 + 3 * lambda1 * lambda2 + lambda2**2) / (2 * lambda1 * both**2)


def mean_party(lambda1: Number, lambda2: Number, order: Order) -> Number | None:
    """Return the mean wait of a party; None if it is infinite.

    Source:
        Xu, Yu, Wu, eq. (5); for one queue it is not in the paper, and the same for every order.
    """
    if order == "two_queues":
        return 1 / (2 * lambda2) if lambda2 else None
    both = lambda1 + lambda2
    if not lambda1:
        return 1 / (2 * lambda2)
    return (3 * lambda1 + 2 * lambda2) / (4 * both**2)


def variance(lambda1: Number, lambda2: Number, order: Order) -> Number:
    """Return the variance of the wait of a random player.

    Args:
        lambda1: Solos per second, > 0.
        lambda2: Parties per second, > 0; 0 too with one queue.
        order: Service order.

    Source:
        Xu, Yu, Wu, eq. (7), (9) and (10).

    Differs from the paper:
        All three are wrong in print: (7) has variances in place of second moments, and at
        lambda2 = 0, where all orders are the same, (9) and (10) give 1.25 and 1.75 instead of 2.75.
        See `two_queues`, `fifo` and `lifo`; `test_two_v_two` compares with exact chains and with
        simulation.
    """
    total = lambda1 + 2 * lambda2
    if order == "two_queues":
        return (8 * lambda1**2 + 11 * lambda1 * lambda2 + 40 * lambda2**2) / (
            4 * total**2 * lambda1 * lambda2
        )
    both = lambda1 + lambda2
    if order == "lifo":
        polynomial = (
            5 * lambda1**4
            + 20 * lambda1**3 * lambda2
            + 30 * lambda1**2 * lambda2**2
            + 20 * lambda1 * lambda2**3
            + 4 * lambda2**4
        )
        squares = lambda1**2 + 2 * lambda1 * lambda2 + 2 * lambda2**2
        second = (2 * lambda1 + lambda2) * polynomial / (2 * lambda1 * both**3 * total * squares)
    else:
        second = (
            (2 * lambda1 + lambda2) * (5 * lambda1 + 2 * lambda2) / (2 * lambda1 * both**2 * total)
        )
    return second - 9 / (4 * total**2)


def two_queues_minimum(*, printed: bool = False) -> tuple[float, float]:
    """Return lambda1 / lambda_tot at which the variance of two queues is least, and that variance.

    The variance is that at lambda_tot = 1.

    Source:
        Xu, Yu, Wu, eq. (11).

    Differs from the paper:
        2 sqrt(33) - 11 follows from the printed (7); from the corrected one, 5 - 2 sqrt(5).

    >>> share, least = two_queues_minimum()
    >>> round(share, 6), round(least, 3)
    (0.527864, 11.694)
    >>> share, least = two_queues_minimum(printed=True)
    >>> round(share, 3), round(least, 3)
    (0.489, 5.245)
    """
    share = 2 * math.sqrt(33) - 11 if printed else 5 - 2 * math.sqrt(5)
    formula = PRINTED["two_queues"] if printed else _corrected("two_queues")
    return share, formula(share, (1 - share) / 2)


def variance_curves(
    solo_shares: Sequence[float], *, printed: bool = False
) -> dict[str, list[float]]:
    """Return the variance of each order against the share of solos, at lambda_tot = 1.

    Args:
        solo_shares: lambda1 / lambda_tot, in (0, 1).
        printed: The paper's own formulas.

    Source:
        Xu, Yu, Wu, figure 5.

    >>> curves = variance_curves([0.2, 0.5])
    >>> [round(value, 4) for value in curves["fifo"]]
    [7.75, 4.4167]
    """
    for share in solo_shares:
        if not 0.0 < share < 1.0:
            raise ConfigError(f"a share of solos must be in (0, 1), got {share:g}")
    orders: tuple[Order, ...] = ("fifo", "lifo", "two_queues")
    formulas = {order: PRINTED[order] if printed else _corrected(order) for order in orders}
    return {
        order: [formula(share, (1 - share) / 2) for share in solo_shares]
        for order, formula in formulas.items()
    }


def _corrected(order: Order) -> Callable[[float, float], float]:
    return lambda lambda1, lambda2: variance(lambda1, lambda2, order)


# The variances of "Rule Designs for Optimal Online Game Matchmaking" as they are printed.
#
# All three are wrong; `variance` has the right ones. These serve to reproduce the paper's figure 5
# and equation (11).
#
# Source:
#     Xu, Yu, Wu, eq. (7), (9) and (10).


def two_queues(lambda1: float, lambda2: float) -> float:
    """Return eq. (7), which has the classes' variances in place of their second moments."""
    total = lambda1 + 2 * lambda2
    return (3 * lambda1**2 - lambda1 * lambda2 + 11 * lambda2**2) / (
        2 * total**2 * lambda1 * lambda2
    )


def fifo(lambda1: float, lambda2: float) -> float:
    """Return eq. (9): without parties it gives 1.25 / lambda1^2 instead of 2.75 / lambda1^2."""
    both, total = lambda1 + lambda2, lambda1 + 2 * lambda2
    return (
        (7 * lambda1**2 + lambda1 * lambda2 + 4 * lambda2**2) / (2 * lambda1 * both**3)
        - (2 * lambda1 * lambda2**3 + 3 * lambda2**4) / (lambda1 * total * both**4)
        - (3 / (2 * total)) ** 2
    )


def lifo(lambda1: float, lambda2: float) -> float:
    """Return eq. (10): without parties it gives 1.75 / lambda1^2 instead of 2.75 / lambda1^2."""
    both, total = lambda1 + lambda2, lambda1 + 2 * lambda2
    polynomial = (
        5 * lambda1**3 * lambda2
        + 7 * lambda1**2 * lambda2**2
        + 10 * lambda1 * lambda2**3
        + 2 * lambda2**4
    )
    squares = lambda1**2 + 2 * lambda1 * lambda2 + 2 * lambda2**2
    return (
        polynomial / (2 * lambda1 * both**3 * squares)
        + (8 * lambda1**2 + 7 * lambda1 * lambda2) / (2 * both**4)
        - (3 / (2 * total)) ** 2
    )


PRINTED: dict[str, Callable[[float, float], float]] = {
    "fifo": fifo,
    "packing": fifo,
    "lifo": lifo,
    "two_queues": two_queues,
}
"""By service order, the printed variance of a random player's wait, from solo and party rate."""
