"""The one translator: from a value that a type does not take to a sentence that names its place.

The types of fields carry their bounds (see `fields`), so that the same sentence is said of a key of
a file, of a value built in Python and of a policy's parameter. What no single field can tell, a
struct says by a method `fault`.
"""

from __future__ import annotations

import difflib
import math
import re
import types
import typing
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Annotated, Any, Literal, NoReturn, TypeVar

import msgspec

from evenmatch.errors import ConfigError, nearest_name

LIST_MAX = 10_000
TEXT_MAX = 10_000
WHOLE_MAX = 2**63 - 1

Fault = tuple[str, str] | None
"""A key, and what is wrong with it; None if all is well. The key "" is the table itself."""
Kind = TypeVar("Kind")
Options = tuple[tuple[Any, dict[str, Any]], ...]
"""The types of a union, each with what its annotations say."""


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where in the file a key stands, as people say it: `queue "duel", rules[0].limit`."""

    text: str = ""

    def at(self, key: str | int) -> Place:
        """Return the place of a key of this table, or of an element of this list."""
        if isinstance(key, int):
            return Place(f"{self.text}[{key}]")
        key = key if key.isprintable() else repr(key)
        if not self.text or not key:
            return Place(key or self.text)
        return Place(f"{self.text}{', ' if self.text.endswith(chr(34)) else '.'}{key}")

    def refuse(self, sentence: str) -> NoReturn:
        """Raise a ConfigError about this place."""
        raise ConfigError(f"{self.text} {sentence}".strip())

    def refuse_value(self, allowed: str, value: object) -> NoReturn:
        """Raise a ConfigError that says what is allowed and what was given."""
        self.refuse(f"must be {allowed}, got {show(value)}")

    def refuse_fault(self, fault: Fault) -> None:
        """Refuse what has a fault."""
        if fault is not None:
            self.at(fault[0]).refuse(fault[1])

    def one_of(self, value: str, allowed: Iterable[str]) -> str:
        """Return the word if it is allowed."""
        allowed = tuple(allowed)
        if value not in allowed:
            near = difflib.get_close_matches(str(value), allowed, n=1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            self.refuse_value(f"one of {', '.join(allowed)}{hint}", value)
        return value

    def within(self, value: Any, kind: Any) -> Any:
        """Return the value if a type takes it.

        >>> Place("rate").within(2.0, Annotated[float, msgspec.Meta(ge=0.0)])
        2.0
        """
        _walk(value, kind, self)
        return value


def decode(raw: object, kind: type[Kind], at: Place) -> Kind:
    """Return plain data as a value, checked as the types of its fields want it.

    Args:
        raw: What tomllib or a JSON decoder made of it.
        kind: A struct type; its class attributes `LEFT_OUT` and `FIRST` name fields that are no
            keys, and keys that pages list before others; `ELSEWHERE` says where else something is
            set that people look for here.
        at: Where it stands.

    Raises:
        ConfigError: A key is unknown or missing, or a value is not allowed.
    """
    _refuse_odd(raw, at)
    value = msgspec.convert(_walk(raw, kind, at), kind)
    _refuse_faults(value, at)
    return value


def check(value: msgspec.Struct, at: Place) -> None:
    """Refuse a value that was built in Python, where nobody looked at its fields.

    Raises:
        ConfigError: A field is not what its type says, or the fields do not go together.
    """
    _walk(value, type(value), at)
    _refuse_faults(value, at)


DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?")
UNITS = (3600.0, 60.0, 1.0)


def seconds_of(given: str, at: Place) -> float:
    """Return a duration in seconds.

    >>> seconds_of("15s", Place("target_wait")), seconds_of("1m30s", Place("target_wait"))
    (15.0, 90.0)
    """
    found = DURATION.fullmatch(given.strip())
    if found is None or not any(found.groups()):
        at.refuse_value('seconds, or a text such as "15s", "2m" or "1h30m"', given)
    return sum(unit * float(each or 0.0) for unit, each in zip(UNITS, found.groups(), strict=True))


def is_in(value: object, kind: Any) -> bool:
    """Return whether a type takes a value."""
    try:
        _walk(value, kind, Place())
    except ConfigError:
        return False
    return True


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


# What a type allows, in words

_WORDS: dict[Any, tuple[str, str]] = {
    float: ("a number", "numbers"),
    int: ("a whole number", "whole numbers"),
    str: ("a text in quotes", "texts"),
    bool: ("true or false", "flags"),
}
"""What one and what many values of a type are called."""


def words_of(kind: Any) -> str:
    """Return what a type allows, as it follows "must be".

    >>> words_of(Annotated[float, msgspec.Meta(ge=1e-6, le=1e9, extra={"unit": "s"})])
    'a number between 1e-6 and 1e9 s'
    """
    described = [words for each in _options(kind) if (words := _words_of(*each))]
    return " or ".join(dict.fromkeys(described))


def range_of(kind: Any) -> str:
    """Return the range of a number, as it follows "must be"; "" where it has none."""
    return next((words for base, limits in _options(kind) if (words := _range(base, limits))), "")


def _words_of(base: Any, limits: dict[str, Any]) -> str:
    if "description" in limits:
        return str(limits["description"])
    if base in _WORDS:
        bounds = _range(base, limits)
        return bounds if bounds.startswith("0") else f"{_WORDS[base][0]} {bounds}".rstrip()
    origin, inner = _origin(base), typing.get_args(base)
    if origin is Literal:
        return f"one of {', '.join(map(str, inner))}"
    if origin is tuple:
        return f"a list of {_many(inner[0])}"
    return f"a table of {_many(inner[1])}" if origin is dict else "a table"


def _many(kind: Any) -> str:
    """Return what several values of a type are called."""
    *others, last = dict.fromkeys(_many_of(*each) for each in _options(kind))
    return f"{', '.join(others)} or {last}" if others else f"{last} {range_of(kind)}".rstrip()


def _many_of(base: Any, limits: dict[str, Any]) -> str:
    if "many" in limits:
        return str(limits["many"])
    if base in _WORDS:
        return _WORDS[base][1]
    is_list = _origin(base) is tuple
    return f"lists of {_many(typing.get_args(base)[0])}" if is_list else "tables"


def _range(base: Any, limits: dict[str, Any]) -> str:
    if base not in (float, int):
        return ""
    unit = f" {limits['unit']}" if "unit" in limits else ""
    low, high = limits.get("least", limits.get("ge")), limits.get("le")
    zero = "0 or " if "least" in limits else ""
    if low is not None and high is not None:
        return f"{zero}between {number_text(low)} and {number_text(high)}{unit}"
    signs = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
    said = [f"{sign} {number_text(limits[key])}" for key, sign in signs.items() if key in limits]
    return f"{' and '.join(said)}{unit}" if said else ""


def number_text(value: float) -> str:
    """Return a bound as people write it.

    >>> number_text(1e-6), number_text(1000), number_text(0.05), number_text(1e15)
    ('1e-6', '1,000', '0.05', '1e15')
    >>> number_text(31_536_000.0)
    '31,536,000'
    """
    mantissa, e, exponent = f"{value:g}".partition("e")
    is_round = bool(e) and len(mantissa) <= len("-1.5")
    if isinstance(value, int) or (value.is_integer() and not is_round):
        return f"{int(value):,}"
    return f"{mantissa}e{int(exponent)}" if e else mantissa


@cache
def is_noted(kind: Any, note: str) -> bool:
    """Return whether the annotations of a type, or of a list's elements, say something extra."""
    return any(
        note in limits or (_origin(base) is tuple and is_noted(typing.get_args(base)[0], note))
        for base, limits in _options(kind)
    )


