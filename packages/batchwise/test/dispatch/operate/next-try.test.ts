import { expect, test } from "vitest";
import type { LaneRow } from "../../../src/dispatch/contract/store/probe.ts";
import { nextTryAt } from "../../../src/dispatch/operate/next-try.ts";

function lane(ready: number, deferredUntil: number | null): LaneRow {
  const times = { oldestAt: null, readySince: null, deadlineAt: null };
  return { lane: "l", ready, bytes: 0, tokens: 0, ...times, deferredUntil };
}

test.each<[string, readonly LaneRow[], number, number | null]>([
  ["nothing", [], 0, null],
  ["only paused requests", [lane(0, 70), lane(0, 50)], 0, 50],
  ["one that could go now", [lane(0, 70), lane(1, null)], 0, null],
  ["one in a batch", [lane(0, 70)], 1, null],
])("with %s in the store", (_name, lanes, inBatches, at) => {
  expect(nextTryAt({ lanes, inBatches })).toBe(at);
});
