"""Reading the JSON file that describes a model too large for a command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from evenmatch.errors import ConfigError

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
