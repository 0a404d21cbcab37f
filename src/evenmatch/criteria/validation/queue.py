"""What a queue must be like to work, whoever made it: a TOML file, a journal or a program.

Each refusal is one sentence that names the key as a TOML file spells it:
`queue "duel", rules[0].limit must be between 0 and 1e15, got -1.0`.
"""

from __future__ import annotations

import re
from typing import get_args

from evenmatch.criteria.base import Fault
from evenmatch.criteria.percentile import QUANTILES_MAX, samples_of
from evenmatch.criteria.registry import CRITERION_KINDS, NUMERIC, RULE_KINDS, kind_of
from evenmatch.criteria.validation.format import fault_of_format
from evenmatch.criteria.validation.values import (
    GAPS,
    LIMITS,
    PERIODS,
    PRICES,
    RATES,
    SECONDS,
    SHARES,
    VALUES,
    WAITS,
    WEIGHTS,
    check_count,
    check_name,
    check_names,
    check_number,
    check_word,
    fault_of_criterion,
    fault_of_limit,
    fault_of_pairs,
    fault_of_rule,
    is_whole,
    refuse,
    refuse_fault,
    refuse_value,
    show,
    text,
    word,
)
from evenmatch.model.queue import (
    Backfill,
    Criterion,
    Expansion,
    Format,
    Handicap,
    OnDeadline,
    Queue,
    ReadyCheck,
    Rule,
    Sample,
    Scale,
    ScaleKind,
    Switchback,
    Unit,
)

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


def check_queue(queue: Queue) -> None:
    """Refuse a queue that cannot work as it stands.

    What needs the policy itself (does its SPEC make sense, can it play the format) is asked of
    the policy; what compares queues (equal names) is asked where all of them are known.

    Raises:
        ConfigError: The sentence names the queue, the key, what is allowed and what was given.

    >>> check_queue(Queue(wait_max=60.0))
    """
    at = f'queue "{text(queue.name, 64)}", '
    _check_texts(queue, at)
    _check_format(queue.format, at)
    _check_times(queue, at)
    refuse_fault(fault_of_running(queue), at)
    check_count(queue.criteria, CRITERIA_MAX, f"{at}criteria")
    check_count(queue.rules, RULES_MAX, f"{at}rules")
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
        refuse_value(f"{at}policies", f"2 to {ARMS_MAX} SPECs", given)
    check_number(switchback.block, PERIODS, f"{at}block")
    if not 0.0 <= switchback.trim <= TRIM_MAX:
        refuse_value(f"{at}trim", f"between 0 and {TRIM_MAX}", switchback.trim)


def _check_texts(queue: Queue, at: str) -> None:
    """Refuse names that cannot be written in URLs and CSV cells, and empty ones."""
    for key, name in (("name", queue.name), ("group", queue.group)):
        if not NAME_PATTERN.fullmatch(word(name)):
            refuse_value(f"{at}{key}", "1 to 64 letters, digits, `_`, `-` or `.`", name)
    if not 1 <= len(word(queue.policy).strip()) <= POLICY_LENGTH_MAX:
        allowed = f'a SPEC of 1 to {POLICY_LENGTH_MAX} characters such as "greedy"'
        refuse_value(f"{at}policy", allowed, queue.policy)
    if len(queue.attributes) > ATTRIBUTES_MAX:
        refuse(
            f"{at}attributes",
            f"must have at most {ATTRIBUTES_MAX} entries, got {len(queue.attributes):,}",
        )
    check_names(queue.attributes, 100, f"{at}attributes")
    if queue.ladder and not NAME_PATTERN.fullmatch(word(queue.ladder)):
        refuse_value(f"{at}ladder", "1 to 64 letters, digits, `_`, `-` or `.`", queue.ladder)
    if queue.rating is not None and not 1 <= len(word(queue.rating).strip()) <= POLICY_LENGTH_MAX:
        allowed = f'a SPEC of 1 to {POLICY_LENGTH_MAX} characters such as "glicko2"'
        refuse_value(f"{at}rating", allowed, queue.rating)


