// Jobs with missing options, and with functions and stores that fail: the run reports it and ends.

import { expect, test } from "vitest";
import { all, bodyOf, HOUR, jobWorld, MINUTE, plain, runsOf } from "../support/job-world.ts";
import { losingStore } from "../support/set-back.ts";

test("options that no job can have are refused before anything happens", () => {
  const { run } = jobWorld();
  const call = (options: object) => () => run({ requests: plain(1), ...options } as never);
  expect(call({ request: plain(1) })).toThrow("Unknown option `request`, did you mean `requests`?");
  expect(call({ onprogress: () => {} })).toThrow("did you mean `onProgress`?");
  expect(call({ job: undefined })).toThrow("Expected `job`");
  expect(call({ job: "x".repeat(240) })).toThrow("Expected `job`");
  expect(call({ job: "a\0" })).toThrow("Expected `job`");
  expect(call({ requests: "text" })).toThrow("Expected `requests` to be an array, an iterable or an async iterable");
  expect(call({ requests: plain })).toThrow("(call the function)");
  expect(call({ requests: Promise.resolve([]) })).toThrow("Expected `requests`");
  expect(call({ signal: {} })).toThrow("Expected `signal` to be an AbortSignal");
  expect(call({ onProgress: 1 })).toThrow("Expected `onProgress`");
  expect(call({ leaseMs: -1 })).toThrow("Expected `leaseMs`");
});

test("a value that is no request is named by its place", async () => {
  const { run, settle } = jobWorld();
  for (const [bad, message] of [
    [null, "A request must be an object with a `body`, got `null`."],
    ["text", "A request must be an object with a `body`, got `text` (string)."],
    [{ body: bodyOf("a"), idd: "x" }, "Unknown field `idd`, did you mean `id`?"],
    [{ id: 7, body: bodyOf("a") }, "A request's `id` must be a string of 1 to 256 characters."],
    [{ body: "text" }, "A request's `body` must be a JSON object, got `text` (string)."],
  ] as const) {
    const requests = [...plain(2), bad as never];
    await expect(settle(all(run({ requests })))).rejects.toThrow(`requests[2]: ${message}`);
    await expect(settle(all(run({ requests: requests.values() })))).rejects.toThrow(`requests[2]: ${message}`);
  }
});

test("an iterable that never answers, or fails at its own end, keeps no run from stopping", async () => {
  const { run, settle, time } = jobWorld();
  const stop = new AbortController();
  const silent: AsyncIterable<{ body: ReturnType<typeof bodyOf> }> = {
    [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
  };
  time.setTimeout(() => stop.abort(new Error("Enough.")), MINUTE);
  await expect(settle(all(run({ requests: silent, signal: stop.signal })))).rejects.toThrow("Enough.");
  function* unruly() {
    try {
      yield* plain(2);
      yield null as never;
    } finally {
      // biome-ignore lint/correctness/noUnsafeFinally: what a caller may do
      throw new Error("The end fails too.");
    }
  }
  await expect(settle(all(run({ requests: unruly() })))).rejects.toThrow("requests[2]: A request must be an object");
  const broken: Iterable<never> = {
    [Symbol.iterator]: () => {
      throw new Error("No iterator.");
    },
  };
  await expect(settle(all(run({ requests: broken })))).rejects.toThrow("No iterator.");
  expect(time.nextAt).toBe(Number.POSITIVE_INFINITY);
});

test("a run whose reader pauses continues: later reads get all of it", async () => {
  const { run, settle, fake, time } = jobWorld();
  const outcomes = run({ requests: plain(25) });
  await settle(outcomes.next());
  await settle(new Promise<void>((resolve) => void time.setTimeout(resolve, 6 * HOUR)));
  expect(runsOf(fake)).toHaveLength(25);
  const before = time.now();
  expect(await settle(all(outcomes))).toHaveLength(24);
  expect(time.now() - before).toBeLessThan(MINUTE);
});

test("a store that has lost acknowledged requests ends the run, and the next one enqueues the missing ones again", async () => {
  const { run, settle, time } = jobWorld();
  const store = losingStore();
  time.setTimeout(() => store.lose(), 10 * MINUTE);
  const lost = settle(all(run({ requests: plain(12), store })));
  await expect(lost).rejects.toMatchObject({ code: "STORE_SET_BACK" });
  expect(time.nextAt).toBe(Number.POSITIVE_INFINITY);
  expect(await settle(all(run({ requests: plain(12), store })))).toHaveLength(12);
});
