"""Witnesses of first come, first matched that know nothing of the formulas."""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

Edges = Sequence[tuple[str, str]]


def seed_of(test: str) -> np.random.Generator:
    """Return chance for random points; EVENMATCH_SEED chooses it, and the seed is printed."""
    seed = int(os.environ.get("EVENMATCH_SEED", "5"))
    print(f"{test}: EVENMATCH_SEED={seed}")
    return np.random.default_rng([seed, len(test)])


def meets(edges: Edges) -> set[tuple[str, str]]:
    return {(x, y) for x, y in edges} | {(y, x) for x, y in edges}


def chain(rates: Mapping[str, float], edges: Edges, longest: int) -> tuple[float, dict, dict]:
    """Solve the chain of words: who waits, longest first; newcomers to full words turn away.

    Returns the mean wait by class by Little's law, the chances to play at once, and the weight of
    the longest words, which says how much was cut.
    """
    able = meets(edges)
    words = [()]
    moves = []
    at = {(): 0}
    for word in words:  # grows while it is read
        for name, rate in rates.items():
            opponent = next((i for i, each in enumerate(word) if (each, name) in able), None)
            if opponent is not None:
                after = word[:opponent] + word[opponent + 1 :]
            elif len(word) < longest:
                after = (*word, name)
            else:
                continue
            if after not in at:
                at[after] = len(words)
                words.append(after)
            moves.append((at[word], at[after], rate))
    matrix = np.zeros((len(words), len(words)))
    for here, there, rate in moves:
        matrix[there, here] += rate
        matrix[here, here] -= rate
    matrix[0] = 1.0
    law = np.linalg.solve(matrix, np.eye(len(words))[0])
    means, chances = {}, {}
    for name, rate in rates.items():
        waiting = sum(p * word.count(name) for p, word in zip(law, words, strict=True))
        means[name] = waiting / rate
        chances[name] = sum(
            p for p, word in zip(law, words, strict=True) if any((x, name) in able for x in word)
        )
    cut = sum(p for p, word in zip(law, words, strict=True) if len(word) == longest)
    return cut, means, chances


class Simulated(NamedTuple):
    mean: float
    error: float
    at_once: float
    waiting: int
    waits: np.ndarray


def simulate(
    rates: Mapping[str, float], edges: Edges, arrivals: int, rng: np.random.Generator
) -> dict[str, Simulated]:
    """Play first come, first matched; the wait, its standard error by 30 batches, and who is left.

    The key "" is all players together.
    """
    able = meets(edges)
    names = list(rates)
    opponents = {x: [y for y in names if (x, y) in able] for x in names}
    weights = np.array([rates[x] for x in names])
    drawn = rng.choice(len(names), size=arrivals, p=weights / weights.sum())
    times = np.cumsum(rng.exponential(1 / weights.sum(), arrivals))
    pools: dict[str, list[int]] = {x: [] for x in names}
    heads = dict.fromkeys(names, 0)
    waits = np.full(arrivals, np.nan)
    for i, (number, now) in enumerate(zip(drawn.tolist(), times.tolist(), strict=True)):
        own = names[number]
        first = [(pools[x][heads[x]], x) for x in opponents[own] if heads[x] < len(pools[x])]
        if not first:
            pools[own].append(i)
            continue
        j, whose = min(first)
        heads[whose] += 1
        waits[i], waits[j] = 0.0, now - times[j]
    found = {}
    for name in ["", *names]:
        of_class = np.full(arrivals, True) if not name else drawn == names.index(name)
        # The last tenth may still wait; the first tenth starts from an empty pool.
        middle = of_class & (np.arange(arrivals) >= arrivals // 10)
        middle &= (np.arange(arrivals) < arrivals * 9 // 10) & ~np.isnan(waits)
        batches = [part.mean() for part in np.array_split(waits[middle], 30)]
        left = sum(len(pools[x]) - heads[x] for x in names if not name or x == name)
        found[name] = Simulated(
            float(np.mean(batches)),
            float(np.std(batches, ddof=1) / 30**0.5),
            float((waits[middle] == 0).mean()),
            left,
            waits[middle],
        )
    return found
