"""The audit log: append-only, bounded, readable, and without secrets."""

import json
import time
from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import Path

import pytest
import structlog
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from evenmatch.config.server import ServerLimits, ServerSettings
from evenmatch.server.auth import audit as audit_module
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.audit import AuditEntry, AuditLog
from evenmatch.server.auth.keys import new_key, write_keys
from evenmatch.server.auth.principal import LOCAL
from evenmatch.server.http.responses import Message
from evenmatch.server.runtime.logs import log
from tests.callers import SECRET, Site, add_key, duel, token, with_site
from tests.unit.server.gamelift.configured import CONFIG, RULES

REQUESTS = (
    ("POST", "/v1/tickets"),
    ("GET", "/v1/audit"),
    ("DELETE", "/v1/tickets/s0-1"),
    ("GET", "/v1/nothing"),
)


def test_entries_are_lines_and_go_on_after_a_restart(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path, wall=lambda: 7.0)
    audit.note(LOCAL, "POST /v1/queues/{queue}/pause", target="/v1/queues/duel/pause", status=200)
    with (tmp_path / "audit.jsonl").open("ab") as file:
        file.write(b'{"seq": 2, "at": 8.0, "wh')  # torn by a crash
    again = AuditLog(tmp_path)
    again.note_server("keys changed", "added backend")
    entries = again.page(None).entries
    assert [entry.seq for entry in entries] == [1, 2]
    assert entries[0].target == "/v1/queues/duel/pause"
    first = json.loads((tmp_path / "audit.jsonl").read_text().splitlines()[0])
    assert first == {
        "seq": 1, "at": 7.0, "who": "local", "action": "POST /v1/queues/{queue}/pause",
        "kind": "local", "target": "/v1/queues/duel/pause", "status": 200,
    }  # fmt: skip


def test_changes_over_the_protocol_of_gamelift_are_written_down(tmp_path: Path) -> None:
    key = add_key(tmp_path, "chief")

    async def scene(site: Site) -> None:
        made = await site.gamelift("CreateMatchmakingRuleSet", key, Name="new", RuleSetBody=RULES)
        assert made.status == 200
        arn = made.body["RuleSet"]["RuleSetArn"]
        await site.gamelift("TagResource", key, ResourceARN=arn, Tags=[{"Key": "a", "Value": "b"}])
        await site.gamelift("DeleteMatchmakingConfiguration", key, Name="absent")
        await site.gamelift("UpdateMatchmakingConfiguration", key, Name="game", Unread="x" * 9)
        await site.gamelift("DescribeMatchmakingRuleSets", key)
        entries = site.accounts.audit.page(None).entries
        assert [(each.action, each.target, each.status) for each in entries] == [
            ("GameLift.CreateMatchmakingRuleSet", "new", 200),
            ("GameLift.TagResource", arn, 200),
            ("GameLift.DeleteMatchmakingConfiguration", "absent", 400),
            ("GameLift.UpdateMatchmakingConfiguration", "game", 200),
        ]
        assert {(each.who, each.address) for each in entries} == {("chief", "192.0.2.1")}

    with_site(tmp_path, scene, config=CONFIG)


def test_ticket_that_is_cancelled_over_the_protocol_of_gamelift_is_written_down(
    tmp_path: Path,
) -> None:
    key = add_key(tmp_path, "backend")

    async def scene(site: Site) -> None:
        player = {"PlayerId": "ann"}
        made = await site.gamelift(
            "StartMatchmaking", key, ConfigurationName="game", TicketId="t1", Players=[player]
        )
        assert made.status == 200
        # What was done to nothing shares one line a minute.
        for ticket, status in (("t1", 200), ("never", 400), ("neither", 400)):
            stopped = await site.gamelift("StopMatchmaking", key, TicketId=ticket)
            assert stopped.status == status
        entries = site.accounts.audit.page(None).entries
        assert [(each.who, each.action, each.target, each.status) for each in entries] == [
            ("backend", "GameLift.StopMatchmaking", "t1", 200),
            ("backend", "GameLift.StopMatchmaking", "never", 400),
        ]

    with_site(tmp_path, scene, config=CONFIG)
    # Backends do it by the thousand.
    assert not (tmp_path / "audit.jsonl").exists()
    assert (tmp_path / "audit-often.jsonl").exists()


def test_files_are_bounded_and_pages_go_on(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path, bytes_max=2_000)
    for number in range(300):
        audit.note(LOCAL, "test", detail=f"{number}")
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["audit.1.jsonl", "audit.2.jsonl", "audit.3.jsonl", "audit.4.jsonl",
                     "audit.5.jsonl", "audit.jsonl"]  # fmt: skip
    assert all(path.stat().st_size <= 2_000 for path in tmp_path.iterdir())
    seen, after = [], 0
    while (page := audit.page(after, 40)).entries:
        seen += [entry.seq for entry in page.entries]
        after = page.next
    assert seen == list(range(seen[0], 301))
    assert audit.page(None, 3).next == 300


