import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Lane } from "../../src/core/queue/lane.ts";
import { Kit } from "./queue-kit.ts";

function keyOf(lane: Lane | undefined): string | undefined {
  return lane?.key ?? (lane === undefined ? undefined : "(none)");
}

describe("the most urgent lane", () => {
  test("is the one whose oldest entry has the highest priority by now", () => {
    const kit = new Kit().push(
      { id: 1, key: "old", at: 0 },
      { id: 2, key: "young", priority: 2, at: 50 },
      { id: 3, key: "middle", priority: 1, at: 20 },
    );
    expect(keyOf(kit.queue.mostUrgent(60, 1_000))).toBe("young");
    expect(keyOf(kit.queue.mostUrgent(60, 30))).toBe("old");
    expect(keyOf(kit.queue.oldest())).toBe("old");
    expect(kit.queue.oldestAt()).toBe(0);
  });

  test("is the one that came first among equals", () => {
    const kit = new Kit().push({ id: 1, key: "b", at: 5 }, { id: 2, key: "a", at: 5 });
    expect(keyOf(kit.queue.mostUrgent(9, 1_000))).toBe("b");
  });

  test("is found among those of any key when some have none", () => {
    const kit = new Kit().push({ id: 1, at: 7 }, { id: 2, key: "k", at: 5 });
    expect(keyOf(kit.queue.mostUrgent(9, 1_000))).toBe("k");
    kit.leave(2);
    expect(keyOf(kit.queue.mostUrgent(9, 1_000))).toBe("(none)");
    kit.leave(1);
    expect(kit.queue.mostUrgent(9, 1_000)).toBeUndefined();
    expect(kit.queue.oldestAt()).toBe(Number.POSITIVE_INFINITY);
  });
});

test("an empty lane is forgotten", () => {
  const kit = new Kit();
  for (let id = 0; id < 1_000; id += 1) kit.push({ id, key: `key ${id}` }).leave(id);
  expect([...kit.queue.lanes()]).toEqual([]);
  expect(kit.queue.size).toBe(0);
});

test("any number of one-off priorities keeps the order of priority", () => {
  const kit = new Kit();
  for (let round = 0; round < 5; round += 1) {
    const ids = Array.from({ length: 40 }, (_, index) => round * 40 + index);
    for (const id of ids) kit.push({ id, priority: id * 0.37 });
    expect(kit.takeAll({ maxBatchSize: 7 }).flat()).toEqual(ids.toReversed());
  }
});

describe("a flush", () => {
  test("is done when what waited then has left the queue and its batches have ended", () => {
    const kit = new Kit().push({ id: 1 }, { id: 2 });
    let isDone = false;
    kit.queue.flush(() => {
      isDone = true;
    });
    kit.push({ id: 3 });
    const pick = kit.pick({ maxBatchSize: 2 });
    const flushes = kit.queue.flushesOf(pick);
    for (const flush of flushes) flush.batchStarted();
    kit.take({ maxBatchSize: 2 });
    expect(isDone).toBe(false);
    kit.queue.batchEnded(flushes);
    expect(isDone).toBe(true);
    expect(kit.queue.size).toBe(1);
  });

  test("is done when all that waited then has left", () => {
    const kit = new Kit().push({ id: 1 }, { id: 2, key: "k" });
    const done: string[] = [];
    kit.queue.flush(() => done.push("first"));
    kit.push({ id: 3 });
    kit.queue.flush(() => done.push("second"));
    kit.leave(1, 2);
    expect(done).toEqual(["first"]);
    kit.leave(3);
    expect(done).toEqual(["first", "second"]);
  });

  test("does not wait for a batch that had started before it", () => {
    const kit = new Kit().push({ id: 1 }, { id: 2 });
    const before = kit.queue.flushesOf(kit.pick({ maxBatchSize: 1 }));
    kit.take({ maxBatchSize: 1 });
    let isDone = false;
    kit.queue.flush(() => {
      isDone = true;
    });
    const flushes = kit.queue.flushesOf(kit.pick());
    for (const flush of flushes) flush.batchStarted();
    kit.take();
    kit.queue.batchEnded(before);
    expect(isDone).toBe(false);
    kit.queue.batchEnded(flushes);
    expect(isDone).toBe(true);
  });

  test("of an empty queue is none", () => {
    expect(new Kit().queue.flush(() => {})).toBeUndefined();
  });

  test("marks as many entries of a lane as it covers and still wait", () => {
    const kit = new Kit().push({ id: 1 }, { id: 2 }, { id: 3 });
    kit.queue.flush(() => {});
    kit.push({ id: 4 }).leave(2);
    expect(kit.queue.plain.lane.flushed).toBe(2);
    kit.take({ maxBatchSize: 1 });
    expect(kit.queue.plain.lane.flushed).toBe(1);
    kit.leave(4);
    expect(kit.queue.plain.lane.flushed).toBe(1);
  });
});

