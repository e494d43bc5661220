/**
 * Bounds the memory that request bodies take, summed over all connections.
 *
 * Guarantees: bodies over `SMALL_BODY_BYTES` that are held at one time have at most `maxBytes` together; one that says
 * its length and does not fit is refused before it is read.
 * Does not count small bodies, so that a few large uploads never stop everyone: Node.js reads that much of a
 * connection before anybody asks for it.
 */

import { uploadsFull } from "../errors.ts";

/** What Node.js buffers of a socket. */
const SMALL_BODY_BYTES: number = 64 * 1024;

export class Uploads {
  readonly maxBytes: number;
  #held = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Adds bytes, or throws 503 where there is no room for them. */
  take(bytes: number): void {
    if (this.#held + bytes > this.maxBytes) throw uploadsFull(this.maxBytes);
    this.#held += bytes;
  }

  giveBack(bytes: number): void {
    this.#held -= bytes;
  }
}

/** One body's part in the sum. */
export class Upload {
  readonly #uploads: Uploads;
  #counted = 0;

  constructor(uploads: Uploads) {
    this.#uploads = uploads;
  }

  /** The body has, or will have, at least so many bytes. Throws 503 where there is no room for them. */
  grow(length: number): void {
    const isMore = length > SMALL_BODY_BYTES && length > this.#counted;
    if (!isMore) return;
    this.#uploads.take(length - this.#counted);
    this.#counted = length;
  }

  /** The body is no longer held. Idempotent. */
  end(): void {
    this.#uploads.giveBack(this.#counted);
    this.#counted = 0;
  }
}
