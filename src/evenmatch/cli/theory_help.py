"""What a formula of `evenmatch theory` takes, told from its docstring."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from evenmatch.cli.theory_settings import FILES, keys_in_file

EXAMPLES = {
    "schlup": "k=2 rate=10 wait_max=5",
    "floor": "rate=10 weight=2 wait_max=5",
    "k_player": "k=10 rate=0.5",
    "two_v_two": "solo_rate=0.6 party_rate=0.2",
    "sides": "a=0.45 b=0.30 flexible=0.25",
    "zones": "junior=0.5 expert=0.3 flexible=0.2",
    "zone_cuts": "shares=0.4,0.3,0.2,0.1 rate=0.5",
    "team_stability": "k=3 rates=0.4,0.3,0.1",
    "wu": "n=5 q=0.5 alpha=3",
    "skill_mdp": "types=0,0.5,1 n=1 alpha=2 cap=7",
    "recommend_window": "alpha=16 rate=1 density=1",
}
"""Settings of formulas that take no file, to start from."""
ENTRY = re.compile(r"^    (\w+): ")


def help_of(name: str, formula: Callable[..., Any]) -> Iterator[str]:
    """Yield lines that say what a formula computes, its keys, and a command to start from.

    Args:
        name: What the formula is called.
        formula: Its docstring says what its keyword parameters mean.
    """
    doc = inspect.getdoc(formula) or ""
    yield f"{name}: {doc.partition(chr(10))[0].removeprefix('Return ')}"
    parameters = inspect.signature(formula).parameters
    meanings, in_file = _meanings(formula, doc), keys_in_file(formula)
    width = max(map(len, parameters))
    for title, is_asked in (("Keys that must be given:", True), ("Keys that may be given:", False)):
        keys = [key for key, each in parameters.items() if (each.default is each.empty) is is_asked]
        if keys:
            yield f"\n{title}"
        for key in keys:
            default = parameters[key].default
            note = "" if is_asked or default is None else f" By default {_text(default)}."
            place = " In the file." if key in in_file else ""
            yield f"  {key:<{width}}  {meanings.get(key, '')}{note}{place}"
    yield "\nFor example:"
    if name in FILES:
        yield f"  evenmatch theory {name} file=F.json"
        yield f"where F.json holds these keys, as\n  {FILES[name]}"
    else:
        yield f"  evenmatch theory {name} {EXAMPLES.get(name, '')}".rstrip()


def _text(default: Any) -> str:
    """Return a default as it would be typed."""
    return str(default).lower() if isinstance(default, bool) else f"{default}"


def _meanings(formula: Callable[..., Any], doc: str) -> dict[str, str]:
    """Return what each parameter means; names of limits become their numbers."""
    found: dict[str, str] = {}
    key = ""
    for line in doc.partition("\nArgs:\n")[2].partition("\n\n")[0].splitlines():
        entry = ENTRY.match(line)
        if entry:
            key = entry[1]
            found[key] = line[entry.end() :]
        elif key:
            found[key] += f" {line.strip()}"
    limits = vars(sys.modules[formula.__module__])
    return {
        each: re.sub(r"`([A-Z_]+)`", lambda of: str(limits.get(of[1], of[0])), text)
        for each, text in found.items()
    }
