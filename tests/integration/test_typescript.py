"""The TypeScript client: as the OpenAPI document has it, typed, and at work in Node."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from evenmatch.cli.main import main
from tests.integration.serving import Server, running
from tests.waiting import GIVE_UP

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "typescript"
FETCHED = ROOT / "build/typescript/node_modules/.bin/tsc"
PLAY = Path(__file__).with_name("play.mjs")
NODE_MIN = 20
NODE_SOCKETS = 22
"""From this version on WebSockets need no flag."""
USE = """
import { Evenmatch, type TicketState } from "./evenmatch.js";
const server = new Evenmatch("http://127.0.0.1:8080", { token: "t" });
const ticket = await server.createTickets({ players: [{ id: "ada", rating: { mean: 1500 } }] });
const many = await server.createTickets([{ players: [{ id: "bob" }] }]);
const status: number = many[0].status;
const { signal } = new AbortController();
const state: TicketState = await server.getTicket(ticket.id, { wait: 5 }, { signal });
await server.createTickets({ players: [{ id: "cy" }] }, { key: "k", signal });
await server.cancelTicket(ticket.id, { signal });
for await (const now of server.followTicket(ticket.id)) if (now.match) console.log(status, state);
// @ts-expect-error: a ticket has players
await server.createTickets({});
"""

ASK_PAUSED = """
const { Connection } = await import(process.argv.at(-1));
const asked = [];
const answers = (code) => async () => {
  asked.push(code);
  return Response.json({ error: code, message: "later" }, { status: 429,
    headers: { "retry-after": "0" } });
};
const server = new Connection("http://127.0.0.1:1", { tries: 3, chance: () => 0 });
for (const code of ["overloaded", "paused"]) {
  globalThis.fetch = answers(code);
  await server.request("POST", "/v1/tickets", { body: {}, key: "k" }).catch(
    (refusal) => asked.push(refusal.name));
}
console.log(asked.join(" "));
"""


BEHIND_A_PROXY = """
const { Connection } = await import(process.argv.at(-1));
const told = [];
const page = () => new Response("<html>Bad Gateway</html>", {
  status: told.push("away") % 2 ? 502 : 504,
  headers: { "retry-after": "0" } });
const json = () => Response.json({ state: "waiting" });
const stream = () => new Response('id: 2\\ndata: {"state":"waiting"}\\n\\n');
const none = () => new Response(null, { status: 204 });
let answers = [page, page, json, page, page, page, stream, page, none];
globalThis.fetch = async () => answers.shift()();
const server = new Connection("http://here", { tries: 3, chance: () => 0 });
told.push((await server.request("GET", "/v1/tickets/s0-1")).state);
await server.request("POST", "/v1/guests", { mayRepeat: false }).catch(
  (refusal) => told.push(refusal.code, refusal.isPassing));
for await (const now of server.events("/v1/tickets/s0-1/events")) told.push(now.state);
console.log(told.join(" "));
"""


PROXYS_JSON = """
const { Connection } = await import(process.argv.at(-1));
const text = '{"error":{"code":502}}';
globalThis.fetch = async () => new Response(text, { status: 502 });
const server = new Connection("http://here", { tries: 1 });
await server.request("GET", "/").catch(({ code, message }) => console.log(code, message));
"""


OLD_BROWSER = """
const { Connection } = await import(process.argv.at(-1));
delete ReadableStream.prototype[Symbol.asyncIterator];
delete ReadableStream.prototype.values;
const told = [];
const parts = [
  'id: 2\\nda', 'ta: {"state":"waiting"}\\n\\n', 'id: 3\\ndata: {"state":"matched"}\\n\\n'];
