import type { LoggedOutcome, OutcomeStatus } from "batchwise/dispatch";
import { expect, test } from "vitest";
import { barLine } from "../../../src/cli/run/progress.ts";
import { progressParts, RunFigures } from "../../../src/cli/run/run-figures.ts";

const START = 1_000_000;

function outcome(status: OutcomeStatus, recordedAt: number): LoggedOutcome {
  return {
    ...{ id: "a", status, response: null, error: null, attempts: 1, cursor: 1, recordedAt, tenant: "", job: "j" },
    ...{ batch: null, metadata: null, usage: { inputTokens: 1_000, outputTokens: 500, totalTokens: 1_500 } },
  } as LoggedOutcome;
}

function stats(
  batches: object = {},
  nextTryAt: number | null = null,
  heldUntil: number | null = null,
): Parameters<typeof progressParts>[1] {
  return { batches, nextTryAt, heldUntil } as Parameters<typeof progressParts>[1];
}

function figures(before: number, added: number, price: { input: number; output: number } | null = null): RunFigures {
  const all = new RunFigures(100, price, START);
  for (let n = 0; n < before; n += 1) all.add(outcome("succeeded", START - 1));
  for (let n = 0; n < added; n += 1) all.add(outcome("succeeded", START + 1));
  return all;
}

test("the rate and the time left count the outcomes of this run, not of earlier ones", () => {
  const parts = progressParts(figures(50, 10), stats({ running: 2, done: 1, sealed: 0 }), START + 5_000);
  expect(parts).toEqual(["60 of 100", "20 s left", "2.0/s", "90k tokens", "open batches: 2 running"]);
});

test("before anything is back it promises no time", () => {
  expect(progressParts(figures(0, 0), stats(), START + 5_000)).toEqual([
    ...["0 of 100", "nothing back yet", "0 tokens", "open batches: none"],
  ]);
});

test("where an earlier process still holds the batches, it shows until when", () => {
  const now = START + 5_000;
  const held = "held by an earlier or another process, free in 71 s";
  expect(progressParts(figures(0, 0), stats({ submitting: 1 }, null, now + 71_000), now)[1]).toBe(held);
  expect(progressParts(figures(0, 100), stats({ submitting: 1 }, null, now + 71_000), now)[1]).toBe("done");
});

test("outcomes of an earlier run are no news", () => {
  expect(progressParts(figures(95, 0), stats({ running: 1 }), START + 5_000)[1]).toBe("nothing new yet");
});

test("where all that are left wait to be tried again, it shows when that is, and no time left", () => {
  const now = START + 5_000;
  expect(progressParts(figures(0, 76), stats({ done: 1 }, now + 28_000), now)).toEqual([
    ...["76 of 100", "24 wait to be tried again, next in 28 s", "15/s", "114k tokens", "open batches: none"],
  ]);
  expect(progressParts(figures(0, 99), stats({}, now + 1), now)[1]).toBe("1 waits to be tried again, next in 1 ms");
  expect(progressParts(figures(0, 100), stats({}, now + 1), now)[1]).toBe("done");
});

test("the cost is of all outcomes of the job, at the price given for a million tokens", () => {
  const all = figures(50, 50, { input: 2, output: 10 });
  expect(all.cost).toBeCloseTo(0.1 * 2 + 0.05 * 10);
  expect(progressParts(all, stats(), START + 5_000)).toContain("$0.7000");
  expect(figures(1, 1).cost).toBeNull();
});

test("unsuccessful requests are shown by their status", () => {
  const all = figures(0, 1);
  all.add(outcome("failed", START));
  all.add(outcome("expired", START));
  expect(progressParts(all, stats(), START + 1_000)).toContain("1 failed, 1 expired");
  expect(all.unsuccessful).toBe(2);
});

test.each([
  [0, 40, "░░░░░░░░░░░░░░░░░░░░ one · two · three"],
  [0.5, 30, "██████████░░░░░░░░░░ one · two"],
  [1, 24, "████████████████████ one"],
  [7, 24, "████████████████████ one"],
  [0.5, 10, "██████████"],
])("a bar of %d in %i columns has as many whole parts as fit", (share, width, line) => {
  expect(barLine({ share, parts: ["one", "two", "three"] }, width)).toBe(line);
});
