"""Why a ticket still waits, as facts: what an explanation says about one ticket.

Instants are engine time in seconds, as `enqueued_at` is; what lies never ahead is null.
"""

from __future__ import annotations

import msgspec


class Tolerance(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What one rule makes of the other tickets of the queue, seen from this ticket.

    Args:
        rule: The kind.
        attribute: What it compares, or ""; the name of a rule of a rule set.
        unit: `difference`, `relative` (a share of one's own value) or `percentile`.
        accept: Whose limit must have reached the gap: that of `both`, or of `either`.
        limit: This ticket's limit now.
        next_at: When it changes next; now, if it grows all the time; null if it never will.
        next_limit: The limit then; null if it grows all the time, or not at
            all, and for a rule of a rule set, which has no limit.
        final: The limit that it ends at; null if it grows without an end.
        is_pairwise: Whether two tickets alone can break the rule. Where it looks at the whole
            match, no single ticket is blocked by it.
        blocks: Tickets that it keeps apart from this one now.
        blocks_alone: Those of them whom nothing else keeps apart from this one.
        blocks_forever: Those of `blocks` whom no wait lets in.
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


class Acceptance(msgspec.Struct, frozen=True, gc=False):
    """Who accepts whom, of the other tickets that fit into a match with this one.

    Args:
        both: They accept this one, and it accepts them.
        only_they: They accept this one, and it does not accept them yet.
        only_you: It accepts them, and they do not accept it yet.
        neither: Nobody of both accepts.
    """

    both: int
    only_they: int
    only_you: int
    neither: int


class Seats(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What sizes, sides and roles have to say.

    Args:
        misfits: Tickets that can be in no match with this one, whatever the rules say: of a size,
            with a side or with roles that do not go together.
        fills: Whether this one and tickets that may play with it now can fill a match.
        fills_without_rules: Whether they could if no rule kept anybody apart.
        players_missing: Players that are missing for a match, the smallest that may start: seats
            that this one and those who may play with it leave empty, as their parties and roles
            go together. In a queue with roles and parties it is a number that is missing at least.
        roles_missing: How many of these have to play a role at least, by role.
        sizes_missing: Sizes of parties each of which alone would complete a match.
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
        at: The instant from which on every rule allows it; not after now if it is legal already.
        tickets: Ids by age, this one included.
        teams: Ids by team.
        quality: As of any match; null where nothing is scaled.
        cost: Criteria and waiting together, if it is made at `at`, or now if that is later.
        criteria_cost: The criteria's part of it.
        is_exact: Whether it is the best of all legal matches, or the first that becomes legal;
            else the best that a short search has found.
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
        code: For programs: `paused`, `policy_failed`, `delayed`, `held`, `computing`, `round`,
            `policy`, `alone`, `seats`, `not_yet`, `never`, `rules`; and among the longest waiting
            `not_searched`, where whole matches are looked for on top only.
        text: The same as a clause for people.
        until: Engine time until which it holds, where that is known. Of `policy`, it is when it
            means to make a match, or does at the latest, or else when it looks again.
    """

    code: str
    text: str
    until: float | None = None


class QueuePart(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A ticket in one queue.

    Args:
        queue: Name.
        policy: The SPEC of its policy.
        others: Other tickets that wait there.
        compared: Those of them that were compared; fewer than `others` only where a rule can be
            compared ticket by ticket alone and many wait.
        allowed: Tickets that sizes, sides, roles and rules allow in a match with this one now.
        rules: In the order of the queue, those of the policy last.
        acceptance: Who accepts whom.
        seats: What sizes, sides and roles have to say.
        now: The best match that would be legal now: the least cost of the criteria, then the
            longest waiting partner.
        later: The match that becomes legal first, of those that are not legal yet.
        deadline_at: When the queue's longest wait is over.
        at_deadline: What becomes of the ticket then: `bots`, `expire` or `keep`.
        reason: Why no match is made now.
        changes: What would have to change, in clauses.
        summary: A few sentences for people, five at most, the most important first.
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
        answer_by: Until when this ticket has to answer.
        accepted: Tickets all of whose players have accepted.
        awaited: Tickets whose players have not all accepted yet.
        free_seats: Seats for which replacements are sought, since somebody declined or left.
        repair_until: Until when they are sought; null while nobody is missing.
        quality: Of the match as it was first proposed.
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
        state: As of any ticket.
        at: The instant that it is told of.
        wait: Seconds that it waits, or has waited.
        players: Its size; null of an ended ticket.
        match: The match or the proposal that it is in.
        reason: Why it ended.
        queues: A part for each queue that it waits in; none while it is proposed.
        check: The ready-check that it is in.
        summary: A few sentences for people; of several queues, the nearest match comes first.
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
    """A line of the longest waiting.

    Args:
        ticket: Its id.
        wait: Seconds.
        size: Players.
        code: Of the `Reason` why no match is made.
        summary: As in the ticket's own explanation.
    """

    ticket: str
    wait: float
    size: int
    code: str
    summary: str


class LongestWaiting(msgspec.Struct, frozen=True, gc=False):
    """The longest waiting tickets of a queue.

    Args:
        queue: Name.
        at: The instant that it is told of.
        waiting: Tickets that wait in the queue.
        tickets: Longest waiting first.
    """

    queue: str
    at: float
    waiting: int
    tickets: tuple[LongWait, ...]
