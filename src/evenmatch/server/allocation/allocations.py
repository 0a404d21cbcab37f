"""Asks the hook of a queue for a server for each match, and repeats until that succeeds.

    unassigned --asked--> assigned                          (PUT assignment, or the hook's answer)
        ^            |--> told: the hook will say it later
        |--pause-----|
                     `--> dead --> void: its tickets wait again    (`failed = "requeue"`)
                            `----> asked again by an operator      (`failed = "keep"`)

Which matches have no server is in the engine's tables, so a restart begins with exactly those: a
hook is asked at least once, after the match is durable. Tries, pauses and the list of the dead are
kept in memory only.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter, deque
from collections.abc import Iterable
from functools import partial

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.errors import MatchmakingError, Overloaded, TooLate, UnknownMatch
from evenmatch.model.events import Assigned, Finished, Matched, Voided
from evenmatch.model.inputs import Assign, Void
from evenmatch.server.allocation.hooks import AllocatedPlace, Hook, NoServer
from evenmatch.server.runtime.logs import log
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.wire.backfill import AllocationState

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds before the second try, and at the most; in between it doubles, give or take a half."""
DEAD_MOST = 1_000
"""Failed allocations that are remembered, of matches that wait and of void ones each so many;
beyond, the oldest are forgotten."""


class _Order(msgspec.Struct):
    """A match that needs a server."""

    match: str
    queue: str
    hook: str
    state: str = "waiting"
    attempts: int = 0
    pauses: int = 0
    reason: str | None = None
    place: AllocatedPlace | None = None
    task: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None


