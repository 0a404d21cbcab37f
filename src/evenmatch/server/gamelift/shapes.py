"""Requests and answers of GameLift's matchmaking calls, with every limit of AWS's service model.

AWS's clients check neither lengths nor patterns, so the types of requests do. Names of fields are
AWS's, with a small first letter less: `TicketId` is `ticket_id`. Fields that a request may leave
out are None; AWS's own `null` means the same.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

NAME = r"\A[a-zA-Z0-9.-]*\Z"
CONFIGURATION = r"\A(?:[a-zA-Z0-9.-]*|arn:.*:matchmakingconfiguration/[a-zA-Z0-9.-]*)\Z"
RULE_SET = r"\A(?:[a-zA-Z0-9.-]*|arn:.*:matchmakingruleset/[a-zA-Z0-9.-]*)\Z"
PLAYERS_MAX = 10
"""Players of a ticket; AWS's documentation says so, and its model does not."""
BACKFILL_PLAYERS_MAX = 199
ATTRIBUTES_MAX = 10
ENTRIES_MAX = 10
"""Pairs of a map of a player."""
VALUES_MAX = 100
"""Strings of a list of a player."""
TICKETS_MAX = 10
"""Tickets of one DescribeMatchmaking."""

Id = Annotated[str, Meta(max_length=128, pattern=NAME)]
ConfigurationName = Annotated[str, Meta(min_length=1, max_length=256, pattern=CONFIGURATION)]
RuleSetName = Annotated[str, Meta(min_length=1, max_length=256, pattern=RULE_SET)]
Text = Annotated[str, Meta(min_length=1, max_length=1_024)]
ShortText = Annotated[str, Meta(min_length=1, max_length=100)]
Filled = Annotated[str, Meta(min_length=1)]
PlayerId = Annotated[str, Meta(min_length=1, max_length=1_024)]
Positive = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Whole = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Body = Annotated[str, Meta(min_length=1, max_length=65_535)]
Arn = Annotated[str, Meta(min_length=1, max_length=512, pattern=r"\A[a-zA-Z0-9:/-]+\Z")]
Topic = Annotated[str, Meta(max_length=300, pattern=r"\A[a-zA-Z0-9:_/-]*(?:\.fifo)?\Z")]
RequestTimeout = Annotated[int, Meta(ge=1, le=43_200)]
AcceptanceTimeout = Annotated[int, Meta(ge=1, le=600)]
ResourceArn = Annotated[str, Meta(min_length=1, max_length=1_011)]
TagKey = Annotated[str, Meta(min_length=1, max_length=128)]
TagValue = Annotated[str, Meta(max_length=256)]
Status = Literal[
    "QUEUED", "SEARCHING", "REQUIRES_ACCEPTANCE", "PLACING",
    "COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT",
]  # fmt: skip


class _Shape(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="pascal"):
    pass


# Parts of requests and answers.


class Tag(_Shape, frozen=True, kw_only=True):
    """A label of a resource."""

    key: TagKey
    value: TagValue


TagList = Annotated[tuple[Tag, ...], Meta(max_length=200)]


class AttributeValue(_Shape, frozen=True, kw_only=True):
    """A value of a player: exactly one of a string, a number, a list of strings, a map."""

    s: ShortText | None = None
    n: float | None = None
    sl: Annotated[tuple[ShortText, ...], Meta(max_length=VALUES_MAX)] | None = msgspec.field(
        default=None, name="SL"
    )
    sdm: Annotated[dict[ShortText, float], Meta(max_length=ENTRIES_MAX)] | None = msgspec.field(
        default=None, name="SDM"
    )


class PlayerShape(_Shape, frozen=True, kw_only=True):
    """A player of a ticket."""

    player_id: PlayerId | None = None
    player_attributes: (
        Annotated[dict[Text, AttributeValue], Meta(max_length=ATTRIBUTES_MAX)] | None
    ) = None
    team: Text | None = None
    latency_in_ms: dict[Filled, Positive] | None = None