def test_start_reads_the_end_of_the_newest_file_only(tmp_path: Path) -> None:
    entry = b'{"seq":%d,"at":1.0,"who":"ann","action":"test"}\n'
    (tmp_path / "audit.1.jsonl").write_bytes(entry % 41)
    assert _number_of_next(tmp_path) == 42
    # A number at the beginning of a large file would be found by whoever reads all of it.
    filling = b"x" * audit_module.TAIL_BYTES + b"\n"
    (tmp_path / "audit.jsonl").write_bytes(entry % 99 + filling + entry % 50)
    assert _number_of_next(tmp_path) == 51
    (tmp_path / "audit.jsonl").write_bytes(filling)
    assert _number_of_next(tmp_path) == 42, "a file without entries says nothing"


def _number_of_next(folder: Path) -> int:
    audit = AuditLog(folder)
    audit.note(LOCAL, "test")
    return audit.page(None).next


def test_entries_are_written_while_a_page_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = AuditLog(tmp_path, bytes_max=200)
    for _ in range(3):
        audit.note(LOCAL, "before")
    read = audit_module._entries
    free: list[bool] = []

    def slowly(lines: Iterable[bytes]) -> Iterator[AuditEntry]:
        for entry in read(lines):
            free.append(audit._lock.acquire(blocking=False))
            audit._lock.release()
            # Puts files aside under the reader's hands.
            audit.note(LOCAL, "meanwhile")
            yield entry

    monkeypatch.setattr(audit_module, "_entries", slowly)
    page = audit.page(None)
    assert free == [True] * 3
    assert [(entry.seq, entry.action) for entry in page.entries] == [
        (1, "before"), (2, "before"), (3, "before")]  # fmt: skip


def test_flood_of_failures_is_a_few_lines_with_counts(tmp_path: Path) -> None:
    clock = [1_000.0]
    audit = AuditLog(tmp_path, wall=lambda: clock[0])
    for _ in range(500):
        audit.note_failure("192.0.2.1", "bad_signature")
    for number in range(500):
        audit.note_failure(f"198.51.100.{number}", "expired")
    assert len(audit.page(None).entries) == audit_module.FAILURES_MAX
    clock[0] += 61.0
    audit.note_failure("192.0.2.1", "bad_signature")
    counts = {(entry.who, entry.count) for entry in audit.page(None).entries if entry.count > 1}
    assert counts == {("192.0.2.1", 499), ("others", 401)}


def test_count_of_a_flood_is_written_though_nothing_follows_it(tmp_path: Path) -> None:
    add_key(tmp_path)
    clock = [1_000.0]

    def counts(accounts: Accounts) -> list[int]:
        failed = "authentication failed"
        return [each.count for each in accounts.audit.page(None).entries if each.action == failed]

    accounts = Accounts(ServerSettings(), tmp_path, wall=lambda: clock[0])
    for _ in range(500):
        accounts.audit.note_failure("192.0.2.1", "unknown_key")
    clock[0] += 59.0
    accounts.reload()
    assert counts(accounts) == [1]
    clock[0] += 2.0
    for _ in range(3):
        accounts.reload()
    assert counts(accounts) == [1, 499]
    accounts.audit.note_failure("192.0.2.1", "unknown_key")
    accounts.audit.note_failure("192.0.2.1", "unknown_key")
    accounts.close()
    assert counts(Accounts(ServerSettings(), tmp_path)) == [1, 499, 1, 1]


def test_key_that_asks_too_often_is_named_once_a_minute(tmp_path: Path) -> None:
    looping, operator = add_key(tmp_path, "looping"), add_key(tmp_path, "night shift")

    async def scene(site: Site) -> None:
        statuses = [(await site.call("GET", "/v1/queues", key=looping)).status for _ in range(8)]
        assert statuses == [200] * 3 + [429] * 5
        (entry,) = (await site.call("GET", "/v1/audit", key=operator)).body["entries"]
        assert (entry["who"], entry["action"]) == ("looping", "asked too often")
        text = site.parts.metrics.text().decode()
        assert 'evenmatch_refused_callers_total{reason="too_many_requests"} 5.0' in text

    limits = ServerLimits(key_requests_max=0.01, key_burst_max=3)
    with_site(tmp_path, scene, limits=limits)


