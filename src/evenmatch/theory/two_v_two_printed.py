"""The variances of "Rule Designs for Optimal Online Game Matchmaking" as they are printed.

All three are wrong; `two_v_two_formulas.variance` has the right ones. They are here to repeat the
paper's figure 5 and equation (11).

Source:
    Xu, Yu, Wu, eq. (7), (9) and (10).
"""

from __future__ import annotations

from collections.abc import Callable


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
