"""What operators send and get over HTTP: the configuration, pauses, policies."""

from __future__ import annotations

from typing import Any

import msgspec


class ConfigState(msgspec.Struct, frozen=True, gc=False):
    """The configuration in force.

    Args:
        version: Its number in the journal; each change raises it.
        source: `file` if it is that of the CONFIG file, else what set it: method and path.
        paused: The queues that take no tickets and make no matches now.
        config: Its keys as in a CONFIG file, without [server]; null where the server was started
            from Python.
    """

    version: int
    source: str
    paused: tuple[str, ...]
    config: dict[str, Any] | None


class ConfigChanged(msgspec.Struct, frozen=True, gc=False):
    """What a change of the configuration did, or would do.

    Args:
        version: The number in force now.
        dry_run: Whether nothing was changed.
        queues: The names of the queues.
        expired: Waiting tickets that ended with the reason `queue_changed`.
        left: Waiting tickets that left a queue and wait on in another.
    """

    version: int
    dry_run: bool
    queues: tuple[str, ...]
    expired: int
    left: int


class QueuePaused(msgspec.Struct, frozen=True, gc=False):
    """Whether a queue is paused now."""

    queue: str
    paused: bool


class DrainState(msgspec.Struct, frozen=True, gc=False):
    """Whether the server takes no new tickets because it is about to stop.

    Args:
        draining: Whether it is.
        waiting: Tickets that are still live.
        seconds_left: After how many seconds it stops at the latest; null if it does not.
    """

    draining: bool
    waiting: int
    seconds_left: float | None


class SetPolicy(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The SPEC of the policy that is to decide."""

    policy: str


class QueuePolicy(msgspec.Struct, frozen=True, gc=False):
    """The policy of a queue, and the number of the configuration."""

    queue: str
    policy: str
    version: int
