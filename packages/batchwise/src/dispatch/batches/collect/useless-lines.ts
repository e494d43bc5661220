// Bounds a download that could go on endlessly without a line for the batch.

import { FOREIGN_LINES } from "./put-off.ts";

/** Limit of lines per download that name no member, or one with a line; plus one per request. */
const USELESS_LINES = 10_000;
const USELESS_LINES_EACH = 10;

/** Thrown for such a download. */
class UselessLines extends Error {
  readonly code = FOREIGN_LINES;
}

export class UselessCount {
  readonly #most: number;
  #count = 0;

  constructor(requests: number) {
    this.#most = USELESS_LINES + USELESS_LINES_EACH * requests;
  }

  /** Counts a line. Throws for one too many. */
  add(): void {
    this.#count += 1;
    if (this.#count <= this.#most) return;
    throw new UselessLines(`The results have ${this.#count} lines that are of no member, or of one that had a line.`);
  }
}
