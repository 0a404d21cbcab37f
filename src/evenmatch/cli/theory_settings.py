"""Reading the settings of `evenmatch theory`: texts key=value, by the types of the parameters."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from evenmatch.errors import ConfigError

WHOLE_MAX = 10**15
"""Beyond, not all whole numbers can be told apart."""
LIST_MAX = 10_000
"""Numbers in one list."""
GRAPH = '{"rates": {"a": 0.4, "b": 0.3, "any": 0.3}, "edges": [["a", "b"], ["a", "any"], \
["b", "any"], ["any", "any"]]}'
FILES = {
    "graph": GRAPH,
    "graph_laws": GRAPH,
    "flexibility": GRAPH,
    "role_stability": '{"slots": {"tank": 1, "healer": 1, "dps": 3}, "players": [{"roles": \
["dps"], "rate": 0.5}, {"roles": ["tank", "healer"], "rate": 0.6}]}',
}
"""What the file of a formula may hold, where it takes one."""
SHOWN = 64
"""Characters of a wrong text that an error repeats."""


def read_settings(
    name: str, formula: Callable[..., Any], settings: Iterable[str]
) -> dict[str, Any]:
    """Return the keyword arguments that the settings say.

    A parameter that no short text can give, a mapping say, comes from a JSON file: `file=` names
    it, its keys are parameters, and settings beside it add to them.

    Args:
        name: What the formula is called in errors.
        formula: Its keyword parameters are the keys, and their types say how to read the values:
            bool, int, float, str, `Path` (a JSON file), `tuple[float, ...]` (a,b,c), `Literal`,
            and unions of them.
        settings: Texts `key=value`.

    Raises:
        ConfigError: A setting cannot be used, or one is missing; one sentence.
    """
    hints = get_type_hints(formula)
    parameters = inspect.signature(formula).parameters
    in_file = keys_in_file(formula)
    allowed = [*(["file"] if in_file else []), *(key for key in parameters if key not in in_file)]
    read: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ConfigError(f"theory {name}: settings must be key=value, got {setting[:SHOWN]}")
        if key not in allowed:
            raise ConfigError(_unknown(f"theory {name}", key, allowed))
        if key in read:
            raise ConfigError(f"theory {name}: key {key} is given twice")
        read[key] = _value(f"theory {name}: {key}", hints.get(key, Path), text)
    if in_file and "file" in read:
        read = _with_file(name, read, hints, in_file)
    missing = [
        key for key, each in parameters.items() if each.default is each.empty and key not in read
    ]
    if missing:
        how = f"as keys of file=F.json{_such_as(name)}" if in_file else "as key=value"
        raise ConfigError(f"theory {name}: {', '.join(missing)} must be given, {how}")
    return read


def keys_in_file(formula: Callable[..., Any]) -> list[str]:
    """Return the parameters that no short text can give.

    Args:
        formula: Its keyword parameters are the keys.
    """
    hints = get_type_hints(formula)
    return [
        key
        for key in inspect.signature(formula).parameters
        if not all(map(_fits_a_text, _options(hints[key])))
    ]


def _such_as(name: str) -> str:
    return f", such as {FILES[name]}" if name in FILES else ""


def _with_file(
    name: str, read: dict[str, Any], hints: Mapping[str, Any], in_file: Sequence[str]
) -> dict[str, Any]:
    """Return the settings with those that the file holds.

    Keys that a line may hold as well are read alike; the formula checks the others.
    """
    path = read.pop("file")
    parameters = [key for key in hints if key != "return"]
    for key, value in read_object(path).items():
        if key not in parameters:
            sentence = _unknown(f"theory {name}: {path}", key, parameters)
            raise ConfigError(f"{sentence}{_such_as(name)}")
        if key in read:
            raise ConfigError(f"theory {name}: key {key} is given twice, in {path} and beside it")
        if key in in_file or (value is None and NoneType in get_args(hints[key])):
            read[key] = value
        else:
            text = value if isinstance(value, str) else json.dumps(value)
            read[key] = _value(f"theory {name}: {path}: {key}", hints[key], text)
    return read


def _unknown(where: str, key: str, allowed: Iterable[str]) -> str:
    return f"{where}: key {key[:SHOWN]} is unknown, allowed are {', '.join(allowed)}"


def _options(hint: Any) -> list[Any]:
    """Return the types that a union allows beside None, or the one type itself."""
    if isinstance(hint, UnionType) or get_origin(hint) is Union:
        return [each for each in get_args(hint) if each is not NoneType]
    return [hint]


def _fits_a_text(kind: Any) -> bool:
    return kind in (bool, int, float, str, Path) or get_origin(kind) in (Literal, tuple)


def _value(where: str, hint: Any, text: str) -> Any:
    """Return what the text says; of a union, the first type that can read it."""
    options = _options(hint)
    words = [word for kind in options if get_origin(kind) is Literal for word in get_args(kind)]
    if text in words:
        return text
    others = [kind for kind in options if get_origin(kind) is not Literal]
    if not others:
        raise ConfigError(f"{where} must be one of {', '.join(words)}, got {text[:SHOWN]!r}")
    try:
        return _READERS.get(get_origin(others[0]) or others[0], _read_number)(where, text)
    except ConfigError as error:
        if not words:
            raise
        sentence = str(error).replace(" must be ", f" must be {' or '.join(words)}, or ", 1)
        raise ConfigError(sentence) from None


def _read_bool(where: str, text: str) -> bool:
    if text not in ("true", "false"):
        raise ConfigError(f"{where} must be true or false, got {text[:SHOWN]!r}")
    return text == "true"


def _read_number(where: str, text: str) -> float:
    number = _number(text)
    if number is None:
        raise ConfigError(f"{where} must be a number, got {text[:SHOWN]!r}")
    return number


def _read_int(where: str, text: str) -> int:
    number = _read_number(where, text)
    if number != int(number):
        raise ConfigError(f"{where} must be a whole number, got {text[:SHOWN]!r}")
    if abs(number) > WHOLE_MAX:
        raise ConfigError(f"{where} must have at most 15 digits, got {text[:SHOWN]!r}")
    return int(number)


def _read_list(where: str, text: str) -> tuple[float, ...]:
    parts = text.split(",")
    if len(parts) > LIST_MAX:
        raise ConfigError(f"{where} must be at most {LIST_MAX:,} numbers, got {len(parts):,}")
    numbers = [_number(part) for part in parts]
    wrong = next((part for part, number in zip(parts, numbers, strict=True) if number is None), "")
    if None in numbers:
        raise ConfigError(
            f"{where} must be numbers joined by commas, as 1,2,0.5, got {wrong[:SHOWN]!r}"
        )
    return tuple(number for number in numbers if number is not None)


def _read_path(where: str, text: str) -> Path:
    """Return the path of a file that holds one JSON object."""
    path = Path(text)
    try:
        read_object(path)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None
    return path


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


_READERS: Mapping[Any, Callable[[str, str], Any]] = {
    bool: _read_bool,
    str: lambda _, text: text,
    int: _read_int,
    float: _read_number,
    tuple: _read_list,
    Path: _read_path,
}


# Reading the JSON file that describes a model too large for a command line.

BYTES_MAX = 1_000_000


def read_object(path: Path) -> dict[str, Any]:
    """Return the one object of a JSON file.

    Args:
        path: A file of at most `BYTES_MAX` bytes; NaN and infinities are refused.

    Raises:
        ConfigError: It is no such file; the sentence names it.
    """
    try:
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path} cannot be read: {reason}") from None
    if len(data) > BYTES_MAX:
        raise ConfigError(f"{path} must have at most {BYTES_MAX:,} bytes")
    try:
        found = json.loads(data, parse_constant=_refuse, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} must be JSON: {error}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{path} must hold one JSON object, as {{...}}")
    return found


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is given twice: the first value would be lost without a word."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {key[:64]!r} is given twice")
        found[key] = value
    return found
