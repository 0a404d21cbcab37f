"""A queue: a named way to play, and the rules and criteria of its matches."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from evenmatch.model.checks import Fault, range_of
from evenmatch.model.condition import Condition, NumberMerge
from evenmatch.model.fields import (
    INLINE,
    PER_SECOND,
    SLUG,
    AttributeName,
    Duration,
    Gap,
    Limit,
    Milliseconds,
    Period,
    Quantity,
    Seconds,
    Share,
    Slug,
    Step,
    Wait,
    WaitPrice,
    Weight,
)
from evenmatch.model.group_split import read_split

ScaleKind = Literal["linear", "capped", "log", "percentile", "none"]
Unit = Literal["difference", "relative", "percentile"]
Measure = Literal["mean", "sum"]
Accept = Literal["both", "either"]
Pairs = Literal["enemies", "teammates", "all", "region"]
OnDeadline = Literal["bots", "expire", "keep"]
Backfill = Literal["manual", "automatic"]
SideChoice = Literal["insist", "prefer"]
RECENT = "recent"
"""The attribute that says whom a player met last; the engine fills it in where a queue asks."""
TARGET_WAIT = 15.0
"""Mean wait in seconds that team queues keep unless the queue says otherwise."""
DAY = 86_400.0
"""Seconds for which a meeting counts for `pair_limit` unless the queue says otherwise."""
SEATS_MAX = 1000
SideName = Annotated[
    str, Meta(min_length=1, max_length=64, description="a name of 1 to 64 characters")
]
RANGE_MIN = 1e-9
"""The least difference between `max` and `min` of a scale."""
Seats = Annotated[int, Meta(ge=1, le=SEATS_MAX)]
Within = Annotated[float, Meta(ge=1.0, le=604_800.0, extra={"unit": "s"})]
Matches = Annotated[int, Meta(ge=1, le=20)]
SampleSize = Annotated[int, Meta(ge=1, le=10_000)]
"""Matches that players remember; engines keep no more than `encounters.OTHERS_MOST` people."""
Growth = Annotated[float, Meta(ge=0.0, le=1e15, extra={**PER_SECOND, "least": 1e-9})]
Point = Annotated[
    tuple[float, float],
    Meta(
        description="a pair [wait in seconds, limit]",
        extra={"many": "pairs [wait in seconds, limit]"},
    ),
]
Points = Annotated[tuple[Point, ...], Meta(min_length=1)]
SPEC = 'a SPEC of 1 to 500 characters such as "greedy"'
Spec = Annotated[str, Meta(pattern=r"\S", max_length=500, description=SPEC)]
SPLIT = "hash:PARTS, bands:rating:PARTS or bands:ATTRIBUTE:CUT,CUT,..."
LADDER = r"\A[A-Za-z0-9_.-]{0,64}\Z"
CONTRADICTION = (
    "contradicts wait_price: a target sets the price of waiting by itself; leave one out"
)


class Format(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Who fits into a match.

    Args:
        players: Seats per team, one number a team.
        sides: Names of the teams in output order; empty if teams are interchangeable.
        party_sizes: Party sizes admitted; empty means all that fit into a team.
        players_min: Players whom each team needs at least, 0 if it may stay empty; an empty
            tuple means that only full matches start. `least` has the numbers in either case.
        roles: Names of the roles in a team and how many players each takes, which add up to the
            seats of every team; empty means that the game has none.
        side_choice: What a ticket's `side` is: with `insist` no match puts it on another side;
            with `prefer` it is a wish, granted where the match allows it.
    """

    players: tuple[Seats, ...] = (1, 1)
    sides: tuple[SideName, ...] = ()
    party_sizes: tuple[int, ...] = ()
    players_min: tuple[int, ...] = ()
    roles: tuple[tuple[str, int], ...] = ()
    side_choice: SideChoice = "insist"

    @property
    def strict_sides(self) -> tuple[str, ...]:
        """Return the sides that tickets may insist on: none where a side is only a wish."""
        return self.sides if self.side_choice == "insist" else ()

    @property
    def k(self) -> int:
        """Return the number of players of a full match."""
        return sum(self.players)

    @property
    def least_players(self) -> tuple[int, ...]:
        """Return the players whom each team needs at least."""
        return self.players_min or self.players

    @property
    def k_min(self) -> int:
        """Return the number of players of the smallest match."""
        return sum(self.least_players)

    @property
    def is_variable(self) -> bool:
        """Return whether a match may start before it is full."""
        return self.least_players != self.players

    @property
    def is_duel(self) -> bool:
        """Return whether a match is one player against one."""
        return self.players == (1, 1)

    @property
    def solo_only(self) -> bool:
        """Return whether every ticket is one player."""
        return max(self.players) == 1 or self.party_sizes == (1,)

    def admits(self, size: int) -> bool:
        """Return whether a party of this size may enter."""
        if self.party_sizes and size not in self.party_sizes:
            return False
        return 1 <= size <= max(self.players)


