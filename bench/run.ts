/**
 * Runs the benchmarks, prints each table with its targets, and writes docs/benchmarks.md.
 *
 *   npm run bench                          everything
 *   node bench/run.ts --only w1,w3         some of it; writes nothing
 *   node bench/run.ts --only w1 --rounds 3
 *   node bench/run.ts --quick              ratios only, few rounds, loose limits; fails when one is over
 *
 * It measures the built package: build first, as the npm scripts do.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { describeMachine } from "./harness/machine.ts";
import type { Progress } from "./harness/rounds.ts";
import { readTicks, stolenSince } from "./harness/steal.ts";
import { renderReport, renderSection } from "./report/markdown.ts";
import { holds, quickSlack, type Scale, type Section } from "./report/section.ts";
import { bursts } from "./suites/bursts.ts";
import { dispatch } from "./suites/dispatch.ts";
import { limits } from "./suites/limits.ts";
import { policy } from "./suites/policy.ts";
import { pythonSystems } from "./suites/python-systems.ts";
import { closedLoop, deepQueue, loneItem, optionCost } from "./suites/queues.ts";

interface Suite {
  readonly run: (scale: Scale, progress: Progress) => Promise<Section>;
  /** 0 leaves the suite out of the long run, and likewise below out of the quick one. */
  readonly rounds: number;
  readonly quickRounds: number;
}

const suites: Readonly<Record<string, Suite>> = {
  w6: { run: policy, rounds: 7, quickRounds: 2 },
  w1: { run: bursts, rounds: 9, quickRounds: 7 },
  w2: { run: closedLoop, rounds: 9, quickRounds: 5 },
  w3: { run: deepQueue, rounds: 7, quickRounds: 3 },
  lone: { run: loneItem, rounds: 7, quickRounds: 3 },
  options: { run: optionCost, rounds: 7, quickRounds: 3 },
  limits: { run: limits, rounds: 5, quickRounds: 1 },
  dispatch: { run: dispatch, rounds: 0, quickRounds: 2 },
  python: { run: pythonSystems, rounds: 7, quickRounds: 0 },
};

const head = {
  title: "Benchmarks",
  about: [
    "Written by `npm run bench`; do not edit. Every contender runs in its own process; each round runs all of them in",
    "a shuffled order. A ratio is the median over the rounds of contender ÷ base of the same round, so read the",
    "ratios: the nanoseconds belong to this machine on this day. What each contender is made of is in `bench/peers/`.",
  ],
};

const { values: flags } = parseArgs({
  options: { quick: { type: "boolean", default: false }, only: { type: "string" }, rounds: { type: "string" } },
});

function chosenSuites(): [string, Suite][] {
  const names = flags.only?.split(",");
  for (const name of names ?? []) {
    if (suites[name] === undefined) {
      throw new RangeError(`Expected \`--only\` to name some of ${Object.keys(suites).join(", ")}, got \`${name}\``);
    }
  }
  return Object.entries(suites).filter(
    ([name, { rounds, quickRounds }]) => names?.includes(name) ?? (flags.quick ? quickRounds : rounds) > 0,
  );
}

async function main(): Promise<void> {
  if (!existsSync(new URL("../packages/batchwise/dist/index.js", import.meta.url))) {
    throw new Error("packages/batchwise/dist is missing: run `npm run build` first");
  }
  const machine = describeMachine();
  const ticks = readTicks();
  const started = performance.now();
  const progress: Progress = (line) => {
    process.stderr.write(`[${((performance.now() - started) / 1000).toFixed(0)} s] ${line}\n`);
  };
  const slack = flags.quick ? quickSlack : 1;
  const sections: Section[] = [];
  for (const [, suite] of chosenSuites()) {
    const rounds = Number(flags.rounds ?? (flags.quick ? suite.quickRounds : suite.rounds));
    const section = await suite.run({ rounds, quick: flags.quick }, progress);
    sections.push(section);
    process.stdout.write(`${renderSection(section, slack)}\n\n`);
  }
  const missed = sections.flatMap(({ claims }) => claims).filter((claim) => !holds(claim, slack));
  for (const { text } of missed) process.stdout.write(`target missed: ${text}\n`);
  if (flags.quick) {
    if (missed.length > 0) process.exitCode = 1;
  } else if (flags.only === undefined && flags.rounds === undefined) {
    const folder = new URL("../docs/", import.meta.url);
    mkdirSync(folder, { recursive: true });
    const file = fileURLToPath(new URL("benchmarks.md", folder));
    writeFileSync(file, renderReport(machine, stolenSince(ticks), sections, head));
    process.stdout.write(`wrote docs/benchmarks.md after ${((performance.now() - started) / 1000).toFixed(0)} s\n`);
  }
}

await main();
