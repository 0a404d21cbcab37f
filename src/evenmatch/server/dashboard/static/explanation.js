// What the server says about why a ticket waits, as sentences first and numbers after them.
import { make, number, quality, reasonOf, span } from "./words.js";

const UNITS = { relative: " % of its own", percentile: " % of all players" };
const ENDS = { bots: "Plays with bots", keep: "Longest wait ends" };

export function explained(explanation) {
  const several = (explanation.queues ?? []).length > 1;
  // Of several queues each part has its own summary.
  const parts = several ? [] : [make("p", { class: "lead" }, reasonOf(explanation.summary))];
  if (explanation.check) parts.push(...checked(explanation.check, explanation.at));
  for (const part of explanation.queues ?? []) {
    if (several) parts.push(make("h3", {}, `In queue ${part.queue}`), make("p", { class: "lead" }, reasonOf(part.summary)));
    parts.push(...inQueue(part, explanation.at, several));
  }
  return parts;
}

function facts(pairs) {
  return make("dl", { class: "facts" }, ...pairs.filter(([, value]) => value !== null).map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

function until(at, now) {
  if (at === null || at === undefined) return null;
  return at <= now ? "now" : `in ${span(at - now)}`;
}

// Limits may be far below 1, so they have three digits.
function limited({ unit }, value) {
  if (value === null) return "–";
  const shown = UNITS[unit] ? 100 * value : value;
  return `${Math.abs(shown) < 100 ? Number(shown.toPrecision(3)) : number(shown)}${UNITS[unit] ?? ""}`;
}

function inQueue(part, now, several) {
  const isOver = part.at_deadline === "keep" && part.deadline_at <= now;
  // A queue that matches nobody makes no matches with bots either.
  const end = ["paused", "policy_failed"].includes(part.reason.code) && part.at_deadline === "bots" ? "expire" : part.at_deadline;
  const parts = [facts([
    ["Queue", part.queue],
    ["Other waiting tickets", number(part.others)],
    ["May play with now", number(part.allowed)],
    ["Players missing", part.seats.players_missing ? number(part.seats.players_missing) : null],
    [ENDS[end] ?? (several ? "Leaves this queue" : "Expires"), isOver ? null : until(part.deadline_at, now)],
    ["Policy", part.policy],
  ])];
  if (part.changes.length) {
    parts.push(make("h4", {}, "What would have to change"),
      make("ul", { class: "changes" }, ...part.changes.map((text) => make("li", {}, text))));
  }
  if (part.rules.length) parts.push(make("h4", {}, "Its rules now"), rules(part.rules, now));
  for (const [title, prospect] of [["Best match now", part.now], ["Next legal match", part.later]]) {
    if (prospect) parts.push(make("h4", {}, title), prospectOf(prospect, now));
  }
  return parts;
}

function rules(rows, now) {
  const line = (rule) => make("tr", {},
    make("th", { scope: "row" }, rule.attribute ? `${rule.rule} of ${rule.attribute}` : rule.rule),
    make("td", { class: "number" }, rule.rule === "condition" ? "–" : limited(rule, rule.limit)),
    make("td", { class: "number" }, rule.is_pairwise ? number(rule.blocks) : "–"),
    make("td", { class: "number" }, rule.is_pairwise ? number(rule.blocks_alone) : "–"),
    make("td", { class: "number" }, rule.next_at === null ? "never" : rule.next_limit === null ? (rule.rule === "condition" ? until(rule.next_at, now) : "grows all the time") : `${until(rule.next_at, now)}, to ${limited(rule, rule.next_limit)}`));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rules of this ticket" }, make("table", {},
    make("thead", {}, make("tr", {}, ...["Rule", "Limit", "Keeps away", "It alone", "Changes"].map((name, at) =>
      make("th", { scope: "col", class: at ? "number" : null }, name)))),
    make("tbody", {}, ...rows.map(line))));
}

function prospectOf(prospect, now) {
  return facts([
    ["Legal", until(prospect.at, now)],
    ["Quality", quality(prospect.quality)],
    ["Cost, waits included", quality(prospect.cost)],
    ["Tickets", prospect.tickets.join(", ")],
  ]);
}

function checked(check, now) {
  return [make("h3", {}, "Its ready-check"), facts([
    ["Match", check.match],
    ["Must answer", until(check.answer_by, now)],
    ["Have accepted", check.accepted.join(", ") || "nobody"],
    ["Still asked", check.awaited.join(", ") || "nobody"],
    ["Seats to fill again", check.free_seats ? number(check.free_seats) : null],
    ["Sought until", check.free_seats ? until(check.repair_until, now) : null],
  ])];
}
