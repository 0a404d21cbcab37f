"""Calls between nodes: the status once a second, over kept connections; others rarely, over new."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import NamedTuple

import msgspec

from evenmatch.server.cluster.forwarding import FORWARDED
from evenmatch.server.cluster.seat import Role, SeatStatus, ShardDrain
from evenmatch.wire.http1 import Connection, authority_of

STATUS_PATH = "/v1/cluster"
PREPARE_PATH, TAKE_PATH = "/v1/cluster/prepare", "/v1/cluster/take"
FINISH_PATH = "/v1/cluster/finish-upgrade"
NODE_PATHS = frozenset({STATUS_PATH, PREPARE_PATH, TAKE_PATH, FINISH_PATH})
"""What nodes ask each other; others may only with the key of the cluster.

An address proves nothing: behind a proxy on the same machine all clients come from there.
"""
OTHER_CLUSTER = "other_cluster"
"""Code of the error with which a node refuses one of another cluster key, or another clock."""
GREETED = "greeted"
"""Where it says that other nodes greet it: whom it refuses is the odd one out."""
STATUS_CALL = "GET", STATUS_PATH
SECONDS = 1.0
BYTES_MAX = 1_000_000
CALLS_MOST = 10
"""Calls over one connection."""

Place = tuple[str, int]
"""Host and port of a node."""


class NodeStatus(msgspec.Struct, frozen=True):
    """What a node knows of its cluster.

    Args:
        node: Its name.
        role: `answering` if it answers for any shard, else `recovering` or `standing_by`.
        owner: Name of the node that answers for the first shard; "" if nobody is known to.
        address: HOST:PORT of that node.
        lease_seconds: Length of a lease.
        shards: What it knows of each.
        owns_as: The name under which it owns leases.
        others: The same of the other nodes that it has heard of lately.
        leaving: Whether it is about to stop.
        format: The newest record format that it knows; 0 for a version that does not say it.
        drains: Which of its shards drain.
        configured: Tells its CONFIG from others; empty for a version that does not say it.
        problem: Why it asks for no shard, or gets none; empty if nothing is in its way.
    """

    node: str
    role: Role
    owner: str
    address: str
    lease_seconds: float
    shards: tuple[SeatStatus, ...] = ()
    owns_as: str = ""
    others: tuple[str, ...] = ()
    leaving: bool = False
    format: int = 0
    drains: tuple[ShardDrain, ...] = ()
    configured: str = ""
    problem: str = ""


class PeerAnswer(NamedTuple):
    """What a node answers another one."""

    status: int
    body: bytes


async def ask_node(
    place: Place, method: str, path: str, signed: bytes, seconds: float = SECONDS
) -> bytes | None:
    """Return what a node answers, None if it gives no good answer in time; see `answer_of_node`."""
    answer = await answer_of_node(place, method, path, signed, seconds)
    return answer.body if answer is not None and answer.status == 200 else None


async def answer_of_node(
    place: Place, method: str, path: str, signed: bytes, seconds: float = SECONDS
) -> PeerAnswer | None:
    """Return the answer of a node, None if it gives none in time.

    Args:
        place: Its host and port.
        method: Of HTTP.
        path: What is asked.
        signed: Who asks, see `NodeIdentity.sign`.
        seconds: How long it may take.
    """
    try:
        async with asyncio.timeout(seconds):
            connection = await Connection.open(*place, None)
            try:
                return await _asked(connection, place, (method, path), signed)
            finally:
                connection.close()
    except (OSError, ValueError, TimeoutError):
        return None


class KeptConnections:
    """Asks nodes for their status, one call after the other, each node over one connection.

    After `CALLS_MOST` calls comes a new connection: a node that takes none is of no use to others.
    """

    def __init__(self) -> None:
        # By place, with the number of calls to come.
        self._free: dict[Place, tuple[Connection, int]] = {}
        self._is_closed = False

    async def status_of(self, place: Place, signed: bytes) -> PeerAnswer | None:
        """Return the status of a node, None if it gives none in time; see `answer_of_node`."""
        connection, left = self._free.pop(place, (None, 0))
        try:
            async with asyncio.timeout(SECONDS):
                if connection is not None and not connection.is_free:
                    connection.close()
                    connection = None
                is_kept = connection is not None
                if connection is None:
                    connection, left = await Connection.open(*place, None), CALLS_MOST
                try:
                    answer = await _asked(connection, place, STATUS_CALL, signed)
                except ConnectionError:
                    if not is_kept:
                        raise
                    # The node was started anew, or had closed what nobody used.
                    connection.close()
                    connection, left = await Connection.open(*place, None), CALLS_MOST
                    answer = await _asked(connection, place, STATUS_CALL, signed)
        except (OSError, ValueError, TimeoutError):
            self._close(connection)
            return None
        except BaseException:
            self._close(connection)
            raise
        is_wanted = left > 1 and place not in self._free and not self._is_closed
        if is_wanted and connection.is_free:
            self._free[place] = connection, left - 1
        else:
            connection.close()
        return answer

    def tidy(self, places: Collection[Place | None]) -> None:
        """Close the connections to all other places."""
        for place in [each for each in self._free if each not in places]:
            self._free.pop(place)[0].close()

    def close(self) -> None:
        """Close all connections, and keep none from then on."""
        self._is_closed = True
        self.tidy(())

    @staticmethod
    def _close(connection: Connection | None) -> None:
        if connection is not None:
            connection.close()


async def _asked(
    connection: Connection, place: Place, call: tuple[str, str], signed: bytes
) -> PeerAnswer:
    headers = {
        "host": authority_of(*place),
        "content-length": "0",
        FORWARDED.decode(): signed.decode("latin-1"),
    }
    connection.send(*call, headers)
    answer = await connection.response(BYTES_MAX)
    return PeerAnswer(answer.status, answer.body)
