// Object storage in Amazon S3 or a compatible service, over the user's client. Up to 8 MB go in one
// call; more go as a multipart upload. S3 creates the object when the upload is completed, so no
// partial object is ever visible. A failed upload is aborted. If its process dies, its parts stay
// until a lifecycle rule of the bucket removes them.

import { isError } from "../../core/contract/errors.ts";
import { check, objectWith } from "../../core/contract/validate.ts";
import type { CallOptions } from "../contract/account.ts";
import { DispatchError, objectNotFoundError } from "../contract/errors.ts";
import type { ObjectStorage, StoredObject } from "../contract/storage.ts";
import { type BucketOptions, ObjectNames } from "./names.ts";
import { noList, PageTokens } from "./pages.ts";
import { partsOf } from "./parts.ts";
import type { S3Client, S3Part } from "./s3-client.ts";
import { chunksWithin, within } from "./waits.ts";

/** S3 takes at most 10,000 parts of at least 5 MiB: objects of up to 80 GB. */
const PART_BYTES = 8 * 1024 * 1024;

const CHECKSUMS = ["ChecksumCRC32", "ChecksumCRC32C", "ChecksumCRC64NVME", "ChecksumSHA1", "ChecksumSHA256"] as const;

/** Options of `s3Storage`. */
export interface S3StorageOptions extends BucketOptions {
  /**
   * `new S3()` of `@aws-sdk/client-s3` 3, the client with a method for each call. Its retries may
   * stay on.
   */
  readonly client: S3Client;
}

/**
 * Object storage for accounts whose provider reads and writes files in S3.
 *
 * @throws TypeError with `code: "INVALID_OPTION"`
 *
 * @example
 * ```ts
 * import { type S3Client, s3Storage } from "batchwise/dispatch/storage";
 * declare const client: S3Client; // new S3({ region: "eu-west-1" })
 * const storage = s3Storage({ client, bucket: "my-batches", prefix: "prod" });
 * ```
 */
export function s3Storage(options: S3StorageOptions): ObjectStorage {
  check("options", objectWith(), options);
  const names = new ObjectNames("s3", options);
  check("client", objectWith(...METHODS), options.client);
  return new S3Storage(options.client, names);
}

const METHODS = [
  ...(["putObject", "getObject", "deleteObject", "listObjectsV2", "createMultipartUpload"] as const),
  ...(["uploadPart", "completeMultipartUpload", "abortMultipartUpload"] as const),
];

class S3Storage implements ObjectStorage {
  readonly #client: S3Client;
  readonly #names: ObjectNames;

  constructor(client: S3Client, names: ObjectNames) {
    this.#client = client;
    this.#names = names;
  }

