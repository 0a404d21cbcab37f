"""Types of options that several commands take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter, Token

from evenmatch.errors import ConfigError


def whole(_: Any, tokens: Sequence[Token]) -> int:
    """Return the whole number of an option.

    Raises:
        ConfigError: It is none; it is not rounded to one.
    """
    (token,) = tokens
    try:
        return int(token.value)
    except ValueError:
        raise ConfigError(f"{token.keyword} must be a whole number, got {token.value}") from None


Whole = Annotated[int, Parameter(converter=whole)]
WholeOrNone = Annotated[int | None, Parameter(converter=whole)]