class Allocations:
    """Matches without a server, and the hooks that look for one.

    Args:
        hooks: By name.
    """

    def __init__(self, hooks: Iterable[Hook]) -> None:
        self._hooks = {hook.name: hook for hook in hooks}
        self._engine: Engine | None = None
        self._runtime: Runtime | None = None
        self._orders: dict[str, _Order] = {}
        # Matches that wait for an operator; void ones are only told of and must not push them out.
        self._dead: dict[str, _Order] = {}
        self._void: dict[str, _Order] = {}
        self._ready: dict[str, deque[str]] = {name: deque() for name in self._hooks}
        self._busy = dict.fromkeys(self._hooks, 0)
        self._chance = random.Random()
        self.tries = Counter(dict.fromkeys(self._hooks, 0))
        """How often each hook was asked since the start."""
        self.failures = Counter(self.tries)
        """How often it gave no server then."""

    def begin(self, runtime: Runtime) -> None:
        """Start asking hooks for the matches of this runtime."""
        self._runtime = runtime

    def close(self) -> None:
        """Stop asking."""
        for match_id in list(self._orders):
            self._drop(match_id)
        self._runtime = None

    # Records

    def reset(self, engine: Engine) -> None:
        """Start over with the matches that have no server."""
        self._engine = engine
        for match_id in list(self._orders):
            self._drop(match_id)
        self._dead.clear()
        for match_id, roster in engine.tables.rosters.items():
            if roster.allocation is not None:
                self._order(match_id, roster.queue, roster.allocation)

    def hear(self, record: Record) -> None:
        """Note new matches that need a server, and drop those that need none any more."""
        for event in record.events:
            if type(event) is Matched:
                assert self._engine is not None
                roster = self._engine.tables.rosters.get(event.match.id)
                if roster is not None and roster.allocation is not None:
                    self._order(event.match.id, roster.queue, roster.allocation)
            elif isinstance(event, Assigned | Voided | Finished):
                self._drop(event.match)
                self._dead.pop(event.match, None)

    # Operators

    def states(self, wanted: str | None = None) -> list[AllocationState]:
        """Return the state of each match without a server, failed ones first, oldest first."""
        return [
            AllocationState(o.match, o.queue, o.hook, o.state, o.attempts, o.reason)
            for o in (*self._dead.values(), *self._void.values(), *self._orders.values())
            if wanted is None or o.state == wanted
        ]

    def retry(self, match_id: str) -> None:
        """Ask again for a match whose allocation has failed for good.

        Raises:
            UnknownMatch: No allocation of such a match has failed lately.
            TooLate: The match is void already.
        """
        if match_id in self._void:
            raise TooLate(f"match {match_id} is void: its tickets wait again", match=match_id)
        order = self._dead.pop(match_id, None)
        if order is None:
            raise UnknownMatch(f"no allocation of match {match_id[:64]!r} has failed lately")
        self._order(match_id, order.queue, order.hook)

    # Orders

    def _order(self, match_id: str, queue: str, hook: str) -> None:
        if match_id in self._orders:
            return
        order = self._orders[match_id] = _Order(match_id, queue, hook)
        if hook in self._hooks:
            self._ready[hook].append(match_id)
            self._pump(hook)
        else:
            order.reason = f"there is no [server.allocation.{hook}]"
            self.tries[hook] += 1
            self.failures[hook] += 1
            log.error("allocation_failed", match=match_id, hook=hook, reason=order.reason)

    def _drop(self, match_id: str) -> None:
        order = self._orders.pop(match_id, None)
        if order is None:
            return
        if order.timer is not None:
            order.timer.cancel()
        task = order.task
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    def _pump(self, hook: str) -> None:
        """Ask for as many matches as may be asked for at the same time."""
        ready, most = self._ready[hook], self._hooks[hook].settings.concurrency
        while ready and self._busy[hook] < most:
            order = self._orders.get(ready.popleft())
            if order is not None and order.state == "waiting":
                self._busy[hook] += 1
                order.state = "asked"
                task = order.task = asyncio.get_running_loop().create_task(self._try(order))
                # Also called for a task that is cancelled before its first step.
                task.add_done_callback(partial(self._done, order))

    def _done(self, order: _Order, task: asyncio.Task[None]) -> None:
        self._busy[order.hook] -= 1
        if order.task is task:
            order.task = None
        self._pump(order.hook)

    async def _try(self, order: _Order) -> None:
        try:
            await self._ask(order)
        except NoServer as error:
            await self._failed(order, error)
        except Overloaded as error:
            # This is no fault of the hook, and the server that it has found stays with the match.
            self._pause(order, error.message)
        except MatchmakingError as error:
            # The engine knows better by now, or the shard is being rebuilt, which begins anew.
            log.warning("allocation_void", match=order.match, hook=order.hook, reason=str(error))
            self._orders.pop(order.match, None)
        except Exception as error:  # noqa: BLE001 - one match must not stop the others
            await self._failed(order, NoServer(f"the hook failed ({type(error).__name__})"))

    async def _ask(self, order: _Order) -> None:
        runtime = self._runtime
        if runtime is None:
            return
        kept, roster = await runtime.look(
            lambda engine: (engine.match(order.match), engine.tables.rosters.get(order.match))
        )
        if roster is None or roster.allocation is None:
            self._orders.pop(order.match, None)
            return
        if order.place is None:
            order.attempts += 1
            self.tries[order.hook] += 1
            order.place = await self._hooks[order.hook].ask(kept.match, roster)
        if order.place.assignment is None:
            order.state, order.reason = "told", None
        else:
            await runtime.ask(Assign(runtime.now(), order.match, order.place.assignment))

    async def _failed(self, order: _Order, error: NoServer) -> None:
        """Try again later, or give up."""
        self.failures[order.hook] += 1
        settings = self._hooks[order.hook].settings
        if not error.is_final and order.attempts <= settings.retries:
            self._pause(order, error.reason)
            return
        order.reason = error.reason
        self._log_failure(order)
        await self._give_up(order, requeue=settings.failed == "requeue")

    def _log_failure(self, order: _Order) -> None:
        say = log.warning if order.state == "paused" else log.error
        say(
            "allocation_failed", match=order.match, hook=order.hook,
            attempt=order.attempts, reason=order.reason,
        )  # fmt: skip

    def _pause(self, order: _Order, reason: str) -> None:
        """Ask again after a while."""
        order.state, order.reason = "paused", reason
        self._log_failure(order)
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(order.pauses, 20))
        order.pauses += 1
        order.timer = asyncio.get_running_loop().call_later(
            pause * self._chance.uniform(0.5, 1.5), self._again, order
        )

    def _again(self, order: _Order) -> None:
        order.timer, order.state = None, "waiting"
        self._ready[order.hook].append(order.match)
        self._pump(order.hook)

    async def _give_up(self, order: _Order, *, requeue: bool) -> None:
        runtime = self._runtime
        self._orders.pop(order.match, None)
        if not requeue:
            self._die(order)
            return
        order.state = "void"
        _remember(self._void, order)
        if runtime is not None:
            try:
                await runtime.ask(Void(runtime.now(), order.match, order.reason or "no server"))
            except Overloaded as error:
                # It is neither called off nor left without a server: it is asked for once more.
                self._void.pop(order.match, None)
                is_open = self._runtime is runtime
                if is_open and self._orders.setdefault(order.match, order) is order:
                    self._pause(order, error.message)
            except MatchmakingError as error:
                self._void.pop(order.match, None)
                order.reason = str(error)
                self._die(order)

    def _die(self, order: _Order) -> None:
        """Let a match wait for an operator, unless it needs no server any more."""
        assert self._engine is not None
        order.state = "dead"
        roster = self._engine.tables.rosters.get(order.match)
        if roster is not None and roster.allocation is not None:
            _remember(self._dead, order)


def _remember(failed: dict[str, _Order], order: _Order) -> None:
    failed[order.match] = order
    while len(failed) > DEAD_MOST:
        del failed[next(iter(failed))]
