// Charts over time: uPlot draws, words say the same to those who do not see it.
/* global uPlot */
import { make, number, rateUnit, say, span } from "./words.js";

const COARSE = 10;
const MOST = { fine: 300, coarse: 361 };
const SECONDS = { fine: 300, coarse: 3600 };
const SHORTEST = 60;
const LEAST = { width: 120, height: 170 };
const COUNTS = ["arrivals", "matches", "players", "expired", "cancelled", "proposed", "repaired", "failed"];

// What a chart may fill: its card is as high as the highest of its row.
function room({ clientWidth, clientHeight }) {
  return { width: Math.max(LEAST.width, clientWidth), height: Math.max(LEAST.height, clientHeight) };
}

function refit(chart, holder) {
  if (!chart || !holder.clientWidth) return;
  const size = room(holder);
  if (size.width !== chart.width || size.height !== chart.height) chart.setSize(size);
}

// The rows of a queue, as the server keeps them: single ticks, and slots of ten.
export class Rows {
  constructor(hour) {
    this.step = hour.step;
    this.fine = hour.fine;
    this.coarse = hour.coarse;
    this.offset = 0;
  }

  // Adds the closed ticks of a snapshot that are not here yet.
  add(tick) {
    this.offset = tick.wall - tick.now / this.step;
    const last = this.fine.tick.at(-1) ?? -1;
    tick.rows.tick.forEach((at, index) => {
      if (at > last) this.#push(at, tick.rows, index);
    });
  }

  #push(at, rows, index) {
    const slot = at - (at % COARSE);
    const isSame = this.coarse.tick.at(-1) === slot;
    for (const name of Object.keys(this.fine)) {
      const value = name === "tick" ? at : rows[name][index];
      this.fine[name].push(value);
      if (this.fine[name].length > MOST.fine + 30) this.fine[name].shift();
      const column = this.coarse[name];
      if (!isSame) column.push(name === "tick" ? slot : value);
      else if (COUNTS.includes(name)) column[column.length - 1] += value;
      else if (name !== "tick") column[column.length - 1] = value;
      if (column.length > MOST.coarse + 2) column.shift();
    }
  }

  // Returns columns of one grain: `at` in Unix seconds, and how many engine seconds a row has.
  view(grain) {
    const table = this[grain];
    const wide = grain === "fine" ? 1 : COARSE;
    // The last slot of ten is not over yet, so its counts would look like a fall.
    const count = grain === "fine" ? table.tick.length : Math.max(0, table.tick.length - 1);
    const columns = { at: table.tick.slice(0, count).map((tick) => tick + wide + this.offset) };
    for (const [name, values] of Object.entries(table)) columns[name] = values.slice(0, count);
    return { columns, seconds: wide * this.step, shown: SECONDS[grain] };
  }

  // What the last minute had, for the tiles.
  lastMinute(name) {
    const { tick } = this.fine;
    const sum = this.sum(name, 60);
    const ticks = Math.min(60, (tick.at(-1) ?? 0) - (tick[0] ?? 0) + 1);
    return { sum, rate: sum / Math.max(1, ticks) / this.step };
  }

  // What the last ticks had together.
  sum(name, ticks) {
    const { tick } = this.fine;
    const since = (tick.at(-1) ?? 0) - ticks;
    let sum = 0;
    for (let i = tick.length - 1; i >= 0 && tick[i] > since; i -= 1) sum += this.fine[name][i];
    return sum;
  }

  // Whether there was anything at all in the hour.
  has(names) {
    return names.some((name) => this.fine[name].some(Boolean) || this.coarse[name].some(Boolean));
  }

  last(name) {
    return this.fine[name].at(-1) ?? null;
  }
}

const rate = (columns, seconds, name) => columns[name].map((count) => count / seconds);

