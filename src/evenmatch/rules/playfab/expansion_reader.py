"""Expansions of PlayFab rules, as steps by age.

A linear expansion moves a number by `Delta` after each interval, up to `Limit`. A custom one lists
a value for each interval, the first of them from second 0 on; `null` means that the rule is not
active then, and the last value stays. Both forms are accepted everywhere: `Expansion` with or
without a `Type`, and `LinearExpansion` or `CustomExpansion`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from evenmatch.model.fields import LARGEST
from evenmatch.rules.fields import Fields, number_of
from evenmatch.rules.findings import child_path, excerpt
from evenmatch.rules.json_text import Json
from evenmatch.rules.playfab.queue import Expanded, Steps

INTERVAL_MAX = 86_400.0
EXPANSIONS_MAX = 720
"""Most intervals of one rule: an hour of five seconds each."""


class Expandable(NamedTuple):
    """A number of a rule that an expansion changes.

    Args:
        key: The key of the rule with the number.
        overrides: The key of a custom expansion that lists it.
        base: Its value without an expansion.
        is_falling: Whether a lower number allows more.
        is_whole: Whether it is a count.
        is_switch: Whether it is true or false.
    """

    key: str
    overrides: str
    base: float
    is_falling: bool = False
    is_whole: bool = False
    is_switch: bool = False


class ExpansionSteps(NamedTuple):
    """The steps of each number, and where they come from.

    Args:
        steps: For each number that can be expanded.
        kind: The kind of the expansion; "" if there is none.
        is_cut: Whether it would continue beyond the last step.
    """

    steps: tuple[Steps, ...]
    kind: Expanded = ""
    is_cut: bool = False


def read_expansion(
    rule: Fields, numbers: tuple[Expandable, ...], until: float | None, *, is_linear: bool = True
) -> ExpansionSteps:
    """Return the steps of the numbers of a rule.

    Args:
        rule: The rule.
        numbers: The numbers that may be expanded.
        until: Age from which on the rule is optional, so that later steps do not count.
        is_linear: Whether PlayFab has a linear expansion for this type of rule.
    """
    fixed = ExpansionSteps(tuple([((0.0, each.base),) for each in numbers]))
    found = _given(rule)
    if found is None:
        return fixed
    fields, kind = found
    if kind == "linear" and (not is_linear or len(numbers) != 1):
        message = "is linear, which PlayFab has not for this type of rule; list overrides instead"
        fields.findings.error(fields.path, message)
        return fixed
    interval = fields.whole("SecondsBetweenExpansions", 1, int(INTERVAL_MAX))
    if kind == "linear":
        expansion = _linear(fields, numbers[0], float(interval), until)
    else:
        expansion = _custom(fields, numbers, float(interval), until)
    fields.end(f"a {kind} expansion")
    return expansion


def refuse_expansion(rule: Fields) -> None:
    """Report an expansion of a rule for which PlayFab has none."""
    found = _given(rule)
    if found is not None:
        message = "is ignored: this type of rule has no expansion, only SecondsUntilOptional"
        found[0].findings.warning(found[0].path, message)


def _given(rule: Fields) -> tuple[Fields, Expanded] | None:
    """Return the one expansion of a rule and its kind; empty ones do not count."""
    found: list[tuple[Fields, Expanded]] = []
    for key in ("Expansion", "LinearExpansion", "CustomExpansion"):
        raw = rule.raw(key)
        if raw is None or raw == {}:
            continue
        if not isinstance(raw, dict):
            rule.findings.error(rule.at(key), f"must be an object, got {excerpt(raw)}")
            continue
        fields = Fields(raw, rule.at(key), rule.findings)
        lists = any(name.endswith("Overrides") for name in raw)
        if key == "LinearExpansion":
            found.append((fields, "linear"))
        elif key == "CustomExpansion":
            found.append((fields, "custom"))
        else:
            word = fields.word("Type", ("Linear", "Custom"), "Custom" if lists else "Linear")
            found.append((fields, "custom" if word == "Custom" else "linear"))
        fields.raw("Type")
    if len(found) > 1:
        message = f"is a second expansion beside {found[0][0].path}; a rule has one, delete one"
        rule.findings.error(found[1][0].path, message)
    return found[0] if found else None


# Linear


def _linear(
    fields: Fields, number: Expandable, interval: float, until: float | None
) -> ExpansionSteps:
    findings = fields.findings
    delta = fields.number("Delta", is_needed=True) or 0.0
    limit = fields.number("Limit")
    if abs(delta) > LARGEST:
        message = f"must be a number from -1e15 to 1e15, got {excerpt(fields.raw('Delta'))}"
        findings.error(fields.at("Delta"), message)
        return ExpansionSteps((((0.0, number.base),),), "linear")
    if delta < 0 and not number.is_falling:
        message = f"must be above 0, since {number.key} widens as it grows, got {delta:g}"
        findings.error(fields.at("Delta"), message)
        return ExpansionSteps((((0.0, number.base),),), "linear")
    if number.is_falling and delta > 0:
        # PlayFab's reference says that Delta is added, its guide that rules allow more with time.
        message = (
            f"is taken off {number.key} at each expansion, so that the rule allows more with time; "
            "PlayFab's reference speaks of adding it, which would allow less"
        )
        findings.warning(fields.at("Delta"), message)
    step = -abs(delta) if number.is_falling else delta
    end = limit if limit is not None else 0.0 if number.is_falling else None
    if not step or (end is not None and (end - number.base) * step <= 0):
        message = f"never applies: {number.key} = {number.base:g} is beyond its end already"
        findings.warning(fields.path, f"{message}; mend Delta or Limit, or leave it out")
        return ExpansionSteps((((0.0, number.base),),), "linear")
    return _walk(fields, number, _LinearSteps(step, end, interval, until))


class _LinearSteps(NamedTuple):
    """The amount of a number's steps, their limit, number and interval."""

    step: float
    end: float | None
    interval: float
    until: float | None


