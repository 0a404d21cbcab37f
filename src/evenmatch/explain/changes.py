"""Changes that would help: one sentence for each obstacle, the most effective first."""

from __future__ import annotations

import math

import numpy as np

from evenmatch.criteria.base import Form, NumberGap
from evenmatch.criteria.expansion import inverse, widest
from evenmatch.criteria.kinds.latency import worst_of
from evenmatch.criteria.registry import form_of, kind_of, number_gap_of
from evenmatch.explain.pairwise import Obstacle, PairwiseView, when_table
from evenmatch.explain.phrases import (
    at_least,
    count,
    limit_text,
    list_in_words,
    rule_name,
    seconds,
    size_choices,
)
from evenmatch.explain.snapshot import QueueSnapshot
from evenmatch.explain.tolerances import limit_now
from evenmatch.explain.waiting_table import Mask, PairColumnTable
from evenmatch.model.explanation import Prospect, Seats
from evenmatch.model.queue import Queue, Rule

SOME = 10
"""Most candidates that a proposed wider limit should let in: the nearest ones."""
SHARE = 10
"""A wider limit lets in one of this many, if a match needs no more."""
Gain = tuple[int, str]
"""How many more could play, and the sentence on what that takes."""


def changes_of(
    snapshot: QueueSnapshot, table: PairColumnTable, pairwise: PairwiseView, seats: Seats
) -> tuple[str, ...]:
    """Return the changes that would help, as clauses: one for each party, rule and shortage."""
    found = []
    if snapshot.is_paused:
        found.append(f"queue {snapshot.queue.name} would have to be resumed")
    if snapshot.fault is not None:
        found.append(f"queue {snapshot.queue.name} needs a policy that works: {snapshot.fault}")
    found += of_pings(table, pairwise)
    found += _of_seats(table, pairwise, seats)
    gains: list[Gain] = []
    by_one = pairwise.others & pairwise.fits & (pairwise.blockers() == 1)
    for obstacle in pairwise.obstacles:
        if obstacle is not None:
            found += of_party(obstacle, table, pairwise)
            gains += _of_rule(obstacle, by_one, table, pairwise)
    gains.sort(key=lambda gain: -gain[0])
    return (*found, *[text for _, text in gains])


def _of_seats(table: PairColumnTable, pairwise: PairwiseView, seats: Seats) -> list[str]:
    if seats.fills:
        return []
    roles, players = seats.roles_missing, seats.players_missing
    found = []
    if players and sum(roles.values()) == players:
        found = [
            f"{count(missing, 'more player')} of role {role}"
            for role, missing in sorted(roles.items())
        ]
    elif players:
        more = count(players, "more player")
        found = [f"{more} who may play with this ticket now{at_least(roles)}"]
    if seats.sizes_missing and not seats.roles_missing and not table.queue.format.solo_only:
        size = table.tickets[pairwise.row].size
        own = "this solo player" if size == 1 else f"this party of {size}"
        found.append(f"{own} needs {size_choices(seats.sizes_missing)} more")
    return found


def of_pings(table: PairColumnTable, pairwise: PairwiseView) -> list[str]:
    """Return that a ticket's own latencies leave it no region, whoever else joins, if so."""
    ticket = table.tickets[pairwise.row]
    for rule in table.queue.rules:
        if form_of(rule) is not Form.PLACES or rule.pairs != "region":
            continue
        known = worst_of(ticket, rule.attribute)
        region = min(known, key=known.__getitem__, default=None)
        if region is None:
            text = "the players of this party have no region in common, so no match is possible: "
            return [f"{text}all of them need a {rule.attribute} to the same region"]
        most = widest(rule.limit, rule.expand)
        if known[region] > most:
            whose = "this ticket's" if ticket.size == 1 else "this party's"
            text = (
                f"no match is possible with {whose} {rule.attribute}, whoever comes: the best "
                f"region is {region} with {limit_text(rule, known[region])}, and the limit is "
                f"{limit_text(rule, most)} at its widest; measure anew and send it by PATCH, offer "
                "a nearer region, or let the limit widen further"
            )
            return [text]
    return []


def of_party(obstacle: Obstacle, table: PairColumnTable, pairwise: PairwiseView) -> list[str]:
    """Return that a party always breaks a rule by itself, if it does."""
    rule, row = obstacle.rule, pairwise.row
    is_word = form_of(rule) is Form.WORD
    is_told = is_word or number_gap_of(rule) is NumberGap.WIDEST
    if table.tickets[row].size == 1 or not is_told or obstacle.ready_at[row] < math.inf:
        return []
    if is_word:
        return [f"the players of this party differ in {rule.attribute}, which has to be the same"]
    need = limit_text(rule, float(obstacle.needs[row]))
    return [f"the players of this party need {rule_name(rule)} of {need}, which it never reaches"]


