"""Property expressions: measurements such as `avg(teams[*].players.attributes[skill])`.

An expression is a constant, a property of teams and players, or a function of an expression. Its
type is a kind of value and the depth to which lists of it nest:
`teams[*].players.attributes[skill]` is a list by team of lists of numbers, depth 2.

- A property of one team, and of all players by the short form `players...`, is one list of players.
  A property of several teams, of all of them, and of a name with a `quantity`, is a list by team.
- `min max avg median sum stddev` turn each innermost list of numbers into a number, `count` each
  innermost list of anything. So `count(teams[*].players)` is a list with the size of each team.
- `flatten` removes the outermost nesting: `flatten(teams[*].players.attributes[modes])` has one
  list of strings for each player. `set_intersection` turns each innermost list of lists of strings
  into the list of their common strings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, get_args

import msgspec

AttributeType = Literal["number", "string", "string_list", "string_number_map"]
Base = Literal["number", "string", "player", "team"]
Function = Literal[
    "min", "max", "avg", "median", "sum", "count", "stddev", "flatten", "set_intersection"
]
FUNCTIONS: tuple[Function, ...] = get_args(Function)
CALLS_MAX = 20
"""Most levels of nested functions."""


class ValueType(msgspec.Struct, frozen=True, gc=False):
    """The type of an expression: values of one kind, in lists nested to a depth."""

    base: Base
    depth: int = 0

    def __str__(self) -> str:
        return "list of " * min(self.depth, 4) + f"{self.base}{'s' if self.depth else ''}"


class Constant(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A number, a string, or a list of strings in the rule set itself."""

    value: float | str | tuple[str, ...]


class Property(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag=True):
    """A property of teams: themselves, their players, or attributes of players.

    Args:
        teams: Names of teams of a match (`trio_2`, never `trio`), in the order of the rule set.
        is_grouped: Whether the value is a list by team; otherwise it is that of one team, or with
            several teams that of all their players in one list.
        what: `teams`, `players`, `player_ids` or `attribute`.
        attribute: The attribute's name, or "".
    """

    teams: tuple[str, ...]
    is_grouped: bool
    what: Literal["teams", "players", "player_ids", "attribute"]
    attribute: str = ""


