// A strict fake of Google Cloud Storage's JSON API: uploads in one call or resumable in chunks,
// checksums checked and returned, lists by pages. An object exists once its upload is complete,
// never earlier. Use the client `new Storage({ apiEndpoint: url, projectId })`: it sends no
// credentials to an address outside of Google.

import { bytesReply, type Exchange, jsonReply, Refusal, type Reply } from "../exchange.ts";
import type { FakeOperation } from "../fault-types.ts";
import { relatedParts } from "../multipart.ts";
import { crc32cText, md5Text } from "./checksums.ts";
import {
  type FakeStorage,
  type FakeStorageOptions,
  ObjectShelf,
  type StorageSurface,
  type StoredObject,
  storageOf,
} from "./shelf.ts";

const CHUNK_STEP = 256 * 1024;
const INCOMPLETE = 308;

/** A resumable upload in progress. */
interface Session {
  readonly bucket: string;
  readonly name: string;
  readonly chunks: Uint8Array[];
  received: number;
}

/** The values of a `Content-Range`; null for a star. */
interface ContentRange {
  readonly from: number | null;
  readonly total: number | null;
}

const OBJECT = /^\/(?:download\/)?storage\/v1\/b\/([^/]+)\/o(?:\/([^/]+))?$/;
const UPLOAD = /^\/upload\/storage\/v1\/b\/([^/]+)\/o$/;
const RANGE = /^bytes (?:(\d+)-(?:\d+|\*)|\*)\/(\d+|\*)$/;

/**
 * Makes a fake Cloud Storage for `new Storage({ apiEndpoint, projectId })`.
 *
 * @throws TypeError with `code: "INVALID_OPTION"` for an unknown option.
 *
 * @example
 * ```ts
 * import { fakeGcs } from "batchwise/dispatch/testing";
 * const gcs = fakeGcs({ buckets: ["batches"] });
 * gcs.inject({ on: "uploads.part", reply: "drop" }); // the next chunk is taken, its answer is lost
 * ```
 */
export function fakeGcs(options: FakeStorageOptions = {}): FakeStorage {
  const shelf = new ObjectShelf(options, CHUNK_STEP);
  const surface = new GcsSurface(shelf);
  return storageOf(shelf, surface, () => surface.openUploads);
}

class GcsSurface implements StorageSurface {
  readonly #shelf: ObjectShelf;
  readonly #sessions: Map<string, Session> = new Map();
  #sessionCount = 0;

  constructor(shelf: ObjectShelf) {
    this.#shelf = shelf;
  }

  get openUploads(): number {
    return this.#sessions.size;
  }

  operationOf({ method, path, query }: Exchange): FakeOperation | null {
    if (UPLOAD.test(path)) {
      if (query.get("uploadType") === "multipart") return method === "POST" ? "objects.put" : null;
      if (query.get("uploadType") !== "resumable") return null;
      return UPLOAD_CALLS[query.has("upload_id") ? `${method} session` : method] ?? null;
    }
    const match = OBJECT.exec(path);
    if (match === null) return null;
    return OBJECT_CALLS[match[2] === undefined ? method : `${method} object`] ?? null;
  }

  run(operation: FakeOperation, exchange: Exchange): Reply {
    const [, bucket = "", name = ""] = UPLOAD.exec(exchange.path) ?? OBJECT.exec(exchange.path) ?? [];
    if (!this.#shelf.hasBucket(bucket)) throw new Refusal(404, "notFound", "The specified bucket does not exist.");
    switch (operation) {
      case "objects.list":
        return this.#list(bucket, exchange.query);
      case "objects.put":
        return this.#put(bucket, exchange);
      case "objects.delete":
        if (!this.#shelf.delete(bucket, decodeURIComponent(name))) throw missing(bucket, name);
        return { ...bytesReply(new Uint8Array(), "application/json"), status: 204 };
      case "uploads.create":
        return this.#createSession(bucket, exchange);
      case "uploads.part":
        return this.#receive(bucket, exchange);
      case "uploads.abort":
        this.#sessions.delete(exchange.query.get("upload_id") ?? "");
        return { ...bytesReply(new Uint8Array(), "application/json"), status: 499 };
      default:
        return this.#get(bucket, name, exchange.query);
    }
  }

  refuse({ status, code, message, headers }: Refusal): Reply {
    const reason = code === "scripted" || code === "rate_limit_exceeded" ? (REASONS[status] ?? "backendError") : code;
    const error = { code: status, message, errors: [{ message, domain: "global", reason }] };
    return jsonReply({ error }, status, headers);
  }

  #get(bucket: string, encoded: string, query: URLSearchParams): Reply {
    const object = this.#shelf.get(bucket, decodeURIComponent(encoded));
    if (object === null) throw missing(bucket, encoded);
    if (query.get("alt") !== "media") return jsonReply(resourceOf(bucket, object));
    const { bytes, generation } = object;
    const reply = bytesReply(bytes, "application/octet-stream");
    const checksums = {
      "x-goog-generation": String(generation),
      "x-goog-hash": `crc32c=${crc32cText(bytes)},md5=${md5Text(bytes, "base64")}`,
      "x-goog-stored-content-encoding": "identity",
      "x-goog-stored-content-length": String(bytes.length),
    };
    return { ...reply, headers: { ...reply.headers, ...checksums } };
  }

  /** A whole object in one call: its metadata, then its bytes. */
  #put(bucket: string, exchange: Exchange): Reply {
    const name = nameOf(exchange.query);
    const [, media] = relatedParts(exchange.body, exchange.headers.get("content-type") ?? "");
    if (media === undefined) throw new Refusal(400, "invalid", "Expected a multipart/related body of two parts.");
    return jsonReply(resourceOf(bucket, this.#shelf.put(bucket, name, media)));
  }

  #list(bucket: string, query: URLSearchParams): Reply {
    const limit = Number(query.get("maxResults") ?? 1_000);
    const token = query.get("pageToken");
    const after = token === null ? "" : Buffer.from(token, "base64url").toString();
    const { objects, next } = this.#shelf.page(bucket, query.get("prefix") ?? "", after, limit);
    return jsonReply({
      kind: "storage#objects",
      ...(next === null ? {} : { nextPageToken: Buffer.from(next).toString("base64url") }),
      // Google leaves out an empty list.
      ...(objects.length === 0 ? {} : { items: objects.map((object) => resourceOf(bucket, object)) }),
    });
  }

  #createSession(bucket: string, { query, headers }: Exchange): Reply {
    const name = nameOf(query);
    this.#sessionCount += 1;
    const id = `session-${this.#sessionCount}`;
    this.#sessions.set(id, { bucket, name, chunks: [], received: 0 });
    const host = headers.get("host") ?? "127.0.0.1";
    const location = `http://${host}/upload/storage/v1/b/${bucket}/o?uploadType=resumable&upload_id=${id}`;
    return { ...bytesReply(new Uint8Array(), "text/plain"), headers: { location } };
  }

