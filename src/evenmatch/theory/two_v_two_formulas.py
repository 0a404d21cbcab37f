"""The formulas of two against two, corrected: means and variances of the wait.

lambda1 solos and lambda2 parties of two arrive per second, lambda_tot = lambda1 + 2 lambda2
players. The formulas hold for fractions as for floats.

Source:
    Xu, Yu, Wu, Rule Designs for Optimal Online Game Matchmaking, section III.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, get_args

from evenmatch.errors import ConfigError
from evenmatch.theory.chain import Number

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
    """Return the mean wait of a player who comes alone; None where it has no limit.

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
    """Return the mean wait of a party; None where it has no limit.

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
        All three are wrong in print: (7) has variances where second moments belong, and at
        lambda2 = 0, where all orders are one, (9) and (10) say 1.25 and 1.75 for 2.75. See
        `two_v_two_printed`; `test_two_v_two` compares with exact chains and with simulation.
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
    """Return where the variance of two queues is least: lambda1 / lambda_tot, and it there.

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
# All three are wrong; `two_v_two_formulas.variance` has the right ones. They are here to repeat
# the paper's figure 5 and equation (11).
#
# Source:
#     Xu, Yu, Wu, eq. (7), (9) and (10).


def two_queues(lambda1: float, lambda2: float) -> float:
    """Return eq. (7): it has the classes' variances where their second moments belong."""
    total = lambda1 + 2 * lambda2
    return (3 * lambda1**2 - lambda1 * lambda2 + 11 * lambda2**2) / (
        2 * total**2 * lambda1 * lambda2
    )


def fifo(lambda1: float, lambda2: float) -> float:
    """Return eq. (9): without parties it says 1.25 / lambda1^2, and 2.75 is right."""
    both, total = lambda1 + lambda2, lambda1 + 2 * lambda2
    return (
        (7 * lambda1**2 + lambda1 * lambda2 + 4 * lambda2**2) / (2 * lambda1 * both**3)
        - (2 * lambda1 * lambda2**3 + 3 * lambda2**4) / (lambda1 * total * both**4)
        - (3 / (2 * total)) ** 2
    )


def lifo(lambda1: float, lambda2: float) -> float:
    """Return eq. (10): without parties it says 1.75 / lambda1^2, and 2.75 is right."""
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
"""Service order -> the printed variance of a random player's wait, of solo and party rate."""
