"""`evenmatch cluster`: what the nodes of a cluster say of themselves."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from cyclopts import Parameter

from evenmatch.errors import ConfigError

SECONDS = 5.0
"""How long a node may take to answer."""
ANSWER_BYTES_MAX = 65_536
UNREACHED = "unreached"
NAME = "status"
"""Who asks, in what is signed."""


class ShardAnswer(msgspec.Struct, frozen=True):
    """What a node says of a shard; epoch and lease are known to the one that answers for it."""

    shard: str
    tenant: str = ""
    role: str = ""
    owner: str = ""
    address: str = ""
    epoch: int | None = None
    lease_left: float | None = None


class ShardState(msgspec.Struct, frozen=True):
    """A shard, by what all nodes say.

    Args:
        tenant: The game, where there are several.
        shard: Its name.
        owner: The node that answers; "" if none does.
        address: Of that node.
        epoch: Of the lease.
        lease_left: Seconds for which the lease counts from now on.
        ok: Whether exactly one node answers, and all that were reached know it.
    """

    tenant: str
    shard: str
    owner: str = ""
    address: str = ""
    epoch: int | None = None
    lease_left: float | None = None
    ok: bool = False


class NodeAnswer(msgspec.Struct, frozen=True):
    """What a node says, and where it was asked; `why` says why one was not reached."""

    at: str = ""
    node: str = ""
    role: str = UNREACHED
    owner: str = ""
    address: str = ""
    lease_seconds: float | None = None
    why: str = ""
    shards: tuple[ShardAnswer, ...] = ()


def cluster(
    action: str,
    /,
    *nodes: str,
    cluster_key: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Ask the nodes of a cluster what they do, and who answers for each shard.

    The exit code is 1 unless exactly one node answers for each shard, and all nodes that are
    reached know it.

    For example:

        evenmatch cluster status http://10.0.0.5:8080 http://10.0.0.6:8080 --cluster-key cluster.key

    Args:
        action: status.
        nodes: Addresses of nodes.
        cluster_key: The file with the nodes' secret.
        json: Print one JSON object and nothing else.
    """
    if action != "status":
        raise ConfigError(f"the action of cluster is status, got {action[:64]!r}")
    if not nodes:
        raise ConfigError("name the nodes: evenmatch cluster status http://10.0.0.5:8080 ...")
    if cluster_key is None:
        raise ConfigError("name the file with the nodes' secret: --cluster-key cluster.key")
    headers = signed_by(cluster_key)
    told = [_asked(node, headers) for node in nodes]
    shards = shard_states(told)
    is_well = bool(shards) and all(each.ok for each in shards)
    if json:
        found = {"nodes": told, "shards": shards, "ok": is_well}
        print(msgspec.json.encode(found).decode())
    else:
        _show(told, shards)
    return 0 if is_well else 1


def shard_states(told: list[NodeAnswer]) -> list[ShardState]:
    """Return the state of each shard that any node knows."""
    said: dict[tuple[str, str], list[tuple[NodeAnswer, ShardAnswer]]] = {}
    for node in told:
        for shard in node.shards:
            said.setdefault((shard.tenant, shard.shard), []).append((node, shard))
    found = []
    for name, each in said.items():
        answering = [(node, shard) for node, shard in each if shard.role == "answering"]
        if not answering:
            found.append(ShardState(*name))
            continue
        node, shard = answering[0]
        is_well = len(answering) == 1 and all(one.owner == node.node for _, one in each)
        found.append(
            ShardState(*name, node.node, shard.address, shard.epoch, shard.lease_left, is_well)
        )
    return found


def signed_by(key: Path) -> dict[str, str]:
    """Return the headers with which nodes answer, signed with their secret.

    Raises:
        ConfigError: The file with it cannot be used.
    """
    from evenmatch.server.cluster.identity import node_identity

    signed = node_identity(NAME, "127.0.0.1:1", key).sign("127.0.0.1", purpose="nodes")
    return {"evenmatch-forwarded": signed.decode("latin-1")}


def _asked(node: str, headers: dict[str, str]) -> NodeAnswer:
    if urlsplit(node).scheme not in ("http", "https"):
        raise ConfigError(f"a node is named by its address, http://HOST:PORT, got {node[:80]!r}")
    request = urllib.request.Request(node.rstrip("/") + "/v1/cluster", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            found = msgspec.json.decode(answer.read(ANSWER_BYTES_MAX), type=NodeAnswer)
    except urllib.error.HTTPError as error:
        with error:
            reasons = {404: "it is no node", 503: "it has another cluster key, or another clock"}
            return NodeAnswer(node, why=reasons.get(error.code, f"it answers {error.code}"))
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        return NodeAnswer(node, why=str(getattr(error, "reason", error)))
    return msgspec.structs.replace(found, at=node)


def _show(told: list[NodeAnswer], shards: list[ShardState]) -> None:
    # Imported here, so that --help and --json need no tables.
    from rich.console import Console
    from rich.table import Table

    console = Console(file=sys.stdout)
    table = Table("asked at", "node", "does", "answers for")
    for each in told:
        role = f"not reached: {each.why}" if each.role == UNREACHED else each.role.replace("_", " ")
        own = [_name(one.tenant, one.shard) for one in each.shards if one.role == "answering"]
        table.add_row(each.at, each.node, role, ", ".join(own))
    console.print(table)
    table = Table("shard", "answers now", "at address", "epoch", "lease left", "all agree")
    for one in shards:
        left = "" if one.lease_left is None else f"{one.lease_left:.1f} s"
        epoch, agree = "" if one.epoch is None else str(one.epoch), "yes" if one.ok else "no"
        name = _name(one.tenant, one.shard)
        table.add_row(name, one.owner or "nobody", one.address, epoch, left, agree)
    console.print(table)


def _name(tenant: str, shard: str) -> str:
    return f"{tenant}/{shard}" if tenant else shard
