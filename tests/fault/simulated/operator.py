"""Whoever runs the cluster: nodes are replaced one by one, and the upgrade is ended after that."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from functools import partial

from evenmatch.engine.records import FORMAT, needs
from evenmatch.journals.base import Segment
from evenmatch.server.cluster.identity import NodeIdentity
from evenmatch.server.cluster.peer_calls import FINISH_PATH
from tests.fault.simulated.clients import Caller
from tests.fault.simulated.cluster_node import KEY, OLDER, ClusterNode
from tests.fault.simulated.network import STORE
from tests.fault.simulated.node import BORN, Request
from tests.fault.simulated.recount import Recount
from tests.fault.simulated.store import Store

REPLACED = (25.0, 90.0)
"""Between which of the world's seconds nodes are replaced."""
ASKED_FROM, ASKS_EACH = (12.0, 70.0), (2.0, 6.0)
"""When an operator first asks for the end of the upgrade, too early perhaps, and how often."""
KNOWN_WITHIN = 8.0
"""Seconds after which all nodes know of one that runs, and of what it reads."""


class Operator(Caller):
    """Asks any node for the end of the upgrade, until one says that it is done."""

    machines: Sequence[ClusterNode]
    asked_at: float | None = None
    is_done = False

    def replace_nodes(self, chance: random.Random) -> None:
        """Let each node be of the older version, and replaced at some instant."""
        for machine in self.machines:
            machine.is_older = True
            self.world.at(chance.uniform(*REPLACED), machine.upgrade)
        self.world.at(chance.uniform(*ASKED_FROM), lambda: self.loop.begin(self.finish()))

    async def finish(self) -> None:
        """Ask until it is done."""
        identity = NodeIdentity("operator", "operator:1", KEY, "1", partial(_wall, self))
        while not self.is_done:
            newer = [each for each in self.machines if not each.is_older]
            self.node = self.chance.choice(newer or self.machines)
            self.asked_at = self.world.now if self.asked_at is None else self.asked_at
            signed = identity.sign("127.0.0.1", purpose="nodes").decode()
            request = Request(self._number(), "POST", FINISH_PATH, signed=signed)
            seen = await self.once("finish upgrade", "", request)
            if seen is not None and seen.status == 200:
                self.is_done = True
            await asyncio.sleep(self.chance.uniform(*ASKS_EACH))

    def note_raised(self) -> None:
        """Take note that the format of a shard is raised at this moment.

        Nodes find each other by the leases in the journal. Of one that is cut off from it the
        others need not know: it holds no lease, and refuses the journal once it is back.
        """
        calm = self.world.now - KNOWN_WITHIN
        for machine in self.machines:
            since = machine.older_since
            is_known = since is not None and since < calm and machine.knows_a_cluster
            has_journal = self.network.is_whole_since(calm, machine.name, STORE)
            if is_known and has_journal and machine.is_awake_since(calm):
                at = f"{self.world.now:.3f} s"
                self.problems.append(f"I19: a format is raised at {at}, {machine.name} is older")

    def violations(self, stores: Sequence[Store], recounts: Sequence[Recount]) -> Iterator[str]:
        """Yield what must not have been: I19 of two versions that run together."""
        yield from self.problems
        if not self.is_done:
            yield "I16: the upgrade could not be ended"
        for store, recount in zip(stores, recounts, strict=True):
            name, first = store.shard, min((at for _, at, _ in store.raised), default=None)
            if self.asked_at is None or any(at < self.asked_at for at, _, _ in store.raised):
                yield f"I19: {name} was raised before anybody asked for it: {store.raised}"
            if self.is_done and not store.raised:
                yield f"I19: the upgrade is over, and {name} is in the older format"
            if store.too_new:
                yield f"I19: snapshots of {name} at {store.too_new} are newer than its records"
            for record in recount.records:
                is_newer = first is not None and record.sequence >= first
                if needs(record.input) > OLDER and not is_newer:
                    yield f"I19: record {record.sequence} of {name} is none of format {OLDER}"


def begun_before(store: Store) -> None:
    """Let a journal have been begun in the older format."""
    assert OLDER < FORMAT
    store.segments[1] = Segment(1, OLDER, "before", {}, BORN)


def _wall(operator: Operator) -> float:
    return BORN + operator.world.now
