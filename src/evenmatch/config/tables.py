"""The tables of a file where they differ from the values that they describe.

Most tables are decoded straight into those values, whose fields say what they may hold. Where None
takes the place of a default, a builder can tell "left out" from "set to the default". A table's
`Args` say what is different of a key; the rest stands with the value that it extends.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from evenmatch.config.server import ServerSettings, Tenant
from evenmatch.model import queue as queues
from evenmatch.model.checks import Fault
from evenmatch.model.fields import (
    FileName,
    Gap,
    Limit,
    Milliseconds,
    Quantity,
    Share,
    Step,
    TicketRateOrNone,
    Wait,
    Weight,
)
from evenmatch.model.scenario import ArrivalProcess, Distribution, Process, Scenario
from evenmatch.model.world import World

Counts = Annotated[dict[str, int], Meta(description="a table of whole numbers, role = players")]
RoleShares = Annotated[
    dict[str, Share], Meta(description="a table of numbers, roles joined by + = share of players")
]
GapOfOne = Annotated[Gap, Meta(extra={"meaning": "the gap that costs 1"})]


class _Scale(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """From values or gaps to [0, 1]."""

    DEFAULT_TAG: ClassVar[str] = "linear"


class LinearScale(_Scale, frozen=True, kw_only=True, tag="linear"):
    """Maps values between `min` and `max` to [0, 1].

    Args:
        min: The value that counts as 0.
        max: The value that counts as 1.
    """

    min: Quantity = 0.0
    max: Quantity = 1.0


class CappedScale(_Scale, frozen=True, kw_only=True, tag="capped"):
    """Costs grow with the gap in proportion, up to `max`.

    Args:
        max: The gap that costs 1.
    """

    max: GapOfOne


class LogScale(_Scale, frozen=True, kw_only=True, tag="log"):
    """Costs grow with the logarithm of the gap: ln(1 + gap / knee) / ln(1 + max / knee).

    Args:
        knee: The gap beyond which costs grow more slowly.
        max: The gap that costs 1.
        cap: Values above it count as if they were equal to it.
    """

    knee: Gap = 1.0
    max: GapOfOne
    cap: Quantity | None = None


class PercentileScale(_Scale, frozen=True, kw_only=True, tag="percentile"):
    """Maps each value to the share of a distribution that is below it.

    Args:
        file: A CSV or Parquet file with the distribution, which is kept as 1,001 quantiles;
            `evenmatch:NAME` is a file that comes with evenmatch.
        column: The column of the file.
        last: Without `file`: how many of the last accepted tickets make up the distribution; 1,000
            by default.
    """

    file: FileName | None = None
    column: str | None = None
    last: queues.SampleSize | None = None


class RawScale(_Scale, frozen=True, kw_only=True, tag="none"):
    """Uses the gap itself as the cost, which may exceed 1."""


ScaleTable = LinearScale | CappedScale | LogScale | PercentileScale | RawScale


class CriterionTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[[queue.criteria]]`.

    Args:
        kind: What is compared. `spread`: the largest value minus the smallest; `mean_gap`: the mean
            difference over all pairs of players; `imbalance`: the largest difference between two
            teams; `rematch`: the share of the pairs that met in their last `matches` matches, where
            earlier matches count less, and half if the two were teammates then and are opponents
            now, or the reverse; `latency`: the mean cost of the latencies, see `pairs`;
            `party_parity`: how much the teams' party sizes differ; `host_options`: 1 if no player
            reaches all others, 0.4 if one does, 0 if several do; `same`: the share of the pairs
            whose values differ; `overlap`: the share of the pairs that have no element in common;
            `fullness`: the free seats as a share of those that may stay free; `role_rank`: how far
            down their lists of roles the players' seats are.
        attribute: The attribute that is compared, usually a number. For `latency` it is a map from
            region or player to milliseconds (default `latency`); for `host_options` a set of player
            ids, or `open`, `moderate` or `strict` (default `connect`); `rematch` and `party_parity`
            need none.
        scale: How values or gaps become costs in [0, 1]; only for kinds that compare numbers.
        measure: For `imbalance`: whether to compare the teams' `mean` or `sum`.
        pairs: For `latency`: which pairs of players count, `enemies` (default), `teammates` or
            `all`; or `region`: all play in one region, the one of least mean cost among those that
            the rules allow when the match is made.
        best: For `latency`: milliseconds up to which a latency costs nothing (default 25).
        worst: For `latency`: milliseconds from which a latency costs 1 (default 400); in between,
            costs grow with the logarithm.
    """

    kind: str
    attribute: str | None = None
    weight: Weight | None = None
    scale: ScaleTable | None = None
    measure: queues.Measure | None = None
    step: Step | None = None
    matches: queues.Matches | None = None
    pairs: str | None = None
    best: Milliseconds | None = None
    worst: Milliseconds | None = None


class RuleTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[[queue.rules]]`.

    Args:
        kind: What is compared, as for criteria, or one of these. `same`: all values are equal;
            `overlap`: all players have some element in common; `rematch`: opponents of the last
            `matches` matches may meet again only after the rule has refused them `redraws` times;
            `avoid`: two players never meet if one lists the other; `pair_limit`: two players meet
            in at most `limit` matches within `within` seconds; `household_limit`: at most `limit`
            players of one household are in a match.
        attribute: The attribute that is compared, as for criteria. For `avoid` it is a set of
            player ids (default `avoid`); for `household_limit` it is the key that members of a
            household share, or a set of such keys (default `household`). `rematch` and `pair_limit`
            need none, because the engine remembers past matches; for `pair_limit` a ticket may also
            bring `meetings`, a map from player id to number of matches.
        limit: The largest gap that is accepted at once. For `latency` it is in milliseconds, for
            the worst pair or for the player with the highest latency to the region; for
            `party_parity` the difference, 0 to 1; for `host_options` how many hosts may be missing
            from two; for `pair_limit` matches, 1 to 20; for `household_limit` players, 1 to 100.
            `rematch`, `same`, `overlap` and `avoid` take no limit; `expand = {steps = [[60, 1]]}`
            lifts the last three after 60 s.
        pairs: For `latency`, as for criteria. For `avoid` and `pair_limit`: `all` (default),
            `enemies` or `teammates`. For `household_limit`: `all` (default) counts a household's
            players in the whole match, `teammates` in each team, and `enemies` in the whole match
            unless they are all in one team.
        within: For `pair_limit`: seconds for which a past match counts (default 86400, a day).
        unit: What the limit is measured in: `difference` (points), `relative` (a fraction of the
            player's own value) or `percentile` (a fraction of all players: 0.05 is 5 % of them).
        accept: Whose limit must allow the gap: with `both` the limits of all tickets in the match,
            with `either` the limit of one of them.
        file: With `unit = "percentile"`: a CSV or Parquet file with the distribution, which is kept
            as 1,001 quantiles; `evenmatch:NAME` is a file that comes with evenmatch.
        column: The column of the file.
        last: With `unit = "percentile"` and no `file`: how many of the last accepted tickets make
            up the distribution; 1,000 by default.
        redraws: For `rematch`, required: how often the rule refuses a rematch before it allows it.
        every: For `rematch`: seconds of waiting between two refusals; if the policy works in
            rounds, write the time between them. By default the refusals divide the wait until
            `wait_max` evenly, or come every 10 s if there is no `wait_max`.
    """

    kind: str
    attribute: str | None = None
    limit: Limit | None = None
    unit: queues.Unit | None = None
    expand: queues.Expansion | None = None
    measure: queues.Measure | None = None
    accept: queues.Accept | None = None
    file: FileName | None = None
    column: str | None = None
    last: queues.SampleSize | None = None
    matches: queues.Matches | None = None
    redraws: Annotated[int, Meta(ge=1, le=100)] | None = None
    every: Annotated[float, Meta(ge=1e-6, le=1e7, extra={"unit": "s"})] | None = None
    pairs: str | None = None
    within: queues.Within | None = None


class QueueTable(queues.Queue, frozen=True, kw_only=True):
    """`[[queue]]`.

    Args:
        target_wait: The mean wait in seconds that `rolling` aims for, including the ready-check.
            Give this or `wait_price`, not both; without either it is 15 s, or a quarter of
            `wait_max` if that is less.
        policy: The SPEC of the policy that makes the matches. The default is `rolling` for teams
            and for matches that may start before they are full; for single players it is `price`
            (one against one) or `group_price` if criteria compare numbers, else `greedy`. Without
            criteria, or with a `wait_price` of 0, it is `greedy`. `evenmatch check` says which one
            a queue gets, and why.
        teams: Number of teams; without `players` each team is one player. Without both keys a match
            is one against one.
        players: Players per team, or a list for uneven teams: `[1, 4]`.
        sides: Names of the teams, in the order of the output; a ticket asks for one with its
            attribute `side`.
        side_choice: What a ticket's `side` means: with `insist` it never plays on another side;
            with `prefer` it is a wish that is granted if the match allows it, and the summary says
            how many players are `off_side`.
        players_min: The fewest players with which a team may start, or a list with one number per
            team; without it only full matches start.
        roles: Seats of each role in every team, such as `{tank = 1, dps = 2}`; they must sum to the
            players of a team.
        party_sizes: Party sizes that may queue; by default all that fit into a team.
        backfill: Whether running matches may get new players: with `manual` when the game's backend
            opens them, with `automatic` also as soon as a match starts that is not full; without it
            never. With `accept`, newcomers are asked first, unless its `newcomers` is false.
        allocation: The NAME of the `[server.allocation.NAME]` that finds a server for each match.
        silent_after: Seconds without a heartbeat or an open stream after which the server cancels a
            ticket; without it clients need no heartbeat.
        accept: The ready-check, with the keys below; without it players are not asked, and matches
            are final at once.
        commit_jitter: Each new ticket is held back for a random time of up to this many seconds, so
            that two players who queue in the same second cannot rely on meeting; its deadline does
            not change.
        rules_file: A FlexMatch rule set or a PlayFab queue, in JSON, that says what `teams`,
            `rules` and `criteria` would say. If you write `criteria` here, they replace those of
            the rule set; `rules` that you write here hold in addition.
        rules_readings: How to read rules whose meaning the language of rule sets leaves open.
        criteria: Soft preferences; without any, only waiting counts.
        rules: Hard constraints; a match that breaks one is never made.
    """

    LEFT_OUT: ClassVar[tuple[str, ...]] = ("format", "defaults")
    FIRST: ClassVar[tuple[str, ...]] = (
        "name", "teams", "players", "players_min", "roles", "sides", "side_choice", "party_sizes",
        "rules_file", "rules_readings", "wait_max", "wait_price", "target_wait", "on_deadline",
        "policy", "criteria", "rules",
    )  # fmt: skip

    teams: queues.Seats | None = None
    players: queues.Seats | tuple[int, ...] | None = None
    players_min: int | tuple[int, ...] | None = None
    roles: Counts | None = None
    sides: tuple[str, ...] = ()
    side_choice: queues.SideChoice = "insist"
    party_sizes: tuple[int, ...] | None = None
    rules_file: FileName | None = None
    rules_readings: ReadingsTable | None = None
    policy: queues.Spec | None = None  # type: ignore[assignment]
    criteria: tuple[CriterionTable, ...] = ()  # type: ignore[assignment]
    rules: tuple[RuleTable, ...] = ()  # type: ignore[assignment]

    def fault(self) -> Fault:
        """Say nothing yet: the queue that is built of it does."""
        return None


class ReadingsTable(msgspec.Struct, frozen=True, kw_only=True):
    """`rules_readings = {...}` of a queue with a `rules_file`.

    Args:
        party_weight: Whether a party's merged number is listed once for each of its `players`, so
            that averages weight parties by size, or once for the `ticket`.
        contains: Whether `contains` looks at the collection of each of a party's `players`, or once
            at the merged collection of the `ticket`.
        stddev: Whether the standard deviation is that of a `population` (0 for a single number) or
            of a `sample` (undefined for a single number).
    """

    party_weight: Literal["players", "ticket"] = "players"
    contains: Literal["players", "ticket"] = "players"
    stddev: Literal["population", "sample"] = "population"


class ConnectTable(msgspec.Struct, frozen=True, kw_only=True):
    """`connect = {...}` of the world.

    Args:
        open: Share of players whom everybody can reach. If you give one of the three shares, those
            that you leave out are 0.
        moderate: Share of players who reach each other and the open ones.
        strict: Share of players who reach only the open ones.
    """

    open: Share | None = None
    moderate: Share | None = None
    strict: Share | None = None


class WorldTable(World, frozen=True, kw_only=True):
    """`[arrivals.world]`.

    Args:
        start: Time of day at time 0, in `zone`.
        zone: The time zone of `start`, without daylight saving: `UTC`, `CET`, `AEST` and others, or
            an offset such as `+10:00`.
        party_shares: Shares of the players who come in parties of 1, of 2 and so on; they sum to 1.
            The default depends on the team size of the first queue: `[0.6, 0.25, 0.15]` for teams
            of three.
        roles: Which roles players list, as shares of lists that sum to 1: `{damage = 0.5,
            "tank+damage" = 0.2, any = 0.3}`. A list joins roles by `+`, the preferred one first;
            `any` means no list. A party member whose list cannot be combined with those of the
            earlier members in one team draws another. Without this key, nobody lists roles.
        home_share: Share of a party's members who certainly live in its home region; the others
            live anywhere, each region in proportion to its share of the players.
    """

    LEFT_OUT: ClassVar[tuple[str, ...]] = ("hour",)

    start: str = "00:00"
    zone: str = "UTC"
    party_shares: tuple[Share, ...] | None = None  # type: ignore[assignment]
    connect: ConnectTable = ConnectTable()  # type: ignore[assignment]
    roles: RoleShares | None = None  # type: ignore[assignment]


class ArrivalsTable(ArrivalProcess, frozen=True, kw_only=True):
    """`[arrivals]`.

    Args:
        patience: Seconds from arrival until the player gives up and cancels; without it nobody
            does.
        world: Who comes from where, if the process is `world`.
    """

    FIRST: ClassVar[tuple[str, ...]] = ("process",)

    process: Process | None = None  # type: ignore[assignment]
    by: Literal["time", "index"] | None = None  # type: ignore[assignment]
    hours: tuple[TicketRateOrNone, ...] | None = None  # type: ignore[assignment]
    patience: Distribution | Wait | None = None
    world: WorldTable | None = None


class ScenarioTable(Scenario, frozen=True, kw_only=True):
    """The whole file.

    Args:
        queue: One table for each queue; a file needs at least one.
        arrivals: Who arrives and when; leave it out if you give a recording on the command line.
        attributes: How each attribute of a player is drawn, by the attribute's name.
        server: The settings of a server.
        tenant: Several games to serve in one process; such a file has no other tables.
        solve_time: Seconds until the result of a background computation arrives, as `rounds` uses
            them.
    """

    LEFT_OUT: ClassVar[tuple[str, ...]] = ("queues",)

    queues: tuple[queues.Queue, ...] = ()
    queue: Annotated[tuple[QueueTable, ...], Meta(max_length=100)] = ()
    arrivals: ArrivalsTable | None = None  # type: ignore[assignment]
    attributes: dict[str, Distribution] = {}  # noqa: RUF012
    server: ServerSettings = ServerSettings()
    tenant: Annotated[tuple[Tenant, ...], Meta(max_length=100)] = ()
