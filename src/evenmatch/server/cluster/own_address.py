"""Whether a node answers at the address that it gives to others.

Others hand requests for its shards on to that address. Where another node answers there, they reach
that one instead, which knows nothing of them: so such a node has to keep away from all shards.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from evenmatch.server.cluster.identity import NodeIdentity, address_of, name_of
from evenmatch.server.cluster.peer_calls import STATUS_PATH, NodeStatus, answer_of_node
from evenmatch.server.runtime.logs import log

CHECKS = 5
"""How often a node tries whether it reaches itself before it says that it does not."""
CHECK_EVERY = 10
"""Greetings between two looks, after that."""


class OwnAddress:
    """The address of a node, as the others know it.

    Args:
        identity: Of the node.
    """

    def __init__(self, identity: NodeIdentity) -> None:
        self.taken_by = ""
        """The other node that answers there, by the name under which it owns leases; "" if none."""
        self._identity = identity
        self._looks = 0
        self._is_reached = False

    async def check(self) -> None:
        """Ask who answers at the address, unless this was asked lately with a good end."""
        own, place = self._identity, address_of(self._identity.owner)
        if place is None:
            return
        self._looks += 1
        is_settled = self._is_reached or self._looks > CHECKS
        if is_settled and not self.taken_by and self._looks % CHECK_EVERY:
            return
        signed = own.sign("0", own.owner, purpose="nodes")
        answer = await answer_of_node(place, "GET", STATUS_PATH, signed)
        there = ""
        with suppress(msgspec.MsgspecError):
            body = b"" if answer is None else answer.body
            there = msgspec.json.decode(body, type=NodeStatus).owns_as
        if there == own.owner:
            self._is_reached = True
        self._note_owner("" if there == own.owner else there)
        if not (self._is_reached or self.taken_by) and self._looks == CHECKS:
            log.warning(
                "node_does_not_reach_itself",
                address=own.address,
                consequence="if other nodes do not reach it there either, they answer 503 for its "
                "shards: give it --node-address HOST:PORT at which they do",
            )

    def _note_owner(self, other: str) -> None:
        before, self.taken_by = self.taken_by, other
        if other and not before:
            log.error(
                "node_address_is_taken",
                address=self._identity.address,
                by=name_of(other),
                consequence="this node is not ready, gives its shards away and asks for none: give "
                "each node a --node-address of its own",
            )
        elif before and not other:
            log.warning("node_address_is_free", address=self._identity.address)