def _of_rule(
    obstacle: Obstacle, by_one: Mask, table: PairColumnTable, pairwise: PairwiseView
) -> list[Gain]:
    """Return how many more a wider limit would let in, and the sentence about it.

    If both have to accept, those within the ticket's own limit still wait for theirs.
    """
    rule, own = obstacle.rule, table.tickets[pairwise.row]
    blocked = obstacle.blocked & by_one & (obstacle.needs < math.inf)
    if kind_of(rule).is_kept:
        gain = int(np.count_nonzero(blocked))
        more = count(gain, "more candidate")
        return (
            [(gain, f"without {rule_name(rule)} this ticket could play with {more}")]
            if gain
            else []
        )
    found: list[Gain] = []
    everybody = obstacle.needs[blocked]
    if rule.accept == "both" and rule.unit != "relative":
        waits = when_table(rule)(obstacle.needs)
        reached = blocked & (own.enqueued_at + waits <= pairwise.now)
        found += _of_theirs(obstacle, reached, pairwise.now)
        blocked &= ~reached
    needs = obstacle.needs[blocked]
    if len(needs):
        short = table.queue.format.k - own.size - int(np.count_nonzero(pairwise.allowed))
        enough = min(len(needs), SOME, max(1, short, len(needs) // SHARE))
        wanted = nice_above(float(np.partition(needs, enough - 1)[enough - 1]), rule)
        gain = int(np.count_nonzero(everybody <= wanted))
        times = (own.enqueued_at, pairwise.now)
        found.append((gain, _wider(table.queue, rule, wanted, gain, times)))
    return found


def _of_theirs(obstacle: Obstacle, reached: Mask, now: float) -> list[Gain]:
    """Return how many have yet to accept a ticket that accepts them."""
    gain = int(np.count_nonzero(reached))
    if not gain:
        return []
    first = float(obstacle.ready_at[reached].min())
    who = f"{count(gain, 'candidate')} whom this ticket accepts must accept it too"
    limit = rule_name(obstacle.rule).removeprefix("a ")
    return [(gain, f"{who}: their {limit} lets the first do so in {seconds(first - now)}")]


def _wider(queue: Queue, rule: Rule, wanted: float, gain: int, times: tuple[float, float]) -> str:
    """Return the effect of a wider limit, and when the ticket's own becomes as wide.

    Args:
        queue: The queue.
        rule: The rule.
        wanted: The limit.
        gain: How many it would let in.
        times: When the ticket was enqueued, and the present instant.
    """
    born, now = times
    limit = limit_now(rule, now - born)
    text = (
        f"{rule_name(rule)} of {limit_text(rule, wanted)} instead of {limit_text(rule, limit)} "
        f"would allow {count(gain, 'more candidate')}"
    )
    if rule.unit == "relative":
        return text
    at = born + inverse(rule.limit, rule.expand)(wanted)
    if at == math.inf:
        return f"{text}; this ticket's own never widens so far"
    left = seconds(max(0.0, at - now))
    if at > born + queue.ends_after:
        return f"{text}; this ticket's own is as wide only in {left}, after its longest wait"
    return f"{text}; this ticket's own is as wide in {left}"


def nice_above(need: float, rule: Rule) -> float:
    """Return a limit with few digits that is at least as wide as needed.

    >>> nice_above(203.7, Rule("spread", "rating"))
    204.0
    """
    if need <= 0.0 or not kind_of(rule).is_measure:
        return need
    digits = 2 - math.floor(math.log10(need))
    if digits > 12 or digits < -12:
        return need
    step = 10.0**-digits
    nice = math.ceil(need / step) * step
    nice = round(nice, max(0, digits))
    return nice if nice >= need else need


# The changes needed for a match before a ticket's deadline, if its limits widen too late.

SOONER = "to play sooner, it would need others who fit better, or limits that widen faster"


def in_time(
    table: PairColumnTable, pairwise: PairwiseView, later: Prospect, deadline: float
) -> str:
    """Return what the first match would need to be legal in time, as a clause.

    Args:
        table: The table.
        pairwise: The comparison of the ticket with all others.
        later: The first match with it, legal after the deadline.
        deadline: When the ticket's wait ends.

    Complexity:
        O(tickets of the match) for each rule.
    """
    own = table.tickets[pairwise.row].id
    rows = np.array([table.row_of(each) for each in later.tickets if each != own], dtype=np.intp)
    wanted = []
    for obstacle in pairwise.obstacles:
        if obstacle is not None:
            late = rows[obstacle.ready_at[rows] > deadline]
            if len(late):
                worst = int(late[np.argmax(obstacle.needs[late])])
                wanted.append(_wanted(obstacle, table, (pairwise.row, worst), deadline))
    # If only two of the others are kept apart, the rule responsible is not known here.
    who = " with people" if table.queue.on_deadline == "bots" else ""
    return f"to play{who} in time, it would need {list_in_words(wanted)}" if wanted else SOONER


def _wanted(
    obstacle: Obstacle, table: PairColumnTable, pair: tuple[int, int], deadline: float
) -> str:
    """Return the limit that one rule would need for two tickets by a deadline."""
    rule = obstacle.rule
    if not kind_of(rule).is_measure:
        return f"a match without {rule_name(rule)}"
    need = limit_text(rule, nice_above(float(obstacle.needs[pair[1]]), rule))
    limits = [limit_now(rule, deadline - table.tickets[row].enqueued_at) for row in pair]
    reached = limit_text(rule, min(limits) if rule.accept == "both" else max(limits))
    return f"{rule_name(rule)} of {need} by then instead of {reached}"
