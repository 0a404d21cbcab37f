"""What a queue must be like to work, whoever made it: a TOML file, a journal or a program.

Each refusal is one sentence that names the key as a TOML file spells it:
`queue "duel", rules[0].limit must be between 0 and 1e15, got -1.0`.

Every number has bounds. They lie far beyond any game, and they keep the arithmetic finite: a cost
of inf or NaN could be computed, but the journal could not give it back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NoReturn, get_args

import msgspec

from evenmatch.cost.percentile import QUANTILES_MAX, samples_of
from evenmatch.cost.valid_format import fault_of_format
from evenmatch.cost.valid_kinds import (
    NAMELESS,
    Fault,
    fault_of_criterion,
    fault_of_kind,
    fault_of_pairs,
    fault_of_rule,
)
from evenmatch.cost.valid_running import fault_of_running
from evenmatch.errors import ConfigError
from evenmatch.model.queue import (
    NUMERIC,
    Accept,
    Criterion,
    CriterionKind,
    Expansion,
    Format,
    Handicap,
    OnDeadline,
    Queue,
    Rule,
    RuleKind,
    Sample,
    Scale,
    ScaleKind,
    Unit,
)
from evenmatch.model.switchback import Switchback

NAME_PATTERN = re.compile(r"[A-Za-z0-9_.-]{1,64}")
ARMS_MAX = 10
TRIM_MAX = 0.9
CRITERIA_MAX = 16
RULES_MAX = 16
ATTRIBUTES_MAX = 64
STEPS_MAX = 100
LAST_MAX = 10_000
"""Values of accepted tickets that percentiles may be taken among."""
COOLDOWNS_MAX = 20
"""Rungs of a ladder of cooldowns."""
MATCHES_MAX = 20
"""Matches that players remember; engines keep no more than `engine.meetings.OTHERS_MOST` people."""
POLICY_LENGTH_MAX = 500
RANGE_MIN = 1e-9
"""The least difference between `max` and `min` of a scale."""


class Bounds(msgspec.Struct, frozen=True):
    """The range of a number, and how to say it."""

    low: float
    high: float
    text: str

    def hold(self, value: object) -> bool:
        """Return whether the value is a number of the range; NaN never is."""
        is_number = isinstance(value, float | int) and not isinstance(value, bool)
        return is_number and self.low <= value <= self.high  # type: ignore[operator]


SECONDS = Bounds(1e-6, 1e9, "between 1e-6 and 1e9 s")
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


def check_queue(queue: Queue) -> None:
    """Refuse a queue that cannot work as it stands.

    What needs the policy itself (does its SPEC make sense, can it play the format) is asked of
    the policy; what compares queues (equal names) is asked where all of them are known.

    Raises:
        ConfigError: The sentence names the queue, the key, what is allowed and what was given.

    >>> check_queue(Queue(wait_max=60.0))
    """
    at = f'queue "{_text(queue.name, 64)}", '
    _check_texts(queue, at)
    _check_format(queue.format, at)
    _check_times(queue, at)
    _refuse_fault(fault_of_running(queue), at)
    _check_count(queue.criteria, CRITERIA_MAX, f"{at}criteria")
    _check_count(queue.rules, RULES_MAX, f"{at}rules")
    for index, criterion in enumerate(queue.criteria):
        _check_criterion(criterion, queue.format, f"{at}criteria[{index}].")
    if queue.handicap is not None:
        _check_handicap(queue.handicap, queue.format, f"{at}handicap.")
    wait_end = None if queue.on_deadline == "keep" else queue.wait_max
    for index, rule in enumerate(queue.rules):
        _check_rule(rule, queue.format, wait_end, f"{at}rules[{index}].")
    if queue.switchback is not None:
        _check_switchback(queue.switchback, f"{at}switchback.")
    samples_of(queue)


def _check_switchback(switchback: Switchback, at: str) -> None:
    if not 2 <= len(switchback.policies) <= ARMS_MAX:
        given = f"{len(switchback.policies)} of them"
        _refuse_value(f"{at}policies", f"2 to {ARMS_MAX} SPECs", given)
    _check_number(switchback.block, SECONDS, f"{at}block")
    if not 0.0 <= switchback.trim <= TRIM_MAX:
        _refuse_value(f"{at}trim", f"between 0 and {TRIM_MAX}", switchback.trim)


def _check_texts(queue: Queue, at: str) -> None:
    """Refuse names that cannot be written in URLs and CSV cells, and empty ones."""
    for key, name in (("name", queue.name), ("group", queue.group)):
        if not NAME_PATTERN.fullmatch(_word(name)):
            _refuse_value(f"{at}{key}", "1 to 64 letters, digits, `_`, `-` or `.`", name)
    if not 1 <= len(_word(queue.policy).strip()) <= POLICY_LENGTH_MAX:
        allowed = f'a SPEC of 1 to {POLICY_LENGTH_MAX} characters such as "greedy"'
        _refuse_value(f"{at}policy", allowed, queue.policy)
    if len(queue.attributes) > ATTRIBUTES_MAX:
        _refuse(
            f"{at}attributes",
            f"must have at most {ATTRIBUTES_MAX} entries, got {len(queue.attributes):,}",
        )
    _check_names(queue.attributes, 100, f"{at}attributes")
    if queue.ladder and not NAME_PATTERN.fullmatch(_word(queue.ladder)):
        _refuse_value(f"{at}ladder", "1 to 64 letters, digits, `_`, `-` or `.`", queue.ladder)
    if queue.rating is not None and not 1 <= len(_word(queue.rating).strip()) <= POLICY_LENGTH_MAX:
        allowed = f'a SPEC of 1 to {POLICY_LENGTH_MAX} characters such as "glicko2"'
        _refuse_value(f"{at}rating", allowed, queue.rating)


def _check_times(queue: Queue, at: str) -> None:
    _check_word(queue.on_deadline, get_args(OnDeadline), f"{at}on_deadline")
    if queue.wait_max is not None:
        _check_number(queue.wait_max, SECONDS, f"{at}wait_max")
    elif queue.on_deadline == "bots":
        _refuse(f"{at}on_deadline", '= "bots" needs wait_max, the instant at which bots come in')
    if queue.wait_price is not None:
        _check_number(queue.wait_price, PRICES, f"{at}wait_price")
    _check_number(queue.match_max, SECONDS, f"{at}match_max")
    if queue.rating_period is not None:
        _check_number(queue.rating_period, PERIODS, f"{at}rating_period")
        if queue.rating is None:
            _refuse(f"{at}rating_period", "needs rating, the system by which outcomes are rated")
    if queue.silent_after is not None:
        _check_number(queue.silent_after, SECONDS, f"{at}silent_after")
    if queue.accept is not None:
        _check_accept(queue.accept, f"{at}accept.")


def _check_accept(accept: Accept, at: str) -> None:
    _check_number(accept.seconds, SECONDS, f"{at}seconds")
    _check_number(accept.loss_max, SHARES, f"{at}loss_max")
    for index, seconds in enumerate(accept.cooldowns):
        _check_number(seconds, WAITS, f"{at}cooldowns[{index}]")
    if len(accept.cooldowns) > COOLDOWNS_MAX:
        _refuse(f"{at}cooldowns", f"must have at most {COOLDOWNS_MAX} entries")
    _check_number(accept.repair, WAITS, f"{at}repair")
    _check_number(accept.again, WAITS, f"{at}again")
    if accept.long_wait is not None:
        _check_number(accept.long_wait, WAITS, f"{at}long_wait")
    if accept.long_seconds is not None:
        _check_number(accept.long_seconds, SECONDS, f"{at}long_seconds")
        if accept.long_wait is None:
            _refuse(f"{at}long_seconds", "needs long_wait, the wait after which it counts")


def _check_handicap(handicap: Handicap, form: Format, at: str) -> None:
    """Refuse a handicap that gives nothing to anybody."""
    if len(form.players) < 2:
        _refuse(at.rstrip("."), "compares teams, and this queue has one")
    _check_number(handicap.factor, GAPS, f"{at}factor")
    if handicap.max is not None:
        _check_number(handicap.max, GAPS, f"{at}max")
    if handicap.step != 0.0:
        _check_number(handicap.step, GAPS, f"{at}step")
    if handicap.max is not None and handicap.step > handicap.max:
        _refuse_value(f"{at}step", f"at most max = {handicap.max:g}", handicap.step)
    _check_name(handicap.attribute, 100, f"{at}attribute")


def _check_format(form: Format, at: str) -> None:
    """Refuse seats, sides, party sizes and roles that no match can have."""
    _refuse_fault(fault_of_format(form), at)
    _check_names(form.sides, 64, f"{at}sides")
    _check_names(tuple([name for name, _ in form.roles]), 64, f"{at}roles")


def _check_criterion(criterion: Criterion, form: Format, at: str) -> None:
    _check_word(criterion.kind, get_args(CriterionKind), f"{at}kind")
    _check_compared(criterion, form, at)
    if criterion.weight is not None:
        _check_number(criterion.weight, WEIGHTS, f"{at}weight")
    if criterion.step != 0.0:
        _check_number(criterion.step, GAPS, f"{at}step")
    _refuse_fault(fault_of_criterion(criterion), at)
    _check_scale(criterion.scale, f"{at}scale.")


def _check_compared(each: Criterion | Rule, form: Format, at: str) -> None:
    """Refuse what a criterion or a rule cannot compare."""
    if each.kind not in NAMELESS or each.attribute:
        _check_name(each.attribute, 100, f"{at}attribute")
    _refuse_fault(fault_of_kind(each, form) or fault_of_pairs(each, form), at)
    _check_word(each.measure, ("mean", "sum"), f"{at}measure")
    if not _is_whole(each.matches, 1, MATCHES_MAX):
        _refuse_value(f"{at}matches", f"between 1 and {MATCHES_MAX}", each.matches)
    if each.kind == "imbalance" and len(form.players) < 2:
        _refuse(f"{at}kind", '= "imbalance" compares teams, and this queue has one')


def _check_scale(scale: Scale, at: str) -> None:
    _check_word(scale.kind, get_args(ScaleKind), f"{at}kind")
    _check_number(scale.min, VALUES, f"{at}min")
    _check_number(scale.max, GAPS if scale.kind in ("capped", "log") else VALUES, f"{at}max")
    _check_number(scale.knee, GAPS, f"{at}knee")
    if scale.cap is not None:
        _check_number(scale.cap, VALUES, f"{at}cap")
    if scale.kind == "percentile":
        _check_sample(scale.sample, at)
    if scale.kind == "linear" and scale.max - scale.min < RANGE_MIN:
        _refuse_value(f"{at}max", f"at least 1e-9 above min = {scale.min:g}", scale.max)


def _check_rule(rule: Rule, form: Format, wait_end: float | None, at: str) -> None:
    """Refuse a rule that compares nothing, or whose limit falls or never comes.

    Args:
        rule: The rule.
        form: The queue's format.
        wait_end: The wait at which every ticket has left the queue, seconds; None = never.
        at: Where the rule stands, with a dot.
    """
    _check_word(rule.kind, get_args(RuleKind), f"{at}kind")
    _check_compared(rule, form, at)
    _check_number(rule.limit, LIMITS, f"{at}limit")
    _check_word(rule.unit, get_args(Unit), f"{at}unit")
    if rule.kind not in NUMERIC:
        _refuse_fault(fault_of_rule(rule), at)
    elif rule.unit == "percentile":
        _check_sample(rule.sample, at)
        if rule.limit > 1.0:
            allowed = "between 0 and 1 where unit is percentile, e.g. 0.05 for five of a hundred"
            _refuse_value(f"{at}limit", allowed, rule.limit)
    _check_word(rule.accept, ("both", "either"), f"{at}accept")
    if rule.expand is not None:
        _check_expansion(rule.expand, rule.limit, wait_end, f"{at}expand")


def _check_sample(sample: Sample, at: str) -> None:
    """Refuse a table that is none, and more last values than are kept."""
    if not _is_whole(sample.last, 1, LAST_MAX):
        _refuse_value(f"{at}last", f"between 1 and {LAST_MAX:,}", sample.last)
    if len(sample.quantiles) > QUANTILES_MAX:
        _refuse(
            f"{at}quantiles",
            f"must have at most {QUANTILES_MAX:,} values, got {len(sample.quantiles):,}",
        )
    before = VALUES.low
    for index, value in enumerate(sample.quantiles):
        _check_number(value, VALUES, f"{at}quantiles[{index}]")
        if value < before:
            _refuse(f"{at}quantiles[{index}]", f"is {value:g}; it may not fall, it was {before:g}")
        before = value


def _check_expansion(expand: Expansion, limit: float, wait_end: float | None, at: str) -> None:
    given = [key for key in ("rate", "steps", "curve") if getattr(expand, key)]
    if len(given) > 1:
        _refuse(at, f"must have exactly one of rate, steps and curve, got {' and '.join(given)}")
    if expand.max is not None:
        _check_number(expand.max, LIMITS, f"{at}.max")
        if expand.max < limit:
            _refuse_value(f"{at}.max", f"at least the limit {limit:g}", expand.max)
    for key, points in (("steps", expand.steps), ("curve", expand.curve)):
        if points:
            _check_points(expand, limit, key, f"{at}.{key}")
            _check_reach(points, wait_end, f"{at}.{key}", is_line=key == "curve")
    if not expand.steps and not expand.curve:
        _check_number(expand.rate, RATES, f"{at}.rate")


def _check_points(expand: Expansion, limit: float, key: str, at: str) -> None:
    """Refuse points that go back in time, or whose limit falls (steps: does not grow)."""
    is_steps = key == "steps"
    points, bounds = (expand.steps, SECONDS) if is_steps else (expand.curve, WAITS)
    if len(points) > STEPS_MAX:
        _refuse(at, f"must have at most {STEPS_MAX} pairs [wait, limit], got {len(points):,}")
    last_wait, last_limit = 0.0 if is_steps else -1.0, limit
    for index, (wait, wider) in enumerate(points):
        here = f"{at}[{index}]"
        if not bounds.hold(wait):
            _refuse(here, f"has wait {_show(wait)} s; waits must be {bounds.text}")
        if wait <= last_wait:
            _refuse(here, f"has wait {wait:g} s; waits must increase from above {last_wait:g} s")
        if not LIMITS.hold(wider):
            _refuse(here, f"has limit {_show(wider)}; limits must be {LIMITS.text}")
        if is_steps and wider <= last_limit:
            _refuse(here, f"has limit {wider:g}; limits must increase from above {last_limit:g}")
        if wider < last_limit:
            _refuse(here, f"has limit {wider:g}; a limit may not fall, it was {last_limit:g}")
        last_wait, last_limit = wait, wider


def _check_reach(
    points: tuple[tuple[float, float], ...], wait_end: float | None, at: str, *, is_line: bool
) -> None:
    """Refuse points that no ticket lives to see; a line is used before its end is reached."""
    if wait_end is None:
        return
    waits = [wait for wait, _ in points]
    starts = [0.0, *waits[:-1]] if is_line else waits
    for index, (start, wait) in enumerate(zip(starts, waits, strict=True)):
        if start >= wait_end:
            _refuse(
                f"{at}[{index}]",
                f"at {wait:g} s can never be reached: wait_max is {wait_end:g} s",
            )


def _check_number(value: object, bounds: Bounds, at: str) -> None:
    if not bounds.hold(value):
        _refuse_value(at, bounds.text, value)


def _check_word(value: object, allowed: Sequence[str], at: str) -> None:
    if value not in allowed:
        _refuse_value(at, f"one of {', '.join(allowed)}", value)


def _check_count(given: Sequence[object], most: int, at: str) -> None:
    if len(given) > most:
        _refuse(at, f"must be given at most {most} times, got {len(given):,}")


def _check_names(names: tuple[str, ...], most: int, at: str) -> None:
    for index, name in enumerate(names):
        _check_name(name, most, f"{at}[{index}]")
        if name in names[:index]:
            _refuse(f"{at}[{index}]", f'repeats "{name}"; names must be different')


def _check_name(name: object, most: int, at: str) -> None:
    if not 1 <= len(_word(name)) <= most:
        _refuse_value(at, f"a name of 1 to {most} characters", name)


def _word(value: object) -> str:
    """Return a text; anything else is as good as an empty one."""
    return value if isinstance(value, str) else ""


def _is_whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _refuse_fault(fault: Fault, at: str) -> None:
    if fault is not None:
        _refuse(f"{at}{fault[0]}", fault[1])


def _refuse(at: str, sentence: str) -> NoReturn:
    raise ConfigError(f"{at} {sentence}")


def _refuse_value(at: str, allowed: str, value: object) -> NoReturn:
    _refuse(at, f"must be {allowed}, got {_show(value)}")


def _show(value: object) -> str:
    return f'"{_text(value, 40)}"' if isinstance(value, str) else _text(value, 40)


def _text(value: object, most: int) -> str:
    """Return a value on one line, cut to a readable length."""
    text = str(value)
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= most else f"{text[: most - 3]}..."
