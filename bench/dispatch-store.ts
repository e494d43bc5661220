/**
 * Measures the dispatcher on each store: on SQLite against its targets, and on servers of Postgres
 * and Redis. Beside each figure stands the plain store's in the same run. Prints the tables and
 * writes a page of docs for each section. Each measure runs in its own process, on its own database
 * or server; the rounds interleave them.
 *
 *   npm run bench:dispatch                          everything: ten million requests; 8 GB of disk
 *   node bench/dispatch-store.ts --quick            two minutes, one round; writes nothing
 *   node bench/dispatch-store.ts --only servers     one section and its page: sqlite or servers
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
import { found, measure } from "./store/registry.ts";
import { serverStores } from "./suites/server-stores.ts";
import { sqliteStore } from "./suites/sqlite-store.ts";

const ROUNDS = 3;

interface Page {
  readonly suite: (scale: Scale, progress: Progress) => Promise<Section>;
  readonly file: string;
  readonly title: string;
}

/** Each has a page, so that one can be measured without the others. */
const pages: Readonly<Record<string, Page>> = {
  sqlite: { suite: sqliteStore, file: "benchmarks-dispatch.md", title: "Benchmarks of the dispatcher" },
  servers: { suite: serverStores, file: "benchmarks-servers.md", title: "Benchmarks of the dispatcher on servers" },
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

const about = [
  "Written by `npm run bench:dispatch`; do not edit. Each measure runs in a process of its own, in three rounds one",
  "after the other; a ratio is the median over the rounds of batchwise ÷ the plain store of the same round. The",
  "absolute figures belong to this machine, and to its disk above all.",
];

/** Measures one section, prints it, and writes its page unless the run is quick. */
async function measurePage({ suite, file, title }: Page): Promise<void> {
  const machine = describeMachine();
  const ticks = readTicks();
  const started = performance.now();
  const elapsed = (): string => `${((performance.now() - started) / 1000).toFixed(0)} s`;
  const progress: Progress = (line) => process.stderr.write(`[${elapsed()}] ${line}\n`);
  const section = await suite({ rounds: flags.quick ? 1 : ROUNDS, quick: flags.quick, skip: [] }, progress);
  process.stdout.write(`${renderSection(section)}\n\n`);
  for (const claim of section.claims) {
    if (verdictOf(claim) === "missed") process.stdout.write(`target missed: ${claim.text}\n`);
  }
  if (flags.quick) return;
  const report = renderReport(machine, stolenSince(ticks), [section], { title, about });
  writeFileSync(fileURLToPath(new URL(`../docs/${file}`, import.meta.url)), report);
  process.stdout.write(`wrote docs/${file} after ${elapsed()}\n`);
}

async function main(): Promise<void> {
  const { only, measure: name, store, count } = flags;
  if (name !== undefined) {
    const figures = await measure(store, name, count === undefined ? undefined : Number(count));
    process.stdout.write(`${JSON.stringify(figures)}\n`);
    return;
  }
  for (const page of only === undefined ? Object.values(pages) : [found(pages, only)]) await measurePage(page);
}

await main();
