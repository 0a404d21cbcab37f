"""`[gamelift]`: matchmaking configurations and rule sets in the format of Amazon GameLift.

Each configuration is a queue: its rule set says who may play together, the configuration how long
tickets wait, whether players must accept matches, and which hook finds a server. Calls over the
GameLift protocol change these tables, and a CONFIG file may contain initial ones.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from evenmatch.errors import ConfigError
from evenmatch.model.checks import Place
from evenmatch.model.queue import Queue, ReadyCheck
from evenmatch.policies.default_choice import default_policy
from evenmatch.rules.flexmatch.compile import compile_rule_set
from evenmatch.rules.flexmatch.reader import load_rule_set
from evenmatch.rules.flexmatch.rule_set import RuleSet

RESOURCES_MAX = 100
"""Most configurations of one server, equal to its most queues."""
RULE_SETS_MAX = 1_000
RULE_SET_CHARACTERS_MAX = 65_535
REPAIR_SECONDS = 5.0
"""Seconds for which players who did not reject a match are kept together during a repair."""
QUEUE_NAME_MAX = 64
HOOK = re.compile(r":gamesessionqueue/([A-Za-z0-9_.-]{1,64})\Z")

Text = Annotated[
    str, Meta(min_length=1, max_length=1_024, description="a text of 1 to 1,024 characters")
]
EventData = Annotated[str, Meta(max_length=256, description="a text of at most 256 characters")]
GameProperty = Annotated[
    tuple[str, str], Meta(description='a key and its value, such as ["map", "dust"]')
]
Tags = dict[str, str]
ResourceName = Annotated[
    str,
    Meta(
        pattern=r"\A[a-zA-Z0-9.-]{1,128}\Z",
        description="1 to 128 letters, digits, `-` or `.`",
    ),
]


class RuleSetTable(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """`[gamelift.rule_sets.NAME]`.

    Args:
        body: The rule set, JSON of FlexMatch's rule language 1.0.
        created: Unix time.
        tags: Labels that mean something to their author alone.
    """

    body: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=RULE_SET_CHARACTERS_MAX,
            description=f"a text of 1 to {RULE_SET_CHARACTERS_MAX:,} characters",
        ),
    ]
    created: float = 0.0
    tags: Tags = {}


class ConfigurationTable(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """`[gamelift.configurations.NAME]`: a queue that is made of a rule set.

    Args:
        rule_set: The name of its rule set.
        request_timeout: Seconds after which a ticket without a match ends.
        acceptance_required: Whether players have to accept a match.
        acceptance_timeout: Seconds for which they may do so.
        mode: `STANDALONE`: a match is complete at once; `WITH_QUEUE`: when it has a server.
        queue_arns: For `WITH_QUEUE`: the last part of the first is the name of the
            `[server.allocation.NAME]` that finds servers.
        description: For people.
        notification_target: The last part is the name of the `[server.notifications.NAME]` that is
            told of events; empty means nobody.
        additional_players: Seats that are left free for later.
        custom_event_data: Goes into each event.
        game_properties: Keys and values for the game server.
        game_session_data: Text for the game server.
        backfill_mode: `AUTOMATIC`: matches that are not full ask for players by themselves.
        created: Unix time.
        tags: Labels that mean something to their author alone.
    """

    rule_set: str
    request_timeout: Annotated[int, Meta(ge=1, le=43_200)]
    acceptance_required: bool = False
    acceptance_timeout: Annotated[int, Meta(ge=1, le=600)] | None = None
    mode: Literal["STANDALONE", "WITH_QUEUE"] = "STANDALONE"
    queue_arns: tuple[str, ...] = ()
    description: Text | None = None
    notification_target: str = ""
    additional_players: Annotated[int, Meta(ge=0)] = 0
    custom_event_data: EventData = ""
    game_properties: tuple[GameProperty, ...] = ()
    game_session_data: str | None = None
    backfill_mode: Literal["AUTOMATIC", "MANUAL"] = "MANUAL"
    created: float = 0.0
    tags: Tags = {}

    @property
    def hook(self) -> str | None:
        """The name of the hook that finds servers; None where none is asked."""
        if self.mode == "STANDALONE" or not self.queue_arns:
            return None
        return hook_of(self.queue_arns[0])


class GameLiftTable(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """`[gamelift]`.

    Args:
        rule_sets: By name.
        configurations: By name; each is a queue of this name.
    """

    rule_sets: dict[ResourceName, RuleSetTable] = {}
    configurations: dict[ResourceName, ConfigurationTable] = {}


def gamelift_of(document: Mapping[str, object]) -> GameLiftTable:
    """Return the rule sets and configurations in the keys of a file; often there are none.

    Raises:
        ConfigError: They are invalid.
    """
    given = document.get("gamelift", {})
    try:
        return msgspec.convert(given, GameLiftTable)
    except msgspec.ValidationError as error:
        Place("gamelift").within(given, GameLiftTable)
        raise ConfigError(f"gamelift: {error}") from None
    except RecursionError:
        raise ConfigError("gamelift must not nest tables and lists this deeply") from None


def hook_of(arn: str) -> str | None:
    """Return the hook that the ARN of a game session queue, or of a topic, names; None if none.

    >>> hook_of("arn:aws:gamelift:us-west-2:1234:gamesessionqueue/fleet")
    'fleet'
    """
    found = HOOK.search(arn)
    return None if found is None else found[1]


def target_in(topic: str) -> str:
    """Return the name of the webhook in the ARN of a topic.

    >>> target_in("arn:aws:sns:us-east-1:1234:game-events"), target_in("game-events")
    ('game-events', 'game-events')
    """
    return topic.rpartition(":")[2].rpartition("/")[2]


def queue_name_of(configuration: str) -> str:
    """Return the queue name of a configuration; long names are shortened, and stay different.

    >>> queue_name_of("ranked-5v5"), len(queue_name_of("x" * 100))
    ('ranked-5v5', 64)
    """
    if len(configuration) <= QUEUE_NAME_MAX:
        return configuration
    mark = hashlib.sha256(configuration.encode()).hexdigest()[:12]
    return f"{configuration[: QUEUE_NAME_MAX - 13]}-{mark}"


def build_gamelift_queues(table: GameLiftTable, root: Place) -> tuple[Queue, ...]:
    """Return a queue for each configuration.

    Raises:
        ConfigError: A configuration cannot be played; the message names its keys.
    """
    at = root.at("gamelift")
    rule_sets: dict[str, RuleSet] = {}
    for name in dict.fromkeys(each.rule_set for each in table.configurations.values()):
        if name not in table.rule_sets:
            at.at("rule_sets").refuse(f"has no {name!r}, which a configuration names")
        try:
            rule_sets[name] = load_rule_set(table.rule_sets[name].body)
        except ConfigError as error:
            at.at("rule_sets").at(name).at("body").refuse(str(error))
    places = at.at("configurations")
    return tuple(
        queue_of_configuration(name, each, rule_sets[each.rule_set], places.at(name))
        for name, each in table.configurations.items()
    )


def queue_of_configuration(
    name: str, table: ConfigurationTable, rule_set: RuleSet, at: Place
) -> Queue:
    """Return the queue of a configuration.

    Raises:
        ConfigError: It cannot be played.
    """
    if table.mode == "WITH_QUEUE" and (not table.queue_arns or table.hook is None):
        at.at("queue_arns").refuse(
            "must have an ARN that ends in :gamesessionqueue/NAME, of a [server.allocation.NAME]"
        )
    accept = None
    if table.acceptance_required:
        if table.acceptance_timeout is None:
            at.at("acceptance_timeout").refuse("is missing, and acceptance is required")
        # AWS makes nobody wait after rejecting a match, nor keeps the others from meeting them.
        accept = ReadyCheck(
            float(table.acceptance_timeout or 0), cooldowns=(), repair=REPAIR_SECONDS, again=0.0
        )
    queue = Queue(
        name=queue_name_of(name),
        wait_max=float(table.request_timeout),
        on_deadline="expire",
        accept=accept,
        allocation=table.hook,
        backfill="automatic" if table.backfill_mode == "AUTOMATIC" else "manual",
    )
    queue = compile_rule_set(rule_set).queue(queue)
    return msgspec.structs.replace(queue, policy=default_policy(queue))
