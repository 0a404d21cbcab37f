// Calls to the server: one place for the key, for errors, and for streams that come back.
import { span } from "./words.js";

const KEY = "evenmatch-key";
const RETRY_LEAST = 1000;
const RETRY_MOST = 15000;
const ANSWER_MOST = 30000;
// The stream brings something each second.
const QUIET_AFTER = 5000;
const SILENCE_MOST = 20000;

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
      signal: AbortSignal.timeout(ANSWER_MOST),
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

// A link carries no key: what it leads to is asked for with the key, and shown as text.
export async function followLink(event) {
  const link = event.target.closest("a[href^='/v1/'], a[href='/metrics']");
  if (!link || !key() || event.button > 1) return;
  event.preventDefault();
  const isBeside = event.button === 1 || event.ctrlKey || event.metaKey || event.shiftKey;
  // Before the answer: a window that opens later is a popup, which browsers block.
  const place = (isBeside && open("", "_blank")) || window;
  let address = link.href;
  try {
    const answer = await fetch(address, { headers: headers(), signal: AbortSignal.timeout(ANSWER_MOST) });
    address = URL.createObjectURL(new Blob([await answer.text()], { type: "text/plain;charset=utf-8" }));
  } catch {
    // The link itself shows what is wrong.
  }
  place.location.href = address;
}

// EventSource cannot send a key, so the stream is read by hand.
// `hear(name, value)` gets each event, `state(text, isGood)` how the connection does.
// A server that is silent is told of, and asked anew when it is silent for longer.
// Returns a function that ends it.
export function follow(path, hear, state = () => {}) {
  let attempt = new AbortController();
  let isOver = false;
  let isLive = false;
  let pause = RETRY_LEAST;
  // When there was news, and when there was news or a new attempt; null between attempts.
  let heardAt = performance.now();
  let since = null;

  function heard() {
    since = heardAt = performance.now();
    if (!isLive) state("live", true, 200);
    isLive = true;
  }

  function watch() {
    const silence = since === null ? 0 : performance.now() - since;
    if (silence >= SILENCE_MOST) attempt.abort();
    if (silence < QUIET_AFTER) return;
    isLive = false;
    // In steps, for those to whom each change is read aloud.
    state(`no news for ${span(Math.floor((performance.now() - heardAt) / 5000) * 5)}`, false, 0);
  }

  async function once() {
    attempt = new AbortController();
    since = performance.now();
    const answer = await fetch(path, {
      headers: headers({ accept: "text/event-stream" }), signal: attempt.signal,
    });
    if (answer.status === 204) return false;
    if (!answer.ok) {
      const problem = await answer.json().catch(() => ({}));
      state(problem.message ?? `the server answered with status ${answer.status}`, false, answer.status);
      return ![401, 403, 404, 410].includes(answer.status);
    }
    pause = RETRY_LEAST;
    isLive = false;
    heard();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return true;
      heard();
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
    const watcher = setInterval(watch, 1000);
    for (let goesOn = true; goesOn && !isOver;) {
      try {
        goesOn = await once();
      } catch {
        if (!attempt.signal.aborted) state("the server does not answer; trying again", false, 0);
      }
      since = null;
      if (goesOn && !isOver) await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(RETRY_MOST, pause * 2);
    }
    clearInterval(watcher);
  }

  forever();
  return () => {
    isOver = true;
    attempt.abort();
  };
}
