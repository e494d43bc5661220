import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { range } from "../support.ts";
import { type StreamFault, streamFaults } from "./simulation/faults.ts";
import { examine } from "./simulation/mutate.ts";
import { type Report, runWorld } from "./simulation/run.ts";

// STREAM_SEED=17 runs only that world.
const only = process.env.STREAM_SEED;
const seeds = only === undefined ? range(1000) : [Number(only)];

async function run(seed: number): Promise<Report> {
  try {
    return await runWorld(seed);
  } catch (error) {
    const command = `STREAM_SEED=${seed} npx vitest run packages/batchwise/test/stream/simulation`;
    throw new Error(`${(error as Error).message}\nReplay: ${command}`, { cause: error });
  }
}

describe("streams in random worlds of rounds, readers, leavers and deadlines", () => {
  test("give every caller exactly its own chunks, hold the producer, and settle", async () => {
    const reports: Report[] = [];
    for (const seed of seeds) reports.push(await run(seed));
    if (only !== undefined) return;
    const fates = reports.flatMap((report) => report.fates);
    for (const fate of ["ended", "failed", "left"]) {
      expect(fates.filter((other) => other === fate).length).toBeGreaterThan(100);
    }
    expect(reports.reduce((sum, { batches }) => sum + batches, 0)).toBeGreaterThan(500);
    expect(reports.reduce((sum, { aborted }) => sum + aborted, 0)).toBeGreaterThan(50);
    expect(reports.reduce((sum, { warnings }) => sum + warnings, 0)).toBeGreaterThan(100);
    expect(reports.reduce((sum, { stalled }) => sum + stalled, 0)).toBeGreaterThan(50);
    expect(reports.reduce((sum, { inSequence }) => sum + inSequence, 0)).toBeGreaterThan(100);
  });

  test("come out the same from the same seed", async () => {
    expect(await run(7)).toEqual(await run(7));
  });
});

describe("the deliberate faults of the streams", () => {
  test.each(streamFaults)("$name: its piece is in the sources exactly once", ({ file, find, replace }) => {
    const text = readFileSync(new URL(`../../src/stream/${file}`, import.meta.url), "utf8");
    expect(text.split(find)).toHaveLength(2);
    expect(replace).not.toBe(find);
  });

  // `mutate.ts` examines all of them.
  test("are found by the worlds: one round per read, which hung streams that were read one after the other", () => {
    expect(examine(streamFaults[0] as StreamFault)).toMatch(/^seed \d+: /);
  });
});
