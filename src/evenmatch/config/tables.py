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
    """Acts on values.

    Args:
        min: The value that counts as 0.
        max: The value that counts as 1.
    """

    min: Quantity = 0.0
    max: Quantity = 1.0


class CappedScale(_Scale, frozen=True, kw_only=True, tag="capped"):
    """Acts on gaps.

    Args:
        max: The gap that costs 1.
    """

    max: GapOfOne


class LogScale(_Scale, frozen=True, kw_only=True, tag="log"):
    """Acts on gaps: ln(1 + gap / knee) / ln(1 + max / knee).

    Args:
        knee: The gap from which on costs grow more slowly.
        max: The gap that costs 1.
        cap: Values above it count as equal to it.
    """

    knee: Gap = 1.0
    max: GapOfOne
    cap: Quantity | None = None


class PercentileScale(_Scale, frozen=True, kw_only=True, tag="percentile"):
    """Acts on values: the share of a distribution that is below.

    Args:
        file: A CSV or Parquet file with the distribution, kept as 1,001 quantiles;
            `evenmatch:NAME` is a file that we ship.
        column: The column of the file.
        last: Without file: the number of last accepted tickets whose values are the distribution,
            1,000 unless given.
    """

    file: FileName | None = None
    column: str | None = None
    last: queues.SampleSize | None = None


class RawScale(_Scale, frozen=True, kw_only=True, tag="none"):
    """The raw gap, which may exceed 1."""


ScaleTable = LinearScale | CappedScale | LogScale | PercentileScale | RawScale


class CriterionTable(msgspec.Struct, frozen=True, kw_only=True):
    """`[[queue.criteria]]`.

    Args:
        kind: `spread`: largest minus smallest of all players; `mean_gap`: mean over all
            pairs; `imbalance`: largest difference between two teams; `rematch`: share of the pairs
            of players that met in their last `matches` matches, less the longer ago, and half if
            they were teammates then and opponents now, or the other way round; `latency`: mean
            cost of pings, see `pairs`; `party_parity`: difference of the teams' party sizes;
            `host_options`: 1, 0.4 and 0 for no, one and more players who reach everyone; `same`,
            `overlap`: share of the pairs that differ or have no element in common; `fullness`:
            free seats / (most - fewest players); `role_rank`: how far down their lists the
            players' roles stand.
        attribute: The value that is compared: a number; for `latency` a map from region or
            player to milliseconds (default `latency`); for `host_options` a set of player ids, or
            `open`, `moderate` or `strict` (default `connect`); `rematch` and `party_parity` need
            none.
        scale: From values or gaps to [0, 1]; only where numbers are compared.
        measure: For `imbalance`: compare the teams' `mean` or `sum`.
        pairs: For `latency`: `enemies` (default), `teammates` or `all` pairs of players, or
            `region`: all play in the region of least mean cost among those that rules allow when
            the match is made.
        best: For `latency`: milliseconds that cost nothing (default 25).
        worst: For `latency`: milliseconds that cost 1 (default 400); in between the logarithm
            counts.
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
        kind: The comparison, as for criteria, or `same`: all values are equal; `rematch`:
            opponents of the last `matches` matches may not meet again until they were drawn anew
            `redraws` times; `overlap`: there is an element that all have; `avoid`: nobody meets a
            player whom either lists; `pair_limit`: two players meet in so many matches at most
            within `within` seconds; `household_limit`: so many players of one household at most
            are in a match.
        attribute: The value that is compared, as for criteria; for `avoid` a set of player ids
            (default `avoid`); for `household_limit` what its players share, or a set of such
            things (default `household`). `rematch` and `pair_limit` need none: the engine
            remembers; for the latter a ticket may bring `meetings`, a map from player id to
            matches.
        limit: Largest gap accepted at once: for `latency` milliseconds of the worst pair, or
            of the player with the highest latency to the region; for `party_parity` the
            difference, 0 to 1; for `host_options` the hosts missing to two; for `pair_limit`
            matches, 1 to 20, and for `household_limit` players, 1 to 100. It does not go with
            `rematch`, `same`, `overlap` and `avoid`; `expand = {steps = [[60, 1]]}` lifts the last
            three after 60 s.
        pairs: For `latency` as for criteria; for `avoid` and `pair_limit`: `all` (default),
            `enemies` or `teammates`. For `household_limit`: `all` counts its players in the match
            (default), `teammates` in each team, `enemies` in the match if they are not all in one
            team.
        within: For `pair_limit`: seconds for which a match counts (default 86400, a day).
        unit: `difference` (points), `relative` (a fraction of one's own value) or
            `percentile` (a fraction of all players: 0.05 is five in a hundred).
        accept: Whose limit must have reached the gap: that of `both` sides (of every ticket of
            the match), or of `either` (of one ticket).
        file: With `unit = "percentile"`: a CSV or Parquet file with the distribution, kept as
            1,001 quantiles; `evenmatch:NAME` is a file that we ship.
        column: The column of the file.
        last: With `unit = "percentile"`, without file: the number of last accepted tickets whose
            values are the distribution, 1,000 unless given.
        redraws: For `rematch`, required: how often a rematch is refused before it is allowed.
        every: For `rematch`: seconds of waiting between two draws; the policy's own clock if
            it has one. Without it the draws divide the wait until `wait_max` evenly, or are 10 s
            apart without one.
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
        target_wait: The mean wait in seconds that `rolling` keeps, the time for a ready-check
            included, in place of a `wait_price`; without either it is 15 s, or a quarter of
            `wait_max` if that is less.
        policy: The SPEC of the policy that decides. Without one, a queue gets `rolling` for teams
            and for matches that may start before they are full; for single players `price` (one
            against one) or `group_price` if criteria compare numbers, else `greedy`; and `greedy`
            without criteria or for a wait_price of 0. `check` says which, and why.
        teams: Number of teams; alone it means one player each. Without teams and players a
            match is one against one.
        players: Seats per team, or a list for uneven teams: `[1, 4]`.
        sides: Names of the teams in output order; a ticket may insist on one by its attribute
            `side`.
        side_choice: What a ticket's `side` is: `insist`, no match puts it on another side;
            `prefer`, a wish that is granted if the match allows it; the summary then says how many
            players are `off_side`.
        players_min: Fewest players of a team, or a list with one number per team; without it
            only full matches start.
        roles: Seats of each role in every team, such as `{tank = 1, dps = 2}`; they sum to the
            players of a team.
        party_sizes: Party sizes that may queue; without it all that fit into a team.
        backfill: Whether running matches may be filled: `manual`, when the backend opens
            them, or `automatic`, as soon as a match starts that is not full; without it never.
            Newcomers to a running match skip the ready-check, even with `accept`.
        allocation: Name of the `[server.allocation.NAME]` that finds its matches a server.
        silent_after: Seconds without a heartbeat or an open stream after which a server
            drops a ticket; without it no heartbeat is needed.
        accept: The ready-check, with the keys below; without it matches are final at once.
        commit_jitter: Longest time in seconds for which a new ticket is held back, each for
            a random time of its own, so that two players who queue in the same second do not
            reliably meet; its deadline does not change.
        rules_file: A FlexMatch rule set or a PlayFab queue, in JSON, in place of teams, rules and
            criteria; criteria that the file names take the place of those that follow from it, and
            rules that it names hold beside it.
        rules_readings: How to read what the language of rule sets leaves open.
        criteria: Soft preferences; none means that only waiting counts.
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
        party_weight: Whether the merged number of a party stands in a list once for each of its
            `players`, so that averages weigh parties by their size, or once for the `ticket`.
        contains: Whether `contains` counts the `players` of a party one by one, each with their
            own collection, or the merged collection of the `ticket` once.
        stddev: Whether the standard deviation is that of the `population` (of one number it is 0)
            or of a `sample` (of one number it does not exist).
    """

    party_weight: Literal["players", "ticket"] = "players"
    contains: Literal["players", "ticket"] = "players"
    stddev: Literal["population", "sample"] = "population"


