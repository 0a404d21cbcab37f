"""The parts of "Dynamic Matching With Teams"."""

from __future__ import annotations

from papers.shared.row import Effort, Part
from papers.wu import costs, skill, windows
from papers.wu.chain import chain


def wu(effort: Effort) -> list[Part]:
    """Return all parts; those that take long begin first."""
    return [costs.costs(effort), windows.windows(effort), skill.skill(effort), *chain()]


def scenarios(seed: int) -> dict[str, str]:
    """Return every scenario that is simulated, by its file's name; quick ones are among them."""
    all_of_them = Effort(quick=False, seed=seed)
    worlds = [*costs.worlds(), *windows.worlds(all_of_them), *skill.worlds()]
    return {world.file: world.toml(seed) for world in worlds}
