"""Errors and oddities in a rule set: one sentence each, with the place in the JSON text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from evenmatch.errors import nearest_name

HINTS_MAX = 50
"""Most findings that suggest a similar name; a text with more is not a rule set with typos."""
FINDINGS_MAX = 1000


class Finding(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Something that the author of the rule set should know.

    Args:
        level: With an `error` there is no rule set; a `warning` says how a text was understood.
        path: The place as a JSON path: `$.rules[2].maxDistance`.
        line: The line of the text, from 1.
        message: What the text has, what is allowed, and what to write instead.
    """

    level: Literal["error", "warning"]
    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.level}: {self.path} (line {self.line}) {self.message}"


class FindingList:
    """The findings of one text, in the order in which they are made."""

    def __init__(self) -> None:
        self.lines: dict[str, int] = {}
        """The line of each path; for a path missing in the text, that of its parent."""
        self._findings: list[Finding] = []
        self.has_error = False

    def error(self, path: str, message: str) -> None:
        """Record an error, which makes the rule set unusable."""
        self.has_error = True
        self._note("error", path, message)

    def warning(self, path: str, message: str, line: int = 0) -> None:
        """Record an oddity and how it is understood; `line` if it is not that of the path."""
        self._note("warning", path, message, line)

    def hint(self, name: str, names: Iterable[str]) -> str:
        """Return a question with the name that was probably meant, or nothing."""
        near = nearest_name(name, names) if len(self._findings) < HINTS_MAX else None
        return f"; did you mean {near}?" if near else ""

    def sorted(self) -> tuple[Finding, ...]:
        """Return the findings in the order of the text, at most FINDINGS_MAX, errors before all."""
        kept = sorted(self._findings, key=lambda each: each.level != "error")[:FINDINGS_MAX]
        return tuple(sorted(kept, key=lambda each: each.line))

    def _note(
        self, level: Literal["error", "warning"], path: str, message: str, line: int = 0
    ) -> None:
        line = line or self._line_of(path)
        self._findings.append(Finding(level=level, path=path, line=line, message=message))

    def _line_of(self, path: str) -> int:
        while path not in self.lines and path:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.lines.get(path, 1)


def child_path(path: str, key: str | int) -> str:
    """Return the path of an element of a list or of a key of an object.

    >>> child_path("$.rules[0]", "name"), child_path("$.rules", 2), child_path("$", "a b")
    ('$.rules[0].name', '$.rules[2]', '$["a b"]')
    """
    if isinstance(key, int):
        return f"{path}[{key}]"
    if key.isidentifier() and len(key) <= 100:
        return f"{path}.{key}"
    return f"{path}[{msgspec.json.encode(key[:100]).decode()}]"


def excerpt(value: object) -> str:
    """Return a value as in the text, shortened."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)  # numbers are read as floats; "-1" is one too
    text = msgspec.json.encode(value).decode() if value is not None else "null"
    return text if len(text) <= 60 else f"{text[:57]}..."
