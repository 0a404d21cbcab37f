// The page: follows one queue's stream and hands each event to those who show it.
import { byId, make, number, rateUnit, say, span } from "./words.js";
import { call, follow, followLink } from "./server.js";
import { doubt, showAlarms } from "./alarms.js";
import { Charts, Rows } from "./charts.js";
import { showAgo, showCrowd, showGaps, showLongest, showMatches } from "./tables.js";
import * as operate from "./operate.js";
import * as sheet from "./sheet.js";

const LONGEST = 20;
const LIST_EVERY = 3000;
const CHOICES_EVERY = 30000;

const page = {
  chosen: chosenByAddress(), known: [],
  queues: null, rows: null, tick: null, matches: [], after: 60, list: null, hasList: true, timer: 0, choiceTimer: 0, range: "fine",
};
const charts = new Charts(byId("charts"));
let stop = () => {};

// What is shown: a queue, and its part where its group is split, as in `duel&part=1`.
function chosenByAddress() {
  const asked = new URLSearchParams(location.search);
  const [queue, part] = [asked.get("queue"), asked.get("part")];
  return queue && encodeURIComponent(queue) + (part > 0 ? `&part=${encodeURIComponent(part)}` : "");
}

const queryOf = (chosen) => chosen ? `?queue=${chosen}` : "";
const partOf = (chosen) => chosen?.match(/&part=.*/)?.[0] ?? "";

function connect() {
  stop();
  page.rows = null;
  page.tick = null;
  page.list = null;
  stop = follow(`/v1/dashboard/events${queryOf(page.chosen)}`, hear, (text, isGood, status) => {
    if (status === 404 && page.chosen !== null) {
      // The queue of the address is gone: show the first one there is.
      choose(null);
      return;
    }
    const isRefused = status === 401 || status === 403;
    health(isGood ? "live" : isRefused ? operate.hasKey() ? "key refused" : "needs a key" : text, isGood);
    operate.judgeKey(isGood, isRefused, text);
    if (isRefused) askForKey(text);
  });
}

// Without figures there is nothing to look at but the place for the key.
function askForKey(text) {
  const sentence = operate.hasKey()
    ? `The server refused this key: ${text}.`
    : "This server shows its figures to those who have a key that may read.";
  notices([["calm", sentence]], make("a", { href: "#operate-title" }, operate.hasKey() ? "Type another key" : "Type a key"));
  byId("main").classList.add("locked");
}

function health(text, isGood) {
  say(byId("health-text"), text);
  byId("health").dataset.state = isGood ? "good" : "bad";
  byId("main").classList.toggle("old", !isGood);
  doubt(!isGood);
}

function hear(name, value) {
  if (name === "queues") showQueues(value);
  else if (name === "hour") {
    page.rows = new Rows(value);
    page.after = value.overdue_after;
    refreshChoices();
  } else if (name === "matches") {
    page.matches = value;
    showMatches(value, page.tick?.now ?? value[0]?.at ?? 0);
  } else if (name === "tick" && page.rows) {
    const first = page.tick === null;
    page.tick = value;
    page.rows.add(value);
    if (first && page.hasList) refreshList();
    if (!document.hidden) draw();
  }
}

function draw() {
  const { tick, rows } = page;
  if (!tick || !rows) return;
  showAlarms(tick, rows, shownQueue(), page.after);
  showTiles(tick, rows);
  charts.show(rows, page.range, tick, shownQueue());
  showCrowd(tick.heat, tick.waiting);
  showList();
  showGaps(tick.gaps);
  showAgo(tick.now);
}

function shownQueue() {
  return page.queues?.queues.find((each) => each.name === page.queues.queue) ?? null;
}

function showQueues(value) {
  byId("main").classList.remove("locked");
  page.queues = value;
  window.engineSpeed = value.speed;
  showChoices();
  document.title = `${value.queue} – evenmatch`;
  const queue = shownQueue();
  operate.showQueue(queue);
  say(byId("speed"), value.speed === 1 ? "" : `; this server's clock runs ${number(value.speed)} times as fast as yours`);
  showNotices(value.unready, queue);
}

// The stream tells of the queues of one shard, the list of all.
function showChoices() {
  const parts = new Map([...page.queues.queues, ...page.known].map((each) => [each.name, each.parts ?? 1]));
  const offered = [...parts].flatMap(([name, count]) => [...Array(count).keys()].map((part) => make("option",
    { value: part ? `${name}&part=${part}` : name }, count > 1 ? `${name}, part ${part}` : name)));
  const select = byId("queue");
  const shown = (options) => options.map((each) => each.value).join();
  if (shown(offered) !== shown([...select.options])) select.replaceChildren(...offered);
  select.value = page.queues.queue + partOf(page.chosen);
}

async function refreshChoices() {
  clearTimeout(page.choiceTimer);
  if (!document.hidden) {
    const { status, body } = await call("GET", "/v1/queues");
    page.known = status === 200 ? body : [];
    showChoices();
  }
  page.choiceTimer = setTimeout(refreshChoices, CHOICES_EVERY);
}

