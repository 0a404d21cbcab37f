"""The summary of a part: each fact once, the most important first, in at most five sentences.

"This ticket" is always the one that is explained; others are named by id or are "another".
"""

from __future__ import annotations

import math

from evenmatch.explain.phrases import (
    at_least,
    count,
    kind_named,
    limit_text,
    of_roles,
    seconds,
    sentence,
    size_choices,
    the_rule,
)
from evenmatch.explain.reasons import gone_before
from evenmatch.explain.snapshot import QueueSnapshot
from evenmatch.model.explanation import QueuePart, Tolerance
from evenmatch.model.ticket import Ticket

SOON = 0.05
"""Shorter times, in seconds, are called now."""
WITHIN_SIGHT = frozenset({"delayed", "held", "computing", "round", "policy"})
"""Codes with which a match is legal now, or would be."""
KEEPS_ALL = frozenset({"paused", "policy_failed"})
"""Codes of a queue that matches nobody."""


def summary_of(part: QueuePart, snapshot: QueueSnapshot, ticket_id: str, instead: str) -> str:
    """Return why a ticket waits in one queue.

    Args:
        part: All findings except the summary.
        snapshot: The queue.
        ticket_id: The ticket to explain.
        instead: Changes needed for a match that comes too late or never; "" if none are known.
    """
    own = snapshot.tickets[ticket_id]
    party = "" if own.size == 1 else f" as a party of {own.size}"
    head = (
        f"this ticket has waited {seconds(snapshot.now - own.enqueued_at)} in {part.queue}{party}"
    )
    if part.reason.code in KEEPS_ALL:
        said = [f"{head}; {part.reason.text}", _end(part, snapshot, ticket_id)]
    elif part.reason.code in WITHIN_SIGHT:
        said = [f"{head}: {_legal(part, ticket_id)}, but {part.reason.text}"]
        said += _until(part, snapshot, ticket_id)
    else:
        said = [f"{head}: {_who_may(part)}"]
        said += _first(part, snapshot, ticket_id, instead)
    return " ".join([sentence(each) for each in said if each])


def running_matches(part: QueuePart, snapshot: QueueSnapshot, own: Ticket) -> str:
    """Return that running matches may take a ticket, as a sentence behind others; "" if none may.

    Of them only the free seats are looked at. Who is kept from the policy is kept from them, too.
    """
    number = sum([seats >= own.size for seats in snapshot.asking])
    if not number or part.reason.code in KEEPS_ALL or own.id in snapshot.kept():
        return ""
    asks = "match of this queue asks" if number == 1 else "matches of this queue ask"
    whom = "players" if own.size == 1 else f"{own.size} players or more"
    text = f"{number:,} running {asks} for {whom}, too"
    return f" {sentence(f'{text}, and may take this ticket sooner')}"


def summary_of_all(parts: tuple[QueuePart, ...]) -> str:
    """Return why a ticket waits in several queues: the nearest match first, the others in brief.

    Args:
        parts: Of the ticket's queues.
    """
    if len(parts) < 2:
        return "".join([part.summary for part in parts])
    nearest = min(parts, key=_nearness)
    said = [nearest.summary]
    for part in parts:
        if part is not nearest:
            about = part.reason.text if part.now is None else "a match would be legal there too"
            said.append(sentence(f"in {part.queue}: {about}"))
    return " ".join(said)


def _nearness(part: QueuePart) -> float:
    if part.reason.code in KEEPS_ALL:
        return math.inf
    if part.now is not None:
        return -math.inf
    return part.later.at if part.later is not None else math.inf


def _legal(part: QueuePart, ticket_id: str) -> str:
    """Return the match that would be legal now."""
    match = part.now
    assert match is not None
    others = [each for each in match.tickets if each != ticket_id]
    more = ""
    if match.quality is not None:
        best = "" if match.criteria_cost > 0.0 else ", the best there can be"
        more = f" (quality {match.quality:.2f}{best})"
    return f"a match {_with(others)}{more} would be legal now"


