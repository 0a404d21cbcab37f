"""The shard: an engine behind an output gate.

A request that is repeated with its idempotency key is answered from the engine's tables, where
`engine.state.reducers` notes what the first one got.

Nobody outside hears of a change before the journal has it. Answers and pushes wait in order until
the record that they rest on is durable. Refusals wait behind the last record. Reads are taken at
once, but delivered only when everything that was decided before them is durable. So memory may run
ahead of the journal, but never ahead of an answer. Nothing here does I/O: the server's runtime (and
any test) moves records to a journal and executes the effects.

A job goes out at once: nobody outside hears of it, and its plan comes back as an input, whose
record is behind all that it rests on. If the shard fails meanwhile, the job is forgotten with it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.engine.matching.jobs import RunningJob
from evenmatch.engine.records import Record
from evenmatch.engine.state.rows import TicketView
from evenmatch.errors import JournalUnavailable, KeyReused, MatchmakingError, Overloaded
from evenmatch.model.events import Refused
from evenmatch.model.inputs import Advance, Cancel, Configure, Enqueue, Input, Prolong, Settle, Skip

RECORDS_PER_COMMIT = 1_000
"""Most records in one commit."""
PENDING_MAX = 50_000
"""Records and answers that may wait for the journal before inputs are refused."""
LATE_LEAST = 0.1
"""Seconds by which a policy must be asked late for its rounds to have been missed."""


class Answer(msgspec.Struct, frozen=True):
    """The answer to a caller: a value, or the error that says why there is none.

    Only a look at the engine has other errors than those of the package.

    It may be part of a cycle, since an error knows the frames that it came through; so the garbage
    collector knows it, unlike other values.

    For `Enqueue` the value is a tuple of `TicketView | Refused` in the order of the request, for
    `Cancel` a `TicketView`, for `Configure` its record, for a read, or an input with a `look`, what
    that returned, otherwise None.
    """

    to: Any
    value: Any = None
    error: Exception | None = None


class Push(msgspec.Struct, frozen=True, gc=False):
    """A durable record, for followers and feeds."""

    record: Record


class Solve(msgspec.Struct, frozen=True):
    """A job to be solved elsewhere; its plan comes back by `Settle`, its error by `fail_job`."""

    running: RunningJob


Effect = Answer | Push | Solve


class Shard:
    """An engine whose records and answers wait until the journal has them.

    Args:
        engine: Configured or resumed.
        pending_max: Effects held back before inputs are refused with `Overloaded`.
        late_least: See `LATE_LEAST`; a server whose clock runs faster has more, and who drives a
            shard in virtual time misses none.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        pending_max: int = PENDING_MAX,
        late_least: float = math.inf,
    ) -> None:
        self.engine = engine
        self.pending_max = pending_max
        self._late_least = late_least
        self.is_given_up = False
        self._decided = engine.tables.sequence
        self._durable = engine.tables.sequence
        self._records: deque[Record] = deque()
        self._effects: deque[tuple[int, Effect]] = deque()

    @property
    def next_wakeup(self) -> float:
        """Return the instant of the next `Advance`; inf if there is none."""
        return self.engine.next_wakeup

    @property
    def has_records(self) -> bool:
        """Return whether records wait to be taken to the journal."""
        return bool(self._records)

    def handle(
        self,
        input_: Input,
        /,
        answer_to: Any = None,
        look: Callable[[Engine], Any] | None = None,
    ) -> list[Effect]:
        """Hand an input to the engine, after every timer that was due before it.

        Args:
            input_: The input.
            answer_to: Who asks.
            look: Finds the answer's value in the engine right after the input.

        Returns:
            Effects that nothing holds back (most come from `acknowledge`).
        """
        if self.is_given_up:
            return [Answer(answer_to, error=JournalUnavailable("this shard has stopped"))]
        if len(self._effects) >= self.pending_max and not isinstance(
            input_, Advance | Prolong | Settle
        ):
            return [Answer(answer_to, error=Overloaded("the journal is behind; try again later"))]
        self._catch_up(input_)
        if not isinstance(input_, Advance):
            self._answer(input_, answer_to, look)
        jobs = self.engine.take_jobs()
        return [*map(Solve, jobs), *self._released()] if jobs else self._released()

    def fail_job(self, running: RunningJob, error: BaseException) -> None:
        """Report that a job raised; its queue makes no more matches."""
        self.engine.fail_job(running, error)

    def _answer(self, input_: Input, answer_to: Any, look: Callable[[Engine], Any] | None) -> None:
        try:
            value = self.answered_before(input_)
            if value is None:
                record = self._step(input_)
                value = self._value(input_, record) if look is None else None
        except MatchmakingError as error:
            self._hold(Answer(answer_to, error=error))
        else:
            self._hold(Answer(answer_to, value) if look is None else self._seen(look, answer_to))

    def _seen(self, query: Callable[[Engine], Any], answer_to: Any) -> Answer:
        """Return the answer of a query; whatever error it meets is for whoever asked."""
        try:
            return Answer(answer_to, query(self.engine))
        except Exception as error:  # noqa: BLE001
            return Answer(answer_to, error=error)

    def read(self, query: Callable[[Engine], Any], answer_to: Any = None) -> list[Effect]:
        """Look at the engine now; the answer waits until all decided so far is durable."""
        if self.is_given_up:
            return [Answer(answer_to, error=JournalUnavailable("this shard has stopped"))]
        if len(self._effects) >= self.pending_max:
            return [Answer(answer_to, error=Overloaded("the journal is behind; try again later"))]
        self._hold(self._seen(query, answer_to))
        return self._released()

    def take_records(self, most: int = RECORDS_PER_COMMIT) -> list[Record]:
        """Return the next records for the journal, in order; acknowledge them when durable."""
        records = self._records
        taken = list(islice(records, most))
        if len(taken) == len(records):
            records.clear()
        else:
            for _ in taken:
                records.popleft()
        return taken

    def acknowledge(self, sequence: int) -> list[Effect]:
        """Note that the journal has all records up to `sequence`; return what they held back."""
        assert self._durable <= sequence <= self._decided
        self._durable = sequence
        return self._released()

    def fail(self, cause: Exception | None = None) -> list[Answer]:
        """Give the shard up because an append failed: memory is ahead of the journal.

        Undelivered effects are dropped; the shard must be rebuilt from the journal.

        Args:
            cause: What the append failed with, for whoever looks behind the answers' error.

        Returns:
            The answers owed, each with an error.
        """
        self.is_given_up = True
        error = JournalUnavailable("the journal could not be written; try again later")
        error.__cause__ = cause
        owed = [Answer(e.to, error=error) for _, e in self._effects if isinstance(e, Answer)]
        self._effects.clear()
        self._records.clear()
        return owed

    def _catch_up(self, input_: Input) -> None:
        """Fire the timers due before an input; those of its own instant too if it is `Advance`.

        An advance that asked for a job leaves deadlines due: the next one meets them, at once.

        Whoever comes back after an hour does not hold an hour's rounds, one after another: they
        are merged into one, at the input's instant. That is an input of its own, so that a replay
        does the same.
        """
        engine, is_advance = self.engine, isinstance(input_, Advance)
        while (at := engine.next_wakeup) < input_.now or (is_advance and at == input_.now):
            is_missed = engine.now < at < input_.now - self._late_least and engine.is_woken_at(at)
            if is_missed:
                self._step(Skip(at, input_.now))
            else:
                self._step(Advance(at))

    def _step(self, input_: Input) -> Record:
        record = self.engine.step(input_)
        if record.sequence:
            self._decided = record.sequence
            self._records.append(record)
            self._hold(Push(record))
        return record

    def answered_before(self, input_: Input, /) -> tuple[TicketView | Refused, ...] | None:
        """Return the answer that a request's idempotency key got the first time, if there was one.

        Raises:
            KeyReused: It came with another body.
        """
        if type(input_) is not Enqueue or input_.key is None:
            return None
        key = self.engine.tables.keys.get(input_.key)
        if key is None:
            return None
        if key.digest != input_.digest:
            raise KeyReused("this Idempotency-Key was used with another body; use a new key")
        return key.results

    def _value(self, input_: Input, record: Record) -> Any:
        if isinstance(input_, Enqueue):
            return self.engine.tables.results(record)
        if isinstance(input_, Cancel):
            return self.engine.view(input_.ticket)
        return record if isinstance(input_, Configure) else None

    def _hold(self, effect: Effect) -> None:
        self._effects.append((self._decided, effect))

    def _released(self) -> list[Effect]:
        effects, free = self._effects, []
        while effects and effects[0][0] <= self._durable:
            free.append(effects.popleft()[1])
        return free