// What is drawn. `series` gives the columns, `unit` words for the axis; a rate's unit follows its size.
const PLOTS = [
  {
    id: "arrivals", title: "Arrivals", kind: "rate", what: "tickets",
    series: [{ name: "arrivals", label: "new tickets", tone: "one", fill: true }],
  },
  {
    id: "matches", title: "Matches", kind: "rate", what: "matches and players",
    series: [
      { name: "matches", label: "matches", tone: "two", fill: true },
      { name: "players", label: "matched players", tone: "one", dash: [6, 4] },
    ],
  },
  {
    id: "waiting", title: "Waiting", kind: "count", what: "tickets", unit: "tickets",
    series: [{ name: "waiting", label: "waiting tickets", tone: "one", fill: true }],
  },
  {
    id: "waits", title: "Waits of matched players", kind: "seconds", what: "waits", unit: "wait",
    series: [
      { name: "p50", label: "half at most", tone: "one" },
      { name: "p90", label: "90 % at most", tone: "two", dash: [8, 4] },
      { name: "p99", label: "99 % at most", tone: "three", dash: [2, 4] },
    ],
  },
  {
    id: "longest", title: "Longest wait", kind: "seconds", what: "the longest wait", unit: "wait",
    series: [{ name: "longest", label: "longest wait", tone: "three", fill: true }],
  },
  {
    id: "proposals", title: "Ready-checks", kind: "rate", what: "proposals", needs: "ready_check",
    series: [
      { name: "proposed", label: "proposed", tone: "one" },
      { name: "repaired", label: "repaired", tone: "two", dash: [8, 4] },
      { name: "failed", label: "failed", tone: "three", dash: [2, 4] },
    ],
  },
];

function ink() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return {
    text: of("--soft"), grid: of("--grid"), one: of("--one"), two: of("--two"), three: of("--three"),
    oneFill: of("--one-fill"), twoFill: of("--two-fill"), threeFill: of("--three-fill"),
  };
}

// Steps of an axis of waits that are round in seconds, minutes, hours or days.
const ROUND_SPANS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
  86400, 172800, 432000, 864000, 4320000];
// Steps of an axis of numbers that one decimal shows as they are, and of one of whole things.
const ROUND_RATES = Array.from({ length: 30 }, (_, at) => [1, 2, 5][at % 3] * 10 ** Math.floor(at / 3) / 10);
const STEPS = { seconds: ROUND_SPANS, rate: ROUND_RATES, count: ROUND_RATES.slice(3) };
const FONT = "12px system-ui, sans-serif";