def _check_times(queue: Queue, at: str) -> None:
    check_word(queue.on_deadline, get_args(OnDeadline), f"{at}on_deadline")
    if queue.wait_max is not None:
        check_number(queue.wait_max, SECONDS, f"{at}wait_max")
    elif queue.on_deadline == "bots":
        refuse(f"{at}on_deadline", '= "bots" needs wait_max, the instant at which bots come in')
    if queue.wait_price is not None:
        check_number(queue.wait_price, PRICES, f"{at}wait_price")
    if queue.target_wait is not None:
        check_number(queue.target_wait, SECONDS, f"{at}target_wait")
        if queue.wait_price is not None:
            refuse(f"{at}target_wait", "contradicts wait_price: leave one of them out")
        if queue.wait_max is not None and queue.target_wait >= queue.wait_max:
            allowed = f"below wait_max = {queue.wait_max:g} s, at which a ticket ends"
            refuse_value(f"{at}target_wait", allowed, queue.target_wait)
    check_number(queue.commit_jitter, WAITS, f"{at}commit_jitter")
    if queue.wait_max is not None and queue.commit_jitter >= queue.wait_max:
        allowed = f"below wait_max = {queue.wait_max:g} s, at which a ticket ends"
        refuse_value(f"{at}commit_jitter", allowed, queue.commit_jitter)
    check_number(queue.match_max, SECONDS, f"{at}match_max")
    if queue.rating_period is not None:
        check_number(queue.rating_period, PERIODS, f"{at}rating_period")
        if queue.rating is None:
            refuse(f"{at}rating_period", "needs rating, the system by which outcomes are rated")
    if queue.silent_after is not None:
        check_number(queue.silent_after, SECONDS, f"{at}silent_after")
    if queue.accept is not None:
        _check_accept(queue.accept, f"{at}accept.")


def _check_accept(accept: ReadyCheck, at: str) -> None:
    check_number(accept.seconds, SECONDS, f"{at}seconds")
    check_number(accept.loss_max, SHARES, f"{at}loss_max")
    for index, seconds in enumerate(accept.cooldowns):
        check_number(seconds, WAITS, f"{at}cooldowns[{index}]")
    if len(accept.cooldowns) > COOLDOWNS_MAX:
        refuse(f"{at}cooldowns", f"must have at most {COOLDOWNS_MAX} entries")
    check_number(accept.repair, WAITS, f"{at}repair")
    check_number(accept.again, WAITS, f"{at}again")
    if accept.long_wait is not None:
        check_number(accept.long_wait, WAITS, f"{at}long_wait")
    if accept.long_seconds is not None:
        check_number(accept.long_seconds, SECONDS, f"{at}long_seconds")
        if accept.long_seconds < accept.seconds:
            allowed = f"at least seconds = {accept.seconds:g}"
            refuse_value(f"{at}long_seconds", allowed, accept.long_seconds)
        if accept.long_wait is None:
            refuse(f"{at}long_seconds", "needs long_wait, the wait after which it counts")


def _check_handicap(handicap: Handicap, form: Format, at: str) -> None:
    """Refuse a handicap that gives nothing to anybody."""
    if len(form.players) < 2:
        refuse(at.rstrip("."), "compares teams, and this queue has one")
    check_number(handicap.factor, GAPS, f"{at}factor")
    if handicap.max is not None:
        check_number(handicap.max, GAPS, f"{at}max")
    if handicap.step != 0.0:
        check_number(handicap.step, GAPS, f"{at}step")
    if handicap.max is not None and handicap.step > handicap.max:
        refuse_value(f"{at}step", f"at most max = {handicap.max:g}", handicap.step)
    check_name(handicap.attribute, 100, f"{at}attribute")


def _check_format(form: Format, at: str) -> None:
    """Refuse seats, sides, party sizes and roles that no match can have."""
    refuse_fault(fault_of_format(form), at)
    check_names(form.sides, 64, f"{at}sides")
    check_names(tuple([name for name, _ in form.roles]), 64, f"{at}roles")


def _check_criterion(criterion: Criterion, form: Format, at: str) -> None:
    check_word(criterion.kind, CRITERION_KINDS, f"{at}kind")
    _check_compared(criterion, form, at)
    if criterion.weight is not None:
        check_number(criterion.weight, WEIGHTS, f"{at}weight")
    if criterion.step != 0.0:
        check_number(criterion.step, GAPS, f"{at}step")
    refuse_fault(fault_of_criterion(criterion), at)
    _check_scale(criterion.scale, f"{at}scale.")


def _check_compared(each: Criterion | Rule, form: Format, at: str) -> None:
    """Refuse what a criterion or a rule cannot compare."""
    if kind_of(each).attribute != "" or each.attribute:
        check_name(each.attribute, 100, f"{at}attribute")
    refuse_fault(kind_of(each).fault_in(form) or fault_of_pairs(each, form), at)
    check_word(each.measure, ("mean", "sum"), f"{at}measure")
    if not is_whole(each.matches, 1, MATCHES_MAX):
        refuse_value(f"{at}matches", f"between 1 and {MATCHES_MAX}", each.matches)


def _check_scale(scale: Scale, at: str) -> None:
    check_word(scale.kind, get_args(ScaleKind), f"{at}kind")
    check_number(scale.min, VALUES, f"{at}min")
    check_number(scale.max, GAPS if scale.kind in ("capped", "log") else VALUES, f"{at}max")
    check_number(scale.knee, GAPS, f"{at}knee")
    if scale.cap is not None:
        check_number(scale.cap, VALUES, f"{at}cap")
    if scale.kind == "percentile":
        _check_sample(scale.sample, at)
    if scale.kind == "linear" and scale.max - scale.min < RANGE_MIN:
        refuse_value(f"{at}max", f"at least 1e-9 above min = {scale.min:g}", scale.max)