function showNotices(unready, queue) {
  const told = [];
  if (queue?.fault) told.push(["bad", `This queue makes no matches: ${queue.fault}`]);
  else if (unready) told.push(["bad", `The server is not ready: ${unready}`]);
  if (queue?.paused) told.push(["calm", `Queue ${queue.name} is paused: it takes no new tickets and makes no matches.`]);
  notices(told);
}

function notices(told, more = null) {
  const place = byId("notices");
  const text = told.map(([, sentence]) => sentence).join("\n");
  if ((place.dataset.text ?? "") === text) return;
  place.dataset.text = text;
  place.replaceChildren(...told.map(([kind, sentence]) => make("p", { class: `notice ${kind}`, role: "status" }, sentence, more ? " " : null, more)));
}

function showTiles(tick, rows) {
  say(byId("tile-waiting"), number(tick.waiting));
  say(byId("tile-waiting-sub"), tick.waiting === 1 ? "ticket" : "tickets");
  for (const [name, column] of [["arrivals", "arrivals"], ["matches", "matches"]]) {
    const { rate } = rows.lastMinute(column);
    const unit = rateUnit(rate);
    say(byId(`tile-${name}`), `${number(rate * unit.times)} ${unit.short}`);
  }
  const quiet = rows.last("p50") === null;
  say(byId("tile-p50"), quiet ? "–" : span(rows.last("p50")));
  say(byId("tile-p99"), quiet ? "–" : span(rows.last("p99")));
  const longest = tick.waiting ? rows.last("longest") : null;
  say(byId("tile-longest"), span(longest));
  const sub = byId("tile-longest-sub");
  if (!tick.oldest) say(sub, "nobody waits");
  else if (sub.dataset.ticket !== tick.oldest || !sub.firstElementChild) {
    sub.replaceChildren(make("a", { href: `#ticket=${encodeURIComponent(tick.oldest)}`, title: tick.oldest }, "see this ticket"));
  }
  sub.dataset.ticket = tick.oldest ?? "";
}

function showList() {
  const { tick, rows } = page;
  const oldest = tick.oldest ? { ticket: tick.oldest, wait: rows.last("longest") } : null;
  // Counted a moment earlier than those who wait.
  const overdue = Math.min(rows.last("overdue") ?? 0, tick.waiting);
  showLongest(tick.waiting ? page.list : [], oldest, { waiting: tick.waiting, overdue, after: page.after });
}

// The list is asked for apart from the stream: it costs more, and changes less.
async function refreshList() {
  clearTimeout(page.timer);
  const [name, chosen] = [page.queues?.queue, page.chosen];
  if (!document.hidden && name && page.tick?.waiting) {
    const { status, body } = await call("GET", `/v1/queues/${encodeURIComponent(name)}/waiting?most=${LONGEST}${partOf(page.chosen)}`);
    if (name !== page.queues?.queue || chosen !== page.chosen) return;
    page.list = status === 200 ? body.tickets : null;
    showList();
    // A server without this list has said so once.
    if (status === 404 || status === 501) page.hasList = false;
    if (!page.hasList) return;
  }
  page.timer = setTimeout(refreshList, LIST_EVERY);
}

function choose(chosen) {
  page.chosen = chosen;
  history.replaceState(null, "", location.pathname + queryOf(chosen) + location.hash);
  connect();
}

function setUpTheme() {
  const order = ["system", "light", "dark"];
  const root = document.documentElement;
  const show = () => say(byId("theme"), `Theme: ${root.dataset.theme ?? "system"}`);
  byId("theme").addEventListener("click", () => {
    const next = order[(order.indexOf(root.dataset.theme ?? "system") + 1) % order.length];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      localStorage.setItem("evenmatch-theme", next);
    } catch {
      // It holds until the page is closed.
    }
    show();
    charts.redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.redraw());
  show();
}

byId("queue").addEventListener("change", (event) => choose(event.target.value));
for (const radio of document.querySelectorAll("input[name=range]")) {
  radio.addEventListener("change", () => {
    page.range = radio.value;
    draw();
  });
}
byId("follow").addEventListener("submit", (event) => {
  event.preventDefault();
  location.hash = `ticket=${encodeURIComponent(byId("follow-id").value.trim())}`;
});
byId("person").addEventListener("submit", (event) => {
  event.preventDefault();
  location.hash = `player=${encodeURIComponent(byId("person-id").value.trim())}`;
});
document.addEventListener("click", followLink);
document.addEventListener("auxclick", followLink);
document.addEventListener("visibilitychange", () => document.hidden || draw());
setUpTheme();
operate.setUp(connect);
sheet.setUp((what, id) => what === "cancel" && operate.cancelTicket(id),
  (queue) => (queue === page.queues?.queue ? page.tick?.gaps ?? [] : []));
connect();
