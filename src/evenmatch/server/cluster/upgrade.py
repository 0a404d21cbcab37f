"""Ends a rolling upgrade: from then on all shards are written in the newest record format.

While nodes of two versions run together, a node goes on in the format in which it found a shard, so
that the older ones can read along and take over. An operator says when that is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

import msgspec

from evenmatch.engine.records import FORMAT
from evenmatch.errors import ConfigError, JournalUnavailable
from evenmatch.server.cluster.identity import NodeIdentity, address_of, name_of
from evenmatch.server.cluster.peer_calls import FINISH_PATH, STATUS_PATH, NodeStatus, ask_node
from evenmatch.server.cluster.seat import Seat

RAISE_SECONDS = 5.0
"""How long a node may take to raise the format of a shard."""


async def finish_upgrade(
    identity: NodeIdentity, seats: Mapping[str, Seat], others: Iterable[str], about: str = ""
) -> None:
    """Raise the format of all shards, here and at their owners; repeating it changes nothing.

    Args:
        identity: Of this node.
        seats: Of all shards, by the names by which nodes speak of them.
        others: The other nodes that live, by the names under which they own leases.
        about: A shard: then another node asks for that one, and has seen to the nodes.

    Raises:
        ConfigError: A node could not read the newest format; nothing was changed.
        JournalUnavailable: A node or a journal does not answer: some shards may have been raised,
            and the same again raises the others.
    """
    if about:
        await _raise_here(seats.get(about))
        return
    for seat in seats.values():
        if not seat.holder:
            raise JournalUnavailable(
                f"this node does not know yet which node answers for shard {seat.claim.shard}: "
                "nothing was changed; run the command again"
            )
    await _check_all(identity, [*others, *(seat.holder for seat in seats.values())])
    await asyncio.gather(*(_raise(identity, seat) for seat in seats.values()))


async def _raise_here(seat: Seat | None) -> None:
    games = None if seat is None else seat.present
    if games is None:
        which = "that shard" if seat is None else f"shard {seat.claim.shard}"
        away = seat is not None and seat.is_cut_off
        why = ", because the journal cannot be used" if away else ""
        raise JournalUnavailable(f"this node does not answer for {which}{why}: try again")
    await games.raise_format()


async def _check_all(identity: NodeIdentity, nodes: Iterable[str]) -> None:
    """Check nodes, and those that they know: one that has just started knows few itself."""
    left, asked = dict.fromkeys(nodes), dict.fromkeys([identity.owner])
    while left := {each: None for each in left if each not in asked and identity.place_of(each)}:
        asked |= left
        told = await asyncio.gather(*(_check(identity, each) for each in left))
        left = dict.fromkeys(each for others in told for each in others)


async def _check(identity: NodeIdentity, owner: str) -> tuple[str, ...]:
    """Refuse while a node knows older formats only, or does not say which; return whom it knows."""
    place = address_of(owner)
    signed = identity.sign(identity.name, purpose="nodes")
    body = None if place is None else await ask_node(place, "GET", STATUS_PATH, signed)
    if body is None:
        raise JournalUnavailable(
            f"node {name_of(owner)} does not say which version it runs: nothing was changed; run "
            "the command again when that node is back, or has been gone for some seconds"
        )
    try:
        status = msgspec.json.decode(body, type=NodeStatus)
        known, others = status.format, status.others
    except msgspec.MsgspecError:
        known, others = 0, ()
    if known < FORMAT:
        limit = f", and knows those up to {known}" if known else ""
        raise ConfigError(
            f"node {name_of(owner)} could not read record format {FORMAT}{limit}: nothing was "
            "changed; start it with this version first"
        )
    return others


async def _raise(identity: NodeIdentity, seat: Seat) -> None:
    """Raise the format of a shard, wherever it is."""
    place = identity.place_of(seat.holder)
    if seat.present is not None or place is None:
        await _raise_here(seat)
        return
    signed = identity.sign(identity.name, seat.about, purpose="nodes")
    if await ask_node(place, "POST", FINISH_PATH, signed, RAISE_SECONDS) is None:
        raise JournalUnavailable(
            f"node {name_of(seat.holder)} did not raise the format of shard {seat.claim.shard}: "
            "run the command again"
        )
