// Jobs through the official client, in virtual time: the outcomes of a run, its end, and its
// continuation.

import { runInNewContext } from "node:vm";
import { describe, expect, expectTypeOf, test, vi } from "vitest";
import { DispatchError } from "../../../src/dispatch/contract/errors.ts";
import type { JobProgress, JobRequest } from "../../../src/dispatch/contract/jobs.ts";
import { all, bodyOf, HOUR, jobWorld, MINUTE, plain, runsOf } from "../support/job-world.ts";
import { SimProcess, storeDown } from "../support/world.ts";

test("a job gives one outcome for each request, with its place, and ends long before its last batch is two hours old", async () => {
  const { run, settle, fake, time } = jobWorld({ plan: { runMs: 10 * MINUTE } });
  const startedAt = time.now();
  const requests = plain(25);
  const outcomes = await settle(all(run({ requests })));
  expect(outcomes.map(({ index }) => index).toSorted((a, b) => Number(a) - Number(b))).toEqual([...requests.keys()]);
  for (const { id, index, request, status, job } of outcomes) {
    expect({ id, request, status, job }).toEqual({
      ...{ id: `night:${index}`, request: requests[index as number], status: "succeeded", job: "night" },
    });
  }
  expect(runsOf(fake)).toEqual(requests.map(() => 1));
  expect(time.now() - startedAt).toBeLessThan(HOUR);
});

test("outcomes have the types of the caller's ids and metadata, and an array's own requests", async () => {
  const { run, settle } = jobWorld();
  const rows = [{ key: "a" as const, user: 7 }];
  const requests = rows.map(({ key, user }) => ({
    id: key,
    body: bodyOf(key),
    metadata: { user: String(user) },
  }));
  const [outcome] = await settle(all(run({ requests })));
  expectTypeOf(outcome?.id).toEqualTypeOf<"a" | undefined>();
  expectTypeOf(outcome?.metadata).toEqualTypeOf<{ user: string } | undefined>();
  expectTypeOf(outcome?.request).toEqualTypeOf<(typeof requests)[number] | null | undefined>();
  expect(outcome).toMatchObject({ id: "a", index: 0, metadata: { user: "7" } });
  expect(outcome?.request).toBe(requests[0]);
});

test("of an iterable nothing is kept: an outcome has the index of a request without an id, and no request", async () => {
  const { run, settle } = jobWorld();
  async function* requests() {
    yield { body: bodyOf("a") };
    yield { id: "mine", body: bodyOf("b") };
    yield { custom_id: "line", method: "POST", url: "/v1/chat/completions", body: bodyOf("c") } as const;
  }
  const outcomes = await settle(all(run({ requests: requests() })));
  const placed = outcomes.map(({ id, index, request, job }) => ({ id, index, request, job }));
  expect(placed.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
    { id: "line", index: null, request: null, job: "night" },
    { id: "mine", index: null, request: null, job: "night" },
    { id: "night:0", index: 0, request: null, job: "night" },
  ]);
});

test("a second run gives all outcomes again and sends nothing", async () => {
  const { run, settle, fake } = jobWorld();
  const first = await settle(all(run({ requests: plain(25) })));
  const creates = fake.calls("batches.create");
  expect(await settle(all(run({ requests: plain(25) })))).toEqual(first);
  expect(fake.calls("batches.create")).toBe(creates);
});

test("a longer list under the same job sends only the new requests, and outcomes of a shorter one's rest have no request", async () => {
  const { run, settle, fake } = jobWorld();
  await settle(all(run({ requests: plain(5) })));
  expect(await settle(all(run({ requests: plain(8) })))).toHaveLength(8);
  expect(runsOf(fake)).toEqual(plain(8).map(() => 1));
  const shorter = await settle(all(run({ requests: plain(2) })));
  expect(shorter.filter(({ request }) => request === null)).toHaveLength(6);
  expect(shorter.find(({ id }) => id === "night:7")).toMatchObject({ index: null, request: null });
});

