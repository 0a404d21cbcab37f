"""Losses by a tenth of one class that becomes flexible, simulated if theory cannot tell.

The class with the longest wait is taken: of players by role or by side in teams, or of the options
of the costliest split.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import msgspec

from evenmatch.lab.advise.answer import Advice
from evenmatch.lab.advise.flexible_theory import SHIFT, Flexible
from evenmatch.lab.advise.player_base import ANY, PlayerBase, Split, name_of, role_set
from evenmatch.lab.advise.pool_scenario import (
    MATCHES,
    TAKES,
    TICKETS_MAX,
    WARMUP,
    PoolScenario,
    text,
    texts,
)
from evenmatch.lab.advise.pool_simulation import Mapper, SimulatedPool, simulated_pool
from evenmatch.lab.advise.splits import shared_split
from evenmatch.simulation.groups import FLEXIBLE


def shifted(
    advice: Advice, pool: PoolScenario, simulated: SimulatedPool, map_: Mapper
) -> list[Flexible]:
    """Return what a flexible player gains and who loses, with one class shifted by a tenth.

    Args:
        advice: What is known so far.
        pool: The smallest pool.
        simulated: What its simulation came to.
        map_: Makes the runs, several at a time.
    """
    base = advice.base
    if not base.roles and (not base.sides or base.teams == (1, 1)):
        return _split(advice, pool.seed, map_)
    found = _composition(pool, simulated, map_)
    return [*([] if found is None else [found]), *advice.flexible]


def _composition(pool: PoolScenario, simulated: SimulatedPool, map_: Mapper) -> Flexible | None:
    """Return what becomes of players by role or side; None if none who is particular was seen."""
    base = pool.base
    field, shares = ("role_shares", base.role_shares) if base.roles else ("sides", base.sides)
    free = next((name for name in shares if _takes_all(base, name)), ANY)
    labels = {name: _label(pool, name) for name, share in shares.items() if share > 0.0}
    names = [name for name in labels if name != free]
    now = {name: _mean(simulated, labels[name]) for name in names}
    worst = max(
        (name for name in names if now[name]), key=lambda each: now[each] or 0.0, default=""
    )
    if not worst:
        return None
    moved = SHIFT * shares[worst]
    after_shares = {**shares, worst: shares[worst] - moved, free: shares.get(free, 0.0) + moved}
    changed = msgspec.structs.replace(base, **{field: after_shares})
    after = simulated_pool(replace(pool, base=changed), 0.5, map_)
    labels = {**{name: labels[name] for name in names}, free: _label(pool, free)}
    others = {label: (_mean(simulated, label), _mean(after, label)) for label in labels.values()}
    wait_now, wait_then = others[labels[free]]
    return Flexible(
        who=labels[worst],
        becomes=labels[free],
        wait=now[worst],
        wait_if_flexible=wait_then if wait_now is None else wait_now,
        source="simulated",
        others=others,
        others_source="simulated",
    )


def _takes_all(base: PlayerBase, name: str) -> bool:
    """Return whether players of this share take every role, or either side."""
    return name == ANY or bool(base.roles and set(role_set(name, base.roles)) == set(base.roles))


def _label(pool: PoolScenario, name: str) -> str:
    """Return what the classes of a simulation call the players of a share."""
    if pool.by == TAKES:
        return pool.label(name.replace("+", " or "))
    return pool.label(FLEXIBLE if name == ANY else name)


def _mean(simulated: SimulatedPool, label: str) -> float | None:
    """Return the mean wait of a class; None if no run had one of its players."""
    interval = simulated.classes.get(label)
    return None if interval is None else interval.value


def _split(advice: Advice, seed: int, map_: Mapper) -> list[Flexible]:
    """Return the flexible players with the others' waits for the costliest split."""
    base, rate, split = advice.base, advice.rate, shared_split(advice.base, advice.splits)
    if split is None or not rate:
        return list(advice.flexible)
    rest = math.prod(
        min(other.shares.values()) for other in base.splits if other.name != split.name
    )
    shared = SharedPools(base, split, rate * rest, seed)
    after = simulated_pool(shared, 0.5, map_)
    mean = (base.seats - 1) / 2.0
    others: dict[str, tuple[float | None, float | None]] = {
        label: (mean / (rate * rest * share), _mean(after, label))
        for label, share in shared.shares.items()
    }
    return [
        replace(each, others=others, others_source="simulated")
        if each.who == shared.shifting
        else each
        for each in advice.flexible
    ]


@dataclass(frozen=True)
class SharedPools:
    """The pools of one split, with a tenth of the smallest option's players in all of them.

    Args:
        base: Whose matches are played; everybody comes alone.
        split: The options.
        rate: Players per second of all options together.
        seed: Of all chance.
    """

    base: PlayerBase
    split: Split
    rate: float
    seed: int
    policy: str = "first_come"
    by: str = "queues"

    @property
    def shares(self) -> dict[str, float]:
        """Return the shares of the options by the names that people read."""
        return {name_of(self.split.name, name): share for name, share in self.split.shares.items()}

    @property
    def _queues(self) -> list[str]:
        """Return the options' queues; an option may have a name that no queue can have."""
        return [f"option-{place + 1}" for place in range(len(self.split.shares))]

    @property
    def shifting(self) -> str:
        """Return the name of the option of which a tenth shifts."""
        return min(self.shares, key=self.shares.__getitem__)

    @property
    def tickets(self) -> int:
        """Return the tickets of a run: enough for the smallest option, within the limit."""
        needed = MATCHES * self.base.seats / min(self.shares.values())
        return round(min(needed, TICKETS_MAX))

    def toml(self, csv: str | None = None) -> str:
        """Return the scenario's text."""
        del csv
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield f"warmup = {WARMUP * self.tickets / self.rate:.1f}"
        sizes = list(self.base.teams)
        for name in self._queues:
            yield "[[queue]]"
            yield f"name = {text(name)}"
            yield f"teams = {len(sizes)}"
            yield f"players = {sizes[0] if len(set(sizes)) == 1 else sizes}"
            yield "party_sizes = [1]"
            yield f'policy = "{self.policy}"'
        yield "[arrivals]"
        yield 'process = "poisson"'
        yield f"rate = {self.rate!r}"
        yield f"count = {self.tickets}"
        moved = SHIFT * self.shares[self.shifting]
        for queue, (name, share) in zip(self._queues, self.shares.items(), strict=True):
            own = share - moved if name == self.shifting else share
            yield from _class([queue], own)
        yield from _class(self._queues, moved)

    def csv(self, child: int = 0) -> str | None:
        """Return nothing: the scenario draws its arrivals."""
        del child
        return None

    def label(self, group: str) -> str:
        """Return the option of the players who wait in these queues, or that they take any."""
        named = dict(zip(self._queues, self.shares, strict=True))
        return named.get(group, f"any {self.split.name}")


def _class(queues: list[str], share: float) -> Iterator[str]:
    yield "[[arrivals.classes]]"
    yield f"share = {share!r}"
    yield f"queues = {texts(queues)}"
