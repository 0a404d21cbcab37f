"""Translates players between GameLift's terms and ours, and checks them against a rule set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenmatch.errors import InvalidTicket
from evenmatch.model.ticket import LATENCY, Player, Value, check_player_id
from evenmatch.model.ticket_names import declared_name, ticket_name
from evenmatch.rules.flexmatch.rule_set import AttributeValue as Default
from evenmatch.rules.flexmatch.rule_set import RuleSet
from evenmatch.server.gamelift.service_errors import invalid
from evenmatch.server.gamelift.shapes import AttributeValue, PlayerShape

KINDS = {"string": "s", "number": "n", "string_list": "sl", "string_number_map": "sdm"}
"""In which field of an attribute a type of the rule language stands."""
PLAYER_ID_MAX = 128
"""Characters of a player's id; AWS takes 1,024."""


def players_of(players: Sequence[PlayerShape], rule_set: RuleSet) -> tuple[Player, ...]:
    """Return the players of a request.

    Raises:
        ServiceError: One has no id, or one that nobody can read, or attributes that the rule set
            does not declare, declares otherwise, or needs.
    """
    declared = {each.name: each for each in rule_set.attributes}
    types = {name: KINDS[each.type] for name, each in declared.items()}
    needed = {name: each.default for name, each in declared.items()}
    found: list[Player] = []
    for at, each in enumerate(players):
        where = f"Players[{at}]"
        if each.player_id is None:
            raise invalid(f"{where}.PlayerId: is missing")
        if len(each.player_id) > PLAYER_ID_MAX:
            raise invalid(f"{where}.PlayerId: this server takes at most {PLAYER_ID_MAX} characters")
        try:
            check_player_id(each.player_id, where)
        except InvalidTicket as error:
            raise invalid(f"{where}.PlayerId: {error.message}") from None
        if any(each.player_id == other.id for other in found):
            raise invalid(f"{where}.PlayerId: {each.player_id[:64]!r} is in the ticket already")
        attributes = _attributes(each.player_attributes or {}, types, f"{where}.PlayerAttributes")
        _check_complete(attributes, needed, where)
        attributes = {ticket_name(name): value for name, value in attributes.items()}
        if each.latency_in_ms:
            attributes[LATENCY] = {name: float(ms) for name, ms in each.latency_in_ms.items()}
        found.append(Player(each.player_id, attributes=attributes))
    return tuple(found)


def _attributes(
    given: Mapping[str, AttributeValue], types: Mapping[str, str], where: str
) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, value in given.items():
        if name not in types:
            allowed = ", ".join(types) or "none"
            raise invalid(f"{where}: the rule set declares no {name[:64]!r}; allowed: {allowed}")
        fields = [field for field in KINDS.values() if getattr(value, field) is not None]
        if fields != [types[name]]:
            got = " and ".join(each.upper() for each in fields) or "nothing"
            raise invalid(f"{where}.{name}: must have exactly {types[name].upper()}, got {got}")
        found[name] = _value(getattr(value, types[name]))
    return found


def _value(value: Value) -> Value:
    return tuple(sorted(set(value))) if isinstance(value, tuple) else value


def _check_complete(
    attributes: Mapping[str, Value], needed: Mapping[str, Default | None], where: str
) -> None:
    for name, default in needed.items():
        if default is None and name not in attributes:
            raise invalid(
                f"{where}.PlayerAttributes: has no {name!r}, for which the rule set has no default"
            )


def shape_of(player: Player, team: str | None = None) -> PlayerShape:
    """Return a player as GameLift shows them."""
    declared, latency = apart(player)
    attributes = {name: _shown(value) for name, value in declared.items()}
    return PlayerShape(
        player_id=player.id,
        player_attributes=attributes or None,
        team=team,
        latency_in_ms=(
            None if latency is None else {name: int(ms) for name, ms in latency.items()}
        ),
    )


def apart(player: Player) -> tuple[dict[str, Value], dict[str, float] | None]:
    """Return a player's attributes by the names that the rule set declares, and the latencies."""
    attributes = dict(player.attributes)
    latency = attributes.get(LATENCY)
    if isinstance(latency, dict):
        del attributes[LATENCY]
    declared = {declared_name(name): value for name, value in attributes.items()}
    return declared, latency if isinstance(latency, dict) else None


def _shown(value: Value) -> AttributeValue:
    if isinstance(value, str):
        return AttributeValue(s=value)
    if isinstance(value, tuple):
        return AttributeValue(sl=value)
    if isinstance(value, dict):
        return AttributeValue(sdm=value)
    return AttributeValue(n=value)
