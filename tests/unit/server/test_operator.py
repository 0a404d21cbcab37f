"""What operators change while a server runs, over HTTP on journals in memory and on disk."""

import asyncio
import io
import os
import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import structlog

from evenmatch.config.files import server_of
from evenmatch.engine.records import FORMAT
from evenmatch.errors import ConfigError
from evenmatch.journals.base import Segment
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Configure, Enqueue
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.policies.base import Matcher, Memory
from evenmatch.policies.greedy import Greedy
from evenmatch.server.http.app import App
from evenmatch.server.http.responses import Message
from evenmatch.server.operations import versions
from evenmatch.server.operations.versions import changeable
from evenmatch.server.runtime.clock import Clock
from evenmatch.server.runtime.logs import log
from evenmatch.server.runtime.recovery import ConfigFrom, ShardPlan
from evenmatch.server.runtime.services import Services, assemble
from evenmatch.server.views.switchback import with_current_policies

CONFIG = """
[[queue]]
name = "duel"
policy = "window:limit=100"

[[queue]]
name = "squad"
teams = 2
players = 2
policy = "greedy"
"""
WIDER = CONFIG.replace("limit=100", "limit=300")
SOLO = CONFIG.replace("players = 2", "players = 2\nparty_sizes = [1]")
BROKEN = CONFIG.replace("greedy", "gready")


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20.0):
            await scene()

    asyncio.run(bounded())


def plan_of(text: str, folder: Path | None = None, config_from: ConfigFrom = "auto") -> ShardPlan:
    """Return the plan of a start with this CONFIG file."""
    document = tomllib.loads(text)
    queues, settings, seed = server_of(document)
    file = None if folder is None else folder / "config.toml"
    if file is not None:
        file.write_text(text)
    return ShardPlan(
        queues,
        seed,
        settings,
        file=file,
        document=changeable(document),
        data=folder,
        config_from=config_from,
    )


async def started(plan: ShardPlan, journal: MemoryJournal | None = None) -> Services:
    parts = assemble(plan, journal or MemoryJournal())
    await parts.runtime.start()
    return parts


async def call(
    parts: Services,
    method: str,
    path: str,
    body: str | bytes = b"",
    *,
    query: str = "",
    kind: str = "",
) -> tuple[int, Any]:
    sent: list[Message] = []
    data = body.encode() if isinstance(body, str) else body

    async def receive() -> Message:
        return {"type": "http.request", "body": data, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "headers": [(b"content-type", kind.encode())],
        "root_path": "", "scheme": "http", "server": ("localhost", 80),
    }  # fmt: skip
    await App(parts)(scope, receive, send)
    whole = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], msgspec.json.decode(whole)


async def wait_in(parts: Services, queue: str, *players: str) -> str:
    new = NewTicket(tuple(Player(player, Rating(1500.0)) for player in players), (queue,))
    (view,) = await parts.runtime.ask(Enqueue(parts.runtime.now(), (new,)))
    found: str = view.id
    return found


def policies(parts: Services) -> list[str]:
    return [queue.policy for queue in parts.runtime.engine.tables.queues.values()]


@pytest.mark.parametrize("kind", ["application/toml", "application/json"])
def test_configuration_over_http_takes_the_place_of_the_file_and_tickets_wait_on(kind: str) -> None:
    text = msgspec.json.encode(tomllib.loads(WIDER)).decode() if "json" in kind else WIDER

    async def scene() -> None:
        parts = await started(plan_of(CONFIG))
        ticket = await wait_in(parts, "duel", "ada")
        before = (await call(parts, "GET", f"/v1/tickets/{ticket}"))[1]
        status, changed = await call(parts, "PUT", "/v1/config", text, kind=kind)
        assert (status, changed) == (
            200,
            {
                "version": 2,
                "dry_run": False,
                "queues": ["duel", "squad"],
                "expired": 0,
                "left": 0,
                "overdue": 0,
                "at_restart": [],
            },
        )
        assert policies(parts) == ["window:limit=300", "greedy"]
        after = (await call(parts, "GET", f"/v1/tickets/{ticket}"))[1]
        assert (after["state"], after["wait"] >= before["wait"]) == ("waiting", True)
        _, present = await call(parts, "GET", "/v1/config")
        assert (present["version"], present["source"]) == (2, "PUT /v1/config")
        assert present["config"]["queue"][0]["policy"] == "window:limit=300"
        await parts.runtime.stop()

    play(scene)


