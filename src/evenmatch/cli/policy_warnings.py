"""What a policy and the arrivals of a file do to each other that may not be what was meant."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import combinations

from evenmatch.errors import ConfigError
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import ArrivalClass, Arrivals, Scenario
from evenmatch.policies.adaptive_sides import AdaptiveSides
from evenmatch.policies.base import Policy
from evenmatch.policies.imbalance_threshold import ImbalanceThreshold
from evenmatch.policies.patient import Patient
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
        is_exact = isinstance(policy, ImbalanceThreshold) and policy.delta == 0.0
        if not (is_exact or isinstance(policy, Patient)):
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
    if queue.format.side_choice != "prefer" or isinstance(policy, AdaptiveSides):
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
        told = f"exceed all who may play them by {found.growth:.6g}/s"
    else:
        told = "are exactly as many as all who may play them"
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
    if drawn.kind != "choice":
        return None
    probs = drawn.probs or (1.0 / len(drawn.values),) * len(drawn.values)
    parts: dict[str, float] = {}
    for value, part in zip(drawn.values, probs, strict=True):
        parts[str(value)] = parts.get(str(value), 0.0) + part
    return parts
