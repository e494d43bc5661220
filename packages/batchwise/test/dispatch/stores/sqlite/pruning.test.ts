// Pruning that is particular to this store: it works in two passes, and returns the file's space.

import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import type { PruneInput, PruneStep } from "../../../../src/dispatch/contract/store/pruning.ts";
import type { Store } from "../../../../src/dispatch/contract/store/store.ts";
import { sqliteStore } from "../../../../src/dispatch/stores/sqlite/index.ts";
import { makeFolder, NOW, requests, sealInput } from "./folder.ts";

const folder = makeFolder();
afterAll(() => folder.remove());

const CALL = 1_000;
const MEGABYTE = 1_000_000;

/**
 * Requests that have ended, in an order that is not that of their arrival, in one batch that is
 * done.
 */
async function fill(store: Store, count: number, size: number): Promise<void> {
  for (let n = 0; n < count; n += CALL) await store.enqueue(requests(Math.min(CALL, count - n), `${n}-`, size), NOW);
  await store.seal(sealInput("batch"));
  const strides = Math.ceil(count / CALL);
  for (let first = 0; first < strides; first += 1) {
    const items = [];
    for (let ord = first; ord < count; ord += strides) {
      const ending = { ord, kind: "final", status: "failed", payload: "{}", code: "c", usage: null } as const;
      items.push({ ...ending, charged: true });
    }
    await store.settle({ key: "batch", fence: 1, items, sinks: [], cancelledPayload: "", cancelledCode: "", now: NOW });
  }
  await store.transition("batch", 1, { state: "done", leaseUntil: 0 }, NOW);
}

const input: PruneInput = {
  ...{ before: NOW, batchesBefore: NOW, statuses: ["failed"], after: 0, limit: 500, now: NOW },
};

async function steps(store: Store, most = Number.POSITIVE_INFINITY): Promise<{ requests: number; batches: number }> {
  const sum = { requests: 0, batches: 0 };
  let after: number | null = 0;
  for (let n = 0; n < most && after !== null; n += 1) {
    const step: PruneStep = await store.prune({ ...input, after });
    sum.requests += step.requests;
    sum.batches += step.batches;
    after = step.next;
  }
  return sum;
}

function sizeOf(path: string): number {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  return statSync(path).size;
}

describe("the file of a store that prunes", () => {
  test("shrinks to the size of the tombstones", async () => {
    const path = folder.file();
    const store = sqliteStore({ path });
    await fill(store, 20_000, 2_000);
    expect(sizeOf(path)).toBeGreaterThan(40 * MEGABYTE);
    expect(await steps(store)).toEqual({ requests: 20_000, batches: 1 });
    // Four of them are free, for later rows.
    expect(sizeOf(path)).toBeLessThan(10 * MEGABYTE);
    const again = requests(2, "0-", 2_000);
    expect(await store.enqueue(again, NOW)).toEqual(["same", "same"]);
    await store.close();
  });

  test("counts the remaining rows once, however many calls give its space back", async () => {
    const store = sqliteStore({ path: folder.file() });
    await fill(store, 20_000, 2_000);
    await store.enqueue(requests(3, "kept", 20), NOW);
    const ids = ["kept0", "kept1", "kept2"];
    await store.amend({ kind: "fail", ids, payload: "{}", code: "c" }, ["hook"], NOW);
    let [kept, calls]: [number, number] = [0, 0];
    for (let after: number | null = 0; after !== null; calls += 1) {
      const step: PruneStep = await store.prune({ ...input, after });
      kept += step.kept;
      after = step.next;
    }
    expect(calls).toBeGreaterThan(50);
    expect(kept).toBe(3);
    await store.close();
  });

  test("stays as large where it was not made to shrink, until the user says so once", async () => {
    const path = folder.file();
    const database = new DatabaseSync(path);
    let store = sqliteStore({ database });
    await fill(store, 8_000, 2_000);
    const full = sizeOf(path);
    expect(await steps(store)).toEqual({ requests: 8_000, batches: 1 });
    // The first step finds no free page for the index of tombstones.
    expect(sizeOf(path) - full).toBeGreaterThanOrEqual(0);
    expect(sizeOf(path) - full).toBeLessThan(full / 500);
    await store.close();
    // As the page on stores advises.
    database.exec("PRAGMA auto_vacuum = INCREMENTAL; VACUUM");
    expect(sizeOf(path)).toBeLessThan(full / 5);
    store = sqliteStore({ database });
    await store.enqueue(requests(8_000, "new", 2_000), NOW);
    const ids = requests(8_000, "new").map(({ id }) => id);
    await store.amend({ kind: "fail", ids, payload: "{}", code: "c" }, [], NOW);
    await steps(store);
    expect(sizeOf(path)).toBeLessThan(full / 2);
    await store.close();
    database.close();
  });
});

test("a run that was cut off between its two passes is ended by another process, and shows nothing half gone", async () => {
  const path = folder.file();
  const store = sqliteStore({ path });
  await fill(store, 3_000, 20);
  const begun = await steps(store, 5);
  expect(begun.requests).toBeGreaterThan(0);
  expect(begun.requests).toBeLessThan(3_000);
  await store.close();
  const next = sqliteStore({ path });
  const left = await next.outcomes({ after: 0, limit: 10_000 });
  expect(left).toHaveLength(3_000 - begun.requests);
  const first = left[0]?.id ?? "";
  expect(await next.amend({ kind: "retry", ids: [first], lanes: [sealInput("").lane] }, [], NOW)).toEqual([
    { id: first, result: "changed" },
  ]);
  const rest = await steps(next);
  expect(begun.requests + rest.requests).toBe(2_999);
  expect(rest.batches).toBe(1);
  const database = new DatabaseSync(path);
  expect(database.prepare("SELECT count(*) AS n FROM batchwise_outcome").get()).toEqual({ n: 0 });
  database.close();
  await next.close();
});

test("a request that is retried after a run has planned it stays", async () => {
  const store = sqliteStore({ path: folder.file() });
  await fill(store, 1_000, 20);
  await store.prune(input);
  const [last] = (await store.outcomes({ after: 0, limit: 1_000 })).slice(-1);
  const id = last?.id ?? "";
  await store.amend({ kind: "retry", ids: [id], lanes: [sealInput("").lane] }, [], NOW);
  await steps(store);
  expect(await store.requests({ ids: [id], bodies: true })).toMatchObject([{ state: "ready" }]);
  expect((await store.probe(1, NOW)).lanes).toMatchObject([{ ready: 1 }]);
  await store.close();
});
