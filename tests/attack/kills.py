"""A server is killed under load, from outside and at chosen points inside, again and again."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

from tests.attack.report import Row
from tests.integration.kill_points import POINTS, rounds


def kills(folder: Path, seconds: float) -> list[Row]:
    """Kill at each point in turn for twice so many seconds, and ask who was lost or doubled."""
    end, seed = monotonic() + 2 * seconds, 0
    killed, created, cancelled, matches = 0, 0, 0, 0
    losses: list[str] = []
    while not seed or monotonic() < end:
        witness = rounds(folder / str(seed), POINTS, seed)
        seed += 1
        killed += len(witness.reached)
        created += len(witness.created)
        cancelled += len(witness.cancelled)
        matches += len(witness.matches)
        losses += witness.losses
    doubled = [each for each in losses if "times" in each or " too" in each]
    lost = len(losses) - len(doubled)
    told = f"{created:,} creates, {cancelled:,} cancels, {matches:,} matches"
    return [
        Row("kills", "kills", killed, "each point", killed == seed * len(POINTS)),
        Row("kills", "acknowledged", told, "(told)", created > 0),
        Row("kills", "acknowledged, then lost or changed", lost, "0", not lost),
        Row("kills", "twice", len(doubled), "0", not doubled),
    ]
