"""The ready-check of a queue."""

from __future__ import annotations

import msgspec


class ReadyCheck(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A ready-check: players confirm a match before it is made; see `engine.acceptance`.

    Args:
        seconds: How long players have to confirm.
        loss_max: Quality that a repair may cost, compared with the match as first proposed.
        cooldowns: Seconds for which a player may not queue after the second, third, ... check that
            they failed within a day; the last one repeats, and the first failure costs nothing.
        repair: Seconds for which the server looks for replacements; 0 sends everyone back at once.
        again: Seconds for which players whose check failed are not proposed together again.
        long_wait: Seconds of waiting after which a ticket is a long-waiting one; None = never.
        long_seconds: How long the players of such a ticket have to confirm; None = as all.
    """

    seconds: float = 15.0
    loss_max: float = 0.05
    cooldowns: tuple[float, ...] = (60.0, 300.0, 900.0)
    repair: float = 10.0
    again: float = 30.0
    long_wait: float | None = None
    long_seconds: float | None = None

    def answer_by(self, enqueued_at: float, now: float) -> float:
        """Return until when a ticket that is asked now has to answer."""
        if self.long_wait is not None and now - enqueued_at >= self.long_wait:
            return now + (self.long_seconds or self.seconds)
        return now + self.seconds

    def had_waited_long(self, enqueued_at: float, answer_by: float) -> bool:
        """Return whether a ticket that has to answer by then was asked after a long wait.

        Its players may have walked away, so that clients should call them louder.
        """
        asked_at = answer_by - (self.long_seconds or self.seconds)
        return self.long_wait is not None and asked_at - enqueued_at >= self.long_wait
