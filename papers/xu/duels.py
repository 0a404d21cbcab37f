"""The settings of duels with sides or in zones: the rates of arrivals, and the scenario."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from papers.xu.rows import CHANCE
from papers.xu.worlds import Run, sides_toml, zones_toml

Kind = Literal["sides", "zones"]
CLASSES: dict[Kind, tuple[str, str, str]] = {
    "sides": ("a", "b", "flexible"),
    "zones": ("junior", "expert", "flexible"),
}
"""The names in theory of the players of each kind of duel."""
LENGTHS: dict[Kind, int] = {"sides": 1_000_000, "zones": 200_000}
"""Players of a run; zones share players, which compiled runs do not support."""


class Duels(msgspec.Struct, frozen=True, kw_only=True):
    """Duels in which some players are particular and others are choice-free.

    Args:
        kind: What some are particular about.
        name: Of its file.
        rates: Players per second of each of the `CLASSES`.
        is_drawn: Whether the seed chose it.
        number: Offset of its seed from that of the run.
    """

    kind: Kind
    name: str
    rates: dict[str, float]
    is_drawn: bool = False
    number: int = 0

    @property
    def scenario(self) -> str:
        """Return the name of its file."""
        return f"xu-{self.kind}-{self.name}.toml"

    @property
    def params(self) -> dict[str, Any]:
        """Return the setting as in rows."""
        return {**self.rates, **(CHANCE if self.is_drawn else {})}

    def text(self, seed: int) -> str:
        """Return the scenario."""
        run = Run(policy="first_come", count=LENGTHS[self.kind], seed=seed + self.number)
        make = sides_toml if self.kind == "sides" else zones_toml
        return make(*self.rates.values(), **run)


def duels(
    kind: Kind, fixed: Iterable[Iterable[float]], drawn: Iterable[Iterable[float]]
) -> list[Duels]:
    """Return settings: ours, and those that the seed chose.

    Args:
        kind: Of all.
        fixed: Rates in the order of `CLASSES`.
        drawn: The same.
    """
    named = [(f"{at}", rates, False) for at, rates in enumerate(fixed, start=1)]
    named += [(f"drawn-{at}", rates, True) for at, rates in enumerate(drawn, start=1)]
    return [
        Duels(
            kind=kind,
            name=name,
            rates=dict(zip(CLASSES[kind], rates, strict=True)),
            is_drawn=is_drawn,
            number=number,
        )
        for number, (name, rates, is_drawn) in enumerate(named)
    ]
