"""Creating tickets: the hot route, answered by the commit's callback.

A durable create costs little more than the JSON it carries: no task, no future, one encoded answer.
`direct_requests` hands requests in past ASGI; where that cannot be, a request of ASGI waits for the
same answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from typing import Any

from evenmatch.engine.shard import Answer
from evenmatch.engine.state.rows import TicketView
from evenmatch.errors import MatchmakingError, Paused, Refusal
from evenmatch.model.events import Refused
from evenmatch.model.inputs import Enqueue
from evenmatch.model.ticket import NewTicket
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.creation_rights import check_may_create, complete_create, visible_result
from evenmatch.server.auth.principal import Principal, principal_of
from evenmatch.server.auth.rate_limits import KeyQuota, key_of
from evenmatch.server.http.responses import (
    STATUS,
    Disconnected,
    Headers,
    InvalidRequest,
    Receive,
    Scope,
    Send,
    answer_of,
    check_length,
    encode,
    give_up_on,
    header,
    headers_for,
    internal_problem,
    problem_of,
    read_body,
    send_body,
)
from evenmatch.server.http.whole_requests import EncodedAnswer, WholeRequest
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.runtime.shedding import LoadShedding, Turn
from evenmatch.server.views.metrics import CREATE, Metrics
from evenmatch.wire.tickets import (
    CreateTicket,
    ItemCreated,
    ItemProblem,
    Problem,
    TicketCreated,
    decode_create,
    new_ticket,
)

Result = TicketView | Refused
Results = tuple[Result, ...]
AnswerEncoder = Callable[[Principal, Results, float], EncodedAnswer]
"""Makes an answer for a caller of the results and of the instant of new tickets."""
ADVICE = "send fewer tickets at once"
"""What to do about a body that is too large."""

PAUSED_SECONDS = 5.0
"""After which a client may look whether a paused queue goes on; nobody knows when it does."""


class CreateTickets:
    """`POST /v1/tickets`."""

    advice = ADVICE

    def __init__(
        self, runtime: Runtime, metrics: Metrics, accounts: Accounts, quota: KeyQuota
    ) -> None:
        self.stopwatch = runtime.clocks.stopwatch
        self._runtime = runtime
        self._quota = quota
        self._metrics = metrics
        self._accounts = accounts
        self._limits = runtime.plan.settings.limits
        self.body_bytes_max = self._limits.body_bytes_max
        self._admission = LoadShedding(
            lambda: runtime.lag.standing, runtime.commit_age, clock=self.stopwatch
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of ASGI."""
        answered: asyncio.Future[EncodedAnswer] = asyncio.get_running_loop().create_future()

        def reply(status: int, body: bytes, headers: Headers | None) -> None:
            if not answered.done():
                answered.set_result((status, body, headers))

        request = WholeRequest(scope, b"", reply, answered.done, self.stopwatch())
        try:
            check_may_create(request.principal)
            request.body = await read_body(scope, receive, self.body_bytes_max, self.advice)
        except Disconnected:
            await give_up_on(send)
            return
        except MatchmakingError as error:
            self.refuse(request, error)
        else:
            self.take(request)
        await send_body(send, *await answered)

    def check(self, scope: Scope) -> None:
        """Refuse a request before its body is here.

        Raises:
            MatchmakingError: Its caller may not create tickets, or its body is too large.
        """
        check_may_create(principal_of(scope))
        check_length(scope, self.body_bytes_max, self.advice)

    def take(self, request: WholeRequest) -> None:
        """Take a request whose caller may create tickets; its answer comes with a commit."""
        self._step(request, self._enter)

    def refuse(self, request: WholeRequest, error: MatchmakingError) -> None:
        """Answer a request with what is wrong with it."""
        self._reply(request, answer_of(error))

    def fail(self, request: WholeRequest, error: Exception) -> None:
        """Answer a request that met an unexpected error."""
        self._metrics.unexpected(error, CREATE)
        self._reply(request, (500, internal_problem(), None))

    def _step(self, request: WholeRequest, step: Callable[..., None], *given: Any) -> None:
        """Do one step of a request; whatever goes wrong is its answer."""
        try:
            step(request, *given)
        except MatchmakingError as error:
            self.refuse(request, error)
            # One error may be that of many: the frames that it passed hold their requests.
            error.__traceback__ = None
        except Exception as error:  # noqa: BLE001
            self.fail(request, error)

    def _reply(self, request: WholeRequest, answer: EncodedAnswer) -> None:
        request.reply(*answer)
        self._metrics.created(answer[0], self.stopwatch() - request.began)

    def _enter(self, request: WholeRequest) -> None:
        """Let a request in, or have it stand in line."""
        if self._admission.must_wait():
            loop = asyncio.get_running_loop()

            def begin() -> None:
                loop.call_soon(self._step, request, self._create)

            self._admission.join(Turn(request.is_gone, begin))
        else:
            self._create(request)

    def _create(self, request: WholeRequest) -> None:
        began = self._admission.begin()
        try:
            self._decode(request)
        finally:
            # It has left when it was handed in, unless it came to nothing before.
            self._admission.leave(began)

    def _decode(self, request: WholeRequest) -> None:
        principal, body = request.principal, request.body
        key = self._key(request.scope)
        created = decode_create(body, batch_max=self._limits.batch_max)
        if principal.is_player or principal.queues:
            created = complete_create(principal, created, self._runtime.engine, self._accounts)
        if key is not None:
            key = key_of(principal, key)
            self._quota.check(principal, self._runtime.engine, key, self._runtime.now())
        digest = blake2b(body, digest_size=16).hexdigest() if key is not None else ""
        if isinstance(created, tuple):
            self._create_many(request, created, key, digest)
        else:
            self._enqueue(request, (new_ticket(created),), key, digest, self._one)

    def _create_many(
        self,
        request: WholeRequest,
        created: tuple[CreateTicket | Refusal, ...],
        key: str | None,
        digest: str,
    ) -> None:
        """Create what is well-formed; each item is answered as if it had come alone.

        Malformed items depend on the body alone, so a repeated request finds the same ones, and
        the results that its key remembers are those of the others.
        """
        refused: dict[int, Refusal] = {}
        tickets: list[NewTicket] = []
        for at, each in enumerate(created):
            try:
                tickets.append(_well_formed(each))
            except Refusal as refusal:
                refused[at] = refusal
        if refused and key is not None:
            # A version that finds other items malformed must not mix up a key's results.
            digest = blake2b(f"{digest} {list(refused)}".encode(), digest_size=16).hexdigest()
        tell = partial(self._many, refused)
        if tickets:
            self._enqueue(request, tuple(tickets), key, digest, tell)
        else:
            self._reply(request, tell(request.principal, (), 0.0))

    def _enqueue(
        self,
        request: WholeRequest,
        tickets: tuple[NewTicket, ...],
        key: str | None,
        digest: str,
        tell: AnswerEncoder,
    ) -> None:
        """Hand tickets in; `tell` makes the answer of the results and the instant of new ones."""
        runtime = self._runtime
        input_ = runtime.in_turn(Enqueue(runtime.now(), tickets, key, digest, strict=True))
        born = input_.now
        if key is not None and (used := runtime.engine.tables.keys.get(key)) is not None:
            born = used.at
        runtime.handle(
            input_, partial(self._step, request, self._tell, tell, born), is_in_turn=True
        )
        self._admission.leave()

    def _tell(
        self, request: WholeRequest, tell: AnswerEncoder, born: float, answer: Answer
    ) -> None:
        """Answer a request whose tickets are durable, or were refused."""
        if answer.error is not None:
            raise answer.error
        self._reply(request, tell(request.principal, answer.value, born))

    def _one(self, principal: Principal, results: Results, born: float) -> EncodedAnswer:
        """Return the answer to a single ticket."""
        (result,) = results
        return _one(visible_result(principal, self._runtime.engine, result), born)

    def _many(
        self,
        refused: dict[int, Refusal],
        principal: Principal,
        results: Results,
        born: float,
    ) -> EncodedAnswer:
        """Return the answer to an array."""
        engine = self._runtime.engine
        following = iter([visible_result(principal, engine, result) for result in results])
        seen: set[str] = set()
        items: list[ItemCreated | ItemProblem] = []
        for at in range(len(refused) + len(results)):
            if at in refused:
                status, problem = problem_of(refused[at])
                items.append(_refused_item(at, status, problem))
            else:
                items.append(_item(at, next(following), born, seen))
        return 200, encode(items), None

    def _key(self, scope: Scope) -> str | None:
        raw = header(scope, b"idempotency-key")
        if raw is None:
            return None
        if not 1 <= len(raw) <= self._limits.key_length_max:
            raise InvalidRequest(
                f"an Idempotency-Key has 1 to {self._limits.key_length_max} characters, "
                f"got {len(raw)}"
            )
        return raw.decode("latin-1")


