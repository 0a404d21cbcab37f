"""All parts of "Rule Designs for Optimal Online Game Matchmaking", and their scenarios."""

from __future__ import annotations

from papers.shared.findings import Effort, Part
from papers.statements.source import Opening, Source
from papers.xu import (
    drift,
    k_players,
    latency,
    orders,
    packing,
    points,
    sides,
    true_2v2,
    two_v_two,
    unstable,
    zones,
)
from papers.xu.statements import SAYINGS


def parts(effort: Effort) -> list[Part]:
    """Return the parts, in the order of the paper."""
    return [
        k_players.k_players(effort),
        two_v_two.two_against_two(effort),
        packing.packing(effort),
        latency.latency(effort),
        orders.orders(effort),
        sides.with_sides(effort),
        unstable.unstable(effort),
        zones.with_zones(effort),
        drift.drift(effort),
        true_2v2.true_2v2(effort),
    ]


def scenarios(seed: int) -> dict[str, str]:
    """Return the texts of all scenarios by the names of their files.

    Args:
        seed: Those in `scenarios/papers` are of seed 0.
    """
    found: dict[str, str] = {}
    modules = (k_players, points, packing, drift, latency, orders, sides, unstable, zones, true_2v2)
    for module in modules:
        found |= module.texts(seed)
    return found


SOURCE = Source(
    title="Rule Designs for Optimal Online Game Matchmaking",
    sayings=SAYINGS,
    parts=parts,
    opening=Opening(
        "figure9", "figure5-printed", "reserve",
        "All mean waits of the paper hold, each by an exact chain and by simulation. The three "
        "variances are wrong in print, and so is the minimum that follows from one of them; the "
        "order of the curves stays as printed.",
    ),
)  # fmt: skip
