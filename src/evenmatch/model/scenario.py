"""A described world: who arrives when, with what; and the settings of a server."""

from __future__ import annotations

from typing import Literal

import msgspec

from evenmatch.model.queue import Queue
from evenmatch.model.ticket import LATENCY, Value
from evenmatch.model.world import World

Process = Literal["poisson", "regular", "ramp", "hourly", "world", "file"]
TimeUnit = Literal["s", "ms", "us", "ns"]
DistributionKind = Literal["uniform", "normal", "exponential", "choice", "empirical"]

ARRIVALS_MAX = 50_000_000
"""The most tickets of one run, drawn or read."""

SHIPPED = "evenmatch:"
"""A file whose name starts like this is one that comes with evenmatch."""


class Distribution(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How a value is drawn.

    Args:
        kind: `uniform` on [min, max]; `normal`, redrawn while outside [min, max];
            `exponential`; `choice` among values; `empirical`: a cell of a file's column.
        min: Lowest value; None means no bound (`uniform`: 0).
        max: Highest value; None means no bound (`uniform`: 1).
        mean: Of `normal` (before bounds) and `exponential`.
        deviation: Standard deviation of `normal`, before bounds.
        values: What `choice` chooses from.
        probs: Probability of each of `values`; empty means equal.
        file: CSV or Parquet file of `empirical`; `evenmatch:NAME` is a file that we ship.
        column: Name of the file's column.
    """

    kind: DistributionKind
    min: float | None = None
    max: float | None = None
    mean: float = 0.0
    deviation: float = 1.0
    values: tuple[Value, ...] = ()
    probs: tuple[float, ...] = ()
    file: str = ""
    column: str = ""


class ArrivalClass(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A kind of ticket among the arrivals; it has a rate or a share.

    Args:
        rate: Tickets of this class per second.
        share: Fraction of all tickets; the shares of all classes sum to 1.
        drift: Pairs (instant in seconds, rate or share then), by ascending time: what the class
            becomes along straight lines, beginning with its rate or share at 0; constant after
            the last.
        size: Players per ticket.
        queues: Where the tickets wait; empty means the first queue.
        attributes: Facts of each ticket; they take precedence over drawn attributes of the same
            name.
    """

    rate: float | None = None
    share: float | None = None
    drift: tuple[tuple[float, float], ...] = ()
    size: int = 1
    queues: tuple[str, ...] = ()
    attributes: dict[str, Value] = {}

    def amount(self, at: float) -> float:
        """Return the rate or share at an instant.

        >>> ArrivalClass(rate=1.0, drift=((10.0, 3.0),)).amount(5.0)
        2.0
        """
        since, amount = 0.0, (self.rate if self.share is None else self.share) or 0.0
        for until, then in self.drift:
            if at < until:
                return amount + (then - amount) * (at - since) / (until - since)
            since, amount = until, then
        return amount


class Arrivals(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Who arrives when.

    Args:
        process: `poisson` at a constant rate; `regular`, one each `interval` seconds, the first
            at `interval`; `ramp`, Poisson with a rate that goes from `rate` to `to`; `hourly`,
            Poisson with a rate for each hour of the day; `world`, parties from regions of the
            world; `file`, a recording.
        rate: Tickets per second; absent if the classes or `hours` give it.
        interval: Seconds between regular arrivals.
        to: The rate at the end of a ramp.
        by: Whether the ramp's rate is linear in `time` or in the arrival's `index`.
        hours: 24 numbers from midnight = time 0: weights around `rate`, or rates without it.
        count: Number of tickets; None means that only `duration` ends the arrivals.
        duration: Seconds after which no ticket arrives.
        file: A CSV or Parquet file; `evenmatch:NAME` is a file that we ship.
        columns: Our column names to those of the file.
        unit: What numbers in the columns `at` and `leaves_at` count: `s`, `ms`, `us` or `ns`; None
            takes seconds, and from 1e11 on what since 1970 fits the number's size.
        skip_bad: Whether to leave out rows of the file that cannot be read, instead of refusing it.
        classes: Kinds of tickets; empty means one kind of a single player.
        attributes: How each player's attributes are drawn; `side` is drawn once a ticket.
        patience: Seconds from arrival until the ticket cancels; None means never.
        world: Who comes from where, if the process is `world`.
    """

    process: Process = "poisson"
    rate: float | None = None
    interval: float | None = None
    to: float | None = None
    by: Literal["time", "index"] = "time"
    hours: tuple[float, ...] = ()
    count: int | None = None
    duration: float | None = None
    file: str | None = None
    columns: dict[str, str] = {}
    unit: TimeUnit | None = None
    skip_bad: bool = False
    classes: tuple[ArrivalClass, ...] = ()
    attributes: dict[str, Distribution] = {}
    patience: Distribution | None = None
    world: World | None = None

    @property
    def total_rate(self) -> float:
        """Return the tickets per second of all classes together; what changes, as at first."""
        if self.world is not None:
            return self.world.ticket_rate
        rates = [each.rate for each in self.classes if each.rate is not None]
        return sum(rates) if rates else (self.rate or 0.0)


class Answers(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How players answer a ready-check.

    Args:
        decline: Share of the players asked who decline.
        silent: Share of those who never answer.
        seconds: Mean time until an answer; the times are uniform from 0 to twice the mean.
    """

    decline: float = 0.0
    silent: float = 0.0
    seconds: float = 0.0


class OutcomeModel(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How matches end in a simulation; see `simulation.outcomes`.

    Args:
        skill: The attribute that says how good a player truly is; no rating system sees it.
        scale: The gap of skills, in points, at which the better team wins ten times out of eleven.
        draws: Share of matches that end in a draw, whatever the skills.
        lasts: Seconds from the start of a match until its outcome is reported.
    """

    skill: str = "skill"
    scale: float = 400.0
    draws: float = 0.0
    lasts: float = 600.0


class Scenario(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A world to simulate.

    Args:
        queues: At least one; a ticket without queues enters the first.
        arrivals: None where a recording is given with the call.
        seed: Seed of all random draws of a run.
        until: Seconds after which the run ends; without it the run ends when nothing is left to
            happen.
        solve_time: Seconds until a job's result arrives.
        warmup: Tickets enqueued before this many seconds are simulated, not counted.
        answers: How players answer where a queue has a ready-check; by default all accept at once.
        outcomes: How matches end; None means that nobody hears of it.
    """

    queues: tuple[Queue, ...]
    arrivals: Arrivals | None = None
    seed: int = 1
    until: float | None = None
    solve_time: float = 0.0
    warmup: float = 0.0
    answers: Answers = Answers()
    outcomes: OutcomeModel | None = None


class ServerLimits(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How much a server takes before it refuses.

    Args:
        body_bytes_max: Bytes of one request's body.
        batch_max: Tickets of one request.
        players_per_ticket_max: Players of one ticket.
        attributes_max: Attributes of one ticket or of one player.
        pool_max: Tickets that wait at the same time.
        id_length_max: Characters of a player's id.
        key_length_max: Characters of an idempotency key.
        followers_max: Connections that follow tickets or matches at the same time.
        key_requests_max: Requests per second of one service key.
        key_burst_max: Requests that a service key may send at once after a pause.
        player_requests_max: Requests per second of one player.
        player_burst_max: Requests that a player may send at once after a pause.
        guests_max: Guests per hour from one address.
        failures_max: Requests per minute from one address whose key or token is not valid; beyond
            that, the server refuses the address without checking.
    """

    body_bytes_max: int = 2_000_000
    batch_max: int = 1000
    players_per_ticket_max: int = 100
    attributes_max: int = 64
    pool_max: int = 1_000_000
    id_length_max: int = 128
    key_length_max: int = 200
    followers_max: int = 10_000
    key_requests_max: int = 10_000
    key_burst_max: int = 20_000
    player_requests_max: int = 10
    player_burst_max: int = 50
    guests_max: int = 60
    failures_max: int = 600


Algorithm = Literal["HS256", "RS256", "ES256", "EdDSA"]


class Tokens(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What the tokens of players must be like.

    Args:
        algorithm: How they are signed.
        key_files: Files with the secret (`HS256`: at least 32 bytes) or the public key (PEM); a
            token counts if any of them verifies it.
        audience: The `aud` that a token must name.
        issuer: The `iss` that a token must name; None takes any.
        lifetime_max: Most seconds from now until a token expires.
        leeway: Seconds by which the clocks of login and server may differ.
    """

    algorithm: Algorithm
    key_files: tuple[str, ...]
    audience: str
    issuer: str | None = None
    lifetime_max: float = 86_400.0
    leeway: float = 10.0


HookKind = Literal["webhook", "agones"]
WhenFailed = Literal["requeue", "keep"]


class Allocation(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A hook that finds servers for the matches of queues that name it.

    Args:
        name: What queues call it.
        kind: `webhook`, which receives the match, or `agones`, which is asked for a game server.
        url: Its address, http or https. For `agones` that of its allocator service, or
            `.../apis/allocation.agones.dev/v1/namespaces/NAMESPACE/gameserverallocations`.
        secret_file: File with the key of a webhook's signatures, or the token for Agones; without
            it nothing is signed.
        timeout: Seconds for one attempt.
        retries: Further attempts after the first.
        concurrency: Matches for which requests may be under way at the same time.
        failed: What happens to a match after the last attempt: `requeue`, it is void and its
            tickets wait again, or `keep`, it waits for an operator.
        namespace: Agones' namespace of the fleet.
        selectors: Labels of suitable game servers, in order of preference; `{queue}` and `{region}`
            stand for those of the match.
    """

    name: str
    kind: HookKind
    url: str
    secret_file: str | None = None
    timeout: float = 10.0
    retries: int = 5
    concurrency: int = 16
    failed: WhenFailed = "requeue"
    namespace: str = "default"
    selectors: tuple[dict[str, str], ...] = ()


class ServerSettings(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The settings of a server beside its queues.

    Args:
        clock_speed: Engine seconds per real second; other than 1 only for demonstrations.
        keep_days: Days for which the journal keeps what has ended.
        origins: Web origins that may call the server from a browser (CORS); `*` means any.
        drain_max: Seconds that a draining server lets tickets wait before it stops.
        log_tickets: Whether each event of a ticket's life is a line of the log.
        log_lines_max: Most such lines per second; the server counts and leaves out the rest.
        log_secret_file: File with the secret under which these lines hash the ids of players;
            without it the log shows the ids as they are.
        traces: Address of an OpenTelemetry collector (OTLP over HTTP); None sends no traces unless
            the environment names one.
        keys_file: The file of service keys; None means `keys.json` in the data directory.
        guests: Whether `POST /v1/guests` gives a player token to any caller.
        trusted_proxies: Networks of your own proxies, whose `X-Forwarded-For` counts.
        player_attributes: Attributes that a player's own client may set.
        tokens: What the tokens of players must be like; None takes none.
        allocation: The hooks that find servers for matches.
        limits: How much the server takes before it refuses.
    """

    clock_speed: float = 1.0
    keep_days: float = 30.0
    origins: tuple[str, ...] = ()
    drain_max: float = 300.0
    log_tickets: bool = False
    log_lines_max: int = 5_000
    log_secret_file: str | None = None
    traces: str | None = None
    keys_file: str | None = None
    guests: bool = False
    trusted_proxies: tuple[str, ...] = ()
    player_attributes: tuple[str, ...] = (LATENCY, "side", "code")
    tokens: Tokens | None = None
    allocation: tuple[Allocation, ...] = ()
    limits: ServerLimits = ServerLimits()


class Tenant(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A game among several that one process serves, isolated from the others.

    Args:
        name: The game's; its data are in the folder of this name.
        config: The file with its queues and settings.
    """

    name: str
    config: str
