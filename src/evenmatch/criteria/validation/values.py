"""The bounds of a queue's values, and the sentences that refuse what is outside.

Every number has bounds. They lie far beyond any game, and they keep the arithmetic finite: a cost
of inf or NaN could be computed, but the journal could not give it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import msgspec

from evenmatch.criteria.base import Fault, Limit
from evenmatch.criteria.kinds.latency import MS_MAX, MS_MIN
from evenmatch.criteria.registry import KINDS, kind_of, pairs_of
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Format, Rule, Scale


class Bounds(msgspec.Struct, frozen=True, gc=False):
    """The range of a number, wide enough for any use and narrow enough to calculate with.

    Args:
        low: The least number.
        high: The greatest one.
        words: What a sentence says of them; by default the two numbers and the unit.
        unit: Of the numbers.
    """

    low: float
    high: float
    words: str = ""
    unit: str = ""

    @property
    def text(self) -> str:
        """How a sentence says it."""
        unit = f" {self.unit}" if self.unit else ""
        return self.words or f"between {self.low:g} and {self.high:g}{unit}"

    def hold(self, value: object) -> bool:
        """Return whether the value is a number of the range; NaN never is."""
        is_number = isinstance(value, float | int) and not isinstance(value, bool)
        return is_number and self.low <= value <= self.high  # type: ignore[operator]


SECONDS = Bounds(1e-6, 1e9, "between 1e-6 and 1e9 s")
ROUNDS = Bounds(0.05, 1e9, "between 0.05 and 1e9 s")
"""Between two rounds: where they follow each other faster than they can be decided upon, a server
that catches up with them does nothing else, for ever."""
PERIODS = Bounds(1.0, 1e9, "between 1 and 1e9 s")
WAITS = Bounds(0.0, 1e9, "between 0 and 1e9 s")
WEIGHTS = Bounds(0.0, 1e12, "between 0 and 1e12")
PRICES = Bounds(0.0, 1e12, "between 0 and 1e12 per player-second")
RATES = Bounds(1e-9, 1e15, "between 1e-9 and 1e15 per second")
LIMITS = Bounds(0.0, 1e15, "between 0 and 1e15")
VALUES = Bounds(-1e15, 1e15, "between -1e15 and 1e15")
GAPS = Bounds(1e-9, 1e15, "between 1e-9 and 1e15")
SHARES = Bounds(0.0, 1.0, "between 0 and 1")
FACTORS = Bounds(1e-6, 1e6, "between 1e-6 and 1e6")
POWERS = Bounds(0.0, 100.0, "between 0 and 100")


def check_number(value: object, bounds: Bounds, at: str) -> None:
    """Refuse a number outside its bounds."""
    if not bounds.hold(value):
        refuse_value(at, bounds.text, value)


def check_word(value: object, allowed: Sequence[str], at: str) -> None:
    """Refuse a word that is not allowed."""
    if value not in allowed:
        refuse_value(at, f"one of {', '.join(allowed)}", value)


def check_count(given: Sequence[object], most: int, at: str) -> None:
    """Refuse a list of too many entries."""
    if len(given) > most:
        refuse(at, f"must be given at most {most} times, got {len(given):,}")


def check_names(names: tuple[str, ...], most: int, at: str) -> None:
    """Refuse names that are empty, too long, or given twice."""
    for index, name in enumerate(names):
        check_name(name, most, f"{at}[{index}]")
        if name in names[:index]:
            refuse(f"{at}[{index}]", f'repeats "{name}"; names must be different')


def check_name(name: object, most: int, at: str) -> None:
    """Refuse a name that is empty or too long."""
    if not 1 <= len(word(name)) <= most:
        refuse_value(at, f"a name of 1 to {most} characters", name)


def word(value: object) -> str:
    """Return a text; anything else is as good as an empty one."""
    return value if isinstance(value, str) else ""


def is_whole(value: object, low: int, high: int) -> bool:
    """Return whether a value is a whole number from `low` to `high`."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def refuse_fault(fault: Fault, at: str) -> None:
    """Refuse what has a fault."""
    if fault is not None:
        refuse(f"{at}{fault[0]}", fault[1])


