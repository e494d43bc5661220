/**
 * Measures the dispatcher on each store: on SQLite against its targets, and on servers of Postgres
 * and Redis. Beside each figure stands the plain store's in the same run. Prints the tables and
 * writes docs/benchmarks-dispatch.md. Each measure runs in its own process, on its own database or
 * server; the rounds interleave them.
 *
 *   npm run bench:dispatch                          everything: ten million requests; 8 GB of disk
 *   node bench/dispatch-store.ts --quick            two minutes, one round; writes nothing
 *   node bench/dispatch-store.ts --only servers     one section, sqlite or servers; writes nothing
 *   node bench/dispatch-store.ts --measure single   one measure, in this process, as a JSON line
 *   node bench/dispatch-store.ts --measure ingest --store postgres --count 50000
 *
 * It measures the built package: run `npm run build` first. It starts servers that this machine has
 * or installs them (Debian, as root), and stops them at the end. BATCHWISE_BENCH_FOLDER is the
 * folder for databases (default: the system's temporary folder); put it on the disk to measure.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { describeMachine } from "./harness/machine.ts";
import type { Progress } from "./harness/rounds.ts";
import { readTicks, stolenSince } from "./harness/steal.ts";
import { renderReport, renderSection } from "./report/markdown.ts";
import { type Scale, type Section, verdictOf } from "./report/section.ts";
import { measure } from "./store/registry.ts";
import { serverStores } from "./suites/server-stores.ts";
import { sqliteStore } from "./suites/sqlite-store.ts";

const ROUNDS = 3;

const suites: Readonly<Record<string, (scale: Scale, progress: Progress) => Promise<Section>>> = {
  sqlite: sqliteStore,
  servers: serverStores,
};

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    measure: { type: "string" },
    store: { type: "string", default: "sqlite" },
    count: { type: "string" },
  },
});

const head = {
  title: "Benchmarks of the dispatcher",
  about: [
    "Written by `npm run bench:dispatch`; do not edit. Each measure runs in a process of its own, in three rounds one",
    "after the other; a ratio is the median over the rounds of batchwise ÷ the plain store of the same round. The",
    "absolute figures belong to this machine, and to its disk above all.",
  ],
};

async function main(): Promise<void> {
  if (flags.measure !== undefined) {
    const count = flags.count === undefined ? undefined : Number(flags.count);
    process.stdout.write(`${JSON.stringify(await measure(flags.store, flags.measure, count))}\n`);
    return;
  }
  if (flags.only !== undefined && suites[flags.only] === undefined) {
    throw new RangeError(`Expected \`--only\` to name one of ${Object.keys(suites).join(", ")}, got \`${flags.only}\``);
  }
  const machine = describeMachine();
  const ticks = readTicks();
  const started = performance.now();
  const elapsed = (): string => `${((performance.now() - started) / 1000).toFixed(0)} s`;
  const progress: Progress = (line) => process.stderr.write(`[${elapsed()}] ${line}\n`);
  const sections: Section[] = [];
  for (const [name, suite] of Object.entries(suites)) {
    if (flags.only !== undefined && flags.only !== name) continue;
    const section = await suite({ rounds: flags.quick ? 1 : ROUNDS, quick: flags.quick, skip: [] }, progress);
    sections.push(section);
    process.stdout.write(`${renderSection(section)}\n\n`);
  }
  const missed = sections.flatMap(({ claims }) => claims).filter((claim) => verdictOf(claim) === "missed");
  for (const { text } of missed) process.stdout.write(`target missed: ${text}\n`);
  if (flags.quick || flags.only !== undefined) return;
  const file = new URL("../docs/benchmarks-dispatch.md", import.meta.url);
  writeFileSync(fileURLToPath(file), renderReport(machine, stolenSince(ticks), sections, head));
  process.stdout.write(`wrote docs/benchmarks-dispatch.md after ${elapsed()}\n`);
}

await main();
