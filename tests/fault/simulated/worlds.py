"""What a run is set in: the queues, how nodes share them out, and what may happen beside faults.

servers   one node has the shard, the others wait for it
groups    a cluster with two groups of queues, so two shards
parts     a cluster that divides one of the groups into four parts, by a hash or in bands
games     a cluster with two games whose players, keys and ids have the same names
upgrade   a cluster whose nodes know an older record format, until each is replaced
"""

from __future__ import annotations

from hashlib import sha256

import msgspec

from evenmatch.config.server import ServerSettings
from evenmatch.model.queue import Criterion, Queue, Sort
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.keys import PREFIX, KeyRing, ServiceKey
from evenmatch.server.auth.principal import SERVICE_RIGHTS

SERVERS, GROUPS, PARTS, GAMES, UPGRADE = "servers", "groups", "parts", "games", "upgrade"
CLUSTERS = (GROUPS, GAMES, UPGRADE, GROUPS, PARTS, GAMES, UPGRADE, GROUPS)
CLUSTER_EACH = 8
"""In each so many seeds the nodes are a cluster, of one kind after the other."""
KINDS = (SERVERS, GROUPS, PARTS, GAMES, UPGRADE)
FILLED_EACH = 3
"""In each so many seeds running matches ask for players."""
SPREAD = {
    "kind": "spread",
    "attribute": "rating",
    "limit": 150.0,
    "expand": {"rate": 10, "max": 300},
}
QUEUES = msgspec.convert(
    [
        {"name": "duel", "policy": "window", "wait_max": 40.0, "rules": [SPREAD]},
        {
            "name": "team",
            "format": {"players": [2, 2], "party_sizes": [1, 2]},
            "policy": "greedy",
            "wait_max": 45.0,
            "accept": {"seconds": 8.0, "repair": 4.0, "again": 10.0},
        },
        {
            "name": "rounds",
            "policy": "tests.shuffles.Shuffles:every=2,parts=2",
            "wait_max": 40.0,
            "silent_after": 25.0,
        },
    ],
    tuple[Queue, ...],
)
SPLITS = ("hash:4", "bands:rating:1410,1470,1530")
"""Ratings are multiples of 60, so nobody is at the edge of a band."""
TENANTS = ("red", "blue")
NEWER = Criterion("anchor_sort", "rating", sort=Sort("near"))
"""What the older record format cannot say."""


class Game(msgspec.Struct, frozen=True):
    """A game of a run.

    Args:
        tenant: Its name; "" if it is the only one.
        queues: What its nodes have in CONFIG.
        newer: The same after an upgrade.
    """

    tenant: str
    queues: tuple[Queue, ...]
    newer: tuple[Queue, ...]

    @property
    def token(self) -> str:
        """Return what its callers show; "" where nobody needs to."""
        return f"{PREFIX}_{self.tenant}_secret" if self.tenant else ""

    def accounts(self, settings: ServerSettings, wall: object) -> Accounts:
        """Return who may come in."""
        return KnownAccounts(settings, None, wall=wall).of_game(self)  # type: ignore[arg-type]


class KnownAccounts(Accounts):
    """Accounts with one key, which is in no file."""

    def of_game(self, game: Game) -> KnownAccounts:
        """Let in who shows the game's token."""
        if game.tenant:
            digest = sha256(game.token.encode()).hexdigest()
            key = ServiceKey(game.tenant, game.tenant, digest, SERVICE_RIGHTS)
            self.tenant, self.ring = game.tenant, KeyRing((key,), game.tenant)
            self._has_keys = True
            self._live = self._live_keys()
        return self


def kind_of(seed: int, wanted: str = "") -> str:
    """Return what a seed is set in.

    Args:
        seed: Of the run.
        wanted: One of `KINDS`, or `clusters` for any but the first; "" leaves it to the seed.
    """
    if wanted == "clusters":
        return CLUSTERS[seed % len(CLUSTERS)]
    if wanted:
        return wanted
    return SERVERS if seed % CLUSTER_EACH else CLUSTERS[seed // CLUSTER_EACH % len(CLUSTERS)]


def games_of(seed: int, kind: str) -> tuple[Game, ...]:
    """Return the games of a run."""
    queues = QUEUES
    if seed % FILLED_EACH == 0:
        more = {"backfill": "manual", "exclusive_match": True}
        queues = tuple([_with(each, "team", **more) for each in queues])
    if kind in (GROUPS, PARTS, UPGRADE):
        queues = tuple([_with(each, "rounds", group="casual") for each in queues])
    if kind == PARTS:
        split = SPLITS[seed // (CLUSTER_EACH * len(CLUSTERS)) % len(SPLITS)]
        queues = tuple([_with(each, "rounds", split=split) for each in queues])
    if kind == GAMES:
        return tuple([Game(tenant, queues, queues) for tenant in TENANTS])
    newer = queues
    if kind == UPGRADE:
        newer = tuple([_with(each, "rounds", criteria=(NEWER,)) for each in queues])
    return (Game("", queues, newer),)


def _with(queue: Queue, name: str, **more: object) -> Queue:
    return msgspec.structs.replace(queue, **more) if queue.name == name else queue
