// Stores the requests of a job in order, without more than two chunks in memory: it reads the next
// requests while the last chunk is being stored. Guarantees that a request is stored soon after it
// arrives, even if the next one takes hours. Ids and digests make a run repeatable: it finds the
// requests that are stored already.

import { DispatchError, reworded } from "../contract/errors.ts";
import type { JobRequest } from "../contract/jobs.ts";
import type { EnqueueResult } from "../contract/store/calls.ts";
import type { NewRequest, RequestRow } from "../contract/store/rows.ts";
import { MOST_BYTES, MOST_REQUESTS, sizeOf } from "../requests/enqueue/chunks.ts";
import type { Enqueuer } from "../requests/enqueue/enqueuer.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { waitOut } from "../runtime/wait-out.ts";

/** Consecutive entries of `requests`; `first` is the index of the first one. */
interface Chunk {
  readonly first: number;
  readonly rows: NewRequest[];
  bytes: number;
}

export interface ProducerInput {
  readonly runtime: Runtime;
  readonly enqueuer: Enqueuer;
  readonly job: string;
  readonly requests: Iterable<JobRequest> | AsyncIterable<JobRequest>;
}

export class Producer {
  readonly #input: ProducerInput;
  readonly #iterator: AsyncIterator<JobRequest>;
  #chunk: Chunk = { first: 0, rows: [], bytes: 0 };
  /** Settles when all read chunks are stored; null if none is being stored. Never rejects. */
  #storing: Promise<void> | null = null;
  #fail: (error: unknown) => void = () => {};
  /** True while `next` of the caller's iterable is pending. It may never settle. */
  #isAsking = false;
  #isStopped = false;
  readonly #repeats: Repeats = new Repeats();
  /** Stored requests, without repeats of an id within `requests`. */
  enqueued = 0;
  existing = 0;
  isDone = false;

  constructor(input: ProducerInput) {
    this.#input = input;
    this.#iterator = each(input.requests);
  }

