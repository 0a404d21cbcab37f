"""Why a ticket still waits: the facts that an explanation gives about one ticket.

Times are engine time in seconds, like `enqueued_at`; what will never happen is null.
"""

from __future__ import annotations

import msgspec


class Tolerance(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Which other tickets of the queue one rule keeps apart from this ticket.

    Args:
        rule: The kind of the rule.
        attribute: The attribute that it compares, or ""; for a rule of a rule set, its name.
        unit: `difference`, `relative` (a fraction of the ticket's own value) or `percentile`.
        accept: Whose limit must allow the gap: those of `both` tickets, or that of `either`.
        limit: This ticket's limit now.
        next_at: When the limit changes next; now, if it grows all the time; null if it never will.
        next_limit: The limit at that time; null if it grows all the time or not at all, and for a
            rule of a rule set, which has no limit.
        final: The final limit; null if it grows without end.
        is_pairwise: Whether two tickets alone can break the rule. A rule about the whole match
            blocks no single ticket.
        blocks: How many tickets it keeps apart from this one now.
        blocks_alone: How many of these nothing else keeps apart from this one.
        blocks_forever: How many of `blocks` it keeps apart however long they wait.
        blocks_by_theirs: How many of `blocks` are within this ticket's limit, so that only their
            own limits keep them apart.
    """

    rule: str
    attribute: str
    unit: str
    accept: str
    limit: float
    next_at: float | None
    next_limit: float | None
    final: float | None
    is_pairwise: bool
    blocks: int
    blocks_alone: int
    blocks_forever: int
    blocks_by_theirs: int = 0


class Acceptance(msgspec.Struct, frozen=True, gc=False):
    """How many other tickets that fit into a match with this one accept it, or are accepted.

    Args:
        both: They accept this one, and it accepts them.
        only_they: They accept this one, and it does not accept them yet.
        only_you: It accepts them, and they do not accept it yet.
        neither: Neither accepts the other.
    """

    both: int
    only_they: int
    only_you: int
    neither: int


class Seats(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Whether party sizes, sides and roles allow a match.

    Args:
        misfits: Tickets that can never be in a match with this one, whatever the rules say, because
            their sizes, sides or roles do not fit together.
        fills: Whether this ticket and those that may play with it now can fill a match.
        fills_without_rules: Whether they could if no rule kept tickets apart.
        players_missing: How many players are missing from the smallest match that may start: the
            seats that this ticket and those that may play with it leave empty. In a queue with
            roles and parties it is a lower bound.
        roles_missing: How many of the missing players must at least play each role.
        sizes_missing: Party sizes with which a single party would complete a match.
    """

    misfits: int
    fills: bool
    fills_without_rules: bool
    players_missing: int = 0
    roles_missing: dict[str, int] = {}
    sizes_missing: tuple[int, ...] = ()


class Prospect(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A match that this ticket could play.

    Args:
        at: The time from which every rule allows it; not later than now if it is already legal.
        tickets: Ids of the tickets, the longest waiting first, including this one.
        teams: Ids of the tickets by team.
        quality: The quality, as for any match; null if no criterion is scaled.
        cost: Cost of criteria and waiting together, if the match is made at `at`, or now if that is
            later.
        criteria_cost: The part of `cost` that comes from the criteria.
        is_exact: Whether it is proved to be the best legal match, or the first to become legal;
            otherwise it is the best that a short search has found.
    """

    at: float
    tickets: tuple[str, ...]
    teams: tuple[tuple[str, ...], ...]
    quality: float | None
    cost: float
    criteria_cost: float
    is_exact: bool


class Reason(msgspec.Struct, frozen=True, gc=False):
    """Why no match is made now.

    Args:
        code: A word for programs: `paused`, `policy_failed`, `delayed`, `held`, `computing`,
            `round`, `policy`, `alone`, `seats`, `not_yet`, `never` or `rules`; in the list of the
            longest waiting also `not_searched`, since whole matches are searched only for its first
            tickets.
        text: The same for people, as a clause.
        until: Engine time until which the reason holds, if that is known. For `policy` it is when
            the policy intends to make a match, or will at the latest, or otherwise when it decides
            next.
    """

    code: str
    text: str
    until: float | None = None


class QueuePart(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What holds for a ticket in one of its queues.

    Args:
        queue: The queue's name.
        policy: The SPEC of its policy.
        others: How many other tickets wait there.
        compared: How many of them were compared. These are fewer than `others` only if many wait
            and a rule must be checked ticket by ticket.
        allowed: How many tickets may be in a match with this one now, by sizes, sides, roles and
            rules.
        rules: The rules in the order of the queue, those of the policy last.
        acceptance: Who accepts whom.
        seats: Whether party sizes, sides and roles allow a match.
        now: The best match that would be legal now: the one whose criteria cost least, and of equal
            ones the one with the longest waiting partner. Partners whom a failed ready-check or
            `commit_jitter` keeps aside come last.
        later: Of the matches that are not legal yet, the one that becomes legal first; one whose
            other tickets leave before that only where there is no other.
        deadline_at: When the ticket will have waited for the queue's `wait_max`.
        at_deadline: What happens to the ticket at that time: `bots`, `expire` or `keep`.
        reason: Why no match is made now.
        changes: What would have to change for a match, as clauses.
        summary: At most five sentences for people, the most important first.
    """

    queue: str
    policy: str
    others: int
    compared: int
    allowed: int
    rules: tuple[Tolerance, ...]
    acceptance: Acceptance
    seats: Seats
    now: Prospect | None
    later: Prospect | None
    deadline_at: float | None
    at_deadline: str | None
    reason: Reason
    changes: tuple[str, ...]
    summary: str


class Check(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A ready-check that a ticket is in.

    Args:
        match: The proposal's id.
        queue: Its queue.
        answer_by: The time by which this ticket must answer.
        accepted: The tickets whose players have all accepted.
        awaited: The tickets whose players have not all accepted yet.
        free_seats: How many seats the server is finding replacements for, because players declined
            or left.
        repair_until: The time until which it does; null while nobody is missing.
        quality: The quality of the match as it was first proposed.
    """

    match: str
    queue: str
    answer_by: float | None
    accepted: tuple[str, ...]
    awaited: tuple[str, ...]
    free_seats: int = 0
    repair_until: float | None = None
    quality: float | None = None


class Explanation(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Why a ticket still waits, or how it ended.

    Args:
        ticket: Its id.
        state: The state of the ticket.
        at: The engine time for which all this holds.
        wait: Seconds that it has waited so far, or waited in total.
        players: How many players it has; null if it has ended.
        match: The match or proposal that it is in.
        reason: Why it ended.
        queues: One part for each queue that it waits in; empty while it is proposed.
        check: The ready-check that it is in.
        summary: A few sentences for people; if it waits in several queues, the one with the nearest
            match comes first.
    """

    ticket: str
    state: str
    at: float
    wait: float
    players: int | None
    match: str | None
    reason: str | None
    queues: tuple[QueuePart, ...]
    check: Check | None
    summary: str


class LongWait(msgspec.Struct, frozen=True, gc=False):
    """A ticket in the list of the longest waiting.

    Args:
        ticket: Its id.
        wait: Seconds that it has waited.
        size: How many players it has.
        code: The code of the `Reason` why no match is made.
        summary: The summary of the ticket's own explanation.
    """

    ticket: str
    wait: float
    size: int
    code: str
    summary: str


class LongestWaiting(msgspec.Struct, frozen=True, gc=False):
    """The longest waiting tickets of a queue.

    Args:
        queue: The queue's name.
        at: The engine time for which all this holds.
        waiting: How many tickets wait in the queue.
        tickets: The tickets, the longest waiting first.
    """

    queue: str
    at: float
    waiting: int
    tickets: tuple[LongWait, ...]
