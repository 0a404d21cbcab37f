"""One run: a seed, three nodes, a store, a network, clients, faults; then the accounts.

In most runs the nodes are servers of which one has the shard, and the others wait for it. In each
eighth they are a cluster that shares out several shards, and hands on what belongs elsewhere; see
`worlds` for its kinds.

0 s .. LOAD   clients come, faults happen
.. FAULTS     faults happen to those who are left
.. END        all is well again, and everybody who can be matched or expire does
"""

import asyncio
import gc
import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.engine.state.snapshot import encode_snapshot, take
from evenmatch.model.group_split import read_split
from evenmatch.model.shards import shard_of, shards_of
from evenmatch.ratings.periods import rate_period
from evenmatch.server.runtime import logs
from evenmatch.server.runtime.recovery import ShardPlan, resolve
from evenmatch.server.runtime.runtime import Runtime
from tests.fault.simulated.clients import Caller
from tests.fault.simulated.cluster_node import ClusterNode, fronts_by
from tests.fault.simulated.crowd import LOAD, QUIET_FROM, Crowd
from tests.fault.simulated.faults import Fault, Injector, draw
from tests.fault.simulated.history import Seen
from tests.fault.simulated.judge import OVER, check_keys, judged
from tests.fault.simulated.loop import NodeLoop, TimeStandsStill, World
from tests.fault.simulated.network import Network
from tests.fault.simulated.node import Hosted, Node
from tests.fault.simulated.operator import Operator, begun_before
from tests.fault.simulated.planted import planted
from tests.fault.simulated.recount import LIVE, Recount
from tests.fault.simulated.store import Store, Weakness
from tests.fault.simulated.worlds import QUEUES, SERVERS, UPGRADE, Game, games_of, kind_of

FAULTS, CALM_FROM, END = 130.0, 140.0, 235.0
"""Until when faults begin, from when on none does any more, not even a kill at the next write of a
node that has had nothing to write; and the end of the run. Seconds of the world."""
PARTIES = 36
LEASES, SPREAD_LEASES = (30.0, 8.0), (5.0, 10.0)
"""Lengths of leases, seconds: with the shorter one the shard changes hands often."""
TOLD_WITHIN = 60.0
"""Seconds within which a stream that is lost is noticed and taken up again."""
IN_FLIGHT = 40
"""Twentieths of a second for which the last commit may be on its way."""
QUIET = 0.25
"""Share of runs in which all is quiet for a while."""
BEFORE, AFTER = (1.0, 20.0), (107.0, LOAD)
NODES = ("a", "b", "c")
SETTLED = 60.0
"""Seconds of engine time after its deadline, or after it was asked or sent back last, at which a
ticket must have ended: a server that was away gives back the time of its absence to those who are
asked for acceptance, and who came back from a failed ready-check may be asked once more."""


class Setting(msgspec.Struct, frozen=True):
    """What a run is made of, beside its seed.

    Args:
        faults: What goes wrong; None draws it from the seed.
        weakness: Of the store.
        mutant: What the server lacks, by its name in `PLANTED`.
        lost: Share of messages that are lost.
        repeated: Share of messages that arrive twice.
        slow: Share of messages that others overtake.
        parties: How many queue.
        world: What it is set in, see `worlds.kind_of`; "" leaves it to the seed.
    """

    faults: tuple[Fault, ...] | None = None
    weakness: Weakness = Weakness()
    mutant: str = ""
    lost: float = 0.02
    repeated: float = 0.02
    slow: float = 0.02
    parties: int = PARTIES
    world: str = ""


class Outcome(msgspec.Struct, frozen=True):
    """What came of a run.

    Args:
        seed: Of the run.
        trace: Digest of all messages and records.
        violations: Sentences, each with its invariant.
        faults: How often each kind happened.
        requests: Answers that clients got.
        records: In the store.
        matches: Made.
        seconds: Real ones that it took.
        planned: The faults that were drawn.
        statuses: Answers by status.
    """

    seed: int
    trace: str
    violations: tuple[str, ...]
    faults: dict[str, int]
    requests: int
    records: int
    matches: int
    seconds: float
    planned: tuple[Fault, ...]
    statuses: dict[int, int] = {}


