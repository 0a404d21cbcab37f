"""Signatures as botocore makes them, and every way in which one can be wrong."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from evenmatch.server.auth.principal import Unauthenticated
from evenmatch.server.auth.signatures import check_signature, is_signed, signed_call

BODY = b'{"TicketIds": ["t1"]}'
SECRET = "em_1_secret"
HEADERS = {
    "X-Amz-Target": "GameLift.DescribeMatchmaking",
    "Content-Type": "application/x-amz-json-1.1",
    "Host": "127.0.0.1:8080",
}


def signed(
    body: bytes = BODY, query: str = "", headers: Mapping[str, str] = HEADERS, path: str = "/"
) -> tuple[dict[str, Any], float]:
    """Return the scope of a request that botocore has signed, and its instant."""
    url = f"http://127.0.0.1:8080{path}{'?' + query if query else ''}"
    request = AWSRequest("POST", url, data=body, headers=dict(headers))
    SigV4Auth(Credentials("key", SECRET), "gamelift", "eu-west-1").add_auth(request)
    from calendar import timegm
    from time import strptime

    at = timegm(strptime(request.headers["X-Amz-Date"], "%Y%m%dT%H%M%SZ"))
    scope = {
        "method": "POST",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(k.lower().encode(), v.encode()) for k, v in request.headers.items()],
    }
    return scope, float(at)


def check(
    scope: dict[str, Any], at: float, body: bytes = BODY, secrets: tuple[str, ...] = (SECRET,)
) -> str:
    given = dict(scope["headers"])[b"authorization"]
    assert is_signed(given)
    return check_signature(signed_call(given), secrets, scope, body, at)


@pytest.mark.parametrize("query", ["", "b=2&a=1", "a=x%20y%2Fz", "empty="])
def test_signature_of_botocore_is_taken(query: str) -> None:
    scope, at = signed(query=query)
    assert check(scope, at) == SECRET
    assert check(scope, at + 899.0, secrets=("other", SECRET)) == SECRET


@pytest.mark.parametrize("path", ["/v1/tickets/a:b~c", "/v1/tickets/a%20b", "/v1/p/%C3%A9%2Fx"])
def test_escapes_in_a_path_are_signed_as_they_came(path: str) -> None:
    scope, at = signed(path=path)
    assert check(scope, at) == SECRET


def test_blanks_in_headers_count_once() -> None:
    scope, at = signed(headers={**HEADERS, "X-Amz-Meta": "a   b"})
    assert check(scope, at) == SECRET


@pytest.mark.parametrize(
    ("at", "body", "secrets", "reason"),
    [
        (901.0, BODY, (SECRET,), "expired"),
        (-901.0, BODY, (SECRET,), "expired"),
        (0.0, BODY + b" ", (SECRET,), "bad_signature"),
        (0.0, BODY, ("other",), "bad_signature"),
        (0.0, BODY, (), "bad_signature"),
    ],
)
def test_wrong_signature_is_refused(
    at: float, body: bytes, secrets: tuple[str, ...], reason: str
) -> None:
    scope, now = signed()
    with pytest.raises(Unauthenticated) as caught:
        check(scope, now + at, body, secrets)
    assert caught.value.reason == reason


@pytest.mark.parametrize("name", [b"x-amz-target", b"host", b"x-amz-date", b"content-type"])
def test_changed_header_is_refused(name: bytes) -> None:
    scope, at = signed()
    scope["headers"] = [(k, b"other" if k == name else v) for k, v in scope["headers"]]
    with pytest.raises(Unauthenticated):
        check(scope, at)


def test_header_that_matters_and_is_not_signed_is_refused() -> None:
    scope, at = signed()
    scope["headers"].append((b"x-amz-security-token", b"added"))
    with pytest.raises(Unauthenticated) as caught:
        check(scope, at)
    assert caught.value.reason == "unsigned_header"


@pytest.mark.parametrize(
    "given",
    [
        b"AWS4-HMAC-SHA256",
        b"AWS4-HMAC-SHA256 Credential=a/20261123/r/s/aws4_request, SignedHeaders=host",
        b"AWS4-HMAC-SHA256 " + b"x" * 100_000,
        b"AWS4-HMAC-SHA256 Credential=a/20261123/r/s/aws4_request, SignedHeaders=host, Signature="
        + b"g" * 64,
    ],
)
def test_header_in_another_form_is_refused(given: bytes) -> None:
    assert is_signed(given)
    with pytest.raises(Unauthenticated) as caught:
        signed_call(given)
    assert caught.value.reason == "malformed"
    assert not is_signed(b"Bearer em_1_x")
    assert not is_signed(None)
