// Effects of the official clients besides the storage's calls: retries, parts, checksums, errors.

import { IdempotencyStrategy } from "@google-cloud/storage";
import { describe, expect, test } from "vitest";
import { readSdkError } from "../../../src/dispatch/providers/shapes/sdk/sdk-error.ts";
import {
  call,
  failure,
  inChunks,
  LARGE_BYTES,
  pattern,
  put,
  readAll,
} from "../../../src/dispatch-testing/conformance/storage/case.ts";
import { openGcs, openS3 } from "./storage-cases.ts";

describe.each([
  ["S3", openS3],
  ["Cloud Storage", openGcs],
] as const)("an error of %s", (_name, open) => {
  test.each([401, 403, 404, 429, 500, 503])("of status %i is read", async (status) => {
    const { storage, fake } = await open();
    const content = inChunks(pattern(10));
    fake.inject({ on: "objects.put", accept: false, reply: { status } });
    expect(readSdkError(await failure(storage.put("a", content, call()))).status).toBe(status);
    fake.inject({ on: "objects.list", accept: false, reply: { status } });
    const lists = storage.list("", call())[Symbol.asyncIterator]();
    expect(readSdkError(await failure(lists.next())).status).toBe(status);
  });

  test("about a bucket that is not there is not that an object is not", async () => {
    const { storage } = await open({ buckets: ["elsewhere"] });
    const error = await failure(readAll(storage, "a"));
    expect(readSdkError(error)).toMatchObject({
      status: 404,
      message: expect.stringContaining("bucket does not exist"),
    });
  });
});

describe("the client of S3", () => {
  test("sends 8 MB as a part, and no upload where there is less", async () => {
    const { storage, fake } = await openS3();
    await put(storage, "small", pattern(8 * 1024 * 1024 - 1));
    expect(fake.calls("uploads.create")).toBe(0);
    await put(storage, "large", pattern(LARGE_BYTES));
    expect([fake.calls("uploads.part"), fake.calls("uploads.complete"), fake.openUploads]).toEqual([2, 1, 0]);
  });

  test("may repeat calls by itself", async () => {
    const { storage, fake } = await openS3({}, { maxAttempts: 3 });
    fake.inject({
      on: ["uploads.create", "uploads.part", "uploads.complete"],
      accept: false,
      times: 2,
      reply: { status: 503 },
    });
    const content = pattern(LARGE_BYTES);
    await put(storage, "a", content);
    expect(Buffer.compare(await readAll(storage, "a"), content)).toBe(0);
    expect(fake.names("bucket")).toEqual(["folder/a"]);
  });

  test("aborts its upload when a part fails, so that no parts are billed", async () => {
    const { storage, fake } = await openS3();
    fake.inject({ on: "uploads.part", accept: false, reply: { status: 500 } });
    await failure(put(storage, "a", pattern(LARGE_BYTES)));
    await expect.poll(() => fake.openUploads).toBe(0);
    expect(fake.calls("uploads.abort")).toBe(1);
  });

  test("reports a final error that came with status 200", async () => {
    const { storage, fake } = await openS3();
    fake.inject({ on: "uploads.complete", accept: false, reply: { endAfterLines: 0 } });
    await failure(put(storage, "a", pattern(LARGE_BYTES)));
    expect(fake.names("bucket")).toEqual([]);
  });
});

describe("the client of Cloud Storage", () => {
  test("sends chunks of 8 MB, and no session where there is less", async () => {
    const { storage, fake } = await openGcs();
    await put(storage, "small", pattern(8 * 1024 * 1024 - 1));
    expect(fake.calls("uploads.create")).toBe(0);
    await put(storage, "large", pattern(LARGE_BYTES));
    expect([fake.calls("uploads.create"), fake.calls("uploads.part"), fake.openUploads]).toEqual([1, 2, 0]);
  });

  test("continues with an upload where its answer was lost, if it may repeat calls", async () => {
    const retryOptions = { idempotencyStrategy: IdempotencyStrategy.RetryAlways, maxRetryDelay: 1 };
    const { storage, fake } = await openGcs({}, { retryOptions });
    fake.inject({ on: "uploads.part", reply: "drop" });
    const content = pattern(LARGE_BYTES);
    await put(storage, "a", content);
    expect(Buffer.compare(await readAll(storage, "a"), content)).toBe(0);
    expect(fake.calls("uploads.create")).toBe(1);
  });
});
