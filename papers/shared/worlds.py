"""The settings of the papers: the arrivals, and the queue in which they wait.

Table 3 compares policies on the same players, so a sequence must be the same wherever it is drawn:
its randomness is numpy's `default_rng(seed)`, first for the arrivals, then for the criteria.
"""

from __future__ import annotations

from typing import Literal, TypedDict

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.config.files import parse_scenario
from evenmatch.model.queue import Queue

Floats = NDArray[np.float64]
Rates = Literal["constant", "time", "index"]

WAIT_MAX = 5.0
LENGTH = 1000


class Setting(TypedDict):
    """The parameters of the formulas."""

    k: int
    rate: float
    wait_max: float


class World(msgspec.Struct, frozen=True, kw_only=True):
    """A setting of "Automatic Game Matching".

    Args:
        rate: Tickets per second, the mean over a ramp.
        rates: `constant`; or a ramp from 0 to 2 x rate that is linear in `time` or in the
            `index` of the player.
        count: Players of a sequence.
        k: Players of a match.
        criteria: D; each uniform on [0, 1].
    """

    rate: float
    rates: Rates = "constant"
    count: int = LENGTH
    k: int = 2
    criteria: int = 1

    @property
    def name(self) -> str:
        """Return a short name, such as `c10`, `r0-20` or `k4d2a30`.

        >>> World(rate=3, rates="time").name
        'r0-6'
        """
        if (self.k, self.criteria) != (2, 1):
            return f"k{self.k}d{self.criteria}a{self.rate:g}"
        if self.rates == "constant":
            return f"c{self.rate:g}"
        return f"{'r' if self.rates == 'time' else 'i'}0-{2 * self.rate:g}"

    @property
    def setting(self) -> Setting:
        """Return the parameters of the formulas."""
        return Setting(k=self.k, rate=self.rate, wait_max=WAIT_MAX)

    def draw(self, seed: int) -> tuple[Floats, Floats]:
        """Return instants in seconds (count,) and values of the criteria (criteria, count)."""
        rng = np.random.default_rng(seed)
        steps = rng.exponential(1.0, self.count)
        values = rng.random((self.count, self.criteria))
        if self.rates == "index":
            rates = 2.0 * self.rate * (np.arange(self.count) + 0.5) / self.count
            return np.cumsum(steps / rates), values.T
        points = np.cumsum(steps)
        if self.rates == "constant":
            return points / self.rate, values.T
        # With the rate 2 a t / T, a t^2 / T players arrive by t; its mean is a up to T = count / a.
        end = self.count / self.rate
        return np.sqrt(points * end / self.rate), values.T

    def queue(self) -> Queue:
        """Return the queue: weights k/D, and bots after `WAIT_MAX` seconds."""
        return parse_scenario(self.toml("greedy", 0)).queues[0]

    def toml(self, policy: str, seed: int) -> str:
        """Return a scenario of this setting, with evenmatch's own generator of arrivals."""
        criteria = "".join(
            f'\n[[queue.criteria]]\nkind = "spread"\nattribute = "c{d}"\n'
            for d in range(self.criteria)
        )
        if self.rates == "constant":
            arrivals = f'process = "poisson"\nrate = {self.rate:g}'
        else:
            arrivals = f'process = "ramp"\nrate = 0.0\nto = {2 * self.rate:g}\nby = "{self.rates}"'
        drawn = "".join(
            f'\n[attributes.c{d}]\ndistribution = "uniform"\n' for d in range(self.criteria)
        )
        return (
            f'seed = {seed}\n\n[[queue]]\nname = "main"\nteams = {self.k}\nplayers = 1\n'
            f'wait_max = {WAIT_MAX}\non_deadline = "bots"\npolicy = "{policy}"\n{criteria}'
            f"\n[arrivals]\n{arrivals}\ncount = {self.count}\n{drawn}"
        )


def file_name(world_name: str, policy: str) -> str:
    """Return the file of a scenario under a policy.

    >>> file_name("c10", "multi_queue:brackets=6")
    'c10-multi_queue-brackets-6.toml'
    """
    words = policy
    for sign in ":=,+":
        words = words.replace(sign, "-")
    return f"{world_name}-{words}.toml"
