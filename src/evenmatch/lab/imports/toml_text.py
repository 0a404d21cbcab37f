"""TOML texts: keys, values and the table of arrivals."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from evenmatch.lab.rule_set_scenario import MATCHES, RATE, TICKETS_LEAST
from evenmatch.model.scenario import Choice, Distribution, Normal, Uniform
from evenmatch.rules.json_text import Json

BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
CLASSES_MAX = 100
"""Most classes of arrivals that a scenario has."""


def key_text(key: str) -> str:
    """Return a key, in quotes where TOML needs them.

    >>> key_text("latency.eu"), key_text("skill")
    ('"latency.eu"', 'skill')
    """
    return key if BARE.match(key) else value_text(key)


def value_text(value: object) -> str:
    """Return a value as TOML has it; numbers are exactly the same.

    >>> value_text({"limit": 5.0, "steps": [[2.0, 7.5]]}), value_text(True)
    ('{limit = 5, steps = [[2, 7.5]]}', 'true')
    >>> value_text(1e15), value_text(1234567890123)
    ('1e+15', '1234567890123.0')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        if float(value).is_integer():
            short = f"{value:.0f}" if abs(value) < 1e12 else f"{value:g}"
            return short if float(short) == value else repr(float(value))
        return repr(value)
    if isinstance(value, Mapping):
        inner = ", ".join([f"{key_text(k)} = {value_text(v)}" for k, v in value.items()])
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_text, value))}]"
    # A JSON string is a TOML string, except for the one character that only TOML forbids.
    return msgspec.json.encode(str(value)).decode().replace("\x7f", "\\u007f")


def table_text(name: str, values: Mapping[str, object]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield name
    for key, value in values.items():
        if value is not None:
            yield f"{key_text(key)} = {value_text(value)}"


def arrivals_text(
    players: int,
    queues: tuple[str, ...],
    drawn: Mapping[str, Distribution],
    *,
    own: Mapping[str, Mapping[str, Choice]] = MappingProxyType({}),
) -> str:
    """Return tables of simulated arrivals with attributes of given distributions.

    Args:
        players: Of the largest match.
        queues: Names of the queues.
        drawn: By attribute.
        own: By queue and attribute, what its tickets have in place of what is drawn.
    """
    count = max(TICKETS_LEAST, MATCHES * players) * len(queues)
    rate = RATE * len(queues)
    lines = ["# The players who arrive in evenmatch simulate; a server ignores this."]
    values: dict[str, object] = {"process": "poisson", "rate": rate, "count": count}
    lines += table_text("[arrivals]", values)
    if len(queues) > 1:
        for name in queues:
            kinds = _combined(own.get(name, {}), max(1, CLASSES_MAX // len(queues)))
            for each in kinds:
                values = {"share": 1.0 / len(queues) / len(kinds), "queues": [name]}
                values |= {"attributes": each} if each else {}
                lines += ["", *table_text("[[arrivals.classes]]", values)]
    if drawn:
        lines += ["", "[attributes]"]
        lines += [f"{key_text(key)} = {value_text(_drawn(each))}" for key, each in drawn.items()]
    return "\n".join(lines) + "\n"


def _combined(choices: Mapping[str, Choice], most: int) -> list[dict[str, object]]:
    """Return all combinations of values; where they are too many, as many values side by side."""
    lists = [each.values for each in choices.values()]
    if math.prod(len(values) for values in lists) <= most:
        return [dict(zip(choices, found, strict=True)) for found in itertools.product(*lists)]
    count = min(most, max(len(values) for values in lists))
    return [
        {name: values[number % len(values)] for name, values in zip(choices, lists, strict=True)}
        for number in range(count)
    ]


def _drawn(each: Distribution) -> dict[str, Any]:
    if isinstance(each, Uniform):
        return {"distribution": "uniform", "min": each.min, "max": each.max}
    if isinstance(each, Normal):
        bounds = {key: bound for key in ("min", "max") if (bound := getattr(each, key)) is not None}
        return {"distribution": "normal", "mean": each.mean, "deviation": each.deviation} | bounds
    assert isinstance(each, Choice)
    probs = {"probs": each.probs} if each.probs else {}
    return {"distribution": "choice", "values": each.values} | probs


def json_file(raw: Json) -> str:
    """Return JSON as a file has it: whole numbers without a point."""
    return msgspec.json.format(msgspec.json.encode(_whole(raw)), indent=2).decode() + "\n"


def _whole(raw: Json) -> Any:
    if isinstance(raw, dict):
        return {key: _whole(value) for key, value in raw.items()}
    if isinstance(raw, list):
        return [_whole(each) for each in raw]
    if isinstance(raw, float) and raw.is_integer() and abs(raw) < 2**53:
        return int(raw)
    return raw
