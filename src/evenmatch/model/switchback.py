"""A switchback: two policies or more that take turns, so that they can be compared."""

from __future__ import annotations

import msgspec


class Switchback(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Policies that take turns by blocks of time, in an order drawn for each round of them.

    Args:
        policies: Their SPECs, two or more; the first is what the others are compared with.
        block: Length of a block, seconds.
        seed: Root of the order.
        trim: Share of each block, at its start, whose tickets are left out of the comparison: they
            meet a pool that the previous policy has left.
    """

    policies: tuple[str, ...]
    block: float = 1800.0
    seed: int = 1
    trim: float = 0.25
