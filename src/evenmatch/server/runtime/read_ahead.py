"""Reads along in the journal of a shard that another owner writes, to take over from them.

Whoever takes over goes on with engine time where the last record left it, and adds the seconds that
have passed since. The record has the wall time of its writer, and wall clocks of two machines may
differ: taken from each other, their difference would age everybody who waits, at each hand-over.
So a node that has looked into the journal again and again goes by its own monotonic clock, which
tells between which two looks the record was made; wall clocks only choose an instant between these.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from evenmatch.engine.matching.scheduler import Watch
from evenmatch.journals.base import Journal
from evenmatch.server.runtime.clock import Clocks
from evenmatch.server.runtime.recovery import Rebuilt, RecoveredEngine, ShardPlan, rebuild


class LastRecord:
    """Knows how long ago the last record of a journal was made, by when it was first seen there.

    Args:
        clock: Monotonic seconds.

    Example:
        >>> now = 0.0
        >>> last = LastRecord(lambda: now)
        >>> last.seen(7, began=now)
        >>> now = 2.0
        >>> last.seen(8, began=now)
        >>> now = 5.0
        >>> last.age(8, guess=4.5), last.age(8, guess=44.5), last.age(8, guess=-35.5)
        (4.5, 5.0, 3.0)
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._sequence = math.inf
        # When it was made: not before the look that did not show it began, nor after the one that
        # did had ended.
        self._after = self._by = self._looked_at = -math.inf

    def seen(self, sequence: int, *, began: float) -> None:
        """Note the last record that a look at the journal has shown.

        Args:
            sequence: Its number.
            began: When the look began, by the clock.
        """
        if sequence != self._sequence:
            # A journal that is shorter than before is another one: a copy was restored.
            self._after = self._looked_at if sequence > self._sequence else -math.inf
            self._by = self._clock()
        self._sequence, self._looked_at = sequence, began

    def age(self, sequence: int, *, guess: float) -> float:
        """Return the seconds since a record was made that is the last one now.

        Args:
            sequence: Its number.
            guess: What wall clocks say.
        """
        self.seen(sequence, began=self._clock())
        now = self._clock()
        return min(max(guess, now - self._by), now - self._after)


class ReadAhead:
    """What was read of a shard that another owner writes: taking over needs the last records only.

    Args:
        journal: Where the records are.
        watch: Put around each matcher.
        most: Records after which it is read anew, with the newest snapshot.
        clocks: Where the time comes from.
    """

    def __init__(self, journal: Journal, watch: Watch, most: int, clocks: Clocks) -> None:
        self._journal = journal
        self._watch = watch
        self._most = most
        self._clocks = clocks
        self._last = LastRecord(clocks.lease)
        self._rebuilt: Rebuilt | None = None

    def take(self) -> Rebuilt | None:
        """Return what was read, and begin anew next time: it will be changed."""
        rebuilt, self._rebuilt = self._rebuilt, None
        return rebuilt

    async def read(self, plan: ShardPlan, *, anew: bool) -> bool:
        """Read on; return whether there was anything to read.

        Args:
            plan: Of the shard.
            anew: Begin with the newest snapshot: what matchers remember is in no record.

        Raises:
            MatchmakingError: The journal cannot be read now.
        """
        rebuilt = None if anew else self._rebuilt
        if rebuilt is not None and rebuilt.engine.tables.sequence - rebuilt.begun_at > self._most:
            rebuilt = None
        self._rebuilt = rebuilt
        before = None if rebuilt is None else rebuilt.engine.tables.sequence
        began = self._clocks.lease()
        try:
            self._rebuilt = await rebuild(self._journal, plan, self._watch, rebuilt)
        except Exception:
            # What fails half-way must not be read on from; what is cancelled may be.
            self._rebuilt = None
            raise
        sequence = self._rebuilt.engine.tables.sequence
        self._last.seen(sequence, began=began)
        return sequence != before

    def wall(self, recovered: RecoveredEngine) -> float:
        """Return what the clock that dated the last record shows now, Unix seconds."""
        dated = recovered.last_wall
        guess = self._clocks.wall() - dated
        return dated + self._last.age(recovered.engine.tables.sequence, guess=guess)
