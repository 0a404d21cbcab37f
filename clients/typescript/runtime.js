// Requests, retries and streams; `evenmatch.js`, which is generated, adds a method for each route.

const PASSING = new Set([408, 429, 502, 503, 504]);
const OVER = new Set(["cancelled", "expired"]);
const PAUSED = "paused";
const PAUSE_MOST = 3_000;
const ASKED_MOST = 60; // Seconds for which a server may ask to be left alone.
const SILENT_MOST = 45_000; // A server sends something every 15 s.
const TIMER_MOST = 2 ** 31 - 1;
const NOT_VALID = 1008;
const NOT_LET_IN = new Set([401, 403]);
const NO_SOCKETS =
  "there is no WebSocket here, which stream needs: use Node 22 or newer, or followTicket";
const INVALID = {
  error: "unauthenticated",
  message: "the key or token is not valid here any more; get a new one",
};

const sleep = (milliseconds, signal) =>
  new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", wake);
      resolve();
    };
    const timer = setTimeout(wake, milliseconds);
    signal?.addEventListener("abort", wake);
    if (signal?.aborted) wake();
  });

export class ServerRefused extends Error {
  constructor(status, problem, retryAfter = 1) {
    super(`${problem.message} (${problem.error})`);
    this.name = "ServerRefused";
    this.status = status;
    this.code = problem.error;
    this.problem = problem;
    this.retryAfter = retryAfter;
  }

  get isPassing() {
    return PASSING.has(this.status);
  }
}

// What a connection that breaks ends in; all other errors go to the caller.
class ConnectionLost extends Error {}