@cache
def _options(kind: Any) -> Options:
    """Return the types of a union but None, each with what its annotations say."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return tuple(found for each in typing.get_args(kind) for found in _options(each))
    if kind is type(None):
        return ()
    if typing.get_origin(kind) is not Annotated:
        return ((kind, {}),)
    base, *notes = typing.get_args(kind)
    said: dict[str, Any] = {}
    for note in notes:
        for key in ("ge", "gt", "le", "lt", "min_length", "max_length", "pattern", "description"):
            if (value := getattr(note, key)) is not None:
                said[key] = value
        said |= note.extra or {}
    return tuple((found, {**inner, **said}) for found, inner in _options(base))


@cache
def keys_of(kind: Any) -> dict[str, Any]:
    """Return the fields of a struct by the names that they have in files, in the pages' order."""
    left_out, first = getattr(kind, "LEFT_OUT", ()), getattr(kind, "FIRST", ())
    found = {each.encode_name: each for each in msgspec.structs.fields(kind)}
    return {key: found[key] for key in (*first, *found) if found[key].name not in left_out}


# What is not allowed


def _walk(raw: Any, kind: Any, at: Place) -> Any:
    """Return what msgspec can convert; refuse the first value that its type does not take."""
    if isinstance(raw, msgspec.Struct):
        return _walk_struct(raw, at)
    options = _options(kind)
    if isinstance(raw, dict) and (tables := [base for base, _ in options if _is_struct(base)]):
        return _walk_table(raw, _chosen(raw, tables, at), tables, at)
    for base, limits in options:
        origin, inner = _origin(base), typing.get_args(base)
        if origin is tuple and isinstance(raw, list | tuple):
            if inner[-1] is ...:
                return _walk_list(raw, inner[0], limits, at)
            if len(raw) == len(inner):
                return [_walk(*each, at.at(i)) for i, each in enumerate(zip(raw, inner))]  # noqa: B905
        if origin is tuple and _is_struct(inner[0]):
            at.refuse_value("a list of tables (double brackets: [[...]])", raw)
        if origin is dict and isinstance(raw, dict):
            for key in raw:
                _walk(key, inner[0], at)
            return {key: _walk(each, inner[1], at.at(key)) for key, each in raw.items()}
        if "duration" in limits and isinstance(raw, str):
            raw = seconds_of(raw, at)
        if isinstance(raw, float | int) and 0.0 < raw < limits.get("least", 0.0):
            at.refuse_value(_range(base, limits), raw)
    _convert_leaf(raw, kind, options, at)
    return raw