class Plot {
  constructor(plan) {
    this.plan = plan;
    this.unit = rateUnit(1);
    this.summary = make("p", { class: "summary", id: `plot-${plan.id}-summary` }, "No data yet.");
    this.unitText = make("span", { class: "unit" });
    this.readout = make("p", { class: "readout", "aria-hidden": "true" });
    this.holder = make("div", { class: "plot", role: "img", "aria-labelledby": `plot-${plan.id}-title plot-${plan.id}-summary` });
    const legend = make("ul", { class: "legend" }, ...plan.series.map((each) =>
      make("li", {}, make("span", { class: `swatch ${each.tone}${each.dash ? " dashed" : ""}` }), each.label)));
    this.table = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${plan.title} in numbers` });
    this.details = make("details", {}, make("summary", {}, "In numbers"), this.table);
    this.details.addEventListener("toggle", () => this.#fillTable());
    this.element = make("figure", { class: "card", id: `chart-${plan.id}` },
      make("figcaption", {}, make("h3", { id: `plot-${plan.id}-title` }, plan.title), this.unitText),
      this.summary, plan.series.length > 1 ? legend : "", this.holder, this.readout, this.details);
    this.element.hidden = plan.needs !== undefined;
    this.chart = null;
  }

  show({ columns, seconds, shown }, now, has) {
    const { plan } = this;
    let data = plan.series.map((each) => columns[each.name]);
    if (plan.kind === "rate") {
      const rates = plan.series.map((each) => rate(columns, seconds, each.name));
      this.unit = rateUnit(Math.max(0, ...rates.flat()));
      data = rates.map((values) => values.map((value) => value * this.unit.times));
    }
    this.data = [columns.at, ...data];
    this.hasAny = has;
    // A server that has just started fills the width with what there is.
    this.window = [Math.max(now - shown, Math.min(columns.at[0] ?? now, now - SHORTEST)), now];
    say(this.unitText, plan.kind === "rate" ? `${plan.what} ${this.unit.name}` : plan.unit);
    this.#describe();
    if (!this.chart) this.draw();
    else this.chart.setData(this.data, true);
    if (this.details.open) this.#fillTable();
  }

  // Draws anew, in the colours of the present theme.
  draw() {
    this.chart?.destroy();
    if (!this.data) return;
    const colours = ink();
    const axis = { stroke: colours.text, font: FONT, grid: { stroke: colours.grid, width: 1 }, ticks: { show: false } };
    const format = (value) => this.#format(value);
    this.chart = new uPlot({
      ...room(this.holder),
      padding: [8, 26, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
      scales: { x: { time: true, range: () => this.window }, y: { range: (_, __, most) => [0, roomFor(most, this.plan.kind === "seconds" ? 1 : 0)] } },
      axes: [
        { ...axis, size: 28, space: 70, values: (_, splits) => splits.map(clock) },
        { ...axis, size: 56, space: 34, incrs: STEPS[this.plan.kind], values: (_, splits) => splits.map(format) },
      ],
      series: [{}, ...this.plan.series.map((each) => ({
        label: each.label, stroke: colours[each.tone], width: 2, dash: each.dash, points: { show: false },
        fill: each.fill ? colours[`${each.tone}Fill`] : undefined, spanGaps: false,
      }))],
      hooks: { setCursor: [(chart) => this.#read(chart.cursor.idx)] },
    }, this.data, this.holder);
  }

  fit() {
    refit(this.chart, this.holder);
  }

  #format(value) {
    return this.plan.kind === "seconds" ? span(value) : number(value);
  }

  #read(index) {
    if (index === null || index === undefined || this.data[0][index] === undefined) {
      say(this.readout, "");
      return;
    }
    const parts = this.plan.series.map((each, at) => `${each.label} ${this.#format(this.data[at + 1][index])}`);
    say(this.readout, `${clock(this.data[0][index])}: ${parts.join(", ")}`);
  }

  // One sentence; while nothing happens it does not change.
  #describe() {
    const { plan } = this;
    const has = this.data.slice(1).some((values) => values.some((value) => value !== null && value !== 0));
    setEmpty(this, has ? "" : this.hasAny ? "Nothing in this time" : "No data yet");
    if (!has) {
      say(this.summary, EMPTY[plan.id]);
      return;
    }
    if (plan.id === "waits") {
      say(this.summary, this.#waits());
      return;
    }
    const parts = plan.series.map((each, at) => {
      const values = this.data[at + 1].filter((value) => value !== null);
      if (!values.length) return `${each.label}: none`;
      const most = `at most ${this.#format(Math.max(...values))}`;
      // A rate jumps from second to second, so it is told of the last ten.
      if (plan.kind === "rate") return `${each.label}: ${this.#format(mean(values.slice(-10)))} lately, ${most}`;
      const present = this.data[at + 1].at(-1);
      return `${each.label}: ${present === null ? "none" : this.#format(present)} now, ${most}`;
    });
    say(this.summary, `${parts.join("; ")}.`);
  }

  #waits() {
    const [half, most, all] = this.data.slice(1).map((values) => values.at(-1) ?? null);
    const longest = Math.max(...this.data[3].filter((value) => value !== null));
    if (all === null) return `Nobody was matched in the last minute. Before that, 99 % had waited at most ${span(longest)}.`;
    return `Of the players matched in the last minute, half waited at most ${span(half)}, 90 % at most ${span(most)}, and 99 % at most ${span(all)}.`;
  }

