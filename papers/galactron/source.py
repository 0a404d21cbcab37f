"""The parts of "Galactron", the blog on the matchmaking of Awesomenauts."""

from __future__ import annotations

from papers.galactron.descents import retries, speed, starts
from papers.galactron.effort import effort_ladder
from papers.galactron.meetings import meetings
from papers.galactron.pictures import PICTURES
from papers.galactron.proofs import proofs
from papers.galactron.scoring import scoring
from papers.galactron.sizes import sizes
from papers.galactron.statements import SAYINGS
from papers.galactron.streams import countdown, streams
from papers.galactron.weights import objectives, weights
from papers.shared.findings import Effort, Part
from papers.statements.source import Opening, Source


def parts(effort: Effort) -> list[Part]:
    """Return all parts; those that take long begin first."""
    return [
        streams(effort),
        effort_ladder(effort),
        sizes(effort),
        retries(effort),
        proofs(effort),
        weights(effort),
        objectives(effort),
        meetings(effort),
        starts(effort),
        countdown(effort),
        scoring(effort),
        speed(effort),
    ]


SOURCE = Source(
    title="The matchmaking of Awesomenauts (Galactron)",
    sayings=SAYINGS,
    parts=parts,
    opening=Opening(
        "pool", "roots", "streams-200",
        "The rules, the descents and the rounds were built as the blog tells them, on players "
        "drawn from our own model of the world.",
    ),
    pictures=PICTURES,
)  # fmt: skip
