"""Bodies of calls, of answers and of errors: AWS JSON 1.1 and RPC v2 CBOR.

A codec knows nothing of any operation. Both make the same plain values of a body, so that what an
operation takes, and what is wrong with it, is told by the same types.
"""

from __future__ import annotations

import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from evenmatch.server.gamelift import cbor
from evenmatch.server.gamelift.service_errors import ServiceError, invalid
from evenmatch.server.http.responses import encode

TARGET = "GameLift."
NAMESPACE = "com.amazonaws.gamelift#"
DEPTH_MAX = 32
"""Objects and lists in each other; no request of the service model has more than six."""
TIMES = frozenset({"StartTime", "EndTime", "CreationTime"})
"""Fields that hold an instant, wherever they stand."""
SERVICE_PATH = "/service/"
"""Where the paths of RPC v2 begin."""
_PATTERN = re.compile(r"^Expected `str` matching regex '(?:\\\\A)?(.*?)(?:\\\\Z)?'$")
_AT = re.compile(r" - at `(?:key in )?(\$.*)`$")

ShapeT = TypeVar("ShapeT")


class Codec(ABC):
    """A format of bodies."""

    media = ""
    marks: Mapping[str, str] = {}

    @abstractmethod
    def operation_of(self, request: Request) -> str:
        """Return the operation that a request names.

        Raises:
            ServiceError: It names none of GameLift's.
        """

    @abstractmethod
    def decode(self, body: bytes, shape: type[ShapeT]) -> ShapeT:
        """Return a request.

        Raises:
            ServiceError: The body has not this form, or is not what the operation takes.
        """

    @abstractmethod
    def encode(self, value: object) -> bytes:
        """Return an answer."""

    def answer(self, value: object) -> Response:
        """Return the response to a call that succeeded."""
        return self._response(self.encode(value), 200, {})

    def refusal(self, error: ServiceError) -> Response:
        """Return the response to a call that failed."""
        told = {"__type": error.name, "Message": error.message, "message": error.message}
        headers = {"x-amzn-errortype": error.name}
        if error.status in (429, 503):
            headers["retry-after"] = "1"
        return self._response(self.encode(told), error.status, headers)

    def _response(self, body: bytes, status: int, headers: Mapping[str, str]) -> Response:
        marks = {"x-amzn-requestid": secrets.token_hex(16), **self.marks, **headers}
        return Response(body, status, marks, media_type=self.media)


class JsonCodec(Codec):
    """AWS JSON 1.1: the header `X-Amz-Target` names the operation."""

    media = "application/x-amz-json-1.1"

    def operation_of(self, request: Request) -> str:
        """Return the operation of the header."""
        target = request.headers.get("x-amz-target")
        if target is None:
            raise ServiceError(
                "MissingActionException",
                "this path takes calls of GameLift: send the header "
                "X-Amz-Target: GameLift.OPERATION",
            )
        if not target.startswith(TARGET):
            raise unknown_operation(target)
        return target.removeprefix(TARGET)

    def decode(self, body: bytes, shape: type[ShapeT]) -> ShapeT:
        """Return a request of a body of JSON."""
        try:
            raw = msgspec.json.decode(body or b"{}")
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            message = f"the body must be JSON: {error}"
            raise ServiceError("SerializationException", message) from None
        except RecursionError:
            raise ServiceError("SerializationException", "the JSON is nested too deeply") from None
        return _shaped(raw, shape, "an object of JSON")

    def encode(self, value: object) -> bytes:
        """Return JSON."""
        return encode(value)


class CborCodec(Codec):
    """RPC v2 CBOR: the path names the operation."""

    media = "application/cbor"
    marks = {"smithy-protocol": "rpc-v2-cbor"}  # noqa: RUF012

    def operation_of(self, request: Request) -> str:
        """Return the operation of the path, if the header says that this is RPC v2 CBOR."""
        form = request.headers.get("smithy-protocol", "")
        if form != self.marks["smithy-protocol"]:
            raise ServiceError(
                "UnknownOperationException",
                f"this path takes the header Smithy-Protocol: rpc-v2-cbor, got {form[:64]!r}",
            )
        return str(request.scope["path"].rpartition("/")[2])

    def decode(self, body: bytes, shape: type[ShapeT]) -> ShapeT:
        """Return a request of a body of CBOR."""
        try:
            raw = cbor.decode(body) if body else {}
        except cbor.InvalidCbor as error:
            message = f"the body must be CBOR: {error}"
            raise ServiceError("SerializationException", message) from None
        return _shaped(raw, shape, "a map of CBOR")

    def encode(self, value: object) -> bytes:
        """Return CBOR, in which instants are marked as such."""
        return cbor.encode(_with_instants(msgspec.to_builtins(value)))

    def refusal(self, error: ServiceError) -> Response:
        """Return the answer of a call that failed; its type is a name of the service model."""
        told = {"__type": NAMESPACE + error.name, "Message": error.message}
        told["message"] = error.message
        headers = {"retry-after": "1"} if error.status in (429, 503) else {}
        return self._response(self.encode(told), error.status, headers)


JSON, CBOR = JsonCodec(), CborCodec()


def codec_of(path: str) -> Codec:
    """Return the form of the bodies of a path."""
    return CBOR if path.startswith(SERVICE_PATH) else JSON


def unknown_operation(name: str) -> ServiceError:
    """Return the error of a call of an unknown operation."""
    return ServiceError("UnknownOperationException", f"there is no operation {name[:128]!r} here")


def _shaped(raw: object, shape: type[ShapeT], what: str) -> ShapeT:
    """Return a request of plain values.

    Raises:
        ServiceError: It is not what the operation takes.
    """
    if not isinstance(raw, dict):
        raise ServiceError("SerializationException", f"the body must be {what}")
    try:
        return msgspec.convert(_without_nulls(raw), shape)
    except msgspec.ValidationError as error:
        raise invalid(_sentence(str(error))) from None
    except RecursionError:
        raise ServiceError("SerializationException", "the body is nested too deeply") from None


def _without_nulls(value: Any, depth: int = 0) -> Any:
    """Return a body without what is `null`: to AWS that is the same as leaving it out."""
    if depth > DEPTH_MAX:
        raise RecursionError
    if isinstance(value, dict):
        return {k: _without_nulls(v, depth + 1) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(each, depth + 1) for each in value]
    return value


def _with_instants(value: Any) -> Any:
    """Return an answer in which the fields that hold instants say so."""
    if isinstance(value, dict):
        return {
            key: cbor.Instant(each)
            if key in TIMES and isinstance(each, float)
            else _with_instants(each)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [_with_instants(each) for each in value]
    return value


def _sentence(text: str) -> str:
    """Return what is wrong with a request, the place first."""
    found = _AT.search(text)
    place = found[1].removeprefix("$").lstrip(".") if found else ""
    said = _PATTERN.sub(r"has characters that are not allowed; it must match \1", _AT.sub("", text))
    return f"{place or 'the request'}: {said}"
