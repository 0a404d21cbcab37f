"""The connections of a node to the others: those for requests, and those for frames."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from evenmatch.server.cluster.forwarding import Peer
from evenmatch.server.cluster.frames import FrameLink
from evenmatch.server.cluster.identity import NodeIdentity

Place = tuple[str, int]
"""Host and port of a node."""
LINK_AGAIN = 0.5
"""Seconds until a connection for frames is tried again; requests take the longer way meanwhile."""


class Peers:
    """The other nodes that this one hands requests on to.

    Args:
        identity: Of this node, which signs.
        owners: Returns where the owner of each shard is; None if it is no other node.
    """

    def __init__(
        self, identity: NodeIdentity, owners: Callable[[], Mapping[str, Place | None]]
    ) -> None:
        self._identity = identity
        self._owners = owners
        self._peers: dict[Place, Peer] = {}
        self._links: dict[Place, FrameLink] = {}
        # Where no owner was at the last look.
        self._lost: dict[Place, None] = {}
        self._link_again: dict[Place, float] = {}
        self._opening: dict[Place, asyncio.Task[None]] = {}

    def peer(self, place: Place) -> Peer:
        """Return the way of requests to a node."""
        if place not in self._peers:
            self._peers[place] = Peer(*place, self._identity)
        return self._peers[place]

    def tidy(self) -> None:
        """Close what leads to a node that is not the owner, once a second.

        A node that gives a shard away ends its answers itself, and is left a second for it. One
        that is lost ends nothing, and whoever follows something there is to come again. Only when
        nobody waits for it any more is a node dropped: closing it says that this one is stopping.
        """
        owners = self._owners()
        for place, peer in list(self._peers.items()):
            owned = [about for about, owner in owners.items() if owner == place]
            peer.end_all_but(owned)
            if peer.is_idle and not owned:
                self._peers.pop(place).close()
        lost = {place: None for place in self._links if place not in owners.values()}
        for place in [each for each in lost if each in self._lost]:
            self._links.pop(place).close()
        self._lost = lost
        places = owners.values()
        self._link_again = {at: when for at, when in self._link_again.items() if at in places}

    def link(self, place: Place) -> FrameLink | None:
        """Return a connection for frames to a node, None while there is none."""
        link = self._links.get(place)
        if link is not None and not link.is_lost:
            return link
        now = asyncio.get_running_loop().time()
        # One that comes up while another is under way would be held open by nobody.
        if place not in self._opening and now >= self._link_again.get(place, now):
            self._link_again[place] = now + LINK_AGAIN
            task = asyncio.create_task(self._open_link(place))
            self._opening[place] = task
            task.add_done_callback(lambda _: self._opening.pop(place))
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
        opening = list(self._opening.values())
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)
        self.close()
        for link in self._links.values():
            link.close()
