"""AWS's Signature Version 4, by which AWS's own clients authenticate themselves.

The access key id is the id or the name of a key, the secret access key is the key's text. A client
never sends the secret: it signs each request with it, so who checks a signature has to know it too.
That is why only keys made with `evenmatch keys add NAME --signing` can sign; the file of keys holds
their text, and of all others only a hash.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from calendar import timegm
from collections.abc import Iterable
from time import strptime
from typing import NamedTuple
from urllib.parse import parse_qsl, quote

from evenmatch.server.auth.principal import Unauthenticated
from evenmatch.server.http.responses import Scope

ALGORITHM = "AWS4-HMAC-SHA256"
SKEW_MAX = 900.0
"""Seconds by which the clock of a caller may be wrong; a signature is good for no longer."""
LENGTH_MAX = 2_048
NEEDED = frozenset({"host", "x-amz-date"})
_HEADER = re.compile(
    rf"{ALGORITHM} +Credential=([^/,\s]{{1,128}})/(\d{{8}})/([a-z0-9-]{{1,64}})/([a-z0-9-]{{1,64}})"
    r"/aws4_request, *SignedHeaders=([a-z0-9;-]{1,1024}), *Signature=([0-9a-f]{64})"
)


class SignedCall(NamedTuple):
    """The contents of the header of a signed request.

    Args:
        key: The access key id.
        day: Of the signature, `20261123`.
        region: Means nothing here.
        service: Likewise.
        headers: Names of the headers that are signed.
        signature: In hexadecimal.
    """

    key: str
    day: str
    region: str
    service: str
    headers: tuple[str, ...]
    signature: str


def is_signed(given: bytes | None) -> bool:
    """Return whether the header Authorization is that of a signed request."""
    return given is not None and given.startswith(ALGORITHM.encode())


def signed_call(credential: bytes) -> SignedCall:
    """Return the contents of the header of a signed request.

    Raises:
        Unauthenticated: It is not in the form that AWS's clients send.
    """
    found = _HEADER.fullmatch(credential[:LENGTH_MAX].decode("latin-1").strip())
    if found is None:
        raise _refusal("the header Authorization is not one of Signature Version 4", "malformed")
    key, day, region, service, headers, signature = found.groups()
    return SignedCall(key, day, region, service, tuple(headers.split(";")), signature)


def check_signature(
    call: SignedCall, secrets: Iterable[str], scope: Scope, body: bytes, now: float
) -> str:
    """Return the secret by which a request is signed.

    Args:
        call: What its header says.
        secrets: Those that the key may have.
        scope: Of the request.
        body: Its whole body.
        now: Unix time.

    Raises:
        Unauthenticated: None of them signs it, it is too old or too new, or what matters of it
            is not signed.
    """
    sent = _headers_of(scope)
    needed = NEEDED | {name for name in sent if name.startswith("x-amz-")}
    if lacking := sorted(needed - set(call.headers)):
        raise _refusal(f"the header {lacking[0]} must be signed", "unsigned_header")
    at = sent.get("x-amz-date", "")
    if abs(_seconds(at) - now) > SKEW_MAX or not at.startswith(call.day):
        raise _refusal("the signature is too old, or the caller's clock is wrong", "expired")
    digest = hashlib.sha256(_canonical(call, scope, sent, body).encode()).hexdigest()
    place = f"{call.day}/{call.region}/{call.service}/aws4_request"
    text = f"{ALGORITHM}\n{at}\n{place}\n{digest}".encode()
    for secret in secrets:
        key = f"AWS4{secret}".encode()
        for part in (call.day, call.region, call.service, "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        if hmac.compare_digest(hmac.new(key, text, "sha256").hexdigest(), call.signature):
            return secret
    raise _refusal(
        "the signature is not valid here: the access key id is the id or the name of a key that "
        "was made with evenmatch keys add NAME --signing, the secret is its text",
        "bad_signature",
    )


def _canonical(call: SignedCall, scope: Scope, sent: dict[str, str], body: bytes) -> str:
    """Return a request as it is signed."""
    query = sorted(parse_qsl(scope.get("query_string", b"").decode("latin-1"), True))
    pairs = "&".join(f"{quote(key, '-_.~')}={quote(value, '-_.~')}" for key, value in query)
    headers = "".join(f"{name}:{sent.get(name, '')}\n" for name in call.headers)
    # What is escaped in a path already is escaped once more: all services of AWS but S3 do.
    path = quote(scope["raw_path"], "/-_.~")
    digest = hashlib.sha256(body).hexdigest()
    names = ";".join(call.headers)
    return f"{scope['method']}\n{path}\n{pairs}\n{headers}\n{names}\n{digest}"


def _headers_of(scope: Scope) -> dict[str, str]:
    """Return the headers as they are signed: blanks once, several of a name joined by commas."""
    found: dict[str, str] = {}
    for raw_name, raw in scope["headers"]:
        name, value = raw_name.decode("latin-1"), " ".join(raw.decode("latin-1").split())
        found[name] = f"{found[name]},{value}" if name in found else value
    return found


def _seconds(text: str) -> float:
    """Return Unix time of `20261123T215923Z`; of anything else, one that is too old."""
    try:
        return float(timegm(strptime(text, "%Y%m%dT%H%M%SZ")))
    except ValueError:
        return 0.0


def _refusal(message: str, reason: str) -> Unauthenticated:
    return Unauthenticated(message, reason)
