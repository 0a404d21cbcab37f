"""Event loops of several processes in one virtual time.

    World: what happens next, anywhere -> NodeLoop: callbacks of one process, by its own clock

Time passes only when nobody has anything to do at the present instant; then it jumps to the next
timer. What is due at one instant runs in the order in which it was asked for. A process that is
paused keeps its callbacks for later; one that was killed loses them, and nothing of it runs again,
not even what its coroutines would do in the end.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import random
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from inspect import CORO_CREATED, getcoroutinestate
from typing import Any, TypeVar

THREAD_SECONDS = (0.0001, 0.02)
"""How long work in a thread takes: before it is done, and again before the loop hears of it."""

AT_ONCE_MOST = 200_000
"""Calls at one instant; more are taken for a process that goes round and round."""

LONG_WORK, LONG_SECONDS = 0.1, (0.1, 1.5)
"""Share of the work in threads that takes long, and how long."""

Call = Callable[[], object]
_T = TypeVar("_T")


class TimeStandsStill(Exception):
    """Somebody always has something to do, so that time never passes."""


class World:
    """All that is going to happen, in order.

    Args:
        seed: Root of all chance.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.now = 0.0
        self.steps = 0
        self.requests = 0
        self.loops: list[NodeLoop] = []
        self._ready: deque[Call] = deque()
        self._later: list[tuple[float, int, Call]] = []
        self._count = 0

    def chance(self, name: str) -> random.Random:
        """Return a stream of chance of its own, the same in each process."""
        return random.Random(f"{self.seed}/{name}")

    def soon(self, call: Call) -> None:
        """Run something at this instant, after all that was asked for before."""
        self._ready.append(call)

    def at(self, when: float, call: Call) -> None:
        """Run something at an instant."""
        self._count += 1
        heapq.heappush(self._later, (when if when > self.now else self.now, self._count, call))

    def after(self, seconds: float, call: Call) -> None:
        """Run something later."""
        self.at(self.now + seconds, call)

    def run(self, until: float) -> None:
        """Let time pass."""
        ready, later = self._ready, self._later
        while True:
            since = self.steps
            while ready:
                self.steps += 1
                if self.steps - since > AT_ONCE_MOST:
                    raise TimeStandsStill(f"nothing but work at {self.now:.3f} s")
                ready.popleft()()
            if not later or later[0][0] > until:
                self.now = until
                return
            self.now, _, call = heapq.heappop(later)
            self.steps += 1
            call()


