"""Times of a queue that contradict each other, or what clients do, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from evenmatch.criteria.base import Form
from evenmatch.criteria.registry import form_of
from evenmatch.engine.matching.pool import Pool
from evenmatch.lab.study.sweep import target_of
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.policies.registry import parse_policy

HEARTBEAT_SECONDS = 10.0
"""How often clients that follow no stream say that they are there, as the pages tell them."""
WAIT_USUAL, ACCEPT_USUAL = 21_600.0, 600.0
"""Longer than these nobody waits for a match, or is asked whether they are there; seconds."""
CALM = 3
"""Heartbeats that may be late or lost before a ticket is dropped."""


def timing_warnings(queue: Queue) -> Iterator[str]:
    """Yield sentences about times that work as written, and that no player can keep to.

    Args:
        queue: Valid; each sentence names a key and what to write.
    """
    yield from _of_units(queue)
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


def _of_units(queue: Queue) -> Iterator[str]:
    """Yield what looks as if it were written in another unit."""
    asked = 0.0 if queue.accept is None else queue.accept.seconds
    for key, value, most in (("wait_max", queue.wait_max or 0.0, WAIT_USUAL),
                             ("accept.seconds", asked, ACCEPT_USUAL)):  # fmt: skip
        if value > most:
            yield f"{key} = {value:g} is {value / 3600.0:.3g} hours: times are in seconds"
    compared: list[Criterion | Rule] = [*queue.criteria, *queue.rules]
    for each in compared:
        if form_of(each) is not Form.PLACES:
            continue
        keys = ("best", "worst") if isinstance(each, Criterion) else ("limit",)
        for key in keys:
            bound: float | None = getattr(each, key)
            if bound is not None and 0.0 < bound < 1.0:
                yield f"{key} = {bound:g} of {each.kind}: latencies are in milliseconds"


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


# Whether the time that jobs take goes together with rounds and deadlines.


def solving_warnings(solve_time: float, pools: list[Pool]) -> Iterator[str]:
    """Yield sentences about what the time until a plan is there leaves undone.

    Args:
        solve_time: Seconds until a job's result arrives.
        pools: All queues at work.
    """
    if solve_time > 0.0 and not any(pool.slot.is_declared for pool in pools):
        yield "solve_time has no effect: no queue's policy computes in the background"
    for pool in pools:
        if solve_time > 0.0 and pool.slot.is_declared:
            for warning in _warnings(solve_time, pool):
                yield f"queue {pool.name}: {warning}"


def _warnings(solve_time: float, pool: Pool) -> Iterator[str]:
    every = getattr(pool.policy, "every", None)
    wait_max = pool.queue.wait_max
    if pool.queue.on_deadline == "keep":
        wait_max = None
    if wait_max is not None and solve_time >= wait_max:
        yield (
            f"a plan takes solve_time = {solve_time:g} s and a ticket waits {wait_max:g} s at the "
            "most, so none is matched by a plan; set a shorter solve_time or a longer wait_max"
        )
    if not isinstance(every, int | float):
        return
    if every < solve_time:
        yield (
            f"rounds come every {every:g} s and a plan takes solve_time = {solve_time:g} s: "
            "rounds that fall due meanwhile are skipped"
        )
    if wait_max is not None and solve_time < wait_max < every + solve_time:
        yield (
            f"who just missed a round waits {every:g} s for the next one and {solve_time:g} s for "
            f"its plan, and tickets end after {wait_max:g} s"
        )
