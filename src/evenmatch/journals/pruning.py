"""Old records leave the SQLite journal: those that nobody needs any more to recover.

A record may go when it is older than the operator keeps, and when the older one of the two kept
snapshots covers it and is intact: whichever of the two is damaged later, recovery still finds all
that it has to read. Records go from the front, without gaps, a slice at a time, so that appends
get in between.
"""

from __future__ import annotations

import sqlite3

from evenmatch.journals.head import is_intact, sealer

SLICE_ROWS = 2_000
"""Records deleted in one transaction: a few milliseconds."""
SNAPSHOTS_NEEDED = 2


def forget_slice(connection: sqlite3.Connection, shard: str, before: float) -> int:
    """Delete the oldest records that may go, at most a slice; return how many.

    Args:
        connection: In a transaction.
        shard: Whose.
        before: Records written from this wall time on stay, Unix seconds.
    """
    covered = _covered(connection, shard)
    rows = connection.execute(
        "SELECT seq, wall FROM records WHERE shard = ? AND seq <= ? ORDER BY seq LIMIT ?",
        (shard, covered, SLICE_ROWS),
    ).fetchall()
    old = 0
    for _, wall in rows:
        # Damage may have changed the type; such a row stays, to be found out when it is read.
        if not isinstance(wall, float) or wall >= before:
            break
        old += 1
    if old:
        last = rows[old - 1][0]
        connection.execute("DELETE FROM records WHERE shard = ? AND seq <= ?", (shard, last))
        # A segment without any record left says nothing about those that follow.
        connection.execute(
            "DELETE FROM segments WHERE shard = ?1 AND seq < (SELECT max(seq) FROM segments"
            " WHERE shard = ?1 AND seq <= ?2)",
            (shard, last + 1),
        )
    return old


def _covered(connection: sqlite3.Connection, shard: str) -> int:
    """Return the last record that recovery would not read, whichever snapshot it began with."""
    seal = sealer(shard)
    snapshots = connection.execute(
        "SELECT seq, wall, crc, body FROM snapshots WHERE shard = ? ORDER BY seq DESC LIMIT ?",
        (shard, SNAPSHOTS_NEEDED),
    ).fetchall()
    if len(snapshots) < SNAPSHOTS_NEEDED:
        return 0
    if not all(
        is_intact(seal, seq, wall, crc=crc, body=body) for seq, wall, crc, body in snapshots
    ):
        return 0
    covered: int = snapshots[-1][0]
    return covered
