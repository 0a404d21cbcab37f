"""The words of explanations: numbers, lists and rules in the words of a help desk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenmatch.criteria.base import Comparison
from evenmatch.criteria.registry import KINDS
from evenmatch.model.explanation import Tolerance
from evenmatch.model.queue import Rule


def seconds(duration: float) -> str:
    """Return a duration in words.

    >>> seconds(0.081), seconds(5.0), seconds(75.2), seconds(4000), seconds(90_000)
    ('0.1 s', '5 s', '75 s', '67 min', '25 h')
    """
    if duration < 9.95:
        return f"{round(max(0.0, duration), 1):g} s"
    if duration < 600.0:
        return f"{duration:.0f} s"
    return f"{duration / 60.0:.0f} min" if duration < 7200.0 else f"{duration / 3600.0:.0f} h"


def count(number: int, noun: str) -> str:
    """Return a number of things.

    >>> count(1, "player"), count(1200, "player")
    ('1 player', '1,200 players')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def list_in_words(words: Sequence[str], last: str = "and") -> str:
    """Return words as a list in a sentence.

    >>> list_in_words(["a", "b", "c"], "or")
    'a, b or c'
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def rule_name(rule: Rule | Tolerance) -> str:
    """Return what a rule is about."""
    return kind_named(rule).limit_name(rule.attribute, _kind(rule))


def kind_named(rule: Rule | Tolerance) -> type[Comparison]:
    """Return the kind of a rule, or the base of all kinds if it is unknown here."""
    return KINDS.get(_kind(rule), Comparison)


def _kind(rule: Rule | Tolerance) -> str:
    return rule.kind if isinstance(rule, Rule) else rule.rule


def the_rule(rule: Rule | Tolerance) -> str:
    """Return what a rule is about, for readers who know of the rule."""
    name = rule_name(rule)
    return f"the {name[2:]}" if name.startswith("a ") else name


def size_choices(sizes: Sequence[int]) -> str:
    """Return a phrase for parties of these sizes, any one of which would do.

    >>> size_choices([1, 4]), size_choices([1, 2, 3])
    ('a solo or a party of 4', 'a party of at most 3')
    """
    if len(sizes) > 2 and list(sizes) == list(range(1, len(sizes) + 1)):
        return f"a party of at most {len(sizes)}"
    return list_in_words(["a solo" if size == 1 else f"a party of {size}" for size in sizes], "or")


def of_roles(missing: Mapping[str, int]) -> str:
    """Return missing players by role.

    >>> of_roles({"tank": 2, "damage": 1})
    '1 player of role damage and 2 players of role tank'
    """
    return list_in_words(
        [f"{count(number, 'player')} of role {role}" for role, number in _sorted(missing)]
    )


def at_least(missing: Mapping[str, int]) -> str:
    """Return a phrase for the known roles of missing players, of whom there are more.

    >>> at_least({"tank": 2, "damage": 1}), at_least({})
    (', at least 1 of them of role damage and 2 of role tank', '')
    """
    first, *more = [f"{number} of role {role}" for role, number in _sorted(missing)] or [""]
    return (
        f", at least {list_in_words([first.replace(' of', ' of them of', 1), *more])}"
        if first
        else ""
    )


def _sorted(missing: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(missing.items())


def sentence(text: str) -> str:
    """Return a clause as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def limit_text(rule: Rule | Tolerance, limit: float) -> str:
    """Return a limit with its unit."""
    if rule.unit in ("relative", "percentile"):
        return f"{100.0 * limit:.3g} %"
    text = f"{limit:,.0f}" if limit >= 100.0 else f"{limit:.3g}"
    unit = kind_named(rule).unit
    return f"{text} {unit}" if unit else text
