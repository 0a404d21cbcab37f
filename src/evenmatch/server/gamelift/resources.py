"""Rule sets, configurations and their tags: what stays until somebody changes it.

All of them are keys of the configuration in force. A change makes the whole configuration anew and
brings it into force by `Configure`, so it is journalled, versioned and there after a restart.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from evenmatch.config.gamelift import (
    RESOURCES_MAX,
    RULE_SETS_MAX,
    ConfigurationTable,
    GameLiftTable,
    RuleSetTable,
    gamelift_of,
    queue_name_of,
    queue_of_configuration,
    target_in,
)
from evenmatch.errors import ConfigError
from evenmatch.model.checks import Place
from evenmatch.rules.flexmatch.reader import load_rule_set
from evenmatch.server.auth.principal import Principal
from evenmatch.server.gamelift import arns, shapes
from evenmatch.server.gamelift.service_errors import ServiceError, invalid, missing, too_many
from evenmatch.server.runtime.services import Services

TAGS_MAX = 50
"""Labels of one resource, which is AWS's limit for all its services."""
BODIES_MAX = 8_000_000
"""Characters of all rule sets together: each change of the configuration writes all of them."""
RULE_SET_PAGE = 10
CONFIGURATION_PAGE = 25

Item = TypeVar("Item")
Table = RuleSetTable | ConfigurationTable


