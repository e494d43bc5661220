import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ResolvedOptions } from "../../../src/core/contract/options.ts";
import { PreparedOptions } from "../../../src/core/contract/resolve-options.ts";
import { type ChoiceState, chooseLane, mayBeReady } from "../../../src/core/policy/choose-lane.ts";
import { decide, type Verdict } from "../../../src/core/policy/decide.ts";
import { FIFO, pack } from "../../../src/core/policy/pack.ts";
import type { Lane } from "../../../src/core/queue/lane.ts";
import { Kit, type NewEntry, otherHolder } from "../support/queue-kit.ts";

const NEVER = Number.POSITIVE_INFINITY;

const resting: ChoiceState = {
  preferredBatchSize: 4,
  maxWaitMs: 0,
  leadMs: undefined,
  isQueueFull: false,
  isDraining: false,
  isPaused: false,
  gate: "open",
  passedAt: Number.POSITIVE_INFINITY,
  packer: FIFO,
};

function optionsOf(given: object): ResolvedOptions {
  return PreparedOptions.of(given).options;
}

/**
 * Lanes as the engine fills them: those that may be ready for a reason other than age are marked.
 */
class Lanes {
  readonly kit = new Kit();
  readonly options: ResolvedOptions;
  now = 0;

  constructor(options: ResolvedOptions) {
    this.options = options;
    this.kit.queue.keepDeadlines(options.maxWaitMs > 0);
  }

  push(of: NewEntry): void {
    this.kit.push({ ...of, at: this.now });
    const lane = [...this.kit.queue.lanes()].find(({ key }) => key === of.key) as Lane;
    if (this.options.maxWaitMs > 0 && mayBeReady(lane, this.options)) this.kit.queue.markHot(lane);
  }

  /** The policy's verdict on one lane. */
  verdict(lane: Lane, state: ChoiceState): Verdict {
    const packed = pack(lane, this.options, NEVER).full;
    const isKnown = this.options.batchCost === "sum" || (state.maxWaitMs > 0 && state.gate === "open");
    const full = lane.size >= this.options.maxBatchSize ? "size" : isKnown ? packed : null;
    return decide(lane, full, state, this.now);
  }

  /** Chooses, compares with the verdicts on all lanes, and takes the batch. */
  check(state: ChoiceState): void {
    const { queue } = this.kit;
    const verdicts = new Map([...queue.lanes()].map((lane) => [lane, this.verdict(lane, state)]));
    const ready = [...verdicts].filter(([, { reason }]) => reason !== null).map(([lane]) => lane);
    const urgent = queue.mostUrgent as Lane;
    const hot = [...queue.hot];
    const choice = chooseLane(queue, this.options, state, this.now);
    for (const lane of hot) if (!queue.hot.has(lane)) expect(ready).not.toContain(lane);
    const mayGo =
      state.gate === "open" || state.isPaused
        ? ready
        : ready.filter((lane) => lane === urgent || lane.flushes !== null);
    if (choice.lane === null) {
      expect(mayGo).toEqual([]);
      const wakes = [...verdicts.values()].map((verdict) => (verdict.reason === null ? verdict.wakeAt : NEVER));
      if (state.gate === "open") expect(choice.wakeAt).toBe(Math.min(NEVER, ...wakes));
      return;
    }
    expect(mayGo).toContain(choice.lane);
    if (ready.includes(urgent)) expect(choice.lane).toBe(urgent);
    expect(verdicts.get(choice.lane)).toEqual({ reason: choice.reason });
    const last = state.isPaused ? (choice.lane.flushes?.upTo ?? -1) : NEVER;
    queue.take(pack(choice.lane, this.options, last).entries, otherHolder());
  }
}

const step = fc.oneof(
  {
    arbitrary: fc.record({
      key: fc.constantFrom(undefined, "a", "b", "c", "d", "e"),
      priority: fc.constantFrom(0, 0, 1, 3),
      cost: fc.constantFrom(0, 1, 2, 6),
      dueInMs: fc.oneof(fc.constant(NEVER), fc.constant(NEVER), fc.nat(40)),
    }),
    weight: 6,
  },
  { arbitrary: fc.record({ advance: fc.nat(12) }), weight: 2 },
  { arbitrary: fc.record({ flush: fc.constantFrom(undefined, "a", "b") }), weight: 1 },
  {
    arbitrary: fc.record({ gate: fc.constantFrom("open", "turn"), isPaused: fc.boolean(), isQueueFull: fc.boolean() }),
    weight: 2,
  },
);

const given = fc.record({
  maxWaitMs: fc.constantFrom(0, 5, 20, NEVER),
  maxBatchSize: fc.integer({ min: 4, max: 8 }),
  maxBatchCost: fc.constantFrom(7, 12, NEVER),
  batchCost: fc.constantFrom<"sum" | "padded" | ((items: readonly unknown[]) => number)>(
    "sum",
    "padded",
    (items) => items.length * 2,
  ),
  priorityAgingMs: fc.constantFrom(8, 1e9),
});

describe("the lane that goes next", () => {
  test("is one that the policy would send, if there is any, though most lanes are not looked at", () => {
    const leads = fc.constantFrom(undefined, 0, 3);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: "max" }), given, leads, (steps, drawn, leadMs) => {
        const lanes = new Lanes(optionsOf({ ...drawn, cost: () => 1 }));
        const { preferredBatchSize, maxWaitMs } = lanes.options;
        const base = { ...resting, preferredBatchSize, maxWaitMs, leadMs };
        for (const [id, next] of steps.entries()) {
          let state = base;
          if ("key" in next) lanes.push({ id, ...next, dueAt: lanes.now + next.dueInMs });
          else if ("advance" in next) lanes.now += next.advance;
          else if ("flush" in next) lanes.kit.flush(next.flush, [], () => {});
          else state = { ...base, ...next };
          lanes.check(state);
        }
      }),
      { numRuns: 120, endOnFailure: true },
    );
  });

  test("is none while nothing waits", () => {
    const { queue } = new Kit();
    expect(chooseLane(queue, optionsOf({}), resting, 0)).toEqual({ lane: null, wakeAt: NEVER });
  });

  test("is the one with the oldest entry before one that is merely full", () => {
    const lanes = new Lanes(optionsOf({ maxWaitMs: 10, maxBatchSize: 2 }));
    lanes.push({ id: 1, key: "old" });
    lanes.push({ id: 2, key: "urgent", priority: 1 });
    lanes.now = 5;
    for (const id of [3, 4]) lanes.push({ id, key: "full" });
    const state = { ...resting, maxWaitMs: 10, preferredBatchSize: 2 };
    expect(chooseLane(lanes.kit.queue, lanes.options, state, 5)).toMatchObject({ lane: { key: "full" } });
    expect(chooseLane(lanes.kit.queue, lanes.options, state, 10)).toMatchObject({ lane: { key: "urgent" } });
    lanes.kit.leave(2);
    expect(chooseLane(lanes.kit.queue, lanes.options, state, 10)).toMatchObject({ lane: { key: "old" } });
  });

  test("is found for a deadline that a later caller has brought, when no run is known", () => {
    const lanes = new Lanes(optionsOf({ maxWaitMs: 30 }));
    lanes.push({ id: 1, key: "first", dueAt: 31 });
    lanes.now = 5;
    lanes.push({ id: 2, key: "joined" });
    const entry = lanes.kit.entry(2);
    Object.assign(entry.recipient as object, { dueAt: 34 });
    entry.holder?.update(entry, entry);
    lanes.check({ ...resting, maxWaitMs: 30, preferredBatchSize: 32 });
    expect(entry.isWaiting).toBe(false);
  });
});