  #fillTable() {
    if (!this.details.open || !this.data) return;
    const [at, ...data] = this.data;
    const stride = Math.max(1, Math.ceil(at.length / 20));
    const rows = [];
    for (let i = at.length - 1; i >= 0; i -= stride) {
      rows.push(make("tr", {}, make("th", { scope: "row" }, clock(at[i])),
        ...data.map((values) => make("td", { class: "number" }, this.#format(values[i])))));
    }
    const head = make("tr", {}, make("th", { scope: "col" }, "At"),
      ...this.plan.series.map((each) => make("th", { scope: "col", class: "number" }, each.label)));
    this.table.replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
  }
}

const EMPTY = {
  arrivals: "No ticket came in this time. POST /v1/tickets creates one.",
  matches: "No match in this time. Matches show up here as soon as tickets fit together.",
  waiting: "Nobody waited in this time.",
  waits: "Nobody was matched in this time, so there are no waits to show.",
  longest: "Nobody waited in this time.",
  proposals: "No match was proposed in this time.",
};

// Says in place of a chart that there is nothing to draw.
function setEmpty({ element, holder }, text) {
  element.classList.toggle("empty", text !== "");
  if (text) holder.dataset.empty = text;
  else delete holder.dataset.empty;
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
// Below the least there is nothing to tell apart.
const roomFor = (most, least = 0) => (most > 0 ? Math.max(least, most * 1.1) : 1);
const two = (value) => String(value).padStart(2, "0");

function clock(seconds) {
  const at = new Date(seconds * 1000);
  const parts = [at.getHours(), at.getMinutes()];
  if (at.getSeconds()) parts.push(at.getSeconds());
  return parts.map(two).join(":");
}

// Matches by quality: twenty bars, as elements, since they need no axis of time.
class Qualities {
  constructor() {
    this.summary = make("p", { class: "summary", id: "plot-quality-summary" }, "No data yet.");
    this.holder = make("div", { class: "plot", role: "img", "aria-labelledby": "plot-quality-title plot-quality-summary" });
    this.table = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Quality in numbers" });
    this.details = make("details", {}, make("summary", {}, "In numbers"), this.table);
    this.details.addEventListener("toggle", () => this.#fillTable());
    this.element = make("figure", { class: "card", id: "chart-quality" },
      make("figcaption", {}, make("h3", { id: "plot-quality-title" }, "Quality"),
        make("span", { class: "unit" }, "matches by quality")),
      this.summary, this.holder, make("p", { class: "readout" }), this.details);
    this.chart = null;
  }

  show(counts) {
    const changed = !this.counts || counts.some((count, bar) => count !== this.counts[bar]);
    this.counts = counts;
    const all = counts.reduce((sum, count) => sum + count, 0);
    setEmpty(this, all ? "" : "No data yet");
    if (all) {
      const width = 1 / counts.length;
      const middle = counts.reduce((sum, count, bar) => sum + count * (bar + 0.5) * width, 0) / all;
      const good = counts.slice(Math.round(0.8 / width)).reduce((sum, count) => sum + count, 0);
      say(this.summary, `${all === 1 ? "One match so far" : `The last ${number(all)} matches`}: about ${middle.toFixed(2)} on average, ${Math.round((100 * good) / all)} % at 0.8 or better; 1 is perfect.`);
    } else {
      say(this.summary, "No match yet. Quality is 1 when every criterion is met in full.");
    }
    if (!this.chart) this.draw();
    else if (changed) this.chart.setData(this.#data());
    if (changed) this.#fillTable();
  }

  #fillTable() {
    if (!this.details.open || !this.counts) return;
    const width = 1 / this.counts.length;
    const rows = this.counts.map((count, bar) => make("tr", {},
      make("th", { scope: "row" }, `${(bar * width).toFixed(2)} to ${((bar + 1) * width).toFixed(2)}`),
      make("td", { class: "number" }, number(count)))).reverse();
    const head = make("tr", {}, make("th", { scope: "col" }, "Quality"), make("th", { scope: "col", class: "number" }, "Matches"));
    this.table.replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
  }

  #data() {
    return [this.counts.map((_, bar) => (bar + 0.5) / this.counts.length), this.counts];
  }

  draw() {
    this.chart?.destroy();
    if (!this.counts) return;
    const colours = ink();
    const axis = { stroke: colours.text, font: FONT, grid: { stroke: colours.grid, width: 1 }, ticks: { show: false } };
    this.chart = new uPlot({
      ...room(this.holder), padding: [8, 26, 0, 0],
      legend: { show: false }, cursor: { show: false },
      scales: { x: { time: false, range: () => [0, 1] }, y: { range: (_, __, most) => [0, roomFor(most)] } },
      axes: [
        { ...axis, size: 28, space: 50, values: (_, splits) => splits.map((value) => value.toFixed(1)) },
        { ...axis, size: 56, space: 34, values: (_, splits) => splits.map((v) => (Number.isInteger(v) ? number(v) : "")) },
      ],
      series: [{}, { stroke: colours.two, fill: colours.two, width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [0.8, 60] }) }],
    }, this.#data(), this.holder);
  }

  fit() {
    refit(this.chart, this.holder);
  }
}

export class Charts {
  constructor(root) {
    this.root = root;
    this.plots = PLOTS.map((plan) => new Plot(plan));
    this.qualities = new Qualities();
    root.replaceChildren(...this.plots.map((plot) => plot.element), this.qualities.element);
    const watch = new ResizeObserver(() => this.#each((plot) => plot.fit()));
    this.#each((plot) => watch.observe(plot.holder));
  }

  #each(act) {
    for (const plot of [...this.plots, this.qualities]) act(plot);
  }

  show(rows, grain, tick, queue) {
    const view = rows.view(grain);
    for (const plot of this.plots) {
      plot.element.hidden = plot.plan.needs !== undefined && !queue?.[plot.plan.needs];
      if (!plot.element.hidden) plot.show(view, tick.wall, rows.has(plot.plan.series.map((each) => each.name)));
    }
    // One more than fills its rows.
    this.root.classList.toggle("odd", this.plots.every((plot) => !plot.element.hidden));
    this.qualities.show(tick.qualities);
  }

  redraw() {
    this.#each((plot) => plot.draw());
  }
}
