"""Players between GameLift's words and ours."""

from typing import Any

import pytest

from evenmatch.model.ticket import Player
from evenmatch.rules.flexmatch.rule_set import PlayerAttribute, RuleSet, TeamDefinition
from evenmatch.server.gamelift.players import players_of, shape_of
from evenmatch.server.gamelift.service_errors import ServiceError
from evenmatch.server.gamelift.shapes import AttributeValue, PlayerShape

RULES = RuleSet(
    attributes=(
        PlayerAttribute(name="skill", type="number", default=10.0),
        PlayerAttribute(name="map", type="string"),
    ),
    teams=(TeamDefinition(name="all", players_min=1, players_max=2),),
)


def shape(name: str | None = "p", **attributes: AttributeValue) -> PlayerShape:
    return PlayerShape(player_id=name, player_attributes=attributes or None)


DUST = AttributeValue(s="dust")


def test_player_comes_back_as_sent() -> None:
    given = PlayerShape(
        player_id="p",
        player_attributes={"map": DUST, "skill": AttributeValue(n=2.5)},
        latency_in_ms={"eu": 20},
    )
    (player,) = players_of([given], RULES)
    assert player.attributes == {"map": "dust", "skill": 2.5, "latency": {"eu": 20.0}}
    assert shape_of(player) == given


def test_lists_and_maps_come_back_as_sent() -> None:
    player = Player("p", attributes={"a": ("x", "y"), "b": {"k": 1.0}})
    shown = shape_of(player, "red")
    assert shown.team == "red"
    assert shown.player_attributes == {
        "a": AttributeValue(sl=("x", "y")),
        "b": AttributeValue(sdm={"k": 1.0}),
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([shape(None, map=DUST)], "PlayerId: is missing"),
        ([shape("x" * 129, map=DUST)], "128 characters"),
        ([shape("\x00a", map=DUST)], "Players[0].PlayerId: a player's id may not hold control"),
        ([shape(" ", map=DUST)], "Players[0].PlayerId: a player's id may not be blank"),
        ([shape(map=DUST), shape(map=DUST)], "Players[1].PlayerId"),
        ([shape()], "no default"),
        ([shape(map=AttributeValue())], "got nothing"),
        ([shape(map=AttributeValue(n=1.0))], "exactly S, got N"),
        ([shape(map=AttributeValue(s="a", n=1.0))], "got S and N"),
        ([shape(map=DUST, other=DUST)], "allowed: skill, map"),
    ],
)
def test_players_that_do_not_fit_are_refused(given: list[Any], said: str) -> None:
    with pytest.raises(ServiceError) as caught:
        players_of(given, RULES)
    assert caught.value.name == "InvalidRequestException"
    assert said in caught.value.message


@pytest.mark.parametrize("name", ["latency", "side", "latency_value", "a.b", "a~1b", "skill_value"])
def test_attribute_with_a_name_of_ours_comes_back_as_sent(name: str) -> None:
    rules = RuleSet(
        attributes=(PlayerAttribute(name=name, type="number"),),
        teams=(TeamDefinition(name="all", players_min=1, players_max=2),),
    )
    attributes = {name: AttributeValue(n=7.0)}
    given = PlayerShape(player_id="p", player_attributes=attributes, latency_in_ms={"eu": 20})
    (player,) = players_of([given], rules)
    assert player.attributes["latency"] == {"eu": 20.0}
    assert player.attributes.get("side") is None
    assert shape_of(player) == given
