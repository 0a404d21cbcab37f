"""Names of rating systems, and the SPEC `name:key=value,key=value` that chooses one."""

from __future__ import annotations

import difflib
import functools

from evenmatch.errors import ConfigError
from evenmatch.ratings.base import RatingSystem
from evenmatch.ratings.elo import Elo
from evenmatch.ratings.glicko import Glicko
from evenmatch.ratings.glicko2 import Glicko2
from evenmatch.ratings.weng_lin import WengLin

SYSTEMS: dict[str, type[Elo] | type[Glicko] | type[Glicko2] | type[WengLin]] = {
    "elo": Elo,
    "glicko": Glicko,
    "glicko2": Glicko2,
    "weng_lin": WengLin,
}

SPEC_MAX = 1_000
"""Longest SPEC in characters."""
SPECS_KEPT = 64
"""Number of SPECs whose systems are cached, so that rating match by match parses once."""


@functools.lru_cache(maxsize=SPECS_KEPT)
def parse_system(spec: str) -> RatingSystem:
    """Return the rating system that a SPEC names.

    Raises:
        ConfigError: The name, a key or a value is unknown; the message lists what is allowed.

    >>> parse_system("glicko2:tau=0.3").tau
    0.3
    """
    if len(spec) > SPEC_MAX:
        raise ConfigError(f"a rating SPEC may have {SPEC_MAX} characters, got {len(spec)}")
    name, _, rest = spec.strip().partition(":")
    if name not in SYSTEMS:
        raise ConfigError(f"no rating system is called {name!r}{_nearest(name, list(SYSTEMS))}")
    kind = SYSTEMS[name]
    known = list(kind.__struct_fields__)
    values: dict[str, float] = {}
    for part in rest.split(",") if rest else ():
        key, equals, text = (piece.strip() for piece in part.partition("="))
        if not equals or key in values:
            raise ConfigError(
                f"rating SPEC {spec!r}: write name:key=value,key=value with each key once, "
                f"got {part!r}"
            )
        if key not in known:
            raise ConfigError(f"{name} has no parameter {key!r}{_nearest(key, known)}")
        values[key] = _number(f"{name}:{key}", text)
    return kind(**values)


def _number(where: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ConfigError(f"{where} must be a number, got {text!r}") from None
    if value - value != 0.0:  # infinite or NaN
        raise ConfigError(f"{where} must be a finite number, got {text!r}")
    return value


def _nearest(word: str, allowed: list[str]) -> str:
    near = difflib.get_close_matches(word, allowed, 1)
    hint = f"; did you mean {near[0]}?" if near else ";"
    return f"{hint} allowed: {', '.join(allowed)}"