def _check_rule(rule: Rule, form: Format, wait_end: float | None, at: str) -> None:
    """Refuse a rule that compares nothing, or whose limit falls or never comes.

    Args:
        rule: The rule.
        form: The queue's format.
        wait_end: The wait at which every ticket has left the queue, seconds; None = never.
        at: Where the rule stands, with a dot.
    """
    check_word(rule.kind, RULE_KINDS, f"{at}kind")
    _check_compared(rule, form, at)
    check_number(rule.limit, LIMITS, f"{at}limit")
    check_word(rule.unit, get_args(Unit), f"{at}unit")
    if rule.kind not in NUMERIC:
        refuse_fault(fault_of_rule(rule), at)
    elif rule.unit == "percentile":
        _check_sample(rule.sample, at)
        if rule.limit > 1.0:
            allowed = "between 0 and 1 where unit is percentile, e.g. 0.05 for five of a hundred"
            refuse_value(f"{at}limit", allowed, rule.limit)
    elif rule.unit == "difference":
        refuse_fault(fault_of_limit(rule), at)
    check_word(rule.accept, ("both", "either"), f"{at}accept")
    if rule.expand is not None:
        _check_expansion(rule.expand, rule.limit, wait_end, f"{at}expand")


def _check_sample(sample: Sample, at: str) -> None:
    """Refuse a table that is none, and more last values than are kept."""
    if not is_whole(sample.last, 1, LAST_MAX):
        refuse_value(f"{at}last", f"between 1 and {LAST_MAX:,}", sample.last)
    if len(sample.quantiles) > QUANTILES_MAX:
        refuse(
            f"{at}quantiles",
            f"must have at most {QUANTILES_MAX:,} values, got {len(sample.quantiles):,}",
        )
    before = VALUES.low
    for index, value in enumerate(sample.quantiles):
        check_number(value, VALUES, f"{at}quantiles[{index}]")
        if value < before:
            refuse(f"{at}quantiles[{index}]", f"is {value:g}; it may not fall, it was {before:g}")
        before = value


def _check_expansion(expand: Expansion, limit: float, wait_end: float | None, at: str) -> None:
    given = [key for key in ("rate", "steps", "curve") if getattr(expand, key)]
    if len(given) > 1:
        refuse(at, f"must have exactly one of rate, steps and curve, got {' and '.join(given)}")
    if expand.max is not None:
        check_number(expand.max, LIMITS, f"{at}.max")
        if expand.max < limit:
            refuse_value(f"{at}.max", f"at least the limit {limit:g}", expand.max)
    for key, points in (("steps", expand.steps), ("curve", expand.curve)):
        if points:
            _check_points(expand, limit, key, f"{at}.{key}")
            _check_reach(points, wait_end, f"{at}.{key}", is_line=key == "curve")
    if not expand.steps and not expand.curve:
        check_number(expand.rate, RATES, f"{at}.rate")


def _check_points(expand: Expansion, limit: float, key: str, at: str) -> None:
    """Refuse points that go back in time, or whose limit falls (steps: does not grow)."""
    is_steps = key == "steps"
    points, bounds = (expand.steps, SECONDS) if is_steps else (expand.curve, WAITS)
    if len(points) > STEPS_MAX:
        refuse(at, f"must have at most {STEPS_MAX} pairs [wait, limit], got {len(points):,}")
    last_wait, last_limit = 0.0 if is_steps else -1.0, limit
    for index, (wait, wider) in enumerate(points):
        here = f"{at}[{index}]"
        if not bounds.hold(wait):
            refuse(here, f"has wait {show(wait)} s; waits must be {bounds.text}")
        if wait <= last_wait:
            refuse(
                here,
                f"has wait {wait:g} s; waits must increase, and the one before is {last_wait:g} s",
            )
        if not LIMITS.hold(wider):
            refuse(here, f"has limit {show(wider)}; limits must be {LIMITS.text}")
        if is_steps and wider <= last_limit:
            refuse(
                here,
                f"has limit {wider:g}; limits must increase, and the one before is {last_limit:g}",
            )
        if wider < last_limit:
            refuse(here, f"has limit {wider:g}; a limit may not fall, it was {last_limit:g}")
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
            refuse(
                f"{at}[{index}]",
                f"at {wait:g} s can never be reached: wait_max is {wait_end:g} s",
            )


# What a queue says of its running matches.

HOOK = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def fault_of_running(queue: Queue) -> Fault:
    """Return a way to fill running matches, or an allocation hook, that there cannot be."""
    if queue.backfill is not None and queue.backfill not in get_args(Backfill):
        allowed = ", ".join(get_args(Backfill))
        return "backfill", f"must be one of {allowed}, got {queue.backfill!r:.40}"
    hook = queue.allocation
    if hook is not None and not HOOK.fullmatch(str(hook)):
        return "allocation", f"must be 1 to 64 letters, digits, `_`, `-` or `.`, got {hook!r:.40}"
    return None