def test_ticket_that_bots_join_at_once_in_one_of_its_queues_is_counted() -> None:
    text = CONFIG.replace("players = 2", "players = 2\nwait_max = 0.05\non_deadline = 'bots'")

    async def scene() -> None:
        parts = await started(plan_of(CONFIG))
        ada = {"id": "ada", "rating": {"mean": 1500}}
        given = {"players": [ada], "queues": ["duel", "squad"]}
        await call(parts, "POST", "/v1/tickets", msgspec.json.encode(given))
        parts.runtime.clock._start += 0.125
        for with_bots, count in ((False, 0), (True, 1)):
            new = text if with_bots else text.replace("bots", "expire")
            _, said = await call(parts, "PUT", "/v1/config", new, query="dry_run=1")
            assert said["overdue"] == count
        await parts.runtime.stop()

    play(scene)


def test_tickets_past_a_new_deadline_are_counted_before_they_end() -> None:
    text = CONFIG.replace("players = 2", "players = 2\nwait_max = 0.05")

    async def scene() -> None:
        parts = await started(plan_of(CONFIG))
        ticket = await wait_in(parts, "squad", "ada")
        await wait_in(parts, "duel", "bob")
        parts.runtime.clock._start += 0.125
        for query, new in (("dry_run=1", CONFIG), ("dry_run=1", text), ("", text)):
            _, said = await call(parts, "PUT", "/v1/config", new, query=query)
            counts = {key: said[key] for key in ("expired", "left", "overdue")}
            assert counts == {"expired": 0, "left": 0, "overdue": 0 if new == CONFIG else 1}
        while (now := (await call(parts, "GET", f"/v1/tickets/{ticket}"))[1])["state"] == "waiting":
            await asyncio.sleep(0.01)
        assert (now["state"], now["reason"]) == ("expired", "deadline")
        kept = text.replace("wait_max = 0.05", 'wait_max = 0.05\non_deadline = "keep"')
        assert (await call(parts, "PUT", "/v1/config", kept))[1]["overdue"] == 0
        late = await wait_in(parts, "squad", "cid")
        parts.runtime.clock._start += 0.125
        _, said = await call(parts, "PUT", "/v1/config", kept, query="dry_run=1")
        assert said["overdue"] == 0, "where tickets are kept, none ends"
        _, said = await call(parts, "PUT", "/v1/config", text, query="dry_run=1")
        assert said["overdue"] == 1
        assert (await call(parts, "GET", f"/v1/tickets/{late}"))[1]["state"] == "waiting"
        await parts.runtime.stop()

    play(scene)


def test_tickets_that_a_change_makes_invalid_expire_as_many_as_the_dry_run_said() -> None:
    async def scene() -> None:
        parts = await started(plan_of(CONFIG))
        pair = await wait_in(parts, "squad", "ada", "bob")
        solo = await wait_in(parts, "squad", "cid")
        sequence = parts.runtime.engine.tables.sequence
        _, said = await call(parts, "PUT", "/v1/config", SOLO, query="dry_run=1")
        assert (said["expired"], said["version"], said["dry_run"]) == (1, 1, True)
        assert parts.runtime.engine.tables.sequence == sequence, "a dry run changes nothing"
        _, done = await call(parts, "PUT", "/v1/config", SOLO)
        assert (done["expired"], done["version"]) == (1, 2)
        _, gone = await call(parts, "GET", f"/v1/tickets/{pair}")
        assert (gone["state"], gone["reason"]) == ("expired", "queue_changed")
        assert (await call(parts, "GET", f"/v1/tickets/{solo}"))[1]["state"] == "waiting"
        await parts.runtime.stop()

    play(scene)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (BROKEN, 'queue "squad", policy = "gready"'),
        (CONFIG + "\n[server]\nkeep_days = 3", "server differs"),
        (CONFIG + 'allocation = "fleet"', '"fleet" names no hook'),
        ("[[queue]]\nname = 3", "name must be 1 to 64 letters"),
        ("not toml", "must be valid TOML"),
        ("seed = " + "9" * 5_000, "must be valid TOML"),
        ("seed = " + "9" * 400, "seed must be a number of at most"),
        ("a." * 15_999 + "a = 1", "line 1 has a key of more than 16 parts"),
        (CONFIG.replace("window:limit=100", "window:every=1e-6"), "between 0.05 and 1e9 s"),
        ("seeed = 2\n" + CONFIG, "seeed is not a known key"),
        ("", "at least one [[queue]]"),
        (b"\xff", "must be UTF-8"),
        (
            CONFIG.replace('"squad"', '"squad"\nrating = "elo"\nladder = "a"').replace(
                '"duel"', '"duel"\nrating = "glicko"\nladder = "a"'
            ),
            "share the ratings of ladder a",
        ),
    ],
)
def test_configuration_that_cannot_work_changes_nothing(body: str | bytes, said: str) -> None:
    async def scene() -> None:
        parts = await started(plan_of(CONFIG))
        sequence = parts.runtime.engine.tables.sequence
        for query in ("dry_run=1", ""):
            status, problem = await call(parts, "PUT", "/v1/config", body, query=query)
            assert (status, problem["error"]) == (400, "config_error")
            assert said in problem["message"]
        assert parts.runtime.engine.tables.sequence == sequence
        await parts.runtime.stop()

    play(scene)


