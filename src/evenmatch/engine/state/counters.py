"""Totals that the tables keep beside their rows."""

from __future__ import annotations

import msgspec


class Counters(msgspec.Struct, gc=False):
    """Totals since the shard's birth.

    `accepted` + `returned` = waiting + `matched` + `cancelled` + `expired`.

    `jobs` were asked for; `dropped` are the matches of their plans that came too late.

    Of the `proposed` matches, `checks_failed` lost a player; `repaired` were played all the same,
    and the `dissolved` came to nothing. Of the `matches`, `filled` brought newcomers to running
    ones, and `voided` were called off, so that `returned` tickets waited again.

    The `outcomes` of matches counted, those that were `disputed` did not; `rated` new ratings came
    of them.
    """

    accepted: int = 0
    matched: int = 0
    cancelled: int = 0
    expired: int = 0
    matches: int = 0
    bots: int = 0
    jobs: int = 0
    dropped: int = 0
    proposed: int = 0
    checks_failed: int = 0
    repaired: int = 0
    dissolved: int = 0
    filled: int = 0
    voided: int = 0
    returned: int = 0
    outcomes: int = 0
    disputed: int = 0
    rated: int = 0
