"""`[server]` and `[[tenant]]`: the settings of a server, and the games that it serves."""

from __future__ import annotations

import ipaddress
from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from evenmatch.model.checks import Fault, show
from evenmatch.model.fields import SECOND, Factor, FileName, Slug, Wait
from evenmatch.model.ticket import LATENCY

TENANT_NAME = "1 to 32 of a-z, 0-9, - and _, since it names a folder"
Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Named = Annotated[
    str, Meta(min_length=1, max_length=256, description="a text of 1 to 256 characters")
]
Origin = Annotated[
    str,
    Meta(
        pattern=r"\A(\*|https?://[^\s/?#]+)\Z",
        description='an origin such as "https://example.com", or "*"',
    ),
]
Collector = Annotated[
    str,
    Meta(
        pattern=r"\Ahttps?://[^\s?#]+\Z",
        description='the address of a collector such as "http://collector:4318"',
    ),
]
HookUrl = Annotated[
    str,
    Meta(
        pattern=r"\Ahttps?://[A-Za-z0-9._:\[\]-]+(/[!-~]*)?\Z",
        max_length=2_000,
        description='an address such as "https://fleet.example.com/find"',
    ),
]


def _url_fault(url: str) -> Fault:
    """Return an address that nobody can be reached at, such as one with a port above 65,535."""
    try:
        parts = urlsplit(url)
        is_good = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    allowed = "an address with a name and, if any, a port from 1 to 65,535"
    return None if is_good else ("url", f"must be {allowed}, got {show(url)}")


