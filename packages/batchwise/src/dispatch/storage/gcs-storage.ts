// Object storage in Google Cloud Storage, over the user's client. Up to 8 MB go in one call; more
// go as a resumable upload in chunks. Cloud Storage creates the object with the last chunk, so no
// partial object is ever visible. The client checks CRC-32C both ways. Google removes a failed
// upload within a week.

import { isError } from "../../core/contract/errors.ts";
import { check, objectWith } from "../../core/contract/validate.ts";
import type { CallOptions } from "../contract/account.ts";
import { objectNotFoundError } from "../contract/errors.ts";
import type { ObjectStorage, StoredObject } from "../contract/storage.ts";
import type { GcsBucket, GcsClient, GcsWriteStream } from "./gcs-client.ts";
import { type BucketOptions, ObjectNames } from "./names.ts";
import { PageTokens } from "./pages.ts";
import { partsOf } from "./parts.ts";
import { chunksWithin, within } from "./waits.ts";

/** Cloud Storage requires a multiple of 256 KiB. */
const CHUNK_BYTES = 8 * 1024 * 1024;
const ONE_CALL = { resumable: false } as const;
const IN_CHUNKS = { resumable: true, chunkSize: CHUNK_BYTES } as const;

/**
 * After an aborted download the client closes all of its connections a moment later (7.22). A call
 * in between fails, so calls wait this long.
 */
const CLOSING_MS = 10;

/** Options of `gcsStorage`. */
export interface GcsStorageOptions extends BucketOptions {
  /** `new Storage()` of `@google-cloud/storage` 7. Its retries may stay on. */
  readonly client: GcsClient;
}

/**
 * Object storage for accounts whose provider reads and writes files in Cloud Storage.
 *
 * @throws TypeError with `code: "INVALID_OPTION"`
 *
 * @example
 * ```ts
 * import { type GcsClient, gcsStorage } from "batchwise/dispatch/storage";
 * declare const client: GcsClient; // new Storage()
 * const storage = gcsStorage({ client, bucket: "my-batches", prefix: "prod" });
 * ```
 */
export function gcsStorage(options: GcsStorageOptions): ObjectStorage {
  check("options", objectWith(), options);
  const names = new ObjectNames("gs", options);
  check("client", objectWith("bucket"), options.client);
  return new GcsStorage(options.client.bucket(options.bucket), names);
}

class GcsStorage implements ObjectStorage {
  readonly #bucket: GcsBucket;
  readonly #names: ObjectNames;

  constructor(bucket: GcsBucket, names: ObjectNames) {
    this.#bucket = bucket;
    this.#names = names;
  }

  async put(name: string, chunks: AsyncIterable<Uint8Array>, call: CallOptions): Promise<{ readonly uri: string }> {
    const key = this.#names.newKeyOf(name);
    call.signal.throwIfAborted();
    const parts = partsOf(chunks, CHUNK_BYTES);
    try {
      const first: Uint8Array = (await parts.next()).value ?? new Uint8Array();
      const mode = first.length < CHUNK_BYTES ? ONE_CALL : IN_CHUNKS;
      const options = { ...mode, validation: "crc32c", contentType: "application/jsonl" } as const;
      await send(this.#bucket.file(key).createWriteStream(options), first, parts, call);
    } finally {
      await parts.return(undefined);
    }
    return { uri: this.#names.addressOf(key) };
  }

  async *get(nameOrUri: string, call: CallOptions): AsyncGenerator<Uint8Array> {
    const key = this.#names.keyOf(nameOrUri);
    let isWhole = false;
    try {
      // The client does not report a lost connection (7.22); `timeoutMs` ends the wait.
      yield* chunksWithin(call, this.#bucket.file(key).createReadStream());
      isWhole = true;
    } catch (error) {
      throw isMissing(error) ? objectNotFoundError(this.#names.addressOf(key), error) : error;
    } finally {
      if (!isWhole) await new Promise((resolve) => setTimeout(resolve, CLOSING_MS));
    }
  }

  async *list(prefix: string, call: CallOptions): AsyncGenerator<StoredObject> {
    const query = { prefix: this.#names.keyOf(prefix), autoPaginate: false } as const;
    const tokens = new PageTokens(this.#names.addressOf(query.prefix));
    let from: { readonly pageToken: string } | null = null;
    do {
      const input = { ...query, ...from };
      const [files, next] = await within(call, () => this.#bucket.getFiles(input));
      for (const { name: key, metadata } of files) {
        yield { name: this.#names.nameOf(key), uri: this.#names.addressOf(key), bytes: Number(metadata.size ?? 0) };
      }
      const pageToken = tokens.next((next as { readonly pageToken?: unknown } | null | undefined)?.pageToken);
      from = pageToken === null ? null : { pageToken };
    } while (from !== null);
  }

  async delete(nameOrUri: string, call: CallOptions): Promise<void> {
    const file = this.#bucket.file(this.#names.keyOf(nameOrUri));
    await within(call, () => file.delete({ ignoreNotFound: true }));
  }

  uriOf(name: string): string {
    return this.#names.addressOf(this.#names.newKeyOf(name));
  }
}

/** Writes all parts. A stream destroyed early sends no last chunk, so no object is created. */
async function send(
  stream: GcsWriteStream,
  first: Uint8Array,
  rest: AsyncIterable<Uint8Array>,
  call: CallOptions,
): Promise<void> {
  // The stream's own error has the cause of a failed write.
  const failed = new Promise<never>((_, reject) => stream.on("error", (error) => reject(errorOf(error))));
  failed.catch(() => {});
  const write = (part: Uint8Array): Promise<void> =>
    within(call, () => Promise.race([failed, settled((done) => stream.write(part, done))]));
  try {
    await write(first);
    for await (const part of rest) await write(part);
    await within(call, () => Promise.race([failed, settled((done) => stream.end(done))]));
  } catch (error) {
    stream.destroy(errorOf(error));
    throw error;
  }
}

/** Resolves when `run` calls back without an error, else rejects. */
function settled(run: (done: (error?: unknown) => void) => unknown): Promise<void> {
  return new Promise((resolve) => {
    run((error) => {
      if (error === undefined || error === null) resolve();
    });
  });
}

/** Makes an Error: the client fails some uploads with the plain object of Google's answer. */
function errorOf(error: unknown): Error {
  if (isError(error)) return error;
  const { message, ...rest } = (error ?? {}) as { readonly message?: unknown };
  return Object.assign(new Error(typeof message === "string" ? message : "The upload failed."), rest);
}

/** True for a missing object. A missing bucket is the account's error. */
function isMissing(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return code === 404 && !String(message).includes("bucket does not exist");
}
