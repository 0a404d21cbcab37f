"""Who comes to a game of a run: players, backends, hosts of running matches, and who only looks."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from evenmatch.model.group_split import read_split
from tests.fault.simulated.clients import Backend, Lobby, Onlooker, Player, Trio
from tests.fault.simulated.faults import lost_at
from tests.fault.simulated.hosts import Host
from tests.fault.simulated.package_client import PackagePlayer
from tests.fault.simulated.worlds import Game

if TYPE_CHECKING:
    from tests.fault.simulated.run import Scene

LOAD = 115.0
QUIET_FROM = 66.0
FIRST = 1.3
"""When one comes alone then, as others may have taken over: in leases after the owner is lost."""
PACKAGE_SHARE = 6
"""For so many parties there is one player more, who comes by the package's own client."""
TRIOS = ((2860.0, 3140.0, 3000.0), None), ((5000.0, 5390.0, 5210.0), 1)
"""Ratings of three, and who of them leaves. The third one may play both others at once; or first
the second one and later, when that has left, the first."""
ONLOOKERS, LOBBIES = 3, 2
RETURNS = (0.5, 5.0)
"""Seconds after which a player who has left a running match queues again."""


class Crowd:
    """Everybody who comes to a game.

    Args:
        scene: The run.
        game: What they come to.
        chance: Of the run's arrivals.
    """

    def __init__(self, scene: Scene, game: Game, chance: random.Random) -> None:
        self._scene = scene
        self._game = game
        self._chance = chance
        self._known: list[str] = []
        self._hosts = 0
        self._splits = {queue.name: read_split(queue.split) for queue in game.queues}

    def come(self) -> None:
        """Let each of them begin at an instant of the world."""
        self._backends()
        self._lookers()
        for number in range(self._scene.parties):
            self._party(number)
        for number, (ratings, leaves) in enumerate(TRIOS):
            trio = self._caller(Trio, f"trio {number}")
            trio.queue, trio.ratings, trio.leaves = self._game.queues[0].name, ratings, leaves
            trio.known = self._known
            self._scene.begin_at(self._instant(), trio.play)
        for number in range(self._scene.parties // PACKAGE_SHARE):
            by_package = self._caller(PackagePlayer, f"package {number}")
            by_package.player, by_package.known = f"c{number}", self._known
            by_package.following = {}
            by_package.queue = self._chance.choice([queue.name for queue in self._game.queues])
            self._scene.begin_at(self._instant(), by_package.play)

    def _backends(self) -> None:
        for queue in self._game.queues:
            split = self._splits[queue.name]
            for part in range(1 if split is None else split.parts):
                backend = self._caller(Backend, f"backend {queue.name} {part or ''}".strip())
                backend.queue, backend.matches = queue.name, {}
                backend.part = None if split is None else part
                backend.host = self._host if queue.backfill is not None else None
                self._scene.begin_at(0.5, backend.work)

    def _lookers(self) -> None:
        games = len(self._scene.games)
        for number in range(max(1, ONLOOKERS // games)):
            onlooker = self._caller(Onlooker, f"onlooker {number}")
            onlooker.known, onlooker.until = self._known, LOAD + 5.0
            self._scene.begin_at(1.0, onlooker.look)
        shards = [name for tenant, name in self._scene.stores if tenant == self._game.tenant]
        for number in range(max(1, LOBBIES // games)):
            lobby = self._caller(Lobby, f"lobby {number}")
            lobby.known, lobby.shards, lobby.last, lobby.over = self._known, shards, {}, set()
            self._scene.begin_at(1.0, lobby.work)

    def _party(self, number: int) -> None:
        scene, chance = self._scene, self._chance
        queue = chance.choice([queue.name for queue in self._game.queues])
        size = chance.choice((1, 1, 2)) if queue == "team" else 1
        party = tuple(f"p{number}-{each}" for each in range(size))
        player = self._player(f"party {number}", queue, party)
        at = self._instant()
        if scene.is_quiet and not number:
            player.is_watched = True
            at = lost_at(scene.faults, QUIET_FROM) + FIRST * scene.nodes[0].lease_seconds
        scene.begin_at(at, player.play)

    def _player(self, name: str, queue: str, party: tuple[str, ...]) -> Player:
        player: Player = self._caller(Player, name)
        player.queue, player.party, player.known = queue, party, self._known
        return player

    def _host(self, match: str) -> None:
        """Let a running match have a host, whose leavers come back."""
        self._hosts += 1
        host = self._caller(Host, f"host {self._hosts}")
        host.match, host.queue, host.rejoin = match, "team", self._rejoin
        self._scene.loop.begin(host.play())

    def _rejoin(self, player: str) -> None:
        self._hosts += 1
        again = self._player(f"leaver {self._hosts}", "team", (player,))
        again.times = self._hosts + 1
        at = self._scene.world.now + again.chance.uniform(*RETURNS)
        self._scene.begin_at(at, again.play)

    def _instant(self) -> float:
        return self._chance.uniform(*self._chance.choice(self._scene.crowds))

    def _caller(self, kind: Any, name: str) -> Any:
        scene = self._scene
        full = f"{name} of {self._game.tenant}" if self._game.tenant else name
        caller = kind(scene.network, scene.nodes, scene.loop, full)
        caller.tenant, caller.token = self._game.tenant, self._game.token
        scene.callers.append(caller)
        return caller
