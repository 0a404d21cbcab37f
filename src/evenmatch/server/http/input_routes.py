"""Routes that hand one input in, and answer with what it made.

The look at what it made is taken with it, so one commit makes both durable. Like creates, such
requests come past ASGI where they can; where not, a request of ASGI waits for the same answer.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from evenmatch.engine.engine import Engine
from evenmatch.engine.shard import Answer
from evenmatch.errors import MatchmakingError
from evenmatch.model.inputs import Input
from evenmatch.server.http.responses import (
    Receive,
    Scope,
    Send,
    answer_of,
    check_length,
    encode,
    internal_problem,
    read_body,
    send_body,
)
from evenmatch.server.http.routing import route_name
from evenmatch.server.http.whole_requests import WholeRequest
from evenmatch.server.runtime.services import Services


class InputRequest(Protocol):
    """One kind of request that asks for an input."""

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


class InputRoute:
    """Answers one kind of request that asks for an input.

    Args:
        services: What it works with.
        kind: Which it is.
    """

    advice = ""

    def __init__(self, services: Services, kind: InputRequest) -> None:
        self._runtime = services.runtime
        self._metrics = services.metrics
        self._kind = kind
        self.stopwatch = services.runtime.clocks.stopwatch
        self.body_bytes_max = kind.body_bytes_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of ASGI."""
        body = await read_body(scope, receive, self.body_bytes_max)
        try:
            input_ = self._kind.input_of(scope, body)
        except MatchmakingError as error:
            await self._runtime.look(partial(refuse, error))
            raise
        told = await self._runtime.ask(input_, look=partial(self._kind.answer, input_=input_))
        await send_body(send, 200, encode(told))

    def check(self, scope: Scope) -> None:
        """Refuse a request before its body is here.

        Raises:
            BodyTooLarge: It says so itself.
        """
        check_length(scope, self.body_bytes_max, self.advice)

    def take(self, request: WholeRequest) -> None:
        """Take a request whose caller may use the route; its answer comes with a commit."""
        try:
            input_ = self._kind.input_of(request.scope, request.body)
        except MatchmakingError as error:
            self.refuse_later(request, error)
            return
        tell = partial(self._tell, request)
        self._runtime.handle(input_, tell, look=partial(self._kind.answer, input_=input_))

    def refuse(self, request: WholeRequest, error: MatchmakingError) -> None:
        """Answer a request with what is wrong with it."""
        answer = answer_of(error)
        request.reply(*answer)
        self._count(request, answer[0])
        # One error may be that of many: the frames that it passed hold their requests.
        error.__traceback__ = None

    def refuse_later(self, request: WholeRequest, error: MatchmakingError) -> None:
        """Answer with what is wrong when everything before it, on which it may rest, is durable."""
        self._runtime.read(partial(refuse, error), partial(self._tell, request))

    def fail(self, request: WholeRequest, error: Exception) -> None:
        """Answer a request that met an unexpected error."""
        self._metrics.unexpected(error, route_name(request.scope))
        request.reply(500, internal_problem(), None)
        self._count(request, 500)

    def _tell(self, request: WholeRequest, answer: Answer) -> None:
        """Answer a request whose input is durable, or was refused."""
        try:
            if answer.error is None:
                request.reply(200, encode(answer.value), None)
                self._count(request, 200)
            elif isinstance(answer.error, MatchmakingError):
                self.refuse(request, answer.error)
            else:
                self.fail(request, answer.error)
        except Exception as error:  # noqa: BLE001
            self.fail(request, error)

    def _count(self, request: WholeRequest, status: int) -> None:
        name = route_name(request.scope)
        self._metrics.requested(name, status, self.stopwatch() - request.began)


def refuse(error: MatchmakingError, engine: Engine) -> object:
    """Look at nothing: the error goes out when what it rests on is durable.

    Raises:
        MatchmakingError: The error.
    """
    del engine
    raise error
