// What finding, sums and a job's outcomes cost a Redis server among thousands of others, counted in
// commands; and how its requests are held in memory.

import { redisStore } from "batchwise/dispatch/redis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { FindQuery, NewRequest, RequestMatch } from "../../../../src/dispatch/contract/store/rows.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { NOW, requests, sealInput } from "../../../dispatch/stores/sqlite/folder.ts";
import { startOwnRedis } from "../../services/kept.ts";
import { clientAt } from "../../services/redis.ts";

const CROWD = 12_000;
const LANE = sealInput("").lane;
/** Looked at by one call of find. */
const LOOK = 1_000;

let client: ReturnType<typeof clientAt>;
let store: Store;
let start: string;

beforeAll(async () => {
  const { port, prefix } = await (await startOwnRedis()).place();
  start = `{${prefix}}:`;
  client = clientAt(port);
  store = redisStore({ client, prefix });
  const crowd = (name: string) => requests(CROWD / 2, name).map((one) => ({ ...one, job: "crowd" }));
  await enqueueAll(crowd("a"));
  await enqueueAll(requests(6, "few").map((one, n) => ({ ...one, job: n < 3 ? "few" : "" })));
  await enqueueAll(crowd("b"));
  // All but the last of each half have ended; three of the job's are still open, in another lane.
  await endAll("first", CROWD / 2);
  await endAll("few", 3);
  await store.amend({ kind: "cancel", ids: ["few5"], payload: "{}", code: "rare" }, [], NOW);
  await store.amend({ kind: "retry", ids: ["few5"], lanes: ["other  lane"] }, [], NOW);
  await endAll("second", CROWD);
});
afterAll(() => client?.disconnect());

async function enqueueAll(all: readonly NewRequest[]): Promise<void> {
  for (let from = 0; from < all.length; from += 1_000) await store.enqueue(all.slice(from, from + 1_000), NOW);
}

async function endAll(key: string, maxRequests: number): Promise<void> {
  const sealed = await store.seal({ ...sealInput(key), maxRequests });
  if (!sealed.ok) throw new Error(sealed.reason);
  const items = Array.from({ length: sealed.batch.requests }, (_, ord) => ({
    ...({ ord, kind: "final", status: "succeeded", payload: "{}", code: null, usage: null, charged: true } as const),
  }));
  for (let from = 0; from < items.length; from += 1_000) {
    const part = { key, fence: 1, items: items.slice(from, from + 1_000), sinks: [] };
    await store.settle({ ...part, cancelledPayload: "{}", cancelledCode: "c", now: NOW });
  }
}

/** Commands that the server runs for `work`, those of scripts included. */
async function commandsOf(work: () => Promise<unknown>): Promise<number> {
  const sum = async (): Promise<number> => {
    const text = await client.info("commandstats");
    return [...text.matchAll(/calls=(\d+)/g)].reduce((all, [, calls]) => all + Number(calls), 0);
  };
  const before = await sum();
  await work();
  return (await sum()) - before;
}

interface Found {
  readonly ids: readonly string[];
  readonly commands: readonly number[];
}

/** Every page, and what each took. */
async function findAll(match: RequestMatch, limit = LOOK): Promise<Found> {
  const ids: string[] = [];
  const commands: number[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const query: FindQuery = { match, after, limit };
    commands.push(
      await commandsOf(async () => {
        const page = await store.find(query);
        ids.push(...page.rows.map(({ id }) => id));
        after = page.next;
      }),
    );
  }
  return { ids, commands };
}

