"""Every alert fires when the server is in that state, is silent otherwise, and has its section."""

import asyncio
import re
import shutil
import time
from collections import namedtuple
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import yaml

from evenmatch.cli.main import COMMANDS
from evenmatch.config.server import Allocation, Notification, ServerLimits, ServerSettings
from evenmatch.engine.records import Record
from evenmatch.engine.shard import Shard
from evenmatch.errors import JournalUnavailable, PolicyError, ShardFailed
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Accept as Confirm
from evenmatch.model.inputs import Configure, Decline, Enqueue, Void
from evenmatch.model.queue import Format, Queue, ReadyCheck, Rule
from evenmatch.server.cluster import joined_answers
from evenmatch.server.cluster.joined_answers import WholeAnswer
from evenmatch.server.cluster.node_metrics import ClusterFigures, NodeMetrics
from evenmatch.server.gamelift import delivery
from evenmatch.server.gamelift.delivery import Targets
from evenmatch.server.http.app import App
from evenmatch.server.http.responses import Message
from evenmatch.server.http.table import openapi_document
from evenmatch.server.runtime import services
from evenmatch.server.runtime.clock import Clock
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.services import Services, assemble
from evenmatch.server.views.statistics import Statistics
from evenmatch.testing import new_ticket
from tests.unit.server.promql import Scrape, Vector, fires, names_in, scrape
from tests.waiting import until

ROOT = Path(__file__).parents[3]
RULES: list[dict[str, Any]] = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())[
    "groups"
][0]["rules"]
EXPRESSIONS = {rule["alert"]: rule["expr"] for rule in RULES}
RUNBOOK = (ROOT / "docs/runbook.md").read_text()
LINES = ("Players see: ", "It means: ", "See it: ", "End it: ")
DUEL = Queue("duel")
Usage = namedtuple("Usage", "total used free")


class Journal(MemoryJournal):
    """A journal that can be slow, or refuse to write."""

    pause = 0.0
    is_broken = False

    async def append(
        self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
    ) -> int:
        if self.is_broken:
            raise JournalUnavailable("the disk is gone: mount it")
        await asyncio.sleep(self.pause)
        return await super().append(shard, owner, epoch, first_seq, records)


class World:
    """A server that runs, and what is asked of it."""

    def __init__(self, plan: ShardPlan) -> None:
        self.journal = Journal()
        self.parts: Services = assemble(plan, self.journal)
        self.runtime = self.parts.runtime
        self.app = App(self.parts)

    def scrape(self) -> Scrape:
        return scrape(self.parts.metrics.text())

    async def enqueue(self, *names: str) -> None:
        new = tuple(new_ticket(name, mode=name) for name in names)
        await self.runtime.ask(Enqueue(self.runtime.now(), new))

    async def call(self, method: str, path: str, body: bytes = b"") -> int:
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": b"", "headers": [], "root_path": "", "client": ("127.0.0.1", 1),
        }  # fmt: skip
        await self.app(scope, receive, send)
        status: int = sent[0]["status"]
        return status


Scene = Callable[[World], Awaitable[None]]


def happened(alert: str, scene: Scene, plan: ShardPlan | None = None) -> None:
    """Assert that an alert is silent before a scene, and fires after it."""

    async def main() -> None:
        async with asyncio.timeout(20.0):
            world = World(plan or ShardPlan((DUEL,)))
            await world.runtime.start()
            await world.enqueue("calm", "calmer")
            calm = world.scrape()
            assert fires(EXPRESSIONS[alert], calm, calm) == {}
            await scene(world)
            assert fires(EXPRESSIONS[alert], calm, world.scrape())
            world.journal.is_broken = False
            await world.runtime.stop()

    asyncio.run(main())


def test_rules_have_the_shape_that_prometheus_reads() -> None:
    assert len(EXPRESSIONS) == len(RULES) >= 12
    for rule in RULES:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"Evenmatch[A-Za-z]+", rule["alert"])
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "0s"))
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"]["summary"].endswith((".", "?", "bug."))
        anchor = f"docs/runbook.md#{rule['alert'].lower()}"
        assert rule["annotations"]["runbook"] == anchor


