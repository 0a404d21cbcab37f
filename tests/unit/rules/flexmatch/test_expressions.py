"""Expressions: how they are read, what types they have, and what is refused."""

import pytest

from evenmatch.rules.flexmatch.expressions import (
    CALLS_MAX,
    Call,
    Property,
    Scope,
    WrongExpression,
    is_expression,
    parse_expression,
    render_expression,
    type_of,
)

SCOPE = Scope(
    attributes={
        "skill": "number",
        "mode": "string",
        "maps": "string_list",
        "wishes": "string_number_map",
        "monster-kills": "number",
    },
    teams={"red": ("red",), "trio": ("trio_1", "trio_2", "trio_3")},
)
ALL = ("red", "trio_1", "trio_2", "trio_3")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("teams[red]", "team"),
        ("teams[*]", "list of teams"),
        ("teams[red].players", "list of players"),
        ("teams[*].players", "list of list of players"),
        ("teams[red, trio].players[playerId]", "list of list of strings"),
        ("teams[red].players.attributes[skill]", "list of numbers"),
        ("teams[trio].players.attributes[skill]", "list of list of numbers"),
        ("teams[trio_2].players.attributes[skill]", "list of numbers"),
        ("players.attributes[monster-kills]", "list of numbers"),
        ("teams[*].players.attributes[maps]", "list of list of list of strings"),
        ("flatten(teams[*].players.attributes[maps])", "list of list of strings"),
        ("set_intersection(flatten(teams[*].players.attributes[maps]))", "list of strings"),
        ("set_intersection(teams[*].players.attributes[maps])", "list of list of strings"),
        ("set_intersection(teams[*].players.attributes[mode])", "list of strings"),
        ("avg(teams[*].players.attributes[skill])", "list of numbers"),
        ("avg(flatten(teams[*].players.attributes[skill]))", "number"),
        ("stddev( avg ( teams[ * ].players.attributes[ skill ] ) )", "number"),
        ("max(count(teams[*].players))", "number"),
        ("count(teams[*])", "number"),
        ("count(teams[*].players.attributes[maps])", "list of list of numbers"),
    ],
)
def test_type(text: str, kind: str) -> None:
    expression, _ = parse_expression(text, SCOPE)
    assert str(type_of(expression, SCOPE.attributes)) == kind
    again, _ = parse_expression(render_expression(expression, SCOPE), SCOPE)
    assert again == expression


def test_functions_may_nest_up_to_the_limit() -> None:
    counted = "count(teams[*].players)"
    flat = "flatten(" * (CALLS_MAX - 1) + counted + ")" * (CALLS_MAX - 1)
    parse_expression(flat, SCOPE)
    with pytest.raises(WrongExpression):
        parse_expression(f"flatten({flat})", SCOPE)


def test_team_with_a_quantity_is_a_list_by_team() -> None:
    expression, _ = parse_expression("teams[trio].players", SCOPE)
    assert expression == Property(
        teams=("trio_1", "trio_2", "trio_3"), is_grouped=True, what="players"
    )
    one, _ = parse_expression("teams[trio_1].players", SCOPE)
    assert one == Property(teams=("trio_1",), is_grouped=False, what="players")


def test_teams_stand_in_the_order_of_the_rule_set_and_once() -> None:
    expression, _ = parse_expression("count(teams[trio_3,red,red].players)", SCOPE)
    wanted = Property(teams=("red", "trio_3"), is_grouped=True, what="players")
    assert expression == Call("count", wanted)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("players.attributes[skill]", "begins with players"),
        ("team[red].players", "AWS writes teams[...]"),
        ("teams[red].players[playerid]", "AWS's examples write playerId"),
        ("flatten(teams[red].players.attributes[skill])", "changes nothing"),
    ],
)
def test_other_spelling_is_taken_and_noted(text: str, note: str) -> None:
    _, notes = parse_expression(text, SCOPE)
    assert len(notes) == 1
    assert note in notes[0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must begin with teams[...]"),
        ("mean(teams[*].players)", "got 'mean'"),
        ("avg teams[*].players", "must have ( before"),
        ("avg(teams[red].players.attributes[skill]", "must have ) before"),
        ("teams[red].players.attributes[skill])", "must end before ')'"),
        ("teams[red", "has a [ without its ]"),
        ("teams[green].players", "names the team 'green'"),
        ("teams[].players", "names the team ''"),
        ("teams[red].player", "must have .players"),
        ("teams[red].players[name]", "write .attributes[name]"),
        ("players.skill", "write players.attributes[skill]"),
        ("teams[red].players.attributes[skil]", "does not declare"),
        ("teams[red].players.attributes[wishes]", "uses wishes, a map"),
        ("count(teams[red].players.attributes[wishes])", "uses wishes, a map"),
        ("avg(teams[red].players.attributes[mode])", "got a list of strings; count takes it"),
        ("avg(teams[red].players)", "avg takes lists of numbers"),
        ("avg(avg(teams[red].players.attributes[skill]))", "avg takes a list, got a number"),
        ("flatten(avg(teams[red].players.attributes[skill]))", "flatten takes lists"),
        ("set_intersection(teams[red].players.attributes[mode])", "a list of lists of strings"),
        ("flatten(" * 1000 + "teams[*].players" + ")" * 1000, "nests more than 20"),
    ],
)
def test_wrong_expression_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(WrongExpression) as error:
        parse_expression(text, SCOPE)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("medic", False), ("team spirit", False), ("max", False), (" players .attributes[x]", True),
     ("team[red].players", True), ("minimum(5)", False), ("count (teams[*])", True)],
)  # fmt: skip
def test_expression_is_told_from_a_word(text: str, is_one: bool) -> None:
    assert is_expression(text) is is_one