class Resources:
    """The rule sets and configurations of one server."""

    def __init__(self, services: Services) -> None:
        self._operator = services.operator
        self._runtime = services.runtime
        self._targets = services.runtime.plan.settings.notifications
        self._read: tuple[dict[str, Any] | None, GameLiftTable] | None = None

    def table(self) -> GameLiftTable:
        """Return the configuration that is in force."""
        # Its number does not tell: CONFIG that is read again counts only after its number does.
        document = self._operator.document()
        if self._read is None or self._read[0] is not document:
            self._read = document, gamelift_of(document or {})
        return self._read[1]

    def seen_by(self, caller: Principal) -> GameLiftTable:
        """Return what a caller may see; with a key for some queues, what belongs to them."""
        table = self.table()
        if not caller.queues:
            return table
        configurations = {
            name: each
            for name, each in table.configurations.items()
            if queue_name_of(name) in caller.queues
        }
        used = {each.rule_set for each in configurations.values()}
        rule_sets = {name: each for name, each in table.rule_sets.items() if name in used}
        return replace(table, rule_sets=rule_sets, configurations=configurations)

    def of_queue(self, queue: str) -> tuple[str, ConfigurationTable] | None:
        """Return the configuration that a queue was made of, None of any other queue."""
        known = self.table().configurations
        if queue in known:
            return queue, known[queue]
        found = [name for name in known if queue_name_of(name) == queue]
        return (found[0], known[found[0]]) if found else None

    def configuration(self, name: str) -> tuple[str, ConfigurationTable]:
        """Return a configuration and its plain name.

        Raises:
            ServiceError: There is none.
        """
        plain = arns.name_in(name)
        table = self.table().configurations.get(plain)
        if table is None:
            raise missing("matchmaking configuration", plain)
        return plain, table

    # Rule sets

    async def create_rule_set(
        self, request: shapes.CreateMatchmakingRuleSet, by: str
    ) -> shapes.RuleSetAnswer:
        """Keep a rule set."""
        name = _named(request.name)
        await _check_body(request.rule_set_body)
        tags = _tags(request.tags)
        made = RuleSetTable(body=request.rule_set_body, created=self._runtime.wall(), tags=tags)

        def change(table: GameLiftTable) -> GameLiftTable:
            sets = table.rule_sets
            if name in sets:
                raise invalid(f"there is a rule set {name!r} already; rule sets cannot be changed")
            size = sum(len(each.body) for each in sets.values()) + len(made.body)
            if len(sets) >= RULE_SETS_MAX or size > BODIES_MAX:
                raise too_many(
                    f"a server keeps {RULE_SETS_MAX:,} rule sets of {BODIES_MAX:,} characters "
                    "together; delete some first"
                )
            return replace(table, rule_sets={**sets, name: made})

        await self._edit(change, by)
        return shapes.RuleSetAnswer(rule_set=_rule_set(name, made))

    async def describe_rule_sets(
        self, request: shapes.DescribeMatchmakingRuleSets, caller: Principal
    ) -> shapes.RuleSetsAnswer:
        """Show a page of rule sets, or some by name."""
        sets = self.seen_by(caller).rule_sets
        if request.names is not None:
            names = [arns.name_in(each) for each in request.names]
            if lacking := [each for each in names if each not in sets]:
                raise missing("rule set", lacking[0])
            return shapes.RuleSetsAnswer(rule_sets=tuple(_rule_set(n, sets[n]) for n in names))
        names, token = _page(list(sets), request.limit or RULE_SET_PAGE, request.next_token)
        found = tuple(_rule_set(name, sets[name]) for name in names)
        return shapes.RuleSetsAnswer(rule_sets=found, next_token=token)

    async def delete_rule_set(
        self, request: shapes.DeleteMatchmakingRuleSet, by: str
    ) -> shapes.Nothing:
        """Drop a rule set that no configuration uses."""
        name = arns.name_in(request.name)

        def change(table: GameLiftTable) -> GameLiftTable:
            if name not in table.rule_sets:
                raise missing("rule set", name)
            users = [n for n, each in table.configurations.items() if each.rule_set == name]
            if users:
                raise invalid(
                    f"rule set {name!r} is used by the configuration {users[0]!r}: delete that, "
                    "or let it use another rule set"
                )
            return replace(table, rule_sets=_without(table.rule_sets, name))

        await self._edit(change, by)
        return shapes.Nothing()

    async def validate_rule_set(
        self, request: shapes.ValidateMatchmakingRuleSet, caller: Principal
    ) -> shapes.ValidAnswer:
        """Check a rule set without keeping it."""
        del caller
        await _check_body(request.rule_set_body)
        return shapes.ValidAnswer(valid=True)

    # Configurations

    async def create_configuration(
        self, request: shapes.CreateMatchmakingConfiguration, by: str
    ) -> shapes.ConfigurationAnswer:
        """Make a queue."""
        name = _named(request.name)
        made = ConfigurationTable(
            rule_set=arns.name_in(request.rule_set_name),
            request_timeout=request.request_timeout_seconds,
            mode="WITH_QUEUE" if request.game_session_queue_arns else "STANDALONE",
            created=self._runtime.wall(),
            tags=_tags(request.tags),
        )
        made = _changed(made, request)

        def change(table: GameLiftTable) -> GameLiftTable:
            known = table.configurations
            if name in known:
                raise invalid(f"there is a configuration {name!r} already; update it")
            queues = len(self._runtime.engine.tables.queues)
            if len(known) >= RESOURCES_MAX or queues >= RESOURCES_MAX:
                raise too_many(f"a server has at most {RESOURCES_MAX} queues and configurations")
            if queue_name_of(name) in self._runtime.engine.tables.queues:
                raise invalid(f"{name!r} is the name of a queue of this server; choose another")
            self._check(name, made, table)
            return replace(table, configurations={**known, name: made})

        await self._edit(change, by)
        return shapes.ConfigurationAnswer(configuration=_configuration(name, made))

    async def update_configuration(
        self, request: shapes.UpdateMatchmakingConfiguration, by: str
    ) -> shapes.ConfigurationAnswer:
        """Change a queue; what the request leaves out stays."""
        name, made = self.configuration(request.name)

        def change(table: GameLiftTable) -> GameLiftTable:
            nonlocal made
            if name not in table.configurations:
                raise missing("matchmaking configuration", name)
            made = _changed(table.configurations[name], request)
            self._check(name, made, table)
            return replace(table, configurations={**table.configurations, name: made})

        await self._edit(change, by)
        return shapes.ConfigurationAnswer(configuration=_configuration(name, made))

    def _check(self, name: str, made: ConfigurationTable, table: GameLiftTable) -> None:
        """Refuse a configuration that cannot be played, or whose target there is not."""
        _check_configuration(name, made, table)
        target = target_in(made.notification_target)
        if target and target not in self._targets:
            raise invalid(
                f"NotificationTarget: must end in the name of a webhook of this server, and there "
                f"is no [server.notifications.{target[:64]}]"
            )

    async def describe_configurations(
        self, request: shapes.DescribeMatchmakingConfigurations, caller: Principal
    ) -> shapes.ConfigurationsAnswer:
        """Show a page of configurations, some by name, or those of a rule set."""
        known = self.seen_by(caller).configurations
        if request.names:
            asked = dict.fromkeys(arns.name_in(each) for each in request.names)
            names = [name for name in asked if name in known]
        else:
            names = list(known)
        if request.rule_set_name is not None:
            rule_set = arns.name_in(request.rule_set_name)
            names = [name for name in names if known[name].rule_set == rule_set]
        most = min(request.limit or CONFIGURATION_PAGE, CONFIGURATION_PAGE)
        names, token = _page(names, most, request.next_token)
        found = tuple(_configuration(name, known[name]) for name in names)
        return shapes.ConfigurationsAnswer(configurations=found, next_token=token)

    async def delete_configuration(
        self, request: shapes.DeleteMatchmakingConfiguration, by: str
    ) -> shapes.Nothing:
        """Drop a queue in which nobody waits, and no match asks for players."""
        name = arns.name_in(request.name)

        def change(table: GameLiftTable) -> GameLiftTable:
            if name not in table.configurations:
                raise missing("matchmaking configuration", name)
            queue = queue_name_of(name)
            tables = self._runtime.engine.tables
            if any(queue in row.queues for row in tables.waiting.values()):
                raise invalid(f"players wait in {name!r}: stop their tickets, or let them end")
            asking = (row for row in tables.backfills.values() if row.ended_at is None)
            if any(row.queue == queue for row in asking):
                raise invalid(f"matches of {name!r} ask for players: stop their backfills first")
            return replace(table, configurations=_without(table.configurations, name))

        await self._edit(change, by)
        return shapes.Nothing()

    # Tags

    async def tag(self, request: shapes.TagResource, by: str) -> shapes.Nothing:
        """Label a resource."""
        new = {each.key: each.value for each in request.tags}
        return await self._retag(request.resource_arn, lambda tags: {**tags, **new}, by)

    async def untag(self, request: shapes.UntagResource, by: str) -> shapes.Nothing:
        """Take labels away."""
        gone = set(request.tag_keys)

        def less(tags: dict[str, str]) -> dict[str, str]:
            return {key: value for key, value in tags.items() if key not in gone}

        return await self._retag(request.resource_arn, less, by)

    async def list_tags(
        self, request: shapes.ListTagsForResource, caller: Principal
    ) -> shapes.TagsAnswer:
        """Show the labels of a resource."""
        field, name = _resource(request.resource_arn)
        tags = _in(self.seen_by(caller), field, name).tags
        found = tuple(shapes.Tag(key=key, value=value) for key, value in tags.items())
        return shapes.TagsAnswer(tags=found)

    async def _retag(
        self, arn: str, change_tags: Callable[[dict[str, str]], dict[str, str]], by: str
    ) -> shapes.Nothing:
        field, name = _resource(arn)

        def change(table: GameLiftTable) -> GameLiftTable:
            old = _in(table, field, name)
            tags = change_tags(old.tags)
            if len(tags) > TAGS_MAX:
                raise ServiceError(
                    "TaggingFailedException", f"a resource has at most {TAGS_MAX} tags"
                )
            return replace(
                table, **{field: {**getattr(table, field), name: replace(old, tags=tags)}}
            )

        await self._edit(change, by)
        return shapes.Nothing()

    async def _edit(self, change: Callable[[GameLiftTable], GameLiftTable], by: str) -> None:
        """Bring changed tables into force.

        Raises:
            ServiceError: The change refuses.
            MatchmakingError: It cannot come into force.
        """

        def changed(raw: dict[str, Any]) -> dict[str, Any]:
            table = change(gamelift_of({"gamelift": raw}))
            found: dict[str, Any] = msgspec.to_builtins(table)
            return found

        await self._operator.edit(changed, by=by)


