"""The other nodes of a cluster: which of them are alive, and how loaded each one is.

Nodes need no list of each other: the name of a lease says where its owner is, and whoever is asked
says whom it knows. A node that was not heard of for `ALIVE_SECONDS` is left out. Nothing rests on
any of this but how shards are shared out and who is named as a successor: who may answer, the
journal alone says.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

HELLO_EVERY = 1.0
"""Seconds between two greetings."""
ALIVE_SECONDS = 3.0
MEMBERS_MAX = 64
RELUCTANCE = 0.4
"""Seconds by which a node with its full share waits before it asks again."""
REFUSED_SECONDS, REFUSED_SECONDS_MAX = 4.0, 256.0
"""For how long a node is not offered a shard again that it did not take, at first and at most."""


class Member(msgspec.Struct, frozen=True):
    """Another node.

    Args:
        owner: The name under which it owns leases.
        shards_held: Shards that it has.
        heard_at: When it was heard of last, monotonic seconds.
    """

    owner: str
    shards_held: int
    heard_at: float


class Members:
    """The other nodes.

    Args:
        own: The name under which this node owns leases.
        clock: Monotonic seconds.

    Example:
        >>> now = 0.0
        >>> members = Members("a/1@h:1", lambda: now)
        >>> members.hear("b/1@h:2", 0)
        >>> members.reluctance(2, total=3), members.reluctance(1, total=3)
        (0.4, 0.0)
        >>> members.lighter(3), members.lighter(1)
        (['b/1@h:2'], [])
        >>> now = 10.0
        >>> members.lighter(3)
        []
    """

    def __init__(self, own: str, clock: Callable[[], float]) -> None:
        self._own = own
        self._clock = clock
        # By address: a process that starts anew takes the place of the one before.
        self._known: dict[str, Member] = {}

    def hear(self, owner: str, shards_held: int | None = None) -> None:
        """Note that a node is alive; None: its load is unchanged."""
        place = owner.rpartition("@")[2]
        # Whoever calls itself by this node's own address is reached nowhere.
        if "@" not in owner or place == self._own.rpartition("@")[2]:
            return
        before = self._known.pop(place, None)
        if shards_held is None:
            shards_held = before.shards_held if before is not None and before.owner == owner else 0
        self._known[place] = Member(owner, shards_held, self._clock())
        while len(self._known) > MEMBERS_MAX:
            del self._known[next(iter(self._known))]

    def forget(self, owner: str) -> None:
        """Leave a node out until it is heard of again: it is stopping, or does not answer."""
        place = owner.rpartition("@")[2]
        if (member := self._known.get(place)) is not None and member.owner == owner:
            del self._known[place]

    @property
    def alive(self) -> list[Member]:
        """Return the nodes that were heard of recently."""
        since = self._clock() - ALIVE_SECONDS
        return [each for each in self._known.values() if each.heard_at >= since]

    def reluctance(self, shards_held: int, *, total: int) -> float:
        """Return by how many seconds later than others this node asks for another shard."""
        share = math.ceil(total / (1 + len(self.alive)))
        return RELUCTANCE if shards_held >= share else 0.0

    def idlest(self) -> str | None:
        """Return the least loaded node, None if there is no other."""
        least = min(self.alive, key=lambda each: (each.shards_held, each.owner), default=None)
        return None if least is None else least.owner

    def lighter(self, shards_held: int) -> list[str]:
        """Return the nodes that may get a shard of this one, the least loaded first."""
        alive = sorted(self.alive, key=lambda each: (each.shards_held, each.owner))
        return [each.owner for each in alive if shards_held - each.shards_held >= 2]

    def note_handover(self, owner: str) -> None:
        """Note that a node gets another shard, before it says so itself."""
        for place, member in self._known.items():
            if member.owner == owner:
                self._known[place] = msgspec.structs.replace(
                    member, shards_held=member.shards_held + 1
                )


class Refusals:
    """Which nodes did not take which shards, and until when they are not offered them again.

    Each offer costs its owner a snapshot. A node that was started anew is asked at once.

    Args:
        clock: Monotonic seconds.

    Example:
        >>> now = 0.0
        >>> refusals = Refusals(lambda: now)
        >>> refusals.note("b/1@h:2", "/s0")
        >>> refusals.holds("b/1@h:2", "/s0"), refusals.holds("b/2@h:2", "/s0")
        (True, False)
        >>> now = 4.0
        >>> refusals.holds("b/1@h:2", "/s0")
        False
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # By node and shard: until when, and for how long the next time.
        self._known: dict[tuple[str, str], tuple[float, float]] = {}

    def note(self, owner: str, shard: str) -> None:
        """Note that a node did not take a shard."""
        now = self._clock()
        _, seconds = self._known.get((owner, shard), (0.0, REFUSED_SECONDS))
        since = now - REFUSED_SECONDS_MAX
        self._known = {key: each for key, each in self._known.items() if each[0] >= since}
        self._known[owner, shard] = now + seconds, min(2.0 * seconds, REFUSED_SECONDS_MAX)

    def holds(self, owner: str, shard: str) -> bool:
        """Return whether a node is not to be offered a shard now."""
        return self._clock() < self._known.get((owner, shard), (0.0, 0.0))[0]
