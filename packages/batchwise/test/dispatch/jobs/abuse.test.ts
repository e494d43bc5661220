// Jobs that are given what they should not be: each is told what was expected, what came and what to do, and the store
// keeps what it had.

import { expect, expectTypeOf, test } from "vitest";
import type { BatchOutcome } from "../../../src/dispatch/contract/job.ts";
import type { BatchLine, DispatchRequest } from "../../../src/dispatch/contract/types.ts";
import type { RunBatchOptions } from "../../../src/dispatch/options/run-batch-options.ts";
import { runBatch } from "../../../src/dispatch/run-batch.ts";
import { bodies, indexes, jobRig, upTo } from "./job-rig.ts";

const body = bodies(1)[0]?.body as DispatchRequest["body"];
const other = bodies(1, 9)[0]?.body as DispatchRequest["body"];

test.each([
  [{ job: "" }, "Expected `job` to be a name of 1 to 200 characters"],
  [{ job: undefined }, "Expected `job` to be a name of 1 to 200 characters, got `undefined`"],
  [{ job: "j".repeat(201) }, "Expected `job` to be a name"],
  [{ requests: undefined }, "Expected `requests` to be an array, an iterable or an async iterable of requests"],
  [{ requests: "in.jsonl" }, "Expected `requests` to be an array, an iterable or an async iterable"],
  [{ requests: { body } }, "got an object (Object)"],
  [{ requests: Promise.resolve([]) }, "got a Promise: await it"],
  [{ requests: async function* () {} }, "got a function: call it"],
  [{ onprogress: () => {} }, "Unknown option `onprogress`, did you mean `onProgress`?"],
  [{ request: [] }, "did you mean `requests`?"],
  [{ acounts: [] }, "did you mean `accounts`?"],
  [{ accounts: [] }, "Expected `accounts` to hold at least one account"],
  [{ onProgress: 7 }, "Expected `onProgress` to be a function"],
  [{ signal: new AbortController() }, "Expected `signal` to be an AbortSignal"],
])("%j throws at the call", (more, message) => {
  const options = jobRig().options([], more as never);
  expect(() => runBatch({ ...options, ...(more as object) })).toThrow(message);
});

test.each<[string, readonly unknown[], string]>([
  ["a request that is none", [{ body }, null], "requests[1]: A request must be an object."],
  ["a field that is unknown", [{ body, jobs: 1 }], "requests[0]: A request has no field `jobs`."],
  ["another job's name", [{ body, job: "k" }], 'requests[0]: A request\'s `job` must be left out, or be "j"'],
  ["a field of the metadata that is ours", [{ body, metadata: { "batchwise.index": "1" } }], '"batchwise.index"'],
])("%s rejects with its index", async (_name, requests, message) => {
  const rig = jobRig();
  const ran = await rig.finish(rig.begin(requests as DispatchRequest[]));
  expect(ran.end).toMatchObject({ code: "INVALID_REQUEST", message: expect.stringContaining(message) });
});

test("what the requests throw is thrown, after the stop, and what came before it is stored", async () => {
  const rig = jobRig();
  const broken = new Error("the file ends in the middle");
  async function* requests() {
    yield* bodies(1_000);
    throw broken;
  }
  const ran = await rig.finish(rig.begin(requests()));
  expect(ran.end).toBe(broken);
  const again = await rig.finish(rig.begin(bodies(1_200)));
  expect([again.end, indexes(again), again.progress.at(-1)?.existing]).toEqual(["done", upTo(1_200), 1_000]);
});

test("what onProgress throws ends the run", async () => {
  const rig = jobRig();
  const wrong = new TypeError("no such field");
  const onProgress = (): never => {
    throw wrong;
  };
  const ran = await rig.finish(rig.begin(bodies(3), { onProgress }));
  expect(ran.end).toBe(wrong);
});

test("the same id twice is one request, with the first index", async () => {
  const rig = jobRig();
  const ran = await rig.finish(rig.begin([{ id: "a", body }, ...bodies(1, 5), { id: "a", body }]));
  expect([ran.end, indexes(ran), ran.outcomes.length]).toEqual(["done", [0, 1], 2]);
});

