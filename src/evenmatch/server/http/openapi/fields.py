"""What the fields of the OpenAPI document mean, and which words they may hold.

The meanings are those under `Args` of the types' docstrings; a field without one fails a test.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files
from typing import Any, get_args

import msgspec

from evenmatch.criteria.registry import EXPLAINED_KINDS
from evenmatch.model.queue import OnDeadline, Unit
from evenmatch.server.allocation.routes import STATES as ALLOCATION_STATES
from evenmatch.server.auth.principal import Kind
from evenmatch.server.http.operation import Json
from evenmatch.server.http.responses import STATUS
from evenmatch.server.views.followers import TICKET_STATES

ENTRY = re.compile(r"^(\w+): (.*(?:\n +.*|\n$)*)", re.M)
TICKET_REASONS = (
    "player", "operator", "silent", "declined", "waits_elsewhere", "deadline", "queue_changed",
)  # fmt: skip
REASON_CODES = (
    "paused", "policy_failed", "delayed", "held", "computing", "round", "policy", "alone", "seats",
    "not_yet", "never", "rules", "not_searched",
)  # fmt: skip
OTHER_CODES = (
    "config_error", "http_error", "internal", "method_not_allowed", "not_found", "not_supported",
    "origin_not_allowed", "request_timeout", "unavailable", "upgrade_required",
)  # fmt: skip
"""Codes of errors that are no refusals of an input."""


def error_codes() -> list[str]:
    """Return every code that `error` may hold."""
    return sorted({*STATUS, *OTHER_CODES})


def _words() -> dict[str, Iterable[str]]:
    """Return the words of fields, by type and field."""
    codes = error_codes()
    return {
        "TicketCreated.state": TICKET_STATES,
        "ItemCreated.state": TICKET_STATES,
        "TicketState.state": TICKET_STATES,
        "TicketState.reason": TICKET_REASONS,
        "TicketCancelled.state": ("cancelled", "expired"),
        "TicketListed.state": TICKET_STATES,
        "StreamEvent.event": TICKET_STATES,
        "StreamProblem.event": ("problem",),
        "Explanation.state": TICKET_STATES,
        "Explanation.reason": TICKET_REASONS,
        "MatchState.state": ("proposed",),
        "FeedMatch.state": ("proposed",),
        "AllocationState.state": ALLOCATION_STATES,
        "ShadowStats.state": ("running", "dropped"),
        "Reason.code": REASON_CODES,
        "LongWait.code": REASON_CODES,
        "Tolerance.rule": EXPLAINED_KINDS,
        "Tolerance.unit": get_args(Unit),
        "Tolerance.accept": ("both", "either"),
        "QueuePart.at_deadline": get_args(OnDeadline),
        "AuditEntry.kind": (*get_args(Kind), "server", ""),
        "Problem.error": codes,
        "ItemProblem.error": codes,
    }


def with_fields(schemas: Json, kinds: Iterable[type]) -> Json:
    """Return schemas whose properties say what they mean and which words they may hold.

    Args:
        schemas: The schemas of types by name, as msgspec makes them.
        kinds: The types; those of their fields are found below them.
    """
    known = {kind.__name__: kind for kind in _all_below(kinds)}
    words = _words()
    return {name: _told(name, schema, known[name], words) for name, schema in schemas.items()}


def _told(name: str, schema: Json, kind: type, words: dict[str, Iterable[str]]) -> Json:
    meanings = meanings_of(kind)
    properties = {
        key: _described(each, meanings.get(key, ""), words.get(f"{name}.{key}"))
        for key, each in schema.get("properties", {}).items()
    }
    about = _paragraphs(inspect.cleandoc(kind.__doc__ or "").partition("Args:\n")[0])
    return {**schema, "description": about, **({"properties": properties} if properties else {})}


def _described(schema: Json, meaning: str, words: Iterable[str] | None) -> Json:
    if words is not None:
        schema = _limited(schema, list(words))
    return {**schema, "description": meaning} if meaning else schema


def _limited(schema: Json, words: list[str]) -> Json:
    """Return a schema whose text is one of some words; null stays what it is."""
    if "anyOf" in schema:
        return {**schema, "anyOf": [_limited(each, words) for each in schema["anyOf"]]}
    return {**schema, "enum": words} if schema.get("type") == "string" else schema


def meanings_of(kind: type) -> dict[str, str]:
    """Return what the docstrings of a type, and of those that it extends, say of its fields."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        text = inspect.cleandoc(each.__doc__ or "").partition("Args:\n")[2]
        found |= {key: " ".join(words.split()) for key, words in ENTRY.findall(
            inspect.cleandoc(text))}  # fmt: skip
    return found


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(each.split()) for each in text.strip().split("\n\n"))


def _all_below(kinds: Iterable[Any]) -> set[type]:
    """Return types and all types that their fields mention."""
    found: set[type] = set()
    stack = list(kinds)
    while stack:
        kind = stack.pop()
        stack += get_args(kind)
        if hasattr(kind, "__struct_fields__") and kind not in found:
            found.add(kind)
            stack += [field.type for field in msgspec.structs.fields(kind)]
    return found


# The examples of the OpenAPI document: requests to a real server, and what it answered.
#
# `examples.json` is recorded by `docs/http_examples.py`; a test holds each example against its
# schema, and fails for an operation without one.


class RecordedExchange(msgspec.Struct, frozen=True, omit_defaults=True):
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
def recorded() -> tuple[RecordedExchange, ...]:
    """Return all exchanges that were recorded."""
    text = files("evenmatch.server.http.openapi").joinpath("examples.json").read_bytes()
    return msgspec.json.decode(text, type=tuple[RecordedExchange, ...])


def with_examples(paths: Json) -> Json:
    """Return operations with examples of what is sent and of what comes back.

    A refusal that was not recorded for an operation is shown as another one was told the same
    status.
    """
    own: dict[str, list[RecordedExchange]] = {}
    refusals: dict[str, RecordedExchange] = {}
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


def _shown(
    operation: Json, own: dict[str, list[RecordedExchange]], refusals: dict[str, RecordedExchange]
) -> Json:
    exchanges = own.get(operation["operationId"], [])
    responses = {}
    for status, response in operation["responses"].items():
        found = [each for each in exchanges if str(each.status) == status]
        if not found and status in refusals and "application/json" in response.get("content", {}):
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