@pytest.mark.parametrize("query", ["dry_run=1", ""])
def test_what_older_nodes_could_not_read_is_refused_before_anything_is_tried(
    tmp_path: Path, query: str
) -> None:
    sort = {"name": "near", "type": "absoluteSort", "sortDirection": "ascending"}
    rules = {
        "name": "duels",
        "ruleLanguageVersion": "1.0",
        "playerAttributes": [{"name": "skill", "type": "number"}],
        "teams": [{"name": "side", "minPlayers": 1, "maxPlayers": 1, "quantity": 2}],
        "rules": [{**sort, "sortAttribute": "skill"}],
    }
    (tmp_path / "rules.json").write_bytes(msgspec.json.encode(rules))
    sorted_by = '[[queue]]\nname = "duel"\npolicy = "by_rules"\nrules_file = "rules.json"\n'

    async def scene() -> None:
        journal = MemoryJournal()
        await journal.begin("s0", Segment(1, FORMAT - 1, "0.0", {}, 0.0))
        plan = msgspec.structs.replace(plan_of(CONFIG, tmp_path), keeps_format=True)
        parts = await started(plan, journal)
        sequence = parts.runtime.engine.tables.sequence
        status, problem = await call(parts, "PUT", "/v1/config", sorted_by, query=query)
        assert (status, problem["error"]) == (501, "not_supported")
        assert "finish-upgrade" in problem["message"]
        assert parts.runtime.engine.tables.sequence == sequence
        await parts.runtime.raise_format()
        status, _ = await call(parts, "PUT", "/v1/config", sorted_by, query=query)
        assert status == 200
        await parts.runtime.stop()

    play(scene)


class Rude(Greedy, frozen=True):
    """A policy that cannot be made for some queues."""

    refuses: str = ""

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        if queue.name == self.refuses:
            raise KeyError("nobody foresaw this")
        return super().matcher(queue, seed=seed, memory=memory)


def test_policy_that_raises_anything_at_its_making_is_refused_and_the_shard_goes_on() -> None:
    async def scene() -> None:
        parts = await started(plan_of(CONFIG.replace("greedy", f"{__name__}.Rude")))
        path = "/v1/queues/duel/policy"
        policy = f'{{"policy": "{__name__}.Rude:refuses=duel"}}'
        status, problem = await call(parts, "PUT", path, policy)
        assert (status, problem["error"]) == (400, "config_error")
        assert "nobody foresaw this" in problem["message"]
        assert parts.runtime.failure is None
        assert policies(parts) == ["window:limit=100", f"{__name__}.Rude"]
        await parts.runtime.stop()

    play(scene)


def test_code_is_not_taken_over_http() -> None:
    spec = "subprocess.Popen:args=true"
    bodies = [
        ("/v1/queues/duel/policy", {"policy": spec}),
        ("/v1/queues/duel/shadow", {"policy": spec}),
        ("/v1/config", {"queue": [{"name": "duel", "policy": spec}]}),
        ("/v1/config", {"queue": [{"name": "duel", "shadow": spec}]}),
        ("/v1/config", {"queue": [{"switchback": {"policies": ["greedy", f" {spec}"]}}]}),
    ]

    async def scene() -> None:
        parts = await started(plan_of(CONFIG))
        for path, body in bodies:
            text = msgspec.json.encode(body)
            for query in ("", "dry_run=1") if path == "/v1/config" else ("",):
                status, problem = await call(
                    parts, "PUT", path, text, query=query, kind="application/json"
                )
                assert (status, problem["error"]) == (400, "config_error")
                assert "the server takes no code over HTTP" in problem["message"]
        await parts.runtime.stop()

    play(scene)


def percentiles(file: str) -> dict[str, Any]:
    scale = {"kind": "percentile", "file": file, "column": "x"}
    return {"criteria": [{"kind": "spread", "attribute": "rating", "scale": scale}]}


def shares(file: str) -> dict[str, Any]:
    share = {"kind": "spread", "attribute": "rating", "unit": "percentile", "limit": 0.1}
    return {"rules": [{**share, "file": file, "column": "x"}]}


NAMING = (percentiles, shares, lambda file: {"rules_file": file})


@pytest.mark.parametrize("naming", NAMING)
@pytest.mark.parametrize("file", ["/dev/zero", "../secrets.csv", "a/../../b.csv", "/etc/passwd"])
def test_files_outside_the_folder_are_not_read_over_http(
    file: str, naming: Callable[[str], dict[str, Any]]
) -> None:
    async def scene() -> None:
        parts = await started(plan_of(CONFIG))
        body = msgspec.json.encode({"queue": [{"name": "duel", **naming(file)}]})
        status, problem = await call(parts, "PUT", "/v1/config", body, kind="application/json")
        assert status == 400
        assert "is outside the folder of CONFIG" in problem["message"]
        await parts.runtime.stop()

    play(scene)