def test_every_alert_has_a_section_that_says_what_to_do_and_no_other_is_there() -> None:
    sections = re.split(r"^## ", RUNBOOK, flags=re.MULTILINE)[1:]
    found = dict(section.split("\n", 1) for section in sections)

    assert set(found) == set(EXPRESSIONS)
    for name, text in found.items():
        starts = [line.startswith(start) for start, line in zip(LINES, _lines(text), strict=False)]
        assert starts == [True] * 4, name
        assert "`" in text, f"{name} names no command"


def _lines(section: str) -> list[str]:
    return [line for line in section.splitlines() if line]


def test_commands_of_the_runbook_exist() -> None:
    known = {re.sub(r"\{[^}]*\}", "*", path) for path in openapi_document()["paths"]}
    paths = re.findall(r"\$SERVER(/[^\s`?\"]*)", RUNBOOK)
    commands = re.findall(r"`evenmatch ([a-z]+) ", RUNBOOK)

    assert len(paths) > 10
    for path in paths:
        assert re.sub(r"\b(TICKET|QUEUE|MATCH)\b", "*", path) in known
    assert set(commands) <= set(COMMANDS)
    assert set(commands) == {
        "serve", "backup", "check", "cluster", "export", "compare", "keys",
    }  # fmt: skip


def test_commands_of_the_runbook_have_a_form_for_a_journal_on_a_server() -> None:
    given = re.findall(r"`(evenmatch (?:backup|check|export|keys|serve) [^`]+)`", RUNBOOK)
    assert len(given) > 8
    for command in given:
        # Each takes the address in place of the directory, or is there in both forms.
        name = " ".join(command.split()[:3])
        forms = [each for each in given if each.startswith(name)]
        if " data" in command:
            assert any("--journal" in each for each in forms), command


def test_metrics_that_alerts_look_at_exist(tmp_path: Path) -> None:
    hook = Allocation("webhook", "http://127.0.0.1:1/")
    events = Notification("http://127.0.0.1:1/")
    settings = ServerSettings(allocation={"fleet": hook}, notifications={"events": events})
    plan = ShardPlan((DUEL,), settings=settings, data=tmp_path)

    async def main() -> None:
        world = World(plan)
        await world.runtime.start()
        await world.call("GET", "/healthz")
        there = set(world.scrape())
        await world.runtime.stop()
        world.parts.metrics.unexpected(RuntimeError("planted"), "GET /")
        world.parts.metrics.show_certificate(lambda: 0.0)
        there |= set(world.scrape()) | set(scrape(of_two_shards(world))) | set(cluster(1, 0))
        for expression in EXPRESSIONS.values():
            assert names_in(expression)
            assert names_in(expression) <= there

    asyncio.run(main())


def test_nobody_is_woken_when_all_is_well(tmp_path: Path) -> None:
    async def main() -> None:
        world = World(ShardPlan((DUEL,), data=tmp_path))
        await world.runtime.start()
        before = world.scrape()
        await world.enqueue("a", "b", "c")
        assert await world.call("GET", "/v1/queues/duel/stats") == 200
        after = world.scrape()
        for alert, expression in EXPRESSIONS.items():
            # The disk that the tests run on may be full in truth.
            assert alert == "EvenmatchDiskFull" or fires(expression, before, after) == {}, alert
        await world.runtime.stop()

    asyncio.run(main())


def test_server_that_is_gone() -> None:
    assert fires(EXPRESSIONS["EvenmatchGone"], {}, {})
    there = {"evenmatch_ready": {frozenset[tuple[str, str]](): 0.0}}
    assert fires(EXPRESSIONS["EvenmatchGone"], there, there) == {}


