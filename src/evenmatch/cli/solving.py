"""Whether the time that jobs take goes together with rounds and deadlines."""

from __future__ import annotations

from collections.abc import Iterator

from evenmatch.engine.matching.pool import Pool


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
