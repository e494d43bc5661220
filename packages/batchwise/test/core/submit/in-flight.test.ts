import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FailedOutcome } from "../../../src/core/contract/outcome.ts";
import type { Entry } from "../../../src/core/queue/entry.ts";
import { lineOf } from "../../../src/core/queue/lane.ts";
import { Queue } from "../../../src/core/queue/queue.ts";
import type { ResultCache } from "../../../src/core/submit/cache.ts";
import { Caller } from "../../../src/core/submit/callers.ts";
import { InFlight, type SharedEntry, scopeOf } from "../../../src/core/submit/in-flight.ts";
import { Moment } from "../../../src/core/time/turn.ts";
import { range } from "../../support.ts";
import { entryOf } from "../support/queue-kit.ts";
import { type ServicesKit, servicesKit } from "../support/services.ts";

const NEVER = Number.POSITIVE_INFINITY;

interface Kit extends ServicesKit {
  readonly inFlight: InFlight;
  readonly queue: Queue;
  readonly entry: Entry;
  readonly shared: SharedEntry;
  readonly stored: unknown[];
  /** The answer of each caller. */
  readonly told: [number, unknown][];
  join(timeoutMs: number, priority?: number): Caller;
}

function kitOf(): Kit {
  const kit = servicesKit();
  const stored: unknown[] = [];
  const cache = { store: (key: string, value: unknown) => stored.push([key, value]) } as unknown as ResultCache;
  const inFlight = new InFlight(kit.services, String, cache);
  const queue = new Queue({ isFair: false, isKeyed: true, priorityAgingMs: 10_000 });
  queue.keepDeadlines(true);
  const entry = entryOf({ id: 1 });
  const shared = inFlight.open(entry, "1");
  const told: [number, unknown][] = [];
  let callers = 0;
  const join = (timeoutMs: number, priority = 0): Caller => {
    const name = callers;
    callers += 1;
    const recipient = (value: unknown): void => {
      told.push([name, value]);
      if (value instanceof Promise) value.catch(() => {});
    };
    const addressed = { recipient, position: 0, moment: new Moment(0, 0) };
    const caller = new Caller(kit.services, addressed, { timeoutMs, signal: undefined });
    shared.join(caller, { priority, isSmall: false });
    return caller;
  };
  return { ...kit, inFlight, queue, entry, shared, stored, told, join };
}

describe("equal callers", () => {
  test("share a place that is due for the first of them and ends with the last", () => {
    const step = fc.record({
      timeoutMs: fc.oneof(fc.integer({ min: 1, max: 50 }), fc.constant(NEVER)),
      leaves: fc.nat(9),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 30, size: "max" }), fc.boolean(), (steps, isQueued) => {
        const { inFlight, queue, entry, shared, join } = kitOf();
        let callers = [join(NEVER)];
        if (isQueued) queue.push(entry);
        const check = (): void => {
          const dueAt = Math.min(NEVER, ...callers.map((caller) => caller.dueAt));
          expect([shared.size, shared.dueAt]).toEqual([callers.length, dueAt]);
          if (isQueued) expect(queue.earliestDueLane?.earliestDueAt ?? NEVER).toBe(dueAt);
        };
        for (const { timeoutMs, leaves } of steps) {
          callers.push(join(timeoutMs));
          check();
          if (leaves > 4 || callers.length === 1) continue;
          const leaving = callers[leaves % callers.length];
          leaving?.leave();
          callers = callers.filter((caller) => caller !== leaving);
          check();
        }
        expect(inFlight.find(undefined, "1")).toBe(shared);
        for (const caller of callers) caller.leave();
        expect([inFlight.find(undefined, "1"), entry.recipient, queue.size]).toEqual([undefined, null, 0]);
      }),
    );
  });

  test("cost little each, however many expire in the order of their deadlines", () => {
    const { shared, join } = kitOf();
    const callers = range(2_000).map((index) => join(index + 1));
    let reads = 0;
    for (const caller of callers) {
      const { dueAt } = caller;
      const get = (): number => {
        reads += 1;
        return dueAt;
      };
      Object.defineProperty(caller, "dueAt", { get });
    }
    for (const [index, caller] of callers.entries()) {
      expect(shared.dueAt).toBe(index + 1);
      caller.leave();
    }
    expect(reads).toBeLessThan(10 * callers.length);
  });

  test("make their place as urgent as the most urgent of them, before it is queued and after", () => {
    const { queue, entry, join } = kitOf();
    join(NEVER, 3);
    join(NEVER, 1);
    expect(entry.priority).toBe(3);
    queue.push(entry);
    join(NEVER, 2);
    expect(entry.priority).toBe(3);
    join(NEVER, 7);
    expect([entry.priority, lineOf(entry).priority]).toEqual([7, 7]);
    expect(queue.size).toBe(1);
  });

  test("are all answered, once, and the result is stored; no caller can join after that", () => {
    const { inFlight, shared, stored, told, join, stats } = kitOf();
    for (let callers = 0; callers < 3; callers += 1) join(20);
    shared.succeed("result", 5);
    shared.succeed("again", 6);
    expect(told).toEqual([0, 1, 2].map((name) => [name, "result"]));
    expect(stored[0]).toEqual(["1", "result"]);
    expect([inFlight.find(undefined, "1"), stats().completed]).toEqual([undefined, 3]);
  });

  test.each<FailedOutcome>(["failed", "rejected"])("that are %s get the error, and nothing is stored", (outcome) => {
    const { inFlight, shared, stored, told, join, stats } = kitOf();
    join(NEVER);
    join(NEVER);
    shared.fail(new Error("no"), outcome, 5);
    expect([told.length, stored, inFlight.find(undefined, "1"), stats()[outcome]]).toEqual([2, [], undefined, 2]);
  });

  test("whose result was forgotten or comes from the cache do not store it", () => {
    for (const answer of [
      (shared: SharedEntry) => shared.answer(1, 0),
      (shared: SharedEntry) => shared.succeed(1, 0),
    ]) {
      const { shared, stored, told, join } = kitOf();
      join(NEVER);
      shared.isStored = false;
      answer(shared);
      expect([told, stored]).toEqual([[[0, 1]], []]);
    }
  });
});

describe("places in flight", () => {
  test("are not forgotten for another of the same scope", () => {
    const { inFlight, shared } = kitOf();
    inFlight.remove(shared);
    const next = inFlight.open(entryOf({ id: 2 }), "1");
    inFlight.remove(shared);
    expect(inFlight.find(undefined, "1")).toBe(next);
  });

  test("are apart for each pair of a lane's key and a dedupe key", () => {
    const pair = fc.record({ key: fc.option(fc.string(), { nil: undefined }), dedupeKey: fc.string() });
    const tricky = fc.record({
      key: fc.option(fc.constantFrom("", "1", "1:", "=", "a=", "1:a"), { nil: undefined }),
      dedupeKey: fc.constantFrom("", "=", "a", "1:a=", "a=a", "1:a=b"),
    });
    const any = fc.oneof(pair, tricky);
    fc.assert(
      fc.property(any, any, (a, b) => {
        const isSame = a.key === b.key && a.dedupeKey === b.dedupeKey;
        expect(scopeOf(a.key, a.dedupeKey) === scopeOf(b.key, b.dedupeKey)).toBe(isSame);
      }),
      { numRuns: 2_000 },
    );
  });
});
