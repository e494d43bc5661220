import { expect, test } from "vitest";
import { Kit } from "../support/queue-kit.ts";

test("a lane whose costs have overflowed is packed all the same", () => {
  const kit = new Kit().push({ id: 0, cost: Number.MAX_VALUE }, { id: 1, cost: Number.MAX_VALUE }, { id: 2 });
  kit.take({ maxBatchSize: 2 });
  expect(kit.take({ maxBatchCost: 10 })).toEqual([2]);
});
