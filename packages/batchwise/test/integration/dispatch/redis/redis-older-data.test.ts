// What the first version of the Redis store has written works on: every row of it was made by that
// version, in a store with one batch half settled, three outcomes, and requests that wait. What it
// did not know reads as "" or null.

import { readFileSync } from "node:fs";
import { redisStore } from "batchwise/dispatch/redis";
import { expect, onTestFinished, test } from "vitest";
import type { RequestMatch } from "../../../../src/dispatch/contract/store/rows.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { NOW, requests, sealInput } from "../../../dispatch/stores/sqlite/folder.ts";
import { redisPlace } from "../../services/kept.ts";
import { clientAt } from "../../services/redis.ts";

const fixture = readFileSync(new URL("../fixtures/redis-1.json", import.meta.url), "utf8");
const COMMANDS = JSON.parse(fixture) as readonly (readonly [string, string, ...string[]])[];
const IDS = ["good", "bad", "again", "inside", "waits", "gone", "dated"];
const LATER = NOW + 1_000_000;
const after = { sinks: ["hook"], cancelledPayload: "{}", cancelledCode: "cancelled", now: LATER };

/** `glob`: letters that mean something else where keys are looked for. */
async function olderStore(glob = ""): Promise<Store> {
  const { port, prefix } = await redisPlace();
  const client = clientAt(port);
  onTestFinished(() => client.disconnect());
  for (const [command, name, ...rest] of COMMANDS) {
    // Ledgers belong to the server's run that wrote them; this run is another.
    if (name !== "epoch") await client.call(command, `{${prefix}${glob}}:${name}`, ...rest);
  }
  return redisStore({ client, prefix: `${prefix}${glob}` });
}

async function ids(store: Store, match: RequestMatch, limit = 100): Promise<string[]> {
  const found: string[] = [];
  for (let from: number | null = 0; from !== null; ) {
    const page: Awaited<ReturnType<Store["find"]>> = await store.find({ match, after: from, limit });
    found.push(...page.rows.map(({ id }) => id));
    from = page.next;
  }
  return found;
}

test("its requests and outcomes are read whole", async () => {
  const store = await olderStore();
  const rows = await store.requests({ ids: IDS, bodies: true, history: true });
  expect(rows.map(({ id, state, job, arrival, body }) => [id, state, job, arrival, body])).toEqual([
    ["good", "ended", "", 1, '{"input":"good"}'],
    ["bad", "ended", "", 2, '{"input":"bad"}'],
    ["again", "ready", "", 3, '{"input":"again"}'],
    ["inside", "claimed", "", 4, '{"input":"inside"}'],
    ["waits", "ready", "", 5, '{"input":"waits"}'],
    ["gone", "ended", "", 6, '{"input":"gone"}'],
    ["dated", "ready", "", 7, '{"input":"dated"}'],
  ]);
  expect(rows[0]).toMatchObject({ attempts: 1, metadata: '{"a":1}' });
  expect(rows[0]?.ended).toEqual({ status: "succeeded", code: null, batchKey: null, cursor: 1, recordedAt: NOW + 1 });
  expect(rows[2]?.history).toEqual([{ batchKey: "first", code: "rate", at: NOW + 1 }]);
  expect(await store.outcomes({ after: 0, limit: 9 })).toMatchObject([
    { id: "good", status: "succeeded", payload: '{"response":1}', tenant: "t", job: "", code: null, batchKey: null },
    { id: "bad", status: "failed", payload: '{"error":{"code":"x"}}', attempts: 1, recordedAt: NOW + 1 },
    { id: "gone", status: "cancelled", attempts: 0, recordedAt: NOW + 3 },
  ]);
  expect(await store.usage({})).toEqual([]);
});

test("its batch and its waiting requests come to their ends, and its log continues in order", async () => {
  const store = await olderStore();
  const final = { kind: "final", status: "succeeded", payload: "{}", code: null, usage: null, charged: true } as const;
  await store.settle({ key: "first", fence: 1, items: [{ ord: 3, ...final }], ...after });
  const second = await store.seal({ ...sealInput("second"), now: NOW + 10 });
  expect(second).toMatchObject({ ok: true, batch: { requests: 3 } });
  expect((await store.requests({ batchKey: "second", fromOrd: 0, limit: 9, bodies: true })).map((r) => r.body)).toEqual(
    ['{"input":"again"}', '{"input":"waits"}', '{"input":"dated"}'],
  );
  await store.settle({ key: "second", fence: 1, items: [0, 1, 2].map((ord) => ({ ord, ...final })), ...after });
  const log = (await store.outcomes({ after: 0, limit: 9 })).map(({ cursor, id }) => `${cursor} ${id}`);
  expect(log).toEqual(["1 good", "2 bad", "3 gone", "4 inside", "5 again", "6 waits", "7 dated"]);
  expect((await store.outcomes({ after: 2, limit: 2 })).map(({ id }) => id)).toEqual(["gone", "inside"]);
  const take = { sinks: ["hook"], limit: 9, leaseUntil: LATER + 1 };
  const due = await store.deliveries({ now: LATER, reports: [], take });
  expect(due.map(({ outcome }) => outcome.id)).toEqual(["gone", "inside", "again", "waits", "dated"]);
  const redeliver = { kind: "redeliver", sink: "hook", after: 0, limit: 9 } as const;
  expect(await store.amend(redeliver, [], LATER)).toEqual([{ id: "bad", result: "changed" }]);
});

