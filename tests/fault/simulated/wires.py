"""Connections between machines, as a loop's `create_connection` gives them: bytes over the network.

    Wire --pipe--> Wire of the other machine --loop--> protocol

The protocols at both ends are the product's own, uvicorn's and those of the clients that nodes use
among themselves. What a cut link swallows never comes; its sender notices after `UNHEARD`, as
TCP_USER_TIMEOUT lets it. Who writes to a process that is gone is told at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from tests.fault.simulated.loop import NodeLoop
from tests.fault.simulated.network import Network

UNHEARD = 10.0
"""Seconds after which a connection is given up whose other side confirms nothing."""

Factory = Callable[[], Any]
"""Makes the protocol of one end."""


class Machine(Protocol):
    """What can be reached by its name."""

    name: str

    @property
    def listening(self) -> tuple[NodeLoop, Factory] | None:
        """Return who takes connections; None while no process does."""
        ...


class Wire(asyncio.Transport):
    """One end of a connection.

    Args:
        network: In between.
        loop: Of the process at this end.
        here: Name of its machine.
        there: Name of the other one.
    """

    def __init__(self, network: Network, loop: NodeLoop, here: str, there: str) -> None:
        super().__init__({"peername": (there, 1), "sockname": (here, 1)})
        self.other: Wire
        self._network = network
        self._loop = loop
        self._ends = (here, there)
        self._pipe = network.pipe(here, there, self._swallowed)
        self._protocol: Any = None
        self._is_closing = self._is_lost = self._is_given_up = self._is_paused = False
        self._held: list[bytes | Exception | None] = []
        loop.wires[self] = None

    def begin(self, factory: Factory) -> Any:
        """Let a new protocol have this end, and return it."""
        self._protocol = factory()
        self._protocol.connection_made(self)
        return self._protocol

    # What a protocol asks of it

    def write(self, data: Any) -> None:
        if not self._is_closing and data:
            # What is signed, masked or drawn differs from run to run, and its length does not.
            text = b"%d bytes" % len(data)
            self._pipe(text, partial(self.other._arrive, bytes(data)))

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._pipe(b"end", partial(self.other._arrive, None))
            self._loop.call_soon(self._lose, None)

    abort = close

    def is_closing(self) -> bool:
        return self._is_closing

    def get_protocol(self) -> Any:
        return self._protocol

    def set_protocol(self, protocol: Any) -> None:
        self._protocol = protocol

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        self._is_paused = False
        held, self._held = self._held, []
        for each in held:
            self._loop.call_soon(self._take, each)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return False

    # What happens to it

    def reset(self) -> None:
        """Let the other side know that the process at this end is gone."""
        self._is_closing = True
        error = ConnectionResetError("the process at the other end is gone")
        self._pipe(b"reset", partial(self.other._arrive, error))

    def _swallowed(self) -> None:
        if not self._is_given_up:
            self._is_given_up = True
            error = TimeoutError("the other side confirms nothing")
            self._network.world.after(UNHEARD, lambda: self._loop.call_soon(self._lose, error))

    def _arrive(self, what: bytes | Exception | None) -> None:
        if not self._loop.is_dead and not self._is_lost:
            self._loop.call_soon(self._take, what)
        elif isinstance(what, bytes):
            self.reset()

    def _take(self, what: bytes | Exception | None) -> None:
        if self._is_lost or self._protocol is None:
            return
        if self._is_paused:
            self._held.append(what)
        elif what is None:
            if not self._protocol.eof_received():
                self.close()
        elif isinstance(what, Exception):
            self._lose(what)
        else:
            self._protocol.data_received(what)

    def _lose(self, error: Exception | None) -> None:
        if not self._is_lost:
            self._is_closing = self._is_lost = True
            self._loop.wires.pop(self, None)
            if self._protocol is not None:
                self._protocol.connection_lost(error)


async def dialled(
    network: Network, here: tuple[str, NodeLoop], there: Machine, factory: Factory
) -> tuple[Wire, Any]:
    """Return a connection to a machine, and its protocol at this end.

    Raises:
        ConnectionRefusedError: No process takes connections there.
    """
    name, loop = here
    future: asyncio.Future[tuple[Wire, Any]] = loop.create_future()

    def asked() -> None:
        if there.listening is None:
            network.carry(there.name, name, b"refused", lambda: loop.call_soon(refused))
            return
        # The system takes the connection in, whether or not its process runs just now.
        other, made = there.listening
        near, far = Wire(network, loop, name, there.name), Wire(network, other, there.name, name)
        near.other, far.other = far, near
        other.call_soon(far.begin, made)
        network.carry(there.name, name, b"welcome", lambda: loop.call_soon(welcome, near))

    def refused() -> None:
        if not future.done():
            future.set_exception(ConnectionRefusedError("nobody listens there"))

    def welcome(near: Wire) -> None:
        if not future.done():
            future.set_result((near, near.begin(factory)))
        else:
            near.begin(asyncio.Protocol)
            near.close()

    network.carry(name, there.name, b"connect", asked)
    try:
        return await future
    except asyncio.CancelledError:
        # It may have come in the very instant in which its caller gave it up.
        if future.done() and not future.cancelled() and future.exception() is None:
            future.result()[0].close()
        raise
