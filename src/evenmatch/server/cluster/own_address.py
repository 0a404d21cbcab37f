"""Whether a node answers at the address that it gives to others.

Others hand requests for its shards on to that address. Where another node answers there, they reach
that one instead, which knows nothing of them: so such a node has to keep away from all shards.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from evenmatch.server.cluster.identity import NodeIdentity, address_of, name_of
from evenmatch.server.cluster.peer_calls import SECONDS, STATUS_PATH, NodeStatus, answer_of_node
from evenmatch.server.runtime.logs import log

CHECKS = 5
"""How often a node tries whether it reaches itself before it says that it does not."""
FIRST_SECONDS = 0.2
"""How long the first answer may take: this node itself answers only when it has started."""
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
        self._looks = self._silences = 0
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
        # Nobody is named: the node that answers would take this one for another at its own address.
        signed = own.sign("0", purpose="nodes")
        seconds = FIRST_SECONDS if self._looks == 1 else SECONDS
        answer = await answer_of_node(place, "GET", STATUS_PATH, signed, seconds)
        there = ""
        with suppress(msgspec.MsgspecError):
            body = b"" if answer is None else answer.body
            there = msgspec.json.decode(body, type=NodeStatus).owns_as
        self._is_reached |= there == own.owner
        self._note_owner(there)
        if not (self._is_reached or self.taken_by) and self._looks == CHECKS:
            log.warning(
                "node_does_not_reach_itself",
                address=own.address,
                consequence="if other nodes do not reach it there either, they answer 503 for its "
                "shards: give it --node-address HOST:PORT at which they do",
            )

    def _note_owner(self, there: str) -> None:
        """Take note of who answers at the address; "" if nobody does."""
        self._silences = 0 if there else self._silences + 1
        if self.taken_by and not there and self._silences < CHECKS:
            # The other node may only be slow, or be started anew.
            return
        before, self.taken_by = self.taken_by, "" if there == self._identity.owner else there
        if self.taken_by and not before:
            log.error(
                "node_address_is_taken",
                address=self._identity.address,
                by=name_of(there),
                consequence="this node is not ready, gives its shards away and asks for none: give "
                "each node a --node-address of its own",
            )
        elif before and not self.taken_by:
            log.warning("node_address_is_free", address=self._identity.address)
