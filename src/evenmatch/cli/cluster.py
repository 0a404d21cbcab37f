"""`evenmatch cluster`: what nodes say of themselves, and the end of a rolling upgrade."""

from __future__ import annotations

import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from cyclopts import Parameter

from evenmatch.cli.output import console
from evenmatch.errors import ConfigError

SECONDS = 5.0
"""How long a node may take to answer."""
ANSWER_BYTES_MAX = 16_777_216
"""Of an answer; a node tells some two hundred of each shard."""
NOT_FOUND, UNAVAILABLE = 404, 503
UNREACHED, REFUSED = "unreached", "refused"
FINISH = "finish-upgrade"
FINISH_SECONDS = 30.0
"""How long a node may take to have the format of all shards raised."""
AGAIN_FOR = 10.0
"""For how long a node is asked again that cannot do so just now: shards may change hands."""
AGAIN_EVERY = 0.5
NAME = "status"
"""Who asks, in what is signed."""


OwnerState = Literal["answering", "silent", "unreached", "unasked", "unknown"]
"""Of a node that is named and reached, and does not answer for the shard: silent."""


SILENT = {UNREACHED: "not reached", REFUSED: "says nothing"}
OWNERS: dict[OwnerState, str] = {
    "answering": "",
    "silent": " (does not answer)",
    "unreached": " (not reached)",
    "unasked": " (not asked)",
    "unknown": "nobody",
}
"""What stands behind the name of the owner."""


class ShardAnswer(msgspec.Struct, frozen=True):
    """What a node says of a shard; epoch and lease are known to the one that answers for it."""

    shard: str
    tenant: str = ""
    role: str = ""
    owner: str = ""
    address: str = ""
    epoch: int | None = None
    lease_left: float | None = None
    format: int | None = None


class ShardState(msgspec.Struct, frozen=True):
    """A shard, by what all nodes say.

    Args:
        tenant: The game, where there are several.
        shard: Its name.
        owner: The node that answers, or else that the nodes name; "" if they name none.
        address: Of that node.
        epoch: Of the lease.
        lease_left: Seconds for which the lease counts from now on.
        ok: Whether exactly one node answers, and all that were reached know it.
        format: The record format in which it is written.
        state: What is known of the owner.
        agree: Whether all nodes that were reached name it.
    """

    tenant: str
    shard: str
    owner: str = ""
    address: str = ""
    epoch: int | None = None
    lease_left: float | None = None
    ok: bool = False
    format: int | None = None
    state: OwnerState = "unknown"
    agree: bool = False


class NodeAnswer(msgspec.Struct, frozen=True):
    """What a node says, and where it was asked; `why` says why it said nothing."""

    at: str = ""
    node: str = ""
    role: str = UNREACHED
    owner: str = ""
    address: str = ""
    lease_seconds: float | None = None
    why: str = ""
    shards: tuple[ShardAnswer, ...] = ()
    format: int | None = None
    owns_as: str = ""
    configured: str = ""
    problem: str = ""

    @property
    def config(self) -> str:
        """Return the digest of its CONFIG, by which nodes of one version can be compared."""
        return self.configured.partition(":")[2]


