"""The parts of "Galactron", the blog on the matchmaking of Awesomenauts."""

from __future__ import annotations

from evenmatch.lab.reproduce.galactron.descents import retries, speed, starts
from evenmatch.lab.reproduce.galactron.effort import effort_ladder
from evenmatch.lab.reproduce.galactron.meetings import meetings
from evenmatch.lab.reproduce.galactron.proofs import proofs
from evenmatch.lab.reproduce.galactron.scoring import scoring
from evenmatch.lab.reproduce.galactron.sizes import sizes
from evenmatch.lab.reproduce.galactron.streams import countdown, streams
from evenmatch.lab.reproduce.galactron.weights import objectives, weights
from evenmatch.lab.reproduce.row import Effort, Part


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
