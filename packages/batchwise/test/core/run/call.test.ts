import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ItemOutcome } from "../../../src/core/contract/outcome.ts";
import { isThenable } from "../../../src/core/contract/thenable.ts";
import { Entry } from "../../../src/core/queue/entry.ts";
import { type CalledBatch, HandlerCall } from "../../../src/core/run/call.ts";
import { failEntries, ignorePlaces } from "../../../src/core/run/places.ts";
import { Moment } from "../../../src/core/time/turn.ts";
import { revoked, thenable, unreadable } from "../../abuse/objects.ts";
import { gate, range } from "../../support.ts";
import { type ServicesKit, servicesKit } from "../support/services.ts";

type Told = readonly [place: number, outcome: ItemOutcome, value: unknown];

interface Kit extends ServicesKit {
  readonly entries: readonly Entry[];
  readonly told: Told[];
  settled: number;
  done: number;
  settle(places: ArrayLike<unknown>): void;
}

/** Kinds of recipients. */
type Kind = "bare" | "many" | "counting" | "gone";

function kitOf(kinds: readonly Kind[]): Kit {
  const kit = servicesKit();
  const told: Told[] = [];
  const entries = kinds.map((kind, place) => {
    const moment = new Moment(-(place % 3), place);
    if (kind === "bare") {
      const resolve = (value: unknown): void => {
        if (!isThenable(value)) told.push([place, "completed", value]);
        else value.then(undefined, (reason: unknown) => told.push([place, "failed", reason]));
      };
      return new Entry(place, resolve, moment, 0);
    }
    const recipient = {
      countsItself: kind === "counting",
      dueAt: Number.POSITIVE_INFINITY,
      isAborted: false,
      succeed: (value: unknown, _now: number, position: number) => told.push([position, "completed", value]),
      fail: (reason: unknown, outcome: ItemOutcome, _now: number, position: number) =>
        told.push([position, outcome, reason]),
    };
    const entry = new Entry(place, recipient, moment, place);
    if (kind === "gone") entry.recipient = null;
    return entry;
  });
  const all: Kit = {
    ...kit,
    entries,
    told,
    settled: 0,
    done: 0,
    settle: (places) => {
      const batch: Partial<CalledBatch> = {
        call: null,
        calls: 0,
        noteSettled: (count) => (all.settled += count),
        answered: () => (all.done += 1),
        refused: (error) => all.told.push([-1, "failed", error]),
      };
      HandlerCall.answer(new HandlerCall(batch as CalledBatch, entries, entries.length, 0, kit.services), places);
    },
  };
  return all;
}

const failure = new Error("no");

interface Place {
  readonly value: () => unknown;
  readonly outcome: ItemOutcome;
  readonly result: unknown;
  readonly isPromised: boolean;
}

const places: readonly Place[] = [
  { value: () => 7, outcome: "completed", result: 7, isPromised: false },
  { value: () => undefined, outcome: "completed", result: undefined, isPromised: false },
  { value: () => null, outcome: "completed", result: null, isPromised: false },
  { value: () => failure, outcome: "failed", result: failure, isPromised: false },
  { value: () => Promise.resolve(8), outcome: "completed", result: 8, isPromised: true },
  { value: () => Promise.resolve(failure), outcome: "failed", result: failure, isPromised: true },
  { value: () => Promise.reject(failure), outcome: "failed", result: failure, isPromised: true },
  { value: throwing, outcome: "failed", result: failure, isPromised: false },
  {
    value: () => thenable((use) => use(9)),
    outcome: "completed",
    result: 9,
    isPromised: true,
  },
];

function throwing(): never {
  throw failure;
}

/** An answer whose places are created when they are read. */
function answerOf(list: readonly Place[]): ArrayLike<unknown> {
  const answer: unknown[] = [];
  for (const [index, { value }] of list.entries()) Object.defineProperty(answer, index, { get: value });
  return answer;
}

