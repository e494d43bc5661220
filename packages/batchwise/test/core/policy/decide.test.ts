import { describe, expect, test } from "vitest";
import type { Full } from "../../../src/core/policy/caps.ts";
import { decide, type LaneView, type PolicyState, type Verdict } from "../../../src/core/policy/decide.ts";

const NEVER = Number.POSITIVE_INFINITY;

interface View extends LaneView {
  readonly full: Full;
}

const lane: View = { size: 3, full: null, oldestAt: () => 100, earliestDueAt: NEVER, isFlushed: false };
const state: PolicyState = {
  preferredBatchSize: 8,
  maxWaitMs: 50,
  leadMs: 10,
  isQueueFull: false,
  isDraining: false,
  isPaused: false,
  gate: "open",
};
const hold: Verdict = { reason: null, wakeAt: NEVER };

/** No batch has ended yet. */
const unknown: Partial<PolicyState> = { leadMs: undefined };

function decideOn({ full, ...view }: View, of: PolicyState, now: number): Verdict {
  return decide(view, full, of, now);
}

function wake(wakeAt: number): Verdict {
  return { reason: null, wakeAt };
}

type Case = [name: string, Partial<View>, Partial<PolicyState>, now: number, Verdict];

describe("a lane with a free slot", () => {
  const cases: Case[] = [
    ["is held until its oldest entry has waited maxWaitMs", {}, {}, 149, wake(150)],
    ["goes when its oldest entry has waited maxWaitMs", {}, {}, 150, { reason: "wait" }],
    ["goes at any later time, too", {}, {}, 900, { reason: "wait" }],
    ["goes with preferredBatchSize entries", { size: 8 }, {}, 100, { reason: "preferred" }],
    ["is held one short of preferredBatchSize", { size: 7 }, {}, 100, wake(150)],
    ["goes at once without maxWaitMs", {}, { maxWaitMs: 0 }, 100, { reason: "idle" }],
    ["is held without end for an unbounded wait", {}, { maxWaitMs: NEVER }, 900, hold],
    ["goes when full by size", { full: "size" }, {}, 100, { reason: "size" }],
    ["goes when full by cost", { full: "cost" }, {}, 100, { reason: "cost" }],
    ["goes when the queue is full", {}, { isQueueFull: true }, 100, { reason: "size" }],
    ["goes when flushed", { isFlushed: true }, {}, 100, { reason: "flush" }],
    ["goes when draining", {}, { isDraining: true }, 100, { reason: "drain" }],
  ];
  test.each(cases)("%s", (_name, of, within, now, verdict) => {
    expect(decideOn({ ...lane, ...of }, { ...state, ...within }, now)).toEqual(verdict);
  });
});

describe("a lane with a deadline", () => {
  const early: Verdict = { reason: "deadline" };
  const cases: Case[] = [
    ["is held until its lead before it", { earliestDueAt: 140 }, {}, 129, wake(130)],
    ["goes its lead before it", { earliestDueAt: 140 }, {}, 130, early],
    ["goes when there is less time left than that", { earliestDueAt: 140 }, {}, 139, early],
    ["goes early for a deadline just after the wait", { earliestDueAt: 155 }, {}, 145, early],
    ["is held as long as others where its lead ends after the wait", { earliestDueAt: 160 }, {}, 149, wake(150)],
    ["goes for the wait where both come together", { earliestDueAt: 160 }, {}, 150, { reason: "wait" }],
    ["is held until its lead in an unbounded wait", { earliestDueAt: 1e9 }, { maxWaitMs: NEVER }, 101, wake(1e9 - 10)],
    ["goes at once for a deadline in the wait, with no run known", { earliestDueAt: 149 }, unknown, 101, early],
    ["goes at once for one at the end of the wait, with no run known", { earliestDueAt: 150 }, unknown, 101, early],
    ["is held for a deadline after the wait, with no run known", { earliestDueAt: 151 }, unknown, 101, wake(150)],
    [
      "goes at once for any deadline in an unbounded wait, with no run known",
      { earliestDueAt: 1e9 },
      { ...unknown, maxWaitMs: NEVER },
      101,
      early,
    ],
    ["goes as idle without maxWaitMs", { earliestDueAt: 101 }, { maxWaitMs: 0 }, 100, { reason: "idle" }],
  ];
  test.each(cases)("%s", (_name, of, within, now, verdict) => {
    expect(decideOn({ ...lane, ...of }, { ...state, ...within }, now)).toEqual(verdict);
  });
});

describe("before all has gathered", () => {
  const cases: Case[] = [
    ["a lane that is not full is held", {}, { maxWaitMs: 0 }, 100, hold],
    ["even one that has waited long enough is held", {}, {}, 900, hold],
    ["even one with preferredBatchSize entries is held", { size: 8 }, {}, 100, hold],
    ["even one with a pressing deadline is held", { earliestDueAt: 101 }, {}, 100, hold],
    ["a full lane goes", { full: "size" }, {}, 100, { reason: "size" }],
    ["a full queue goes", {}, { isQueueFull: true }, 100, { reason: "size" }],
    ["a flushed lane goes", { isFlushed: true }, {}, 100, { reason: "flush" }],
    ["a draining lane goes", {}, { isDraining: true }, 100, { reason: "drain" }],
  ];
  test.each(cases)("%s", (_name, of, within, now, verdict) => {
    for (const gate of ["turn", "pass"] as const) {
      expect(decideOn({ ...lane, ...of }, { ...state, ...within, gate }, now)).toEqual(verdict);
    }
  });
});

describe("while paused", () => {
  const cases: Case[] = [
    ["an overdue lane is held", {}, {}, 900, hold],
    ["a full lane is held", { full: "size" }, {}, 100, hold],
    ["a full queue is held", {}, { isQueueFull: true }, 100, hold],
    ["a lane with a pressing deadline is held", { earliestDueAt: 101 }, {}, 100, hold],
    ["a lane without maxWaitMs is held", {}, { maxWaitMs: 0 }, 100, hold],
    ["a flushed lane goes", { isFlushed: true }, {}, 100, { reason: "flush" }],
    ["a draining lane goes", {}, { isDraining: true }, 100, { reason: "drain" }],
  ];
  test.each(cases)("%s", (_name, of, within, now, verdict) => {
    expect(decideOn({ ...lane, ...of }, { ...state, ...within, isPaused: true }, now)).toEqual(verdict);
  });
});

describe("where several reasons hold", () => {
  const all: Partial<View> = { size: 8, earliestDueAt: 101, isFlushed: true };
  const cases: Case[] = [
    ["being full comes before draining", { ...all, full: "cost" }, { isDraining: true }, 900, { reason: "cost" }],
    ["draining comes before a flush", all, { isDraining: true }, 900, { reason: "drain" }],
    ["being full comes before a flush", { ...all, full: "size" }, {}, 900, { reason: "size" }],
    ["a flush comes before a full queue", all, { isQueueFull: true }, 900, { reason: "flush" }],
    ["a full queue comes before preferredBatchSize", { size: 8 }, { isQueueFull: true }, 900, { reason: "size" }],
    ["preferredBatchSize comes before the wait", { size: 8 }, {}, 900, { reason: "preferred" }],
    ["the wait comes before a deadline", { earliestDueAt: 101 }, {}, 900, { reason: "wait" }],
  ];
  test.each(cases)("%s", (_name, of, within, now, verdict) => {
    expect(decideOn({ ...lane, ...of }, { ...state, ...within }, now)).toEqual(verdict);
  });
});