const server = new Connection("http://here", { chance: () => 0 });
const body = () => new ReadableStream({
  start: (control) => parts.forEach((each) => control.enqueue(new TextEncoder().encode(each))),
  cancel: () => told.push("closed"),
});
globalThis.fetch = async () => new Response(told.push("asked") && body());
for await (const now of server.events("/events")) {
  told.push(now.state);
  if (now.state === "matched") break;
}
console.log(told.join(" "));
"""


LAST_EVENT = """
const { Connection } = await import(process.argv.at(-1));
const told = [];
const server = new Connection("http://here", { chance: () => 0 });
const text = 'id: 2\\ndata: {"state":"waiting"}\\n\\nid: 3\\ndata: {"state":"cancelled"}\\n\\n';
globalThis.fetch = async () => new Response(told.push("asked") && text);
for await (const now of server.events("/events")) told.push(now.state);
console.log(told.join(" "));
"""


ODD_EVENT = """
const { Connection } = await import(process.argv.at(-1));
const told = [];
const server = new Connection("http://here", { chance: () => 0 });
const lost = async () => { throw new TypeError("fetch failed"); };
const cut = async () => new Response(new ReadableStream({
  start: (control) => control.error(new TypeError("terminated")) }));
const odd = async () => new Response('id: 2\\ndata: {"state":\\n\\n');
const answers = [lost, cut, odd];
globalThis.fetch = () => { told.push("asked"); return answers.shift()(); };
try {
  for await (const now of server.events("/events")) told.push(now);
} catch (error) {
  told.push(error.name);
}
console.log(told.join(" "));
"""


FALLS_SILENT = """
const { Connection } = await import(process.argv.at(-1));
const { createServer } = await import("node:http");
const real = setTimeout;
globalThis.setTimeout = (act, after, ...more) => real(act, after / 100, ...more);
const told = [];
const once = ["/hang", "/wait?wait=3", "/body", "/events"];
const server = createServer((asked, answer) => {
  told.push(asked.headers["last-event-id"] ?? "asked");
  const path = once.indexOf(asked.url);
  if (path < 0) return answer.writeHead(asked.url === "/events" ? 204 : 200).end();
  once.splice(path, 1);
  if (asked.url === "/body") answer.writeHead(200).write("{");
  const event = 'id: 2\\ndata: {"state":"waiting"}\\n\\n';
  if (asked.url === "/events") answer.writeHead(200).write(event);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const url = `http://127.0.0.1:${server.address().port}`;
const client = new Connection(url, { chance: () => 0 });
await client.request("GET", "/hang");
await client.request("GET", "/body");
const began = performance.now();
await client.request("GET", "/wait", { query: { wait: 3 } });
told.push(performance.now() - began > 325);
for await (const now of client.events("/events")) told.push(now.state);
once.push("/hang");
const hasty = new Connection(url, { timeout: 5_000, tries: 1 });
await hasty.request("GET", "/hang").catch((error) => told.push(error.name));
console.log(told.join(" "));
process.exit(0);
"""


ASKED_FOR_LONG = """
const { Connection } = await import(process.argv.at(-1));
const real = setTimeout;
const told = [];
globalThis.setTimeout = (act, after) => {
  if (after !== 30_000) told.push(after);
  return real(act, 0);
};
clearTimeout = () => {};
const refusals = [61, 60, 61, 3_600, 0];
globalThis.fetch = async () => {
  const headers = { "retry-after": String(refusals.shift()) };
  return refusals.length ? Response.json({ error: "overloaded" }, { status: 429, headers })
    : new Response(null, { status: 204 });
};
const server = new Connection("http://here", { chance: () => 0 });
for (const tries of [5, 2]) {
  server.tries = tries;
  await server.request("GET", "/").catch((refusal) => told.push(refusal.code, refusal.retryAfter));
}
for await (const now of server.events("/events")) told.push(now);
console.log(told.join(" "));
"""


ABORTED = """
const { Connection } = await import(process.argv.at(-1));
const told = [];
const refused = () => Response.json({ error: "overloaded" },
  { status: 429, headers: { "retry-after": "50" } });
const hung = (url, { signal }) => new Promise((_, fail) => {
  if (signal.aborted) fail(signal.reason);
  signal.addEventListener("abort", () => fail(signal.reason));
});
const server = new Connection("http://here");
for (const answer of [async () => refused(), hung]) {
  globalThis.fetch = async (url, options) => (told.push("asked"), answer(url, options));
  const stop = new AbortController();
  const both = [
    server.request("GET", "/", { signal: stop.signal }).catch((error) => told.push(error.name)),
    server.events("/events", { signal: stop.signal }).next().then(({ done }) => told.push(done)),
  ];
  setTimeout(() => {
    globalThis.fetch = hung;
    stop.abort();
  }, 50);
  await Promise.all(both);
}
console.log(told.sort().join(" "));
"""


NEVER_CLOSED = """
const { Connection } = await import(process.argv.at(-1));
globalThis.WebSocket = class extends EventTarget {
  constructor() {
    super();
    setTimeout(() => this.dispatchEvent(new Event("open")));
  }
  send() {
    setTimeout(() => stop.abort());
  }
  close() {
    console.log("closed");
  }
};
const stop = new AbortController();
const server = new Connection("http://here", { chance: () => 0 });
const { done } = await server.stream(["s0-1"], { signal: stop.signal }).next();
console.log(done);
"""


NOTHING_TO_FOLLOW = """
const { Connection } = await import(process.argv.at(-1));
const told = [];
delete globalThis.WebSocket;
const server = new Connection("http://here", { chance: () => 0 });
await server.stream(["s0-1"]).next().catch((error) => told.push(error.message));
globalThis.WebSocket = class extends EventTarget {
  constructor() {
    super();
    setTimeout(() => this.dispatchEvent(new Event("open")));
  }
  send() {
    const problem = { event: "problem", ticket: "s0-1", problem: { error: "unknown_ticket" } };
    const data = JSON.stringify(problem);
    this.dispatchEvent(Object.assign(new Event("message"), { data }));
  }
  close() {}
};
for await (const event of server.stream(["s0-1"])) told.push(event.event);
console.log(told.join("; "));
"""


ANSWER_LOST = """
const { Evenmatch } = await import(process.argv.at(-1).replace("runtime.js", "evenmatch.js"));
const told = [];
globalThis.fetch = async (url, { method }) => {
  told.push(method);
  throw new TypeError("fetch failed");
};
const server = new Evenmatch("http://here", { tries: 2, chance: () => 0 });
const config = { queue: [] };
await server.putConfig(config).catch((error) => told.push(error.message));
await server.putConfig(config, { if_version: 3 }).catch((error) => told.push(error.message));
console.log(told.join("; "));
"""


INSECURE_PAGE = """
const { Evenmatch } = await import(process.argv.at(-1).replace("runtime.js", "evenmatch.js"));
const told = [];
crypto.randomUUID = undefined;
globalThis.fetch = async (url, { headers }) => {
  told.push(headers["idempotency-key"]);
  return Response.json({});
};
const server = new Evenmatch("http://here");
for (let made = 0; made < 2; made += 1) await server.createTickets({ players: [] });
console.log(told.join(" "));
"""


NEVER_SENT = """
const { Connection } = await import(process.argv.at(-1));
const real = fetch;
globalThis.fetch = (...asked) => {
  console.log("asked");
  return real(...asked);
};
const say = (error) => console.log(error.name);
const asked = [
  ["http://127.0.0.1:9", { token: "two\\nlines" }],
  ["http://127.0.0.1:9", { token: "em_\u2026" }],
  ["here"],
  ["localhost:8080"],
];
for (const [url, options] of asked) {
  const server = new Connection(url, { ...options, chance: () => 0 });
  await server.request("GET", "/").catch(say);
  await server.events("/events", { signal: AbortSignal.timeout(500) }).next().catch(say);
}
const server = new Connection("http://127.0.0.1:9", { chance: () => 0 });
await server.request("POST", "/", { body: {}, key: "two\\nlines" }).catch(say);
"""


CUT_OFF = """
const { Connection } = await import(process.argv.at(-1));
const told = [];
const codes = [1013, 1008];
globalThis.WebSocket = class extends EventTarget {
  constructor() {
    super();
    const code = codes.shift();
    told.push(code);
    setTimeout(() => this.dispatchEvent(Object.assign(new Event("close"), { code })));
  }
  close() {}
};
const server = new Connection("http://127.0.0.1:1", { token: "t", chance: () => 0 });
try {
  for await (const event of server.stream(["s0-1"])) told.push(event);
} catch (refusal) {
  told.push(refusal.name, refusal.status, refusal.code);
}
console.log(told.join(" "));
"""


SET_BACK = """
const { Connection } = await import(process.argv.at(-1));
const told = [];
const said = [[[90, "matched"]], [[90, "matched"], [40, "waiting"], [51, "cancelled"]]];
globalThis.WebSocket = class extends EventTarget {
  constructor() {
    super();
    setTimeout(() => this.dispatchEvent(new Event("open")));
  }
  send() {
    for (const [sequence, event] of said.shift()) {
      const data = JSON.stringify({ event, sequence, ticket: { id: "s0-1" } });
      this.dispatchEvent(Object.assign(new Event("message"), { data }));
    }
    this.close();
  }
  close() {
    this.dispatchEvent(Object.assign(new Event("close"), { code: 1012 }));
  }
};
const server = new Connection("http://here", { chance: () => 0 });
for await (const { sequence } of server.stream(["s0-1"])) told.push(sequence);
console.log(told.join(" "));
"""


NEVER_OPENED = """
const { Connection } = await import(process.argv.at(-1));
const told = [];
globalThis.WebSocket = class extends EventTarget {
  close() {
    told.push("closed");
    this.dispatchEvent(Object.assign(new Event("close"), { code: 1006 }));
    this.close = () => {};
  }
};
globalThis.fetch = async () => Response.json({ error: "unauthenticated" }, { status: 401 });
const server = new Connection("http://here", { timeout: 20, chance: () => 0 });
const following = server.stream(["s0-1"]);
await following.next().catch((refusal) => told.push(refusal.status));
console.log(told.join(" "));
"""


NOT_LET_IN = """
const { Connection } = await import(process.argv.at(-1));
const told = [];
globalThis.WebSocket = class extends EventTarget {
  constructor() {
    super();
    told.push("refused");
    setTimeout(() => this.dispatchEvent(Object.assign(new Event("close"), { code: 1006 })));
  }
  close() {}
};
const answers = [503, 426, STATUS];
globalThis.fetch = async (url, { headers }) => {
  told.push(url, headers.authorization);
  const status = answers.shift();
  return new Response('{"error":"refused","message":"who?"}', { status });
};
const server = new Connection("http://here", { token: "t", chance: () => 0 });
try {
  for await (const event of server.stream(["s0-1"])) told.push(event);
} catch (refusal) {
  told.push(refusal.name, refusal.status, refusal.code);
}
console.log(told.join(" "));
"""


def node_version() -> int:
    """Return the major version of Node, 0 without it."""
    if shutil.which("node") is None:
        return 0
    told = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    found = re.match(r"v(\d+)", told)
    return int(found[1]) if found else 0


def node() -> int:
    """Return the major version of Node; skip a test that needs a newer one."""
    version = node_version()
    if version < NODE_MIN:
        pytest.skip(f"NOT TESTED: the TypeScript client needs Node {NODE_MIN}, found {version}")
    return version


def said_by(program: str) -> str:
    """Return what a program prints that takes the client's runtime."""
    node()
    done = subprocess.run(
        ["node", "--input-type=module", "-e", program, (CLIENT / "runtime.js").as_uri()],
        capture_output=True, text=True, check=False, timeout=GIVE_UP,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_client_is_as_the_openapi_document_has_it() -> None:
    done = subprocess.run(
        [sys.executable, str(CLIENT / "generate.py"), "--check"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_client_plays_in_node(tmp_path: Path) -> None:
    version = node()
    flags = ["--experimental-websocket"] if version < NODE_SOCKETS else []
    with running(tmp_path, durable=False) as server:
        done = subprocess.run(
            ["node", *flags, str(PLAY), (CLIENT / "evenmatch.js").as_uri(), server.url],
            capture_output=True, text=True, check=False, timeout=GIVE_UP,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        "waiting", 201, "invalid_ticket", "matched", "assigned", "10.0.0.1:7777", "s0-1+s0-2",
        True, 409, "too_late", "waiting", "problem", "cancelled", "player", True,
    ]  # fmt: skip


def shown_client() -> tuple[str, str, str]:
    """Return what the page for game clients shows: CONFIG, the program, and it for guests."""
    page = (ROOT / "docs" / "howto" / "write-a-game-client.md").read_text(encoding="utf-8")
    (config,) = re.findall(r"```toml\n(.*?)```", page, re.S)
    program, guests = re.findall(r"```ts\n(.*?)```", page, re.S)
    for_guests = re.sub(r"const server = .*\n", guests, program).replace('"ada"', "guest.player")
    return config, program, for_guests


def played(server: Server, programs: Sequence[str], key: Mapping[str, str]) -> list[str]:
    """Let two clients meet, send them to a place as a backend does, and return what they say."""
    folder = server.log.parent.parent
    clients = [
        subprocess.Popen(["node", each], stdout=subprocess.PIPE, text=True, cwd=folder)
        for each in programs
    ]
    feed = server.call("GET", "/v1/queues/duel/matches?after=0&wait=30", headers=key)
    (made,) = feed.body["matches"]
    path = f"/v1/matches/{made['match']}/assignment"
    assert server.call("PUT", path, {"connection": "203.0.113.5:7777"}, headers=key).status == 200
    return [each.communicate(timeout=GIVE_UP)[0] for each in clients]


def test_client_of_the_page_plays(tmp_path: Path) -> None:
    node()
    config, program, _ = shown_client()
    for name in ("evenmatch.js", "runtime.js", "package.json"):
        shutil.copy(CLIENT / name, tmp_path / name)
    with running(tmp_path / "server", config, durable=False) as server:
        program = program.replace("http://127.0.0.1:8080", server.url)
        (tmp_path / "ada.mjs").write_text(program)
        (tmp_path / "bob.mjs").write_text(program.replace('"ada"', '"bob"'))
        assert played(server, ("ada.mjs", "bob.mjs"), {}) == ["play at 203.0.113.5:7777\n"] * 2
        # A search that cannot begin says why.
        (tmp_path / "eve.mjs").write_text(program.replace('"duel"', '"chess"'))
        done = subprocess.run(
            ["node", "eve.mjs"], capture_output=True, text=True, check=True, cwd=tmp_path,
            timeout=GIVE_UP,
        )  # fmt: skip
        assert done.stdout.startswith("refused: unknown_queue, ")


def test_client_of_the_page_plays_for_guests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node()
    config, _, program = shown_client()
    for name in ("evenmatch.js", "runtime.js", "package.json"):
        shutil.copy(CLIENT / name, tmp_path / name)
    main(["keys", "add", "backend", "--data", str(tmp_path / "server" / "data")])
    key = capsys.readouterr().out.split()[0]
    with running(tmp_path / "server", f"[server]\nguests = true\n{config}") as server:
        text = program.replace("http://127.0.0.1:8080", server.url)
        (tmp_path / "guest.mjs").write_text(text)
        said = played(server, ["guest.mjs"] * 2, {"authorization": f"Bearer {key}"})
        assert said == ["play at 203.0.113.5:7777\n"] * 2


def test_overload_is_tried_again_and_a_pause_is_told_at_once() -> None:
    said = said_by(ASK_PAUSED)
    assert said.split() == [*["overloaded"] * 3, "ServerRefused", "paused", "ServerRefused"]


def test_what_a_proxy_says_while_it_finds_no_server_is_waited_out() -> None:
    said = said_by(BEHIND_A_PROXY)
    assert said.split() == [
        "away", "away", "waiting", "away", "http_error", "true",
        "away", "away", "waiting", "away",
    ]  # fmt: skip


def test_error_of_a_proxy_in_json_is_told_as_it_is() -> None:
    said = said_by(PROXYS_JSON)
    assert said.strip() == 'http_error {"error":{"code":502}} (http_error)'


def test_events_come_where_bodies_cannot_be_iterated_over() -> None:
    assert said_by(OLD_BROWSER).split() == ["asked", "waiting", "matched", "closed"]


def test_events_go_on_after_lost_connections_only() -> None:
    assert said_by(ODD_EVENT).split() == [*["asked"] * 3, "SyntaxError"]


def test_stream_takes_what_a_server_says_that_was_set_back_to_a_copy() -> None:
    assert said_by(SET_BACK).split() == ["90", "40", "51"]


def test_events_end_with_the_last_state_and_ask_nothing_more() -> None:
    assert said_by(LAST_EVENT).split() == ["asked", "waiting", "cancelled"]


def test_requests_and_events_of_a_server_that_fell_silent_are_sent_again() -> None:
    assert said_by(FALLS_SILENT).split() == [
        *["asked"] * 6, "true", "asked", "waiting", "2", "asked", "TimeoutError",
    ]  # fmt: skip


def test_stream_whose_server_does_not_open_it_is_given_up_in_time() -> None:
    assert said_by(NEVER_OPENED).split() == ["closed", "401"]


def test_caller_hears_at_once_of_what_takes_longer_than_a_client_waits() -> None:
    said = said_by(ASKED_FOR_LONG)
    assert said.split() == ["overloaded", "61", "60000", "overloaded", "61", "60000"]


def test_abort_ends_requests_and_pauses() -> None:
    said = said_by(ABORTED)
    assert said.split() == [*["AbortError"] * 2, *["asked"] * 4, "true", "true"]


def test_abort_ends_a_stream_whose_server_does_not_close_it() -> None:
    assert said_by(NEVER_CLOSED).split() == ["closed", "true"]


def test_stream_says_what_it_needs_and_ends_when_it_follows_nothing() -> None:
    needs, told = said_by(NOTHING_TO_FOLLOW).strip().split("; ")
    assert "no WebSocket" in needs
    assert "Node 22" in needs
    assert told == "problem"


def test_change_of_one_version_is_not_repeated_after_a_lost_answer() -> None:
    said = said_by(ANSWER_LOST)
    assert said.strip().split("; ") == ["PUT", "PUT", "fetch failed", "PUT", "fetch failed"]


def test_pages_that_are_not_secure_have_keys_too() -> None:
    first, second = said_by(INSECURE_PAGE).split()
    assert first != second
    assert re.fullmatch("[0-9a-f]{32}", first)


def test_what_cannot_be_sent_is_told_at_once() -> None:
    assert said_by(NEVER_SENT).split() == ["TypeError"] * 9


def test_stream_whose_token_is_valid_no_more_ends_with_a_sentence() -> None:
    said = said_by(CUT_OFF)
    assert said.split() == ["1013", "1008", "ServerRefused", "401", "unauthenticated"]


@pytest.mark.parametrize("status", ["401", "403"])
def test_stream_that_is_not_let_in_ends_with_the_servers_reason(status: str) -> None:
    said = said_by(NOT_LET_IN.replace("STATUS", status))
    once = "refused http://here/v1/stream Bearer t "
    assert said.strip() == f"{once * 3}ServerRefused {status} refused"


def test_types_are_those_of_the_interface(tmp_path: Path) -> None:
    compiler = shutil.which("tsc") or shutil.which(FETCHED)
    if compiler is None:
        pytest.skip("NOT TESTED: types of the TypeScript client: make test-browser fetches tsc")
    for name in ("evenmatch.js", "evenmatch.d.ts", "runtime.js", "runtime.d.ts", "package.json"):
        shutil.copy(CLIENT / name, tmp_path / name)
    (tmp_path / "use.ts").write_text(USE)
    _, program, for_guests = shown_client()
    (tmp_path / "shown.ts").write_text(program)
    (tmp_path / "guests.ts").write_text(for_guests)
    done = subprocess.run(
        [compiler, "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext",
         "--lib", "es2022,dom,dom.asynciterable", "use.ts", "shown.ts", "guests.ts"],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=GIVE_UP,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
