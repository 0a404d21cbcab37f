"""Why a ticket waits in a queue with conditions: which of them fail, and until when."""

from __future__ import annotations

import math

import msgspec

from evenmatch.explain.phrases import count, list_in_words, seconds, sentence
from evenmatch.explain.reasons import gone_before, not_yet, unmade_reason
from evenmatch.explain.sentences import summary_of
from evenmatch.explain.snapshot import QueueSnapshot
from evenmatch.model.explanation import Prospect, QueuePart, Reason
from evenmatch.model.ticket import Ticket
from evenmatch.policies.shared.nearest_legal_match import (
    ConditionProspects,
    NearestLegalMatch,
    Shortage,
)

KEEPS_ALL = ("paused", "policy_failed", "alone")
"""Reasons that hold whatever the conditions are."""
NAMED_MAX = 5
"""Most conditions that a sentence names."""


def by_conditions(
    part: QueuePart, snapshot: QueueSnapshot, own: Ticket, *, in_full: bool
) -> QueuePart:
    """Return the part for a queue whose rules are about whole matches.

    Args:
        part: The result of comparing tickets two by two.
        snapshot: The queue.
        own: The ticket.
        in_full: Whether to search; otherwise only the instant of the next change is reported.

    Complexity:
        That of a bounded number of searches, however many wait.
    """
    if part.reason.code == "alone" and snapshot.queue.format.k_min > 1:
        return _alone(part, snapshot, own)
    if part.reason.code in ("paused", "policy_failed") or not in_full:
        return _at_a_glance(part, snapshot, own)
    others = [ticket for ticket in snapshot.tickets.values() if ticket.id != own.id]
    prospects = ConditionProspects(snapshot.objective.rules, own, others, snapshot.now)
    found = _first(prospects, snapshot, own, others)
    if found is None:
        return _without_match(part, snapshot, own, prospects)
    match = _prospect(snapshot, found)
    if found.at <= snapshot.now:
        reason = unmade_reason(snapshot, own.id, match)
        part = msgspec.structs.replace(part, now=match, later=None, reason=reason, changes=())
        return msgspec.structs.replace(part, summary=summary_of(part, snapshot, own.id, ""))
    left = seconds(found.at - snapshot.now)
    who = _names(found.objections)
    size = len(match.tickets) - 1
    partners = "of this ticket alone" if not size else f"with {count(size, 'other ticket')}"
    text = f"{who} allow{_s(found.objections)} the first match in {left}"
    reason = not_yet(snapshot, own.id, match, text)
    says = f"say{_s(found.objections)} no{gone_before(snapshot, own.id, match)}"
    said = [
        f"{_head(snapshot, own)}: no match of those who wait is legal yet",
        f"the first one, {partners}, is legal in {left}; until then {who} {says}",
        *_deadline(part, found.at),
    ]
    return msgspec.structs.replace(
        part, now=None, later=match, reason=reason, changes=(), summary=_sentences(said)
    )


def _first(
    prospects: ConditionProspects, snapshot: QueueSnapshot, own: Ticket, others: list[Ticket]
) -> NearestLegalMatch | None:
    """Return the match that is legal first.

    Where a short search finds one, a match that is legal now without those whom the queue keeps
    from its policy, or else one that nobody leaves before it is legal.
    """
    rules, now, kept = snapshot.objective.rules, snapshot.now, snapshot.kept()
    if kept and own.id not in kept:
        free = [each for each in others if each.id not in kept]
        found = ConditionProspects(rules, own, free, now).at_once()
        if found is not None:
            return found
    first = prospects.first()
    if first is None or not gone_before(snapshot, own.id, _prospect(snapshot, first)):
        return first
    staying = [each for each in others if snapshot.leaves_at(each.id) >= first.at]
    found = ConditionProspects(rules, own, staying, now).first()
    if found is None or gone_before(snapshot, own.id, _prospect(snapshot, found)):
        return first
    return found


