"""Creating tickets: the hot route, as raw ASGI.

A durable create costs little more than the JSON it carries: no request object, no task, one future
that the commit resolves, one encoded answer.
"""

from __future__ import annotations

import asyncio
from functools import partial
from hashlib import blake2b
from time import perf_counter

from evenmatch.engine.state.rows import TicketView
from evenmatch.errors import MatchmakingError, Paused, Refusal
from evenmatch.model.events import Refused
from evenmatch.model.inputs import Enqueue
from evenmatch.model.ticket import NewTicket
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.creation_rights import allowed, check_may_create, told
from evenmatch.server.auth.ownership import principal_of
from evenmatch.server.auth.principal import Principal
from evenmatch.server.auth.rate_limits import KeyQuota, key_of
from evenmatch.server.http.responses import (
    STATUS,
    Disconnected,
    Headers,
    InvalidRequest,
    Receive,
    Scope,
    Send,
    encode,
    header,
    headers_for,
    headers_of,
    internal_problem,
    problem_of,
    read_body,
    send_body,
)
from evenmatch.server.runtime.pending_answers import Told, resolve, value_of
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.runtime.shedding import LoadShedding
from evenmatch.server.views.metrics import Metrics
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
Answer = tuple[int, bytes, Headers | None]
"""Status, body, and the headers where they are not the usual ones."""

PAUSED_SECONDS = 5.0
"""After which a client may look whether a paused queue goes on; nobody knows when it does."""


class CreateTickets:
    """`POST /v1/tickets`."""

    def __init__(
        self, runtime: Runtime, metrics: Metrics, accounts: Accounts, quota: KeyQuota
    ) -> None:
        self._runtime = runtime
        self._quota = quota
        self._metrics = metrics
        self._accounts = accounts
        self._limits = runtime.plan.settings.limits
        self._admission = LoadShedding(lambda: runtime.lag.standing, runtime.commit_age)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        began = perf_counter()
        try:
            status, body, headers = await self._answer(scope, receive)
        except MatchmakingError as error:
            status, problem = problem_of(error)
            body, headers = encode(problem), headers_of(error)
        except Disconnected:
            return
        except Exception as error:  # noqa: BLE001
            self._metrics.unexpected(error, "POST /v1/tickets")
            status, body, headers = 500, internal_problem(), None
        await send_body(send, status, body, headers)
        self._metrics.created(status, perf_counter() - began)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        principal = principal_of(scope)
        check_may_create(principal)
        most = self._limits.body_bytes_max
        body = await read_body(scope, receive, most, "send fewer tickets at once")
        key = self._key(scope)
        began = await self._admission.enter()
        try:
            return await self._create(principal, body, key)
        finally:
            # It has left when it was handed in, unless it came to nothing before.
            self._admission.leave(began)

    async def _create(self, principal: Principal, body: bytes, key: str | None) -> Answer:
        created = decode_create(body, batch_max=self._limits.batch_max)
        if principal.is_player or principal.queues:
            created = allowed(principal, created, self._runtime.engine, self._accounts)
        if key is not None:
            key = key_of(principal, key)
            self._quota.check(principal, self._runtime.engine, key, self._runtime.now())
        digest = blake2b(body, digest_size=16).hexdigest() if key is not None else ""
        if isinstance(created, tuple):
            return 200, await self._create_many(principal, created, key, digest), None
        (result,), born = await self._enqueue((new_ticket(created),), key, digest)
        return _one(told(principal, self._runtime.engine, result), born)

    async def _create_many(
        self,
        principal: Principal,
        created: tuple[CreateTicket | Refusal, ...],
        key: str | None,
        digest: str,
    ) -> bytes:
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
        results, born = await self._enqueue(tuple(tickets), key, digest) if tickets else ((), 0.0)
        engine = self._runtime.engine
        following = iter([told(principal, engine, result) for result in results])
        seen: set[str] = set()
        items: list[ItemCreated | ItemProblem] = []
        for at in range(len(created)):
            if at in refused:
                status, problem = problem_of(refused[at])
                items.append(_refused_item(at, status, problem))
            else:
                items.append(_item(at, next(following), born, seen))
        return encode(items)

    async def _enqueue(
        self, tickets: tuple[NewTicket, ...], key: str | None, digest: str
    ) -> tuple[tuple[Result, ...], float]:
        """Return the results, and the instant that new tickets among them were born at."""
        runtime = self._runtime
        given = runtime.in_turn(Enqueue(runtime.now(), tickets, key, digest, strict=True))
        born = given.now
        if key is not None and (used := runtime.engine.tables.keys.get(key)) is not None:
            born = used.at
        future: asyncio.Future[Told] = asyncio.get_running_loop().create_future()
        runtime.handle(given, partial(resolve, future))
        self._admission.leave()
        return value_of(await future), born

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


def _one(result: Result, born: float) -> Answer:
    if isinstance(result, Refused):
        status, problem = STATUS.get(result.code, 400), _problem(result)
        return status, encode(problem), headers_for(status, problem.seconds)
    status = 201 if result.enqueued_at == born else 200
    made = TicketCreated(result.id, result.state, result.queues, result.enqueued_at)
    return status, encode(made), None


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
