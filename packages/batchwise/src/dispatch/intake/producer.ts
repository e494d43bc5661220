// Puts the requests of a job into the store, in order, as fast as both sides go: it takes the next
// request while the last ones are being stored, and holds one chunk beside the one on its way.
// Guarantees that a request is stored soon after it came, also when the next one takes hours. Ids
// and digests make it repeatable: what is there already is found again.

import { DispatchError, reworded } from "../contract/errors.ts";
import type { JobRequest } from "../contract/jobs.ts";
import type { NewRequest, RequestRow } from "../contract/rows.ts";
import type { EnqueueResult } from "../contract/store.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { waitOut } from "../runtime/wait-out.ts";
import { MOST_BYTES, MOST_REQUESTS, sizeOf } from "./chunks.ts";
import type { Enqueuer } from "./enqueuer.ts";
import { Repeats } from "./repeats.ts";

/** Neighbours in `requests`, `first` the place of the first of them. */
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
  /** The chunks on their way to the store; null while there are none. Never rejects. */
  #storing: Promise<void> | null = null;
  #fail: (error: unknown) => void = () => {};
  /** True while the caller's iterable is asked: it may never answer. */
  #isAsking = false;
  #isStopped = false;
  readonly #repeats: Repeats = new Repeats();
  /** Without those whose id came before in `requests`. */
  enqueued = 0;
  existing = 0;
  isDone = false;

  constructor(input: ProducerInput) {
    this.#input = input;
    this.#iterator = each(input.requests);
  }

  /**
   * Resolves when all are stored; rejects with the first error of the iterable, a request or the
   * store.
   */
  run(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#fail = reject;
      this.#produce().then(resolve, reject);
    });
  }

  /**
   * Takes nothing more from the iterable and ends it. Resolves when nothing is on its way to the
   * store.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    // An iterable that has not answered ends whenever it does. Its errors have nobody to go to.
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

  /** Stores what has come, and what comes meanwhile. */
  async #storeAll(): Promise<void> {
    try {
      while (this.#chunk.rows.length > 0 && !this.#isStopped) {
        const chunk = this.#chunk;
        this.#chunk = { first: chunk.first + chunk.rows.length, rows: [], bytes: 0 };
        await this.#store(chunk);
        // A store in this process, and an array, would leave nobody else a turn.
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
   * Those that the store knows go first: where one of them has changed, nothing of the chunk is
   * added. Added out of place, it would be paid for, and stand in the way of the right request in
   * each later run.
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
   * Where the store knew an id of the caller's: the chunk's rows as they are there, and one that
   * came before them.
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

  /**
   * A request that was enqueued before without this job has its outcome elsewhere: this job would
   * end without it.
   */
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

/** The id of a request that came without one. */
function ownId(job: string, index: number): string {
  return `${job}:${index}`;
}

/** Ends the iterable, as `for await` does, when it is ended itself. */
async function* each<Item>(items: Iterable<Item> | AsyncIterable<Item>): AsyncGenerator<Item, void, undefined> {
  yield* items;
}
