"""The routes of operators: the configuration, pauses, policies."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from evenmatch.config.files import BYTES_MAX, read_document
from evenmatch.errors import ConfigError
from evenmatch.server.http.responses import InvalidRequest, header, json, read_body
from evenmatch.server.http.ticket_routes import check_parameters, record_of, seconds_of
from evenmatch.server.runtime.services import Services
from evenmatch.wire.operate import DrainState, SetPolicy, SetShadow
from evenmatch.wire.tickets import decode

SMALL_BYTES_MAX = 16_384
CONFIG_PARAMETERS = ("dry_run", "if_version")
DRAIN_MOST = 86_400.0
"""Longest drain, seconds."""
ON, OFF = ("1", "true"), ("0", "false")


class OperatorRoutes:
    """Handlers of the operators' requests."""

    def __init__(self, services: Services) -> None:
        self._controls = services.operator
        self._drain = services.drain
        self._drain_max = services.runtime.plan.settings.drain_max

    async def get_config(self, request: Request) -> Response:
        """Return the configuration in force."""
        check_parameters(request, ())
        return json(await self._controls.present())

    async def put_config(self, request: Request) -> Response:
        """Bring a configuration into force; with `dry_run=1`, say what that would do."""
        check_parameters(request, CONFIG_PARAMETERS)
        dry_run = _flag(request, "dry_run")
        text = request.query_params.get("if_version")
        version = None if text is None else record_of(text, "if_version")
        body = await read_body(request.scope, request.receive, BYTES_MAX)
        kind = (header(request.scope, b"content-type") or b"").decode("latin-1").lower()
        # Up to a second for a megabyte, which the event loop has not got.
        document = await asyncio.to_thread(document_of, body, kind)
        changed = await self._controls.change(
            document, by=_name_of(request), dry_run=dry_run, if_version=version
        )
        return json(changed)

    async def pause(self, request: Request) -> Response:
        """Let a queue take no tickets and make no matches."""
        return json(await self._controls.pause(request.path_params["queue"], True))

    async def resume(self, request: Request) -> Response:
        """Let a paused queue go on."""
        return json(await self._controls.pause(request.path_params["queue"], False))

    async def put_policy(self, request: Request) -> Response:
        """Let another policy decide in a queue."""
        body = await read_body(request.scope, request.receive, SMALL_BYTES_MAX)
        given = decode(body, SetPolicy, 'an object such as {"policy": "greedy"}')
        queue = request.path_params["queue"]
        done = await self._controls.set_policy(queue, given.policy, by=_name_of(request))
        return json(done)

    async def put_shadow(self, request: Request) -> Response:
        """Let a shadow policy play beside the live one, or end that."""
        body = await read_body(request.scope, request.receive, SMALL_BYTES_MAX)
        given = decode(body, SetShadow, 'an object such as {"policy": "greedy"}')
        queue = request.path_params["queue"]
        done = await self._controls.set_shadow(queue, given.policy, by=_name_of(request))
        return json(done)

    async def get_drain(self, request: Request) -> Response:
        """Say whether the server drains."""
        check_parameters(request, ())
        return self._draining()

    async def begin_drain(self, request: Request) -> Response:
        """Refuse new tickets, and stop when nobody waits any more or after `limit` seconds."""
        check_parameters(request, ("limit",))
        limit = self._drain_max
        if "limit" in request.query_params:
            limit = seconds_of(request, "limit", DRAIN_MOST)
        self._drain.begin(limit)
        return self._draining()

    async def end_drain(self, request: Request) -> Response:
        """Take tickets again."""
        check_parameters(request, ())
        self._drain.end()
        return self._draining()

    def _draining(self) -> Response:
        drain = self._drain
        return json(DrainState(drain.is_on, drain.waiting, drain.seconds_left))


def document_of(body: bytes, kind: str) -> dict[str, Any]:
    """Return the keys of a configuration that came as JSON or TOML.

    Raises:
        ConfigError: It is no TOML.
        InvalidRequest: It is no object of JSON.
    """
    if "json" not in kind:
        try:
            return dict(read_document(body.decode("utf-8-sig")))
        except UnicodeDecodeError as error:
            raise ConfigError(f"must be UTF-8 text, and byte {error.start} is not") from None
    return decode(body, dict[str, Any], "an object, the keys of a CONFIG file")


def _flag(request: Request, name: str) -> bool:
    """Return a query parameter that is `1` or `0`, false if it is absent."""
    text = request.query_params.get(name, "0").lower()
    if text not in ON + OFF:
        raise InvalidRequest(f"{name} must be 1 or 0, got {text[:64]!r}", where=f"/{name}")
    return text in ON


def _name_of(request: Request) -> str:
    """Return what people are told of who changed something: the route, and the key's name."""
    route = f"{request.method} {request.url.path}"
    principal = request.scope.get("principal")
    if principal is None or principal.kind != "service":
        return route
    return f"{route} by {principal.name}"