def _named(name: str) -> str:
    if not name:
        raise invalid("Name: must have 1 to 128 characters, got none")
    return name


async def _check_body(body: str) -> None:
    """Refuse what is no rule set; a large one takes a while, which the event loop has not got.

    Raises:
        ServiceError: With all that is wrong in it.
    """
    try:
        await asyncio.to_thread(load_rule_set, body)
    except ConfigError as error:
        raise invalid(f"RuleSetBody: {str(error)[:4_000]}") from None


def _check_configuration(name: str, made: ConfigurationTable, table: GameLiftTable) -> None:
    """Refuse a configuration whose parts do not go together, or whose rule set there is not."""
    if made.rule_set not in table.rule_sets:
        raise missing("rule set", made.rule_set)
    if made.acceptance_required and made.acceptance_timeout is None:
        raise invalid("AcceptanceTimeoutSeconds: is missing, and AcceptanceRequired is true")
    if made.mode == "STANDALONE" and made.queue_arns:
        raise invalid("GameSessionQueueArns: are for FlexMatchMode WITH_QUEUE; leave them out")
    if made.mode == "WITH_QUEUE" and made.hook is None:
        raise invalid(
            "GameSessionQueueArns: FlexMatchMode WITH_QUEUE needs an ARN that ends in "
            ":gamesessionqueue/NAME, where NAME is a [server.allocation.NAME] of this server; "
            "without one use FlexMatchMode STANDALONE"
        )
    rule_set = load_rule_set(table.rule_sets[made.rule_set].body)
    queue_of_configuration(name, made, rule_set, Place())