def cluster(
    action: str,
    /,
    *nodes: str,
    cluster_key: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Show what the nodes of a cluster are doing, or finish a rolling upgrade.

    `status` says which node answers for each shard, and the record format in which that node
    writes. If none does, it shows the node that the others name, and whether it was reached. The
    exit code is 0 if exactly one node answers for each shard, all nodes that were reached answer
    you, agree on it and reach the journal, and all of one version run the same CONFIG with names
    and addresses of their own; otherwise it is 1, and sentences say why.

    `finish-upgrade` switches all shards to the newest record format, through the first node that
    you name, and then shows the status. Until you run it, the nodes write the older format, which
    both versions can read; run it once all nodes run the new version. The exit code is 1 if a live
    node could not read the newest format, or if some shards were not switched: then run the command
    again.

    For example:

        evenmatch cluster status http://10.0.0.5:8080 http://10.0.0.6:8080 --cluster-key cluster.key
        evenmatch cluster finish-upgrade http://10.0.0.5:8080 --cluster-key cluster.key

    Args:
        action: status or finish-upgrade.
        nodes: Addresses of the nodes, such as http://10.0.0.5:8080.
        cluster_key: The file with the secret that all nodes share.
        json: Print one JSON object and nothing else.
    """
    if action not in ("status", FINISH):
        raise ConfigError(f"the action of cluster must be status or {FINISH}, got {action[:64]!r}")
    if not nodes:
        raise ConfigError("name the nodes: evenmatch cluster status http://10.0.0.5:8080 ...")
    if cluster_key is None:
        raise ConfigError("name the file with the nodes' secret: --cluster-key cluster.key")
    headers = signed_by(cluster_key)
    if action == FINISH and (why := _finish(nodes[0], headers)):
        print(f"evenmatch: {nodes[0]} has not finished the upgrade: {why}", file=sys.stderr)
        return 1
    answers = [_asked(node, headers) for node in nodes]
    shards = shard_states(answers)
    problems = problems_of(answers)
    if action != FINISH:
        problems += [why for each in shards if (why := why_not_well(each))]
    is_well = bool(shards) and all(each.ok for each in shards) and not problems
    if action == FINISH:
        # Nodes that are not named here may answer for some: of these nothing is known.
        newest = max((each.format or 0 for each in answers), default=0)
        is_well = all((each.format or newest) == newest for each in shards)
    if json:
        found = {"nodes": answers, "shards": shards, "problems": problems, "ok": is_well}
        print(msgspec.json.encode(found).decode())
    else:
        _show(answers, shards)
        for problem in problems:
            print(problem, file=sys.stderr)
    return 0 if is_well else 1


def problems_of(answers: list[NodeAnswer]) -> list[str]:
    """Return in sentences what keeps nodes from taking part, or apart from each other."""
    nodes = _reached(answers)
    if not nodes:
        silent = "; ".join(f"{each.at} {SILENT[each.role]}: {each.why}" for each in answers)
        return [f"No node says who answers ({silent}): name one that runs, and the key it has."]
    found = [f"{each.at}: {each.why}" for each in answers if each.role == REFUSED]
    found += [f"{each.node}: {each.problem}" for each in nodes.values() if each.problem]
    # Each version has its own way of telling a CONFIG from others.
    configs: dict[str, dict[str, list[str]]] = {}
    places: dict[str, list[str]] = {}
    for owner, node in nodes.items():
        version, _, digest = node.configured.partition(":")
        if digest:
            configs.setdefault(version, {}).setdefault(digest, []).append(node.node)
        if "@" in owner:
            places.setdefault(owner.rpartition("@")[2], []).append(node.node)
    for by_digest in configs.values():
        if len(by_digest) > 1:
            groups = "; ".join(
                f"{', '.join(who)}: {digest[:8]}" for digest, who in by_digest.items()
            )
            found.append(
                f"Nodes run different CONFIGs, so players are answered by different rules "
                f"({groups}): give all the same, and restart those that have another."
            )
    names = Counter(each.node for each in nodes.values())
    found += [
        f"{count} nodes are called {name}, so that logs mix them up: start one with another --node."
        for name, count in names.items()
        if count > 1
    ]
    found += [
        f"Several nodes have the address {place}: {', '.join(who)}. Give each a --node-address of "
        f"its own."
        for place, who in places.items()
        if len(who) > 1
    ]
    return found


def why_not_well(shard: ShardState) -> str:
    """Return in a sentence why a shard is not well, "" if it is."""
    if shard.ok:
        return ""
    name = f"Shard {_name(shard.tenant, shard.shard)}"
    place = f"{shard.owner} at {shard.address}"
    match shard.state:
        case "answering" if shard.agree:
            return f"{name}: more than one node answers for it."
        case "answering":
            return f"{name}: {place} answers for it, but other nodes name another one."
        case "silent":
            return f"{name}: nobody answers for it; the nodes name {place}, which does not."
        case "unreached":
            return f"{name}: nobody who was reached answers for it; the nodes name {place}."
        case "unasked":
            return f"{name}: it belongs to {place}, which was not asked: name that node as well."
        case "unknown":
            return f"{name}: nobody answers for it."


def _reached(answers: list[NodeAnswer]) -> dict[str, NodeAnswer]:
    """Return the nodes that answered, each once: one may be asked under several addresses."""
    return {each.owns_as or each.node: each for each in answers if not each.why}


def shard_states(answers: list[NodeAnswer]) -> list[ShardState]:
    """Return the state of each shard that any node knows."""
    nodes = _reached(answers)
    said: dict[tuple[str, str], list[tuple[NodeAnswer, ShardAnswer]]] = {}
    for node in nodes.values():
        for shard in node.shards:
            said.setdefault((shard.tenant, shard.shard), []).append((node, shard))
    reached = {node.node for node in nodes.values()}
    # Who does not answer says no name: any of them may be the owner.
    others: OwnerState = "unreached" if any(each.why for each in answers) else "unasked"
    return [_shard_state(name, each, reached, others) for name, each in said.items()]


def _shard_state(
    name: tuple[str, str],
    said: list[tuple[NodeAnswer, ShardAnswer]],
    reached: set[str],
    others: OwnerState,
) -> ShardState:
    answering = [(node, shard) for node, shard in said if shard.role == "answering"]
    if answering:
        node, shard = answering[0]
        agree = all(one.owner == node.node for _, one in said)
        return ShardState(
            *name,
            node.node,
            shard.address,
            shard.epoch,
            shard.lease_left,
            agree and len(answering) == 1,
            shard.format,
            "answering",
            agree,
        )
    named = Counter((shard.owner, shard.address) for _, shard in said if shard.owner)
    if not named:
        return ShardState(*name)
    (owner, address), _ = named.most_common(1)[0]
    agree = all(shard.owner == owner for _, shard in said)
    state: OwnerState = "silent" if owner in reached else others
    return ShardState(*name, owner, address, state=state, agree=agree)


def signed_by(key: Path) -> dict[str, str]:
    """Return the headers with which nodes answer, signed with their secret.

    Raises:
        ConfigError: The file with it cannot be used.
    """
    from evenmatch.server.cluster.identity import node_identity

    signed = node_identity(NAME, "127.0.0.1:1", key).sign("127.0.0.1", purpose="nodes")
    return {"evenmatch-forwarded": signed.decode("latin-1")}


def _finish(node: str, headers: dict[str, str]) -> str:
    """Have the format of all shards raised by a node; return why that was not done, or ""."""
    answer = _asked(node, headers)
    if answer.why:
        return answer.why
    if answer.format is None:
        return "it runs a version that knows no finish-upgrade: start it with the new one first"
    place = f"{_place(node)}/{FINISH}"
    until = time.monotonic() + AGAIN_FOR
    while True:
        request = urllib.request.Request(place, headers=headers, method="POST", data=b"")
        try:
            with urllib.request.urlopen(request, timeout=FINISH_SECONDS):
                return ""
        except urllib.error.HTTPError as error:
            with error:
                why = _message(error.read(ANSWER_BYTES_MAX)) or f"it answers {error.code}"
            if error.code != UNAVAILABLE or time.monotonic() > until:
                return why
        except (OSError, ValueError) as error:
            return str(getattr(error, "reason", error))
        time.sleep(AGAIN_EVERY)


def _message(body: bytes) -> str:
    """Return what a refusal says, "" if that cannot be read."""
    try:
        return str(msgspec.json.decode(body, type=dict[str, object]).get("message", ""))
    except msgspec.MsgspecError:
        return ""


def _place(node: str) -> str:
    if urlsplit(node).scheme not in ("http", "https"):
        raise ConfigError(f"name a node by its address, http://HOST:PORT, got {node[:80]!r}")
    return node.rstrip("/") + "/v1/cluster"


def _asked(node: str, headers: dict[str, str]) -> NodeAnswer:
    request = urllib.request.Request(_place(node), headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            found = msgspec.json.decode(answer.read(ANSWER_BYTES_MAX), type=NodeAnswer)
    except urllib.error.HTTPError as error:
        with error:
            said = _message(error.read(ANSWER_BYTES_MAX)) or f"it answers {error.code}"
            why = "it is no node" if error.code == NOT_FOUND else said
            return NodeAnswer(node, role=REFUSED, why=why)
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        return NodeAnswer(node, why=str(getattr(error, "reason", error)))
    return msgspec.structs.replace(found, at=node)


def _show(answers: list[NodeAnswer], shards: list[ShardState]) -> None:
    # Imported here, so that --help and --json need no tables.
    from rich.table import Column, Table

    out = console()
    table = Table(
        Column("asked at", overflow="fold"),
        "node",
        "does",
        "answers for",
        "knows format",
        "CONFIG",
    )
    for each in answers:
        role = each.role.replace("_", " ")
        if each.why:
            role = f"{SILENT[each.role]}: {each.why}"
        own = [_name(one.tenant, one.shard) for one in each.shards if one.role == "answering"]
        number = "" if each.why else str(each.format or "not said")
        table.add_row(each.at, each.node, role, ", ".join(own), number, each.config[:8])
    out.print(table)
    table = Table(
        "shard",
        "answers now",
        Column("at address", overflow="fold"),
        "epoch",
        "lease left",
        "format",
        "all agree",
    )
    for one in shards:
        left = "" if one.lease_left is None else f"{one.lease_left:.1f} s"
        epoch = "" if one.epoch is None else str(one.epoch)
        # Two that answer agree on nothing.
        agree = "yes" if one.ok or (one.agree and one.state != "answering") else "no"
        name, number = _name(one.tenant, one.shard), str(one.format or "")
        owner = f"{one.owner}{OWNERS[one.state]}"
        table.add_row(name, owner, one.address, epoch, left, number, agree)
    out.print(table)


def _name(tenant: str, shard: str) -> str:
    return f"{tenant}/{shard}" if tenant else shard