class Call(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A function of an expression."""

    function: Function
    argument: Expression


Expression = Constant | Property | Call


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The names that expressions of a rule set may use.

    Args:
        attributes: The type of each declared attribute.
        teams: The names of the teams that each name of the rule set stands for.
    """

    attributes: Mapping[str, AttributeType]
    teams: Mapping[str, tuple[str, ...]]

    def all_teams(self) -> tuple[str, ...]:
        """Return the teams of a match, in the order of the rule set."""
        return tuple(dict.fromkeys(name for names in self.teams.values() for name in names))


class WrongExpression(Exception):
    """An expression cannot be read; the message says why, and what to write."""

    def __init__(self, message: str, name: str = "", names: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.name = name
        """The unknown name."""
        self.names = names
        """The known names."""


# Types

ATTRIBUTE_TYPES: dict[str, ValueType] = {
    "number": ValueType("number"),
    "string": ValueType("string"),
    "string_list": ValueType("string", 1),
}
"""No expression uses a `string_number_map`."""


def type_of(expression: Expression, attributes: Mapping[str, AttributeType]) -> ValueType:
    """Return the type of an expression.

    Args:
        expression: One that was read without error.
        attributes: The type of each attribute.

    Raises:
        WrongExpression: A function is applied to a type that it does not support.
    """
    if isinstance(expression, Constant):
        if isinstance(expression.value, tuple):
            return ValueType("string", 1)
        return ValueType("string" if isinstance(expression.value, str) else "number")
    if isinstance(expression, Property):
        return _type_of_property(expression, attributes)
    return _type_of_call(expression.function, type_of(expression.argument, attributes))


def _type_of_property(value: Property, attributes: Mapping[str, AttributeType]) -> ValueType:
    outer = int(value.is_grouped)
    if value.what == "teams":
        return ValueType("team", outer)
    if value.what == "players":
        return ValueType("player", outer + 1)
    if value.what == "player_ids":
        return ValueType("string", outer + 1)
    own = ATTRIBUTE_TYPES[attributes[value.attribute]]
    return ValueType(own.base, own.depth + outer + 1)


def _type_of_call(function: Function, of: ValueType) -> ValueType:
    if function == "flatten":
        if of.depth < 1:
            raise WrongExpression(f"flatten takes lists, got a {of}; leave flatten out")
        return ValueType(of.base, max(1, of.depth - 1))
    if function == "set_intersection":
        if of.base != "string" or of.depth < 2:
            allowed = "set_intersection takes a list of lists of strings"
            raise WrongExpression(
                f"{allowed}, got a {of}; give it an attribute of type string_list"
            )
        return ValueType("string", of.depth - 1)
    if of.depth < 1:
        raise WrongExpression(f"{function} takes a list, got a {of}; leave {function} out")
    if function != "count" and of.base != "number":
        raise WrongExpression(f"{function} takes lists of numbers, got a {of}; count takes it")
    return ValueType("number", of.depth - 1)


# Reading

START = re.compile(rf"\s*(?:(?:{'|'.join(FUNCTIONS)})\s*\(|teams?\s*\[|players\s*[.\[])")
NAME = re.compile(r"[A-Za-z_]\w*")
BLANK = re.compile(r"\s*")


def is_expression(text: str) -> bool:
    """Return whether a reference value is to be computed; otherwise it is a plain string.

    >>> is_expression("max(teams[red].players.attributes[x])"), is_expression("medic")
    (True, False)
    """
    return START.match(text) is not None


def parse_expression(text: str, scope: Scope) -> tuple[Expression, tuple[str, ...]]:
    """Return an expression, and sentences about deviations from AWS's documentation.

    Raises:
        WrongExpression: It cannot be read, or a name or a type does not fit.
    """
    parser = _ExpressionParser(text, scope)
    expression = parser.expression(0)
    parser.end()
    type_of(expression, scope.attributes)
    return expression, tuple(parser.notes)


class _ExpressionParser:
    def __init__(self, text: str, scope: Scope) -> None:
        self._text = text
        self._at = 0
        self._scope = scope
        self.notes: list[str] = []

    def expression(self, depth: int) -> Expression:
        if depth > CALLS_MAX:
            raise WrongExpression(f"nests more than {CALLS_MAX} functions; no rule needs that")
        name = self._name()
        if name in ("teams", "team", "players"):
            return self._property(name)
        if name not in FUNCTIONS:
            allowed = f"must begin with teams[...], players or one of {', '.join(FUNCTIONS)}"
            shown = repr(name) if name else self._rest()
            raise WrongExpression(f"{allowed}, got {shown}", name, FUNCTIONS)
        self._take("(")
        argument = self.expression(depth + 1)
        self._take(")")
        call = Call(name, argument)
        if name == "flatten" and type_of(argument, self._scope.attributes).depth < 2:
            self.notes.append("flattens a list that does not nest, which changes nothing")
        return call

    def end(self) -> None:
        if self._at < len(self._text.rstrip()):
            raise WrongExpression(f"must end before {self._rest()}; check its brackets")

    def _property(self, start: str) -> Property:
        if start == "players":
            teams, is_grouped = self._scope.all_teams(), False
            self.notes.append(
                "begins with players, which means all players of the match in one list; AWS writes "
                "flatten(teams[*].players...)"
            )
        else:
            if start == "team":
                self.notes.append("begins with team[...]; AWS writes teams[...]")
            teams, is_grouped = self._teams()
            if not self._next_is("."):
                return Property(teams=teams, is_grouped=is_grouped, what="teams")
            self._take(".")
            if self._name() != "players":
                raise WrongExpression("must have .players behind the teams")
        if self._next_is("["):
            self._player_id()
            return Property(teams=teams, is_grouped=is_grouped, what="player_ids")
        if not self._next_is("."):
            return Property(teams=teams, is_grouped=is_grouped, what="players")
        self._take(".")
        word = self._name()
        if word != "attributes":
            instead = f"players.attributes[{word}]" if word else "players.attributes[name]"
            raise WrongExpression(f"must have attributes[...] behind players.; write {instead}")
        name = self._bracket()
        if name not in self._scope.attributes:
            raise WrongExpression(
                f"uses the attribute {name!r}, which playerAttributes does not declare; declare it",
                name,
                tuple(self._scope.attributes),
            )
        if self._scope.attributes[name] == "string_number_map":
            raise WrongExpression(
                f"uses {name}, a map, which sort rules alone can; use a number or a string"
            )
        return Property(teams=teams, is_grouped=is_grouped, what="attribute", attribute=name)

    def _teams(self) -> tuple[tuple[str, ...], bool]:
        names = [each.strip() for each in self._bracket().split(",")]
        if names == ["*"]:
            return self._scope.all_teams(), True
        for name in names:
            if name not in self._scope.teams and name not in self._scope.all_teams():
                known = tuple(dict.fromkeys([*self._scope.teams, *self._scope.all_teams()]))
                shown = ", ".join(known[:10])
                message = f"names the team {name!r}, which there is not; teams are {shown}"
                raise WrongExpression(message, name, known)
        teams = {team: None for name in names for team in self._scope.teams.get(name, (name,))}
        ordered = tuple(team for team in self._scope.all_teams() if team in teams)
        return ordered, len(ordered) > 1

    def _player_id(self) -> None:
        name = self._bracket()
        if name.lower() != "playerid":
            instead = f".attributes[{name}] for an attribute" if name else "playerId"
            message = f"must have [playerId] or .attributes[...] behind players, write {instead}"
            raise WrongExpression(message)
        if name != "playerId":
            self.notes.append(f"writes {name}, where AWS's examples write playerId")

    def _bracket(self) -> str:
        self._take("[")
        end = self._text.find("]", self._at)
        if end < 0:
            raise WrongExpression("has a [ without its ]")
        name = self._text[self._at : end].strip()
        self._at = end + 1
        return name

    def _name(self) -> str:
        self._skip()
        name = NAME.match(self._text, self._at)
        if name is None:
            return ""
        self._at = name.end()
        return name[0]

    def _next_is(self, sign: str) -> bool:
        self._skip()
        return self._text.startswith(sign, self._at)

    def _take(self, sign: str) -> None:
        if not self._next_is(sign):
            raise WrongExpression(f"must have {sign} before {self._rest()}")
        self._at += 1

    def _skip(self) -> None:
        blank = BLANK.match(self._text, self._at)
        self._at = blank.end() if blank else self._at

    def _rest(self) -> str:
        rest = self._text[self._at : self._at + 30]
        return repr(rest) if rest else "its end"


def render_expression(expression: Expression, scope: Scope) -> str:
    """Return an expression that is no constant as a rule set writes it.

    >>> scope = Scope(attributes={"skill": "number"}, teams={"red": ("red",), "blue": ("blue",)})
    >>> render_expression(
    ...     parse_expression("avg( teams[ red ].players.attributes[skill] )", scope)[0], scope
    ... )
    'avg(teams[red].players.attributes[skill])'
    """
    if isinstance(expression, Call):
        return f"{expression.function}({render_expression(expression.argument, scope)})"
    assert isinstance(expression, Property)
    tail = {
        "teams": "",
        "players": ".players",
        "player_ids": ".players[playerId]",
        "attribute": f".players.attributes[{expression.attribute}]",
    }[expression.what]
    if not expression.is_grouped and len(expression.teams) > 1:
        return tail[1:]
    is_all = expression.is_grouped and expression.teams == scope.all_teams()
    return f"teams[{'*' if is_all else ','.join(expression.teams)}]{tail}"
