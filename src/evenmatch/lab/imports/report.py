"""The result of importing a file: a TOML text, files beside it, and a line for each key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from evenmatch.rules.findings import Finding

TakenLine = Literal["exactly", "approximately", "not at all"]


class ImportLine(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What became of one key of the source.

    Args:
        path: Where it stands, as a JSON path; of what is not in the file, its name.
        line: The line of the text, from 1; 0 if it is not in the file.
        taken: How well.
        becomes: What it is now; "" if nothing.
        note: Why, and what to do.
    """

    path: str
    line: int
    taken: TakenLine
    becomes: str = ""
    note: str = ""


class ImportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the source does not say.

    Args:
        wait_max: Seconds after which a ticket without a match ends.
        accept: Seconds in which players have to accept a match; None: they are not asked.
        target: `kinds`: rules of our own even where they say not quite the same; `rules_file`: the
            source itself; `auto`: rules of our own where all say exactly the same.
    """

    wait_max: float | None = None
    accept: float | None = None
    target: Literal["auto", "kinds", "rules_file"] = "auto"


def unreached(ages: Iterable[float], wait_max: float | None) -> str:
    """Return what to know of steps that no ticket lives to see; "" if there are none.

    >>> unreached((5.0, 60.0), 60.0)
    'what changes from 60 s on never counts: tickets end after 60 s'
    """
    late = [age for age in ages if wait_max is not None and age >= wait_max]
    if not late:
        return ""
    return f"what changes from {min(late):g} s on never counts: tickets end after {wait_max:g} s"


class ImportResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a source becomes.

    Args:
        format: Where it is from: `flexmatch` or `playfab`.
        queues: The names of its queues.
        toml: A configuration.
        files: Texts that the configuration names, by name.
        lines: What became of each key.
        findings: What is odd in the source.
    """

    format: str
    queues: tuple[str, ...]
    toml: str
    files: dict[str, str]
    lines: tuple[ImportLine, ...]
    findings: tuple[Finding, ...]