class Sample(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The values among which percentiles are taken: a table, or the last that came.

    Args:
        quantiles: The table: values at equal steps from the least to the greatest; empty means
            that the last values count.
        last: How many values of accepted tickets count.
    """

    quantiles: Annotated[tuple[Quantity, ...], Meta(max_length=1_001)] = ()
    last: SampleSize = 1_000

    def fault(self) -> Fault:
        """Return a value of the table that is less than the one before."""
        for index, (before, value) in enumerate(pairwise(self.quantiles), 1):
            if value < before:
                return f"quantiles[{index}]", f"is {value:g}; it may not fall, it was {before:g}"
        return None


class Scale(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How attribute values or gaps become costs in [0, 1]; see `criteria.scales`."""

    kind: ScaleKind = "linear"
    min: Quantity = 0.0
    max: Quantity = 1.0
    knee: Gap = 1.0
    cap: Quantity | None = None
    sample: Annotated[Sample, INLINE] = Sample()

    def fault(self) -> Fault:
        """Return a range in which nothing lies."""
        if self.kind == "linear" and self.max - self.min < RANGE_MIN:
            return "max", f"must be at least 1e-9 above min = {self.min:g}, got {self.max}"
        if self.kind in ("capped", "log") and self.max < RANGE_MIN:
            return "max", f"must be {range_of(Gap)}, got {self.max}"
        return None


class Sort(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """In which order the longest waiting ticket would try others, see `criteria.kinds.anchor_sort`.

    Args:
        order: Whose value comes first: the highest, the lowest, the nearest to its own, the
            farthest from it.
        key: Which key of a map it is about, the one to which the longest waiting ticket gives
            most, or least; None where a number is compared.
        party: How the values of a party are merged.
        default: The map of who brings none, as pairs.
    """

    order: Literal["high", "low", "near", "far"]
    key: Literal["max", "min"] | None = None
    party: NumberMerge = "avg"
    default: tuple[tuple[str, float], ...] = ()


class Criterion(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A soft preference: what is compared inside a match, and how much it matters.

    Args:
        kind: The comparison; see `criteria.kinds`.
        attribute: The value that is compared; `party_parity` needs none.
        weight: How much the criterion counts (f_d of Schlup); the default is k / (number of
            criteria), where k is the players of a match.
        scale: From values or gaps to [0, 1].
        measure: For `imbalance`: compare the teams' means or sums.
        step: For `imbalance` of sums: differences are rounded down to multiples of this; 0 means
            not at all.
        matches: For `rematch`: how many of each player's last matches count.
        pairs: For `latency`: the pairs that count, or `region` for one region that all play in;
            None means `enemies`.
        best: For `latency`: milliseconds that cost nothing.
        worst: For `latency`: milliseconds that cost 1.
        sort: For `anchor_sort`: in which order; no file says it.
    """

    kind: str
    attribute: str = ""
    weight: Weight | None = None
    scale: Scale = Scale()
    measure: Measure = "mean"
    step: Step = 0.0
    matches: Matches = 1
    pairs: Pairs | None = None
    best: Milliseconds = 25.0
    worst: Milliseconds = 400.0
    sort: Sort | None = None

    def fault(self) -> Fault:
        """Return limits of milliseconds between which nothing lies."""
        if self.worst < self.best * (1.0 + 1e-9):
            return "worst", f"must be above best = {self.best:g} ms, got {self.worst:g}"
        return None


class Expansion(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How a tolerance grows with the wait: by a rate, in steps, or along a curve.

    Args:
        rate: How much the limit grows per second.
        steps: Pairs (wait in seconds, limit from then on); both numbers increase.
        curve: Pairs (wait in seconds, limit); in between, the limit follows straight lines.
        max: The limit never exceeds this; without it there is no cap.
    """

    rate: Growth = 0.0
    steps: Points = ()
    curve: Points = ()
    max: Limit | None = None

    def fault(self) -> Fault:
        """Return more ways to grow than one, or none."""
        given = [key for key in ("rate", "steps", "curve") if getattr(self, key)]
        if len(given) > 1:
            return "", f"must have exactly one of rate, steps and curve, got {' and '.join(given)}"
        if not given:
            return "", "must have exactly one of rate > 0, steps and curve, got none"
        return None


class Rule(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A hard constraint that may widen with the wait.

    Args:
        kind: The comparison; see `criteria.kinds`.
        attribute: The value that is compared; `party_parity` needs none.
        limit: Largest gap accepted at once: milliseconds for `latency`, the difference of party
            sizes for `party_parity`, hosts missing to two for `host_options`; where a rule is kept
            or broken (`same`, `overlap`, `avoid`) 0, and 1 lifts it; for `pair_limit` the matches
            of a pair, for `household_limit` the players of a household.
        unit: What the limit is measured in: `difference` (points), `relative` (a fraction of the
            player's own value) or `percentile` (a fraction of all players: 0.05 is 5 % of them).
        expand: How the limit widens as the ticket waits; without it it never does.
        measure: As for a criterion.
        matches: As for a criterion.
        accept: Whose limit must allow the gap: with `both` the limits of all tickets in the match,
            with `either` the limit of one of them.
        sample: Where percentiles are taken.
        pairs: For `latency`, `avoid`, `pair_limit` and `household_limit`: the pairs that count;
            None means `enemies` for the first and `all` for the others.
        within: For `pair_limit`: seconds for which a match counts.
        condition: For `condition`: what the teams of a match must be like, by its age.
    """

    kind: str
    attribute: str = ""
    limit: Limit = 0.0
    unit: Unit = "difference"
    expand: Expansion | None = None
    measure: Measure = "mean"
    matches: Matches = 1
    accept: Accept = "both"
    sample: Annotated[Sample, INLINE] = Sample()
    pairs: Pairs | None = None
    within: Within = DAY
    condition: Condition | None = None


class Handicap(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Points given to weaker teams before the start; see `criteria.handicap`.

    Args:
        factor: Points given for each point of difference between the teams' means.
        max: The most points that a team is given; without it there is no cap.
        step: Points are rounded down to multiples of this; 0 means not at all.
        attribute: The attribute that says how strong a player is.
    """

    factor: Gap
    max: Gap | None = None
    step: Step = 0.0
    attribute: AttributeName = "rating"

    def fault(self) -> Fault:
        """Return a step by which no points could be given."""
        if self.max is not None and self.step > self.max:
            return "step", f"must be at most max = {self.max:g}, got {self.step}"
        return None


class Queue(msgspec.Struct, frozen=True, omit_defaults=True, dict=True):
    """A named way to play.

    Args:
        name: The queue's name, unique in its shard.
        format: Teams and seats.
        criteria: Soft preferences; without any, only waiting counts.
        rules: Hard constraints.
        wait_max: Longest wait in seconds; without it there is no deadline.
        wait_price: What a second of one player's waiting costs; the default is 1/wait_max, or 1
            without wait_max.
        target_wait: The mean wait in seconds that `rolling` aims for, including the ready-check.
            Give this or `wait_price`, not both; without either it is 15 s, or a quarter of
            `wait_max` if that is less.
        on_deadline: What happens to a ticket that has waited for `wait_max`: `bots` fill its match,
            it ends as `expired` (`expire`), or it waits on (`keep`).
        policy: The SPEC of the policy that makes the matches. The default is `rolling` for teams
            and for matches that may start before they are full; for single players it is `price`
            (one against one) or `group_price` if criteria compare numbers, else `greedy`. Without
            criteria, or with a `wait_price` of 0, it is `greedy`. `evenmatch check` says which one
            a queue gets, and why.
        group: Queues of the same group share players.
        exclusive_match: Whether players of its live matches may not queue, here or in any other
            queue of its group; queues of other groups take them.
        match_max: Seconds after which a match counts as live no more, and asks for no players.
        silent_after: Seconds without a heartbeat after which a ticket is cancelled; None means
            never.
        accept: The ready-check; None means that matches are final at once.
        attributes: Further attribute names that tickets may carry; they may always carry `latency`.
        defaults: Attributes that tickets may leave out, and what they are then.
        handicap: Points that matches give to weaker teams; without it they give none.
        backfill: Whether running matches may get new players: with `manual` when the game's backend
            opens them, with `automatic` also as soon as a match starts that is not full; None means
            never.
        allocation: The name of the hook that finds a server for each match; None means none.
        shadow: The SPEC of a policy that the server runs beside the live one, only to count what it
            would have done. In simulations, use `evenmatch compare` instead.
        switchback: Policies that take turns on a server so that you can compare them, instead of
            one `policy`.
        rating: The SPEC of the rating system that outcomes update, such as `glicko2:tau=0.5`;
            without it outcomes change no ratings.
        rating_period: Length of a rating period in seconds, whose outcomes are rated together;
            without it each outcome is rated at once.
        ladder: Queues of the same ladder share their players' ratings; the default is the queue's
            group.
        commit_jitter: Longest time in seconds for which a new ticket is held back, each for a time
            of its own, so that two players who queue at once do not meet because of it.
        split: Splits the queue's group into parts, which different nodes of a cluster can run;
            players of different parts never meet. `hash:4` splits by the first player's id,
            `bands:rating:4` or `bands:rating:1200,1500,1800` by their rating. All queues of a group
            must have the same value. By default the group stays whole, as it always does on a
            server outside a cluster.
    """

    name: Slug = "main"
    format: Annotated[Format, INLINE] = Format()
    criteria: Annotated[tuple[Criterion, ...], Meta(max_length=16)] = ()
    rules: Annotated[tuple[Rule, ...], Meta(max_length=16)] = ()
    wait_max: Duration | None = None
    wait_price: WaitPrice | None = None
    target_wait: Duration | None = None
    on_deadline: OnDeadline = "expire"
    policy: Spec = "greedy"
    group: Slug = "default"
    exclusive_match: bool = False
    match_max: Seconds = 7200.0
    silent_after: Duration | None = None
    accept: ReadyCheck | None = None
    attributes: Annotated[tuple[AttributeName, ...], Meta(max_length=64)] = ()
    defaults: tuple[tuple[str, float | str | tuple[str, ...]], ...] = ()
    handicap: Handicap | None = None
    backfill: Backfill | None = None
    allocation: Slug | None = None
    shadow: str | None = None
    switchback: Switchback | None = None
    rating: Annotated[Spec, Meta(description=SPEC.replace("greedy", "glicko2"))] | None = None
    rating_period: Period | None = None
    ladder: Annotated[str, Meta(pattern=LADDER, description=f"1 to 64 {SLUG}")] = ""
    commit_jitter: Wait = 0.0
    split: Annotated[str, Meta(max_length=1200, description=SPLIT)] = ""

    def fault(self) -> Fault:
        """Return settings that do not go together."""
        if self.on_deadline == "bots" and self.wait_max is None:
            return "on_deadline", '= "bots" needs wait_max, the instant at which bots come in'
        if self.target_wait is not None and self.wait_price is not None:
            return "target_wait", CONTRADICTION
        for key, wait in (("target_wait", self.target_wait), ("commit_jitter", self.commit_jitter)):
            if wait is not None and self.wait_max is not None and wait >= self.wait_max:
                end = f"wait_max = {self.wait_max:g} s, at which a ticket ends"
                return key, f"must be below {end}, got {wait}"
        if self.rating_period is not None and self.rating is None:
            return "rating_period", "needs rating, the system by which outcomes are rated"
        try:
            split = read_split(self.split)
        except ValueError as error:
            return "split", str(error)
        if split is not None and split.kind == "bands" and self.rating is not None:
            return "split", (
                "by bands needs numbers that come with the ticket, and rating keeps them here; "
                'take "hash:PARTS"'
            )
        if self.handicap is not None and len(self.format.players) < 2:
            return "handicap", "compares teams, and this queue has one"
        for index, name in enumerate(self.attributes):
            if name in self.attributes[:index]:
                return f"attributes[{index}]", f'repeats "{name}"; names must be different'
        return None

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Return the kinds of all criteria and rules; each match of the queue is asked for them."""
        of_rules = [rule.kind for rule in self.rules]
        return frozenset([criterion.kind for criterion in self.criteria] + of_rules)

    @cached_property
    def keeps_rosters(self) -> bool:
        """Return whether its matches keep a roster, so that they may be filled or called off."""
        return bool(self.backfill or self.allocation)

    @property
    def asks_newcomers(self) -> ReadyCheck | None:
        """Return the ready-check of those who are to join a running match; None: they just join."""
        return self.accept if self.accept is not None and self.accept.newcomers else None

    @property
    def rated_in(self) -> str:
        """Return the name of the ladder whose ratings its tickets get."""
        return self.ladder or self.group

    def judges_like(self, other: Queue) -> bool:
        """Return whether both call the same matches legal and equally good, whoever decides."""
        return _without_policies(self) == _without_policies(other)

    def plays_like(self, other: Queue) -> bool:
        """Return whether the matches of both are made in the same way."""
        return _plain(self) == _plain(other)

    @property
    def target(self) -> float | None:
        """Return the mean wait that is wanted; None where a price says what waiting is worth."""
        if self.target_wait is not None or self.wait_price is not None:
            return self.target_wait
        return min(TARGET_WAIT, math.inf if self.wait_max is None else self.wait_max / 4.0)

    @property
    def ends_after(self) -> float:
        """Return the seconds of waiting at which a deadline ends them; inf if none does."""
        return math.inf if self.wait_max is None or self.on_deadline == "keep" else self.wait_max

    @property
    def price(self) -> float:
        """Return the cost of one player-second of waiting."""
        if self.wait_price is not None:
            return self.wait_price
        return 1.0 if self.wait_max is None else 1.0 / self.wait_max


def _plain(queue: Queue) -> Queue:
    """Return a queue without what only watches it or chooses its policy."""
    return msgspec.structs.replace(queue, shadow=None, switchback=None)


def _without_policies(queue: Queue) -> Queue:
    return msgspec.structs.replace(queue, policy="", shadow=None, switchback=None)


# The ready-check of a queue.


class ReadyCheck(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A ready-check: players confirm a match before it is made; see `engine.ready_check`.

    Args:
        seconds: Seconds that players have to accept a match.
        loss_max: How much quality a match may lose when players are replaced, compared with the
            match as first proposed.
        cooldowns: Seconds for which a player may not queue after failing a second, third, ...
            ready-check within a day; the last number repeats, and the first failure costs nothing.
        repair: Seconds for which the server looks for replacements; with 0 everyone else waits
            again at once.
        again: Seconds for which the same players are not proposed together again after their
            ready-check failed.
        long_wait: Seconds of waiting after which a ticket counts as long-waiting, and its players
            get `long_seconds`; without it no ticket does.
        long_seconds: Seconds that the players of a long-waiting ticket have to accept; by default
            as long as all others.
        newcomers: Whether players who are about to join a running match are asked too.
    """

    seconds: Seconds = 15.0
    loss_max: Share = 0.05
    cooldowns: Annotated[tuple[Wait, ...], Meta(max_length=20)] = (60.0, 300.0, 900.0)
    repair: Wait = 10.0
    again: Wait = 30.0
    long_wait: Wait | None = None
    long_seconds: Seconds | None = None
    newcomers: bool = True

    def fault(self) -> Fault:
        """Return a longer time to confirm that is none, or that nobody gets."""
        if self.long_seconds is None:
            return None
        if self.long_seconds < self.seconds:
            given = f"at least seconds = {self.seconds:g}, got {self.long_seconds}"
            return "long_seconds", f"must be {given}"
        if self.long_wait is None:
            return "long_seconds", "needs long_wait, the wait after which it counts"
        return None

    def answer_by(self, enqueued_at: float, now: float) -> float:
        """Return until when a ticket that is asked now has to answer."""
        if self.long_wait is not None and now - enqueued_at >= self.long_wait:
            return now + (self.long_seconds or self.seconds)
        return now + self.seconds

    def had_waited_long(self, enqueued_at: float, answer_by: float, latest: float) -> bool:
        """Return whether a ticket was asked after a long wait.

        Its players may have walked away, so that clients should call them louder.

        Args:
            enqueued_at: When it entered.
            answer_by: Until when it has to answer; an outage may have given it more time.
            latest: When the last tickets of the match were asked, of which it may be one.
        """
        asked_at = min(answer_by - (self.long_seconds or self.seconds), latest)
        return self.long_wait is not None and asked_at - enqueued_at >= self.long_wait


# A switchback: two policies or more that take turns, so that they can be compared.


class Switchback(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Policies that take turns by blocks of time, in an order drawn for each round of them.

    Args:
        policies: The SPECs of two or more policies; the others are compared with the first.
        block: Length of a block in seconds; in each block one policy makes the matches.
        seed: Seed of the random order of the blocks.
        trim: Share at the start of each block whose tickets are left out of the comparison, because
            they meet a pool that the previous policy has left.
    """

    policies: Annotated[tuple[str, ...], Meta(min_length=2, max_length=10)]
    block: Period = 1800.0
    seed: int = 1
    trim: Annotated[float, Meta(ge=0.0, le=0.9)] = 0.25
