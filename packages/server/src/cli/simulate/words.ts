// A scenario and its outcome in words and tables, for the terminal and for the page.

import type { Arrivals, Service } from "batchwise/simulate";
import { counted, table } from "../common/print.ts";
import { type OptionSet, rateOf, type Scenario } from "./scenario.ts";
import type { Point, Simulation, Sweep } from "./sweep.ts";

export const HEAD: readonly string[] = [
  ...["LOAD", "OFFERED/S", "IN TIME %", "BOUND %", "P50 MS", "P99 MS"],
  ...["BATCH SIZE", "CALLS/ITEM", "REFUSED %", "FAILED %"],
];

/** Three digits. */
export function brief(value: number): number {
  return value >= 1_000 ? Math.round(value) : Number(value.toPrecision(3));
}

export function rowOf({ load, report }: Point): number[] {
  const share = (count: number): number => brief(report.offered > 0 ? (100 * count) / report.offered : 0);
  return [
    ...[load, brief(report.offeredPerSecond), brief(100 * report.goodput), brief(100 * report.bound.goodput)],
    ...[brief(report.latencyMs.p50), brief(report.latencyMs.p99), brief(report.batchSize.mean)],
    ...[brief(report.callsPerItem), share(report.refused), share(report.failed)],
  ];
}

/** What the command prints. */
export function reportOf({ scenario, sweeps }: Simulation): string[] {
  const { targetMs, isDescribed, compare } = scenario;
  const lines = scenarioInWords(scenario);
  if (!isDescribed) {
    lines.unshift("An example: describe your service with --fixed-ms, --item-ms and --rate (--help shows all).", "");
  }
  for (const sweep of sweeps) {
    lines.push("", `Batcher: ${optionsInWords(sweep.options)}`);
    lines.push(...table(HEAD, sweep.points.map(rowOf), "no loads"), ...verdictOf(sweep, targetMs));
    lines.push(...new Set(sweep.points.flatMap(({ report }) => report.warnings)));
  }
  const hint = compare === undefined && sweeps[0] !== undefined ? hintOf(sweeps[0], targetMs) : null;
  return hint === null ? lines : [...lines, "", hint];
}

export function optionsInWords(options: OptionSet): string {
  const parts = Object.entries(options).map(([name, value]) => `${name} ${value}`);
  return parts.length === 0 ? "defaults" : parts.join(", ");
}

/** The lines above the table. */
export function scenarioInWords(scenario: Scenario): string[] {
  const { service, arrivals, targetMs, durationMs, seed } = scenario;
  return [
    `Service: ${serviceInWords(service)}.`,
    `Arrivals at load 1: ${arrivalsInWords(arrivals)}.`,
    `In time: within ${brief(targetMs)} ms. ${brief(durationMs / 1_000)} s of virtual time a load, seed ${seed}.`,
  ];
}

function serviceInWords(service: Service): string {
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
  if (arrivals.kind === "closed") return `${arrivals.callers} callers who wait for each answer`;
  if (arrivals.kind === "times") return `a list of ${counted(arrivals.atMs.length)} times`;
  const rate = `${counted(brief(rateOf(arrivals) ?? 0))} items a second`;
  if (arrivals.kind === "curve") return `a curve of at most ${rate}`;
  if (arrivals.kind === "bunches") return `${rate}, ${arrivals.size} at a time`;
  return arrivals.kind === "bursts" ? `${rate} in bursts` : `${rate}, independent of each other`;
}

/** In time so often counts as well served. */
const WELL = 0.99;

/** What the figures of a set of options come to. */
export function verdictOf({ points }: Sweep, targetMs: number): string[] {
  const lines: string[] = [];
  const firstBad = points.find(({ report }) => report.goodput < WELL);
  if (firstBad === undefined) lines.push(`At each load at least 99 % are answered within ${brief(targetMs)} ms.`);
  else {
    const { load, report } = firstBad;
    lines.push(`From ${load} times the load on, fewer than 99 % are in time: ${percent(report.goodput)} there.`);
  }
  const last = points.at(-1);
  if (last !== undefined && last !== firstBad) {
    const { goodput, bound, latencyMs } = last.report;
    const p99 = `p99 of what is answered is ${counted(brief(latencyMs.p99))} ms`;
    lines.push(
      `At ${last.load} times the load: ${percent(goodput)} in time, ${p99}; at most ${percent(bound.goodput)} can be.`,
    );
  }
  return lines;
}

function percent(share: number): string {
  return `${brief(100 * share)} %`;
}

/** An option worth trying; null if there is nothing to gain by it. */
function hintOf({ points, options }: Sweep, targetMs: number): string | null {
  if (options.targetLatencyMs !== undefined) return null;
  const isLossy = points.some(({ report }) => report.goodput < 0.9 * report.bound.goodput);
  return isLossy ? `Beside it with a latency target: --compare target-latency-ms=${brief(targetMs)}` : null;
}