def _convert_leaf(raw: object, kind: Any, options: Options, at: Place) -> None:
    try:
        msgspec.convert(float(raw) if isinstance(raw, float) else raw, kind)
    except (msgspec.ValidationError, OverflowError, TypeError):
        words = [each for base, _ in options if _origin(base) is Literal
                 for each in typing.get_args(base)]  # fmt: skip
        if words and isinstance(raw, str):
            at.one_of(raw, words)
        is_number = isinstance(raw, float | int) and not isinstance(raw, bool)
        is_whole = isinstance(raw, int) or all(base is not int for base, _ in options)
        bounds = range_of(kind) if is_number and is_whole else ""
        at.refuse_value(bounds or words_of(kind), raw)


def _walk_struct(value: msgspec.Struct, at: Place) -> msgspec.Struct:
    for key, field in keys_of(type(value)).items():
        if getattr(value, field.name) is field.default:
            continue
        _walk(getattr(value, field.name), field.type, _field_place(field, key, at))
    return value


def _field_place(field: Any, key: str, at: Place) -> Place:
    return at if is_noted(field.type, "inline") else at.at(key)


def _chosen(raw: dict[str, Any], tables: list[Any], at: Place) -> Any:
    """Return the struct that a table stands for: of several, the one that its tag names."""
    if len(tables) == 1:
        return tables[0]
    field = tables[0].__struct_config__.tag_field
    by_tag = {each.__struct_config__.tag: each for each in tables}
    if field not in raw and (default := getattr(tables[0], "DEFAULT_TAG", None)):
        return by_tag[default]
    if field not in raw:
        known = dict.fromkeys((field, *(key for each in tables for key in keys_of(each))))
        for key in raw:
            if key not in known:
                _refuse_key(key, tuple(known), (), at)
        at.at(field).refuse(f"is missing; it is one of {', '.join(by_tag)}")
    if not isinstance(raw[field], str):
        at.at(field).refuse_value(_WORDS[str][0], raw[field])
    return by_tag[at.at(field).one_of(raw[field], by_tag)]


def _walk_table(raw: dict[str, Any], kind: Any, tables: list[Any], at: Place) -> dict[str, Any]:
    fields = keys_of(kind)
    tag_field, tag = kind.__struct_config__.tag_field, kind.__struct_config__.tag
    known = (tag_field, *fields) if tag_field else tuple(fields)
    others = [key for key in raw if key not in known]
    for key in others:
        if not any(key in keys_of(each) for each in tables):
            _refuse_key(key, known, getattr(kind, "ELSEWHERE", ()), at)
    for key in others:
        takes = ", ".join(fields) or "no further key"
        at.at(key).refuse(f'does not go with {tag_field} = "{tag}", which takes {takes}')
    walked = {key: _walk(raw[key], fields[key].type, at.at(key)) for key in fields if key in raw}
    for key, field in fields.items():
        if field.required and key not in raw:
            at.at(key).refuse(f"is missing{_why(kind, field)}")
    return {**walked, tag_field: tag} if tag_field else walked


