"""The bounds of a policy's parameters: they stand in the types of its fields."""

from __future__ import annotations

from functools import cache

import msgspec

from evenmatch.model.checks import Place

_fields_of = cache(msgspec.structs.fields)
"""The fields of a policy's type: their types are read once, which takes a millisecond."""


def check_parameters(policy: msgspec.Struct) -> None:
    """Refuse a parameter that its type does not take; it is None where a policy finds it itself.

    Raises:
        ConfigError: Names the parameter, what is allowed and what was given.
    """
    name = type(policy).__module__.rpartition(".")[2]
    for field in _fields_of(type(policy)):
        Place(f"{name}: {field.name}").within(getattr(policy, field.name), field.type)
