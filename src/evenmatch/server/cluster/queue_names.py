"""Lets the refusal of an unknown queue name all queues of a game: a shard knows only its own.

The shard that is asked judges who asks, and only its refusal is completed; so names of queues go to
nobody who may not know them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from urllib.parse import unquote

import msgspec

from evenmatch.errors import UnknownQueue
from evenmatch.server.cluster.joined_answers import UNKNOWN
from evenmatch.server.http.responses import Message, Send, encode, send_body, unknown_queue
from evenmatch.wire.tickets import BAD


class QueueNames:
    """The queues of one game.

    Args:
        known: Their names.
    """

    def __init__(self, known: Collection[str]) -> None:
        self._known = known

    def unknown_in(self, path: str) -> str:
        """Return the queue that a path names and no shard has; empty if there is none."""
        parts = path.split("/")
        name = unquote(parts[3]) if len(parts) > 3 and parts[1:3] == ["v1", "queues"] else ""
        return "" if name in self._known else name

    def naming(self, send: Send, unknown: str) -> Send:
        """Return what takes an answer, and names all queues where it refuses one.

        Args:
            send: Takes what the client is told.
            unknown: The queue; empty if all are known.
        """
        if not unknown:
            return send
        head: Message | None = None
        parts: list[bytes] = []

        async def told(message: Message) -> None:
            nonlocal head
            if message["type"] == "http.response.start" and message["status"] == UNKNOWN:
                head = message
            elif head is None:
                await send(message)
            else:
                parts.append(message.get("body", b""))
                if not message.get("more_body", False):
                    kept = [each for each in head["headers"] if each[0] != b"content-length"]
                    body = self.renamed(b"".join(parts), {0: unknown})
                    await send_body(send, head["status"], body, kept)

        return told

    def renamed(self, body: bytes, unknown: Mapping[int, str]) -> bytes:
        """Return an answer whose refusals of unknown queues name all queues of the game.

        Args:
            body: One refusal, or what is said to each ticket of an array.
            unknown: The queue that no shard has, by place in the array; empty if there is none.
        """
        if not any(unknown.values()):
            return body
        try:
            told = msgspec.json.decode(body)
        except BAD:
            return body
        for at, problem in enumerate(told if isinstance(told, list) else [told]):
            name = unknown.get(at)
            if name and isinstance(problem, dict) and problem.get("error") == UnknownQueue.code:
                problem["message"] = unknown_queue(name, self._known).message
        return encode(told)