class ServerLimits(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The limits beyond which a server refuses requests.

    Args:
        body_bytes_max: Largest body of a request, in bytes.
        batch_max: Most tickets in one request.
        players_per_ticket_max: Most players on one ticket.
        attributes_max: Most attributes of one ticket, or of one player.
        pool_max: Most tickets that wait at the same time.
        id_length_max: Most characters in a player's id.
        key_length_max: Most characters in an idempotency key.
        followers_max: Most connections that follow tickets or matches at the same time.
        key_requests_max: Most requests per second with one service key.
        key_burst_max: Most requests that may come at once with one service key, after a pause.
        player_requests_max: Most requests per second from one player.
        player_burst_max: Most requests that may come at once from one player, after a pause.
        guests_max: Most new guests per hour from one address.
        failures_max: Most requests per minute with an invalid key or token from one address; after
            that, the server refuses the address without checking its keys and tokens.
    """

    body_bytes_max: Count = 2_000_000
    batch_max: Count = 1000
    players_per_ticket_max: Count = 100
    attributes_max: Count = 64
    pool_max: Count = 1_000_000
    id_length_max: Count = 128
    key_length_max: Count = 200
    followers_max: Count = 10_000
    key_requests_max: Count = 10_000
    key_burst_max: Count = 20_000
    player_requests_max: Count = 10
    player_burst_max: Count = 50
    guests_max: Count = 60
    failures_max: Count = 600


Algorithm = Literal["HS256", "RS256", "ES256", "EdDSA"]


class Tokens(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What the tokens of players must look like.

    Args:
        algorithm: How tokens are signed.
        key_files: Files with the secret (`HS256`: at least 32 bytes) or the public key (PEM); a
            token is valid if any of them verifies it.
        audience: The value that a token must have in `aud`.
        issuer: The value that a token must have in `iss`; by default any.
        lifetime_max: Longest lifetime of a token that the server accepts, in seconds from now.
        leeway: Seconds by which the clocks of your login service and of this server may differ.
    """

    algorithm: Algorithm
    key_files: Annotated[tuple[FileName, ...], Meta(min_length=1, max_length=8)]
    audience: Named
    issuer: Named | None = None
    lifetime_max: Annotated[float, Meta(ge=1.0, le=31_536_000.0, extra=SECOND)] = 86_400.0
    leeway: Annotated[float, Meta(ge=0.0, le=300.0, extra=SECOND)] = 10.0


HookKind = Literal["webhook", "agones"]
WhenFailed = Literal["requeue", "keep"]


class Allocation(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """`[server.allocation.NAME]`: a hook that finds servers for the matches of queues that name it.

    Args:
        kind: `webhook`: send each match to a webhook; `agones`: ask Agones for a game server.
        url: The address, http or https. For `agones`, the address of its allocator service, or
            `.../apis/allocation.agones.dev/v1/namespaces/NAMESPACE/gameserverallocations`.
        secret_file: A file with the key that signs requests to the webhook, or with the token for
            Agones; without it requests are not signed.
        timeout: Seconds for one attempt.
        retries: How often to try again after a failed attempt.
        concurrency: Most matches for which requests are under way at the same time.
        failed: What happens to a match after the last failed attempt: with `requeue` it is void and
            its tickets wait again, with `keep` it waits for an operator.
        namespace: The namespace of the fleet in Agones.
        selectors: Labels of suitable game servers, in order of preference; `{queue}` and `{region}`
            stand for the queue and region of the match.
    """

    kind: HookKind
    url: HookUrl
    secret_file: FileName | None = None
    timeout: Annotated[float, Meta(ge=0.05, le=300.0, extra=SECOND)] = 10.0
    retries: Annotated[int, Meta(ge=0, le=100)] = 5
    concurrency: Annotated[int, Meta(ge=1, le=1_000)] = 16
    failed: WhenFailed = "requeue"
    namespace: str = "default"
    selectors: Annotated[tuple[dict[str, str], ...], Meta(max_length=16)] = ()

    def fault(self) -> Fault:
        """Return an address that cannot be one."""
        return _url_fault(self.url)


class Notification(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """`[server.notifications.NAME]`: a webhook that is told of GameLift's matchmaking events.

    Args:
        url: Its address, http or https.
        form: What the webhook receives: an `eventbridge` envelope, or one inside an `sns`
            notification.
        secret_file: A file with the key that signs requests; without it requests are not signed.
        timeout: Seconds for one attempt.
        retries: How often to try again after a failed attempt.
    """

    url: HookUrl
    form: Literal["eventbridge", "sns"] = "eventbridge"
    secret_file: FileName | None = None
    timeout: Annotated[float, Meta(ge=0.05, le=300.0, extra=SECOND)] = 10.0
    retries: Annotated[int, Meta(ge=0, le=100)] = 5

    def fault(self) -> Fault:
        """Return an address that cannot be one."""
        return _url_fault(self.url)


class ServerSettings(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The settings of a server beside its queues.

    Args:
        clock_speed: Seconds of engine time per real second; use other values than 1 only for
            demonstrations.
        keep_days: Days for which the journal keeps tickets and matches that have ended; older
            records are deleted as soon as snapshots cover them.
        origins: Web origins whose pages may call the server from a browser (CORS); `*` means any.
        drain_max: Seconds that a draining server waits for its tickets to finish before it stops.
        log_tickets: Whether the log has a line for each event in the life of a ticket.
        log_lines_max: Most such lines per second; the server leaves out the rest and logs how many
            they were.
        log_secret_file: A file with the secret with which these lines hash players' ids; without it
            the log shows the ids themselves.
        traces: The address of an OpenTelemetry collector (OTLP over HTTP); without it the server
            sends no traces, unless the environment names a collector.
        keys_file: The file of service keys; by default `keys.json` in the data directory.
        guests: Whether `POST /v1/guests` gives any caller a player token.
        trusted_proxies: The networks of your own proxies, whose `X-Forwarded-For` headers the
            server trusts.
        player_attributes: The attributes that a player's own client may set.
        tokens: What player tokens must look like; without it the server accepts none.
        allocation: The hooks that find servers for matches.
        notifications: The webhooks that receive GameLift's matchmaking events.
        limits: The limits beyond which the server refuses requests.
    """

    ELSEWHERE: ClassVar[tuple[tuple[str, str], ...]] = tuple(
        (key, f"evenmatch serve --{key.replace('_', '-')}")
        for key in ("host", "port", "health_port", "data", "journal", "tls_cert", "tls_key", "node")
    )

    clock_speed: Factor = 1.0
    keep_days: Annotated[float, Meta(ge=1e-6, le=3650.0, extra={"unit": "days"})] = 30.0
    origins: tuple[Origin, ...] = ()
    drain_max: Wait = 300.0
    log_tickets: bool = False
    log_lines_max: Count = 5_000
    log_secret_file: FileName | None = None
    traces: Collector | None = None
    keys_file: FileName | None = None
    guests: bool = False
    trusted_proxies: Annotated[tuple[str, ...], Meta(max_length=100)] = ()
    player_attributes: tuple[str, ...] = (LATENCY, "side", "code")
    tokens: Tokens | None = None
    allocation: dict[Slug, Allocation] = {}
    notifications: dict[Slug, Notification] = {}
    limits: ServerLimits = ServerLimits()

    def fault(self) -> Fault:
        """Return a proxy that is no network."""
        for index, text in enumerate(self.trusted_proxies):
            try:
                ipaddress.ip_network(text)
            except ValueError:
                allowed = 'a network such as "10.0.0.0/8", or an address'
                return f"trusted_proxies[{index}]", f"must be {allowed}, got {show(text)}"
        return None


class Tenant(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One of several games that a process serves, isolated from the others.

    Args:
        name: The name of the game; its data are in the folder of this name.
        config: The file with the game's queues and settings.
    """

    name: Annotated[str, Meta(pattern=r"\A[a-z0-9][a-z0-9_-]{0,31}\Z", description=TENANT_NAME)]
    config: FileName
