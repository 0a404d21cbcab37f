"""A pool as a scenario: the input of `evenmatch simulate` beyond the limits of theory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evenmatch.errors import NotSupported
from evenmatch.lab.advise.player_base import ANY, PlayerBase, role_set
from evenmatch.simulation.groups import FLEXIBLE

MATCHES = 750
"""Matches of one run."""
TICKETS_MIN, TICKETS_MAX = 5_000, 20_000
WARMUP = 0.2
"""Share of a run that is simulated and not counted, while the pool fills up."""
SEEN_MIN = 50
"""Tickets of a run that must insist on a side before their waits are reported."""
FIRST_COME_MAX = 5
"""Largest team with parties for which `first_come` is used; it does not support roles either."""
PARTY_TRIES = 10_000
"""Most draws of a party's roles until they fit into one team."""
TAKES = "takes"
"""The attribute with the roles that a player takes, by which waits are split."""


@dataclass(frozen=True)
class PoolScenario:
    """One pool to simulate.

    Args:
        base: The players.
        rate: Players per second of the pool, > 0.
        name: Name of the pool.
        seed: Of all randomness.
    """

    base: PlayerBase
    rate: float
    name: str
    seed: int

    @property
    def policy(self) -> str:
        """Return the policy: the longest waiting who can play go first."""
        base = self.base
        is_large = base.has_parties and max(base.teams) > FIRST_COME_MAX
        return "greedy" if base.roles or is_large else "first_come"

    @property
    def by(self) -> str | None:
        """Return the attribute that distinguishes the classes of players; None if there is none.

        None also if hardly anybody insists on a side, since some runs would have no such player.
        """
        base = self.base
        if base.roles:
            return TAKES
        insist = math.fsum(share for name, share in base.sides.items() if name != ANY)
        if insist * self.tickets >= SEEN_MIN:
            return "side"
        return "size" if base.has_parties else None

    @property
    def tickets(self) -> int:
        """Return the number of tickets of one run."""
        count = MATCHES * self.base.seats / self._mean_size
        return round(min(max(count, TICKETS_MIN), TICKETS_MAX))

    @property
    def _mean_size(self) -> float:
        return 1.0 / sum(share / (place + 1) for place, share in enumerate(self.base.parties))

    @property
    def ticket_rate(self) -> float:
        """Return the tickets per second."""
        return self.rate / self._mean_size

    def toml(self, csv: str | None = None) -> str:
        """Return the scenario's text.

        Args:
            csv: The name of the file with the arrivals, which scenarios with roles need.
        """
        return "\n".join([*self._head(csv), *self._queue(), *self._arrivals(csv)]) + "\n"

    def _head(self, csv: str | None) -> Iterator[str]:
        by = f" --by {self.by}" if self.by else ""
        yield f"# The pool {self.name}: {self.rate:.4g} players per second."
        yield "#"
        yield f"#   evenmatch simulate SCENARIO.toml --runs 8{by}"
        if csv is not None:
            yield "#"
            yield f"# Who arrives was drawn from seed {self.seed}, and is the same in every run."
        yield ""
        yield f"seed = {self.seed}"
        yield f"warmup = {WARMUP * self.tickets / self.ticket_rate:.1f}"
        yield ""

    def _queue(self) -> Iterator[str]:
        base = self.base
        yield "[[queue]]"
        yield 'name = "main"'
        yield f"teams = {len(base.teams)}"
        sizes = set(base.teams)
        yield f"players = {base.teams[0] if len(sizes) == 1 else list(base.teams)}"
        parties = [place + 1 for place, share in enumerate(base.parties) if share > 0.0]
        yield f"party_sizes = {parties}"
        if base.sides:
            yield f"sides = {texts([name for name in base.sides if name != ANY])}"
        if base.roles:
            roles = ", ".join(f"{_key(role)} = {count}" for role, count in base.roles.items())
            yield f"roles = {{{roles}}}"
            yield f'attributes = ["{TAKES}"]'
        yield f'policy = "{self.policy}"'
        yield ""

    def _arrivals(self, csv: str | None) -> Iterator[str]:
        base = self.base
        yield "[arrivals]"
        if csv is not None:
            yield 'process = "file"'
            yield f"file = {text(csv)}"
        else:
            yield 'process = "poisson"'
            yield f"rate = {self.ticket_rate!r}"
            yield f"count = {self.tickets}"
        if base.patience is not None:
            yield f'patience = {{distribution = "exponential", mean = {base.patience!r}}}'
        if csv is None and not base.is_plain:
            yield from self._classes()

    def _classes(self) -> Iterator[str]:
        for size, side, share in self._kinds():
            yield ""
            yield "[[arrivals.classes]]"
            yield f"share = {share!r}"
            yield f"size = {size}"
            if side:
                yield f"attributes = {{side = {text(side)}}}"

    def _kinds(self) -> Iterator[tuple[int, str, float]]:
        """Yield size, side ("" if flexible) and the share of tickets; all shares sum to 1."""
        sides = self.base.sides or {ANY: 1.0}
        for place, share in enumerate(self.base.parties):
            for side, part in sides.items():
                tickets = share / (place + 1) * self._mean_size * part
                if tickets > 0.0:
                    yield place + 1, "" if side == ANY else side, tickets

    def csv(self, child: int = 0) -> str | None:
        """Return the rows of a run's arrivals; None if the scenario draws them itself.

        Args:
            child: Which child of the seed draws them.

        Raises:
            NotSupported: Parties whose players take roles at random hardly ever fit into a team.
        """
        base = self.base
        if not base.roles:
            return None
        rng = np.random.Generator(
            np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=(child,)))
        )
        times = np.cumsum(rng.exponential(1.0 / self.ticket_rate, self.tickets))
        kinds = list(self._kinds())
        chosen = rng.choice(len(kinds), self.tickets, p=_probabilities([k[2] for k in kinds]))
        lines = [f"at,size,roles,{TAKES},side"]
        for at, kind in zip(times.tolist(), chosen.tolist(), strict=True):
            size, side, _ = kinds[kind]
            names = self._party_roles(rng, size)
            roles = ["+".join(() if n == ANY else role_set(n, base.roles)) for n in names]
            takes = [name.replace("+", " or ") for name in names]
            lines.append(f"{at:.6f},{size},{'|'.join(roles)},{'|'.join(takes)},{side}")
        return "\n".join(lines) + "\n"

    def label(self, group: str) -> str:
        """Return the name of a group of players for people, from its name in `--by`."""
        if self.by == "size":
            return "solo" if group == "1" else f"party of {group}"
        if self.by == "side":
            return "either side" if group == FLEXIBLE else f"side {group}"
        return "any role" if group == ANY else group

    def _party_roles(self, rng: np.random.Generator, size: int) -> list[str]:
        """Draw the roles of a party's players so that they fit into one team."""
        base = self.base
        names = list(base.role_shares)
        probabilities = _probabilities(list(base.role_shares.values()))
        for _ in range(PARTY_TRIES):
            drawn = [names[i] for i in rng.choice(len(names), size, p=probabilities)]
            if _fits([role_set(name, base.roles) for name in drawn], dict(base.roles)):
                return drawn
        raise NotSupported(
            f"parties of {size} whose players take roles at random do not fit into a team; "
            "leave --parties or --roles out"
        )


def _fits(asked: list[tuple[str, ...]], free: dict[str, int]) -> bool:
    """Return whether each player gets one of their roles."""
    if not asked:
        return True
    return any(_fits(asked[1:], {**free, role: free[role] - 1}) for role in asked[0] if free[role])


def _probabilities(shares: list[float]) -> list[float]:
    total = math.fsum(shares)
    return [share / total for share in shares]


def texts(values: list[str]) -> str:
    """Return texts as a list in TOML."""
    return f"[{', '.join(map(text, values))}]"


def text(value: str) -> str:
    """Return a text in TOML."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _key(value: str) -> str:
    return value if value.isascii() and value.replace("_", "").isalnum() else text(value)
