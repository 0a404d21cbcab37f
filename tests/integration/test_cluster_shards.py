"""Nodes that share the shards of games out: groups of a game, and games of a process."""

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from websockets.sync.client import connect

from evenmatch.server.cluster.members import HELLO_EVERY
from tests.integration.gamelift_clients import DUEL, client_of, player, refused, states
from tests.integration.test_cluster import LEASE, Cluster, answered, cluster, ws
from tests.integration.test_cluster import shared as shared
from tests.integration.test_serve_journal import address as address
from tests.waiting import GIVE_UP

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("postgres")]
GROUPS = ("default", "casual", "arena")
CONFIG = "".join(
    f"""
[[queue]]
name = "{group}-duel"
group = "{group}"
policy = "window:limit=100"
rating = "elo"
"""
    for group in GROUPS
)
SHARDS = {"default": "s0", "casual": "s0.casual", "arena": "s0.arena"}


def ticket(player: str, group: str, rating: float = 1500.0) -> Any:
    return {"queues": [f"{group}-duel"], "players": [{"id": player, "rating": {"mean": rating}}]}


def until(condition: Callable[[], Any], what: str) -> Any:
    ends = time.monotonic() + GIVE_UP
    while time.monotonic() < ends:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError(what)


def owners(nodes: Cluster) -> Mapping[str, str]:
    """Return the owner of each shard, as all nodes that run say; empty while they differ."""
    told = [nodes.status(name)["shards"] for name in nodes.nodes]
    names = [{f"{one['tenant']}/{one['shard']}": one["owner"] for one in each} for each in told]
    answering = Counter(
        f"{one['tenant']}/{one['shard']}"
        for each in told
        for one in each
        if one["role"] == "answering"
    )
    is_well = all(each == names[0] for each in names) and set(answering.values()) == {1}
    return names[0] if is_well and len(answering) == len(names[0]) else {}


def spread(nodes: Cluster) -> Mapping[str, str]:
    """Return the owners, once no node has two shards more than another one."""

    def fair() -> Mapping[str, str]:
        found = owners(nodes)
        held = Counter(dict.fromkeys(nodes.nodes, 0))
        held.update(found.values())
        return found if found and max(held.values()) - min(held.values()) < 2 else {}

    return until(fair, "shards are shared out")


