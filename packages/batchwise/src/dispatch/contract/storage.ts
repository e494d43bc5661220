// Object storage, for providers whose batches read and write files there: five operations over the
// user's own client, as `s3Storage` and `gcsStorage` of "batchwise/dispatch/storage" make them. It
// keeps no state and retries nothing; the dispatcher does. Names are relative: to the bucket and
// prefix that the storage was made with.

import type { CallOptions } from "./account.ts";

/** An object in the storage. */
export interface StoredObject {
  /**
   * Relative, as given to `put`; of an object that the provider wrote, its address less bucket and
   * prefix.
   */
  readonly name: string;
  /**
   * Its full address, as providers take and give it: `s3://bucket/prefix/name`,
   * `gs://bucket/prefix/name`.
   */
  readonly uri: string;
  readonly bytes: number;
}

/**
 * Where an account keeps inputs and finds outputs.
 *
 * Each operation is one logical call: it honours `signal`, and `timeoutMs` as the longest wait for
 * the next progress, and rejects with whatever the client threw, which the account's `classify`
 * reads. Names are of at most 512 characters of `A-Z a-z 0-9 . _ - /`, and do not begin with "/".
 * Where a name is taken, a full address is taken too if it lies in the same bucket, whatever its
 * prefix: providers answer with addresses.
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
   * Writes an object, in place of one of that name. Atomic: a reader sees the whole new object or
   * what was there before, never a part, also when the call fails, is aborted or the process dies.
   * When it resolves, the object is durable and every later `get` and `list` shows it. When it
   * rejects, the object may be there whole or not at all. Memory in use does not grow with the
   * object; where `chunks` rejects, nothing is written.
   */
  put(name: string, chunks: AsyncIterable<Uint8Array>, call: CallOptions): Promise<{ readonly uri: string }>;
  /**
   * Its bytes as they arrive. Ends normally only after the last byte: a cut download rejects.
   * Rejects with a DispatchError OBJECT_NOT_FOUND where there is none, before the first byte.
   * Ending the loop early ends the download.
   */
  get(nameOrUri: string, call: CallOptions): AsyncIterable<Uint8Array>;
  /**
   * Every object whose name begins with `prefix`, in the order of names, page by page as it is
   * read. "": all.
   */
  list(prefix: string, call: CallOptions): AsyncIterable<StoredObject>;
  /** Deletes it. No error where there is none. */
  delete(nameOrUri: string, call: CallOptions): Promise<void>;
  /** The full address of a name. Pure. */
  uriOf(name: string): string;
}
