import { memoryStore } from "batchwise/dispatch";
import { expect, test } from "vitest";
import { moveBefore } from "../../../../src/dispatch/batches/seal/near-deadlines.ts";
import { parseLane, urgentLane } from "../../../../src/dispatch/format/encode.ts";
import type { Runtime } from "../../../../src/dispatch/runtime/runtime.ts";
import { LANE, NOW, request } from "../../../../src/dispatch-testing/conformance/store/case.ts";

test("late requests that are too few stay, and those of other lanes stay in the urgent lane", async () => {
  const store = memoryStore();
  const urgent = urgentLane(parseLane(LANE));
  await store.enqueue([request("other 1", { lane: urgent }), request("other 2", { lane: urgent })], NOW);
  await store.enqueue(
    [1, 2].map((n) => request(`late ${n}`, { deadlineAt: NOW + n })),
    NOW,
  );
  const [lane] = (await store.probe(10, NOW)).lanes.filter(({ lane }) => lane === LANE);
  if (lane === undefined) throw new Error("The lane is empty.");
  const stub = { store, clock: { now: () => NOW }, sinks: [], sealing: { wake() {} }, prospects: { moved() {} } };
  const runtime = stub as unknown as Runtime;
  const ids = ["other 1", "other 2", "late 1", "late 2"];
  const lanesOf = async () => {
    const rows = await store.requests({ ids });
    return Object.fromEntries(rows.map((row) => [row?.id, row?.lane === urgent ? "urgent" : "own"]));
  };

  expect(await moveBefore(runtime, lane, NOW + 9, 10, { least: 3 })).toBe(false);
  expect(await lanesOf()).toEqual({ "other 1": "urgent", "other 2": "urgent", "late 1": "own", "late 2": "own" });
  expect(await moveBefore(runtime, lane, NOW + 9, 10, { least: 2 })).toBe(true);
  expect(Object.values(await lanesOf())).toEqual(["urgent", "urgent", "urgent", "urgent"]);
});