def test_groups_are_shared_out_and_every_node_takes_every_request(
    tmp_path: Path, shared: str
) -> None:
    with cluster(tmp_path, shared, "a", "b", "c", config=CONFIG) as nodes:
        before = spread(nodes)
        assert set(before) == {f"/{shard}" for shard in SHARDS.values()}
        assert sorted(before.values()) == ["a", "b", "c"]
        every = list(nodes.nodes.values())

        # Tickets go to the shard of their queue, and are found by their id everywhere.
        ids = {}
        for number, group in enumerate(GROUPS):
            reply, _ = answered(every[number], "POST", "/v1/tickets", ticket("p0", group))
            assert reply.status == 201
            ids[group] = reply.body["id"]
            assert ids[group].startswith(SHARDS[group] + "-")
        for node in every:
            for group in GROUPS:
                assert node.call("GET", f"/v1/tickets/{ids[group]}").body["state"] == "waiting"
            found = node.call("GET", "/v1/tickets?player=p0").body
            assert {each["id"] for each in found} == set(ids.values())
            told = {each["name"]: each["waiting"] for each in node.call("GET", "/v1/queues").body}
            assert told == {f"{group}-duel": 1 for group in GROUPS}
        two_groups = {**ticket("q", "casual"), "queues": ["casual-duel", "arena-duel"]}
        assert every[0].call("POST", "/v1/tickets", two_groups).body["error"] == "invalid_ticket"

        # A repeat finds its answer wherever it is asked, arrays too, in the order of the array.
        array = [ticket(f"r{n}", GROUPS[n % 3], 3000.0 + 300.0 * n) for n in range(6)] + [{}]
        key = {"idempotency-key": "k1"}
        first = every[0].call("POST", "/v1/tickets", array, headers=key)
        again = every[1].call("POST", "/v1/tickets", array, headers=key)
        assert [each["status"] for each in first.body] == [201] * 6 + [400]
        assert [each.get("id") for each in first.body] == [each.get("id") for each in again.body]
        shards = [each["id"].rpartition("-")[0] for each in first.body[:6]]
        assert shards == [SHARDS[GROUPS[n % 3]] for n in range(6)]

        # One socket follows tickets of all shards.
        with connect(ws(every[2]), open_timeout=GIVE_UP) as socket:
            socket.send(json.dumps({"follow": [*ids.values(), "s0.none-1"], "after": 10**9}))
            said = [json.loads(socket.recv(GIVE_UP)) for _ in range(4)]
            assert Counter(each["event"] for each in said) == {"waiting": 3, "problem": 1}
            for group in GROUPS:
                every[1].call("POST", "/v1/tickets", ticket("p1", group))
            said = [json.loads(socket.recv(GIVE_UP)) for _ in range(3)]
            assert {each["event"] for each in said} == {"matched"}
            assert {each["ticket"]["id"] for each in said} == set(ids.values())

        page = every[0].call("GET", "/metrics").body
        matches = {
            sample.labels["shard"]: sample.value
            for family in text_string_to_metric_families(page)
            for sample in family.samples
            if sample.name == "evenmatch_matches_total"
        }
        assert matches == dict.fromkeys(SHARDS.values(), 1.0)

        # What a match did to a rating is known where its queue is.
        played = every[0].call("GET", f"/v1/tickets/{ids['arena']}").body["match"]
        report = {"ranks": [1, 2]}
        assert every[1].call("POST", f"/v1/matches/{played}/outcome", report).status == 200
        rating = every[2].call("GET", "/v1/players/p0/rating?queue=arena-duel")
        assert rating.status == 200


def test_killed_nodes_shards_are_taken_by_the_others_and_come_back(
    tmp_path: Path, shared: str
) -> None:
    with cluster(tmp_path, shared, "a", "b", "c", config=CONFIG) as nodes:
        before = spread(nodes)
        made = {}
        for group in GROUPS:
            reply, _ = answered(nodes.nodes["a"], "POST", "/v1/tickets", ticket("p0", group))
            made[group] = reply.body["id"]
        group = next(each for each in GROUPS if before[f"/{SHARDS[each]}"] == "b")
        nodes.nodes.pop("b").kill()
        # Other shards go on meanwhile.
        for other in GROUPS:
            if other != group:
                reply = nodes.nodes["a"].call("GET", f"/v1/tickets/{made[other]}")
                assert (reply.status, reply.body["state"]) == (200, "waiting")
        reply, seconds = answered(nodes.nodes["a"], "GET", f"/v1/tickets/{made[group]}")
        assert reply.body["state"] == "waiting"
        assert seconds < 1.5 + 1.0
        nodes.start("b")
        assert sorted(spread(nodes).values()) == ["a", "b", "c"]
        for own in made.values():
            reply, _ = answered(nodes.nodes["b"], "GET", f"/v1/tickets/{own}")
            assert reply.body["state"] == "waiting"


def test_server_without_node_leaves_the_journal_of_the_nodes_to_them(
    tmp_path: Path, shared: str
) -> None:
    with cluster(tmp_path, shared, "a", config=CONFIG) as nodes:
        spread(nodes)
        made, _ = answered(nodes.nodes["a"], "POST", "/v1/tickets", ticket("p0", "casual"))
        assert nodes.nodes.pop("a").stop() == 0
        config = tmp_path / "alone.toml"
        config.write_text(CONFIG, encoding="utf-8")
        command = [sys.executable, "-m", "evenmatch.cli.main", "serve", str(config), "--port", "0"]
        ended = subprocess.run(
            [*command, "--journal", shared],
            capture_output=True,
            text=True,
            timeout=GIVE_UP,
        )
        assert ended.returncode == 2
        assert "(s0.casual)" in ended.stderr
        assert "--node NAME and --cluster-key FILE" in ended.stderr
        found, _ = answered(nodes.start("a"), "GET", f"/v1/tickets/{made.body['id']}")
        assert found.body["state"] == "waiting"


