"""The parts of the thread "Matching players in an online 1vs1 game", and what its report shows."""

from __future__ import annotations

from papers.gamedev.examples import examples
from papers.gamedev.pictures import PICTURES
from papers.gamedev.population import population
from papers.gamedev.recorded import recorded
from papers.gamedev.statements import SAYINGS
from papers.shared.findings import Effort, Part
from papers.statements.source import Opening, Source


def parts(effort: Effort) -> list[Part]:
    """Return all parts; those that take long begin first."""
    return [*population(effort), *examples(effort), recorded(effort)]


SOURCE = Source(
    title="Matching players in an online 1vs1 game",
    sayings=SAYINGS,
    parts=parts,
    opening=Opening(
        "lonely", "chance", "trade",
        "Every suggestion of the thread was built and meets the same players. The examples come "
        "out as told, and it is lonely at the top.",
    ),
    pictures=PICTURES,
)  # fmt: skip