def test_one_of_several_servers_that_is_gone() -> None:
    def ready(*jobs: str) -> Scrape:
        return {"evenmatch_ready": {frozenset({("job", each)}): 1.0 for each in jobs}}

    gone = EXPRESSIONS["EvenmatchGone"]
    assert fires(gone, ready("chess", "go"), ready("chess", "go")) == {}
    assert fires(gone, ready("chess"), ready("chess", "go")) == {}
    (labels,) = fires(gone, ready("chess", "go"), ready("go"))
    assert dict(labels) == {"job": "chess"}


def of_two_shards(world: World, status: int = 200) -> bytes:
    """Return the metrics of a game of two shards, one of which answers with this status."""
    pages = [WholeAnswer(each, (), world.parts.metrics.text()) for each in (200, status)]
    return joined_answers.metrics(list(zip(("s0", "s0.casual"), pages, strict=True)), "").body


def test_shard_that_is_gone() -> None:
    async def main() -> None:
        world = World(ShardPlan((DUEL,)))
        await world.runtime.start()
        calm, gone = scrape(of_two_shards(world)), scrape(of_two_shards(world, 503))
        assert fires(EXPRESSIONS["EvenmatchShardGone"], calm, calm) == {}
        assert fires(EXPRESSIONS["EvenmatchShardGone"], calm, gone)
        # The others answer, so this alone would not be told.
        assert fires(EXPRESSIONS["EvenmatchGone"], calm, gone) == {}
        await world.runtime.stop()

    asyncio.run(main())


def test_journal_that_cannot_be_written() -> None:
    async def scene(world: World) -> None:
        world.journal.is_broken = True
        with pytest.raises(JournalUnavailable):
            await world.enqueue("a")
        await until(lambda: world.runtime.unready is not None)

    happened("EvenmatchNotReady", scene)


def test_few_creates_that_a_full_journal_takes_none_of(monkeypatch: pytest.MonkeyPatch) -> None:
    fail = EXPRESSIONS["EvenmatchCreatesFail"]

    async def main() -> None:
        world, numbers = World(ShardPlan((DUEL,))), count()
        await world.runtime.start()

        async def create() -> int:
            # As at night: the server has come back since the last one.
            await until(lambda: world.runtime.unready is None)
            return await world.call(
                "POST", "/v1/tickets", b'{"players": [{"id": "%d"}]}' % next(numbers)
            )

        assert await create() == 201
        world.journal.is_broken = True
        assert await create() == 503
        before = world.scrape()
        assert {await create() for _ in range(6)} == {503}
        await until(lambda: world.runtime.unready is None)
        full = world.scrape()
        assert fires(fail, before, full)
        for alert in ("EvenmatchNotReady", "EvenmatchOverloaded", "EvenmatchUnexpectedErrors"):
            assert fires(EXPRESSIONS[alert], before, full) == {}
        world.journal.is_broken = False
        assert {await create() for _ in range(6)} == {201}
        assert fires(fail, before, world.scrape()) == {}
        await world.runtime.stop()

    monkeypatch.setattr("evenmatch.server.runtime.runtime.REBUILD_PAUSES", (0.01,))
    asyncio.run(main())


def test_promise_that_does_not_hold() -> None:
    async def scene(world: World) -> None:
        world.runtime.engine.tables.players["default"]["ghost"] = "s0-1"

    happened("EvenmatchPromiseBroken", scene)


def test_match_that_is_called_off_breaks_no_promise() -> None:
    async def main() -> None:
        hooked = Queue("duel", policy="greedy", allocation="fleet")
        world = World(ShardPlan((hooked,)))
        await world.runtime.start()
        await world.enqueue("a", "b")
        (match,) = world.runtime.engine.tables.matches
        before = world.scrape()
        await world.runtime.ask(Void(world.runtime.now(), match, "no server"))
        after = world.scrape()
        assert fires(EXPRESSIONS["EvenmatchPromiseBroken"], before, after) == {}
        tickets = {
            dict(key)["state"]: value for key, value in after["evenmatch_tickets_total"].items()
        }
        assert (tickets["accepted"], tickets["matched"], tickets["returned"]) == (2, 2, 2)
        assert sum(after["evenmatch_waiting"].values()) == 2
        await world.runtime.stop()

    asyncio.run(main())


