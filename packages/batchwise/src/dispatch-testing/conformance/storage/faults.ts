// Cases on failed calls: the objects that exist afterwards, and the errors that the caller gets.

import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import type { FakeOperation } from "../../fake/fault-types.ts";
import {
  BUCKET,
  call,
  failure,
  inChunks,
  LARGE_BYTES,
  listed,
  pattern,
  put,
  readAll,
  type StorageCase,
  same,
  storageCase,
  textOf,
} from "./case.ts";

const WRITES: readonly FakeOperation[] = ["objects.put", "uploads.create", "uploads.part", "uploads.complete"];

async function* failing(bytes: Uint8Array, error: Error): AsyncGenerator<Uint8Array> {
  yield* inChunks(bytes);
  throw error;
}

export const faultCases: readonly StorageCase[] = [
  storageCase("rejects for a missing object, before the first byte", async ({ storage }) => {
    equal(((await failure(readAll(storage, "none"))) as { code?: unknown }).code, "OBJECT_NOT_FOUND");
    equal(((await failure(readAll(storage, storage.uriOf("none")))) as { code?: unknown }).code, "OBJECT_NOT_FOUND");
  }),

  storageCase("distinguishes a forbidden object, and a failure, from a missing one", async ({ storage, fake }) => {
    await put(storage, "a", "a");
    for (const status of [403, 503]) {
      fake.inject({ on: "objects.get", accept: false, reply: { status } });
      notEqual(((await failure(readAll(storage, "a"))) as { code?: unknown }).code, "OBJECT_NOT_FOUND");
    }
    equal(await textOf(storage, "a"), "a");
  }),

  storageCase("writes nothing when its source ends with an error", async ({ storage, fake }) => {
    const mine = new Error("The source broke.");
    for (const length of [10, LARGE_BYTES]) {
      equal(await failure(storage.put("a", failing(pattern(length), mine), call())), mine);
    }
    deepEqual(fake.names(BUCKET), []);
  }),

  storageCase(
    "keeps the old object when a write fails, and writes the new one at the next try",
    async ({ storage, fake }) => {
      const large = pattern(LARGE_BYTES);
      await put(storage, "a", "before");
      fake.inject({ on: WRITES, accept: false, reply: { status: 503 } });
      await failure(put(storage, "a", large));
      equal(await textOf(storage, "a"), "before");
      for (const operation of ["uploads.part", "uploads.complete"] as const) {
        if (fake.calls(operation) === 0) continue;
        fake.inject({ on: operation, accept: false, reply: "drop" });
        await failure(put(storage, "a", large));
        equal(await textOf(storage, "a"), "before");
      }
      fake.heal();
      await put(storage, "a", large);
      same(await readAll(storage, "a"), large);
    },
  ),

  storageCase("has written all or nothing when the answer is lost", async ({ storage, fake }) => {
    const large = pattern(LARGE_BYTES);
    for (const content of [pattern(100), large]) {
      await put(storage, "a", "before");
      fake.inject({ on: ["objects.put", "uploads.part"], reply: "drop" });
      await failure(put(storage, "a", content));
      const found = await readAll(storage, "a");
      ok(found.toString() === "before" || Buffer.compare(found, content) === 0, "expected all or nothing");
      fake.heal();
    }
  }),

  storageCase("rejects when a download is cut, and reads it whole the next time", async ({ storage, fake }) => {
    const content = pattern(300_000);
    await put(storage, "a", content);
    fake.inject({ on: "objects.get", reply: { cutAtBytes: 200_000 } });
    // Some clients do not report it; then `timeoutMs` ends the wait.
    await failure(readAll(storage, "a", call({ timeoutMs: 500 })));
    same(await readAll(storage, "a"), content);
  }),

  storageCase("rejects when a download ends cleanly and is not whole", async ({ storage, fake }) => {
    await put(storage, "a", "one\ntwo\n");
    fake.inject({ on: "objects.get", reply: { endAfterLines: 1 } });
    await failure(readAll(storage, "a"));
    equal(await textOf(storage, "a"), "one\ntwo\n");
  }),

  storageCase(
    "rejects when a list fails between its pages",
    async (rig) => {
      const { storage, fake } = rig;
      for (const name of ["1", "2", "3"]) await put(storage, name, name);
      const seen: string[] = [];
      const read = async (): Promise<void> => {
        for await (const { name } of storage.list("", call())) {
          if (seen.push(name) === 1) fake.inject({ on: "objects.list", accept: false, reply: { status: 503 } });
        }
      };
      await failure(read());
      deepEqual(seen, ["1"]);
      deepEqual(await listed(storage, ""), ["1", "2", "3"]);
    },
    { pageSize: 1 },
  ),

  storageCase("rejects with the reason when the signal aborts", async ({ storage, fake }) => {
    await put(storage, "a", "before");
    for (const run of [
      (signal: AbortSignal) => storage.put("a", inChunks(pattern(10)), call({ signal })),
      (signal: AbortSignal) => readAll(storage, "a", call({ signal })),
      (signal: AbortSignal) => storage.list("", call({ signal }))[Symbol.asyncIterator]().next(),
      (signal: AbortSignal) => storage.delete("a", call({ signal })),
    ]) {
      fake.inject({ on: [...WRITES, "objects.get", "objects.list", "objects.delete"], accept: false, delayMs: 60_000 });
      const giveUp = new AbortController();
      const lost = failure(run(giveUp.signal));
      const calls = fake.calls();
      while (fake.calls() === calls) await new Promise((resolve) => setTimeout(resolve, 1));
      const mine = new Error("Enough.");
      giveUp.abort(mine);
      equal(await lost, mine);
    }
    equal(await textOf(storage, "a"), "before");
  }),

  storageCase("gives up after `timeoutMs` without progress", async ({ storage, fake }) => {
    await put(storage, "a", "a");
    fake.inject({ on: "objects.get", accept: false, delayMs: 60_000 });
    const error = await failure(readAll(storage, "a", call({ timeoutMs: 30 })));
    equal((error as Error).name, "TimeoutError");
  }),
];