class NodeLoop(asyncio.AbstractEventLoop):
    """The event loop of one process.

    Args:
        world: Where it runs.
        name: Of the process, for its stream of chance.
        rate: Seconds of its own clock in one of the world's.
        offset: What its clock showed when the world began.
    """

    def __init__(self, world: World, name: str, *, rate: float = 1.0, offset: float = 0.0) -> None:
        self.world = world
        self.rate = rate
        self.is_dead = False
        self.errors: list[str] = []
        self._offset = offset
        self._chance = world.chance(f"threads of {name}")
        self.is_paused = False
        self._held: list[_Handle] = []
        # What was killed is kept to the end, so that no collector runs its last words in between.
        self._tasks: list[asyncio.Task[Any]] = []
        self.wires: dict[Any, None] = {}
        """Ends of connections that the process holds."""
        self.dial: Callable[[Any, str], Coroutine[Any, Any, Any]] | None = None
        """Opens a connection to a host, where the process may."""
        world.loops.append(self)

    # What happens to the process

    def kill(self) -> None:
        """Let nothing of this process run any more."""
        self.is_dead = True
        self._held.clear()
        for wire in self.wires:
            wire.reset()
        self._close(lambda coroutine: getcoroutinestate(coroutine) == CORO_CREATED)

    def dispose(self) -> None:
        """End all coroutines that are left, when nobody looks any more."""
        self.is_dead = True
        for wire in self.wires:
            wire.reset()
        events._set_running_loop(self)
        try:
            # What one begins at its end comes behind it, and ends as well.
            self._close(lambda coroutine: True)
        finally:
            events._set_running_loop(None)
        self._tasks.clear()

    def _close(self, is_meant: Callable[[Any], bool]) -> None:
        for task in self._tasks:
            coroutine: Any = task.get_coro()
            if not task.done() and is_meant(coroutine):
                # Whatever it wants to do at its end, there is no loop to do it on.
                with suppress(Exception):
                    coroutine.close()

    def pause(self) -> None:
        """Stop as SIGSTOP does: the clock goes on."""
        self.is_paused = True

    def resume(self) -> None:
        """Go on; what was due meanwhile comes first, in its order."""
        self.is_paused = False
        held, self._held = self._held, []
        for handle in held:
            self.world.soon(handle)

    # What asyncio asks of a loop

    def time(self) -> float:
        return self._offset + self.world.now * self.rate

    def call_soon(
        self,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        handle = _Handle(self, callback, args, context)
        if not self.is_dead:
            self.world.soon(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        world = self.world
        # As `call_at` does, which most calls come to: half of a run's time is spent on them.
        handle = _Handle(self, callback, args, context, self.time() + delay)
        if not self.is_dead:
            world.at(world.now + delay / self.rate, handle)
        return handle

    def call_at(
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = _Handle(self, callback, args, context, when)
        if not self.is_dead:
            self.world.at((when - self._offset) / self.rate, handle)
        return handle

    def hold(self, handle: _Handle) -> None:
        """Let a callback wait until the process, which is paused, goes on."""
        self._held.append(handle)

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    async def within(self, seconds: float, future: asyncio.Future[_T]) -> _T:
        """Return what comes of a future; `asyncio.timeout` takes three times as long.

        Raises:
            TimeoutError: Nothing did in this time.
        """
        timer = self.call_later(seconds, _give_up, future)
        try:
            return await future
        finally:
            timer.cancel()

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self, **options)
        self._tasks.append(task)
        return task

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Any, host: str, port: int, **options: Any
    ) -> Any:
        del port, options
        if self.dial is None:
            raise OSError("this process has no network")
        return await self.dial(protocol_factory, host)

    def run_in_executor(
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Do the work at a later instant, in the loop; its caller hears of it later still."""
        future = self.create_future()

        def done(value: Any, error: BaseException | None) -> None:
            if future.cancelled():
                return
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)

        def work() -> None:
            try:
                told: tuple[Any, BaseException | None] = func(*args), None
            except Exception as error:  # noqa: BLE001
                told = None, error
            self.call_later(self._chance.uniform(*THREAD_SECONDS), done, *told)

        is_long = self._chance.random() < LONG_WORK
        seconds = LONG_SECONDS if is_long else THREAD_SECONDS
        self.call_later(self._chance.uniform(*seconds), work)
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self.is_dead:
            self.errors.append(f"{context.get('message')}: {context.get('exception')!r}")

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.call_exception_handler(context)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return not self.is_dead

    def is_closed(self) -> bool:
        return False

    def begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Begin a task from outside, at this instant."""
        return self.create_task(work)


class _Handle(asyncio.TimerHandle):
    """A callback of a process, which the world calls; asyncio's own takes twice the time."""

    __slots__ = ()

    _callback: Callable[..., object]
    _args: tuple[Any, ...]
    _cancelled: bool
    _context: contextvars.Context
    _loop: NodeLoop
    _when: float

    def __init__(
        self,
        loop: NodeLoop,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: contextvars.Context | None,
        when: float = 0.0,
    ) -> None:
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._context = contextvars.copy_context() if context is None else context
        self._when = when

    def cancel(self) -> None:
        self._cancelled = True
        self._callback, self._args = _nothing, ()

    def __call__(self) -> None:
        """Run it, unless its process is gone or holds it back."""
        loop = self._loop
        if loop.is_dead or self._cancelled:
            return
        if loop.is_paused:
            loop.hold(self)
            return
        enter = events._set_running_loop
        enter(loop)
        try:
            self._context.run(self._callback, *self._args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001
            what = f"Exception in callback {self._callback!r}"
            loop.call_exception_handler({"message": what, "exception": error})
        finally:
            enter(None)


def _give_up(future: asyncio.Future[Any]) -> None:
    if not future.done():
        future.set_exception(TimeoutError())


def _nothing() -> None:
    """Stand for a callback that was cancelled, so that what it held can go."""
