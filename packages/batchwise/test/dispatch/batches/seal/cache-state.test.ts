import { expect, test } from "vitest";
import {
  afterLook,
  CACHED_MS,
  firstOf,
  hasNext,
  heldUntil,
  isSending,
  lateBefore,
  type Priming,
  type SentFirst,
  type SlotRows,
  stepOf,
  withBatch,
} from "../../../../src/dispatch/batches/seal/cache-state.ts";
import type { LaneRow } from "../../../../src/dispatch/contract/store/probe.ts";

const NOW = 1_000_000_000;
const row = (ready: number, after = 0): LaneRow => ({
  ...{ lane: "l", ready, bytes: ready, tokens: ready, oldestAt: NOW + after, readySince: NOW + after },
  ...{ deadlineAt: null, deferredUntil: null },
});
const waiting: SlotRows = { next: row(1), rest: row(9) };
const begun = withBatch(null, "k1", NOW);
const running: SentFirst = { haveEnded: false, haveSucceeded: false, account: "" };
const succeeded: SentFirst = { haveEnded: true, haveSucceeded: true, account: "a" };
const failed: SentFirst = { ...succeeded, haveSucceeded: false };
const open: Priming = { phase: "open", batches: [], account: "a", since: NOW, until: NOW + 5 + CACHED_MS };

test("eight requests with a first one among them are worth the wait", () => {
  const [first, next] = [row(1), row(2)];
  expect(firstOf({ first, next, rest: row(6) })).toBe(first);
  expect(firstOf({ first, next, rest: row(4) })).toBe(undefined);
  expect(firstOf({ rest: row(90) })).toBe(undefined);
});

test("where no first one is left, the next one goes ahead", () => {
  const next = row(1);
  expect(firstOf({ next, rest: row(90) })).toBe(next);
  expect(firstOf({ first: row(0), next, rest: row(90) })).toBe(next);
});

test.each<[string, Priming, SlotRows, SentFirst, number, Priming | null]>([
  ["the first ones run", begun, waiting, running, 5, begun],
  ["the first ones have succeeded", begun, waiting, succeeded, 5, open],
  ["a first one failed", begun, waiting, failed, 5, { ...begun, phase: "next", batches: [], account: "a" }],
  ["a first one failed, and nothing is there in its place", begun, { rest: row(9) }, failed, 5, open],
  ["not all of the first ones are sent yet", begun, { ...waiting, first: row(3) }, succeeded, 5, begun],
  ["the next ones failed, too", { ...begun, phase: "next", batches: ["k2"] }, { rest: row(9) }, failed, 5, open],
  ["the hour is over", begun, waiting, running, CACHED_MS, { ...open, account: "", until: NOW + 2 * CACHED_MS }],
  ["requests are left while the cache lives", open, waiting, failed, 9, open],
  ["no request is left", open, {}, failed, 9, null],
  ["the cache has died, and requests are left", open, waiting, failed, 5 + CACHED_MS, open],
  ["only later requests are left", open, { first: row(1, 6), rest: row(9, 7) }, failed, 9, null],
  ["only later first ones are not sent yet", begun, { ...waiting, first: row(3, 1) }, succeeded, 5, open],
])("the cache state after %s", (_what, before, rows, sent, after, expected) => {
  expect(afterLook(before, rows, sent, NOW + after)).toEqual(expected);
});

test("first requests are sent before any other decision, until the end of the hour", () => {
  expect(isSending(begun, { ...waiting, first: row(3) }, NOW)).toBe(true);
  expect(isSending(begun, { ...waiting, first: row(3) }, NOW + CACHED_MS)).toBe(false);
  expect(isSending(begun, waiting, NOW)).toBe(false);
  expect(isSending(open, { first: row(3) }, NOW)).toBe(false);
});

test("only where a next one waits it matters whether the first ones succeeded", () => {
  expect(hasNext(begun, waiting)).toBe(true);
  expect(hasNext(begun, { rest: row(9) })).toBe(false);
  expect(hasNext({ ...begun, phase: "next" }, waiting)).toBe(false);
});

test("a state that a wrong clock has written holds no request back", () => {
  const wrong = withBatch(null, "k1", NOW + 24 * CACHED_MS);
  expect(stepOf(wrong, "rest", null, NOW)).toBe("open");
  expect(afterLook(wrong, waiting, running, NOW)?.phase).toBe("open");
});

test("a first request that comes later does not make the others wait for it", () => {
  expect(stepOf(begun, "first", row(1), NOW + 5)).toBe("sends");
  expect(stepOf(begun, "first", row(1, 1), NOW + 5)).toBe("waits");
});

test("a request waits an hour, or half of the time to its deadline, and not in its last minute", () => {
  const minute = 60_000;
  expect(heldUntil(begun, null)).toBe(NOW + CACHED_MS);
  expect(heldUntil(begun, NOW + 10 * minute)).toBe(NOW + 5 * minute);
  expect(heldUntil(begun, NOW + 1.5 * minute)).toBe(NOW + 0.5 * minute);
  expect(NOW + 10 * minute).toBeLessThan(lateBefore(begun, NOW + 5 * minute));
  expect(NOW + 10 * minute).toBeGreaterThan(lateBefore(begun, NOW + 4 * minute));
  expect(NOW + 1.5 * minute).toBeLessThan(lateBefore(begun, NOW + 0.5 * minute));
});