@pytest.mark.parametrize("failed", ["requeue", "keep"])
def test_fleet_that_gives_no_servers(failed: str) -> None:
    hook = Allocation("webhook", "http://127.0.0.1:1/", retries=0, failed=failed)
    settings = ServerSettings(allocation={"fleet": hook})
    hooked = Queue("duel", policy="greedy", allocation="fleet")

    async def scene(world: World) -> None:
        await world.enqueue(*(f"p{number}" for number in range(12)))
        await until(lambda: world.parts.allocations.failures["fleet"] > 6)
        world.parts.allocations.close()

    happened("EvenmatchNoServers", scene, ShardPlan((hooked,), settings=settings))


def test_webhook_that_misses_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "BACKLOG_MAX", 0)
    heard: list[Targets] = []

    class Heard(Targets):
        def __init__(self, notifications: Mapping[str, Notification]) -> None:
            super().__init__(notifications)
            heard.append(self)

    monkeypatch.setattr(services, "Targets", Heard)

    async def scene(_: World) -> None:
        heard[0].send("arn:aws:sns:eu-west-1:1234:events", {"id": "e0"})

    settings = ServerSettings(notifications={"events": Notification("http://127.0.0.1:1/")})
    happened("EvenmatchEventsDropped", scene, ShardPlan((DUEL,), settings=settings))


def test_policy_that_broke_its_contract() -> None:
    async def scene(world: World) -> None:
        world.runtime.engine.pools["duel"].stop(PolicyError("policy x of queue duel: planted"))

    happened("EvenmatchPolicyStopped", scene)


def broken(*_: object) -> None:
    raise RuntimeError("planted")


