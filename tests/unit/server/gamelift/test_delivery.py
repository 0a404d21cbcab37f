"""Events on their way to a webhook that fails, hangs or refuses."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import msgspec
import pytest

from evenmatch.config.gamelift import target_in
from evenmatch.config.server import Notification
from evenmatch.errors import ConfigError
from evenmatch.server.gamelift import delivery
from evenmatch.server.gamelift.delivery import Target, Targets
from tests.waiting import until

TOPIC = "arn:aws:sns:eu-west-1:1234:events"


def event(number: int) -> dict[str, Any]:
    return {"id": f"e{number}", "detail": {"number": number}}


class Hook:
    """Answers with these statuses, one after another, then with 200; None hangs."""

    says_much = False

    def __init__(self, statuses: Sequence[int | None]) -> None:
        self.statuses = list(statuses)
        self.tasks: list[asyncio.Task[Any]] = []
        self.heard: list[tuple[str, dict[str, Any], dict[str, str]]] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tasks.append(cast(Any, asyncio.current_task()))
        try:
            await self._say(reader, writer)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _say(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        body = await reader.readexactly(int(headers["content-length"]))
        self.heard.append((headers["idempotency-key"], json.loads(body), headers))
        status = self.statuses.pop(0) if self.statuses else 200
        if status is not None:
            length = 10**6 if self.says_much else 0
            writer.write(f"HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n\r\n".encode())
            await writer.drain()
            if self.says_much:
                with suppress(ConnectionError):
                    writer.write(b"x" * (length - 1))  # and the last byte never
                    await reader.read()
        else:
            await reader.read()  # until the other side has left


def heard(
    monkeypatch: pytest.MonkeyPatch, statuses: Sequence[int | None], events: int, **given: Any
) -> tuple[list[str], Target, Hook]:
    """Return the ids that a hook heard of events, in order, the target and the hook."""
    monkeypatch.setattr(delivery, "FIRST_PAUSE", 0.001)
    hook = Hook(statuses)

    async def play() -> Target:
        server = await asyncio.start_server(hook.answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        target = Target("events", Notification(f"http://127.0.0.1:{port}/", **given))
        for number in range(events):
            target.put(TOPIC, event(number))
        await until(lambda: target.sent + target.dropped == events)
        server.close()
        await asyncio.gather(*hook.tasks)
        return target

    target = asyncio.run(play())
    return [each for each, _, _ in hook.heard], target, hook


def test_events_come_in_order_and_again_until_they_are_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ids, target, _ = heard(monkeypatch, [200, 503, 429, 200], 3)
    assert ids == ["e0", "e1", "e1", "e1", "e2"]
    assert (target.sent, target.dropped) == (3, 0)


def test_event_is_dropped_after_the_last_try_or_a_plain_refusal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ids, target, _ = heard(monkeypatch, [500, 500, 404], 3, retries=1)
    assert ids == ["e0", "e0", "e1", "e2"]
    assert (target.sent, target.dropped) == (1, 2)


def test_event_is_taken_by_the_status_whatever_the_hook_says_besides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Hook, "says_much", True)
    ids, target, _ = heard(monkeypatch, [200, 503, 200], 2, retries=1)
    assert ids == ["e0", "e1", "e1"]
    assert (target.sent, target.dropped) == (2, 0)


def test_hook_that_hangs_is_left_after_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    ids, target, _ = heard(monkeypatch, [None], 1, timeout=0.05)
    assert ids == ["e0", "e0"]
    assert target.sent == 1


@pytest.mark.parametrize("url", ["http://[::1/x", "http://host:99999/x", "https://h:abc/"])
def test_address_that_is_none_drops_events_and_does_not_end_the_delivery(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setattr(delivery, "FIRST_PAUSE", 0.001)

    async def play() -> None:
        target = Target("events", Notification(url, retries=1))
        for number in range(2):
            target.put(TOPIC, event(number))
        await until(lambda: target.dropped == 2)

    asyncio.run(play())


def test_log_tells_of_dropped_events_at_once_and_then_once_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, told = [5.0], []
    monkeypatch.setattr(delivery, "BACKLOG_MAX", 0)
    monkeypatch.setattr(delivery.time, "monotonic", lambda: now[0])
    log = Mock(error=lambda _, **facts: told.append(facts["dropped"]))
    monkeypatch.setattr(delivery, "log", log)
    target = Target("events", Notification("http://127.0.0.1:1/"))
    for now[0] in (5.0, 6.0, 64.0, 65.0, 66.0, 2_000_000.0):
        target.put(TOPIC, event(0))
    assert told == [1, 4, 6]


def test_notification_of_sns_holds_the_envelope(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, hook = heard(monkeypatch, [], 1, form="sns")
    ((_, body, headers),) = hook.heard
    assert json.loads(body["Message"]) == event(0)
    assert (body["Type"], body["TopicArn"]) == ("Notification", TOPIC)
    assert headers["x-amz-sns-message-type"] == "notification"


def test_backlog_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "BACKLOG_MAX", 2)
    _, target, _ = heard(monkeypatch, [], 5)
    assert (target.sent, target.dropped) == (2, 3)


def test_topic_without_a_webhook_is_told_nothing() -> None:
    given = {"events": msgspec.convert({"url": "http://127.0.0.1:9/"}, Notification)}
    Targets(given).send("arn:aws:sns:eu-west-1:1234:others", event(0))
    assert target_in(TOPIC) == "events"


def test_empty_secret_is_refused_and_never_means_unsigned(tmp_path: Path) -> None:
    empty = tmp_path / "secret"
    empty.write_bytes(b"\n")
    given = Notification("http://127.0.0.1:1", secret_file=str(empty))
    with pytest.raises(ConfigError, match=r"server\.notifications\.events\.secret_file"):
        Target("events", given)
