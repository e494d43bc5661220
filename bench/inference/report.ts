/** The tables and targets of the inference benchmark, and their place in docs/inference.md. */

import { type Machine, versionOf } from "../harness/machine.ts";
import { median } from "../harness/numbers.ts";
import { renderTable } from "../report/markdown.ts";
import { type Claim, figure, ratio, type Table, verdictOf } from "../report/section.ts";
import { STEPS } from "./ablation.ts";
import { type BoundedClaim, isOutOfReach } from "./bound-figures.ts";
import { type BoundedSection, boundFor, boundSection, type NamedCell, renderBounded } from "./bound-report.ts";
import { MIXES } from "./mixes.ts";
import { DEFAULTS, OFF } from "./plan.ts";
import type { Kept } from "./results.ts";
import { medianOf, type Rounds, ratioOf } from "./turns.ts";

const NARROW = 1.05;

const perSecond = (rounds: Rounds, name: string): string => figure(medianOf(rounds, name, "perSecond"));
const against = (rounds: Rounds, name: string): number => ratioOf(rounds, DEFAULTS, name, "perSecond");
const p99Against = (rounds: Rounds, name: string): number => ratioOf(rounds, DEFAULTS, name, "p99Ms");
const latencies = (rounds: Rounds, name: string): string =>
  `${figure(medianOf(rounds, name, "p50Ms"))} / ${figure(medianOf(rounds, name, "p99Ms"))}`;

export function sectionsOf(kept: Kept): BoundedSection[] {
  const cells = Object.entries(kept.cells);
  const sections = [boundSection(cells), againstOff(cells), againstGrid(cells), againstPython(cells)];
  return [...sections, ablation(kept)].filter(({ tables }) => tables[0]?.rows.length !== 0);
}

function againstOff(cells: readonly NamedCell[]): BoundedSection {
  const rows = cells.map(([name, { rounds }]) => [
    name,
    perSecond(rounds, DEFAULTS),
    perSecond(rounds, OFF),
    ratio(against(rounds, OFF)),
    latencies(rounds, DEFAULTS),
    latencies(rounds, OFF),
    ratio(p99Against(rounds, OFF)),
    `${figure(medianOf(rounds, DEFAULTS, "cpuMs"))} / ${figure(medianOf(rounds, OFF, "cpuMs"))}`,
    figure(medianOf(rounds, DEFAULTS, "loopDelayP99Ms")),
  ]);
  const head = [
    "model/clients/texts",
    "defaults, texts/s",
    "off, texts/s",
    "ratio",
    "defaults, p50 / p99 ms",
    "off, p50 / p99 ms",
    "p99 ratio",
    "processor ms a text, defaults / off",
    "event loop p99 ms",
  ];
  return {
    title: `The defaults against ${OFF}`,
    about: [
      "Ratios are defaults ÷ off: above 1 the defaults answer more texts, below 1 their slowest texts wait less.",
    ],
    tables: [{ head, rows }],
    claims: offClaims(cells),
  };
}

const LEAST: Readonly<Record<string, number>> = { short: 2, mixed: 1.25, long: 0.97 };

function offClaims(cells: readonly NamedCell[]): BoundedClaim[] {
  const claims: BoundedClaim[] = [];
  for (const mix of MIXES) {
    const cell = cells.find(([name]) => name === `minilm/64/${mix}`)?.[1];
    if (cell === undefined) continue;
    const { rounds } = cell;
    const text = `minilm, 64 clients, ${mix} texts: `;
    const claim = x(`${text}texts a second`, against(rounds, OFF), "at least", LEAST[mix] ?? 1);
    claims.push({ ...claim, bound: bestAgainst(cell, OFF) });
    claims.push(x(`${text}p99`, p99Against(rounds, OFF), "at most", NARROW));
  }
  const saturated = cells.filter(([name]) => name.includes("/64/"));
  if (saturated.length === 0) return claims;
  const worst = Math.max(...saturated.map(([, { rounds }]) => medianOf(rounds, DEFAULTS, "loopDelayP99Ms")));
  const loop = { text: "64 clients: event loop delay p99, the worst cell", measured: worst, limit: 20, unit: "ms" };
  return [...claims, { ...loop, sense: "below" }];
}

function x(text: string, measured: number, sense: Claim["sense"], limit: number): Claim {
  return { text, measured, sense, limit, unit: "x" };
}

function againstGrid(cells: readonly NamedCell[]): BoundedSection {
  const looked = cells.filter(([, { winner }]) => winner !== undefined);
  const rows = looked.map(([name, { rounds, winner = "", settledAfterS }]) => [
    name,
    winner,
    perSecond(rounds, winner),
    ratio(against(rounds, winner)),
    ratio(p99Against(rounds, winner)),
    `${figure(medianOf(rounds, DEFAULTS, "rows"))} / ${figure(medianOf(rounds, DEFAULTS, "cost"))}`,
    figure(settledAfterS),
  ]);
  const head = [
    "model/clients/texts",
    "best of the grid",
    "its texts/s",
    "defaults against it",
    "p99 ratio",
    "batches of the defaults, texts / padded tokens",
    "seconds to 95 %",
  ];
  const ratios = looked.map(([, { rounds, winner = "" }]) => against(rounds, winner));
  const claims = [
    x("defaults against the best of the grid: median of the cells", median(ratios), "at least", 0.97),
    x("defaults against the best of the grid: the worst cell", Math.min(...ratios), "at least", 0.93),
  ];
  return {
    title: "The defaults against the best fixed setting",
    about: [
      "Of the grid each setting is looked at once and the best three twice; the best is then measured again in turns with",
      "the defaults. The last column is how long the defaults took, in a process that has just started, until they",
      "answered 95 % of what they answer in the end, over a second.",
    ],
    tables: [{ head, rows }],
    claims: ratios.length === 0 ? [] : claims,
  };
}

