"""The asyncio shell around one shard: it moves records to the journal and executes effects.

One writer task commits whatever gathered while the previous commit ran, and for a moment after its
beginning, so commits grow with the load, not in number. One timer hands in `Advance` when the
engine is due. Threads solve the jobs of policies, and their plans come back as inputs. `Shard`
takes all decisions, and everything that leaves the server has passed its gate.

When the journal refuses a batch, memory is ahead of it: everyone who waits for an answer gets a
503, and the runtime rebuilds the shard from the journal, again and again with growing pauses. It
gives up only if another owner has taken the shard over.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from evenmatch.engine.engine import Engine
from evenmatch.engine.matching.jobs import RunningJob
from evenmatch.engine.records import FORMAT, Record, needs
from evenmatch.engine.shard import LATE_LEAST, Answer, Effect, Shard, Solve
from evenmatch.errors import (
    Draining,
    JournalError,
    JournalUnavailable,
    MatchmakingError,
    NotSupported,
    ShardFailed,
    StaleOwner,
)
from evenmatch.journals.base import Journal
from evenmatch.model.inputs import Advance, Configure, Enqueue, Input
from evenmatch.policies.base import JobResult
from evenmatch.server.operations.versions import Versions, plan_in_force
from evenmatch.server.runtime.absence import time_back
from evenmatch.server.runtime.answer_futures import AnswerTo, CallbackPort, Query, ignore, is_repeat
from evenmatch.server.runtime.clock import RETURN_SECONDS, Clock, Clocks, Timer
from evenmatch.server.runtime.commit_pace import CommitPace
from evenmatch.server.runtime.lag import Lag
from evenmatch.server.runtime.lease_keeping import Claim, LeaseKeeper, wait_for_lease
from evenmatch.server.runtime.logs import FaultLog, log
from evenmatch.server.runtime.process_setup import free_frozen
from evenmatch.server.runtime.read_ahead import ReadAhead
from evenmatch.server.runtime.recovery import (
    RecoveredEngine,
    ShardPlan,
    check_alone,
    check_waiting,
    configuration,
    expired_by_change,
    recover,
    segment_of,
)
from evenmatch.server.runtime.snapshots import SNAPSHOT_EVERY, Snapshots
from evenmatch.server.runtime.stalls import Stalls
from evenmatch.server.runtime.time_notes import TimeNote, resumes_at
from evenmatch.server.runtime.workers import Workers
from evenmatch.server.views.listener import Listener
from evenmatch.server.views.metrics import Commits
from evenmatch.server.views.switchback import with_current_policies
from evenmatch.server.views.timings import Timings, queue_of

COMMIT_MAX = 5.0
"""Seconds after which a commit that is not done makes the server not ready."""
BEYOND = (
    "the nodes of this cluster write record format {}, so that those of an older version can read "
    "along, and this needs format {}: once all nodes run this version, say: evenmatch cluster "
    "finish-upgrade http://HOST:PORT --cluster-key FILE"
)
REBUILD_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds before the tries to rebuild; the last one repeats."""
STEADY_SECONDS = 10.0
"""Seconds that a rebuilt shard must last for the pauses to begin anew: one that fails again at the
same input would be rebuilt without an end, several times a second."""