def test_configuration_comes_into_force_in_all_shards_or_in_none(
    tmp_path: Path, shared: str
) -> None:
    with cluster(tmp_path, shared, "a", "b", config=CONFIG) as nodes:
        spread(nodes)
        one, two = nodes.nodes.values()
        before, _ = answered(one, "GET", "/v1/config")
        changed = CONFIG.replace("limit=100", "limit=123")
        done, _ = answered(two, "PUT", "/v1/config?dry_run=1", raw=changed.encode())
        assert done.body["queues"] == [f"{group}-duel" for group in GROUPS]
        wrong = changed.replace('group = "arena"\npolicy = "window', 'group = "arena"\npolicy = "x')
        assert one.call("PUT", "/v1/config", raw=wrong.encode()).status == 400
        # Other groups would be other shards.
        moved = changed.replace('group = "arena"', 'group = "casual"')
        reply = one.call("PUT", "/v1/config", raw=moved.encode())
        assert (reply.status, "change CONFIG on all nodes" in reply.body["message"]) == (400, True)
        same = one.call("GET", "/v1/config").body
        assert (same["version"], same["config"]) == (before.body["version"], before.body["config"])
        version = same["version"]
        assert (
            one.call("PUT", f"/v1/config?if_version={version + 1}", raw=changed.encode()).status
            == 409
        )
        assert (
            two.call("PUT", f"/v1/config?if_version={version}", raw=changed.encode()).status == 200
        )
        for node in (one, two):
            queues = node.call("GET", "/v1/queues").body
            assert {each["policy"] for each in queues} == {"window:limit=123"}
        # A change of one queue shows up in the whole.
        reply = one.call("PUT", "/v1/queues/arena-duel/policy", {"policy": "greedy"})
        assert reply.status == 200
        found = two.call("GET", "/v1/config").body
        assert [each["policy"] for each in found["config"]["queue"]] == [
            "window:limit=123", "window:limit=123", "greedy",
        ]  # fmt: skip
        assert found["version"] > version


def test_games_of_one_process_are_shared_out_and_told_apart(tmp_path: Path, shared: str) -> None:
    folder = tmp_path / "games"
    folder.mkdir()
    games = ("chess", "draughts")
    for name in games:
        (folder / f"{name}.toml").write_text(
            f'[[queue]]\nname = "{name}"\n[server]\nkeys_file = "{folder}/{name}.json"\n'
        )
    tenants = "".join(
        f'[[tenant]]\nname = "{name}"\nconfig = "{folder}/{name}.toml"\n' for name in games
    )
    keys = {name: made_key(folder / f"{name}.json") for name in games}
    with cluster(tmp_path, shared, "a", "b", config=tenants) as nodes:
        assert sorted(spread(nodes).values()) == ["a", "b"]
        for node in nodes.nodes.values():
            for name in games:
                key = {"authorization": f"Bearer {keys[name]}"}
                queues, _ = answered(node, "GET", "/v1/queues", headers=key)
                assert [each["name"] for each in queues.body] == [name]
                body = {"players": [{"id": node.url}]}
                made, _ = answered(node, "POST", "/v1/tickets", body, headers=key)
                assert made.status in (200, 201)
            assert node.call("GET", "/v1/queues").status == 401
            assert node.call("GET", "/readyz").status == 200
        keyed = {name: {"authorization": f"Bearer {keys[name]}"} for name in games}
        path = "/v1/tickets/s0-1?wait=20"
        matched, _ = answered(nodes.nodes["a"], "GET", path, headers=keyed["chess"])
        assert matched.body["state"] == "matched"


