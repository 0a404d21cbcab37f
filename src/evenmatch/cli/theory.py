"""`evenmatch theory NAME key=value ...`: exact figures from formulas and small exact models."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterable
from importlib import import_module
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_type_hints

from cyclopts import Parameter

from evenmatch.errors import ConfigError

Formula = Callable[..., dict[str, Any]]

FORMULAS: dict[str, str] = {
    "schlup": "evenmatch.theory.schlup:schlup",
    "floor": "evenmatch.theory.floor:floor",
}
"""Name -> module and function. Its keyword parameters are the keys; their types say how to read
the values, and those without default must be given."""


def theory(
    name: str,
    /,
    *settings: str,
    as_json: Annotated[bool, Parameter(name="--json", negative="", show_default=False)] = False,
) -> None:
    """Compute figures from theory: formulas and small exact models.

    For example:

        evenmatch theory schlup k=2 rate=10 wait_max=5 --json

    Args:
        name: `schlup`, the formulas of "Automatic Game Matching" (costs per match), or `floor`,
            the least that any policy without foreknowledge pays.
        settings: Texts key=value; an unknown key is answered with those that are allowed.
        as_json: Print one JSON object and nothing else.
    """
    figures = compute(name, settings)
    if as_json:
        print(json.dumps(figures, allow_nan=False))
        return
    width = max(map(len, figures))
    for key, value in figures.items():
        print(f"{key:<{width}}  {_shown(value)}")


def compute(name: str, settings: Iterable[str]) -> dict[str, Any]:
    """Return the figures of `name`; infinite and undefined ones are None.

    Args:
        name: One of `FORMULAS`.
        settings: Texts `key=value`.

    Raises:
        ConfigError: The name, a key or a value cannot be used; one sentence.
    """
    target = FORMULAS.get(name)
    if target is None:
        raise ConfigError(f"theory must be one of {', '.join(FORMULAS)}, got {name[:64]}")
    module, function = target.split(":")
    formula: Formula = getattr(import_module(module), function)
    try:
        figures = formula(**_read(name, formula, settings))
    except (OverflowError, ZeroDivisionError):
        raise ConfigError(f"theory {name}: the values are beyond the range of numbers") from None
    return {key: _finite(value) for key, value in figures.items()}


def _read(name: str, formula: Formula, settings: Iterable[str]) -> dict[str, Any]:
    """Return the keyword arguments that the settings say."""
    hints = get_type_hints(formula)
    parameters = inspect.signature(formula).parameters
    read: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals:
            raise ConfigError(f"theory {name}: settings are key=value, got {setting[:64]}")
        if key not in parameters:
            allowed = ", ".join(parameters)
            raise ConfigError(f"theory {name}: key {key[:64]} is unknown, allowed are {allowed}")
        if key in read:
            raise ConfigError(f"theory {name}: key {key} is given twice")
        read[key] = _value(f"theory {name}: {key}", hints[key], text)
    missing = [
        key for key, each in parameters.items() if each.default is each.empty and key not in read
    ]
    if missing:
        raise ConfigError(f"theory {name}: {', '.join(missing)} must be given, as key=value")
    return read


def _value(where: str, hint: Any, text: str) -> Any:
    kind = hint
    if isinstance(hint, UnionType):
        kind = next(each for each in get_args(hint) if each is not NoneType)
    if kind is bool:
        if text not in ("true", "false"):
            raise ConfigError(f"{where} must be true or false, got {text[:64]!r}")
        return text == "true"
    if kind is str:
        return text
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ConfigError(f"{where} must be a number, got {text[:64]!r}")
    if kind is not int:
        return number
    if number != int(number):
        raise ConfigError(f"{where} must be a whole number, got {text[:64]!r}")
    return int(number)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _shown(value: Any) -> str:
    if value is None:
        return "undefined"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
