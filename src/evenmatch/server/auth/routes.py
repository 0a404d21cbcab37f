"""The routes of accounts: tokens for guests, and the audit log."""

from __future__ import annotations

import asyncio
from time import monotonic

from starlette.requests import Request
from starlette.responses import Response

from evenmatch.errors import NotSupported
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.address import caller_address, household_of
from evenmatch.server.auth.audit import PAGE_MAX
from evenmatch.server.auth.principal import Forbidden, TooManyRequests, principal_of
from evenmatch.server.http.responses import InvalidRequest, encode
from evenmatch.server.http.ticket_routes import check_parameters, record_of


class AccountRoutes:
    """Handlers that answer with one JSON body."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    async def make_guest(self, request: Request) -> Response:
        """Give a device a player's token; a guest who shows theirs gets a fresh one."""
        accounts = self._accounts
        if not accounts.settings.guests:
            raise NotSupported(
                "this server takes no guests; to take them, set guests = true in [server]"
            )
        self._check_page(request)
        principal = principal_of(request.scope)
        known = principal if principal.token_facts.is_guest else None
        address = household_of(caller_address(request.scope, accounts.trusted))
        # Who is known is no new guest, however many of the address there are.
        if known is None and (wait := accounts.wait_of_newcomer(address, monotonic())):
            raise TooManyRequests("too many guests from this address; try again later", wait)
        guest = accounts.guest(known)
        return Response(encode(guest), 201, media_type="application/json")

    def _check_page(self, request: Request) -> None:
        """Refuse foreign web pages, which could use up the guests of their visitors' addresses.

        Raises:
            Forbidden: The page is neither ours nor of a configured origin.
        """
        origin, origins = request.headers.get("origin"), self._accounts.settings.origins
        if origin is None or "*" in origins or origin in origins:
            return
        if origin.rpartition("/")[2] != request.headers.get("host"):
            raise Forbidden("this web page may not get guests here; see [server] origins")

    async def get_audit(self, request: Request) -> Response:
        """Return entries of the audit log: the last ones, or those after a number."""
        check_parameters(request, ("after", "most"))
        after = request.query_params.get("after")
        most = record_of(request.query_params.get("most", str(PAGE_MAX)), "most")
        if not 1 <= most <= PAGE_MAX:
            raise InvalidRequest(f"most must be 1 to {PAGE_MAX}, got {most}", where="/most")
        number = None if after is None else record_of(after)
        page = await asyncio.to_thread(self._accounts.audit.page, number, most)
        return Response(encode(page), media_type="application/json")