def test_first_error_that_nobody_foresaw(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(world: World) -> None:
        monkeypatch.setattr(Statistics, "of", broken)
        assert await world.call("GET", "/v1/queues/duel/stats") == 500

    happened("EvenmatchUnexpectedErrors", scene)


def test_engine_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(world: World) -> None:
        with monkeypatch.context() as planted:
            planted.setattr(Shard, "handle", broken)
            with pytest.raises(ShardFailed):
                await world.enqueue("a")
        # It is back before anybody is told that it is not ready.
        await until(lambda: world.runtime.unready is None)

    happened("EvenmatchUnexpectedErrors", scene)


def test_server_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        world = World(ShardPlan((DUEL,)))
        await world.runtime.start()
        monkeypatch.setattr(Statistics, "of", broken)
        seen = []
        for _ in range(2):
            assert await world.call("GET", "/v1/queues/duel/stats") == 500
            seen.append(world.scrape())
        assert fires(EXPRESSIONS["EvenmatchServerErrors"], seen[0], seen[0]) == {}
        assert fires(EXPRESSIONS["EvenmatchServerErrors"], *seen)
        await world.runtime.stop()

    asyncio.run(main())


def seen_by_three_nodes(**figures: float) -> Scrape:
    """Return what Prometheus has of a cluster that it scrapes at each of three nodes."""
    facts = {"queue": "duel", "status": "429", "reason": "too_many_requests", "job": "game"}
    return {
        name: {
            frozenset({**facts, "shard": "s0", "instance": f"10.0.0.{node}:8080"}.items()): figure
            for node in range(3)
        }
        for name, figure in figures.items()
    }


@pytest.mark.parametrize(
    ("alert", "name", "limit"),
    [
        ("EvenmatchNoMatches", "evenmatch_waiting", 20.0),
        ("EvenmatchOverloaded", "evenmatch_request_seconds_count", 50.0),
        ("EvenmatchCallerLimited", "evenmatch_refused_callers_total", 50.0),
    ],
)
def test_figures_that_every_node_shows_count_once(alert: str, name: str, limit: float) -> None:
    before = seen_by_three_nodes(**{name: 0.0, "evenmatch_matches_total": 0.0})
    for figure, is_firing in ((limit, False), (limit + 1, True)):
        now = seen_by_three_nodes(**{name: figure, "evenmatch_matches_total": 0.0})
        assert bool(fires(EXPRESSIONS[alert], before, now)) is is_firing


@pytest.mark.parametrize(
    ("alert", "name"),
    [
        ("EvenmatchOverloaded", "evenmatch_request_seconds_count"),
        ("EvenmatchCallerLimited", "evenmatch_refused_callers_total"),
    ],
)
def test_what_independent_servers_refuse_is_not_added_up(alert: str, name: str) -> None:
    def of_jobs(**refused: float) -> Scrape:
        facts = {"status": "429", "reason": "too_many_requests"}
        return {name: {frozenset({**facts, "job": j}.items()): n for j, n in refused.items()}}

    before = of_jobs(chess=0.0, tanks=0.0)
    assert fires(EXPRESSIONS[alert], before, of_jobs(chess=40.0, tanks=40.0)) == {}
    (labels,) = fires(EXPRESSIONS[alert], before, of_jobs(chess=40.0, tanks=51.0))
    assert dict(labels) == {"job": "tanks"}


@pytest.mark.parametrize("alert", ["EvenmatchUnexpectedErrors", "EvenmatchServerErrors"])
def test_alert_about_errors_says_whose_they_are(alert: str) -> None:
    def of_jobs(chess: float, tanks: float) -> Scrape:
        counted = {
            frozenset({"status": "500", "job": job}.items()): count
            for job, count in (("chess", chess), ("tanks", tanks))
        }
        names = ("evenmatch_unexpected_errors_total", "evenmatch_request_seconds_count")
        return dict.fromkeys(names, counted)

    (labels,) = fires(EXPRESSIONS[alert], of_jobs(0.0, 0.0), of_jobs(0.0, 1.0))
    assert dict(labels) == {"job": "tanks"}


def test_shard_without_matches_is_seen_beside_one_that_makes_them() -> None:
    def both(still: float, busy: float) -> Vector:
        return {
            frozenset({"job": "game", "shard": "s0"}.items()): still,
            frozenset({"job": "game", "shard": "s0.casual"}.items()): busy,
        }

    before = {"evenmatch_matches_total": both(0.0, 0.0)}
    now = {
        "evenmatch_waiting": both(30.0, 30.0),
        "evenmatch_matches_total": both(0.0, 9.0),
    }
    (labels,) = fires(EXPRESSIONS["EvenmatchNoMatches"], before, now)
    assert dict(labels)["shard"] == "s0"


def test_players_whom_a_rule_keeps_apart() -> None:
    apart = msgspec.structs.replace(DUEL, rules=(Rule("same", "mode"),))

    async def scene(world: World) -> None:
        await world.enqueue(*(f"p{number}" for number in range(20)))

    happened("EvenmatchNoMatches", scene, ShardPlan((apart,)))


def test_somebody_waits_too_long() -> None:
    async def scene(world: World) -> None:
        await world.enqueue("alone")
        world.runtime.clock = Clock(world.runtime.now() + 901.0)

    happened("EvenmatchWaitsTooLong", scene)


def test_many_tickets_expire() -> None:
    short = msgspec.structs.replace(DUEL, rules=(Rule("same", "mode"),), wait_max=0.05)

    async def scene(world: World) -> None:
        await world.enqueue(*(f"p{number}" for number in range(11)))
        await until(lambda: not world.runtime.engine.tables.waiting)
        await until(lambda: not world.parts.statistics.waiting("duel"))

    happened("EvenmatchManyExpire", scene, ShardPlan((short,)))


@pytest.mark.parametrize("accepted", [0.0, 1.0])
def test_one_player_at_night_who_finds_nobody_wakes_nobody(accepted: float) -> None:
    def counted(accepted: float, expired: float) -> Scrape:
        states = {"accepted": accepted, "expired": expired}
        return {
            "evenmatch_tickets_total": {
                frozenset({("state", state)}): count for state, count in states.items()
            }
        }

    expire = EXPRESSIONS["EvenmatchManyExpire"]
    assert fires(expire, counted(100.0, 3.0), counted(100.0 + accepted, 4.0)) == {}


def test_game_whose_tickets_expire_is_seen_beside_a_larger_one() -> None:
    def both(small: float, large: float) -> Scrape:
        return {
            "evenmatch_tickets_total": {
                frozenset({"job": job, "state": state}.items()): count
                for job, count, ends in (("small", small, 1.0), ("large", large, 0.01))
                for state, count in (("accepted", count), ("expired", count * ends))
            }
        }

    (labels,) = fires(EXPRESSIONS["EvenmatchManyExpire"], both(0.0, 0.0), both(50.0, 5_000.0))
    assert dict(labels) == {"job": "small"}


async def answer_all(world: World, declining: float, rng: np.random.Generator) -> None:
    """Let everybody answer who is asked, until no proposal is left; some decline."""
    tables = world.runtime.engine.tables
    comers = (f"p{number}" for number in count())
    while tables.proposals:
        match_id, proposal = next(iter(tables.proposals.items()))
        open_ = [each for each in proposal.tickets if each not in proposal.accepted]
        if not open_:
            # It waits for somebody to take the free seats; repairs look now and then.
            assert proposal.open is not None
            idle = sum(row.match is None for row in tables.waiting.values())
            if idle < sum(proposal.open.free):
                await world.enqueue(next(comers))
            else:
                await asyncio.sleep(0.002)
            continue
        kind = Decline if rng.random() < declining else Confirm
        await world.runtime.ask(kind(world.runtime.now(), match_id, open_[0]))


def team_plan() -> ShardPlan:
    accept = ReadyCheck(seconds=600.0, repair=600.0, cooldowns=())
    return ShardPlan((Queue("duel", format=Format((5, 5)), policy="greedy", accept=accept),))


async def propose(world: World, matches: int) -> None:
    await world.enqueue(*(f"asked{number}" for number in range(10 * matches - 2)))


def test_players_who_do_not_accept() -> None:
    async def scene(world: World) -> None:
        await propose(world, 4)
        await answer_all(world, 0.5, np.random.default_rng(1))

    happened("EvenmatchChecksFail", scene, team_plan())


def test_one_player_in_ten_who_declines_is_replaced_and_nobody_is_woken() -> None:
    async def main() -> None:
        world = World(team_plan())
        await world.runtime.start()
        await world.enqueue("calm", "calmer")
        before = world.scrape()
        await propose(world, 40)
        await answer_all(world, 0.1, np.random.default_rng(1))
        after = world.scrape()
        lost, proposed, unready, asked, given_up, ended = (
            sum(after[f"evenmatch_{name}_total"].values())
            for name in (
                "checks_failed", "proposals", "players_unready", "players_asked",
                "proposals_given_up", "proposals_ended",
            )
        )  # fmt: skip
        # Most proposals lose a player, 1 - .9^10 = .65 of them; all are played in the end.
        assert 0.5 < lost / proposed < 0.8
        assert 0.05 < unready / asked < 0.15
        assert (given_up, ended) == (0, proposed)
        for alert in ("EvenmatchChecksFail", "EvenmatchProposalsGivenUp"):
            assert fires(EXPRESSIONS[alert], before, after) == {}, alert
        await world.runtime.stop()

    asyncio.run(main())


def test_proposals_that_nobody_repairs() -> None:
    async def scene(world: World) -> None:
        await propose(world, 12)
        tables = world.runtime.engine.tables
        for match_id, proposal in list(tables.proposals.items()):
            for ticket_id in proposal.tickets:
                await world.runtime.ask(Decline(world.runtime.now(), match_id, ticket_id))
        assert world.parts.statistics.totals.dissolved == 12

    happened("EvenmatchProposalsGivenUp", scene, team_plan())


def test_queue_that_stands_still() -> None:
    waits = msgspec.structs.replace(DUEL, policy="periodic:rounds_of=1000")

    async def scene(world: World) -> None:
        await world.enqueue(*"abcd")
        world.runtime.clock = Clock(world.runtime.now() + 151.0)

    happened("EvenmatchQueueStandsStill", scene, ShardPlan((waits,)))


def test_loop_that_stalls(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(world: World) -> None:
        monkeypatch.setattr(world.runtime.lag, "_monotonic", lambda: time.monotonic() + 2.0)

    happened("EvenmatchLoopStalls", scene)


def test_policy_that_decides_for_too_long() -> None:
    async def scene(world: World) -> None:
        for _ in range(10):
            world.runtime.timings.decision(DUEL, 0.03)

    happened("EvenmatchPolicySlow", scene)


def test_requests_that_are_turned_away() -> None:
    limits = ServerLimits(pool_max=2)
    apart = msgspec.structs.replace(DUEL, rules=(Rule("same", "mode"),))

    async def scene(world: World) -> None:
        body = b'{"players": [{"id": "%d"}], "attributes": {"mode": "m"}}'
        statuses = [await world.call("POST", "/v1/tickets", body % n) for n in range(51)]
        assert set(statuses) <= {429, 503}

    happened(
        "EvenmatchOverloaded", scene, ShardPlan((apart,), settings=ServerSettings(limits=limits))
    )


def test_probes_of_a_server_that_drains_wake_nobody() -> None:
    async def main() -> None:
        world = World(ShardPlan((DUEL,)))
        await world.runtime.start()
        world.parts.drain.begin(600.0)
        assert await world.call("GET", "/readyz") == 503
        before = world.scrape()
        for _ in range(60):
            assert await world.call("GET", "/readyz") == 503
        assert fires(EXPRESSIONS["EvenmatchOverloaded"], before, world.scrape()) == {}
        world.parts.drain.close()
        await world.runtime.stop()

    asyncio.run(main())


def test_caller_that_loops() -> None:
    async def scene(world: World) -> None:
        # The gate counts these; they reach no route.
        for _ in range(51):
            world.parts.metrics.turned_away("too_many_requests")

    happened("EvenmatchCallerLimited", scene)


def test_disk_that_is_slow() -> None:
    async def scene(world: World) -> None:
        world.journal.pause = 0.26
        await world.enqueue("a", "b")

    happened("EvenmatchSlowCommits", scene)


def test_disk_that_is_almost_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = 3e9
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1e12, 1e12 - free, free))

    async def scene(world: World) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1e12, 1e12 - 1e9, 1e9))

    happened("EvenmatchDiskFull", scene, ShardPlan((DUEL,), data=tmp_path))