test("a request that is another than in the run before is named, and the run has stopped when it says so", async () => {
  const { run, settle, fake, time } = jobWorld();
  await settle(all(run({ requests: plain(25) })));
  const changed = plain(25).with(17, { body: bodyOf("other") });
  const rejected = settle(all(run({ requests: changed })));
  await expect(rejected).rejects.toThrow('requests[17] has changed: an earlier run of the job "night" had another');
  await expect(rejected).rejects.toMatchObject({ code: "DUPLICATE_ID" });
  const calls = fake.calls();
  await time.advance(24 * HOUR);
  expect([fake.calls(), time.nextAt]).toEqual([calls, Number.POSITIVE_INFINITY]);
});

test("an id twice with another body is named; with the same body it is one request", async () => {
  const { run, settle, fake } = jobWorld();
  const twice = [...plain(3), { id: "x", body: bodyOf("a") }, { id: "x", body: bodyOf("b") }];
  await expect(settle(all(run({ requests: twice })))).rejects.toThrow(
    'requests[4] has changed: the id "x" is taken by',
  );
  const same = [{ id: "y", body: bodyOf("a") }, ...plain(2), { id: "y", body: bodyOf("a") }];
  const outcomes = await settle(all(run({ requests: same, job: "same" })));
  expect(outcomes.map(({ id, index }) => [id, index]).toSorted()).toEqual([
    ["same:1", 1],
    ["same:2", 2],
    ["y", 0],
  ]);
  expect(runsOf(fake).every((count) => count === 1 || count === 2)).toBe(true);
});

test("an id that another job has in the store is refused, since its outcome would be that job's", async () => {
  const { run, settle } = jobWorld();
  await settle(all(run({ requests: [{ id: "x", body: bodyOf("a") }] })));
  const again = run({ requests: [...plain(2), { id: "x", body: bodyOf("a") }], job: "day" });
  const message = 'requests[2]: The id "x" is of the job "night" in this store, where ids are unique.';
  await expect(settle(all(again))).rejects.toThrow(message);
});

test("outcomes come while requests still come, and a slow producer's are sent meanwhile", async () => {
  const { run, settle, time, fake } = jobWorld({ plan: { runMs: 10 * MINUTE } });
  const seen: string[] = [];
  async function* requests() {
    yield* plain(12);
    await new Promise<void>((resolve) => void time.setTimeout(resolve, 5 * HOUR));
    seen.push(`${runsOf(fake).length} run`);
    yield { body: bodyOf("last") };
  }
  const outcomes = all(run({ requests: requests() }));
  await settle(outcomes);
  expect(seen).toEqual(["12 run"]);
  expect((await outcomes).length).toBe(13);
});

test("the iterable is read no further ahead than the store takes it", async () => {
  const here = jobWorld();
  let read = 0;
  let isHeld = true;
  const store = new SimProcess(here.time).wrap(here.store, async (name, call) => {
    while (name === "enqueue" && isHeld) await new Promise<void>((go) => void here.time.setTimeout(go, 1_000));
    return call();
  });
  function* requests() {
    for (; read < 5_000; read += 1) yield { body: bodyOf(`r${read}`) };
  }
  const thresholds = { maxRequests: 5_000 };
  const done = all(here.run({ requests: requests(), store, thresholds }));
  await here.settle(new Promise<void>((resolve) => void here.time.setTimeout(resolve, MINUTE)));
  expect(read).toBeLessThan(1_100);
  isHeld = false;
  expect(await here.settle(done)).toHaveLength(5_000);
});

test("an error of the iterable ends the run after a stop, and the next run continues", async () => {
  const { run, settle, fake, time } = jobWorld();
  async function* requests() {
    yield* plain(15);
    throw new Error("The file is cut off.");
  }
  await expect(settle(all(run({ requests: requests() })))).rejects.toThrow("The file is cut off.");
  expect(time.nextAt).toBe(Number.POSITIVE_INFINITY);
  expect(await settle(all(run({ requests: plain(25) })))).toHaveLength(25);
  expect(runsOf(fake)).toEqual(plain(25).map(() => 1));
});

test("the iterable's own error ends the run, also where it is that of another store", async () => {
  const { run, settle } = jobWorld();
  async function* requests() {
    yield* plain(3);
    throw storeDown();
  }
  await expect(settle(all(run({ requests: requests() })))).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
});

