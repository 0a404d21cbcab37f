"""Completing a set: from one item outward, in a given order, until the seats are filled."""

from __future__ import annotations

from collections.abc import Callable, Sequence

STEPS_MAX = 2_000
"""Items looked at for one set; a search that needs more gives up."""


def complete(
    sizes: Sequence[int],
    target: int,
    fits: Callable[[int, int], bool],
    accepts: Callable[[list[int]], bool],
    steps_max: int = STEPS_MAX,
) -> list[int] | None:
    """Return the first set that contains item 0 and fills the target exactly.

    Items are tried in their order, depth first: the set that prefers early items wins.

    Args:
        sizes: Seats that each item takes; item 0 is the anchor.
        target: Seats to fill.
        fits: Whether two items may be in one set.
        accepts: Whether a set that fills the target will do.
        steps_max: Items looked at before giving up.

    Returns:
        Indices in the order of choice, or None.

    Complexity:
        Linear where nothing has to be undone; at most `steps_max` items.

    >>> complete([1, 2, 1, 1], 3, lambda a, b: True, lambda found: True)
    [0, 1]
    """
    chosen = [0]
    steps = 0

    def extend(start: int, room: int) -> bool:
        nonlocal steps
        if room == 0:
            return accepts(chosen)
        for item in range(start, len(sizes)):
            steps += 1
            if steps > steps_max:
                return False
            if sizes[item] > room or not all(fits(other, item) for other in chosen):
                continue
            chosen.append(item)
            if extend(item + 1, room - sizes[item]):
                return True
            chosen.pop()
        return False

    return chosen if extend(1, target - sizes[0]) else None
