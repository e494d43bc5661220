/**
 * Measures the SQLite store of the dispatcher against its targets and against plain SQLite in the same run, and prints
 * the table. Each measure runs in its own process on a database of its own; the rounds take them in turn.
 *
 *   nice -n 15 node bench/dispatch-store.ts                 everything: about six minutes and 6 GB of disk
 *   node bench/dispatch-store.ts --quick                    a minute: one round, a tenth of the done requests
 *   node bench/dispatch-store.ts --measure single           one measure, in this process, as one line of JSON
 *
 * It measures the built package: run `npm run build` first. BATCHWISE_BENCH_FOLDER says where databases go (default:
 * the system's folder for temporary files); put it on the disk that is meant.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import type { Measurement } from "./harness/child.ts";
import { describeMachine } from "./harness/machine.ts";
import { median } from "./harness/numbers.ts";
import { renderSection } from "./report/markdown.ts";
import { type Claim, figure, holds, ratio, type Section } from "./report/section.ts";
import { measure } from "./store/measures.ts";

const MANY_DONE = 10_000_000;
const PASSING = 1_000_000;
/** The quick run does this share of the long measures. */
const QUICK_SHARE = 10;

const IN_EACH_ROUND = [
  ...["ingest", "ingestRaw", "dispatchMany", "single", "singleRaw", "dispatchSingle", "batch", "settleRaw"],
];

const { values: flags } = parseArgs({
  options: { quick: { type: "boolean", default: false }, measure: { type: "string" }, count: { type: "string" } },
});

const run = promisify(execFile);

async function inProcess(name: string, count = 0): Promise<Measurement> {
  const args = ["--no-warnings", fileURLToPath(import.meta.url), "--measure", name, "--count", String(count)];
  const { stdout } = await run(process.execPath, args);
  process.stderr.write(`${name} ${count || ""} ${stdout}`);
  return JSON.parse(stdout) as Measurement;
}

/** What the rounds gave for each measure; a ratio is formed within one round. */
class Rounds {
  readonly #seen = new Map<string, Measurement[]>();

  async add(name: string, count = 0): Promise<void> {
    const key = `${name} ${count}`;
    this.#seen.set(key, [...(this.#seen.get(key) ?? []), await inProcess(name, count)]);
  }

  of(name: string, figure: string, count = 0): number {
    return median(this.#all(name, figure, count));
  }

  ratio(name: string, base: string, figure: string): number {
    const bases = this.#all(base, figure, 0);
    return median(this.#all(name, figure, 0).map((value, round) => value / (bases[round] ?? Number.NaN)));
  }

  #all(name: string, figure: string, count: number): number[] {
    return (this.#seen.get(`${name} ${count}`) ?? []).map((one) => one[figure] ?? Number.NaN);
  }
}

async function measureAll(rounds: number, many: number, passing: number): Promise<Rounds> {
  const seen = new Rounds();
  for (let round = 0; round < rounds; round += 1) {
    for (const name of IN_EACH_ROUND) await seen.add(name);
  }
  await seen.add("sealAmong", many);
  await seen.add("passing", passing);
  return seen;
}

function sectionOf(seen: Rounds, many: number, passing: number): Section {
  const claims: Claim[] = [
    atLeast("durable by `enqueueMany` of 1,000", seen.of("dispatchMany", "perSecond"), 30_000, "/s"),
    atLeast("durable by single `enqueue`s, 256 callers", seen.of("dispatchSingle", "perSecond"), 5_000, "/s"),
    atMost("sealing 50,000", seen.of("batch", "sealMs"), 150, "ms"),
    atLeast("settled by chunks of 1,000", seen.of("batch", "perSecond"), 30_000, "/s"),
    atMost("sealing among many done", seen.of("sealAmong", "ratio", many), 1.5, "x"),
    atMost("peak memory of a process", seen.of("passing", "peakMb", passing), 300, "MB"),
  ];
  const row = (what: string, name: string, base: string): string[] => [
    what,
    `${figure(seen.of(name, "perSecond"))}/s`,
    `${figure(seen.of(base, "perSecond"))}/s`,
    ratio(seen.ratio(name, base, "perSecond")),
  ];
  const sealed = (among: string, name: string): string[] => [
    `seal 50,000 among ${among} done`,
    `${figure(seen.of("sealAmong", name, many))} ms`,
    "",
    "",
  ];
  return {
    title: "The SQLite store",
    about: [
      "Requests of 2 KB under random ids, results of 500 bytes; WAL, synchronous FULL, a commit is on the disk when its",
      "callers are answered. Plain SQLite is one table with one prepared insert and the same settings: for calls and",
      "results 1,000 inserts a commit, for single requests one insert a commit. Done requests are made by SQL, with the",
      `rows that the store leaves and texts of 20 bytes. ${figure(passing)} requests of 2 KB passed through for the memory.`,
    ],
    tables: [
      {
        head: ["work", "the store", "plain SQLite", "ratio"],
        rows: [
          row("in by calls of 1,000", "ingest", "ingestRaw"),
          row("the same by the dispatcher's `enqueueMany`", "dispatchMany", "ingestRaw"),
          row("in one by one, 256 callers", "single", "singleRaw"),
          row("the same by the dispatcher's `enqueue`", "dispatchSingle", "singleRaw"),
          row("settle by chunks of 1,000", "batch", "settleRaw"),
          sealed("10,000", "fewMs"),
          sealed(figure(many), "manyMs"),
          ["probe the 50,000 there", `${figure(seen.of("sealAmong", "probeMs", many))} ms`, "", ""],
          ["all of it, one after the other", `${figure(seen.of("passing", "perSecond", passing))}/s`, "", ""],
        ],
      },
    ],
    claims,
  };
}

function atLeast(text: string, measured: number, limit: number, unit: string): Claim {
  return { text, measured, sense: "at least", limit, unit };
}

function atMost(text: string, measured: number, limit: number, unit: string): Claim {
  return { text, measured, sense: "at most", limit, unit };
}

async function main(): Promise<void> {
  if (flags.measure !== undefined) {
    process.stdout.write(`${JSON.stringify(await measure(flags.measure, Number(flags.count ?? 0)))}\n`);
    return;
  }
  const share = flags.quick ? QUICK_SHARE : 1;
  const [many, passing] = [MANY_DONE / share, PASSING / share];
  const { cpu, cores, node, loadAverage } = describeMachine();
  const section = sectionOf(await measureAll(flags.quick ? 1 : 3, many, passing), many, passing);
  process.stdout.write(`${cpu}, ${cores} cores, Node ${node}, load average ${figure(loadAverage)}\n\n`);
  process.stdout.write(`${renderSection(section)}\n`);
  if (!section.claims.every((claim) => holds(claim))) process.exitCode = 1;
}

await main();