def _why(kind: Any, field: Any) -> str:
    """Return why a field must be given, where there is more to say than that."""
    for _, limits in _options(field.type):
        if "meaning" in limits:
            return f"; it is {limits['meaning']}"
    if kind.__struct_config__.tag is None:
        return ""
    needed = " and ".join(key for key, each in keys_of(kind).items() if each.required)
    return f'; {kind.__struct_config__.tag_field} = "{kind.__struct_config__.tag}" needs {needed}'


def _walk_list(
    raw: list[Any] | tuple[Any, ...], kind: Any, limits: dict[str, Any], at: Place
) -> list[Any]:
    least, most = limits.get("min_length", 0), limits.get("max_length", LIST_MAX)
    if not least <= len(raw) <= most:
        allowed = f"{least} to {most:,}" if least else f"at most {most:,}"
        allowed = "at least one entry" if most == LIST_MAX and least == 1 else f"{allowed} entries"
        at.refuse(f"must have {allowed}, got {len(raw):,}")
    return [_walk(each, kind, place) for each, place in zip(raw, _places(at, raw), strict=True)]


def _places(at: Place, raw: Sequence[Any]) -> Iterator[Place]:
    """Yield the places of a list's elements: by name if it is the first of its name."""
    named: set[str] = set()
    for index, each in enumerate(raw):
        name = each.get("name") if isinstance(each, dict) else getattr(each, "name", None)
        if not isinstance(name, str) or not 0 < len(name) <= 64 or not name.isprintable():
            name = None
        if name is not None and name not in named:
            named.add(name)
            yield Place(f'{at.text} "{name}"')
        else:
            yield at.at(index)


def _refuse_key(
    key: str, known: tuple[str, ...], elsewhere: Iterable[tuple[str, str]], at: Place
) -> NoReturn:
    here = at.at(key if len(key) <= 60 else f"{key[:57]}...")
    for name, way in elsewhere:
        if name == key:
            here.refuse(f"is not a known key; set it with {way}")
    here.refuse(f"is not a known key{suggestion(key, known) or ';'} allowed: {', '.join(known)}")


def _refuse_faults(value: object, at: Place) -> None:
    """Refuse structs whose fields do not go together, the inner ones first."""
    if isinstance(value, msgspec.Struct):
        for key, field in keys_of(type(value)).items():
            _refuse_faults(getattr(value, field.name), _field_place(field, key, at))
        fault: Fault = getattr(value, "fault", lambda: None)()
        at.refuse_fault(fault)
    elif isinstance(value, tuple):
        for each, place in zip(value, _places(at, value), strict=True):
            if isinstance(each, msgspec.Struct):
                _refuse_faults(each, place)
    elif isinstance(value, dict):
        for key, each in value.items():
            _refuse_faults(each, at.at(key))


def _refuse_odd(raw: object, at: Place) -> None:
    """Refuse NaN, infinity, huge numbers, huge texts and long lists, at any depth."""
    if isinstance(raw, float) and not math.isfinite(raw):
        at.refuse_value("a finite number", raw)
    if isinstance(raw, int) and abs(raw) > WHOLE_MAX:
        at.refuse_value(f"a number of at most {WHOLE_MAX:,}", raw)
    if isinstance(raw, str) and len(raw) > TEXT_MAX:
        at.refuse(f"must be a text of at most {TEXT_MAX:,} characters, got {len(raw):,}")
    if isinstance(raw, list | dict) and len(raw) > LIST_MAX:
        at.refuse(f"must have at most {LIST_MAX:,} entries, got {len(raw):,}")
    if isinstance(raw, list):
        for each, place in zip(raw, _places(at, raw), strict=True):
            _refuse_odd(each, place)
    if isinstance(raw, dict):
        for key, each in raw.items():
            _refuse_odd(each, at.at(key))


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _origin(kind: Any) -> Any:
    """Return what a type with arguments is a kind of: `tuple` of `tuple[int, ...]`."""
    return typing.get_origin(kind)
