"""The parts of "Dynamic Matching With Teams"."""

from __future__ import annotations

from papers.shared.findings import Effort, Part
from papers.statements.source import Opening, Source
from papers.wu import costs, skill, windows
from papers.wu.chain import chain
from papers.wu.statements import SAYINGS


def parts(effort: Effort) -> list[Part]:
    """Return all parts; those that take long begin first."""
    return [costs.costs(effort), windows.windows(effort), skill.skill(effort), *chain()]


def scenarios(seed: int) -> dict[str, str]:
    """Return every scenario that is simulated, by its file's name; quick ones are among them."""
    all_of_them = Effort(quick=False, seed=seed)
    worlds = [*costs.worlds(), *windows.worlds(all_of_them), *skill.worlds()]
    return {world.file: world.toml(seed) for world in worlds}


SOURCE = Source(
    title="Dynamic Matching With Teams",
    sayings=SAYINGS,
    parts=parts,
    opening=Opening(
        "cost_by_alpha", "threshold_by_q", "cost_by_threshold",
        "The theorem holds, checked against the best of all stationary policies; it needs skills "
        "of both kinds, and room for one player more than a match has.",
    ),
)  # fmt: skip
