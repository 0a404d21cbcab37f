// What somebody who is woken at night looks at first: is anything wrong, and how far from its limit.
// The limits of shares are those of deploy/prometheus/alerts.yml.
import { byId, make, number, say, share, span } from "./words.js";

const WINDOW = 300;
const LEAST = 10;
const CALM_AFTER = 15;
const STATES = ["fine", "watch", "alarm"];
const UNKNOWN = -1;
const FEW = 4;

const milliseconds = (seconds) => (seconds < 1 ? `${number(Math.round(seconds * 1000))} ms` : span(seconds));
const level = (value, watch, alarm) => (value >= alarm ? 2 : value >= watch ? 1 : 0);

// Each check returns its value, its level, and what the value is and when it is an alarm.
const CHECKS = [
  {
    id: "starvation", title: "Starvation",
    look({ waiting, overdue, after, waitMax }) {
      const many = waiting >= FEW && overdue >= waiting / 2;
      const line = waitMax ? `${span(after)}, half of wait_max` : span(after);
      if (!waiting) return ["–", 0, "nobody waits"];
      return [`${number(overdue)} of ${number(waiting)}`, many ? 2 : overdue ? 1 : 0, `waiting tickets are overdue (over ${line}). Alarm at half of them.`];
    },
  },
  {
    id: "unmatched", title: "Expired tickets",
    look({ sum }) {
      const [expired, arrivals] = [sum("expired"), sum("arrivals")];
      if (arrivals < LEAST) return [number(expired), UNKNOWN, "tickets ended without a match in 5 min."];
      return [share(expired, arrivals), level(expired / arrivals, 0.05, 0.2), "of arrivals ended without a match in 5 min. Alarm at 20\u00a0%."];
    },
  },
  {
    id: "still", title: "Standstill",
    look({ still }) {
      if (!still) return ["–", 0, "Alarm if enough players for three matches wait, and no match is made for much longer than usual."];
      return [span(still.seconds), 2, `without a match, although the waiting players could fill up to ${number(still.matches)}. Alarm at ${span(still.limit)}.`];
    },
  },
  {
    id: "lost", title: "Missed ready-checks", needsCheck: true,
    look({ asked, ...facts }) {
      // Those who answer now may have been asked before the five minutes.
      const unready = Math.min(asked, facts.unready);
      if (asked < 2 * LEAST) return [number(unready), UNKNOWN, "players declined or did not answer in 5 min."];
      return [share(unready, asked), level(unready / asked, 0.15, 0.25), "of players asked declined or did not answer in 5 min. Alarm at 25\u00a0%."];
    },
  },
  {
    id: "repairs", title: "Failed proposals", needsCheck: true,
    look({ sum }) {
      // Those that end now may have been proposed before the five minutes.
      const [proposed, failed, repaired] = [sum("proposed"), Math.min(sum("proposed"), sum("failed")), sum("repaired")];
      const repairs = `in 5 min; ${repaired === 1 ? "one repair" : `${number(repaired)} repairs`}`;
      if (proposed < LEAST) return [number(failed), UNKNOWN, `proposals failed ${repairs}.`];
      return [share(failed, proposed), level(failed / proposed, 0.1, 0.2), `of proposals failed ${repairs}. Alarm at 20\u00a0%.`];
    },
  },
  {
    id: "stalls", title: "Stalls",
    look({ loop, policy }) {
      const stall = level(loop.longest, 0.25, 1);
      const told = "was the longest time in the last minute during which the server answered nobody. Alarm at 1 s.";
      if (!loop.is_slow) return [span(loop.longest), stall, told];
      const slow = `Policy ${policy} is slow: ${number(loop.over)} of ${number(loop.decisions)} decisions took over ${milliseconds(loop.budget)} in 5 min, the longest ${milliseconds(loop.longest_decision)}.`;
      return [span(loop.longest), Math.max(stall, level(loop.longest_decision, 0, 1)), `${told} ${slow}`];
    },
  },
];

const tiles = new Map();
let queueShown = null;
let isOld = false;

function tileOf(check) {
  const known = tiles.get(check.id);
  if (known) return known;
  const tile = { value: make("dd"), state: make("dd", { class: "state" }), sub: make("dd", { class: "sub" }), level: 0, since: 0 };
  tile.element = make("div", { id: `alarm-${check.id}` }, make("dt", {}, check.title), tile.value, tile.state, tile.sub);
  byId("alarms").append(tile.element);
  tiles.set(check.id, tile);
  return tile;
}

// What gets better has to stay so for a while before it is said: a verdict that flickers is none.
function settle(tile, found, now) {
  if (found >= tile.level) tile.since = now;
  if (found > tile.level || now - tile.since >= CALM_AFTER) tile.level = Math.max(0, found);
}

export function showAlarms(tick, rows, queue, after) {
  if (queueShown !== queue?.name) for (const tile of tiles.values()) tile.level = 0;
  queueShown = queue?.name ?? null;
  const overdue = Math.min(rows.last("overdue") ?? 0, tick.waiting);
  const facts = { waiting: tick.waiting, overdue, after, waitMax: queue?.wait_max, asked: tick.asked, unready: tick.unready, still: tick.still, loop: tick.loop, policy: queue?.policy, sum: (name) => rows.sum(name, WINDOW) };
  const wrong = [[], [], []];
  for (const check of CHECKS) {
    const tile = tileOf(check);
    tile.element.hidden = Boolean(check.needsCheck) && !queue?.ready_check;
    if (tile.element.hidden) continue;
    const [value, found, sub] = check.look(facts);
    settle(tile, found, tick.wall);
    say(tile.value, value);
    const isKnown = found !== UNKNOWN || tile.level > 0;
    say(tile.state, isKnown ? STATES[tile.level] : "too few to tell");
    say(tile.sub, sub);
    tile.element.dataset.state = isKnown ? STATES[tile.level] : "unknown";
    wrong[tile.level].push(check.title.toLowerCase());
  }
  if (isOld) return;
  const said = [["Alarm", wrong[2]], ["Watch", wrong[1]]].filter(([, names]) => names.length);
  byId("verdict").dataset.state = STATES[wrong.findLastIndex((names) => names.length)] ?? "fine";
  say(byId("verdict"), said.map(([word, names]) => `${word}: ${names.join(", ")}.`).join(" ") || "No alarms.");
}

// That nothing was wrong is no verdict while nothing is heard.
export function doubt(old) {
  isOld = old;
  if (!isOld) return;
  byId("verdict").dataset.state = "alarm";
  say(byId("verdict"), "The page hears nothing from the server: what it shows is old.");
}
