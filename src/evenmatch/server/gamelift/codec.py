"""AWS JSON 1.1: bodies of calls, of answers and of errors. Knows nothing of any operation."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from starlette.responses import Response

from evenmatch.server.gamelift.service_errors import ServiceError, invalid
from evenmatch.server.http.responses import encode

CONTENT_TYPE = "application/x-amz-json-1.1"
TARGET = "GameLift."
DEPTH_MAX = 32
"""Objects and lists in each other; no request of the service model has more than six."""
_AT = re.compile(r" - at `(?:key in )?(\$.*)`$")

ShapeT = TypeVar("ShapeT")


def operation_of(target: str | None) -> str:
    """Return the operation that the header `X-Amz-Target` names.

    Raises:
        ServiceError: It names none of GameLift's.
    """
    if target is None:
        raise ServiceError(
            "MissingActionException",
            "this path takes calls of GameLift: send the header X-Amz-Target: GameLift.OPERATION",
        )
    if not target.startswith(TARGET):
        raise unknown_operation(target)
    return target.removeprefix(TARGET)


def unknown_operation(name: str) -> ServiceError:
    """Return the error of a call whose operation there is not."""
    return ServiceError("UnknownOperationException", f"there is no operation {name[:128]!r} here")


def decode(body: bytes, shape: type[ShapeT]) -> ShapeT:
    """Return a request.

    Raises:
        ServiceError: The body is no JSON, or not what the operation takes.
    """
    try:
        raw = msgspec.json.decode(body or b"{}")
        if not isinstance(raw, dict):
            raise ServiceError("SerializationException", "the body must be an object of JSON")
        return msgspec.convert(_without_nulls(raw), shape)
    except msgspec.ValidationError as error:
        raise invalid(_sentence(str(error))) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ServiceError("SerializationException", f"the body must be JSON: {error}") from None
    except RecursionError:
        raise ServiceError("SerializationException", "the JSON nests too deep") from None


def answer(value: object) -> Response:
    """Return the answer of a call that worked."""
    return _response(encode(value), 200, {})


def refusal(error: ServiceError) -> Response:
    """Return the answer of a call that failed."""
    body = encode({"__type": error.name, "Message": error.message, "message": error.message})
    headers = {"x-amzn-errortype": error.name}
    if error.status in (429, 503):
        headers["retry-after"] = "1"
    return _response(body, error.status, headers)


def _response(body: bytes, status: int, headers: Mapping[str, str]) -> Response:
    marks = {"x-amzn-requestid": secrets.token_hex(16), **headers}
    return Response(body, status, marks, media_type=CONTENT_TYPE)


def _without_nulls(value: Any, depth: int = 0) -> Any:
    """Return a body without what is `null`: to AWS that is the same as leaving it out."""
    if depth > DEPTH_MAX:
        raise RecursionError
    if isinstance(value, dict):
        return {k: _without_nulls(v, depth + 1) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(each, depth + 1) for each in value]
    return value


def _sentence(text: str) -> str:
    """Return what is wrong with a request, the place first."""
    found = _AT.search(text)
    place = found[1].removeprefix("$").lstrip(".") if found else ""
    return f"{place or 'the request'}: {_AT.sub('', text)}"
