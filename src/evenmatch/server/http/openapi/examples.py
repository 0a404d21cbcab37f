"""The examples of the OpenAPI document: requests to a real server, and what it answered.

`examples.json` is recorded by `docs/http_examples.py`; a test holds each example against
its schema, and fails for an operation without one.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec

from evenmatch.server.http.openapi.parts import Json


class Recorded(msgspec.Struct, frozen=True, omit_defaults=True):
    """An exchange with a server.

    Args:
        operation: The operation's id.
        name: What is shown, in a few words.
        status: The HTTP status of the answer.
        answer: The answer: JSON, or the text of another type.
        request: What was sent; None where nothing is sent.
        query: The query that it was asked with, without `?`.
        media: Content type of what was sent.
    """

    operation: str
    name: str
    status: int
    answer: Any
    request: Any = None
    query: str = ""
    media: str = "application/json"


@lru_cache(maxsize=1)
def recorded() -> tuple[Recorded, ...]:
    """Return all exchanges that were recorded."""
    text = files("evenmatch.server.http.openapi").joinpath("examples.json").read_bytes()
    return msgspec.json.decode(text, type=tuple[Recorded, ...])


def with_examples(paths: Json) -> Json:
    """Return operations with examples of what is sent and of what comes back.

    A refusal that was not recorded for an operation is shown as another one was told the same
    status.
    """
    own: dict[str, list[Recorded]] = {}
    refusals: dict[str, Recorded] = {}
    for each in recorded():
        own.setdefault(each.operation, []).append(each)
        if each.status >= 400:
            refusals.setdefault(str(each.status), each)
    return {
        path: {
            key: each if key == "parameters" else _shown(each, own, refusals)
            for key, each in item.items()
        }
        for path, item in paths.items()
    }


def _shown(operation: Json, own: dict[str, list[Recorded]], refusals: dict[str, Recorded]) -> Json:
    exchanges = own.get(operation["operationId"], [])
    responses = {}
    for status, response in operation["responses"].items():
        found = [each for each in exchanges if str(each.status) == status]
        if not found and status in refusals:
            found = [refusals[status]]
        responses[status] = _filled(response, [(each.name, each.answer) for each in found])
    shown = {**operation, "responses": responses}
    if "requestBody" in operation:
        body = operation["requestBody"]
        for media in body["content"]:
            sent = [
                (each.name, each.request)
                for each in exchanges
                if each.request is not None and each.media == media and each.status < 400
            ]
            body = _filled(body, sent, media)
        shown["requestBody"] = body
    return shown


def _filled(body: Json, examples: list[tuple[str, Any]], media: str | None = None) -> Json:
    """Return a request or an answer whose first content, or that of a type, has examples."""
    content = body.get("content", {})
    if not examples or not content:
        return body
    media = next(iter(content)) if media is None else media
    shown = {name: {"value": value} for name, value in examples}
    return {**body, "content": {**content, media: {**content[media], "examples": shown}}}
