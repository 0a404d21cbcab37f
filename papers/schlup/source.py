"""The parts of "Automatic Game Matching", and what its report shows."""

from __future__ import annotations

from papers.schlup.ahead import lookahead, ticks
from papers.schlup.curves import curves
from papers.schlup.formulas import formulas
from papers.schlup.groups import groups
from papers.schlup.pictures import PICTURES
from papers.schlup.statements import SAYINGS
from papers.schlup.table3 import table3
from papers.shared.findings import Effort, Part
from papers.statements.source import Opening, Source


def parts(effort: Effort) -> list[Part]:
    """Return all parts; those that take long begin first."""
    return [
        table3(effort),
        lookahead(effort),
        *formulas(effort),
        curves(effort),
        ticks(effort),
        groups(effort),
    ]


SOURCE = Source(
    title="Automatic Game Matching",
    sayings=SAYINGS,
    parts=parts,
    opening=Opening(
        "figure2-a10", "bots", "policies",
        "The algorithms do what the paper says of them, and the formulas choose their parameters "
        "well. The slips in (3), (4) and (8), and in (7) and Table 1 for several criteria, are "
        "mended by one term each.",
    ),
    pictures=PICTURES,
)  # fmt: skip
