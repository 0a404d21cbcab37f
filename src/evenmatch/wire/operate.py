"""What operators send and get over HTTP: the configuration, pauses, policies."""

from __future__ import annotations

from typing import Any

import msgspec

from evenmatch.wire.tickets import QueueStats, WaitStats


class ConfigState(msgspec.Struct, frozen=True, gc=False):
    """The configuration in force.

    Args:
        version: Its version; each change raises it.
        source: `file` if it is that of the CONFIG file, otherwise the method and path of the
            request that set it.
        paused: The queues that take no tickets and make no matches now.
        config: Its keys as in a CONFIG file, without [server]; null if the server was started from
            Python.
    """

    version: int
    source: str
    paused: tuple[str, ...]
    config: dict[str, Any] | None


class ConfigChanged(msgspec.Struct, frozen=True, gc=False):
    """What a change of the configuration did, or would do.

    Args:
        version: The version in force now.
        dry_run: Whether the change was only tried, and nothing changed.
        queues: The names of the queues.
        expired: How many waiting tickets ended with the reason `queue_changed`.
        left: How many waiting tickets left a queue and wait on in another.
        overdue: How many waiting tickets have waited longer than the `wait_max` of all their
            queues, or of one with bots: they are matched at once, or end with the reason
            `deadline`.
        at_restart: Keys of `[server]` that were edited in the CONFIG file since the server started,
            and take effect when it starts again.
    """

    version: int
    dry_run: bool
    queues: tuple[str, ...]
    expired: int
    left: int
    overdue: int
    at_restart: tuple[str, ...] = ()


class QueuePaused(msgspec.Struct, frozen=True, gc=False):
    """Whether a queue is paused now.

    Args:
        queue: Its name.
        paused: Whether it takes no tickets and makes no matches.
    """

    queue: str
    paused: bool


class WorldFigures(msgspec.Struct, frozen=True, gc=False):
    """What one policy, live or shadow, has done for a queue since both have been counted.

    Args:
        matches: Matches made.
        matches_per_minute: Matches made per minute of engine time.
        players: Players matched.
        wait_mean: Mean wait of the matched players in seconds; null before the first.
        wait: Percentiles of the waits of the last 1,000 matched players.
        quality_mean: Mean quality of the matches that have a quality.
        bots: Seats filled by computer players.
        expired: Tickets that ended without a match.
        waiting: Tickets that wait now; they are in none of the means above, because their waits are
            not over.
        waiting_age: How long these tickets have waited on average, in seconds.
    """

    matches: int
    matches_per_minute: float
    players: int
    wait_mean: float | None
    wait: WaitStats
    quality_mean: float | None
    bots: int
    expired: int
    waiting: int
    waiting_age: float | None


class ShadowStats(msgspec.Struct, frozen=True, gc=False):
    """A shadow policy that runs beside the live one, on the same arrivals.

    Args:
        policy: Its SPEC.
        state: `running`, or `dropped` with a reason; setting a policy or restarting the server
            starts it again.
        reason: Why it was dropped.
        since: Engine time from which both policies are counted.
        now: Engine time that the shadow has reached.
        merged: Tickets that the shadow did not take, because their player still waits there.
        live: What the live policy did.
        shadow: What the shadow policy would have done.
    """

    policy: str
    state: str
    reason: str | None
    since: float
    now: float
    merged: int
    live: WorldFigures | None
    shadow: WorldFigures | None


class ArmFigures(msgspec.Struct, frozen=True, gc=False):
    """What one policy of a switchback did for the tickets that arrived in its blocks.

    Args:
        policy: Its SPEC.
        blocks: How many of its blocks are over.
        tickets: Tickets that arrived in them, without the trimmed part.
        players: Players of these tickets who were matched.
        wait_mean: Mean wait of these players, in seconds.
        quality_mean: Mean quality of their matches, averaged over players.
        expired: Tickets that ended without a match.
        difference: Its mean wait minus that of the first policy, by round of blocks, in seconds.
        difference_half: Half the width of the 95 % interval of `difference`; null before two whole
            rounds.
        quality_difference: Its mean quality minus that of the first policy.
        quality_difference_half: Half the width of the 95 % interval of `quality_difference`.
    """

    policy: str
    blocks: int
    tickets: int
    players: int
    wait_mean: float | None
    quality_mean: float | None
    expired: int
    difference: float | None
    difference_half: float | None
    quality_difference: float | None
    quality_difference_half: float | None


class SwitchbackStats(msgspec.Struct, frozen=True, gc=False):
    """Policies that take turns in blocks of time.

    Args:
        policy: The policy that makes the matches now.
        block_ends: When the present block ends, in engine time.
        rounds: How many whole rounds of blocks the differences rest on.
        arms: The policies; the others are compared with the first.
    """

    policy: str
    block_ends: float
    rounds: int
    arms: tuple[ArmFigures, ...]


class QueueReport(QueueStats, frozen=True, gc=False):
    """The figures of a queue, with those of policies that operators try out on it.

    Args:
        shadow: The shadow policy beside the live one; null if there is none.
        switchback: The policies that take turns, compared; null if there are none.
    """

    shadow: ShadowStats | None = None
    switchback: SwitchbackStats | None = None


class SetShadow(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The policy to run as a shadow.

    Args:
        policy: The SPEC of the policy; null ends the shadow.
    """

    policy: str | None


class QueueShadow(msgspec.Struct, frozen=True, gc=False):
    """The shadow policy of a queue.

    Args:
        queue: The queue's name.
        policy: The SPEC of the shadow policy; null if there is none.
        version: The version of the configuration in force.
    """

    queue: str
    policy: str | None
    version: int


class DrainState(msgspec.Struct, frozen=True, gc=False):
    """Whether the server is draining: it takes no new tickets and is about to stop.

    Args:
        draining: Whether the server is draining.
        waiting: How many tickets are still live.
        seconds_left: Seconds after which it stops at the latest; null if it is not draining.
    """

    draining: bool
    waiting: int
    seconds_left: float | None


class SetPolicy(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The policy that is to make the matches.

    Args:
        policy: The SPEC of the policy, such as `rolling` or `window:limit=150`.
    """

    policy: str


class QueuePolicy(msgspec.Struct, frozen=True, gc=False):
    """The policy of a queue.

    Args:
        queue: The queue's name.
        policy: The SPEC of the policy that makes the matches.
        version: The version of the configuration in force.
    """

    queue: str
    policy: str
    version: int
