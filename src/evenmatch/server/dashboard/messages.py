"""The messages of the dashboard's stream and of its page about a match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from evenmatch.criteria.gaps import gap_of_name
from evenmatch.model.match import Match
from evenmatch.model.queue import Criterion
from evenmatch.model.ticket import Ticket
from evenmatch.server.dashboard.queue_figures import QueueFigures, RecordedMatch, Table
from evenmatch.server.dashboard.waiting_summary import Heat
from evenmatch.server.views.stalled_queues import StalledQueue

ValueT = TypeVar("ValueT")
TOLD_APART_BY = ("measure", "pairs", "scale", "weight")
"""Settings that tell two criteria of one kind and attribute apart, the first that differs."""


class QueueShown(msgspec.Struct, frozen=True, gc=False):
    """A queue in the chooser, and how it is configured."""

    name: str
    players: tuple[int, ...]
    policy: str
    wait_max: float | None
    ready_check: bool
    paused: bool
    fault: str | None


class Queues(msgspec.Struct, frozen=True, gc=False):
    """All queues and the one that is shown; `unready` is why the server takes no tickets."""

    queue: str
    version: int
    speed: float
    unready: str | None
    queues: tuple[QueueShown, ...]


class LastHour(msgspec.Struct, frozen=True, gc=False):
    """The last hour of a queue; a tick lasts `step` engine seconds, one real second."""

    step: float
    overdue_after: float
    fine: Table
    coarse: Table


SAME_SIZES = "teams of the same party sizes"
CLAUSES = {
    "gap": "{of} {value} apart",
    "team gap": "{of} {value} apart between teams",
    "team gap of sums": "{of} {value} apart between the sums of teams",
    "player gap": "{of} {value} apart between two players",
    "widest gap": "{of} {value} apart from the lowest to the highest",
    "mean ping": "a mean ping of {value}",
    "worst ping": "a worst ping of {value}",
    "players off their role": "{value} of players off their role",
    SAME_SIZES: "{value} of matches with the same party sizes in all teams",
}
"""Gaps in clauses, by their words; others go by name and number."""


class GapShown(msgspec.Struct, frozen=True, gc=False):
    """A gap of a match, or of the last matches on average, in the unit of what is compared.

    Args:
        name: What it is, such as `rating: team gap` or `latency: worst ping`.
        unit: `ms`, `%` for a share in [0, 1], or empty for the unit of the attribute.
        value: The size of the gap.
        shown: The size for people, with its unit.
        text: Name and number as a clause, such as `rating 120 apart between teams`.
    """

    name: str
    unit: str
    value: float
    shown: str
    text: str


class LoopShown(msgspec.Struct, frozen=True, gc=False):
    """The event loop: its longest stall of the last minute, real seconds, and who decides on it.

    Args:
        longest: Seconds.
        decisions: Of the queue's policy in the last five minutes.
        over: How many of them took longer than `budget` seconds.
        longest_decision: Seconds.
        is_slow: Whether that happens again and again.
    """

    longest: float
    budget: float
    decisions: int
    over: int
    longest_decision: float
    is_slow: bool


class Tick(msgspec.Struct, frozen=True, gc=False):
    """A queue now.

    Args:
        now: Engine time.
        wall: The same instant, Unix seconds.
        rows: The last closed ticks, as in `LastHour`.
        oldest: The ticket that has waited longest.
        qualities: Matches by quality, twenty bars from 0 to 1.
        gaps: Means over the last fifty matches without bots.
        totals: Since the server started.
        asked: Players who were asked to accept in the last five minutes.
        unready: Those who declined, withdrew or did not answer.
        still: Where the queue stands still, for how long, and what would be usual.
    """

    now: float
    wall: float
    rows: Table
    waiting: int
    oldest: str | None
    heat: Heat
    qualities: tuple[int, ...]
    gaps: tuple[GapShown, ...]
    totals: dict[str, int]
    asked: int
    unready: int
    loop: LoopShown
    still: StalledQueue | None


class Factor(msgspec.Struct, frozen=True, gc=False):
    """What a criterion cost in a match.

    Args:
        name: Kind and attribute of the criterion.
        cost: What it cost, in [0, 1] if it is scaled; 0 is best.
        weighted: Its part of the match's cost, with its weight.
    """

    name: str
    cost: float
    weighted: float


class PartyShown(msgspec.Struct, frozen=True, gc=False):
    """A ticket of a match.

    Args:
        ticket: Its id.
        players: Ids of its players.
        wait: Seconds that it waited; null if the server no longer knows.
        rating: Mean rating of its players; null if the server no longer knows.
        roles: The role of each of `players`, in queues that have roles.
        latency_delta: For each of `players`, how many milliseconds the latency to the match's
            region is above their lowest latency, in queues that compare latencies.
    """

    ticket: str
    players: tuple[str, ...]
    wait: float | None
    rating: float | None
    roles: tuple[str, ...] = ()
    latency_delta: tuple[float, ...] = ()


class MatchShown(msgspec.Struct, frozen=True, gc=False):
    """How a match came about.

    Args:
        match: Its id.
        queue: Its queue.
        policy: The SPEC of the policy that made it.
        at: When it was made, engine time in seconds.
        bots: Seats filled by computer players.
        quality: How good it is, from 0 to 1; null if no criterion is scaled.
        waiting: What its players' waits cost; null if the server no longer knows.
        record: The number of the journal's record that made it.
        teams: Its tickets by team.
        cost: The cost of criteria and waiting together.
        factors: What each criterion cost; null if the server no longer knows.
        gaps: Its gaps in the units of what is compared; empty if they are not known or bots play.
        region: The best region for all, in queues that compare latencies.
    """

    match: str
    queue: str
    policy: str
    at: float
    record: int
    teams: tuple[tuple[PartyShown, ...], ...]
    bots: int
    quality: float | None
    cost: float
    waiting: float | None
    factors: tuple[Factor, ...] | None
    gaps: tuple[GapShown, ...]
    region: str | None = None


def match_message(made: RecordedMatch, figures: QueueFigures) -> MatchShown:
    """Return how a match came about."""
    match, queue = made.match, made.queue
    known = {ticket.id: ticket for ticket in made.tickets if ticket is not None}
    costs = figures.factors(made)
    factors, waiting = None, None
    if costs is not None:
        names = names_of(queue.criteria)
        factors = tuple(
            Factor(name, cost, cost * weight)
            for name, (cost, weight) in zip(names, costs, strict=True)
        )
        waits = sum(ticket.size * (match.at - ticket.enqueued_at) for ticket in known.values())
        waiting = queue.price * (waits + match.bots * (queue.wait_max or 0.0))
    facts = _Facts(match)
    return MatchShown(
        match.id,
        match.queue,
        queue.policy,
        match.at,
        made.record,
        tuple(tuple(_party(name, known.get(name), facts) for name in t) for t in match.teams),
        match.bots,
        match.quality,
        match.cost,
        waiting,
        factors,
        gap_messages(figures.gaps(made), is_one=True),
        match.region,
    )


def gap_messages(gaps: Mapping[str, float], *, is_one: bool = False) -> tuple[GapShown, ...]:
    """Return gaps by name as people read them.

    Args:
        gaps: Numbers in their own units.
        is_one: Whether they are of one match, which has a property or has it not.
    """
    found = []
    for name, value in gaps.items():
        gap = gap_of_name(name)
        attribute = name.rpartition(": ")[0]
        shown = _number(value, gap.unit)
        text = CLAUSES.get(gap.words, f"{name} {{value}}").format(of=attribute, value=shown)
        if is_one and gap.words == SAME_SIZES:
            shown = "yes" if value else "no"
            text = f"{'the same' if value else 'different'} party sizes in its teams"
        found.append(GapShown(name, gap.unit, value, shown, text))
    return tuple(found)


def _number(value: float, unit: str) -> str:
    """Return a number with its unit.

    >>> _number(1234.5, ""), _number(47.62, "ms"), _number(0.157, "%"), _number(8.0, "")
    ('1,234', '47.6 ms', '16 %', '8')
    """
    if unit == "%":
        return f"{100.0 * value:.0f} %"
    text = f"{value:,.0f}" if abs(value) >= 100.0 or value == int(value) else f"{value:.1f}"
    return f"{text} {unit}" if unit else text


class _Facts:
    """What a match says of each of its players."""

    def __init__(self, match: Match) -> None:
        self.at = match.at
        self.roles = _by_player(match.players, match.roles)
        self.latency_delta = _by_player(match.players, match.latency_delta)


def _by_player(
    players: tuple[tuple[str, ...], ...], values: tuple[tuple[ValueT, ...], ...] | None
) -> dict[str, ValueT]:
    """Return values that stand by team and player, by player; none where there are none."""
    if not values:
        return {}
    teams = zip(players, values, strict=True)
    return {name: each for team, row in teams for name, each in zip(team, row, strict=True)}


def _party(name: str, ticket: Ticket | None, facts: _Facts) -> PartyShown:
    if ticket is None:
        return PartyShown(name, (), None, None)
    ratings = [player.rating.mean for player in ticket.players if player.rating is not None]
    rating = sum(ratings) / len(ratings) if ratings else None
    players = tuple(player.id for player in ticket.players)
    return PartyShown(
        name,
        players,
        facts.at - ticket.enqueued_at,
        rating,
        tuple([facts.roles[each] for each in players if each in facts.roles]),
        tuple([facts.latency_delta[each] for each in players if each in facts.latency_delta]),
    )


def names_of(criteria: tuple[Criterion, ...]) -> list[str]:
    """Return the names of a queue's criteria; two of a kind are told apart by their settings.

    >>> from evenmatch.model.queue import Scale
    >>> names_of(
    ...     (
    ...         Criterion("latency", "latency"),
    ...         Criterion("imbalance", "rating"),
    ...         Criterion("imbalance", "rating", measure="sum", weight=2.0),
    ...     )
    ... )
    ['latency', 'imbalance of rating (measure mean)', 'imbalance of rating (measure sum)']
    """
    names = []
    for criterion in criteria:
        alike = [each for each in criteria if _kind_of(each) == _kind_of(criterion)]
        said = _kind_of(criterion)
        for field in TOLD_APART_BY:
            values = {str(_value(each, field)) for each in alike}
            if len(values) > 1:
                said += f" ({field} {_value(criterion, field)})"
                break
        names.append(said)
    return names


def _kind_of(criterion: Criterion) -> str:
    if criterion.attribute in ("", criterion.kind):
        return criterion.kind
    return f"{criterion.kind} of {criterion.attribute}"


def _value(criterion: Criterion, field: str) -> object:
    return criterion.scale.kind if field == "scale" else getattr(criterion, field)