def _with(others: list[str]) -> str:
    """Return the other tickets of a match."""
    if not others:
        return "of this ticket alone"
    return f"with {others[0]}" if len(others) == 1 else f"with {len(others)} other tickets"


def _until(part: QueuePart, snapshot: QueueSnapshot, ticket_id: str) -> list[str]:
    """Return until when a legal match may stay unmade."""
    if part.reason.code == "policy":
        return _by_policy(part, snapshot, ticket_id)
    until = part.reason.until
    if part.reason.code == "delayed" or (until is not None and until <= _deadline(part)):
        return []
    return [_end(part, snapshot, ticket_id)]


def _by_policy(part: QueuePart, snapshot: QueueSnapshot, ticket_id: str) -> list[str]:
    """Return when a policy plans a match, when it makes one at the latest, or that it decides.

    If it announces neither, it decides by itself, and the ticket's end may come first.
    """
    now = snapshot.now
    start, latest = snapshot.starts.get(ticket_id, now), snapshot.served_at(ticket_id)
    is_bound = latest is not None and latest > now
    said = []
    if now < start and not (is_bound and latest is not None and start >= latest):
        said.append(f"the policy means to start a match with this ticket in {seconds(start - now)}")
    elif now < snapshot.wake_at < (latest or math.inf):
        pause = snapshot.wake_at - now
        again = "looks again now" if pause < SOON else f"looks again within {seconds(pause)}"
        whose = "the policy" if is_bound else "only the policy decides when; it"
        said.append(f"{whose} {again}")
    elif not is_bound:
        said.append("only the policy decides when; it looks again when somebody comes or leaves")
    if latest is not None and is_bound:
        left = seconds(latest - now)
        who = "it" if said else "the policy"
        return [*said, f"in {left} at the latest {who} matches this ticket, if the rules allow it"]
    if snapshot.wake_at == part.deadline_at and part.at_deadline == "expire":
        return [*said, "this ticket expires then, if it is still not matched"]
    return [*said, _end(part, snapshot, ticket_id)]


def _first(part: QueuePart, snapshot: QueueSnapshot, ticket_id: str, instead: str) -> list[str]:
    """Return the first match that limits will allow, or the event that comes before it."""
    end = _end(part, snapshot, ticket_id)
    later = part.later
    if part.reason.code != "not_yet" or later is None:
        return [instead or _never(part), end]
    others = [each for each in later.tickets if each != ticket_id]
    left = seconds(later.at - snapshot.now)
    if later.at <= _deadline(part) or part.at_deadline == "keep":
        gone = gone_before(snapshot, ticket_id, later)
        return [f"the limits allow the first match, {_with(others)}, in {left}{gone}"]
    return [f"{end}, before the limits allow the first match ({_with(others)}, in {left})", instead]


def _never(part: QueuePart) -> str:
    """Return that no wait helps, if that is so."""
    if part.reason.code == "not_searched":
        return part.reason.text
    if part.reason.code != "never":
        return ""
    others = part.others - part.seats.misfits
    for rule in part.rules:
        if kind_named(rule).is_measure and 0 < others <= rule.blocks_forever:
            if rule.final is None or rule.final <= rule.limit:
                return f"{the_rule(rule)} widens no more, so only newcomers can help"
            widest = f"even at its widest, {limit_text(rule, rule.final)},"
            return f"{widest} {the_rule(rule)} lets none of them in, so only newcomers can help"
    return "no wait changes that, so only newcomers can help"


def _deadline(part: QueuePart) -> float:
    return math.inf if part.deadline_at is None else part.deadline_at


