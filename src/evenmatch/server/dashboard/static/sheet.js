// The sheet: one ticket from waiting to its assignment, a player's tickets, or how a match came about.
import { brief, byId, cell, make, number, quality, say, span } from "./words.js";
import { call } from "./server.js";
import { explained } from "./explanation.js";

const ADDRESS = /^#(ticket|match|player)=(.+)$/;
const ENDED = ["cancelled", "expired"];
const LOOK_EVERY = 1000;
const EXPLAIN_EVERY = 5000;
const WORDS = {
  waiting: "waits for a match",
  proposed: "has been offered a match and must accept",
  matched: "has a match; its place to play comes next",
  assigned: "has a match and a place to play it",
  cancelled: "was cancelled",
  expired: "ended without a match",
};

const told = ({ state, reason, match, assignment }) => JSON.stringify([state, reason, match, assignment]);
const isLive = (state) => state === "waiting" || state === "proposed";
let leave = () => {};
let asked = () => {};
let usualGaps = () => [];
let opener = null;

export function setUp(ask, gapsOf) {
  asked = ask;
  usualGaps = gapsOf;
  const sheet = byId("sheet");
  byId("sheet-close").addEventListener("click", () => sheet.close());
  sheet.addEventListener("close", () => {
    leave();
    leave = () => {};
    if (ADDRESS.test(location.hash)) {
      history.replaceState(null, "", location.pathname + location.search);
    }
    opener?.focus?.();
  });
  addEventListener("hashchange", route);
  route();
}

function route() {
  const [, kind, raw] = ADDRESS.exec(location.hash) ?? [];
  if (!kind) return;
  let id = raw;
  try {
    id = decodeURIComponent(raw);
  } catch {
    // An odd link: take it as it is written.
  }
  leave();
  opener = document.activeElement;
  leave = { ticket: showTicket, match: showMatch, player: showPlayer }[kind](id);
  const sheet = byId("sheet");
  if (!sheet.open) sheet.showModal();
  byId("sheet-title").focus();
}

