"""Delivers events to a webhook: signed, in order, and repeated until it accepts them.

A target that hangs holds up nobody but itself; beyond its backlog, and after the last try, events
are dropped and the log says so. After a restart nothing is sent that was not sent before.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from evenmatch.config.gamelift import target_in
from evenmatch.config.server import Notification
from evenmatch.server.allocation.hooks import AGAIN, Unreachable, secret_in, signature, tell, tls_of
from evenmatch.server.http.responses import encode
from evenmatch.server.runtime.logs import log

BACKLOG_MAX = 10_000
"""Events of a target that wait to be sent."""
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0
LOGGED_EVERY = 60.0
"""Seconds in which the log tells once of dropped events: a dead target fills no log."""


class Target:
    """One webhook.

    Args:
        name: Its own.
        notification: Its settings.

    Raises:
        ConfigError: The file of its secret cannot be read.
    """

    def __init__(self, name: str, notification: Notification) -> None:
        self.name = name
        self._given = notification
        self._tls = tls_of(notification.url)
        self._secret = secret_in(notification.secret_file, f"server.notifications.{name}")
        self._waiting: deque[tuple[str, bytes]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._logged_at = -math.inf
        self.sent = 0
        self.dropped = 0

    def put(self, topic: str, envelope: Mapping[str, Any]) -> None:
        """Send an event after those before it."""
        if len(self._waiting) >= BACKLOG_MAX:
            self._drop("the backlog is full")
            return
        sns = self._given.form == "sns"
        body = _notification(topic, envelope, time.time()) if sns else encode(envelope)
        self._waiting.append((str(envelope["id"]), body))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._send_all())

    async def _send_all(self) -> None:
        try:
            while self._waiting:
                await self._send(*self._waiting[0])
                self._waiting.popleft()
        finally:
            self._task = None

    async def _send(self, event: str, body: bytes) -> None:
        """Send one event, again and again; give it up after the last try, or a plain refusal."""
        for attempt in range(self._given.retries + 1):
            if attempt:
                await asyncio.sleep(min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(attempt - 1, 20)))
            try:
                headers = self._headers(event, body)
                status = await tell(self._given.url, body, headers, self._given.timeout, self._tls)
            except Unreachable as error:
                reason = str(error)
                continue
            if 200 <= status < 300:
                self.sent += 1
                return
            reason = f"the answer was {status}"
            if status < 500 and status not in AGAIN:
                break
        self._drop(reason)

    def _headers(self, event: str, body: bytes) -> dict[str, str]:
        headers = {"idempotency-key": event}
        if self._given.form == "sns":
            headers["x-amz-sns-message-type"] = "Notification"
        if self._secret:
            headers["evenmatch-signature"] = signature(self._secret, body, int(time.time()))
        return headers

    def _drop(self, reason: str) -> None:
        self.dropped += 1
        now = time.monotonic()
        if now - self._logged_at >= LOGGED_EVERY:
            self._logged_at = now
            log.error("event_dropped", target=self.name, reason=reason, dropped=self.dropped)


class Targets:
    """All webhooks of a server, by the names under which configurations know them."""

    def __init__(self, notifications: Mapping[str, Notification]) -> None:
        self._targets = {name: Target(name, each) for name, each in notifications.items()}

    @property
    def dropped(self) -> dict[str, int]:
        """Return how many events each webhook has missed."""
        return {name: target.dropped for name, target in self._targets.items()}

    def send(self, topic: str, envelope: Mapping[str, Any]) -> None:
        """Send an event to the webhook that a topic's ARN names, if there is one."""
        target = self._targets.get(target_in(topic))
        if target is not None:
            target.put(topic, envelope)


def _notification(topic: str, envelope: Mapping[str, Any], at: float) -> bytes:
    """Return an event inside a notification of SNS."""
    stamp = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
    return encode(
        {
            "Type": "Notification",
            "MessageId": envelope["id"],
            "TopicArn": topic,
            "Message": encode(envelope).decode(),
            "Timestamp": stamp,
        }
    )
