"""Strict decoding: plain data from TOML into structs, or one sentence that names the key."""

from __future__ import annotations

import difflib
import math
import re
import types
import typing
from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

import msgspec

from evenmatch.criteria.validation.values import Bounds
from evenmatch.errors import ConfigError, nearest_name

LATER = "comes with a later version"
LIST_MAX = 10_000
TEXT_MAX = 10_000
WHOLE_MAX = 2**63 - 1

Shape = TypeVar("Shape", bound=msgspec.Struct)


SECONDS = Bounds(1e-6, 1e9, unit="s")
WAITS = Bounds(0.0, 1e9, unit="s")
RATES = Bounds(1e-9, 1e9, unit="tickets per second")
VALUES = Bounds(-1e15, 1e15)
GAPS = Bounds(1e-9, 1e15)


DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?")
UNITS = (3600.0, 60.0, 1.0)


def seconds_of(given: float | str, at: Place) -> float:
    """Return a duration in seconds.

    >>> seconds_of(15, Place("target_wait")), seconds_of("1m30s", Place("target_wait"))
    (15.0, 90.0)
    """
    if isinstance(given, str):
        found = DURATION.fullmatch(given.strip())
        if found is None or not any(found.groups()):
            at.refuse_value('seconds, or a text such as "15s", "2m" or "1h30m"', given)
        parts = [float(each or 0.0) for each in found.groups()]
        given = sum(unit * each for unit, each in zip(UNITS, parts, strict=True))
    return at.within(float(given), SECONDS)


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where in the file a key stands, as people say it: `queue "duel", rules[0].limit`."""

    text: str = ""

    def at(self, key: str | int) -> Place:
        """Return the place of a key of this table, or of an element of this list."""
        if isinstance(key, int):
            return Place(f"{self.text}[{key}]")
        key = key if key.isprintable() else repr(key)
        if not self.text:
            return Place(key)
        return Place(f"{self.text}{', ' if self.text.endswith(chr(34)) else '.'}{key}")

    def refuse(self, sentence: str) -> NoReturn:
        """Raise a ConfigError about this place."""
        raise ConfigError(f"{self.text} {sentence}".strip())

    def refuse_value(self, allowed: str, value: object) -> NoReturn:
        """Raise a ConfigError that says what is allowed and what was given."""
        self.refuse(f"must be {allowed}, got {show(value)}")

    def within(self, value: float, bounds: Bounds) -> float:
        """Return the number if it is in its range."""
        if not bounds.low <= value <= bounds.high:
            self.refuse_value(bounds.text, value)
        return value

    def between(self, value: int, low: int, high: int) -> int:
        """Return the whole number if it is in [low, high]."""
        if not low <= value <= high:
            self.refuse_value(f"between {low:,} and {high:,}", value)
        return value

    def one_of(self, value: str, allowed: Iterable[str], later: Iterable[str] = ()) -> str:
        """Return the word if it is allowed; say so if it is reserved for later."""
        allowed = tuple(allowed)
        if value in later:
            self.refuse(f'= "{value}" {LATER}; this version has {", ".join(allowed)}')
        if value not in allowed:
            self.refuse_value(f"one of {', '.join(allowed)}{_nearest(value, allowed)}", value)
        return value


def decode(raw: object, shape: type[Shape], place: Place) -> Shape:
    """Return the table as a struct; keys, types and numbers are checked, meanings are not.

    Args:
        raw: What tomllib made of the table.
        shape: A struct type; its class attribute `LATER_KEYS` names keys of later versions.
        place: Where the table stands.

    Raises:
        ConfigError: A key is unknown or missing, or its value has the wrong type.
    """
    if not isinstance(raw, dict):
        place.refuse_value("a table", raw)
    fields = {field.encode_name: field for field in msgspec.structs.fields(shape)}
    for key in raw:
        if key not in fields:
            _refuse_key(key, tuple(fields), getattr(shape, "LATER_KEYS", ()), place)
    values: dict[str, Any] = {}
    for key, field in fields.items():
        if key in raw:
            values[field.name] = _value(raw[key], field.type, place.at(key))
        elif field.required:
            place.at(key).refuse("is missing")
    return shape(**values)


def show(value: object) -> str:
    """Return a value as the user wrote it, cut to a readable length."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        value = value if value.isprintable() else repr(value)[1:-1]
        return f'"{value}"' if len(value) <= 40 else f'"{value[:37]}..."'
    if isinstance(value, dict):
        entries = [f"{key} = {show(each)}" for key, each in [*value.items()][:20]]
        text = f"{{{', '.join(entries)}}}"
        return text if entries and len(text) <= 60 else "a table"
    if isinstance(value, list | tuple):
        text = f"[{', '.join(show(each) for each in value[:20])}]"
        return text if len(text) <= 60 else "a list"
    text = str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean X?` with the nearest known name, or nothing."""
    near = nearest_name(name, known)
    return f"; did you mean {near}?" if near else ""


def _nearest(value: str, allowed: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(value, allowed, n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def _refuse_key(key: str, known: tuple[str, ...], later: tuple[str, ...], place: Place) -> NoReturn:
    at = place.at(key if len(key) <= 60 else f"{key[:57]}...")
    if key in later:
        at.refuse(LATER)
    at.refuse(f"is not a known key{suggestion(key, known) or ';'} allowed: {', '.join(known)}")


def _value(raw: object, kind: Any, place: Place) -> Any:
    """Return a value as its type wants it; structs inside are decoded with their own places."""
    options = typing.get_args(kind) if _is_union(kind) else (kind,)
    for option in options:
        origin, inner = typing.get_origin(option), typing.get_args(option)
        if _is_struct(option) and isinstance(raw, dict | list):
            return decode(raw, option, place)
        if origin is tuple and _is_struct(inner[0]):
            return _structs(raw, inner[0], place)
        if origin is dict and _is_struct(inner[1]):
            return _named_structs(raw, inner[1], place)
    _refuse_odd_leaves(raw, place)
    try:
        return msgspec.convert(raw, kind)
    except (msgspec.ValidationError, OverflowError):
        place.refuse_value(_described(kind), raw)


def _structs(raw: object, shape: type[Shape], place: Place) -> tuple[Shape, ...]:
    if not isinstance(raw, list):
        place.refuse_value("a list of tables (double brackets: [[...]])", raw)
    _refuse_long(raw, place)
    return tuple(decode(each, shape, _element(place, i, each)) for i, each in enumerate(raw))


def _element(place: Place, index: int, raw: object) -> Place:
    """Return the place of a list's element: queues are known by name, others by number."""
    name = raw.get("name") if isinstance(raw, dict) else None
    if isinstance(name, str) and 0 < len(name) <= 64 and name.isprintable():
        return Place(f'{place.text} "{name}"')
    return place.at(index)


def _named_structs(raw: object, shape: type[Shape], place: Place) -> dict[str, Shape]:
    if not isinstance(raw, dict):
        place.refuse_value("a table of tables", raw)
    _refuse_long(raw, place)
    return {name: decode(each, shape, place.at(name)) for name, each in raw.items()}


def _refuse_long(raw: list[Any] | dict[str, Any], place: Place) -> None:
    if len(raw) > LIST_MAX:
        place.refuse(f"must have at most {LIST_MAX:,} entries, got {len(raw):,}")


def _refuse_odd_leaves(raw: object, place: Place) -> None:
    """Refuse NaN, infinity, huge numbers, huge texts and long lists, at any depth."""
    if isinstance(raw, float) and not math.isfinite(raw):
        place.refuse_value("a finite number", raw)
    if isinstance(raw, int) and abs(raw) > WHOLE_MAX:
        place.refuse_value(f"a number of at most {WHOLE_MAX:,}", raw)
    if isinstance(raw, str) and len(raw) > TEXT_MAX:
        place.refuse(f"must be a text of at most {TEXT_MAX:,} characters, got {len(raw):,}")
    if isinstance(raw, list):
        _refuse_long(raw, place)
        for index, each in enumerate(raw):
            _refuse_odd_leaves(each, place.at(index))
    if isinstance(raw, dict):
        _refuse_long(raw, place)
        for key, each in raw.items():
            _refuse_odd_leaves(each, place.at(key))


def _is_union(kind: Any) -> bool:
    return typing.get_origin(kind) in (typing.Union, types.UnionType)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _described(kind: Any) -> str:
    """Return what a type allows, in words; the words stand in the shape's annotations."""
    if _is_union(kind):
        words = [_described(each) for each in typing.get_args(kind) if each is not type(None)]
        return " or ".join(words)
    for note in getattr(kind, "__metadata__", ()):
        if isinstance(note, msgspec.Meta) and note.description:
            return note.description
    return "a table" if _is_struct(kind) else str(kind)
