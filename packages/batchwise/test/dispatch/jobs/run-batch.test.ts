// Jobs as callers run them: all outcomes of a job, whatever ended the runs before, through the official client.

import { expect, test } from "vitest";
import { QuarantinedError } from "../../../src/dispatch/contract/errors.ts";
import type { DispatchRequest } from "../../../src/dispatch/contract/types.ts";
import { storeDown } from "../support/world.ts";
import { bodies, indexes, jobRig, type Ran, type Request, upTo } from "./job-rig.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const SMALL = { thresholds: { maxRequests: 50 } };

async function* slowly(requests: readonly Request[], each: (index: number) => Promise<void>) {
  for (const [index, request] of requests.entries()) {
    await each(index);
    yield request;
  }
}

test("gives one outcome for each request, with its index and id, and ends", async () => {
  const rig = jobRig();
  const ran = await rig.finish(rig.begin(bodies(120), SMALL));
  expect([ran.end, indexes(ran)]).toEqual(["done", upTo(120)]);
  expect(ran.outcomes.every(({ id, index, job }) => id === `j:${index}` && job === "j")).toBe(true);
  expect(ran.outcomes[0]).toMatchObject({ status: "succeeded", tenant: "", metadata: null });
  expect(rig.runs()).toEqual(Array(120).fill(1));
  expect(await rig.bystander().enqueue(bodies(1)[0] as DispatchRequest)).toMatchObject({ existing: false });
});

test("the last batch is sent as soon as the requests end, not after two hours", async () => {
  const rig = jobRig({ runMs: MINUTE });
  const began = rig.time.now();
  const ran = await rig.finish(rig.begin(bodies(3)));
  expect(indexes(ran)).toEqual(upTo(3));
  expect(rig.time.now() - began).toBeLessThan(10 * MINUTE);
});

test("gives outcomes while the requests still come, and does not end before they do", async () => {
  const rig = jobRig({ runMs: MINUTE });
  let seen: Ran | null = null;
  const requests = slowly(bodies(60), async (index) => {
    if (index === 55) await rig.until(() => seen?.outcomes.length === 50);
  });
  seen = rig.begin(requests, SMALL);
  // The source itself lets time pass; the run must not have ended at a moment when nothing was open.
  const ran = seen;
  await rig.until(() => ran.end !== null);
  expect([ran.end, indexes(ran)]).toEqual(["done", upTo(60)]);
});

test("a slow source's requests are stored within seconds, not when a part is full", async () => {
  const rig = jobRig();
  const forEver = new Promise<void>(() => {});
  const stop = new AbortController();
  const ran = rig.begin(
    slowly(bodies(5), async (index) => (index === 3 ? forEver : undefined)),
    { signal: stop.signal },
  );
  const began = rig.time.now();
  await rig.until(async () => (await rig.store.usage({ job: "j" }))[0]?.requests === 3);
  expect(rig.time.now() - began).toBeLessThan(5_000);
  stop.abort(new Error("enough"));
  await rig.finish(ran);
  expect(String(ran.end)).toBe("Error: enough");
});

test("no requests, and a job that is done, end at once and send nothing", async () => {
  const rig = jobRig();
  expect(await rig.finish(rig.begin([]))).toMatchObject({ end: "done", outcomes: [] });
  expect(rig.fake.calls("batches.create")).toBe(0);
  await rig.finish(rig.begin(bodies(5)));
  const creates = rig.fake.calls("batches.create");
  const again = await rig.finish(rig.begin(bodies(5)));
  expect([again.end, indexes(again)]).toEqual(["done", upTo(5)]);
  expect(rig.fake.calls("batches.create")).toBe(creates);
});

