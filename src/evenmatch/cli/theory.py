"""`evenmatch theory NAME key=value ...`: exact figures from formulas and small exact models."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Annotated, Any, Protocol

from cyclopts import Parameter

from evenmatch.cli.progress import progress
from evenmatch.cli.theory_help import help_of
from evenmatch.cli.theory_settings import read_settings
from evenmatch.cli.theory_text import lines
from evenmatch.cli.theory_words import words_of
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
        name: What to compute; a name alone says which keys it takes. Waits: `k_player`,
            `two_v_two` with parties, `sides`, `zones`, and duels on any `graph` of classes, with
            `graph_laws` for quantiles. Rules: who gains by `flexibility`, where to set
            `zone_cuts`. Stability: `team_stability`, `role_stability`. Skill against waiting:
            `wu`, `skill_mdp`, `recommend_window`. Costs per match: `schlup`, and `floor`,
            below which no policy without foreknowledge comes.
        settings: Texts key=value; an unknown key is answered with those that are allowed.
            Lists are a,b,c; `file=F.json` names a file where a model needs more than a line.
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