function facts(pairs) {
  return make("dl", { class: "facts" }, ...pairs.filter(([, value]) => value !== null).map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

function steps(state, hasCheck) {
  const path = hasCheck ? ["waiting", "proposed", "matched", "assigned"] : ["waiting", "matched", "assigned"];
  const shown = ENDED.includes(state) ? ["waiting", state] : path;
  const at = shown.indexOf(state);
  return make("ol", { class: "steps" }, ...shown.map((name, index) => make("li", {
    class: `${index < at ? "done" : ""}${name === state ? "here" : ""}`, "aria-current": name === state ? "step" : null,
  }, name)));
}

function showTicket(id) {
  say(byId("sheet-title"), `Ticket ${brief(id, 40)}`);
  const state = make("div", { class: "stack" }, make("p", {}, "Asking the server."));
  const spoken = make("p", { role: "status", class: "lead", id: "ticket-state" });
  const why = make("div", { class: "stack", id: "explanation" });
  const cancel = make("button", { type: "button", class: "danger", id: "sheet-cancel" }, "Cancel this ticket");
  cancel.addEventListener("click", () => asked("cancel", id));
  const end = make("div", { class: "row" }, cancel);
  byId("sheet-body").replaceChildren(spoken, state, why, end);
  const path = `/v1/tickets/${encodeURIComponent(id)}`;
  let known = null;
  let since = Date.now();
  let seen = false;
  let mayLook = true;
  let isOver = false;
  let next = 0;

  const waited = () => (isLive(known.state)
    ? known.wait + ((Date.now() - since) / 1000) * (window.engineSpeed ?? 1) : known.wait);

  function take(value) {
    const shown = known;
    known = value;
    since = Date.now();
    seen = seen || known.state === "proposed";
    end.hidden = !isLive(known.state);
    say(spoken, `It ${WORDS[known.state] ?? known.state}${known.reason ? ` (${known.reason})` : ""}.`);
    const isNews = !shown || told(shown) !== told(known);
    // A new estimate comes each second; it is shown, but needs no new explanation.
    if (isNews || JSON.stringify(shown.estimate) !== JSON.stringify(known.estimate)) {
      state.replaceChildren(steps(known.state, seen), factsOf(known, waited()));
    }
    return isNews;
  }

  // By questions: a stream or long poll would be a sign of life from the client of its players.
  async function look() {
    const { status, body } = document.hidden ? {} : await call("GET", path);
    if (isOver) return;
    const isRefused = [401, 403, 404, 410].includes(status);
    if (status === 200 && take(body)) explain();
    else if (status !== 200 && body) {
      say(spoken, `${body.message}.`);
      end.hidden ||= isRefused || !known;
      if (!known) state.replaceChildren();
    }
    // A key that may read, but not ask for tickets, sees the same a little later.
    mayLook = status !== 403;
    if (!mayLook) explain();
    if (isRefused || ENDED.includes(known?.state)) return;
    next = setTimeout(look, LOOK_EVERY);
  }

  async function explain() {
    const { status, body } = await call("GET", `${path}/explain`);
    if (status === 200 && !mayLook && !isOver) take(body);
    if (!known || (status === 200 && known.state !== body.state)) return;
    const live = isLive(known.state);
    const titles = { waiting: "Why it waits", proposed: "Where it stands" };
    const title = make("h3", {}, titles[known.state] ?? "How it ended");
    if (status === 200) why.replaceChildren(title, ...explained(body));
    else if (live) why.replaceChildren(title, make("p", { class: "summary" }, `There is no explanation: ${body?.message ?? "the server gave none"}.`));
    else why.replaceChildren();
    if (status === 501 || status === 404 || !live) clearInterval(again);
  }

  const clock = setInterval(() => known && say(byId("ticket-wait"), span(waited())), 1000);
  const again = setInterval(() => document.hidden || explain(), EXPLAIN_EVERY);
  look();
  return () => {
    isOver = true;
    clearTimeout(next);
    clearInterval(clock);
    clearInterval(again);
  };
}

function factsOf(ticket, wait) {
  const live = isLive(ticket.state);
  const { match, assignment, estimate } = ticket;
  return facts([
    [live ? "Waits" : "Waited", make("span", { id: "ticket-wait" }, span(wait))],
    ["Estimate", live && estimate ? `${span(estimate.p50)} more, probably between ${span(estimate.low)} and ${span(estimate.high)}` : null],
    // A proposal is no match yet, so there is nothing to look at.
    ["Match", match && !live ? make("a", { href: `#match=${encodeURIComponent(match)}` }, brief(match, 40)) : match],
    ["Played at", assignment ? Object.entries(assignment).map(([name, value]) => `${name} ${value}`).join(", ") : null],
  ]);
}

// A player's tickets, newest first; whoever opens one of them sees it change.
function showPlayer(id) {
  say(byId("sheet-title"), `Player ${brief(id, 40)}`);
  const body = byId("sheet-body");
  body.replaceChildren(make("p", {}, "Asking the server."));
  let isOver = false;
  (async () => {
    const { status, body: found } = await call("GET", `/v1/tickets?player=${encodeURIComponent(id)}`);
    if (isOver) return;
    if (status !== 200) body.replaceChildren(make("p", { role: "status" }, `${found.message}.`));
    else if (!found.length) body.replaceChildren(make("p", { role: "status" }, "This player has no waiting ticket, and none that ended recently."));
    else body.replaceChildren(...ticketsOf(found));
    body.append(make("h3", {}, "From the journal"), ...replayed("player", id));
  })();
  return () => {
    isOver = true;
  };
}

function ticketsOf(found) {
  const head = (name, kind = null) => make("th", { scope: "col", role: "columnheader", class: kind }, name);
  const live = found.filter((each) => isLive(each.state)).length;
  const rows = found.map((each) => make("tr", { role: "row" },
    make("th", { scope: "row", role: "rowheader", class: "id" }, make("a", { href: `#ticket=${encodeURIComponent(each.id)}` }, brief(each.id))),
    cell(each.reason ? `${each.state} (${each.reason})` : each.state), cell(`in ${each.queues.join(", ")}`, "long"),
    cell(span(each.wait), "number"),
    make("td", { role: "cell" }, each.match && !isLive(each.state) ? make("a", { href: `#match=${encodeURIComponent(each.match)}` }, brief(each.match)) : "–")));
  return [
    make("p", { class: "lead", role: "status" }, live ? "Waiting; ended tickets are below." : "Not waiting; these tickets ended recently."),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tickets of this player" }, make("table", { id: "person-tickets", class: "lines", role: "table" },
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, head("Ticket"), head("State"), head("Queues", "long"), head("Waited", "number"), head("Match"))),
      make("tbody", { role: "rowgroup" }, ...rows))),
  ];
}

function showMatch(id) {
  say(byId("sheet-title"), `Match ${brief(id, 40)}`);
  const body = byId("sheet-body");
  body.replaceChildren(make("p", {}, "Asking the server."));
  let isOver = false;
  (async () => {
    const path = encodeURIComponent(id);
    const told = await call("GET", `/v1/dashboard/matches/${path}`);
    const plain = told.status === 200 ? null : await call("GET", `/v1/matches/${path}`);
    if (isOver) return;
    if (told.status === 200) body.replaceChildren(...story(told.body, usualGaps(told.body.queue)));
    else if (plain.status === 200) body.replaceChildren(...outline(plain.body, told.body.message));
    else body.replaceChildren(make("p", { role: "status" }, `${plain.body.message}.`));
  })();
  return () => {
    isOver = true;
  };
}

