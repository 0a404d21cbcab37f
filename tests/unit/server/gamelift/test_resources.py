"""Which rule sets and configurations count, and since when."""

import asyncio
import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from evenmatch.config.files import server_of
from evenmatch.errors import ConfigError
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Configure, Input
from evenmatch.server.gamelift.resources import Resources
from evenmatch.server.operations.versions import changeable
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.services import Services, assemble
from tests.callers import play
from tests.unit.server.gamelift.configured import CONFIG

EDITED = f'{CONFIG}description = "edited"\n'


def descriptions(resources: Resources) -> list[str | None]:
    return [each.description for each in resources.table().configurations.values()]


def with_file(folder: Path, scene: Callable[[Services, Resources, Path], Awaitable[None]]) -> None:
    """Run a scene on a server with a CONFIG file."""

    async def whole() -> None:
        file = folder / "config.toml"
        file.write_text(CONFIG)
        document = changeable(tomllib.loads(CONFIG))
        queues, _, seed = server_of(document)
        parts = assemble(ShardPlan(queues, seed, file=file, document=document), MemoryJournal())
        await parts.runtime.start()
        await scene(parts, Resources(parts), file)
        await parts.runtime.stop()

    play(whole)


def test_configuration_over_http_that_differs_only_in_what_no_queue_tells_counts(
    tmp_path: Path,
) -> None:
    async def scene(parts: Services, resources: Resources, file: Path) -> None:
        assert descriptions(resources) == [None]
        done = await parts.operator.change(tomllib.loads(EDITED), by="somebody")
        assert (done.version, descriptions(resources)) == (2, ["edited"])
        again = await parts.operator.change(tomllib.loads(EDITED), by="somebody")
        assert again.version == 2
        file.write_text(CONFIG)
        await parts.operator.reload()
        assert descriptions(resources) == [None]

    with_file(tmp_path, scene)


def test_file_that_is_read_again_counts_for_who_looked_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(parts: Services, resources: Resources, file: Path) -> None:
        ask = parts.runtime.ask

        async def looked(given: Input) -> Any:
            result = await ask(given)
            if isinstance(given, Configure):
                descriptions(resources)
                await asyncio.sleep(0)
            return result

        monkeypatch.setattr(parts.runtime, "ask", looked)
        file.write_text(EDITED.replace("request_timeout = 60", "request_timeout = 61"))
        await parts.operator.reload()
        assert descriptions(resources) == ["edited"]

    with_file(tmp_path, scene)


@pytest.mark.parametrize("key", ["policy", "shadow"])
def test_policy_of_a_queue_that_a_configuration_makes_is_refused(tmp_path: Path, key: str) -> None:
    async def scene(parts: Services, resources: Resources, file: Path) -> None:
        del resources, file
        change = parts.operator.set_policy if key == "policy" else parts.operator.set_shadow
        with pytest.raises(ConfigError, match=r"write a \[\[queue\]\] with this rule set"):
            await change("game", "greedy", by="somebody")
        assert (await change("duel", "rounds:every=5", by="somebody")).version == 2

    with_file(tmp_path, scene)


def test_target_without_a_webhook_is_refused_over_http_and_in_the_file(tmp_path: Path) -> None:
    async def scene(parts: Services, resources: Resources, file: Path) -> None:
        lost = f'{EDITED}notification_target = "arn:aws:sns:eu-west-1:1:lost"\n'
        with pytest.raises(ConfigError, match=r"add \[server\.notifications\.lost\], and restart"):
            await parts.operator.change(tomllib.loads(lost), by="somebody")
        file.write_text(lost)
        await parts.operator.reload()
        assert descriptions(resources) == [None]

    with_file(tmp_path, scene)