def test_key_that_signs_too_often_is_named_too(tmp_path: Path) -> None:
    key, text = new_key("sdk", ("tickets",), now=time.time(), is_signing=True)
    write_keys(tmp_path / "keys.json", (key,))

    async def scene(site: Site) -> None:
        for _ in range(5):
            given = {"Host": "game.example", "X-Amz-Target": "GameLift.DescribeMatchmaking"}
            request = AWSRequest("POST", "https://game.example/", given, b'{"TicketIds": ["t"]}')
            SigV4Auth(Credentials(key.id, text), "gamelift", "eu-west-1").add_auth(request)
            sent = {name.lower(): value for name, value in request.headers.items()}
            await site.call("POST", "/", raw=request.data, headers=sent)
        (entry,) = site.accounts.audit.page(None).entries
        assert (entry.who, entry.key, entry.action) == ("sdk", key.id, "asked too often")

    with_site(tmp_path, scene, limits=ServerLimits(key_requests_max=0.01, key_burst_max=3))


def test_cancels_by_the_thousand_push_no_operator_out(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path, bytes_max=2_000)
    pause = "POST /v1/queues/{queue}/pause"
    audit.note(LOCAL, pause, status=200)
    for number in range(300):
        audit.note(LOCAL, "DELETE /v1/tickets/{ticket}", target=f"/v1/tickets/{number}", status=200)
    audit.note(LOCAL, pause, status=200)
    entries = AuditLog(tmp_path).page(None).entries
    assert [entry.seq for entry in entries if entry.action == pause] == [1, 302]
    numbers = [entry.seq for entry in entries]
    assert numbers == sorted(numbers)
    assert len(numbers) > 20
    assert all(path.stat().st_size <= 2_000 for path in tmp_path.iterdir())
    again = AuditLog(tmp_path)
    again.note_server("keys changed", "added backend")
    assert again.page(None, 1).entries[0].seq == 303


def test_cancels_of_nothing_are_one_line_a_minute(tmp_path: Path) -> None:
    clock = [1_000.0]
    audit = AuditLog(tmp_path, wall=lambda: clock[0])
    for number in range(1_000):
        target = f"/v1/tickets/x{number}"
        audit.note(LOCAL, "DELETE /v1/tickets/{ticket}", target=target, status=404)
    (first,) = audit.page(None).entries
    assert (first.target, first.status) == ("/v1/tickets/x0", 404)
    clock[0] += 61.0
    audit.note(LOCAL, "DELETE /v1/tickets/{ticket}", target="/v1/tickets/y", status=404)
    assert [entry.count for entry in audit.page(None).entries] == [1, 999, 1]


