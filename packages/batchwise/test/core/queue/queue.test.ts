import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { range } from "../../support.ts";
import { Kit } from "../support/queue-kit.ts";
import { Model } from "../support/queue-model.ts";

const keys = fc.constantFrom(undefined, "a", "b", "c", "d");
/** Mostly few priorities; sometimes many, so that ranks are dropped and return. */
const priorities = fc.oneof(
  { arbitrary: fc.constantFrom(0, 0, 0, 1, 2), weight: 1 },
  { arbitrary: fc.integer({ min: -5, max: 30 }), weight: 1 },
);
const dueAts = fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.nat(200));

const pushed = fc.record({
  key: keys,
  priority: priorities,
  isSmall: fc.boolean(),
  tenant: fc.constantFrom("x", "y", "z"),
  cost: fc.constantFrom(0, 0.1, 1, 3),
  dueAt: dueAts,
});

const step = fc.oneof(
  { arbitrary: fc.record({ push: pushed, gapMs: fc.constantFrom(0, 0, 1, 4) }), weight: 8 },
  { arbitrary: fc.record({ leave: fc.nat(200) }), weight: 4 },
  { arbitrary: fc.record({ raise: fc.nat(200), to: priorities }), weight: 2 },
  { arbitrary: fc.record({ moveDeadline: fc.nat(200), to: dueAts }), weight: 1 },
  { arbitrary: fc.record({ take: fc.integer({ min: 1, max: 6 }) }), weight: 2 },
  { arbitrary: fc.record({ end: fc.nat(20) }), weight: 1 },
  { arbitrary: fc.record({ flush: keys }), weight: 1 },
  { arbitrary: fc.record({ keepDeadlines: fc.boolean() }), weight: 1 },
);
type Step = typeof step extends fc.Arbitrary<infer Each> ? Each : never;

function apply(model: Model, next: Step, id: number, isKeyed: boolean): void {
  if ("push" in next) {
    model.push({ id, ...next.push, key: isKeyed ? next.push.key : undefined }, next.gapMs);
  } else if ("leave" in next) model.leave(next.leave);
  else if ("raise" in next) model.raise(next.raise, next.to);
  else if ("moveDeadline" in next) model.moveDeadline(next.moveDeadline, next.to);
  else if ("take" in next) model.take(next.take);
  else if ("end" in next) model.end(next.end);
  else if ("flush" in next) model.flush(isKeyed ? next.flush : undefined);
  else model.keepDeadlines(next.keepDeadlines);
}

describe("a queue", () => {
  test("agrees with a plain list about all waiting entries, whatever happens in it", () => {
    const shape = fc.record({
      isFair: fc.boolean(),
      isKeyed: fc.boolean(),
      agingMs: fc.constantFrom(2, 10, Number.POSITIVE_INFINITY),
    });
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 30, maxLength: 200, size: "max" }),
        shape,
        (steps, { isFair, isKeyed, agingMs }) => {
          const model = new Model({ isFair, isKeyed }, agingMs);
          for (const [id, next] of steps.entries()) {
            apply(model, next, id, isKeyed);
            model.check();
          }
          model.clear();
          model.check();
        },
      ),
      { numRuns: 50, endOnFailure: true },
    );
  });

  test("finds a lane whose ranks were forgotten elsewhere", () => {
    const kit = new Kit().push({ id: 1, key: "a" }, { id: 2, key: "a", priority: 1 }).leave(2);
    for (const id of range(60)) kit.push({ id: 100 + id, key: "b", priority: 2 + id }).leave(100 + id);
    kit.push({ id: 3, key: "a", priority: 1 }).leave(1);
    expect(kit.queue.mostUrgent?.key).toBe("a");
    expect(kit.queue.oldest?.item).toBe(3);
  });

  test("keeps nothing of lanes that have emptied", () => {
    const kit = new Kit();
    kit.queue.keepDeadlines(true);
    for (const id of range(1_000)) {
      kit.push({ id, key: `key ${id}`, dueAt: 5 });
      for (const lane of kit.queue.lanes()) kit.queue.markHot(lane);
      kit.leave(id);
    }
    expect([...kit.queue.lanes(), ...kit.queue.hot]).toEqual([]);
    expect(kit.queue.earliestDueLane).toBeUndefined();
  });

  test("raises to the place of its age, and only entries that still wait", () => {
    const kit = new Kit().push(
      { id: 1, at: 1 },
      { id: 2, at: 2, priority: 5 },
      { id: 3, at: 3 },
      { id: 4, at: 4, priority: 5 },
    );
    kit.raise(3, 5).raise(4, 1);
    expect(kit.take({ maxBatchSize: 3 })).toEqual([2, 3, 4]);
    kit.raise(3, 9);
    expect(kit.entry(3).priority).toBe(5);
    expect(kit.takeAll()).toEqual([[1]]);
  });

  test("without keys puts all in one lane, whatever the entries say", () => {
    const kit = new Kit({ isKeyed: false }).push({ id: 1, key: "a" }, { id: 2, key: "b" });
    expect(kit.take()).toEqual([1, 2]);
  });
});

test("a batch of two priorities in turns, behind which many entries were removed, keeps the count of its lane right", () => {
  const kit = new Kit({ priorityAgingMs: 1_000 });
  let id = 0;
  const push = (count: number, at: number, priority: number): number[] => {
    const ids = range(count).map((index) => id + index);
    kit.push(...ids.map((each) => ({ id: each, at, priority })));
    id += count;
    return ids;
  };
  push(1, 0, 0);
  push(100, 1_000, 1);
  push(1, 1_001, 0);
  push(12, 2_000, 1);
  const leaving = push(150, 2_000, 1);
  push(1, 2_000, 1);
  kit.leave(...leaving);
  const caps = { maxBatchSize: 112 };
  expect(kit.take(caps)).toHaveLength(112);
  expect([kit.queue.size, ...[...kit.queue.lanes()].map(({ size }) => size)]).toEqual([3, 3]);
  expect(kit.takeAll(caps).flat()).toHaveLength(3);
});
