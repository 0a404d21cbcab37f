"""How a bad body is explained: in our words, with a JSON pointer to the offending part."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

from evenmatch.errors import InvalidTicket, Refusal, nearest_name

_AT = re.compile(r" - at `(?:key in )?\$(.*)`$")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")
BAD = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding raises for a bad body."""
_EXAMPLES = {
    "rating": 'an object such as {"mean": 1500}',
    "players": 'an array such as [{"id": "ada"}]',
    "queues": 'an array such as ["duel"]',
    "attributes": 'an object such as {"mode": "ranked"}',
}

_NAMES = {"CreateTicket": "the ticket"}
"""What is named in a sentence instead of the body, by type."""


class InvalidRequest(Refusal):
    """The request is wrong apart from its tickets: parameters, headers, or the kind of body."""

    code = "invalid_request"


def explained(
    error: Exception, body: bytes, shape: type, what: str, *, subject: str = "the body"
) -> Refusal:
    """Return the refusal that tells a client what is wrong with its body, and where.

    Args:
        error: What decoding raised.
        body: The body, or an item of it, as JSON.
        shape: The type that it should be.
        what: The same in words.
        subject: What `body` is, in words.
    """
    if not body.strip():
        return InvalidRequest(f"the body is empty; send {what} as JSON")
    if isinstance(error, msgspec.ValidationError):
        try:
            value = msgspec.json.decode(body)
        except BAD:
            value = None  # Too deep or too large a number: msgspec's own words must do.
        else:
            if not isinstance(value, dict):
                return InvalidRequest(f"{subject} must be {what}, got {_kind(value)}")
            info = inspect.type_info(shape)
            is_map = isinstance(info, inspect.DictType)
            name = "entry" if is_map else _NAMES.get(shape.__name__, "the body")
            for where, sentence in _faults(value, info, "", name):
                return InvalidTicket(sentence, where=where)
        found = _AT.search(str(error))
        where = _pointer(found.group(1)) if found else ""
        return InvalidTicket(_AT.sub("", str(error)), where=where)
    if isinstance(error, RecursionError):
        return InvalidRequest("the JSON nests too deep")
    if isinstance(error, UnicodeDecodeError):
        return InvalidRequest("the body must be JSON in UTF-8")
    return InvalidRequest(f"the body must be JSON: {error}")


def _faults(value: Any, shape: inspect.Type, where: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield what differs from a type: JSON pointer and sentence. Only for bodies known as bad."""
    shapes = shape.types if isinstance(shape, inspect.UnionType) else (shape,)
    fitting = [each for each in shapes if isinstance(value, _KINDS[type(each)][0])]
    is_flag = any(isinstance(each, inspect.BoolType) for each in shapes)
    if (isinstance(value, bool) and not is_flag) or not fitting:
        wanted = _EXAMPLES.get(name) or " or ".join(_KINDS[type(each)][1] for each in shapes)
        yield where, f"{name} must be {wanted}, got {_kind(value)}"
        return
    fit = fitting[0]
    if isinstance(fit, inspect.StructType):
        yield from _faults_of_fields(value, fit, where, name)
    elif isinstance(fit, inspect.VarTupleType):
        for at, item in enumerate(value):
            yield from _faults(item, fit.item_type, f"{where}/{at}", f"item {at} of {name}")
    elif isinstance(fit, inspect.DictType):
        for key, item in value.items():
            here = f"{where}/{_escaped(key[:64])}"
            yield from _faults(item, fit.value_type, here, f"{name} {key[:64]!r}")


def _faults_of_fields(
    value: dict[str, Any], shape: inspect.StructType, where: str, name: str
) -> Iterator[tuple[str, str]]:
    fields = {field.encode_name: field for field in shape.fields}
    for key, item in value.items():
        if key in fields:
            yield from _faults(item, fields[key].type, f"{where}/{_escaped(key)}", key)
            continue
        near = nearest_name(key[:64], fields)
        hint = f"; did you mean {near}?" if near else ""
        yield (
            f"{where}/{_escaped(key[:64])}",
            f"{name} has no field {key[:64]!r}; allowed: {', '.join(fields)}{hint}",
        )
    for key, field in fields.items():
        if field.required and key not in value:
            yield where, f"{name} must have the field {key}"


_KINDS: dict[type, tuple[tuple[type, ...], str]] = {
    inspect.StructType: ((dict,), "an object"),
    inspect.DictType: ((dict,), "an object"),
    inspect.VarTupleType: ((list,), "an array"),
    inspect.StrType: ((str,), "text"),
    inspect.FloatType: ((int, float), "a number"),
    inspect.IntType: ((int,), "a whole number"),
    inspect.BoolType: ((bool,), "true or false"),
    inspect.LiteralType: ((str,), "one of a few words"),
    inspect.NoneType: ((type(None),), "null"),
}


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    words = {str: "text", int: "a number", float: "a number", list: "an array", dict: "an object"}
    return words[type(value)]


def _pointer(path: str) -> str:
    """Return msgspec's path as a JSON pointer, up to the first value of a map: it has no name."""
    steps = _STEP.findall(path.split("[...]")[0])
    return "".join(f"/{_escaped(name or index)}" for name, index in steps)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