class Runtime(CallbackPort):
    """Runs a shard on a journal.

    Args:
        plan: What to run.
        journal: Where records become durable; closed by `stop`.
        listeners: Who hears of durable records, in order.
        commits: Who counts commits, and failures of the engine.
        solved: Told of the seconds that a job took.
        lag: Measures how late the loop is.
        timings: Measures what inputs and decisions take of it.
        clocks: Where the time comes from.
        snapshot_every: Records between two snapshots.
    """

    def __init__(
        self,
        plan: ShardPlan,
        journal: Journal,
        *,
        listeners: Sequence[Listener] = (),
        commits: Commits | None = None,
        solved: Callable[[float], None] | None = None,
        lag: Lag | None = None,
        timings: Timings | None = None,
        clocks: Clocks | None = None,
        snapshot_every: int = SNAPSHOT_EVERY,
        versions: Versions | None = None,
    ) -> None:
        self.plan = plan
        self.journal = journal
        self.listeners = list(listeners)
        self.commits = commits
        self.clocks = clocks = clocks or Clocks()
        self.wall = clocks.wall
        self.failure: str | None = "starting"
        self.is_cut_off = self.draining = False
        self.given_up = asyncio.Event()
        self.shard: Shard
        self.clock = self._clock_at(0.0)
        self._epoch = self.durable = 0
        self._pace = CommitPace(clocks.stopwatch)
        self.versions = Versions(plan.data) if versions is None else versions
        self._snapshots = Snapshots(journal, plan, snapshot_every, clocks.wall)
        self.format = FORMAT
        # The version in force while the plan's queues wait for a newer format.
        self._deferred_at: int | None = None
        self._work, self._idle = asyncio.Event(), asyncio.Event()
        self._writer: asyncio.Task[None] | None = None
        self._timer = Timer(self._fire)
        self._stalls = Stalls()
        self._faults = FaultLog()
        self._crashed: JournalError | None = None
        self._tries, self._back_at = 0, -math.inf
        self.lag = lag or Lag(monotonic=clocks.monotonic)
        self.timings = timings or Timings(clock=clocks.stopwatch)
        self._ahead = ReadAhead(journal, self.timings.watch, 2 * snapshot_every, clocks)
        self._workers = Workers(self._settle, self._job_failed, solved, stopwatch=clocks.stopwatch)
        self._claim = Claim(plan.shard, plan.owner, plan.lease_seconds)
        self._lease = LeaseKeeper(journal, self._claim, self._lease_lost, clock=clocks.lease)
        self.versions.confirm = self._lease.confirm

    @property
    def engine(self) -> Engine:
        """Return the engine; what it holds may not be durable yet, so answers go through `read`."""
        return self.shard.engine

    @property
    def unready(self) -> str | None:
        """Return why no inputs are taken or why a queue makes no matches; None if neither is so."""
        if (reason := self.refusal) is not None:
            return reason
        if self.commit_age() > COMMIT_MAX:
            return f"a commit has not come back from the journal for {COMMIT_MAX:g} s"
        return str(self.engine.faults[0]) if self.engine.faults else None

    @property
    def refusal(self) -> str | None:
        """Return why the shard answers nobody, or None.

        Another server may own the shard when the lease is over, and what is in memory may be old.
        """
        if self.failure is not None:
            return self.failure
        return self._lease.refusal

    @property
    def lease(self) -> tuple[int, float]:
        """Return the epoch of the lease, and for how many seconds it counts from now on."""
        return self._epoch, self._lease.left

    def commit_age(self) -> float:
        """Return for how many seconds the present commit has run; 0 if there is none."""
        return self._pace.age

    @property
    def unsaved(self) -> int:
        """Return how many durable records no snapshot includes."""
        return self._snapshots.behind

    async def start(self) -> None:
        """Recover, bring the configuration into force, and begin to write.

        Raises:
            MatchmakingError: The journal or the configuration cannot be used.
        """
        try:
            plan = self.plan
            await check_alone(self.journal, plan)
            if plan.journal:
                await wait_for_lease(self.journal, self._claim, forever=plan.waits)
            recovered = await self._recover()
            tables = recovered.engine.tables
            self.plan = await plan_in_force(self.plan, self.versions, tables)
            check_waiting(tables, self.plan)
            walls = recovered.last_wall, self._ahead.wall(recovered)
            self.clock = self._clock_at(resumes_at(self.plan.time_folder, tables, *walls))
            self._take_over(recovered)
            self._writer = asyncio.create_task(self._write())
            self.lag.begin(self.note_lag)
            await self._configure()
        except MatchmakingError:
            await self.stop()
            raise
        # A long tail makes the next start slow: do not wait for the next commit.
        self._snapshots.committed(self.durable)

    async def _configure(self) -> None:
        """Bring the plan's queues into force, if they are not."""
        if (configure := self._change()) is None:
            return
        if (number := needs(configure)) > self.format and self.engine.tables.queues:
            # Whoever stood aside for that would leave the shard to nobody, at the end.
            log.warning("queues_wait_for_finish_upgrade", shard=self.plan.shard, format=number)
            self._deferred_at = self.engine.tables.version
            return
        if not configure.by:
            version = self.engine.tables.version
            await self.versions.set_aside(configure.version)
            # The shard has not stood still: timers have moved it on, a queue may be paused, a
            # block of a switchback over. What an operator has set meanwhile counts.
            configure = self._change()
            if configure is None or self.engine.tables.version != version:
                return
        before = self.engine.tables.sequence
        await self.ask(configure)
        if count := expired_by_change(self.engine.tables, before):
            log.warning("tickets_expired", count=count, reason="queue_changed")

    def _change(self) -> Configure | None:
        """Return what brings the plan's queues into force now, None if they are."""
        now = self.clock.now()
        self.plan = replace(self.plan, queues=with_current_policies(self.plan.queues, now))
        return configuration(self.engine, self.plan, now)

    async def stop(self, *, with_snapshot: bool = True) -> None:
        """Finish the commit, take a snapshot, and close the journal, whatever fails on the way."""
        try:
            while self.failure is None and not self._idle.is_set():
                await self._idle.wait()
            is_sound = self.failure is None
            # From here on nobody would commit what an input changes.
            self.failure = self.failure or "stopped"
            self._timer.disarm()
            self.lag.end()
            # The writer first: one that rebuilds the shard would keep a lease anew.
            if self._writer is not None:
                self._writer.cancel()
                await asyncio.gather(self._writer, return_exceptions=True)
            self._lease.stop()
            await self._workers.stop()
            if self._writer is not None:
                self._execute(self.shard.fail())
            await self._snapshots.stop(with_last=is_sound and with_snapshot)
            await self._lease.release()
            await self._snapshots.close()
        finally:
            await self.journal.close()

    # Inputs and reads

    def now(self) -> float:
        """Return engine time."""
        return self.clock.now()

    def _clock_at(self, start: float) -> Clock:
        """Return a clock that shows this engine time now."""
        speed, monotonic = self.plan.settings.clock_speed, self.clocks.monotonic
        return Clock(start, speed=speed, monotonic=monotonic)

    def time_note(self) -> TimeNote | None:
        """Return how late it is; None while nobody waits, and after a failure."""
        if self.failure is not None or not self.engine.tables.waiting:
            return None
        # The journal has this record: of later ones nobody knows yet whether it gets them.
        return TimeNote(self.durable, self.now(), self.wall())

    def attended(self) -> float:
        """Return engine time without the stretches in which the loop read no socket."""
        self.note_lag()
        return self.clock.now() - self.lag.excused * self.clock.speed

    def note_lag(self, latest: float = math.inf) -> None:
        """Give players who are asked to accept the time for which the loop was away.

        This comes before any other input, so no deadline of that time has fired.

        Args:
            latest: The instant of the input that comes next.
        """
        away, _ = absence = self.lag.notice()
        if self.failure is not None or not (away or self._stalls.are_owed):
            return
        try:
            for prolong in self._stalls.inputs(self.engine, self.clock, absence, latest):
                self._execute(self.shard.handle(prolong, ignore))
                self._see_to_records()
                if self._crashed is not None:
                    break
        except Exception as error:  # noqa: BLE001
            self.give_up_shard(error)

    def in_turn(self, input_: Input) -> Input:
        """Return an input at the instant at which `handle` will hand it in.

        That is the instant of a wake-up that is due, where one is. A policy may ask to go on at
        once, again and again, and engine time waits for it, up to `LATE_LEAST` real seconds: each
        turn of the loop does one such step, and inputs in between come before the next.
        """
        self.note_lag(input_.now)
        if self.failure is not None:
            return input_
        due, late_least = self.shard.next_wakeup, LATE_LEAST * self.clock.speed
        return replace(input_, now=due) if input_.now - late_least <= due < input_.now else input_

    def handle(
        self, input_: Input, to: AnswerTo, *, look: Query | None = None, is_in_turn: bool = False
    ) -> None:
        """Hand an input in; `to` is called with the answer when it is durable.

        Args:
            input_: The input.
            to: Who asks.
            look: Finds the answer's value in the engine right after the input.
            is_in_turn: Whether `in_turn` has just returned it.
        """
        if (reason := self.refusal) is not None:
            to(Answer(to, error=JournalUnavailable(f"the server is not ready: {reason}")))
            return
        self._hand_in(input_ if is_in_turn else self.in_turn(input_), to, look)

    def check_format(self, input_: Input) -> None:
        """Raise `NotSupported` for an input that nodes of an older version could not read."""
        if self.format < FORMAT and (number := needs(input_)) > self.format:
            raise NotSupported(BEYOND.format(self.format, number))

    def _hand_in(self, input_: Input, to: AnswerTo, look: Query | None = None) -> None:
        """Hand in an input that is in turn, whether or not somebody else may own the shard.

        The journal refuses what comes of it where somebody does.
        """
        if self.failure is not None:
            to(Answer(to, error=JournalUnavailable(f"the server is not ready: {self.failure}")))
            return
        try:
            self.check_format(input_)
        except NotSupported as error:
            to(Answer(to, error=error))
            return
        if self.draining and type(input_) is Enqueue and not is_repeat(self.shard, input_):
            to(Answer(to, error=Draining("the server is shutting down: try again in a second")))
            return
        try:
            shard = self.shard
            began, queue = self.timings.clock(), queue_of(input_, shard.engine.tables)
            effects = shard.handle(input_, to, look)
            self.timings.input(input_, queue, began)
            self._see_to_records()
        except Exception as error:  # noqa: BLE001
            to(Answer(to, error=self.give_up_shard(error)))
        else:
            self._execute(effects)

    def read(self, query: Query, to: AnswerTo) -> None:
        """Ask the engine; `to` is called with the answer when what it rests on is durable."""
        if (reason := self.refusal) is not None:
            to(Answer(to, error=JournalUnavailable(f"the server is not ready: {reason}")))
            return
        self._execute(self.shard.read(query, to))

    # Effects

    def _execute(self, effects: Sequence[Effect]) -> None:
        """Answer callers, tell listeners, begin jobs; one that fails keeps nothing from others."""
        for effect in effects:
            try:
                if type(effect) is Answer:
                    effect.to(effect)
                elif type(effect) is Solve:
                    self._workers.start(effect.running)
                else:
                    for listener in self.listeners:
                        listener.hear(effect.record)  # type: ignore[union-attr]
            except Exception as error:  # noqa: BLE001
                # What is durable stays true; rebuilding lets all listeners begin anew.
                self.give_up_shard(error)

    def _see_to_records(self) -> None:
        """Wake the writer and set the timer after the engine has moved."""
        if self.shard.has_records:
            self._idle.clear()
            self._work.set()
        self._timer.arm(self.clock, self.shard.next_wakeup)

    def _settle(self, running: RunningJob, plan: JobResult) -> None:
        self._hand_in(self.in_turn(running.settle(plan, self.now())), ignore)

    def _job_failed(self, running: RunningJob, error: BaseException) -> None:
        self.shard.fail_job(running, error)
        self._faults.tell(self.engine)

    def _fire(self) -> None:
        self._hand_in(self.in_turn(Advance(self.now())), ignore)
        # One that decided nothing leaves no record, and nobody would look until the next commit.
        self._faults.tell(self.engine)

    # Writer

    async def _write(self) -> None:
        while True:
            await self._work.wait()
            await self._pace.gather()
            try:
                await self._commit_next()
            except JournalError as error:
                await self._fall_back(error)
            except Exception as error:  # noqa: BLE001
                await self._fall_back(self.give_up_shard(error))
            self._faults.tell(self.engine)

    async def _commit_next(self) -> None:
        """Commit what has gathered, or go idle."""
        if self._crashed is not None:
            raise self._crashed
        if records := self.shard.take_records():
            await self._commit(records)
        else:
            self._work.clear()
            self._idle.set()

    async def _commit(self, records: list[Record]) -> None:
        plan = self.plan
        with self._pace.commit():
            sequence = await self.journal.append(
                plan.shard, plan.owner, self._epoch, records[0].sequence, records
            )
        self.durable = sequence
        if self.commits is not None:
            self.commits.committed(self._pace.seconds, len(records))
        self._execute(self.shard.acknowledge(sequence))
        if self.failure is None:
            self._snapshots.committed(sequence, sum(len(each.events) for each in records))

    # Failure

    def give_up_shard(self, error: Exception) -> JournalError:
        """Give the shard up after an unexpected error; return the error for callers.

        The engine may have stopped half-way, so only the journal knows what is true.
        """
        log.error("engine_failed", shard=self.plan.shard, error=repr(error), exc_info=error)
        if self.commits is not None:
            self.commits.failed()
        self._crashed = ShardFailed("the server has failed and is rebuilding its state; try again")
        self.failure, self.is_cut_off = str(self._crashed), False
        self._snapshots.drop()
        self._idle.clear()
        self._work.set()
        return self._crashed

    async def _recover(self) -> RecoveredEngine:
        """Take the lease, keep it from then on, and return what the journal holds."""
        self._crashed = None
        asked_at = self.clocks.lease()

        def granted(epoch: int) -> None:
            if self.plan.journal:
                self._lease.keep(epoch, asked_at)

        watch, rebuilt = self.timings.watch, self._ahead.take()
        return await recover(
            self.journal, self.plan, watch, wall=self.wall, granted=granted, rebuilt=rebuilt
        )

    async def follow(self, *, anew: bool = False) -> bool:
        """Read what another owner has written; return whether there was anything.

        Args:
            anew: Begin with the newest snapshot: what matchers remember is in no record.

        Raises:
            MatchmakingError: The journal cannot be read now.
        """
        return await self._ahead.read(self.plan, anew=anew)

    async def raise_format(self) -> None:
        """Write the newest format from now on, which older versions cannot read.

        Queues that waited for it come into force then, unless others have been set since.

        Raises:
            JournalError: Another owner has the shard, or the journal takes no note of it: nothing
                was changed here.
        """
        if self.format < FORMAT:
            await self._begin_newest()
        if self._deferred_at == self.engine.tables.version:
            await self._configure()

    async def _begin_newest(self) -> None:
        if (reason := self.refusal) is not None:
            raise JournalUnavailable(f"the server is not ready: {reason}")
        await self._lease.confirm()
        shard, at = self.shard, self.durable + 1
        segment = segment_of(self.plan, at, self.wall(), FORMAT, raised=True)
        await self.journal.begin(self.plan.shard, segment)
        if self.shard is not shard:
            raise JournalUnavailable("the shard was rebuilt in the meantime: try again")
        self._write_in(FORMAT)
        log.warning("format_raised", shard=self.plan.shard, format=FORMAT)

    def _write_in(self, number: int) -> None:
        self.format = self._snapshots.format = self.shard.engine.format = number

    async def save(self) -> None:
        """Take a snapshot of the records that none includes, and go on meanwhile."""
        await self._snapshots.finish(with_last=self.failure is None)

    async def _rebuild(self) -> None:
        """Take the place of the present shard by what the journal holds; time goes on."""
        recovered = await self._recover()
        if self.clock.now() < (now := recovered.engine.tables.now):
            self.clock = self._clock_at(now)
        self._take_over(recovered)
        # Before anybody is answered again.
        free_frozen()

    def _take_over(self, recovered: RecoveredEngine) -> None:
        """Begin to serve what was recovered.

        Raises:
            JournalError: The lease was lost meanwhile.
        """
        if self._crashed is not None:
            raise self._crashed
        # New matchers know of no job.
        self._workers.forget()
        self.shard = Shard(recovered.engine, late_least=LATE_LEAST * self.clock.speed)
        self._epoch = recovered.epoch
        self._write_in(recovered.format)
        self.durable = recovered.engine.tables.sequence
        self._snapshots.follow(
            self.shard, durable=self.durable, stored=recovered.snapshot_at, events=recovered.events
        )
        self._faults.forget()
        self._stalls.forget()
        self.timings.begin(recovered.engine)
        for listener in self.listeners:
            listener.reset(recovered.engine)
        self.failure, self.is_cut_off = None, False
        self._idle.set()
        # Who is asked to accept pays neither for time away, nor for that of clients to come back.
        grace = RETURN_SECONDS * self.clock.speed
        for prolong in time_back(recovered.engine.tables, self.clock.now(), grace):
            # They fire the timers that were due, so a policy may have asked for a job.
            self._execute(self.shard.handle(prolong, ignore))
        self._see_to_records()

    def _lease_lost(self, error: JournalError) -> None:
        """Let the writer stop at once: another server may answer for the shard by now."""
        self.failure = str(error)
        self._crashed = error
        self._snapshots.drop()
        self._idle.clear()
        self._work.set()

    def _stand_still(self, error: JournalError, before: JournalError | None = None) -> None:
        """Answer nobody, because of an error; the log is told unless it was the same before."""
        if str(error) != str(before):
            shard, consequence = self.plan.shard, "requests are answered with 503"
            log.error("shard_failed", shard=shard, error=str(error), consequence=consequence)
        self.failure = str(error)
        self.is_cut_off = isinstance(error, JournalUnavailable) and type(error) is not ShardFailed

    async def _fall_back(self, error: JournalError) -> None:
        """Answer everyone who waits with a 503, and rebuild the shard or give it up."""
        self._stand_still(error)
        self._timer.disarm()
        self._execute(self.shard.fail(error))
        self._idle.set()
        await self._snapshots.forget()
        if self.clocks.monotonic() - self._back_at >= STEADY_SECONDS:
            self._tries = 0
        while not isinstance(error, StaleOwner):
            await asyncio.sleep(REBUILD_PAUSES[min(self._tries, len(REBUILD_PAUSES) - 1)])
            self._tries += 1
            try:
                await self._rebuild()
            except JournalError as again:
                self._stand_still(again, error)
                error = again
            except Exception as again:  # noqa: BLE001
                error = self.give_up_shard(again)
            else:
                self._back_at = self.clocks.monotonic()
                log.warning("shard_back", shard=self.plan.shard, tries=self._tries)
                return
        self._lease.leave()
        log.error("shard_given_up", shard=self.plan.shard, error=str(error))
        self.given_up.set()
        await asyncio.Event().wait()
