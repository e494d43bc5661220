/**
 * The live page of `GET /stats`: one HTML text without outside assets. It requests JSON from the
 * same address twice a second and draws the last minute.
 *
 * Guarantees: values of the server are inserted as text, never as HTML. A hidden tab sends no
 * requests.
 */

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2733; --soft: #64748b; --line: #d9e0e8; --card: #fff; --back: #f4f6f9;
  --first: #2563eb; --second: #e07a1f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf2; --soft: #93a1b3; --line: #2c3846; --card: #19222d;
  --back: #10161d; --first: #6ea8fe; --second: #f2a65a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px; max-width: 1080px; background: var(--back); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 20px; margin: 0; }
h2 { font-size: 14px; font-weight: 600; margin: 0 0 8px; display: flex; gap: 12px; }
h2 span { font-weight: 400; color: var(--soft); }
h2 .first { color: var(--first); } h2 .second { color: var(--second); }
p { margin: 2px 0 18px; color: var(--soft); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 12px; margin-bottom: 12px; }
.tiles b { display: block; font-size: 24px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tiles span { color: var(--soft); font-size: 13px; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 12px; }
svg { width: 100%; height: 150px; display: block; }
polyline { fill: none; stroke-width: 1.6; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.first { stroke: var(--first); } .second { stroke: var(--second); }
.grid { stroke: var(--line); vector-effect: non-scaling-stroke; }
[hidden] { display: none; }
.scale { display: flex; justify-content: space-between; color: var(--soft); font-size: 12px; margin-top: 4px; }
`;

const BODY = `
<h1 id="title">batchwise</h1>
<p id="state">connecting ...</p>
<div class="tiles" id="tiles"></div>
<div class="charts" id="charts"></div>
`;

const SCRIPT = `
"use strict";
const STEP_MS = 500, POINTS = 120, history = [];
let before = null;

const number = (value, digits) => value == null ? "-" :
  value.toLocaleString("en", { maximumFractionDigits: digits ?? (value < 10 ? 2 : value < 100 ? 1 : 0) });

const TILES = [
  ["texts a second", (s) => s.perSecond.texts],
  ["batches a second", (s) => s.perSecond.batches],
  ["texts a batch, lately", (s) => s.perSecond.batches > 0 ? s.perSecond.texts / s.perSecond.batches : null],
  ["waiting now", (s) => s.stats.waiting],
  ["answered", (s) => s.stats.completed],
  ["refused: overloaded", (s) => s.stats.learned?.target?.refused, "with a target"],
  ["texts a second in time", (s) => s.stats.learned?.target?.capacityPerSecond, "with a target"],
  ["left or refused", (s) => s.stats.cancelled + s.stats.expired + s.stats.rejected + s.stats.failed],
];
const CHARTS = [
  { title: "Texts a batch", series: [["mean", (p) => p.size]] },
  { title: "Texts waiting", series: [["now", (p) => p.waiting]] },
  { title: "Latency, ms", series: [["p50", (p) => p.p50], ["p95", (p) => p.p95]] },
  { title: "Batch run, ms", series: [["real", (p) => p.realMs], ["predicted", (p) => p.predictedMs]] },
  { title: "Refused a second", series: [["now", (p) => p.refused]], isOptional: true },
];

function element(parent, tag, text, className) {
  const made = document.createElement(tag);
  if (text != null) made.textContent = text;
  if (className) made.className = className;
  parent.append(made);
  return made;
}

function svg(parent, tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent.append(made);
  return made;
}

const tiles = TILES.map(([label, read, isOptional]) => {
  const card = element(document.getElementById("tiles"), "section");
  const value = element(card, "b", "-");
  element(card, "span", label);
  return (snapshot) => {
    value.textContent = number(read(snapshot));
    card.hidden = Boolean(isOptional) && read(snapshot) == null;
  };
});

const charts = CHARTS.map(({ title, series, isOptional }) => {
  const card = element(document.getElementById("charts"), "section");
  const head = element(card, "h2", title);
  const picture = svg(card, "svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none" });
  for (const y of [1, 50, 99]) svg(picture, "line", { x1: 0, x2: 100, y1: y, y2: y, class: "grid" });
  const lines = series.map(([name, read], index) => {
    const color = index === 0 ? "first" : "second";
    return { name, read, text: element(head, "span", name, color), shape: svg(picture, "polyline", { class: color }) };
  });
  const scale = element(card, "div", null, "scale");
  element(scale, "span", "a minute ago");
  const top = element(scale, "span");
  element(scale, "span", "now");
  return () => {
    const values = lines.flatMap((line) => history.map(line.read)).filter((value) => value != null);
    const highest = Math.max(1, ...values);
    card.hidden = Boolean(isOptional) && values.length === 0;
    top.textContent = "highest " + number(highest);
    for (const line of lines) {
      const points = history.map((point, index) => {
        const value = line.read(point);
        const x = 100 - ((history.length - 1 - index) * 100) / (POINTS - 1);
        return value == null ? null : x.toFixed(2) + "," + (99 - (98 * value) / highest).toFixed(2);
      });
      line.shape.setAttribute("points", points.filter(Boolean).join(" "));
      line.text.textContent = line.name + " " + number(line.read(history[history.length - 1]));
    }
  };
});

function remember(snapshot) {
  const { stats } = snapshot;
  const batches = before ? stats.batches - before.batches : 0;
  const texts = before ? stats.completed + stats.failed - before.completed - before.failed : 0;
  const refused = stats.learned?.target?.refused ?? null, seconds = snapshot.uptimeMs / 1000;
  const elapsed = before ? Math.max(0.001, seconds - before.seconds) : Infinity;
  const refusedNow = refused === null ? null : (refused - (before?.refused ?? 0)) / elapsed;
  before = { ...stats, refused, seconds };
  history.push({
    refused: refusedNow,
    realMs: snapshot.recentRuns.realMs,
    predictedMs: snapshot.recentRuns.predictedMs,
    size: batches > 0 ? texts / batches : 0,
    waiting: stats.waiting,
    p50: snapshot.recentLatencyMs.p50,
    p95: snapshot.recentLatencyMs.p95,
  });
  if (history.length > POINTS) history.shift();
}

async function tick() {
  if (!document.hidden) {
    try {
      const response = await fetch(location.pathname, { headers: { accept: "application/json" }, cache: "no-store" });
      const snapshot = await response.json();
      const { model, options, workers, stats: { learned } } = snapshot;
      document.getElementById("title").textContent = "batchwise · " + model.name;
      document.getElementById("state").textContent = [
        model.dimensions + " dimensions", "up to " + model.maxTokens + " tokens a text",
        workers.count + (workers.count === 1 ? " thread" : " threads"),
        "batches of at most " + options.maxBatchSize + " texts and " + (learned ? "as many padded tokens as pay: " + number(learned.maxBatchCost, 0) + " (" + learned.state + ")" : options.maxBatchCost + " padded tokens"),
        ...(options.targetLatencyMs === "Infinity" ? [] : ["answers within " + number(options.targetLatencyMs) + " ms, or refuses"]),
        "up " + number(Math.round(snapshot.uptimeMs / 1000)) + " s",
      ].join(" · ");
      remember(snapshot);
      for (const draw of tiles) draw(snapshot);
      for (const draw of charts) draw();
    } catch {
      document.getElementById("state").textContent = "The server does not answer; trying again ...";
    }
  }
  setTimeout(tick, STEP_MS);
}
tick();
`;

export const STATS_PAGE: string = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>batchwise: live batching</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>${BODY}<script type="module">${SCRIPT}</script></body>
</html>
`;
