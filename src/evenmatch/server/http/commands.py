"""Commands: requests that hand one input in, and are answered with what it made.

The look at what it made is taken in the same turn, so one commit makes both durable. Like creates,
commands come past ASGI where they can; where not, a request of ASGI waits for the same answer.
"""

from __future__ import annotations

from typing import Any, Protocol

from evenmatch.engine.engine import Engine
from evenmatch.engine.shard import Answer
from evenmatch.errors import MatchmakingError
from evenmatch.model.inputs import Input
from evenmatch.server.http.responses import (
    Receive,
    Scope,
    Send,
    check_length,
    encode,
    headers_of,
    internal_problem,
    problem_of,
    read_body,
    send_body,
)
from evenmatch.server.http.routing import route_name
from evenmatch.server.http.whole_requests import WholeRequest
from evenmatch.server.runtime.services import Services


class Command(Protocol):
    """What one kind of command does."""

    @property
    def body_bytes_max(self) -> int:
        """Bytes that its body may have."""
        ...

    def input_of(self, scope: Scope, body: bytes) -> Input:
        """Return the input that a request asks for.

        Raises:
            MatchmakingError: What is wrong with it, or that its caller may not do that.
        """
        ...

    def answer(self, engine: Engine, input_: Any) -> object:
        """Return the body of the answer, from the engine as it is right after the input."""
        ...


class CommandRoute:
    """Answers one kind of command.

    Args:
        services: What it works with.
        command: What it does.
    """

    advice = ""

    def __init__(self, services: Services, command: Command) -> None:
        self._runtime = services.runtime
        self._metrics = services.metrics
        self._command = command
        self.stopwatch = services.runtime.clocks.stopwatch
        self.body_bytes_max = command.body_bytes_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of ASGI."""
        command = self._command
        input_ = command.input_of(scope, await read_body(scope, receive, self.body_bytes_max))
        found = await self._runtime.change(input_, lambda engine: command.answer(engine, input_))
        await send_body(send, 200, encode(found))

    def check(self, scope: Scope) -> None:
        """Refuse a request before its body is here.

        Raises:
            BodyTooLarge: It says so itself.
        """
        check_length(scope, self.body_bytes_max, self.advice)

    def take(self, request: WholeRequest) -> None:
        """Take a request whose caller may use the route; its answer comes with a commit."""
        command = self._command
        try:
            input_ = command.input_of(request.scope, request.body)
            self._runtime.hand_in(
                input_,
                lambda engine: command.answer(engine, input_),
                lambda answer: self._tell(request, answer),
            )
        except MatchmakingError as error:
            self.refuse(request, error)
        except Exception as error:  # noqa: BLE001
            self._fail(request, error)

    def refuse(self, request: WholeRequest, error: MatchmakingError) -> None:
        """Answer a request with what is wrong."""
        status, problem = problem_of(error)
        request.reply(status, encode(problem), headers_of(error))
        self._count(request, status)
        # One error may be that of many: the frames that it passed hold their requests.
        error.__traceback__ = None

    def _tell(self, request: WholeRequest, answer: Answer) -> None:
        """Answer a request whose input is durable, or was refused."""
        try:
            if answer.error is not None:
                self.refuse(request, answer.error)
            else:
                request.reply(200, encode(answer.value), None)
                self._count(request, 200)
        except Exception as error:  # noqa: BLE001
            self._fail(request, error)

    def _fail(self, request: WholeRequest, error: Exception) -> None:
        self._metrics.unexpected(error, route_name(request.scope))
        request.reply(500, internal_problem(), None)
        self._count(request, 500)

    def _count(self, request: WholeRequest, status: int) -> None:
        name = route_name(request.scope)
        self._metrics.requested(name, status, self.stopwatch() - request.began)