def _changed(
    table: ConfigurationTable,
    request: shapes.CreateMatchmakingConfiguration | shapes.UpdateMatchmakingConfiguration,
) -> ConfigurationTable:
    """Return a configuration with what a request says."""
    told: dict[str, Any] = {
        "description": request.description,
        "queue_arns": request.game_session_queue_arns,
        "request_timeout": request.request_timeout_seconds,
        "acceptance_timeout": request.acceptance_timeout_seconds,
        "acceptance_required": request.acceptance_required,
        "rule_set": None if request.rule_set_name is None else arns.name_in(request.rule_set_name),
        "notification_target": request.notification_target,
        "additional_players": request.additional_player_count,
        "custom_event_data": request.custom_event_data,
        "game_session_data": request.game_session_data,
        "backfill_mode": request.backfill_mode,
        "mode": request.flex_match_mode,
    }
    if request.game_properties is not None:
        told["game_properties"] = tuple((each.key, each.value) for each in request.game_properties)
    changes = {key: value for key, value in told.items() if value is not None}
    if changes.get("mode") == "STANDALONE":
        changes.setdefault("queue_arns", ())
    return replace(table, **changes)


def _rule_set(name: str, table: RuleSetTable) -> shapes.RuleSetShape:
    return shapes.RuleSetShape(
        rule_set_name=name,
        rule_set_arn=arns.arn_of(arns.RULE_SET, name),
        rule_set_body=table.body,
        creation_time=table.created,
    )


def _configuration(name: str, table: ConfigurationTable) -> shapes.ConfigurationShape:
    properties = tuple(shapes.GameProperty(key=k, value=v) for k, v in table.game_properties)
    return shapes.ConfigurationShape(
        name=name,
        configuration_arn=arns.arn_of(arns.CONFIGURATION, name),
        rule_set_name=table.rule_set,
        rule_set_arn=arns.arn_of(arns.RULE_SET, table.rule_set),
        request_timeout_seconds=table.request_timeout,
        acceptance_required=table.acceptance_required,
        acceptance_timeout_seconds=table.acceptance_timeout,
        creation_time=table.created,
        backfill_mode=table.backfill_mode,
        flex_match_mode=table.mode,
        description=table.description,
        game_session_queue_arns=table.queue_arns,
        notification_target=table.notification_target or None,
        additional_player_count=table.additional_players or None,
        custom_event_data=table.custom_event_data or None,
        game_properties=properties,
        game_session_data=table.game_session_data,
    )


def _tags(tags: Iterable[shapes.Tag] | None) -> dict[str, str]:
    found = {each.key: each.value for each in tags or ()}
    if len(found) > TAGS_MAX:
        raise ServiceError("TaggingFailedException", f"a resource has at most {TAGS_MAX} tags")
    return found


def _resource(arn: str) -> tuple[str, str]:
    """Return where the resource of an ARN is kept, and its name."""
    found = arns.resource_in(arn)
    if found is None:
        raise invalid(
            f"ResourceARN: must be that of a matchmakingconfiguration or a matchmakingruleset, "
            f"got {arn[:128]!r}"
        )
    kind, name = found
    return ("configurations" if kind == arns.CONFIGURATION else "rule_sets"), name


def _in(table: GameLiftTable, field: str, name: str) -> Table:
    rows: dict[str, Table] = getattr(table, field)
    if name not in rows:
        raise missing(field.replace("_", " ").rstrip("s"), name)
    return rows[name]


def _without(rows: dict[str, Item], name: str) -> dict[str, Item]:
    return {key: value for key, value in rows.items() if key != name}


def _page(names: Sequence[str], most: int, token: str | None) -> tuple[list[str], str | None]:
    """Return the names of a page, by name, and the token of the next one.

    A token is the last name of the page before, so a page stays right when others come and go.
    """
    after = "" if token is None else _after(token)
    left = sorted(name for name in names if name > after)
    page = left[:most]
    more = len(left) > most
    return page, base64.urlsafe_b64encode(page[-1].encode()).decode() if more else None


def _after(token: str) -> str:
    try:
        return base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except (ValueError, UnicodeError):
        raise invalid(
            "NextToken: is not one that this server gave; begin with the first page"
        ) from None
