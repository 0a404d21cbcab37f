"""Totals that the tables keep beside their rows."""

from __future__ import annotations

import msgspec


class Counters(msgspec.Struct, gc=False):
    """Totals since the shard's birth; `accepted` = waiting + matched + cancelled + expired.

    `jobs` were asked for; `dropped` are the matches of their plans that came too late.
    """

    accepted: int = 0
    matched: int = 0
    cancelled: int = 0
    expired: int = 0
    matches: int = 0
    bots: int = 0
    jobs: int = 0
    dropped: int = 0
