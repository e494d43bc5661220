/**
 * The rule of `targetLatencyMs` in virtual time: goodput and p99 in 80 cells of service, arrivals
 * and load, against static settings, other rules and bounds. Prints the claims and writes
 * docs/benchmarks-target.md. It takes some minutes. Unlike in other benchmarks, the figures do not
 * depend on the machine.
 *
 *   npm run bench:target
 *   node bench/target.ts --print      prints the whole page and writes nothing
 *
 * It measures the built package: run `npm run build` first.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { describeMachine } from "./harness/machine.ts";
import { readTicks, stolenSince } from "./harness/steal.ts";
import { renderReport } from "./report/markdown.ts";
import { verdictOf } from "./report/section.ts";
import { measureAll } from "./target/measure.ts";
import { sectionsOf } from "./target/sections.ts";

const { values: flags } = parseArgs({ options: { print: { type: "boolean", default: false } } });

const head = {
  title: "Benchmarks of the latency target",
  about: [
    "Written by `npm run bench:target`; do not edit. [The latency target](latency-target.md) by",
    "[simulation](simulate.md): the engine itself in virtual time, so the figures are the same on every machine.",
  ],
};

const machine = describeMachine();
const ticks = readTicks();
const started = performance.now();
const elapsed = (): string => `${((performance.now() - started) / 1_000).toFixed(0)} s`;
const results = await measureAll((line) => void process.stderr.write(`[${elapsed()}] ${line}\n`));
const sections = sectionsOf(results);
for (const claim of sections.flatMap(({ claims }) => claims)) {
  process.stdout.write(`${verdictOf(claim)}: ${claim.text}: ${claim.measured.toFixed(3)} (${claim.limit})\n`);
}
const report = renderReport(machine, stolenSince(ticks), sections, head);
if (flags.print) process.stdout.write(report);
else writeFileSync(fileURLToPath(new URL("../docs/benchmarks-target.md", import.meta.url)), report);