  /**
   * Resolves when all requests are stored. Rejects with the first error of the iterable, a request
   * or the store.
   */
  run(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#fail = reject;
      this.#produce().then(resolve, reject);
    });
  }

  /** Reads no more and ends the iterable. Resolves when no store call is running. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    // A pending iterable may end later; its errors are dropped.
    const ended = this.#iterator.return?.().then(
      () => {},
      () => {},
    );
    if (!this.#isAsking) await ended;
    await this.#storing;
  }

  async #produce(): Promise<void> {
    for (let index = 0; ; index += 1) {
      const step = await this.#next();
      if (this.#isStopped) return;
      if (step.done) break;
      this.#add(step.value, index);
      while (this.#isFull() && this.#storing !== null) await this.#storing;
    }
    while (this.#storing !== null) await this.#storing;
    this.isDone = !this.#isStopped;
  }

  async #next(): Promise<IteratorResult<JobRequest>> {
    this.#isAsking = true;
    try {
      return await this.#iterator.next();
    } finally {
      this.#isAsking = false;
    }
  }

  #add(request: JobRequest, index: number): void {
    const row = this.#rowOf(request, index);
    this.#chunk.rows.push(row);
    this.#chunk.bytes += sizeOf(row);
    this.#storing ??= this.#storeAll();
  }

  #isFull(): boolean {
    return this.#chunk.rows.length >= MOST_REQUESTS || this.#chunk.bytes >= MOST_BYTES;
  }

  #rowOf(request: JobRequest, index: number): NewRequest {
    const { enqueuer, job } = this.#input;
    try {
      const row = enqueuer.jobRowOf(request, { id: ownId(job, index), job });
      if (row.job === job) return row;
      throw new DispatchError("INVALID_REQUEST", `Expected \`job\` to be "${job}" or absent, got "${row.job}".`);
    } catch (error) {
      if (!(error instanceof DispatchError)) throw error;
      throw reworded(error, `requests[${index}]: ${error.message}`);
    }
  }

  /** Stores the open chunk and all that fill up meanwhile. */
  async #storeAll(): Promise<void> {
    try {
      while (this.#chunk.rows.length > 0 && !this.#isStopped) {
        const chunk = this.#chunk;
        this.#chunk = { first: chunk.first + chunk.rows.length, rows: [], bytes: 0 };
        await this.#store(chunk);
        // Yields to other work: a memory store and an array never do.
        await new Promise((resolve) => setImmediate(resolve));
      }
    } catch (error) {
      this.#isStopped = true;
      this.#fail(error);
    } finally {
      this.#storing = null;
    }
  }

  async #store({ first, rows }: Chunk): Promise<void> {
    const answers = await this.#patiently(() => this.#answersFor(first, rows));
    const stored = await this.#knownBefore(first, rows, answers);
    this.#refuseThoseOfOthers(first, rows, stored);
    const isRepeat = this.#repeats.of(rows, stored);
    this.enqueued += isRepeat.filter((is) => !is).length;
    this.existing += answers.filter((answer, place) => answer === "same" && !isRepeat[place]).length;
  }

  /**
   * Stores the known requests first. If one of them has changed, adds nothing of the chunk: a
   * request stored out of place would be paid for and would conflict with the right one in each
   * later run.
   */
  async #answersFor(first: number, rows: NewRequest[]): Promise<readonly EnqueueResult[]> {
    const { runtime, enqueuer } = this.#input;
    const stored = await runtime.store.requests({ ids: [...new Set(rows.map(({ id }) => id))], tombstones: true });
    const known = new Set(stored.map(({ id }) => id));
    const old = rows.filter(({ id }) => known.has(id));
    const before = old.length === 0 ? [] : await enqueuer.store(old, first);
    const changed = old[before.indexOf("conflict")];
    if (changed !== undefined) throw this.#changed(first + rows.indexOf(changed), changed.id);
    if (old.length === rows.length) return before;
    const answers = await enqueuer.store(rows, first);
    const place = answers.indexOf("conflict");
    if (place >= 0) throw this.#changed(first + place, (rows[place] as NewRequest).id);
    return answers;
  }

  async #patiently<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let failures = 1; ; failures += 1) {
      try {
        return await work();
      } catch (error) {
        await waitOut(this.#input.runtime, error, failures);
      }
    }
  }

  /**
   * If the store knew an id that the caller gave: the stored rows of the chunk, and the row of
   * `#repeats.last`.
   */
  async #knownBefore(
    first: number,
    rows: readonly NewRequest[],
    answers: readonly EnqueueResult[],
  ): Promise<ReadonlyMap<string, RequestRow>> {
    const { runtime, job } = this.#input;
    const isKnown = rows.some(({ id }, place) => answers[place] === "same" && id !== ownId(job, first + place));
    if (!isKnown) return new Map();
    const ids = [...new Set([...this.#repeats.last, ...rows.map(({ id }) => id)])];
    const stored = await this.#patiently(() => runtime.store.requests({ ids }));
    return new Map(stored.map((row) => [row.id, row]));
  }

  /** Throws for a request of another job: its outcome does not appear in this one. */
  #refuseThoseOfOthers(first: number, rows: readonly NewRequest[], stored: ReadonlyMap<string, RequestRow>): void {
    const { job } = this.#input;
    for (const [place, { id }] of rows.entries()) {
      const other = stored.get(id)?.job ?? job;
      if (other === job) continue;
      const whose = other === "" ? "a request without a job" : `the job "${other}"`;
      const message = `requests[${first + place}]: The id "${id}" is of ${whose} in this store, where ids are unique.`;
      throw new DispatchError("DUPLICATE_ID", `${message} Give it another one, or none.`);
    }
  }

  #changed(index: number, id: string): DispatchError {
    const { job } = this.#input;
    const isOwn = id === ownId(job, index);
    const before = isOwn ? `an earlier run of the job "${job}" had another request here` : `the id "${id}" is taken`;
    const what = isOwn ? "" : " by a request with another body or endpoint, of an earlier run or earlier in `requests`";
    const rule = isOwn ? "Resuming a job needs the same requests in the same order" : "Bodies are compared as text";
    const ways = "Give a changed request a new id, or use a new job name.";
    return new DispatchError("DUPLICATE_ID", `requests[${index}] has changed: ${before}${what}. ${rule}. ${ways}`);
  }
}

/** The id of a request without one. */
function ownId(job: string, index: number): string {
  return `${job}:${index}`;
}

/** Wraps the iterable so that `return` ends it, as `for await` does. */
async function* each<Item>(items: Iterable<Item> | AsyncIterable<Item>): AsyncGenerator<Item, void, undefined> {
  yield* items;
}

/**
 * Detects requests of a job that repeat an earlier id, without keeping ids. A job is enqueued in
 * order, so a request that arrived no later than its predecessor is a repeat. May be wrong if
 * several runs gave different orders.
 */
class Repeats {
  /** The id of the last request that was not a repeat, if any. Later arrivals are new. */
  last: readonly string[] = [];

  /**
   * Whether each row is a repeat. `stored`: these rows and `last` as the store has them; empty if
   * the store knew none.
   */
  of(rows: readonly Pick<NewRequest, "id">[], stored: ReadonlyMap<string, RequestRow>): boolean[] {
    const [before] = this.last;
    let highest = before === undefined ? 0 : (stored.get(before)?.arrival ?? 0);
    const seen = new Set<string>();
    return rows.map(({ id }) => {
      // A missing row has been pruned.
      const arrival = stored.get(id)?.arrival ?? Number.POSITIVE_INFINITY;
      if (seen.has(id) || arrival <= highest) return true;
      seen.add(id);
      if (arrival < Number.POSITIVE_INFINITY) highest = arrival;
      this.last = [id];
      return false;
    });
  }
}