@pytest.mark.parametrize(
    ("address", "looked_at"),
    [
        ("", "data"),
        ("sqlite:other/disk/night.db", "other/disk"),
        ("postgresql://db/games", None),
    ],
)
def test_disk_that_is_measured_is_that_of_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, looked_at: str | None
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)

    def usage(folder: Path) -> Usage:
        if folder != Path(looked_at or ""):
            raise AssertionError(f"the journal is not in {folder}")
        return Usage(1e12, 9e11, 1e11)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    world = World(ShardPlan((DUEL,), data=Path("data"), journal=address))
    free = world.scrape().get("evenmatch_data_free_bytes", {})
    assert list(free.values()) == ([] if looked_at is None else [1e11])


def test_metrics_of_a_server_whose_disk_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def failed(_: Path) -> Usage:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "is_dir", failed)
    monkeypatch.setattr(shutil, "disk_usage", failed)
    there = World(ShardPlan((DUEL,), data=Path("data"))).scrape()
    assert "evenmatch_ready" in there
    assert "evenmatch_data_free_bytes" not in there


def test_snapshots_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(world: World) -> None:
        monkeypatch.setattr(world.runtime._snapshots, "_at", -200_000)

    happened("EvenmatchSnapshotsMissing", scene)


def test_queue_that_somebody_paused() -> None:
    async def scene(world: World) -> None:
        now = world.runtime.now()
        await world.runtime.ask(Configure(now, (DUEL,), 0, 2, ("duel",)))

    happened("EvenmatchQueuePaused", scene)


