"""Statements of compound rules: `or(and(SameMap, SameMode), not(NewPlayers))`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import msgspec

Operator = Literal["and", "or", "not", "xor"]
OPERATORS: tuple[Operator, ...] = get_args(Operator)
NESTING_MAX = 50


class RuleName(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A rule by its name."""

    name: str


class Combination(msgspec.Struct, frozen=True, gc=False, tag=True):
    """Statements joined: `and`, `or`, `xor` (exactly one holds) of two or more, `not` of one."""

    operator: Operator
    parts: tuple[Statement, ...]


Statement = RuleName | Combination


class WrongStatement(Exception):
    """A statement cannot be read; the message says why, and what to write."""


def parse_statement(text: str) -> tuple[Statement, tuple[str, ...]]:
    """Return a statement, and sentences about deviations from AWS's documentation.

    Raises:
        WrongStatement: It cannot be read.

    >>> parse_statement("not(A)")[0]
    Combination(operator='not', parts=(RuleName(name='A'),))
    """
    parser = _StatementParser(text)
    statement = parser.statement(0)
    parser.end()
    return statement, tuple(parser.notes)


def names_in(statement: Statement) -> Iterator[str]:
    """Yield the names of the rules of a statement, as often as they occur."""
    if isinstance(statement, RuleName):
        yield statement.name
    else:
        for part in statement.parts:
            yield from names_in(part)


def render_statement(statement: Statement) -> str:
    """Return a statement as a rule set writes it."""
    if isinstance(statement, RuleName):
        return statement.name
    return f"{statement.operator}({', '.join(map(render_statement, statement.parts))})"


class _StatementParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.notes: list[str] = []

    def statement(self, depth: int) -> Statement:
        if depth > NESTING_MAX:
            raise WrongStatement(
                f"nests more than {NESTING_MAX} deep; write several compound rules"
            )
        begin = self._at
        while self._at < len(self._text) and self._text[self._at] not in "(),":
            self._at += 1
        name = self._text[begin : self._at].strip()
        if not self._is("("):
            if not name:
                raise WrongStatement(f"must name a rule before {self._rest()}")
            return RuleName(name)
        operator = next((each for each in OPERATORS if each == name.lower()), None)
        if operator is None:
            allowed = f"must use one of {', '.join(OPERATORS)} before a bracket"
            raise WrongStatement(f"{allowed}, got {name[:60]!r}")
        if operator != name:
            self.notes.append(f"writes {name}, where AWS writes {operator}")
        return self._combination(operator, depth)

    def _combination(self, operator: Operator, depth: int) -> Statement:
        parts: list[Statement] = []
        while not parts or self._is(","):
            self._at += 1
            parts.append(self.statement(depth + 1))
        if not self._is(")"):
            raise WrongStatement(f"must have a closing bracket before {self._rest()}")
        self._at += 1
        while self._text[self._at : self._at + 1].isspace():
            self._at += 1
        if operator == "not" and len(parts) != 1:
            raise WrongStatement(
                f"gives not {len(parts)} statements; write not(and(A,B)) or the like"
            )
        if operator != "not" and len(parts) < 2:
            raise WrongStatement(f"gives {operator} one statement; it needs two")
        if operator != "not" and len(parts) > 2:
            self.notes.append(
                f"gives {operator} {len(parts)} statements, where AWS takes two"
                + ("; it holds if exactly one of them does" if operator == "xor" else "")
            )
        return Combination(operator, tuple(parts))

    def end(self) -> None:
        if self._text[self._at :].strip():
            raise WrongStatement(f"must end before {self._rest()}; check its brackets")

    def _is(self, sign: str) -> bool:
        return self._text.startswith(sign, self._at)

    def _rest(self) -> str:
        rest = self._text[self._at : self._at + 30]
        return repr(rest) if rest else "its end"
