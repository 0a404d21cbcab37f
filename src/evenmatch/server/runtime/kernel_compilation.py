"""Compile missing kernels in other processes before a server is ready, and say so meanwhile.

Until the kernels are there, `/healthz` answers that the process lives, `/readyz` how far the work
is, and every other route that the server is not ready.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn

from evenmatch.engine.configuration import ConfigurationEffect, foresee
from evenmatch.engine.state.state import Tables
from evenmatch.errors import MatchmakingError
from evenmatch.model.inputs import Configure
from evenmatch.server.http.responses import json
from evenmatch.server.runtime.logs import log
from evenmatch.server.runtime.recovery import ShardPlan, pools_of
from evenmatch.solvers import kernel
from evenmatch.warming import Warming, missing, processors

SAY_EVERY = 10.0
"""Seconds between two lines of the log."""
BEFOREHAND = "`evenmatch warm` does this beforehand"


def warm_up(plan: ShardPlan) -> None:
    """Load what the queues need, so that taking over does not have to."""
    make = pools_of(plan.seed)
    for queue in plan.queues:
        with suppress(MatchmakingError):
            make(queue)


def must_compile(plans: Sequence[ShardPlan]) -> bool:
    """Load what the queues need, and return whether some of it must be compiled first.

    Where nothing can be kept, it is compiled here and now.
    """
    for plan in plans:
        warm_up(plan)
    if kernel.deferred_kernels and _can_keep():
        return True
    kernel.settle()
    return False


def try_out(configuration: Configure, tables: Tables) -> ConfigurationEffect:
    """Return what a change would do, with all at hand by then that its queues run.

    Raises:
        ConfigError: It cannot come into force.
    """
    foreseen = foresee(configuration, tables, pools_of(configuration.seed))
    kernel.settle()
    return foreseen


class KernelCompilation:
    """Compiles kernels, and logs its progress.

    Args:
        plans: What the server is to run.
    """

    def __init__(self, plans: Sequence[ShardPlan]) -> None:
        self._plans = plans
        self._warming: Warming | None = None
        self._is_stopped = False

    def __str__(self) -> str:
        """Say what is waited for, and how long it will take."""
        progress = "" if self._warming is None else f", {self._warming}"
        return f"compiling kernels for this machine{progress}; {BEFOREHAND}"

    def run(self) -> None:
        """Compile all that the queues use; what cannot be is left to whoever needs it."""
        from evenmatch.solvers.kernel_cache import alone

        queues = [queue for plan in self._plans for queue in plan.queues]
        try:
            # Another process may be at it: then little is left.
            with alone():
                self._warming = Warming(*missing(queues))
                if not self._is_stopped:
                    self._warming.run(processors())
        except MatchmakingError as error:
            if not self._is_stopped:
                log.warning("not_compiled", reason=str(error))
        if not self._is_stopped:
            kernel.settle()

    def stop(self) -> None:
        """Stop compiling soon."""
        self._is_stopped = True
        if self._warming is not None:
            self._warming.stop()

    async def say(self) -> None:
        """Log the progress again and again."""
        while True:
            log.info("compiling", detail=str(self))
            await asyncio.sleep(SAY_EVERY)

    async def __call__(
        self,
        scope: Mapping[str, Any],
        receive: Callable[[], Awaitable[Any]],
        send: Callable[[Any], Awaitable[None]],
    ) -> None:
        """Answer a request, as an ASGI application."""
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1013})
            return
        if scope["path"] == "/healthz":
            answer = json({"status": "ok"})
        elif scope["path"] == "/readyz":
            answer = json({"status": "not ready", "reason": str(self)}, 503)
        else:
            told = {"error": "unavailable", "message": str(self)}
            answer = json(told, 503)
            answer.headers["retry-after"] = "5"
        await answer(scope, receive, send)  # type: ignore[arg-type]


async def compile_first(
    plans: Sequence[ShardPlan],
    listening: socket.socket,
    configure: Callable[[KernelCompilation], uvicorn.Config],
) -> bool:
    """Compile what the queues use while a server answers that it does.

    Args:
        plans: What is to run.
        listening: Where.
        configure: Makes a server's settings.

    Returns:
        Whether to go on: False if the process was told to end.
    """
    compiling = KernelCompilation(plans)
    server = _Meanwhile(configure(compiling))
    work = asyncio.create_task(asyncio.to_thread(compiling.run))
    says = asyncio.create_task(compiling.say())
    serving = asyncio.create_task(server.serve(sockets=[listening.dup()]))
    try:
        await asyncio.wait({work, serving}, return_when=asyncio.FIRST_COMPLETED)
        is_told_to_end = serving.done()
        if is_told_to_end:
            compiling.stop()
        await work
        server.should_exit = True
        await serving
    finally:
        says.cancel()
    return not is_told_to_end


class _Meanwhile(uvicorn.Server):
    """Ends when it is told to, and leaves the process alone."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take signals as requests to stop, as the server does that comes after this one."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError):  # Windows
                loop.add_signal_handler(number, self.handle_exit, number, None)
        yield


def _can_keep() -> bool:
    from evenmatch.solvers.kernel_cache import cache_folder

    folder = cache_folder()
    return folder is not None and os.access(folder, os.W_OK)