def _without_match(
    part: QueuePart, snapshot: QueueSnapshot, ticket: Ticket, prospects: ConditionProspects
) -> QueuePart:
    """Return why no waiting tickets make a match with a ticket, now or later."""
    is_certain = prospects.is_certain
    changes, said = [], []
    missing = prospects.players_missing()
    if missing:
        changes.append(f"{count(missing, 'more player')}")
        said.append(f"the smallest match needs {count(missing, 'more player')}")
    for each in prospects.shortages():
        team = _team(snapshot, each)
        lacks = each.least - each.waiting
        changes.append(f"{count(lacks, 'more player')} who may be in team {team}")
        waiting = f"{each.waiting}" if each.waiting else "none"
        said.append(f"team {team} needs {each.least}, and {waiting} of those who wait may be in it")
    blockers = [] if missing else prospects.blockers()
    if blockers:
        changes += [f"without rule {name} there would be a match" for name in blockers]
        shown = list_in_words(blockers[:NAMED_MAX], "or")
        said.append(f"without rule {shown} there would be a match of those who wait")
    if not said:
        said.append("no single rule of the set is to blame, but several together")
    wording = (
        "no match of those who wait becomes legal"
        if is_certain
        else ("no match of those who wait is legal, as far as a short search sees")
    )
    reason = Reason("seats" if missing else "never" if is_certain else "rules", wording)
    summary = _sentences([f"{_head(snapshot, ticket)}: {wording}", *said])
    return msgspec.structs.replace(
        part, now=None, later=None, reason=reason, changes=tuple(changes), summary=summary
    )


def _alone(part: QueuePart, snapshot: QueueSnapshot, ticket: Ticket) -> QueuePart:
    """Return that nobody else waits, and how many players would be needed."""
    prospects = ConditionProspects(snapshot.objective.rules, ticket, [], snapshot.now)
    need = f"{count(max(1, prospects.players_missing()), 'more player')}"
    summary = _sentences([f"{_head(snapshot, ticket)}", f"a match needs at least {need}"])
    return msgspec.structs.replace(part, now=None, later=None, changes=(need,), summary=summary)


def _at_a_glance(part: QueuePart, snapshot: QueueSnapshot, ticket: Ticket) -> QueuePart:
    conditions = snapshot.objective.rules.conditions
    assert conditions is not None
    reason, now = part.reason, snapshot.now
    if reason.code not in KEEPS_ALL:
        text = "the rule set allows no match of those who wait now"
        until = next((at for at in conditions.starts_of(ticket.enqueued_at) if at > now), None)
        if until is not None:
            text += f"; what it allows changes for this ticket in {seconds(until - now)}"
        reason = Reason("rules", text, until)
    summary = _sentences([f"{_head(snapshot, ticket)}: {reason.text}"])
    return msgspec.structs.replace(
        part, now=None, later=None, reason=reason, changes=(), summary=summary
    )


def _prospect(snapshot: QueueSnapshot, found: NearestLegalMatch) -> Prospect:
    """Return a match that conditions allow, as a prospect."""
    objective, at = snapshot.objective, max(found.at, snapshot.now)
    seating = objective.judge(found.teams, at)
    tickets = sorted([t for team in found.teams for t in team], key=lambda each: each.age_key)
    return Prospect(
        at=found.at,
        tickets=tuple([ticket.id for ticket in tickets]),
        teams=tuple([tuple([ticket.id for ticket in team]) for team in found.teams]),
        quality=seating.quality,
        cost=objective.cost(seating, 0, at),
        criteria_cost=seating.criteria_cost,
        is_exact=False,
    )


def _head(snapshot: QueueSnapshot, ticket: Ticket) -> str:
    waited = seconds(snapshot.now - ticket.enqueued_at)
    others = len(snapshot.tickets) - 1
    party = "" if ticket.size == 1 else f" as a party of {ticket.size}"
    company = f"with {count(others, 'other ticket')}" if others else "alone"
    return f"this ticket has waited {waited} in {snapshot.queue.name}{party} {company}"


def _names(names: tuple[str, ...]) -> str:
    shown = list(names[:NAMED_MAX])
    if len(names) > NAMED_MAX:
        shown.append(f"{len(names) - NAMED_MAX} more")
    return list_in_words(shown) or "the rules"


def _s(names: tuple[str, ...]) -> str:
    """Return the ending of a verb with these names as its subject."""
    return "s" if len(names) == 1 and not names[0].endswith(("sizes", "attributes")) else ""


def _team(snapshot: QueueSnapshot, each: Shortage) -> str:
    sides = snapshot.queue.format.sides
    return sides[each.team] if sides else f"{each.team + 1}"


def _deadline(part: QueuePart, at: float) -> list[str]:
    """Return that a ticket's wait ends before a match is legal, if it does."""
    deadline = math.inf if part.deadline_at is None else part.deadline_at
    if part.at_deadline in (None, "keep") or at <= deadline:
        return []
    return ["its longest wait is over before that"]


def _sentences(said: list[str]) -> str:
    return " ".join([sentence(each) for each in said if each])
