/**
 * Runs the benchmarks, prints each table with its targets, and writes docs/benchmarks.md.
 *
 *   npm run bench                                      everything
 *   node bench/run.ts --only w1,w3                     some suites; writes nothing
 *   node bench/run.ts --only w1 --rounds 3
 *   node bench/run.ts --only w1 --skip batshit,pacer   leaves contenders out; writes nothing
 *   node bench/run.ts --quick                          small loads, few rounds; writes nothing
 *
 * It measures the built package: build first, as the npm scripts do. A missed target is printed and
 * does not fail the run, since it depends on the machine. A contender that crashes or answers
 * wrongly fails it.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { describeMachine } from "./harness/machine.ts";
import type { Progress } from "./harness/rounds.ts";
import { readTicks, stolenSince } from "./harness/steal.ts";
import { renderReport, renderSection } from "./report/markdown.ts";
import { type Section, verdictOf } from "./report/section.ts";
import { type Suite, suites } from "./suites/registry.ts";

const head = {
  title: "Benchmarks",
  about: [
    "Written by `npm run bench`; do not edit. Every contender runs in its own process; each round runs all of them in",
    "a shuffled order. A ratio is the median over the rounds of contender ÷ base of the same round, so read the",
    "ratios: the nanoseconds belong to this machine on this day. What each contender is made of is in `bench/peers/`.",
  ],
};

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    rounds: { type: "string" },
    skip: { type: "string" },
  },
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
  const skip = flags.skip?.split(",") ?? [];
  const sections: Section[] = [];
  for (const [, suite] of chosenSuites()) {
    const rounds = Number(flags.rounds ?? (flags.quick ? suite.quickRounds : suite.rounds));
    const run = await suite.load();
    const section = await run({ rounds, quick: flags.quick, skip }, progress);
    sections.push(section);
    process.stdout.write(`${renderSection(section)}\n\n`);
  }
  const missed = sections.flatMap(({ claims }) => claims).filter((claim) => verdictOf(claim) === "missed");
  for (const { text } of missed) process.stdout.write(`target missed: ${text}\n`);
  if (!flags.quick && flags.only === undefined && flags.rounds === undefined && flags.skip === undefined) {
    const folder = new URL("../docs/", import.meta.url);
    mkdirSync(folder, { recursive: true });
    const file = fileURLToPath(new URL("benchmarks.md", folder));
    writeFileSync(file, renderReport(machine, stolenSince(ticks), sections, head));
    process.stdout.write(`wrote docs/benchmarks.md after ${((performance.now() - started) / 1000).toFixed(0)} s\n`);
  }
}

await main();
