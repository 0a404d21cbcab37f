// Calls to the server: one place for the key, for errors, and for streams that come back.

const KEY = "evenmatch-key";
const RETRY_LEAST = 1000;
const RETRY_MOST = 15000;

export function key() {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

export function useKey(text) {
  if (text) sessionStorage.setItem(KEY, text);
  else sessionStorage.removeItem(KEY);
}

function headers(more = {}) {
  return key() ? { ...more, authorization: `Bearer ${key()}` } : more;
}

// Returns { status, body }; body is the parsed answer, an error's has `error` and `message`.
export async function call(method, path, body) {
  const sent = body === undefined ? {} : { "content-type": "application/json" };
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers: headers({ ...sent, accept: "application/json" }),
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    return { status: 0, body: { error: "offline", message: "the server does not answer" } };
  }
  let value = null;
  try {
    value = await answer.json();
  } catch {
    value = { error: "unreadable", message: `the server answered with status ${answer.status}` };
  }
  return { status: answer.status, body: value };
}

// EventSource cannot send a key, so the stream is read by hand.
// `hear(name, value)` gets each event, `state(text, isGood)` how the connection does.
// Returns a function that ends it.
export function follow(path, hear, state = () => {}) {
  const control = new AbortController();
  let pause = RETRY_LEAST;

  async function once() {
    const answer = await fetch(path, {
      headers: headers({ accept: "text/event-stream" }), signal: control.signal,
    });
    if (answer.status === 204) return false;
    if (!answer.ok) {
      const problem = await answer.json().catch(() => ({}));
      state(problem.message ?? `the server answered with status ${answer.status}`, false, answer.status);
      return ![401, 403, 404, 410].includes(answer.status);
    }
    pause = RETRY_LEAST;
    state("live", true, 200);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return true;
      rest += value;
      const frames = rest.split("\n\n");
      rest = frames.pop();
      for (const frame of frames) deliver(frame);
    }
  }

  function deliver(frame) {
    let name = "message";
    let data = "";
    for (const line of frame.split("\n")) {
      if (line.startsWith("event: ")) name = line.slice(7);
      else if (line.startsWith("data: ")) data += line.slice(6);
    }
    if (data) hear(name, JSON.parse(data));
  }

  async function forever() {
    while (!control.signal.aborted) {
      let goesOn = true;
      try {
        goesOn = await once();
      } catch {
        if (!control.signal.aborted) state("the server does not answer; trying again", false, 0);
      }
      if (!goesOn || control.signal.aborted) return;
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(RETRY_MOST, pause * 2);
    }
  }

  forever();
  return () => control.abort();
}