  async put(name: string, chunks: AsyncIterable<Uint8Array>, call: CallOptions): Promise<{ readonly uri: string }> {
    const target = { Bucket: this.#names.bucket, Key: this.#names.newKeyOf(name) };
    const parts = partsOf(chunks, PART_BYTES);
    try {
      const Body: Uint8Array = (await parts.next()).value ?? new Uint8Array();
      if (Body.length < PART_BYTES) {
        checkStored(await within(call, (abortSignal) => this.#client.putObject({ ...target, Body }, { abortSignal })));
      } else {
        await this.#upload(target, Body, parts, call);
      }
    } finally {
      await parts.return(undefined);
    }
    return { uri: this.#names.addressOf(target.Key) };
  }

  async #upload(
    target: { readonly Bucket: string; readonly Key: string },
    first: Uint8Array,
    rest: AsyncIterable<Uint8Array>,
    call: CallOptions,
  ): Promise<void> {
    const client = this.#client;
    const begun = fields(await within(call, (abortSignal) => client.createMultipartUpload(target, { abortSignal })));
    const upload = { ...target, UploadId: String(begun.UploadId) };
    const Parts: S3Part[] = [];
    const send = async (Body: Uint8Array): Promise<void> => {
      const part = { ...upload, PartNumber: Parts.length + 1, Body };
      Parts.push(
        partOf(part.PartNumber, await within(call, (abortSignal) => client.uploadPart(part, { abortSignal }))),
      );
    };
    try {
      await send(first);
      for await (const Body of rest) await send(Body);
      const whole = { ...upload, MultipartUpload: { Parts } };
      checkStored(await within(call, (abortSignal) => client.completeMultipartUpload(whole, { abortSignal })));
    } catch (error) {
      // Report the original error, not one of the abort. Not awaited: the caller may have no time
      // left.
      client.abortMultipartUpload(upload).catch(() => {});
      throw error;
    }
  }

  async *get(nameOrUri: string, call: CallOptions): AsyncGenerator<Uint8Array> {
    const target = { Bucket: this.#names.bucket, Key: this.#names.keyOf(nameOrUri) };
    const uri = this.#names.addressOf(target.Key);
    const { Body, ContentLength } = fields(
      await within(call, (abortSignal) => this.#client.getObject(target, { abortSignal })).catch((error: unknown) => {
        throw isMissing(error) ? objectNotFoundError(uri, error) : error;
      }),
    );
    if (!isIterable(Body)) throw new TypeError("Expected the S3 client to answer with a stream.");
    let bytes = 0;
    try {
      for await (const chunk of chunksWithin(call, Body)) {
        bytes += chunk.length;
        yield chunk;
      }
    } catch (error) {
      throw call.signal.aborted ? error : brokenOff(uri, bytes, error);
    }
    if (typeof ContentLength === "number" && bytes !== ContentLength) {
      throw new DispatchError("RESULTS_UNREADABLE", `${uri} ended after ${bytes} of ${ContentLength} bytes.`);
    }
  }

  async *list(prefix: string, call: CallOptions): AsyncGenerator<StoredObject> {
    const query = { Bucket: this.#names.bucket, Prefix: this.#names.keyOf(prefix) };
    const tokens = new PageTokens(this.#names.addressOf(query.Prefix));
    let from: { readonly ContinuationToken: string } | null = null;
    do {
      const input = { ...query, ...from };
      const page = fields(await within(call, (abortSignal) => this.#client.listObjectsV2(input, { abortSignal })));
      if (page.Name === undefined && page.KeyCount === undefined) throw noList(this.#names.addressOf(query.Prefix));
      for (const entry of Array.isArray(page.Contents) ? page.Contents : []) {
        const { Key, Size } = fields(entry);
        if (typeof Key !== "string") continue;
        yield { name: this.#names.nameOf(Key), uri: this.#names.addressOf(Key), bytes: Number(Size ?? 0) };
      }
      const next = tokens.next(page.NextContinuationToken);
      from = next === null ? null : { ContinuationToken: next };
    } while (from !== null);
  }

  async delete(nameOrUri: string, call: CallOptions): Promise<void> {
    const target = { Bucket: this.#names.bucket, Key: this.#names.keyOf(nameOrUri) };
    await within(call, (abortSignal) => this.#client.deleteObject(target, { abortSignal }));
  }

  uriOf(name: string): string {
    return this.#names.addressOf(this.#names.newKeyOf(name));
  }
}

/** Explains a lost connection, for which the client only says "aborted". */
function brokenOff(uri: string, bytes: number, cause: unknown): Error {
  const words = isError(cause) ? cause.message : String(cause);
  return new Error(`The download of ${uri} broke off after ${bytes} bytes: ${words}`, { cause });
}

/** Throws if the answer has no ETag. The client accepts any 200, such as a portal's page. */
function checkStored(answer: unknown): void {
  if (typeof fields(answer).ETag === "string") return;
  throw new Error("S3 answered an upload without the tag of an object: it may have stored none.");
}

/**
 * The part with its ETag and all checksums that S3 returned: completing the upload must repeat
 * them.
 */
function partOf(PartNumber: number, answer: unknown): S3Part {
  const told = fields(answer);
  const known = (["ETag", ...CHECKSUMS] as const).filter((name) => typeof told[name] === "string");
  return { PartNumber, ...Object.fromEntries(known.map((name) => [name, told[name]])) };
}

/** True for a missing object. A missing bucket is the account's error. */
function isMissing(error: unknown): boolean {
  const { name, $metadata } = fields(error);
  return name === "NoSuchKey" || (fields($metadata).httpStatusCode === 404 && name !== "NoSuchBucket");
}

function isIterable(value: unknown): value is AsyncIterable<Uint8Array> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

function fields(value: unknown): { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null ? (value as { readonly [key: string]: unknown }) : {};
}
