"""The configuration of a game whose shards are on several nodes: each shard applies its part.

A change is tried out by every shard before any of them takes it. A shard whose node is lost between
the two is asked again until it has taken the change, or the client is told that some have and some
have not; the same change again then brings the others after.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode

from evenmatch.config.files import BYTES_MAX
from evenmatch.errors import JournalUnavailable, StaleVersion
from evenmatch.server.cluster.ask_shards import Serve, ask_each_shard
from evenmatch.server.cluster.joined_answers import WholeAnswer, well, worst
from evenmatch.server.cluster.seat import Seat
from evenmatch.server.http.responses import Receive, Scope, read_body

AGAIN_SECONDS = 0.5
TRIES = 20
"""Ten seconds: longer than a lease by default."""
UNAVAILABLE = 503
SUMMED = ("version", "expired", "left", "overdue")
"""What of a change is the sum of what it did in each shard."""


class Configurations:
    """`GET` and `PUT /v1/config` of one game.

    Args:
        seats: Of its shards.
        by_queue: The shard of each queue.
        serve: Answers a request for one.
    """

    def __init__(self, seats: Sequence[Seat], by_queue: Mapping[str, Seat], serve: Serve) -> None:
        self._seats = tuple(seats)
        self._by_queue = by_queue
        self._serve = serve

    async def answer(self, scope: Scope, receive: Receive) -> WholeAnswer:
        """Return the answer to a request."""
        body = await read_body(scope, receive, BYTES_MAX)
        if scope["method"] == "GET":
            return self._joined(await ask_each_shard(self._serve, self._seats, scope, body))
        return await self._put(scope, body)

    def _joined(self, answers: Sequence[tuple[Seat, WholeAnswer]]) -> WholeAnswer:
        if (bad := worst([each for _, each in answers])) is not None:
            return bad
        states = {seat: answer.value() for seat, answer in answers}
        first = states[self._seats[0]]
        config = first["config"]
        if config is not None:
            queues = [self._as_in_force(queue, states) for queue in config.get("queue", [])]
            config = {**config, "queue": queues}
        changed = (each["source"] for each in states.values() if each["source"] != "file")
        return well(
            {
                # It rises whenever that of any shard does.
                "version": sum(each["version"] for each in states.values()),
                "source": next(changed, "file"),
                "paused": list(
                    dict.fromkeys(name for each in states.values() for name in each["paused"])
                ),
                "config": config,
            }
        )

    def _as_in_force(self, queue: Any, states: Mapping[Seat, Any]) -> Any:
        """Return the keys of a queue as its own shard has them."""
        name = queue.get("name", "main")
        seat = self._by_queue.get(name)
        config = (None if seat is None else states[seat]["config"]) or {}
        queues = config.get("queue", [])
        return next((each for each in queues if each.get("name", "main") == name), queue)

    async def _put(self, scope: Scope, body: bytes) -> WholeAnswer:
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        is_dry = query.get("dry_run", "0").lower() in ("1", "true")
        wanted = query.pop("if_version", None)
        if wanted is not None and wanted.isascii() and wanted.isdigit():
            asked = {**scope, "method": "GET", "query_string": b""}
            present = self._joined(await ask_each_shard(self._serve, self._seats, asked, b""))
            if not present.is_well:
                return present
            version = present.value()["version"]
            if version != int(wanted):
                raise StaleVersion(
                    f"version {version} of the configuration is in force, not {wanted}: look at "
                    f"it with GET /v1/config and decide again",
                    version=version,
                )
        elif wanted is not None:
            query["if_version"] = wanted
        tried = await self._ask(self._seats, scope, body, {**query, "dry_run": "1"})
        if is_dry or worst([each for _, each in tried]) is not None:
            return _changes(tried)
        done: dict[Seat, WholeAnswer] = {}
        for _ in range(TRIES):
            left = [seat for seat in self._seats if seat not in done]
            told = await self._ask(left, scope, body, query)
            done |= {seat: answer for seat, answer in told if answer.status != UNAVAILABLE}
            if len(done) == len(self._seats):
                return _changes(list(done.items()))
            await asyncio.sleep(AGAIN_SECONDS)
        raise JournalUnavailable(
            f"{len(done)} of {len(self._seats)} shards have taken the configuration, and the "
            f"others do not answer: send it again"
        )

    async def _ask(
        self, seats: Sequence[Seat], scope: Scope, body: bytes, query: Mapping[str, str]
    ) -> list[tuple[Seat, WholeAnswer]]:
        text = urlencode(query).encode()
        queries = dict.fromkeys(seats, text)
        return await ask_each_shard(self._serve, seats, scope, body, queries)


def _changes(answers: Sequence[tuple[Seat, WholeAnswer]]) -> WholeAnswer:
    """Join what a change did in each shard."""
    if (bad := worst([each for _, each in answers])) is not None:
        return bad
    told = [answer.value() for _, answer in answers]
    sums = {key: sum(each[key] for each in told) for key in SUMMED}
    return well(
        {
            **sums,
            "dry_run": told[0]["dry_run"],
            "queues": list(dict.fromkeys(name for each in told for name in each["queues"])),
            "at_restart": list(dict.fromkeys(key for each in told for key in each["at_restart"])),
        }
    )