AT_THE_END = (GeneratorExit, asyncio.CancelledError)
"""What processes end with that are killed."""
UNFORESEEN = ('"engine_failed"', '"unexpected', '"policy_fault"')
"""What the log says of errors that there must not be; a restart would hide what they did."""


class LogSink(logging.Handler):
    """Takes the server's log; what it calls an unforeseen error is one."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.failures: list[str] = []
        self.lines: list[str] = []

    def info(self, line: str) -> None:
        """Take a line."""
        self.lines.append(line)

    warning = info

    def error(self, line: str) -> None:
        """Take a line that tells of an error."""
        self.lines.append(line)
        if any(word in line for word in UNFORESEEN):
            self.failures.append(f"I16: the server failed: {line[:3000]}")

    def emit(self, record: logging.LogRecord) -> None:
        """Take what uvicorn has to say: that an application raised, it foresees nowhere."""
        kind, error, _ = record.exc_info or (None, None, None)
        if error is not None and not isinstance(error, AT_THE_END):
            self.failures.append(f"I16: an application raised: {kind} {error!r}")


def run(seed: int, setting: Setting = Setting()) -> Outcome:  # noqa: B008
    """Run a seed and return what came of it."""
    began = perf_counter()
    with log_to(LogSink()) as log, planted(setting.mutant), fronts_by(_by_loop):
        hooks = sys.get_asyncgen_hooks()
        # A generator that is under way at the end is dropped: there is no loop to end it on.
        sys.set_asyncgen_hooks(finalizer=lambda _: None)
        scene = Scene(seed, setting)
        gc.disable()
        try:
            violations = played(scene)
            violations += log.failures
        finally:
            # What is ended like this may complain of it to nobody.
            complain, sys.unraisablehook = sys.unraisablehook, lambda _: None
            for loop in scene.world.loops:
                loop.dispose()
            sys.unraisablehook = complain
            sys.set_asyncgen_hooks(*hooks)
            gc.enable()
    return Outcome(
        seed,
        scene.trace(),
        tuple(dict.fromkeys(violations)),
        dict(scene.network.faults),
        len(scene.history()),
        sum(len(store.rows) for store in scene.stores.values()),
        sum(len(each.matches) for each in scene.recounts.values()),
        perf_counter() - began,
        scene.faults,
        dict(sorted(Counter(seen.status for seen in scene.history()).items())),
    )


def _by_loop() -> float:
    return asyncio.get_running_loop().time()


def played(scene: "Scene") -> list[str]:
    """Let all happen, and return what must not have."""
    try:
        scene.play()
    except TimeStandsStill as error:
        return [f"I16: the server never rests: {error}"]
    return scene.violations()


class Scene:
    """Everybody who takes part in one run."""

    def __init__(self, seed: int, setting: Setting) -> None:
        self.world = World(seed)
        self.network = Network(
            self.world, lost=setting.lost, repeated=setting.repeated, slow=setting.slow
        )
        chance = self.world.chance("plan")
        self.kind = kind_of(seed, setting.world)
        self.games = games_of(seed, self.kind)
        leases = LEASES if self.kind == SERVERS else SPREAD_LEASES
        lease = self.world.chance("lease").choice(leases)
        hosted = [self._hosted(each, seed, lease, setting) for each in self.games]
        self.stores = {
            (each.game.tenant, part.name): each.store.of(part.name)
            for each in hosted
            for part in shards_of(each.game.queues)
        }
        self._roots = [each.store for each in hosted]
        self._shards_of = {
            queue: [part.name for part in shards_of(self.games[0].queues) if queue in part.queues]
            for queue in (each.name for each in QUEUES)
        }
        every = chance.choice((7, 20, 60))
        kind = Node if self.kind == SERVERS else ClusterNode
        self.nodes = [kind(name, self.network, hosted, snapshot_every=every) for name in NODES]
        for node in self.nodes:
            if isinstance(node, ClusterNode):
                node.others = {each.name: each for each in self.nodes}  # type: ignore[misc]
        # In some runs nobody comes for a while: an owner without work does not notice at once that
        # it has lost the shard.
        self.is_quiet = chance.random() < QUIET
        self.crowds = (BEFORE, AFTER) if self.is_quiet else ((1.0, LOAD),)
        quiet = QUIET_FROM if self.is_quiet else None
        drawn = tuple(draw(self.world.chance("faults"), FAULTS, quiet))
        self.faults = drawn if setting.faults is None else setting.faults
        self.callers: list[Caller] = []
        self.loop = NodeLoop(self.world, "clients")
        self.parties = setting.parties // len(self.games)
        self.operator: Operator | None = None
        if self.kind == UPGRADE:
            self.operator = Operator(self.network, self.nodes, self.loop, "operator")
            self.operator.machines = self.nodes  # type: ignore[assignment]
            for store in self.stores.values():
                store.on_raise = self.operator.note_raised
        self.recounts: dict[tuple[str, str], Recount] = {}

    def _hosted(self, game: Game, seed: int, lease: float, setting: Setting) -> Hosted:
        store = Store(self.world, setting.weakness)
        plan = ShardPlan(
            game.queues,
            seed=seed,
            journal="simulated:",
            waits=True,
            lease_seconds=lease,
            has_keys=bool(game.token),
        )
        if self.kind == UPGRADE:
            for part in shards_of(game.queues):
                begun_before(store.of(part.name))
        return Hosted(game, plan, store)

    def play(self) -> None:
        """Let all happen."""
        world = self.world
        chance = world.chance("arrivals")
        for node in self.nodes:
            world.at(chance.uniform(0.0, 0.5), node.start)
        Injector(self.nodes, self.network, self._roots).plan(list(self.faults), CALM_FROM)
        if self.operator is not None:
            self.operator.replace_nodes(world.chance("upgrade"))
        for game in self.games:
            Crowd(self, game, chance).come()
        world.run(END)
        # What is on its way to the store at that very instant gets there.
        for _ in range(IN_FLIGHT):
            if not any(node.has_unwritten for node in self.nodes):
                return
            world.run(world.now + 0.05)

    def begin_at(self, at: float, work: Callable[[], Any]) -> None:
        """Let somebody begin something at an instant of the world."""
        self.world.at(at, lambda: self.loop.begin(work()))

    def history(self, shard: tuple[str, str] | None = None) -> list[Seen]:
        """Return all answers, in order of their arrival; of one shard, if one is named."""
        found = [
            seen
            for caller in self.callers
            for seen in caller.seen
            if shard is None or self._shard(seen, caller) == shard
        ]
        return sorted(found, key=lambda seen: seen.got)

    def _shard(self, seen: Seen, caller: Caller) -> tuple[str, str]:
        """Return which shard an answer is about: an id says so, or else a queue."""
        ids = [seen.about]
        if seen.kind == "create":
            ids = [text for name in ("id", "ticket", "match") if (text := seen.body.get(name))]
        for each in ids:
            named = caller.tenant, shard_of(each)
            if named in self.stores:
                return named
        return caller.tenant, self._shards_of[caller.queue][caller.part or 0]

    def trace(self) -> str:
        """Return a digest of all that happened."""
        for store in self.stores.values():
            for _, _, body in store.rows:
                self.network.note(body)
        return self.network.trace()

    def violations(self) -> list[str]:
        """Return what must not have happened, or should have."""
        found = [error for node in self.nodes for error in node.errors] + self.loop.errors
        found = [f"I16: {error}" for error in found]
        found += [problem for caller in self.callers for problem in caller.problems]
        for shard in self.stores:
            found += self._of_shard(shard)
        for tenant in dict.fromkeys(tenant for tenant, _ in self.stores):
            found += check_keys([seen for seen in self.history() if seen.tenant == tenant])
        if self.operator is not None:
            found += self.operator.violations([*self.stores.values()], [*self.recounts.values()])
        return found

    def _of_shard(self, shard: tuple[str, str]) -> Iterator[str]:
        store = self.stores[shard]
        try:
            self.recounts[shard] = recount = Recount(store.rows, store.commits, store.newer_from)
        except Exception as error:  # noqa: BLE001
            yield f"I19: the records make no sense: {error!r}"
            return
        yield from recount.problems
        yield from judged(recount, self.history(shard))
        yield from self._in_place(shard, recount)
        yield from self._never_told(shard[0], recount)
        yield from self._at_the_end(shard, recount)

    def _in_place(self, shard: tuple[str, str], recount: Recount) -> Iterator[str]:
        """Yield who waits in another part than theirs, where they could wait twice: I1."""
        splits = {each.name: read_split(each.split) for each in self.games[0].queues}
        for name, life in recount.lives.items():
            first, queue = life.new.players[0], life.new.queues[0]
            split = splits[queue]
            rating = None if first.rating is None else first.rating.mean
            part = 0 if split is None else split.part_of(first.id, rating)
            if self._shards_of[queue][part] != shard[1]:
                yield f"I1: {name} of {first.id} belongs to {self._shards_of[queue][part]}"

    def _never_told(self, tenant: str, recount: Recount) -> Iterator[str]:
        """Yield who follows by the package's stream and has not heard of an end long past."""
        known = recount.position(self.world.now - TOLD_WITHIN)
        for caller in (each for each in self.callers if each.tenant == tenant):
            for ticket in getattr(caller, "following", ()):
                life = recount.lives.get(ticket)
                is_over = life is not None and life.now[0] in OVER | {"assigned"}
                if life is not None and is_over and life.since[-1] <= known:
                    yield f"I4: the package's stream never told that {ticket} is {life.now[0]}"

    def _at_the_end(self, shard: tuple[str, str], recount: Recount) -> Iterator[str]:
        """Yield what is wrong when all faults are over: I3, I9, I19."""
        serving = [
            (node, services)
            for node in self.nodes
            for tenant, services in node.present_games
            if (tenant, services.runtime.plan.shard) == shard
        ]
        if len(serving) != 1:
            yield f"I16: {len(serving)} nodes serve {shard} when all faults are over"
            return
        node, services = serving[0]
        runtime, follow = services.runtime, len(services.followers)
        if follow > (asked := node.open_ends):
            yield f"I16: {follow} followers are kept, of {asked} requests under way"
        if runtime.unready is not None:
            yield f"I16: the server is not ready when all faults are over: {runtime.unready}"
            return
        now = runtime.now()
        for name, life in recount.lives.items():
            if life.now[0] in LIVE and now > recount.late_from(name) + SETTLED:
                since = f"born at {life.enqueued_at:.1f} s"
                yield f"I9: {name}, {since}, is {life.now[0]} at {now:.1f} s"
        yield from self._against_the_engine(shard[1], recount, runtime)

    def _against_the_engine(self, shard: str, recount: Recount, runtime: Runtime) -> Iterator[str]:
        tables = runtime.engine.tables
        live = {name for name, life in recount.lives.items() if life.now[0] in LIVE}
        if tables.sequence == len(recount.records) and live != set(tables.waiting):
            yield f"I3: the server has {len(tables.waiting)} live tickets, the records {len(live)}"
        for name, row in tables.waiting.items():
            if name in live and row.ticket.enqueued_at != recount.lives[name].enqueued_at:
                yield f"I14: {name} is as old as {row.ticket.enqueued_at}"
        engine = Engine(resolve, shard=shard, limits=runtime.engine.limits, rate=rate_period)
        try:
            for record in recount.records[: tables.sequence]:
                engine.apply(record)
        except Exception as error:  # noqa: BLE001
            yield f"I19: the records cannot be applied: {error!r}"
            return
        if encoded(engine) != encoded(runtime.engine):
            yield "I19: applying the records gives other tables than the server has"


def encoded(engine: Engine) -> bytes:
    """Return an engine's tables as a snapshot has them, without the time and what matchers know."""
    snapshot = take(engine)
    tables = msgspec.structs.replace(snapshot.tables, now=0.0)
    return encode_snapshot(msgspec.structs.replace(snapshot, tables=tables, memories={}))


@contextmanager
def log_to(sink: LogSink) -> Iterator[LogSink]:
    """Let the server write its log into a list."""
    proxy: Any = logs.log
    before, proxy._logger = proxy._logger, sink
    server = logging.getLogger("uvicorn.error")
    server.addHandler(sink)
    propagates, server.propagate = server.propagate, False
    try:
        yield sink
    finally:
        server.propagate = propagates
        server.removeHandler(sink)
        proxy._logger = before
