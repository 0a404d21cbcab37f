"""`evenmatch theory NAME key=value ...`: exact figures from formulas and small exact models."""

from __future__ import annotations

import inspect
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, Protocol

from cyclopts import Parameter

from evenmatch.cli.progress import progress
from evenmatch.cli.theory_settings import FILES, keys_in_file, read_settings
from evenmatch.cli.theory_text import lines, words_of
from evenmatch.errors import ConfigError, NotSupported


class TheoryResult(Protocol):
    """What a formula returns, where it is more than a mapping of figures."""

    def figures(self) -> Mapping[str, Any]:
        """Return the figures by name; numbers, texts, None, and lists and mappings of them."""
        ...


Formula = Callable[..., TheoryResult | Mapping[str, Any]]

FORMULAS: dict[str, str] = {
    "schlup": "evenmatch.theory.schlup:schlup",
    "floor": "evenmatch.theory.floor:floor",
    "k_player": "evenmatch.theory.k_player:k_player",
    "two_v_two": "evenmatch.theory.two_v_two:two_v_two",
    "sides": "evenmatch.theory.sides:sides",
    "zones": "evenmatch.theory.zones:zones",
    "graph": "evenmatch.theory.graph:compatibility_graph",
    "graph_laws": "evenmatch.theory.graph_laws:graph_laws",
    "flexibility": "evenmatch.theory.flexibility:flexibility",
    "zone_cuts": "evenmatch.theory.zone_cuts:zone_cuts",
    "team_stability": "evenmatch.theory.stability:team_stability",
    "role_stability": "evenmatch.theory.role_stability:role_stability",
    "wu": "evenmatch.theory.wu:wu",
    "skill_mdp": "evenmatch.theory.skill_mdp:skill_mdp",
    "recommend_window": "evenmatch.theory.recommend_window:recommend_window",
}
"""Name -> module and function. Its keyword parameters are the keys; their types say how to read
the values, and those without default must be given."""


def theory(
    name: str,
    /,
    *settings: str,
    as_json: Annotated[bool, Parameter(name="--json", negative="", show_default=False)] = False,
) -> None:
    """Compute figures from theory: formulas and small exact models.

    For example:

        evenmatch theory schlup k=2 rate=10 wait_max=5 --json

    Args:
        name: What to compute; give a name alone to see the keys that it takes. Waits: `k_player`,
            `two_v_two` with parties, `sides`, `zones`, and duels on any `graph` of classes, with
            `graph_laws` for quantiles. Rules: who gains by `flexibility`, where to set `zone_cuts`.
            Stability: `team_stability`, `role_stability`. Skill against waiting: `wu`, `skill_mdp`,
            `recommend_window`. Costs per match: `schlup`, and `floor`, a lower bound for policies
            that do not know the future.
        settings: Settings, written key=value; lists are a,b,c. `file=F.json` names a file, where a
            model needs more than a line.
        as_json: Print one JSON object and nothing else.
    """
    if not settings and not as_json:
        for line in help_of(name, formula_of(name)):
            print(line)
        return
    with progress(f"theory {name}", 1):
        figures = compute(name, settings)
    if as_json:
        print(json.dumps(figures, allow_nan=False))
        return
    for line in lines(figures, words=words_of(name)):
        print(line)


def compute(name: str, settings: Iterable[str]) -> dict[str, Any]:
    """Return the figures of `name`; infinite and undefined ones are None.

    Args:
        name: One of `FORMULAS`.
        settings: Texts `key=value`.

    Raises:
        ConfigError: The name, a key or a value cannot be used; one sentence.
        NotSupported: A package that it needs is not installed.
    """
    formula = formula_of(name)
    try:
        found = formula(**read_settings(name, formula, settings))
        figures = found if isinstance(found, Mapping) else found.figures()
    except (OverflowError, ZeroDivisionError):
        raise ConfigError(f"theory {name}: the values are beyond the range of numbers") from None
    return {str(key): _plain(value) for key, value in figures.items()}


def formula_of(name: str) -> Formula:
    """Return the function of a name of `FORMULAS`.

    Args:
        name: One of them.

    Raises:
        ConfigError: There is no such name.
        NotSupported: A package that it needs is not installed.
    """
    target = FORMULAS.get(name)
    if target is None:
        raise ConfigError(f"theory must be one of {', '.join(FORMULAS)}, got {name[:64]}")
    module, function = target.split(":")
    try:
        formula: Formula = getattr(import_module(module), function)
    except ModuleNotFoundError:
        raise NotSupported(
            f"theory {name} needs more packages: pip install 'evenmatch[theory]'"
        ) from None
    return formula


def _plain(value: Any) -> Any:
    """Return the value as JSON can hold it: infinite and undefined numbers become None."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


# What a formula of `evenmatch theory` takes, told from its docstring.

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
