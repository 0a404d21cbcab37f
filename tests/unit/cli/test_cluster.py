"""What `serve` and `cluster` refuse of nodes, and what they say of nodes that are not there."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest

from evenmatch.cli.cluster import (
    NodeAnswer,
    ShardAnswer,
    problems_of,
    shard_states,
    why_not_well,
)
from evenmatch.cli.main import main
from evenmatch.engine.records import FORMAT

CONFIG = '[[queue]]\nname = "duel"\nteams = 2\nplayers = 1\npolicy = "greedy"\n'
SHARED = ("--journal", "nats://127.0.0.1:1")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--node", "a", *SHARED), "go together"),
        (("--cluster-key", "KEY", *SHARED), "go together"),
        (("--node", "a", "--cluster-key", "KEY"), "a journal that all nodes reach"),
        (("--node", "a b", "--cluster-key", "KEY", *SHARED), "--node must have"),
        (("--node-address", "h:1", *SHARED), "--node-address goes only with --node"),
        (("--lease-seconds", "9", *SHARED), "--lease-seconds goes only with --node"),
        (("--lease-seconds", "nan"), "--lease-seconds goes only with --node"),
        (
            ("--node", "a", "--cluster-key", "KEY", *SHARED, "--node-address", "nowhere"),
            "--node-address must be",
        ),
        (
            ("--node", "a", "--cluster-key", "KEY", *SHARED, "--lease-seconds", "nan"),
            "--lease-seconds must be from 1 to 600",
        ),
        (
            ("--node", "a", "--cluster-key", "KEY", *SHARED, "--tls-cert", "c", "--tls-key", "k"),
            "cannot use TLS itself",
        ),
    ],
)
def test_options_that_make_no_node_are_refused_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], words: str
) -> None:
    key, config = tmp_path / "key", tmp_path / "duel.toml"
    key.write_text("0123456789abcdef")
    config.write_text(CONFIG)
    given = [str(key) if each == "KEY" else each for each in options]
    assert main(["serve", str(config), *given]) == 2
    assert words in capsys.readouterr().err


def test_games_of_several_tenants_need_keys_in_a_cluster_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "key").write_text("0123456789abcdef")
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(CONFIG)
    tenants = tmp_path / "tenants.toml"
    tenants.write_text(
        "".join(
            f'[[tenant]]\nname = "{n}"\nconfig = "{tmp_path}/{n}.toml"\n' for n in ("one", "two")
        )
    )
    options = ["--node", "a", "--cluster-key", str(tmp_path / "key"), *SHARED]
    options += ["--data", str(tmp_path / "data")]
    assert main(["serve", str(tenants), *options]) == 2
    assert "tenant one has no keys" in capsys.readouterr().err


def test_nodes_that_are_not_there_are_told_and_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "key").write_text("0123456789abcdef")
    asked = ["cluster", "status", "http://127.0.0.1:1", "--cluster-key", str(tmp_path / "key")]
    assert main([*asked, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is False
    assert told["nodes"][0]["role"] == "unreached"
    assert told["nodes"][0]["why"]
    assert main(asked) == 1
    assert "not reached" in capsys.readouterr().out


def shard(role: str, owner: str, name: str = "s0") -> ShardAnswer:
    return ShardAnswer(name, "", role, owner, "h:1", 3 if role == "answering" else None)


def test_shard_is_well_if_one_node_answers_and_all_know_it() -> None:
    one = NodeAnswer(node="a", shards=(shard("answering", "a"), shard("standing_by", "b", "s0.x")))
    two = NodeAnswer(node="b", shards=(shard("standing_by", "a"), shard("answering", "b", "s0.x")))
    found = shard_states([one, two])
    assert [(each.shard, each.owner, each.epoch, each.ok) for each in found] == [
        ("s0", "a", 3, True),
        ("s0.x", "b", 3, True),
    ]
    stale = NodeAnswer(node="c", shards=(shard("standing_by", "b"),))
    assert [each.ok for each in shard_states([one, two, stale])] == [False, True]
    both = NodeAnswer(node="b", shards=(shard("answering", "b"),))
    assert next(iter(shard_states([one, both]))).ok is False


def test_owner_that_the_nodes_name_is_shown_though_it_was_not_reached() -> None:
    one = NodeAnswer(
        node="a", shards=(shard("standing_by", "c"), shard("standing_by", "b", "s0.x"))
    )
    two = NodeAnswer(node="b", shards=(shard("standing_by", "c"), shard("standing_by", "", "s0.x")))
    found = shard_states([one, two, NodeAnswer("http://c", why="refused")])
    assert [(each.owner, each.address, each.state, each.agree, each.ok) for each in found] == [
        ("c", "h:1", "unreached", True, False),
        ("b", "h:1", "silent", False, False),
    ]
    nobody = NodeAnswer(node="a", shards=(shard("standing_by", ""),))
    assert [(each.owner, each.state) for each in shard_states([nobody])] == [("", "unknown")]


def test_node_that_is_asked_twice_is_one() -> None:
    one = NodeAnswer("http://a", node="a", owns_as="a@h:1", shards=(shard("answering", "a"),))
    again = msgspec.structs.replace(one, at="http://10.0.0.5")
    assert [each.ok for each in shard_states([one, again])] == [True]
    # Two nodes with one name are two.
    other = msgspec.structs.replace(one, owns_as="a@h:2")
    assert [each.ok for each in shard_states([one, other])] == [False]


def test_nodes_that_differ_are_named() -> None:
    def answer(name: str, configured: str, *, at: str = "", problem: str = "") -> NodeAnswer:
        owner = f"{name}/1@{at or name}:1"
        return NodeAnswer(node=name, owns_as=owner, configured=configured, problem=problem)

    one, two = answer("a", "1.0:abc"), answer("b", "1.0:abc")
    # Versions differ in how they tell a CONFIG, and the oldest say nothing of it.
    newer, older = answer("c", "1.1:def"), answer("d", "")
    assert problems_of([one, two, newer, older]) == []
    (why,) = problems_of([one, two, answer("e", "1.0:0123456789")])
    assert "(a, b: abc; e: 01234567)" in why
    (why,) = problems_of([one, answer("f", "1.0:abc", at="a")])
    assert why.startswith("Several nodes have the address a:1: a, f.")
    assert problems_of([one, answer("g", "1.0:abc", problem="it has another key")]) == [
        "g: it has another key"
    ]
    # Its clock or its key keeps it away from the others.
    refuses = NodeAnswer("http://h", role="refused", why="set the clocks")
    assert problems_of([one, refuses]) == ["http://h: set the clocks"]
    assert problems_of([one, NodeAnswer("http://i", why="Connection refused")]) == []
    # One that is asked twice is one.
    assert problems_of([one, one]) == []
    (why,) = problems_of([one, msgspec.structs.replace(one, owns_as="a/2@other:1")])
    assert why.startswith("2 nodes are called a,")


def test_sentence_says_why_nothing_is_known_of_any_shard() -> None:
    refuses = NodeAnswer("http://a", role="refused", why="give all nodes the same cluster key")
    (why,) = problems_of([NodeAnswer("http://b", why="Connection refused"), refuses])
    assert "http://b not reached: Connection refused" in why
    assert "http://a says nothing: give all nodes the same cluster key" in why


def test_sentences_say_why_a_shard_is_not_well() -> None:
    def why(*answers: NodeAnswer) -> str:
        return why_not_well(shard_states([*answers])[0])

    owner = NodeAnswer(node="a", shards=(shard("answering", "a"),))
    stands_by = NodeAnswer(node="b", shards=(shard("standing_by", "a"),))
    assert why(owner, stands_by) == ""
    assert "belongs to a at h:1, which was not asked" in why(stands_by)
    # Any of those that were not reached may be the one.
    assert "nobody who was reached answers" in why(stands_by, NodeAnswer("http://a", why="refused"))
    silent = NodeAnswer(node="a", shards=(shard("standing_by", "a"),))
    assert "the nodes name a at h:1, which does not" in why(silent, stands_by)
    other = NodeAnswer(node="b", shards=(shard("standing_by", "c"),))
    assert "a at h:1 answers for it, but other nodes name another one" in why(owner, other)
    assert why(NodeAnswer(node="b", shards=(shard("standing_by", ""),))).endswith(
        "nobody answers for it."
    )
    both = NodeAnswer(node="b", shards=(shard("answering", "a"),))
    assert "more than one node answers" in why(owner, both)


def test_cluster_says_what_it_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = tmp_path / "key"
    key.write_text("0123456789abcdef")
    for given, why in (
        (["start"], "the action of cluster must be status or finish-upgrade"),
        (["status"], "name the nodes"),
        (["status", "http://127.0.0.1:1"], "name the file with the nodes' secret"),
        (["status", "nowhere", "--cluster-key", str(key)], "name a node by its address"),
        (["status", "http://127.0.0.1:1", "--cluster-key", "nowhere"], "cannot be read"),
    ):
        assert main(["cluster", *given]) == 2
        assert why in capsys.readouterr().err


class PlayedNode(BaseHTTPRequestHandler):
    """A node that refuses to finish the upgrade, or does so; it says what it knows."""

    refusal: ClassVar[tuple[int, bytes] | None] = None
    refusals: ClassVar[float] = float("inf")
    """How many come before it is done after all."""
    shard_format = FORMAT
    node_format: ClassVar[int | None] = FORMAT
    asked: ClassVar[list[str]] = []
    is_foreign = False
    """Whether it has another key."""
    has_other = False
    """Whether it knows a shard for which another node answers."""
    games = 0
    """How many shards it answers for besides, each of a game of its own."""
    problem = ""

    def do_GET(self) -> None:
        shard = {"shard": "s0", "role": "answering", "owner": "a", "format": self.shard_format}
        told = {"node": "a", "role": "answering", "owner": "a", "format": self.node_format}
        other = {"shard": "s0.x", "role": "standing_by", "owner": "b", "address": "h:2"}
        shards = [shard, other] if self.has_other else [shard]
        shards += [{**shard, "tenant": f"game {number}"} for number in range(self.games)]
        told["problem"] = self.problem
        answer = json.dumps({**told, "shards": shards}).encode()
        refusal = b'{"error":"other_cluster","message":"another cluster key"}'
        self._answer(*((503, refusal) if self.is_foreign else (200, answer)))

    def do_POST(self) -> None:
        self.asked.append(self.path)
        is_refused = self.refusal is not None and len(self.asked) <= self.refusals
        self._answer(*(self.refusal if is_refused and self.refusal else (200, b"{}")))

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def played(tmp_path: Path) -> Iterator[list[str]]:
    """Give what is said to a node that runs, after the action."""
    (tmp_path / "key").write_text("0123456789abcdef")
    server = HTTPServer(("127.0.0.1", 0), PlayedNode)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield [f"http://127.0.0.1:{server.server_port}", "--cluster-key", str(tmp_path / "key")]
    server.shutdown()
    thread.join()
    server.server_close()


def test_upgrade_is_finished_by_one_node_and_the_status_shown(
    played: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PlayedNode, "asked", [])
    assert main(["cluster", "finish-upgrade", *played, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["shards"][0]["format"], told["nodes"][0]["format"]) == (
        True,
        FORMAT,
        FORMAT,
    )
    assert PlayedNode.asked == ["/v1/cluster/finish-upgrade"]
    assert main(["cluster", "status", *played]) == 0
    assert "format" in capsys.readouterr().out
    assert len(PlayedNode.asked) == 1
    # Somebody took the shard over just then, and goes on in the older one.
    monkeypatch.setattr(PlayedNode, "shard_format", FORMAT - 1)
    assert main(["cluster", "finish-upgrade", *played, "--json"]) == 1
    assert main(["cluster", "status", *played, "--json"]) == 0


def test_one_address_shows_the_owners_that_its_node_knows(
    played: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PlayedNode, "has_other", True)
    assert main(["cluster", "finish-upgrade", *played]) == 0
    out = capsys.readouterr().out
    assert "nobody" not in out
    assert "b (not" in out
    assert main(["cluster", "status", *played]) == 1


def test_node_of_a_thousand_games_is_understood(
    played: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PlayedNode, "games", 1_000)
    assert main(["cluster", "status", *played, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["shards"]) == 1_001


def test_status_fails_where_a_node_keeps_away_from_shards(
    played: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["cluster", "status", *played]) == 0
    monkeypatch.setattr(PlayedNode, "problem", "its address is taken")
    assert main(["cluster", "status", *played]) == 1
    assert "a: its address is taken" in capsys.readouterr().err
    assert main(["cluster", "status", *played, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["problems"]) == (False, ["a: its address is taken"])


def test_node_with_another_key_was_reached(
    played: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PlayedNode, "is_foreign", True)
    assert main(["cluster", "status", *played, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["nodes"][0]["role"] == "refused"
    assert main(["cluster", "status", *played]) == 1
    out = capsys.readouterr().out
    assert "not reached" not in out
    assert "another" in out


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (400, b'{"error":"config_error","message":"node b could not"}', "node b could not"),
        (503, b"no JSON", "it answers 503"),
    ],
    ids=["older", "odd"],
)
def test_refusal_to_finish_an_upgrade_is_told(
    played: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    body: bytes,
    why: str,
) -> None:
    monkeypatch.setattr("evenmatch.cli.cluster.AGAIN_FOR", 0.05)
    monkeypatch.setattr("evenmatch.cli.cluster.AGAIN_EVERY", 0.01)
    monkeypatch.setattr(PlayedNode, "asked", [])
    monkeypatch.setattr(PlayedNode, "refusal", (status, body))
    assert main(["cluster", "finish-upgrade", *played]) == 1
    assert f"has not finished the upgrade: {why}" in " ".join(capsys.readouterr().err.split())
    assert (len(PlayedNode.asked) > 1) == (status == 503)


def test_node_that_cannot_finish_the_upgrade_just_now_is_asked_again(
    played: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenmatch.cli.cluster.AGAIN_EVERY", 0.01)
    monkeypatch.setattr(PlayedNode, "asked", [])
    monkeypatch.setattr(PlayedNode, "refusal", (503, b'{"message":"a shard changes hands"}'))
    monkeypatch.setattr(PlayedNode, "refusals", 2)
    assert main(["cluster", "finish-upgrade", *played, "--json"]) == 0
    assert len(PlayedNode.asked) == 3
    assert capsys.readouterr().err == ""


def test_node_of_a_version_without_the_command_is_not_asked(
    played: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PlayedNode, "asked", [])
    monkeypatch.setattr(PlayedNode, "node_format", None)
    assert main(["cluster", "finish-upgrade", *played]) == 1
    assert "knows no finish-upgrade" in capsys.readouterr().err
    assert PlayedNode.asked == []
    assert main(["cluster", "status", *played]) == 0
    assert "not said" in capsys.readouterr().out


def test_node_that_is_not_there_finishes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "key").write_text("0123456789abcdef")
    asked = ["finish-upgrade", "http://127.0.0.1:1", "--cluster-key", str(tmp_path / "key")]
    assert main(["cluster", *asked]) == 1
    assert "has not finished the upgrade" in capsys.readouterr().err
