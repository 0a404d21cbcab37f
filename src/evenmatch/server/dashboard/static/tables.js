// Who waits, who has waited longest, and the last matches.
import { brief, byId, cell, make, number, quality, reasonOf, say, share, span, spans } from "./words.js";

const SHADES = 5;

function columnNames(edges) {
  if (!edges.length) return ["all"];
  const names = [`<\u00a0${number(edges[0])}`];
  for (let i = 0; i + 1 < edges.length; i += 1) names.push(`${number(edges[i])}–${number(edges[i + 1])}`);
  return [...names, `≥\u00a0${number(edges.at(-1))}`];
}

// A table whose cells are darker where more wait; each cell says its number too.
export function showCrowd(heat, waiting) {
  const holder = byId("crowd");
  if (!waiting) {
    say(byId("crowd-summary"), "Nobody waits. Tickets show up here by skill and region as they arrive.");
    if (holder.firstChild) holder.replaceChildren();
    return;
  }
  const names = columnNames(heat.edges);
  const hasUnknown = heat.unknown.some((count) => count);
  const most = Math.max(1, ...heat.counts.flat(), ...heat.unknown);
  const shade = (count) => (count ? `heat heat-${Math.max(1, Math.ceil((SHADES * count) / most))}` : "heat");
  const named = heat.regions.length > 1 || heat.regions[0];
  const isOneCell = !named && names.length + hasUnknown < 2;
  const head = make("tr", {}, make("th", { scope: "col" }, named ? "Region" : heat.attribute),
    ...names.map((name) => make("th", { scope: "col", class: "number" }, name)),
    hasUnknown ? make("th", { scope: "col", class: "number" }, "unknown") : null);
  const rows = heat.regions.map((region, row) => make("tr", {},
    make("th", { scope: "row" }, region || (named ? "no region" : "tickets")),
    ...heat.counts[row].map((count) => cell(count ? number(count) : "·", shade(count))),
    hasUnknown ? cell(heat.unknown[row] ? number(heat.unknown[row]) : "·", shade(heat.unknown[row])) : null));
  const table = make("table", { class: "crowd" }, make("thead", {}, head), make("tbody", {}, ...rows));
  // A table of one number says no more than the sentence above it.
  holder.replaceChildren(...(isOneCell ? [] : [table]));
  const sums = heat.counts.map((row, at) => row.reduce((sum, count) => sum + count, heat.unknown[at]));
  const largest = Math.max(...sums);
  const fullest = sums.indexOf(largest);
  const top = Math.max(...heat.counts[fullest]);
  const skill = names.length > 1 && 2 * top > largest
    ? `, ${top < largest ? "mostly " : ""}with ${heat.attribute} ${names[heat.counts[fullest].indexOf(top)]}` : "";
  const from = heat.regions[fullest] ? `from ${heat.regions[fullest]}` : "of no region";
  const who = waiting === 1 ? "It is" : largest === waiting ? "All are" : "Most are";
  const where = 2 * largest > waiting ? `${who} ${from}${largest < waiting ? ` (${share(largest, waiting)})` : ""}${skill}.`
    : `No region has more than ${share(largest, waiting)}.`;
  const many = waiting === 1 ? "One ticket waits" : `${number(waiting)} tickets wait`;
  const text = named ? `${many}, by ${heat.attribute} and region. ${where}` : `${many}${skill}. ${waiting === 1 ? "It names" : "They name"} no region.`;
  say(byId("crowd-summary"), text);
}

const linkTo = (ticket, settings, ...inside) => make("a", { href: `#ticket=${encodeURIComponent(ticket)}`, ...settings }, ...inside);

// `rows` come from the server's list; without it, the one ticket that the stream names is shown.
export function showLongest(rows, oldest, tick) {
  const table = byId("longest");
  // The list may be of another moment than the figures.
  const shown = rows?.length || !oldest ? rows ?? [] : [oldest];
  table.hidden = !shown.length;
  if (!shown.length) say(byId("longest-summary"), "Nobody waits. Those who do are listed here, the longest first.");
  else {
    const who = tick.overdue ? `${number(tick.overdue)} of the ${number(tick.waiting)} who wait ${tick.overdue === 1 ? "is" : "are"}` : "Nobody is";
    const overdue = `${who} overdue (over ${span(tick.after)})`;
    say(byId("longest-summary"), `${overdue}. Choose a ticket to see what it is waiting for.`);
  }
  keepRows(table.tBodies[0], shown, (row) => row.ticket, longLine, fillLong);
}

// A row that is shown still stays where it is, so that a focus on it stays too.
function keepRows(body, items, idOf, build, fill = () => {}) {
  const wanted = new Set(items.map(idOf));
  for (const row of [...body.rows]) if (!wanted.has(row.dataset.id)) row.remove();
  items.forEach((item, at) => {
    const present = body.rows[at];
    if (present?.dataset.id === idOf(item)) fill(present, item);
    else {
      for (const row of [...body.rows]) if (row.dataset.id === idOf(item)) row.remove();
      body.insertBefore(build(item), present ?? null);
    }
  });
}

function longLine(row) {
  const line = make("tr", { "data-id": row.ticket, role: "row" },
    make("th", { scope: "row", role: "rowheader", class: "id" }, linkTo(row.ticket, { title: row.ticket }, brief(row.ticket))),
    cell("", "number"), cell("", "number"), make("td", { class: "why long", role: "cell" }, make("div")),
    make("td", { class: "number", role: "cell" }, linkTo(row.ticket, { class: "button", "aria-label": `Why does ${row.ticket} wait?` }, "Why?")));
  fillLong(line, row);
  return line;
}

function fillLong(line, row) {
  say(line.cells[1], span(row.wait));
  say(line.cells[2], number(row.size));
  say(line.cells[3].firstElementChild, reasonOf(row.summary ?? ""));
}

export function teamsOf(match) {
  return match.teams.map((team) => team.flatMap((party) => (party.players.length ? party.players : [party.ticket])).join(", ") || "bots");
}

export function showMatches(matches, now) {
  const table = byId("matches");
  table.hidden = !matches.length;
  if (!matches.length) {
    say(byId("matches-summary"), "No match since the server started. Matches show up here with their teams and costs.");
    return;
  }
  say(byId("matches-summary"), "Choose a match to see how long its players waited and what each criterion cost.");
  keepRows(table.tBodies[0], matches, (match) => match.match, (match) => {
    const waits = match.teams.flat().map((party) => party.wait).filter((wait) => wait !== null);
    const waited = waits.length ? spans(Math.min(...waits), Math.max(...waits)) : "–";
    return make("tr", { "data-id": match.match, role: "row" },
      make("th", { scope: "row", role: "rowheader", class: "id" }, make("a", { href: `#match=${encodeURIComponent(match.match)}`, title: match.match }, brief(match.match))),
      cell(teamsOf(match).join(" against "), "people long"),
      cell(quality(match.quality), "number"),
      cell(waited, "number"),
      make("td", { class: "number ago", role: "cell", "data-at": String(match.at) }, span(Math.max(0, now - match.at))));
  });
}

export function showGaps(gaps) {
  const line = byId("gaps-summary");
  line.hidden = !gaps.length;
  say(line, gaps.length ? `On average: ${gaps.map((gap) => gap.text).join(", ")}.` : "");
}

export function showAgo(now) {
  for (const element of byId("matches").querySelectorAll(".ago")) {
    say(element, span(Math.max(0, now - Number(element.dataset.at))));
  }
}
