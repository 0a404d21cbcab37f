"""The result of importing a file: a TOML text, files beside it, and a line for each key."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import msgspec

from evenmatch.rules.findings import Finding

TakenLine = Literal["exactly", "approximately", "not at all"]


class ImportLine(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The report on one key of the source.

    Args:
        path: Its place, as a JSON path; for a setting not in the file, its name.
        line: The line of the text, from 1; 0 if it is not in the file.
        taken: How well it was taken over.
        becomes: Its equivalent; "" if there is none.
        note: Why, and what to do.
    """

    path: str
    line: int
    taken: TakenLine
    becomes: str = ""
    note: str = ""


class ImportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that the source does not have.

    Args:
        wait_max: Seconds after which a ticket without a match ends.
        accept: Seconds in which players have to accept a match; None: no ready-check.
        target: `kinds`: rules of our own, even if they mean not quite the same; `rules_file`: the
            source itself; `auto`: rules of our own if all mean exactly the same.
    """

    wait_max: float | None = None
    accept: float | None = None
    target: Literal["auto", "kinds", "rules_file"] = "auto"


def unreached(ages: Collection[float], wait_max: float | None) -> str:
    """Return a note on steps that tickets do not reach, or hardly; "" if there are none.

    A step begins at a multiple of the server's tick. So do deadlines there; of simulated tickets,
    which come at any instant, most end just before it.

    >>> unreached((5.0, 60.0, 61.0), 60.0)
    'what changes from 61 s on never counts: tickets end after 60 s'
    >>> unreached((5.0, 60.0), 60.0)
    'tickets end at 60 s: a server still matches by what changes then, simulate seldom does'
    """
    last = max(ages, default=0.0)
    if wait_max is None or last < wait_max:
        return ""
    if last == wait_max:
        ends = f"tickets end at {wait_max:g} s"
        return f"{ends}: a server still matches by what changes then, simulate seldom does"
    late = min(age for age in ages if age > wait_max)
    return f"what changes from {late:g} s on never counts: tickets end after {wait_max:g} s"


class ImportResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of importing a source.

    Args:
        format: Its origin: `flexmatch` or `playfab`.
        queues: The names of its queues.
        toml: A configuration.
        files: Texts that the configuration names, by name.
        lines: The report on each key.
        findings: Oddities in the source.
    """

    format: str
    queues: tuple[str, ...]
    toml: str
    files: dict[str, str]
    lines: tuple[ImportLine, ...]
    findings: tuple[Finding, ...]
