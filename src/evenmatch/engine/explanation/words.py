"""An explanation in words that a person at a help desk can paste."""

from __future__ import annotations

from collections.abc import Sequence

from evenmatch.model.explanation import QueuePart, Tolerance
from evenmatch.model.queue import NUMERIC, Rule


def seconds(duration: float) -> str:
    """Return a duration in words.

    >>> seconds(0.4), seconds(75.2), seconds(4000)
    ('0.4 s', '75 s', '67 min')
    """
    if duration < 10.0:
        return f"{max(0.0, duration):.2g} s"
    return f"{duration:.0f} s" if duration < 600.0 else f"{duration / 60.0:.0f} min"


def count(number: int, noun: str) -> str:
    """Return a number of things.

    >>> count(1, "player"), count(1200, "player")
    ('1 player', '1,200 players')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def joined(words: Sequence[str], last: str = "and") -> str:
    """Return words as a list in a sentence.

    >>> joined(["a", "b", "c"], "or")
    'a, b or c'
    """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def rule_name(rule: Rule | Tolerance) -> str:
    """Return what a rule is about."""
    kind = rule.kind if isinstance(rule, Rule) else rule.rule
    about = rule.attribute
    if kind in NUMERIC:
        return f"a limit on {about}"
    return {
        "same": f"the rule that {about} be the same",
        "overlap": f"the rule that {about} have something in common",
        "avoid": f"the list of players to {about}",
        "rematch": "the rule against early rematches",
        "latency": "a limit on latency",
        "pair_limit": "a limit on matches of the same two players",
        "household_limit": f"a limit on players who share a {about}",
    }.get(kind, f"rule {kind}")


def limit_text(rule: Rule | Tolerance, limit: float) -> str:
    """Return a limit with its unit."""
    kind = rule.kind if isinstance(rule, Rule) else rule.rule
    if rule.unit in ("relative", "percentile"):
        return f"{100.0 * limit:.3g} %"
    text = f"{limit:,.0f}" if limit >= 100.0 else f"{limit:.3g}"
    return f"{text} ms" if kind == "latency" else text


def summary_of(part: QueuePart, wait: float, size: int, now: float) -> str:
    """Return one or two sentences about a ticket in one queue."""
    who = "" if size == 1 else f" as a party of {size}"
    first = f"Has waited {seconds(wait)} in {part.queue}{who}; {_who_may(part)}."
    return f"{first} {_sentence(_next(part, now))}"


def _who_may(part: QueuePart) -> str:
    others = count(part.others, "other ticket")
    if not part.others:
        return "nobody else waits there"
    if part.allowed:
        return f"{part.allowed:,} of {others} may play with it now"
    return f"none of {others} may play with it now{_because(part)}"


def _because(part: QueuePart) -> str:
    """Return what keeps most of the others away."""
    most = max(part.rules, key=lambda each: each.blocks, default=None)
    if most is not None and most.blocks > part.seats.misfits:
        what = rule_name(most)
        if most.rule in (*NUMERIC, "latency"):
            what += f" ({limit_text(most, most.limit)} now)"
        return f", {most.blocks:,} because of {what}"
    if part.seats.misfits:
        return f", {part.seats.misfits:,} because sizes, sides or roles do not go together"
    return ""


def _next(part: QueuePart, now: float) -> str:
    """Return why nothing happens now, and what will."""
    reason = part.reason
    text = reason.text
    if reason.code in ("policy", "round", "computing", "held", "delayed") and part.now is not None:
        quality = "" if part.now.quality is None else f" with a quality of {part.now.quality:.2f}"
        text = f"a match{quality} would be legal, but {text}"
    elif reason.code == "seats" or (reason.code == "rules" and not part.seats.fills):
        text = f"{text}: {_missing(part)}" if _missing(part) else text
    deadline = part.deadline_at
    is_soon = deadline is not None and (reason.until is None or reason.until >= deadline)
    if deadline is not None and is_soon and part.now is None:
        left = seconds(deadline - now)
        before = "" if reason.until is None else "before that "
        text += f"; {before}{_at_deadline(part)} in {left}"
    return text


def _missing(part: QueuePart) -> str:
    """Return who is missing for a match."""
    seats = part.seats
    if seats.roles_missing:
        lacks = [f"{number} of role {role}" for role, number in sorted(seats.roles_missing.items())]
        return f"players are missing, {joined(lacks)}"
    if seats.players_missing:
        return f"{count(seats.players_missing, 'player')} more would do"
    if seats.sizes_missing:
        parties = ["a solo" if size == 1 else f"a party of {size}" for size in seats.sizes_missing]
        return f"{joined(parties, 'or')} more would do"
    return ""


def _at_deadline(part: QueuePart) -> str:
    return {
        "bots": "it plays with computer players",
        "expire": "it expires",
        "keep": "its longest wait is over",
    }[part.at_deadline or "keep"]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""
