"""The connections of a node to the others: those for requests, and those for frames."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container

from evenmatch.server.cluster.forwarding import Peer
from evenmatch.server.cluster.frames import FrameLink
from evenmatch.server.cluster.identity import NodeIdentity

Place = tuple[str, int]
"""Host and port of a node."""
LINK_AGAIN = 0.5
"""Seconds until a connection for frames is tried again; creates take the longer way meanwhile."""


class Peers:
    """The other nodes that this one hands requests on to.

    Args:
        identity: Of this node, which signs.
        used: Returns the places of those that own a shard now.
    """

    def __init__(self, identity: NodeIdentity, used: Callable[[], Container[Place | None]]) -> None:
        self._identity = identity
        self._used = used
        self._peers: dict[Place, Peer] = {}
        self._links: dict[Place, FrameLink] = {}
        self._link_again: dict[Place, float] = {}
        self._opening: dict[asyncio.Task[None], None] = {}

    def peer(self, place: Place) -> Peer:
        """Return the way of requests to a node."""
        if place not in self._peers:
            used = self._used()
            for old in [each for each in self._peers if each not in used]:
                self._peers.pop(old).close()
            self._peers[place] = Peer(*place, self._identity)
        return self._peers[place]

    def link(self, place: Place) -> FrameLink | None:
        """Return a connection for frames to a node, None while there is none."""
        link = self._links.get(place)
        if link is not None and not link.is_lost:
            return link
        now = asyncio.get_running_loop().time()
        if now >= self._link_again.get(place, now):
            self._link_again[place] = now + LINK_AGAIN
            task = asyncio.create_task(self._open_link(place))
            self._opening[task] = None
            task.add_done_callback(self._opening.pop)
        return None

    async def _open_link(self, place: Place) -> None:
        own = self._identity.owner
        signed = self._identity.sign(own, own, purpose="frames")
        link = await FrameLink.open(place, signed)
        if link is not None:
            self._links = {at: one for at, one in self._links.items() if not one.is_lost}
            self._links[place] = link

    def close(self) -> None:
        """End what is answered by other nodes; requests may be handed on from then on, too."""
        for peer in self._peers.values():
            peer.close()

    async def stop(self) -> None:
        """Close all connections."""
        opening = list(self._opening)
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)
        self.close()
        for link in self._links.values():
            link.close()
