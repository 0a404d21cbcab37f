"""`POST /v1/cluster/finish-upgrade`: which nodes are asked, and when it is refused."""

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from evenmatch.engine.records import FORMAT
from evenmatch.errors import ConfigError, JournalUnavailable
from evenmatch.server.cluster import upgrade
from evenmatch.server.cluster.identity import NodeIdentity
from evenmatch.server.cluster.peer_calls import FINISH_PATH
from evenmatch.server.cluster.seat import Seat
from evenmatch.server.cluster.upgrade import finish_upgrade
from tests.unit.server.test_cluster_nodes import asked, with_node
from tests.waiting import until

IDENTITY = NodeIdentity("a", "127.0.0.1:1", b"0123456789abcdef", "00")
OTHER = "b/1@10.0.0.2:80"


class Games:
    """A game whose format can be raised."""

    raised = 0

    async def raise_format(self) -> None:
        self.raised += 1


def seat(name: str, holder: str, games: Games | None = None) -> Seat:
    claim = SimpleNamespace(shard=name)
    return cast(
        Seat,
        SimpleNamespace(
            about=f"/{name}", claim=claim, holder=holder, present=games, is_cut_off=games is None
        ),
    )


class Others:
    """What other nodes answer, and what they were asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, said: object, *, raises: bool = True):
        self.asked: list[tuple[str, str]] = []
        self._said, self._raises = said, raises
        monkeypatch.setattr(upgrade, "ask_node", self._ask)

    async def _ask(
        self, place: tuple[str, int], method: str, path: str, signed: bytes, seconds: float = 1.0
    ) -> bytes | None:
        del place, signed, seconds
        self.asked.append((method, path))
        if method == "GET":
            return None if self._said is None else msgspec.json.encode(self._said)
        return b"" if self._raises else None


def status(**more: Any) -> Mapping[str, Any]:
    known = {"node": "b", "role": "answering", "owner": "b", "address": "", "lease_seconds": 5.0}
    return {**known, **more}


def finish(seats: list[Seat], others: list[str], about: str = "") -> None:
    asyncio.run(finish_upgrade(IDENTITY, {each.about: each for each in seats}, others, about))


def test_each_shard_is_raised_by_the_node_that_answers_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    others, games = Others(monkeypatch, status(format=FORMAT)), Games()
    finish([seat("s0", IDENTITY.owner, games), seat("s0.x", OTHER)], [OTHER])
    assert games.raised == 1
    assert others.asked == [("GET", "/v1/cluster"), ("POST", FINISH_PATH)]
    finish([seat("s0", IDENTITY.owner, games)], [], about="/s0")
    assert games.raised == 2


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (status(format=FORMAT - 1), f"could not read record format {FORMAT}, and knows those up"),
        (status(), f"could not read record format {FORMAT}: nothing was changed"),
        ({"odd": 1}, "could not read"),
    ],
    ids=["older", "says-none", "not-understood"],
)
def test_node_that_lives_and_is_older_keeps_all_from_being_raised(
    monkeypatch: pytest.MonkeyPatch, said: object, why: str
) -> None:
    others, games = Others(monkeypatch, said), Games()
    with pytest.raises(ConfigError, match=why):
        finish([seat("s0", IDENTITY.owner, games), seat("s0.x", OTHER)], [OTHER])
    # It owns a lease, so it counts although nobody has heard of it.
    with pytest.raises(ConfigError, match=why):
        finish([seat("s0", IDENTITY.owner, games), seat("s0.x", OTHER)], [])
    assert games.raised == 0
    assert {path for _, path in others.asked} == {"/v1/cluster"}


def test_what_is_not_known_or_not_done_is_to_be_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    games = Games()
    mine, theirs = seat("s0", IDENTITY.owner, games), seat("s0.x", OTHER)
    Others(monkeypatch, None)
    with pytest.raises(JournalUnavailable, match="node b does not say which version"):
        finish([mine, theirs], [OTHER])
    assert games.raised == 0
    Others(monkeypatch, status(format=FORMAT), raises=False)
    with pytest.raises(JournalUnavailable, match=r"node b did not raise the format of shard s0\.x"):
        finish([mine, theirs], [OTHER])
    away = "shard s0, because the journal cannot be used"
    for about, which in (("/s0", away), ("/s9", "that shard")):
        with pytest.raises(JournalUnavailable, match=f"does not answer for {which}"):
            finish([seat("s0", OTHER)], [], about=about)


def test_node_raises_the_format_for_whoever_has_the_key_and_tells_it_in_its_status() -> None:
    async def scene(running: Any) -> None:
        own = next(iter(running._seats.values()))
        await until(lambda: own.present is not None, "the lease")
        runtime = own.present.services[0].runtime
        runtime.format = FORMAT - 1
        assert running.status.shards[0].format == FORMAT - 1
        assert running.status.format == FORMAT
        note = IDENTITY.sign("x", purpose="nodes")
        assert (await asked(running, FINISH_PATH, signed=note)).status == 400
        assert runtime.format == FORMAT - 1
        assert (await asked(running, FINISH_PATH, method="POST")).status == 404
        assert runtime.format == FORMAT - 1
        for _ in range(2):
            answer = await asked(running, FINISH_PATH, signed=note, method="POST")
            assert answer.status == 200
            assert msgspec.json.decode(answer.body)["shards"][0]["format"] == FORMAT

    with_node(scene)


def test_node_that_does_not_know_each_owner_yet_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    others, games = Others(monkeypatch, status(format=FORMAT)), Games()
    with pytest.raises(JournalUnavailable, match=r"answers for shard s0\.x: nothing was changed"):
        finish([seat("s0", IDENTITY.owner, games), seat("s0.x", "")], [OTHER])
    assert (games.raised, others.asked) == (0, [])


def test_nodes_that_only_others_know_are_asked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    games, third = Games(), "c/1@10.0.0.3:80"
    said = {
        "10.0.0.2": status(format=FORMAT, others=[IDENTITY.owner, third, OTHER]),
        "10.0.0.3": status(format=FORMAT - 1, others=[OTHER]),
    }

    async def ask(place: tuple[str, int], *_: object) -> bytes:
        return msgspec.json.encode(said[place[0]])

    monkeypatch.setattr(upgrade, "ask_node", ask)
    with pytest.raises(ConfigError, match="node c could not read record format"):
        finish([seat("s0", IDENTITY.owner, games)], [OTHER])
    assert games.raised == 0