test("its ended requests are retried, but for those that succeeded", async () => {
  const store = await olderStore();
  const lanes = ["good", "bad", "gone"].map(() => sealInput("").lane);
  const retried = await store.amend({ kind: "retry", ids: ["good", "bad", "gone"], lanes }, [], LATER);
  expect(retried.map(({ result }) => result)).toEqual(["ended", "changed", "changed"]);
  expect((await store.outcomes({ after: 0, limit: 9 })).map(({ id }) => id)).toEqual(["good"]);
  expect(await ids(store, { states: ["ready"] })).toEqual(["bad", "again", "waits", "gone", "dated"]);
});

test.each([
  ["", "a plain prefix"],
  ["*[a-z]?\\^", "a prefix of letters that stand for others in a pattern"],
])("its requests are found in order of arrival among new ones (%s, %s)", async (glob) => {
  const store = await olderStore(glob);
  await store.amend({ kind: "cancel", ids: ["waits"], payload: "{}", code: "c" }, [], LATER);
  await store.enqueue(requests(2, "new"), LATER);
  expect(await ids(store, {}, 2)).toEqual([...IDS, "new0", "new1"]);
  expect(await ids(store, { states: ["ready"] })).toEqual(["again", "dated", "new0", "new1"]);
  expect(await ids(store, { states: ["claimed"] })).toEqual(["inside"]);
  expect(await ids(store, { states: ["succeeded", "failed"] }, 1)).toEqual(["good", "bad"]);
  expect(await ids(store, { tenant: "t" })).toEqual(["good", "waits"]);
  expect(await ids(store, { batchKey: "first" })).toEqual(["inside"]);
  expect(await ids(store, { code: "c" })).toEqual(["waits"]);
});

test("a new one that waits is found when all of the older ones have ended before they were looked for", async () => {
  const store = await olderStore();
  await store.enqueue(requests(1, "new"), LATER);
  const item = {
    ord: 3,
    kind: "final",
    status: "failed",
    payload: "{}",
    code: "c",
    usage: null,
    charged: true,
  } as const;
  await store.settle({ key: "first", fence: 1, items: [item], ...after });
  await store.amend({ kind: "cancel", ids: ["again", "waits", "dated"], payload: "{}", code: "c" }, [], LATER);
  expect(await ids(store, { states: ["ready", "claimed"] })).toEqual(["new0"]);
  const lanes = [sealInput("").lane];
  await store.amend({ kind: "retry", ids: ["inside"], lanes }, [], LATER);
  await store.amend({ kind: "cancel", ids: ["new0"], payload: "{}", code: "c" }, [], LATER);
  expect(await ids(store, { states: ["ready", "claimed"] })).toEqual(["inside"]);
});

test("the ready ones of the layout before are counted once, while others come, go and are claimed", async () => {
  const { port, prefix } = await redisPlace();
  const client = clientAt(port);
  onTestFinished(() => client.disconnect());
  const store = redisStore({ client, prefix });
  await store.enqueue(requests(2_500, "old"), NOW);
  await store.seal({ ...sealInput("first"), maxRequests: 1_150 });
  await client.del(`{${prefix}}:ready`);
  await client.hdel(`{${prefix}}:meta`, "readied");
  await client.hset(`{${prefix}}:epoch`, "layout", 3);
  const found = ids(store, { states: ["ready"] }, 10_000);
  await store.amend({ kind: "cancel", ids: ["old1200", "old2400"], payload: "{}", code: "c" }, [], LATER);
  await store.seal({ ...sealInput("second"), maxRequests: 100 });
  await store.enqueue(requests(250, "new"), LATER);
  await found;
  const lane = sealInput("").lane;
  await store.amend({ kind: "retry", ids: ["old1200"], lanes: [lane] }, [], LATER);
  const waiting = await ids(store, { states: ["ready"] }, 10_000);
  expect(waiting).toHaveLength(2_500 - 1_150 - 100 - 1 + 250);
  expect(waiting).toContain("old1200");
  const counts = Object.values(await client.hgetall(`{${prefix}}:ready`)).map(Number);
  expect(counts.reduce((sum, count) => sum + count)).toBe(waiting.length);
  expect(Math.max(...counts)).toBeLessThanOrEqual(100);
});

test("data that a later version may have written is not touched", async () => {
  const { port, prefix } = await redisPlace();
  const client = clientAt(port);
  onTestFinished(() => client.disconnect());
  const store = redisStore({ client, prefix });
  await store.enqueue(requests(1, "r"), NOW);
  await client.hset(`{${prefix}}:epoch`, "layout", 7);
  const refused = {
    code: "STORE_SCHEMA",
    message: expect.stringContaining("layout 7, newer than this batchwise"),
  };
  await expect(store.enqueue(requests(1, "r"), NOW)).rejects.toMatchObject(refused);
  await expect(store.probe(1, NOW)).rejects.toMatchObject(refused);
  await expect(redisStore({ client, prefix }).find({ match: {}, after: 0, limit: 1 })).rejects.toMatchObject(refused);
});

test("its first write refuses processes of the layouts before", async () => {
  const { port, prefix } = await redisPlace();
  const client = clientAt(port);
  onTestFinished(() => client.disconnect());
  const epoch = `{${prefix}}:epoch`;
  await client.hset(epoch, "layout", 2);
  const store = redisStore({ client, prefix });
  await store.find({ match: {}, after: 0, limit: 1 });
  await store.enqueue(requests(1, "r"), NOW);
  expect(await client.hget(epoch, "layout")).toBe("6");
});
