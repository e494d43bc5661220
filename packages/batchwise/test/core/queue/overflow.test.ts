import { expect, test } from "vitest";
import { Kit } from "../support/queue-kit.ts";

test("a lane whose costs have overflowed counts as full until it is empty, and is packed all the same", () => {
  const kit = new Kit().push({ id: 0, cost: Number.MAX_VALUE }, { id: 1, cost: Number.MAX_VALUE }, { id: 2 });
  kit.take({ maxBatchSize: 2 });
  expect(kit.queue.mostUrgent?.cost).toBe(Infinity);
  expect(kit.take({ maxBatchCost: 10 })).toEqual([2]);
  expect(kit.push({ id: 3, cost: 4 }).queue.mostUrgent?.cost).toBe(4);
});