class GameProperty(_Shape, frozen=True, kw_only=True):
    """A value for the game server."""

    key: Annotated[str, Meta(max_length=32)]
    value: Annotated[str, Meta(max_length=96)]


Properties = Annotated[tuple[GameProperty, ...], Meta(max_length=16)]
PlayerList = Annotated[tuple[PlayerShape, ...], Meta(min_length=1, max_length=PLAYERS_MAX)]
Roster = Annotated[tuple[PlayerShape, ...], Meta(min_length=1, max_length=BACKFILL_PLAYERS_MAX)]


class MatchedPlayerSession(_Shape, frozen=True, kw_only=True):
    """A player's place in a game session."""

    player_id: str
    player_session_id: str


class GameSessionConnectionInfo(_Shape, frozen=True, kw_only=True):
    """Where a match is played; the end of the ARN is the id of the match."""

    game_session_arn: str
    ip_address: str | None = None
    dns_name: str | None = None
    port: int | None = None
    matched_player_sessions: tuple[MatchedPlayerSession, ...] = ()


class MatchmakingTicket(_Shape, frozen=True, kw_only=True):
    """A ticket as its owner sees it."""

    ticket_id: str
    configuration_name: str
    configuration_arn: str
    status: Status
    status_reason: str | None = None
    status_message: str | None = None
    start_time: float | None = None
    end_time: float | None = None
    players: tuple[PlayerShape, ...] = ()
    game_session_connection_info: GameSessionConnectionInfo | None = None
    estimated_wait_time: int | None = None


class RuleSetShape(_Shape, frozen=True, kw_only=True):
    """A rule set."""

    rule_set_name: str
    rule_set_arn: str
    rule_set_body: str
    creation_time: float


class ConfigurationShape(_Shape, frozen=True, kw_only=True):
    """A matchmaking configuration; all that it is made of is there, defaults too."""

    name: str
    configuration_arn: str
    rule_set_name: str
    rule_set_arn: str
    request_timeout_seconds: int
    acceptance_required: bool
    creation_time: float
    backfill_mode: str
    flex_match_mode: str
    description: str | None = None
    game_session_queue_arns: tuple[str, ...] = ()
    acceptance_timeout_seconds: int | None = None
    notification_target: str | None = None
    additional_player_count: int | None = None
    custom_event_data: str | None = None
    game_properties: tuple[GameProperty, ...] = ()
    game_session_data: str | None = None


# Requests: one type for each operation, named after it.


class StartMatchmaking(_Shape, frozen=True, kw_only=True):
    """A party asks to play."""

    ticket_id: Id | None = None
    configuration_name: ConfigurationName
    players: PlayerList


class DescribeMatchmaking(_Shape, frozen=True, kw_only=True):
    """How do tickets do?"""

    ticket_ids: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=TICKETS_MAX)]


class StopMatchmaking(_Shape, frozen=True, kw_only=True):
    """Wait no longer."""

    ticket_id: Id


class AcceptMatch(_Shape, frozen=True, kw_only=True):
    """Players accept a match, or turn it down."""

    ticket_id: Id
    player_ids: Annotated[tuple[PlayerId, ...], Meta(min_length=1, max_length=PLAYERS_MAX)]
    acceptance_type: Literal["ACCEPT", "REJECT"]


class StartMatchBackfill(_Shape, frozen=True, kw_only=True):
    """A running match asks for players."""

    ticket_id: Id | None = None
    configuration_name: ConfigurationName
    game_session_arn: Arn | None = None
    players: Roster


class CreateMatchmakingRuleSet(_Shape, frozen=True, kw_only=True):
    """Keep a rule set."""

    name: Id
    rule_set_body: Body
    tags: TagList | None = None


class DescribeMatchmakingRuleSets(_Shape, frozen=True, kw_only=True):
    """Show rule sets: all, or some."""

    names: Annotated[tuple[RuleSetName, ...], Meta(min_length=1, max_length=10)] | None = None
    limit: Annotated[int, Meta(ge=1, le=10)] | None = None
    next_token: Text | None = None


class DeleteMatchmakingRuleSet(_Shape, frozen=True, kw_only=True):
    """Drop a rule set that no configuration uses."""

    name: RuleSetName


