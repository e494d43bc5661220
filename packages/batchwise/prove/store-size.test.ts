// The SQL stores and Redis at size: 1,000,000 requests of which 500,000 wait, filled through the
// stores' own calls. The times are those of a quiet machine. Takes some ten minutes and 3 GB of
// disk and memory.

import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Settlement } from "../src/dispatch/contract/store/outcome-rows.ts";
import type { RequestMatch } from "../src/dispatch/contract/store/rows.ts";
import type { Store } from "../src/dispatch/contract/store/store.ts";
import { makeFolder, NOW, requests, sealInput } from "../test/dispatch/stores/sqlite/folder.ts";
import { openStore, type Place } from "../test/integration/dispatch/stores/open-store.ts";
import { postgresPlace, redisPlace } from "../test/integration/services/kept.ts";

/** PROVE_ROWS=200000 for a first look. */
const ALL = Number(process.env.PROVE_ROWS ?? 1_000_000);
const WAITING = ALL / 2;
const BATCH = 50_000;
/** One of so many fails: enough for a page, however few rows there are. */
const FAILS_EVERY = ALL / 100;
const CHUNK = 1_000;
const FIRST_PAGE_MS = 200;
const PROBE_MS = 10;
/** One script call a page costs Redis more than a query costs a database. */
const MEMBERS_MS: Readonly<Record<Place["kind"], number>> = { sqlite: 3_000, postgres: 3_000, redis: 6_000 };
const TRIES = 9;

const folder = makeFolder(tmpdir());
const places: Readonly<Record<Place["kind"], () => Promise<Place>>> = {
  sqlite: async () => ({ kind: "sqlite", path: folder.file() }),
  postgres: async () => ({ kind: "postgres", config: await postgresPlace() }),
  redis: async () => ({ kind: "redis", ...(await redisPlace()) }),
};

/** Words, so that no database compresses them much. */
function words(bytes: number): string {
  const drawn = Array.from({ length: Math.ceil(bytes / 7) }, () => Math.random().toString(36).slice(2, 8));
  return drawn.join(" ").slice(0, bytes);
}

async function enqueue(store: Store, prefix: string, count: number, body: () => string): Promise<void> {
  for (let from = 0; from < count; from += CHUNK) {
    const some = requests(CHUNK, `${prefix}${from}-`).map((one) => ({ ...one, body: body() }));
    await store.enqueue(some, NOW + from);
  }
}

async function settleAll(store: Store, key: string): Promise<void> {
  for (let from = 0; from < BATCH; from += CHUNK) {
    const items = Array.from({ length: CHUNK }, (_, n): Settlement => {
      const isBad = (from + n) % FAILS_EVERY === 0;
      const ending = { payload: "{}", usage: null, charged: true };
      if (isBad) return { ord: from + n, kind: "final", status: "failed", code: "bad", ...ending };
      return { ord: from + n, kind: "final", status: "succeeded", code: null, ...ending };
    });
    const cancelled = { cancelledPayload: "{}", cancelledCode: "c" };
    await store.settle({ key, fence: 1, items, sinks: [], ...cancelled, now: NOW });
  }
}

async function fill(store: Store): Promise<void> {
  await enqueue(store, "ended", ALL - WAITING - BATCH, () => `{"input":"${words(100)}"}`);
  for (let n = 0; n < (ALL - WAITING - BATCH) / BATCH; n += 1) {
    await store.seal({ ...sealInput(`ended-${n}`), maxRequests: BATCH });
    await settleAll(store, `ended-${n}`);
    await store.transition(`ended-${n}`, 1, { state: "done" }, NOW);
  }
  await enqueue(store, "member", BATCH, () => `{"input":"${words(2_000)}"}`);
  await store.seal({ ...sealInput("open"), maxRequests: BATCH });
  await enqueue(store, "waiting", WAITING, () => `{"input":"${words(100)}"}`);
}

/** The median of some tries. */
async function msOf(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < TRIES; n += 1) {
    const begun = performance.now();
    await work();
    times.push(performance.now() - begun);
  }
  return times.sort((a, b) => a - b)[Math.floor(TRIES / 2)] as number;
}

async function firstPage(store: Store, match: RequestMatch): Promise<string[]> {
  const ids: string[] = [];
  for (let after: number | null = 0; after !== null && ids.length < 20; ) {
    const page: Awaited<ReturnType<Store["find"]>> = await store.find({ match, after, limit: 100 });
    ids.push(...page.rows.map(({ id }) => id));
    after = page.next;
  }
  return ids;
}

afterAll(() => folder.remove());

describe.each(Object.keys(places) as Place["kind"][])(`${ALL} requests on %s`, (kind) => {
  let opened: Awaited<ReturnType<typeof openStore>>;
  let place: Place;

  beforeAll(async () => {
    place = await places[kind]();
    opened = await openStore(place);
    await fill(opened.store);
  }, 1_200_000);
  afterAll(async () => {
    await opened.store.close();
    await opened.end();
    if (place.kind === "sqlite") rmSync(place.path, { force: true });
  });

  test.each<RequestMatch>([{ states: ["failed"] }, { states: ["ready"] }, { states: ["claimed"] }])(
    "the first page of %o takes 200 ms",
    async (match) => {
      expect((await firstPage(opened.store, match)).length).toBeGreaterThanOrEqual(20);
      const ms = await msOf(() => firstPage(opened.store, match));
      process.stdout.write(`${kind}: first page of ${match.states?.join()}: ${ms.toFixed(1)} ms\n`);
      expect(ms).toBeLessThan(FIRST_PAGE_MS);
    },
  );

  test("a probe takes 10 ms while 500,000 wait", async () => {
    const [lane] = (await opened.store.probe(BATCH, NOW + ALL)).lanes;
    expect(lane?.ready).toBeGreaterThanOrEqual(BATCH);
    const ms = await msOf(() => opened.store.probe(BATCH, NOW + ALL));
    process.stdout.write(`${kind}: probe: ${ms.toFixed(1)} ms\n`);
    expect(ms).toBeLessThan(PROBE_MS);
  });

  test(`50,000 members of 2 KB are read in ${MEMBERS_MS[kind]} ms, in pages of 60`, async () => {
    const begun = performance.now();
    let read = 0;
    for (let fromOrd = 0; fromOrd < BATCH; ) {
      const page = await opened.store.requests({ batchKey: "open", fromOrd, limit: 60, bodies: true });
      read += page.length;
      fromOrd = (page.at(-1)?.ord ?? BATCH) + 1;
    }
    const ms = performance.now() - begun;
    process.stdout.write(`${kind}: 50,000 members: ${ms.toFixed(0)} ms\n`);
    expect(read).toBe(BATCH);
    expect(ms).toBeLessThan(MEMBERS_MS[kind]);
  });
});
