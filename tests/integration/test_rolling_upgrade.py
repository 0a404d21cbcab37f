"""Nodes of two versions on one journal, the older of which knows no newer record format."""

import subprocess
import sys
from pathlib import Path

import pytest

from evenmatch.engine.records import FORMAT
from tests.integration.serving import Server
from tests.integration.test_cluster import Cluster, answered, cluster
from tests.integration.test_cluster import shared as shared
from tests.integration.test_serve_journal import address as address
from tests.waiting import wait_until

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("postgres")]
OLDER = {"PYTHONPATH": str(Path(__file__).parent / "inside_older")}
OLD_FORMAT = FORMAT - 1


def start_older(nodes: Cluster, name: str) -> Server:
    """Start a node of the version before."""
    return nodes.start(name, env=OLDER)


def take_over(nodes: Cluster, name: str) -> None:
    """Stop all nodes but one, which answers then."""
    for other in [each for each in nodes.nodes if each != name]:
        nodes.nodes.pop(other).stop()
    assert nodes.owner() == name


def finish(nodes: Cluster, name: str) -> tuple[int, str]:
    """Say that the upgrade is over; return the exit code and all that was printed."""
    command = [sys.executable, "-m", "evenmatch.cli.main", "cluster", "finish-upgrade"]
    command += [nodes.nodes[name].url, "--cluster-key", str(nodes.key), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def format_at(nodes: Cluster, name: str) -> int:
    """Return the format in which a node says that it writes the shard."""
    return int(nodes.status(name)["shards"][0]["format"])


def test_shard_goes_back_and_forth_between_versions_until_the_upgrade_is_finished(
    tmp_path: Path, shared: str
) -> None:
    with cluster(tmp_path, shared) as nodes:
        ids = []
        start_older(nodes, "old")
        assert nodes.owner() == "old"
        for turn in range(2):
            for name, is_older in ((f"new-{turn}", False), (f"old-{turn}", True)):
                _ = start_older(nodes, name) if is_older else nodes.start(name)
                wait_until(lambda name=name: nodes.nodes[name].call("GET", "/readyz").status == 200)
                take_over(nodes, name)
                assert format_at(nodes, name) == OLD_FORMAT
                server = nodes.nodes[name]
                for each in ids:
                    assert answered(server, "GET", f"/v1/tickets/{each}")[0].status == 200
                body = {"queues": ["duel"], "players": [{"id": name, "rating": {"mean": 1500.0}}]}
                made, _ = answered(server, "POST", "/v1/tickets", body)
                assert made.status == 201, made
                ids.append(made.body["id"])
        # Two players each met: the older version made the matches of the newer one's players.
        states = [answered(server, "GET", f"/v1/tickets/{each}")[0].body["state"] for each in ids]
        assert states == ["matched"] * 4

        older = next(iter(nodes.nodes))
        nodes.start("new-a")
        nodes.start("new-b")
        wait_until(lambda: len(nodes.status("new-a")["others"]) == 2)
        refusal = f"could not read record format {FORMAT}"
        wait_until(lambda: refusal in finish(nodes, "new-a")[1], refusal)
        assert format_at(nodes, nodes.owner()) == OLD_FORMAT
        nodes.nodes.pop(older).stop()
        owner = nodes.owner()
        assert format_at(nodes, owner) == OLD_FORMAT

        # A node that answers for nobody at that instant refuses, and says to ask again.
        for name in ("new-a", "new-b"):
            wait_until(lambda name=name: finish(nodes, name)[0] == 0, "the end of the upgrade")
        owner = nodes.owner()
        assert format_at(nodes, owner) == FORMAT
        other = next(each for each in nodes.nodes if each != owner)
        take_over(nodes, other)
        assert format_at(nodes, other) == FORMAT
        assert answered(nodes.nodes[other], "GET", f"/v1/tickets/{ids[0]}")[0].status == 200
