// A strict fake of Amazon S3: path-style addresses, signed calls, checksums checked and returned,
// lists by pages, multipart uploads. An object exists once its last call has succeeded, never
// earlier. Use a client with `endpoint`, `forcePathStyle: true`, any region and any credentials: a
// signature is required but not verified.

import { bytesReply, type Exchange, Refusal, type Reply } from "../exchange.ts";
import type { FakeOperation } from "../fault-types.ts";
import { crc32Text, md5Text } from "./checksums.ts";
import { errorReply, partsOf, tag, textOf, xmlReply } from "./s3-xml.ts";
import { type FakeStorage, type FakeStorageOptions, ObjectShelf, type StorageSurface, storageOf } from "./shelf.ts";

const MIN_PART_BYTES = 5 * 1024 * 1024;
const MOST_PARTS = 10_000;

/** One part of an upload as S3 keeps it. */
interface Part {
  readonly bytes: Uint8Array;
  readonly etag: string;
}

interface Upload {
  readonly bucket: string;
  readonly name: string;
  readonly parts: Map<number, Part>;
}

interface Address {
  readonly bucket: string;
  /** "" for the bucket itself. */
  readonly name: string;
}

/**
 * Makes a fake S3 for `new S3({ endpoint, forcePathStyle: true, region, credentials })`.
 *
 * @throws TypeError with `code: "INVALID_OPTION"` for an unknown option.
 *
 * @example
 * ```ts
 * import { fakeS3 } from "batchwise/dispatch/testing";
 * const s3 = fakeS3({ buckets: ["batches"] });
 * s3.inject({ on: "objects.get", reply: { cutAtBytes: 100 } }); // the next download is cut
 * ```
 */
export function fakeS3(options: FakeStorageOptions = {}): FakeStorage {
  const shelf = new ObjectShelf(options, MIN_PART_BYTES);
  const surface = new S3Surface(shelf);
  return storageOf(shelf, surface, () => surface.openUploads);
}

class S3Surface implements StorageSurface {
  readonly #shelf: ObjectShelf;
  readonly #uploads: Map<string, Upload> = new Map();
  #uploadCount = 0;

  constructor(shelf: ObjectShelf) {
    this.#shelf = shelf;
  }

  get openUploads(): number {
    return this.#uploads.size;
  }

  operationOf({ method, path, query }: Exchange): FakeOperation | null {
    if (addressOf(path).name === "") return method === "GET" && query.get("list-type") === "2" ? "objects.list" : null;
    if (query.has("uploads")) return method === "POST" ? "uploads.create" : null;
    if (query.has("uploadId")) return UPLOAD_CALLS[method] ?? null;
    return OBJECT_CALLS[method] ?? null;
  }

  run(operation: FakeOperation, exchange: Exchange): Reply {
    const address = addressOf(exchange.path);
    checkAuthorization(exchange.headers);
    if (!this.#shelf.hasBucket(address.bucket)) {
      throw new Refusal(404, "NoSuchBucket", "The specified bucket does not exist");
    }
    switch (operation) {
      case "objects.list":
        return this.#list(address.bucket, exchange.query);
      case "objects.put":
        return this.#put(address, exchange);
      case "objects.delete":
        this.#shelf.delete(address.bucket, address.name);
        return { ...bytesReply(new Uint8Array(), "application/xml"), status: 204 };
      case "uploads.create":
        return this.#createUpload(address);
      case "uploads.part":
        return this.#uploadPart(exchange);
      case "uploads.complete":
        return this.#completeUpload(exchange);
      case "uploads.abort":
        this.#upload(exchange);
        this.#uploads.delete(exchange.query.get("uploadId") ?? "");
        return { ...bytesReply(new Uint8Array(), "application/xml"), status: 204 };
      default:
        return this.#get(address, exchange);
    }
  }

  refuse(refusal: Refusal): Reply {
    return errorReply(refusal);
  }