test("a request that no account takes is named by its index, and earlier ones stay stored", async () => {
  const { run, settle, store } = jobWorld();
  const requests = [...plain(1_203), { body: { messages: [] } }];
  const rejected = settle(all(run({ requests, thresholds: { maxRequests: 5_000 } })));
  await expect(rejected).rejects.toBeInstanceOf(DispatchError);
  await expect(rejected).rejects.toMatchObject({ code: "MISSING_MODEL", message: /^requests\[1203\]: / });
  const [usage] = await store.usage({ job: "night" });
  expect(usage?.requests).toBeGreaterThan(0);
  const another = settle(all(run({ requests: [{ ...plain(1)[0], job: "day" } as never] })));
  await expect(another).rejects.toThrow('requests[0]: Expected `job` to be "night" or absent, got "day".');
});

test("an aborted signal ends the run with its reason, lets nothing continue, ends the iterable, and loses nothing", async () => {
  const { run, settle, fake, time } = jobWorld();
  const stop = new AbortController();
  let isEnded = false;
  async function* requests() {
    try {
      yield* plain(12);
      await new Promise<void>((resolve) => void time.setTimeout(resolve, 5 * HOUR));
      yield* plain(12);
    } finally {
      isEnded = true;
    }
  }
  const done = all(run({ requests: requests(), signal: stop.signal }));
  time.setTimeout(() => stop.abort(new Error("Ctrl-C")), 10 * MINUTE);
  const before = time.now();
  await expect(settle(done)).rejects.toThrow("Ctrl-C");
  expect(time.now() - before).toBeLessThan(11 * MINUTE);
  const calls = fake.calls();
  await time.advance(24 * HOUR);
  expect([fake.calls(), isEnded]).toEqual([calls, true]);
  expect(await settle(all(run({ requests: plain(12) })))).toHaveLength(12);
  expect(runsOf(fake)).toEqual(plain(12).map(() => 1));
});

test("a signal that is aborted before enqueues nothing; one that is aborted between outcomes gives no more", async () => {
  const { run, settle, store, time } = jobWorld();
  const aborted = all(run({ requests: plain(3), signal: AbortSignal.abort() }));
  await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
  expect(await store.usage({ job: "night" })).toEqual([]);
  const stop = new AbortController();
  const given: number[] = [];
  const reading = (async () => {
    for await (const { index } of run({ requests: plain(10), signal: stop.signal })) {
      given.push(index as number);
      if (given.length === 3) stop.abort();
    }
  })();
  await expect(settle(reading)).rejects.toMatchObject({ name: "AbortError" });
  expect(given).toHaveLength(3);
  expect(time.nextAt).toBe(Number.POSITIVE_INFINITY);
});

test("breaking out of the loop stops the dispatcher, and keeps the store open", async () => {
  const { run, settle, store, fake, time } = jobWorld({ plan: ({ index }) => ({ runMs: HOUR * (index + 1) }) });
  const broken = (async () => {
    for await (const { id } of run({ requests: plain(30) })) return id;
    return null;
  })();
  expect(await settle(broken)).toMatch(/^night:\d+$/);
  expect(time.nextAt).toBe(Number.POSITIVE_INFINITY);
  expect((await store.usage({ job: "night" }))[0]?.requests).toBe(30);
  expect(await settle(all(run({ requests: plain(30) })))).toHaveLength(30);
  expect(runsOf(fake)).toEqual(plain(30).map(() => 1));
});

test("a run that is never iterated does nothing, and checks its options all the same", async () => {
  const { run, time, store } = jobWorld();
  run({ requests: plain(3) });
  await time.advance(HOUR);
  expect(await store.usage({ job: "night" })).toEqual([]);
  expect(() => run({ requests: plain(3), job: "" })).toThrow("Expected `job` to be a name of 1 to 239 characters");
});

