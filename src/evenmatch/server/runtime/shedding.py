"""Load shedding: creates wait in line, and the server refuses those that it cannot handle.

Every create takes a share of the event loop: it is decoded, decided upon and answered. Creates get
at most `TURN_LEAST` of one round of the loop, or as long as everything else in it takes, up to
`TURN_MOST`. So small requests, a health check above all, get their turn in between, and refusals,
which take time too, never leave creates with next to nothing. The other creates stand in line; one
whose answer would come too late is refused at once, with the time at which there will be room.
Three things count: the length of the line, how late the loop has been for a while, whatever keeps
it busy, and how long the journal has been writing.

A line may be long for a moment, when many players come at once; it dissolves as fast as the server
works. A line that has stood for a second does not dissolve: it makes everybody late and helps
nobody. From then on the line is kept short, until the server has refused nobody for a second.

Clients that were refused come back. So each of them is told a time of their own: refused requests
count as a line that moves as fast as the server works.

Source:
    Nichols and Jacobson, Controlling Queue Delay: what counts is how long a line, or a loop, has
    been late at the least within a second; a burst or a single stall is no queue.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from evenmatch.errors import Overloaded

TURN_LEAST = 0.01
"""Seconds that creates may take of any round of the loop."""
TURN_MOST = 0.025
"""Seconds that creates may take of a round in which all else takes as long or longer."""
WAIT_MOST = 1.0
"""Seconds after which whoever stands in line should have an answer, however many came at once."""
STANDING_MOST = 0.1
"""Seconds that the line may take while it does not dissolve."""
STANDING_SECONDS = 1.0
"""A line that was longer than that throughout this time does not dissolve."""
LATE_MOST = 0.5
"""Seconds by which the loop may be late for a while before creates are refused."""
COMMIT_MOST = 2.5
"""Seconds that the journal may write before creates are refused; twice that makes it not ready."""
RETRY_MOST = 60.0
"""The longest time that anybody is told."""
FADE = 0.1
"""Weight of the last create in what one of them takes."""
PACE_FADE = 0.1
"""Weight of the last round in how fast the line moves."""


class Turn(NamedTuple):
    """A place in the waiting line.

    Args:
        is_gone: Says whether its client has left, and needs no turn.
        begin: Lets it in, at once or in the same round of the loop.
    """

    is_gone: Callable[[], bool]
    begin: Callable[[], None]


class LoadShedding:
    """Lets creates in, as many as fit into each round of the event loop.

    Args:
        lateness: By how much the loop has been late for a while, seconds.
        commit_age: For how long the journal has been writing, seconds.
        clock: Seconds, only differences count.
    """

    def __init__(
        self,
        lateness: Callable[[], float],
        commit_age: Callable[[], float],
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._lateness = lateness
        self._commit_age = commit_age
        self._clock = clock
        # What a create takes, by the last ones, and what they took of the present round.
        self._each = 0.0
        self._spent = 0.0
        self._may_spend = TURN_LEAST
        self._began: float | None = None
        self._line: deque[Turn] = deque()
        self._has_turn = False
        # When the last round began, how many it let in, what they took of it, and what one of the
        # line takes by the last rounds: what else the loop does counts too.
        self._turn_at = 0.0
        self._let_in = 0
        self._taken = 0.0
        self._pace = 0.0
        # Since when the line has been longer than it may stand, and whether it is kept short.
        self._long_since: float | None = None
        self._is_kept_short = False
        # Work that was refused and will come back, in seconds, as of an instant.
        self._owed = 0.0
        self._owed_at = clock()
        self._refused_at = -STANDING_SECONDS

    @property
    def waiting(self) -> int:
        """Return how many creates wait in line."""
        return len(self._line)

    async def enter(self) -> float:
        """Wait until it is this create's turn; return the instant, for `leave`.

        Raises:
            Overloaded: The answer would come too late; `seconds` says when there will be room.
        """
        if self.must_wait():
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.join(Turn(turn.done, partial(turn.set_result, None)))
            await turn
        return self.begin()

    def must_wait(self) -> bool:
        """Return whether a create that comes now must wait in line.

        Raises:
            Overloaded: The answer would come too late; `seconds` says when there will be room.
        """
        ahead = self._look_at_line()
        if ahead > (STANDING_MOST if self._is_kept_short else WAIT_MOST):
            raise self._refusal("this server cannot take that many tickets at once", ahead)
        if (late := self._lateness()) > LATE_MOST:
            raise self._refusal("this server is behind with its work", late)
        if (age := self._commit_age()) > COMMIT_MOST:
            raise self._refusal("the journal is behind", age)
        return bool(self._line) or self._spent >= self._may_spend

    def join(self, turn: Turn) -> None:
        """Get into line."""
        self._line.append(turn)
        self._ask_for_turn()

    def begin(self) -> float:
        """Note that a create which was let in begins, and return the instant, for `leave`."""
        # Nobody else runs until this one has been handed in.
        self._began = self._clock()
        return self._began

    def leave(self, began: float | None = None) -> None:
        """Note that the create which was let in last has been decided.

        Args:
            began: What `enter` returned: nothing is noted if that one has left already.
        """
        if self._began is None or (began is not None and began != self._began):
            return
        took, self._began = self._clock() - self._began, None
        self._each += FADE * (took - self._each) if self._each else took
        self._spent += took
        self._taken += took
        self._ask_for_turn()

    def _look_at_line(self) -> float:
        """Return how long whoever joins the line waits; note whether it stands."""
        now, ahead = self._clock(), len(self._line) * max(self._each, self._pace)
        if ahead <= STANDING_MOST:
            self._long_since = None
            if now - self._refused_at >= STANDING_SECONDS:
                self._is_kept_short = False
        elif self._long_since is None:
            self._long_since = now
        elif now - self._long_since >= STANDING_SECONDS:
            self._is_kept_short = True
        return ahead

    def _refusal(self, why: str, seconds: float) -> Overloaded:
        """Return a refusal with a time of its own: that of those refused before, and one more."""
        now = self._clock()
        self._owed = max(0.0, self._owed - (now - self._owed_at)) + self._each
        self._owed_at = self._refused_at = now
        told = min(seconds + self._owed, RETRY_MOST)
        whole = max(1, math.ceil(told))
        return Overloaded(f"{why}; try again in {whole} s", seconds=told)

    def _ask_for_turn(self) -> None:
        if not self._has_turn:
            self._has_turn = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        """Begin a round of the loop: let in as many as it has time for."""
        self._has_turn, self._spent = False, 0.0
        self._note_round()
        count = max(1, int(self._may_spend / self._each)) if self._each > 0.0 else len(self._line)
        while self._line and count:
            turn = self._line.popleft()
            # Whose client has gone needs no turn.
            if not turn.is_gone():
                turn.begin()
                count -= 1
                self._let_in += 1
                # Their time is taken already: nobody may come before them.
                self._spent += self._each
        self._look_at_line()
        if self._line:
            self._ask_for_turn()

    def _note_round(self) -> None:
        """Note what the last round took for each that it let in, if somebody still waits."""
        now = self._clock()
        self._may_spend = TURN_LEAST
        if not self._line:
            self._pace = 0.0
        elif self._let_in:
            whole = now - self._turn_at
            each = whole / self._let_in
            self._pace += PACE_FADE * (each - self._pace) if self._pace else each
            self._may_spend = min(max(TURN_LEAST, whole - self._taken), TURN_MOST)
        self._turn_at, self._let_in, self._taken = now, 0, 0.0
