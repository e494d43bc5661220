// Cases on writing, reading, listing and deleting objects without faults.

import { deepEqual, equal, match, rejects } from "node:assert/strict";
import {
  BUCKET,
  call,
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

export const objectCases: readonly StorageCase[] = [
  storageCase("returns the bytes that were written, under the prefix", async ({ storage, fake }) => {
    const uri = await put(storage, "in/a-1.jsonl", "one\ntwo\n");
    equal(uri, storage.uriOf("in/a-1.jsonl"));
    match(uri, /^[a-z0-9]+:\/\/bucket\/folder\/in\/a-1\.jsonl$/);
    deepEqual(fake.names(BUCKET), ["folder/in/a-1.jsonl"]);
    equal(await textOf(storage, "in/a-1.jsonl"), "one\ntwo\n");
  }),

  storageCase("stores an empty object, and a large one", async ({ storage, fake }) => {
    await put(storage, "empty", "");
    same(await readAll(storage, "empty"), new Uint8Array());
    const large = pattern(LARGE_BYTES);
    await put(storage, "large", large);
    same(await readAll(storage, "large"), large);
    equal(fake.openUploads, 0);
  }),

  storageCase("replaces an object as a whole", async ({ storage }) => {
    await put(storage, "a", "the first, which is longer");
    await put(storage, "a", "the second");
    equal(await textOf(storage, "a"), "the second");
  }),

  storageCase("accepts addresses in its bucket in place of names, and no others", async ({ storage, fake }) => {
    const uri = await put(storage, "a", "ours");
    equal(await textOf(storage, uri), "ours");
    fake.write(BUCKET, "elsewhere/b", "theirs");
    const elsewhere = uri.replace("folder/a", "elsewhere/b");
    equal(await textOf(storage, elsewhere), "theirs");
    await storage.delete(elsewhere, call());
    deepEqual(fake.names(BUCKET), ["folder/a"]);
    await rejects(readAll(storage, uri.replace("bucket", "other")), TypeError);
  }),

  storageCase("refuses a name that some provider does not accept", async ({ storage, fake }) => {
    for (const name of ["", "/a", "a b", "ü", "a?b", "x".repeat(513)]) {
      await rejects(storage.put(name, inChunks(new Uint8Array()), call()), TypeError);
    }
    equal(fake.calls(), 0);
  }),

  storageCase(
    "lists by prefix, in order, page by page",
    async ({ storage, fake }) => {
      for (const name of ["out/3", "out/1", "other", "out/2", "out/4", "out/5"]) await put(storage, name, name);
      fake.write(BUCKET, "out/of-the-folder", "");
      deepEqual(await listed(storage, "out/"), ["out/1", "out/2", "out/3", "out/4", "out/5"]);
      equal(fake.calls("objects.list"), 3);
      deepEqual(await listed(storage, "nothing/"), []);
      deepEqual(await listed(storage, ""), ["other", "out/1", "out/2", "out/3", "out/4", "out/5"]);
    },
    { pageSize: 2 },
  ),

  storageCase("lists a provider's objects, with size and address", async ({ storage, fake }) => {
    fake.write(BUCKET, "folder/out/prediction-model-1/predictions.jsonl", "12345");
    for await (const object of storage.list(storage.uriOf("out/"), call())) {
      equal(object.bytes, 5);
      equal(object.name, "out/prediction-model-1/predictions.jsonl");
      equal(await textOf(storage, object.uri), "12345");
      equal(await textOf(storage, object.name), "12345");
    }
    equal(fake.calls("objects.get"), 2);
  }),

  storageCase("deletes, and accepts a missing object", async ({ storage, fake }) => {
    await put(storage, "a", "a");
    await storage.delete("a", call());
    await storage.delete("a", call());
    deepEqual(fake.names(BUCKET), []);
  }),

  storageCase("ends a download when its reader stops early", async ({ storage }) => {
    await put(storage, "large", pattern(LARGE_BYTES));
    for await (const chunk of storage.get("large", call())) {
      equal(chunk.length > 0, true);
      break;
    }
    equal((await readAll(storage, "large")).length, LARGE_BYTES);
  }),
];
