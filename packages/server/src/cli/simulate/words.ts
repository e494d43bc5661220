// A scenario and its outcome in words and tables, for the terminal and for the page.

import type { Arrivals, Service } from "batchwise/simulate";
import { counted, table } from "../common/print.ts";
import { isIndependent, type OptionSet, rateOf, type Scenario } from "./scenario.ts";
import type { Point, Simulation, Sweep } from "./sweep.ts";

export const HEAD: readonly string[] = [
  ...["LOAD", "OFFERED/S", "IN TIME %", "BOUND %", "P50 MS", "P99 MS"],
  ...["BATCH SIZE", "CALLS/ITEM", "REFUSED %", "FAILED %"],
];

/** Three digits. */
export function brief(value: number): number {
  return value >= 1_000 ? Math.round(value) : Number(value.toPrecision(3));
}

/** The cells of a row; null for a cell without items or without a bound. */
export function rowOf({ load, report }: Point, { arrivals }: Pick<Scenario, "arrivals">): (number | null)[] {
  const { offered, answered, goodput, bound, latencyMs } = report;
  const share = (count: number): number | null => (offered > 0 ? brief((100 * count) / offered) : null);
  const ofAnswers = (value: number): number | null => (answered > 0 ? brief(value) : null);
  const most = isIndependent(arrivals) && offered > 0 ? brief(100 * bound.goodput) : null;
  return [
    ...[load, brief(report.offeredPerSecond), offered > 0 ? brief(100 * goodput) : null, most],
    ...[ofAnswers(latencyMs.p50), ofAnswers(latencyMs.p99), brief(report.batchSize.mean)],
    ...[ofAnswers(report.callsPerItem), share(report.refused), share(report.failed)],
  ];
}

/** What the command prints. */
export function reportOf({ scenario, sweeps }: Simulation): string[] {
  const { isDescribed, compare } = scenario;
  const lines = scenarioInWords(scenario);
  if (!isDescribed) {
    lines.unshift("An example: describe your service with --fixed-ms, --item-ms and --rate (--help shows all).", "");
  }
  for (const sweep of sweeps) {
    lines.push("", `Batcher: ${optionsInWords(sweep.options)}`);
    const rows = sweep.points.map((point) => rowOf(point, scenario));
    lines.push(...table(HEAD, rows, "no loads"), ...verdictOf(sweep, scenario));
  }
  const hint = compare === undefined && sweeps[0] !== undefined ? hintOf(sweeps[0], scenario) : null;
  return hint === null ? lines : [...lines, "", hint];
}

export function optionsInWords(options: OptionSet): string {
  const parts = Object.entries(options).map(([name, value]) => `${name} ${value}`);
  return parts.length === 0 ? "defaults" : parts.join(", ");
}

/** The lines above the table. */
export function scenarioInWords(scenario: Scenario): string[] {
  const { service, arrivals, targetMs, durationMs, seed, retries } = scenario;
  const { attempts = 1 } = retries;
  const per = arrivals.kind === "times" ? "at load 1" : "a load";
  return [
    `Service: ${serviceInWords(service)}.`,
    `Arrivals at load 1: ${arrivalsInWords(arrivals)}.`,
    ...(attempts > 1 ? [`A caller who is refused tries up to ${attempts} times.`] : []),
    `In time: within ${brief(targetMs)} ms. ${brief(durationMs / 1_000)} s of virtual time ${per}, seed ${seed}.`,
  ];
}

function serviceInWords(service: Service): string {
  return [shapeInWords(service), ...troublesInWords(service)].join("; ");
}

