"""Nodes greet each other once a second: so each knows who lives, and what the others hold.

    this node --GET /v1/cluster, signed--> another --its status--> members, holders, drains

What keeps two nodes apart shows here as well, and is logged once: another cluster key or clock,
another CONFIG, another node's name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any

import msgspec

import evenmatch
from evenmatch.server.cluster.identity import NodeIdentity, address_of, has_form_of_note, name_of
from evenmatch.server.cluster.members import ALIVE_SECONDS, Members
from evenmatch.server.cluster.own_address import OwnAddress
from evenmatch.server.cluster.peer_calls import (
    GREETED,
    OTHER_CLUSTER,
    KeptConnections,
    NodeStatus,
)
from evenmatch.server.cluster.plans import GamePlan
from evenmatch.server.cluster.seat import Seat
from evenmatch.server.runtime.logs import log
from evenmatch.wire.tickets import Problem

ESTRANGED = "give all nodes the same cluster key, and set their clocks to within a minute"
TAKEN = (
    "another node answers at the address that this one gives to others: give each node a "
    "--node-address of its own"
)
ESTRANGED_LEASES = 3.0
"""Lengths of a lease for which a node asks for no shard that an owner refused: one that is alive
refuses it again each second."""
TELL_AGAIN_SECONDS = 60.0
"""Seconds before the log tells again of nodes that this one refuses."""


def digest_of(games: Sequence[GamePlan]) -> str:
    """Return what tells two configurations apart, as far as one version can compare them."""
    runs = [(game.tenant, game.parts, game.settings, game.queues) for game in games]
    text = msgspec.json.encode(runs, order="deterministic")
    return f"{evenmatch.__version__}:{sha256(text).hexdigest()[:16]}"


class Greetings:
    """What a node says to the others, and what it learns from them.

    Args:
        identity: Of this node.
        seats: Its shards.
        configured: Digest of what it runs.
        lease_seconds: Length of a lease.
    """

    def __init__(
        self,
        identity: NodeIdentity,
        seats: Mapping[str, Seat],
        configured: str,
        lease_seconds: float,
    ) -> None:
        self.members = Members(identity.owner, lambda: asyncio.get_running_loop().time())
        self.address = OwnAddress(identity)
        self.configured = configured
        self._identity = identity
        self._seats = seats
        self._estranged_seconds = ESTRANGED_LEASES * lease_seconds
        self._refused_at: float | None = None
        self._refused_since = 0.0
        self._outnumbered_by = ""
        self._told_at = -TELL_AGAIN_SECONDS
        # Nodes of another CONFIG that the log has named, with it: their number is that of members.
        self._unlike: dict[str, str] = {}
        self._namesake = ""
        self._connections = KeptConnections()
        self._tasks: dict[asyncio.Task[Any], None] = {}

    @property
    def is_estranged(self) -> bool:
        """Return whether owners of shards refuse this one, and no node greets it back.

        Where no owner is left, nobody refuses it any more: it is the next one.
        """
        since = asyncio.get_running_loop().time() - self._estranged_seconds
        return self._refused_at is not None and self._refused_at >= since

    @property
    def outnumbered_by(self) -> str:
        """Return the owner that this node gives its shards to, "" if it keeps them.

        It refuses this node, which nobody greets, while others greet it. Of two nodes that refuse
        each other, nobody can say whose clock is right: both keep what they have. A node that has
        all shards is told nothing: it asks owners only, and whoever has none refuses nobody.
        """
        return self._outnumbered_by if self.is_estranged and not self.members.alive else ""

    def obstacle(self, shards_held: int) -> str:
        """Return why this node must keep away from all shards, "" if nothing is in its way.

        Args:
            shards_held: How many it has: whoever has one keeps it, unless others greet each other.
        """
        if self.address.taken_by:
            return TAKEN
        must_yield = bool(self.outnumbered_by) or not shards_held
        return ESTRANGED if self.is_estranged and must_yield else ""

    @property
    def outages(self) -> str:
        """Return of which shards this node cannot use the journal, and why; "" if of none."""
        found: dict[str, list[str]] = {}
        for about, seat in self._seats.items():
            if seat.is_cut_off:
                found.setdefault(" ".join(seat.outage.split()), []).append(about.removeprefix("/"))
        return "; ".join(
            f"it cannot use the journal of {', '.join(shards)}: {why}"
            for why, shards in found.items()
        )

    @property
    def unlike(self) -> int:
        """Return how many of the nodes that are alive run another CONFIG."""
        alive = {name_of(each.owner) for each in self.members.alive}
        return len(alive & self._unlike.keys())

    def forgive(self) -> None:
        """Ask for shards again at once: the key or the clock may be right now."""
        self._refused_at = None

    async def greet(self, shards_held: int) -> None:
        """Ask all nodes that are known how they are."""
        owners: dict[str, None] = {}
        # Others would take one for alive that they do not reach.
        if not self.address.taken_by:
            owners = dict.fromkeys(each.owner for each in self.members.alive)
            owners |= dict.fromkeys(seat.holder for seat in self._seats.values())
        self._connections.tidy([address_of(each) for each in owners])
        await asyncio.gather(
            self.address.check(), *(self.hello(each, shards_held) for each in owners)
        )

    async def stop(self) -> None:
        """End what is being asked."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._connections.close()

    def tell_of_stranger(self, signed: bytes, client: str) -> None:
        """Say that this node refuses what another one signed; not too often.

        Any client can send the header, and no operator is to look for a node that there is not.
        """
        now = asyncio.get_running_loop().time()
        if has_form_of_note(signed) and now - self._told_at >= TELL_AGAIN_SECONDS:
            self._told_at = now
            log.warning(
                "other_node_refused",
                client=client,
                reason="it has another cluster key, or its clock differs by more than a minute",
            )

    async def hello(self, owner: str, shards_held: int) -> None:
        """Greet one node, and hear what it says."""
        place = self._identity.place_of(owner)
        if place is None:
            return
        own = self._identity.owner
        signed = self._identity.sign(str(shards_held), own, purpose="nodes")
        answer = await self._connections.status_of(place, signed)
        if answer is None:
            return
        with suppress(msgspec.MsgspecError):
            if answer.status == 200:
                self._hear(msgspec.json.decode(answer.body, type=NodeStatus), shards_held)
            elif (said := msgspec.json.decode(answer.body, type=Problem)).error == OTHER_CLUSTER:
                self._be_refused(owner, shards_held, is_odd=said.where == GREETED)

    def _be_refused(self, owner: str, shards_held: int, *, is_odd: bool) -> None:
        """Note that an owner refuses this node.

        Args:
            owner: Which one.
            shards_held: How many this node has.
            is_odd: Whether other nodes greet that owner.
        """
        if self.members.alive:
            return
        now = asyncio.get_running_loop().time()
        if not self.is_estranged:
            self._refused_since, self._outnumbered_by = now, ""
            log.error(
                "node_refused",
                by=name_of(owner),
                reason="it has another cluster key, or its clock differs by more than a minute",
                consequence="this node is not ready, and asks for no shard"
                if not shards_held
                else "what one of both hands on to the other gets 503; this node gives its shards "
                "up if other nodes greet the other one",
            )
        self._refused_at = now
        # Until then that owner may still count this node itself among those that greet it.
        if is_odd and now - self._refused_since >= ALIVE_SECONDS:
            self._outnumbered_by = owner

    def _hear(self, status: NodeStatus, shards_held: int) -> None:
        if self._refused_at is not None:
            log.warning("node_greeted", by=status.node, consequence="it takes part again")
            self._refused_at = None
        self._compare(status)
        self._check_name(status)
        if status.leaving:
            self.members.forget(status.owns_as)
            return
        self.members.hear(status.owns_as, sum(each.role != "standing_by" for each in status.shards))
        drains = {each.shard: each for each in status.drains}
        roles = {f"{each.tenant}/{each.shard}": each.role for each in status.shards}
        for about, seat in self._seats.items():
            if seat.holder == status.owns_as:
                seat.hear_drain(drains.get(about))
                seat.hear_role(roles.get(about, "standing_by"))
        for each in status.shards:
            # Who asks for no lease now learns here who has it.
            seat_of = self._seats.get(f"{each.tenant}/{each.shard}")
            if seat_of is not None and seat_of.is_unfit and each.role == "answering":
                seat_of.note(status.owns_as)
        self._greet_strangers(status.others, shards_held)

    def _check_name(self, status: NodeStatus) -> None:
        """Say once that another node has the name of this one."""
        is_alike = status.node == self._identity.name and status.owns_as != self._identity.owner
        if is_alike and status.owns_as != self._namesake:
            self._namesake = status.owns_as
            log.error(
                "node_name_is_taken",
                node=status.node,
                by=status.owns_as.rpartition("@")[2],
                consequence="logs and cluster status mix the two up: start one with another --node",
            )

    def _greet_strangers(self, others: Sequence[str], shards_held: int) -> None:
        known = {each.owner for each in self.members.alive}
        for other in others:
            if other not in known:
                task = asyncio.create_task(self.hello(other, shards_held))
                self._tasks[task] = None
                task.add_done_callback(self._tasks.pop)

    def _compare(self, status: NodeStatus) -> None:
        """Say once that another node of this version runs another CONFIG."""
        version, _, _ = self.configured.partition(":")
        theirs, node = status.configured, status.node
        if theirs.partition(":")[0] != version or theirs == self.configured:
            self._unlike.pop(node, None)
        elif self._unlike.get(node) != theirs:
            alive = {name_of(each.owner) for each in self.members.alive}
            self._unlike = {name: one for name, one in self._unlike.items() if name in alive}
            self._unlike[node] = theirs
            log.warning(
                "node_has_another_config",
                node=node,
                consequence="players are answered by different rules from node to node: give all "
                "nodes the same CONFIG, and restart those that have another",
            )