def _end(part: QueuePart, snapshot: QueueSnapshot, ticket_id: str) -> str:
    """Return what happens to a ticket at its deadline; "" if it has none."""
    if part.deadline_at is None:
        return ""
    left = part.deadline_at - snapshot.now
    if part.at_deadline == "keep":
        if left <= 0.0:
            return f"its longest wait ended {seconds(-left)} ago; it goes on waiting"
        return f"its longest wait ends in {seconds(left)}; it goes on waiting after that"
    if part.at_deadline == "bots" and part.reason.code not in KEEPS_ALL:
        return f"in {seconds(left)} this ticket plays with computer players"
    what = "leaves this queue" if ticket_id in snapshot.elsewhere else "expires"
    return f"this ticket {what} in {seconds(left)}"


def _who_may(part: QueuePart) -> str:
    """Return who may play with a ticket, what keeps the others away, and who is missing."""
    if not part.others:
        # That somebody is missing is obvious here.
        missing = _missing(part) if part.seats.players_missing > 1 else ""
        return f"nobody else waits there, and {missing}" if missing else "nobody else waits there"
    everybody = {1: "the only other ticket", 2: "both other tickets"}.get(
        part.others, f"all {part.others:,} other tickets"
    )
    blockers = _blockers(part)
    if not part.allowed and blockers and blockers[0][0] >= part.others:
        said = f"{blockers[0][1]} {everybody} {blockers[0][2]}"
    else:
        others = count(part.others, "other ticket")
        who = f"{part.allowed:,} of {others}" if part.allowed else f"none of {others}"
        said = f"{everybody if part.allowed == part.others else who} may play with it now"
        # Two cover nearly all; details are in the rules.
        for number, what, away in blockers[:2]:
            said += f"; {what} {number:,} of them {away}"
    missing = _missing(part)
    return said + (f"{'; ' if blockers else ', but '}{missing}" if missing else "")


def _blockers(part: QueuePart) -> list[tuple[int, str, str]]:
    """Return the obstacles of others: their number, and the words before and after it."""
    found = []
    for rule in part.rules:
        if rule.blocks:
            what, away = _whose_limit(rule)
            found.append((rule.blocks, f"{what} keeps", away))
    if part.seats.misfits:
        keep = "sizes, sides or roles keep"
        found.append((part.seats.misfits, keep, "out of any match with it"))
    return sorted(found, key=lambda each: -each[0])


def _whose_limit(rule: Tolerance) -> tuple[str, str]:
    """Return a rule with the limit that blocks, this ticket's or that of others, and "away"."""
    what, theirs = the_rule(rule), rule.blocks_by_theirs
    if not kind_named(rule).is_measure:
        return what, "away"
    is_last = rule.final is not None and rule.final <= rule.limit
    limit = f"{limit_text(rule, rule.limit)}{'' if is_last else ' now'}"
    if theirs == rule.blocks:
        return f"their own {what.removeprefix('the ')} (not this ticket's, {limit})", "away"
    away = f"away, {theirs:,} of them only by their own limits" if theirs else "away"
    return f"{what} ({limit})", away


def _missing(part: QueuePart) -> str:
    """Return who is missing for a match, beside those who may play with a ticket now."""
    seats, code = part.seats, part.reason.code
    if code == "rules" and seats.fills:
        return "a short search finds no match in which all of them may play with each other"
    if seats.fills or (code not in ("seats", "alone") and not part.allowed):
        return ""
    number = seats.players_missing
    if number and sum(seats.roles_missing.values()) == number:
        return f"{of_roles(seats.roles_missing)} {_are(number)} missing"
    if number and (part.allowed or not seats.misfits):
        even = code == "seats" and any(rule.blocks for rule in part.rules)
        more = ", and the players who wait could not fill one even without rules" if even else ""
        roles = at_least(seats.roles_missing)
        if seats.sizes_missing and number not in seats.sizes_missing:
            roles += f", or {size_choices(seats.sizes_missing)}"
        return f"{count(number, 'more player')} {_are(number)} needed for a match{roles}{more}"
    if seats.sizes_missing:
        return f"{size_choices(seats.sizes_missing)} more would complete a match"
    return "they do not fill its teams" if part.allowed else ""


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
