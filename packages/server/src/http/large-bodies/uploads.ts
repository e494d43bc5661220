/**
 * Limits the memory of request bodies over all connections, and shares it among callers.
 *
 * Guarantees: received bytes of bodies over `SMALL_BODY_BYTES` take at most `maxBytes` in total.
 * One caller's bodies take at most half of the room that other callers leave, or one body of the
 * largest size if that is more. So one caller never holds all the room, unless there is room for
 * only one body. Small bodies are not counted, so that a few large uploads never stop all requests:
 * Node.js reads that much of a connection in any case. Announced bytes that have not arrived are
 * not counted.
 */

import { shareTaken, uploadsFull } from "../errors.ts";

/** The size of Node.js's buffer for a socket. */
const SMALL_BODY_BYTES: number = 64 * 1024;

export class Uploads {
  readonly #maxBytes: number;
  readonly #maxBodyBytes: number;
  readonly #byCaller: Map<string, number> = new Map();
  #held = 0;

  /** `maxBodyBytes`: size of the largest accepted body. */
  constructor(maxBytes: number, maxBodyBytes: number) {
    this.#maxBytes = maxBytes;
    this.#maxBodyBytes = maxBodyBytes;
  }

  /** Adds bytes; throws 503 if there is no room for them. */
  take(caller: string, bytes: number): void {
    this.checkRoom(caller, bytes);
    this.#held += bytes;
    this.#byCaller.set(caller, (this.#byCaller.get(caller) ?? 0) + bytes);
  }

  /** Throws 503 if there is no room for the bytes now. */
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

/** One body's part of the total. */
export class Upload {
  readonly #uploads: Uploads;
  readonly #caller: string;
  #counted = 0;

  /** `caller`: bodies with the same name share one limit. */
  constructor(uploads: Uploads, caller: string) {
    this.#uploads = uploads;
    this.#caller = caller;
  }

  /** Throws 503 if a body of this length has no room now. Reserves nothing. */
  checkRoom(length: number): void {
    if (length > SMALL_BODY_BYTES) this.#uploads.checkRoom(this.#caller, length);
  }

  /** Adds received bytes of the body. Throws 503 if there is no room for them. */
  grow(length: number): void {
    const isMore = length > SMALL_BODY_BYTES && length > this.#counted;
    if (!isMore) return;
    this.#uploads.take(this.#caller, length - this.#counted);
    this.#counted = length;
  }

  /** Call when the body is no longer held. Idempotent. */
  end(): void {
    this.#uploads.giveBack(this.#caller, this.#counted);
    this.#counted = 0;
  }
}