def made_key(path: Path) -> str:
    """Make a key for a service, and return its secret."""
    command = [sys.executable, "-m", "evenmatch.cli.main", "keys", "add", "main"]
    command += ["--rights", "tickets,read,operate", "--file", str(path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return str(json.loads(done.stdout)["key"])


def test_status_names_each_shard_with_owner_epoch_and_lease(tmp_path: Path, shared: str) -> None:
    with cluster(tmp_path, shared, "a", "b", config=CONFIG) as nodes:
        found = spread(nodes)
        command = [sys.executable, "-m", "evenmatch.cli.main", "cluster", "status", "--json"]
        command += [*(node.url for node in nodes.nodes.values()), "--cluster-key", str(nodes.key)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        told = json.loads(done.stdout)
        assert (done.returncode, told["ok"]) == (0, True)
        assert {f"/{each['shard']}": each["owner"] for each in told["shards"]} == found
        assert all(each["epoch"] >= 1 for each in told["shards"])
        assert all(0.0 < each["lease_left"] <= 1.5 for each in told["shards"])


def test_group_that_is_split_is_shared_out_by_its_first_player(tmp_path: Path, shared: str) -> None:
    config = '[[queue]]\nname = "main"\npolicy = "window:limit=100"\nsplit = "hash:3"\n'
    with cluster(tmp_path, shared, "a", "b", "c", config=config) as nodes:
        assert sorted(spread(nodes).values()) == ["a", "b", "c"]
        every = list(nodes.nodes.values())
        players = [f"p{n}" for n in range(12)]
        made = {}
        for number, player in enumerate(players):
            body = {"players": [{"id": player, "rating": {"mean": 1000.0 * number}}]}
            reply, _ = answered(every[number % 3], "POST", "/v1/tickets", body)
            made[player] = reply.body["id"]
            # Who asks again is found again, wherever that is.
            again = every[(number + 1) % 3].call("POST", "/v1/tickets", body)
            assert (again.status, again.body["id"]) == (200, made[player])
        assert {each.rpartition("-")[0] for each in made.values()} == {"s0", "s0~1", "s0~2"}
        (queue,) = every[0].call("GET", "/v1/queues").body
        assert (queue["name"], queue["waiting"]) == ("main", 12)
        each = [every[1].call("GET", f"/v1/queues/main/stats?part={n}").body for n in range(3)]
        assert sum(one["waiting"] for one in each) == 12
        assert every[1].call("GET", "/v1/queues/main/stats?part=3").status == 400
        # A queue is paused in all its parts.
        assert every[2].call("POST", "/v1/queues/main/pause").status == 200
        for player in ("new1", "new2", "new3", "new4"):
            body = {"players": [{"id": player, "rating": {"mean": 1.0}}]}
            assert every[0].call("POST", "/v1/tickets", body).body["error"] == "paused"


def test_node_that_is_told_to_stop_names_who_goes_on_and_nobody_waits_for_a_lease(
    tmp_path: Path, shared: str
) -> None:
    with cluster(tmp_path, shared, "a", "b", "c", config=CONFIG) as nodes:
        before = spread(nodes)
        group = next(each for each in GROUPS if before[f"/{SHARDS[each]}"] == "b")
        made, _ = answered(nodes.nodes["a"], "POST", "/v1/tickets", ticket("p0", group))
        stopping = nodes.nodes.pop("b")
        slowest: list[float] = []
        ended = threading.Event()

        def ask() -> None:
            while not ended.is_set():
                reply, seconds = answered(nodes.nodes["a"], "GET", f"/v1/tickets/{made.body['id']}")
                assert reply.body["state"] == "waiting"
                slowest.append(seconds)

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            assert stopping.stop() == 0
            after = until(lambda: owners(nodes), "all agree who answers")
        finally:
            ended.set()
            asking.join()
        assert after[f"/{SHARDS[group]}"] in ("a", "c")
        told = [json.loads(line) for line in stopping.log.read_text().splitlines()]
        (left,) = [
            each for each in told if each["event"] == "node_stands_by" and each.get("successor")
        ]
        assert left["successor"] == after[f"/{SHARDS[group]}"]
        # Nobody waited until a lease was over.
        assert max(slowest) < LEASE


def test_gamelifts_clients_play_at_any_node_in_a_game_of_several_shards(
    tmp_path: Path, shared: str
) -> None:
    configuration = (
        "[gamelift.rule_sets.duel-rules]\n"
        f"body = {json.dumps(DUEL)}\n"
        "[gamelift.configurations.ranked]\n"
        'rule_set = "duel-rules"\n'
        "request_timeout = 60\n"
        "acceptance_required = true\n"
        "acceptance_timeout = 30\n"
    )
    arena = '[[queue]]\nname = "arena"\ngroup = "arena"\npolicy = "window:limit=100"\n'
    with cluster(tmp_path, shared, "a", "b", config=arena + configuration) as nodes:
        assert set(spread(nodes)) == {"/s0", "/s0.arena"}
        one, two = (client_of(node) for node in nodes.nodes.values())
        for client, name in ((one, "ada"), (two, "bob")):
            client.start_matchmaking(
                TicketId=name, ConfigurationName="ranked", Players=[player(name)]
            )
        asked = {"REQUIRES_ACCEPTANCE"}
        until(lambda: set(states(one, "ada", "bob")) == asked == set(states(two, "ada")), "a match")
        assert nodes.nodes["a"].call("GET", "/v1/tickets/aws:ada").body["state"] == "proposed"
        # Whoever holds the shard, both nodes take the answers.
        two.accept_match(TicketId="ada", PlayerIds=["ada"], AcceptanceType="ACCEPT")
        one.accept_match(TicketId="bob", PlayerIds=["bob"], AcceptanceType="ACCEPT")
        until(lambda: set(states(two, "ada", "bob")) == {"COMPLETED"}, "both have accepted")
        for client in (one, two):
            (kept,) = client.describe_matchmaking_rule_sets()["RuleSets"]
            assert kept["RuleSetName"] == "duel-rules"
            with refused("InvalidRequestException", "change [gamelift] in CONFIG on all nodes"):
                client.create_matchmaking_rule_set(Name="more", RuleSetBody=DUEL)


def test_nodes_drain_together_also_over_the_death_of_one(tmp_path: Path, shared: str) -> None:
    with cluster(tmp_path, shared, "a", "b", "c", config=CONFIG) as nodes:
        before = spread(nodes)
        running = dict(nodes.nodes)
        waits, empty = running[before["/s0.arena"]], running[before["/s0.casual"]]
        assert answered(waits, "POST", "/v1/tickets", ticket("ada", "arena"))[0].status == 201
        told = waits.call("POST", "/v1/drain?limit=1000").body
        assert (told["draining"], told["waiting"]) == (True, 1)

        # Nobody waits there, but the node stays: otherwise another one would take tickets for it.
        def all_have_heard() -> bool:
            drains = [len(nodes.status(name)["drains"]) for name in nodes.nodes]
            return sum(drains) == len(SHARDS)

        until(all_have_heard, "each shard drains")
        # Each of the others greets it meanwhile, and hears of it.
        time.sleep(2 * HELLO_EVERY)
        name = before["/s0.casual"]
        empty.kill()
        del nodes.nodes[name]
        spread(nodes)
        for group in GROUPS:
            reply = waits.call("POST", "/v1/tickets", ticket("bob", group))
            assert (reply.status, reply.body["error"]) == (503, "draining"), reply
        assert waits.call("GET", "/v1/drain").body["draining"]

        # It can be taken back in all shards, whoever has them now, and begun again.
        assert not waits.call("DELETE", "/v1/drain").body["draining"]
        assert answered(waits, "POST", "/v1/tickets", ticket("eve", "casual"))[0].status == 201
        assert waits.call("POST", "/v1/drain?limit=3").status == 200
        for left in nodes.nodes.values():
            assert left.process.wait(GIVE_UP) == 0
