import { expect, test } from "vitest";
import { flushMark, flushTimes, markFlushes } from "../../../src/dispatch/runtime/flush-marks.ts";
import { memoryStore } from "../../../src/dispatch/stores/memory/memory-store.ts";

const HOUR = 3_600_000;
const NOW = 1_000 * HOUR;

function processes() {
  const store = memoryStore();
  const runtime = { changeMarks: (changes: Parameters<typeof store.marks>[0]) => store.marks(changes, NOW) };
  const read = async (lane: string) => flushTimes(await store.marks([], NOW), NOW).get(flushMark(lane));
  return { runtime, read };
}

test("a flush from a clock that is hours ahead does not count, and a right one replaces it", async () => {
  const { runtime, read } = processes();
  await markFlushes(runtime, ["a"], NOW + 8 * HOUR);
  expect(await read("a")).toBeUndefined();
  await markFlushes(runtime, ["a"], NOW);
  expect(await read("a")).toBe(NOW);
});

test("a flush that is older changes no newer one, also from a clock some minutes ahead", async () => {
  const { runtime, read } = processes();
  await markFlushes(runtime, ["a"], NOW + 60_000);
  await markFlushes(runtime, ["a", "b"], NOW);
  expect([await read("a"), await read("b")]).toEqual([NOW + 60_000, NOW]);
});

test("a process whose clock is hours behind replaces no mark by an older one, and its flush counts", async () => {
  const { runtime, read } = processes();
  await markFlushes(runtime, ["a"], NOW - 5_000);
  await markFlushes(runtime, ["a"], NOW - 5 * HOUR - 9_000, 5 * HOUR);
  expect(await read("a")).toBe(NOW - 5_000);
  await markFlushes(runtime, ["a"], NOW - 5 * HOUR, 5 * HOUR);
  expect(await read("a")).toBe(NOW);
});

test("a process whose clock is hours ahead sets a mark that counts for the others", async () => {
  const { runtime, read } = processes();
  await markFlushes(runtime, ["a"], NOW - 5_000);
  await markFlushes(runtime, ["a"], NOW + 8 * HOUR, -8 * HOUR);
  expect(await read("a")).toBe(NOW);
});

test("a flush covers the requests of a process whose clock is seconds ahead", async () => {
  const { runtime, read } = processes();
  await markFlushes(runtime, ["a"], NOW, -3_000);
  expect(await read("a")).toBe(NOW);
});

test("a flush is written however often other processes are faster", async () => {
  const { runtime, read } = processes();
  let losses = 20;
  const slow = {
    changeMarks: async (changes: Parameters<typeof runtime.changeMarks>[0]) => {
      losses -= 1;
      if (losses > 0) await markFlushes(runtime, ["a"], NOW - losses);
      return runtime.changeMarks(changes);
    },
  };
  await markFlushes(slow, ["a"], NOW);
  expect(await read("a")).toBe(NOW);
});