describe(`a Redis server with ${CROWD} requests that have ended`, () => {
  test.each<[string, RequestMatch, readonly string[]]>([
    ["that wait", { states: ["ready", "claimed"] }, ["few5"]],
    ["of a small job", { job: "few" }, ["few0", "few1", "few2"]],
    ["of a small job that wait", { job: "few", states: ["ready"] }, []],
    ["of a small batch", { batchKey: "few" }, ["few0", "few1", "few2"]],
    ["of a batch that is not there", { batchKey: "none" }, []],
    ["of a job that is not there", { job: "none" }, []],
  ])("finds the few %s in one call of few commands", async (_name, match, ids) => {
    const found = await findAll(match);
    expect(found.ids).toEqual(ids);
    expect(found.commands).toEqual([expect.any(Number)]);
    expect(found.commands[0]).toBeLessThan(250);
  });

  test("looks at no more than a thousand in one call, whatever it finds", async () => {
    for (const match of [{ tenant: "none" }, { job: "" }] as const) {
      const { ids, commands } = await findAll(match);
      expect(ids).toEqual("job" in match ? ["few3", "few4", "few5"] : []);
      expect(commands.length).toBeGreaterThan(CROWD / LOOK);
      expect(commands.length).toBeLessThan(CROWD / LOOK + 3);
      expect(Math.max(...commands)).toBeLessThan(LOOK + 50);
    }
  });

  test("goes to the requests of a status, past all others", async () => {
    const failed = await findAll({ states: ["failed"] });
    expect(failed.ids).toEqual([]);
    expect(failed.commands).toHaveLength(1);
    const ids = ["a5", "b5"];
    const fail = { kind: "fail", payload: "{}", code: "c" } as const;
    await store.enqueue(requests(1, "late"), NOW);
    await store.amend({ ...fail, ids: ["late0", ...ids] }, [], NOW);
    const late = await findAll({ states: ["failed"] });
    expect(late.ids).toEqual(["late0"]);
    expect(Math.max(...late.commands)).toBeLessThan(200);
    await store.amend({ kind: "retry", ids: ["late0"], lanes: [LANE] }, [], NOW);
    await store.amend({ kind: "cancel", ids: ["late0"], payload: "{}", code: "c" }, [], NOW);
    expect((await findAll({ states: ["failed", "cancelled"] })).ids).toEqual(["late0"]);
    await store.prune({
      ...{ before: NOW, batchesBefore: 0, after: 0, limit: 99_999, now: NOW },
      statuses: ["cancelled"],
    });
  });

  test("gives all of them in order, each once, in pages whose ends do not depend on the looks", async () => {
    const { ids } = await findAll({}, 777);
    const named = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}${n}`);
    expect(ids).toEqual([...named("a", CROWD / 2), ...named("few", 6), ...named("b", CROWD / 2)]);
    expect((await findAll({ job: "crowd" })).ids).toHaveLength(CROWD);
  });

  test("reads a job's outcomes without those of others", async () => {
    const commands = await commandsOf(async () => {
      const rows = await store.outcomes({ after: 0, limit: 100, job: "few" });
      expect(rows.map(({ id }) => id)).toEqual(["few0", "few1", "few2"]);
    });
    expect(commands).toBeLessThan(20);
  });

  test("holds each request, with a long metadata too, packed", async () => {
    const [one] = requests(1, "metadata");
    const metadata = JSON.stringify({ text: "x".repeat(500) });
    await store.enqueue([{ ...(one as NewRequest), digest: "d".repeat(64), metadata }], NOW);
    const [row] = await store.requests({ ids: ["metadata0"] });
    expect(row?.metadata).toBe(metadata);
    await store.amend({ kind: "cancel", ids: ["metadata0"], payload: "x".repeat(500), code: "c" }, [], NOW);
    const [outcome] = await store.outcomes({ ids: ["metadata0"] });
    expect(outcome?.metadata).toBe(metadata);
    for (const id of ["metadata0", "a0", "few5"]) {
      expect(await client.object("ENCODING", `${start}r:${id}`)).toBe("listpack");
    }
    expect(await client.object("ENCODING", `${start}at:1`)).toBe("listpack");
    await store.amend({ kind: "retry", ids: ["metadata0"], lanes: [LANE] }, [], NOW);
    expect(await client.exists(`${start}e:${outcome?.cursor}`)).toBe(0);
  });
});

test("a Redis server gives the sums of thousands of tenants in parts", async () => {
  const { port, prefix } = await (await startOwnRedis()).place();
  const own = clientAt(port);
  onTestFinished(() => own.disconnect());
  const many = redisStore({ client: own, prefix });
  const some = requests(2_500, "r").map((one, n) => ({ ...one, job: "j", tenant: `t${n}` }));
  await many.enqueue(some, NOW);
  const commands = await commandsOf(async () => {
    const rows = await many.usage({});
    expect(new Set(rows.map(({ tenant }) => tenant)).size).toBe(2_500);
    expect(rows.every(({ requests }) => requests === 1)).toBe(true);
    expect(rows).toHaveLength(2_500);
  });
  expect(commands).toBeLessThan(2_600);
  expect(await many.usage({ job: "j", tenant: "t7" })).toMatchObject([{ tenant: "t7", job: "j", requests: 1 }]);
});
