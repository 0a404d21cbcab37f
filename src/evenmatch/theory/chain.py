"""Finite Markov chains solved without subtraction: exactly in fractions, accurately in floats.

A chain is a mapping state -> {state: rate}. States are eliminated one after the other (Grassmann,
Taksar and Heyman): flow through the eliminated state becomes direct flow. Only sums, products and
quotients of positive numbers occur, so floats keep nearly all of their digits however far apart
the rates are, and fractions stay exact. The state with the fewest transitions through it goes
first, which keeps sparse chains sparse.

Source:
    Grassmann, Taksar, Heyman, Regenerative analysis and steady state distributions for Markov
    chains, Operations Research 33 (1985).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from evenmatch.errors import ConfigError

State = TypeVar("State", bound=Hashable)
Number = TypeVar("Number", Fraction, float)
Chain = Mapping[State, Mapping[State, Number]]

STATES_MAX = 20_000


def reachable(
    start: State,
    step: Callable[[State], Mapping[State, Number]],
    *,
    states_max: int = STATES_MAX,
) -> dict[State, dict[State, Number]]:
    """Return the chain of all states that can be reached from `start`.

    Args:
        start: The first state.
        step: The rates out of a state; rates of 0 and back to the same state are left out.
        states_max: Most states.

    Raises:
        ConfigError: There are more states.

    Complexity:
        One call of `step` per state.
    """
    chain: dict[State, dict[State, Number]] = {}
    waiting = [start]
    seen = {start}
    while waiting:
        state = waiting.pop()
        chain[state] = {to: rate for to, rate in step(state).items() if rate > 0 and to != state}
        for to in chain[state]:
            if to not in seen:
                seen.add(to)
                waiting.append(to)
        if len(seen) > states_max:
            raise ConfigError(
                f"the chain has more than {states_max:,} states and may have no end; "
                "give smaller numbers, or simulate"
            )
    return chain


def stationary(chain: Chain[State, Number]) -> dict[State, Number]:
    """Return the long-run share of time in each state; it sums to 1.

    Args:
        chain: Has one closed class, all of whose states can reach each other; states outside that
            class, to which it never returns, have share 0.

    Raises:
        ConfigError: There are several closed classes, so the share depends on the start.

    Complexity:
        O(n d^2) for n states with d transitions through an eliminated one; at worst O(n^3).

    >>> stationary({"idle": {"busy": 1.0}, "busy": {"idle": 3.0}})
    {'idle': 0.75, 'busy': 0.25}
    """
    closed = _closed_class(chain)
    if len(closed) == 1:
        (alone,) = closed
        return {state: _like(chain, int(state == alone)) for state in chain}
    links = _Links({state: chain[state] for state in closed}, exits={})
    order = links.eliminate(keep=1)
    (last,) = links.left
    share: dict[State, Number] = {state: _like(chain, 0) for state in chain}
    share[last] = _like(chain, 1)
    for gone in reversed(order):
        flow = sum((share[of] * rate for of, rate in gone.into.items()), start=_like(chain, 0))
        share[gone.state] = flow / gone.total
    whole = _total(share.values())
    return {state: each / whole for state, each in share.items()}


def until_exit(
    chain: Chain[State, Number],
    exits: Mapping[State, Number],
    rewards: Mapping[State, Number],
) -> dict[State, Number]:
    """Return the reward collected from each state on until the chain is left.

    Rewards of 1 give the mean time; rewards of twice that, the mean square of the time.

    Args:
        chain: Rates between the states.
        exits: Rates out of the chain; some exit can be reached from every state.
        rewards: Earned per second in a state.

    Raises:
        ConfigError: From some state the chain is never left.

    Complexity:
        As `stationary`.

    >>> until_exit({"a": {"b": 1.0}, "b": {}}, {"b": 2.0}, {"a": 1.0, "b": 1.0})
    {'a': 1.5, 'b': 0.5}
    """
    links = _Links(chain, exits)
    order = links.eliminate(keep=0)
    earned = {state: rewards[state] for state in chain}
    for gone in order:
        for of, rate in gone.into.items():
            earned[of] = earned[of] + rate * earned[gone.state] / gone.total
    collected: dict[State, Number] = {}
    for gone in reversed(order):
        later = sum((rate * collected[to] for to, rate in gone.out.items()), start=_zero(rewards))
        collected[gone.state] = (earned[gone.state] + later) / gone.total
    return {state: collected[state] for state in chain}


class _EliminatedState:
    """An eliminated state: the rates into it and out of it at its elimination."""

    __slots__ = ("into", "out", "state", "total")

    def __init__(self, state: Any, into: dict[Any, Any], out: dict[Any, Any], total: Any) -> None:
        self.state = state
        self.into = into
        self.out = out
        self.total = total


class _Links:
    """The rates between the states that are not yet eliminated."""

    def __init__(self, chain: Mapping[Any, Mapping[Any, Any]], exits: Mapping[Any, Any]) -> None:
        self.left: dict[Any, dict[Any, Any]] = {
            state: {to: rate for to, rate in row.items() if to != state}
            for state, row in chain.items()
        }
        self.into: dict[Any, set[Any]] = {state: set() for state in chain}
        for state, row in self.left.items():
            for to in row:
                self.into[to].add(state)
        self.exits = dict(exits)

    def eliminate(self, keep: int) -> list[_EliminatedState]:
        """Eliminate all states but `keep`, always the one with the fewest transitions first."""
        number = {state: index for index, state in enumerate(self.left)}
        heap = [(self._ways(state), number[state], state) for state in self.left]
        heapq.heapify(heap)
        order: list[_EliminatedState] = []
        while len(self.left) > keep:
            ways, _, state = heapq.heappop(heap)
            if state not in self.left or ways != self._ways(state):
                continue
            gone = self._without(state)
            order.append(gone)
            for near in gone.into.keys() | gone.out.keys():
                heapq.heappush(heap, (self._ways(near), number[near], near))
        return order

    def _ways(self, state: Any) -> int:
        return len(self.into[state]) * len(self.left[state])

    def _without(self, state: Any) -> _EliminatedState:
        """Remove a state and turn the flow through it into direct flow."""
        out = self.left.pop(state)
        into = {of: self.left[of].pop(state) for of in self.into.pop(state)}
        for to in out:
            self.into[to].discard(state)
        leaves = self.exits.pop(state, None)
        total = _total([*out.values(), *([] if leaves is None else [leaves])])
        if not total > 0:
            raise ConfigError(
                "the chain has states that are never left: a wait that begins there has no end"
            )
        for of, rate in into.items():
            row = self.left[of]
            for to, onward in out.items():
                if to == of:
                    continue
                through = rate * onward / total
                row[to] = row[to] + through if to in row else through
                self.into[to].add(of)
            if leaves is not None:
                through = rate * leaves / total
                self.exits[of] = self.exits[of] + through if of in self.exits else through
        return _EliminatedState(state, into, out, total)


def _total(numbers: Iterable[Any]) -> Any:
    listed: Sequence[Any] = list(numbers)
    return math.fsum(listed) if any(isinstance(x, float) for x in listed) else sum(listed)


def _like(chain: Chain[State, Number], value: int) -> Number:
    """Return a whole number in the number type of the chain's rates."""
    for row in chain.values():
        for rate in row.values():
            return type(rate)(value)
    return float(value)  # type: ignore[return-value]


def _zero(rewards: Mapping[State, Number]) -> Number:
    return type(next(iter(rewards.values())))(0)


def _closed_class(chain: Chain[State, Number]) -> list[State]:
    """Return the states to which the chain returns for ever."""
    number = {state: index for index, state in enumerate(chain)}
    ends = np.array(
        [(number[state], number[to]) for state, row in chain.items() for to in row],
        dtype=np.int64,
    ).reshape(-1, 2)
    graph = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(chain),) * 2)
    count, class_of = connected_components(graph.tocsr(), directed=True, connection="strong")
    is_closed = np.ones(count, dtype=bool)
    crossing = class_of[ends[:, 0]] != class_of[ends[:, 1]]
    is_closed[class_of[ends[crossing, 0]]] = False
    if is_closed.sum() != 1:
        raise ConfigError(
            f"the chain ends in one of {int(is_closed.sum())} sets of states for ever, by chance; "
            "it needs one"
        )
    return [state for state in chain if is_closed[class_of[number[state]]]]
