"""Section II-B: matches of k single players, (1), (2), Lemma 1 and figure 2."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from evenmatch.theory.k_player import k_player
from papers.shared.findings import Effort, Findings, Part, Row
from papers.shared.words import table_of_rows
from papers.xu.printed import wait_of_k
from papers.xu.rows import CHANCE, agreement, fractions, rounded, tell
from papers.xu.trial import Trial, TrialFigures, observe
from papers.xu.worlds import players_toml

FIXED = ((2, 1.0), (4, 1.0), (10, 0.5))
"""k and players per second."""
DRAWN = 3
K_MAX = 12
LENGTH = 1_000_000
CHAIN = 4
"""k of figure 2: the paper's Mahjong."""


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A k-player match under an order of service.

    Args:
        name: Of its file.
        k: Players of a match.
        rate: Players per second.
        order: Whom a match takes first.
        is_drawn: Whether the seed chose it.
        number: Offset of its seed from that of the run.
    """

    name: str
    k: int
    rate: float
    order: str = "oldest"
    is_drawn: bool = False
    number: int = 0

    @property
    def scenario(self) -> str:
        """Return the name of its file."""
        return f"xu-k-player-{self.name}.toml"

    @property
    def params(self) -> dict[str, Any]:
        """Return the setting as in rows."""
        return {"k": self.k, "rate": self.rate, **(CHANCE if self.is_drawn else {})}

    def text(self, seed: int) -> str:
        """Return the scenario."""
        policy = f"first_come:order={self.order}"
        return players_toml(self.k, self.rate, policy=policy, count=LENGTH, seed=seed + self.number)


def points(seed: int) -> list[Point]:
    """Return the settings: ours, and those that the seed chooses."""
    rng = np.random.default_rng((seed, 1))
    found = [Point(name=f"{k}", k=k, rate=rate) for k, rate in FIXED]
    found.append(Point(name="4-lifo", k=4, rate=1.0, order="lifo"))
    for number in range(1, DRAWN + 1):
        k = int(rng.integers(2, K_MAX + 1))
        (rate,) = rounded([rng.uniform(0.1, 5.0)])
        found.append(Point(name=f"drawn-{number}", k=k, rate=rate, is_drawn=True))
    return [msgspec.structs.replace(each, number=at) for at, each in enumerate(found)]


def texts(seed: int) -> dict[str, str]:
    """Return the scenarios by their names."""
    return {each.scenario: each.text(seed) for each in points(seed)}


def k_players(effort: Effort) -> Part:
    """Return the part of k-player matches."""
    own = points(effort.seed)
    tasks = [
        Trial(
            name=each.scenario,
            text=each.text(effort.seed),
            count=80_000 if effort.quick else LENGTH,
            wants_states=True,
        )
        for each in own
    ]
    ids = tuple(f"xu.{name}" for name in ("1", "2", "lemma1", "figure2"))
    return Part(ids, observe, tasks, partial(_finish, effort, own))


def _finish(effort: Effort, own: Sequence[Point], results: Sequence[TrialFigures]) -> Findings:
    rows = []
    for point, found in zip(own, results, strict=True):
        rows += _lemma1(point, found) if point.order != "oldest" else _formulas(point, found)
    rows.append(
        tell(
            "1", "mean wait of the match of one, which plays at once", k=1, rate=1.0,
            printed=wait_of_k(1, *fractions(1.0)), exact=0.0,
        )
    )  # fmt: skip
    text = f"Matches of k single players; rates are players per second. {agreement(rows, effort)}"
    table = table_of_rows("k-player matches: (1), (2), Lemma 1, figure 2", text, rows)
    return Findings(tuple(rows), (table,), scenarios=texts(effort.seed))


def _formulas(point: Point, found: TrialFigures) -> list[Row]:
    exact = k_player(k=point.k, rate=point.rate)
    setting: dict[str, Any] = {**point.params, "scenario": point.scenario}
    (rate,) = fractions(point.rate)
    rows = [
        tell("1", "mean wait", **setting, printed=wait_of_k(point.k, rate), exact=exact.mean,
             found=found.mean()),
        tell("1", "variance of the wait, which is not printed", **setting, exact=exact.var,
             found=found.var()),
        tell("2", "probability that nobody waits", **setting, printed=1.0 / point.k,
             exact=exact.p_no_wait if point.k == 1 else 1.0 / point.k, found=found.share("0")),
    ]  # fmt: skip
    if point.k == CHAIN and not point.is_drawn:
        rows += [
            tell("figure2", f"share of time with {count} waiting", **setting, printed=0.25,
                 exact=0.25, found=found.share(str(count)))
            for count in range(CHAIN)
        ]  # fmt: skip
    return rows


def _lemma1(point: Point, found: TrialFigures) -> list[Row]:
    setting: dict[str, Any] = {**point.params, "scenario": point.scenario, "order": point.order}
    (rate,) = fractions(point.rate)
    exact = k_player(k=point.k, rate=point.rate)
    return [
        tell("lemma1", "mean wait where the youngest play first", **setting,
             printed=wait_of_k(point.k, rate), exact=exact.mean, found=found.mean()),
        # If at most k ever wait, all of them play, so there is no choice.
        tell("lemma1", "variance of the wait where the youngest play first", **setting,
             exact=exact.var, found=found.var()),
    ]  # fmt: skip
