"""The tables of a scenario file as they are written, before their meaning is checked.

None means that a key is absent, so that a builder can tell "left out" from "set to the default".
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from evenmatch.model.ticket import LATENCY

Number = Annotated[float, Meta(description="a number")]
Whole = Annotated[int, Meta(description="a whole number")]
Duration = Annotated[float | str, Meta(description='seconds, or a text such as "1m30s"')]
Text = Annotated[str, Meta(description="a text in quotes")]
Flag = Annotated[bool, Meta(description="true or false")]
Numbers = Annotated[tuple[float, ...], Meta(description="a list of numbers")]
Wholes = Annotated[tuple[int, ...], Meta(description="a list of whole numbers")]
Texts = Annotated[tuple[str, ...], Meta(description="a list of texts")]
Pairs = Annotated[
    tuple[tuple[float, float], ...], Meta(description="a list of pairs [wait in seconds, limit]")
]
Path = Annotated[
    tuple[tuple[float, float], ...],
    Meta(description="a list of pairs [instant in seconds, rate or share]"),
]
Names = Annotated[dict[str, str], Meta(description="a table of names, ours = theirs")]
Counts = Annotated[dict[str, int], Meta(description="a table of whole numbers, role = players")]
RoleShares = Annotated[
    dict[str, float], Meta(description="a table of numbers, roles joined by + = share of players")
]
Fact = float | str | tuple[str, ...]
Facts = Annotated[dict[str, Fact], Meta(description="a table of numbers, texts or lists of texts")]
FactList = Annotated[
    tuple[Fact, ...], Meta(description="a list of numbers, texts or lists of texts")
]


class _Shape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    LATER_KEYS: ClassVar[tuple[str, ...]] = ()


class ScaleShape(_Shape, frozen=True, kw_only=True):
    """`scale = {...}` of a criterion."""

    kind: Text = "linear"
    min: Number | None = None
    max: Number | None = None
    knee: Number | None = None
    cap: Number | None = None
    file: Text | None = None
    column: Text | None = None
    last: Whole | None = None


class CriterionShape(_Shape, frozen=True, kw_only=True):
    """`[[queue.criteria]]`."""

    kind: Text
    attribute: Text | None = None
    weight: Number | None = None
    scale: ScaleShape | None = None
    measure: Text | None = None
    step: Number | None = None
    matches: Whole | None = None
    pairs: Text | None = None
    best: Number | None = None
    worst: Number | None = None


class ExpandShape(_Shape, frozen=True, kw_only=True):
    """`expand = {...}` of a rule."""

    rate: Number | None = None
    steps: Pairs | None = None
    curve: Pairs | None = None
    max: Number | None = None


class RuleShape(_Shape, frozen=True, kw_only=True):
    """`[[queue.rules]]`."""

    kind: Text
    attribute: Text | None = None
    limit: Number | None = None
    unit: Text | None = None
    expand: ExpandShape | None = None
    measure: Text | None = None
    accept: Text | None = None
    file: Text | None = None
    column: Text | None = None
    last: Whole | None = None
    matches: Whole | None = None
    redraws: Whole | None = None
    every: Number | None = None
    pairs: Text | None = None
    within: Number | None = None


class HandicapShape(_Shape, frozen=True, kw_only=True):
    """`handicap = {...}` of a queue."""

    factor: Number
    max: Number | None = None
    step: Number = 0.0
    attribute: Text = "rating"


class AcceptShape(_Shape, frozen=True, kw_only=True):
    """`accept = {...}` of a queue."""

    seconds: Number = 15.0
    loss_max: Number = 0.05
    cooldowns: Numbers = (60.0, 300.0, 900.0)
    repair: Number = 10.0
    again: Number = 30.0
    long_wait: Number | None = None
    long_seconds: Number | None = None


class AnswersShape(_Shape, frozen=True, kw_only=True):
    """`[answers]`."""

    decline: Number = 0.0
    silent: Number = 0.0
    seconds: Number = 0.0


class SwitchbackShape(_Shape, frozen=True, kw_only=True):
    """`switchback = {...}` of a queue."""

    policies: Texts
    block: Number = 1800.0
    seed: Whole = 1
    trim: Number = 0.25


class QueueShape(_Shape, frozen=True, kw_only=True):
    """`[[queue]]`."""

    LATER_KEYS: ClassVar[tuple[str, ...]] = ("rules_file",)

    name: Text = "main"
    teams: Whole | None = None
    players: Whole | Wholes | None = None
    players_min: Whole | Wholes | None = None
    roles: Counts | None = None
    sides: Texts = ()
    side_choice: Text = "insist"
    party_sizes: Wholes | None = None
    wait_max: Duration | None = None
    wait_price: Number | None = None
    target_wait: Duration | None = None
    on_deadline: Text = "expire"
    policy: Text | None = None
    group: Text = "default"
    exclusive_match: Flag = False
    match_max: Number = 7200.0
    criteria: tuple[CriterionShape, ...] = ()
    rules: tuple[RuleShape, ...] = ()
    attributes: Texts = ()
    handicap: HandicapShape | None = None
    backfill: Text | None = None
    allocation: Text | None = None
    silent_after: Duration | None = None
    accept: AcceptShape | None = None
    shadow: Text | None = None
    switchback: SwitchbackShape | None = None
    rating: Text | None = None
    rating_period: Number | None = None
    ladder: Text = ""
    commit_jitter: Number = 0.0


class DistributionShape(_Shape, frozen=True, kw_only=True):
    """`[attributes.NAME]`, and `patience` of the arrivals."""

    distribution: Text
    min: Number | None = None
    max: Number | None = None
    mean: Number | None = None
    deviation: Number | None = None
    values: FactList | None = None
    probs: Numbers | None = None
    file: Text | None = None
    column: Text | None = None


class ClassShape(_Shape, frozen=True, kw_only=True):
    """`[[arrivals.classes]]`."""

    rate: Number | None = None
    share: Number | None = None
    drift: Path = ()
    size: Whole = 1
    queues: Texts = ()
    attributes: Facts = {}


class ConnectShape(_Shape, frozen=True, kw_only=True):
    """`connect = {...}` of the world."""

    open: Number | None = None
    moderate: Number | None = None
    strict: Number | None = None


class LastMileShape(_Shape, frozen=True, kw_only=True):
    """`last_mile = {...}` of the world."""

    median: Number | None = None
    spread: Number | None = None


class SkillShape(_Shape, frozen=True, kw_only=True):
    """`skill = {...}` of the world."""

    median: Number | None = None
    spread: Number | None = None
    beginners: Number | None = None
    beginner_max: Number | None = None
    friends: Number | None = None
    max: Number | None = None


class WorldShape(_Shape, frozen=True, kw_only=True):
    """`[arrivals.world]`."""

    player_rate: Number
    start: Text = "00:00"
    zone: Text = "UTC"
    follows: Text = "both"
    party_shares: Numbers | None = None
    home_share: Number | None = None
    connect: ConnectShape = ConnectShape()
    last_mile: LastMileShape = LastMileShape()
    skill: SkillShape = SkillShape()
    roles: RoleShares | None = None
    latencies: Whole | None = None
    hours_file: Text | None = None
    cities_file: Text | None = None
    pings_file: Text | None = None


class ArrivalsShape(_Shape, frozen=True, kw_only=True):
    """`[arrivals]`."""

    process: Text | None = None
    rate: Number | None = None
    interval: Number | None = None
    to: Number | None = None
    by: Text | None = None
    hours: Numbers | None = None
    count: Whole | None = None
    duration: Number | None = None
    file: Text | None = None
    columns: Names = {}
    unit: Text | None = None
    skip_bad: Flag = False
    patience: DistributionShape | Number | None = None
    classes: tuple[ClassShape, ...] = ()
    world: WorldShape | None = None


class OutcomesShape(_Shape, frozen=True, kw_only=True):
    """`[outcomes]`."""

    skill: Text = "skill"
    scale: Number = 400.0
    draws: Number = 0.0
    lasts: Number = 600.0


class LimitsShape(_Shape, frozen=True, kw_only=True):
    """`[server.limits]`."""

    body_bytes_max: Whole | None = None
    batch_max: Whole | None = None
    players_per_ticket_max: Whole | None = None
    attributes_max: Whole | None = None
    pool_max: Whole | None = None
    id_length_max: Whole | None = None
    key_length_max: Whole | None = None
    followers_max: Whole | None = None
    key_requests_max: Whole | None = None
    key_burst_max: Whole | None = None
    player_requests_max: Whole | None = None
    player_burst_max: Whole | None = None
    guests_max: Whole | None = None
    failures_max: Whole | None = None


class TokensShape(_Shape, frozen=True, kw_only=True):
    """`[server.tokens]`."""

    algorithm: Text
    key_files: Texts
    audience: Text
    issuer: Text | None = None
    lifetime_max: Number = 86_400.0
    leeway: Number = 10.0


class TenantShape(_Shape, frozen=True, kw_only=True):
    """`[[tenant]]`."""

    name: Text
    config: Text


class AllocationShape(_Shape, frozen=True, kw_only=True):
    """`[server.allocation.NAME]`."""

    kind: Text
    url: Text
    secret_file: Text | None = None
    timeout: Number = 10.0
    retries: Whole = 5
    concurrency: Whole = 16
    failed: Text = "requeue"
    namespace: Text = "default"
    selectors: tuple[Names, ...] = ()


class ServerShape(_Shape, frozen=True, kw_only=True):
    """`[server]`."""

    clock_speed: Number = 1.0
    keep_days: Number = 30.0
    origins: Texts = ()
    drain_max: Number = 300.0
    log_tickets: Flag = False
    log_lines_max: Whole = 5_000
    log_secret_file: Text | None = None
    traces: Text | None = None
    keys_file: Text | None = None
    guests: Flag = False
    trusted_proxies: Texts = ()
    player_attributes: Texts = (LATENCY, "side", "code")
    tokens: TokensShape | None = None
    allocation: dict[str, AllocationShape] = {}
    limits: LimitsShape = LimitsShape()


class ScenarioShape(_Shape, frozen=True, kw_only=True):
    """The whole file."""

    seed: Whole = 1
    until: Number | None = None
    solve_time: Number = 0.0
    warmup: Number = 0.0
    queue: tuple[QueueShape, ...] = ()
    arrivals: ArrivalsShape | None = None
    attributes: dict[str, DistributionShape] = {}
    answers: AnswersShape = AnswersShape()
    outcomes: OutcomesShape | None = None
    server: ServerShape = ServerShape()
    tenant: tuple[TenantShape, ...] = ()
