"""Who loses by flexible players where only a simulation can say: a tenth of one class shifts.

The class that waits longest is taken: of players by role or by side in teams, or of the options of
the costliest split.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import msgspec

from evenmatch.lab.advise.advice import Advice
from evenmatch.lab.advise.base import ANY, PlayerBase, Split, name_of
from evenmatch.lab.advise.flexible import SHIFT, Flexible
from evenmatch.lab.advise.scenario import (
    MATCHES,
    TICKETS_MAX,
    WARMUP,
    PoolScenario,
    text,
    texts,
)
from evenmatch.lab.advise.simulated import Mapper, Simulated, simulated_pool

OPTIONS_MAX = 6
"""Options of a split that are simulated together."""


def shifted(advice: Advice, pool: PoolScenario, seen: Simulated, map_: Mapper) -> list[Flexible]:
    """Return what a flexible player gains and who loses, with one class shifted by a tenth.

    Args:
        advice: What is known so far.
        pool: The smallest pool.
        seen: What its simulation came to.
        map_: Makes the runs, several at a time.
    """
    base = advice.base
    if base.roles:
        found = _composition(pool, seen, base.role_shares, map_)
    elif base.sides and base.teams != (1, 1):
        found = _composition(pool, seen, base.sides, map_)
    else:
        return _split(advice, pool.seed, map_)
    return [found, *advice.flexible]


def _composition(
    pool: PoolScenario, seen: Simulated, shares: dict[str, float], map_: Mapper
) -> Flexible:
    base = pool.base
    field, prefix, free = (
        ("role_shares", "", "any role") if base.roles else ("sides", "side ", "either side")
    )
    names = {name: f"{prefix}{name}".replace("+", " or ") for name in shares if name != ANY}
    waits = {name: seen.classes[label].value for name, label in names.items()}
    worst = max(waits, key=lambda name: waits[name] or 0.0)
    moved = SHIFT * shares[worst]
    after_shares = {**shares, worst: shares[worst] - moved, ANY: shares.get(ANY, 0.0) + moved}
    changed = msgspec.structs.replace(base, **{field: after_shares})
    after = simulated_pool(replace(pool, base=changed), 0.5, map_)
    labels = [*names.values(), free]
    now = {label: seen.classes[label].value if label in seen.classes else None for label in labels}
    then = {label: after.classes[label].value for label in labels}
    return Flexible(
        who=names[worst],
        becomes=free,
        wait=now[names[worst]],
        wait_if_flexible=then[free] if now[free] is None else now[free],
        source="simulated",
        others={label: (now[label], then[label]) for label in labels},
        others_source="simulated",
    )


def _split(advice: Advice, seed: int, map_: Mapper) -> list[Flexible]:
    """Return the flexible players with the others' waits for the costliest split."""
    base, rate = advice.base, advice.rate
    if not (base.is_plain and base.patience is None and advice.splits and rate):
        return list(advice.flexible)
    split = next(each for each in base.splits if each.name == advice.splits[0].name)
    if not 2 <= len(split.shares) <= OPTIONS_MAX or base.seats == 2:
        return list(advice.flexible)
    rest = math.prod(
        min(other.shares.values()) for other in base.splits if other.name != split.name
    )
    shared = SharedPools(base, split, rate * rest, seed)
    after = simulated_pool(shared, 0.5, map_)
    mean = (base.seats - 1) / 2.0
    others: dict[str, tuple[float | None, float | None]] = {
        label: (mean / (rate * rest * share), after.classes[label].value)
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
        for name in self.shares:
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
        for name, share in self.shares.items():
            own = share - moved if name == self.shifting else share
            yield from _class([name], own)
        yield from _class(list(self.shares), moved)

    def csv(self, child: int = 0) -> str | None:
        """Return nothing: the scenario draws its arrivals."""
        del child
        return None

    def label(self, group: str) -> str:
        """Return the option of the players who wait in these queues, or that they take any."""
        return group if group in self.shares else f"any {self.split.name}"


def _class(queues: list[str], share: float) -> Iterator[str]:
    yield "[[arrivals.classes]]"
    yield f"share = {share!r}"
    yield f"queues = {texts(queues)}"