def test_full_disk_stops_no_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = AuditLog(tmp_path)

    def full(series: str, line: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(audit, "_append", full)
    audit.note(LOCAL, "test")


def test_log_that_cannot_be_read_keeps_no_key_from_being_revoked(tmp_path: Path) -> None:
    add_key(tmp_path)
    clock = [1_000.0]
    accounts = Accounts(ServerSettings(), tmp_path, wall=lambda: clock[0])
    (tmp_path / "audit.jsonl").mkdir()
    for _ in range(2):
        accounts.audit.note_failure("192.0.2.1", "unknown_key")
    write_keys(tmp_path / "keys.json", ())
    clock[0] += 61.0
    assert accounts.reload()
    assert not accounts.ring.keys
    accounts.close()


def test_disk_that_is_full_amid_a_line_is_told_and_costs_no_other_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource")
    told = StringIO()
    monkeypatch.setattr(log, "_logger", structlog.PrintLogger(told))
    audit = AuditLog(tmp_path)
    audit.note_server("first", "x")
    room = (tmp_path / "audit.jsonl").stat().st_size + 40
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        audit.note_server("second", "x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "audit_failed" in told.getvalue()
    audit.note_server("third", "x")
    assert [each.action for each in audit.page(None).entries] == ["first", "third"]


def test_what_operators_do_is_written_down_and_what_players_do_is_not(tmp_path: Path) -> None:
    operator = add_key(tmp_path, "night shift")

    async def scene(site: Site) -> None:
        ann, bob = token("ann"), token("bob")
        own = await site.call("POST", "/v1/tickets", duel("ann"), key=ann)
        await site.call("DELETE", f"/v1/tickets/{own.body['id']}", key=ann)
        other = await site.call("POST", "/v1/tickets", duel("bob"), key=bob)
        path = f"/v1/tickets/{other.body['id']}"
        await site.call("DELETE", path, key=operator)
        await site.call("GET", "/v1/queues", key="forged")
        page = (await site.call("GET", "/v1/audit", key=operator)).body
        cancelled, failed = page["entries"]
        assert (cancelled["who"], cancelled["action"]) == (
            "night shift", "DELETE /v1/tickets/{ticket}")  # fmt: skip
        assert (cancelled["target"], cancelled["status"]) == (path, 200)
        assert (failed["action"], failed["who"]) == ("authentication failed", "192.0.2.1")
        assert page["next"] == 2
        later = (await site.call("GET", "/v1/audit?after=1&most=1", key=operator)).body
        assert [entry["seq"] for entry in later["entries"]] == [2]
        for query in ("most=0", "most=x", "after=-1", "colour=red"):
            assert (await site.call("GET", f"/v1/audit?{query}", key=operator)).status == 400

    with_site(tmp_path, scene)


def test_what_was_refused_is_written_down_with_its_status(tmp_path: Path) -> None:
    operator = add_key(tmp_path, "night shift")

    async def scene(site: Site) -> None:
        asked = (
            ("POST", "/v1/queues/nothing/pause", None),
            ("PUT", "/v1/queues/duel/policy", {"policy": "nothing"}),
            ("DELETE", "/v1/tickets/s0-99", None),
            ("POST", "/v1/queues/duel/pause", None),
        )
        told = [
            (await site.call(method, path, body, key=operator)).status
            for method, path, body in asked
        ]
        assert told == [404, 400, 404, 200]
        entries = (await site.call("GET", "/v1/audit", key=operator)).body["entries"]
        assert [each["status"] for each in entries] == told

    with_site(tmp_path, scene)


def test_change_that_did_not_come_whole_is_no_error_of_the_server(tmp_path: Path) -> None:
    operator = add_key(tmp_path, "night shift")

    async def scene(site: Site) -> None:
        told: list[int] = []

        async def gone() -> Message:
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            told.extend([message["status"]] if "status" in message else [])

        scope = {
            "type": "http", "method": "PUT", "path": "/v1/config", "raw_path": b"/v1/config",
            "query_string": b"", "client": ("192.0.2.1", 5),
            "headers": [(b"authorization", f"Bearer {operator}".encode())],
        }  # fmt: skip
        await site.gate(scope, gone, send)
        (entry,) = site.accounts.audit.page(None).entries
        assert (entry.who, entry.action, entry.status) == ("night shift", "PUT /v1/config", 408)
        assert told == [408]

    with_site(tmp_path, scene)


def test_parameters_that_an_operation_reads_are_written_down_and_no_others(tmp_path: Path) -> None:
    operator = add_key(tmp_path, "night shift")

    async def scene(site: Site) -> None:
        for query in ("dry_run=1", "dry_run=1&token=secret", f"token=secret&limit={'9' * 300}"):
            await site.call("PUT", f"/v1/config?{query}", "no TOML", key=operator)
        await site.call("POST", f"/v1/drain?token=secret&limit={'x' * 300}", key=operator)
        await site.call("PUT", "/v1/config", "no TOML", key=operator)
        entries = (await site.call("GET", "/v1/audit", key=operator)).body["entries"]
        dry, known, other, drain, real = (each["target"] for each in entries)
        assert dry == known == "/v1/config?dry_run=1"
        assert other == real == "/v1/config"
        assert drain.startswith("/v1/drain?limit=xxx")
        assert len(drain) == 256

    with_site(tmp_path, scene)


def test_no_secret_is_ever_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = StringIO()
    monkeypatch.setattr(log, "_logger", structlog.PrintLogger(lines))
    service = add_key(tmp_path)
    secrets = [service, token("ann"), token("eve", secret=b"z" * 32), token("late", exp=1),
               service[:-1] + "x", "em_" + "0" * 12 + "_" + "y" * 43]  # fmt: skip
    answers: list[str] = []

    async def scene(site: Site) -> None:
        for secret in secrets:
            for method, path in REQUESTS:
                reply = await site.call(method, path, duel("ann"), key=secret)
                answers.append(f"{reply.body} {reply.headers}")
        # An error that nobody foresaw, with the credential at hand.
        site.parts.runtime.look = None  # type: ignore[assignment, method-assign]
        answers.append(str(await site.call("GET", "/v1/queues", key=service)))
        (tmp_path / "keys.json").write_text(f'{{"keys": "{service}"}}')
        site.gate.look()

    with_site(tmp_path, scene, limits=ServerLimits(failures_max=1_000))
    assert "unexpected_error" in lines.getvalue(), "the log was looked at"
    written = lines.getvalue() + "".join(answers) + (tmp_path / "audit.jsonl").read_text()
    for secret in (*secrets, SECRET.decode()):
        # The random part of a key, the signature of a token.
        is_key = secret.startswith("em_")
        assert (secret.split("_", 2)[2] if is_key else secret.rpartition(".")[2]) not in written