describe("a batch of bare promises", () => {
  const entry = fc.record({
    priority: fc.constantFrom(0, 0, 1),
    cost: fc.constantFrom(1, 1, 3),
    gapMs: fc.constantFrom(0, 0, 0, 2),
    position: fc.constantFrom(0, 0, 0, 7),
    dueAt: fc.constantFrom(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 900),
  });
  const step = fc.record({ count: fc.integer({ min: 1, max: 9 }), drops: fc.boolean() });
  const entries = fc.array(entry, { minLength: 1, maxLength: 60 });

  test("is the one that callers who may leave get, each promise with its item and all else that it has", () => {
    fc.assert(
      fc.property(entries, fc.array(step, { maxLength: 30 }), fc.boolean(), (drawn, steps, keepsCosts) => {
        const [seated, bare] = [new Kit(), new Kit({ bare: true })];
        let at = 0;
        const list = drawn.map(({ gapMs, ...rest }, id) => {
          at += gapMs;
          return { id, at, ...rest };
        });
        seated.push(...list);
        bare.push(...list);
        for (const { count, drops } of steps) {
          if (drops) expect(bare.queue.dropOldest()?.time).toBe(seated.queue.dropOldest()?.time);
          if (seated.queue.size === 0) break;
          const batch = bare.takeSegment({ maxBatchSize: count }, at, keepsCosts);
          expect(batch.items).toEqual(seated.take({ maxBatchSize: count }, at));
          const sinks = batch.sinks as unknown as { id: number }[];
          expect(sinks.map(({ id }) => id)).toEqual(batch.items);
          const taken = sinks.map(({ id }) => list[id] as (typeof list)[number]);
          for (const [index, { priority, position, dueAt, cost, ...item }] of taken.entries()) {
            expect(batch.timeAt(index)).toBe(item.at);
            expect([batch.priorityAt(index), batch.positionAt(index)]).toEqual([priority, position]);
            expect(batch.dueAt(index)).toBe(dueAt);
            if (keepsCosts) expect(batch.costAt(index)).toBe(cost);
          }
          expect(batch.earliestDue).toBeLessThanOrEqual(Math.min(...taken.map(({ dueAt }) => dueAt)));
          expect([bare.queue.size, bare.queue.plain.cost]).toEqual([seated.queue.size, seated.queue.plain.cost]);
        }
      }),
      { numRuns: 300 },
    );
  });
});

test("dropOldest takes out whoever has waited longest, whatever its key, priority and tenant", () => {
  const entry = fc.record({
    key: fc.constantFrom(undefined, "a", "b"),
    priority: fc.constantFrom(0, 1, 5),
    tenant: fc.constantFrom("x", "y"),
  });
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1, maxLength: 40 }), fc.boolean(), (list, fair) => {
      const kit = new Kit({ fair });
      for (const [id, { key, priority, tenant }] of list.entries()) {
        kit.push({ id, at: id, priority, tenant, ...(key === undefined ? {} : { key }) });
      }
      const times: number[] = [];
      for (let dropped = kit.queue.dropOldest(); dropped !== null; dropped = kit.queue.dropOldest()) {
        times.push(dropped.time);
      }
      expect(times).toEqual(list.map((_, id) => id));
      expect(kit.queue.size).toBe(0);
    }),
  );
});
