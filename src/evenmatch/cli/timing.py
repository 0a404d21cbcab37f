"""Times of a queue that contradict each other, or what clients do, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from evenmatch.lab.study.longer import target_of
from evenmatch.model.queue import Queue
from evenmatch.policies.registry import parse_policy

HEARTBEAT_SECONDS = 10.0
"""How often clients that follow no stream say that they are there, as the pages tell them."""
CALM = 3
"""Heartbeats that may be late or lost before a ticket is dropped."""


def timing_warnings(queue: Queue) -> Iterator[str]:
    """Yield sentences about times that work as written, and that no player can keep to.

    Args:
        queue: Valid; each sentence names a key and what to write.
    """
    target = target_of(queue, parse_policy(queue.policy))
    if target is not None:
        yield from _of_target(queue, target)
    silence = queue.silent_after
    if silence is not None and silence < 2.0 * HEARTBEAT_SECONDS:
        what = "players who are there would be dropped"
        if silence > HEARTBEAT_SECONDS:
            what = "one that is late or lost drops a player who is there"
        yield (
            f"silent_after = {silence:g}: clients send a heartbeat every {HEARTBEAT_SECONDS:g} s, "
            f"and {what}; write silent_after = {CALM * HEARTBEAT_SECONDS:g}, or let your clients "
            f"send one every {silence / CALM:.3g} s"
        )


def _of_target(queue: Queue, target: float) -> Iterator[str]:
    """Yield what alone takes as long as players shall wait."""
    accept = queue.accept
    if accept is not None and target <= accept.seconds:
        yield (
            f"target_wait is {target:g} s and counts the ready-check too, which alone may take "
            f"accept.seconds = {accept.seconds:g}: no policy keeps it if players take their time; "
            f'write target_wait = "{2.0 * accept.seconds:g}s", or a shorter ready-check'
        )
    held = queue.commit_jitter / 2.0
    if held and target <= held:
        yield (
            f"target_wait is {target:g} s, and commit_jitter = {queue.commit_jitter:g} alone holds "
            f"players back for {held:g} s on average: no policy keeps it; write target_wait = "
            f'"{4.0 * held:g}s", or a smaller commit_jitter'
        )