test("the same job again resumes: earlier outcomes first, the missing requests added, nothing run twice", async () => {
  const rig = jobRig(({ index }) => ({ runMs: (index + 1) * 10 * MINUTE }));
  const first = rig.begin(bodies(100), SMALL, ({ outcomes }) => outcomes.length < 50);
  await rig.finish(first);
  expect([first.end, first.outcomes.length]).toEqual(["done", 50]);
  const second = await rig.finish(rig.begin(bodies(130), SMALL));
  expect([second.end, indexes(second)]).toEqual(["done", upTo(130)]);
  expect(second.outcomes.slice(0, 50).map(({ id }) => id)).toEqual(first.outcomes.map(({ id }) => id));
  expect(second.progress.at(-1)).toMatchObject({ enqueued: 130, existing: 100 });
  expect(rig.runs()).toEqual(Array(130).fill(1));
});

test("break stops the dispatcher and closes the source; the store stays open", async () => {
  const rig = jobRig({ runMs: MINUTE });
  let closed = false;
  async function* endless(): AsyncGenerator<Request> {
    try {
      for (let from = 0; ; from += 50) {
        yield* bodies(50, from);
        await new Promise<void>((resolve) => void rig.time.setTimeout(resolve, 10_000));
      }
    } finally {
      closed = true;
    }
  }
  const ran = await rig.finish(rig.begin(endless(), SMALL, () => false));
  expect([ran.end, ran.outcomes.length]).toEqual(["done", 1]);
  const calls = rig.fake.calls();
  await rig.time.advance(HOUR);
  expect([rig.fake.calls(), closed]).toEqual([calls, true]);
  expect((await rig.store.usage({ job: "j" }))[0]?.requests).toBeGreaterThanOrEqual(50);
});

test("a signal stops the run once all is at rest, rejects with its reason, and a second run goes on", async () => {
  const rig = jobRig({ runMs: HOUR });
  const stop = new AbortController();
  const first = rig.begin(bodies(70), { ...SMALL, signal: stop.signal });
  await rig.until(() => rig.fake.calls("batches.create") === 2);
  stop.abort();
  await rig.finish(first);
  expect([(first.end as Error).name, first.outcomes]).toEqual(["AbortError", []]);
  const calls = rig.fake.calls();
  await rig.time.advance(3 * HOUR);
  expect(rig.fake.calls()).toBe(calls);
  const second = await rig.finish(rig.begin(bodies(70), SMALL));
  expect([second.end, indexes(second)]).toEqual(["done", upTo(70)]);
  expect(rig.runs()).toEqual(Array(70).fill(1));
});

test("a signal that was aborted before touches nothing", async () => {
  const rig = jobRig();
  const ran = await rig.finish(rig.begin(bodies(1), { signal: AbortSignal.abort("no") }));
  expect(ran.end).toBe("no");
  expect([rig.fake.calls(), await rig.store.usage({ job: "j" })]).toEqual([0, []]);
});

test("two processes on one job each give all outcomes, and nothing runs twice", async () => {
  const rig = jobRig({ runMs: 10 * MINUTE });
  const slow = slowly(bodies(1_500), async (index) => {
    if (index % 100 === 0) await new Promise<void>((resolve) => void rig.time.setTimeout(resolve, 2_000));
  });
  const [one, two] = [rig.begin(bodies(1_500), SMALL), rig.begin(slow, SMALL)];
  await rig.until(() => one.end !== null && two.end !== null);
  expect([one.end, two.end]).toEqual(["done", "done"]);
  expect([indexes(one), indexes(two)]).toEqual([upTo(1_500), upTo(1_500)]);
  expect(rig.runs()).toEqual(Array(1_500).fill(1));
});

test("other jobs and single requests in the store are neither waited for nor given", async () => {
  const rig = jobRig(({ index }) => ({ runMs: index === 0 ? 4 * HOUR : MINUTE }));
  const other = rig.begin(bodies(5, 1_000), { job: "other" });
  await rig.until(() => rig.fake.calls("batches.create") === 1);
  const ran = await rig.finish(rig.begin(bodies(5)));
  expect([ran.end, indexes(ran), other.end]).toEqual(["done", upTo(5), null]);
  await rig.finish(other);
  expect(indexes(other)).toEqual(upTo(5));
});

