"""The parts of "Galactron", the blog on the matchmaking of Awesomenauts."""

from __future__ import annotations

from papers.galactron.descents import retries, speed, starts
from papers.galactron.effort import effort_ladder
from papers.galactron.meetings import meetings
from papers.galactron.proofs import proofs
from papers.galactron.scoring import scoring
from papers.galactron.sizes import sizes
from papers.galactron.streams import countdown, streams
from papers.galactron.weights import objectives, weights
from papers.shared.row import Effort, Part


def galactron(effort: Effort) -> list[Part]:
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