def _well_formed(created: CreateTicket | Refusal) -> NewTicket:
    if isinstance(created, Refusal):
        raise created
    return new_ticket(created)


def _one(result: Result, born: float) -> EncodedAnswer:
    if isinstance(result, Refused):
        status, problem = STATUS.get(result.code, 400), _problem(result)
        return status, encode(problem), headers_for(status, problem.seconds)
    status = 201 if result.enqueued_at == born else 200
    created = TicketCreated(result.id, result.state, result.queues, result.enqueued_at)
    return status, encode(created), None


def _item(at: int, result: Result, born: float, seen: set[str]) -> ItemCreated | ItemProblem:
    if isinstance(result, Refused):
        return _refused_item(at, STATUS.get(result.code, 400), _problem(result))
    # A ticket that an earlier item of the same array made is an existing one.
    is_new = result.enqueued_at == born and result.id not in seen
    seen.add(result.id)
    status = 201 if is_new else 200
    return ItemCreated(status, result.id, result.state, result.queues, result.enqueued_at)


def _refused_item(at: int, status: int, problem: Problem) -> ItemProblem:
    told = (f"/{at}{problem.where}", problem.ticket, problem.match, problem.seconds)
    return ItemProblem(status, problem.error, problem.message, *told)


def _problem(refused: Refused) -> Problem:
    known = (refused.where, refused.ticket, refused.match)
    seconds = PAUSED_SECONDS if refused.code == Paused.code else refused.seconds
    return Problem(refused.code, refused.message, *known, seconds=seconds)
