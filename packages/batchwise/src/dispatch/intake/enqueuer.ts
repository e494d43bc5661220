// Enqueues requests: checks them, gives ids, stores them and tells the sealer. Single requests that arrive while a
// transaction is being written share the next one.

import { createBatcher } from "../../core/api/batch.ts";
import {
  DispatchError,
  type DispatchErrorCode,
  duplicateIdError,
  partlyStored,
  takenIdsError,
} from "../contract/errors.ts";
import type { NewRequest } from "../contract/rows.ts";
import type { EnqueueResult } from "../contract/store.ts";
import type { BatchLine, DispatchRequest, Enqueued } from "../contract/types.ts";
import { ulid } from "../format/encode.ts";
import type { JobPlace } from "../format/job-place.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Sealer } from "../scheduler/sealer.ts";
import { chunks, MOST_BYTES, MOST_REQUESTS, sizeOf } from "./chunks.ts";
import { Intake } from "./intake.ts";
import { compareBodies } from "./repeated-ids.ts";

export class Enqueuer {
  readonly #runtime: Runtime;
  readonly #sealer: Sealer;
  readonly #intake: Intake;
  readonly #storeTogether: (request: NewRequest) => Promise<EnqueueResult>;

  constructor(runtime: Runtime, sealer: Sealer) {
    this.#runtime = runtime;
    this.#sealer = sealer;
    const { options, clock } = runtime;
    this.#intake = new Intake(options, () => ulid(clock.now(), options.random));
    const commits = createBatcher((requests: NewRequest[]) => this.#commit(requests), {
      maxBatchSize: MOST_REQUESTS,
      maxBatchCost: MOST_BYTES,
      cost: sizeOf,
      oversize: "alone",
      clock,
    });
    this.#storeTogether = (request) => commits.submit(request);
  }

  async one(request: DispatchRequest | BatchLine): Promise<Enqueued> {
    const row = this.#intake.rowOf(request);
    return enqueued(row, await this.#storeTogether(row));
  }

  async many(requests: readonly (DispatchRequest | BatchLine)[]): Promise<Enqueued[]> {
    if (!Array.isArray(requests)) throw new DispatchError("INVALID_REQUEST", "Expected an array of requests.");
    const rows = placed(requests, (request) => this.#intake.rowOf(request));
    const answers: EnqueueResult[] = [];
    for (const some of chunks(rows)) {
      const stored = this.#commit(some).catch((error: unknown) => {
        throw some.length === rows.length ? error : partlyStored(error, answers.length, rows.length);
      });
      answers.push(...(await stored));
    }
    const place = answers.indexOf("conflict");
    if (place >= 0) {
      const taken = answers.filter((answer) => answer === "conflict").length;
      throw takenIdsError(place, (rows[place] as NewRequest).id, taken, rows.length);
    }
    return rows.map((row, index) => enqueued(row, answers[index] as EnqueueResult));
  }

  /** The row of a request at a place of a job. Throws for what cannot be sent, naming the place. */
  rowAt(request: DispatchRequest | BatchLine, place: JobPlace): NewRequest {
    try {
      return this.#intake.rowOf(request, place);
    } catch (error) {
      throw atPlace(error, place.index);
    }
  }

  /** Stores rows in one transaction. Gives an answer for each, also for an id that another request has. */
  store(rows: NewRequest[]): Promise<EnqueueResult[]> {
    return this.#commit(rows);
  }

  async #commit(rows: NewRequest[]): Promise<EnqueueResult[]> {
    const { store, clock } = this.#runtime;
    const answers = await compareBodies(store, rows, await store.enqueue(rows, clock.now()));
    this.#sealer.onEnqueued(rows, answers);
    this.#tell(answers);
    return [...answers];
  }

  #tell(answers: readonly EnqueueResult[]): void {
    this.#runtime.events.emit("enqueue", () => {
      const count = (result: EnqueueResult): number => answers.filter((answer) => answer === result).length;
      return { stored: count("stored"), existing: count("same"), conflicts: count("conflict") };
    });
  }
}

function enqueued(row: NewRequest, answer: EnqueueResult): Enqueued {
  if (answer === "conflict") throw duplicateIdError(row.id);
  return { id: row.id, existing: answer === "same" };
}

/** What `work` makes of each. What goes wrong says which of them it was. */
function placed<Item, Result>(items: readonly Item[], work: (item: Item) => Result): Result[] {
  const results: Result[] = [];
  try {
    for (const item of items) results.push(work(item));
    return results;
  } catch (error) {
    throw atPlace(error, results.length);
  }
}

function atPlace(error: unknown, place: number): unknown {
  if (!(error instanceof DispatchError)) return error;
  return new DispatchError(error.code as DispatchErrorCode, `requests[${place}]: ${error.message}`, error);
}
