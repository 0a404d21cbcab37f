"""The routes of GameLift's protocol, and what answers each operation.

AWS JSON 1.1 comes to `POST /`, RPC v2 CBOR to `POST /service/GameLift/operation/OPERATION`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from evenmatch.errors import MatchmakingError
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.address import caller_address
from evenmatch.server.auth.audit import TEXT_MAX
from evenmatch.server.auth.creation_rights import lacks
from evenmatch.server.auth.principal import Forbidden, Principal, principal_of
from evenmatch.server.gamelift import shapes
from evenmatch.server.gamelift.codec import CBOR, JSON, Codec, unknown_operation
from evenmatch.server.gamelift.resources import Resources
from evenmatch.server.gamelift.service_errors import NOT_FOUND, ServiceError, service_error_of
from evenmatch.server.gamelift.tickets import Tickets
from evenmatch.server.http.responses import Disconnected, read_body
from evenmatch.server.runtime.services import Services

BYTES_MAX = 1_000_000
"""Bytes of a request; a rule set of the greatest length has a quarter of them."""
CALL = "GameLift's call"
"""The label `route` of unexpected errors of all operations."""
PLAY = frozenset({"tickets"})
LEAD = frozenset({"matches", "tickets"})
CHANGE = frozenset({"operate"})
SEE = frozenset({"tickets", "operate", "read"})

CHANGES = frozenset(
    each.__name__
    for each in (
        shapes.CreateMatchmakingRuleSet,
        shapes.DeleteMatchmakingRuleSet,
        shapes.CreateMatchmakingConfiguration,
        shapes.UpdateMatchmakingConfiguration,
        shapes.DeleteMatchmakingConfiguration,
        shapes.TagResource,
        shapes.UntagResource,
    )
)
"""Operations that change rule sets, configurations or their tags."""
AUDITED = CHANGES | {shapes.StopMatchmaking.__name__}
"""Operations that go to the audit log."""
TARGETS = ("name", "resource_arn", "ticket_id")
"""Fields of requests that say what is changed."""


class GameLiftCall(NamedTuple):
    """An operation.

    Args:
        shape: The type of its requests.
        rights: Those of which one is enough.
        answer: Takes the request and the caller.
    """

    shape: type
    rights: frozenset[str]
    answer: Callable[[Any, Principal], Awaitable[Any]]


class GameLiftRoute:
    """Answers all operations of one server."""

    def __init__(self, services: Services, accounts: Accounts) -> None:
        self._unexpected = services.metrics.unexpected
        services.metrics.expect_errors((CALL,))
        self._accounts = accounts
        resources = Resources(services)
        tickets = Tickets(services, resources)

        def kept(handler: Callable[[Any, str], Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
            """Return the handler of a change, which is told who calls in words."""

            async def answer(given: Any, caller: Principal) -> Any:
                return await handler(given, f"GameLift.{type(given).__name__} by {caller.name}")

            return answer

        calls = (
            GameLiftCall(shapes.StartMatchmaking, PLAY, tickets.start),
            GameLiftCall(shapes.DescribeMatchmaking, PLAY, tickets.describe),
            GameLiftCall(shapes.StopMatchmaking, PLAY, tickets.stop),
            GameLiftCall(shapes.AcceptMatch, PLAY, tickets.accept),
            GameLiftCall(shapes.StartMatchBackfill, LEAD, tickets.backfill),
            GameLiftCall(shapes.CreateMatchmakingRuleSet, CHANGE, kept(resources.create_rule_set)),
            GameLiftCall(shapes.DescribeMatchmakingRuleSets, SEE, resources.describe_rule_sets),
            GameLiftCall(shapes.DeleteMatchmakingRuleSet, CHANGE, kept(resources.delete_rule_set)),
            GameLiftCall(shapes.ValidateMatchmakingRuleSet, SEE, resources.validate_rule_set),
            GameLiftCall(
                shapes.CreateMatchmakingConfiguration, CHANGE, kept(resources.create_configuration)
            ),
            GameLiftCall(
                shapes.UpdateMatchmakingConfiguration, CHANGE, kept(resources.update_configuration)
            ),
            GameLiftCall(
                shapes.DescribeMatchmakingConfigurations,
                SEE,
                resources.describe_configurations,
            ),
            GameLiftCall(
                shapes.DeleteMatchmakingConfiguration, CHANGE, kept(resources.delete_configuration)
            ),
            GameLiftCall(shapes.TagResource, CHANGE, kept(resources.tag)),
            GameLiftCall(shapes.UntagResource, CHANGE, kept(resources.untag)),
            GameLiftCall(shapes.ListTagsForResource, SEE, resources.list_tags),
        )
        self.calls = {call.shape.__name__: call for call in calls}

    async def answer(self, request: Request) -> Response:
        """Answer one call in JSON; whatever goes wrong has AWS's form."""
        return await self._answer_in(JSON, request)

    async def answer_cbor(self, request: Request) -> Response:
        """Answer one call in CBOR."""
        return await self._answer_in(CBOR, request)

    async def _answer_in(self, codec: Codec, request: Request) -> Response:
        try:
            return codec.answer(await self._answer(codec, request))
        except ServiceError as error:
            return codec.refusal(error)
        except MatchmakingError as error:
            return codec.refusal(service_error_of(error))
        except Disconnected:
            raise
        except Exception as error:  # noqa: BLE001
            self._unexpected(error, CALL)
            failed = "the server has failed; its log says why"
            return codec.refusal(ServiceError("InternalServiceException", failed, 500))

    async def _answer(self, codec: Codec, request: Request) -> Any:
        name = codec.operation_of(request)
        call = self.calls.get(name)
        if call is None:
            raise unknown_operation(name)
        caller = principal_of(request.scope)
        if not caller.rights & call.rights:
            raise lacks(caller, call.rights)
        if caller.queues and call.rights is CHANGE:
            raise Forbidden("this concerns the whole server, but the key is for some queues only")
        body = await read_body(request.scope, request.receive, BYTES_MAX)
        if name not in AUDITED:
            return await call.answer(codec.decode(body, call.shape), caller)
        target, status, is_nothing = "", 500, False
        try:
            given: Any = codec.decode(body, call.shape)
            target = next(filter(None, (getattr(given, each, "") for each in TARGETS)), "")
            answer = await call.answer(given, caller)
            status = 200
        except (ServiceError, MatchmakingError) as error:
            told = error if isinstance(error, ServiceError) else service_error_of(error)
            status, is_nothing = told.status, told.name == NOT_FOUND
            raise
        finally:
            # All calls come to one path, so the guard of the route cannot tell what is done.
            self._accounts.audit.note(
                caller,
                f"GameLift.{name}",
                is_nothing=is_nothing,
                target=target[:TEXT_MAX],
                status=status,
                address=caller_address(request.scope, self._accounts.trusted),
            )
        return answer