// Not by `randomUUID`, which pages of plain http lack.
export function newKey() {
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Ends what is under way when its time is up, or with the caller's signal.
class Limit {
  constructor(caller) {
    const control = new AbortController();
    this.signal = control.signal;
    this.caller = caller;
    this.abort = () => control.abort(caller.reason);
    this.expire = () => control.abort(new DOMException("the server is silent", "TimeoutError"));
    if (caller?.aborted) this.abort();
    caller?.addEventListener("abort", this.abort);
  }

  begin(milliseconds) {
    this.pause();
    this.timer = setTimeout(this.expire, Math.min(milliseconds, TIMER_MOST));
  }

  pause() {
    clearTimeout(this.timer);
  }

  end() {
    this.pause();
    this.caller?.removeEventListener("abort", this.abort);
  }
}

export class Connection {
  constructor(url, options = {}) {
    const { token = null, tries = 5, timeout = 30_000 } = options;
    const { firstPause = 250, chance = Math.random } = options;
    this.url = url.replace(/\/+$/, "");
    this.token = token;
    this.tries = tries;
    this.timeout = timeout;
    this.firstPause = firstPause;
    this.chance = chance;
  }

  // A request that may be done twice is repeated after a lost connection, and while the server is
  // overloaded (429), cannot write (503), waited for the body in vain (408) or is not found by a
  // proxy (502, 504). Pauses double and are drawn, so that the clients of a server that comes back
  // do not come together. A queue that an operator paused may stay so for long, as may a server
  // that asks for more than a minute: that is said at once.
  async request(method, path, { query = {}, body, key, mayRepeat = true, signal } = {}) {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const search = given.length ? `?${new URLSearchParams(given)}` : "";
    const headers = this.headers();
    if (body !== undefined) headers["content-type"] = "application/json";
    if (key !== undefined) headers["idempotency-key"] = key;
    const asked = { method, headers, body: body === undefined ? undefined : JSON.stringify(body) };
    const address = `${this.url}${path}${search}`;
    checkSendable(address, asked);
    const longest = this.timeout + 1000 * (Number(query.wait) || 0);
    for (let tried = 1; ; tried += 1) {
      let asked_to_wait = 0;
      const limit = new Limit(signal);
      limit.begin(longest);
      try {
        const options = { ...asked, signal: limit.signal };
        const answer = await fetch(address, options);
        if (answer.ok) return await contentOf(answer);
        const refusal = await refusalOf(answer);
        const isSafe = mayRepeat || answer.status === 429;
        const isSoon = refusal.code !== PAUSED && refusal.retryAfter <= ASKED_MOST;
        if (!(refusal.isPassing && isSafe && isSoon) || tried >= this.tries) throw refusal;
        asked_to_wait = refusal.retryAfter * 1000;
      } catch (error) {
        if (error instanceof ServerRefused || signal?.aborted) throw error;
        if (!mayRepeat || tried >= this.tries) throw error;
      } finally {
        limit.end();
      }
      await sleep(asked_to_wait + this.pause(tried), signal);
    }
  }

  // Server-sent events, resumed after interruptions, until the server has nothing more to say, or a
  // ticket has ended. A server that vanished without a word counts as lost when it has been silent
  // for long.
  async *events(path, { signal } = {}) {
    let last = "";
    for (let tried = 1; !signal?.aborted; tried += 1) {
      let wait = 0;
      const limit = new Limit(signal);
      try {
        const headers = { ...this.headers(), accept: "text/event-stream" };
        if (last) headers["last-event-id"] = last;
        checkSendable(this.url + path, { headers });
        limit.begin(this.timeout);
        const answer = await fetch(this.url + path, { headers, signal: limit.signal }).catch(lost);
        if (answer.status === 204) return;
        if (!answer.ok) throw await refusalOf(answer).catch(lost);
        for await (const { id, data } of framesOf(answer.body, limit)) {
          [last, tried] = [id ?? last, 0];
          const now = JSON.parse(data);
          yield now;
          if (OVER.has(now?.state)) return;
        }
      } catch (error) {
        if (signal?.aborted) return;
        const isPassing = error instanceof ServerRefused && error.isPassing;
        if (isPassing) wait = Math.min(error.retryAfter, ASKED_MOST) * 1000;
        else if (!(error instanceof ConnectionLost)) throw error;
      } finally {
        limit.end();
      }
      await sleep(wait + this.pause(Math.max(tried, 1)), signal);
    }
  }

  // Many tickets over one WebSocket: nothing is missed and nothing comes twice, whatever happens to
  // the connection. Browsers cannot set headers, so the token goes as a subprotocol. One that is
  // valid no more ends the stream: to come back with it would be in vain. Of a connection that was
  // never opened nothing says why, so the server is asked without one then.
  async *stream(tickets, { signal } = {}) {
    if (globalThis.WebSocket === undefined) throw new Error(NO_SOCKETS);
    const followed = new Set(tickets);
    const seen = new Map();
    const protocols = this.token === null ? [] : ["evenmatch", `bearer.${this.token}`];
    for (let tried = 1; followed.size && !signal?.aborted; tried += 1) {
      const socket = new WebSocket(`${this.url.replace(/^http/, "ws")}/v1/stream`, protocols);
      const limit = new Limit(signal);
      limit.begin(this.timeout);
      let isOpened = false;
      const opened = () => {
        limit.pause();
        isOpened = true;
        resume(socket, followed, seen);
      };
      try {
        for await (const text of messagesOf(socket, opened, limit.signal)) {
          tried = 0;
          const event = JSON.parse(text);
          if (event.event === "problem") {
            followed.delete(event.ticket);
            seen.delete(event.ticket);
          } else {
            const { id } = event.ticket;
            // A lower number was not said before: the server was set back to a copy of its journal.
            if (!followed.has(id) || event.sequence === seen.get(id)) continue;
            seen.set(id, event.sequence);
            if (OVER.has(event.event)) followed.delete(id) && seen.delete(id);
          }
          yield event;
          if (!followed.size) return;
        }
      } finally {
        limit.end();
        socket.close();
      }
      if (!isOpened && !signal?.aborted) await this.checkAccess(signal);
      await sleep(this.pause(Math.max(tried, 1)), signal);
    }
  }

  // Throws if the server gives this token no stream. Whom it would give one, it answers with 426.
  async checkAccess(signal) {
    const limit = new Limit(signal);
    limit.begin(this.timeout);
    try {
      const asked = { headers: this.headers(), signal: limit.signal };
      const answer = await fetch(`${this.url}/v1/stream`, asked).catch(() => null);
      if (NOT_LET_IN.has(answer?.status)) throw await refusalOf(answer);
      await answer?.body?.cancel();
    } finally {
      limit.end();
    }
  }

  headers() {
    return this.token === null ? {} : { authorization: `Bearer ${this.token}` };
  }

  pause(tried) {
    return this.chance() * Math.min(PAUSE_MOST, this.firstPause * 2 ** (tried - 1));
  }
}

// One record may have changed several tickets, of which the end of a connection cut some off: so
// the last sequence is asked for once more, and what comes twice is dropped.
function resume(socket, followed, seen) {
  const known = [...followed].filter((ticket) => seen.has(ticket));
  const fresh = [...followed].filter((ticket) => !seen.has(ticket));
  const after = Math.max(1, ...seen.values()) - 1;
  if (known.length) socket.send(JSON.stringify({ follow: known, after }));
  if (fresh.length) socket.send(JSON.stringify({ follow: fresh }));
}

// Ends with the signal too: a socket waits long for a silent server before it says `close`.
async function* messagesOf(socket, opened, signal) {
  const inbox = [];
  let wake = () => {};
  let isOver = false;
  let code = 0;
  const note = (done) => () => {
    isOver ||= done;
    wake();
  };
  socket.addEventListener("open", opened);
  socket.addEventListener("message", ({ data }) => note(false)(inbox.push(data)));
  socket.addEventListener("error", note(true));
  socket.addEventListener("close", (event) => note(true)((code = event.code)));
  signal.addEventListener("abort", note(true));
  for (;;) {
    while (inbox.length) yield inbox.shift();
    if (isOver && code === NOT_VALID) throw new ServerRefused(401, INVALID);
    if (isOver) return;
    await new Promise((resolve) => (wake = resolve));
  }
}

// By a reader: many browsers cannot iterate over a body.
async function* framesOf(body, limit) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      limit.begin(SILENT_MOST);
      const { value, done } = await reader.read().catch(lost);
      limit.pause();
      if (done) return;
      const frames = (text + decoder.decode(value, { stream: true })).split("\n\n");
      text = frames.pop();
      for (const frame of frames) {
        const fields = fieldsOf(frame);
        if (fields.data !== undefined) yield fields;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function fieldsOf(frame) {
  const fields = {};
  for (const line of frame.split("\n")) {
    const at = line.indexOf(": ");
    if (at > 0) fields[line.slice(0, at)] = line.slice(at + 2);
  }
  return fields;
}

// Throws for an address, token or key that cannot be sent: `fetch` would end in the same error as
// for a lost connection, and asking again would be in vain.
function checkSendable(address, options) {
  const { protocol } = new URL(new Request(address, options).url);
  if (protocol === "http:" || protocol === "https:") return;
  throw new TypeError(`the server's address must look like http://host:port, got ${address}`);
}

function lost(error) {
  throw new ConnectionLost(error.message);
}

async function contentOf(answer) {
  const isJson = answer.headers.get("content-type")?.startsWith("application/json");
  return isJson ? answer.json() : answer.text();
}

async function refusalOf(answer) {
  const retryAfter = Number(answer.headers.get("retry-after") ?? 1);
  const text = await answer.text();
  let problem = null;
  try {
    problem = JSON.parse(text);
  } catch {
    // A proxy's page.
  }
  if (typeof problem?.error !== "string") {
    problem = { error: "http_error", message: text.slice(0, 200) };
  }
  return new ServerRefused(answer.status, problem, Number.isFinite(retryAfter) ? retryAfter : 1);
}
