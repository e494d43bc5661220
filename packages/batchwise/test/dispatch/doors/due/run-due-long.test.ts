// Work that is longer than a run of `runDue`, and work of others.

import { expect, test } from "vitest";
import { memoryStore } from "../../../../src/dispatch/stores/memory/memory-store.ts";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { finish, MINUTE, names, place, SECOND } from "../../support/due-place.ts";
import { ended } from "../../support/due-runs.ts";

const soon = { plan: () => ({ validateMs: 0, runMs: MINUTE }) };

test("an `onBatch` that is longer than a run is reported, once, and ends in a longer one", async () => {
  const calls: number[] = [];
  const here = place({
    sim: soon,
    onBatch: async () => {
      calls.push(here.time.now());
      await here.sleep(12 * SECOND);
    },
  });
  const { dispatcher } = here.process();
  await dispatcher.enqueueMany(names(2));
  for (let ticks = 0; ticks < 20; ticks += 1) {
    const begun = calls.length;
    await ended(here.time, dispatcher.runDue({ maxMs: 10 * SECOND }));
    // Not begun again when the time is over.
    expect(calls.length - begun).toBeLessThan(2);
    await here.time.advance(20 * SECOND);
  }
  expect(calls.length).toBeGreaterThan(1);
  expect(here.errors).toMatchObject([{ code: "RUN_TOO_SHORT" }]);
  expect(String(here.errors[0])).toContain("onBatch");
  await finish(here, dispatcher, 20 * SECOND);
  expect((await dispatcher.batches()).map(({ state }) => state)).toEqual(["done"]);
});

test("`nextAt` excludes deliveries of other processes", async () => {
  const here = place({ sim: soon });
  const webhook = {
    url: "https://example.com",
    secret: "a secret of 24 characters",
    fetch: async () => {
      throw new Error("Away.");
    },
  };
  const posting = here.process({ webhook }).dispatcher;
  await posting.enqueueMany(names(2));
  for (let ticks = 0; ticks < 12; ticks += 1) {
    await ended(here.time, posting.runDue({ maxMs: 10 * SECOND }));
    await here.time.advance(10 * SECOND);
  }
  expect((await posting.stats()).deliveriesWaiting).toBeGreaterThan(0);
  await here.time.advance(24 * 60 * MINUTE);
  const { dispatcher } = here.process({ onOutcome: () => {} });
  const { value } = await ended(here.time, dispatcher.runDue({ maxMs: 10 * SECOND }));
  expect(value).toEqual({ nextAt: null, open: 0 });
});

test("a sweep that an abort cuts off is repeated by the next run", async () => {
  let lists = 0;
  const here = place({
    account: (provider, sleep) => {
      const plain = provider.account();
      return {
        ...plain,
        list: async (...given) => {
          lists += 1;
          if (lists === 1) await sleep(60 * MINUTE);
          return plain.list(...given);
        },
      };
    },
  });
  const { dispatcher } = here.process();
  const abort = new AbortController();
  const run = dispatcher.runDue({ maxMs: 20 * SECOND, signal: abort.signal }).catch(() => {});
  await here.time.advance(2 * SECOND);
  expect(lists).toBe(1);
  abort.abort();
  await ended(here.time, run);
  await ended(here.time, dispatcher.runDue({ maxMs: 20 * SECOND }));
  expect(lists).toBe(2);
});

test("a sweep that is longer than a run is reported, and waits ten minutes before it begins again", async () => {
  let lists = 0;
  const here = place({
    account: (provider, sleep) => {
      const plain = provider.account();
      return {
        ...plain,
        list: async (...given) => {
          lists += 1;
          await sleep(12 * SECOND);
          return plain.list(...given);
        },
      };
    },
  });
  const { dispatcher } = here.process();
  const tick = async (): Promise<void> => {
    await ended(here.time, dispatcher.runDue({ maxMs: 10 * SECOND }));
    await here.time.advance(10 * SECOND);
  };
  await tick();
  expect(here.errors).toMatchObject([{ code: "RUN_TOO_SHORT" }]);
  await tick();
  expect(lists).toBe(1);
  await here.time.advance(11 * MINUTE);
  await tick();
  expect(lists).toBe(2);
  expect(here.errors).toHaveLength(1);
});

test.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore({ path: ":memory:" })],
])("a sweep of ten pages, of which a run has time for one, ends after some runs: %s", async (_name, open) => {
  const cursors: (string | null)[] = [];
  const store = open();
  const here = place({
    store,
    account: (provider, sleep) => {
      const plain = provider.account();
      const list = { paged: true, pageSize: 1, newestFirst: false };
      return {
        ...plain,
        capabilities: { ...plain.capabilities, list },
        list: async ({ cursor }) => {
          cursors.push(cursor);
          await sleep(7 * SECOND);
          const page = Number(cursor ?? 0);
          return { batches: [], next: page < 9 ? String(page + 1) : null };
        },
      };
    },
  });
  const { dispatcher } = here.process();
  for (let runs = 0; runs < 20; runs += 1) {
    await ended(here.time, dispatcher.runDue({ maxMs: 10 * SECOND }));
    await here.time.advance(SECOND);
  }
  // A call that was cut off is made again.
  expect([...new Set(cursors)]).toEqual([null, "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
  expect(cursors.length).toBeLessThanOrEqual(20);
  expect(here.errors).toEqual([]);
  const marks = (await store.marks([], here.time.now())).map(({ name }) => name);
  expect(marks.filter((name) => name.startsWith("place of sweep"))).toEqual([]);
  await store.close();
});

test("`flush()` counts for the runs of its own process", async () => {
  const here = place({ sim: soon });
  const mine = here.process({ thresholds: { maxAgeMs: 60 * MINUTE } }).dispatcher;
  const other = here.process({ thresholds: { maxAgeMs: 60 * MINUTE } }).dispatcher;
  await mine.enqueueMany(names(2));
  mine.flush();
  await ended(here.time, other.runDue({ maxMs: 10 * SECOND }));
  expect(await mine.batches()).toEqual([]);
  await ended(here.time, mine.runDue({ maxMs: 10 * SECOND }));
  expect(await mine.batches()).toHaveLength(1);
});
