/**
 * Bounds the memory that request bodies take, summed over all connections, and shares it among
 * callers.
 *
 * Guarantees: what has come of bodies over `SMALL_BODY_BYTES` has at most `maxBytes` together.
 * Bodies of one caller have at most half of what other callers leave, or one body of the largest
 * size where that is more: so one caller never holds all room, unless there is room for one body
 * only. Does not count small bodies, so that a few large uploads never stop everyone: Node.js reads
 * that much of a connection before anybody asks for it. Does not count bytes that were announced
 * and have not come.
 */

import { shareTaken, uploadsFull } from "../errors.ts";

/** What Node.js buffers of a socket. */
const SMALL_BODY_BYTES: number = 64 * 1024;

export class Uploads {
  readonly #maxBytes: number;
  readonly #maxBodyBytes: number;
  readonly #byCaller: Map<string, number> = new Map();
  #held = 0;

  /** `maxBodyBytes`: of the largest body that is taken. */
  constructor(maxBytes: number, maxBodyBytes: number) {
    this.#maxBytes = maxBytes;
    this.#maxBodyBytes = maxBodyBytes;
  }

  /** Adds bytes, or throws 503 where there is no room for them. */
  take(caller: string, bytes: number): void {
    this.checkRoom(caller, bytes);
    this.#held += bytes;
    this.#byCaller.set(caller, (this.#byCaller.get(caller) ?? 0) + bytes);
  }

  /** Throws 503 where there is no room for the bytes now. */
  checkRoom(caller: string, bytes: number): void {
    if (this.#held + bytes > this.#maxBytes) throw uploadsFull(this.#maxBytes);
    const own = this.#byCaller.get(caller) ?? 0;
    const share = Math.max(this.#maxBodyBytes, (this.#maxBytes - (this.#held - own)) / 2);
    if (own + bytes > share) throw shareTaken(share);
  }

  giveBack(caller: string, bytes: number): void {
    this.#held -= bytes;
    const own = (this.#byCaller.get(caller) ?? 0) - bytes;
    if (own > 0) this.#byCaller.set(caller, own);
    else this.#byCaller.delete(caller);
  }
}

/** One body's part in the sum. */
export class Upload {
  readonly #uploads: Uploads;
  readonly #caller: string;
  #counted = 0;

  /** `caller`: bodies of the same name have one share. */
  constructor(uploads: Uploads, caller: string) {
    this.#uploads = uploads;
    this.#caller = caller;
  }

  /** Throws 503 where a body of so many bytes has no room now; holds none. */
  checkRoom(length: number): void {
    if (length > SMALL_BODY_BYTES) this.#uploads.checkRoom(this.#caller, length);
  }

  /** So many bytes of the body have come. Throws 503 where there is no room for them. */
  grow(length: number): void {
    const isMore = length > SMALL_BODY_BYTES && length > this.#counted;
    if (!isMore) return;
    this.#uploads.take(this.#caller, length - this.#counted);
    this.#counted = length;
  }

  /** The body is no longer held. Idempotent. */
  end(): void {
    this.#uploads.giveBack(this.#caller, this.#counted);
    this.#counted = 0;
  }
}
