"""What `serve` and `cluster` refuse of nodes, and what they say of nodes that are not there."""

import json
from pathlib import Path

import pytest

from evenmatch.cli.cluster import NodeAnswer, ShardAnswer, shard_states
from evenmatch.cli.main import main

CONFIG = '[[queue]]\nname = "duel"\nteams = 2\nplayers = 1\npolicy = "greedy"\n'
SHARED = ("--journal", "nats://127.0.0.1:1")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--node", "a", *SHARED), "go together"),
        (("--cluster-key", "KEY", *SHARED), "go together"),
        (("--node", "a", "--cluster-key", "KEY"), "a journal that all nodes reach"),
        (("--node", "a b", "--cluster-key", "KEY", *SHARED), "--node must have"),
        (("--node-address", "h:1", *SHARED), "belongs to --node"),
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
            "without TLS",
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
    assert [each.owner for each in shard_states([stale])] == [""]
    both = NodeAnswer(node="b", shards=(shard("answering", "b"),))
    assert next(iter(shard_states([one, both]))).ok is False


def test_cluster_says_what_it_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = tmp_path / "key"
    key.write_text("0123456789abcdef")
    for given, why in (
        (["start"], "the action of cluster is status"),
        (["status"], "name the nodes"),
        (["status", "http://127.0.0.1:1"], "name the file with the nodes' secret"),
        (["status", "nowhere", "--cluster-key", str(key)], "a node is named by its address"),
        (["status", "http://127.0.0.1:1", "--cluster-key", "nowhere"], "cannot be read"),
    ):
        assert main(["cluster", *given]) == 2
        assert why in capsys.readouterr().err