function againstPython(cells: readonly NamedCell[]): BoundedSection {
  const measured = cells.filter(([, { python }]) => python.length > 0);
  const names = measured[0]?.[1].python.map(({ name }) => name) ?? [];
  const looks = measured.map(([name, { python }]) => [
    name,
    ...names.map((variant) => figure(python.find((look) => look.name === variant)?.perSecond ?? Number.NaN)),
  ]);
  const rows = measured.flatMap(([cell, { rounds, peers }]) =>
    peers.map((name) => [
      cell,
      name,
      perSecond(rounds, name),
      latencies(rounds, name),
      ratio(against(rounds, name)),
      ratio(p99Against(rounds, name)),
    ]),
  );
  const head = ["model/clients/texts", "service", "texts/s", "p50 / p99 ms", "defaults against it", "p99 ratio"];
  const tables: Table[] = [
    { head, rows },
    { head: ["a first look, texts/s", ...names], rows: looks },
  ];
  return {
    title: "FastAPI and onnxruntime, without batching",
    about: [
      "The same .onnx file behind a route that tokenises and runs one text, in the same run. The same ids give the same",
      "vectors, to 0.0001. Of each kind of route the better number of threads is measured in the rounds.",
    ],
    tables,
    claims: pythonClaims(measured),
  };
}

/**
 * Compares with both kinds of route: the `def` route uses both cores with one thread per run, and
 * is the harder target.
 */
function pythonClaims(cells: readonly NamedCell[]): BoundedClaim[] {
  const limits: Readonly<Record<string, number>> = { short: 2.3, mixed: 1.4 };
  return cells.flatMap(([name, cell]) => {
    const { rounds, peers } = cell;
    const mix = name.split("/")[2] ?? "";
    const limit = limits[mix];
    if (limit === undefined) return [];
    return peers.map((peer) => ({
      ...x(`minilm, 64 clients, ${mix} texts: against ${peer}`, against(rounds, peer), "at least", limit),
      bound: bestAgainst(cell, peer),
    }));
  });
}

/**
 * The upper bound of any service: the rate of the model alone, in the best batches, divided by that
 * service's.
 */
function bestAgainst(cell: NamedCell[1], service: string): number | undefined {
  const best = boundFor(cell)?.name;
  return best === undefined ? undefined : ratioOf(cell.rounds, best, service, "perSecond");
}

function ablation({ ablations }: Kept): BoundedSection {
  const mixes = Object.entries(ablations);
  const rows = STEPS.map(([name]) => [
    name,
    ...mixes.flatMap(([, { rounds }]) => [
      perSecond(rounds, name),
      ratio(ratioOf(rounds, name, DEFAULTS, "perSecond")),
      figure(medianOf(rounds, name, "p99Ms")),
    ]),
  ]);
  const head = [
    "64 clients",
    ...mixes.flatMap(([mix]) => {
      const texts = mix.split("/")[1];
      return [`${texts}: texts/s`, "of the defaults", "p99 ms"];
    }),
  ];
  return {
    title: "Which knob gains what",
    about: [
      "Each row has all that is above it, but for the last one. The defaults add to the row above them that the model's",
      "threads run at a lower priority than HTTP.",
    ],
    tables: [{ head, rows: mixes.length === 0 ? [] : rows }],
    claims: [],
  };
}

/** The text between the marks of the page. */
export function renderResults(kept: Kept, machine: Machine, isQuick: boolean): string {
  const sections = sectionsOf(kept);
  const claims = sections.flatMap((section) => section.claims);
  const met = claims.filter((claim) => verdictOf(claim) !== "missed");
  const tooFar = claims.filter(isOutOfReach).length;
  const all = [...Object.values(kept.cells), ...Object.values(kept.ablations)];
  const distinct = (values: readonly string[]): string => [...new Set(values)].join(", ");
  const python = Object.values(kept.cells).find(({ versions }) => versions !== undefined)?.versions;
  const head: Table = {
    head: ["", ""],
    rows: [
      ["Machine", `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB`],
      ["Node", `${machine.node}, ${versionOf("onnxruntime-node")}`],
      ["FastAPI", python === undefined ? "not measured" : versionsOf(python)],
      ["Commit, date", `${distinct(all.map(({ commit }) => commit))}; ${distinct(all.map(({ date }) => date))}`],
      ["Load average before the first cell", figure(all[0]?.loadAverage ?? Number.NaN)],
      ["Taken by the hypervisor meanwhile, at most", `${figure(100 * Math.max(...all.map(({ stolen }) => stolen)))} %`],
      ["Targets met", `${met.length} of ${claims.length}`],
      ...(tooFar === 0 ? [] : [["Targets missed that the model alone misses too, in the best batches", `${tooFar}`]]),
    ],
  };
  const quick = isQuick
    ? ["**A short run to see that all works: one round on a busy machine. Its figures are no results.**"]
    : [];
  const shown = sections.map((section) => renderBounded(section).replace(/^## /, "### "));
  return [...quick, renderTable(head), ...shown].join("\n\n");
}

function versionsOf(versions: Readonly<Record<string, string>>): string {
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ");
}

const BEGIN = "<!-- bench:begin -->";
const END = "<!-- bench:end -->";

/** The page with `report` between its marks. */
export function withReport(page: string, report: string): string {
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`Expected the page to have ${BEGIN} and ${END}`);
  return `${page.slice(0, from + BEGIN.length)}\n\n${report.trim()}\n\n${page.slice(to)}`;
}
