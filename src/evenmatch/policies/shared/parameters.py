"""The bounds of a policy's parameters: they stand in the types of its fields."""

from __future__ import annotations

import msgspec

from evenmatch.model.checks import Place


def check_parameters(policy: msgspec.Struct) -> None:
    """Refuse a parameter that its type does not take; it is None where a policy finds it itself.

    Raises:
        ConfigError: Names the parameter, what is allowed and what was given.
    """
    name = type(policy).__module__.rpartition(".")[2]
    for field in msgspec.structs.fields(type(policy)):
        Place(f"{name}: {field.name}").within(getattr(policy, field.name), field.type)
