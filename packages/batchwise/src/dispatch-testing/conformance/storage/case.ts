// The type of a storage case, and helpers that the cases share. Needs no test runner: a case throws
// if the storage breaks the contract.

import { equal, ok } from "node:assert/strict";
import type { CallOptions } from "../../../dispatch/contract/account.ts";
import type { ObjectStorage } from "../../../dispatch/contract/storage.ts";
import type { FakeStorage, FakeStorageOptions } from "../../fake/storage/shelf.ts";

/** A storage on a new fake, in the bucket "bucket" with the prefix "folder". */
export interface StorageRig {
  readonly storage: ObjectStorage;
  readonly fake: FakeStorage;
}

/**
 * Makes a fake with these options and a storage over its usual client, with the client's retries
 * switched off.
 */
export type StorageFactory = (options: FakeStorageOptions) => Promise<StorageRig>;

/** One case of the suite that every storage passes. */
export interface StorageCase {
  /** A sentence that says what a storage does. */
  readonly name: string;
  run(open: StorageFactory): Promise<void>;
}

export const BUCKET = "bucket";
/** More than one upload part, and not a multiple of the part size. */
export const LARGE_BYTES: number = 9 * 1024 * 1024 + 17;
const PATTERN = new Uint8Array(LARGE_BYTES);
for (let place = 0; place < LARGE_BYTES; place += 1) PATTERN[place] = place * 7 + (place >> 8);

export function storageCase(
  name: string,
  body: (rig: StorageRig) => Promise<void>,
  options: FakeStorageOptions = {},
): StorageCase {
  return { name, run: async (open) => body(await open({ buckets: [BUCKET, "other"], ...options })) };
}

export function call(changes: Partial<CallOptions> = {}): CallOptions {
  return { signal: new AbortController().signal, timeoutMs: 10_000, ...changes };
}

export async function failure(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error("Expected a rejection.");
}

/** Bytes that differ by position. Cached: do not change them. */
export function pattern(length: number): Uint8Array {
  return PATTERN.subarray(0, length);
}

/** Yields the bytes in chunks of this size. */
export async function* inChunks(bytes: Uint8Array, size: number = 1_000_003): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}

export async function put(storage: ObjectStorage, name: string, content: string | Uint8Array): Promise<string> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return (await storage.put(name, inChunks(bytes), call())).uri;
}

export async function readAll(
  storage: ObjectStorage,
  nameOrUri: string,
  options: CallOptions = call(),
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of storage.get(nameOrUri, options)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export async function textOf(storage: ObjectStorage, nameOrUri: string): Promise<string> {
  return (await readAll(storage, nameOrUri)).toString();
}

export async function listed(storage: ObjectStorage, prefix: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name, uri, bytes } of storage.list(prefix, call())) {
    ok(bytes >= 0 && uri.includes("://"), `expected a size and an address, got ${bytes} and ${uri}`);
    names.push(name);
  }
  return names;
}

export function same(got: Uint8Array, wanted: Uint8Array): void {
  equal(got.length, wanted.length);
  equal(Buffer.compare(got, wanted), 0);
}
