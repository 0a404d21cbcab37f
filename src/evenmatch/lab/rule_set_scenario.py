"""A scenario for a rule set: its queue, and players with suitable attributes.

Unless attributes are declared otherwise, their distributions follow from the rule set: a number
that it compares with fixed ones by `=` is one of these, others spread around the default as far as
its distances require; words are those that it names; latencies reach beyond its limit.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from evenmatch.config.files import bytes_of
from evenmatch.errors import ConfigError
from evenmatch.lab.drawn_bounds import DEVIATION_MAX, LATENCY_MS_MAX, spread_around
from evenmatch.lab.playfab_draws import drawn_by_queue
from evenmatch.model.fields import LARGEST, Fact
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Arrivals, Choice, Distribution, Normal, Scenario, Uniform
from evenmatch.model.ticket import LATENCY
from evenmatch.rules.flexmatch.compile import POLICY, CompiledRuleSet, compile_rule_set
from evenmatch.rules.flexmatch.expressions import Call, Constant, Expression, Property
from evenmatch.rules.flexmatch.reader import load_rule_set
from evenmatch.rules.flexmatch.renaming import with_ticket_names
from evenmatch.rules.flexmatch.rule_set import (
    BatchDistanceRule,
    CollectionRule,
    ComparisonRule,
    DistanceRule,
    LatencyRule,
    PlayerAttribute,
    RuleSet,
)
from evenmatch.rules.languages import load_queue
from evenmatch.rules.playfab.compile import compile_queue
from evenmatch.rules.playfab.reader import is_playfab_text

RATE = 1.0
"""Tickets per second."""
MATCHES = 30
"""Full matches for which players arrive."""
TICKETS_LEAST = 200
"""Tickets that arrive at least, however small a match is."""
SPREAD = 2.0
"""Standard deviation of a number, in distances that the rules allow."""
LOCATIONS = ("eu", "us", "asia")
WORDS = ("first", "second", "third")
WORDS_MAX = 12
RANKS = 5.0
"""Values of a number that all players of a match share, if the rule set names none."""


class RuledScenario(NamedTuple):
    """A scenario for a rule set, and sentences about the choices made for it."""

    scenario: Scenario
    notes: tuple[str, ...]


def scenario_of_rules(path: str | Path, base: Scenario | None = None) -> RuledScenario:
    """Return a scenario whose queue plays by the rules of a file.

    Args:
        path: A FlexMatch rule set or a PlayFab queue, in JSON.
        base: The scenario to play by the rules; None: players arrive in a Poisson process, with
            attributes drawn as the rule set declares them.

    Raises:
        ConfigError: The file cannot be read, has errors, or the scenario has several queues.
    """
    try:
        compiled, drawn = _read(bytes_of(path))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    if base is not None and len(base.queues) > 1:
        raise ConfigError("--rules takes a scenario with one queue; write rules_file in the others")
    queue = Queue(on_deadline="keep") if base is None else base.queues[0]
    ruled = msgspec.structs.replace(compiled.queue(queue), policy=POLICY)
    notes = [f"criterion from {source}" for source in compiled.sources]
    if base is not None:
        return RuledScenario(msgspec.structs.replace(base, queues=(ruled,)), tuple(notes))
    count = max(TICKETS_LEAST, MATCHES * ruled.format.k)
    arrivals = Arrivals(rate=RATE, count=count, attributes=drawn)
    notes.append(f"{count:,} tickets of one player come at {RATE:g} a second")
    notes += [f"{name} is drawn {_words(each)}" for name, each in drawn.items()]
    return RuledScenario(Scenario(queues=(ruled,), arrivals=arrivals), tuple(notes))


def _read(text: bytes) -> tuple[CompiledRuleSet, dict[str, Distribution]]:
    """Return the compiled text of rules, and the distributions of attributes that it compares."""
    if is_playfab_text(text):
        queue = load_queue(text)
        return compile_queue(queue), drawn_by_queue(queue)
    rule_set = load_rule_set(text)
    return compile_rule_set(rule_set), drawn_by(rule_set)


def drawn_by(rule_set: RuleSet) -> dict[str, Distribution]:
    """Return the distributions of the attributes that a rule set compares."""
    rule_set = with_ticket_names(rule_set)
    drawn: dict[str, Distribution] = {}
    for attribute in rule_set.attributes:
        if attribute.type == "string_number_map":
            keys = tuple(attribute.default) if isinstance(attribute.default, dict) else ()
            for key in dict.fromkeys((*keys, *WORDS)):
                drawn[f"{attribute.name}.{key}"] = Uniform(min=0.0, max=100.0)
        else:
            drawn[attribute.name] = _drawn(attribute, rule_set)
    limits = [r.latency_ms_max for r in rule_set.rules if isinstance(r, LatencyRule)]
    if limits:
        most = 1.5 * min([each for each in limits if each is not None], default=100.0)
        most = min(most, LATENCY_MS_MAX)
        for place in LOCATIONS:
            drawn[f"{LATENCY}.{place}"] = Uniform(min=10.0, max=max(20.0, most))
    return drawn


def _drawn(attribute: PlayerAttribute, rule_set: RuleSet) -> Distribution:
    fixed = _fixed_values(attribute, rule_set)
    if attribute.type == "number":
        numbers = [each for each in fixed if isinstance(each, float) and abs(each) <= LARGEST]
        return _number(attribute, rule_set, numbers)
    words = [each for each in fixed if isinstance(each, str)]
    if _names_players(attribute.name, rule_set):
        return Choice(values=((),))  # the ids of future players are unknown
    if len(words) < len(WORDS):
        words += [each for each in WORDS if each not in words]
    words = words[:WORDS_MAX]
    if attribute.type == "string":
        return Choice(values=tuple(words))
    pairs: list[Fact] = [(one,) for one in words]
    pairs += [(a, b) for at, a in enumerate(words) for b in words[at + 1 :]]
    return Choice(values=tuple(pairs))


def _number(attribute: PlayerAttribute, rule_set: RuleSet, fixed: list[float]) -> Distribution:
    if fixed:
        return Choice(values=tuple(sorted(set(fixed))))
    default = attribute.default if isinstance(attribute.default, int | float) else None
    distances = [
        rule.distance_max
        for rule in rule_set.rules
        if isinstance(rule, DistanceRule | BatchDistanceRule)
        and attribute.name in _compared_by(rule)
        and rule.distance_max is not None
    ]
    if not distances and _is_shared(attribute.name, rule_set):
        return Choice(values=tuple([float(rank) for rank in range(1, int(RANKS) + 1)]))
    deviation = min(SPREAD * max(distances, default=RANKS), DEVIATION_MAX)
    mean = max(default or 0.0, 3.0 * deviation)
    return spread_around(mean, max(deviation, 1e-3))


def _is_shared(name: str, rule_set: RuleSet) -> bool:
    """Return whether players of a match must share a number, or must all differ in it."""
    return any(
        isinstance(rule, ComparisonRule) and rule.reference is None and name in _compared_by(rule)
        for rule in rule_set.rules
    )


def _fixed_values(attribute: PlayerAttribute, rule_set: RuleSet) -> list[Fact]:
    """Return the values with which rules compare an attribute for equality, and its default."""
    found: list[Fact] = []
    for rule in rule_set.rules:
        is_equal = isinstance(rule, ComparisonRule) and rule.operation in ("=", "!=")
        if not (is_equal or isinstance(rule, CollectionRule)):
            continue
        assert isinstance(rule, ComparisonRule | CollectionRule)
        if attribute.name in _compared_by(rule) and isinstance(rule.reference, Constant):
            value = rule.reference.value
            found += value if isinstance(value, tuple) else [value]
    default = attribute.default
    if found or attribute.type != "number":
        if isinstance(default, tuple):
            found += default
        elif isinstance(default, str | float | int):
            found.append(default)
    return [*dict.fromkeys([float(e) if isinstance(e, int) else e for e in found])]


def _compared_by(
    rule: ComparisonRule | DistanceRule | BatchDistanceRule | CollectionRule,
) -> set[str]:
    if isinstance(rule, BatchDistanceRule):
        return {rule.attribute}
    given = (*rule.measurements, *([] if rule.reference is None else [rule.reference]))
    return {each.attribute for expression in given for each in _properties(expression)}


def _names_players(name: str, rule_set: RuleSet) -> bool:
    """Return whether an attribute is compared with the ids of players."""
    for rule in rule_set.rules:
        if isinstance(rule, CollectionRule) and name in _compared_by(rule):
            given = (*rule.measurements, *([] if rule.reference is None else [rule.reference]))
            if any(p.what == "player_ids" for each in given for p in _properties(each)):
                return True
    return False


def _properties(expression: Expression) -> list[Property]:
    while isinstance(expression, Call):
        expression = expression.argument
    return [expression] if isinstance(expression, Property) else []


def _words(distribution: Distribution) -> str:
    if isinstance(distribution, Uniform):
        return f"uniformly from {distribution.min:g} to {distribution.max:g}"
    if isinstance(distribution, Normal):
        mean, deviation = distribution.mean, distribution.deviation
        return f"normally around {mean:g} with deviation {deviation:g}, from 0 on"
    assert isinstance(distribution, Choice)
    values = [
        f"{each:g}" if isinstance(each, float) else _text(each) for each in distribution.values
    ]
    shown = ", ".join(values[:6]) + (f" and {len(values) - 6} more" if len(values) > 6 else "")
    return f"from {shown}"


def _text(value: Fact) -> str:
    return "+".join(map(str, value)) or "nobody" if isinstance(value, tuple) else str(value)
