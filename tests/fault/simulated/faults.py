"""What goes wrong in a run: a list of faults, drawn from the seed, that may be made shorter."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from tests.fault.simulated.loop import World
from tests.fault.simulated.network import CLIENTS, STORE, Network
from tests.fault.simulated.node import Node
from tests.fault.simulated.store import Store

PER_RUN = 50
"""Faults of a run, beside those of single messages."""
SHARES = {
    "kill": 5,
    "stop": 2,
    "pause": 6,
    "long pause": 1,
    "cut from the store": 4,
    "long cut from the store": 1,
    "cut from the clients": 3,
    "cut off": 2,
    "step of a clock": 8,
    "outage": 5,
    "answers lost": 6,
    "appends late": 4,
    "disk full": 3,
    "write errors": 4,
    "kill at a write": 4,
}
"""How often each kind comes, beside the others."""
SECONDS: dict[str, tuple[float, float]] = {
    "pause": (0.1, 6.0),
    "long pause": (34.0, 50.0),
    "cut from the store": (0.2, 12.0),
    "long cut from the store": (34.0, 60.0),
    "cut from the clients": (0.2, 10.0),
    "cut off": (5.0, 45.0),
    "outage": (0.1, 10.0),
    "disk full": (0.1, 10.0),
}
QUIET_BEFORE, QUIET_AFTER = 30.0, 50.0
LONG, LONG_UNTIL = 13.0, 0.8
"""Seconds from which on a fault begins earlier, in this share of the time."""
STEPS = (-3600.0, -60.0, -1.0, 0.5, 30.0, 3600.0)
"""Seconds by which wall clocks step."""


class Fault(msgspec.Struct, frozen=True):
    """Something that goes wrong.

    Args:
        at: The world's second.
        kind: One of `SHARES`.
        node: To whom; the number of a node, or -1 for whoever serves then.
        amount: Seconds, steps or answers.
    """

    at: float
    kind: str
    node: int
    amount: float


def draw(chance: random.Random, until: float, quiet: float | None) -> list[Fault]:
    """Return the faults of a run, in order.

    Args:
        chance: Of the seed.
        until: No fault begins later, seconds.
        quiet: When whoever serves is lost to the others, if all is quiet then but for that; its
            clock is set back just then.
    """
    kinds, weights = list(SHARES), list(SHARES.values())
    found = []
    for kind in chance.choices(kinds, weights, k=PER_RUN):
        low, high = SECONDS.get(kind, (1.0, 3.0))
        amount = chance.uniform(low, high)
        if kind == "step of a clock":
            amount = chance.choice(STEPS)
        node = chance.choice((-1, -1, 0, 1, 2))
        at = chance.uniform(2.0, until)
        if quiet is not None and quiet - QUIET_BEFORE < at < quiet + QUIET_AFTER:
            at = chance.uniform(quiet + QUIET_AFTER, until)
        found.append(Fault(at, kind, node, amount))
    found = [_sooner(each) for each in found]
    if quiet is not None:
        kind = chance.choice(("long pause", "long cut from the store"))
        at, amount = chance.uniform(quiet, quiet + 4.0), chance.uniform(*SECONDS[kind])
        found.append(Fault(at, kind, -1, amount))
        found.append(Fault(at + 1.0, "step of a clock", -1, STEPS[0]))
    return sorted(found, key=lambda each: each.at)


def lost_at(faults: Sequence[Fault], quiet: float) -> float:
    """Return when whoever serves was lost in a quiet run."""
    kinds = ("long pause", "long cut from the store")
    ats = (each.at for each in faults if each.kind in kinds and each.at >= quiet)
    return min(ats, default=quiet)


def _sooner(fault: Fault) -> Fault:
    """Return the fault, at an instant at which it is over in time."""
    is_long = fault.amount > LONG and fault.kind in SECONDS
    return msgspec.structs.replace(fault, at=fault.at * LONG_UNTIL) if is_long else fault


class Injector:
    """Lets faults happen.

    Args:
        nodes: To whom.
        network: Between whom.
        stores: One for each game; a fault is that of one of them.
    """

    def __init__(self, nodes: list[Node], network: Network, stores: Sequence[Store]) -> None:
        self._nodes = nodes
        self._network = network
        self._stores = stores
        self._world: World = network.world
        self._outages: Counter[Store] = Counter()
        self._fills: Counter[Store] = Counter()

    def plan(self, faults: list[Fault], until: float) -> None:
        """Let these faults happen at their instants, and none at all after a last one."""
        for fault in faults:
            self._world.at(fault.at, partial(self._begin, fault))
        self._world.at(until, self._disarm)

    def _disarm(self) -> None:
        """End what waits for a request to happen at: a node may write nothing for long."""
        for store in self._stores:
            store.answers_to_lose = store.appends_to_delay = store.writes_to_fail = 0
            store.kills.clear()

    def _begin(self, fault: Fault) -> None:
        self._network.faults[fault.kind] += 1
        self._network.note("fault", fault.kind, fault.node, fault.amount)
        node, store = self._node(fault.node), self._stores[int(fault.at * 10) % len(self._stores)]
        ends: Callable[[], object] | None = None
        if fault.kind == "kill":
            node.kill()
        elif fault.kind == "stop":
            node.stop()
        elif fault.kind in ("pause", "long pause"):
            node.pause()
            ends = node.resume
        elif fault.kind == "step of a clock":
            node.wall_off += fault.amount
        elif fault.kind == "outage":
            ends = self._outage(store, "hangs" if fault.node % 2 else "refuses")
        elif fault.kind == "answers lost":
            store.answers_to_lose = int(fault.amount)
        elif fault.kind == "appends late":
            store.appends_to_delay = int(fault.amount)
        elif fault.kind == "write errors":
            store.writes_to_fail = int(fault.amount)
        elif fault.kind == "kill at a write":
            store.kills[node.name] = node.kill
        elif fault.kind == "disk full":
            ends = self._fill(store)
        else:
            ends = self._cut(node, fault.kind)
        if ends is not None:
            self._world.after(fault.amount, ends)

    def _node(self, number: int) -> Node:
        """Return the node of a number; for -1 one that serves, the first if none does."""
        serving = [each for each in self._nodes if each.present]
        if number < 0:
            return serving[0] if serving else self._nodes[0]
        return self._nodes[number % len(self._nodes)]

    def _outage(self, store: Store, how: str) -> Callable[[], None]:
        self._outages[store] += 1
        store.fail("hangs" if how == "hangs" else "refuses")

        def end() -> None:
            self._outages[store] -= 1
            if not self._outages[store]:
                store.mend()

        return end

    def _fill(self, store: Store) -> Callable[[], object]:
        self._fills[store] += 1
        store.is_full = True

        def end() -> None:
            self._fills[store] -= 1
            store.is_full = self._fills[store] > 0

        return end

    def _cut(self, node: Node, kind: str) -> Callable[[], None]:
        ends = {"cut from the clients": (CLIENTS,), "cut off": (STORE, CLIENTS)}
        links = [(node.name, end) for end in ends.get(kind, (STORE,))]
        for link in links:
            self._network.cut(*link)

        def mend() -> None:
            for link in links:
                self._network.mend(*link)

        return mend