test("one id for two bodies names both places", async () => {
  const rig = jobRig();
  const asks = [
    { id: "a", body },
    { id: "a", body: other },
  ];
  const ran = await rig.finish(rig.begin(asks));
  expect(ran.end).toMatchObject({ code: "DUPLICATE_ID" });
  expect(String(ran.end)).toContain('requests[1]: requests[0] of the job "j" has the id "a" too, with another body');
});

test("requests that do not repeat their order are refused at the first one, and add nothing", async () => {
  const rig = jobRig();
  await rig.finish(rig.begin(bodies(10)));
  const shifted = [...bodies(4), ...bodies(1, 100), ...bodies(8, 4)];
  const ran = await rig.finish(rig.begin(shifted));
  expect(ran.end).toMatchObject({ code: "DUPLICATE_ID" });
  expect(String(ran.end)).toContain('requests[4] is not the one that an earlier run of the job "j" had there.');
  expect(String(ran.end)).toContain("give all of them as they were (new ones at the end)");
  expect((await rig.store.usage({ job: "j" }))[0]?.requests).toBe(10);
  const again = await rig.finish(rig.begin(bodies(12)));
  expect([again.end, indexes(again)]).toEqual(["done", upTo(12)]);
});

test("requests with ids may come in another order: each keeps its first index", async () => {
  const rig = jobRig();
  const asks = bodies(3).map((request, n) => ({ ...request, id: `own-${n}` }));
  await rig.finish(rig.begin(asks));
  const ran = await rig.finish(rig.begin(asks.toReversed()));
  expect([ran.end, indexes(ran)]).toEqual(["done", upTo(3)]);
  const changed = await rig.finish(rig.begin([{ id: "own-0", body: other }]));
  expect(String(changed.end)).toContain('requests[0]: a request of the job "j" has the id "own-0" too');
});

test("an id of another job is refused, for its outcome would never come here", async () => {
  const rig = jobRig();
  await rig.bystander().enqueue({ id: "a", body, job: "monday" });
  await rig.bystander().enqueue({ id: "b", body });
  const ran = await rig.finish(rig.begin([{ id: "a", body }]));
  expect(String(ran.end)).toContain('requests[0]: the id "a" is taken by a request of the job "monday". Give it');
  const loose = await rig.finish(rig.begin([{ id: "b", body }]));
  expect(String(loose.end)).toContain('the id "b" is taken by a request without a job');
});

test("a request that was pruned is passed over", async () => {
  const rig = jobRig();
  await rig.finish(rig.begin(bodies(3)));
  await rig.bystander().prune({ olderThanMs: 0 });
  const ran = await rig.finish(rig.begin(bodies(4)));
  expect([ran.end, indexes(ran)]).toEqual(["done", [3]]);
});

test("outcomes have the types that the requests give them", () => {
  type Of<Request extends DispatchRequest | BatchLine> = Pick<BatchOutcome<Request>, "tenant" | "metadata" | "index">;
  interface Plain {
    readonly body: DispatchRequest["body"];
  }
  interface Typed extends Plain {
    readonly tenant: "a" | "b";
    readonly metadata: { readonly row: string };
  }
  expectTypeOf<Of<Plain>>().toEqualTypeOf<{ readonly tenant: ""; readonly metadata: null; readonly index: number }>();
  expectTypeOf<Of<Typed>["tenant"]>().toEqualTypeOf<"a" | "b">();
  expectTypeOf<Of<Typed>["metadata"]>().toEqualTypeOf<{ readonly row: string }>();
  expectTypeOf<Of<Plain & Partial<Typed>>["metadata"]>().toEqualTypeOf<{ readonly row: string } | null>();
  expectTypeOf<Of<DispatchRequest>["tenant"]>().toEqualTypeOf<string>();
  expectTypeOf<Of<BatchLine>["metadata"]>().toEqualTypeOf<null>();
  const run = (options: Omit<RunBatchOptions, "requests">) =>
    runBatch({ ...options, requests: [{ body, metadata: { row: "1" } }] });
  type Item<Items> = Items extends AsyncIterable<infer One> ? One : never;
  expectTypeOf<Item<ReturnType<typeof run>>["metadata"]>().toEqualTypeOf<{ row: string }>();
});
