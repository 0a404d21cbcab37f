// What an operator may do: pause and resume a queue, change its policy, cancel a ticket.
// Every act is asked for once more, and its outcome is said in the server's own words.
import { byId, brief, say } from "./words.js";
import { call, key, useKey } from "./server.js";

let queue = null;
let policyTyped = false;
// Whether a key was typed of which the server has not said yet what it thinks.
let isOnTrial = false;

function confirmed(title, text, yes, isGrave) {
  const dialog = byId("confirm");
  say(byId("confirm-title"), title);
  say(byId("confirm-text"), text);
  const button = byId("confirm-yes");
  say(button, yes);
  button.className = isGrave ? "danger" : "";
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

function tell(text, isBad = false) {
  const place = byId("outcome");
  say(place, text);
  place.classList.toggle("bad", isBad);
  const sheet = byId("sheet");
  if (sheet.open) {
    const copy = byId("sheet-outcome");
    if (copy) say(copy, text);
  }
}

async function act(method, path, body, done) {
  const { status, body: answer } = await call(method, path, body);
  if (status >= 200 && status < 300) {
    tell(done);
    return true;
  }
  tell(sentence(answer), true);
  if (status === 401 || status === 403) byId("key").focus();
  return false;
}

function sentence(answer) {
  const text = answer?.message ?? "the server gave no reason";
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;
}

export async function cancelTicket(id) {
  const name = brief(id, 40);
  const yes = await confirmed(`Cancel ticket ${name}?`, "Its players stop waiting, and are told so. This cannot be undone.", "Cancel the ticket", true);
  if (yes) await act("DELETE", `/v1/tickets/${encodeURIComponent(id)}`, undefined, `Ticket ${name} is cancelled.`);
}

async function pauseOrResume() {
  if (!queue) return;
  const { name, paused } = queue;
  const path = `/v1/queues/${encodeURIComponent(name)}/${paused ? "resume" : "pause"}`;
  const text = paused
    ? "It takes tickets and makes matches again."
    : "It takes no new tickets and makes no matches until you resume it. Waiting players keep their place.";
  const yes = await confirmed(`${paused ? "Resume" : "Pause"} ${name}?`, text, paused ? "Resume" : "Pause", !paused);
  if (yes) await act("POST", path, undefined, paused ? `Queue ${name} is running again.` : `Queue ${name} is paused.`);
}

async function changePolicy(event) {
  event.preventDefault();
  if (!queue) return;
  const policy = byId("policy").value.trim();
  if (!policy || policy === queue.policy) {
    tell(`Queue ${queue.name} already uses ${queue.policy}; type another policy.`, true);
    return;
  }
  const { name } = queue;
  const yes = await confirmed(`Change the policy of ${name}?`, `From ${queue.policy} to ${policy}. Waiting players keep their place.`, "Change it", false);
  if (!yes) return;
  const path = `/v1/queues/${encodeURIComponent(name)}/policy`;
  policyTyped = !(await act("PUT", path, { policy }, `Queue ${name} now uses ${policy}.`));
}

function showKey(isRefused = false) {
  byId("key-forget").hidden = !key();
  say(byId("key-hint"), key()
    ? `${isRefused ? "The key was refused: type another, or forget it." : "A key is in use."} It stays in this tab, until you close it.`
    : "A server without keys needs none. The key stays in this tab, until you close it.");
}

export function hasKey() {
  return key() !== "";
}

// Says what the server made of the key: that it is in use is said by whoever lets it in alone.
export function judgeKey(isGood, isRefused, text) {
  if (!hasKey() || !(isGood || isRefused)) return;
  showKey(isRefused);
  if (isOnTrial) tell(isGood ? "The key is in use." : `The key was refused: ${text}.`, !isGood);
  isOnTrial = false;
}

export function showQueue(shown) {
  if (queue?.name !== shown?.name) policyTyped = false;
  queue = shown;
  if (!shown) return;
  say(byId("pause"), `${shown.paused ? "Resume" : "Pause"} ${shown.name}`);
  if (!policyTyped) byId("policy").value = shown.policy;
}

export function setUp(reconnect) {
  showKey();
  byId("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const typed = byId("key").value.trim();
    if (!/^[!-~]*$/.test(typed)) {
      tell("This is no key: it contains a space or a letter that no key has. Copy all of it once more.", true);
      byId("key").focus();
      return;
    }
    useKey(typed);
    byId("key").value = "";
    showKey();
    isOnTrial = hasKey();
    tell(isOnTrial ? "Checking the key." : "No key is in use.");
    reconnect();
  });
  byId("key-forget").addEventListener("click", () => {
    useKey("");
    showKey();
    tell("The key is forgotten.");
    byId("key").focus();
    reconnect();
  });
  byId("pause").addEventListener("click", pauseOrResume);
  byId("policy").addEventListener("input", () => {
    policyTyped = true;
  });
  byId("policy-form").addEventListener("submit", changePolicy);
  byId("cancel-form").addEventListener("submit", (event) => {
    event.preventDefault();
    cancelTicket(byId("cancel").value.trim());
  });
}