@pytest.mark.parametrize("naming", NAMING)
def test_pipe_in_the_folder_is_refused_instead_of_waited_for(
    tmp_path: Path, naming: Callable[[str], dict[str, Any]]
) -> None:
    async def scene() -> None:
        os.mkfifo(tmp_path / "pipe.csv")
        parts = await started(plan_of(CONFIG, tmp_path))
        body = msgspec.json.encode({"queue": [{"name": "duel", **naming("pipe.csv")}]})
        status, problem = await call(parts, "PUT", "/v1/config", body, kind="application/json")
        assert (status, "not a regular file" in problem["message"]) == (400, True)
        await parts.runtime.stop()

    play(scene)


@pytest.mark.parametrize("depth", [100, 500, 900, 1_100, 100_000])
def test_deep_body_is_refused(depth: int) -> None:
    async def scene() -> None:
        parts = await started(plan_of(CONFIG))
        for start, end in (("[", "]"), ('{"a":', "}")):
            body = f'{{"queue": {start * depth}1{end * depth}}}'
            status, _ = await call(parts, "PUT", "/v1/config", body, kind="application/json")
            assert status == 400
            toml = f"queue = {'[' * depth}{']' * depth}"
            assert (await call(parts, "PUT", "/v1/config", toml))[0] == 400
        await parts.runtime.stop()

    play(scene)


def test_settings_of_the_file_may_stand_in_a_body(tmp_path: Path) -> None:
    async def scene() -> None:
        settings = "\n[server]\nkeep_days = 3\n"
        parts = await started(plan_of(CONFIG + settings, tmp_path))
        assert (await call(parts, "PUT", "/v1/config", WIDER + settings))[0] == 200
        other = settings.replace("3", "4") + "guests = true\n"
        status, problem = await call(parts, "PUT", "/v1/config", WIDER + other)
        assert (status, "(guests, keep_days)" in problem["message"]) == (400, True)
        await parts.runtime.stop()

    play(scene)


def test_settings_that_were_edited_in_the_file_are_checked_and_named(tmp_path: Path) -> None:
    async def scene() -> None:
        begin = "\n[server]\nkeep_days = 3\n"
        parts = await started(plan_of(CONFIG + begin, tmp_path))
        file = parts.runtime.plan.file
        assert file is not None
        edited = "\n[server]\nkeep_days = 4\nlimits = {batch_max = 7}\n"
        later = ["server.keep_days", "server.limits.batch_max"]
        file.write_text(WIDER + edited)
        for query in ("dry_run=1", ""):
            status, done = await call(parts, "PUT", "/v1/config", WIDER + edited, query=query)
            assert (status, done["at_restart"]) == (200, later)
        assert policies(parts)[0] == "window:limit=300"
        assert parts.runtime.plan.settings.keep_days == 3
        wrong = WIDER + edited.replace("4", "-4")
        file.write_text(wrong)
        status, problem = await call(parts, "PUT", "/v1/config", wrong)
        assert (status, problem["message"].startswith("server.keep_days must be")) == (400, True)
        assert (await call(parts, "PUT", "/v1/config", CONFIG))[1]["at_restart"] == []
        await parts.runtime.stop()

    play(scene)


def test_file_that_is_read_again_counts_though_its_settings_wait_for_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = io.StringIO()
    monkeypatch.setattr(log, "_logger", structlog.PrintLogger(lines))

    async def scene() -> None:
        parts = await started(plan_of(CONFIG + "\n[server]\nkeep_days = 3\n", tmp_path))
        file = parts.runtime.plan.file
        assert file is not None
        for settings in ("\n[server]\nkeep_days = 4\n", ""):
            file.write_text(WIDER + settings)
            await parts.operator.reload()
            assert policies(parts)[0] == "window:limit=300"
        assert lines.getvalue().count('"at_restart": ["server.keep_days"]') == 2
        file.write_text(CONFIG + "\n[server]\nkeep_days = 0\n")
        await parts.operator.reload()
        assert policies(parts)[0] == "window:limit=300"
        told = lines.getvalue().splitlines()[-1]
        assert "server.keep_days must be" in told
        assert f'"file": "{file}"' in told
        await parts.runtime.stop()

    play(scene)


def test_version_that_is_not_in_force_any_more_is_refused() -> None:
    async def scene() -> None:
        parts = await started(plan_of(CONFIG))
        assert (await call(parts, "PUT", "/v1/config", WIDER, query="if_version=1"))[0] == 200
        status, problem = await call(parts, "PUT", "/v1/config", CONFIG, query="if_version=1")
        assert (status, problem["error"], problem["where"]) == (
            409,
            "stale_version",
            "/if_version",
        )
        assert problem["version"] == 2
        assert policies(parts)[0] == "window:limit=300"
        await parts.runtime.stop()

    play(scene)


