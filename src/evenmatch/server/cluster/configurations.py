"""The configuration of a game whose shards are on several nodes: each shard applies its part.

A change is tried out by every shard before any of them takes it. A shard whose node is lost between
the two is asked again until it has taken the change, or the client is told that some have and some
have not; the same change again then brings the others after.

The version of a game is the sum of those of its shards. A change is about the version that each
shard had when it came: one that has changed since refuses it, so of two changes at once one is in
force in all shards. Who has named the version is told so; any other change begins anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

from evenmatch.config.files import BYTES_MAX
from evenmatch.errors import JournalUnavailable, StaleVersion
from evenmatch.server.cluster.ask_shards import Serve, ask_each_shard
from evenmatch.server.cluster.joined_answers import WholeAnswer, well, worst
from evenmatch.server.cluster.seat import Seat
from evenmatch.server.http.operator_routes import document_of
from evenmatch.server.http.responses import Receive, Scope, header, read_body
from evenmatch.server.http.ticket_routes import record_of
from evenmatch.server.operations.versions import GAMELIFT, changeable

AGAIN_SECONDS = 0.5
TRIES = 20
"""Ten seconds: longer than a lease by default."""
CHANGES_MAX = 10
"""How often a change begins anew that another one has overtaken."""
UNAVAILABLE, CONFLICT = 503, 409
SUMMED = ("version", "expired", "left", "overdue")
"""What of a change is the sum of what it did in each shard."""


@dataclass
class _Change:
    """A change of the configuration, with the version of each shard that it is about."""

    scope: Scope
    body: bytes
    query: dict[str, str]
    versions: dict[Seat, int] = field(default_factory=dict)


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
        text = query.pop("if_version", None)
        wanted = None if text is None else record_of(text, "if_version")
        change = _Change(scope, body, query)
        for _ in range(CHANGES_MAX):
            present = await self._present(scope, self._seats)
            if (bad := worst([each for _, each in present])) is not None:
                return bad
            change.versions = {seat: answer.value()["version"] for seat, answer in present}
            version = sum(change.versions.values())
            if wanted not in (None, version):
                raise StaleVersion(
                    f"version {version} of the configuration is in force, not {wanted}: look at "
                    f"it with GET /v1/config and decide again",
                    version=version,
                )
            done = await self._made(change)
            if not any(each.status == CONFLICT for each in done.values()):
                return _changes(list(done.values()))
        raise StaleVersion(
            "other changes of the configuration were faster, again and again: look at it with GET "
            "/v1/config and decide again",
            version=version,
        )

    async def _made(self, change: _Change) -> dict[Seat, WholeAnswer]:
        """Try a change out in each shard, make it unless that is all, and return what they say."""
        is_dry = change.query.get("dry_run", "0").lower() in ("1", "true")
        tried = dict(await self._ask(self._seats, change, {**change.query, "dry_run": "1"}))
        if is_dry or worst(list(tried.values())) is not None:
            return tried
        return await self._bring(change)

    async def _bring(self, change: _Change) -> dict[Seat, WholeAnswer]:
        """Bring a change into force in each shard, and return what each of them says.

        Raises:
            JournalUnavailable: Some do not answer.
        """
        done: dict[Seat, WholeAnswer] = {}
        unsure: dict[Seat, None] = {}
        for _ in range(TRIES):
            left = [seat for seat in self._seats if seat not in done]
            # Of two changes of the same version, each could win some shards if all were asked at
            # once: the first shard decides between them.
            asked = left if done else left[:1]
            told = dict(await self._ask(asked, change, change.query))
            for seat in [each for each in unsure if told[each].status == CONFLICT]:
                told[seat] = await self._taken(seat, change, told[seat])
            unsure = dict.fromkeys(
                seat for seat, answer in told.items() if answer.status == UNAVAILABLE
            )
            done |= {seat: answer for seat, answer in told.items() if seat not in unsure}
            is_refused = worst(list(done.values())) is not None
            if is_refused or len(done) == len(self._seats):
                return done
            if unsure:
                await asyncio.sleep(AGAIN_SECONDS)
        raise JournalUnavailable(
            f"{len(done)} of {len(self._seats)} shards have taken the configuration, and the "
            f"others do not answer: send it again"
        )

    async def _taken(self, seat: Seat, change: _Change, refused: WholeAnswer) -> WholeAnswer:
        """Return the answer of a shard that refuses a version, and did not answer before.

        The change itself may have made the version that it meets.
        """
        ((_, present),) = await self._present(change.scope, [seat])
        if not present.is_well:
            return present
        state = present.value()
        kind = (header(change.scope, b"content-type") or b"").decode("latin-1").lower()
        # Up to a second for a megabyte, which the event loop has not got.
        sent = changeable(await asyncio.to_thread(document_of, change.body, kind))
        config = state["config"] or {}
        kept = {GAMELIFT: config[GAMELIFT]} if GAMELIFT in config else {}
        if kept | sent != config:
            return refused
        # It changes nothing any more, and says what there is.
        change.versions[seat] = state["version"]
        ((_, answer),) = await self._ask([seat], change, change.query)
        return answer

    async def _present(self, scope: Scope, seats: Sequence[Seat]) -> list[tuple[Seat, WholeAnswer]]:
        asked = {**scope, "method": "GET", "query_string": b""}
        return await ask_each_shard(self._serve, seats, asked, b"")

    async def _ask(
        self, seats: Sequence[Seat], change: _Change, query: Mapping[str, str]
    ) -> list[tuple[Seat, WholeAnswer]]:
        queries = {
            seat: urlencode({**query, "if_version": str(change.versions[seat])}).encode()
            for seat in seats
        }
        return await ask_each_shard(self._serve, seats, change.scope, change.body, queries)


def _changes(answers: Sequence[WholeAnswer]) -> WholeAnswer:
    """Join what a change did in each shard."""
    if (bad := worst(answers)) is not None:
        return bad
    told = [answer.value() for answer in answers]
    sums = {key: sum(each[key] for each in told) for key in SUMMED}
    return well(
        {
            **sums,
            "dry_run": told[0]["dry_run"],
            "queues": list(dict.fromkeys(name for each in told for name in each["queues"])),
            "at_restart": list(dict.fromkeys(key for each in told for key in each["at_restart"])),
        }
    )
