"""What operators send and get over HTTP: the configuration, pauses, policies."""

from __future__ import annotations

from typing import Any

import msgspec

from evenmatch.wire.tickets import QueueStats, WaitStats


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
        overdue: Waiting tickets that have waited longer than `wait_max` of every queue that they
            stay in, or of one with bots: at once they are in a match, or end with the reason
            `deadline`.
        at_restart: Keys of `[server]` that were edited in the CONFIG file since the server was
            started, and count from its next start on.
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
    """What one world, live or shadow, did for a queue since both are counted.

    Args:
        matches: Matches made.
        matches_per_minute: The same a minute of engine time.
        players: Players matched.
        wait_mean: Their mean wait, seconds; null before the first.
        wait: Percentiles of the last 1,000 of them.
        quality_mean: Mean quality of the matches that have one.
        bots: Seats filled by computer players.
        expired: Tickets that ended without a match.
        waiting: Tickets that wait now; their waits are not over, so they are in no mean above.
        waiting_age: How long those have waited on average, seconds.
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
    """A shadow policy beside the live one, on the same arrivals.

    Args:
        policy: Its SPEC.
        state: `running`, or `dropped` with a reason; a new policy or a restart begins anew.
        reason: Why it was dropped.
        since: Engine time from which both worlds are counted.
        now: Engine time that the shadow has reached.
        merged: Tickets that the shadow did not take, because their player still waits in it.
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
    """What one policy of a switchback did for the tickets that came in its blocks.

    Args:
        policy: Its SPEC.
        blocks: Blocks that are over.
        tickets: Tickets that came in them, without the trimmed part.
        players: Players of those who were matched.
        wait_mean: Their mean wait, seconds.
        quality_mean: Mean quality of their matches, by player.
        expired: Tickets that ended without a match.
        difference: Mean wait minus that of the first policy, by round of blocks, seconds.
        difference_half: Half the width of its 95 % interval; null before two whole rounds.
        quality_difference: The same of quality.
        quality_difference_half: Half the width of its 95 % interval.
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
    """Policies that take turns by blocks of time.

    Args:
        policy: The one that decides now.
        block_ends: When the present block ends, engine time.
        rounds: Whole rounds of blocks that the differences rest on.
        arms: The policies, the one first that the others are compared with.
    """

    policy: str
    block_ends: float
    rounds: int
    arms: tuple[ArmFigures, ...]


class QueueReport(QueueStats, frozen=True, gc=False):
    """How a queue does, with what operators try out on it.

    Args:
        shadow: A shadow policy beside the live one; null without one.
        switchback: The policies that take turns, compared; null without them.
    """

    shadow: ShadowStats | None = None
    switchback: SwitchbackStats | None = None


class SetShadow(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """Which policy is to run as a shadow.

    Args:
        policy: Its SPEC; null ends the shadow.
    """

    policy: str | None


class QueueShadow(msgspec.Struct, frozen=True, gc=False):
    """The shadow policy of a queue.

    Args:
        queue: The queue's name.
        policy: The SPEC of the shadow policy; null if there is none.
        version: The number of the configuration in force.
    """

    queue: str
    policy: str | None
    version: int


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
    """Which policy is to decide.

    Args:
        policy: Its SPEC, such as `rolling` or `window:limit=150`.
    """

    policy: str


class QueuePolicy(msgspec.Struct, frozen=True, gc=False):
    """The policy of a queue.

    Args:
        queue: The queue's name.
        policy: The SPEC of the policy that decides.
        version: The number of the configuration in force.
    """

    queue: str
    policy: str
    version: int
