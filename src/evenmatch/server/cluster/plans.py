"""What a node runs of a game: a plan for each of its shards."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from evenmatch.config.server import ServerSettings
from evenmatch.journals.opening import open_journal
from evenmatch.model.queue import Queue
from evenmatch.model.shards import FIRST, ShardPart, shards_of
from evenmatch.server.cluster.seat import SeatPlan
from evenmatch.server.operations.versions import read_anew
from evenmatch.server.runtime.games import Game, Games
from evenmatch.server.runtime.lease_keeping import Claim
from evenmatch.server.runtime.recovery import ShardPlan

FOLDER = "shards"
"""Where a node keeps what belongs to a shard but the first one, below the data directory."""


class GamePlan(msgspec.Struct, frozen=True):
    """A game that nodes share.

    Args:
        tenant: Its name, where there are several.
        shards: One seat for each.
        parts: What each shard has, in the same order.
        settings: Of the game.
        queues: Of its CONFIG, by shard.
        plans: What runs in each seat.
    """

    tenant: str
    shards: tuple[SeatPlan, ...]
    parts: tuple[ShardPart, ...]
    settings: ServerSettings
    queues: tuple[Queue, ...] = ()
    plans: tuple[ShardPlan, ...] = ()

    def read_anew(self) -> GamePlan:
        """Return it with the queues of CONFIG as it reads now; a wrong file changes none."""
        plans = tuple([read_anew(each) for each in self.plans])
        return msgspec.structs.replace(self, plans=plans, queues=_queues_of(plans) or self.queues)


def cluster_plan(game: Game, owner: str, lease_seconds: float, *, snapshot_every: int) -> GamePlan:
    """Return what a node runs of a game.

    Args:
        game: As it would run alone.
        owner: The name under which the node owns leases.
        lease_seconds: Length of a lease.
        snapshot_every: Records between two snapshots.
    """
    layout = shards_of(game.plan.queues)
    journal = open_journal(game.plan.journal, game=game.name)
    seats, plans = [], []
    for part in layout:
        plan = _shard_plan(game.plan, part, layout)
        plan = msgspec.structs.replace(
            plan, owner=owner, lease_seconds=lease_seconds, keeps_format=True
        )
        plans.append(plan)
        one = msgspec.structs.replace(game, plan=plan)
        claim = Claim(part.name, owner, lease_seconds)
        start = partial(Games, [one], snapshot_every=snapshot_every)
        seats.append(SeatPlan(game.name, claim, journal, start))
    queues = _queues_of(plans)
    return GamePlan(game.name, tuple(seats), layout, game.plan.settings, queues, tuple(plans))


def _queues_of(plans: Sequence[ShardPlan]) -> tuple[Queue, ...]:
    """Return the queues of some shards, each once though parts of a split group share it."""
    return tuple({queue.name: queue for plan in plans for queue in plan.queues}.values())


def _shard_plan(plan: ShardPlan, part: ShardPart, layout: tuple[ShardPart, ...]) -> ShardPlan:
    data = plan.data
    if data is not None and part.name != FIRST:
        data = data / FOLDER / part.name
    return msgspec.structs.replace(
        plan,
        shard=part.name,
        queues=tuple(each for each in plan.queues if each.name in part.queues),
        layout=layout if len(layout) > 1 else (),
        data=data,
        # A change over HTTP lies beside the node that took it; the journal has its queues for all.
        config_from="data" if plan.config_from == "auto" else plan.config_from,
    )