  #receive(bucket: string, { query, headers, body }: Exchange): Reply {
    const id = query.get("upload_id") ?? "";
    const session = this.#sessions.get(id);
    if (session === undefined) throw new Refusal(404, "notFound", "The upload session does not exist.");
    const { from, total } = rangeOf(headers.get("content-range"));
    if (from !== null) this.#append(session, from, total, body);
    if (total === null || session.received < total) return incomplete(session.received);
    const whole = Buffer.concat(session.chunks);
    checkHash(headers.get("x-goog-hash"), whole);
    this.#sessions.delete(id);
    return jsonReply(resourceOf(bucket, this.#shelf.put(bucket, session.name, whole)));
  }

  /** Skips bytes that were received before. Refuses a gap and a chunk of an odd size. */
  #append(session: Session, from: number, total: number | null, body: Uint8Array): void {
    if (from > session.received) throw new Refusal(503, "backendError", "Invalid request: a chunk is missing.");
    const fresh = body.subarray(session.received - from);
    if (total === null && body.length % this.#shelf.minPartBytes !== 0) {
      throw new Refusal(400, "invalid", `A chunk that is not the last must be a multiple of ${CHUNK_STEP} bytes.`);
    }
    session.chunks.push(fresh);
    session.received += fresh.length;
    if (total !== null && session.received > total)
      throw new Refusal(400, "invalid", "More bytes than were announced.");
  }
}

const UPLOAD_CALLS: Readonly<Record<string, FakeOperation>> = {
  POST: "uploads.create",
  "PUT session": "uploads.part",
  "DELETE session": "uploads.abort",
};

const OBJECT_CALLS: Readonly<Record<string, FakeOperation>> = {
  GET: "objects.list",
  "GET object": "objects.get",
  "DELETE object": "objects.delete",
};

const REASONS: Readonly<Record<number, string>> = {
  400: "invalid",
  401: "authError",
  403: "forbidden",
  404: "notFound",
  429: "rateLimitExceeded",
  501: "notImplemented",
};

function nameOf(query: URLSearchParams): string {
  const name = query.get("name") ?? "";
  if (name === "") throw new Refusal(400, "required", "Required parameter: name");
  return name;
}

function rangeOf(header: string | null): ContentRange {
  const match = RANGE.exec(header ?? "");
  if (match === null)
    throw new Refusal(400, "invalid", `The Content-Range is not valid: ${header ?? "there is none"}.`);
  const [, from, total] = match;
  return { from: from === undefined ? null : Number(from), total: total === "*" ? null : Number(total) };
}

function incomplete(received: number): Reply {
  const headers: Record<string, string> = received === 0 ? {} : { range: `bytes=0-${received - 1}` };
  return { status: INCOMPLETE, headers, body: new Uint8Array(), cutAt: null };
}

function checkHash(header: string | null, bytes: Uint8Array): void {
  const sent = /crc32c=([^,]+)/.exec(header ?? "")?.[1];
  if (sent === undefined || sent === crc32cText(bytes)) return;
  throw new Refusal(400, "invalid", "Provided CRC32C does not match the calculated one.");
}

function missing(bucket: string, encoded: string): Refusal {
  return new Refusal(404, "notFound", `No such object: ${bucket}/${decodeURIComponent(encoded)}`);
}

function resourceOf(bucket: string, { name, bytes, updatedAt, generation }: StoredObject) {
  const time = new Date(updatedAt).toISOString();
  return {
    kind: "storage#object",
    id: `${bucket}/${name}/${generation}`,
    name,
    bucket,
    generation: String(generation),
    size: String(bytes.length),
    crc32c: crc32cText(bytes),
    md5Hash: md5Text(bytes, "base64"),
    timeCreated: time,
    updated: time,
  };
}
