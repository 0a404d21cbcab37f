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


class NodeAnswer(msgspec.Struct, frozen=True):
    """What a node says, and where it was asked; `why` says why one was not reached."""

    at: str = ""
    node: str = ""
    role: str = UNREACHED
    owner: str = ""
    address: str = ""
    lease_seconds: float | None = None
    why: str = ""


def cluster(
    action: str,
    /,
    *nodes: str,
    cluster_key: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Ask the nodes of a cluster what they do, and whether one of them answers for all.

    The exit code is 1 unless exactly one node answers, and all nodes that are reached know it.

    For example:

        evenmatch cluster status http://10.0.0.5:8080 http://10.0.0.6:8080 --cluster-key cluster.key

    Args:
        action: status.
        nodes: Addresses of nodes.
        cluster_key: The file with the nodes' secret; on a node's own machine it needs none.
        json: Print one JSON object and nothing else.
    """
    if action != "status":
        raise ConfigError(f"the action of cluster is status, got {action[:64]!r}")
    if not nodes:
        raise ConfigError("name the nodes: evenmatch cluster status http://10.0.0.5:8080 ...")
    signed = None if cluster_key is None else _signed(cluster_key)
    told = [_asked(node, signed) for node in nodes]
    answering = [each.node for each in told if each.role == "answering"]
    reached = [each for each in told if each.role != UNREACHED]
    is_well = len(answering) == 1 and all(each.owner == answering[0] for each in reached)
    if json:
        print(msgspec.json.encode({"nodes": told, "ok": is_well}).decode())
    else:
        _show(told)
    return 0 if is_well else 1


def _signed(key: Path) -> str:
    from evenmatch.server.cluster.identity import node_identity

    return node_identity(NAME, "127.0.0.1:1", key).sign("127.0.0.1").decode("latin-1")


def _asked(node: str, signed: str | None) -> NodeAnswer:
    if urlsplit(node).scheme not in ("http", "https"):
        raise ConfigError(f"a node is named by its address, http://HOST:PORT, got {node[:80]!r}")
    headers = {} if signed is None else {"evenmatch-forwarded": signed}
    request = urllib.request.Request(node.rstrip("/") + "/v1/cluster", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            found = msgspec.json.decode(answer.read(ANSWER_BYTES_MAX), type=NodeAnswer)
    except urllib.error.HTTPError as error:
        with error:
            reasons = {401: "it needs --cluster-key", 404: "it is no node, or needs --cluster-key"}
            return NodeAnswer(node, why=reasons.get(error.code, f"it answers {error.code}"))
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        return NodeAnswer(node, why=str(getattr(error, "reason", error)))
    return msgspec.structs.replace(found, at=node)


def _show(told: list[NodeAnswer]) -> None:
    # Imported here, so that --help and --json need no tables.
    from rich.console import Console
    from rich.table import Table

    table = Table("asked at", "node", "does", "answering now", "at address")
    for each in told:
        role = f"not reached: {each.why}" if each.role == UNREACHED else each.role.replace("_", " ")
        table.add_row(each.at, each.node, role, each.owner, each.address)
    Console(file=sys.stdout).print(table)