describe("the places of an answer", () => {
  test("give each caller its own result or error, once, and count every caller", async () => {
    const one = fc.record({
      kind: fc.constantFrom<Kind[]>("bare", "many", "counting", "gone"),
      of: fc.constantFrom(...places),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(one, { minLength: 1, maxLength: 30, size: "max" }), async (list) => {
        const kit = kitOf(list.map(({ kind }) => kind));
        const promised = list.filter(({ of }) => of.isPromised).length;
        kit.settle(answerOf(list.map(({ of }) => of)));
        expect(kit.done).toBe(promised > 0 ? 0 : 1);
        await kit.clock.settle();
        expect(kit.done).toBe(1);
        const expected = list.flatMap(({ kind, of }, place): Told[] =>
          kind === "gone" ? [] : [[place, of.outcome, of.result]],
        );
        expect(kit.told.toSorted(([a], [b]) => a - b)).toEqual(expected);
        expect(kit.settled).toBe(expected.length);
        const counted = (outcome: ItemOutcome): number =>
          list.filter(({ kind, of }) => (kind === "bare" || kind === "many") && of.outcome === outcome).length;
        expect(kit.stats()).toMatchObject({ completed: counted("completed"), failed: counted("failed") });
        expect(kit.entries.every(({ recipient }) => recipient === null)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test("that are missing fail only their callers; an explicit undefined is a result", () => {
    const kit = kitOf(["counting", "counting", "counting"]);
    const answer = [1, undefined, undefined];
    delete answer[2];
    kit.settle(answer);
    expect(kit.told.slice(0, 2)).toEqual([
      [0, "completed", 1],
      [1, "completed", undefined],
    ]);
    expect(kit.told[2]).toEqual([2, "failed", expect.objectContaining({ code: "BATCH_RESULT" })]);
  });

  test("of callers who cancel while they are read are skipped", () => {
    const kit = kitOf(["counting", "bare"]);
    const answer = [0, 1];
    const leave = (): number => {
      for (const entry of kit.entries) entry.recipient = null;
      return 0;
    };
    Object.defineProperty(answer, 0, { get: leave });
    kit.settle(answer);
    expect([kit.told, kit.settled]).toEqual([[], 0]);
  });

  test("that are promised settle each at its own time, and not for callers who have left by then", async () => {
    const kit = kitOf(["bare", "counting", "bare"]);
    const gates = range(3).map(() => gate());
    kit.settle(gates.map(({ promise }, index) => promise.then(() => index)));
    (kit.entries[1] as Entry).recipient = null;
    for (const [index, { open }] of gates.entries()) {
      expect(kit.done).toBe(0);
      open();
      await kit.clock.settle();
      expect(kit.told.length).toBe([1, 1, 2][index]);
    }
    expect([kit.done, kit.settled]).toEqual([1, 2]);
  });

  test("count latencies from each caller's own moment", () => {
    const kit = kitOf(["bare", "bare", "bare", "many"]);
    kit.settle([1, 2, 3, 4]);
    expect(kit.stats().latencyMs).toMatchObject({ mean: 0.75, max: 2 });
  });
});

test("a failed batch rejects all remaining callers, and counts callers that do not count themselves", async () => {
  const kit = kitOf(["bare", "counting", "gone", "many"]);
  const batch = { noteSettled: (count: number) => (kit.settled += count) };
  failEntries(kit.entries, failure, "rejected", batch, kit.services);
  failEntries(kit.entries, failure, "failed", batch, kit.services);
  await kit.clock.settle();
  expect(kit.told.map(([place]) => place).toSorted()).toEqual([0, 1, 3]);
  expect([kit.settled, kit.stats().rejected, kit.stats().failed]).toEqual([3, 2, 0]);
});

describe("an answer without a recipient", () => {
  test.each<[string, () => unknown]>([
    ["rejected places", () => [Promise.reject(failure), 1, Promise.reject(failure)]],
    ["a place that throws", () => [unreadable(), Promise.reject(failure)]],
    ["a revoked proxy", () => revoked([1])],
    ["no array", () => ({ 0: 1 })],
    ["nothing", () => undefined],
  ])("with %s causes no unhandled rejection and throws nothing", async (_what, answer) => {
    expect(() => ignorePlaces(answer())).not.toThrow();
    await servicesKit().clock.settle();
  });
});
