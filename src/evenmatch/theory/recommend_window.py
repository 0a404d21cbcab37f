"""How wide a rating window should be: close opponents against short waits.

Duels of players whose skill is uniform, each with the nearest waiting player within a distance of
delta. A wide window makes bad matches, a narrow one long waits; at the best width the two cost
about the same. If skill has a constant density, each waiting player finds an opponent in a window
of delta at a rate of about 2 delta * rate * density, so the best width falls with the square root
of traffic: *four times the players, half the window*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from evenmatch.errors import ConfigError

WIDTH = 0.8
COST = 0.72
"""Both constants were measured for alpha from 4 to 1,024, see `recommend_window`."""
SHARE_MAX = 0.5
"""The largest measured window, as a share of the range of skill."""


@dataclass(frozen=True)
class RecommendedWindow:
    """A width and its cost.

    Args:
        delta: The largest difference to accept, in units of skill.
        cost: Per player, waiting and difference together, in the unit of `wait_price`.
        is_measured: Whether the width is in the range for which the law was measured.
    """

    delta: float
    cost: float
    is_measured: bool

    def figures(self) -> dict[str, Any]:
        """Return what `evenmatch theory recommend_window --json` prints."""
        return dict(vars(self))


def recommend_window(
    *, alpha: float, rate: float, density: float, wait_price: float = 1.0
) -> RecommendedWindow:
    """Return the static window for duels, and its approximate cost.

    Args:
        alpha: Cost of a difference of 1 for each of the two players, > 0.
        rate: Players per second, > 0.
        density: Share of the players per unit of skill, > 0: 1 over the range if skill is uniform,
            the density at a player's own skill otherwise.
        wait_price: Cost of a player's waiting, per second, > 0.

    Raises:
        ConfigError: A number is out of range.

    Complexity:
        O(1).

    Source:
        Our own grids of delta on the uniform skill, with one player a period, one period's
        waiting for 1 and costs of alpha per player: at alpha = 4, 16, 64, 256 and 1,024 the best
        delta times sqrt(alpha) was .8 on a grid of .1, and the cost over sqrt(alpha) .791, .756,
        .737, .727 and .7215. `test_recommended_window_*` simulates it. The law is not proved, it
        is not the best policy, nobody leaves or has a deadline, and the cost is up to a tenth too
        low if windows are wide.

    >>> found = recommend_window(alpha=16, rate=1, density=1)
    >>> round(found.delta, 3), round(found.cost, 3)
    (0.2, 2.88)
    >>> round(recommend_window(alpha=16, rate=4, density=1).delta, 3)
    0.1
    """
    given = {"alpha": alpha, "rate": rate, "density": density, "wait_price": wait_price}
    for name, value in given.items():
        if not 0.0 < value < math.inf:
            raise ConfigError(f"{name} must be > 0 and finite, got {value:g}")
    # Step by step, so that no product of large or small numbers overflows or underflows.
    delta = WIDTH * math.sqrt(wait_price / alpha / rate / density)
    cost = COST * math.sqrt(alpha * (wait_price / rate / density))
    if not (0.0 < delta < math.inf and 0.0 < cost < math.inf):
        raise ConfigError("alpha, rate, density and wait_price are too far apart")
    return RecommendedWindow(delta, cost, is_measured=delta * density <= SHARE_MAX)