def cluster(nodes: int, unlike: int, unfollowed: int = 0) -> Scrape:
    """Return what a node says that knows so many, and so many with another CONFIG."""
    figures = ClusterFigures(nodes, unlike, unfollowed=unfollowed)
    return scrape(NodeMetrics("a", lambda: figures).text().encode())


def test_node_that_is_gone() -> None:
    missing = EXPRESSIONS["EvenmatchNodeMissing"]
    assert fires(missing, cluster(2, 0), cluster(3, 0)) == {}
    assert fires(missing, cluster(3, 0), cluster(2, 0))


def test_hour_of_nodes_is_that_of_the_cluster_and_not_of_each_node() -> None:
    # A node of a rollout that was taken back saw four for as long as it was there, and no other
    # number; its own median would be missed for an hour.
    missing = EXPRESSIONS["EvenmatchNodeMissing"]
    assert re.search(r"quantile_over_time\(0\.5, max by \(job\) \(evenmatch_nodes\)\[1h:", missing)


def test_node_that_cannot_read_along() -> None:
    blind = EXPRESSIONS["EvenmatchNodeNotFollowing"]
    # A take-over or a short outage costs a few looks.
    assert fires(blind, cluster(3, 0, 2), cluster(3, 0, 4)) == {}
    assert fires(blind, cluster(3, 0, 2), cluster(3, 0, 60))