function troublesInWords({ stalls, changes = [], failures }: Service): string[] {
  const seconds = (ms: number): string => `${brief(ms / 1_000)} s`;
  const words = changes.map(({ fromMs, toMs, factor }) => {
    const until = toMs === undefined ? "on" : `to ${seconds(toMs)}`;
    return `from ${seconds(fromMs)} ${until} calls take ${factor} times as long`;
  });
  if (stalls !== undefined) words.push(`${percent(stalls.share)} of the calls take ${stalls.factor} times as long`);
  if (failures?.share !== undefined) words.push(`${percent(failures.share)} of the calls fail`);
  if (failures?.above !== undefined) words.push(`calls that cost more than ${failures.above} fail`);
  return words;
}

function shapeInWords(service: Service): string {
  const { noise = 0 } = service;
  const noisy = noise > 0 ? `, give or take ${brief(100 * noise)} %` : "";
  switch (service.kind) {
    case "line":
      return `a call takes ${service.fixedMs} ms and ${service.itemMs} ms an item${noisy}`;
    case "steps":
      return `a call takes ${service.fixedMs} ms and ${service.stepMs} ms for each ${service.stepSize} items begun${noisy}`;
    case "table":
      return `calls take ${service.points.map(([size, ms]) => `${ms} ms for ${size}`).join(", ")} items${noisy}`;
    case "function":
      return "a function";
  }
}

function arrivalsInWords(arrivals: Arrivals): string {
  if (arrivals.kind === "closed") {
    const { callers, thinkMs = 0 } = arrivals;
    return `${callers} callers who wait for each answer${thinkMs > 0 ? ` and then think ${thinkMs} ms` : ""}`;
  }
  if (arrivals.kind === "times") return `a list of ${counted(arrivals.atMs.length)} times`;
  const rate = `${counted(brief(rateOf(arrivals) ?? 0))} items a second`;
  if (arrivals.kind === "curve") return `a curve of at most ${rate}`;
  if (arrivals.kind === "bunches") return `${rate}, ${arrivals.size} at a time`;
  return arrivals.kind === "bursts" ? `${rate} in bursts` : `${rate}, independent of each other`;
}

/** In time so often counts as well served. */
const WELL = 0.99;

/** What the figures of a set of options come to. */
export function verdictOf({ points: all }: Sweep, { targetMs, arrivals }: Scenario): string[] {
  const points = all.filter(({ report }) => report.offered > 0);
  const empty = all.filter(({ report }) => report.offered === 0).map(({ load }) => load);
  const lines = [...new Set(all.flatMap(({ report }) => report.warnings))];
  if (empty.length > 0) lines.push(`No item is counted at load ${empty.join(", ")}: name more --seconds.`);
  if (points.length === 0) return lines;
  const firstBad = points.find(({ report }) => report.goodput < WELL);
  if (firstBad === undefined) lines.push(`At each load at least 99 % are answered within ${brief(targetMs)} ms.`);
  else {
    const { load, report } = firstBad;
    lines.push(`From ${load} times the load on, fewer than 99 % are in time: ${percent(report.goodput)} there.`);
  }
  const last = points.at(-1);
  if (last !== undefined && last !== firstBad) {
    const { answered, goodput, bound, latencyMs } = last.report;
    const p99 = answered > 0 ? `, p99 of what is answered is ${counted(brief(latencyMs.p99))} ms` : "";
    const most = isIndependent(arrivals) ? `; at most ${percent(bound.goodput)} can be` : "";
    lines.push(`At ${last.load} times the load: ${percent(goodput)} in time${p99}${most}.`);
  }
  return lines;
}

function percent(share: number): string {
  return `${brief(100 * share)} %`;
}

/** An option worth trying; null if there is nothing to gain by it. */
function hintOf({ points, options }: Sweep, { targetMs, arrivals }: Scenario): string | null {
  if (options.targetLatencyMs !== undefined) return null;
  const isLossy = points.some(({ report: { offered, goodput, bound } }) => {
    return offered > 0 && goodput < 0.9 * (isIndependent(arrivals) ? bound.goodput : 1);
  });
  return isLossy ? `Beside it with a latency target: --compare target-latency-ms=${brief(targetMs)}` : null;
}