def refuse(at: str, sentence: str) -> NoReturn:
    """Refuse a key in words."""
    raise ConfigError(f"{at} {sentence}")


def refuse_value(at: str, allowed: str, value: object) -> NoReturn:
    """Refuse a value, and say what is allowed."""
    refuse(at, f"must be {allowed}, got {show(value)}")


def show(value: object) -> str:
    """Return a value as a sentence shows it."""
    return f'"{text(value, 40)}"' if isinstance(value, str) else text(value, 40)


def text(value: object, most: int) -> str:
    """Return a value on one line, cut to a readable length."""
    text = str(value)
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= most else f"{text[: most - 3]}..."


# What kinds of criteria and rules must be like, as each declares it.

WITHIN_MIN, WITHIN_MAX = 1.0, 604_800.0
"""Seconds for which a meeting may count: at most a week."""


def fault_of_pairs(each: Criterion | Rule, form: Format) -> Fault:
    """Return what is wrong with the pairs that a criterion or a rule looks at."""
    allowed = kind_of(each).pairs_allowed
    if not allowed:
        if each.pairs is not None:
            kinds = [kind for kind, other in KINDS.items() if other.pairs_allowed]
            named = " or ".join(f'"{kind}"' for kind in kinds)
            return "pairs", f"goes only with kind = {named}"
        return None
    pairs = pairs_of(each)
    if pairs not in allowed:
        return "pairs", f"must be one of {', '.join(allowed)}, got {pairs!s:.40}"
    if pairs == "enemies" and len(form.players) < 2:
        return "pairs", '= "enemies" compares teams, and this queue has one'
    if pairs == "teammates" and max(form.players) < 2:
        return "pairs", '= "teammates" compares players of one team, and here each plays alone'
    return None


def fault_of_criterion(criterion: Criterion) -> Fault:
    """Return what is wrong with a criterion beside its pairs, attribute and weight."""
    keys = kind_of(criterion).criterion_keys
    assert keys is not None
    if "scale" not in keys.names and criterion.scale != Scale():
        return "scale", f'does not go with kind = "{criterion.kind}", which is in [0, 1] by itself'
    for key, ms in (("best", criterion.best), ("worst", criterion.worst)):
        if not _is_number(ms) or not MS_MIN <= ms <= MS_MAX:
            return key, f"must be between {MS_MIN:g} and {MS_MAX:g} ms, got {ms!s:.40}"
    if criterion.worst < criterion.best * (1.0 + 1e-9):
        return "worst", f"must be above best = {criterion.best:g} ms, got {criterion.worst:g}"
    return None


def fault_of_rule(rule: Rule) -> Fault:
    """Return what is wrong with a rule of a kind that compares no numbers."""
    if rule.unit != "difference":
        return "unit", f'does not go with kind = "{rule.kind}"'
    if not _is_number(rule.within) or not WITHIN_MIN <= rule.within <= WITHIN_MAX:
        return "within", f"must be between 1 and {WITHIN_MAX:g} s, got {rule.within!s:.40}"
    return fault_of_limit(rule)


def fault_of_limit(rule: Rule) -> Fault:
    """Return what is wrong with the limit of a rule, by its kind."""
    limit = kind_of(rule).limit or Limit("")
    if limit.is_count:
        if not 1.0 <= rule.limit <= limit.most or rule.limit % 1.0:
            return "limit", f"must be a whole number from 1 to {limit.most:g}, got {rule.limit:g}"
    elif rule.limit > limit.most:
        allowed = f'between 0 and {limit.most:g} with kind = "{rule.kind}"'
        return "limit", f"must be {allowed}, got {rule.limit:g}"
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)
