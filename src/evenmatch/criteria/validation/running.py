"""What a queue says of its running matches; see `cost.valid`."""

from __future__ import annotations

import re
from typing import get_args

from evenmatch.criteria.validation.kinds import Fault
from evenmatch.model.queue import Backfill, Queue

HOOK = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def fault_of_running(queue: Queue) -> Fault:
    """Return a way to fill running matches, or an allocation hook, that there cannot be."""
    if queue.backfill is not None and queue.backfill not in get_args(Backfill):
        allowed = ", ".join(get_args(Backfill))
        return "backfill", f"must be one of {allowed}, got {queue.backfill!r:.40}"
    hook = queue.allocation
    if hook is not None and not HOOK.fullmatch(str(hook)):
        return "allocation", f"must be 1 to 64 letters, digits, `_`, `-` or `.`, got {hook!r:.40}"
    return None