test("two runs of one job at once each give all outcomes, and nothing runs twice", async () => {
  const { run, settle, fake } = jobWorld({ plan: ({ index }) => ({ runMs: (index + 1) * MINUTE }) });
  const both = Promise.all([all(run({ requests: plain(45) })), all(run({ requests: plain(45) }))]);
  const [one, other] = await settle(both);
  expect(one).toHaveLength(45);
  expect(other).toEqual(one);
  expect(runsOf(fake)).toEqual(plain(45).map(() => 1));
});

test("other work in the store is neither given nor waited for", async () => {
  const { run, settle, time } = jobWorld({ plan: ({ index }) => ({ runMs: index === 0 ? 20 * HOUR : MINUTE }) });
  const long = all(run({ requests: plain(10), job: "long" }));
  await settle(new Promise<void>((resolve) => void time.setTimeout(resolve, MINUTE)));
  const before = time.now();
  const short = await settle(all(run({ requests: plain(12), job: "short" })));
  expect([short.length, time.now() - before < HOUR]).toEqual([12, true]);
  expect(await settle(long)).toHaveLength(10);
});

test("batches that wait for an operator end the run with their keys, after all outcomes that there are", async () => {
  const { run, settle, fake, time } = jobWorld({ plan: ({ index }) => ({ runMs: index === 0 ? MINUTE : 2 * HOUR }) });
  const lost = { status: 404, body: { error: { message: "No such batch.", code: null } } };
  const forget = { on: ["batches.retrieve", "batches.list"] as const, times: 1_000, accept: false, reply: lost };
  time.setTimeout(() => void fake.inject({ ...forget, on: [...forget.on] }), HOUR);
  const given: unknown[] = [];
  const reading = (async () => {
    for await (const { id } of run({ requests: plain(20) })) given.push(id);
  })();
  const error = await settle(reading).catch((rejected: unknown) => rejected);
  expect(error).toMatchObject({ code: "QUARANTINED", keys: [expect.any(String)] });
  expect(given).toHaveLength(10);
});

test("a store that does not answer for a while is reported to onError and waited for", async () => {
  const here = jobWorld();
  let isAway = false;
  const store = new SimProcess(here.time).wrap(here.store, (_name, call) =>
    isAway ? Promise.reject(storeDown()) : call(),
  );
  here.time.setTimeout(() => {
    isAway = true;
  }, 20 * MINUTE);
  here.time.setTimeout(() => {
    isAway = false;
  }, 30 * MINUTE);
  async function* requests() {
    yield* plain(12);
    await new Promise<void>((resolve) => void here.time.setTimeout(resolve, 25 * MINUTE));
    yield { body: bodyOf("late") };
  }
  const onError = vi.fn();
  const outcomes = await here.settle(all(here.run({ requests: requests(), store, onError })));
  expect(new Set(outcomes.map(({ id }) => id)).size).toBe(13);
  expect(outcomes).toHaveLength(13);
  expect(onError).toHaveBeenCalledWith(expect.objectContaining({ code: "STORE_UNAVAILABLE" }), { operation: "store" });
});

test("a run that continues waits for a store that fails at any one look at its requests", async () => {
  const { run, settle, store, time } = jobWorld();
  const requests = Array.from({ length: 3 }, (_, n) => ({ id: `own${n}`, body: bodyOf(`r${n}`) }));
  await settle(all(run({ requests })));
  for (let failing = 1; failing <= 4; failing += 1) {
    let calls = 0;
    const flaky = new SimProcess(time).wrap(store, (name, call) => {
      if (name === "requests") calls += 1;
      return name === "requests" && calls === failing ? Promise.reject(storeDown()) : call();
    });
    expect(await settle(all(run({ requests, store: flaky, onError: () => {} })))).toHaveLength(3);
  }
});