def test_paused_queue_takes_and_matches_nobody_and_goes_on_when_it_is_resumed() -> None:
    async def scene() -> None:
        parts = await started(plan_of(CONFIG))
        await wait_in(parts, "duel", "ada")
        for _ in range(2):  # idempotent: the second one is no record
            assert await call(parts, "POST", "/v1/queues/duel/pause") == (
                200,
                {"queue": "duel", "paused": True},
            )
        assert parts.runtime.engine.tables.sequence == 3
        ticket = '{"players": [{"id": "bob", "rating": {"mean": 1500}}], "queues": ["duel"]}'
        status, problem = await call(parts, "POST", "/v1/tickets", ticket)
        assert (status, problem["error"]) == (429, "paused")
        _, queues = await call(parts, "GET", "/v1/queues")
        assert [queue["paused"] for queue in queues] == [True, False]
        # A change of another queue leaves the pause alone.
        squad = '{"policy": "greedy"}'
        assert (await call(parts, "PUT", "/v1/queues/squad/shadow", squad))[0] == 200
        assert parts.runtime.engine.tables.paused == ("duel",)
        await call(parts, "POST", "/v1/queues/duel/resume")
        status, made = await call(parts, "POST", "/v1/tickets", ticket)
        assert (status, made["state"]) == (201, "matched")
        await parts.runtime.stop()

    play(scene)


def test_unknown_queue_is_404_for_every_control() -> None:
    async def scene() -> None:
        parts = await started(plan_of(CONFIG))
        for method, verb in (("POST", "pause"), ("POST", "resume"), ("PUT", "policy")):
            body = '{"policy": "greedy"}' if verb == "policy" else ""
            status, problem = await call(parts, method, f"/v1/queues/trio/{verb}", body)
            assert (status, problem["error"]) == (404, "unknown_queue")
        await parts.runtime.stop()

    play(scene)


def test_policy_of_a_queue_changes_and_nothing_else() -> None:
    async def scene() -> None:
        parts = await started(plan_of(CONFIG))
        body = '{"policy": "window:limit=250"}'
        for _ in range(2):
            status, done = await call(parts, "PUT", "/v1/queues/duel/policy", body)
            assert (status, done["version"]) == (200, 2)
        queues = tuple(parts.runtime.engine.tables.queues.values())
        assert queues == plan_of(CONFIG.replace("limit=100", "limit=250")).queues
        await parts.runtime.stop()

    play(scene)


def test_change_over_http_outlives_a_restart_until_the_file_is_edited(tmp_path: Path) -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        parts = await started(plan_of(CONFIG, tmp_path), journal)
        assert (await call(parts, "PUT", "/v1/config", WIDER))[0] == 200
        await call(parts, "POST", "/v1/queues/squad/pause")
        await parts.runtime.stop()
        # The same file: the change goes on, and so does the pause.
        journal = journal.reopen()
        parts = await started(plan_of("# a comment\n" + CONFIG, tmp_path), journal)
        tables = parts.runtime.engine.tables
        assert (policies(parts)[0], tables.paused) == ("window:limit=300", ("squad",))
        assert tables.sequence == 3, "nothing changed, so there is no record"
        assert tables.configured_by == "PUT /v1/config"
        await parts.runtime.stop()
        # An edited file: nobody can know which one is meant.
        edited = CONFIG.replace("limit=100", "limit=50")
        journal = journal.reopen()
        with pytest.raises(ConfigError, match="--config-from data or --config-from file"):
            await started(plan_of(edited, tmp_path), journal)
        journal = journal.reopen()
        parts = await started(plan_of(edited, tmp_path, "data"), journal)
        assert policies(parts)[0] == "window:limit=300"
        await parts.runtime.stop()
        journal = journal.reopen()
        parts = await started(plan_of(edited, tmp_path), journal)
        assert policies(parts)[0] == "window:limit=300", "the choice of the data is made once"
        await parts.runtime.stop()
        journal = journal.reopen()
        parts = await started(plan_of(edited, tmp_path, "file"), journal)
        assert policies(parts)[0] == "window:limit=50"
        await parts.runtime.stop()
        # The choice is made once: from here on the file counts.
        parts = await started(plan_of(edited, tmp_path), journal.reopen())
        assert policies(parts)[0] == "window:limit=50"
        await parts.runtime.stop()

    play(scene)


