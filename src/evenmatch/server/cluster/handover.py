"""How a shard goes from a node that lives to another one: offered, prepared, taken.

    giver --prepare--> successor reads what the giver, who still answers, has saved
          --take-----> successor asks for the lease, which the giver frees at once

A node that stops gives away all that it has; one with two shards more than another gives it one.
"""

from __future__ import annotations

import asyncio

from evenmatch.errors import JournalUnavailable
from evenmatch.server.cluster.greetings import Greetings
from evenmatch.server.cluster.identity import NodeIdentity, PeerNote, address_of, name_of
from evenmatch.server.cluster.members import Refusals
from evenmatch.server.cluster.peer_calls import PREPARE_PATH, TAKE_PATH, ask_node
from evenmatch.server.cluster.seat import Seat
from evenmatch.server.runtime.logs import lines_about, log

PREPARE_SECONDS = 8.0
"""How long a successor may read before it gets a shard all the same."""
SUCCESSORS = 3
"""Nodes that are asked to take a shard from one that stops, one after the other."""
CALM_SECONDS = 2.0
"""A shard that a node has just got is not given away before."""


class Handover:
    """Both ends of it, at one node.

    Args:
        identity: Of this node.
        seats: Its shards.
        greetings: They tell who lives, and what the others hold.
    """

    def __init__(
        self, identity: NodeIdentity, seats: dict[str, Seat], greetings: Greetings
    ) -> None:
        self._identity = identity
        self._seats = seats
        self._greetings = greetings
        self._members = greetings.members
        self._refusals = Refusals(lambda: asyncio.get_running_loop().time())

    async def leave(self) -> None:
        """Give each shard away; without another node, this one keeps it."""
        for seat in self._seats.values():
            for _ in range(SUCCESSORS):
                await seat.handed_over()
                if seat.present is not None and (successor := self._members.idlest()) is not None:
                    await self._give(seat, successor)

    async def give_all(self, successor: str) -> None:
        """Give all shards away at once to one node, which need not have prepared for them."""
        for seat in self._seats.values():
            await seat.hand_over(successor)

    async def level(self, shards_held: int) -> None:
        """Give a shard away where another node has two less and has not just refused it."""
        calm = asyncio.get_running_loop().time() - CALM_SECONDS
        given = [
            each
            for each in reversed(self._seats.values())
            if each.present is not None and each.since <= calm
        ]
        for successor in self._members.lighter(shards_held):
            for seat in given:
                if not self._refusals.holds(successor, seat.about):
                    to = name_of(successor)
                    with lines_about(game=seat.tenant, shard=seat.claim.shard):
                        log.info("shard_moves", to=to, reason="it has less")
                    await self._give(seat, successor)
                    return

    async def _give(self, seat: Seat, successor: str) -> None:
        """Give a shard to another node, which then asks for its lease at once."""
        place = address_of(successor)
        if place is None:
            return
        signed = self._identity.sign(self._identity.owner, seat.about, purpose="nodes")
        if (games := seat.present) is not None:
            await games.save()
        # It reads what there is while this node still answers, and then asks for the lease in the
        # moment in which it is free.
        prepared = await ask_node(place, "POST", PREPARE_PATH, signed, PREPARE_SECONDS + 1.0)
        if prepared is None or await ask_node(place, "POST", TAKE_PATH, signed) is None:
            with lines_about(game=seat.tenant, shard=seat.claim.shard):
                log.info("shard_not_taken", by=name_of(successor))
            self._members.forget(successor)
            self._refusals.note(successor, seat.about)
        elif await seat.hand_over(successor):
            self._members.note_handover(successor)

    async def receive(self, path: str, note: PeerNote, shards_held: int) -> None:
        """Prepare for a shard that another node offers, or ask for its lease.

        Args:
            path: Which of both.
            note: Who offers which shard; one that this node does not know is passed over.
            shards_held: What this node tells the giver that it has.

        Raises:
            JournalUnavailable: This node could not recover the shard the last time.
        """
        seat = self._seats.get(note.about)
        if seat is None:
            return
        self._members.hear(note.client)
        if not seat.may_be_given:
            raise JournalUnavailable("this node could not recover the shard the last time")
        if path == TAKE_PATH:
            seat.expect()
        else:
            await seat.prepare(PREPARE_SECONDS)
            # A drain of the shard goes on here, if its owner has not just taken it back.
            await self._greetings.hello(note.client, shards_held)