test("progress is reported at the start, at a sane pace, and at the end", async () => {
  const { run, settle, time } = jobWorld({ plan: ({ index }) => ({ runMs: (index + 1) * HOUR }) });
  const told: { at: number; progress: JobProgress }[] = [];
  const startedAt = time.now();
  const onProgress = (progress: JobProgress): void => void told.push({ at: time.now() - startedAt, progress });
  await settle(all(run({ requests: plain(25), onProgress, prices: { m: { input: 2, output: 4 } } })));
  const last = told.at(-1)?.progress;
  expect(last).toMatchObject({ enqueued: 25, existing: 0, allEnqueued: true, total: 25, done: 25, leftMs: 0 });
  expect(last).toMatchObject({ waiting: 0, inBatches: 0, outcomes: { succeeded: 25, failed: 0 } });
  const { inputTokens = 0, outputTokens = 0, price } = last ?? {};
  expect(outputTokens).toBeGreaterThan(0);
  expect(price).toBeCloseTo((inputTokens + 2 * outputTokens) / 1e6, 9);
  const middle = told.find(({ progress }) => progress.done === 10)?.progress;
  expect(middle).toMatchObject({ total: 25, waiting: 0, inBatches: 15, leftMs: expect.any(Number) });
  const gaps = told.slice(1, -1).map(({ at }, n) => at - (told[n]?.at ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000);
  expect(told.length).toBeLessThan((3 * HOUR) / 20_000);
});

describe("an id that comes twice in `requests`", () => {
  const one = { id: "x", body: bodyOf("a") };
  const far = plain(1_100).map(({ body }, n) => ({ id: `far${n}`, body }));
  const cases: readonly [string, JobRequest[], number][] = [
    ["side by side", [one, one], 1],
    ["far apart", [one, ...far, one, { id: "far7", body: bodyOf("r7") }], 1_101],
  ];

  test.each(cases)(
    "counts once in a job's progress, %s, also when the job is resumed",
    async (_name, requests, count) => {
      const { run, settle } = jobWorld();
      for (const existing of [0, count]) {
        const told: JobProgress[] = [];
        const onProgress = (progress: JobProgress): void => void told.push(progress);
        await settle(all(run({ requests, onProgress, thresholds: { maxRequests: 2_000 } })));
        const figures = { total: count, done: count, enqueued: count, existing, leftMs: 0 };
        expect(told.at(-1)).toMatchObject(figures);
      }
    },
  );
});

test("an error of onProgress is passed to onError, and the job continues", async () => {
  const { run, settle } = jobWorld();
  const onError = vi.fn();
  const onProgress = (): void => {
    throw new Error("No terminal.");
  };
  expect(await settle(all(run({ requests: plain(3), onProgress, onError })))).toHaveLength(3);
  expect(onError).toHaveBeenCalledWith(expect.objectContaining({ message: "No terminal." }), { operation: "event" });
});

test("so is a rejection of onProgress by a promise of another kind", async () => {
  const { run, settle } = jobWorld();
  const onError = vi.fn();
  const onProgress = (): PromiseLike<void> => runInNewContext("Promise.reject(new Error('No terminal.'))");
  expect(await settle(all(run({ requests: plain(3), onProgress, onError })))).toHaveLength(3);
  expect(onError).toHaveBeenCalledWith(expect.objectContaining({ message: "No terminal." }), { operation: "event" });
});

test("a job without requests ends at once, with the outcomes of earlier runs", async () => {
  const { run, settle } = jobWorld();
  expect(await settle(all(run({ requests: [] })))).toEqual([]);
  await settle(all(run({ requests: plain(3) })));
  expect(await settle(all(run({ requests: [] })))).toHaveLength(3);
});

test("after a kill the progress says until when the dead process holds the batches, then nothing of it", async () => {
  const { run, settle, store, time } = jobWorld();
  const dying = new SimProcess(time);
  const failpoint = (name: string): void => {
    if (name === "after-intent") dying.kill();
  };
  const requests = plain(5);
  void all(run({ requests, store: dying.wrap(store), clock: dying.clock, failpoint }));
  await time.advance(10_000);
  expect(dying.isDead).toBe(true);
  const [batch] = await store.batches({ limit: 1 });
  const told: JobProgress[] = [];
  const outcomes = await settle(all(run({ requests, onProgress: (progress) => told.push(progress) })));
  expect(outcomes).toHaveLength(5);
  const held = told.map(({ heldUntil }) => heldUntil);
  expect(new Set(held)).toEqual(new Set([batch?.leaseUntil, null]));
  expect(held.at(-1)).toBeNull();
});
