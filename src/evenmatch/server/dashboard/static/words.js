// Numbers and elements for people. Text goes in as text and nothing else, whoever wrote it.

const whole = new Intl.NumberFormat("en");
const tenths = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

export function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  return Math.abs(value) >= 100 || Number.isInteger(value)
    ? whole.format(Math.round(value)) : tenths.format(value);
}

export function span(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds < 0.05) return "0 s";
  if (seconds < 10 && Number.isInteger(seconds)) return `${seconds} s`;
  if (seconds < 10) return `${tenths.format(seconds)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${number(seconds / 3600)} h`;
  return `${number(seconds / 86400)} days`;
}

// A summary without its beginning, where the wait and the queue are shown beside it.
export function reasonOf(summary) {
  const reason = summary.replace(/^This ticket has waited [^:;]*[:;] /, "");
  return reason.charAt(0).toUpperCase() + reason.slice(1);
}

export function spans(least, most) {
  return span(least) === span(most) ? span(most) : `${span(least)} – ${span(most)}`;
}

export function share(part, all) {
  return `${all ? Math.round((100 * part) / all) : 0}\u00a0%`;
}

export function quality(value) {
  return value === null || value === undefined ? "–" : value.toFixed(3);
}

// A rate in the unit in which it is easily read.
export function rateUnit(most) {
  if (most >= 1 || most === 0) return { times: 1, name: "per second", short: "/s" };
  if (most * 60 >= 1) return { times: 60, name: "per minute", short: "/min" };
  return { times: 3600, name: "per hour", short: "/h" };
}

export const byId = (id) => document.getElementById(id);

// Writes only what changed, so that screen readers and the browser have nothing to do otherwise.
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function make(tag, settings = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(settings)) {
    if (name === "class") element.className = value ?? "";
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export function cell(text, kind = "") {
  return make("td", { class: kind || null, role: "cell" }, text);
}

// A long id keeps its end in sight, where ids differ.
export function brief(id, most = 24) {
  return id.length <= most ? id : `${id.slice(0, most - 8)}…${id.slice(-6)}`;
}
