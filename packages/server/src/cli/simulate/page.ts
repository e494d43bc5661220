// One HTML page with the plots and the table of a simulation. It loads nothing and runs no script.

import { type Chart, drawChart, drawLegend, escaped, type Line } from "./chart.ts";
import { isIndependent, type Scenario } from "./scenario.ts";
import type { Point, Simulation, Sweep } from "./sweep.ts";
import { brief, HEAD, optionsInWords, rowOf, scenarioInWords, verdictOf } from "./words.ts";

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2733; --soft: #64748b; --line: #d9e0e8; --card: #fff; --back: #f4f6f9;
  --first: #2563eb; --second: #d0620f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf2; --soft: #93a1b3; --line: #2c3846; --card: #19222d;
  --back: #10161d; --first: #6ea8fe; --second: #f2a65a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px; max-width: 1240px; background: var(--back); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 21px; margin: 0 0 8px; }
h2 { font-size: 15px; margin: 0 0 4px; }
p { margin: 2px 0; color: var(--soft); }
p.verdict { color: var(--ink); }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px; overflow-x: auto; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(460px, 100%), 1fr)); gap: 14px; margin: 16px 0; }
svg { width: 100%; display: block; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; color: var(--soft); font-size: 13px; }
.legend span { display: inline-flex; align-items: center; gap: 6px; }
svg.sample { width: 24px; height: 8px; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.line.first { stroke: var(--first); } .line.second { stroke: var(--second); } .line.soft { stroke: var(--soft); }
circle.first { fill: var(--first); } circle.second { fill: var(--second); }
.dashed { stroke-dasharray: 5 4; }
.grid { stroke: var(--line); }
.tick { fill: var(--soft); font-size: 12px; } .axis { fill: var(--ink); font-size: 13px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 4px 0 14px; }
th, td { padding: 3px 12px; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 500; font-size: 13px; }
`;

const COLORS = ["first", "second"] as const;

export function pageOf({ scenario, sweeps }: Simulation): string {
  const charts = chartsOf(scenario, sweeps).map(
    (chart) => `<section><h2>${escaped(chart.title)}</h2>${drawLegend(chart)}${drawChart(chart)}</section>`,
  );
  const tables = sweeps.map(
    (sweep) =>
      `<h2>Batcher: ${escaped(optionsInWords(sweep.options))}</h2>${verdicts(sweep, scenario)}${tableOf(sweep, scenario)}`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>batchwise simulate</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<h1>A batcher under load, simulated</h1>
${scenarioInWords(scenario).map(paragraph).join("\n")}
<div class="plots">
${charts.join("\n")}
</div>
<section>${tables.join("\n")}</section>
</body>
</html>
`;
}

function paragraph(line: string): string {
  return `<p>${escaped(line)}</p>`;
}

function verdicts(sweep: Sweep, scenario: Scenario): string {
  return verdictOf(sweep, scenario)
    .map((line) => `<p class="verdict">${escaped(line)}</p>`)
    .join("");
}

function tableOf({ points }: Sweep, scenario: Scenario): string {
  const head = HEAD.map((name) => `<th>${escaped(name.toLowerCase())}</th>`).join("");
  const rows = points.map(
    (point) =>
      `<tr>${rowOf(point, scenario)
        .map((value) => `<td>${value === null ? "-" : value.toLocaleString("en-US")}</td>`)
        .join("")}</tr>`,
  );
  return `<table><tr>${head}</tr>${rows.join("")}</table>`;
}

function chartsOf({ targetMs, arrivals }: Scenario, sweeps: readonly Sweep[]): Chart[] {
  const xTitle = "load (multiples of the arrivals at load 1)";
  const of = (read: (point: Point) => number, name = "", isDashed = false): Line[] =>
    sweeps.map(({ options, points }, index) => ({
      name: [name, sweeps.length > 1 ? `(${optionsInWords(options)})` : ""].filter((part) => part !== "").join(" "),
      points: points.map((point) => [point.load, read(point)]),
      color: COLORS[index] ?? "second",
      isDashed,
    }));
  const beside = (name: string, read: (point: Point) => number): Line => {
    const points = sweeps[0]?.points ?? [];
    return { name, color: "soft", isDashed: true, points: points.map((point) => [point.load, read(point)]) };
  };
  return [
    {
      title: "Latency of what is answered",
      ...{ xTitle, yTitle: "latency (ms, logarithmic)", isLog: true },
      lines: [
        ...of(({ report }) => report.latencyMs.p99, "p99"),
        ...of(({ report }) => report.latencyMs.p50, "p50", true),
        beside(`in time: ${brief(targetMs)} ms`, () => targetMs),
      ],
    },
    {
      title: "Goodput: answered in time",
      ...{ xTitle, yTitle: "items a second" },
      lines: [
        ...of(({ report }) => report.goodputPerSecond, "in time"),
        ...(isIndependent(arrivals)
          ? [beside("the most that can be", ({ report }) => report.bound.goodput * report.offeredPerSecond)]
          : []),
      ],
    },
    {
      title: "Batches",
      ...{ xTitle, yTitle: "items in a batch (mean)" },
      lines: of(({ report }) => report.batchSize.mean, "batch size"),
    },
    {
      title: "Refused",
      ...{ xTitle, yTitle: "share of the items (%)", atLeast: 10 },
      lines: of(({ report }) => (report.offered > 0 ? (100 * report.refused) / report.offered : 0), "refused"),
    },
  ];
}
