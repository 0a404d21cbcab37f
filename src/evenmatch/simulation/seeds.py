"""Streams of chance that do not disturb each other."""

from __future__ import annotations

import numpy as np


def generator(seeds: np.random.SeedSequence, name: str) -> np.random.Generator:
    """Return the generator of one named stream.

    The stream depends on the seed and on the name alone: adding another stream, or drawing more
    from it, changes nothing here.

    Args:
        seeds: The seed that all streams come from; it is not changed.
        name: What the stream is for.
    """
    key = (*seeds.spawn_key, *name.encode())
    return np.random.default_rng(np.random.SeedSequence(seeds.entropy, spawn_key=key))
