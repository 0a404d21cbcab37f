"""What may surprise about a scenario, in sentences.

`surprises` says what a policy and the arrivals of a file do to each other that may not be what was
meant; `timing_warnings` names times of a queue that contradict each other or what clients do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import combinations

from evenmatch.criteria.base import Form
from evenmatch.criteria.registry import form_of
from evenmatch.engine.matching.pool import Pool
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.scenario import ArrivalClass, Arrivals, Choice, Scenario
from evenmatch.policies.base import Policy
from evenmatch.policies.hooks import TARGET, target_of
from evenmatch.policies.registry import is_built_in, parse_policy
from evenmatch.policies.shared.balance import Balance

CONTINUOUS = ("uniform", "normal", "exponential")
TOLERANCE = 0.01
"""Share of the players who may be too many for their roles before that is said."""
ROLES_TRIED = 8
"""Roles whose sets are tried, all of them."""


def surprises(scenario: Scenario, played: Iterable[tuple[Queue, Policy]]) -> Iterator[str]:
    """Yield sentences about sides that starve, wishes given up, and teams that are never even.

    Args:
        scenario: The file, with its arrivals.
        played: Its queues, each with the policy that works on it.
    """
    first = scenario.queues[0].name
    for queue, policy in played:
        is_first = queue.name == first
        roles = _roles(scenario.arrivals, queue) if is_first else None
        for each in (_wishes(queue, policy), _sides(scenario.arrivals, queue, is_first), roles):
            if each is not None:
                yield f"queue {queue.name}: {each}"
    yield from never_even(scenario, played)


def never_even(scenario: Scenario, played: Iterable[tuple[Queue, Policy]]) -> Iterator[str]:
    """Yield a sentence for each queue that waits for even teams where no two ever are.

    Args:
        scenario: The file, with its arrivals.
        played: Its queues, each with the policy that works on it.
    """
    arrivals = scenario.arrivals
    if arrivals is None:
        return
    for queue, policy in played:
        is_exact = (
            is_built_in(policy, "imbalance_threshold") and getattr(policy, "delta", None) == 0.0
        )
        if not (is_exact or is_built_in(policy, "patient")):
            continue
        balance = Balance(queue, queue.policy)
        drawn = arrivals.attributes.get(balance.attribute)
        is_given = arrivals.classes and all(
            balance.attribute in each.attributes for each in arrivals.classes
        )
        if drawn is not None and drawn.kind in CONTINUOUS and not is_given and not balance.step:
            yield (
                f"queue {queue.name}: {balance.attribute} is {drawn.kind}, so no two teams are "
                f"ever exactly even, and {queue.policy} starts no match; choose "
                "imbalance_threshold without delta=0, or compare sums with a step"
            )


def _wishes(queue: Queue, policy: Policy) -> str | None:
    if queue.format.side_choice != "prefer" or is_built_in(policy, "adaptive_sides"):
        return None
    return (
        f'side_choice = "prefer": the policy {queue.policy} lets nobody wait for a wished side and '
        "gives wishes up at once; adaptive_sides keeps them as long as enough players take any side"
    )


def _sides(arrivals: Arrivals | None, queue: Queue, is_first: bool) -> str | None:
    """Return whether those who insist on a side are more than may play them, in a duel."""
    form = queue.format
    if arrivals is None or not form.is_duel or not form.sides or form.side_choice == "prefer":
        return None
    rates = _rates(arrivals, queue.name, is_first)
    if rates is None:
        return None
    try:
        from evenmatch.theory.sides import sides

        a, b = form.sides
        flexible = sum(rate for side, rate in rates.items() if side not in form.sides)
        found = sides(a=rates.get(a, 0.0), b=rates.get(b, 0.0), flexible=flexible)
    except (ConfigError, ModuleNotFoundError):
        return None  # no rates that theory takes, or its packages are not installed
    if found.stable:
        return None
    crowded = [name for name, side in ((a, "a"), (b, "b")) if side in found.starved]
    who = " and those who insist on ".join(crowded)
    if found.growth:
        told = f"outnumber all who can play against them by {found.growth:.6g}/s"
    else:
        told = "are exactly as many as all who can play against them"
    stays = arrivals.patience is None and (queue.wait_max is None or queue.on_deadline == "keep")
    end = "the queue grows for ever" if found.growth else "their waits have no mean"
    if not stays:
        end = "many of them leave unmatched"
    return f"players who insist on {who} {told}: {end}; `theory sides` says what would do"


def _roles(arrivals: Arrivals | None, queue: Queue) -> str | None:
    """Return whether so many players take only some of the roles that not all can play."""
    mix = None if arrivals is None or arrivals.world is None else arrivals.world.roles
    if mix is None or not queue.format.roles:
        return None
    seats = dict(mix.seats)
    size, told, play = sum(seats.values()), "", 1.0 - TOLERANCE
    lists = {frozenset(each) for each in mix.lists if each}
    for few in {frozenset().union(*some) for some in _some(lists)}:
        share = sum(
            part
            for each, part in zip(mix.lists, mix.shares, strict=True)
            if each and few >= {*each}
        )
        taken = sum(seats[role] for role in few)
        # Every match needs so many of the others that no more matches than these can be made.
        if taken < size and (1.0 - share) / (1.0 - taken / size) < play:
            play = (1.0 - share) / (1.0 - taken / size)
            names = " or ".join(role for role in seats if role in few)
            told = f"{100 * share:.3g} of 100 players take only {names}, {taken} of {size} seats"
    if not told:
        return None
    return (
        f"{told} of a team: at most about {100 * play:.2g} of 100 players can play; "
        "change arrivals.world.roles"
    )


def _some(lists: set[frozenset[str]]) -> Iterator[tuple[frozenset[str], ...]]:
    """Yield the lists that go together into a set of roles: at most `ROLES_TRIED` of them."""
    roles = sorted(frozenset().union(*lists))[:ROLES_TRIED] if lists else []
    for count in range(1, len(roles) + 1):
        for few in combinations(roles, count):
            inside = tuple(each for each in lists if each <= {*few})
            if inside:
                yield inside


def _rates(arrivals: Arrivals, queue: str, is_first: bool) -> dict[str, float] | None:
    """Return the players per second by side in the end; None where the file does not say it."""
    if arrivals.process not in ("poisson", "regular"):
        return None
    every = arrivals.rate
    if arrivals.interval:
        every = 1.0 / arrivals.interval
    found: dict[str, float] = {}
    for each in arrivals.classes or (ArrivalClass(share=1.0),):
        if queue not in each.queues and (each.queues or not is_first):
            continue
        if len(each.queues) > 1:
            return None
        parts = _side_parts(arrivals, each)
        amount = each.amount(math.inf)
        if parts is None or (each.rate is None and every is None):
            return None
        if each.rate is None:
            amount *= every or 0.0
        for side, part in parts.items():
            found[side] = found.get(side, 0.0) + part * amount
    return found


def _side_parts(arrivals: Arrivals, of: ArrivalClass) -> dict[str, float] | None:
    """Return the part of a class that asks for each side."""
    if "side" in of.attributes:
        return {str(of.attributes["side"]): 1.0}
    drawn = arrivals.attributes.get("side")
    if drawn is None:
        return {"": 1.0}
    if not isinstance(drawn, Choice):
        return None
    probs = drawn.probs or (1.0 / len(drawn.values),) * len(drawn.values)
    parts: dict[str, float] = {}
    for value, part in zip(drawn.values, probs, strict=True):
        parts[str(value)] = parts.get(str(value), 0.0) + part
    return parts


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
    yield from _of_ready_check(queue)
    policy = parse_policy(queue.policy)
    target = target_of(queue, policy)
    if target is not None:
        yield from _of_target(queue, target, is_own=getattr(policy, TARGET) is not None)
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


def _of_ready_check(queue: Queue) -> Iterator[str]:
    """Yield that a ready-check outlasts the longest wait."""
    accept, wait_max = queue.accept, queue.wait_max
    if accept is None or wait_max is None or queue.on_deadline == "keep":
        return
    if accept.seconds >= wait_max:
        end = "play with bots" if queue.on_deadline == "bots" else "expire"
        found = f"unless somebody replaces that player within {accept.repair:g} s"
        yield (
            f"accept.seconds = {accept.seconds:g} is no less than wait_max = {wait_max:g}: if one "
            f"player lets a ready-check run out, the others are past wait_max by then, and {end}"
            f"{', ' + found if accept.repair else ''}; write a shorter ready-check or a longer "
            "wait_max"
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


def _of_target(queue: Queue, target: float, *, is_own: bool) -> Iterator[str]:
    """Yield what alone takes as long as players shall wait.

    Args:
        queue: The queue.
        target: The mean wait that its policy keeps.
        is_own: Whether the policy's SPEC says so.
    """

    def write(wait: float) -> str:
        return f"target_wait={wait:g} in its policy" if is_own else f'target_wait = "{wait:g}s"'

    accept = queue.accept
    if accept is not None and target <= accept.seconds:
        yield (
            f"target_wait is {target:g} s and counts the ready-check too, which alone may take "
            f"accept.seconds = {accept.seconds:g}: no policy keeps it if players take their time; "
            f"write {write(2.0 * accept.seconds)}, or a shorter ready-check"
        )
    held = queue.commit_jitter / 2.0
    if held and target <= held:
        yield (
            f"target_wait is {target:g} s, and commit_jitter = {queue.commit_jitter:g} alone holds "
            f"players back for {held:g} s on average: no policy keeps it; write "
            f"{write(4.0 * held)}, or a smaller commit_jitter"
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
        for warning in _warnings(solve_time if pool.slot.is_declared else 0.0, pool):
            yield f"queue {pool.name}: {warning}"


def _warnings(solve_time: float, pool: Pool) -> Iterator[str]:
    policy, wait_max = pool.policy, pool.queue.wait_max
    every = getattr(policy, "rounds_every", getattr(policy, "every", None))
    if pool.queue.on_deadline == "keep":
        wait_max = None
    if wait_max is not None and solve_time >= wait_max > 0.0:
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
    if wait_max is not None and solve_time == 0.0 and wait_max < every:
        yield (
            f"rounds come every {every:g} s and tickets end after {wait_max:g} s: a player who "
            "just "
            f"missed a round is not matched; set every to {wait_max / 4.0:.3g} or less, or a "
            "longer "
            "wait_max"
        )
    if wait_max is not None and 0.0 < solve_time < wait_max < every + solve_time:
        yield (
            f"a player who just missed a round waits {every:g} s for the next one and "
            f"{solve_time:g} s for its plan, and tickets end after {wait_max:g} s"
        )
