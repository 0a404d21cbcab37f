"""Authentication: finds out who calls before any route sees the request.

A credential is verified once, and remembered by a keyed hash of it until it expires or keys change;
a request with a known credential costs a hash and a look-up. Which game a request belongs to comes
from its credential and from nothing else. A caller without one goes on as well, with no rights but
those of anyone.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from hashlib import blake2b

import msgspec

from evenmatch.errors import ConfigError, Refusal
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.address import Network, caller_address, household_of, networks_of
from evenmatch.server.auth.audit import AuditLog
from evenmatch.server.auth.keys import PREFIX
from evenmatch.server.auth.principal import (
    LOCAL,
    NOBODY,
    Principal,
    TooManyRequests,
    Unauthenticated,
    no_bearer,
    unknown_credential,
)
from evenmatch.server.auth.rate_limits import Buckets
from evenmatch.server.auth.signatures import check_signature, is_signed, signed_call
from evenmatch.server.auth.tokens import TOKEN_BYTES_MAX, audiences_of, foreign_audience
from evenmatch.server.gamelift.codec import codec_of
from evenmatch.server.gamelift.service_errors import service_error_of
from evenmatch.server.http.responses import (
    Asgi,
    Disconnected,
    Message,
    Receive,
    Scope,
    Send,
    encode,
    give_up_on,
    header,
    headers_of,
    problem_of,
    read_body,
    replay_body,
    send_body,
)
from evenmatch.server.http.sockets import denying
from evenmatch.server.runtime.logs import log

KNOWN_MAX = 50_000
"""Credentials that are remembered."""
LOOK_EVERY = 1.0
"""Seconds between two looks at the files of keys."""
SIGNED_BYTES_MAX = 1_000_000
"""Bytes of a signed request."""
SCHEME = b"bearer "
SUBPROTOCOL = "evenmatch"
TOKEN_SUBPROTOCOL = "bearer."
"""A browser cannot set headers of a WebSocket, but it can offer subprotocols."""
GUESTS_PATH = "/v1/guests"
READY_PATH = "/readyz"


def _ignore(reason: str) -> None:
    """Take note of nothing."""


def _never(scope: Scope) -> bool:
    """Answer no request past ASGI."""
    del scope
    return False


class GameEntrance(msgspec.Struct, frozen=True):
    """One game behind the gate.

    Args:
        accounts: Who may come in.
        app: What answers.
        keys_changed: Called when keys have changed; ends what is open, so that it comes anew.
        is_unready: Says whether the game takes no inputs now.
        turned_away: Told why a request was turned away.
        takes: Says whether the application answers a request past ASGI.
        is_draining: Says whether the game takes no new tickets, and is about to stop.
    """

    accounts: Accounts
    app: Asgi
    keys_changed: Callable[[], None] = lambda: None
    is_unready: Callable[[], bool] = lambda: False
    turned_away: Callable[[str], None] = _ignore
    takes: Callable[[Scope], bool] = _never
    is_draining: Callable[[], bool] = lambda: False


class VerifiedCredential(msgspec.Struct, frozen=True, gc=False):
    """A credential that was verified."""

    principal: Principal
    until: float
    bucket: str
    buckets: Buckets
    app: Asgi
    audit: AuditLog


class Authenticator:
    """Authenticates and limits requests, and passes them on.

    Args:
        entrances: The games. Several must all have keys.
        wall: Unix time.
        clock: A clock that never falls, seconds.

    Raises:
        ConfigError: The games cannot be told apart.
    """

    def __init__(
        self,
        entrances: Sequence[GameEntrance],
        *,
        wall: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._entrances = tuple(entrances)
        self._wall = wall
        self._clock = clock
        self._salt = secrets.token_bytes(32)
        self._known: dict[bytes, VerifiedCredential] = {}
        # Those of the accounts with which it was verified what is known.
        self._generations = [one.accounts.generation for one in entrances]
        self._trusted: tuple[Network, ...] = networks_of(
            sorted({each for one in entrances for each in one.accounts.settings.trusted_proxies})
        )
        most = max(one.accounts.settings.limits.failures_max for one in entrances)
        self._failures = Buckets(most / 60.0, most)
        check_distinct_games([one.accounts for one in entrances])

    @property
    def is_keyed(self) -> bool:
        """Return whether callers need a credential."""
        return any(one.accounts.is_keyed for one in self._entrances)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request in, or turn it away."""
        if self.is_keyed and scope["type"] == "http" and is_signed(header(scope, b"authorization")):
            await self._serve_signed(scope, receive, send)
            return
        try:
            app = self.let_in(scope)
        except (Unauthenticated, TooManyRequests) as refusal:
            status, problem = problem_of(refusal)
            told = denying(send) if scope["type"] == "websocket" else send
            await send_body(told, status, encode(problem), headers_of(refusal))
            return
        if scope["type"] == "websocket":
            send = _with_subprotocol(scope, send)
        elif scope["path"] == READY_PATH and len(self._entrances) > 1:
            await self._tell_readiness(send)
            return
        await app(scope, receive, send)

    def way_of(self, scope: Scope) -> Authenticator | None:
        """Return who lets a request in past ASGI; None if it has to go by it, in any game."""
        return self if self._entrances[0].takes(scope) else None

    def let_in(self, scope: Scope) -> Asgi:
        """Name the caller of a request, and return the application of their game.

        Raises:
            Unauthenticated: Their credential is not valid.
            TooManyRequests: They ask too often.
        """
        if len(self._entrances) == 1 and not self._entrances[0].accounts.is_keyed:
            scope["principal"] = LOCAL
            return self._entrances[0].app
        try:
            return self._admit(scope)
        except (Unauthenticated, TooManyRequests) as refusal:
            self._count(refusal)
            raise

    async def _serve_signed(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that is signed as AWS's clients sign; its body is part of that."""
        try:
            body = await read_body(scope, receive, SIGNED_BYTES_MAX)
            verified = self._verify_signed(scope, body)
            if wait := verified.buckets.take(verified.bucket, self._clock()):
                raise _too_often(verified, wait)
        except Disconnected:
            await give_up_on(send)
            return
        except Refusal as refusal:
            self._count(refusal)
            answer = codec_of(scope["path"]).refusal(service_error_of(refusal))
            await answer(scope, receive, send)
            return
        scope["principal"] = verified.principal
        await verified.app(scope, replay_body(body, receive), send)

    def _verify_signed(self, scope: Scope, body: bytes) -> VerifiedCredential:
        address = household_of(self.address(scope))
        if wait := self._failures.missing(address, self._clock()):
            raise TooManyRequests(
                "too many requests with invalid keys or tokens; wait a little", wait
            )
        now = self._wall()
        try:
            call = signed_call(header(scope, b"authorization") or b"")
            secrets = [
                text for each in self._entrances for text in each.accounts.ring.signing(call.key)
            ]
            text = check_signature(call, secrets, scope, body, now)
            return self._found(SCHEME + text.encode(), now)
        except Unauthenticated as refusal:
            self._note_failure(address, refusal)
            raise

    def address(self, scope: Scope) -> str:
        """Return the address of a request's caller."""
        return caller_address(scope, self._trusted)

    async def _tell_readiness(self, send: Send) -> None:
        """Say whether all games are ready and one takes new tickets; which, is for the log."""
        status = "ready"
        if any(each.is_unready() for each in self._entrances):
            status = "not ready"
        elif all(each.is_draining() for each in self._entrances):
            status = "draining"
        await send_body(send, 200 if status == "ready" else 503, encode({"status": status}))

    # Who calls

    def _admit(self, scope: Scope) -> Asgi:
        """Name the caller of a request, and return what answers them."""
        given = None
        for name, value in scope["headers"]:
            if name == b"authorization":
                given = value
                break
        if given is None and scope["type"] == "websocket":
            given = _offered_token(scope)
        if given is None:
            return self._as_nobody(scope)
        digest = blake2b(given, digest_size=16, key=self._salt).digest()
        verified = self._known.get(digest)
        if verified is None or verified.until <= self._wall():
            verified = self._verify(given, digest, scope)
        if wait := verified.buckets.take(verified.bucket, self._clock()):
            raise _too_often(verified, wait)
        scope["principal"] = verified.principal
        if scope["type"] == "websocket":
            scope["take"] = lambda: verified.buckets.take(verified.bucket, self._clock())
            scope["counts"] = lambda: self._counts(given)
        return verified.app

    def _as_nobody(self, scope: Scope) -> Asgi:
        """Let a caller without a credential see what anyone may see."""
        scope["principal"] = NOBODY
        if scope["path"] == GUESTS_PATH:
            for each in self._entrances:
                if each.accounts.settings.guests:
                    return each.app
        return self._entrances[0].app

    def _verify(self, credential: bytes, digest: bytes, scope: Scope) -> VerifiedCredential:
        address = household_of(self.address(scope))
        if wait := self._failures.missing(address, self._clock()):
            raise TooManyRequests(
                "too many requests with invalid keys or tokens; wait a little", wait
            )
        self._known.pop(digest, None)
        now = self._wall()
        try:
            verified = self._found(credential, now)
        except Unauthenticated as refusal:
            self._note_failure(address, refusal)
            raise
        if len(self._known) >= KNOWN_MAX:
            # The one that was verified first; if it is still in use, it is verified again.
            del self._known[next(iter(self._known))]
        self._known[digest] = verified
        return verified

    def _found(self, given: bytes, now: float) -> VerifiedCredential:
        """Return what a credential stands for.

        Raises:
            Unauthenticated: It is valid in none of the games.
        """
        if given[: len(SCHEME)].lower() != SCHEME:
            raise no_bearer()
        if len(given) > TOKEN_BYTES_MAX:
            raise unknown_credential("malformed")
        credential = given[len(SCHEME) :].strip()
        if credential.startswith(f"{PREFIX}_".encode()):
            text = credential.decode("latin-1")
            for each in self._entrances:
                if (principal := each.accounts.ring.principal(text, now)) is not None:
                    buckets, audit = each.accounts.service_buckets, each.accounts.audit
                    return VerifiedCredential(
                        principal, principal.until, principal.key, buckets, each.app, audit
                    )
            raise unknown_credential("unknown_key")
        for audience in audiences_of(credential):
            for each in self._entrances:
                if (verifier := each.accounts.verifiers.get(audience)) is not None:
                    principal = verifier.principal(credential, now)
                    buckets, audit = each.accounts.player_buckets, each.accounts.audit
                    return VerifiedCredential(
                        principal, principal.until, principal.name, buckets, each.app, audit
                    )
        if credential.count(b".") != 2:
            raise unknown_credential("malformed")
        # Of several games, nobody learns which there are.
        is_one = len(self._entrances) == 1
        raise foreign_audience() if is_one else unknown_credential("foreign_audience")

    def _counts(self, credential: bytes) -> bool:
        """Return whether a credential that was valid still is; asking is no failure of anybody."""
        try:
            self._found(credential, self._wall())
        except Unauthenticated:
            return False
        return True

    # Who is told of a refusal

    def _meant(self, refusal: Refusal) -> list[GameEntrance]:
        """Return the game from which a caller is turned away; all, if nobody knows which it is."""
        tenant = getattr(refusal, "tenant", None)
        found = [each for each in self._entrances if each.accounts.tenant == tenant]
        return found or list(self._entrances)

    def _count(self, refusal: Refusal) -> None:
        for each in self._meant(refusal):
            each.turned_away(getattr(refusal, "reason", refusal.code))

    def _note_failure(self, address: str, refusal: Unauthenticated) -> None:
        self._failures.take(address, self._clock())
        for each in self._meant(refusal):
            each.accounts.audit.note_failure(address, refusal.reason)

    # Changes of keys

    def look(self) -> None:
        """Read changed files of keys, and forget what was verified with the old ones.

        Another gate of the same accounts may have read them already.
        """
        for number, each in enumerate(self._entrances):
            try:
                each.accounts.reload()
            except Exception as error:  # noqa: BLE001
                log.error("keys_unreadable", error=repr(error), consequence="the old ones count")
            if self._generations[number] != each.accounts.generation:
                self._generations[number] = each.accounts.generation
                self._known.clear()
                each.keys_changed()

    async def watch(self) -> None:
        """Look at the files of keys from time to time, for ever."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            self.look()


def check_distinct_games(accounts: Sequence[Accounts]) -> None:
    """Refuse games whose requests could not be told apart.

    Raises:
        ConfigError: One has no keys, two name the same audience, or two take guests.
    """
    if len(accounts) == 1:
        return
    seen: dict[str, str] = {}
    for each in accounts:
        if not each.is_keyed:
            raise ConfigError(
                f"tenant {each.tenant} has no keys, and without them no caller can say which game "
                f"they mean; make one: evenmatch keys add NAME --data DATA/{each.tenant}, or with "
                f"--journal ADDRESS#{each.tenant} where the journal is on a server"
            )
        for audience in each.verifiers:
            if audience in seen:
                raise ConfigError(
                    f"tenants {seen[audience]} and {each.tenant} take the same tokens ("
                    f"{audience!r}); give each its own audience, and guests to one of them"
                )
            seen[audience] = each.tenant


def _too_often(verified: VerifiedCredential, wait: float) -> TooManyRequests:
    """Return the refusal of a caller whose bucket is empty; the audit log names their key."""
    principal = verified.principal
    if principal.kind == "service":
        verified.audit.note_limited(principal)
    refusal = TooManyRequests("too many requests; wait a little", wait)
    refusal.tenant = principal.tenant
    return refusal


def _offered_token(scope: Scope) -> bytes | None:
    """Return the credential that a browser offers as a subprotocol, and hide it from the rest."""
    offered: list[str] = scope.get("subprotocols") or []
    tokens = [each for each in offered if each.startswith(TOKEN_SUBPROTOCOL)]
    if not tokens:
        return None
    scope["subprotocols"] = [each for each in offered if not each.startswith(TOKEN_SUBPROTOCOL)]
    return SCHEME + tokens[0].removeprefix(TOKEN_SUBPROTOCOL).encode()


def _with_subprotocol(scope: Scope, send: Send) -> Send:
    """Answer an offer of subprotocols, without which a browser drops the connection."""
    if SUBPROTOCOL not in (scope.get("subprotocols") or []):
        return send

    async def answering(message: Message) -> None:
        if message["type"] == "websocket.accept" and not message.get("subprotocol"):
            message = {**message, "subprotocol": SUBPROTOCOL}
        await send(message)

    return answering