  #put({ bucket, name }: Address, exchange: Exchange): Reply {
    checkBody(exchange);
    const { bytes } = this.#shelf.put(bucket, name, exchange.body);
    return stored(bytes);
  }

  #get({ bucket, name }: Address, { headers }: Exchange): Reply {
    const object = this.#shelf.get(bucket, name);
    if (object === null) throw new Refusal(404, "NoSuchKey", "The specified key does not exist.");
    const reply = bytesReply(object.bytes, "application/octet-stream");
    const wantsChecksum = headers.get("x-amz-checksum-mode") === "ENABLED";
    const checksum = wantsChecksum ? { "x-amz-checksum-crc32": crc32Text(object.bytes) } : {};
    return { ...reply, headers: { ...reply.headers, etag: `"${md5Text(object.bytes, "hex")}"`, ...checksum } };
  }

  #list(bucket: string, query: URLSearchParams): Reply {
    const limit = Number(query.get("max-keys") ?? 1_000);
    const token = query.get("continuation-token");
    const after = token === null ? (query.get("start-after") ?? "") : Buffer.from(token, "base64url").toString();
    const { objects, next } = this.#shelf.page(bucket, query.get("prefix") ?? "", after, limit);
    const contents = objects.map(({ name, bytes, updatedAt }) =>
      tag("Contents", [
        tag("Key", name),
        tag("LastModified", new Date(updatedAt).toISOString()),
        tag("ETag", `"${md5Text(bytes, "hex")}"`),
        tag("Size", String(bytes.length)),
        tag("StorageClass", "STANDARD"),
      ]),
    );
    const more = next === null ? [] : [tag("NextContinuationToken", Buffer.from(next).toString("base64url"))];
    const head = [tag("Name", bucket), tag("KeyCount", String(objects.length)), tag("IsTruncated", `${next !== null}`)];
    return xmlReply(tag("ListBucketResult", [...head, ...more, ...contents]));
  }

  #createUpload({ bucket, name }: Address): Reply {
    this.#uploadCount += 1;
    const id = `upload-${this.#uploadCount}`;
    this.#uploads.set(id, { bucket, name, parts: new Map() });
    return xmlReply(
      tag("InitiateMultipartUploadResult", [tag("Bucket", bucket), tag("Key", name), tag("UploadId", id)]),
    );
  }

  #uploadPart(exchange: Exchange): Reply {
    const number = Number(exchange.query.get("partNumber"));
    if (!Number.isInteger(number) || number < 1 || number > MOST_PARTS) {
      throw new Refusal(400, "InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive");
    }
    checkBody(exchange);
    const { body } = exchange;
    this.#upload(exchange).parts.set(number, { bytes: body, etag: `"${md5Text(body, "hex")}"` });
    return stored(body);
  }

  #completeUpload(exchange: Exchange): Reply {
    const { bucket, name, parts } = this.#upload(exchange);
    const asked = partsOf(textOf(exchange.body));
    if (asked.length === 0) throw new Refusal(400, "MalformedXML", "The XML you provided was not well-formed");
    if (asked.some(({ number }, index) => number <= (asked[index - 1]?.number ?? 0))) {
      throw new Refusal(400, "InvalidPartOrder", "The list of parts was not in ascending order.");
    }
    const whole = asked.map(({ number, etag }, index) => {
      const part = parts.get(number);
      if (part === undefined || part.etag !== etag) {
        throw new Refusal(400, "InvalidPart", "One or more of the specified parts could not be found.");
      }
      if (index < asked.length - 1 && part.bytes.length < this.#shelf.minPartBytes) {
        throw new Refusal(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size");
      }
      return part.bytes;
    });
    const { bytes } = this.#shelf.put(bucket, name, Buffer.concat(whole));
    this.#uploads.delete(exchange.query.get("uploadId") ?? "");
    const etag = tag("ETag", `"${md5Text(bytes, "hex")}-${whole.length}"`);
    return xmlReply(tag("CompleteMultipartUploadResult", [tag("Bucket", bucket), tag("Key", name), etag]));
  }

  #upload({ query }: Exchange): Upload {
    const upload = this.#uploads.get(query.get("uploadId") ?? "");
    if (upload === undefined) throw new Refusal(404, "NoSuchUpload", "The specified upload does not exist.");
    return upload;
  }
}

const UPLOAD_CALLS: Readonly<Record<string, FakeOperation>> = {
  PUT: "uploads.part",
  POST: "uploads.complete",
  DELETE: "uploads.abort",
};

const OBJECT_CALLS: Readonly<Record<string, FakeOperation>> = {
  PUT: "objects.put",
  GET: "objects.get",
  HEAD: "objects.get",
  DELETE: "objects.delete",
};

function addressOf(path: string): Address {
  const [, bucket = "", ...rest] = path.split("/");
  return { bucket, name: decodeURIComponent(rest.join("/")) };
}

function checkAuthorization(headers: Headers): void {
  if (/^AWS4-HMAC-SHA256 Credential=/.test(headers.get("authorization") ?? "")) return;
  throw new Refusal(403, "AccessDenied", "Access Denied");
}

/**
 * Requires a body that matches its checksum. Refuses streams of signed chunks, which the fake
 * cannot read.
 */
function checkBody({ headers, body }: Exchange): void {
  if (headers.get("content-encoding")?.includes("aws-chunked") === true) {
    throw new Refusal(501, "NotImplemented", "The fake takes bodies of known length only.");
  }
  const checksum = headers.get("x-amz-checksum-crc32");
  if (checksum === null || checksum === crc32Text(body)) return;
  throw new Refusal(400, "BadDigest", "The CRC32 you specified did not match the calculated checksum.");
}

function stored(bytes: Uint8Array): Reply {
  const headers = { etag: `"${md5Text(bytes, "hex")}"`, "x-amz-checksum-crc32": crc32Text(bytes) };
  return { status: 200, headers, body: new Uint8Array(), cutAt: null };
}