// How a match came about: who waited how long, and what it cost.
function story(match, usual) {
  const waits = match.teams.flat().map((party) => party.wait).filter((wait) => wait !== null);
  const longest = Math.max(0, ...waits);
  const parts = [
    make("p", { class: "lead" }, `Made by ${match.policy} in queue ${match.queue}${waits.length ? `; the longest wait was ${span(longest)}` : ""}.`),
    facts([["Quality", quality(match.quality)], ["Cost", match.cost.toFixed(3)],
      ["Region", match.region], ["Bots", match.bots ? number(match.bots) : null], ["Journal record", number(match.record)]]),
    make("h3", {}, "Teams"),
    teamTable(match.teams),
    ...gapTable(match.gaps, usual),
    make("h3", {}, "What it cost"),
  ];
  if (match.factors === null) {
    parts.push(make("p", { class: "summary" }, "The server no longer keeps these tickets, so it cannot show the cost of each criterion."));
  } else {
    const rows = [...match.factors.map((each) => [each.name, each.cost.toFixed(3), each.weighted.toFixed(3)]),
      ["waiting", "", match.waiting.toFixed(3)], ["total", "", match.cost.toFixed(3)]];
    parts.push(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Costs of this match" }, make("table", {},
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Criterion"),
        make("th", { scope: "col", class: "number" }, "Cost, 0 is best"), make("th", { scope: "col", class: "number" }, "Part of the total"))),
      make("tbody", {}, ...rows.map(([name, cost, weighted]) => make("tr", {}, make("th", { scope: "row" }, name),
        make("td", { class: "number" }, cost), make("td", { class: "number" }, weighted)))))));
  }
  parts.push(make("h3", {}, "From the journal"), ...replayed("match", match.match));
  parts.push(links(match.match, `/v1/queues/${encodeURIComponent(match.queue)}/matches?after=${match.record - 1}`));
  return parts;
}

// What to type where the server's data are; the page does not know their folder.
function replayed(what, id) {
  const quoted = /^[\w.-]+$/.test(id) ? id : `'${id.replaceAll("'", "'\\''")}'`;
  const command = make("code", {}, `evenmatch replay DATA --${what} ${quoted}`);
  const copy = make("button", { type: "button", class: "quiet", "aria-label": "Copy the command" }, "Copy");
  const copied = make("span", { role: "status", class: "hint" });
  copy.addEventListener("click", async () => {
    say(copied, "");
    say(copied, await copyOf(command) ? "Copied." : "The command is selected: copy it with your keyboard.");
  });
  return [
    make("p", { class: "summary" }, "Lists all journal records about it. Run the command where the server runs; DATA is its data directory."),
    make("div", { class: "command" }, command, copy, copied),
  ];
}

async function copyOf(element) {
  getSelection().selectAllChildren(element);
  try {
    await navigator.clipboard.writeText(element.textContent);
    return true;
  } catch {
    // Without TLS a browser lends its clipboard to nobody but by the old way, if at all.
    return document.execCommand("copy");
  }
}

function teamTable(teams) {
  const rows = teams.flatMap((team, index) => (team.length ? team : [null]).map((party, place) => make("tr", {},
    place === 0 ? make("th", { scope: "rowgroup", rowspan: String(Math.max(1, team.length)) }, `Team ${index + 1}`) : null,
    make("td", { class: "people" }, party ? (peopleOf(party).join(", ") || party.ticket) : "bots"),
    make("td", { class: "number" }, number(party?.rating)),
    make("td", { class: "number" }, span(party?.wait)))));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Teams of this match" }, make("table", {},
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Team"), make("th", { scope: "col" }, "Players"),
      make("th", { scope: "col", class: "number" }, "Rating"), make("th", { scope: "col", class: "number" }, "Waited"))),
    make("tbody", {}, ...rows)));
}

// Each with the role, and by how much the match's region is above the player's own best.
function peopleOf({ players, roles, latency_delta: above }) {
  return players.map((name, at) => {
    const more = [roles[at], above[at] > 0 ? `+${Math.round(above[at])} ms` : null].filter(Boolean);
    return more.length ? `${name} (${more.join(", ")})` : name;
  });
}

// Beside what is usual, as soon as the page knows that.
function gapTable(gaps, usual) {
  if (!gaps.length) return [];
  const means = new Map(usual.map((gap) => [gap.name, gap.shown]));
  const beside = (made) => (means.size ? made() : null);
  const rows = gaps.map((gap) => make("tr", {}, make("th", { scope: "row" }, gap.name),
    make("td", { class: "number" }, gap.shown), beside(() => make("td", { class: "number" }, means.get(gap.name) ?? "–"))));
  return [make("h3", {}, "How close it is"), make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Gaps of this match" }, make("table", { id: "gaps" },
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Compared"), make("th", { scope: "col", class: "number" }, "This match"),
      beside(() => make("th", { scope: "col", class: "number" }, "Recent mean")))),
    make("tbody", {}, ...rows)))];
}

function outline(match, problem) {
  return [
    make("p", { class: "lead" }, `Made in queue ${match.queue}.`),
    make("p", { class: "summary" }, `${problem}.`),
    facts([["Quality", quality(match.quality)], ["Cost", match.cost.toFixed(3)], ["Bots", match.bots ? number(match.bots) : null]]),
    make("h3", {}, "Teams"),
    ...match.players.map((team, index) => make("p", {}, `Team ${index + 1}: ${team.join(", ") || "bots"}`)),
    links(match.match),
  ];
}

function links(id, feed = null) {
  const json = make("a", { href: `/v1/matches/${encodeURIComponent(id)}` }, "The match as JSON");
  return make("p", { class: "links-below" }, json, feed ? make("a", { href: feed }, "The feed from its record on") : null);
}