class ValidateMatchmakingRuleSet(_Shape, frozen=True, kw_only=True):
    """Is a rule set one that could be kept?"""

    rule_set_body: Body


class _ConfigurationRequest(_Shape, frozen=True, kw_only=True):
    description: Text | None = None
    game_session_queue_arns: Annotated[tuple[Arn, ...], Meta(max_length=100)] | None = None
    request_timeout_seconds: RequestTimeout | None = None
    acceptance_timeout_seconds: AcceptanceTimeout | None = None
    acceptance_required: bool | None = None
    rule_set_name: RuleSetName | None = None
    notification_target: Topic | None = None
    additional_player_count: Whole | None = None
    custom_event_data: Annotated[str, Meta(max_length=256)] | None = None
    game_properties: Properties | None = None
    game_session_data: Annotated[str, Meta(min_length=1, max_length=4_096)] | None = None
    backfill_mode: Literal["AUTOMATIC", "MANUAL"] | None = None
    flex_match_mode: Literal["STANDALONE", "WITH_QUEUE"] | None = None


class CreateMatchmakingConfiguration(_ConfigurationRequest, frozen=True, kw_only=True):
    """Make a queue."""

    name: Id
    request_timeout_seconds: RequestTimeout
    acceptance_required: bool
    rule_set_name: RuleSetName
    tags: TagList | None = None


class UpdateMatchmakingConfiguration(_ConfigurationRequest, frozen=True, kw_only=True):
    """Change a queue; what is left out stays."""

    name: ConfigurationName


class DescribeMatchmakingConfigurations(_Shape, frozen=True, kw_only=True):
    """Show configurations: all, some, or those of a rule set."""

    names: tuple[ConfigurationName, ...] | None = None
    rule_set_name: RuleSetName | None = None
    limit: Positive | None = None
    next_token: Text | None = None


class DeleteMatchmakingConfiguration(_Shape, frozen=True, kw_only=True):
    """Drop a queue."""

    name: ConfigurationName


class TagResource(_Shape, frozen=True, kw_only=True):
    """Label a resource."""

    resource_arn: ResourceArn = msgspec.field(name="ResourceARN")
    tags: TagList


class UntagResource(_Shape, frozen=True, kw_only=True):
    """Take labels away."""

    resource_arn: ResourceArn = msgspec.field(name="ResourceARN")
    tag_keys: Annotated[tuple[TagKey, ...], Meta(max_length=200)]


class ListTagsForResource(_Shape, frozen=True, kw_only=True):
    """Show labels."""

    resource_arn: ResourceArn = msgspec.field(name="ResourceARN")


# Answers.


class Nothing(_Shape, frozen=True, kw_only=True):
    """An answer that says no more than that it was done."""


class TicketAnswer(_Shape, frozen=True, kw_only=True):
    """A ticket."""

    matchmaking_ticket: MatchmakingTicket


class TicketsAnswer(_Shape, frozen=True, kw_only=True, omit_defaults=False):
    """Tickets, in the order in which they were asked for."""

    ticket_list: tuple[MatchmakingTicket, ...]


class RuleSetAnswer(_Shape, frozen=True, kw_only=True):
    """A rule set."""

    rule_set: RuleSetShape


class RuleSetsAnswer(_Shape, frozen=True, kw_only=True):
    """A page of rule sets."""

    rule_sets: tuple[RuleSetShape, ...]
    next_token: str | None = None


class ValidAnswer(_Shape, frozen=True, kw_only=True):
    """The rule set is valid."""

    valid: bool


class ConfigurationAnswer(_Shape, frozen=True, kw_only=True):
    """A configuration."""

    configuration: ConfigurationShape


class ConfigurationsAnswer(_Shape, frozen=True, kw_only=True):
    """A page of configurations."""

    configurations: tuple[ConfigurationShape, ...]
    next_token: str | None = None


class TagsAnswer(_Shape, frozen=True, kw_only=True):
    """Labels."""

    tags: tuple[Tag, ...]