@pytest.mark.parametrize(
    ("seconds", "every", "is_told"),
    # A journal that is back tells nobody minutes later; one that never answers costs each look 5 s.
    [(60, 1, False), (300, 1, False), (3_600, 2, True), (3_600, 7, True)],
)
def test_node_that_cannot_read_along_is_told_of_while_it_cannot(
    seconds: int, every: int, is_told: bool
) -> None:
    rule = next(each for each in RULES if each["alert"] == "EvenmatchNodeNotFollowing")
    (window,) = re.findall(r"\[(\d+)m\]", rule["expr"])
    failed = range(3_600, 3_600 + seconds, every)
    long, is_pending = 60 * int(rule["for"].removesuffix("m")), 0
    told = []
    for now in range(3_600, 3_600 + seconds + 3_600, 15):
        within = sum(now - 60 * int(window) < each <= now for each in failed)
        holds = fires(rule["expr"], cluster(3, 0), cluster(3, 0, within))
        is_pending = is_pending + 15 if holds else 0
        told += [now] if is_pending > long else []
    assert bool(told) is is_told
    assert all(now <= 3_600 + seconds + 60 * int(window) for now in told)


def test_nodes_of_two_configs() -> None:
    unlike = EXPRESSIONS["EvenmatchNodesUnlike"]
    assert fires(unlike, cluster(3, 1), cluster(3, 0)) == {}
    assert fires(unlike, cluster(3, 0), cluster(3, 1))


def test_certificate_that_nobody_renews() -> None:
    def left(days: float) -> Scrape:
        return {"evenmatch_certificate_seconds_left": {frozenset(): days * 86_400.0}}

    expires = EXPRESSIONS["EvenmatchCertificateExpires"]
    for days in (6.9, -1.0):
        assert fires(expires, left(90.0), left(days))
    assert fires(expires, left(90.0), left(29.0)) == {}


def test_every_alert_is_fired_by_a_test_of_this_file() -> None:
    text = Path(__file__).read_text()
    for alert in EXPRESSIONS:
        assert f'"{alert}"' in text
