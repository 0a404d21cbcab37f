"""Finds which of several games a request is about, by its credential alone.

A node that hands requests on judges nobody: whoever it cannot place goes to the first game, whose
own gate turns them away, and counts that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from evenmatch.errors import Refusal
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.authenticate import GUESTS_PATH, SCHEME, TOKEN_SUBPROTOCOL
from evenmatch.server.auth.keys import PREFIX
from evenmatch.server.auth.signatures import is_signed, signed_call
from evenmatch.server.auth.tokens import TOKEN_BYTES_MAX, audiences_of
from evenmatch.server.http.responses import Scope, header


class Tenants:
    """Finds the game of a request.

    Args:
        accounts: Who may come in, by the game's name; the first one gets what belongs to none.
        wall: Unix time.
    """

    def __init__(
        self, accounts: Mapping[str, Accounts], wall: Callable[[], float] = time.time
    ) -> None:
        self._accounts = dict(accounts)
        self._first = next(iter(self._accounts))
        self._wall = wall

    def of(self, scope: Scope) -> str:
        """Return the name of the game that a request is about."""
        if len(self._accounts) == 1:
            return self._first
        given = header(scope, b"authorization")
        if given is None and scope["type"] == "websocket":
            given = _offered(scope)
        if given is None:
            is_guest = scope["path"] == GUESTS_PATH
            guests = (name for name, each in self._accounts.items() if each.settings.guests)
            return next(guests, self._first) if is_guest else self._first
        try:
            return self._by_credential(given) or self._first
        except Refusal:
            return self._first

    def queues_of(self, scope: Scope) -> frozenset[str]:
        """Return the queues that the key of a request is for; empty means all, or no such key.

        Whether a signature is genuine is for the shard that is asked.
        """
        given, now = header(scope, b"authorization") or b"", self._wall()
        ring = self._accounts[self.of(scope)].ring
        texts: list[str] = []
        if is_signed(given):
            with suppress(Refusal):
                texts = ring.signing(signed_call(given).key)
        elif given[: len(SCHEME)].lower() == SCHEME:
            texts = [given[len(SCHEME) :].strip().decode("latin-1")]
        found = (ring.principal(text, now) for text in texts)
        return next((each.queues for each in found if each is not None), frozenset())

    def _by_credential(self, given: bytes) -> str | None:
        accounts = self._accounts.items()
        if is_signed(given):
            key = signed_call(given).key
            return next((name for name, each in accounts if each.ring.signing(key)), None)
        if len(given) > TOKEN_BYTES_MAX or given[: len(SCHEME)].lower() != SCHEME:
            return None
        credential = given[len(SCHEME) :].strip()
        if credential.startswith(f"{PREFIX}_".encode()):
            text, now = credential.decode("latin-1"), self._wall()
            found = (name for name, each in accounts if each.ring.principal(text, now) is not None)
            return next(found, None)
        # Whether it is genuine is for the gate of the game that it names.
        named = audiences_of(credential)
        found = (name for name, each in accounts if any(one in each.verifiers for one in named))
        return next(found, None)


def _offered(scope: Scope) -> bytes | None:
    """Return the credential that a browser offers as a subprotocol; it stays where it is."""
    for each in scope.get("subprotocols") or []:
        if each.startswith(TOKEN_SUBPROTOCOL):
            return SCHEME + str(each).removeprefix(TOKEN_SUBPROTOCOL).encode()
    return None