def test_restart_goes_on_without_a_queue_that_was_taken_out_while_a_proposal_ran(
    tmp_path: Path,
) -> None:
    asked = CONFIG.replace('"window:limit=100"', '"greedy"\naccept = {seconds = 20}')
    without = CONFIG[CONFIG.rindex("[[queue]]") :]

    async def scene() -> None:
        journal = MemoryJournal()
        parts = await started(plan_of(asked, tmp_path), journal)
        await wait_in(parts, "duel", "ada")
        await wait_in(parts, "duel", "bob")
        status, changed = await call(parts, "PUT", "/v1/config", without)
        assert (status, changed["expired"]) == (200, 0)
        await parts.runtime.stop()
        parts = await started(plan_of(asked, tmp_path), journal.reopen())
        assert [each.name for each in parts.runtime.plan.queues] == ["squad"]
        (view,) = await parts.runtime.look(lambda engine: [engine.view("s0-1")])
        assert view.state == "proposed"
        await parts.runtime.stop()

    play(scene)


def test_file_that_came_over_http_is_not_edited_since(tmp_path: Path) -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        parts = await started(plan_of(CONFIG, tmp_path), journal)
        plan = plan_of(WIDER, tmp_path)
        assert (await call(parts, "PUT", "/v1/config", WIDER))[1]["version"] == 2
        body = '{"policy": "greedy"}'
        status, answer = await call(parts, "PUT", "/v1/queues/duel/policy", body)
        assert (status, answer.get("version")) == (200, 3), answer
        await parts.runtime.stop()
        parts = await started(plan, journal.reopen())
        assert policies(parts)[0] == "greedy"
        await parts.runtime.stop()

    play(scene)


def test_edit_that_changes_nothing_and_came_over_http_is_not_edited_since(tmp_path: Path) -> None:
    worded = WIDER.replace('name = "duel"', 'name = "duel"\nteams = 2')

    async def scene() -> None:
        journal = MemoryJournal()
        parts = await started(plan_of(CONFIG, tmp_path), journal)
        assert (await call(parts, "PUT", "/v1/config", WIDER))[1]["version"] == 2
        plan = plan_of(worded, tmp_path)
        query = "dry_run=true"
        assert (await call(parts, "PUT", "/v1/config", worded, query=query))[1]["version"] == 2
        with pytest.raises(ConfigError, match="was edited since"):
            await started(plan, journal.reopen())
        assert (await call(parts, "PUT", "/v1/config", worded))[1]["version"] == 2
        await parts.runtime.stop()
        parts = await started(plan, journal.reopen())
        assert policies(parts)[0] == "window:limit=300"
        assert (await call(parts, "GET", "/v1/config"))[1]["source"] == "file"
        await parts.runtime.stop()

    play(scene)


def test_change_builds_on_the_edit_that_changed_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        parts = await started(plan_of(CONFIG, tmp_path), journal)
        worded = CONFIG.replace('name = "duel"', 'name = "duel"\nteams = 2')
        plan = plan_of(worded, tmp_path)
        assert (await call(parts, "PUT", "/v1/config", worded))[1]["version"] == 1
        body = '{"policy": "greedy"}'
        assert (await call(parts, "PUT", "/v1/queues/duel/policy", body))[1]["version"] == 2
        await parts.runtime.stop()
        parts = await started(plan, journal.reopen())
        assert policies(parts)[0] == "greedy"
        await parts.runtime.stop()

    play(scene)


def test_file_that_is_put_back_after_it_was_handed_in_is_edited_since(tmp_path: Path) -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        parts = await started(plan_of(CONFIG, tmp_path), journal)
        plan_of(WIDER, tmp_path)
        assert (await call(parts, "PUT", "/v1/config", WIDER))[1]["version"] == 2
        await parts.runtime.stop()
        with pytest.raises(ConfigError, match="was edited since"):
            await started(plan_of(CONFIG, tmp_path), journal.reopen())

    play(scene)


def test_copy_of_the_journal_alone_does_not_undo_a_change_silently(tmp_path: Path) -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        parts = await started(plan_of(CONFIG, tmp_path), journal)
        assert (await call(parts, "PUT", "/v1/config", WIDER))[0] == 200
        await parts.runtime.stop()
        (tmp_path / "config" / "2.json").unlink()
        journal = journal.reopen()
        with pytest.raises(ConfigError, match=r"2\.json is missing"):
            await started(plan_of(CONFIG, tmp_path), journal)
        journal = journal.reopen()
        parts = await started(plan_of(CONFIG, tmp_path, "data"), journal)
        assert policies(parts)[0] == "window:limit=300"
        assert (await call(parts, "GET", "/v1/config"))[1]["config"] is None
        await parts.runtime.stop()
        journal = journal.reopen()
        parts = await started(plan_of(CONFIG, tmp_path, "file"), journal)
        assert policies(parts)[0] == "window:limit=100"
        await parts.runtime.stop()
        parts = await started(plan_of(CONFIG, tmp_path), journal.reopen())
        assert policies(parts)[0] == "window:limit=100"
        await parts.runtime.stop()

    play(scene)