test("what only a person can decide about rejects with the batches' keys, after all other outcomes", async () => {
  const rig = jobRig(({ index }) => ({ runMs: index === 0 ? MINUTE : 2 * HOUR }));
  const ran = rig.begin(bodies(100), SMALL);
  await rig.until(() => ran.outcomes.length === 50);
  const lost = { status: 404, body: { error: { message: "No such batch.", code: null } } };
  rig.fake.inject({ on: ["batches.retrieve", "batches.list"], times: 1_000, accept: false, reply: lost });
  await rig.finish(ran);
  expect(ran.end).toBeInstanceOf(QuarantinedError);
  expect([(ran.end as QuarantinedError).keys.length, ran.outcomes.length]).toEqual([1, 50]);
});

test("full batch lines and requests with ids keep them, and carry the job", async () => {
  const rig = jobRig();
  const [one, two] = bodies(2) as [DispatchRequest, DispatchRequest];
  const line = { custom_id: "line", method: "POST", url: "/v1/chat/completions", body: one.body } as const;
  const named = { ...two, id: "named", tenant: "t", job: "j", metadata: { row: "7" } };
  const { outcomes } = await rig.finish(rig.begin([line, named]));
  const shown = outcomes.map(({ id, index, job, tenant, metadata }) => ({ id, index, job, tenant, metadata }));
  expect(shown.toSorted((a, b) => a.index - b.index)).toEqual([
    { id: "line", index: 0, job: "j", tenant: "", metadata: null },
    { id: "named", index: 1, job: "j", tenant: "t", metadata: { row: "7" } },
  ]);
});

test("requests of the job that it was not given have the index -1", async () => {
  const rig = jobRig();
  await rig.bystander().enqueue({ ...(bodies(1)[0] as DispatchRequest), id: "before", job: "j" });
  const ran = await rig.finish(rig.begin(bodies(2)));
  expect(ran.outcomes.find(({ index }) => index === -1)?.id).toBe("before");
  expect(indexes(ran)).toEqual([-1, 0, 1]);
});

test("a store that is away for a minute in the middle is outlasted; one that never answers is told at once", async () => {
  const rig = jobRig({ runMs: HOUR });
  let isAway = false;
  const store = new Proxy(rig.store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return async (...given: unknown[]) => {
        if (isAway) throw storeDown();
        return value.apply(target, given);
      };
    },
  });
  const requests = slowly(bodies(1_100), async (index) => {
    if (index !== 1_050) return;
    isAway = true;
    rig.time.setTimeout(() => {
      isAway = false;
    }, MINUTE);
  });
  const ran = await rig.finish(rig.begin(requests, { store }));
  expect([ran.end, ran.outcomes.length]).toEqual(["done", 1_100]);
  isAway = true;
  const began = rig.time.now();
  const never = await rig.finish(rig.begin(bodies(1), { store, job: "k" }));
  expect([String(never.end), rig.time.now() - began < 10_000]).toEqual([String(storeDown()), true]);
});

test("progress comes at once, about once a second while things change, and at the end with everything", async () => {
  const rig = jobRig({ runMs: HOUR });
  const began = rig.time.now();
  const { progress } = await rig.finish(rig.begin(bodies(120), SMALL));
  const seconds = (rig.time.now() - began) / 1_000;
  expect(progress[0]).toMatchObject({ enqueued: 0, allEnqueued: false, rate: 0, timeLeftMs: null });
  expect(progress.some(({ waiting, inBatches }) => waiting === 0 && inBatches === 120)).toBe(true);
  // 10 s apart while the provider works.
  expect(progress.length).toBeLessThan(seconds / 10 + 60);
  expect(progress.length).toBeGreaterThan(seconds / 10 - 10);
  const last = progress.at(-1);
  expect(last).toMatchObject({
    enqueued: 120,
    existing: 0,
    allEnqueued: true,
    waiting: 0,
    inBatches: 0,
    timeLeftMs: 0,
  });
  expect(last?.ended).toEqual({ succeeded: 120, failed: 0, cancelled: 0, expired: 0 });
  expect(last?.tokens.inputTokens).toBeGreaterThan(0);
  expect(last?.rate).toBeCloseTo(120 / seconds, 2);
});