class ConnectTable(msgspec.Struct, frozen=True, kw_only=True):
    """`connect = {...}` of the world.

    Args:
        open: Share of players whom everybody can reach; if one of the three is given, the
            others are 0 unless given.
        moderate: Share who reach each other and the open ones.
        strict: Share who reach the open ones only.
    """

    open: Share | None = None
    moderate: Share | None = None
    strict: Share | None = None


class WorldTable(World, frozen=True, kw_only=True):
    """`[arrivals.world]`.

    Args:
        start: Time of the day at time 0, in `zone`.
        zone: The zone of `start`, without daylight saving: `UTC`, `CET`, `AEST` and others, or
            an offset such as `+10:00`.
        party_shares: Share of the players in parties of 1, of 2 and so on; they sum to 1.
            Absent, they depend on the players per team of the first queue: `[0.6, 0.25, 0.15]` for
            three.
        roles: Which roles players list: shares of lists, roles joined by `+` with the
            preferred one first, `any` = no list; they sum to 1: `{damage = 0.5, "tank+damage" =
            0.2, any = 0.3}`. A member of a party whose list does not go together with those of the
            members before them in one team draws again. Absent, nobody lists roles.
        home_share: Share of a party's members who are certainly from its home region; the others
            are from any region, in proportion to its share.
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
        patience: Seconds from arrival until the ticket cancels; None means never.
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
        queue: One table per queue; a file needs at least one.
        arrivals: Who arrives when; absent if a recording is given on the command line.
        attributes: How each player's attributes are drawn, by name.
        server: The settings of a server.
        tenant: Several games in one process; such a file has nothing else.
        solve_time: Seconds until the result of a job arrives; `rounds` solves by jobs.
    """

    LEFT_OUT: ClassVar[tuple[str, ...]] = ("queues",)

    queues: tuple[queues.Queue, ...] = ()
    queue: Annotated[tuple[QueueTable, ...], Meta(max_length=100)] = ()
    arrivals: ArrivalsTable | None = None  # type: ignore[assignment]
    attributes: dict[str, Distribution] = {}  # noqa: RUF012
    server: ServerSettings = ServerSettings()
    tenant: Annotated[tuple[Tenant, ...], Meta(max_length=100)] = ()
