"""Limits of one shard: each number is finite and in range, and whatever grows has a bound."""

from __future__ import annotations

import msgspec

from evenmatch.errors import InvalidTicket
from evenmatch.model.ticket import Player, Rating, Value

NUMBER_MAX = 1e15
"""Largest magnitude of an attribute or rating; sums over a match stay exact enough."""


class ShardLimits(msgspec.Struct, frozen=True):
    """The limits of one shard."""

    waiting_max: int = 200_000
    players_max: int = 100
    queues_max: int = 10
    attributes_max: int = 32
    values_max: int = 100
    text_max: int = 128


UNLIMITED = ShardLimits(*[2**31] * len(ShardLimits.__struct_fields__))
"""What a server took under its settings is taken again where its records are read."""


def is_plain(player: Player, limits: ShardLimits) -> bool:
    """Return whether a player needs no closer check; most need none."""
    if player.attributes or player.roles or not 1 <= len(player.id) <= limits.text_max:
        return False
    rating = player.rating
    return rating is None or (
        -NUMBER_MAX <= rating.mean <= NUMBER_MAX
        and 0.0 <= rating.deviation <= NUMBER_MAX
        and rating.volatility is None
    )


def check_player(player: Player, limits: ShardLimits, where: str) -> None:
    """Check a player's id, rating, attributes and roles.

    Raises:
        InvalidTicket: One is out of range or too large; `where` is the player's place.
    """
    if not 1 <= len(player.id) <= limits.text_max:
        raise InvalidTicket(
            f"a player's id has 1 to {limits.text_max} characters, got {len(player.id)}",
            where=where + "/id",
        )
    if player.rating is not None:
        _check_rating(player.rating, where + "/rating")
    if player.attributes:
        check_values(player.attributes, limits, where + "/attributes")
    if player.roles and (
        len(player.roles) > limits.values_max or len(set(player.roles)) != len(player.roles)
    ):
        raise InvalidTicket(
            "roles must be different names, preferred first", where=where + "/roles"
        )


def _check_rating(rating: Rating, where: str) -> None:
    _check_number(rating.mean, where + "/mean")
    _check_number(rating.deviation, where + "/deviation", least=0.0)
    if rating.volatility is not None:
        _check_number(rating.volatility, where + "/volatility", least=0.0)


def check_values(values: dict[str, Value], limits: ShardLimits, where: str) -> None:
    """Check the attributes of a party or a player.

    Raises:
        InvalidTicket: There are too many, or one is out of range or too large.
    """
    if len(values) > limits.attributes_max:
        raise InvalidTicket(
            f"at most {limits.attributes_max} attributes are allowed, got {len(values)}",
            where=where,
        )
    for name, value in values.items():
        here = f"{where}/{name[: limits.text_max]}"
        if not 1 <= len(name) <= limits.text_max:
            raise InvalidTicket(
                f"an attribute's name has 1 to {limits.text_max} characters", where=here
            )
        if isinstance(value, float | int):
            _check_number(value, here)
        elif len(value) > (limits.text_max if isinstance(value, str) else limits.values_max):
            raise InvalidTicket(
                f"attribute {name[:64]} is too long: text has at most {limits.text_max} "
                f"characters, a set or map {limits.values_max} entries",
                where=here,
            )
        elif not isinstance(value, str):
            _check_entries(name, value, limits, here)


def _check_entries(
    name: str, value: tuple[str, ...] | dict[str, float], limits: ShardLimits, where: str
) -> None:
    for entry in value:
        if len(entry) > limits.text_max:
            raise InvalidTicket(f"an entry of {name[:64]} is too long", where=where)
    if isinstance(value, dict):
        for number in value.values():
            _check_number(number, where)


def _check_number(value: float, where: str, least: float = -NUMBER_MAX) -> None:
    if not least <= value <= NUMBER_MAX:  # also refuses NaN
        raise InvalidTicket(
            f"a number must be finite and from {least:g} to {NUMBER_MAX:g}, got {value}",
            where=where,
        )