def test_change_that_this_version_cannot_use_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        parts = await started(plan_of(CONFIG, tmp_path), journal)
        assert (await call(parts, "PUT", "/v1/config", WIDER))[0] == 200
        await parts.runtime.stop()

        def refuse(*_: object) -> None:
            raise ConfigError("queue[0].policy is too old")

        plans = [plan_of(CONFIG, tmp_path), plan_of(CONFIG, tmp_path, "file")]
        monkeypatch.setattr(versions, "server_of", refuse)
        sentence = r"2\.json, which PUT /v1/config brought .*is too old\): go back .*--config-from"
        journal = journal.reopen()
        with pytest.raises(ConfigError, match=sentence):
            await started(plans[0], journal)
        parts = await started(plans[1], journal.reopen())
        assert policies(parts)[0] == "window:limit=100"
        await parts.runtime.stop()

    play(scene)


def test_wrong_digit_in_a_change_is_not_taken_for_another_change(tmp_path: Path) -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        parts = await started(plan_of(CONFIG, tmp_path), journal)
        assert (await call(parts, "PUT", "/v1/config", WIDER))[0] == 200
        await parts.runtime.stop()
        path = tmp_path / "config" / "2.json"
        written = path.read_bytes()
        path.write_bytes(written.replace(b"limit=300", b"limit=900"))
        with pytest.raises(ConfigError, match=r"2\.json cannot be read \(it was changed after"):
            await started(plan_of(CONFIG, tmp_path), journal.reopen())
        path.write_bytes(written)
        parts = await started(plan_of(CONFIG, tmp_path), journal.reopen())
        assert policies(parts)[0] == "window:limit=300"
        await parts.runtime.stop()

    play(scene)


def test_turn_at_a_restart_leaves_a_change_over_http_under_its_number(tmp_path: Path) -> None:
    arms = '{policies = ["greedy", "window:limit=50"], block = 5}'
    turns = f'[[queue]]\nname = "duel"\nswitchback = {arms}\n'

    async def scene() -> None:
        journal = MemoryJournal()
        parts = await started(plan_of(CONFIG, tmp_path), journal)
        assert (await call(parts, "PUT", "/v1/config", turns))[0] == 200
        at = parts.runtime.now()
        block = next(b for b in range(1, 9) if arm_at(b * 5.0 + 1) != arm_at(at))
        # The last record before the end: it is of another block, and nobody has taken turns.
        parts.runtime.clock = Clock(block * 5.0 + 1)
        await parts.operator.pause("duel", True)
        await parts.runtime.stop()
        for _ in range(2):
            journal = journal.reopen()
            parts = await started(plan_of(CONFIG, tmp_path), journal)
            tables = parts.runtime.engine.tables
            assert (tables.version, tables.configured_by) == (2, "PUT /v1/config")
            assert list(tables.queues) == ["duel"]
            assert policies(parts)[0] == arm_at(parts.runtime.now())
            await parts.runtime.stop()

    def arm_at(now: float) -> str:
        return with_current_policies(plan_of(turns).queues, now)[0].policy

    play(scene)


def test_version_that_the_journal_never_heard_of_counts_for_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        parts = await started(plan_of(CONFIG, tmp_path), journal)
        await call(parts, "PUT", "/v1/config", WIDER)
        await parts.runtime.stop()
        # A crash after version 3 was written, before the journal had it.
        second = tmp_path / "config" / "2.json"
        (tmp_path / "config" / "3.json").write_bytes(second.read_bytes().replace(b"300", b"999"))
        edited = CONFIG.replace("limit=100", "limit=50")
        journal = journal.reopen()
        parts = await started(plan_of(edited, tmp_path, "file"), journal)
        assert (policies(parts)[0], parts.runtime.engine.tables.version) == ("window:limit=50", 3)
        await parts.runtime.stop()
        parts = await started(plan_of(edited, tmp_path), journal.reopen())
        assert policies(parts)[0] == "window:limit=50"
        await parts.runtime.stop()

    play(scene)


def test_file_that_is_read_again_counts_and_a_bad_one_changes_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        plan, journal = plan_of(CONFIG, tmp_path), MemoryJournal()
        parts = await started(plan, journal)
        assert plan.file is not None
        await wait_in(parts, "squad", "ada", "bob")
        await call(parts, "PUT", "/v1/config", WIDER)
        for bad in (BROKEN, CONFIG.partition("\n\n")[0], CONFIG + "[server]\nkeep_days = 0"):
            plan.file.write_text(bad)
            await parts.operator.reload()
            assert policies(parts) == ["window:limit=300", "greedy"]
        plan.file.write_text(SOLO)
        await parts.operator.reload()
        assert policies(parts) == ["window:limit=100", "greedy"]
        _, present = await call(parts, "GET", "/v1/config")
        assert (present["version"], present["source"]) == (3, "file")
        assert parts.runtime.engine.tables.counters.expired == 1
        await parts.runtime.stop()
        journal = journal.reopen()
        parts = await started(plan_of(SOLO, tmp_path), journal)
        assert parts.runtime.engine.tables.version == 3
        records = [entry.record.input async for entry in journal.read("s0", 1)]
        assert sum(isinstance(given, Configure) for given in records) == 3
        await parts.runtime.stop()

    play(scene)


