// Object storage for providers whose batches read and write files: five operations over the user's
// client, as `s3Storage` and `gcsStorage` of "batchwise/dispatch/storage" make them. A storage
// keeps no state and retries nothing; the dispatcher does. Names are relative to the storage's
// bucket and prefix.

import type { CallOptions } from "./account.ts";

/** An object in the storage. */
export interface StoredObject {
  /**
   * Relative name, as given to `put`. For an object that the provider wrote: its address without
   * bucket and prefix.
   */
  readonly name: string;
  /**
   * Its full address, as providers use it: `s3://bucket/prefix/name`, `gs://bucket/prefix/name`.
   */
  readonly uri: string;
  readonly bytes: number;
}

/**
 * The storage of an account's inputs and outputs.
 *
 * Each operation is one logical call. It honours `signal`, and `timeoutMs` as the longest wait for
 * the next progress. It rejects with the client's error, which the account's `classify` reads.
 * Names have at most 512 characters of `A-Z a-z 0-9 . _ - /` and do not begin with "/". A full
 * address in the same bucket, with any prefix, is valid in place of a name: providers answer with
 * addresses.
 *
 * @example
 * ```ts
 * import type { CallOptions, ObjectStorage } from "batchwise/dispatch";
 * async function copy(storage: ObjectStorage, from: string, to: string, call: CallOptions): Promise<string> {
 *   const { uri } = await storage.put(to, storage.get(from, call), call);
 *   return uri;
 * }
 * ```
 */
export interface ObjectStorage {
  /**
   * Writes or replaces an object. Atomic: a reader sees the whole new object or the old state,
   * never a part, also after a failure, an abort or a crash. When it resolves, the object is
   * durable and every later `get` and `list` shows it. When it rejects, the whole object may exist
   * or not. Memory use does not grow with the object. If `chunks` rejects, nothing is written.
   */
  put(name: string, chunks: AsyncIterable<Uint8Array>, call: CallOptions): Promise<{ readonly uri: string }>;
  /**
   * Its bytes as they arrive. Ends normally only after the last byte: a cut download rejects.
   * Rejects with OBJECT_NOT_FOUND for a missing object, before the first byte. Ending the loop
   * early ends the download.
   */
  get(nameOrUri: string, call: CallOptions): AsyncIterable<Uint8Array>;
  /** Every object whose name begins with `prefix`, in name order, by pages. "": all. */
  list(prefix: string, call: CallOptions): AsyncIterable<StoredObject>;
  /** Deletes it. A missing object is no error. */
  delete(nameOrUri: string, call: CallOptions): Promise<void>;
  /** The full address of a name. Pure. */
  uriOf(name: string): string;
}