def _walk(fields: Fields, number: Expandable, walk: _LinearSteps) -> ExpansionSteps:
    base, step = Fraction(repr(number.base)), Fraction(repr(walk.step))
    steps: list[tuple[float, float | None]] = [(0.0, number.base)]
    for count in range(1, EXPANSIONS_MAX + 1):
        age = count * walk.interval
        if walk.until is not None and age >= walk.until:
            return ExpansionSteps((tuple(steps),), "linear")
        value = float(base + count * step)
        if walk.end is not None and (value - walk.end) * walk.step >= 0:
            steps.append((age, walk.end))
            return ExpansionSteps((tuple(steps),), "linear")
        steps.append((age, value))
    kept = f"{EXPANSIONS_MAX} intervals, {EXPANSIONS_MAX * walk.interval:,.0f} s"
    message = f"goes on for longer than {kept}; from then on the value stays, give it a Limit"
    fields.findings.warning(fields.path, message)
    return ExpansionSteps((tuple(steps),), "linear", is_cut=True)


# Custom


def _custom(
    fields: Fields, numbers: tuple[Expandable, ...], interval: float, until: float | None
) -> ExpansionSteps:
    lists = [_overrides(fields, number) for number in numbers]
    if not any(lists):
        keys = " or ".join(number.overrides for number in numbers)
        fields.findings.error(fields.path, f"lists nothing; give it {keys}")
        return ExpansionSteps(tuple([((0.0, each.base),) for each in numbers]), "custom")
    if len(numbers) > 1 and all(lists):
        _compare(fields, numbers, lists)
    is_cut = any(len(each) > EXPANSIONS_MAX for each in lists)
    if is_cut:
        message = f"lists more than {EXPANSIONS_MAX} values; those beyond are ignored"
        fields.findings.warning(fields.path, message)
    steps = []
    for number, values in zip(numbers, lists, strict=True):
        own: list[tuple[float, float | None]] = [(0.0, number.base)]
        for count, value in enumerate(values[:EXPANSIONS_MAX]):
            age = count * interval
            if until is not None and age >= until and count:
                break
            if not count:
                own = [(0.0, value)]
            elif value != own[-1][1]:
                own.append((age, value))
        steps.append(tuple(own))
    return ExpansionSteps(tuple(steps), "custom", is_cut)


def _compare(
    fields: Fields, numbers: tuple[Expandable, ...], lists: list[list[float | None]]
) -> None:
    """Warn if one list of two has `null` and the other has not."""
    one, two = lists
    if any((a is None) != (b is None) for a, b in zip(one, two, strict=False)):
        both = " and ".join(number.overrides for number in numbers)
        message = f"is null at one place in {both}, not in both: the rule is not active then"
        fields.findings.warning(fields.path, message)


def _overrides(fields: Fields, number: Expandable) -> list[float | None]:
    """Return the values of a list; none if the list is missing."""
    raw = fields.raw(number.overrides)
    path = fields.at(number.overrides)
    if raw is None:
        return []
    if isinstance(raw, str):
        message = "is a text of values between semicolons; write a list of numbers and null"
        fields.findings.warning(path, message)
        raw = [_word(part.strip()) for part in raw.split(";")]
    if not isinstance(raw, list):
        fields.findings.error(path, f"must be a list of values and null, got {excerpt(raw)}")
        return []
    if not raw:
        fields.findings.warning(path, "is empty, and the rule's own value stays")
    return [_override(each, child_path(path, at), number, fields) for at, each in enumerate(raw)]


def _word(text: str) -> Json:
    return {"null": None, "": None, "true": True, "false": False}.get(text.lower(), text)


def _override(raw: Json, path: str, number: Expandable, fields: Fields) -> float | None:
    """Return one value, which may be in an object of its own; None for `null`."""
    value = raw.get("Value") if isinstance(raw, dict) else raw
    if value is None:
        return None
    if number.is_switch:
        if isinstance(value, bool):
            return 1.0 if value else None
        fields.findings.error(path, f"must be true, false or null, got {excerpt(raw)}")
        return None
    found = number_of(value)
    if found is None or (found < 0 and number.key not in ("Min", "Max")):
        fields.findings.error(path, f"must be a number of at least 0 or null, got {excerpt(raw)}")
        return None
    if number.is_whole and not found.is_integer():
        fields.findings.error(path, f"must be a whole number or null, got {excerpt(raw)}")
    return found