def test_shadow_is_set_and_ended_over_http_and_shown_with_the_figures() -> None:
    async def scene() -> None:
        parts = await started(plan_of(CONFIG))
        path, stats = "/v1/queues/duel/shadow", "/v1/queues/duel/stats"
        assert (await call(parts, "GET", stats))[1]["shadow"] is None
        status, done = await call(parts, "PUT", path, '{"policy": "window:limit=50"}')
        assert (status, done) == (200, {"queue": "duel", "policy": "window:limit=50", "version": 2})
        _, shown = await call(parts, "GET", stats)
        assert (shown["shadow"]["policy"], shown["shadow"]["state"]) == (
            "window:limit=50",
            "running",
        )
        for bad in ('{"policy": "gready"}', "{}", '{"policy": "greedy", "x": 1}', "[]"):
            assert (await call(parts, "PUT", path, bad))[0] == 400
        assert (await call(parts, "PUT", path, '{"policy": null}'))[1]["version"] == 3
        assert (await call(parts, "GET", stats))[1]["shadow"] is None
        assert (await call(parts, "GET", "/v1/config"))[1]["config"] == tomllib.loads(CONFIG)
        await parts.runtime.stop()

    play(scene)


def test_draining_is_begun_seen_and_ended_over_http() -> None:
    async def scene() -> None:
        parts = await started(plan_of(CONFIG))
        await wait_in(parts, "squad", "ada")
        off = {"draining": False, "waiting": 1, "seconds_left": None}
        assert await call(parts, "GET", "/v1/drain") == (200, off)
        status, state = await call(parts, "POST", "/v1/drain", query="limit=500")
        assert (status, state["draining"], state["waiting"]) == (200, True, 1)
        assert 0.0 < state["seconds_left"] <= 500.0
        ticket = '{"players": [{"id": "bob"}], "queues": ["squad"]}'
        assert (await call(parts, "POST", "/v1/tickets", ticket))[0] == 503
        status, ready = await call(parts, "GET", "/readyz")
        assert (status, ready["status"]) == (503, "draining")
        assert await call(parts, "DELETE", "/v1/drain") == (200, off)
        assert (await call(parts, "POST", "/v1/tickets", ticket))[0] == 201
        await parts.runtime.stop()

    play(scene)


CHECKED = CONFIG.replace(
    'policy = "greedy"', 'policy = "greedy"\naccept = {seconds = 1000, repair = 0.001}'
)


@pytest.mark.parametrize("answer", ["accept", "decline"])
@pytest.mark.parametrize(
    "changed",
    [
        CHECKED.replace("seconds = 1000", "seconds = 1"),
        CHECKED.replace("players = 2", "players = 3"),
        CONFIG,
        CONFIG.partition("\n\n")[0],
    ],
    ids=["shorter check", "other size", "no check", "no such queue"],
)
def test_proposal_in_flight_ends_under_the_settings_that_it_began_with(
    answer: str, changed: str
) -> None:
    async def scene() -> None:
        parts = await started(plan_of(CHECKED))
        tickets = [await wait_in(parts, "squad", f"{n}a", f"{n}b") for n in range(2)]
        match = (await call(parts, "GET", f"/v1/tickets/{tickets[0]}"))[1]["match"]
        status, done = await call(parts, "PUT", "/v1/config", changed)
        assert (status, done["expired"]) == (200, 0)
        states = [(await call(parts, "GET", f"/v1/tickets/{t}"))[1]["state"] for t in tickets]
        assert states == ["proposed", "proposed"]
        await call(parts, "POST", f"/v1/matches/{match}/accept", f'{{"ticket": "{tickets[0]}"}}')
        path = f"/v1/matches/{match}/{answer}"
        assert (await call(parts, "POST", path, f'{{"ticket": "{tickets[1]}"}}'))[0] == 200
        while parts.runtime.engine.tables.proposals:
            await asyncio.sleep(0.01)
        first = (await call(parts, "GET", f"/v1/tickets/{tickets[0]}"))[1]
        is_gone = "squad" not in changed
        after = ("expired", "queue_changed") if is_gone else ("waiting", None)
        expected = ("matched", None) if answer == "accept" else after
        assert (first["state"], first["reason"]) == expected
        parts.runtime.engine.tables._check()
        await parts.runtime.stop()

    play(scene)
