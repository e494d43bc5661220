// Reads a job's requests and stores them, a part at a time, while the dispatcher already works on them. What an earlier
// run has stored is found again and passed over. One part at most is in memory, and it is not held back for a slow source.
// A part in which an earlier run had something else adds nothing to the store.

import { endOfPass } from "../../core/time/turn.ts";
import type { NewRequest, RequestRow } from "../contract/rows.ts";
import type { BatchLine, DispatchRequest } from "../contract/types.ts";
import { MOST_BYTES, MOST_REQUESTS, sizeOf } from "../intake/chunks.ts";
import type { JobOptions } from "../options/run-batch-options.ts";
import type { DispatcherParts } from "./parts.ts";
import { Patience, pause } from "./patience.ts";
import { repeatFault } from "./repeated.ts";
import { Source } from "./source.ts";

/** How long a part waits for more. */
const PART_MS = 1_000;

interface Placed {
  readonly row: NewRequest;
  readonly index: number;
}

export class Producer {
  readonly #parts: DispatcherParts;
  readonly #options: JobOptions;
  #read = 0;
  enqueued = 0;
  existing = 0;
  /** True once all requests are stored. */
  isDone = false;

  constructor(parts: DispatcherParts, options: JobOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** Resolves once all is stored, or when the dispatcher stops. */
  async run(): Promise<void> {
    const { runtime } = this.#parts;
    const source = new Source(this.#options.requests);
    const patience = new Patience(runtime, () => this.enqueued > 0);
    try {
      while (!source.isAtEnd && !runtime.isStopping) {
        const part = await this.#readPart(source);
        if (part.length > 0) await this.#storePatiently(part, patience);
        // A store or a source that never waits for the platform would keep polls and answers waiting.
        await new Promise<void>((resolve) => endOfPass(resolve));
      }
    } finally {
      await source.close();
    }
    this.isDone = source.isAtEnd && !runtime.isStopping;
  }

  async #readPart(source: Source<DispatchRequest | BatchLine>): Promise<Placed[]> {
    const { runtime, enqueuer } = this.#parts;
    const part: Placed[] = [];
    const waited = pause(runtime, PART_MS);
    for (let size = 0; part.length < MOST_REQUESTS && size < MOST_BYTES; ) {
      const next = await source.next(waited);
      if (next === null) break;
      const index = this.#read;
      const row = enqueuer.rowAt(next.item, { job: this.#options.job, index });
      part.push({ row, index });
      this.#read += 1;
      size += sizeOf(row);
    }
    return part;
  }

  async #storePatiently(part: readonly Placed[], patience: Patience): Promise<void> {
    for (;;) {
      try {
        this.existing += await this.#store(part);
        this.enqueued += part.length;
        return;
      } catch (error) {
        await patience.orThrow(error);
      }
    }
  }

  /** Gives the number of those that were there. May be repeated. */
  async #store(part: readonly Placed[]): Promise<number> {
    const known = await this.#stored(part);
    const [old, fresh] = [part.filter(({ row }) => known.has(row.id)), part.filter(({ row }) => !known.has(row.id))];
    // Those first: when they differ, nothing has been added yet.
    return (await this.#enqueue(old, known)) + (await this.#enqueue(fresh, null));
  }

  async #enqueue(part: readonly Placed[], known: ReadonlyMap<string, RequestRow> | null): Promise<number> {
    if (part.length === 0) return 0;
    const answers = await this.#parts.enqueuer.store(part.map(({ row }) => row));
    const repeated = part.flatMap((one, place) => {
      const answer = answers[place] ?? "stored";
      return answer === "stored" ? [] : [{ ...one, answer }];
    });
    if (repeated.length === 0) return 0;
    const rows = known ?? (await this.#stored(repeated));
    for (const { row, index, answer } of repeated) {
      const fault = repeatFault(row, index, answer, rows.get(row.id));
      if (fault !== null) throw fault;
    }
    return repeated.length;
  }

  async #stored(part: readonly Placed[]): Promise<ReadonlyMap<string, RequestRow>> {
    const ids = [...new Set(part.map(({ row }) => row.id))];
    const rows = await this.#parts.runtime.store.requests({ ids, tombstones: true });
    return new Map(rows.map((row) => [row.id, row]));
  }
}
