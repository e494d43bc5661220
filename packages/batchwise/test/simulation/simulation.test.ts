// The main correctness test: worlds made from seeds, run on the virtual clock, checked against a
// small model. With BATCHWISE_SEED set, only that world runs, and what happens in it is printed.

import { expect, test } from "vitest";
import type { Violation } from "./model.ts";
import { runWorld } from "./run-world.ts";

const GROUPS = 3;
const WORLDS_A_GROUP = 100;

const replayed = process.env.BATCHWISE_SEED;

function report(seed: number, violations: readonly Violation[]): string {
  const lines = violations.map(({ check, detail }) => `  ${check}: ${detail}`);
  const command = `BATCHWISE_SEED=${seed} npx vitest run packages/batchwise/test/simulation`;
  return [`Seed ${seed} breaks promises:`, ...lines, `Replay it: ${command}`].join("\n");
}

async function checkWorld(seed: number, trace?: string[]): Promise<void> {
  const violations = await runWorld(seed, trace);
  expect(violations.length, report(seed, violations)).toBe(0);
}

if (replayed === undefined) {
  for (let group = 0; group < GROUPS; group += 1) {
    const first = group * WORLDS_A_GROUP + 1;
    test(`worlds ${first} to ${first + WORLDS_A_GROUP - 1} keep every promise of the batcher`, async () => {
      for (let seed = first; seed < first + WORLDS_A_GROUP; seed += 1) await checkWorld(seed);
    });
  }
} else {
  test(`world ${replayed} keeps every promise of the batcher`, async () => {
    const trace: string[] = [];
    try {
      await checkWorld(Number(replayed), trace);
    } finally {
      process.stdout.write(`${trace.join("\n")}\n`);
    }
  });
}

test("a seed gives the same world, and the same course of events, each time", async () => {
  const traces: string[][] = [[], []];
  for (const trace of traces) await runWorld(42, trace);
  expect(traces[0]?.length).toBeGreaterThan(20);
  expect(traces[0]).toEqual(traces[1]);
});
